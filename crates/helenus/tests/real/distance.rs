//! Real Cassandra with distance between its data centres: what each level waits for, and a data centre cut off.
//! Refuses to say how exact the delay is: a write that waits for the other side takes at least its round trip.

use crate::clusters::number;
use crate::home::Home;
use helenus_cluster::error::Problem as _;
use helenus_cluster::net::client::{Dialer, try_out};
use helenus_cql::{Client, ConnectOptions, Consistency};
use helenus_model::network::NetworkPlan;
use helenus_model::topology::wan::Wan;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const FILE: &str = r#"
rtt = "60ms"
[[data_center]]
name = "near"
nodes = 1
coordinators = 1
[[data_center]]
name = "far"
nodes = 1
set = { concurrent_reads = 4 }
"#;

/// Longest wait for a write that must succeed in the end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why no network can be made here, with the cure.
pub(crate) fn lacking() -> Option<String> {
    let error = try_out(Path::new(env!("CARGO_BIN_EXE_helenus")), Wan::Queue).err()?;
    let cure = error.hint().unwrap_or_default();
    Some(format!("real Cassandra with distance: {error} ({cure})"))
}

/// A connection to a node, through the keeper and without distance.
fn connect(folder: &Path, node: usize) -> Client {
    let state = fs_err::read_to_string(folder.join("cluster.json")).expect("the state");
    let state: serde_json::Value = serde_json::from_str(&state).expect("JSON");
    let network = state["plan"]["network"].clone();
    let network: NetworkPlan = serde_json::from_value(network).expect("a network");
    let address = SocketAddr::from((network.spaces[node].address, 9042));
    let options = ConnectOptions {
        dialer: Some(Arc::new(Dialer::new(folder, &network))),
        timeout: Duration::from_secs(20),
        ..ConnectOptions::default()
    };
    Client::connect(address, &options).expect("the node answers")
}

fn took(client: &mut Client, level: Consistency, key: i32) -> Option<Duration> {
    let begin = Instant::now();
    let cql = format!("INSERT INTO k.t (a) VALUES ({key})");
    client.query(&cql, level).ok().map(|_| begin.elapsed())
}

pub(crate) fn a_run_carries_the_emulator_s_error() {
    let home = Home::new();
    let up = "up wan -n 1:1:1 --rtt 10ms";
    home.helenus(&up.split(' ').collect::<Vec<_>>()).ok();
    let words = "bench --cluster wan --phases write --cl ALL --client-dc DC2 --rate 150 --duration 6s --warmup 1s \
                 --format json";
    let said = home.helenus(&words.split_whitespace().collect::<Vec<_>>());
    let report = said.json();
    assert_eq!(report["cluster"]["client_in"], "DC2", "{report}");
    let phase = &report["result"]["phases"][0];
    // A row at ALL is in three data centres, whichever node coordinates.
    let quickest = number(&phase["total"]["service"]["min_us"]);
    assert!(quickest >= 10_000.0, "{phase}");
    let emulator = &phase["around"]["emulator"];
    assert!(number(&emulator["packets"]) > 1_000.0, "{emulator}");
    assert!(number(&emulator["cpu_us"]) > 0.0, "{emulator}");
    assert_eq!(emulator["round_trip_us"], 10_000, "{emulator}");
    let late = number(&emulator["late_p99_us"]);
    let doubts = phase["doubts"].as_array().expect("doubts");
    let off = doubts.iter().any(|doubt| doubt["kind"] == "distance_off");
    // How late they are is the host's; that it is reported is not.
    assert_eq!(off, late > 500.0, "{phase}");
    a_client_stands_where_it_is_placed(&home);
    home.helenus(&["rm", "wan"]).ok();
}

/// Half a second from everybody else, a client's own data centre is near.
fn a_client_stands_where_it_is_placed(home: &Home) {
    home.helenus(&["link", "wan", "--rtt", "500ms"]).ok();
    let words = "bench --cluster wan --phases write --cl LOCAL_QUORUM --client-dc DC3 --rate 20 --duration 3s --warmup 0s --tag near";
    let said = home.helenus(&words.split(' ').collect::<Vec<_>>());
    assert!(said.code == 0 || said.code == 5, "{said}");
    assert!(said.stdout.contains("), client in DC3, "), "{said}");
    assert!(said.stdout.contains("\ndistance  packets  "), "{said}");
    let run = home
        .helenus(&["history", "show", "near", "--format", "json"])
        .ok();
    let run = run.json();
    let phase = &run["result"]["phases"][0];
    let quickest = number(&phase["total"]["service"]["min_us"]);
    assert!(quickest < 500_000.0, "{phase}");
    // Every data centre has copies of its own.
    assert!(phase["total"]["failed"].is_null(), "{phase}");
    assert_eq!(phase["around"]["emulator"]["round_trip_us"], 500_000);
}

