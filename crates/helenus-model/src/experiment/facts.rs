//! What an analysis knows of a run: its place in the plan, its numbers, whether it may be believed.
//! Refuses numbers of single operations: an experiment is about a phase as a whole.

use super::covariates::Covariates;
use super::order::Planned;
use crate::comparison::{ALL, Measure};
use crate::doubt::{DoubtKind, Verdict};
use crate::result::{Around, PhaseResult, RunResult};
use serde::Serialize;
use std::collections::BTreeMap;

/// Numbers of a run by phase, in the units of their measures.
pub type Values = BTreeMap<String, BTreeMap<Measure, f64>>;

/// Where a run that searched for the highest rate has its number; other runs have names of phases there.
const SEARCH: &str = "search";

/// A run that has ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fact {
    /// Its name in the history.
    pub run: String,
    /// Its place in the plan.
    #[serde(flatten)]
    pub planned: Planned,
    /// Number of the life of its nodes: runs of equal number are not independent of each other.
    pub life: u32,
    /// What its doubts leave of it.
    pub verdict: Verdict,
    /// It could not keep up with its rate: the number is none, and that it could not is an answer.
    pub behind: bool,
    /// The generator was the bottleneck of one of its phases.
    pub generator_was_limit: bool,
    /// Phases in which the generator was late: without its delay their response times lie between service and response.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub censored: Vec<String>,
    /// Names of its phases, in their order.
    pub phases: Vec<String>,
    /// Its numbers.
    pub values: Values,
    /// Processors that all generator processes together kept busy in the last phase; none if not measured.
    pub generator_processors: Option<f64>,
    /// Bytes that the nodes read from the disk for each operation of the last phase; none if not measured.
    pub read_bytes_per_operation: Option<f64>,
    /// The same of what they wrote.
    pub written_bytes_per_operation: Option<f64>,
    /// Why limits that were asked of its nodes did not hold; none where they did, or none were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits_failed: Option<String>,
    /// Texts of its doubts, each once.
    pub doubts: Vec<String>,
    /// Its covariates.
    pub covariates: Covariates,
}

impl Fact {
    /// What is known of a result, and of the nodes that it was measured on: the number of their life, and why their limits
    /// did not hold.
    pub fn of(
        run: &str,
        planned: Planned,
        life: u32,
        result: &RunResult,
        limits_failed: Option<String>,
    ) -> Self {
        let all = || result.phases.iter().flat_map(|phase| &phase.doubts);
        let mut doubts: Vec<String> = all().map(|doubt| doubt.text.clone()).collect();
        doubts.sort();
        doubts.dedup();
        let phases = result.phases.iter();
        let censored = result.phases.iter().filter(|phase| phase.is_censored());
        Self {
            run: run.to_owned(),
            planned,
            life,
            verdict: phases
                .map(|phase| Verdict::of(&phase.doubts))
                .max()
                .unwrap_or(result.verdict),
            behind: result.phases.iter().any(PhaseResult::nodes_fell_behind),
            generator_was_limit: all().any(|d| d.kind == DoubtKind::GeneratorSaturated),
            censored: censored.map(|phase| phase.name.clone()).collect(),
            phases: result
                .phases
                .iter()
                .map(|phase| phase.name.clone())
                .collect(),
            values: values(result),
            generator_processors: result
                .phases
                .last()
                .and_then(|last| last.around.generator_processors),
            read_bytes_per_operation: per_operation(result, |around| around.nodes_read_bytes),
            written_bytes_per_operation: per_operation(result, |around| around.nodes_written_bytes),
            limits_failed,
            doubts,
            covariates: Covariates::of(result),
        }
    }

    /// Of a run that searched for the highest rate: that is its number, its trials have none of their own, and that some of
    /// them were overloaded is no doubt. None where no rate was found.
    #[must_use]
    pub fn of_search(mut self, highest_per_s: Option<f64>, verdict: Verdict) -> Self {
        let number = highest_per_s.map(|rate| (Measure::MaxRate, rate));
        self.phases = vec![SEARCH.to_owned()];
        self.values = [(SEARCH.to_owned(), number.into_iter().collect())].into();
        self.censored.clear();
        (self.behind, self.verdict) = (false, verdict);
        self
    }

    /// Whether its numbers count.
    pub fn is_believed(&self) -> bool {
        self.verdict != Verdict::Invalid
    }

    /// The least that a number of it may be: the service time of a response time, where the generator was late.
    pub(super) fn least(&self, phase: &str, measure: Measure) -> Option<f64> {
        let most = self.value(phase, measure)?;
        let late = self.censored.iter().any(|name| name == phase);
        let service = measure.service().filter(|_| late);
        let least = service.and_then(|service| self.value(phase, service));
        Some(least.unwrap_or(most).min(most))
    }

    /// A number of it; none where it is not valid.
    pub(super) fn value(&self, phase: &str, measure: Measure) -> Option<f64> {
        let found = self.values.get(phase)?.get(&measure).copied();
        found.filter(|_| self.is_believed())
    }
}

/// The numbers of a result.
pub fn values(result: &RunResult) -> Values {
    let mut all = Values::new();
    for phase in &result.phases {
        let each = Measure::EVERY.into_iter();
        let found = each.filter_map(|measure| Some((measure, measure.value(phase, ALL)?)));
        all.insert(phase.name.clone(), found.collect());
    }
    all
}

#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
fn per_operation(result: &RunResult, of: impl Fn(&Around) -> Option<u64>) -> Option<f64> {
    let last = result.phases.last()?;
    let bytes = of(&last.around)?;
    (last.total.completed > 0).then(|| bytes as f64 / last.total.completed as f64)
}
