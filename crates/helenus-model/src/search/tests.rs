//! Searches on nodes of known capacity: what is found, how often it is right, and where a search ends.

use super::*;
use crate::doubt::Verdict;
use crate::format::Format;
use crate::histogram::Histogram;
use crate::result::{self, Beside, Measured};
use crate::run_plan::{Extent, Pacing, Phase, RunPlan, Search, Share};
use crate::sample::{OperationInterval, PhaseEnd, StartMeans};
use crate::seed::Seed;
use crate::stats::Draw;
use crate::workload::Workload;
use std::collections::BTreeMap;
use std::time::Duration;

const SECOND_NS: u64 = 1_000_000_000;

/// The bound of these searches, in nanoseconds.
const BOUND_NS: f64 = 5e6;

fn asked() -> Search {
    Search::new(Some("p99<5ms".to_owned()), 1_000_000)
}

#[test]
fn lives_follow_each_other_while_there_is_time() {
    let second = Duration::from_secs;
    let next = |lives, time, several| {
        next_life(
            second(900),
            &Spent {
                lives,
                time: second(time),
                beside: second(40),
                least: second(36),
                several,
            },
        )
    };
    assert_eq!(next(0, 0, true), Some(second(135)));
    assert_eq!(next(1, 175, true), Some(second(54)));
    assert_eq!(next(8, 820, true), Some(second(40)));
    // Another one would not be over in time.
    assert_eq!(next(8, 825, true), None);
    assert_eq!(next(24, 100, true), None);
    // On a cluster that is there, and for a curve.
    assert_eq!(next(0, 0, false), Some(second(900)));
    assert_eq!(next(1, 60, false), None);
    // However short the search is, a life has the trials without which none is over.
    let short = |within| {
        let none = Duration::ZERO;
        let spent = Spent {
            lives: 0,
            time: none,
            beside: none,
            least: second(36),
            several: true,
        };
        next_life(second(within), &spent)
    };
    assert_eq!([180, 20].map(short), [second(36), second(20)].map(Some));
}

/// A phase in which operations come at random moments at a rate, wait for each other, and take a time that is drawn with
/// this mean: a queue of which everything is known.
fn queued(rate_per_s: f64, capacity_per_s: f64, seconds: u64, draw: &mut Draw) -> PhaseResult {
    let mut exponential = |mean: f64| -(1.0 - draw.uniform()).ln() * mean;
    let mut one = OperationInterval::default();
    let (mut now, mut free) = (0.0, 0.0_f64);
    // The queue fills before it is measured.
    let end_ns = ((seconds + 1) * SECOND_NS) as f64;
    while now < end_ns {
        now += exponential(1e9 / rate_per_s);
        let starts = free.max(now);
        free = starts + exponential(1e9 / capacity_per_s);
        if now > SECOND_NS as f64 {
            one.service.record((free - starts) as u64);
            one.response.record((free - now) as u64);
            one.offered += 1;
            one.started += 1;
            one.completed += 1;
        }
    }
    phase_of(Some(rate_per_s), seconds, one)
}

fn phase_of(rate_per_s: Option<f64>, seconds: u64, one: OperationInterval) -> PhaseResult {
    let completed = one.completed;
    let block = BTreeMap::from([("write".to_owned(), one)]);
    let measured = Measured {
        phase: &Phase {
            name: "trial".to_owned(),
            rate_per_s,
            ..Phase::default()
        },
        blocks: &[&block],
        end: &PhaseEnd {
            measured_to_ns: seconds * SECOND_NS,
            ended_ns: seconds * SECOND_NS,
            ..PhaseEnd::default()
        },
        completed_within: completed,
        growth_s: None,
        steadiness: None,
        reads: &[],
        seed: Seed(1),
    };
    PhaseResult::new(&measured, &Beside::default())
}

/// The closed loop before the trials.
fn closed(capacity_per_s: f64) -> PhaseResult {
    let one = OperationInterval {
        completed: capacity_per_s as u64 * 10,
        ..OperationInterval::default()
    };
    phase_of(None, 10, one)
}

fn capacity_of(phases: &[PhaseResult]) -> f64 {
    capacity(phases).expect("a closed loop")
}

/// A life's phases, to its end.
fn life(search: &Search, capacity: f64, draw: &mut Draw) -> (Vec<PhaseResult>, Next) {
    let mut phases = vec![closed(capacity)];
    while let Some(phase) = phase_after(search, &Phase::default(), &phases, (0, 0)) {
        let (Some(rate), Extent::DurationMs(ms)) = (phase.rate_per_s, phase.extent) else {
            panic!("a trial has a rate and a time")
        };
        phases.push(queued(rate, capacity, ms.div_ceil(1000), draw));
    }
    let end = next(search, &phases, 0);
    (phases, end)
}

