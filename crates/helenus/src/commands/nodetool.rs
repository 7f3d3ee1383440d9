//! `helenus nodetool`: the release's own tool, its words and its exit code.

use crate::cli::Nodetool;
use crate::error::{CommandError, code};
use crate::ui::Ui;
use helenus_cluster::lifecycle::Hands;
use helenus_cluster::nodetool;
use helenus_model::topology::Target;

pub(crate) fn run(flags: &Nodetool, hands: &Hands, ui: &Ui) -> Result<u8, CommandError> {
    let target = Target::parse(&flags.target);
    let state = hands.clusters.load(&target.cluster)?;
    let node = target
        .node
        .unwrap_or_else(|| state.plan.nodes[0].name.clone());
    if ui.json() {
        return Err(
            CommandError::new(code::USAGE, "nodetool's words have no JSON form")
                .hint("some of its verbs take -F json themselves".to_owned()),
        );
    }
    let status = nodetool::command(&state, &node, &flags.arguments)?
        .status()
        .map_err(|e| CommandError::of(code::ENVIRONMENT, &e))?;
    Ok(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1))
}
