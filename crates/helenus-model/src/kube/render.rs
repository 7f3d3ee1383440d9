//! A cluster's plan as files of manifests, with what is to be done beside applying them.
//! Refuses a folder that is there already: it only says what goes into one.

use super::layout::Layout;
use super::options::{Form, KubeError, Options};
use super::plain::{Cluster, NAMESPACES};
use super::pod::{AUTHORITY, CERTIFICATE, CERTIFICATE_KEY};
use super::secret::TlsSecret;
use super::stateful::tls_secret;
use crate::format::Format;
use crate::plan::{ClusterPlan, STOCK_IS_OPEN};
use crate::units::Bytes;
use crate::yaml::document::Mapping;
use serde::Serialize;

/// Version of [`KubePlan`] as JSON.
pub const KUBE_PLAN_VERSION: u32 = 1;

/// A cluster as manifests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KubePlan {
    /// `helenus.kube-plan/1`.
    pub format: Format,
    /// Name of the cluster.
    pub name: String,
    /// What was rendered.
    pub form: Form,
    /// Release of Cassandra.
    pub release: String,
    /// How many pods of Cassandra there will be.
    pub pods: u32,
    /// Namespaces that are used, in order.
    pub namespaces: Vec<String>,
    /// StatefulSets, in order: ours, or those that cass-operator makes; none of the chart's.
    pub sets: Vec<PodSet>,
    /// The files, in the order in which they are applied.
    pub files: Vec<ManifestFile>,
    /// Secrets with keystores, which no file has: one per namespace of a cluster with TLS.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<TlsSecret>,
    /// What a person does beside applying them, in order: a command, or a sentence.
    pub steps: Vec<String>,
    /// What to know before it is applied.
    pub cautions: Vec<String>,
}

/// A StatefulSet: pods of one rack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PodSet {
    /// Its name; its pods are called NAME-0, NAME-1 and so on.
    pub name: String,
    /// Namespace.
    pub namespace: String,
    /// Data centre, as Cassandra has it.
    pub data_center: String,
    /// Rack, as Cassandra has it.
    pub rack: String,
    /// Whether its nodes hold no data.
    pub coordinator: bool,
    /// How many pods it has.
    pub replicas: u32,
    /// Service of the clients of its data centre.
    pub clients: String,
    /// Memory above which each pod is killed.
    pub memory_limit: Bytes,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ManifestFile {
    /// Its name.
    pub path: String,
    /// What it holds.
    pub about: String,
    /// Its text: one or more YAML documents.
    pub text: String,
}

impl KubePlan {
    /// The data centres of its sets, each once.
    pub fn data_centers(&self) -> Vec<String> {
        let mut all: Vec<String> = self
            .sets
            .iter()
            .map(|set| set.data_center.clone())
            .collect();
        all.dedup();
        all
    }

    /// The sets of a data centre.
    ///
    /// # Errors
    /// [`KubeError::NoDataCenter`].
    pub fn sets_of(&self, data_center: &str) -> Result<Vec<&PodSet>, KubeError> {
        let own = self.sets.iter();
        let own: Vec<&PodSet> = own.filter(|set| set.data_center == data_center).collect();
        match own.is_empty() {
            true => Err(KubeError::NoDataCenter {
                name: data_center.to_owned(),
                known: self.data_centers(),
            }),
            false => Ok(own),
        }
    }

    /// All files as one stream of documents, each file with its name in a comment.
    pub fn stream(&self) -> String {
        self.stream_with(Vec::new())
    }

    /// The same with other documents behind the namespaces.
    pub fn stream_with(&self, more: Vec<String>) -> String {
        let text = |file: &ManifestFile| format!("# {}\n{}", file.path, file.text);
        let (spaces, others): (Vec<_>, Vec<_>) =
            self.files.iter().partition(|file| file.path == NAMESPACES);
        let all = spaces.into_iter().map(text).chain(more);
        let all: Vec<String> = all.chain(others.into_iter().map(text)).collect();
        all.join("---\n")
    }
}

