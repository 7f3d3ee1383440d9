//! RELEASE FACTS: which Cassandra releases are known, and for each its jars, cassandra.yaml keys and JDKs.
//! Refuses: IO and guesses. A release that is not in the table is unknown, with the nearest known one told.

mod jdk;
mod keys;
mod kind;
mod lock;
mod old;

use std::fmt;
use std::sync::LazyLock;

pub use jdk::{Jdk, JdkParseError, Verdict, parse_java_version, parse_release_file};
pub use keys::{Checked, ConfigKey, KeyError, Keys, Note, OldName, split_assignment};
pub use kind::{Kind, SizeUnit, TimeUnit};
pub use lock::{Artifact, Lock, LockError};

/// The processor a node runs on; jars with native code differ by it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Arch {
    /// 64-bit x86.
    #[serde(rename = "x86_64")]
    X86_64,
    /// 64-bit ARM.
    Aarch64,
}

impl Arch {
    /// The processor this program was built for.
    pub const fn here() -> Self {
        if cfg!(target_arch = "aarch64") {
            Self::Aarch64
        } else {
            Self::X86_64
        }
    }

    /// Reads the names in use: `x86_64`, `amd64`, `aarch64`, `aarch_64`, `arm64`.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "x86_64" | "amd64" => Some(Self::X86_64),
            "aarch64" | "aarch_64" | "arm64" => Some(Self::Aarch64),
            _ => None,
        }
    }

    /// The kernel's name for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A Cassandra release that Helenus knows: versions, JDKs, jars and configuration keys.
#[derive(Debug)]
pub struct Release {
    /// The exact version, such as `5.0.9`.
    pub version: &'static str,
    /// The series it belongs to, such as `5.0`.
    pub series: &'static str,
    /// JDK feature numbers that the release itself supports, the preferred one last.
    pub supported_jdks: &'static [u32],
    /// JDK feature numbers outside of that list on which a node of this release was seen to serve.
    pub works_jdks: &'static [u32],
    /// The oldest JDK whose class files the release's jars can be loaded by.
    pub oldest_jdk: u32,
    /// The first JDK on which the release cannot start.
    pub broken_from_jdk: u32,
    /// Why it cannot, in words that go on after the release's name.
    broken_why: &'static str,
    /// The first JDK on which the release's jamm only measures objects when it is loaded as an agent.
    pub agent_from_jdk: Option<u32>,
    /// The least heap that a node starts in, in MiB.
    pub heap_least_mib: u64,
    /// Settings of newer releases that this one does not know, beside the keys that its table lacks.
    pub lacks: &'static [Lack],
    /// Keys of cassandra.yaml that this release wants beside those of every release.
    pub also: &'static [Also],
    lock_text: Option<&'static str>,
    keys_text: &'static str,
    lock: LazyLock<Option<Lock>>,
    keys: LazyLock<Keys>,
}

/// A setting of a newer release that an older one does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lack {
    /// A key of cassandra.yaml with dots, or a system property.
    pub key: &'static str,
    /// The one value that is not known; none where the setting is not.
    pub value: Option<&'static str>,
    /// The setting of the same place that does the same: its key and value.
    pub instead: Option<(&'static str, &'static str)>,
    /// Why, in words that go on after the setting's name.
    pub why: &'static str,
}

/// A key of cassandra.yaml that one release wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Also {
    /// The key.
    pub key: &'static str,
    /// Its value, as YAML.
    pub value: &'static str,
    /// Why.
    pub why: &'static str,
}

mod known;
use known::RELEASES;

/// The value of a data file that is part of the program.
///
/// # Panics
/// When the committed file is broken; a test reads every one of them.
fn committed<T, E: fmt::Display>(parsed: Result<T, E>) -> T {
    match parsed {
        Ok(value) => value,
        Err(error) => panic!("a data file inside the program is broken: {error}"),
    }
}

/// Why a release could not be named.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ReleaseError {
    /// Neither a known version nor a known series.
    #[error("Cassandra {name:?} is not a release that Helenus knows")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The known version most like it.
        nearest: &'static str,
        /// Every known version.
        known: Vec<&'static str>,
    },
    /// A release without a lock: it runs from a distribution that a person unpacked.
    #[error("Cassandra {version} is never fetched: it runs from an unpacked distribution")]
    OnlyUnpacked {
        /// The version.
        version: &'static str,
        /// JDK feature numbers that it supports.
        jdks: &'static [u32],
    },
}

impl ReleaseError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Unknown { nearest, known, .. } => format!(
                "known: {}; the nearest is {nearest}. Another patch version of a known series runs \
                 from an unpacked distribution with --cassandra-home",
                known.join(", ")
            ),
            Self::OnlyUnpacked { version, jdks } => format!(
                "unpack apache-cassandra-{version}-bin.tar.gz and name its folder with \
                 --cassandra-home; it wants JDK {}",
                jdk::spoken(jdks)
            ),
        }
    }
}

