//! The conductor's end of a channel: opened, greeted, its clock measured, and a generator's run over it.
//! Refuses an agent of another version, and to leave a command of it behind.

use super::patience::{Patience, Patient};
use super::tls::{self, Identity, STRANGER};
use super::{AgentAt, AgentError};
use crate::cancel::Cancel;
use crate::telemetry::monotonic_ns;
use helenus_model::agent::{
    AgentLine, CLOCK_WORD, ClockOffset, ClockReading, Ended, Fingerprint, Greeting, Hello,
    RUN_WORD, Tokens, Trip, VERSION,
};
use helenus_model::format::Format;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Longest wait for a connection, for a greeting's answer, and for that of a clock.
const ANSWERS_WITHIN: Duration = Duration::from_secs(15);

/// Longest wait for a command to end once nothing is sent to it any more.
const ENDS_WITHIN: Duration = Duration::from_secs(3);

/// Longest wait for what it complained about, after its end.
const SAID_WITHIN: Duration = Duration::from_secs(1);

/// Questions for a clock, of which the one that was answered fastest counts.
const TRIPS: u32 = 21;

/// Most bytes of an answer that is none of a run, and of a line of a complaint.
const ANSWER_MOST: u64 = 4096;

/// Whoever opens channels: shown to all agents with one certificate, made for this command.
pub struct Conductor {
    /// That agents must have; none takes any of the same format.
    version: Option<String>,
    tokens: Tokens,
    identity: Option<Identity>,
}

impl std::fmt::Debug for Conductor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Conductor({:?}, tokens not shown)", self.version)
    }
}

impl Conductor {
    /// Of this version, with the tokens of agents that listen; without a version any agent that understands it will do.
    ///
    /// # Errors
    /// No certificate can be made.
    pub fn new(version: Option<&str>, tokens: Tokens) -> Result<Self, AgentError> {
        let identity = (!tokens.is_empty()).then(Identity::make).transpose();
        Ok(Self {
            version: version.map(str::to_owned),
            tokens,
            identity: identity.map_err(AgentError::make)?,
        })
    }

    /// Opens a channel to an agent.
    ///
    /// # Errors
    /// It cannot be reached, is another one, does not want, or the person stopped it.
    pub fn open(&self, at: &AgentAt, cancel: &Cancel) -> Result<Channel, AgentError> {
        match at {
            AgentAt::Address(address) => self.dial(address, cancel),
            AgentAt::Command(words) => {
                let mut command = Command::new("/bin/sh");
                command.args(["-c", words]);
                self.over(command, &at.to_string(), cancel)
            }
        }
    }

    /// Opens a channel over the standard streams of a command; no signal of a terminal reaches it.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn over(
        &self,
        mut command: Command,
        name: &str,
        cancel: &Cancel,
    ) -> Result<Channel, AgentError> {
        let unreachable = |source| AgentError::Unreachable {
            agent: name.to_owned(),
            source,
        };
        let mut child = command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(unreachable)?;
        let patience = Patience::new(cancel);
        let (says, complaint) = channel();
        if let Some(output) = child.stderr.take() {
            std::thread::spawn(move || {
                let _nobody_asks = says.send(last_line(BufReader::new(output)));
            });
        }
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let line = Line::Command { child, complaint };
        let (Some(input), Some(output)) = (input, output) else {
            return Err(unreachable(io::ErrorKind::BrokenPipe.into()));
        };
        let output = Patient {
            from: output,
            patience: patience.clone(),
        };
        let channel = Channel::new(name, (Box::new(input), Box::new(output)), line, patience);
        channel.greeted(self.version.as_deref(), None)
    }

    fn dial(&self, address: &str, cancel: &Cancel) -> Result<Channel, AgentError> {
        let Some(identity) = &self.identity else {
            return Err(AgentError::NoToken(address.to_owned()));
        };
        // Who stops is not to be blamed on the agent.
        let stopped = |error: AgentError| match cancel.is_set() {
            true => AgentError::Interrupted,
            false => error,
        };
        let tcp = connect(address).map_err(stopped)?;
        let patience = Patience::new(cancel);
        patience.limit(Some(ANSWERS_WITHIN));
        let config = identity.client(self.tokens.fingerprints());
        let config = config.map_err(AgentError::make)?;
        let halves = tls::connect(tcp, config, &patience);
        let (output, input, server) =
            halves.map_err(|error| stopped(not_shaken(address, error)))?;
        let cut = input.tcp().map_err(|error| broken(address, error))?;
        let line = Line::Tcp(cut);
        let proof = self.proof(address, server, identity)?;
        let streams = (
            Box::new(input) as Box<dyn Write + Send>,
            Box::new(output) as Box<dyn Read + Send>,
        );
        let channel = Channel::new(address, streams, line, patience);
        channel.greeted(self.version.as_deref(), Some(proof))
    }

    fn proof(
        &self,
        address: &str,
        server: Fingerprint,
        identity: &Identity,
    ) -> Result<String, AgentError> {
        let token = self.tokens.of(server);
        let token = token.ok_or_else(|| AgentError::certificate(address, &server.to_string()))?;
        Ok(tls::proof(token, server, identity.fingerprint))
    }
}

