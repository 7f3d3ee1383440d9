//! Nodes that come and go beside a run, as the cluster's state reports them: events, and whom to look at from then on.
//! Refuses to read a file that has not changed.

use crate::alive;
use crate::state::{self, ClusterState};
use fs_err as fs;
use helenus_model::plan::{Joining, NodePlan};
use helenus_model::telemetry::{Event, EventKind, Reading, Seen};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Behind the name of a node that leaves.
const LEAVES: &str = " leaves";

/// The nodes of a cluster that is looked at.
#[derive(Debug)]
pub(super) struct Members {
    folder: PathBuf,
    /// Of the cluster that was there at the beginning: one of the same name later is another.
    id: String,
    changed: Option<SystemTime>,
    /// What is under way, by node: since when, and in words.
    under_way: BTreeMap<String, (u64, String)>,
}

/// What a look found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// What has ended.
    pub(super) events: Vec<Reading>,
    /// The cluster as it is now, where it may have changed.
    pub(super) state: Option<Box<ClusterState>>,
}

impl Members {
    pub(super) fn of(state: &ClusterState) -> Self {
        Self {
            folder: PathBuf::from(&state.plan.folder),
            id: state.id.clone(),
            changed: None,
            under_way: BTreeMap::new(),
        }
    }

    /// Looks whether somebody changed the cluster.
    pub(super) fn look(&mut self, at_ns: u64) -> Found {
        let file = state::file_in(&self.folder);
        let changed = fs::metadata(file).and_then(|m| m.modified()).ok();
        if changed.is_none() || changed == self.changed {
            return Found::default();
        }
        self.changed = changed;
        let Some(state) = state::read_in(&self.folder)
            .ok()
            .filter(|s| s.id == self.id)
        else {
            return Found::default();
        };
        let events = self.follow(at_ns, &words(&state));
        Found {
            events,
            state: Some(Box::new(state)),
        }
    }

    /// Takes what is under way now; returns what has ended.
    fn follow(&mut self, at_ns: u64, now: &BTreeMap<String, String>) -> Vec<Reading> {
        // A node that has joined may leave before the next look.
        let goes_on = |node: &String, before: &String| {
            let words = now.get(node);
            words.is_some_and(|words| words == before || !words.ends_with(LEAVES))
        };
        let ended: Vec<String> = self
            .under_way
            .iter()
            .filter(|(node, (_, before))| !goes_on(node, before))
            .map(|(node, _)| node.clone())
            .collect();
        let events = ended
            .into_iter()
            .filter_map(|node| self.end(node, at_ns))
            .collect();
        for (node, words) in now {
            let known = self.under_way.entry(node.clone());
            known.or_insert_with(|| (at_ns, words.clone()));
        }
        events
    }

    /// What is still under way, as far as it got.
    pub(super) fn finish(&mut self, at_ns: u64) -> Vec<Reading> {
        let nodes: Vec<String> = self.under_way.keys().cloned().collect();
        nodes
            .into_iter()
            .filter_map(|node| self.end(node, at_ns))
            .collect()
    }

    fn end(&mut self, node: String, to_ns: u64) -> Option<Reading> {
        let (at_ns, text) = self.under_way.remove(&node)?;
        let what = EventKind::Membership;
        Some(Reading {
            source: node,
            at_ns,
            seen: Seen::Event(Event { what, to_ns, text }),
        })
    }
}

/// What is under way in a cluster, by node.
fn words(state: &ClusterState) -> BTreeMap<String, String> {
    let of = |node: &NodePlan| {
        let kept = state.nodes.get(&node.name)?;
        let name = &node.name;
        let words = match &kept.joining {
            Some(Joining::Bootstrap) => format!("{name} joins"),
            Some(Joining::Replace { node: dead, .. }) if dead.name == *name => {
                format!("{name} is replaced")
            }
            Some(Joining::Replace { node: dead, .. }) => format!("{name} replaces {}", dead.name),
            None if kept.leaving => {
                let lives = alive::holder(Path::new(&node.folder)).is_ok_and(|h| h.is_some());
                match lives {
                    true => format!("{name}{LEAVES}"),
                    false => format!("{name} is removed"),
                }
            }
            None => return None,
        };
        Some((name.clone(), words))
    };
    state.plan.nodes.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_and_goes_is_reported_when_it_has_ended() {
        let mut members = Members {
            folder: PathBuf::new(),
            id: String::new(),
            changed: None,
            under_way: BTreeMap::new(),
        };
        let now = |words: &[(&str, &str)]| -> BTreeMap<String, String> {
            let owned = words
                .iter()
                .map(|(n, w)| ((*n).to_owned(), (*w).to_owned()));
            owned.collect()
        };
        let joins = now(&[("node4", "node4 joins")]);
        assert_eq!(members.follow(1, &joins), []);
        assert_eq!(members.follow(2, &joins), []);
        let ended = members.follow(5, &now(&[("node2", "node2 leaves")]));
        let event = |at_ns, to_ns, node: &str, text: &str| Reading {
            source: node.into(),
            at_ns,
            seen: Seen::Event(Event {
                what: EventKind::Membership,
                to_ns,
                text: text.into(),
            }),
        };
        assert_eq!(ended, [event(1, 5, "node4", "node4 joins")]);
        assert_eq!(members.finish(9), [event(5, 9, "node2", "node2 leaves")]);
        assert_eq!(members.finish(9), []);
        // It leaves as soon as it has joined, and its process ends before it is gone.
        assert_eq!(members.follow(10, &joins), []);
        let leaves = now(&[("node4", "node4 leaves")]);
        assert_eq!(
            members.follow(12, &leaves),
            [event(10, 12, "node4", "node4 joins")]
        );
        assert_eq!(
            members.follow(14, &now(&[("node4", "node4 is removed")])),
            []
        );
        assert_eq!(
            members.follow(15, &now(&[])),
            [event(12, 15, "node4", "node4 leaves")]
        );
    }
}
