//! Nodes that come and go: one more joins, one leaves with its data, a dead one is removed or replaced.
//! Refuses to begin what is not written down: a node is in the state before its process exists, and until its folder
//! is gone.

mod error;
mod join;
mod leave;
mod streams;
mod tool;

pub use error::MemberError;

use crate::address::Claims;
use crate::alive;
use crate::context::Context;
use crate::disk;
use crate::error::ClusterError;
use crate::event::{Event, MemberEvent};
use crate::fault;
use crate::free_memory;
use crate::lifecycle::may_have_disks;
use crate::limits;
use crate::outside;
use crate::process;
use crate::remove;
use crate::state::{ClusterState, GoneNode, NodeCondition, NodeState, StateError, condition};
use fs_err as fs;
use helenus_model::membership::Streamed;
use helenus_model::plan::{ClusterPlan, Joining, Newcomer, NodePlan};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long to wait for a node that has left and is to end.
const ENDS_WITHIN: Duration = Duration::from_secs(20);

/// Where and how a node is to join.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AddRequest {
    /// Data centre, if set.
    pub data_center: Option<String>,
    /// Rack, if set.
    pub rack: Option<String>,
    /// Also where a node of the cluster is down.
    pub force: bool,
}

/// How a node leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// By itself, streaming what it has.
    Decommission,
    /// It is dead: those that hold copies stream.
    Remove,
    /// It is dead, and nothing is streamed: gossip marks it as gone.
    Assassinate,
}

/// A change that was made or is planned.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The node that came or went.
    pub node: NodePlan,
    /// The node that it replaces.
    pub replaces: Option<NodePlan>,
    /// What was streamed.
    pub streamed: Streamed,
    /// The cluster as it is then.
    pub state: ClusterState,
}

/// Addresses that a cluster's nodes have, and had.
fn known_addresses(state: &ClusterState) -> Vec<Ipv4Addr> {
    let nodes = state.plan.nodes.iter().map(|node| node.address);
    nodes
        .chain(state.gone.iter().map(|gone| gone.address))
        .collect()
}

impl Context {
    /// The node that [`Self::add_node`] would start; nothing is changed.
    ///
    /// # Errors
    /// As [`Self::add_node`], as far as can be known.
    pub fn look_at_newcomer(
        &self,
        name: &str,
        request: &AddRequest,
    ) -> Result<Change, ClusterError> {
        let mut state = self.clusters.load(name)?;
        self.may_grow(&state, request.force)?;
        let address = match state.plan.network {
            // It is refused below, in better words.
            Some(_) => Ipv4Addr::LOCALHOST,
            None => self.look_beside(&state)?,
        };
        self.grow(&mut state, request, address).map(|node| Change {
            node,
            replaces: None,
            streamed: Streamed::default(),
            state,
        })
    }

    /// Starts one more node, which streams its part from the others, and waits until all know it.
    ///
    /// # Errors
    /// It does not fit, a node is down, or it does not come in. What is interrupted leaves nothing behind; what failed
    /// by itself is kept, to be started again or removed.
    pub fn add_node(
        &self,
        name: &str,
        request: &AddRequest,
        within: Duration,
        events: &mut dyn FnMut(Event),
    ) -> Result<Change, ClusterError> {
        let _lock = self.clusters.lock(name)?;
        let mut state = self.clusters.load(name)?;
        self.sweep_gone(&state)?;
        self.may_grow(&state, request.force)?;
        if state.plan.network.is_some() {
            self.grow(&mut state, request, Ipv4Addr::LOCALHOST)?;
        }
        self.check_disk(1)?;
        let mut joins = None;
        self.take_beside(&mut state, |context, state, address| {
            let node = context.grow(state, request, address)?;
            context.save(state)?;
            joins = Some(node);
            Ok(())
        })?;
        let Some(node) = joins else {
            unreachable!("claims run the closure or fail")
        };
        let streamed = self.bring_in(&mut state, &node.name, within, events)?;
        Ok(Change {
            node,
            replaces: None,
            streamed,
            state,
        })
    }

    /// The address that a node beside those of a cluster would get.
    fn look_beside(&self, state: &ClusterState) -> Result<Ipv4Addr, ClusterError> {
        match self.claims.next_named(&known_addresses(state)) {
            Some(address) => Ok(address),
            None => Ok(self.claims.look_beside(state.plan.ports)?),
        }
    }

    /// Gives `then` an address beside those of a cluster; `then` writes the state that keeps it.
    fn take_beside(
        &self,
        state: &mut ClusterState,
        then: impl FnOnce(&Self, &mut ClusterState, Ipv4Addr) -> Result<(), ClusterError>,
    ) -> Result<(), ClusterError> {
        if let Some(address) = self.claims.next_named(&known_addresses(state)) {
            self.give_addresses(state, &[address])?;
            Claims::prove_free(&[address], state.plan.ports)?;
            return then(self, state, address);
        }
        let (folder, ports) = (PathBuf::from(&state.plan.folder), state.plan.ports);
        self.claims
            .take_beside(ports, &folder, |address| then(self, state, address))
    }