/// The first of the host's addresses that takes a connection.
fn connect(address: &str) -> Result<TcpStream, AgentError> {
    let unreachable = |source| AgentError::Unreachable {
        agent: address.to_owned(),
        source,
    };
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for one in address.to_socket_addrs().map_err(unreachable)? {
        match TcpStream::connect_timeout(&one, ANSWERS_WITHIN) {
            Ok(tcp) => return Ok(tcp),
            Err(error) => last = error,
        }
    }
    Err(unreachable(last))
}

fn not_shaken(address: &str, error: io::Error) -> AgentError {
    let said = error.to_string();
    match said.split_once(STRANGER) {
        Some((_, found)) => AgentError::certificate(address, found),
        None if error.kind() == io::ErrorKind::TimedOut => AgentError::Silent {
            agent: address.to_owned(),
            within: ANSWERS_WITHIN,
        },
        None => AgentError::Tls {
            agent: address.to_owned(),
            source: error,
        },
    }
}

fn broken(agent: &str, source: io::Error) -> AgentError {
    AgentError::Broken {
        agent: agent.to_owned(),
        source,
    }
}

/// What carries it.
#[derive(Debug)]
enum Line {
    Command {
        child: Child,
        complaint: Receiver<String>,
    },
    Tcp(TcpStream),
}

/// What an agent sends, with what ends a run taken out of it.
type Output = BufReader<Box<dyn Read + Send>>;

/// A channel to an agent that has said who it is.
pub struct Channel {
    name: String,
    hello: Option<Hello>,
    input: Option<Box<dyn Write + Send>>,
    output: Option<Output>,
    line: Line,
    patience: Patience,
    /// The number of the last question for the clock.
    asked: u32,
}

impl std::fmt::Debug for Channel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Channel({}, {:?})", self.name, self.line)
    }
}

impl Channel {
    fn new(
        name: &str,
        (input, output): (Box<dyn Write + Send>, Box<dyn Read + Send>),
        line: Line,
        patience: Patience,
    ) -> Self {
        Self {
            name: name.to_owned(),
            hello: None,
            input: Some(input),
            output: Some(BufReader::new(output)),
            line,
            patience,
            asked: 0,
        }
    }

    fn greeted(mut self, version: Option<&str>, proof: Option<String>) -> Result<Self, AgentError> {
        let greeting = Greeting {
            format: Format::new("agent", VERSION),
            helenus: version.unwrap_or_default().to_owned(),
            proof,
        };
        let greeting = serde_json::to_string(&greeting).map_err(AgentError::make)?;
        self.patience.limit(Some(ANSWERS_WITHIN));
        let hello = match self.ask(&greeting)? {
            AgentLine::Hello(hello) => hello,
            AgentLine::Refused(refused) => {
                return Err(AgentError::Refused {
                    agent: self.name.clone(),
                    why: refused.why,
                });
            }
            other => return Err(self.stranger(&format!("{other:?}"))),
        };
        let other = version.is_some_and(|own| hello.helenus != own);
        if other || hello.format.check("agent", VERSION).is_err() {
            return Err(AgentError::Version {
                agent: self.name.clone(),
                theirs: hello.helenus,
                ours: version.unwrap_or(env!("CARGO_PKG_VERSION")).to_owned(),
            });
        }
        self.patience.limit(None);
        self.hello = Some(hello);
        Ok(self)
    }

