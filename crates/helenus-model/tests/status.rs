//! What Cassandra 5.0.9's own nodetool printed, beside the state it was printed from: ours must be the same to the byte.
//! Refuses masks: the recorded loads are those that the real output showed.

use helenus_model::status::{
    ClusterView, Keyspace, Node, Ownership, Reach, Report, State, StatusError, java_hash_order,
    load_from_gossip, percent, size,
};

#[derive(serde::Deserialize)]
struct Recorded {
    keyspace: Option<String>,
    exit: u8,
    view: ClusterView,
}

macro_rules! recorded {
    ($($name:literal,)*) => {
        &[$((
            $name,
            include_str!(concat!("data/status/", $name, ".json")),
            include_str!(concat!("data/status/", $name, ".txt")),
        ),)*]
    };
}

/// Name, state, and standard output of the real tool.
const CASES: &[(&str, &str, &str)] = recorded![
    "joining",
    "one-differing",
    "one-fresh",
    "one-ks-nosuch",
    "one-ks-system",
    "one-ks-system_views",
    "one-ks-traces",
    "one-ks-uppercase",
    "one-rf1-arg",
    "one-rf1",
    "three-dcs-one-token-arg-system",
    "three-dcs-one-token-fresh",
    "three-dcs-one-token-nts",
    "three-one-token-arg-one",
    "three-one-token-arg-system",
    "three-one-token-arg-three",
    "three-one-token-differing",
    "three-one-token-fresh-from-2",
    "three-one-token-fresh",
    "three-one-token-killed",
    "three-one-token-leaving",
    "three-one-token-moved",
    "three-one-token-moving",
    "three-one-token-restarted",
    "three-one-token-rf1-twice",
    "three-one-token-rf1",
    "three-vnodes-arg-racks-one",
    "three-vnodes-arg-racks-two",
    "three-vnodes-arg-simple-two",
    "three-vnodes-arg-three",
    "three-vnodes-differing",
    "three-vnodes-fresh",
    "three-vnodes-killed",
    "three-vnodes-restarted-beside-a-dead-one",
    "three-vnodes-rf1",
    "two-dcs-arg-first-only",
    "two-dcs-arg-simple-two",
    "two-dcs-differing",
    "two-dcs-fresh",
    "two-dcs-one-each",
    "two-dcs-second-killed",
];

fn recorded(json: &str) -> Recorded {
    serde_json::from_str(json).unwrap()
}

#[test]
fn every_recorded_output_is_repeated_exactly() {
    for (name, json, expected) in CASES {
        let Recorded {
            keyspace,
            exit,
            view,
        } = recorded(json);
        let ours = view.nodetool(keyspace.as_deref()).unwrap();
        assert_eq!(ours.stdout, *expected, "{name}");
        assert_eq!(ours.exit, exit, "{name}");
        assert_eq!(ours.stderr, "", "{name}");
    }
}

#[test]
fn the_order_of_nodes_and_keyspaces_in_the_view_does_not_matter() {
    for (name, json, expected) in CASES {
        let Recorded {
            keyspace, mut view, ..
        } = recorded(json);
        view.nodes.reverse();
        view.keyspaces.reverse();
        let ours = view.nodetool(keyspace.as_deref()).unwrap();
        assert_eq!(ours.stdout, *expected, "{name}");
    }
}

