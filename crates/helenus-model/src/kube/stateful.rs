//! A StatefulSet and its pods: what they ask for, how they start, when they are ready, how they stop.
//! Refuses settings of Cassandra: those are in the ConfigMap.

use super::layout::{Center, Set};
use super::names::{LABEL_MAX, label, short_hash};
use super::options::{Options, Spread};
use super::plain::{Cluster, DATA_CENTER, INSTANCE, RACK, SET, TIER, resource};
use super::pod::{
    CONF_FOLDER, DATA_FOLDER, LAUNCHER, POD_IP, POD_NAME, RUN_FOLDER, TLS_FOLDER, USER_ID,
};
use crate::memory::MemoryPlan;
use crate::units::Bytes;
use crate::yaml::document::Mapping;

/// Name of the container.
pub const CONTAINER: &str = "cassandra";

/// The StatefulSet of a rack.
pub(super) fn set(cluster: &Cluster<'_>, set: &Set) -> Mapping {
    let center = &cluster.layout.centers[set.center];
    let labels = cluster
        .labels_of(center)
        .set(RACK, label(&[&set.rack], LABEL_MAX))
        .set(SET, set.name.as_str())
        .set(
            TIER,
            if set.coordinator {
                "coordinator"
            } else {
                "data"
            },
        );
    let spec = Mapping::new()
        .set("serviceName", center.service.as_str())
        .set("replicas", cluster.replicas(set))
        .why(
            "tokens are agreed before the start: no node has to wait until another has joined",
            "podManagementPolicy",
            "Parallel",
        )
        .set(
            "selector",
            Mapping::new().set(
                "matchLabels",
                Mapping::new()
                    .set(INSTANCE, cluster.layout.label.as_str())
                    .set(SET, set.name.as_str()),
            ),
        )
        .set(
            "template",
            Mapping::new()
                .set("metadata", template_metadata(cluster, set, labels.clone()))
                .set("spec", pod(cluster, set, center)),
        );
    let metadata = Mapping::new()
        .set("name", set.name.as_str())
        .set("namespace", center.namespace.as_str())
        .set("labels", labels);
    let spec = match volume(cluster, set) {
        None => spec,
        Some(claim) => spec
            .why(
                "data outlives the pods: volumes are deleted by hand only",
                "persistentVolumeClaimRetentionPolicy",
                Mapping::new()
                    .set("whenDeleted", "Retain")
                    .set("whenScaled", "Retain"),
            )
            .set("volumeClaimTemplates", [claim]),
    };
    resource("apps/v1", "StatefulSet", metadata).set("spec", spec)
}

fn template_metadata(cluster: &Cluster<'_>, set: &Set, labels: Mapping) -> Mapping {
    let files = cluster
        .files(set)
        .into_values()
        .collect::<Vec<_>>()
        .join("\n");
    Mapping::new().set("labels", labels).why(
        "changes with the ConfigMap, so that its pods are restarted one by one",
        "annotations",
        Mapping::new().set("helenus.io/config", short_hash(&files)),
    )
}

/// The claim of each pod's volume; none where the data ends with the pod.
fn volume(cluster: &Cluster<'_>, set: &Set) -> Option<Mapping> {
    let options = cluster.options;
    let size = options.storage.filter(|_| !set.coordinator)?;
    let spec = Mapping::new()
        .set("accessModes", ["ReadWriteOnce"])
        .maybe("storageClassName", options.storage_class.as_deref())
        .set(
            "resources",
            Mapping::new().set("requests", Mapping::new().set("storage", quantity(size))),
        );
    let metadata = Mapping::new().set("name", "data");
    let claim = Mapping::new().set("metadata", metadata.set("labels", cluster.labels()));
    Some(claim.set("spec", spec))
}

