//! `helenus kill`, `pause`, `resume`: one signal to one node.

use crate::cli::OneNode;
use crate::commands::disturb;
use crate::commands::done::Done;
use crate::error::{CommandError, code};
use crate::ui::Ui;
use helenus_cluster::context::Context;
use helenus_model::topology::Target;
use rustix::process::Signal;

pub(crate) fn kill(flags: &OneNode, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    send(flags, context, ui, "kill", Signal::KILL)
}

pub(crate) fn pause(flags: &OneNode, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    send(flags, context, ui, "pause", Signal::STOP)
}

pub(crate) fn resume(flags: &OneNode, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    send(flags, context, ui, "resume", Signal::CONT)
}

fn send(
    flags: &OneNode,
    context: &Context,
    ui: &Ui,
    verb: &'static str,
    signal: Signal,
) -> Result<u8, CommandError> {
    let target = Target::parse(&flags.target);
    let state = context.clusters.load(&target.cluster)?;
    let node = match (&target.node, state.plan.nodes.as_slice()) {
        (Some(node), _) => node.clone(),
        (None, [only]) => only.name.clone(),
        (None, several) => {
            let names: Vec<String> = several
                .iter()
                .map(|n| format!("{}/{}", target.cluster, n.name))
                .collect();
            return Err(
                CommandError::new(code::USAGE, format!("which node to {verb}?"))
                    .hint(format!("one of {}", names.join(", "))),
            );
        }
    };
    state.node(&node)?;
    if !flags.dry_run {
        disturb::may(context, &target.cluster, flags.force).map_err(|refused| {
            match (refused.code, verb) {
                (code::USAGE, "kill" | "pause") => refused.or_else_hint(&format!(
                    "to measure it, let the run make the fault: `helenus run … --fault 'at 10s for 20s {verb} {node}'`"
                )),
                _ => refused,
            }
        })?;
        context.signal(&target.cluster, &node, signal)?;
    }
    Done::new(verb, &target.cluster, vec![node], flags.dry_run).show(ui);
    Ok(0)
}
