//! How large partitions are: the largest by key, and a histogram of all, in bounded memory.
//! Refuses to remember every key.

use crate::cql::CqlValue;
use serde::{Deserialize, Serialize};

/// A partition and its size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Large {
    /// Rows.
    pub rows: u64,
    /// Its key, column by column.
    pub key: Vec<Option<CqlValue>>,
}

impl Large {
    /// The key as a person reads it: `DE, Bavaria, Munich`.
    pub fn key_text(&self) -> String {
        let text = |value: &Option<CqlValue>| {
            let shown = value.as_ref().map(ToString::to_string);
            shown.unwrap_or_else(|| "null".to_owned())
        };
        let columns: Vec<String> = self.key.iter().map(text).collect();
        columns.join(", ")
    }
}

/// Sizes of partitions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartitionSizes {
    /// Partitions.
    pub partitions: u64,
    /// Rows of all of them.
    pub rows: u64,
    /// Partitions by size: those of 1 row, of 2 to 3, of 4 to 7, of 8 to 15 and so on.
    pub by_size: Vec<u64>,
    /// The largest, descending.
    pub largest: Vec<Large>,
    /// How many of the largest are kept.
    pub keep: usize,
}

impl PartitionSizes {
    /// None yet; the `keep` largest will be known by key.
    pub fn new(keep: usize) -> Self {
        Self {
            partitions: 0,
            rows: 0,
            by_size: Vec::new(),
            largest: Vec::new(),
            keep,
        }
    }

    /// One more partition; its key is asked for only where it is among the largest.
    pub fn add(&mut self, rows: u64, key: impl FnOnce() -> Vec<Option<CqlValue>>) {
        if rows == 0 {
            return;
        }
        self.partitions += 1;
        self.rows += rows;
        let class = rows.ilog2() as usize;
        if self.by_size.len() <= class {
            self.by_size.resize(class + 1, 0);
        }
        self.by_size[class] += 1;
        let smallest = self.largest.last().map_or(0, |large| large.rows);
        if self.largest.len() < self.keep || (self.keep > 0 && rows > smallest) {
            self.keep_one(Large { rows, key: key() });
        }
    }

    fn keep_one(&mut self, large: Large) {
        let at = self
            .largest
            .partition_point(|known| known.rows >= large.rows);
        self.largest.insert(at, large);
        self.largest.truncate(self.keep);
    }

    /// Those of another part of the same table.
    pub fn merge(&mut self, other: Self) {
        self.partitions += other.partitions;
        self.rows += other.rows;
        if self.by_size.len() < other.by_size.len() {
            self.by_size.resize(other.by_size.len(), 0);
        }
        for (mine, more) in self.by_size.iter_mut().zip(other.by_size) {
            *mine += more;
        }
        for large in other.largest {
            let smallest = self.largest.last().map_or(0, |known| known.rows);
            if self.largest.len() < self.keep || large.rows > smallest {
                self.keep_one(large);
            }
        }
    }

    /// Classes of size that have partitions: the fewest rows, the most rows, how many partitions.
    pub fn classes(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        let classes = self.by_size.iter().enumerate();
        classes
            .filter(|(_, count)| **count > 0)
            .map(|(class, count)| {
                let fewest = 1_u64 << class;
                (fewest, fewest - 1 + fewest, *count)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(n: u64) -> Vec<Option<CqlValue>> {
        vec![Some(CqlValue::Bigint(n.cast_signed())), None]
    }

    fn sizes(keep: usize, all: &[u64]) -> PartitionSizes {
        let mut sizes = PartitionSizes::new(keep);
        for rows in all {
            sizes.add(*rows, || key(*rows));
        }
        sizes
    }

    #[test]
    fn classes_and_keys_read_well() {
        let sizes = sizes(2, &[1, 3, 2, 0, 9]);
        let classes: Vec<_> = sizes.classes().collect();
        assert_eq!(classes, [(1, 1, 1), (2, 3, 2), (8, 15, 1)]);
        assert_eq!(sizes.largest[0].key_text(), "9, null");
        assert_eq!(
            (sizes.partitions, sizes.rows, sizes.largest.len()),
            (4, 15, 2)
        );
        let none = PartitionSizes::new(0);
        assert_eq!(none.classes().count(), 0);
    }

    proptest! {
        #[test]
        fn parts_merge_to_the_whole(
            first in prop::collection::vec(0_u64..100_000, 0..50),
            second in prop::collection::vec(0_u64..100_000, 0..50),
            keep in 0_usize..12,
        ) {
            let whole = sizes(keep, &[first.as_slice(), &second].concat());
            let mut merged = sizes(keep, &first);
            merged.merge(sizes(keep, &second));
            prop_assert_eq!(&merged.by_size.iter().sum::<u64>(), &merged.partitions);
            let rows = |sizes: &PartitionSizes| sizes.largest.iter().map(|l| l.rows).collect::<Vec<_>>();
            prop_assert_eq!(rows(&merged), rows(&whole));
            prop_assert_eq!((merged.partitions, merged.rows, merged.by_size), (whole.partitions, whole.rows, whole.by_size));
            let mut all: Vec<u64> = first.into_iter().chain(second).filter(|rows| *rows > 0).collect();
            all.sort_unstable_by(|a, b| b.cmp(a));
            all.truncate(keep);
            let kept: Vec<u64> = whole.largest.iter().map(|l| l.rows).collect();
            prop_assert_eq!(kept, all);
        }
    }
}
