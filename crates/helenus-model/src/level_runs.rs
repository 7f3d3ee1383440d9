//! The runs of a comparison of levels: the phase of each cell, and the table that their results make.
//! Refuses a number of a run that must not be believed: it is left out, with the reason.

mod conclusion;
mod difference;
pub mod phases;
mod rows;
#[cfg(test)]
mod tests;

pub use difference::Difference;

use crate::calibration::Step;
use crate::comparison::{CompareError, start_alike};
use crate::consistency::Consistency;
use crate::doubt::Doubt;
use crate::format::Format;
use crate::levels::{Cell, Kind, Load, Prediction};
use crate::result::{self, RunResult};
use crate::sample::StartMeans;
use serde::Serialize;
use std::collections::BTreeMap;

/// Version of the printed shape.
pub const VERSION: u32 = 1;

/// Name of all operations of a workload together.
pub const ALL: &str = "all";

/// A run that has ended.
#[derive(Debug, Clone)]
pub struct CellRun {
    /// Its name in the history.
    pub run: String,
    /// Its cell.
    pub cell: Cell,
    /// What came of it.
    pub result: RunResult,
}

/// The table, `helenus.levels/1`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Table {
    /// `helenus.levels/1`.
    pub format: Format,
    /// The comparison's name: the tag of its runs.
    pub comparison: String,
    /// The level that the others are compared with.
    pub reference: Consistency,
    /// Where the client was.
    pub client_dc: String,
    /// Replicas of each row by data centre.
    pub replicas: BTreeMap<String, u32>,
    /// `inter_dc_tcp_nodelay` of the nodes; absent where their settings do not say.
    pub tcp_nodelay: Option<bool>,
    /// Repeats of which at least one run counts.
    pub repeats: u32,
    /// By distance, workload, load, operation and level.
    pub rows: Vec<Row>,
    /// Runs that are in no row, with the reason.
    pub left_out: Vec<LeftOut>,
    /// What the generator's calibration has for the highest rate of these runs; absent where its machine was not calibrated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Step>,
    /// What *start* means, in all runs.
    pub start_means: StartMeans,
}

/// One operation at one level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The distance's words.
    pub distance: String,
    /// Round trips from the client's data centre, in microseconds.
    pub round_trips_us: BTreeMap<String, u64>,
    /// What was sent.
    pub workload: Kind,
    /// How much was asked.
    pub load: Load,
    /// The operation; `all` for those of a mix together.
    pub operation: String,
    /// The level.
    pub level: Consistency,
    /// The reference level, run again as an A/A control.
    pub again: bool,
    /// The runs, in the order of repeats.
    pub runs: Vec<String>,
    /// Runs of these in which the nodes fell behind the schedule: their times grow with the run, and are in no difference.
    #[serde(skip_serializing_if = "is_zero")]
    pub behind: usize,
    /// Operations a second that ended well, on average over the runs.
    pub op_rate: f64,
    /// Times of the runs together, in milliseconds: from the intended start where there is a rate, else from the start.
    pub latency: Latency,
    /// What distance was expected to cost; none for all operations of a mix.
    pub predicted: Option<Prediction>,
    /// Median less the reference level's, repeat by repeat; none for the reference itself.
    pub difference: Option<Difference>,
}

impl Row {
    /// Its level, its rate and its times, as tables have them; a dash is a percentile with fewer than ten samples above it.
    pub fn cells(&self) -> [String; 8] {
        let ms = |value: f64| format!("{value:.2}");
        let maybe = |value: Option<f64>| value.map_or("–".to_owned(), ms);
        let again = if self.again { " (again)" } else { "" };
        let behind = match self.behind {
            0 => String::new(),
            n => format!(" (behind in {n} of {})", self.runs.len()),
        };
        [
            format!("{}{again}{behind}", self.level.word()),
            format!("{:.0}", self.op_rate),
            ms(self.latency.mean_ms),
            maybe(self.latency.median_ms),
            maybe(self.latency.p95_ms),
            maybe(self.latency.p99_ms),
            maybe(self.latency.p999_ms),
            ms(self.latency.max_ms),
        ]
    }
}

/// Times by cassandra-stress's names, in milliseconds. A percentile with fewer than ten samples above it is absent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Latency {
    /// Mean.
    pub mean_ms: f64,
    /// Median.
    pub median_ms: Option<f64>,
    /// 95th percentile.
    pub p95_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
    /// 99.9th percentile.
    pub p999_ms: Option<f64>,
    /// Longest.
    pub max_ms: f64,
}

/// A run that does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The run.
    pub run: String,
    /// Its cell in words.
    pub cell: String,
    /// Why.
    pub why: String,
}

/// The table of these runs; none of no run.
///
/// # Errors
/// Runs whose times count from different starts.
pub fn table(mut runs: Vec<CellRun>) -> Result<Option<Table>, CompareError> {
    let each = runs.iter();
    start_alike(each.map(|run| (run.run.as_str(), run.result.start_means)))?;
    runs.sort_by_key(|run| run.cell.repeat);
    let Some(CellRun { cell, result, .. }) = runs.first() else {
        return Ok(None);
    };
    let (first, start_means) = (cell.clone(), result.start_means);
    let measured = runs.iter().flat_map(|run| &run.result.phases);
    let calibration = result::calibration(measured).cloned();
    let (good, bad): (Vec<CellRun>, Vec<CellRun>) =
        runs.into_iter().partition(|run| why_not(run).is_none());
    let mut repeats: Vec<u32> = good.iter().map(|run| run.cell.repeat).collect();
    repeats.dedup();
    Ok(Some(Table {
        format: Format::new("levels", VERSION),
        comparison: first.comparison,
        reference: first.reference,
        client_dc: first.client_dc,
        replicas: first.replicas,
        tcp_nodelay: first.tcp_nodelay,
        repeats: u32::try_from(repeats.len()).unwrap_or(u32::MAX),
        rows: rows::of(&good),
        left_out: bad.iter().map(left_out).collect(),
        calibration,
        start_means,
    }))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What keeps a run out, by today's rule: neither that the nodes fell behind, nor that the generator was late.
fn why_not(run: &CellRun) -> Option<String> {
    let doubts = run.result.phases.iter().flat_map(|phase| &phase.doubts);
    let spoils = doubts.filter(|doubt| Doubt::spoils(doubt));
    let texts: Vec<String> = spoils.map(|doubt| doubt.text.clone()).collect();
    match (texts.is_empty(), run.result.phases.is_empty()) {
        (false, _) => Some(texts.join("; ")),
        (true, true) => Some("it has no phase".to_owned()),
        (true, false) => None,
    }
}

fn left_out(run: &CellRun) -> LeftOut {
    let cell = &run.cell;
    LeftOut {
        run: run.run.clone(),
        cell: format!(
            "{} {} at {}, {}",
            cell.level_words(),
            cell.workload.word(),
            cell.distance.word,
            cell.load.words()
        ),
        why: why_not(run).unwrap_or_default(),
    }
}
