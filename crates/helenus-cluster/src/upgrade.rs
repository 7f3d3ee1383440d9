//! Upgrades: nodes move to another release one at a time, with their data and their settings in its names.
//! Refuses to have two nodes down at once, and to forget where it was.

use crate::alive;
use crate::archive;
use crate::baseline::settle;
use crate::context::Context;
use crate::error::{Class, ClusterError, Problem};
use crate::event::Event;
use crate::jdk;
use crate::lifecycle::Source;
use crate::ready::ReadyError;
use crate::state::{ClusterState, OwnRelease, Runtime, StateError, UpgradeMark};
use crate::stored::there;
use fs_err as fs;
use helenus_model::plan::NodePlan;
use helenus_model::release::Release;
use helenus_model::upgrade::{
    Goal, Mode, NodeNow, Otherwise, Step, UpgradeError, UpgradePlan, flags, mode_of, settings,
    upgrade,
};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Why a node was stopped, in its folder as long as it is: a run beside it reports it.
pub const WHY_FILE: &str = "stopped-for";

/// What `upgrade` is asked for.
#[derive(Debug, Clone)]
pub struct UpgradeRequest {
    /// Cluster.
    pub cluster: String,
    /// Release to end on; by default that of an interrupted upgrade.
    pub to: Option<String>,
    /// Mode to end in, if set.
    pub until: Option<Mode>,
    /// JDK of the new release, where a person names one.
    pub java_home: Option<PathBuf>,
    /// Whether to use (and make) a class-data archive.
    pub archive: bool,
    /// How long to wait for nodes that stop.
    pub within: Duration,
    /// How long to wait for nodes that start.
    pub ready_within: Duration,
}

/// What happens on the way.
#[derive(Debug)]
pub enum UpgradeEvent<'a> {
    /// Releases, JDKs, nodes that stop and start.
    Life(Event),
    /// A step starts.
    Step {
        /// Counted from 1.
        number: usize,
        /// How many there are.
        of: usize,
        /// Which.
        step: &'a Step,
    },
    /// A step is done.
    Done {
        /// Counted from 1.
        number: usize,
        /// How many there are.
        of: usize,
        /// Which.
        step: &'a Step,
        /// How long it took.
        took: Duration,
    },
}

/// What an upgrade would do.
#[derive(Debug)]
pub struct UpgradeLook {
    /// The steps from where the cluster is.
    pub plan: UpgradePlan,
    /// Settings of the first node that the release writes otherwise, or does not have.
    pub otherwise: Vec<Otherwise>,
    /// The JDK that moved nodes will run on; absent where none is moved.
    pub jdk: Option<String>,
}

/// What an upgrade did.
#[derive(Debug)]
pub struct Upgraded {
    /// The cluster as it is now.
    pub state: ClusterState,
    /// The plan, all of whose steps are done.
    pub plan: UpgradePlan,
    /// How long each step took.
    pub took: Vec<Duration>,
}

/// Why an upgrade cannot be planned, or went wrong.
#[derive(Debug, thiserror::Error)]
pub enum UpgradeTrouble {
    /// There is no way.
    #[error(transparent)]
    Way(#[from] UpgradeError),
    /// No release was given, and none is under way.
    #[error("upgrade {0} to which release?")]
    NoTarget(String),
    /// The settings of a node cannot be read.
    #[error("the cassandra.yaml of {node} cannot be read: {why}")]
    Settings {
        /// Node.
        node: String,
        /// Why.
        why: String,
    },
}

impl Problem for UpgradeTrouble {
    fn class(&self) -> Class {
        Class::Usage
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Way(error) => Some(error.hint()),
            Self::NoTarget(_) => Some("name it with --to, such as --to 5.0".into()),
            Self::Settings { .. } => None,
        }
    }
}

/// What all moved nodes run with.
struct Target {
    release: &'static Release,
    runtime: Runtime,
}

