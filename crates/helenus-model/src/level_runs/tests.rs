//! Tables of made-up runs, whose differences are known.
//! Refuses real runs.

use super::*;
use crate::doubt::{Doubt, DoubtKind, Severity, Verdict};
use crate::histogram::Histogram;
use crate::levels::{Distance, Scene, cell};
use crate::result::{Distribution, OperationResult, PhaseResult};
use crate::run_plan::Pacing;
use crate::sample::Standing;
use crate::seed::Seed;
use Consistency::{EachQuorum, LocalQuorum, Quorum};

/// A thousand times around a median.
fn times(ms: f64) -> Option<Distribution> {
    let mut histogram = Histogram::new();
    for k in 0..1000 {
        let share = 0.9 + f64::from(k) / 5000.0;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "below a second"
        )]
        histogram.record((ms * 1e6 * share) as u64);
    }
    Distribution::of(&histogram)
}

fn result(kind: Kind, ms: f64) -> RunResult {
    let one = |n| OperationResult {
        completed: n,
        service: times(ms / 2.0),
        response: times(ms),
        ..OperationResult::default()
    };
    let each = kind.operations().iter();
    RunResult {
        format: Format::new("run", 1),
        plan_hash: "hash".to_owned(),
        workload: "levels".to_owned(),
        seed: Seed(1),
        start_means: StartMeans::DriverCall,
        pacing: Pacing::Sleep,
        began_wall_ns: 0,
        generator: None,
        unchecked: vec![],
        phases: vec![PhaseResult {
            name: kind.word().to_owned(),
            rate_per_s: Some(100.0),
            achieved_per_s: 100.0,
            in_flight: 64,
            duration_s: 10.0,
            thread_busy: 0.1,
            backlog: 0,
            abandoned: 0,
            standing: Standing::default(),
            total: one(1000),
            operations: each
                .map(|(name, weight)| ((*name).to_owned(), one(u64::from(*weight) * 250)))
                .collect(),
            first_failures: BTreeMap::new(),
            steadiness: None,
            around: crate::result::Around::default(),
            doubts: vec![],
            verdict: Verdict::Valid,
        }],
        verdict: Verdict::Valid,
    }
}

fn run(kind: Kind, level: Consistency, again: bool, repeat: u32, ms: f64) -> CellRun {
    let scene = Scene::wan();
    let replicas = scene.places.iter().map(|p| (p.name.clone(), p.replicas));
    let round_trips = scene
        .places
        .iter()
        .map(|p| (p.name.clone(), p.round_trip_us));
    CellRun {
        run: format!("{}-{again}-{repeat}", level.word()),
        cell: Cell {
            comparison: "lv-1".into(),
            repeat,
            level,
            again,
            reference: LocalQuorum,
            workload: kind,
            distance: Distance::as_they_are(),
            round_trips_us: round_trips.collect(),
            load: Load::Rate(100.0),
            client_dc: "DC1".into(),
            replicas: replicas.collect(),
            tcp_nodelay: Some(true),
            predicted: cell::predict(&scene, kind, level).expect("legal"),
        },
        result: result(kind, ms),
    }
}

/// Two repeats of three levels, the second a little slower.
fn runs() -> Vec<CellRun> {
    let of = |repeat: u32, more: f64| {
        [
            run(Kind::Write, EachQuorum, false, repeat, 83.0 + more),
            run(Kind::Write, LocalQuorum, false, repeat, 2.0 + more),
            run(Kind::Write, Quorum, false, repeat, 23.0 + more),
            run(Kind::Write, LocalQuorum, true, repeat, 2.2 + 2.0 * more),
        ]
    };
    [of(0, 0.0), of(1, 0.4)].concat()
}

