//! What the load generator costs on one machine, how fast it is and how late, measured without a database.
//! Refuses to predict: figures are those of the shapes that were measured.

use crate::format::Format;
use crate::machine::Machine;
use crate::run_plan::{Extent, Phase, Positions, RunPlan, Share};
use crate::seed::Seed;
use crate::units::{fixed, whole};
use crate::workload::Workload;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// Version of the stored shape.
pub const CALIBRATION_VERSION: u32 = 1;

/// Rates that are measured, operations a second.
const RATES: [f64; 3] = [1_000.0, 10_000.0, 100_000.0];

/// Operations in flight of the closed loop that finds the highest rate, over all of its connections.
const LIMIT_IN_FLIGHT: u32 = 256;

/// The same of the paced loads: more than a null server ever has at once.
const PACED_IN_FLIGHT: u32 = 1024;

/// What was measured on a machine, `helenus.calibration/1`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// `helenus.calibration/1`.
    pub format: Format,
    /// Version of Helenus.
    pub helenus: String,
    /// The machine.
    pub machine: Machine,
    /// When it was measured, in seconds since 1970.
    pub unix_s: u64,
    /// By rate; the closed loop is last.
    pub steps: Vec<Step>,
}

/// One load against the null server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Operations a second that were offered; none in the closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
    /// Operations in flight at most.
    pub in_flight: u32,
    /// Operations a second that completed.
    pub achieved_per_s: f64,
    /// CPU of the generator's thread for an operation, in microseconds.
    pub cpu_us: f64,
    /// How late operations started, at the 50th and the 99th percentile, in microseconds.
    pub late_us: [Option<f64>; 2],
    /// Response time at the same percentiles; none in the closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_us: Option<[Option<f64>; 2]>,
    /// Time from the request's first byte to its answer, at the same percentiles: the system's and the null server's. No
    /// service time measured on this machine can be shorter.
    pub service_us: [Option<f64>; 2],
}

/// The plan of a calibration against the null server at `address`: each load lasts so long, after a warm-up of a third.
pub fn plan(address: SocketAddr, each_ms: u64) -> RunPlan {
    let phase = |rate_per_s: Option<f64>| Phase {
        name: rate_per_s.map_or("limit".to_owned(), |rate| format!("{rate}/s")),
        operations: vec![Share {
            operation: "write".to_owned(),
            weight: 1,
        }],
        rate_per_s,
        in_flight: rate_per_s.map_or(LIMIT_IN_FLIGHT, |_| PACED_IN_FLIGHT),
        extent: Extent::DurationMs(each_ms),
        warmup_ms: each_ms / 3,
        population: 1_000_000,
        positions: Positions::Sequential,
        ..Phase::default()
    };
    let phases = RATES.map(Some).into_iter().chain([None]).map(phase);
    RunPlan::new(
        vec![address],
        Workload::Standard1,
        phases.collect(),
        Seed(1),
    )
}

impl Step {
    /// What of a run's times was measured without a database: of response times, or of service times where there is no
    /// schedule; at the 50th and the 99th percentile, in microseconds.
    fn share_us(&self) -> [Option<f64>; 2] {
        self.response_us.unwrap_or(self.service_us)
    }

    /// Of the steps of several phases the one that is said of all: that of the highest rate, or of the closed loop where no
    /// phase has a rate.
    pub fn of_all<'a>(steps: impl IntoIterator<Item = &'a Self>) -> Option<&'a Self> {
        let rate = |step: &Self| step.rate_per_s.unwrap_or(0.0);
        let each = steps.into_iter();
        each.reduce(|most, next| if rate(next) > rate(most) { next } else { most })
    }

    /// What it says of a run beside which it stands, in one sentence.
    pub fn sentence(&self) -> String {
        let at = match self.rate_per_s {
            Some(rate) => format!("at {}/s", whole(rate)),
            None => "in a closed loop".to_owned(),
        };
        let [p50, p99] = self.share_us();
        let ms = |us: Option<f64>| us.map_or("–".to_owned(), |us| fixed(us / 1000.0, 2));
        format!(
            "without a database the same load takes {} ms at p50 and {} ms at p99 on the machine of the generator, and {} µs of CPU \
             an operation (helenus calibrate, {at})",
            ms(p50),
            ms(p99),
            fixed(self.cpu_us, 1)
        )
    }
}