    /// Its name: address, command or pod.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Who it is.
    pub fn hello(&self) -> Option<&Hello> {
        self.hello.as_ref()
    }

    /// Measures the clock behind it.
    ///
    /// # Errors
    /// It does not answer, or as no agent does.
    pub fn clock(&mut self) -> Result<ClockOffset, AgentError> {
        self.patience.limit(Some(ANSWERS_WITHIN));
        let trips = (0..TRIPS)
            .map(|_| self.trip())
            .collect::<Result<Vec<_>, _>>();
        self.patience.limit(None);
        let offset = ClockOffset::of(&trips?);
        offset.ok_or_else(|| self.stranger("nothing"))
    }

    fn trip(&mut self) -> Result<Trip, AgentError> {
        self.asked += 1;
        let number = self.asked;
        let sent_ns = monotonic_ns();
        let answer = self.ask(&format!("{CLOCK_WORD} {number}"))?;
        let received_ns = monotonic_ns();
        match answer {
            AgentLine::Clock(ClockReading {
                number: of,
                monotonic_ns,
            }) if of == number => Ok(Trip {
                sent_ns,
                received_ns,
                theirs_ns: monotonic_ns,
            }),
            other => Err(self.stranger(&format!("{other:?}"))),
        }
    }

    /// Says a line and reads one.
    fn ask(&mut self, line: &str) -> Result<AgentLine, AgentError> {
        if let Err(error) = self.say(line) {
            // What cannot be written to has said why.
            tracing::debug!(%error, agent = self.name, "an agent does not take a line");
        }
        let Some(output) = &mut self.output else {
            return Err(broken(&self.name, io::ErrorKind::NotConnected.into()));
        };
        let mut answer = Vec::new();
        let read = output
            .by_ref()
            .take(ANSWER_MOST)
            .read_until(b'\n', &mut answer);
        match read {
            Ok(0) => Err(AgentError::Ended {
                agent: self.name.clone(),
                said: self.complaint(),
            }),
            Ok(_) => serde_json::from_slice(&answer)
                .map_err(|_| self.stranger(&String::from_utf8_lossy(&answer))),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => Err(AgentError::Silent {
                agent: self.name.clone(),
                within: ANSWERS_WITHIN,
            }),
            Err(_) if self.patience.is_over() => Err(AgentError::Interrupted),
            Err(error) => match self.complaint() {
                said if said.is_empty() => Err(broken(&self.name, error)),
                said => Err(AgentError::Ended {
                    agent: self.name.clone(),
                    said,
                }),
            },
        }
    }

    fn stranger(&self, said: &str) -> AgentError {
        let said = said.trim();
        AgentError::Stranger {
            agent: self.name.clone(),
            said: said.chars().take(80).collect(),
        }
    }

    /// Says a line.
    ///
    /// # Errors
    /// The other end does not accept it.
    pub fn say(&mut self, line: &str) -> io::Result<()> {
        let input = self.input.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        input.write_all(format!("{line}\n").as_bytes())?;
        input.flush()
    }

    /// Begins a run with these lines, secrets and plan; what its generator says comes out of the lines, which are given
    /// back by [`Self::ran`].
    ///
    /// # Errors
    /// Another run is under way.
    pub fn run(&mut self, lines: &str) -> Result<Lines, AgentError> {
        let output = self.output.take();
        let output =
            output.ok_or_else(|| broken(&self.name, io::ErrorKind::ResourceBusy.into()))?;
        if let Err(error) = self.say(&format!("{RUN_WORD}\n{lines}")) {
            // One that is gone says so on its output.
            tracing::debug!(%error, agent = self.name, "an agent does not take a plan");
        }
        Ok(Lines::new(output))
    }

