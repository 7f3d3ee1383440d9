//! `prove ingest_clients`: document 003's own experiment with real ingestion. Two keys, two settings of a node, and 12, 24,
//! 48 and 64 processes with one row in flight each, in random order in each life of the node; batches beside them.
//! Refuses two phases in one table: the second one would only write rows anew.

use super::super::campaign::{Bar, Campaign, Outcome, by_name, order, rounded};
use super::super::experiments::drawn;
use super::super::host::Watch;
use super::super::rig::{Life, Rig, checked};
use super::{Files, MAPPED, NAME};
use serde_json::Value;
use std::error::Error;
use std::time::Instant;

/// Numbers of clients of the document. Each is a process with one row in flight: one process with so many would follow the
/// node's latency and keep fewer.
const CLIENTS: [&str; 4] = ["12", "24", "48", "64"];

/// Rows of a phase, where the person does not say: runs of 4,096 rows for 192 parts, so that each number of clients has equal
/// parts.
pub(crate) const ROWS: u64 = 4_096 * 192;

/// What is loaded before anything is measured: a young node compiles.
const WARM: &str = "warm";
const GATHERED: &str = "gathered";

/// A key of the document's table.
const KEYS: [(&str, &str); 2] = [
    ("country", "(country), ip"),
    ("city", "(country, region, city), ip"),
];

/// Threads for reads, writes and counters, and heap: Cassandra's own, and the document's, whose 4 and 8 GB on eight hardware
/// threads are 1 and 2 GB on two.
const SETTINGS: [(&str, [&str; 4]); 2] = [
    ("stock", ["32", "32", "32", "1G"]),
    ("document", ["64", "128", "64", "2G"]),
];

const VARIANTS: [&str; 4] = [
    "country-stock",
    "country-document",
    "city-stock",
    "city-document",
];

pub(crate) const CLIENTS_CAMPAIGN: Campaign = Campaign {
    name: "ingest_clients",
    about: "rows by `load --via cql` from 12, 24, 48 and 64 clients: two keys, two settings of one node; batches beside them",
    variants: &VARIANTS,
    bars: &[
        Bar::none(VARIANTS[0], "wrong"),
        Bar::none(VARIANTS[1], "wrong"),
        Bar::none(VARIANTS[2], "wrong"),
        Bar::none(VARIANTS[3], "wrong"),
    ],
    prepare,
    trial: |rig, variant| rig.alone(|| life(rig, variant)),
};

fn rows(rig: &Rig) -> u64 {
    rig.rows.unwrap_or(ROWS)
}

fn prepare(rig: &Rig) -> Result<(), Box<dyn Error>> {
    rig.clear()?;
    Files::rows(rig, rows(rig)).write(rows(rig))
}

