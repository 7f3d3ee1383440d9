//! Flags of `load-agent`, and those with which a run names agents.
//! Refuses a token as a flag: only where it stands.

use clap::{ArgGroup, Args};
use helenus_cluster::agent::AgentAt;
use std::path::PathBuf;

/// `helenus load-agent`.
#[derive(Debug, Clone, Args)]
#[command(group = ArgGroup::new("channel").args(["listen", "stdio"]).required(true), after_help = "Examples:
  helenus load-agent --listen 10.0.0.5:7077 --token-file agent.token
                                         waits for one command, works for it, and ends
  helenus run kv --rate 20k --hosts 10.0.0.1 --agent 10.0.0.5:7077 --agent-token-from ./agent.token
                                         the other side, with a copy of that file
  helenus run kv --rate 20k --hosts 10.0.0.1 --agent 'ssh user@10.0.0.5 helenus load-agent --stdio'
                                         the same over ssh, without a token

Both sides present a certificate created for this command; the agent's is identified by its
fingerprint, and the token never crosses the network. Plan, passwords and samples go through that
connection only.")]
pub(crate) struct LoadAgent {
    /// Wait at this address for one command, over TLS; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<String>,
    /// Work over standard input and output, for ssh, kubectl exec and others
    #[arg(long)]
    pub(crate) stdio: bool,
    /// Write the line with fingerprint and token into this file, which only you can read, instead of printing it
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub(crate) token_file: Option<PathBuf>,
    /// Keep a copy of the samples that this agent sends
    #[arg(long, value_name = "FILE")]
    pub(crate) keep: Option<PathBuf>,
}

/// Agents that generate a run's load.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct AgentFlags {
    /// A load agent that generates the load instead of this machine: HOST:PORT of a `helenus load-agent --listen`, or a
    /// command that leads to a `helenus load-agent --stdio`; may be repeated, and all share rate, slots and operations
    #[arg(
        long = "agent",
        value_name = "HOST:PORT|CMD",
        conflicts_with = "processes"
    )]
    pub(crate) agents: Vec<AgentAt>,
    /// Where the tokens of agents that listen are, a line for each as it was printed: an environment variable, or the
    /// path of a 0600 file
    #[arg(long, value_name = "VARIABLE|FILE", requires = "agents")]
    pub(crate) agent_token_from: Option<String>,
}
