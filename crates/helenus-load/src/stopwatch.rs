//! THE STATE MACHINE of measuring: what is due, which slot takes it, and what its times are.
//! Refuses clocks and waiting: time comes in as a number, so tests run on virtual time.
//!
//! **Invariant:** response = slot wait + lateness + service, for every operation with an intended start.

use helenus_model::run_plan::{Extent, Phase};
use helenus_model::sample::{Outcome, Stretch};
use helenus_model::schedule::{Process, Schedule};
use helenus_model::seed::Seed;
use std::collections::VecDeque;
use std::ops::Range;

/// Schedule, slots and operations in flight of one phase. All times are nanoseconds on one clock.
#[derive(Debug)]
pub struct Stopwatch {
    pace: Pace,
    origin_ns: u64,
    /// Free slots and since when, the longest free first.
    free: VecDeque<(usize, u64)>,
    running: Vec<Option<Start>>,
    in_flight: usize,
    next: u64,
    offered: u64,
    counts: Counts,
    over: bool,
    /// Operations that there are to start at all.
    most: u64,
    /// Where the phase was ended before its time: nothing is offered from then on.
    ended_at_ns: Option<u64>,
}

#[derive(Debug)]
enum Pace {
    Open {
        schedule: Schedule,
        warmup: u64,
        /// When the measurement window starts, after the origin.
        from_ns: u64,
    },
    Closed {
        warmup_ns: u64,
        limit: Limit,
    },
}

#[derive(Debug)]
enum Limit {
    Until(u64),
    Operations { wanted: u64, begun: u64 },
}

/// How many operations were offered, started and how they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Offered by the schedule (in a closed loop: started).
    pub offered: u64,
    /// Started.
    pub started: u64,
    /// Ended well.
    pub completed: u64,
    /// Ended badly.
    pub failed: u64,
}

/// An operation that is to start now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// Its index in the phase.
    pub index: u64,
    /// The slot it takes.
    pub slot: usize,
    /// Whether it counts.
    pub stretch: Stretch,
    /// When it was meant to start; none in a closed loop.
    pub intended_ns: Option<u64>,
    /// Since when the slot was free.
    pub slot_free_ns: u64,
    /// When it started: when it was handed out, until [`Stopwatch::begin`] says better.
    pub start_ns: u64,
}

/// The times of an operation that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Its index in the phase.
    pub index: u64,
    /// Whether it counts.
    pub stretch: Stretch,
    /// Start to end.
    pub service_ns: u64,
    /// Intended start to end; none in a closed loop.
    pub response_ns: Option<u64>,
    /// Start − max(intended start, slot free): the generator's own delay.
    pub lateness_ns: u64,
    /// max(0, slot free − intended start); none in a closed loop.
    pub slot_wait_ns: Option<u64>,
}

/// When to look again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// At this time.
    At(u64),
    /// When an operation completes: every slot is taken.
    Completion,
    /// Never: nothing will start any more.
    Over,
}

impl Stopwatch {
    /// The stopwatch of a phase that starts at `origin_ns`, with its random numbers from `root`.
    pub fn new(phase: &Phase, root: Seed, origin_ns: u64) -> Self {
        let pace = match phase.schedule(root) {
            Some(schedule) => Pace::Open {
                from_ns: schedule.measured_from_ns(),
                schedule,
                warmup: phase.warmup_operations(),
            },
            None => {
                let warmup_ns = phase.warmup_ms * 1_000_000;
                let limit = match phase.extent {
                    Extent::DurationMs(ms) => Limit::Until(warmup_ns + ms * 1_000_000),
                    Extent::Count(wanted) => Limit::Operations { wanted, begun: 0 },
                    Extent::Until(target) => {
                        Limit::Until(warmup_ns + u64::from(target.most) * 1_000_000_000)
                    }
                };
                Pace::Closed { warmup_ns, limit }
            }
        };
        let slots = usize::try_from(phase.in_flight).unwrap_or(usize::MAX);
        Self {
            pace,
            origin_ns,
            free: (0..slots).map(|slot| (slot, origin_ns)).collect(),
            running: vec![None; slots],
            in_flight: 0,
            next: 0,
            offered: 0,
            counts: Counts::default(),
            over: false,
            most: u64::MAX,
            ended_at_ns: None,
        }
    }

