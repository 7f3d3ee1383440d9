//! Workloads: which tables, which statements, and which data at which position.
//! The data is a pure function of (seed, position), so whatever is read back can be checked.
//! Refuses to remember anything: there is no list of what was written.

pub mod checksum;
pub mod draft;
pub mod expected;
pub mod findings;
pub mod maker;
pub mod needs;
pub mod operation;
pub mod order;
pub mod outline;
pub mod profile;
pub mod replication;
pub mod standard1;
pub mod table_options;
pub mod user_statements;
pub mod values;
pub mod walk;

use crate::consistency::{Consistency, SerialConsistency};
use crate::cql::tokens::tokens;
use crate::schema_text::{leaves_replication_open, with_replication};
use crate::seed::Seed;
pub use replication::{Replication, ReplicationFactor};
use serde::{Deserialize, Serialize};

/// What is run against the cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Workload {
    /// cassandra-stress's default table: a 10-byte key and five columns of 34 bytes.
    Standard1,
    /// Tables and statements of one's own; every bind marker must name a column.
    Custom(CustomWorkload),
    /// User profiles in cassandra-stress's language, and beyond it.
    Profiles(profile::ProfileWorkload),
}

/// Tables and statements of one's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomWorkload {
    /// What it is called in results.
    pub name: String,
    /// Statements that create keyspaces, types and tables, in order.
    pub schema: Vec<String>,
    /// The operations.
    pub queries: Vec<Query>,
}

/// One named statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Query {
    /// The operation's name.
    pub name: String,
    /// The statement, with bind markers.
    pub cql: String,
    /// Whether the row that it reads is compared with the one that was written.
    #[serde(default = "yes")]
    pub check: bool,
    /// Its own serial consistency, where it is conditional.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial_consistency: Option<SerialConsistency>,
}

fn yes() -> bool {
    true
}

/// What an operation reaches for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    /// The keyspace of its table, as the server stores the name.
    pub keyspace: String,
    /// Its own consistency level.
    pub level: Option<Consistency>,
    /// Its own serial consistency.
    pub serial: Option<SerialConsistency>,
    /// Whether it is a conditional write.
    pub conditional: bool,
    /// Whether it reads.
    pub reads: bool,
}

impl Reach {
    /// Of a statement that names its keyspace.
    fn of(cql: &str) -> Option<Self> {
        let tokens = tokens(cql);
        let at = |word: &str| tokens.iter().position(|token| token.is(word));
        let reads = tokens.first().is_some_and(|token| token.is("select"));
        let name = 1 + at("into").or_else(|| at("from")).or_else(|| at("update"))?;
        let keyspace = tokens.get(name).filter(|token| token.is_name())?;
        tokens.get(name + 1).filter(|token| token.is("."))?;
        Some(Self {
            keyspace: keyspace.text.clone(),
            level: None,
            serial: None,
            conditional: !reads && at("if").is_some(),
            reads,
        })
    }
}

/// What comparing a read row with the data's function said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Every column is what was written.
    Match,
    /// There is no row.
    Missing,
    /// This column (by its place in the row) differs.
    Wrong {
        /// Place in the row.
        column: usize,
    },
}

impl Workload {
    /// What it is called in results.
    pub fn name(&self) -> &str {
        match self {
            Self::Standard1 => "standard1",
            Self::Custom(own) => &own.name,
            Self::Profiles(profiles) => &profiles.name,
        }
    }

    /// The statements that make its keyspaces and tables. Where the workload leaves the replication open, or where a
    /// person `asked` for it, its keyspaces get this one.
    pub fn schema(&self, replication: &Replication, asked: bool) -> Vec<String> {
        let statements = match self {
            Self::Standard1 => return standard1::schema(replication),
            Self::Custom(own) => own.schema.clone(),
            Self::Profiles(profiles) => profiles.schema(),
        };
        let map = replication.cql();
        let made = |text: String| match asked || leaves_replication_open(&text) {
            true => with_replication(&text, &map).unwrap_or(text),
            false => text,
        };
        statements.into_iter().map(made).collect()
    }

