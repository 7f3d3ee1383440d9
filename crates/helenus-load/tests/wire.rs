//! The wire against servers that misbehave: what they do is counted by kind, and nothing hangs.
//! Refuses figures of time: counts and laws only, for machines are busy.

mod pipe;
mod server;

use helenus_cql::codec::envelope::Header;
use helenus_cql::codec::{QueryResult, Response, ServerErrorKind, Version};
use helenus_load::null::encoded;
use helenus_load::{Secrets, ServeEnd, serve};
use helenus_model::result::{Beside, PhaseResult};
use helenus_model::run_plan::{Compression, Phase, RunPlan};
use helenus_model::sample::{FailureKind, SLOWEST_KEPT, SampleLine, Stage, StartMeans};
use helenus_model::samples::Accumulator;
use helenus_model::seed::Seed;
use helenus_model::workload::Workload;
use pipe::Pipe;
use server::{Reply, Server, done, refuses};
use std::net::SocketAddr;
use std::sync::atomic::Ordering;

const NEVER: u64 = u64::MAX;

/// What is sent in place of an answer.
type Bytes = fn(&Header) -> Vec<u8>;

fn plan(address: SocketAddr, phase: Phase) -> RunPlan {
    RunPlan {
        local_data_centre: Some("DC1".into()),
        raise_priority: false,
        sampling_interval_ms: 50,
        ..RunPlan::new(vec![address], Workload::Standard1, vec![phase], Seed(3))
    }
}

/// 500 writes at 2,000 a second.
fn writes() -> Phase {
    Phase::steady("write", 2000.0, 16, 250)
}

fn lines(plan: &RunPlan) -> (ServeEnd, Vec<SampleLine>) {
    let pipe = Pipe::default();
    let input = serde_json::to_string(plan).expect("writes");
    let end = serve(input.as_bytes(), pipe.clone(), &Secrets::default());
    (end, pipe.lines())
}

fn run(plan: &RunPlan) -> PhaseResult {
    let (end, lines) = lines(plan);
    assert_eq!(end, ServeEnd::Done, "{lines:?}");
    assert!(
        matches!(lines.first(), Some(SampleLine::Header(h)) if h.start_means == StartMeans::Socket)
    );
    let mut gathered = Accumulator::new(plan.clone());
    for line in &lines {
        gathered.take(line).expect("ours");
    }
    let result = gathered.finish(&|_, _| Beside::default());
    result.expect("a result").phases.remove(0)
}

#[test]
fn both_versions_carry_every_operation() {
    let (v4, v5, lz4) = (Version::V4, Version::V5, Some(Compression::Lz4));
    for (version, compression) in [(v4, None), (v5, None), (v4, lz4), (v5, lz4)] {
        let server = Server::start(version, NEVER, Box::new(|_| done()));
        let phase = run(&RunPlan {
            compression,
            ..plan(server.address, writes())
        });
        assert_eq!(phase.total.completed, 500, "{phase:#?}");
        assert_eq!(server.executed.load(Ordering::SeqCst), 500);
        // One connection for the load and one that watches the cluster; for v4 each is tried with v5 first.
        let most = if version == Version::V4 { 4 } else { 2 };
        assert!(server.accepted.load(Ordering::SeqCst) <= most);
    }
}

#[test]
fn the_slowest_are_kept_with_their_way_and_each_coordinator_has_its_times() {
    let servers = [0, 1].map(|_| Server::start(Version::V5, NEVER, Box::new(|_| done())));
    let addresses = servers.each_ref().map(|server| server.address);
    let plan = RunPlan {
        endpoints: addresses.to_vec(),
        endpoints_only: true,
        local_data_centre: None,
        ..plan(addresses[0], writes())
    };
    let (end, lines) = lines(&plan);
    assert_eq!(end, ServeEnd::Done, "{lines:?}");
    let known = addresses.map(|address| address.to_string());
    let intervals = lines.iter().filter_map(|line| match line {
        SampleLine::Interval(interval) => Some(interval),
        _ => None,
    });
    let (mut kept, mut completed) = (0, 0);
    for interval in intervals {
        let write = &interval.operations["write"];
        let Some(longest_ns) = write.response.max_ns() else {
            assert!(interval.slowest.is_empty(), "{interval:?}");
            continue;
        };
        let slowest = &interval.slowest[0];
        // The histogram has three digits.
        let apart = slowest.time_ns().abs_diff(longest_ns);
        assert!(apart <= longest_ns / 500, "{slowest:?} {longest_ns}");
        let of = write.completed.min(SLOWEST_KEPT as u64);
        assert_eq!(interval.slowest.len() as u64, of);
        for one in &interval.slowest {
            let coordinator = one.coordinator.as_ref().expect("an address");
            assert!(known.contains(coordinator), "{one:?}");
            assert!(one.connection.is_some() && one.stream >= Some(0), "{one:?}");
            assert!(one.start_ns >= one.from_ns() && one.end_ns >= one.start_ns);
        }
        kept += interval.slowest.len();
        completed += write.completed;
        let each = interval.coordinators.values();
        let sum: u64 = each.map(|one| one.service.count()).sum();
        assert_eq!(sum, write.completed, "{interval:?}");
        assert!(interval.coordinators.keys().all(|at| known.contains(at)));
    }
    assert!(kept >= SLOWEST_KEPT && completed == 500);
    let mut gathered = Accumulator::new(plan);
    lines
        .iter()
        .for_each(|line| gathered.take(line).expect("ours"));
    let result = gathered.finish(&|_, _| Beside::default());
    let phase = result.expect("a result").phases.remove(0);
    let coordinators = phase.around.coordinators;
    assert_eq!(coordinators.len(), 2, "{coordinators:?}");
}

