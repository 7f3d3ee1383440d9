//! Waiting for sockets and for a moment, with one call: epoll, with a timer among its descriptors.
//! Refuses a deadline of the call's own: it would be set up and taken down again at each answer that comes before it, which
//! costs more than the answer where the timer is a hypervisor's.

use crate::sys;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// What the timer was added as: it is not among what is ready.
const TIMER: usize = usize::MAX;

/// Sockets that one wait reports at most; the next reports the others before these again. What answers let start then
/// starts while they are still in the processor's caches.
const EVENTS: usize = 16;

/// Sockets that are waited for.
pub(crate) struct Poller {
    epoll: OwnedFd,
    timer: OwnedFd,
    /// The moment that the timer is set to; it is set anew for another only.
    set_to_ns: u64,
    events: Vec<epoll::Event>,
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
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let own = Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            timer: timerfd_create(TimerfdClockId::Monotonic, flags)?,
            set_to_ns: 0,
            events: Vec::with_capacity(EVENTS),
        };
        own.add(&own.timer, TIMER)?;
        Ok(own)
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
    /// None in practice: the descriptors are ours.
    pub(crate) fn wait(&mut self, until_ns: u64) -> io::Result<()> {
        self.events.clear();
        let at_once = Timespec::default();
        let passed = until_ns <= sys::monotonic_ns();
        if !passed && until_ns != self.set_to_ns {
            let once = Itimerspec {
                it_interval: Timespec::default(),
                it_value: sys::timespec(until_ns),
            };
            // Setting it anew forgets that it has expired: it is never read.
            timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once)?;
            self.set_to_ns = until_ns;
        }
        let room = rustix::buffer::spare_capacity(&mut self.events);
        match epoll::wait(&self.epoll, room, passed.then_some(&at_once)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        self.events.retain(|event| event.data.u64() != TIMER as u64);
        Ok(())
    }

    /// What the last wait found.
    pub(crate) fn ready(&self, at: usize) -> Option<Ready> {
        let event = self.events.get(at)?;
        let (flags, key) = (event.flags, event.data.u64());
        let has = |flag: epoll::EventFlags| flags.intersects(flag);
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
