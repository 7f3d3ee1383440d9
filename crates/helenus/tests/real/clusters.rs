//! Clusters of real Cassandra: their life, their sight of each other, their status, their guard.

use crate::home::Home;
use helenus_cql::{Client, ConnectOptions, Consistency};
use serde_json::Value;
use std::net::SocketAddr;

/// Addresses of a cluster's nodes, in order.
pub(crate) fn addresses(home: &Home, name: &str) -> Vec<SocketAddr> {
    let env = home.helenus(&["env", name, "--format", "json"]).ok().json();
    let port = env["port"].as_u64().expect("a port");
    let points = env["contact_points"].as_array().expect("contact points");
    points
        .iter()
        .map(|p| {
            format!("{}:{port}", p.as_str().expect("an address"))
                .parse()
                .expect("an address")
        })
        .collect()
}

pub(crate) fn connect(address: SocketAddr) -> Client {
    Client::connect(address, &ConnectOptions::default()).expect("the node answers")
}

/// Everything below the node's Load, which the node that is asked counts anew.
fn masked(text: &str) -> Vec<String> {
    let units = ["bytes", "KiB", "MiB"];
    text.lines()
        .map(|line| {
            let mut words: Vec<&str> = line.split_whitespace().collect();
            // `UN address 12.3 KiB …` or `UN address ? …`
            if line.starts_with('U') || line.starts_with('D') {
                if words.get(3).is_some_and(|w| units.contains(w)) {
                    words.drain(2..4);
                } else if words.get(2) == Some(&"?") {
                    words.remove(2);
                }
                words.join(" ")
            } else if line.starts_with("--") {
                words.join(" ")
            } else {
                line.to_owned()
            }
        })
        .collect()
}

#[track_caller]
pub(crate) fn same_status(home: &Home, name: &str, keyspace: Option<&str>) {
    let mut ours = vec!["status", name];
    let mut theirs = vec!["nodetool", name, "status"];
    if let Some(keyspace) = keyspace {
        ours.extend(["-k", keyspace]);
        theirs.push(keyspace);
    }
    let theirs = home.helenus(&theirs).ok();
    let ours = home.helenus(&ours).ok();
    assert_eq!(masked(&ours.stdout), masked(&theirs.stdout), "{keyspace:?}");
}

/// Fresh, one RF-1 keyspace, differing keyspaces, and a keyspace named.
fn same_status_in_four_states(home: &Home, name: &str) {
    same_status(home, name, None);
    let create = |keyspace: &str, copies: u32| {
        let cql = format!(
            "CREATE KEYSPACE {keyspace} WITH replication = \
             {{'class': 'SimpleStrategy', 'replication_factor': {copies}}}"
        );
        home.helenus(&["cql", name, "-e", &cql]).ok();
    };
    create("one", 1);
    same_status(home, name, None);
    create("two", 2);
    same_status(home, name, None);
    same_status(home, name, Some("two"));
}

