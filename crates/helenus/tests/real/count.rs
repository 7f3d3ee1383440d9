//! Counting and checking real tables on a tiny node while others write: right by every way, after a kill too.
//! Refuses rows that it does not know: each table's truth is made here.

use crate::home::{Home, Said};
use helenus_cql::{Client, ConnectOptions, Consistency};
use helenus_model::cql::CqlValue;
use helenus_model::workload::standard1;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Rows that one batch writes, all of one partition.
const BATCH: u64 = 50;

/// Rows of the larger table.
const ROWS: u64 = 170_000;

/// Rows of standard1: with the other table 200,000.
const CHECKED: &str = "30000";

/// Longest wait for a count to get somewhere.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn counts_are_right_while_others_write() {
    let home = Home::new();
    home.helenus(&["up", "c"]).ok();
    let env = home.helenus(&["env", "c", "--format", "json"]).ok().json();
    let address = env["contact_points"][0].as_str().expect("an address");
    let address = SocketAddr::new(address.parse().expect("an address"), 9042);
    let truth = load(address);
    let writes = Writes::begin(address);
    by_every_way(&home, &truth);
    after_a_kill(&home);
    check_data(&home);
    assert!(writes.end() > 0, "nobody wrote meanwhile");
}

/// Partitions of 50 to 10,000 rows: as many hosts as a town has.
fn load(address: SocketAddr) -> BTreeMap<u64, u64> {
    let mut client = connect(address);
    for cql in [
        "CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE TABLE shop.hosts (country text, town int, ip text, izp text, PRIMARY KEY ((country, town), ip))",
        "CREATE TABLE shop.other (id int PRIMARY KEY, v text)",
    ] {
        client.query(cql, Consistency::One).expect("a schema");
    }
    let one = "INSERT INTO shop.hosts (country, town, ip, izp) VALUES (?, ?, ?, ?); ";
    let each = usize::try_from(BATCH).expect("few");
    let batch = client
        .prepare(&format!(
            "BEGIN UNLOGGED BATCH {} APPLY BATCH",
            one.repeat(each)
        ))
        .expect("a batch");
    let (mut truth, mut written) = (BTreeMap::new(), 0);
    for town in 0.. {
        let size = [50, 100, 500, 2_000, 10_000][usize::try_from(town % 5).expect("few")];
        let size = size.min(ROWS - written);
        if size == 0 {
            return truth;
        }
        truth.insert(town, size);
        for first in (0..size).step_by(each) {
            let rows = first..(first + BATCH).min(size);
            let values = rows.flat_map(|row| {
                let text = |text: String| Some(CqlValue::Text(text));
                let number = CqlValue::Int(i32::try_from(town).expect("few"));
                [
                    text(country(town)),
                    Some(number),
                    text(format!("10.0.{row}")),
                    text(format!("{town:05}")),
                ]
            });
            let values: Vec<_> = values.collect();
            client
                .execute(&batch, &values, Consistency::One)
                .expect("a write");
        }
        written += size;
    }
    truth
}

fn country(town: u64) -> String {
    format!("land \"{}\", north", town % 7)
}

fn connect(address: SocketAddr) -> Client {
    let options = ConnectOptions {
        timeout: Duration::from_secs(30),
        ..ConnectOptions::default()
    };
    Client::connect(address, &options).expect("a connection")
}

/// Somebody who writes to another table all the time.
struct Writes {
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<u64>,
}

impl Writes {
    fn begin(address: SocketAddr) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut client = connect(address);
            let insert = client
                .prepare("INSERT INTO shop.other (id, v) VALUES (?, ?)")
                .expect("prepares");
            let mut written = 0;
            while !seen.load(Ordering::SeqCst) {
                let id = CqlValue::Int(i32::try_from(written % 5_000).expect("few"));
                let values = [Some(id), Some(CqlValue::Text("x".repeat(200)))];
                client
                    .execute(&insert, &values, Consistency::One)
                    .expect("a write");
                written += 1;
            }
            written
        });
        Self { stop, thread }
    }

    fn end(self) -> u64 {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.join().expect("writes went well")
    }
}

fn count(home: &Home, flags: &[&str]) -> Value {
    let words = [&["count", "shop.hosts", "--format", "json"], flags].concat();
    let report = home.helenus(&words).ok().json();
    assert_eq!(report["format"], "helenus.count/1");
    assert_eq!(
        (&report["rows"], &report["complete"]),
        (&ROWS.into(), &true.into()),
        "{report}"
    );
    report
}

