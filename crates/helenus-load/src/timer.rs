//! A timer as exact as the kernel's: absolute deadlines on the monotonic clock.
//! Refuses tokio's own timers for operations: those count in milliseconds.

use crate::sys;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::io;
use std::os::fd::OwnedFd;
use tokio::io::unix::AsyncFd;

/// One timer.
#[derive(Debug)]
pub(crate) struct Timer {
    fd: AsyncFd<OwnedFd>,
}

impl Timer {
    /// A timer on the current runtime.
    ///
    /// # Errors
    /// No descriptor to be had.
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        register(fd).map(|fd| Self { fd })
    }

    /// Waits until the monotonic clock reads `at_ns`. May be dropped and asked again.
    ///
    /// # Errors
    /// None in practice: the descriptor is ours.
    pub(crate) async fn until(&self, at_ns: u64) -> io::Result<()> {
        let at = Timespec {
            tv_sec: i64::try_from(at_ns / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(at_ns % 1_000_000_000).unwrap_or(0),
        };
        let once = Itimerspec {
            it_interval: Timespec::default(),
            it_value: at,
        };
        timerfd_settime(self.fd.get_ref(), TimerfdTimerFlags::ABSTIME, &once)?;
        // An earlier deadline that nobody waited for may have left its mark: look at the clock, not at the mark.
        // The descriptor is never read: setting it anew forgets what expired.
        while sys::monotonic_ns() < at_ns {
            self.fd.readable().await?.clear_ready();
        }
        Ok(())
    }
}

#[expect(unsafe_code, reason = "tokio asks for a promise about the descriptor")]
fn register(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an OwnedFd keeps its descriptor open, and the same, until it is dropped with the AsyncFd.
    unsafe { AsyncFd::register_with_interest(fd, tokio::io::Interest::READABLE) }
        .map_err(io::Error::from)
}
