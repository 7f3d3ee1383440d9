//! `prove cluster3`: `helenus up c -n 3` from its start to its end, then at once a keyspace with RF 3 and fifty rows
//! written with ALL through node 1 and read with ONE through node 3. Refuses retries: a failure is counted.

use super::campaign::{Bar, Campaign, Outcome, by_name, rounded};
use super::host::Watch;
use super::rig::{Life, Rig, checked};
use super::start;
use helenus_cql::client::{Client, ClientError, ConnectOptions};
use helenus_cql::codec::Consistency;
use serde_json::Value;
use std::collections::BTreeSet;
use std::error::Error;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

const NAME: &str = "c";

/// How many rows are written and read.
const ROWS: usize = 50;

pub(crate) const CLUSTER3: Campaign = Campaign {
    name: "cluster3",
    about: "three tiny nodes, `helenus up c -n 3` from its start to its end; then writes at ALL, reads at ONE",
    variants: &["helenus"],
    bars: &[
        Bar::median("helenus", "up_s", 8.0),
        Bar::none("helenus", "failures"),
        Bar::median("helenus", "up_s", 5.0).as_aim(),
    ],
    prepare: start::prepare,
    trial: |rig, _| rig.alone(|| up_and_use(rig)),
};

fn up_and_use(rig: &Rig) -> Result<Outcome, Box<dyn Error>> {
    let watch = Watch::begin()?;
    let begin = Instant::now();
    let args = ["up", NAME, "-n", "3", "--format", "json"];
    let output = checked(&args, rig.command(&args).output()?)?;
    let up = begin.elapsed();
    let ready: Value = serde_json::from_slice(&output.stdout)?;
    let mut cpu = 0.0;
    for node in ready["nodes"].as_array().into_iter().flatten() {
        let pid = node["pid"].as_u64().ok_or("a node without a pid")?;
        cpu += Life::of(u32::try_from(pid)?)?.cpu;
    }
    let pressure = watch.end(cpu)?;
    let using = Instant::now();
    let failures = use_it(&ready)?;
    let measures = by_name([
        ("up_s", rounded(up.as_secs_f64())),
        ("cpu_s", (cpu * 100.0).round() / 100.0),
        ("use_s", rounded(using.elapsed().as_secs_f64())),
        ("failures", failures as f64),
    ]);
    Ok(Outcome { measures, pressure })
}

fn client(ready: &Value, node: usize) -> Result<Client, Box<dyn Error>> {
    let node = &ready["nodes"][node];
    let address = node["address"].as_str().ok_or("a node without address")?;
    let port = node["cql_port"].as_u64().ok_or("a node without port")?;
    let address = SocketAddr::new(address.parse()?, u16::try_from(port)?);
    Ok(Client::connect(address, &ConnectOptions::default())?)
}

/// Number of statements that failed, or did not read what was written.
fn use_it(ready: &Value) -> Result<usize, Box<dyn Error>> {
    let (mut first, mut third) = (client(ready, 0)?, client(ready, 2)?);
    let schema = [
        "CREATE KEYSPACE prove WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 3}",
        "CREATE TABLE prove.t (k int PRIMARY KEY, v text)",
    ];
    for statement in schema {
        first.query(statement, Consistency::One)?;
        agree(&mut first)?;
    }
    let mut failures = 0;
    for row in 0..ROWS {
        let write = format!("INSERT INTO prove.t (k, v) VALUES ({row}, 'row {row}')");
        if first.query(&write, Consistency::All).is_err() {
            failures += 1;
        }
        let read = format!("SELECT v FROM prove.t WHERE k = {row}");
        match third.query(&read, Consistency::One) {
            Ok(rows) if rows.text(0, "v") == Some(format!("row {row}")) => {}
            _ => failures += 1,
        }
    }
    Ok(failures)
}

/// What every driver does after a schema change: waits until the coordinator knows of one version only.
fn agree(client: &mut Client) -> Result<(), Box<dyn Error>> {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(10) {
        if versions(client)?.len() == 1 {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err("no agreement on the schema within 10 s".into())
}

fn versions(client: &mut Client) -> Result<BTreeSet<String>, ClientError> {
    let mut versions = BTreeSet::new();
    for table in ["local", "peers_v2"] {
        let cql = format!("SELECT schema_version FROM system.{table}");
        let rows = client.query(&cql, Consistency::One)?;
        versions.extend((0..rows.len()).filter_map(|row| rows.text(row, "schema_version")));
    }
    Ok(versions)
}
