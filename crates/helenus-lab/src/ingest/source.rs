//! The bytes of a file as UTF-8: plain or compressed, in any encoding, or from standard input.
//! Refuses to hold more of it than a record.

use super::encoding::{Decoded, TextEncoding};
use super::packed::{Packing, unpacked};
use super::walk::{Step, walk};
use super::{IngestError, LoadRequest, Shape, columns};
use helenus_model::cql::CqlValue;
use helenus_model::ingest::delimited::{Cut, Dialect, Fields, cut};
use helenus_model::ingest::{FileMark, Place};
use helenus_model::seed::mix;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Bytes at the beginning of a file by which it is known again.
const HEAD_BYTES: u64 = 64 << 10;

/// Bytes that are read at once.
const READ_BYTES: usize = 256 << 10;

/// The longest record; what is longer is rejected, and its rest passed over.
pub(super) const RECORD_MOST: usize = 16 << 20;

/// The longest header that is looked for.
const HEADER_MOST: usize = 1 << 20;

pub(super) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn failed(path: &Path) -> impl Fn(io::Error) -> IngestError + '_ {
    |source| IngestError::File {
        path: path.display().to_string(),
        source,
    }
}

/// The file as it is now.
pub(super) fn mark(path: &Path) -> Result<FileMark, IngestError> {
    let mut mark = FileMark {
        path: path.display().to_string(),
        bytes: None,
        modified_ns: None,
        head: None,
    };
    if is_stdin(path) {
        return Ok(mark);
    }
    let mut file = plain(path)?;
    let about = file.metadata().map_err(failed(path))?;
    let mut head = Vec::new();
    let taken = file.by_ref().take(HEAD_BYTES).read_to_end(&mut head);
    taken.map_err(failed(path))?;
    let sum = head.chunks(8).fold(0_u64, |sum, eight| {
        let mut word = [0; 8];
        word[..eight.len()].copy_from_slice(eight);
        mix(sum ^ u64::from_le_bytes(word))
    });
    mark.bytes = Some(about.len());
    mark.modified_ns = Some(about.mtime() * 1_000_000_000 + about.mtime_nsec());
    mark.head = Some(format!("{sum:016x}"));
    Ok(mark)
}

/// A regular file, opened.
fn plain(path: &Path) -> Result<fs_err::File, IngestError> {
    let about = fs_err::metadata(path).map_err(failed(path))?;
    if !about.is_file() {
        return Err(IngestError::Content {
            path: path.display().to_string(),
            why: "not a regular file; - reads standard input".to_owned(),
        });
    }
    fs_err::File::open(path).map_err(failed(path))
}

/// Whether a file is there and can be read.
///
/// # Errors
/// It is not, or no regular file.
pub fn readable(path: &Path) -> Result<(), IngestError> {
    match is_stdin(path) {
        true => Ok(()),
        false => plain(path).map(|_| ()),
    }
}

/// What the offsets of each file count up to; none where only its end says that.
pub(super) fn extents(request: &LoadRequest) -> Option<Vec<u64>> {
    if request
        .encoding
        .is_some_and(|encoding| !encoding.is_utf_8())
    {
        return None;
    }
    let parquet = matches!(request.shape, Shape::Parquet(_));
    let extent = |path: &PathBuf| {
        if parquet {
            return columns(path).ok().map(|(_, rows)| rows);
        }
        let mut file = (!is_stdin(path)).then(|| plain(path).ok())??;
        let bytes = file.metadata().ok()?.len();
        let mut head = Vec::new();
        file.by_ref().take(4).read_to_end(&mut head).ok()?;
        let as_it_is =
            Packing::by_first_bytes(&head).is_none() && TextEncoding::by_mark(&head).is_none();
        as_it_is.then_some(bytes)
    };
    request.files.iter().map(extent).collect()
}

/// Bytes of a file with what was read ahead.
pub(super) struct Source {
    path: String,
    from: Box<dyn Read>,
    buffer: Vec<u8>,
    at: usize,
    ended: bool,
}

