//! `helenus hosts logs` and `nodetool`: what is read on a node's host, through Ansible.
//! Refuses to print it as JSON: it is another program's text.

use super::{ansible, known, node, target};
use crate::cli::hosts::{Logs, Nodetool};
use crate::error::{CommandError, code};
use crate::ui::Ui;
use helenus_cluster::context::Context;
use helenus_cluster::hosts::nodetool_of;

pub(super) fn logs(flags: &Logs, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    run(&flags.target, "hosts logs", (context, ui), |name| {
        let log = format!("/var/log/cassandra/{name}/system.log");
        vec![
            "tail".to_owned(),
            "-n".to_owned(),
            flags.tail.to_string(),
            log,
        ]
    })
}

pub(super) fn nodetool(flags: &Nodetool, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let words = flags
        .words
        .iter()
        .map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = words.collect();
    run(&flags.target, "hosts nodetool", (context, ui), |name| {
        [nodetool_of(name)].into_iter().chain(words).collect()
    })
}

fn run(
    text: &str,
    what: &str,
    (context, ui): (&Context, &Ui),
    words: impl FnOnce(&str) -> Vec<String>,
) -> Result<u8, CommandError> {
    if ui.json() {
        return Err(CommandError::new(
            code::USAGE,
            format!("{what} has no JSON output"),
        ));
    }
    let (name, named) = target(text);
    let (_, plan) = known(name, context)?;
    let node = node(&plan, named)?;
    let host = node.host.as_deref().unwrap_or_default();
    let ansible = ansible(&plan, context)?;
    let printed = ansible.on(host, &words(&node.name), &context.cancel)?;
    ui.out(&format!("{}\n", printed.trim_end()));
    Ok(0)
}
