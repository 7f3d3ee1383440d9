//! Pods of a cluster, and waiting for them.
//! Refuses to call a cluster ready whose nodes do not see each other.

use super::kubectl::{WAIT_EVERY, has_id, items};
use super::operated::kinds;
use super::ring::{Ring, ring};
use super::{KubeState, Kubectl, KubectlError};
use crate::cancel::Cancel;
use crate::error::{Class, ClusterError, Problem};
use helenus_model::kube::operated::{CLUSTER, cluster_value};
use helenus_model::kube::waiting::{Waiting, condition, waiting};
use helenus_model::kube::{CONTAINER, ID, KubePlan, SET};
use helenus_model::nearest::nearest;
use serde::Serialize;
use serde_json::Value;
use std::time::{Duration, Instant};

/// How long what keeps all pods must last before waiting for it ends.
const BLOCKED_FOR: Duration = Duration::from_secs(8);

/// Lines of a log that are shown.
const LAST_WORDS: usize = 12;

/// Kinds of objects that say what pods wait for.
const SEEN: &str = "pods,pvc,statefulsets,events";

/// Between two looks at the ring, which start a JVM each.
const RING_EVERY: Duration = Duration::from_secs(3);

/// A pod of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pod {
    /// Namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Name of its StatefulSet.
    pub set: String,
    /// Its address; empty before it has one.
    pub ip: String,
    /// Its worker; empty before it has one.
    pub worker: String,
    /// Whether the node in it serves.
    pub ready: bool,
    /// How often its container was started again.
    pub restarts: u64,
    /// When it was made, as the API server writes it.
    pub created: String,
    /// When it was last found ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_since: Option<String>,
    /// Its identity: another pod of the same name has another.
    pub uid: String,
}

impl Pod {
    fn of(item: &Value) -> Self {
        let text = |at: &str| {
            let found = item.pointer(at).and_then(Value::as_str);
            found.unwrap_or_default().to_owned()
        };
        let ready = condition(&item["status"], "Ready").filter(|one| one["status"] == "True");
        let containers = item["status"]["containerStatuses"].as_array();
        let container = containers
            .into_iter()
            .flatten()
            .find(|one| one["name"] == CONTAINER);
        Self {
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
            set: set_of(item).unwrap_or_default().to_owned(),
            ip: text("/status/podIP"),
            worker: text("/spec/nodeName"),
            // One that ends still says that it is ready.
            ready: ready.is_some() && item["metadata"]["deletionTimestamp"].is_null(),
            restarts: container
                .and_then(|one| one["restartCount"].as_u64())
                .unwrap_or_default(),
            created: text("/metadata/creationTimestamp"),
            ready_since: ready
                .and_then(|one| one["lastTransitionTime"].as_str())
                .map(str::to_owned),
            uid: text("/metadata/uid"),
        }
    }

