//! A cluster as `nodetool status` shows it: the same words, columns, order and rounding as Cassandra 5.0.9 prints.
//! Refuses to look anything up: the view comes from outside, and what it does not know prints as `?`.

mod table;

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::format::Format;
use crate::ring::{Member, Replication, ReplicationError, Ring, RingError};

pub use table::{java_hash_order, percent, size};

/// Name of the JSON shape.
pub const FORMAT: &str = "status";
/// Version of the JSON shape that is written.
pub const VERSION: u32 = 1;

/// Cassandra's own keyspaces that live on one node each.
const LOCAL_KEYSPACES: [&str; 2] = ["system", "system_schema"];
/// Cassandra's own keyspaces that are replicated.
const REPLICATED_KEYSPACES: [&str; 3] = ["system_auth", "system_distributed", "system_traces"];

/// Whether a keyspace is Cassandra's own.
pub fn is_own_keyspace(name: &str) -> bool {
    LOCAL_KEYSPACES.contains(&name) || REPLICATED_KEYSPACES.contains(&name)
}

/// Whether a node answers, in the eyes of the node that was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reach {
    /// Alive: `U`.
    Up,
    /// Convicted by the failure detector: `D`.
    Down,
    /// Neither: `?`.
    Unknown,
}

/// What a node is doing on the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Owns its tokens: `N`.
    Normal,
    /// On its way in; its tokens count in the table, not on the ring: `J`.
    Joining,
    /// On its way out, still owning its tokens: `L`.
    Leaving,
    /// On its way to another token, still owning the old one: `M`.
    Moving,
}

impl State {
    /// Reads `system_views.gossip_info.status_with_port`, such as `NORMAL,-1` or `MOVING,42`. A node that announced
    /// its shutdown still owns its tokens; absent for one that is not on the ring (left, removed, hibernating).
    pub fn from_gossip(status: &str) -> Option<Self> {
        match status.split(',').next()? {
            "NORMAL" | "shutdown" => Some(Self::Normal),
            "BOOT" | "BOOT_REPLACE" => Some(Self::Joining),
            "LEAVING" | "removing" => Some(Self::Leaving),
            "MOVING" => Some(Self::Moving),
            _ => None,
        }
    }
}

/// Reads `system_views.gossip_info.load`: bytes in Java's form of a double, such as `98790.0` or `1.048576E7`.
pub fn load_from_gossip(load: &str) -> Option<u64> {
    let bytes: f64 = load.parse().ok()?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sizes of files, checked to be no less than 0"
    )]
    (bytes >= 0.0 && bytes.is_finite()).then_some(bytes as u64)
}

/// A node as one node of the cluster knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// The broadcast address between nodes (not the one for clients): what nodetool prints.
    pub address: IpAddr,
    /// Port between nodes; not printed, but it takes part in the order of the rows.
    #[serde(default = "standard_storage_port")]
    pub storage_port: u16,
    /// Data centre.
    pub data_center: String,
    /// Rack.
    pub rack: String,
    /// Host id, absent while it is not known.
    pub host_id: Option<String>,
    /// Tokens, in JSON as text because they exceed what many readers of JSON numbers keep.
    #[serde(with = "tokens_as_text")]
    pub tokens: Vec<i64>,
    /// Bytes of live data files as last reported, absent while it is not known.
    pub load_bytes: Option<u64>,
    /// Whether it answers.
    pub reach: Reach,
    /// What it is doing.
    pub state: State,
}

/// A keyspace with its replication, as `system_schema.keyspaces` holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keyspace {
    /// Name.
    pub name: String,
    /// Strategy class and options.
    pub replication: BTreeMap<String, String>,
}

/// What a cluster looks like from one of its nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterView {
    /// Partitioner, where it is another than Murmur3: its tokens are not read, and nothing is said of shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_partitioner: Option<String>,
    /// Nodes in any order.
    pub nodes: Vec<Node>,
    /// Keyspaces in any order, Cassandra's own included, virtual ones left out.
    pub keyspaces: Vec<Keyspace>,
}

