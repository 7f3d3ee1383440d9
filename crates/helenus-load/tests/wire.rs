//! The wire against servers that misbehave: what they do is counted by kind, and nothing hangs.
//! Refuses figures of time: counts and laws only, for machines are busy.

mod altered;
mod pipe;
mod server;

use altered::Altered;
use helenus_cql::codec::envelope::Header;
use helenus_cql::codec::{QueryResult, Response, ServerError, ServerErrorKind, Version};
use helenus_load::null::encoded;
use helenus_load::{Secrets, ServeEnd, serve};
use helenus_model::result::{Beside, Distribution, PhaseResult};
use helenus_model::run_plan::{Compression, Phase, RunPlan};
use helenus_model::sample::{FailureKind, SLOWEST_KEPT, SampleLine, Stage, StartMeans};
use helenus_model::samples::Accumulator;
use helenus_model::seed::Seed;
use helenus_model::workload::Workload;
use pipe::Pipe;
use server::{Bytes, Reply, Server, done, refuses};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const NEVER: u64 = u64::MAX;

/// How bytes are sent in place of an answer.
type How = fn(Bytes) -> Reply;

/// What is spoken.
type Spoken = (Version, Option<Compression>);

const V4: Spoken = (Version::V4, None);
const V5: Spoken = (Version::V5, None);
const LZ4: Spoken = (Version::V5, Some(Compression::Lz4));

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

/// An empty RESULT, changed.
fn void(header: &Header, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = encoded(header, &Response::Result(QueryResult::Void));
    change(&mut bytes);
    bytes
}

/// The same for another stream.
fn void_on(header: &Header, stream: i16) -> Vec<u8> {
    void(header, |bytes| {
        bytes[2..4].copy_from_slice(&stream.to_be_bytes());
    })
}

fn cut(header: &Header) -> Vec<u8> {
    void(header, |bytes| bytes.truncate(11))
}