    /// There are only so many operations to start, of all processes together; with the last of them the phase ends.
    pub fn at_most(mut self, operations: u64) -> Self {
        self.most = operations;
        self.over = operations == 0;
        if let Pace::Open {
            schedule,
            warmup,
            from_ns,
        } = self.pace
        {
            let schedule = schedule.at_most(operations);
            self.pace = Pace::Open {
                from_ns: match warmup > operations {
                    true => schedule.measured_from_ns(),
                    false => from_ns,
                },
                warmup: warmup.min(operations),
                schedule,
            };
        }
        self
    }

    /// The stopwatch of one of several processes: of what the phase does, only its own operations, each at its time.
    #[must_use]
    pub fn of_process(mut self, process: Process) -> Self {
        if self.most < u64::MAX {
            self.most = process.part(self.most);
        }
        self.over |= self.most == 0;
        match self.pace {
            Pace::Open {
                schedule,
                warmup,
                from_ns,
            } => {
                let schedule = schedule.of_process(process);
                self.over |= schedule.total() == 0;
                self.pace = Pace::Open {
                    schedule,
                    warmup: process.part(warmup),
                    from_ns,
                };
            }
            Pace::Closed {
                limit: Limit::Operations { ref mut wanted, .. },
                ..
            } => *wanted = process.part(*wanted),
            Pace::Closed { .. } => {}
        }
        self
    }

    /// Where the measurement window starts.
    pub fn measured_from_ns(&self) -> u64 {
        self.origin_ns
            + match &self.pace {
                Pace::Open { from_ns, .. } => *from_ns,
                Pace::Closed { warmup_ns, .. } => *warmup_ns,
            }
    }

    /// Where the measurement window ends; none when it ends with its last operation.
    pub fn measured_to_ns(&self) -> Option<u64> {
        if self.ended_at_ns.is_some() {
            return self.ended_at_ns;
        }
        match &self.pace {
            Pace::Open { schedule, .. } => Some(self.origin_ns + schedule.end_ns()),
            Pace::Closed { limit, .. } => match limit {
                Limit::Until(end) => Some(self.origin_ns + end),
                Limit::Operations { .. } => None,
            },
        }
    }

    /// The next operation to start at `now_ns`, or none. Call until none.
    pub fn start_due(&mut self, now_ns: u64) -> Option<Start> {
        if self.over || self.free.is_empty() {
            return None;
        }
        let (stretch, intended_ns) = self.due(now_ns)?;
        let (slot, slot_free_ns) = self.free.pop_front()?;
        let start = Start {
            index: self.next,
            slot,
            stretch,
            intended_ns,
            slot_free_ns,
            start_ns: now_ns,
        };
        self.next += 1;
        self.in_flight += 1;
        self.counts.started += 1;
        self.running[slot] = Some(start);
        match &self.pace {
            Pace::Open { schedule, .. } => self.over = self.next >= schedule.total(),
            Pace::Closed { .. } if self.next >= self.most => self.end_at(now_ns),
            Pace::Closed { .. } => {}
        }
        Some(start)
    }

    /// Whether the next operation is due: its stretch and intended start.
    fn due(&mut self, now_ns: u64) -> Option<(Stretch, Option<u64>)> {
        let (origin, next) = (self.origin_ns, self.next);
        match &mut self.pace {
            Pace::Open {
                schedule, warmup, ..
            } => {
                let intended = origin + schedule.intended_ns(next);
                (intended <= now_ns).then_some((stretch_of(next < *warmup), Some(intended)))
            }
            Pace::Closed { warmup_ns, limit } => {
                let stretch = stretch_of(now_ns < origin + *warmup_ns);
                match limit {
                    Limit::Until(end) if now_ns >= origin + *end => {
                        self.over = true;
                        return None;
                    }
                    Limit::Operations { wanted, begun } if stretch == Stretch::Measured => {
                        *begun += 1;
                        self.over = *begun >= *wanted;
                    }
                    _ => {}
                }
                Some((stretch, None))
            }
        }
    }

    /// Sets the true start of the operation in `slot`: the moment just before it was sent.
    pub fn begin(&mut self, slot: usize, at_ns: u64) {
        if let Some(start) = &mut self.running[slot] {
            start.start_ns = at_ns.max(start.start_ns);
        }
    }

