//! What a person says of a cluster on Kubernetes beside its topology: form, namespaces, image, storage, spread, stack.
//! Refuses values that Kubernetes would refuse later.

use super::names::{LABEL_MAX, label};
use crate::nearest::nearest;
use crate::units::Bytes;
use crate::worded::worded;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

worded! {
    /// What is rendered.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Form {
        /// StatefulSets, services and what belongs to them: any Kubernetes runs it.
        Plain = "plain",
        /// The same with a kustomization.yaml.
        Kustomize = "kustomize",
        /// A `K8ssandraCluster` for k8ssandra-operator.
        K8ssandra = "k8ssandra",
        /// One `CassandraDatacenter` per data centre, for cass-operator alone.
        CassOperator = "cass-operator",
        /// The values file of the K8ssandra 1.x Helm chart.
        HelmValues = "helm-values",
    }
}

worded! {
    /// How hard pods of one cluster keep off each other's workers.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    pub enum Spread {
        /// Never two on one worker.
        #[default]
        Required = "required",
        /// Apart where there are workers enough: for kind, where all workers are one machine anyway.
        Preferred = "preferred",
        /// Anywhere.
        None = "none",
    }
}

/// Where Medusa keeps backups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Medusa {
    /// Bucket; of `local` storage the prefix in the volume.
    pub bucket: String,
    /// `s3`, `s3_compatible`, `google_storage`, `azure_blobs`, or `local` for a volume.
    pub provider: String,
    /// Region of the bucket.
    pub region: Option<String>,
    /// Host of an `s3_compatible` storage.
    pub host: Option<String>,
    /// Secret with the storage's credentials.
    pub secret: String,
}

/// Storages that Medusa knows, `local` among them.
pub const MEDUSA_PROVIDERS: [&str; 7] = [
    "s3",
    "s3_compatible",
    "s3_rgw",
    "google_storage",
    "azure_blobs",
    "ibm_storage",
    "local",
];

/// What is asked for beside the cluster's plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// What is rendered.
    pub form: Form,
    /// One namespace for all; else one per data centre, and the cluster's name where there is only one.
    pub namespace: Option<String>,
    /// Image of the pods.
    pub image: String,
    /// `IfNotPresent`, `Always` or `Never`.
    pub pull: String,
    /// Page cache in each pod's limit, beside what the node itself may come to.
    pub page_cache: Bytes,
    /// Processors that each pod asks for; by the preset where it is not said.
    pub cpu_request: Option<f64>,
    /// Size of each volume; without one a pod writes to its worker's disk, and loses its data with the pod.
    pub storage: Option<Bytes>,
    /// StorageClass; the cluster's default where it is not said.
    pub storage_class: Option<String>,
    /// How pods keep apart.
    pub spread: Spread,
    /// Label of workers whose value is the data centre's name.
    pub worker_label: Option<String>,
    /// Whether the cluster has formed: a pod with an empty volume joins it then, instead of taking its own tokens.
    pub formed: bool,
    /// Memory of a worker: what a blank heap is computed from.
    pub worker_memory: Bytes,
    /// Whether a person said a heap or a preset; the 1.x chart is otherwise left to compute one.
    pub heap_said: bool,
    /// Contexts of kubectl by data centre, for a `K8ssandraCluster` over several clusters.
    pub contexts: BTreeMap<String, String>,
    /// Repairs by Reaper.
    pub reaper: bool,
    /// Backups by Medusa.
    pub medusa: Option<Medusa>,
    /// Metrics for Prometheus.
    pub telemetry: bool,
    /// Secret with the superuser's name and password.
    pub superuser_secret: Option<String>,
    /// Secret of the person's own with the nodes' certificates as PEM; without it they are made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_secret: Option<String>,
    /// The id by which Helenus knows what it applied.
    pub id: Option<String>,
    /// Pods of a StatefulSet by its name, where they are not as many as its nodes in the plan: it was scaled.
    #[serde(default)]
    pub replicas: BTreeMap<String, u32>,
}

impl Options {
    /// The options of that form, all others by default.
    pub fn new(form: Form, release: &str) -> Self {
        Self {
            form,
            namespace: None,
            image: image_of(release),
            pull: "IfNotPresent".to_owned(),
            page_cache: Bytes::mib(128),
            cpu_request: None,
            storage: Some(Bytes::mib(2048)),
            storage_class: None,
            spread: Spread::default(),
            worker_label: None,
            formed: false,
            worker_memory: Bytes::mib(8192),
            heap_said: true,
            contexts: BTreeMap::new(),
            reaper: false,
            medusa: None,
            telemetry: false,
            superuser_secret: None,
            tls_secret: None,
            id: None,
            replicas: BTreeMap::new(),
        }
    }

