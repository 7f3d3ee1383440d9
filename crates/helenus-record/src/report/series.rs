//! Series: points over time from intervals and counters, and their thinning for the page.
//! Refuses to hide a peak: of each bucket the lowest and the highest point stay.

use helenus_model::histogram::Histogram;
use helenus_model::sample::{Interval, MeasuredFrom, OperationInterval, Stretch};

/// Seconds (or minutes) on the run's axis, and a value; none breaks the line.
pub(super) type Point = (f64, Option<f64>);

/// Buckets of a thinned series: one for two pixels of a wide chart's width.
const BUCKETS: usize = 500;

/// The axis of time: zero where measuring starts, after the first warm-up, as in every table of the run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    zero_ns: u64,
    begin_ns: u64,
    end_ns: u64,
    minutes: bool,
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds below 2^53")]
impl Clock {
    /// From the first interval's start to the last one's end; none without intervals.
    pub(super) fn of(intervals: &[Interval]) -> Option<Self> {
        let begin_ns = intervals.iter().map(|i| i.start_ns).min()?;
        let end_ns = intervals.iter().map(|i| i.end_ns).max()?;
        Some(Self {
            zero_ns: MeasuredFrom::of(intervals).unwrap_or(begin_ns),
            begin_ns,
            end_ns,
            minutes: end_ns.saturating_sub(begin_ns) > 600_000_000_000,
        })
    }

    /// A moment on the axis.
    pub(super) fn at(self, ns: u64) -> f64 {
        let seconds = (ns as f64 - self.zero_ns as f64) / 1e9;
        if self.minutes {
            seconds / 60.0
        } else {
            seconds
        }
    }

    /// Seconds as a length on the axis.
    pub(super) fn length(self, seconds: f64) -> f64 {
        if self.minutes {
            seconds / 60.0
        } else {
            seconds
        }
    }

    /// The axis' beginning: below zero where there is a warm-up.
    pub(super) fn begin(self) -> f64 {
        self.at(self.begin_ns)
    }

    /// The axis' end.
    pub(super) fn end(self) -> f64 {
        self.at(self.end_ns)
    }

    /// The axis' title.
    pub(super) fn title(self) -> &'static str {
        if self.minutes {
            "minutes since measurement started"
        } else {
            "seconds since measurement started"
        }
    }

    /// The axis' unit.
    pub(super) fn unit(self) -> &'static str {
        if self.minutes { "min" } else { "s" }
    }
}

/// All operations of an interval together, or one of them.
pub(super) struct Tick {
    /// Place of the phase.
    pub(super) phase: usize,
    /// Its middle on the axis.
    pub(super) at: f64,
    /// Its length in seconds.
    pub(super) seconds: f64,
    /// CPU of the generator's thread, in nanoseconds.
    pub(super) thread_cpu_ns: u64,
    /// What happened in it.
    pub(super) all: OperationInterval,
}

/// The intervals as they are drawn. Two lines of one time (operations of the warm-up that ended behind it) become one,
/// and what is left over at the end of a phase, too short for a rate, goes to the interval before it.
pub(super) fn joined(intervals: &[Interval]) -> Vec<Interval> {
    let length = |i: &Interval| i.end_ns.saturating_sub(i.start_ns);
    let mut lengths: Vec<u64> = intervals.iter().map(length).collect();
    lengths.sort_unstable();
    let short = lengths.get(lengths.len() / 2).copied().unwrap_or(0) / 3;
    let mut joined: Vec<Interval> = Vec::with_capacity(intervals.len());
    for next in intervals {
        match joined.last_mut() {
            Some(last) if last.phase == next.phase && last.start_ns == next.start_ns => {
                // The line of its own time is the one with the thread's CPU.
                if next.thread_cpu_ns > last.thread_cpu_ns {
                    last.stretch = next.stretch;
                }
                join(last, next);
            }
            Some(last) if last.phase == next.phase && length(next) < short => join(last, next),
            _ => joined.push(next.clone()),
        }
    }
    joined
}