#[test]
fn a_report_is_read_as_it_was_written() {
    for (name, json, _) in CASES {
        let Recorded { keyspace, view, .. } = recorded(json);
        let Ok(report) = Report::new(view, keyspace.as_deref()) else {
            continue;
        };
        let text = serde_json::to_string(&report).unwrap();
        assert!(
            text.starts_with(r#"{"format":"helenus.status/1","#),
            "{name}"
        );
        let back: Report = serde_json::from_str(&text).unwrap();
        assert_eq!(back, report, "{name}");
    }
}

fn node(last: u8, tokens: &[i64], state: State) -> Node {
    Node {
        address: [127, 79, 1, last].into(),
        storage_port: 7000,
        data_center: "datacenter1".into(),
        rack: "rack1".into(),
        host_id: None,
        tokens: tokens.to_vec(),
        load_bytes: None,
        reach: Reach::Unknown,
        state,
    }
}

fn keyspace(name: &str, replication: &[(&str, &str)]) -> Keyspace {
    Keyspace {
        name: name.into(),
        replication: replication
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect(),
    }
}

#[test]
fn what_is_not_known_prints_as_a_question_mark() {
    let view = ClusterView {
        other_partitioner: None,
        nodes: vec![node(1, &[0], State::Normal)],
        keyspaces: vec![],
    };
    let lines: Vec<_> = view
        .nodetool(None)
        .unwrap()
        .stdout
        .lines()
        .map(str::to_owned)
        .collect();
    assert_eq!(
        lines[4..],
        [
            "--  Address     Load  Owns  Host ID  Token  Rack ",
            "?N  127.79.1.1  ?     ?              0      rack1",
            "",
            "Note: The node does not have system_traces yet, probably still bootstrapping. \
             Effective ownership information is meaningless.",
        ]
    );
}

#[test]
fn addresses_print_as_java_prints_them() {
    let mut six = node(1, &[0, 1], State::Normal);
    six.address = std::net::Ipv6Addr::LOCALHOST.into();
    let view = ClusterView {
        other_partitioner: None,
        nodes: vec![six],
        keyspaces: vec![],
    };
    let printed = view.nodetool(None).unwrap().stdout;
    assert!(
        printed.contains("?N  0:0:0:0:0:0:0:1  ?     2 "),
        "{printed}"
    );
}

#[test]
fn gossip_gives_state_and_load() {
    for (status, state) in [
        ("NORMAL,-6148914691236517206", Some(State::Normal)),
        ("shutdown,true", Some(State::Normal)),
        ("BOOT,700000000000000000", Some(State::Joining)),
        ("BOOT_REPLACE,127.79.1.3:7000", Some(State::Joining)),
        ("LEAVING,6148914691236517204", Some(State::Leaving)),
        ("MOVING,999999999999999999", Some(State::Moving)),
        ("LEFT,1,2", None),
        ("hibernate,true", None),
        ("", None),
    ] {
        assert_eq!(State::from_gossip(status), state, "{status}");
    }
    assert_eq!(load_from_gossip("98790.0"), Some(98_790));
    assert_eq!(load_from_gossip("1.048576E7"), Some(10_485_760));
    assert_eq!(load_from_gossip("-1.0"), None);
    assert_eq!(load_from_gossip("NaN"), None);
    assert_eq!(load_from_gossip(""), None);
}

#[test]
fn without_a_ring_nodetool_fails() {
    let traces = keyspace(
        "system_traces",
        &[("class", "SimpleStrategy"), ("replication_factor", "2")],
    );
    let mut view = ClusterView {
        other_partitioner: None,
        nodes: vec![node(1, &[5], State::Joining)],
        keyspaces: vec![traces],
    };
    assert_eq!(view.ownership(None), Err(StatusError::NoRing));
    let printed = view.nodetool(None).unwrap();
    assert_eq!((printed.stdout.as_str(), printed.exit), ("", 2));
    assert_eq!(
        printed.stderr,
        "error: No nodes present in the cluster. Has this node finished starting up?\n"
    );
    view.keyspaces.clear();
    let printed = view.nodetool(None).unwrap();
    assert_eq!(printed.exit, 1);
    assert!(printed.stdout.starts_with("\nError: No nodes present"));
}

#[test]
fn user_keyspaces_agree_only_with_class_and_factors() {
    let nts = |name, dc1: &str| {
        keyspace(
            name,
            &[("class", "NetworkTopologyStrategy"), ("datacenter1", dc1)],
        )
    };
    let mut view = ClusterView {
        other_partitioner: None,
        nodes: vec![node(1, &[0], State::Normal)],
        keyspaces: vec![nts("a", "1"), nts("b", "1")],
    };
    assert!(matches!(view.ownership(None), Ok(Ownership::Effective(_))));
    view.keyspaces.push(nts("c", "2"));
    assert!(matches!(
        view.ownership(None),
        Ok(Ownership::Meaningless(_))
    ));
    view.keyspaces.pop();
    view.keyspaces.push(keyspace(
        "c",
        &[("class", "SimpleStrategy"), ("replication_factor", "1")],
    ));
    assert!(matches!(
        view.ownership(None),
        Ok(Ownership::Meaningless(_))
    ));
}

/// Orders, percentages and sizes as a Java 17 runtime printed them from the same classes that nodetool uses.
#[test]
fn java_forms() {
    let endpoints =
        |n: usize| -> Vec<String> { (1..=n).map(|i| format!("127.79.1.{i}:7000")).collect() };
    let order = |n| -> Vec<usize> {
        let keys = endpoints(n);
        java_hash_order(&keys).iter().map(|i| i + 1).collect()
    };
    let java: &[&[usize]] = &[
        &[5, 2, 3, 4, 1],
        &[5, 2, 8, 3, 7, 10, 9, 4, 6, 11, 1, 12],
        &[3, 7, 11, 5, 2, 8, 13, 10, 9, 4, 6, 1, 12],
        &[
            18, 15, 3, 7, 22, 19, 11, 16, 21, 24, 5, 2, 8, 13, 10, 14, 23, 9, 4, 6, 17, 20, 1, 12,
        ],
        &[
            18, 15, 3, 21, 24, 2, 13, 10, 14, 9, 6, 17, 25, 7, 22, 19, 11, 16, 5, 8, 23, 4, 20, 1,
            12,
        ],
        &[
            40, 15, 54, 46, 32, 29, 37, 24, 10, 14, 55, 59, 41, 6, 28, 33, 39, 36, 47, 53, 50, 56,
            58, 45, 5, 31, 8, 34, 42, 23, 20, 12, 18, 3, 51, 43, 26, 35, 21, 48, 2, 52, 13, 44, 9,
            17, 60, 25, 7, 30, 22, 19, 11, 16, 27, 4, 38, 1, 49, 57,
        ],
    ];
    for expected in java {
        assert_eq!(order(expected.len()), *expected);
    }
    for (share, text) in [
        (0.0, "0.0%"),
        (1.0, "100.0%"),
        (0.6665, "66.6%"),
        (0.666_500_03, "66.7%"),
        (0.0005, "0.1%"),
        (0.0625, "6.2%"),
        (0.4375, "43.8%"),
        (0.9995, "99.9%"),
        (2.0, "200.0%"),
    ] {
        assert_eq!(percent(share), text);
    }
    for (bytes, text) in [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1 KiB"),
        (1029, "1 KiB"),
        (1100, "1.07 KiB"),
        (1536, "1.5 KiB"),
        (106_844, "104.34 KiB"),
        (1_048_575, "1024 KiB"),
        (1_048_576, "1 MiB"),
        (1_234_567_890_123, "1.12 TiB"),
    ] {
        assert_eq!(size(bytes), text);
    }
}

#[test]
fn other_partitioners_show_nodes_without_a_ring() {
    let view = ClusterView {
        other_partitioner: Some("RandomPartitioner".into()),
        nodes: vec![node(1, &[], State::Normal), node(2, &[], State::Normal)],
        keyspaces: vec![keyspace("a", &[("class", "LocalStrategy")])],
    };
    let printed = view.nodetool(None).unwrap();
    assert_eq!(printed.exit, 0);
    let lines: Vec<&str> = printed.stdout.lines().skip(4).collect();
    assert_eq!(
        lines[..4],
        [
            "--  Address     Load  Owns  Host ID  Token  Rack ",
            "?N  127.79.1.2  ?     ?              ?      rack1",
            "?N  127.79.1.1  ?     ?              ?      rack1",
            "",
        ]
    );
    assert!(lines[4].contains("not Murmur3: tokens and ownership are not shown"));
    let unknown = StatusError::NoKeyspace("b".into());
    assert_eq!(view.ownership(Some("b")), Err(unknown));
    let report = Report::new(view, Some("a")).unwrap();
    assert!(
        report
            .note
            .as_deref()
            .is_some_and(|n| n.contains("not Murmur3"))
    );
}
