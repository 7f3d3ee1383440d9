//! Signals to processes that are ours by their claim, and waiting for the end of them and of a cluster's owner.
//! Refuses names and patterns: a pid comes from a claim or from a child.

use crate::cancel::Cancel;
use crate::error::{Class, Problem};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, pidfd_send_signal, waitpid,
};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// Ends a process: SIGTERM, up to `grace` of patience, then SIGKILL; returns when it is gone.
///
/// Returns whether it went by itself.
pub fn end(pid: Pid, grace: Duration) -> bool {
    // The descriptor names this very process, even if its number is given to another later.
    let handle = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(handle) => handle,
        Err(rustix::io::Errno::SRCH) => return true,
        Err(error) => {
            // A kernel without process descriptors, or no descriptor left: the number must do.
            tracing::warn!(%error, "no process descriptor");
            let _gone_already = kill_process(pid, Signal::KILL);
            return false;
        }
    };
    if grace > Duration::ZERO {
        let _gone_already = pidfd_send_signal(&handle, Signal::TERM);
        // A paused process takes no SIGTERM.
        let _gone_already = pidfd_send_signal(&handle, Signal::CONT);
        if wait(&handle, grace) {
            reap(pid);
            return true;
        }
    }
    let _gone_already = pidfd_send_signal(&handle, Signal::KILL);
    if wait(&handle, Duration::from_secs(30)) {
        reap(pid);
    }
    false
}

/// How a child ended; `look` is called while it works. None where the person asked to stop.
///
/// # Errors
/// The kernel does not say how.
pub(crate) fn ended(
    child: &mut Child,
    every: Duration,
    cancel: &Cancel,
    look: &mut dyn FnMut(),
) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if cancel.is_set() {
            return Ok(None);
        }
        look();
        std::thread::sleep(every);
    }
}

/// Takes the end of a child of ours, or hundreds of restarts would leave as many entries in the table of processes.
fn reap(pid: Pid) {
    let _not_ours = waitpid(Some(pid), WaitOptions::NOHANG);
}

/// Longest wait for a process to stand still: the kernel stops each thread where it next may.
const PAUSED_WITHIN: Duration = Duration::from_secs(5);

/// Sends a signal to a process that holds a claim; after SIGSTOP, returns when it stands still.
///
/// # Errors
/// It is gone, or not ours.
pub fn signal(pid: Pid, signal: Signal) -> std::io::Result<()> {
    kill_process(pid, signal)?;
    if signal == Signal::STOP {
        let begin = Instant::now();
        while !is_paused(pid) && begin.elapsed() < PAUSED_WITHIN {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(())
}

/// Whether a process was stopped by a signal, and stands still.
pub fn is_paused(pid: Pid) -> bool {
    let stat = format!("/proc/{}/stat", pid.as_raw_pid());
    let stat = fs_err::read_to_string(stat).unwrap_or_default();
    // The name in brackets may hold anything; the state is the first field behind it.
    let state = stat.rsplit(')').next().map(str::trim_start);
    state.is_some_and(|rest| rest.starts_with('T'))
}

/// Waits until a process has ended; whether it has.
fn wait(handle: &OwnedFd, within: Duration) -> bool {
    wait_any(&[handle], Some(within)).unwrap_or(false)
}

/// Waits until one of these can be read, which a descriptor of a process can when that has ended; whether one can.
pub(crate) fn wait_any(handles: &[&OwnedFd], until: Option<Duration>) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let until = until.map(|within| Instant::now() + within);
    let mut fds: Vec<PollFd<'_>> = handles
        .iter()
        .map(|handle| PollFd::new(*handle, PollFlags::IN))
        .collect();
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let timeout = left.map(|left| Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        });
        match poll(&mut fds, timeout.as_ref()) {
            Ok(ready) => return Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// A descriptor of this very process, even if its number is given to another later; none on a kernel without them, or
/// where the process is gone.
pub(crate) fn handle(pid: i32) -> Option<OwnedFd> {
    pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()
}

/// Whether the process of that number has ended, also if its parent has not asked for it yet.
fn has_ended(pid: i32) -> bool {
    handle(pid).is_some_and(|handle| wait(&handle, Duration::ZERO))
}

/// Ends this process with its parent, which may have ended already.
///
/// # Errors
/// It has, or the kernel refuses.
pub(crate) fn end_with(parent: i32) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    // The parent may have ended before the line above.
    if rustix::process::getppid().map(rustix::process::Pid::as_raw_pid) == Some(parent) {
        Ok(())
    } else {
        Err(io::Error::other("the command that started this has ended"))
    }
}

/// When a process was started, in ticks since boot; none when it is gone.
pub fn started_at(pid: i32) -> Option<u64> {
    let stat = fs_err::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything; the start is the twentieth field behind it.
    stat.rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(19)?
        .parse()
        .ok()
}

/// A process that clusters belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Its number.
    pub pid: i32,
    /// Its start in ticks since boot, for numbers of processes come again.
    pub started: u64,
}

/// No process has that number.
#[derive(Debug, thiserror::Error)]
#[error("no such process: {0}")]
pub struct OwnerError(i32);

impl Problem for OwnerError {
    fn class(&self) -> Class {
        Class::Usage
    }

    fn hint(&self) -> Option<String> {
        let hint = "--owner takes a process ID; the cluster is removed when that process exits (the current shell: --owner $$)";
        Some(hint.to_owned())
    }
}

impl Owner {
    /// The process of that number.
    ///
    /// # Errors
    /// None runs.
    pub fn of(pid: i32) -> Result<Self, OwnerError> {
        let started = started_at(pid).ok_or(OwnerError(pid))?;
        Ok(Self { pid, started })
    }

    /// Whether it has ended; one that its parent has not asked for yet, too.
    pub fn has_ended(self) -> bool {
        started_at(self.pid) != Some(self.started) || has_ended(self.pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn whoever_is_paused_stands_still() {
        let mut child = Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
            .expect("a child");
        let pid = Pid::from_child(&child);
        assert!(!is_paused(pid));
        signal(pid, Signal::STOP).expect("it lives");
        assert!(is_paused(pid));
        end(pid, Duration::ZERO);
        assert!(child.wait().is_err(), "somebody else has seen its end");
    }

    #[test]
    fn a_child_that_was_ended_leaves_nothing() {
        let mut child = Command::new("sleep").arg("100").spawn().expect("a child");
        assert!(
            end(Pid::from_child(&child), Duration::from_secs(30)),
            "by SIGTERM"
        );
        assert!(child.wait().is_err(), "somebody else has seen its end");
    }
}
