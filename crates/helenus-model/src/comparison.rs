//! A comparison of two sides, `helenus.comparison/1`: pairs of restarts, ratios with intervals, and what may be claimed.
//! Refuses a claim from two single runs, and to mix what *start* means.

mod bar;
mod compare;
mod conclusion;
mod measure;
mod pairs;
mod rows;
#[cfg(test)]
mod tests;

pub use bar::{BarError, FailOn};
pub use compare::{CompareError, Fact, Needed, Options, RunFacts, Stages, compare, start_alike};
pub use conclusion::{Conclusion, Finding, Tone, change};
pub use measure::ALL;
pub(crate) use rows::{ALPHA, ONE_SIDED, estimate, shared};

use crate::calibration::Step;
use crate::format::Format;
use crate::sample::StartMeans;
use serde::{Deserialize, Deserializer, Serialize};

/// Version of the stored shape.
pub const VERSION: u32 = 1;

/// Confidence of every interval.
pub const LEVEL: f64 = 0.95;

/// Pairs below which nothing is claimed (the design's rule).
pub const LEAST_PAIRS: usize = 6;

/// Pairs that are run by default.
pub const DEFAULT_PAIRS: usize = 8;

/// The fact of a run that says whether its nodes used a class-data archive; a difference in it is a caution.
pub const CLASS_ARCHIVE: &str = "class archive";

/// How the fact of a run begins that says how a phase spreads its arrivals; the phase follows. Runs that differ in it are
/// not compared.
pub const ARRIVALS: &str = "arrivals of ";

/// The fact of a run that describes its machine; a difference in it is a caution.
pub const MACHINE: &str = "machine";

/// The fact of a run that names its JDK; a difference in it is a caution.
pub const JDK: &str = "JDK";

/// A comparison. Every ratio is B over A: above 1, B has more of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// `helenus.comparison/1`.
    pub format: Format,
    /// The first side.
    pub a: Side,
    /// The second side.
    pub b: Side,
    /// The command that ran its restarts, where one did; free of secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What *start* means, in all runs of both sides.
    pub start_means: StartMeans,
    /// The pairs, in the order in which they ran.
    pub pairs: Vec<Pair>,
    /// Runs that were left out, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// What the two sides differ in: facts of their plans and machines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
    /// Doubts about the comparison as a whole, with a cure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cautions: Vec<Caution>,
    /// In how many pairs a side fell behind its schedule; none where neither did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<Behind>,
    /// How the number of pairs was fixed; none where it was just given.
    pub stopping: Option<Stopping>,
    /// Whether it was looked at after each pair and ended when it was settled: its intervals, p values and answers hold whenever it
    /// ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sequential: bool,
    /// By phase, operation and measure.
    pub rows: Vec<Row>,
    /// The thresholds that were set, each with its answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bars: Vec<Bar>,
    /// What the generator's calibration has for the highest rate of these runs; absent where its machine was not calibrated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Step>,
}

/// One side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    /// What the person calls it: a tag, a file's name, a run.
    pub label: String,
    /// Its runs, such as `r12`, in the order in which they began.
    pub runs: Vec<String>,
}

/// A pair of restarts. Runs of one restart are averaged on the log scale.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// Runs of A's restart.
    pub a: Vec<String>,
    /// Runs of B's restart.
    pub b: Vec<String>,
    /// True where A ran first.
    pub a_first: bool,
}

/// Pairs in which the nodes of a side fell behind the schedule: the run exceeds every latency threshold, and has no
/// response times that could be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Behind {
    /// On A's side.
    pub a: usize,
    /// On B's side.
    pub b: usize,
}

/// A run that is not part of any pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The run.
    pub run: String,
    /// Why.
    pub why: String,
}

/// Something in which the sides differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// What: `release`, `heap`, `rate of write` and so on.
    pub what: String,
    /// On A's side.
    pub a: String,
    /// On B's side.
    pub b: String,
}

/// Something to know before reading on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caution {
    /// What it is.
    pub text: String,
    /// What helps.
    pub cure: String,
}

/// Stein's two-stage rule: the first pairs fixed how many there would be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stopping {
    /// The wanted half-width of the interval, as a ratio above 1 (1.05 for 5 %).
    pub wanted: f64,
    /// The row that governed, such as `write all response p99`.
    pub governed_by: String,
    /// Pairs of the first stage: they give the variance and the degrees of freedom.
    pub first_stage: usize,
    /// Pairs that the rule asked for.
    pub asked_for: usize,
    /// The most that the person allowed.
    pub max_pairs: usize,
}