fn join(to: &mut Interval, from: &Interval) {
    to.end_ns = to.end_ns.max(from.end_ns);
    to.thread_cpu_ns += from.thread_cpu_ns;
    for (name, one) in &from.operations {
        to.operations.entry(name.clone()).or_default().merge(one);
    }
}

/// Samples that a p99 needs: ten of them are above it.
pub(super) const SAMPLES: u64 = 1000;

/// Ticks that have samples enough for a p99.
#[derive(Default)]
pub(super) struct Merged {
    pub(super) ticks: Vec<Tick>,
    /// Length of the longest in seconds, where any is of several intervals.
    pub(super) longest_s: Option<f64>,
    /// Places of the phases whose measured part has too few samples for one.
    pub(super) without: Vec<usize>,
}

/// The intervals of a run, of one operation where one is named, merged until each tick has the samples that a p99
/// needs.
pub(super) fn merged(intervals: &[Interval], clock: Clock, operation: Option<&str>) -> Merged {
    let mut merged = Merged::default();
    for run in intervals.chunk_by(|a, b| a.phase == b.phase && a.stretch == b.stretch) {
        let groups = groups(run, operation);
        if groups.is_empty() && run[0].stretch == Stretch::Measured {
            // An operation that a phase does not have is missing nowhere.
            let has = operation.is_none_or(|name| {
                let of = |i: &Interval| i.operations.get(name).is_some_and(|o| !o.is_empty());
                run.iter().any(of)
            });
            merged.without.extend(has.then_some(run[0].phase));
        }
        for group in groups {
            let Some(tick) = tick(group, clock, operation) else {
                continue;
            };
            if group.len() > 1 {
                let longest = merged.longest_s.unwrap_or_default();
                merged.longest_s = Some(longest.max(tick.seconds));
            }
            merged.ticks.push(tick);
        }
    }
    merged
}

/// Every interval for itself: for counts, which need no samples behind them.
pub(super) fn single_ticks(intervals: &[Interval], clock: Clock) -> Vec<Tick> {
    intervals
        .chunks(1)
        .filter_map(|one| tick(one, clock, None))
        .collect()
}

/// Neighbours that hold the samples of a p99 together, what is left over with the last of them; none where all of them
/// hold too few.
fn groups<'i>(run: &'i [Interval], operation: Option<&str>) -> Vec<&'i [Interval]> {
    let ended = |i: &Interval| -> u64 {
        let wanted = i
            .operations
            .iter()
            .filter(|(name, _)| operation.is_none_or(|o| o == name.as_str()));
        wanted.map(|(_, o)| o.service.count()).sum()
    };
    let mut ends = Vec::new();
    let mut samples = 0;
    for (place, interval) in run.iter().enumerate() {
        samples += ended(interval);
        if samples >= SAMPLES {
            ends.push(place + 1);
            samples = 0;
        }
    }
    if let Some(last) = ends.last_mut() {
        *last = run.len();
    }
    let begins = std::iter::once(0).chain(ends.iter().copied());
    begins
        .zip(&ends)
        .map(|(from, to)| &run[from..*to])
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds below 2^53")]
fn tick(group: &[Interval], clock: Clock, operation: Option<&str>) -> Option<Tick> {
    let (first, last) = (group.first()?, group.last()?);
    let mut all = OperationInterval::default();
    for interval in group {
        for (_, one) in interval
            .operations
            .iter()
            .filter(|(n, _)| operation.is_none_or(|o| o == n.as_str()))
        {
            all.merge(one);
        }
    }
    Some(Tick {
        phase: first.phase,
        at: clock.at(first.start_ns / 2 + last.end_ns / 2),
        seconds: last.end_ns.saturating_sub(first.start_ns) as f64 / 1e9,
        thread_cpu_ns: group.iter().map(|i| i.thread_cpu_ns).sum(),
        all,
    })
}

