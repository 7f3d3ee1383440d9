//! Real Cassandra with a data centre cut off, or a disk filled, in mid-run: what each level makes of it.
//! Refuses to say how quick anything is: counts, kinds, and who went on without an error.

use crate::home::Home;
use crate::ledger::check;
use serde_json::Value;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Longest wait for nodes that are joined again, or stop serving.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the rows follow from.
const SEED: &str = "7";

const RUN: [&str; 13] = [
    "run",
    "standard1",
    "--ops",
    "write=1",
    "--rate",
    "40",
    "--warmup",
    "0s",
    "--max-errors",
    "1",
    "--seed",
    SEED,
    "--duration",
];

/// A run that must end with a result; a busy machine may disqualify it.
fn run(home: &Home, cluster: &str, words: &[&str]) -> Value {
    let where_to = ["--format", "json", "--cluster", cluster];
    let said = home.helenus(&[&RUN[..], words, &where_to].concat());
    assert!([0, 5].contains(&said.code), "{said}");
    said.json()
}

/// Rows that the first run wrote, read from every copy.
fn read(home: &Home, cluster: &str) -> Value {
    let words = [
        "run",
        "standard1",
        "--cluster",
        cluster,
        "--ops",
        "read=1",
        "--cl",
        "ALL",
        "--seed",
        SEED,
    ];
    let more = [
        "--positions",
        "0..40",
        "--max-errors",
        "1",
        "--format",
        "json",
    ];
    let said = home.helenus(&[&words[..], &more].concat());
    assert!([0, 5].contains(&said.code), "{said}");
    said.json()
}

fn total(report: &Value) -> &Value {
    &report["result"]["phases"][0]["total"]
}

/// Waits until every copy answers, once the nodes have seen each other.
fn reads_at_all_work(home: &Home, cluster: &str) {
    let begin = Instant::now();
    loop {
        let again = read(home, cluster);
        if total(&again)["completed"].as_u64() > Some(0) {
            return;
        }
        assert!(begin.elapsed() < PATIENCE, "{again:#}");
    }
}

pub(crate) fn a_data_center_cut_off_is_felt_at_the_levels_that_need_it() {
    let home = Home::new();
    let up = ["up", "wan", "-n", "1:1:1", "--rtt", "10ms"];
    home.helenus(&up).ok();
    let keyspace = "CREATE KEYSPACE keyspace1 WITH replication = {'class': 'NetworkTopologyStrategy', \
                    'DC1': 1, 'DC2': 1, 'DC3': 1}";
    home.helenus(&["cql", "wan", "-e", keyspace]).ok();
    // The tables, written once where everybody answers.
    let first = run(&home, "wan", &["2s", "--cl", "EACH_QUORUM"]);
    assert!(total(&first)["completed"].as_u64() > Some(0), "{first:#}");

    let fault = ["--fault", "at 2s for 4s partition DC3"];
    let local = run(
        &home,
        "wan",
        &[&["8s", "--cl", "LOCAL_QUORUM", "--ledger"], &fault[..]].concat(),
    );
    assert_eq!(total(&local)["failed"], Value::Null, "{local:#}");
    assert_eq!(local["faults"][0]["made"], true, "{local:#}");

    let each = run(
        &home,
        "wan",
        &[&["8s", "--cl", "EACH_QUORUM", "--ledger"], &fault[..]].concat(),
    );
    let failed = total(&each)["failed"]
        .as_object()
        .expect("failures by kind")
        .clone();
    let known = ["write_timeout", "unavailable", "client_timeout"];
    let of_known: u64 = known
        .iter()
        .filter_map(|kind| failed.get(*kind)?.as_u64())
        .sum();
    let all: u64 = failed.values().filter_map(Value::as_u64).sum();
    assert!(all > 0 && of_known == all, "{failed:?}");

    let seen = home.helenus(&["fault", "wan", "--format", "json"]).ok();
    let seen = seen.json();
    assert_eq!(seen["faults"].as_array().map(Vec::len), Some(0), "{seen}");
    // Healed: reads that need all three data centres work again.
    reads_at_all_work(&home, "wan");
    // After a repair every copy has what was acknowledged at either level.
    for node in ["wan/node1", "wan/node2", "wan/node3"] {
        home.helenus(&["nodetool", node, "repair", "-full", "keyspace1"])
            .ok();
    }
    for run in [&local, &each] {
        let name = run["run"].as_str().expect("a run");
        let (code, said) = check(&home, name);
        let table = &said["tables"][0];
        assert_eq!((code, &table["lost"]), (0, &0.into()), "{said:#}");
        assert!(table["present"].as_u64() > Some(0), "{said:#}");
    }
    home.helenus(&["rm", "wan"]).ok();
}

