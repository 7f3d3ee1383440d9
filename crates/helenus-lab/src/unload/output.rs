//! The files that an unload writes, one after the other: rows first, then the journal's line about them.
//! Refuses a name to a file that is not whole: until then it ends in `.part`.

use super::journal::Journal;
use super::{Names, UnloadError, sums, unwritten};
use crate::ingest::{ColumnBatch, Packer, Packing, ParquetWriter, RowShape};
use fs_err as fs;
use helenus_cluster::scan::unload::SpanRows;
use helenus_cluster::stored::there;
use helenus_model::ingest::unloading::{UnloadMark, UnloadedFile, files};
use helenus_model::ingest::{Split, Writing};
use helenus_model::workload::checksum::Checksum;
use std::collections::BTreeMap;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Bytes of text that are written at once; compressed ones are a frame, and a smaller frame would compress less.
const TEXT_BYTES: usize = 4 << 20;

/// The longest time that rows wait to be written.
const WAIT: Duration = Duration::from_secs(2);

/// How files are made of rows.
pub(super) trait Forms: Sync {
    type Rows: Send;
    type Open: Opened<Rows = Self::Rows> + Send;

    /// A new file, or one that is known to have so many bytes; what is behind them is cut off.
    fn open(&self, path: &Path, bytes: u64) -> io::Result<Self::Open>;
}

/// A file that is written.
pub(super) trait Opened {
    type Rows;

    fn add(&mut self, rows: Self::Rows) -> io::Result<()>;

    /// Whether rows are to be written now that have waited since then.
    fn is_due(&self, since: Instant) -> bool;

    /// Writes what waits. The file's bytes: a file that is cut behind them can be gone on with.
    fn keep(&mut self) -> io::Result<u64>;

    /// Ends the file; its bytes.
    fn end(self) -> io::Result<u64>;
}

/// An existing file, cut to so many bytes; a new one where they are none.
fn opened(path: &Path, bytes: u64) -> io::Result<fs::File> {
    if bytes == 0 {
        return fs::File::create(path);
    }
    let mut file = fs::OpenOptions::new().read(true).write(true).open(path)?;
    if file.metadata()?.len() < bytes {
        let why =
            "it has fewer bytes than the journal knows of: --restart unloads everything again";
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    file.set_len(bytes)?;
    file.seek(SeekFrom::Start(bytes))?;
    Ok(file)
}

/// Lines.
pub(super) struct TextForm<'a> {
    pub(super) writing: &'a Writing,
    pub(super) packing: Option<Packing>,
    pub(super) columns: &'a [String],
}

/// A file of lines.
pub(super) struct TextFile {
    file: fs::File,
    packing: Option<Packing>,
    waiting: Vec<u8>,
    bytes: u64,
}

impl Forms for TextForm<'_> {
    type Rows = Vec<u8>;
    type Open = TextFile;

    fn open(&self, path: &Path, bytes: u64) -> io::Result<TextFile> {
        let mut waiting = Vec::new();
        if bytes == 0 {
            self.writing.put_header(self.columns, &mut waiting);
        }
        Ok(TextFile {
            file: opened(path, bytes)?,
            packing: self.packing,
            waiting,
            bytes,
        })
    }
}

impl Opened for TextFile {
    type Rows = Vec<u8>;

    fn add(&mut self, rows: Vec<u8>) -> io::Result<()> {
        match self.waiting.is_empty() {
            true => self.waiting = rows,
            false => self.waiting.extend(rows),
        }
        Ok(())
    }

    fn is_due(&self, since: Instant) -> bool {
        self.waiting.len() >= TEXT_BYTES || since.elapsed() >= WAIT
    }

    fn keep(&mut self) -> io::Result<u64> {
        let text = std::mem::take(&mut self.waiting);
        if text.is_empty() {
            return Ok(self.bytes);
        }
        let bytes = match self.packing {
            None => text,
            packing => {
                let mut frame = Vec::new();
                let mut packer = Packer::new(&mut frame, packing)?;
                packer.write_all(&text)?;
                packer.finish()?;
                frame
            }
        };
        self.file.write_all(&bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(self.bytes)
    }

    fn end(mut self) -> io::Result<u64> {
        self.keep()
    }
}

/// A Parquet file, and the footer that it would have if it ended behind its last row group.
pub(super) struct ParquetFile {
    writer: ParquetWriter<fs::File>,
    footer: PathBuf,
}

fn footer(path: &Path) -> PathBuf {
    Names::beside(path, ".footer")
}

impl Forms for RowShape {
    type Rows = ColumnBatch;
    type Open = ParquetFile;

    fn open(&self, path: &Path, bytes: u64) -> io::Result<ParquetFile> {
        let file = opened(path, bytes)?;
        let footer = footer(path);
        let writer = match bytes {
            0 => ParquetWriter::new(self, file)?,
            _ => ParquetWriter::resume(self, file, bytes, &footer)?,
        };
        Ok(ParquetFile { writer, footer })
    }
}

impl Opened for ParquetFile {
    type Rows = ColumnBatch;

    fn add(&mut self, rows: ColumnBatch) -> io::Result<()> {
        self.writer.add(rows)
    }

    fn is_due(&self, _: Instant) -> bool {
        self.writer.waiting() == 0
    }

    fn keep(&mut self) -> io::Result<u64> {
        let bytes = self.writer.keep()?;
        let new = Names::beside(&self.footer, ".new");
        fs::write(&new, self.writer.footer()?)?;
        fs::rename(&new, &self.footer)?;
        Ok(bytes)
    }

