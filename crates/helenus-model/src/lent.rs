//! What an experiment may change in the nodes of an existing cluster, on Kubernetes or on hosts, and the plan that comes
//! of it. Refuses what would make another cluster of it.

use crate::plan::{ClusterPlan, PlanError, PlanRequest, plan};
use crate::preset::PresetName;
use crate::units::Bytes;
use serde_json::Value;

/// Keys, as flags without their dashes, that the nodes of a cluster can be given anew.
pub const CHANGES: [&str; 6] = ["preset", "heap", "new-heap", "set", "jvm", "cpus"];

/// Why a key cannot be changed in an existing cluster, and what to do instead.
const FIXED: [(&[&str], &str, &str); 7] = [
    (
        &["nodes", "dc", "coordinators", "tokens"],
        "the nodes already exist",
        "bring up a cluster with others",
    ),
    (
        &["cassandra", "cassandra-home", "java-home", "no-archive"],
        "the release and Java are already installed",
        "bring up a cluster with others",
    ),
    (
        &["auth", "tls", "client-auth"],
        "passwords and certificates already exist",
        "bring up a cluster with others",
    ),
    (
        &["memory"],
        "a node's limit was decided when the cluster was brought up",
        "vary heap",
    ),
    (
        &["disk", "disk-read", "disk-write", "disk-iops", "read-ahead"],
        "the disk is the other machine's",
        "leave it out, or use a local cluster: it can limit its nodes' disk",
    ),
    (
        &["rtt"],
        "distances are emulated on this machine only",
        "leave it out, or use a local cluster of several data centres",
    ),
    (
        &["populate"],
        "data is restored from folders of a local cluster",
        "leave [populate] out: let [warm], or a phase of the runs, write what is read",
    ),
];

/// What the nodes of a cluster are given, over what they were brought up with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeChange {
    /// Preset in place of theirs.
    pub preset: Option<PresetName>,
    /// `-Xmx` in place of theirs; a young generation that was asked for beside the old one goes with it.
    pub heap: Option<Bytes>,
    /// `-Xmn` in place of theirs.
    pub new_heap: Option<Bytes>,
    /// Checked `cassandra.yaml` keys with their values, after theirs.
    pub set: Vec<(String, Value)>,
    /// Flags of the JVM, after theirs.
    pub jvm: Vec<String>,
    /// Processors of each in place of theirs.
    pub cpus: Option<f64>,
}

impl NodeChange {
    /// The plan of a cluster that was asked for so, with this change.
    ///
    /// # Errors
    /// As for a plan.
    pub fn plan(&self, of: &PlanRequest) -> Result<ClusterPlan, PlanError> {
        let mut request = of.clone();
        request.spec.preset = self.preset.unwrap_or(of.spec.preset);
        if self.heap.is_some() {
            (request.spec.heap, request.spec.new_heap) = (self.heap, None);
        }
        request.spec.new_heap = self.new_heap.or(request.spec.new_heap);
        request.spec.set.extend(self.set.iter().cloned());
        request.spec.jvm.extend(self.jvm.iter().cloned());
        request.spec.cpus = self.cpus.or(of.spec.cpus);
        plan(&request)
    }
}

/// A key of an experiment that a cluster which is there cannot be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{key} cannot be changed in an existing cluster: {why}")]
pub struct Unchangeable {
    /// The key.
    pub key: &'static str,
    /// Why.
    pub why: &'static str,
    /// What to do.
    pub hint: &'static str,
}

/// Whether an experiment on an existing cluster may set this key.
///
/// # Errors
/// Why not.
pub fn changeable(key: &str) -> Result<(), Unchangeable> {
    let groups = FIXED.iter();
    let mut all =
        groups.flat_map(|(keys, why, hint)| keys.iter().map(move |key| (*key, why, hint)));
    match all.find(|(own, ..)| *own == key) {
        None => Ok(()),
        Some((key, why, hint)) => Err(Unchangeable { key, why, hint }),
    }
}

/// Why the nodes of a cluster cannot be changed for an experiment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotLent {
    /// An operator holds its settings.
    #[error("an operator manages {name} and decides on the settings of its nodes")]
    Operated {
        /// The cluster.
        name: String,
    },
    /// What it was asked for is not kept.
    #[error("the settings that {name} was created with are not known")]
    Unknown {
        /// The cluster.
        name: String,
        /// The verb that brought it up.
        up: &'static str,
    },
    /// This version plans it otherwise.
    #[error("another version of helenus started {name}, and this one plans it differently")]
    Otherwise {
        /// The cluster.
        name: String,
        /// The verb that brought it up.
        up: &'static str,
    },
    /// Its roles would go with its pods.
    #[error("{name} requires passwords and has no volumes: its roles would be lost with its pods")]
    Roles {
        /// The cluster.
        name: String,
    },
}

