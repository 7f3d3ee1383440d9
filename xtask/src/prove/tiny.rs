//! `prove tiny`: a million writes, a million reads and a fixed rate on one node in 64 MB, beside the same on the
//! settings of 2013. Refuses to count a run with an error in it.

use super::campaign::{Bar, Campaign, Measures, Outcome, Rule};
use super::host::Watch;
use super::rig::{Life, Rig};
use super::start;
use helenus_model::gc_log::{GcLog, Stop};
use serde_json::Value;
use std::error::Error;
use std::path::Path;

const NAME: &str = "p";

/// Writes, and then reads.
const OPERATIONS: &str = "1000000";

/// What document 001's own generator kept in flight.
const IN_FLIGHT: &str = "50";

const fn tiny(measure: &'static str, at_most: f64) -> Bar {
    let variant = "tiny";
    Bar {
        rule: Rule::Median {
            variant,
            measure,
            at_most,
        },
        aim: false,
    }
}

const fn ratio(
    variant: &'static str,
    to: &'static str,
    measure: &'static str,
    at_most: f64,
) -> Bar {
    Bar {
        rule: Rule::Ratio {
            variant,
            to,
            measure,
            at_most,
        },
        aim: false,
    }
}

pub(crate) const TINY: Campaign = Campaign {
    name: "tiny",
    about: "1,000,000 writes, 1,000,000 checked reads at 50 in flight, then 1,000/s, on presets tiny and doc001",
    variants: &["tiny", "doc001"],
    bars: &[
        Bar {
            rule: Rule::Every {
                variant: "tiny",
                measure: "errors",
                at_most: 0.0,
            },
            aim: false,
        },
        tiny("anon_mb", 230.0),
        ratio("tiny", "doc001", "stopped_s", 0.2),
        Bar {
            rule: Rule::Every {
                variant: "tiny",
                measure: "longest_ms",
                at_most: 500.0,
            },
            aim: false,
        },
        // Twice the writes and 1.3 times the reads: half and 1/1.3 the other way round.
        ratio("doc001", "tiny", "writes_per_s", 0.5),
        ratio("doc001", "tiny", "reads_per_s", 0.769),
        tiny("fixed_p99_ms", 60.0),
    ],
    prepare,
    trial,
};

/// Both presets' class-data archives are made before anything is timed.
fn prepare(rig: &Rig) -> Result<(), Box<dyn Error>> {
    start::prepare(rig)?;
    rig.run(&["up", NAME, "--preset", "doc001"])?;
    rig.clear()
}

fn trial(rig: &Rig, variant: &str) -> Result<Outcome, Box<dyn Error>> {
    rig.clear()?;
    rig.run(&["up", NAME, "--preset", variant])?;
    let outcome = measure(rig);
    rig.clear()?;
    outcome
}

fn measure(rig: &Rig) -> Result<Outcome, Box<dyn Error>> {
    let state = rig.hands.clusters.load(NAME)?;
    let log = Path::new(&state.plan.nodes[0].folder).join("logs/gc.log");
    let pid = pid(rig)?;
    let watch = Watch::begin()?;
    let before = Life::of(pid)?.cpu;
    let mut generator = 0.0;
    let mut measures = Measures::new();
    let mut anonymous: f64 = 0.0;
    let mut errors = 0.0;
    for (phase, name) in [("write", "writes_per_s"), ("read", "reads_per_s")] {
        let flags = [
            "--count",
            OPERATIONS,
            "--population",
            OPERATIONS,
            "--closed",
        ];
        let report = bench(rig, phase, &flags)?;
        let total = &report["result"]["phases"][0]["total"];
        let rate = report["result"]["phases"][0]["completed_per_s"].as_f64();
        measures.insert(name.to_owned(), rate.unwrap_or_default().round());
        errors += failures(total);
        generator += seconds(&report["result"]["generator"]["cpu_us"]);
        anonymous = anonymous.max(anonymous_mb(rig)?);
    }
    let (stopped_s, longest_ms) = stops(&log)?;
    let flags = ["--duration", "30s", "--warmup", "3s", "--rate", "1000"];
    let flags = [&flags[..], &["--population", OPERATIONS]].concat();
    let mut worst: f64 = 0.0;
    for phase in ["write", "read"] {
        let report = bench(rig, phase, &flags)?;
        let total = &report["result"]["phases"][0]["total"];
        let p99 = total["response"]["p99_us"].as_f64();
        worst = worst.max(p99.ok_or("no response p99")? / 1000.0);
        errors += failures(total);
        generator += seconds(&report["result"]["generator"]["cpu_us"]);
        anonymous = anonymous.max(anonymous_mb(rig)?);
    }
    let own = Life::of(pid)?.cpu - before + generator;
    let more = [
        ("errors", errors),
        ("anon_mb", anonymous),
        ("stopped_s", (stopped_s * 100.0).round() / 100.0),
        ("longest_ms", longest_ms.round()),
        ("fixed_p99_ms", (worst * 10.0).round() / 10.0),
    ];
    measures.extend(more.map(|(name, value)| (name.to_owned(), value)));
    Ok(Outcome {
        measures,
        pressure: watch.end(own)?,
    })
}

/// A run that must not be believed because the closed loop has the machine to itself is one to look at all the same.
fn bench(rig: &Rig, phase: &str, flags: &[&str]) -> Result<Value, Box<dyn Error>> {
    let head = ["bench", "--cluster", NAME, "--seed", "1", "--phases", phase];
    let tail = ["--in-flight", IN_FLIGHT, "--format", "json"];
    let output = rig.command(&[&head[..], flags, &tail].concat()).output()?;
    match output.status.code() {
        Some(0 | 5) => Ok(serde_json::from_slice(&output.stdout)?),
        _ => Err(String::from_utf8_lossy(&output.stderr).into_owned().into()),
    }
}

fn failures(total: &Value) -> f64 {
    let failed = total["failed"].as_object().into_iter().flatten();
    failed.filter_map(|(_, n)| n.as_f64()).sum()
}

fn seconds(us: &Value) -> f64 {
    us.as_f64().unwrap_or_default() / 1e6
}

fn node(rig: &Rig) -> Result<Value, Box<dyn Error>> {
    let list = rig.json(&["list"])?;
    Ok(list["clusters"][0]["nodes"][0].clone())
}

fn pid(rig: &Rig) -> Result<u32, Box<dyn Error>> {
    let pid = node(rig)?["pid"].as_u64().ok_or("the node does not run")?;
    Ok(u32::try_from(pid)?)
}

/// Anonymous PSS of the node, in 10^6 bytes.
pub(crate) fn anonymous_mb(rig: &Rig) -> Result<f64, Box<dyn Error>> {
    let node = node(rig)?;
    let bytes = node["memory"]["pss_anon_bytes"].as_f64();
    Ok((bytes.ok_or("the node's memory cannot be read")? / 1e6).round())
}

/// Seconds that the JVM stood still in its life so far, and its longest stop in milliseconds.
fn stops(log: &Path) -> Result<(f64, f64), Box<dyn Error>> {
    let mut reader = GcLog::default();
    let (mut all, mut longest) = (0.0, 0.0_f64);
    let text = fs_err::read_to_string(log)?;
    for stop in text.lines().filter_map(|line| reader.take(line)) {
        if let Stop::Safepoint(safepoint) = stop {
            let ms = (safepoint.to_ns - safepoint.from_ns) as f64 / 1e6;
            all += ms / 1000.0;
            longest = longest.max(ms);
        }
    }
    Ok((all, longest))
}
