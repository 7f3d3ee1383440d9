//! Which rows of a partition an operation of a cassandra-stress line takes: a walk along its clustering columns, each row
//! taken by chance, within the rows that a visit is given. Refuses to be even: where three columns or more make the key
//! of a row, a visit ends with the first prefix, as there.

use super::content::{Content, Partition, RowKey, below};
use super::{Filled, Kind, Maker, Operation, Plan, first};
use crate::cql::CqlValue;
use crate::seed::{Seed, mix};
use crate::workload::operation::{Request, Work};
use crate::workload::walk::{Bits, Partitions};
use std::cmp::Ordering;
use std::collections::VecDeque;

/// A chance from which on nothing is left to it.
const SURE: f64 = 0.99999;

/// How many values clustering columns have on average, which places of rows are reckoned by.
#[derive(Debug, Clone)]
pub(super) struct Averages {
    /// Of each column below one prefix.
    columns: Vec<i64>,
    /// Rows below one value of each column.
    below: Vec<i64>,
    /// Rows of the largest partition.
    most: i64,
}

impl Averages {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "whole numbers are reckoned with, and a cast saturates"
    )]
    pub(super) fn of(content: &Content) -> Self {
        let clusters = || content.clustering().iter().map(|column| column.cluster());
        let columns: Vec<i64> = clusters().map(|dist| dist.average() as i64).collect();
        let mut rows = vec![1; columns.len()];
        for level in (1..columns.len()).rev() {
            rows[level - 1] = columns[level].saturating_mul(rows[level]);
        }
        let most = clusters().fold(1_i64, |all, dist| all.saturating_mul(dist.max().max(1)));
        Self {
            columns,
            below: rows,
            most,
        }
    }

    /// The place of a row, one number a column.
    fn place(&self, row: i64) -> Vec<i64> {
        let mut left = row;
        let mut place: Vec<i64> = Vec::with_capacity(self.below.len());
        for below in &self.below {
            let below = (*below).max(1);
            place.push(left / below);
            left %= below;
        }
        for level in (1..place.len()).rev() {
            let average = self.columns[level].max(1);
            place[level - 1] += place[level] / average;
            place[level] %= average;
        }
        place
    }
}

/// The values of a column that are left below a prefix, the current one first.
#[derive(Debug, Clone, Default)]
struct Level {
    left: VecDeque<CqlValue>,
    /// The number of the prefix.
    prefix: u64,
}

/// A walk through one partition.
struct Steps<'a> {
    content: &'a Content,
    averages: &'a Averages,
    partition: &'a Partition,
    share: f64,
    /// By how much a chance is larger the lower it is rolled: rows are as likely as the share says.
    rolled: Vec<f64>,
    chance: Vec<f64>,
    levels: Vec<Level>,
    at: Vec<i64>,
    /// The last row that may be taken, by its place.
    end: Vec<i64>,
    more: bool,
    bits: Bits,
}

impl<'a> Steps<'a> {
    fn new(filled: &'a Filled, partition: &'a Partition, bits: Bits) -> Self {
        let levels = filled.content.clustering_columns;
        Self {
            content: &filled.content,
            averages: &filled.averages,
            partition,
            share: 1.0,
            rolled: vec![1.0; levels],
            chance: vec![1.0; levels],
            levels: vec![Level::default(); levels],
            at: vec![0; levels],
            end: vec![i64::MAX; levels],
            more: false,
            bits,
        }
    }

    /// Values below the prefix that stands above a level.
    fn fill(&mut self, level: usize) {
        let prefix = match level {
            0 => self.partition.digest,
            _ => self.prefix_below(level - 1),
        };
        self.levels[level] = Level {
            left: self.content.clustering()[level].drawn(prefix),
            prefix,
        };
    }

    /// The number of what stands below a level's current value.
    fn prefix_below(&self, level: usize) -> u64 {
        let Level { left, prefix } = &self.levels[level];
        left.front().map_or(*prefix, |value| below(*prefix, value))
    }

    /// About how many rows the partition has.
    fn about(&self) -> i64 {
        let first = self.content.clustering()[0].count(self.partition.digest);
        let first = i64::try_from(first).unwrap_or(i64::MAX);
        first.saturating_mul(self.averages.below[0])
    }

