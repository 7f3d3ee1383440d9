//! Applying a cluster's manifests, and taking back what was applied.
//! Refuses what exists already without the cluster's id, and keeps volumes unless they were asked for.

use super::fault::uncordon;
use super::kubectl::{has_id, items};
use super::{KubeClusters, KubeState, Kubectl, tls};
use crate::cancel::Cancel;
use crate::error::{Class, ClusterError, Problem};
use helenus_model::kube::options::Form;
use helenus_model::kube::{ID, KubePlan};
use helenus_model::yaml::document::Mapping;
use serde::Serialize;
use serde_json::Value;
use std::time::{Duration, Instant};

/// The file of the ConfigMaps in a rendering.
const CONFIG_MAPS: &str = "1-configmaps.yaml";

/// Kinds that a cluster of ours consists of, in the order in which they are deleted.
const KINDS: &str = "job,statefulset,service,configmap,secret,poddisruptionbudget,networkpolicy";

/// The same with what the operators take up.
fn kinds(state: &KubeState) -> String {
    match super::operated::kinds(state.options.form) {
        Some(operated) => format!("{operated},{KINDS}"),
        None => KINDS.to_owned(),
    }
}

/// Kinds that people put into namespaces.
const CONTENTS: &str = "pod,service,deployment,statefulset,daemonset,job,cronjob,configmap,secret,persistentvolumeclaim";

/// What Kubernetes puts into each namespace by itself.
const OF_EVERY_NAMESPACE: &str = "kube-root-ca.crt";

/// Longest wait for pods to end: they drain, each for up to its grace.
const GONE_WITHIN: Duration = Duration::from_secs(300);

/// Why a cluster could not be applied or removed.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Somebody else's.
    #[error("{} already exists and does not belong to this cluster", .0.join(", "))]
    Foreign(Vec<String>),
    /// A namespace that a person named.
    #[error("no such namespace: {0}")]
    NoNamespace(String),
    /// Pods that do not end.
    #[error("not deleted in time: {}", .0.join(", "))]
    Stays(Vec<String>),
    /// The person stopped it.
    #[error("interrupted")]
    Interrupted,
}

impl Problem for ApplyError {
    fn class(&self) -> Class {
        match self {
            Self::Foreign(_) | Self::NoNamespace(_) => Class::Usage,
            Self::Stays(_) => Class::Cluster,
            Self::Interrupted => Class::Interrupted,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Foreign(_) => {
                Some("use another --name, or another namespace with --namespace".to_owned())
            }
            Self::NoNamespace(name) => Some(format!("kubectl create namespace {name}")),
            Self::Stays(_) => Some(
                "its worker may be gone: kubectl get nodes; then `helenus kube rm` again"
                    .to_owned(),
            ),
            Self::Interrupted => None,
        }
    }
}

/// An object of a cluster's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Owned {
    /// Such as `StatefulSet`.
    pub kind: String,
    /// Its namespace; of a namespace none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Why it stays; none for what is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stays: Option<String>,
}

impl Owned {
    fn of(item: &Value) -> Self {
        let text = |at: &str| item.pointer(at).and_then(Value::as_str).map(str::to_owned);
        Self {
            kind: text("/kind").unwrap_or_default(),
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name").unwrap_or_default(),
            stays: None,
        }
    }

    /// `StatefulSet demo/demo-dc1`.
    pub fn text(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{} {namespace}/{}", self.kind, self.name),
            None => format!("{} {}", self.kind, self.name),
        }
    }
}

/// Checks that nothing that would be applied belongs to another owner; then stores the cluster's state.
///
/// # Errors
/// [`ApplyError::Foreign`], or what kubectl says. Nothing was applied.
pub fn begin(
    kubectl: &Kubectl,
    clusters: &KubeClusters,
    state: &KubeState,
) -> Result<(), ClusterError> {
    let plan = state.rendered()?;
    // Those that the rendering does not make itself are a person's.
    let made = state.options.namespace.is_none() && state.options.form == Form::Plain;
    for named in plan.namespaces.iter().filter(|_| !made) {
        let found = kubectl.json(&["get", "namespace", named, "--ignore-not-found"], "")?;
        if found.is_null() {
            return Err(ApplyError::NoNamespace(named.clone()).into());
        }
    }
    let manifests = plan.stream_with(tls::heads(&plan, &state.options));
    let words = ["get", "--ignore-not-found", "-f", "-"];
    let found = kubectl.json(&words, &manifests)?;
    let foreign = items(&found).into_iter();
    let foreign: Vec<String> = foreign
        .filter(|item| !has_id(item, state.id()))
        .map(|item| Owned::of(item).text())
        .collect();
    if !foreign.is_empty() {
        return Err(ApplyError::Foreign(foreign).into());
    }
    tls::theirs(kubectl, &clusters.folder(state.name()), state, &plan)?;
    Ok(clusters.save(state)?)
}

/// Applies all manifests, with the Secrets of their keystores, and counts the objects.
///
/// # Errors
/// What the API server refuses; what was applied before that stays, and [`remove`] knows it.
pub fn apply(
    kubectl: &Kubectl,
    clusters: &KubeClusters,
    state: &KubeState,
) -> Result<usize, ClusterError> {
    let plan = state.rendered()?;
    let folder = clusters.folder(state.name());
    let secrets = tls::secrets(&folder, &state.plan, &state.options, &plan)?;
    let secrets = secrets.iter().map(Mapping::render).collect();
    let text = kubectl.apply(&plan.stream_with(secrets))?;
    Ok(text.lines().count())
}

