//! What Helenus knows of its clusters: one versioned file each, written before the resource exists.
//! Refuses to guess: a folder without a readable state file is reported as broken, never touched in passing.

use crate::alive;
use crate::error::{Class, Problem};
use crate::limits::Limits;
use crate::lock;
use crate::marks::{BaselineMark, SchemaMark};
use crate::process;
pub use crate::process::{Owner, started_at};
use crate::stored::{self, ReadError};
use fs_err as fs;
use helenus_model::access::Access;
use helenus_model::format::Format;
use helenus_model::plan::{ClusterPlan, Joining, NodePlan};
use helenus_model::topology::{Target, name_hint};
use helenus_model::upgrade::Mode;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Version of [`ClusterState`] as JSON.
pub const STATE_VERSION: u32 = 2;

/// State file in a cluster's folder.
const STATE_FILE: &str = "cluster.json";

/// A cluster of this user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusterState {
    /// `helenus.cluster/2`.
    pub format: Format,
    /// Random, so that a cluster of the same name later is not taken for this one.
    pub id: String,
    /// Seconds since 1970 at which `up` started.
    pub created_unix: u64,
    /// Removed with the command that made it.
    pub ephemeral: bool,
    /// Process that made it, with its start in ticks since boot, for numbers of processes come again;
    /// an ephemeral cluster whose maker is gone is a leftover.
    pub maker: (i32, Option<u64>),
    /// The process that it belongs to, and ends with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// Everything decided before the start.
    pub plan: ClusterPlan,
    /// What nodes are launched with.
    pub runtime: Runtime,
    /// By node name.
    pub nodes: BTreeMap<String, NodeState>,
    /// Limits as they hold since the last start; absent where none were asked, and in states of version 1.
    #[serde(default)]
    pub limits: Option<Limits>,
    /// Baselines: the last one that it was at, and work on one that has not ended.
    #[serde(default)]
    pub baseline: BaselineMark,
    /// The schema that came with `up`.
    #[serde(default, rename = "given", skip_serializing_if = "Option::is_none")]
    pub schema: Option<SchemaMark>,
    /// Where user, password and certificates are; open where the cluster asks for none.
    #[serde(default, skip_serializing_if = "Access::is_open")]
    pub access: Access,
    /// Nodes that were in it: their names and addresses are not given again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<GoneNode>,
    /// Whether the superuser of `access` is there and the stock one is not; of clusters with authentication only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secured: bool,
    /// Nodes that run another release than the plan's, as long as an upgrade is under way.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub releases: BTreeMap<String, OwnRelease>,
    /// An upgrade that has not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upgrade: Option<UpgradeMark>,
}

/// The release of a node that an upgrade has moved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OwnRelease {
    /// Exact version.
    pub release: String,
    /// What it is launched with.
    pub runtime: Runtime,
}

/// An upgrade that has not ended: what it is to come to, and where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpgradeMark {
    /// Release to end on.
    pub to: String,
    /// Storage compatibility mode to end in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Mode>,
    /// The node that is being moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_hand: Option<String>,
    /// Whether that node was drained, so that another release may read what it left.
    #[serde(default)]
    pub drained: bool,
    /// Nodes whose data files are still to be rewritten.
    #[serde(default)]
    pub rewrite: Vec<String>,
}

/// What the nodes of a cluster are launched with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Runtime {
    /// Program that becomes the node.
    pub java: PathBuf,
    /// Full version of the JVM.
    pub jvm: String,
    /// Feature number of the JDK, such as 17.
    pub jdk_feature: u32,
    /// A caution that goes with every number, where the release does not support the JDK.
    pub jdk_caution: Option<String>,
    /// Jars of the class path, in order.
    pub jars: Vec<PathBuf>,
    /// Launcher jar.
    pub launcher: PathBuf,
    /// Class-data archive, where one could be made.
    pub archive: Option<PathBuf>,
    /// Module flags, for tools started beside the node.
    pub module_flags: Vec<String>,
    /// In tests: the program that stands in for Cassandra, a space, and how it behaves.
    pub fake: Option<String>,
}

