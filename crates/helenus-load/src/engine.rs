//! The engine: one thread that starts what is due, stamps it, records it and rotates the intervals.
//! Refuses timers of its own for each operation: one timer wakes it for starts, rotations and sweeps.

use crate::endpoint::{Endpoint, Fault, Stamp};
use crate::output::Output;
use crate::recorder::Recorder;
use crate::stop::Stop;
use crate::stopwatch::{Start, Stopwatch, Wake};
use crate::sys;
use crate::timer::Timer;
use helenus_model::run_plan::{Choices, Pacing, Phase, RunPlan};
use helenus_model::sample::{FailureKind, Outcome, PhaseEnd, Standing, Stretch};
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// How often operations are looked over for time-outs: coarse, for nothing is measured by it.
const SWEEP_NS: u64 = 100_000_000;

/// What the tasks of one phase share. One thread, so cells and no locks.
struct Running<E> {
    endpoint: Rc<E>,
    stopwatch: RefCell<Stopwatch>,
    recorder: RefCell<Recorder>,
    choices: Choices,
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
    waker: RefCell<Option<Waker>>,
    stamp: Stamp,
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
            if self.cut.take() {
                return Poll::Ready(Err(Fault {
                    kind: FailureKind::ClientTimeout,
                    message: "no answer within the operation time-out".to_owned(),
                }));
            }
            self.remember(cx.waker());
            operation.as_mut().poll(cx)
        })
        .await
    }
}

impl<E: Endpoint> Running<E> {
    /// The life of a slot: take an operation, run it, record it, start what became due.
    async fn work(self: Rc<Self>, slot: usize) {
        let own = &self.slots[slot];
        loop {
            let start = own.next().await;
            let operation = self.choices.operation(start.index);
            let position = self.choices.position(start.index);
            own.stamp.clear();
            own.busy.set(true);
            self.recorder.borrow_mut().started(start.stretch, operation);
            let ended = own
                .run(
                    self.endpoint
                        .run(self.places[operation], position, &own.stamp),
                )
                .await;
            own.busy.set(false);
            self.record(slot, operation, ended);
            self.start_due(sys::monotonic_ns());
        }
    }

    fn record(&self, slot: usize, operation: usize, ended: Result<(), Fault>) {
        let stamp = &self.slots[slot].stamp;
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
        stopwatch.begin(slot, stamp.start_ns().unwrap_or(0));
        if let Some(timing) = stopwatch.complete(slot, end_ns, outcome) {
            let mut recorder = self.recorder.borrow_mut();
            recorder.ended(operation, &timing, outcome, end_ns);
        }
    }

    /// Hands out what is due, and tells the conductor when there is nothing left.
    fn start_due(&self, now_ns: u64) {
        let mut stopwatch = self.stopwatch.borrow_mut();
        while let Some(start) = stopwatch.start_due(now_ns) {
            if stopwatch.is_closed() {
                let operation = self.choices.operation(start.index);
                self.recorder.borrow_mut().offered(start.stretch, operation);
            }
            let slot = &self.slots[start.slot];
            slot.handed.set(Some(start));
            slot.wake();
        }
        let awaited =
            self.conductor_waits_for_slot.get() && matches!(stopwatch.next_wake(), Wake::At(_));
        if awaited || stopwatch.is_done() {
            self.conductor_waits_for_slot.set(false);
            self.stop.nudge();
        }
    }

    /// Cuts operations that are older than the time-out.
    fn sweep(&self, now_ns: u64) {
        for slot in self.slots.iter().filter(|slot| slot.busy.get()) {
            let age = now_ns.saturating_sub(slot.stamp.start_ns().unwrap_or(now_ns));
            if age >= self.timeout_ns {
                slot.cut.set(true);
                slot.wake();
            }
        }
    }

    /// Counts what the schedule has offered up to now.
    fn count_offered(&self, now_ns: u64) {
        let mut stopwatch = self.stopwatch.borrow_mut();
        let newly = stopwatch.newly_offered(now_ns);
        if stopwatch.is_closed() {
            return;
        }
        let mut recorder = self.recorder.borrow_mut();
        for index in newly {
            recorder.offered(stopwatch.stretch(index), self.choices.operation(index));
        }
    }
}

