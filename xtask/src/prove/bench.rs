//! `prove bench`: the main job, `helenus bench` with nothing said, from its start to its end, with and without a
//! class-data archive in the cache. Refuses to count a run whose verdict is invalid as done.

use super::campaign::{Bar, Campaign, Outcome, by_name};
use super::host::Watch;
use super::rig::Rig;
use super::start;
use serde_json::Value;
use std::error::Error;
use std::time::Instant;

pub(crate) const BENCH: Campaign = Campaign {
    name: "bench",
    about: "`helenus bench` with nothing said, on an empty cache but for the fetched release (first) and after it (next)",
    variants: &["first", "next"],
    bars: &[
        Bar::median("first", "wall_s", 90.0),
        Bar::median("first", "exit_code", 0.0),
    ],
    prepare: start::prepare,
    trial,
};

fn trial(rig: &Rig, variant: &str) -> Result<Outcome, Box<dyn Error>> {
    rig.clear()?;
    if variant == "first" {
        // What the second command of a machine's life finds, the first has to make.
        let archives = rig.context.paths.cache.join("archives");
        if archives.exists() {
            fs_err::remove_dir_all(archives)?;
        }
    }
    let watch = Watch::begin()?;
    let begin = Instant::now();
    let output = rig.command(&["bench", "--format", "json"]).output()?;
    let wall = begin.elapsed();
    let code = output.status.code().unwrap_or(-1);
    let report: Value = serde_json::from_slice(&output.stdout)
        .map_err(|e| format!("{e}: {}", String::from_utf8_lossy(&output.stderr)))?;
    let generator = &report["result"]["generator"];
    let cpu_s = generator["cpu_us"].as_f64().unwrap_or_default() / 1e6;
    let pressure = watch.end(cpu_s)?;
    let rate = report["result"]["phases"][0]["rate_per_s"]
        .as_f64()
        .unwrap_or_default();
    let measures = by_name([
        ("wall_s", (wall.as_secs_f64() * 10.0).round() / 10.0),
        ("exit_code", f64::from(code)),
        ("rate_per_s", rate),
        ("lateness_p99_us", worst_lateness(&report)),
    ]);
    rig.clear()?;
    Ok(Outcome { measures, pressure })
}

fn worst_lateness(report: &Value) -> f64 {
    let phases = report["result"]["phases"].as_array().into_iter().flatten();
    phases
        .filter_map(|p| p["total"]["lateness"]["p99_us"].as_f64())
        .fold(0.0, f64::max)
}
