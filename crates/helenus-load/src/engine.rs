//! The engine: one thread that starts what is due, stamps it, records it and rotates the intervals.
//! Refuses timers of its own for each operation: one timer wakes it for starts, rotations and sweeps.

mod conductor;

use crate::endpoint::{Call, Endpoint, Fault, Stamp};
use crate::ledger::{Ledger, Pending};
use crate::marks::Marks;
use crate::output::Output;
use crate::recorder::Recorder;
use crate::stop::Stop;
use crate::stopwatch::{Start, Stopwatch, Wake};
use crate::sys;
use crate::timer::Timer;
use conductor::Conductor;
use helenus_model::positions::Sums;
use helenus_model::run_plan::{Choices, Extent, Pacing, Phase, RunPlan};
use helenus_model::sample::{FailureKind, Outcome, PhaseEnd};
use helenus_model::schedule::Process;
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

/// Operations that are counted as offered at one look, beside those that start: as many as can become due between two
/// looks of a generator that keeps up, few enough to delay nothing.
const COUNTED_AT_ONCE: u64 = 64;

/// The same ten times a second, for what is offered while every slot is taken.
const COUNTED_IN_A_SWEEP: u64 = 4096;

/// What the tasks of one phase share. One thread, so cells and no locks.
struct Running<E> {
    endpoint: Rc<E>,
    stopwatch: RefCell<Stopwatch>,
    recorder: RefCell<Recorder>,
    choices: Choices,
    phase: Phase,
    /// Which of several processes this is.
    process: Option<Process>,
    /// Positions that operations took before, where they may take several.
    sums: Option<RefCell<Sums>>,
    /// How far the phase is, where all of its operations are to succeed.
    marks: Option<RefCell<Marks>>,
    /// Where writes are remembered, where that is asked for.
    ledger: Option<Rc<Ledger>>,
    /// Place in the workload of each operation of the mix.
    places: Vec<usize>,
    slots: Vec<Slot>,
    stop: Arc<Stop>,
    timeout_ns: u64,
    /// Set while the conductor sleeps without a start in mind, because every slot was taken.
    conductor_waits_for_slot: Cell<bool>,
}

/// One slot: the task that runs operations in it, and what it was told.
#[derive(Default)]
struct Slot {
    handed: Cell<Option<Start>>,
    /// Positions that operations before this one took.
    taken: Cell<u64>,
    waker: RefCell<Option<Waker>>,
    stamp: Stamp,
    /// Start of the operation's first try, where it was sent again: 0 is *not yet*.
    began_ns: Cell<u64>,
    busy: Cell<bool>,
    cut: Cell<bool>,
}

impl Slot {
    fn wake(&self) {
        if let Some(waker) = self.waker.borrow().as_ref() {
            waker.wake_by_ref();
        }
    }

    fn remember(&self, waker: &Waker) {
        let mut kept = self.waker.borrow_mut();
        if !kept.as_ref().is_some_and(|k| k.will_wake(waker)) {
            *kept = Some(waker.clone());
        }
    }

    /// Waits for an operation.
    async fn next(&self) -> Start {
        poll_fn(|cx| match self.handed.take() {
            Some(start) => Poll::Ready(start),
            None => {
                self.remember(cx.waker());
                Poll::Pending
            }
        })
        .await
    }

    /// Runs an operation until it ends or the sweeper cuts it.
    async fn run(&self, operation: impl Future<Output = Result<(), Fault>>) -> Result<(), Fault> {
        let mut operation = std::pin::pin!(operation);
        poll_fn(|cx| {
            // An answer that is there wins over the sweep that came in the same moment.
            let ended = operation.as_mut().poll(cx);
            if self.cut.take() && ended.is_pending() {
                return Poll::Ready(Err(Fault {
                    kind: FailureKind::ClientTimeout,
                    message: "no answer within the operation time-out".to_owned(),
                }));
            }
            self.remember(cx.waker());
            ended
        })
        .await
    }
}

/// The positions of an operation, without a heap for one.
enum OneOr {
    One([u64; 1]),
    Several,
}

impl OneOr {
    fn as_slice_or<'a>(&'a self, several: &'a [u64]) -> &'a [u64] {
        match self {
            Self::One(one) => one,
            Self::Several => several,
        }
    }
}

/// Whether sending it again may help: what is wrong or missing stays so.
fn is_passing(kind: FailureKind) -> bool {
    !matches!(kind, FailureKind::WrongData | FailureKind::MissingRow)
}

/// Longer and longer, so that a node that is overwhelmed or gone for a moment gets its moment: 0.1 s up to 5 s.
fn pause_after(tries: u32) -> Duration {
    Duration::from_millis((100 << tries.min(6)).min(5000))
}

