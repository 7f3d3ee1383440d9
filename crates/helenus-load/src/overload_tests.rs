//! A node of known capacity on virtual time: what a phase reports of rates below and above it.
//! Refuses real clocks.

use crate::recorder::{Facts, Recorder, Rotations};
use crate::stopwatch::{Stopwatch, Wake};
use helenus_model::doubt::DoubtKind;
use helenus_model::result::{Beside, PhaseResult};
use helenus_model::run_plan::Phase;
use helenus_model::sample::{Outcome, PhaseEnd, SampleLine, Stretch};
use helenus_model::samples::{Gathered, phase_result};
use helenus_model::schedule::Arrivals;
use helenus_model::seed::Seed;
use helenus_model::stats::Draw;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const S: u64 = 1_000_000_000;
/// Operations a second that the node completes when it is never idle.
const CAPACITY: f64 = 2000.0;
const SERVERS: usize = 4;

/// A node with a queue: each of its servers takes one operation at a time, for an exponential time.
struct Node {
    free_at: BinaryHeap<Reverse<u64>>,
    draw: Draw,
}

impl Node {
    fn new() -> Self {
        Self {
            free_at: (0..SERVERS).map(|_| Reverse(0)).collect(),
            draw: Draw::new(Seed(7)),
        }
    }

    fn end_of(&mut self, start_ns: u64) -> u64 {
        let Reverse(free) = self.free_at.pop().expect("servers");
        let mean_ns = SERVERS as f64 / CAPACITY * 1e9;
        let takes = -(1.0 - self.draw.uniform()).ln() * mean_ns;
        let end = start_ns.max(free) + takes as u64;
        self.free_at.push(Reverse(end));
        end
    }
}

/// Runs a phase against the node and gathers what the recorder says, as the engine and its reader do; beside it, how
/// many operations ended within the window.
fn run(phase: &Phase) -> (PhaseResult, u64) {
    let mut watch = Stopwatch::new(phase, Seed(1), S);
    let mut recorder = Recorder::new(0, vec!["write".to_owned()], S);
    let mut gathered = Gathered::default();
    let rotations = Rotations {
        interval_ns: S,
        measured_from_ns: watch.measured_from_ns(),
    };
    let (from, to) = (watch.measured_from_ns(), watch.measured_to_ns());
    let to = to.expect("a schedule");
    let (mut node, mut ends) = (Node::new(), BinaryHeap::new());
    let (mut now, mut rotate_at, mut backlog, mut inside) =
        (S, rotations.after(S, Some(to)), None, 0);
    let mut rotate = |recorder: &mut Recorder, at: u64, next: u64| {
        let stretch = match at <= from {
            true => Stretch::Warmup,
            false => Stretch::Measured,
        };
        for line in recorder.rotate(at, (stretch, 0), &|_| None) {
            let SampleLine::Interval(one) = line else {
                continue;
            };
            gathered.take(&one);
        }
        next
    };
    while !watch.is_done() || now < to {
        if now >= to {
            backlog.get_or_insert_with(|| watch.backlog(to));
        }
        while let Some(start) = watch.start_due(now) {
            recorder.started(start.stretch, 0);
            ends.push(Reverse((node.end_of(now), start.slot)));
        }
        if now >= rotate_at {
            rotate_at = rotate(&mut recorder, now, rotations.after(now, Some(to)));
        }
        let next_end = ends.peek().map(|Reverse((at, _))| *at);
        let next_start = match watch.next_wake() {
            Wake::At(at) => Some(at),
            Wake::Completion | Wake::Over => None,
        };
        now = [next_end, next_start, Some(rotate_at)]
            .into_iter()
            .flatten()
            .fold(u64::MAX, u64::min)
            .max(now);
        while let Some(Reverse((at, slot))) =
            ends.peek().copied().filter(|Reverse((at, _))| *at <= now)
        {
            ends.pop();
            let timing = watch.complete(slot, at, Outcome::Completed).expect("ran");
            let facts = Facts {
                end_ns: at,
                ..Facts::default()
            };
            recorder.ended(0, &timing, Outcome::Completed, &facts);
            inside += u64::from((from..to).contains(&at));
        }
    }
    rotate(&mut recorder, now, now);
    gathered.take_end(PhaseEnd {
        measured_from_ns: from,
        measured_to_ns: to,
        ended_ns: now,
        backlog: backlog.unwrap_or(0),
        ..PhaseEnd::default()
    });
    let result = phase_result(&gathered, phase, &[], (0, Seed(1)), &|_, _| {
        Beside::default()
    });
    (result.expect("a result"), inside)
}

#[test]
fn overload_is_reported_and_what_ends_after_the_window_is_no_throughput() {
    for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
        for (seconds, in_flight) in [(10, 64), (30, 64), (10, 100_000)] {
            for load in [0.9, 1.05, 1.1, 1.5] {
                let case = format!("{arrivals:?} {seconds} s, {in_flight} in flight, {load} × C");
                let mut phase = Phase::steady("write", load * CAPACITY, in_flight, seconds * 1000);
                phase.arrivals = arrivals;
                let (result, inside) = run(&phase);
                let off = result.achieved_per_s * seconds as f64 / inside as f64 - 1.0;
                assert!(off.abs() < 0.01, "{case}: off by {off}");
                let behind = result
                    .doubts
                    .iter()
                    .any(|d| d.kind == DoubtKind::BehindSchedule);
                assert_eq!(behind, load > 1.0, "{case}: {:?}", result.doubts);
            }
        }
    }
}
