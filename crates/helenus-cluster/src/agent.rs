//! Load agents: generators at the other end of a channel, which is a command's standard streams or an encrypted connection.
//! Here are both ends: the conductor's, who opens channels and measures the clocks behind them, and the agent's, who starts
//! a generator for each run. Refuses a channel that does not say who it is within seconds.

mod channel;
mod error;
mod listen;
mod patience;
mod serve;
mod tls;

pub use channel::{Channel, Conductor, Lines};
pub use error::AgentError;
pub use listen::{AgentEvent, Listener};
pub use serve::{Agent, Streams};

use std::fmt;
use std::str::FromStr;

/// Where an agent is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentAt {
    /// It listens at this host and port.
    Address(String),
    /// This command, which a shell reads, leads to its standard streams.
    Command(String),
}

impl FromStr for AgentAt {
    type Err = String;

    /// Several words are a command, one word is HOST:PORT.
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.contains(char::is_whitespace) {
            return Ok(Self::Command(text.to_owned()));
        }
        match text.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok_and(|p| p > 0) => {
                Ok(Self::Address(text.to_owned()))
            }
            _ => Err(format!(
                "{text:?} is neither HOST:PORT, such as 10.0.0.5:7077, nor a command such as 'ssh host helenus load-agent --stdio'"
            )),
        }
    }
}

/// A command stands in back quotes.
impl fmt::Display for AgentAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(text) => f.write_str(text),
            Self::Command(text) => write!(f, "`{text}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_is_an_address_and_several_are_a_command() {
        let read = |text: &str| text.parse::<AgentAt>();
        for address in ["host1:7077", "10.0.0.5:1", "[::1]:7077"] {
            assert_eq!(read(address), Ok(AgentAt::Address(address.to_owned())));
        }
        let command = "ssh u@h helenus load-agent --stdio";
        assert_eq!(read(command), Ok(AgentAt::Command(command.to_owned())));
        for wrong in ["host1", ":7077", "host1:", "host1:0", "host1:70777", ""] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
