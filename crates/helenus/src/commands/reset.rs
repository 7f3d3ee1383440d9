//! `helenus reset`: a running cluster goes back to its recorded state.

use crate::cli::reset::Reset as Flags;
use crate::commands::disturb;
use crate::commands::up::plural;
use crate::error::CommandError;
use crate::ui::Ui;
use helenus_cluster::lifecycle::Hands;
use helenus_cluster::reset::{Reset, reset};
use helenus_model::units::human_duration;
use std::time::{Duration, Instant};

pub(crate) fn run(flags: &Flags, hands: &Hands, ui: &Ui) -> Result<u8, CommandError> {
    let name = match &flags.name {
        Some(name) => name.clone(),
        None => hands.clusters.resolve(None)?.plan.name,
    };
    if !flags.dry_run {
        disturb::may(hands, &name, flags.force)?;
    }
    let begin = Instant::now();
    let progress = ui.progress(&format!("cluster {name}"));
    let told = reset(hands, &name, flags.dry_run)?;
    drop(progress);
    ui.result(&told, || text(&told, begin.elapsed()));
    Ok(0)
}

fn text(told: &Reset, took: Duration) -> String {
    let mut lines = Vec::new();
    let mut say = |line: String| lines.push(line);
    told.changes.iter().for_each(|change| say(change.clone()));
    told.truncated
        .iter()
        .for_each(|table| say(format!("truncate {table}")));
    for table in &told.refilled {
        say(format!("refill {table}"));
    }
    told.roles
        .iter()
        .for_each(|statement| say(statement.clone()));
    for node in &told.hints {
        say(format!("delete the hints of {node}"));
    }
    for setting in &told.settings {
        say(format!(
            "set {} of {} from {} to {}",
            setting.attribute, setting.node, setting.from, setting.to
        ));
    }
    for folder in &told.snapshots {
        say(format!("remove {}", folder.display()));
    }
    for table in &told.remade {
        say(format!("note: {table} is made anew and has another id"));
    }
    told.lost
        .iter()
        .for_each(|lost| say(format!("note: {lost}")));
    let goal = match &told.baseline {
        Some(tag) => format!("baseline {tag}"),
        None => "the state after up".to_owned(),
    };
    let untouched = plural(told.untouched, "table");
    say(if told.dry_run {
        format!(
            "{} would go back to {goal}; {untouched} untouched; nothing was done (--dry-run)",
            told.cluster
        )
    } else {
        format!(
            "{} is back at {goal} after {}; {untouched} untouched",
            told.cluster,
            human_duration(took)
        )
    });
    lines.join("\n") + "\n"
}
