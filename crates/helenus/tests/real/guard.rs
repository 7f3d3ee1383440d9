//! Three clusters that Helenus did not start, one of them a copy of one of ours, and every verb that writes.
//! Refuses to take a refusal's word for it: schema and rows are compared before and after.

use crate::clusters::{addresses, connect, schema};
use crate::home::{Home, Said};
use helenus_cql::Consistency;
use serde_json::Value;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What is asked of each verb that writes; `HOST` stands for the foreign address, `NAME` for the cluster of ours
/// whose address it may have taken. A new verb that writes is added here.
const WRITING_VERBS: [&[&str]; 7] = [
    &[
        "bench",
        "--hosts",
        "HOST",
        "--rate",
        "100",
        "--duration",
        "1s",
        "--warmup",
        "0s",
    ],
    &[
        "bench",
        "--hosts",
        "HOST",
        "--i-may-write-to",
        "NAME-2",
        "--duration",
        "1s",
    ],
    &[
        "bench",
        "--cluster",
        "NAME",
        "--rate",
        "100",
        "--duration",
        "1s",
        "--warmup",
        "0s",
    ],
    &[
        "cql",
        "NAME",
        "-e",
        "INSERT INTO theirs.t (id, v) VALUES (2, 'ours')",
    ],
    &["reset", "NAME"],
    &["baseline", "save", "NAME", "more"],
    &["baseline", "restore", "NAME", "kept"],
];

/// A Cassandra that was started by hand; ends with this value.
struct Foreign {
    child: Child,
    address: SocketAddr,
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

/// Copies a stopped node byte for byte.
fn copy(from: &Path, to: &Path) {
    let done = Command::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(done.expect("cp").success());
}

/// Starts what lies in `folder`, a copy of the node's folder `of`, without Helenus.
fn start(of: &Path, folder: &Path, change: &[(&str, &str)], address: SocketAddr) -> Foreign {
    let moved = |text: &str| {
        let mut text = text.replace(&*of.to_string_lossy(), &folder.to_string_lossy());
        for (from, to) in change {
            text = text.replace(from, to);
        }
        text
    };
    let yaml = folder.join("conf/cassandra.yaml");
    let text = fs_err::read_to_string(&yaml).expect("a file");
    fs_err::write(&yaml, moved(&text)).expect("a file");
    let launch = fs_err::read_to_string(folder.join("launch.json")).expect("a file");
    let launch: Value = serde_json::from_str(&launch).expect("JSON");
    let words = launch["argv"].as_array().expect("words");
    let words = words
        .iter()
        .map(|word| moved(word.as_str().expect("a word")));
    let child = Command::new(launch["program"].as_str().expect("java"))
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("java");
    let foreign = Foreign { child, address };
    let begin = Instant::now();
    let options = helenus_cql::ConnectOptions::default();
    while helenus_cql::Client::connect(address, &options).is_err() {
        assert!(begin.elapsed() < Duration::from_secs(120), "no answer");
        std::thread::sleep(Duration::from_millis(100));
    }
    foreign
}

fn rows(address: SocketAddr) -> Vec<String> {
    let rows = connect(address)
        .query("SELECT id, v FROM theirs.t", Consistency::One)
        .expect("rows");
    (0..rows.len()).filter_map(|r| rows.text(r, "v")).collect()
}

/// Verbs of baselines start a stopped cluster of ours: right where nobody stands at its address, so not asked there.
fn asked(words: &[&str], name: &str) -> bool {
    words[0] != "baseline" || name == "c"
}

fn said_of_each_verb(
    home: &Home,
    address: SocketAddr,
    name: &str,
) -> Vec<(&'static [&'static str], Said)> {
    let host = address.ip().to_string();
    let run = |words: &&[&str]| {
        let words: Vec<&str> = words
            .iter()
            .map(|word| match *word {
                "HOST" => &host,
                "NAME" => "c",
                other => other,
            })
            .collect();
        home.helenus(&words)
    };
    let verbs = WRITING_VERBS.iter().filter(|words| asked(words, name));
    verbs.map(|words| (*words, run(words))).collect()
}

pub(crate) fn foreign_clusters_refuse_every_writing_verb() {
    let home = Home::new();
    home.helenus(&["up", "c"]).ok();
    let ours = addresses(&home, "c")[0];
    let cql = "CREATE KEYSPACE theirs WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}; \
               CREATE TABLE theirs.t (id int PRIMARY KEY, v text); INSERT INTO theirs.t (id, v) VALUES (1, 'kept')";
    home.helenus(&["cql", "c", "-e", cql]).ok();
    home.helenus(&["guard", "c"]).ok();
    home.helenus(&["baseline", "save", "c", "kept", "--leave-stopped"])
        .ok();
    let node: PathBuf = home.path().join("state/clusters/c/node1");
    let elsewhere = tempfile::tempdir().expect("a folder");
    let own = ours.ip().to_string();
    for (name, last) in [("Production", 241), ("TestCluster", 242), ("c", 0)] {
        let folder = elsewhere.path().join(name);
        copy(&node, &folder);
        // The copy of ours stays as it is, at our address; the others get their own, and a first start of their own.
        let mut address = ours;
        let named = format!("cluster_name: {name}");
        let mut change = vec![("cluster_name: c", named.as_str())];
        let (prefix, _) = own.rsplit_once('.').expect("an address");
        let other = format!("{prefix}.{last}");
        if name != "c" {
            for data in ["data", "commitlog", "saved_caches", "hints"] {
                let _absent = fs_err::remove_dir_all(folder.join(data));
            }
            address.set_ip(other.parse().expect("an address"));
            change.push((&own, &other));
        }
        let foreign = start(&node, &folder, &change, address);
        if name != "c" {
            let mut client = connect(foreign.address);
            for statement in helenus_cql::split_statements(cql) {
                client
                    .query(&statement.text, Consistency::One)
                    .expect("their own data");
            }
        }
        let before = (schema(address), rows(address));
        assert_eq!(before.1, ["kept"], "{name}");
        for (words, said) in said_of_each_verb(&home, address, name) {
            // Where nothing of theirs stands at our address, a verb by our name finds nobody at all.
            let by_name = words.contains(&"NAME");
            let expected = if by_name && name != "c" { 4 } else { 2 };
            assert_eq!(said.code, expected, "{name} {words:?}: {said}");
        }
        let host = address.ip().to_string();
        let guard = home.helenus(&["guard", "--hosts", &host]);
        assert_eq!(guard.code, 1, "{guard}");
        assert_eq!((schema(address), rows(address)), before, "{name}");
    }
    home.helenus(&["rm", "--all", "--with-baselines"]).ok();
}
