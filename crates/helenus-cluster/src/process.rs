//! Signals to processes that are ours by their claim, and waiting for their end.
//! Refuses names and patterns: a pid comes from a claim or from a child.

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, pidfd_send_signal, waitpid,
};
use std::io;
use std::os::fd::OwnedFd;
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

/// Waits until a process has ended.
fn wait(handle: &OwnedFd, within: Duration) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let until = Instant::now() + within;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        let mut fds = [PollFd::new(handle, PollFlags::IN)];
        match poll(&mut fds, Some(&timeout)) {
            Ok(0) => return false,
            Ok(_) => return true,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
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
