//! Profiles of a node: for a given time, or over the measurement windows of a run, from a thread beside it.
//! Refuses to profile a warm-up, and to leave a profiler behind: it is stopped whatever ends the run.

use helenus_cluster::context::Context;
use helenus_cluster::error::{ClusterError, with_causes};
use helenus_cluster::profiler::Profiler;
use helenus_cluster::state::ClusterState;
use helenus_cluster::telemetry::monotonic_ns;
use helenus_model::flame::{Profile, ProfileEvent, ProfilePlan};
use helenus_model::run_plan::{Extent, RunPlan};
use helenus_model::sample::SampleLine;
use helenus_model::telemetry::{Reading, Seen};
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How much longer than planned a profiler may run whose command was killed.
const BEYOND: Duration = Duration::from_secs(60);

/// How long a window that ends by count may last, as far as the profiler is concerned.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// How often a wait looks whether the person wants to stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Profiles a node for so long, from now on; who interrupts it gets what there is.
///
/// # Errors
/// The node is not running, the profiler cannot be had or refuses, or the JVM does not answer.
pub fn profile(
    context: &Context,
    state: &ClusterState,
    plan: &ProfilePlan,
    length: Duration,
    beat: &mut dyn FnMut(Duration),
) -> Result<(u64, Profile), ClusterError> {
    let mut profiler = Profiler::of(context, state, &plan.node, plan.event)?;
    profiler.start(length + BEYOND)?;
    let from_ns = monotonic_ns();
    let passed = || Duration::from_nanos(monotonic_ns().saturating_sub(from_ns));
    while passed() < length && !context.cancel.is_set() {
        std::thread::sleep(LOOK_EVERY.min(length.saturating_sub(passed())));
        beat(passed());
    }
    let to_ns = monotonic_ns();
    Ok((from_ns, ended(&mut profiler, plan.event, to_ns)?))
}

fn ended(
    profiler: &mut Profiler,
    event: ProfileEvent,
    to_ns: u64,
) -> Result<Profile, ClusterError> {
    let sampled = profiler.stop()?;
    Ok(Profile {
        event,
        by: sampled.by,
        to_ns,
        samples: sampled.samples,
        stacks: sampled.stacks,
    })
}

/// What the thread is asked for.
#[derive(Debug)]
enum Wish {
    /// Profile from this moment on the monotonic clock, in nanoseconds, to that one; without an end until the phase's.
    Window(u64, Option<u64>),
    /// The phase is over.
    PhaseEnd,
}

/// A measurement window that is to be profiled: its beginning and, where it is known, its end.
type Planned = (u64, Option<u64>);

/// Profiles of a run under way.
#[derive(Debug)]
pub(crate) struct Profiles {
    /// None once no more are to come.
    wishes: Option<Sender<Wish>>,
    seen: Receiver<Result<Reading, ClusterError>>,
    thread: Option<JoinHandle<()>>,
    /// Warm-up and length of each phase, in nanoseconds; without a length it ends by count.
    windows: Vec<(u64, Option<u64>)>,
    /// The phase whose window is known to the thread.
    known: Option<usize>,
    /// Why a window has no profile.
    failed: Option<String>,
}

