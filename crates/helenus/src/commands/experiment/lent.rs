//! Experiments in an existing cluster, on Kubernetes or on hosts: what a file may ask of its nodes, and what they are
//! given. Refuses keys that they cannot have, with their line.

use super::cells::{Place, of_cluster, texts};
use crate::cli::run::Run;
use crate::commands::up;
use crate::error::{CommandError, code};
use crate::ui::Ui;
use helenus_cluster::context::Context;
use helenus_cluster::error::ClusterError;
use helenus_cluster::hosts::{HostsClusters, HostsState};
use helenus_cluster::kube::{KubeClusters, KubeState};
use helenus_cluster::live_settings::LiveSetting;
use helenus_lab::bench::Where;
use helenus_lab::experiment::LentNodes;
use helenus_model::experiment::{Experiment, Kind, Setting};
use helenus_model::kube::lent::regroups;
use helenus_model::lent::{NodeChange, NotLent, changeable};
use helenus_model::plan::{ClusterPlan, PlanError, PlanRequest};
use helenus_model::release::Release;
use std::time::Duration;

/// The key of `[cluster]` that says on which cluster all runs are.
const ON: &str = "on";

/// Keys of `[cluster]` that say where a cluster is, and how one gets into it.
pub(super) const OF_PLACE: [&str; 3] = [ON, "user", "password-from"];

/// Longest wait until nodes serve, unless the file says another: as `kube up` has it.
const READY_WITHIN: Duration = Duration::from_secs(900);
const READY_WITHIN_KEY: &str = "ready-within";

/// Whether all runs are on an existing cluster.
pub(super) fn is_place(of: &Experiment) -> bool {
    of.cluster.iter().any(|setting| setting.key == ON)
}

/// What a run there is given of these settings: the nodes have theirs already.
pub(super) fn of_run(verb: &clap::Command, settings: Vec<Setting>) -> Vec<Setting> {
    let of_nodes = |setting: &Setting| of_nodes(verb, setting);
    settings.into_iter().filter(|one| !of_nodes(one)).collect()
}

fn of_nodes(verb: &clap::Command, setting: &Setting) -> bool {
    let mut arguments = verb.get_arguments();
    let own = arguments.find(|arg| arg.get_long() == Some(setting.key.as_str()));
    own.is_some_and(|arg| of_cluster(arg) && !OF_PLACE.contains(&setting.key.as_str()))
}

/// Whether its nodes can have all that a file asks for.
pub(super) fn check(
    of: &Experiment,
    verb: &clap::Command,
    place: &Place<'_>,
) -> Result<(), CommandError> {
    if of.populate.is_some()
        && let Err(refused) = changeable("populate")
    {
        let text = format!("{}: {refused}", place.file);
        return Err(CommandError::new(code::USAGE, text).hint(refused.hint.to_owned()));
    }
    let levels = of.factors.iter().flat_map(|factor| {
        let each = factor.levels.iter().flat_map(|level| &level.settings);
        each.map(|setting| (factor.kind, setting))
    });
    let all = of.cluster.iter().map(|setting| (Kind::Restart, setting));
    for (kind, setting) in all.chain(levels) {
        if of_nodes(verb, setting) {
            changeable(&setting.key).map_err(|refused| {
                let wrong = place.wrong(setting.line, &refused.to_string());
                wrong.hint(refused.hint.to_owned())
            })?;
        }
        if kind == Kind::Live {
            live(setting, place)?;
        }
    }
    Ok(())
}

/// Whether nodetool sets what a level of a live factor says.
fn live(setting: &Setting, place: &Place<'_>) -> Result<(), CommandError> {
    for text in texts(&setting.value) {
        let read = LiveSetting::parse(text);
        if read.is_ok_and(|read| read.nodetool().is_none()) {
            let text = format!("{text} cannot be set by nodetool: it sets all caches at once");
            let hint = "write kind = \"restart\"".to_owned();
            return Err(place.wrong(setting.line, &text).hint(hint));
        }
    }
    Ok(())
}

/// The settings of a combination that its nodes have.
pub(super) fn of_lent(verb: &clap::Command, settings: &[Setting]) -> Vec<Setting> {
    let own = settings.iter().filter(|one| of_nodes(verb, one));
    own.cloned().collect()
}

/// An existing cluster, whose nodes may be changed.
pub(super) enum Lender {
    Pods(Box<KubeState>),
    Hosts(Box<HostsState>),
}

impl Lender {
    /// The cluster of this place; none where that is not one that Helenus brought up elsewhere.
    pub(super) fn of(place: &Where, context: &Context) -> Result<Option<Self>, CommandError> {
        let state = &context.paths.state;
        Ok(match place {
            Where::Kube { name, .. } => {
                let found = KubeClusters::of(state).load(name);
                Some(Self::Pods(Box::new(found?)))
            }
            Where::Hosts {
                ours: Some(name), ..
            } => {
                let found = HostsClusters::of(state).load(name);
                Some(Self::Hosts(Box::new(found?)))
            }
            Where::Hosts { .. } | Where::Cluster(_) | Where::Ephemeral(_) => None,
        })
    }

    fn asked(&self) -> Result<&PlanRequest, NotLent> {
        match self {
            Self::Pods(state) => state.lendable(),
            Self::Hosts(state) => state.lendable(),
        }
    }

    /// Its plan outside of experiments.
    fn own(&self) -> &ClusterPlan {
        match self {
            Self::Pods(state) => state.permanent_plan().0,
            Self::Hosts(state) => state.permanent_plan(),
        }
    }

    /// What its nodes are given in a combination, whose `flags` are read from these settings; why they do not fit their
    /// machines, where they do not.
    pub(super) fn nodes(
        &self,
        (flags, settings): (&Run, &[Setting]),
        ui: &Ui,
    ) -> Result<(LentNodes, Option<String>), CommandError> {
        let asked = self.asked()?;
        let says = |key: &str| settings.iter().any(|setting| setting.key == key);
        let own = self.own();
        let release = Release::facts_for(&own.release).unwrap_or(Release::newest());
        let node = &flags.cluster_flags.node;
        let change = NodeChange {
            preset: says("preset").then_some(flags.preset),
            heap: node.heap,
            new_heap: node.new_heap,
            set: up::checked(release, &node.set, ui)?,
            jvm: node.jvm.clone(),
            cpus: flags.cluster_flags.cpus,
        };
        let ready_within = match says(READY_WITHIN_KEY) {
            true => flags.cluster_flags.ready_within,
            false => READY_WITHIN,
        };
        let (plan, unfit) = match change.plan(asked) {
            Ok(plan) => (plan, None),
            Err(error @ PlanError::Cpus { .. }) => (own.clone(), Some(error.to_string())),
            Err(error) => return Err(ClusterError::from(error).into()),
        };
        if let Self::Pods(state) = self {
            same_sets(state, &plan)?;
        }
        Ok((LentNodes { plan, ready_within }, unfit))
    }
}

/// Wants pods to stay in their StatefulSets.
fn same_sets(state: &KubeState, plan: &ClusterPlan) -> Result<(), CommandError> {
    let (own, options) = state.permanent_plan();
    if regroups(own, plan, options)? {
        let text = format!(
            "the pods of {} would belong to other StatefulSets",
            own.name
        );
        let hint = "leave out the preset or setting that some of its nodes have for themselves";
        return Err(CommandError::new(code::USAGE, text).hint(hint.to_owned()));
    }
    Ok(())
}
