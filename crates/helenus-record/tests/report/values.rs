//! Synthetic runs and comparisons for reports: long and short, with every kind of event, doubt and name.
//! Refuses chance: the same call gives the same value.

use helenus_model::comparison::{
    self, Bar, BarAnswer, Caution, Claim, Comparison, Difference, Estimate, LeftOut, Measure, Pair,
    Row, Side, Stopping,
};
use helenus_model::doubt::OutsideFacts;
use helenus_model::format::Format;
use helenus_model::result::{
    Around, Beside, Confidence, Distribution, Measured, PhaseResult, RunResult,
};
use helenus_model::run_plan::{Pacing, Phase, RunPlan, Share};
use helenus_model::sample::{
    self, FailureKind, Footer, Header, Interval, OperationInterval, PhaseEnd, StartMeans, Stretch,
};
use helenus_model::seed::{Seed, mix};
use helenus_model::steady::{Steadiness, SteadyState};
use helenus_model::telemetry::{
    CompactionSample, Event, EventKind, GENERATOR, GeneratorSample, HOST, HostSample, NodeSample,
    PoolSample, Reading, Seen,
};
use helenus_model::workload::Workload;
use helenus_record::report::RunReport;
use helenus_record::{ExperimentId, RunPlacement, RunState, RunSummary, StoredRun};
use serde_json::json;
use std::collections::BTreeMap;

const S: u64 = 1_000_000_000;

/// The generator's clock at the first interval.
const BEGIN: u64 = 5_000 * S;

/// A run with all that belongs to it.
pub(crate) struct Synthetic {
    pub(crate) run: StoredRun,
    pub(crate) intervals: Vec<Interval>,
    pub(crate) readings: Vec<Reading>,
}

impl Synthetic {
    pub(crate) fn report(&self) -> RunReport<'_> {
        RunReport {
            run: &self.run,
            intervals: &self.intervals,
            readings: &self.readings,
        }
    }
}

/// A number from 0 to 1.
fn chance(n: u64) -> f64 {
    (mix(n) >> 11) as f64 / (1_u64 << 53) as f64
}

/// A run of one phase after the other, `seconds` each, with samples for each operation and second.
pub(crate) fn run(phases: &[&str], seconds: u64, samples: u64) -> Synthetic {
    let plan = plan(phases, seconds);
    let mut intervals = Vec::new();
    for (place, phase) in plan.phases.iter().enumerate() {
        let warm_up = phase.warmup_ms / 1000;
        let length = warm_up + seconds;
        for n in 0..length {
            let at = place as u64 * length + n;
            intervals.push(interval(phase, place, n < warm_up, at, samples));
        }
    }
    let readings = readings(intervals.len() as u64);
    let result = result(&plan, &intervals);
    Synthetic {
        run: stored(plan, result),
        intervals,
        readings,
    }
}

fn plan(phases: &[&str], seconds: u64) -> RunPlan {
    let phase = |name: &&str| {
        let mut phase = Phase::steady("write", 2000.0, 64, seconds * 1000);
        phase.name = (*name).to_owned();
        phase.warmup_ms = 3000;
        let share = |operation: &str| Share {
            operation: operation.to_owned(),
            weight: 1,
        };
        phase.operations = match *name {
            "read" => vec![share("read")],
            "mixed" => vec![share("read"), share("write")],
            _ => vec![share("write")],
        };
        phase
    };
    RunPlan {
        local_data_centre: Some("datacenter1".to_owned()),
        ..RunPlan::new(
            vec!["127.77.0.1:9042".parse().expect("an address")],
            Workload::Standard1,
            phases.iter().map(phase).collect(),
            Seed(7),
        )
    }
}

