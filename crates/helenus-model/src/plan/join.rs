//! Nodes that come to a cluster and go from it: the plan of a newcomer, what it is launched with until it has joined,
//! and the seeds of those that stay.
//! Refuses a data centre that is not there, and a node that does not fit the machine.

use super::{ClusterPlan, Folders, KEYSTORE_PASSWORD_MARK, NodePlan, places};
use crate::access::TLS_FOLDER;
use crate::ring::{Member, newcomer_tokens};
use crate::topology::{NODES_MAX, check_cluster_name, name_hint};
use crate::units::{Bytes, lacking};
use crate::yaml;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// Flags that let a node of a new cluster skip a wait. One that joins must not skip it: it would stream before it
/// knows the ring, or take an address that somebody has.
const NOT_WHILE_JOINING: [&str; 2] = [
    "-Dcassandra.allow_unsafe_join=",
    "-Dcassandra.skip_wait_for_gossip_to_settle=",
];

/// How long one that replaces a node at another address waits to see that the old one is dead; Cassandra's own is 60 s.
/// Longer than the ring delay of the presets: what was heard of the old node within that counts as life.
const REPLACE_WAIT: &str = "-Dcassandra.broadcast_interval_ms=15000";

/// A node that shall join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Newcomer {
    /// Name.
    pub name: String,
    /// Data centre; the one with the fewest nodes that own tokens unless set.
    pub data_center: Option<String>,
    /// Rack; the one of that data centre with the fewest nodes unless set.
    pub rack: Option<String>,
    /// Address of all its listeners.
    pub address: Ipv4Addr,
    /// Memory that it may be planned into: free now, and not reserved.
    pub available: Bytes,
}

/// How a node joins; kept until it has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum Joining {
    /// It takes parts of the others' ranges.
    Bootstrap,
    /// It takes the place of a dead node.
    Replace {
        /// The dead node as it was planned.
        node: Box<NodePlan>,
        /// Cassandra's own id of it, where it is known.
        host_id: Option<String>,
    },
}

/// Why a node cannot be planned into a cluster.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum JoinError {
    /// No such data centre.
    #[error("cluster {cluster} has no data centre {name}")]
    DataCenter {
        /// Cluster.
        cluster: String,
        /// Asked for.
        name: String,
        /// Those that it has.
        known: Vec<String>,
    },
    /// A name that no rack can have.
    #[error("{0:?} cannot name a rack: use 1 to 40 letters, digits, - and _, a letter first")]
    Rack(String),
    /// A network with distances is made once.
    #[error(
        "cluster {0} has a network with distances, which only `up` can create: no node can be added"
    )]
    Network(String),
    /// The cluster is as large as one can be.
    #[error("a cluster has at most {NODES_MAX} nodes")]
    Full,
    /// More memory than there is.
    #[error("the node needs {}", lacking(*need, *has))]
    Memory {
        /// Plan.
        need: Bytes,
        /// Free, and not reserved.
        has: Bytes,
    },
}

impl JoinError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::DataCenter { name, known, .. } => format!(
                "{}; a whole data centre is added with a new cluster: `helenus up --dc`",
                name_hint(name, known)
            ),
            Self::Rack(_) => "a rack has a name like rack2".into(),
            Self::Network(_) => {
                "bring it up again with the nodes that it needs; `node decommission`, `node remove` and `node replace` \
                 work"
                    .into()
            }
            Self::Full => "bring up another cluster".into(),
            Self::Memory { .. } => {
                "free some memory; `helenus list` shows what the clusters use".into()
            }
        }
    }
}

