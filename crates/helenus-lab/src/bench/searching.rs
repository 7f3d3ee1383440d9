//! The trials of a search, as they come: after each phase the model says which is next.
//! Refuses to choose a rate: `helenus_model::search` does.

use crate::bench::LabEvent;
use helenus_model::result::PhaseResult;
use helenus_model::run_plan::{Phase, RunPlan};
use helenus_model::sample::SampleLine;
use helenus_model::samples::Accumulator;
use helenus_model::search::phase_after;
use std::time::Instant;

/// How far a search is.
#[derive(Debug, Default)]
pub(super) struct Searching {
    /// Phases that have ended.
    ended: Vec<PhaseResult>,
    /// When the first trial could start.
    since: Option<Instant>,
    /// Operations that were offered so far.
    offered: u64,
}

impl Searching {
    /// The phase that comes after this line of a plan that searches; none within a phase, and where none is to come.
    pub(super) fn after(
        &mut self,
        line: &SampleLine,
        plan: &RunPlan,
        samples: &Accumulator,
        events: &mut dyn FnMut(LabEvent<'_>),
    ) -> Option<Phase> {
        let search = plan.search.as_ref()?;
        match line {
            SampleLine::Interval(interval) => {
                let each = interval.operations.values();
                self.offered += each.map(|one| one.offered).sum::<u64>();
                None
            }
            SampleLine::PhaseEnd(end) => {
                let ended = samples.phase(end.phase)?;
                events(LabEvent::Ended(&ended));
                self.ended.push(ended);
                if end.phase + 1 < plan.phases.len() {
                    return None;
                }
                let template = plan
                    .phases
                    .iter()
                    .rfind(|phase| phase.rate_per_s.is_none())?;
                let since = *self.since.get_or_insert_with(Instant::now);
                let spent_ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
                phase_after(search, template, &self.ended, (spent_ms, self.offered))
            }
            _ => None,
        }
    }
}