fn interval(phase: &Phase, place: usize, warm_up: bool, at: u64, samples: u64) -> Interval {
    let shares = phase.operations.len() as u64;
    let stalled = at % 47 == 31;
    let one = |place: u64| {
        let mut one = OperationInterval {
            offered: 2000 / shares,
            started: 2000 / shares - at % 3,
            completed: 2000 / shares - at % 5,
            ..OperationInterval::default()
        };
        if stalled {
            one.failed =
                BTreeMap::from([(FailureKind::WriteTimeout, 2), (FailureKind::Overloaded, 1)]);
        }
        for i in 0..samples {
            let u = chance(at * 1_000_003 + i * 7 + place * 31).min(0.999_99);
            let slow = if warm_up { 2.5 } else { 1.0 } + if stalled { 3.0 * u } else { 0.0 };
            // A long tail: a Pareto-like share of slow ones.
            let service = slow * (420_000.0 + 160_000.0 * place as f64) * (1.0 - u).powf(-0.28);
            let late = 20_000 + mix(at + i) % 60_000;
            let slot = if stalled && u > 0.6 {
                (u * 9e6) as u64
            } else {
                0
            };
            one.service.record(service as u64);
            one.lateness.record(late);
            one.slot_wait.record(slot);
            one.response.record(service as u64 + late + slot);
        }
        one
    };
    let operations = phase.operations.iter().enumerate();
    Interval {
        phase: place,
        stretch: if warm_up {
            Stretch::Warmup
        } else {
            Stretch::Measured
        },
        start_ns: BEGIN + at * S,
        end_ns: BEGIN + (at + 1) * S,
        thread_cpu_ns: 180_000_000 + mix(at) % 40_000_000,
        operations: operations
            .map(|(i, share)| (share.operation.clone(), one(i as u64)))
            .collect(),
        tenths: vec![],
        slowest: vec![],
        traced: vec![],
        coordinators: BTreeMap::new(),
    }
}

fn readings(seconds: u64) -> Vec<Reading> {
    let mut readings = Vec::new();
    let mut total = [0_u64; 3];
    for at in 0..=seconds {
        let at_ns = BEGIN + at * S;
        let mut reading = |source: &str, seen: Seen| {
            readings.push(Reading {
                source: source.to_owned(),
                at_ns,
                seen,
            });
        };
        for (n, cpu) in total.iter_mut().enumerate() {
            let place = n as u64;
            *cpu += 310_000 + place * 60_000 + mix(at * 3 + place) % 90_000;
            reading(&format!("node{}", n + 1), Seen::Node(node(at, place, *cpu)));
        }
        let ours = total.iter().sum::<u64>() + at * 200_000;
        let host = HostSample {
            busy_us: ours + at * 40_000 + if at > 20 { 120_000 } else { 0 },
            stolen_us: at * 9_000 + mix(at) % 4_000,
            total_us: at * 2_000_000 + 1,
            ours_us: ours,
            run_queue: 1 + (mix(at) % 5) as u32,
            read_bytes: Some(at * 30_000),
            written_bytes: Some(at * 1_900_000),
        };
        reading(HOST, Seen::Host(host));
        let generator = GeneratorSample {
            cpu_us: at * 210_000,
            run_queue_wait_us: at * 12_000 + mix(at) % 9_000,
        };
        reading(GENERATOR, Seen::Generator(generator));
        let event = |what, length_ms: u64, text: &str| {
            Seen::Event(Event {
                what,
                to_ns: at_ns + length_ms * 1_000_000,
                text: text.to_owned(),
            })
        };
        if at % 9 == 4 {
            let text = "G1 Evacuation Pause (young)";
            reading(
                &format!("node{}", at % 3 + 1),
                event(EventKind::Collection, 8 + mix(at) % 40, text),
            );
        }
        if at % 60 == 25 {
            reading(
                "node2",
                event(
                    EventKind::Compaction,
                    6_400,
                    "keyspace1.standard1 compaction",
                ),
            );
        }
        if at == 40 {
            let text = "at 37s for 8s partition DC3";
            reading("@DC3", event(EventKind::Fault, 8_000, text));
        }
        if at == 31 {
            reading(
                "node3",
                event(EventKind::Paused, 1_500, "stopped by SIGSTOP"),
            );
        }
    }
    readings
}

