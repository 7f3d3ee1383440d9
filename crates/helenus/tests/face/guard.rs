//! `guard`: its line, its exit codes, its JSON; `env` for each reader; nodetool's words that are not ours.
//! Refuses to look at the nodes: their proof is for lifecycle and real.

use crate::json::shown;
use crate::lab::TestLab;
use std::process::Command;

fn host_and_port(lab: &TestLab) -> (String, String) {
    let env = lab.json(&["env", "c"]);
    let host = env["contact_points"][0].as_str().expect("an address");
    (host.to_owned(), env["port"].to_string())
}

#[test]
fn ours_foreign_and_unreachable() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c"]);
    let (host, port) = host_and_port(&lab);
    let hosts = ["guard", "--hosts", &host, "--port", &port];
    shot!(lab.run(&["guard", "c"]), @"
    exit code: 0
    --- standard output
    ours: c, 1 node, each brought up by this user's helenus and listening on its claimed address
    ");
    shot!(lab.run(&hosts), @"
    exit code: 0
    --- standard output
    ours: c, 1 node, each brought up by this user's helenus and listening on its claimed address
    ");
    let json = lab.json(&["guard", "c"]);
    insta::assert_snapshot!(shown(&json), @r#"
    {
      "answer": "text",
      "cluster": "text",
      "format": "helenus.guard/1",
      "hosts": [
        {
          "host": "text",
          "sight": {
            "cluster_name": "text",
            "data_center": "text",
            "data_centers": [
              "text"
            ],
            "keyspaces": [],
            "nodes": [
              {
                "address": "text",
                "host_id": "text",
                "owned_by": "text"
              }
            ]
          }
        }
      ],
      "verdict": "text",
      "why": "text"
    }
    "#);
    // Another home of the same user knows nothing of that cluster.
    let other = TestLab::new();
    shot!(other.run(&hosts), @r#"
    exit code: 1
    --- standard output
    foreign: [address]:[port]: 1 of 1 nodes of "c" were not brought up by this user's helenus
    "#);
    // A closed port of this very machine.
    shot!(other.run(&["guard", "--hosts", "127.0.0.1", "--port", "1"]), @"
    exit code: 3
    --- standard output
    unreachable: [address]:[port] refused the connection
    ");
    shot!(other.run(&["guard", "--hosts", "127.0.0.1", "--port", "7001"]), @"
    exit code: 3
    --- standard output
    unreachable: [address]:[port] refused the connection; 7001 is the port of nodes among themselves, encrypted: name CQL's with --port, mostly 9042
    ");
    lab.done(&["stop", "c"]);
    shot!(lab.run(&["guard", "c"]), @"
    exit code: 3
    --- standard output
    unreachable: [address]:[port] refused the connection
    ");
    shot!(lab.run(&["guard", "d"]), @"
    exit code: 2
    --- standard error
    error: no such cluster: d
    hint: known: c
    ");
}

#[test]
fn help() {
    shot!(TestLab::new().run(&["guard", "--help"]), @r#"
    exit code: 0
    --- standard output
    Check whether a test may write to these addresses: exit code 0 yours, 1 foreign, 3 unreachable

    Usage: helenus guard [OPTIONS] [NAME]

    Arguments:
      [NAME]  One of your clusters, by name: does it, and nothing else, answer at its addresses?

    Options:
          --format <FORMAT>           Text for people, or JSON for programs [default: text] [possible
                                      values: text, json]
          --hosts <HOST,…>            Addresses or host names, as a test's driver gets them
          --port <PORT>               CQL port of --hosts [default: 9042]
      -v, --verbose...                More detail on standard error; twice for everything. The log file
                                      always has it
          --accept-name <NAME,…>      Let a cluster of this name pass though it is not yours; * stands
                                      for any characters
      -q, --quiet                     Print only errors on standard error
          --accept-keyspace <NAME,…>  Only if it has no keyspaces but these, beside Cassandra's own
      -h, --help                      Print help

    Examples:
      helenus guard --hosts [address],[address] && pytest
      helenus guard c
      helenus guard --hosts "$CASSANDRA_CONTACT_POINTS" --port "$CASSANDRA_PORT" || exit 1
      helenus guard --hosts ci-db --accept-name 'ci-*' --accept-keyspace 'test_*'

    Exit codes: 0 all addresses belong to one of your clusters, or to one that is accepted; 1 one is
    foreign; 3 nobody answers.
    "#);
    shot!(TestLab::new().run(&["guard"]), @"
    exit code: 2
    --- standard error
    error: the following required arguments were not provided:
      <NAME>

    Usage: helenus guard <NAME>

    For more information, try '--help'.
    ");
}

#[test]
fn env_for_each_reader() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c"]);
    for reader in ["fish", "dotenv", "github", "java", "python"] {
        let said = lab.run(&["env", "c/node1", "--as", reader]);
        let text = said.out.clone();
        let (host, port) = host_and_port(&lab);
        assert!(
            text.contains(&host) && text.contains(&port),
            "{reader}: {text}"
        );
        assert!(text.contains("datacenter1"), "{reader}: {text}");
    }
    let python = lab.done(&["env", "c", "--as", "python"]);
    let (_, session) = python.split_once("\ntry:\n").expect("a session");
    insta::assert_snapshot!(session, @r#"
        session = cluster.connect()
        print(session.execute("SELECT release_version FROM system.local").one().release_version)
    finally:
        cluster.shutdown()
    "#);
    assert_eq!(
        lab.json(&["env", "c"]),
        serde_json::from_str::<serde_json::Value>(&lab.run(&["env", "c", "--as", "json"]).out)
            .expect("JSON")
    );
    shot!(lab.run(&["env", "c", "--as", "tcsh"]), @"
    exit code: 2
    --- standard error
    error: invalid value 'tcsh' for '--as <READER>'
      [possible values: shell, fish, dotenv, github, json, java, python]

    For more information, try '--help'.
    ");
    shot!(lab.run(&["env", "c/node2"]), @"
    exit code: 2
    --- standard error
    error: cluster c has no node named node2
    hint: did you mean node1?
    ");
}

#[test]
fn what_env_prints_may_be_run_by_a_shell() {
    let mut lab = TestLab::fake("ready");
    let home = lab.path("it's $HOME `id` home");
    lab.set("HELENUS_HOME", &home);
    lab.done(&["up", "c"]);
    let mut shell = Command::new("/bin/sh");
    lab.dress(&mut shell);
    let script = "eval \"$($0 env c)\"; printf '%s\\n' \"$HELENUS_BIN\" \"$CASSANDRA_CONF\"; command -v nodetool";
    let said = shell
        .args(["-c", script, crate::lab::HELENUS])
        .output()
        .expect("a shell");
    let cluster = home.join("state/clusters/c");
    let cluster = cluster.display();
    assert_eq!(
        String::from_utf8_lossy(&said.stdout),
        format!("{cluster}/bin\n{cluster}/node1/conf\n{cluster}/bin/nodetool\n")
    );
    lab.done(&["rm", "c"]);
}

#[test]
fn nodetool_s_words_for_somebody_else_are_refused() {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c"]);
    shot!(lab.run(&["nodetool", "c", "-h", "production.example", "drain"]), @"
    exit code: 0
    --- standard output
    Run the release's own nodetool on a node; JMX is opened for it, with a password

    Usage: helenus nodetool [OPTIONS] <NAME[/NODE]> [ARGUMENTS]...

    Arguments:
      <NAME[/NODE]>   NAME or NAME/NODE
      [ARGUMENTS]...  nodetool's own arguments; -h, -p, -u, -pw and -pwf may come before its command

    Options:
          --format <FORMAT>  Text for people, or JSON for programs [default: text] [possible values:
                             text, json]
      -v, --verbose...       More detail on standard error; twice for everything. The log file always
                             has it
      -q, --quiet            Print only errors on standard error
      -h, --help             Print help

    Examples:
      helenus nodetool c status
      helenus nodetool c/node2 compactionstats
    ");
    shot!(lab.run(&["nodetool", "c", "--port", "7200", "drain"]), @"
    exit code: 2
    --- standard error
    error: port 7200 is not this cluster's JMX port
    hint: leave -p out, or give 7199
    ");
    // Through the shim, from another folder and with another home in the environment.
    let mut shim = Command::new(lab.cluster("c").join("node1/bin/nodetool"));
    lab.dress(&mut shim);
    let said = shim
        .env("HELENUS_HOME", "/nowhere")
        .args(["-h", "production.example", "drain"])
        .output()
        .expect("the shim");
    assert_eq!(said.status.code(), Some(2));
    let said = String::from_utf8_lossy(&said.stderr);
    assert!(said.contains("is not a node of this cluster"), "{said}");
}
