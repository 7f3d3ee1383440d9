//! The file in which a count keeps what it has: a head, then a line for each span that was read to its end.
//! Refuses two writers, and a line that was cut in the middle of its write.

use super::ScanError;
use crate::lock;
use fs_err as fs;
use helenus_model::scan::{CountedSpan, JournalHead, Piece, Span, rest};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Between two waits for the disk. A line is safe from `kill -9` as soon as it is written; a machine that stops loses
/// at most the lines of this time.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// An open journal; the file is locked until it is dropped.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: fs::File,
    synced: Instant,
}

/// What a journal held, and what is left to read.
#[derive(Debug)]
pub(super) struct Before {
    /// Spans with the places of their pieces.
    pub(super) counted: Vec<(CountedSpan, usize)>,
    /// What is left.
    pub(super) left: Vec<Piece>,
}

impl Journal {
    /// Opens the journal of a count, and reads what an earlier one has left there.
    ///
    /// `resume` continues where there is something to continue with, `fresh` forgets it; with neither, something there is
    /// an error that says how far it got.
    pub(super) fn open(
        path: &Path,
        head: &JournalHead,
        pieces: &[Piece],
        resume: bool,
        fresh: bool,
    ) -> Result<(Self, Before), ScanError> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = loop {
            let file = fs::OpenOptions::new()
                .read(true)
                .append(true)
                .create(true)
                .open(path)?;
            if !lock::take(&file)? {
                return Err(ScanError::Busy {
                    table: head.table.clone(),
                });
            }
            // Another count may have ended, and removed it, since it was opened.
            if lock::has_name(&file)? {
                break file;
            }
        };
        let mut text = Vec::new();
        file.seek(SeekFrom::Start(0))?;
        file.read_to_end(&mut text)?;
        let is_end = |byte: &u8| *byte == b'\n';
        // What was cut in the middle of its write ends no line.
        let whole = text.iter().rposition(is_end).map_or(0, |end| end + 1);
        let lines: Vec<&[u8]> = text[..whole].split_inclusive(is_end).collect();
        let mut journal = Self {
            path: path.to_owned(),
            file,
            synced: Instant::now(),
        };
        let before = match lines.split_first() {
            Some((first, lines)) if !fresh => journal.read(first, lines, head, pieces, resume)?,
            _ => None,
        };
        let Some(before) = before else {
            journal.file.set_len(0)?;
            journal.line(head)?;
            journal.sync()?;
            let left = pieces.to_vec();
            return Ok((
                journal,
                Before {
                    counted: Vec::new(),
                    left,
                },
            ));
        };
        journal.file.set_len(whole as u64)?;
        Ok((journal, before))
    }

    /// None where nothing was counted yet.
    fn read(
        &self,
        first: &[u8],
        lines: &[&[u8]],
        head: &JournalHead,
        pieces: &[Piece],
        resume: bool,
    ) -> Result<Option<Before>, ScanError> {
        let json = |source| ScanError::Json {
            path: self.path.clone(),
            source,
        };
        let counted: Vec<CountedSpan> = lines
            .iter()
            .map(|line| serde_json::from_slice(line))
            .collect::<Result<_, _>>()
            .map_err(json)?;
        if counted.is_empty() {
            return Ok(None);
        }
        if !resume {
            let share: f64 = counted.iter().map(|line| line.span.share()).sum();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a percentage"
            )]
            let percent = (share * 100.0) as u32;
            return Err(ScanError::Unfinished {
                table: head.table.clone(),
                percent,
                rows: counted.iter().map(|line| line.rows).sum(),
            });
        }
        let then: JournalHead = serde_json::from_slice(first).map_err(json)?;
        then.goes_on(head)?;
        let spans: Vec<Span> = counted.iter().map(|line| line.span).collect();
        let (left, places) = rest(pieces, &spans).map_err(|source| ScanError::Overlap {
            path: self.path.clone(),
            source,
        })?;
        let counted = counted.into_iter().zip(places).collect();
        Ok(Some(Before { counted, left }))
    }

    /// One more span.
    pub(super) fn append(&mut self, counted: &CountedSpan) -> Result<(), ScanError> {
        self.line(counted)?;
        if self.synced.elapsed() >= SYNC_EVERY {
            self.sync()?;
        }
        Ok(())
    }

    fn line(&mut self, value: &impl serde::Serialize) -> Result<(), ScanError> {
        let mut text = serde_json::to_string(value).map_err(std::io::Error::other)?;
        text.push('\n');
        self.file.write_all(text.as_bytes())?;
        Ok(())
    }

    /// Waits until all lines are on the disk.
    pub(super) fn sync(&mut self) -> Result<(), ScanError> {
        self.file.sync_data()?;
        self.synced = Instant::now();
        Ok(())
    }

    /// The count is whole: there is nothing to continue with.
    pub(super) fn remove(self) -> Result<(), ScanError> {
        Ok(fs::remove_file(&self.path)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_model::format::Format;
    use helenus_model::ring::{Member, Ring};
    use helenus_model::scan::{WHOLE_RING, pieces};

    fn head() -> JournalHead {
        JournalHead {
            format: Format::new("count-journal", 1),
            cluster_name: "c".into(),
            table: "k.t".into(),
            table_id: "id".into(),
            ring: "r".into(),
            consistency: "ONE".into(),
            partitions: None,
            checksum: false,
            pieces: 4,
            begun_unix: 1,
        }
    }

    fn ring() -> Vec<Piece> {
        let member = Member {
            data_center: "d".into(),
            rack: "r".into(),
            tokens: vec![0],
        };
        pieces(&Ring::new(vec![member]).unwrap(), 4)
    }

    fn counted(span: Span, rows: u64) -> CountedSpan {
        CountedSpan {
            span,
            rows,
            checksum: None,
            sizes: None,
        }
    }

    #[test]
    fn what_is_on_disk_is_gone_on_with_and_half_a_line_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counts/id.jsonl");
        let pieces = ring();
        let open = |resume, fresh| Journal::open(&path, &head(), &pieces, resume, fresh);
        let (mut journal, before) = open(false, false).unwrap();
        assert_eq!((before.counted.len(), before.left.len()), (0, 4));
        journal.append(&counted(pieces[1].span, 7)).unwrap();
        let (half, other) = pieces[2].span.halves().unwrap();
        journal.append(&counted(half, 5)).unwrap();
        journal.file.write_all(b"{\"start\":1,\"en").unwrap();
        // Nobody else writes meanwhile.
        assert!(matches!(open(true, false), Err(ScanError::Busy { .. })));
        drop(journal);
        let refused = open(false, false).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "a count of k.t was interrupted at 37 % of the ring, 12 rows"
        );
        let (mut journal, before) = open(true, false).unwrap();
        assert_eq!(before.counted[1].1, 2);
        let left: u128 = before.left.iter().map(|p| u128::from(p.span.width())).sum();
        assert_eq!(
            left,
            u128::from(WHOLE_RING) - u128::from(pieces[1].span.width()) - u128::from(half.width())
        );
        journal.append(&counted(other, 1)).unwrap();
        drop(journal);
        let (journal, before) = open(true, false).unwrap();
        assert_eq!(before.counted.len(), 3);
        drop(journal);
        let (journal, before) = open(true, true).unwrap();
        assert_eq!(before.counted.len(), 0, "--fresh forgets");
        journal.remove().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_damaged_or_foreign_journal_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("id.jsonl");
        let pieces = ring();
        let (mut journal, _) = Journal::open(&path, &head(), &pieces, false, false).unwrap();
        journal.append(&counted(pieces[1].span, 7)).unwrap();
        drop(journal);
        let other = JournalHead {
            ring: "s".into(),
            ..head()
        };
        let refused = Journal::open(&path, &other, &pieces, true, false).unwrap_err();
        assert!(matches!(refused, ScanError::Changed(_)), "{refused}");
        let text = fs::read_to_string(&path).unwrap();
        for damage in [&b"[]\n"[..], b"\xff\n"] {
            fs::write(&path, [text.as_bytes(), damage].concat()).unwrap();
            let refused = Journal::open(&path, &head(), &pieces, true, false).unwrap_err();
            assert!(matches!(refused, ScanError::Json { .. }), "{refused}");
        }
        // What cannot be read can be forgotten.
        let (_, before) = Journal::open(&path, &head(), &pieces, false, true).unwrap();
        assert_eq!(before.left, pieces);
    }
}
