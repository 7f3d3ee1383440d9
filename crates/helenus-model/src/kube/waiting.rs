//! Why pods are not ready, and what to do about it, from what the API server says of pods, claims, workers and events.
//! Refuses to ask it: it is given the answer of `kubectl get … -o json`.

use super::stateful::CONTAINER;
use serde::Serialize;
use serde_json::Value;

/// What keeps a pod from being ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Blocker {
    /// Its worker does not report any more.
    Worker {
        /// Name of the worker.
        worker: String,
    },
    /// No worker takes it; the scheduler's words.
    Unschedulable(String),
    /// Its volume is not there yet; the words of who makes it.
    Volume(String),
    /// Its image cannot be had.
    Image {
        /// The image.
        image: String,
        /// Whether the pod may not fetch it, so that it has to be on the worker.
        never_pulled: bool,
        /// Words of the container runtime.
        said: String,
    },
    /// The API server does not let it be made; its words.
    Refused(String),
    /// A Secret or ConfigMap that it names is not there.
    Missing(String),
    /// Killed, for it took more memory than its limit.
    OutOfMemory {
        /// The limit, as the manifest has it.
        limit: String,
        /// How often it was restarted.
        restarts: u64,
    },
    /// Ended by itself.
    Crash {
        /// Exit code.
        exit: i64,
        /// How often it was restarted.
        restarts: u64,
    },
    /// Runs, and its probe fails; the probe's words.
    Probe(String),
    /// Being made or fetched.
    Starting,
}

/// A pod that is not ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// Namespace.
    pub namespace: String,
    /// Name of the pod.
    pub pod: String,
    /// What keeps it.
    pub blocker: Blocker,
}

impl Blocker {
    /// In words that follow the pod's name.
    pub fn why(&self) -> String {
        match self {
            Self::Worker { worker } => format!("its worker {worker} is not ready"),
            Self::Unschedulable(said) => format!("unschedulable: {said}"),
            Self::Volume(said) => format!("its volume is not provisioned: {said}"),
            Self::Image { image, said, .. } => format!("image {image} cannot be pulled: {said}"),
            Self::Refused(said) => format!("the API server refuses it: {said}"),
            Self::Missing(said) => format!("it cannot be created: {said}"),
            Self::OutOfMemory { limit, restarts } => {
                format!(
                    "OOMKilled at its memory limit of {limit}; {}",
                    times(*restarts)
                )
            }
            Self::Crash { exit, restarts } => {
                format!(
                    "its container ended with exit code {exit}; {}",
                    times(*restarts)
                )
            }
            Self::Probe(said) => format!("running, but not ready: {said}"),
            Self::Starting => "starting".to_owned(),
        }
    }

    /// What to do, where waiting alone will not help.
    pub fn remedy(&self) -> Option<String> {
        Some(match self {
            Self::Worker { worker } => format!("start the kubelet of {worker} again, or delete the node so that its pods move"),
            Self::Unschedulable(said) => unschedulable(said).to_owned(),
            Self::Volume(_) => "name a StorageClass that provisions volumes with --storage-class, or use --storage none; kubectl get storageclass lists them".to_owned(),
            Self::Image { never_pulled: true, image, .. } => {
                format!("load {image} into the workers (`kind load image-archive`, `ctr images import`), or use --pull-policy IfNotPresent")
            }
            Self::Image { image, .. } => format!("load {image} into the workers, or push it to a registry that they reach; `helenus kube image` makes it"),
            Self::Refused(_) => "a quota or an admission rule of the namespace forbids it: request less, or ask the person who set the rule".to_owned(),
            Self::Missing(_) => "make the Secret or ConfigMap that is named; `helenus kube secret` writes a Secret".to_owned(),
            Self::OutOfMemory { .. } => "give it a smaller --heap, or a larger limit with --page-cache".to_owned(),
            Self::Crash { .. } => "helenus kube logs NAME/POD --previous shows why".to_owned(),
            Self::Probe(_) | Self::Starting => return None,
        })
    }

    /// Whether it will not go away by itself, however long one waits. A container that ended once may do better the next
    /// time.
    pub fn stays(&self) -> bool {
        match self {
            Self::Probe(_) | Self::Starting => false,
            Self::OutOfMemory { restarts, .. } | Self::Crash { restarts, .. } => *restarts > 1,
            _ => true,
        }
    }
}

fn times(restarts: u64) -> String {
    match restarts {
        0 => "not restarted yet".to_owned(),
        1 => "restarted once".to_owned(),
        n => format!("restarted {n} times"),
    }
}

