//! What a prediction is made from: replicas by data centre, and the way from the client's data centre to each of them.
//! Refuses the rest of a cluster: nodes that are no replicas, racks and tokens change no wait for a data centre far away.

use crate::plan::ClusterPlan;
use crate::topology::link::Directed;
use std::collections::BTreeMap;

/// What `paxos_variant` a release has by default.
const PAXOS_KEY: &str = "paxos_variant";

/// How much worse than the best order the snitch's may score before scores decide.
const BADNESS_KEY: &str = "dynamic_snitch_badness_threshold";

/// How lightweight transactions agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paxos {
    /// Prepare, read, propose, commit.
    V1,
    /// Prepare with the read, propose, commit.
    V2,
}

/// A data centre as a coordinator in the client's sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its name.
    pub name: String,
    /// Replicas of each row.
    pub replicas: u32,
    /// There and back, in microseconds; 0 for the client's own.
    pub round_trip_us: u64,
}

/// Where a row's replicas are, seen from the coordinator.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// The client's data centre; the coordinator is one of its nodes.
    pub client: String,
    /// Data centres with replicas.
    pub places: Vec<Place>,
    /// How lightweight transactions agree.
    pub paxos: Paxos,
    /// The dynamic snitch's badness threshold.
    pub badness: f64,
}

impl Scene {
    /// The scene of a cluster: `replicas` of each row by data centre, as its links are now.
    pub fn of(
        plan: &ClusterPlan,
        replicas: &BTreeMap<String, u32>,
        client: &str,
        links: &[Directed],
    ) -> Self {
        let yaml = plan.nodes.first().map_or("", |node| node.yaml.as_str());
        let v2 = setting(yaml, PAXOS_KEY).is_some_and(|value| value.starts_with("v2"));
        let stock = if plan.release.starts_with("3.") {
            0.1
        } else {
            1.0
        };
        let badness = setting(yaml, BADNESS_KEY).and_then(|value| value.parse().ok());
        Self {
            client: client.to_owned(),
            places: replicas
                .iter()
                .map(|(name, replicas)| Place {
                    name: name.clone(),
                    replicas: *replicas,
                    round_trip_us: round_trip_us(links, client, name),
                })
                .collect(),
            paxos: if v2 { Paxos::V2 } else { Paxos::V1 },
            badness: badness.unwrap_or(stock),
        }
    }
}

#[cfg(test)]
impl Scene {
    /// Three copies in each of three data centres, the second 20 ms and the third 80 ms from the client's.
    pub(crate) fn wan() -> Self {
        let place = |name: &str, round_trip_us| Place {
            name: name.into(),
            replicas: 3,
            round_trip_us,
        };
        Self {
            client: "DC1".into(),
            places: vec![place("DC1", 0), place("DC2", 20_000), place("DC3", 80_000)],
            paxos: Paxos::V1,
            badness: 1.0,
        }
    }
}

/// There and back between two data centres, in microseconds.
pub fn round_trip_us(links: &[Directed], from: &str, to: &str) -> u64 {
    let way = |from: &str, to: &str| {
        let link = links.iter().find(|l| l.from == from && l.to == to);
        link.map_or(0, |l| l.link.delay_us)
    };
    way(from, to) + way(to, from)
}

/// What a node's cassandra.yaml, as Helenus writes it, says of a key.
pub fn setting<'a>(yaml: &'a str, key: &str) -> Option<&'a str> {
    yaml.lines().find_map(|line| {
        let rest = line.strip_prefix(key)?.strip_prefix(':')?;
        Some(rest.trim().trim_matches(['"', '\'']))
    })
}

/// The most replicas that a row can have by data centre, at most `wanted` in each: coordinators hold none.
pub fn replicas(plan: &ClusterPlan, wanted: u32) -> BTreeMap<String, u32> {
    let mut all: BTreeMap<String, u32> = BTreeMap::new();
    for node in plan.nodes.iter().filter(|node| !node.coordinator) {
        let known = all.entry(node.data_center.clone()).or_default();
        *known = (*known + 1).min(wanted);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::link::Link;

    #[test]
    fn a_round_trip_is_both_ways_and_none_without_links() {
        let link = |from: &str, to: &str, delay_us| Directed {
            from: from.into(),
            to: to.into(),
            link: Link {
                delay_us,
                ..Link::default()
            },
        };
        let links = [link("DC1", "DC2", 15_000), link("DC2", "DC1", 5_000)];
        assert_eq!(round_trip_us(&links, "DC1", "DC2"), 20_000);
        assert_eq!(round_trip_us(&links, "DC1", "DC1"), 0);
        assert_eq!(round_trip_us(&[], "DC1", "DC2"), 0);
    }

    #[test]
    fn a_setting_is_found_by_its_whole_key() {
        let yaml = "paxos_variant: v2\ninter_dc_tcp_nodelay: true\nnum: 'x'\n";
        assert_eq!(setting(yaml, "paxos_variant"), Some("v2"));
        assert_eq!(setting(yaml, "paxos"), None);
        assert_eq!(setting(yaml, "num"), Some("x"));
    }
}
