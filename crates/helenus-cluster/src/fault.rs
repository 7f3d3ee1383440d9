//! Faults done to a cluster and undone: nodes killed, paused, slowed, their disks filled; links slowed, lossy, cut;
//! nodes cut off.
//! Refuses to do what it has not written down, so that whoever comes later can undo it.

mod fill;
mod journal;
mod throttle;

pub use journal::{Entry, Journal, Undo, now_unix_ms};

use crate::alive;
use crate::context::Context;
use crate::error::{Class, ClusterError, Problem};
use crate::event::Event;
use crate::launch;
use crate::net::client::Keeper;
use crate::net::control::Over;
use crate::process;
use crate::state::{ClusterState, NodeCondition, condition, started_at};
use helenus_model::fault::place::{Reach, Shape};
use helenus_model::fault::{Fault, FaultError, What};
use helenus_model::plan::{ClusterPlan, NodePlan};
use rustix::process::{Pid, Signal};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use throttle::Throttle;

/// Why a fault could not be made or healed.
#[derive(Debug, thiserror::Error)]
pub enum FaultTrouble {
    /// Its words cannot be one here.
    #[error(transparent)]
    Words(#[from] FaultError),
    /// The same is done to the same nodes already.
    #[error(
        "'{fault}' cannot be applied to {nodes} of {cluster}: '{holds}' is already active there"
    )]
    Holds {
        /// Cluster.
        cluster: String,
        /// What was asked for.
        fault: String,
        /// What holds.
        holds: String,
        /// Where both are.
        nodes: String,
    },
    /// Nothing of the kind holds.
    #[error("no fault of cluster {cluster} is active at {target}")]
    NoSuch {
        /// Cluster.
        cluster: String,
        /// Asked for.
        target: String,
        /// Targets of those that hold.
        known: Vec<String>,
    },
    /// None of the nodes is as it must be.
    #[error("{word}: none of {nodes} is running")]
    NoneRuns {
        /// Cluster.
        cluster: String,
        /// The fault's word.
        word: &'static str,
        /// Nodes.
        nodes: String,
    },
    /// The kernel gives no processor quota.
    #[error("a node cannot be slowed down here: {why}")]
    NoQuota {
        /// Why.
        why: String,
    },
    /// It would not be slower.
    #[error("{node} is already limited to {has} % of a processor")]
    NotSlower {
        /// Node.
        node: String,
        /// Its quota.
        has: u32,
    },
    /// A processor quota.
    #[error("cannot change the processor quota of {node}")]
    Quota {
        /// Node, or nodes.
        node: String,
        /// Why.
        source: io::Error,
    },
    /// A disk of limited size.
    #[error("cannot fill or free the disk of {node}")]
    Disk {
        /// Node.
        node: String,
        /// Why.
        source: io::Error,
    },
    /// The journal.
    #[error("cannot use the cluster's journal of faults")]
    Journal(#[source] io::Error),
}

impl Problem for FaultTrouble {
    fn class(&self) -> Class {
        match self {
            Self::Words(_) | Self::Holds { .. } | Self::NoSuch { .. } | Self::NotSlower { .. } => {
                Class::Usage
            }
            Self::NoneRuns { .. } => Class::Cluster,
            Self::NoQuota { .. } | Self::Quota { .. } | Self::Disk { .. } | Self::Journal(_) => {
                Class::Environment
            }
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Words(e) => Some(e.hint.clone()),
            Self::Holds { cluster, .. } => Some(format!(
                "`helenus fault {cluster}` lists active faults, `helenus heal {cluster} --all` ends it"
            )),
            Self::NoSuch { known, cluster, .. } if known.is_empty() => {
                Some(format!("no fault is active in {cluster}"))
            }
            Self::NoSuch { target, known, .. } => {
                Some(helenus_model::topology::name_hint(target, known))
            }
            Self::NoneRuns { cluster, .. } => {
                Some(format!("`helenus list` shows the state of {cluster}'s nodes"))
            }
            Self::NoQuota { .. } => Some(
                "it needs a control group with a processor quota: run as root, or in a delegated group of \
                 version 2 (systemd-run --user --scope -p Delegate=yes $SHELL)"
                    .into(),
            ),
            Self::NotSlower { .. } => Some("use a lower percentage".into()),
            Self::Disk { .. } => Some(
                "the disks are visible only where the cluster was brought up: use that shell, or its mount namespace"
                    .into(),
            ),
            Self::Journal(_) => Some(
                "`helenus rm` still removes the cluster, and the fault with it".into(),
            ),
            Self::Quota { .. } => Some(
                "run it as the user who brought the cluster up, or remove the cluster with `helenus rm`".into(),
            ),
        }
    }

