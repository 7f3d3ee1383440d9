//! Which data centres, racks and nodes a cluster has, before any address is known.
//! Refuses names that Cassandra, a shell or a folder would trip over.

use crate::nearest::nearest;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub mod file;
pub mod flags;
pub mod link;
pub mod wan;

use link::{Directed, Link, LinkWords};

/// Name of a single data centre: what everybody's driver settings already say.
pub const SINGLE_DATA_CENTER: &str = "datacenter1";

/// The most nodes of one cluster on loopback: one /24 of addresses, less the ends.
pub const NODES_MAX: u32 = 254;

/// The most nodes of one data centre with a network of its own: a /24 less its ends, its gateway and its client.
pub const DATA_CENTER_NODES_MAX: u32 = 250;

/// The most data centres: a queue a directed pair, and a /24 each.
pub const DATA_CENTERS_MAX: usize = 16;

/// The shape of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    /// In order; names are unique.
    pub data_centers: Vec<DataCenter>,
    /// Every directed pair of data centres; empty where the cluster lives on loopback, without distance.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Directed>,
    /// Who holds what crosses between them.
    #[serde(default, skip_serializing_if = "wan::Wan::is_default")]
    pub wan: wan::Wan,
}

/// One data centre.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DataCenter {
    /// `datacenter1` where there is one, else `DC1`, `DC2` ….
    pub name: String,
    /// Rack of each node, in order.
    pub racks: Vec<String>,
    /// How many of them, the last ones, only coordinate: they own no token and hold no data.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub coordinators: u32,
    /// What its nodes are given beside the others.
    #[serde(default, skip_serializing_if = "Words::is_empty")]
    pub words: Words,
    /// What nodes of a rack are given, by its name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub of_racks: BTreeMap<String, Words>,
    /// What nodes are given that only coordinate.
    #[serde(default, skip_serializing_if = "Words::is_empty")]
    pub of_coordinators: Words,
    /// What single nodes of it are given, by their number in the data centre, from 1.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub nodes: BTreeMap<u32, Words>,
}

/// Preset, settings, flags and disks that a person gives to some of the nodes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Words {
    /// Name of a preset in place of the cluster's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// `KEY=VALUE` of cassandra.yaml.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<String>,
    /// Flags of the JVM.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jvm: Vec<String>,
    /// Size of each node's own disk in memory, in place of the cluster's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<Bytes>,
    /// Heap in place of the cluster's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heap: Option<Bytes>,
    /// Young generation in place of the cluster's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_heap: Option<Bytes>,
}