/// What shall be and was of one node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeState {
    /// Whether the person wants it to run.
    pub wanted: Wanted,
    /// Cassandra's own id of the node, known once it was ready.
    pub host_id: Option<String>,
    /// How it joins: from before its first start until it has joined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joining: Option<Joining>,
    /// Whether it was asked to leave.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leaving: bool,
}

impl NodeState {
    /// A node that was never started.
    pub fn fresh(joining: Option<Joining>) -> Self {
        Self {
            wanted: Wanted::Stopped,
            host_id: None,
            joining,
            leaving: false,
        }
    }
}

/// A node that was in the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoneNode {
    /// Name.
    pub name: String,
    /// Its address: the others remember it for days.
    pub address: Ipv4Addr,
    /// Its folder; deleted as soon as its process has ended.
    pub folder: PathBuf,
    /// Cassandra's own id of it, where it had one.
    pub host_id: Option<String>,
}

/// Whether the person wants a node to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    /// Started and not stopped since.
    Running,
    /// Stopped or killed on request.
    Stopped,
}

/// Why the state cannot be read, written or found.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// No such cluster.
    #[error("no such cluster: {name}")]
    UnknownCluster {
        /// Asked for.
        name: String,
        /// All names.
        known: Vec<String>,
    },
    /// No such node.
    #[error("cluster {cluster} has no node named {node}")]
    UnknownNode {
        /// Cluster.
        cluster: String,
        /// Asked for.
        node: String,
        /// All nodes.
        known: Vec<String>,
    },
    /// None named and not exactly one there.
    #[error("which cluster? {}", if known.is_empty() { "there is none" } else { "there are several" })]
    Ambiguous {
        /// All names.
        known: Vec<String>,
    },
    /// The name is taken.
    #[error("cluster {0} already exists")]
    Exists(String),
    /// The state file is not ours to read.
    #[error("cannot read the state of cluster {name}")]
    Unreadable {
        /// Cluster.
        name: String,
        /// Why.
        source: ReadError,
    },
    /// Another helenus changes this cluster now.
    #[error("another helenus is working on cluster {0}")]
    Busy(String),
    /// A run measures this cluster now.
    #[error("a run is under way on cluster {cluster}: {by}")]
    InUse {
        /// Cluster.
        cluster: String,
        /// Its command.
        by: String,
    },
    /// The state folder.
    #[error("cannot use the state folder")]
    Io(#[from] io::Error),
}

impl Problem for StateError {
    fn class(&self) -> Class {
        match self {
            Self::Io(_) => Class::Environment,
            _ => Class::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownCluster { name, known } => match name.split_once('/') {
                Some((cluster, _)) if known.iter().any(|one| one == cluster) => Some(format!(
                    "name the whole cluster, not one of its nodes: {cluster}"
                )),
                _ => Some(name_hint(name, known)),
            },
            Self::UnknownNode { node, known, .. } => Some(name_hint(node, known)),
            Self::Ambiguous { known } if known.is_empty() => {
                Some("bring one up with `helenus up`".into())
            }
            Self::Ambiguous { known } => Some(format!(
                "name one of {}, or set HELENUS_CLUSTER",
                known.join(", ")
            )),
            Self::Exists(name) => Some(format!(
                "`helenus start {name}` starts it again, `helenus rm {name}` removes it"
            )),
            Self::Unreadable { name, .. } => {
                Some(format!("`helenus rm {name}` deletes the cluster and all its data"))
            }
            Self::Busy(_) => Some("wait until it is done, or stop it".into()),
            Self::InUse { .. } => Some(
                "wait until it has ended, or interrupt it; --force continues anyway and makes that run invalid"
                    .into(),
            ),
            Self::Io(_) => None,
        }
    }
}

