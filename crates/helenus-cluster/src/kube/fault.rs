//! Faults of a cluster on Kubernetes, by means that Kubernetes has: a pod killed, a worker drained, data centres cut.
//! Refuses to call a cut one where connections still pass.

use super::kubectl::is_of_program;
use super::pods::{Pod, PodsError, pods, selector};
use super::ring::ring;
use super::{KubeClusters, KubeState, Kubectl, KubectlError};
use crate::cancel::Cancel;
use crate::error::{Class, ClusterError, Problem};
use helenus_model::kube::names::{LABEL_MAX, label};
use helenus_model::kube::pod::LAUNCHER;
use helenus_model::kube::policy::{self, Side};
use helenus_model::kube::{ID, KubePlan, PodSet};
use std::time::{Duration, Instant};

/// Longest wait for a network plugin to enforce a new policy.
const ENFORCED_WITHIN: Duration = Duration::from_secs(15);

/// Longest wait until nodes whose connections were cut see each other down.
const SEEN_DOWN_WITHIN: Duration = Duration::from_secs(60);

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Why there is no such fault.
#[derive(Debug, thiserror::Error)]
pub enum FaultError {
    /// A data centre from itself.
    #[error("{0} cannot be partitioned from itself")]
    Same(String),
    /// Policies are not enforced.
    #[error("network policies are not enforced: {from} can still connect to {to}")]
    NotEnforced {
        /// Pod.
        from: String,
        /// Pod.
        to: String,
    },
    /// They are cut already.
    #[error("{from} cannot reach {to} even without a fault")]
    Already {
        /// Pod.
        from: String,
        /// Pod.
        to: String,
    },
    /// Too many are away already.
    #[error("the disruption budget allows no more evictions from {worker}")]
    Budget {
        /// The worker.
        worker: String,
        /// The cluster.
        cluster: String,
    },
}

impl Problem for FaultError {
    fn class(&self) -> Class {
        match self {
            Self::Same(_) => Class::Usage,
            Self::NotEnforced { .. } => Class::Environment,
            Self::Already { .. } | Self::Budget { .. } => Class::Cluster,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Same(_) => Some("name two data centres".to_owned()),
            Self::NotEnforced { .. } => Some("the network plugin of this cluster ignores NetworkPolicies; Calico and Cilium enforce them. The policies were deleted again".to_owned()),
            Self::Already { .. } => Some("helenus kube heal ends the faults of the cluster".to_owned()),
            Self::Budget { cluster, .. } => Some(format!("an evicted pod must serve elsewhere first: helenus kube wait {cluster} shows what it waits for; helenus kube heal {cluster} makes the worker schedulable again")),
        }
    }
}

/// How a cut holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Whether connections that were open ended, too: the nodes see each other down.
    pub open_connections: bool,
}

/// Ends a pod at once, without its drain.
///
/// # Errors
/// What kubectl says.
pub fn kill(kubectl: &Kubectl, pod: &Pod) -> Result<(), KubectlError> {
    let words = [
        "delete",
        "pod",
        &pod.name,
        "-n",
        &pod.namespace,
        "--grace-period=0",
        "--force",
    ];
    kubectl.text(&words, "")?;
    Ok(())
}

/// Moves the cluster's pods off a worker, as the disruption budget permits, and keeps new ones off it until [`heal`].
/// Pods of others stay. A worker that takes no pods already is left like that by [`heal`]: somebody else wants it so.
///
/// # Errors
/// What kubectl says: no such worker, or the budget does not permit it within the time.
pub fn drain(
    kubectl: &Kubectl,
    clusters: &KubeClusters,
    state: &mut KubeState,
    worker: &str,
    within: Duration,
) -> Result<(), ClusterError> {
    if !state.drained.iter().any(|one| one == worker) {
        let now = kubectl.json(&["get", "node", worker], "")?;
        if now["spec"]["unschedulable"].as_bool() != Some(true) {
            state.drained.push(worker.to_owned());
            clusters.save(state)?;
        }
    }
    let chosen = format!("--pod-selector={}", selector(state));
    let timeout = format!("--timeout={}s", within.as_secs());
    let words = [
        "drain",
        worker,
        &chosen,
        "--delete-emptydir-data",
        "--ignore-daemonsets",
        &timeout,
    ];
    match kubectl.text(&words, "") {
        Err(KubectlError::Failed { said, .. }) if said.contains("disruption budget") => {
            Err(FaultError::Budget {
                worker: worker.to_owned(),
                cluster: state.name().to_owned(),
            }
            .into())
        }
        drained => Ok(drained.map(drop)?),
    }
}

