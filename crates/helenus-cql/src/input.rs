//! INPUT: every file that a person names is read here, whole, as text or bytes.
//! Refuses what may never end: devices, named pipes, folders, and files above a limit.

use helenus_model::units::Bytes;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// Most bytes of a file that describes something: a profile, a schema, a cassandra.yaml, a certificate.
pub const MOST: u64 = 16 << 20;

/// Most bytes of statements to run, and of files that programs wrote.
pub const MOST_LONG: u64 = 256 << 20;

/// Why an input was not read.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.text())]
pub struct InputError {
    path: PathBuf,
    why: Why,
}

#[derive(Debug, thiserror::Error)]
enum Why {
    #[error("{0}")]
    Io(io::Error),
    #[error("it is {0}, not a file")]
    Kind(&'static str),
    #[error("it is larger than {}, the most that is read", Bytes(*.0))]
    Long(u64),
    #[error("it is not text: line {line} contains {what}")]
    Binary { line: usize, what: &'static str },
}

impl InputError {
    fn text(&self) -> String {
        let path = self.path.display();
        match &self.why {
            Why::Io(error) => format!("failed to open file `{path}`: {error}"),
            why => format!("cannot read `{path}`: {why}"),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self.why {
            Why::Io(_) => None,
            Why::Kind("a folder") => Some("name a file in it".into()),
            Why::Kind(_) => Some("name a regular file".into()),
            Why::Long(_) => Some("did you mean another file? else split it".into()),
            Why::Binary { .. } => Some("did you mean another file? else save it as UTF-8".into()),
        }
    }

    /// Whether there is no such file.
    pub fn is_missing(&self) -> bool {
        matches!(&self.why, Why::Io(error) if error.kind() == io::ErrorKind::NotFound)
    }

    /// The reason alone, for an error that names the file itself.
    pub fn bare(self) -> io::Error {
        match self.why {
            Why::Io(error) => error,
            why => io::Error::new(io::ErrorKind::InvalidInput, why),
        }
    }
}

/// Opens a file that is read in pieces and may be of any size.
///
/// # Errors
/// It cannot be opened, or is no regular file. A pipe is taken where a descriptor of this process is named, as
/// `/dev/stdin` and a shell's `<(…)` do.
pub fn open(path: &Path) -> Result<File, InputError> {
    let failed = |why| InputError {
        path: path.to_owned(),
        why,
    };
    // Looked at before it is opened: opening a named pipe waits for a writer.
    #[expect(
        clippy::disallowed_methods,
        reason = "InputError names the path; fs_err would name it twice"
    )]
    let kind = std::fs::metadata(path)
        .map_err(|e| failed(Why::Io(e)))?
        .file_type();
    let other = if kind.is_file() {
        None
    } else if kind.is_dir() {
        Some("a folder")
    } else if kind.is_fifo() {
        (!is_descriptor(path)).then_some("a named pipe")
    } else if kind.is_socket() {
        Some("a socket")
    } else {
        Some("a device")
    };
    if let Some(other) = other {
        return Err(failed(Why::Kind(other)));
    }
    let opened = OpenOptions::new().read(true).open(path);
    opened.map_err(|e| failed(Why::Io(e)))
}

/// Whether a path names a descriptor that is open already.
fn is_descriptor(path: &Path) -> bool {
    let names = ["/dev/stdin", "/dev/fd", "/proc/self/fd"];
    names.iter().any(|name| path.starts_with(name))
}

/// A whole file of at most [`MOST`] bytes.
///
/// # Errors
/// As [`open`]; or it is larger.
pub fn bytes(path: &Path) -> Result<Vec<u8>, InputError> {
    whole(&mut open(path)?, path, MOST)
}

/// A whole file of at most [`MOST`] bytes, as text.
///
/// # Errors
/// As [`bytes`]; or it is not UTF-8, or holds a zero byte.
pub fn text(path: &Path) -> Result<String, InputError> {
    text_up_to(path, MOST)
}

/// [`text`] with another limit.
///
/// # Errors
/// As [`text`].
pub fn text_up_to(path: &Path, most: u64) -> Result<String, InputError> {
    text_of(&mut open(path)?, path, most)
}

/// Text that comes from an open source, such as standard input, under the name of `path`.
///
/// # Errors
/// As [`text`].
pub fn text_of(source: &mut impl Read, path: &Path, most: u64) -> Result<String, InputError> {
    let bytes = whole(source, path, most)?;
    let binary = |before: &[u8], what| InputError {
        path: path.to_owned(),
        why: Why::Binary {
            line: before.iter().filter(|b| **b == b'\n').count() + 1,
            what,
        },
    };
    if let Some(at) = bytes.iter().position(|b| *b == 0) {
        return Err(binary(&bytes[..at], "a zero byte"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        binary(&error.as_bytes()[..valid], "bytes that are not UTF-8")
    })
}

fn whole(source: &mut impl Read, path: &Path, most: u64) -> Result<Vec<u8>, InputError> {
    let failed = |why| InputError {
        path: path.to_owned(),
        why,
    };
    let mut bytes = Vec::new();
    let read = source.take(most + 1).read_to_end(&mut bytes);
    match read.map_err(|e| failed(Why::Io(e)))? {
        read if read as u64 > most => Err(failed(Why::Long(most))),
        _ => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_never_end_is_refused() {
        let said = |path: &str| open(Path::new(path)).expect_err("refused").to_string();
        assert_eq!(
            said("/dev/zero"),
            "cannot read `/dev/zero`: it is a device, not a file"
        );
        assert_eq!(
            said("/proc"),
            "cannot read `/proc`: it is a folder, not a file"
        );
        assert!(open(Path::new("/no/such")).expect_err("none").is_missing());
    }

    #[test]
    fn limits_and_texts() {
        let read = |bytes: &[u8], most| {
            text_of(&mut &*bytes, Path::new("x"), most).map_err(|e| e.bare().to_string())
        };
        assert_eq!(read(b"abcd", 4).as_deref(), Ok("abcd"));
        assert_eq!(
            read(b"abcde", 4).expect_err("long"),
            "it is larger than 4 B, the most that is read"
        );
        assert_eq!(
            read(b"a\nb\0", 9).expect_err("binary"),
            "it is not text: line 2 contains a zero byte"
        );
        assert_eq!(
            read(b"a\n\n\xff", 9).expect_err("binary"),
            "it is not text: line 3 contains bytes that are not UTF-8"
        );
        assert_eq!(read(b"", 9).as_deref(), Ok(""), "an empty file is text");
    }

    #[test]
    fn a_pipe_is_read_through_its_descriptor() {
        use std::io::Write as _;
        use std::os::fd::AsRawFd as _;
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        writer.write_all(b"SELECT 1").expect("room in it");
        drop(writer);
        let path = format!("/proc/self/fd/{}", reader.as_raw_fd());
        assert_eq!(text(Path::new(&path)).expect("text"), "SELECT 1");
    }
}
