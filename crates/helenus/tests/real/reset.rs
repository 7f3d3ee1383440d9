//! MBeans through the agent, and `reset`, on one real tiny node.
//! Refuses to believe that a node is as it was: every claim is looked up in the node itself.

use crate::home::Home;
use helenus_cluster::cancel::Cancel;
use helenus_cluster::context::Context;
use helenus_cluster::env::Env;
use helenus_cluster::mbeans::{Ask, Mbeans};
use serde_json::json;
use std::path::PathBuf;

const STORAGE: &str = "org.apache.cassandra.db:type=StorageService";

/// What a test works with, in the home of the clusters that the binary made.
pub(crate) fn context(home: &Home) -> Context {
    let mut env = Env::of_process();
    env.vars.insert("HELENUS_HOME".into(), home.path().into());
    env.vars
        .insert("HELENUS_CACHE".into(), crate::home::cache().into());
    let helenus = PathBuf::from(env!("CARGO_BIN_EXE_helenus"));
    env.leash = Some(helenus.clone());
    Context::open(env, helenus, Cancel::default()).expect("the folders of the home")
}

/// The agent lives in 64 MB: it reads, sets, calls, refuses, is used again, ends, and comes back.
pub(crate) fn mbeans_answer_in_a_tiny_node() {
    let home = Home::new();
    home.helenus(&["up", "c"]).ok();
    let context = context(&home);
    let state = context.clusters.load("c").expect("the state");
    let mbeans = Mbeans::of(&context, &state, "node1").expect("the agent");
    let live = mbeans.read(STORAGE, "LiveNodes").expect("an attribute");
    assert_eq!(live, json!([state.plan.nodes[0].address.to_string()]));
    let throughput = "CompactionThroughputMbPerSec";
    mbeans
        .write(STORAGE, throughput, &json!(7))
        .expect("it can be set");
    let asks = [
        Ask::read(STORAGE, throughput),
        Ask::read(STORAGE, "NoSuchThing"),
        Ask::exec(
            STORAGE,
            "getNaturalEndpoints(java.lang.String,java.lang.String,java.lang.String)",
            &[
                json!("system_traces"),
                json!("events"),
                json!("00000000-0000-1000-8080-808080808080"),
            ],
        ),
    ];
    let mut answers = mbeans.bulk(&asks).expect("answers").into_iter();
    assert_eq!(answers.next().unwrap().expect("read back"), 7);
    let refused = answers.next().unwrap().expect_err("no such attribute");
    assert!(refused.to_string().contains("NoSuchThing"), "{refused}");
    assert!(answers.next().unwrap().expect("an operation").is_array());
    let hints = "org.apache.cassandra.hints:type=HintsService";
    mbeans
        .exec(hints, "deleteAllHints", &[])
        .expect("what a reset asks where hints lie");
    // The second one finds the first one's agent.
    let again = Mbeans::of(&context, &state, "node1").expect("the agent");
    assert_eq!(again.read(STORAGE, throughput).expect("read"), 7);
    let listed = || home.helenus(&["list", "--format", "json"]).ok().json();
    let threads = |v: serde_json::Value| v["clusters"][0]["nodes"][0]["memory"]["threads"].as_u64();
    let with = threads(listed());
    again.stop().expect("it ends");
    // They end a moment after the agent's answer.
    let begin = std::time::Instant::now();
    while threads(listed()) >= with {
        assert!(begin.elapsed().as_secs() < 60, "its threads stay");
    }
    mbeans
        .read(STORAGE, throughput)
        .expect_err("nobody listens");
    let back = Mbeans::of(&context, &state, "node1").expect("the agent");
    assert_eq!(back.read(STORAGE, throughput).expect("read"), 7);
    // Nobody reads the password but its owner, and no process carries it in its words.
    let folder = PathBuf::from(&state.plan.nodes[0].folder).join("jolokia");
    use std::os::unix::fs::PermissionsExt as _;
    for file in ["password", "agent.properties"] {
        let mode = fs_err::metadata(folder.join(file)).expect("the file");
        assert_eq!(mode.permissions().mode() & 0o777, 0o600, "{file}");
    }
    home.helenus(&["pause", "c/1"]).ok();
    let paused = Mbeans::of(&context, &state, "node1").expect_err("it is paused");
    assert!(paused.to_string().contains("does not answer"), "{paused}");
    home.helenus(&["resume", "c/1"]).ok();
}

/// One statement, its rows as JSON.
fn cql(home: &Home, statement: &str) -> serde_json::Value {
    let said = home.helenus(&["cql", "c", "-e", statement, "--format", "json"]);
    said.ok().json()["results"][0]["rows"].clone()
}

