//! The generator from plan to result, with a fake endpoint in the driver's place.
//! Refuses figures of time: counts and laws only, for machines are busy.

mod fake;
mod pipe;

use fake::Fake;
use helenus_load::endpoint::{Call, Endpoint, Fault};
use helenus_load::serve::serve_endpoint;
use helenus_load::{Secrets, ServeEnd, serve};
use helenus_model::doubt::DoubtKind;
use helenus_model::result::{Beside, RunResult};
use helenus_model::run_plan::{Pacing, Phase, Positions, RunPlan, Share};
use helenus_model::sample::{FailureKind, SampleLine, Stage};
use helenus_model::samples::{Accumulator, ReadError};
use helenus_model::seed::Seed;
use helenus_model::workload::Workload;
use pipe::Pipe;
use std::net::SocketAddr;
use std::time::Duration;

/// Answers after `delay`; what `fails` says about a position fails; some never answer.
struct Scripted {
    delay: Duration,
    fails: fn(u64) -> Option<FailureKind>,
    silent: fn(u64) -> bool,
}

impl Scripted {
    fn prompt() -> Self {
        Self {
            delay: Duration::ZERO,
            fails: |_| None,
            silent: |_| false,
        }
    }

    fn endpoint(self) -> impl Endpoint {
        let mut fake = Fake::new(move |call: &Call<'_>| {
            let position = call.position();
            if (self.silent)(position) {
                return None;
            }
            Some(match (self.fails)(position) {
                None => Ok((0, 0)),
                Some(kind) => Err(Fault {
                    kind,
                    message: format!("at {position}"),
                }),
            })
        });
        fake.delay = self.delay;
        fake
    }
}

fn result_of(pipe: &Pipe, plan: &RunPlan) -> Result<RunResult, ReadError> {
    let mut gathered = Accumulator::new(plan.clone());
    pipe.lines()
        .iter()
        .try_for_each(|line| gathered.take(line))?;
    gathered.finish(&|_, _| Beside::default())
}

fn plan(phases: Vec<Phase>) -> RunPlan {
    RunPlan {
        raise_priority: false,
        sampling_interval_ms: 50,
        ..RunPlan::new(
            vec![SocketAddr::from(([127, 0, 0, 1], 1))],
            Workload::Standard1,
            phases,
            Seed(3),
        )
    }
}

fn run(plan: &RunPlan, fake: Scripted) -> (ServeEnd, Pipe) {
    let pipe = Pipe::default();
    let end = serve_endpoint(plan, fake.endpoint(), pipe.clone());
    (end, pipe)
}

#[test]
fn every_offered_operation_is_accounted_for_phase_by_phase() {
    let mut mixed = Phase::steady("read", 3000.0, 16, 200);
    mixed.name = "mixed".to_owned();
    mixed.warmup_ms = 70;
    mixed.operations.push(Share {
        operation: "write".to_owned(),
        weight: 1,
    });
    let plan = plan(vec![Phase::steady("write", 2000.0, 64, 300), mixed]);
    let (end, pipe) = run(&plan, Scripted::prompt());
    assert_eq!((end, end.exit_code()), (ServeEnd::Done, 0));
    let result = result_of(&pipe, &plan).expect("a result");
    let counts = |at: usize| {
        let total = &result.phases[at].total;
        (total.offered, total.started, total.completed)
    };
    assert_eq!(counts(0), (600, 600, 600));
    assert_eq!(counts(1), (600, 600, 600), "the warm-up is not counted");
    assert_eq!(result.phases[1].operations.len(), 2);
    for phase in &result.phases {
        let response = phase.total.response.as_ref().expect("open loop");
        assert_eq!(response.count, 600);
    }
    assert!(matches!(pipe.lines().first(), Some(SampleLine::Header(_))));
    assert!(matches!(pipe.lines().last(), Some(SampleLine::Footer(_))));
}

