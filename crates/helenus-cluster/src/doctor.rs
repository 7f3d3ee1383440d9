//! What this machine has and lacks: each finding with its cure.
//! Refuses to change anything.

use crate::context::Context;
use crate::error::Problem as _;
use crate::install::Installer;
use crate::jdk;
use crate::limits;
use crate::machine;
use crate::net;
use crate::store::Store;
use helenus_model::release::{Arch, Release};
use helenus_model::topology::wan::Wan;
use helenus_model::units::Bytes;
use serde::Serialize;
use std::path::Path;

/// How a finding is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// It passes.
    Good,
    /// Something is less than it could be.
    Caution,
    /// The main job cannot be done.
    Lacking,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What.
    pub what: &'static str,
    /// How it is to be taken.
    pub weight: Weight,
    /// What was found.
    pub found: String,
    /// What to do, where something is to be done.
    pub cure: Option<String>,
}

/// A release, its archive, one node and its log.
const DISK_WANTED: Bytes = Bytes::mib(1024);

/// A tiny node, the generator and something for the system.
const MEMORY_WANTED: Bytes = Bytes::mib(512);

/// Looks at everything.
pub fn examine(context: &Context) -> Vec<Finding> {
    let mut findings = java(context);
    findings.extend([
        maven(context),
        memory(),
        disk("state folder", &context.paths.state),
        disk("cache folder", &context.paths.cache),
        namespaces(context),
        netem(context),
        cgroups(context),
        disk_speed(context),
        perf_clock(),
    ]);
    findings
}

fn finding(
    what: &'static str,
    weight: Weight,
    found: impl Into<String>,
    cure: Option<&str>,
) -> Finding {
    Finding {
        what,
        weight,
        found: found.into(),
        cure: cure.map(str::to_owned),
    }
}

/// The JDKs for the newest release and for all others that are in the cache.
fn java(context: &Context) -> Vec<Finding> {
    let found = jdk::find(&context.env);
    let newest = Release::newest();
    let store = Store::open(&context.paths.cache, &context.env).ok();
    let cached = |release: &&'static Release| {
        let files = store.as_ref().and_then(|s| s.cached(release, Arch::here()));
        release.version != newest.version && files.is_some()
    };
    let listed = store.as_ref().map(Store::listed).unwrap_or_default();
    let others = listed.into_iter().filter(cached);
    let looked = [newest].into_iter().chain(others);
    looked
        .map(|release| java_for(release, &found, release.version == newest.version))
        .collect()
}

/// The JDK of a release's nodes and of its nodetool.
fn java_for(release: &Release, found: &[jdk::FoundJdk], newest: bool) -> Finding {
    let version = release.version;
    let chosen = match jdk::choose(release, found, None) {
        Ok(chosen) => chosen.jdk,
        Err(error) => {
            let weight = if newest {
                Weight::Lacking
            } else {
                Weight::Caution
            };
            return finding("JDK", weight, error.to_string(), Some(&error.hint()));
        }
    };
    let text = format!("{chosen} for Cassandra {version}");
    match jdk::for_tools(release, &chosen, found) {
        Ok(tools) if tools == chosen => finding("JDK", Weight::Good, text, None),
        Ok(tools) => finding(
            "JDK",
            Weight::Good,
            format!("{text}, {tools} for its nodetool"),
            None,
        ),
        Err(error) => finding(
            "JDK",
            Weight::Caution,
            format!("{text}, but {error}"),
            Some(&error.hint()),
        ),
    }
}

fn maven(context: &Context) -> Finding {
    let cached = crate::store::Store::open(&context.paths.cache, &context.env)
        .ok()
        .and_then(|s| s.cached(Release::newest(), helenus_model::release::Arch::here()))
        .is_some();
    match context.env.find_program("mvn") {
        Some(path) => finding("mvn", Weight::Good, path.display().to_string(), None),
        None if cached => finding(
            "mvn",
            Weight::Good,
            "not on PATH, and not needed: the release is cached",
            None,
        ),
        None => finding(
            "mvn",
            Weight::Lacking,
            "not on PATH",
            Some(&format!(
                "{}, or use --cassandra-home DIR",
                Installer::here().maven()
            )),
        ),
    }
}

fn memory() -> Finding {
    let total = machine::read().memory;
    let free = machine::available_memory();
    let text = format!("{free} available of {total}");
    if free < MEMORY_WANTED {
        finding(
            "memory",
            Weight::Caution,
            text,
            Some("end other programs, or use --preset tiny"),
        )
    } else {
        finding("memory", Weight::Good, text, None)
    }
}

