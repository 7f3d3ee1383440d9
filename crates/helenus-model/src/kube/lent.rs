//! What an experiment may change in the pods of a cluster that is there, and the plan that comes of it.
//! Refuses what would make another cluster of it, and what Kubernetes or the pods' image decides.

use super::options::{Form, KubeError, Options};
use super::render;
use crate::plan::{ClusterPlan, PlanError, PlanRequest, plan};
use crate::preset::PresetName;
use crate::units::Bytes;
use serde_json::Value;

/// Keys, as flags without their dashes, that the pods of a cluster can be given anew.
pub const CHANGES: [&str; 6] = ["preset", "heap", "new-heap", "set", "jvm", "cpus"];

/// Why a key of a cluster cannot be one of pods, and what to do instead.
const NOT_ON_PODS: [(&[&str], &str, &str); 7] = [
    (
        &["nodes", "dc", "coordinators", "tokens"],
        "the nodes are those that are there",
        "`helenus kube up` makes a cluster with others",
    ),
    (
        &["cassandra", "cassandra-home", "java-home", "no-archive"],
        "it is a matter of the pods' image",
        "apply the cluster with another image: helenus kube up --image",
    ),
    (
        &["auth", "tls", "client-auth"],
        "passwords and certificates are those that are there",
        "`helenus kube up` makes a cluster with others",
    ),
    (
        &["memory"],
        "a pod's limit follows from its heap and `kube up --page-cache`",
        "vary heap",
    ),
    (
        &["disk", "disk-read", "disk-write", "disk-iops", "read-ahead"],
        "the disk is the worker's",
        "leave it out, or use a local cluster: it can limit its nodes' disk",
    ),
    (
        &["rtt"],
        "distances are not emulated on Kubernetes",
        "leave it out, or use a local cluster of several data centres",
    ),
    (
        &["populate"],
        "data is restored from folders of a local cluster",
        "leave [populate] out: let [warm], or a phase of the runs, write what is read",
    ),
];

/// What the nodes of a cluster are given, over what they were applied with.
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
        request.preset = self.preset.unwrap_or(of.preset);
        if self.heap.is_some() {
            (request.heap, request.new_heap) = (self.heap, None);
        }
        request.new_heap = self.new_heap.or(request.new_heap);
        request.set.extend(self.set.iter().cloned());
        request.jvm.extend(self.jvm.iter().cloned());
        request.cpus = self.cpus.or(of.cpus);
        plan(&request)
    }
}

/// Whether the pods of a cluster would belong to other StatefulSets with the plan `after`: single nodes have settings of
/// their own, and which of them are alike has changed.
///
/// # Errors
/// As for a rendering.
pub fn regroups(
    before: &ClusterPlan,
    after: &ClusterPlan,
    options: &Options,
) -> Result<bool, KubeError> {
    let sets = |plan: &ClusterPlan| {
        let sets = render(plan, options)?.sets.into_iter();
        Ok(sets.map(|set| (set.name, set.replicas)).collect::<Vec<_>>())
    };
    Ok(sets(before)? != sets(after)?)
}

/// A key of an experiment that pods cannot have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{key} cannot be set in the pods of a cluster: {why}")]
pub struct NotOnPods {
    /// The key.
    pub key: &'static str,
    /// Why.
    pub why: &'static str,
    /// What to do.
    pub hint: &'static str,
}

/// Whether an experiment on Kubernetes may set this key of a cluster.
///
/// # Errors
/// Why not.
pub fn on_pods(key: &str) -> Result<(), NotOnPods> {
    let groups = NOT_ON_PODS.iter();
    let mut all =
        groups.flat_map(|(keys, why, hint)| keys.iter().map(move |key| (*key, why, hint)));
    match all.find(|(own, ..)| *own == key) {
        None => Ok(()),
        Some((key, why, hint)) => Err(NotOnPods { key, why, hint }),
    }
}

/// Why the nodes of a cluster cannot be changed for an experiment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotLent {
    /// An operator holds its settings.
    #[error("{name} is a cluster of operators, which decide about its nodes' settings")]
    Operated {
        /// The cluster.
        name: String,
    },
    /// What it was asked for is not kept.
    #[error("it is not known with which settings {name} was asked for")]
    Unknown {
        /// The cluster.
        name: String,
    },
    /// This version plans it otherwise.
    #[error("this version of helenus plans {name} otherwise than it was applied")]
    Otherwise {
        /// The cluster.
        name: String,
    },
    /// Its roles would go with its pods.
    #[error("{name} asks for passwords and has no volumes: its roles would be lost with its pods")]
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
            Self::Unknown { name } | Self::Otherwise { name } => format!(
                "apply it once more, from its topology or its flags: helenus kube up --name {name} …"
            ),
            Self::Roles { .. } => "apply it with --storage, or without --auth".to_owned(),
        }
    }
}

