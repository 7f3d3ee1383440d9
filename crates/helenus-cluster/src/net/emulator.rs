//! The emulator: takes packets from the queues, asks the model for their fate, lets them go when they are due.
//! Refuses to spin: between two moments at which something is due or comes in, it sleeps.

use super::hold::{Carried, Holder, Work};
use super::queue::{Packet, Queues};
use helenus_model::distance::{Carrier, Fate};
use helenus_model::pace::Pace;
use helenus_model::seed::Seed;
use helenus_model::topology::link::Link;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Longest time for which the emulator itself may have been kept from looking: a stamp that lies further back is a
/// clock's that was set.
const STALL_NS: u64 = 1_000_000_000;

/// What the emulator and whoever changes it share.
#[derive(Debug)]
pub(super) struct Shared {
    links: Mutex<Vec<Link>>,
    version: AtomicU64,
    carried: Mutex<Vec<Carried>>,
    work: Mutex<Work>,
    begin_ns: u64,
    wake: OwnedFd,
}

impl Shared {
    /// For these links, in the order of their queues.
    pub(super) fn new(links: Vec<Link>) -> io::Result<Self> {
        let flags = rustix::event::EventfdFlags::CLOEXEC | rustix::event::EventfdFlags::NONBLOCK;
        Ok(Self {
            carried: Mutex::new(vec![Carried::default(); links.len()]),
            links: Mutex::new(links),
            version: AtomicU64::new(0),
            work: Mutex::new(Work::default()),
            begin_ns: monotonic_ns(),
            wake: rustix::event::eventfd(0, flags)?,
        })
    }
}

impl Holder for Shared {
    fn links(&self) -> Vec<Link> {
        self.links
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn change(&self, place: usize, link: Link) -> io::Result<()> {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = links.get_mut(place) {
            *known = link;
        }
        drop(links);
        self.version.fetch_add(1, Ordering::Release);
        let _full_means_awake = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
        Ok(())
    }

    fn counters(&self) -> (Work, Vec<Carried>) {
        let mut work = self
            .work
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        work.up_us = (monotonic_ns() - self.begin_ns) / 1_000;
        let carried = self.carried.lock().unwrap_or_else(PoisonError::into_inner);
        (work, carried.clone())
    }
}

/// Packets of one queue that wait, by the time at which they are due.
#[derive(Debug)]
struct Held {
    carrier: Carrier,
    waiting: VecDeque<(u64, u32, u32)>,
    /// Whether one that came later is due before one that came earlier: then each gets a verdict of its own.
    mixed: bool,
    carried: Carried,
}

/// The emulator at work.
pub(super) struct Emulator<'a> {
    queues: Queues,
    shared: &'a Shared,
    held: Vec<Held>,
    version: u64,
    work: Work,
    pace: Pace,
    /// Keeps the kernel stamping what comes in.
    _stamps: Option<OwnedFd>,
}

impl<'a> Emulator<'a> {
    /// Takes over the queues.
    pub(super) fn new(
        queues: Queues,
        shared: &'a Shared,
        seed: Seed,
        stamps: Option<OwnedFd>,
    ) -> Self {
        let links = shared.links().into_iter().enumerate();
        let held = links.map(|(k, link)| Held {
            carrier: Carrier::new(link, seed.derive(&format!("link {k}"))),
            waiting: VecDeque::new(),
            mixed: false,
            carried: Carried::default(),
        });
        let mut emulator = Self {
            held: held.collect(),
            queues,
            shared,
            version: 0,
            work: Work::default(),
            pace: Pace::of(None),
            _stamps: stamps,
        };
        emulator.pace = emulator.paced();
        emulator.work.realtime = before_others();
        for (queue, held) in (0_u16..).zip(&emulator.held) {
            emulator.segment(queue, held.carrier.link());
        }
        emulator
    }

    /// Works until the process ends.
    ///
    /// # Errors
    /// The queues are gone.
    pub(super) fn run(mut self) -> io::Result<()> {
        // Wakes are as exact as the hardware's timers: the kernel may not put them off by its usual 50 µs.
        let _default_slack = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let mut reported_ns = 0;
        loop {
            let read = self.read()?;
            let now = monotonic_ns();
            let next = self.release(now)?;
            if now - reported_ns > 50_000_000 || read == 0 {
                reported_ns = now;
                self.publish();
            }
            self.sleep(next, read > 0 && self.work.stamped)?;
            self.work.wakes += 1;
            if self.shared.version.load(Ordering::Acquire) != self.version {
                self.change();
            }
        }
    }

    /// Takes what came in, and decides on it.
    fn read(&mut self) -> io::Result<usize> {
        let mut read = 0;
        let offset = wall_offset_ns();
        loop {
            let packet = match self.queues.next() {
                Ok(Some(packet)) => packet,
                Ok(None) => return Ok(read),
                Err(e) if e.raw_os_error() == Some(libc::ENOBUFS) => {
                    self.work.overrun += 1;
                    continue;
                }
                Err(e) => return Err(e),
            };
            read += 1;
            self.take(packet, offset)?;
        }
    }

