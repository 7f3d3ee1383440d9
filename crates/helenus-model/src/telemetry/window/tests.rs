//! Windows over readings whose every number is known.
//! Refuses readings of real machines: their numbers could not be known beforehand.

use super::super::{CompactionSample, GeneratorSample, under_way};
use super::*;
use crate::server_times::{Buckets, Timer};

const S: u64 = 1_000_000_000;

fn node(name: &str, at_s: u64, cpu_us: u64) -> Reading {
    let sample = NodeSample {
        cpu_us,
        ..NodeSample::default()
    };
    Reading {
        source: name.into(),
        at_ns: at_s * S,
        seen: Seen::Node(sample),
    }
}

fn event(name: &str, what: EventKind, from_ns: u64, to_ns: u64) -> Reading {
    let text = String::new();
    Reading {
        source: name.into(),
        at_ns: from_ns,
        seen: Seen::Event(Event { what, to_ns, text }),
    }
}

fn cpu(readings: &[Reading], from_ns: u64, to_ns: u64) -> Option<f64> {
    Window::new(readings, from_ns, to_ns).gained_by_nodes(|n| Some(n.cpu_us))
}

#[test]
fn a_counter_at_an_end_lies_between_the_readings_around_it() {
    let readings = [node("a", 10, 100), node("a", 11, 200), node("a", 12, 600)];
    assert_eq!(cpu(&readings, 10 * S, 12 * S), Some(500.0));
    // Half of the first second's 100, a quarter of the second's 400.
    let middle = cpu(&readings, 10 * S + S / 2, 11 * S + S / 4);
    assert_eq!(middle, Some(150.0));
    assert_eq!(cpu(&readings, 11 * S + S / 4, 11 * S + S / 2), Some(100.0));
    // A little beyond the readings is taken as the rest, more is not known.
    assert_eq!(
        cpu(&readings, 10 * S, 12 * S + S / 20),
        Some(500.0 * 2.05 / 2.0)
    );
    assert_eq!(cpu(&readings, 9 * S, 12 * S), None);
    assert_eq!(cpu(&readings, 20 * S, 21 * S), None);
    assert_eq!(cpu(&readings, 11 * S, 11 * S), None);
    assert_eq!(cpu(&[], 10 * S, 12 * S), None);
}

#[test]
fn timers_belong_to_the_window_in_whose_middle_they_were_read() {
    let read = |name: &str, from_ms: u64, to_ms: u64| Reading {
        source: name.into(),
        at_ns: from_ms * S / 1000,
        seen: Seen::Timers(NodeTimers {
            to_ns: to_ms * S / 1000,
            timers: [(Timer::CasRead, Buckets::default())].into(),
        }),
    };
    let all = [read("a", 10_002, 20_004), read("b", 19_999, 30_001)];
    let json = serde_json::to_string(&all).expect("writes");
    let readings: Vec<Reading> = serde_json::from_str(&json).expect("reads");
    assert_eq!(readings, all);
    let of = |from_s: u64, to_s: u64| {
        let window = Window::new(&readings, from_s * S, to_s * S);
        window.timers().map(|(node, _)| node).collect::<Vec<_>>()
    };
    assert_eq!(of(10, 20), ["a"]);
    assert_eq!(of(20, 30), ["b"]);
    assert!(of(30, 40).is_empty());
}

#[test]
fn a_counter_that_began_anew_says_nothing_and_one_node_stands_for_no_other() {
    let restarted = [node("a", 10, 100), node("a", 11, 20), node("a", 12, 60)];
    assert_eq!(cpu(&restarted, 10 * S, 12 * S), None);
    assert_eq!(cpu(&restarted, 11 * S, 12 * S), Some(40.0));
    let two = [
        node("a", 10, 0),
        node("b", 10, 5),
        node("a", 12, 40),
        node("b", 12, 7),
    ];
    assert_eq!(cpu(&two, 10 * S, 12 * S), Some(42.0));
    let gone = [node("a", 10, 0), node("b", 10, 5), node("a", 12, 40)];
    assert_eq!(cpu(&gone, 10 * S, 12 * S), None);
}

#[test]
fn events_over_each_other_count_once_and_only_inside_the_stretch() {
    use EventKind::{Collection, Compaction};
    let readings = [
        event("a", Collection, 5 * S, 11 * S),
        event("a", Collection, 12 * S, 14 * S),
        event("a", Collection, 13 * S, 15 * S),
        event("b", Collection, 14 * S, 16 * S),
        event("a", Compaction, 19 * S, 30 * S),
        event("a", Collection, 20 * S, 21 * S),
    ];
    let window = Window::new(&readings, 10 * S, 20 * S);
    let by_source = window.share_by_source(Collection);
    assert_eq!(by_source, BTreeMap::from([("a", 0.4), ("b", 0.2)]));
    assert_eq!(window.share(Collection), 0.5);
    assert_eq!(window.share(Compaction), 0.1);
    assert_eq!(window.share(EventKind::Died), 0.0);
    assert_eq!(window.events(Collection).count(), 4);
}

