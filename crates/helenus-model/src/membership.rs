//! Nodes that come and go, as a cluster reports it: which keyspaces would have fewer nodes than replicas, and how far
//! streams are.
//! Refuses to count Cassandra's own keyspaces: nobody chose their replication.

use crate::ring::replication::Factor;
use crate::ring::{Replication, ReplicationError};
use crate::status::{ClusterView, is_own_keyspace};
use serde::Serialize;
use std::fmt;

/// A keyspace that needs more replicas than there would be nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Short {
    /// Keyspace.
    pub keyspace: String,
    /// Data centre; absent where the strategy knows none.
    pub data_center: Option<String>,
    /// Replicas that it needs.
    pub replicas: usize,
    /// Nodes that would be left for them.
    pub left: usize,
}

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            keyspace,
            replicas,
            left,
            ..
        } = self;
        match &self.data_center {
            Some(dc) => write!(f, "{keyspace} ({replicas} in {dc}, {left} left)"),
            None => write!(f, "{keyspace} ({replicas}, {left} left)"),
        }
    }
}

/// The keyspaces that need more replicas than there would be nodes without one of `data_center`, by name; Cassandra's
/// own are left out.
pub fn short_without_one(view: &ClusterView, data_center: &str) -> Vec<Short> {
    let owners = |dc: Option<&str>| {
        let of = view.nodes.iter().filter(|n| !n.tokens.is_empty());
        of.filter(|n| dc.is_none_or(|dc| n.data_center == dc))
            .count()
    };
    let short = |keyspace: &str, dc: Option<&str>, factor: Factor| {
        let left = owners(dc).saturating_sub(1);
        (factor.all > left).then(|| Short {
            keyspace: keyspace.to_owned(),
            data_center: dc.map(str::to_owned),
            replicas: factor.all,
            left,
        })
    };
    let users = view.keyspaces.iter().filter(|k| !is_own_keyspace(&k.name));
    let mut all: Vec<Short> = users
        .filter_map(|keyspace| {
            let read: Result<Replication, ReplicationError> =
                Replication::from_map(&keyspace.replication);
            match read.ok()? {
                Replication::Simple(factor) => short(&keyspace.name, None, factor),
                Replication::NetworkTopology(factors) => {
                    let factor = factors.get(data_center)?;
                    short(&keyspace.name, Some(data_center), *factor)
                }
                Replication::Local | Replication::Foreign { .. } => None,
            }
        })
        .collect();
    all.sort_by(|a, b| a.keyspace.cmp(&b.keyspace));
    all
}

/// How far the streams of a node that comes or goes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Streamed {
    /// Bytes that are there.
    pub done_bytes: u64,
    /// Bytes that the streams have in all, as far as they are known.
    pub total_bytes: u64,
    /// Streams: a pair of nodes and a direction.
    pub streams: u64,
}

impl Streamed {
    /// Two sights of different streams.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            done_bytes: self.done_bytes + other.done_bytes,
            total_bytes: self.total_bytes + other.total_bytes,
            streams: self.streams + other.streams,
        }
    }

    /// The further of two sights of the same streams: not every release still reports what has ended.
    #[must_use]
    pub fn furthest(self, other: Self) -> Self {
        Self {
            done_bytes: self.done_bytes.max(other.done_bytes),
            total_bytes: self.total_bytes.max(other.total_bytes),
            streams: self.streams.max(other.streams),
        }
    }
}

/// What `nodetool netstats` says of a node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Netstats {
    /// Its mode, such as `NORMAL` or `LEAVING`; empty where it does not say one.
    pub mode: String,
    /// Its streams, both ways.
    pub streamed: Streamed,
}

impl Netstats {
    /// Reads what nodetool prints, without `-H`.
    pub fn read(text: &str) -> Self {
        let mut read = Self::default();
        for line in text.lines().map(str::trim) {
            if let Some(mode) = line.strip_prefix("Mode: ") {
                mode.clone_into(&mut read.mode);
            }
            if let Some(stream) = stream(line) {
                read.streamed = read.streamed.and(stream);
            }
        }
        read
    }
}