    fn end(self) -> io::Result<u64> {
        self.writer.finish()
    }
}

/// All files of an unload.
pub(super) struct Output<'a, F: Forms> {
    names: &'a Names<'a>,
    forms: &'a F,
    journal: &'a mut Journal,
    /// The number of the file that is written, or comes next.
    number: u32,
    open: Option<F::Open>,
    /// What the journal does not know yet.
    waiting: UnloadMark,
    since: Instant,
    files: BTreeMap<u32, UnloadedFile>,
    rows: u64,
    checksum: Checksum,
}

impl<'a, F: Forms> Output<'a, F> {
    /// Goes on behind what the journal knows.
    pub(super) fn new(
        names: &'a Names<'a>,
        forms: &'a F,
        journal: &'a mut Journal,
        marks: &[UnloadMark],
    ) -> Result<Self, UnloadError> {
        let files = files(marks);
        for (number, file) in files.iter().filter(|(_, file)| file.whole) {
            let path = names.file(*number);
            // Ended, and not named yet.
            name(&path)?;
            let there = fs::metadata(&path).map(|about| about.len());
            if there.ok() != Some(file.bytes) {
                let why = format!("{} is gone, or is another file", path.display());
                return Err(UnloadError::Changed(why));
            }
        }
        let last = files.last_key_value();
        // Behind a whole file another one comes only where files have a size.
        let sized = matches!(names.request.split, Split::Bytes(_));
        let number = last.map_or(1, |(number, file)| number + u32::from(file.whole && sized));
        let (rows, checksum) = sums(marks);
        Ok(Self {
            names,
            forms,
            journal,
            number,
            open: None,
            waiting: UnloadMark::default(),
            since: Instant::now(),
            files,
            rows,
            checksum,
        })
    }

    /// Rows in the files.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    pub(super) fn checksum(&self) -> Checksum {
        self.checksum
    }

    pub(super) fn files(self) -> BTreeMap<u32, UnloadedFile> {
        self.files
    }

    /// What comes goes into the file of this number.
    pub(super) fn turn_to(&mut self, number: u32) {
        self.number = number;
    }

    fn part(&self) -> PathBuf {
        part(&self.names.file(self.number))
    }

    fn opened(&mut self) -> Result<&mut F::Open, UnloadError> {
        let open = match self.open.take() {
            Some(open) => open,
            None => {
                let known = self.files.get(&self.number).copied().unwrap_or_default();
                let path = self.part();
                let opened = self.forms.open(&path, known.bytes);
                opened.map_err(unwritten(&path))?
            }
        };
        Ok(self.open.insert(open))
    }

    /// Rows of one more span.
    pub(super) fn take(&mut self, rows: SpanRows<F::Rows>) -> Result<(), UnloadError> {
        if self.waiting.spans.is_empty() {
            self.since = Instant::now();
        }
        self.waiting.spans.push(rows.span);
        self.waiting.rows += rows.count;
        self.waiting.checksum = self.waiting.checksum.wrapping_add(rows.checksum.0);
        let since = self.since;
        if rows.count > 0 {
            let path = self.part();
            self.opened()?.add(rows.rows).map_err(unwritten(&path))?;
        }
        if !self.open.as_ref().is_some_and(|open| open.is_due(since)) {
            return Ok(());
        }
        self.keep()?;
        let bytes = self.files.get(&self.number).map_or(0, |file| file.bytes);
        match self.names.request.split {
            Split::Bytes(most) if bytes >= most => self.end(),
            _ => Ok(()),
        }
    }

    /// Writes what waits, and then the journal.
    pub(super) fn keep(&mut self) -> Result<(), UnloadError> {
        if self.waiting.spans.is_empty() {
            return Ok(());
        }
        let path = self.part();
        let bytes = match &mut self.open {
            Some(open) => open.keep().map_err(unwritten(&path))?,
            None => self.files.get(&self.number).map_or(0, |file| file.bytes),
        };
        self.mark(bytes, false)
    }

    fn mark(&mut self, bytes: u64, whole: bool) -> Result<(), UnloadError> {
        let mark = UnloadMark {
            file: self.number,
            bytes,
            whole,
            ..std::mem::take(&mut self.waiting)
        };
        self.journal.mark(&mark)?;
        self.rows += mark.rows;
        self.checksum.add(mark.checksum);
        self.files
            .insert(self.number, UnloadedFile { bytes, whole });
        Ok(())
    }

    /// The file of this number is whole, and gets its name; none is made where the one before has it all.
    pub(super) fn end(&mut self) -> Result<(), UnloadError> {
        let known = self.files.get(&self.number).copied().unwrap_or_default();
        let sized = matches!(self.names.request.split, Split::Bytes(_));
        let unused = self.open.is_none() && known.bytes == 0;
        if known.whole || sized && unused && self.number > 1 {
            return Ok(());
        }
        let path = self.part();
        self.opened()?;
        if let Some(open) = self.open.take() {
            let ended = open.end().and_then(|bytes| {
                fs::File::open(&path)?.sync_data()?;
                Ok(bytes)
            });
            let bytes = ended.map_err(unwritten(&path))?;
            self.mark(bytes, true)?;
        }
        name(&self.names.file(self.number))?;
        self.number += 1;
        Ok(())
    }
}

/// What a file is called while it is written.
fn part(path: &Path) -> PathBuf {
    Names::beside(path, ".part")
}

/// Gives a whole file its name, unless it has it.
fn name(path: &Path) -> Result<(), UnloadError> {
    let part = part(path);
    there(fs::rename(&part, path)).map_err(unwritten(path))?;
    let _mostly_there_is_none = fs::remove_file(footer(&part));
    Ok(())
}
