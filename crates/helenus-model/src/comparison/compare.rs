//! Comparing: from the runs of two sides to a [`Comparison`], and from its first pairs to how many there must be.
//! Refuses runs that cannot be compared at all, and says why.

use super::bar::{BarError, FailOn, answers};
use super::rows::{ALPHA, ONE_SIDED, phases, rows, shared};
use super::{ALL, Comparison, Measure, Row, Side, VERSION, pairs};
use crate::format::Format;
use crate::result::{self, RunResult};
use crate::sample::StartMeans;
use crate::stats::second_stage;

/// A stored run that ended.
#[derive(Debug, Clone)]
pub struct RunFacts<'a> {
    /// Its name, such as `r12`.
    pub run: String,
    /// What its restart is known by: runs with the same key are of one restart. None where it had one of its own.
    pub restart: Option<String>,
    /// The number of its pair, where it was run as one side of a pair.
    pub pair: Option<u32>,
    /// When it began: the wall clock in nanoseconds since 1970.
    pub began_wall_ns: u64,
    /// Its result.
    pub result: &'a RunResult,
    /// What it was run with. Rates need not be among it: the result has them.
    pub facts: Vec<Fact>,
}

/// Something that a run was run with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// What: `release`, `preset`, `heap`, [`super::JDK`], [`super::CLASS_ARCHIVE`] and so on.
    pub what: String,
    /// Its value.
    pub value: String,
}

/// What the person asked for.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// What the person calls A.
    pub label_a: String,
    /// What the person calls B.
    pub label_b: String,
    /// Thresholds.
    pub bars: Vec<FailOn>,
    /// How the number of pairs came about.
    pub stages: Stages,
}

/// How the number of pairs came about: intervals and p values follow from it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stages {
    /// It was fixed before the first.
    #[default]
    Fixed,
    /// The spread of so many first pairs fixed it (Stein).
    Two(usize),
    /// It was looked at after each pair, and may have ended there.
    Sequential,
}

/// Why two sides cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// A side without runs.
    #[error("{label} has no run that ended")]
    NoRuns {
        /// The side.
        label: String,
    },
    /// Times from different starts.
    #[error(
        "{first} and {other} measure times from different starts: {first_means} and {other_means}"
    )]
    StartMeans {
        /// A run.
        first: String,
        /// A run that differs from it.
        other: String,
        /// What start means in the first.
        first_means: &'static str,
        /// What start means in the other.
        other_means: &'static str,
    },
    /// Arrivals that are spread differently.
    #[error("{first} and {other} differ in {what}: {first_value} and {other_value}")]
    Arrivals {
        /// A run.
        first: String,
        /// A run that differs from it.
        other: String,
        /// [`super::ARRIVALS`] and the phase.
        what: String,
        /// In the first.
        first_value: String,
        /// In the other.
        other_value: String,
    },
    /// Different workloads.
    #[error("{first} ran the workload {first_workload} and {other} ran {other_workload}")]
    Workloads {
        /// A run.
        first: String,
        /// A run that differs from it.
        other: String,
        /// The workload of the first.
        first_workload: String,
        /// The workload of the other.
        other_workload: String,
    },
    /// Nothing valid is left.
    #[error("no pair of restarts is left: {}", .left_out.join("; "))]
    NothingLeft {
        /// Runs that were left out, each with the reason.
        left_out: Vec<String>,
    },
    /// No phase that all runs have.
    #[error(
        "the runs have no phase in common: {first} has {first_phases}, {other} has {other_phases}"
    )]
    NoPhase {
        /// A run.
        first: String,
        /// A run that shares no phase with it, or the last.
        other: String,
        /// Phases of the first.
        first_phases: String,
        /// Phases of the other.
        other_phases: String,
    },
    /// A threshold that cannot be set.
    #[error(transparent)]
    Bar(#[from] BarError),
}

