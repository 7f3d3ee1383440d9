//! What comparing a table with what it must hold has found: counts of everything, and the first differences by name.
//! Refuses to keep every difference: the first ones show a table that is wrong everywhere, too.

use super::checksum::{Checksum, RowHash};
use super::expected::{Cells, Expected};
use crate::cql::CqlValue;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::iter::Peekable;

/// Longest text of a value in a difference, in characters.
const SHOWN: usize = 80;

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Difference {
    /// A row that must be there is not.
    Missing {
        /// Its key.
        key: String,
    },
    /// A cell is another than what must have been written.
    Wrong {
        /// The row's key.
        key: String,
        /// The column.
        column: String,
        /// What must have been written.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A row that the workload never writes.
    Foreign {
        /// Its key.
        key: String,
    },
}

/// What was found in a table, or in a part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Findings {
    /// Rows that must be there.
    pub expected: u64,
    /// Rows that are there.
    pub found: u64,
    /// Rows that are there as they must be.
    pub right: u64,
    /// Rows that must be there and are not.
    pub missing: u64,
    /// Rows that the workload may or may not write, and that are not there.
    pub unwritten: u64,
    /// Rows with at least one wrong cell.
    pub wrong: u64,
    /// Rows that the workload never writes.
    pub foreign: u64,
    /// The checksum of what must be there.
    #[serde(serialize_with = "as_text")]
    pub expected_checksum: Checksum,
    /// The checksum of what is there.
    #[serde(serialize_with = "as_text")]
    pub checksum: Checksum,
    /// The first differences of each kind, by the token of their partition.
    #[serde(serialize_with = "without_tokens")]
    pub differences: Vec<(i64, Difference)>,
    #[serde(skip)]
    keep: usize,
}

fn as_text<S: serde::Serializer>(sum: &Checksum, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(sum)
}

fn without_tokens<S: serde::Serializer>(
    all: &[(i64, Difference)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(all.iter().map(|(_, difference)| difference))
}

/// A partition that is being compared: what is still to come of it.
pub struct Comparing<'a> {
    token: i64,
    rows: Peekable<Box<dyn Iterator<Item = Cells> + 'a>>,
}

impl<'a> Comparing<'a> {
    /// The partition of these positions; none for one that the workload does not write.
    pub fn new(expected: &'a Expected, token: i64, positions: &[u64]) -> Self {
        Self {
            token,
            rows: expected.rows(positions).peekable(),
        }
    }
}

impl Findings {
    /// Nothing yet; `keep` differences of each kind will be named.
    pub fn new(keep: usize) -> Self {
        Self {
            expected: 0,
            found: 0,
            right: 0,
            missing: 0,
            unwritten: 0,
            wrong: 0,
            foreign: 0,
            expected_checksum: Checksum::default(),
            checksum: Checksum::default(),
            differences: Vec::new(),
            keep,
        }
    }

    /// Whether all is there and right; rows of others do not count.
    pub fn all_there(&self) -> bool {
        self.missing == 0 && self.wrong == 0
    }

    /// One row that was read, in the table's order within its partition.
    pub fn row(
        &mut self,
        expected: &Expected,
        hash: &RowHash,
        partition: &mut Comparing<'_>,
        row: &Cells,
    ) {
        self.found += 1;
        self.checksum.add(hash.row(row));
        loop {
            let order = partition
                .rows
                .peek()
                .map(|wanted| expected.compare(wanted, row));
            match (order, order.is_some_and(Ordering::is_gt)) {
                (None, _) | (_, true) => {
                    self.foreign += 1;
                    let key = key_text(expected, row);
                    return self.name(partition.token, Difference::Foreign { key });
                }
                (Some(Ordering::Less), _) => self.absent(expected, hash, partition),
                _ => break,
            }
        }
        if let Some(wanted) = partition.rows.next() {
            self.expected += 1;
            self.expected_checksum.add(hash.row(&wanted));
            self.cells(expected, partition.token, &wanted, row);
        }
    }

