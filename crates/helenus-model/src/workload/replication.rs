//! How the keyspaces of a workload are replicated, where the workload or a person leaves it open or says it.
//! Refuses to know how many nodes there are: who has the cluster asks for the map.

use crate::ring::Factor;
use crate::serving::USUAL_REPLICAS;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// How a keyspace is replicated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Replication {
    /// SimpleStrategy with so many replicas.
    Simple(u32),
    /// NetworkTopologyStrategy: replicas by data centre.
    Networked(BTreeMap<String, u32>),
}

impl Replication {
    /// NetworkTopologyStrategy with up to three replicas in each of these data centres, as many as it has nodes.
    pub fn usual<'a>(nodes: impl IntoIterator<Item = (&'a str, usize)>) -> Self {
        let each = nodes.into_iter().filter(|(_, nodes)| *nodes > 0);
        let each = each.map(|(dc, nodes)| (dc.to_owned(), up_to_three(nodes)));
        Self::Networked(each.collect())
    }

    /// Replicas by data centre; none named where the strategy does not know them.
    pub fn factors(&self) -> BTreeMap<String, Factor> {
        match self {
            Self::Simple(_) => BTreeMap::new(),
            Self::Networked(copies) => {
                let full = |n: &u32| Factor::full(usize::try_from(*n).unwrap_or(usize::MAX));
                let each = copies.iter().map(|(dc, n)| (dc.clone(), full(n)));
                each.collect()
            }
        }
    }

    /// The CQL map.
    pub fn cql(&self) -> String {
        match self {
            Self::Simple(copies) => {
                format!("{{'class': 'SimpleStrategy', 'replication_factor': {copies}}}")
            }
            Self::Networked(copies) => {
                let each: String = copies
                    .iter()
                    .map(|(dc, n)| format!(", '{}': {n}", dc.replace('\'', "''")))
                    .collect();
                format!("{{'class': 'NetworkTopologyStrategy'{each}}}")
            }
        }
    }
}

fn up_to_three(nodes: usize) -> u32 {
    u32::try_from(nodes.min(USUAL_REPLICAS)).unwrap_or(3)
}

/// What a person asks for with `--replication-factor`: `3`, or `DC1=3,DC2=1`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplicationFactor {
    /// So many replicas in each data centre.
    Each(u32),
    /// So many in these, none in the others.
    By(BTreeMap<String, u32>),
}

impl ReplicationFactor {
    /// The data centres that it names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let named = match self {
            Self::Each(_) => None,
            Self::By(by) => Some(by.keys().map(String::as_str)),
        };
        named.into_iter().flatten()
    }

    /// The replication of a keyspace that is made on a cluster with these data centres.
    pub fn on<'a>(&self, data_centers: impl IntoIterator<Item = &'a str>) -> Replication {
        Replication::Networked(match self {
            Self::Each(factor) => {
                let each = data_centers.into_iter();
                each.map(|dc| (dc.to_owned(), *factor)).collect()
            }
            Self::By(by) => by.clone(),
        })
    }
}

/// Why a replication factor cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a replication factor: write 3, or one for each data centre, as in DC1=3,DC2=1"
)]
pub struct FactorError(String);

impl FromStr for ReplicationFactor {
    type Err = FactorError;

    fn from_str(text: &str) -> Result<Self, FactorError> {
        let wrong = || FactorError(text.to_owned());
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
        if !text.contains('=') {
            let factor = number(text)?;
            return if factor > 0 {
                Ok(Self::Each(factor))
            } else {
                Err(wrong())
            };
        }
        let mut by = BTreeMap::new();
        for pair in text.split(',') {
            let (name, factor) = pair.split_once('=').ok_or_else(wrong)?;
            let (name, factor) = (name.trim(), number(factor)?);
            if name.is_empty() || by.insert(name.to_owned(), factor).is_some() {
                return Err(wrong());
            }
        }
        by.retain(|_, factor| *factor > 0);
        if by.is_empty() {
            return Err(wrong());
        }
        Ok(Self::By(by))
    }
}

impl fmt::Display for ReplicationFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Each(factor) => write!(f, "{factor}"),
            Self::By(by) => {
                let each: Vec<String> = by.iter().map(|(dc, n)| format!("{dc}={n}")).collect();
                write!(f, "{}", each.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_centre_gets_up_to_three_replicas() {
        let usual = Replication::usual([("DC1", 2), ("DC2", 5), ("gateways", 0)]);
        assert_eq!(
            usual.cql(),
            "{'class': 'NetworkTopologyStrategy', 'DC1': 2, 'DC2': 3}"
        );
        let one = Replication::usual([("datacenter1", 1)]);
        assert_eq!(
            one.cql(),
            "{'class': 'NetworkTopologyStrategy', 'datacenter1': 1}"
        );
    }

    #[test]
    fn a_factor_is_one_for_all_or_one_for_each() {
        let read = |text: &str| text.parse::<ReplicationFactor>();
        let all = read("2").expect("a number");
        assert_eq!(all, ReplicationFactor::Each(2));
        assert_eq!(
            all.on(["DC1", "DC2"]).cql(),
            "{'class': 'NetworkTopologyStrategy', 'DC1': 2, 'DC2': 2}"
        );
        let each = read("DC1=3, DC2=1,DC3=0").expect("pairs");
        assert_eq!(each.to_string(), "DC1=3,DC2=1");
        assert_eq!(each.names().collect::<Vec<_>>(), ["DC1", "DC2"]);
        assert_eq!(
            each.on(["DC1", "DC2", "DC3"]).cql(),
            "{'class': 'NetworkTopologyStrategy', 'DC1': 3, 'DC2': 1}"
        );
        for wrong in [
            "",
            "0",
            "x",
            "DC1=",
            "DC1=0",
            "=3",
            "DC1=3,2",
            "DC1=1,DC1=2",
            "-1",
        ] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