fn node(at: u64, place: u64, cpu_us: u64) -> NodeSample {
    let anon = (410 + place * 25 + at.min(40)) << 20;
    let busy = at % 60 >= 25 && at % 60 < 32 && place == 1;
    let pool = |name: &str, pending: u32| PoolSample {
        name: name.to_owned(),
        active: 1,
        pending,
        blocked_so_far: 0,
    };
    NodeSample {
        received_bytes: None,
        sent_bytes: None,
        retransmitted: None,
        cpu_us,
        rss_bytes: anon + (95 << 20) + (12 << 20),
        anon_bytes: anon,
        file_bytes: 95 << 20,
        shmem_bytes: 12 << 20,
        threads: 88,
        answered: true,
        collections: Some(at / 10),
        read_bytes: Some(at * 12_000),
        written_bytes: Some(at * 600_000 + if busy { 9_000_000 } else { 0 }),
        pools: vec![
            pool(
                "MutationStage",
                if at % 47 == 31 {
                    40
                } else {
                    (mix(at + place) % 3) as u32
                },
            ),
            pool("ReadStage", 0),
            pool("CompactionExecutor", u32::from(busy)),
        ],
        compactions: if busy {
            vec![CompactionSample {
                id: "1".to_owned(),
                keyspace: "keyspace1".to_owned(),
                table: "standard1".to_owned(),
                task: "compaction".to_owned(),
                done: 0.5,
            }]
        } else {
            vec![]
        },
    }
}

fn result(plan: &RunPlan, intervals: &[Interval]) -> RunResult {
    let phases = (0..plan.phases.len())
        .map(|place| phase(plan, place, intervals))
        .collect();
    let footer = Footer {
        user_cpu_us: 9_000_000,
        system_cpu_us: 4_000_000,
        max_rss_bytes: 31 << 20,
        ..Footer::default()
    };
    RunResult::new(
        plan,
        &header(plan),
        phases,
        Some(&footer),
        intervals.len() as u64 * 2000,
    )
}

fn phase(plan: &RunPlan, place: usize, intervals: &[Interval]) -> PhaseResult {
    let measured: Vec<&Interval> = intervals
        .iter()
        .filter(|i| i.phase == place && i.stretch == Stretch::Measured)
        .collect();
    let end = PhaseEnd {
        phase: place,
        measured_from_ns: measured.first().map_or(0, |i| i.start_ns),
        measured_to_ns: measured.last().map_or(0, |i| i.end_ns),
        ended_ns: measured.last().map_or(0, |i| i.end_ns),
        backlog: 3,
        thread_cpu_ns: measured.iter().map(|i| i.thread_cpu_ns).sum(),
        clock_step_ns: 12,
        first_failures: BTreeMap::from([(
            FailureKind::WriteTimeout,
            "1 of 2 replicas answered".to_owned(),
        )]),
        ..PhaseEnd::default()
    };
    let outside = OutsideFacts {
        steal_share: Some(if place == 1 { 0.083 } else { 0.01 }),
        max_errors: Some(0.01),
        ..OutsideFacts::default()
    };
    let blocks: Vec<_> = measured.iter().map(|i| &i.operations).collect();
    let measured = Measured {
        phase: &plan.phases[place],
        blocks: &blocks,
        end: &end,
        completed_within: measured
            .iter()
            .flat_map(|i| i.operations.values())
            .map(|one| one.completed)
            .sum(),
        growth_s: None,
        steadiness: None,
        reads: &[],
        seed: plan.seed,
    };
    let beside = Beside {
        outside: outside.clone(),
        ..Beside::default()
    };
    let mut result = PhaseResult::new(&measured, &beside);
    if let Some(rate) = result.rate_per_s {
        result.achieved_per_s = rate * 0.999;
    }
    let all = std::iter::once(&mut result.total).chain(result.operations.values_mut());
    for one in all {
        one.service = one.service.take().map(sure);
        one.response = one.response.take().map(sure);
    }
    result.steadiness = Some(Steadiness {
        state: SteadyState::Steady,
        warmup_asked_s: 3.0,
        warmup_found_s: Some(4.5),
        cut_s: 1.5,
        change: None,
        change_at_s: None,
        points: blocks.len() * 10,
    });
    result.around = Around {
        nodes_cpu_per_operation_us: Some(612.0),
        compaction_share: Some(0.07),
        collection_share: Some(0.004),
        collections: Some(9),
        longest_collection_ms: Some(41.0),
        generator_run_queue_share: Some(0.012),
        steal_share: outside.steal_share,
        foreign_cpu_share: Some(0.02),
        nodes_written_bytes: Some(64 << 20),
        ..Around::default()
    };
    result
}