    /// From the first value of the first column again.
    fn again(&mut self) {
        self.levels.fill(Level::default());
        self.fill(0);
    }

    /// To a row's place, or the next one that there is; whether there is one within the walk.
    fn seek(&mut self, row: i64) -> bool {
        let last = self.levels.len() - 1;
        if row == 0 {
            self.at[0] = 0;
            return self.settle(0, true);
        }
        self.at = self.averages.place(row);
        for level in 0..=last {
            if level > 0 {
                self.fill(level);
            }
            for _ in 0..self.at[level] {
                if self.levels[level].left.pop_front().is_none() {
                    break;
                }
            }
            if self.levels[level].left.is_empty() && !self.rise(level) {
                return false;
            }
        }
        self.side(last) != Ordering::Greater && self.settle(last, true)
    }

    /// Where a level has nothing left: to the next value of a level above it, and down again.
    fn rise(&mut self, level: usize) -> bool {
        let mut up = level;
        loop {
            if up == 0 {
                return false;
            }
            up -= 1;
            self.levels[up].left.pop_front();
            if !self.levels[up].left.is_empty() {
                break;
            }
        }
        self.at[up] += 1;
        self.at[up + 1..].fill(0);
        for lower in up + 1..=level {
            self.fill(lower);
        }
        true
    }

    /// On which side of the walk's last row the current one is, as far as a level. A prefix that is the last that there is
    /// leaves it to the levels below.
    fn side(&self, level: usize) -> Ordering {
        let mut before = false;
        for upper in 0..=level {
            let (at, end, left) = (
                self.at[upper],
                self.end[upper],
                self.levels[upper].left.len(),
            );
            match at.cmp(&end) {
                _ if before && left > 1 => return Ordering::Less,
                _ if before => {}
                Ordering::Greater => return Ordering::Greater,
                Ordering::Less if left == 1 => before = true,
                Ordering::Less => return Ordering::Less,
                Ordering::Equal => {}
            }
        }
        Ordering::Equal
    }

    /// From the current value of a level to the next row that is taken, by chance; the last one that there is, is taken
    /// where none was.
    fn settle(&mut self, level: usize, first: bool) -> bool {
        let mut level = level;
        loop {
            if self.levels[level].left.is_empty() {
                if level == 0 {
                    return false;
                }
                level -= 1;
                self.levels[level].left.pop_front();
                self.at[level] += 1;
                if self.at[level] > self.end[level] {
                    return false;
                }
                continue;
            }
            let side = self.side(level);
            if side == Ordering::Greater {
                return false;
            }
            let chance = self.share * self.chance[level];
            let forced = first && side == Ordering::Equal;
            if forced || chance > SURE || chance >= unit(self.bits.next()) {
                level += 1;
                if level == self.levels.len() {
                    return true;
                }
                if self.share < 1.0 {
                    self.rolled[level] = self.rolled[level - 1] / chance.min(1.0);
                    self.chance[level] = self.averages.below[level] as f64 * self.rolled[level];
                }
                self.at[level] = 0;
                self.fill(level);
                continue;
            }
            if side == Ordering::Equal {
                return false;
            }
            self.levels[level].left.pop_front();
            self.at[level] += 1;
        }
    }

    /// The current row, and on to the next.
    fn take(&mut self) -> RowKey {
        let last = self.levels.len() - 1;
        let values = self.levels.iter().filter_map(|level| level.left.front());
        let row = RowKey {
            clustering: values.cloned().collect(),
            digest: self.prefix_below(last),
        };
        self.levels[last].left.pop_front();
        self.at[last] += 1;
        self.more = self.settle(last, false);
        row
    }

    /// Rows that one visit writes; none where nothing of the partition is left.
    fn write(&mut self, partitions: &mut Partitions, position: u64) -> Vec<RowKey> {
        let about = self.about();
        let all = self.averages.most.saturating_add(1);
        let mut rows = Vec::new();
        loop {
            self.again();
            let (row, count) = partitions.visit(position, all, about);
            self.end = self.averages.place(row.saturating_add(count - 1));
            self.more = self.seek(row);
            while self.more {
                rows.push(self.take());
            }
            let whole = self.levels[0].left.is_empty();
            partitions.visited(position, row == 0, whole);
            if whole || !rows.is_empty() {
                return rows;
            }
        }
    }

