//! Whether a verb may change a cluster that a run may be measuring: refused, or done with `--force` and written down.

use crate::error::CommandError;
use helenus_cluster::in_use;
use helenus_cluster::lifecycle::Hands;
use helenus_model::secret::command_line;

/// Asked before anything is changed.
pub(crate) fn may(hands: &Hands, cluster: &str, force: bool) -> Result<(), CommandError> {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    Ok(in_use::disturb(
        &hands.clusters,
        cluster,
        &command_line(words),
        force,
    )?)
}
