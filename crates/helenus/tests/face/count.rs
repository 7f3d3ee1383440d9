//! `count` and `check-data`: help, what may be got wrong, and what is said of a table behind a scripted endpoint.
//! Refuses figures of time: they are left out of every snapshot.

#[path = "../../../helenus-cluster/tests/endpoint/mod.rs"]
#[allow(dead_code, reason = "another test program wants the rest of this room")]
mod endpoint;

use crate::lab::TestLab;
use crate::lab::said::Said;
use endpoint::Endpoint;
use helenus_model::workload::standard1;

#[test]
fn flags_that_do_not_go_together() {
    let lab = TestLab::new();
    shot!(lab.run(&["count", "k.t", "--top", "3"]), @"
    exit code: 2
    --- standard error
    error: --top names the largest partitions
    hint: add --by partition
    ");
    shot!(lab.run(&["count", "k.t", "--all", "--by", "node"]), @"
    exit code: 2
    --- standard error
    error: --all lists every partition
    hint: add --by partition
    ");
    shot!(lab.run(&["count", "k.t", "--all", "--by", "partition", "--format", "json"]), @r#"
    exit code: 2
    --- standard error
    {"format":"helenus.error/1","exit_code":2,"error":"--all is written as CSV","caused_by":[],"log":[],"hint":"leave --format json out, or --all"}
    "#);
    shot!(lab.run(&["count", "k.t", "--resume", "--anew"]), @"
    exit code: 2
    --- standard error
    error: the argument '--resume' cannot be used with '--anew'

    Usage: helenus count --resume <KEYSPACE.TABLE>

    For more information, try '--help'.
    ");
    shot!(lab.run(&["count", "k.t", "--in-flight", "0"]), @"
    exit code: 2
    --- standard error
    error: invalid value '0' for '--in-flight <N>': number would be zero for non-zero type

    For more information, try '--help'.
    ");
    shot!(lab.run(&["count", "k.t", "--cluster", "c", "--hosts", "127.0.0.1"]), @"
    exit code: 2
    --- standard error
    error: the argument '--cluster <NAME>' cannot be used with '--hosts <HOST,…>'

    Usage: helenus count --cluster <NAME> <KEYSPACE.TABLE>

    For more information, try '--help'.
    ");
}

#[test]
fn no_cluster_and_no_workload() {
    let lab = TestLab::new();
    shot!(lab.run(&["count", "k.t"]), @"
    exit code: 2
    --- standard error
    error: which cluster? there is none
    hint: bring one up with `helenus up`
    ");
    shot!(lab.run(&["check-data", "standard2", "--population", "5", "--seed", "1"]), @r#"
    exit code: 2
    --- standard error
    error: "standard2" is not a built-in workload
    hint: did you mean standard1? known: standard1, counter1, kv, timeseries, iot, ip2location, ycsb-a, ycsb-b, ycsb-c, ycsb-d, ycsb-e, ycsb-f; a profile is a file: standard2.yaml
    "#);
    shot!(lab.run(&["check-data", "standard1", "--seed", "1"]), @"
    exit code: 2
    --- standard error
    error: --population is missing: how many partitions were written?
    hint: use --population N, as the run that wrote them
    ");
    shot!(lab.run(&["check-data", "standard1", "--population", "5"]), @"
    exit code: 2
    --- standard error
    error: the following required arguments were not provided:
      --seed <N>

    Usage: helenus check-data --seed <N> --population <N> <WORKLOAD>

    For more information, try '--help'.
    ");
    shot!(lab.run(&["count", "k.t", "--hosts", "127.0.0.1", "--port", "1"]), @"
    exit code: 3
    --- standard error
    error: [address]:[port] does not answer
      caused by: [address]:[port] refused the connection
    hint: is the node up, and is this its native transport port?
    ");
}

/// Five partitions of 1, 2, 3, 4 and 1,000 rows, behind an endpoint that never fails.
fn small() -> Endpoint {
    Endpoint::start(
        5,
        |key| [1, 2, 3, 4, 1_000][usize::try_from(key).expect("few")],
        |_| None,
    )
}

fn count(lab: &TestLab, endpoint: &Endpoint, flags: &[&str]) -> Said {
    let port = endpoint.addr.port().to_string();
    let words = ["count", "--hosts", "127.0.0.1", "--port", &port];
    let mut said = lab.run(&[&words[..], flags].concat());
    for text in [&mut said.out, &mut said.err] {
        // Times, rates and requests are of the machine.
        let lines = text.lines().map(|line| match line.contains(" rows/s, ") {
            true => "[time], [rate] rows/s, [n] requests",
            false => line,
        });
        *text = lines.map(|line| format!("{line}\n")).collect();
    }
    said
}

#[test]
fn a_table_is_counted_in_every_way() {
    let (lab, endpoint) = (TestLab::new(), small());
    shot!(count(&lab, &endpoint, &["k.t", "--by", "partition", "--top", "2"]), @"
    exit code: 0
    --- standard output
    1,010 rows in k.t of scripted at ONE
    [time], [rate] rows/s, [n] requests

    5 partitions, 202.0 rows each on average

           rows  partitions
              1           1  ###############
          2 – 3           2  ##############################
          4 – 7           1  ###############
    512 – 1,023           1  ###############

    the largest
     rows  k
    1,000  4
        4  3
    ");
    shot!(count(&lab, &endpoint, &["k.t", "--by", "node"]), @"
    exit code: 0
    --- standard output
    1,010 rows in k.t of scripted at ONE
    [time], [rate] rows/s, [n] requests

    node       data centre  ranges  of the ring   rows  of the rows
    [address]  datacenter1       1      100.0 %  1,010      100.0 %
    ");
    let ranges = count(&lab, &endpoint, &["k.t", "--by", "token-range"]);
    assert_eq!(ranges.out.lines().count(), 2 + 1 + 1 + 16, "{ranges}");
    let mut csv = count(&lab, &endpoint, &["k.t", "--by", "partition", "--all"]);
    let mut lines: Vec<&str> = csv.out.lines().collect();
    lines[1..].sort_unstable();
    csv.out = lines.join("\n") + "\n";
    shot!(csv, @"
    exit code: 0
    --- standard output
    k,rows
    0,1
    1,2
    2,3
    3,4
    4,1000
    --- standard error
    1,010 rows in k.t of scripted at ONE
    [time], [rate] rows/s, [n] requests
    ");
}

#[test]
fn programs_get_one_value() {
    let (lab, endpoint) = (TestLab::new(), small());
    let flags = ["k.t", "--by", "partition", "--top", "1", "--format", "json"];
    let said = count(&lab, &endpoint, &flags);
    let mut value: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    for of_the_machine in ["seconds", "requests"] {
        assert!(value[of_the_machine].is_number(), "{value}");
        value
            .as_object_mut()
            .expect("an object")
            .remove(of_the_machine);
    }
    insta::assert_json_snapshot!(value, @r#"
    {
      "answer": "1,010 rows in k.t of scripted at ONE",
      "cluster_name": "scripted",
      "complete": true,
      "consistency": "ONE",
      "format": "helenus.count/1",
      "keyspace": "k",
      "partitions": {
        "by_size": [
          1,
          2,
          1,
          0,
          0,
          0,
          0,
          0,
          0,
          1
        ],
        "keep": 1,
        "key": [
          "k"
        ],
        "largest": [
          {
            "key": [
              {
                "bigint": 4
              }
            ],
            "rows": 1000
          }
        ],
        "partitions": 5,
        "rows": 1010
      },
      "resumed_rows": 0,
      "rows": 1010,
      "share": 1.0,
      "table": "t",
      "troubles": {}
    }
    "#);
}

#[test]
fn names_that_are_not_there() {
    let (lab, endpoint) = (TestLab::new(), small());
    shot!(count(&lab, &endpoint, &["t"]), @r#"
    exit code: 2
    --- standard error
    error: "t" is not the name of a table
    hint: write KEYSPACE.TABLE, such as keyspace1.standard1
    "#);
    shot!(count(&lab, &endpoint, &["kk.t"]), @"
    exit code: 2
    --- standard error
    error: no such keyspace: kk
    hint: did you mean k?
    ");
    shot!(count(&lab, &endpoint, &["k.tt"]), @"
    exit code: 2
    --- standard error
    error: keyspace k has no table tt
    hint: did you mean t?
    ");
    shot!(count(&lab, &endpoint, &["system.local"]), @"
    exit code: 2
    --- standard error
    error: the tables of system are local to each node and have no ranges
    hint: ask a node: `helenus cql NAME/NODE -e 'SELECT …'`
    ");
}

#[test]
fn a_table_without_the_workload_s_columns_is_not_checked() {
    let (lab, endpoint) = (TestLab::new(), small());
    let profile = lab.write(
        "t.yaml",
        "keyspace: k\ntable: t\ntable_definition: |\n  CREATE TABLE t (k bigint, c int, v text, PRIMARY KEY (k, c));\n",
    );
    let port = endpoint.addr.port().to_string();
    let words = [
        "check-data",
        &profile.to_string_lossy(),
        "--hosts",
        "127.0.0.1",
        "--port",
        &port,
    ];
    shot!(lab.run(&[&words[..], &["--population", "5", "--seed", "1"]].concat()), @"
    exit code: 2
    --- standard error
    error: k.t has no column v, which the workload writes
    hint: is it the table of another workload, or of another version of this one?
    ");
}

#[test]
fn an_interrupt_reports_what_is_known_and_how_to_go_on() {
    let lab = TestLab::new();
    let endpoint = Endpoint::start(2_000, |_| 20, |_| None);
    let port = endpoint.addr.port().to_string();
    let words = ["count", "k.t", "--hosts", "127.0.0.1", "--port", &port];
    let slowly = [&words[..], &["--in-flight", "1", "--rate", "2k"]].concat();
    let running = lab.begin(&slowly);
    let counts = lab.path("home/state/counts/scripted.k.t.jsonl");
    crate::lab::look::wait_for("a few spans", crate::lab::PATIENCE, || {
        let lines = fs_err::read_to_string(&counts)
            .unwrap_or_default()
            .lines()
            .count();
        if lines > 8 {
            Ok(())
        } else {
            Err(format!("{lines} lines"))
        }
    });
    running.signal(rustix::process::Signal::INT);
    let said = running.end();
    assert_eq!(said.code, "130", "{said}");
    assert!(
        said.out
            .contains(" % of the ring in k.t of scripted at ONE"),
        "{said}"
    );
    assert!(said.err.contains("hint: --resume continues it"), "{said}");
    let refused = lab.run(&words);
    assert_eq!(refused.code, "2", "{refused}");
    let resumed = lab.json(&[&words[..], &["--resume"]].concat());
    assert_eq!(
        (&resumed["rows"], &resumed["complete"]),
        (&40_000.into(), &true.into()),
        "{resumed}"
    );
    assert!(!counts.exists());
}

#[test]
fn standard1_has_the_keys_that_others_know() {
    // The console blocks of docs/count.md name this row.
    let key: String = standard1::key(0)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(key, "e220a8397b1dcdafe4d9");
}
