//! `helenus load-agent`, and the agents that a run names: flags into channels and tokens.
//! Refuses to print anything but its lines where standard output is the channel.

use crate::cli::agent::{AgentFlags, LoadAgent};
use crate::commands::bench::access;
use crate::error::{CommandError, code};
use crate::outfile;
use crate::ui::{Answers, Ui};
use helenus_cluster::agent::{Agent, AgentEvent, Listener, Streams};
use helenus_cluster::context::Context;
use helenus_cluster::error::with_causes;
use helenus_lab::bench::Where;
use helenus_lab::generator::Agents;
use helenus_model::agent::Tokens;
use helenus_model::format::Format;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What `load-agent --listen --format json` prints when it listens.
#[derive(Serialize)]
struct Listening<'a> {
    format: Format,
    /// Where it listens.
    address: String,
    /// SHA-256 of its certificate, behind `sha256:`.
    fingerprint: String,
    /// The token, in hexadecimal digits; absent where it is in a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    /// The file with address, fingerprint and token; absent where they were printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    token_file: Option<&'a Path>,
}

impl Answers for Listening<'_> {
    fn answer(&self) -> String {
        format!("waits for one command at {}", self.address)
    }
}

/// Works over standard input and output until its conductor is gone.
pub(crate) fn stdio(flags: &LoadAgent) -> Result<u8, CommandError> {
    let helenus = std::env::current_exe()?;
    #[expect(
        clippy::disallowed_methods,
        reason = "standard output is the channel, and each write is checked"
    )]
    let output = std::io::stdout();
    let streams = Streams {
        input: std::io::BufReader::new(std::io::stdin()),
        output: Box::new(output),
    };
    let attended = agent(helenus, flags)?.attend(streams);
    attended
        .map(|()| 0)
        .map_err(|error| CommandError::of(code::ENVIRONMENT, &error).within("load-agent"))
}

/// Waits for one command, and works for it.
pub(crate) fn run(flags: &LoadAgent, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let at = flags.listen.as_deref().unwrap_or_default();
    let listener = Listener::bind(at)?;
    let agent = Arc::new(agent(context.helenus.clone(), flags)?);
    print_listening(&listener, flags.token_file.as_deref(), ui)?;
    let served = listener.serve(&agent, &context.cancel, &mut |event| {
        ui.note(&match event {
            AgentEvent::Refused { from, why } => format!("{from} was sent away: {why}"),
            AgentEvent::Serves { from, certificate } => {
                format!("works for {from}, whose certificate is {certificate}")
            }
            AgentEvent::Served { from } => format!("{from} is done"),
        });
    });
    served?;
    Ok(0)
}

fn agent(helenus: PathBuf, flags: &LoadAgent) -> Result<Agent, CommandError> {
    let keep = flags.keep.as_deref().map(outfile::open).transpose()?;
    let keep = keep.map(|file| file.into_parts().0);
    Ok(Agent::new(helenus, crate::cli::VERSION, keep))
}

/// The line that the other side needs.
fn print_listening(listener: &Listener, file: Option<&Path>, ui: &Ui) -> Result<(), CommandError> {
    let token = listener.token().expose();
    let (address, fingerprint) = (listener.address(), listener.fingerprint());
    let line = format!("{address} {fingerprint} {token}\n");
    if let Some(file) = file {
        outfile::write_private(file, line.as_bytes())?;
    }
    let listening = Listening {
        format: Format::new("load-agent", 1),
        address: address.to_string(),
        fingerprint: fingerprint.to_string(),
        token: file.is_none().then_some(token),
        token_file: file,
    };
    ui.result(&listening, || match file {
        None => line,
        Some(file) => format!("{address} {fingerprint} token in {}\n", file.display()),
    });
    ui.note(
        "it waits for one command, which takes this line by --agent-token-from; Ctrl-C ends it",
    );
    Ok(())
}

/// Generators of a run: its agents, where there are any, else processes here.
pub(crate) fn generators(flags: &AgentFlags, processes: u32) -> u32 {
    match flags.agents.len() {
        0 => processes,
        count => u32::try_from(count).unwrap_or(u32::MAX),
    }
}

/// The agents of a run at this place.
pub(crate) fn of(flags: &AgentFlags, place: &Where) -> Result<Agents, CommandError> {
    if flags.agents.is_empty() {
        return Ok(Agents::default());
    }
    if let Where::Ephemeral(_) = place {
        let text = "agents need an existing cluster: an ephemeral one is for this machine";
        return Err(CommandError::new(code::USAGE, text).hint(
            "name it with --cluster or --hosts, with addresses that the agents can reach"
                .to_owned(),
        ));
    }
    if let Where::Kube { name, .. } = place {
        let text = format!("--agent cannot be used with --on kube:{name}");
        return Err(CommandError::new(code::USAGE, text).hint(
            "on Kubernetes, generators are pods beside the cluster: --processes N".to_owned(),
        ));
    }
    let tokens = flags.agent_token_from.as_deref().map(tokens).transpose()?;
    let agents = Agents::new(
        flags.agents.clone(),
        tokens.unwrap_or_default(),
        crate::cli::VERSION,
    );
    Ok(agents?)
}

fn tokens(from: &str) -> Result<Tokens, CommandError> {
    let text = match from.contains('/') {
        true => access::whole_private_of(from, "the tokens")?,
        false => std::env::var(from).map_err(|_| {
            CommandError::new(code::USAGE, format!("the variable {from} is not set")).hint(format!(
                "export {from}, or name a 0600 file with a / in its path"
            ))
        })?,
    };
    Tokens::read(&text).map_err(|error| {
        let text = format!(
            "{from} has no tokens of load agents: {}",
            with_causes(&error)
        );
        CommandError::new(code::USAGE, text)
            .hint("use the lines that `helenus load-agent --listen` printed".to_owned())
    })
}
