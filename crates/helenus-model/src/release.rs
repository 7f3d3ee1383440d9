//! RELEASE FACTS: which Cassandra releases are known, and for each its jars, cassandra.yaml keys and JDKs.
//! Refuses: IO and guesses. A release that is not in the table is unknown, and the error names the nearest known one.

mod jdk;
mod keys;
mod kind;
mod lock;
mod old;
mod own;
mod patches;
mod range;
mod tool;

use std::fmt;
use std::sync::OnceLock;

pub use jdk::{
    JMX_CLIENT, Jdk, JdkParseError, NODE as NODE_MODULES, Verdict, parse_java_version,
    parse_release_file,
};
pub use keys::{Checked, ConfigKey, KeyError, Keys, Note, OldName, split_assignment};
pub use kind::{Kind, SizeUnit, TimeUnit};
pub use lock::{Artifact, Lock, LockError};
pub use range::{amount, clash, modern_form};
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
    /// The version whose keys these are: its own, or that of its series if its own were not read.
    pub facts: &'static str,
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
    /// Why it cannot, in words that follow the release's name.
    broken_why: &'static str,
    /// The first JDK on which the release's jamm only measures objects when it is loaded as an agent.
    pub agent_from_jdk: Option<u32>,
    /// The least heap that a node starts in, in MiB.
    pub heap_least_mib: u64,
    /// Settings of newer releases that this one does not know, beside the keys that its table lacks.
    pub lacks: &'static [Lack],
    /// Keys of cassandra.yaml that this release needs beside those of every release.
    pub also: &'static [Also],
    lock_text: Option<&'static str>,
    keys_text: &'static str,
    patches_text: &'static str,
    lock: OnceLock<Option<Lock>>,
    keys: OnceLock<Keys>,
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
    /// Why, in words that follow the setting's name.
    pub why: &'static str,
}

/// A key of cassandra.yaml that one release needs.
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
}

impl ReleaseError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Unknown { nearest, known, .. } => format!(
                "known: {}, and every published patch of their series, such as 4.1.5; the nearest is {nearest}",
                known.join(", ")
            ),
        }
    }
}

