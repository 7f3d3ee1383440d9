//! What phases grew for runs and populates: several positions an operation, ranges that end, repeats, marks, targets.
//! Refuses figures of time: counts and laws only, for machines are busy.

mod fake;
mod pipe;

use fake::Fake;
use helenus_load::endpoint::{Call, Fault};
use helenus_load::serve::serve_endpoint;
use helenus_model::result::{Beside, RunResult};
use helenus_model::run_plan::{Extent, Phase, Positions, Ramp, RunPlan, Share, Target};
use helenus_model::sample::{FailureKind, Mark, SampleLine};
use helenus_model::samples::Accumulator;
use helenus_model::schedule::Arrivals;
use helenus_model::seed::Seed;
use helenus_model::workload::Workload;
use pipe::Pipe;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

/// Numbers and positions of the operations that came.
type Seen = Arc<Mutex<Vec<(u64, Vec<u64>)>>>;

struct Outcome {
    result: RunResult,
    marks: Vec<Mark>,
    /// In the order of their numbers.
    seen: Vec<(u64, Vec<u64>)>,
}

impl Outcome {
    fn positions(&self) -> Vec<u64> {
        self.seen.iter().flat_map(|(_, all)| all.clone()).collect()
    }
}

fn run(phase: Phase, several: fn(u64) -> u32, fails: fn(u64) -> u32) -> Outcome {
    let plan = RunPlan {
        raise_priority: false,
        sampling_interval_ms: 50,
        ..RunPlan::new(
            vec![SocketAddr::from(([127, 0, 0, 1], 1))],
            Workload::Standard1,
            vec![phase],
            Seed(3),
        )
    };
    let seen = Seen::default();
    let (kept, mut tried) = (Arc::clone(&seen), BTreeMap::<u64, u32>::new());
    // Remembers what it is asked for, and fails as often as `fails` says before it takes one.
    let mut fake = Fake::new(move |call: &Call<'_>| {
        let tries = tried.entry(call.number).or_default();
        *tries += 1;
        if *tries <= fails(call.number) {
            return Some(Err(Fault {
                kind: FailureKind::WriteTimeout,
                message: format!("try {tries} of {}", call.number),
            }));
        }
        let count = u32::try_from(call.positions.len()).expect("few");
        let mut kept = kept.lock().expect("not poisoned");
        kept.push((call.number, call.positions.to_vec()));
        Some(Ok((count, 3 * count)))
    });
    fake.several = Some(several);
    let pipe = Pipe::default();
    serve_endpoint(&plan, fake, pipe.clone());
    let mut gathered = Accumulator::new(plan);
    let mut marks = Vec::new();
    for line in pipe.lines() {
        if let SampleLine::Mark(mark) = &line {
            marks.push(*mark);
        }
        gathered.take(&line).expect("our plan's");
    }
    let mut seen = seen.lock().expect("not poisoned").clone();
    seen.sort();
    Outcome {
        result: gathered
            .finish(&|_, _| Beside::default())
            .expect("a result"),
        marks,
        seen,
    }
}

fn phase(extent: Extent, positions: Positions) -> Phase {
    Phase {
        name: "fill".to_owned(),
        operations: vec![Share {
            operation: "write".to_owned(),
            weight: 1,
        }],
        in_flight: 8,
        extent,
        positions,
        ..Phase::default()
    }
}

fn range(to: u64) -> Positions {
    Positions::Range {
        from: 100,
        to: 100 + to,
        wrap: false,
    }
}

fn one_to_four(number: u64) -> u32 {
    1 + u32::try_from(number % 4).expect("small")
}

#[test]
fn a_range_ends_the_phase_with_its_last_position() {
    let outcome = run(
        phase(Extent::DurationMs(60_000), range(1001)),
        one_to_four,
        |_| 0,
    );
    assert_eq!(outcome.positions(), (100..1101).collect::<Vec<_>>());
    let total = &outcome.result.phases[0].total;
    assert_eq!((total.partitions, total.rows), (1001, 3003));
    assert!(total.started == total.completed && total.started == total.offered);
    // At a rate, too: what the schedule would offer beyond the range is not offered.
    let paced = Phase {
        rate_per_s: Some(5000.0),
        ..phase(Extent::DurationMs(60_000), range(500))
    };
    let outcome = run(paced, |_| 1, |_| 0);
    assert_eq!(outcome.positions(), (100..600).collect::<Vec<_>>());
    let phase = &outcome.result.phases[0];
    assert_eq!(phase.total.offered, 500, "{phase:#?}");
    // A busy machine may start its last operations after the schedule's end; the rest of a minute's would be 299,500.
    assert!(phase.backlog <= 500, "{phase:#?}");
}

