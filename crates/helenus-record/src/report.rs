//! Reports: a run, a comparison or one of levels as one HTML file that opens without a network, and as a summary in Markdown.
//! Refuses to look anything up: what a report says was handed in; and refuses any text that is not escaped.
//!
//! Charts are SVG, drawn here: the page can be read without a script. The one it has shows values under the pointer and
//! zooms; the page forbids itself every network by its content security policy.

// Words and figures.
mod axis;
mod experiment_data;
mod experiment_plot;
mod experiment_rates;
mod heat;
mod measured_on;
mod page;
mod path;
mod series;
mod words;

// Charts and sections.
mod chart;
mod distance;
mod draw;
mod experiment;
mod experiment_said;
mod experiment_sheets;
mod flame;
mod site;
mod tail;

// Sections of a run, and pages.
mod around;
mod bands;
mod comparison;
mod experiment_page;
mod levels;
mod percentiles;
mod rates;
mod time;

// Tables and other forms.
mod events;
mod markdown;
mod tables;

// The page of a run.
mod run;

pub use experiment::{experiment_csv, experiment_markdown};
pub use experiment_data::ExperimentReport;
pub use experiment_page::experiment_html;
pub use experiment_said::{experiment_answer, experiment_conclusion};
pub use experiment_sheets::{Sheet, experiment_sheets};
pub use flame::{FlameReport, flame_html, flame_svg};
pub use measured_on::measured_on;
pub use site::{ClusterLine, Narrowed, NodeLine, Site};
pub use words::headline as run_answer;

use crate::run::StoredRun;
use helenus_model::comparison::Comparison;
use helenus_model::level_runs;
use helenus_model::sample::Interval;
use helenus_model::telemetry::Reading;

/// The mark of a report, in the first lines of both of its files.
pub const MARK: &str = "helenus.report/1";

/// What a run's report is made from. What was not recorded is empty, and the page says so.
#[derive(Debug, Clone, Copy)]
pub struct RunReport<'a> {
    /// The run with its result, plan, host and command.
    pub run: &'a StoredRun,
    /// Its intervals, as they were recorded.
    pub intervals: &'a [Interval],
    /// What nodes, host and generator did meanwhile.
    pub readings: &'a [Reading],
}

/// What a comparison's report is made from.
#[derive(Debug, Clone, Copy)]
pub struct ComparisonReport<'a> {
    /// Its name, such as `cmp3`.
    pub name: &'a str,
    /// The comparison.
    pub comparison: &'a Comparison,
    /// When it was made: the wall clock in nanoseconds since 1970.
    pub made_wall_ns: u64,
    /// Commands that make it again, the first one first.
    pub repeat: &'a [String],
}

/// The report of a run: one HTML file.
pub fn run_html(report: &RunReport<'_>) -> String {
    let intervals = series::joined(report.intervals);
    run::page(&RunReport {
        intervals: &intervals,
        ..*report
    })
}

/// The summary of a run for a pull request, in Markdown.
pub fn run_markdown(report: &RunReport<'_>) -> String {
    markdown::run(report.run)
}

/// The report of a comparison: one HTML file.
pub fn comparison_html(report: &ComparisonReport<'_>) -> String {
    comparison::page(report)
}

/// The summary of a comparison for a pull request, in Markdown.
pub fn comparison_markdown(report: &ComparisonReport<'_>) -> String {
    markdown::comparison(report)
}

/// The page of a comparison of levels: one HTML file.
pub fn levels_html(table: &level_runs::Table) -> String {
    levels::page(table)
}

/// Whether a file with this beginning is a report of any version, and may be replaced by another.
pub fn is_report(beginning: &str) -> bool {
    beginning
        .chars()
        .take(2048)
        .collect::<String>()
        .contains("helenus.report/")
}
