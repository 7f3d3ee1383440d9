//! Statements of one's own against real Cassandra: each pair is checked right or not at all, and levels that no replica
//! could answer are refused. Refuses to judge times.

use crate::home::{Home, Said};
use serde_json::Value;

const SCHEMA: &str = r#"
CREATE KEYSPACE IF NOT EXISTS shop WITH replication = {'class': 'NetworkTopologyStrategy', 'DC1': 1, 'DC2': 1};
CREATE TYPE IF NOT EXISTS shop.place (street text, "No" int);
CREATE TABLE IF NOT EXISTS shop.orders (tenant int, id bigint, note text, payload blob, owner text static,
    PRIMARY KEY (tenant, id));
CREATE TABLE IF NOT EXISTS shop.rich (id uuid, at timestamp, tags set<text>, words list<int>, prices map<text, double>,
    home frozen<place>, pair tuple<int, text>, "Mixed" float, day date, amount decimal, big varint,
    PRIMARY KEY (id, at));
CREATE TABLE IF NOT EXISTS shop.small (k tinyint PRIMARY KEY, v bigint);
CREATE TABLE IF NOT EXISTS shop.counts (k int PRIMARY KEY, n counter);
CREATE TABLE IF NOT EXISTS shop.mail (id uuid PRIMARY KEY, address text);
CREATE INDEX IF NOT EXISTS mail_by_address ON shop.mail (address) USING 'sai';
"#;

const ORDER: &str = "INSERT INTO shop.orders (tenant, id, note, payload) VALUES (:t, :i, :n, :p)";
const RICH: &str = r#"INSERT INTO shop.rich (id, at, tags, words, prices, home, pair, "Mixed", day, amount, big)
    VALUES (:a, :b, :c, :d, :e, :f, :g, :h, :i, :j, :k)"#;

