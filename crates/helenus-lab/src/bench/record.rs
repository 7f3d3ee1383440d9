//! A run in the history: what it began with, and how it ended.
//! Refuses secrets: a plan has none.

use super::Bench;
use crate::compare::CLASS_ARCHIVE_KEY;
use crate::inside::KubeTarget;
use crate::target::Target;
use helenus_cluster::state::ClusterState;
use helenus_cluster::wall;
use helenus_cluster::{machine, observe};
use helenus_model::run_plan::RunPlan;
use helenus_record::{Ending, ON_KEY, RunBeginning};

/// What distinguishes this life of a cluster's nodes from every other.
pub(crate) fn life(state: &ClusterState) -> String {
    let pids = observe::pids(state);
    let pids: Vec<String> = pids.iter().map(|(n, p)| format!("{n}={p:?}")).collect();
    format!("{} {}", state.id, pids.join(" "))
}

impl Bench<'_> {
    pub(super) fn begin_record(&mut self, plan: &RunPlan) {
        // The machine is the generator's.
        let elsewhere = self.elsewhere.as_ref();
        let own = elsewhere.and_then(|elsewhere| elsewhere.machine.clone());
        let own = own.unwrap_or_else(machine::read);
        let mut machine = serde_json::to_value(own).unwrap_or_default();
        if let Some(elsewhere) = elsewhere {
            machine[ON_KEY] = elsewhere.on.as_str().into();
        }
        let cluster = self.cluster.as_ref();
        // What really held belongs to the number: a node that was limited is another node.
        if let Some(limits) = cluster.and_then(|c| c.limits.as_ref()) {
            machine["limits"] = limits.facts();
        }
        let kube = self.target.as_ref().and_then(|target| target.kube.as_ref());
        if let Some(limits) = kube.and_then(KubeTarget::limits) {
            machine["limits"] = limits;
        }
        if let Some(used) = self.archive_used {
            machine[CLASS_ARCHIVE_KEY] = used.into();
        }
        let own = self.target.as_ref().and_then(Target::plan);
        let own = own.or_else(|| cluster.map(|c| &c.plan));
        let cluster_plan = own.and_then(|p| serde_json::to_value(p.without_secrets()).ok());
        let life = kube.map(KubeTarget::life);
        let life = life.or_else(|| cluster.map(self::life));
        let beginning = RunBeginning {
            plan,
            release: own.map(|plan| plan.release.as_str()),
            preset: own.map(|plan| plan.preset.word()),
            jvm: cluster.map(|c| c.runtime.jvm.as_str()),
            host: &machine,
            cluster_plan: cluster_plan.as_ref(),
            life: life.as_deref(),
            helenus_version: &self.request.version,
            command: &self.request.command,
            began_wall_ns: wall::now_ns(),
            tag: self.request.tag.as_deref(),
            place: self.request.place_in_history,
        };
        if let (true, Ok((history, run))) = (self.request.recorded, &mut self.history) {
            match history.begin_run(&beginning) {
                Ok(id) => *run = Some(id),
                Err(error) => self.history = Err(error),
            }
        }
    }

    pub(super) fn record(&mut self) {
        let interrupted = self.context.cancel.is_set();
        if let (Ok((history, Some(run))), Some(result)) = (&mut self.history, &self.result) {
            let ending = Ending::of(result.verdict, interrupted);
            if let Err(error) = history.finish_run(*run, result, ending) {
                self.history = Err(error);
            }
        }
    }
}
