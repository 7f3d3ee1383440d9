//! A cluster on hosts that an experiment has: its nodes are stopped, started with other settings, and put back as they were.
//! Refuses to forget how a cluster was before that is the case again.

use super::{Ansible, HostsClusters, HostsState, PlayEvent, jars, lay_out, wait};
use crate::cancel::Cancel;
use crate::context::Context;
use crate::error::ClusterError;
use crate::kept::KeptError;
use helenus_model::access::Access;
use helenus_model::hosts::Playbook;
use helenus_model::lent::{NotLent, as_asked};
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
}

impl HostsState {
    /// Its own plan, which is not the one that it has now while an experiment has it.
    pub fn permanent_plan(&self) -> &ClusterPlan {
        self.lent.as_ref().map_or(&self.plan, |lent| &lent.plan)
    }

    /// What it was asked for, where an experiment may have it.
    ///
    /// # Errors
    /// Why none may.
    pub fn lendable(&self) -> Result<&PlanRequest, NotLent> {
        as_asked(self.permanent_plan(), self.asked.as_deref(), "hosts up")
    }
}

/// With what all nodes of a cluster are stopped and started.
pub struct Anew<'a> {
    /// Where state and jars are.
    pub context: &'a Context,
    /// How one gets into the nodes.
    pub access: &'a Access,
    /// Longest wait until all serve.
    pub within: Duration,
    /// Whether the person stopped it.
    pub cancel: &'a Cancel,
}

/// Starts all nodes anew with this plan, for an experiment; their data stays. `see` gets what is waited for.
///
/// # Errors
/// Ansible fails or nodes do not serve; the cluster then still knows how it was.
pub fn renew(
    anew: &Anew<'_>,
    state: &mut HostsState,
    (by, plan): (&str, ClusterPlan),
    see: &mut dyn FnMut(&str),
) -> Result<(), ClusterError> {
    if state.lent.is_none() {
        state.lent = Some(Box::new(Lent {
            by: by.to_owned(),
            plan: state.plan.clone(),
        }));
    }
    anew.start(state, plan, see)
}

/// Starts all nodes anew as they were before an experiment took the cluster; nothing where none has it.
///
/// # Errors
/// As [`renew`].
pub fn put_back(
    anew: &Anew<'_>,
    state: &mut HostsState,
    see: &mut dyn FnMut(&str),
) -> Result<(), ClusterError> {
    let Some(lent) = state.lent.clone() else {
        return Ok(());
    };
    anew.start(state, lent.plan, see)?;
    state.lent = None;
    let clusters = HostsClusters::of(&anew.context.paths.state);
    Ok(clusters.save(state)?)
}

impl Anew<'_> {
    /// All nodes end before the first one starts: no restart of an experiment has nodes with the settings of another.
    fn start(
        &self,
        state: &mut HostsState,
        plan: ClusterPlan,
        see: &mut dyn FnMut(&str),
    ) -> Result<(), ClusterError> {
        let clusters = HostsClusters::of(&self.context.paths.state);
        let jars = jars(self.context, &plan.release, &mut |_| {})?;
        state.plan = plan;
        clusters.save(state)?;
        let rendered = state.rendered()?;
        let folder = lay_out(&clusters, &rendered).map_err(KeptError::from)?;
        let ansible = Ansible::find(&folder)?
            .with_jars(jars)
            .start_within(self.within);
        let mut events = |event: &PlayEvent| {
            if let PlayEvent::Task { name } = event {
                see(name);
            }
        };
        for playbook in [Playbook::Stop, Playbook::Site] {
            ansible.play(playbook, false, self.cancel, &mut events)?;
        }
        let waits = (self.within, self.cancel);
        wait(state, &rendered, self.access, waits, see)?;
        Ok(())
    }
}
