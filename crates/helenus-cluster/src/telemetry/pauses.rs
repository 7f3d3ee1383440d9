//! Processes of nodes that a signal stops, looked for a hundred times a second: a stop of 50 ms is in any tail.
//! Refuses all but one small file a look, kept open; what costs more is read once a second.

use super::{kernel, monotonic_ns};
use fs_err as fs;
use helenus_model::telemetry::{Event, EventKind, Reading, Seen};
use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Between two looks at so many nodes; with more nodes it is longer, so that looking costs no more.
const EVERY: Duration = Duration::from_millis(10);
const AT_ONCE: u32 = 4;

/// Longer than what is read of a `stat` up to the process's state: its number, its name of 15 bytes at most, the state.
const READ_BYTES: usize = 64;

/// Looks for stopped processes, from a thread of its own.
#[derive(Debug)]
pub(super) struct Pauses {
    /// Which processes to look at, by node.
    nodes: Sender<BTreeMap<String, i32>>,
    found: Receiver<Reading>,
    thread: JoinHandle<()>,
}

impl Pauses {
    /// # Errors
    /// No thread can be had.
    pub(super) fn begin() -> io::Result<Self> {
        let (nodes, known) = channel();
        let (tell, found) = channel();
        let thread = std::thread::Builder::new()
            .name("telemetry-pause".into())
            .spawn(move || run(&known, &tell))?;
        Ok(Self {
            nodes,
            found,
            thread,
        })
    }

    /// Looks at these processes from now on.
    pub(super) fn look_at(&self, nodes: BTreeMap<String, i32>) {
        let _thread_is_gone = self.nodes.send(nodes);
    }

    /// The pauses that have ended.
    pub(super) fn take(&self) -> impl Iterator<Item = Reading> {
        self.found.try_iter()
    }

    /// The end, with those that are under way as far as they got.
    pub(super) fn end(self) -> impl Iterator<Item = Reading> {
        drop(self.nodes);
        let _panicked = self.thread.join();
        self.found.into_iter()
    }
}

/// Until nobody says any more what to look at.
fn run(known: &Receiver<BTreeMap<String, i32>>, tell: &Sender<Reading>) {
    let mut watched: BTreeMap<String, Watched> = BTreeMap::new();
    loop {
        let count = u32::try_from(watched.len()).unwrap_or(u32::MAX);
        let wait = match count {
            // There is nothing to look at: the next word wakes it.
            0 => Duration::from_secs(1),
            _ => EVERY * count.div_ceil(AT_ONCE),
        };
        match known.recv_timeout(wait) {
            Ok(nodes) => {
                watched.retain(|node, one| nodes.get(node) == Some(&one.pid));
                for (node, pid) in nodes {
                    if !watched.contains_key(&node)
                        && let Ok(one) = Watched::of(pid)
                    {
                        watched.insert(node, one);
                    }
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        for (node, one) in &mut watched {
            let stopped = one.is_stopped();
            let ended = one.pause.see(monotonic_ns(), stopped);
            if let Some(span) = ended {
                let _nobody_listens = tell.send(reading(node, span));
            }
        }
    }
    let now_ns = monotonic_ns();
    for (node, one) in &mut watched {
        if let Some(span) = one.pause.see(now_ns, false) {
            let _nobody_listens = tell.send(reading(node, span));
        }
    }
}

fn reading(node: &str, (at_ns, to_ns): (u64, u64)) -> Reading {
    let text = "its process was stopped by a signal".to_owned();
    let what = EventKind::Paused;
    Reading {
        source: node.to_owned(),
        at_ns,
        seen: Seen::Event(Event { what, to_ns, text }),
    }
}

/// A process that is looked at.
#[derive(Debug)]
struct Watched {
    pid: i32,
    stat: fs::File,
    pause: Pause,
}

impl Watched {
    fn of(pid: i32) -> io::Result<Self> {
        Ok(Self {
            pid,
            stat: fs::File::open(format!("/proc/{pid}/task/{pid}/stat"))?,
            pause: Pause::default(),
        })
    }

    fn is_stopped(&self) -> bool {
        let mut bytes = [0; READ_BYTES];
        let count = self.stat.file().read_at(&mut bytes, 0).unwrap_or_default();
        kernel::is_stopped(&bytes[..count])
    }
}

/// A pause, out of one look after the other: it begins and ends halfway between two looks.
#[derive(Debug, Default)]
struct Pause {
    looked_ns: Option<u64>,
    from_ns: Option<u64>,
}

impl Pause {
    /// Takes the next look; from when to when the process was stopped, where it runs again.
    fn see(&mut self, at_ns: u64, stopped: bool) -> Option<(u64, u64)> {
        let before_ns = self.looked_ns.replace(at_ns).unwrap_or(at_ns);
        let between_ns = before_ns.midpoint(at_ns);
        if stopped {
            self.from_ns.get_or_insert(between_ns);
            return None;
        }
        Some((self.from_ns.take()?, between_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Pid, Signal, getpid, kill_process};

    #[test]
    fn a_pause_lies_between_the_looks_that_do_not_show_it() {
        let mut pause = Pause::default();
        let looks = [
            (10, false),
            (20, true),
            (30, true),
            (40, false),
            (50, false),
        ];
        let found: Vec<(u64, u64)> = looks
            .into_iter()
            .filter_map(|(at, stopped)| pause.see(at, stopped))
            .collect();
        assert_eq!(found, [(15, 35)]);
        let mut pause = Pause::default();
        assert_eq!(pause.see(10, true), None);
        assert_eq!(pause.see(30, false), Some((10, 20)));
    }

    #[test]
    fn a_process_that_is_stopped_is_seen_and_one_that_runs_is_not() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .expect("a process");
        let pid = i32::try_from(child.id()).expect("a pid");
        let process = Pid::from_raw(pid).expect("a pid");
        let pauses = Pauses::begin().expect("a thread");
        let own = getpid().as_raw_pid();
        pauses.look_at([("node1".to_owned(), pid), ("node2".to_owned(), own)].into());
        std::thread::sleep(Duration::from_millis(100));
        let from_ns = monotonic_ns();
        kill_process(process, Signal::STOP).expect("stopped");
        std::thread::sleep(Duration::from_millis(200));
        kill_process(process, Signal::CONT).expect("runs again");
        let to_ns = monotonic_ns();
        std::thread::sleep(Duration::from_millis(200));
        let mut found: Vec<Reading> = pauses.take().collect();
        found.extend(pauses.end());
        child.kill().expect("ended");
        let _status = child.wait();
        let [pause] = &found[..] else {
            panic!("{found:?}");
        };
        let Seen::Event(event) = &pause.seen else {
            panic!("{found:?}");
        };
        assert_eq!(
            (pause.source.as_str(), event.what),
            ("node1", EventKind::Paused)
        );
        // It lies over what was asked for, whatever the machine does meanwhile.
        assert!(pause.at_ns < to_ns && event.to_ns > from_ns, "{found:?}");
    }
}
