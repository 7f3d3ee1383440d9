//! Series: points over time from intervals and counters, and their thinning for the page.
//! Refuses to hide a peak: of each bucket the lowest and the highest point stay.

use helenus_model::sample::{Interval, OperationInterval, Stretch};

/// Seconds (or minutes) on the run's axis, and a value; none breaks the line.
pub(super) type Point = (f64, Option<f64>);

/// Buckets of a thinned series: about one for each pixel of a wide chart's width.
const BUCKETS: usize = 700;

/// The axis of time: zero at the first interval.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    zero_ns: u64,
    end_ns: u64,
    minutes: bool,
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds below 2^53")]
impl Clock {
    /// From the first interval's start to the last one's end; none without intervals.
    pub(super) fn of(intervals: &[Interval]) -> Option<Self> {
        let zero_ns = intervals.iter().map(|i| i.start_ns).min()?;
        let end_ns = intervals.iter().map(|i| i.end_ns).max()?;
        Some(Self {
            zero_ns,
            end_ns,
            minutes: end_ns.saturating_sub(zero_ns) > 600_000_000_000,
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

    /// The axis' end.
    pub(super) fn end(self) -> f64 {
        self.at(self.end_ns)
    }

    /// The axis' title.
    pub(super) fn title(self) -> &'static str {
        if self.minutes {
            "minutes since the first operation"
        } else {
            "seconds since the first operation"
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

/// The intervals of a run as ticks, of one operation where one is named. Where an interval holds too few samples for
/// a p99, several are merged into one tick; the second value says how many at most.
pub(super) fn ticks(
    intervals: &[Interval],
    clock: Clock,
    operation: Option<&str>,
) -> (Vec<Tick>, usize) {
    let mut ticks = Vec::new();
    let mut most = 1;
    for run in intervals.chunk_by(|a, b| a.phase == b.phase && a.stretch == b.stretch) {
        let together = together(run, operation);
        most = most.max(together);
        for group in run.chunks(together) {
            ticks.extend(tick(group, clock, operation));
        }
    }
    (ticks, most)
}

/// Every interval for itself: for counts, which need no samples behind them.
pub(super) fn single_ticks(intervals: &[Interval], clock: Clock) -> Vec<Tick> {
    intervals
        .chunks(1)
        .filter_map(|one| tick(one, clock, None))
        .collect()
}

/// How many intervals hold the 1,000 samples that a p99 wants; never so many that fewer than ten ticks are left.
fn together(run: &[Interval], operation: Option<&str>) -> usize {
    let ended = |i: &Interval| -> u64 {
        let wanted = i
            .operations
            .iter()
            .filter(|(name, _)| operation.is_none_or(|o| o == name.as_str()));
        wanted.map(|(_, o)| o.service.count()).sum()
    };
    let mut counts: Vec<u64> = run.iter().map(ended).collect();
    counts.sort_unstable();
    let median = counts.get(counts.len() / 2).copied().unwrap_or(0).max(1);
    let wanted = usize::try_from(1000_u64.div_ceil(median)).unwrap_or(1);
    let most = if run.first().is_some_and(|i| i.stretch == Stretch::Warmup) {
        run.len()
    } else {
        run.len() / 10
    };
    wanted.clamp(1, most.max(1))
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

/// Samples closer to the one before than this, in nanoseconds, tell no rate: counters of CPU have ticks of 10 ms.
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
    if points.len() <= BUCKETS * 2 {
        return points.to_vec();
    }
    let size = points.len().div_ceil(BUCKETS);
    let mut kept = Vec::with_capacity(BUCKETS * 2 + 2);
    for bucket in points.chunks(size) {
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
        kept.extend(places.into_iter().map(|i| bucket[i]));
    }
    kept
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
        assert_eq!(thin(&points[..1400]), points[..1400]);
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
        };
        let joined = joined(&[
            interval(Stretch::Warmup, 0.0, 1.0, 5),
            interval(Stretch::Warmup, 1.0, 2.0, 0),
            interval(Stretch::Measured, 1.0, 2.0, 5),
            interval(Stretch::Measured, 2.0, 3.0, 5),
            interval(Stretch::Measured, 3.0, 3.004, 1),
        ]);
        let told: Vec<_> = joined
            .iter()
            .map(|i| (i.stretch, i.end_ns, i.operations["write"].completed))
            .collect();
        let expected = [
            (Stretch::Warmup, 1_000_000_000, 10),
            (Stretch::Measured, 2_000_000_000, 20),
            (Stretch::Measured, 3_004_000_000, 20),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_counter_that_fell_breaks_the_line() {
        let clock = Clock {
            zero_ns: 0,
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
