//! A user profile: cassandra-stress's YAML, every key, and the table that it is about.
//! Refuses keys that it does not know, with line, key and the nearest known one.

use crate::consistency::{Consistency, SerialConsistency};
use crate::dist::{Dist, RatioDist};
use crate::table::Table;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Profiles that run together; their operations are told apart by `spec.operation`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfileWorkload {
    /// What it is called in results.
    pub name: String,
    /// At least one.
    pub specs: Vec<Spec>,
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

    /// The statements that make keyspaces, types and tables, in order.
    pub fn schema(&self) -> Vec<String> {
        let of = |spec: &Spec| {
            let profile = &spec.profile;
            let first = profile.keyspace_definition.iter();
            let all = first.chain(&profile.table_definition);
            all.chain(&profile.extra_definitions)
                .cloned()
                .collect::<Vec<_>>()
        };
        self.specs.iter().flat_map(of).collect()
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

/// The operation `insert`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InsertSpec {
    /// Partitions an operation.
    pub partitions: Dist,
    /// Share of a partition's rows that one operation writes.
    pub select: RatioDist,
    /// Share of a row's columns that are written; the others are left out.
    pub row_population: RatioDist,
    /// Kind of the batch where an operation writes more than one row.
    pub batch: BatchKind,
    /// Its own consistency.
    pub consistency: Option<Consistency>,
    /// Its own serial consistency.
    pub serial_consistency: Option<SerialConsistency>,
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