impl<E: Endpoint> Running<E> {
    /// The life of a slot: take an operation, run it, record it, start what became due.
    async fn work(self: Rc<Self>, slot: usize) {
        let own = &self.slots[slot];
        let mut several = Vec::new();
        loop {
            let start = own.next().await;
            let number = self.number(start.index);
            let operation = self.choices.operation(number);
            let one = self.positions(operation, number, own.taken.get(), &mut several);
            own.busy.set(true);
            self.recorder.borrow_mut().started(start.stretch, operation);
            let call = Call {
                operation: self.places[operation],
                number,
                positions: one.as_slice_or(&several),
                verify: self.phase.verify,
                serial_consistency: self.phase.serial_consistency,
                timestamp_us: None,
            };
            let ended = self.insist(own, call).await;
            own.busy.set(false);
            self.record(slot, operation, number, ended);
            self.start_due(sys::monotonic_ns());
        }
    }

    /// Runs an operation, and again while it fails and the phase says so.
    async fn insist(&self, own: &Slot, call: Call<'_>) -> Result<(), Fault> {
        let mut tries = 0;
        own.began_ns.set(0);
        loop {
            own.stamp.clear();
            let ledger = self.ledger.as_ref();
            let pending = ledger.and_then(|l| l.begin(call.operation, call.positions));
            let timestamp_us = pending.as_ref().map(Pending::timestamp_us);
            let call = Call {
                timestamp_us,
                ..call
            };
            let ended = own.run(self.endpoint.run(call, &own.stamp)).await;
            if own.began_ns.get() == 0 {
                own.began_ns.set(own.stamp.start_ns().unwrap_or(0));
            }
            if let Some(write) = pending {
                write.end(&ended);
            }
            match ended {
                Err(fault) if tries < self.phase.repeat.unwrap_or(0) && is_passing(fault.kind) => {
                    self.failed_once(fault);
                    own.stamp.clear();
                    tokio::time::sleep(pause_after(tries)).await;
                    tries += 1;
                }
                ended => return ended,
            }
        }
    }

    /// A failure that is not the operation's end.
    fn failed_once(&self, fault: Fault) {
        let mut recorder = self.recorder.borrow_mut();
        recorder.explain(fault.kind, fault.message);
        if let Some(marks) = &self.marks {
            marks.borrow_mut().repeated();
        }
    }

    /// The number of an operation in the whole of what the phase is part of.
    fn number(&self, index: u64) -> u64 {
        let own = self.process.map_or(index, |p| p.number(index));
        self.phase.first + own
    }

    /// How many positions operation `number` takes.
    fn partitions(&self, number: u64) -> u32 {
        let operation = self.places[self.choices.operation(number)];
        self.endpoint.partitions(operation, number)
    }

    /// Positions that its operations take together, where that is what is counted.
    fn wanted(&self) -> Option<u64> {
        match self.phase.extent {
            Extent::Count(positions) if self.phase.by_position => Some(positions),
            _ => None,
        }
    }

    /// Operations that there are, where a range of positions ends or positions are counted.
    fn operations(&self) -> Option<u64> {
        let most = self.choices.positions().most();
        let all = match &self.sums {
            None => most?,
            Some(_) => {
                let most = most.into_iter().chain(self.wanted()).min()?;
                Sums::operations_for(most, &|n| self.partitions(n))
            }
        };
        let all = all.saturating_sub(self.phase.first);
        Some(self.process.map_or(all, |p| p.part(all)))
    }

    /// Positions that all operations before this one take.
    fn taken_before(&self, number: u64) -> u64 {
        match &self.sums {
            None => number,
            Some(sums) => sums.borrow_mut().before(number, &|n| self.partitions(n)),
        }
    }

    /// The positions of an operation: one, or as many as are put into `several`.
    fn positions(
        &self,
        operation: usize,
        number: u64,
        taken: u64,
        several: &mut Vec<u64>,
    ) -> OneOr {
        if self.sums.is_none() {
            return OneOr::One([self.choices.nth_position(number, taken, 0).unwrap_or(0)]);
        }
        let count = self.endpoint.partitions(self.places[operation], number);
        let left = self.wanted().map(|all| all.saturating_sub(taken));
        let left = left.map_or(u32::MAX, |left| u32::try_from(left).unwrap_or(u32::MAX));
        several.clear();
        let places = 0..count.min(left).max(1);
        several.extend(places.filter_map(|p| self.choices.nth_position(number, taken, p)));
        OneOr::Several
    }

    fn record(&self, slot: usize, operation: usize, number: u64, ended: Result<(), Fault>) {
        let Slot {
            stamp, began_ns, ..
        } = &self.slots[slot];
        let failed = ended.is_err();
        let outcome = match ended {
            Ok(()) => Outcome::Completed,
            Err(fault) => {
                let mut recorder = self.recorder.borrow_mut();
                recorder.explain(fault.kind, fault.message);
                Outcome::Failed(fault.kind)
            }
        };
        let end_ns = stamp.end_ns().unwrap_or_else(sys::monotonic_ns);
        let mut stopwatch = self.stopwatch.borrow_mut();
        // Tries and the pauses between them are service time: the generator is not late while it tries again.
        stopwatch.begin(slot, began_ns.get());
        if let Some(timing) = stopwatch.complete(slot, end_ns, outcome) {
            let mut recorder = self.recorder.borrow_mut();
            recorder.ended(operation, &timing, outcome, end_ns, stamp.touch());
        }
        if let Some(marks) = &self.marks {
            match failed {
                false => marks.borrow_mut().completed(number),
                // What was to be in is not: the phase has failed.
                true => stopwatch.end_at(end_ns),
            }
        }
    }