/// One measure of one operation of one phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Phase.
    pub phase: String,
    /// Operation; `all` for all together.
    pub operation: String,
    /// What is compared.
    pub measure: Measure,
    /// Geometric mean of A, in the measure's unit.
    pub a: f64,
    /// Geometric mean of B.
    pub b: f64,
    /// B over A by pair, in the order of the pairs; none where a side of the pair has no such number.
    pub ratios: Vec<Option<f64>>,
    /// The interval; none below two pairs.
    pub estimate: Option<Estimate>,
    /// What may be said, by the Holm p value; nothing of rows without one, which are exploratory.
    pub claim: Claim,
}

impl Row {
    /// Phase, operation and measure, such as `write all response p99`.
    pub fn name(&self) -> String {
        format!("{} {} {}", self.phase, self.operation, self.measure.words())
    }
}

/// The interval of a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// B over A: the geometric mean over the pairs.
    pub ratio: f64,
    /// Lower end of the interval of 95 %: with a Holm p value of 95 % for the whole family together (Bonferroni).
    pub low: f64,
    /// Upper end of the interval; `null` in JSON where it is infinite, as after the first pairs of a sequence.
    #[serde(deserialize_with = "or_infinite")]
    pub high: f64,
    /// Pairs behind it.
    pub pairs: usize,
    /// Degrees of freedom (with two stages: those of the first).
    pub degrees: usize,
    /// Standard deviation of the log ratios of the pairs.
    pub log_sd: f64,
    /// Two-sided p value of *no difference*.
    pub p: f64,
    /// The same, adjusted by Holm over all that the report may call different; none of what is exploratory.
    pub p_holm: Option<f64>,
    /// The smallest difference, as a ratio above 1, that so many pairs of such noise find in 8 of 10 cases at the interval's
    /// level; none where it was looked at after each pair.
    pub detectable: Option<f64>,
    /// Pairs that an interval of ±5 % would need; none where it was looked at after each pair.
    pub pairs_for_5_percent: Option<usize>,
}

/// JSON has no infinity.
fn or_infinite<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let number = Option::<f64>::deserialize(from)?;
    Ok(number.unwrap_or(f64::INFINITY))
}

/// What may be said of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// Two single runs, too few pairs, or exploratory: side by side only.
    None,
    /// No significant difference.
    NoDifference,
    /// B is higher.
    Higher,
    /// B is lower.
    Lower,
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Operations that ended well, a second.
    Throughput,
    /// Mean service time.
    ServiceMean,
    /// Service time p50.
    ServiceP50,
    /// Service time p90.
    ServiceP90,
    /// Service time p95.
    ServiceP95,
    /// Service time p99.
    ServiceP99,
    /// Service time p99.9.
    ServiceP999,
    /// Mean response time.
    ResponseMean,
    /// Response time p50.
    ResponseP50,
    /// Response time p90.
    ResponseP90,
    /// Response time p95.
    ResponseP95,
    /// Response time p99.
    ResponseP99,
    /// Response time p99.9.
    ResponseP999,
    /// CPU that the nodes used for each operation.
    NodeCpu,
    /// CPU that the generator used for each operation.
    GeneratorCpu,
    /// The highest rate that a search found to hold its threshold.
    MaxRate,
}

/// A threshold that was set with `--fail-on`, and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    /// As it was written, such as `p99>+5%`.
    pub text: String,
    /// The row it is about, such as `write all response p99`.
    pub row: String,
    /// The ratio that must not be crossed.
    pub bound: f64,
    /// One-sided lower bound, of 95 % for all thresholds together (Bonferroni); none if the pairs are too few for a claim.
    pub low: Option<f64>,
    /// One-sided upper bound.
    pub high: Option<f64>,
    /// The answer.
    pub answer: BarAnswer,
}

/// Whether a threshold was crossed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BarAnswer {
    /// It holds: the one-sided bound is on the good side. Exit code 0.
    Holds,
    /// Inconclusive. Exit code 6.
    CannotTell,
    /// It is crossed: the one-sided bound is on the bad side. Exit code 1.
    Crossed,
}

impl BarAnswer {
    /// The exit code: 0, 6 or 1.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Holds => 0,
            Self::CannotTell => 6,
            Self::Crossed => 1,
        }
    }
}

impl Comparison {
    /// The answer to all thresholds together: crossed where one is, else unknown where one is, else they hold. None
    /// where no threshold was set.
    pub fn answer(&self) -> Option<BarAnswer> {
        self.bars.iter().map(|bar| bar.answer).max()
    }

    /// Whether more pairs would answer nothing that was asked: each threshold is answered, or without thresholds a
    /// difference is claimed.
    pub fn is_settled(&self) -> bool {
        match self.bars.is_empty() {
            true => self.rows.iter().any(|row| row.finding().is_claim()),
            false => self
                .bars
                .iter()
                .all(|bar| bar.answer != BarAnswer::CannotTell),
        }
    }
}
