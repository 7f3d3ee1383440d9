//! `helenus completions`: a shell's script, which asks this very program for each completion.

use super::complete::VARIABLE;
use crate::cli::Completions;
use crate::error::{CommandError, code};
use crate::ui::Ui;
use clap_complete::env::Shells;

pub(crate) fn run(flags: &Completions, ui: &Ui) -> Result<u8, CommandError> {
    let shells = Shells::builtins();
    let name = flags.shell.to_string();
    let Some(shell) = shells.completer(&name) else {
        let text = format!("no completions for {name}");
        return Err(CommandError::new(code::USAGE, text));
    };
    let mut text = Vec::new();
    // By its name on PATH: the script outlives a program that is moved or replaced.
    shell.write_registration(VARIABLE, "helenus", "helenus", "helenus", &mut text)?;
    ui.out(&String::from_utf8_lossy(&text));
    Ok(0)
}
