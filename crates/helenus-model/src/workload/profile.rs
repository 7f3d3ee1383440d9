//! A user profile: cassandra-stress's YAML, every key, and the table that it is about.
//! Refuses keys that it does not know, with line, key and the nearest known one.

mod read;
#[cfg(test)]
pub(in crate::workload) mod tests;

pub use read::{ProfileError, line_of_key};

use super::Reach;
use crate::consistency::{Consistency, SerialConsistency};
use crate::cql::tokens::tokens;
use crate::dist::{Dist, RatioDist};
use crate::table::{Table, if_absent, qualify};
use crate::workload::walk::Walk;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::str::FromStr;

/// The operation that every profile has beside its own: a whole partition is read back.
pub const VALIDATE: &str = "validate";

/// Profiles that run together; their operations are distinguished by `spec.operation`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfileWorkload {
    /// What it is called in results.
    pub name: String,
    /// At least one.
    pub specs: Vec<Spec>,
    /// Operations take partitions and rows as a cassandra-stress line does; none writes whole partitions, each by its own
    /// operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walk: Option<Walk>,
}

/// One profile and its table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// What was asked for.
    pub profile: Profile,
    /// The table, from `table_definition` and `extra_definitions` or from the live schema.
    pub table: Table,
}

/// A profile as its YAML has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Prefix of its operations; `keyspace.table` where the file has none.
    pub specname: String,
    /// Keyspace.
    pub keyspace: String,
    /// Statement that creates it where it is absent.
    pub keyspace_definition: Option<String>,
    /// Table.
    pub table: String,
    /// Statement that creates it where it is absent.
    pub table_definition: Option<String>,
    /// More statements (types, indexes, views).
    pub extra_definitions: Vec<String>,
    /// How columns are filled, by column.
    pub columns: BTreeMap<String, ColumnSpec>,
    /// The operation `insert`.
    pub insert: InsertSpec,
    /// Operations by name.
    pub queries: BTreeMap<String, QuerySpec>,
    /// Scans by name.
    pub token_range_queries: BTreeMap<String, TokenRangeSpec>,
}

impl ProfileWorkload {
    /// Its operations, those of several profiles with their specs' names before them.
    pub fn operations(&self) -> Vec<String> {
        let one = self.specs.len() == 1;
        let of = |spec: &Spec| {
            let profile = &spec.profile;
            let names = ["insert"].into_iter().chain(
                profile
                    .queries
                    .keys()
                    .chain(profile.token_range_queries.keys())
                    .map(String::as_str),
            );
            let names = names.chain(profile.validates().then_some(VALIDATE));
            let name = |name: &str| {
                if one {
                    name.to_owned()
                } else {
                    format!("{}.{name}", profile.specname)
                }
            };
            names.map(name).collect::<Vec<_>>()
        };
        self.specs.iter().flat_map(of).collect()
    }

    /// What an operation reaches for.
    pub fn reach(&self, operation: &str) -> Option<Reach> {
        let one = self.specs.len() == 1;
        self.specs.iter().find_map(|spec| {
            let profile = &spec.profile;
            let name = match one {
                true => operation,
                false => operation
                    .strip_prefix(profile.specname.as_str())?
                    .strip_prefix('.')?,
            };
            let keyspace = spec.table.keyspace.clone();
            let insert = &profile.insert;
            if name == "insert" {
                return Some(Reach {
                    keyspace,
                    level: insert.consistency,
                    serial: insert.serial_consistency,
                    conditional: insert.condition.is_some(),
                    reads: false,
                });
            }
            let query = profile.queries.get(name);
            let other = || {
                let scans = profile.token_range_queries.contains_key(name);
                scans || name == VALIDATE && profile.validates()
            };
            if query.is_none() && !other() {
                return None;
            }
            let words = query.map(|query| tokens(&query.cql)).unwrap_or_default();
            let reads = words.first().is_some_and(|word| word.is("select"));
            Some(Reach {
                keyspace,
                level: query.and_then(|query| query.consistency),
                serial: query.and_then(|query| query.serial_consistency),
                conditional: !reads && words.iter().any(|word| word.is("if")),
                reads: reads || query.is_none(),
            })
        })
    }

    /// The statements that make keyspaces, types and tables where they are absent, in order, each with its keyspace.
    pub fn schema(&self) -> Vec<String> {
        let of = |spec: &Spec| {
            let profile = &spec.profile;
            // Types come before the table that may be made of them, all else behind it.
            let is_type = |text: &&String| is_type(text);
            let first = profile.keyspace_definition.iter();
            let types = profile.extra_definitions.iter().filter(is_type);
            let others = profile.extra_definitions.iter().filter(|t| !is_type(t));
            let all = first.chain(types).chain(&profile.table_definition);
            let made = all.chain(others).map(|text| {
                let text = qualify(&if_absent(text), &profile.keyspace);
                text.trim().trim_end_matches(';').to_owned()
            });
            made.collect::<Vec<_>>()
        };
        let mut all: Vec<String> = Vec::new();
        for statement in self.specs.iter().flat_map(of) {
            if !all.contains(&statement) {
                all.push(statement);
            }
        }
        all
    }
}

