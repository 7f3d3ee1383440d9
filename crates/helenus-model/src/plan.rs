//! The plan of a cluster: everything that its nodes will be started with, decided before anything is touched.
//! Refuses to look at the machine: what it needs is given. A dry run prints this value.

use crate::access::Security;
use crate::format::Format;
use crate::machine::Machine;
use crate::memory::{LimitPlan, MemoryPlan};
use crate::network::NetworkPlan;
use crate::preset::{Heap, HeapRule, Place, PresetName, TIMER_SLACK_US, Written, sizes, written};
use crate::release::{KeyError, Release};
use crate::secret::{without_secrets, word_without_secrets};
use crate::units::{Bytes, lacking};
use crate::yaml;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

mod change;
mod collector;
mod disk;
pub(crate) mod facts;
mod files;
mod join;
mod memtable;
mod own;
mod places;
mod room;
mod security;
mod settings;
mod spec;
mod spot;
pub use change::AUTHENTICATOR;
pub(crate) use collector::COLLECTORS;
pub use facts::facts;
pub use files::{
    GC_LOG, LOGBACK, LaunchFiles, Training, dump_argv, file_url, java_argv, launcher_manifest,
    rackdc, shapes_archive,
};
pub use join::{JoinError, Joining, Newcomer};
pub use own::{NodeWords, OwnPlan};
pub(crate) use places::{COORDINATOR, own_keys};
pub(crate) use security::TOP_KEYS;
pub use spec::ClusterSpec;
pub use spot::{Folders, Pin};

pub use security::{KEYSTORE_PASSWORD_MARK, STOCK_IS_OPEN, auth_copies, without_security};

/// Version of [`ClusterPlan`] as JSON.
pub const PLAN_VERSION: u32 = 2;

/// Ports of one cluster; the same on each of its addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ports {
    /// CQL, 9042 if it is free.
    pub cql: u16,
    /// Between nodes, 7000 if it is free.
    pub storage: u16,
    /// JMX, opened on demand only; 7199 where it can be had.
    pub jmx: u16,
}

/// The standard ports.
pub const STANDARD_PORTS: Ports = Ports {
    cql: 9042,
    storage: 7000,
    jmx: 7199,
};

impl Ports {
    /// The standard ports, then the same moved up by 10,000, 20,000 … where those cannot be had.
    pub fn candidates() -> impl Iterator<Item = Ports> {
        (0..5).map(|k| Ports {
            cql: STANDARD_PORTS.cql + k * 10_000,
            storage: STANDARD_PORTS.storage + k * 10_000,
            jmx: STANDARD_PORTS.jmx + k * 10_000,
        })
    }
}

/// A cluster with the facts that its plan needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanRequest {
    /// The cluster.
    #[serde(flatten)]
    pub spec: ClusterSpec,
    /// Release, such as `5.0.9`.
    pub release: String,
    /// Machine.
    pub machine: Machine,
    /// One address a node, in the topology's order.
    pub addresses: Vec<Ipv4Addr>,
    /// Ports.
    pub ports: Ports,
    /// Absolute folder of the cluster; nodes get folders in it.
    pub folder: String,
    /// Memory that these nodes may be planned into: free now, and not reserved.
    pub available: Bytes,
    /// The cluster's own network, where it has one.
    pub network: Option<NetworkPlan>,
}

/// The plan of a cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusterPlan {
    /// `helenus.cluster-plan/2`.
    pub format: Format,
    /// Name of the cluster, to Helenus and to Cassandra.
    pub name: String,
    /// Release.
    pub release: String,
    /// Preset.
    pub preset: PresetName,
    /// Heap of each node that has no preset of its own.
    pub heap: Heap,
    /// Tokens a node.
    pub tokens: u32,
    /// Ports of every node.
    pub ports: Ports,
    /// Folder of the cluster.
    pub folder: String,
    /// What is asked of clients.
    #[serde(default, skip_serializing_if = "Security::is_open")]
    pub security: Security,
    /// Nodes in the topology's order.
    pub nodes: Vec<NodePlan>,
    /// The cluster's own network, where it has one; else its nodes live on loopback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkPlan>,
    /// The interface of this machine that has the nodes' addresses; absent where these are on loopback, or were there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// Memory of each node by kind; absent in plans of version 1.
    #[serde(default)]
    pub memory: Option<MemoryPlan>,
    /// Hard limits of each node; absent where none is asked, and in plans of version 1.
    #[serde(default)]
    pub limits: Option<LimitPlan>,
}

