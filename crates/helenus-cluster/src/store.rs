//! THE RELEASE STORE: puts a release's jars on disk once, verified, for every cluster of this user.
//! Refuses to hand out a jar whose SHA-256 was not checked when it landed, and to land half a release.

mod error;
mod home;
mod maven;
mod python;
mod recorded;
mod verify;

use crate::lock;
use std::fmt;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use helenus_model::release::{Arch, Lock, Release, Tool};

pub use error::StoreError;
pub use maven::{LIB, resolve};
pub use python::PythonTool;
pub use recorded::{lock_of, lock_text};

use crate::env::Env;

/// How often a wait looks at the cancel token.
const TICK: Duration = Duration::from_millis(50);

/// The jars of a release on this machine.
#[derive(Debug, Clone)]
pub struct ReleaseFiles {
    /// The folder that holds `lib/`.
    pub home: PathBuf,
    /// The class path, in a fixed order.
    pub jars: Vec<PathBuf>,
    /// The version that is really there.
    pub version: String,
    /// The facts that hold for it.
    pub release: &'static Release,
    /// Where it came from.
    pub origin: Origin,
}

impl ReleaseFiles {
    /// Whether the facts were read from this very version, not from another of its series.
    pub fn exact(&self) -> bool {
        self.release.facts == self.version
    }
}

/// Where a release's files came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Fetched by Maven and verified against the lock.
    Store,
    /// A distribution that a person unpacked; its jars are taken as they are.
    Home,
    /// A distribution's archive, unpacked by us; its jars are taken as they are.
    Tarball,
}

/// What the store is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreEvent {
    /// Another process is fetching the same release; we wait for it.
    Waiting {
        /// The release.
        version: String,
    },
    /// The cached files are not what was verified once; they are fetched again.
    Damaged {
        /// The first thing that is wrong.
        what: String,
    },
    /// Maven is asked what a patch consists of whose jars are not pinned.
    Resolving {
        /// The release.
        version: String,
    },
    /// Coordinates and checksums of such a patch were recorded: later fetches must match.
    Recorded {
        /// The release.
        version: String,
        /// How many jars.
        jars: usize,
        /// The record.
        record: PathBuf,
    },
    /// Maven starts to fetch.
    Fetching {
        /// How many jars.
        total: usize,
        /// Their size in bytes.
        bytes: u64,
    },
    /// One more jar has arrived.
    Fetched {
        /// Jars that are there.
        done: usize,
        /// Jars in all.
        total: usize,
    },
    /// One more jar has the right SHA-256.
    Verified {
        /// Jars that were checked.
        done: usize,
        /// Jars in all.
        total: usize,
    },
    /// pip installs a program.
    Installing {
        /// What it was asked for.
        what: String,
    },
    /// A distribution's archive is being unpacked.
    Unpacking {
        /// The archive.
        tarball: PathBuf,
    },
}

/// What is to be on disk: a version's jars for one processor.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    /// Folder of the cache that it lands in.
    kind: &'static str,
    version: &'a str,
    lock: &'a Lock,
    arch: Arch,
}

impl<'a> Wanted<'a> {
    /// The release's own jars.
    fn of(release: &'static Release, lock: &'a Lock, arch: Arch) -> Self {
        Self {
            kind: "releases",
            version: release.version,
            lock,
            arch,
        }
    }
}

impl fmt::Display for Wanted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.version, self.arch)
    }
}

/// The store of releases under a cache folder.
#[derive(Debug, Clone)]
pub struct Store {
    cache: PathBuf,
    env: Env,
}

impl Store {
    /// The store under that cache folder; Maven runs with that environment.
    ///
    /// # Errors
    /// A folder that cannot be made or written to.
    pub fn open(cache: &Path, env: &Env) -> Result<Self, StoreError> {
        for folder in ["releases", "distributions", "locks"] {
            let folder = cache.join(folder);
            fs_err::create_dir_all(&folder).map_err(|e| StoreError::of_cache(cache, e))?;
        }
        Ok(Self {
            cache: cache.to_owned(),
            env: env.clone(),
        })
    }

    /// The release's verified files, fetched if they are not there yet; checksums that are not pinned are recorded at
    /// first use.
    ///
    /// Two processes that ask at once fetch once: the second waits, or gives up when `cancel`
    /// becomes true. Whatever goes wrong, nothing half-done is ever found by the next one.
    ///
    /// # Errors
    /// No Maven, a Maven that failed, a wrong checksum, a full disk, a cache that cannot be
    /// written to, or a cancelled wait.
    pub fn ensure(
        &self,
        release: &'static Release,
        arch: Arch,
        cancel: &AtomicBool,
        on: &mut dyn FnMut(StoreEvent),
    ) -> Result<ReleaseFiles, StoreError> {
        let lock = match release.lock() {
            Some(pinned) => pinned.clone(),
            None => self.lock_of_patch(release, cancel, on)?,
        };
        let wanted = Wanted::of(release, &lock, arch);
        let home = self.ensure_wanted(wanted, cancel, on)?;
        let jars = wanted.lock.artifacts(arch);
        Ok(ReleaseFiles {
            jars: jars.map(|a| home.join("lib").join(&a.file)).collect(),
            home,
            version: release.version.to_owned(),
            release,
            origin: Origin::Store,
        })
    }