/// The folder with all clusters of this user.
#[derive(Debug, Clone)]
pub struct Clusters {
    root: PathBuf,
}

/// The right to change a cluster; given back when dropped or when the process ends.
#[derive(Debug)]
pub struct ClusterLock {
    _file: fs::File,
}

impl Clusters {
    /// The clusters below a state folder.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn open(state: &Path) -> io::Result<Self> {
        let root = state.join("clusters");
        fs::create_dir_all(&root)?;
        // Plans, files and logs of nodes are the user's alone, also what an older umask let others see.
        let private = std::fs::Permissions::from_mode(0o700);
        fs::set_permissions(state, private)?;
        Ok(Self { root })
    }

    /// As [`Self::open`], but makes nothing: for whoever only looks.
    pub fn look(state: &Path) -> Self {
        let root = state.join("clusters");
        Self { root }
    }

    /// The folder of all clusters.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Folder of a cluster, there or not.
    pub fn folder(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Names of all clusters, broken ones included, sorted.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.root)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type()?.is_dir() && !name.starts_with('.') {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// Names and folders of all clusters.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn folders(&self) -> io::Result<Vec<(String, PathBuf)>> {
        let with_folder = |name: String| {
            let folder = self.folder(&name);
            (name, folder)
        };
        Ok(self.names()?.into_iter().map(with_folder).collect())
    }

    /// The state of a cluster.
    ///
    /// # Errors
    /// No such cluster, or its file cannot be read.
    pub fn load(&self, name: &str) -> Result<ClusterState, StateError> {
        let folder = self.folder(name);
        if name.is_empty() || !folder.is_dir() || name.starts_with('.') || name.contains('/') {
            return Err(StateError::UnknownCluster {
                name: name.into(),
                known: self.names()?,
            });
        }
        read(&folder.join(STATE_FILE)).map_err(|source| StateError::Unreadable {
            name: name.into(),
            source,
        })
    }

    /// The cluster of this name; without one, the only one there.
    ///
    /// # Errors
    /// None or several, no such one, or an unreadable one.
    pub fn resolve(&self, name: Option<&str>) -> Result<ClusterState, StateError> {
        match name {
            Some(name) => self.load(name),
            None => {
                let known = self.names()?;
                match known.as_slice() {
                    [only] => self.load(only),
                    _ => Err(StateError::Ambiguous { known }),
                }
            }
        }
    }

    /// The cluster of `NAME[/NODE]` and the node that it names; without it, the only cluster there.
    ///
    /// # Errors
    /// As [`Self::resolve`].
    pub fn target(&self, text: Option<&str>) -> Result<(ClusterState, Option<String>), StateError> {
        let target = text.map(Target::parse);
        let state = self.resolve(target.as_ref().map(|t| t.cluster.as_str()))?;
        Ok((state, target.and_then(|t| t.node)))
    }

    /// Takes the lock of a cluster's folder, which must exist.
    ///
    /// # Errors
    /// Another helenus holds it, or there is no such cluster.
    pub fn lock(&self, name: &str) -> Result<ClusterLock, StateError> {
        let folder = self.folder(name);
        let path = folder.join("lock");
        let unknown = || {
            Ok(StateError::UnknownCluster {
                name: name.into(),
                known: self.names()?,
            })
        };
        let file = match fs::OpenOptions::new().create(true).append(true).open(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return unknown().and_then(|e: StateError| Err(e));
            }
            Err(e) => return Err(e.into()),
        };
        if !lock::take_soon(&file)? {
            return Err(StateError::Busy(name.into()));
        }
        if !lock::has_name(&file)? {
            return unknown().and_then(|e: StateError| Err(e));
        }
        Ok(ClusterLock { _file: file })
    }

    /// Writes a cluster's state; a reader sees the old file or the new one, never half of one.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn save(&self, state: &ClusterState) -> io::Result<()> {
        stored::write(&file_in(&self.folder(&state.plan.name)), state)
    }
}

