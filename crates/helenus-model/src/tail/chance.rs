//! The share of a tail that lies within a cause, and the same of the same operations at other times.
//! Refuses to take a beat for a coincidence, or a crowd for many: what came together is moved together, and a little apart
//! from all else.

use crate::seed::Seed;
use crate::stats::Draw;

/// Most random placements.
const PLACEMENTS: u32 = 999;

/// A share that placements have reached so often needs no more of them: its p is not small (Besag and Clifford 1991).
const REACHED_ENOUGH: u32 = 30;

/// Operations that follow each other within so many nanoseconds are moved together.
const TOGETHER_NS: u64 = 50_000_000;

/// A group is not longer than this, in nanoseconds: what is longer is held together by the move of all.
const LONGEST_GROUP_NS: u64 = 500_000_000;

/// How far a group is moved against the others at most, to either side, in nanoseconds: farther than half the time
/// between two events of a second's beat.
const APART_NS: u64 = 500_000_000;

/// The times in which a cause held: apart from each other, and in order.
#[derive(Debug, Clone)]
pub(super) struct Cover {
    spans: Vec<(u64, u64)>,
    /// Covered time before each of them, in nanoseconds.
    before: Vec<u64>,
}

/// What was found of a cause.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    /// Mean share of the operations' time.
    pub(super) share: f64,
    /// The same, mean over the placements.
    pub(super) by_chance: f64,
    /// How often a placement had at least that share; the true times are one of the placements.
    pub(super) p: f64,
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds below 2^53")]
impl Cover {
    /// Spans in any order; where two lie over each other they count once.
    pub(super) fn of(mut spans: Vec<(u64, u64)>) -> Self {
        spans.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (from, to) in spans {
            match joined.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => joined.push((from, to)),
            }
        }
        let mut covered = 0;
        let before = joined.iter().map(|(from, to)| {
            covered += to - from;
            covered - (to - from)
        });
        Self {
            before: before.collect(),
            spans: joined,
        }
    }

    /// Covered time before a moment.
    fn until(&self, at_ns: u64) -> u64 {
        let next = self.spans.partition_point(|(from, _)| *from < at_ns);
        match next.checked_sub(1) {
            None => 0,
            Some(last) => self.before[last] + at_ns.min(self.spans[last].1) - self.spans[last].0,
        }
    }

    /// Share of a time that lies within.
    pub(super) fn share(&self, (from_ns, to_ns): (u64, u64)) -> f64 {
        let length = to_ns.saturating_sub(from_ns);
        let covered = self.until(to_ns).saturating_sub(self.until(from_ns));
        covered as f64 / length.max(1) as f64
    }

    /// Mean share of several times.
    pub(super) fn mean_share(&self, times: &[(u64, u64)]) -> f64 {
        let shares = times.iter().map(|time| self.share(*time));
        shares.sum::<f64>() / times.len().max(1) as f64
    }

    /// Share of a time that starts `at_ns` into the window and goes on at its beginning where it reaches its end.
    fn share_around(&self, (at_ns, length_ns): (u64, u64), (from_ns, to_ns): (u64, u64)) -> f64 {
        let begin = from_ns + at_ns;
        let end = begin + length_ns;
        let mut covered = self.until(end.min(to_ns)) - self.until(begin);
        if end > to_ns {
            covered += self.until(from_ns + (end - to_ns)) - self.until(from_ns);
        }
        covered as f64 / length_ns.max(1) as f64
    }
}