    /// `demo-dc1/demo-dc1-rack1-0`.
    pub fn place(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// Namespace and name, for [`Kubectl::exec`].
    pub fn at(&self) -> (&str, &str) {
        (&self.namespace, &self.name)
    }
}

/// Why pods are not as they were waited for.
#[derive(Debug, thiserror::Error)]
pub enum PodsError {
    /// Waiting alone does not help.
    #[error("{} of {total} pods cannot start: {}", waiting.len(), summary(waiting))]
    Blocked {
        /// All of them.
        total: usize,
        /// Those that are not ready.
        waiting: Vec<Waiting>,
    },
    /// It took too long.
    #[error("{ready} of {total} pods ready after {} s: {}", within.as_secs(), summary(waiting))]
    Late {
        /// Those that are.
        ready: usize,
        /// All of them.
        total: usize,
        /// The limit.
        within: Duration,
        /// Those that are not.
        waiting: Vec<Waiting>,
    },
    /// All pods are ready, and their nodes do not agree.
    #[error("all pods are ready, but after {} s {why}", within.as_secs())]
    Apart {
        /// The limit.
        within: Duration,
        /// What is wrong.
        why: String,
    },
    /// No such pod.
    #[error("{cluster} has no pod {name:?}")]
    Unknown {
        /// The cluster.
        cluster: String,
        /// Asked for.
        name: String,
        /// All names.
        known: Vec<String>,
    },
    /// It has none that serves.
    #[error("no pod of {0} is ready")]
    None(String),
    /// The person stopped it.
    #[error("interrupted")]
    Interrupted,
}

/// The first of those that wait, and how many more there are.
fn summary(waiting: &[Waiting]) -> String {
    let Some(first) = waiting.first() else {
        return "some do not exist yet".to_owned();
    };
    let more = match waiting.len() {
        0 | 1 => String::new(),
        n => format!(" (and {} more)", n - 1),
    };
    format!(
        "{}/{}: {}{more}",
        first.namespace,
        first.pod,
        first.blocker.why()
    )
}

impl Problem for PodsError {
    fn class(&self) -> Class {
        match self {
            Self::Unknown { .. } => Class::Usage,
            Self::Blocked { .. } | Self::Late { .. } | Self::Apart { .. } | Self::None(_) => {
                Class::Cluster
            }
            Self::Interrupted => Class::Interrupted,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Blocked { waiting, .. } | Self::Late { waiting, .. } => waiting
                .iter()
                .find_map(|one| one.blocker.remedy())
                .or_else(|| Some("wait longer with --timeout".to_owned())),
            Self::Apart { .. } => {
                Some("helenus kube status shows the ring; wait longer with --timeout".to_owned())
            }
            Self::Unknown { name, known, .. } => {
                let near = nearest(name, known.iter().map(String::as_str));
                Some(match near {
                    Some(near) => format!("did you mean {near}?"),
                    None => format!("its pods: {}", known.join(", ")),
                })
            }
            Self::None(name) => Some(format!("helenus kube wait {name} shows what they wait for")),
            Self::Interrupted => None,
        }
    }
}

/// The pods of a cluster, by namespace and name.
///
/// # Errors
/// What kubectl says.
pub fn pods(kubectl: &Kubectl, state: &KubeState) -> Result<Vec<Pod>, ClusterError> {
    let mut plan = state.rendered()?;
    // Without our resource, pods of a cluster of that name are somebody else's.
    if let Some(kind) = kinds(state.options.form) {
        let own = format!("{ID}={}", state.id());
        let mut there = Vec::new();
        for namespace in plan.namespaces {
            let found = kubectl.json(&["get", kind, "-n", &namespace, "-l", &own], "")?;
            there.extend((!items(&found).is_empty()).then_some(namespace));
        }
        plan.namespaces = there;
    }
    Ok(pods_of(kubectl, state, &plan)?)
}

/// The pods of a cluster's nodes, as kubectl selects them: by our labels, or by cass-operator's.
pub(super) fn selector(state: &KubeState) -> String {
    match kinds(state.options.form) {
        Some(_) => format!("{CLUSTER}={}", cluster_value(state.name())),
        None => format!("{ID}={},{SET}", state.id()),
    }
}

/// The StatefulSet of a pod: as our label has it, or who owns it.
fn set_of(item: &Value) -> Option<&str> {
    let owners = item["metadata"]["ownerReferences"].as_array();
    let mut owners = owners.into_iter().flatten();
    let owner = owners.find(|one| one["kind"] == "StatefulSet");
    let ours = item["metadata"]["labels"][SET].as_str();
    ours.or_else(|| owner.and_then(|one| one["name"].as_str()))
}

pub(super) fn pods_of(
    kubectl: &Kubectl,
    state: &KubeState,
    plan: &KubePlan,
) -> Result<Vec<Pod>, KubectlError> {
    let label = selector(state);
    let mut all = Vec::new();
    for namespace in &plan.namespaces {
        let found = kubectl.json(&["get", "pods", "-n", namespace, "-l", &label], "")?;
        all.extend(items(&found).into_iter().map(Pod::of));
    }
    Ok(all)
}

/// The pod of this name, or the first one that is ready.
///
/// # Errors
/// No such pod, or none that is ready.
pub fn pod(kubectl: &Kubectl, state: &KubeState, name: Option<&str>) -> Result<Pod, ClusterError> {
    let all = pods(kubectl, state)?;
    let Some(name) = name else {
        let first = all.into_iter().find(|pod| pod.ready);
        return first.ok_or_else(|| PodsError::None(state.name().to_owned()).into());
    };
    let known: Vec<String> = all.iter().map(|pod| pod.name.clone()).collect();
    let found = all.into_iter().find(|pod| pod.name == name);
    let found = found.ok_or_else(|| PodsError::Unknown {
        cluster: state.name().to_owned(),
        name: name.to_owned(),
        known,
    });
    Ok(found?)
}

/// What the pods that are not ready wait for, now.
///
/// # Errors
/// What kubectl says.
pub fn waiting_now(kubectl: &Kubectl, state: &KubeState) -> Result<Vec<Waiting>, ClusterError> {
    let plan = state.rendered()?;
    let found = of_cluster(seen(kubectl, SEEN, &plan.namespaces)?, state);
    Ok(waiting(&found))
}

/// The end of the log of the first pod that does not serve: of the container that ended last, where one did. Nothing where
/// there is none, or it cannot be read.
pub fn last_words(kubectl: &Kubectl, state: &KubeState) -> Vec<String> {
    let pods = pods(kubectl, state).unwrap_or_default();
    let Some(pod) = pods.iter().find(|pod| !pod.ready) else {
        return Vec::new();
    };
    let tail = format!("--tail={LAST_WORDS}");
    let words = ["logs", &pod.name, "-n", &pod.namespace, &tail];
    let ended = kubectl.text(&[&words[..], &["--previous"]].concat(), "");
    let text = ended.or_else(|_| kubectl.text(&words, ""));
    let text = text.unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// What there is without the pods of others.
fn of_cluster(items: Vec<Value>, state: &KubeState) -> Vec<Value> {
    let labels = |item: &Value, key: &str| item["metadata"]["labels"][key].clone();
    let of_operator = |item: &Value| labels(item, CLUSTER) == cluster_value(state.name());
    let operated = kinds(state.options.form).is_some();
    let ours = |item: &Value| match item["kind"].as_str() {
        Some("Pod" | "StatefulSet") if operated => of_operator(item),
        Some("Pod") => is_node(item, state.id()),
        Some("StatefulSet") => has_id(item, state.id()),
        _ => true,
    };
    items.into_iter().filter(ours).collect()
}

/// Since when nothing that is waited for comes by itself.
#[derive(Debug, Default)]
pub(super) struct Stuck(Option<Instant>);

impl Stuck {
    /// Whether that has lasted long enough to end the wait, by what is seen now.
    pub(super) fn look(&mut self, ready: usize, total: usize, waiting: &[Waiting]) -> bool {
        let now = ready < total
            && ready + waiting.len() >= total
            && waiting.iter().all(|one| one.blocker.stays());
        self.0 = now.then(|| self.0.unwrap_or_else(Instant::now));
        self.0.is_some_and(|since| since.elapsed() >= BLOCKED_FOR)
    }
}

/// How far waiting is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// Pods that are ready.
    pub ready: usize,
    /// Pods there are to be.
    pub total: usize,
    /// What the others wait for.
    pub waiting: Vec<Waiting>,
    /// What the nodes do not agree about, once all pods are ready.
    pub apart: Option<String>,
}

/// Waits until all pods are ready, and their nodes see each other up and have one schema. `see` is called at each look.
///
/// # Errors
/// It takes longer than `within`, or nothing that is waited for comes by itself.
pub fn wait(
    kubectl: &Kubectl,
    state: &KubeState,
    within: Duration,
    cancel: &Cancel,
    see: &mut dyn FnMut(&Progress),
) -> Result<(Vec<Pod>, Ring), ClusterError> {
    let plan = state.rendered()?;
    let total = plan.sets.iter().map(|set| set.replicas as usize).sum();
    let begin = Instant::now();
    let mut stuck = Stuck::default();
    let mut asked_ring: Option<Instant> = None;
    let mut last = Progress::default();
    loop {
        let found = of_cluster(seen(kubectl, SEEN, &plan.namespaces)?, state);
        let pods: Vec<Pod> = found
            .iter()
            .filter(|item| item["kind"] == "Pod")
            .map(Pod::of)
            .collect();
        let ready = pods.iter().filter(|pod| pod.ready).count();
        let mut now = Progress {
            ready,
            total,
            waiting: waiting(&found),
            apart: last.apart.take(),
        };
        if ready == total && pods.len() == total {
            if asked_ring.is_none_or(|at| at.elapsed() > RING_EVERY) {
                let seen = ring(kubectl, &plan, &pods);
                asked_ring = Some(Instant::now());
                match seen {
                    Ok(ring) => match ring.apart(&pods) {
                        None => return Ok((pods, ring)),
                        Some(why) => now.apart = Some(why),
                    },
                    // A node that has just begun to serve may not answer nodetool yet.
                    Err(error) => now.apart = Some(error.to_string()),
                }
            }
        } else {
            now.apart = None;
        }
        see(&now);
        let stuck = stuck.look(now.ready, total, &now.waiting);
        if cancel.is_set() {
            return Err(PodsError::Interrupted.into());
        }
        if stuck {
            let waiting = now.waiting;
            return Err(PodsError::Blocked { total, waiting }.into());
        }
        if begin.elapsed() > within {
            return Err(match now.apart {
                Some(why) => PodsError::Apart { within, why },
                None => PodsError::Late {
                    ready: now.ready,
                    total,
                    within,
                    waiting: now.waiting,
                },
            }
            .into());
        }
        last = now;
        std::thread::sleep(WAIT_EVERY);
    }
}

/// Whether a pod is that of a node, and of this cluster.
fn is_node(item: &Value, id: &str) -> bool {
    has_id(item, id) && item["metadata"]["labels"][SET].is_string()
}

/// Objects of these kinds in the namespaces, and the workers where one may see them.
pub(super) fn seen(
    kubectl: &Kubectl,
    kinds: &str,
    namespaces: &[String],
) -> Result<Vec<Value>, KubectlError> {
    let mut all = Vec::new();
    for namespace in namespaces {
        let words = ["get", kinds, "-n", namespace];
        let found = kubectl.json(&words, "")?;
        all.extend(items(&found).into_iter().cloned());
    }
    if let Ok(workers) = kubectl.json(&["get", "nodes"], "") {
        all.extend(items(&workers).into_iter().cloned());
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pod_that_ends_serves_no_more() {
        let pod = |deleted: Value| {
            Pod::of(&json!({
                "metadata": {"name": "c-0", "namespace": "c", "labels": {SET: "c"}, "deletionTimestamp": deleted},
                "status": {
                    "podIP": "10.0.0.1",
                    "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "t"}],
                    "containerStatuses": [{"name": CONTAINER, "restartCount": 2}],
                },
            }))
        };
        let serves = pod(Value::Null);
        assert!(serves.ready && serves.restarts == 2 && serves.ip == "10.0.0.1");
        assert_eq!(
            (serves.place(), serves.set.as_str()),
            ("c/c-0".to_owned(), "c")
        );
        assert!(!pod("2026-01-01T00:00:00Z".into()).ready);
        let operator = json!({"metadata": {"ownerReferences": [{"kind": "StatefulSet", "name": "demo-dc1-r1-sts"}]}});
        assert_eq!(Pod::of(&operator).set, "demo-dc1-r1-sts");
    }
}
