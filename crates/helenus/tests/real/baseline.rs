//! Baselines of real Cassandra: every row comes back, in the cluster that was saved and in another of equal tokens.
//! Refuses to take a count for the rows: a sample is read and compared byte by byte, and a damaged byte is found.

use crate::clusters::number;
use crate::home::{Home, Said};
use std::path::PathBuf;

fn bench(home: &Home, cluster: &str, phase: &str, more: &[&str]) -> serde_json::Value {
    let words = [
        "bench",
        "--cluster",
        cluster,
        "--phases",
        phase,
        "--closed",
        "--warmup",
        "0s",
        "--format",
        "json",
    ];
    let said: Said = home.helenus(&[&words[..], more].concat());
    assert!(said.code == 0 || said.code == 5, "{said}");
    let total = said.json()["result"]["phases"][0]["total"].clone();
    assert!(total["failed"].is_null(), "{total}");
    total
}

/// All rows are there, and those that a second of reading meets hold what was written under seed 7.
#[track_caller]
fn every_row(home: &Home, cluster: &str, rows: &str) {
    let cql = "SELECT count(*) FROM keyspace1.standard1";
    let said = home
        .helenus(&["cql", cluster, "-e", cql, "--format", "json"])
        .ok();
    assert!(said.stdout.contains(rows), "{rows} in {said}");
    let read = ["--duration", "2s", "--seed", "7", "--population", rows];
    let total = bench(home, cluster, "read", &read);
    assert!(number(&total["completed"]) > 100.0, "{total}");
}

fn cql(home: &Home, cluster: &str, statements: &str) -> String {
    home.helenus(&["cql", cluster, "-e", statements])
        .ok()
        .stdout
}

/// The largest file of the baseline: a Data component that only `verify` reads.
fn largest(home: &Home) -> PathBuf {
    let mut open = vec![home.path().join("state/baselines/c/loaded")];
    let mut largest = (0, PathBuf::new());
    while let Some(folder) = open.pop() {
        for entry in fs_err::read_dir(folder).expect("a folder").flatten() {
            let meta = entry.metadata().expect("a file");
            if meta.is_dir() {
                open.push(entry.path());
            } else if meta.len() > largest.0 {
                largest = (meta.len(), entry.path());
            }
        }
    }
    largest.1
}

pub(crate) fn a_baseline_comes_back_here_and_elsewhere() {
    let home = Home::new();
    home.helenus(&["up", "c"]).ok();
    // Positions begin anew when all are written: what a quick machine writes more is the same rows again.
    let write = |seconds, seed| {
        let words = [
            "--duration",
            seconds,
            "--seed",
            seed,
            "--population",
            "20000",
        ];
        bench(&home, "c", "write", &words)
    };
    let written = number(&write("6s", "7")["completed"]);
    let rows = format!("{}", written.min(20_000.0));
    // What a schema of one's own brings along: a type, a dropped column, both kinds of index.
    let own = "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}; \
               CREATE TYPE k.place (x int, y int); \
               CREATE TABLE k.t (id int PRIMARY KEY, at frozen<place>, old text, name text, size int); \
               CREATE INDEX ON k.t (size); CREATE INDEX by_name ON k.t (name) USING 'sai'; \
               INSERT INTO k.t (id, at, old, name, size) VALUES (1, {x: 3, y: 4}, 'gone', 'one', 7); \
               ALTER TABLE k.t DROP old";
    cql(&home, "c", own);
    home.helenus(&["baseline", "save", "c", "loaded"]).ok();
    // Overwritten, truncated, extended: each by itself would shadow or change what comes back.
    write("2s", "8");
    let later = "TRUNCATE keyspace1.standard1; DROP INDEX k.by_name; CREATE TABLE k.later (id int PRIMARY KEY); \
                 DELETE FROM k.t WHERE id = 1";
    cql(&home, "c", later);
    let restored = home
        .helenus(&[
            "baseline",
            "restore",
            "c",
            "loaded",
            "--drop-cache",
            "--format",
            "json",
        ])
        .ok()
        .json();
    assert_eq!(restored["plan"]["whole"], true, "{restored}");
    every_row(&home, "c", &rows);
    let indexed = "SELECT name FROM k.t WHERE size = 7; SELECT size FROM k.t WHERE name = 'one'";
    let here = cql(&home, "c", indexed);
    assert!(here.contains("one"), "{here}");
    let later = home.helenus(&["cql", "c", "-e", "SELECT * FROM k.later"]);
    assert_eq!(later.code, 2, "{later}");
    // Another cluster with another name, other host ids and the same tokens.
    home.helenus(&["up", "d"]).ok();
    let elsewhere = home
        .helenus(&[
            "baseline", "restore", "c", "loaded", "--into", "d", "--format", "json",
        ])
        .ok()
        .json();
    assert_eq!(elsewhere["plan"]["whole"], false, "{elsewhere}");
    every_row(&home, "d", &rows);
    assert_eq!(cql(&home, "d", indexed), here);
    let name = cql(&home, "d", "SELECT cluster_name FROM system.local");
    assert!(name.contains('d') && !name.contains("| c"), "{name}");
    let refused = home.helenus(&["baseline", "restore", "c", "loaded", "--into", "d"]);
    assert_eq!(refused.code, 2, "{refused}");
    // Nodes lived on these files: the baseline is as it was. Then one byte of the largest changes, its time stays.
    home.helenus(&["stop", "c"]).ok();
    home.helenus(&["stop", "d"]).ok();
    home.helenus(&["baseline", "verify", "c", "loaded"]).ok();
    let file = largest(&home);
    let time = fs_err::metadata(&file)
        .and_then(|m| m.modified())
        .expect("a time");
    let mut bytes = fs_err::read(&file).expect("a file");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs_err::write(&file, bytes).expect("a file");
    let handle = fs_err::File::options()
        .write(true)
        .open(&file)
        .expect("a file");
    handle.set_modified(time).expect("a time");
    let damaged = home.helenus(&["baseline", "verify", "c", "loaded"]);
    assert_eq!(damaged.code, 1, "{damaged}");
    let name = file
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    assert!(
        damaged.stdout.contains(&name) && damaged.stdout.contains("other bytes"),
        "{damaged}"
    );
    home.helenus(&["rm", "--all", "--with-baselines"]).ok();
}
