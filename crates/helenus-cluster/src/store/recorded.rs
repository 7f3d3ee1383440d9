//! Patches without a pinned lock: what Maven resolves at first use is recorded, and later fetches must match it.
//! Refuses to record anew what is recorded once, and to take a jar that is not for Linux.

use crate::stored::there;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use helenus_model::release::{Arch, Artifact, Lock, Release};

use super::home::FOREIGN;
use super::{Store, StoreError, StoreEvent, maven};
use crate::digest;

/// The record of a patch, beside its folders of jars.
const RECORD: &str = "lock.tsv";

impl Store {
    /// The lock of a release: the pinned one, or what was recorded when it was fetched first.
    pub fn known_lock(&self, release: &'static Release) -> Option<Lock> {
        match release.lock() {
            Some(lock) => Some(lock.clone()),
            None => self.recorded(release).ok().flatten(),
        }
    }

    /// Versions whose checksums were recorded here, in the order of their names.
    pub fn recorded_versions(&self) -> Vec<String> {
        let entries = fs_err::read_dir(self.cache.join("releases"));
        let folders = entries.into_iter().flatten().flatten().map(|e| e.path());
        let recorded = folders.filter(|folder| folder.join(RECORD).is_file());
        let names = recorded.filter_map(|folder| folder.file_name().map(ToOwned::to_owned));
        let mut names: Vec<String> = names.map(|n| n.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// The best known release of each series, and before it the patches that were fetched here.
    pub fn listed(&self) -> Vec<&'static Release> {
        let recorded = self.recorded_versions();
        let patches = recorded.iter().filter_map(|v| Release::find(v).ok());
        let all: Vec<&Release> = patches.filter(|r| r.lock().is_none()).collect();
        let of_series = |best: &&'static Release| {
            let others = all.iter().copied();
            let others = others.filter(|r| r.series == best.series && r.version != best.version);
            others.chain([*best]).collect::<Vec<_>>()
        };
        Release::all().iter().flat_map(of_series).collect()
    }

    pub(super) fn record_of(&self, version: &str) -> PathBuf {
        self.cache.join("releases").join(version).join(RECORD)
    }

    /// What was recorded of a release; nothing before its first fetch.
    fn recorded(&self, release: &'static Release) -> Result<Option<Lock>, StoreError> {
        let path = self.record_of(release.version);
        let text = there(fs_err::read_to_string(&path));
        let Some(text) = text.map_err(|error| StoreError::of_cache(&self.cache, error))? else {
            return Ok(None);
        };
        let lock = Lock::parse(&text);
        lock.map(Some)
            .map_err(|source| StoreError::Record { path, source })
    }

    /// The recorded lock, recorded now if it is not there yet.
    pub(super) fn lock_of_patch(
        &self,
        release: &'static Release,
        cancel: &AtomicBool,
        on: &mut dyn FnMut(StoreEvent),
    ) -> Result<Lock, StoreError> {
        if let Some(lock) = self.recorded(release)? {
            return Ok(lock);
        }
        let version = release.version;
        let _held = self.hold(&format!("{version}-record"), cancel, &mut || {
            on(StoreEvent::Waiting {
                version: version.to_owned(),
            });
        })?;
        if let Some(lock) = self.recorded(release)? {
            return Ok(lock);
        }
        on(StoreEvent::Resolving {
            version: version.to_owned(),
        });
        let work = self.work_folder(&format!("{version}-record-"))?;
        let list = maven::resolve(&self.env, release, work.path(), cancel)?;
        let io = |e| StoreError::of_cache(&self.cache, e);
        let (lock, left_off) = lock_of(&list, &work.path().join(maven::LIB)).map_err(io)?;
        tracing::info!(version, ?left_off, "resolved");
        let record = self.record_of(version);
        write_record(&record, version, &lock).map_err(io)?;
        on(StoreEvent::Recorded {
            version: version.to_owned(),
            jars: lock.artifacts(Arch::here()).count(),
            record,
        });
        Ok(lock)
    }
}

/// In one step: a record is whole or not there.
fn write_record(record: &Path, version: &str, lock: &Lock) -> io::Result<()> {
    let folder = record.parent().unwrap_or(record);
    fs_err::create_dir_all(folder)?;
    let text = lock_text(version, "recorded at first use", lock);
    let part = record.with_extension("part");
    fs_err::write(&part, text)?;
    fs_err::File::open(&part)?.sync_all()?;
    fs_err::rename(part, record)
}

/// The text of a lock, with the comment that says where it is from.
pub fn lock_text(version: &str, from: &str, lock: &Lock) -> String {
    let lines = lock.all().iter().map(|a| a.to_line() + "\n");
    format!(
        "# helenus.lock/1 cassandra {version}: its jars; {from}\n\
         # group, artifact, version, classifier, arch, file, sha256, bytes\n{}",
        lines.collect::<String>()
    )
}

/// What Maven listed and copied, as a lock, and the names of the jars that are for other systems and left off.
///
/// # Errors
/// A jar of the list that is not there, or nothing in the list.
pub fn lock_of(list: &str, jars: &Path) -> io::Result<(Lock, Vec<String>)> {
    let (mut artifacts, mut left_off) = (Vec::new(), Vec::new());
    for [group, artifact, classifier, version] in list.lines().filter_map(coordinates) {
        let dash = if classifier.is_empty() { "" } else { "-" };
        let file = format!("{artifact}-{version}{dash}{classifier}.jar");
        if FOREIGN.iter().any(|word| file.contains(word)) {
            left_off.push(file);
            continue;
        }
        let path = jars.join(&file);
        artifacts.push(Artifact {
            arch: classifier.strip_prefix("linux-").and_then(Arch::parse),
            classifier: Some(classifier).filter(|c| !c.is_empty()),
            sha256: digest::of_file(&path, |_| Ok(()))?,
            size: fs_err::metadata(&path)?.len(),
            version,
            group,
            artifact,
            file,
        });
    }
    artifacts.sort_by(|a, b| a.file.cmp(&b.file));
    let lines: String = artifacts.iter().map(|a| a.to_line() + "\n").collect();
    let lock = Lock::parse(&lines).map_err(io::Error::other)?;
    Ok((lock, left_off))
}

/// `group:artifact:jar[:classifier]:version:scope`, with colours and module names around it.
fn coordinates(line: &str) -> Option<[String; 4]> {
    let word = line.split_whitespace().next()?;
    let parts: Vec<&str> = word.split(':').collect();
    let (group, artifact, classifier, version) = match parts[..] {
        [group, artifact, "jar", version, _] => (group, artifact, "", version),
        [group, artifact, "jar", classifier, version, _] => (group, artifact, classifier, version),
        _ => return None,
    };
    Some([group, artifact, classifier, version].map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::coordinates;

    #[test]
    fn mavens_list_is_read() {
        let plain = "   g.h:a:jar:1.0:compile -- module a (auto)";
        assert_eq!(coordinates(plain).unwrap(), ["g.h", "a", "", "1.0"]);
        let native = "   g:a:jar:linux-x86_64:1.0:runtime";
        assert_eq!(
            coordinates(native).unwrap(),
            ["g", "a", "linux-x86_64", "1.0"]
        );
        assert_eq!(coordinates("The following files have been resolved:"), None);
    }
}