/// One life of a node: a warm-up, then all phases in random order, each into another table.
fn life(rig: &Rig, variant: &str) -> Result<Outcome, Box<dyn Error>> {
    let (key, settings) = variant.split_once('-').ok_or("KEY-SETTINGS")?;
    let of = |all: &[(&str, &'static str)], name: &str| {
        let found = all.iter().find(|(known, _)| *known == name);
        found.map(|(_, what)| *what).ok_or("no such variant")
    };
    let key = of(&KEYS, key)?;
    let settings = SETTINGS.iter().find(|(known, _)| *known == settings);
    let (_, [reads, writes, counters, heap]) = settings.ok_or("no such settings")?;
    let set = [
        format!("concurrent_reads={reads}"),
        format!("concurrent_writes={writes}"),
        format!("concurrent_counter_writes={counters}"),
    ];
    let mut up = vec!["up", NAME, "--preset", "bench", "--heap", heap];
    for setting in &set {
        up.extend(["--set", setting]);
    }
    let ready = rig.json(&up)?;
    let pid = ready["nodes"][0]["pid"].as_u64();
    let pid = u32::try_from(pid.ok_or("a node without a process")?)?;
    let phases = [CLIENTS[0], CLIENTS[1], CLIENTS[2], CLIENTS[3], GATHERED];
    let cql = |statement: &str| rig.run(&["cql", NAME, "-e", statement]);
    cql(
        "CREATE KEYSPACE ip2location WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    )?;
    for phase in phases.iter().chain(&[WARM]) {
        cql(&format!(
            "CREATE TABLE ip2location.hosts_{phase} (country text, region text, city text, ip text, lati text, longi text, \
             zip text, timezone text, PRIMARY KEY ({key}))"
        ))?;
    }
    load(rig, WARM, CLIENTS[1])?;
    let seed = drawn()?;
    let mut measures = by_name([("seed", seed.0 as f64)]);
    let watch = Watch::begin()?;
    let mut busy = 0.0;
    for (place, phase) in order(seed, 0, phases.len()).into_iter().enumerate() {
        let phase = phases[phase];
        let before = Life::of(pid)?.cpu;
        let (wall_s, client) = load(rig, phase, phase)?;
        let node = Life::of(pid)?.cpu - before;
        busy += node + client;
        let rows = rows(rig) as f64;
        let each = |seconds: f64| rounded(seconds * 1e6 / rows);
        for (name, value) in [
            ("rows_per_s", (rows / wall_s).round()),
            ("client_cpu_us_a_row", each(client)),
            ("node_cpu_us_a_row", each(node)),
            ("seconds", rounded(wall_s)),
            ("place", place as f64 + 1.0),
        ] {
            measures.insert(format!("{name}_{phase}"), value);
        }
    }
    let pressure = watch.end(busy)?;
    let mut wrong = 0;
    for phase in phases {
        let table = format!("ip2location.hosts_{phase}");
        let counted = rig.json(&["count", &table, "--cluster", NAME])?;
        let counted = counted["rows"].as_u64().ok_or("a count without rows")?;
        wrong += counted.abs_diff(rows(rig));
    }
    measures.insert("wrong".to_owned(), wrong as f64);
    Ok(Outcome { measures, pressure })
}

/// One phase: so many clients with a row in flight each, or one load as it is unless it is asked otherwise. Its time from
/// the first start to the last end, and the CPU seconds of its processes.
fn load(rig: &Rig, phase: &str, clients: &str) -> Result<(f64, f64), Box<dyn Error>> {
    let file = Files::rows(rig, rows(rig)).ranges.display().to_string();
    let into = format!("{NAME}:ip2location.hosts_{phase}");
    let mut words = vec!["load", &file, "--into", &into, "--via", "cql"];
    words.extend(MAPPED);
    words.extend(["--format", "json"]);
    let begin = Instant::now();
    let mut running = Vec::new();
    if phase == GATHERED {
        running.push(rig.command(&words).spawn()?);
    } else {
        words.extend(["--in-flight", "1", "--batch-bytes", "0"]);
        for part in 1..=clients.parse::<u32>()? {
            let part = format!("{part}/{clients}");
            let mut client = rig.command(&words);
            running.push(client.args(["--part", &part]).spawn()?);
        }
    }
    // What each prints is short: no pipe fills up while others are waited for.
    let mut cpu_s = 0.0;
    for client in running {
        let output = checked(&["load"], client.wait_with_output()?)?;
        let loaded: Value = serde_json::from_slice(&output.stdout)?;
        let figure = |name: &str| loaded[name].as_f64().ok_or(format!("no {name}"));
        cpu_s += figure("client_cpu_us_per_row")? * figure("rows_written")? / 1e6;
    }
    Ok((begin.elapsed().as_secs_f64(), cpu_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_is_a_key_and_settings() {
        let all: Vec<String> = KEYS
            .iter()
            .flat_map(|(key, _)| SETTINGS.map(|(settings, _)| format!("{key}-{settings}")))
            .collect();
        assert_eq!(all, VARIANTS);
    }
}