    /// Starts a node that is in the state, and waits until it has joined.
    fn bring_in(
        &self,
        state: &mut ClusterState,
        name: &str,
        within: Duration,
        events: &mut dyn FnMut(Event),
    ) -> Result<Streamed, ClusterError> {
        let mut streamed = Streamed::default();
        let launched = self.launch(state, &[name.to_owned()], within, &mut |event| {
            if let Event::Member(MemberEvent::Streaming { streamed: now, .. }) = &event {
                streamed = streamed.furthest(*now);
            }
            events(event);
        });
        match launched {
            Ok(()) => Ok(streamed),
            Err(error) if self.cancel.is_set() => {
                // The person's wish is the error to report.
                let _second = self.forget(state, name);
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    fn grow(
        &self,
        state: &mut ClusterState,
        request: &AddRequest,
        address: Ipv4Addr,
    ) -> Result<NodePlan, ClusterError> {
        let newcomer = self.newcomer(state, request, address);
        let plan = state.plan.with_newcomer(&newcomer)?;
        may_have_disks(&plan)?;
        state.plan = plan;
        let fresh = NodeState::fresh(Some(Joining::Bootstrap));
        state.nodes.insert(newcomer.name.clone(), fresh);
        Ok(state.node(&newcomer.name)?.clone())
    }

    fn newcomer(&self, state: &ClusterState, request: &AddRequest, address: Ipv4Addr) -> Newcomer {
        Newcomer {
            name: state
                .plan
                .next_name(state.gone.iter().map(|gone| gone.name.as_str())),
            data_center: request.data_center.clone(),
            rack: request.rack.clone(),
            address,
            available: free_memory::available(&self.clusters),
        }
    }

    /// Refuses a cluster that cannot take a node now.
    fn may_grow(&self, state: &ClusterState, force: bool) -> Result<(), ClusterError> {
        may_change(state)?;
        state.baseline.clone().may_start(&state.plan.name)?;
        if let Some(node) = state.nodes.iter().find(|(_, kept)| kept.joining.is_some()) {
            return Err(MemberError::HalfJoined {
                cluster: state.plan.name.clone(),
                node: node.0.clone(),
            }
            .into());
        }
        let down = down(state)?;
        if down.len() == state.plan.nodes.len() || (!down.is_empty() && !force) {
            return Err(MemberError::Down {
                cluster: state.plan.name.clone(),
                may_force: down.len() < state.plan.nodes.len(),
                nodes: down,
            }
            .into());
        }
        Ok(())
    }

    /// The node that [`Self::replace_node`] would start; nothing is changed.
    ///
    /// # Errors
    /// As [`Self::replace_node`], as far as can be known.
    pub fn look_at_replacement(
        &self,
        name: &str,
        node: &str,
        same_address: bool,
    ) -> Result<Change, ClusterError> {
        let mut state = self.clusters.load(name)?;
        let dead = self.may_replace(&state, node)?;
        let address = match same_address || state.plan.network.is_some() {
            true => dead.address,
            false => self.look_beside(&state)?,
        };
        let node = self.stand_in(&mut state, &dead, address)?;
        Ok(Change {
            node,
            replaces: Some(dead),
            streamed: Streamed::default(),
            state,
        })
    }

    /// Starts a node in place of a dead one: at its place on the ring, with data that the others stream. At the same
    /// address it keeps name and folders, and what was in them is deleted; so it is in a network with distances.
    ///
    /// # Errors
    /// The node runs, or the new one does not come in.
    pub fn replace_node(
        &self,
        name: &str,
        node: &str,
        same_address: bool,
        within: Duration,
        events: &mut dyn FnMut(Event),
    ) -> Result<Change, ClusterError> {
        let _lock = self.clusters.lock(name)?;
        let mut state = self.clusters.load(name)?;
        self.sweep_gone(&state)?;
        let dead = self.may_replace(&state, node)?;
        self.check_disk(1)?;
        // The new node would be refused by all that believe the old one to live.
        self.await_death(&state, &dead, within, events)?;
        let node = if same_address || state.plan.network.is_some() {
            let node = self.stand_in(&mut state, &dead, dead.address)?;
            self.save(&state)?;
            delete_node(Path::new(&node.folder))?;
            let own = node.folders.all();
            outside::remove_where(Path::new(&state.plan.folder), |folder| {
                own.iter().any(|own| folder == Path::new(own))
            })?;
            node
        } else {
            let mut stands_in = None;
            self.take_beside(&mut state, |context, state, address| {
                stands_in = Some(context.stand_in(state, &dead, address)?);
                context.save(state)
            })?;
            stands_in.unwrap_or_else(|| dead.clone())
        };
        let streamed = self.bring_in(&mut state, &node.name, within, events)?;
        Ok(Change {
            node,
            replaces: Some(dead),
            streamed,
            state,
        })
    }

    /// Puts a node into the state in place of a dead one.
    fn stand_in(
        &self,
        state: &mut ClusterState,
        dead: &NodePlan,
        address: Ipv4Addr,
    ) -> Result<NodePlan, ClusterError> {
        let kept = state.nodes.get(&dead.name);
        let joining = Joining::Replace {
            node: Box::new(dead.clone()),
            host_id: kept.and_then(|kept| kept.host_id.clone()),
        };
        let name = if address == dead.address {
            dead.name.clone()
        } else {
            let newcomer = self.newcomer(state, &AddRequest::default(), address);
            state.plan = state.plan.with_replacement(dead, &newcomer)?;
            state.nodes.remove(&dead.name);
            newcomer.name
        };
        state
            .nodes
            .insert(name.clone(), NodeState::fresh(Some(joining)));
        Ok(state.node(&name)?.clone())
    }

    fn may_replace(&self, state: &ClusterState, node: &str) -> Result<NodePlan, ClusterError> {
        may_change(state)?;
        state.baseline.clone().may_start(&state.plan.name)?;
        let dead = state.node(node)?.clone();
        let cluster = state.plan.name.clone();
        let node = dead.name.clone();
        if alive(&dead)? {
            return Err(MemberError::Runs { cluster, node }.into());
        }
        let kept = state.nodes.get(&node);
        if kept.is_some_and(|kept| kept.joining.is_some()) {
            return Err(MemberError::HalfJoined { cluster, node }.into());
        }
        if dead.coordinator {
            return Err(MemberError::Coordinator { cluster, node }.into());
        }
        if down(state)?.len() == state.plan.nodes.len() {
            let nodes = vec![node];
            return Err(MemberError::Down {
                cluster,
                nodes,
                may_force: false,
            }
            .into());
        }
        Ok(dead)
    }

    /// Takes a node out of the state and deletes it, which never became a member; the one that it was to replace is
    /// there again.
    fn forget(&self, state: &mut ClusterState, name: &str) -> Result<(), ClusterError> {
        let node = state.node(name)?.clone();
        let joining = state.nodes.get(name).and_then(|kept| kept.joining.clone());
        match joining {
            Some(Joining::Replace { node: dead, .. }) if dead.name == name => {
                // Its folder is the dead one's: what it had is gone already.
                end_node(&node)?;
                return Ok(());
            }
            Some(Joining::Replace {
                node: dead,
                host_id,
            }) => {
                let again = NodeState {
                    host_id,
                    ..NodeState::fresh(None)
                };
                state.nodes.insert(dead.name.clone(), again);
                self.take_out(state, &node)?;
                state.plan.nodes.push(*dead);
                state.plan.nodes.sort_by_key(|n| number(&n.name));
                self.save(state)?;
            }
            _ => {
                self.take_out(state, &node)?;
                self.save(state)?;
            }
        }
        self.sweep_gone(state)
    }

    /// Takes a node out of the plan; what it was is remembered.
    fn take_out(&self, state: &mut ClusterState, node: &NodePlan) -> Result<(), ClusterError> {
        let kept = state.nodes.remove(&node.name);
        state.plan = state.plan.without(&node.name);
        remember(state, node, kept.and_then(|kept| kept.host_id));
        Ok(())
    }

    /// The marks of nodes that have joined go; those that were replaced go, too. The caller saves the state.
    pub(crate) fn joined(&self, state: &mut ClusterState) -> Result<(), ClusterError> {
        let names: Vec<String> = state.nodes.keys().cloned().collect();
        for name in names {
            let node = state.node(&name)?.clone();
            if !alive(&node)? {
                continue;
            }
            let kept = state.nodes.get_mut(&name);
            let joining = kept.and_then(|kept| kept.joining.take());
            if let Some(Joining::Replace {
                node: dead,
                host_id,
            }) = joining
                && dead.name != name
            {
                remember(state, &dead, host_id);
            }
        }
        self.save(state)?;
        self.sweep_gone(state)
    }

    /// Ends and deletes what is left of nodes that are gone, on other disks as well, and forgets what was done to them.
    pub(crate) fn sweep_gone(&self, state: &ClusterState) -> Result<(), ClusterError> {
        for gone in state.gone.iter().filter(|gone| gone.folder.exists()) {
            end_folder(&gone.folder)?;
            delete_node(&gone.folder)?;
            let groups = state.limits.as_ref().and_then(|l| l.groups.get(&gone.name));
            limits::remove_of(groups.map(Vec::as_slice).unwrap_or_default());
        }
        let stay = staying(state);
        outside::remove_where(Path::new(&state.plan.folder), |folder| {
            let mut theirs = stay.iter().flat_map(|node| node.folders.all());
            !theirs.any(|own| folder == Path::new(own))
        })?;
        // A journal that cannot be read is `fault`'s to report.
        if let Err(error) = fault::forget_gone(state, &stay) {
            tracing::warn!(%error, "faults of nodes that are gone are kept");
        }
        Ok(())
    }
}

/// The nodes of the plan, and those that are being replaced: they are there again where that fails.
fn staying(state: &ClusterState) -> Vec<&NodePlan> {
    let replaced = state.nodes.values().filter_map(|kept| match &kept.joining {
        Some(Joining::Replace { node, .. }) => Some(&**node),
        _ => None,
    });
    state.plan.nodes.iter().chain(replaced).collect()
}

fn remember(state: &mut ClusterState, node: &NodePlan, host_id: Option<String>) {
    state.gone.push(GoneNode {
        name: node.name.clone(),
        address: node.address,
        folder: PathBuf::from(&node.folder),
        host_id,
    });
}

/// The number in a node's name, by which nodes stand in a plan.
fn number(name: &str) -> u32 {
    let digits = name.strip_prefix("node").unwrap_or(name);
    digits.parse().unwrap_or(u32::MAX)
}

/// Nodes of a cluster that belongs to a command come and go with it; Cassandra streams between nodes of one release only.
fn may_change(state: &ClusterState) -> Result<(), ClusterError> {
    let cluster = state.plan.name.clone();
    if state.ephemeral {
        return Err(StateError::Busy(cluster).into());
    }
    if state.upgrade.is_some() {
        return Err(MemberError::Upgrading { cluster }.into());
    }
    Ok(())
}

pub(crate) fn alive(node: &NodePlan) -> Result<bool, ClusterError> {
    let holder = alive::holder(Path::new(&node.folder));
    Ok(holder
        .map_err(ClusterError::io("the node's claim"))?
        .is_some())
}

/// The nodes that do not run, or are paused.
fn down(state: &ClusterState) -> Result<Vec<String>, ClusterError> {
    let mut down = Vec::new();
    for node in &state.plan.nodes {
        let Some(kept) = state.nodes.get(&node.name) else {
            continue;
        };
        let now = condition(node, kept.wanted).map_err(ClusterError::io("a node's claim"))?;
        if now.0 != NodeCondition::Running {
            down.push(node.name.clone());
        }
    }
    Ok(down)
}

/// The nodes that run and hold data, but for one.
fn others<'a>(plan: &'a ClusterPlan, state: &'a ClusterState, but: &str) -> Vec<&'a NodePlan> {
    let runs = |node: &&NodePlan| {
        let joins = state
            .nodes
            .get(&node.name)
            .is_some_and(|n| n.joining.is_some());
        node.name != but && !node.coordinator && !joins && alive(node).unwrap_or(false)
    };
    plan.nodes.iter().filter(runs).collect()
}

fn end_node(node: &NodePlan) -> Result<(), ClusterError> {
    end_folder(Path::new(&node.folder))
}

fn end_folder(folder: &Path) -> Result<(), ClusterError> {
    let holder = alive::holder(folder).map_err(ClusterError::io("the node's claim"))?;
    if let Some(pid) = holder {
        process::end(pid, ENDS_WITHIN);
        remove::forget_attach(pid.as_raw_pid());
    }
    Ok(())
}

impl Context {
    /// Deletes the data of a cluster whose nodes are stopped; they start as new ones, with their settings.
    ///
    /// # Errors
    /// A node runs, or a folder cannot be deleted.
    pub fn clear(&self, name: &str) -> Result<(), ClusterError> {
        let _lock = self.clusters.lock(name)?;
        let mut state = self.clusters.load(name)?;
        for node in &state.plan.nodes {
            if alive(node)? {
                return Err(StateError::Busy(name.to_owned()).into());
            }
        }
        // The rows that a populate remembers go.
        crate::populate_journal::forget(self, name)?;
        outside::remove(Path::new(&state.plan.folder))?;
        for node in &state.plan.nodes {
            delete_node(Path::new(&node.folder))?;
            state
                .nodes
                .insert(node.name.clone(), NodeState::fresh(None));
        }
        state.secured = false;
        self.save(&state)
    }
}

/// Deletes a node's folder with the disk below it; its process has ended.
fn delete_node(folder: &Path) -> Result<(), ClusterError> {
    disk::below(folder)?;
    disk::unmount_below(folder)?;
    match fs::remove_dir_all(folder) {
        Err(error) if folder.exists() => Err(ClusterError::io("the node's folder")(error)),
        _ => Ok(()),
    }
}
