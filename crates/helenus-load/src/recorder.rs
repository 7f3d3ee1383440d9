//! The recorder of one phase: counts and histograms of the current interval, handed on at each rotation.
//! Refuses arithmetic on histograms; recording is a handful of additions.

use crate::stopwatch::Timing;
use helenus_model::sample::{
    FailureKind, Interval, OperationInterval, Outcome, SampleLine, Stretch, TENTH_NS, Tenth,
};
use std::collections::BTreeMap;

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

    /// An operation ended at `end_ns`.
    pub(crate) fn ended(
        &mut self,
        operation: usize,
        timing: &Timing,
        outcome: Outcome,
        end_ns: u64,
        (partitions, rows): (u32, u32),
    ) {
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

    /// Ends the interval: its lines, the current stretch's always, the other's if anything happened in it.
    pub(crate) fn rotate(
        &mut self,
        now_ns: u64,
        current: Stretch,
        thread_cpu_ns: u64,
    ) -> Vec<SampleLine> {
        let from_ns = std::mem::replace(&mut self.from_ns, now_ns);
        let mut tenths = std::mem::take(&mut self.tenths);
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
        recorder.ended(0, &timing(1000), Outcome::Completed, 10, (1, 1));
        let late = Outcome::Failed(FailureKind::ClientTimeout);
        recorder.ended(0, &timing(9_000_000), late, 20, (0, 0));
        let lines = recorder.rotate(100, Stretch::Measured, 0);
        let SampleLine::Interval(interval) = &lines[0] else {
            panic!("{lines:?}");
        };
        let read = &interval.operations["read"];
        assert_eq!((read.completed, read.failures()), (1, 1));
        assert_eq!((read.service.count(), read.response.count()), (1, 1));
        assert_eq!(read.lateness.count(), 2);
    }
}
