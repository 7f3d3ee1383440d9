//! The agent's end of a channel: it says who it is, answers for its clock, and starts a generator for each run.
//! Refuses to outlive its conductor: with the channel its generator ends, whatever it does.

use crate::machine;
use crate::telemetry::monotonic_ns;
use helenus_model::agent::{
    AgentLine, CLOCK_WORD, ClockReading, Ended, Greeting, Hello, RUN_WORD, Refusal, Refused,
    VERSION,
};
use helenus_model::format::Format;
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Most bytes of a first line: nobody has proved anything yet.
const GREETING_MOST: u64 = 4096;

/// Longest wait for a generator whose conductor is gone.
const ENDS_WITHIN: Duration = Duration::from_secs(2);

/// Between two looks at a generator that ends.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// What an agent works with.
#[derive(Debug)]
pub struct Agent {
    helenus: PathBuf,
    hello: Hello,
    /// Where the lines of its generators are kept as well.
    keep: Option<Mutex<File>>,
}

/// Where an agent reads, and where it answers.
pub struct Streams<R> {
    /// The conductor's lines.
    pub input: R,
    /// The agent's and its generator's.
    pub output: Box<dyn Write + Send>,
}

impl<R> std::fmt::Debug for Streams<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Streams")
    }
}

/// Where both threads of an agent write whole lines.
type Output = Arc<Mutex<Box<dyn Write + Send>>>;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Agent {
    /// Of this binary and version; `keep` gets what its generators say, too.
    pub fn new(helenus: PathBuf, version: &str, keep: Option<File>) -> Self {
        Self {
            helenus,
            hello: Hello {
                format: Format::new("agent", VERSION),
                helenus: version.to_owned(),
                machine: machine::read(),
            },
            keep: keep.map(Mutex::new),
        }
    }

    /// Works for the command that greets it, over standard streams, until they end.
    ///
    /// # Errors
    /// No greeting came, or it cannot be answered.
    pub fn attend<R: BufRead>(&self, mut streams: Streams<R>) -> io::Result<()> {
        match greeting(&mut streams.input)? {
            Some(_) => self.work(streams),
            None => {
                refuse(&mut *streams.output, Refusal::Greeting)?;
                let text = "the first line is not that of a helenus of this version";
                Err(io::Error::new(io::ErrorKind::InvalidData, text))
            }
        }
    }

    /// Works for a conductor that was greeted, until nobody speaks any more.
    pub(super) fn work<R: BufRead>(&self, streams: Streams<R>) -> io::Result<()> {
        let output: Output = Arc::new(Mutex::new(streams.output));
        say(&output, &AgentLine::Hello(self.hello.clone()))?;
        let mut running: Option<Running> = None;
        let mut ended = Ok(());
        std::thread::scope(|scope| {
            for line in streams.input.lines() {
                let Ok(line) = line else {
                    break;
                };
                let number = line.strip_prefix(CLOCK_WORD);
                let number = number.and_then(|rest| rest.trim().parse().ok());
                let done = match (number, line.as_str()) {
                    (Some(number), _) => say(
                        &output,
                        &AgentLine::Clock(ClockReading {
                            number,
                            monotonic_ns: monotonic_ns(),
                        }),
                    ),
                    (None, RUN_WORD) => {
                        // The one before has ended, or its conductor would not go on.
                        drop(running.take());
                        self.begin().map(|begun| {
                            let (output, child) = (Arc::clone(&output), Arc::clone(&begun.child));
                            let from = locked(&child).stdout.take();
                            if let Some(from) = from {
                                scope.spawn(move || self.hand_on(from, &output, &child));
                            }
                            running = Some(begun);
                        })
                    }
                    (None, line) => {
                        if let Some(running) = &mut running {
                            running.take(line);
                        }
                        Ok(())
                    }
                };
                if done.is_err() {
                    ended = done;
                    break;
                }
            }
            drop(running);
        });
        ended
    }

    fn begin(&self) -> io::Result<Running> {
        let mut child = Command::new(&self.helenus)
            .args(["__load", "--attached"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let input = child.stdin.take();
        Ok(Running {
            child: Arc::new(Mutex::new(child)),
            input,
        })
    }

    /// Each line of a generator, then how it ended.
    fn hand_on(&self, from: impl io::Read, output: &Output, child: &Mutex<Child>) {
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        while from.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            if let Some(keep) = &self.keep
                && let Err(error) = locked(keep).write_all(&line)
            {
                tracing::warn!(%error, "the samples are not kept");
            }
            let sent = {
                let mut output = locked(output);
                output.write_all(&line).and_then(|()| output.flush())
            };
            if sent.is_err() {
                // Nobody reads: the generator notices with its next line.
                return;
            }
            line.clear();
        }
        let status = loop {
            match locked(child).try_wait() {
                Ok(None) => {}
                Ok(Some(status)) => break Some(status),
                Err(_) => break None,
            }
            std::thread::sleep(LOOK_EVERY);
        };
        let ended = Ended {
            code: status.and_then(|status: ExitStatus| status.code()),
            signal: status.and_then(|status| status.signal()),
        };
        let _nobody_reads = say(output, &AgentLine::Ended(ended));
    }
}

/// A generator under way; it ends with the value.
struct Running {
    child: Arc<Mutex<Child>>,
    input: Option<ChildStdin>,
}

impl Running {
    fn take(&mut self, line: &str) {
        if let Some(input) = &mut self.input {
            // One that is gone says so by its end.
            let _gone = input.write_all(format!("{line}\n").as_bytes());
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.input = None;
        let begin = Instant::now();
        loop {
            let mut child = locked(&self.child);
            if !matches!(child.try_wait(), Ok(None)) {
                return;
            }
            if begin.elapsed() > ENDS_WITHIN {
                let _already_gone = child.kill();
                let _status = child.wait();
                return;
            }
            drop(child);
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// The conductor's first line; none where it is no greeting of this version.
///
/// # Errors
/// Nothing came.
pub(super) fn greeting(input: &mut impl BufRead) -> io::Result<Option<Greeting>> {
    let mut line = Vec::new();
    let read = input
        .by_ref()
        .take(GREETING_MOST)
        .read_until(b'\n', &mut line)?;
    if read == 0 {
        let text = "nobody spoke";
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
    }
    let greeting: Option<Greeting> = serde_json::from_slice(&line).ok();
    Ok(greeting.filter(|own| own.format.check("agent", VERSION).is_ok()))
}

/// Says that it does not work for this conductor.
pub(super) fn refuse(output: &mut dyn Write, why: Refusal) -> io::Result<()> {
    write_line(output, &AgentLine::Refused(Refused { why }))
}

fn say(output: &Output, line: &AgentLine) -> io::Result<()> {
    write_line(&mut **locked(output), line)
}

fn write_line(output: &mut dyn Write, line: &impl Serialize) -> io::Result<()> {
    let mut json = serde_json::to_vec(line)?;
    json.push(b'\n');
    output.write_all(&json)?;
    output.flush()
}