#[test]
fn differences_are_taken_repeat_by_repeat_and_stand_beside_the_prediction() {
    let table = table(runs()).expect("one start").expect("runs");
    let rows: Vec<(Consistency, bool)> = table.rows.iter().map(|r| (r.level, r.again)).collect();
    assert_eq!(
        rows,
        [
            (LocalQuorum, false),
            (LocalQuorum, true),
            (Quorum, false),
            (EachQuorum, false)
        ]
    );
    assert_eq!((table.repeats, table.left_out.len()), (2, 0));
    let of = |place: usize| table.rows[place].difference.clone();
    assert_eq!(of(0), None);
    let near = |found: f64, wanted: f64| (found - wanted).abs() < 0.05;
    let quorum = of(2).expect("a difference");
    // 21 ms in both repeats: what both share is no part of it.
    assert!(near(quorum.mean_ms, 21.0), "{quorum:?}");
    assert_eq!(quorum.predicted_ms, Some([20.0, 20.0]));
    assert!(near(quorum.parts_by_ms.expect("a prediction"), 1.0));
    let [low, high] = quorum.interval_ms.expect("two repeats");
    assert!(
        low < 21.0 && high > 21.0 && high - low < 1.0,
        "{low} {high}"
    );
    // The noise of two cells of one level: 0.2 and 0.6 ms.
    let again = of(1).expect("a difference");
    assert!(near(again.mean_ms, 0.4) && again.predicted_ms == Some([0.0, 0.0]));
    let [low, high] = again.interval_ms.expect("two repeats");
    assert!(low < 0.0 && high > 2.0, "{low} {high}");
    let row = &table.rows[3];
    assert!(near(row.op_rate, 25.0), "{}", row.op_rate);
    assert!(near(row.latency.median_ms.expect("a median"), 83.2));
}

#[test]
fn a_mix_has_rows_by_operation_and_closed_loops_are_given_by_service_time() {
    let mut mixed = run(Kind::Mixed, Quorum, false, 0, 40.0);
    mixed.cell.load = Load::Closed(50);
    let table = table(vec![mixed]).expect("one start").expect("a run");
    let names: Vec<&str> = table.rows.iter().map(|r| r.operation.as_str()).collect();
    assert_eq!(names, [ALL, "read", "write"]);
    assert!(table.rows[0].predicted.is_none() && table.rows[1].predicted.is_some());
    let median = table.rows[0].latency.median_ms.expect("a median");
    assert!((median - 20.0).abs() < 0.5, "{median}");
    // There is no run of the reference to compare with.
    assert!(table.rows.iter().all(|row| row.difference.is_none()));
}

/// A doubt with today's words, stored with this severity.
fn doubt(kind: DoubtKind, severity: Severity) -> Doubt {
    Doubt {
        kind,
        severity,
        measured: 2.0,
        threshold: 1.0,
        unit: "s".into(),
        text: kind.text().into(),
        cure: kind.cure().into(),
        about: None,
    }
}

/// So many repeats of two levels 20 ms apart, with some noise.
fn repeats(count: u32) -> Vec<CellRun> {
    let of = |repeat: u32| {
        let more = f64::from(repeat % 3) / 10.0;
        [
            run(Kind::Write, LocalQuorum, false, repeat, 2.0),
            run(Kind::Write, Quorum, false, repeat, 22.0 + more),
            run(Kind::Write, EachQuorum, false, repeat, 32.0 - more),
        ]
    };
    (0..count).flat_map(of).collect()
}

fn difference(table: &Table, level: Consistency) -> Option<Difference> {
    let row = table.rows.iter().find(|row| row.level == level);
    row.and_then(|row| row.difference.clone())
}

#[test]
fn what_must_not_be_believed_is_left_out_with_its_reason() {
    let mut runs = runs();
    let place = runs.iter().position(|r| r.cell.level == Quorum);
    let spoilt = &mut runs[place.expect("a run")].result.phases[0].doubts;
    // What counts is the severity of today, not the stored one.
    spoilt.push(doubt(DoubtKind::NodeDied, Severity::Caution));
    let table = table(runs).expect("one start").expect("runs");
    assert_eq!(table.left_out.len(), 1);
    assert_eq!(table.left_out[0].cell, "QUORUM write at links, 100/s");
    assert_eq!(table.left_out[0].why, DoubtKind::NodeDied.text());
    let difference = difference(&table, Quorum).expect("one repeat");
    assert_eq!(difference.by_repeat_ms.len(), 1);
    assert_eq!(difference.interval_ms, None);
}

