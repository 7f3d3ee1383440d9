//! Pictures of known intervals and readings.
//! Refuses a word on what the run waits for that the numbers do not show.

use super::*;
use crate::run_plan::Extent;
use crate::telemetry::{CompactionSample, HOST, PoolSample};

const S: u64 = 1_000_000_000;

fn phase(rate_per_s: Option<f64>) -> Phase {
    Phase {
        rate_per_s,
        ..Phase::steady("read", 1.0, 8, 60_000)
    }
}

fn interval(from_s: u64, counts: [u64; 3], response_ms: u64) -> Interval {
    let [offered, started, completed] = counts;
    let mut operation = OperationInterval {
        offered,
        started,
        completed,
        ..OperationInterval::default()
    };
    for _ in 0..completed {
        operation.service.record(1_000_000);
        operation.response.record(response_ms * 1_000_000);
        operation.lateness.record(10_000);
    }
    Interval {
        phase: 0,
        stretch: Stretch::Measured,
        start_ns: from_s * S,
        end_ns: (from_s + 1) * S,
        thread_cpu_ns: 0,
        operations: BTreeMap::from([("read".to_owned(), operation)]),
        tenths: Vec::new(),
        slowest: Vec::new(),
        traced: Vec::new(),
        coordinators: BTreeMap::new(),
    }
}

fn reading(source: &str, at_s: u64, seen: Seen) -> Reading {
    Reading {
        source: source.to_owned(),
        at_ns: at_s * S,
        seen,
    }
}

fn node(cpu_us: u64) -> NodeSample {
    NodeSample {
        cpu_us,
        rss_bytes: 200 << 20,
        written_bytes: Some(cpu_us),
        ..NodeSample::default()
    }
}

fn event(what: EventKind, from_ms: u64, to_ms: u64) -> Reading {
    Reading {
        source: "node1".to_owned(),
        at_ns: from_ms * 1_000_000,
        seen: Seen::Event(Event {
            what,
            to_ns: to_ms * 1_000_000,
            text: String::new(),
        }),
    }
}

fn picture() -> Picture {
    let mut picture = Picture::new(["node1".to_owned()]);
    for at in 0..20 {
        picture.see(&reading("node1", at, Seen::Node(node(at * 500_000))));
    }
    picture
}

#[test]
fn rates_and_percentiles_are_those_of_the_last_seconds() {
    let mut picture = picture();
    let phase = phase(Some(100.0));
    for at in 0..20 {
        let ms = if at < 10 { 900 } else { 2 };
        picture.interval(&phase, &interval(at, [100, 100, 100], ms), (at + 1, 60));
    }
    let lines = picture.operations();
    assert_eq!(lines.len(), 1);
    assert!((lines[0].per_s - 100.0).abs() < 1e-9, "{lines:?}");
    let p99 = lines[0].percentiles_ns[1].expect("enough samples");
    assert!((1_900_000..2_100_000).contains(&p99), "{p99}");
    assert_eq!(
        lines[0].percentiles_ns[2], None,
        "1,000 samples decide no p99.9"
    );
    assert_eq!(picture.seconds().len(), 20);
    let (share, words) = picture.progress();
    assert!((share - 1.0 / 3.0).abs() < 1e-9);
    assert_eq!(words, "20 of 60 s, 40.0 s left");
    assert_eq!(picture.in_flight(), (0, 8));
    assert_eq!(picture.waits_for(), ["nothing: it is on schedule"]);
}

#[test]
fn seconds_without_a_line_are_empty_and_old_ones_are_forgotten() {
    let mut picture = picture();
    let phase = phase(Some(1.0));
    picture.interval(&phase, &interval(5, [1, 1, 1], 1), (1, 60));
    picture.interval(&phase, &interval(8, [3, 3, 3], 1), (4, 60));
    let seen: Vec<u64> = picture.seconds().map(|second| second.completed).collect();
    assert_eq!(seen, [1, 0, 0, 3]);
    picture.interval(&phase, &interval(100_000, [1, 1, 1], 1), (4, 60));
    assert_eq!(picture.seconds().len(), SECONDS_KEPT);
}

#[test]
fn a_backlog_waits_for_the_nodes() {
    let mut picture = picture();
    picture.interval(
        &phase(Some(3000.0)),
        &interval(19, [3000, 1008, 1000], 40),
        (1, 60),
    );
    assert_eq!((picture.in_flight(), picture.waiting()), ((8, 8), 1992));
    assert_eq!(
        picture.waits_for(),
        ["the nodes: all 8 operations in flight are used, 1,992 wait"]
    );
}

#[test]
fn a_closed_loop_has_service_times_and_no_backlog() {
    let mut picture = picture();
    picture.interval(&phase(None), &interval(19, [1008, 1008, 1000], 40), (1, 60));
    assert_eq!(
        (picture.times_are(), picture.waiting()),
        ("service time", 0)
    );
    assert_eq!(
        picture.operations()[0].max_ns.map(|ns| ns / 1_000_000),
        Some(1)
    );
    assert!(picture.waits_for()[0].starts_with("answers:"));
}

