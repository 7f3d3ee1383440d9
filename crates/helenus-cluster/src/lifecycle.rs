//! The life of a cluster: up, start, stop, kill, pause, resume.
//! Refuses to leave a trace of what was interrupted; what failed by itself is kept for a look.

use crate::address::{Claimed, Claims};
use crate::alive;
use crate::archive;
use crate::cancel::Cancel;
use crate::env::Env;
use crate::error::ClusterError;
use crate::jdk;
use crate::launch::{self, LaunchOptions, Started};
use crate::machine;
use crate::paths::Paths;
use crate::process;
use crate::ready::{self, ReadyError, ReadyEvent};
use crate::remove;
use crate::secure;
use crate::state::{
    ClusterState, Clusters, NodeState, Runtime, STATE_VERSION, StateError, Wanted, started_at,
};
use crate::store::{Store, StoreEvent};
use fs_err as fs;
use helenus_model::access::{Access, Security};
use helenus_model::format::Format;
use helenus_model::plan::{ClusterPlan, NodePlan, PlanRequest, plan};
use helenus_model::preset::PresetName;
use helenus_model::release::Verdict;
use helenus_model::release::{Arch, Release};
use helenus_model::topology::{Topology, check_cluster_name};
use helenus_model::units::Bytes;
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Disk that a node wants before it begins: logs, a few commit-log segments, system tables.
const DISK_PER_NODE: Bytes = Bytes::mib(100);

/// Everything that the verbs work with.
#[derive(Debug, Clone)]
pub struct Hands {
    /// Folders.
    pub paths: Paths,
    /// The environment that JDKs and Maven are found in.
    pub env: Env,
    /// Clusters of this user.
    pub clusters: Clusters,
    /// Addresses of this user.
    pub claims: Claims,
    /// This very binary.
    pub helenus: PathBuf,
    /// The person's wish to stop.
    pub cancel: Cancel,
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

/// What `up` is asked for.
#[derive(Debug, Clone)]
pub struct UpRequest {
    /// Name of the cluster.
    pub name: String,
    /// Shape.
    pub topology: Topology,
    /// Preset.
    pub preset: PresetName,
    /// `-Xmx`.
    pub heap: Option<Bytes>,
    /// `-Xmn`.
    pub new_heap: Option<Bytes>,
    /// Tokens a node.
    pub tokens: u32,
    /// Checked keys of cassandra.yaml.
    pub set: Vec<(String, serde_json::Value)>,
    /// Flags of the JVM.
    pub jvm: Vec<String>,
    /// What is asked of clients.
    pub security: Security,
    /// Which Cassandra.
    pub source: Source,
    /// Which JDK, where the person names one.
    pub java_home: Option<PathBuf>,
    /// Whether the cluster ends with this command.
    pub ephemeral: bool,
    /// Whether to use (and make) a class-data archive.
    pub archive: bool,
    /// Longest wait for readiness.
    pub ready_within: Duration,
    /// A stand-in for Cassandra's behaviour, in tests.
    pub fake: Option<String>,
}

/// What happens on the way, for progress and logs.
#[derive(Debug, Clone)]
pub enum Event {
    /// The release store at work.
    Store(StoreEvent),
    /// The JDK that was chosen, with its caution.
    Jdk {
        /// Version, vendor and folder.
        jdk: String,
        /// Why a number measured on it must carry a caution.
        caution: Option<String>,
        /// The JDK that JAVA_HOME names, where the release cannot run on it, and why.
        passed_over: Option<String>,
    },
    /// What is found is of another patch version than the facts that are known.
    Inexact {
        /// Found.
        version: String,
        /// Whose keys, jars and JDKs are known.
        facts: String,
    },
    /// Addresses and files are decided.
    Planned(Box<ClusterPlan>),
    /// The class-data archive is being made: a training start, once a release and JVM.
    Training,
    /// The archive is there.
    Trained {
        /// How long it took.
        took: Duration,
    },
    /// No archive; starts go on, slower.
    Untrained {
        /// Why.
        why: String,
    },
    /// Processes were started.
    Started {
        /// How many.
        nodes: usize,
    },
    /// Readiness.
    Ready(ReadyEvent),
    /// A node was asked to stop.
    Stopping {
        /// Node.
        node: String,
    },
    /// A node is gone.
    Stopped {
        /// Node.
        node: String,
        /// Whether it went by itself.
        by_itself: bool,
    },
}

impl Hands {
    /// Opens the folders.
    ///
    /// # Errors
    /// One cannot be made.
    pub fn open(env: Env, helenus: PathBuf, cancel: Cancel) -> Result<Self, ClusterError> {
        let paths = Paths::find(&env)?;
        paths.secure_runtime(&env)?;
        let clusters =
            Clusters::open(&paths.state).map_err(ClusterError::io("the state folder"))?;
        let claims = Claims::open(&paths.runtime)
            .map_err(ClusterError::io("the folder of address claims"))?;
        Ok(Self {
            paths,
            env,
            clusters,
            claims,
            helenus,
            cancel,
        })
    }

