//! What happens while a cluster comes up or changes, as a moving line and as notes.
//! Refuses to show a plan: it may have a person's secrets.

use crate::ui::{Progress, Ui};
use helenus_cluster::event::{Event, MemberEvent, PartEvent};
use helenus_cluster::ready::ReadyEvent;
use helenus_cluster::store::StoreEvent;
use helenus_model::stack::Part;
use helenus_model::units::{Bytes, human_duration, plural};

/// Turns events into a moving line and into notes.
pub(crate) struct Watcher<'a> {
    ui: &'a Ui,
    progress: Progress,
    nodes: usize,
    answered: usize,
}

impl<'a> Watcher<'a> {
    pub(crate) fn new(ui: &'a Ui, name: &str, nodes: usize) -> Self {
        let progress = ui.progress(&format!("cluster {name}"));
        Self {
            ui,
            progress,
            nodes,
            answered: 0,
        }
    }

    pub(crate) fn see(&mut self, event: &Event) {
        // A plan holds a person's own settings, which may be secret; it is in the state folder.
        if !matches!(event, Event::Planned(_)) {
            tracing::info!(?event);
        }
        match event {
            Event::Store(event) => self.store(event),
            Event::Jdk {
                caution,
                passed_over,
                no_nodetool,
                ..
            } => {
                if let Some(passed_over) = passed_over {
                    self.ui.note(&format!("note: skipped {passed_over}"));
                }
                if let Some(caution) = caution {
                    self.ui.caution(caution);
                }
                if let Some(no_nodetool) = no_nodetool {
                    self.ui.caution(no_nodetool);
                }
            }
            Event::Inexact { version, facts } => self.ui.caution(&format!(
                "Cassandra {version} is treated as {facts}, whose keys and JDKs are known"
            )),
            Event::Planned(_) => {}
            Event::Training => self
                .progress
                .say("making the class-data archive, once for this release and JVM (about 15 s)"),
            Event::Trained { took } => {
                self.ui.note(&format!(
                    "class-data archive made in {}",
                    human_duration(*took)
                ));
            }
            Event::Untrained { why } => {
                self.ui
                    .caution(&format!("no class-data archive, starts are slower: {why}"));
            }
            Event::NotLimited { why } => self
                .ui
                .caution(&format!("the limits of its nodes are not enforced: {why}")),
            Event::Network { data_centers } => self
                .progress
                .say(format!("the network of {data_centers} data centres is up")),
            Event::Rebuilt { nodes } => self.ui.caution(&format!(
                "the cluster's network was gone: stopped {} left in it, to start again in a new one",
                plural(*nodes, "node")
            )),
            Event::Started { nodes } => {
                self.progress
                    .say(format!("{} starting", plural(*nodes, "node")));
            }
            Event::Ready(ReadyEvent::Answered { .. }) => {
                self.answered += 1;
                self.progress
                    .say(format!("{} of {} answer", self.answered, self.nodes));
            }
            Event::Ready(ReadyEvent::Complete { .. }) => {}
            Event::Member(event) => self.member(event),
            Event::Stopping { node } => self.progress.say(format!("{node} stops")),
            Event::Stopped {
                node,
                by_itself: false,
            } => {
                self.ui
                    .caution(&format!("{node} did not stop by itself and was killed"));
            }
            Event::Stopped { .. } => {}
            Event::Part(PartEvent::Started(part)) => {
                self.progress.say(format!("{} starts", named(*part)));
            }
            Event::Part(PartEvent::Ready { part, done, of }) => {
                let what = format!("{} answers", named(*part));
                self.at(&what, *done as u64, *of as u64);
            }
            Event::Part(PartEvent::Registering) => self.progress.say("Reaper looks at the cluster"),
        }
    }

    fn member(&self, event: &MemberEvent) {
        match event {
            MemberEvent::Unseen { node } => self
                .progress
                .say(format!("waiting until the others see that {node} is dead")),
            MemberEvent::Streaming { node, streamed } => {
                let total = Bytes(streamed.total_bytes);
                self.at(
                    &format!("{node}: {} of {total} streamed", Bytes(streamed.done_bytes)),
                    streamed.done_bytes,
                    streamed.total_bytes,
                );
            }
            MemberEvent::Agreeing { node } => self
                .progress
                .say(format!("waiting until all agree on {node}")),
        }
    }

    /// So much of so much, with the time left.
    pub(crate) fn at(&self, what: &str, done: u64, total: u64) {
        self.progress.say(what);
        self.progress.at(done, total);
    }

    fn store(&self, event: &StoreEvent) {
        match event {
            StoreEvent::Waiting { version } => {
                self.progress
                    .say(format!("another helenus fetches Cassandra {version}"));
            }
            StoreEvent::Damaged { what } => {
                self.ui.note(&format!(
                    "note: the cached release is damaged, fetching again: {what}"
                ));
            }
            StoreEvent::Resolving { version } => {
                self.progress
                    .say(format!("asking mvn what Cassandra {version} consists of"));
            }
            StoreEvent::Recorded {
                version,
                jars,
                record,
            } => self.ui.note(&format!(
                "Cassandra {version}, {}: checksums recorded at first use in {}; later fetches must match",
                plural(*jars, "jar"),
                record.display()
            )),
            StoreEvent::Fetching { total, bytes } => {
                self.progress.say("fetching Cassandra's jars through mvn");
                self.progress.at(0, *total as u64);
                self.ui
                    .note(&format!("fetching {total} jars, {}, once", Bytes(*bytes)));
            }
            StoreEvent::Fetched { done, total } => self.progress.at(*done as u64, *total as u64),
            StoreEvent::Verified { done, total } => {
                self.progress.say("verifying SHA-256");
                self.progress.at(*done as u64, *total as u64);
            }
            StoreEvent::Installing { what } => {
                self.progress.say(format!("pip installs {what}, once"));
            }
            StoreEvent::Unpacking { tarball } => {
                self.progress
                    .say(format!("unpacking {}", tarball.display()));
            }
        }
    }
}

/// How a part of a stack is named while something happens to it.
fn named(part: Part) -> String {
    format!("{} ({})", part.as_str(), part.purpose())
}