    fn lines(&self) -> Vec<String> {
        match self {
            Self::Words(e) => e.pointed().to_vec(),
            _ => Vec::new(),
        }
    }
}

/// Who ends a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// A person, with `heal`.
    ByPerson,
    /// This very process, after so long; at the end of what it does where that is not said.
    ByCommand(Option<Duration>),
}

/// How long a healed fault's nodes are waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// Until they are ready, at most so long; until they are started where another fault holds, beside which nothing
    /// becomes ready.
    Ready(Duration),
    /// Until their processes are started.
    Started,
}

/// A fault's entry, and whether it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// What was written down.
    pub entry: Entry,
    /// Whether it is so now; otherwise something else undid it, such as `start` or `resume`.
    pub holds: bool,
}

/// What is to be done, ready to be written down.
struct Planned {
    entry: Entry,
    throttles: Vec<Throttle>,
}

impl Context {
    /// What a fault would reach in a cluster, and whether it can be made; nothing is changed.
    ///
    /// # Errors
    /// As [`Self::fault`], as far as can be known.
    pub fn look_at_fault(&self, name: &str, fault: &Fault) -> Result<Reach, ClusterError> {
        let state = self.clusters.load(name)?;
        let journal = Journal::read(Path::new(&state.plan.folder))?;
        let reach = Shape::of(&state.plan)
            .reach(fault)
            .map_err(FaultTrouble::from)?;
        Ok(free(&state, &journal, fault, reach)?)
    }

    /// Does a fault to a cluster; it is in the journal before.
    ///
    /// # Errors
    /// The words mean nothing there, the same holds there already, nothing runs there, or the system refuses.
    pub fn fault(&self, name: &str, fault: &Fault, ends: Ends) -> Result<Entry, ClusterError> {
        let _lock = self.clusters.lock(name)?;
        let mut state = self.clusters.load(name)?;
        let folder = Path::new(&state.plan.folder).to_owned();
        let mut journal = Journal::read(&folder)?;
        drop_gone(&state, &mut journal);
        let reach = Shape::of(&state.plan)
            .reach(fault)
            .map_err(FaultTrouble::from)?;
        let reach = free(&state, &journal, fault, reach)?;
        let planned = self.plan_fault(&state, journal.next, fault, reach, ends)?;
        journal.next += 1;
        journal.faults.push(planned.entry.clone());
        journal.write(&folder)?;
        if let Err(error) = self.make(&mut state, &planned) {
            // The first error is the one to report; what could not be undone stays in the journal.
            if undo(&state, &planned.entry).is_ok() {
                journal.faults.pop();
                let _second = journal.write(&folder);
            }
            return Err(error);
        }
        Ok(planned.entry)
    }