pub(crate) fn the_walk_of_three_data_centres_goes_to_its_end() {
    let home = Home::new();
    let small = [
        ("NODES", "1:1:1"),
        ("COPIES", "1"),
        ("RTT", "10ms"),
        ("OPERATIONS", "200"),
        ("THREADS", "4"),
    ];
    let said = home.script("multi-dc-walk.sh", &small).ok();
    for row in ["record 1", "record 2", "record 3", "Datacenter: DC3"] {
        assert!(said.stdout.contains(row), "{row} in {said}");
    }
    let (_, table) = said.stdout.split_once("## Side by side").expect("a table");
    let rows: Vec<&str> = table.lines().filter(|l| l.contains("QUORUM")).collect();
    assert_eq!(rows.len(), 6, "{table}");
    for row in rows {
        let figures = row.split('|').skip(2).map(str::trim);
        let figures = figures.filter(|f| f.parse::<f64>().is_ok());
        assert_eq!(figures.count(), 10, "{row}");
    }
}

pub(crate) fn levels_wait_for_the_other_side_and_a_cut_is_felt() {
    let home = Home::new();
    let file = home.path().join("wan.toml");
    fs_err::write(&file, FILE).expect("a file");
    let file = file.to_string_lossy().into_owned();
    home.helenus(&["up", "wan", "--topology", &file]).ok();
    let folder = home.path().join("state/clusters/wan");
    let mut near = connect(&folder, 0);
    let schema = [
        "CREATE KEYSPACE k WITH replication = {'class': 'NetworkTopologyStrategy', 'near': 1, 'far': 1}",
        "CREATE TABLE k.t (a int PRIMARY KEY)",
    ];
    for statement in schema {
        near.query(statement, Consistency::One).expect(statement);
    }
    let round_trip = Duration::from_millis(60);
    // The other side hears of the table a moment later, and a busy machine lets the first writes time out.
    let begin = Instant::now();
    let each = loop {
        if let Some(each) = took(&mut near, Consistency::EachQuorum, 1) {
            break each;
        }
        assert!(begin.elapsed() < PATIENCE, "no write at EACH_QUORUM");
        std::thread::sleep(Duration::from_millis(100));
    };
    assert!(each >= round_trip, "EACH_QUORUM after {each:?}");
    // Of many local ones the quickest does not wait for the other side, however busy this machine is.
    let local = (2..40).filter_map(|key| took(&mut near, Consistency::LocalQuorum, key));
    let quickest = local.min().expect("writes");
    assert!(quickest < round_trip, "LOCAL_QUORUM after {quickest:?}");
    // A node that owns nothing coordinates, too; it reads from the node beside it.
    let mut coordinator = connect(&folder, 1);
    let rows = loop {
        match coordinator.query("SELECT a FROM k.t WHERE a = 1", Consistency::LocalQuorum) {
            Ok(rows) => break rows,
            // It, too, hears of the table a moment later.
            Err(error) => assert!(begin.elapsed() < PATIENCE, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    assert_eq!(rows.len(), 1);
    let yaml = folder.join("node3/conf/cassandra.yaml");
    let yaml = fs_err::read_to_string(yaml).expect("cassandra.yaml");
    assert!(yaml.contains("concurrent_reads: 4\n"));
    // nodetool, in the cluster's own network, lists the same nodes.
    let theirs = home.helenus(&["nodetool", "wan/node3", "status"]).ok();
    let ours = home.helenus(&["status", "wan"]).ok();
    for address in ["1.1", "2.1"] {
        assert!(theirs.stdout.contains(address) && ours.stdout.contains(address));
    }
    assert!(ours.stdout.contains("round trip"), "{}", ours.stdout);
    home.helenus(&["link", "wan", "near:far", "--cut"]).ok();
    // A busy machine may let one time out.
    let any = (50..55).any(|key| took(&mut near, Consistency::LocalQuorum, key).is_some());
    assert!(any, "no write at LOCAL_QUORUM");
    assert!(took(&mut near, Consistency::EachQuorum, 55).is_none());
    home.helenus(&["link", "wan", "near:far", "--join"]).ok();
    home.helenus(&["rm", "wan"]).ok();
    assert!(!folder.exists());
}
