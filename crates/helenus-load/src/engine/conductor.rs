//! The conductor of a phase: waits until something is to be done, rotates the intervals, ends the phase.
//! Refuses to touch an operation: what runs is the engine's.

use super::{COUNTED_IN_A_SWEEP, Running};
use crate::endpoint::{Ended, Endpoint};
use crate::output::Output;
use crate::recorder::Rotations;
use crate::stop::Stop;
use crate::stopwatch::Wake;
use crate::sys;
use helenus_model::run_plan::{Extent, Pacing, RunPlan, Target};
use helenus_model::sample::{PhaseEnd, SampleLine, SchedulingPolicy, Standing, Stretch};
use std::cmp::Reverse;

/// How often operations are looked over for time-outs, and whether the run is to be stopped: coarse, for nothing is
/// measured by it.
const SWEEP_NS: u64 = 100_000_000;

/// Operations in flight up to which the thread follows the answers. With more, a wake brings several of them, so it matters
/// little where it comes from; and a busy thread must not stay on the processor that handles a network card.
const FEW_IN_FLIGHT: usize = 8;

/// What waits: for the next start, answer, rotation, sweep, and the schedule's end.
pub(super) struct Conductor<'a, E> {
    running: Running<'a, E>,
    /// Place of the phase in the plan.
    at: usize,
    /// How the thread stands with the scheduler.
    standing: Standing,
    pacing: Pacing,
    rotations: Rotations,
    rate_per_s: Option<f64>,
    until: Option<Target>,
    /// Operations that had ended at the last rotation, and the rates of the measured intervals.
    ended: u64,
    rates: Vec<f64>,
    rotate_at_ns: u64,
    sweep_at_ns: u64,
    cpu: CpuClock,
    wall_offset_ns: i128,
    clock_step_ns: u64,
    /// Set when the measurement window is over.
    closed: Option<Closing>,
}

/// What held when the measurement window ended.
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