/// An insert, a query, and what is not checked of it.
const PAIRS: [(&str, &str, &str); 30] = [
    (
        ORDER,
        "SELECT * FROM shop.orders WHERE tenant=:t AND id=:i",
        "owner",
    ),
    (
        ORDER,
        "SELECT note AS payload, payload FROM shop.orders WHERE id = ? AND tenant = ?",
        "",
    ),
    (
        ORDER,
        "SELECT writetime(note), ttl(note), note FROM shop.orders WHERE tenant = :x AND id = :y",
        "writetime",
    ),
    (
        ORDER,
        "SELECT id FROM shop.orders WHERE tenant = ? AND id > ?",
        "id > ?",
    ),
    (
        ORDER,
        "SELECT id, note FROM shop.orders WHERE tenant = ? AND id >= ? ORDER BY id DESC LIMIT ?",
        "",
    ),
    (
        ORDER,
        "SELECT note FROM shop.orders WHERE tenant = ? AND (id) > (?)",
        "(id) > (?)",
    ),
    (
        ORDER,
        "SELECT note FROM shop.orders WHERE token(tenant) > ? LIMIT 3",
        "token",
    ),
    (
        ORDER,
        "SELECT note FROM shop.orders WHERE token(tenant) >= token(?) LIMIT 3",
        "token",
    ),
    (
        ORDER,
        "SELECT id, note FROM shop.orders WHERE tenant IN ? AND id IN ?",
        "",
    ),
    (
        ORDER,
        "SELECT id, note FROM shop.orders WHERE tenant IN (?, 5) PER PARTITION LIMIT ?",
        "",
    ),
    (
        ORDER,
        "SELECT count(*) FROM shop.orders WHERE tenant = ?",
        "count",
    ),
    (
        ORDER,
        "SELECT tenant, max(id) FROM shop.orders WHERE tenant = ? GROUP BY tenant",
        "max",
    ),
    (
        ORDER,
        "SELECT DISTINCT tenant, owner FROM shop.orders WHERE tenant = ?",
        "owner",
    ),
    (
        ORDER,
        "SELECT JSON * FROM shop.orders WHERE tenant = ? AND id = ?",
        "json",
    ),
    (
        ORDER,
        "SELECT note FROM shop.orders WHERE tenant = ? AND note = ? ALLOW FILTERING",
        "",
    ),
    (
        "INSERT INTO shop.orders (tenant, id, note, owner) VALUES (?, ?, 'it''s', :o)",
        "SELECT note, owner FROM shop.orders WHERE tenant = ? AND id = ?",
        "owner",
    ),
    (
        "INSERT INTO shop.orders (tenant, id, note) VALUES (1, :i, :n)",
        "SELECT note FROM shop.orders WHERE tenant = 1 AND id = :id",
        "",
    ),
    (
        "INSERT INTO shop.orders (tenant, id, note, payload) VALUES (:x, :y, :z, textAsBlob(:z)) USING TTL ?",
        "SELECT note, payload FROM shop.orders WHERE tenant = ? AND id = ?",
        "payload",
    ),
    (
        "INSERT INTO shop.orders (tenant, id, note) VALUES (?, ?, ?) USING TIMESTAMP ? AND TTL 1",
        "SELECT note FROM shop.orders WHERE tenant = ? AND id = ?",
        "expired",
    ),
    (
        "UPDATE shop.orders SET note = :n, payload = 0xCAFE WHERE tenant = :t AND id = :i",
        "SELECT note, payload FROM shop.orders WHERE tenant = ? AND id = ?",
        "payload",
    ),
    (
        "DELETE FROM shop.orders WHERE tenant = ? AND id = ?",
        "SELECT note FROM shop.orders WHERE tenant = ? AND id = ?",
        "any row",
    ),
    (
        "BEGIN UNLOGGED BATCH INSERT INTO shop.orders (tenant, id, note) VALUES (:t, :i, ?); \
         UPDATE shop.orders SET payload = ? WHERE tenant = :t AND id = :i; APPLY BATCH",
        "SELECT note, payload FROM shop.orders WHERE tenant = ? AND id = ?",
        "",
    ),
    (RICH, "SELECT * FROM shop.rich WHERE id = ? AND at = ?", ""),
    (
        RICH,
        r#"SELECT "Mixed", tags, prices['x'], home.street, CAST(day AS text) FROM shop.rich WHERE id = :id AND at = :at"#,
        "prices",
    ),
    (
        RICH,
        "SELECT id, day FROM shop.rich WHERE id = ? AND tags CONTAINS ? ALLOW FILTERING",
        "",
    ),
    (
        "INSERT INTO shop.rich JSON :row",
        "SELECT * FROM shop.rich WHERE id = ? AND at = ?",
        "",
    ),
    (
        "INSERT INTO shop.rich (id, at, day, amount) VALUES (uuid(), toTimestamp(now()), :d, 1.5)",
        "SELECT day FROM shop.rich WHERE id = ? AND at = ?",
        "any row",
    ),
    (
        "INSERT INTO shop.small (k, v) VALUES (:key, :value) IF NOT EXISTS",
        "SELECT k, v FROM shop.small WHERE k = ?",
        "v",
    ),
    (
        "UPDATE shop.counts SET n = n + ? WHERE k = ?",
        "SELECT n FROM shop.counts WHERE k = ?",
        "any row",
    ),
    (
        "INSERT INTO shop.mail (id, address) VALUES (?, :mail)",
        "SELECT id, address FROM shop.mail WHERE address = :whom",
        "",
    ),
];

fn bench(home: &Home, insert: &str, query: &str, more: &[&str]) -> Said {
    let schema = home.path().join("shop.cql");
    let words = [
        "bench",
        "--cluster",
        "c",
        "--closed",
        "--count",
        "300",
        "--in-flight",
        "8",
        "--seed",
        "5",
        "--format",
        "json",
    ];
    let file = schema.to_string_lossy();
    let own = ["--schema", &file, "--insert", insert, "--query", query];
    home.helenus(&[&words[..], &own, more].concat())
}

/// Operations that failed.
fn failed(report: &Value) -> String {
    let phases = report["result"]["phases"].as_array().expect("phases");
    let each = phases
        .iter()
        .filter(|phase| !phase["total"]["failed"].is_null());
    let each =
        each.map(|phase| format!("{} {}", phase["total"]["failed"], phase["first_failures"]));
    each.collect()
}

