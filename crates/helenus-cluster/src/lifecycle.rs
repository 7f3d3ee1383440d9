//! The life of a cluster: up, start, stop, kill, pause, resume.
//! Refuses to leave a trace of what was interrupted; what failed by itself is kept for a look.

use crate::address::{Claimed, Claims};
use crate::alive;
use crate::archive;
use crate::context::Context;
use crate::disk;
use crate::error::{Class, ClusterError, Problem, with_causes};
use crate::event::Event;
use crate::free_memory;
use crate::host_settings::{self, may_have_addresses};
use crate::limits;
use crate::machine;
use crate::marks::BaselineMark;
use crate::owner;
use crate::process::{self, Owner};
use crate::random::random;
use crate::ready::ReadyError;
use crate::remove;
use crate::state::{
    ClusterState, NodeState, Runtime, STATE_VERSION, StateError, Wanted, started_at,
};
use crate::store::Store;
use crate::wall::since_1970;
use fs_err as fs;
use helenus_model::access::Access;
use helenus_model::format::Format;
use helenus_model::hex::hex;
use helenus_model::network::NetworkPlan;
use helenus_model::plan::{ClusterPlan, ClusterSpec, NodePlan, PlanRequest, STANDARD_PORTS, plan};
use helenus_model::release::Release;
use helenus_model::stack::StackRequest;
use helenus_model::topology::check_cluster_name;
use helenus_model::units::Bytes;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

mod configure;
mod network;
mod prepare;
pub use configure::NewSettings;
pub(crate) use prepare::alone;
mod runtime;
mod starting;

/// Disk that a node needs before it starts: logs, a few commit-log segments, system tables.
const DISK_PER_NODE: Bytes = Bytes::mib(100);

/// Why nodes may not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The disk is too full.
    #[error("{} {need} of disk, {folder} has {free}", if *nodes == 1 { "1 node needs".to_owned() } else { format!("{nodes} nodes need") })]
    NoSpace {
        /// Nodes.
        nodes: usize,
        /// Wanted.
        need: Bytes,
        /// There.
        free: Bytes,
        /// Where.
        folder: PathBuf,
    },
    /// The speed of the disk cannot be limited.
    #[error("the nodes' disk cannot be slowed down: {0}")]
    DiskSpeed(String),
}

impl Problem for StartError {
    fn class(&self) -> Class {
        Class::Environment
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoSpace { .. } => {
                "free some space, or put the state elsewhere with HELENUS_HOME=/a/larger/disk"
            }
            Self::DiskSpeed(_) => {
                "leave --disk-read, --disk-write and --disk-iops out; `helenus doctor` shows what the system allows, \
                 and HELENUS_HOME puts the nodes on another disk"
            }
        };
        Some(hint.to_owned())
    }
}

/// Which Cassandra.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A known release, such as `5.0`, fetched when it is not in the cache.
    Known(String),
    /// An unpacked distribution.
    Home(PathBuf),
    /// A `-bin.tar.gz`.
    Tarball(PathBuf),
}

/// What `up` is asked for. Its archive is used, and made, where the release can have one.
#[derive(Debug, Clone)]
pub struct UpRequest {
    /// The cluster.
    pub spec: ClusterSpec,
    /// Which Cassandra.
    pub source: Source,
    /// Which JDK, where the person names one.
    pub java_home: Option<PathBuf>,
    /// Whether the cluster ends with this command.
    pub ephemeral: bool,
    /// The process that it belongs to: it is removed when that ends.
    pub owner: Option<Owner>,
    /// Longest wait for readiness.
    pub ready_within: Duration,
    /// In tests: the program that stands in for Cassandra, a space, and how it behaves.
    pub fake: Option<String>,
    /// Whether its nodes start; else they wait for `start`.
    pub start: bool,
    /// Its first address, where a person names it; else free ones of this user's network.
    pub addresses: Option<Ipv4Addr>,
    /// The interface that addresses are added to which this machine does not have.
    pub interface: Option<String>,
    /// How far the kernel reads ahead on the disk of the nodes, as long as the cluster is there.
    pub read_ahead: Option<Bytes>,
    /// Parts of a developer's stack beside the nodes: of [`crate::stack::up_all`].
    pub stack: Option<StackRequest>,
}

