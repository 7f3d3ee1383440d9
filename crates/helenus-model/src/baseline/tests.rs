//! What fits where, what may be shared, and what never leaves its cluster.
//! Refuses samples that no cluster has: tokens, folders and statements are such as Cassandra writes.

use super::*;
use proptest::prelude::*;

const OLD: &str = "dbddee90e5a711f19b1de10c7b0fe052";
const NEW: &str = "161e31a0e5a811f1b55c33a77354f6ba";

fn file(path: &str, bytes: u64, class: Class) -> SavedFile {
    SavedFile {
        path: path.into(),
        class,
        bytes,
        modified_ns: 7,
        sha256: "00".repeat(32),
    }
}

fn files() -> Vec<SavedFile> {
    vec![
        file(
            "system/local-7ad54392bcdd35a684174e047860b377/nb-1-big-Data.db",
            100,
            Class::Linked,
        ),
        file(
            &format!("keyspace1/standard1-{OLD}/nb-1-big-Data.db"),
            1000,
            Class::Linked,
        ),
        file(
            &format!("keyspace1/standard1-{OLD}/nb-1-big-TOC.txt"),
            10,
            Class::Copied,
        ),
        file(
            &format!("keyspace1/gone-{NEW}/nb-1-big-Data.db"),
            5,
            Class::Linked,
        ),
    ]
}

fn baseline(nodes: usize) -> Baseline {
    let tokens = crate::ring::even_tokens(nodes, 1, 0);
    let node = |(k, tokens): (usize, &Vec<i64>)| SavedNode {
        name: format!("node{}", k + 1),
        data_center: "datacenter1".into(),
        rack: "rack1".into(),
        tokens: tokens.clone(),
        host_id: Some(format!("{k}")),
        files: files(),
    };
    Baseline {
        format: Format::new("baseline", BASELINE_VERSION),
        tag: "loaded".into(),
        created_unix: 1_700_000_000,
        release: "5.0.9".into(),
        cluster_id: "a1".into(),
        cluster: "c".into(),
        partitioner: "org.apache.cassandra.dht.Murmur3Partitioner".into(),
        keyspaces: vec![SavedKeyspace {
            name: "keyspace1".into(),
            statements: vec!["CREATE KEYSPACE keyspace1".into()],
        }],
        tables: vec![table(OLD)],
        nodes: tokens.iter().enumerate().map(node).collect(),
        settled: Settled {
            by: Asked::Nodetool,
            looks: 3,
            seconds: 2.5,
        },
        elements: Vec::new(),
        verified_unix: None,
    }
}

fn table(id: &str) -> SavedTable {
    SavedTable {
        keyspace: "keyspace1".into(),
        table: "standard1".into(),
        id: id.into(),
    }
}

fn place(nodes: usize) -> Place {
    let tokens = crate::ring::even_tokens(nodes, 1, 0);
    let node = |(k, tokens): (usize, &Vec<i64>)| PlaceNode {
        name: format!("node{}", k + 1),
        data_center: "datacenter1".into(),
        rack: "rack1".into(),
        tokens: tokens.clone(),
    };
    Place {
        id: "b2".into(),
        name: "d".into(),
        release: "5.0.8".into(),
        partitioner: Some("org.apache.cassandra.dht.Murmur3Partitioner".into()),
        nodes: tokens.iter().enumerate().map(node).collect(),
        keyspaces: Some(vec!["other".into()]),
    }
}

fn misfit(place: &Place) -> String {
    let error = fits(&baseline(2), place, false).unwrap_err();
    format!("{error}\n{}", error.hint())
}

#[test]
fn the_same_cluster_comes_back_whole() {
    let mut same = place(2);
    same.id = "a1".into();
    same.keyspaces = Some(vec!["keyspace1".into()]);
    let plan = fits(&baseline(2), &same, false).unwrap();
    assert!(plan.whole && plan.dropped.is_empty());
    assert_eq!(
        (plan.files, plan.bytes, plan.copied),
        (8, Bytes(2230), Bytes(20))
    );
}

#[test]
fn another_cluster_gets_the_tables_of_the_schema_only() {
    let mut other = place(2);
    other.nodes.reverse();
    let plan = fits(&baseline(2), &other, false).unwrap();
    assert!(!plan.whole);
    assert_eq!(
        (plan.files, plan.bytes, plan.copied),
        (4, Bytes(2020), Bytes(20))
    );
    let nodes: Vec<(&str, &str)> = plan
        .nodes
        .iter()
        .map(|p| (p.from.as_str(), p.to.as_str()))
        .collect();
    assert_eq!(nodes, [("node1", "node1"), ("node2", "node2")]);
}

