//! `prove report`: how long the report of one hour at 1 s intervals, and that of an experiment of 200 runs, take to open in
//! headless Chromium: until the load event, and until the first charts are painted. Refuses a page that complains or asks for a network.

use super::campaign::{Bar, Campaign, Outcome, by_name};
use super::host::Watch;
use super::rig::Rig;
use helenus_record::report::{experiment_html, run_html};
use serde_json::Value;
use std::error::Error;
use std::path::PathBuf;
use std::process::Command;

#[path = "../../../crates/helenus-record/tests/report/values.rs"]
#[allow(
    dead_code,
    reason = "the tests of the reports want more of these values"
)]
pub(super) mod values;

#[path = "../../../crates/helenus-record/tests/report/made.rs"]
#[allow(dead_code, reason = "the tests of the reports look into it")]
mod made;

/// Seconds of each of the three phases: an hour with their warm-ups of 3 s.
const PHASE_S: u64 = 1197;

/// Samples of each operation in each second: enough for a p99.
const SAMPLES: u64 = 1000;

const fn within_2_s(variant: &'static str, measure: &'static str) -> Bar {
    Bar::median(variant, measure, 2000.0)
}

const fn within_mb(variant: &'static str, at_most: f64) -> Bar {
    Bar::every(variant, "size_mb", at_most)
}

pub(crate) const REPORT: Campaign = Campaign {
    name: "report",
    about: "reports of one hour of 3 nodes at 1 s, and of 200 runs, opened in headless Chromium: load event, first charts",
    variants: &["hour", "experiment"],
    bars: &[
        within_2_s("hour", "load_ms"),
        within_2_s("hour", "drawn_ms"),
        within_mb("hour", 1.0),
        within_2_s("experiment", "load_ms"),
        within_2_s("experiment", "drawn_ms"),
        within_mb("experiment", 1.0),
    ],
    prepare,
    trial,
};

fn page(rig: &Rig, variant: &str) -> PathBuf {
    rig.context.paths.state.join(format!("{variant}.html"))
}

fn prepare(rig: &Rig) -> Result<(), Box<dyn Error>> {
    let hour = values::run(&["write", "read", "mixed"], PHASE_S, SAMPLES);
    fs_err::create_dir_all(&rig.context.paths.state)?;
    fs_err::write(page(rig, "hour"), run_html(&hour.report()))?;
    let experiment = made::made();
    let experiment = experiment_html(&experiment.report());
    fs_err::write(page(rig, "experiment"), experiment)?;
    Ok(())
}

fn trial(rig: &Rig, variant: &str) -> Result<Outcome, Box<dyn Error>> {
    let watch = Watch::begin()?;
    let script = rig
        .root
        .join("crates/helenus-record/tests/report/browser.py");
    let venv = rig.root.join("target/ci/venv/bin/python3");
    let python = if venv.exists() {
        venv
    } else {
        PathBuf::from("python3")
    };
    let output = Command::new(python)
        .arg(script)
        .arg("open")
        .arg(page(rig, variant))
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(format!("{}: {}", output.status, said.trim()).into());
    }
    let times: Value = serde_json::from_str(&said)?;
    let ms = |name: &str| {
        times[name]
            .as_f64()
            .map(f64::round)
            .ok_or("a time is missing")
    };
    let measures = by_name([
        ("load_ms", ms("load_ms")?),
        ("drawn_ms", ms("drawn_ms")?),
        (
            "size_mb",
            (fs_err::metadata(page(rig, variant))?.len() as f64 / 1e4).round() / 100.0,
        ),
    ]);
    // The browser's own time counts as that of others: it is what is measured.
    Ok(Outcome {
        measures,
        pressure: watch.end(0.0)?,
    })
}
