//! Profiles against real Cassandra: those that cassandra-stress ships, as they stand, and one of every type.
//! Refuses to keep what it fetched: the shipped profiles are read where Maven puts them, and go with the test.

use crate::home::{Home, Said};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Distributions that a registry has with their tools, and so with their profiles.
const DISTRIBUTIONS: [&str; 2] = ["3.11.5", "4.0-alpha2"];

/// Every profile of a distribution, once for each different text.
fn shipped(into: &Path) -> Vec<PathBuf> {
    let mut found: Vec<(PathBuf, String)> = Vec::new();
    for version in DISTRIBUTIONS {
        let folder = into.join(version);
        fs_err::create_dir(&folder).expect("a folder");
        let artifact =
            format!("-Dartifact=org.apache.cassandra:apache-cassandra:{version}:tar.gz:bin");
        let output = format!("-DoutputDirectory={}", folder.display());
        run(Command::new("mvn").args(["-q", "-B", "dependency:copy", &artifact, &output]));
        let archive = format!("apache-cassandra-{version}-bin.tar.gz");
        run(Command::new("tar").current_dir(&folder).args([
            "xzf",
            &archive,
            "--wildcards",
            "--strip-components=2",
            "*/tools/cqlstress-*.yaml",
        ]));
        let entries = fs_err::read_dir(&folder)
            .expect("a folder")
            .map(|e| e.expect("an entry").path());
        let mut profiles: Vec<PathBuf> = entries
            .filter(|p| p.extension().is_some_and(|e| e == "yaml"))
            .collect();
        assert!(profiles.len() >= 3, "{version}: {profiles:?}");
        profiles.sort();
        for path in profiles {
            let text = fs_err::read_to_string(&path).expect("a profile");
            if !found.iter().any(|(_, known)| *known == text) {
                found.push((path, text));
            }
        }
    }
    found.into_iter().map(|(path, _)| path).collect()
}

