//! The recorder of one phase: counts and histograms of the current interval, handed on at each rotation.
//! Refuses arithmetic on histograms; recording is a handful of additions.

use crate::endpoint::Over;
use crate::stopwatch::Timing;
use helenus_model::cql::uuid_text;
use helenus_model::sample::{
    CoordinatorInterval, FailureKind, Interval, OperationInterval, Outcome, SLOWEST_KEPT,
    SampleLine, SlowOperation, Stretch, TENTH_NS, Tenth, TracedOperation,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What is known of an operation that ended, beside its times.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Facts {
    /// When its answer was here, in nanoseconds.
    pub(crate) end_ns: u64,
    /// Partitions that it touched, and rows that it wrote or read.
    pub(crate) touched: (u32, u32),
    /// What its answer came over.
    pub(crate) over: Option<Over>,
}

/// One of the slowest operations of the interval, without its names.
#[derive(Debug, Clone, Copy)]
struct Slow {
    operation: usize,
    timing: Timing,
    end_ns: u64,
    over: Option<Over>,
}

impl Slow {
    fn time_ns(&self) -> u64 {
        self.timing.response_ns.unwrap_or(self.timing.service_ns)
    }
}

impl Slow {
    /// With the operation's and its coordinator's names.
    fn named(self, names: &[String], address: &dyn Fn(u32) -> Option<String>) -> SlowOperation {
        SlowOperation {
            operation: names[self.operation].clone(),
            intended_ns: self
                .timing
                .response_ns
                .map(|ns| self.end_ns.saturating_sub(ns)),
            start_ns: self.end_ns.saturating_sub(self.timing.service_ns),
            end_ns: self.end_ns,
            lateness_ns: self.timing.lateness_ns,
            coordinator: self.over.and_then(|over| address(over.coordinator)),
            connection: self.over.map(|over| over.connection),
            stream: self.over.map(|over| over.stream),
        }
    }
}

/// The slowest operations of the interval that completed: as many as are kept, in no order.
#[derive(Debug, Default)]
struct Slowest {
    kept: Vec<Slow>,
    /// The shortest time among them, in nanoseconds, once there are as many as are kept: what is not longer is none of
    /// the slowest.
    shortest_ns: u64,
}

impl Slowest {
    fn see(&mut self, slow: Slow) {
        if slow.time_ns() <= self.shortest_ns {
            return;
        }
        if self.kept.len() < SLOWEST_KEPT {
            self.kept.push(slow);
        } else if let Some(shortest) = self.kept.iter_mut().min_by_key(|one| one.time_ns()) {
            *shortest = slow;
        }
        if self.kept.len() == SLOWEST_KEPT {
            let times = self.kept.iter().map(Slow::time_ns);
            self.shortest_ns = times.min().unwrap_or_default();
        }
    }

    /// What was kept, the slowest first; nothing is kept from now on.
    fn take(
        &mut self,
        names: &[String],
        address: &dyn Fn(u32) -> Option<String>,
    ) -> Vec<SlowOperation> {
        self.shortest_ns = 0;
        self.kept.sort_by_key(|one| Reverse(one.time_ns()));
        let named = |slow: Slow| slow.named(names, address);
        self.kept.drain(..).map(named).collect()
    }
}

/// When intervals end: on whole intervals from the start of the measurement window, and on both of its borders.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rotations {
    pub(crate) interval_ns: u64,
    /// Start of the measurement window; the first interval that ends here ends the warm-up.
    pub(crate) measured_from_ns: u64,
}

impl Rotations {
    /// The first after `now_ns`; the window ends at `measured_to_ns`, where that is known beforehand.
    pub(crate) fn after(self, now_ns: u64, measured_to_ns: Option<u64>) -> u64 {
        if now_ns < self.measured_from_ns {
            return (now_ns + self.interval_ns).min(self.measured_from_ns);
        }
        let passed = (now_ns - self.measured_from_ns) / self.interval_ns;
        let whole = self.measured_from_ns + (passed + 1) * self.interval_ns;
        match measured_to_ns {
            Some(end_ns) if end_ns > now_ns => whole.min(end_ns),
            _ => whole,
        }
    }
}

/// Recordings of the current interval.
#[derive(Debug)]
pub(crate) struct Recorder {
    phase: usize,
    names: Vec<String>,
    warmup: Vec<OperationInterval>,
    measured: Vec<OperationInterval>,
    /// Of the warm-up and of the measurement window.
    slowest: [Slowest; 2],
    /// Of the measurement window, those that were traced.
    traced: Vec<(Slow, [u8; 16])>,
    /// By coordinator's place, of the measurement window, from the first answer of a second one on.
    coordinators: Vec<CoordinatorInterval>,
    /// Failures that the only coordinator has answered, until there is a second one.
    failed_alone: u64,
    from_ns: u64,
    tenths: Vec<Tenth>,
    first_failures: BTreeMap<FailureKind, String>,
}

