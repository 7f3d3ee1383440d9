//! The conductor's own loop on virtual time, before a node of known capacity: what a phase reports of rates below and above it,
//! and what a pass of the loop does.
//! Refuses real clocks.

use crate::endpoint::{Call, Ended, Endpoint, EndpointError};
use crate::engine::{COUNTED_AT_ONCE, COUNTED_IN_A_SWEEP, run_phase};
use crate::output::Output;
use crate::stop::Stop;
use crate::stopwatch::Stopwatch;
use helenus_model::doubt::DoubtKind;
use helenus_model::result::{Beside, PhaseResult};
use helenus_model::run_plan::{Extent, Phase, RunPlan};
use helenus_model::sample::{Interval, PhaseEnd, SampleLine, SchedulingPolicy};
use helenus_model::samples::{Gathered, phase_result};
use helenus_model::schedule::Arrivals;
use helenus_model::seed::Seed;
use helenus_model::stats::Draw;
use helenus_model::workload::Workload;
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::io::Write;
use std::sync::{Arc, Mutex};

const S: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
/// Operations a second that the node completes when it is never idle.
const CAPACITY: f64 = 2000.0;
const SERVERS: usize = 4;

/// A node with a queue: each of its servers takes one operation at a time, for an exponential time.
struct Queue {
    free_at: BinaryHeap<Reverse<u64>>,
    draw: Draw,
}

impl Queue {
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

/// An endpoint with a clock that moves only while it waits.
struct Virtual<N> {
    now_ns: u64,
    /// When an operation that begins now ends.
    node: N,
    /// End, slot and start of what runs.
    running: BinaryHeap<Reverse<(u64, usize, u64)>>,
    /// How much later than asked for it returns: its thread was put aside.
    late_ns: u64,
    ended_at: Vec<u64>,
    followed: Cell<u32>,
}

impl<N: FnMut(u64) -> u64> Virtual<N> {
    fn new(node: N) -> Self {
        Self {
            now_ns: S,
            node,
            running: BinaryHeap::new(),
            late_ns: 0,
            ended_at: Vec::new(),
            followed: Cell::new(0),
        }
    }
}

impl<N: FnMut(u64) -> u64> Endpoint for Virtual<N> {
    fn prepare(
        &mut self,
        _: &Workload,
        _: &BTreeSet<String>,
        _: Seed,
    ) -> Result<(), EndpointError> {
        Ok(())
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn begin(&mut self, slot: usize, _: Call<'_>) {
        let end_ns = (self.node)(self.now_ns);
        self.running.push(Reverse((end_ns, slot, self.now_ns)));
    }

    fn poll(&mut self, until_ns: u64, ended: &mut Vec<Ended>) -> std::io::Result<()> {
        let next = self
            .running
            .peek()
            .map_or(u64::MAX, |Reverse((at, ..))| *at);
        self.now_ns = self.now_ns.max(next.min(until_ns)) + self.late_ns;
        while let Some(Reverse((end_ns, slot, start_ns))) = self.running.peek().copied() {
            if end_ns > self.now_ns {
                break;
            }
            self.running.pop();
            self.ended_at.push(end_ns);
            ended.push(Ended {
                slot,
                start_ns,
                end_ns,
                touched: (1, 1),
                over: None,
                result: Ok(()),
            });
        }
        Ok(())
    }

    fn follow(&self) {
        self.followed.update(|count| count + 1);
    }

    fn give_up(&mut self, slot: usize) -> u64 {
        let own = self.running.iter().find(|Reverse((_, at, _))| *at == slot);
        let start_ns = own.map_or(0, |Reverse((.., start_ns))| *start_ns);
        self.running.retain(|Reverse((_, at, _))| *at != slot);
        start_ns
    }
}

/// Where the samples of a phase are written.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A plan of this phase alone, at the priority that the test has.
fn plan(phase: &Phase, timeout_ms: u64) -> RunPlan {
    RunPlan {
        operation_timeout_ms: timeout_ms,
        raise_priority: false,
        ..RunPlan::new(vec![], Workload::Standard1, vec![phase.clone()], Seed(1))
    }
}

/// Runs a plan as a generator does; the intervals of its phase and their end.
fn conduct<N: FnMut(u64) -> u64>(
    plan: &RunPlan,
    endpoint: &mut Virtual<N>,
) -> (Vec<Interval>, PhaseEnd) {
    let (written, stop) = (Written::default(), Arc::new(Stop::default()));
    let output = Output::start(written.clone(), Arc::clone(&stop));
    let end = run_phase(plan, (0, Some(S)), endpoint, None, &output, &stop);
    output.finish();
    let text = written.0.lock().expect("no panic").clone();
    let text = String::from_utf8(text).expect("text");
    let lines = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line"));
    let intervals = lines.filter_map(|line| match line {
        SampleLine::Interval(one) => Some(one),
        _ => None,
    });
    (
        intervals.collect(),
        end.expect("an endpoint that never fails"),
    )
}

/// A phase against the node, as its reader takes it; beside it, how many operations arrived and ended within the window.
fn run(phase: &Phase) -> (PhaseResult, [u64; 2]) {
    let mut queue = Queue::new();
    let mut endpoint = Virtual::new(|now_ns| queue.end_of(now_ns));
    let (intervals, mut end) = conduct(&plan(phase, 60_000), &mut endpoint);
    // The loop's own time is real, the window is not.
    end.thread_cpu_ns = 0;
    end.threads_cpu_ns = 0;
    let window = end.measured_from_ns..end.measured_to_ns;
    let ended = endpoint.ended_at.iter().filter(|at| window.contains(at));
    let mut schedule = Stopwatch::new(phase, Seed(1), S);
    let offered = schedule.newly_offered(window.end, u64::MAX);
    let inside = [offered.end - offered.start, ended.count() as u64];
    let mut gathered = Gathered::default();
    intervals.iter().for_each(|one| gathered.take(one));
    gathered.take_end(end);
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
                let (result, [offered, ended]) = run(&phase);
                // What arrived is what the rate says, started or not.
                assert_eq!(result.total.offered, offered, "{case}");
                let wanted = load * CAPACITY * seconds as f64;
                let spread = match arrivals {
                    Arrivals::Poisson => 5.0 * wanted.sqrt(),
                    Arrivals::Constant => 1.0,
                };
                assert!(
                    (offered as f64 - wanted).abs() <= spread,
                    "{case}: {offered}"
                );
                let completed = result.achieved_per_s * seconds as f64;
                let off = completed / ended as f64 - 1.0;
                assert!(off.abs() < 0.01, "{case}: off by {off}");
                if load < 1.0 {
                    let off = completed / offered as f64 - 1.0;
                    assert!(off.abs() < 0.01, "{case}: {off} of what arrived");
                }
                let behind = result
                    .doubts
                    .iter()
                    .any(|d| d.kind == DoubtKind::BehindSchedule);
                assert_eq!(behind, load > 1.0, "{case}: {:?}", result.doubts);
            }
        }
    }
}