    /// All faults of a cluster that were started and not healed.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn faults(&self, state: &ClusterState) -> Result<Vec<Standing>, ClusterError> {
        let journal = Journal::read(Path::new(&state.plan.folder))?;
        let standing = journal.faults.into_iter().map(|entry| Standing {
            holds: holds(state, &entry),
            entry,
        });
        Ok(standing.collect())
    }

    /// Undoes faults by their numbers, the last first; numbers that are not there are undone already.
    ///
    /// # Errors
    /// The system refuses, or a node that ended does not start. What is undone until then stays so.
    pub fn heal(
        &self,
        name: &str,
        ids: &[u32],
        patience: Patience,
        events: &mut dyn FnMut(Event),
    ) -> Result<Vec<Entry>, ClusterError> {
        let _lock = self.clusters.lock(name)?;
        let mut state = self.clusters.load(name)?;
        let folder = Path::new(&state.plan.folder).to_owned();
        let mut journal = Journal::read(&folder)?;
        let mut healed = Vec::new();
        let mut ended: Vec<String> = Vec::new();
        for entry in journal.faults.iter().rev().filter(|e| ids.contains(&e.id)) {
            undo(&state, entry)?;
            let nodes = entry.reach.nodes();
            match entry.fault.what {
                What::Kill => ended.extend(members(&state, nodes).cloned()),
                What::DiskFull => ended.extend(fill::ended(&state, nodes)),
                _ => {}
            }
            healed.push(entry.clone());
        }
        // What is undone in a moment first; a start takes its time, and may fail.
        let done = |entry: &Entry| ids.contains(&entry.id);
        journal
            .faults
            .retain(|e| !done(e) || e.fault.what.ends_nodes());
        journal.write(&folder)?;
        let mut started = Vec::new();
        if !ended.is_empty() {
            let names = self.startable(&mut state, &ended, events)?;
            started = self.begin(&mut state, &names, events)?;
            // Or whoever asks next would see nodes that died.
            launch::claimed(&mut started).map_err(ClusterError::io("a node's claim"))?;
        }
        if healed.iter().any(|entry| entry.fault.what.ends_nodes()) {
            journal.faults.retain(|e| !done(e));
            journal.write(&folder)?;
        }
        let another = journal.faults.iter().any(|e| holds(&state, e));
        if let Patience::Ready(within) = patience
            && !ended.is_empty()
            && !another
        {
            // Who is interrupted, or waits in vain, has healed all the same: the nodes go on starting.
            self.settle(&mut state, &ended, &mut started, within, events)?;
        }
        Ok(healed)
    }

    /// Whether a fault still is as it was made; false if it was undone or healed meanwhile.
    ///
    /// # Errors
    /// The cluster or its journal cannot be read.
    pub fn fault_holds(&self, name: &str, id: u32) -> Result<bool, ClusterError> {
        let state = self.clusters.load(name)?;
        let mut all = self.faults(&state)?.into_iter();
        Ok(all.any(|one| one.entry.id == id && one.holds))
    }

    /// Waits until all nodes of a cluster that run are ready; not where a fault holds, beside which they never are.
    ///
    /// # Errors
    /// They are not, in that time.
    pub fn await_ready(
        &self,
        name: &str,
        within: Duration,
        events: &mut dyn FnMut(Event),
    ) -> Result<(), ClusterError> {
        let _lock = self.clusters.lock(name)?;
        let mut state = self.clusters.load(name)?;
        let journal = Journal::read(Path::new(&state.plan.folder))?;
        if journal.faults.iter().any(|entry| holds(&state, entry)) {
            return Ok(());
        }
        self.start_locked(&mut state, &[], within, events)
    }

    fn plan_fault(
        &self,
        state: &ClusterState,
        id: u32,
        fault: &Fault,
        reach: Reach,
        ends: Ends,
    ) -> Result<Planned, ClusterError> {
        let mut throttles = Vec::new();
        if let What::Throttle { percent } = fault.what {
            for node in reach.nodes() {
                let pid = pid_of(state, node)?.map_or(0, Pid::as_raw_pid);
                let place = (self.env.uid, self.env.root.as_path());
                let planned = throttle::plan(state, place, (node.as_str(), pid), percent)
                    .map_err(|why| FaultTrouble::NoQuota { why })?;
                if let Some(has) = planned.has_percent().filter(|has| percent >= *has) {
                    let node = node.clone();
                    return Err(FaultTrouble::NotSlower { node, has }.into());
                }
                throttles.push(planned);
            }
        }
        if matches!(reach, Reach::Links(_) | Reach::Island(_)) {
            Keeper::call(Path::new(&state.plan.folder))?;
        }
        let own = rustix::process::getpid().as_raw_pid();
        let now = now_unix_ms();
        let (lasts, maker) = match ends {
            Ends::ByPerson => (None, None),
            Ends::ByCommand(lasts) => (lasts, Some((own, started_at(own)))),
        };
        let lasts = lasts.map(|d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX));
        let entry = Entry {
            id,
            fault: fault.clone(),
            reach,
            since_unix_ms: now,
            until_unix_ms: lasts.map(|ms| now.saturating_add(ms)),
            maker,
            undo: throttles.iter().map(|t| t.undo.clone()).collect(),
        };
        Ok(Planned { entry, throttles })
    }

    fn make(&self, state: &mut ClusterState, planned: &Planned) -> Result<(), ClusterError> {
        let entry = &planned.entry;
        let keeper = || Keeper::call(Path::new(&state.plan.folder));
        match &entry.reach {
            Reach::Links(links) => {
                let links = links.clone();
                let layer = entry.fault.what.layer();
                keeper()?.lay(entry.id, Over::Links { links, layer })?;
            }
            Reach::Island(nodes) => {
                let spaces = nodes.clone();
                keeper()?.lay(entry.id, Over::Island { spaces })?;
            }
            Reach::Nodes(nodes) => match entry.fault.what {
                What::Kill => self.kill_locked(state, nodes)?,
                What::Pause => signal(state, nodes, Signal::STOP)?,
                What::DiskFull => disks(state, nodes, fill::make)?,
                _ => {
                    for throttle in &planned.throttles {
                        let node = nodes.join(", ");
                        throttle
                            .make()
                            .map_err(|source| FaultTrouble::Quota { node, source })?;
                    }
                }
            },
        }
        Ok(())
    }
}

