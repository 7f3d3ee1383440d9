//! `prove live`: what it costs a run to be shown on the screen of a terminal, and to be read by a Prometheus every second.
//! Refuses to count the node: its CPU is of another process.

use super::campaign::{Bar, Campaign, Outcome, by_name};
use super::count::children;
use super::host::Watch;
use super::rig::{Rig, checked};
use std::error::Error;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const NAME: &str = "live";

/// Where the run is served to the reader.
const ADDRESS: &str = "127.0.0.1:19190";

/// How often it is read.
const READ_EVERY: Duration = Duration::from_secs(1);

const fn at_most(variant: &'static str) -> Bar {
    Bar::median(variant, "cost_percent", 2.0)
}

pub(crate) const LIVE: Campaign = Campaign {
    name: NAME,
    about: "CPU that the screen of a run, and its metrics, cost beside a run with neither, as a share of the generator's",
    variants: &["screen", "metrics"],
    bars: &[at_most("screen"), at_most("metrics")],
    prepare: Rig::clear,
    trial,
};

fn trial(rig: &Rig, variant: &str) -> Result<Outcome, Box<dyn Error>> {
    rig.clear()?;
    rig.run(&["up", NAME])?;
    // The first run makes the tables, and warms the node up.
    one(rig, "plain")?;
    let watch = Watch::begin()?;
    let plain = one(rig, "plain")?;
    let shown = one(rig, variant)?;
    let pressure = watch.end(plain.all_s + shown.all_s)?;
    rig.clear()?;
    let cost = (shown.beside() - plain.beside()) / plain.generator_s * 100.0;
    let measures = by_name([
        ("cost_percent", cost),
        ("plain_beside_s", plain.beside()),
        ("shown_beside_s", shown.beside()),
        ("plain_generator_s", plain.generator_s),
        ("shown_generator_s", shown.generator_s),
    ]);
    Ok(Outcome { measures, pressure })
}

/// CPU seconds of a run.
struct Used {
    /// Of its generator.
    generator_s: f64,
    /// Of all its processes.
    all_s: f64,
}

impl Used {
    /// Of what stands beside the generator: it watches, shows and keeps.
    fn beside(&self) -> f64 {
        self.all_s - self.generator_s
    }
}

/// A run of 20 s at 3,000 writes a second, at a terminal in every variant.
fn one(rig: &Rig, variant: &str) -> Result<Used, Box<dyn Error>> {
    let mut line = format!(
        "{} run standard1 --cluster {NAME} --ops write=1 --rate 3000 --duration 20s --warmup 2s --seed 1",
        rig.helenus.display()
    );
    match variant {
        "screen" => line.push_str(" --live screen"),
        "metrics" => line.push_str(&format!(" --quiet --metrics {ADDRESS}")),
        _ => line.push_str(" --quiet"),
    }
    let before = children()?;
    let over = AtomicBool::new(false);
    let output = std::thread::scope(|scope| {
        if variant == "metrics" {
            scope.spawn(|| read_until(&over));
        }
        let output = Command::new("script")
            .args(["-qec", &line, "/dev/null"])
            .env_clear()
            .envs(&rig.context.env.vars)
            .env("TERM", "xterm-256color")
            .stdin(Stdio::null())
            .output();
        over.store(true, Ordering::Relaxed);
        output
    });
    checked(&["run"], output?)?;
    let all_s = children()? - before;
    let run = rig.json(&["history", "show", "@last"])?;
    let used = run.pointer("/run/result/generator/cpu_us");
    let used = used.or_else(|| run.pointer("/result/generator/cpu_us"));
    let generator_us = used
        .and_then(serde_json::Value::as_f64)
        .ok_or("history show names no CPU of the generator")?;
    Ok(Used {
        generator_s: generator_us / 1e6,
        all_s,
    })
}

/// Reads the metrics every second, as a Prometheus does.
fn read_until(over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        std::thread::sleep(READ_EVERY);
        // Before the run serves, and after, there is nobody.
        if let Ok(mut stream) = TcpStream::connect(ADDRESS) {
            let asked = write!(stream, "GET /metrics HTTP/1.0\r\nHost: {ADDRESS}\r\n\r\n");
            let mut page = String::new();
            let _gone = asked.and_then(|()| stream.read_to_string(&mut page));
        }
    }
}
