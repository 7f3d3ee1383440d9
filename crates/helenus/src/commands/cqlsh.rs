//! `helenus cqlsh`: statements from `-e`, a file or a pipe, and a session for whoever types.
//! Refuses cqlsh's COPY, CAPTURE and LOGIN: an installed cqlsh has them, and `--installed` hands over to it.

mod counting;
mod interactive;
mod shell;

use crate::cli::Cqlsh;
use crate::error::{CommandError, code};
use crate::ui::{Answers, Ui};
use fs_err as fs;
use helenus_cluster::context::Context;
use helenus_cluster::reach;
use helenus_cluster::secure;
use helenus_cluster::shell::Session;
use helenus_cluster::state::ClusterState;
use helenus_cql::client::PAGE_ROWS;
use helenus_cql::commands::{SESSION_PAGE_ROWS, Settings};
use helenus_cql::{Consistency, input, split_script};
use helenus_model::format::Format;
use helenus_model::units::plural;
use serde::Serialize;
use shell::Shell;
use std::io::IsTerminal as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;

#[derive(Serialize)]
struct Statements {
    format: Format,
    /// The statements, in order.
    statements: Vec<String>,
}

impl Answers for Statements {
    fn answer(&self) -> String {
        let statements = plural(self.statements.len(), "statement");
        format!("{statements}; {NOTHING}")
    }
}

const NOTHING: &str = "nothing was run (--dry-run)";

pub(crate) fn run(flags: &Cqlsh, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let (state, node) = context.clusters.target(flags.target.as_deref())?;
    if let Some(node) = &node {
        state.node(node)?;
    }
    if flags.installed {
        return hand_over(context, &state, node.as_deref());
    }
    let script = match (&flags.execute, &flags.file) {
        (Some(text), _) => Some(text.clone()),
        (None, Some(path)) => Some(read(path)?),
        (None, None) if !is_typed() => Some(read(Path::new("-"))?),
        (None, None) => None,
    };
    if let (true, Some(text)) = (flags.dry_run, &script) {
        show_statements(text, ui);
        return Ok(0);
    }
    if script.is_none() && (flags.dry_run || ui.json()) {
        let text = "a session takes neither --dry-run nor --format json";
        return Err(
            CommandError::new(code::USAGE, text).hint("use -e 'STATEMENT' or -f FILE".to_owned())
        );
    }
    let settings = Settings {
        consistency: flags.cl.unwrap_or(Consistency::One),
        page_rows: Some(match script {
            Some(_) => PAGE_ROWS,
            None => SESSION_PAGE_ROWS,
        }),
        ..Settings::default()
    };
    let session = Session::open(state, node.as_deref(), settings, &context.cancel)?;
    let mut shell = Shell::new(session, context, ui);
    match script {
        Some(text) => {
            shell.script(&text, "")?;
            shell.end();
            Ok(0)
        }
        None => interactive::run(&mut shell, node.as_deref()),
    }
}

/// Whether a person types and looks.
fn is_typed() -> bool {
    std::io::stdin().is_terminal() && shell::is_seen()
}

fn show_statements(text: &str, ui: &Ui) {
    let statements = split_script(text).statements;
    let shown = Statements {
        format: Format::new("cql-statements", 1),
        statements: statements.iter().map(|s| s.text.clone()).collect(),
    };
    ui.result(&shown, || {
        let lines = statements
            .iter()
            .map(|s| format!("line {}: {}\n", s.line, s.text));
        lines.chain([format!("{NOTHING}\n")]).collect()
    });
}

fn read(path: &Path) -> Result<String, CommandError> {
    let most = input::MOST_LONG;
    Ok(if path == Path::new("-") {
        let mut stdin = std::io::stdin().lock();
        input::text_of(&mut stdin, Path::new("standard input"), most)?
    } else {
        input::text_up_to(path, most)?
    })
}

/// Hands the terminal to an installed cqlsh.
fn hand_over(
    context: &Context,
    state: &ClusterState,
    node: Option<&str>,
) -> Result<u8, CommandError> {
    let Some(program) = installed(context) else {
        return Err(CommandError::new(
            code::ENVIRONMENT,
            "no installed cqlsh on PATH",
        )
        .hint("install it with `pip install cqlsh`, or leave --installed out: `helenus cqlsh` has its own shell".to_owned()));
    };
    let node = match node {
        Some(name) => state.node(name)?,
        None => &state.plan.nodes[0],
    };
    let mut command = reach::command(state, &node.name, program)?;
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
fn installed(context: &Context) -> Option<std::path::PathBuf> {
    let clusters = context.clusters.root();
    let clusters = fs::canonicalize(clusters).unwrap_or_else(|_| clusters.to_owned());
    let others = std::env::split_paths(context.env.var("PATH")?)
        .filter(|folder| !fs::canonicalize(folder).is_ok_and(|f| f.starts_with(&clusters)));
    let path = std::env::join_paths(others).ok()?;
    let mut env = context.env.clone();
    env.vars.insert("PATH".into(), path);
    env.find_program("cqlsh")
}

/// What a tool on disk becomes: an installed cqlsh that gets the node from cqlsh's variables, so that a host among
/// the arguments wins as it always does; without one, the statements of -e and -f run here.
pub(crate) fn on_disk(
    target: &str,
    arguments: Vec<std::ffi::OsString>,
    context: &Context,
    ui: &Ui,
) -> Result<u8, CommandError> {
    let (state, node) = context.clusters.target(Some(target))?;
    let node = state.node_or_first(node.as_deref())?;
    if let Some(program) = installed(context) {
        let error = reach::command(&state, &node.name, program)?
            .args(arguments)
            .env("CQLSH_HOST", node.address.to_string())
            .env("CQLSH_PORT", state.plan.ports.cql.to_string())
            .exec();
        return Err(CommandError::of(code::ENVIRONMENT, &error));
    }
    let words = ["helenus", "cqlsh", target].map(std::ffi::OsString::from);
    match crate::cli::parse(words.into_iter().chain(arguments)) {
        Ok(crate::cli::Cli {
            verb: crate::cli::Verb::Cqlsh(flags),
            ..
        }) => run(&flags, context, ui),
        Ok(_) => Err(CommandError::new(code::USAGE, "cqlsh takes -e and -f")),
        Err(crate::cli::NoVerb::Help(help)) => {
            ui.out(&help.ansi().to_string());
            Ok(0)
        }
        Err(crate::cli::NoVerb::Wrong(failure)) => Err(failure),
    }
}