#[test]
fn the_rate_of_a_queue_is_found_within_five_percent() {
    // The 99th percentile of a queue with one server is ln 100 / (capacity − rate).
    let truth = |capacity: f64| capacity - 100_f64.ln() / (BOUND_NS / 1e9);
    let mut draw = Draw::new(Seed(5));
    let search = asked();
    let mut trials = 0;
    let right = (0..20).filter(|place| {
        let capacity = 2_000.0 + 700.0 * f64::from(*place);
        let (phases, end) = life(&search, capacity, &mut draw);
        let found_one = [Next::Known, Next::TimeOver].contains(&end);
        assert!(found_one, "capacity {capacity}: {end:?}");
        trials += phases.len() - 1;
        let lives = [super::trials(&search, &phases).expect("a threshold")];
        let found = estimate(&lives, capacity).expect("trials");
        assert!(found.low_per_s < found.rate_per_s && found.rate_per_s < found.high_per_s);
        // Where to look next, and what is said in the end, are one posterior.
        let [middle] = rates_at(&lives[0], (capacity_of(&phases), None), [0.5]);
        assert!(
            (found.rate_per_s / middle - 1.0).abs() < 0.02,
            "{found:?}, {middle}"
        );
        (found.rate_per_s / truth(capacity) - 1.0).abs() < 0.05
    });
    let right = right.count();
    assert!(right >= 18, "{right} of 20");
    // By trials at the middle alone: 459.
    assert!(trials < 20 * 22, "{trials} trials");
}

/// A life with a rate: its trials hold by chance around it.
fn by_chance(center: f64, noise: f64, count: usize, draw: &mut Draw) -> Vec<Trial> {
    let mut trials: Vec<Trial> = Vec::new();
    for _ in 0..count {
        let below = super::life::share_below(trials.len());
        let [rate_per_s] = rates_at(&trials, (8_000.0, None), [below]);
        let held = Some(rate_per_s.ln() < center + noise * draw.normal());
        trials.push(Trial { rate_per_s, held });
    }
    trials
}

#[test]
fn the_rate_for_fresh_lives_holds_in_nine_of_ten() {
    let (mut kept, mut fresh) = (0, 0);
    let mut below = 0.0;
    let mut draw = Draw::new(Seed(11));
    for _ in 0..12 {
        let center = 4_000_f64.ln();
        let lives: Vec<Vec<Trial>> = (0..6)
            .map(|_| by_chance(center + 0.05 * draw.normal(), 0.02, 9, &mut draw))
            .collect();
        let all = Lives::of(&lives, 8_000.0).expect("trials");
        let middle = all.center();
        assert!(
            (middle.rate_per_s / 4_000.0 - 1.0).abs() < 0.15,
            "{middle:?}"
        );
        let rate = all.holds_with(0.9).expect("six lives");
        assert!(rate < middle.rate_per_s);
        below += rate / 4_000.0;
        for _ in 0..100 {
            let held = rate.ln() < center + 0.05 * draw.normal() + 0.02 * draw.normal();
            kept += usize::from(held);
            fresh += 1;
        }
    }
    let share = kept as f64 / f64::from(fresh);
    assert!(share > 0.87, "{share}");
    // A rate far below would hold, too, and say nothing.
    assert!(below / 12.0 > 0.8, "{below}");
}

#[test]
fn of_fewer_than_three_lives_nothing_is_predicted() {
    let mut draw = Draw::new(Seed(3));
    let lives: Vec<Vec<Trial>> = (0..2)
        .map(|_| by_chance(4_000_f64.ln(), 0.02, 9, &mut draw))
        .collect();
    let of = |lives: &[Vec<Trial>]| Lives::of(lives, 8_000.0).and_then(|all| all.holds_with(0.9));
    assert_eq!(of(&lives), None);
    assert_eq!(of(&[]), None);
    let unknown = Trial {
        rate_per_s: 1_000.0,
        held: None,
    };
    assert!(Lives::of(&[vec![unknown]], 8_000.0).is_none());
}

