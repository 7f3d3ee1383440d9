//! `helenus workload`: what it lists and shows, how it refuses a profile, what it says that a profile would do.
//! Refuses nothing.

use super::json::shown;
use crate::lab::TestLab;

const USERS: &str = "\
keyspace: shop
keyspace_definition: |
  CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}
table: users
table_definition: |
  CREATE TABLE users (id uuid, day date, name text, tags set<text>, PRIMARY KEY (id, day))
columnspec:
  - name: day
    cluster: fixed(3)
  - name: name
    size: fixed(6)
insert:
  partitions: fixed(1)
  batchtype: UNLOGGED
queries:
  by_id:
    cql: SELECT * FROM users WHERE id = ?
    fields: samerow
token_range_queries:
  all:
    columns: '*'
";

#[test]
fn list() {
    shot!(TestLab::new().run(&["workload", "list"]), @"
exit code: 0
--- standard output
workload     phases                description
standard1    –                     cassandra-stress's default table: a key of 10 bytes, five columns of 34 bytes
counter1     rampup, main          cassandra-stress's counters: five per key of 10 bytes
kv           rampup, main          one value per key
timeseries   rampup, main          series that each get one point in turn; the newest points are read
iot          rampup, main, verify  NoSQLBench's cql-iot: sensors of machines, read by machine and sensor
ip2location  ingest                ranges of addresses written out one by one, each with country, region and city
ycsb-a       load, run             YCSB A: half reads, half updates
ycsb-b       load, run             YCSB B: 95 % reads, 5 % updates
ycsb-c       load, run             YCSB C: reads only
ycsb-d       load, run             YCSB D: 95 % reads of the latest, 5 % inserts
ycsb-e       load, run             YCSB E: 95 % short scans, 5 % inserts
ycsb-f       load, run             YCSB F: reads, and reads followed by updates, half and half

`helenus workload show NAME` shows parameters and profile; a file in cassandra-stress's YAML runs as well.
");
}

#[test]
fn show() {
    let lab = TestLab::new();
    shot!(lab.run(&["workload", "show", "kv", "--param", "value_size=1000"]), @"
    exit code: 0
    --- standard output
    kv: one value per key

    parameter    value  what it does
    rf           auto   replicas in each data centre; auto is up to 3, as many as it has nodes
    keys         1M     number of keys
    key_size     16     letters of a key
    value_size   1000   bytes of a value
    read_ratio   1      weight of reads in main
    write_ratio  1      weight of writes in main

    phase   operations  mix              positions  what it does
    rampup  1000000     insert=1         1000000    writes every key once
    main    1000000     read=1,insert=1  1000000    reads and writes of any key

    # One value a key.
    specname: kv
    keyspace: kv
    keyspace_definition: |
      CREATE KEYSPACE kv WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 1};
    table: kv
    table_definition: |
      CREATE TABLE kv (key text PRIMARY KEY, value blob);
    columnspec:
      - {name: key, size: fixed(16), population: seq(1..100B)}
      - {name: value, size: fixed(1000)}
    queries:
      read:
        cql: SELECT value FROM kv WHERE key = ?
        fields: samerow
    ");
    shot!(lab.run(&["workload", "show", "standard1"]), @"
    exit code: 0
    --- standard output
    standard1: cassandra-stress's default table: a key of 10 bytes, five columns of 34 bytes
    ");
    let yaml = lab.done(&["workload", "show", "kv", "--yaml"]);
    let file = lab.write("mine.yaml", &yaml);
    lab.done(&["workload", "check", &file.display().to_string()]);
}

#[test]
fn check_says_what_a_profile_would_do() {
    let lab = TestLab::new();
    lab.write("users.yaml", USERS);
    shot!(lab.run(&["workload", "check", "users.yaml", "--rows", "1"]), @r#"
    exit code: 0
    --- standard output
    shop.users: table shop.users

    operation  kind      statement
    insert     insert    INSERT INTO "shop"."users" ("id", "day", "name", "tags") VALUES (?, ?, ?, ?)
    by_id      query     SELECT * FROM "shop".users WHERE id = ?
    all        scan      SELECT * FROM "shop"."users" WHERE token("id") > ? AND token("id") <= ?
    validate   validate  SELECT * FROM "shop"."users" WHERE "id" = ?

    of a sample           least  mean   most
    rows a partition      3      3.0    3
    bytes a row           109    163.3  232
    partitions an insert  1      1.0    1
    rows an insert        3      3.0    3
    bytes an insert       365    489.8  619

    row 1
      id    79b1561e-8177-41bd-a103-08579124adf1
      day   2005-04-04
      name  zwzi9j
      tags  {'5t9q8tamh9gtps', '7sgbappgeunuj5', '8…
    "#);
    let json = lab.json(&["workload", "check", "users.yaml"]);
    insta::assert_snapshot!(shown(&json), @r#"
    {
      "answer": "text",
      "format": "helenus.workload-check/1",
      "profiles": [
        {
          "bytes_a_row": {
            "least": "number",
            "mean": "number",
            "most": "number"
          },
          "bytes_an_insert": {
            "least": "number",
            "mean": "number",
            "most": "number"
          },
          "cautions": [],
          "columns": [
            "text"
          ],
          "operations": [
            {
              "cql": "text",
              "kind": "text",
              "name": "text"
            }
          ],
          "partitions_an_insert": {
            "least": "number",
            "mean": "number",
            "most": "number"
          },
          "rows": [
            [
              "text"
            ]
          ],
          "rows_a_partition": {
            "least": "number",
            "mean": "number",
            "most": "number"
          },
          "rows_an_insert": {
            "least": "number",
            "mean": "number",
            "most": "number"
          },
          "spec": "text",
          "table": "text"
        }
      ],
      "seed": "number"
    }
    "#);
    assert_eq!(
        json["profiles"][0]["rows"].as_array().map(Vec::len),
        Some(3)
    );
    let again = lab.json(&["workload", "check", "users.yaml", "--seed", "2"]);
    assert_ne!(json["profiles"][0]["rows"], again["profiles"][0]["rows"]);
}

#[test]
fn check_names_file_line_and_key() {
    let lab = TestLab::new();
    let said = |from: &str, to: &str| {
        assert!(USERS.contains(from), "{from}");
        lab.write("users.yaml", &USERS.replacen(from, to, 1));
        let said = lab.run(&["workload", "check", "users.yaml"]);
        assert_eq!(said.code, "2", "{said}");
        said.err
    };
    let all = [
        said("cluster: fixed(3)", "clusters: fixed(3)"),
        said("name: day", "name: dayy"),
        said("tags set<text>", "tags sat<text>"),
        said("WHERE id = ?", "WHERE id = uuid(?)"),
        said("cluster: fixed(3)", "cluster: fixed(100k)"),
        said("columns: '*'", "columns: idd"),
        said(
            "table_definition: |\n  CREATE TABLE users (id uuid, day date, name text, tags set<text>, PRIMARY KEY (id, day))\n",
            "",
        ),
        said("keyspace_definition: |\n ", "keyspace_definition:"),
    ];
    insta::assert_snapshot!(all.join(""), @r#"
    error: users.yaml: line 9: columnspec.clusters: no such key
    hint: the nearest key is cluster; keys here are name, size, population, cluster
    error: users.yaml: line 8: columnspec of shop.users names the column "dayy", which shop.users does not have
    hint: the nearest column is "day"
    error: users.yaml: line 6: table_definition: "sat" holds no types; the nearest is set
    error: users.yaml: line 17: query "by_id": cannot determine which column bind marker 1 is for
    hint: compare the marker with a column, insert it into one, or name it after one (:column)
    error: users.yaml: line 13: insert of shop.users may write 100000 rows at once (1 partitions of 100000 rows, select fixed(1)/1); a batch holds 65535
    hint: make partitions, select or the columns' cluster smaller: fixed(1)/N writes one N-th of the rows
    error: users.yaml: line 21: token_range_queries: "all" reads the column "idd", which shop.users does not have
    hint: the columns are those of table_definition, or of the existing table
    error: users.yaml: it has no table_definition to check it with
    hint: `helenus workload new` drafts a profile of an existing table, with its definition
    error: users.yaml: line 2: not YAML: mapping values are not allowed in this context at line 2 column 70
    hint: write a statement below its key, after a |: a colon inside it would end its text
    "#);
    shot!(lab.run(&["workload", "check", "none.yaml"]), @"
    exit code: 2
    --- standard error
    error: failed to open file `none.yaml`: No such file or directory (os error 2)
    ");
    shot!(lab.run(&["workload", "check", "ioy"]), @r#"
    exit code: 2
    --- standard error
    error: "ioy" is not a built-in workload
    hint: did you mean iot? known: standard1, counter1, kv, timeseries, iot, ip2location, ycsb-a, ycsb-b, ycsb-c, ycsb-d, ycsb-e, ycsb-f; a profile is a file, such as ioy.yaml
    "#);
    shot!(lab.run(&["workload", "show", "iot", "--param", "source=1"]), @r#"
    exit code: 2
    --- standard error
    error: iot has no parameter "source"
    hint: did you mean sources? it has rampup-cycles, main-cycles, keyspace, table, rf, sources, stations, timespeed, limit, expiry_minutes, compression, read_ratio, write_ratio, read_cl, write_cl, instrument, addzeroes
    "#);
}

#[test]
fn check_reports_what_a_server_would_refuse() {
    let lab = TestLab::new();
    let large = USERS
        .replace("partitions: fixed(1)", "partitions: fixed(100)")
        .replace("size: fixed(6)", "size: fixed(600)");
    lab.write("large.yaml", &large.replace("UNLOGGED", "LOGGED"));
    let said = lab.run(&["workload", "check", "large.yaml", "--rows", "0"]);
    insta::assert_snapshot!(said.err, @"
    caution: one insert makes a batch of up to 224 KiB over several partitions: a server refuses those above its batch_size_fail_threshold, 50 KiB by default
    caution: logged batches over several partitions are written to the batch log first: UNLOGGED is cheaper
    ");
}

#[test]
fn new_says_what_it_would_read() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c"]);
    shot!(lab.run(&["workload", "new", "--from", "c", "--table", "shop.\"Users\"", "--dry-run"]), @"
    exit code: 0
    --- standard output
    would read the schema of shop.Users in c and 200 partitions of it, 1000 rows of each at most
    nothing was read (--dry-run)
    ");
    shot!(lab.run(&["workload", "new", "--from", "c", "--table", "users"]), @r#"
    exit code: 2
    --- standard error
    error: "users" is not a table
    hint: write KEYSPACE.TABLE, quoted where CQL needs quotes: '"Shop".users'
    "#);
    shot!(lab.run(&["workload", "new", "--from", "d", "--table", "shop.users"]), @"
    exit code: 2
    --- standard error
    error: no such cluster: d
    hint: known: c
    ");
}