pub(crate) fn each_pair_is_checked_right_or_not_at_all() {
    let home = Home::new();
    home.helenus(&["up", "c", "-n", "1:1", "--preset", "tiny"])
        .ok();
    fs_err::write(home.path().join("shop.cql"), SCHEMA).expect("a file");
    let mut wrong = Vec::new();
    for (insert, query, unchecked) in PAIRS {
        let said = bench(&home, insert, query, &["--phases", "write,read"]);
        let report: Value = serde_json::from_str(&said.stdout).unwrap_or_default();
        if report["result"].is_null() {
            wrong.push(format!("{insert}\n{query}\n{said}"));
            continue;
        }
        let failed = failed(&report);
        let reported = &report["result"]["unchecked"];
        let reported = match reported.is_null() {
            true => String::new(),
            false => reported.to_string(),
        };
        let fits = match unchecked {
            "" => reported.is_empty(),
            words => reported.contains(words),
        };
        if !failed.is_empty() || !fits {
            wrong.push(format!(
                "{insert}\n{query}\nfailed: {failed}\nunchecked: {reported}, not {unchecked}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    a_changed_cell_is_found(&home);
    what_no_replica_answers_is_refused(&home);
}

/// What is checked is checked: one cell of 300 is not what was written.
fn a_changed_cell_is_found(home: &Home) {
    let query = "SELECT note, payload FROM shop.orders WHERE tenant = :a AND id = :b";
    let cql = |text: &str| {
        home.helenus(&["cql", "c", "-e", text, "--format", "json"])
            .ok()
    };
    cql("TRUNCATE shop.orders");
    let written = bench(home, ORDER, query, &["--phases", "write"]);
    assert!([0, 5].contains(&written.code), "{written}");
    let first = cql("SELECT tenant, id FROM shop.orders LIMIT 1").json();
    let row = &first["results"][0]["rows"][0];
    let (tenant, id) = (&row["tenant"]["int"], &row["id"]["bigint"]);
    cql(&format!(
        "UPDATE shop.orders SET note = 'other' WHERE tenant = {tenant} AND id = {id}"
    ));
    let whole = ["--phases", "read", "--population", "300", "--in-order"];
    let said = bench(home, ORDER, query, &whole);
    assert_eq!(said.code, 5, "{said}");
    let failed = &said.json()["result"]["phases"][0]["total"]["failed"];
    assert_eq!(failed, &serde_json::json!({"wrong_data": 1}), "{said}");
}

/// A keyspace with one replica somewhere, as a local level of two data centres cannot use it; then as the hint says.
fn what_no_replica_answers_is_refused(home: &Home) {
    let cql = |text: &str| home.helenus(&["cql", "c", "-e", text]).ok();
    cql(
        "CREATE KEYSPACE ycsb WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    );
    let run = |more: &[&str]| {
        let words = [
            "run",
            "ycsb-b",
            "--cluster",
            "c",
            "--phase",
            "load",
            "--count",
            "50",
            "--seed",
            "5",
        ];
        home.helenus(&[&words[..], more].concat())
    };
    let level = ["--param", "cassandra.writeconsistencylevel=LOCAL_QUORUM"];
    let refused = run(&level);
    assert_eq!(refused.code, 2, "{refused}");
    let statement = "ALTER KEYSPACE ycsb WITH replication = {'class': 'NetworkTopologyStrategy', 'DC1': 1, 'DC2': 1}";
    assert!(refused.stderr.contains(statement), "{refused}");
    let populate = ["populate", "ycsb-b", "--cluster", "c", "--rows", "50"];
    let populate = |cl: &[&str]| home.helenus(&[&populate[..], cl].concat());
    let also = populate(&level);
    assert_eq!(also.code, 2, "{also}");
    cql(statement);
    let runs = run(&level);
    assert!([0, 5].contains(&runs.code), "{runs}");
    // Too few nodes, a data centre that is not there, and a factor for each.
    let three = bench(
        home,
        ORDER,
        "SELECT note FROM shop.orders WHERE tenant = ? AND id = ?",
        &["--cl", "THREE"],
    );
    assert_eq!(three.code, 2, "{three}");
    assert!(three.stderr.contains("too few nodes"), "{three}");
    let other = run(&["--replication-factor", "DC9=1"]);
    assert_eq!(other.code, 2, "{other}");
    let one = [
        "run",
        "kv",
        "--cluster",
        "c",
        "--phase",
        "rampup",
        "--count",
        "50",
    ];
    let one = |more: &[&str]| home.helenus(&[&one[..], more].concat());
    let apart = one(&["--replication-factor", "DC2=1", "--cl", "LOCAL_ONE"]);
    assert_eq!(apart.code, 2, "{apart}");
    assert!(apart.stderr.contains("CREATE KEYSPACE kv"), "{apart}");
    let there = one(&[
        "--replication-factor",
        "DC2=1",
        "--cl",
        "LOCAL_ONE",
        "--client-dc",
        "DC2",
    ]);
    assert!([0, 5].contains(&there.code), "{there}");
    let map = cql("SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = 'kv'");
    assert!(
        map.stdout.contains("'DC2': '1'") && !map.stdout.contains("DC1"),
        "{map}"
    );
}