#[test]
fn what_is_left_of_a_count_follows_from_the_rate() {
    let mut picture = picture();
    let mut phase = phase(None);
    phase.extent = Extent::Count(20_000);
    picture.interval(
        &phase,
        &interval(19, [1000, 1000, 1000], 40),
        (1000, 20_000),
    );
    assert_eq!(picture.progress().1, "1,000 of 20,000, 19.0 s left");
}

#[test]
fn a_new_phase_begins_anew() {
    let mut picture = picture();
    picture.interval(&phase(Some(10.0)), &interval(18, [10, 10, 2], 40), (1, 60));
    let mut next = phase(Some(10.0));
    next.name = "next".to_owned();
    picture.interval(&next, &interval(19, [10, 10, 10], 2), (1, 60));
    assert_eq!(picture.in_flight(), (0, 8));
    // A trial of a search has the name of the one before.
    let mut trial = interval(20, [10, 9, 9], 2);
    trial.phase = 1;
    picture.interval(&next, &trial, (1, 60));
    assert_eq!(picture.waiting(), 1);
    assert!((picture.operations()[0].per_s - 9.0).abs() < 1e-9);
    assert_eq!(picture.phase(), "next");
}

#[test]
fn nodes_have_processors_collections_and_what_waits() {
    let mut picture = picture();
    let busy = NodeSample {
        pools: vec![
            PoolSample {
                name: "ReadStage".to_owned(),
                active: 2,
                pending: 1,
                blocked_so_far: 0,
            },
            PoolSample {
                name: "MutationStage".to_owned(),
                active: 2,
                pending: 7,
                blocked_so_far: 0,
            },
        ],
        compactions: vec![CompactionSample {
            id: "1".to_owned(),
            keyspace: "ks".to_owned(),
            table: "t".to_owned(),
            task: "compaction".to_owned(),
            done: 0.5,
        }],
        ..node(20 * 500_000)
    };
    picture.see(&reading("node1", 20, Seen::Node(busy)));
    picture.interval(&phase(Some(10.0)), &interval(20, [10, 10, 10], 2), (1, 60));
    picture.see(&event(EventKind::Collection, 5_000, 5_500));
    picture.see(&event(EventKind::Collection, 20_100, 20_300));
    picture.see(&event(EventKind::Compaction, 19_000, 20_900));
    let nodes = picture.nodes();
    assert!(nodes[0].up);
    assert!((nodes[0].processors.expect("two samples") - 0.5).abs() < 1e-9);
    assert_eq!(
        nodes[0].collections,
        (1, 200_000_000),
        "the other is long ago"
    );
    assert_eq!(nodes[0].compactions, (1, Some(0.5)));
    assert_eq!(nodes[0].pending, Some(("MutationStage".to_owned(), 7)));
    assert_eq!(
        picture.waits_for(),
        ["node1: collection for 200 ms of the last 3 s"]
    );
}

#[test]
fn a_node_that_is_not_seen_is_down() {
    let mut picture = picture();
    picture.interval(&phase(Some(10.0)), &interval(40, [10, 10, 10], 2), (1, 60));
    assert!(!picture.nodes()[0].up);
    assert_eq!(picture.waits_for()[0], "node1 does not run");
}

#[test]
fn busy_processors_and_a_late_generator_are_named() {
    let mut picture = picture();
    let host = |at: u64| HostSample {
        busy_us: at * 1_960_000,
        ours_us: at * 1_000_000,
        stolen_us: 0,
        total_us: at * 2_000_000,
        ..HostSample::default()
    };
    picture.see(&reading(HOST, 18, Seen::Host(host(18))));
    picture.see(&reading(HOST, 19, Seen::Host(host(19))));
    let mut late = interval(19, [1000, 1000, 1000], 2);
    for counts in late.operations.values_mut() {
        counts.lateness = Histogram::new();
        for _ in 0..1000 {
            counts.lateness.record(4_000_000);
        }
    }
    picture.interval(&phase(Some(10.0)), &late, (1, 60));
    let waits = picture.waits_for();
    assert!(
        waits[0].starts_with("the generator: it starts operations late by 4.0 ms"),
        "{waits:?}"
    );
    assert_eq!(
        waits[1],
        "processors: 98 % busy, 48 % of it by other programs, 0 % taken by the hypervisor"
    );
}

#[test]
fn two_samples_of_one_moment_are_no_pace() {
    let mut samples = Samples::default();
    samples.take(0, 1_u64);
    assert_eq!(samples.pace(|count| *count), None);
    samples.take(1, 5);
    samples.take(S, 10);
    let pace = samples.pace(|count| *count).expect("apart");
    assert!(
        (pace * 1e9 - 5.0).abs() < 0.1 || (pace * 1e9 - 9.0).abs() < 0.1,
        "{pace}"
    );
}