impl ClusterPlan {
    /// The name of the next node: none is given twice, so that what was measured of one is never taken for another.
    pub fn next_name<'a>(&'a self, gone: impl Iterator<Item = &'a str>) -> String {
        let all = self.nodes.iter().map(|node| node.name.as_str()).chain(gone);
        let number = |name: &str| name.strip_prefix("node")?.parse::<u32>().ok();
        format!("node{}", all.filter_map(number).max().unwrap_or(0) + 1)
    }

    /// The plan with one more node, as those of its data centre are, with tokens that it takes from those that own
    /// most.
    ///
    /// # Errors
    /// No such data centre, too little memory, or a cluster that takes no more nodes.
    pub fn with_newcomer(&self, newcomer: &Newcomer) -> Result<Self, JoinError> {
        if self.network.is_some() {
            return Err(JoinError::Network(self.name.clone()));
        }
        if self.nodes.len() >= NODES_MAX as usize {
            return Err(JoinError::Full);
        }
        let data_center = self.data_center_for(newcomer)?;
        let rack = self.rack_for(newcomer, &data_center)?;
        let like = self.usual(&data_center);
        let mut node = self.like(like, &newcomer.name, newcomer.address);
        node.rack = rack;
        if !like.tokens.is_empty() {
            let members: Vec<Member> = self.nodes.iter().map(NodePlan::member).collect();
            let count = self.tokens as usize;
            node = node.with_tokens(newcomer_tokens(&members, &data_center, count));
        }
        self.with(node, newcomer.available)
    }

    /// The plan with a node in place of a dead one: at its place on the ring, under another name and address.
    ///
    /// # Errors
    /// Too little memory, or a cluster that takes no more nodes.
    pub fn with_replacement(
        &self,
        dead: &NodePlan,
        newcomer: &Newcomer,
    ) -> Result<Self, JoinError> {
        if self.network.is_some() {
            return Err(JoinError::Network(self.name.clone()));
        }
        let node = self.like(dead, &newcomer.name, newcomer.address);
        self.without(&dead.name).with(node, newcomer.available)
    }

    /// The plan without a node; the others get other seeds where it was one.
    #[must_use]
    pub fn without(&self, node: &str) -> Self {
        let mut plan = self.clone();
        plan.nodes.retain(|one| one.name != node);
        plan.seed_anew();
        plan
    }

    fn with(&self, node: NodePlan, available: Bytes) -> Result<Self, JoinError> {
        let need = self
            .memory_of(&node)
            .map_or(Bytes(0), |memory| memory.total());
        if need > available {
            let has = available;
            return Err(JoinError::Memory { need, has });
        }
        let mut plan = self.clone();
        // Beside the others of its data centre: their order is the order in which tables list them.
        let last = plan
            .nodes
            .iter()
            .rposition(|n| n.data_center == node.data_center);
        plan.nodes
            .insert(last.map_or(plan.nodes.len(), |k| k + 1), node);
        plan.seed_anew();
        Ok(plan)
    }

    fn data_center_for(&self, newcomer: &Newcomer) -> Result<String, JoinError> {
        let mut known: Vec<String> = Vec::new();
        for node in &self.nodes {
            if !known.contains(&node.data_center) {
                known.push(node.data_center.clone());
            }
        }
        let owners = |name: &String| self.owners(name).count();
        match &newcomer.data_center {
            Some(name) if known.contains(name) => Ok(name.clone()),
            Some(name) => Err(JoinError::DataCenter {
                cluster: self.name.clone(),
                name: name.clone(),
                known,
            }),
            None => Ok(known
                .iter()
                .min_by_key(|name| owners(name))
                .cloned()
                .unwrap_or_default()),
        }
    }

    fn rack_for(&self, newcomer: &Newcomer, data_center: &str) -> Result<String, JoinError> {
        if let Some(rack) = &newcomer.rack {
            check_cluster_name(rack).map_err(|_| JoinError::Rack(rack.clone()))?;
            return Ok(rack.clone());
        }
        let mut racks: BTreeMap<&str, usize> = BTreeMap::new();
        for node in self.owners(data_center) {
            *racks.entry(&node.rack).or_default() += 1;
        }
        let fewest = racks.into_iter().min_by_key(|(_, nodes)| *nodes);
        Ok(fewest.map(|(rack, _)| rack.to_owned()).unwrap_or_default())
    }

    /// Nodes of a data centre that hold data.
    fn owners(&self, data_center: &str) -> impl Iterator<Item = &NodePlan> {
        let here = move |node: &&NodePlan| node.data_center == data_center && !node.coordinator;
        self.nodes.iter().filter(here)
    }

    /// The node that a newcomer is like: the first of the largest group of equal ones in its data centre.
    fn usual(&self, data_center: &str) -> &NodePlan {
        let alike: Vec<(&NodePlan, NodePlan)> = self
            .owners(data_center)
            .map(|node| (node, self.like(node, "node", Ipv4Addr::LOCALHOST).settled()))
            .collect();
        let settings = |node: &NodePlan| (node.yaml.clone(), node.jvm.clone(), node.disk);
        let votes = |one: &NodePlan| {
            let same = |other: &&(&NodePlan, NodePlan)| settings(&other.1) == settings(one);
            alike.iter().filter(same).count()
        };
        // The last of the greatest is what `max_by_key` gives: the first, from the end.
        let most = alike.iter().rev().max_by_key(|(_, one)| votes(one));
        most.map_or(&self.nodes[0], |(node, _)| node)
    }

    /// A node with the settings of another, its tokens included.
    fn like(&self, like: &NodePlan, name: &str, address: Ipv4Addr) -> NodePlan {
        let folder = format!("{}/{name}", self.folder);
        let (was, is) = (like.address.to_string(), address.to_string());
        let renamed = |folder: &String| match folder.strip_suffix(&like.name) {
            Some(beside) => format!("{beside}{name}"),
            None => folder.clone(),
        };
        let folders = Folders {
            data: like.folders.data.iter().map(renamed).collect(),
            commitlog: like.folders.commitlog.as_ref().map(renamed),
        };
        let was_folders = like.folders.all().into_iter().map(str::to_owned);
        let mut moved: Vec<(String, String)> = was_folders
            .map(|was| (was.clone(), renamed(&was)))
            .collect();
        moved.push((like.folder.clone(), folder.clone()));
        let store = |name: &str| format!("{}/{TLS_FOLDER}/{name}.p12", self.folder);
        let reword = |text: &str| {
            if text == was {
                is.clone()
            } else if text == store(&like.name) {
                store(name)
            } else {
                let new = moved.iter().find_map(|(was, is)| {
                    let rest = text.strip_prefix(was)?;
                    (rest.is_empty() || rest.starts_with('/')).then(|| format!("{is}{rest}"))
                });
                new.unwrap_or_else(|| text.to_owned())
            }
        };
        let of_flag = |flag: &String| match flag.split_once('=') {
            Some((key, value)) => format!("{key}={}", reword(value)),
            None => flag.clone(),
        };
        let mut node = NodePlan {
            name: name.to_owned(),
            address,
            folder: folder.clone(),
            folders,
            // Its processors are those of the node that has them.
            pin: None,
            jvm: like.jvm.iter().map(of_flag).collect(),
            ..like.clone()
        };
        node.edit(|map| {
            map.iter_mut()
                .for_each(|(_, value)| reworded(value, &reword))
        });
        node
    }

    /// Gives every node the seeds that a cluster of these nodes has.
    fn seed_anew(&mut self) {
        let standing = places::standing(&self.nodes);
        for (index, node) in self.nodes.iter_mut().enumerate() {
            let seeds = places::seeds(&standing, index);
            node.edit(|map| {
                if let Some(named) = map
                    .get_mut("seed_provider")
                    .and_then(|v| v.pointer_mut(SEEDS))
                {
                    *named = seeds.into();
                }
            });
        }
    }
}

