//! A table of every CQL type on one release, with each compression, with and without a time to live.
//! Refuses to call a table equal that was compared by this repository alone.

use super::tools::Bench;
use super::{NAME, Sheet, Tried, number};
use serde_json::{Value, json};
use std::error::Error;

/// Rows of the file; some share a key.
const ROWS: &str = "4000";
const KEYSPACE: &str = "p";

/// A compression with its options in CQL.
const COMPRESSIONS: [(&str, &str); 3] = [
    ("lz4", "{'class': 'LZ4Compressor'}"),
    ("zstd", "{'class': 'ZstdCompressor'}"),
    ("none", "{'enabled': false}"),
];

/// With and without a time to live.
const LIVES: [(&str, &[&str]); 2] = [("stays", &[]), ("ttl", &["--ttl", "30d"])];

/// Reads all rows of a table by the Python driver.
type Check<'a> = dyn Fn(&str) -> Result<Value, Box<dyn Error>> + 'a;

/// Two tables with the same rows.
struct Pair {
    what: String,
    theirs: String,
    ours: String,
    life: &'static [&'static str],
    /// Of all rows, as the node gives them back by CQL.
    checksum: Value,
}

pub(super) fn release(bench: &Bench<'_>, sheet: &mut Sheet, release: &str) -> Tried {
    let vectors = if release == "5.0" { "1" } else { "0" };
    let up = ["up", NAME, "--cassandra", release, "--preset", "dev"];
    let up = bench.rig.json(&up)?;
    let host = up["nodes"][0]["address"].as_str().unwrap_or_default();
    let port = up["nodes"][0]["cql_port"].to_string();
    let release = up["release"].as_str().unwrap_or(release);
    let file = bench.folder.join("every.csv").display().to_string();
    let made = bench.python(&["make", &file, ROWS, vectors])?;
    sheet.write(&json!({"line": "rows", "release": release, "made": made}))?;
    schema(bench, vectors)?;
    let check = |table: &str| {
        let table = format!("{KEYSPACE}.{table}");
        bench.python(&["check", host, &port, &table, ROWS, vectors])
    };
    let mut pairs = Vec::new();
    for (compression, _) in COMPRESSIONS {
        for (life, words) in LIVES {
            let name = |way: &str| format!("{way}_{compression}_{life}");
            let mut pair = Pair {
                what: format!("{release} {compression} {life}"),
                theirs: name("cql"),
                ours: name("sstable"),
                life: words,
                checksum: Value::Null,
            };
            load(bench, &file, &pair.theirs, "cql", words)?;
            load(bench, &file, &pair.ours, "sstable", words)?;
            bench.rig.run(&["nodetool", NAME, "flush", KEYSPACE])?;
            written(bench, sheet, &mut pair, &check)?;
            pairs.push(pair);
        }
    }
    bench.rig.run(&["stop", NAME])?;
    for pair in &pairs {
        let words = ["-e", "-f", KEYSPACE, &pair.ours];
        let (well, said) = bench.offline("StandaloneVerifier", &words)?;
        let what = format!("{}: sstableverify -e -f", pair.what);
        sheet.found(&what, well && said.contains("succeeded"), &said, None)?;
    }
    bench.rig.run(&["start", NAME])?;
    for pair in &pairs {
        rewritten(bench, sheet, pair, &file, &check)?;
    }
    Ok(())
}

/// The columns of a table of every type, whose user types are made in this keyspace.
pub(super) fn columns(
    bench: &Bench<'_>,
    keyspace: &str,
    vectors: &str,
) -> Result<String, Box<dyn Error>> {
    let schema = bench.python(&["schema", keyspace, vectors])?;
    for ty in schema["types"].as_array().into_iter().flatten() {
        bench.cql(ty.as_str().unwrap_or_default())?;
    }
    Ok(schema["columns"].as_str().unwrap_or_default().to_owned())
}

fn schema(bench: &Bench<'_>, vectors: &str) -> Tried {
    bench.cql(&format!(
        "CREATE KEYSPACE {KEYSPACE} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
    ))?;
    let columns = columns(bench, KEYSPACE, vectors)?;
    for (compression, options) in COMPRESSIONS {
        for (life, _) in LIVES {
            for way in ["cql", "sstable"] {
                bench.cql(&format!(
                    "CREATE TABLE {KEYSPACE}.{way}_{compression}_{life} ({columns}, PRIMARY KEY ((pk1, pk2), c1, c2, c3)) \
                     WITH CLUSTERING ORDER BY (c1 DESC, c2 ASC, c3 DESC) AND compression = {options}"
                ))?;
            }
        }
    }
    Ok(())
}

fn load(
    bench: &Bench<'_>,
    file: &str,
    table: &str,
    way: &str,
    more: &[&str],
) -> Result<Value, Box<dyn Error>> {
    let into = format!("{NAME}:{KEYSPACE}.{table}");
    let words = ["load", file, "--into", &into, "--via", way, "--restart"];
    let dated = ["--timestamp", "at", "--skip", "at"];
    bench.rig.json(&[&words[..], &dated, more].concat())
}

