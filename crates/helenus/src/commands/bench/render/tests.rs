//! Lines below the table of a result: failures, rows, steadiness, and why more was done than offered.

use super::*;
use helenus_model::doubt::{OutsideFacts, PhaseFacts, judge};
use helenus_model::result::{Beside, Measured};
use helenus_model::run_plan::{Pacing, Phase};
use helenus_model::sample::{FailureKind, OperationInterval, PhaseEnd, StartMeans};
use helenus_model::seed::Seed;
use helenus_model::steady::{Steadiness, SteadyState};
use std::collections::BTreeMap;

fn phase(failed: &[(FailureKind, u64)]) -> PhaseResult {
    let mut one = OperationInterval {
        failed: failed.iter().copied().collect(),
        ..OperationInterval::default()
    };
    one.offered = one.failed.values().sum();
    for _ in 0..one.offered {
        one.service.record(3_000_000);
    }
    of(one)
}

fn of(one: OperationInterval) -> PhaseResult {
    of_all(&BTreeMap::from([("write".to_owned(), one)]))
}

fn of_all(merged: &BTreeMap<String, OperationInterval>) -> PhaseResult {
    let end = PhaseEnd {
        measured_to_ns: 1_000_000_000,
        ended_ns: 1_000_000_000,
        first_failures: BTreeMap::from([
            (FailureKind::WriteTimeout, "1 of 2 answered".to_owned()),
            (FailureKind::Connection, "reset".to_owned()),
        ]),
        ..PhaseEnd::default()
    };
    let plan = Phase::steady("write", 2000.0, 64, 10_000);
    let measured = Measured {
        phase: &plan,
        blocks: &[merged],
        end: &end,
        completed_within: 0,
        growth_s: None,
        steadiness: None,
        reads: &[],
        seed: Seed(1),
    };
    PhaseResult::new(&measured, &Beside::default())
}

#[test]
fn failures_are_shown_with_the_first_of_the_most_frequent() {
    let failed = [
        (FailureKind::Connection, 3),
        (FailureKind::WriteTimeout, 1200),
    ];
    insta::assert_snapshot!(failures(&[phase(&failed), phase(&[])]), @"failed in write: write_timeout 1,200, connection 3 (first: 1 of 2 answered)");
}

#[test]
fn operations_that_all_failed_have_no_percentiles() {
    let failed = phase(&[(FailureKind::Unavailable, 1200)]);
    insta::assert_snapshot!(latencies(&[failed], true), @"
    phase  op  offered  done  failed  op/s  time  p50  p95  p99  p99.9  max
    write        1,200     0   1,200     0          –    –    –      –    –
    times in ms; – is a percentile with fewer than 10 samples above it, or of operations none of which completed
    ");
}

#[test]
fn a_range_over_partitions_counts_rows_only() {
    let read = |partitions| {
        let one = OperationInterval {
            completed: 500,
            partitions,
            rows: 4963,
            ..OperationInterval::default()
        };
        touched(&[of(one)])
    };
    insta::assert_snapshot!(read(500), @"write: 4,963 rows in 500 partitions, 4,963 row/s, 500 partition/s");
    insta::assert_snapshot!(read(0), @"write: 4,963 rows, 4,963 row/s");
}

#[test]
fn more_done_than_offered_has_a_reason() {
    let done = |completed| {
        let one = OperationInterval {
            offered: 2000,
            completed,
            ..OperationInterval::default()
        };
        above_offered(&[of(one)])
    };
    assert_eq!(done(2000), "");
    let said = "more operations ended than were offered in write: those still in flight after the warm-up count where they end\n";
    assert_eq!(done(2003), said);
}

#[test]
fn a_phase_in_which_a_node_died_is_not_called_steady() {
    let mut one = phase(&[]);
    one.steadiness = Some(Steadiness {
        state: SteadyState::Steady,
        ..helenus_model::steady::judge(&[], 5.0, true)
    });
    let alone = [one.clone()];
    assert_eq!(steadiness(&alone), ["write: steady"]);
    let two = [one.clone(), one.clone()];
    assert_eq!(steadiness(&two), ["write, write: steady"]);
    let outside = OutsideFacts {
        nodes_died: vec!["node1".to_owned()],
        ..OutsideFacts::default()
    };
    one.doubts = judge(&PhaseFacts::default(), &outside);
    let line = "write: service times stayed on one level, but a node died or restarted (node1)";
    assert_eq!(steadiness(&[one]), [line]);
}

#[test]
fn a_row_an_operation_unless_all_is_asked_for() {
    let mut one = OperationInterval {
        offered: 2000,
        completed: 2000,
        ..OperationInterval::default()
    };
    for _ in 0..2000 {
        one.service.record(600_000);
        one.response.record(700_000);
    }
    let phases = [of(one)];
    let rows = |detail| latencies(&phases, detail).lines().count();
    assert_eq!((rows(false), rows(true)), (3, 4));
}

#[test]
fn a_first_summary_with_two_cautions_takes_fifteen_lines() {
    let one = OperationInterval {
        offered: 2000,
        completed: 2000,
        ..OperationInterval::default()
    };
    let both = ["read", "write"].map(|name| (name.to_owned(), one.clone()));
    let mut phases = vec![of(one.clone()), of(one), of_all(&BTreeMap::from(both))];
    let facts = PhaseFacts {
        duration_s: 9.0,
        ended: 100_000,
        p99_half_width: Some(1.45),
        ..PhaseFacts::default()
    };
    for (phase, name) in phases.iter_mut().zip(["write", "read", "mixed"]) {
        phase.name = name.to_owned();
        phase.doubts = judge(&facts, &OutsideFacts::default());
        assert_eq!(phase.doubts.len(), 2);
        phase.steadiness = Some(Steadiness {
            state: SteadyState::Steady,
            ..helenus_model::steady::judge(&[], 5.0, true)
        });
    }
    let summary = RunResult {
        format: Format::new("run", 1),
        plan_hash: String::new(),
        workload: "standard1".to_owned(),
        seed: Seed(1),
        start_means: StartMeans::Socket,
        pacing: Pacing::Sleep,
        began_wall_ns: 0,
        generator: None,
        unchecked: Vec::new(),
        phases,
        verdict: Verdict::Caution,
    };
    let below = result(&summary, &[], Some("r1"), false);
    // Above it are the headline and an empty line.
    assert_eq!(below.lines().count() + 2, 15, "{below}");
}
