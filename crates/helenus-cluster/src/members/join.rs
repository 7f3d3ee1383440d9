//! The wait for a node that joins: its streams, its first answer, and that every other node has it on its ring.
//! Refuses to end a wait while something still moves.

use super::streams::Streams;
use super::{MemberError, alive, others};
use crate::context::Context;
use crate::error::{ClusterError, with_causes};
use crate::event::{Event, MemberEvent};
use crate::launch::Started;
use crate::reach;
use crate::ready::{self, ReadyError};
use crate::ring_view;
use crate::socket::is_node_s_own;
use crate::state::ClusterState;
use fs_err as fs;
use helenus_cql::codec::{Consistency, ServerErrorKind};
use helenus_model::plan::NodePlan;
use helenus_model::status::State;
use std::path::Path;
use std::time::{Duration, Instant};

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Longest wait for one answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);

/// What Cassandra logs when streams failed; it lives on then, and waits for somebody to look.
const FAILED: [&str; 2] = [
    "Some data streaming failed",
    "Error while waiting on bootstrap to complete",
];

impl Context {
    /// Waits for the nodes that run and have not joined yet; at once where there is none.
    pub(crate) fn await_joining(
        &self,
        state: &ClusterState,
        started: &mut [Started],
        within: Duration,
        events: &mut dyn FnMut(Event),
    ) -> Result<(), ClusterError> {
        let joins = |node: &&NodePlan| {
            let kept = state.nodes.get(&node.name);
            kept.is_some_and(|kept| kept.joining.is_some())
        };
        for node in state.plan.nodes.iter().filter(joins) {
            let ours = started.iter().position(|one| one.name == node.name);
            if ours.is_some() || alive(node)? {
                let mut ours = ours.map(|at| &mut started[at]);
                self.await_join(state, node, &mut ours, within, events)?;
                self.await_agreement(state, within, &mut || events(agreeing(node)))?;
            }
        }
        Ok(())
    }

