//! `helenus reset`: a running cluster goes back to its recorded state.

use crate::cli::reset::Reset as Flags;
use crate::commands::disturb;
use crate::error::CommandError;
use crate::ui::{Answers, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::reset::{Reset, reset};
use helenus_model::units::{human_duration, plural};
use serde::Serialize;
use std::time::{Duration, Instant};

/// What was done, and how long it took.
#[derive(Serialize)]
struct ResetReport {
    #[serde(flatten)]
    reset: Reset,
    #[serde(skip)]
    took: Duration,
}

impl Answers for ResetReport {
    fn answer(&self) -> String {
        let Reset {
            cluster,
            baseline,
            untouched,
            dry_run,
            ..
        } = &self.reset;
        let goal = match baseline {
            Some(tag) => format!("baseline {tag}"),
            None => "the state after up".to_owned(),
        };
        let untouched = plural(*untouched, "table");
        if *dry_run {
            return format!(
                "{cluster} would return to {goal}; {untouched} untouched; nothing was done (--dry-run)"
            );
        }
        let took = human_duration(self.took);
        format!("{cluster} is back at {goal} after {took}; {untouched} untouched")
    }
}

pub(crate) fn run(flags: &Flags, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let name = match &flags.name {
        Some(name) => name.clone(),
        None => context.clusters.resolve(None)?.plan.name,
    };
    if !flags.dry_run {
        disturb::may(context, &name, flags.force)?;
    }
    let begin = Instant::now();
    let progress = ui.progress(&format!("cluster {name}"));
    let reset = reset(context, &name, flags.dry_run)?;
    drop(progress);
    let report = ResetReport {
        reset,
        took: begin.elapsed(),
    };
    ui.result(&report, || text(&report.reset, report.answer()));
    Ok(0)
}

fn text(reset: &Reset, answer: String) -> String {
    let mut lines = Vec::new();
    let mut say = |line: String| lines.push(line);
    reset.changes.iter().for_each(|change| say(change.clone()));
    reset
        .truncated
        .iter()
        .for_each(|table| say(format!("truncate {table}")));
    for table in &reset.refilled {
        say(format!("refill {table}"));
    }
    reset
        .roles
        .iter()
        .for_each(|statement| say(statement.clone()));
    for node in &reset.hints {
        say(format!("delete the hints of {node}"));
    }
    for setting in &reset.settings {
        say(format!(
            "set {} of {} from {} to {}",
            setting.attribute, setting.node, setting.from, setting.to
        ));
    }
    for folder in &reset.snapshots {
        say(format!("remove {}", folder.display()));
    }
    for table in &reset.remade {
        say(format!("note: {table} is created again and has another id"));
    }
    reset
        .lost
        .iter()
        .for_each(|lost| say(format!("note: {lost}")));
    say(answer);
    lines.join("\n") + "\n"
}