impl Context {
    /// Why this machine does not take the settings of its own that a cluster asks for; none where it does, or where none
    /// are asked for.
    pub fn unsettable(&self, request: &UpRequest) -> Option<String> {
        let wanted = request.read_ahead?;
        // What is not made yet will be on the disk of what is there.
        let there = self.clusters.root().ancestors().find(|p| p.exists())?;
        let asked = host_settings::may_read_ahead(&self.env.root, there, wanted);
        asked.err().map(|error| with_causes(&error))
    }

    /// The plan of an `up`, with the addresses that it would get now; nothing is changed.
    ///
    /// # Errors
    /// As [`Self::up`], as far as a plan can fail.
    pub fn dry_run(&self, request: &UpRequest) -> Result<ClusterPlan, ClusterError> {
        check_cluster_name(&request.spec.name)?;
        if self.clusters.folder(&request.spec.name).exists() {
            return Err(StateError::Exists(request.spec.name.clone()).into());
        }
        let version = self.version(&request.source)?;
        let available = free_memory::available(&self.clusters);
        let nodes = request.spec.topology.nodes();
        let claimed = match (self.network(request)?, request.addresses) {
            (Some(network), _) => apart(&network),
            (None, Some(first)) => Claims::named(first, nodes)?,
            (None, None) => self.claims.look(nodes)?,
        };
        if request.addresses.is_some() {
            let interface = request.interface.as_deref();
            let here = may_have_addresses(&self.env.root, interface, &claimed.addresses)?;
            if request.start {
                Claims::prove_free(&here, claimed.ports)?;
            }
        }
        self.plan(request, &version, &claimed, available)
    }

    /// The version as far as it is known before anything is read.
    pub(crate) fn version(&self, source: &Source) -> Result<String, ClusterError> {
        Ok(match source {
            Source::Known(name) => Release::find(name)?.version.to_owned(),
            Source::Home(path) => Store::from_home(path)?.version,
            Source::Tarball(path) => path.display().to_string(),
        })
    }

    /// Brings up a cluster and waits until it is ready.
    ///
    /// # Errors
    /// Anything that prevents it; what was interrupted leaves nothing behind.
    pub fn up(
        &self,
        request: &UpRequest,
        events: &mut dyn FnMut(Event),
    ) -> Result<ClusterState, ClusterError> {
        disk::sweep(&self.clusters);
        owner::sweep(self);
        // What cannot be planned is refused before a release is fetched for it.
        may_have_disks(&self.dry_run(request)?)?;
        let folder = self.clusters.folder(&request.spec.name);
        self.check_disk(request.spec.topology.nodes())?;
        let (version, runtime) = self.runtime(request, events)?;
        fs::create_dir(&folder).map_err(|e| match e.kind() {
            std::io::ErrorKind::AlreadyExists => {
                StateError::Exists(request.spec.name.clone()).into()
            }
            _ => ClusterError::io("the state folder")(e),
        })?;
        let lock = self.clusters.lock(&request.spec.name)?;
        let result = self.up_locked(request, &version, &runtime, events);
        drop(lock);
        match result {
            Err(error) if self.cancel.is_set() => {
                tracing::info!(%error, "interrupted");
                remove::remove(self, &request.spec.name)?;
                Err(ReadyError::Interrupted.into())
            }
            // Nothing ran yet: there is nothing to look at.
            Err(error) if !folder.join("node1/logs").exists() => {
                remove::remove(self, &request.spec.name)?;
                Err(error)
            }
            other => other,
        }
    }

    fn up_locked(
        &self,
        request: &UpRequest,
        version: &str,
        runtime: &Runtime,
        events: &mut dyn FnMut(Event),
    ) -> Result<ClusterState, ClusterError> {
        let mut state = self.planned(request, version, runtime)?;
        // Before anything runs that a `kill -9` of this process would leave behind.
        owner::guard(self, &state)?;
        events(Event::Planned(Box::new(state.plan.clone())));
        self.provide_read_ahead(request)?;
        self.provide_network(&state, events)?;
        self.provide_addresses(&state)?;
        if state.plan.interface.is_some() && request.start {
            // What was added now may be taken all the same: by a program that listens everywhere.
            Claims::prove_free(&addresses(&state), state.plan.ports)?;
        }
        if request.spec.archive && request.fake.is_none() {
            self.provide_archive(&mut state, events)?;
        }
        if request.start {
            let names: Vec<String> = state.plan.nodes.iter().map(|n| n.name.clone()).collect();
            self.launch(&mut state, &names, request.ready_within, events)?;
        }
        Ok(state)
    }

