//! `helenus stop`: gently, all nodes of the target at once; data stays.

use crate::cli::Stop;
use crate::commands::disturb;
use crate::commands::rm::of_prefix;
use crate::commands::up::Watcher;
use crate::error::CommandError;
use crate::ui::{Answers, Ui};
use helenus_cluster::context::Context;
use helenus_model::format::Format;
use helenus_model::topology::Target;
use serde::Serialize;

/// What a verb did, or would do, to which nodes.
#[derive(Serialize)]
pub(crate) struct Done {
    pub(crate) format: Format,
    /// The verb.
    pub(crate) verb: &'static str,
    /// The cluster.
    pub(crate) cluster: String,
    /// Nodes that it was done to.
    pub(crate) nodes: Vec<String>,
    /// Whether nothing was done.
    pub(crate) dry_run: bool,
}

impl Done {
    /// A verb on nodes of a cluster.
    pub(crate) fn new(
        verb: &'static str,
        cluster: &str,
        nodes: Vec<String>,
        dry_run: bool,
    ) -> Self {
        Self {
            format: Format::new("done", 1),
            verb,
            cluster: cluster.to_owned(),
            nodes,
            dry_run,
        }
    }

    pub(crate) fn show(&self, ui: &Ui) {
        ui.result(self, || self.answer() + "\n");
    }
}

impl Answers for Done {
    fn answer(&self) -> String {
        let nodes = self.nodes.join(", ");
        if self.dry_run {
            format!(
                "would {} {nodes} of {}; nothing was done (--dry-run)",
                self.verb, self.cluster
            )
        } else {
            format!("{}: {nodes} {}", self.cluster, past(self.verb))
        }
    }
}

fn past(verb: &str) -> &'static str {
    match verb {
        "stop" => "stopped; the data stays",
        "kill" => "killed; the data stays",
        "make" => "made; `helenus start` starts them",
        "pause" => "paused",
        "resume" => "resumed",
        _ => "started",
    }
}

pub(crate) fn run(flags: &Stop, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
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

fn one(flags: &Stop, target: Option<&str>, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let target = target.map(Target::parse);
    let state = context
        .clusters
        .resolve(target.as_ref().map(|t| t.cluster.as_str()))?;
    let node = target.as_ref().and_then(|t| t.node.as_deref());
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
