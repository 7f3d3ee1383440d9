//! Why a release could not be put on disk, each with its cure.
//! Refuses a bare IO error where the cause is known: a full disk and a read-only cache have names.

use crate::error::{Class, Problem};
use std::io;
use std::path::{Path, PathBuf};

use crate::install::Installer;
use helenus_model::release::{LockError, ReleaseError};

/// Why the store could not hand out a release.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No `mvn` on `PATH`.
    #[error("mvn (Apache Maven) is not on PATH, and {what} not cached yet")]
    NoMaven {
        /// What is to be fetched, with its verb.
        what: String,
    },
    /// A patch that Maven does not find.
    #[error("Cassandra {version} is not published: Maven finds no {coordinates}")]
    Unpublished {
        /// The patch.
        version: String,
        /// What it was asked for.
        coordinates: String,
        /// Published patches of the series, the nearest first.
        nearest: Vec<&'static str>,
    },
    /// The record of a patch's checksums cannot be read.
    #[error("the recorded checksums in {path} cannot be read")]
    Record {
        /// The record.
        path: PathBuf,
        /// Why.
        source: LockError,
    },
    /// No `python3` on `PATH`.
    #[error("python3 is not on PATH, and {package} is not installed yet")]
    NoPython {
        /// What pip would be asked for.
        package: String,
    },
    /// Python or pip ended with an error.
    #[error("{package} could not be installed: {}", lines.join("; "))]
    PythonFailed {
        /// What pip was asked for.
        package: String,
        /// Its last lines.
        lines: Vec<String>,
    },
    /// `mvn` is there, but could not be started.
    #[error("{mvn} could not be started")]
    MavenStart {
        /// The program.
        mvn: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// `mvn` ended with an error.
    #[error("mvn failed ({status}): {}", lines.join("; "))]
    MavenFailed {
        /// How it ended.
        status: String,
        /// Its last error lines.
        lines: Vec<String>,
        /// Whether it could not reach its repositories.
        offline: bool,
    },
    /// `mvn` was content, but a jar is not there.
    #[error("mvn succeeded, but did not fetch {file}")]
    Missing {
        /// The jar.
        file: String,
    },
    /// A jar is not the one of the lock.
    #[error("{file} has SHA-256 {got}, expected {wanted}")]
    Checksum {
        /// The jar.
        file: String,
        /// The lock's checksum.
        wanted: String,
        /// What arrived.
        got: String,
    },
    /// No space left.
    #[error("the disk of {folder} is full")]
    DiskFull {
        /// The cache.
        folder: PathBuf,
    },
    /// The cache cannot be written to.
    #[error("the cache {folder} cannot be written to")]
    NotWritable {
        /// The cache.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Anything else the file system refused.
    #[error("{folder} cannot be used")]
    Io {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Interrupted; nothing landed.
    #[error("interrupted while a release was being fetched")]
    Cancelled,
    /// A folder without a Cassandra distribution.
    #[error("{home} is not a Cassandra distribution: {why}")]
    NotADistribution {
        /// The folder.
        home: PathBuf,
        /// What is missing.
        why: String,
    },
    /// A distribution of a release that is not known.
    #[error("the distribution at {home} cannot be run")]
    Unknown {
        /// The folder.
        home: PathBuf,
        /// Which release it is.
        source: ReleaseError,
    },
    /// An archive that cannot be read.
    #[error("{tarball} cannot be unpacked")]
    Tarball {
        /// The archive.
        tarball: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// An archive with an entry that would land outside of its folder.
    #[error("{tarball} contains an entry outside its folder: {entry:?}")]
    Escapes {
        /// The archive.
        tarball: PathBuf,
        /// The entry's path.
        entry: PathBuf,
    },
}

impl StoreError {
    /// What to do about it where a tool's jar could not be put into this folder of the cache.
    pub fn hint_of_tool(&self, folder: &Path) -> String {
        match self {
            Self::NoMaven { .. } | Self::MavenFailed { .. } => format!(
                "it is one jar, fetched once through mvn: run this where Maven reaches its \
                 repositories, or copy {} from a machine that has it",
                folder.display()
            ),
            other => other.hint(),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::NoMaven { .. } => format!(
                "{}, or unpack a binary distribution and name it with --cassandra-home DIR",
                Installer::here().maven()
            ),
            Self::NoPython { .. } => format!(
                "{}, or leave it out: --without medusa",
                Installer::here().package("Python", "python3-venv")
            ),
            Self::PythonFailed { .. } => {
                "this is pip's output; pip uses your mirrors. Medusa needs Python 3.10 or later with the venv module; --without medusa leaves it out"
                    .to_owned()
            }
            Self::MavenStart { mvn, .. } => format!("try `{} -version`", mvn.display()),
            Self::MavenFailed { offline: true, .. } => "this machine cannot reach Maven's \
                repositories: set a mirror or proxy in ~/.m2/settings.xml, or copy the cache \
                folder from a machine that has the release"
                .to_owned(),
            Self::MavenFailed { .. } => {
                "the lines above are Maven's own; `mvn -version` shows which Java and settings it \
                 uses"
                    .to_owned()
            }
            Self::Missing { file } | Self::Checksum { file, .. } => format!(
                "the local Maven repository or a mirror has a different {file}: remove it there \
                 and try again; nothing was installed"
            ),
            Self::DiskFull { .. } => {
                "free some space (a release takes about 65 MiB), or set HELENUS_CACHE to another \
                 disk"
                    .to_owned()
            }
            Self::NotWritable { .. } | Self::Io { .. } => {
                "set HELENUS_CACHE to a folder that you may write to".to_owned()
            }
            Self::Cancelled => "run it again: nothing incomplete was left behind".to_owned(),
            Self::NotADistribution { .. } => {
                "name a -bin.tar.gz, or the folder that holds bin/ and lib/ of an unpacked binary distribution"
                    .to_owned()
            }
            Self::Unknown { source, .. } => source.hint(),
            Self::Unpublished { nearest, .. } => {
                let near = nearest.iter().take(4).copied().collect::<Vec<_>>();
                format!("the nearest published patches are {}", near.join(", "))
            }
            Self::Record { path, .. } => format!(
                "remove {} to record the checksums again: nothing then proves that the jars are the same",
                path.display()
            ),
            Self::Tarball { .. } => {
                "a binary distribution is a file such as apache-cassandra-5.0.9-bin.tar.gz"
                    .to_owned()
            }
            Self::Escapes { .. } => "do not use this archive; fetch it again".to_owned(),
        }
    }

    /// An IO error under the cache, by its cause.
    pub(super) fn of_cache(folder: &Path, source: io::Error) -> Self {
        let folder = folder.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { folder },
            io::ErrorKind::PermissionDenied
            | io::ErrorKind::ReadOnlyFilesystem
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::AlreadyExists => Self::NotWritable { folder, source },
            _ => Self::Io { folder, source },
        }
    }

    /// The same, for an IO error that met a folder inside of the cache.
    pub(super) fn in_cache(self, cache: &Path) -> Self {
        match self {
            Self::Io { source, .. } => Self::of_cache(cache, source),
            other => other,
        }
    }

    /// What is wrong with a distribution, where it is in an archive.
    pub(super) fn of_archive(self, tarball: &Path) -> Self {
        let home = tarball.to_owned();
        match self {
            Self::NotADistribution { why, .. } => Self::NotADistribution { home, why },
            Self::Unknown { source, .. } => Self::Unknown { home, source },
            other => other,
        }
    }
}

impl Problem for StoreError {
    fn class(&self) -> Class {
        match self {
            Self::Unpublished { .. } => Class::Usage,
            Self::Cancelled => Class::Interrupted,
            _ => Class::Environment,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(Self::hint(self))
    }
}