    /// Sets how far the kernel reads ahead on the disk of the cluster of that name, where it is asked for.
    pub(crate) fn provide_read_ahead(&self, request: &UpRequest) -> Result<(), ClusterError> {
        if let Some(wanted) = request.read_ahead {
            let folder = self.clusters.folder(&request.spec.name);
            let all = self.clusters.folders();
            let all = all.map_err(ClusterError::io("the state folder"))?;
            host_settings::read_ahead(&self.env.root, &folder, &all, wanted)?;
        }
        Ok(())
    }

    /// Takes addresses and writes the cluster's state; the caller holds its lock.
    fn planned(
        &self,
        request: &UpRequest,
        version: &str,
        runtime: &Runtime,
    ) -> Result<ClusterState, ClusterError> {
        let folder = self.clusters.folder(&request.spec.name);
        let mut saved = None;
        let mut decide = |claimed: &Claimed| {
            let available = free_memory::available(&self.clusters);
            let plan = self.plan(request, version, claimed, available)?;
            let state = new_state(plan, runtime.clone(), request);
            self.save(&state)?;
            saved = Some(state);
            Ok::<(), ClusterError>(())
        };
        let nodes = request.spec.topology.nodes();
        match (self.network(request)?, request.addresses) {
            // Its addresses are nobody else's: they exist in the cluster's own network only.
            (Some(network), _) => decide(&apart(&network))?,
            (None, Some(first)) => decide(&Claims::named(first, nodes)?)?,
            (None, None) => {
                self.claims.take(nodes, &folder, decide)?;
            }
        }
        let Some(state) = saved else {
            unreachable!("claims run the closure or fail")
        };
        Ok(state)
    }

    /// Starts stopped nodes again, with their data.
    ///
    /// # Errors
    /// A port is taken meanwhile, or a node does not become ready.
    pub fn start(
        &self,
        name: &str,
        node: Option<&str>,
        ready_within: Duration,
        events: &mut dyn FnMut(Event),
    ) -> Result<ClusterState, ClusterError> {
        let _lock = self.clusters.lock(name)?;
        let mut state = self.clusters.load(name)?;
        if state.ephemeral {
            // Its nodes would end with this command; one whose maker lives is the maker's.
            if !state.abandoned() {
                return Err(StateError::Busy(name.into()).into());
            }
            state.ephemeral = false;
        }
        let names: Vec<String> = state
            .targets(node)?
            .iter()
            .map(|n| n.name.clone())
            .collect();
        self.start_locked(&mut state, &names, ready_within, events)?;
        Ok(state)
    }

    /// Starts those of the named nodes that do not run; the caller holds the cluster's lock.
    pub(crate) fn start_locked(
        &self,
        state: &mut ClusterState,
        nodes: &[String],
        ready_within: Duration,
        events: &mut dyn FnMut(Event),
    ) -> Result<(), ClusterError> {
        let names = self.startable(state, nodes, events)?;
        self.launch(state, &names, ready_within, events)
    }

    /// Those of the named nodes that do not run, and may and can be started.
    pub(crate) fn startable(
        &self,
        state: &mut ClusterState,
        nodes: &[String],
        events: &mut dyn FnMut(Event),
    ) -> Result<Vec<String>, ClusterError> {
        state.baseline.may_start(&state.plan.name)?;
        let nodes = &self.whole_network(state, nodes, events)?;
        // A boot has ended what was added.
        self.provide_addresses(state)?;
        let mut names = Vec::new();
        for name in nodes {
            let node = state.node(name)?;
            let alive = alive::holder(Path::new(&node.folder))
                .map_err(ClusterError::io("the node's claim"))?;
            if alive.is_none() {
                if state.plan.network.is_none() {
                    Claims::prove_free(&[node.address], state.plan.ports)?;
                }
                names.push(name.clone());
            }
        }
        Ok(names)
    }

    /// Adds the addresses of a cluster's nodes to its interface, where it has one and they are not there.
    fn provide_addresses(&self, state: &ClusterState) -> Result<(), ClusterError> {
        self.give_addresses(state, &addresses(state))
    }

    /// Adds these addresses to a cluster's interface, where it has one and they are not there.
    pub(crate) fn give_addresses(
        &self,
        state: &ClusterState,
        addresses: &[Ipv4Addr],
    ) -> Result<(), ClusterError> {
        let Some(interface) = &state.plan.interface else {
            return Ok(());
        };
        let folder = Path::new(&state.plan.folder);
        let all = self.clusters.folders();
        let all = all.map_err(ClusterError::io("the state folder"))?;
        host_settings::give_addresses(&self.env.root, folder, &all, interface, addresses)?;
        Ok(())
    }

