//! `populate` and `run` against real Cassandra: what was cut off goes on, settings come back, profiles are checked.
//! Refuses to say how fast it is: rows, checksums and settings only.

use crate::home::{Home, Said};
use helenus_cluster::mbeans::Mbeans;
use helenus_model::populate::RAISED_SETTINGS;
use serde_json::Value;
use std::time::{Duration, Instant};

/// Rows of the populate that is killed.
const ROWS: u64 = 30_000;

/// Several rows a partition, a static column, a collection: batches of an unlogged and of a logged kind.
const PROFILE: &str = "
keyspace: app
keyspace_definition: |
  CREATE KEYSPACE app WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1};
table: events
table_definition: |
  CREATE TABLE events (
    user text, day int, at timeuuid, kind text static, note text, tags map<text, int>,
    PRIMARY KEY ((user, day), at)
  );
columnspec:
  - name: user
    size: uniform(8..12)
  - name: at
    cluster: uniform(2..6)
  - name: note
    size: uniform(10..40)
insert:
  partitions: uniform(1..3)
  batchtype: LOGGED
queries:
  day:
    cql: select * from events where user = ? and day = ?
    fields: samerow
  put:
    cql: insert into events (user, day, at, note) values (?, ?, ?, ?) if not exists
    fields: samerow
token_range_queries:
  scan:
    columns: user, day, note
    page_size: 50
";

/// The settings that a load raises, as the node itself reports them.
fn settings(home: &Home) -> Vec<Value> {
    const STORAGE: &str = "org.apache.cassandra.db:type=StorageService";
    let context = crate::reset::context(home);
    let state = context.clusters.load("c").expect("the state");
    let mbeans = Mbeans::of(&context, &state, "node1").expect("the agent");
    let read = |attribute: &&str| mbeans.read(STORAGE, attribute).expect("an attribute");
    RAISED_SETTINGS.iter().map(read).collect()
}

