//! Flags of many clusters, of memory and of limits: what they show, and what they refuse.
//! Refuses to start anything but the fake node.

use crate::json::shown;
use crate::lab::TestLab;

#[test]
fn many_want_a_number_and_a_prefix() {
    let lab = TestLab::new();
    shot!(lab.run(&["up", "--count", "3"]), @"
    exit code: 2
    --- standard error
    error: the following required arguments were not provided:
      --prefix <PREFIX>

    Usage: helenus up --count <N> --prefix <PREFIX> [NAME]

    For more information, try '--help'.
    ");
    shot!(lab.run(&["up", "--prefix", "dev"]), @"
    exit code: 2
    --- standard error
    error: the following required arguments were not provided:
      --count <N>

    Usage: helenus up --prefix <PREFIX> --count <N> [NAME]

    For more information, try '--help'.
    ");
    shot!(lab.run(&["up", "c", "--count", "3", "--prefix", "dev"]), @"
    exit code: 2
    --- standard error
    error: the argument '[NAME]' cannot be used with '--count <N>'

    Usage: helenus up --prefix <PREFIX> <NAME>

    For more information, try '--help'.
    ");
    shot!(lab.run(&["up", "--count", "0", "--prefix", "dev"]), @"
    exit code: 2
    --- standard error
    error: invalid value '0' for '--count <N>': 0 is not in 1..=254

    For more information, try '--help'.
    ");
    shot!(lab.run(&["up", "--count", "2", "--prefix", "1"]), @r#"
    exit code: 2
    --- standard error
    error: "11" cannot name a cluster: use 1 to 40 letters, digits, - and _, a letter first
    "#);
    let full = ["up", "--count", "200", "--prefix", "dev", "-n", "2"];
    let said = lab.run(&full);
    assert_eq!(said.code, "3", "{said}");
    assert!(said.err.contains("fewer than 400 free addresses"), "{said}");
}

#[test]
fn a_dry_run_of_many_shows_one_and_the_sum_and_makes_none() {
    let lab = TestLab::new();
    let mut plans = lab.json(&[
        "up",
        "--count",
        "2",
        "--prefix",
        "dev",
        "--dry-run",
        "--at-once",
        "3",
    ]);
    let one = plans["plans"][0].take();
    assert_eq!(one["name"], "dev1");
    assert_eq!(plans["plans"][1]["name"], "dev2");
    assert_ne!(
        plans["plans"][1]["nodes"][0]["address"],
        one["nodes"][0]["address"]
    );
    assert_eq!(plans["plans"][1]["limits"]["equal_shares"], true);
    plans["plans"].as_array_mut().expect("plans").remove(0);
    insta::assert_snapshot!(shown(&plans), @r#"
    {
      "answer": "text",
      "at_once": "number",
      "format": "helenus.cluster-plan-list/1",
      "free_bytes": "number",
      "planned_bytes": "number",
      "plans": [
        {
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
              "environment": {
                "MALLOC_ARENA_MAX": "text"
              },
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
      ]
    }
    "#);
    let text = lab.done(&["up", "--count", "2", "--prefix", "dev", "--dry-run"]);
    for line in [
        "cluster dev1: ",
        "\ndev1/node1  127.",
        "\ndev2/node1  127.",
        "\n2 clusters with 2 nodes in all, ",
        " at a time: 497 MiB of memory planned, ",
        "limits of each node: memory ",
        "unset, Cassandra would take ",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert_eq!(text.matches("cassandra.yaml:").count(), 1, "{text}");
    assert!(
        text.ends_with("nothing was started (--dry-run)\n"),
        "{text}"
    );
    assert!(!lab.cluster("dev1").exists());
}

#[test]
fn limits_that_cannot_be() {
    let lab = TestLab::new();
    shot!(lab.run(&["up", "--memory", "100M"]), @"
    exit code: 2
    --- standard error
    error: a limit of 100 MiB is below the planned memory of a node, 248 MiB
    hint: use --memory 249M or more, or a smaller --heap
    ");
    shot!(lab.run(&["up", "--memory", "lots"]), @r#"
    exit code: 2
    --- standard error
    error: invalid value 'lots' for '--memory <SIZE>': "lots" is not a size: write a number with K, M or G, such as 64M

    For more information, try '--help'.
    "#);
    let said = lab.run(&["up", "--cpus", "0"]);
    assert_eq!(said.code, "2", "{said}");
    assert!(
        said.err.contains("use a number such as --cpus 0.5"),
        "{said}"
    );
}

#[test]
fn a_prefix_is_it_and_a_number() {
    let mut lab = TestLab::fake("ready");
    shot!(lab.run(&["rm", "--prefix", "dev"]), @"
    exit code: 2
    --- standard error
    error: no cluster is named dev and a number
    hint: none exists; bring one up with `helenus up`
    ");
    lab.done(&["up", "dev1"]);
    lab.done(&["up", "developer"]);
    shot!(lab.run(&["rm", "--prefix", "de"]), @"
    exit code: 2
    --- standard error
    error: no cluster is named de and a number
    hint: did you mean dev?
    ");
    let would_stop = ["stop", "--prefix", "dev", "--dry-run"];
    shot!(lab.run(&would_stop), @"
    exit code: 0
    --- standard output
    would stop node1 of dev1; nothing was done (--dry-run)
    ");
    shot!(lab.run(&["stop", "developer", "--prefix", "dev"]), @"
    exit code: 2
    --- standard error
    error: a cluster by its name conflicts with --prefix
    hint: leave one of them out
    ");
    let without = lab.done(&would_stop);
    lab.set("HELENUS_CLUSTER", "developer");
    assert_eq!(lab.done(&would_stop), without, "a prefix comes first");
    lab.set("HELENUS_CLUSTER", "");
    shot!(lab.run(&["rm", "--prefix", "dev", "--all"]), @"
    exit code: 2
    --- standard error
    error: the argument '--prefix <PREFIX>' cannot be used with '--all'

    Usage: helenus rm --prefix <PREFIX> [NAME]...

    For more information, try '--help'.
    ");
    shot_live!(lab.run(&["rm", "--prefix", "dev"]), @"
    exit code: 0
    --- standard output
    removed dev1: 1 node (1 running), [size] in [LAB]/home/state/clusters/dev1
    ");
    assert_eq!(lab.states("developer").0, "running");
}

#[test]
fn memory_by_kind_has_two_lines_a_node() {
    let lab = TestLab::fake("ready");
    shot!(lab.run(&["list", "-m"]), @"
    exit code: 0
    --- standard output
    no cluster; bring one up with `helenus up`
    ");
    lab.done(&["up", "c", "-n", "2"]);
    let table = lab.done(&["list", "--memory"]);
    let lines: Vec<&str> = table.lines().collect();
    for kind in [
        "heap",
        "metaspace",
        "code",
        "threads",
        "archive",
        "native",
        "anon",
        "files",
        "limit",
    ] {
        assert!(lines[0].contains(kind), "{table}");
    }
    assert!(lines[1].starts_with("c/node1  planned "), "{table}");
    assert!(lines[2].trim_start().starts_with("measured "), "{table}");
    assert!(lines[3].starts_with("c/node2  planned "), "{table}");
    assert!(
        lines.iter().all(|line| line.chars().count() <= 120),
        "{table}"
    );
}