/// With intervals of a plausible width.
fn sure(mut d: Distribution) -> Distribution {
    let around =
        |us: Option<f64>, width: f64| us.map(|us| [us * (1.0 - width), us * (1.0 + width)]);
    d.confidence = Some(Confidence {
        blocks: 30,
        mean_us: around(Some(d.mean_us), 0.01),
        p50_us: around(d.p50_us, 0.008),
        p90_us: around(d.p90_us, 0.02),
        p95_us: around(d.p95_us, 0.03),
        p99_us: around(d.p99_us, 0.06),
        p999_us: around(d.p999_us, 0.14),
        p9999_us: around(d.p9999_us, 0.3),
    });
    d
}

fn header(plan: &RunPlan) -> Header {
    Header {
        format: Format::new("sample", sample::VERSION),
        plan_hash: plan.hash(),
        monotonic_ns: BEGIN,
        wall_ns: 1_795_250_000 * S,
        start_means: StartMeans::DriverCall,
        pacing: Pacing::Sleep,
        timer_resolution_ns: 1,
        pid: 4242,
        cpus: vec![0, 1],
        beside: vec![],
        unchecked: vec![],
    }
}

fn stored(plan: RunPlan, result: RunResult) -> StoredRun {
    let nodes = [1, 2, 3].map(|n| {
        json!({"name": format!("node{n}"), "data_center": "datacenter1", "rack": "rack1", "address": format!("127.77.0.{n}"),
            "tokens": [n], "folder": format!("/home/me/c/node{n}"), "environment": {},
            "yaml": format!("cluster_name: c\nnum_tokens: 1\nlisten_address: 127.77.0.{n}\nconcurrent_writes: 32\n"),
            "jvm": ["-Xms500M", "-Xmx500M", "-XX:+UseG1GC"]})
    });
    StoredRun {
        summary: RunSummary {
            id: "r12".parse().expect("a name"),
            state: RunState::Complete,
            verdict: Some(result.verdict),
            began_wall_ns: 1_795_250_000 * S,
            received: false,
            release: Some("5.0.9".to_owned()),
            preset: Some("dev".to_owned()),
            jvm: Some("17.0.15+6".to_owned()),
            workload: "standard1".to_owned(),
            plan_hash: plan.hash(),
            seed: plan.seed,
            tags: vec!["nightly".to_owned()],
            running: false,
            place: RunPlacement {
                experiment: ExperimentId::named("e1").expect("a name"),
                experiment_name: None,
                trial: 0,
                trial_name: None,
                restart_id: 12,
                restart: 0,
                restart_known: true,
            },
            phases: vec![],
        },
        plan_json: serde_json::to_string(&plan).expect("a plan"),
        host: json!({"cores": 2, "memory": 8_335_187_968_u64, "arch": "x86_64", "kernel": "6.18.0", "processor": "Intel Xeon"}),
        cluster_plan: Some(
            json!({"format": "helenus.cluster-plan/1", "name": "bench1", "release": "5.0.9", "preset": "dev",
            "heap": {"heap": 500 << 20, "new": 200 << 20}, "tokens": 1, "ports": {"cql": 9042, "storage": 7000, "jmx": 7199},
            "folder": "/home/me/c", "nodes": nodes}),
        ),
        life: Some("n1:4242@17".to_owned()),
        helenus_version: "0.1.0".to_owned(),
        command: "helenus bench --preset dev -n 3 --rate 2000 --tag nightly".to_owned(),
        header: Some(header(&plan)),
        result: Some(result),
    }
}

