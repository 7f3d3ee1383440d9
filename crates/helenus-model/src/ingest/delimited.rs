//! Records of separated values, cut out of bytes as they come.
//! Refuses to guess where a record ends: a quote that is not closed costs one line, not the file.

use super::Record;
use std::borrow::Cow;

/// How values are separated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dialect {
    /// The byte between two fields.
    pub delimiter: u8,
    /// The byte around fields that hold separators; it stands doubled inside. None: there are no quotes.
    pub quote: Option<u8>,
    /// Whether a backslash makes the next character plain, as PostgreSQL's `COPY … TO` writes text.
    pub backslash: bool,
}

impl Dialect {
    /// Commas and double quotes.
    pub const CSV: Self = Self {
        delimiter: b',',
        quote: Some(b'"'),
        backslash: false,
    };
    /// Tabs and backslashes.
    pub const TSV: Self = Self {
        delimiter: b'\t',
        quote: None,
        backslash: true,
    };

    /// Whether null can be written as this word, and a text that is the same word differently.
    pub fn can_write_null_as(&self, word: &str) -> bool {
        let separates = |byte: u8| {
            byte == self.delimiter || Some(byte) == self.quote || byte < b' ' && byte != b'\t'
        };
        let plain = !word.bytes().any(separates);
        match self.backslash {
            true => word == "\\N" || plain && !word.contains('\\') && escapable(word).is_some(),
            false => plain,
        }
    }
}

/// The first byte of a word that a backslash leaves as it is, which makes the word a text.
fn escapable(word: &str) -> Option<usize> {
    word.bytes().position(|byte| !b"Ntnrbfv".contains(&byte))
}

/// What stands at the beginning of some bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cut {
    /// A record of so many bytes, its line end included.
    Record(usize),
    /// The beginning of a record: more bytes are needed.
    More,
    /// Nothing.
    End,
    /// So many bytes that are no record, and why.
    Wrong(usize, &'static str),
}

/// The fields of a record: memory that is used again.
#[derive(Debug, Clone, Default)]
pub struct Fields {
    bytes: Vec<u8>,
    /// Where each ends, and how it was written.
    ends: Vec<(usize, Written)>,
}

/// How a field was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    Bare,
    /// With characters behind backslashes, so that it is no word for null.
    Escaped,
    Quoted,
    /// With a NUL that nothing protects.
    Zero,
}

impl Fields {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none, as on an empty line.
    pub fn is_empty(&self) -> bool {
        matches!(self.ends[..], [] | [(0, Written::Bare)])
    }

    /// The fields as text; those that are one of `nulls`, and were neither quoted nor escaped, are null.
    ///
    /// # Errors
    /// The place of a field, counted from 0, that is not UTF-8 or holds a NUL and is neither quoted nor escaped.
    pub fn record(&self, nulls: &[String]) -> Result<Record<'_>, (usize, &'static str)> {
        let mut from = 0;
        let ends = self.ends.iter().enumerate();
        ends.map(|(at, (end, written))| {
            let bytes = &self.bytes[std::mem::replace(&mut from, *end)..*end];
            if *written == Written::Zero {
                return Err((at, "a NUL byte outside of quotes"));
            }
            let text = std::str::from_utf8(bytes).map_err(|_| (at, "not UTF-8"))?;
            let null = *written == Written::Bare && nulls.iter().any(|null| null == text);
            Ok((!null).then_some(Cow::Borrowed(text)))
        })
        .collect()
    }
}