    /// Hands out what is due, and tells the conductor when there is nothing left.
    fn start_due(&self, now_ns: u64) {
        let mut stopwatch = self.stopwatch.borrow_mut();
        loop {
            let number = self.number(stopwatch.next_index());
            let taken = self.taken_before(number);
            let Some(start) = stopwatch.start_due(now_ns) else {
                break;
            };
            if stopwatch.is_closed() {
                let operation = self.choices.operation(number);
                self.recorder.borrow_mut().offered(start.stretch, operation);
            }
            let slot = &self.slots[start.slot];
            slot.taken.set(taken);
            slot.handed.set(Some(start));
            slot.wake();
        }
        drop(stopwatch);
        self.count_offered(now_ns, COUNTED_AT_ONCE);
        let mut stopwatch = self.stopwatch.borrow_mut();
        let awaited =
            self.conductor_waits_for_slot.get() && matches!(stopwatch.next_wake(), Wake::At(_));
        if awaited || stopwatch.is_done() {
            self.conductor_waits_for_slot.set(false);
            self.stop.nudge();
        }
    }

    /// Cuts operations that are older than the time-out.
    fn sweep(&self, now_ns: u64) {
        // While nothing ends nothing is started, and what is offered meanwhile is counted here.
        self.count_offered(now_ns, COUNTED_IN_A_SWEEP);
        for slot in self.slots.iter().filter(|slot| slot.busy.get()) {
            let age = now_ns.saturating_sub(slot.stamp.start_ns().unwrap_or(now_ns));
            if age >= self.timeout_ns {
                slot.cut.set(true);
                slot.wake();
            }
        }
    }

    /// Counts what the schedule has offered up to now: all that started, and at most so many others.
    fn count_offered(&self, now_ns: u64, most: u64) {
        let mut stopwatch = self.stopwatch.borrow_mut();
        if stopwatch.is_closed() {
            return;
        }
        let newly = stopwatch.newly_offered(now_ns, most);
        let mut recorder = self.recorder.borrow_mut();
        for index in newly {
            let operation = self.choices.operation(self.number(index));
            recorder.offered(stopwatch.stretch(index), operation);
        }
    }
}

/// Runs one phase to its end, or until `stop` is raised; its intervals go to `output` as they pass. It starts now, or at
/// a moment of the monotonic clock that several processes have in common.
pub(crate) async fn run_phase<E: Endpoint + 'static>(
    plan: &RunPlan,
    (at, begins_ns): (usize, Option<u64>),
    endpoint: &Rc<E>,
    ledger: Option<&Rc<Ledger>>,
    output: &Output,
    stop: &Arc<Stop>,
) -> std::io::Result<PhaseEnd> {
    let phase = &plan.phases[at];
    let standing = sys::stand(plan.raise_priority, plan.pacing == Pacing::Sleep);
    let timer = Timer::new()?;
    if let Some(moment) = begins_ns {
        timer.until(moment).await?;
    }
    let origin_ns = begins_ns.unwrap_or_else(sys::monotonic_ns);
    let stopwatch = || {
        let whole = Stopwatch::new(phase, plan.seed, origin_ns);
        match plan.process {
            None => whole,
            Some(process) => whole.of_process(process),
        }
    };
    let running = Rc::new(Running {
        endpoint: Rc::clone(endpoint),
        stopwatch: RefCell::new(stopwatch()),
        recorder: RefCell::new(Recorder::new(at, names(phase), origin_ns)),
        choices: phase.choices(plan.seed),
        phase: phase.clone(),
        process: plan.process,
        sums: endpoint.takes_several().then(RefCell::default),
        marks: phase.repeat.map(|_| RefCell::new(Marks::from(phase.first))),
        ledger: ledger.cloned(),
        places: places(plan, phase),
        slots: (0..phase.in_flight).map(|_| Slot::default()).collect(),
        stop: Arc::clone(stop),
        timeout_ns: plan.operation_timeout_ms * 1_000_000,
        conductor_waits_for_slot: Cell::new(false),
    });
    if let Some(most) = running.operations() {
        running.stopwatch.replace(stopwatch().at_most(most));
    }
    let mut tasks = tokio::task::JoinSet::new();
    for slot in 0..running.slots.len() {
        tasks.spawn_local(Rc::clone(&running).work(slot));
    }
    let mut conductor = Conductor::new(Rc::clone(&running), plan, at, origin_ns);
    let end = PhaseEnd {
        standing,
        ..conductor.conduct(&timer, output).await?
    };
    tasks.shutdown().await;
    Ok(end)
}

fn names(phase: &Phase) -> Vec<String> {
    let names = phase.operations.iter().map(|share| share.operation.clone());
    names.collect()
}

fn places(plan: &RunPlan, phase: &Phase) -> Vec<usize> {
    let known = plan.workload.operations();
    let place = |name: &str| known.iter().position(|k| k == name).unwrap_or(0);
    let shares = phase.operations.iter();
    shares.map(|share| place(&share.operation)).collect()
}
