//! Many clusters of real Cassandra: each with its own data, none seen by another, all measured by kind.
//! Refuses to say how fast or how small: that is proved elsewhere.

use crate::home::Home;

pub(crate) fn three_of_a_prefix_live_apart() {
    let home = Home::new();
    let up = home
        .helenus(&["up", "--count", "3", "--prefix", "dev", "--format", "json"])
        .ok()
        .json();
    assert_eq!(up["format"], "helenus.ready-list/1");
    assert_eq!(up["ready"], 3, "{up}");
    let cql = "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}; \
               CREATE TABLE k.t (id int PRIMARY KEY, v text); INSERT INTO k.t (id, v) VALUES (1, 'of dev1');";
    home.helenus(&["cql", "dev1", "-e", cql]).ok();
    // Nobody sees another's tables or nodes.
    let other = home.helenus(&["cql", "dev2", "-e", "SELECT v FROM k.t"]);
    assert_ne!(other.code, 0, "{other}");
    let peers = "SELECT count(*) FROM system.peers_v2";
    for name in ["dev1", "dev2", "dev3"] {
        let said = home.helenus(&["cql", name, "-e", peers]).ok();
        assert!(said.stdout.lines().any(|line| line.trim() == "0"), "{said}");
    }
    each_is_measured_by_kind(&home);
    // One goes, the others stay, with their data.
    home.helenus(&["kill", "dev2/node1"]).ok();
    home.helenus(&["rm", "dev2"]).ok();
    let kept = home
        .helenus(&["cql", "dev1", "-e", "SELECT v FROM k.t"])
        .ok();
    assert!(kept.stdout.contains("of dev1"), "{kept}");
    home.helenus(&["rm", "--prefix", "dev"]).ok();
    home.clear();
}

/// The kinds that a JVM cannot do without are found, and add up to what the kernel says.
fn each_is_measured_by_kind(home: &Home) {
    let listed = home.helenus(&["list", "--format", "json"]).ok().json();
    for cluster in listed["clusters"].as_array().expect("clusters") {
        let node = &cluster["nodes"][0];
        let kinds = &node["memory_by_kind"];
        let bytes = |kind: &str| kinds[kind].as_u64().expect("bytes");
        for kind in ["heap", "metaspace", "code", "threads", "native", "files"] {
            assert!(bytes(kind) > 1 << 20, "{kind} in {kinds}");
        }
        let heap = cluster["heap_bytes"].as_u64().expect("a heap");
        assert!(bytes("heap") <= heap, "{kinds}");
        assert!(
            cluster["planned"]["bound"].as_u64() > Some(heap),
            "{cluster}"
        );
        let parts = ["heap", "metaspace", "code", "threads", "archive", "native"];
        let sum: u64 = parts.iter().map(|kind| bytes(kind)).sum();
        let whole = node["memory"]["pss_anon_bytes"].as_u64().expect("bytes");
        // Read one after the other, from a process that goes on.
        assert!(sum.abs_diff(whole) < whole / 4, "{sum} of {whole}");
    }
}