impl Words {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// These, and more that win over them.
    fn and(&self, more: Option<&Self>) -> Self {
        let mut all = self.clone();
        if let Some(more) = more {
            all.preset = more.preset.clone().or(all.preset);
            all.set.extend(more.set.iter().cloned());
            all.jvm.extend(more.jvm.iter().cloned());
            all.disk = more.disk.or(all.disk);
            all.heap = more.heap.or(all.heap);
            all.new_heap = more.new_heap.or(all.new_heap);
        }
        all
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks with a reference"
)]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Where one node is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Number of its data centre, from 0.
    pub data_center: usize,
    /// Its number in the data centre, from 0.
    pub index: usize,
    /// Rack.
    pub rack: String,
    /// Whether it only coordinates.
    pub coordinator: bool,
    /// What it is given beside the others.
    pub words: Words,
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
    /// A data centre's name.
    #[error(
        "{0:?} cannot name a data centre: use 1 to 40 letters, digits, - and _, a letter first, and not the name of a node"
    )]
    DataCenterName(String),
    /// Two data centres of one name.
    #[error("two data centres are named {0}")]
    Twice(String),
    /// Nodes or racks of a data centre.
    #[error(
        "{data_center} has {nodes} nodes in {racks} racks, {coordinators} of them coordinator-only"
    )]
    DataCenter {
        /// Name.
        data_center: String,
        /// Nodes.
        nodes: u32,
        /// Racks.
        racks: u32,
        /// Nodes that only coordinate.
        coordinators: u32,
    },
    /// Too many data centres.
    #[error("a cluster has 1 to {DATA_CENTERS_MAX} data centres, not {0}")]
    DataCenters(usize),
    /// A name that no data centre has.
    #[error("no such data centre: {name}")]
    Unknown {
        /// Asked for.
        name: String,
        /// All names.
        known: Vec<String>,
    },
    /// A link from a data centre to itself.
    #[error("a link leads from one data centre to another, not from {0} to itself")]
    ToItself(String),
    /// A figure of a link.
    #[error(transparent)]
    Link(#[from] link::LinkError),
    /// A flag of another form.
    #[error("{flag} {text:?} is not understood")]
    Flag {
        /// Flag.
        flag: &'static str,
        /// Its text.
        text: String,
        /// What it looks like.
        form: &'static str,
    },
    /// No such preset of links.
    #[error("no such preset of links: {0}")]
    Preset(String),
    /// There is no emulator of that name.
    #[error("{0} is not a way to emulate distance")]
    Wan(String),
    /// Distance in one data centre.
    #[error("--rtt {0} is a distance between data centres, and there is only one")]
    OneDataCenter(String),
    /// An emulator was named, but there is no distance.
    #[error("{} emulates distance, and this cluster has none", .0.word())]
    NothingToHold(wan::Wan),
    /// A preset of links for more data centres than it has places.
    #[error("the links {preset} connect three places, and there are {data_centers} data centres")]
    PresetTooSmall {
        /// Preset.
        preset: &'static str,
        /// How many there are.
        data_centers: usize,
    },
}