/// For each cover what is found of these times within a window, all moved alike.
///
/// In a placement all times are moved around the window by the same random distance, which keeps what is crowded for
/// seconds; and each group of times that came together is moved against the others by up to half a second, so that two
/// things with the same beat do not meet again in every tenth placement.
#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
pub(super) fn by_chance(
    times: &[(u64, u64)],
    (from_ns, to_ns): (u64, u64),
    covers: &[&Cover],
    seed: Seed,
) -> Vec<Found> {
    let length_ns = to_ns.saturating_sub(from_ns).max(1);
    let mut times = times.to_vec();
    times.sort_unstable();
    let groups = groups(&times);
    let shares: Vec<f64> = covers
        .iter()
        .map(|cover| cover.mean_share(&times))
        .collect();
    let mut found: Vec<Placed> = covers.iter().map(|_| Placed::default()).collect();
    let mut draw = Draw::new(seed);
    let mut moved: Vec<(u64, u64)> = Vec::with_capacity(times.len());
    for _ in 0..PLACEMENTS {
        if found.iter().all(Placed::is_enough) {
            break;
        }
        moved.clear();
        let all_ns = draw.below(length_ns as usize) as u64;
        let mut apart_ns = 0;
        for (place, (from, to)) in times.iter().enumerate() {
            if place == 0 || groups[place] != groups[place - 1] {
                apart_ns = draw.below(2 * APART_NS as usize) as u64;
            }
            let at_ns = (from - from_ns + all_ns + apart_ns) % length_ns;
            moved.push((at_ns, to - from));
        }
        for (place, cover) in covers.iter().enumerate() {
            if found[place].is_enough() {
                continue;
            }
            let each = moved
                .iter()
                .map(|time| cover.share_around(*time, (from_ns, to_ns)));
            let share = each.sum::<f64>() / moved.len().max(1) as f64;
            found[place].see(share, shares[place]);
        }
    }
    let each = found.iter().zip(shares);
    each.map(|(placed, share)| placed.found(share)).collect()
}

/// What the placements so far say of a cover.
#[derive(Debug, Default)]
struct Placed {
    placements: u32,
    sum: f64,
    /// Placements with at least the true share.
    reached: u32,
}

impl Placed {
    fn is_enough(&self) -> bool {
        self.reached >= REACHED_ENOUGH
    }

    fn see(&mut self, share: f64, true_share: f64) {
        self.placements += 1;
        self.sum += share;
        self.reached += u32::from(share >= true_share - 1e-9);
    }

    fn found(&self, share: f64) -> Found {
        Found {
            share,
            by_chance: self.sum / f64::from(self.placements.max(1)),
            p: f64::from(self.reached + 1) / f64::from(self.placements + 1),
        }
    }
}

/// How far each of these times, which are in order, is to be moved to come to a random other time of a window of this
/// length, in nanoseconds: what came together stays together.
pub(super) fn elsewhere(sorted: &[(u64, u64)], length_ns: u64, seed: Seed) -> Vec<u64> {
    let mut draw = Draw::new(seed);
    let groups = groups(sorted);
    let count = groups.last().map_or(0, |last| last + 1);
    let moves: Vec<u64> = (0..count)
        .map(|_| draw.below(length_ns.max(1) as usize) as u64)
        .collect();
    groups.into_iter().map(|group| moves[group]).collect()
}

/// The number of each time's group.
fn groups(sorted: &[(u64, u64)]) -> Vec<usize> {
    let mut groups = Vec::with_capacity(sorted.len());
    let mut number = 0;
    let mut group: Option<(u64, u64)> = None;
    for (from, to) in sorted {
        group = match group {
            Some((begin, end))
                if *from <= end + TOGETHER_NS && from - begin <= LONGEST_GROUP_NS =>
            {
                Some((begin, end.max(*to)))
            }
            before => {
                number += usize::from(before.is_some());
                Some((*from, *to))
            }
        };
        groups.push(number);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_count_once_and_times_go_around_the_window() {
        let cover = Cover::of(vec![(20, 30), (10, 22), (90, 100)]);
        assert_eq!(cover.spans, [(10, 30), (90, 100)]);
        for (time, share) in [
            ((0, 10), 0.0),
            ((5, 15), 0.5),
            ((10, 30), 1.0),
            ((25, 95), 10.0 / 70.0),
            ((0, 200), 0.15),
        ] {
            assert!((cover.share(time) - share).abs() < 1e-12, "{time:?}");
        }
        let window = (0, 100);
        for (time, share) in [((85, 10), 0.5), ((95, 20), 0.5), ((99, 31), 21.0 / 31.0)] {
            assert!((cover.share_around(time, window) - share).abs() < 1e-12);
        }
    }

    #[test]
    fn what_came_together_is_one_group_but_not_for_ever() {
        let ms = 1_000_000;
        let times = [(0, 40), (30, 80), (129, 140), (300, 310)].map(|(a, b)| (a * ms, b * ms));
        assert_eq!(groups(&times), [0, 0, 0, 1]);
        let long: Vec<(u64, u64)> = (0..10)
            .map(|k| (k * 100 * ms, (k * 100 + 90) * ms))
            .collect();
        assert_eq!(groups(&long), [0, 0, 0, 0, 0, 0, 1, 1, 1, 1]);
    }
}