impl Release {
    /// Every known release, oldest first.
    pub fn all() -> &'static [&'static Self] {
        &RELEASES
    }

    /// The newest known release: what runs when nobody asks for another.
    pub fn newest() -> &'static Self {
        RELEASES[RELEASES.len() - 1]
    }

    /// The release of that version (`5.0.9`), or the newest of that series (`5.0`, `5`), that can be fetched.
    ///
    /// # Errors
    /// A name that is neither, with the nearest known version; a release that runs only from an unpacked
    /// distribution.
    pub fn find(name: &str) -> Result<&'static Self, ReleaseError> {
        let release = Self::named(name)?;
        release.fetched().map(|_| release)
    }

    /// The jars to fetch.
    ///
    /// # Errors
    /// A release that runs only from an unpacked distribution.
    pub fn fetched(&self) -> Result<&Lock, ReleaseError> {
        self.lock().ok_or(ReleaseError::OnlyUnpacked {
            version: self.version,
            jdks: self.supported_jdks,
        })
    }

    fn named(name: &str) -> Result<&'static Self, ReleaseError> {
        let wanted = name.trim().trim_start_matches('v');
        let all = || RELEASES.iter().rev().copied();
        all()
            .find(|r| r.version == wanted)
            .or_else(|| all().find(|r| r.series == wanted))
            .or_else(|| all().find(|r| r.series.split('.').next() == Some(wanted)))
            .ok_or_else(|| Self::unknown(wanted))
    }

    /// The facts that hold for a version found on disk: its own, or those of its series.
    ///
    /// # Errors
    /// A version of a series that is not known.
    pub fn facts_for(version: &str) -> Result<&'static Self, ReleaseError> {
        let of_series = |r: &&&Self| {
            version
                .strip_prefix(r.series)
                .is_some_and(|rest| rest.starts_with(['.', '-']))
        };
        Self::named(version).or_else(|_| {
            let found = RELEASES.iter().rev().find(of_series);
            found.copied().ok_or_else(|| Self::unknown(version))
        })
    }

    fn unknown(name: &str) -> ReleaseError {
        let known: Vec<_> = RELEASES.iter().map(|r| r.version).collect();
        let nearest = crate::nearest::nearest(name, known.iter().copied());
        ReleaseError::Unknown {
            name: name.to_owned(),
            nearest: nearest.unwrap_or(Self::newest().version),
            known,
        }
    }

    /// The jars of this release, each with its SHA-256; none for one that runs only from an unpacked distribution.
    pub fn lock(&self) -> Option<&Lock> {
        self.lock.as_ref()
    }

    /// The keys of its cassandra.yaml.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_versions_and_series_and_tells_the_nearest() {
        assert_eq!(Release::find("5.0.9").unwrap().version, "5.0.9");
        assert_eq!(Release::find("5.0").unwrap().version, "5.0.9");
        assert_eq!(Release::find("5").unwrap().version, "5.0.9");
        for (name, version) in [("4.1", "4.1.10"), ("4.0", "4.0.19"), ("4", "4.1.10")] {
            assert_eq!(Release::find(name).unwrap().version, version);
        }
        let error = Release::find("5.0.8").unwrap_err();
        assert_eq!(
            error.to_string(),
            "Cassandra \"5.0.8\" is not a release that Helenus knows"
        );
        assert!(error.hint().contains("the nearest is 5.0.9"));
    }

    #[test]
    fn facts_of_a_series_serve_its_other_versions() {
        assert_eq!(Release::facts_for("5.0.4").unwrap().series, "5.0");
        assert_eq!(Release::facts_for("5.0-rc1").unwrap().series, "5.0");
        assert!(Release::facts_for("5.01.4").is_err());
        assert_eq!(Release::facts_for("4.1.3").unwrap().version, "4.1.10");
        assert_eq!(Release::facts_for("3.11.19").unwrap().version, "3.11.5");
        assert_eq!(Release::facts_for("3.11").unwrap().version, "3.11.5");
        assert!(Release::facts_for("3.0.1").is_err());
    }

    #[test]
    fn every_committed_data_file_parses() {
        for release in Release::all() {
            if let Some(lock) = release.lock() {
                assert!(lock.artifacts(Arch::X86_64).count() > 50);
            }
            assert!(release.keys().all().len() > 200);
            for also in release.also {
                assert!(release.keys().check(also.key, also.value).is_ok());
            }
        }
    }

    #[test]
    fn a_release_without_jars_in_a_registry_says_how_it_runs() {
        for name in ["3.11", "3", "3.11.5"] {
            let error = Release::find(name).unwrap_err();
            insta::allow_duplicates! {
                insta::assert_snapshot!(format!("{error} | {}", error.hint()), @"Cassandra 3.11.5 is never fetched: it runs from an unpacked distribution | unpack apache-cassandra-3.11.5-bin.tar.gz and name its folder with --cassandra-home; it wants JDK 8");
            }
        }
    }
}
