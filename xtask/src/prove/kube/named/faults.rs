//! The faults, and how the API server shows them.
//! Refuses to guess from helenus's words: each is known by what Kubernetes itself says.

use helenus_model::kube::waiting::condition;
use serde_json::Value;

/// A fault that `kube up` runs into.
pub(super) struct Fault {
    /// What it is.
    pub(super) what: &'static str,
    /// Flags that cause it.
    pub(super) flags: &'static [&'static str],
    /// Kind of the objects that show it.
    pub(super) kind: &'static str,
    /// Whether such an object shows it.
    pub(super) shown: fn(&Value) -> bool,
    /// Words of the line that names it: of its cause, and of its remedy.
    pub(super) words: &'static [&'static str],
}

/// All that `kube up` runs into.
pub(super) const FAULTS: [Fault; 4] = [
    Fault {
        what: "an image that is not there",
        flags: &["--image", "localhost/helenus-not-there:1"],
        kind: "pods",
        shown: |pod| waits(pod, &["ErrImageNeverPull"]),
        words: &["localhost/helenus-not-there:1 cannot be pulled", "; load "],
    },
    Fault {
        what: "an image that cannot be pulled",
        flags: &[
            "--image",
            "localhost/helenus-not-there:1",
            "--pull-policy",
            "IfNotPresent",
        ],
        kind: "pods",
        shown: |pod| waits(pod, &["ErrImagePull", "ImagePullBackOff"]),
        words: &["localhost/helenus-not-there:1 cannot be pulled", "; load "],
    },
    Fault {
        what: "a request that no worker satisfies",
        flags: &["--cpu-request", "64"],
        kind: "pods",
        shown: |pod| unscheduled(pod, "Insufficient cpu"),
        words: &["Insufficient cpu", "ask for less with --cpu-request"],
    },
    Fault {
        what: "a StorageClass that is not there",
        flags: &["--storage", "1G", "--storage-class", "helenus-not-there"],
        kind: "events",
        shown: |event| event["reason"] == "ProvisioningFailed",
        words: &["helenus-not-there", "with --storage-class"],
    },
];

/// A heap that is taken whole at the start: pages of files alone would be given back, slowly, before the kernel kills.
pub(super) const WHOLE_HEAP: [&str; 4] = ["--heap", "512M", "--jvm", "-XX:+AlwaysPreTouch"];

/// Half of that heap as the limit.
pub(super) const LESS_MEMORY: &str = r#"[{"op": "replace", "path": "/spec/template/spec/containers/0/resources", "value": {"requests": {"cpu": "50m", "memory": "256Mi"}, "limits": {"memory": "256Mi"}}}]"#;

/// A namespace with something in it.
pub(super) const FOREIGN_OBJECTS: &str = r#"
apiVersion: v1
kind: Namespace
metadata:
  name: prove-foreign
  labels: {owner: somebody-else}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: theirs
  namespace: prove-foreign
data: {key: value}
"#;

/// Whether a container waits for one of these reasons.
fn waits(pod: &Value, reasons: &[&str]) -> bool {
    containers(pod).any(|one| {
        one["state"]["waiting"]["reason"]
            .as_str()
            .is_some_and(|reason| reasons.contains(&reason))
    })
}

fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    pod["status"]["containerStatuses"]
        .as_array()
        .into_iter()
        .flatten()
}

/// Whether the scheduler finds no place, for this reason.
fn unscheduled(pod: &Value, why: &str) -> bool {
    condition(&pod["status"], "PodScheduled").is_some_and(|one| {
        one["status"] == "False" && one["message"].as_str().is_some_and(|m| m.contains(why))
    })
}

/// Whether a container was killed for memory.
pub(super) fn killed_for_memory(pod: &Value) -> bool {
    containers(pod).any(|one| {
        ["state", "lastState"]
            .iter()
            .any(|when| one[when]["terminated"]["reason"] == "OOMKilled")
    })
}

/// Whether this is the worker, and it is not ready.
pub(super) fn reports_no_more(node: &Value, worker: &str) -> bool {
    node["metadata"]["name"] == worker
        && condition(&node["status"], "Ready").is_some_and(|one| one["status"] != "True")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn faults_are_known_by_what_kubernetes_says() {
        let pod = |state: Value| json!({"status": {"containerStatuses": [{"state": state}]}});
        let never = pod(json!({"waiting": {"reason": "ErrImageNeverPull"}}));
        let made = pod(json!({"waiting": {"reason": "ContainerCreating"}}));
        assert!((FAULTS[0].shown)(&never) && !(FAULTS[0].shown)(&made));
        assert!(!(FAULTS[1].shown)(&never));
        let pending = |said: &str| json!({"status": {"conditions": [{"type": "PodScheduled", "status": "False", "message": said}]}});
        let shown = FAULTS[2].shown;
        assert!(shown(&pending(
            "0/1 nodes are available: 1 Insufficient cpu."
        )));
        assert!(!shown(&pending(
            "0/1 nodes are available: 1 Insufficient memory."
        )));
        assert!((FAULTS[3].shown)(&json!({"reason": "ProvisioningFailed"})));
        assert!(killed_for_memory(&pod(
            json!({"terminated": {"reason": "OOMKilled"}})
        )));
        assert!(!killed_for_memory(&never));
        let node = |status: &str| json!({"metadata": {"name": "w"}, "status": {"conditions": [{"type": "Ready", "status": status}]}});
        assert!(reports_no_more(&node("Unknown"), "w"));
        assert!(!reports_no_more(&node("True"), "w") && !reports_no_more(&node("False"), "v"));
    }
}
