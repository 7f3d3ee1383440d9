//! `helenus start`: stopped nodes again, with their data.

use crate::cli::Start;
use crate::commands::disturb;
use crate::commands::rm::of_prefix;
use crate::commands::stop::Done;
use crate::commands::up::{Watcher, show_ready};
use crate::error::CommandError;
use crate::ui::Ui;
use helenus_cluster::context::Context;
use helenus_model::format::Format;
use helenus_model::topology::Target;
use std::time::Instant;

pub(crate) fn run(flags: &Start, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    match &flags.all_of.prefix {
        None => one(flags, flags.targeted.target.as_deref(), context, ui),
        Some(prefix) => {
            for name in of_prefix(context, prefix)? {
                one(flags, Some(&name), context, ui)?;
            }
            Ok(0)
        }
    }
}

fn one(
    flags: &Start,
    target: Option<&str>,
    context: &Context,
    ui: &Ui,
) -> Result<u8, CommandError> {
    let target = target.map(Target::parse);
    let state = context
        .clusters
        .resolve(target.as_ref().map(|t| t.cluster.as_str()))?;
    let name = state.plan.name.clone();
    let node = target.as_ref().and_then(|t| t.node.as_deref());
    let nodes: Vec<String> = state
        .targets(node)?
        .iter()
        .map(|n| n.name.clone())
        .collect();
    if flags.targeted.dry_run {
        let format = Format::new("done", 1);
        Done {
            format,
            verb: "start",
            cluster: name,
            nodes,
            dry_run: true,
        }
        .show(ui);
        return Ok(0);
    }
    disturb::may(context, &name, flags.force)?;
    let begin = Instant::now();
    let mut watcher = Watcher::new(ui, &name, nodes.len());
    let state = context.start(&name, node, flags.ready_within, &mut |event| {
        watcher.see(&event)
    })?;
    drop(watcher);
    show_ready(&state, begin, ui)
}
