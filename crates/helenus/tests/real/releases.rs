//! Older releases of Cassandra: up, status, a short bench, nodetool, rm, each on the JDK that its test names.
//! Refuses to take one release's answers for another's: each says its own version.

use crate::home::{Home, RELEASES};
use serde_json::Value;

/// One node's life; returns the run's result as JSON.
fn life(home: &Home, version: &str, flags: &[&str]) -> Value {
    let mut up = vec!["up", "c"];
    up.extend(flags);
    home.helenus(&up).ok();
    let listed = home.helenus(&["list", "--format", "json"]).ok().json();
    let node = &listed["clusters"][0]["nodes"][0];
    assert_eq!(node["archive_used"], true, "{listed}");
    let cql = "SELECT release_version FROM system.local";
    let said = home.helenus(&["cql", "c", "-e", cql]).ok();
    assert!(said.stdout.contains(version), "{said}");
    let status = home.helenus(&["status", "c"]).ok();
    assert!(status.stdout.contains("\nUN "), "{status}");
    let bench = home.helenus(&[
        "bench",
        "--cluster",
        "c",
        "--phases",
        "write,read",
        "--rate",
        "300",
        "--warmup",
        "1s",
        "--duration",
        "2s",
        "--format",
        "json",
    ]);
    let result = bench.json();
    for (phase, operation) in ["write", "read"].iter().enumerate() {
        let of = &result["result"]["phases"][phase]["operations"][operation];
        assert_eq!(of["offered"], 600, "{version} {operation}");
        assert_eq!(of["completed"], 600, "{version} {operation}");
    }
    result
}

fn carries_jdk_caution(result: &Value) -> bool {
    result.to_string().contains("does not support this JDK")
}

fn on_a_supported_jdk(version: &str) {
    let release = RELEASES.iter().find(|r| r.version == version);
    let flags = release.and_then(|r| r.flags()).expect("looked for before");
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let home = Home::new();
    let result = life(&home, version, &flags);
    assert!(!carries_jdk_caution(&result), "{version} is supported");
    home.clear();
}

/// `up --schema`, reset, baselines on 5.0, and on the older releases on the JDK 17 that runs them with a caution.
pub(crate) fn baseline_rows_come_back_on_every_release(java_home: &str) {
    crate::reset::reset_brings_a_baseline_s_rows_back(&[]);
    for version in ["4.1.10", "4.0.19"] {
        let flags = ["--cassandra", version, "--java-home", java_home];
        crate::reset::reset_brings_a_baseline_s_rows_back(&flags);
    }
}

pub(crate) fn cassandra_4_1_on_11() {
    on_a_supported_jdk("4.1.10");
}

pub(crate) fn cassandra_4_0_on_11() {
    on_a_supported_jdk("4.0.19");
}

pub(crate) fn cassandra_4_0_on_17_with_jamm(java_home: &str) {
    let home = Home::new();
    let result = life(
        &home,
        "4.0.19",
        &["--cassandra", "4.0", "--java-home", java_home],
    );
    assert!(carries_jdk_caution(&result), "17 is not supported");
    let info = home.helenus(&["nodetool", "c", "info"]).ok();
    assert!(
        info.stdout.contains("Native Transport active: true"),
        "{info}"
    );
    let folder = tempfile::tempdir().expect("a temporary folder");
    crate::load::written_as_by_cassandra(&home, folder.path(), &["verify", "-e"]);
    home.clear();
}