/// The plan of one node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodePlan {
    /// `node1`, `node2` ….
    pub name: String,
    /// Data centre.
    pub data_center: String,
    /// Rack.
    pub rack: String,
    /// Address of all its listeners.
    pub address: Ipv4Addr,
    /// Agreed before the start.
    pub tokens: Vec<i64>,
    /// Whether it only coordinates: it owns no token, and its peers do not list it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub coordinator: bool,
    /// Absolute folder.
    pub folder: String,
    /// Size of its own disk in memory, mounted below its folder; absent where it writes to the machine's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<Bytes>,
    /// Its folders on other disks; absent where its data are in its own folder.
    #[serde(default, skip_serializing_if = "Folders::is_none")]
    pub folders: Folders,
    /// What its process may use; absent where that is everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<Pin>,
    /// Text of cassandra.yaml.
    pub yaml: String,
    /// Flags and properties of the JVM, but for class path, archive and module flags.
    pub jvm: Vec<String>,
    /// Environment beside the inherited allow-list.
    pub environment: BTreeMap<String, String>,
    /// How late the kernel may wake its threads, in microseconds; the kernel's own 50 where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer_slack_us: Option<u64>,
    /// What it has of another preset than the cluster's, or for another disk; absent in all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<OwnPlan>,
}

impl ClusterPlan {
    /// The plan as it may be kept: without the secrets that `--set` and `--jvm` brought in.
    #[must_use]
    pub fn without_secrets(&self) -> Self {
        let mut plan = self.clone();
        for node in &mut plan.nodes {
            node.yaml = without_secrets(&node.yaml);
            for flag in &mut node.jvm {
                *flag = word_without_secrets(flag);
            }
        }
        plan
    }
}

/// Why no plan can be made.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PlanError {
    /// The heap is below what the release starts in.
    #[error(
        "a heap of {heap} is too small: Cassandra {series} dies during its start below {least}"
    )]
    HeapTooSmall {
        /// The release's series.
        series: &'static str,
        /// Asked for.
        heap: Bytes,
        /// Least.
        least: Bytes,
    },
    /// Young generation not below the heap.
    #[error("a young generation of {new} does not fit a heap of {heap}")]
    NewTooLarge {
        /// Asked for.
        new: Bytes,
        /// Heap.
        heap: Bytes,
    },
    /// More than the machine has free.
    #[error(
        "{nodes} × {each} (of which heap {heap}) need {}", lacking(*need, *has)
    )]
    Memory {
        /// Nodes, of all clusters that were asked for.
        nodes: u64,
        /// Plan of each.
        each: Bytes,
        /// Heap of each.
        heap: Bytes,
        /// Plan of all.
        need: Bytes,
        /// Free, and not reserved.
        has: Bytes,
        /// What would fit, in words.
        largest: String,
    },
    /// The same, where nodes differ.
    #[error("{nodes} ({each}) need {}", lacking(*need, *has))]
    MixedMemory {
        /// How many nodes there are, in words.
        nodes: String,
        /// Plan of each preset, in words.
        each: String,
        /// Plan of all.
        need: Bytes,
        /// Free, and not reserved.
        has: Bytes,
    },
    /// A hard limit that the plan of a node does not fit.
    #[error("a limit of {asked} is below the planned memory of a node, {least}")]
    Limit {
        /// Asked for.
        asked: Bytes,
        /// Plan.
        least: Bytes,
    },
    /// A disk that is too small to begin on.
    #[error(
        "a disk of {asked} is too small for {node}: it needs {least} for three commit log segments of {segment}, the system tables and the space that Cassandra keeps free"
    )]
    Disk {
        /// Node.
        node: String,
        /// Asked for.
        asked: Bytes,
        /// Least.
        least: Bytes,
        /// Of the commit log.
        segment: Bytes,
    },
    /// No such number of processors.
    #[error("a node can have 0.1 to {cores} processors here, not {asked}")]
    Cpus {
        /// Asked for, in tenths or more exactly.
        asked: String,
        /// The machine's.
        cores: u32,
    },
    /// Number of tokens.
    #[error("a node has 1 to 256 tokens, not {0}")]
    Tokens(u32),
    /// A key that the plan itself decides.
    #[error("{0} is set by Helenus and cannot be changed")]
    Reserved(String),
    /// Settings that a node does not start with together.
    #[error("Cassandra does not start with this {key}: {why}")]
    Clash {
        /// One of them.
        key: String,
        /// Why.
        why: String,
    },
    /// A key or value that the release does not take.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// No flag of the JVM.
    #[error("{0:?} is not a JVM flag: those start with -")]
    NoFlag(String),
    /// A flag of the JVM that says what another flag of ours says.
    #[error("{0} conflicts with the heap that Helenus sets")]
    HeapFlag(String),
}

