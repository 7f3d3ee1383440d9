//! A planned cluster as Kubernetes holds it: a namespace and services per data centre, a StatefulSet per
//! rack, a pod per node.
//! Refuses to decide anything about Cassandra: the cluster's plan has done it.

use super::names::{LABEL_MAX, SET_NAME_MAX, label, twice};
use super::options::{KubeError, Options};
use super::pod::{DATA_FOLDER, POD_IP_MARK, SEEDS_MARK, STORES_FOLDER, TLS_FOLDER, yaml_elsewhere};
use crate::memory::MemoryPlan;
use crate::plan::{ClusterPlan, NodePlan, own_keys};
use crate::preset::{Heap, PresetName};
use crate::units::Bytes;
use crate::yaml;
use std::collections::BTreeMap;

/// The domain that clusters have where nobody chose another.
const DOMAIN: &str = "cluster.local";

/// A data centre.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Center {
    /// Its name, as Cassandra has it.
    pub(crate) name: String,
    /// Its name in names.
    pub(crate) label: String,
    /// Namespace.
    pub(crate) namespace: String,
    /// Headless service: the names of the pods.
    pub(crate) service: String,
    /// Headless service of the seeds.
    pub(crate) seeds: String,
    /// Service of the clients.
    pub(crate) clients: String,
}

/// Pods that are alike: those of a rack, with the same settings.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Set {
    /// Name of the StatefulSet; its pods are `NAME-0`, `NAME-1` ….
    pub(crate) name: String,
    /// Number of its data centre.
    pub(crate) center: usize,
    /// Rack, as Cassandra has it.
    pub(crate) rack: String,
    /// Whether its pods only coordinate.
    pub(crate) coordinator: bool,
    /// Tokens of each pod.
    pub(crate) tokens: Vec<Vec<i64>>,
    /// cassandra.yaml, with marks where a pod's own values go.
    pub(crate) yaml: String,
    /// Flags of the JVM.
    pub(crate) jvm: Vec<String>,
    /// Environment.
    pub(crate) environment: BTreeMap<String, String>,
    /// How late the kernel may wake its threads, in microseconds.
    pub(crate) timer_slack_us: Option<u64>,
    /// Heap.
    pub(crate) heap: Heap,
    /// Preset.
    pub(crate) preset: PresetName,
    /// Memory by kind.
    pub(crate) memory: MemoryPlan,
}

impl Set {
    /// How many pods there are.
    pub(crate) fn replicas(&self) -> u32 {
        u32::try_from(self.tokens.len()).unwrap_or(u32::MAX)
    }

    /// The memory that a pod asks for: its plan.
    pub(crate) fn memory_request(&self) -> Bytes {
        whole_mib(self.memory.total())
    }

    /// The memory above which it is killed.
    pub(crate) fn memory_limit(&self, page_cache: Bytes) -> Bytes {
        whole_mib(self.memory.bound + page_cache)
    }

    /// Processors that a pod asks for.
    pub(crate) fn cpu_request(&self, options: &Options) -> f64 {
        let by_preset = match self.preset {
            PresetName::Tiny | PresetName::Doc001 => 0.1,
            PresetName::Dev => 0.5,
            PresetName::Bench => 1.0,
        };
        options.cpu_request.unwrap_or(by_preset)
    }
}

/// The whole cluster.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Layout {
    /// Name of the cluster in names.
    pub(crate) label: String,
    /// Data centres, in order.
    pub(crate) centers: Vec<Center>,
    /// StatefulSets, in order.
    pub(crate) sets: Vec<Set>,
}

impl Layout {
    /// Lays a planned cluster out.
    ///
    /// # Errors
    /// Two data centres or racks that become one name.
    pub(crate) fn of(plan: &ClusterPlan, options: &Options) -> Result<Self, KubeError> {
        let cluster = label(&[&plan.name], LABEL_MAX);
        let mut names: Vec<&str> = Vec::new();
        for node in &plan.nodes {
            if !names.contains(&node.data_center.as_str()) {
                names.push(&node.data_center);
            }
        }
        let several = names.len() > 1;
        let center = |name: &&str| {
            let own = |more: &[&str]| {
                let words: Vec<&str> = [&plan.name, *name]
                    .into_iter()
                    .chain(more.iter().copied())
                    .collect();
                label(&words, LABEL_MAX)
            };
            let namespace = match &options.namespace {
                Some(all) => all.clone(),
                None if several => own(&[]),
                None => cluster.clone(),
            };
            Center {
                name: (*name).to_owned(),
                label: label(&[name], LABEL_MAX),
                namespace,
                service: own(&[]),
                seeds: own(&["seed"]),
                clients: own(&["client"]),
            }
        };
        let centers: Vec<Center> = names.iter().map(center).collect();
        let stores = match options.tls_secret {
            None => TLS_FOLDER,
            Some(_) => STORES_FOLDER,
        };
        let mut sets: Vec<Set> = Vec::new();
        for node in &plan.nodes {
            let own = set_of(plan, node, (&names, stores));
            match sets.iter_mut().find(|set| alike(set, &own)) {
                Some(set) => set.tokens.push(node.tokens.clone()),
                None => sets.push(own),
            }
        }
        number_twins(&mut sets);
        let of_center = |c: &Center| [c.service.clone(), c.seeds.clone(), c.clients.clone()];
        let all: Vec<String> = centers.iter().flat_map(of_center).collect();
        let all = all.iter().chain(sets.iter().map(|set| &set.name));
        if let Some(name) = twice(all.map(String::as_str)) {
            return Err(KubeError::SameName(name.to_owned()));
        }
        Ok(Self {
            label: cluster,
            centers,
            sets,
        })
    }

