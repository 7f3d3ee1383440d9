//! What can be compared: its words, its unit, and where it stands in a result.
//! Refuses a number that a result does not have: response times without a schedule, percentiles of few samples.

use super::Measure;
use crate::result::{Distribution, OperationResult, PhaseResult};

/// The name of all operations together.
pub const ALL: &str = "all";

impl Measure {
    /// All of them, in the order of rows.
    pub const EVERY: [Self; 16] = [
        Self::Throughput,
        Self::ResponseMean,
        Self::ResponseP50,
        Self::ResponseP90,
        Self::ResponseP95,
        Self::ResponseP99,
        Self::ResponseP999,
        Self::ServiceMean,
        Self::ServiceP50,
        Self::ServiceP90,
        Self::ServiceP95,
        Self::ServiceP99,
        Self::ServiceP999,
        Self::NodeCpu,
        Self::GeneratorCpu,
        Self::MaxRate,
    ];

    /// Its words, such as `response p99`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::ServiceMean => "service mean",
            Self::ServiceP50 => "service p50",
            Self::ServiceP90 => "service p90",
            Self::ServiceP95 => "service p95",
            Self::ServiceP99 => "service p99",
            Self::ServiceP999 => "service p99.9",
            Self::ResponseMean => "response mean",
            Self::ResponseP50 => "response p50",
            Self::ResponseP90 => "response p90",
            Self::ResponseP95 => "response p95",
            Self::ResponseP99 => "response p99",
            Self::ResponseP999 => "response p99.9",
            Self::NodeCpu => "node CPU",
            Self::GeneratorCpu => "generator CPU",
            Self::MaxRate => "highest rate",
        }
    }

    /// The unit of its numbers: operations a second, or microseconds (of CPU for each operation).
    pub fn unit(self) -> &'static str {
        match self {
            Self::Throughput | Self::MaxRate => "op/s",
            Self::NodeCpu | Self::GeneratorCpu => "µs/op",
            _ => "µs",
        }
    }

    /// True where more of it is better.
    pub fn more_is_better(self) -> bool {
        matches!(self, Self::Throughput | Self::MaxRate)
    }

    /// Its value in an operation of a phase, in its unit; none where the result has none or nothing above zero.
    pub(crate) fn value(self, phase: &PhaseResult, operation: &str) -> Option<f64> {
        let all = operation == ALL;
        let one = if all {
            &phase.total
        } else {
            phase.operations.get(operation)?
        };
        let value = match self {
            Self::Throughput if all => Some(phase.achieved_per_s),
            Self::Throughput => throughput(phase, one),
            Self::NodeCpu if all => phase.around.nodes_cpu_per_operation_us,
            Self::GeneratorCpu if all => generator_cpu(phase),
            // A search has many phases, and none of them has its result.
            Self::NodeCpu | Self::GeneratorCpu | Self::MaxRate => None,
            _ => self.of_distribution(self.distribution(one)?),
        };
        value.filter(|v| v.is_finite() && *v > 0.0)
    }

    /// Its value, from the least to the most that it may be: apart where the generator was late, since a response time
    /// without its delay lies between service and response.
    pub(crate) fn bounds(self, phase: &PhaseResult, operation: &str) -> Option<[f64; 2]> {
        let most = self.value(phase, operation)?;
        let service = self.service().filter(|_| phase.is_censored());
        let least = service.and_then(|of| of.value(phase, operation));
        Some([least.unwrap_or(most).min(most), most])
    }

    /// The service time of which this is the response time.
    pub(crate) fn service(self) -> Option<Self> {
        Some(match self {
            Self::ResponseMean => Self::ServiceMean,
            Self::ResponseP50 => Self::ServiceP50,
            Self::ResponseP90 => Self::ServiceP90,
            Self::ResponseP95 => Self::ServiceP95,
            Self::ResponseP99 => Self::ServiceP99,
            Self::ResponseP999 => Self::ServiceP999,
            _ => return None,
        })
    }

    /// Whether it is a time of operations.
    pub fn is_time(self) -> bool {
        !matches!(
            self,
            Self::Throughput | Self::NodeCpu | Self::GeneratorCpu | Self::MaxRate
        )
    }

    /// The share of samples below it; none of what is no percentile.
    pub fn quantile(self) -> Option<f64> {
        match self {
            Self::ServiceP50 | Self::ResponseP50 => Some(0.5),
            Self::ServiceP90 | Self::ResponseP90 => Some(0.9),
            Self::ServiceP95 | Self::ResponseP95 => Some(0.95),
            Self::ServiceP99 | Self::ResponseP99 => Some(0.99),
            Self::ServiceP999 | Self::ResponseP999 => Some(0.999),
            Self::ServiceMean
            | Self::ResponseMean
            | Self::Throughput
            | Self::NodeCpu
            | Self::GeneratorCpu
            | Self::MaxRate => None,
        }
    }

    fn distribution(self, one: &OperationResult) -> Option<&Distribution> {
        if self.words().starts_with("response") {
            one.response.as_ref()
        } else {
            one.service.as_ref()
        }
    }

    fn of_distribution(self, of: &Distribution) -> Option<f64> {
        match self {
            Self::ServiceMean | Self::ResponseMean => Some(of.mean_us),
            Self::ServiceP50 | Self::ResponseP50 => of.p50_us,
            Self::ServiceP90 | Self::ResponseP90 => of.p90_us,
            Self::ServiceP95 | Self::ResponseP95 => of.p95_us,
            Self::ServiceP99 | Self::ResponseP99 => of.p99_us,
            Self::ServiceP999 | Self::ResponseP999 => of.p999_us,
            Self::Throughput | Self::NodeCpu | Self::GeneratorCpu | Self::MaxRate => None,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
fn throughput(phase: &PhaseResult, one: &OperationResult) -> Option<f64> {
    // An operation's share of the phase's throughput, which counts only what ended within the window.
    let all = phase.total.completed.max(1) as f64;
    (phase.duration_s > 0.0).then(|| phase.achieved_per_s * one.completed as f64 / all)
}

/// CPU of all generator processes in the measurement window, for each operation that ended, in microseconds.
#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
fn generator_cpu(phase: &PhaseResult) -> Option<f64> {
    let ended = phase.total.completed + phase.total.failures();
    let busiest = phase.thread_busy;
    let processors = phase.around.generator_processors.unwrap_or(busiest);
    (ended > 0).then(|| processors.max(busiest) * phase.duration_s * 1e6 / ended as f64)
}