fn is_type(statement: &str) -> bool {
    let mut words = statement.split_whitespace();
    let mut next = |word: &str| words.next().is_some_and(|w| w.eq_ignore_ascii_case(word));
    next("create") && next("type")
}

impl Profile {
    /// Whether `validate` is the operation that reads whole partitions back, and not a query of its own.
    pub fn validates(&self) -> bool {
        !self.queries.contains_key(VALIDATE) && !self.token_range_queries.contains_key(VALIDATE)
    }

    /// The statements that its table can be read from.
    pub fn definitions(&self) -> impl Iterator<Item = &str> {
        let extra = self.extra_definitions.iter();
        self.table_definition
            .iter()
            .chain(extra)
            .map(String::as_str)
    }
}

/// How a column is filled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ColumnSpec {
    /// Length of texts, blobs and collections: `uniform(4..8)` where nothing is said.
    pub size: Dist,
    /// Which of its values: `uniform(1..100B)` where nothing is said.
    pub population: Dist,
    /// Clustering columns: how many values for each of the column before. `fixed(1)` where nothing is said.
    pub cluster: Dist,
}

impl Default for ColumnSpec {
    fn default() -> Self {
        Self {
            size: Dist::uniform(4, 8),
            population: Dist::uniform(1, 100_000_000_000),
            cluster: Dist::fixed(1),
        }
    }
}

/// The operation `insert`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InsertSpec {
    /// Partitions per operation.
    pub partitions: Dist,
    /// Share of a partition's rows that one operation writes.
    pub select: RatioDist,
    /// Share of a row's columns that are written; the others are left out.
    pub row_population: RatioDist,
    /// Kind of the batch where an operation writes more than one row.
    pub batch: BatchKind,
    /// Partitions that take turns, one row a turn: position `p` is row `p / turns` of partition `p % turns`. Ours; without
    /// it a position is a whole partition.
    #[serde(default)]
    pub turns: Option<u64>,
    /// Partitions that stay for a stretch of positions, one row per position. An extension of Helenus, too.
    #[serde(default)]
    pub stretches: Option<Stretches>,
    /// `IF …`: rows are written by compare-and-set, one condition for each row.
    #[serde(default)]
    pub condition: Option<String>,
    /// Its own consistency.
    pub consistency: Option<Consistency>,
    /// Its own serial consistency.
    pub serial_consistency: Option<SerialConsistency>,
}

impl Default for InsertSpec {
    fn default() -> Self {
        Self {
            partitions: Dist::fixed(1),
            select: RatioDist::one(),
            row_population: RatioDist::one(),
            batch: BatchKind::Logged,
            turns: None,
            stretches: None,
            condition: None,
            consistency: None,
            serial_consistency: None,
        }
    }
}

impl InsertSpec {
    /// Whether a position is one row, and not a whole partition.
    pub fn is_by_row(&self) -> bool {
        self.turns.is_some() || self.stretches.is_some()
    }
}

/// Stretches of rows that go into one partition each, as ranges of addresses that are written out one by one: `24 of
/// zipf(1..4096)`. Position `p` is of stretch line `p % at_once`; the partition is drawn again for each stretch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stretches {
    /// Stretches that are written at once, a row of each in turn.
    pub at_once: u64,
    /// Rows of a stretch.
    pub length: Dist,
}

impl FromStr for Stretches {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted =
            || "write how many at once, and of which length: 24 of zipf(1..4096)".to_owned();
        let (at_once, length) = text.split_once(" of ").ok_or_else(wanted)?;
        let at_once = at_once.trim().parse::<u64>().ok();
        let at_once = at_once.filter(|n| *n > 0).ok_or_else(wanted)?;
        let length: Dist = length.trim().parse().map_err(|e| format!("{e}"))?;
        if length.min() < 1 {
            return Err("a stretch has at least one row".to_owned());
        }
        Ok(Self { at_once, length })
    }
}

/// Kind of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are CQL's own")]
pub enum BatchKind {
    #[default]
    Logged,
    Unlogged,
    Counter,
}

/// A statement of one's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuerySpec {
    /// The statement, with bind markers.
    pub cql: String,
    /// Whether all markers are filled from one row.
    pub same_row: bool,
    /// Its own consistency.
    pub consistency: Option<Consistency>,
    /// Its own serial consistency.
    pub serial_consistency: Option<SerialConsistency>,
}

/// A scan of the whole table, one page an operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TokenRangeSpec {
    /// Columns that are read; none reads all.
    pub columns: Option<Vec<String>>,
    /// Rows a page.
    pub page_size: u32,
}
