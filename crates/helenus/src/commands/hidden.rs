//! Hidden verbs: what this binary becomes for a while. Refuses everything that a person would type.

use clap::CommandFactory as _;
use helenus_cluster::cancel::Cancel;
use helenus_cluster::context::Context;
use helenus_cluster::env::Env;
use helenus_cluster::error::ClusterError;
use helenus_load::Secrets;
use std::convert::Infallible;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// Becomes a node; whoever started us finds the reason of a failure in the node's console log.
pub(crate) fn node(launch: &Path) -> ExitCode {
    launch_failure(helenus_cluster::shim::run(launch))
}

/// Becomes a tool that ends with whoever started it.
pub(crate) fn leashed(parent: i32, program: &Path, arguments: &[OsString]) -> ExitCode {
    launch_failure(helenus_cluster::shim::leashed(parent, program, arguments))
}

/// Holds a cluster's network; whoever started us reads how that began.
pub(crate) fn keep(folder: &Path) -> ExitCode {
    match helenus_cluster::net::keep::run(folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => launch_failure(Err(error)),
    }
}

/// Removes a cluster when its owner has ended.
pub(crate) fn owned(name: &str, id: &str) -> ExitCode {
    let ended = std::env::current_exe()
        .map_err(ClusterError::io("this program"))
        .and_then(|helenus| Context::open(Env::of_process(), helenus, Cancel::default()))
        .and_then(|context| {
            crate::log::open(&context.paths.state, 0);
            helenus_cluster::owner::watch(&context, name, id)
        });
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(cluster = name, %error, "the cluster of a process that has ended stays");
            ExitCode::from(crate::error::code::CLUSTER)
        }
    }
}

/// Becomes a program in a namespace of a cluster's network.
pub(crate) fn within(
    cluster: &Path,
    space: &str,
    program: &OsString,
    arguments: &[OsString],
) -> ExitCode {
    launch_failure(helenus_cluster::shim::within(
        cluster, space, program, arguments,
    ))
}

/// Writes the man pages of all verbs, for packages.
pub(crate) fn man(folder: &Path) -> ExitCode {
    use std::io::Write as _;
    let written = fs_err::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(crate::cli::Cli::command(), folder));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _nobody_listens = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::from(crate::error::code::ENVIRONMENT)
        }
    }
}

/// The command reference: the help of each verb, in Markdown.
pub(crate) fn reference() -> String {
    let mut text = "# Commands\n\n\
        What `--help` prints, for every verb. The [glossary](../GLOSSARY.md) explains the terms.\n"
        .to_owned();
    let mut root = crate::cli::Cli::command();
    root.build();
    section(&root, &["helenus".to_owned()], &mut text);
    text
}

fn section(command: &clap::Command, typed: &[String], text: &mut String) {
    let words = [typed, &["--help".to_owned()]].concat();
    let root = crate::cli::Cli::command().term_width(HELP_WIDTH);
    let help = match root.try_get_matches_from(words) {
        Ok(_) => String::new(),
        Err(help) => help.render().to_string(),
    };
    text.push_str(&format!("\n## `{}`\n\n```text\n", typed.join(" ")));
    for line in help.lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push_str("```\n");
    for child in command.get_subcommands() {
        let hidden = child.is_hide_set() || child.get_name() == "help";
        if !hidden {
            let typed = [typed, &[child.get_name().to_owned()]].concat();
            section(child, &typed, text);
        }
    }
}

/// The width of help where there is no terminal.
const HELP_WIDTH: usize = 100;

fn launch_failure(failure: std::io::Result<Infallible>) -> ExitCode {
    use std::io::Write as _;
    match failure {
        Ok(never) => match never {},
        Err(error) => {
            let _log_gone = writeln!(std::io::stderr(), "ERROR launch: {error}");
            ExitCode::from(crate::error::code::CLUSTER)
        }
    }
}

/// The load generator; the values of the plan's secrets come over an inherited descriptor, if there are any.
#[expect(
    clippy::disallowed_methods,
    reason = "the generator is a separate process, and checks what it writes"
)]
pub(crate) fn load(secrets: Option<i32>) -> ExitCode {
    // It ends with whoever started it, also after a kill -9.
    let _old_kernel =
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    let secrets = match secrets.map(read_secrets) {
        None => Secrets::default(),
        Some(Ok(secrets)) => secrets,
        Some(Err(_)) => return ExitCode::from(crate::error::code::USAGE),
    };
    let end = helenus_load::serve(std::io::stdin().lock(), std::io::stdout(), &secrets);
    ExitCode::from(end.exit_code())
}

/// The null server, until whoever started it is gone.
#[expect(
    clippy::disallowed_methods,
    reason = "its address is for the process that started it, and it checks what it writes"
)]
pub(crate) fn null_server() -> ExitCode {
    use std::io::Write as _;
    let serve = || {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let mut output = std::io::stdout();
        writeln!(output, "{address}")?;
        output.flush()?;
        helenus_load::null::serve(&listener, std::io::stdin())
    };
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(crate::error::code::ENVIRONMENT),
    }
}

fn read_secrets(descriptor: i32) -> std::io::Result<Secrets> {
    let text = fs_err::read_to_string(format!("/proc/self/fd/{descriptor}"))?;
    Secrets::from_json(&text).map_err(std::io::Error::other)
}
