//! The file in which an unload keeps what is in its files: a head, then a line for each time that they were written.
//! Refuses two writers, and a line that was cut in the middle of its write.

use super::{UnloadError, unwritten};
use fs_err as fs;
use helenus_cluster::lock;
use helenus_model::ingest::unloading::{UnloadHead, UnloadMark};
use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

/// An open journal; the file is locked until it is dropped.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: fs::File,
    /// Whether no file was written yet.
    empty: bool,
}

impl Drop for Journal {
    fn drop(&mut self) {
        // By name: a child that another thread starts just now has a copy of the file, and would keep the lock.
        let _ends_with_the_file = flock(&self.file, FlockOperation::Unlock);
    }
}

impl Journal {
    /// Opens the journal of an unload, and reads what an interrupted one has left there; `restart` forgets it.
    pub(super) fn open(
        path: &Path,
        head: &UnloadHead,
        restart: bool,
    ) -> Result<(Self, Vec<UnloadMark>), UnloadError> {
        let failed = unwritten(path);
        let options = fs::OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path);
        let mut file = options.map_err(&failed)?;
        if !lock::take(&file).map_err(&failed)? {
            return Err(UnloadError::Busy);
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(&failed)?;
        // What was cut in the middle of its write ends no line.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n');
        bytes.truncate(whole.map_or(0, |end| end + 1));
        let mut journal = Self {
            path: path.to_owned(),
            file,
            empty: true,
        };
        if bytes.is_empty() || restart {
            journal.file.set_len(0).map_err(&failed)?;
            journal.line(head)?;
            return Ok((journal, Vec::new()));
        }
        let damaged = |why: String| UnloadError::Changed(format!("{}: {why}", path.display()));
        let text = std::str::from_utf8(&bytes).map_err(|error| damaged(error.to_string()))?;
        let (then, marks) = read(text).map_err(damaged)?;
        if let Some(why) = then.differs(head) {
            return Err(UnloadError::Changed(why));
        }
        journal.file.set_len(bytes.len() as u64).map_err(&failed)?;
        journal.empty = marks.is_empty();
        Ok((journal, marks))
    }

    /// One more line: what it says is in the files.
    pub(super) fn mark(&mut self, mark: &UnloadMark) -> Result<(), UnloadError> {
        self.empty = false;
        self.line(mark)
    }

    fn line(&mut self, value: &impl Serialize) -> Result<(), UnloadError> {
        let text = serde_json::to_string(value).map_err(std::io::Error::other);
        let written = text.and_then(|text| self.file.write_all(format!("{text}\n").as_bytes()));
        written.map_err(unwritten(&self.path))
    }

    /// Leaves no journal of an unload that was refused before it wrote anything.
    pub(super) fn forget_if_empty(&self) {
        if self.empty {
            let _is_no_harm = fs::remove_file(&self.path);
        }
    }

    /// The unload is over.
    pub(super) fn remove(self) -> Result<(), UnloadError> {
        fs::remove_file(&self.path).map_err(unwritten(&self.path))
    }
}

/// A journal's whole lines.
fn read(text: &str) -> Result<(UnloadHead, Vec<UnloadMark>), String> {
    let mut lines = text.lines();
    let head = serde_json::from_str(lines.next().unwrap_or_default());
    let head = head.map_err(|error| error.to_string())?;
    let marks = lines.map(serde_json::from_str).collect::<Result<_, _>>();
    Ok((head, marks.map_err(|error| error.to_string())?))
}
