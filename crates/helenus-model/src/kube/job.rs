//! The generators of a run as an indexed Job beside a cluster: pods that wait for a plan.
//! Refuses the plan itself: it comes over the standard input of a program in each pod.

use super::names::{LABEL_MAX, SET_NAME_MAX, label};
use super::operated::{CLUSTER, cluster_value};
use super::options::{Form, Options};
use super::plain::{ID, INSTANCE, resource};
use super::pod::{LAUNCHER, USER_ID};
use super::stateful::quantity;
use crate::units::Bytes;
use crate::yaml::document::Mapping;

/// Name of a generator's container.
pub const GENERATOR: &str = "generator";

/// Value of the label `app.kubernetes.io/name` on generators.
pub const LOAD: &str = "helenus-load";

/// Label that says which run a generator belongs to.
pub const RUN: &str = "helenus.io/run";

/// Where a generator may write: its root is read-only.
const SCRATCH: &str = "/tmp";

/// What a generator may take: a recording of some operations, and what is in flight.
const MEMORY: Bytes = Bytes::mib(256);

/// What it asks for of a worker.
const MEMORY_REQUEST: Bytes = Bytes::mib(64);

/// How long a Job that nobody deleted stays once its pods have ended, in seconds.
const KEPT_S: u32 = 60;

/// The generators of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadJob {
    /// Name of the Job.
    pub name: String,
    /// Where it is.
    pub namespace: String,
    /// How many generators.
    pub pods: u32,
}

impl LoadJob {
    /// The generators of a run of this cluster; `run` keeps them apart from those of another.
    pub fn new(cluster: &str, namespace: &str, run: &str, pods: u32) -> Self {
        Self {
            // Its pods' names add to it.
            name: label(&[cluster, "load", run], SET_NAME_MAX),
            namespace: namespace.to_owned(),
            pods,
        }
    }

    /// Its manifest.
    pub fn manifest(&self, cluster: &str, options: &Options) -> String {
        let instance = label(&[cluster], LABEL_MAX);
        let nodes = match options.form {
            Form::K8ssandra | Form::CassOperator => {
                Mapping::new().set(CLUSTER, cluster_value(cluster))
            }
            Form::Plain | Form::Kustomize | Form::HelmValues => Mapping::new()
                .set("app.kubernetes.io/name", "cassandra")
                .set(INSTANCE, instance.as_str()),
        };
        // No label by which Cassandra's pods are chosen: they must not keep generators off, nor serve through them.
        let labels = Mapping::new()
            .set("app.kubernetes.io/name", LOAD)
            .set("app.kubernetes.io/part-of", instance.as_str())
            .set("app.kubernetes.io/managed-by", "helenus")
            .set(RUN, self.name.as_str())
            .maybe(ID, options.id.as_deref());
        let metadata = Mapping::new()
            .set("name", self.name.as_str())
            .set("namespace", self.namespace.as_str())
            .set("labels", labels.clone());
        let template = Mapping::new()
            .set("metadata", Mapping::new().set("labels", labels))
            .set("spec", self.pod(nodes, options));
        let spec = Mapping::new()
            .why("a pod a generator", "completionMode", "Indexed")
            .set("completions", self.pods)
            .set("parallelism", self.pods)
            .why(
                "a generator that ended is not restarted, and the others continue: its share of the load is reported",
                "backoffLimitPerIndex",
                0_u32,
            )
            .why(
                "should nobody be left to delete it",
                "ttlSecondsAfterFinished",
                KEPT_S,
            )
            .set("template", template);
        resource("batch/v1", "Job", metadata)
            .set("spec", spec)
            .render()
    }

    /// `nodes` are the labels of Cassandra's pods.
    fn pod(&self, nodes: Mapping, options: &Options) -> Mapping {
        let away = |weight: u32, labels: Mapping| {
            let term = Mapping::new()
                .set("labelSelector", Mapping::new().set("matchLabels", labels))
                .set("topologyKey", "kubernetes.io/hostname");
            Mapping::new()
                .set("weight", weight)
                .set("podAffinityTerm", term)
        };
        let others = Mapping::new().set(RUN, self.name.as_str());
        let anti = Mapping::new().why(
            "away from Cassandra and from each other, where there are workers enough",
            "preferredDuringSchedulingIgnoredDuringExecution",
            [away(100, nodes), away(50, others)],
        );
        let security = Mapping::new()
            .set("runAsNonRoot", true)
            .set("runAsUser", USER_ID)
            .set("runAsGroup", USER_ID)
            .set("fsGroup", USER_ID)
            .set(
                "seccompProfile",
                Mapping::new().set("type", "RuntimeDefault"),
            );
        let scratch = Mapping::new()
            .set("name", "tmp")
            .set("emptyDir", Mapping::new());
        Mapping::new()
            .set("restartPolicy", "Never")
            .set("terminationGracePeriodSeconds", 5_u32)
            .set("securityContext", security)
            .set("automountServiceAccountToken", false)
            .set("enableServiceLinks", false)
            .set("affinity", Mapping::new().set("podAntiAffinity", anti))
            .set("containers", [container(options)])
            .set("volumes", [scratch])
    }
}

fn container(options: &Options) -> Mapping {
    let requests = Mapping::new()
        .set("cpu", "100m")
        .set("memory", quantity(MEMORY_REQUEST));
    let home = Mapping::new()
        .set("name", "HELENUS_HOME")
        .set("value", format!("{SCRATCH}/helenus"));
    let resources = Mapping::new().set("requests", requests).why(
        "no CPU limit: a throttled generator measures itself",
        "limits",
        Mapping::new().set("memory", quantity(MEMORY)),
    );
    Mapping::new()
        .set("name", GENERATOR)
        .set("image", options.image.as_str())
        .set("imagePullPolicy", options.pull.as_str())
        .why(
            "it waits: each run is a program that is started in it",
            "command",
            [LAUNCHER, "__pod", "idle"].map(str::to_owned),
        )
        .set("env", [home])
        .set("resources", resources)
        .set(
            "securityContext",
            Mapping::new()
                .set("allowPrivilegeEscalation", false)
                .set("readOnlyRootFilesystem", true)
                .set("capabilities", Mapping::new().set("drop", ["ALL"])),
        )
        .set(
            "volumeMounts",
            [Mapping::new().set("name", "tmp").set("mountPath", SCRATCH)],
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generators_are_a_job_of_the_same_image() {
        let mut options = Options::new(Form::Plain, "5.0.9");
        options.id = Some("x1y2z3".to_owned());
        let job = LoadJob::new("My_Demo", "my-demo", "k7q2", 3);
        insta::assert_snapshot!("load_job", job.manifest("My_Demo", &options));
        options.form = Form::CassOperator;
        let beside = job.manifest("My_Demo", &options);
        assert!(
            beside.contains("cassandra.datastax.com/cluster: My_Demo"),
            "{beside}"
        );
        let long = LoadJob::new(&"x".repeat(60), "n", "k7q2", 1);
        assert!(long.name.len() <= SET_NAME_MAX, "{}", long.name);
    }
}
