//! A cluster that an experiment has: its nodes are stopped, started with other settings, and put back as they were.
//! Refuses to forget how a cluster was before that is applied again.

use super::apply::{apply, form, gone};
use super::pods::{Progress, wait};
use super::{KubeClusters, KubeState, Kubectl};
use crate::cancel::Cancel;
use crate::error::ClusterError;
use helenus_model::kube::lent::lendable;
use helenus_model::kube::options::Options;
use helenus_model::lent::NotLent;
use helenus_model::plan::{ClusterPlan, PlanRequest};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How a cluster was before an experiment took it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lent {
    /// The experiment, such as `e7`.
    pub by: String,
    /// Cassandra's part.
    pub plan: ClusterPlan,
    /// Kubernetes' part.
    pub options: Options,
}

impl KubeState {
    /// Its own plan and options, which are not those that it has now while an experiment has it.
    pub fn permanent_plan(&self) -> (&ClusterPlan, &Options) {
        match &self.lent {
            Some(lent) => (&lent.plan, &lent.options),
            None => (&self.plan, &self.options),
        }
    }

    /// What it was asked for, where an experiment may have it.
    ///
    /// # Errors
    /// Why none may.
    pub fn lendable(&self) -> Result<&PlanRequest, NotLent> {
        let (plan, options) = self.permanent_plan();
        lendable(plan, options, self.asked.as_deref())
    }
}

/// Starts all nodes anew with this plan, for an experiment. Where they have no volumes they start without data. `see` is
/// called with what is waited for.
///
/// # Errors
/// Nodes do not end or do not serve; the cluster then still knows how it was.
pub fn renew(
    kubectl: &Kubectl,
    clusters: &KubeClusters,
    state: &mut KubeState,
    (by, plan): (&str, ClusterPlan),
    waits: (Duration, &Cancel),
    see: &mut dyn FnMut(&str),
) -> Result<(), ClusterError> {
    if state.lent.is_none() {
        state.lent = Some(Box::new(Lent {
            by: by.to_owned(),
            plan: state.plan.clone(),
            options: state.options.clone(),
        }));
    }
    let (_, options) = state.permanent_plan();
    let options = options.clone();
    anew(kubectl, clusters, state, (plan, options), waits, see)
}

/// Starts all nodes anew as they were before an experiment took the cluster; nothing where none has it.
///
/// # Errors
/// As [`renew`].
pub fn put_back(
    kubectl: &Kubectl,
    clusters: &KubeClusters,
    state: &mut KubeState,
    waits: (Duration, &Cancel),
    see: &mut dyn FnMut(&str),
) -> Result<(), ClusterError> {
    let Some(lent) = state.lent.clone() else {
        return Ok(());
    };
    let before = (lent.plan, lent.options);
    anew(kubectl, clusters, state, before, waits, see)?;
    state.lent = None;
    Ok(clusters.save(state)?)
}

/// All nodes end before the first one starts: those of a cluster without volumes would otherwise have to take the places
/// of others in it, which takes more than a minute each, and no two restarts would begin alike.
fn anew(
    kubectl: &Kubectl,
    clusters: &KubeClusters,
    state: &mut KubeState,
    (plan, options): (ClusterPlan, Options),
    (within, cancel): (Duration, &Cancel),
    see: &mut dyn FnMut(&str),
) -> Result<(), ClusterError> {
    let rendered = state.rendered()?;
    let sets = rendered.sets.iter();
    state.options.replicas = sets.map(|set| (set.name.clone(), 0)).collect();
    clusters.save(state)?;
    apply(kubectl, clusters, state)?;
    let mut ends = |left: usize| see(&format!("{left} pods end"));
    gone(kubectl, state, &rendered, cancel, &mut ends)?;
    state.plan = plan;
    state.options = Options {
        formed: options.formed && options.storage.is_some(),
        ..options
    };
    clusters.save(state)?;
    apply(kubectl, clusters, state)?;
    let mut starts = |now: &Progress| {
        let waiting = now.waiting.first();
        let why = waiting.map(|one| format!(": {}: {}", one.pod, one.blocker.why()));
        let why = now.apart.as_ref().map(|why| format!(": {why}")).or(why);
        let why = why.unwrap_or_default();
        see(&format!("{} of {} pods ready{why}", now.ready, now.total));
    };
    wait(kubectl, state, within, cancel, &mut starts)?;
    form(kubectl, clusters, state)
}