#[test]
fn a_count_of_positions_is_met_whatever_operations_take() {
    let counted = |rate_per_s| Phase {
        by_position: true,
        rate_per_s,
        ..phase(Extent::Count(500), range(10_000))
    };
    for rate in [None, Some(5000.0)] {
        let outcome = run(counted(rate), |_| 3, |_| 0);
        assert_eq!(outcome.positions(), (100..600).collect::<Vec<_>>());
        let total = &outcome.result.phases[0].total;
        assert_eq!((total.completed, total.offered), (167, 167));
        let last = outcome
            .seen
            .iter()
            .max()
            .map(|(_, positions)| positions.len());
        assert_eq!(last, Some(2), "the last takes what is left");
    }
}

#[test]
fn what_fails_is_sent_again_until_it_is_in() {
    let insisting = Phase {
        repeat: Some(3),
        ..phase(Extent::Count(200), range(200))
    };
    let outcome = run(insisting, |_| 1, |number| u32::from(number % 50 == 7) * 2);
    assert_eq!(outcome.positions(), (100..300).collect::<Vec<_>>());
    let last = outcome.marks.last().expect("marks");
    assert_eq!((last.below, last.positions, last.repeated), (200, 200, 8));
    assert!(outcome.marks.windows(2).all(|w| w[0].below <= w[1].below));
    let phase = &outcome.result.phases[0];
    assert_eq!((phase.total.completed, phase.total.failures()), (200, 0));
    assert!(
        phase
            .first_failures
            .contains_key(&FailureKind::WriteTimeout)
    );
}

#[test]
fn what_is_sent_again_is_slow_and_not_late() {
    let insisting = Phase {
        repeat: Some(3),
        in_flight: 1,
        ..phase(Extent::Count(1), range(1))
    };
    // It pauses 0.1 and 0.2 s between its tries.
    let outcome = run(insisting, |_| 1, |_| 2);
    let total = &outcome.result.phases[0].total;
    assert_eq!((total.completed, total.failures()), (1, 0));
    let service = total.service.as_ref().expect("a time");
    assert!(service.max_us >= 300_000.0, "{service:?}");
    let late = total.lateness.as_ref().expect("a time");
    assert!(late.max_us < service.max_us, "{late:?}");
}

#[test]
fn what_never_gets_in_ends_the_phase() {
    let insisting = Phase {
        repeat: Some(2),
        ..phase(Extent::Count(100_000), range(100_000))
    };
    let outcome = run(insisting, |_| 1, |number| if number == 40 { 99 } else { 0 });
    let last = outcome.marks.last().expect("marks");
    assert_eq!(last.below, 40);
    let total = &outcome.result.phases[0].total;
    assert_eq!(total.failures(), 1);
    assert!(total.completed < 100_000, "{}", total.completed);
}

#[test]
fn what_goes_on_later_is_what_would_have_come() {
    let whole = |first, count| Phase {
        first,
        repeat: Some(1),
        ..phase(Extent::Count(count), range(1000))
    };
    let all = run(whole(0, 400), one_to_four, |_| 0);
    assert_eq!(all.positions(), (100..1100).collect::<Vec<_>>());
    let rest = run(whole(150, 250), one_to_four, |_| 0);
    assert_eq!(rest.seen[..], all.seen[150..]);
    let last = rest.marks.last().expect("marks");
    assert_eq!((last.below, last.positions), (400, 1000));
    // Numbers decide, not when they came: drawn positions are the same ones, too.
    let drawn = |first, count| Phase {
        positions: Positions::Drawn("gaussian(0..1000)".parse().expect("a distribution")),
        ..whole(first, count)
    };
    let all = run(drawn(0, 100), one_to_four, |_| 0);
    let rest = run(drawn(60, 40), one_to_four, |_| 0);
    assert_eq!(rest.seen[..], all.seen[60..]);
}

#[test]
fn a_target_ends_the_phase_between_its_bounds() {
    let sure = |error, least, most, arrivals| {
        let extent = Extent::Until(Target { error, least, most });
        let paced = Phase {
            rate_per_s: Some(400.0),
            arrivals,
            ..phase(extent, Positions::Sequential)
        };
        run(paced, |_| 1, |_| 0).result.phases.remove(0)
    };
    // An even schedule is known at once, whatever the error: the least decides.
    let known = sure(0.5, 3, 60, Arrivals::Constant);
    assert!(
        (50..=400).contains(&known.total.completed),
        "{}",
        known.total.completed
    );
    assert!(!known.doubts.iter().any(|d| d.text.contains("stopped")));
    // Nothing is ever known so well: the most decides.
    let never = sure(1e-12, 2, 8, Arrivals::Poisson);
    assert!(never.total.completed > 100, "{}", never.total.completed);
}

#[test]
fn a_ramp_offers_what_it_promises_and_is_not_called_unsteady() {
    let ramp = Phase {
        rate_per_s: Some(3000.0),
        ramp: Some(Ramp {
            from_per_s: 1000.0,
            over_ms: 400,
        }),
        ..phase(Extent::DurationMs(500), Positions::Sequential)
    };
    let outcome = run(ramp, |_| 1, |_| 0);
    let phase = &outcome.result.phases[0];
    // 2000 in the mean for 0.4 s, and 3000 for 0.1 s.
    assert_eq!(phase.total.offered, 1100);
    assert_eq!(phase.steadiness, None);
}
