//! Why an agent cannot be worked with, whose fault that is, and what to do.
//! Refuses to quote a token.

use crate::error::{Class, Problem};
use helenus_model::agent::{Fingerprint, Refusal};
use std::io;
use std::time::Duration;

/// Why an agent cannot be worked with.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Nothing listens there, or the command cannot be started.
    #[error("cannot reach the load agent {agent}")]
    Unreachable {
        /// Its address or command.
        agent: String,
        /// Why.
        source: io::Error,
    },
    /// It says nothing.
    #[error("the load agent {agent} did not answer within {} s", .within.as_secs())]
    Silent {
        /// Its address or command.
        agent: String,
        /// How long was waited.
        within: Duration,
    },
    /// It ended before it said who it is.
    #[error("the load agent {agent} ended before it answered{}", behind_colon(.said))]
    Ended {
        /// Its address or command.
        agent: String,
        /// Its last complaint; empty where there is none.
        said: String,
    },
    /// Something else answers.
    #[error("{agent} is not a load agent: it answered {said:?}")]
    Stranger {
        /// Its address or command.
        agent: String,
        /// The beginning of what it said.
        said: String,
    },
    /// No encrypted connection.
    #[error("cannot open an encrypted connection to the load agent {agent}")]
    Tls {
        /// Its address.
        agent: String,
        /// Why.
        source: io::Error,
    },
    /// The certificate is none of those whose tokens are known.
    #[error("no token is known for the certificate of load agent {agent}: {found}")]
    Certificate {
        /// Its address.
        agent: String,
        /// Its fingerprint.
        found: String,
    },
    /// There is no token for what listens.
    #[error("no token is known for load agent {0}")]
    NoToken(String),
    /// It does not want.
    #[error("the load agent {agent} refused: {why}")]
    Refused {
        /// Its address or command.
        agent: String,
        /// Why.
        why: Refusal,
    },
    /// It is another version.
    #[error("the load agent {agent} is helenus {theirs}, this is {ours}")]
    Version {
        /// Its address or command.
        agent: String,
        /// Its version.
        theirs: String,
        /// This version.
        ours: String,
    },
    /// It cannot listen.
    #[error("cannot listen at {at}")]
    Listen {
        /// Where.
        at: String,
        /// Why.
        source: io::Error,
    },
    /// No certificate can be made.
    #[error("cannot make a certificate for this command")]
    Make(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The channel broke.
    #[error("the channel to the load agent {agent} broke")]
    Broken {
        /// Its address or command.
        agent: String,
        /// Why.
        source: io::Error,
    },
    /// The person stopped it.
    #[error("interrupted")]
    Interrupted,
}

fn behind_colon(said: &str) -> String {
    match said {
        "" => String::new(),
        said => format!(": {said}"),
    }
}

impl AgentError {
    pub(super) fn make(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Make(Box::new(error))
    }

    /// That an agent's certificate is another one.
    pub(super) fn certificate(agent: &str, found: &str) -> Self {
        let parsed = found.parse::<Fingerprint>();
        Self::Certificate {
            agent: agent.to_owned(),
            found: parsed.map_or_else(|_| found.to_owned(), |one| one.to_string()),
        }
    }
}

impl Problem for AgentError {
    fn class(&self) -> Class {
        match self {
            Self::Certificate { .. }
            | Self::NoToken(_)
            | Self::Refused {
                why: Refusal::Token,
                ..
            } => Class::Usage,
            Self::Interrupted => Class::Interrupted,
            _ => Class::Environment,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Unreachable { .. } => {
                "start `helenus load-agent --listen ADDRESS:PORT` there, or try the command alone"
            }
            Self::Silent { .. } | Self::Ended { .. } => {
                "try the command alone: `helenus load-agent --stdio` waits for a line on its standard input; \
                 with ssh use a key that needs no passphrase"
            }
            Self::Stranger { .. } => {
                "the address must be that of `helenus load-agent --listen`; a command must print nothing before \
                 `helenus load-agent --stdio` does"
            }
            Self::Tls { .. } => "check that `helenus load-agent --listen` printed this address",
            Self::Certificate { .. } => {
                "use the line that this agent printed; if you did, another program answers at that address"
            }
            Self::NoToken(_) => {
                "--agent-token-from names a 0600 file or a variable with the lines that the agents printed"
            }
            Self::Refused { why, .. } => match why {
                Refusal::Token => {
                    "each start of `helenus load-agent` prints a new token: use the last one"
                }
                Refusal::Busy => "wait until it ends, or start another agent",
                Refusal::Greeting => "install the same version of helenus on both machines",
            },
            Self::Version { .. } => "install the same version of helenus on both machines",
            Self::Listen { .. } => "choose an address of this machine and a free port",
            Self::Make(_) | Self::Broken { .. } | Self::Interrupted => return None,
        };
        Some(hint.to_owned())
    }
}
