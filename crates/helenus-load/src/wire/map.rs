//! The cluster as its nodes describe it: who is there, who owns which token, who may coordinate what.
//! Refuses connections: it is read over one and says where others lead.

use helenus_cql::client::{Client, ClientError};
use helenus_cql::codec::Consistency;
use helenus_cql::rows::{Rows, plain};
use helenus_model::cql::CqlValue;
use helenus_model::ring::{Member, Replication, Ring};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// A node as it is described.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Peer {
    /// Its id; none where it is known by its address only.
    pub(super) host: Option<[u8; 16]>,
    pub(super) address: SocketAddr,
    pub(super) data_centre: String,
    rack: String,
    tokens: Vec<i64>,
}

/// What a node says about the cluster.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Map {
    pub(super) peers: Vec<Peer>,
    replication: BTreeMap<String, Replication>,
}

impl Map {
    /// Addresses of nodes that coordinate and about which nothing else is asked.
    pub(super) fn of_gateways(addresses: &[SocketAddr]) -> Self {
        let peer = |address: &SocketAddr| Peer {
            host: None,
            address: *address,
            data_centre: String::new(),
            rack: String::new(),
            tokens: Vec::new(),
        };
        Self {
            peers: addresses.iter().map(peer).collect(),
            replication: BTreeMap::new(),
        }
    }

    /// Asks the node at `address`.
    ///
    /// # Errors
    /// What the connection or the server says.
    pub(super) fn read(client: &mut Client, address: SocketAddr) -> Result<Self, ClientError> {
        let one = Consistency::One;
        let local = client.query(
            "SELECT host_id, data_center, rack, tokens, partitioner FROM system.local",
            one,
        )?;
        let hashes = local
            .text(0, "partitioner")
            .is_none_or(|name| name.ends_with("Murmur3Partitioner"));
        let mut peers = Vec::new();
        peers.extend(peer(&local, 0, Some(address)));
        let others = client.query(
            "SELECT peer, host_id, data_center, rack, tokens, native_address, native_port FROM system.peers_v2",
            one,
        );
        let others = match others {
            // Cassandra before 4.0: every node has the port that this one has.
            Err(ClientError::Server { .. }) => client.query(
                "SELECT peer, host_id, data_center, rack, tokens, rpc_address FROM system.peers",
                one,
            )?,
            others => others?,
        };
        for row in 0..others.len() {
            let at = address_of(&others, row, address.port());
            // A node may know itself under its old address.
            let other = peer(&others, row, at).filter(|p| peers.iter().all(|q| q.host != p.host));
            peers.extend(other);
        }
        if !hashes {
            peers.iter_mut().for_each(|peer| peer.tokens.clear());
        }
        let keyspaces = client.query(
            "SELECT keyspace_name, replication FROM system_schema.keyspaces",
            one,
        )?;
        let replication = (0..keyspaces.len()).filter_map(|row| {
            let CqlValue::Map(pairs) = keyspaces.value(row, "replication")? else {
                return None;
            };
            let pairs = pairs.iter().map(|(key, value)| (plain(key), plain(value)));
            let replication = Replication::from_map(&pairs.collect()).ok()?;
            Some((keyspaces.text(row, "keyspace_name")?, replication))
        });
        Ok(Self {
            peers,
            replication: replication.collect(),
        })
    }

    /// The ring's ranges in order, tokens above the first up to the second; the one that goes round its end is two.
    pub(super) fn ranges(&self) -> Vec<(i64, i64)> {
        let tokens = self.peers.iter().flat_map(|peer| &peer.tokens);
        let mut tokens: Vec<i64> = tokens.copied().collect();
        tokens.sort_unstable();
        tokens.dedup();
        tokens.push(i64::MAX);
        let mut above = i64::MIN;
        let mut all = Vec::with_capacity(tokens.len());
        for to in tokens {
            if to > above {
                all.push((above, to));
            }
            above = to;
        }
        all
    }

    /// Who holds which tokens of a keyspace, of the peers that `may_coordinate`; none where it is not known.
    pub(super) fn routes(
        &self,
        keyspace: &str,
        may_coordinate: impl Fn(&Peer) -> bool,
    ) -> Option<Routes> {
        let replication = self.replication.get(keyspace)?;
        let members = self.peers.iter().map(|peer| Member {
            data_center: peer.data_centre.clone(),
            rack: peer.rack.clone(),
            tokens: peer.tokens.clone(),
        });
        let ring = Ring::new(members.collect()).ok()?;
        let mut routes = Routes::default();
        for (token, _) in ring.tokens() {
            let mut replicas = replication.replicas(&ring, *token).ok()?;
            replicas.retain(|at| may_coordinate(&self.peers[*at]));
            routes.tokens.push(*token);
            routes.replicas.push(replicas);
        }
        Some(routes)
    }
}

