//! `helenus nodetool`: the release's own tool, its words and its exit code.

use crate::cli::Nodetool;
use crate::commands::relay;
use crate::error::{CommandError, code};
use crate::ui::Ui;
use helenus_cluster::context::Context;
use helenus_cluster::error::with_causes;
use helenus_cluster::nodetool;
use helenus_cluster::settings;
use helenus_model::dead_verb;
use helenus_model::topology::Target;
use std::os::unix::process::CommandExt as _;

pub(crate) fn run(flags: &Nodetool, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let target = Target::parse(&flags.target);
    let state = context.clusters.load(&target.cluster)?;
    if ui.json() {
        return Err(
            CommandError::new(code::USAGE, "nodetool has no JSON output")
                .hint("some of its commands take -F json".to_owned()),
        );
    }
    let addresses: Vec<_> = state.plan.nodes.iter().map(|n| n.address).collect();
    let words = nodetool::part(&flags.arguments, &addresses, state.plan.ports.jmx)?;
    if let Some(meant) = dead_verb::meant(&words.verb) {
        let text = format!("nodetool has no command {:?}", words.verb[0]);
        let hint = format!("helenus nodetool {} {}", flags.target, meant.join(" "));
        return Err(CommandError::new(code::USAGE, text).hint(hint));
    }
    let named = words
        .host
        .and_then(|host| state.plan.nodes.iter().find(|n| n.address == host));
    let node = match (named, &target.node) {
        (Some(node), _) => node.name.clone(),
        (None, Some(node)) => node.clone(),
        (None, None) => state.plan.nodes[0].name.clone(),
    };
    if settings::is_changing(&words.verb)
        && let Err(error) = settings::remember(context, &state, &node)
    {
        // The command is run all the same; only a reset will know less.
        ui.caution(&format!(
            "`helenus reset` will not undo what this changes: {}",
            with_causes(&error)
        ));
    }
    let arguments: Vec<String> = words.jvm.into_iter().chain(words.verb).collect();
    let mut command = nodetool::command(&state, &node, &arguments)?;
    if !rustix::termios::isatty(rustix::stdio::stdout()) {
        // Java does not report that its output is lost: whoever keeps it would keep half of it.
        return relay::run(&command, context, ui);
    }
    // Becomes the tool: its words, its signals, its exit code.
    let error = command.exec();
    Err(CommandError::of(code::ENVIRONMENT, &error))
}