pub(crate) fn one_tiny_node_lives_its_life() {
    // No path of it may need an escape that somebody forgot: URLs, diagnostic commands, agents, logs, YAML.
    let home = Home::odd();
    let up = home.helenus(&["up", "c", "--format", "json"]).ok().json();
    assert_eq!(up["format"], "helenus.ready/1");
    let listed = home.helenus(&["list", "--format", "json"]).ok().json();
    let cluster = &listed["clusters"][0];
    assert_eq!(
        (&cluster["name"], &cluster["state"]),
        (&"c".into(), &"running".into())
    );
    assert_eq!(
        (&cluster["release"], &cluster["preset"]),
        (&"5.0.9".into(), &"tiny".into())
    );
    let node = &cluster["nodes"][0];
    assert!(node["pid"].as_i64().is_some_and(|pid| pid > 1), "{node}");
    assert!(
        node["memory"]["pss_anon_bytes"]
            .as_u64()
            .is_some_and(|b| b > 50 << 20),
        "{node}"
    );
    assert_eq!(
        node["archive_used"], true,
        "the class-data archive is mapped"
    );
    // The kernel shows it of others' processes to those only who may change their priority.
    if let Ok(slack) = fs_err::read_to_string(format!("/proc/{}/timerslack_ns", node["pid"])) {
        assert_eq!(slack.trim(), "500000", "threads wake up late");
    }
    let cql = "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}; \
               CREATE TABLE k.t (id int PRIMARY KEY, v text); INSERT INTO k.t (id, v) VALUES (1, 'kept');";
    home.helenus(&["cql", "c", "-e", cql]).ok();
    same_status(&home, "c", None);
    // Data stays through a stop, and through kill -9 but for its last 100 ms.
    let kept = || {
        let said = home
            .helenus(&["cql", "c", "-e", "SELECT v FROM k.t WHERE id = 1"])
            .ok();
        assert!(said.stdout.contains("kept"), "{said}");
    };
    // Its load is known before its own gossip has it.
    let status = home
        .helenus(&["status", "c", "--format", "json"])
        .ok()
        .json();
    let load = status["nodes"][0]["load_bytes"].as_u64();
    assert!(load.is_some_and(|bytes| bytes > 10_000), "{status}");
    home.helenus(&["stop", "c"]).ok();
    let stopped = home.helenus(&["list", "--format", "json"]).ok().json();
    assert_eq!(stopped["clusters"][0]["state"], "stopped");
    home.helenus(&["start", "c"]).ok();
    kept();
    std::thread::sleep(std::time::Duration::from_secs(1));
    home.helenus(&["kill", "c/1"]).ok();
    home.helenus(&["start", "c"]).ok();
    kept();
    home.helenus(&["pause", "c/1"]).ok();
    let paused = home.helenus(&["list", "--format", "json"]).ok().json();
    assert_eq!(paused["clusters"][0]["nodes"][0]["condition"], "paused");
    home.helenus(&["resume", "c/1"]).ok();
    kept();
    // nodetool twice: the JVM replaces the password in its file by a hash.
    for _ in 0..2 {
        let version = home.helenus(&["nodetool", "c", "version"]).ok();
        assert!(version.stdout.contains("5.0.9"), "{version}");
    }
    let log = home.helenus(&["logs", "c", "--tail", "3"]).ok();
    assert_eq!(log.stdout.lines().count(), 3);
    let wrong = home.helenus(&["cql", "c", "-e", "SELECT nothing FROM k.t"]);
    assert_eq!(wrong.code, 2, "{wrong}");
    assert!(wrong.stderr.contains("nothing"), "{wrong}");
    super::shell::of_one_node(&home);
    // The agent for MBeans is loaded for it.
    home.helenus(&["reset", "c"]).ok();
}

pub(crate) fn three_nodes_see_each_other_at_once() {
    let home = Home::new();
    home.helenus(&["up", "c", "-n", "3"]).ok();
    // At once: a keyspace, and fifty rows at ALL through the first node read at ONE through the third.
    let cql = "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}; \
               CREATE TABLE k.t (id int PRIMARY KEY, v int);";
    home.helenus(&["cql", "c", "-e", cql]).ok();
    let addresses = addresses(&home, "c");
    let (mut first, mut third) = (connect(addresses[0]), connect(addresses[2]));
    for id in 0..50 {
        let write = format!("INSERT INTO k.t (id, v) VALUES ({id}, {})", id * 2);
        first
            .query(&write, Consistency::All)
            .expect("a write at ALL");
        let read = format!("SELECT v FROM k.t WHERE id = {id}");
        let rows = third.query(&read, Consistency::One).expect("a read at ONE");
        assert_eq!(rows.text(0, "v"), Some((id * 2).to_string()));
    }
    let status = home
        .helenus(&["status", "c", "--format", "json"])
        .ok()
        .json();
    let nodes = status["nodes"].as_array().expect("nodes");
    assert!(
        nodes.len() == 3 && nodes.iter().all(|n| n["reach"] == "up"),
        "{status}"
    );
    home.helenus(&["cql", "c", "-e", "DROP KEYSPACE k"]).ok();
    same_status_in_four_states(&home, "c");
    // One node of three stops and starts again beside the others.
    home.helenus(&["stop", "c/2"]).ok();
    let partly = home.helenus(&["list", "--format", "json"]).ok().json();
    assert_eq!(partly["clusters"][0]["state"], "partly");
    home.helenus(&["stop", "c/3"]).ok();
    // Beside a node that is down, and then all together.
    home.helenus(&["start", "c/2", "--ready-within", "60s"])
        .ok();
    home.helenus(&["start", "c", "--ready-within", "60s"]).ok();
    let whole = home.helenus(&["list", "--format", "json"]).ok().json();
    assert_eq!(whole["clusters"][0]["state"], "running");
}

pub(crate) fn status_with_16_tokens_is_nodetool_s() {
    let home = Home::new();
    home.helenus(&["up", "c", "-n", "2", "--tokens", "16"]).ok();
    same_status_in_four_states(&home, "c");
}