    /// The plan of an `up`, with the addresses that it would get now; nothing is changed.
    ///
    /// # Errors
    /// As [`Self::up`], as far as a plan can fail.
    pub fn dry_run(&self, request: &UpRequest) -> Result<ClusterPlan, ClusterError> {
        check_cluster_name(&request.name)?;
        if self.clusters.folder(&request.name).exists() {
            return Err(StateError::Exists(request.name.clone()).into());
        }
        let version = match &request.source {
            Source::Known(name) => Release::find(name)?.version.to_owned(),
            Source::Home(path) | Source::Tarball(path) => path.display().to_string(),
        };
        let claimed = self.claims.look(request.topology.nodes())?;
        Ok(self.plan(request, &version, &claimed)?)
    }

    /// Brings up a cluster and waits until it is ready.
    ///
    /// # Errors
    /// Anything that stands in the way; what was interrupted leaves nothing behind.
    pub fn up(
        &self,
        request: &UpRequest,
        events: &mut dyn FnMut(Event),
    ) -> Result<ClusterState, ClusterError> {
        // What cannot be planned is told before a release is fetched for it.
        self.dry_run(request)?;
        let folder = self.clusters.folder(&request.name);
        self.check_disk(request.topology.nodes())?;
        let (version, mut runtime) = self.runtime(request, events)?;
        fs::create_dir(&folder).map_err(|e| match e.kind() {
            std::io::ErrorKind::AlreadyExists => StateError::Exists(request.name.clone()).into(),
            _ => ClusterError::io("the state folder")(e),
        })?;
        let lock = self.clusters.lock(&request.name)?;
        let result = self.up_locked(request, &version, &mut runtime, events);
        drop(lock);
        match result {
            Err(error) if self.cancel.is_set() => {
                tracing::info!(%error, "interrupted");
                remove::remove(self, &request.name)?;
                Err(ReadyError::Interrupted.into())
            }
            // Nothing ran yet: there is nothing to look at.
            Err(error) if !folder.join("node1/logs").exists() => {
                remove::remove(self, &request.name)?;
                Err(error)
            }
            other => other,
        }
    }

    fn up_locked(
        &self,
        request: &UpRequest,
        version: &str,
        runtime: &mut Runtime,
        events: &mut dyn FnMut(Event),
    ) -> Result<ClusterState, ClusterError> {
        let folder = self.clusters.folder(&request.name);
        let mut saved = None;
        self.claims
            .take(request.topology.nodes(), &folder, |claimed| {
                let plan = self.plan(request, version, claimed)?;
                let state = new_state(plan, runtime.clone(), request.ephemeral);
                self.clusters
                    .save(&state)
                    .map_err(ClusterError::io("the cluster's state"))?;
                saved = Some(state);
                Ok::<(), ClusterError>(())
            })?;
        let Some(mut state) = saved else {
            unreachable!("claims run the closure or fail")
        };
        events(Event::Planned(Box::new(state.plan.clone())));
        if request.archive && request.fake.is_none() {
            self.provide_archive(&mut state, events)?;
        }
        let names: Vec<String> = state.plan.nodes.iter().map(|n| n.name.clone()).collect();
        self.launch(&mut state, &names, request.ready_within, events)?;
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
        let mut names = Vec::new();
        for node in state.targets(node)? {
            let alive = alive::holder(Path::new(&node.folder))
                .map_err(ClusterError::io("the node's claim"))?;
            if alive.is_none() {
                Claims::prove_free(&[node.address], state.plan.ports)?;
                names.push(node.name.clone());
            }
        }
        self.launch(&mut state, &names, ready_within, events)?;
        Ok(state)
    }

