//! Node telemetry: what nodes, host, generator and emulator do beside a run, read once a second on the run's own clock.
//! Refuses to wait for a node, to guess what it cannot read, and to use a run's own connections.

mod ask;
mod emulator;
mod gc_tail;
mod kernel;
mod members;
mod node;
mod pauses;

use crate::reach::cql_address;
use crate::state::ClusterState;
use emulator::Emulator;
use helenus_model::plan::NodePlan;
use helenus_model::telemetry::{EMULATOR, GENERATOR, HOST, Reading, Seen};
use members::Members;
use node::Node;
use pauses::Pauses;
use rustix::process::getpid;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between two looks, unless another moment is wished for.
const EVERY: Duration = Duration::from_secs(1);

/// Longest wait for what the nodes say; it is one for all of them, after everything else was read. What comes later
/// is of another moment, and is left out.
const ANSWERS_WITHIN: Duration = Duration::from_millis(300);

/// Longest wait of [`Sampler::look_now`] for the look.
const LOOK_WITHIN: Duration = Duration::from_millis(500);

/// Looks at nodes, host and generator from a thread of its own.
#[derive(Debug)]
pub struct Sampler {
    wishes: Sender<Wish>,
    readings: Receiver<Reading>,
    thread: JoinHandle<()>,
}

/// What the thread is asked for.
#[derive(Debug)]
enum Wish {
    /// Look now, and answer when the kernel's figures have been read.
    Now(Sender<()>),
    /// Look at this moment of the monotonic clock, in nanoseconds.
    At(u64),
    /// These processes are the generator.
    Generators(Vec<i32>),
    /// A last look, and the end.
    End,
}

/// The monotonic clock in nanoseconds.
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

impl Sampler {
    /// Starts to look, at once and then every second, at the nodes of a cluster on this machine (of none: only at the
    /// host).
    ///
    /// # Errors
    /// No thread can be had.
    pub fn begin(cluster: Option<&ClusterState>) -> io::Result<Self> {
        let nodes = cluster
            .into_iter()
            .flat_map(|state| state.plan.nodes.iter().map(move |node| (state, node)))
            .map(|(state, node)| watch(state, node))
            .collect::<io::Result<Vec<Node>>>()?;
        let (wishes, wished) = channel();
        let (sender, readings) = channel();
        let work = Work {
            nodes,
            members: cluster.map(Members::of),
            emulator: cluster.and_then(Emulator::of),
            pauses: cluster.map(|_| Pauses::begin()).transpose()?,
            generators: Vec::new(),
            sender,
        };
        let thread = std::thread::Builder::new()
            .name("telemetry".into())
            .spawn(move || work.run(&wished))?;
        Ok(Self {
            wishes,
            readings,
            thread,
        })
    }

    /// Looks at these processes as the generator from now on.
    pub fn generators(&self, pids: Vec<i32>) {
        let _thread_is_gone = self.wishes.send(Wish::Generators(pids));
    }

    /// Looks now; returns when counters have been read, and not later than after half a second.
    pub fn look_now(&self) {
        let (done, look) = channel();
        if self.wishes.send(Wish::Now(done)).is_ok() {
            let _too_slow = look.recv_timeout(LOOK_WITHIN);
        }
    }

    /// Looks at a moment of the monotonic clock (in nanoseconds) besides; at once where it is over.
    pub fn look_at(&self, at_ns: u64) {
        let _thread_is_gone = self.wishes.send(Wish::At(at_ns));
    }

    /// What was seen since this was last asked. The readings of one source stand in the order of time, events of it
    /// in that of their ends.
    pub fn take(&self) -> Vec<Reading> {
        self.readings.try_iter().collect()
    }

    /// A last look, and what was seen since [`Self::take`] was last asked.
    pub fn end(self) -> Vec<Reading> {
        let _thread_is_gone = self.wishes.send(Wish::End);
        let _panicked = self.thread.join();
        self.readings.try_iter().collect()
    }
}

/// A node of a cluster, to be looked at.
fn watch(state: &ClusterState, node: &NodePlan) -> io::Result<Node> {
    let way = (state.access.clone(), crate::reach::dialer(state));
    Node::watch(node, cql_address(&state.plan, node), way)
}

/// What the thread holds.
struct Work {
    nodes: Vec<Node>,
    members: Option<Members>,
    emulator: Option<Emulator>,
    pauses: Option<Pauses>,
    generators: Vec<i32>,
    sender: Sender<Reading>,
}

