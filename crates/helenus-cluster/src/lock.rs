//! Advisory locks of files: they end with the process that has them.
//! Refuses to wait longer than a moment.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// How long to wait for a lock: a process that a killed helenus had just started keeps it until it is the shim.
const MOMENT: Duration = Duration::from_secs(2);

/// Takes the lock of a file until that is closed; false where somebody else has it.
///
/// # Errors
/// The kernel cannot lock the file.
pub fn take(file: impl AsFd) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The same, waiting for a moment where somebody else has it.
///
/// # Errors
/// The kernel cannot lock the file.
pub fn take_soon(file: impl AsFd) -> io::Result<bool> {
    let begin = Instant::now();
    while !take(&file)? {
        if begin.elapsed() > MOMENT {
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(true)
}

/// Whether an open file still has a name: one that was deleted keeps nobody out.
///
/// # Errors
/// The kernel does not report it.
pub fn has_name(file: impl AsFd) -> io::Result<bool> {
    Ok(rustix::fs::fstat(file)?.st_nlink > 0)
}
