//! `prove reset`: how long `helenus reset` takes, the whole process, on five keyspaces of two tables each into which
//! 100,000 rows were written. Refuses a reset after which a row of before is seen, or a row written after it is not.

use super::campaign::{Bar, Campaign, Outcome, by_name};
use super::host::Watch;
use super::rig::{Life, Rig};
use super::start;
use helenus_cql::client::{Client, ConnectOptions};
use helenus_cql::codec::{Consistency, Prepared};
use helenus_model::cql::CqlValue;
use serde_json::Value;
use std::error::Error;
use std::net::SocketAddr;
use std::time::Instant;

const NAME: &str = "p";
const KEYSPACES: usize = 5;
const TABLES: usize = 2;

/// Rows before each reset, over all tables.
const ROWS: usize = 100_000;

/// Rows of one unlogged batch, prepared: few statements keep the trial short and the node's compilers idle, and what a
/// table holds is what counts.
const OF_A_BATCH: usize = 100;

/// Resets of a young node, which are measured apart: neither its compilers nor a person's patience is at its best.
const YOUNG: usize = 20;

/// Resets of one trial after these; five trials make the hundred.
const RESETS: usize = 20;

pub(crate) const RESET: Campaign = Campaign {
    name: "reset",
    about: "`helenus reset` of ten tables after 100,000 rows in one of them or in all, forty times a trial, from start to end",
    variants: &["one", "all"],
    bars: &[
        Bar::median("one", "p50_ms", 250.0),
        Bar::median("one", "p95_ms", 500.0),
        Bar::median("all", "p50_ms", 250.0),
        Bar::median("all", "p95_ms", 500.0),
        Bar::none("one", "wrong"),
        Bar::none("all", "wrong"),
    ],
    prepare: start::prepare,
    trial,
};

fn trial(rig: &Rig, variant: &str) -> Result<Outcome, Box<dyn Error>> {
    // All rows in one table, or a tenth of them in each.
    let tables = if variant == "one" {
        1
    } else {
        KEYSPACES * TABLES
    };
    rig.alone(|| measure(rig, tables))
}

fn measure(rig: &Rig, filled: usize) -> Result<Outcome, Box<dyn Error>> {
    let ready = rig.json(&["up", NAME])?;
    let node = &ready["nodes"][0];
    let mut client = client(node)?;
    for keyspace in 0..KEYSPACES {
        let cql = format!(
            "CREATE KEYSPACE k{keyspace} WITH replication = \
             {{'class': 'NetworkTopologyStrategy', 'datacenter1': 1}}"
        );
        client.query(&cql, Consistency::One)?;
        for table in 0..TABLES {
            let cql = format!("CREATE TABLE k{keyspace}.t{table} (k int PRIMARY KEY, v text)");
            client.query(&cql, Consistency::One)?;
        }
    }
    rig.run(&["baseline", "save", NAME, "empty", "--replace"])?;
    // The node was stopped for the baseline: the session that is held open begins here.
    let list = rig.json(&["list"])?;
    let node = &list["clusters"][0]["nodes"][0];
    let pid = u32::try_from(node["pid"].as_u64().ok_or("a node without a process")?)?;
    let before = Life::of(pid)?.cpu;
    let mut held = Held::open(self::client(node)?)?;
    let watch = Watch::begin()?;
    let mut took = Vec::new();
    let mut wrong = 0;
    for round in 0..YOUNG + RESETS {
        held.fill(round, filled)?;
        let begin = Instant::now();
        rig.run(&["reset", NAME])?;
        took.push(begin.elapsed().as_secs_f64() * 1000.0);
        wrong += held.look(round, filled)?;
    }
    let own = Life::of(pid)?.cpu - before;
    let (young, rest) = took.split_at_mut(YOUNG);
    let measures = [
        ("young_p50_ms", at(young, 0.5)),
        ("young_p95_ms", at(young, 0.95)),
        ("p50_ms", at(rest, 0.5)),
        ("p95_ms", at(rest, 0.95)),
        ("wrong", wrong as f64),
    ];
    Ok(Outcome {
        measures: by_name(measures),
        pressure: watch.end(own)?,
    })
}

/// That of these times above which there is no more than the rest of this share, in whole milliseconds.
fn at(times: &mut [f64], share: f64) -> f64 {
    times.sort_by(f64::total_cmp);
    times[((times.len() as f64 * share).ceil() as usize).max(1) - 1].round()
}

fn client(node: &Value) -> Result<Client, Box<dyn Error>> {
    let address = node["address"].as_str().ok_or("a node without address")?;
    let port = node["cql_port"].as_u64().ok_or("a node without port")?;
    let address = SocketAddr::new(address.parse()?, u16::try_from(port)?);
    Ok(Client::connect(address, &ConnectOptions::default())?)
}

/// A session with its prepared statements, which no reset may disturb.
struct Held {
    client: Client,
    inserts: Vec<Prepared>,
    batches: Vec<Prepared>,
}

impl Held {
    fn open(mut client: Client) -> Result<Self, Box<dyn Error>> {
        let (mut inserts, mut batches) = (Vec::new(), Vec::new());
        for (keyspace, table) in tables() {
            let cql = format!("INSERT INTO k{keyspace}.t{table} (k, v) VALUES (?, ?)");
            inserts.push(client.prepare(&cql)?);
            let all = format!("{cql}; ").repeat(OF_A_BATCH);
            batches.push(client.prepare(&format!("BEGIN UNLOGGED BATCH {all}APPLY BATCH"))?);
        }
        Ok(Self {
            client,
            inserts,
            batches,
        })
    }

    /// The rows: each of the first so many tables gets its part.
    fn fill(&mut self, round: usize, filled: usize) -> Result<(), Box<dyn Error>> {
        let each = ROWS / filled;
        let text = format!("round {round}");
        for batch in &self.batches[..filled] {
            for first in (0..each).step_by(OF_A_BATCH) {
                let mut values = Vec::with_capacity(2 * OF_A_BATCH);
                for k in first..first + OF_A_BATCH {
                    values.push(Some(CqlValue::Int(i32::try_from(k)?)));
                    values.push(Some(CqlValue::Text(text.clone())));
                }
                self.client.execute(batch, &values, Consistency::One)?;
            }
        }
        Ok(())
    }

    /// Writes one row into each table that was filled, at once, over the same session, and looks: only these are there.
    fn look(&mut self, round: usize, filled: usize) -> Result<usize, Box<dyn Error>> {
        let text = format!("after {round}");
        for insert in &self.inserts[..filled] {
            let values = [Some(CqlValue::Int(-1)), Some(CqlValue::Text(text.clone()))];
            self.client.execute(insert, &values, Consistency::One)?;
        }
        let mut wrong = 0;
        for (place, (keyspace, table)) in tables().enumerate() {
            let cql = format!("SELECT k, v FROM k{keyspace}.t{table}");
            let rows = self.client.query(&cql, Consistency::One)?;
            let as_is = if place < filled {
                rows.len() == 1 && rows.text(0, "v").as_deref() == Some(&text)
            } else {
                rows.is_empty()
            };
            wrong += usize::from(!as_is);
        }
        Ok(wrong)
    }
}

fn tables() -> impl Iterator<Item = (usize, usize)> {
    (0..KEYSPACES).flat_map(|keyspace| (0..TABLES).map(move |table| (keyspace, table)))
}