/// Where a provider of seeds has them.
const SEEDS: &str = "/0/parameters/0/seeds";

fn reworded(value: &mut Value, reword: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) if text != KEYSTORE_PASSWORD_MARK => *text = reword(text),
        Value::Array(all) => all.iter_mut().for_each(|one| reworded(one, reword)),
        Value::Object(map) => map.iter_mut().for_each(|(_, one)| reworded(one, reword)),
        _ => {}
    }
}

impl NodePlan {
    /// The node as the ring sees it.
    pub fn member(&self) -> Member {
        Member {
            data_center: self.data_center.clone(),
            rack: self.rack.clone(),
            tokens: self.tokens.clone(),
        }
    }

    /// What it is launched with until it has joined: no seed of itself, it bootstraps, and it skips no wait that
    /// streaming needs.
    #[must_use]
    pub fn joining(&self, how: &Joining) -> Self {
        let mut node = self.clone();
        let own = self.address.to_string();
        node.jvm.retain(|flag| {
            !NOT_WHILE_JOINING
                .iter()
                .any(|skips| flag.starts_with(skips))
        });
        if let Joining::Replace { node: dead, .. } = how {
            let address = dead.address;
            node.jvm
                .push(format!("-Dcassandra.replace_address_first_boot={address}"));
            node.jvm.push(REPLACE_WAIT.to_owned());
        }
        node.edit(|map| {
            map.insert("auto_bootstrap".into(), true.into());
            if matches!(how, Joining::Replace { .. }) {
                // It gets the tokens of the one that it replaces.
                map.remove("initial_token");
            }
            if let Some(named) = map
                .get_mut("seed_provider")
                .and_then(|v| v.pointer_mut(SEEDS))
            {
                let seeds = named.as_str().unwrap_or_default().split(',');
                let others: Vec<&str> = seeds.filter(|seed| *seed != own).collect();
                *named = others.join(",").into();
            }
        });
        node
    }

    fn with_tokens(mut self, tokens: Vec<i64>) -> Self {
        let text: Vec<String> = tokens.iter().map(i64::to_string).collect();
        self.tokens = tokens;
        self.edit(|map| {
            map.insert("initial_token".into(), text.join(",").into());
        });
        self
    }

    /// Without what differs between nodes that are alike.
    fn settled(mut self) -> Self {
        self.edit(|map| {
            map.remove("initial_token");
            map.remove("seed_provider");
        });
        self
    }

    fn edit(&mut self, change: impl FnOnce(&mut serde_json::Map<String, Value>)) {
        if let Ok(Value::Object(mut map)) = yaml::parse(&self.yaml) {
            change(&mut map);
            self.yaml = yaml::render(&Value::Object(map));
        }
    }
}