/// Envelopes that no server may send, and what is said of them.
fn wrong_envelopes() -> [(&'static str, Bytes); 6] {
    [
        ("(stream 1234)", |header| void_on(header, 1234)),
        ("(stream -1)", |header| void_on(header, -1)),
        ("(stream -5)", |header| void_on(header, -5)),
        ("an envelope of 2147483648 bytes", |header| {
            void(header, |bytes| {
                bytes[5..9].copy_from_slice(&[0x80, 0, 0, 0]);
            })
        }),
        // A kind of result that there is not.
        ("unknown kind of result 0x63", |header| {
            void(header, |bytes| bytes[12] = 99)
        }),
        ("gave the connection up: protocol error: no", |header| {
            let error = ServerError {
                message: "no".to_owned(),
                kind: ServerErrorKind::Protocol,
            };
            let mut bytes = encoded(header, &Response::Error(error));
            bytes[2..4].copy_from_slice(&1234_i16.to_be_bytes());
            bytes
        }),
    ]
}

#[test]
fn what_is_not_the_protocol_ends_the_connection_with_its_reason() {
    const CLOSED: &str = "closed the connection in the middle of an answer";
    const HALF: &str = "in a self-contained frame";
    const SPOILT: &str = "the frame's header";
    let (noise, half): (Bytes, Bytes) = (|_| vec![0xff; 64], cut);
    // Three of the eight bytes before a payload.
    let half_of_a_frame: Bytes = |_| vec![9, 0, 2];
    let (sends, wraps, closes): (How, How, How) =
        (Reply::Sends, Reply::Wraps, Reply::SendsAndCloses);
    let mut cases: Vec<(Spoken, &str, How, Bytes)> = vec![
        (V4, "protocol version 127", sends, noise),
        (V5, SPOILT, sends, noise),
        (LZ4, SPOILT, sends, noise),
        (V4, CLOSED, closes, half),
        (V5, CLOSED, closes, half_of_a_frame),
        (LZ4, CLOSED, closes, half_of_a_frame),
        (V5, HALF, wraps, half),
        (LZ4, HALF, wraps, half),
    ];
    for spoken in [V4, V5, LZ4] {
        for (reason, bytes) in wrong_envelopes() {
            cases.push((spoken, reason, wraps, bytes));
        }
    }
    for ((version, compression), reason, how, bytes) in cases {
        let script = move |number: u64| match number {
            60 => how(bytes),
            _ => done(),
        };
        let server = Server::start(version, NEVER, Box::new(script));
        let phase = run(&RunPlan {
            compression,
            ..plan(server.address, Phase::steady("write", 2000.0, 16, 100))
        });
        let failed = &phase.total.failed;
        assert_eq!(failed.len(), 1, "{version} {reason}: {phase:#?}");
        let said = &phase.first_failures[&FailureKind::Connection];
        assert!(said.contains(reason), "{version} {reason}: {said}");
        let lost = failed[&FailureKind::Connection];
        assert_eq!(phase.total.completed + lost, phase.total.started);
        assert_eq!(phase.around.connections_lost, 1, "{version} {reason}");
    }
}

#[test]
fn connections_that_are_reset_all_the_time_lose_only_what_was_on_them() {
    let begin = Instant::now();
    // One in each 60 ms, whatever is on its way then.
    let next = AtomicU64::new(1);
    let script = move |_: u64| {
        let turn = u64::try_from(begin.elapsed().as_millis() / 60).expect("small");
        match next.fetch_max(turn + 1, Ordering::SeqCst) <= turn {
            true => Reply::Resets,
            false => done(),
        }
    };
    let server = Server::start(Version::V5, NEVER, Box::new(script));
    let mut plan = plan(server.address, Phase::steady("write", 2000.0, 64, 1500));
    plan.connections = 3;
    let phase = run(&plan);
    let lost = phase.total.failed[&FailureKind::Connection];
    assert_eq!(phase.total.failures(), lost, "{phase:#?}");
    assert_eq!(phase.total.completed + lost, phase.total.started);
    assert!(phase.total.completed > 100, "{phase:#?}");
    let resets = phase.around.connections_lost;
    assert!((3..=server.accepted.load(Ordering::SeqCst)).contains(&resets));
    assert!(lost >= resets, "{phase:#?}");
    let said = &phase.first_failures[&FailureKind::Connection];
    assert!(said.contains("reset"), "{said}");
}

#[test]
fn a_node_that_accepts_and_drops_is_not_dialled_all_the_time() {
    let server = Server::start(Version::V5, NEVER, Box::new(|_| Reply::Closes));
    let phase = run(&plan(
        server.address,
        Phase::steady("write", 500.0, 16, 1500),
    ));
    assert_eq!(phase.total.completed, 0, "{phase:#?}");
    assert_eq!(phase.total.failures(), phase.total.started);
    let lost = phase.around.connections_lost;
    // At once, then after 0.1, 0.2, 0.4 and 0.8 s; one more watches the cluster.
    assert!((1..=5).contains(&lost), "{phase:#?}");
    assert!(server.accepted.load(Ordering::SeqCst) <= lost + 2);
}

#[test]
fn a_pause_of_the_server_is_in_response_times_and_hardly_in_service_times() {
    const PAUSE: Duration = Duration::from_millis(500);
    let script = |number: u64| {
        if number == 400 {
            thread::sleep(PAUSE);
        }
        done()
    };
    let server = Server::start(Version::V5, NEVER, Box::new(script));
    let phase = run(&plan(
        server.address,
        Phase::steady("write", 2000.0, 16, 1000),
    ));
    assert_eq!(phase.total.completed, 2000, "{phase:#?}");
    let times = phase.total.times().collect::<Vec<_>>();
    let [("response", response), ("service", service)] = &times[..] else {
        panic!("{times:?}");
    };
    // A histogram has three digits.
    let pause_us = PAUSE.as_secs_f64() * 1e6 * 0.998;
    assert!(response.max_us >= pause_us && service.max_us >= pause_us);
    let above = |of: &Distribution| of.histogram.count_above(250_000_000);
    // What was to start in its first half waited for the other half at least: but for those that were on their way, here.
    let (response, service) = (above(response), above(service));
    assert!(response >= 400, "{response}");
    assert!(service * 5 <= response, "{service} {response}");
}

#[test]
fn columns_that_change_in_mid_run_are_read_as_they_are() {
    for version in [Version::V4, Version::V5] {
        let altered = Altered::new(Seed(3));
        let server = altered.server(version, 100);
        let mut plan = plan(server.address, altered.phase(400));
        plan.workload = altered.workload.clone();
        let phase = run(&plan);
        let total = &phase.total;
        assert_eq!(total.completed + total.failures(), 400, "{phase:#?}");
        // Over v4, rows that are on their way while the statement is prepared again do not say which columns they have.
        let unsaid = match version {
            Version::V4 => 16,
            Version::V5 => 0,
        };
        assert!(total.failures() <= unsaid, "{phase:#?}");
        assert_eq!(total.rows, total.completed, "{phase:#?}");
        assert_eq!(phase.around.connections_lost, 0);
        assert!(altered.described() > 0, "{version}");
    }
}

#[test]
fn half_a_frame_and_silence_are_client_time_outs() {
    let half: Bytes = |header| void(header, |bytes| bytes.truncate(5));
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
    let mut plan = plan(server.address, Phase::steady("write", 8000.0, 4096, 900));
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
