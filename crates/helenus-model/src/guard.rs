//! The guard: whether a cluster may be written to.
//! Refuses everything that is neither owned nor named, by address and by its exact name, on the command line.

use serde::{Deserialize, Serialize};

/// What was seen at the hosts that somebody wants to write to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sight {
    /// Cassandra's name of the cluster.
    pub cluster_name: String,
    /// Data centre of the node that was asked.
    pub data_center: String,
    /// Data centres, sorted.
    pub data_centers: Vec<String>,
    /// All nodes with their host ids.
    pub nodes: Vec<SeenNode>,
    /// Keyspaces that are not Cassandra's own, sorted.
    pub keyspaces: Vec<String>,
}

impl Sight {
    /// What a person is shown before anything is written: name, data centres, nodes and keyspaces.
    pub fn summary(&self) -> String {
        format!(
            "cluster {:?}, data centres {}, {} nodes, keyspaces {}",
            self.cluster_name,
            self.data_centers.join(", "),
            self.nodes.len(),
            if self.keyspaces.is_empty() {
                "none".to_owned()
            } else {
                self.keyspaces.join(", ")
            },
        )
    }
}

/// One node as its cluster tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenNode {
    /// Address.
    pub address: String,
    /// Cassandra's id of it.
    pub host_id: String,
    /// Name of the cluster of this user that has this id, where its claim holds the listening socket.
    pub owned_by: Option<String>,
}

/// Whether writing is allowed, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "verdict")]
pub enum Verdict {
    /// Every node is one of ours.
    Ours {
        /// Our cluster.
        cluster: String,
    },
    /// Not ours, but named exactly by the person.
    Named {
        /// Cassandra's name of it.
        cluster_name: String,
    },
    /// Not ours and not named.
    Foreign {
        /// One line.
        why: String,
    },
}

/// Judges what was seen; `named` is the exact name that the person gave with the explicit flag.
pub fn judge(sight: &Sight, named: Option<&str>) -> Verdict {
    let owners: Vec<&Option<String>> = sight.nodes.iter().map(|n| &n.owned_by).collect();
    if let Some(Some(first)) = owners.first()
        && owners.iter().all(|o| o.as_ref() == Some(first))
    {
        return Verdict::Ours {
            cluster: first.clone(),
        };
    }
    match named {
        Some(name) if name == sight.cluster_name => Verdict::Named {
            cluster_name: name.to_owned(),
        },
        Some(name) => Verdict::Foreign {
            why: format!(
                "the cluster is named {:?}, not {name:?}",
                sight.cluster_name
            ),
        },
        None => {
            let foreign = sight.nodes.iter().filter(|n| n.owned_by.is_none()).count();
            Verdict::Foreign {
                why: format!(
                    "{foreign} of {} nodes of {:?} were not brought up by this user's helenus",
                    sight.nodes.len(),
                    sight.cluster_name
                ),
            }
        }
    }
}

/// Cassandra's own keyspaces, which are nobody's data.
pub fn is_system_keyspace(name: &str) -> bool {
    name == "system" || name.starts_with("system_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(owners: &[Option<&str>]) -> Sight {
        let node = |(k, owner): (usize, &Option<&str>)| SeenNode {
            address: format!("10.0.0.{k}"),
            host_id: format!("{k}"),
            owned_by: owner.map(str::to_owned),
        };
        Sight {
            cluster_name: "Production".into(),
            data_center: "dc".into(),
            data_centers: vec!["dc".into()],
            nodes: owners.iter().enumerate().map(node).collect(),
            keyspaces: vec!["orders".into()],
        }
    }

    #[test]
    fn only_whole_ownership_or_the_exact_name_lets_anybody_write() {
        assert!(matches!(
            judge(&sight(&[Some("c"), Some("c")]), None),
            Verdict::Ours { .. }
        ));
        assert!(matches!(
            judge(&sight(&[Some("c"), None]), None),
            Verdict::Foreign { .. }
        ));
        assert!(matches!(
            judge(&sight(&[Some("c"), Some("d")]), None),
            Verdict::Foreign { .. }
        ));
        assert!(matches!(judge(&sight(&[]), None), Verdict::Foreign { .. }));
        assert!(matches!(
            judge(&sight(&[None]), Some("Production")),
            Verdict::Named { .. }
        ));
        assert!(matches!(
            judge(&sight(&[None]), Some("production")),
            Verdict::Foreign { .. }
        ));
    }
}
