//! Clusters on hosts of your own: what was rendered, and what the tool that runs it says. All work is done by that tool,
//! as a child. Refuses a host that is not in the cluster's own inventory.

mod ansible;
mod lent;
mod nodes;
mod secured;

pub use ansible::{Ansible, AnsibleError, HostEnd, PlayEvent, Played, Problems};
pub use lent::{Anew, Lent, put_back, renew};
pub use nodes::{NodeState, nodes, view, wait};
pub use secured::{access, provide, secure};

use crate::attach::random_password;
use crate::context::Context;
use crate::error::ClusterError;
use crate::kept::{Keep, Kept};
use crate::store::{Store, StoreEvent};
use fs_err as fs;
use helenus_model::access::{CREDENTIALS_FOLDER, TLS_FOLDER};
use helenus_model::format::Format;
use helenus_model::guard::{SeenNode, Sight};
use helenus_model::hosts::options::{HostsError, Options};
use helenus_model::hosts::{HostsPlan, render};
use helenus_model::plan::{ClusterPlan, PlanRequest};
use helenus_model::release::{Arch, Release};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// Version of [`HostsState`] as JSON.
pub const HOSTS_STATE_VERSION: u32 = 1;

/// A cluster on hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostsState {
    /// `helenus.hosts-state/1`.
    pub format: Format,
    /// Cassandra's part.
    pub plan: ClusterPlan,
    /// The hosts' part.
    pub options: Options,
    /// Cassandra's ids of its nodes, once they served: what answers with another one is not this cluster.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub host_ids: BTreeSet<String>,
    /// What Cassandra's part was planned from; absent where it was that of another cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Box<PlanRequest>>,
    /// How it was before an experiment took it; absent where none has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lent: Option<Box<Lent>>,
}

impl Keep for HostsState {
    const FOLDER: &'static str = "hosts";
    const WHERE: &'static str = "was brought up on hosts";
    const FORMAT: (&'static str, u32) = ("hosts-state", HOSTS_STATE_VERSION);

    fn name(&self) -> &str {
        &self.plan.name
    }

    fn id(&self) -> Option<&str> {
        self.options.id.as_deref()
    }
}

/// The clusters of this user on hosts.
pub type HostsClusters = Kept<HostsState>;

impl HostsState {
    /// A cluster that is to be brought up.
    pub fn new((plan, asked): (ClusterPlan, Option<PlanRequest>), options: Options) -> Self {
        Self {
            format: Format::new("hosts-state", HOSTS_STATE_VERSION),
            plan,
            options,
            host_ids: BTreeSet::new(),
            asked: asked.map(Box::new),
            lent: None,
        }
    }

    /// Its files.
    ///
    /// # Errors
    /// They were rendered once, so only a newer version that refuses more.
    pub fn rendered(&self) -> Result<HostsPlan, HostsError> {
        render(&self.plan, &self.options)
    }
}

/// An id for a cluster.
///
/// # Errors
/// The kernel gives no random bytes.
pub fn new_id() -> io::Result<String> {
    Ok(random_password()?.chars().take(12).collect())
}

/// The cluster on hosts that was seen: brought up by this user, and each of its nodes has an id of one of ours.
pub fn owner(all: &HostsClusters, sight: &Sight) -> Option<HostsState> {
    let state = all.find(&sight.cluster_name).ok()??;
    let ours = |node: &SeenNode| state.host_ids.contains(&node.host_id);
    (!sight.nodes.is_empty() && sight.nodes.iter().all(ours)).then_some(state)
}

/// Writes the files into the cluster's own folder, in place of those that were there, and says where that is.
///
/// # Errors
/// The folder cannot be written.
pub fn lay_out(all: &HostsClusters, plan: &HostsPlan) -> io::Result<PathBuf> {
    let folder = all.folder(&plan.name);
    fs::create_dir_all(&folder)?;
    for entry in fs::read_dir(&folder)? {
        let entry = entry?;
        // Keys and passwords are made once.
        if [TLS_FOLDER, CREDENTIALS_FOLDER]
            .map(OsStr::new)
            .contains(&&*entry.file_name())
        {
            continue;
        }
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    write(plan, &folder)?;
    Ok(folder)
}

/// Writes the files into a folder.
///
/// # Errors
/// The folder cannot be written.
pub fn write(plan: &HostsPlan, folder: &Path) -> io::Result<()> {
    for file in &plan.files {
        let path = folder.join(&file.path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, &file.text)?;
    }
    Ok(())
}

/// The program on a node's host that is its nodetool.
pub fn nodetool_of(node: &str) -> String {
    format!("/usr/local/bin/nodetool-{node}")
}

/// Runs nodetool with these words for each node, on its host.
///
/// # Errors
/// A host is not reached, or nodetool fails there.
pub fn nodetool(
    context: &Context,
    state: &HostsState,
    words: &[String],
) -> Result<(), ClusterError> {
    let plan = state.rendered()?;
    let clusters = HostsClusters::of(&context.paths.state);
    let ansible = Ansible::find(&clusters.folder(&plan.name))?;
    for node in &plan.nodes {
        let line = [&[nodetool_of(&node.name)], words].concat();
        let host = node.host.as_deref().unwrap_or_default();
        ansible.on(host, &line, &context.cancel)?;
    }
    Ok(())
}

/// The folder with a release's jars, which are fetched where they are not there.
///
/// # Errors
/// An unknown release, or it cannot be fetched.
pub fn jars(
    context: &Context,
    release: &str,
    see: &mut dyn FnMut(StoreEvent),
) -> Result<PathBuf, ClusterError> {
    let release = Release::find(release)?;
    let store = Store::open(&context.paths.cache, &context.env)?;
    let files = store.ensure(release, Arch::here(), &context.cancel.flag(), see)?;
    let folder = files.jars.first().and_then(|jar| jar.parent());
    Ok(folder.map(PathBuf::from).unwrap_or_default())
}