    /// The first rows that a read of about `target` rows comes to, at most `most`; `written` rows are known to be there.
    fn read(&mut self, written: i64, most: usize) -> Vec<RowKey> {
        let about = match written {
            0 => self.about(),
            written => {
                self.end = self.averages.place(written - 1);
                let places = self.end.iter().zip(&self.averages.below);
                1 + places
                    .map(|(at, below)| at.saturating_mul(*below))
                    .sum::<i64>()
            }
        };
        self.share = (most as f64 / about as f64).clamp(0.0, 1.0);
        self.again();
        self.more = self.seek(0);
        let mut rows = Vec::new();
        while self.more && rows.len() < most {
            rows.push(self.take());
        }
        rows
    }
}

/// 64 random bits as a number of 0 inclusive to 1 exclusive.
fn unit(bits: u64) -> f64 {
    super::unit(bits)
}

impl Maker {
    /// What operation number `index` of a cassandra-stress line sends; `partitions` remembers what is begun.
    pub fn walk(
        &self,
        partitions: &mut Partitions,
        operation: usize,
        index: u64,
        positions: &[u64],
    ) -> Work {
        let Operation { table, kind } = &self.operations[operation];
        let filled = &self.tables[*table];
        match kind {
            Kind::Insert(plan) if !filled.content.in_turns() => {
                filled.visit(partitions, (operation, plan.as_ref()), index, positions)
            }
            Kind::Query(plan) if !self.validates(operation) && !filled.content.in_turns() => {
                let (position, written) = partitions.next_read(first(positions));
                let partition = filled.content.partition(position);
                let rows = filled.to_read(&partition, written, plan.rows(), index);
                let choice = filled.choice.at(index);
                let bound = plan.bind_of(&filled.content, &partition, &rows, choice);
                Work {
                    request: Request::Single(operation, bound),
                    partitions: 0,
                    rows: 0,
                    by_answer: true,
                }
            }
            _ => self.make(operation, index, positions),
        }
    }
}

impl Filled {
    fn bits(&self, index: u64, partition: &Partition) -> Bits {
        Bits::new(Seed(mix(self.choice.at(index)) ^ partition.digest))
    }

    /// Rows that the markers of a read are filled from.
    fn to_read(&self, of: &Partition, written: i64, most: usize, index: u64) -> Vec<RowKey> {
        if self.content.clustering_columns == 0 {
            return vec![RowKey::of_partition(of)];
        }
        let most = most.max(1);
        let mut rows = Steps::new(self, of, self.bits(index, of)).read(written, most);
        if rows.is_empty() {
            rows.push(self.content.pick(of, mix(index)));
        }
        rows
    }

    /// An insert: the rows of one visit of each of its partitions.
    fn visit(
        &self,
        partitions: &mut Partitions,
        (operation, plan): (usize, Option<&Plan>),
        index: u64,
        positions: &[u64],
    ) -> Work {
        let mut sent = Vec::new();
        let mut taken = 0;
        for drawn in positions {
            // What is visited again may turn out to be whole.
            while let Some(position) = partitions.next_write(*drawn) {
                let partition = self.content.partition(position);
                let rows = self.to_write(&partition, partitions, position, index);
                if rows.is_empty() {
                    continue;
                }
                taken += 1;
                sent.extend(rows.iter().map(|row| {
                    let bound = match plan {
                        Some(plan) => plan.bind_row(&self.content, &partition, row, index),
                        None => self.bound(&partition, row),
                    };
                    (operation, bound)
                }));
                break;
            }
        }
        self.sent(sent, taken)
    }

