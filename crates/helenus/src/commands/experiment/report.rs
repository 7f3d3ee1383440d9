//! `experiment report`: the answer, the tables behind it, and files with the same.
//! Refuses to write over a file that is no report.

use super::{open, stored};
use crate::error::{CommandError, code};
use crate::outfile::{self, Standing};
use crate::ui::{Answers, Table, Ui};
use helenus_cluster::context::Context;
use helenus_cql::input;
use helenus_lab::experiment::facts;
use helenus_model::comparison::{BarAnswer, Conclusion};
use helenus_model::experiment::{
    Analysis, Bar, Experiment, Fact, Fate, Progress, RunState, VERSION, analyse,
};
use helenus_model::format::Format;
use helenus_record::report::{
    ExperimentReport, Sheet, experiment_answer, experiment_conclusion, experiment_csv,
    experiment_html, experiment_markdown, experiment_sheets, measured_on,
};
use helenus_record::{ExperimentId, History, PlannedRun, StoredExperiment, StoredRun};
use serde::Serialize;
use std::path::Path;

/// Files that a report is written into, beside standard output.
pub(super) struct Files<'a> {
    pub(super) markdown: Option<&'a Path>,
    pub(super) csv: Option<&'a Path>,
    pub(super) html: Option<&'a Path>,
}

/// `helenus.experiment-report/1`.
#[derive(Serialize)]
struct Shown<'a> {
    format: Format,
    /// The experiment.
    experiment: &'a StoredExperiment,
    /// How many runs it has, by state.
    progress: Progress,
    /// What it says, in the words of every report.
    conclusion: Conclusion,
    #[serde(skip)]
    answer: Vec<String>,
    /// Machines and releases that it was measured on, in words.
    measured_on: &'a [String],
    /// Effects, thresholds and tips; none if too little has run.
    analysis: Option<&'a Analysis>,
    /// Its runs, planned, done and not.
    runs: &'a [PlannedRun],
    /// Each run with its measures.
    facts: &'a [Fact],
}

impl Answers for Shown<'_> {
    fn answer(&self) -> String {
        self.answer.join("\n")
    }

    fn answers(&self) -> Option<Vec<String>> {
        Some(self.answer.clone())
    }
}

/// The report of an experiment that is over: its answer and its exit code.
pub(super) fn show(id: ExperimentId, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let none = Files {
        markdown: None,
        csv: None,
        html: None,
    };
    print(
        &id.to_string(),
        (&[], &none),
        &[
            "Effects",
            "Thresholds",
            "Rate that holds a threshold",
            "What did not run",
        ],
        (context, ui),
    )
}

/// The whole report.
pub(super) fn run(
    name: &str,
    bars: &[String],
    files: &Files<'_>,
    context: &Context,
    ui: &Ui,
) -> Result<u8, CommandError> {
    print(name, (bars, files), &[], (context, ui))
}

/// The thresholds that are asked for.
fn bars(texts: &[String], of: &Experiment) -> Result<Vec<Bar>, CommandError> {
    let each = texts.iter().map(|text| {
        Bar::parse(text, &of.factors)
            .map_err(|e| CommandError::new(code::USAGE, e.to_string()).hint(e.hint()))
    });
    each.collect()
}

/// An experiment as the history has it, with what its runs say.
struct Read {
    stored: StoredExperiment,
    experiment: Experiment,
    /// The file's thresholds, where others were asked for.
    own_bars: Option<Vec<Bar>>,
    runs: Vec<PlannedRun>,
    facts: Vec<Fact>,
    measured_on: Vec<String>,
    analysis: Option<Analysis>,
}

impl Read {
    /// With the file's thresholds unless others are asked for; the experiment alone where it is a comparison of two sides.
    fn of(
        name: &str,
        asked: &[String],
        history: &History,
    ) -> Result<Result<Self, Pairs>, CommandError> {
        let (stored, mut file) = stored(history, name)?;
        if file.experiment.pairs.is_some() {
            return Ok(Err((stored, file.experiment)));
        }
        let bars = bars(asked, &file.experiment)?;
        let own_bars =
            (!bars.is_empty()).then(|| std::mem::replace(&mut file.experiment.bars, bars));
        let runs = history.planned_runs(stored.id)?;
        let facts = facts(history, &runs).map_err(super::failure)?;
        let small = file
            .experiment
            .too_small(stored.dataset_bytes, stored.memory_bytes);
        let measured: Vec<StoredRun> = runs
            .iter()
            .filter_map(|run| history.run(run.run?).ok())
            .collect();
        let mut analysis = analyse(&file.experiment, &facts, stored.first_stage, small);
        if let Some(found) = &mut analysis {
            let fates: Vec<Fate<'_>> = runs.iter().map(PlannedRun::fate).collect();
            found.settle_tips(&file.experiment, &facts, &fates);
        }
        Ok(Ok(Self {
            measured_on: measured_on(measured.iter()),
            stored,
            experiment: file.experiment,
            own_bars,
            runs,
            facts,
            analysis,
        }))
    }

    fn report(&self) -> ExperimentReport<'_> {
        let states: Vec<_> = self
            .runs
            .iter()
            .map(|run| (run.planned, run.state))
            .collect();
        ExperimentReport {
            stored: &self.stored,
            experiment: &self.experiment,
            own_bars: self.own_bars.as_deref(),
            progress: Progress::of(&states),
            runs: &self.runs,
            facts: &self.facts,
            analysis: self.analysis.as_ref(),
            measured_on: &self.measured_on,
        }
    }
}

