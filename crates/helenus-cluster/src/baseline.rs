//! Baselines on disk: a saved state of a stopped cluster, to start from again, here and elsewhere.
//! Refuses to be used while anything of it is not as it was saved; what a cut-off save left is never used.
//!
//! They lie beside the clusters, not in them: a baseline is of use after its cluster is gone.

mod error;
mod files;
mod page_cache;
mod restore;
mod save;
mod schema;
pub(crate) mod settle;

pub use error::BaselineError;
pub use files::{Bad, Wrong};
pub(crate) use restore::as_saved;
pub use restore::{RestoreRequest, Restored, look as look_at_restore, restore};
pub use save::{SaveRequest, look as look_at_save, save};
pub use settle::settle;

use crate::cancel::Cancel;
use crate::context::Context;
use crate::error::ClusterError;
use crate::event::Event;
use crate::lock;
use crate::stored::{self, ReadError, there};
use crate::wall::since_1970;
use fs_err as fs;
use helenus_model::baseline::{BASELINE_VERSION, Baseline, check_tag, is_immutable, table_folder};
use helenus_model::guard::is_system_keyspace;
use helenus_model::units::Bytes;
use serde::Serialize;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// Manifest in a baseline's folder.
const MANIFEST: &str = "manifest.json";

/// Folders that a save has not finished, or a removal has not.
const PARTIAL: &str = ".partial-";

/// Baselines that a save is about to replace: brought back where it was cut off before the new one was in their place.
const ASIDE: &str = ".aside-";

/// Lock in the folder of a cluster's baselines.
const LOCK: &str = ".lock";

/// What happens on the way.
#[derive(Debug, Clone)]
pub enum BaselineEvent {
    /// Nodes stop and start.
    Life(Event),
    /// A step starts.
    Step(Step),
    /// Bytes of the step that are done.
    Bytes {
        /// Done.
        done: u64,
        /// Of so many.
        total: u64,
    },
    /// Files that could not be linked had to be copied: time and space grow with the data.
    Copies {
        /// Why the first could not be linked.
        why: String,
    },
}

/// A step of saving, restoring or verifying.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Memtables are written to disk.
    Flush,
    /// Waiting for compactions.
    Settle {
        /// Pending and active ones of all nodes.
        tasks: u64,
    },
    /// Nodes refuse writes and empty their commit logs.
    Drain,
    /// The baseline is compared with its manifest, without reading large files.
    Check,
    /// Keyspaces and tables are made.
    Schema,
    /// Files get their second names.
    Link,
    /// SHA-256 of each file.
    Hash,
    /// The page cache is emptied of the data files, or looked at.
    Cache,
}

/// The baselines of this user.
#[derive(Debug, Clone)]
pub struct Baselines {
    root: PathBuf,
}

/// The right to change the baselines of one cluster; given back when dropped or when the process ends.
#[derive(Debug)]
pub struct BaselineLock {
    _file: fs::File,
}

/// A baseline as `list` shows it.
#[derive(Debug, Clone, Serialize)]
pub struct Listed {
    /// Cluster that was saved.
    pub cluster: String,
    /// Tag.
    pub tag: String,
    /// Release.
    pub release: String,
    /// When it was saved, in seconds since 1970.
    pub created_unix: u64,
    /// When every byte was last read and found as saved.
    pub verified_unix: Option<u64>,
    /// Nodes.
    pub nodes: usize,
    /// Own tables and views.
    pub tables: usize,
    /// Size of all files.
    pub bytes: Bytes,
    /// Space that only the baseline holds: what removing it would give back.
    pub own_bytes: Bytes,
    /// Folder.
    pub folder: PathBuf,
    /// Why it cannot be used, where its manifest cannot be read.
    pub problem: Option<String>,
}

/// A table's SSTables in a baseline, for whoever refills a living table from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedFolder {
    /// Node of the baseline.
    pub node: String,
    /// Keyspace.
    pub keyspace: String,
    /// Table or view.
    pub table: String,
    /// Folder with the SSTables. Only linked copies of them may be handed to a node, never they themselves.
    pub folder: PathBuf,
    /// Files in it, by path below `folder`; true where a node may share the file.
    pub files: Vec<(String, bool)>,
}