impl CompareError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        let text = match self {
            Self::NoRuns { .. } => {
                "name runs that ended: helenus history list shows the outcome of each"
            }
            Self::StartMeans { .. } => {
                "measure all of them with the same build of helenus; times from different starts are not compared"
            }
            Self::Arrivals { .. } => {
                "measure both sides with the same --arrivals: bursts of Poisson arrivals wait where even ones do not"
            }
            Self::Workloads { .. } => "compare runs of one workload",
            Self::NothingLeft { .. } => {
                "cure the doubts of these runs and run them again: helenus history show lists them"
            }
            Self::NoPhase { .. } => "run both sides with the same --phases",
            Self::Bar(error) => return error.hint(),
        };
        text.to_owned()
    }
}

fn means(start: StartMeans) -> &'static str {
    match start {
        StartMeans::DriverCall => "driver-call",
        StartMeans::Socket => "socket",
    }
}

/// Refuses runs, each with its name, whose times count from different starts.
///
/// # Errors
/// [`CompareError::StartMeans`].
pub fn start_alike<'a>(
    runs: impl IntoIterator<Item = (&'a str, StartMeans)>,
) -> Result<(), CompareError> {
    let mut runs = runs.into_iter();
    let Some((first, own)) = runs.next() else {
        return Ok(());
    };
    match runs.find(|(_, its)| *its != own) {
        None => Ok(()),
        Some((other, its)) => Err(CompareError::StartMeans {
            first: first.to_owned(),
            other: other.to_owned(),
            first_means: means(own),
            other_means: means(its),
        }),
    }
}

/// Compares the runs of two sides.
///
/// # Errors
/// A side without runs; runs that differ in what *start* means or in their workload; no valid pair; no phase in common;
/// a threshold about something that the runs do not have.
pub fn compare(
    a: &[RunFacts],
    b: &[RunFacts],
    options: &Options,
) -> Result<Comparison, CompareError> {
    let first = check(a, b, options)?;
    let (pairs, left_out) = pairs::pairs(a, b);
    if pairs.is_empty() {
        let reasons = left_out.iter().map(|l| format!("{}: {}", l.run, l.why));
        let left_out = reasons.collect();
        return Err(CompareError::NothingLeft { left_out });
    }
    if phases(&pairs).is_empty() {
        return Err(no_phase(&pairs));
    }
    let rows = rows(&pairs, options.stages);
    let bars = answers(&options.bars, &rows)?;
    let (differences, mut cautions) = pairs::differences(&pairs);
    cautions.splice(0..0, pairs::cautions(&pairs));
    let shown = pairs::shown(&pairs);
    let measured = a.iter().chain(b).flat_map(|run| &run.result.phases);
    let side = |label: &str, runs: Vec<String>| Side {
        label: label.to_owned(),
        runs,
    };
    Ok(Comparison {
        format: Format::new("comparison", VERSION),
        a: side(
            &options.label_a,
            shown.iter().flat_map(|p| p.a.clone()).collect(),
        ),
        b: side(
            &options.label_b,
            shown.iter().flat_map(|p| p.b.clone()).collect(),
        ),
        start_means: first.result.start_means,
        pairs: shown,
        left_out,
        differences,
        cautions,
        command: None,
        behind: pairs::behind(&pairs),
        stopping: None,
        sequential: options.stages == Stages::Sequential,
        rows: rows.into_iter().map(|one| one.row).collect(),
        bars,
        calibration: result::calibration(measured).cloned(),
    })
}

/// The first run, if all others can be compared with it.
fn check<'r>(
    a: &'r [RunFacts<'r>],
    b: &'r [RunFacts<'r>],
    options: &Options,
) -> Result<&'r RunFacts<'r>, CompareError> {
    for (side, label) in [(a, &options.label_a), (b, &options.label_b)] {
        if side.is_empty() {
            let label = label.clone();
            return Err(CompareError::NoRuns { label });
        }
    }
    let first = &a[0];
    let all = a.iter().chain(b);
    start_alike(all.map(|run| (run.run.as_str(), run.result.start_means)))?;
    for other in a.iter().chain(b) {
        arrive_alike(first, other)?;
        if other.result.workload != first.result.workload {
            return Err(CompareError::Workloads {
                first: first.run.clone(),
                other: other.run.clone(),
                first_workload: first.result.workload.clone(),
                other_workload: other.result.workload.clone(),
            });
        }
    }
    Ok(first)
}

