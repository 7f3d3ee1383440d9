//! What the generator does alone: the figures of its calibration beside those of a run.
//! Refuses figures of another machine: who hands in a calibration has compared it with the generator's.

use super::{PhaseResult, RunResult};
use crate::calibration::{Calibration, Step};

impl PhaseResult {
    /// What a phase against the null server shows; none where nothing completed.
    pub fn step(&self) -> Option<Step> {
        let total = &self.total;
        let (late, service) = (total.lateness.as_ref()?, total.service.as_ref()?);
        Some(Step {
            rate_per_s: self.rate_per_s,
            in_flight: self.in_flight,
            achieved_per_s: self.achieved_per_s,
            cpu_us: self.thread_busy * 1e6 / self.achieved_per_s,
            late_us: [late.p50_us, late.p99_us],
            response_us: total.response.as_ref().map(|r| [r.p50_us, r.p99_us]),
            service_us: [service.p50_us, service.p99_us],
        })
    }
}

impl RunResult {
    /// Keeps with each phase what the calibration of its generator's machine says at its rate.
    pub fn set_calibration(&mut self, calibration: &Calibration) {
        for phase in &mut self.phases {
            phase.around.calibration = calibration.nearest(phase.rate_per_s).cloned();
        }
    }
}

/// What the calibration says of these phases together; none where the generator's machine was not calibrated.
pub fn calibration<'a>(phases: impl IntoIterator<Item = &'a PhaseResult>) -> Option<&'a Step> {
    let each = phases.into_iter();
    Step::of_all(each.filter_map(|phase| phase.around.calibration.as_ref()))
}
