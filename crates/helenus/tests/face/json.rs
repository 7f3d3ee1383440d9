//! The JSON of every verb that reports something: the fields, their order, the version mark.
//! Refuses figures of this machine: a shape names the kind of each value.

use crate::lab::TestLab;
use serde_json::Value;

/// Each value by its kind, the version mark as it is; a list by its first entry.
pub(crate) fn shape(value: &Value) -> Value {
    match value {
        Value::Null => "null".into(),
        Value::Bool(_) => "bool".into(),
        Value::Number(_) => "number".into(),
        Value::String(text) if text.starts_with("helenus.") => text.clone().into(),
        Value::String(_) => "text".into(),
        Value::Array(all) => all.iter().take(1).map(shape).collect(),
        Value::Object(fields) => fields.iter().map(|(k, v)| (k.clone(), shape(v))).collect(),
    }
}

pub(crate) fn shown(value: &Value) -> String {
    serde_json::to_string_pretty(&shape(value)).expect("JSON")
}

fn with_cluster() -> TestLab {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c"]);
    lab
}

/// Lines whose JSON needs nothing but this machine, a cluster c, and a run.
const LINES: &[&str] = &[
    "up d --dry-run",
    "up --count 2 --prefix p --dry-run",
    "bench --dry-run --rate 100",
    "run standard1 --cluster c --ops write=1 --dry-run",
    "run standard1 --cluster c --ops write=1 --rate 50 --warmup 0s --duration 1s",
    "populate standard1 --cluster c --partitions 10 --dry-run",
    "stress print dist=FIXED(3)",
    "stress --dry-run write n=10",
    "workload list",
    "workload show iot",
    "workload check iot",
    "experiment status",
    "history",
    "history --comparisons",
    "history show @last",
    "history tag @last kept",
    "history export @last --to -",
    "history export @last --to out.json --dry-run",
    "history prune @last --dry-run",
    "report @last --dry-run",
    "list",
    "status c",
    "env c",
    "guard c",
    "machine",
    "plan --rows 1m",
    "doctor",
    "releases",
    "releases fetch 5.0.9 --dry-run",
    "presets",
    "presets show dev",
    "topology show c",
    "topology links",
    "logs c",
    "jmx c --dry-run",
    "flame c --dry-run",
    "fault c",
    "fault c pause node1 --dry-run",
    "heal c --dry-run",
    "baseline list",
    "baseline save c one --dry-run",
    "cqlsh c --dry-run -e SELECT",
    "upgrade c --to 5.0.9 --dry-run",
    "pause c",
    "resume c",
    "kill c",
    "start c --dry-run",
    "start c",
    "stop c --dry-run",
    "stop c",
    "rm c --dry-run",
    "rm c",
];

#[test]
fn every_value_has_an_answer() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    lab.write("home/state/clusters/c/node1/logs/system.log", "one\n");
    let mut silent = Vec::new();
    for line in LINES {
        let words: Vec<&str> = ["--format", "json"]
            .into_iter()
            .chain(line.split(' '))
            .collect();
        let said = lab.run(&words);
        let value: Value = serde_json::from_str(&said.out).unwrap_or_default();
        let answer = value["answer"].as_str().unwrap_or_default();
        let format = value["format"].as_str().unwrap_or_default();
        if answer.is_empty() || answer.contains('\n') {
            silent.push(format!("no answer: {line}\n{said}"));
            continue;
        }
        let missing = undocumented(format, &value);
        if !missing.is_empty() {
            silent.push(format!("{line}: the page of {format} lacks {missing:?}"));
        }
    }
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}

/// Keys of a value that the page of its format does not list.
fn undocumented(format: &str, value: &Value) -> Vec<String> {
    let name = format.trim_start_matches("helenus.");
    let name = name.split('/').next().unwrap_or_default();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats");
    let page = fs_err::read_to_string(format!("{folder}/{name}.md")).expect("a page");
    let own = page.split("\n## ").next().unwrap_or_default();
    // The keys of one of several shapes stand in a section of their own.
    let text = if own.contains("| … |") { &page } else { own };
    let keys = value
        .as_object()
        .into_iter()
        .flat_map(|fields| fields.keys());
    keys.filter(|key| {
        !text.contains(&format!("| `{key}` |")) && !text.contains(&format!("`\"{key}\": "))
    })
    .cloned()
    .collect()
}