    fn to_write(
        &self,
        of: &Partition,
        partitions: &mut Partitions,
        position: u64,
        index: u64,
    ) -> Vec<RowKey> {
        if self.content.clustering_columns == 0 {
            partitions.visited(position, true, true);
            return vec![RowKey::of_partition(of)];
        }
        let mut bits = self.bits(index, of);
        let share = self.spec.profile.insert.select.draw_real(bits.next());
        let mut steps = Steps::new(self, of, bits);
        steps.share = share.clamp(0.0, 1.0);
        steps.write(partitions, position)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::maker_of;
    use super::*;
    use crate::dist::Dist;
    use crate::positions::Positions;
    use crate::workload::walk::Walk;

    /// Mean rows of a visit, and of how many visits; keys of four columns or of fewer.
    fn visits(clusters: &[&str], select: &str, visits: &str, revisit: &str) -> (f64, Vec<u32>) {
        let names = ["c1", "c2", "c3", "c4"];
        let columns: String = clusters
            .iter()
            .zip(names)
            .map(|(_, c)| format!("{c} int, "))
            .collect();
        let key: String = clusters
            .iter()
            .zip(names)
            .map(|(_, c)| format!(", {c}"))
            .collect();
        let specs: String = clusters
            .iter()
            .zip(names)
            .map(|(of, c)| format!("  - {{name: {c}, cluster: {of}}}\n"))
            .collect();
        let text = format!(
            "keyspace: ks\ntable: t\ntable_definition: CREATE TABLE t (k bigint, {columns}v int, PRIMARY KEY (k{key}))\ncolumnspec:\n{specs}insert: {{select: {select}}}\nqueries:\n  one: {{cql: select * from t where k = ? and c1 = ?, fields: samerow}}\n"
        );
        let maker = maker_of(&text);
        let dist = |text: &str| text.parse::<Dist>().expect("a distribution");
        let walk = Walk {
            visits: dist(visits),
            revisit: dist(revisit),
            positions: Positions::Range {
                from: 1,
                to: 1 << 40,
                wrap: true,
            },
        };
        let mut partitions = Partitions::new(&walk, Seed(3));
        let each: Vec<u32> = (0..2_000)
            .map(|index| maker.walk(&mut partitions, 0, index, &[0]).rows)
            .collect();
        let sum: u32 = each.iter().sum();
        (f64::from(sum) / each.len() as f64, each)
    }

    fn near(found: f64, wanted: f64) {
        assert!((found / wanted - 1.0).abs() < 0.05, "{found}, not {wanted}");
    }

    const OFTEN: &str = "uniform(1..1M)";

    #[test]
    fn a_visit_writes_its_share_of_the_partition_and_one_row_at_least() {
        let mean = |clusters: &[&str], select| visits(clusters, select, "fixed(1)", OFTEN).0;
        near(mean(&["fixed(40)"], "fixed(1)/1"), 40.0);
        near(mean(&["fixed(40)"], "fixed(1)/4"), 10.0);
        near(
            mean(&["uniform(20..40)"], "uniform(1..10)/10"),
            30.0 * 0.595,
        );
        near(mean(&["fixed(1000)"], "fixed(1)/1000"), 1.37);
        near(mean(&["fixed(1000)"], "fixed(2)/10240M"), 1.0);
        near(mean(&["fixed(10)", "fixed(10)"], "fixed(1)/1"), 100.0);
        // A prefix is taken with all of its rows; where chance took none of them, the last one is.
        near(mean(&["fixed(10)", "fixed(10)"], "fixed(1)/10"), 13.49);
    }

    #[test]
    fn with_three_clustering_columns_a_visit_ends_with_the_first_prefix() {
        let mean = |clusters: &[&str], select| visits(clusters, select, "fixed(1)", OFTEN).0;
        near(
            mean(&["fixed(5)", "fixed(5)", "fixed(5)"], "fixed(1)/1"),
            5.0,
        );
        near(
            mean(
                &["uniform(20..40)", "fixed(1)", "fixed(1)"],
                "uniform(1..10)/10",
            ),
            1.0,
        );
    }

    #[test]
    fn visits_split_a_partition() {
        let (mean, _) = visits(&["fixed(200)"], "fixed(1)/1", "fixed(20)", "uniform(1..50)");
        near(mean, 10.0);
        let (mean, each) = visits(&["fixed(200)"], "fixed(1)/1", "fixed(20)", OFTEN);
        near(mean, 10.0);
        assert!(each.iter().all(|rows| *rows == 10));
    }
}