/// The state file in a cluster's folder.
pub(crate) fn file_in(folder: &Path) -> PathBuf {
    folder.join(STATE_FILE)
}

/// The state of the cluster in that folder.
pub(crate) fn read_in(folder: &Path) -> Result<ClusterState, ReadError> {
    read(&file_in(folder))
}

fn read(path: &Path) -> Result<ClusterState, ReadError> {
    stored::read(path, "cluster", STATE_VERSION)
}

impl ClusterState {
    /// The plan of a node by name.
    ///
    /// # Errors
    /// No such node.
    pub fn node(&self, name: &str) -> Result<&NodePlan, StateError> {
        self.plan
            .nodes
            .iter()
            .find(|n| n.name == name)
            .ok_or_else(|| StateError::UnknownNode {
                cluster: self.plan.name.clone(),
                node: name.into(),
                known: self.plan.nodes.iter().map(|n| n.name.clone()).collect(),
            })
    }

    /// What a node is launched with.
    pub fn runtime_of(&self, node: &str) -> &Runtime {
        self.releases
            .get(node)
            .map_or(&self.runtime, |own| &own.runtime)
    }

    /// The release of a node.
    pub fn release_of(&self, node: &str) -> &str {
        self.releases
            .get(node)
            .map_or(&self.plan.release, |own| &own.release)
    }

    /// A node as it is launched: otherwise than later while it has not joined.
    ///
    /// # Errors
    /// No such node.
    pub fn launched(&self, name: &str) -> Result<Cow<'_, NodePlan>, StateError> {
        let node = self.node(name)?;
        let joining = self.nodes.get(name).and_then(|n| n.joining.as_ref());
        Ok(match joining {
            Some(how) => Cow::Owned(node.joining(how)),
            None => Cow::Borrowed(node),
        })
    }

    /// The node of this name; without one, the first.
    ///
    /// # Errors
    /// No such node.
    pub fn node_or_first(&self, name: Option<&str>) -> Result<&NodePlan, StateError> {
        match name {
            Some(name) => self.node(name),
            None => Ok(&self.plan.nodes[0]),
        }
    }

    /// The nodes that a `NAME[/NODE]` means.
    ///
    /// # Errors
    /// No such node.
    pub fn targets(&self, node: Option<&str>) -> Result<Vec<&NodePlan>, StateError> {
        match node {
            Some(name) => Ok(vec![self.node(name)?]),
            None => Ok(self.plan.nodes.iter().collect()),
        }
    }

    /// Whether the command of an ephemeral cluster is gone without removing it.
    pub fn abandoned(&self) -> bool {
        let (pid, started) = self.maker;
        self.ephemeral && (started.is_none() || started_at(pid) != started)
    }

    /// Whether this very process made it.
    pub fn is_of_this_process(&self) -> bool {
        let own = rustix::process::getpid().as_raw_pid();
        let (pid, started) = self.maker;
        pid == own && started.is_some() && started_at(own) == started
    }
}

/// What a node is doing now, by its claim and the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeCondition {
    /// Its process lives.
    Running,
    /// Its process is stopped by a signal.
    Paused,
    /// Not running, as the person wanted.
    Stopped,
    /// Not running, though it should be.
    Died,
}

/// A node's condition and, where it lives, its process.
///
/// # Errors
/// The claim cannot be asked.
pub fn condition(node: &NodePlan, wanted: Wanted) -> io::Result<(NodeCondition, Option<i32>)> {
    let Some(pid) = alive::holder(Path::new(&node.folder))? else {
        let condition = match wanted {
            Wanted::Running => NodeCondition::Died,
            Wanted::Stopped => NodeCondition::Stopped,
        };
        return Ok((condition, None));
    };
    let condition = if process::is_paused(pid) {
        NodeCondition::Paused
    } else {
        NodeCondition::Running
    };
    Ok((condition, Some(pid.as_raw_pid())))
}
