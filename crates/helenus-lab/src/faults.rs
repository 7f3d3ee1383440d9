//! Faults on a run's time line: each made and ended at its moment, from its own thread, and reported as an event.
//! Refuses to leave one behind: whatever ends the run ends them.

mod before;

pub(crate) use before::Before;

use helenus_cluster::context::Context;
use helenus_cluster::error::{ClusterError, with_causes};
use helenus_cluster::fault::{Ends, FaultTrouble, Patience};
use helenus_cluster::state::ClusterState;
use helenus_cluster::telemetry::monotonic_ns;
use helenus_model::fault::place::{Reach, Shape};
use helenus_model::fault::script::{self, Scripted, Turn, time_line};
use helenus_model::fault::{Fault, What};
use helenus_model::plan::ClusterPlan;
use helenus_model::run_plan::RunPlan;
use helenus_model::sample::SampleLine;
use helenus_model::telemetry::{Event, EventKind, Reading, Seen};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the thread looks whether the person wants the run to end.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How often what could not be healed is tried again.
const TRY_EVERY: Duration = Duration::from_secs(1);

/// Longest wait, at the end of a run, for nodes that ended of a fault and were started again.
const READY_WITHIN: Duration = Duration::from_secs(180);

/// What happened to a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turned {
    /// It holds.
    Made,
    /// It has ended.
    Healed,
    /// It could not be made, and why.
    NotMade(String),
    /// Something else undid it before its end.
    Undone,
    /// It could not be ended, and why; it stays in the cluster's journal.
    NotHealed(String),
    /// It is healed, but nodes that it ended are not ready, and why.
    NotReady(String),
    /// The run is over; nodes that ended of its faults are not ready yet.
    Waiting,
}

/// What the thread says.
#[derive(Debug)]
enum Say {
    Turned(String, Turned),
    Saw(Vec<Reading>),
    Ended,
}

/// What is sent to the thread.
#[derive(Debug)]
enum Wish {
    /// The moment from which on times count, on the monotonic clock, in nanoseconds.
    Zero(u64),
    /// The run is over.
    End,
}

/// Faults of a run under way.
#[derive(Debug)]
pub(crate) struct Faults {
    /// None once it is dropped.
    wishes: Option<Sender<Wish>>,
    said: Receiver<Say>,
    thread: Option<JoinHandle<()>>,
    warmup_ns: u64,
    /// Whether the first interval has reported when the first phase really started.
    exact: bool,
    /// Whether the thread has ended.
    ended: bool,
}

impl Faults {
    /// Starts to follow a plan's faults; none where it has none.
    ///
    /// # Errors
    /// No thread can be had.
    pub(crate) fn begin(
        context: &Context,
        cluster: &ClusterState,
        plan: &RunPlan,
    ) -> io::Result<Option<Self>> {
        if plan.faults.is_empty() {
            return Ok(None);
        }
        let (wishes, wished) = channel();
        let (say, said) = channel();
        let work = Work {
            context: context.clone(),
            cluster: cluster.plan.name.clone(),
            ephemeral: cluster.ephemeral,
            script: plan.faults.clone(),
            say,
            holds: BTreeMap::new(),
            overdue: BTreeSet::new(),
            tried: Instant::now(),
        };
        // Nodes of an ephemeral cluster end with the thread that started them: it lives until this is dropped.
        let thread = std::thread::Builder::new()
            .name("faults".into())
            .spawn(move || work.run(&wished))?;
        Ok(Some(Self {
            wishes: Some(wishes),
            said,
            thread: Some(thread),
            warmup_ns: plan.phases.first().map_or(0, |p| p.warmup_ms * 1_000_000),
            exact: false,
            ended: false,
        }))
    }

    /// Takes the generator's next line: from it the beginning of the first measurement window is known.
    pub(crate) fn see(&mut self, line: &SampleLine) {
        let began_ns = match line {
            SampleLine::Header(header) => header.monotonic_ns,
            SampleLine::Interval(interval) if !self.exact => {
                self.exact = true;
                interval.start_ns
            }
            _ => return,
        };
        self.wish(Wish::Zero(began_ns + self.warmup_ns));
    }

    fn wish(&self, wish: Wish) {
        if let Some(wishes) = &self.wishes {
            let _thread_is_gone = wishes.send(wish);
        }
    }