    /// The verified jar of a tool, fetched if it is not there yet; as [`Self::ensure`] otherwise.
    ///
    /// # Errors
    /// As [`Self::ensure`].
    pub fn ensure_tool(
        &self,
        tool: &'static Tool,
        cancel: &AtomicBool,
        on: &mut dyn FnMut(StoreEvent),
    ) -> Result<PathBuf, StoreError> {
        let (lock, arch) = (tool.lock(), Arch::here());
        let wanted = Wanted {
            kind: "tools",
            version: tool.name,
            lock,
            arch,
        };
        let lib = self.ensure_wanted(wanted, cancel, on)?.join("lib");
        let first = lock.artifacts(arch).next();
        Ok(first.map_or_else(|| lib.clone(), |jar| lib.join(&jar.file)))
    }

    /// A release's folder in the store, if it is there and looks as it was verified.
    pub fn cached(&self, release: &'static Release, arch: Arch) -> Option<PathBuf> {
        let lock = self.known_lock(release)?;
        let wanted = Wanted::of(release, &lock, arch);
        let home = self.home_of(wanted);
        verify::looks_right(&home, wanted).is_ok().then_some(home)
    }

    fn home_of(&self, wanted: Wanted<'_>) -> PathBuf {
        let folder = self.cache.join(wanted.kind);
        folder.join(wanted.version).join(wanted.arch.name())
    }

    fn ensure_wanted(
        &self,
        wanted: Wanted<'_>,
        cancel: &AtomicBool,
        on: &mut dyn FnMut(StoreEvent),
    ) -> Result<PathBuf, StoreError> {
        let home = self.home_of(wanted);
        if verify::looks_right(&home, wanted).is_ok() {
            return Ok(home);
        }
        let _held = self.hold(&wanted.to_string(), cancel, &mut || {
            on(StoreEvent::Waiting {
                version: wanted.version.to_owned(),
            });
        })?;
        // The one we waited for may have done it.
        match verify::looks_right(&home, wanted) {
            Ok(()) => return Ok(home),
            Err(what) if home.exists() => on(StoreEvent::Damaged { what }),
            Err(_) => {}
        }
        let work = self.work_folder(&format!("{wanted}-"))?;
        maven::fetch(&self.env, wanted, work.path(), cancel, on)?;
        verify::verify(work.path(), wanted, on).map_err(|e| e.in_cache(&self.cache))?;
        land(work, &home).map_err(|e| StoreError::of_cache(&self.cache, e))?;
        tracing::info!(release = %wanted, home = %home.display(), "release landed");
        Ok(home)
    }

    /// Takes the advisory lock of that name; it is let go when the file is dropped.
    fn hold(
        &self,
        name: &str,
        cancel: &AtomicBool,
        waiting: &mut dyn FnMut(),
    ) -> Result<fs_err::File, StoreError> {
        let path = self.cache.join("locks").join(format!("{name}.lock"));
        let file = fs_err::File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|e| StoreError::of_cache(&self.cache, e))?;
        let mut reported = false;
        while !lock::take(&file).map_err(|e| StoreError::of_cache(&self.cache, e))? {
            if !std::mem::replace(&mut reported, true) {
                waiting();
            }
            if cancel.load(Ordering::Relaxed) {
                return Err(StoreError::Cancelled);
            }
            std::thread::sleep(TICK);
        }
        Ok(file)
    }

    /// A folder to work in, on the cache's own file system; gone when it is dropped.
    ///
    /// Its lock is held, so any older folder of that prefix was left by a killed process.
    fn work_folder(&self, prefix: &str) -> Result<tempfile::TempDir, StoreError> {
        let prefix = format!(".fetch-{prefix}");
        let make = || {
            for entry in fs_err::read_dir(&self.cache)? {
                let entry = entry?;
                if entry.file_name().to_string_lossy().starts_with(&prefix) {
                    fs_err::remove_dir_all(entry.path())?;
                }
            }
            tempfile::Builder::new()
                .prefix(&prefix)
                .tempdir_in(&self.cache)
        };
        make().map_err(|e| StoreError::of_cache(&self.cache, e))
    }
}

/// Moves a finished folder to its place in one step; what stood there before is removed.
fn land(work: tempfile::TempDir, home: &Path) -> std::io::Result<()> {
    if let Some(parent) = home.parent() {
        fs_err::create_dir_all(parent)?;
    }
    if home.exists() {
        // Nodes that run from it keep their open files.
        let old = tempfile::Builder::new()
            .prefix(".old-")
            .tempdir_in(home.parent().unwrap_or(home))?;
        fs_err::rename(home, old.path().join("release"))?;
    }
    // Temporary folders are private; a cache may be shared.
    let readable = std::fs::Permissions::from_mode(0o755);
    fs_err::set_permissions(work.path(), readable)?;
    fs_err::rename(work.path(), home)?;
    let _moved = work.keep();
    Ok(())
}

#[cfg(test)]
mod tests;
