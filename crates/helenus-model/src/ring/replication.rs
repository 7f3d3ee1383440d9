//! Replication as Cassandra stores it (`system_schema.keyspaces.replication`) and what each strategy makes of a token.
//! Refuses strategies that it does not know rather than guess their replicas.

use std::collections::{BTreeMap, BTreeSet};

use super::{Member, Ring};

/// How many replicas, and how many of them are transient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Factor {
    /// All replicas, transient ones included.
    pub all: usize,
    /// Transient replicas among them (0 unless that experiment is switched on).
    pub transient: usize,
}

/// A keyspace's replication strategy with its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replication {
    /// Every node keeps its own; tokens have no replicas.
    Local,
    /// The next nodes on the ring, whatever their data centre or rack.
    Simple(Factor),
    /// So many replicas a data centre, on distinct racks while there are enough.
    NetworkTopology(BTreeMap<String, Factor>),
    /// A class that Cassandra does not ship: class name and options as stored.
    Foreign {
        /// Class name as stored.
        class: String,
        /// Options without `class`.
        options: BTreeMap<String, String>,
    },
}

/// Why a replication map cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ReplicationError {
    /// There is no `class`.
    #[error("the replication map has no class")]
    NoClass,
    /// SimpleStrategy without its factor.
    #[error("SimpleStrategy without a replication_factor")]
    NoFactor,
    /// A factor that is no number, nor `ALL/TRANSIENT`.
    #[error("{0:?} is not a replication factor: a whole number, or ALL/TRANSIENT")]
    Factor(String),
    /// Replicas cannot be computed for this strategy.
    #[error("the replica placement of strategy {0:?} is not known")]
    Foreign(String),
    /// Tokens have no replicas here.
    #[error("a keyspace with LocalStrategy has no replicas on the ring")]
    Local,
}

impl Factor {
    /// So many full replicas.
    pub const fn full(all: usize) -> Self {
        Self { all, transient: 0 }
    }

    /// Reads `3` or `3/1`.
    ///
    /// # Errors
    /// Anything else.
    pub fn parse(text: &str) -> Result<Self, ReplicationError> {
        let fail = || ReplicationError::Factor(text.to_owned());
        let (all, transient) = text.split_once('/').unwrap_or((text, "0"));
        let number = |s: &str| s.parse().map_err(|_| fail());
        Ok(Self {
            all: number(all)?,
            transient: number(transient)?,
        })
    }
}

impl Replication {
    /// Reads the map of `system_schema.keyspaces.replication`; class names may be short or fully qualified.
    ///
    /// # Errors
    /// No class, or a factor that cannot be read.
    pub fn from_map(map: &BTreeMap<String, String>) -> Result<Self, ReplicationError> {
        let class = map.get("class").ok_or(ReplicationError::NoClass)?;
        let options = || map.iter().filter(|(key, _)| *key != "class");
        let short = class
            .strip_prefix("org.apache.cassandra.locator.")
            .unwrap_or(class);
        match short {
            "LocalStrategy" => Ok(Self::Local),
            "SimpleStrategy" => {
                let factor = map
                    .get("replication_factor")
                    .ok_or(ReplicationError::NoFactor)?;
                Factor::parse(factor).map(Self::Simple)
            }
            "NetworkTopologyStrategy" => options()
                .map(|(dc, factor)| Ok((dc.clone(), Factor::parse(factor)?)))
                .collect::<Result<_, _>>()
                .map(Self::NetworkTopology),
            _ => Ok(Self::Foreign {
                class: class.clone(),
                options: options().map(|(k, v)| (k.clone(), v.clone())).collect(),
            }),
        }
    }

    /// Members that hold `token`, first replica first, as Cassandra 5.0 chooses them.
    ///
    /// # Errors
    /// LocalStrategy and strategies that Cassandra does not ship.
    pub fn replicas(&self, ring: &Ring, token: i64) -> Result<Vec<usize>, ReplicationError> {
        match self {
            Self::Local => Err(ReplicationError::Local),
            Self::Foreign { class, .. } => Err(ReplicationError::Foreign(class.clone())),
            Self::Simple(factor) => Ok(next_nodes(ring, token, factor.all)),
            Self::NetworkTopology(factors) => Ok(rack_aware(ring, token, factors)),
        }
    }
}

/// SimpleStrategy: distinct nodes clockwise.
fn next_nodes(ring: &Ring, token: i64, wanted: usize) -> Vec<usize> {
    let mut replicas = Vec::with_capacity(wanted);
    for member in ring.owners_from(token) {
        if replicas.len() >= wanted {
            break;
        }
        if !replicas.contains(&member) {
            replicas.push(member);
        }
    }
    replicas
}

/// What one data centre still lacks while the ring is walked.
struct Quota {
    /// Replicas still to be placed.
    left: usize,
    /// How many of them may share a rack with an earlier one.
    repeats: usize,
}

/// NetworkTopologyStrategy: one walk around the ring, every data centre filling its own quota. A node of a rack
/// already met is taken only where there are fewer racks than replicas, and then at once, not at the end.
fn rack_aware(ring: &Ring, token: i64, factors: &BTreeMap<String, Factor>) -> Vec<usize> {
    let mut quotas: BTreeMap<&str, Quota> = BTreeMap::new();
    for (dc, factor) in factors {
        let here = || ring.owners().filter(|m| m.data_center == *dc);
        let nodes = here().count();
        let racks = here().map(|m| &m.rack).collect::<BTreeSet<_>>().len();
        if factor.all > 0 && nodes > 0 {
            let quota = Quota {
                left: factor.all.min(nodes),
                repeats: factor.all.saturating_sub(racks),
            };
            quotas.insert(dc, quota);
        }
    }
    let mut replicas = Vec::new();
    let mut racks_met: BTreeSet<(&str, &str)> = BTreeSet::new();
    for index in ring.owners_from(token) {
        if quotas.values().all(|quota| quota.left == 0) {
            break;
        }
        let Member {
            data_center, rack, ..
        } = &ring.members()[index];
        let Some(quota) = quotas.get_mut(data_center.as_str()) else {
            continue;
        };
        if quota.left == 0 || replicas.contains(&index) {
            continue;
        }
        if !racks_met.insert((data_center, rack)) {
            if quota.repeats == 0 {
                continue;
            }
            quota.repeats -= 1;
        }
        quota.left -= 1;
        replicas.push(index);
    }
    replicas
}
