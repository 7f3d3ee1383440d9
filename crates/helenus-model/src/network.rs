//! The network of a cluster with distance: namespaces, addresses, gateways, and the links between data centres.
//! Refuses to know how a network is made; it says only what it is.

use crate::seed::mix;
use crate::topology::link::Directed;
use crate::topology::wan::Wan;
use crate::topology::{Topology, TopologyError};
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// Most bytes that a TCP connection may have on the way: 150 ms at 200 MB/s; the kernel's own 4 MiB give at most
/// 28 MB/s there (measured).
pub const TCP_BUFFER_BYTES: u64 = 32 << 20;

/// Last number of a data centre's gateway.
const GATEWAY: u8 = 254;

/// Last number of where a client stands in a data centre.
const CLIENT: u8 = 253;

/// A network namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Space {
    /// A node's name, or a client's as [`client_of`] makes it.
    pub name: String,
    /// Number of its data centre, from 0.
    pub data_center: usize,
    /// Its only address beside loopback.
    pub address: Ipv4Addr,
}

/// A data centre as a network: a bridge, and a gateway to the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// Name of the data centre.
    pub name: String,
    /// Where packets to other data centres go; in a /24.
    pub gateway: Ipv4Addr,
}

/// The network of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkPlan {
    /// Data centres in order.
    pub sites: Vec<Site>,
    /// The nodes' namespaces in the nodes' order, then one a data centre for clients.
    pub spaces: Vec<Space>,
    /// Every directed pair of data centres.
    pub links: Vec<Directed>,
    /// What loss and jitter are drawn from, where the emulator of ours draws them.
    pub seed: u64,
    /// Most bytes that a TCP connection may have on the way.
    pub tcp_buffer_bytes: u64,
    /// Who holds what crosses.
    #[serde(default, skip_serializing_if = "Wan::is_default")]
    pub wan: Wan,
}

/// Name of the namespace in which clients of a data centre stand.
pub fn client_of(data_center: &str) -> String {
    format!("client-{data_center}")
}

impl NetworkPlan {
    /// The network of a topology; none where it has no links. `key` distinguishes clusters: their addresses differ
    /// where that can be, though each is alone in its network.
    ///
    /// # Errors
    /// The topology cannot be.
    pub fn of(topology: &Topology, key: &str) -> Result<Option<Self>, TopologyError> {
        if !topology.has_network() {
            return Ok(None);
        }
        topology.check()?;
        let number = key.bytes().fold(1, |sum, byte| mix(sum ^ u64::from(byte)));
        let second = u8::try_from(number % 250).unwrap_or(0) + 1;
        let at = |dc: usize, last: u8| {
            Ipv4Addr::new(10, second, u8::try_from(dc + 1).unwrap_or(u8::MAX), last)
        };
        let sites = topology
            .data_centers
            .iter()
            .enumerate()
            .map(|(k, dc)| Site {
                name: dc.name.clone(),
                gateway: at(k, GATEWAY),
            });
        let nodes = topology.places().into_iter().enumerate();
        let nodes = nodes.map(|(k, place)| Space {
            name: format!("node{}", k + 1),
            data_center: place.data_center,
            address: at(
                place.data_center,
                u8::try_from(place.index + 1).unwrap_or(u8::MAX),
            ),
        });
        let clients = topology.data_centers.iter().enumerate();
        let clients = clients.map(|(k, dc)| Space {
            name: client_of(&dc.name),
            data_center: k,
            address: at(k, CLIENT),
        });
        Ok(Some(Self {
            sites: sites.collect(),
            spaces: nodes.chain(clients).collect(),
            links: topology.links.clone(),
            seed: number,
            tcp_buffer_bytes: TCP_BUFFER_BYTES,
            wan: topology.wan,
        }))
    }

    /// The addresses of the nodes, in their order.
    pub fn node_addresses(&self) -> Vec<Ipv4Addr> {
        let nodes = self.spaces.len() - self.sites.len();
        self.spaces[..nodes].iter().map(|s| s.address).collect()
    }

    /// The namespace of that name.
    pub fn space(&self, name: &str) -> Option<&Space> {
        self.spaces.iter().find(|space| space.name == name)
    }

    /// Names of the data centres that a directed link leads from and to, as numbers.
    pub fn ends(&self, link: &Directed) -> Option<(usize, usize)> {
        let of = |name: &str| self.sites.iter().position(|site| site.name == name);
        Some((of(&link.from)?, of(&link.to)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::flags::TopologyFlags;

    fn plan(nodes: &str, rtt: &str) -> Option<NetworkPlan> {
        let flags = TopologyFlags {
            nodes: Some(nodes.into()),
            rtt: vec![rtt.into()],
            ..TopologyFlags::default()
        };
        NetworkPlan::of(&flags.topology().unwrap(), "/state/clusters/wan").unwrap()
    }

    #[test]
    fn addresses_are_unique_and_every_data_center_has_a_place_for_clients() {
        let plan = plan("5:5:5", "80ms").unwrap();
        let mut all: Vec<Ipv4Addr> = plan.spaces.iter().map(|s| s.address).collect();
        all.extend(plan.sites.iter().map(|s| s.gateway));
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 15 + 3 + 3);
        assert_eq!(plan.node_addresses().len(), 15);
        assert_eq!(plan.space("client-DC2").unwrap().data_center, 1);
        assert_eq!(plan.ends(&plan.links[1]), Some((0, 2)));
    }

    #[test]
    fn a_topology_without_links_has_no_network() {
        let topology = Topology::single(3).unwrap();
        assert_eq!(NetworkPlan::of(&topology, "c"), Ok(None));
    }
}