/// A comparison of two sides, which an experiment carried out.
type Pairs = (StoredExperiment, Experiment);

/// The report as a page; none of a comparison of two sides, which has its own.
pub(crate) fn page(name: &str, history: &History) -> Result<Option<String>, CommandError> {
    let read = Read::of(name, &[], history)?;
    Ok(read.ok().map(|read| experiment_html(&read.report())))
}

/// The report with these sheets, or with all of them; with the file's thresholds unless others are asked for.
fn print(
    name: &str,
    (asked, files): (&[String], &Files<'_>),
    sheets: &[&str],
    (context, ui): (&Context, &Ui),
) -> Result<u8, CommandError> {
    let read = match Read::of(name, asked, &open(context)?)? {
        Ok(read) => read,
        Err((stored, experiment)) => {
            let nothing = asked.is_empty() && files.markdown.or(files.csv).or(files.html).is_none();
            return super::pairs::report(&experiment, stored.id, nothing, context, ui);
        }
    };
    let report = read.report();
    write(&report, files)?;
    let answer = experiment_answer(&report);
    let shown = Shown {
        format: Format::new("experiment-report", VERSION),
        experiment: &read.stored,
        progress: report.progress,
        conclusion: experiment_conclusion(&report),
        answer,
        measured_on: &read.measured_on,
        analysis: read.analysis.as_ref(),
        runs: &read.runs,
        facts: &read.facts,
    };
    ui.result(&shown, || text(&shown, &report, sheets));
    Ok(exit_code(&report))
}

fn write(report: &ExperimentReport<'_>, files: &Files<'_>) -> Result<(), CommandError> {
    type Make = fn(&ExperimentReport<'_>) -> String;
    let wanted: [(Option<&Path>, Make); 2] = [
        (files.markdown, experiment_markdown),
        (files.html, experiment_html),
    ];
    let cure = "name another file with --html or --markdown";
    for (path, make) in wanted {
        if let Some(path) = path {
            crate::commands::report::replaceable(path, false, cure)?;
            outfile::write(path, make(report).as_bytes())?;
        }
    }
    if let Some(path) = files.csv {
        let rows = experiment_csv(report);
        let heads = rows.lines().next().unwrap_or_default();
        let is_table = || {
            let old = input::text_up_to(path, input::MOST_LONG);
            let ours = |old: &str| old == heads || heads.starts_with(&format!("{old},"));
            // An older table may lack the last columns.
            old.is_ok_and(|old| old.lines().next().is_some_and(ours))
        };
        if outfile::standing(path)? == Standing::File && !is_table() {
            let text = format!(
                "{} already exists, and is not a table of this experiment",
                path.display()
            );
            return Err(CommandError::new(code::USAGE, text)
                .hint("name another file with --csv".to_owned()));
        }
        outfile::write(path, rows.as_bytes())?;
    }
    Ok(())
}

fn text(shown: &Shown<'_>, report: &ExperimentReport<'_>, wanted: &[&str]) -> String {
    let mut text = shown.answer() + "\n";
    for on in shown.measured_on {
        text.push_str(&format!("{on}\n"));
    }
    let is_wanted = |sheet: &Sheet| wanted.is_empty() || wanted.contains(&sheet.title);
    for sheet in experiment_sheets(report).into_iter().filter(is_wanted) {
        let heads: Vec<&str> = sheet.heads.iter().map(String::as_str).collect();
        let mut table = Table::new(&heads);
        for row in &sheet.rows {
            // A node's log has lines of its own; the whole of it stands in the files.
            table.row(
                row.iter()
                    .map(|cell| cell.lines().next().unwrap_or_default()),
            );
        }
        text.push_str(&format!("\n{}\n{}", sheet.title, table.render()));
        if !sheet.note.is_empty() && wanted.is_empty() {
            text.push_str(&format!("{}\n", sheet.note));
        }
    }
    if !wanted.is_empty() {
        let id = shown.experiment.id;
        text.push_str(&format!(
            "\nall runs: helenus experiment report {id} [--html FILE]\n"
        ));
    }
    text
}

/// Whether all runs of a combination died, or did not fit the machine.
fn never_ran(report: &ExperimentReport<'_>, combination: usize) -> bool {
    let mut own = report
        .runs
        .iter()
        .filter(|run| run.planned.combination == combination);
    own.all(|run| matches!(run.state, RunState::Died | RunState::DoesNotFit))
}

/// What the thresholds give: 0 where each is held by some settings, 1 where one is held by none, 6 where that is
/// inconclusive, or where the question has no answer here.
fn exit_code(report: &ExperimentReport<'_>) -> u8 {
    let Some(found) = report.analysis else {
        return BarAnswer::CannotTell.exit_code();
    };
    if found.not_testable.is_some() {
        return BarAnswer::CannotTell.exit_code();
    }
    let bars = report.experiment.bars.iter().map(|bar| {
        let own = found.bars.iter().filter(|cell| cell.bar == bar.text);
        // The best that any settings make of it; what never came up makes nothing of it.
        own.filter(|cell| !never_ran(report, cell.combination))
            .map(|cell| cell.answer)
            .min()
            .unwrap_or(BarAnswer::Crossed)
    });
    bars.max().map_or(0, BarAnswer::exit_code)
}