/// Eight pairs of two phases: p99 lower in write, inconclusive in read, throughput the same.
pub(crate) fn comparison() -> Comparison {
    let cases = [
        (
            "write",
            Measure::ResponseP99,
            4100.0,
            0.88,
            0.05,
            Claim::Lower,
        ),
        (
            "write",
            Measure::ResponseP50,
            720.0,
            0.97,
            0.02,
            Claim::Lower,
        ),
        (
            "write",
            Measure::ServiceP99,
            3900.0,
            0.9,
            0.05,
            Claim::Lower,
        ),
        (
            "write",
            Measure::Throughput,
            1999.0,
            1.0004,
            0.002,
            Claim::NoDifference,
        ),
        ("write", Measure::NodeCpu, 612.0, 1.06, 0.03, Claim::Higher),
        (
            "read",
            Measure::ResponseP99,
            5200.0,
            0.96,
            0.09,
            Claim::NoDifference,
        ),
        (
            "read",
            Measure::ResponseP50,
            810.0,
            1.01,
            0.02,
            Claim::NoDifference,
        ),
        (
            "read",
            Measure::ServiceP99,
            5000.0,
            0.97,
            0.09,
            Claim::NoDifference,
        ),
    ];
    let rows = cases
        .into_iter()
        .enumerate()
        .map(|(i, (phase, measure, a, ratio, half, claim))| Row {
            phase: phase.to_owned(),
            operation: "all".to_owned(),
            measure,
            a,
            b: a * ratio,
            ratios: (0..8)
                .map(|p| Some(ratio * (1.0 + half * 2.4 * (chance(i as u64 * 100 + p) - 0.5))))
                .collect(),
            estimate: Some(Estimate {
                ratio,
                low: ratio * (1.0 - half),
                high: ratio * (1.0 + half),
                pairs: 8,
                degrees: 7,
                log_sd: half,
                p: if claim == Claim::NoDifference {
                    0.31
                } else {
                    0.0004
                },
                p_holm: Some(if claim == Claim::NoDifference {
                    0.62
                } else {
                    0.003
                }),
                detectable: Some(1.0 + half * 1.4),
                pairs_for_5_percent: Some(6),
            }),
            claim,
        });
    let names = |from: u64| {
        (0..8)
            .map(|i| format!("r{}", from + i * 2))
            .collect::<Vec<_>>()
    };
    Comparison {
        behind: None,
        command: None,
        format: Format::new("comparison", comparison::VERSION),
        a: Side {
            label: "G1".to_owned(),
            runs: names(20),
        },
        b: Side {
            label: "Shenandoah".to_owned(),
            runs: names(21),
        },
        start_means: StartMeans::DriverCall,
        pairs: (0..8)
            .map(|i| Pair {
                a: vec![format!("r{}", 20 + i * 2)],
                b: vec![format!("r{}", 21 + i * 2)],
                a_first: mix(i).is_multiple_of(2),
            })
            .collect(),
        left_out: vec![LeftOut {
            run: "r19".to_owned(),
            why: "it must not be believed: a node died".to_owned(),
        }],
        differences: vec![Difference {
            what: "flags of the JVM".to_owned(),
            a: "-XX:+UseG1GC".to_owned(),
            b: "-XX:+UseShenandoahGC".to_owned(),
        }],
        cautions: vec![Caution {
            text: "the host was shared in 3 of 16 runs".to_owned(),
            cure: "run on a host that is not shared".to_owned(),
        }],
        sequential: false,
        calibration: None,
        stopping: Some(Stopping {
            wanted: 1.05,
            governed_by: "write all response p99".to_owned(),
            first_stage: 6,
            asked_for: 8,
            max_pairs: 20,
        }),
        rows: rows.collect(),
        bars: vec![Bar {
            text: "p99>+5%".to_owned(),
            row: "write all response p99".to_owned(),
            bound: 1.05,
            low: Some(0.83),
            high: Some(0.93),
            answer: BarAnswer::Holds,
        }],
    }
}