impl<'a, E: Endpoint> Conductor<'a, E> {
    pub(super) fn new(
        running: Running<'a, E>,
        (plan, at): (&RunPlan, usize),
        standing: Standing,
        origin_ns: u64,
    ) -> Self {
        let phase = &plan.phases[at];
        let interval_ns = plan.sampling_interval_ms.max(1) * 1_000_000;
        let measured_from_ns = running.stopwatch.measured_from_ns();
        let mut cpu = CpuClock::default();
        cpu.at_rotation_ns = cpu.now_ns();
        cpu.at_measured_ns = cpu.at_rotation_ns;
        let mut own = Self {
            running,
            at,
            standing,
            pacing: plan.pacing,
            rotations: Rotations {
                interval_ns,
                measured_from_ns,
            },
            rate_per_s: plan.rate_of_process(phase),
            until: match phase.extent {
                Extent::Until(target) => Some(target),
                _ => None,
            },
            ended: 0,
            rates: Vec::new(),
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

    fn next_rotation(&self, now_ns: u64) -> u64 {
        let measured_to_ns = self.running.stopwatch.measured_to_ns();
        self.rotations.after(now_ns, measured_to_ns)
    }

    pub(super) fn conduct(&mut self, output: &Output, stop: &Stop) -> std::io::Result<PhaseEnd> {
        let mut ended = Vec::new();
        loop {
            let now_ns = self.running.endpoint.now_ns();
            self.close_if_over(now_ns);
            self.running.start_due(now_ns);
            if now_ns >= self.rotate_at_ns {
                self.rotate(now_ns, output);
            }
            if now_ns >= self.sweep_at_ns {
                self.running.sweep(now_ns);
                self.follow();
                self.sweep_at_ns = now_ns + SWEEP_NS;
            }
            if self.is_done() || stop.reason().is_some() {
                break;
            }
            self.wait(&mut ended)?;
            for ended in ended.drain(..) {
                self.running.take(ended);
            }
        }
        self.running.cut_off();
        Ok(self.end(output))
    }

    /// Goes where the answers come from. An ordinary thread is brought there by the scheduler.
    fn follow(&self) {
        let running = &self.running;
        if self.standing.policy == SchedulingPolicy::RoundRobin
            && running.stopwatch.in_flight() <= FEW_IN_FLIGHT
        {
            running.endpoint.follow();
        }
    }

    /// True when all is ended and the measurement window is over too: a schedule lasts to its end.
    fn is_done(&self) -> bool {
        let stopwatch = &self.running.stopwatch;
        stopwatch.is_done() && (self.closed.is_some() || stopwatch.measured_to_ns().is_none())
    }

    /// Sends what was started, and waits for an answer or the next moment at which anything is to be done.
    fn wait(&mut self, ended: &mut Vec<Ended>) -> std::io::Result<()> {
        if self.pacing == Pacing::Sleep {
            let until_ns = self.next_look();
            return self.running.endpoint.poll(until_ns, ended);
        }
        let cpu_ns = sys::thread_cpu_ns();
        self.running.endpoint.poll(0, ended)?;
        if ended.is_empty() {
            // There was nothing to do: the time counts as spun.
            self.cpu.spun_ns += sys::thread_cpu_ns().saturating_sub(cpu_ns);
        }
        Ok(())
    }

    fn next_look(&mut self) -> u64 {
        let stopwatch = &mut self.running.stopwatch;
        let start = match stopwatch.next_wake() {
            Wake::At(start_ns) => Some(start_ns),
            Wake::Completion | Wake::Over => None,
        };
        let end = stopwatch.measured_to_ns().filter(|_| self.closed.is_none());
        let again = self.running.pausing.peek();
        let again = again.map(|Reverse((at_ns, _))| *at_ns);
        [start, end, again]
            .into_iter()
            .flatten()
            .fold(self.rotate_at_ns.min(self.sweep_at_ns), u64::min)
    }

    /// At the schedule's end: a backlog of up to a second of the rate is worked off, so that no delayed
    /// operation goes unmeasured; a larger one disqualifies the phase anyway and is abandoned.
    #[expect(clippy::cast_precision_loss, reason = "a backlog is far below 2^53")]
    fn close_if_over(&mut self, now_ns: u64) {
        let stopwatch = &mut self.running.stopwatch;
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
        self.running.count_offered(now_ns, COUNTED_IN_A_SWEEP);
        let cpu_ns = self.cpu.now_ns();
        let used_ns = cpu_ns - std::mem::replace(&mut self.cpu.at_rotation_ns, cpu_ns);
        let stretch = if self.rotate_at_ns <= self.rotations.measured_from_ns {
            // The rotation on the border ends the warm-up; the measured stretch's CPU counts from here.
            self.cpu.at_measured_ns = cpu_ns;
            Stretch::Warmup
        } else {
            Stretch::Measured
        };
        let Running {
            recorder, endpoint, ..
        } = &mut self.running;
        let address = |place| Some(endpoint.coordinator(place)?.to_string());
        for line in recorder.rotate(now_ns, (stretch, used_ns), &address) {
            output.send(line);
        }
        if let Some(ledger) = &self.running.ledger {
            ledger.flush();
        }
        self.mark(output);
        self.look_at_target(now_ns, stretch);
        self.rotate_at_ns = self.next_rotation(now_ns);
        let offset = sys::wall_offset_ns();
        let step = (offset - std::mem::replace(&mut self.wall_offset_ns, offset)).unsigned_abs();
        self.clock_step_ns = self
            .clock_step_ns
            .max(u64::try_from(step).unwrap_or(u64::MAX));
    }

    /// Reports how far the phase is, where all of its operations are to succeed.
    fn mark(&self, output: &Output) {
        let running = &self.running;
        if let Some(marks) = &running.marks {
            let positions = running.taken_before(marks.below());
            output.send(SampleLine::Mark(marks.mark(self.at, positions)));
        }
    }

    /// Ends the phase when its rate is known well enough.
    #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
    fn look_at_target(&mut self, now_ns: u64, stretch: Stretch) {
        let Some(target) = self.until else {
            return;
        };
        let counts = self.running.stopwatch.counts();
        let ended = counts.completed + counts.failed;
        let passed = ended - std::mem::replace(&mut self.ended, ended);
        if stretch == Stretch::Measured {
            self.rates
                .push(passed as f64 * 1e9 / self.rotations.interval_ns as f64);
            if target.is_reached(&self.rates) {
                self.running.stopwatch.end_at(now_ns);
            }
        }
    }

    fn end(&mut self, output: &Output) -> PhaseEnd {
        let now_ns = self.running.endpoint.now_ns();
        self.running.count_offered(now_ns, u64::MAX);
        self.rotate(now_ns, output);
        let closing = self.closed.unwrap_or(Closing {
            at_ns: now_ns,
            backlog: 0,
            abandoned: 0,
            thread_cpu_ns: self.cpu.now_ns() - self.cpu.at_measured_ns,
        });
        let cut_off = self.running.stopwatch.in_flight();
        PhaseEnd {
            phase: self.at,
            measured_from_ns: self.rotations.measured_from_ns.min(closing.at_ns),
            measured_to_ns: closing.at_ns,
            ended_ns: now_ns,
            backlog: closing.backlog,
            abandoned: closing.abandoned,
            cut_off: u64::try_from(cut_off).unwrap_or(u64::MAX),
            thread_cpu_ns: closing.thread_cpu_ns,
            threads_cpu_ns: closing.thread_cpu_ns,
            clock_step_ns: self.clock_step_ns,
            stopped_early: !self.running.stopwatch.is_done(),
            connections_lost: self.running.endpoint.connections_lost(),
            standing: self.standing,
            first_failures: self.running.recorder.first_failures(),
        }
    }
}