#[test]
fn shares_of_the_host_leave_out_ours_and_say_nothing_across_a_death() {
    let host = |at_s: u64, busy_us: u64, ours_us: u64, stolen_us: u64| Reading {
        source: HOST.into(),
        at_ns: at_s * S,
        seen: Seen::Host(HostSample {
            busy_us,
            ours_us,
            stolen_us,
            total_us: at_s * 2_000_000,
            ..HostSample::default()
        }),
    };
    let waits = |at_s: u64, run_queue_wait_us: u64| Reading {
        source: GENERATOR.into(),
        at_ns: at_s * S,
        seen: Seen::Generator(GeneratorSample {
            cpu_us: 0,
            run_queue_wait_us,
        }),
    };
    let mut readings = vec![
        host(10, 1_000_000, 500_000, 0),
        waits(10, 7),
        host(20, 13_000_000, 10_500_000, 600_000),
        waits(20, 2_000_007),
    ];
    let window = Window::new(&readings, 10 * S, 20 * S);
    assert_eq!(window.foreign_cpu_share(), Some(0.1));
    assert_eq!(window.steal_share(), Some(0.03));
    assert_eq!(window.generator_wait_share(), Some(0.2));
    readings.push(event("a", EventKind::Died, 15 * S, 30 * S));
    let window = Window::new(&readings, 10 * S, 20 * S);
    assert_eq!(window.foreign_cpu_share(), None);
    assert_eq!(window.steal_share(), Some(0.03));
}

#[test]
fn compactions_last_from_the_first_sample_to_the_next_answer_without_them() {
    let at = |at_s: u64, ids: Option<&[&str]>| {
        let task = |id: &&str| CompactionSample {
            id: (*id).into(),
            keyspace: "k".into(),
            table: "t".into(),
            task: "compaction".into(),
            done: 0.5,
        };
        let sample = NodeSample {
            answered: ids.is_some(),
            compactions: ids.unwrap_or_default().iter().map(task).collect(),
            ..NodeSample::default()
        };
        Reading {
            source: "a".into(),
            at_ns: at_s * S,
            seen: Seen::Node(sample),
        }
    };
    let readings = [
        at(1, Some(&[])),
        at(2, Some(&["x"])),
        at(3, Some(&["x", "y"])),
        at(4, None),
        at(5, Some(&["y"])),
        node("b", 6, 0),
        at(7, Some(&["y", "x"])),
    ];
    let events = under_way(&readings, 9 * S);
    let spans: Vec<(u64, u64)> = events
        .iter()
        .map(|r| match &r.seen {
            Seen::Event(e) => (r.at_ns / S, e.to_ns / S),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(spans, [(2, 5), (7, 9), (3, 9)]);
    let text = serde_json::to_string(&events[0].seen).expect("JSON");
    assert!(text.contains(r#""text":"k.t compaction""#), "{text}");
}

#[test]
fn the_emulator_is_judged_by_the_readings_nearest_to_both_ends() {
    let at = |at_ns: u64, cpu_us: u64| Reading {
        source: crate::telemetry::EMULATOR.into(),
        at_ns,
        seen: Seen::Emulator(EmulatorSample {
            cpu_us,
            ..EmulatorSample::default()
        }),
    };
    let readings = [
        at(9 * S, 100),
        at(10 * S + 1_000_000, 200),
        at(11 * S, 350),
        at(12 * S + 2_000_000, 600),
        at(13 * S, 900),
    ];
    let cpu = |readings: &[Reading], from_ns, to_ns| {
        let seen = Window::new(readings, from_ns, to_ns).emulated();
        seen.map(|emulated| emulated.cpu_us)
    };
    assert_eq!(cpu(&readings, 10 * S, 12 * S), Some(400));
    assert_eq!(
        cpu(&readings, 5 * S, 12 * S),
        None,
        "not seen from the begin"
    );
    assert_eq!(cpu(&readings, 10 * S, 15 * S), None, "nor to the end");
    assert_eq!(cpu(&[at(10 * S, 9), at(12 * S, 3)], 10 * S, 12 * S), None);
    assert_eq!(cpu(&[], 10 * S, 12 * S), None);
}