impl Context {
    /// What an upgrade would do from here on, and what the nodes' settings would be otherwise; nothing is changed.
    ///
    /// # Errors
    /// No such cluster or release, no way, or nodes that do not run.
    pub fn upgrade_plan(&self, request: &UpgradeRequest) -> Result<UpgradeLook, ClusterError> {
        let state = self.clusters.load(&request.cluster)?;
        let plan = planned(&state, request)?;
        let release = Release::find(&plan.to)?;
        let moves = plan.steps.iter().find_map(|step| match step {
            Step::Restart { node, mode, .. } => Some((node, *mode)),
            Step::Rewrite { .. } => None,
        });
        let (mut otherwise, mut jdk) = (Vec::new(), None);
        if let Some((node, mode)) = moves {
            otherwise = translated(state.node(node)?, release, mode)?.1;
            if state.runtime.fake.is_none() {
                let found = jdk::find(&self.env);
                let chosen = jdk::choose(release, &found, request.java_home.as_deref())?;
                jdk = Some(chosen.jdk.to_string());
            }
        }
        Ok(UpgradeLook {
            plan,
            otherwise,
            jdk,
        })
    }

    /// Moves a cluster to another release, or continues with an upgrade that was cut off.
    ///
    /// # Errors
    /// As [`Self::upgrade_plan`]; the release or a JDK cannot be had; a node does not stop, start or rewrite its files.
    /// What is done stays done, and the next call continues.
    pub fn upgrade(
        &self,
        request: &UpgradeRequest,
        events: &mut dyn FnMut(UpgradeEvent<'_>),
    ) -> Result<Upgraded, ClusterError> {
        let _lock = self.clusters.lock(&request.cluster)?;
        let mut state = self.clusters.load(&request.cluster)?;
        if state.ephemeral {
            return Err(StateError::Busy(request.cluster.clone()).into());
        }
        let plan = planned(&state, request)?;
        let mut took = Vec::new();
        if !plan.steps.is_empty() {
            let mut life = |event| events(UpgradeEvent::Life(event));
            let target = self.target(&state, &plan, request, &mut life)?;
            mark(&mut state, &plan);
            self.save(&state)?;
            for (index, step) in plan.steps.iter().enumerate() {
                if self.cancel.is_set() {
                    return Err(ReadyError::Interrupted.into());
                }
                let (number, of) = (index + 1, plan.steps.len());
                events(UpgradeEvent::Step { number, of, step });
                let begin = Instant::now();
                let mut life = |event| events(UpgradeEvent::Life(event));
                self.take(&mut state, step, &target, request, &mut life)?;
                took.push(begin.elapsed());
                let took = begin.elapsed();
                events(UpgradeEvent::Done {
                    number,
                    of,
                    step,
                    took,
                });
            }
        }
        state.upgrade = None;
        self.save(&state)?;
        Ok(Upgraded { state, plan, took })
    }

    /// The release's files, its JDK and its archive.
    fn target(
        &self,
        state: &ClusterState,
        plan: &UpgradePlan,
        request: &UpgradeRequest,
        life: &mut dyn FnMut(Event),
    ) -> Result<Target, ClusterError> {
        let release = Release::find(&plan.to)?;
        let (_, mut runtime) = self.runtime_for(
            &Source::Known(plan.to.clone()),
            request.java_home.as_deref(),
            state.runtime.fake.as_deref(),
            life,
        )?;
        let moved = plan.steps.iter().find_map(|step| match step {
            Step::Restart { node, mode, .. } => Some((node, *mode)),
            Step::Rewrite { .. } => None,
        });
        if let Some((node, mode)) = moved
            && request.archive
            && runtime.fake.is_none()
        {
            let mut first = state.node(node)?.clone();
            let (yaml, _, jvm) = translated(&first, release, mode)?;
            (first.yaml, first.jvm) = (yaml, jvm);
            runtime.archive = self.archive_beside(state, release, &runtime, first, life)?;
        }
        Ok(Target { release, runtime })
    }

    /// The archive for nodes of another release, made at an address that no node has: all of them run.
    fn archive_beside(
        &self,
        state: &ClusterState,
        release: &Release,
        runtime: &Runtime,
        mut node: NodePlan,
        life: &mut dyn FnMut(Event),
    ) -> Result<Option<PathBuf>, ClusterError> {
        if !archive::can(runtime.jdk_feature) {
            return Ok(None);
        }
        let key = archive::key(runtime, &node.jvm);
        let path = archive::path(&self.paths.cache, release.version, &key);
        if path.exists() {
            return Ok(Some(path));
        }
        let free = match state.plan.network {
            // In a network of its own there is no address but the nodes'.
            Some(_) => None,
            None => self.claims.look(1).ok(),
        };
        let Some(free) = free.filter(|free| free.ports == state.plan.ports) else {
            return Ok(None);
        };
        let (own, other) = (node.address.to_string(), free.addresses[0].to_string());
        node.address = free.addresses[0];
        node.yaml = node.yaml.replace(&own, &other);
        node.jvm = node.jvm.iter().map(|f| f.replace(&own, &other)).collect();
        let mut pupil = state.clone();
        pupil.releases.clear();
        pupil.runtime = runtime.clone();
        pupil.plan.release = release.version.to_owned();
        pupil.plan.nodes = vec![node];
        self.train(&pupil, &path, life)?;
        Ok(path.exists().then_some(path))
    }

    fn take(
        &self,
        state: &mut ClusterState,
        step: &Step,
        target: &Target,
        request: &UpgradeRequest,
        life: &mut dyn FnMut(Event),
    ) -> Result<(), ClusterError> {
        match step {
            Step::Restart { node, mode, .. } => {
                self.move_node(state, node, *mode, target, request, life)
            }
            Step::Rewrite { node } => {
                settle::rewrite(self, state, node)?;
                if let Some(mark) = &mut state.upgrade {
                    mark.rewrite.retain(|left| left != node);
                }
                self.save(state)
            }
        }
    }

    /// Drains a node, stops it, and starts it on the release; where it was cut off before, continues from there.
    fn move_node(
        &self,
        state: &mut ClusterState,
        name: &str,
        mode: Option<Mode>,
        target: &Target,
        request: &UpgradeRequest,
        life: &mut dyn FnMut(Event),
    ) -> Result<(), ClusterError> {
        let own = [name.to_owned()];
        let to = target.release.version;
        let folder = PathBuf::from(&state.node(name)?.folder);
        let mark = state.upgrade.as_ref();
        let drained =
            mark.is_some_and(|mark| mark.drained && mark.in_hand.as_deref() == Some(name));
        if !runs(&folder)? && !drained && state.release_of(name) != to {
            // Its commit log is for its own release to read.
            self.start_locked(state, &own, request.ready_within, life)?;
        }
        if runs(&folder)? {
            in_hand(state, Some(name), false);
            self.save(state)?;
            let why = format!("upgrade to {to}");
            fs::write(folder.join(WHY_FILE), why).map_err(ClusterError::io("the node's folder"))?;
            settle::drain_node(self, state, name)?;
            in_hand(state, Some(name), true);
            self.save(state)?;
            let node = state.node(name)?.clone();
            self.stop_locked(state, vec![node], request.within, life)?;
        }
        let (yaml, _, jvm) = translated(state.node(name)?, target.release, mode)?;
        let plans = state.plan.nodes.iter_mut();
        for node in plans.filter(|node| node.name == name) {
            (node.yaml, node.jvm) = (yaml.clone(), jvm.clone());
        }
        is_on(state, name, target);
        self.save(state)?;
        self.start_locked(state, &own, request.ready_within, life)?;
        in_hand(state, None, false);
        self.save(state)?;
        forget_why(&folder).map_err(ClusterError::io("the node's folder"))
    }
}

fn runs(folder: &Path) -> Result<bool, ClusterError> {
    let holder = alive::holder(folder).map_err(ClusterError::io("the node's claim"))?;
    Ok(holder.is_some())
}

fn forget_why(folder: &Path) -> io::Result<()> {
    there(fs::remove_file(folder.join(WHY_FILE))).map(drop)
}

/// The steps from where the cluster is.
fn planned(state: &ClusterState, request: &UpgradeRequest) -> Result<UpgradePlan, ClusterError> {
    let mark = state.upgrade.as_ref();
    let to = match (&request.to, mark) {
        (Some(name), _) => Release::find(name)?.version.to_owned(),
        (None, Some(mark)) => mark.to.clone(),
        (None, None) => return Err(UpgradeTrouble::NoTarget(request.cluster.clone()).into()),
    };
    let same = mark.filter(|mark| mark.to == to);
    let goal = Goal {
        until: request.until.or(same.and_then(|mark| mark.until)),
        rewrite: same.map(|mark| mark.rewrite.clone()).unwrap_or_default(),
        release: to,
    };
    let mut nodes = Vec::new();
    for node in &state.plan.nodes {
        nodes.push(NodeNow {
            name: node.name.clone(),
            release: state.release_of(&node.name).to_owned(),
            mode: mode_of(&node.yaml),
            runs: runs(Path::new(&node.folder))?,
            in_hand: mark.is_some_and(|m| m.in_hand.as_deref() == Some(node.name.as_str())),
        });
    }
    let plan = upgrade(&state.plan.name, &nodes, &goal);
    Ok(plan.map_err(UpgradeTrouble::from)?)
}

/// Text of cassandra.yaml, what is otherwise, and the flags of a node on that release.
fn translated(
    node: &NodePlan,
    release: &Release,
    mode: Option<Mode>,
) -> Result<(String, Vec<Otherwise>, Vec<String>), ClusterError> {
    let unreadable = |error: helenus_model::yaml::YamlError| UpgradeTrouble::Settings {
        node: node.name.clone(),
        why: error.to_string(),
    };
    let (yaml, mut otherwise) = settings(&node.yaml, release, mode).map_err(unreadable)?;
    let (jvm, more) = flags(&node.jvm, release);
    otherwise.extend(more);
    Ok((yaml, otherwise, jvm))
}

/// Written down before the first step: what is wanted, and whose files are to be rewritten at the end.
fn mark(state: &mut ClusterState, plan: &UpgradePlan) {
    let rewrite = plan.steps.iter().filter_map(|step| match step {
        Step::Rewrite { node } => Some(node.clone()),
        Step::Restart { .. } => None,
    });
    let before = state.upgrade.take();
    state.upgrade = Some(UpgradeMark {
        to: plan.to.clone(),
        until: plan.until,
        in_hand: before.as_ref().and_then(|mark| mark.in_hand.clone()),
        drained: before.is_some_and(|mark| mark.drained),
        rewrite: rewrite.collect(),
    });
}

fn in_hand(state: &mut ClusterState, node: Option<&str>, drained: bool) {
    if let Some(mark) = &mut state.upgrade {
        mark.in_hand = node.map(ToOwned::to_owned);
        mark.drained = drained;
    }
}

/// The node is on that release from now on; where all are, the cluster is.
fn is_on(state: &mut ClusterState, name: &str, target: &Target) {
    let own = OwnRelease {
        release: target.release.version.to_owned(),
        runtime: target.runtime.clone(),
    };
    state.releases.insert(name.to_owned(), own);
    let nodes = state.plan.nodes.iter();
    let all = nodes.map(|node| state.releases.get(&node.name));
    let there =
        |own: Option<&OwnRelease>| own.is_some_and(|own| own.release == target.release.version);
    if all.into_iter().all(there) {
        state.plan.release = target.release.version.to_owned();
        state.runtime = target.runtime.clone();
        state.releases.clear();
    }
}
