//! The same cluster for K8ssandra's operators: a `K8ssandraCluster`, or one `CassandraDatacenter` per data centre.
//! Refuses what the operators decide by themselves: addresses, folders, tokens, seeds, passwords.

use super::layout::{Center, Set};
use super::operated::{operator_service, operator_set};
use super::options::{KubeError, Options, Spread};
use super::plain::{Cluster, resource};
use super::render::PodSet;
use super::stateful::{quantity, resources, tls_secret};
use crate::plan::{COLLECTORS, RESERVED, TOP_KEYS};
use crate::units::Bytes;
use crate::yaml;
use crate::yaml::document::Mapping;
use serde_json::{Map, Value};

/// Options of encryption: a manifest says whether; the stores come from a Secret.
const ENCRYPTION: [&str; 2] = ["client_encryption_options", "server_encryption_options"];

/// Options of encryption that come from the Secret with the stores.
const OF_STORES: [&str; 5] = [
    "keystore",
    "keystore_password",
    "truststore",
    "truststore_password",
    "store_type",
];

/// Beginnings of JVM flags that the operators set, or that presume tokens that were agreed before the start.
const FLAGS_OF_OPERATOR: [&str; 10] = [
    "-Xms",
    "-Xmx",
    "-Xmn",
    "-ea",
    "-Djava.rmi.server.hostname=",
    "-Dcassandra.allow_unsafe_join=",
    "-Dcassandra.load_ring_state=",
    "-Dcassandra.skip_wait_for_gossip_to_settle=",
    "-Dcassandra.superuser_setup_delay_ms=",
    "-Dcassandra.system_auth.default_rf=",
];

/// Memory of the management API beside Cassandra.
const MANAGEMENT_HEAP: Bytes = Bytes::mib(64);

/// What the JVM of the management API comes to beside its heap.
const MANAGEMENT_BESIDE: Bytes = Bytes::mib(128);

/// Tokens a node where nobody can agree on them before the start.
const TOKENS: u32 = 16;

/// The nodes of a data centre.
struct Nodes<'a> {
    center: &'a Center,
    /// One whose settings all have.
    first: &'a Set,
    /// Those with data.
    data: Vec<&'a Set>,
    /// Those that only coordinate.
    coordinators: Vec<&'a Set>,
}

impl Nodes<'_> {
    fn size(&self) -> u32 {
        self.data.iter().map(|set| set.replicas()).sum()
    }

    fn rack_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for set in &self.data {
            if !names.contains(&set.rack.as_str()) {
                names.push(&set.rack);
            }
        }
        names
    }

    fn racks(&self, options: &Options) -> Vec<Mapping> {
        let rack = |name: &&str| {
            let rack = Mapping::new().set("name", *name);
            match &options.worker_label {
                None => rack,
                Some(label) => rack.why(
                    format!(
                        "workers of this data centre: kubectl label node WORKER {label}={}",
                        self.center.name
                    ),
                    "nodeAffinityLabels",
                    Mapping::new().set(label.as_str(), self.center.name.as_str()),
                ),
            }
        };
        self.rack_names().iter().map(rack).collect()
    }
}