/// The driver's answer as a finding.
pub(super) fn read(sheet: &mut Sheet, what: &str, found: &Value) -> Tried {
    let holds = number(found, "wrong") == 0 && number(found, "rows") > 0;
    let said = format!(
        "{} rows, {} values: {} wrong {}",
        found["rows"], found["values"], found["wrong"], found["first"]
    );
    sheet.found(what, holds, &said, None)
}

/// What is to say of the files as they were written: by Cassandra on one side, by us on the other.
fn written(bench: &Bench<'_>, sheet: &mut Sheet, pair: &mut Pair, check: &Check<'_>) -> Tried {
    let what = &pair.what;
    let (theirs, ours) = (
        bench.dump(KEYSPACE, &pair.theirs)?,
        bench.dump(KEYSPACE, &pair.ours)?,
    );
    let (theirs, ours) = (theirs.display().to_string(), ours.display().to_string());
    let same = bench.python(&["dump", &theirs, &ours])?;
    sheet.write(&json!({"line": "dump", "what": what, "found": same}))?;
    let said = format!(
        "{} rows, {} static rows, {} cells: {} differ {}",
        same["rows"], same["statics"], same["cells"], same["differ"], same["first"]
    );
    let holds = same["equal"] == true && number(&same, "cells") > 0;
    let title = format!("{what}: sstabledump as of Cassandra's own file");
    sheet.found(&title, holds, &said, None)?;
    let said = format!(
        "{} tombstones; {} collections that were replaced",
        same["tombstones"], same["collections_replaced"]
    );
    let title = format!("{what}: no tombstone for a null");
    sheet.found(&title, number(&same, "tombstones") == 0, &said, None)?;
    let expiring = number(&same, "expiring");
    let said = format!("{expiring} rows expire");
    let holds = (expiring > 0) != pair.life.is_empty();
    sheet.found(&format!("{what}: expiry"), holds, &said, None)?;
    let title = format!("{what}: rows by the Python driver");
    read(sheet, &title, &check(&pair.ours)?)?;
    let (well, said) =
        bench.well(&["nodetool", NAME, "verify", "-e", "-f", KEYSPACE, &pair.ours])?;
    let title = format!("{what}: nodetool verify -e -f");
    sheet.found(&title, well, &said, None)?;
    let count = |table: &str| bench.count(&format!("{KEYSPACE}.{table}"), "ONE");
    let (theirs, ours) = (count(&pair.theirs)?, count(&pair.ours)?);
    let title = format!("{what}: count --checksum as by CQL");
    let holds = theirs["checksum"].is_string() && theirs["checksum"] == ours["checksum"];
    let said = format!("{} rows, {}", ours["rows"], ours["checksum"]);
    sheet.found(&title, holds, &said, None)?;
    pair.checksum = ours["checksum"].clone();
    Ok(())
}

/// What a scrub of a table complains of, and how many files it has scrubbed.
fn scrub(bench: &Bench<'_>, table: &str) -> Result<(usize, usize), Box<dyn Error>> {
    let mark = bench.mark()?;
    let (well, said) = bench.well(&["nodetool", NAME, "scrub", KEYSPACE, table])?;
    if !well {
        return Err(format!("nodetool scrub: {said}").into());
    }
    let (complaints, scrubbed) = bench.since(mark)?;
    Ok((complaints.len(), scrubbed))
}

/// What is to say once Cassandra has written the rows anew: by scrub, and by a compaction of that with the same load again.
fn rewritten(
    bench: &Bench<'_>,
    sheet: &mut Sheet,
    pair: &Pair,
    file: &str,
    check: &Check<'_>,
) -> Tried {
    let what = &pair.what;
    // 5.0.9 calls each partition with a time to live unreadable, and drops it, also in files of its own.
    let theirs = scrub(bench, &pair.theirs)?;
    let ours = scrub(bench, &pair.ours)?;
    let known = what.starts_with("5.0") && !pair.life.is_empty();
    let holds = ours == theirs && (ours.0 == 0 || known);
    let said = format!(
        "{} complaints, of Cassandra's own file {}",
        ours.0, theirs.0
    );
    let title = format!("{what}: scrub finds nothing that it does not find in Cassandra's own");
    sheet.found(&title, holds, &said, None)?;
    let files = || bench.files(0, KEYSPACE, &pair.ours, "Data.db");
    load(bench, file, &pair.ours, "sstable", pair.life)?;
    if files()?.len() < 2 {
        load(bench, file, &pair.ours, "sstable", pair.life)?;
    }
    let mark = bench.mark()?;
    let before = files()?.len();
    let (well, said) = bench.well(&["nodetool", NAME, "compact", KEYSPACE, &pair.ours])?;
    let (complaints, _) = bench.since(mark)?;
    let now = bench.count(&format!("{KEYSPACE}.{}", pair.ours), "ONE")?;
    let same = now["checksum"].is_string() && now["checksum"] == pair.checksum;
    let holds = well && complaints.is_empty() && before == 2 && same;
    let title = format!("{what}: a major compaction changes no row");
    let said = format!(
        "of {before} SSTables, {} {said} {}",
        now["checksum"],
        complaints.join(" | ")
    );
    sheet.found(&title, holds, said.trim(), None)?;
    let title = format!("{what}: rows by the Python driver after both");
    read(sheet, &title, &check(&pair.ours)?)
}
