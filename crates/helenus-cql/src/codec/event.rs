//! What a server pushes, and the schema change that both an event and a result can carry.
//! Refuses to act on any of it.

use super::error::{DecodeError, EncodeError, cut};
use super::wire::{Reader, Write};
use std::net::SocketAddr;

/// A pushed event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A node joined or left.
    Topology {
        /// What happened.
        change: TopologyChange,
        /// The node's native address.
        node: SocketAddr,
    },
    /// A node went up or down.
    Status {
        /// Whether it is up.
        up: bool,
        /// The node's native address.
        node: SocketAddr,
    },
    /// The schema changed.
    Schema(SchemaChange),
}

/// What happened to a node's place in the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TopologyChange {
    /// It joined.
    New,
    /// It left.
    Removed,
    /// Its tokens moved.
    Moved,
}

/// A change of schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaChange {
    /// `CREATED`, `UPDATED` or `DROPPED`.
    pub change: String,
    /// The keyspace that changed, or that holds what changed.
    pub keyspace: String,
    /// What changed.
    pub target: SchemaTarget,
}

/// What a change of schema is about.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are CQL's own")]
pub enum SchemaTarget {
    Keyspace,
    Table(String),
    Type(String),
    Function {
        name: String,
        arguments: Vec<String>,
    },
    Aggregate {
        name: String,
        arguments: Vec<String>,
    },
}

impl SchemaChange {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.put_string("schema change", &self.change)?;
        let kind = match &self.target {
            SchemaTarget::Keyspace => "KEYSPACE",
            SchemaTarget::Table(_) => "TABLE",
            SchemaTarget::Type(_) => "TYPE",
            SchemaTarget::Function { .. } => "FUNCTION",
            SchemaTarget::Aggregate { .. } => "AGGREGATE",
        };
        out.put_string("schema target", kind)?;
        out.put_string("keyspace", &self.keyspace)?;
        match &self.target {
            SchemaTarget::Keyspace => Ok(()),
            SchemaTarget::Table(name) | SchemaTarget::Type(name) => out.put_string("name", name),
            SchemaTarget::Function { name, arguments }
            | SchemaTarget::Aggregate { name, arguments } => {
                out.put_string("name", name)?;
                out.put_string_list("arguments", arguments)
            }
        }
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let change = reader.string("schema change")?;
        let kind = reader.string("schema target")?;
        let keyspace = reader.string("keyspace")?;
        let target = match kind.as_str() {
            "KEYSPACE" => SchemaTarget::Keyspace,
            "TABLE" => SchemaTarget::Table(reader.string("name")?),
            "TYPE" => SchemaTarget::Type(reader.string("name")?),
            "FUNCTION" => SchemaTarget::Function {
                name: reader.string("name")?,
                arguments: reader.string_list("arguments")?,
            },
            "AGGREGATE" => SchemaTarget::Aggregate {
                name: reader.string("name")?,
                arguments: reader.string_list("arguments")?,
            },
            _ => return Err(unknown("schema target", &kind)),
        };
        Ok(Self {
            change,
            keyspace,
            target,
        })
    }
}

impl Event {
    /// The name under which a client registers for events of this kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Topology { .. } => "TOPOLOGY_CHANGE",
            Self::Status { .. } => "STATUS_CHANGE",
            Self::Schema(_) => "SCHEMA_CHANGE",
        }
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.put_string("event", self.kind())?;
        match self {
            Self::Topology { change, node } => {
                let change = match change {
                    TopologyChange::New => "NEW_NODE",
                    TopologyChange::Removed => "REMOVED_NODE",
                    TopologyChange::Moved => "MOVED_NODE",
                };
                out.put_string("topology change", change)?;
                out.put_socket_address(*node);
            }
            Self::Status { up, node } => {
                out.put_string("status change", if *up { "UP" } else { "DOWN" })?;
                out.put_socket_address(*node);
            }
            Self::Schema(change) => change.encode(out)?,
        }
        Ok(())
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let kind = reader.string("event")?;
        match kind.as_str() {
            "TOPOLOGY_CHANGE" => {
                let name = reader.string("topology change")?;
                let change = match name.as_str() {
                    "NEW_NODE" => TopologyChange::New,
                    "REMOVED_NODE" => TopologyChange::Removed,
                    "MOVED_NODE" => TopologyChange::Moved,
                    _ => return Err(unknown("topology change", &name)),
                };
                let node = reader.socket_address("node")?;
                Ok(Self::Topology { change, node })
            }
            "STATUS_CHANGE" => {
                let name = reader.string("status change")?;
                let up = match name.as_str() {
                    "UP" => true,
                    "DOWN" => false,
                    _ => return Err(unknown("status change", &name)),
                };
                let node = reader.socket_address("node")?;
                Ok(Self::Status { up, node })
            }
            "SCHEMA_CHANGE" => SchemaChange::decode(reader).map(Self::Schema),
            _ => Err(unknown("event", &kind)),
        }
    }
}

fn unknown(what: &'static str, name: &str) -> DecodeError {
    DecodeError::UnknownName {
        what,
        name: cut(name),
    }
}
