//! Files of a baseline: found, linked or copied, hashed, and compared with what was saved.
//! Refuses to link what a node may still write into.

use super::{BaselineError, BaselineEvent};
use crate::cancel::Cancel;
use crate::digest;
use fs_err as fs;
use helenus_model::baseline::{Baseline, Class, SavedFile, is_immutable, is_saved};
use serde::Serialize;
use std::fmt;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Between two words on how far the work is.
const TELL_EVERY: Duration = Duration::from_millis(200);

/// A file of a baseline that is not as it was saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Bad {
    /// Node of the baseline.
    pub node: String,
    /// Path below the node's data folder.
    pub path: String,
    /// What is wrong.
    pub wrong: Wrong,
}

/// What is wrong with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wrong {
    /// It is not there.
    Missing,
    /// It has another length.
    Length,
    /// It was changed since.
    Time,
    /// Its bytes are others.
    Content,
    /// It was not saved.
    Extra,
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.wrong {
            Wrong::Missing => "is missing",
            Wrong::Length => "has another length",
            Wrong::Time => "was changed after the save",
            Wrong::Content => "has other bytes",
            Wrong::Extra => "was not saved",
        };
        write!(f, "{} of {} {what}", self.path, self.node)
    }
}

/// Files below a folder that belong to a baseline, by path with `/`, sorted.
pub(super) fn below(folder: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut open = vec![String::new()];
    while let Some(prefix) = open.pop() {
        for entry in fs::read_dir(folder.join(&prefix))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = match prefix.is_empty() {
                true => name,
                false => format!("{prefix}/{name}"),
            };
            if entry.file_type()?.is_dir() {
                open.push(path);
            } else if is_saved(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Brings a file to another place: a second name where no node writes into it again, else a file of its own. Says
/// why it could not be linked where it should have been.
pub(super) fn bring(
    from: &Path,
    to: &Path,
    release: &str,
    path: &str,
) -> Result<(Class, Option<String>), BaselineError> {
    let fail = |source: io::Error| BaselineError::File {
        path: to.to_owned(),
        source,
    };
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(fail)?;
    }
    let mut why = None;
    if is_immutable(release, path) {
        match fs::hard_link(from, to) {
            Ok(()) => return Ok((Class::Linked, None)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(fail(error)),
            // Another file system, or one without links.
            Err(error) => why = Some(error.to_string()),
        }
    }
    let class = reflink_or_copy(from, to).map_err(fail)?;
    Ok((class, why))
}

fn reflink_or_copy(from: &Path, to: &Path) -> io::Result<Class> {
    let mut source = fs::File::open(from)?;
    let mut target = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(to)?;
    if rustix::fs::ioctl_ficlone(&target, &source).is_ok() {
        return Ok(Class::Reflinked);
    }
    io::copy(&mut source, &mut target)?;
    Ok(Class::Copied)
}

/// SHA-256 of a file in hexadecimal digits; `seen` counts its bytes.
fn sha256(path: &Path, cancel: &Cancel, seen: &AtomicU64) -> io::Result<String> {
    digest::of_file(path, |read| {
        seen.fetch_add(read, Ordering::Relaxed);
        if cancel.is_set() {
            return Err(io::Error::from(io::ErrorKind::Interrupted));
        }
        Ok(())
    })
}

fn modified_ns(meta: &std::fs::Metadata) -> i64 {
    meta.mtime() * 1_000_000_000 + meta.mtime_nsec()
}

/// Hashes every file of a node's part of a baseline, several at a time.
pub(super) fn hash_all(
    root: &Path,
    brought: &[(String, Class)],
    cancel: &Cancel,
    events: &mut dyn FnMut(BaselineEvent),
) -> Result<Vec<SavedFile>, BaselineError> {
    let total = size_of(brought.iter().map(|(path, _)| root.join(path)));
    let saved = |(path, class): &(String, Class), seen: &AtomicU64| -> io::Result<SavedFile> {
        let full = root.join(path);
        if *class == Class::Copied {
            // What is Cassandra's own is on disk already.
            fs::File::open(&full)?.sync_data()?;
        }
        let sha256 = sha256(&full, cancel, seen)?;
        let meta = fs::metadata(&full)?;
        Ok(SavedFile {
            path: path.clone(),
            class: *class,
            bytes: meta.len(),
            modified_ns: modified_ns(&meta),
            sha256,
        })
    };
    let results = in_parallel(brought, total, events, saved);
    if cancel.is_set() {
        return Err(BaselineError::Interrupted);
    }
    results
        .into_iter()
        .collect::<io::Result<Vec<SavedFile>>>()
        .map_err(BaselineError::io("a saved file"))
}

fn size_of(paths: impl Iterator<Item = PathBuf>) -> u64 {
    paths
        .filter_map(|path| Some(fs::metadata(path).ok()?.len()))
        .sum()
}

/// Compares names, lengths and times of all files, and the bytes of small ones.
pub(super) fn check(root: &Path, baseline: &Baseline, cancel: &Cancel) -> Vec<Bad> {
    let mut bad = Vec::new();
    let unseen = AtomicU64::new(0);
    for node in &baseline.nodes {
        let folder = root.join(&node.name);
        for file in &node.files {
            let wrong = stands(&folder, file).or_else(|| {
                let other = || sha256(&folder.join(&file.path), cancel, &unseen).ok();
                let same = !file.is_small() || other().as_deref() == Some(&file.sha256);
                (!same).then_some(Wrong::Content)
            });
            bad.extend(wrong.map(|wrong| Bad {
                node: node.name.clone(),
                path: file.path.clone(),
                wrong,
            }));
        }
        bad.extend(extra(&folder, &node.name, &node.files));
    }
    bad
}

/// Compares everything, every byte of every file.
pub(super) fn verify(
    root: &Path,
    baseline: &Baseline,
    cancel: &Cancel,
    events: &mut dyn FnMut(BaselineEvent),
) -> Result<Vec<Bad>, BaselineError> {
    let all: Vec<(&str, &SavedFile)> = baseline
        .nodes
        .iter()
        .flat_map(|node| node.files.iter().map(|f| (node.name.as_str(), f)))
        .collect();
    let total = baseline.bytes().0;
    let wrong = |(node, file): &(&str, &SavedFile), seen: &AtomicU64| -> Option<Bad> {
        let folder = root.join(node);
        let wrong = stands(&folder, file).filter(|w| *w != Wrong::Time);
        let wrong = wrong.or_else(|| match sha256(&folder.join(&file.path), cancel, seen) {
            Ok(hash) if hash == file.sha256 => stands(&folder, file),
            _ => Some(Wrong::Content),
        });
        wrong.map(|wrong| Bad {
            node: (*node).to_owned(),
            path: file.path.clone(),
            wrong,
        })
    };
    let results = in_parallel(&all, total, events, wrong);
    if cancel.is_set() {
        return Err(BaselineError::Interrupted);
    }
    let mut bad: Vec<Bad> = results.into_iter().flatten().collect();
    for node in &baseline.nodes {
        bad.extend(extra(&root.join(&node.name), &node.name, &node.files));
    }
    Ok(bad)
}

/// What can be seen to be wrong without reading.
fn stands(folder: &Path, file: &SavedFile) -> Option<Wrong> {
    match fs::metadata(folder.join(&file.path)) {
        Err(_) => Some(Wrong::Missing),
        Ok(meta) if meta.len() != file.bytes => Some(Wrong::Length),
        Ok(meta) if modified_ns(&meta) != file.modified_ns => Some(Wrong::Time),
        Ok(_) => None,
    }
}

fn extra(folder: &Path, node: &str, files: &[SavedFile]) -> Vec<Bad> {
    let known: std::collections::BTreeSet<&str> = files.iter().map(|f| f.path.as_str()).collect();
    let there = below(folder).unwrap_or_default();
    there
        .into_iter()
        .filter(|path| !known.contains(path.as_str()))
        .map(|path| Bad {
            node: node.to_owned(),
            path,
            wrong: Wrong::Extra,
        })
        .collect()
}

/// Does the same to all, on as many threads as there are processors; results stand in the order of what they are of.
fn in_parallel<T: Sync, R: Send>(
    all: &[T],
    total: u64,
    events: &mut dyn FnMut(BaselineEvent),
    one: impl Fn(&T, &AtomicU64) -> R + Sync,
) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (next, ended, seen) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicU64::new(0));
    let results: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(all.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = all.get(at) else { break };
                    let result = one(item, &seen);
                    if let Ok(mut results) = results.lock() {
                        results.push((at, result));
                    }
                }
                ended.fetch_add(1, Ordering::Relaxed);
            });
        }
        let mut reported = std::time::Instant::now();
        while ended.load(Ordering::Relaxed) < threads {
            std::thread::sleep(Duration::from_millis(2));
            if reported.elapsed() > TELL_EVERY {
                reported = std::time::Instant::now();
                let done = seen.load(Ordering::Relaxed);
                events(BaselineEvent::Bytes { done, total });
            }
        }
    });
    let mut results = results.into_inner().unwrap_or_default();
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}
