//! A cell of the comparison: one level, workload, distance and load, and what was expected of it before it ran.
//! Refuses to be derived from results: it stands in the run's plan, which is stored before the first operation.

use super::predict::{Illegal, Prediction};
use super::{Distance, Scene, serial_of};
use crate::consistency::{Consistency, SerialConsistency};
use crate::worded::worded;
use crate::workload::{CustomWorkload, Query, Replication, Workload};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The table of every cell.
pub const TABLE: &str = "standard1";

/// Columns beside the key, as in cassandra-stress.
const COLUMNS: [&str; 5] = ["C0", "C1", "C2", "C3", "C4"];

worded! {
    /// What a cell sends.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Kind {
        /// Inserts.
        Write = "write",
        /// One insert to three reads of rows that are there.
        Mixed = "mixed",
        /// Inserts of new rows, each if it is not there.
        Lwt = "lwt",
    }
}

impl Kind {
    /// Its operations with their weights.
    pub fn operations(self) -> &'static [(&'static str, u32)] {
        match self {
            Self::Write => &[("write", 1)],
            Self::Mixed => &[("write", 1), ("read", 3)],
            Self::Lwt => &[("lwt", 1)],
        }
    }
}

/// How much is asked of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// So many operations a second, by a schedule.
    Rate(f64),
    /// Closed loop: so many operations in flight, each followed by the next.
    Closed(u32),
}

impl Load {
    /// `100/s` or `closed loop (50 in flight)`.
    pub fn words(self) -> String {
        match self {
            Self::Rate(per_s) => format!("{per_s}/s"),
            Self::Closed(in_flight) => format!("closed loop, {in_flight} in flight"),
        }
    }
}

/// A cell, as it is stored with its run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The comparison that it belongs to: the tag of its runs.
    pub comparison: String,
    /// Its repeat, from 0.
    pub repeat: u32,
    /// The level.
    pub level: Consistency,
    /// The second cell of the reference level in its repeat: what two cells of one level differ by is the noise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// The level that the others are compared with.
    pub reference: Consistency,
    /// What it sends.
    pub workload: Kind,
    /// How far apart the data centres were.
    pub distance: Distance,
    /// Round trips from the client's data centre, in microseconds.
    pub round_trips_us: BTreeMap<String, u64>,
    /// How much was asked.
    pub load: Load,
    /// Where the client was.
    pub client_dc: String,
    /// Replicas of each row by data centre.
    pub replicas: BTreeMap<String, u32>,
    /// `inter_dc_tcp_nodelay` of the nodes; absent where their settings do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_nodelay: Option<bool>,
    /// What distance was expected to cost, by operation.
    pub predicted: BTreeMap<String, Prediction>,
}

impl Cell {
    /// Serial consistency of its transactions.
    pub fn serial(&self) -> SerialConsistency {
        serial_of(self.level)
    }

    /// Its level as tables show it.
    pub fn level_words(&self) -> String {
        let word = self.level.word();
        if self.again {
            format!("{word} (again)")
        } else {
            word.to_owned()
        }
    }
}

/// What distance costs the operations of a workload at a level.
///
/// # Errors
/// One of them cannot be at that level.
pub fn predict(
    scene: &Scene,
    kind: Kind,
    level: Consistency,
) -> Result<BTreeMap<String, Prediction>, Illegal> {
    let of = |operation: &str| match operation {
        "read" => scene.read(level),
        "lwt" => scene.lwt(level, serial_of(level)),
        _ => scene.write(level),
    };
    let each = kind.operations().iter();
    each.map(|(name, _)| Ok(((*name).to_owned(), of(name)?)))
        .collect()
}

/// Statements that make a cell's keyspace and table. They fail where the keyspace already exists: it is not ours then.
pub fn schema(keyspace: &str, replicas: &BTreeMap<String, u32>) -> [String; 2] {
    let replication = Replication::Networked(replicas.clone()).cql();
    let columns: String = COLUMNS
        .iter()
        .map(|name| format!(", \"{name}\" blob"))
        .collect();
    [
        format!("CREATE KEYSPACE {keyspace} WITH replication = {replication}"),
        format!("CREATE TABLE {keyspace}.{TABLE} (key blob PRIMARY KEY{columns})"),
    ]
}

/// The workload of a cell in its keyspace; the keyspace is made by who runs the cell.
pub fn workload(keyspace: &str, kind: Kind, serial: SerialConsistency) -> Workload {
    let quoted = COLUMNS.map(|name| format!("\"{name}\"")).join(", ");
    let insert =
        format!("INSERT INTO {keyspace}.{TABLE} (key, {quoted}) VALUES (?, ?, ?, ?, ?, ?)");
    let query = |name: &str, cql: String| Query {
        name: name.to_owned(),
        check: name == "read",
        serial_consistency: (name == "lwt").then_some(serial),
        cql,
    };
    let read = format!("SELECT {quoted} FROM {keyspace}.{TABLE} WHERE key = ?");
    let queries = match kind {
        Kind::Write => vec![query("write", insert)],
        Kind::Mixed => vec![query("write", insert), query("read", read)],
        Kind::Lwt => vec![query("lwt", format!("{insert} IF NOT EXISTS"))],
    };
    Workload::Custom(CustomWorkload {
        name: format!("levels-{}", kind.word()),
        schema: Vec::new(),
        queries,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_s_statements_name_its_own_keyspace() {
        let replicas = BTreeMap::from([("DC1".to_owned(), 3), ("DC2".to_owned(), 1)]);
        let [keyspace, table] = schema("lv_1", &replicas);
        assert_eq!(
            keyspace,
            "CREATE KEYSPACE lv_1 WITH replication = {'class': 'NetworkTopologyStrategy', 'DC1': 3, 'DC2': 1}"
        );
        assert!(
            table.starts_with("CREATE TABLE lv_1.standard1 (key blob PRIMARY KEY, \"C0\" blob")
        );
        for kind in Kind::ALL {
            let serial = SerialConsistency::LocalSerial;
            let workload = workload("lv_1", kind, serial);
            let names: Vec<&str> = kind.operations().iter().map(|(name, _)| *name).collect();
            assert_eq!(workload.operations(), names);
            for name in names {
                let cql = workload.statement(name).expect("a statement");
                assert!(cql.contains("lv_1.standard1"), "{cql}");
                assert_eq!(cql.ends_with("IF NOT EXISTS"), kind == Kind::Lwt);
            }
        }
    }

    #[test]
    fn loads_have_words() {
        assert_eq!(Load::Rate(100.0).words(), "100/s");
        assert_eq!(Load::Closed(50).words(), "closed loop, 50 in flight");
    }
}