/// `Receiving 3 files, 120 bytes total. Already received 1 files (33.33%), 40 bytes total (33.33%)`, without the
/// shares before 4.1; `Sending … Already sent …` the other way.
fn stream(line: &str) -> Option<Streamed> {
    if !line.starts_with("Receiving ") && !line.starts_with("Sending ") {
        return None;
    }
    let (all, already) = line.split_once(". Already ")?;
    let bytes = |part: &str| {
        let (_, sized) = part.split_once(", ")?;
        sized.split(' ').next()?.parse().ok()
    };
    Some(Streamed {
        done_bytes: bytes(already)?,
        total_bytes: bytes(all)?,
        streams: 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::{Keyspace, Node, Reach, State};
    use std::net::{IpAddr, Ipv4Addr};

    fn view(nodes: &[(&str, usize)], keyspaces: &[(&str, &[(&str, &str)])]) -> ClusterView {
        let mut all = Vec::new();
        for (dc, count) in nodes {
            for k in 0..*count {
                let last = u8::try_from(all.len() + 1).unwrap();
                all.push(Node {
                    address: IpAddr::V4(Ipv4Addr::new(127, 0, 0, last)),
                    storage_port: 7000,
                    data_center: (*dc).into(),
                    rack: "rack1".into(),
                    host_id: None,
                    tokens: vec![i64::from(last) * 10 + k as i64],
                    load_bytes: None,
                    reach: Reach::Up,
                    state: State::Normal,
                });
            }
        }
        let keyspace = |(name, options): &(&str, &[(&str, &str)])| Keyspace {
            name: (*name).into(),
            replication: options
                .iter()
                .map(|(k, v)| ((*k).into(), (*v).into()))
                .collect(),
        };
        ClusterView {
            other_partitioner: None,
            nodes: all,
            keyspaces: keyspaces.iter().map(keyspace).collect(),
        }
    }

    #[test]
    fn keyspaces_with_more_replicas_than_nodes_are_named() {
        let topology = [
            ("class", "NetworkTopologyStrategy"),
            ("DC1", "3"),
            ("DC2", "1"),
        ];
        let simple = [("class", "SimpleStrategy"), ("replication_factor", "5")];
        let own = [("class", "SimpleStrategy"), ("replication_factor", "3")];
        let local = [("class", "LocalStrategy")];
        let view = view(
            &[("DC1", 3), ("DC2", 2)],
            &[
                ("wide", &simple),
                ("app", &topology),
                ("system_distributed", &own),
                ("system_auth", &own),
                ("system", &local),
            ],
        );
        let shown = |dc: &str| {
            let short = short_without_one(&view, dc);
            short
                .iter()
                .map(Short::to_string)
                .collect::<Vec<_>>()
                .join("; ")
        };
        assert_eq!(shown("DC1"), "app (3 in DC1, 2 left); wide (5, 4 left)");
        // DC2 keeps the one that it needs.
        assert_eq!(shown("DC2"), "wide (5, 4 left)");
    }

    #[test]
    fn netstats_of_4_0_and_4_1_give_mode_and_bytes() {
        let old = "Mode: JOINING\nBootstrap 8a2f\n    /127.0.0.1:7000\n        Receiving 3 files, 120 bytes total. \
                   Already received 1 files, 40 bytes total\n            a.db 40/40 bytes (100%) received\n    \
                   /127.0.0.2:7000\n        Receiving 2 files, 1000 bytes total. Already received 2 files, 1000 bytes \
                   total\nRead Repair Statistics:\nAttempted: 0\n";
        let expected = Streamed {
            done_bytes: 1040,
            total_bytes: 1120,
            streams: 2,
        };
        let read = Netstats::read(old);
        assert_eq!((read.mode.as_str(), read.streamed), ("JOINING", expected));
        let new = "Mode: LEAVING\n    Sending 3 files, 120 bytes total. Already sent 1 files (33.33%), 40 bytes total \
                   (33.33%)\n";
        let read = Netstats::read(new);
        assert_eq!(read.mode, "LEAVING");
        assert_eq!(
            (read.streamed.done_bytes, read.streamed.total_bytes),
            (40, 120)
        );
        assert_eq!(
            Netstats::read("Mode: NORMAL\nNot sending any streams.\n").streamed,
            Streamed::default()
        );
    }
}
