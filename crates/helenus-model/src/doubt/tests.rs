//! Doubts by their facts and thresholds.
//! Refuses facts that a run does not give.

use super::*;

fn good() -> PhaseFacts {
    PhaseFacts {
        duration_s: 30.0,
        rate_per_s: Some(2000.0),
        ended: 60_000,
        thread_busy: 0.2,
        lateness_p99_ns: Some(300_000),
        response_p99_ns: Some(4_000_000),
        ..PhaseFacts::default()
    }
}

fn kinds(facts: &PhaseFacts, outside: &OutsideFacts) -> Vec<DoubtKind> {
    judge(facts, outside).into_iter().map(|d| d.kind).collect()
}

#[test]
fn a_good_phase_raises_none() {
    assert!(judge(&good(), &OutsideFacts::default()).is_empty());
    assert_eq!(Verdict::of(&[]), Verdict::Valid);
}

#[test]
fn each_threshold_is_where_the_design_puts_it() {
    let none = OutsideFacts::default();
    let case = |change: fn(&mut PhaseFacts)| {
        let mut facts = good();
        change(&mut facts);
        kinds(&facts, &none)
    };
    assert!(case(|f| f.backlog = 2000).is_empty());
    assert_eq!(case(|f| f.backlog = 2001), [DoubtKind::BehindSchedule]);
    assert_eq!(
        case(|f| f.growth_s = Some(0.31)),
        [DoubtKind::BehindSchedule]
    );
    assert_eq!(
        case(|f| f.thread_busy = 0.91),
        [DoubtKind::GeneratorSaturated]
    );
    let behind = |lateness_ns: f64| {
        let mut facts = good();
        facts.backlog = 2001;
        facts.slot_wait_mean_ns = Some(1e6);
        facts.lateness_mean_ns = Some(lateness_ns);
        judge(&facts, &none)[0].clone()
    };
    let (nodes, own) = (behind(1e5), behind(2e6));
    assert!(nodes.nodes_fell_behind() && !nodes.spoils());
    assert!(!own.nodes_fell_behind() && own.spoils());
    assert_eq!(own.about.as_deref(), Some("the generator"));
    assert_eq!(own.cure, DoubtKind::GeneratorSaturated.cure());
    assert!(case(|f| f.lateness_p99_ns = Some(1_000_000)).is_empty());
    assert_eq!(
        case(|f| f.lateness_p99_ns = Some(1_100_000)),
        [DoubtKind::GeneratorLate]
    );
    // Ten percent of a slow response allows more than a millisecond.
    assert!(
        case(|f| {
            f.lateness_p99_ns = Some(1_900_000);
            f.response_p99_ns = Some(20_000_000);
        })
        .is_empty()
    );
    assert!(case(|f| f.failed = 60).is_empty());
    assert_eq!(case(|f| f.failed = 61), [DoubtKind::Errors]);
    assert_eq!(
        case(|f| f.clock_step_ns = 10_000_001),
        [DoubtKind::ClockStepped]
    );
    assert_eq!(case(|f| f.duration_s = 9.9), [DoubtKind::Short]);
    assert_eq!(case(|f| f.duration_s = 9.996), []);
    assert_eq!(case(|f| f.ended = 999), [DoubtKind::FewSamples]);
    assert!(case(|f| f.p99_half_width = Some(0.25)).is_empty());
    assert_eq!(
        case(|f| f.p99_half_width = Some(0.26)),
        [DoubtKind::WideInterval]
    );
    assert_eq!(
        case(|f| f.unsteady_change = Some(0.3)),
        [DoubtKind::NotSteady]
    );
}

#[test]
fn outside_facts_name_their_node_and_the_worst_decides() {
    let outside = OutsideFacts {
        nodes_died: vec!["n2".to_owned()],
        steal_share: Some(0.2),
        archive_mix: true,
        ..OutsideFacts::default()
    };
    let doubts = judge(&good(), &outside);
    assert_eq!(doubts[0].about.as_deref(), Some("n2"));
    assert_eq!(Verdict::of(&doubts), Verdict::Invalid);
    assert_eq!(Verdict::of(&doubts[1..]), Verdict::Caution);
    assert_eq!(Verdict::Invalid.exit_code(), 5);
    assert_eq!(Verdict::Caution.exit_code(), 0);
}

