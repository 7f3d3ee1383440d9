//! `prove wan15`: three data centres of five tiny nodes, 80 ms apart, from one command: time to ready and idle memory.
//! Refuses a start that some node does not see whole: `up` waits for every view.

use super::campaign::{Bar, Campaign, Outcome, by_name};
use super::fifteen::{anonymous_gb, cpu, pids};
use super::host::Watch;
use super::rig::Rig;
use super::start;
use std::error::Error;
use std::time::{Duration, Instant};

const IDLE: Duration = Duration::from_secs(30);

const UP: [&str; 7] = ["up", "wan", "-n", "5:5:5", "--preset=tiny", "--rtt", "80ms"];

const fn median(measure: &'static str, at_most: f64) -> Bar {
    Bar::median("5:5:5", measure, at_most)
}

pub(crate) const WAN15: Campaign = Campaign {
    name: "wan15",
    about: "`up -n 5:5:5 --preset tiny --rtt 80ms`: time until every node sees all, memory when nobody uses them",
    variants: &["5:5:5"],
    bars: &[
        median("up_s", 75.0),
        median("idle_gb", 2.9),
        median("up_s", 45.0).as_aim(),
    ],
    prepare: start::prepare,
    trial: |rig, _| rig.alone(|| measure(rig)),
};

fn measure(rig: &Rig) -> Result<Outcome, Box<dyn Error>> {
    let watch = Watch::begin()?;
    let begin = Instant::now();
    let ready = rig.json(&UP)?;
    let up = begin.elapsed().as_secs_f64();
    let pressure = watch.end(cpu(&pids(&ready["nodes"])?)?)?;
    std::thread::sleep(IDLE);
    let measures = [
        ("up_s", (up * 10.0).round() / 10.0),
        ("idle_gb", anonymous_gb(&rig.json(&["list"])?)?),
    ];
    Ok(Outcome {
        measures: by_name(measures),
        pressure,
    })
}