fn reset(home: &Home) -> serde_json::Value {
    home.helenus(&["reset", "c", "--format", "json"])
        .ok()
        .json()
}

const SCHEMA: &str = "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}; \
    CREATE TYPE k.u (a int); \
    CREATE TABLE k.t (id int PRIMARY KEY, v text); \
    CREATE TABLE k.\"Odd\" (id int PRIMARY KEY, n counter); \
    CREATE INDEX by_v ON k.t (v);";

/// A cluster with a recorded schema of one keyspace, and a connection that stays open.
fn recorded(home: &Home) -> (Context, helenus_cql::Client) {
    home.helenus(&["up", "c"]).ok();
    let context = context(home);
    // Without a record, the state after `up` has no schema at all.
    home.helenus(&["cql", "c", "-e", SCHEMA]).ok();
    let back = reset(home);
    assert_eq!(back["changes"], json!(["drop keyspace k"]));
    home.helenus(&["cql", "c", "-e", SCHEMA]).ok();
    let state = context.clusters.load("c").expect("the state");
    helenus_cluster::origin::record(&context, &state, None).expect("the record");
    let address = helenus_cluster::reach::cql_address(&state.plan, &state.plan.nodes[0]);
    let client = helenus_cql::Client::connect(address, &helenus_cql::ConnectOptions::default());
    (context, client.expect("a connection"))
}

/// Schema, rows, snapshots: all is as recorded, statements that were prepared go on, and nothing written after is lost.
pub(crate) fn reset_gives_back_the_state_after_up() {
    use helenus_cql::Consistency::One;
    let home = Home::new();
    let (context, mut client) = recorded(&home);
    let first = reset(&home);
    assert_eq!(first["format"], "helenus.reset/1");
    assert_eq!(first["truncated"], json!(["k.\"Odd\"", "k.t"]));
    // Nothing happened since: nothing is to be done.
    let idle = reset(&home);
    assert_eq!(idle["truncated"], json!([]), "{idle}");
    assert_eq!(
        (&idle["untouched"], &idle["changes"]),
        (&json!(2), &json!([]))
    );

    let insert = client
        .prepare("INSERT INTO k.t (id, v) VALUES (1, 'old')")
        .expect("prepared");
    client.execute(&insert, &[], One).expect("written");
    // From the future, and deleted in the future: neither may shadow what is written after the reset.
    client
        .query(
            "INSERT INTO k.t (id, v) VALUES (2, 'old') USING TIMESTAMP 9000000000000000",
            One,
        )
        .expect("written");
    client
        .query(
            "DELETE FROM k.t USING TIMESTAMP 9000000000000000 WHERE id = 3",
            One,
        )
        .expect("deleted");
    client
        .query("UPDATE k.\"Odd\" SET n = n + 5 WHERE id = 1", One)
        .expect("counted");
    home.helenus(&["nodetool", "c", "snapshot", "-t", "tag", "k"])
        .ok();
    let foreign = "ALTER TABLE k.t WITH comment = 'changed'; CREATE TYPE k.mine (x int); \
        CREATE TABLE k.mine (id int PRIMARY KEY, m frozen<mine>); \
        CREATE KEYSPACE \"Mine\" WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}; \
        CREATE TABLE \"Mine\".t (id int PRIMARY KEY); DROP INDEX k.by_v;";
    home.helenus(&["cql", "c", "-e", foreign]).ok();
    home.helenus(&["nodetool", "c", "setcompactionthroughput", "7"])
        .ok();
    home.helenus(&[
        "nodetool",
        "c",
        "setlogginglevel",
        "org.apache.cassandra.db",
        "WARN",
    ])
    .ok();
    let dry = home.helenus(&["reset", "c", "--dry-run"]).ok();
    assert!(dry.stdout.contains("drop keyspace \"Mine\"\n"), "{dry}");
    assert!(dry.stdout.contains("note: k.t is created again"), "{dry}");
    assert_eq!(
        cql(&home, "SELECT id FROM k.t").as_array().map(Vec::len),
        Some(2)
    );

    let done = reset(&home);
    assert_eq!(done["remade"], json!(["k.t"]), "{done}");
    assert_eq!(done["truncated"], json!(["k.\"Odd\""]), "{done}");
    assert_eq!(done["settings"].as_array().map(Vec::len), Some(2), "{done}");
    let throughput = home
        .helenus(&["nodetool", "c", "getcompactionthroughput"])
        .ok();
    assert!(!throughput.stdout.contains(" 7 "), "{throughput}");
    let again = home
        .helenus(&["reset", "c", "--dry-run", "--format", "json"])
        .ok()
        .json();
    assert_eq!(again["changes"], json!([]), "{again}");
    assert_eq!(again["snapshots"], json!([]), "{again}");
    assert_eq!(again["settings"], json!([]), "{again}");
    for table in ["k.t", "k.\"Odd\""] {
        assert_eq!(
            cql(&home, &format!("SELECT id FROM {table}")),
            json!([]),
            "{table}"
        );
    }
    client
        .query(
            "INSERT INTO k.t (id, v) VALUES (3, 'new') USING TIMESTAMP 1",
            One,
        )
        .expect("written");
    let rows = client
        .query("SELECT v FROM k.t WHERE v = 'new'", One)
        .expect("by the index");
    assert_eq!(rows.len(), 1);
    client
        .query("UPDATE k.\"Odd\" SET n = n + 1 WHERE id = 1", One)
        .expect("counted");
    let counted = client
        .query("SELECT n FROM k.\"Odd\" WHERE id = 1", One)
        .expect("read");
    assert_eq!(counted.text(0, "n").as_deref(), Some("1"));
    drop(context);
    home.helenus(&["pause", "c/1"]).ok();
    let paused = home.helenus(&["reset", "c"]);
    assert_eq!(paused.code, 4, "{paused}");
    assert!(
        paused
            .stderr
            .contains("c/node1 is paused; nothing was changed"),
        "{paused}"
    );
    home.helenus(&["resume", "c/1"]).ok();
}

