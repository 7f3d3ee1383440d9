//! The map of latency over time: how the operations of each moment spread over times, on a logarithmic scale.
//! Refuses to lose a slow operation: a patch of a single one is drawn, too.

use crate::report::path::Place;
use crate::report::series::{Clock, slow};
use helenus_model::histogram::Histogram;
use helenus_model::sample::Interval;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Most columns of a map.
const COLUMNS: usize = 160;

/// Rows for each factor of ten.
const ROWS: f64 = 12.0;

/// From which share of its moment's operations on a patch has each strength, the strongest first; one below the last.
const SHARES: [f64; 6] = [0.3, 0.1, 0.03, 0.01, 0.003, 0.001];

/// Operations of one moment whose times are alike.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Patch {
    /// From when to when, on the axis of time.
    pub(super) x: [f64; 2],
    /// From which time to which, in milliseconds.
    pub(super) y: [f64; 2],
    /// Its strength: 0 is the strongest.
    level: usize,
}

/// The patches of a run: neighbours in time of one strength are one.
pub(super) fn patches(intervals: &[Interval], clock: Clock) -> Vec<Patch> {
    let size = intervals.len().div_ceil(COLUMNS).max(1);
    let mut patches: Vec<Patch> = Vec::new();
    let mut before: BTreeMap<i64, usize> = BTreeMap::new();
    for part in intervals.chunk_by(|a, b| a.phase == b.phase && a.stretch == b.stretch) {
        for column in part.chunks(size) {
            let (Some(first), Some(last)) = (column.first(), column.last()) else {
                continue;
            };
            let x = [clock.at(first.start_ns), clock.at(last.end_ns)];
            let mut here = BTreeMap::new();
            for (row, level) in levels(column) {
                let joins = before
                    .get(&row)
                    .copied()
                    .filter(|at| patches[*at].level == level && patches[*at].x[1] >= x[0]);
                let at = match joins {
                    Some(at) => {
                        patches[at].x[1] = x[1];
                        at
                    }
                    None => {
                        let y = [row, row + 1].map(edge_ms);
                        patches.push(Patch { x, y, level });
                        patches.len() - 1
                    }
                };
                here.insert(row, at);
            }
            before = here;
        }
    }
    patches
}

/// Where a row begins.
#[expect(clippy::cast_precision_loss, reason = "a few hundred rows")]
fn edge_ms(row: i64) -> f64 {
    10_f64.powf(row as f64 / ROWS) / 1e6
}

/// The rows that operations fell into, each with its strength.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "logarithms are small, counts below 2^53"
)]
fn levels(column: &[Interval]) -> Vec<(i64, usize)> {
    let mut all = Histogram::new();
    for one in column.iter().flat_map(|i| i.operations.values()) {
        all.merge(slow(one));
    }
    let mut rows: BTreeMap<i64, u64> = BTreeMap::new();
    for bucket in all.buckets() {
        let row = ((bucket.middle_ns.max(1) as f64).log10() * ROWS).floor() as i64;
        *rows.entry(row).or_default() += bucket.count;
    }
    let total = all.count() as f64;
    let level = |count: u64| {
        let share = count as f64 / total;
        SHARES.iter().take_while(|least| share < **least).count()
    };
    rows.into_iter().map(|(row, n)| (row, level(n))).collect()
}

/// Patches as paths in the units of lines, one for each strength.
pub(super) fn drawn(patches: &[Patch], place: impl Fn((f64, Option<f64>)) -> Place) -> String {
    let mut paths: [String; SHARES.len() + 1] = Default::default();
    for patch in patches {
        let corners =
            place((patch.x[0], Some(patch.y[1]))).zip(place((patch.x[1], Some(patch.y[0]))));
        if let Some(((left, above), (right, below))) = corners {
            let (wide, high) = (right - left, below - above);
            let _infallible = write!(paths[patch.level], "M{left} {above}h{wide}v{high}h-{wide}z");
        }
    }
    let each = paths
        .iter()
        .enumerate()
        .filter(|(_, path)| !path.is_empty());
    each.map(|(level, path)| format!("<path class=\"heat heat{level}\" d=\"{path}\"/>"))
        .collect()
}

/// The scale of strengths, for a legend.
pub(super) fn scale() -> String {
    let boxes: String = (0..=SHARES.len())
        .rev()
        .enumerate()
        .map(|(place, level)| {
            format!(
                "<rect class=\"heat heat{level}\" x=\"{}\" width=\"12\" height=\"12\"/>",
                place * 12
            )
        })
        .collect();
    format!(
        "<li class=\"scale\"><svg width=\"{}\" height=\"12\" aria-hidden=\"true\">{boxes}</svg>share of a moment's \
         operations: below 0.1 % to above 30 %, each step is a factor of three</li>",
        (SHARES.len() + 1) * 12
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_model::sample::{OperationInterval, Stretch};

    const S: u64 = 1_000_000_000;

    /// A second of a thousand operations that took so many milliseconds, and of one that took so many.
    fn interval(second: u64, [all_ms, one_ms]: [u64; 2]) -> Interval {
        let mut one = OperationInterval::default();
        (0..1000).for_each(|_| one.service.record(all_ms * 1_000_000));
        one.service.record(one_ms * 1_000_000);
        Interval {
            phase: 0,
            stretch: Stretch::Measured,
            start_ns: second * S,
            end_ns: (second + 1) * S,
            thread_cpu_ns: 0,
            operations: BTreeMap::from([("read".to_owned(), one)]),
            tenths: vec![],
            slowest: vec![],
            traced: vec![],
            coordinators: BTreeMap::new(),
        }
    }

    fn patches_of(seconds: u64) -> Vec<Patch> {
        let each = (0..seconds).map(|s| interval(s, [2, if s == 7 { 900 } else { 2 }]));
        let intervals: Vec<Interval> = each.collect();
        let clock = Clock::of(&intervals).expect("a clock");
        patches(&intervals, clock)
    }

    #[test]
    fn neighbours_are_one_patch_and_a_single_slow_operation_is_another() {
        for (seconds, column) in [(20, [7.0, 8.0]), (480, [6.0, 9.0])] {
            let all = patches_of(seconds);
            let [main, slow] = all.as_slice() else {
                panic!("{all:?}");
            };
            assert_eq!((main.x[0], main.level), (0.0, 0));
            assert!(
                (main.x[1] - seconds as f64).abs() < 1e-6 && main.y[0] < 2.0 && main.y[1] > 2.0
            );
            assert!(slow.y[0] < 900.0 && slow.y[1] > 900.0, "{slow:?}");
            // One of 1,001, or of 3,003.
            assert_eq!((slow.x, slow.level), (column, 6));
        }
    }

    #[test]
    fn a_patch_is_a_rectangle_of_its_strength() {
        let patch = Patch {
            x: [1.0, 3.0],
            y: [1.0, 2.0],
            level: 4,
        };
        let place = |(x, y): (f64, Option<f64>)| Some((x as i64 * 10, 100 - y? as i64 * 10));
        assert_eq!(
            drawn(&[patch], place),
            "<path class=\"heat heat4\" d=\"M10 80h20v10h-20z\"/>"
        );
    }
}