    /// What an operation reads or writes, and at which level where it brings one of its own; nothing where its statement
    /// does not say.
    pub fn reach(&self, operation: &str) -> Option<Reach> {
        if let Self::Profiles(profiles) = self {
            return profiles.reach(operation);
        }
        let query = match self {
            Self::Custom(own) => own.queries.iter().find(|query| query.name == operation),
            _ => None,
        };
        let reach = Reach::of(self.statement(operation)?)?;
        Some(Reach {
            serial: query.and_then(|query| query.serial_consistency),
            ..reach
        })
    }

    /// The operations' names, in order.
    pub fn operations(&self) -> Vec<String> {
        if let Self::Profiles(profiles) = self {
            return profiles.operations();
        }
        let names = self.queries_by_name().map(|(name, _)| name.to_owned());
        names.collect()
    }

    /// Whether an operation makes what it is about, instead of looking for it: the insert of a profile, and what is
    /// named `write` elsewhere.
    pub fn writes(&self, operation: &str) -> bool {
        match self {
            Self::Profiles(_) => operation == "insert" || operation.ends_with(".insert"),
            Self::Standard1 | Self::Custom(_) => operation == "write",
        }
    }

    /// The operations that read.
    pub fn reads(&self) -> Vec<String> {
        let reads = |name: &String| match self.statement(name) {
            Some(cql) => tokens(cql).first().is_some_and(|token| token.is("select")),
            None => self.reach(name).is_some_and(|reach| reach.reads),
        };
        self.operations().into_iter().filter(reads).collect()
    }

    /// The statement of this operation, if there is one; none for profiles, whose operations may have several.
    pub fn statement(&self, operation: &str) -> Option<&str> {
        self.queries_by_name()
            .find(|(name, _)| *name == operation)
            .map(|(_, cql)| cql)
    }

    fn queries_by_name(&self) -> impl Iterator<Item = (&str, &str)> {
        let built_in: &[(&str, &str)] = match self {
            Self::Standard1 => &standard1::STATEMENTS,
            Self::Custom(_) | Self::Profiles(_) => &[],
        };
        let own: &[Query] = match self {
            Self::Standard1 | Self::Profiles(_) => &[],
            Self::Custom(custom) => &custom.queries,
        };
        built_in.iter().copied().chain(
            own.iter()
                .map(|query| (query.name.as_str(), query.cql.as_str())),
        )
    }
}

/// The seed of a run's data, from the run's root seed. Reads and writes must share it.
pub fn data_seed(root: Seed) -> Seed {
    root.derive("data")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_statements_and_replication() {
        let w = Workload::Standard1;
        assert_eq!(w.operations(), ["write", "read"]);
        assert!(w.statement("read").is_some_and(|s| s.contains("SELECT")));
        assert_eq!(w.statement("erase"), None);
        assert_eq!(w.reads(), ["read"]);
        let two: ReplicationFactor = "DC1=3,DC2=1".parse().expect("a factor");
        let schema = w.schema(&two.on([]), false);
        assert!(schema[0].contains("'NetworkTopologyStrategy', 'DC1': 3, 'DC2': 1}"));
        let json =
            r#"{"custom":{"name":"kv","schema":[],"queries":[{"name":"put","cql":"INSERT …"}]}}"#;
        let custom: Workload = serde_json::from_str(json).expect("reads");
        assert_eq!(custom.operations(), ["put"]);
        assert_eq!(custom.name(), "kv");
    }

    #[test]
    fn what_an_operation_reaches_for() {
        let said = |cql: &str| Reach::of(cql).map(|r| (r.keyspace, r.conditional));
        let some = |name: &str, conditional| Some((name.to_owned(), conditional));
        assert_eq!(said("SELECT a FROM ks.t WHERE b = ?"), some("ks", false));
        assert_eq!(
            said("INSERT INTO \"Ks\".t (a) VALUES (?) IF NOT EXISTS"),
            some("Ks", true)
        );
        assert_eq!(
            said("UPDATE KS.t SET a = ? WHERE b = ? IF EXISTS"),
            some("ks", true)
        );
        assert_eq!(
            said("BEGIN BATCH INSERT INTO ks.t (a) VALUES (?) APPLY BATCH"),
            some("ks", false)
        );
        assert_eq!(said("DELETE FROM t WHERE b = ?"), None);
        let own = Workload::Standard1.reach("write").expect("a keyspace");
        assert_eq!((own.keyspace.as_str(), own.level), ("keyspace1", None));
    }
}