fn journal(home: &Home) -> Value {
    let path = home.path().join("state/clusters/c/populate.json");
    let text = fs_err::read_to_string(path).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

fn populate(home: &Home, seed: &str, more: &[&str]) -> Said {
    let rows = ROWS.to_string();
    let words = ["populate", "standard1", "--cluster", "c", "--rows", &rows];
    let words = [&words[..], &["--seed", seed, "--format", "json"], more].concat();
    home.helenus(&words)
}

/// The checksum of all that is in a table.
fn checksum(home: &Home, table: &str) -> Value {
    let words = [
        "count",
        table,
        "--cluster",
        "c",
        "--checksum",
        "--format",
        "json",
    ];
    home.helenus(&words).ok().json()["checksum"].clone()
}

pub(crate) fn what_was_cut_off_goes_on_and_settings_come_back() {
    let home = Home::new();
    home.helenus(&["up", "c"]).ok();
    let before = settings(&home);

    // Uninterrupted, for its checksum.
    let whole = populate(&home, "7", &[]).ok().json();
    let sum = whole["verified"]["checksum"]
        .as_str()
        .expect("a checksum")
        .to_owned();
    assert_eq!(
        whole["verified"]["checksum"],
        whole["verified"]["expected_checksum"]
    );
    assert_eq!(whole["verified"]["rows"], ROWS, "{whole:#}");
    assert_eq!(settings(&home), before);

    home.helenus(&["cql", "c", "-e", "TRUNCATE keyspace1.standard1"])
        .ok();
    let rows = ROWS.to_string();
    let words = [
        "populate",
        "standard1",
        "--cluster",
        "c",
        "--rows",
        &rows,
        "--seed",
        "7",
    ];
    // So slow that little comes in between the note that is waited for and the end, on a busy machine too.
    let mut child = home.start(&[&words[..], &["--anew", "--rate", "1500"]].concat());
    let begin = Instant::now();
    while journal(&home)["below"].as_u64().unwrap_or(0) < ROWS * 2 / 5
        || journal(&home)["complete"] == true
    {
        assert!(
            child.try_wait().expect("our child").is_none(),
            "it ended by itself"
        );
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "{}",
            journal(&home)
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().expect("killed");
    child.wait().expect("gone");
    assert_ne!(settings(&home), before, "nothing was raised");
    let there = home.helenus(&[
        "count",
        "keyspace1.standard1",
        "--cluster",
        "c",
        "--format",
        "json",
    ]);
    let there = there.ok().json()["rows"].as_u64().expect("rows");
    assert!((ROWS * 2 / 5..ROWS).contains(&there), "{there}");

    let rest = populate(&home, "7", &[]).ok().json();
    let sent = rest["sent"].as_u64().expect("a number");
    let most = ROWS - there + ROWS / 50;
    assert!(
        sent <= most,
        "sent {sent}, {there} of {ROWS} rows were there"
    );
    assert_eq!(rest["verified"]["checksum"], sum.as_str(), "{rest:#}");
    assert_eq!(rest["verified"]["missing"], 0);
    assert_eq!(checksum(&home, "keyspace1.standard1"), sum.as_str());
    assert_eq!(settings(&home), before);

    counters_do_not_go_on(&home);
    profiles_are_written_and_checked(&home);
}

fn counters_do_not_go_on(home: &Home) {
    let words = [
        "populate",
        "counter1",
        "--cluster",
        "c",
        "--partitions",
        "100k",
    ];
    let mut child = home.start(&[&words[..], &["--rate", "500"]].concat());
    let begin = Instant::now();
    while journal(home)["below"].as_u64().unwrap_or(0) < 200 || journal(home)["counts"] != true {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "{}",
            journal(home)
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().expect("killed");
    child.wait().expect("gone");
    let said = home.helenus(&words);
    assert_eq!(said.code, 2, "{said}");
    assert!(said.stderr.contains("counters cannot be resumed"), "{said}");
}

fn profiles_are_written_and_checked(home: &Home) {
    let path = home.path().join("events.yaml");
    fs_err::write(&path, PROFILE).expect("a profile");
    let path = path.to_string_lossy().into_owned();
    let run = |more: &[&str]| {
        let words = [
            "run",
            &path,
            "--cluster",
            "c",
            "--seed",
            "5",
            "--format",
            "json",
        ];
        let said = home.helenus(&[&words[..], more].concat());
        assert!(said.code == 0 || said.code == 5, "{said}");
        said.json()["result"]["phases"][0]["total"].clone()
    };
    let written = run(&["--ops", "insert=1", "--positions", "0..1500"]);
    assert_eq!(written["partitions"], 1500, "{written:#}");
    assert_eq!(written["failed"], Value::Null, "{written:#}");
    // Batches of several partitions: fewer operations than partitions, and more rows.
    let number = |key: &str| written[key].as_u64().expect("a number");
    assert!(
        number("completed") < 1000 && number("rows") > 3000,
        "{written:#}"
    );

    let mix = [
        "--ops",
        "day=2,validate=1,scan=1",
        "--verify",
        "--compression",
        "lz4",
    ];
    let read = run(&[&mix[..], &["--population", "1500", "--count", "1500"]].concat());
    assert_eq!(read["completed"], 1500, "{read:#}");
    // Conditional writes: rows that are there already, and rows that nobody wrote.
    let put = [
        "--ops",
        "put=1",
        "--positions",
        "1480..1520",
        "--serial-cl",
        "LOCAL_SERIAL",
    ];
    let put = run(&put);
    assert_eq!((&put["completed"], &put["rows"]), (&40.into(), &40.into()));

    let other = ["--seed", "6", "--population", "1500", "--count", "50"];
    let words = [
        "run",
        &path,
        "--cluster",
        "c",
        "--format",
        "json",
        "--ops",
        "day=1",
        "--verify",
    ];
    let said = home.helenus(&[&words[..], &other].concat());
    assert_eq!(said.code, 5, "{said}");
    let total = &said.json()["result"]["phases"][0]["total"];
    assert_eq!(total["failed"]["missing_row"], 50, "{total:#}");
}

/// The numbers of NoSQLBench's cql-iot, with fewer cycles.
pub(crate) fn iot_at_a_hundred_a_second_on_three_nodes() {
    let home = Home::new();
    home.helenus(&["up", "c", "-n", "3"]).ok();
    let words = [
        "run",
        "iot",
        "--cluster",
        "c",
        "--seed",
        "5",
        "--format",
        "json",
    ];
    let iot = [
        "--param",
        "rf=3",
        "--param",
        "rampup-cycles=600",
        "--param",
        "main-cycles=600",
    ];
    let mix = [
        "--param",
        "read_ratio=7",
        "--param",
        "write_ratio=3",
        "--param",
        "sources=100",
    ];
    let said = home.helenus(&[&words[..], &iot, &mix, &["--rate", "200"]].concat());
    assert!(said.code == 0 || said.code == 5, "{said}");
    let report = said.json();
    let phases = report["result"]["phases"].as_array().expect("phases");
    let names: Vec<&Value> = phases.iter().map(|phase| &phase["name"]).collect();
    assert_eq!(names, ["rampup", "main", "verify"]);
    for phase in &phases[..2] {
        let total = &phase["total"];
        assert_eq!(
            (&total["offered"], &total["completed"]),
            (&600.into(), &600.into()),
            "{phase:#}"
        );
        assert!(
            total["response"]["p50_us"].as_f64() > Some(0.0),
            "{phase:#}"
        );
    }
    let reads = phases[1]["operations"]["select_read"]["offered"].as_u64();
    assert!((360..480).contains(&reads.expect("reads")), "{reads:?}");
    // What is called verify reads rows back and checks them.
    assert_eq!(phases[2]["total"]["failed"], Value::Null, "{}", phases[2]);
}
