//! Whether a verb may change a cluster that a run may be measuring: refused, or done with `--force` and written down.
//! Refuses to let a verb that works for minutes leave its cluster to others between two of its steps: it holds it.

use crate::error::CommandError;
use helenus_cluster::context::Context;
use helenus_cluster::in_use::{self, Hold};
use helenus_model::secret::command_line;

/// Asked before anything is changed.
pub(crate) fn may(context: &Context, cluster: &str, force: bool) -> Result<(), CommandError> {
    Ok(in_use::disturb(
        &context.clusters,
        cluster,
        &words(),
        force,
    )?)
}

/// Keeps other commands from changing a cluster until this is dropped.
pub(crate) fn hold(context: &Context, cluster: &str) -> Option<Hold> {
    Hold::try_take(&context.clusters, cluster, &words())
}

/// This command, free of secrets.
pub(crate) fn words() -> String {
    command_line(std::env::args_os().map(|word| word.to_string_lossy().into_owned()))
}
