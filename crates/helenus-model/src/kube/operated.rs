//! How far K8ssandra's operators are with a cluster, by the status conditions of its resources, and what cass-operator
//! calls what it makes. Refuses to guess: what no operator has written yet is waited for.

use super::waiting::condition;
use serde_json::Value;

/// Label of cass-operator with a cluster's name, on all that it makes.
pub const CLUSTER: &str = "cassandra.datastax.com/cluster";

/// Label of cass-operator with a data centre's name.
pub const DATA_CENTER: &str = "cassandra.datastax.com/datacenter";

/// Label of cass-operator with a rack's name.
pub const RACK: &str = "cassandra.datastax.com/rack";

/// The value of [`CLUSTER`]: a cluster's name, without what a label may not end in.
pub fn cluster_value(cluster: &str) -> &str {
    cluster.trim_end_matches(|c: char| !c.is_ascii_alphanumeric())
}

/// The name that cass-operator makes of one: lower case, dashes for underscores, a letter first.
pub fn operator_name(name: &str) -> String {
    let lower = name.to_ascii_lowercase().replace('_', "-");
    let runs = lower.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    runs.map(|run| {
        run.trim_start_matches(|c: char| !c.is_ascii_lowercase())
            .trim_end_matches('-')
    })
    .collect()
}

/// The StatefulSet that cass-operator makes of a rack.
pub fn operator_set(cluster: &str, center: &str, rack: &str) -> String {
    let rack = rack.to_ascii_lowercase().replace('_', "-");
    format!("{}-{center}-{rack}-sts", operator_name(cluster))
}

/// The service that cass-operator makes for the clients of a data centre.
pub fn operator_service(cluster: &str, center: &str) -> String {
    format!("{}-{center}-service", operator_name(cluster))
}

/// A part of a cluster that an operator brings up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Such as `dc1` or `Reaper of dc1`.
    pub name: String,
    /// How far it is.
    pub state: PartState,
}

/// How far a part is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartState {
    /// It serves.
    Ready,
    /// It is under way; the operator's words.
    Waiting(String),
    /// The operator has given up on it; its words.
    Failed(String),
}

/// What no operator has looked at.
const UNTOUCHED: &str = "no operator has taken it up";

/// The parts of a `K8ssandraCluster` or of a `CassandraDatacenter`, as its status has them.
pub fn parts(resource: &Value) -> Vec<Part> {
    match resource["kind"].as_str() {
        Some("K8ssandraCluster") => of_cluster(resource),
        Some("CassandraDatacenter") => vec![Part {
            name: name_of(resource),
            state: of_data_center(&resource["status"]),
        }],
        _ => Vec::new(),
    }
}

/// The deployments that Medusa has in a cluster, a namespace and a name each; they have no part in its status.
pub fn medusa_deployments(resource: &Value) -> Vec<(String, String)> {
    if !resource["spec"]["medusa"].is_object() {
        return Vec::new();
    }
    let namespace = text(&resource["metadata"]["namespace"]);
    let cluster = name_of(resource);
    let name = |center: &Value| {
        let own = text(&center["metadata"]["namespace"]);
        let namespace = if own.is_empty() {
            namespace.clone()
        } else {
            own
        };
        let center = name_of(center);
        (namespace, format!("{cluster}-{center}-medusa-standalone"))
    };
    centers(resource).map(name).collect()
}

/// The Secret with the superuser: the one that was named, or the one that the operator makes.
pub fn superuser_secret(resource: &Value) -> String {
    match resource["kind"].as_str() {
        Some("K8ssandraCluster") => {
            let named = text(&resource["spec"]["cassandra"]["superuserSecretRef"]["name"]);
            match named.is_empty() {
                true => format!("{}-superuser", name_of(resource)),
                false => named,
            }
        }
        _ => {
            let named = text(&resource["spec"]["superuserSecretName"]);
            let cluster = text(&resource["spec"]["clusterName"]);
            match named.is_empty() {
                true => format!("{}-superuser", operator_name(&cluster)),
                false => named,
            }
        }
    }
}

fn centers(resource: &Value) -> impl Iterator<Item = &Value> {
    let all = resource["spec"]["cassandra"]["datacenters"].as_array();
    all.into_iter().flatten()
}

