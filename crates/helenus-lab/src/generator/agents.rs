//! The load agents of a command: opened once, lent to each run that follows, closed with the last request that names them.
//! Refuses a cluster that only this machine reaches where an agent is elsewhere.

use helenus_cluster::agent::{AgentAt, AgentError, Channel, Conductor};
use helenus_cluster::cancel::Cancel;
use helenus_cluster::error::{Class, ClusterError, Problem};
use helenus_cluster::parallel;
use helenus_model::agent::Tokens;
use helenus_model::machine::Machine;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::{Arc, Mutex, PoisonError};

/// Why agents cannot do a run.
#[derive(Debug, thiserror::Error)]
pub enum AgentsError {
    /// The cluster's addresses lead an agent elsewhere.
    #[error(
        "the load agent {agent} is on another machine, and {endpoint} can be reached from this one only"
    )]
    Loopback {
        /// The agent.
        agent: String,
        /// The first node.
        endpoint: SocketAddr,
    },
}

impl Problem for AgentsError {
    fn class(&self) -> Class {
        Class::Usage
    }

    fn hint(&self) -> Option<String> {
        Some(
            "use --hosts with addresses that the agents reach, or agents on this machine"
                .to_owned(),
        )
    }
}

/// The agents of a command; none where its generators are here.
#[derive(Debug, Clone, Default)]
pub struct Agents(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    at: Vec<AgentAt>,
    conductor: Conductor,
    /// By place; none while it is lent, not yet opened, or lost.
    channels: Mutex<Vec<Option<Channel>>>,
}

impl Agents {
    /// These agents, with the tokens of those that listen.
    ///
    /// # Errors
    /// No certificate can be made for this command.
    pub fn new(at: Vec<AgentAt>, tokens: Tokens, version: &str) -> Result<Self, AgentError> {
        if at.is_empty() {
            return Ok(Self::default());
        }
        let channels = at.iter().map(|_| None).collect();
        Ok(Self(Some(Arc::new(Inner {
            at,
            conductor: Conductor::new(Some(version), tokens)?,
            channels: Mutex::new(channels),
        }))))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        let count = self.0.as_ref().map_or(0, |inner| inner.at.len());
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Their addresses or commands.
    pub fn names(&self) -> Vec<String> {
        let all = self.0.iter().flat_map(|inner| &inner.at);
        all.map(ToString::to_string).collect()
    }

    /// Opens those that are not open, all at once; the first one's machine.
    ///
    /// # Errors
    /// One cannot be opened, or could not reach these nodes.
    pub fn open(
        &self,
        endpoints: &[SocketAddr],
        cancel: &Cancel,
    ) -> Result<Option<Machine>, ClusterError> {
        let Some(inner) = &self.0 else {
            return Ok(None);
        };
        inner.reach(endpoints)?;
        let mut channels = inner.channels();
        let each = channels.iter_mut().zip(&inner.at);
        let missing = each.filter(|(channel, _)| channel.is_none());
        let opened = parallel::map(missing, |(channel, at)| -> Result<(), AgentError> {
            *channel = Some(inner.conductor.open(at, cancel)?);
            Ok(())
        });
        opened.into_iter().collect::<Result<(), _>>()?;
        let first = channels.iter().flatten().next();
        let hello = first.and_then(Channel::hello);
        Ok(hello.map(|hello| hello.machine.clone()))
    }

    /// The first so many, as far as they are open.
    pub(super) fn lend(&self, count: usize) -> Vec<Channel> {
        let Some(inner) = &self.0 else {
            return Vec::new();
        };
        let mut channels = inner.channels();
        let first = channels.iter_mut().take(count);
        first.filter_map(Option::take).collect()
    }

    /// Takes one back that is still open.
    pub(super) fn give_back(&self, place: usize, channel: Channel) {
        if let Some(inner) = &self.0
            && let Some(own) = inner.channels().get_mut(place)
        {
            *own = Some(channel);
        }
    }
}

impl Inner {
    fn channels(&self) -> std::sync::MutexGuard<'_, Vec<Option<Channel>>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a command leads is nobody's to know; its generator says so if it reaches nothing.
    fn reach(&self, endpoints: &[SocketAddr]) -> Result<(), AgentsError> {
        let here = |address: &SocketAddr| is_loopback(address.ip());
        let Some(endpoint) = endpoints.iter().find(|address| here(address)) else {
            return Ok(());
        };
        for at in &self.at {
            let AgentAt::Address(address) = at else {
                continue;
            };
            let found = address.to_socket_addrs();
            let elsewhere = found.is_ok_and(|mut found| !found.any(|address| here(&address)));
            if elsewhere && !is_own(address) {
                return Err(AgentsError::Loopback {
                    agent: address.clone(),
                    endpoint: *endpoint,
                });
            }
        }
        Ok(())
    }
}

fn is_loopback(ip: IpAddr) -> bool {
    ip.is_loopback()
}

/// Whether a host is this machine by one of its other addresses: one can be bound to.
fn is_own(address: &str) -> bool {
    let found = address.to_socket_addrs();
    found.is_ok_and(|mut all| {
        all.any(|one| std::net::UdpSocket::bind(SocketAddr::new(one.ip(), 0)).is_ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_for_agents_of_this_machine() {
        let agents = |at: &str| {
            let at = vec![at.parse().expect("an agent")];
            Agents::new(at, Tokens::default(), "1").expect("made")
        };
        let reach = |at: &str, endpoint: &str| {
            let endpoint = endpoint.parse().expect("an address");
            let own = agents(at).0.expect("one");
            own.reach(&[endpoint]).map_err(|error| error.to_string())
        };
        assert_eq!(reach("127.0.0.1:7077", "127.1.2.3:9042"), Ok(()));
        assert_eq!(reach("192.0.2.7:7077", "192.0.2.1:9042"), Ok(()));
        // A command may lead back here.
        assert_eq!(
            reach("ssh h helenus load-agent --stdio", "127.0.0.1:9042"),
            Ok(())
        );
        assert_eq!(
            reach("192.0.2.7:7077", "127.1.2.3:9042"),
            Err("the load agent 192.0.2.7:7077 is on another machine, and 127.1.2.3:9042 can be reached from this one only".to_owned())
        );
    }
}
