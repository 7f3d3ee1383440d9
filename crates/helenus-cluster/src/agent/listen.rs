//! An agent that listens: one certificate and one token, which one conductor can use once.
//! Refuses everybody else, and says so to whoever runs it; what nobody proved costs it seconds and a few kilobytes.

use super::patience::Patience;
use super::serve::{greeting, refuse};
use super::tls::{self, Identity, ReadHalf, WriteHalf};
use super::{Agent, AgentError, Streams};
use crate::cancel::Cancel;
use crate::error::with_causes;
use crate::random::random;
use helenus_model::agent::{Fingerprint, Refusal, Token};
use helenus_model::secret::same;
use rustls::ServerConfig;
use std::io::{self, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Longest wait for a handshake, and for the greeting after it.
const GREETS_WITHIN: Duration = Duration::from_secs(10);

/// Most connections at once that have proved nothing.
const STRANGERS_MOST: usize = 16;

/// Between two looks for a connection.
const LOOK: Duration = Duration::from_millis(20);

/// What happens at an agent that listens.
#[derive(Debug)]
pub enum AgentEvent {
    /// A connection was refused.
    Refused {
        /// From where.
        from: SocketAddr,
        /// Why.
        why: String,
    },
    /// A conductor has come.
    Serves {
        /// From where.
        from: SocketAddr,
        /// Its certificate.
        certificate: Fingerprint,
    },
    /// It is gone, and the token with it.
    Served {
        /// From where.
        from: SocketAddr,
    },
}

/// An agent that waits for its conductor.
pub struct Listener {
    listener: TcpListener,
    address: SocketAddr,
    door: Arc<Door>,
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Listener({}, {})", self.address, self.door.fingerprint)
    }
}

/// What every connection is held to.
struct Door {
    config: Arc<ServerConfig>,
    fingerprint: Fingerprint,
    token: Token,
    /// Whether the token was used.
    used: AtomicBool,
    strangers: AtomicUsize,
}

