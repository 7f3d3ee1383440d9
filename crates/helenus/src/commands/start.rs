//! `helenus start`: stopped nodes again, with their data.

use crate::cli::Start;
use crate::commands::disturb;
use crate::commands::done::Done;
use crate::commands::rm::of_prefix;
use crate::commands::up::{Watcher, checked, show_ready};
use crate::error::CommandError;
use crate::ui::Ui;
use helenus_cluster::context::Context;
use helenus_cluster::lifecycle::NewSettings;
use helenus_cluster::observe;
use helenus_cluster::state::ClusterState;
use helenus_model::release::Release;
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
    let new = new_settings(flags, &state, ui)?;
    if flags.targeted.dry_run {
        context.look_at_settings(&name, node, &new)?;
        Done::new("start", &name, nodes, true).show(ui);
        return Ok(0);
    }
    disturb::may(context, &name, flags.force)?;
    if !new.is_empty() {
        for (node, _) in observe::pids(&state)
            .into_iter()
            .filter(|(_, pid)| pid.is_some())
        {
            if nodes.iter().any(|name| name == node) {
                ui.caution(&format!(
                    "{node} runs: it takes the settings with its next start"
                ));
            }
        }
        context.configure(&name, node, &new)?;
    }
    let begin = Instant::now();
    let mut watcher = Watcher::new(ui, &name, nodes.len());
    let state = context.start(&name, node, flags.ready_within, &mut |event| {
        watcher.see(&event)
    })?;
    drop(watcher);
    show_ready(&state, begin, ui)
}

/// What the flags change, checked as `up` checks it.
fn new_settings(flags: &Start, state: &ClusterState, ui: &Ui) -> Result<NewSettings, CommandError> {
    let release = Release::facts_for(&state.plan.release).unwrap_or(Release::newest());
    Ok(NewSettings {
        set: checked(release, &flags.set, ui)?,
        jvm: flags.jvm.clone(),
    })
}
