//! Settings of an existing cluster: keys of cassandra.yaml and flags of the JVM for its next start.
//! Refuses what its addresses, folders and tokens decide.

use super::{ClusterPlan, HEAP_FLAGS, PlanError, RESERVED, set_dotted};
use crate::release::{KeyError, Release};
use crate::yaml;
use serde_json::{Map, Value};

/// The port of clients, which all nodes have in common.
const PORT: &str = "native_transport_port";

/// Where a key of cassandra.yaml says how clients log in.
pub const AUTHENTICATOR: &str = "authenticator";

impl ClusterPlan {
    /// The plan with other settings of the named nodes. A key with null is taken out; a key that the plan itself decides
    /// is refused unless it has that value.
    ///
    /// # Errors
    /// [`PlanError::Reserved`], [`PlanError::Key`], [`PlanError::HeapFlag`], [`PlanError::NoFlag`].
    pub fn with_settings(
        &self,
        names: &[String],
        set: &[(String, Value)],
        jvm: &[String],
    ) -> Result<Self, PlanError> {
        let release = Release::facts_for(&self.release).unwrap_or(Release::newest());
        for flag in jvm {
            if HEAP_FLAGS.iter().any(|heap| flag.starts_with(heap)) {
                return Err(PlanError::HeapFlag(flag.clone()));
            }
            if !flag.starts_with(['-', '@']) {
                return Err(PlanError::NoFlag(flag.clone()));
            }
        }
        let mut plan = self.clone();
        let whole = self.nodes.iter().all(|node| names.contains(&node.name));
        if let Some((_, port)) = set.iter().rfind(|(key, _)| key == PORT)
            && let (true, Some(port)) = (whole, port.as_u64())
        {
            // One port is the port of all.
            plan.ports.cql = u16::try_from(port).map_err(|_| PlanError::Reserved(PORT.into()))?;
        }
        for node in &mut plan.nodes {
            if !names.contains(&node.name) {
                continue;
            }
            let mut map = match yaml::parse(&node.yaml) {
                Ok(Value::Object(map)) => map,
                _ => Map::new(),
            };
            for (key, value) in set {
                let (key, value) = match release.translate(key, value) {
                    Ok(own) => (own.name, own.value),
                    Err(KeyError::Inside { .. }) => (key.clone(), value.clone()),
                    Err(_) if value.is_null() => (key.clone(), Value::Null),
                    Err(error) => return Err(error.into()),
                };
                let path = format!("/{}", key.replace('.', "/"));
                let same = Value::Object(map.clone()).pointer(&path) == Some(&value);
                if !same && self.decides(&key) && (key != PORT || !whole) {
                    return Err(PlanError::Reserved(key));
                }
                match value {
                    Value::Null => drop(map.remove(&key)),
                    value => set_dotted(&mut map, &key, value),
                }
            }
            node.yaml = yaml::render(&Value::Object(map));
            let new = jvm.iter().filter(|flag| !node.jvm.contains(flag));
            let new: Vec<String> = new.cloned().collect();
            node.jvm.extend(new);
        }
        Ok(plan)
    }

    /// Whether the plan itself decides a key.
    fn decides(&self, key: &str) -> bool {
        let top = key.split('.').next().unwrap_or(key);
        // Readiness is asked over connections whose certificates Helenus made.
        let secured = match top {
            AUTHENTICATOR => self.security.auth,
            _ => top == "client_encryption_options",
        };
        secured || RESERVED.contains(&top)
    }

    /// Whether any node's cassandra.yaml makes clients log in.
    pub fn asks_for_password(&self) -> bool {
        self.nodes.iter().any(|node| {
            let Ok(yaml) = yaml::parse(&node.yaml) else {
                return false;
            };
            let class = match &yaml[AUTHENTICATOR] {
                Value::Object(map) => map.get("class_name").and_then(Value::as_str),
                other => other.as_str(),
            };
            class.is_some_and(|class| class.ends_with("PasswordAuthenticator"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;
    use crate::plan::tests::request;
    use crate::preset::PresetName;
    use serde_json::json;

    fn three() -> ClusterPlan {
        plan(&request(3, PresetName::Tiny)).expect("a plan")
    }

    fn set(key: &str, value: Value) -> Vec<(String, Value)> {
        vec![(key.to_owned(), value)]
    }

    #[test]
    fn named_nodes_change_and_the_others_stay() {
        let before = three();
        let key = "read_request_timeout";
        let flag = "-Dcassandra.x=1".to_owned();
        let flags = [flag.clone(), flag.clone()];
        let after =
            before.with_settings(&["node2".to_owned()], &set(key, json!("7s")), &flags[..1]);
        let after = after.expect("changed");
        assert_eq!(before.nodes[0], after.nodes[0]);
        let yaml = yaml::parse(&after.nodes[1].yaml).expect("YAML");
        assert_eq!(yaml[key], json!("7s"));
        let again = after.with_settings(&["node2".to_owned()], &set(key, Value::Null), &flags[..1]);
        let again = again.expect("changed");
        let yaml = yaml::parse(&again.nodes[1].yaml).expect("YAML");
        assert!(yaml.get(key).is_none());
        let count = again.nodes[1].jvm.iter().filter(|f| **f == flag).count();
        assert_eq!(count, 1, "a flag is there once");
    }

    #[test]
    fn what_the_plan_decides_is_refused_unless_it_stays() {
        let plan = three();
        let all: Vec<String> = plan.nodes.iter().map(|n| n.name.clone()).collect();
        let change = |set: &[(String, Value)], jvm: &[String]| {
            plan.with_settings(&all, set, jvm).map(|_| ()).unwrap_err()
        };
        let error = change(&set("listen_address", json!("10.0.0.1")), &[]);
        assert_eq!(error, PlanError::Reserved("listen_address".into()));
        let same = plan.with_settings(&all, &set("start_native_transport", json!(true)), &[]);
        assert_eq!(same.expect("as it is"), plan);
        let error = change(&[], &["-Xmx1G".to_owned()]);
        assert_eq!(error, PlanError::HeapFlag("-Xmx1G".into()));
        let error = change(&set("concurent_reads", json!(1)), &[]);
        assert!(error.hint().contains("concurrent_reads"), "{error}");
    }

    #[test]
    fn the_port_of_clients_is_that_of_all_nodes() {
        let plan = three();
        let all: Vec<String> = plan.nodes.iter().map(|n| n.name.clone()).collect();
        let port = set(PORT, json!(9046));
        let error = plan.with_settings(&all[..1], &port, &[]).map(|_| ());
        assert_eq!(error, Err(PlanError::Reserved(PORT.into())));
        let moved = plan.with_settings(&all, &port, &[]).expect("changed");
        assert_eq!(moved.ports.cql, 9046);
        let yaml = yaml::parse(&moved.nodes[2].yaml).expect("YAML");
        assert_eq!(yaml[PORT], json!(9046));
    }

    #[test]
    fn a_password_is_seen_in_both_forms_of_the_key() {
        let plan = three();
        let all: Vec<String> = plan.nodes.iter().map(|n| n.name.clone()).collect();
        assert!(!plan.asks_for_password());
        for value in [
            json!("PasswordAuthenticator"),
            json!({"class_name": "org.apache.cassandra.auth.PasswordAuthenticator"}),
        ] {
            let plan = plan.with_settings(&all[2..], &set(AUTHENTICATOR, value), &[]);
            assert!(plan.expect("changed").asks_for_password());
        }
    }
}
