//! MBeans through the agent, and `reset`, on one real tiny node.
//! Refuses to believe that a node is as it was: every claim is looked up in the node itself.

use crate::home::Home;
use helenus_cluster::cancel::Cancel;
use helenus_cluster::env::Env;
use helenus_cluster::lifecycle::Hands;
use helenus_cluster::mbeans::{Ask, Mbeans};
use serde_json::json;
use std::path::PathBuf;

const STORAGE: &str = "org.apache.cassandra.db:type=StorageService";

/// The hands of a test, in the home of the clusters that the binary made.
fn hands(home: &Home) -> Hands {
    let mut env = Env::of_process();
    env.vars.insert("HELENUS_HOME".into(), home.path().into());
    env.vars
        .insert("HELENUS_CACHE".into(), crate::home::cache().into());
    let helenus = PathBuf::from(env!("CARGO_BIN_EXE_helenus"));
    Hands::open(env, helenus, Cancel::default()).expect("the folders of the home")
}

/// The agent lives in 64 MB: it reads, sets, calls, refuses, is used again, ends, and comes back.
pub(crate) fn mbeans_answer_in_a_tiny_node() {
    let home = Home::new();
    home.helenus(&["up", "c"]).ok();
    let hands = hands(&home);
    let state = hands.clusters.load("c").expect("the state");
    let mbeans = Mbeans::of(&hands, &state, "node1").expect("the agent");
    let live = mbeans.read(STORAGE, "LiveNodes").expect("an attribute");
    assert_eq!(live, json!([state.plan.nodes[0].address.to_string()]));
    let throughput = "CompactionThroughputMbPerSec";
    mbeans
        .write(STORAGE, throughput, &json!(7))
        .expect("it can be set");
    let asks = [
        Ask::read(STORAGE, throughput),
        Ask::read(STORAGE, "NoSuchThing"),
        Ask::exec(STORAGE, "getTokens()", &[]),
    ];
    let mut answers = mbeans.bulk(&asks).expect("answers").into_iter();
    assert_eq!(answers.next().unwrap().expect("read back"), 7);
    let refused = answers.next().unwrap().expect_err("no such attribute");
    assert!(refused.to_string().contains("NoSuchThing"), "{refused}");
    assert!(answers.next().unwrap().expect("an operation").is_array());
    // The second one finds the first one's agent.
    let again = Mbeans::of(&hands, &state, "node1").expect("the agent");
    assert_eq!(again.read(STORAGE, throughput).expect("read"), 7);
    let listed = || home.helenus(&["list", "--format", "json"]).ok().json();
    let threads = |v: serde_json::Value| v["clusters"][0]["nodes"][0]["memory"]["threads"].as_u64();
    let with = threads(listed());
    again.stop().expect("it ends");
    assert!(threads(listed()) < with, "its threads are gone");
    mbeans
        .read(STORAGE, throughput)
        .expect_err("nobody listens");
    let back = Mbeans::of(&hands, &state, "node1").expect("the agent");
    assert_eq!(back.read(STORAGE, throughput).expect("read"), 7);
    // Nobody reads the password but its owner, and no process carries it in its words.
    let folder = PathBuf::from(&state.plan.nodes[0].folder).join("jolokia");
    use std::os::unix::fs::PermissionsExt as _;
    for file in ["password", "agent.properties"] {
        let mode = fs_err::metadata(folder.join(file)).expect("the file");
        assert_eq!(mode.permissions().mode() & 0o777, 0o600, "{file}");
    }
    home.helenus(&["pause", "c/1"]).ok();
    let paused = Mbeans::of(&hands, &state, "node1").expect_err("it is paused");
    assert!(paused.to_string().contains("does not answer"), "{paused}");
    home.helenus(&["resume", "c/1"]).ok();
}
