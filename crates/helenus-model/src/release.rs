//! RELEASE FACTS: which Cassandra releases are known, and for each its jars, cassandra.yaml keys and JDKs.
//! Refuses: IO and guesses. A release that is not in the table is unknown, with the nearest known one told.

mod jdk;
mod keys;
mod kind;
mod lock;
mod old;
mod tool;

use std::fmt;
use std::sync::LazyLock;

pub use jdk::{Jdk, JdkParseError, Verdict, parse_java_version, parse_release_file};
pub use keys::{Checked, ConfigKey, KeyError, Keys, Note, OldName, split_assignment};
pub use kind::{Kind, SizeUnit, TimeUnit};
pub use lock::{Artifact, Lock, LockError};
pub use tool::Tool;

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
    lock_text: &'static str,
    keys_text: &'static str,
    lock: LazyLock<Lock>,
    keys: LazyLock<Keys>,
}

static CASSANDRA_5_0_9: Release = Release {
    version: "5.0.9",
    series: "5.0",
    // bin/cassandra.in.sh of the series: java_versions_supported=11,17.
    supported_jdks: &[11, 17],
    // 21: started and opened CQL with -Djava.security.manager=allow (Temurin 21.0.8, November 2026).
    works_jdks: &[21],
    // The jars hold class files of version 55.
    oldest_jdk: 11,
    // CassandraDaemon.setup installs a security manager and a policy; JDK 24 removed both (JEP 486).
    broken_from_jdk: 24,
    lock_text: include_str!("../data/releases/5.0.9/lock.tsv"),
    keys_text: include_str!("../data/releases/5.0.9/keys.tsv"),
    lock: LazyLock::new(|| committed(Lock::parse(CASSANDRA_5_0_9.lock_text))),
    keys: LazyLock::new(|| committed(Keys::parse(CASSANDRA_5_0_9.keys_text))),
};

/// Every known release, oldest first.
static RELEASES: [&Release; 1] = [&CASSANDRA_5_0_9];

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
}

impl ReleaseError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        let Self::Unknown { nearest, known, .. } = self;
        format!(
            "known: {}; the nearest is {nearest}. Another patch version of a known series runs \
             from an unpacked distribution with --cassandra-home",
            known.join(", ")
        )
    }
}

impl Release {
    /// Every known release, oldest first.
    pub fn all() -> &'static [&'static Self] {
        &RELEASES
    }

    /// The newest known release: what runs when nobody asks for another.
    pub fn newest() -> &'static Self {
        &CASSANDRA_5_0_9
    }

    /// The release of that version (`5.0.9`), or the newest of that series (`5.0`, `5`).
    ///
    /// # Errors
    /// A name that is neither, with the nearest known version.
    pub fn find(name: &str) -> Result<&'static Self, ReleaseError> {
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
        Self::find(version).or_else(|_| {
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

    /// The jars of this release, each with its SHA-256.
    pub fn lock(&self) -> &Lock {
        &self.lock
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
        assert!(Release::facts_for("4.1.10").is_err());
    }

    #[test]
    fn every_committed_data_file_parses() {
        for release in Release::all() {
            assert!(release.lock().artifacts(Arch::X86_64).count() > 80);
            assert!(release.keys().all().len() > 400);
        }
    }
}