/// A view with its shares, stored and printed as JSON: `helenus.status/1`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// `helenus.status/1`.
    pub format: Format,
    /// Partitioner, where it is another than Murmur3; tokens and shares are then absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_partitioner: Option<String>,
    /// The keyspace whose replication the shares follow, absent where none was named.
    pub keyspace: Option<String>,
    /// Why there are no shares, as Cassandra words it; absent where there are.
    pub note: Option<String>,
    /// Nodes in the order of the view.
    pub nodes: Vec<NodeReport>,
    /// Keyspaces in the order of the view.
    pub keyspaces: Vec<Keyspace>,
}

/// A node with its share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeReport {
    /// The node.
    #[serde(flatten)]
    pub node: Node,
    /// Share of the data, 1 for all of it; absent outside the ring and where a note says why.
    pub owns: Option<f32>,
}

/// Shares of the data as `nodetool status` would print them.
#[derive(Debug, Clone, PartialEq)]
pub enum Ownership {
    /// A share a node, in the order of the view; absent for nodes outside the ring.
    Effective(Vec<Option<f32>>),
    /// No share means anything; the reason as Cassandra words it.
    Meaningless(&'static str),
}

/// What `nodetool status` says and how it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    /// Standard output: tables, the note, and the error of an unknown keyspace.
    pub stdout: String,
    /// First line of standard error, empty unless no node is on the ring.
    pub stderr: String,
    /// Exit code: 0, 1 for an unknown keyspace, 2 where no node is on the ring.
    pub exit: u8,
}

/// Why there is no status.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum StatusError {
    /// The keyspace asked for is not there (virtual keyspaces never are; names are case sensitive).
    #[error("no such keyspace: {0:?}")]
    NoKeyspace(String),
    /// No node of the view is on the ring.
    #[error("no node is on the ring yet")]
    NoRing,
    /// Two nodes claim one token.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// Shares cannot be computed.
    #[error(transparent)]
    Replication(#[from] ReplicationError),
}

impl ClusterView {
    /// The ring of the nodes that own tokens; joining ones own none yet. Indices are those of `nodes`.
    ///
    /// # Errors
    /// A token with two owners.
    pub fn ring(&self) -> Result<Ring, RingError> {
        let member = |node: &Node| Member {
            data_center: node.data_center.clone(),
            rack: node.rack.clone(),
            tokens: match node.state {
                State::Joining => Vec::new(),
                _ => node.tokens.clone(),
            },
        };
        Ring::new(self.nodes.iter().map(member).collect())
    }

    /// Shares under the replication of `keyspace`, or of all user keyspaces where none is named and they agree, or
    /// of `system_traces` where there is no user keyspace.
    ///
    /// # Errors
    /// An unknown keyspace, an empty ring, or a strategy whose replicas are not known.
    pub fn ownership(&self, keyspace: Option<&str>) -> Result<Ownership, StatusError> {
        if let Some(name) = keyspace
            && self.other_partitioner.is_some()
            && self.replication(name).is_none()
        {
            return Err(StatusError::NoKeyspace(name.to_owned()));
        }
        if self.other_partitioner.is_some() {
            return Ok(Ownership::Meaningless(OTHER_PARTITIONER_NOTE));
        }
        let replication = match keyspace {
            Some(name) => {
                let replication = self
                    .replication(name)
                    .ok_or_else(|| StatusError::NoKeyspace(name.to_owned()))??;
                if replication == Replication::Local {
                    return Ok(Ownership::Meaningless(LOCAL_NOTE));
                }
                replication
            }
            None => match self.common_replication()? {
                Ok(replication) => replication,
                Err(note) => return Ok(Ownership::Meaningless(note)),
            },
        };
        let ring = self.ring()?;
        if ring.tokens().is_empty() {
            return Err(StatusError::NoRing);
        }
        let shares = ring.effective_ownership(&replication)?;
        let on_ring =
            |(member, share): (&Member, f32)| (!member.tokens.is_empty()).then_some(share);
        Ok(Ownership::Effective(
            ring.members().iter().zip(shares).map(on_ring).collect(),
        ))
    }

    fn replication(&self, name: &str) -> Option<Result<Replication, ReplicationError>> {
        let found = self.keyspaces.iter().find(|k| k.name == name)?;
        Some(Replication::from_map(&found.replication))
    }