fn of_cluster(resource: &Value) -> Vec<Part> {
    let status = &resource["status"];
    let mut parts = Vec::new();
    let error = text(&status["error"]);
    if !error.is_empty() && error != "None" {
        parts.push(Part {
            name: name_of(resource),
            state: PartState::Failed(error),
        });
    }
    for center in centers(resource) {
        let name = name_of(center);
        let seen = &status["datacenters"][&name];
        parts.push(Part {
            state: of_data_center(&seen["cassandra"]),
            name: name.clone(),
        });
        if resource["spec"]["reaper"].is_object() {
            parts.push(Part {
                name: format!("Reaper of {name}"),
                state: of_reaper(&seen["reaper"]),
            });
        }
    }
    parts
}

fn of_data_center(status: &Value) -> PartState {
    if status.is_null() {
        return PartState::Waiting(UNTOUCHED.to_owned());
    }
    if let Some(invalid) = condition(status, "Valid").filter(|one| one["status"] == "False") {
        return PartState::Failed(format!("it is not valid: {}", text(&invalid["message"])));
    }
    let ready = condition(status, "Ready").is_some_and(|one| one["status"] == "True");
    if ready {
        return PartState::Ready;
    }
    let failed = status["failedStarts"].as_array().into_iter().flatten();
    let failed: Vec<&str> = failed.filter_map(Value::as_str).collect();
    let progress = match text(&status["cassandraOperatorProgress"]) {
        progress if progress.is_empty() => "not ready".to_owned(),
        progress => progress,
    };
    PartState::Waiting(match failed.is_empty() {
        true => progress,
        false => format!("{progress}; failed to start: {}", failed.join(", ")),
    })
}

fn of_reaper(status: &Value) -> PartState {
    match status["progress"].as_str() {
        Some("Running") => PartState::Ready,
        Some(progress) => PartState::Waiting(progress.to_owned()),
        None => PartState::Waiting(UNTOUCHED.to_owned()),
    }
}

fn name_of(resource: &Value) -> String {
    text(&resource["metadata"]["name"])
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn cluster(status: Value) -> Value {
        json!({
            "kind": "K8ssandraCluster",
            "metadata": {"name": "demo", "namespace": "k8"},
            "spec": {
                "reaper": {}, "medusa": {},
                "cassandra": {"datacenters": [{"metadata": {"name": "dc1"}}]},
            },
            "status": status,
        })
    }

    fn states(status: Value) -> Vec<PartState> {
        let all = parts(&cluster(status)).into_iter();
        all.map(|part| part.state).collect()
    }

    #[test]
    fn each_part_is_as_far_as_its_conditions_say() {
        let untouched = PartState::Waiting(UNTOUCHED.to_owned());
        assert_eq!(states(Value::Null), [untouched.clone(), untouched]);
        let center = |conditions: Value, progress: &str| {
            json!({"datacenters": {"dc1": {
                "cassandra": {"cassandraOperatorProgress": progress, "conditions": conditions},
                "reaper": {"progress": "Deploying"},
            }}})
        };
        let ready = json!([{"type": "Ready", "status": "True"}]);
        let deploying = PartState::Waiting("Deploying".to_owned());
        assert_eq!(
            states(center(ready, "Ready")),
            [PartState::Ready, deploying.clone()]
        );
        let updating = PartState::Waiting("Updating".to_owned());
        assert_eq!(states(center(json!([]), "Updating")), [updating, deploying]);
        let invalid = json!([{"type": "Valid", "status": "False", "message": "no storage"}]);
        let failed = PartState::Failed("it is not valid: no storage".to_owned());
        assert_eq!(states(center(invalid, "Updating"))[0], failed);
        let broken = states(json!({"error": "no such context"}));
        assert_eq!(broken[0], PartState::Failed("no such context".to_owned()));
    }

    #[test]
    fn what_belongs_to_it_is_found_by_name() {
        let cluster = cluster(Value::Null);
        assert_eq!(superuser_secret(&cluster), "demo-superuser");
        let medusa = ("k8".to_owned(), "demo-dc1-medusa-standalone".to_owned());
        assert_eq!(medusa_deployments(&cluster), [medusa]);
        let center = json!({"kind": "CassandraDatacenter", "spec": {"clusterName": "My_Demo"}});
        assert_eq!(superuser_secret(&center), "my-demo-superuser");
    }

    #[test]
    fn what_cass_operator_makes_has_its_names() {
        assert_eq!(cluster_value("My_Demo-_"), "My_Demo");
        for (name, wanted) in [("demo", "demo"), ("a__B-", "a--b"), ("9 lives", "lives")] {
            assert_eq!(operator_name(name), wanted);
        }
        assert_eq!(
            operator_set("My_Demo", "dc1", "Rack_1"),
            "my-demo-dc1-rack-1-sts"
        );
        assert_eq!(operator_service("My_Demo", "dc1"), "my-demo-dc1-service");
    }
}
