//! The plan of a cluster: everything that its nodes will be started with, decided before anything is touched.
//! Refuses to look at the machine: what it needs is given. A dry run prints this value.

use crate::access::Security;
use crate::format::Format;
use crate::machine::Machine;
use crate::preset::{BASE, Heap, HeapRule, Place, PresetName, Setting};
use crate::secret::{without_secrets, word_without_secrets};
use crate::topology::Topology;
use crate::units::Bytes;
use crate::yaml;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

mod facts;
mod files;
mod security;
pub use facts::facts;
pub use files::{
    GC_LOG, LOGBACK, LaunchFiles, Training, dump_argv, java_argv, launcher_manifest, rackdc,
    shapes_archive,
};

pub use security::{KEYSTORE_PASSWORD_MARK, auth_copies, without_security};

/// Version of [`ClusterPlan`] as JSON.
pub const PLAN_VERSION: u32 = 1;

/// Ports of one cluster; the same on each of its addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ports {
    /// CQL, 9042 where it can be had.
    pub cql: u16,
    /// Between nodes, 7000 where it can be had.
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

/// What a person asked for, with the facts that a plan needs.
#[derive(Debug, Clone)]
pub struct PlanRequest {
    /// Name of the cluster, to Helenus and to Cassandra.
    pub name: String,
    /// Shape.
    pub topology: Topology,
    /// Release, such as `5.0.9`.
    pub release: String,
    /// Preset.
    pub preset: PresetName,
    /// `-Xmx` instead of the preset's.
    pub heap: Option<Bytes>,
    /// `-Xmn` instead of the preset's.
    pub new_heap: Option<Bytes>,
    /// Tokens a node.
    pub tokens: u32,
    /// Checked `cassandra.yaml` keys with their values, over the preset's.
    pub set: Vec<(String, Value)>,
    /// Flags of the JVM, after all others.
    pub jvm: Vec<String>,
    /// What is asked of clients.
    pub security: Security,
    /// Machine.
    pub machine: Machine,
    /// One address a node, in the topology's order.
    pub addresses: Vec<Ipv4Addr>,
    /// Ports.
    pub ports: Ports,
    /// Absolute folder of the cluster; nodes get folders in it.
    pub folder: String,
}

/// The plan of a cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusterPlan {
    /// `helenus.cluster-plan/1`.
    pub format: Format,
    /// Name of the cluster, to Helenus and to Cassandra.
    pub name: String,
    /// Release.
    pub release: String,
    /// Preset.
    pub preset: PresetName,
    /// Heap of each node.
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
    /// Absolute folder.
    pub folder: String,
    /// Text of cassandra.yaml.
    pub yaml: String,
    /// Flags and properties of the JVM, but for class path, archive and module flags.
    pub jvm: Vec<String>,
    /// Environment beside the inherited allow-list.
    pub environment: BTreeMap<String, String>,
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
    #[error("a heap of {heap} is too small: Cassandra 5.0 dies during its start below {least}")]
    HeapTooSmall {
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
    /// More than the machine has.
    #[error("{nodes} × {heap} of heap want about {need} of memory, the machine has {has}")]
    Memory {
        /// Nodes.
        nodes: usize,
        /// Heap of each.
        heap: Bytes,
        /// Estimate for all.
        need: Bytes,
        /// Machine.
        has: Bytes,
    },
    /// Number of tokens.
    #[error("a node has 1 to 256 tokens, not {0}")]
    Tokens(u32),
    /// A key that the plan itself decides.
    #[error("{0} is decided by Helenus and cannot be set")]
    Reserved(String),
    /// A flag of the JVM that says what another flag of ours says.
    #[error("{0} would say the heap a second time")]
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
            Self::Memory { .. } => "use fewer nodes, --preset tiny, or a smaller --heap".into(),
            Self::HeapFlag(_) => "use --heap / --new-heap".into(),
            Self::Tokens(_) => "use --tokens 1, the quickest, or 16, the stock value".into(),
            Self::Reserved(key) => match key.as_str() {
                "num_tokens" | "initial_token" => "use --tokens".into(),
                "cluster_name" => "the cluster's name is the NAME of `helenus up NAME`".into(),
                _ => "leave it out; `helenus up --dry-run` shows the value".into(),
            },
        }
    }
}