/// Response times of an operation, or its service times in a closed loop.
pub(super) fn slow(one: &OperationInterval) -> &Histogram {
    if one.response.is_empty() {
        &one.service
    } else {
        &one.response
    }
}

/// A line over ticks, broken between phases.
pub(super) fn line(ticks: &[Tick], value: impl Fn(&Tick) -> Option<f64>) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::with_capacity(ticks.len());
    for (i, tick) in ticks.iter().enumerate() {
        if i > 0 && ticks[i - 1].phase != tick.phase {
            points.push((tick.at, None));
        }
        points.push((tick.at, value(tick)));
    }
    points
}

/// Samples closer to the one before than this, in nanoseconds, give no rate: counters of CPU have ticks of 10 ms.
const CLOSE_NS: u64 = 400_000_000;

/// Growth of a counter a second, at the middle of each step; a counter that fell (a new process) breaks the line.
#[expect(clippy::cast_precision_loss, reason = "counters below 2^53")]
pub(super) fn growth(counter: &[(u64, Option<u64>)], clock: Clock, factor: f64) -> Vec<Point> {
    let mut apart: Vec<(u64, Option<u64>)> = Vec::with_capacity(counter.len());
    for sample in counter {
        if apart
            .last()
            .is_none_or(|last| sample.0 >= last.0 + CLOSE_NS)
        {
            apart.push(*sample);
        }
    }
    let steps = apart.windows(2);
    let points = steps.map(|pair| {
        let (from, to) = (pair[0], pair[1]);
        let grown = from.1.zip(to.1).and_then(|(a, b)| b.checked_sub(a));
        let seconds = (to.0 - from.0) as f64 / 1e9;
        (
            clock.at(from.0 / 2 + to.0 / 2),
            grown.map(|n| n as f64 / seconds * factor),
        )
    });
    points.collect()
}

/// The lowest and the highest point of each bucket, and every break; short series stay as they are.
pub(super) fn thin(points: &[Point]) -> Vec<Point> {
    kept(points)
        .into_iter()
        .map(|place| points[place])
        .collect()
}

/// The places of the points that [`thin`] keeps.
pub(super) fn kept(points: &[Point]) -> Vec<usize> {
    if !is_thinned(points.len()) {
        return (0..points.len()).collect();
    }
    let size = points.len().div_ceil(BUCKETS);
    let mut kept = Vec::with_capacity(BUCKETS * 2 + 2);
    for (number, bucket) in points.chunks(size).enumerate() {
        let mut places: Vec<usize> = Vec::with_capacity(3);
        let values = || {
            bucket
                .iter()
                .enumerate()
                .filter_map(|(i, p)| Some((i, p.1?)))
        };
        places.extend(values().min_by(|a, b| a.1.total_cmp(&b.1)).map(|(i, _)| i));
        places.extend(values().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(i, _)| i));
        places.extend(bucket.iter().position(|p| p.1.is_none()));
        places.sort_unstable();
        places.dedup();
        kept.extend(places.into_iter().map(|i| number * size + i));
    }
    kept
}

/// Series of the same moments on top of each other: for each the sum up to it. Where one is thinned all keep the same
/// moments, so that each can be computed from the sums.
pub(super) fn stacked(all: &[&[Point]]) -> Vec<Vec<Point>> {
    let mut below: Vec<f64> = Vec::new();
    let mut sums: Vec<Vec<Point>> = Vec::with_capacity(all.len());
    for points in all {
        below.resize(points.len(), 0.0);
        let own = points.iter().zip(&mut below);
        let own = own.map(|((x, y), below)| {
            *below += y.unwrap_or(0.0);
            (*x, Some(*below))
        });
        sums.push(own.collect());
    }
    let mut places: Vec<usize> = all.iter().flat_map(|points| kept(points)).collect();
    places.sort_unstable();
    places.dedup();
    let at = |sum: Vec<Point>| places.iter().filter_map(|i| sum.get(*i).copied()).collect();
    sums.into_iter().map(at).collect()
}

