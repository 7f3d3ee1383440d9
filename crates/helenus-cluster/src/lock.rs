//! Advisory locks of files: they end with the process that has them.
//! Refuses to wait: who waits looks again.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::io;
use std::os::fd::AsFd;

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
