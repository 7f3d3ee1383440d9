//! Generators elsewhere: in pods beside a cluster on Kubernetes or at agents, and what became of pods meanwhile.
//! Refuses to leave generators behind: they go when the run is over, whatever came of it.

use super::{Bench, BenchError, Elsewhere};
use crate::generator::LostGenerator;
use crate::inside::PodsBefore;
use crate::watch::Span;
use helenus_model::agent::GeneratorSeen;
use helenus_model::doubt::OutsideFacts;
use helenus_model::run_plan::RunPlan;
use helenus_model::telemetry::Reading;

impl Bench<'_> {
    /// Makes the generators, where they are pods and not there yet; reaches the agents, where there are any.
    pub(super) fn generators(&mut self) -> Result<(), BenchError> {
        let target = self.target.as_ref();
        let agents = &self.request.agents;
        if !agents.is_empty() {
            let endpoints = target.map_or(&[][..], |target| &target.endpoints);
            let machine = agents.open(endpoints, &self.context.cancel)?;
            self.elsewhere = Some(Elsewhere {
                on: format!("from {}", agents.names().join(", ")),
                plan: None,
                machine,
            });
            return Ok(());
        }
        let Some(kube) = target.and_then(|target| target.kube.as_ref()) else {
            return Ok(());
        };
        if self.job.is_none() {
            let asked = self.request.client_dc.as_deref();
            let pods = self.request.processes;
            let job = kube.generators(asked, pods, &self.context.cancel)?;
            self.elsewhere = Some(Elsewhere {
                on: kube.place(&job),
                plan: Some(kube.state.plan.clone()),
                machine: None,
            });
            self.job = Some(job);
        }
        Ok(())
    }

    /// What pods used so far.
    pub(super) fn pods(&self) -> Option<PodsBefore> {
        let kube = self.target.as_ref()?.kube.as_ref()?;
        Some(PodsBefore::look(kube, self.job.as_ref()?))
    }

    /// What became of them, and the stops of the nodes' JVMs.
    pub(super) fn pods_seen(&self, before: PodsBefore, outside: &mut OutsideFacts) -> Vec<Reading> {
        let kube = self.target.as_ref().and_then(|target| target.kube.as_ref());
        let (Some(kube), Some(job)) = (kube, &self.job) else {
            return Vec::new();
        };
        let seen = before.seen(kube, job);
        outside.nodes_died.extend(seen.died);
        outside.throttled.extend(seen.throttled);
        seen.readings
    }

    /// Deletes them; what cannot be deleted now ends by itself after some minutes.
    pub(super) fn end_generators(&mut self) {
        if let Some(job) = self.job.take()
            && let Err(error) = job.end()
        {
            tracing::error!(%error, "the generators are still there");
        }
    }
}

/// The clock that is known least, by its generator, with its error as a share of an interval; none where all are here.
pub(super) fn clocks(seen: &[GeneratorSeen], plan: &RunPlan) -> Option<(String, f64)> {
    let worst = seen
        .iter()
        .max_by(|a, b| a.error_us().total_cmp(&b.error_us()))?;
    #[expect(clippy::cast_precision_loss, reason = "milliseconds")]
    let interval_us = plan.sampling_interval_ms.max(1) as f64 * 1e3;
    Some((worst.name.clone(), worst.error_us() / interval_us))
}

/// The same with what is missing of a measurement window because generators were lost.
pub(super) fn without(
    mut outside: OutsideFacts,
    lost: &[LostGenerator],
    span: Span,
    plan: &RunPlan,
) -> OutsideFacts {
    // Phases of one run have one rate, or each its own: then the number of operations is left out.
    let mut rates = plan.phases.iter().map(|phase| phase.rate_per_s);
    let first = rates.next().flatten();
    let rate = first.filter(|_| rates.all(|rate| rate == first));
    for LostGenerator { lost, why } in lost {
        let missing = lost.missing(span);
        if missing > 0.0 {
            let words = lost.words(span, rate, why);
            outside.generators_lost.insert(words, missing);
        }
    }
    outside
}

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_model::samples::Lost;

    #[test]
    fn a_window_that_had_ended_before_misses_nothing() {
        let text = serde_json::json!({
            "format": "helenus.plan/1",
            "endpoints": ["127.0.0.1:9042"],
            "workload": helenus_model::workload::Workload::Standard1,
            "phases": [helenus_model::run_plan::Phase::steady("write", 300.0, 4, 2_000)],
            "consistency": helenus_model::run_plan::Consistency::One,
            "seed": 1,
            "processes": 3,
        });
        let plan: RunPlan = serde_json::from_value(text).expect("a plan");
        let lost = [LostGenerator {
            lost: Lost {
                place: 2,
                of: 3,
                until_ns: Some(15_000_000_000),
                offered: 1_000,
            },
            why: "pod g-2 was deleted".to_owned(),
        }];
        let none = without(OutsideFacts::default(), &lost, (0, 15_000_000_000), &plan);
        assert_eq!(none, OutsideFacts::default());
        let half = without(
            OutsideFacts::default(),
            &lost,
            (10_000_000_000, 20_000_000_000),
            &plan,
        );
        let (words, share) = half.generators_lost.first_key_value().expect("one");
        assert_eq!(
            words,
            "generator 3 of 3 ended 5 s into the measurement window (pod g-2 was deleted): a third of the load is missing from then on, about 500 operations"
        );
        assert!((share - 0.5 / 3.0).abs() < 1e-9);
    }
}