#[test]
fn up_and_start() {
    let lab = TestLab::fake("ready");
    shot_live!(lab.run(&["up", "c", "--format", "json"]), @r#"
    exit code: 0
    --- standard output
    {
      "answer": "cluster c is ready: Cassandra 5.0.9, preset tiny, 1 node after [time]",
      "format": "helenus.ready/1",
      "name": "c",
      "release": "5.0.9",
      "preset": "tiny",
      "seconds": [seconds],
      "nodes": [
        {
          "name": "node1",
          "address": "[address]",
          "cql_port": [port],
          "data_center": "datacenter1",
          "rack": "rack1",
          "condition": "running",
          "pid": [pid],
          "host_id": "6e6f6465-3107-0707-0707-070707070707",
          "memory": {
            "rss_bytes": [bytes],
            "pss_bytes": [bytes],
            "pss_anon_bytes": [bytes],
            "pss_file_bytes": [bytes],
            "pss_shmem_bytes": [bytes],
            "threads": [threads]
          },
          "archive_used": null
        }
      ]
    }
    "#);
    lab.done(&["stop", "c"]);
    let again = lab.json(&["start", "c"]);
    assert_eq!(again["format"], "helenus.ready/1");
    assert_eq!(again["nodes"][0]["condition"], "running");
}

#[test]
fn stop_and_signals() {
    let lab = with_cluster();
    for verb in ["pause", "resume", "kill", "stop"] {
        let done = lab.json(&[verb, "c"]);
        assert_eq!(done["verb"], verb);
    }
    shot!(lab.run(&["stop", "c", "--format", "json"]), @r#"
    exit code: 0
    --- standard output
    {
      "answer": "c: node1 stopped; the data stays",
      "format": "helenus.done/1",
      "verb": "stop",
      "cluster": "c",
      "nodes": [
        "node1"
      ],
      "dry_run": false
    }
    "#);
}

#[test]
fn list() {
    let lab = with_cluster();
    let mut listed = lab.json(&["list"]);
    // What holds is the machine's: where nothing does, why stands there.
    let limits = listed["clusters"][0]["limits"].take();
    let held = limits["by"].is_string() && limits["groups"]["node1"].is_array();
    assert!(held || limits["not_enforced"].is_string(), "{limits}");
    insta::assert_snapshot!(shown(&listed), @r#"
    {
      "answer": "text",
      "clusters": [
        {
          "ephemeral": "bool",
          "folder": "text",
          "heap_bytes": "number",
          "limits": "null",
          "name": "text",
          "nodes": [
            {
              "address": "text",
              "archive_used": "null",
              "condition": "text",
              "cql_port": "number",
              "data_center": "text",
              "host_id": "text",
              "memory": {
                "pss_anon_bytes": "number",
                "pss_bytes": "number",
                "pss_file_bytes": "number",
                "pss_shmem_bytes": "number",
                "rss_bytes": "number",
                "threads": "number"
              },
              "memory_by_kind": {
                "archive": "number",
                "code": "number",
                "files": "number",
                "heap": "number",
                "metaspace": "number",
                "native": "number",
                "threads": "number"
              },
              "name": "text",
              "pid": "number",
              "rack": "text"
            }
          ],
          "planned": {
            "archive": "number",
            "bound": "number",
            "code": "number",
            "direct": "number",
            "files": "number",
            "heap": "number",
            "jvm": "number",
            "metaspace": "number",
            "threads": "number"
          },
          "preset": "text",
          "release": "text",
          "state": "text"
        }
      ],
      "format": "helenus.list/1"
    }
    "#);
}

#[test]
fn list_of_a_broken_cluster() {
    let lab = TestLab::new();
    lab.write("home/state/clusters/bad/cluster.json", "?");
    shot!(lab.run(&["list", "--format", "json"]), @r#"
    exit code: 0
    --- standard output
    {
      "answer": "cluster bad is broken",
      "format": "helenus.list/1",
      "clusters": [
        {
          "name": "bad",
          "state": "broken",
          "problem": "cannot read the state of cluster bad: expected value at line 1 column 1",
          "release": null,
          "preset": null,
          "ephemeral": false,
          "heap_bytes": null,
          "folder": "[LAB]/home/state/clusters/bad",
          "planned": null,
          "limits": null,
          "nodes": []
        }
      ]
    }
    "#);
}

#[test]
fn env() {
    let lab = with_cluster();
    shot!(lab.run(&["env", "c", "--format", "json"]), @r#"
    exit code: 0
    --- standard output
    {
      "answer": "cluster c speaks CQL at [address]:[port], data centre datacenter1",
      "format": "helenus.env/1",
      "cluster": "c",
      "cluster_name": "c",
      "contact_points": [
        "[address]"
      ],
      "port": [port],
      "data_center": "datacenter1",
      "release": "5.0.9",
      "node": "node1",
      "conf": "[LAB]/home/state/clusters/c/node1/conf",
      "data": "[LAB]/home/state/clusters/c/node1/data",
      "logs": "[LAB]/home/state/clusters/c/node1/logs",
      "bin": "[LAB]/home/state/clusters/c/bin"
    }
    "#);
    shot!(lab.run(&["env"]), @r#"
    exit code: 0
    --- standard output
    export HELENUS_CLUSTER=c
    export CASSANDRA_CONTACT_POINTS=[address]
    export CASSANDRA_PORT=[port]
    export CASSANDRA_DATACENTER=datacenter1
    export CASSANDRA_CLUSTER_NAME=c
    export CASSANDRA_VERSION=5.0.9
    export CQLSH_HOST=[address]
    export CQLSH_PORT=[port]
    export CASSANDRA_CONF=[LAB]/home/state/clusters/c/node1/conf
    export CASSANDRA_DATA=[LAB]/home/state/clusters/c/node1/data
    export CASSANDRA_LOG_DIR=[LAB]/home/state/clusters/c/node1/logs
    export HELENUS_BIN=[LAB]/home/state/clusters/c/bin
    export PATH=[LAB]/home/state/clusters/c/bin:"$PATH"
    "#);
}

#[test]
fn rm() {
    let lab = with_cluster();
    shot_live!(lab.run(&["rm", "c", "--dry-run", "--format", "json"]), @r#"
    exit code: 0
    --- standard output
    {
      "answer": "would remove c: 1 node (1 running), [size] in [LAB]/home/state/clusters/c",
      "format": "helenus.removed/1",
      "dry_run": true,
      "removed": [
        {
          "name": "c",
          "nodes": 1,
          "running": 1,
          "bytes": [bytes],
          "folder": "[LAB]/home/state/clusters/c"
        }
      ]
    }
    "#);
    let removed = lab.json(&["rm", "c"]);
    assert_eq!(removed["dry_run"], false);
}

#[test]
fn presets() {
    let lab = TestLab::new();
    insta::assert_snapshot!(shown(&lab.json(&["presets"])), @r#"
    {
      "answer": "text",
      "base": [
        {
          "key": "text",
          "place": "text",
          "reason": "text",
          "source": "text",
          "value": "text"
        }
      ],
      "format": "helenus.presets/1",
      "presets": [
        {
          "heap": {
            "fixed": {
              "heap_mib": "number",
              "new_mib": "number"
            }
          },
          "name": "text",
          "settings": [
            {
              "key": "text",
              "place": "text",
              "reason": "text",
              "source": "text",
              "value": "text"
            }
          ],
          "summary": "text"
        }
      ]
    }
    "#);
    let one = lab.json(&["presets", "show", "dev"]);
    assert_eq!(one["presets"].as_array().map(Vec::len), Some(1));
}

#[test]
fn releases() {
    let mut lab = TestLab::new();
    // The first release of the list is the oldest.
    lab.set("JAVA_HOME", lab.jdk("1.8.0_402"));
    insta::assert_snapshot!(shown(&lab.json(&["releases"])), @r#"
    {
      "answer": "text",
      "format": "helenus.releases/1",
      "jdks": [
        {
          "home": "text",
          "version": "text"
        }
      ],
      "releases": [
        {
          "archive": "null",
          "bytes": "number",
          "cached": "null",
          "checksums": "null",
          "jars": "number",
          "problem": "null",
          "runs_on": "text",
          "supported_jdks": [
            "number"
          ],
          "version": "text",
          "works_on_jdks": [
            "number"
          ]
        }
      ]
    }
    "#);
}

#[test]
fn doctor() {
    let lab = TestLab::new();
    let said = lab.run(&["doctor", "--format", "json"]);
    let mut value: Value = serde_json::from_str(&said.out).expect("JSON");
    // Whether something has a cure is this machine's business.
    for finding in value["findings"].as_array_mut().expect("findings") {
        finding["cure"] = Value::Null;
    }
    insta::assert_snapshot!(shown(&value), @r#"
    {
      "answer": "text",
      "findings": [
        {
          "cure": "null",
          "found": "text",
          "weight": "text",
          "what": "text"
        }
      ],
      "format": "helenus.doctor/1",
      "machine": {
        "arch": "text",
        "cores": "number",
        "kernel": "text",
        "memory": "number",
        "processor": "text"
      }
    }
    "#);
}

#[test]
fn plan_of_up() {
    let lab = TestLab::new();
    let mut plan = lab.json(&["up", "c", "--dry-run"]);
    assert!(plan["nodes"][0]["environment"].is_object());
    plan["nodes"][0]["environment"] = Value::Null;
    insta::assert_snapshot!(shown(&plan), @r#"
    {
      "answer": "text",
      "folder": "text",
      "format": "helenus.cluster-plan/2",
      "heap": {
        "heap": "number",
        "new": "number"
      },
      "limits": {
        "cpus": "null",
        "equal_shares": "bool",
        "memory": "number"
      },
      "memory": {
        "archive": "number",
        "bound": "number",
        "code": "number",
        "direct": "number",
        "files": "number",
        "heap": "number",
        "jvm": "number",
        "metaspace": "number",
        "threads": "number"
      },
      "name": "text",
      "nodes": [
        {
          "address": "text",
          "data_center": "text",
          "environment": "null",
          "folder": "text",
          "jvm": [
            "text"
          ],
          "name": "text",
          "rack": "text",
          "timer_slack_us": "number",
          "tokens": [
            "number"
          ],
          "yaml": "text"
        }
      ],
      "ports": {
        "cql": "number",
        "jmx": "number",
        "storage": "number"
      },
      "preset": "text",
      "release": "text",
      "tokens": "number"
    }
    "#);
}

#[test]
fn plan_of_bench() {
    let lab = TestLab::new();
    let mut plan = lab.json(&["bench", "--dry-run", "--rate", "100"]);
    assert_eq!(plan["cluster"]["format"], "helenus.cluster-plan/2");
    plan["cluster"] = Value::Null;
    insta::assert_snapshot!(shown(&plan), @r#"
    {
      "answer": "text",
      "client_data_center": "null",
      "cluster": "null",
      "format": "helenus.bench-plan/1",
      "place": "text",
      "rate_per_s": "number",
      "seed": "number",
      "shape": {
        "arrivals": "text",
        "extent": {
          "duration_ms": "number"
        },
        "in_flight": "number",
        "in_order": "bool",
        "phases": [
          "text"
        ],
        "population": "null",
        "settle": "bool",
        "warmup_ms": "number"
      },
      "workload": "text"
    }
    "#);
}

#[test]
fn errors_are_a_line_on_standard_error_and_leave_standard_output_empty() {
    let lab = TestLab::new();
    for verb in [["stop", "c"], ["env", "c"], ["rm", "c"], ["up", "1c"]] {
        let said = lab.run(&[&verb[..], &["--format", "json"]].concat());
        assert_eq!((said.code.as_str(), said.out.as_str()), ("2", ""), "{said}");
        let error: Value = serde_json::from_str(&said.err).expect("one line of JSON");
        assert_eq!(error["format"], "helenus.error/1");
        assert_eq!(error["exit_code"], 2);
    }
    // A line that cannot be read has the same form.
    shot!(lab.run(&["stop", "c", "--tehn", "--format=json"]), @r#"
    exit code: 2
    --- standard error
    {"format":"helenus.error/1","exit_code":2,"error":"unexpected argument '--tehn' found","caused_by":[],"log":[],"hint":"a similar argument exists: '--within'"}
    "#);
    shot!(lab.run(&["--format", "json", "rm", "c"]), @r#"
    exit code: 2
    --- standard error
    {"format":"helenus.error/1","exit_code":2,"error":"no such cluster: c","caused_by":[],"log":[],"hint":"none exists; bring one up with `helenus up`"}
    "#);
}

#[test]
fn nodetool_has_no_json() {
    let lab = with_cluster();
    shot!(lab.run(&["--format", "json", "nodetool", "c", "status"]), @r#"
    exit code: 2
    --- standard error
    {"format":"helenus.error/1","exit_code":2,"error":"nodetool has no JSON output","caused_by":[],"log":[],"hint":"some of its commands take -F json"}
    "#);
}

#[test]
fn logs() {
    let lab = with_cluster();
    lab.write("home/state/clusters/c/node1/logs/system.log", "one\ntwo\n");
    shot!(lab.run(&["logs", "c", "--tail", "1", "--format", "json"]), @r#"
    exit code: 0
    --- standard output
    {
      "answer": "1 line of node1's [LAB]/home/state/clusters/c/node1/logs/system.log",
      "format": "helenus.log/1",
      "node": "node1",
      "path": "[LAB]/home/state/clusters/c/node1/logs/system.log",
      "lines": [
        "two"
      ]
    }
    "#);
}

#[test]
fn cqlsh() {
    let lab = with_cluster();
    let output = lab.run(&[
        "cql",
        "c",
        "-e",
        "SELECT key FROM system.local",
        "--format",
        "json",
    ]);
    shot!(output, @r#"
    exit code: 0
    --- standard output
    {
      "answer": "1 statement ran, 1 row returned",
      "format": "helenus.cql/1",
      "results": [
        {
          "statement": "SELECT key FROM system.local",
          "columns": [
            "key"
          ],
          "rows": [
            {
              "key": {
                "text": "key"
              }
            }
          ]
        }
      ]
    }
    "#);
}