impl Baselines {
    /// The baselines of this user; nothing is made yet.
    pub fn of(context: &Context) -> Self {
        Self::look(&context.paths.state)
    }

    /// The baselines below a state folder; nothing is made yet.
    pub fn look(state: &Path) -> Self {
        Self {
            root: state.join("baselines"),
        }
    }

    /// Folder of a baseline, there or not.
    pub fn folder(&self, cluster: &str, tag: &str) -> PathBuf {
        self.root.join(cluster).join(tag)
    }

    /// Folder of a baseline while a save replaces it, there or not.
    fn aside(&self, cluster: &str, tag: &str) -> PathBuf {
        self.folder(cluster, &format!("{ASIDE}{tag}"))
    }

    /// Names of clusters that baselines are of, sorted.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn clusters(&self) -> Result<Vec<String>, BaselineError> {
        let names = folders(&self.root).map_err(BaselineError::io("the baselines"))?;
        Ok(names.into_iter().filter(|n| !n.starts_with('.')).collect())
    }

    /// Tags of a cluster's baselines, sorted; unfinished ones are not among them.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn tags(&self, cluster: &str) -> Result<Vec<String>, BaselineError> {
        let names =
            folders(&self.root.join(cluster)).map_err(BaselineError::io("the baselines"))?;
        let tags = names.iter().map(|n| n.strip_prefix(ASIDE).unwrap_or(n));
        let mut tags: Vec<String> = tags
            .filter(|tag| !tag.starts_with('.'))
            .map(str::to_owned)
            .collect();
        tags.sort();
        tags.dedup();
        Ok(tags)
    }

    /// The manifest of a baseline.
    ///
    /// # Errors
    /// No such baseline, or one that this Helenus cannot read.
    pub fn load(&self, cluster: &str, tag: &str) -> Result<Baseline, BaselineError> {
        let folder = self.folder(cluster, tag);
        let named = check_tag(cluster).is_ok() && check_tag(tag).is_ok();
        if named && !folder.is_dir() && self.aside(cluster, tag).is_dir() {
            // Who takes the lock brings it back.
            drop(self.lock(cluster)?);
        }
        if !named || !folder.is_dir() {
            return Err(BaselineError::Unknown {
                cluster: cluster.into(),
                tag: tag.into(),
                known: self.tags(cluster).unwrap_or_default(),
                clusters: self.clusters().unwrap_or_default(),
            });
        }
        read_manifest(&folder.join(MANIFEST)).map_err(|source| BaselineError::Unreadable {
            cluster: cluster.into(),
            tag: tag.into(),
            source,
        })
    }

    /// All baselines, or those of one cluster.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn list(&self, cluster: Option<&str>) -> Result<Vec<Listed>, BaselineError> {
        let clusters = match cluster {
            Some(name) => vec![name.to_owned()],
            None => self.clusters()?,
        };
        let mut listed = Vec::new();
        for cluster in clusters {
            for tag in self.tags(&cluster)? {
                listed.push(self.listed(&cluster, &tag));
            }
        }
        Ok(listed)
    }

    /// One baseline as `list` shows it.
    pub fn listed(&self, cluster: &str, tag: &str) -> Listed {
        let folder = self.folder(cluster, tag);
        let own_bytes = Bytes(own_size(&folder));
        let mut listed = Listed {
            cluster: cluster.to_owned(),
            tag: tag.to_owned(),
            release: String::new(),
            created_unix: 0,
            verified_unix: None,
            nodes: 0,
            tables: 0,
            bytes: Bytes(0),
            own_bytes,
            folder,
            problem: None,
        };
        match self.load(cluster, tag) {
            Ok(baseline) => {
                listed.bytes = baseline.bytes();
                listed.nodes = baseline.nodes.len();
                listed.tables = baseline.tables.len();
                listed.release = baseline.release;
                listed.created_unix = baseline.created_unix;
                listed.verified_unix = baseline.verified_unix;
            }
            Err(error) => listed.problem = Some(crate::error::with_causes(&error)),
        }
        listed
    }

    /// Takes the lock of a cluster's baselines, deletes what a cut-off save or removal left, and brings back what such a
    /// save had put aside.
    ///
    /// # Errors
    /// Another helenus holds it, or the folder cannot be made.
    pub fn lock(&self, cluster: &str) -> Result<BaselineLock, BaselineError> {
        let io = || BaselineError::io("the baselines");
        let folder = self.root.join(cluster);
        let mut make = std::fs::DirBuilder::new();
        make.recursive(true).mode(0o700);
        let file = loop {
            make.create(&folder).map_err(io())?;
            let opened = fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(folder.join(LOCK));
            let Some(file) = there(opened).map_err(io())? else {
                continue;
            };
            if !lock::take(&file).map_err(io())? {
                return Err(BaselineError::Busy(cluster.to_owned()));
            }
            // One without a name went with its folder meanwhile.
            if lock::has_name(&file).map_err(io())? {
                break file;
            }
        };
        for name in folders(&folder).map_err(io())? {
            if name.starts_with(PARTIAL) {
                tracing::info!(cluster, name, "an unfinished baseline is deleted");
                fs::remove_dir_all(folder.join(name)).map_err(io())?;
            } else if let Some(tag) = name.strip_prefix(ASIDE) {
                tracing::info!(cluster, tag, "a baseline was put aside by a save");
                let (aside, place) = (folder.join(&name), folder.join(tag));
                let done = match place.exists() {
                    true => fs::remove_dir_all(aside),
                    false => fs::rename(aside, place),
                };
                done.map_err(io())?;
            }
        }
        Ok(BaselineLock { _file: file })
    }

    /// Reads every byte of a baseline; what is wrong is reported file by file. Remembers a verification that found
    /// nothing wrong.
    ///
    /// # Errors
    /// No such baseline, or the person stopped it.
    pub fn verify(
        &self,
        cluster: &str,
        tag: &str,
        cancel: &Cancel,
        events: &mut dyn FnMut(BaselineEvent),
    ) -> Result<(Baseline, Vec<Bad>), BaselineError> {
        let mut baseline = self.load(cluster, tag)?;
        let _lock = self.lock(cluster)?;
        let folder = self.folder(cluster, tag);
        events(BaselineEvent::Step(Step::Hash));
        let bad = files::verify(&folder, &baseline, cancel, events)?;
        if bad.is_empty() {
            baseline.verified_unix = Some(since_1970().as_secs());
            write_manifest(&folder, &baseline).map_err(BaselineError::io("the manifest"))?;
        }
        Ok((baseline, bad))
    }

    /// Deletes a baseline, readable or not.
    ///
    /// # Errors
    /// No such baseline, or it cannot be deleted.
    pub fn remove(&self, cluster: &str, tag: &str) -> Result<(), BaselineError> {
        if let Err(error @ BaselineError::Unknown { .. }) = self.load(cluster, tag) {
            return Err(error);
        }
        let _lock = self.lock(cluster)?;
        // Under another name first: a removal that is cut off leaves nothing that looks whole.
        let leaving = self.folder(cluster, &format!("{PARTIAL}{tag}"));
        let io = || BaselineError::io("the baseline's folder");
        fs::rename(self.folder(cluster, tag), &leaving).map_err(io())?;
        fs::remove_dir_all(&leaving).map_err(io())?;
        if !self.tags(cluster)?.is_empty() {
            return Ok(());
        }
        // Whoever takes the lock from now on makes a new one, which keeps the folder.
        let folder = self.root.join(cluster);
        fs::remove_file(folder.join(LOCK)).map_err(io())?;
        match fs::remove_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            done => there(done).map(drop).map_err(io()),
        }
    }

    /// Where the SSTables of own tables lie in a baseline, by node.
    pub fn table_folders(&self, baseline: &Baseline) -> Vec<SavedFolder> {
        let root = self.folder(&baseline.cluster, &baseline.tag);
        let mut found: Vec<SavedFolder> = Vec::new();
        for node in &baseline.nodes {
            for file in &node.files {
                let Some(place) = table_folder(&file.path) else {
                    continue;
                };
                let own = baseline.tables.iter().any(|t| {
                    t.keyspace == place.keyspace && t.table == place.table && t.id == place.id
                });
                if !own || is_system_keyspace(place.keyspace) {
                    continue;
                }
                let folder = root
                    .join(&node.name)
                    .join(format!("{}/{}-{}", place.keyspace, place.table, place.id));
                let shared = is_immutable(&baseline.release, &file.path);
                let entry = (place.rest.to_owned(), shared);
                match found.iter_mut().find(|f| f.folder == folder) {
                    Some(known) => known.files.push(entry),
                    None => found.push(SavedFolder {
                        node: node.name.clone(),
                        keyspace: place.keyspace.to_owned(),
                        table: place.table.to_owned(),
                        folder,
                        files: vec![entry],
                    }),
                }
            }
        }
        found
    }
}