/// Why this machine has no disks of limited size.
pub(crate) fn no_disks() -> Option<String> {
    let admin = rustix::thread::CapabilitySet::SYS_ADMIN;
    let sets = rustix::thread::capabilities(None);
    let may = sets.is_ok_and(|sets| sets.effective.contains(admin));
    (!may).then(|| "disks of limited size (run as root)".to_owned())
}

/// Whether the node of that number takes connections.
fn listens(home: &Home, number: usize) -> bool {
    let listed = home.helenus(&["list", "--format", "json"]).ok().json();
    let node = &listed["clusters"][0]["nodes"][number - 1];
    let address = node["address"].as_str().expect("an address").to_owned();
    TcpStream::connect(format!("{address}:{}", node["cql_port"])).is_ok()
}

fn counted(counts: &Value) -> u64 {
    let kinds = counts.as_object().into_iter().flat_map(|all| all.values());
    kinds.filter_map(Value::as_u64).sum()
}

pub(crate) fn a_full_disk_ends_one_node_and_no_quorum() {
    let home = Home::new();
    home.helenus(&["up", "full", "-n", "3", "--disk", "160M"])
        .ok();
    let keyspace = "CREATE KEYSPACE keyspace1 WITH replication = {'class': 'SimpleStrategy', \
                    'replication_factor': 3}";
    home.helenus(&["cql", "full", "-e", keyspace]).ok();
    run(&home, "full", &["2s", "--cl", "ALL"]);

    let fault = "at 2s for 4s disk-full node2";
    let report = run(&home, "full", &["8s", "--cl", "QUORUM", "--fault", fault]);
    // What node2 was about to answer when it ended may fail, and nothing after that.
    let (done, failed) = (
        &total(&report)["completed"],
        counted(&total(&report)["failed"]),
    );
    assert!(done.as_u64() > Some(10 * failed), "{report:#}");
    let seen = &report["faults"][0];
    assert_eq!(
        (&seen["words"], &seen["made"]),
        (&fault.into(), &true.into())
    );
    let doubts = report["result"]["phases"][0]["doubts"].to_string();
    assert!(
        doubts.contains(fault) && !doubts.contains("node_died"),
        "{doubts}"
    );
    reads_at_all_work(&home, "full");

    // By hand, until Cassandra notices: what it cannot flush stops its transports, and its process stays; where a write
    // to the commit log comes first, it dies.
    home.helenus(&["fault", "full", "disk-full", "node2"]).ok();
    home.helenus(&["nodetool", "full/node2", "flush"]);
    let begin = Instant::now();
    while listens(&home, 2) {
        assert!(begin.elapsed() < PATIENCE, "node2 bears a full disk");
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(listens(&home, 1) && listens(&home, 3));
    home.helenus(&["heal", "full"]).ok();
    assert!(listens(&home, 2));
    reads_at_all_work(&home, "full");
    home.helenus(&["rm", "full"]).ok();
    let mounts = fs_err::read_to_string("/proc/self/mountinfo").expect("a list of mounts");
    let folder = home.path().display().to_string();
    assert!(!mounts.contains(&folder), "{mounts}");
}
