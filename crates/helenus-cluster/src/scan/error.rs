//! Why a table cannot be read to its end, with its cure.
//! Refuses to report a trouble that was overcome: those are counted.

use crate::error::{Class, Problem};
use helenus_cql::client::ClientError;
use helenus_model::ring::{ReplicationError, RingError};
use helenus_model::scan::{Changed, Overlap, Span};
use std::io;
use std::path::PathBuf;

/// Why a table cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// Not a table's name.
    #[error("{text:?} is not the name of a table")]
    Form {
        /// What was given.
        text: String,
    },
    /// No such keyspace.
    #[error("no such keyspace: {name}")]
    UnknownKeyspace {
        /// Asked for.
        name: String,
        /// The nearest there is.
        nearest: Option<String>,
    },
    /// No such table.
    #[error("keyspace {keyspace} has no table {name}")]
    UnknownTable {
        /// Keyspace.
        keyspace: String,
        /// Asked for.
        name: String,
        /// The nearest there is.
        nearest: Option<String>,
    },
    /// Each node has its own.
    #[error("the tables of {keyspace} are local to each node and have no ranges")]
    EachNodeS {
        /// Keyspace.
        keyspace: String,
    },
    /// Tokens that we cannot compute with.
    #[error("the cluster's partitioner is {name}")]
    Partitioner {
        /// Its class.
        name: String,
    },
    /// The nodes' tokens make no ring.
    #[error("the nodes' tokens do not form a ring")]
    Ring(#[source] RingError),
    /// Where a keyspace's copies are is not known.
    #[error("the keyspace's replication is not understood")]
    Replication(#[source] ReplicationError),
    /// The node knows of no tokens.
    #[error("no node reports its tokens")]
    NoTokens,
    /// The server refuses the statement.
    #[error("the table cannot be read")]
    Refused {
        /// The server's words.
        source: Box<ClientError>,
    },
    /// Nothing helped.
    #[error("cannot read the tokens after {} up to {}: no answer in {tries} tries", span.start, span.end)]
    Stuck {
        /// The span.
        span: Span,
        /// Tries in a row.
        tries: u32,
        /// The last failure.
        source: Box<ClientError>,
    },
    /// A row that was to be read back.
    #[error("cannot read the key {key}: no answer in {tries} tries")]
    Unread {
        /// Its partition key, as CQL writes it.
        key: String,
        /// Tries in a row.
        tries: u32,
        /// The last failure.
        source: Box<ClientError>,
    },
    /// A value is not of its column's type.
    #[error("the rows do not have the table's types")]
    Decode(#[from] helenus_cql::codec::DecodeError),
    /// A key that the workload makes is not of the table's type.
    #[error("the workload's keys do not have the types of its table")]
    Encode(#[from] helenus_cql::codec::EncodeError),
    /// Another process counts the same table.
    #[error("another helenus is counting {table}")]
    Busy {
        /// The table.
        table: String,
    },
    /// A count of this table was cut off.
    #[error("a count of {table} was interrupted at {percent} % of the ring, {rows} rows")]
    Unfinished {
        /// The table.
        table: String,
        /// Share that is done.
        percent: u32,
        /// Rows so far.
        rows: u64,
    },
    /// It cannot be gone on with.
    #[error("the interrupted count cannot be resumed")]
    Changed(#[from] Changed),
    /// Its journal is damaged.
    #[error("the journal {path} cannot be used")]
    Overlap {
        /// The file.
        path: PathBuf,
        /// Why.
        source: Overlap,
    },
    /// A line of it is damaged.
    #[error("the journal {path} cannot be read")]
    Json {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// Rows that were read.
    #[error("the rows cannot be written")]
    Unwritten {
        /// Why.
        source: io::Error,
    },
    /// The journal's file.
    #[error("the journal of the count cannot be written")]
    Io(#[from] io::Error),
}

impl Problem for ScanError {
    fn class(&self) -> Class {
        match self {
            Self::Refused { .. } | Self::Stuck { .. } | Self::Unread { .. } | Self::Decode(_) => {
                Class::Cluster
            }
            Self::Io(_) | Self::Unwritten { .. } => Class::Environment,
            _ => Class::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        let nearest = |name: &Option<String>| name.as_ref().map(|n| format!("did you mean {n}?"));
        match self {
            Self::Form { .. } => Some("write KEYSPACE.TABLE, such as keyspace1.standard1".into()),
            Self::UnknownKeyspace { nearest: name, .. } => nearest(name)
                .or_else(|| Some("`DESCRIBE KEYSPACES` in `helenus cql` lists them".into())),
            Self::UnknownTable {
                nearest: name,
                keyspace,
                ..
            } => nearest(name).or_else(|| {
                Some(format!(
                    "`DESCRIBE KEYSPACE {keyspace}` in `helenus cql` lists them"
                ))
            }),
            Self::EachNodeS { .. } => {
                Some("ask a node: `helenus cql NAME/NODE -e 'SELECT …'`".into())
            }
            Self::Partitioner { .. } => Some(
                "only Murmur3Partitioner's ranges are known: count with SELECT count(*)".into(),
            ),
            Self::Refused { source } => source.hint().map(str::to_owned),
            Self::Stuck { source, .. } => Some(stuck_hint(source)),
            Self::Unread { .. } => Some(
                "start the nodes that hold it, or read at a lower --cl; `helenus status` shows which are down"
                    .into(),
            ),
            Self::Busy { .. } => Some("wait until it is done, or stop it".into()),
            Self::Unfinished { .. } => Some("--resume continues it, --anew starts again".into()),
            Self::Changed(_) | Self::Overlap { .. } | Self::Json { .. } => {
                Some("--anew starts again".into())
            }
            Self::Ring(_)
            | Self::Replication(_)
            | Self::NoTokens
            | Self::Decode(_)
            | Self::Encode(_)
            | Self::Unwritten { .. }
            | Self::Io(_) => None,
        }
    }
}

fn stuck_hint(source: &ClientError) -> String {
    let by_server = source.server().map(|error| error.kind.name());
    match by_server {
        Some("unavailable") => {
            "start the nodes that hold it, or read at a lower --cl; then repeat the command"
                .to_owned()
        }
        Some("read failure") => {
            "the node's log says why: many tombstones need a compaction, large values more heap"
                .to_owned()
        }
        _ => "look at the node's log, and repeat the command when the node is less busy".to_owned(),
    }
}
