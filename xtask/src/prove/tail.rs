//! `prove tail`: a node of real Cassandra stopped for 50 ms, or made to collect, once in each second: whether that is named
//! as the cause of p99.9; and how often anything is named once the times of the slowest operations are permuted.
//! Refuses to look at anything but the run's own JSON and its history.

use super::campaign::{Bar, Campaign, Measures, Outcome, by_name, rounded};
use super::host::Watch;
use super::rig::Rig;
use helenus_cluster::attach::jcmd;
use helenus_cluster::observe;
use helenus_model::result::{PhaseResult, RunResult};
use helenus_model::sample::MeasuredFrom;
use helenus_model::seed::Seed;
use helenus_model::stats::Draw;
use helenus_model::tail::{Cause, Evidence, Tail, TailAbove};
use helenus_record::History;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::error::Error;
use std::io::Read as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

const NAME: &str = "p";

/// Before the run: what a young JVM stops for by itself is longer than what is planted.
const SETTLES: &[&str] = &[
    "bench",
    "--cluster",
    NAME,
    "--phases",
    "write",
    "--rate",
    "2000",
    "--duration",
    "20s",
];

/// Heap and young generation of the node that is stopped: so large that it does not collect in the run. A collection of 200 MB
/// takes longer than what is planted, and is rightly named then.
const COLLECTS_NOTHING: &[&str] = &["--heap", "6G", "--new-heap", "5G"];

/// How long the node is stopped in each second.
const STOPPED: Duration = Duration::from_millis(50);

/// Permutations of a run's times.
const PERMUTED: u64 = 200;

/// How many of them may be given a cause: 5 % are 10, and 18 and more come by chance in 1 of 100.
const BLAMED_MOST: f64 = 17.0;

/// How many of each variant, where the person does not say.
pub(crate) const REPEATS: usize = 20;

pub(crate) const TAIL: Campaign = Campaign {
    name: "tail",
    about: "50 ms of SIGSTOP, or a collection, in each second of real Cassandra: named as the cause of p99.9; permuted times: no cause",
    variants: &["pause", "collection"],
    bars: &[
        Bar::none("pause", "not_named"),
        Bar::none("collection", "not_named"),
        blamed("pause"),
        blamed("collection"),
    ],
    prepare: Rig::clear,
    trial,
};

const fn blamed(variant: &'static str) -> Bar {
    Bar::every(variant, "blamed_of_200_permuted", BLAMED_MOST)
}

fn trial(rig: &Rig, variant: &str) -> Result<Outcome, Box<dyn Error>> {
    let heap = match variant {
        "pause" => COLLECTS_NOTHING,
        _ => &[],
    };
    rig.alone(|| {
        rig.run(&[&["up", NAME, "--preset", "dev"], heap].concat())?;
        planted(rig, variant)
    })
}