/// So many operations, one after the other.
fn closed(operations: u64) -> Phase {
    Phase {
        rate_per_s: None,
        extent: Extent::Count(operations),
        ..Phase::steady("write", 1.0, 1, 1000)
    }
}

#[test]
fn an_answer_that_arrived_wins_over_the_sweep_of_the_same_poll() {
    // It is here after 80 ms, and the loop sees it 250 ms late, when it is older than its time-out.
    let mut endpoint = Virtual::new(|now_ns| now_ns + 80 * MS);
    endpoint.late_ns = 250 * MS;
    let (intervals, _) = conduct(&plan(&closed(5), 100), &mut endpoint);
    let each = intervals.iter().map(|one| &one.operations["write"]);
    let (completed, failed) = each.fold((0, 0), |(completed, failed), one| {
        (completed + one.completed, failed + one.failures())
    });
    assert_eq!((completed, failed), (5, 0));
}

#[test]
fn a_pass_of_the_loop_counts_so_many_arrivals_and_no_more() {
    // The only slot is never answered: the schedule offers 100,000 a second meanwhile.
    let mut endpoint = Virtual::new(|_| u64::MAX);
    let phase = Phase::steady("write", 100_000.0, 1, 2000);
    let (intervals, _) = conduct(&plan(&phase, 2500), &mut endpoint);
    let offered: Vec<u64> = intervals
        .iter()
        .filter_map(|one| Some(one.operations.get("write")?.offered))
        .collect();
    // Ten looks for time-outs and one rotation are the passes of the first second.
    let passes = 12;
    assert!(
        offered[0] <= passes * (COUNTED_AT_ONCE + COUNTED_IN_A_SWEEP),
        "{offered:?}"
    );
    // Nothing is lost: the end of the phase counts the rest.
    assert_eq!(offered.iter().sum::<u64>(), 200_000, "{offered:?}");
}

#[test]
fn closed_loops_and_paced_loads_run_at_the_same_priority() {
    let standing = |phase: &Phase| {
        let mut endpoint = Virtual::new(|now_ns| now_ns + MS);
        let plan = RunPlan {
            raise_priority: true,
            ..plan(phase, 1000)
        };
        // A thread keeps its priority: each has its own.
        std::thread::scope(|scope| {
            let run = scope.spawn(|| conduct(&plan, &mut endpoint).1.standing);
            run.join().expect("a run")
        })
    };
    let paced = Phase {
        extent: Extent::Count(2),
        ..Phase::steady("write", 1000.0, 1, 1000)
    };
    assert_eq!(standing(&closed(2)), standing(&paced));
}

#[test]
fn a_real_time_thread_follows_answers_while_few_are_in_flight() {
    let followed = |in_flight, raise_priority| {
        let phase = Phase {
            in_flight,
            ..closed(3000)
        };
        let plan = RunPlan {
            raise_priority,
            ..plan(&phase, 1000)
        };
        let mut endpoint = Virtual::new(|now_ns| now_ns + MS);
        std::thread::scope(|scope| {
            let run = scope.spawn(|| {
                let policy = conduct(&plan, &mut endpoint).1.standing.policy;
                (policy, endpoint.followed.get())
            });
            run.join().expect("a run")
        })
    };
    let (policy, count) = followed(8, true);
    assert_eq!(policy == SchedulingPolicy::RoundRobin, count > 0);
    assert_eq!(followed(9, true).1, 0);
    assert_eq!(followed(1, false).1, 0);
}