    pub(crate) fn save(&self, state: &ClusterState) -> Result<(), ClusterError> {
        self.clusters
            .save(state)
            .map_err(ClusterError::io("the cluster's state"))
    }

    pub(crate) fn provide_archive(
        &self,
        state: &mut ClusterState,
        events: &mut dyn FnMut(Event),
    ) -> Result<(), ClusterError> {
        if !archive::can(state.runtime.jdk_feature) {
            return Ok(());
        }
        let key = archive::key(&state.runtime, &state.plan.nodes[0].jvm);
        let path = archive::path(&self.paths.cache, &state.plan.release, &key);
        if !path.exists() {
            self.train(state, &path, events)?;
        }
        state.runtime.archive = path.exists().then_some(path);
        self.save(state)
    }

    /// Makes an archive; nodes start without one, more slowly, where that fails.
    pub(crate) fn train(
        &self,
        state: &ClusterState,
        path: &Path,
        events: &mut dyn FnMut(Event),
    ) -> Result<(), ClusterError> {
        events(Event::Training);
        let begin = Instant::now();
        match archive::train(state, &self.helenus, path, &self.cancel) {
            Ok(()) => events(Event::Trained {
                took: begin.elapsed(),
            }),
            Err(archive::ArchiveError::Training(error @ ReadyError::Interrupted)) => {
                return Err(error.into());
            }
            Err(error) => events(Event::Untrained {
                why: with_causes(&error),
            }),
        }
        Ok(())
    }

    pub(crate) fn plan(
        &self,
        request: &UpRequest,
        version: &str,
        claimed: &Claimed,
        available: Bytes,
    ) -> Result<ClusterPlan, ClusterError> {
        let folder = self.clusters.folder(&request.spec.name);
        let planned = plan(&PlanRequest {
            spec: ClusterSpec {
                archive: request.spec.archive && archive::of_release(version),
                ..request.spec.clone()
            },
            release: version.to_owned(),
            machine: machine::read(),
            addresses: claimed.addresses.clone(),
            ports: claimed.ports,
            folder: folder.to_string_lossy().into_owned(),
            available,
            network: self.network(request)?,
        })?;
        if request.spec.disk_speed.is_some() {
            limits::disk::can(&self.env.root, &self.paths.state).map_err(StartError::DiskSpeed)?;
        }
        Ok(ClusterPlan {
            interface: request.interface.clone(),
            ..planned
        })
    }

    /// The network of a cluster whose data centres are apart.
    fn network(&self, request: &UpRequest) -> Result<Option<NetworkPlan>, ClusterError> {
        let folder = self.clusters.folder(&request.spec.name);
        Ok(NetworkPlan::of(
            &request.spec.topology,
            &folder.to_string_lossy(),
        )?)
    }

    /// Whether the disk has room for so many nodes to start with.
    ///
    /// # Errors
    /// [`StartError::NoSpace`], or the disk cannot be asked.
    pub fn check_disk(&self, nodes: usize) -> Result<(), ClusterError> {
        let folder = self.paths.state.clone();
        let free = machine::free_space(&folder).map_err(ClusterError::io("the state folder"))?;
        let need = Bytes(DISK_PER_NODE.0 * nodes as u64);
        if free < need {
            Err(StartError::NoSpace {
                nodes,
                need,
                free,
                folder,
            }
            .into())
        } else {
            Ok(())
        }
    }

    /// Stops nodes gently and keeps their data; one that has not ended `within` is killed.
    ///
    /// # Errors
    /// No such cluster or node, or the claims cannot be asked.
    pub fn stop(
        &self,
        name: &str,
        node: Option<&str>,
        within: Duration,
        events: &mut dyn FnMut(Event),
    ) -> Result<(), ClusterError> {
        let _lock = self.clusters.lock(name)?;
        let mut state = self.clusters.load(name)?;
        let targets: Vec<NodePlan> = state.targets(node)?.into_iter().cloned().collect();
        self.stop_locked(&mut state, targets, within, events)
    }

