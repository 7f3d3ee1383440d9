//! Waiting for sockets and for a moment, with one call: epoll with a deadline in nanoseconds.
//! Refuses timers: the deadline is the call's own.

use crate::sys;
use rustix::event::epoll;
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Sockets that one wait reports at most; the others are reported by the next.
const EVENTS: usize = 256;

/// Sockets that are waited for.
#[derive(Debug)]
pub(crate) struct Poller {
    epoll: OwnedFd,
    events: Vec<libc::epoll_event>,
}

/// A socket that is ready.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ready {
    /// What it was added as.
    pub(crate) key: usize,
    /// It can be read, or has ended.
    pub(crate) readable: bool,
    /// It takes bytes again.
    pub(crate) writable: bool,
}

impl Poller {
    /// Waits for nothing yet.
    ///
    /// # Errors
    /// No descriptor to be had.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            events: Vec::with_capacity(EVENTS),
        })
    }

    /// Waits for `socket` from now on, until it is closed.
    ///
    /// # Errors
    /// Whatever the system reports.
    pub(crate) fn add(&self, socket: impl AsFd, key: usize) -> io::Result<()> {
        let data = epoll::EventData::new_u64(key as u64);
        Ok(epoll::add(&self.epoll, socket, data, flags(false))?)
    }

    /// Whether it is also waited for until `socket` takes bytes.
    ///
    /// # Errors
    /// Whatever the system reports.
    pub(crate) fn until_writable(
        &self,
        socket: impl AsFd,
        key: usize,
        wanted: bool,
    ) -> io::Result<()> {
        let data = epoll::EventData::new_u64(key as u64);
        Ok(epoll::modify(&self.epoll, socket, data, flags(wanted))?)
    }

    /// Waits until a socket is ready or the monotonic clock reads `until_ns`; a signal ends it, too.
    ///
    /// # Errors
    /// None in practice: the descriptor is ours.
    pub(crate) fn wait(&mut self, until_ns: u64) -> io::Result<()> {
        self.events.clear();
        let left_ns = match until_ns {
            0 => 0,
            at_ns => at_ns.saturating_sub(sys::monotonic_ns()),
        };
        match sys::epoll_wait(self.epoll.as_fd(), &mut self.events, left_ns) {
            Ok(()) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// What the last wait found.
    pub(crate) fn ready(&self, at: usize) -> Option<Ready> {
        let libc::epoll_event { events, u64: key } = *self.events.get(at)?;
        let has = |flag: epoll::EventFlags| events & flag.bits() != 0;
        Some(Ready {
            key: usize::try_from(key).ok()?,
            readable: has(epoll::EventFlags::IN | epoll::EventFlags::ERR | epoll::EventFlags::HUP),
            writable: has(epoll::EventFlags::OUT),
        })
    }
}

fn flags(writable: bool) -> epoll::EventFlags {
    match writable {
        false => epoll::EventFlags::IN,
        true => epoll::EventFlags::IN | epoll::EventFlags::OUT,
    }
}