    /// The replication that all user keyspaces share, or why shares mean nothing.
    fn common_replication(&self) -> Result<Result<Replication, &'static str>, ReplicationError> {
        let mut users = self.keyspaces.iter().filter(|k| !is_own_keyspace(&k.name));
        let Some(first) = users.next() else {
            return self
                .replication("system_traces")
                .map_or(Ok(Err(NO_TRACES_NOTE)), |found| found.map(Ok));
        };
        let first = Replication::from_map(&first.replication)?;
        for other in users {
            if Replication::from_map(&other.replication)? != first {
                return Ok(Err(DIFFERING_NOTE));
            }
        }
        Ok(Ok(first))
    }

    /// Exactly what `nodetool status [keyspace]` of Cassandra 5.0.9 prints, in the root locale.
    ///
    /// # Errors
    /// What nodetool never meets: two owners of one token, or a strategy that Cassandra does not ship.
    pub fn nodetool(&self, keyspace: Option<&str>) -> Result<Printed, StatusError> {
        let ownership = match self.ownership(keyspace) {
            Ok(Ownership::Meaningless(note))
                if note != OTHER_PARTITIONER_NOTE && self.ring()?.tokens().is_empty() =>
            {
                return Ok(Printed {
                    stdout: format!("\nError: {NO_RING}\n"),
                    stderr: String::new(),
                    exit: 1,
                });
            }
            Ok(ownership) => ownership,
            Err(StatusError::NoKeyspace(name)) => {
                return Ok(Printed {
                    stdout: format!("\nError: The keyspace {name}, does not exist\n"),
                    stderr: String::new(),
                    exit: 1,
                });
            }
            Err(StatusError::NoRing) => {
                return Ok(Printed {
                    stdout: String::new(),
                    stderr: format!("error: {NO_RING}\n"),
                    exit: 2,
                });
            }
            Err(error) => return Err(error),
        };
        Ok(Printed {
            stdout: table::render(&self.nodes, &ownership, self.other_partitioner.is_some()),
            stderr: String::new(),
            exit: 0,
        })
    }
}

impl Report {
    /// The view with its shares under `keyspace`.
    ///
    /// # Errors
    /// As [`ClusterView::ownership`].
    pub fn new(view: ClusterView, keyspace: Option<&str>) -> Result<Self, StatusError> {
        let (note, shares) = match view.ownership(keyspace)? {
            Ownership::Effective(shares) => (None, shares),
            Ownership::Meaningless(note) => (Some(note.to_owned()), vec![None; view.nodes.len()]),
        };
        let with_share = |(node, owns)| NodeReport { node, owns };
        Ok(Self {
            format: Format::new(FORMAT, VERSION),
            other_partitioner: view.other_partitioner,
            keyspace: keyspace.map(str::to_owned),
            note,
            nodes: view.nodes.into_iter().zip(shares).map(with_share).collect(),
            keyspaces: view.keyspaces,
        })
    }
}

const LOCAL_NOTE: &str = "Ownership values for keyspaces with LocalStrategy are meaningless";
const OTHER_PARTITIONER_NOTE: &str = "The partitioner is not Murmur3: tokens and ownership are not shown. `helenus nodetool NAME status` shows them.";
const DIFFERING_NOTE: &str = "Non-system keyspaces don't have the same replication settings, effective ownership information is meaningless";
const NO_TRACES_NOTE: &str = "The node does not have system_traces yet, probably still bootstrapping. Effective ownership information is meaningless.";
const NO_RING: &str = "No nodes present in the cluster. Has this node finished starting up?";

const fn standard_storage_port() -> u16 {
    7000
}

/// Tokens as a list of decimal texts.
mod tokens_as_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(tokens: &[i64], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(tokens.iter().map(i64::to_string))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<i64>, D::Error> {
        let texts = Vec::<String>::deserialize(from)?;
        let parse = |text: String| {
            text.parse()
                .map_err(|_| D::Error::custom(format!("{text:?} is not a token")))
        };
        texts.into_iter().map(parse).collect()
    }
}