fn peer(rows: &Rows, row: usize, address: Option<SocketAddr>) -> Option<Peer> {
    let Some(CqlValue::Uuid(host)) = rows.value(row, "host_id") else {
        return None;
    };
    let tokens = match rows.value(row, "tokens") {
        Some(CqlValue::Set(all)) => all.iter().filter_map(|t| plain(t).parse().ok()).collect(),
        _ => Vec::new(),
    };
    Some(Peer {
        host: Some(*host),
        address: address?,
        data_centre: rows.text(row, "data_center")?,
        rack: rows.text(row, "rack")?,
        tokens,
    })
}

/// Where a peer takes CQL; one that says *everywhere* is asked where it speaks to other nodes.
fn address_of(rows: &Rows, row: usize, port: u16) -> Option<SocketAddr> {
    let address = |column: &str| match rows.value(row, column) {
        Some(CqlValue::Inet(address)) if !address.is_unspecified() => Some(*address),
        _ => None,
    };
    let own = address("native_address").or_else(|| address("rpc_address"));
    let address: IpAddr = own.or_else(|| address("peer"))?;
    let port = match rows.value(row, "native_port") {
        Some(CqlValue::Int(port)) => u16::try_from(*port).ok()?,
        _ => port,
    };
    Some(SocketAddr::new(address, port))
}

/// The replicas of each token of a keyspace, as places among the map's peers.
#[derive(Debug, Default)]
pub(super) struct Routes {
    tokens: Vec<i64>,
    replicas: Vec<Vec<usize>>,
}

impl Routes {
    /// Who holds this token.
    pub(super) fn of(&self, token: i64) -> &[usize] {
        let at = self.tokens.partition_point(|end| *end < token);
        let at = if at == self.tokens.len() { 0 } else { at };
        self.replicas.get(at).map_or(&[], Vec::as_slice)
    }

    /// Puts other places in: those of the nodes that are connected to.
    pub(super) fn renumber(&mut self, place: impl Fn(usize) -> usize) {
        let all = self.replicas.iter_mut().flatten();
        all.for_each(|peer| *peer = place(*peer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(tokens: &[&[i64]]) -> Map {
        let mut map = Map::of_gateways(&[]);
        map.peers = tokens
            .iter()
            .zip(1_u8..)
            .map(|(tokens, n)| Peer {
                host: Some([n; 16]),
                address: SocketAddr::from(([127, 0, 0, n], 9042)),
                data_centre: if n < 3 { "DC1" } else { "DC2" }.to_owned(),
                rack: "r1".to_owned(),
                tokens: tokens.to_vec(),
            })
            .collect();
        let options = [
            ("class", "NetworkTopologyStrategy"),
            ("DC1", "2"),
            ("DC2", "1"),
        ];
        let options = options.map(|(k, v)| (k.to_owned(), v.to_owned()));
        let replication = Replication::from_map(&BTreeMap::from(options)).expect("a strategy");
        map.replication.insert("ks".to_owned(), replication);
        map
    }

    #[test]
    fn a_token_leads_to_its_replicas_that_may_coordinate() {
        let map = map(&[&[-100, 50], &[0], &[90]]);
        let routes = map.routes("ks", |_| true).expect("known");
        let sorted = |token| {
            let mut all = routes.of(token).to_vec();
            all.sort_unstable();
            all
        };
        assert_eq!(sorted(-100), [0, 1, 2]);
        assert_eq!(sorted(91), [0, 1, 2], "it wraps");
        let mut local = map.routes("ks", |p| p.data_centre == "DC2").expect("known");
        assert_eq!(local.of(7), [2]);
        local.renumber(|at| at + 5);
        assert_eq!(local.of(7), [7]);
        assert!(map.routes("other", |_| true).is_none());
    }

    #[test]
    fn ranges_cover_the_ring_once() {
        assert_eq!(
            map(&[&[-100, 50], &[0], &[90]]).ranges(),
            [
                (i64::MIN, -100),
                (-100, 0),
                (0, 50),
                (50, 90),
                (90, i64::MAX)
            ]
        );
        assert_eq!(Map::of_gateways(&[]).ranges(), [(i64::MIN, i64::MAX)]);
    }
}
