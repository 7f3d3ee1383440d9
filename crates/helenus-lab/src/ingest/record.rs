//! A load in the history: a run of one phase whose operations are its rows.
//! Refuses latencies: a load is not timed row by row.

use super::{LoadRequest, Loaded};
use crate::bench::life;
use crate::compare::history_file;
use helenus_cluster::context::Context;
use helenus_cluster::machine;
use helenus_cluster::state::ClusterState;
use helenus_cluster::wall;
use helenus_model::doubt::Verdict;
use helenus_model::format::Format;
use helenus_model::result::{GeneratorUse, OperationResult, PhaseResult, RunResult, VERSION};
use helenus_model::run_plan::{Extent, Pacing, Phase, RunPlan, Share};
use helenus_model::sample::{Standing, StartMeans};
use helenus_model::seed::Seed;
use helenus_model::workload::{CustomWorkload, Query, Workload};
use helenus_record::{Ending, History, HistoryError, RunBeginning, RunId};
use std::time::Duration;

/// Name of the phase.
const PHASE: &str = "load";

/// Name of its operation.
const OPERATION: &str = "row";

/// Keeps a load that is done.
///
/// # Errors
/// The history cannot be written.
pub fn record(
    context: &Context,
    state: &ClusterState,
    request: &LoadRequest,
    loaded: &Loaded,
    (command, version): (&str, &str),
) -> Result<RunId, HistoryError> {
    let plan = plan(request, loaded);
    let machine = serde_json::to_value(machine::read()).unwrap_or_default();
    let cluster_plan = serde_json::to_value(state.plan.without_secrets()).ok();
    let life = life(state);
    let took = Duration::from_secs_f64(loaded.seconds).as_nanos();
    let began_wall_ns = wall::now_ns().saturating_sub(u64::try_from(took).unwrap_or(0));
    let mut history = History::open(&history_file(context))?;
    let run = history.begin_run(&RunBeginning {
        plan: &plan,
        release: Some(state.plan.release.as_str()),
        preset: Some(state.plan.preset.word()),
        jvm: Some(state.runtime.jvm.as_str()),
        host: &machine,
        cluster_plan: cluster_plan.as_ref(),
        life: Some(&life),
        helenus_version: version,
        command,
        began_wall_ns,
        tag: None,
        place: None,
    })?;
    let result = result(&plan, loaded, began_wall_ns);
    history.finish_run(run, &result, Ending::of(result.verdict, false))?;
    Ok(run)
}

/// What was done, as a plan: so many rows, as fast as they went.
fn plan(request: &LoadRequest, loaded: &Loaded) -> RunPlan {
    let workload = Workload::Custom(CustomWorkload {
        name: format!("load {}", loaded.table),
        schema: Vec::new(),
        queries: vec![Query {
            name: OPERATION.to_owned(),
            cql: request.mapping.insert(request.ttl_s),
            check: false,
            serial_consistency: None,
        }],
    });
    let phase = Phase {
        name: PHASE.to_owned(),
        operations: vec![Share {
            operation: OPERATION.to_owned(),
            weight: 1,
        }],
        in_flight: u32::try_from(request.in_flight).unwrap_or(u32::MAX),
        extent: Extent::Count(rows(loaded)),
        ..Phase::default()
    };
    RunPlan {
        consistency: request.consistency,
        ..RunPlan::new(Vec::new(), workload, vec![phase], Seed(0))
    }
}

/// Rows that this run read.
fn rows(loaded: &Loaded) -> u64 {
    loaded.rows_read.saturating_sub(loaded.resumed_after)
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rows and microseconds, below 2^53 and not negative"
)]
fn result(plan: &RunPlan, loaded: &Loaded, began_wall_ns: u64) -> RunResult {
    let rows = rows(loaded);
    let used = helenus_load::footer();
    let cpu_us = loaded.client_cpu_us_per_row * rows as f64;
    let total = OperationResult {
        offered: rows,
        started: rows,
        completed: loaded.written_here,
        partitions: loaded.written_here,
        rows: loaded.written_here,
        ..OperationResult::default()
    };
    let phase = PhaseResult {
        name: PHASE.to_owned(),
        rate_per_s: None,
        achieved_per_s: loaded.rows_per_s,
        in_flight: plan.phases[0].in_flight,
        duration_s: loaded.seconds,
        thread_busy: (cpu_us / 1e6 / loaded.seconds.max(1e-9)).min(1.0),
        backlog: 0,
        abandoned: 0,
        standing: Standing::default(),
        operations: [(OPERATION.to_owned(), total.clone())].into(),
        total,
        first_failures: Default::default(),
        steadiness: None,
        around: Default::default(),
        doubts: Vec::new(),
        // A load that left another table than its files is no measurement.
        verdict: match &loaded.proof {
            Some(proof) if !proof.equal => Verdict::Invalid,
            _ => Verdict::Valid,
        },
    };
    RunResult {
        format: Format::new("run", VERSION),
        plan_hash: plan.hash(),
        workload: plan.workload.name().to_owned(),
        seed: plan.seed,
        start_means: StartMeans::Socket,
        pacing: Pacing::Sleep,
        began_wall_ns,
        generator: Some(GeneratorUse {
            cpu_us: cpu_us as u64,
            cpu_per_operation_us: Some(loaded.client_cpu_us_per_row),
            max_rss_bytes: used.max_rss_bytes,
            voluntary_switches: used.voluntary_switches,
            involuntary_switches: used.involuntary_switches,
        }),
        unchecked: Vec::new(),
        verdict: phase.verdict,
        phases: vec![phase],
    }
}
