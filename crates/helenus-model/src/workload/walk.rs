//! Which partitions operations of a cassandra-stress line take: a series that reads and writes share, and partitions that
//! are written in several visits. Refuses to know rows: the maker's walk does.

use crate::dist::Dist;
use crate::positions::{Positions, below};
use crate::seed::{Seed, mix};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Tries to find a partition that nobody is writing, before any of those started is continued.
const TRIES: u32 = 1_000;

/// What a line says of visits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Walk {
    /// Inserts that a partition is split into.
    pub visits: Dist,
    /// Which of the started partitions is continued; its width is how many there may be.
    pub revisit: Dist,
    /// Which partitions are new.
    pub positions: Positions,
}

/// The partitions of one phase: which are started, and how far each is. The only part of a workload that remembers.
#[derive(Debug, Clone)]
pub struct Partitions {
    walk: Walk,
    /// Partitions are kept to be revisited from their first visit on, and not only where something is left of them.
    early: bool,
    room: usize,
    begun: BTreeMap<u64, Begun>,
    /// Those of them that may be revisited, in the order of their beginning.
    kept: Vec<u64>,
    /// How far the series is.
    taken: u64,
    bits: Bits,
}

#[derive(Debug, Clone, Copy)]
struct Begun {
    visits: i64,
    /// Rows that its visits were given, by the partition's mean size.
    row: i64,
}

/// Random numbers, one after the other.
#[derive(Debug, Clone)]
pub(super) struct Bits {
    seed: Seed,
    next: u64,
}

impl Bits {
    pub(super) fn new(seed: Seed) -> Self {
        Self { seed, next: 0 }
    }

    pub(super) fn next(&mut self) -> u64 {
        self.next = self.next.wrapping_add(1);
        mix(self.seed.at(self.next))
    }
}

impl Partitions {
    /// Nothing is started.
    pub fn new(walk: &Walk, data: Seed) -> Self {
        let width = walk.revisit.max().saturating_sub(walk.revisit.min());
        Self {
            early: walk.visits.average() > 1.0,
            room: usize::try_from(width.saturating_add(1)).unwrap_or(1),
            begun: BTreeMap::new(),
            kept: Vec::new(),
            taken: 0,
            bits: Bits::new(data.derive("visits")),
            walk: walk.clone(),
        }
    }

    /// The next partition of the series, where there is one; `drawn` is what the operation drew.
    fn of_series(&mut self, drawn: u64) -> Option<u64> {
        let place = self.taken;
        self.taken += 1;
        match &self.walk.positions {
            positions @ Positions::Range { .. } => positions.at(Seed(0), 0, place, place, 0),
            _ => Some(drawn),
        }
    }

    /// The partition that a read is about, and rows that were written of it so far (0: nobody knows).
    pub(super) fn next_read(&mut self, drawn: u64) -> (u64, i64) {
        let position = self.of_series(drawn).unwrap_or(drawn);
        let row = self.begun.get(&position).map_or(0, |begun| begun.row);
        (position, row)
    }

    /// The partition that is written next: one that is begun, or a new one. None at the series' end.
    pub(super) fn next_write(&mut self, drawn: u64) -> Option<u64> {
        let mut drawn = drawn;
        for _ in 0..TRIES {
            let bits = self.bits.next();
            let place = self.walk.revisit.draw(bits);
            let place = self.walk.revisit.max().saturating_sub(place);
            let kept = usize::try_from(place).ok().and_then(|at| self.kept.get(at));
            if let Some(position) = kept {
                return Some(*position);
            }
            let position = self.of_series(drawn)?;
            drawn = self.draw_again(drawn);
            let visits = self.walk.visits.draw(self.bits.next()).max(1);
            if self.begun.contains_key(&position) || self.early && self.kept.len() >= self.room {
                continue;
            }
            self.begun.insert(position, Begun { visits, row: 0 });
            if self.early {
                self.kept.push(position);
            }
            return Some(position);
        }
        // All that the series has is begun.
        let one = below(self.bits.next(), self.kept.len() as u64);
        let one = usize::try_from(one).unwrap_or(0);
        Some(self.kept.get(one).copied().unwrap_or(drawn))
    }