/// The remedy by the scheduler's words.
fn unschedulable(said: &str) -> &'static str {
    let cures = [
        (
            "anti-affinity",
            "add workers, or use --spread preferred: several nodes then share a worker",
        ),
        (
            "node affinity",
            "label the workers of each data centre: kubectl label node WORKER LABEL=DC",
        ),
        (
            "node selector",
            "label the workers of each data centre: kubectl label node WORKER LABEL=DC",
        ),
        (
            "Insufficient memory",
            "use a smaller preset or --heap, or larger workers",
        ),
        (
            "Insufficient cpu",
            "ask for less with --cpu-request, or use larger workers",
        ),
        (
            "PersistentVolumeClaim",
            "name a StorageClass that provisions volumes with --storage-class, or use --storage none",
        ),
        (
            "taint",
            "remove the taint from a worker, or let the pods tolerate it",
        ),
        (
            "unschedulable",
            "allow pods on the workers again: kubectl uncordon WORKER",
        ),
    ];
    let found = cures.iter().find(|(word, _)| said.contains(word));
    found.map_or("kubectl describe pod shows more", |(_, cure)| cure)
}

/// The pods that are not ready, each with what keeps it: by an answer with pods, nodes, claims and events in its `items`.
pub fn waiting(items: &[Value]) -> Vec<Waiting> {
    let pods = items.iter().filter(|item| item["kind"] == "Pod");
    let of = |pod: &Value| {
        let blocker = blocker(pod, items)?;
        let text = |at: &str| {
            pod.pointer(at)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        Some(Waiting {
            namespace: text("/metadata/namespace"),
            pod: text("/metadata/name"),
            blocker,
        })
    };
    let mut all: Vec<Waiting> = pods.filter_map(of).collect();
    let sets = items.iter().filter(|item| item["kind"] == "StatefulSet");
    all.extend(sets.filter_map(|set| unmade(set, items)));
    all
}

/// A StatefulSet that cannot make its pods.
fn unmade(set: &Value, items: &[Value]) -> Option<Waiting> {
    let wanted = set["spec"]["replicas"].as_u64().unwrap_or(1);
    let made = set["status"]["replicas"].as_u64().unwrap_or_default();
    let said = last_event(set, items, &["FailedCreate"]).filter(|_| made < wanted)?;
    let text = |key: &str| set["metadata"][key].as_str().unwrap_or_default().to_owned();
    Some(Waiting {
        namespace: text("namespace"),
        pod: format!("{}-{made}", text("name")),
        blocker: Blocker::Refused(said),
    })
}

/// What keeps a pod; nothing where it is ready.
fn blocker(pod: &Value, items: &[Value]) -> Option<Blocker> {
    let worker = pod["spec"]["nodeName"].as_str().unwrap_or_default();
    let nodes = items.iter().filter(|item| item["kind"] == "Node");
    let lost = nodes
        .filter(|node| node["metadata"]["name"] == worker)
        .any(|node| condition(&node["status"], "Ready").is_some_and(|c| c["status"] != "True"));
    if lost {
        return Some(Blocker::Worker {
            worker: worker.to_owned(),
        });
    }
    if is_ready(pod) {
        return None;
    }
    let scheduled = condition(&pod["status"], "PodScheduled");
    if let Some(said) = scheduled.filter(|c| c["status"] == "False") {
        return Some(
            of_claims(pod, items).unwrap_or_else(|| Blocker::Unschedulable(said_of(said))),
        );
    }
    let statuses = pod["status"]["containerStatuses"].as_array();
    let status = statuses
        .into_iter()
        .flatten()
        .find(|s| s["name"] == CONTAINER);
    if let Some(found) = status.and_then(|status| of_container(pod, status)) {
        return Some(found);
    }
    let running = status.is_some_and(|status| status["state"]["running"].is_object());
    let probe = last_event(pod, items, &["Unhealthy"]);
    Some(match (running, probe) {
        (true, Some(said)) => Blocker::Probe(said),
        (true, None) => Blocker::Probe("it has not answered a query yet".to_owned()),
        (false, _) => match last_event(pod, items, &["FailedMount", "FailedAttachVolume"]) {
            Some(said) => Blocker::Missing(said),
            None => Blocker::Starting,
        },
    })
}

/// What its container says, where it does not run or was killed.
fn of_container(pod: &Value, status: &Value) -> Option<Blocker> {
    let restarts = status["restartCount"].as_u64().unwrap_or_default();
    let waiting = &status["state"]["waiting"];
    let said = said_of(waiting);
    let image = status["image"].as_str().unwrap_or_default().to_owned();
    let reason = waiting["reason"].as_str().unwrap_or_default();
    let ended = [
        &status["state"]["terminated"],
        &status["lastState"]["terminated"],
    ];
    let ended = ended.into_iter().find(|ended| ended.is_object());
    match reason {
        "ErrImagePull" | "ImagePullBackOff" | "InvalidImageName" | "ErrImageNeverPull" => {
            Some(Blocker::Image {
                image,
                never_pulled: reason == "ErrImageNeverPull",
                said: if said.is_empty() {
                    reason.to_owned()
                } else {
                    said
                },
            })
        }
        "CreateContainerConfigError" | "CreateContainerError" => Some(Blocker::Missing(said)),
        _ => {
            let ended = ended?;
            let exit = ended["exitCode"].as_i64().unwrap_or_default();
            let by_kernel = ended["reason"] == "OOMKilled";
            Some(if by_kernel {
                Blocker::OutOfMemory {
                    limit: limit_of(pod),
                    restarts,
                }
            } else {
                Blocker::Crash { exit, restarts }
            })
        }
    }
}

/// A claim of the pod that waits for somebody, where that is what the scheduler waits for.
fn of_claims(pod: &Value, items: &[Value]) -> Option<Blocker> {
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    let names = volumes.filter_map(|volume| volume["persistentVolumeClaim"]["claimName"].as_str());
    let mut failed = names.filter_map(|name| {
        let claims = items
            .iter()
            .filter(|item| item["kind"] == "PersistentVolumeClaim");
        let claim = claims
            .filter(|claim| claim["metadata"]["namespace"] == pod["metadata"]["namespace"])
            .find(|claim| {
                claim["metadata"]["name"] == name && claim["status"]["phase"] == "Pending"
            })?;
        last_event(claim, items, &["ProvisioningFailed", "FailedBinding"])
    });
    failed.next().map(Blocker::Volume)
}

fn limit_of(pod: &Value) -> String {
    let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
    let mut limits = containers.filter(|c| c["name"] == CONTAINER);
    let limit = limits
        .next()
        .and_then(|c| c.pointer("/resources/limits/memory")?.as_str());
    limit.unwrap_or("its worker's memory").to_owned()
}

/// Whether the API server says that a pod is ready.
pub fn is_ready(pod: &Value) -> bool {
    condition(&pod["status"], "Ready").is_some_and(|one| one["status"] == "True")
}

/// The condition of this kind in a status.
pub fn condition<'a>(status: &'a Value, kind: &str) -> Option<&'a Value> {
    let all = status["conditions"].as_array()?;
    all.iter().find(|condition| condition["type"] == kind)
}

