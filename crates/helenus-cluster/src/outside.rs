//! Folders of nodes outside of the cluster's, on other disks: marked as the cluster's, and removed with it.
//! Refuses a folder in which anything lies, and to remove what is not marked.
//!
//! A list in the cluster's folder has them before they are made, so that whatever is left can be removed without a
//! readable state.

use crate::error::{Class, ClusterError, Problem};
use fs_err as fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// List in the cluster's folder, one folder a line as JSON: the folder, and the topmost one that is made for it.
const LIST: &str = "outside";

/// File in each folder with the folder of the cluster that it belongs to.
const MARK: &str = ".helenus";

/// A folder cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum OutsideError {
    /// It contains files.
    #[error("{0} is not empty")]
    Taken(PathBuf),
    /// It cannot be made.
    #[error("cannot make a folder for data")]
    Io(#[from] io::Error),
}

impl Problem for OutsideError {
    fn class(&self) -> Class {
        Class::Environment
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Taken(_) => {
                "each node has a folder CLUSTER-NODE below --data-dir and --commitlog-dir: move this one away, or give the cluster another name"
            }
            Self::Io(_) => {
                "name a folder of yours on that disk with --data-dir and --commitlog-dir, or leave them out: by default, data are in the state folder"
            }
        };
        Some(hint.to_owned())
    }
}

/// Makes folders for a cluster; those that are the cluster's already stay.
///
/// # Errors
/// One is somebody else's, or cannot be made.
pub(crate) fn make(cluster: &Path, folders: &[&str]) -> Result<(), OutsideError> {
    let known = list(cluster);
    for folder in folders {
        let folder = Path::new(folder);
        // A mark without a line is of an earlier cluster of this name: its data would be taken for this one's.
        let listed = known.iter().any(|(other, _)| other == folder);
        if listed && is_marked(folder, cluster) {
            continue;
        }
        let missing = folder.ancestors().take_while(|f| !f.exists());
        let topmost = missing.last().unwrap_or(folder);
        write_down(cluster, folder, topmost)?;
        fs::create_dir_all(folder)?;
        if fs::read_dir(folder)?.next().is_some() {
            return Err(OutsideError::Taken(folder.to_owned()));
        }
        fs::write(folder.join(MARK), cluster.as_os_str().as_encoded_bytes())?;
    }
    Ok(())
}

/// Folders outside that are this cluster's.
pub(crate) fn of(cluster: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = list(cluster)
        .into_iter()
        .map(|(folder, _)| folder)
        .collect();
    all.retain(|folder| is_marked(folder, cluster));
    all
}

/// Removes the folders of a cluster, whose processes must have ended, and what was made above them, where it is empty.
///
/// # Errors
/// One that is marked cannot be removed.
pub(crate) fn remove(cluster: &Path) -> Result<(), ClusterError> {
    remove_where(cluster, |_| true)
}

/// The same of those of the folders that are wanted gone.
///
/// # Errors
/// One that is marked cannot be removed.
pub(crate) fn remove_where(
    cluster: &Path,
    wanted: impl Fn(&Path) -> bool,
) -> Result<(), ClusterError> {
    let mut all = list(cluster);
    all.retain(|(folder, _)| wanted(folder));
    for (folder, _) in &all {
        if is_marked(folder, cluster) {
            empty(folder).map_err(ClusterError::io("a folder for data"))?;
        }
        // Without a mark it is not known whose it is: it goes where nothing is in it.
        let _theirs = fs::remove_dir(folder);
    }
    for (folder, topmost) in &all {
        let above = folder.ancestors().skip(1);
        let mut made = above.take_while(|f| f.starts_with(topmost));
        let _last_removed = made.try_for_each(fs::remove_dir);
    }
    Ok(())
}

/// Deletes all that is in a folder, its mark last: until then it is known whose it is.
fn empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() == MARK {
            continue;
        }
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    fs::remove_file(folder.join(MARK))
}

fn is_marked(folder: &Path, cluster: &Path) -> bool {
    let mark = fs::read(folder.join(MARK));
    mark.is_ok_and(|mark| mark == cluster.as_os_str().as_encoded_bytes())
}

fn write_down(cluster: &Path, folder: &Path, topmost: &Path) -> io::Result<()> {
    let mut line = serde_json::to_vec(&(folder, topmost)).map_err(io::Error::other)?;
    line.push(b'\n');
    let mut options = fs::OpenOptions::new();
    let mut list = options.create(true).append(true).open(cluster.join(LIST))?;
    list.write_all(&line)
}

