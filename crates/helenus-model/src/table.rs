//! What a table is made of: keys, types, and the order of its rows.
//! Refuses options of storage: they are the server's.

mod qualify;
mod schema;
#[cfg(test)]
mod tests;
mod text;

pub use schema::{Described, SchemaColumn, SchemaTypes, described};

pub use qualify::{if_absent, qualify};
pub use text::{TableError, read_type};

use crate::cql::CqlType;
use serde::{Deserialize, Serialize};

/// A table's columns in the order: partition key, clustering, static, regular (each as declared).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Its keyspace, as the server stores the name (unquoted, case kept).
    pub keyspace: String,
    /// Its name, as the server stores it.
    pub name: String,
    /// All columns.
    pub columns: Vec<TableColumn>,
}

/// One column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableColumn {
    /// Its name, as the server stores it.
    pub name: String,
    /// Its type, user types resolved.
    pub cql_type: CqlType,
    /// Where it is.
    pub kind: ColumnKind,
}

/// Where a column is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnKind {
    /// Part of the partition key.
    Partition,
    /// Clustering, ascending.
    Clustering,
    /// Clustering, descending.
    ClusteringDescending,
    /// One value a partition.
    Static,
    /// One value a row.
    Regular,
}

impl ColumnKind {
    /// Whether rows of a partition are distinguished by it.
    pub fn is_clustering(self) -> bool {
        matches!(self, Self::Clustering | Self::ClusteringDescending)
    }

    /// Whether it is part of the primary key.
    pub fn is_key(self) -> bool {
        self == Self::Partition || self.is_clustering()
    }
}

impl Table {
    /// Its name with the keyspace, quoted where CQL needs it.
    pub fn qualified(&self) -> String {
        use crate::cql::identifier;
        format!("{}.{}", identifier(&self.keyspace), identifier(&self.name))
    }

    /// A column's place by its name as the server stores it.
    pub fn place(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == column)
    }

    /// Whether its values are counters.
    pub fn counts(&self) -> bool {
        self.columns.iter().any(|c| c.cql_type == CqlType::Counter)
    }
}
