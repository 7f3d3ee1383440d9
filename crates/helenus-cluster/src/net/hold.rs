//! What a network's links are held by, as the keeper sees it: changed, and asked what it did.
//! Refuses to know which of them it is.

use helenus_model::distance::Lateness;
use helenus_model::topology::link::Link;
use serde::{Deserialize, Serialize};
use std::io;

/// What went over one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Carried {
    /// Packets let go.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets lost as the link is set.
    pub lost: u64,
    /// Packets under way now.
    pub held: u64,
}

/// What was done so far.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Work {
    /// Time on a processor in microseconds; what the kernel does by itself is not in it.
    pub cpu_us: u64,
    /// Time since it started, in microseconds.
    pub up_us: u64,
    /// By how much packets were late.
    pub lateness: Lateness,
    /// How often it woke.
    pub wakes: u64,
    /// Verdicts, each for one packet or many.
    pub verdicts: u64,
    /// Packets whose lateness is known: all that were let go, or the probes among them.
    pub packets: u64,
    /// By how much they were late in all, in microseconds.
    pub late_us: u64,
    /// The latest of them, in microseconds.
    pub latest_us: u64,
    /// Packets that were late by more than a millisecond.
    pub late_1ms: u64,
    /// Times at which the kernel could not hand over all that came.
    pub overrun: u64,
    /// Whether the kernel stamps what comes in.
    pub stamped: bool,
    /// Whether it runs before ordinary processes.
    pub realtime: bool,
}

impl Work {
    /// Counts a packet that was so late.
    pub(super) fn late(&mut self, late_us: u64) {
        self.packets += 1;
        self.late_us += late_us;
        self.lateness.add(late_us);
        self.latest_us = self.latest_us.max(late_us);
        self.late_1ms += u64::from(late_us > 1_000);
    }
}

/// Whoever holds packets; asked by threads that stand in the router.
pub(super) trait Holder: Send + Sync {
    /// The links as they are, in the plan's order.
    fn links(&self) -> Vec<Link>;

    /// Changes one of them; what is under way arrives as it would have.
    ///
    /// # Errors
    /// The kernel refuses.
    fn change(&self, place: usize, link: Link) -> io::Result<()>;

    /// What was done so far, and what each link carried.
    fn counters(&self) -> (Work, Vec<Carried>);
}
