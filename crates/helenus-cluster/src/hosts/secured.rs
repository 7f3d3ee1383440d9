//! Certificates and the superuser of a cluster on hosts: made and kept as those of local clusters are.
//! Refuses to leave `cassandra`/`cassandra` open at any node.

use super::{HostsClusters, HostsState};
use crate::cancel::Cancel;
use crate::error::ClusterError;
use crate::reach;
use crate::secure::{self, SecureError};
use crate::superuser::Door;
use helenus_model::access::Access;
use helenus_model::hosts::HostsPlan;
use helenus_model::plan::{ClusterPlan, NodePlan};
use std::time::Duration;

/// Longest wait for one answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// How one gets into a cluster on hosts, by what it asks for.
pub fn access(all: &HostsClusters, state: &HostsState) -> Access {
    let folder = all.folder(&state.plan.name);
    Access::of(&folder.to_string_lossy(), state.plan.security)
}

/// The plan with the addresses that its nodes have on their hosts, and the folder here that has its keys.
fn reached(all: &HostsClusters, state: &HostsState, plan: &HostsPlan) -> ClusterPlan {
    let mut cluster = state.plan.clone();
    cluster.folder = all.folder(&plan.name).to_string_lossy().into_owned();
    for (node, planned) in cluster.nodes.iter_mut().zip(&plan.nodes) {
        node.address = planned.address.unwrap_or(node.address);
    }
    cluster
}

/// Makes what is missing of its certificates and credentials in its folder.
///
/// # Errors
/// The folder cannot be written.
pub fn provide(
    all: &HostsClusters,
    state: &HostsState,
    plan: &HostsPlan,
) -> Result<(), SecureError> {
    secure::provide(&reached(all, state, plan))
}

/// Makes the superuser, and disarms the stock one; nothing where no password is asked, or where that was done.
///
/// # Errors
/// A node does not do it in time, or still takes the stock superuser.
pub fn secure(
    all: &HostsClusters,
    state: &HostsState,
    plan: &HostsPlan,
    cancel: &Cancel,
) -> Result<(), ClusterError> {
    if !state.plan.security.auth {
        return Ok(());
    }
    let cluster = reached(all, state, plan);
    let options = reach::options(&access(all, state), ANSWER_WITHIN);
    let options = options.map_err(|error| ClusterError::silent(plan.name.clone(), error))?;
    let door = Door {
        plan: &cluster,
        options,
    };
    let nodes: Vec<&NodePlan> = cluster.nodes.iter().collect();
    door.secure(&nodes, cancel)
}
