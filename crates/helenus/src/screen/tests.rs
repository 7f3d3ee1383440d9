//! What a screen shows, cell by cell, on small and large terminals.
//! Refuses a screen whose numbers are cut off.

use super::*;
use helenus_model::run_plan::Phase;
use helenus_model::sample::{FailureKind, Interval, OperationInterval};
use helenus_model::telemetry::{
    CompactionSample, Event, EventKind, HOST, HostSample, NodeSample, PoolSample, Reading, Seen,
};
use ratatui::backend::TestBackend;
use std::collections::BTreeMap;

const S: u64 = 1_000_000_000;

fn operation(completed: u64, ms: u64) -> OperationInterval {
    let mut operation = OperationInterval {
        offered: completed + 3,
        started: completed + 1,
        completed,
        ..OperationInterval::default()
    };
    for at in 0..completed {
        let ns = ms * 1_000_000 + at * 1_000;
        operation.service.record(ns);
        operation.response.record(ns);
        operation.lateness.record(10_000);
    }
    operation
}

fn picture(nodes: usize, seconds: u64) -> Picture {
    let names: Vec<String> = (1..=nodes).map(|at| format!("node{at}")).collect();
    let mut picture = Picture::new(names.clone());
    let phase = Phase::steady("main", 1000.0, 60, 60_000);
    for at in 0..seconds {
        for (place, name) in names.iter().enumerate().skip(1) {
            let sample = NodeSample {
                cpu_us: at * 400_000 * place as u64,
                rss_bytes: 210 << 20,
                written_bytes: Some(at * 3_000_000),
                pools: vec![PoolSample {
                    name: "MutationStage".to_owned(),
                    active: 2,
                    pending: 17,
                    blocked_so_far: 0,
                }],
                compactions: vec![CompactionSample {
                    id: "1".to_owned(),
                    keyspace: "ks".to_owned(),
                    table: "t".to_owned(),
                    task: "compaction".to_owned(),
                    done: 0.43,
                }],
                ..NodeSample::default()
            };
            picture.see(&Reading {
                source: name.clone(),
                at_ns: at * S,
                seen: Seen::Node(sample),
            });
        }
        picture.see(&Reading {
            source: HOST.to_owned(),
            at_ns: at * S,
            seen: Seen::Host(HostSample {
                busy_us: at * 1_500_000,
                ours_us: at * 1_400_000,
                total_us: at * 2_000_000,
                ..HostSample::default()
            }),
        });
        let mut write = operation(100 + at * 20, 2);
        write.failed.insert(FailureKind::WriteTimeout, 1);
        write.started += 1;
        write.offered += 1;
        let interval = Interval {
            phase: 0,
            stretch: Stretch::Measured,
            start_ns: at * S,
            end_ns: (at + 1) * S,
            thread_cpu_ns: 0,
            operations: BTreeMap::from([
                ("read".to_owned(), operation(200, 1)),
                ("write".to_owned(), write),
            ]),
            tenths: Vec::new(),
            slowest: Vec::new(),
            traced: Vec::new(),
            coordinators: BTreeMap::new(),
        };
        picture.interval(&phase, &interval, (at + 1, 60));
    }
    picture.see(&Reading {
        source: "node2".to_owned(),
        at_ns: seconds * S - 500_000_000,
        seen: Seen::Event(Event {
            what: EventKind::Collection,
            to_ns: seconds * S - 380_000_000,
            text: String::new(),
        }),
    });
    picture
}

fn shown(size: (u16, u16), picture: &Picture, words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).expect("a terminal");
    let view = View {
        title: "helenus run standard1 --cluster c --rate 1000",
        picture,
        words: &words,
    };
    terminal.draw(|frame| draw(frame, view)).expect("drawn");
    let text = terminal.backend().to_string();
    let lines = text.lines().map(|line| line.trim_matches('"').trim_end());
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_small_terminal_has_all_of_it() {
    insta::assert_snapshot!(shown(
        (80, 24),
        &picture(3, 30),
        &["fault 'pause node1': active"]
    ));
}

#[test]
fn a_large_terminal_has_more_seconds_and_all_nodes() {
    insta::assert_snapshot!(shown((200, 50), &picture(15, 30), &[]));
}

#[test]
fn nodes_that_do_not_fit_are_counted() {
    let text = shown((80, 24), &picture(15, 3), &[]);
    assert!(text.contains("and 9 more"), "{text}");
    assert!(text.contains("Waits for"), "{text}");
}

#[test]
fn before_the_first_second_it_connects() {
    let text = shown((80, 24), &Picture::new(["node1".to_owned()]), &[]);
    assert!(text.contains("connecting"), "{text}");
}

#[test]
fn no_size_is_too_small_to_draw() {
    for columns in [1, 20, 60] {
        for rows in [1, 5, 18] {
            let _anything = shown((columns, rows), &picture(3, 3), &["a", "b", "c"]);
        }
    }
}

#[test]
fn a_line_says_the_same() {
    insta::assert_snapshot!(line(&picture(1, 30)), @"
    main 30 of 60 s, 30.0 s left: 880 op/s, response time p50 2.20 p99 2.63 ms, 60 in flight, 120 wait, 1 failed
    ");
}
