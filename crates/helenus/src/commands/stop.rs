//! `helenus stop`: gently, all nodes of the target at once; data stays.

use crate::cli::Stop;
use crate::commands::disturb;
use crate::commands::done::Done;
use crate::commands::rm::all_of;
use crate::commands::up::Watcher;
use crate::error::CommandError;
use crate::ui::Ui;
use helenus_cluster::context::Context;

pub(crate) fn run(flags: &Stop, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let target = flags.targeted.target.as_deref();
    match all_of(&flags.all_of, target, context)? {
        None => one(flags, target, context, ui),
        Some(names) => {
            for name in names {
                one(flags, Some(&name), context, ui)?;
            }
            Ok(0)
        }
    }
}

fn one(flags: &Stop, target: Option<&str>, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let (state, node) = context.clusters.target(target)?;
    let node = node.as_deref();
    let nodes: Vec<String> = state
        .targets(node)?
        .iter()
        .map(|n| n.name.clone())
        .collect();
    if !flags.targeted.dry_run {
        disturb::may(context, &state.plan.name, flags.force)?;
        let mut watcher = Watcher::new(ui, &state.plan.name, nodes.len());
        context.stop(&state.plan.name, node, flags.within, &mut |event| {
            watcher.see(&event);
        })?;
    }
    Done::new("stop", &state.plan.name, nodes, flags.targeted.dry_run).show(ui);
    Ok(0)
}