/// Renders a cluster that was planned.
///
/// # Errors
/// Names that Kubernetes cannot have, or what the form has no words for.
pub fn render(plan: &ClusterPlan, options: &Options) -> Result<KubePlan, KubeError> {
    options.check()?;
    speaks_tls(plan, options)?;
    let layout = Layout::of(plan, options)?;
    let cluster = Cluster {
        plan,
        options,
        layout: &layout,
    };
    let files = match options.form {
        Form::Plain => plain(&cluster),
        Form::Kustomize => kustomize(&cluster),
        Form::K8ssandra => vec![file(
            "k8ssandracluster.yaml",
            "the cluster, for k8ssandra-operator",
            &[cluster.k8ssandra()?],
        )],
        Form::CassOperator => vec![file(
            "cassandradatacenters.yaml",
            "one CassandraDatacenter per data centre, for cass-operator",
            &cluster.cass_operator()?,
        )],
        Form::HelmValues => vec![file(
            "values.yaml",
            "values of the K8ssandra 1.x chart",
            &[cluster.helm_values()?],
        )],
    };
    let namespaces: Vec<String> = match options.form {
        Form::K8ssandra | Form::HelmValues => {
            vec![
                options
                    .namespace
                    .clone()
                    .unwrap_or_else(|| layout.label.clone()),
            ]
        }
        Form::Plain | Form::Kustomize | Form::CassOperator => {
            layout.namespaces().into_iter().map(str::to_owned).collect()
        }
    };
    Ok(KubePlan {
        format: Format::new("kube-plan", KUBE_PLAN_VERSION),
        name: plan.name.clone(),
        form: options.form,
        release: plan.release.clone(),
        pods: match options.replicas.is_empty() {
            true => layout.pods(),
            false => layout.sets.iter().map(|set| cluster.replicas(set)).sum(),
        },
        sets: match options.form {
            Form::Plain | Form::Kustomize => sets(&cluster),
            Form::K8ssandra => in_one(cluster.operated_sets("a K8ssandraCluster")?, &namespaces),
            Form::CassOperator => cluster.operated_sets("a CassandraDatacenter")?,
            Form::HelmValues => Vec::new(),
        },
        secrets: secrets(&cluster, &namespaces),
        steps: steps(&cluster, &namespaces),
        cautions: cautions(&cluster),
        namespaces,
        files,
    })
}

/// Refuses TLS that the form, or a Secret of one's own, has no words for.
fn speaks_tls(plan: &ClusterPlan, options: &Options) -> Result<(), KubeError> {
    let security = plan.security;
    let cannot = |form: &'static str, what: &str, hint: &'static str| {
        let what = what.to_owned();
        Err(KubeError::Cannot { form, what, hint })
    };
    let operated = matches!(options.form, Form::K8ssandra | Form::CassOperator);
    match &options.tls_secret {
        Some(_) if !security.tls => cannot("a cluster in the clear", "--tls-secret", "add --tls"),
        Some(_) if security.client_auth => cannot(
            "--tls-secret",
            "client certificates",
            "leave --client-auth out; or leave --tls-secret out: helenus makes certificates of both",
        ),
        Some(_) if operated => cannot(
            "the operators",
            "certificates as PEM",
            "leave --tls-secret out: helenus makes the keystores that they want; or use --as plain",
        ),
        None if security.tls && options.form == Form::CassOperator => cannot(
            "a CassandraDatacenter",
            "keystores",
            "use --as k8ssandra, or --as plain",
        ),
        _ => Ok(()),
    }
}

fn sets(cluster: &Cluster<'_>) -> Vec<PodSet> {
    let sets = cluster.layout.sets.iter();
    sets.map(|set| {
        let center = &cluster.layout.centers[set.center];
        PodSet {
            name: set.name.clone(),
            namespace: center.namespace.clone(),
            data_center: center.name.clone(),
            rack: set.rack.clone(),
            coordinator: set.coordinator,
            replicas: cluster.replicas(set),
            clients: center.clients.clone(),
            memory_limit: set.memory_limit(cluster.options.page_cache),
        }
    })
    .collect()
}