#[test]
fn trials_of_a_long_search_leave_a_rate_and_not_the_end_of_the_grid() {
    // As often held as not: the likelihood of so many is below the least number.
    let of = |trials: u32| -> Vec<Trial> {
        let trial = |place: u32| Trial {
            rate_per_s: 1_000.0,
            held: Some(place.is_multiple_of(2)),
        };
        (0..trials).map(trial).collect()
    };
    let found = estimate(&[of(550), of(550)], 2_000.0).expect("trials");
    assert!((900.0..1_150.0).contains(&found.rate_per_s), "{found:?}");
    assert!(found.low_per_s < found.rate_per_s && found.rate_per_s < found.high_per_s);
    assert!(found.width() < 1.6, "{found:?}");
    let [low, high] = rates_at(&of(1_100), (2_000.0, None), [0.05, 0.95]);
    assert!(900.0 < low && low < high && high < 1_150.0, "{low} {high}");
}

/// A run of these phases that searched so.
fn searched(search: &Search, phases: Vec<PhaseResult>) -> (RunPlan, RunResult) {
    let plan = RunPlan {
        search: Some(search.clone()),
        ..RunPlan::new(
            vec![([127, 0, 0, 1], 9042).into()],
            Workload::Standard1,
            vec![Phase::default()],
            Seed(1),
        )
    };
    let result = RunResult {
        format: Format::new("run", result::VERSION),
        plan_hash: plan.hash(),
        workload: plan.workload.name().to_owned(),
        seed: plan.seed,
        start_means: StartMeans::Socket,
        pacing: Pacing::Sleep,
        began_wall_ns: 1,
        generator: None,
        unchecked: vec![],
        phases,
        verdict: Verdict::Valid,
    };
    (plan, result)
}

#[test]
fn a_search_in_which_nothing_held_found_no_rate() {
    let search = asked();
    let mut draw = Draw::new(Seed(2));
    let mut phases = vec![closed(3_000.0)];
    // Two that overload the nodes, then four of too few operations to say anything.
    phases.extend([4_000.0, 4_000.0].map(|rate| queued(rate, 3_000.0, 5, &mut draw)));
    phases.extend([50.0; 4].map(|rate| queued(rate, 3_000.0, 1, &mut draw)));
    let held = |phases: &[PhaseResult]| -> Vec<Option<bool>> {
        let all = super::trials(&search, phases).expect("a threshold");
        all.iter().map(|trial| trial.held).collect()
    };
    let [no, unknown] = [Some(false), None];
    assert_eq!(held(&phases), [no, no, unknown, unknown, unknown, unknown]);
    let numbers = |phases: &[PhaseResult]| {
        let (plan, result) = searched(&search, phases.to_vec());
        let life = Life {
            run: None,
            plan: &plan,
            result: &result,
        };
        let report = Report::of(&[life], "", "");
        let of_life = report.lives[0].highest;
        assert_eq!(report.highest.is_some(), of_life.is_some());
        (found(&search, &result), of_life)
    };
    assert_eq!(numbers(&phases), (None, None));
    // One that held makes all of them an answer.
    phases.insert(3, queued(1_000.0, 3_000.0, 5, &mut draw));
    let (found, of_life) = numbers(&phases);
    assert!(found.is_some() && found == of_life, "{found:?} {of_life:?}");
}

#[test]
fn a_life_ends_where_nothing_holds_where_nothing_is_known_and_when_its_time_is_over() {
    let mut draw = Draw::new(Seed(1));
    let search = asked();
    let never = Search {
        slo: Some("p99<1us".to_owned()),
        ..search.clone()
    };
    assert_eq!(life(&never, 3_000.0, &mut draw).1, Next::NothingHolds);
    assert_eq!(next(&search, &[closed(0.0)], 0), Next::Dead);
    // Percentiles without samples enough say nothing.
    let few = || queued(50.0, 3_000.0, 1, &mut Draw::new(Seed(1)));
    let phases = [closed(3_000.0), few(), few(), few(), few()];
    assert_eq!(next(&search, &phases, 0), Next::Unknown);
    let phases = [closed(3_000.0), queued(1_000.0, 3_000.0, 5, &mut draw)];
    assert_eq!(next(&search, &phases, 2_000_000), Next::TimeOver);
    assert!(matches!(next(&search, &phases, 0), Next::Try(rate) if rate > 1_000.0));
    for end in [
        Next::TimeOver,
        Next::NothingHolds,
        Next::Unknown,
        Next::Dead,
    ] {
        assert!(end.cut_short().is_some());
    }
    assert_eq!(Next::Known.cut_short(), None);
}