/// A `message` in one line, without what the scheduler says of preemption.
fn said_of(object: &Value) -> String {
    let said = object["message"].as_str().unwrap_or_default();
    let said = said.split(" preemption:").next().unwrap_or_default();
    let said = said.split(" no new claims to deallocate").next();
    let words = said.unwrap_or_default().split_whitespace();
    words.collect::<Vec<_>>().join(" ")
}

/// What the last event of these reasons says of an object.
fn last_event(of: &Value, items: &[Value], reasons: &[&str]) -> Option<String> {
    let about = |event: &&Value| {
        let object = &event["involvedObject"];
        let same = ["name", "namespace"]
            .iter()
            .all(|key| object[key] == of["metadata"][key]);
        same && event["reason"]
            .as_str()
            .is_some_and(|reason| reasons.contains(&reason))
    };
    let when = |event: &Value| {
        let times = ["lastTimestamp", "eventTime", "firstTimestamp"];
        times
            .iter()
            .find_map(|key| event[key].as_str().map(str::to_owned))
            .unwrap_or_default()
    };
    let events = items.iter().filter(|item| item["kind"] == "Event");
    events
        .filter(about)
        .max_by_key(|event| when(event))
        .map(said_of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(status: Value) -> Value {
        json!({
            "kind": "Pod",
            "metadata": {"name": "demo-0", "namespace": "demo"},
            "spec": {
                "nodeName": "worker1",
                "containers": [{"name": "cassandra", "resources": {"limits": {"memory": "300Mi"}}}],
                "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data-demo-0"}}],
            },
            "status": status,
        })
    }

    fn not_ready(more: Value) -> Value {
        json!({"conditions": [{"type": "Ready", "status": "False"}], "containerStatuses": [more]})
    }

    fn event(name: &str, reason: &str, message: &str, at: &str) -> Value {
        json!({
            "kind": "Event", "reason": reason, "message": message, "lastTimestamp": at,
            "involvedObject": {"name": name, "namespace": "demo"},
        })
    }

    fn said(items: &[Value]) -> String {
        let lines = waiting(items).into_iter().map(|w| {
            let remedy = w
                .blocker
                .remedy()
                .map(|r| format!(" ({r})"))
                .unwrap_or_default();
            format!("{}/{}: {}{remedy}", w.namespace, w.pod, w.blocker.why())
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_pod_that_is_ready_waits_for_nothing() {
        let ready = pod(json!({"conditions": [{"type": "Ready", "status": "True"}]}));
        assert!(waiting(&[ready]).is_empty());
    }

    #[test]
    fn each_reason_has_its_remedy() {
        let unscheduled = |message: &str| {
            pod(
                json!({"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}]}),
            )
        };
        insta::assert_snapshot!(said(&[unscheduled("0/1 nodes are available: 1 Insufficient memory. preemption: 0/1 nodes are available: 1 No preemption victims found.")]), @"demo/demo-0: unschedulable: 0/1 nodes are available: 1 Insufficient memory. (use a smaller preset or --heap, or larger workers)");
        insta::assert_snapshot!(said(&[unscheduled("0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules.")]), @"demo/demo-0: unschedulable: 0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules. (add workers, or use --spread preferred: several nodes then share a worker)");
        let claim = json!({"kind": "PersistentVolumeClaim", "metadata": {"name": "data-demo-0", "namespace": "demo"}, "status": {"phase": "Pending"}});
        let no_class = event(
            "data-demo-0",
            "ProvisioningFailed",
            "storageclass \"fast\" not found",
            "2026-01-01T00:00:00Z",
        );
        insta::assert_snapshot!(said(&[unscheduled("0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."), claim, no_class]), @r#"demo/demo-0: its volume is not provisioned: storageclass "fast" not found (name a StorageClass that provisions volumes with --storage-class, or use --storage none; kubectl get storageclass lists them)"#);
        let never = pod(not_ready(
            json!({"name": "cassandra", "image": "localhost/c:9", "restartCount": 0, "state": {"waiting": {"reason": "ErrImageNeverPull", "message": "Container image \"localhost/c:9\" is not present with pull policy of Never"}}}),
        ));
        insta::assert_snapshot!(said(&[never]), @r#"demo/demo-0: image localhost/c:9 cannot be pulled: Container image "localhost/c:9" is not present with pull policy of Never (load localhost/c:9 into the workers (`kind load image-archive`, `ctr images import`), or use --pull-policy IfNotPresent)"#);
        let killed = pod(not_ready(
            json!({"name": "cassandra", "restartCount": 2, "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}, "lastState": {"terminated": {"reason": "OOMKilled", "exitCode": 137}}}),
        ));
        insta::assert_snapshot!(said(&[killed]), @"demo/demo-0: OOMKilled at its memory limit of 300Mi; restarted 2 times (give it a smaller --heap, or a larger limit with --page-cache)");
        let crashed = pod(not_ready(
            json!({"name": "cassandra", "restartCount": 1, "state": {"running": {}}, "lastState": {"terminated": {"reason": "Error", "exitCode": 3}}}),
        ));
        insta::assert_snapshot!(said(&[crashed]), @"demo/demo-0: its container ended with exit code 3; restarted once (helenus kube logs NAME/POD --previous shows why)");
    }

    #[test]
    fn a_pod_that_runs_is_waited_for_with_its_probes_last_words() {
        let runs = pod(not_ready(
            json!({"name": "cassandra", "restartCount": 0, "state": {"running": {}}}),
        ));
        let old = event(
            "demo-0",
            "Unhealthy",
            "Startup probe failed: refused",
            "2026-01-01T00:00:00Z",
        );
        let new = event(
            "demo-0",
            "Unhealthy",
            "Startup probe failed: the node joins",
            "2026-01-01T00:00:09Z",
        );
        assert_eq!(
            said(&[runs.clone(), new, old]),
            "demo/demo-0: running, but not ready: Startup probe failed: the node joins"
        );
        assert!(!waiting(&[runs])[0].blocker.stays());
    }

    #[test]
    fn a_worker_that_is_gone_is_named_though_its_pods_look_ready() {
        let ready = pod(json!({"conditions": [{"type": "Ready", "status": "True"}]}));
        let node = json!({"kind": "Node", "metadata": {"name": "worker1"}, "status": {"conditions": [{"type": "Ready", "status": "Unknown", "message": "Kubelet stopped posting node status."}]}});
        insta::assert_snapshot!(said(&[ready, node]), @"demo/demo-0: its worker worker1 is not ready (start the kubelet of worker1 again, or delete the node so that its pods move)");
    }
}