    /// Starts the named nodes and waits until all that run are ready together.
    fn launch(
        &self,
        state: &mut ClusterState,
        names: &[String],
        ready_within: Duration,
        events: &mut dyn FnMut(Event),
    ) -> Result<(), ClusterError> {
        for name in names {
            state
                .nodes
                .entry(name.clone())
                .and_modify(|n| n.wanted = Wanted::Running);
        }
        self.clusters
            .save(state)
            .map_err(ClusterError::io("the cluster's state"))?;
        let mut started: Vec<Started> = Vec::new();
        let result = self.launch_and_wait(state, names, ready_within, &mut started, events);
        match result {
            Ok(host_ids) => {
                for (name, id) in host_ids {
                    state.nodes.entry(name).and_modify(|n| n.host_id = Some(id));
                }
                state.secured = state.plan.security.auth;
                self.clusters
                    .save(state)
                    .map_err(ClusterError::io("the cluster's state"))
            }
            Err(error) => {
                end_all(started);
                for name in names {
                    state
                        .nodes
                        .entry(name.clone())
                        .and_modify(|n| n.wanted = Wanted::Stopped);
                }
                // The first error is the one to tell.
                let _second = self.clusters.save(state);
                Err(error)
            }
        }
    }

    fn launch_and_wait(
        &self,
        state: &ClusterState,
        names: &[String],
        ready_within: Duration,
        started: &mut Vec<Started>,
        events: &mut dyn FnMut(Event),
    ) -> Result<std::collections::BTreeMap<String, String>, ClusterError> {
        let options = LaunchOptions {
            helenus: self.helenus.clone(),
            leashed: state.ephemeral,
            train: None,
        };
        secure::provide(&state.plan)?;
        for name in names {
            let node = state.node(name)?;
            launch::write_files(state, node).map_err(ClusterError::io("the node's folder"))?;
            let process = launch::start(state, node, &options)
                .map_err(ClusterError::io("the launch shim"))?;
            started.push(process);
        }
        events(Event::Started {
            nodes: started.len(),
        });
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
        secure::finish(state, &running, &self.cancel)?;
        Ok(host_ids)
    }