impl Calibration {
    /// The step nearest to a rate, by its order of magnitude; that of the closed loop where there is no rate.
    pub fn nearest(&self, rate_per_s: Option<f64>) -> Option<&Step> {
        let Some(rate) = rate_per_s else {
            return self.steps.iter().find(|step| step.rate_per_s.is_none());
        };
        let far = |step: &&Step| {
            let of = step.rate_per_s.unwrap_or(f64::INFINITY);
            (of.ln() - rate.ln()).abs()
        };
        let paced = self.steps.iter().filter(|step| step.rate_per_s.is_some());
        paced.min_by(|a, b| far(a).total_cmp(&far(b)))
    }

    /// The highest rate that was reached, operations a second.
    pub fn highest_per_s(&self) -> f64 {
        let all = self.steps.iter().map(|step| step.achieved_per_s);
        all.fold(0.0, f64::max)
    }

    /// Whether its figures are those of this build on this machine.
    pub fn is_of(&self, helenus: &str, machine: &Machine) -> bool {
        self.helenus == helenus && self.machine == *machine
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    fn step(rate_per_s: Option<f64>, achieved_per_s: f64) -> Step {
        Step {
            rate_per_s,
            in_flight: 1,
            achieved_per_s,
            cpu_us: 1.0,
            late_us: [None; 2],
            response_us: None,
            service_us: [None; 2],
        }
    }

    fn machine() -> Machine {
        Machine {
            cores: 2,
            memory: Bytes(1 << 30),
            arch: "x86_64".to_owned(),
            kernel: "6.18".to_owned(),
            processor: "any".to_owned(),
        }
    }

    #[test]
    fn a_rate_has_its_nearest_step_and_a_closed_loop_its_own() {
        let calibration = Calibration {
            format: Format::new("calibration", CALIBRATION_VERSION),
            helenus: "0.1.0".to_owned(),
            machine: machine(),
            unix_s: 0,
            steps: vec![
                step(Some(1000.0), 1000.0),
                step(Some(100_000.0), 90_000.0),
                step(None, 400_000.0),
            ],
        };
        let nearest = |rate| calibration.nearest(rate).and_then(|step| step.rate_per_s);
        assert_eq!(nearest(Some(2.0)), Some(1000.0));
        assert_eq!(nearest(Some(20_000.0)), Some(100_000.0));
        assert_eq!(nearest(None), None);
        assert!((calibration.highest_per_s() - 400_000.0).abs() < 1.0);
        assert!(calibration.is_of("0.1.0", &machine()));
        assert!(!calibration.is_of("0.1.1", &machine()));
    }

    #[test]
    fn several_phases_have_the_sentence_of_the_highest_rate() {
        let closed = step(None, 400_000.0);
        let slow = step(Some(1000.0), 1000.0);
        let fast = Step {
            response_us: Some([Some(61.0), Some(204.0)]),
            cpu_us: 21.04,
            ..step(Some(10_000.0), 10_000.0)
        };
        let all = Step::of_all([&closed, &fast, &slow]);
        assert_eq!(all, Some(&fast));
        assert_eq!(
            fast.sentence(),
            "without a database the same load takes 0.06 ms at p50 and 0.20 ms at p99 on the machine of the generator, and 21.0 µs \
             of CPU an operation (helenus calibrate, at 10,000/s)"
        );
        assert_eq!(Step::of_all([&closed]), Some(&closed));
        assert!(
            closed
                .sentence()
                .ends_with("(helenus calibrate, in a closed loop)")
        );
        assert_eq!(Step::of_all([]), None);
    }

    #[test]
    fn its_plan_is_one() {
        let plan = plan(SocketAddr::from(([127, 0, 0, 1], 1)), 3000);
        assert_eq!(plan.check(), Ok(()));
        assert_eq!(plan.phases.len(), 4);
    }
}