    /// What happened since this was last asked: passed to `report`, and returned as events.
    pub(crate) fn take(&mut self, report: &mut dyn FnMut(&str, &Turned)) -> Vec<Reading> {
        let mut seen = Vec::new();
        for said in self.said.try_iter() {
            // Who is interrupted ends by itself, before it is asked.
            self.ended |= note(said, report, &mut seen);
        }
        seen
    }

    /// Ends every fault that still holds.
    pub(crate) fn end(&mut self, report: &mut dyn FnMut(&str, &Turned)) -> Vec<Reading> {
        self.wish(Wish::End);
        let mut seen = Vec::new();
        while !self.ended {
            match self.said.recv() {
                Ok(said) => self.ended = note(said, report, &mut seen),
                Err(_) => self.ended = true,
            }
        }
        seen
    }
}

impl Drop for Faults {
    fn drop(&mut self) {
        self.wishes = None;
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

/// Whether that was the last.
fn note(said: Say, report: &mut dyn FnMut(&str, &Turned), seen: &mut Vec<Reading>) -> bool {
    match said {
        Say::Turned(words, turned) => report(&words, &turned),
        Say::Saw(readings) => seen.extend(readings),
        Say::Ended => return true,
    }
    false
}

/// A fault that holds.
struct Held {
    id: u32,
    reach: Reach,
    from_ns: u64,
    /// Whether it was tried to heal it.
    tried: bool,
}

/// What the thread holds.
struct Work {
    context: Context,
    cluster: String,
    ephemeral: bool,
    script: Vec<Scripted>,
    say: Sender<Say>,
    /// By the place in the script.
    holds: BTreeMap<usize, Held>,
    /// Those that should have ended, and could not be healed so far.
    overdue: BTreeSet<usize>,
    /// When that was last tried.
    tried: Instant,
}

impl Work {
    fn run(mut self, wished: &Receiver<Wish>) {
        let mut zero_ns = None;
        let mut due = time_line(&self.script).into_iter();
        let never = loop {
            let Some((at_ms, turn)) = due.next() else {
                break None;
            };
            if !self.wait(&mut zero_ns, at_ms, wished) {
                break Some(turn);
            }
            match turn {
                Turn::Make(place) => self.make(place),
                Turn::Heal(place) => self.heal(place, false),
            }
        };
        // Nothing more is due: the end is waited for.
        if never.is_none() {
            while self.wait(&mut zero_ns, u64::MAX, wished) {}
        }
        // A run that did not begin has other things to report.
        if zero_ns.is_some() && !self.context.cancel.is_set() {
            for turn in never.into_iter().chain(due.map(|(_, turn)| turn)) {
                if let Turn::Make(place) = turn {
                    self.not_made(place, "the run ended before it was due".to_owned());
                }
            }
        }
        let places: Vec<usize> = self.holds.keys().copied().collect();
        for place in places.into_iter().rev() {
            self.heal(place, true);
        }
        self.settle();
        let _nobody_listens = self.say.send(Say::Ended);
        let _dropped = wished.iter().last();
    }

    /// Waits until that moment of the time line; false where the run ends before.
    fn wait(&mut self, zero_ns: &mut Option<u64>, at_ms: u64, wished: &Receiver<Wish>) -> bool {
        loop {
            if self.context.cancel.is_set() {
                return false;
            }
            let due_ns = zero_ns.map(|zero| zero.saturating_add(at_ms.saturating_mul(1_000_000)));
            let left = due_ns.map(|due| Duration::from_nanos(due.saturating_sub(monotonic_ns())));
            if left == Some(Duration::ZERO) {
                return true;
            }
            match wished.recv_timeout(left.unwrap_or(LOOK_EVERY).min(LOOK_EVERY)) {
                Ok(Wish::Zero(ns)) => *zero_ns = Some(ns),
                Ok(Wish::End) | Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) => self.try_again(),
            }
        }
    }

    /// Another command may have held the cluster: what should have ended ends as soon as it can.
    fn try_again(&mut self) {
        if self.tried.elapsed() < TRY_EVERY {
            return;
        }
        self.tried = Instant::now();
        for place in std::mem::take(&mut self.overdue) {
            self.heal(place, false);
        }
    }

    fn make(&mut self, place: usize) {
        let one = &self.script[place];
        let lasts = one.for_ms.map(Duration::from_millis);
        let ends = Ends::ByCommand(lasts);
        match self.context.fault(&self.cluster, &one.fault, ends) {
            Ok(entry) => {
                let held = Held {
                    id: entry.id,
                    reach: entry.reach,
                    from_ns: monotonic_ns(),
                    tried: false,
                };
                self.holds.insert(place, held);
                self.turned(place, Turned::Made);
            }
            Err(error) => self.not_made(place, with_causes(&error)),
        }
    }

    fn not_made(&self, place: usize, why: String) {
        let one = &self.script[place];
        let from_ns = monotonic_ns();
        let lasts_ns = one.for_ms.unwrap_or(1).saturating_mul(1_000_000);
        let at = vec![at_target(&one.fault)];
        let to_ns = from_ns.saturating_add(lasts_ns);
        self.saw(place, EventKind::NotMade, at, (from_ns, to_ns));
        self.turned(place, Turned::NotMade(why));
    }

    /// Ends a fault; where that fails it is tried again until the run's end, which is the `last` time.
    fn heal(&mut self, place: usize, last: bool) {
        let Some(held) = self.holds.remove(&place) else {
            return;
        };
        // A heal that failed half-way has undone a part of it itself.
        let held_so_far = match held.tried {
            true => Ok(true),
            false => self.context.fault_holds(&self.cluster, held.id),
        };
        let ids = [held.id];
        let healed = self
            .context
            .heal(&self.cluster, &ids, Patience::Started, &mut |_| {});
        if healed.is_err() && !last {
            self.holds.insert(
                place,
                Held {
                    tried: true,
                    ..held
                },
            );
            self.overdue.insert(place);
            return;
        }
        let fault = &self.script[place].fault;
        let at = sources(held.reach, fault);
        let span_ns = (held.from_ns, monotonic_ns());
        self.saw(place, event_kind(fault), at, span_ns);
        let turned = match (healed, held_so_far) {
            (Ok(_), Ok(false)) => Turned::Undone,
            (Ok(_), _) => Turned::Healed,
            (Err(error), _) => Turned::NotHealed(with_causes(&error)),
        };
        self.turned(place, turned);
    }

    /// A cluster that stays is left as ready as it was found.
    fn settle(&self) {
        let ends_nodes = |one: &&Scripted| one.fault.what.ends_nodes();
        let Some(one) = self.script.iter().find(ends_nodes) else {
            return;
        };
        if self.ephemeral || self.context.cancel.is_set() {
            return;
        }
        let words = one.to_string();
        let _nobody_listens = self.say.send(Say::Turned(words.clone(), Turned::Waiting));
        let ready = self
            .context
            .await_ready(&self.cluster, READY_WITHIN, &mut |_| {});
        if let Err(error) = ready {
            let turned = Turned::NotReady(with_causes(&error));
            let _nobody_listens = self.say.send(Say::Turned(words, turned));
        }
    }

    fn turned(&self, place: usize, turned: Turned) {
        let words = self.script[place].to_string();
        tracing::info!(words, ?turned, "fault");
        let _nobody_listens = self.say.send(Say::Turned(words, turned));
    }

    fn saw(&self, place: usize, what: EventKind, at: Vec<String>, span_ns: (u64, u64)) {
        let text = self.script[place].to_string();
        let _nobody_listens = self.say.send(Say::Saw(readings(at, what, &text, span_ns)));
    }
}

/// The kind of event that reports a fault which was made.
fn event_kind(fault: &Fault) -> EventKind {
    match fault.what {
        What::Kill => EventKind::Killed,
        _ => EventKind::Fault,
    }
}

/// The places that a fault is reported at: its nodes, or its target where it is between nodes.
fn sources(reach: Reach, fault: &Fault) -> Vec<String> {
    match reach {
        Reach::Nodes(nodes) | Reach::Island(nodes) => nodes,
        Reach::Links(_) => vec![at_target(fault)],
    }
}

fn at_target(fault: &Fault) -> String {
    format!("@{}", fault.target)
}

/// An event at each of these, from one moment to another on the monotonic clock.
fn readings(
    at: Vec<String>,
    what: EventKind,
    text: &str,
    (at_ns, to_ns): (u64, u64),
) -> Vec<Reading> {
    let of = |source| Reading {
        source,
        at_ns,
        seen: Seen::Event(Event {
            what,
            to_ns,
            text: text.to_owned(),
        }),
    };
    at.into_iter().map(of).collect()
}

/// Whether a script can be carried out in an existing cluster or planned.
///
/// # Errors
/// A target that there is not, or faults that get in each other's way.
pub(crate) fn check(faults: &[Scripted], plan: &ClusterPlan) -> Result<(), ClusterError> {
    script::check(faults, &Shape::of(plan)).map_err(FaultTrouble::Words)?;
    Ok(())
}