impl Source {
    /// Opens a file. Its compression is known by its first bytes, and UTF-16 by its mark; any other encoding is given.
    pub(super) fn open(path: &Path, encoding: Option<TextEncoding>) -> Result<Self, IngestError> {
        let from: Box<dyn Read> = match is_stdin(path) {
            true => Box::new(io::stdin()),
            false => Box::new(plain(path)?),
        };
        let (from, _) = unpacked(from).map_err(failed(path))?;
        let mut source = Self {
            path: path.display().to_string(),
            from,
            buffer: Vec::new(),
            at: 0,
            ended: false,
        };
        source.more()?;
        let encoding = TextEncoding::by_mark(source.bytes()).or(encoding);
        if let Some(encoding) = encoding.filter(|encoding| !encoding.is_utf_8()) {
            let head = io::Cursor::new(std::mem::take(&mut source.buffer));
            let rest = std::mem::replace(&mut source.from, Box::new(io::empty()));
            source.from = Box::new(Decoded::new(head.chain(rest), encoding));
            source.ended = false;
            source.more()?;
        }
        Ok(source)
    }

    /// What was read ahead.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.at..]
    }

    /// Whether nothing follows [`Self::bytes`].
    pub(super) fn is_last(&self) -> bool {
        self.ended
    }

    pub(super) fn pass(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Reads more ahead.
    pub(super) fn more(&mut self) -> Result<(), IngestError> {
        self.buffer.drain(..self.at);
        self.at = 0;
        let before = self.buffer.len();
        let wanted = READ_BYTES.max(before);
        let limited = self.from.by_ref().take(wanted as u64);
        let mut limited = limited;
        let read = limited.read_to_end(&mut self.buffer);
        let read = read.map_err(|source| IngestError::File {
            path: self.path.clone(),
            source,
        })?;
        self.ended = read < wanted;
        Ok(())
    }

    /// Passes over so many bytes from the beginning; whether there were so many.
    pub(super) fn skip(&mut self, mut bytes: u64) -> Result<bool, IngestError> {
        loop {
            let here = (self.bytes().len() as u64).min(bytes);
            self.pass(usize::try_from(here).unwrap_or(usize::MAX));
            bytes -= here;
            if bytes == 0 {
                return Ok(true);
            }
            if self.ended {
                return Ok(false);
            }
            self.more()?;
        }
    }
}

/// The first record of a file, as names: of a header, or only to be counted.
///
/// # Errors
/// The file cannot be read, or has no first record.
pub fn header(
    path: &Path,
    dialect: &Dialect,
    encoding: Option<TextEncoding>,
) -> Result<Vec<String>, IngestError> {
    let mut source = Source::open(path, encoding)?;
    let mut fields = Fields::default();
    let wrong = |why: &str| IngestError::Content {
        path: path.display().to_string(),
        why: why.to_owned(),
    };
    loop {
        let bytes = source.bytes();
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        match cut(bytes, source.is_last(), dialect, &mut fields) {
            Cut::Record(length) if fields.is_empty() => {
                let mark = source.bytes().len() - bytes.len();
                source.pass(mark + length);
            }
            Cut::Record(_) => {
                let record = fields.record(&[]).map_err(|(_, why)| wrong(why))?;
                let names = record.into_iter().flatten();
                return Ok(names.map(|name| name.trim().to_owned()).collect());
            }
            Cut::More if bytes.len() < HEADER_MOST => source.more()?,
            Cut::More => return Err(wrong("its first line is longer than 1 MiB")),
            Cut::End => return Err(wrong("it is empty")),
            Cut::Wrong(_, why) => return Err(wrong(why)),
        }
    }
}

/// The first rows as they would be written, by target; what would be rejected is passed over.
///
/// # Errors
/// A file cannot be read.
pub fn preview(
    request: &LoadRequest,
    most: usize,
) -> Result<Vec<Vec<Option<CqlValue>>>, IngestError> {
    let mut rows = Vec::new();
    walk(request, Place::default(), request.now_us, &mut |step| {
        if let Step::Row { values, .. } = step {
            rows.push(values.to_vec());
        }
        Ok(rows.len() < most)
    })?;
    Ok(rows)
}
