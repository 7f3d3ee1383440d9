//! Intervals merged into phases: counts, percentiles, what is doubted and what is not called steady.

use super::*;
use crate::comparison::{ALL, Measure};
use crate::doubt::DoubtKind;

fn second_of_writes() -> OperationInterval {
    let mut one = OperationInterval {
        offered: 2000,
        started: 2000,
        completed: 2000,
        ..OperationInterval::default()
    };
    for i in 0..2000_u64 {
        one.service.record(400_000 + i * 100);
        one.response.record(500_000 + i * 100);
        one.lateness.record(50_000);
        one.slot_wait.record(0);
    }
    one
}

fn end(seconds: u64) -> PhaseEnd {
    PhaseEnd {
        measured_from_ns: 5_000_000_000,
        measured_to_ns: (5 + seconds) * 1_000_000_000,
        ended_ns: (5 + seconds) * 1_000_000_000 + 1,
        thread_cpu_ns: 300_000_000,
        clock_step_ns: 12,
        ..PhaseEnd::default()
    }
}

fn result(
    phase: &Phase,
    blocks: &[&BTreeMap<String, OperationInterval>],
    end: &PhaseEnd,
) -> PhaseResult {
    let measured = Measured {
        phase,
        blocks,
        end,
        completed_within: blocks
            .iter()
            .flat_map(|block| block.values())
            .map(|one| one.completed)
            .sum(),
        growth_s: None,
        steadiness: None,
        reads: &["read".to_owned()],
        seed: Seed(1),
    };
    PhaseResult::new(&measured, &Beside::default())
}

#[test]
fn seconds_merge_into_a_phase() {
    let second = BTreeMap::from([("write".to_owned(), second_of_writes())]);
    let phase = Phase::steady("write", 2000.0, 64, 10_000);
    let result = result(&phase, &[&second; 10], &end(10));
    assert_eq!(result.verdict, Verdict::Valid);
    assert_eq!(result.total.offered, 20_000);
    assert!((result.achieved_per_s - 2000.0).abs() < 1e-9);
    assert!((result.thread_busy - 0.03).abs() < 1e-9);
    let service = result.operations["write"].service.as_ref().expect("ended");
    assert_eq!(service.count, 20_000);
    assert!(service.p999_us.is_some() && service.p9999_us.is_none());
    let json = serde_json::to_string(&result).expect("writes");
    let read: PhaseResult = serde_json::from_str(&json).expect("reads");
    assert_eq!(read.total.service.map(|s| s.count), Some(20_000));
}

#[test]
fn cpu_of_the_generator_is_that_of_all_its_processes() {
    let second = BTreeMap::from([("write".to_owned(), second_of_writes())]);
    let phase = Phase::steady("write", 2000.0, 64, 10_000);
    let each = |end: &PhaseEnd, generator_processors: Option<f64>| {
        let around = Around {
            generator_processors,
            ..Around::default()
        };
        let measured = Measured {
            phase: &phase,
            blocks: &[&second; 10],
            end,
            completed_within: 20_000,
            growth_s: None,
            steadiness: None,
            reads: &[],
            seed: Seed(1),
        };
        let beside = Beside {
            around,
            ..Beside::default()
        };
        let result = PhaseResult::new(&measured, &beside);
        let cpu_us = Measure::GeneratorCpu.value(&result, ALL).expect("ended");
        (result.thread_busy, cpu_us)
    };
    // The busiest of four threads was busy for 9 of 10 s; 2.5 processors were, in all processes with all their threads.
    let mut end = end(10);
    end.thread_cpu_ns = 9_000_000_000;
    assert_eq!(each(&end, Some(2.5)), (0.9, 1250.0));
    // Without telemetry, on other machines: what the threads say together.
    end.threads_cpu_ns = 22_000_000_000;
    assert_eq!(each(&end, None), (0.9, 1100.0));
    // An older generator said nothing but this.
    end.threads_cpu_ns = 0;
    assert_eq!(each(&end, None), (0.9, 450.0));
}

#[test]
fn a_read_that_never_finds_a_row_is_doubted() {
    let phase = Phase::steady("main", 2000.0, 64, 10_000);
    let doubts = |name: &str, rows| {
        let mut one = second_of_writes();
        one.rows = rows;
        let second = BTreeMap::from([(name.to_owned(), one)]);
        let result = result(&phase, &[&second; 10], &end(10));
        let named = result.doubts.iter().map(Doubt::line);
        named.collect::<Vec<_>>()
    };
    assert_eq!(doubts("read", 0), ["no read found a row (read)"]);
    assert_eq!(doubts("read", 1), [""; 0]);
    assert_eq!(doubts("write", 0), [""; 0]);
}

