//! `prove upgrade`: three nodes from 4.1 to 5.0 through all storage compatibility modes, under writes at QUORUM; the
//! ledger is read back. Refuses to count a write that no node acknowledged.

use super::campaign::{Bar, Campaign, Outcome, by_name};
use super::host::Watch;
use super::rig::{Rig, checked};
use super::start;
use serde_json::Value;
use std::error::Error;
use std::time::{Duration, Instant};

const NAME: &str = "u";

/// Before the first node is stopped.
const AHEAD: Duration = Duration::from_secs(10);

const fn every(measure: &'static str, at_most: f64) -> Bar {
    Bar::every("4.1 to 5.0", measure, at_most)
}

pub(crate) const UPGRADE: Campaign = Campaign {
    name: "upgrade",
    about: "three nodes from 4.1 to 5.0 under 500 writes a second at QUORUM: what the ledger misses, how long it takes",
    variants: &["4.1 to 5.0"],
    bars: &[every("lost", 0.0), every("upgrade_s", 600.0)],
    prepare: start::prepare,
    trial: |rig, _| rig.alone(|| upgraded(rig)),
};

fn upgraded(rig: &Rig) -> Result<Outcome, Box<dyn Error>> {
    rig.run(&["up", NAME, "-n", "3", "--cassandra", "4.1"])?;
    let ledger = rig.trial_folder()?.join("ledger");
    let ledger = ledger.to_string_lossy().into_owned();
    let words = [
        "run",
        "standard1",
        "--cluster",
        NAME,
        "--ops",
        "write=1",
        "--cl",
        "QUORUM",
        "--rate",
        "500",
        "--duration",
        "30m",
        "--ledger",
        &ledger,
    ];
    let watch = Watch::begin()?;
    let mut run = rig.command(&words).spawn()?;
    std::thread::sleep(AHEAD);
    let begin = Instant::now();
    let done = rig.json(&["upgrade", NAME, "--to", "5.0"]);
    let took = begin.elapsed().as_secs_f64();
    let pid = i32::try_from(run.id())
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        // It ends as a person would end it: what was acknowledged is in its ledger.
        rustix::process::kill_process(pid, rustix::process::Signal::INT)?;
    }
    run.wait()?;
    let steps = done?["steps"].as_array().map_or(0, Vec::len);
    let pressure = watch.end(0.0)?;
    let words = [
        "ledger",
        "check",
        &ledger,
        "--cluster",
        NAME,
        "--format",
        "json",
    ];
    let output = rig.command(&words).output()?;
    let output = match output.status.code() {
        // Lost writes are counted below.
        Some(0 | 1) => output,
        _ => checked(&words, output)?,
    };
    let said: Value = serde_json::from_slice(&output.stdout)?;
    let count = |class: &str| said["tables"][0][class].as_f64().unwrap_or(f64::NAN);
    let measures = [
        ("upgrade_s", (took * 10.0).round() / 10.0),
        ("steps", steps as f64),
        ("present", count("present")),
        ("indeterminate", count("indeterminate")),
        ("lost", count("lost")),
    ];
    Ok(Outcome {
        measures: by_name(measures),
        pressure,
    })
}