impl Cluster<'_> {
    /// The StatefulSets that cass-operator makes of the cluster: one per rack, the nodes of a data centre spread evenly.
    ///
    /// # Errors
    /// Nodes that differ within a data centre.
    pub(super) fn operated_sets(&self, form: &'static str) -> Result<Vec<PodSet>, KubeError> {
        let centers = self.centers(form)?;
        let cluster = &self.plan.name;
        let all = centers.iter().flat_map(|nodes| {
            let (center, racks) = (nodes.center, nodes.rack_names());
            let memory_limit = with_management(nodes.first).memory_limit(self.options.page_cache);
            let of = racks.len().max(1) as u32;
            let set = |(place, rack): (usize, &&str)| PodSet {
                name: operator_set(cluster, &center.label, rack),
                namespace: center.namespace.clone(),
                data_center: center.name.clone(),
                rack: (*rack).to_owned(),
                coordinator: false,
                replicas: nodes.size() / of + u32::from((place as u32) < nodes.size() % of),
                clients: operator_service(cluster, &center.label),
                memory_limit,
            };
            racks.iter().enumerate().map(set).collect::<Vec<_>>()
        });
        Ok(all.collect())
    }

    fn centers(&self, form: &'static str) -> Result<Vec<Nodes<'_>>, KubeError> {
        let mut all = Vec::new();
        for (index, center) in self.layout.centers.iter().enumerate() {
            let of = |coordinator: bool| {
                let sets = self.layout.sets.iter();
                let sets = sets.filter(|set| set.center == index);
                sets.filter(move |set| set.coordinator == coordinator)
                    .collect::<Vec<_>>()
            };
            let (data, coordinators) = (of(false), of(true));
            let Some(first) = data.first().or(coordinators.first()).copied() else {
                continue;
            };
            let alike = |set: &Set| {
                (&set.yaml, &set.jvm, set.heap) == (&first.yaml, &first.jvm, first.heap)
            };
            if !data.iter().all(|set| alike(set)) {
                return Err(KubeError::Cannot {
                    form,
                    what: format!("nodes of {} with different settings", center.name),
                    hint: "give the whole data centre those settings, or use --as plain",
                });
            }
            all.push(Nodes {
                center,
                first,
                data,
                coordinators,
            });
        }
        Ok(all)
    }

    /// The `K8ssandraCluster`.
    ///
    /// # Errors
    /// Nodes that differ within a data centre, coordinators that Stargate cannot be, a context for nothing.
    pub(super) fn k8ssandra(&self) -> Result<Mapping, KubeError> {
        let options = self.options;
        let centers = self.centers("a K8ssandraCluster")?;
        let known = || {
            self.layout
                .centers
                .iter()
                .map(|c| c.name.clone())
                .collect::<Vec<_>>()
        };
        if let Some(name) = options.contexts.keys().find(|name| !known().contains(name)) {
            return Err(KubeError::NoDataCenter {
                name: name.clone(),
                known: known(),
            });
        }
        let configs: Vec<Config> = centers
            .iter()
            .map(|nodes| self.config(nodes.first))
            .collect();
        let common = Config::common(&configs);
        let data_centers = centers.iter().zip(&configs);
        let data_centers: Vec<Mapping> = data_centers
            .map(|(nodes, config)| self.data_center(nodes, &config.without(&common)))
            .collect::<Result<_, _>>()?;
        let first = centers.first().map(|nodes| nodes.first);
        let cassandra = Mapping::new()
            .set("clusterName", self.plan.name.as_str())
            .set("serverVersion", self.plan.release.as_str());
        let cassandra = match &options.superuser_secret {
            None => cassandra,
            Some(secret) => cassandra.why(
                "made by `helenus kube secret superuser`",
                "superuserSecretRef",
                Mapping::new().set("name", secret.as_str()),
            ),
        };
        let cassandra = cassandra
            .set("storageConfig", self.storage())
            .why(
                spread_reason(options.spread),
                "softPodAntiAffinity",
                options.spread != Spread::Required,
            )
            .maybe("resources", first.map(|set| self.resources(set)))
            .why(
                "the management API runs in a separate JVM in each pod",
                "mgmtAPIHeap",
                quantity(MANAGEMENT_HEAP),
            )
            .set("config", common.mapping());
        let cassandra = match self.plan.security.tls {
            false => cassandra,
            true => cassandra
                .set("serverEncryptionStores", self.stores())
                .set("clientEncryptionStores", self.stores()),
        };
        let cassandra = match options.telemetry {
            false => cassandra,
            true => cassandra.why(
                "needs Prometheus' operator, whose ServiceMonitors it makes",
                "telemetry",
                Mapping::new().set("prometheus", Mapping::new().set("enabled", true)),
            ),
        };
        let spec = Mapping::new()
            .why(
                match self.plan.security.auth {
                    true => "clients log in",
                    false => {
                        "true by default; without it anybody who reaches the pods may do anything"
                    }
                },
                "auth",
                self.plan.security.auth,
            )
            .set("cassandra", cassandra.set("datacenters", data_centers))
            .maybe("reaper", options.reaper.then(reaper))
            .maybe("medusa", options.medusa.is_some().then(|| self.medusa()));
        let namespace = options
            .namespace
            .clone()
            .unwrap_or_else(|| self.layout.label.clone());
        let metadata = Mapping::new()
            .set("name", self.layout.label.as_str())
            .set("namespace", namespace)
            .set("labels", self.labels());
        Ok(resource("k8ssandra.io/v1alpha1", "K8ssandraCluster", metadata).set("spec", spec))
    }

    fn data_center(&self, nodes: &Nodes<'_>, config: &Config) -> Result<Mapping, KubeError> {
        let center = nodes.center;
        let mut map = Mapping::new().set(
            "metadata",
            Mapping::new().set("name", center.label.as_str()),
        );
        if center.label != center.name {
            map = map.why(
                "as Cassandra and its keyspaces name it",
                "datacenterName",
                center.name.as_str(),
            );
        }
        map = map
            .maybe(
                "k8sContext",
                self.options.contexts.get(&center.name).map(String::as_str),
            )
            .set("size", nodes.size())
            .set("racks", nodes.racks(self.options));
        if !config.is_empty() {
            map = map
                .why("over those of the cluster", "config", config.mapping())
                .set("resources", self.resources(nodes.first));
        }
        let Some(first) = nodes.coordinators.first() else {
            return Ok(map);
        };
        if !(self.plan.release.starts_with("3.11") || self.plan.release.starts_with("4.0")) {
            return Err(KubeError::Cannot {
                form: "a K8ssandraCluster",
                what: format!(
                    "coordinator-only nodes with Cassandra {}",
                    self.plan.release
                ),
                hint: "Stargate, its coordinator, knows 3.11 and 4.0; use --cassandra 4.0 or --as plain",
            });
        }
        let count: u32 = nodes.coordinators.iter().map(|set| set.replicas()).sum();
        Ok(map.set(
            "stargate",
            Mapping::new()
                .set("size", count)
                .why(
                    "set explicitly: Stargate computes none from the memory it sees",
                    "heapSize",
                    quantity(first.heap.heap),
                )
                .set(
                    "allowStargateOnDataNodes",
                    self.options.spread != Spread::Required,
                ),
        ))
    }

    /// A `CassandraDatacenter` each.
    ///
    /// # Errors
    /// Coordinators, or nodes that differ within a data centre.
    pub(super) fn cass_operator(&self) -> Result<Vec<Mapping>, KubeError> {
        let centers = self.centers("a CassandraDatacenter")?;
        if let Some(nodes) = centers.iter().find(|nodes| !nodes.coordinators.is_empty()) {
            return Err(KubeError::Cannot {
                form: "a CassandraDatacenter",
                what: format!("the coordinator-only nodes of {}", nodes.center.name),
                hint: "leave them out, or use --as plain",
            });
        }
        Ok(centers
            .iter()
            .map(|nodes| self.cassandra_datacenter(nodes, &centers))
            .collect())
    }

    fn cassandra_datacenter(&self, nodes: &Nodes<'_>, all: &[Nodes<'_>]) -> Mapping {
        let (center, set) = (nodes.center, nodes.first);
        let config = self.config(set);
        let size = |size: Bytes| size.jvm();
        let jvm = Mapping::new()
            .set("initial_heap_size", size(set.heap.heap))
            .set("max_heap_size", size(set.heap.heap))
            .set("additional-jvm-opts", config.flags.clone());
        let of_version = Mapping::new().set("garbage_collector", config.collector);
        let config = Mapping::new()
            .set("cassandra-yaml", yaml_mapping(&config.yaml))
            .set("jvm-server-options", jvm)
            .set(self.options_of_java(), of_version);
        // The operator names the seed service of a cluster; in one namespace all its data centres share it.
        let elsewhere = all
            .iter()
            .filter(|other| other.center.namespace != center.namespace);
        let seeds: Vec<String> = elsewhere
            .map(|other| {
                format!(
                    "{}-seed-service.{}.svc",
                    self.layout.label, other.center.namespace
                )
            })
            .collect();
        let mut spec = Mapping::new()
            .set("clusterName", self.plan.name.as_str())
            .set("serverType", "cassandra")
            .set("serverVersion", self.plan.release.as_str());
        if center.label != center.name {
            spec = spec.why(
                "as Cassandra and its keyspaces name it",
                "datacenterName",
                center.name.as_str(),
            );
        }
        spec = spec
            .set("size", nodes.size())
            .set("racks", nodes.racks(self.options))
            .maybe("superuserSecretName", self.options.superuser_secret.as_deref())
            .why(
                "the operator's own calls are not authenticated: keep the namespace to yourself, or give certificates",
                "managementApiAuth",
                Mapping::new().set("insecure", Mapping::new()),
            )
            .set("storageConfig", self.storage())
            .why(
                spread_reason(self.options.spread),
                "allowMultipleNodesPerWorker",
                self.options.spread != Spread::Required,
            )
            .set("resources", self.resources(set))
            .set("config", config);
        if !seeds.is_empty() {
            spec = spec.why("seeds of the other data centres", "additionalSeeds", seeds);
        }
        resource(
            "cassandra.datastax.com/v1beta1",
            "CassandraDatacenter",
            self.metadata(&center.label, center),
        )
        .set("spec", spec)
    }

    /// The options file that names the collector: it goes with the newest Java of the release.
    fn options_of_java(&self) -> &'static str {
        match self.plan.release.split('.').next() {
            Some("3") => "jvm-options",
            Some("4") => "jvm11-server-options",
            _ => "jvm17-server-options",
        }
    }

    fn storage(&self) -> Mapping {
        let size = self.options.storage.unwrap_or(Bytes::mib(2048));
        let claim = Mapping::new()
            .maybe("storageClassName", self.options.storage_class.as_deref())
            .set("accessModes", ["ReadWriteOnce"])
            .set(
                "resources",
                Mapping::new().set("requests", Mapping::new().set("storage", quantity(size))),
            );
        Mapping::new().set("cassandraDataVolumeClaimSpec", claim)
    }

    /// Those of a plain pod, and the management API's.
    fn resources(&self, set: &Set) -> Mapping {
        let cpus = self.plan.limits.and_then(|l| l.cpus);
        resources(self.options, &with_management(set), cpus)
    }

    fn stores(&self) -> Mapping {
        let secret = tls_secret(&self.layout.label);
        let reference = || Mapping::new().set("name", secret.as_str());
        Mapping::new()
            .set("keystoreSecretRef", reference())
            .set("truststoreSecretRef", reference())
    }

    fn medusa(&self) -> Mapping {
        let Some(medusa) = &self.options.medusa else {
            return Mapping::new();
        };
        if medusa.provider == "local" {
            let storage = Mapping::new().set("prefix", medusa.bucket.as_str()).why(
                "a volume instead of a bucket: backups end with it",
                "podStorage",
                Mapping::new()
                    .maybe("storageClassName", self.options.storage_class.as_deref())
                    .set("accessModes", ["ReadWriteOnce"])
                    .set(
                        "size",
                        quantity(self.options.storage.unwrap_or(Bytes::mib(2048))),
                    ),
            );
            return Mapping::new().set("storageProperties", storage);
        }
        let storage = Mapping::new()
            .set("storageProvider", medusa.provider.as_str())
            .set("bucketName", medusa.bucket.as_str())
            .maybe("region", medusa.region.as_deref())
            .maybe("host", medusa.host.as_deref())
            .why(
                "made by `helenus kube secret bucket`",
                "storageSecretRef",
                Mapping::new().set("name", medusa.secret.as_str()),
            );
        Mapping::new().set("storageProperties", storage)
    }

    /// What an operator is to configure for a set.
    fn config(&self, set: &Set) -> Config {
        let mut map = match yaml::parse(&set.yaml) {
            Ok(Value::Object(map)) => map,
            Ok(_) | Err(_) => Map::new(),
        };
        let tokens = match self.plan.tokens {
            1 => TOKENS,
            said => said,
        };
        // Passwords are the operators' affair; all options of encryption but the stores go to them.
        let theirs = |key: &str| {
            RESERVED.contains(&key) || (TOP_KEYS.contains(&key) && !ENCRYPTION.contains(&key))
        };
        map.retain(|key, _| !theirs(key));
        map.insert("num_tokens".to_owned(), tokens.into());
        for key in ENCRYPTION {
            if let Some(Value::Object(options)) = map.get_mut(key) {
                options.retain(|key, _| !OF_STORES.contains(&key.as_str()));
            }
        }
        let own = |flag: &&String| {
            let theirs = FLAGS_OF_OPERATOR
                .iter()
                .any(|begin| flag.starts_with(begin));
            !theirs && !COLLECTORS.contains(&flag.as_str()) && !flag.starts_with("-Xss")
        };
        let mut flags: Vec<String> = set.jvm.iter().filter(own).cloned().collect();
        // The field for it counts with CMS only, which 3.11 has.
        let typed = self.plan.release.starts_with("3.");
        if let Some(new) = set.heap.new.filter(|_| !typed) {
            flags.push(format!("-Xmn{}", new.jvm()));
        }
        let chosen = set
            .jvm
            .iter()
            .rfind(|flag| COLLECTORS.contains(&flag.as_str()));
        let collector = match chosen.map(String::as_str) {
            Some("-XX:+UseG1GC") => "G1GC",
            Some("-XX:+UseZGC") => "ZGC",
            Some("-XX:+UseShenandoahGC") => "Shenandoah",
            Some(other) => {
                flags.insert(0, other.to_owned());
                "Custom"
            }
            None => "Custom",
        };
        let stack = set
            .jvm
            .iter()
            .rev()
            .find_map(|flag| flag.strip_prefix("-Xss"));
        Config {
            yaml: map,
            heap: Some(set.heap.heap),
            new: set.heap.new.filter(|_| typed),
            collector,
            stack: stack.map(|size| size.replace('k', "Ki").replace('m', "Mi")),
            flags,
        }
    }
}

