//! The start of a cluster's nodes: their limits, their processes, the wait until they are ready.
//! Refuses to leave a node running whose start failed.

use super::StartError;
use crate::alive;
use crate::context::Context;
use crate::disk;
use crate::error::ClusterError;
use crate::event::Event;
use crate::fault;
use crate::launch::{self, LaunchOptions, Started};
use crate::limits;
use crate::outside;
use crate::process;
use crate::ready;
use crate::secure;
use crate::state::{ClusterState, Wanted};
use crate::superuser;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

impl Context {
    /// Starts the named nodes and waits until all that run are ready together; those that have not joined yet one
    /// after the other, when the others are there.
    ///
    /// A new node that only coordinates waits for the ring as well. It makes only a part of the schema itself, and where
    /// its peers announce theirs while it starts, Cassandra may lose the announcement and never pull the rest.
    pub(crate) fn launch(
        &self,
        state: &mut ClusterState,
        names: &[String],
        ready_within: Duration,
        events: &mut dyn FnMut(Event),
    ) -> Result<(), ClusterError> {
        let joins = |name: &String| state.nodes.get(name).is_some_and(|n| n.joining.is_some());
        let (joining, members): (Vec<String>, Vec<String>) = names.iter().cloned().partition(joins);
        let lacks_schema = |name: &String| {
            let fresh = state.nodes.get(name).is_some_and(|n| n.host_id.is_none());
            fresh && state.node(name).is_ok_and(|n| n.coordinator)
        };
        let (late, ring): (Vec<String>, Vec<String>) = members.into_iter().partition(lacks_schema);
        let together = [ring, late].into_iter().filter(|names| !names.is_empty());
        let mut steps: Vec<Vec<String>> = together.collect();
        steps.extend(joining.into_iter().map(|name| vec![name]));
        if steps.is_empty() {
            // Nothing to start: what runs is waited for.
            steps.push(Vec::new());
        }
        for names in steps {
            let started = self.begin(state, &names, events)?;
            self.finish(state, &names, started, ready_within, events)?;
        }
        Ok(())
    }

    /// Starts the named nodes; what fails ends those that were started.
    pub(crate) fn begin(
        &self,
        state: &mut ClusterState,
        names: &[String],
        events: &mut dyn FnMut(Event),
    ) -> Result<Vec<Started>, ClusterError> {
        want(state, names, Wanted::Running);
        if let Err(error) = self.limit(state, events) {
            return Err(self.give_up(state, names, Vec::new(), error));
        }
        if !state.ephemeral {
            crate::tools::write(state, &self.env, &self.helenus)
                .map_err(ClusterError::io("the cluster's nodetool and cqlsh"))?;
        }
        if let Err(error) = self.provide_network(state, events) {
            return Err(self.give_up(state, names, Vec::new(), error));
        }
        let mut started: Vec<Started> = Vec::new();
        match self.spawn(state, names, &mut started) {
            Ok(()) => {
                let nodes = started.len();
                events(Event::Started { nodes });
                Ok(started)
            }
            Err(error) => Err(self.give_up(state, names, started, error)),
        }
    }

    /// Chooses the nodes' control groups, keeps them in the state, and makes them. A disk that is not as slow as it was
    /// asked to be is an error: whoever asks for it has a question about it.
    fn limit(
        &self,
        state: &mut ClusterState,
        events: &mut dyn FnMut(Event),
    ) -> Result<(), ClusterError> {
        state.limits = limits::choose(&state.plan, &state.id, (self.env.uid, &self.env.root))
            .map_err(ClusterError::io("the cluster's folder"))?;
        self.save(state)?;
        let asked = state.plan.limits.and_then(|limits| limits.disk);
        let Some(limits) = &mut state.limits else {
            return Ok(());
        };
        let wanted = limits.disk.clone();
        let slowed = fault::quotas(&state.plan);
        limits::make(limits);
        // A node that a fault slows down stays slow, whoever is started beside it.
        let held = limits.not_enforced.is_none();
        for (file, quota) in slowed.into_iter().filter(|_| held) {
            fs_err::write(file, quota).map_err(ClusterError::io("a slowed node's quota"))?;
        }
        if let Some(why) = limits.not_enforced.clone() {
            if asked.is_some() {
                return Err(StartError::DiskSpeed(why).into());
            }
            events(Event::NotLimited { why });
            self.save(state)?;
        } else if limits.disk != wanted {
            let held = limits.disk.as_ref().zip(limits.by);
            let held = held.map(|(disk, by)| disk.line(by)).unwrap_or_default();
            let why = format!("the kernel holds {held}");
            return Err(StartError::DiskSpeed(why).into());
        }
        Ok(())
    }