/// Whether [`thin`] leaves points out of a series of this length.
pub(super) fn is_thinned(length: usize) -> bool {
    length > BUCKETS * 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_every_peak_hole_and_order() {
        let mut points: Vec<Point> = (0..36_000)
            .map(|i| (i as f64, Some((i % 7) as f64)))
            .collect();
        points[12_345].1 = Some(900.0);
        points[30_001].1 = Some(-5.0);
        points[20_000].1 = None;
        let kept = thin(&points);
        assert!(kept.len() <= BUCKETS * 2 + 2, "{}", kept.len());
        for peak in [points[12_345], points[30_001], points[20_000]] {
            assert!(kept.contains(&peak), "{peak:?}");
        }
        assert!(kept.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(thin(&points[..1000]), points[..1000]);
    }

    #[test]
    fn stacked_series_add_up_and_keep_the_same_moments() {
        let (one, other) = (
            [(0.0, Some(1.0)), (1.0, None)],
            [(0.0, Some(2.0)), (1.0, Some(5.0))],
        );
        let sums = stacked(&[&one, &other]);
        assert_eq!(sums[0], [(0.0, Some(1.0)), (1.0, Some(0.0))]);
        assert_eq!(sums[1], [(0.0, Some(3.0)), (1.0, Some(5.0))]);
        let long = |peak: usize| -> Vec<Point> {
            let value = |i: usize| if i == peak { 90.0 } else { 1.0 };
            (0..5000).map(|i| (i as f64, Some(value(i)))).collect()
        };
        let sums = stacked(&[&long(1234), &long(4001)]);
        assert!(sums[0].len() < 2000 && sums[0].len() == sums[1].len());
        assert!(sums[0].contains(&(1234.0, Some(90.0))) && sums[1].contains(&(4001.0, Some(91.0))));
    }

    #[test]
    fn lines_of_one_time_and_short_ends_are_joined() {
        let interval = |stretch, start_s: f64, end_s: f64, cpu| Interval {
            phase: 0,
            stretch,
            start_ns: (start_s * 1e9) as u64,
            end_ns: (end_s * 1e9) as u64,
            thread_cpu_ns: cpu,
            operations: std::collections::BTreeMap::from([(
                "write".to_owned(),
                OperationInterval {
                    completed: 10,
                    ..OperationInterval::default()
                },
            )]),
            tenths: vec![],
            slowest: vec![],
            traced: vec![],
            coordinators: std::collections::BTreeMap::new(),
        };
        let joined = joined(&[
            interval(Stretch::Warmup, 0.0, 1.0, 5),
            interval(Stretch::Warmup, 1.0, 2.0, 0),
            interval(Stretch::Measured, 1.0, 2.0, 5),
            interval(Stretch::Measured, 2.0, 3.0, 5),
            interval(Stretch::Measured, 3.0, 3.004, 1),
        ]);
        let found: Vec<_> = joined
            .iter()
            .map(|i| (i.stretch, i.end_ns, i.operations["write"].completed))
            .collect();
        let expected = [
            (Stretch::Warmup, 1_000_000_000, 10),
            (Stretch::Measured, 2_000_000_000, 20),
            (Stretch::Measured, 3_004_000_000, 20),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_counter_that_fell_breaks_the_line() {
        let clock = Clock {
            zero_ns: 0,
            begin_ns: 0,
            end_ns: 9,
            minutes: false,
        };
        let s = 1_000_000_000;
        let counter = [
            (0, Some(10)),
            (s, Some(30)),
            (2 * s, Some(5)),
            (4 * s, Some(9)),
            (5 * s, None),
        ];
        let values: Vec<_> = growth(&counter, clock, 1.0)
            .into_iter()
            .map(|p| p.1)
            .collect();
        assert_eq!(values, [Some(20.0), None, Some(2.0), None]);
    }
}
