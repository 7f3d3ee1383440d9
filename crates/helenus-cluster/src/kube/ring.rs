//! What the nodes of a cluster on Kubernetes say of each other, by the release's own nodetool in their pods.
//! Refuses one node's word for all: a node of each data centre is asked.

use super::{Kubectl, KubectlError, Pod};
use crate::error::{Class, Problem};
use helenus_model::kube::KubePlan;
use serde::Serialize;
use std::collections::BTreeSet;

/// Why the ring is not known.
#[derive(Debug, thiserror::Error)]
pub enum RingError {
    /// nodetool failed.
    #[error("cannot query the nodes")]
    Kubectl(#[from] KubectlError),
    /// No node to ask.
    #[error("no pod is ready")]
    Nobody,
}

impl Problem for RingError {
    fn class(&self) -> Class {
        match self {
            Self::Kubectl(error) => error.class(),
            Self::Nobody => Class::Cluster,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Kubectl(error) => error.hint(),
            Self::Nobody => Some("helenus kube wait shows what they wait for".to_owned()),
        }
    }
}

/// A node as another one sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeSeen {
    /// `UN`, `DN`, `UJ` and so on.
    pub state: String,
    /// Its address.
    pub address: String,
    /// Its host id; empty where nodetool prints none.
    pub host_id: String,
}

/// The ring as a node of each data centre sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ring {
    /// `nodetool status` of the first node that was asked.
    pub status: String,
    /// By view: whose it is, and what it sees.
    pub views: Vec<(String, Vec<NodeSeen>)>,
    /// Versions of the schema, as the first node knows them.
    pub schema_versions: usize,
}

impl Ring {
    /// Nodes that are down and have no pod: their data ended with one, and a new node came in its place.
    pub fn without_pod(&self, pods: &[Pod]) -> Vec<&NodeSeen> {
        let views = self.views.iter().take(1).flat_map(|(_, view)| view);
        let has_pod = |node: &NodeSeen| pods.iter().any(|pod| pod.ip == node.address);
        views
            .filter(|node| node.state.starts_with('D') && !has_pod(node))
            .collect()
    }

    /// What the nodes do not agree about; nothing where each pod is up and normal everywhere, with one schema.
    pub fn apart(&self, pods: &[Pod]) -> Option<String> {
        for (who, view) in &self.views {
            for pod in pods {
                let seen = view.iter().find(|node| node.address == pod.ip);
                match seen.map(|node| node.state.as_str()) {
                    Some("UN") => {}
                    Some(state) => return Some(format!("{who} sees {} as {state}", pod.place())),
                    None => return Some(format!("{who} does not know {}", pod.place())),
                }
            }
        }
        match self.schema_versions {
            0 | 1 => None,
            n => Some(format!("the nodes have {n} versions of the schema")),
        }
    }
}

/// Asks a pod of each data centre.
///
/// # Errors
/// None is ready, or nodetool fails.
pub fn ring(kubectl: &Kubectl, plan: &KubePlan, pods: &[Pod]) -> Result<Ring, RingError> {
    let mut asked = BTreeSet::new();
    let mut ring: Option<Ring> = None;
    for set in plan.sets.iter().filter(|set| !set.coordinator) {
        let of_set = |pod: &&Pod| pod.set == set.name && pod.namespace == set.namespace;
        let Some(pod) = pods.iter().filter(of_set).find(|pod| pod.ready) else {
            continue;
        };
        if !asked.insert(set.data_center.as_str()) {
            continue;
        }
        let status = kubectl.exec(pod.at(), &["nodetool", "status"], "")?;
        let view = (pod.place(), nodes(&status));
        match &mut ring {
            Some(ring) => ring.views.push(view),
            None => {
                let cluster = kubectl.exec(pod.at(), &["nodetool", "describecluster"], "")?;
                ring = Some(Ring {
                    schema_versions: schema_versions(&cluster),
                    status,
                    views: vec![view],
                });
            }
        }
    }
    ring.ok_or(RingError::Nobody)
}

/// The nodes in what `nodetool status` prints.
fn nodes(status: &str) -> Vec<NodeSeen> {
    let node = |line: &str| {
        let mut words = line.split_whitespace();
        let state = words.next()?;
        let known = state.len() == 2
            && state.starts_with(['U', 'D', '?'])
            && state.ends_with(['N', 'L', 'J', 'M', 'S']);
        known.then_some(())?;
        let address = words.next()?.to_owned();
        let is_id = |word: &&str| word.len() == 36 && word.matches('-').count() == 4;
        Some(NodeSeen {
            state: state.to_owned(),
            address,
            host_id: words.find(is_id).unwrap_or_default().to_owned(),
        })
    };
    status.lines().filter_map(node).collect()
}