impl PlanError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::HeapTooSmall { least, .. } => format!("use --heap {} or more", least.jvm()),
            Self::NewTooLarge { heap, .. } => {
                format!("use --new-heap {}M or less", heap.as_mib() / 2)
            }
            Self::Memory { largest, .. } => largest.clone(),
            Self::MixedMemory { .. } => {
                "use fewer nodes, or a smaller preset or disk for some of them".into()
            }
            Self::Limit { least, .. } => format!(
                "use --memory {}M or more, or a smaller --heap",
                least.0.div_ceil(1 << 20)
            ),
            Self::Disk { least, .. } => {
                format!("use --disk {}M or more", least.0.div_ceil(1 << 20))
            }
            Self::Cpus { .. } => "use a number such as --cpus 0.5 or --cpus 2".into(),
            Self::Key(error) => error.hint(),
            Self::Clash { key, .. } => match key.as_str() {
                "max_mutation_size" | "max_mutation_size_in_kb" => {
                    "make the segments larger as well: --set commitlog_segment_size=32MiB".into()
                }
                _ => format!("leave {key} out, or set the other one as well"),
            },
            Self::HeapFlag(_) => "use --heap / --new-heap".into(),
            Self::NoFlag(flag) => {
                format!("write --jvm=-{flag}, or --jvm=-Dname=value for a property")
            }
            Self::Tokens(_) => "use --tokens 1, the fastest, or 16, the stock value".into(),
            Self::Reserved(key) => match key.as_str() {
                "num_tokens" | "initial_token" => "use --tokens".into(),
                _ if key.starts_with("client_encryption_options") => {
                    "use `helenus up --tls`".into()
                }
                "cluster_name" => "the cluster's name is the NAME of `helenus up NAME`".into(),
                _ => "leave it out; `helenus up --dry-run` shows the value".into(),
            },
        }
    }
}

/// Keys that follow from addresses, folders and tokens.
pub(crate) const RESERVED: [&str; 22] = [
    "cluster_name",
    "num_tokens",
    "initial_token",
    "seed_provider",
    "listen_address",
    "listen_interface",
    "broadcast_address",
    "rpc_address",
    "rpc_interface",
    "broadcast_rpc_address",
    "native_transport_port",
    "start_native_transport",
    "storage_port",
    "ssl_storage_port",
    "data_file_directories",
    "commitlog_directory",
    "hints_directory",
    "saved_caches_directory",
    "cdc_raw_directory",
    "local_system_data_file_directory",
    "endpoint_snitch",
    "auto_bootstrap",
];

/// Flags of the JVM that `--heap` and `--new-heap` stand for.
const HEAP_FLAGS: [&str; 3] = ["-Xms", "-Xmx", "-Xmn"];

/// Makes the plan of a cluster.
///
/// # Errors
/// A heap, token count or key that cannot be, or more memory than the machine has.
pub fn plan(request: &PlanRequest) -> Result<ClusterPlan, PlanError> {
    let release = release(request);
    let heap = own::heap(request, None, request.spec.preset, release)?;
    room::check_cpus(request)?;
    if !(1..=256).contains(&request.spec.tokens) {
        return Err(PlanError::Tokens(request.spec.tokens));
    }
    let by_node = request.spec.by_node.iter().flat_map(|words| &words.set);
    for (key, _) in request.spec.set.iter().chain(by_node) {
        let top = key.split('.').next().unwrap_or(key);
        if RESERVED.contains(&top) {
            return Err(PlanError::Reserved(key.clone()));
        }
    }
    security::check(request)?;
    let set = settings::own(request, release)?;
    let says_heap = |flag: &&String| HEAP_FLAGS.iter().any(|heap| flag.starts_with(heap));
    let by_node = request.spec.by_node.iter().flat_map(|words| &words.jvm);
    if let Some(flag) = request.spec.jvm.iter().chain(by_node).find(says_heap) {
        return Err(PlanError::HeapFlag(flag.clone()));
    }
    let by_node = request.spec.by_node.iter().flat_map(|words| &words.jvm);
    if let Some(flag) = request
        .spec
        .jvm
        .iter()
        .chain(by_node)
        .find(|f| !f.starts_with(['-', '@']))
    {
        return Err(PlanError::NoFlag(flag.clone()));
    }
    settings::check_clashes(request, release, &set)?;
    let mut nodes = node_plans(request, release, heap, &set)?;
    disk::check(&nodes)?;
    let memory = room::memory(request, &nodes, heap.heap);
    let limits = room::check(request, &mut nodes, heap.heap, memory)?;
    Ok(ClusterPlan {
        format: Format::new("cluster-plan", PLAN_VERSION),
        name: request.spec.name.clone(),
        release: request.release.clone(),
        preset: request.spec.preset,
        heap,
        tokens: request.spec.tokens,
        ports: request.ports,
        folder: request.folder.clone(),
        security: request.spec.security,
        nodes,
        network: request.network.clone(),
        interface: None,
        memory: Some(memory),
        limits,
    })
}

