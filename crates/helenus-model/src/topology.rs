//! Which data centres, racks and nodes a cluster has, before any address is known.
//! Refuses names that Cassandra, a shell or a folder would trip over.

use crate::nearest::nearest;
use serde::{Deserialize, Serialize};

/// Name of a single data centre: what everybody's driver settings already say.
pub const SINGLE_DATA_CENTER: &str = "datacenter1";

/// The most nodes of one cluster on loopback: one /24 of addresses, less the ends.
pub const NODES_MAX: u32 = 254;

/// The shape of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    /// In order; names are unique.
    pub data_centers: Vec<DataCenter>,
}

/// One data centre.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataCenter {
    /// `datacenter1` where there is one, else `DC1`, `DC2` ….
    pub name: String,
    /// Rack of each node, in order.
    pub racks: Vec<String>,
}

/// Why a topology or a name is refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TopologyError {
    /// No node, or more than a /24 holds.
    #[error("a cluster has 1 to {NODES_MAX} nodes, not {0}")]
    Nodes(u32),
    /// The name cannot be a folder, a Cassandra cluster and a shell word at once.
    #[error("{0:?} cannot name a cluster: use 1 to 40 letters, digits, - and _, a letter first")]
    Name(String),
}

impl Topology {
    /// One data centre named `datacenter1` with one rack.
    ///
    /// # Errors
    /// No node, or more than [`NODES_MAX`].
    pub fn single(nodes: u32) -> Result<Self, TopologyError> {
        if nodes == 0 || nodes > NODES_MAX {
            return Err(TopologyError::Nodes(nodes));
        }
        let racks = (0..nodes).map(|_| "rack1".to_owned()).collect();
        Ok(Self {
            data_centers: vec![DataCenter {
                name: SINGLE_DATA_CENTER.into(),
                racks,
            }],
        })
    }

    /// Nodes in all data centres.
    pub fn nodes(&self) -> usize {
        self.data_centers.iter().map(|dc| dc.racks.len()).sum()
    }
}

/// Checks that `name` can be a folder, a Cassandra cluster's name and a word in a shell.
///
/// # Errors
/// Empty, longer than 40, or other characters than letters, digits, `-` and `_`, a letter first.
pub fn check_cluster_name(name: &str) -> Result<(), TopologyError> {
    let first_ok = name.chars().next().is_some_and(|c| c.is_ascii_alphabetic());
    let rest_ok = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if first_ok && rest_ok && name.len() <= 40 {
        Ok(())
    } else {
        Err(TopologyError::Name(name.to_owned()))
    }
}

/// `NAME` or `NAME/NODE`, as the verbs take it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Cluster.
    pub cluster: String,
    /// Node within it, such as `node2`; all of them where absent.
    pub node: Option<String>,
}

impl Target {
    /// Splits `NAME[/NODE]`; a bare number names a node by position (`c/2` is `c/node2`).
    pub fn parse(text: &str) -> Self {
        match text.split_once('/') {
            None => Self {
                cluster: text.to_owned(),
                node: None,
            },
            Some((cluster, node)) => {
                let digits = !node.is_empty() && node.chars().all(|c| c.is_ascii_digit());
                let node = if digits {
                    format!("node{node}")
                } else {
                    node.to_owned()
                };
                Self {
                    cluster: cluster.to_owned(),
                    node: Some(node),
                }
            }
        }
    }
}

/// The cure for an unknown name: the nearest known one, or the list of all.
pub fn name_hint(wanted: &str, known: &[String]) -> String {
    if let Some(near) = nearest(wanted, known.iter().map(String::as_str)) {
        format!("did you mean {near}?")
    } else if known.is_empty() {
        "there is none; bring one up with `helenus up`".to_owned()
    } else {
        format!("known: {}", known.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_targets() {
        assert!(check_cluster_name("dev-1").is_ok());
        for bad in ["", "1dev", "a/b", "..", "a b", "-x", &"x".repeat(41)] {
            assert!(check_cluster_name(bad).is_err(), "{bad}");
        }
        assert_eq!(Target::parse("c/2").node.as_deref(), Some("node2"));
        assert_eq!(Target::parse("c/node3").node.as_deref(), Some("node3"));
        assert_eq!(Target::parse("c").node, None);
    }

    #[test]
    fn a_single_data_center_has_the_name_that_drivers_expect() {
        let t = Topology::single(3).unwrap();
        assert_eq!(t.data_centers[0].name, "datacenter1");
        assert_eq!(t.nodes(), 3);
        assert_eq!(Topology::single(0), Err(TopologyError::Nodes(0)));
    }
}
