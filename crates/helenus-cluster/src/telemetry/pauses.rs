//! Processes of nodes that a signal stops, and commit logs that wait for the disk, looked for a hundred times a second: a
//! stop of 50 ms is in any tail. Refuses all but two small files a node and look, kept open; what costs more is read once a
//! second.

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

/// Looks at which a commit log waits for the disk in a row, from which on it is an event: shorter ones are the disk's daily
/// work, and in the mode `batch` there are hundreds of them a second.
const SYNCS_FROM: u32 = 2;

/// How often the thread of the commit log is looked for, once a second: a node starts it before it serves.
const TRIES: u32 = 60;

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
        let (sender, found) = channel();
        let thread = std::thread::Builder::new()
            .name("telemetry-pause".into())
            .spawn(move || run(&known, &sender))?;
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
fn run(known: &Receiver<BTreeMap<String, i32>>, sender: &Sender<Reading>) {
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
                watched.values_mut().for_each(Watched::find_commit_log);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        for (node, one) in &mut watched {
            for thread in one.threads() {
                let found = thread.is_so();
                let ended = thread.pause.see(monotonic_ns(), found);
                say(sender, node, thread, ended);
            }
        }
    }
    let now_ns = monotonic_ns();
    for (node, one) in &mut watched {
        for thread in one.threads() {
            let ended = thread.pause.see(now_ns, false);
            say(sender, node, thread, ended);
        }
    }
}

fn say(sender: &Sender<Reading>, node: &str, thread: &Thread, ended: Option<(u64, u64)>) {
    let Some((at_ns, to_ns)) = ended else {
        return;
    };
    let event = Event {
        what: thread.what,
        to_ns,
        text: thread.text.to_owned(),
    };
    let _nobody_listens = sender.send(Reading {
        source: node.to_owned(),
        at_ns,
        seen: Seen::Event(event),
    });
}

/// A process that is looked at.
#[derive(Debug)]
struct Watched {
    pid: i32,
    main: Thread,
    /// None until the node has one.
    commit_log: Option<Thread>,
    /// How often it was looked for in vain.
    missed: u32,
}

impl Watched {
    fn of(pid: i32) -> io::Result<Self> {
        let main = Thread {
            stat: stat_of(pid, pid)?,
            state: b'T',
            what: EventKind::Paused,
            text: "its process was stopped by a signal",
            pause: Pause::lasting(1),
        };
        Ok(Self {
            pid,
            main,
            commit_log: None,
            missed: 0,
        })
    }

    /// Looks for the thread that it had not started yet; what is no Cassandra never has one.
    fn find_commit_log(&mut self) {
        if self.commit_log.is_some() || self.missed == TRIES {
            return;
        }
        let thread = kernel::commit_log_thread(self.pid);
        let stat = thread.and_then(|thread| stat_of(self.pid, thread).ok());
        self.commit_log = stat.map(|stat| Thread {
            stat,
            state: b'D',
            what: EventKind::LogSync,
            text: "its commit log waited for the disk",
            pause: Pause::lasting(SYNCS_FROM),
        });
        self.missed += 1;
    }

    fn threads(&mut self) -> impl Iterator<Item = &mut Thread> {
        std::iter::once(&mut self.main).chain(&mut self.commit_log)
    }
}

/// A thread whose state is looked at.
#[derive(Debug)]
struct Thread {
    stat: fs::File,
    /// The state that is looked for, as the kernel writes it.
    state: u8,
    /// What it means.
    what: EventKind,
    text: &'static str,
    pause: Pause,
}

impl Thread {
    fn is_so(&self) -> bool {
        let mut bytes = [0; READ_BYTES];
        let count = self.stat.file().read_at(&mut bytes, 0).unwrap_or_default();
        kernel::state_of(&bytes[..count]) == Some(self.state)
    }
}

fn stat_of(pid: i32, thread: i32) -> io::Result<fs::File> {
    fs::File::open(format!("/proc/{pid}/task/{thread}/stat"))
}

/// A pause, out of one look after the other: it begins and ends halfway between two looks.
#[derive(Debug)]
struct Pause {
    looked_ns: Option<u64>,
    from_ns: Option<u64>,
    /// Looks in a row that have shown it.
    shown: u32,
    /// As many as it takes.
    least: u32,
}

impl Pause {
    /// One that counts from so many looks in a row on.
    fn lasting(least: u32) -> Self {
        Self {
            looked_ns: None,
            from_ns: None,
            shown: 0,
            least,
        }
    }

    /// Takes the next look; from when to when the thread was in its state, where it is no longer.
    fn see(&mut self, at_ns: u64, is_so: bool) -> Option<(u64, u64)> {
        let before_ns = self.looked_ns.replace(at_ns).unwrap_or(at_ns);
        let between_ns = before_ns.midpoint(at_ns);
        if is_so {
            self.from_ns.get_or_insert(between_ns);
            self.shown += 1;
            return None;
        }
        let shown = std::mem::take(&mut self.shown);
        let from_ns = self.from_ns.take()?;
        (shown >= self.least).then_some((from_ns, between_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Pid, Signal, getpid, kill_process};

    #[test]
    fn a_pause_lies_between_the_looks_that_do_not_show_it() {
        let mut pause = Pause::lasting(1);
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
        let mut pause = Pause::lasting(1);
        assert_eq!(pause.see(10, true), None);
        assert_eq!(pause.see(30, false), Some((10, 20)));
        // One that takes two looks.
        let mut pause = Pause::lasting(2);
        let looks = [(10, true), (20, false), (30, true), (40, true), (50, false)];
        let found: Vec<(u64, u64)> = looks
            .into_iter()
            .filter_map(|(at, is_so)| pause.see(at, is_so))
            .collect();
        assert_eq!(found, [(25, 45)]);
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