impl Profiles {
    /// Makes the node of a plan ready, and follows the plan's measurement windows; none where nothing is profiled.
    ///
    /// # Errors
    /// The node is not running, or the profiler cannot be had or does not start.
    pub(crate) fn begin(
        context: &Context,
        cluster: &ClusterState,
        plan: &RunPlan,
    ) -> Result<Option<Self>, ClusterError> {
        let Some(asked) = &plan.profile else {
            return Ok(None);
        };
        let mut profiler = Profiler::of(context, cluster, &asked.node, asked.event)?;
        // What is not allowed here is known before the load starts, and the library is loaded.
        profiler.start(BEYOND)?;
        profiler.stop()?;
        let windows = plan.phases.iter().map(|phase| {
            let length = match phase.extent {
                Extent::DurationMs(ms) => Some(ms * 1_000_000),
                Extent::Count(_) | Extent::Until(_) => None,
            };
            (phase.warmup_ms * 1_000_000, length)
        });
        let windows = windows.collect();
        let (wishes, wished) = channel();
        let (say, seen) = channel();
        let (node, event) = (asked.node.clone(), asked.event);
        let work = move || {
            while let Some(window) = next(&wished) {
                if say
                    .send(one(&mut profiler, &node, event, window, &wished))
                    .is_err()
                {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("profiles".into())
            .spawn(work)
            .map_err(ClusterError::io("a thread for the profiler"))?;
        Ok(Some(Self {
            wishes: Some(wishes),
            seen,
            thread: Some(thread),
            windows,
            known: None,
            failed: None,
        }))
    }

    /// Takes the generator's next line: from it the windows are known. A phase without a warm-up starts with the line
    /// before.
    pub(crate) fn see(&mut self, line: &SampleLine) {
        match line {
            SampleLine::Header(header) => self.without_warmup(0, header.monotonic_ns),
            SampleLine::Interval(interval) => self.window(interval.phase, interval.start_ns),
            SampleLine::PhaseEnd(end) => {
                self.wish(Wish::PhaseEnd);
                self.without_warmup(end.phase + 1, monotonic_ns());
            }
            SampleLine::Mark(_) | SampleLine::Footer(_) | SampleLine::Failure(_) => {}
        }
    }

    fn without_warmup(&mut self, phase: usize, began_ns: u64) {
        if self.windows.get(phase).is_some_and(|window| window.0 == 0) {
            self.window(phase, began_ns);
        }
    }

    fn window(&mut self, phase: usize, began_ns: u64) {
        if self.known == Some(phase) {
            return;
        }
        let Some((warmup, length)) = self.windows.get(phase).copied() else {
            return;
        };
        self.known = Some(phase);
        let from = began_ns + warmup;
        self.wish(Wish::Window(from, length.map(|length| from + length)));
    }

    fn wish(&self, wish: Wish) {
        if let Some(wishes) = &self.wishes {
            let _thread_is_gone = wishes.send(wish);
        }
    }

    /// The profiles that ended since this was last asked.
    pub(crate) fn take(&mut self) -> Vec<Reading> {
        let seen: Vec<_> = self.seen.try_iter().collect();
        self.kept(seen)
    }

    /// Ends the one that is under way; gives those that were not taken, and why one is missing.
    pub(crate) fn end(mut self) -> (Vec<Reading>, Option<String>) {
        self.wish(Wish::PhaseEnd);
        self.wishes = None;
        let seen: Vec<_> = self.seen.iter().collect();
        let kept = self.kept(seen);
        (kept, self.failed.take())
    }

    fn kept(&mut self, seen: Vec<Result<Reading, ClusterError>>) -> Vec<Reading> {
        let mut kept = Vec::new();
        for one in seen {
            match one {
                Ok(reading) => kept.push(reading),
                Err(error) => {
                    self.failed.get_or_insert_with(|| with_causes(&error));
                }
            }
        }
        kept
    }
}

impl Drop for Profiles {
    fn drop(&mut self) {
        self.wishes = None;
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

/// The next window; none when no more are to come.
fn next(wished: &Receiver<Wish>) -> Option<Planned> {
    loop {
        match wished.recv().ok()? {
            Wish::Window(from, to) => return Some((from, to)),
            Wish::PhaseEnd => {}
        }
    }
}

/// Profiles one window.
fn one(
    profiler: &mut Profiler,
    node: &str,
    event: ProfileEvent,
    (from_ns, to_ns): Planned,
    wished: &Receiver<Wish>,
) -> Result<Reading, ClusterError> {
    let none = || io::Error::other("the phase ended before its measurement window");
    if phase_ends_before(wished, Some(from_ns)) {
        return Err(ClusterError::io("the profile")(none()));
    }
    let planned = to_ns.map(|to| Duration::from_nanos(to.saturating_sub(from_ns)));
    profiler.start(planned.map_or(LONGEST, |length| length + BEYOND))?;
    let at_ns = monotonic_ns();
    phase_ends_before(wished, to_ns);
    let profile = ended(profiler, event, monotonic_ns())?;
    Ok(Reading {
        source: node.to_owned(),
        at_ns,
        seen: Seen::Profile(profile),
    })
}

/// Waits until a moment, or for the end of the phase where there is none; whether the phase ended before.
fn phase_ends_before(wished: &Receiver<Wish>, at_ns: Option<u64>) -> bool {
    loop {
        let left = at_ns.map(|at| Duration::from_nanos(at.saturating_sub(monotonic_ns())));
        let wish = match left {
            Some(left) => wished.recv_timeout(left),
            None => wished.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match wish {
            Ok(Wish::PhaseEnd) | Err(RecvTimeoutError::Disconnected) => return true,
            Err(RecvTimeoutError::Timeout) => return false,
            // A phase that begins has ended the one before.
            Ok(Wish::Window(..)) => {}
        }
    }
}
