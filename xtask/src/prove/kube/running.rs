//! Programs beside the campaign: helenus with the moment of each of its lines, and kubectl that watches for something.
//! Refuses to leave one behind: what is dropped is killed.

use serde_json::Value;
use std::error::Error;
use std::io::{BufRead as _, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between two looks at a child.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A line of standard error, and when it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    /// The moment.
    pub(super) at: Instant,
    /// The line.
    pub(super) line: String,
}

/// How a program ended.
#[derive(Debug)]
pub(super) struct Ran {
    /// Its exit code; -1 where a signal ended it.
    pub(super) code: i32,
    /// Its standard output.
    pub(super) out: String,
    /// Its standard error.
    pub(super) lines: Vec<Said>,
    /// When it began.
    pub(super) began: Instant,
    /// How long it ran.
    pub(super) took: Duration,
}

impl Ran {
    /// Its standard error in one line.
    pub(super) fn said(&self) -> String {
        let lines: Vec<&str> = self.lines.iter().map(|said| said.line.trim()).collect();
        lines.join(" | ")
    }

    /// Its standard output as JSON.
    pub(super) fn json(&self) -> Result<Value, Box<dyn Error>> {
        serde_json::from_str(&self.out)
            .map_err(|error| format!("{error}: {} {}", self.out.trim(), self.said()).into())
    }

    /// Itself, where it ended well.
    pub(super) fn well(self, what: &str) -> Result<Self, Box<dyn Error>> {
        match self.code {
            0 => Ok(self),
            code => Err(format!("{what}: exit code {code}: {}", self.said()).into()),
        }
    }

    /// The first line that has all these words.
    pub(super) fn line_with(&self, words: &[&str]) -> Option<&Said> {
        self.lines
            .iter()
            .find(|said| words.iter().all(|word| said.line.contains(word)))
    }
}

/// A program that runs.
pub(super) struct Running {
    child: Child,
    began: Instant,
    out: Option<JoinHandle<String>>,
    err: Option<JoinHandle<Vec<Said>>>,
}

impl Running {
    /// Starts it.
    pub(super) fn start(mut command: Command) -> Result<Self, Box<dyn Error>> {
        let began = Instant::now();
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let out = std::thread::spawn(move || {
            let mut text = Vec::new();
            // What was read before a pipe broke is still of use.
            let _broken = out.map(|mut out| out.read_to_end(&mut text));
            String::from_utf8_lossy(&text).into_owned()
        });
        let err = std::thread::spawn(move || {
            let lines = err
                .map(BufReader::new)
                .into_iter()
                .flat_map(|err| err.lines());
            let said = |line| Said {
                at: Instant::now(),
                line,
            };
            lines.map_while(Result::ok).map(said).collect()
        });
        Ok(Self {
            child,
            began,
            out: Some(out),
            err: Some(err),
        })
    }

    /// Asks it to stop, as Ctrl-C does.
    pub(super) fn interrupt(&self) -> Result<(), Box<dyn Error>> {
        let pid = rustix::process::Pid::from_child(&self.child);
        Ok(rustix::process::kill_process(
            pid,
            rustix::process::Signal::INT,
        )?)
    }

    /// Waits for its end, and ends it after `within`.
    pub(super) fn end(mut self, within: Duration) -> Result<Ran, Box<dyn Error>> {
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            if self.began.elapsed() > within {
                self.child.kill()?;
                break self.child.wait()?;
            }
            std::thread::sleep(LOOK_EVERY);
        };
        let took = self.began.elapsed();
        let out = self.out.take().and_then(|thread| thread.join().ok());
        let err = self.err.take().and_then(|thread| thread.join().ok());
        Ok(Ran {
            code: status.code().unwrap_or(-1),
            out: out.unwrap_or_default(),
            lines: err.unwrap_or_default(),
            began: self.began,
            took,
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _status = self.child.wait();
    }
}

/// kubectl that watches objects until one is as it was waited for.
pub(super) struct Sight {
    child: Child,
    seen: Receiver<(Instant, Value)>,
}

impl Sight {
    /// Watches what `kubectl get WORDS` lists, from now on.
    pub(super) fn of(
        words: &[&str],
        is: impl Fn(&Value) -> bool + Send + 'static,
    ) -> Result<Self, Box<dyn Error>> {
        let mut child = Command::new("kubectl")
            .arg("get")
            .args(words)
            .args(["--watch", "-o", "json"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let out = child.stdout.take().ok_or("kubectl has no output")?;
        let (sender, seen) = channel();
        std::thread::spawn(move || {
            if let Some(found) = first(out, is) {
                // Nobody waits any more.
                let _gone = sender.send((Instant::now(), found));
            }
        });
        Ok(Self { child, seen })
    }

    /// The moment when it was seen, and the object; nothing where it was not seen `within`.
    pub(super) fn wait(&self, within: Duration) -> Option<(Instant, Value)> {
        self.seen.recv_timeout(within).ok()
    }
}

impl Drop for Sight {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _status = self.child.wait();
    }
}

/// The first object of a stream of them that is as it was waited for.
fn first(stream: impl Read, is: impl Fn(&Value) -> bool) -> Option<Value> {
    serde_json::Deserializer::from_reader(BufReader::new(stream))
        .into_iter::<Value>()
        .map_while(Result::ok)
        .find(|object| is(object))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_its_moment_and_the_end_its_code() {
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "echo out; echo one >&2; sleep 0.1; echo two >&2; exit 4",
        ]);
        let ran = Running::start(command)
            .unwrap()
            .end(Duration::from_secs(10))
            .unwrap();
        assert_eq!((ran.code, ran.out.as_str()), (4, "out\n"));
        assert_eq!(ran.said(), "one | two");
        assert!(ran.lines[1].at - ran.lines[0].at >= Duration::from_millis(50));
        assert!(ran.took >= Duration::from_millis(100) && ran.lines[0].at >= ran.began);
        assert_eq!(ran.line_with(&["t", "o"]).unwrap().line, "two");
        assert!(ran.line_with(&["three"]).is_none());
    }

    #[test]
    fn one_that_does_not_end_is_ended() {
        let mut command = Command::new("sleep");
        command.arg("60");
        let ran = Running::start(command)
            .unwrap()
            .end(Duration::from_millis(50))
            .unwrap();
        assert_eq!(ran.code, -1);
    }

    #[test]
    fn objects_are_read_one_after_the_other_until_one_fits() {
        let stream = "{\"a\": 1}\n{\n  \"a\": 2\n}\n{\"a\"";
        assert_eq!(first(stream.as_bytes(), |o| o["a"] == 2).unwrap()["a"], 2);
        assert!(first(stream.as_bytes(), |o| o["a"] == 3).is_none());
    }
}
