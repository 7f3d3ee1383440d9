//! `prove restore`: `helenus baseline restore` from its start to the first reply, of a million rows and of ten million,
//! into the same cluster; its disk; and every row read back. Refuses a baseline whose rows were never checked.

use super::campaign::{Bar, Campaign, Outcome, by_name};
use super::host::Watch;
use super::rig::{Life, Rig};
use serde_json::Value;
use std::error::Error;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Instant;

const TAG: &str = "full";

pub(crate) const RESTORE: Campaign = Campaign {
    name: "restore",
    about: "`baseline restore` of 1,000,000 and 10,000,000 rows: time to the first reply, disk, every row read back",
    variants: &["m1", "m10"],
    bars: &[
        Bar::median("m1", "first_s", 5.0),
        Bar::ratio("m10", "m1", "first_s", 1.5),
        Bar::every("m1", "more_disk_share", 0.01),
        Bar::every("m10", "more_disk_share", 0.01),
        Bar::none("m1", "missing"),
        Bar::none("m10", "missing"),
    ],
    prepare,
    trial,
};

fn rows(variant: &str) -> &'static str {
    match variant {
        "m1" => "1000000",
        _ => "10000000",
    }
}

/// The datasets, written once a sitting: their clusters stay from trial to trial, stopped while it is not theirs.
fn prepare(rig: &Rig) -> Result<(), Box<dyn Error>> {
    rig.run(&["rm", "--all", "--with-baselines"])?;
    for name in ["m1", "m10"] {
        println!("writing {} rows", rows(name));
        rig.run(&["up", name, "--preset", "dev"])?;
        let report = bench(rig, name, &["--phases", "write", "--in-flight", "128"])?;
        if failures(&report)? > 0.0 {
            return Err("the dataset could not be written".into());
        }
        rig.run(&["baseline", "save", name, TAG, "--leave-stopped"])?;
    }
    Ok(())
}

fn trial(rig: &Rig, variant: &str) -> Result<Outcome, Box<dyn Error>> {
    rig.run(&["start", variant])?;
    // Something to be undone.
    let cql = "TRUNCATE keyspace1.standard1";
    rig.run(&["cql", variant, "-e", cql])?;
    let folder = rig.context.clusters.folder(variant);
    let watch = Watch::begin()?;
    let before = disk_used(&rig.context.paths.state)?;
    let begin = Instant::now();
    rig.run(&["baseline", "restore", variant, TAG])?;
    let one = "SELECT key FROM keyspace1.standard1 LIMIT 1";
    rig.run(&["cql", variant, "-e", one])?;
    let first = begin.elapsed().as_secs_f64();
    let more = disk_used(&rig.context.paths.state)? - before;
    let data = size_of(&folder)? as f64;
    let missing = lacking(rig, variant)?;
    let list = rig.json(&["list"])?;
    let own = own_cpu(&list, variant)?;
    let pressure = watch.end(own)?;
    rig.run(&["stop", variant])?;
    let measures = [
        ("first_s", (first * 100.0).round() / 100.0),
        (
            "more_disk_share",
            ((more as f64).max(0.0) / data * 1e4).round() / 1e4,
        ),
        ("data_mib", (data / 1_048_576.0).round()),
        ("missing", missing),
    ];
    Ok(Outcome {
        measures: by_name(measures),
        pressure,
    })
}

/// As many operations as rows, in order: each is written or read once, and what is read is compared.
fn bench(rig: &Rig, name: &str, flags: &[&str]) -> Result<Value, Box<dyn Error>> {
    let rows = rows(name);
    let head = ["bench", "--cluster", name, "--seed", "1", "--closed"];
    let tail = ["--count", rows, "--population", rows, "--format", "json"];
    let output = rig.command(&[&head[..], flags, &tail].concat()).output()?;
    match output.status.code() {
        Some(0 | 5) => Ok(serde_json::from_slice(&output.stdout)?),
        _ => Err(String::from_utf8_lossy(&output.stderr).into_owned().into()),
    }
}

/// Every row read back: those that are missing, hold something else, or should not be there.
fn lacking(rig: &Rig, name: &str) -> Result<f64, Box<dyn Error>> {
    let head = ["check-data", "standard1", "--cluster", name, "--seed", "1"];
    let tail = ["--population", rows(name), "--format", "json"];
    let output = rig.command(&[&head[..], &tail].concat()).output()?;
    if !matches!(output.status.code(), Some(0 | 1)) {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let report: Value = serde_json::from_slice(&output.stdout)?;
    let number = |key: &str| {
        report["tables"][0][key]
            .as_f64()
            .ok_or("a check without a count")
    };
    Ok(number("missing")? + number("wrong")? + number("foreign")?)
}

fn failures(report: &Value) -> Result<f64, Box<dyn Error>> {
    let total = &report["result"]["phases"][0]["total"];
    let number = |key: &str| total[key].as_f64().ok_or("a run without a count");
    Ok(number("offered")? - number("completed")?)
}

fn own_cpu(list: &Value, name: &str) -> Result<f64, Box<dyn Error>> {
    let clusters = list["clusters"].as_array().into_iter().flatten();
    let nodes = clusters
        .filter(|c| c["name"] == name)
        .flat_map(|c| c["nodes"].as_array().into_iter().flatten());
    let pids = nodes.filter_map(|n| u32::try_from(n["pid"].as_u64()?).ok());
    let lives: Result<Vec<Life>, _> = pids.map(Life::of).collect();
    Ok(lives?.iter().map(|life| life.cpu).sum())
}

/// Bytes in use below a folder, each file once however many names it has.
fn disk_used(folder: &Path) -> Result<i64, Box<dyn Error>> {
    let mut seen = std::collections::BTreeSet::new();
    let mut bytes = 0;
    walk(folder, &mut |meta| {
        if seen.insert((meta.dev(), meta.ino())) {
            bytes += meta.blocks() * 512;
        }
    })?;
    Ok(i64::try_from(bytes)?)
}

fn size_of(folder: &Path) -> Result<u64, Box<dyn Error>> {
    let mut bytes = 0;
    walk(folder, &mut |meta| bytes += meta.len())?;
    Ok(bytes)
}

fn walk(folder: &Path, see: &mut dyn FnMut(&std::fs::Metadata)) -> Result<(), Box<dyn Error>> {
    for entry in fs_err::read_dir(folder)? {
        let entry = entry?;
        // Files come and go while a node runs.
        let Ok(meta) = entry.metadata() else { continue };
        if meta.is_dir() {
            walk(&entry.path(), see)?;
        } else {
            see(&meta);
        }
    }
    Ok(())
}
