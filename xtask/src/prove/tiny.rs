//! `prove tiny`: a million writes, a million reads and a fixed rate on one node in 64 MB, beside the settings of 2013,
//! which get a fifth of the operations, and die of them more often than not. Refuses to count a tiny run with an error.

use super::campaign::{Bar, Campaign, Measures, Outcome};
use super::host::Watch;
use super::rig::{Life, Rig};
use super::start;
use helenus_model::gc_log::{GcLog, Stop};
use serde_json::Value;
use std::error::Error;
use std::path::Path;

const NAME: &str = "p";

/// Writes, and then reads, of a preset. The settings of 2013 take a quarter of an hour for a million, where they live to
/// see it; rates and stops are compared by operation.
fn operations(variant: &str) -> u64 {
    if variant == "doc001" {
        200_000
    } else {
        1_000_000
    }
}

/// What document 001's own generator kept in flight.
const IN_FLIGHT: &str = "50";

const fn tiny(measure: &'static str, at_most: f64) -> Bar {
    let variant = "tiny";
    Bar::median(variant, measure, at_most)
}

pub(crate) const TINY: Campaign = Campaign {
    name: "tiny",
    about: "1,000,000 writes, 1,000,000 checked reads at 50 in flight, then 1,000/s, on preset tiny; 200,000 of each on doc001",
    variants: &["tiny", "doc001"],
    bars: &[
        Bar::none("tiny", "errors"),
        tiny("anon_mb", 230.0),
        Bar::ratio("tiny", "doc001", "stopped_us_per_op", 0.2),
        Bar::every("tiny", "longest_ms", 500.0),
        // Twice the writes and 1.3 times the reads: half and 1/1.3 the other way round.
        Bar::ratio("doc001", "tiny", "writes_per_s", 0.5),
        Bar::ratio("doc001", "tiny", "reads_per_s", 0.769),
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
    rig.alone(|| {
        rig.run(&["up", NAME, "--preset", variant])?;
        measure(rig, variant)
    })
}

fn measure(rig: &Rig, variant: &str) -> Result<Outcome, Box<dyn Error>> {
    let state = rig.context.clusters.load(NAME)?;
    let log = Path::new(&state.plan.nodes[0].folder).join("logs/gc.log");
    let watch = Watch::begin()?;
    let mut used = Used::begin(rig)?;
    let mut seen = Seen::default();
    let mut population = operations(variant);
    let (mut ended, mut died) = (0.0, 0.0);
    let (mut stopped_s, mut longest_ms) = (0.0, 0.0_f64);
    for (phase, name) in [("write", "writes_per_s"), ("read", "reads_per_s")] {
        let count = population.to_string();
        let flags = ["--count", &count, "--population", &count, "--closed"];
        let report = bench(rig, phase, &flags)?;
        let rate = report["result"]["phases"][0]["achieved_per_s"].as_f64();
        seen.rates
            .push((name, rate.ok_or("no rate in the result")?.round()));
        seen.add(&report);
        let completed = report["result"]["phases"][0]["total"]["completed"].as_f64();
        ended += completed.unwrap_or_default();
        if pid(rig).is_err() {
            // What it wrote until then is read after a new start.
            died += 1.0;
            let (all, longest) = stops(&log)?;
            stopped_s += all;
            longest_ms = longest_ms.max(longest);
            rig.run(&["start", NAME])?;
            used.begin_again(rig)?;
            population = (completed.unwrap_or_default() as u64).max(1);
        }
        seen.anonymous = seen.anonymous.max(anonymous_mb(rig)?);
    }
    let (all, longest) = stops(&log)?;
    stopped_s += all;
    longest_ms = longest_ms.max(longest);
    let rows = population.to_string();
    let flags = ["--duration", "30s", "--warmup", "3s", "--rate", "1000"];
    let flags = [&flags[..], &["--population", &rows]].concat();
    let mut worst: f64 = 0.0;
    for phase in ["write", "read"] {
        let report = bench(rig, phase, &flags)?;
        seen.add(&report);
        if pid(rig).is_err() {
            died += 1.0;
            rig.run(&["start", NAME])?;
            used.begin_again(rig)?;
            continue;
        }
        let p99 = report["result"]["phases"][0]["total"]["response"]["p99_us"].as_f64();
        worst = worst.max(p99.ok_or("no response p99")? / 1000.0);
        seen.anonymous = seen.anonymous.max(anonymous_mb(rig)?);
    }
    let own = used.end()? + seen.generator;
    let more = [
        ("died", died),
        ("errors", seen.errors),
        ("anon_mb", seen.anonymous),
        ("stopped_s", (stopped_s * 100.0).round() / 100.0),
        (
            "stopped_us_per_op",
            (stopped_s * 1e7 / ended).round() / 10.0,
        ),
        ("longest_ms", longest_ms.round()),
        ("fixed_p99_ms", (worst * 10.0).round() / 10.0),
    ];
    let more = more.into_iter().chain(seen.rates);
    Ok(Outcome {
        measures: more
            .map(|(name, value)| (name.to_owned(), value))
            .collect::<Measures>(),
        pressure: watch.end(own)?,
    })
}

/// What the benches of a trial reported.
#[derive(Debug, Default)]
struct Seen {
    rates: Vec<(&'static str, f64)>,
    errors: f64,
    /// CPU seconds of the generators.
    generator: f64,
    /// Largest anonymous PSS of the node, in 10^6 bytes.
    anonymous: f64,
}

impl Seen {
    fn add(&mut self, report: &Value) {
        self.errors += failures(&report["result"]["phases"][0]["total"]);
        self.generator += seconds(&report["result"]["generator"]["cpu_us"]);
    }
}

/// CPU seconds of the node, over its lives.
struct Used {
    pid: u32,
    before: f64,
}

impl Used {
    fn begin(rig: &Rig) -> Result<Self, Box<dyn Error>> {
        let pid = pid(rig)?;
        let before = Life::of(pid)?.cpu;
        Ok(Self { pid, before })
    }

    /// What a life used that is over is not known any more.
    fn begin_again(&mut self, rig: &Rig) -> Result<(), Box<dyn Error>> {
        *self = Self::begin(rig)?;
        Ok(())
    }

    fn end(&self) -> Result<f64, Box<dyn Error>> {
        Ok(Life::of(self.pid)?.cpu - self.before)
    }
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