#[test]
fn a_trial_lasts_as_long_as_its_percentile_needs_and_takes_other_rows() {
    let first = Phase {
        name: "main".to_owned(),
        operations: vec![Share {
            operation: "write".to_owned(),
            weight: 1,
        }],
        extent: Extent::DurationMs(20_000),
        ..Phase::default()
    };
    let phases = [closed(100.0)];
    let trial = phase_after(&asked(), &first, &phases, (0, 1_234)).expect("a trial");
    assert_eq!(trial.name, "trial 1");
    assert_eq!((trial.first, trial.warmup_ms), (1_234, 1_000));
    let rate = trial.rate_per_s.expect("a rate");
    assert!((40.0..60.0).contains(&rate), "{rate}");
    let Extent::DurationMs(ms) = trial.extent else {
        panic!("a time")
    };
    assert!((20_000..28_000).contains(&ms), "{ms}");
}

#[test]
fn a_curve_takes_rates_up_to_overload_and_has_its_knee() {
    let search = Search {
        slo: None,
        ..asked()
    };
    let mut draw = Draw::new(Seed(9));
    let (phases, end) = life(&search, 2_000.0, &mut draw);
    assert_eq!((phases.len(), end), (13, Next::Known));
    let points = curve([&phases[..]], None);
    assert_eq!(points.len(), 12);
    assert!(
        points
            .windows(2)
            .all(|two| two[0].offered_per_s <= two[1].offered_per_s)
    );
    // Kleinrock: the knee of a queue with one server is at half of its capacity.
    let knee = knee(&points).expect("a knee");
    assert!((600.0..=1_400.0).contains(&knee), "{knee}");
    assert!(super::knee(&points[..2]).is_none());
}

#[test]
fn thresholds_are_read_and_refused_with_a_cure() {
    let slo = Slo::parse(" p99 < 10ms, service.p99.9<1s,errors<0.5% ").expect("a threshold");
    assert!((slo.errors - 0.005).abs() < 1e-12);
    assert_eq!(slo.operations(), 10_000);
    assert_eq!(Slo::parse("mean<10ms").map(|slo| slo.operations()), Ok(10));
    let named = Slo::parse("read.p99<1ms,p50<1ms").expect("a threshold");
    assert_eq!(named.operations_named().collect::<Vec<_>>(), ["read"]);
    let said = |text: &str| {
        let error = Slo::parse(text).expect_err("refused");
        format!("{error}; {}", error.hint())
    };
    let all = [
        "",
        "errors<1%",
        "p99>10ms",
        "throughput<5",
        "errors<x",
        "p98<1ms",
        "p99<10",
        "p99",
    ];
    let all: Vec<String> = all.into_iter().map(said).collect();
    insta::assert_snapshot!(all.join("\n"), @r#"
    the threshold is empty; write it as 'p99<10ms' or 'p99<10ms,errors<0.1%'
    the threshold "errors<1%" has no bound of a latency; write it as 'p99<10ms' or 'p99<10ms,errors<0.1%'
    "p99>10ms" is not an upper bound of a latency; write it as 'p99<10ms' or 'p99<10ms,errors<0.1%'
    "throughput<5" is not an upper bound of a latency; write it as 'p99<10ms' or 'p99<10ms,errors<0.1%'
    "errors<x" is not a share of errors; write it as errors<0.1%
    no such measure: "p98"; did you mean p99? known: p50, p90, p95, p99, p99.9, mean, throughput, cpu, generator-cpu, max-rate
    the threshold "p99<10" has no bound: "10"; write a time with its unit, such as 20ms
    the threshold "p99" has neither < nor >; write it as "p99 < 20ms at 1000/s"
    "#);
}

#[test]
fn a_phase_holds_a_threshold_or_not_or_cannot_say() {
    let slo = Slo::parse("p99<5ms,errors<1%").expect("a threshold");
    let times = |ns: u64| {
        let mut histogram = Histogram::new();
        (0..2_000).for_each(|_| histogram.record(ns));
        histogram
    };
    let phase = |service, response, failed| {
        let one = OperationInterval {
            offered: 2_000,
            started: 2_000,
            completed: 2_000 - failed,
            failed: [(crate::sample::FailureKind::ClientTimeout, failed)].into(),
            service: times(service),
            response: times(response),
            ..OperationInterval::default()
        };
        slo.held_by(&phase_of(Some(1_000.0), 2, one))
    };
    assert_eq!(phase(1_000_000, 4_000_000, 0), Held::Yes);
    assert_eq!(phase(1_000_000, 4_000_000, 19), Held::Yes);
    assert_eq!(
        phase(1_000_000, 4_000_000, 40),
        Held::No("2.0 % failed".to_owned())
    );
    assert!(
        matches!(phase(1_000_000, 6_000_000, 0), Held::No(why) if why.starts_with("p99 6.0 ms"))
    );
    let empty = phase_of(Some(10.0), 1, OperationInterval::default());
    assert!(matches!(slo.held_by(&empty), Held::Unknown(_)));
}