impl Recorder {
    /// The recorder of phase number `phase` with these operations, from `from_ns` on.
    pub(crate) fn new(phase: usize, names: Vec<String>, from_ns: u64) -> Self {
        let empty = vec![OperationInterval::default(); names.len()];
        Self {
            phase,
            names,
            warmup: empty.clone(),
            measured: empty,
            slowest: Default::default(),
            traced: Vec::new(),
            coordinators: Vec::new(),
            failed_alone: 0,
            from_ns,
            tenths: Vec::new(),
            first_failures: BTreeMap::new(),
        }
    }

    fn of(&mut self, stretch: Stretch, operation: usize) -> &mut OperationInterval {
        match stretch {
            Stretch::Warmup => &mut self.warmup[operation],
            Stretch::Measured => &mut self.measured[operation],
        }
    }

    /// An operation was offered.
    pub(crate) fn offered(&mut self, stretch: Stretch, operation: usize) {
        self.of(stretch, operation).offered += 1;
    }

    /// An operation started.
    pub(crate) fn started(&mut self, stretch: Stretch, operation: usize) {
        self.of(stretch, operation).started += 1;
    }

    /// An operation ended.
    pub(crate) fn ended(
        &mut self,
        operation: usize,
        timing: &Timing,
        outcome: Outcome,
        facts: &Facts,
    ) {
        let &Facts {
            end_ns,
            touched: (partitions, rows),
            over,
        } = facts;
        if outcome == Outcome::Completed {
            let slow = Slow {
                operation,
                timing: *timing,
                end_ns,
                over,
            };
            self.slowest[timing.stretch as usize].see(slow);
            let trace = over.and_then(|over| over.trace);
            self.traced.extend(trace.map(|id| (slow, id)));
        }
        if let Some(over) = over.filter(|_| timing.stretch == Stretch::Measured) {
            self.coordinated(over, timing, outcome);
        }
        let tenth = self.tenth(end_ns);
        tenth.ended += 1;
        tenth.service_sum_ns += timing.service_ns;
        tenth.completed += u64::from(outcome == Outcome::Completed);
        tenth.response_sum_ns += timing.response_ns.unwrap_or(0);
        let to = self.of(timing.stretch, operation);
        match outcome {
            Outcome::Completed => {
                to.completed += 1;
                to.partitions += u64::from(partitions);
                to.rows += u64::from(rows);
                to.service.record(timing.service_ns);
                if let Some(ns) = timing.response_ns {
                    to.response.record(ns);
                }
            }
            Outcome::Failed(kind) => *to.failed.entry(kind).or_default() += 1,
        }
        to.lateness.record(timing.lateness_ns);
        if let Some(ns) = timing.slot_wait_ns {
            to.slot_wait.record(ns);
            to.wait.record(ns + timing.lateness_ns);
        }
    }

    /// Counts an operation of the measurement window for its coordinator. What the only one answers is not recorded twice;
    /// a second one may join at any moment.
    fn coordinated(&mut self, over: Over, timing: &Timing, outcome: Outcome) {
        let place = over.coordinator as usize;
        if self.coordinators.is_empty() {
            if place == 0 {
                self.failed_alone += u64::from(outcome != Outcome::Completed);
                return;
            }
            self.coordinators = vec![self.alone()];
        }
        if place >= self.coordinators.len() {
            let one = CoordinatorInterval::default();
            self.coordinators.resize(place + 1, one);
        }
        let one = &mut self.coordinators[place];
        match outcome {
            Outcome::Completed => one.service.record(timing.service_ns),
            Outcome::Failed(_) => one.failed += 1,
        }
    }

    /// What the only coordinator answered in this interval: everything.
    fn alone(&mut self) -> CoordinatorInterval {
        let mut all = CoordinatorInterval {
            failed: std::mem::take(&mut self.failed_alone),
            ..CoordinatorInterval::default()
        };
        let each = self.measured.iter();
        each.for_each(|one| all.service.merge(&one.service));
        all
    }

    /// The tenth of a second that `at_ns` lies in; what ended before the interval (it is recorded late) counts in
    /// its first.
    fn tenth(&mut self, at_ns: u64) -> &mut Tenth {
        let place = at_ns.saturating_sub(self.from_ns) / TENTH_NS;
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        if place >= self.tenths.len() {
            self.tenths.resize(place + 1, Tenth::default());
        }
        &mut self.tenths[place]
    }

