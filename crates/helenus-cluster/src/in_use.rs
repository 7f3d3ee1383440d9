//! IN USE: a run holds the cluster that it measures, and learns which commands disturbed it.
//! Refuses to let a verb disturb a run unless a person insists; then who did it is written down.

use crate::error::ClusterError;
use crate::state::{Clusters, StateError, started_at};
use crate::wall;
use fs_err as fs;
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::PathBuf;

/// Folder of a cluster with one file for each run that holds it, locked as long as that run lasts.
const FOLDER: &str = "runs";

/// File of a cluster that says who disturbed its runs, a line each.
const JOURNAL: &str = "disturbed";

/// A command that disturbed a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disturbance {
    /// When, in nanoseconds of the wall clock.
    pub at_wall_ns: u64,
    /// Its words.
    pub command: String,
}

/// A run's hold on a cluster; given back when dropped or when the process ends.
#[derive(Debug)]
pub struct Hold {
    path: PathBuf,
    _locked: fs::File,
    journal: fs::File,
    from: u64,
}

impl Hold {
    /// Holds a cluster, in the words of the command that runs on it.
    ///
    /// # Errors
    /// There is no such cluster, or its folder cannot be written.
    pub fn take(clusters: &Clusters, cluster: &str, command: &str) -> io::Result<Self> {
        let folder = clusters.folder(cluster);
        match fs::create_dir(folder.join(FOLDER)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        // A number of its own: one process may run several things at once. It is locked, and has its words, before it
        // stands there: an unlocked one is a killed run's, and whoever looks removes it.
        let mut made = tempfile::NamedTempFile::with_prefix_in("run-", &folder)?;
        rustix::fs::flock(made.as_file(), FlockOperation::NonBlockingLockExclusive)?;
        made.write_all(command.as_bytes())?;
        let name = made.path().file_name().unwrap_or_default();
        let path = folder.join(FOLDER).join(name);
        let locked = made.persist_noclobber(&path).map_err(|e| e.error)?;
        let mut journal = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .read(true)
            .open(folder.join(JOURNAL))?;
        Ok(Self {
            from: journal.seek(io::SeekFrom::End(0))?,
            _locked: fs::File::from_parts(locked, &path),
            path,
            journal,
        })
    }

    /// The same, but a folder that cannot be written stops no command: then others are not kept away.
    pub fn try_take(clusters: &Clusters, cluster: &str, command: &str) -> Option<Self> {
        let taken = Self::take(clusters, cluster, command);
        taken
            .inspect_err(|error| tracing::warn!(%error, "the command does not hold its cluster"))
            .ok()
    }

    /// Commands that disturbed the cluster since it was taken, the first one first.
    pub fn disturbances(&mut self) -> Vec<Disturbance> {
        let mut text = String::new();
        let read = self
            .journal
            .seek(io::SeekFrom::Start(self.from))
            .and_then(|_| self.journal.read_to_string(&mut text));
        if let Err(error) = read {
            tracing::warn!(%error, "it is not known what disturbed the run");
        }
        lines(&text)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let _gone_with_its_cluster = fs::remove_file(&self.path);
    }
}

fn lines(text: &str) -> Vec<Disturbance> {
    let lines = text.lines();
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// All that was ever written down of an existing cluster; of one that is gone nothing.
pub fn disturbances(clusters: &Clusters, cluster: &str) -> Vec<Disturbance> {
    let text = fs::read_to_string(clusters.folder(cluster).join(JOURNAL));
    lines(&text.unwrap_or_default())
}

/// Whether a verb may disturb a cluster now: no run uses it, or the person insists. Who insists is written
/// down for the runs, in the words of `command`.
///
/// # Errors
/// [`StateError::InUse`]; or who insists cannot be written down.
pub fn disturb(
    clusters: &Clusters,
    cluster: &str,
    command: &str,
    force: bool,
) -> Result<(), ClusterError> {
    let Some(by) = user(clusters, cluster) else {
        return Ok(());
    };
    if !force {
        let cluster = cluster.to_owned();
        return Err(StateError::InUse { cluster, by }.into());
    }
    let one = Disturbance {
        at_wall_ns: wall::now_ns(),
        command: command.to_owned(),
    };
    let write = || -> io::Result<()> {
        let mut line = serde_json::to_string(&one)?;
        line.push('\n');
        let journal = clusters.folder(cluster).join(JOURNAL);
        let mut file = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(journal)?;
        file.write_all(line.as_bytes())
    };
    write().map_err(ClusterError::io("the cluster's folder"))
}

/// Who uses a cluster: the first run that holds it, or the command that made it for itself and still lives.
fn user(clusters: &Clusters, cluster: &str) -> Option<String> {
    let files = fs::read_dir(clusters.folder(cluster).join(FOLDER));
    for path in files.into_iter().flatten().flatten().map(|f| f.path()) {
        let Ok(mut file) = fs::File::open(&path) else {
            continue;
        };
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let mut command = String::new();
                let _unknown_words = file.read_to_string(&mut command);
                return Some(command);
            }
            // Its run was killed.
            _ => {
                let _another_was_quicker = fs::remove_file(&path);
            }
        }
    }
    let state = clusters.load(cluster).ok()?;
    let (maker, started) = state.maker;
    let lives = state.ephemeral && started.is_some() && started_at(maker) == started;
    lives.then(|| format!("process {maker}, which made it for itself"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_left_alone_until_somebody_insists() {
        let folder = tempfile::tempdir().unwrap();
        let clusters = Clusters::open(folder.path()).unwrap();
        fs::create_dir_all(clusters.folder("c")).unwrap();
        let stop = |force| disturb(&clusters, "c", "helenus stop c", force);
        stop(true).unwrap();
        assert_eq!(disturbances(&clusters, "c"), [], "nobody was disturbed");
        let mut hold = Hold::take(&clusters, "c", "helenus bench").unwrap();
        let refused = stop(false).unwrap_err();
        assert!(matches!(
            refused.find(),
            Some(StateError::InUse { by, .. }) if by == "helenus bench"
        ));
        assert_eq!(hold.disturbances(), []);
        stop(true).unwrap();
        let words = |all: Vec<Disturbance>| -> Vec<String> {
            all.into_iter().map(|one| one.command).collect()
        };
        assert_eq!(words(hold.disturbances()), ["helenus stop c"]);
        let mut next = Hold::take(&clusters, "c", "helenus run kv").unwrap();
        assert_eq!(next.disturbances(), [], "that was before it");
        // Also where the folder goes away beneath it.
        stop(true).unwrap();
        fs::remove_dir_all(clusters.folder("c")).unwrap();
        assert_eq!(words(next.disturbances()).len(), 1);
        drop((hold, next));
        fs::create_dir_all(clusters.folder("c")).unwrap();
        stop(false).unwrap();
    }
}
