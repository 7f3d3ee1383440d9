//! `experiment status`: what has run, what runs, what failed, how long it will take.
//! Refuses to call an experiment running whose process is gone.

use super::plan::timing;
use super::{combinations, open, stored};
use crate::error::CommandError;
use crate::ui::{Answers, Table, Ui};
use helenus_cluster::context::Context;
use helenus_model::experiment::{Planned, Progress, RunState, Timing, VERSION};
use helenus_model::format::Format;
use helenus_model::units::{human_duration, plural};
use helenus_record::{ExperimentId, History, PlannedRun, StoredExperiment};
use serde::Serialize;
use std::time::Duration;

/// `helenus.experiments/1`.
#[derive(Serialize)]
struct Listed {
    format: Format,
    /// The experiments.
    experiments: Vec<One>,
}

impl Answers for Listed {
    fn answer(&self) -> String {
        if self.experiments.is_empty() {
            return "no experiment yet; `helenus experiment run FILE` starts one".to_owned();
        }
        let each = self.experiments.iter();
        let each = each.map(|one| format!("{} is {}", one.stored.id, one.state));
        let each: Vec<String> = each.collect();
        format!("{}: {}", plural(each.len(), "experiment"), each.join(", "))
    }
}

#[derive(Serialize)]
struct One {
    #[serde(flatten)]
    stored: StoredExperiment,
    /// How far it is.
    state: &'static str,
    #[serde(flatten)]
    progress: Progress,
}

/// `helenus.experiment-status/1`.
#[derive(Serialize)]
struct Status {
    format: Format,
    #[serde(flatten)]
    one: One,
    /// About how long the rest takes, in seconds.
    left_s: u64,
    /// The runs.
    runs: Vec<ShownRun>,
}

impl Answers for Status {
    fn answer(&self) -> String {
        let one = &self.one;
        let progress = one.progress;
        let mut text = format!(
            "{} {} is {}: {} of {} runs done, {} died, {} do not fit, {} left",
            one.stored.id,
            one.stored.name,
            one.state,
            progress.done,
            progress.planned,
            progress.died,
            progress.does_not_fit,
            progress.left
        );
        if progress.left > 0 {
            let left = human_duration(Duration::from_secs(self.left_s));
            let restarts = progress.restarts_left;
            text.push_str(&format!(" in {restarts} restarts, about {left}"));
        }
        text
    }
}

#[derive(Serialize)]
struct ShownRun {
    /// Its settings in words.
    label: String,
    #[serde(flatten)]
    run: PlannedRun,
}

pub(super) fn progress(history: &History, id: ExperimentId) -> Result<Progress, CommandError> {
    Ok(Progress::of(&states(&history.planned_runs(id)?)))
}

fn states(runs: &[PlannedRun]) -> Vec<(Planned, RunState)> {
    runs.iter().map(|run| (run.planned, run.state)).collect()
}

fn of(stored: StoredExperiment, progress: Progress) -> One {
    let state = match (stored.running, progress.left, progress.done) {
        (true, ..) => "running",
        (false, 0, _) => "done",
        (false, _, 0) => "planned",
        (false, ..) => "cut off",
    };
    One {
        stored,
        state,
        progress,
    }
}

pub(super) fn all(context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let history = open(context)?;
    let mut experiments = Vec::new();
    for stored in history.experiments()? {
        let progress = progress(&history, stored.id)?;
        experiments.push(of(stored, progress));
    }
    let listed = Listed {
        format: Format::new("experiments", VERSION),
        experiments,
    };
    ui.result(&listed, || {
        if listed.experiments.is_empty() {
            return listed.answer() + "\n";
        }
        let mut table = Table::new(&["", "name", "state", ">runs", ">done", ">died", ">left"]);
        for one in &listed.experiments {
            let progress = one.progress;
            table.row([
                one.stored.id.to_string(),
                one.stored.name.clone(),
                one.state.to_owned(),
                progress.planned.to_string(),
                progress.done.to_string(),
                progress.died.to_string(),
                progress.left.to_string(),
            ]);
        }
        table.render()
    });
    Ok(0)
}

pub(super) fn one(name: &str, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let history = open(context)?;
    let (stored, file) = stored(&history, name)?;
    let runs = history.planned_runs(stored.id)?;
    let progress = Progress::of(&states(&runs));
    // Where nothing is left, a cluster that it ran on may be gone, too.
    let left = match progress.left {
        0 => Duration::ZERO,
        _ => left(&runs, &timing(&combinations(&file, context, &ui.hushed())?)),
    };
    let of_file = &file.experiment;
    let all = of_file.combinations();
    let status = Status {
        format: Format::new("experiment-status", VERSION),
        one: of(stored, progress),
        left_s: left.as_secs(),
        runs: runs
            .into_iter()
            .map(|run| ShownRun {
                label: of_file.label(&all[run.planned.combination]),
                run,
            })
            .collect(),
    };
    ui.result(&status, || text(&status));
    Ok(0)
}

/// How long what is left takes: as planned, times what the runs so far took over what they were planned to take.
fn left(runs: &[PlannedRun], timing: &Timing) -> Duration {
    let done = || runs.iter().filter(|run| run.state == RunState::Done);
    let timed = done().filter_map(|run| Some((run.began_wall_ns?, run.ended_wall_ns?)));
    let took: Duration = timed
        .map(|(began, ended)| Duration::from_nanos(ended.saturating_sub(began)))
        .sum();
    let before: Vec<_> = done().map(|run| (run.planned, RunState::Planned)).collect();
    let (took, planned) = (took.as_secs_f64(), timing.left(&before).as_secs_f64());
    let pace = if planned > 0.0 { took / planned } else { 1.0 };
    timing.left(&states(runs)).mul_f64(pace)
}

fn text(status: &Status) -> String {
    let one = &status.one;
    let mut text = status.answer() + "\n";
    let open = |run: &&ShownRun| {
        matches!(
            run.run.state,
            RunState::Running | RunState::Died | RunState::DoesNotFit | RunState::Interrupted
        )
    };
    let open_runs: Vec<&ShownRun> = status.runs.iter().filter(open).collect();
    if !open_runs.is_empty() {
        let mut table = Table::new(&[">run", ">block", "settings", "state", "why"]);
        for run in open_runs {
            let state = match run.run.state {
                RunState::Running if one.stored.running => "running",
                RunState::Running => RunState::Interrupted.word(),
                ended => ended.word(),
            };
            let why = run.run.why.as_deref().and_then(|why| why.lines().next());
            table.row([
                (run.run.planned.place + 1).to_string(),
                (run.run.planned.block + 1).to_string(),
                run.label.clone(),
                state.to_owned(),
                why.unwrap_or_default().to_owned(),
            ]);
        }
        text.push_str(&table.render());
    }
    if one.state == "cut off" || one.state == "planned" {
        text.push_str(&format!(
            "resume: helenus experiment resume {}\n",
            one.stored.id
        ));
    }
    text
}
