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

/// A claim is held by a process that has no number here: it can be neither asked nor ended from here.
#[derive(Debug, thiserror::Error)]
#[error("a process of another PID namespace holds it")]
pub(crate) struct Hidden;

impl Hidden {
    /// Whether an error is this one.
    pub(crate) fn is(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<Self>())
    }
}

/// The process that holds a node's claim, or none.
///
/// # Errors
/// The file exists but cannot be opened or asked, or a process of another PID namespace holds it; a missing file means
/// that no process lives.
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
/// The kernel does not report it, or it is a process of another PID namespace.
pub fn holder_of(file: impl AsFd) -> io::Result<Option<Pid>> {
    let asked = Flock::from(FlockType::WriteLock);
    fcntl_getlk(file, &asked)?.map(pid_of).transpose()
}

/// The process of a lock; of one that has no number in this PID namespace the kernel says 0.
fn pid_of(lock: Flock) -> io::Result<Pid> {
    lock.pid.ok_or_else(|| io::Error::other(Hidden))
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
    if !crate::lock::has_name(&file)? {
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
    fn who_has_no_number_here_is_not_nobody() {
        let own = rustix::process::getpid();
        let lock = Flock {
            pid: Some(own),
            ..Flock::from(FlockType::WriteLock)
        };
        assert_eq!(pid_of(lock).unwrap(), own);
        let error = pid_of(Flock::from(FlockType::WriteLock)).unwrap_err();
        assert!(Hidden::is(&error), "{error}");
        let error = crate::error::ClusterError::io("the node's claim")(error);
        assert!(error.hint().is_some_and(|hint| hint.contains("container")));
    }

    #[test]
    fn a_claim_of_a_removed_folder_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert!(take(dir.path()).is_err());
    }
}
