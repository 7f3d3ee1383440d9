//! Nodes that leave: by themselves with their data, or dead, and then removed by those that stay.
//! Refuses to delete a node's folder before the others have it on their ring no more.

use super::streams::Streams;
use super::{Change, Leave, MemberError, alive, end_node, may_change, others, tool};
use crate::context::Context;
use crate::error::ClusterError;
use crate::event::{Event, MemberEvent};
use crate::ring_view;
use crate::secure;
use crate::state::{ClusterState, NodeCondition, condition};
use helenus_model::membership::{Streamed, short_without_one};
use helenus_model::plan::NodePlan;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// What nodetool prints about a node that the asked one considers alive.
const ALIVE: &str = "is alive and owns this ID";

/// What nodetool prints where a removal is under way.
const UNDER_WAY: &str = "already processing a removal";

/// Between two tries.
const TRY_EVERY: Duration = Duration::from_secs(2);

impl Context {
    /// Whether a node may leave so; nothing is changed.
    ///
    /// # Errors
    /// It runs or does not, it is the last one, or keyspaces want more replicas than nodes would be left, unless that
    /// is wanted by `force`.
    pub fn look_at_departure(
        &self,
        name: &str,
        node: &str,
        how: Leave,
        force: bool,
    ) -> Result<Change, ClusterError> {
        let mut state = self.clusters.load(name)?;
        let node = may_leave(&state, node, how, force)?;
        state.plan = state.plan.without(&node.name);
        Ok(Change {
            node,
            replaces: None,
            streamed: Streamed::default(),
            state,
        })
    }

    /// Lets a node leave, and deletes it when the others know it no more.
    ///
    /// # Errors
    /// As [`Self::look_at_departure`]; or Cassandra refuses, or it does not come to an end. The same asked for again
    /// continues it.
    pub fn leave(
        &self,
        name: &str,
        node: &str,
        (how, force): (Leave, bool),
        within: Duration,
        events: &mut dyn FnMut(Event),
    ) -> Result<Change, ClusterError> {
        let _lock = self.clusters.lock(name)?;
        let mut state = self.clusters.load(name)?;
        self.sweep_gone(&state)?;
        let node = may_leave(&state, node, how, force)?;
        let kept = state.nodes.get(&node.name);
        if kept.is_some_and(|kept| kept.joining.is_some()) {
            self.forget(&mut state, &node.name)?;
        }
        let mut streamed = Streamed::default();
        if state.plan.nodes.iter().any(|n| n.name == node.name) {
            let kept = state.nodes.entry(node.name.clone());
            kept.and_modify(|kept| kept.leaving = true);
            self.save(&state)?;
            if !node.coordinator {
                streamed = match how {
                    Leave::Decommission => self.decommission(&state, &node, within, events),
                    Leave::Remove => self.removenode(&state, &node, within, events),
                    Leave::Assassinate => self.assassinate(&state, &node, within, events),
                }?;
            }
            self.drop_member(&mut state, &node, within, events)?;
        }
        Ok(Change {
            node,
            replaces: None,
            streamed,
            state,
        })
    }

    /// The others know it no more: it is taken out of the state, and deleted.
    fn drop_member(
        &self,
        state: &mut ClusterState,
        node: &NodePlan,
        within: Duration,
        events: &mut dyn FnMut(Event),
    ) -> Result<(), ClusterError> {
        let mut without = state.clone();
        self.take_out(&mut without, node)?;
        self.await_agreement(&without, within, &mut || {
            let node = node.name.clone();
            events(Event::Member(MemberEvent::Agreeing { node }));
        })?;
        *state = without;
        self.save(state)?;
        end_node(node)?;
        self.sweep_gone(state)?;
        Ok(secure::provide(&state.plan)?)
    }

    fn decommission(
        &self,
        state: &ClusterState,
        node: &NodePlan,
        within: Duration,
        events: &mut dyn FnMut(Event),
    ) -> Result<Streamed, ClusterError> {
        let mut streams = Streams::begin();
        let mut streamed = Streamed::default();
        let mut look = || {
            if let Some(now) = streams.look(state, &[node], &node.name, &self.cancel) {
                streamed = now;
                let node = node.name.clone();
                events(Event::Member(MemberEvent::Streaming {
                    node,
                    streamed: now,
                }));
            }
        };
        let begin = Instant::now();
        loop {
            let mode = tool::netstats(state, &node.name, &self.cancel)?.mode;
            match mode.as_str() {
                "DECOMMISSIONED" => break,
                "LEAVING" => {
                    // Somebody's wait for it was cut off.
                    look();
                    std::thread::sleep(TRY_EVERY);
                }
                _ => {
                    // Which keyspaces that leaves short was looked at before; Cassandra would count its own, too.
                    let words: &[&str] = match state.plan.release.starts_with("3.") {
                        true => &["decommission"],
                        false => &["decommission", "--force"],
                    };
                    tool::run((state, &node.name), words, &self.cancel, &mut look)?;
                    break;
                }
            }
            if begin.elapsed() > within {
                return Err(MemberError::Stuck {
                    what: format!("the departure of {}", node.name),
                    waited: begin.elapsed().as_secs_f64(),
                    last: format!("its mode is {mode}"),
                }
                .into());
            }
        }
        Ok(streamed)
    }

