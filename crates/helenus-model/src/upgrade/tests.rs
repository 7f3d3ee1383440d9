//! Ways from release to release: each step once, in order, and what is left of a way that was cut off.

use super::*;
use crate::yaml;

fn node(name: &str, release: &str, mode: Option<Mode>) -> NodeNow {
    NodeNow {
        name: name.into(),
        release: release.into(),
        mode,
        runs: true,
        in_hand: false,
    }
}

fn goal(release: &str, until: Option<Mode>) -> Goal {
    Goal {
        release: release.into(),
        until,
        rewrite: Vec::new(),
    }
}

fn planned(nodes: &[NodeNow], goal: &Goal) -> String {
    match upgrade("c", nodes, goal) {
        Ok(plan) => {
            let steps: Vec<String> = plan.steps.iter().map(Step::words).collect();
            steps.join("\n")
        }
        Err(error) => format!("{error} | {}", error.hint()),
    }
}

#[test]
fn a_cluster_of_4_1_goes_through_all_modes_of_5_0() {
    let two = [node("node1", "4.1.10", None), node("node2", "4.1.10", None)];
    insta::assert_snapshot!(planned(&two, &goal("5.0.9", None)), @"
    node1: 4.1.10 -> 5.0.9, storage compatibility mode CASSANDRA_4
    node2: 4.1.10 -> 5.0.9, storage compatibility mode CASSANDRA_4
    node1: restart on 5.0.9, storage compatibility mode UPGRADING
    node2: restart on 5.0.9, storage compatibility mode UPGRADING
    node1: restart on 5.0.9, storage compatibility mode NONE
    node2: restart on 5.0.9, storage compatibility mode NONE
    node1: upgradesstables
    node2: upgradesstables
    ");
    let until = goal("5.0.9", Some(Mode::Cassandra4));
    insta::assert_snapshot!(planned(&two[..1], &until), @"node1: 4.1.10 -> 5.0.9, storage compatibility mode CASSANDRA_4");
    insta::assert_snapshot!(planned(&two[..1], &goal("4.1.5", None)), @"node1: 4.1.10 -> 4.1.5");
    insta::assert_snapshot!(planned(&[node("node1", "4.0.19", None)], &goal("4.1.10", None)), @"
    node1: 4.0.19 -> 4.1.10
    node1: upgradesstables
    ");
}

/// Does the first steps of a plan as a node would, then plans again.
#[test]
fn wherever_a_way_is_cut_off_the_rest_of_it_is_planned() {
    let mut nodes: Vec<NodeNow> = (1..=3)
        .map(|n| node(&format!("node{n}"), "4.0.19", None))
        .collect();
    let mut goal = goal("5.0.9", None);
    let whole = upgrade("c", &nodes, &goal).unwrap().steps;
    assert_eq!(whole.len(), 12);
    goal.rewrite = nodes.iter().map(|n| n.name.clone()).collect();
    for done in 0..whole.len() {
        let rest = upgrade("c", &nodes, &goal).unwrap().steps;
        assert_eq!(rest, whole[done..], "after {done} steps");
        // Cut off in the middle of the step: the node is down.
        if let Step::Restart { .. } = &whole[done] {
            let at = nodes
                .iter()
                .position(|n| n.name == whole[done].node())
                .unwrap();
            (nodes[at].runs, nodes[at].in_hand) = (false, true);
            assert_eq!(upgrade("c", &nodes, &goal).unwrap().steps, whole[done..]);
            (nodes[at].runs, nodes[at].in_hand) = (true, false);
        }
        match &whole[done] {
            Step::Restart { node, to, mode, .. } => {
                let own = nodes.iter_mut().find(|n| n.name == *node).unwrap();
                (own.release, own.mode) = (to.clone(), *mode);
            }
            Step::Rewrite { node } => goal.rewrite.retain(|left| left != node),
        }
    }
    assert_eq!(upgrade("c", &nodes, &goal).unwrap().steps, []);
}

#[test]
fn a_node_that_was_down_on_the_new_release_is_started_on_it() {
    let mut cut = node("node1", "5.0.9", Some(Mode::Cassandra4));
    (cut.runs, cut.in_hand) = (false, true);
    let until = goal("5.0.9", Some(Mode::Cassandra4));
    let nodes = [cut, node("node2", "4.1.10", None)];
    insta::assert_snapshot!(planned(&nodes, &until), @"
    node1: restart on 5.0.9, storage compatibility mode CASSANDRA_4
    node2: 4.1.10 -> 5.0.9, storage compatibility mode CASSANDRA_4
    ");
}

#[test]
fn a_cluster_goes_back_as_long_as_its_mode_allows_it() {
    let back = goal("4.1.10", None);
    let half = [
        node("node1", "5.0.9", Some(Mode::Cassandra4)),
        node("node2", "4.1.10", None),
    ];
    insta::assert_snapshot!(planned(&half, &back), @"node1: 5.0.9 -> 4.1.10");
    for mode in [Mode::Upgrading, Mode::None] {
        let error = upgrade("c", &[node("node1", "5.0.9", Some(mode))], &back);
        assert!(matches!(error, Err(UpgradeError::LeftMode { .. })));
    }
    insta::assert_snapshot!(planned(&[node("node1", "5.0.9", None)], &back), @"node1: 5.0.9 -> 4.1.10");
    insta::assert_snapshot!(
        [
            planned(&[node("node1", "5.0.9", Some(Mode::None))], &back),
            planned(&[node("node1", "4.1.10", None)], &goal("4.0.19", None)),
            planned(&[node("node1", "3.11.5", None)], &goal("4.0.19", None)),
            planned(&[node("node1", "4.1.10", None)], &goal("4.1.5", Some(Mode::None))),
            planned(&[node("node1", "5.0.9", Some(Mode::None))], &goal("5.0.9", Some(Mode::Upgrading))),
        ]
        .join("\n"),
        @"
    node1 runs 5.0.9 in storage compatibility mode NONE: 4.1.10 cannot read its files | a cluster can be downgraded only while all nodes are in CASSANDRA_4 (`helenus upgrade NAME --to 5.0 --until CASSANDRA_4`); restore a baseline of the older release
    node1 runs 4.1.10, whose files 4.0.19 cannot read | only 5.0 in storage compatibility mode CASSANDRA_4 can be downgraded; restore a baseline of the older release
    3.11.5 is too old for an upgrade in place: those start with 4.0 | 5.0 can be reached from 4.0 and 4.1 only; bring up a new cluster and load the data
    Cassandra 4.1.5 has no storage compatibility modes | leave --until out
    node1 is already in storage compatibility mode NONE | a mode cannot be reverted; leave --until out
    "
    );
}

#[test]
fn a_node_that_is_down_comes_first_on_the_way_back_too() {
    let mut cut = node("node2", "5.0.9", Some(Mode::Cassandra4));
    (cut.runs, cut.in_hand) = (false, true);
    let first = node("node1", "5.0.9", Some(Mode::Cassandra4));
    let nodes = [first, cut, node("node3", "4.1.10", None)];
    insta::assert_snapshot!(planned(&nodes, &goal("4.1.10", None)), @"
    node2: 5.0.9 -> 4.1.10
    node1: 5.0.9 -> 4.1.10
    ");
}

#[test]
fn what_is_there_already_is_left_alone() {
    let own = [node("node1", "5.0.9", None), node("node2", "5.0.9", None)];
    assert_eq!(planned(&own, &goal("5.0.9", None)), "");
    insta::assert_snapshot!(planned(&own[..1], &goal("5.0.4", None)), @"node1: 5.0.9 -> 5.0.4");
    insta::assert_snapshot!(planned(&own[..1], &goal("5.0.9", Some(Mode::Upgrading))), @"node1: restart on 5.0.9, storage compatibility mode UPGRADING");
    let mut down = own.clone();
    down[1].runs = false;
    insta::assert_snapshot!(planned(&down, &goal("5.0.4", None)), @"not all nodes of the cluster are running; down: node2 | start them first (`helenus start NAME`): one node is down at a time, the others serve");
}

#[test]
fn settings_go_over_in_the_names_of_the_other_release() {
    let text = "cluster_name: c\nmemtable_heap_space_in_mb: 8\nkey_cache_size_in_mb: 0\nconcurrent_reads: 2\n\
                data_file_directories: [/x/data]\ninitial_token: '-9'\nseed_provider:\n\
                - class_name: org.apache.cassandra.locator.SimpleSeedProvider\n  parameters:\n  - {seeds: '127.0.0.1'}\n";
    let five = Release::find("5.0").unwrap();
    let (after, otherwise) = settings(text, five, Some(Mode::Cassandra4)).unwrap();
    let parsed = yaml::parse(&after).unwrap();
    assert_eq!(parsed["memtable_heap_space"], "8MiB");
    assert_eq!(parsed["storage_compatibility_mode"], "CASSANDRA_4");
    assert_eq!(
        parsed["data_file_directories"],
        yaml::parse("[/x/data]").unwrap()
    );
    let seeds = yaml::parse(text).unwrap()["seed_provider"].clone();
    assert_eq!(parsed["seed_provider"], seeds);
    assert_eq!(mode_of(&after), Some(Mode::Cassandra4));
    assert_eq!(otherwise.len(), 2, "{otherwise:?}");
    let text = "memtable: {configurations: {default: {class_name: TrieMemtable}}}\nauto_repair: {enabled: true}\n\
                memtable_heap_space: 8MiB\nstorage_compatibility_mode: CASSANDRA_4\n";
    let (back, otherwise) = settings(text, Release::find("4.1").unwrap(), None).unwrap();
    assert_eq!(
        yaml::parse(&back).unwrap(),
        yaml::parse("memtable_heap_space: 8MiB").unwrap()
    );
    let whys: Vec<String> = otherwise
        .iter()
        .map(|o| format!("{}: {}", o.key, o.why))
        .collect();
    insta::assert_snapshot!(whys.join("\n"), @"
    auto_repair: the key came with 5.0
    memtable: trie memtables came with 5.0
    ");
    let jvm = ["-Xmx64M", "-Dcassandra.memtable.row_overhead_size=180"].map(str::to_owned);
    let (kept, _) = flags(&jvm, Release::find("4.0").unwrap());
    assert_eq!(
        kept,
        [
            "-Xmx64M",
            "-Dcassandra.memtable_row_overhead_computation_step=1000"
        ]
    );
    assert_eq!(flags(&jvm, five).0, jvm);
}