#[test]
fn what_was_asked_for_is_a_caution_and_what_died_beside_it_is_not() {
    use crate::telemetry::{Event, Reading, Seen};
    let event = |source: &str, what, at_ns, to_ns, text: &str| Reading {
        source: source.into(),
        at_ns,
        seen: Seen::Event(Event {
            what,
            to_ns,
            text: text.into(),
        }),
    };
    let kill = "at 10ns for 20ns kill node2";
    let readings = [
        event("node2", EventKind::Killed, 10, 30, kill),
        // Seen alive before, and again after.
        event("node2", EventKind::Died, 8, 34, "gone"),
        event("node3", EventKind::Died, 50, 60, "gone"),
        event("@DC9", EventKind::NotMade, 70, 80, "partition DC9"),
    ];
    let window = Window::new(&readings, 0, 100);
    let doubts = judge(&good(), &OutsideFacts::default().seen_through(&window));
    let found: Vec<_> = doubts
        .iter()
        .map(|d| (d.kind, d.about.as_deref(), d.measured))
        .collect();
    let expected = [
        (DoubtKind::NodeDied, Some("node3"), 1.0),
        (DoubtKind::FaultNotMade, Some("partition DC9"), 1.0),
        (DoubtKind::Fault, Some(kill), 0.2),
    ];
    assert_eq!(found, expected);
    // A window that it did not touch has no doubt about it; what was not made is missing everywhere.
    let later = Window::new(&readings, 40, 49);
    let doubts = judge(&good(), &OutsideFacts::default().seen_through(&later));
    let kinds: Vec<DoubtKind> = doubts.iter().map(|d| d.kind).collect();
    assert_eq!(kinds, [DoubtKind::FaultNotMade]);
}

#[test]
fn a_node_that_a_full_disk_ended_has_not_died_by_itself() {
    use crate::fault::{Fault, script::words_before_run};
    use crate::telemetry::{Event, Reading, Seen};
    let event = |source: &str, what, at_ns, to_ns, text: &str| Reading {
        source: source.into(),
        at_ns,
        seen: Seen::Event(Event {
            what,
            to_ns,
            text: text.into(),
        }),
    };
    let died = |words: &str| {
        let readings = [
            event("node2", EventKind::Fault, 10, 30, words),
            event("node2", EventKind::Died, 15, 34, "gone"),
            event("node3", EventKind::Died, 15, 34, "gone"),
        ];
        let window = Window::new(&readings, 0, 100);
        let doubts = judge(&good(), &OutsideFacts::default().seen_through(&window));
        let died = doubts.iter().filter(|d| d.kind == DoubtKind::NodeDied);
        died.filter_map(|d| d.about.clone()).collect::<Vec<_>>()
    };
    assert_eq!(died("at 1s for 2s disk-full node2"), ["node3"]);
    // A pause ends no node.
    assert_eq!(died("at 1s for 2s pause node2"), ["node2", "node3"]);
    // So it is where somebody made it before the run.
    for (words, wanted) in [
        ("disk-full node2", &["node3"][..]),
        ("pause node2", &["node2", "node3"]),
    ] {
        let before = words_before_run(&Fault::parse(words).unwrap());
        assert_eq!(died(&before), wanted);
    }
}

#[test]
fn what_nodes_did_is_a_caution_that_names_them() {
    let outside = OutsideFacts {
        compaction_share: 0.11,
        compaction_most: Some("node2".to_owned()),
        collection_shares: BTreeMap::from([("node1".into(), 0.10), ("node3".into(), 0.4)]),
        generator_wait_share: Some(0.11),
        ..OutsideFacts::default()
    };
    let doubts = judge(&good(), &outside);
    let seen: Vec<_> = doubts
        .iter()
        .map(|d| (d.kind, d.about.as_deref()))
        .collect();
    let expected = [
        (DoubtKind::Compaction, Some("node2")),
        (DoubtKind::Collection, Some("node3")),
        (DoubtKind::GeneratorWaited, None),
    ];
    assert_eq!(seen, expected);
    assert_eq!(Verdict::of(&doubts), Verdict::Caution);
    assert!(doubts.iter().all(|d| d.unit == "share"));
}

#[test]
fn distance_is_doubted_above_a_twentieth_of_the_round_trip() {
    let late = |late_p99_us| OutsideFacts {
        emulator: Some(Emulated {
            packets: 10_000,
            late_p99_us: Some(late_p99_us),
            round_trip_us: Some(10_000),
            shortest: Some(["DC1".into(), "DC2".into()]),
            ..Emulated::default()
        }),
        ..OutsideFacts::default()
    };
    assert!(judge(&good(), &late(500)).is_empty());
    let doubts = judge(&good(), &late(501));
    assert_eq!(doubts.len(), 1);
    let doubt = &doubts[0];
    assert_eq!(doubt.kind, DoubtKind::DistanceOff);
    assert_eq!(doubt.severity, Severity::Caution);
    assert_eq!(doubt.about.as_deref(), Some("DC1 - DC2"));
    assert_eq!((doubt.measured, doubt.threshold), (0.0501, 0.05));
}