fn planted(rig: &Rig, variant: &str) -> Result<Outcome, Box<dyn Error>> {
    let state = rig.context.clusters.load(NAME)?;
    let pids = observe::pids(&state);
    let (_, pid) = pids.first().ok_or("the cluster has no node")?;
    let pid = pid.ok_or("the node does not run")?;
    let words = [
        "bench",
        "--cluster",
        NAME,
        "--phases",
        "write",
        "--rate",
        "1000",
        "--in-flight",
        "64",
        "--warmup",
        "5s",
        "--duration",
        "30s",
        "--format",
        "json",
    ];
    // Whatever this one is worth.
    let _settled = rig.command(SETTLES).output()?;
    let watch = Watch::begin()?;
    let mut bench = rig.command(&words).stdout(Stdio::piped()).spawn()?;
    let mut output = bench.stdout.take().ok_or("no output")?;
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        output.read_to_string(&mut text).map(|_| text)
    });
    let seed = u64::try_from(pid).unwrap_or_default() ^ super::host::now_unix();
    let mut draw = Draw::new(Seed(seed));
    let began = Instant::now();
    for second in 0.. {
        // Some moment of each second: what has the beat of a clock has that of many things.
        let moment = Duration::from_secs_f64(f64::from(second) + 0.9 * draw.uniform());
        std::thread::sleep(moment.saturating_sub(began.elapsed()));
        if bench.try_wait()?.is_some() {
            break;
        }
        match variant {
            "pause" => stop(pid)?,
            _ => drop(jcmd(pid, "GC.run")?),
        }
    }
    let _status = bench.wait()?;
    let text = reader.join().map_err(|_| "the reader is gone")??;
    let report: Value = serde_json::from_str(&text)?;
    let result: RunResult = serde_json::from_value(report["result"].clone())?;
    let cpu_s = result
        .generator
        .as_ref()
        .map_or(0.0, |g| g.cpu_us as f64 / 1e6);
    let pressure = watch.end(cpu_s)?;
    let phase = result.phases.first().ok_or("no phase")?;
    let tail = phase.around.tail.as_ref().ok_or("no tail")?;
    let wanted = match variant {
        "pause" => Cause::Paused,
        _ => Cause::Collection,
    };
    let mut measures = named(tail.p999.as_ref().ok_or("no p99.9")?, wanted);
    let blamed = permuted(rig, phase)?;
    measures.insert("blamed_of_200_permuted".to_owned(), blamed);
    Ok(Outcome { measures, pressure })
}

fn stop(pid: i32) -> Result<(), Box<dyn Error>> {
    let process = Pid::from_raw(pid).ok_or("no process")?;
    kill_process(process, Signal::STOP)?;
    std::thread::sleep(STOPPED);
    // Whatever became of the run: a stopped node would stay so.
    kill_process(process, Signal::CONT)?;
    Ok(())
}

/// What was found of the planted cause.
fn named(above: &TailAbove, wanted: Cause) -> Measures {
    let first = above.named().next();
    let found = above.overlaps.iter().find(|one| one.cause == wanted);
    let mut measures = by_name([
        (
            "not_named",
            f64::from(u8::from(first.is_none_or(|one| one.cause != wanted))),
        ),
        ("p999_ms", rounded(above.above_us / 1e3)),
        ("operations", above.operations as f64),
        ("judged", above.judged as f64),
        (
            "others_named",
            above.named().filter(|one| one.cause != wanted).count() as f64,
        ),
    ]);
    if let Some(found) = found {
        measures.insert("share".to_owned(), rounded(found.share));
        let chance = found.by_chance.unwrap_or_default();
        measures.insert("share_by_chance".to_owned(), rounded(chance));
        measures.insert("p_holm".to_owned(), rounded(found.p_holm.unwrap_or(1.0)));
    }
    measures
}

/// How often a cause is named when the times of the newest run's slowest operations are permuted.
fn permuted(rig: &Rig, phase: &PhaseResult) -> Result<f64, Box<dyn Error>> {
    let history = History::open(&rig.context.paths.state.join(helenus_record::FILE))?;
    let newest = history.latest()?.ok_or("no run")?;
    let evidence = Evidence::of(&history.readings(newest.id)?);
    let from_ns = MeasuredFrom::of(&history.intervals(newest.id)?).ok_or("no interval")?;
    let window = (from_ns, from_ns + (phase.duration_s * 1e9) as u64);
    let times = phase.total.response.as_ref().ok_or("no response times")?;
    let limits = [0.99, 0.999].map(|quantile| {
        let ns = times.histogram.percentile_ns(quantile)?;
        Some((ns, times.histogram.count_above(ns)))
    });
    let names_any = |tail: &Tail| {
        let mut tails = tail.p99.iter().chain(&tail.p999);
        tails.any(|above| above.named().next().is_some())
    };
    let blamed = (0..PERMUTED).filter(|number| {
        let permuted = evidence.permuted(window, Seed(*number));
        let tail = permuted.tail(window, limits, Seed(*number));
        tail.is_some_and(|tail| names_any(&tail))
    });
    Ok(blamed.count() as f64)
}
