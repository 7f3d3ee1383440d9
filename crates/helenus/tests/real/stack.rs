//! A stack of one node with all parts for real: up, a part killed, a backup that comes back with its schema, gone.
//! Refuses to wait for a repair: one node with data has nothing to compare.

use crate::home::Home;
use serde_json::Value;
use std::process::Command;

/// What this machine lacks, with its cure.
pub(crate) fn lacking() -> Option<String> {
    let has = |program: &str, words: &[&str]| {
        let output = Command::new(program).args(words).output();
        output.is_ok_and(|o| o.status.success())
    };
    if !has("prometheus", &["--version"]) {
        return Some("a stack with Prometheus (apt install prometheus)".to_owned());
    }
    let python = has("python3", &["-c", "import venv, ensurepip"]);
    (!python).then(|| "a stack with Medusa (apt install python3-venv)".to_owned())
}

fn part<'a>(status: &'a Value, name: &str) -> &'a Value {
    let parts = status["parts"].as_array().expect("parts");
    let found = parts.iter().find(|part| part["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {status}"))
}

pub(crate) fn a_stack_saves_and_restores_and_starts_what_is_dead() {
    let home = Home::new();
    let json = |words: &[&str]| home.helenus(&[words, &["--format", "json"]].concat());
    let up = json(&["stack", "up", "--heap", "256M", "--gateway-heap", "128M"]);
    let up = up.ok().json();
    assert_eq!(up["well"], true, "{up}");
    for name in ["node1", "node2", "metrics", "prometheus", "reaper"] {
        assert!(part(&up, name)["memory_bytes"].as_u64() > Some(0), "{up}");
    }
    let pid = part(&up, "reaper")["pid"].as_i64().expect("a process");
    let pid = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    rustix::process::kill_process(pid.expect("a process"), rustix::process::Signal::KILL)
        .expect("it lives");
    let cql = |statements: &str| home.helenus(&["cql", "stack", "-e", statements]).ok();
    cql(
        "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}; \
         CREATE TABLE ks.t (k int PRIMARY KEY, v text); INSERT INTO ks.t (k, v) VALUES (1, 'a')",
    );
    let status = json(&["stack", "status"]);
    assert_eq!(status.code, 1, "{status}");
    assert_eq!(part(&status.json(), "reaper")["state"], "down");
    json(&["stack", "backup", "--name", "before"]).ok();
    cql("DROP TABLE ks.t");
    assert_eq!(json(&["stack", "verify", "before"]).code, 1);
    // It starts all nodes, and with them the part that is dead.
    let restored = json(&["stack", "restore", "before"]).ok().json();
    assert_eq!(restored["equal"], true, "{restored}");
    assert_eq!(json(&["stack", "status"]).ok().json()["well"], true);
    let nothing = json(&["stack", "repair"]);
    assert_eq!(nothing.code, 2, "{nothing}");
    home.helenus(&["stack", "rm"]).ok();
}
