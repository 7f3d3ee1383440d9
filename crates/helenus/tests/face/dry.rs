//! `--dry-run` of every verb that changes something: it says what would happen, and nothing does.
//! Refuses to believe it: the home is compared before and after.

use crate::lab::TestLab;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Every file below a folder with its length, the log for developers left out.
fn files(folder: &Path) -> BTreeMap<PathBuf, u64> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in crate::lab::look::entries(&folder) {
            if path.is_dir() {
                folders.push(path.clone());
            }
            if !path.ends_with("helenus.log") {
                let length = fs_err::metadata(&path).map_or(0, |m| m.len());
                all.insert(path, length);
            }
        }
    }
    all
}

/// Everything that a verb could change.
#[derive(Debug, PartialEq)]
struct Everything {
    pids: Vec<i32>,
    conditions: Vec<String>,
    files: BTreeMap<PathBuf, u64>,
}

fn everything(lab: &TestLab) -> Everything {
    Everything {
        pids: lab.node_pids(),
        conditions: lab.states("c").1,
        files: files(&lab.path("home")),
    }
}

#[test]
fn verbs_on_a_cluster_change_nothing() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c", "-n", "2"]);
    let before = everything(&lab);
    shot!(lab.run(&["stop", "c", "--dry-run"]), @"
    exit code: 0
    --- standard output
    would stop node1, node2 of c; nothing was done (--dry-run)
    ");
    shot!(lab.run(&["start", "c/node2", "--dry-run"]), @"
    exit code: 0
    --- standard output
    would start node2 of c; nothing was done (--dry-run)
    ");
    let unit = lab.done(&["start", "c", "--systemd"]);
    for line in [
        "Type=oneshot",
        " start c --ready-within 180s",
        " stop c",
        "Environment=HELENUS_HOME=",
    ] {
        assert!(unit.contains(line), "{line} in {unit}");
    }
    shot!(lab.run(&["kill", "c/1", "--dry-run"]), @"
    exit code: 0
    --- standard output
    would kill node1 of c; nothing was done (--dry-run)
    ");
    shot!(lab.run(&["pause", "c/node1", "--dry-run"]), @"
    exit code: 0
    --- standard output
    would pause node1 of c; nothing was done (--dry-run)
    ");
    shot!(lab.run(&["resume", "c/node1", "--dry-run"]), @"
    exit code: 0
    --- standard output
    would resume node1 of c; nothing was done (--dry-run)
    ");
    shot_live!(lab.run(&["rm", "c", "--dry-run"]), @"
    exit code: 0
    --- standard output
    would remove c: 2 nodes (2 running), [size] in [LAB]/home/state/clusters/c
    ");
    shot_live!(lab.run(&["rm", "--all", "--dry-run"]), @"
    exit code: 0
    --- standard output
    would remove c: 2 nodes (2 running), [size] in [LAB]/home/state/clusters/c
    ");
    assert_eq!(everything(&lab), before);
}

#[test]
fn their_json_says_that_it_was_dry() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c"]);
    for verb in ["stop", "start", "kill", "pause", "resume", "rm"] {
        let report = lab.json(&[verb, "c", "--dry-run"]);
        assert_eq!(report["dry_run"], true, "{verb}: {report}");
    }
    assert_eq!(lab.states("c").0, "running");
}

#[test]
fn up() {
    let lab = TestLab::new();
    let said = lab.run(&["up", "c", "-n", "2", "--dry-run"]);
    let first = said.clone().head(3);
    let first = first
        .out
        .lines()
        .filter(|l| !l.is_empty())
        .collect::<Vec<_>>();
    insta::with_settings!({filters => crate::lab::said::STEADY.to_vec()}, {
        insta::assert_snapshot!(first.join("\n"), @"
        cluster c: Cassandra 5.0.9, preset tiny, heap 64 MiB, in [LAB]/home/state/clusters/c
        memory of each node: 248 MiB planned: heap 64 MiB, direct 68 MiB, metaspace 12 MiB, code 20 MiB, threads 8.0 MiB, jvm 21 MiB, archive 28 MiB, files 28 MiB
        memory of all 2 nodes: 497 MiB
        ");
    });
    assert_eq!(said.out.matches("cassandra.yaml:").count(), 2, "{said}");
    assert!(
        said.out.ends_with("nothing was started (--dry-run)\n"),
        "{said}"
    );
    assert_eq!(
        crate::lab::look::entries(&lab.path("home/state/clusters")).len(),
        0
    );
    assert!(!lab.path("cache").exists());
}

#[test]
fn up_takes_flags_into_its_plan() {
    let lab = TestLab::new();
    let plan = lab.json(&[
        "up",
        "c",
        "--dry-run",
        "--heap",
        "128M",
        "--set",
        "concurrent_reads=7",
        "--jvm",
        "-Dlab=1",
    ]);
    let node = &plan["nodes"][0];
    let yaml = node["yaml"].as_str().expect("yaml");
    assert!(yaml.contains("concurrent_reads: 7"), "{yaml}");
    let jvm = node["jvm"].as_array().expect("flags");
    assert!(jvm.iter().any(|f| f == "-Xmx128M"), "{jvm:?}");
    assert_eq!(jvm.last().and_then(|f| f.as_str()), Some("-Dlab=1"));
}

#[test]
fn bench() {
    let lab = TestLab::new();
    shot!(lab.run(&["bench", "--dry-run", "--seed", "7"]), @"
    exit code: 0
    --- standard output
    standard1 on an ephemeral cluster named bench1
    rate: half of what a 5 s probe reaches
    phase write: 3000 ms warm-up, 12000 ms measured, 64 in flight, 20,000 rows
    phase read: 3000 ms warm-up, 12000 ms measured, 64 in flight, 20,000 rows
    phase mixed: 3000 ms warm-up, 12000 ms measured, 64 in flight, 20,000 rows
    nothing was started (--dry-run)
    ");
    shot!(
        lab.run(&["bench", "--dry-run", "--rate", "2k", "--phases", "write", "--hosts", "127.0.0.1"]),
        @"
    exit code: 0
    --- standard output
    standard1 on [address]:[port]
    rate: 2,000/s
    phase write: 3000 ms warm-up, 12000 ms measured, 64 in flight, 30,000 rows
    nothing was started (--dry-run)
    "
    );
    assert_eq!(
        crate::lab::look::entries(&lab.path("home/state/clusters")).len(),
        0
    );
}

#[test]
fn releases_fetch() {
    let lab = TestLab::new();
    shot!(lab.run(&["releases", "fetch", "--dry-run"]), @"
    exit code: 0
    --- standard output
    Cassandra 5.0.9 (89 jars) would be fetched
    ");
    let value = lab.json(&["releases", "fetch", "--dry-run"]);
    assert_eq!(value["format"], "helenus.release-fetched/1");
    assert_eq!(value["version"], "5.0.9");
    assert_eq!(value["cached"], false);
    assert!(value["home"].is_null());
    assert_eq!(
        crate::lab::look::entries(&lab.path("cache/releases")).len(),
        0
    );
}

#[test]
fn cqlsh() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c"]);
    let statements = "CREATE TABLE a.b (k int PRIMARY KEY); DROP TABLE a.b";
    shot!(lab.run(&["cql", "c", "--dry-run", "-e", statements]), @"
    exit code: 0
    --- standard output
    line 1: CREATE TABLE a.b (k int PRIMARY KEY)
    line 1: DROP TABLE a.b
    nothing was run (--dry-run)
    ");
}