    /// Namespaces, each once, in order.
    pub(crate) fn namespaces(&self) -> Vec<&str> {
        let mut all: Vec<&str> = Vec::new();
        for center in &self.centers {
            if !all.contains(&center.namespace.as_str()) {
                all.push(&center.namespace);
            }
        }
        all
    }

    /// The names under which any pod finds the seeds, by the resolver's own search list.
    pub(crate) fn seed_names(&self) -> Vec<String> {
        let of = |center: &Center| format!("{}.{}.svc", center.seeds, center.namespace);
        self.centers.iter().map(of).collect()
    }

    /// The names under which any pod finds all pods.
    pub(crate) fn peer_names(&self) -> Vec<String> {
        let of = |center: &Center| format!("{}.{}.svc", center.service, center.namespace);
        self.centers.iter().map(of).collect()
    }

    /// The names for which the certificate of the pods in a namespace is. The first is the cluster's: who dials a pod by
    /// its address, which nobody knew before, asks for that one.
    pub(crate) fn certificate_names(&self, namespace: &str) -> Vec<String> {
        let mut names = vec![self.label.clone()];
        let own = self.centers.iter().filter(|c| c.namespace == namespace);
        for center in own {
            let name = |service: &str| format!("{service}.{namespace}.svc");
            let clients = &center.clients;
            names.extend([clients.clone(), format!("{clients}.{namespace}")]);
            let pods = format!("*.{}", name(&center.service));
            for name in [name(clients), name(&center.service), pods] {
                names.extend([format!("{name}.{DOMAIN}"), name]);
            }
        }
        names
    }

    /// How many pods there are.
    pub(crate) fn pods(&self) -> u32 {
        self.sets.iter().map(Set::replicas).sum()
    }
}

/// The set of a node alone.
fn set_of(plan: &ClusterPlan, node: &NodePlan, (names, stores): (&[&str], &str)) -> Set {
    let center = names.iter().position(|name| *name == node.data_center);
    let mut words = vec![plan.name.as_str(), &node.data_center, &node.rack];
    if node.coordinator {
        words.push("coordinator");
    }
    let heap = plan.heap_of(node);
    let memory = plan.memory_of(node).unwrap_or_else(|| {
        let yaml = yaml::parse(&node.yaml).unwrap_or_default();
        MemoryPlan::of(heap.heap, &yaml, &node.jvm, true)
    });
    Set {
        name: label(&words, SET_NAME_MAX),
        center: center.unwrap_or_default(),
        rack: node.rack.clone(),
        coordinator: node.coordinator,
        tokens: vec![node.tokens.clone()],
        yaml: pod_yaml(plan, node, stores),
        jvm: pod_jvm(node),
        environment: node.environment.clone(),
        timer_slack_us: node.timer_slack_us,
        heap,
        preset: plan.preset_of(node),
        memory,
    }
}

/// Whether pods differ in their names and tokens only.
fn alike(a: &Set, b: &Set) -> bool {
    let same = Set {
        name: a.name.clone(),
        tokens: a.tokens.clone(),
        ..b.clone()
    };
    *a == same
}

/// Sets of one rack that differ in their settings get numbers: `…-rack1`, `…-rack1-2`.
fn number_twins(sets: &mut [Set]) {
    for at in 0..sets.len() {
        let place = |set: &Set| (set.center, set.rack.clone(), set.coordinator);
        let before = sets[..at]
            .iter()
            .filter(|set| place(set) == place(&sets[at]));
        let number = before.count() + 1;
        if number > 1 {
            sets[at].name = label(&[&sets[at].name, &number.to_string()], SET_NAME_MAX);
        }
    }
}

/// A node's cassandra.yaml with marks where the pod's own address and the seeds go, and the folders of the image; keystores
/// are in `stores`.
fn pod_yaml(plan: &ClusterPlan, node: &NodePlan, stores: &str) -> String {
    yaml_elsewhere(&node.yaml, stores, |map| {
        map.remove("initial_token");
        // Clients may also come by the pod's loopback, as those of `kubectl port-forward` do.
        map.extend(own_keys(
            (&plan.name, plan.tokens),
            (POD_IP_MARK, "0.0.0.0"),
            plan.ports,
            DATA_FOLDER,
            SEEDS_MARK,
        ));
        map.insert("broadcast_rpc_address".to_owned(), POD_IP_MARK.into());
    })
}

/// A node's flags of the JVM: JMX is the pod's own affair, on its loopback.
fn pod_jvm(node: &NodePlan) -> Vec<String> {
    const RMI_NAME: &str = "-Djava.rmi.server.hostname=";
    let flag = |flag: &String| match flag.starts_with(RMI_NAME) {
        true => format!("{RMI_NAME}127.0.0.1"),
        false => flag.clone(),
    };
    node.jvm.iter().map(flag).collect()
}

fn whole_mib(size: Bytes) -> Bytes {
    Bytes::mib(size.0.div_ceil(1 << 20))
}
