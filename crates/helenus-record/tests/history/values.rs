//! Plans, intervals and results to store.
//! Refuses randomness: the same call gives the same value.

use helenus_model::comparison::Comparison;
use helenus_model::doubt::OutsideFacts;
use helenus_model::format::Format;
use helenus_model::result::{Beside, Measured, PhaseResult, RunResult};
use helenus_model::run_plan::{Consistency, Pacing, Phase, RunPlan};
use helenus_model::sample::{
    self, FailureKind, Footer, Header, Interval, OperationInterval, PhaseEnd, Standing, StartMeans,
    Stretch,
};
use helenus_model::seed::Seed;
use helenus_model::workload::Workload;
use helenus_record::{ExperimentBeginning, ExperimentId, History, RunBeginning};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// A seed that needs all 64 bits.
pub(crate) const SEED: Seed = Seed(u64::MAX - 6);

pub(crate) fn plan(seed: Seed) -> RunPlan {
    let mut closed = Phase::steady("read", 1.0, 8, 1000);
    closed.rate_per_s = None;
    RunPlan {
        local_data_centre: Some("datacenter1".to_owned()),
        consistency: Consistency::LocalQuorum,
        ..RunPlan::new(
            vec![SocketAddr::from(([127, 0, 0, 1], 9042))],
            Workload::Standard1,
            vec![Phase::steady("write", 2000.0, 64, 2_000), closed],
            seed,
        )
    }
}

pub(crate) fn host() -> Value {
    json!({"format": "helenus.host/1", "cpus": 2})
}

pub(crate) fn beginning<'a>(plan: &'a RunPlan, host: &'a Value) -> RunBeginning<'a> {
    RunBeginning {
        plan,
        release: Some("5.0.9"),
        preset: Some("small"),
        jvm: Some("17.0.12+7"),
        host,
        cluster_plan: None,
        life: None,
        helenus_version: "0.1.0",
        command: "helenus bench write --rate 2000",
        began_wall_ns: 1_750_000_000_000_000_000,
        tag: None,
        place: None,
    }
}

/// Second `n` of a phase; the first phase is on a schedule, the second is not.
pub(crate) fn interval(phase: usize, n: u64) -> Interval {
    let mut one = OperationInterval {
        offered: 2001,
        started: 2001,
        completed: 2000,
        failed: BTreeMap::from([(FailureKind::WriteTimeout, 1)]),
        partitions: 2000,
        rows: 6000,
        ..OperationInterval::default()
    };
    for i in 0..2000 {
        one.service.record(400_000 + i * 100 + n);
        one.lateness.record(50_000);
        if phase == 0 {
            one.response.record(500_000 + i * 100 + n);
            one.slot_wait.record(1000);
            one.wait.record(51_000);
        }
    }
    let name = if phase == 0 { "write" } else { "read" };
    Interval {
        phase,
        stretch: if n == 0 {
            Stretch::Warmup
        } else {
            Stretch::Measured
        },
        start_ns: n * 1_000_000_000,
        end_ns: (n + 1) * 1_000_000_000,
        thread_cpu_ns: 12_345_678,
        operations: BTreeMap::from([(name.to_owned(), one)]),
        tenths: Vec::new(),
        slowest: Vec::new(),
        traced: Vec::new(),
        coordinators: BTreeMap::new(),
    }
}

pub(crate) fn header(plan: &RunPlan) -> Header {
    Header {
        format: Format::new("sample", sample::VERSION),
        plan_hash: plan.hash(),
        monotonic_ns: 77,
        wall_ns: 1_750_000_000_500_000_000,
        start_means: StartMeans::DriverCall,
        pacing: Pacing::Sleep,
        timer_resolution_ns: 1,
        pid: 4242,
        cpus: vec![0, 1],
        beside: vec![],
        unchecked: vec![],
    }
}

fn phase(plan: &RunPlan, place: usize) -> PhaseResult {
    let blocks: Vec<_> = (1..3).map(|n| interval(place, n).operations).collect();
    let end = PhaseEnd {
        phase: place,
        measured_from_ns: 1_000_000_000,
        measured_to_ns: 3_000_000_000,
        ended_ns: 3_000_100_000,
        backlog: 3,
        abandoned: 1,
        cut_off: 0,
        thread_cpu_ns: 300_000_000,
        threads_cpu_ns: 0,
        clock_step_ns: 12,
        stopped_early: false,
        connections_lost: 2,
        standing: Standing {
            timer_slack_ns: Some(50_000),
            ..Standing::default()
        },
        first_failures: BTreeMap::from([(FailureKind::WriteTimeout, "1 of 2 answered".to_owned())]),
    };
    let outside = OutsideFacts {
        nodes_died: vec!["n2".to_owned()],
        steal_share: Some(0.1),
        ..OutsideFacts::default()
    };
    let measured = Measured {
        phase: &plan.phases[place],
        blocks: &blocks.iter().collect::<Vec<_>>(),
        end: &end,
        completed_within: 120_000,
        growth_s: None,
        steadiness: None,
        reads: &[],
        seed: SEED,
    };
    let beside = Beside {
        outside,
        ..Beside::default()
    };
    PhaseResult::new(&measured, &beside)
}

/// A result with both phases, failures, and doubts of both severities.
pub(crate) fn result(plan: &RunPlan) -> RunResult {
    let footer = Footer {
        user_cpu_us: 200_000,
        system_cpu_us: 100_001,
        max_rss_bytes: 30 << 20,
        voluntary_switches: 4000,
        involuntary_switches: 7,
        monotonic_ns: 3_000_200_000,
        wall_ns: 1_750_000_003_500_000_000,
    };
    let phases = (0..plan.phases.len())
        .map(|place| phase(plan, place))
        .collect();
    RunResult::new(plan, &header(plan), phases, Some(&footer), 8004)
}

/// A comparison of two runs: side by side, and nothing claimed.
pub(crate) fn comparison() -> Comparison {
    let json = json!({
        "format": "helenus.comparison/1",
        "a": {"label": "before", "runs": ["r1"]},
        "b": {"label": "after", "runs": ["r2"]},
        "start_means": "driver-call",
        "pairs": [{"a": ["r1"], "b": ["r2"], "a_first": true}],
        "stopping": null,
        "rows": [],
    });
    serde_json::from_value(json).expect("a comparison")
}

/// An experiment with these trials, none of whose runs is planned.
pub(crate) fn experiment(history: &mut History, name: &str, trials: &[&str]) -> ExperimentId {
    let beginning = ExperimentBeginning {
        name,
        text: "",
        folder: "",
        command: "",
        seed: Seed(7),
        trials,
        began_wall_ns: 1_750_000_000_000_000_000,
    };
    let planned = history.plan_experiment(&beginning, &[]);
    planned.expect("plans")
}