impl NotLent {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Operated { .. } => {
                "use a cluster that was applied without --as; `run --on` measures this one as it is"
                    .to_owned()
            }
            Self::Unknown { name, up } | Self::Otherwise { name, up } => format!(
                "bring it up once more, from its topology or its flags: helenus {up} --name {name} …"
            ),
            Self::Roles { .. } => "apply it with --storage, or without --auth".to_owned(),
        }
    }
}

/// What a cluster was asked for that the verb `up` brought up, where this version still plans it so.
///
/// # Errors
/// It is not known, or comes to another plan.
pub fn as_asked<'a>(
    plan: &ClusterPlan,
    asked: Option<&'a PlanRequest>,
    up: &'static str,
) -> Result<&'a PlanRequest, NotLent> {
    let name = plan.name.clone();
    let Some(asked) = asked else {
        return Err(NotLent::Unknown { name, up });
    };
    match NodeChange::default().plan(asked) {
        Ok(same) if same == *plan => Ok(asked),
        _ => Err(NotLent::Otherwise { name, up }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kube::tests::one;
    use serde_json::json;

    #[test]
    fn a_change_comes_after_what_was_asked_for() {
        let mut of = one(3);
        of.spec.set = vec![("concurrent_reads".to_owned(), json!(8))];
        of.spec.heap = Some(Bytes::mib(128));
        of.spec.new_heap = Some(Bytes::mib(100));
        let before = plan(&of).expect("a plan");
        let change = NodeChange {
            heap: Some(Bytes::mib(96)),
            set: vec![("concurrent_reads".to_owned(), json!(4))],
            jvm: vec!["-Xss512k".to_owned()],
            ..NodeChange::default()
        };
        let after = change.plan(&of).expect("a plan");
        let node = &after.nodes[0];
        assert!(node.yaml.contains("concurrent_reads: 4"), "{}", node.yaml);
        assert_eq!(node.jvm.last().map(String::as_str), Some("-Xss512k"));
        assert!(
            node.jvm.iter().any(|flag| flag == "-Xmx96M"),
            "{:?}",
            node.jvm
        );
        // A young generation of 100 MiB would not fit.
        assert!(after.heap.new < before.heap.new);
        assert_eq!(after.nodes[0].tokens, before.nodes[0].tokens);
        let dev = NodeChange {
            preset: Some(PresetName::Dev),
            ..NodeChange::default()
        };
        let dev = dev.plan(&of).expect("a plan");
        assert_eq!(
            (dev.preset, dev.heap.heap),
            (PresetName::Dev, Bytes::mib(128))
        );
        assert_eq!(NodeChange::default().plan(&of), Ok(before));
    }

    #[test]
    fn each_key_of_a_cluster_is_changed_or_refused_with_a_cure() {
        for key in CHANGES {
            assert_eq!(changeable(key), Ok(()));
        }
        let refused = |key: &str| {
            let error = changeable(key).expect_err("refused");
            format!("{error} ({})", error.hint)
        };
        insta::assert_snapshot!(refused("read-ahead"), @"read-ahead cannot be changed in an existing cluster: the disk is the other machine's (leave it out, or use a local cluster: it can limit its nodes' disk)");
        insta::assert_snapshot!(refused("populate"), @"populate cannot be changed in an existing cluster: data is restored from folders of a local cluster (leave [populate] out: let [warm], or a phase of the runs, write what is read)");
    }

    #[test]
    fn what_was_asked_for_must_come_to_the_same_plan() {
        let of = one(3);
        let own = plan(&of).expect("a plan");
        assert_eq!(as_asked(&own, Some(&of), "hosts up"), Ok(&of));
        let refused = |of: Option<&PlanRequest>| {
            let error = as_asked(&own, of, "hosts up").expect_err("refused");
            format!("{error} ({})", error.hint())
        };
        insta::assert_snapshot!(refused(None), @"the settings that demo was created with are not known (bring it up once more, from its topology or its flags: helenus hosts up --name demo …)");
        let mut other = of.clone();
        other.spec.tokens = 4;
        insta::assert_snapshot!(refused(Some(&other)), @"another version of helenus started demo, and this one plans it differently (bring it up once more, from its topology or its flags: helenus hosts up --name demo …)");
    }
}