/// Refuses runs of which one spreads the arrivals of a phase evenly and the other does not.
fn arrive_alike(first: &RunFacts, other: &RunFacts) -> Result<(), CompareError> {
    let spread = |fact: &&Fact| fact.what.starts_with(super::ARRIVALS);
    for own in first.facts.iter().filter(spread) {
        let differs = |fact: &&Fact| fact.what == own.what && fact.value != own.value;
        if let Some(its) = other.facts.iter().find(differs) {
            return Err(CompareError::Arrivals {
                first: first.run.clone(),
                other: other.run.clone(),
                what: own.what.clone(),
                first_value: own.value.clone(),
                other_value: its.value.clone(),
            });
        }
    }
    Ok(())
}

fn no_phase(pairs: &[pairs::Restarts]) -> CompareError {
    let runs: Vec<&RunFacts> = pairs
        .iter()
        .flatten()
        .flat_map(|r| r.runs.clone())
        .collect();
    let names = |run: &RunFacts| -> Vec<String> {
        run.result.phases.iter().map(|p| p.name.clone()).collect()
    };
    let first = runs[0];
    let own = names(first);
    let apart = |run: &&&RunFacts| names(run).iter().all(|name| !own.contains(name));
    let other = runs.iter().find(apart).unwrap_or(&runs[runs.len() - 1]);
    CompareError::NoPhase {
        first: first.run.clone(),
        other: other.run.clone(),
        first_phases: own.join(", "),
        other_phases: names(other).join(", "),
    }
}

/// How many pairs there must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needed {
    /// Pairs in all, those of the first stage included.
    pub pairs: usize,
    /// The row that asks for the most, such as `write all response p99`.
    pub governed_by: String,
}

impl Comparison {
    /// Stein's rule: how many pairs in all give an interval of the wanted half-width (a ratio above 1, such as 1.05),
    /// by the spread of these pairs, which are the first stage. The rows of the thresholds govern; without thresholds
    /// p50 of all operations together in each phase, of the response time where there is a schedule. The interval is
    /// the one that is shown beside the answer. None where no such row has an interval, or the wanted ratio is not
    /// above 1.
    pub fn pairs_needed(&self, wanted: f64) -> Option<Needed> {
        let half = wanted.ln();
        if half.is_nan() || half <= 0.0 {
            return None;
        }
        let level = match self.bars.len() {
            0 => shared(ALPHA, self.family().count()),
            bars => shared(ONE_SIDED, bars),
        };
        let needed = self.rows.iter().filter(|row| self.governs(row));
        let needed = needed.filter_map(|row| {
            let first = row.estimate.as_ref()?;
            let pairs = second_stage(first.log_sd, first.degrees, half, level);
            // A row that misses a pair still needs all pairs of the first stage.
            let pairs = pairs.max(self.pairs.len());
            let governed_by = row.name();
            Some(Needed { pairs, governed_by })
        });
        // Of equals the first row governs.
        needed.reduce(|most, next| if next.pairs > most.pairs { next } else { most })
    }

    fn governs(&self, row: &Row) -> bool {
        if !self.bars.is_empty() {
            return self.bars.iter().any(|bar| bar.row == row.name());
        }
        let scheduled = self
            .rows
            .iter()
            .any(|other| other.phase == row.phase && other.measure == Measure::ResponseP50);
        let governing = if scheduled {
            Measure::ResponseP50
        } else {
            Measure::ServiceP50
        };
        row.operation == ALL && row.measure == governing
    }
}