    /// The partition's end: what has not come is not there.
    pub fn end(&mut self, expected: &Expected, hash: &RowHash, partition: &mut Comparing<'_>) {
        while partition.rows.peek().is_some() {
            self.absent(expected, hash, partition);
        }
    }

    fn absent(&mut self, expected: &Expected, hash: &RowHash, partition: &mut Comparing<'_>) {
        let Some(wanted) = partition.rows.next() else {
            return;
        };
        if !expected.writes_all_rows() {
            self.unwritten += 1;
            return;
        }
        self.expected += 1;
        self.expected_checksum.add(hash.row(&wanted));
        self.missing += 1;
        let key = key_text(expected, &wanted);
        self.name(partition.token, Difference::Missing { key });
    }

    fn cells(&mut self, expected: &Expected, token: i64, wanted: &Cells, row: &Cells) {
        let mut right = true;
        for (at, column) in expected.table().columns.iter().enumerate() {
            let (wanted, found) = (wanted.get(at), row.get(at));
            if wanted == found || column.kind.is_key() || !expected.compares(at) {
                continue;
            }
            right = false;
            let difference = Difference::Wrong {
                key: key_text(expected, row),
                column: column.name.clone(),
                expected: text(wanted.and_then(Option::as_ref)),
                found: text(found.and_then(Option::as_ref)),
            };
            self.name(token, difference);
        }
        self.right += u64::from(right);
        self.wrong += u64::from(!right);
    }

    /// What another part of the table has given.
    pub fn merge(&mut self, other: Self) {
        self.expected += other.expected;
        self.found += other.found;
        self.right += other.right;
        self.missing += other.missing;
        self.unwritten += other.unwritten;
        self.wrong += other.wrong;
        self.foreign += other.foreign;
        self.expected_checksum.merge(other.expected_checksum);
        self.checksum.merge(other.checksum);
        for (token, difference) in other.differences {
            self.name(token, difference);
        }
    }

    /// Names a difference where it is among the first of its kind.
    fn name(&mut self, token: i64, difference: Difference) {
        let kind = std::mem::discriminant(&difference);
        let same = |(_, known): &(i64, Difference)| std::mem::discriminant(known) == kind;
        let known = self.differences.iter().filter(|d| same(d)).count();
        if known >= self.keep {
            let last = self.differences.iter().rposition(same);
            match last {
                Some(last) if self.differences[last].0 > token => {
                    self.differences.remove(last);
                }
                _ => return,
            }
        }
        let at = self
            .differences
            .partition_point(|(before, _)| *before <= token);
        self.differences.insert(at, (token, difference));
    }
}

/// `country='DE', ip='10.0.0.1'`.
fn key_text(expected: &Expected, row: &Cells) -> String {
    let columns = expected.table().columns.iter().zip(row);
    let keys = columns.filter(|(column, _)| column.kind.is_key());
    let each: Vec<String> = keys
        .map(|(column, value)| format!("{}={}", column.name, text(value.as_ref())))
        .collect();
    each.join(", ")
}