#[test]
fn a_run_in_which_the_nodes_fell_behind_is_data() {
    let mut runs = repeats(8);
    for run in runs.iter_mut().filter(|r| r.cell.level == Quorum).take(2) {
        let doubts = &mut run.result.phases[0].doubts;
        doubts.push(doubt(DoubtKind::BehindSchedule, Severity::Disqualifying));
    }
    let table = table(runs).expect("one start").expect("runs");
    assert_eq!(table.left_out, []);
    let row = table.rows.iter().find(|row| row.level == Quorum);
    let row = row.expect("a row");
    assert_eq!((row.runs.len(), row.behind), (8, 2));
    assert_eq!(row.cells()[0], "QUORUM (behind in 2 of 8)");
    // The six repeats that are left are those in which it had luck: no claim.
    let own = row.difference.clone().expect("six repeats");
    assert_eq!((own.by_repeat_ms.len(), own.p_holm), (6, None));
    assert!(!own.is_claim() && difference(&table, EachQuorum).is_some_and(|d| d.is_claim()));
    let said = table.conclusion().headline;
    let behind = "QUORUM fell behind its schedule in 2 of 8 runs (write at links); ";
    assert!(said.starts_with(behind), "{said}");
}

#[test]
fn a_late_generator_widens_the_interval_and_drops_no_run() {
    let exact = table(repeats(8)).expect("one start").expect("runs");
    let mut runs = repeats(8);
    for run in runs.iter_mut().filter(|r| r.cell.level == Quorum) {
        let doubts = &mut run.result.phases[0].doubts;
        doubts.push(doubt(DoubtKind::GeneratorLate, Severity::Disqualifying));
    }
    let late = table(runs).expect("one start").expect("runs");
    assert_eq!(late.left_out, []);
    let ends = |table: &Table| {
        let own = difference(table, Quorum).expect("a difference");
        own.interval_ms.expect("eight repeats")
    };
    let ([low, high], [wide_low, wide_high]) = (ends(&exact), ends(&late));
    // Its service time is half of its response time: 11 ms instead of 22.
    assert!(
        wide_low < low - 10.0 && wide_high >= high,
        "{wide_low} {wide_high}"
    );
}

#[test]
fn intervals_beside_claims_hold_together_and_the_rule_is_stated_once() {
    let all = table(repeats(8)).expect("one start").expect("runs");
    let own = difference(&all, Quorum).expect("a difference");
    let alone = crate::stats::interval(&own.by_repeat_ms).expect("eight");
    // Two levels are looked at.
    assert_eq!(own.interval_ms, Some(alone.ends(0.05 / 2.0)));
    assert!(own.is_claim() && own.p_holm >= Some(alone.p(0.0)));
    let rule = all.rule().expect("a rule");
    assert!(
        rule.starts_with("claims are made of 2 differences from LOCAL_QUORUM, "),
        "{rule}"
    );
    // Of fewer than six repeats nothing is claimed: each interval is one alone.
    let few = table(repeats(5)).expect("one start").expect("runs");
    let own = difference(&few, Quorum).expect("a difference");
    let alone = crate::stats::interval(&own.by_repeat_ms).expect("five");
    assert_eq!(
        (own.interval_ms, own.p_holm),
        (Some(alone.ends(0.05)), None)
    );
    assert_eq!(few.rule(), None);
}

#[test]
fn no_run_is_no_table() {
    assert_eq!(table(vec![]), Ok(None));
}

#[test]
fn runs_of_different_starts_make_no_table() {
    let mut runs = runs();
    runs[1].result.start_means = StartMeans::Socket;
    let error = table(runs).expect_err("refused");
    assert_eq!(
        error.to_string(),
        "EACH_QUORUM-false-0 and LOCAL_QUORUM-false-0 measure times from different starts: driver-call and socket"
    );
}

#[test]
fn the_table_has_the_calibration_of_its_runs_highest_rate() {
    let mut runs = runs();
    let step = |rate| crate::calibration::Step {
        rate_per_s: Some(rate),
        in_flight: 1024,
        achieved_per_s: rate,
        cpu_us: 20.0,
        late_us: [Some(40.0), Some(90.0)],
        response_us: Some([Some(60.0), Some(200.0)]),
        service_us: [Some(30.0), Some(100.0)],
    };
    for (run, rate) in runs.iter_mut().zip([1000.0, 10_000.0]) {
        run.result.phases[0].around.calibration = Some(step(rate));
    }
    let table = table(runs).expect("one start").expect("runs");
    assert_eq!(table.calibration, Some(step(10_000.0)));
}