/// Keys that follow from addresses, folders and tokens.
const RESERVED: [&str; 22] = [
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

/// Least heap that 5.0 starts in (40 MiB died of OutOfMemoryError during boot, 48 started).
const HEAP_LEAST: Bytes = Bytes::mib(48);

/// Flags of the JVM that `--heap` and `--new-heap` stand for.
const HEAP_FLAGS: [&str; 3] = ["-Xms", "-Xmx", "-Xmn"];

/// Memory of a node beside its heap: metaspace, code, threads, buffers (157 MB anonymous at 64 MB of heap).
const BESIDE_HEAP: Bytes = Bytes::mib(120);

/// Makes the plan of a cluster.
///
/// # Errors
/// A heap, token count or key that cannot be, or more memory than the machine has.
pub fn plan(request: &PlanRequest) -> Result<ClusterPlan, PlanError> {
    let nodes = request.topology.nodes();
    let heap = heap_of(request, nodes)?;
    if !(1..=256).contains(&request.tokens) {
        return Err(PlanError::Tokens(request.tokens));
    }
    for (key, _) in &request.set {
        let top = key.split('.').next().unwrap_or(key);
        if RESERVED.contains(&top) {
            return Err(PlanError::Reserved(key.clone()));
        }
    }
    security::check(request)?;
    let says_heap = |flag: &&String| HEAP_FLAGS.iter().any(|heap| flag.starts_with(heap));
    if let Some(flag) = request.jvm.iter().find(says_heap) {
        return Err(PlanError::HeapFlag(flag.clone()));
    }
    let need = Bytes((heap.heap.0 + BESIDE_HEAP.0) * nodes as u64);
    if need > request.machine.memory {
        let has = request.machine.memory;
        return Err(PlanError::Memory {
            nodes,
            heap: heap.heap,
            need,
            has,
        });
    }
    Ok(ClusterPlan {
        format: Format::new("cluster-plan", PLAN_VERSION),
        name: request.name.clone(),
        release: request.release.clone(),
        preset: request.preset,
        heap,
        tokens: request.tokens,
        ports: request.ports,
        folder: request.folder.clone(),
        security: request.security,
        nodes: node_plans(request, heap),
    })
}

fn heap_of(request: &PlanRequest, nodes: usize) -> Result<Heap, PlanError> {
    let rule = request.preset.preset().heap;
    let mut heap = rule.heap(&request.machine, nodes);
    if let Some(asked) = request.heap {
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
    if let Some(new) = request.new_heap {
        heap.new = Some(new);
    }
    if heap.heap < HEAP_LEAST {
        return Err(PlanError::HeapTooSmall {
            heap: heap.heap,
            least: HEAP_LEAST,
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

fn node_plans(request: &PlanRequest, heap: Heap) -> Vec<NodePlan> {
    let tokens: Vec<Vec<i64>> = request
        .topology
        .data_centers
        .iter()
        .enumerate()
        .flat_map(|(index, dc)| {
            crate::ring::even_tokens(dc.racks.len(), request.tokens as usize, index)
        })
        .collect();
    let places = request.topology.data_centers.iter().flat_map(|dc| {
        dc.racks
            .iter()
            .map(move |rack| (dc.name.clone(), rack.clone()))
    });
    places
        .zip(tokens)
        .enumerate()
        .map(|(index, ((data_center, rack), tokens))| {
            let name = format!("node{}", index + 1);
            let folder = format!("{}/{name}", request.folder);
            let address = request.addresses[index];
            let yaml = yaml::render(&cassandra_yaml(request, index, &name, &folder, &tokens));
            let jvm = jvm_flags(request, heap, address);
            let environment = settings(request.preset)
                .filter(|s| s.place == Place::Environment)
                .map(|s| (s.key.to_owned(), s.value.to_owned()))
                .collect();
            NodePlan {
                name,
                data_center,
                rack,
                address,
                tokens,
                folder,
                yaml,
                jvm,
                environment,
            }
        })
        .collect()
}

/// Base settings, then the preset's; later ones win.
fn settings(preset: PresetName) -> impl Iterator<Item = &'static Setting> {
    BASE.iter().chain(preset.preset().settings)
}

/// The seeds of node `index`: itself, without which it could not start beside the others; the next one, so
/// that every node is found at the first round of gossip; and in larger clusters the first, who knows all.
fn seeds(request: &PlanRequest, index: usize) -> String {
    let count = request.addresses.len();
    let mut wanted = vec![index, (index + 1) % count];
    if count > 3 {
        wanted.push(0);
    }
    wanted.sort_unstable();
    wanted.dedup();
    let seeds: Vec<String> = wanted
        .iter()
        .map(|k| request.addresses[*k].to_string())
        .collect();
    seeds.join(",")
}

fn cassandra_yaml(
    request: &PlanRequest,
    index: usize,
    name: &str,
    folder: &str,
    tokens: &[i64],
) -> Value {
    let mut map = Map::new();
    for setting in settings(request.preset).filter(|s| s.place == Place::Yaml) {
        let value = yaml::parse(setting.value).unwrap_or_else(|_| setting.value.into());
        set_dotted(&mut map, setting.key, value);
    }
    map.extend(security::keys(request, name));
    for (key, value) in &request.set {
        set_dotted(&mut map, key, value.clone());
    }
    let address = request.addresses[index].to_string();
    let tokens: Vec<String> = tokens.iter().map(i64::to_string).collect();
    let fixed = json!({
        "cluster_name": request.name,
        "num_tokens": request.tokens,
        "initial_token": tokens.join(","),
        "listen_address": address,
        "rpc_address": address,
        "start_native_transport": true,
        "native_transport_port": request.ports.cql,
        "storage_port": request.ports.storage,
        "data_file_directories": [format!("{folder}/data")],
        "commitlog_directory": format!("{folder}/commitlog"),
        "hints_directory": format!("{folder}/hints"),
        "saved_caches_directory": format!("{folder}/saved_caches"),
        "cdc_raw_directory": format!("{folder}/cdc_raw"),
        "seed_provider": [{
            "class_name": "org.apache.cassandra.locator.SimpleSeedProvider",
            "parameters": [{"seeds": seeds(request, index)}],
        }],
    });
    if let Value::Object(fixed) = fixed {
        map.extend(fixed);
    }
    Value::Object(map)
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

fn jvm_flags(request: &PlanRequest, heap: Heap, address: Ipv4Addr) -> Vec<String> {
    let mut flags = vec![
        format!("-Xms{}", heap.heap.jvm()),
        format!("-Xmx{}", heap.heap.jvm()),
    ];
    flags.extend(heap.new.map(|new| format!("-Xmn{}", new.jvm())));
    for setting in settings(request.preset) {
        match setting.place {
            Place::Jvm => flags.push(setting.key.to_owned()),
            Place::Property => flags.push(format!("-D{}={}", setting.key, setting.value)),
            Place::Yaml | Place::Environment => {}
        }
    }
    flags.extend(security::properties(request));
    // JMX is opened later, on demand; its stubs must then name the node's own address.
    flags.push(format!("-Djava.rmi.server.hostname={address}"));
    flags.extend(request.jvm.iter().cloned());
    flags
}

#[cfg(test)]
mod tests;