/// Cuts two data centres by NetworkPolicies, and tries whether they hold.
///
/// # Errors
/// [`FaultError::NotEnforced`], the person stopped it, or kubectl does not get into a pod; its policies are deleted again.
pub fn cut(
    kubectl: &Kubectl,
    state: &KubeState,
    between: [&str; 2],
    cancel: &Cancel,
) -> Result<Cut, ClusterError> {
    let plan = state.rendered()?;
    let all = pods(kubectl, state)?;
    let [a, b] = between;
    if a == b {
        return Err(FaultError::Same(a.to_owned()).into());
    }
    let members = |name: &str| -> Result<(Vec<&PodSet>, Vec<&Pod>), ClusterError> {
        let sets = plan.sets_of(name)?;
        let own = |pod: &&Pod| {
            let of = |set: &&PodSet| set.name == pod.set && set.namespace == pod.namespace;
            pod.ready && sets.iter().any(of)
        };
        let pods: Vec<&Pod> = all.iter().filter(own).collect();
        match pods.is_empty() {
            true => Err(PodsError::None(format!("{}/{name}", state.name())).into()),
            false => Ok((sets, pods)),
        }
    };
    let ((sets_a, pods_a), (sets_b, pods_b)) = (members(a)?, members(b)?);
    let side = |name: &str, sets: &[&PodSet], pods: &[&Pod]| Side {
        namespace: sets[0].namespace.clone(),
        label: label(&[name], LABEL_MAX),
        addresses: pods.iter().map(|pod| pod.ip.clone()).collect(),
    };
    let sides = [side(a, &sets_a, &pods_a), side(b, &sets_b, &pods_b)];
    let (from, to) = (pods_a[0], pods_b[0]);
    if !reaches(kubectl, state, from, to)? {
        let (from, to) = (from.place(), to.place());
        return Err(FaultError::Already { from, to }.into());
    }
    let instance = label(&[state.name()], LABEL_MAX);
    kubectl.apply(&policy::cut(&instance, state.id(), &sides))?;
    let tried = enforced(kubectl, state, (from, to), cancel)
        .and_then(|()| seen_down(kubectl, (&plan, &all[..]), &pods_b, cancel));
    if tried.is_err() {
        uncut(kubectl, &sides)?;
    }
    Ok(Cut {
        open_connections: tried?,
    })
}

