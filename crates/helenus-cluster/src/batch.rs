//! Many clusters of one prefix, brought up together: one look for addresses, one runtime, one class-data archive.
//! Refuses to start all at once: more nodes than the processors can take make every one of them slower.

use crate::cancel::Cancel;
use crate::context::Context;
use crate::disk;
use crate::error::ClusterError;
use crate::event::Event;
use crate::launch::Started;
use crate::lifecycle::{UpRequest, may_have_disks, new_state};
use crate::owner;
use crate::ready::{ReadyError, ReadyEvent};
use crate::remove;
use crate::state::{ClusterLock, ClusterState, StateError};
use fs_err as fs;
use helenus_model::plan::ClusterPlan;
use helenus_model::topology::check_cluster_name;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;

/// Nodes that start at a time, for each processor: measured (docs/memory.md), flat between one and four.
const AT_ONCE_PER_CORE: usize = 2;

/// What became of one of many clusters.
#[derive(Debug)]
pub struct Outcome {
    /// Its name.
    pub name: String,
    /// Its state, ready, or why it is not.
    pub result: Result<ClusterState, ClusterError>,
}

/// What a waiting thread sends.
enum Message {
    Event(Event),
    Done(Box<Result<ClusterState, ClusterError>>),
}

/// The names of `count` clusters of a prefix: `dev1`, `dev2` ….
pub fn names(prefix: &str, count: u32) -> Vec<String> {
    (1..=count).map(|k| format!("{prefix}{k}")).collect()
}

/// Whether `name` is one of a prefix's: the prefix, then digits only.
pub fn has_prefix(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
    })
}

/// How many nodes start at the same time by default.
pub fn starts_at_a_time(cores: u32) -> usize {
    AT_ONCE_PER_CORE * cores.max(1) as usize
}

impl Context {
    /// The plans of many clusters, with the addresses that they would get now; nothing is changed.
    ///
    /// # Errors
    /// As [`Self::up_many`], as far as plans can fail.
    pub fn dry_run_many(
        &self,
        request: &UpRequest,
        names: &[String],
    ) -> Result<Vec<ClusterPlan>, ClusterError> {
        for name in names {
            check_cluster_name(name)?;
            if self.clusters.folder(name).exists() {
                return Err(StateError::Exists(name.clone()).into());
            }
        }
        let version = self.version(&request.source)?;
        let each = request.spec.topology.nodes();
        let claimed = self.claims.look(each * names.len())?;
        let available = crate::free_memory::available(&self.clusters);
        names
            .iter()
            .zip(claimed.split(each))
            .map(|(name, claimed)| {
                let request = named(request, name, names.len());
                self.plan(&request, &version, &claimed, available)
            })
            .collect()
    }

    /// Brings up clusters of these names, alike but for their names, and waits until each is ready or has failed.
    /// One that fails keeps no other from going on.
    ///
    /// `at_once` nodes start at a time; one that answers makes room for the next.
    ///
    /// # Errors
    /// What prevents all of them; what was interrupted leaves nothing behind.
    pub fn up_many(
        &self,
        request: &UpRequest,
        names: &[String],
        at_once: usize,
        events: &mut dyn FnMut(&str, Event),
    ) -> Result<Vec<Outcome>, ClusterError> {
        disk::sweep(&self.clusters);
        owner::sweep(self);
        // What cannot be planned is refused before a release is fetched for it.
        let plans = self.dry_run_many(request, names)?;
        plans.iter().try_for_each(may_have_disks)?;
        let each = request.spec.topology.nodes();
        self.check_disk(each * names.len())?;
        let (version, runtime) = self.runtime(request, &mut |e| events("", e))?;
        let mut made = Vec::new();
        let result = self.make_folders(names, &mut made).and_then(|locks| {
            let mut states = Vec::new();
            let owners: Vec<PathBuf> = names.iter().map(|n| self.clusters.folder(n)).collect();
            let available = crate::free_memory::available(&self.clusters);
            self.claims.take_many(each, &owners, |claimed| {
                for (name, claimed) in names.iter().zip(claimed) {
                    let request = named(request, name, names.len());
                    let plan = self.plan(&request, &version, claimed, available)?;
                    let state = new_state(plan, runtime.clone(), &request);
                    self.save(&state)?;
                    states.push(state);
                }
                Ok::<(), ClusterError>(())
            })?;
            states
                .iter()
                .try_for_each(|state| owner::guard(self, state))?;
            names
                .iter()
                .try_for_each(|name| self.provide_read_ahead(&named(request, name, names.len())))?;
            if let Some(state) = states.first() {
                events(
                    &state.plan.name,
                    Event::Planned(Box::new(state.plan.clone())),
                );
            }
            if request.spec.archive && request.fake.is_none() {
                self.one_archive(&mut states, &mut |e| events("", e))?;
            }
            let outcomes = self.start_all(states, request, at_once, events);
            Ok((outcomes, locks))
        });
        if self.cancel.is_set() || result.is_err() {
            // The locks go first: removal takes them again.
            let error = result.err().unwrap_or(ReadyError::Interrupted.into());
            for name in &made {
                remove::remove(self, name)?;
            }
            return Err(if self.cancel.is_set() {
                ReadyError::Interrupted.into()
            } else {
                error
            });
        }
        let (outcomes, locks) = result?;
        drop(locks);
        Ok(outcomes)
    }

    fn make_folders(
        &self,
        names: &[String],
        made: &mut Vec<String>,
    ) -> Result<Vec<ClusterLock>, ClusterError> {
        names
            .iter()
            .map(|name| {
                fs::create_dir(self.clusters.folder(name)).map_err(|e| match e.kind() {
                    std::io::ErrorKind::AlreadyExists => StateError::Exists(name.clone()).into(),
                    _ => ClusterError::io("the state folder")(e),
                })?;
                made.push(name.clone());
                Ok(self.clusters.lock(name)?)
            })
            .collect()
    }

