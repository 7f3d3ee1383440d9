//! Real Cassandra whose nodes come and go under writes and checked reads at QUORUM: what is acknowledged stays, and all
//! agree on the ring. Refuses to look at one node's opinion only: nodetool is asked, too.

use crate::clusters::same_status;
use crate::home::Home;
use crate::ledger::check;
use serde_json::Value;

/// Cassandra's own wait for gossip, as short as three nodes on one machine may have it.
const UP: [&str; 6] = [
    "up",
    "c",
    "-n",
    "3",
    "--jvm",
    "-Dcassandra.ring_delay_ms=5000",
];

/// Long enough for everything that happens beside it; it is ended then.
const RUN: [&str; 22] = [
    "run",
    "standard1",
    "--ops",
    "write=1,read=1",
    "--population",
    "3000",
    "--cluster",
    "c",
    "--cl",
    "QUORUM",
    "--rate",
    "100",
    "--warmup",
    "0s",
    "--duration",
    "10m",
    "--max-errors",
    "1",
    "--seed",
    "7",
    "--ledger",
    "--quiet",
];

/// A change that must be made, and the addresses of the ring before and after.
fn change(home: &Home, words: &[&str]) -> (Value, Vec<String>, Vec<String>) {
    let report = home
        .helenus(&[&["node"], words, &["-k", "keyspace1", "--format", "json"]].concat())
        .ok()
        .json();
    let ring = |part: &str| -> Vec<String> {
        let nodes = report[part]["nodes"].as_array().expect("nodes").iter();
        nodes
            .filter_map(|n| Some(n["address"].as_str()?.to_owned()))
            .collect()
    };
    let (before, after) = (ring("before"), ring("after"));
    same_status(home, "c", Some("keyspace1"));
    (report, before, after)
}

pub(crate) fn nodes_come_and_go_under_load_and_nothing_is_lost() {
    let home = Home::new();
    home.helenus(&UP).ok();
    let keyspace = "CREATE KEYSPACE keyspace1 WITH replication = {'class': 'NetworkTopologyStrategy', \
                    'datacenter1': 3}";
    home.helenus(&["cql", "c", "-e", keyspace]).ok();
    // Rows that are read from the first moment on.
    let rows = ["--ops", "write=1", "--positions", "0..3000", "--cl", "ALL"];
    let whole = [
        "run",
        "standard1",
        "--cluster",
        "c",
        "--seed",
        "7",
        "--quiet",
    ];
    let said = home.helenus(&[&whole[..], &rows].concat());
    assert!([0, 5].contains(&said.code), "{said}");
    let run = home.start(&RUN);

    // Four nodes, and what the dry run said that each would own.
    let dry = home
        .helenus(&[
            "node",
            "add",
            "c",
            "-k",
            "keyspace1",
            "--dry-run",
            "--format",
            "json",
        ])
        .ok()
        .json();
    let (added, before, after) = change(&home, &["add", "c"]);
    assert_eq!((before.len(), after.len()), (3, 4));
    let shares = |report: &Value| -> Vec<(String, i64)> {
        let nodes = report["after"]["nodes"].as_array().expect("nodes").iter();
        let share = |n: &Value| {
            let owns = n["owns"].as_f64().expect("a share");
            #[expect(clippy::cast_possible_truncation, reason = "a share in thousandths")]
            let thousandths = (owns * 1000.0).round() as i64;
            (n["address"].to_string(), thousandths)
        };
        let mut all: Vec<_> = nodes.map(share).collect();
        all.sort();
        all
    };
    assert_eq!(shares(&dry), shares(&added));
    assert!(
        added["streamed"]["done_bytes"].as_u64() > Some(0),
        "{added:#}"
    );

    // Three replicas on three nodes: one of them cannot go without a word, the fourth can.
    let (_, _, after) = change(&home, &["decommission", "c/node4"]);
    assert_eq!(after.len(), 3);
    let said = home.helenus(&["node", "decommission", "c/node3"]);
    assert!(
        said.code == 2 && said.stderr.contains("keyspace1 (3 in datacenter1, 2 left)"),
        "{said}"
    );

    // A node that was killed comes back at its own address, with an empty disk.
    home.helenus(&["kill", "c/node2", "--force"]).ok();
    let (replaced, _, after) = change(&home, &["replace", "c/node2", "--same-address"]);
    assert_eq!(
        (after.len(), &replaced["node"]["name"]),
        (3, &"node2".into())
    );
    disturb(&home);

    rustix::process::kill_process(
        rustix::process::Pid::from_child(&run),
        rustix::process::Signal::INT,
    )
    .expect("the run");
    run.wait_with_output().expect("its end");
    let shown = home.helenus(&["history", "show", "r2", "--format", "json"]);
    let stored = shown.ok().json();
    let faults = stored["faults"]
        .as_array()
        .expect("what happened beside it");
    let words = faults.iter().filter_map(|f| f["words"].as_str());
    let words: Vec<&str> = words.filter(|w| w.starts_with("node")).collect();
    assert_eq!(words, ["node4 joins", "node4 leaves", "node2 is replaced"]);
    went_on(&stored["result"]["phases"][0]);
    let (code, said) = check(&home, "r2");
    assert_eq!(
        (code, &said["tables"][0]["lost"]),
        (0, &0.into()),
        "{said:#}"
    );
    assert!(
        said["tables"][0]["present"].as_u64() > Some(1000),
        "{said:#}"
    );
}

/// A table that gets a column, a node that is killed and started again, and one that stands still for a moment: the last, for
/// what two nodes have acknowledged meanwhile must not be taken from them.
fn disturb(home: &Home) {
    let alter = "ALTER TABLE keyspace1.standard1 ADD extra int";
    home.helenus(&["cql", "c", "-e", alter]).ok();
    home.helenus(&["kill", "c/node3", "--force"]).ok();
    let start = ["start", "c/node3", "--ready-within", "60s", "--force"];
    home.helenus(&start).ok();
    home.helenus(&["fault", "c", "pause", "node1", "--for", "3s"])
        .ok();
}

/// Failures are of the kinds that nodes which come and go cause, nothing that was read was wrong or missing, connections to
/// nodes that were killed are counted, and the node that joined has coordinated.
fn went_on(phase: &Value) {
    let total = &phase["total"];
    let failed = total["failed"].as_object().cloned().unwrap_or_default();
    let known = [
        "connection",
        "client_timeout",
        "read_timeout",
        "write_timeout",
        "unavailable",
        // A replica that does not know a new schema, or has only just started, may refuse what another one asks of it.
        "other",
    ];
    assert!(
        failed.keys().all(|kind| known.contains(&kind.as_str())),
        "{failed:?} {}",
        phase["first_failures"]
    );
    let failures: u64 = failed.values().filter_map(Value::as_u64).sum();
    let completed = total["completed"].as_u64().unwrap_or(0);
    assert!(
        completed > 2000 && failures < completed,
        "{completed}, {failed:?}"
    );
    let around = &phase["around"];
    assert!(around["connections_lost"].as_u64() > Some(0), "{around:#}");
    let coordinators = around["coordinators"].as_object().expect("by coordinator");
    assert_eq!(coordinators.len(), 4, "{coordinators:?}");
}