    fn removenode(
        &self,
        state: &ClusterState,
        node: &NodePlan,
        within: Duration,
        events: &mut dyn FnMut(Event),
    ) -> Result<Streamed, ClusterError> {
        let Some(host_id) = host_id(state, node)? else {
            // Nobody knows it any more: a removal that was cut off has ended.
            return Ok(Streamed::default());
        };
        self.await_death(state, node, within, events)?;
        let stay = others(&state.plan, state, &node.name);
        let asked = stay.first().map_or(node.name.as_str(), |n| n.name.as_str());
        let mut streams = Streams::begin();
        let mut streamed = Streamed::default();
        let mut look = || {
            if let Some(now) = streams.look(state, &stay, asked, &self.cancel) {
                streamed = now;
                let node = node.name.clone();
                events(Event::Member(MemberEvent::Streaming {
                    node,
                    streamed: now,
                }));
            }
        };
        let begin = Instant::now();
        loop {
            let words = ["removenode", &host_id];
            match tool::run((state, asked), &words, &self.cancel, &mut look) {
                Ok(_) => return Ok(streamed),
                Err(error) => match error.find() {
                    Some(MemberError::Tool { said, .. }) if says(said, UNDER_WAY) => {
                        return Ok(streamed);
                    }
                    Some(MemberError::Tool { said, .. })
                        if says(said, ALIVE) && begin.elapsed() < within => {}
                    _ => return Err(error),
                },
            }
            std::thread::sleep(TRY_EVERY);
        }
    }

    fn assassinate(
        &self,
        state: &ClusterState,
        node: &NodePlan,
        within: Duration,
        events: &mut dyn FnMut(Event),
    ) -> Result<Streamed, ClusterError> {
        self.await_death(state, node, within, events)?;
        let stay = others(&state.plan, state, &node.name);
        if let Some(asked) = stay.first() {
            let address = node.address.to_string();
            let words = ["assassinate", &address];
            tool::run((state, &asked.name), &words, &self.cancel, &mut || {})?;
        }
        Ok(Streamed::default())
    }
}

fn says(said: &[String], words: &str) -> bool {
    said.iter().any(|line| line.contains(words))
}

/// Cassandra's id of a node, as the others know it now; none where they know it no more.
fn host_id(state: &ClusterState, node: &NodePlan) -> Result<Option<String>, ClusterError> {
    let view = ring_view::read(state)?;
    let known = view.nodes.into_iter();
    let mut own = known.filter(|n| n.address == IpAddr::from(node.address));
    match own.next() {
        None => Ok(None),
        Some(found) => {
            let kept = state.nodes.get(&node.name).and_then(|n| n.host_id.clone());
            let host_id = found.host_id.or(kept);
            host_id.map(Some).ok_or_else(|| {
                MemberError::NoHostId {
                    cluster: state.plan.name.clone(),
                    node: node.name.clone(),
                }
                .into()
            })
        }
    }
}

/// The node, where it may leave so.
fn may_leave(
    state: &ClusterState,
    node: &str,
    how: Leave,
    force: bool,
) -> Result<NodePlan, ClusterError> {
    may_change(state)?;
    state.baseline.clone().may_start(&state.plan.name)?;
    let node = state.node(node)?.clone();
    let cluster = state.plan.name.clone();
    let kept = state.nodes.get(&node.name);
    let joins = kept.is_some_and(|kept| kept.joining.is_some());
    let lives = alive(&node)?;
    if how != Leave::Decommission && lives {
        let node = node.name;
        return Err(MemberError::Runs { cluster, node }.into());
    }
    if how == Leave::Decommission && joins {
        let node = node.name;
        return Err(MemberError::HalfJoined { cluster, node }.into());
    }
    if how == Leave::Decommission && !node.coordinator {
        let wanted = kept.map_or(crate::state::Wanted::Stopped, |kept| kept.wanted);
        let now = condition(&node, wanted).map_err(ClusterError::io("the node's claim"))?;
        if now.0 != NodeCondition::Running {
            return Err(MemberError::Down {
                cluster,
                nodes: vec![node.name],
                may_force: false,
            }
            .into());
        }
    }
    if joins || node.coordinator {
        return Ok(node);
    }
    let stay = others(&state.plan, state, &node.name);
    let owners = state.plan.nodes.iter().filter(|n| !n.coordinator);
    if owners.count() <= 1 {
        let node = node.name;
        return Err(MemberError::Only { cluster, node }.into());
    }
    if stay.is_empty() {
        let nodes = state.plan.nodes.iter().map(|n| n.name.clone());
        let nodes = nodes.filter(|n| *n != node.name).collect();
        return Err(MemberError::Down {
            cluster,
            nodes,
            may_force: false,
        }
        .into());
    }
    // One whose leaving was cut off may be half gone from their rings: it was looked at then.
    let leaves = kept.is_some_and(|kept| kept.leaving);
    if !force && !leaves {
        let short = short_without_one(&ring_view::read(state)?, &node.data_center);
        if !short.is_empty() {
            let node = node.name;
            return Err(MemberError::Short { node, short }.into());
        }
    }
    Ok(node)
}
