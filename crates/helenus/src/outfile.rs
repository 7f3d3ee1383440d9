//! Every file that a person names to be written: whole or not at all.
//! Refuses folders, sockets and block devices; a character device or a named pipe is written to and never replaced.

use crate::error::{CommandError, code};
use fs_err as fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the reader of a named pipe may take to come.
const READER_WITHIN: Duration = Duration::from_secs(3);

/// What exists where something is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing.
    Nothing,
    /// A regular file, which writing replaces.
    File,
    /// A character device or a named pipe, which takes what is written and keeps its place.
    Stream,
    /// This process's own standard output, as `/dev/stdout` names it.
    Output,
}

/// What exists at `path`.
///
/// # Errors
/// A folder, a socket or a block device; or the kernel cannot say.
pub(crate) fn standing(path: &Path) -> Result<Standing, CommandError> {
    let there = match fs::metadata(path) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Standing::Nothing),
        Err(error) => return Err(unwritable(path, &error)),
    };
    let output = fs::metadata("/proc/self/fd/1");
    if output.is_ok_and(|output| (output.dev(), output.ino()) == (there.dev(), there.ino())) {
        return Ok(Standing::Output);
    }
    let kind = there.file_type();
    let other = if kind.is_file() {
        return Ok(Standing::File);
    } else if kind.is_char_device() || kind.is_fifo() {
        return Ok(Standing::Stream);
    } else if kind.is_dir() {
        "a folder"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a block device"
    };
    let text = format!("cannot write {}: it is {other}", path.display());
    let hint = match other {
        "a folder" => "name a file in it",
        _ => "name a regular file, or a new one",
    };
    Err(CommandError::new(code::USAGE, text).hint(hint.to_owned()))
}

/// Whether a path means standard output: `-`, or what standard output is.
pub(crate) fn is_output(path: &Path) -> bool {
    path == Path::new("-") || standing(path).is_ok_and(|there| there == Standing::Output)
}

/// A file to write to as things happen: made, emptied, or an open stream.
///
/// # Errors
/// As [`standing`], or it cannot be opened.
pub(crate) fn open(path: &Path) -> Result<fs::File, CommandError> {
    let opened = match standing(path)? {
        Standing::Nothing | Standing::File => fs::File::create(path),
        Standing::Stream => return stream(path),
        // Its descriptor: opened by name, a file behind it would be written from its beginning.
        Standing::Output => rustix::stdio::stdout()
            .try_clone_to_owned()
            .map(|same| fs::File::from_parts(same.into(), path)),
    };
    opened.map_err(|e| unwritable(path, &e))
}

/// A device, or a named pipe that somebody reads: opening one that nobody reads would wait for ever.
fn stream(path: &Path) -> Result<fs::File, CommandError> {
    use rustix::fs::{Mode, OFlags};
    let begin = Instant::now();
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let opened = loop {
        match rustix::fs::open(path, flags, Mode::empty()) {
            Err(rustix::io::Errno::NXIO) if begin.elapsed() < READER_WITHIN => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(rustix::io::Errno::NXIO) => {
                let text = format!(
                    "cannot write {}: it is a named pipe without a reader",
                    path.display()
                );
                let hint = "start its reader first, or name a regular file".to_owned();
                return Err(CommandError::new(code::USAGE, text).hint(hint));
            }
            opened => break opened,
        }
    };
    let opened = opened.and_then(|opened| {
        rustix::fs::fcntl_setfl(&opened, OFlags::empty())?;
        Ok(fs::File::from_parts(opened.into(), path))
    });
    opened.map_err(|e| unwritable(path, &e.into()))
}

/// Writes `data`. A regular file is replaced whole: whoever is killed here leaves at most a file beside it.
///
/// # Errors
/// As [`standing`], or it cannot be written.
pub(crate) fn write(path: &Path, data: &[u8]) -> Result<(), CommandError> {
    written(path, data, false)
}

/// [`write()`] for the eyes of this user only: a regular file has mode 0600 from the start.
///
/// # Errors
/// As [`write()`].
pub(crate) fn write_private(path: &Path, data: &[u8]) -> Result<(), CommandError> {
    written(path, data, true)
}