#[test]
fn one_level_of_times_is_not_steady_where_a_node_died_or_a_backlog_grew() {
    let second = BTreeMap::from([("write".to_owned(), second_of_writes())]);
    let phase = Phase::steady("write", 2000.0, 64, 10_000);
    let against = |outside: OutsideFacts, growth_s| {
        let end = end(10);
        let measured = Measured {
            phase: &phase,
            blocks: &[&second; 10],
            end: &end,
            completed_within: 20_000,
            growth_s,
            steadiness: None,
            reads: &[],
            seed: Seed(1),
        };
        let beside = Beside {
            outside,
            ..Beside::default()
        };
        let result = PhaseResult::new(&measured, &beside);
        result.against_steady().map(|doubt| doubt.kind)
    };
    let fault = |share| OutsideFacts {
        faults: BTreeMap::from([("kill node1".to_owned(), share)]),
        ..OutsideFacts::default()
    };
    let died = OutsideFacts {
        nodes_died: vec!["node1".to_owned()],
        ..OutsideFacts::default()
    };
    assert_eq!(against(OutsideFacts::default(), None), None);
    assert_eq!(against(died, None), Some(DoubtKind::NodeDied));
    assert_eq!(against(fault(0.4), None), Some(DoubtKind::Fault));
    assert_eq!(against(fault(1.0), None), None);
    let grew = against(OutsideFacts::default(), Some(3.0));
    assert_eq!(grew, Some(DoubtKind::BehindSchedule));
}

#[test]
fn operations_that_all_failed_have_no_times() {
    let mut one = second_of_writes();
    assert_eq!(OperationResult::of(&one).times().count(), 2);
    one.failed = BTreeMap::from([(FailureKind::Unavailable, one.completed)]);
    one.completed = 0;
    assert_eq!(OperationResult::of(&one).times().count(), 0);
}

#[test]
fn a_closed_loop_has_no_response_time() {
    let mut one = second_of_writes();
    one.response.clear();
    one.slot_wait.clear();
    let mut phase = Phase::steady("write", 1.0, 64, 1000);
    phase.rate_per_s = None;
    let second = BTreeMap::from([("write".to_owned(), one)]);
    let result = result(&phase, &[&second], &end(1));
    assert_eq!(result.total.response, None);
    assert_eq!(result.total.slot_wait, None);
    let json = serde_json::to_value(&result).expect("writes");
    assert!(json["total"]["response"].is_null());
    let kinds: Vec<_> = result.doubts.iter().map(|d| d.kind).collect();
    assert_eq!(kinds, [DoubtKind::Short]);
}

#[test]
fn the_only_operation_has_the_interval_of_the_whole() {
    let seconds: Vec<_> = (0..12_u64)
        .map(|second| {
            let mut one = second_of_writes();
            (0..200).for_each(|i| {
                one.service
                    .record(50_000_000 + second * second % 7 * 5_000_000 + i)
            });
            BTreeMap::from([("write".to_owned(), one)])
        })
        .collect();
    let refs: Vec<_> = seconds.iter().collect();
    let phase = Phase::steady("write", 2000.0, 64, 12_000);
    let result = result(&phase, &refs, &end(12));
    let [low, high] = of(&result.total).expect("an interval");
    assert!(low < high);
    assert_eq!(of(&result.operations["write"]), Some([low, high]));

    fn of(result: &OperationResult) -> Option<[f64; 2]> {
        result.service.as_ref()?.confidence?.p99_us
    }
}

#[test]
fn confidence_comes_from_blocks_and_stays_with_its_percentiles() {
    let blocks: Vec<Histogram> = (0..12_u64)
        .map(|second| {
            let mut one = Histogram::new();
            (0..200).for_each(|i| one.record(400_000 + second * second % 7 * 5_000 + i * 1_000));
            one
        })
        .collect();
    let refs: Vec<&Histogram> = blocks.iter().collect();
    let mut merged = Histogram::new();
    refs.iter().for_each(|one| merged.merge(one));
    let whole = Distribution::of(&merged).expect("samples");
    let found = Confidence::of(&refs, Seed(1)).expect("enough blocks");
    assert_eq!(found.blocks, 12);
    let p99 = whole.p99_us.expect("24 above");
    let [low, high] = found.p99_us.expect("24 above");
    assert!(
        low <= p99 && p99 <= high && high - low < 30.0,
        "{low} {p99} {high}"
    );
    let [low, high] = found.mean_us.expect("samples");
    assert!(low < whole.mean_us && whole.mean_us < high && high - low < 30.0);
    assert_eq!((found.p999_us, found.p9999_us), (None, None));
    assert_eq!(Confidence::of(&refs[..4], Seed(1)), None);
    assert_eq!(Confidence::of(&refs, Seed(1)), Some(found));
}
