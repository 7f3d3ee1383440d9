//! One measure over many runs of a kind, in the order in which they began, and where it changed for good.
//! Refuses to mix: runs of one workload, phase and rate.

use crate::id::RunId;
use crate::run::{PhaseSummary, RunSummary};
use helenus_model::trend::{FEWEST_RUNS, Step, steps};
use helenus_model::units::fixed;
use helenus_model::units::plural;
use serde::Serialize;

use crate::when::Utc;

/// What is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Measure {
    /// Percentile 99 of response times, in a closed loop of service times.
    #[default]
    P99,
    /// Operations a second that ended well.
    Throughput,
}

impl Measure {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::P99 => "p99",
            Self::Throughput => "throughput",
        }
    }

    /// Its unit.
    pub fn unit(self) -> &'static str {
        match self {
            Self::P99 => "ms",
            Self::Throughput => "op/s",
        }
    }

    /// Of a phase; none where it has none.
    fn of(self, phase: &PhaseSummary) -> Option<f64> {
        let value = match self {
            Self::Throughput => phase.achieved_per_s,
            // Where there is a schedule, waits for it count.
            Self::P99 => match phase.rate_per_s {
                Some(_) => phase.response_p99_us,
                None => phase.service_p99_us,
            }
            .map(|us| us / 1e3),
        };
        value.filter(|value| *value > 0.0)
    }
}

/// A measure over runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// `throughput` or `p99`.
    pub measure: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Workload of the runs.
    pub workload: String,
    /// Their phase.
    pub phase: String,
    /// Operations a second that were offered; none in a closed loop.
    pub rate_per_s: Option<f64>,
    /// The runs, the oldest first.
    pub runs: Vec<Point>,
    /// Runs of another workload, phase or rate, and those without the measure.
    pub left_out: usize,
    /// Lasting changes; places are those in `runs`.
    pub steps: Vec<Step>,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// The run.
    pub run: RunId,
    /// When it began, in nanoseconds since 1970.
    pub began_wall_ns: u64,
    /// Cassandra's version, where known.
    pub release: Option<String>,
    /// The measure.
    pub value: f64,
}

impl Series {
    /// The runs that are like the newest one: of its workload, and of its last phase or the named one, at its rate, or with
    /// as many operations in flight in a closed loop. None
    /// where no run has such a phase.
    pub fn of(
        mut runs: Vec<RunSummary>,
        phase: Option<&str>,
        measure: Measure,
        limit: Option<u32>,
    ) -> Option<Self> {
        // Runs of other histories have later numbers than their moment.
        runs.sort_by_key(|run| run.began_wall_ns);
        let (newest, like) = newest(&runs, phase)?;
        let (workload, phase, rate_per_s) = (&newest.workload, &like.name, like.rate_per_s);
        // What a closed loop reaches follows from how many operations are in flight.
        let loop_of = |one: &PhaseSummary| one.rate_per_s.is_none().then_some(one.in_flight);
        let of_kind = |run: &&RunSummary| run.workload == *workload;
        let point = |run: &RunSummary| {
            let alike = |one: &&PhaseSummary| {
                one.name == *phase && one.rate_per_s == rate_per_s && loop_of(one) == loop_of(like)
            };
            Some(Point {
                run: run.id,
                began_wall_ns: run.began_wall_ns,
                release: run.release.clone(),
                value: measure.of(run.phases.iter().find(alike)?)?,
            })
        };
        let mut points: Vec<Point> = runs.iter().filter(of_kind).filter_map(point).collect();
        let left_out = runs.len() - points.len();
        let most = limit.map_or(usize::MAX, |limit| limit as usize);
        points.drain(..points.len().saturating_sub(most));
        let values: Vec<f64> = points.iter().map(|point| point.value).collect();
        Some(Self {
            measure: measure.word(),
            unit: measure.unit(),
            workload: workload.clone(),
            phase: phase.clone(),
            rate_per_s,
            steps: steps(&values),
            runs: points,
            left_out,
        })
    }

    /// The outcome in a sentence, each change with it.
    pub fn answer(&self) -> String {
        let headline = self.headline();
        match self.runs.len() < FEWEST_RUNS || self.steps.is_empty() {
            true => headline,
            false => {
                let words: Vec<String> = self.steps.iter().map(|step| self.words(step)).collect();
                format!("{headline}: {}", words.join("; "))
            }
        }
    }

    /// The outcome in a few words.
    pub fn headline(&self) -> String {
        let count = plural(self.runs.len(), "run");
        let of = format!("{} of {} {}", self.measure, self.workload, self.phase);
        if self.runs.len() < FEWEST_RUNS {
            return format!("{of}: {count}, a change is looked for from {FEWEST_RUNS} on");
        }
        match self.steps.len() {
            0 => format!("{of}: no lasting change in {count}"),
            changes => format!("{of}: {} in {count}", plural(changes, "lasting change")),
        }
    }

    /// A change in words.
    pub fn words(&self, step: &Step) -> String {
        let [middle, low, high] = step.ratio;
        let percent = |ratio: f64| fixed((ratio - 1.0).abs() * 100.0, 0);
        let way = if middle > 1.0 { "higher" } else { "lower" };
        // The end nearer to no change first.
        let (near, far) = if middle > 1.0 {
            (low, high)
        } else {
            (high, low)
        };
        let first = &self.runs[step.at];
        format!(
            "from {} on ({}) {} % {way} ({} to {} %), found with {}",
            first.run,
            Utc::of_ns(first.began_wall_ns).to_minute(),
            percent(middle),
            percent(near),
            percent(far),
            self.runs[step.found_at].run
        )
    }

    /// Decimals of its values.
    pub fn decimals(&self) -> usize {
        if self.unit == "ms" { 2 } else { 0 }
    }
}

/// The newest run, and the phase of it that is followed: the one that was named, else its last.
fn newest<'a>(
    runs: &'a [RunSummary],
    phase: Option<&str>,
) -> Option<(&'a RunSummary, &'a PhaseSummary)> {
    runs.iter().rev().find_map(|run| {
        let mut phases = run.phases.iter();
        let wanted = match phase {
            Some(name) => phases.find(|phase| phase.name == name),
            None => phases.next_back(),
        };
        wanted.map(|phase| (run, phase))
    })
}