/// Remembers, here and there, that the cluster has formed: from now on a pod whose volume is empty joins it.
///
/// # Errors
/// The API server refuses it, or the state cannot be kept.
pub fn form(
    kubectl: &Kubectl,
    clusters: &KubeClusters,
    state: &mut KubeState,
) -> Result<(), ClusterError> {
    // A node that is alone finds nobody to join: should its volume be gone, it begins anew.
    if state.options.formed || state.rendered()?.pods < 2 {
        return Ok(());
    }
    state.options.formed = true;
    let plan = state.rendered()?;
    let config = plan.files.iter().find(|file| file.path == CONFIG_MAPS);
    if let Some(config) = config {
        kubectl.apply(&config.text)?;
    }
    Ok(clusters.save(state)?)
}

/// What there is of a cluster, in the order in which it is deleted, and what of it stays. Volumes go where `volumes` says
/// so; a namespace is deleted if nothing of another owner and no volume is left in it.
///
/// # Errors
/// What kubectl says.
pub fn owned(
    kubectl: &Kubectl,
    state: &KubeState,
    volumes: bool,
) -> Result<Vec<Owned>, ClusterError> {
    let plan = state.rendered()?;
    let label = format!("{ID}={}", state.id());
    let mut all = Vec::new();
    let mut spaces = Vec::new();
    for namespace in &plan.namespaces {
        let found = kubectl.json(&["get", &kinds(state), "-n", namespace, "-l", &label], "")?;
        all.extend(items(&found).into_iter().map(Owned::of));
        let claims = kubectl.json(&["get", "pvc", "-n", namespace, "-l", &label], "")?;
        let claims: Vec<Owned> = items(&claims).into_iter().map(Owned::of).collect();
        let kept = !volumes && !claims.is_empty();
        all.extend(claims.into_iter().map(|claim| Owned {
            stays: kept.then(|| "it holds data: --volumes deletes it".to_owned()),
            ..claim
        }));
        let space = kubectl.json(&["get", "namespace", namespace, "--ignore-not-found"], "")?;
        if state.options.namespace.is_none() && has_id(&space, state.id()) {
            let stays = match kept {
                true => Some("volumes are in it".to_owned()),
                false => stranger(kubectl, state, namespace)?
                    .map(|other| format!("{} is in it", other.text())),
            };
            spaces.push(Owned {
                stays,
                ..Owned::of(&space)
            });
        }
    }
    all.extend(spaces);
    Ok(all)
}

/// Something in a namespace of ours that is not ours.
fn stranger(
    kubectl: &Kubectl,
    state: &KubeState,
    namespace: &str,
) -> Result<Option<Owned>, ClusterError> {
    let found = kubectl.json(&["get", CONTENTS, "-n", namespace], "")?;
    let strange = |item: &&Value| {
        !has_id(item, state.id())
            && item["metadata"]["ownerReferences"].is_null()
            && item["metadata"]["name"] != OF_EVERY_NAMESPACE
    };
    Ok(items(&found).into_iter().find(strange).map(Owned::of))
}

/// Deletes what [`owned`] names and does not keep, waits until the pods have ended, lets workers that were drained for it
/// take pods again, and forgets the cluster unless something of it stays. `see` gets the number of pods that are left.
///
/// # Errors
/// What kubectl says, or pods that do not end.
pub fn remove(
    kubectl: &Kubectl,
    clusters: &KubeClusters,
    state: &KubeState,
    all: &[Owned],
    cancel: &Cancel,
    see: &mut dyn FnMut(usize),
) -> Result<(), ClusterError> {
    let plan = state.rendered()?;
    let label = format!("{ID}={}", state.id());
    for namespace in &plan.namespaces {
        let words = [
            "delete",
            &kinds(state),
            "-n",
            namespace,
            "-l",
            &label,
            "--wait=false",
        ];
        kubectl.text(&words, "")?;
    }
    gone(kubectl, state, &plan, cancel, see)?;
    let goes = |kind: &'static str| {
        all.iter()
            .filter(move |one| one.stays.is_none() && one.kind == kind)
    };
    for claim in goes("PersistentVolumeClaim") {
        let namespace = claim.namespace.as_deref().unwrap_or_default();
        let words = [
            "delete",
            "pvc",
            &claim.name,
            "-n",
            namespace,
            "--ignore-not-found",
        ];
        kubectl.text(&words, "")?;
    }
    for space in goes("Namespace") {
        let words = ["delete", "namespace", &space.name, "--ignore-not-found"];
        kubectl.text(&words, "")?;
    }
    // As the policies of its cuts, which went with it: soon nobody knows which workers were drained for it.
    uncordon(kubectl, clusters, &mut state.clone(), &mut Vec::new())?;
    if all.iter().all(|one| one.stays.is_none()) {
        clusters.forget(state.name())?;
    }
    Ok(())
}

/// Waits until no pod of the cluster is left.
pub(super) fn gone(
    kubectl: &Kubectl,
    state: &KubeState,
    plan: &KubePlan,
    cancel: &Cancel,
    see: &mut dyn FnMut(usize),
) -> Result<(), ClusterError> {
    let begin = Instant::now();
    loop {
        let left = super::pods::pods_of(kubectl, state, plan)?;
        see(left.len());
        if left.is_empty() {
            return Ok(());
        }
        if cancel.is_set() {
            return Err(ApplyError::Interrupted.into());
        }
        if begin.elapsed() > GONE_WITHIN {
            let names = left.iter().map(|pod| pod.place()).collect();
            return Err(ApplyError::Stays(names).into());
        }
        std::thread::sleep(super::kubectl::WAIT_EVERY);
    }
}