fn pod(cluster: &Cluster<'_>, set: &Set, center: &Center) -> Mapping {
    let options = cluster.options;
    let security = Mapping::new()
        .set("runAsNonRoot", true)
        .set("runAsUser", USER_ID)
        .set("runAsGroup", USER_ID)
        .why("the volume belongs to Cassandra", "fsGroup", USER_ID)
        .set("fsGroupChangePolicy", "OnRootMismatch")
        .set(
            "seccompProfile",
            Mapping::new().set("type", "RuntimeDefault"),
        );
    let empty = |name: &str| {
        Mapping::new()
            .set("name", name)
            .set("emptyDir", Mapping::new())
    };
    let mut volumes = vec![
        Mapping::new().set("name", "config").set(
            "configMap",
            Mapping::new().set("name", Cluster::config_name(set)),
        ),
        empty("run"),
        empty("tmp"),
    ];
    if volume(cluster, set).is_none() {
        volumes.push(empty("data"));
    }
    if cluster.plan.security.tls {
        let made = || tls_secret(&cluster.layout.label);
        let secret = options.tls_secret.clone().unwrap_or_else(made);
        volumes.push(
            Mapping::new().set("name", "tls").set(
                "secret",
                Mapping::new()
                    .set("secretName", secret)
                    .set("defaultMode", 0o440_u32),
            ),
        );
    }
    let spec = Mapping::new()
        .why(
            "Cassandra writes its memtables out before it ends",
            "terminationGracePeriodSeconds",
            120_u32,
        )
        .set("securityContext", security)
        .why(
            "nothing in a pod talks to the API",
            "automountServiceAccountToken",
            false,
        )
        .why(
            "a variable for each service of the namespace would only be noise",
            "enableServiceLinks",
            false,
        );
    let spec = match &options.worker_label {
        None => spec,
        Some(label) => spec.why(
            format!(
                "workers of this data centre: kubectl label node WORKER {label}={}",
                center.name
            ),
            "nodeSelector",
            Mapping::new().set(label.as_str(), center.name.as_str()),
        ),
    };
    let spec = match affinity(cluster, options.spread) {
        None => spec,
        Some(affinity) => spec.set("affinity", affinity),
    };
    spec.why(
        "racks over zones, where the workers have any",
        "topologySpreadConstraints",
        [Mapping::new()
            .set("maxSkew", 1_u32)
            .set("topologyKey", "topology.kubernetes.io/zone")
            .set("whenUnsatisfiable", "ScheduleAnyway")
            .set(
                "labelSelector",
                Mapping::new().set(
                    "matchLabels",
                    Mapping::new()
                        .set(INSTANCE, cluster.layout.label.as_str())
                        .set(DATA_CENTER, center.label.as_str()),
                ),
            )],
    )
    .set("containers", [container(cluster, set)])
    .set("volumes", volumes)
}

/// The Secret with the keystores of a cluster with TLS.
pub(super) fn tls_secret(cluster: &str) -> String {
    format!("{cluster}-tls")
}

fn affinity(cluster: &Cluster<'_>, spread: Spread) -> Option<Mapping> {
    let term = Mapping::new()
        .set(
            "labelSelector",
            Mapping::new().set(
                "matchLabels",
                Mapping::new().set(INSTANCE, cluster.layout.label.as_str()),
            ),
        )
        .set("topologyKey", "kubernetes.io/hostname");
    let anti = match spread {
        Spread::None => return None,
        Spread::Required => Mapping::new().why(
            "one node per worker: a lost worker takes no more than one replica",
            "requiredDuringSchedulingIgnoredDuringExecution",
            [term],
        ),
        Spread::Preferred => Mapping::new().why(
            "apart where there are workers enough; kind's are one machine anyway",
            "preferredDuringSchedulingIgnoredDuringExecution",
            [Mapping::new()
                .set("weight", 100_u32)
                .set("podAffinityTerm", term)],
        ),
    };
    Some(Mapping::new().set("podAntiAffinity", anti))
}