    fn provide_archive(
        &self,
        state: &mut ClusterState,
        events: &mut dyn FnMut(Event),
    ) -> Result<(), ClusterError> {
        let key = archive::key(&state.runtime, &state.plan.nodes[0].jvm);
        let path = archive::path(&self.paths.cache, &state.plan.release, &key);
        if !path.exists() {
            events(Event::Training);
            let begin = Instant::now();
            match archive::train(state, &self.helenus, &path, &self.cancel) {
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
        }
        state.runtime.archive = path.exists().then_some(path);
        self.clusters
            .save(state)
            .map_err(ClusterError::io("the cluster's state"))
    }

    fn plan(
        &self,
        request: &UpRequest,
        version: &str,
        claimed: &Claimed,
    ) -> Result<ClusterPlan, helenus_model::plan::PlanError> {
        plan(&PlanRequest {
            name: request.name.clone(),
            topology: request.topology.clone(),
            release: version.to_owned(),
            preset: request.preset,
            heap: request.heap,
            new_heap: request.new_heap,
            tokens: request.tokens,
            set: request.set.clone(),
            jvm: request.jvm.clone(),
            security: request.security,
            machine: machine::read(),
            addresses: claimed.addresses.clone(),
            ports: claimed.ports,
            folder: self
                .clusters
                .folder(&request.name)
                .to_string_lossy()
                .into_owned(),
        })
    }

    fn check_disk(&self, nodes: usize) -> Result<(), ClusterError> {
        let folder = self.paths.state.clone();
        let free = machine::free_space(&folder).map_err(ClusterError::io("the state folder"))?;
        let need = Bytes(DISK_PER_NODE.0 * nodes as u64);
        if free < need {
            Err(ClusterError::NoSpace {
                nodes,
                need,
                free,
                folder,
            })
        } else {
            Ok(())
        }
    }

    /// Finds release and JDK; fetches the release when it is not in the cache.
    fn runtime(
        &self,
        request: &UpRequest,
        events: &mut dyn FnMut(Event),
    ) -> Result<(String, Runtime), ClusterError> {
        if let Some(fake) = &request.fake {
            return Ok(("5.0.9".into(), fake_runtime(fake)));
        }
        let store = Store::open(&self.paths.cache, &self.env)?;
        let explicit = request.java_home.as_deref();
        let cancel = self.cancel.flag();
        let files = match &request.source {
            Source::Known(name) => {
                let release = Release::find(name)?;
                // The JDK first: a wrong one is told before anything is fetched.
                jdk::choose(release, &jdk::find(&self.env), explicit)?;
                store.ensure(release, Arch::here(), &cancel, &mut |e| {
                    events(Event::Store(e))
                })?
            }
            Source::Home(path) => Store::from_home(path)?,
            Source::Tarball(path) => {
                store.from_tarball(path, &cancel, &mut |e| events(Event::Store(e)))?
            }
        };
        if !files.exact() {
            events(Event::Inexact {
                version: files.version.clone(),
                facts: files.release.version.to_owned(),
            });
        }
        let chosen = jdk::choose(files.release, &jdk::find(&self.env), explicit)?;
        let caution = match &chosen.verdict {
            Verdict::Works(caution) => Some(caution.clone()),
            Verdict::Supported | Verdict::Refused(_) => None,
        };
        events(Event::Jdk {
            jdk: chosen.jdk.to_string(),
            caution: caution.clone(),
            passed_over: chosen.passed_over.map(|(jdk, why)| format!("{jdk}: {why}")),
        });
        let module_flags = files.release.module_flags(chosen.jdk.feature);
        let launcher = archive::launcher(&self.paths.cache, &files.jars, &module_flags)
            .map_err(ClusterError::io("the cache folder"))?;
        let runtime = Runtime {
            java: chosen.jdk.home.join("bin/java"),
            jvm: chosen.jdk.version.clone(),
            jdk_feature: chosen.jdk.feature,
            jdk_caution: caution,
            jars: files.jars,
            launcher,
            archive: None,
            module_flags,
            fake: None,
        };
        Ok((files.version, runtime))
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
        // Written first: a stop that is cut off leaves nodes that end on request, not nodes that died.
        for node in &targets {
            state
                .nodes
                .entry(node.name.clone())
                .and_modify(|n| n.wanted = Wanted::Stopped);
        }
        self.clusters
            .save(&state)
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
        Ok(())
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
            .ok_or_else(|| ClusterError::NotRunning {
                cluster: name.into(),
                node: node.into(),
            })?;
        if signal == Signal::KILL {
            state
                .nodes
                .entry(node.to_owned())
                .and_modify(|n| n.wanted = Wanted::Stopped);
            self.clusters
                .save(&state)
                .map_err(ClusterError::io("the cluster's state"))?;
            process::end(pid, Duration::ZERO);
            remove::forget_attach(pid.as_raw_pid());
            return Ok(());
        }
        process::signal(pid, signal).map_err(ClusterError::io("the node's process"))
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

fn new_state(plan: ClusterPlan, runtime: Runtime, ephemeral: bool) -> ClusterState {
    let nodes = plan
        .nodes
        .iter()
        .map(|n| {
            (
                n.name.clone(),
                NodeState {
                    wanted: Wanted::Stopped,
                    host_id: None,
                },
            )
        })
        .collect();
    let own = rustix::process::getpid().as_raw_pid();
    let mut id = [0_u8; 16];
    let _short = rustix::rand::getrandom(&mut id, rustix::rand::GetRandomFlags::empty());
    ClusterState {
        format: Format::new("cluster", STATE_VERSION),
        id: id.iter().map(|b| format!("{b:02x}")).collect(),
        created_unix: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| d.as_secs()),
        ephemeral,
        maker: (own, started_at(own)),
        access: Access::of(&plan.folder, plan.security),
        secured: false,
        plan,
        runtime,
        nodes,
    }
}

fn fake_runtime(behaviour: &str) -> Runtime {
    Runtime {
        java: PathBuf::new(),
        jvm: "fake".into(),
        jdk_feature: 17,
        jdk_caution: None,
        jars: vec![],
        launcher: PathBuf::new(),
        archive: None,
        module_flags: vec![],
        fake: Some(behaviour.to_owned()),
    }
}

/// An error with everything that it was caused by, in one line.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}