/// Folders with the topmost one that was made for each, each folder once; a line that was cut off was never followed.
fn list(cluster: &Path) -> Vec<(PathBuf, PathBuf)> {
    let text = fs::read_to_string(cluster.join(LIST)).unwrap_or_default();
    let mut all: Vec<(PathBuf, PathBuf)> = Vec::new();
    for (folder, topmost) in text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
    {
        let known: &PathBuf = &folder;
        if all.iter().all(|(other, _)| other != known) {
            all.push((folder, topmost));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Lab {
        root: tempfile::TempDir,
        cluster: PathBuf,
    }

    impl Lab {
        fn new() -> Self {
            let root = tempfile::tempdir().expect("a folder");
            let cluster = root.path().join("state/c");
            fs::create_dir_all(&cluster).expect("a folder");
            fs::create_dir(root.path().join("disk")).expect("a folder");
            Self { root, cluster }
        }

        fn path(&self, below: &str) -> PathBuf {
            self.root.path().join(below)
        }

        fn text(&self, below: &str) -> String {
            self.path(below).to_string_lossy().into_owned()
        }
    }

    #[test]
    fn folders_are_made_once_and_go_with_what_was_made_above_them() {
        let lab = Lab::new();
        let text = lab.text("disk/new/c-node1");
        make(&lab.cluster, &[&text]).expect("made");
        make(&lab.cluster, &[&text]).expect("made before");
        let folder = lab.path("disk/new/c-node1");
        assert_eq!(of(&lab.cluster), std::slice::from_ref(&folder));
        fs::create_dir(folder.join("data")).expect("a folder");
        fs::write(folder.join("data/file"), "rows").expect("a file");
        remove(&lab.cluster).expect("removed");
        assert!(!lab.path("disk/new").exists());
        assert!(lab.path("disk").exists());
        remove(&lab.cluster).expect("nothing to do");
    }

    #[test]
    fn what_was_made_for_several_nodes_goes_with_the_last() {
        let lab = Lab::new();
        let texts = [lab.text("disk/new/c-node1"), lab.text("disk/new/c-node2")];
        for text in &texts {
            make(&lab.cluster, &[text]).expect("made");
        }
        remove(&lab.cluster).expect("removed");
        assert!(!lab.path("disk/new").exists());
        assert!(lab.path("disk").exists());
    }

    #[test]
    fn a_node_s_folders_go_alone_and_are_made_anew() {
        let lab = Lab::new();
        let texts = [lab.text("disk/new/c-node1"), lab.text("disk/new/c-node2")];
        make(&lab.cluster, &[&texts[0], &texts[1]]).expect("made");
        let first = lab.path("disk/new/c-node1");
        fs::create_dir(first.join("data")).expect("a folder");
        remove_where(&lab.cluster, |folder| folder == first).expect("removed");
        assert!(!first.exists());
        assert_eq!(of(&lab.cluster), [lab.path("disk/new/c-node2")]);
        make(&lab.cluster, &[&texts[0]]).expect("made anew");
        assert!(!first.join("data").exists());
        remove(&lab.cluster).expect("removed");
        assert!(!lab.path("disk/new").exists());
    }

    #[test]
    fn somebody_s_files_stay() {
        let lab = Lab::new();
        let text = lab.text("disk/c-node1");
        let folders = [text.as_str()];
        fs::create_dir(lab.path("disk/c-node1")).expect("a folder");
        fs::write(lab.path("disk/c-node1/theirs"), "rows").expect("a file");
        let error = make(&lab.cluster, &folders).expect_err("it is taken");
        assert!(matches!(error, OutsideError::Taken(_)), "{error}");
        remove(&lab.cluster).expect("nothing of ours");
        assert!(lab.path("disk/c-node1/theirs").exists());
        // Of another cluster of the same name, in another home.
        fs::remove_file(lab.path("disk/c-node1/theirs")).expect("removed");
        let other = lab.path("other/c");
        fs::create_dir_all(&other).expect("a folder");
        make(&other, &folders).expect("made");
        make(&lab.cluster, &folders).expect_err("it is the other's");
        remove(&lab.cluster).expect("nothing of ours");
        assert_eq!(of(&other).len(), 1);
    }

    #[test]
    fn data_of_an_earlier_cluster_of_the_name_are_not_taken_over() {
        let lab = Lab::new();
        let text = lab.text("disk/c-node1");
        make(&lab.cluster, &[&text]).expect("made");
        // Somebody deleted the cluster's folder by hand.
        fs::remove_file(lab.cluster.join(LIST)).expect("a list");
        make(&lab.cluster, &[&text]).expect_err("it has a mark in it, and may have data");
        assert!(lab.path("disk/c-node1").exists());
    }

    #[test]
    fn what_a_kill_left_is_removed() {
        let lab = Lab::new();
        let folder = lab.path("disk/new/c-node1");
        // Written down, and killed.
        write_down(&lab.cluster, &folder, &lab.path("disk/new")).expect("written");
        remove(&lab.cluster).expect("nothing there");
        // Made, and killed before the mark.
        fs::create_dir_all(&folder).expect("a folder");
        remove(&lab.cluster).expect("removed");
        assert!(!lab.path("disk/new").exists());
        // Killed in the removal: the mark is the last to go.
        let text = lab.text("disk/new/c-node1");
        make(&lab.cluster, &[&text]).expect("made");
        fs::write(folder.join("rest"), "rows").expect("a file");
        fs::write(
            lab.cluster.join(LIST),
            fs::read_to_string(lab.cluster.join(LIST)).expect("a list") + "[\"/half",
        )
        .expect("a list");
        remove(&lab.cluster).expect("removed");
        assert!(!lab.path("disk/new").exists());
    }
}