/// What a cluster was asked for, where its nodes may be changed and put back.
///
/// # Errors
/// Why they may not.
pub fn lendable<'a>(
    plan: &ClusterPlan,
    options: &Options,
    asked: Option<&'a PlanRequest>,
) -> Result<&'a PlanRequest, NotLent> {
    let name = plan.name.clone();
    if options.form != Form::Plain {
        return Err(NotLent::Operated { name });
    }
    if plan.security.auth && options.storage.is_none() {
        return Err(NotLent::Roles { name });
    }
    let Some(asked) = asked else {
        return Err(NotLent::Unknown { name });
    };
    match NodeChange::default().plan(asked) {
        Ok(same) if same == *plan => Ok(asked),
        _ => Err(NotLent::Otherwise { name }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kube::tests::one;
    use crate::plan::NodeWords;
    use serde_json::json;

    #[test]
    fn a_change_comes_after_what_was_asked_for() {
        let mut of = one(3);
        of.set = vec![("concurrent_reads".to_owned(), json!(8))];
        of.heap = Some(Bytes::mib(128));
        of.new_heap = Some(Bytes::mib(100));
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
    fn pods_that_would_change_their_sets_are_noticed() {
        let mut of = one(2);
        let own = NodeWords {
            preset: Some(PresetName::Dev),
            ..NodeWords::default()
        };
        of.by_node = vec![NodeWords::default(), own];
        let before = plan(&of).expect("a plan");
        let options = Options::new(Form::Plain, &before.release);
        let with = |preset| {
            let change = NodeChange {
                preset: Some(preset),
                ..NodeChange::default()
            };
            change.plan(&of).expect("a plan")
        };
        assert_eq!(
            regroups(&before, &with(PresetName::Tiny), &options),
            Ok(false)
        );
        assert_eq!(
            regroups(&before, &with(PresetName::Dev), &options),
            Ok(true)
        );
    }

    #[test]
    fn each_key_of_a_cluster_is_changed_or_refused_with_a_cure() {
        for key in CHANGES {
            assert_eq!(on_pods(key), Ok(()));
        }
        let refused = |key: &str| {
            let error = on_pods(key).expect_err("refused");
            format!("{error} ({})", error.hint)
        };
        insta::assert_snapshot!(refused("read-ahead"), @"read-ahead cannot be set in the pods of a cluster: the disk is the worker's (leave it out, or use a local cluster: it can limit its nodes' disk)");
        insta::assert_snapshot!(refused("populate"), @"populate cannot be set in the pods of a cluster: data is restored from folders of a local cluster (leave [populate] out: let [warm], or a phase of the runs, write what is read)");
    }

    #[test]
    fn a_cluster_is_lent_only_where_it_can_be_put_back() {
        let of = one(3);
        let own = plan(&of).expect("a plan");
        let options = Options::new(Form::Plain, &own.release);
        assert_eq!(lendable(&own, &options, Some(&of)), Ok(&of));
        let refused = |plan: &ClusterPlan, options: &Options, of: Option<&PlanRequest>| {
            let error = lendable(plan, options, of).expect_err("refused");
            format!("{error} ({})", error.hint())
        };
        insta::assert_snapshot!(refused(&own, &options, None), @"it is not known with which settings demo was asked for (apply it once more, from its topology or its flags: helenus kube up --name demo …)");
        let other = PlanRequest {
            tokens: 4,
            ..of.clone()
        };
        insta::assert_snapshot!(refused(&own, &options, Some(&other)), @"this version of helenus plans demo otherwise than it was applied (apply it once more, from its topology or its flags: helenus kube up --name demo …)");
        let operated = Options::new(Form::K8ssandra, &own.release);
        insta::assert_snapshot!(refused(&own, &operated, Some(&of)), @"demo is a cluster of operators, which decide about its nodes' settings (use a cluster that was applied without --as; `run --on` measures this one as it is)");
        let mut auth = of.clone();
        auth.security.auth = true;
        let own = plan(&auth).expect("a plan");
        assert_eq!(lendable(&own, &options, Some(&auth)), Ok(&auth));
        let bare = Options {
            storage: None,
            ..options
        };
        insta::assert_snapshot!(refused(&own, &bare, Some(&auth)), @"demo asks for passwords and has no volumes: its roles would be lost with its pods (apply it with --storage, or without --auth)");
    }
}