    /// After a run: what of it was left, and how the generator ended where the agent still said so.
    pub fn ran(&mut self, lines: Lines) -> Option<Ended> {
        self.output = Some(lines.from);
        lines.ended
    }

    /// Cuts it: what reads it ends.
    pub fn cut(&mut self) {
        self.input = None;
        match &mut self.line {
            Line::Command { child, .. } => kill(child),
            Line::Tcp(tcp) => {
                let _already_gone = tcp.shutdown(Shutdown::Both);
            }
        }
    }

    /// What its command complained about last, once it has ended.
    pub fn complaint(&mut self) -> String {
        let Line::Command { child, complaint } = &mut self.line else {
            return String::new();
        };
        self.input = None;
        end(child);
        // Something that it started may hold its standard error open.
        complaint.recv_timeout(SAID_WITHIN).unwrap_or_default()
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.input = None;
        match &mut self.line {
            Line::Command { child, .. } => end(child),
            Line::Tcp(tcp) => {
                let _already_gone = tcp.shutdown(Shutdown::Both);
            }
        }
    }
}

/// The last line with words, of all that comes: who is not read any more may end by it.
fn last_line(mut from: impl BufRead) -> String {
    let mut last = String::new();
    let mut line = Vec::new();
    while let Ok(1..) = from.by_ref().take(ANSWER_MOST).read_until(b'\n', &mut line) {
        let text = String::from_utf8_lossy(&line);
        if !text.trim().is_empty() {
            text.trim().clone_into(&mut last);
        }
        line.clear();
    }
    last
}

