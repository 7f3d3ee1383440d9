//! One experiment at a time on a machine: a record lock that the others wait for.
//! Refuses to measure beside another experiment of this user.
//!
//! A record lock ends with its process, however that ends, and the kernel names its holder.

use crate::alive;
use crate::context::Context;
use crate::error::ClusterError;
use crate::ready::ReadyError;
use fs_err as fs;
use rustix::fs::FlockOperation;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::time::Duration;

/// The lock's file, in the runtime folder: every `HELENUS_HOME` of this user sees it.
const FILE: &str = "experiment.turn";

/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(200);

/// The right to measure; it ends when this is dropped, or the process ends.
#[derive(Debug)]
pub struct Turn {
    _file: fs::File,
}

/// Who is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ahead {
    /// The process, as the kernel names it.
    pub pid: i32,
    /// What it runs, in its own words.
    pub what: String,
}

/// Waits until no other experiment runs; who is waited for is reported once for each.
///
/// # Errors
/// The runtime folder cannot be written, or the person stopped it.
pub fn wait(
    context: &Context,
    what: &str,
    report: &mut dyn FnMut(&Ahead),
) -> Result<Turn, ClusterError> {
    let io = || ClusterError::io("the queue of experiments");
    // Opened once, and by nobody else in this process: closing any other descriptor of it would end the lock.
    let mut file = fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(context.paths.runtime.join(FILE))
        .map_err(io())?;
    let mut last = None;
    loop {
        match rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS | rustix::io::Errno::INTR) => {
            }
            Err(error) => return Err(io()(error.into())),
        }
        if context.cancel.is_set() {
            return Err(ReadyError::Interrupted.into());
        }
        // One of another PID namespace has no number here, and is waited for all the same.
        if let Ok(Some(pid)) = alive::holder_of(&file) {
            let ahead = Ahead {
                pid: pid.as_raw_pid(),
                what: words(&mut file, pid.as_raw_pid()).unwrap_or_default(),
            };
            // Its words come a moment after its lock; those of the one before it may still stand there.
            if !ahead.what.is_empty() && last.as_ref() != Some(&ahead) {
                report(&ahead);
                last = Some(ahead);
            }
        }
        std::thread::sleep(PAUSE);
    }
    write(&mut file, what).map_err(io())?;
    Ok(Turn { _file: file })
}

fn words(file: &mut fs::File, pid: i32) -> io::Result<String> {
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    let own = text.strip_prefix(&format!("{pid} "));
    Ok(own.unwrap_or_default().to_owned())
}

fn write(file: &mut fs::File, what: &str) -> io::Result<()> {
    file.rewind()?;
    file.set_len(0)?;
    let pid = rustix::process::getpid().as_raw_pid();
    file.write_all(format!("{pid} {what}").as_bytes())
}
