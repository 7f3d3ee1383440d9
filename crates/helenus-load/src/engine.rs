//! The engine: one loop that starts what is due, records what ended, rotates the intervals and ends the phase.
//! Refuses timers of its own for each operation: one wait serves starts, answers, rotations and time-outs.

mod conductor;

use crate::endpoint::{Call, Ended, Endpoint, Fault};
use crate::ledger::{Ledger, Pending};
use crate::marks::Marks;
use crate::output::Output;
use crate::recorder::{Facts, Recorder};
use crate::stop::Stop;
use crate::stopwatch::{Start, Stopwatch};
use crate::sys;
use conductor::Conductor;
use helenus_model::positions::Sums;
use helenus_model::run_plan::{Choices, Extent, Pacing, Phase, RunPlan};
use helenus_model::sample::{FailureKind, Outcome, PhaseEnd, Stretch};
use helenus_model::schedule::Process;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Operations that are counted as offered at one look, beside those that start: as many as can become due between two
/// looks of a generator that keeps up, few enough to delay nothing.
pub(crate) const COUNTED_AT_ONCE: u64 = 64;

/// The same ten times a second, for what is offered while every slot is taken.
pub(crate) const COUNTED_IN_A_SWEEP: u64 = 4096;

/// What one phase works with.
struct Running<'a, E> {
    endpoint: &'a mut E,
    stopwatch: Stopwatch,
    recorder: Recorder,
    choices: Choices,
    phase: &'a Phase,
    /// Which of several processes this is.
    process: Option<Process>,
    /// Positions that operations took before, where they may take several.
    sums: Option<RefCell<Sums>>,
    /// How far the phase is, where all of its operations are to succeed.
    marks: Option<Marks>,
    /// Where writes are remembered, where that is asked for.
    ledger: Option<&'a Ledger>,
    /// Place in the workload of each operation of the mix.
    places: Vec<usize>,
    slots: Vec<Slot>,
    /// Slots whose operation waits before it is sent again, and until when.
    pausing: BinaryHeap<Reverse<(u64, usize)>>,
    timeout_ns: u64,
    traces: Traces,
}

/// Which operations of a measurement window are traced: so many, spread evenly over it.
#[derive(Debug, Clone, Copy, Default)]
struct Traces {
    asked: u32,
    next: u64,
    /// Number of the window's first operation, once it has started.
    first: Option<u64>,
}

impl Traces {
    /// The place in the window of its operation with this number: others come before, in the warm-up.
    fn place(&mut self, number: u64) -> u64 {
        number - *self.first.get_or_insert(number)
    }

    /// Whether an operation is traced that starts when so much of the whole window is over, in any unit. What was missed
    /// while nothing started is not made up for.
    fn are_due(&mut self, done: u64, whole: u64) -> bool {
        let place = u128::from(done) * u128::from(self.asked) / u128::from(whole.max(1));
        let place = u64::try_from(place).unwrap_or(u64::MAX);
        let due = place < u64::from(self.asked) && place >= self.next;
        if due {
            self.next = place + 1;
        }
        due
    }
}

/// One slot, and the operation that runs in it.
#[derive(Default)]
struct Slot {
    /// Place in the mix.
    operation: usize,
    number: u64,
    positions: Vec<u64>,
    /// When its current try was handed on; none while it pauses, or while the slot is free.
    handed_on_ns: Option<u64>,
    /// Start of its first try, where it was sent again: 0 is *not yet*.
    first_start_ns: u64,
    tries: u32,
    pending: Option<Pending>,
    trace: bool,
}

/// Whether sending it again may help: what is wrong or missing stays so.
fn is_passing(kind: FailureKind) -> bool {
    !matches!(kind, FailureKind::WrongData | FailureKind::MissingRow)
}

/// Longer and longer, so that a node that is overwhelmed or gone for a moment gets its moment: 0.1 s up to 5 s.
fn pause_after_ns(tries: u32) -> u64 {
    (100 << tries.min(6)).min(5000) * 1_000_000
}