    fn await_join(
        &self,
        state: &ClusterState,
        node: &NodePlan,
        started: &mut Option<&mut Started>,
        within: Duration,
        events: &mut dyn FnMut(Event),
    ) -> Result<(), ClusterError> {
        let folder = Path::new(&node.folder);
        let logged = started.as_ref().map_or(0, |one| one.logged);
        let log = folder.join("logs/system.log");
        let length = || fs::metadata(&log).map_or(0, |m| m.len());
        let senders = others(&state.plan, state, &node.name);
        let mut streams = Streams::begin();
        let (mut moved, mut known) = (Instant::now(), length());
        loop {
            if self.cancel.is_set() {
                return Err(ReadyError::Interrupted.into());
            }
            if let Some(died) = started.as_mut().and_then(|one| ready::died(one)) {
                return Err(died.into());
            }
            match ready::answer(state, node, ANSWER_WITHIN) {
                Ok(_) if is_node_s_own(node, reach::cql_address(&state.plan, node)) => {
                    return Ok(());
                }
                _ => {}
            }
            if let Some(streamed) = streams.look(state, &senders, &node.name, &self.cancel) {
                moved = Instant::now();
                let node = node.name.clone();
                events(Event::Member(MemberEvent::Streaming { node, streamed }));
            }
            if length() != known {
                known = length();
                moved = Instant::now();
                if failed(&log, logged) {
                    let log = log.clone();
                    let (cluster, node) = (state.plan.name.clone(), node.name.clone());
                    return Err(MemberError::Streaming { cluster, node, log }.into());
                }
            }
            if moved.elapsed() > within {
                return Err(ReadyError::TimedOut {
                    node: node.name.clone(),
                    waited: moved.elapsed().as_secs_f64(),
                    last: "it has not joined, and no data is streaming".to_owned(),
                    log: ready::log_of(folder),
                    tail: ready::tail_of(folder, logged),
                }
                .into());
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Waits until each node that runs has the nodes of the plan on its ring, each with its tokens, and no other.
    pub(super) fn await_agreement(
        &self,
        state: &ClusterState,
        within: Duration,
        begun: &mut dyn FnMut(),
    ) -> Result<(), ClusterError> {
        begun();
        let begin = Instant::now();
        loop {
            if self.cancel.is_set() {
                return Err(ReadyError::Interrupted.into());
            }
            let differing = state.plan.nodes.iter().find_map(|node| {
                let runs = !node.coordinator && alive(node).unwrap_or(false);
                runs.then(|| differs(state, node)).flatten()
            });
            let Some(last) = differing else {
                return Ok(());
            };
            if begin.elapsed() > within {
                return Err(MemberError::Stuck {
                    what: "agreement of all nodes on the ring".to_owned(),
                    waited: begin.elapsed().as_secs_f64(),
                    last,
                }
                .into());
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Waits until every node that runs holds this one for dead: only then it may be removed or replaced.
    pub(super) fn await_death(
        &self,
        state: &ClusterState,
        dead: &NodePlan,
        within: Duration,
        events: &mut dyn FnMut(Event),
    ) -> Result<(), ClusterError> {
        let Some(token) = dead.tokens.first() else {
            return Ok(());
        };
        // Its own range: the owner is one of the replicas, and ALL cannot be had where it is held for dead.
        let cql = format!(
            "SELECT session_id FROM system_traces.sessions WHERE token(session_id) = {token}"
        );
        let node = dead.name.clone();
        events(Event::Member(MemberEvent::Unseen { node }));
        let begin = Instant::now();
        let mut waits = others(&state.plan, state, &dead.name);
        while let Some(node) = waits.last() {
            if self.cancel.is_set() {
                return Err(ReadyError::Interrupted.into());
            }
            let asked = reach::connect(state, node, ANSWER_WITHIN)
                .and_then(|mut client| client.query(&cql, Consistency::All));
            let seen = asked.as_ref().err().and_then(|error| error.server());
            if seen.is_some_and(|e| matches!(e.kind, ServerErrorKind::Unavailable { .. })) {
                waits.pop();
                continue;
            }
            if begin.elapsed() > within {
                return Err(MemberError::Stuck {
                    what: format!("the other nodes' agreement that {} is dead", dead.name),
                    waited: begin.elapsed().as_secs_f64(),
                    last: asked
                        .map_or_else(|e| with_causes(&e), |_| format!("{} reaches it", node.name)),
                }
                .into());
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }
}

fn agreeing(node: &NodePlan) -> Event {
    let node = node.name.clone();
    Event::Member(MemberEvent::Agreeing { node })
}

/// Whether the streams of this life failed.
fn failed(log: &Path, logged: u64) -> bool {
    let text = fs::read(log).unwrap_or_default();
    let skip = usize::try_from(logged)
        .ok()
        .filter(|skip| *skip <= text.len());
    let text = String::from_utf8_lossy(&text[skip.unwrap_or(0)..]);
    FAILED.iter().any(|words| text.contains(words))
}

/// How a node's ring differs from the plan; none where it does not.
fn differs(state: &ClusterState, node: &NodePlan) -> Option<String> {
    let answer =
        reach::connect(state, node, ANSWER_WITHIN).and_then(|mut c| ring_view::view(&mut c));
    let view = match answer {
        Ok(view) => view,
        Err(error) => {
            return Some(format!(
                "cannot query {}: {}",
                node.name,
                with_causes(&error)
            ));
        }
    };
    let owners = || state.plan.nodes.iter().filter(|n| !n.coordinator);
    for other in owners() {
        let found = view.nodes.iter().find(|n| n.address == other.address);
        let sorted = |tokens: &[i64]| {
            let mut tokens = tokens.to_vec();
            tokens.sort_unstable();
            tokens
        };
        let same = found.is_some_and(|n| {
            let tokens = other.tokens.is_empty() || sorted(&n.tokens) == sorted(&other.tokens);
            tokens && n.state == State::Normal
        });
        if !same {
            return Some(format!(
                "{} does not have {} on its ring",
                node.name, other.name
            ));
        }
    }
    let known = |address| {
        state
            .plan
            .nodes
            .iter()
            .any(|n| std::net::IpAddr::from(n.address) == address)
    };
    let stranger = view.nodes.iter().find(|n| !known(n.address));
    stranger.map(|n| format!("{} still has {} on its ring", node.name, n.address))
}