    /// The operation in `slot` ended: its times, and the slot is free again. None when the slot was free already.
    pub fn complete(&mut self, slot: usize, at_ns: u64, outcome: Outcome) -> Option<Timing> {
        let start = self.running[slot].take()?;
        self.in_flight -= 1;
        self.free.push_back((slot, at_ns));
        match outcome {
            Outcome::Completed => self.counts.completed += 1,
            Outcome::Failed(_) => self.counts.failed += 1,
        }
        let ready = start.intended_ns.unwrap_or(0).max(start.slot_free_ns);
        Some(Timing {
            index: start.index,
            stretch: start.stretch,
            service_ns: at_ns.saturating_sub(start.start_ns),
            response_ns: start.intended_ns.map(|at| at_ns.saturating_sub(at)),
            lateness_ns: start.start_ns.saturating_sub(ready),
            slot_wait_ns: start
                .intended_ns
                .map(|at| start.slot_free_ns.saturating_sub(at)),
        })
    }

    /// The operations offered up to `now_ns` that no earlier call has returned, by index: those that started, and at most
    /// so many others. What is more is left to the next call.
    pub fn newly_offered(&mut self, now_ns: u64, most: u64) -> Range<u64> {
        let from = self.offered;
        let until = from.saturating_add(most);
        let now_ns = now_ns.min(self.ended_at_ns.unwrap_or(now_ns));
        match &mut self.pace {
            Pace::Open { schedule, .. } => {
                while self.offered < schedule.total().min(until)
                    && self.origin_ns + schedule.intended_ns(self.offered) <= now_ns
                {
                    self.offered += 1;
                }
                // What started was offered, whatever the clock of the caller says.
                self.offered = self.offered.max(self.next);
            }
            Pace::Closed { .. } => self.offered = self.next,
        }
        self.counts.offered = self.offered;
        from..self.offered
    }

    /// Whether operation `index` counts. In a closed loop only the start itself knows.
    pub fn stretch(&self, index: u64) -> Stretch {
        match &self.pace {
            Pace::Open { warmup, .. } => stretch_of(index < *warmup),
            Pace::Closed { .. } => Stretch::Measured,
        }
    }

    /// True in a closed loop, where what starts is what is offered.
    pub fn is_closed(&self) -> bool {
        matches!(self.pace, Pace::Closed { .. })
    }

    /// Operations offered up to `now_ns` but not started.
    pub fn backlog(&mut self, now_ns: u64) -> u64 {
        match &mut self.pace {
            Pace::Closed { .. } => 0,
            Pace::Open { schedule, .. } => {
                // Intended starts never decrease: a binary search finds the first one later than now.
                let (mut low, mut high) = (self.next, schedule.total());
                while low < high {
                    let middle = low + (high - low) / 2;
                    if self.origin_ns + schedule.intended_ns(middle) <= now_ns {
                        low = middle + 1;
                    } else {
                        high = middle;
                    }
                }
                low - self.next
            }
        }
    }

    /// When to look again, as far as starts are concerned.
    pub fn next_wake(&mut self) -> Wake {
        if self.over {
            return Wake::Over;
        }
        if self.free.is_empty() {
            return Wake::Completion;
        }
        match &mut self.pace {
            Pace::Open { schedule, .. } => {
                Wake::At(self.origin_ns + schedule.intended_ns(self.next))
            }
            Pace::Closed { .. } => Wake::At(self.origin_ns),
        }
    }

    /// The phase ends here, before its time: all that it was to do is done.
    pub fn end_at(&mut self, now_ns: u64) {
        self.over = true;
        self.ended_at_ns.get_or_insert(now_ns);
    }

    /// The number of the operation that starts next.
    pub fn next_index(&self) -> u64 {
        self.next
    }

    /// Nothing starts any more.
    pub fn stop(&mut self) {
        self.over = true;
    }

    /// True when nothing will start any more and nothing is in flight.
    pub fn is_done(&self) -> bool {
        self.over && self.in_flight == 0
    }

    /// Operations in flight.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// The counts so far; `offered` as of the last [`Self::newly_offered`].
    pub fn counts(&self) -> Counts {
        self.counts
    }
}

fn stretch_of(warmup: bool) -> Stretch {
    if warmup {
        Stretch::Warmup
    } else {
        Stretch::Measured
    }
}

#[cfg(test)]
#[path = "stopwatch_tests.rs"]
mod tests;