/// The quotas that faults have set in groups of nodes of their own, as they are now, each with its file.
pub(crate) fn quotas(plan: &ClusterPlan) -> Vec<(PathBuf, String)> {
    let journal = Journal::read(Path::new(&plan.folder)).unwrap_or_default();
    let all = journal.faults.into_iter().flat_map(|entry| entry.undo);
    all.filter(throttle::holds)
        .filter_map(|undo| match undo {
            Undo::Quota { file, .. } => {
                let now = fs_err::read_to_string(&file).ok()?.trim().to_owned();
                Some((file, now))
            }
            Undo::Group { .. } => None,
        })
        .collect()
}

/// Refuses what is done to the same nodes already.
fn free(
    state: &ClusterState,
    journal: &Journal,
    fault: &Fault,
    reach: Reach,
) -> Result<Reach, FaultTrouble> {
    let word = fault.what.word();
    for entry in journal.faults.iter().filter(|e| holds(state, e)) {
        let nodes = entry.reach.nodes().iter();
        let shared: Vec<&str> = nodes
            .filter(|n| reach.nodes().contains(n))
            .map(String::as_str)
            .collect();
        if entry.fault.what.word() == word && !shared.is_empty() {
            return Err(FaultTrouble::Holds {
                cluster: state.plan.name.clone(),
                fault: fault.to_string(),
                holds: entry.fault.to_string(),
                nodes: shared.join(", "),
            });
        }
    }
    let Reach::Nodes(nodes) = reach else {
        return Ok(reach);
    };
    let fits = |node: &&String| match conditions(state, node) {
        Some(NodeCondition::Running) => true,
        // What somebody else paused is not ours to let go on.
        Some(NodeCondition::Paused) => fault.what != What::Pause,
        _ => false,
    };
    let running: Vec<String> = nodes.iter().filter(fits).cloned().collect();
    if running.is_empty() {
        return Err(FaultTrouble::NoneRuns {
            cluster: state.plan.name.clone(),
            word,
            nodes: nodes.join(", "),
        });
    }
    Ok(Reach::Nodes(running))
}

/// Drops what something else undid, with all that it left; what ended nodes that are still down stays.
fn drop_gone(state: &ClusterState, journal: &mut Journal) {
    journal.faults.retain(|entry| {
        let down = |node: &String| {
            let now = conditions(state, node);
            !matches!(now, Some(NodeCondition::Running | NodeCondition::Paused))
        };
        let mut nodes = members(state, entry.reach.nodes());
        let owes = entry.fault.what.ends_nodes() && nodes.any(down);
        holds(state, entry) || owes || undo(state, entry).is_err()
    });
}

/// Forgets what was done to none but nodes that are gone, with all that it left.
///
/// # Errors
/// The journal cannot be read or written.
pub(crate) fn forget_gone(state: &ClusterState, stay: &[&NodePlan]) -> Result<(), ClusterError> {
    let folder = Path::new(&state.plan.folder);
    let mut journal = Journal::read(folder)?;
    let before = journal.faults.len();
    journal.faults.retain(|entry| {
        let Reach::Nodes(nodes) = &entry.reach else {
            return true;
        };
        let stays = |node: &String| stay.iter().any(|one| one.name == *node);
        nodes.iter().any(stays) || undo(state, entry).is_err()
    });
    if journal.faults.len() < before {
        journal.write(folder)?;
    }
    Ok(())
}