impl Release {
    /// Every known release, oldest first.
    pub fn all() -> &'static [&'static Self] {
        &RELEASES
    }

    /// The newest known release: the default.
    pub fn newest() -> &'static Self {
        RELEASES[RELEASES.len() - 1]
    }

    /// The release of that version (`5.0.9`), or the one of that series (`5.0`, `5`) whose checksums are pinned; any other
    /// patch of a known series too (`5.0.2`, `5.0-rc1`), published or not.
    ///
    /// # Errors
    /// A name that is none of these, with the nearest known version.
    pub fn find(name: &str) -> Result<&'static Self, ReleaseError> {
        let wanted = name.trim().trim_start_matches('v');
        if let Some(release) = Self::named(wanted) {
            return Ok(release);
        }
        match Self::of_series(wanted) {
            Some(series) if patches::may_be_published(series.series, wanted) => {
                Ok(patches::patch(series, wanted))
            }
            _ => Err(Self::unknown(wanted)),
        }
    }

    fn named(wanted: &str) -> Option<&'static Self> {
        let all = || RELEASES.iter().rev().copied();
        all()
            .find(|r| r.version == wanted)
            .or_else(|| all().find(|r| r.series == wanted))
            .or_else(|| all().find(|r| r.series.split('.').next() == Some(wanted)))
    }

    fn of_series(version: &str) -> Option<&'static Self> {
        let of_series = |r: &&Self| {
            version
                .strip_prefix(r.series)
                .is_some_and(|rest| rest.starts_with(['.', '-']))
        };
        RELEASES.iter().rev().copied().find(of_series)
    }

    /// The facts that hold for a version found on disk: its own, or those of its series.
    ///
    /// # Errors
    /// A version of a series that is not known.
    pub fn facts_for(version: &str) -> Result<&'static Self, ReleaseError> {
        if let Some(release) = Self::named(version) {
            return Ok(release);
        }
        let series = Self::of_series(version).ok_or_else(|| Self::unknown(version))?;
        Ok(patches::patch(series, version))
    }

    /// The release of its series that Helenus knows best.
    pub fn of_its_series(&self) -> &'static Self {
        let own = RELEASES.iter().find(|r| r.series == self.series);
        own.copied().unwrap_or(Self::newest())
    }

    /// Releases newer than this one, the newest first; of a patch the best known one of its series too.
    pub fn newer(&self) -> impl Iterator<Item = &'static Self> {
        let (series, version) = (self.series, self.version);
        let own = RELEASES.iter().position(|r| r.series == series);
        let newer = RELEASES.iter().skip(own.unwrap_or(RELEASES.len()));
        newer.rev().copied().filter(move |r| r.version != version)
    }

    /// Releases of older series, the oldest first.
    pub fn older(&self) -> impl Iterator<Item = &'static Self> {
        let series = self.series;
        RELEASES
            .iter()
            .copied()
            .take_while(move |r| r.series != series)
    }

    /// The patches of its series that are known to be published, the nearest to it first.
    pub fn nearest_patches(&self) -> Vec<&'static str> {
        patches::nearest(self.of_its_series(), self.version)
    }

    /// Which release brought a key that this one lacks: a later patch, or a newer series.
    pub fn brought(&self, key: &str) -> Option<&'static str> {
        patches::brought(self, key)
    }

    fn unknown(name: &str) -> ReleaseError {
        let known: Vec<_> = RELEASES.iter().map(|r| r.version).collect();
        // A version newer than all is nearest to the newest, whatever its digits look like.
        let above = |series: &str| -> Option<bool> {
            let major = |version: &str| version.split('.').next()?.parse::<u32>().ok();
            Some(major(name)? > major(series)?)
        };
        let nearest = match above(Self::newest().series) {
            Some(true) => None,
            _ => crate::nearest::nearest(name, known.iter().copied()),
        };
        ReleaseError::Unknown {
            name: name.to_owned(),
            nearest: nearest.unwrap_or(Self::newest().version),
            known,
        }
    }

    /// The jars of this release, each with its SHA-256; none where they are recorded at first use.
    pub fn lock(&self) -> Option<&Lock> {
        let parsed = || self.lock_text.map(|text| committed(Lock::parse(text)));
        self.lock.get_or_init(parsed).as_ref()
    }

    /// The keys of its cassandra.yaml.
    pub fn keys(&self) -> &Keys {
        self.keys
            .get_or_init(|| committed(Keys::parse(self.keys_text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_versions_and_series_and_names_the_nearest() {
        assert_eq!(Release::find("5.0.9").unwrap().version, "5.0.9");
        assert_eq!(Release::find("5.0").unwrap().version, "5.0.9");
        assert_eq!(Release::find("5").unwrap().version, "5.0.9");
        for (name, version) in [("4.1", "4.1.10"), ("4.0", "4.0.19"), ("4", "4.1.10")] {
            assert_eq!(Release::find(name).unwrap().version, version);
        }
        for name in [
            "6.0.1",
            "5.O",
            "5.0.x",
            "5.0.1/../x",
            "4.1.",
            "4.1-",
            "5.01.4",
        ] {
            let error = Release::find(name).unwrap_err();
            let wanted = format!("Cassandra {name:?} is not a release that Helenus knows");
            assert_eq!(error.to_string(), wanted);
        }
        assert!(
            Release::find("5.O")
                .unwrap_err()
                .hint()
                .contains("the nearest is 5.0.9")
        );
    }

    #[test]
    fn a_patch_has_the_facts_of_its_series_and_keys_that_are_its_own() {
        for (version, series, facts) in [
            ("5.0.4", "5.0", "5.0.4"),
            ("5.0-rc1", "5.0", "5.0.9"),
            ("5.0.99", "5.0", "5.0.9"),
            ("4.1.5", "4.1", "4.1.5"),
            ("3.11.10", "3.11", "3.11.10"),
        ] {
            let patch = Release::find(version).unwrap();
            let named = (patch.version, patch.series, patch.facts);
            assert_eq!(named, (version, series, facts));
            assert!(patch.lock().is_none(), "{version}");
            let again = Release::facts_for(version).unwrap();
            assert!(std::ptr::eq(patch, again), "{version}");
        }
        assert!(Release::facts_for("5.01.4").is_err());
        assert!(Release::facts_for("3.0.1").is_err());
        let has = |version: &str, key: &str| {
            let release = Release::find(version).unwrap();
            release.keys().get(key).is_some()
        };
        let key = "native_transport_timeout";
        assert!(!has("4.1.5", key) && has("4.1.10", key) && has("4.1.99", key));
        assert!(!has("5.0.2", "auto_repair.enabled") && has("5.0.9", "auto_repair.enabled"));
        let snapshots = "snapshot_on_duplicate_row_detection";
        assert!(has("3.11.10", snapshots) && !has("3.11.5", snapshots));
    }

    #[test]
    fn the_nearest_published_patches_are_named() {
        let near = |version: &str| Release::find(version).unwrap().nearest_patches();
        assert_eq!(near("4.1.99")[0], "4.1.10");
        assert_eq!(near("5.0-rc1")[0], "5.0.0");
        assert!(near("4.1.99").contains(&"4.1.10"));
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
}
