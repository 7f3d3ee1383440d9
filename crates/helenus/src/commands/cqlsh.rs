//! `helenus cqlsh`: statements from `-e`, a file or a pipe by ourselves; a person gets an installed cqlsh.

use crate::cli::Cqlsh;
use crate::error::{CommandError, code};
use crate::ui::Ui;
use fs_err as fs;
use helenus_cluster::lifecycle::Hands;
use helenus_cluster::reach;
use helenus_cluster::secure;
use helenus_cluster::shell::{self, Answer};
use helenus_model::format::Format;
use helenus_model::topology::Target;
use serde::Serialize;
use std::io::{IsTerminal as _, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;

#[derive(Serialize)]
struct Answers {
    format: Format,
    results: Vec<Answer>,
}

#[derive(Serialize)]
struct Statements {
    format: Format,
    statements: Vec<String>,
}

pub(crate) fn run(flags: &Cqlsh, hands: &Hands, ui: &Ui) -> Result<u8, CommandError> {
    let target = flags.target.as_deref().map(Target::parse);
    let state = hands
        .clusters
        .resolve(target.as_ref().map(|t| t.cluster.as_str()))?;
    let node = target.and_then(|t| t.node);
    if let Some(node) = &node {
        state.node(node)?;
    }
    let text = match (&flags.execute, &flags.file) {
        (Some(text), _) => text.clone(),
        (None, Some(path)) => read(path)?,
        (None, None) if !std::io::stdin().is_terminal() => read(Path::new("-"))?,
        (None, None) => return interactive(hands, &state, node.as_deref()),
    };
    if flags.dry_run {
        let statements = helenus_cql::split_statements(&text);
        let shown = Statements {
            format: Format::new("cql-statements", 1),
            statements: statements.iter().map(|s| s.text.clone()).collect(),
        };
        ui.result(&shown, || {
            let lines = statements
                .iter()
                .map(|s| format!("line {}: {}\n", s.line, s.text));
            lines
                .chain(["nothing was run (--dry-run)\n".to_owned()])
                .collect()
        });
        return Ok(0);
    }
    let mut client = shell::connect(&state, node.as_deref())?;
    let mut results = Vec::new();
    for statement in helenus_cql::split_statements(&text) {
        if hands.cancel.is_set() {
            return Err(CommandError::new(
                code::INTERRUPTED,
                "interrupted before the next statement",
            ));
        }
        let answer = shell::run(&state, &mut client, &statement).map_err(|error| {
            let failure = CommandError::of(code::USAGE, &error);
            failure.hint(Some(format!(
                "line {}: {}",
                statement.line,
                first_line(&statement.text)
            )))
        })?;
        if ui.json() {
            results.push(answer);
        } else {
            ui.out(&answer.text);
        }
    }
    if ui.json() {
        ui.result(
            &Answers {
                format: Format::new("cql", 1),
                results,
            },
            String::new,
        );
    }
    Ok(0)
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or(text)
}

fn read(path: &Path) -> Result<String, CommandError> {
    let failed = |e: std::io::Error| CommandError::of(code::USAGE, &e);
    if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map_err(failed)?;
        Ok(text)
    } else {
        fs::read_to_string(path).map_err(failed)
    }
}

/// Hands the terminal to an installed cqlsh.
fn interactive(
    hands: &Hands,
    state: &helenus_cluster::state::ClusterState,
    node: Option<&str>,
) -> Result<u8, CommandError> {
    let Some(program) = installed(hands) else {
        return Err(CommandError::new(
            code::ENVIRONMENT,
            "there is no cqlsh on PATH for a session",
        )
        .hint("install it with `pip install cqlsh`, or use -e 'STATEMENT' or -f FILE".to_owned()));
    };
    let node = match node {
        Some(name) => state.node(name)?,
        None => &state.plan.nodes[0],
    };
    let mut command = reach::command(state, &node.name, program)
        .map_err(|e| CommandError::of(code::ENVIRONMENT, &e))?;
    if let Some(cqlshrc) = secure::cqlshrc_of(state) {
        // It names the file with the password; a password itself would be seen in the list of processes.
        command.arg(format!("--cqlshrc={}", cqlshrc.display()));
    }
    // Becomes cqlsh: Ctrl-C is an ordinary word there.
    let error = command
        .arg(node.address.to_string())
        .arg(state.plan.ports.cql.to_string())
        .exec();
    Err(CommandError::of(code::ENVIRONMENT, &error))
}

/// The first cqlsh on PATH that is not one of our own tools on disk, which would call us again.
fn installed(hands: &Hands) -> Option<std::path::PathBuf> {
    let clusters = hands.clusters.root();
    let clusters = fs::canonicalize(clusters).unwrap_or_else(|_| clusters.to_owned());
    let others = std::env::split_paths(hands.env.var("PATH")?)
        .filter(|folder| !fs::canonicalize(folder).is_ok_and(|f| f.starts_with(&clusters)));
    let path = std::env::join_paths(others).ok()?;
    let mut env = hands.env.clone();
    env.vars.insert("PATH".into(), path);
    env.find_program("cqlsh")
}

/// What a tool on disk becomes: an installed cqlsh that is told the node by its own variables, so that a host among
/// the arguments wins as it always does; without one, the statements of -e and -f run here.
pub(crate) fn on_disk(
    target: &str,
    arguments: Vec<std::ffi::OsString>,
    hands: &Hands,
    ui: &Ui,
) -> Result<u8, CommandError> {
    use clap::Parser as _;
    let named = Target::parse(target);
    let state = hands.clusters.load(&named.cluster)?;
    let node = match &named.node {
        Some(name) => state.node(name)?,
        None => &state.plan.nodes[0],
    };
    if let Some(program) = installed(hands) {
        let error = reach::command(&state, &node.name, program)
            .map_err(|e| CommandError::of(code::ENVIRONMENT, &e))?
            .args(arguments)
            .env("CQLSH_HOST", node.address.to_string())
            .env("CQLSH_PORT", state.plan.ports.cql.to_string())
            .exec();
        return Err(CommandError::of(code::ENVIRONMENT, &error));
    }
    let words = ["helenus", "cqlsh", target].map(std::ffi::OsString::from);
    match crate::cli::Cli::parse_from(words.into_iter().chain(arguments)).verb {
        crate::cli::Verb::Cqlsh(flags) => run(&flags, hands, ui),
        _ => Err(CommandError::new(code::USAGE, "cqlsh takes -e and -f")),
    }
}