fn read_manifest(path: &Path) -> Result<Baseline, ReadError> {
    stored::read(path, "baseline", BASELINE_VERSION)
}

fn write_manifest(folder: &Path, baseline: &Baseline) -> io::Result<()> {
    stored::write(&folder.join(MANIFEST), baseline)
}

/// Names of folders in a folder, sorted; none where it is not there.
fn folders(folder: &Path) -> io::Result<Vec<String>> {
    let Some(entries) = there(fs::read_dir(folder))? else {
        return Ok(Vec::new());
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Space of files that have no other name.
fn own_size(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    let sizes = entries
        .filter_map(Result::ok)
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => own_size(&entry.path()),
            Ok(meta) if meta.nlink() == 1 => meta.blocks() * 512,
            _ => 0,
        });
    sizes.sum()
}

/// Stops the work where the person asked for it.
fn go_on(cancel: &Cancel) -> Result<(), ClusterError> {
    if cancel.is_set() {
        Err(crate::ready::ReadyError::Interrupted.into())
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The baselines of a cluster `c` with these folders, and where they lie.
    fn with(names: &[&str]) -> (tempfile::TempDir, Baselines, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let baselines = Baselines::look(home.path());
        for name in names {
            fs::create_dir_all(baselines.folder("c", name)).unwrap();
        }
        let folder = home.path().join("baselines/c");
        (home, baselines, folder)
    }

    #[test]
    fn the_folder_goes_with_its_last_baseline_and_takes_nothing_else_along() {
        let (_home, baselines, folder) = with(&["one", "two"]);
        baselines.remove("c", "one").unwrap();
        assert!(folder.join(LOCK).exists());
        // As what another helenus is about to save there.
        fs::write(folder.join("new"), "").unwrap();
        baselines.remove("c", "two").unwrap();
        assert_eq!(folders(&folder).unwrap(), Vec::<String>::new());
        assert!(folder.join("new").exists());
        fs::remove_file(folder.join("new")).unwrap();
        fs::create_dir(folder.join("three")).unwrap();
        baselines.remove("c", "three").unwrap();
        assert!(!folder.exists());
        // A lock whose file is gone keeps nobody out.
        let held = baselines.lock("c").unwrap();
        assert!(matches!(baselines.lock("c"), Err(BaselineError::Busy(_))));
        fs::remove_file(folder.join(LOCK)).unwrap();
        drop((baselines.lock("c").unwrap(), held));
    }

    #[test]
    fn what_a_save_put_aside_comes_back_unless_the_new_one_is_in_its_place() {
        let (_home, baselines, folder) = with(&[".aside-one", ".partial-one"]);
        fs::write(folder.join(".aside-one/old"), "").unwrap();
        assert_eq!(baselines.tags("c").unwrap(), ["one"]);
        // It has no manifest, and is there.
        let error = baselines.load("c", "one").unwrap_err();
        assert!(matches!(error, BaselineError::Unreadable { .. }), "{error}");
        assert!(folder.join("one/old").exists());
        assert_eq!(folders(&folder).unwrap(), ["one"]);
        fs::create_dir(folder.join(".aside-one")).unwrap();
        assert_eq!(baselines.tags("c").unwrap(), ["one"]);
        drop(baselines.lock("c").unwrap());
        assert!(folder.join("one/old").exists());
        assert_eq!(folders(&folder).unwrap(), ["one"]);
    }
}
