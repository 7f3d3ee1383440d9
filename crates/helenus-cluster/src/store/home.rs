//! Distributions that a person brings: an unpacked folder, or its archive, unpacked once.
//! Refuses folders without Cassandra's jar, unknown series, and archives that reach outside.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use flate2::read::GzDecoder;
use helenus_cql::input;
use helenus_model::release::{Arch, Release};

use super::{Origin, ReleaseFiles, Store, StoreError, StoreEvent, land};
use crate::digest;

/// Words in a jar's name that mark native or glue code of platforms that are never served here.
pub(super) const FOREIGN: [&str; 6] = ["osx", "macos", "windows", "riscv", "kqueue", "freebsd"];

impl Store {
    /// The files of an unpacked distribution, as they are, by absolute paths.
    ///
    /// # Errors
    /// No Cassandra in it, or one of a series that is not known.
    pub fn from_home(home: &Path) -> Result<ReleaseFiles, StoreError> {
        // Nodes start in folders of theirs, and links to the jars lie in the cache.
        let whole = std::path::absolute(home);
        let whole = whole.as_deref().unwrap_or(home);
        read_home(whole, Arch::here(), Origin::Home)
    }

    /// The files of a distribution's archive, unpacked into the cache once.
    ///
    /// The unpacked folder is keyed by the archive's SHA-256, so an archive that changes is
    /// unpacked again. Links and special files in it are left out.
    ///
    /// # Errors
    /// An archive that cannot be read or reaches outside of its folder, a full disk, a cancelled
    /// wait, or what [`Store::from_home`] refuses.
    pub fn from_tarball(
        &self,
        tarball: &Path,
        cancel: &AtomicBool,
        on: &mut dyn FnMut(StoreEvent),
    ) -> Result<ReleaseFiles, StoreError> {
        let unreadable = |source| StoreError::Tarball {
            tarball: tarball.to_owned(),
            source,
        };
        // A named pipe or a device has no end.
        input::open(tarball).map_err(|e| unreadable(e.bare()))?;
        let key = digest::of_file(tarball, |_| match cancel.load(Ordering::Relaxed) {
            true => Err(io::ErrorKind::Interrupted.into()),
            false => Ok(()),
        })
        .map_err(|source| match cancel.load(Ordering::Relaxed) {
            true => StoreError::Cancelled,
            false => unreadable(source),
        })?;
        let folder = self.cache.join("distributions").join(&key);
        if !folder.is_dir() {
            let _held = self.hold(&format!("dist-{key}"), cancel, &mut || {
                on(StoreEvent::Waiting {
                    version: tarball.display().to_string(),
                });
            })?;
            if !folder.is_dir() {
                on(StoreEvent::Unpacking {
                    tarball: tarball.to_owned(),
                });
                let work = self.work_folder(&format!("dist-{key}-"))?;
                unpack(tarball, work.path(), cancel).map_err(|e| e.in_cache(&self.cache))?;
                // A wrong archive is refused before it lands, by its own name: the folder goes.
                read_home(&top(work.path()), Arch::here(), Origin::Tarball)
                    .map_err(|error| error.of_archive(tarball))?;
                land(work, &folder).map_err(|e| StoreError::of_cache(&self.cache, e))?;
            }
        }
        read_home(&top(&folder), Arch::here(), Origin::Tarball)
    }
}

/// The distribution inside of an unpacked archive: the folder itself, or the only one in it.
fn top(folder: &Path) -> PathBuf {
    if folder.join("lib").is_dir() {
        return folder.to_owned();
    }
    let entries = fs_err::read_dir(folder).into_iter().flatten().flatten();
    let mut folders = entries.map(|e| e.path()).filter(|p| p.is_dir());
    match (folders.next(), folders.next()) {
        (Some(only), None) => only,
        _ => folder.to_owned(),
    }
}

fn read_home(home: &Path, arch: Arch, origin: Origin) -> Result<ReleaseFiles, StoreError> {
    let not = |why: String| StoreError::NotADistribution {
        home: home.to_owned(),
        why,
    };
    let lib = home.join("lib");
    if !lib.is_dir() {
        return Err(not("it has no lib folder".to_owned()));
    }
    let mut jars = Vec::new();
    for folder in [lib.clone(), lib.join(arch.name())] {
        let entries = fs_err::read_dir(&folder).into_iter().flatten().flatten();
        let files = entries.map(|e| e.path()).filter(|p| p.is_file());
        jars.extend(files.filter(|p| is_wanted(&name_of(p), arch)));
    }
    jars.sort();
    let mut versions = jars.iter().filter_map(|jar| version_in(&name_of(jar)));
    let version = versions
        .next()
        .ok_or_else(|| not("lib holds no apache-cassandra-VERSION.jar".to_owned()))?;
    if let Some(other) = versions.next() {
        return Err(not(format!("lib holds both {version} and {other}")));
    }
    let release = Release::facts_for(&version).map_err(|source| StoreError::Unknown {
        home: home.to_owned(),
        source,
    })?;
    Ok(ReleaseFiles {
        home: home.to_owned(),
        jars,
        version,
        release,
        origin,
    })
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn is_wanted(name: &str, arch: Arch) -> bool {
    let of_other = match arch {
        Arch::X86_64 => "-linux-aarch_64",
        Arch::Aarch64 => "-linux-x86_64",
    };
    let foreign = name.contains(of_other) || FOREIGN.iter().any(|f| name.contains(f));
    name.ends_with(".jar") && !foreign
}

/// The version in `apache-cassandra-5.0.9.jar` or `cassandra-all-5.0.9.jar`.
fn version_in(name: &str) -> Option<String> {
    let bare = name.strip_suffix(".jar")?;
    let rest = bare
        .strip_prefix("apache-cassandra-")
        .or_else(|| bare.strip_prefix("cassandra-all-"))?;
    let is_version = rest.starts_with(|c: char| c.is_ascii_digit());
    is_version.then(|| rest.to_owned())
}

/// Unpacks plain files and folders; every path is checked before anything is written.
fn unpack(tarball: &Path, into: &Path, cancel: &AtomicBool) -> Result<(), StoreError> {
    let unreadable = |source: io::Error| match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Io {
            folder: into.to_owned(),
            source,
        },
        _ => StoreError::Tarball {
            tarball: tarball.to_owned(),
            source,
        },
    };
    let file = fs_err::File::open(tarball).map_err(unreadable)?;
    let mut archive = tar::Archive::new(GzDecoder::new(io::BufReader::new(file)));
    archive.set_preserve_mtime(false);
    for entry in archive.entries().map_err(unreadable)? {
        if cancel.load(Ordering::Relaxed) {
            return Err(StoreError::Cancelled);
        }
        let mut entry = entry.map_err(unreadable)?;
        let path = entry.path().map_err(unreadable)?.into_owned();
        let inside = |c| matches!(c, Component::Normal(_) | Component::CurDir);
        let escapes = || StoreError::Escapes {
            tarball: tarball.to_owned(),
            entry: path.clone(),
        };
        if !path.components().all(inside) {
            return Err(escapes());
        }
        let kind = entry.header().entry_type();
        if !kind.is_file() && !kind.is_dir() {
            tracing::debug!(entry = %path.display(), "left out of the distribution");
            continue;
        }
        if !entry.unpack_in(into).map_err(unreadable)? {
            return Err(escapes());
        }
    }
    Ok(())
}