impl TopologyError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { name, known } => Some(name_hint(name, known)),
            Self::DataCenter { .. } => Some(format!(
                "a data centre has 1 to {DATA_CENTER_NODES_MAX} nodes, at most as many racks, and at least one node that is not coordinator-only"
            )),
            Self::Flag { form, .. } => Some(format!("it looks like {form}")),
            Self::Preset(name) => {
                let known: Vec<String> = link::LINK_PRESETS
                    .iter()
                    .map(|p| p.name.to_owned())
                    .collect();
                Some(name_hint(name, &known))
            }
            Self::Wan(name) => {
                let known = wan::Wan::ALL.map(|wan| wan.word().to_owned());
                Some(name_hint(name, &known))
            }
            Self::OneDataCenter(time) => Some(format!(
                "add another, such as -n 3:3 --rtt {time}, or --dc DC1=3 --dc DC2=3"
            )),
            Self::NothingToHold(_) => {
                Some("give the data centres a distance, such as -n 3:3 --rtt 80ms".into())
            }
            Self::PresetTooSmall { .. } => {
                Some("give each pair its --rtt, or write the links to a file".into())
            }
            _ => None,
        }
    }
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
        Ok(Self {
            data_centers: vec![DataCenter::new(SINGLE_DATA_CENTER, nodes, 1)],
            links: Vec::new(),
            wan: wan::Wan::default(),
        })
    }

    /// Nodes in all data centres.
    pub fn nodes(&self) -> usize {
        self.data_centers.iter().map(|dc| dc.racks.len()).sum()
    }

    /// Nodes that own data in the data centre that has the fewest of them.
    pub fn smallest_data_center(&self) -> Option<u32> {
        let owners = self.data_centers.iter().map(|dc| {
            let owners = dc.racks.len().saturating_sub(dc.coordinators as usize);
            u32::try_from(owners).unwrap_or(u32::MAX)
        });
        owners.min()
    }

    /// Whether the cluster has a network of its own, in which distance can be held.
    pub fn has_network(&self) -> bool {
        !self.links.is_empty()
    }

    /// Every node with its place, in order.
    pub fn places(&self) -> Vec<Place> {
        let of = |(data_center, dc): (usize, &DataCenter)| -> Vec<Place> {
            let first = dc.racks.len().saturating_sub(dc.coordinators as usize);
            let place = |(index, rack): (usize, &String)| {
                let coordinator = index >= first;
                let tier = coordinator.then_some(&dc.of_coordinators);
                let of_rack = dc.words.and(dc.of_racks.get(rack));
                Place {
                    data_center,
                    index,
                    rack: rack.clone(),
                    coordinator,
                    words: of_rack.and(tier).and(dc.nodes.get(&(index as u32 + 1))),
                }
            };
            dc.racks.iter().enumerate().map(place).collect()
        };
        self.data_centers.iter().enumerate().flat_map(of).collect()
    }

    /// Number of the data centre of that name.
    ///
    /// # Errors
    /// There is none.
    pub fn data_center(&self, name: &str) -> Result<usize, TopologyError> {
        let found = self.data_centers.iter().position(|dc| dc.name == name);
        found.ok_or_else(|| TopologyError::Unknown {
            name: name.to_owned(),
            known: self.data_centers.iter().map(|dc| dc.name.clone()).collect(),
        })
    }

    /// Gives every pair of data centres a link, without distance where none is there yet.
    pub fn link_all(&mut self) {
        let names: Vec<String> = self.data_centers.iter().map(|dc| dc.name.clone()).collect();
        for from in &names {
            for to in names.iter().filter(|to| *to != from) {
                let known = self.links.iter().any(|l| l.from == *from && l.to == *to);
                if !known {
                    self.links.push(Directed {
                        from: from.clone(),
                        to: to.clone(),
                        link: Link::default(),
                    });
                }
            }
        }
    }

    /// Changes the link of one direction.
    ///
    /// # Errors
    /// No such data centre, or twice the same one.
    pub fn set_link(
        &mut self,
        from: &str,
        to: &str,
        words: LinkWords,
    ) -> Result<(), TopologyError> {
        self.data_center(from)?;
        self.data_center(to)?;
        if from == to {
            return Err(TopologyError::ToItself(from.to_owned()));
        }
        self.link_all();
        for link in &mut self.links {
            if link.from == from && link.to == to {
                link.link = words.on(link.link);
            }
        }
        Ok(())
    }

    /// Checks names and numbers.
    ///
    /// # Errors
    /// The first that cannot be.
    pub fn check(&self) -> Result<(), TopologyError> {
        let count = self.data_centers.len();
        if count == 0 || count > DATA_CENTERS_MAX {
            return Err(TopologyError::DataCenters(count));
        }
        for (index, dc) in self.data_centers.iter().enumerate() {
            let like_a_node = dc.name.starts_with("node") || dc.name == "all";
            if check_cluster_name(&dc.name).is_err() || like_a_node {
                return Err(TopologyError::DataCenterName(dc.name.clone()));
            }
            if self.data_centers[..index].iter().any(|o| o.name == dc.name) {
                return Err(TopologyError::Twice(dc.name.clone()));
            }
            let nodes = u32::try_from(dc.racks.len()).unwrap_or(u32::MAX);
            let last = dc.nodes.keys().next_back().copied().unwrap_or(0);
            if !(1..=DATA_CENTER_NODES_MAX).contains(&nodes)
                || dc.coordinators >= nodes
                || last > nodes
            {
                let mut racks = dc.racks.clone();
                racks.sort();
                racks.dedup();
                return Err(TopologyError::DataCenter {
                    data_center: dc.name.clone(),
                    nodes: nodes.max(last),
                    racks: u32::try_from(racks.len()).unwrap_or(u32::MAX),
                    coordinators: dc.coordinators,
                });
            }
        }
        let nodes = u32::try_from(self.nodes()).unwrap_or(u32::MAX);
        if nodes > NODES_MAX {
            return Err(TopologyError::Nodes(nodes));
        }
        Ok(())
    }
}

impl DataCenter {
    /// A data centre whose nodes stand in `rack1` … `rackN` in turn.
    pub fn new(name: &str, nodes: u32, racks: u32) -> Self {
        let rack = |k: u32| format!("rack{}", k % racks.max(1) + 1);
        Self {
            name: name.to_owned(),
            racks: (0..nodes).map(rack).collect(),
            ..Self::default()
        }
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
        "none exists; bring one up with `helenus up`".to_owned()
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
