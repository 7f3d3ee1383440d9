//! One partition of a gibibyte on one node, and three data centres of three nodes that all hold every row.
//! Refuses a replica that was not compared with the others.

use super::tools::Bench;
use super::{NAME, Sheet, Tried, number, types};
use fs_err as fs;
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Instant;

/// Rows of the wide partition, and characters of each behind its number.
const WIDE_ROWS: &str = "1100000";
const WIDTH: &str = "1000";
/// Bytes that it must have at least.
const GIBIBYTE: u64 = 1 << 30;
/// Rows of the ring.
const RING_ROWS: &str = "20000";
/// Nodes of the ring.
const NODES: usize = 9;

pub(super) fn wide(bench: &Bench<'_>, sheet: &mut Sheet) -> Tried {
    let up = bench.rig.json(&["up", NAME, "--preset", "dev"])?;
    let host = up["nodes"][0]["address"].as_str().unwrap_or_default();
    let port = up["nodes"][0]["cql_port"].to_string();
    bench.cql(
        "CREATE KEYSPACE w WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    )?;
    bench.cql(
        "CREATE TABLE w.wide (k int, n int, v text, PRIMARY KEY (k, n)) WITH CLUSTERING ORDER BY (n DESC) \
         AND compression = {'enabled': false}",
    )?;
    let file = bench.folder.join("wide.csv");
    let pad = "p".repeat(WIDTH.parse()?);
    fs::write(&file, format!("k,from,to,pad\n1,1,{WIDE_ROWS},{pad}\n"))?;
    let file = file.display().to_string();
    let begin = Instant::now();
    let words = ["load", &file, "--into", "p:w.wide", "--via", "sstable"];
    let rows = [
        "--expand",
        "n: int_range(from, to)",
        "--map",
        "v=concat(n, '-', pad)",
    ];
    let loaded = bench.rig.json(&[&words[..], &rows].concat())?;
    let took = begin.elapsed();
    sheet.write(&json!({"line": "load", "what": "wide", "loaded": loaded}))?;
    let proof = &loaded["proof"];
    let bytes: u64 = files_bytes(bench, "w", "wide")?;
    let said = format!("{} rows, Data.db of {bytes} bytes", proof["table_rows"]);
    let holds = proof["equal"] == true && bytes >= GIBIBYTE;
    sheet.found(
        "wide: one partition of 1 GiB, file and table equal",
        holds,
        &said,
        Some(took),
    )?;
    let check = || bench.python(&["wide", host, &port, "w.wide", WIDE_ROWS, WIDTH]);
    let read = |sheet: &mut Sheet, what: &str| -> Tried {
        let begin = Instant::now();
        let found = check()?;
        let holds = number(&found, "wrong") == 0 && number(&found, "rows").to_string() == WIDE_ROWS;
        sheet.found(what, holds, &found.to_string(), Some(begin.elapsed()))
    };
    read(sheet, "wide: all rows and 200 slices by the Python driver")?;
    let begin = Instant::now();
    let (well, said) = bench.well(&["nodetool", NAME, "verify", "-e", "-f", "w", "wide"])?;
    sheet.found(
        "wide: nodetool verify -e -f",
        well,
        &said,
        Some(begin.elapsed()),
    )?;
    bench.rig.run(&["nodetool", NAME, "flush"])?;
    bench.rig.run(&["stop", NAME])?;
    let begin = Instant::now();
    let (well, said) = bench.offline("StandaloneVerifier", &["-e", "-f", "w", "wide"])?;
    let holds = well && said.contains("succeeded");
    sheet.found(
        "wide: sstableverify -e -f",
        holds,
        &said,
        Some(begin.elapsed()),
    )?;
    bench.rig.run(&["start", NAME])?;
    for what in ["scrub", "compact"] {
        let mark = bench.mark()?;
        let begin = Instant::now();
        let (well, said) = bench.well(&["nodetool", NAME, what, "w", "wide"])?;
        let (complaints, _) = bench.since(mark)?;
        let title = format!("wide: {what} finds nothing");
        // That it is large is true.
        let complaints: Vec<String> = complaints
            .into_iter()
            .filter(|line| !line.contains("large partition"))
            .collect();
        let said = format!("{said} {}", complaints.join(" | "));
        let holds = well && complaints.is_empty();
        sheet.found(&title, holds, said.trim(), Some(begin.elapsed()))?;
    }
    let now = bench.count("w.wide", "ONE")?;
    let holds = now["checksum"].is_string() && now["checksum"] == proof["file_checksum"];
    let said = format!("{} rows, {}", now["rows"], now["checksum"]);
    sheet.found(
        "wide: count --checksum after both as of the file",
        holds,
        &said,
        None,
    )?;
    read(sheet, "wide: the same by the Python driver after both")
}

fn files_bytes(
    bench: &Bench<'_>,
    keyspace: &str,
    table: &str,
) -> Result<u64, Box<dyn std::error::Error>> {
    let mut bytes = 0;
    for file in bench.files(0, keyspace, table, "Data.db")? {
        bytes += fs::metadata(file)?.len();
    }
    Ok(bytes)
}

pub(super) fn ring(bench: &Bench<'_>, sheet: &mut Sheet) -> Tried {
    let up = bench
        .rig
        .json(&["up", NAME, "-n", "3:3:3", "--preset", "tiny"])?;
    let nodes = up["nodes"].as_array().cloned().unwrap_or_default();
    bench.cql(
        "CREATE KEYSPACE r WITH replication = {'class': 'NetworkTopologyStrategy', 'DC1': 3, 'DC2': 3, 'DC3': 3}",
    )?;
    let columns = types::columns(bench, "r", "1")?;
    for way in ["cql", "sstable"] {
        bench.cql(&format!(
            "CREATE TABLE r.{way} ({columns}, PRIMARY KEY ((pk1, pk2), c1, c2, c3)) WITH CLUSTERING ORDER BY (c1 DESC, c2 ASC, c3 DESC)"
        ))?;
    }
    let file = bench.folder.join("ring.csv").display().to_string();
    bench.python(&["make", &file, RING_ROWS, "1"])?;
    for way in ["cql", "sstable"] {
        let into = format!("{NAME}:r.{way}");
        let words = ["load", &file, "--into", &into, "--via", way, "--cl", "ALL"];
        let dated = ["--timestamp", "at", "--skip", "at"];
        bench.rig.json(&[&words[..], &dated].concat())?;
    }
    let mut digests = BTreeSet::new();
    let mut holders = 0;
    for node in 0..nodes.len() {
        let files = bench.files(node, "r", "sstable", "Digest.crc32")?;
        holders += usize::from(!files.is_empty());
        for file in files {
            digests.insert(fs::read_to_string(file)?);
        }
    }
    let holds = holders == NODES && digests.len() == 1;
    let said = format!(
        "{holders} nodes with SSTables, {} different digests",
        digests.len()
    );
    sheet.found(
        "ring 3:3:3, RF 3 each: all nine have the same file",
        holds,
        &said,
        None,
    )?;
    let count = |table: &str, level: &str| bench.count(&format!("r.{table}"), level);
    let theirs = count("cql", "ALL")?;
    let ours = count("sstable", "ALL")?;
    let holds = theirs["checksum"].is_string() && theirs["checksum"] == ours["checksum"];
    let said = format!("{} rows, {}", ours["rows"], ours["checksum"]);
    sheet.found(
        "ring: count --checksum at ALL as by CQL",
        holds,
        &said,
        None,
    )?;
    for node in &nodes {
        let name = node["name"].as_str().unwrap_or_default();
        let at = format!("{NAME}/{name}");
        let words = ["nodetool", &at, "verify", "-e", "-f", "-c", "r", "sstable"];
        let (well, said) = bench.well(&words)?;
        sheet.found(
            &format!("ring: nodetool verify -e -f -c on {name}"),
            well,
            &said,
            None,
        )?;
    }
    let words = [
        "nodetool",
        NAME,
        "repair",
        "-full",
        "--preview",
        "r",
        "sstable",
    ];
    let (well, said) = bench.repair(&words)?;
    sheet.found(
        "ring: a full repair's preview finds all in sync",
        well,
        &said,
        None,
    )?;
    for node in nodes.iter().step_by(3) {
        let host = node["address"].as_str().unwrap_or_default();
        let port = node["cql_port"].to_string();
        let found = bench.python(&["check", host, &port, "r.sstable", RING_ROWS, "1"])?;
        let what = format!("ring: rows by the Python driver through {}", node["name"]);
        types::read(sheet, &what, &found)?;
    }
    Ok(())
}