impl Work {
    /// Until somebody asks for the end, or is gone.
    fn run(mut self, wished: &Receiver<Wish>) {
        let mut moments: BTreeSet<u64> = BTreeSet::new();
        let mut tick = Instant::now();
        loop {
            let now_ns = monotonic_ns();
            let to_tick = tick.saturating_duration_since(Instant::now());
            let to_moment = moments
                .first()
                .map(|at| Duration::from_nanos(at.saturating_sub(now_ns)));
            let wait = to_moment.map_or(to_tick, |wait| wait.min(to_tick));
            match wished.recv_timeout(wait) {
                Ok(Wish::Now(done)) => self.look(Some(&done)),
                Ok(Wish::At(at_ns)) => {
                    moments.insert(at_ns);
                }
                Ok(Wish::Generators(pids)) => self.generators = pids,
                Ok(Wish::End) => {
                    self.look(None);
                    self.finish();
                    return;
                }
                Err(RecvTimeoutError::Timeout) => {
                    let now_ns = monotonic_ns();
                    moments.retain(|at| *at > now_ns);
                    while tick <= Instant::now() {
                        tick += EVERY;
                    }
                    self.look(None);
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Everything once: the kernel's readings first, so that no node can hold them up.
    fn look(&mut self, done: Option<&Sender<()>>) {
        self.follow_members();
        self.nodes.iter_mut().for_each(Node::ask);
        let found = self.nodes.iter_mut();
        let found = found.filter_map(|node| Some((node.name().to_owned(), node.find()?)));
        let found: BTreeMap<String, i32> = found.collect();
        let ours: Vec<i32> = found
            .values()
            .copied()
            .chain(self.generators.iter().copied())
            .chain(self.emulator.as_ref().and_then(Emulator::find))
            .chain([getpid().as_raw_pid()])
            .collect();
        let at_ns = monotonic_ns();
        let host = kernel::host(&ours).map(Seen::Host);
        self.say(HOST, at_ns, host);
        let at_ns = monotonic_ns();
        let generator = kernel::generators(&self.generators);
        self.say(GENERATOR, at_ns, generator.map(Seen::Generator));
        let emulator = self.emulator.as_mut().and_then(Emulator::look);
        self.say(EMULATOR, monotonic_ns(), emulator.map(Seen::Emulator));
        for node in &mut self.nodes {
            node.look(monotonic_ns());
        }
        if let Some(pauses) = &self.pauses {
            pauses.look_at(found.clone());
            pauses.take().for_each(|reading| {
                let _nobody_listens = self.sender.send(reading);
            });
        }
        if let Some(done) = done {
            let _nobody_waits = done.send(());
        }
        let until = Instant::now() + ANSWERS_WITHIN;
        for node in &mut self.nodes {
            for reading in node.readings(until) {
                let _nobody_listens = self.sender.send(reading);
            }
        }
    }

    /// Looks at nodes that came, and no more at those that went: they end because that was asked for.
    fn follow_members(&mut self) {
        let at_ns = monotonic_ns();
        let found = self.members.as_mut().map(|members| members.look(at_ns));
        let Some(found) = found else { return };
        for reading in found.events {
            let _nobody_listens = self.sender.send(reading);
        }
        let Some(state) = found.state else { return };
        let planned = |name: &str| state.plan.nodes.iter().any(|node| node.name == name);
        let (stay, gone): (Vec<Node>, Vec<Node>) = std::mem::take(&mut self.nodes)
            .into_iter()
            .partition(|node| planned(node.name()));
        self.nodes = stay;
        for reading in gone.into_iter().flat_map(|mut node| node.finish(at_ns)) {
            let _nobody_listens = self.sender.send(reading);
        }
        for node in &state.plan.nodes {
            if self.nodes.iter().all(|known| known.name() != node.name) {
                // Without a thread nothing is seen of it, and the run goes on.
                self.nodes.extend(watch(&state, node));
            }
        }
    }

    /// Ends what is still under way.
    fn finish(&mut self) {
        let at_ns = monotonic_ns();
        for reading in self
            .members
            .iter_mut()
            .flat_map(|members| members.finish(at_ns))
        {
            let _nobody_listens = self.sender.send(reading);
        }
        for reading in self.nodes.iter_mut().flat_map(|node| node.finish(at_ns)) {
            let _nobody_listens = self.sender.send(reading);
        }
        for reading in self.pauses.take().into_iter().flat_map(Pauses::end) {
            let _nobody_listens = self.sender.send(reading);
        }
    }

    fn say(&self, source: &str, at_ns: u64, seen: Option<Seen>) {
        if let Some(seen) = seen {
            let source = source.to_owned();
            let _nobody_listens = self.sender.send(Reading {
                source,
                at_ns,
                seen,
            });
        }
    }
}

#[cfg(test)]
mod tests;