fn by_every_way(home: &Home, truth: &BTreeMap<u64, u64>) {
    let sum = |all: &Value| -> u64 {
        let rows = all.as_array().expect("a list").iter();
        rows.map(|one| one["rows"].as_u64().expect("rows")).sum()
    };
    let nodes = count(home, &["--by", "node"]);
    assert_eq!(sum(&nodes["nodes"]), ROWS);
    let ranges = count(home, &["--by", "token-range"]);
    assert_eq!(sum(&ranges["ranges"]), ROWS);
    let partitions = count(home, &["--by", "partition", "--top", "3"])["partitions"].clone();
    assert_eq!(partitions["partitions"], truth.len());
    assert_eq!(partitions["key"], serde_json::json!(["country", "town"]));
    for large in partitions["largest"].as_array().expect("the largest") {
        let (country, town) = (&large["key"][0]["text"], &large["key"][1]["int"]);
        let cql = format!(
            "SELECT count(*) FROM shop.hosts WHERE country = '{}' AND town = {town}",
            country.as_str().expect("a country")
        );
        let asked = home
            .helenus(&["cql", "c", "-e", &cql, "--format", "json"])
            .ok()
            .json();
        assert_eq!(
            asked["results"][0]["rows"][0]["count"]["bigint"], large["rows"],
            "{large}"
        );
    }
    let words = ["count", "shop.hosts", "--by", "partition", "--all"];
    let csv = home.helenus(&words).ok().stdout;
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("country,town,rows"));
    let mut lines: Vec<&str> = lines.collect();
    let mut wanted: Vec<String> = truth
        .iter()
        .map(|(town, rows)| format!("\"{}\",{town},{rows}", country(*town).replace('"', "\"\"")))
        .collect();
    lines.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(lines, wanted);
}

fn after_a_kill(home: &Home) {
    let words = [
        "count",
        "shop.hosts",
        "--by",
        "partition",
        "--parallel",
        "1",
        "--rate",
        "60k",
    ];
    let mut child = home.start(&words);
    let counts = home.path().join("state/clusters/c/counts");
    let begin = Instant::now();
    while lines(&counts) < 12 {
        assert!(begin.elapsed() < PATIENCE, "nothing was counted");
        assert!(
            child.try_wait().expect("our child").is_none(),
            "it has ended"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("our child");
    child.wait().expect("our child");
    let refused = home.helenus(&words);
    assert_eq!(refused.code, 2, "{refused}");
    assert!(
        refused.stderr.contains("--resume continues it"),
        "{refused}"
    );
    let resumed = count(home, &["--by", "partition", "--resume"]);
    assert!(resumed["resumed_rows"].as_u64() < Some(ROWS), "{resumed}");
    assert_eq!(lines(&counts), 0, "the journal of a whole count is left");
}

/// Lines of the only journal.
fn lines(counts: &Path) -> usize {
    let Ok(entries) = fs_err::read_dir(counts) else {
        return 0;
    };
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let texts = paths.map(|path| fs_err::read_to_string(path).unwrap_or_default());
    texts.map(|text| text.lines().count()).sum()
}

fn check_data(home: &Home) {
    let write = [
        "bench",
        "--cluster",
        "c",
        "--phases",
        "write",
        "--closed",
        "--seed",
        "7",
    ];
    let extent = ["--count", CHECKED, "--population", CHECKED, "--quiet"];
    let written = home.helenus(&[&write[..], &extent].concat());
    assert!([0, 5].contains(&written.code), "{written}");
    let check = || -> Said {
        let words = [
            "check-data",
            "standard1",
            "--population",
            CHECKED,
            "--seed",
            "7",
        ];
        home.helenus(&[&words[..], &["--format", "json"]].concat())
    };
    let whole = check().ok().json();
    let table = &whole["tables"][0];
    assert_eq!(
        (&whole["all_there"], &table["right"]),
        (&true.into(), &30_000.into()),
        "{whole}"
    );
    assert_eq!(table["checksum"], table["expected_checksum"]);
    let counted = home.helenus(&[
        "count",
        "keyspace1.standard1",
        "--checksum",
        "--format",
        "json",
    ]);
    assert_eq!(counted.ok().json()["checksum"], table["checksum"]);
    let key = |position| -> String {
        let bytes = standard1::key(position);
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    };
    let (gone, changed) = (key(11), key(29_999));
    let cql = format!(
        "DELETE FROM keyspace1.standard1 WHERE key = 0x{gone}; \
         UPDATE keyspace1.standard1 SET \"C3\" = 0x00 WHERE key = 0x{changed}; \
         INSERT INTO keyspace1.standard1 (key) VALUES (0x00ff);"
    );
    home.helenus(&["cql", "c", "-e", &cql]).ok();
    let found = check();
    assert_eq!(found.code, 1, "{found}");
    let found = found.json();
    let table = &found["tables"][0];
    let counts = ["right", "missing", "wrong", "foreign"].map(|what| table[what].as_u64());
    assert_eq!(counts, [Some(29_998), Some(1), Some(1), Some(1)], "{found}");
    let mut named: Vec<String> = table["differences"]
        .as_array()
        .expect("differences")
        .iter()
        .map(|one| format!("{} {} {}", one["what"], one["key"], one["column"]).replace('"', ""))
        .collect();
    named.sort_unstable();
    let wanted = [
        "foreign key=0x00ff null".to_owned(),
        format!("missing key=0x{gone} null"),
        format!("wrong key=0x{changed} C3"),
    ];
    assert_eq!(named, wanted);
}