/// Runs one phase to its end, or until `stop` is raised; its intervals go to `output` as they pass.
pub(crate) async fn run_phase<E: Endpoint + 'static>(
    plan: &RunPlan,
    at: usize,
    endpoint: &Rc<E>,
    output: &Output,
    stop: &Arc<Stop>,
) -> std::io::Result<PhaseEnd> {
    let phase = &plan.phases[at];
    let paced = phase.rate_per_s.is_some() && plan.pacing == Pacing::Sleep;
    let standing = sys::stand(plan.raise_priority, paced);
    let timer = Timer::new()?;
    let origin_ns = sys::monotonic_ns();
    let running = Rc::new(Running {
        endpoint: Rc::clone(endpoint),
        stopwatch: RefCell::new(Stopwatch::new(phase, plan.seed, origin_ns)),
        recorder: RefCell::new(Recorder::new(at, names(phase), origin_ns)),
        choices: phase.choices(plan.seed),
        places: places(plan, phase),
        slots: (0..phase.in_flight).map(|_| Slot::default()).collect(),
        stop: Arc::clone(stop),
        timeout_ns: plan.operation_timeout_ms * 1_000_000,
        conductor_waits_for_slot: Cell::new(false),
    });
    let mut tasks = tokio::task::JoinSet::new();
    for slot in 0..running.slots.len() {
        tasks.spawn_local(Rc::clone(&running).work(slot));
    }
    let mut conductor = Conductor::new(Rc::clone(&running), plan, phase, origin_ns);
    let end = PhaseEnd {
        standing,
        ..conductor.conduct(at, &timer, output).await?
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

/// The task that waits: for the next start, rotation, sweep, and the schedule's end.
struct Conductor<E> {
    running: Rc<Running<E>>,
    pacing: Pacing,
    interval_ns: u64,
    rate_per_s: Option<f64>,
    measured_from_ns: u64,
    rotate_at_ns: u64,
    sweep_at_ns: u64,
    cpu: CpuClock,
    wall_offset_ns: i128,
    clock_step_ns: u64,
    /// Set when the measured stretch is over.
    closed: Option<Closing>,
}

/// What held when the measured stretch ended.
#[derive(Debug, Clone, Copy)]
struct Closing {
    at_ns: u64,
    backlog: u64,
    abandoned: u64,
    thread_cpu_ns: u64,
}

/// CPU of the thread, less what was spent spinning.
#[derive(Debug, Default)]
struct CpuClock {
    spun_ns: u64,
    at_rotation_ns: u64,
    at_measured_ns: u64,
}

impl CpuClock {
    fn now_ns(&self) -> u64 {
        sys::thread_cpu_ns().saturating_sub(self.spun_ns)
    }
}

impl<E: Endpoint> Conductor<E> {
    fn new(running: Rc<Running<E>>, plan: &RunPlan, phase: &Phase, origin_ns: u64) -> Self {
        let interval_ns = plan.sampling_interval_ms.max(1) * 1_000_000;
        let measured_from_ns = running.stopwatch.borrow_mut().measured_from_ns();
        let mut cpu = CpuClock::default();
        cpu.at_rotation_ns = cpu.now_ns();
        cpu.at_measured_ns = cpu.at_rotation_ns;
        let mut own = Self {
            running,
            pacing: plan.pacing,
            interval_ns,
            rate_per_s: phase.rate_per_s,
            measured_from_ns,
            rotate_at_ns: 0,
            sweep_at_ns: origin_ns + SWEEP_NS,
            cpu,
            wall_offset_ns: sys::wall_offset_ns(),
            clock_step_ns: 0,
            closed: None,
        };
        own.rotate_at_ns = own.next_rotation(origin_ns);
        own
    }

    /// Rotations fall on whole intervals from the measured stretch's start, the first of which ends the warm-up.
    fn next_rotation(&self, now_ns: u64) -> u64 {
        if now_ns < self.measured_from_ns {
            (now_ns + self.interval_ns).min(self.measured_from_ns)
        } else {
            let passed = (now_ns - self.measured_from_ns) / self.interval_ns;
            self.measured_from_ns + (passed + 1) * self.interval_ns
        }
    }

    async fn conduct(
        &mut self,
        at: usize,
        timer: &Timer,
        output: &Output,
    ) -> std::io::Result<PhaseEnd> {
        let stop = Arc::clone(&self.running.stop);
        loop {
            let now_ns = sys::monotonic_ns();
            self.close_if_over(now_ns);
            self.running.start_due(now_ns);
            if now_ns >= self.rotate_at_ns {
                self.rotate(now_ns, output);
            }
            if now_ns >= self.sweep_at_ns {
                self.running.sweep(now_ns);
                self.sweep_at_ns = now_ns + SWEEP_NS;
            }
            let done = self.is_done();
            if done || stop.reason().is_some() {
                break;
            }
            self.wait(timer, &stop).await?;
        }
        Ok(self.end(at, output))
    }

    /// True when all is ended and the measured stretch is over too: a schedule lasts to its end.
    fn is_done(&self) -> bool {
        let stopwatch = self.running.stopwatch.borrow();
        stopwatch.is_done() && (self.closed.is_some() || stopwatch.measured_to_ns().is_none())
    }

    async fn wait(&mut self, timer: &Timer, stop: &Stop) -> std::io::Result<()> {
        if self.pacing == Pacing::Spin {
            self.spin().await;
            return Ok(());
        }
        let until = self.next_look();
        if until <= sys::monotonic_ns() {
            // Late already: let the slots run what they were handed before more is handed out.
            tokio::task::yield_now().await;
            return Ok(());
        }
        tokio::select! {
            biased;
            fired = timer.until(until) => fired,
            () = stop.changed() => Ok(()),
        }
    }

    /// The next moment at which anything is to be done.
    fn next_look(&self) -> u64 {
        let mut stopwatch = self.running.stopwatch.borrow_mut();
        let wake = stopwatch.next_wake();
        let waits = &self.running.conductor_waits_for_slot;
        waits.set(wake == Wake::Completion);
        let start = match wake {
            Wake::At(start_ns) => Some(start_ns),
            Wake::Completion | Wake::Over => None,
        };
        let end = stopwatch.measured_to_ns().filter(|_| self.closed.is_none());
        [start, end]
            .into_iter()
            .flatten()
            .fold(self.rotate_at_ns.min(self.sweep_at_ns), u64::min)
    }

    /// Lets the others run once; when they had nothing to do, the time counts as spun.
    async fn spin(&mut self) {
        let counts = |this: &Self| this.running.stopwatch.borrow().counts();
        let (before, cpu_ns) = (counts(self), sys::thread_cpu_ns());
        tokio::task::yield_now().await;
        if counts(self) == before {
            self.cpu.spun_ns += sys::thread_cpu_ns().saturating_sub(cpu_ns);
        }
    }

    /// At the schedule's end: a backlog of up to a second of the rate is worked off, so that no delayed
    /// operation goes unmeasured; a larger one disqualifies the phase anyway and is abandoned.
    #[expect(clippy::cast_precision_loss, reason = "a backlog is far below 2^53")]
    fn close_if_over(&mut self, now_ns: u64) {
        let mut stopwatch = self.running.stopwatch.borrow_mut();
        let Some(end_ns) = stopwatch.measured_to_ns().filter(|end| now_ns >= *end) else {
            return;
        };
        if self.closed.is_some() {
            return;
        }
        let backlog = stopwatch.backlog(end_ns);
        let too_large = self.rate_per_s.is_some_and(|rate| backlog as f64 > rate);
        if too_large {
            stopwatch.stop();
        }
        self.closed = Some(Closing {
            at_ns: end_ns,
            backlog,
            abandoned: if too_large { backlog } else { 0 },
            thread_cpu_ns: self.cpu.now_ns() - self.cpu.at_measured_ns,
        });
    }

    fn rotate(&mut self, now_ns: u64, output: &Output) {
        self.running.count_offered(now_ns);
        let cpu_ns = self.cpu.now_ns();
        let used_ns = cpu_ns - std::mem::replace(&mut self.cpu.at_rotation_ns, cpu_ns);
        let mut recorder = self.running.recorder.borrow_mut();
        let stretch = if self.rotate_at_ns <= self.measured_from_ns {
            // The rotation on the border ends the warm-up; the measured stretch's CPU counts from here.
            self.cpu.at_measured_ns = cpu_ns;
            Stretch::Warmup
        } else {
            Stretch::Measured
        };
        for line in recorder.rotate(now_ns, stretch, used_ns) {
            output.send(line);
        }
        drop(recorder);
        self.rotate_at_ns = self.next_rotation(now_ns);
        let offset = sys::wall_offset_ns();
        let step = (offset - std::mem::replace(&mut self.wall_offset_ns, offset)).unsigned_abs();
        self.clock_step_ns = self
            .clock_step_ns
            .max(u64::try_from(step).unwrap_or(u64::MAX));
    }

    fn end(&mut self, at: usize, output: &Output) -> PhaseEnd {
        let now_ns = sys::monotonic_ns();
        self.rotate(now_ns, output);
        let closing = self.closed.unwrap_or(Closing {
            at_ns: now_ns,
            backlog: 0,
            abandoned: 0,
            thread_cpu_ns: self.cpu.now_ns() - self.cpu.at_measured_ns,
        });
        let cut_off = self.running.stopwatch.borrow().in_flight();
        PhaseEnd {
            phase: at,
            measured_from_ns: self.measured_from_ns.min(closing.at_ns),
            measured_to_ns: closing.at_ns,
            ended_ns: now_ns,
            backlog: closing.backlog,
            abandoned: closing.abandoned,
            cut_off: u64::try_from(cut_off).unwrap_or(u64::MAX),
            thread_cpu_ns: closing.thread_cpu_ns,
            clock_step_ns: self.clock_step_ns,
            stopped_early: !self.running.stopwatch.borrow().is_done(),
            standing: Standing::default(),
            first_failures: self.running.recorder.borrow_mut().first_failures(),
        }
    }
}
