//! Whether a node lives: a POSIX record lock that the launch shim takes and `java` keeps.
//! Refuses pid files: a recycled pid can never be taken for a node.
//!
//! The lock belongs to the process, survives `exec`, is not inherited by grandchildren and is gone with `java`.

use crate::stored::there;
use fs_err as fs;
use rustix::fs::FlockOperation;
use rustix::process::{Flock, FlockType, Pid, fcntl_getlk};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// Name of the lock file in a node's folder.
pub const CLAIM_FILE: &str = "claim";

/// The process that holds a node's claim, or none.
///
/// # Errors
/// The file exists but cannot be opened or asked; a missing file means that no process lives.
pub fn holder(node_folder: &Path) -> io::Result<Option<Pid>> {
    let file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(node_folder.join(CLAIM_FILE));
    match there(file)? {
        Some(file) => holder_of(&file),
        None => Ok(None),
    }
}

/// The process that holds the claim behind an open descriptor.
///
/// # Errors
/// The kernel does not report it.
pub fn holder_of(file: impl AsFd) -> io::Result<Option<Pid>> {
    let asked = Flock::from(FlockType::WriteLock);
    let answer = fcntl_getlk(file, &asked)?;
    Ok(answer.and_then(|lock| lock.pid))
}

/// Makes the claim file, which no process holds yet.
///
/// # Errors
/// The folder cannot be written.
pub fn create(node_folder: &Path) -> io::Result<()> {
    fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(node_folder.join(CLAIM_FILE))?;
    Ok(())
}

/// Takes the claim for this process, and everything that it `exec`s. Only the shim calls this.
///
/// # Errors
/// A process holds it, or the folder was removed meanwhile.
pub fn take(node_folder: &Path) -> io::Result<OwnedFd> {
    let file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(node_folder.join(CLAIM_FILE))?;
    rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive)?;
    // `rm` unlinks the claim before it looks who holds it: whoever locks later finds no link.
    if rustix::fs::fstat(&file)?.st_nlink == 0 {
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            "the cluster was removed meanwhile",
        ));
    }
    let fd: OwnedFd = file.into_parts().0.into();
    let flags = rustix::io::fcntl_getfd(&fd)?;
    rustix::io::fcntl_setfd(&fd, flags - rustix::io::FdFlags::CLOEXEC)?;
    Ok(fd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_holds_a_missing_or_a_fresh_claim() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(holder(dir.path()).unwrap(), None);
        create(dir.path()).unwrap();
        assert_eq!(holder(dir.path()).unwrap(), None);
    }

    #[test]
    fn a_claim_of_a_removed_folder_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert!(take(dir.path()).is_err());
    }
}
