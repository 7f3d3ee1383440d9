//! A node's log of collections, followed from the moment at which a run begins.
//! Refuses what stood there before, and to lose what stands at the end of a log that was just rolled.

use fs_err as fs;
use helenus_model::gc_log::{GcLog, Stop};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

/// Follows one log.
#[derive(Debug)]
pub(super) struct GcTail {
    path: PathBuf,
    open: Option<Open>,
}

/// A log that is being read.
#[derive(Debug)]
struct Open {
    file: fs::File,
    inode: u64,
    log: GcLog,
    /// The beginning of a line whose end is not written yet.
    begun: Vec<u8>,
}

impl GcTail {
    /// Joins a log at its end; one that comes later is read whole.
    pub(super) fn join(path: PathBuf) -> Self {
        let mut open = Open::of(&path).ok();
        if let Some(open) = &mut open {
            let _read_whole_then = open.file.seek(SeekFrom::End(0));
        }
        Self { path, open }
    }

    /// Whether there is a log.
    pub(super) fn is_there(&self) -> bool {
        self.open.is_some()
    }

    /// What was written since this was last asked.
    pub(super) fn take(&mut self) -> Vec<Stop> {
        let mut stops = Vec::new();
        loop {
            if let Some(open) = &mut self.open {
                open.read(&mut stops);
            }
            let known = self.open.as_ref().map(|open| open.inode);
            let there = fs::metadata(&self.path).ok().map(|m| m.ino());
            if there.is_none() || there == known {
                return stops;
            }
            // Rolled, or of a new process: what the old one ended with is read, and it grows no more.
            match Open::of(&self.path) {
                Ok(next) => self.open = Some(next),
                Err(_) => return stops,
            }
        }
    }
}

impl Open {
    fn of(path: &std::path::Path) -> io::Result<Self> {
        let file = fs::File::open(path)?;
        Ok(Self {
            inode: file.metadata()?.ino(),
            file,
            log: GcLog::default(),
            begun: Vec::new(),
        })
    }

    fn read(&mut self, stops: &mut Vec<Stop>) {
        let _what_came_is_kept = self.file.read_to_end(&mut self.begun);
        let Some(end) = self.begun.iter().rposition(|byte| *byte == b'\n') else {
            return;
        };
        let rest = self.begun.split_off(end + 1);
        let whole = std::mem::replace(&mut self.begun, rest);
        let text = String::from_utf8_lossy(&whole);
        stops.extend(text.lines().filter_map(|line| self.log.take(line)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn line(number: u64) -> String {
        format!(
            "[{number}000000000ns][gc] GC({number}) Pause Full (Ergonomics) 24M->10M(31M) 5.300ms\n"
        )
    }

    #[test]
    fn a_log_is_followed_from_where_it_was_joined_and_over_its_rolling() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("gc.log");
        fs::write(&path, line(1)).expect("a log");
        let mut tail = GcTail::join(path.clone());
        assert!(tail.is_there());
        assert_eq!(tail.take(), []);
        let mut file = fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .expect("a log");
        let (begin, end) = (line(2), line(3));
        file.write_all(begin.as_bytes()).expect("a line");
        file.write_all(&end.as_bytes()[..20]).expect("half a line");
        assert_eq!(tail.take().len(), 1);
        assert_eq!(tail.take(), []);
        file.write_all(&end.as_bytes()[20..]).expect("the rest");
        fs::rename(&path, folder.path().join("gc.log.0")).expect("rolled");
        fs::write(&path, format!("{}{}", line(4), line(5))).expect("a new log");
        assert_eq!(tail.take().len(), 3);
    }

    #[test]
    fn a_log_that_comes_later_is_read_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("gc.log");
        let mut tail = GcTail::join(path.clone());
        assert_eq!((tail.is_there(), tail.take().len()), (false, 0));
        fs::write(&path, line(1)).expect("a log");
        assert_eq!((tail.take().len(), tail.is_there()), (1, true));
    }
}
