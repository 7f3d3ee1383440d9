//! `helenus __pod`: launcher and probes of a pod; and nodetool in its image, by the name of a link to this binary.
//! Refuses everything that a person would type, but nodetool's own words.

use crate::cli::pod::Pod;
use crate::error::code;
use helenus_cluster::cancel::Cancel;
use helenus_cluster::env::Env;
use helenus_cluster::error::with_causes;
use helenus_cluster::image;
use helenus_cluster::pod;
use helenus_model::kube::pod::LAUNCHER_JAR;
use std::convert::Infallible;
use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

/// Becomes nodetool where this binary was started under that name in our image.
pub(crate) fn asked() -> Option<ExitCode> {
    let mut words = std::env::args_os();
    let name = words.next()?;
    let is_nodetool = Path::new(&name).file_name() == Some(OsStr::new("nodetool"));
    if !is_nodetool || !Path::new(LAUNCHER_JAR).exists() {
        return None;
    }
    let words: Vec<OsString> = words.collect();
    Some(became(pod::nodetool(&words)))
}

pub(crate) fn run(what: &Pod) -> ExitCode {
    let env = Env::of_process();
    match what {
        Pod::Start => became(pod::start(&env, &until_sigterm(), &mut say)),
        Pod::Idle => {
            pod::idle(&until_sigterm());
            ExitCode::SUCCESS
        }
        Pod::Cql => answered(pod::cql::run(&env, std::io::stdin().lock())),
        Pod::Facts { since_ns } => answered(Ok::<_, Infallible>(pod::facts::look(*since_ns))),
        Pod::Ready => looked(pod::ready(&env)),
        Pod::Live => looked(pod::live(&env)),
        Pod::Reach { address } => looked(pod::reach(*address)),
        Pod::Drain => {
            pod::drain();
            ExitCode::SUCCESS
        }
        Pod::Rooted {
            parent,
            root,
            program,
            arguments,
        } => became(image::rooted(*parent, root, program, arguments)),
    }
}

/// Set when the pod is to end: as process 1 this program would not even see the signal.
fn until_sigterm() -> Cancel {
    let cancel = Cancel::default();
    // Registering fails for signals that cannot be caught.
    let _can_be_caught = signal_hook::flag::register(signal_hook::consts::SIGTERM, cancel.flag());
    cancel
}

/// An answer as JSON, or one line that says why there is none.
#[expect(
    clippy::disallowed_methods,
    reason = "a program reads it, and the write is checked"
)]
fn answered(found: Result<impl serde::Serialize, impl Error>) -> ExitCode {
    use std::io::Write as _;
    let text = match found {
        Ok(answer) => serde_json::to_string(&answer).unwrap_or_default(),
        Err(error) => {
            say(&with_causes(&error));
            return ExitCode::from(code::BAR);
        }
    };
    match writeln!(std::io::stdout(), "{text}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(_nobody_listens) => ExitCode::from(code::ENVIRONMENT),
    }
}

/// A probe: one line says why not.
fn looked(found: Result<(), impl Error>) -> ExitCode {
    match found {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&with_causes(&error));
            ExitCode::from(code::BAR)
        }
    }
}

fn became(failure: Result<Infallible, impl Error>) -> ExitCode {
    match failure {
        Ok(never) => match never {},
        Err(error) => {
            say(&format!("ERROR launch: {}", with_causes(&error)));
            ExitCode::from(code::CLUSTER)
        }
    }
}

fn say(line: &str) {
    use std::io::Write as _;
    let _log_gone = writeln!(std::io::stderr(), "{line}");
}