/// The facts of the release: its own, or those of its series; of one that is not known yet, the newest's.
fn release(request: &PlanRequest) -> &'static Release {
    Release::facts_for(&request.release).unwrap_or(Release::newest())
}

/// The heap by its preset; `asked` and `new` are what a person said of it and of the young generation.
fn heap_of(
    request: &PlanRequest,
    (asked, new): (Option<Bytes>, Option<Bytes>),
    preset: PresetName,
    release: &Release,
    nodes: usize,
) -> Result<Heap, PlanError> {
    let rule = preset.preset().heap;
    let mut heap = rule.heap(&request.machine, nodes);
    if let Some(asked) = asked {
        // The preset's proportion of young to old is kept where only the heap is given.
        let new = match rule {
            HeapRule::Fixed { heap_mib, new_mib } => asked.as_mib() * new_mib / heap_mib,
            HeapRule::ByMachine { .. } => asked.as_mib() / 4,
        };
        heap = Heap {
            heap: asked,
            new: Some(Bytes::mib(new.max(1))),
        };
    }
    if collector::sizes_young(&request.spec.jvm) {
        heap.new = None;
    }
    if let Some(new) = new {
        heap.new = Some(new);
    }
    let least = Bytes::mib(release.heap_least_mib);
    if heap.heap < least {
        return Err(PlanError::HeapTooSmall {
            series: release.series,
            heap: heap.heap,
            least,
        });
    }
    match heap.new {
        Some(new) if new.0 * 10 > heap.heap.0 * 9 => Err(PlanError::NewTooLarge {
            new,
            heap: heap.heap,
        }),
        _ => Ok(heap),
    }
}

fn node_plans(
    request: &PlanRequest,
    release: &Release,
    of_cluster: Heap,
    set: &[(String, Value)],
) -> Result<Vec<NodePlan>, PlanError> {
    let nodes = places::tokens(request).into_iter().enumerate();
    nodes
        .map(|(index, (place, tokens))| {
            let preset = own::preset(request, index);
            let heap = own::heap(request, Some(index), preset, release)?;
            let written = &match request.spec.like {
                true => sizes(preset, release),
                false => written(preset, release),
            };
            let name = format!("node{}", index + 1);
            // Evenly spread tokens are Murmur3's; with another partitioner Cassandra draws its own.
            let tokens = if is_murmur3(request) { tokens } else { vec![] };
            let folder = format!("{}/{name}", request.folder);
            let disk = disk::of(request, index);
            let own = request.spec.by_node.get(index);
            let folders = own.and_then(|own| own.folders.as_ref());
            let folders = folders.unwrap_or(&request.spec.folders);
            let folders = folders.of(&request.spec.name, &name);
            let storage = disk::storage(&folder, disk, &folders);
            let address = request.addresses[index];
            let security: Vec<(String, Value)> =
                security::keys(request, &name).into_iter().collect();
            let own_set = own.map(|own| own.set.as_slice()).unwrap_or_default();
            let persons: Vec<&(String, Value)> = set.iter().chain(own_set).collect();
            let policy = disk::policy(disk, request.spec.like);
            let settings = policy
                .iter()
                .chain(
                    own_of(written, Place::Yaml).filter(|own| settings::goes_with(own, &persons)),
                )
                .chain(&security)
                .chain(persons.iter().copied());
            let places = (storage.as_str(), &folders);
            let yaml = yaml::render(&cassandra_yaml(request, settings, index, places, &tokens));
            let mut jvm = jvm_flags(request, written, heap, address);
            jvm.extend(own.map(|own| own.jvm.clone()).unwrap_or_default());
            collector::one(&mut jvm);
            if place.coordinator {
                jvm.push(places::COORDINATOR.to_owned());
            }
            let environment = own_of(written, Place::Environment)
                .map(|(key, value)| (key.clone(), text(value)))
                .collect();
            let timer_slack_us = own_of(written, Place::Process)
                .filter(|(key, _)| key == TIMER_SLACK_US)
                .find_map(|(_, value)| text(value).parse().ok());
            let mut node = NodePlan {
                name,
                data_center: request.spec.topology.data_centers[place.data_center]
                    .name
                    .clone(),
                rack: place.rack,
                address,
                tokens,
                coordinator: place.coordinator,
                folder,
                disk,
                folders,
                pin: own.and_then(|own| own.pin.clone()),
                yaml,
                jvm,
                environment,
                timer_slack_us,
                own: None,
            };
            node.own = own::of(request, preset, (heap, of_cluster), &node);
            Ok(node)
        })
        .collect()
}