pub(crate) fn two_clusters_live_side_by_side() {
    let home = Home::new();
    home.helenus(&["up", "a"]).ok();
    let other = Home::new();
    other.helenus(&["up", "b"]).ok();
    let (a, b) = (addresses(&home, "a")[0], addresses(&other, "b")[0]);
    assert_ne!(a.ip(), b.ip());
    assert_eq!((a.port(), b.port()), (9042, 9042));
    for (address, name) in [(a, "a"), (b, "b")] {
        let rows = connect(address)
            .query("SELECT cluster_name FROM system.local", Consistency::One)
            .expect("an answer");
        assert_eq!(rows.text(0, "cluster_name").as_deref(), Some(name));
    }
    // Neither home can see, still less remove, the other's.
    let all = home
        .helenus(&["rm", "--all", "--format", "json"])
        .ok()
        .json();
    assert_eq!(all["removed"].as_array().map(Vec::len), Some(1));
    connect(b)
        .query("SELECT key FROM system.local", Consistency::One)
        .expect("b lives");
}

pub(crate) fn runs_go_through_nodes_that_only_coordinate() {
    let home = Home::new();
    home.helenus(&["up", "c", "-n", "2", "--coordinators", "1"])
        .ok();
    let run = ["run", "kv", "--cluster", "c", "--phase", "rampup"];
    let load = ["--count", "500", "--rate", "100", "--format", "json"];
    let said = home.helenus(&[&run[..], &load].concat());
    // A busy machine may disqualify the numbers: what counts here is who was asked, and that it answered.
    assert!([0, 5].contains(&said.code), "{said}");
    let report = said.json();
    let total = &report["result"]["phases"][0]["total"];
    assert_eq!(total["completed"], 500, "{report:#}");
    let shown = home.helenus(&["history", "show", "@last", "--format", "json"]);
    let plan = &shown.ok().json()["plan"];
    let gateway = addresses(&home, "c")[2].to_string();
    assert_eq!(plan["endpoints"], serde_json::json!([gateway]), "{plan:#}");
    assert_eq!(plan["endpoints_only"], true);
    home.helenus(&["rm", "c"]).ok();
}

pub(crate) fn foreign_clusters_are_not_written_to() {
    let theirs = Home::new();
    theirs.helenus(&["up", "Production"]).ok();
    let address = addresses(&theirs, "Production")[0];
    let before = schema(address);
    let ours = Home::new();
    let host = address.ip().to_string();
    let bench = |more: &[&str]| {
        let mut words = vec![
            "bench",
            "--hosts",
            &host,
            "--rate",
            "100",
            "--duration",
            "1s",
            "--warmup",
            "0s",
        ];
        words.extend(more);
        ours.helenus(&words)
    };
    let refused = bench(&[]);
    assert_eq!(refused.code, 2, "{refused}");
    assert!(
        refused.stderr.contains("Production") && refused.stderr.contains("datacenter1"),
        "{refused}"
    );
    let misnamed = bench(&["--i-may-write-to", "production"]);
    assert_eq!(misnamed.code, 2, "{misnamed}");
    // Named exactly: allowed to write, but never to make a schema.
    let named = bench(&["--i-may-write-to", "Production"]);
    assert_eq!(named.code, 2, "{named}");
    assert_eq!(schema(address), before);
}

pub(crate) fn schema(address: SocketAddr) -> Vec<String> {
    let rows = connect(address)
        .query(
            "SELECT keyspace_name, table_name FROM system_schema.tables",
            Consistency::One,
        )
        .expect("an answer");
    (0..rows.len())
        .filter_map(|r| {
            Some(format!(
                "{}.{}",
                rows.text(r, "keyspace_name")?,
                rows.text(r, "table_name")?
            ))
        })
        .collect()
}

/// JDKs below 13 write no archive at exit: a class list is dumped instead.
pub(crate) fn jdk_11_serves_with_an_archive(java_home: &str) {
    let home = Home::new();
    home.helenus(&["up", "c", "--java-home", java_home]).ok();
    let listed = home.helenus(&["list", "--format", "json"]).ok().json();
    assert_eq!(
        listed["clusters"][0]["nodes"][0]["archive_used"], true,
        "{listed}"
    );
    let said = home
        .helenus(&["cql", "c", "-e", "SELECT release_version FROM system.local"])
        .ok();
    assert!(said.stdout.contains("5.0.9"), "{said}");
    // The next JDK is another archive's; a wrong one is refused by name and version.
    let wrong = home.helenus(&["up", "d", "--java-home", "/nonexistent"]);
    assert_eq!(wrong.code, 3, "{wrong}");
}

/// For the benches: a number out of a JSON value.
pub(crate) fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("no number: {value}"))
}
