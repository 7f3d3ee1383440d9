//! `helenus populate`.
//! Refuses nothing yet.
use crate::cli::run::Populate;
use crate::error::CommandError;
use crate::ui::Ui;
use helenus_cluster::lifecycle::Hands;
pub(crate) fn run(_: &Populate, _: &Hands, _: &Ui) -> Result<u8, CommandError> {
    Ok(0)
}
