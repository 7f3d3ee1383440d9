//! `prove pause`: 2,000/s with at most 64 in flight for 60 s, the node stopped for 1.5 s in between: where the stall
//! shows. Refuses to look at anything but the run's own JSON.

use super::campaign::{Bar, Campaign, Outcome, by_name};
use super::host::Watch;
use super::rig::Rig;
use super::start;
use helenus_model::histogram::Histogram;
use serde_json::Value;
use std::error::Error;
use std::io::Read as _;
use std::process::Stdio;
use std::time::Duration;

const NAME: &str = "p";

/// A stall longer than this counts.
const LONG_NS: u64 = 1_000_000_000;

const fn every(measure: &'static str, at_most: f64) -> Bar {
    Bar::every("helenus", measure, at_most)
}

pub(crate) const PAUSE: Campaign = Campaign {
    name: "pause",
    about: "2,000/s, 64 in flight, 60 s, the node paused for 1.5 s: response p99.9, long services, offered",
    variants: &["helenus"],
    bars: &[
        every("exit_code", 0.0),
        every("services_above_1s", 64.0),
        every("offered_off_by", 0.0),
        // p99.9 of the response time is at least a second: what is missing of it is at most zero.
        every("p999_short_of_1s_by_us", 0.0),
    ],
    prepare: start::prepare,
    trial,
};

fn trial(rig: &Rig, _only: &str) -> Result<Outcome, Box<dyn Error>> {
    rig.alone(|| {
        rig.run(&["up", NAME, "--preset", "dev"])?;
        stalled(rig)
    })
}

fn stalled(rig: &Rig) -> Result<Outcome, Box<dyn Error>> {
    let watch = Watch::begin()?;
    let words = [
        "bench",
        "--cluster",
        NAME,
        "--phases",
        "write",
        "--rate",
        "2000",
        "--in-flight",
        "64",
        "--duration",
        "60s",
        "--format",
        "json",
    ];
    let mut bench = rig.command(&words).stdout(Stdio::piped()).spawn()?;
    std::thread::sleep(Duration::from_secs(30));
    let node = format!("{NAME}/node1");
    rig.run(&["pause", &node])?;
    std::thread::sleep(Duration::from_millis(1500));
    rig.run(&["resume", &node])?;
    let mut text = String::new();
    if let Some(mut output) = bench.stdout.take() {
        output.read_to_string(&mut text)?;
    }
    let code = bench.wait()?.code().unwrap_or(-1);
    let report: Value = serde_json::from_str(&text)?;
    let write = &report["result"]["phases"][0]["total"];
    let cpu_us = report["result"]["generator"]["cpu_us"]
        .as_f64()
        .unwrap_or_default();
    let pressure = watch.end(cpu_us / 1e6)?;
    let long = |kind: &str| -> Result<f64, Box<dyn Error>> {
        let histogram: Histogram = serde_json::from_value(write[kind]["histogram"].clone())?;
        Ok(histogram.count_above(LONG_NS) as f64)
    };
    let number = |value: &Value| value.as_f64().unwrap_or_default();
    let p999 = number(&write["response"]["p999_us"]);
    let measures = by_name([
        ("exit_code", f64::from(code)),
        ("services_above_1s", long("service")?),
        ("responses_above_1s", long("response")?),
        ("slot_waits_above_1s", long("slot_wait")?),
        (
            "offered_off_by",
            (number(&write["offered"]) - 120_000.0).abs(),
        ),
        ("response_p999_us", p999),
        ("p999_short_of_1s_by_us", (1e6 - p999).max(0.0)),
        ("lateness_p99_us", number(&write["lateness"]["p99_us"])),
    ]);
    Ok(Outcome { measures, pressure })
}