/// Those of the nodes that are in the plan: the others have left, or were replaced.
fn members<'a>(
    state: &'a ClusterState,
    nodes: &'a [String],
) -> impl Iterator<Item = &'a String> + use<'a> {
    let known = move |node: &&String| state.plan.nodes.iter().any(|one| one.name == **node);
    nodes.iter().filter(known)
}

/// Undoes what needs no start of a node.
fn undo(state: &ClusterState, entry: &Entry) -> Result<(), ClusterError> {
    match &entry.reach {
        Reach::Links(_) | Reach::Island(_) => {
            // A network that is gone took its faults with it.
            if let Ok(keeper) = Keeper::call(Path::new(&state.plan.folder)) {
                keeper.lift(entry.id)?;
            }
        }
        Reach::Nodes(nodes) if entry.fault.what == What::Pause => {
            signal(state, nodes, Signal::CONT)?;
        }
        Reach::Nodes(nodes) if entry.fault.what == What::DiskFull => {
            disks(state, nodes, fill::undo)?;
        }
        Reach::Nodes(nodes) => {
            // Of a kill there are none: its nodes are started.
            for one in &entry.undo {
                let node = nodes.join(", ");
                throttle::undo(one).map_err(|source| FaultTrouble::Quota { node, source })?;
            }
        }
    }
    Ok(())
}

/// Whether a fault is as it was made.
fn holds(state: &ClusterState, entry: &Entry) -> bool {
    let any = |is: fn(Option<NodeCondition>) -> bool| {
        let mut nodes = members(state, entry.reach.nodes());
        nodes.any(|node| is(conditions(state, node)))
    };
    match entry.fault.what {
        What::Kill => any(|now| {
            matches!(
                now,
                Some(NodeCondition::Stopped | NodeCondition::Died) | None
            )
        }),
        What::Pause => any(|now| now == Some(NodeCondition::Paused)),
        What::Throttle { .. } => entry.undo.iter().any(throttle::holds),
        What::DiskFull => {
            let plans = entry.reach.nodes().iter();
            plans
                .filter_map(|node| state.node(node).ok())
                .any(fill::holds)
        }
        What::Delay { .. } | What::Partition | What::Loss { .. } => {
            let keeper = Keeper::call(Path::new(&state.plan.folder));
            let status = keeper.and_then(|keeper| keeper.status());
            status.is_ok_and(|status| status.faults.contains(&entry.id))
        }
    }
}

/// Does something to the disks of those of the nodes that are in the plan.
fn disks(
    state: &ClusterState,
    nodes: &[String],
    what: fn(&NodePlan) -> io::Result<()>,
) -> Result<(), ClusterError> {
    for node in members(state, nodes) {
        what(state.node(node)?).map_err(|source| FaultTrouble::Disk {
            node: node.clone(),
            source,
        })?;
    }
    Ok(())
}

fn conditions(state: &ClusterState, node: &str) -> Option<NodeCondition> {
    let plan = state.node(node).ok()?;
    let wanted = state.nodes.get(node)?.wanted;
    Some(condition(plan, wanted).ok()?.0)
}

/// A node's process; none where it does not live, or has left.
fn pid_of(state: &ClusterState, node: &str) -> Result<Option<Pid>, ClusterError> {
    let Ok(plan) = state.node(node) else {
        return Ok(None);
    };
    let holder = alive::holder(Path::new(&plan.folder));
    holder.map_err(ClusterError::io("the node's claim"))
}

/// A signal to those of the nodes that live.
fn signal(state: &ClusterState, nodes: &[String], signal: Signal) -> Result<(), ClusterError> {
    for node in nodes {
        let Some(pid) = pid_of(state, node)? else {
            continue;
        };
        match process::signal(pid, signal) {
            Err(e) if e.raw_os_error() == Some(libc::ESRCH) => {}
            other => other.map_err(ClusterError::io("the node's process"))?,
        }
    }
    Ok(())
}