/// Waits until no connection can be opened any more.
fn enforced(
    kubectl: &Kubectl,
    state: &KubeState,
    (from, to): (&Pod, &Pod),
    cancel: &Cancel,
) -> Result<(), ClusterError> {
    let begin = Instant::now();
    while reaches(kubectl, state, from, to)? {
        if cancel.is_set() {
            return Err(PodsError::Interrupted.into());
        }
        if begin.elapsed() > ENFORCED_WITHIN {
            let (from, to) = (from.place(), to.place());
            return Err(FaultError::NotEnforced { from, to }.into());
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

/// Whether nodes see those behind the cut down, which they do once their open connections have ended, too.
fn seen_down(
    kubectl: &Kubectl,
    (plan, all): (&KubePlan, &[Pod]),
    behind: &[&Pod],
    cancel: &Cancel,
) -> Result<bool, ClusterError> {
    let begin = Instant::now();
    loop {
        let seen = ring(kubectl, plan, all)?;
        let down = seen.views.iter().any(|(_, view)| {
            let other = |node: &&_| seen_in(node, behind);
            view.iter()
                .filter(other)
                .all(|node| node.state.starts_with('D'))
        });
        if down || begin.elapsed() > SEEN_DOWN_WITHIN {
            return Ok(down);
        }
        if cancel.is_set() {
            return Err(PodsError::Interrupted.into());
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Deletes the policies of one cut; those of others stay.
fn uncut(kubectl: &Kubectl, [a, b]: &[Side; 2]) -> Result<(), KubectlError> {
    for (own, other) in [(a, b), (b, a)] {
        let name = policy::cut_name(own, other);
        let words = [
            "delete",
            "networkpolicy",
            &name,
            "-n",
            &own.namespace,
            "--ignore-not-found",
        ];
        kubectl.text(&words, "")?;
    }
    Ok(())
}

fn seen_in(node: &super::ring::NodeSeen, pods: &[&Pod]) -> bool {
    pods.iter().any(|pod| pod.ip == node.address)
}

/// Whether a pod can open a connection to another one's port for nodes.
///
/// # Errors
/// kubectl does not get into the pod: nobody tried.
fn reaches(
    kubectl: &Kubectl,
    state: &KubeState,
    from: &Pod,
    to: &Pod,
) -> Result<bool, KubectlError> {
    let address = format!("{}:{}", to.ip, state.plan.ports.storage);
    let words = [LAUNCHER, "__pod", "reach", &address];
    match kubectl.exec(from.at(), &words, "") {
        Ok(_) => Ok(true),
        Err(KubectlError::Failed { said, .. }) if is_of_program(&said) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Deletes the cluster's policies.
fn join(kubectl: &Kubectl, state: &KubeState) -> Result<Vec<String>, ClusterError> {
    let plan = state.rendered()?;
    let chosen = format!("{ID}={}", state.id());
    let mut lines = Vec::new();
    for namespace in &plan.namespaces {
        let words = ["delete", "networkpolicy", "-n", namespace, "-l", &chosen];
        let text = kubectl.text(&words, "")?;
        lines.extend(
            text.lines()
                .filter(|line| line.contains("deleted"))
                .map(str::to_owned),
        );
    }
    Ok(lines)
}

/// Ends the faults that last: policies are deleted, workers that are still there take pods again. What was done.
///
/// # Errors
/// What kubectl says first; all else was done, and what was not is done by the next call.
pub fn heal(
    kubectl: &Kubectl,
    clusters: &KubeClusters,
    state: &mut KubeState,
) -> Result<Vec<String>, ClusterError> {
    let (mut done, mut first) = match join(kubectl, state) {
        Ok(done) => (done, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    if let Err(error) = uncordon(kubectl, clusters, state, &mut done) {
        first = first.or(Some(error));
    }
    first.map_or(Ok(done), Err)
}

/// Lets workers that were drained for the cluster take pods again; `done` gets what was done.
///
/// # Errors
/// What kubectl says first; the others take pods, and the state names those that do not.
pub(super) fn uncordon(
    kubectl: &Kubectl,
    clusters: &KubeClusters,
    state: &mut KubeState,
    done: &mut Vec<String>,
) -> Result<(), ClusterError> {
    let mut first: Option<ClusterError> = None;
    for worker in state.drained.clone() {
        match kubectl.text(&["uncordon", &worker], "") {
            Ok(text) => done.extend(text.lines().map(str::to_owned)),
            Err(KubectlError::Failed { said, .. }) if is_gone(&said, &worker) => {
                done.push(format!("{worker} is no longer there"));
            }
            Err(error) => {
                first = first.or(Some(error.into()));
                continue;
            }
        }
        state.drained.retain(|one| *one != worker);
        clusters.save(state)?;
    }
    first.map_or(Ok(()), Err)
}

/// Whether kubectl says that there is no such worker.
fn is_gone(said: &str, worker: &str) -> bool {
    said.contains(&format!("nodes \"{worker}\" not found"))
}