#[test]
fn keyspaces_in_the_way_go_only_where_that_was_said() {
    let mut other = place(2);
    other.keyspaces = Some(vec!["keyspace1".into(), "other".into()]);
    insta::assert_snapshot!(misfit(&other), @r"
    d has keyspace1 already
    --replace drops them first, with all their data
    ");
    let plan = fits(&baseline(2), &other, true).unwrap();
    assert_eq!(plan.dropped, ["keyspace1"]);
}

#[test]
fn what_does_not_fit_is_reported_with_its_cure() {
    let mut other = place(2);
    other.release = "4.1.10".into();
    insta::assert_snapshot!(misfit(&other), @r"
    baseline loaded is of Cassandra 5.0.9, d runs 4.1.10
    a release reads files of its own series and, from 4.0 on, of older ones; bring up a cluster of the same series: `helenus up NAME --cassandra 5.0`
    ");
    // Files of an older release are read from 4.0 on.
    let mut old = baseline(2);
    let mut newer = place(2);
    (old.release, newer.release) = ("4.1.10".into(), "5.0.9".into());
    assert!(fits(&old, &newer, false).is_ok());
    old.release = "3.11.19".into();
    let refused = fits(&old, &newer, false).unwrap_err();
    insta::assert_snapshot!(format!("{refused}\n{}", refused.hint()), @r"
    baseline loaded is of Cassandra 3.11.19, d runs 5.0.9
    releases from 4.1 on do not read files of 3.11: 4.0 has to rewrite them first (`nodetool upgradesstables`); bring up a cluster of the same series: `helenus up NAME --cassandra 3.11`
    ");
    insta::assert_snapshot!(misfit(&place(3)), @r"
    2 in baseline loaded, 3 in d: the numbers of nodes differ
    bring up a cluster with as many nodes: `helenus up NAME -n 2`
    ");
    let mut other = place(2);
    other.nodes[1].tokens[0] += 1;
    insta::assert_snapshot!(misfit(&other), @r"
    no node of d has the tokens of node2 in baseline loaded
    bring up a cluster with as many nodes and tokens as the one that was saved: `helenus up NAME -n N --tokens 1`
    ");
    let mut other = place(2);
    other.nodes[0].rack = "rack2".into();
    insta::assert_snapshot!(misfit(&other), @r"
    node1 of d is in datacenter1/rack2, the node with its tokens in baseline loaded was in datacenter1/rack1
    bring up a cluster with the data centres and racks of the one that was saved
    ");
    let mut other = place(2);
    other.partitioner = Some("org.apache.cassandra.dht.RandomPartitioner".into());
    insta::assert_snapshot!(misfit(&other), @r"
    baseline loaded is of org.apache.cassandra.dht.Murmur3Partitioner, d has org.apache.cassandra.dht.RandomPartitioner
    bring up a cluster with the same partitioner
    ");
}

#[test]
fn only_what_is_written_once_is_shared() {
    for (path, release, shared) in [
        ("k/t-0/nb-1-big-Data.db", "5.0.9", true),
        ("k/t-0/.t_w_idx/nb-1-big-Index.db", "5.0.9", true),
        (
            "k/t-0/da-3gxk_0j2x_5g1c02t1jjmu0g7s3f-bti-Partitions.db",
            "5.0.9",
            true,
        ),
        (
            "k/t-0/da-3gxk_0j2x_5g1c02t1jjmu0g7s3f-bti-Rows.db",
            "5.0.9",
            true,
        ),
        ("k/t-0/nb-1-big-Filter.db", "5.0.9", true),
        ("k/t-0/nb-1-big-Filter.db", "4.1.10", false),
        ("k/t-0/md-1-big-Data.db", "3.11.5", true),
        ("k/t-0/md-1-big-CRC.db", "3.11.5", true),
        ("k/t-0/nb-1-big-Statistics.db", "5.0.9", false),
        ("k/t-0/nb-1-big-Summary.db", "5.0.9", false),
        ("k/t-0/nb-1-big-TOC.txt", "5.0.9", false),
        ("k/t-0/nb-1-big-SAI+aa+sai1+Meta.db", "5.0.9", false),
        ("k/t-0/nb_txn_compaction_7d8.log", "5.0.9", false),
        ("k/t-0/Data.db", "5.0.9", false),
    ] {
        assert_eq!(is_immutable(release, path), shared, "{path} of {release}");
    }
}

#[test]
fn snapshots_and_unfinished_writes_are_left_out() {
    assert!(is_saved("k/t-0/nb-1-big-Data.db"));
    assert!(!is_saved("k/t-0/snapshots/s/nb-1-big-Data.db"));
    assert!(!is_saved("k/t-0/backups/nb-1-big-Data.db"));
    assert!(!is_saved("k/t-0/nb-2-big-Statistics.db.tmp"));
}

#[test]
fn statements_lose_the_id_and_keep_the_rest() {
    let id = "161e31a0-e5a8-11f1-b55c-33a77354f6ba";
    let text = format!(
        "CREATE TABLE k.t (\n    id int PRIMARY KEY,\n    s int\n) WITH ID = {id}\n    AND comment = 'WITH ID = {id}';\n\
         ALTER TABLE k.t DROP s USING TIMESTAMP 1;"
    );
    insta::assert_snapshot!(without_id(&text), @r"
    CREATE TABLE k.t (
        id int PRIMARY KEY,
        s int
    ) WITH comment = 'WITH ID = 161e31a0-e5a8-11f1-b55c-33a77354f6ba';
    ALTER TABLE k.t DROP s USING TIMESTAMP 1;
    ");
    assert_eq!(
        without_id(&format!("CREATE TABLE k.t (a int) WITH ID = {id};")),
        "CREATE TABLE k.t (a int);"
    );
    for other in [
        "CREATE TYPE k.t (a int);",
        "WITH ID = no",
        "WITH ID = not an id at all, but longer than one;",
    ] {
        assert_eq!(without_id(other), other);
    }
}

#[test]
fn tags_are_folders_and_words() {
    for good in ["loaded", "1M", "v1.2-a_b"] {
        check_tag(good).unwrap();
    }
    for bad in ["", ".partial", "-x", "a/b", "a b", "..", &"x".repeat(41)] {
        assert_eq!(check_tag(bad), Err(TagError(bad.into())));
    }
    let known = ["loaded".to_owned()];
    assert_eq!(tag_hint("laoded", &known), "did you mean loaded?");
    assert_eq!(tag_hint("zzz", &known), "known: loaded");
}

#[test]
fn a_baseline_comes_back_from_json_as_it_was() {
    let baseline = baseline(3);
    let text = serde_json::to_string(&baseline).unwrap();
    assert_eq!(serde_json::from_str::<Baseline>(&text).unwrap(), baseline);
    assert_eq!(
        (baseline.bytes(), baseline.copied()),
        (Bytes(3345), Bytes(30))
    );
}

proptest! {
    /// Whatever else is saved, only files of the schema's tables reach another cluster, under the new id.
    #[test]
    fn nothing_of_the_system_leaves_its_cluster(
        keyspace in "(system|system_schema|system_auth|keyspace1|k[a-z]{0,3})",
        name in "(local|standard1|t_[a-z]{1,4})",
        id in "[0-9a-f]{32}",
        known in any::<bool>(),
    ) {
        let id = if known { OLD.to_owned() } else { id };
        let path = format!("{keyspace}/{name}-{id}/nb-1-big-Data.db");
        let placed = baseline(1).place_elsewhere(&path, &[table(NEW)]);
        if keyspace == "keyspace1" && name == "standard1" && id == OLD {
            prop_assert_eq!(placed, Some(format!("keyspace1/standard1-{NEW}/nb-1-big-Data.db")));
        } else {
            prop_assert_eq!(placed, None);
        }
    }

    /// Every saved node has exactly one taker, in whatever order the other cluster lists its own.
    #[test]
    fn every_node_takes_the_files_of_its_tokens(nodes in 1_usize..12, turn in 0_usize..12) {
        let mut other = place(nodes);
        other.nodes.rotate_left(turn % nodes);
        let plan = fits(&baseline(nodes), &other, false).unwrap();
        let pairs: Vec<bool> = plan.nodes.iter().map(|p| p.from == p.to).collect();
        prop_assert_eq!(pairs, vec![true; nodes]);
    }

    /// A path is taken apart and put together again without loss.
    #[test]
    fn table_folders_come_apart_and_together(rest in "[a-zA-Z0-9._-]{1,20}(/[a-z._-]{1,9})?") {
        let path = format!("k/a_b-{OLD}/{rest}");
        let folder = table_folder(&path).unwrap();
        prop_assert_eq!(folder.with_id(OLD), path.clone());
        prop_assert_eq!((folder.table, folder.rest), ("a_b", rest.as_str()));
    }
}
