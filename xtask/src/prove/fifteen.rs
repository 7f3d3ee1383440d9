//! `prove fifteen`: fifteen isolated tiny clusters from one command, their memory when nobody uses them, and two minutes
//! of load on all at once. Refuses an error of any of them, and a node that is not the one that was started.

use super::campaign::{Bar, Campaign, Outcome, by_name};
use super::host::Watch;
use super::rig::{Life, Rig, checked};
use super::start;
use serde_json::Value;
use std::error::Error;
use std::process::Child;
use std::time::{Duration, Instant};

const COUNT: usize = 15;
const PREFIX: &str = "dev";

/// How far a parallel start may be from one that wastes nothing.
const SLACK: f64 = 1.6;

/// Rows that each cluster has before the load.
const ROWS: &str = "2000";

const IDLE: Duration = Duration::from_secs(30);

const fn median(measure: &'static str, at_most: f64) -> Bar {
    let variant = "fifteen";
    Bar::median(variant, measure, at_most)
}

const fn every(measure: &'static str) -> Bar {
    Bar::none("fifteen", measure)
}

pub(crate) const FIFTEEN: Campaign = Campaign {
    name: "fifteen",
    about: "`up --count 15`: time to ready over 1.6 × CPU of fifteen starts by cores, memory idle and under 100 op/s each",
    variants: &["fifteen"],
    bars: &[
        median("of_bound", 1.0),
        median("up_s", 45.0),
        median("idle_gb", 2.6),
        median("loaded_gb", 3.6),
        every("errors"),
        every("deaths"),
        Bar::none("fifteen", "unserved").as_aim(),
        median("up_s", 25.0).as_aim(),
        median("idle_gb", 2.0).as_aim(),
    ],
    prepare: start::prepare,
    trial: |rig, _| rig.alone(|| measure(rig)),
};

fn measure(rig: &Rig) -> Result<Outcome, Box<dyn Error>> {
    let alone = rig.json(&["up", "p"])?;
    let alone = cpu(&pids(&alone["nodes"])?)?;
    rig.clear()?;
    let watch = Watch::begin()?;
    let begin = Instant::now();
    let count = COUNT.to_string();
    let args = [
        "up", "--count", &count, "--prefix", PREFIX, "--preset", "tiny",
    ];
    let ready = rig.json(&args)?;
    let up = begin.elapsed().as_secs_f64();
    let nodes = |list: &Value| -> Result<Vec<u32>, Box<dyn Error>> {
        let clusters = list["clusters"].as_array().into_iter().flatten();
        let pids: Result<Vec<Vec<u32>>, _> = clusters.map(|c| pids(&c["nodes"])).collect();
        Ok(pids?.concat())
    };
    let started = nodes(&ready)?;
    let pressure = watch.end(cpu(&started)?)?;
    std::thread::sleep(IDLE);
    let idle = anonymous_gb(&rig.json(&["list"])?)?;
    let (errors, unserved) = load(rig)?;
    let list = rig.json(&["list"])?;
    let alive = nodes(&list)?;
    let deaths = started.iter().filter(|pid| !alive.contains(pid)).count();
    let cores = std::thread::available_parallelism()?.get() as f64;
    let bound = SLACK * COUNT as f64 * alone / cores;
    let measures = [
        ("alone_cpu_s", alone),
        ("up_s", (up * 10.0).round() / 10.0),
        ("of_bound", (up / bound * 100.0).round() / 100.0),
        ("idle_gb", idle),
        ("loaded_gb", anonymous_gb(&list)?),
        ("errors", errors),
        ("unserved", unserved),
        ("deaths", deaths as f64),
    ];
    Ok(Outcome {
        measures: by_name(measures),
        pressure,
    })
}

/// Processes of nodes, as `up` and `list` print them.
pub(super) fn pids(nodes: &Value) -> Result<Vec<u32>, Box<dyn Error>> {
    let nodes = nodes.as_array().into_iter().flatten();
    let pid = |node: &Value| -> Result<u32, Box<dyn Error>> {
        Ok(u32::try_from(
            node["pid"].as_u64().ok_or("a node without a process")?,
        )?)
    };
    nodes.map(pid).collect()
}

/// Seconds of processor that they have used.
pub(super) fn cpu(pids: &[u32]) -> Result<f64, Box<dyn Error>> {
    let lives: Result<Vec<Life>, _> = pids.iter().map(|pid| Life::of(*pid)).collect();
    Ok(lives?.iter().map(|life| life.cpu).sum())
}

/// Anonymous PSS of all nodes, in 10^9 bytes.
pub(super) fn anonymous_gb(list: &Value) -> Result<f64, Box<dyn Error>> {
    let clusters = list["clusters"].as_array().into_iter().flatten();
    let nodes = clusters.flat_map(|c| c["nodes"].as_array().into_iter().flatten());
    let bytes: Option<f64> = nodes.map(|n| n["memory"]["pss_anon_bytes"].as_f64()).sum();
    let bytes = bytes.ok_or("the memory of a node cannot be read")?;
    Ok((bytes / 1e7).round() / 100.0)
}

/// Rows into each cluster, then half writes and half reads on all at once; what failed in all, and what had not even
/// begun when the two minutes were over.
fn load(rig: &Rig) -> Result<(f64, f64), Box<dyn Error>> {
    let rows = ["--population", ROWS, "--seed", "1", "--format", "json"];
    let bench = |cluster: &str, flags: &[&str]| {
        let head = ["bench", "--cluster", cluster];
        rig.command(&[&head[..], flags, &rows].concat())
    };
    let names: Vec<String> = (1..=COUNT).map(|k| format!("{PREFIX}{k}")).collect();
    let (mut errors, mut unserved) = (0.0, 0.0);
    let mut add = |report: &[u8]| -> Result<(), Box<dyn Error>> {
        let (failed, never) = failures(report)?;
        (errors, unserved) = (errors + failed, unserved + never);
        Ok(())
    };
    for name in &names {
        let flags = ["--phases", "write", "--count", ROWS, "--rate", "1000"];
        add(&bench(name, &flags).output()?.stdout)?;
    }
    let flags = [
        "--phases",
        "mixed",
        "--rate",
        "100",
        "--duration",
        "2m",
        "--warmup",
        "0s",
    ];
    let children: Result<Vec<Child>, _> = names
        .iter()
        .map(|name| bench(name, &flags).spawn())
        .collect();
    for child in children? {
        let output = child.wait_with_output()?;
        // Fifteen generators on one machine raise cautions about the host: what counts here is that all is answered.
        match output.status.code() {
            Some(0 | 5) => add(&output.stdout)?,
            _ => {
                let failed = checked(&["bench"], output).err();
                return Err(failed.unwrap_or("bench failed".into()));
            }
        }
    }
    Ok((errors, unserved))
}

/// Operations that failed, and operations that were offered and never began.
fn failures(report: &[u8]) -> Result<(f64, f64), Box<dyn Error>> {
    let report: Value = serde_json::from_slice(report)?;
    let total = &report["result"]["phases"][0]["total"];
    let failed = total["failed"].as_object().into_iter().flatten();
    let failed: f64 = failed.filter_map(|(_, n)| n.as_f64()).sum();
    let number = |key: &str| total[key].as_f64().ok_or("a run without a count");
    let never = number("offered")? - number("completed")? - failed;
    Ok((failed, never))
}