/// Plain and conditional writes straight after a reset, prepared once before the first, all stay; what was before does not.
pub(crate) fn nothing_written_after_reset_is_lost() {
    use helenus_cql::Consistency::One;
    let home = Home::new();
    let (context, mut client) = recorded(&home);
    let plain = client
        .prepare("INSERT INTO k.t (id, v) VALUES (1, 'new')")
        .expect("prepared");
    let conditional = "INSERT INTO k.t (id, v) VALUES (2, 'new') IF NOT EXISTS";
    let conditional = client.prepare(conditional).expect("prepared");
    let read = client.prepare("SELECT id, v FROM k.t").expect("prepared");
    for round in 0..ROUNDS {
        client
            .query("INSERT INTO k.t (id, v) VALUES (3, 'old')", One)
            .expect("written");
        let report = helenus_cluster::reset::reset(&context, "c", false).expect("a reset");
        assert!(report.truncated.contains(&"k.t".to_owned()), "{report:?}");
        client.execute(&conditional, &[], One).expect("written");
        client.execute(&plain, &[], One).expect("written");
        let rows = client.execute(&read, &[], One).expect("read");
        let mut ids: Vec<_> = (0..rows.len()).filter_map(|r| rows.text(r, "id")).collect();
        ids.sort();
        assert_eq!(ids, ["1", "2"], "round {round}");
    }
}

/// Resets, each with a write straight after.
const ROUNDS: usize = 200;

/// SSTables that were linked aside come back into the running node, more than once.
pub(crate) fn stored_sstables_come_back_without_a_restart() {
    let home = Home::new();
    let (context, _client) = recorded(&home);
    let state = context.clusters.load("c").expect("the state");
    home.helenus(&[
        "cql",
        "c",
        "-e",
        "INSERT INTO k.t (id, v) VALUES (1, 'kept')",
    ])
    .ok();
    let mbeans = Mbeans::of(&context, &state, "node1").expect("the agent");
    let flush = "forceKeyspaceFlush(java.lang.String,[Ljava.lang.String;)";
    mbeans
        .exec(STORAGE, flush, &[json!("k"), json!(["t"])])
        .expect("flushed");
    let data = PathBuf::from(&state.plan.nodes[0].folder).join("data/k");
    let table = fs_err::read_dir(&data)
        .expect("the data")
        .filter_map(Result::ok)
        .map(|e| e.path());
    let table = table
        .filter(|p| p.to_string_lossy().contains("/t-"))
        .find(|p| {
            let mut files = fs_err::read_dir(p).expect("files").filter_map(Result::ok);
            files.any(|f| f.file_name().to_string_lossy().ends_with("-Data.db"))
        });
    let stored = home.path().join("stored");
    fs_err::create_dir(&stored).expect("a folder");
    for file in fs_err::read_dir(table.expect("SSTables"))
        .expect("files")
        .filter_map(Result::ok)
    {
        if file.path().is_file() {
            fs_err::copy(file.path(), stored.join(file.file_name())).expect("copied");
        }
    }
    for _ in 0..2 {
        let report = reset(&home);
        assert!(report["truncated"].to_string().contains("k.t"), "{report}");
        assert_eq!(cql(&home, "SELECT v FROM k.t"), json!([]));
        helenus_cluster::reset::refill(&context, &state, "node1", &stored, "k", "t")
            .expect("a refill");
        assert_eq!(
            cql(&home, "SELECT v FROM k.t WHERE id = 1")
                .as_array()
                .map(Vec::len),
            Some(1)
        );
    }
}