    fn take(&mut self, packet: Packet, offset: i128) -> io::Result<()> {
        let Some(held) = self.held.get_mut(usize::from(packet.queue)) else {
            return self.queues.accept(packet.queue, packet.id);
        };
        let now = monotonic_ns();
        // A stamp of the wall clock on the monotonic one; a clock that was set in between cannot move it far.
        let came = packet.came_us.map(|us| i128::from(us) * 1_000 - offset);
        let came = came.and_then(|ns| u64::try_from(ns).ok()).unwrap_or(now);
        let came = came.clamp(now.saturating_sub(STALL_NS), now);
        self.work.stamped |= packet.came_us.is_some();
        let from = came.saturating_sub(self.pace.way);
        match held.carrier.carry(from, packet.bytes, packet.flow) {
            Fate::Lost => {
                held.carried.lost += 1;
                self.work.verdicts += 1;
                self.queues.drop(packet.queue, packet.id)
            }
            Fate::Due(due) => {
                let at = held.waiting.iter().rposition(|(d, _, _)| *d <= due);
                let at = at.map_or(0, |at| at + 1);
                held.mixed |= at < held.waiting.len();
                held.waiting.insert(at, (due, packet.id, packet.bytes));
                held.carried.held += 1;
                Ok(())
            }
        }
    }

    /// Lets go what is due; when the next is.
    fn release(&mut self, now: u64) -> io::Result<Option<u64>> {
        let mut next: Option<u64> = None;
        for (queue, held) in (0_u16..).zip(&mut self.held) {
            let mut last = None;
            while let Some(&(due, id, bytes)) = held.waiting.front() {
                if due > now + self.pace.together {
                    next = Some(next.map_or(due, |n| n.min(due)));
                    break;
                }
                held.waiting.pop_front();
                // Early is as wrong as late.
                self.work.late(now.abs_diff(due) / 1_000);
                held.carried.packets += 1;
                held.carried.bytes += u64::from(bytes);
                held.carried.held -= 1;
                if held.mixed {
                    self.work.verdicts += 1;
                    self.queues.accept(queue, id)?;
                } else {
                    last = Some(id);
                }
            }
            if let Some(id) = last {
                self.work.verdicts += 1;
                self.queues.accept_up_to(queue, id)?;
            }
            held.mixed &= !held.waiting.is_empty();
        }
        Ok(next)
    }

    /// Until something is due or comes in; while packets come, until enough of them may have.
    fn sleep(&mut self, next: Option<u64>, collect: bool) -> io::Result<()> {
        let now = monotonic_ns();
        let nap = next.map(|next| self.pace.nap(next.saturating_sub(now)));
        let interrupted = |done: rustix::io::Result<usize>| match done {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(e) => Err(e.into()),
        };
        if collect && self.pace.collect > 0 {
            let nap = nap.map(|(nap, _)| nap).unwrap_or(self.pace.collect);
            return interrupted(poll(&mut [], time(nap.min(self.pace.collect)).as_ref()));
        }
        let mut both = [
            PollFd::from_borrowed_fd(self.queues.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.shared.wake.as_fd(), PollFlags::IN),
        ];
        let done = poll(&mut both, nap.and_then(|(nap, _)| time(nap)).as_ref());
        if let (Ok(0), Some((nap, true))) = (done, nap) {
            self.pace.woke(now + nap, monotonic_ns());
        }
        interrupted(done)
    }

    /// The pace of the links as they are.
    fn paced(&self) -> Pace {
        let links = self.held.iter().map(|held| held.carrier.link());
        let open = links.filter(|link| !link.cut);
        Pace::of(open.map(|link| link.delay_us * 1_000).min())
    }

    fn change(&mut self) {
        let mut count = [0; 8];
        let _nothing_to_read = rustix::io::read(&self.shared.wake, &mut count);
        self.version = self.shared.version.load(Ordering::Acquire);
        for (queue, link) in (0_u16..).zip(self.shared.links()) {
            if let Some(held) = self.held.get_mut(usize::from(queue)) {
                held.carrier.change(link);
            }
            self.segment(queue, link);
        }
        self.pace = self.paced();
    }

    /// Packets are handed over uncut where all are only delayed: bulk then costs one decision for up to 64 KB.
    fn segment(&self, queue: u16, link: Link) {
        let _as_it_was = self.queues.whole(queue, !link.wants_single_packets());
    }

    fn publish(&mut self) {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        self.work.cpu_us = nanos(time) / 1_000;
        *self
            .shared
            .work
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = self.work.clone();
        let mut carried = self
            .shared
            .carried
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for (to, held) in carried.iter_mut().zip(&self.held) {
            *to = held.carried;
        }
    }
}

/// A socket that needs stamps: while there is one, the kernel stamps every packet that comes in.
pub(super) fn stamps() -> Option<OwnedFd> {
    let socket = std::net::UdpSocket::bind((std::net::Ipv4Addr::LOCALHOST, 0)).ok()?;
    let on: libc::c_int = 1;
    let length = libc::socklen_t::try_from(std::mem::size_of_val(&on)).ok()?;
    // SAFETY: the option is a whole number of the length that is passed, and the socket is open.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMP,
            (&raw const on).cast(),
            length,
        )
    };
    (done == 0).then(|| socket.into())
}

/// Asks to run before ordinary processes: on a busy machine a wake is otherwise late by milliseconds.
fn before_others() -> bool {
    // SAFETY: the structure is whole, and the call changes only this thread's scheduling.
    unsafe {
        let mut parameters: libc::sched_param = std::mem::zeroed();
        parameters.sched_priority = 10;
        libc::sched_setscheduler(0, libc::SCHED_RR, &raw const parameters) == 0
    }
}

pub(super) fn time(nanos: u64) -> Option<Timespec> {
    i64::try_from(nanos).ok().map(|nanos| Timespec {
        tv_sec: nanos / 1_000_000_000,
        tv_nsec: nanos % 1_000_000_000,
    })
}

/// The wall clock less the monotonic one.
fn wall_offset_ns() -> i128 {
    i128::from(nanos(clock_gettime(ClockId::Realtime))) - i128::from(monotonic_ns())
}

pub(super) fn monotonic_ns() -> u64 {
    nanos(clock_gettime(ClockId::Monotonic))
}

pub(super) fn nanos(time: Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}