fn run(command: &mut Command) {
    let output = command
        .stdin(Stdio::null())
        .output()
        .expect("the program starts");
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Runs operations of a profile on the cluster; each must have been completed, and none have failed.
#[track_caller]
fn all_succeed(home: &Home, profile: &str, ops: &str, more: &[&str]) -> Value {
    let words = [
        "run",
        profile,
        "--ops",
        ops,
        "--cluster",
        "c",
        "--seed",
        "7",
        "--in-flight",
        "4",
    ];
    let json = ["--format", "json"];
    let said = home.helenus(&[&words[..], more, &json].concat());
    // A busy machine may disqualify a number; what is asked here is what was read.
    assert!(said.code == 0 || said.code == 5, "{profile} {ops}: {said}");
    let report = said.json();
    let phase = &report["result"]["phases"][0];
    let total = &phase["total"];
    assert_eq!(
        total["completed"],
        total["offered"],
        "{profile} {ops}: {}",
        failed(phase)
    );
    for name in ops.split(',').filter_map(|op| op.split('=').next()) {
        let completed = phase["operations"][name]["completed"].as_u64();
        assert!(completed > Some(0), "{profile}: {name} did not run: {said}");
    }
    phase.clone()
}

fn failed(phase: &Value) -> String {
    format!("{} {}", phase["failures"], phase["first_failures"])
}

pub(crate) fn the_shipped_profiles_run_as_they_stand() {
    let home = Home::new();
    let profiles = shipped(home.path());
    let names: Vec<String> = profiles
        .iter()
        .map(|p| {
            p.file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    assert!(names.iter().any(|n| n.contains("lwt")), "{names:?}");
    // One insert of cqlstress-example makes batches above the 50 KiB that a server takes by itself.
    home.helenus(&["up", "c", "--set", "batch_size_fail_threshold=10MiB"])
        .ok();
    // The LWT profile wants three copies; a keyspace that is there stays as it is.
    let lwt = "CREATE KEYSPACE cqlstress_lwt_example WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";
    home.helenus(&["cql", "c", "-e", lwt]).ok();
    for path in &profiles {
        let profile = path.display().to_string();
        let checked = home
            .helenus(&["workload", "check", &profile, "--format", "json"])
            .ok()
            .json();
        let operations = checked["profiles"][0]["operations"]
            .as_array()
            .expect("operations")
            .clone();
        let reads: Vec<String> = operations
            .iter()
            .filter(|o| o["kind"] != "insert")
            .map(|o| format!("{}=1", o["name"].as_str().expect("a name")))
            .collect();
        all_succeed(
            &home,
            &profile,
            "insert=1",
            &["--count", "60", "--population", "60"],
        );
        let more = ["--count", "200", "--population", "60", "--verify"];
        let phase = all_succeed(&home, &profile, &reads.join(","), &more);
        // Counters are found and not compared; of all others rows came back.
        if !profile.contains("counter") {
            assert!(
                phase["total"]["rows"].as_u64() > Some(0),
                "{profile}: {phase}"
            );
        }
    }
    home.clear();
}

/// A table with every type, its keys included, and statements that take elements of them.
const EVERY_TYPE: &str = "
keyspace: types
keyspace_definition: |
  CREATE KEYSPACE types WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1};
table: every
table_definition: |
  CREATE TABLE every (
    p1 text, p2 frozen<set<int>>, c1 timestamp, c2 frozen<tuple<int, text>>, st map<text, int> static,
    a ascii, b bigint, bl blob, bo boolean, da date, de decimal, d double, du duration, f float, i inet,
    n int, sm smallint, te text, ti time, ts timestamp, tu timeuuid, ty tinyint, u uuid, va varint,
    li list<int>, se set<text>, ma map<text, frozen<list<int>>>, tp tuple<int, text, frozen<set<uuid>>>,
    ud frozen<person>, un person, fl frozen<list<text>>, ne map<text, frozen<map<int, frozen<list<duration>>>>>,
    fs set<inet>, ft set<tinyint>, fu set<timeuuid>, fv set<varint>, fd set<decimal>, ff set<float>,
    fx map<time, date>, VECTORS
    PRIMARY KEY ((p1, p2), c1, c2)
  ) WITH CLUSTERING ORDER BY (c1 DESC, c2 ASC)
extra_definitions:
  - CREATE TYPE place (street text, at frozen<tuple<double, double>>)
  - CREATE TYPE person (name text, home frozen<place>)
columnspec:
  - {name: p1, size: uniform(1..10)}
  - {name: c1, cluster: uniform(1..4)}
  - {name: c2, cluster: uniform(1..3)}
  - {name: te, size: uniform(0..40)}
insert: {batchtype: UNLOGGED, row-population: uniform(5..10)/10}
queries:
  part: {cql: 'select * from every where p1 = ? and p2 = ?', fields: samerow}
  row: {cql: 'select te, ma, ud from every where p1 = ? and p2 = ? and c1 = ? and c2 = ?', fields: samerow}
  from: {cql: 'select * from every where p1 = ? and p2 = ? and (c1, c2) >= (?, ?) limit ?'}
  update: {cql: 'update every set ma[?] = ?, un.name = ?, li = ? where p1 = ? and p2 = ? and c1 = ? and c2 = ?', fields: samerow}
  lwt: {cql: 'update every set n = ? where p1 = ? and p2 = ? and c1 = ? and c2 = ? if sm = ?', fields: samerow}
token_range_queries:
  all: {columns: '*', page_size: 50}
";

pub(crate) fn every_type_is_written_and_read_back() {
    let home = Home::new();
    let profile = home.path().join("every.yaml");
    let text = EVERY_TYPE.replace(
        "VECTORS",
        "ve vector<float, 3>, vt frozen<list<vector<int, 2>>>,",
    );
    fs_err::write(&profile, text).expect("a profile");
    let profile = profile.display().to_string();
    home.helenus(&["up", "c"]).ok();
    all_succeed(
        &home,
        &profile,
        "insert=1",
        &["--count", "80", "--population", "80"],
    );
    let reads = "part=1,row=1,from=1,all=1,validate=1";
    let verified = ["--count", "150", "--population", "80", "--verify"];
    let phase = all_succeed(&home, &profile, reads, &verified);
    assert!(phase["total"]["rows"].as_u64() > Some(100), "{phase}");
    all_succeed(
        &home,
        &profile,
        "update=1,lwt=1",
        &["--count", "60", "--population", "80"],
    );
    all_succeed(&home, &profile, reads, &verified);
    one_changed_cell_is_found(&home, &profile);
    // What is there can be drafted, and its draft be checked.
    let draft = home.path().join("draft.yaml").display().to_string();
    home.helenus(&[
        "workload",
        "new",
        "--from",
        "c",
        "--table",
        "types.every",
        "-o",
        &draft,
    ])
    .ok();
    home.helenus(&["workload", "check", &draft]).ok();
    let absent = home.helenus(&["workload", "new", "--from", "c", "--table", "types.evry"]);
    assert_eq!(absent.code, 2, "{absent}");
    assert!(
        absent.stderr.contains("did you mean types.every?"),
        "{absent}"
    );
    home.clear();
}

fn one_changed_cell_is_found(home: &Home, profile: &str) {
    // Every row gets another number; LIMIT is for tables that hold more than this one.
    let keys = "SELECT p1, p2, c1, c2 FROM types.every LIMIT 1";
    let answer = home
        .helenus(&["cql", "c", "-e", keys, "--format", "json"])
        .ok()
        .json();
    let row = &answer["results"][0]["rows"][0];
    let text = row["p1"]["text"].as_str().expect("a text").to_owned();
    let numbers: Vec<String> = row["p2"]["set"]
        .as_array()
        .expect("a set")
        .iter()
        .map(|n| n["int"].to_string())
        .collect();
    let tuple = &row["c2"]["tuple"];
    let change = format!(
        "UPDATE types.every SET a = 'changed' WHERE p1 = '{text}' AND p2 = {{{}}} AND c1 = {} AND c2 = ({}, '{}')",
        numbers.join(", "),
        row["c1"]["timestamp"],
        tuple[0]["int"],
        tuple[1]["text"].as_str().expect("a text"),
    );
    home.helenus(&["cql", "c", "-e", &change]).ok();
    let words = [
        "run",
        profile,
        "--ops",
        "all=1",
        "--cluster",
        "c",
        "--seed",
        "7",
        "--in-flight",
        "1",
    ];
    let said: Said = home.helenus(&[&words[..], &["--count", "40", "--verify"]].concat());
    assert_eq!(said.code, 5, "{said}");
    assert!(said.stdout.contains("wrong_data"), "{said}");
}

pub(crate) fn a_vector_is_refused_before_5_0(java: &str) {
    let home = Home::new();
    let profile = home.path().join("every.yaml");
    let write = |vectors: &str| {
        fs_err::write(&profile, EVERY_TYPE.replace("VECTORS", vectors)).expect("a profile");
    };
    write("ve vector<float, 3>,");
    let path = profile.display().to_string();
    home.helenus(&["up", "c", "--cassandra", "4.1.10", "--java-home", java])
        .ok();
    let words = [
        "run",
        &path,
        "--ops",
        "insert=1",
        "--count",
        "10",
        "--cluster",
        "c",
    ];
    let said = home.helenus(&words);
    assert_eq!(said.code, 2, "{said}");
    let reason =
        "types.every.ve is a vector<float, 3>, which needs Cassandra 5.0 or later: c is 4.1.10";
    assert!(said.stderr.contains(reason), "{said}");
    // All the others are written and read back there too.
    write("");
    all_succeed(
        &home,
        &path,
        "insert=1",
        &["--count", "60", "--population", "60"],
    );
    let verified = ["--count", "100", "--population", "60", "--verify"];
    all_succeed(&home, &path, "part=1,row=1,from=1,all=1", &verified);
    home.clear();
}