fn written(path: &Path, data: &[u8], private: bool) -> Result<(), CommandError> {
    let written = match standing(path)? {
        Standing::Nothing => replace(path, data, None, private),
        Standing::File => fs::canonicalize(path).and_then(|place| {
            let mode = fs::metadata(&place)?.permissions();
            replace(&place, data, Some(mode).filter(|_| !private), private)
        }),
        Standing::Stream | Standing::Output => match open(path)?.write_all(data) {
            // A reader that went away has read what it wanted.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        },
    };
    written.map_err(|e| unwritable(path, &e))
}

/// Writes beside its place, then takes it, with the permissions of what was there.
fn replace(
    path: &Path,
    data: &[u8],
    mode: Option<std::fs::Permissions>,
    private: bool,
) -> io::Result<()> {
    use fs::os::unix::fs::OpenOptionsExt as _;
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.new", std::process::id()));
    let beside = PathBuf::from(beside);
    let mut new = fs::OpenOptions::new();
    new.write(true)
        .create(true)
        .truncate(true)
        .mode(if private { 0o600 } else { 0o666 });
    let done = new
        .open(&beside)
        .and_then(|mut file| file.write_all(data))
        .and_then(|()| mode.map_or(Ok(()), |mode| fs::set_permissions(&beside, mode)))
        .and_then(|()| fs::rename(&beside, path));
    if done.is_err() {
        let _never_made = fs::remove_file(&beside);
    }
    done
}

/// Names the file that was asked for, not the one beside it.
fn unwritable(path: &Path, error: &io::Error) -> CommandError {
    let why = match error.kind() {
        io::ErrorKind::NotFound => "its folder does not exist".to_owned(),
        _ => {
            // fs_err names the file that it was about: what follows are the kernel's words.
            let text = error.to_string();
            text.rsplit_once("`: ")
                .map_or(text.clone(), |(_, words)| words.to_owned())
        }
    };
    let text = format!("cannot write {}: {why}", path.display());
    CommandError::new(code::ENVIRONMENT, text)
        .hint("name a file in an existing folder that you can write to".to_owned())
        .or_no_space()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn said(written: Result<(), CommandError>) -> (u8, String) {
        let failure = written.expect_err("refused");
        (failure.code, failure.message().to_owned())
    }

    #[test]
    fn a_device_is_written_to_and_stays_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let link = folder.path().join("full");
        symlink("/dev/full", &link).expect("a link");
        let (code, text) = said(write(&link, b"x"));
        assert_eq!(code, code::ENVIRONMENT, "{text}");
        assert!(text.contains("No space left"), "{text}");
        let still = fs::metadata(&link).expect("it stands").file_type();
        assert!(still.is_char_device());
        assert!(write(Path::new("/dev/null"), b"x").is_ok());
        assert_eq!(standing(&link).expect("a stream"), Standing::Stream);
    }

    #[test]
    fn what_takes_no_text_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let (code, text) = said(write(folder.path(), b"x"));
        assert_eq!(code, code::USAGE, "{text}");
        assert!(text.ends_with("it is a folder"), "{text}");
        let socket = folder.path().join("socket");
        let _held = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
        for wrong in [write(&socket, b"x"), open(&socket).map(|_| ())] {
            let (code, text) = said(wrong);
            assert_eq!(code, code::USAGE, "{text}");
            assert!(text.ends_with("it is a socket"), "{text}");
        }
        let (code, text) = said(write(&folder.path().join("no/such"), b"x"));
        assert_eq!(code, code::ENVIRONMENT, "{text}");
        assert!(text.ends_with("its folder does not exist"), "{text}");
    }

    #[test]
    fn a_file_is_replaced_whole_behind_its_link_and_keeps_its_mode() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").expect("writes");
        fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("a mode");
        symlink(&file, &link).expect("a link");
        assert!(write(&link, b"new").is_ok());
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        assert_eq!(fs::read_to_string(&file).expect("reads"), "new");
        let mode = fs::metadata(&file).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).expect("lists").count(), 2);
    }

    #[test]
    fn a_private_file_is_for_its_owner_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("secret");
        let mode = || fs::metadata(&file).expect("there").permissions().mode() & 0o777;
        assert!(write_private(&file, b"one").is_ok());
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("a mode");
        assert!(write_private(&file, b"two").is_ok());
        assert_eq!(
            (mode(), fs::read_to_string(&file).expect("reads")),
            (0o600, "two".to_owned())
        );
    }

    #[test]
    fn a_named_pipe_is_written_to() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("coreutils").success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe).expect("reads")
        });
        assert!(write(&pipe, b"text").is_ok());
        assert_eq!(reader.join().expect("ends"), "text");
        let (code, text) = said(write(&pipe, b"x"));
        assert_eq!(code, code::USAGE, "{text}");
        assert!(
            text.ends_with("it is a named pipe without a reader"),
            "{text}"
        );
    }
}