    /// Stops these nodes; the caller holds the cluster's lock.
    pub(crate) fn stop_locked(
        &self,
        state: &mut ClusterState,
        targets: Vec<NodePlan>,
        within: Duration,
        events: &mut dyn FnMut(Event),
    ) -> Result<(), ClusterError> {
        // Written first: a stop that is cut off leaves nodes that end on request, not nodes that died.
        for node in &targets {
            state
                .nodes
                .entry(node.name.clone())
                .and_modify(|n| n.wanted = Wanted::Stopped);
        }
        self.clusters
            .save(state)
            .map_err(ClusterError::io("the cluster's state"))?;
        let mut ends = Vec::new();
        for node in targets {
            let holder = alive::holder(Path::new(&node.folder))
                .map_err(ClusterError::io("the node's claim"))?;
            if let Some(pid) = holder {
                events(Event::Stopping {
                    node: node.name.clone(),
                });
                // All at once: each drains by itself.
                ends.push(std::thread::spawn(move || {
                    (node.name, pid, process::end(pid, within))
                }));
            }
        }
        for end in ends {
            if let Ok((node, pid, by_itself)) = end.join() {
                remove::forget_attach(pid.as_raw_pid());
                events(Event::Stopped { node, by_itself });
            }
        }
        self.end_empty_network(state)
    }

    /// Kills, pauses or resumes one node.
    ///
    /// # Errors
    /// No such node, or it is not running.
    pub fn signal(&self, name: &str, node: &str, signal: Signal) -> Result<(), ClusterError> {
        let _lock = self.clusters.lock(name)?;
        let mut state = self.clusters.load(name)?;
        let folder = PathBuf::from(&state.node(node)?.folder);
        let pid = alive::holder(&folder)
            .map_err(ClusterError::io("the node's claim"))?
            .ok_or_else(|| ClusterError::not_running(name, node))?;
        if signal == Signal::KILL {
            return self.kill_locked(&mut state, &[node.to_owned()]);
        }
        process::signal(pid, signal).map_err(ClusterError::io("the node's process"))
    }

    /// Kills these nodes, those that live; the caller holds the cluster's lock.
    pub(crate) fn kill_locked(
        &self,
        state: &mut ClusterState,
        nodes: &[String],
    ) -> Result<(), ClusterError> {
        // Written first: nodes that end on request have not died.
        for node in nodes {
            state
                .nodes
                .entry(node.clone())
                .and_modify(|n| n.wanted = Wanted::Stopped);
        }
        self.save(state)?;
        let mut pids = Vec::new();
        for node in nodes {
            let folder = PathBuf::from(&state.node(node)?.folder);
            pids.extend(alive::holder(&folder).map_err(ClusterError::io("the node's claim"))?);
        }
        // All of them before the first is waited for.
        for pid in &pids {
            let _gone_already = process::signal(*pid, Signal::KILL);
        }
        for pid in pids {
            process::end(pid, Duration::ZERO);
            remove::forget_attach(pid.as_raw_pid());
        }
        Ok(())
    }
}

/// Refuses a plan with disks of limited size where this user may mount none.
pub(crate) fn may_have_disks(plan: &ClusterPlan) -> Result<(), ClusterError> {
    if plan.nodes.iter().any(|node| node.disk.is_some()) {
        disk::may_mount()?;
    }
    Ok(())
}

/// The addresses of a network of its own, where every port is free.
fn apart(network: &NetworkPlan) -> Claimed {
    Claimed {
        addresses: network.node_addresses(),
        ports: STANDARD_PORTS,
    }
}

/// Addresses of a cluster's nodes.
fn addresses(state: &ClusterState) -> Vec<Ipv4Addr> {
    let nodes = state.plan.nodes.iter();
    nodes.map(|node| node.address).collect()
}

pub(crate) fn new_state(plan: ClusterPlan, runtime: Runtime, request: &UpRequest) -> ClusterState {
    let nodes = plan
        .nodes
        .iter()
        .map(|n| (n.name.clone(), NodeState::fresh(None)))
        .collect();
    let own = rustix::process::getpid().as_raw_pid();
    ClusterState {
        format: Format::new("cluster", STATE_VERSION),
        id: hex(&random::<16>().unwrap_or_default()),
        created_unix: since_1970().as_secs(),
        ephemeral: request.ephemeral,
        owner: request.owner,
        maker: (own, started_at(own)),
        access: Access::of(&plan.folder, plan.security),
        secured: false,
        plan,
        runtime,
        nodes,
        limits: None,
        baseline: BaselineMark::default(),
        schema: None,
        releases: BTreeMap::new(),
        upgrade: None,
        gone: Vec::new(),
    }
}