/// Cuts the first record off; `last` says that no more bytes follow. `fields` holds its fields afterwards.
pub fn cut(bytes: &[u8], last: bool, dialect: &Dialect, fields: &mut Fields) -> Cut {
    fields.bytes.clear();
    fields.ends.clear();
    if bytes.is_empty() {
        return if last { Cut::End } else { Cut::More };
    }
    let mut at = 0;
    let mut written = Written::Bare;
    let mut start = true;
    loop {
        let Some(&byte) = bytes.get(at) else {
            if !last {
                return Cut::More;
            }
            fields.ends.push((fields.bytes.len(), written));
            return Cut::Record(at);
        };
        match byte {
            _ if start && Some(byte) == dialect.quote => {
                written = Written::Quoted;
                match inside(&bytes[at + 1..], byte, last, &mut fields.bytes) {
                    Inside::Closed(length) => at += 1 + length,
                    Inside::More => return Cut::More,
                    Inside::Open => return Cut::Wrong(line(bytes), "a quote is not closed"),
                }
                let after = bytes.get(at);
                let ends = after.is_none_or(|b| [dialect.delimiter, b'\n', b'\r'].contains(b));
                if !ends {
                    return Cut::Wrong(line(bytes), "text behind a closing quote");
                }
                start = false;
                continue;
            }
            b'\\' if dialect.backslash => {
                let Some(&next) = bytes.get(at + 1) else {
                    if !last {
                        return Cut::More;
                    }
                    fields.bytes.push(byte);
                    at += 1;
                    continue;
                };
                if next != b'N' && written != Written::Zero {
                    written = Written::Escaped;
                }
                match next {
                    // The null word: it stays as it is.
                    b'N' => fields.bytes.extend_from_slice(b"\\N"),
                    b't' => fields.bytes.push(b'\t'),
                    b'n' => fields.bytes.push(b'\n'),
                    b'r' => fields.bytes.push(b'\r'),
                    b'b' => fields.bytes.push(8),
                    b'f' => fields.bytes.push(12),
                    b'v' => fields.bytes.push(11),
                    plain => fields.bytes.push(plain),
                }
                at += 2;
                start = false;
                continue;
            }
            b'\n' => {
                fields.ends.push((fields.bytes.len(), written));
                return Cut::Record(at + 1);
            }
            b'\r' if bytes.get(at + 1) == Some(&b'\n') => {
                fields.ends.push((fields.bytes.len(), written));
                return Cut::Record(at + 2);
            }
            // Whether a line end follows only the next bytes say.
            b'\r' if at + 1 == bytes.len() && !last => return Cut::More,
            byte if byte == dialect.delimiter => {
                fields.ends.push((fields.bytes.len(), written));
                (written, start) = (Written::Bare, true);
                at += 1;
                continue;
            }
            0 => {
                written = Written::Zero;
                fields.bytes.push(0);
            }
            plain => fields.bytes.push(plain),
        }
        start = false;
        at += 1;
    }
}

enum Inside {
    Closed(usize),
    More,
    Open,
}

/// What stands between quotes, the closing one included.
fn inside(bytes: &[u8], quote: u8, last: bool, out: &mut Vec<u8>) -> Inside {
    let mut from = 0;
    loop {
        let Some(length) = bytes[from..].iter().position(|b| *b == quote) else {
            return if last { Inside::Open } else { Inside::More };
        };
        let end = from + length;
        out.extend_from_slice(&bytes[from..end]);
        match bytes.get(end + 1) {
            Some(next) if *next == quote => {
                out.push(quote);
                from = end + 2;
            }
            None if !last => return Inside::More,
            _ => return Inside::Closed(end + 1),
        }
    }
}

/// The length of the first line, its end included.
pub fn line(bytes: &[u8]) -> usize {
    let end = bytes.iter().position(|byte| *byte == b'\n');
    end.map_or(bytes.len(), |end| end + 1)
}

/// Appends a field as [`cut`] reads it: null is nothing, and an empty text stands in quotes.
pub fn put_field(text: Option<&str>, dialect: &Dialect, nulls: &[String], out: &mut Vec<u8>) {
    let Some(text) = text else {
        out.extend_from_slice(nulls.first().map_or(&b""[..], |null| null.as_bytes()));
        return;
    };
    if dialect.backslash {
        let is_null_word = nulls.iter().any(|null| null == text && null != "\\N");
        let escaped = is_null_word.then(|| escapable(text)).flatten();
        for (at, byte) in text.bytes().enumerate() {
            if escaped == Some(at) {
                out.push(b'\\');
            }
            match byte {
                0 => out.extend_from_slice(b"\\\0"),
                b'\\' => out.extend_from_slice(b"\\\\"),
                b'\t' => out.extend_from_slice(b"\\t"),
                b'\n' => out.extend_from_slice(b"\\n"),
                b'\r' => out.extend_from_slice(b"\\r"),
                plain => out.push(plain),
            }
        }
        return;
    }
    let quote = dialect.quote.unwrap_or(b'"');
    let special = |byte: u8| byte == quote || byte == dialect.delimiter || byte < b' ';
    let bare = !text.is_empty() && !text.bytes().any(special) && !nulls.iter().any(|n| n == text);
    if bare {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.push(quote);
    for byte in text.bytes() {
        if byte == quote {
            out.push(quote);
        }
        out.push(byte);
    }
    out.push(quote);
}