    fn draw_again(&mut self, drawn: u64) -> u64 {
        match &self.walk.positions {
            Positions::Drawn(dist) => u64::try_from(dist.draw(self.bits.next())).unwrap_or(0),
            _ => drawn,
        }
    }

    /// A visit of a partition that is begun: its first row, and how many rows it is given. `all` is more than the partition
    /// can have, `about` what it has on average.
    pub(super) fn visit(&mut self, position: u64, all: i64, about: i64) -> (i64, i64) {
        let Some(begun) = self.begun.get_mut(&position) else {
            return (0, all);
        };
        let count = match begun.visits {
            1 => all,
            visits => (about / visits).max(1),
        };
        let row = begun.row;
        begun.row = row.saturating_add(count);
        (row, count)
    }

    /// A visit is over: whether it was the partition's first, and whether nothing is left of the partition.
    pub(super) fn visited(&mut self, position: u64, first: bool, whole: bool) {
        if whole {
            if self.begun.remove(&position).is_some() {
                self.kept.retain(|kept| *kept != position);
            }
        } else if first && !self.early {
            self.kept.push(position);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partitions(visits: &str, revisit: &str, to: u64, wrap: bool) -> Partitions {
        let dist = |text: &str| text.parse().expect("a distribution");
        let walk = Walk {
            visits: dist(visits),
            revisit: dist(revisit),
            positions: Positions::Range { from: 1, to, wrap },
        };
        Partitions::new(&walk, Seed(5))
    }

    #[test]
    fn a_series_is_shared_by_reads_and_writes_and_ends() {
        let mut all = partitions("fixed(1)", "uniform(1..1M)", 4, false);
        assert_eq!(all.next_write(0), Some(1));
        all.visited(1, true, true);
        assert_eq!(all.next_read(0), (2, 0));
        assert_eq!(all.next_write(0), Some(3));
        assert_eq!(all.next_write(0), None);
    }

    #[test]
    fn partitions_are_revisited_until_they_are_whole() {
        let mut all = partitions("fixed(4)", "uniform(1..10)", 1_000, true);
        let mut rows: BTreeMap<u64, Vec<(i64, i64)>> = BTreeMap::new();
        for _ in 0..400 {
            let position = all.next_write(0).expect("wraps");
            let visit = all.visit(position, 101, 100);
            let seen = rows.entry(position).or_default();
            seen.push(visit);
            let times = seen.len();
            all.visited(position, times == 1, times == 4);
        }
        let whole = [(0, 25), (25, 25), (50, 25), (75, 25)];
        assert!(
            rows.values().all(|seen| whole.starts_with(seen)),
            "{rows:?}"
        );
        // Ten are begun at a time: nearly all of 400 visits go into partitions that become whole.
        let ended = rows.values().filter(|seen| seen.len() == 4).count();
        assert!((90..=100).contains(&ended), "{ended}");
        assert!(all.kept.len() <= 10);
    }

    #[test]
    fn where_many_may_be_begun_most_visits_are_first_ones() {
        let mut all = partitions("fixed(4)", "uniform(1..1M)", 10_000, true);
        let mut firsts = 0;
        for _ in 0..500 {
            let position = all.next_write(0).expect("wraps");
            let (row, _) = all.visit(position, 101, 100);
            firsts += u32::from(row == 0);
            all.visited(position, row == 0, false);
        }
        assert!(firsts > 490, "{firsts}");
    }

    #[test]
    fn a_series_whose_partitions_are_all_begun_goes_on_with_one_of_them() {
        let mut all = partitions("fixed(1)", "uniform(1..1M)", 3, true);
        for position in [1, 2] {
            assert_eq!(all.next_write(0), Some(position));
            all.visited(position, true, false);
        }
        assert!(all.next_write(0).is_some_and(|p| p == 1 || p == 2));
    }
}
