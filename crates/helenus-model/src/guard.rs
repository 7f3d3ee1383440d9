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
    /// The cluster of this user that some of its nodes are proved to be of.
    pub fn ours(&self) -> Option<&str> {
        self.nodes.iter().find_map(|node| node.owned_by.as_deref())
    }

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
            // Of a cluster that is partly ours the rest is most likely ours too, and down.
            let down = if sight.ours().is_some() {
                "are down, or "
            } else {
                ""
            };
            Verdict::Foreign {
                why: format!(
                    "{foreign} of {} nodes of {:?} {down}were not brought up by this user's helenus",
                    sight.nodes.len(),
                    sight.cluster_name
                ),
            }
        }
    }
}

/// Why nothing could be seen at an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silence {
    /// One line.
    pub why: String,
    /// Whether somebody speaks Cassandra's protocol there, and lets nobody in without credentials.
    pub guarded: bool,
}

/// What stands behind all of several addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// One cluster of this user, proved.
    Ours,
    /// At least one address leads to something that is not proved ours, or to a second cluster.
    Foreign,
    /// Nothing is foreign, but an address does not answer.
    Unreachable,
}

/// The answer to "may a test write to these addresses?".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The answer.
    pub verdict: Standing,
    /// One line of why.
    pub why: String,
    /// Our cluster, where the verdict is ours.
    pub cluster: Option<String>,
}

/// Judges several addresses together: all must be proved ours and of one cluster. What is foreign is told before
/// what is silent, for a test that writes to the addresses that do answer would write there.
pub fn judge_hosts(seen: &[(String, Result<Sight, Silence>)]) -> Answer {
    let foreign = |why: String| Answer {
        verdict: Standing::Foreign,
        why,
        cluster: None,
    };
    let mut ours: Option<(&str, &str, usize)> = None;
    let mut silent: Option<String> = None;
    for (host, sight) in seen {
        match sight {
            Err(silence) if silence.guarded => {
                return foreign(format!("{host}: {}", silence.why));
            }
            Err(silence) => {
                silent.get_or_insert_with(|| match silence.why.starts_with(host) {
                    true => silence.why.clone(),
                    false => format!("{host}: {}", silence.why),
                });
            }
            Ok(sight) => match (judge(sight, None), ours) {
                (Verdict::Ours { .. }, None) => {
                    let owner = sight.nodes.first().and_then(|n| n.owned_by.as_deref());
                    ours = owner.map(|name| (host.as_str(), name, sight.nodes.len()));
                }
                (Verdict::Ours { cluster }, Some((first, name, _))) if cluster != name => {
                    return foreign(format!(
                        "{first} is of {name}, {host} of {cluster}: two clusters"
                    ));
                }
                (Verdict::Ours { .. }, Some(_)) => {}
                (Verdict::Named { .. }, _) => {}
                (Verdict::Foreign { why }, _) => return foreign(format!("{host}: {why}")),
            },
        }
    }
    match (silent, ours) {
        (None, Some((_, name, nodes))) => Answer {
            verdict: Standing::Ours,
            why: format!(
                "{name}, {nodes} {}, each brought up by this user's helenus and listening on its claimed address",
                if nodes == 1 { "node" } else { "nodes" }
            ),
            cluster: Some(name.to_owned()),
        },
        (silent, _) => Answer {
            verdict: Standing::Unreachable,
            why: silent.unwrap_or_else(|| "no address was given".to_owned()),
            cluster: None,
        },
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

    #[test]
    fn nodes_of_ours_that_are_down_are_not_called_somebody_else_s() {
        let why = |owners: &[Option<&str>]| match judge(&sight(owners), None) {
            Verdict::Foreign { why } => why,
            other => panic!("{other:?}"),
        };
        let partly = why(&[Some("c"), None, None]);
        assert!(
            partly.contains("2 of 3 nodes") && partly.contains("are down, or"),
            "{partly}"
        );
        assert!(!why(&[None]).contains("down"));
    }

    type Seen<'a> = (&'a str, Result<&'a [Option<&'a str>], bool>);

    fn seen(hosts: &[Seen<'_>]) -> Answer {
        let hosts: Vec<_> = hosts
            .iter()
            .map(|(host, what)| {
                let what = what.map(sight).map_err(|guarded| Silence {
                    why: "silent".into(),
                    guarded,
                });
                ((*host).to_owned(), what)
            })
            .collect();
        judge_hosts(&hosts)
    }

    #[test]
    fn several_addresses_are_ours_only_as_one_cluster() {
        let c: &[Option<&str>] = &[Some("c"), Some("c")];
        let d: &[Option<&str>] = &[Some("d")];
        let theirs: &[Option<&str>] = &[None];
        let one = seen(&[("a", Ok(c)), ("b", Ok(c))]);
        assert_eq!(
            (one.verdict, one.cluster.as_deref()),
            (Standing::Ours, Some("c"))
        );
        let two = seen(&[("a", Ok(c)), ("b", Ok(d))]);
        assert_eq!(two.verdict, Standing::Foreign);
        assert_eq!(two.why, "a is of c, b of d: two clusters");
        assert_eq!(seen(&[("a", Err(false))]).verdict, Standing::Unreachable);
        assert_eq!(
            seen(&[("a", Ok(c)), ("b", Err(false))]).verdict,
            Standing::Unreachable
        );
        // What is foreign is told before what is silent, whatever the order.
        for order in [
            [("a", Err(false)), ("b", Ok(theirs))],
            [("b", Ok(theirs)), ("a", Err(false))],
        ] {
            assert_eq!(seen(&order).verdict, Standing::Foreign);
        }
        // Somebody answers and wants credentials: that is not ours.
        assert_eq!(seen(&[("a", Err(true))]).verdict, Standing::Foreign);
        assert_eq!(seen(&[]).verdict, Standing::Unreachable);
    }
}