/// Waits for the end of a command to which nothing is sent any more, and ends it where it does not.
fn end(child: &mut Child) {
    let begin = Instant::now();
    while matches!(child.try_wait(), Ok(None)) {
        if begin.elapsed() > ENDS_WITHIN {
            kill(child);
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Ends a command with all that it started, for it leads its own group.
fn kill(child: &mut Child) {
    if matches!(child.try_wait(), Ok(None)) {
        let group = rustix::process::Pid::from_child(child);
        let _already_gone =
            rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _status = child.wait();
    }
}

/// What a generator says over a channel, up to its end.
pub struct Lines {
    from: Output,
    line: Vec<u8>,
    at: usize,
    over: bool,
    ended: Option<Ended>,
}

impl std::fmt::Debug for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Lines(over: {}, {:?})", self.over, self.ended)
    }
}

impl Lines {
    fn new(from: Output) -> Self {
        Self {
            from,
            line: Vec::new(),
            at: 0,
            over: false,
            ended: None,
        }
    }
}

impl Read for Lines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for Lines {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.line.len() && !self.over {
            self.line.clear();
            self.at = 0;
            self.over = self.from.read_until(b'\n', &mut self.line)? == 0;
            // A generator has no line of an agent's kind.
            if self.line.starts_with(br#"{"kind":"ended""#)
                && let Ok(AgentLine::Ended(ended)) = serde_json::from_slice(&self.line)
            {
                self.over = true;
                self.ended = Some(ended);
                self.line.clear();
            }
        }
        Ok(&self.line[self.at..])
    }

    fn consume(&mut self, amount: usize) {
        self.at = (self.at + amount).min(self.line.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generator_s_lines_end_with_the_agent_s_word_and_the_channel_goes_on() {
        let said = "{\"kind\":\"header\"}\n{\"kind\":\"footer\"}\n{\"kind\":\"ended\",\"code\":0}\n{\"kind\":\"clock\"}\n";
        let output: Output = BufReader::new(Box::new(said.as_bytes()));
        let mut lines = Lines::new(output);
        let mut all = String::new();
        lines.read_to_string(&mut all).expect("reads");
        assert_eq!(all, "{\"kind\":\"header\"}\n{\"kind\":\"footer\"}\n");
        assert_eq!(lines.ended.and_then(|ended| ended.code), Some(0));
        let mut next = String::new();
        lines.from.read_line(&mut next).expect("reads");
        assert_eq!(next, "{\"kind\":\"clock\"}\n");
    }

    fn said(command: &str) -> AgentError {
        let conductor =
            Conductor::new(Some("1"), Tokens::default()).expect("no certificate is needed");
        let at = AgentAt::Command(command.to_owned());
        conductor
            .open(&at, &Cancel::default())
            .expect_err("no agent")
    }

    #[test]
    fn what_is_no_agent_is_named() {
        let stranger = said("echo Welcome; cat");
        assert!(
            matches!(stranger, AgentError::Stranger { .. }),
            "{stranger}"
        );
        let ended = said("echo Permission denied >&2; exit 255");
        assert_eq!(
            ended.to_string(),
            "the load agent `echo Permission denied >&2; exit 255` ended before it answered: Permission denied"
        );
        let old = said(
            r#"read -r line; echo '{"kind":"hello","format":"helenus.agent/1","helenus":"0","machine":{"cores":1,"memory":1,"arch":"a","kernel":"k","processor":"p"}}'; cat"#,
        );
        assert!(
            matches!(old, AgentError::Version { ref theirs, .. } if theirs == "0"),
            "{old}"
        );
        // Where any version would do, the one that does not understand it is named all the same.
        let newer = r#"read -r line; echo '{"kind":"hello","format":"helenus.agent/3","helenus":"9","machine":{"cores":1,"memory":1,"arch":"a","kernel":"k","processor":"p"}}'; cat"#;
        let any = Conductor::new(None, Tokens::default()).expect("no certificate is needed");
        let newer = any.open(&AgentAt::Command(newer.to_owned()), &Cancel::default());
        let newer = newer.expect_err("another format").to_string();
        assert!(
            newer.ends_with(concat!("is helenus 9, this is ", env!("CARGO_PKG_VERSION"))),
            "{newer}"
        );
        let busy = said(r#"read -r line; echo '{"kind":"refused","why":"busy"}'; cat"#);
        assert!(matches!(busy, AgentError::Refused { .. }), "{busy}");
        let address = AgentAt::Address("127.0.0.1:1".to_owned());
        let conductor = Conductor::new(Some("1"), Tokens::default()).expect("made");
        let none = conductor.open(&address, &Cancel::default());
        assert!(matches!(none, Err(AgentError::NoToken(_))));
    }

    #[test]
    fn the_last_complaint_is_the_one_that_counts_however_long_the_others_were() {
        let long = "debug1: a\n".repeat(100_000) + "Permission denied.\n\n";
        assert_eq!(last_line(long.as_bytes()), "Permission denied.");
        assert_eq!(last_line("".as_bytes()), "");
    }

    #[test]
    fn who_stops_does_not_wait_for_an_agent_that_says_nothing() {
        let conductor = Conductor::new(Some("1"), Tokens::default()).expect("made");
        let cancel = Cancel::default();
        cancel.set();
        let at = AgentAt::Command("exec sleep 1000".to_owned());
        let stopped = conductor.open(&at, &cancel);
        assert!(matches!(stopped, Err(AgentError::Interrupted)));
    }

    #[test]
    fn who_stops_does_not_wait_for_a_handshake_and_is_no_error_of_the_agent() {
        // It takes connections, and says nothing.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let at = listener.local_addr().expect("bound").to_string();
        let line = format!("{} {}", Fingerprint([1; 32]), "0".repeat(64));
        let tokens = Tokens::read(&line).expect("a line");
        let conductor = Conductor::new(Some("1"), tokens).expect("made");
        let cancel = Cancel::default();
        cancel.set();
        let stopped = conductor.open(&AgentAt::Address(at), &cancel);
        assert!(
            matches!(stopped, Err(AgentError::Interrupted)),
            "{stopped:?}"
        );
    }
}