fn disk(what: &'static str, folder: &Path) -> Finding {
    match machine::free_space(folder) {
        Ok(free) => {
            let text = format!("{free} free at {}", folder.display());
            if free < DISK_WANTED {
                let cure = "free some space, or set HELENUS_HOME to a folder on a larger disk";
                finding(what, Weight::Caution, text, Some(cure))
            } else {
                finding(what, Weight::Good, text, None)
            }
        }
        Err(error) => finding(
            what,
            Weight::Lacking,
            error.to_string(),
            Some("set HELENUS_HOME to a folder that you may write to"),
        ),
    }
}

/// A network of two data centres, made for real and measured once.
fn namespaces(context: &Context) -> Finding {
    match net::client::try_out(&context.helenus, Wan::Queue) {
        Ok(tried) => {
            let who = if tried.user_namespace {
                "as an ordinary user"
            } else {
                "as root"
            };
            let text = format!(
                "data centres can be placed at a distance {who}: 10 ms requested, {:.1} ms measured",
                tried.p50_us / 1e3
            );
            finding("namespaces", Weight::Good, text, None)
        }
        Err(error) => finding(
            "namespaces",
            Weight::Caution,
            format!(
                "data centres cannot be placed at a distance: {}",
                crate::error::with_causes(&error)
            ),
            error.hint().as_deref(),
        ),
    }
}

/// Whether the kernel could hold packets by itself; nobody needs it to.
fn netem(context: &Context) -> Finding {
    let text = match net::client::try_out(&context.helenus, Wan::Netem) {
        Ok(tried) => format!(
            "--wan netem works: 10 ms requested, {:.1} ms measured",
            tried.p50_us / 1e3
        ),
        Err(error) => {
            let why = match error {
                net::client::NetError::Build { why, .. } => why,
                other => crate::error::with_causes(&other),
            };
            format!("no --wan netem: {why}")
        }
    };
    finding("netem", Weight::Good, text, None)
}

fn cgroups(context: &Context) -> Finding {
    match limits::find(&context.env.root) {
        Ok(found) => finding(
            "cgroups",
            Weight::Good,
            format!("{}: nodes can be limited", found.line()),
            None,
        ),
        Err(why) => finding(
            "cgroups",
            Weight::Caution,
            format!("limits on nodes will be planned, not enforced: {why}"),
            Some("start from a delegated group, or mount the memory controller"),
        ),
    }
}

/// Whether nodes can be given a slower disk than there is.
fn disk_speed(context: &Context) -> Finding {
    match limits::disk::can(&context.env.root, &context.paths.state) {
        Ok((kind, device)) => finding(
            "disk speed",
            Weight::Good,
            format!("{} can be limited by {}", device.name, kind.as_str()),
            None,
        ),
        Err(why) => finding(
            "disk speed",
            Weight::Caution,
            format!("--disk-read, --disk-write and --disk-iops will be refused: {why}"),
            Some("start from a group with io or blkio, and put HELENUS_HOME on a separate disk"),
        ),
    }
}

/// Timers late by milliseconds make every response time late by as much.
fn perf_clock() -> Finding {
    let mut worst = std::time::Duration::ZERO;
    for _ in 0..50 {
        let begin = std::time::Instant::now();
        std::thread::sleep(std::time::Duration::from_micros(500));
        worst = worst.max(
            begin
                .elapsed()
                .saturating_sub(std::time::Duration::from_micros(500)),
        );
    }
    let text = format!(
        "sleeps end at most {} µs late (50 tries)",
        worst.as_micros()
    );
    if worst > std::time::Duration::from_millis(2) {
        finding(
            "timers",
            Weight::Caution,
            text,
            Some("end the programs that keep the processors busy"),
        )
    } else {
        finding("timers", Weight::Good, text, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_model::release::parse_release_file;

    #[test]
    fn a_jdk_that_runs_nodes_and_no_nodetool_is_a_caution_with_its_cure() {
        let release = Release::find("4.1").unwrap();
        let found = |text: &str| jdk::FoundJdk {
            jdk: parse_release_file(text).unwrap(),
            sources: vec![jdk::Source::JavaHome],
        };
        let modules = helenus_model::release::NODE_MODULES.join(" ");
        let small = found(&format!("JAVA_VERSION=\"11.0.1\"\nMODULES=\"{modules}\""));
        let answer = java_for(release, std::slice::from_ref(&small), false);
        assert_eq!(answer.weight, Weight::Caution);
        assert!(
            answer.found.contains("has no module jdk.naming.rmi"),
            "{answer:?}"
        );
        assert!(answer.cure.unwrap().starts_with("install JDK 11"));
        let whole = found("JAVA_VERSION=\"11.0.2\"");
        let answer = java_for(release, &[small, whole], false);
        assert_eq!((answer.weight, answer.cure), (Weight::Good, None));
        assert!(answer.found.contains("JDK 11.0.2"), "{}", answer.found);
        assert_eq!(java_for(release, &[], true).weight, Weight::Lacking);
        assert_eq!(java_for(release, &[], false).weight, Weight::Caution);
    }
}