impl<E: Endpoint> Running<'_, E> {
    /// Starts what is due.
    fn start_due(&mut self, now_ns: u64) {
        loop {
            let number = self.number(self.stopwatch.next_index());
            let taken = self.taken_before(number);
            let Some(start) = self.stopwatch.start_due(now_ns) else {
                break;
            };
            self.start(start, (number, taken), now_ns);
        }
        self.count_offered(now_ns, COUNTED_AT_ONCE);
        while let Some(Reverse((at_ns, slot))) = self.pausing.peek().copied() {
            if at_ns > now_ns {
                break;
            }
            self.pausing.pop();
            self.begin(slot, now_ns);
        }
    }

    fn start(&mut self, start: Start, (number, taken): (u64, u64), now_ns: u64) {
        let operation = self.choices.operation(number);
        if self.stopwatch.is_closed() {
            self.recorder.offered(start.stretch, operation);
        }
        self.recorder.started(start.stretch, operation);
        let mut positions = std::mem::take(&mut self.slots[start.slot].positions);
        self.take_positions((operation, number, taken), &mut positions);
        self.slots[start.slot] = Slot {
            operation,
            number,
            positions,
            trace: self.is_traced(&start, now_ns),
            ..Slot::default()
        };
        self.begin(start.slot, now_ns);
    }

    /// Whether this operation is traced.
    fn is_traced(&mut self, start: &Start, now_ns: u64) -> bool {
        if self.traces.asked == 0 || start.stretch == Stretch::Warmup {
            return false;
        }
        let from_ns = self.stopwatch.measured_from_ns();
        let (done, whole) = match self.phase.extent {
            Extent::DurationMs(ms) => (now_ns.saturating_sub(from_ns), ms * 1_000_000),
            Extent::Count(count) => (self.traces.place(self.number(start.index)), count),
            // Nobody knows how long it is.
            Extent::Until(_) => return false,
        };
        self.traces.are_due(done, whole)
    }

    /// Hands the operation in a slot on.
    fn begin(&mut self, at: usize, now_ns: u64) {
        let slot = &mut self.slots[at];
        let operation = self.places[slot.operation];
        slot.handed_on_ns = Some(now_ns);
        slot.pending = self.ledger.and_then(|ledger| ledger.begin(operation));
        let call = Call {
            operation,
            number: slot.number,
            positions: &slot.positions,
            verify: self.phase.verify,
            serial_consistency: self.phase.serial_consistency,
            timestamp_us: slot.pending.map(Pending::timestamp_us),
            trace: slot.trace,
        };
        self.endpoint.begin(at, call);
    }

    /// An operation's try ended: it is recorded, or sent again after a pause where the phase says so.
    fn take(&mut self, ended: Ended) {
        let slot = &mut self.slots[ended.slot];
        if slot.handed_on_ns.take().is_none() {
            return;
        }
        if slot.first_start_ns == 0 {
            slot.first_start_ns = ended.start_ns;
        }
        if let (Some(ledger), Some(pending)) = (self.ledger, slot.pending.take()) {
            ledger.end(pending, &slot.positions, Some(&ended.result));
        }
        match ended.result {
            Err(fault) if slot.tries < self.phase.repeat.unwrap_or(0) && is_passing(fault.kind) => {
                let again_ns = ended.end_ns + pause_after_ns(slot.tries);
                slot.tries += 1;
                self.pausing.push(Reverse((again_ns, ended.slot)));
                self.recorder.explain(fault.kind, fault.message);
                if let Some(marks) = &mut self.marks {
                    marks.repeated();
                }
            }
            result => self.record(
                ended.slot,
                result,
                &Facts {
                    end_ns: ended.end_ns,
                    touched: ended.touched,
                    over: ended.over,
                },
            ),
        }
    }

    fn record(&mut self, at: usize, result: Result<(), Fault>, facts: &Facts) {
        let slot = &self.slots[at];
        let end_ns = facts.end_ns;
        let outcome = match result {
            Ok(()) => Outcome::Completed,
            Err(fault) => {
                self.recorder.explain(fault.kind, fault.message);
                Outcome::Failed(fault.kind)
            }
        };
        // Tries and the pauses between them are service time: the generator is not late while it tries again.
        self.stopwatch.begin(at, slot.first_start_ns);
        if let Some(timing) = self.stopwatch.complete(at, end_ns, outcome) {
            self.recorder.ended(slot.operation, &timing, outcome, facts);
        }
        if let Some(marks) = &mut self.marks {
            match outcome {
                Outcome::Completed => marks.completed(slot.number),
                // What was to be in is not: the phase has failed.
                Outcome::Failed(_) => self.stopwatch.end_at(end_ns),
            }
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

    /// Operations that there are, of all processes together, where a range of positions ends or positions are counted.
    fn operations(&self) -> Option<u64> {
        let most = self.choices.positions().most();
        let all = match &self.sums {
            None => most?,
            Some(_) => {
                let most = most.into_iter().chain(self.wanted()).min()?;
                Sums::operations_for(most, &|n| self.partitions(n))
            }
        };
        Some(all.saturating_sub(self.phase.first))
    }

    /// Positions that all operations before this one take.
    fn taken_before(&self, number: u64) -> u64 {
        match &self.sums {
            None => number,
            Some(sums) => sums.borrow_mut().before(number, &|n| self.partitions(n)),
        }
    }

    /// Puts the positions of an operation into `positions`: one, or as many as it takes.
    fn take_positions(
        &self,
        (operation, number, taken): (usize, u64, u64),
        positions: &mut Vec<u64>,
    ) {
        positions.clear();
        if self.sums.is_none() {
            positions.push(self.choices.nth_position(number, taken, 0).unwrap_or(0));
            return;
        }
        let count = self.endpoint.partitions(self.places[operation], number);
        let left = self.wanted().map(|all| all.saturating_sub(taken));
        let left = left.map_or(u32::MAX, |left| u32::try_from(left).unwrap_or(u32::MAX));
        let places = 0..count.min(left).max(1);
        positions.extend(places.filter_map(|p| self.choices.nth_position(number, taken, p)));
    }

    /// Gives up operations that are older than the time-out.
    fn sweep(&mut self, now_ns: u64) {
        // While nothing ends nothing is started, and what is offered meanwhile is counted here.
        self.count_offered(now_ns, COUNTED_IN_A_SWEEP);
        for slot in 0..self.slots.len() {
            let handed_on_ns = self.slots[slot].handed_on_ns.unwrap_or(now_ns);
            if now_ns.saturating_sub(handed_on_ns) < self.timeout_ns {
                continue;
            }
            let start_ns = self.endpoint.give_up(slot);
            self.take(Ended {
                slot,
                start_ns,
                end_ns: now_ns,
                touched: (0, 0),
                over: None,
                result: Err(Fault {
                    kind: FailureKind::ClientTimeout,
                    message: "no answer within the operation time-out".to_owned(),
                }),
            });
        }
    }

    /// Gives up all that still runs at the phase's end: it is not recorded, but its writes are remembered.
    fn cut_off(&mut self) {
        for slot in 0..self.slots.len() {
            if self.slots[slot].handed_on_ns.take().is_some() {
                self.endpoint.give_up(slot);
            }
            let slot = &mut self.slots[slot];
            if let (Some(ledger), Some(pending)) = (self.ledger, slot.pending.take()) {
                ledger.end(pending, &slot.positions, None);
            }
        }
    }

    /// Counts what the schedule has offered up to now: all that started, and at most so many others.
    fn count_offered(&mut self, now_ns: u64, most: u64) {
        if self.stopwatch.is_closed() {
            return;
        }
        for index in self.stopwatch.newly_offered(now_ns, most) {
            let operation = self.choices.operation(self.number(index));
            self.recorder
                .offered(self.stopwatch.stretch(index), operation);
        }
    }
}

/// Runs one phase to its end, or until `stop` is raised; its intervals go to `output` as they pass. It starts now, or at
/// a moment of the monotonic clock that several processes have in common.
pub(crate) fn run_phase<E: Endpoint>(
    plan: &RunPlan,
    (at, begins_ns): (usize, Option<u64>),
    endpoint: &mut E,
    ledger: Option<&Ledger>,
    output: &Output,
    stop: &Stop,
) -> std::io::Result<PhaseEnd> {
    let phase = &plan.phases[at];
    let standing = sys::stand(plan.raise_priority, plan.pacing == Pacing::Sleep);
    if let Some(moment_ns) = begins_ns {
        sys::sleep_until(moment_ns);
    }
    let origin_ns = begins_ns.unwrap_or_else(|| endpoint.now_ns());
    let stopwatch = |most: Option<u64>| {
        let whole = Stopwatch::new(phase, plan.seed, origin_ns);
        // All processes end at the same moment: the limit is that of the whole phase.
        let whole = match most {
            None => whole,
            Some(most) => whole.at_most(most),
        };
        match plan.process {
            None => whole,
            Some(process) => whole.of_process(process),
        }
    };
    let sums = endpoint.takes_several().then(RefCell::default);
    // What was lost before is no loss of this phase.
    let _before = endpoint.connections_lost();
    let mut running = Running {
        endpoint,
        stopwatch: stopwatch(None),
        recorder: Recorder::new(at, names(phase), origin_ns),
        choices: phase.choices(plan.seed),
        phase,
        process: plan.process,
        sums,
        marks: phase.repeat.map(|_| Marks::from(phase.first)),
        ledger,
        places: places(plan, phase),
        slots: (0..phase.in_flight).map(|_| Slot::default()).collect(),
        pausing: BinaryHeap::new(),
        timeout_ns: plan.operation_timeout_ms * 1_000_000,
        traces: Traces {
            asked: plan.trace.unwrap_or(0),
            ..Traces::default()
        },
    };
    if let Some(most) = running.operations() {
        running.stopwatch = stopwatch(Some(most));
    }
    Conductor::new(running, (plan, at), standing, origin_ns).conduct(output, stop)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_are_traced_spread_over_the_window() {
        let traced = |asked, starts: &mut dyn Iterator<Item = u64>| -> Vec<u64> {
            let mut traces = Traces {
                asked,
                ..Traces::default()
            };
            starts.filter(|at| traces.are_due(*at, 1000)).collect()
        };
        assert_eq!(traced(4, &mut (0..1200)), [0, 250, 500, 750]);
        assert!(traced(0, &mut (0..1000)).is_empty());
        // Behind a warm-up of as many operations.
        let mut traces = Traces {
            asked: 4,
            ..Traces::default()
        };
        let numbers = (1000..2000).filter(|number| {
            let place = traces.place(*number);
            traces.are_due(place, 1000)
        });
        assert_eq!(numbers.collect::<Vec<u64>>(), [1000, 1250, 1500, 1750]);
        // After a stall one is traced, not all that were missed.
        assert_eq!(
            traced(10, &mut [0, 5, 460, 470, 510].into_iter()),
            [0, 460, 510]
        );
        assert_eq!(traced(5000, &mut (0..10)).len(), 10);
    }
}