    /// Keeps the text of the first failure of each kind.
    pub(crate) fn explain(&mut self, kind: FailureKind, message: String) {
        self.first_failures.entry(kind).or_insert(message);
    }

    /// The texts kept by [`Self::explain`].
    pub(crate) fn first_failures(&mut self) -> BTreeMap<FailureKind, String> {
        std::mem::take(&mut self.first_failures)
    }

    /// Ends the interval: its lines, the current stretch's always, the other's if anything happened in it. `address`
    /// has the coordinators' addresses by their places.
    pub(crate) fn rotate(
        &mut self,
        now_ns: u64,
        (current, thread_cpu_ns): (Stretch, u64),
        address: &dyn Fn(u32) -> Option<String>,
    ) -> Vec<SampleLine> {
        let from_ns = std::mem::replace(&mut self.from_ns, now_ns);
        let coordinators = match self.coordinators.is_empty() {
            true => vec![self.alone()],
            // Their number says that there are several.
            false => {
                let none = vec![CoordinatorInterval::default(); self.coordinators.len()];
                std::mem::replace(&mut self.coordinators, none)
            }
        };
        let traced = std::mem::take(&mut self.traced).into_iter();
        let mut traced = traced.map(|(slow, id)| TracedOperation {
            session: uuid_text(&id),
            operation: slow.named(&self.names, address),
        });
        let mut tenths = std::mem::take(&mut self.tenths);
        let mut by_address: BTreeMap<String, CoordinatorInterval> = BTreeMap::new();
        for (one, place) in coordinators.iter().zip(0..) {
            let answered = one.failed > 0 || !one.service.is_empty();
            if let Some(address) = address(place).filter(|_| answered) {
                // One that took another's place may have its address.
                by_address.entry(address).or_default().merge(one);
            }
        }
        [Stretch::Warmup, Stretch::Measured]
            .into_iter()
            .filter_map(|stretch| {
                let all = match stretch {
                    Stretch::Warmup => &mut self.warmup,
                    Stretch::Measured => &mut self.measured,
                };
                let is_current = stretch == current;
                if !is_current && all.iter().all(OperationInterval::is_empty) {
                    return None;
                }
                let recorded =
                    std::mem::replace(all, vec![OperationInterval::default(); all.len()]);
                Some(SampleLine::Interval(Interval {
                    phase: self.phase,
                    stretch,
                    start_ns: from_ns,
                    end_ns: now_ns,
                    thread_cpu_ns: if is_current { thread_cpu_ns } else { 0 },
                    operations: self.names.iter().cloned().zip(recorded).collect(),
                    tenths: if is_current {
                        std::mem::take(&mut tenths)
                    } else {
                        Vec::new()
                    },
                    slowest: self.slowest[stretch as usize].take(&self.names, address),
                    traced: match stretch {
                        Stretch::Warmup => Vec::new(),
                        Stretch::Measured => traced.by_ref().collect(),
                    },
                    coordinators: match stretch {
                        Stretch::Warmup => BTreeMap::new(),
                        Stretch::Measured => std::mem::take(&mut by_address),
                    },
                }))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_operations_that_completed() {
        let mut recorder = Recorder::new(0, vec!["read".to_owned()], 0);
        let timing = |service_ns| Timing {
            index: 0,
            stretch: Stretch::Measured,
            service_ns,
            response_ns: Some(2 * service_ns),
            lateness_ns: 5,
            slot_wait_ns: Some(0),
        };
        let at = |end_ns| Facts {
            end_ns,
            touched: (1, 1),
            over: None,
        };
        recorder.ended(0, &timing(1000), Outcome::Completed, &at(10_000));
        let late = Outcome::Failed(FailureKind::ClientTimeout);
        recorder.ended(0, &timing(9_000_000), late, &at(20_000_000));
        let lines = recorder.rotate(100, (Stretch::Measured, 0), &|_| None);
        let SampleLine::Interval(interval) = &lines[0] else {
            panic!("{lines:?}");
        };
        let read = &interval.operations["read"];
        assert_eq!((read.completed, read.failures()), (1, 1));
        assert_eq!((read.service.count(), read.response.count()), (1, 1));
        assert_eq!(read.lateness.count(), 2);
        assert_eq!(interval.slowest.len(), 1);
    }

    #[test]
    fn the_slowest_of_each_interval_are_kept_with_their_way() {
        let mut recorder = Recorder::new(0, vec!["read".to_owned()], 0);
        let mut interval = |services: &[u64]| {
            for (number, service_ns) in (1..).zip(services) {
                let timing = Timing {
                    index: number,
                    stretch: Stretch::Measured,
                    service_ns: *service_ns,
                    response_ns: Some(service_ns + 5),
                    lateness_ns: 5,
                    slot_wait_ns: Some(0),
                };
                let facts = Facts {
                    end_ns: 1_000_000 + number,
                    touched: (1, 1),
                    over: Some(Over {
                        coordinator: (number % 2) as u32,
                        connection: 3,
                        stream: 9,
                        trace: (number == 3).then_some([7; 16]),
                    }),
                };
                recorder.ended(0, &timing, Outcome::Completed, &facts);
            }
            let address = |place| Some(format!("node {place}"));
            let mut lines = recorder.rotate(2_000_000, (Stretch::Measured, 0), &address);
            let Some(SampleLine::Interval(interval)) = lines.pop() else {
                panic!("{lines:?}");
            };
            interval
        };
        // Each of 1 to 1,000, in an order that is neither up nor down.
        let mixed: Vec<u64> = (1..=1000).map(|k| k * 7 % 1009 % 1001).collect();
        let mut sorted = mixed.clone();
        sorted.sort_unstable_by_key(|ns| Reverse(*ns));
        let first = interval(&mixed);
        let kept: Vec<u64> = first.slowest.iter().map(|one| one.time_ns() - 5).collect();
        assert_eq!(kept, sorted[..SLOWEST_KEPT]);
        let slowest = &first.slowest[0];
        assert_eq!(
            slowest.intended_ns.map(|ns| ns + 5),
            Some(slowest.start_ns),
            "{slowest:?}"
        );
        assert_eq!((slowest.connection, slowest.stream), (Some(3), Some(9)));
        assert_eq!(
            slowest.start_ns + slowest.time_ns() - 5,
            slowest.end_ns,
            "{slowest:?}"
        );
        let by: Vec<u64> = first
            .coordinators
            .values()
            .map(|c| c.service.count())
            .collect();
        assert_eq!(by, [500, 500]);
        let traced: Vec<_> = first
            .traced
            .iter()
            .map(|one| (one.session.as_str(), one.operation.time_ns()))
            .collect();
        assert_eq!(
            traced,
            [("07070707-0707-0707-0707-070707070707", mixed[2] + 5)]
        );
        // The next interval starts with none, however fast its operations are.
        let next = interval(&[3, 4]);
        let kept: Vec<u64> = next.slowest.iter().map(|one| one.time_ns() - 5).collect();
        assert_eq!(kept, [4, 3]);
    }

    #[test]
    fn a_coordinator_that_joins_has_its_times_and_the_first_keeps_its_own() {
        let mut recorder = Recorder::new(0, vec!["read".to_owned(), "write".to_owned()], 0);
        let mut interval = |coordinators: &[u32]| {
            for (number, coordinator) in (0..).zip(coordinators) {
                let timing = Timing {
                    index: number,
                    stretch: Stretch::Measured,
                    service_ns: 1000,
                    response_ns: None,
                    lateness_ns: 0,
                    slot_wait_ns: None,
                };
                let facts = Facts {
                    over: Some(Over {
                        coordinator: *coordinator,
                        connection: 0,
                        stream: 0,
                        trace: None,
                    }),
                    ..Facts::default()
                };
                let outcome = match number % 3 {
                    2 => Outcome::Failed(FailureKind::Overloaded),
                    _ => Outcome::Completed,
                };
                recorder.ended((number % 2) as usize, &timing, outcome, &facts);
            }
            let address = |place| Some(format!("node {place}"));
            let mut lines = recorder.rotate(2_000_000, (Stretch::Measured, 0), &address);
            let Some(SampleLine::Interval(interval)) = lines.pop() else {
                panic!("{lines:?}");
            };
            let each = interval.coordinators.into_iter();
            each.map(|(at, one)| (at, one.service.count(), one.failed))
                .collect::<Vec<_>>()
        };
        let node = |place: u32, completed, failed| (format!("node {place}"), completed, failed);
        assert_eq!(interval(&[0; 6]), [node(0, 4, 2)]);
        assert_eq!(
            interval(&[0, 0, 0, 1, 1, 0, 1]),
            [node(0, 2, 2), node(1, 3, 0)]
        );
        assert_eq!(interval(&[1; 3]), [node(1, 2, 1)]);
        assert_eq!(interval(&[0; 3]), [node(0, 2, 1)]);
    }
}