#[test]
fn what_pods_lack_is_doubted() {
    let lost = "generator 2 of 3 ended 2 s into the measurement window";
    let outside = OutsideFacts {
        generators_lost: BTreeMap::from([(lost.to_owned(), 0.25)]),
        throttled: BTreeMap::from([("g-0".to_owned(), 0.005), ("g-1".to_owned(), 0.2)]),
        clocks: Some(("g-2".to_owned(), 0.06)),
        // What pods report stays beside what readings show.
        nodes_died: vec!["demo/demo-0: restarted".to_owned()],
        ..OutsideFacts::default()
    };
    let doubts = judge(&good(), &outside.seen_through(&Window::new(&[], 0, 100)));
    let found: Vec<_> = doubts
        .iter()
        .map(|d| (d.kind, d.about.as_deref(), d.measured))
        .collect();
    let expected = [
        (DoubtKind::NodeDied, Some("demo/demo-0: restarted"), 1.0),
        (DoubtKind::GeneratorLost, Some(lost), 0.25),
        (DoubtKind::ClockUnsure, Some("g-2"), 0.06),
        (DoubtKind::Throttled, Some("g-1"), 0.2),
    ];
    assert_eq!(found, expected);
    assert_eq!(Verdict::of(&doubts[2..]), Verdict::Caution);
    let sure = OutsideFacts {
        clocks: Some(("g-2".to_owned(), 0.05)),
        ..OutsideFacts::default()
    };
    assert!(judge(&good(), &sure).is_empty());
}

#[test]
fn cures_follow_from_the_cause() {
    let mut facts = good();
    (facts.failed, facts.backlog) = (600, 20_000);
    let mut cures = |kind: FailureKind, outside: &OutsideFacts| -> Vec<String> {
        facts.failed_most = Some(kind);
        facts.unsteady_change = Some(0.3);
        let doubts = judge(&facts, outside);
        let lines = doubts.iter().map(|d| format!("{:?}: {}", d.kind, d.cure));
        lines.collect()
    };
    let none = OutsideFacts::default();
    let overloaded = cures(FailureKind::Overloaded, &none);
    insta::assert_snapshot!(overloaded.join("\n"), @r"
    BehindSchedule: lower the rate, or find the highest one that the cluster sustains
    Errors: the nodes refused the load: lower the rate, or allow fewer operations in flight; --max-errors SHARE allows more of them
    NotSteady: use a longer warm-up, or run long enough for the change to pass
    ");
    let unavailable = cures(FailureKind::Unavailable, &none);
    insta::assert_snapshot!(unavailable.join("\n"), @r"
    BehindSchedule: nodes were down or unreachable: fix that first, the rate may be right
    Errors: too few replicas were up for the consistency level: start the nodes that are down (`helenus status` shows them), or check the keyspace's replication; --max-errors SHARE allows more of them
    NotSteady: nodes were down or unreachable: fix that first, the rate may be right
    ");
    let died = OutsideFacts {
        nodes_died: vec!["node2".to_owned()],
        ..OutsideFacts::default()
    };
    let gone = cures(FailureKind::Connection, &died);
    insta::assert_snapshot!(gone.join("\n"), @r"
    BehindSchedule: nodes were down or unreachable: fix that first, the rate may be right
    Errors: a node stopped or could not be reached: see `helenus status` and the node's log; --max-errors SHARE allows more of them
    NodeDied: see the node's log (`helenus logs`, on Kubernetes `helenus kube logs`); give it more memory if it ran out of it
    NotSteady: nodes were down or unreachable: fix that first, the rate may be right
    ");
    let fault = OutsideFacts {
        faults: BTreeMap::from([("at 5s for 5s kill node2".to_owned(), 0.3)]),
        ..OutsideFacts::default()
    };
    let asked = cures(FailureKind::Unavailable, &fault);
    assert!(asked[0].contains("the effect of a fault"), "{asked:?}");
    let stopped = OutsideFacts {
        disturbed: vec!["helenus stop c".to_owned()],
        ..died
    };
    for cure in cures(FailureKind::Connection, &stopped) {
        let errors = cure.starts_with("Errors");
        assert!(
            errors || cure.ends_with("run it again without that command"),
            "{cure}"
        );
    }
    // Nothing but nodes that are down is an outage, and it says nothing of the load.
    for kind in [FailureKind::Unavailable, FailureKind::Connection] {
        assert!(
            !kind.hint().contains("rate") && kind.is_outage(),
            "{kind:?}"
        );
    }
}