#[test]
fn spinning_and_closed_loops_hold_the_same_laws() {
    let mut spinning = plan(vec![Phase::steady("write", 2000.0, 8, 100)]);
    spinning.pacing = Pacing::Spin;
    let (_, pipe) = run(&spinning, Scripted::prompt());
    let result = result_of(&pipe, &spinning).expect("a result");
    assert_eq!(result.phases[0].total.completed, 200);

    let mut phase = Phase::steady("write", 1.0, 4, 100);
    phase.rate_per_s = None;
    let closed = plan(vec![phase]);
    let fake = Scripted {
        delay: Duration::from_millis(2),
        ..Scripted::prompt()
    };
    let (_, pipe) = run(&closed, fake);
    let result = result_of(&pipe, &closed).expect("a result");
    let total = &result.phases[0].total;
    assert!(total.completed > 0);
    assert_eq!(total.offered, total.completed);
    assert_eq!((&total.response, &total.slot_wait), (&None, &None));
}

#[test]
fn a_slot_that_comes_free_wakes_whoever_starts_the_next() {
    // One slot, and the generator looks while it is taken: only its coming free can make it look again.
    // (Without that it would look at each sweep, ten times a second, and start the half of these late by 30 ms.)
    let mut plan = plan(vec![Phase::steady("write", 1000.0 / 70.0, 1, 2100)]);
    plan.sampling_interval_ms = 1000;
    let fake = Scripted {
        delay: Duration::from_millis(5),
        ..Scripted::prompt()
    };
    let (_, pipe) = run(&plan, fake);
    let phase = &result_of(&pipe, &plan).expect("a result").phases[0];
    let lateness = phase.total.lateness.as_ref().expect("ended");
    assert!(
        lateness.p50_us.is_some_and(|us| us < 15_000.0),
        "{lateness:?}"
    );
}

#[test]
fn failures_are_counted_by_kind_and_explained_once() {
    let mut phase = Phase::steady("write", 2000.0, 8, 100);
    phase.positions = Positions::Sequential;
    let plan = plan(vec![phase]);
    let fake = Scripted {
        fails: |p| p.is_multiple_of(20).then_some(FailureKind::WriteTimeout),
        ..Scripted::prompt()
    };
    let (_, pipe) = run(&plan, fake);
    let phase = &result_of(&pipe, &plan).expect("a result").phases[0];
    assert_eq!(phase.total.failed[&FailureKind::WriteTimeout], 10);
    assert_eq!(phase.total.completed, 190);
    assert_eq!(phase.first_failures[&FailureKind::WriteTimeout], "at 0");
    assert!(phase.doubts.iter().any(|d| d.kind == DoubtKind::Errors));
}

#[test]
fn what_never_answers_is_a_client_timeout_and_its_slot_lives_on() {
    let mut plan = plan(vec![Phase::steady("write", 1000.0, 4, 200)]);
    plan.operation_timeout_ms = 50;
    let fake = Scripted {
        silent: |p| p == 3,
        ..Scripted::prompt()
    };
    let (end, pipe) = run(&plan, fake);
    assert_eq!(end, ServeEnd::Done);
    let total = &result_of(&pipe, &plan).expect("a result").phases[0].total;
    assert_eq!(total.failed[&FailureKind::ClientTimeout], 1);
    assert_eq!(total.completed, 199);
    let service = total.service.as_ref().expect("ended");
    assert_eq!(service.count, 199, "times are those of what completed");
}

#[test]
fn a_backlog_beyond_a_second_is_abandoned_and_disqualifies() {
    let plan = plan(vec![Phase::steady("write", 100_000.0, 1, 1500)]);
    let fake = Scripted {
        delay: Duration::from_millis(20),
        ..Scripted::prompt()
    };
    let (end, pipe) = run(&plan, fake);
    assert_eq!(end, ServeEnd::Done);
    let result = result_of(&pipe, &plan).expect("a result");
    let phase = &result.phases[0];
    assert_eq!(phase.total.offered, 150_000);
    assert_eq!(phase.total.started + phase.abandoned, 150_000);
    assert_eq!(phase.doubts[0].kind, DoubtKind::BehindSchedule);
    assert_eq!(result.verdict.exit_code(), 5);
}

