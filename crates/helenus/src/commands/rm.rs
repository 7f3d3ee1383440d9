//! `helenus rm`: says what it deletes, and deletes it.

use crate::cli::Rm;
use crate::commands::up::plural;
use crate::error::{CommandError, code};
use crate::ui::Ui;
use helenus_cluster::lifecycle::Hands;
use helenus_cluster::remove::{self, Removal};
use helenus_model::format::Format;
use serde::Serialize;

#[derive(Serialize)]
struct Removed {
    format: Format,
    dry_run: bool,
    removed: Vec<Removal>,
}

pub(crate) fn run(flags: &Rm, hands: &Hands, ui: &Ui) -> Result<u8, CommandError> {
    let names = if flags.all {
        hands
            .clusters
            .names()
            .map_err(|e| CommandError::of(code::ENVIRONMENT, &e))?
    } else {
        flags.names.clone()
    };
    // Every name is looked at before the first is removed: a mistyped one removes nothing.
    let removals: Vec<Removal> = names
        .iter()
        .map(|name| remove::look(hands, name))
        .collect::<Result<_, _>>()?;
    if !flags.dry_run {
        let progress = ui.progress("removing");
        for name in &names {
            progress.say(format!("removing {name}"));
            remove::remove(hands, name)?;
        }
        if flags.all {
            remove::sweep(hands).map_err(|e| CommandError::of(code::ENVIRONMENT, &e))?;
        }
    }
    let removed = Removed {
        format: Format::new("removed", 1),
        dry_run: flags.dry_run,
        removed: removals,
    };
    ui.result(&removed, || text(&removed));
    Ok(0)
}

fn text(removed: &Removed) -> String {
    let verb = if removed.dry_run {
        "would remove"
    } else {
        "removed"
    };
    let mut text = String::new();
    for one in &removed.removed {
        text.push_str(&format!(
            "{verb} {}: {} ({} running), {} in {}\n",
            one.name,
            plural(one.nodes, "node"),
            one.running,
            one.bytes,
            one.folder.display()
        ));
    }
    if removed.removed.is_empty() {
        text.push_str("there is no cluster to remove\n");
    }
    text
}