    /// Waits until the named nodes, and all that run beside them, are ready.
    pub(crate) fn finish(
        &self,
        state: &mut ClusterState,
        names: &[String],
        mut started: Vec<Started>,
        ready_within: Duration,
        events: &mut dyn FnMut(Event),
    ) -> Result<(), ClusterError> {
        let ready = self.settle(state, names, &mut started, ready_within, events);
        ready.map_err(|error| self.give_up(state, names, started, error))
    }

    /// The same, and leaves running what does not become ready: it was there before.
    pub(crate) fn settle(
        &self,
        state: &mut ClusterState,
        names: &[String],
        started: &mut [Started],
        ready_within: Duration,
        events: &mut dyn FnMut(Event),
    ) -> Result<(), ClusterError> {
        self.await_joining(state, started, ready_within, events)?;
        let host_ids = self.wait(state, names, ready_within, started, events)?;
        for (name, id) in host_ids {
            state.nodes.entry(name).and_modify(|n| n.host_id = Some(id));
        }
        state.secured = state.plan.security.auth;
        self.joined(state)?;
        self.save(state)
    }

    fn give_up(
        &self,
        state: &mut ClusterState,
        names: &[String],
        started: Vec<Started>,
        error: ClusterError,
    ) -> ClusterError {
        end_all(started);
        // Nothing is left that would need it; the error to report is the first one.
        let _second = self.end_empty_network(state);
        want(state, names, Wanted::Stopped);
        // The first error is the one to report.
        let _second = self.clusters.save(state);
        error
    }

    fn spawn(
        &self,
        state: &ClusterState,
        names: &[String],
        started: &mut Vec<Started>,
    ) -> Result<(), ClusterError> {
        let options = LaunchOptions {
            helenus: self.helenus.clone(),
            leashed: state.ephemeral,
            train: None,
        };
        secure::provide(&state.plan)?;
        disk::provide(state, names)?;
        for name in names {
            let folders = &state.node(name)?.folders;
            outside::make(Path::new(&state.plan.folder), &folders.all())?;
        }
        for name in names {
            let node = state.launched(name)?;
            launch::write_files(state, &node).map_err(ClusterError::io("the node's folder"))?;
            let process = launch::start(state, &node, &options)
                .map_err(ClusterError::io("the launch shim"))?;
            started.push(process);
        }
        Ok(())
    }

    fn wait(
        &self,
        state: &ClusterState,
        names: &[String],
        ready_within: Duration,
        started: &mut [Started],
        events: &mut dyn FnMut(Event),
    ) -> Result<BTreeMap<String, String>, ClusterError> {
        // What was started, and what runs beside it; what should run but does not is not waited for.
        let mut running: BTreeSet<String> = names.iter().cloned().collect();
        let beside = crate::observe::pids(state)
            .into_iter()
            .filter(|(_, pid)| pid.is_some());
        running.extend(beside.map(|(name, _)| name.to_owned()));
        let host_ids = ready::wait(
            state,
            &running,
            started,
            ready_within,
            &self.cancel,
            &mut |e| {
                events(Event::Ready(e));
            },
        )?;
        superuser::finish(state, &running, &self.cancel)?;
        Ok(host_ids)
    }
}

fn want(state: &mut ClusterState, names: &[String], wanted: Wanted) {
    for name in names {
        state
            .nodes
            .entry(name.clone())
            .and_modify(|n| n.wanted = wanted);
    }
}

fn end_all(started: Vec<Started>) {
    for mut node in started {
        if let Ok(Some(pid)) = alive::holder(&node.folder) {
            process::end(pid, Duration::ZERO);
        }
        let _already_gone = node.child.kill();
        let _status = node.child.wait();
    }
}
