//! Whether a verb may change a cluster that a run may be measuring: refused, or done with `--force` and written down.
//! Refuses to let a verb that works for minutes leave its cluster to others between two of its steps: it holds it.

use crate::error::CommandError;
use helenus_cluster::in_use::{self, Hold};
use helenus_cluster::lifecycle::Hands;
use helenus_model::secret::command_line;

/// Asked before anything is changed.
pub(crate) fn may(hands: &Hands, cluster: &str, force: bool) -> Result<(), CommandError> {
    Ok(in_use::disturb(&hands.clusters, cluster, &words(), force)?)
}

/// Keeps other commands from changing a cluster until this is dropped.
pub(crate) fn hold(hands: &Hands, cluster: &str) -> Option<Hold> {
    Hold::try_take(&hands.clusters, cluster, &words())
}

/// This command, free of secrets.
fn words() -> String {
    command_line(std::env::args_os().map(|word| word.to_string_lossy().into_owned()))
}