impl Listener {
    /// Listens, with a certificate and a token that were made for it.
    ///
    /// # Errors
    /// The address cannot be listened at, or nothing random can be had.
    pub fn bind(at: &str) -> Result<Self, AgentError> {
        let listen = |source| AgentError::Listen {
            at: at.to_owned(),
            source,
        };
        let addresses: Vec<SocketAddr> = at.to_socket_addrs().map_err(listen)?.collect();
        let listener = TcpListener::bind(&addresses[..]).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let identity = Identity::make().map_err(AgentError::make)?;
        let door = Door {
            config: identity.server().map_err(AgentError::make)?,
            fingerprint: identity.fingerprint,
            token: Token::new(random().map_err(AgentError::make)?),
            used: AtomicBool::new(false),
            strangers: AtomicUsize::new(0),
        };
        Ok(Self {
            listener,
            address,
            door: Arc::new(door),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The fingerprint of its certificate.
    pub fn fingerprint(&self) -> Fingerprint {
        self.door.fingerprint
    }

    /// The token.
    pub fn token(&self) -> &Token {
        &self.door.token
    }

    /// Waits for the conductor and works for it, until that is gone or the person stops it.
    ///
    /// # Errors
    /// It cannot listen any more.
    pub fn serve(
        self,
        agent: &Arc<Agent>,
        cancel: &Cancel,
        events: &mut dyn FnMut(AgentEvent),
    ) -> Result<(), AgentError> {
        let (sender, reported) = channel();
        loop {
            match self.listener.accept() {
                Ok((tcp, from)) => self.meet(tcp, from, agent, (&sender, cancel)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // A peer that went away at once, or too many open files: what was opened is closed meanwhile.
                Err(error) => tracing::warn!(%error, "no connection"),
            }
            match reported.recv_timeout(LOOK) {
                Ok(event) => {
                    let over = matches!(event, AgentEvent::Served { .. });
                    events(event);
                    if over {
                        // Who was sent away meanwhile.
                        reported.try_iter().for_each(events);
                        return Ok(());
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            if cancel.is_set() {
                return Err(AgentError::Interrupted);
            }
        }
    }

    fn meet(
        &self,
        tcp: TcpStream,
        from: SocketAddr,
        agent: &Arc<Agent>,
        (sender, cancel): (&Sender<AgentEvent>, &Cancel),
    ) {
        let refused = |why: &str| {
            let why = why.to_owned();
            let _nobody_waits = sender.send(AgentEvent::Refused { from, why });
        };
        if self.door.strangers.fetch_add(1, Ordering::SeqCst) >= STRANGERS_MOST {
            self.door.strangers.fetch_sub(1, Ordering::SeqCst);
            return refused("too many concurrent connections");
        }
        let (door, agent) = (Arc::clone(&self.door), Arc::clone(agent));
        let (sender, cancel) = (sender.clone(), cancel.clone());
        std::thread::spawn(move || {
            let met = door.open(tcp, &cancel);
            door.strangers.fetch_sub(1, Ordering::SeqCst);
            match met {
                Ok((streams, certificate)) => {
                    let _nobody_waits = sender.send(AgentEvent::Serves { from, certificate });
                    if let Err(error) = agent.work(streams) {
                        tracing::info!(%error, %from, "the conductor is gone");
                    }
                    let _nobody_waits = sender.send(AgentEvent::Served { from });
                }
                Err(why) => {
                    let _nobody_waits = sender.send(AgentEvent::Refused { from, why });
                }
            }
        });
    }
}

/// A conductor that proved its token, with its certificate.
type Met = (Streams<BufReader<ReadHalf>>, Fingerprint);

impl Door {
    /// Shakes hands, and looks at what the other side proves.
    fn open(&self, tcp: TcpStream, cancel: &Cancel) -> Result<Met, String> {
        let patience = Patience::new(cancel);
        patience.limit(Some(GREETS_WITHIN));
        let config = Arc::clone(&self.config);
        let halves = tls::accept(tcp, config, &patience)
            .map_err(|error| format!("no handshake: {}", with_causes(&error)))?;
        let (read, write, client) = halves;
        let mut input = BufReader::new(read);
        let greeted = greeting(&mut input);
        let greeted = greeted.map_err(|error| format!("no greeting: {}", with_causes(&error)))?;
        patience.limit(None);
        let refusal = match greeted {
            None => Some(Refusal::Greeting),
            Some(greeting) => {
                let proof = tls::proof(&self.token, self.fingerprint, client);
                let proved = greeting.proof.is_some_and(|own| same(&own, &proof));
                match proved {
                    false => Some(Refusal::Token),
                    true => self
                        .used
                        .swap(true, Ordering::SeqCst)
                        .then_some(Refusal::Busy),
                }
            }
        };
        let mut output: Box<WriteHalf> = Box::new(write);
        match refusal {
            None => Ok((Streams { input, output }, client)),
            Some(why) => {
                let _nobody_reads = refuse(&mut *output, why);
                Err(why.to_string())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AgentAt, Conductor};
    use super::*;
    use helenus_model::agent::Tokens;
    use std::io::Write as _;
    use std::path::PathBuf;

    fn tokens(fingerprint: Fingerprint, token: &str) -> Tokens {
        Tokens::read(&format!("{fingerprint} {token}")).expect("a line")
    }

    /// Who was sent away by an agent that listens, while `meet` meets it; its one conductor ends it.
    fn listening(meet: impl FnOnce(&AgentAt, Fingerprint, &str) + Send) -> Vec<String> {
        let listener = Listener::bind("127.0.0.1:0").expect("listens");
        let at = AgentAt::Address(listener.address().to_string());
        let (fingerprint, token) = (listener.fingerprint(), listener.token().expose());
        let agent = Arc::new(Agent::new(PathBuf::from("/bin/false"), "1", None));
        let mut refused = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| meet(&at, fingerprint, &token));
            let ended = listener.serve(&agent, &Cancel::default(), &mut |event| {
                if let AgentEvent::Refused { why, .. } = event {
                    refused.push(why);
                }
            });
            ended.expect("serves");
        });
        refused
    }

    fn opened(at: &AgentAt, tokens: Tokens) -> Result<super::super::Channel, AgentError> {
        Conductor::new(Some("1"), tokens)
            .expect("made")
            .open(at, &Cancel::default())
    }

    #[test]
    fn a_token_lets_one_conductor_in_and_nobody_else() {
        let refused = listening(|at, fingerprint, token| {
            let AgentAt::Address(address) = at else {
                panic!("an address");
            };
            let mut plain = TcpStream::connect(address).expect("connects");
            plain.write_all(b"hello\n\n").expect("writes");
            let mut garbage = TcpStream::connect(address).expect("connects");
            garbage
                .write_all(&[0x16, 3, 1, 0, 2, 1, 0])
                .expect("writes");
            drop((plain, garbage));
            let other = tokens(fingerprint, &"00".repeat(32));
            let wrong = opened(at, other).expect_err("the wrong token");
            assert!(
                matches!(
                    wrong,
                    AgentError::Refused {
                        why: Refusal::Token,
                        ..
                    }
                ),
                "{wrong}"
            );
            let stranger = opened(at, tokens(Fingerprint([0; 32]), token)).expect_err("pinned");
            assert!(
                matches!(stranger, AgentError::Certificate { .. }),
                "{stranger}"
            );
            let mut first = opened(at, tokens(fingerprint, token)).expect("the token");
            let clock = first.clock().expect("answers");
            // The same machine has one clock.
            assert!(clock.ahead_ns.unsigned_abs() <= clock.error_ns, "{clock:?}");
            let second = opened(at, tokens(fingerprint, token)).expect_err("used");
            assert!(
                matches!(
                    second,
                    AgentError::Refused {
                        why: Refusal::Busy,
                        ..
                    }
                ),
                "{second}"
            );
            first.clock().expect("the first goes on");
            // Each is sent away by a thread: the last of them may still be on its way.
            std::thread::sleep(LOOK * 5);
        });
        assert_eq!(refused.len(), 5, "{refused:?}");
    }

    #[test]
    fn an_agent_of_another_version_is_refused_by_its_conductor() {
        listening(|at, fingerprint, token| {
            let conductor = Conductor::new(Some("2"), tokens(fingerprint, token)).expect("made");
            let other = conductor
                .open(at, &Cancel::default())
                .expect_err("version 1");
            assert!(matches!(other, AgentError::Version { .. }), "{other}");
        });
    }

    #[test]
    fn nobody_listens_and_nobody_speaks() {
        let nobody = AgentAt::Address("127.0.0.1:1".to_owned());
        let known = tokens(Fingerprint([0; 32]), &"00".repeat(32));
        let error = opened(&nobody, known.clone()).expect_err("nobody");
        assert!(matches!(error, AgentError::Unreachable { .. }), "{error}");
        let plain = TcpListener::bind("127.0.0.1:0").expect("a port");
        let at = AgentAt::Address(plain.local_addr().expect("bound").to_string());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut tcp, _) = plain.accept().expect("accepts");
                tcp.write_all(b"220 mail ready\r\n").expect("writes");
            });
            let error = opened(&at, known).expect_err("no TLS");
            assert!(matches!(error, AgentError::Tls { .. }), "{error}");
        });
    }
}
