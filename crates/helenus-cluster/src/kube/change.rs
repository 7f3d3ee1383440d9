//! More nodes, fewer nodes, and nodes started anew, one at a time: the cluster stays whole in between.
//! Refuses to take a node away that has not given its data to the others.

use super::apply::{ApplyError, apply, form};
use super::pods::{Pod, PodsError, pods, wait};
use super::ring::short_keyspaces;
use super::{KubeClusters, KubeState, Kubectl};
use crate::cancel::Cancel;
use crate::error::{Class, ClusterError, Problem};
use helenus_model::kube::PodSet;
use helenus_model::kube::scaling::Scaling;
use helenus_model::membership::Netstats;
use std::time::{Duration, Instant};

/// Between two looks at a node that leaves, which start a JVM each.
const LOOK_EVERY: Duration = Duration::from_secs(3);

/// Why a cluster could not be changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// Keyspaces that would have fewer nodes than replicas.
    #[error("without {pod}, {data_center} has fewer nodes than replicas of {}", keyspaces.join(", "))]
    Short {
        /// The pod that would go.
        pod: String,
        /// Its data centre.
        data_center: String,
        /// The keyspaces.
        keyspaces: Vec<String>,
    },
}

impl Problem for ChangeError {
    fn class(&self) -> Class {
        match self {
            Self::Short { .. } => Class::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Short { keyspaces, .. } => Some(format!(
                "lower their replication first: ALTER KEYSPACE {} WITH replication = …",
                keyspaces[0]
            )),
        }
    }
}

/// Carries the steps out, one node at a time, each until the ring is whole again; the volume of a node that went is
/// deleted where `volumes` says so. `see` gets each event.
///
/// # Errors
/// A step fails; those before it stay done, and the state says how many pods there are.
pub fn scale(
    kubectl: &Kubectl,
    clusters: &KubeClusters,
    state: &mut KubeState,
    steps: &[Scaling],
    volumes: bool,
    (within, cancel): (Duration, &Cancel),
    see: &mut dyn FnMut(&str),
) -> Result<(), ClusterError> {
    // A pod that is not among the first ones joins only what has formed.
    form(kubectl, clusters, state)?;
    for step in steps {
        let (set, replicas) = match step {
            Scaling::Add(set) => {
                see(&format!("{} joins", step.pod()));
                (set, set.replicas + 1)
            }
            Scaling::Remove(set) => {
                see(&format!("{} is decommissioned", step.pod()));
                leave(kubectl, state, set, &step.pod(), cancel)?;
                (set, set.replicas.saturating_sub(1))
            }
        };
        state.options.replicas.insert(set.name.clone(), replicas);
        clusters.save(state)?;
        apply(kubectl, clusters, state)?;
        if let Scaling::Remove(set) = step {
            let name = step.pod();
            until_gone(kubectl, state, &name, within, cancel)?;
            if volumes && state.options.storage.is_some() {
                let claim = format!("data-{name}");
                let words = [
                    "delete",
                    "pvc",
                    &claim,
                    "-n",
                    &set.namespace,
                    "--ignore-not-found",
                ];
                kubectl.text(&words, "")?;
            }
        }
        wait(kubectl, state, within, cancel, &mut |_| {})?;
    }
    Ok(())
}

/// A node gives its data to the others; one that did so, or does, for a command that was cut off is only waited for.
fn leave(
    kubectl: &Kubectl,
    state: &KubeState,
    set: &PodSet,
    pod: &str,
    cancel: &Cancel,
) -> Result<(), ClusterError> {
    let at = (set.namespace.as_str(), pod);
    let plan = state.rendered()?;
    let data = plan.sets.iter().filter(|one| !one.coordinator);
    let all: u32 = data.clone().map(|one| one.replicas).sum();
    let here = data.filter(|one| one.data_center == set.data_center);
    let here: u32 = here.map(|one| one.replicas).sum();
    let cluster = kubectl.exec(at, &["nodetool", "describecluster"], "")?;
    let left = (here.saturating_sub(1), all.saturating_sub(1));
    let keyspaces = short_keyspaces(&cluster, &set.data_center, left);
    if !keyspaces.is_empty() {
        return Err(ChangeError::Short {
            pod: pod.to_owned(),
            data_center: set.data_center.clone(),
            keyspaces,
        }
        .into());
    }
    // Cassandra would count its own keyspaces, too.
    let words: &[&str] = match state.plan.release.starts_with("3.") {
        true => &["nodetool", "decommission"],
        false => &["nodetool", "decommission", "--force"],
    };
    loop {
        if cancel.is_set() {
            return Err(PodsError::Interrupted.into());
        }
        let netstats = kubectl.exec(at, &["nodetool", "netstats"], "")?;
        match &*Netstats::read(&netstats).mode {
            "DECOMMISSIONED" => return Ok(()),
            "LEAVING" => std::thread::sleep(LOOK_EVERY),
            _ => break,
        }
    }
    match kubectl.exec(at, words, "") {
        // Ctrl-C in a terminal ends kubectl as well; the node goes on.
        Err(_) if cancel.is_set() => Err(PodsError::Interrupted.into()),
        left => Ok(left.map(drop)?),
    }
}

/// Restarts these nodes one at a time: each drains, and the next one follows when the ring is whole again.
///
/// # Errors
/// A node does not come back; those after it were not touched.
pub fn restart(
    kubectl: &Kubectl,
    state: &KubeState,
    chosen: &[Pod],
    (within, cancel): (Duration, &Cancel),
    see: &mut dyn FnMut(usize, &str),
) -> Result<(), ClusterError> {
    for (done, pod) in chosen.iter().enumerate() {
        see(done, &pod.name);
        let words = ["delete", "pod", &pod.name, "-n", &pod.namespace];
        kubectl.text(&words, "")?;
        until_new(kubectl, state, pod, within, cancel)?;
        wait(kubectl, state, within, cancel, &mut |_| {})?;
    }
    Ok(())
}

/// Waits until a pod of this name is another one.
fn until_new(
    kubectl: &Kubectl,
    state: &KubeState,
    old: &Pod,
    within: Duration,
    cancel: &Cancel,
) -> Result<(), ClusterError> {
    let is_new = |all: &[Pod]| {
        let found = all.iter().find(|pod| pod.place() == old.place());
        found.is_some_and(|pod| pod.uid != old.uid)
    };
    until(kubectl, state, &old.name, within, cancel, &is_new)
}

fn until_gone(
    kubectl: &Kubectl,
    state: &KubeState,
    name: &str,
    within: Duration,
    cancel: &Cancel,
) -> Result<(), ClusterError> {
    let is_gone = |all: &[Pod]| !all.iter().any(|pod| pod.name == name);
    until(kubectl, state, name, within, cancel, &is_gone)
}

fn until(
    kubectl: &Kubectl,
    state: &KubeState,
    name: &str,
    within: Duration,
    cancel: &Cancel,
    is_so: &dyn Fn(&[Pod]) -> bool,
) -> Result<(), ClusterError> {
    let begin = Instant::now();
    while !is_so(&pods(kubectl, state)?) {
        if cancel.is_set() {
            return Err(PodsError::Interrupted.into());
        }
        if begin.elapsed() > within {
            return Err(ApplyError::Stays(vec![name.to_owned()]).into());
        }
        std::thread::sleep(super::kubectl::WAIT_EVERY);
    }
    Ok(())
}
