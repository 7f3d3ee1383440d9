//! The network of a cluster whose data centres are apart: made before its nodes, ended after them.
//! Refuses to start a node beside ones that are stranded in a network that is gone.

use crate::alive;
use crate::context::Context;
use crate::error::ClusterError;
use crate::event::Event;
use crate::net;
use crate::process;
use crate::remove;
use crate::state::ClusterState;
use std::path::Path;
use std::time::Duration;

impl Context {
    /// Makes the cluster's network, where it has one and it is not there.
    pub(crate) fn provide_network(
        &self,
        state: &ClusterState,
        events: &mut dyn FnMut(Event),
    ) -> Result<(), ClusterError> {
        let Some(network) = &state.plan.network else {
            return Ok(());
        };
        let folder = Path::new(&state.plan.folder);
        if net::client::runs(folder).map_err(ClusterError::io("the keeper's claim"))? {
            return Ok(());
        }
        net::client::start(folder, network, &self.helenus, state.ephemeral)?;
        events(Event::Network {
            data_centers: network.sites.len(),
        });
        Ok(())
    }

    /// The nodes to start: those that are asked for; where the network is gone, also those that still run in what is
    /// left of it, ended first.
    pub(crate) fn whole_network(
        &self,
        state: &ClusterState,
        asked: &[String],
        events: &mut dyn FnMut(Event),
    ) -> Result<Vec<String>, ClusterError> {
        let folder = Path::new(&state.plan.folder);
        let claim = ClusterError::io("the keeper's claim");
        if state.plan.network.is_none() || net::client::runs(folder).map_err(claim)? {
            return Ok(asked.to_vec());
        }
        let mut stranded = Vec::new();
        for node in &state.plan.nodes {
            let holder = alive::holder(Path::new(&node.folder))
                .map_err(ClusterError::io("the node's claim"))?;
            if let Some(pid) = holder {
                process::end(pid, Duration::ZERO);
                remove::forget_attach(pid.as_raw_pid());
                stranded.push(node.name.clone());
            }
        }
        if !stranded.is_empty() {
            let nodes = stranded.len();
            events(Event::Rebuilt { nodes });
        }
        let wanted = |name: &&String| asked.contains(name) || stranded.contains(name);
        let names: Vec<String> = state.plan.nodes.iter().map(|n| n.name.clone()).collect();
        Ok(names.iter().filter(wanted).cloned().collect())
    }

    /// Ends the network when no node lives in it: `start` makes it again.
    pub(crate) fn end_empty_network(&self, state: &ClusterState) -> Result<(), ClusterError> {
        if state.plan.network.is_none() {
            return Ok(());
        }
        for node in &state.plan.nodes {
            let holder = alive::holder(Path::new(&node.folder))
                .map_err(ClusterError::io("the node's claim"))?;
            if holder.is_some() {
                return Ok(());
            }
        }
        net::client::end(Path::new(&state.plan.folder))
            .map_err(ClusterError::io("the keeper's claim"))
    }
}