#[test]
fn a_reader_that_goes_away_stops_the_run() {
    let plan = plan(vec![Phase::steady("write", 100.0, 4, 600_000)]);
    let pipe = Pipe {
        breaks_after: Some(2000),
        ..Pipe::default()
    };
    assert_eq!(
        serve_endpoint(&plan, Scripted::prompt().endpoint(), pipe),
        ServeEnd::Stopped
    );
}

#[test]
fn bad_plans_and_absent_nodes_are_said_in_a_failure_line() {
    let said = |input: &str| {
        let pipe = Pipe::default();
        let end = serve(input.as_bytes(), pipe.clone(), &Secrets::default());
        match pipe.lines().as_slice() {
            [SampleLine::Failure(failure)] => (end, failure.clone()),
            other => panic!("expected one failure, found {other:?}"),
        }
    };
    let (end, failure) = said("{");
    assert_eq!((end, end.exit_code()), (ServeEnd::Failed(Stage::Plan), 2));
    assert_eq!(failure.causes.len(), 1);
    let mut none = plan(vec![Phase::steady("write", 1.0, 1, 1)]);
    none.phases.clear();
    let (_, failure) = said(&serde_json::to_string(&none).expect("writes"));
    assert_eq!(failure.message, "the plan has no phase");
    let absent = plan(vec![Phase::steady("write", 1.0, 1, 1)]);
    let (end, failure) = said(&serde_json::to_string(&absent).expect("writes"));
    assert_eq!(
        (end, end.exit_code()),
        (ServeEnd::Failed(Stage::Connect), 3)
    );
    assert_eq!(failure.message, "cannot connect to 127.0.0.1:1");
}

#[test]
fn samples_of_another_plan_and_cut_streams_are_noticed() {
    let plan = plan(vec![Phase::steady("write", 1000.0, 4, 150)]);
    let (_, pipe) = run(&plan, Scripted::prompt());
    let mut other = plan.clone();
    other.seed = Seed(4);
    assert!(matches!(
        result_of(&pipe, &other),
        Err(ReadError::OtherPlan { .. })
    ));
    assert!(matches!(
        Accumulator::new(plan.clone()).finish(&|_, _| Beside::default()),
        Err(ReadError::NoHeader)
    ));
    // The generator died after two intervals: the phase is there, and must not be believed.
    let mut gathered = Accumulator::new(plan.clone());
    let lines = pipe.lines();
    for line in lines.iter().take(3) {
        gathered.take(line).expect("ours");
    }
    let cut = gathered
        .finish(&|_, _| Beside::default())
        .expect("a result");
    let kinds: Vec<_> = cut.phases[0].doubts.iter().map(|d| d.kind).collect();
    assert!(kinds.contains(&DoubtKind::StoppedEarly));
}

#[test]
fn a_plan_of_version_one_is_read_as_it_was_written() {
    let old = concat!(
        r#"{"format":"helenus.plan/1","endpoints":["127.0.0.1:9042"],"local_data_centre":"datacenter1","#,
        r#""credentials":{"username":"u","password":{"variable":"CQL_PASSWORD"}},"workload":"standard1","#,
        r#""phases":[{"name":"read","operations":[{"operation":"read","weight":1}],"rate_per_s":1000.0,"#,
        r#""in_flight":16,"extent":{"duration_ms":60000},"population":100000,"positions":"uniform"}],"#,
        r#""consistency":"LOCAL_QUORUM","seed":1}"#
    );
    let plan: RunPlan = serde_json::from_str(old).expect("reads");
    assert_eq!(plan.check(), Ok(()));
    assert_eq!(
        (plan.sampling_interval_ms, plan.operation_timeout_ms),
        (1000, 12_000)
    );
    assert_eq!((plan.pacing, plan.phases[0].warmup_ms), (Pacing::Sleep, 0));
}