/// A value as cqlsh prints it, cut where it is long.
fn text(value: Option<&CqlValue>) -> String {
    let Some(value) = value else {
        return "null".to_owned();
    };
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;
    use crate::workload::Workload;
    use proptest::prelude::*;

    fn expected() -> Expected {
        let mut tables = Expected::tables(&Workload::Standard1, Seed(3)).expect("known");
        tables.remove(0)
    }

    fn hash(expected: &Expected) -> RowHash {
        RowHash::new(expected.table().columns.iter().map(|c| c.name.as_str()))
    }

    /// Position by position: the row, a wrong one, none, and one that nobody wrote.
    fn compared(fates: &[u8], keep: usize) -> Findings {
        let expected = expected();
        let hash = hash(&expected);
        let mut findings = Findings::new(keep);
        for (position, fate) in fates.iter().enumerate() {
            let position = position as u64;
            let token = position.cast_signed();
            let positions: &[u64] = if *fate == 3 { &[] } else { &[position] };
            let mut partition = Comparing::new(&expected, token, positions);
            let mut row = expected.rows(&[position]).next().expect("a row");
            match fate {
                1 => row[2] = None,
                2 => {
                    findings.end(&expected, &hash, &mut partition);
                    continue;
                }
                _ => {}
            }
            findings.row(&expected, &hash, &mut partition, &row);
            findings.end(&expected, &hash, &mut partition);
        }
        findings
    }

    #[test]
    fn each_difference_has_its_name() {
        let findings = compared(&[0, 1, 2, 3, 0], 5);
        insta::assert_json_snapshot!(findings, @r#"
        {
          "expected": 4,
          "found": 4,
          "right": 2,
          "missing": 1,
          "unwritten": 0,
          "wrong": 1,
          "foreign": 1,
          "expected_checksum": "084d9d8966a3b8f3",
          "checksum": "227429b74ea1ccde",
          "differences": [
            {
              "what": "wrong",
              "key": "key=0x910a2dec89025cc1f320",
              "column": "C1",
              "expected": "0xe75c1ce53bb90951cf1cf7d3a7ac0e523fd855051bce55f3bd5a03e5c61beb4b65c6",
              "found": "null"
            },
            {
              "what": "missing",
              "key": "key=0x975835de1c9756cef75f"
            },
            {
              "what": "foreign",
              "key": "key=0x1d0b14e4db018fedc164"
            }
          ]
        }
        "#);
        assert!(!findings.all_there());
        let whole = compared(&[0, 0, 3], 5);
        assert!(
            whole.all_there(),
            "rows of others are reported, not held against it"
        );
        assert_ne!(whole.checksum, whole.expected_checksum);
        let same = compared(&[0, 0], 5);
        assert_eq!(same.checksum, same.expected_checksum);
    }

    proptest! {
        #[test]
        fn counts_are_whole_whatever_is_kept(fates in prop::collection::vec(0_u8..4, 0..40), keep in 0_usize..6, cut in 0_usize..40) {
            let whole = compared(&fates, keep);
            let of = |fate: u8| fates.iter().filter(|f| **f == fate).count() as u64;
            prop_assert_eq!((whole.right, whole.wrong, whole.missing, whole.foreign), (of(0), of(1), of(2), of(3)));
            prop_assert_eq!((whole.expected, whole.found), (of(0) + of(1) + of(2), of(0) + of(1) + of(3)));
            let named = |what: fn(&Difference) -> bool| whole.differences.iter().filter(|(_, d)| what(d)).count();
            prop_assert_eq!(named(|d| matches!(d, Difference::Missing { .. })), keep.min(of(2) as usize));
            prop_assert_eq!(named(|d| matches!(d, Difference::Foreign { .. })), keep.min(of(3) as usize));
            // In parts, in any order: the same.
            let cut = cut.min(fates.len());
            let mut masked = [fates.clone(), fates.clone()];
            masked[0][cut..].fill(9);
            masked[1][..cut].fill(9);
            let part = |fates: &[u8], from: usize, to: usize| {
                let expected = expected();
                let hash = hash(&expected);
                let mut findings = Findings::new(keep);
                for (position, fate) in fates.iter().enumerate().take(to).skip(from) {
                    let (token, number) = (position as i64, position as u64);
                    let positions: Vec<u64> = if *fate == 3 { vec![] } else { vec![number] };
                    let mut partition = Comparing::new(&expected, token, &positions);
                    let mut row = expected.rows(&[number]).next().expect("a row");
                    if *fate == 1 { row[2] = None }
                    if *fate != 2 { findings.row(&expected, &hash, &mut partition, &row) }
                    findings.end(&expected, &hash, &mut partition);
                }
                findings
            };
            let mut merged = part(&masked[1], cut, fates.len());
            merged.merge(part(&masked[0], 0, cut));
            prop_assert_eq!(merged, whole);
        }
    }
}
