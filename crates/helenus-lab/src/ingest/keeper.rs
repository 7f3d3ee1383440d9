//! What is on disk of a load while it runs: its journal, and the file of rejected rows as far as the journal knows it.
//! Refuses to go on once too many rows are rejected.

use super::{IngestError, LoadEvent, LoadRequest, kept, source};
use fs_err as fs;
use helenus_cluster::stored::there;
use helenus_model::ingest::{LoadJournal, Place};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::time::{Duration, Instant};

/// Between two journals.
const SAVE_EVERY: Duration = Duration::from_millis(250);

/// Between two words on the progress.
const NEWS_EVERY: Duration = Duration::from_millis(100);

pub(super) struct Keeper<'a> {
    request: &'a LoadRequest,
    journal: &'a mut LoadJournal,
    rejected: Option<fs::File>,
    first_reason: String,
    /// What the offsets of each file count up to, where that is known.
    extents: Option<Vec<u64>>,
    saved: Instant,
    news: Instant,
    saved_place: Place,
}

impl<'a> Keeper<'a> {
    /// Cuts the file of rejected rows to what the journal knows, since what came after is written again; and saves the journal.
    pub(super) fn open(
        request: &'a LoadRequest,
        journal: &'a mut LoadJournal,
    ) -> Result<Self, IngestError> {
        let path = &request.rejected;
        let length = journal.place.rejected_bytes;
        let rejected = match length {
            0 => {
                there(fs::remove_file(path)).map_err(|error| kept(path, error))?;
                None
            }
            _ => {
                let file = fs::OpenOptions::new().write(true).open(path);
                let cut = file.and_then(|mut file| {
                    file.set_len(length)?;
                    file.seek(SeekFrom::End(0))?;
                    Ok(file)
                });
                Some(cut.map_err(|source| kept(path, source))?)
            }
        };
        let mut keeper = Self {
            request,
            journal,
            rejected,
            first_reason: String::new(),
            extents: source::extents(request),
            saved: Instant::now(),
            news: Instant::now(),
            saved_place: Place::default(),
        };
        keeper.save()?;
        Ok(keeper)
    }

    /// Where the load is.
    pub(super) fn place(&self) -> Place {
        self.journal.place
    }

    pub(super) fn journal(&mut self) -> &mut LoadJournal {
        self.journal
    }

    /// Where the load on disk is: what is resumed.
    pub(super) fn saved_place(&self) -> Place {
        self.saved_place
    }

    /// Writes the journal.
    pub(super) fn save(&mut self) -> Result<(), IngestError> {
        self.save_at(self.journal.place)
    }

    /// Writes the journal as if the load were at that place: to a new file, which is renamed.
    pub(super) fn save_at(&mut self, place: Place) -> Result<(), IngestError> {
        let path = &self.request.journal;
        let journal = LoadJournal {
            place,
            ..self.journal.clone()
        };
        let text = serde_json::to_string(&journal).map_err(std::io::Error::other);
        let new = path.with_extension("new");
        let written = text.and_then(|text| {
            fs::write(&new, text)?;
            fs::rename(&new, path)
        });
        (self.saved, self.saved_place) = (Instant::now(), place);
        written.map_err(|source| kept(path, source))
    }

    pub(super) fn save_now_and_then(&mut self) -> Result<(), IngestError> {
        match self.saved.elapsed() >= SAVE_EVERY {
            true => self.save(),
            false => Ok(()),
        }
    }

    /// Whether it is time for a word on the progress.
    pub(super) fn has_news(&mut self) -> bool {
        let has = self.news.elapsed() >= NEWS_EVERY;
        if has {
            self.news = Instant::now();
        }
        has
    }

    /// How far it is, since it `begin`s with so many rows done.
    #[expect(clippy::cast_precision_loss, reason = "rows below 2^53")]
    pub(super) fn progress(&self, (begin, before): (Instant, u64), repeated: u64) -> LoadEvent {
        let at = self.journal.place;
        let own = |rows| self.request.own(rows);
        let rows = own(at.rows) - own(before);
        let bytes = self.extents.as_ref().map(|sizes| {
            let before: u64 = sizes.iter().take(at.file).sum();
            (before + at.offset, sizes.iter().sum())
        });
        LoadEvent::Progress {
            rows: own(at.rows),
            rejected: at.rejected,
            rows_per_s: rows as f64 / begin.elapsed().as_secs_f64().max(1e-9),
            bytes: bytes.filter(|(done, all)| done <= all),
            repeated,
        }
    }

    /// Moves the place behind rows that are done, and writes down those that were rejected.
    pub(super) fn settle(
        &mut self,
        after: Place,
        rejected: &[Vec<u8>],
        reason: Option<String>,
    ) -> Result<(), IngestError> {
        let before = self.journal.place;
        let mut place = Place {
            rejected: before.rejected + rejected.len() as u64,
            rejected_bytes: before.rejected_bytes,
            ..after
        };
        if let (true, Some(reason)) = (self.first_reason.is_empty(), reason) {
            self.first_reason = reason;
        }
        if !rejected.is_empty() {
            place.rejected_bytes += self.write_rejected(rejected)?;
        }
        self.journal.place = place;
        if place.rejected > self.request.max_rejected {
            return Err(IngestError::Rejected {
                rejected: place.rejected,
                most: self.request.max_rejected,
                path: self.request.rejected.display().to_string(),
                first: self.first_reason.clone(),
            });
        }
        Ok(())
    }

    fn write_rejected(&mut self, lines: &[Vec<u8>]) -> Result<u64, IngestError> {
        const HEAD: &[u8] = b"line,column,reason,text\n";
        let path = &self.request.rejected;
        let mut bytes = Vec::new();
        if self.rejected.is_none() {
            let made = fs::File::create(path).map_err(|source| kept(path, source))?;
            self.rejected = Some(made);
            bytes.extend_from_slice(HEAD);
        }
        bytes.extend(lines.iter().flatten());
        if let Some(file) = &mut self.rejected {
            file.write_all(&bytes)
                .map_err(|source| kept(path, source))?;
        }
        Ok(bytes.len() as u64)
    }
}