/// Rows of the cluster as JSON, sorted.
fn rows_of(home: &Home, statement: &str) -> Vec<String> {
    let rows = cql(home, statement);
    let mut rows: Vec<String> = rows
        .as_array()
        .expect("rows")
        .iter()
        .map(ToString::to_string)
        .collect();
    rows.sort();
    rows
}

/// `up` with a schema, a baseline with rows: whatever is written then, a reset brings back the baseline's rows and no
/// others; what was not touched since is left alone. On the given release.
pub(crate) fn reset_brings_a_baseline_s_rows_back(flags: &[&str]) {
    let home = Home::new();
    let schema = home.path().join("app.cql");
    let text = "CREATE KEYSPACE k WITH replication = {'class': 'NetworkTopologyStrategy', 'ams': 3};\n\
        CREATE TABLE k.t (id int PRIMARY KEY, v text);\n\
        CREATE INDEX by_v ON k.t (v);\n\
        CREATE TABLE k.empty (id int PRIMARY KEY);\n";
    fs_err::write(&schema, text).expect("a file");
    let path = schema.to_string_lossy().into_owned();
    let up = home
        .helenus(&[&["up", "c", "--schema", &path], flags].concat())
        .ok();
    assert!(up.stderr.contains("app.cql:1: replication"), "{up}");
    cql(&home, "INSERT INTO k.empty (id) VALUES (1)");
    let after_up = reset(&home);
    assert_eq!(after_up["changes"], json!([]), "{after_up}");
    assert_eq!(cql(&home, "SELECT id FROM k.empty"), json!([]));

    for id in 0..20 {
        cql(
            &home,
            &format!("INSERT INTO k.t (id, v) VALUES ({id}, 'kept')"),
        );
    }
    let all = "SELECT id, v FROM k.t";
    let saved = rows_of(&home, all);
    assert_eq!(saved.len(), 20);
    home.helenus(&["baseline", "save", "c", "one"]).ok();
    cql(&home, "UPDATE k.t SET v = 'changed' WHERE id = 1");
    cql(
        &home,
        "DELETE FROM k.t USING TIMESTAMP 9000000000000000 WHERE id = 2",
    );
    cql(&home, "INSERT INTO k.t (id, v) VALUES (99, 'later')");
    cql(&home, "INSERT INTO k.empty (id) VALUES (1)");
    cql(&home, "CREATE TABLE k.later (id int PRIMARY KEY)");
    let report = reset(&home);
    assert_eq!(report["baseline"], "one", "{report}");
    assert_eq!(report["refilled"], json!(["k.t"]), "{report}");
    assert_eq!(report["changes"], json!(["drop table k.later"]), "{report}");
    assert_eq!(rows_of(&home, all), saved);
    assert_eq!(cql(&home, "SELECT id FROM k.empty"), json!([]));
    let indexed = cql(&home, "SELECT id FROM k.t WHERE v = 'kept'");
    assert_eq!(indexed.as_array().map(Vec::len), Some(20), "{indexed}");
    // Nobody wrote: the rows are those of the baseline, and stay where they are.
    let idle = reset(&home);
    assert_eq!(idle["refilled"], json!([]), "{idle}");
    // Emptied without a write: its files show it.
    cql(&home, "TRUNCATE k.t");
    let report = reset(&home);
    assert_eq!(report["refilled"], json!(["k.t"]), "{report}");
    assert_eq!(rows_of(&home, all), saved);
    // What was imported survives the process, and the next reset knows no counts of it.
    home.helenus(&["baseline", "restore", "c", "one"]).ok();
    assert_eq!(rows_of(&home, all), saved);
    let report = reset(&home);
    assert_eq!(report["refilled"], json!(["k.t"]), "{report}");
    assert_eq!(rows_of(&home, all), saved);
    home.helenus(&["baseline", "verify", "c", "one"]).ok();
    home.helenus(&["baseline", "rm", "c", "one"]).ok();
    let gone = home.helenus(&["reset", "c"]);
    assert_eq!(gone.code, 2, "{gone}");
    assert!(
        gone.stderr.contains("its baseline one, which is gone"),
        "{gone}"
    );
}