/// The sets of a `K8ssandraCluster`, whose data centres are all where it is.
fn in_one(sets: Vec<PodSet>, namespaces: &[String]) -> Vec<PodSet> {
    let own = |set: PodSet| PodSet {
        namespace: namespaces.first().cloned().unwrap_or_default(),
        ..set
    };
    sets.into_iter().map(own).collect()
}

/// The Secrets with keystores that the pods of these namespaces mount.
fn secrets(cluster: &Cluster<'_>, namespaces: &[String]) -> Vec<TlsSecret> {
    let stores = match cluster.options.form {
        Form::Plain | Form::Kustomize | Form::K8ssandra => cluster.plan.security.tls,
        Form::CassOperator | Form::HelmValues => false,
    };
    let made = stores && cluster.options.tls_secret.is_none();
    let own = namespaces.iter().filter(|_| made);
    own.map(|namespace| TlsSecret {
        name: tls_secret(&cluster.layout.label),
        namespace: namespace.clone(),
        dns: cluster.layout.certificate_names(namespace),
    })
    .collect()
}

fn file(path: &str, about: &str, documents: &[Mapping]) -> ManifestFile {
    let texts: Vec<String> = documents.iter().map(Mapping::render).collect();
    ManifestFile {
        path: path.to_owned(),
        about: about.to_owned(),
        text: texts.join("---\n"),
    }
}

fn plain(cluster: &Cluster<'_>) -> Vec<ManifestFile> {
    let files = cluster.plain().into_iter();
    files
        .filter(|(_, _, documents)| !documents.is_empty())
        .map(|(path, about, documents)| file(path, about, &documents))
        .collect()
}

fn kustomize(cluster: &Cluster<'_>) -> Vec<ManifestFile> {
    let mut files = plain(cluster);
    let paths: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
    let (name, tag) = match cluster.options.image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
        _ => (cluster.options.image.as_str(), None),
    };
    let image = Mapping::new().set("name", name).maybe("newTag", tag);
    let whole = Mapping::new()
        .set("apiVersion", "kustomize.config.k8s.io/v1beta1")
        .set("kind", "Kustomization")
        .set("resources", paths)
        .why(
            "change the tag here, or newName for a registry",
            "images",
            [image],
        );
    files.push(file(
        "kustomization.yaml",
        "the files above, for `kubectl apply -k`",
        &[whole],
    ));
    files
}