    /// Checks what can be checked without the cluster's plan.
    ///
    /// # Errors
    /// The first value that Kubernetes or an operator would refuse.
    pub fn check(&self) -> Result<(), KubeError> {
        let dns = |what: &'static str, name: &str| {
            let fitting = label(&[name], LABEL_MAX);
            match fitting == name {
                true => Ok(()),
                false => Err(KubeError::Name {
                    what,
                    name: name.to_owned(),
                    fitting,
                }),
            }
        };
        if let Some(namespace) = &self.namespace {
            dns("a namespace", namespace)?;
        }
        for secret in self.superuser_secret.iter().chain(&self.tls_secret) {
            dns("a secret", secret)?;
        }
        if self.image.ends_with(":latest") || !self.image.contains([':', '@']) {
            return Err(KubeError::Image(self.image.clone()));
        }
        let Some(medusa) = &self.medusa else {
            return Ok(());
        };
        dns("a secret", &medusa.secret)?;
        if !MEDUSA_PROVIDERS.contains(&medusa.provider.as_str()) {
            return Err(KubeError::Provider(medusa.provider.clone()));
        }
        if medusa.provider == "s3_compatible" && medusa.host.is_none() {
            return Err(KubeError::NoHost);
        }
        Ok(())
    }
}

/// The image that `helenus kube image` makes of a release.
pub fn image_of(release: &str) -> String {
    format!("localhost/helenus-cassandra:{release}")
}

/// Why a cluster cannot be rendered.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum KubeError {
    /// No DNS label.
    #[error("{name:?} cannot name {what} on Kubernetes")]
    Name {
        /// What it would name.
        what: &'static str,
        /// The name.
        name: String,
        /// One that could.
        fitting: String,
    },
    /// Two data centres or racks become one name.
    #[error("two parts of the cluster would both be named {0} on Kubernetes")]
    SameName(String),
    /// An image that may change under its name.
    #[error("the image {0:?} has no fixed tag")]
    Image(String),
    /// No storage that Medusa knows.
    #[error("Medusa has no storage provider {0:?}")]
    Provider(String),
    /// An S3-compatible storage without its host.
    #[error("an s3_compatible storage needs a host")]
    NoHost,
    /// A part of the cluster that the form has no words for.
    #[error("{form} cannot have {what}")]
    Cannot {
        /// The form.
        form: &'static str,
        /// What it cannot have.
        what: String,
        /// What to do.
        hint: &'static str,
    },
    /// Several data centres, and none was named.
    #[error("the cluster has several data centres, and none was named")]
    WhichDataCenter(Vec<String>),
    /// Fewer nodes than racks.
    #[error("{data_center} has {racks} racks, and each needs a seed: {nodes} nodes are too few")]
    TooFew {
        /// The data centre.
        data_center: String,
        /// Its StatefulSets.
        racks: usize,
        /// Asked for.
        nodes: u32,
    },
    /// A data centre that does not exist.
    #[error("no such data centre: {name}")]
    NoDataCenter {
        /// Asked for.
        name: String,
        /// All names.
        known: Vec<String>,
    },
}

impl KubeError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Name { fitting, .. } => {
                format!("use lower-case letters, digits and dashes, a letter first, such as {fitting}")
            }
            Self::SameName(_) => {
                "rename one of the data centres or racks: capitals, - and _ make no difference there"
                    .to_owned()
            }
            Self::Image(_) => "give it a tag, such as --image localhost/helenus-cassandra:5.0.9; with latest, pods of one cluster can run different releases".to_owned(),
            Self::Provider(name) => match nearest(name, MEDUSA_PROVIDERS) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("known: {}", MEDUSA_PROVIDERS.join(", ")),
            },
            Self::NoHost => "add --medusa-host HOST".to_owned(),
            Self::Cannot { hint, .. } => (*hint).to_owned(),
            Self::WhichDataCenter(known) => format!("choose one with --dc: {}", known.join(", ")),
            Self::TooFew { racks, .. } => format!("keep at least {racks}"),
            Self::NoDataCenter { name, known } => crate::topology::name_hint(name, known),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kubernetes_would_refuse_is_refused_with_a_cure() {
        let refused = |change: &dyn Fn(&mut Options)| {
            let mut options = Options::new(Form::Plain, "5.0.9");
            change(&mut options);
            let error = options.check().expect_err("refused");
            format!("{error} ({})", error.hint())
        };
        let medusa = |provider: &str| Medusa {
            bucket: "b".into(),
            provider: provider.into(),
            region: None,
            host: None,
            secret: "key".into(),
        };
        insta::assert_snapshot!(refused(&|o| o.namespace = Some("My_Space".into())), @r#""My_Space" cannot name a namespace on Kubernetes (use lower-case letters, digits and dashes, a letter first, such as my-space)"#);
        insta::assert_snapshot!(refused(&|o| o.image = "cassandra:latest".into()), @r#"the image "cassandra:latest" has no fixed tag (give it a tag, such as --image localhost/helenus-cassandra:5.0.9; with latest, pods of one cluster can run different releases)"#);
        insta::assert_snapshot!(refused(&|o| o.medusa = Some(medusa("s4"))), @r#"Medusa has no storage provider "s4" (known: s3, s3_compatible, s3_rgw, google_storage, azure_blobs, ibm_storage, local)"#);
        insta::assert_snapshot!(refused(&|o| o.medusa = Some(medusa("s3_compatible"))), @"an s3_compatible storage needs a host (add --medusa-host HOST)");
        assert_eq!(Options::new(Form::K8ssandra, "5.0.9").check(), Ok(()));
    }
}