#[test]
fn a_statement_that_is_forgotten_is_prepared_again() {
    for version in [Version::V4, Version::V5] {
        let server = Server::start(version, 40, Box::new(|_| done()));
        let phase = run(&plan(server.address, writes()));
        assert_eq!(phase.total.completed, 500, "{phase:#?}");
        assert_eq!(phase.total.failures(), 0);
    }
}

#[test]
fn what_the_server_refuses_is_counted_by_kind() {
    let server = Server::start(
        Version::V5,
        NEVER,
        Box::new(|number| match number % 50 {
            7 => refuses(ServerErrorKind::Overloaded, "Too many requests"),
            8 => refuses(ServerErrorKind::Overloaded, "Server is shutting down"),
            9 => refuses(ServerErrorKind::Truncate, "no"),
            _ => done(),
        }),
    );
    let phase = run(&plan(server.address, writes()));
    for kind in [
        FailureKind::Overloaded,
        FailureKind::Connection,
        FailureKind::Other,
    ] {
        assert_eq!(phase.total.failed[&kind], 10, "{phase:#?}");
    }
    assert_eq!(phase.total.completed, 470);
    let said = &phase.first_failures[&FailureKind::Other];
    assert_eq!(said, "truncate error: no");
}

#[test]
fn a_connection_that_is_reset_again_and_again_loses_only_what_was_on_it() {
    let server = Server::start(
        Version::V5,
        NEVER,
        Box::new(|number| match number % 100 {
            50 => Reply::Closes,
            _ => done(),
        }),
    );
    let mut phase = writes();
    phase.extent = helenus_model::run_plan::Extent::DurationMs(1500);
    let phase = run(&plan(server.address, phase));
    let lost = phase.total.failed[&FailureKind::Connection];
    assert_eq!(phase.total.failures(), lost, "{phase:#?}");
    assert_eq!(phase.total.completed + lost, phase.total.started);
    assert!(phase.total.completed > 100, "{phase:#?}");
    assert!(server.accepted.load(Ordering::SeqCst) > 5, "{phase:#?}");
}

#[test]
fn what_is_not_the_protocol_ends_the_connection_with_its_reason() {
    let garbage: [(&str, Bytes); 4] = [
        ("protocol version", |_| vec![0xff; 64]),
        // A length of 2 GiB.
        ("bytes", |_| vec![0x84, 0, 0, 0, 8, 0x80, 0, 0, 0]),
        ("was not sent (stream 1234)", |header| {
            let mut other = *header;
            other.stream = 1234;
            let response = Response::Result(QueryResult::Void);
            encoded(&other, &response)
        }),
        ("violates the protocol", |header| {
            let response = Response::Result(QueryResult::Void);
            let mut bytes = encoded(header, &response);
            // A kind of result that there is not.
            let last = bytes.len() - 1;
            bytes[last] = 99;
            bytes
        }),
    ];
    for (reason, bytes) in garbage {
        let server = Server::start(
            Version::V4,
            NEVER,
            Box::new(move |number| match number {
                100 => Reply::Sends(bytes),
                _ => done(),
            }),
        );
        let phase = run(&plan(server.address, writes()));
        let said = &phase.first_failures[&FailureKind::Connection];
        assert!(said.contains(reason), "{reason}: {said}");
        assert_eq!(
            phase.total.completed + phase.total.failed[&FailureKind::Connection],
            phase.total.started
        );
    }
}

#[test]
fn half_a_frame_and_silence_are_client_time_outs() {
    let half: Bytes = |header| {
        let mut bytes = encoded(header, &Response::Result(QueryResult::Void));
        bytes.truncate(5);
        bytes
    };
    for halves in [false, true] {
        let server = Server::start(
            Version::V4,
            NEVER,
            Box::new(move |number| match number {
                0..400 => done(),
                400 if halves => Reply::Sends(half),
                _ => Reply::Nothing,
            }),
        );
        let mut plan = plan(server.address, writes());
        plan.operation_timeout_ms = 150;
        let phase = run(&plan);
        assert!(phase.total.completed >= 380, "{phase:#?}");
        assert_eq!(
            phase.total.completed + phase.total.failures(),
            phase.total.started
        );
        assert!(phase.total.failed[&FailureKind::ClientTimeout] > 0);
    }
}

#[test]
fn a_server_that_says_nothing_at_all_is_left() {
    let server = Server::start(Version::V5, NEVER, Box::new(|_| Reply::Nothing));
    let mut plan = plan(server.address, Phase::steady("write", 8000.0, 4096, 600));
    plan.operation_timeout_ms = 150;
    let phase = run(&plan);
    assert!(phase.total.failed[&FailureKind::ClientTimeout] > 1024);
    let said = &phase.first_failures[&FailureKind::Connection];
    assert!(said.contains("requests without an answer"), "{said}");
    assert!(server.accepted.load(Ordering::SeqCst) > 2);
}

#[test]
fn a_data_centre_that_is_not_there_is_named_with_the_nearest() {
    let server = Server::start(Version::V5, NEVER, Box::new(|_| done()));
    let mut plan = plan(server.address, writes());
    plan.local_data_centre = Some("DC2".into());
    let (end, lines) = lines(&plan);
    assert_eq!(end, ServeEnd::Failed(Stage::Connect));
    let [SampleLine::Failure(failure)] = &lines[..] else {
        panic!("{lines:?}");
    };
    assert_eq!(
        failure.causes,
        [r#"no node is in data centre "DC2"; there are DC1; did you mean DC1?"#]
    );
}