/// What is to be done before and after the files are applied.
fn steps(cluster: &Cluster<'_>, namespaces: &[String]) -> Vec<String> {
    let (plan, options) = (cluster.plan, cluster.options);
    let mut steps = Vec::new();
    if let Some(label) = &options.worker_label {
        let centers = cluster.layout.centers.iter();
        steps.extend(centers.map(|c| format!("kubectl label node WORKER {label}={}", c.name)));
    }
    let made_by_us =
        matches!(options.form, Form::Plain | Form::Kustomize) && options.namespace.is_none();
    if !made_by_us {
        steps.extend(
            namespaces
                .iter()
                .map(|name| format!("kubectl create namespace {name}")),
        );
    }
    let bucket = match options.form {
        Form::HelmValues => "bucket-of-chart",
        _ => "bucket",
    };
    for namespace in namespaces {
        if let Some(secret) = &options.superuser_secret {
            steps.push(format!(
                "helenus kube secret superuser --name {secret} --namespace {namespace} --user NAME --password-env VARIABLE -o superuser.yaml && kubectl apply -f superuser.yaml"
            ));
        }
        if let Some(medusa) = options
            .medusa
            .as_ref()
            .filter(|medusa| medusa.provider != "local")
        {
            steps.push(format!(
                "helenus kube secret {bucket} --name {} --namespace {namespace} --user-env ID --password-env KEY -o bucket.yaml && kubectl apply -f bucket.yaml",
                medusa.secret
            ));
        }
    }
    // Pods wait for it; its namespace must be there.
    let tls = plan.security.tls.then(|| match &options.tls_secret {
        None => "helenus kube secret tls …the same flags… -o tls.yaml && kubectl apply --server-side -f tls.yaml".to_owned(),
        Some(secret) => format!(
            "a Secret {secret} in each namespace, with {CERTIFICATE}, {CERTIFICATE_KEY} (PKCS #8) and {AUTHORITY}, for the name {}",
            cluster.layout.label
        ),
    });
    if !made_by_us {
        steps.extend(tls.clone());
    }
    steps.extend(match options.form {
        Form::Plain | Form::Kustomize => {
            let apply = match options.form {
                Form::Kustomize => "kubectl apply --server-side -k DIR",
                _ => "kubectl apply --server-side -f DIR",
            };
            let sets = cluster.layout.sets.iter();
            let wait = sets.map(|set| {
                let namespace = &cluster.layout.centers[set.center].namespace;
                format!("kubectl rollout status statefulset/{} -n {namespace}", set.name)
            });
            let formed = "render again with --formed, and apply that: from then on a pod whose volume is empty joins";
            let formed = (!options.formed).then(|| formed.to_owned());
            std::iter::once(apply.to_owned())
                .chain(tls.filter(|_| made_by_us))
                .chain(wait)
                .chain(formed)
                .collect::<Vec<_>>()
        }
        Form::K8ssandra => vec![
            "kubectl apply --server-side -f DIR".to_owned(),
            format!(
                "kubectl wait --for=condition=CassandraInitialized k8ssandracluster/{} --timeout=900s -n {}",
                cluster.layout.label, namespaces[0]
            ),
        ],
        Form::CassOperator => {
            let centers = cluster.layout.centers.iter();
            let wait = centers.map(|c| {
                format!(
                    "kubectl wait --for=condition=Ready cassandradatacenter/{} --timeout=900s -n {}",
                    c.label, c.namespace
                )
            });
            std::iter::once("kubectl apply --server-side -f DIR".to_owned()).chain(wait).collect()
        }
        Form::HelmValues => {
            let center = &cluster.layout.centers[0].label;
            let (release, namespace) = (&cluster.layout.label, &namespaces[0]);
            vec![
                format!("helm install {release} k8ssandra/k8ssandra -n {namespace} -f DIR/values.yaml"),
                format!("kubectl wait --for=condition=Ready cassandradatacenter/{center} --timeout=900s -n {namespace}"),
                format!("kubectl rollout status deployment {release}-{center}-stargate -n {namespace}"),
            ]
        }
    });
    if options.form == Form::HelmValues && !cluster.layout.sets.iter().any(|set| set.coordinator) {
        steps.pop();
    }
    steps
}

fn cautions(cluster: &Cluster<'_>) -> Vec<String> {
    let (plan, options) = (cluster.plan, cluster.options);
    let mut all = Vec::new();
    let operators = matches!(
        options.form,
        Form::K8ssandra | Form::CassOperator | Form::HelmValues
    );
    if options.form == Form::HelmValues && !options.heap_said {
        all.push(
            "the heap is blank: each node computes one from the whole memory of its worker; give --heap"
                .to_owned(),
        );
    }
    if options.storage.is_none() && !operators {
        all.push(match options.formed {
            true => "data ends with its pod: a node that returns joins again; --storage SIZE adds volumes".to_owned(),
            false => "data ends with its pod, and the pod comes back with its old tokens and no rows: give --storage SIZE for volumes, or repair after each restart".to_owned(),
        });
    }
    if plan.security.auth && options.superuser_secret.is_none() && !operators {
        all.push(STOCK_IS_OPEN.to_owned());
    }
    all
}