/// How many versions of the schema `nodetool describecluster` prints; nodes that are down have none.
fn schema_versions(cluster: &str) -> usize {
    let lines = cluster
        .lines()
        .skip_while(|line| !line.contains("Schema versions:"));
    let lines = lines
        .skip(1)
        .map(str::trim)
        .take_while(|line| !line.is_empty());
    let version = |line: &&str| {
        line.split_once(':')
            .is_some_and(|(id, nodes)| id != "UNREACHABLE" && nodes.trim().starts_with('['))
    };
    lines.filter(version).count()
}

/// The keyspaces, as `nodetool describecluster` prints them, that would have more replicas in a data centre than it has
/// nodes left, or than the cluster has; those of Cassandra itself do not count.
pub(super) fn short_keyspaces(cluster: &str, data_center: &str, left: (u32, u32)) -> Vec<String> {
    let lines = cluster
        .lines()
        .skip_while(|line| !line.starts_with("Keyspaces:"));
    let short = |line: &str| {
        let (name, replication) = line.trim().split_once(" -> Replication class: ")?;
        let factors = replication.split_once('{')?.1.trim_end_matches('}');
        let too_many = factors.split(", ").any(|factor| {
            let Some((place, count)) = factor.split_once('=') else {
                return false;
            };
            let most = match place {
                "replication_factor" => left.1,
                place if place == data_center => left.0,
                _ => return false,
            };
            count.parse::<u32>().is_ok_and(|count| count > most)
        });
        (too_many && !name.starts_with("system")).then(|| name.to_owned())
    };
    lines.filter_map(short).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "Datacenter: DC1
===============
Status=Up/Down
|/ State=Normal/Leaving/Joining/Moving
--  Address      Load       Tokens  Owns  Host ID                               Rack
UN  10.244.1.5   75.3 KiB   16      ?     f3b0c5de-5d38-4f4c-9a8c-0b7f7f1f2a11  rack1
DN  10.244.1.6   75.3 KiB   16      ?     f3b0c5de-5d38-4f4c-9a8c-0b7f7f1f2a12  rack1
";

    #[test]
    fn nodetool_s_words_are_read() {
        let seen = nodes(STATUS);
        let seen: Vec<_> = seen
            .iter()
            .map(|n| (n.state.as_str(), n.address.as_str()))
            .collect();
        assert_eq!(seen, [("UN", "10.244.1.5"), ("DN", "10.244.1.6")]);
        let cluster = "Cluster Information:\n\tName: c\n\tSchema versions:\n\t\t54e17321-3f2e-37ca-9b08-d91ba7bdd369: [10.244.1.5]\n\n\t\tUNREACHABLE: [10.244.1.6]\n\nStats for all nodes:\n";
        assert_eq!(schema_versions(cluster), 1);
        let two = "\tSchema versions:\n\t\t54e1: [10.244.1.5]\n\t\t54e2: [10.244.1.6]\n\n";
        assert_eq!(schema_versions(two), 2);
    }

    #[test]
    fn keyspaces_that_would_be_short_are_found() {
        let cluster = "Database versions:\n\nKeyspaces:\n\tsystem_auth -> Replication class: SimpleStrategy {replication_factor=9}\n\ta -> Replication class: NetworkTopologyStrategy {DC1=3, DC2=2}\n\tb -> Replication class: SimpleStrategy {replication_factor=3}\n\tc -> Replication class: LocalStrategy {}\n";
        assert_eq!(short_keyspaces(cluster, "DC1", (2, 4)), ["a"]);
        assert_eq!(short_keyspaces(cluster, "DC2", (2, 2)), ["b"]);
        assert!(short_keyspaces(cluster, "DC2", (2, 5)).is_empty());
    }

    #[test]
    fn a_ring_is_whole_where_each_sees_all_up() {
        let pod = |name: &str, ip: &str| Pod {
            namespace: "c".to_owned(),
            name: name.to_owned(),
            set: "c".to_owned(),
            ip: ip.to_owned(),
            worker: String::new(),
            ready: true,
            restarts: 0,
            created: String::new(),
            ready_since: None,
            uid: String::new(),
        };
        let mut ring = Ring {
            status: String::new(),
            views: vec![("c/c-0".to_owned(), nodes(STATUS))],
            schema_versions: 1,
        };
        let pods = [pod("c-0", "10.244.1.5"), pod("c-1", "10.244.1.6")];
        assert_eq!(ring.apart(&pods).as_deref(), Some("c/c-0 sees c/c-1 as DN"));
        assert_eq!(ring.apart(&pods[..1]), None);
        let gone = ring.without_pod(&pods[..1]);
        assert_eq!(gone[0].host_id, "f3b0c5de-5d38-4f4c-9a8c-0b7f7f1f2a12");
        assert!(ring.without_pod(&pods).is_empty());
        let new = [pod("c-2", "10.244.1.7")];
        assert_eq!(
            ring.apart(&new).as_deref(),
            Some("c/c-0 does not know c/c-2")
        );
        ring.schema_versions = 2;
        assert_eq!(
            ring.apart(&pods[..1]).as_deref(),
            Some("the nodes have 2 versions of the schema")
        );
    }
}
