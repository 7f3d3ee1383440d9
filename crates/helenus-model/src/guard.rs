//! The guard: whether a cluster may be written to.
//! Refuses everything that is neither owned nor named, by address and by its exact name, on the command line.

use serde::{Deserialize, Serialize};

/// What was seen at the hosts that are to be written to.
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

/// One node as its cluster reports it.
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

/// Clusters of a team that tests may write to, although no Helenus of this machine started them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Accept {
    /// Names of clusters, with `*` for any characters; none accepts nothing.
    pub names: Vec<String>,
    /// Keyspaces that such a cluster may have beside Cassandra's own, with `*`; any where none is named.
    pub keyspaces: Vec<String>,
}

/// The name that Cassandra gives to a cluster that nobody named: production's too.
const NAMELESS: &str = "Test Cluster";

impl Accept {
    /// Whether nothing is accepted.
    pub fn is_none(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether tests may write to it.
    ///
    /// # Errors
    /// Why not, in a line.
    fn judge(&self, sight: &Sight) -> Result<(), String> {
        let any = |patterns: &[String], text: &str| patterns.iter().any(|one| fits(one, text));
        let name = &sight.cluster_name;
        if !any(&self.names, name) {
            let names = self.names.join(", ");
            return Err(format!(
                "the cluster is named {name:?}, which --accept-name {names} does not let pass"
            ));
        }
        if self.keyspaces.is_empty() {
            return match name == NAMELESS {
                false => Ok(()),
                true => Err(format!(
                    "{NAMELESS:?} is the default name of clusters: add --accept-keyspace"
                )),
            };
        }
        let strange = sight
            .keyspaces
            .iter()
            .find(|one| !any(&self.keyspaces, one));
        match strange {
            None => Ok(()),
            Some(keyspace) => Err(format!(
                "{name:?} has keyspace {keyspace}, which --accept-keyspace {} does not let pass",
                self.keyspaces.join(", ")
            )),
        }
    }
}

/// Whether a text fits a pattern, in which `*` stands for any characters.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.len() >= last.len() && rest.ends_with(last)
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
    /// Whether a server speaks Cassandra's protocol there and requires credentials.
    pub guarded: bool,
}

/// What stands behind all of several addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// One cluster of this user, proved.
    Ours,
    /// Nothing that is not this user's, or that the team's rule does not let pass.
    Accepted,
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

/// Judges several addresses together: all must be proved ours and of one cluster. What is foreign is reported before
/// what is silent, for a test that writes to the addresses that do answer would write there.
///
/// A foreign cluster passes where `accept` lets it.
pub fn judge_hosts(seen: &[(String, Result<Sight, Silence>)], accept: &Accept) -> Answer {
    let foreign = |why: String| Answer {
        verdict: Standing::Foreign,
        why,
        cluster: None,
    };
    let mut ours: Option<(&str, &str, usize)> = None;
    let mut accepted: Option<String> = None;
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
                (Verdict::Foreign { .. }, _) if !accept.is_none() => match accept.judge(sight) {
                    Ok(()) => accepted = Some(sight.summary()),
                    Err(why) => return foreign(format!("{host}: {why}")),
                },
                (Verdict::Foreign { why }, _) => return foreign(format!("{host}: {why}")),
            },
        }
    }
    match (silent, ours) {
        (None, _) if accepted.is_some() => Answer {
            verdict: Standing::Accepted,
            why: format!("{}, let pass by name", accepted.unwrap_or_default()),
            cluster: None,
        },
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

/// Cassandra's own keyspaces, which hold no user data.
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

    #[test]
    fn a_team_s_rule_lets_its_own_test_clusters_pass() {
        let words = |list: &[&str]| list.iter().map(|one| (*one).to_owned()).collect();
        let asked = |name: &str, names: &[&str], keyspaces: &[&str]| {
            let theirs = Sight {
                cluster_name: name.to_owned(),
                ..sight(&[None])
            };
            let accept = Accept {
                names: words(names),
                keyspaces: words(keyspaces),
            };
            let answer = judge_hosts(&[("a".to_owned(), Ok(theirs))], &accept);
            (answer.verdict, answer.why)
        };
        assert_eq!(
            asked("team-7", &["team-*"], &["ord*"]).0,
            Standing::Accepted
        );
        assert_eq!(
            asked("TestCluster", &["TestCluster"], &[]).0,
            Standing::Accepted
        );
        for (name, names, keyspaces, why) in [
            (
                "Production",
                &["team-*"][..],
                &[][..],
                "named \"Production\"",
            ),
            ("team-7", &["team-*"], &["test_*"], "keyspace orders"),
            ("Test Cluster", &["Test Cluster"], &[], "default name"),
            ("Production", &[], &["*"], "not brought up"),
        ] {
            let (verdict, said) = asked(name, names, keyspaces);
            assert_eq!(verdict, Standing::Foreign, "{said}");
            assert!(said.contains(why), "{said}");
        }
    }

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, text, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "ab", true),
            ("*b", "ab", true),
            ("a*c*e", "abcde", true),
            ("a*a", "a", false),
            ("*", "", true),
            ("", "", true),
            ("test_*", "Test_a", false),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
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
        judge_hosts(&hosts, &Accept::default())
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
        // What is foreign is reported before what is silent, whatever the order.
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
