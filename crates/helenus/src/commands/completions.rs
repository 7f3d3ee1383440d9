//! `helenus completions`: a shell's completions from the one definition of the command line.

use crate::cli::{Cli, Completions};
use crate::error::CommandError;
use crate::ui::Ui;
use clap::CommandFactory as _;

pub(crate) fn run(flags: &Completions, ui: &Ui) -> Result<u8, CommandError> {
    let mut text = Vec::new();
    clap_complete::generate(flags.shell, &mut Cli::command(), "helenus", &mut text);
    ui.out(&String::from_utf8_lossy(&text));
    Ok(0)
}