/// The settings that go to that place, as the release writes them.
fn own_of(written: &[Written], place: Place) -> impl Iterator<Item = &(String, Value)> {
    let there = written.iter().filter(move |w| w.setting.place == place);
    there.filter_map(|w| w.own.as_ref())
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn cassandra_yaml<'a>(
    request: &PlanRequest,
    settings: impl Iterator<Item = &'a (String, Value)>,
    index: usize,
    (storage, folders): (&str, &Folders),
    tokens: &[i64],
) -> Value {
    let mut map = Map::new();
    for (key, value) in settings {
        set_dotted(&mut map, key, value.clone());
    }
    memtable::resolve(&mut map);
    let address = request.addresses[index].to_string();
    let tokens: Vec<String> = tokens.iter().map(i64::to_string).collect();
    let seeds = places::seeds(&places::planned(request), index);
    map.extend(own_keys(
        (&request.spec.name, request.spec.tokens),
        (&address, &address),
        request.ports,
        storage,
        &seeds,
    ));
    let data = spot::data_folders(folders, storage);
    map.insert("data_file_directories".into(), data.into());
    let commitlog = spot::commitlog(folders, storage);
    map.insert("commitlog_directory".into(), commitlog.into());
    if !tokens.is_empty() {
        map.insert("initial_token".into(), tokens.join(",").into());
    }
    Value::Object(map)
}

/// Whether the tokens of this cluster are Murmur3's, as they are by default.
fn is_murmur3(request: &PlanRequest) -> bool {
    let mut set = request.spec.set.iter().rev();
    set.find(|(key, _)| key == "partitioner")
        .and_then(|(_, value)| value.as_str())
        .is_none_or(|name| name.ends_with("Murmur3Partitioner"))
}

/// Sets `a.b.c` in nested maps, replacing what is no map on the way.
fn set_dotted(map: &mut Map<String, Value>, key: &str, value: Value) {
    match key.split_once('.') {
        None => {
            map.insert(key.to_owned(), value);
        }
        Some((head, rest)) => {
            let inner = map.entry(head).or_insert_with(|| Value::Object(Map::new()));
            if !inner.is_object() {
                *inner = Value::Object(Map::new());
            }
            if let Value::Object(inner) = inner {
                set_dotted(inner, rest, value);
            }
        }
    }
}

fn jvm_flags(
    request: &PlanRequest,
    written: &[Written],
    heap: Heap,
    address: Ipv4Addr,
) -> Vec<String> {
    let mut flags = vec![
        format!("-Xms{}", heap.heap.jvm()),
        format!("-Xmx{}", heap.heap.jvm()),
    ];
    flags.extend(heap.new.map(|new| format!("-Xmn{}", new.jvm())));
    flags.extend(request.spec.cpus.into_iter().flat_map(room::cpu_flags));
    for setting in written {
        match (setting.setting.place, &setting.own) {
            (Place::Jvm, Some((flag, _))) => flags.push(flag.clone()),
            (Place::Property, Some((key, value))) => flags.push(format!("-D{key}={}", text(value))),
            _ => {}
        }
    }
    flags.extend(security::properties(request));
    // JMX is opened later, on demand; its stubs must then name the node's own address.
    flags.push(format!("-Djava.rmi.server.hostname={address}"));
    flags.extend(request.spec.jvm.iter().cloned());
    flags
}

#[cfg(test)]
mod tests;