fn container(cluster: &Cluster<'_>, set: &Set) -> Mapping {
    let (plan, options) = (cluster.plan, cluster.options);
    let launcher = |verb: &str| [LAUNCHER, "__pod", verb].map(str::to_owned);
    let field = |name: &str, path: &str| {
        Mapping::new().set("name", name).set(
            "valueFrom",
            Mapping::new().set("fieldRef", Mapping::new().set("fieldPath", path)),
        )
    };
    let mut env = vec![
        field(POD_NAME, "metadata.name"),
        field(POD_IP, "status.podIP"),
    ];
    let own = set.environment.iter();
    env.extend(own.map(|(key, value)| {
        Mapping::new()
            .set("name", key.as_str())
            .set("value", value.as_str())
    }));
    let port = |name: &str, port: u16| Mapping::new().set("name", name).set("containerPort", port);
    let mount = |name: &str, path: &str| Mapping::new().set("name", name).set("mountPath", path);
    let mut mounts = vec![
        mount("config", CONF_FOLDER).set("readOnly", true),
        mount("data", DATA_FOLDER),
        mount("run", RUN_FOLDER),
        mount("tmp", "/tmp"),
    ];
    if plan.security.tls {
        mounts.push(mount("tls", TLS_FOLDER).set("readOnly", true));
    }
    let probe =
        |verb: &str| Mapping::new().set("exec", Mapping::new().set("command", launcher(verb)));
    Mapping::new()
        .set("name", CONTAINER)
        .set("image", options.image.as_str())
        .set("imagePullPolicy", options.pull.as_str())
        .set("command", launcher("start"))
        .set("env", env)
        .set(
            "ports",
            [port("cql", plan.ports.cql), port("intra", plan.ports.storage)],
        )
        .set("resources", resources(options, set, plan.limits.and_then(|l| l.cpus)))
        .why(
            "ready means that the node has joined and answers a query; a first start may take ten minutes",
            "startupProbe",
            probe("ready")
                .set("periodSeconds", 2_u32)
                .set("timeoutSeconds", 10_u32)
                .set("failureThreshold", 300_u32),
        )
        .set(
            "readinessProbe",
            probe("ready")
                .set("periodSeconds", 10_u32)
                .set("timeoutSeconds", 10_u32)
                .set("failureThreshold", 3_u32),
        )
        .why(
            "no query: a node in a long collection is slow, not dead, and killing it makes the others slower",
            "livenessProbe",
            probe("live")
                .set("periodSeconds", 30_u32)
                .set("timeoutSeconds", 10_u32)
                .set("failureThreshold", 6_u32),
        )
        .why(
            "drain: stop serving, flush memtables, leave gossip",
            "lifecycle",
            Mapping::new().set("preStop", probe("drain")),
        )
        .set(
            "securityContext",
            Mapping::new()
                .set("allowPrivilegeEscalation", false)
                .set("readOnlyRootFilesystem", true)
                .set("capabilities", Mapping::new().set("drop", ["ALL"])),
        )
        .set("volumeMounts", mounts)
}

/// What a pod asks for, and what it may have at most.
pub(super) fn resources(options: &Options, set: &Set, cpus: Option<f64>) -> Mapping {
    let request = cpus.unwrap_or_else(|| set.cpu_request(options));
    let limits = Mapping::new().why(
        format!(
            "the most that the kinds can use, {}, and {} of page cache",
            set.memory.bound, options.page_cache
        ),
        "memory",
        quantity(set.memory_limit(options.page_cache)),
    );
    let limits = match cpus {
        Some(cpus) => limits.set("cpu", processors(cpus)),
        None => limits,
    };
    Mapping::new()
        .set(
            "requests",
            Mapping::new()
                .why(by_kind(&set.memory), "memory", quantity(set.memory_request()))
                .set("cpu", processors(request)),
        )
        .why(
            match cpus {
                Some(_) => "as asked; a pod that has used its share of a period of 100 ms waits for the next",
                None => "no limit of processors: it would show as pauses of up to 100 ms",
            },
            "limits",
            limits,
        )
}

/// The memory plan in words.
fn by_kind(memory: &MemoryPlan) -> String {
    format!(
        "heap {}, buffers {}, metaspace {}, code {}, threads {}, JVM {}, class archive {}, mapped files {}",
        memory.heap,
        memory.direct,
        memory.metaspace,
        memory.code,
        memory.threads,
        memory.jvm,
        memory.archive,
        memory.files
    )
}

/// A size as Kubernetes writes it.
pub(crate) fn quantity(size: Bytes) -> String {
    let mib = size.0.div_ceil(1 << 20);
    match mib % 1024 {
        0 => format!("{}Gi", mib / 1024),
        _ => format!("{mib}Mi"),
    }
}

/// Processors as Kubernetes writes them.
pub(crate) fn processors(cpus: f64) -> String {
    let milli = (cpus * 1000.0).ceil().max(1.0);
    if milli % 1000.0 == 0.0 {
        format!("{}", milli / 1000.0)
    } else {
        format!("{milli}m")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_those_of_kubernetes() {
        assert_eq!(quantity(Bytes::mib(2048)), "2Gi");
        assert_eq!(quantity(Bytes::mib(300)), "300Mi");
        assert_eq!(quantity(Bytes(1)), "1Mi");
        assert_eq!(processors(0.1), "100m");
        assert_eq!(processors(2.0), "2");
    }
}