/// Pods of a set with the management API in them.
fn with_management(set: &Set) -> Set {
    let mut set = set.clone();
    set.memory.jvm = set.memory.jvm + MANAGEMENT_HEAP + MANAGEMENT_BESIDE;
    set.memory.bound = set.memory.bound + MANAGEMENT_HEAP + MANAGEMENT_BESIDE;
    set
}

/// What an operator is to configure: keys of cassandra.yaml, and the JVM's.
#[derive(Debug, Clone, PartialEq)]
struct Config {
    yaml: Map<String, Value>,
    heap: Option<Bytes>,
    new: Option<Bytes>,
    collector: &'static str,
    stack: Option<String>,
    flags: Vec<String>,
}

impl Config {
    /// What all have: keys with equal values; heap and flags of the first, over which data centres may put their own.
    fn common(all: &[Self]) -> Self {
        let mut common = all.first().cloned().unwrap_or(Self {
            yaml: Map::new(),
            heap: None,
            new: None,
            collector: "",
            stack: None,
            flags: Vec::new(),
        });
        common
            .yaml
            .retain(|key, value| all.iter().all(|other| other.yaml.get(key) == Some(value)));
        common
    }

    /// What is to be said of a data centre beside what is said of the cluster.
    fn without(&self, common: &Self) -> Self {
        let mut own = self.clone();
        own.yaml
            .retain(|key, value| common.yaml.get(key) != Some(value));
        if (self.heap, self.new) == (common.heap, common.new) {
            (own.heap, own.new) = (None, None);
        }
        if (self.collector, &self.flags) == (common.collector, &common.flags) {
            (own.collector, own.flags) = ("", Vec::new());
        }
        if self.stack == common.stack {
            own.stack = None;
        }
        own
    }