    /// One archive for all: their runtimes and flags are the same.
    fn one_archive(
        &self,
        states: &mut [ClusterState],
        events: &mut dyn FnMut(Event),
    ) -> Result<(), ClusterError> {
        let Some((first, others)) = states.split_first_mut() else {
            return Ok(());
        };
        self.provide_archive(first, events)?;
        for state in others {
            state.runtime.archive.clone_from(&first.runtime.archive);
            self.save(state)?;
        }
        Ok(())
    }

    /// Starts all from this thread, which is the one that a leash is tied to, and waits in threads of their own.
    fn start_all(
        &self,
        states: Vec<ClusterState>,
        request: &UpRequest,
        at_once: usize,
        events: &mut dyn FnMut(&str, Event),
    ) -> Vec<Outcome> {
        let (sender, messages) = channel();
        std::thread::scope(|scope| {
            let mut start = Start {
                names: states.iter().map(|s| s.plan.name.clone()).collect(),
                starting: vec![0; states.len()],
                results: states.iter().map(|_| None).collect(),
                waiting: states.into_iter().enumerate().collect(),
            };
            loop {
                while let Some((at, state)) = start.next(at_once, &self.cancel) {
                    start.starting[at] = state.plan.nodes.len();
                    let name = state.plan.name.clone();
                    let begun = self.begin_one(state, &mut |e| events(&name, e));
                    match begun {
                        Ok((state, started)) => {
                            self.wait_for_one(scope, at, state, started, request, sender.clone());
                        }
                        Err(error) => start.done(at, Err(error)),
                    }
                }
                if !start.look(&messages, events) {
                    break;
                }
            }
            start.outcomes()
        })
    }

    fn begin_one(
        &self,
        mut state: ClusterState,
        events: &mut dyn FnMut(Event),
    ) -> Result<(ClusterState, Vec<Started>), ClusterError> {
        let names: Vec<String> = state.plan.nodes.iter().map(|n| n.name.clone()).collect();
        let started = self.begin(&mut state, &names, events)?;
        Ok((state, started))
    }

    fn wait_for_one<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        at: usize,
        mut state: ClusterState,
        started: Vec<Started>,
        request: &'scope UpRequest,
        sender: Sender<(usize, Message)>,
    ) {
        scope.spawn(move || {
            let names: Vec<String> = state.plan.nodes.iter().map(|n| n.name.clone()).collect();
            let result = self.finish(
                &mut state,
                &names,
                started,
                request.ready_within,
                &mut |e| {
                    let _nobody_listens = sender.send((at, Message::Event(e)));
                },
            );
            let _nobody_listens =
                sender.send((at, Message::Done(Box::new(result.map(|()| state)))));
        });
    }
}

/// Who waits, who starts, who is done.
struct Start {
    names: Vec<String>,
    /// Nodes of each that have not answered yet.
    starting: Vec<usize>,
    results: Vec<Option<Result<ClusterState, ClusterError>>>,
    waiting: VecDeque<(usize, ClusterState)>,
}

impl Start {
    /// The next cluster, where there is room for its nodes, or nothing else starts.
    fn next(&mut self, at_once: usize, cancel: &Cancel) -> Option<(usize, ClusterState)> {
        let starting: usize = self.starting.iter().sum();
        let wanted = self.waiting.front()?.1.plan.nodes.len();
        if cancel.is_set() {
            while let Some((at, _)) = self.waiting.pop_front() {
                self.done(at, Err(ReadyError::Interrupted.into()));
            }
            return None;
        }
        if starting > 0 && starting + wanted > at_once {
            return None;
        }
        self.waiting.pop_front()
    }

    fn done(&mut self, at: usize, result: Result<ClusterState, ClusterError>) {
        self.starting[at] = 0;
        self.results[at] = Some(result);
    }

    /// Waits for news; false when there is none to wait for.
    fn look(
        &mut self,
        messages: &Receiver<(usize, Message)>,
        events: &mut dyn FnMut(&str, Event),
    ) -> bool {
        if self.results.iter().all(Option::is_some) {
            return false;
        }
        match messages.recv() {
            Ok((at, Message::Event(event))) => {
                if matches!(event, Event::Ready(ReadyEvent::Answered { .. })) {
                    self.starting[at] = self.starting[at].saturating_sub(1);
                }
                events(&self.names[at], event);
            }
            Ok((at, Message::Done(result))) => self.done(at, *result),
            Err(_) => return false,
        }
        true
    }

    fn outcomes(self) -> Vec<Outcome> {
        let pairs = self.names.into_iter().zip(self.results);
        pairs
            .filter_map(|(name, result)| {
                Some(Outcome {
                    name,
                    result: result?,
                })
            })
            .collect()
    }
}

fn named(request: &UpRequest, name: &str, clusters: usize) -> UpRequest {
    let mut one = request.clone();
    one.spec.name = name.to_owned();
    one.spec.clusters = u32::try_from(clusters).unwrap_or(u32::MAX);
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_prefix_are_it_and_digits() {
        assert_eq!(names("dev", 3), ["dev1", "dev2", "dev3"]);
        assert!(has_prefix("dev15", "dev"));
        for other in ["dev", "developer", "dev1a", "dev-1", "xdev1"] {
            assert!(!has_prefix(other, "dev"), "{other}");
        }
        assert_eq!(starts_at_a_time(0), starts_at_a_time(1));
    }
}
