//! Lines of a generator on another machine, on the clock of whoever reads them.
//! Refuses to look at a clock: what was read is given.

use super::{SampleLine, SlowOperation};

impl SampleLine {
    /// The same on a monotonic clock that is ahead of this line's by so many nanoseconds: what a generator on another
    /// machine says, on the reader's clock. Durations and the wall clock stay.
    #[must_use]
    pub fn shifted(mut self, by_ns: i64) -> Self {
        let shift = |at: &mut u64| *at = at.saturating_add_signed(by_ns);
        match &mut self {
            Self::Header(header) => shift(&mut header.monotonic_ns),
            Self::Interval(interval) => {
                shift(&mut interval.start_ns);
                shift(&mut interval.end_ns);
                let traced = interval.traced.iter_mut().map(|one| &mut one.operation);
                let all = interval.slowest.iter_mut().chain(traced);
                all.flat_map(SlowOperation::times_mut).for_each(shift);
            }
            Self::PhaseEnd(end) => {
                shift(&mut end.measured_from_ns);
                shift(&mut end.measured_to_ns);
                shift(&mut end.ended_ns);
            }
            Self::Footer(footer) => shift(&mut footer.monotonic_ns),
            Self::Mark(_) | Self::Failure(_) => {}
        }
        self
    }
}

/// What differs less is the time between two looks at the clocks.
const SAME_CLOCK_NS: i64 = 1_000_000;

/// By how much a monotonic clock is ahead of another machine's, in nanoseconds: each is given with the wall clock beside
/// it, which both have alike.
pub fn clock_shift(own: (u64, u64), other: (u64, u64)) -> i64 {
    let beside =
        |(monotonic_ns, wall_ns): (u64, u64)| i128::from(wall_ns) - i128::from(monotonic_ns);
    let apart = beside(other) - beside(own);
    let apart = i64::try_from(apart).unwrap_or_default();
    match apart.abs() < SAME_CLOCK_NS {
        true => 0,
        false => apart,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Header, Interval, StartMeans, Stretch, VERSION};
    use super::*;
    use crate::format::Format;
    use crate::run_plan::Pacing;
    use std::collections::BTreeMap;

    #[test]
    fn another_machine_s_moments_come_onto_our_clock() {
        let header = |monotonic_ns, wall_ns| Header {
            format: Format::new("sample", VERSION),
            plan_hash: String::new(),
            monotonic_ns,
            wall_ns,
            start_means: StartMeans::DriverCall,
            pacing: Pacing::Sleep,
            timer_resolution_ns: 1,
            pid: 1,
            cpus: vec![],
            beside: vec![],
            unchecked: vec![],
        };
        const WALL: u64 = 1_700_000_000_000_000_000;
        // Up for 100 s there and for 5,000 s here, read 2 s later.
        let theirs = header(100_000_000_000, WALL);
        let ours = (5_002_000_000_000, WALL + 2_000_000_000);
        let shift = clock_shift(ours, (theirs.monotonic_ns, theirs.wall_ns));
        assert_eq!(shift, 4_900_000_000_000);
        let back = clock_shift((100_000_000_000, WALL), ours);
        assert_eq!(back, -shift);
        // The same clock, whose two readings are a little apart.
        assert_eq!(clock_shift((7_000_100, WALL + 7_000_000), (0, WALL)), 0);
        let interval = |from_s: u64, to_s: u64| Interval {
            phase: 0,
            stretch: Stretch::Measured,
            start_ns: from_s * 1_000_000_000,
            end_ns: to_s * 1_000_000_000,
            thread_cpu_ns: 9,
            operations: BTreeMap::new(),
            tenths: vec![],
            slowest: vec![SlowOperation {
                operation: String::new(),
                intended_ns: Some(from_s * 1_000_000_000),
                start_ns: from_s * 1_000_000_000,
                end_ns: to_s * 1_000_000_000,
                lateness_ns: 3,
                coordinator: None,
                connection: None,
                stream: None,
            }],
            traced: vec![],
            coordinators: BTreeMap::new(),
        };
        let line = SampleLine::Interval(interval(101, 102));
        let SampleLine::Interval(shifted) = line.shifted(shift) else {
            panic!("an interval");
        };
        assert_eq!(shifted, interval(5_001, 5_002));
        let SampleLine::Header(shifted) = SampleLine::Header(theirs).shifted(shift) else {
            panic!("a header");
        };
        assert_eq!(
            (shifted.monotonic_ns, shifted.wall_ns),
            (5_000_000_000_000, WALL)
        );
    }
}