    fn is_empty(&self) -> bool {
        let jvm = self.heap.is_none() && self.new.is_none() && self.collector.is_empty();
        self.yaml.is_empty() && jvm && self.stack.is_none()
    }

    fn mapping(&self) -> Mapping {
        let mut jvm = Mapping::new();
        if let Some(heap) = self.heap {
            jvm = jvm
                .why(
                    "set explicitly: blank, each node computes one from the memory of the whole worker",
                    "heap_initial_size",
                    quantity(heap),
                )
                .set("heap_max_size", quantity(heap));
        }
        jvm = jvm
            .maybe("heapNewGenSize", self.new.map(quantity))
            .maybe("vm_per_thread_stack_size", self.stack.as_deref());
        if !self.collector.is_empty() {
            jvm = jvm.set("gc", self.collector);
        }
        if !self.flags.is_empty() {
            jvm = jvm.set("additionalOptions", self.flags.clone());
        }
        let mut config = Mapping::new();
        if !self.yaml.is_empty() {
            config = config.set("cassandraYaml", yaml_mapping(&self.yaml));
        }
        if !jvm.is_empty() {
            config = config.set("jvmOptions", jvm);
        }
        config
    }
}

/// Keys of cassandra.yaml, with the reason for the one that differs from what `up` has.
fn yaml_mapping(map: &Map<String, Value>) -> Mapping {
    map.iter()
        .fold(Mapping::new(), |to, (key, value)| match value {
            Value::Object(inner) if !inner.is_empty() => to.set(key.as_str(), yaml_mapping(inner)),
            value if key == "num_tokens" => to.why(
                "the operator starts nodes one after the other, each with tokens that it draws",
                key.as_str(),
                value.clone(),
            ),
            value => to.set(key.as_str(), value.clone()),
        })
}

fn spread_reason(spread: Spread) -> &'static str {
    match spread {
        Spread::Required => "one node per worker: a lost worker takes no more than one replica",
        Spread::Preferred | Spread::None => "several nodes may share a worker, as on kind",
    }
}

fn reaper() -> Mapping {
    Mapping::new()
        .why(
            "2 GiB by default, more than small nodes have",
            "heapSize",
            "256Mi",
        )
        .set("autoScheduling", Mapping::new().set("enabled", true))
}
