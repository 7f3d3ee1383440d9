//! `prove ui`: how long the pages of `helenus ui` take over a history of 2,000 runs: the list, a comparison of six runs with six,
//! a trend over all. Refuses a page that is not there.

use super::campaign::{Bar, Campaign, Outcome, by_name};
use super::host::Watch;
use super::open::values;
use super::rig::Rig;
use helenus_record::{Ending, History, RunBeginning, RunFilter};
use rustix::process::{Pid, Signal, kill_process};
use std::error::Error;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Instant;

/// Runs in the history.
const RUNS: usize = 2000;

/// Requests behind the first.
const AGAIN: usize = 5;

const fn within(variant: &'static str, at_most: f64) -> Bar {
    Bar::median(variant, "first_ms", at_most)
}

pub(crate) const SITE: Campaign = Campaign {
    name: "ui",
    about: "pages of helenus ui over 2,000 runs: the list, six runs against six, a trend; first request, and later ones",
    variants: &["list", "compare", "trend"],
    bars: &[within("list", 300.0), within("compare", 1000.0)],
    prepare,
    trial,
};

fn home(rig: &Rig) -> PathBuf {
    rig.context.paths.state.join("site")
}

/// A history of runs, an hour apart; made once.
fn prepare(rig: &Rig) -> Result<(), Box<dyn Error>> {
    let mut history = History::open(&home(rig).join("state").join(helenus_record::FILE))?;
    let there = history.runs(&RunFilter::default())?.len();
    let measured = values::run(&["write", "read"], 12, 2000);
    let report = measured.report();
    let result = report.run.result.as_ref().ok_or("no result")?;
    let plan = report.run.plan()?;
    for at in there..RUNS {
        let began = RunBeginning {
            plan: &plan,
            release: Some("5.0.9"),
            preset: Some("dev"),
            jvm: None,
            host: &report.run.host,
            cluster_plan: None,
            life: None,
            helenus_version: &report.run.helenus_version,
            command: &report.run.command,
            began_wall_ns: 1_750_000_000_000_000_000 + at as u64 * 3_600_000_000_000,
            tag: Some("nightly"),
            place: None,
        };
        let run = history.begin_run(&began)?;
        history.add_intervals(run, report.intervals)?;
        history.finish_run(run, result, Ending::Complete)?;
    }
    Ok(())
}

fn path(variant: &str) -> String {
    let side = |letter: &str, from: usize| -> Vec<String> {
        let runs = (from..from + 12).step_by(2);
        runs.map(|run| format!("{letter}=r{run}")).collect()
    };
    match variant {
        "list" => String::new(),
        "trend" => "trend?tag=nightly".to_owned(),
        _ => format!(
            "compare?{}&{}",
            side("a", 101).join("&"),
            side("b", 102).join("&")
        ),
    }
}

fn trial(rig: &Rig, variant: &str) -> Result<Outcome, Box<dyn Error>> {
    let watch = Watch::begin()?;
    let mut child = rig
        .command(&["ui"])
        .env("HELENUS_HOME", home(rig))
        .spawn()?;
    let asked = ask(&mut child, variant);
    let ended = kill_process(Pid::from_child(&child), Signal::INT);
    child.wait()?;
    let times = asked?;
    ended?;
    let mut later = times[1..].to_vec();
    later.sort_by(f64::total_cmp);
    let measures = by_name([("first_ms", times[0]), ("later_ms", later[later.len() / 2])]);
    Ok(Outcome {
        measures,
        pressure: watch.end(0.0)?,
    })
}

/// The times of some requests, in milliseconds.
fn ask(child: &mut std::process::Child, variant: &str) -> Result<Vec<f64>, Box<dyn Error>> {
    let out = child.stdout.take().ok_or("no output")?;
    let mut line = String::new();
    BufReader::new(out).read_line(&mut line)?;
    let url = line
        .split("http://")
        .nth(1)
        .and_then(|rest| rest.split(';').next());
    let (at, base) = url
        .and_then(|url| url.split_once('/'))
        .ok_or("no address")?;
    let mut times = Vec::new();
    for _ in 0..=AGAIN {
        let begin = Instant::now();
        let mut stream = TcpStream::connect(at)?;
        let path = path(variant);
        write!(stream, "GET /{base}{path} HTTP/1.0\r\nHost: {at}\r\n\r\n")?;
        let mut page = String::new();
        stream.read_to_string(&mut page)?;
        times.push((begin.elapsed().as_secs_f64() * 1e5).round() / 100.0);
        if !page.starts_with("HTTP/1.0 200") {
            return Err(format!("{variant}: {}", page.lines().next().unwrap_or_default()).into());
        }
    }
    Ok(times)
}
