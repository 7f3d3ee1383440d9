//! `prove wire`: what an operation costs the generator, beside latte and beside the bare loop, on one node and against the
//! null server. Refuses a figure of one tool without the others' in the same minute.

use super::campaign::{Bar, Campaign, Measures, Outcome, by_name, order, rounded};
use super::host::{Watch, now_unix};
use super::rig::{Life, Rig, checked};
use fs_err as fs;
use helenus_model::calibration;
use helenus_model::result::{Beside, PhaseResult};
use helenus_model::run_plan::RunPlan;
use helenus_model::samples::{Accumulator, SampleReader};
use helenus_model::seed::Seed;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use serde_json::Value;
use std::error::Error;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

pub(crate) const WIRE: Campaign = Campaign {
    name: "wire",
    about: "CPU an operation, times and rate of the generator, of latte (LATTE=path/to/latte) and of the bare loop, taking turns on one node",
    variants: &[
        "paced-3000",
        "paced-10000",
        "closed-1",
        "closed-64",
        "closed-256",
        "null",
    ],
    bars: &[
        Bar::median("paced-3000", "cpu_to_bare", 1.3),
        Bar::median("paced-10000", "cpu_to_bare", 1.3),
        Bar::median("closed-1", "cpu_to_bare", 1.3),
        Bar::median("paced-3000", "cpu_to_latte", 1.0),
        Bar::median("paced-10000", "cpu_to_latte", 1.0),
        Bar::median("closed-1", "cpu_to_latte", 1.0),
        Bar::median("closed-64", "cpu_to_latte", 0.25),
        Bar::median("closed-256", "cpu_to_latte", 0.25),
        Bar::median("paced-3000", "p50_to_latte", 1.0),
        Bar::median("paced-3000", "p99_to_latte", 1.0),
        Bar::median("paced-10000", "p50_to_latte", 1.0),
        Bar::median("paced-10000", "p99_to_latte", 1.0),
        Bar::median("closed-64", "latte_to_rate", 1.0 / 1.1),
        Bar::median("null", "bare_to_rate", 1.25),
        Bar::median("null", "late_p99_us", 100.0),
    ],
    prepare,
    trial,
};

/// Seconds that each tool runs.
const SECONDS: &str = "5";

/// The same where it uses so little CPU that starting up would be more than 1 % of it.
const SECONDS_OF_FEW: &str = "20";

/// Seconds for which a fresh node is loaded before anything is measured.
const SETTLES: &str = "12s";

/// Connections and operations in flight on each, against the null server.
const NULL_SHAPE: (&str, &str) = ("64", "32");

/// latte's statements: what `standard1` writes.
const WORKLOAD: &str = r#"
const INSERT = "insert";
pub async fn prepare(db) {
    db.prepare(INSERT, "INSERT INTO keyspace1.standard1 (key, \"C0\", \"C1\", \"C2\", \"C3\", \"C4\") VALUES (:k, :c0, :c1, :c2, :c3, :c4)").await?;
}
pub async fn run(db, i) {
    let b = latte::blob(i, 34);
    db.execute_prepared(INSERT, [latte::blob(i, 10), b, b, b, b, b]).await?
}
"#;

/// Places of two percentiles in latte's report, which names none: minimum, 1, 2, 5, 10, 25, 50, 75, 90, 95, 98, 99.
const P50: usize = 6;
const P99: usize = 11;

/// How a load is offered.
#[derive(Clone, Copy)]
enum Shape {
    Paced(&'static str),
    Closed(&'static str),
}

impl Shape {
    fn seconds(self) -> &'static str {
        match self {
            Self::Paced(_) | Self::Closed("1") => SECONDS_OF_FEW,
            Self::Closed(_) => SECONDS,
        }
    }
}

/// What one tool shows.
#[derive(Debug, Default)]
struct Shown {
    /// CPU of its whole process, starting up included, for each operation.
    cpu_us: f64,
    p50_us: f64,
    p99_us: f64,
    rate_per_s: f64,
}

fn prepare(rig: &Rig) -> Result<(), Box<dyn Error>> {
    latte()?;
    rig.clear()
}

fn latte() -> Result<PathBuf, Box<dyn Error>> {
    let path = std::env::var_os("LATTE").map(PathBuf::from);
    path.ok_or_else(|| {
        "LATTE must name latte's binary: cargo install latte-cli --version 0.29.0 --locked".into()
    })
}

fn trial(rig: &Rig, variant: &str) -> Result<Outcome, Box<dyn Error>> {
    rig.clear()?;
    let watch = Watch::begin()?;
    let measures = match variant {
        "null" => against_null(rig)?,
        "paced-3000" => on_a_node(rig, Shape::Paced("3000"))?,
        "paced-10000" => on_a_node(rig, Shape::Paced("10000"))?,
        "closed-1" => on_a_node(rig, Shape::Closed("1"))?,
        "closed-64" => on_a_node(rig, Shape::Closed("64"))?,
        _ => on_a_node(rig, Shape::Closed("256"))?,
    };
    rig.clear()?;
    // Everything that ran here was ours.
    let mut pressure = watch.end(0.0)?;
    pressure.others = 0.0;
    Ok(Outcome { measures, pressure })
}

/// The three tools, one after the other in an order of its own, on one node that has settled.
fn on_a_node(rig: &Rig, shape: Shape) -> Result<Measures, Box<dyn Error>> {
    rig.run(&["up", "wire", "--preset", "dev"])?;
    let settle = ["--closed", "--duration", SETTLES, "--warmup", "0s"];
    helenus(rig, &settle)?;
    let env = rig.json(&["env", "wire"])?;
    let point =
        super::believe::contact_point(&env).ok_or_else(|| format!("no contact point: {env}"))?;
    let mut shown = [Shown::default(), Shown::default(), Shown::default()];
    for tool in order(Seed(now_unix()), 0, shown.len()) {
        shown[tool] = match tool {
            0 => measure_helenus(rig, shape)?,
            1 => measure_latte(rig, &point, shape)?,
            _ => measure_bare(rig, &point, shape)?,
        };
    }
    let [ours, latte, bare] = &shown;
    let mut measures = Measures::new();
    let mut keep = |name: &str, value: f64| {
        measures.insert(name.to_owned(), rounded(value));
    };
    for (name, tool) in [("helenus", ours), ("latte", latte), ("bare", bare)] {
        keep(&format!("{name}_cpu_us"), tool.cpu_us);
        keep(&format!("{name}_p50_us"), tool.p50_us);
        keep(&format!("{name}_p99_us"), tool.p99_us);
        keep(&format!("{name}_per_s"), tool.rate_per_s);
    }
    keep("cpu_to_bare", ours.cpu_us / bare.cpu_us);
    keep("cpu_to_latte", ours.cpu_us / latte.cpu_us);
    keep("p50_to_latte", ours.p50_us / latte.p50_us);
    keep("p99_to_latte", ours.p99_us / latte.p99_us);
    keep("latte_to_rate", latte.rate_per_s / ours.rate_per_s);
    Ok(measures)
}

fn helenus(rig: &Rig, more: &[&str]) -> Result<Value, Box<dyn Error>> {
    let mut args = vec![
        "bench",
        "--cluster",
        "wire",
        "--phases",
        "write",
        "--format",
        "json",
    ];
    args.extend(more);
    let output = rig.command(&args).output()?;
    serde_json::from_slice(&output.stdout)
        .map_err(|e| format!("{e}: {}", String::from_utf8_lossy(&output.stderr)).into())
}

fn measure_helenus(rig: &Rig, shape: Shape) -> Result<Shown, Box<dyn Error>> {
    let seconds = format!("{}s", shape.seconds());
    let mut args = vec![
        "--duration",
        &seconds,
        "--warmup",
        "0s",
        "--arrivals",
        "constant",
    ];
    match shape {
        Shape::Paced(rate) => args.extend(["--rate", rate]),
        Shape::Closed(in_flight) => args.extend(["--closed", "--in-flight", in_flight]),
    }
    let report = helenus(rig, &args)?;
    let phase = &report["result"]["phases"][0];
    let number = |value: &Value| {
        value
            .as_f64()
            .ok_or_else(|| format!("no number: {report:.300}"))
    };
    Ok(Shown {
        cpu_us: number(&report["result"]["generator"]["cpu_per_operation_us"])?,
        p50_us: number(&phase["total"]["service"]["p50_us"])?,
        p99_us: number(&phase["total"]["service"]["p99_us"])?,
        rate_per_s: number(&phase["achieved_per_s"])?,
    })
}

fn measure_bare(rig: &Rig, point: &str, shape: Shape) -> Result<Shown, Box<dyn Error>> {
    let words = match shape {
        Shape::Paced(rate) => vec!["paced", rate],
        Shape::Closed(in_flight) => vec!["closed", in_flight, "1"],
    };
    run_bare(rig, [point, shape.seconds()], &words)
}

fn run_bare(rig: &Rig, where_how_long: [&str; 2], shape: &[&str]) -> Result<Shown, Box<dyn Error>> {
    let output = Command::new(rig.helenus.with_file_name("bare-loop"))
        .args(where_how_long)
        .args(shape)
        .output()?;
    let output = checked(&["bare"], output)?;
    let shown: Value = serde_json::from_slice(&output.stdout)?;
    let number = |name: &str| shown[name].as_f64().unwrap_or(f64::NAN);
    Ok(Shown {
        cpu_us: number("cpu_us"),
        p50_us: number("p50_us"),
        p99_us: number("p99_us"),
        rate_per_s: number("rate_per_s"),
    })
}

fn measure_latte(rig: &Rig, point: &str, shape: Shape) -> Result<Shown, Box<dyn Error>> {
    let folder = rig.context.paths.state.join("latte");
    fs::create_dir_all(&folder)?;
    let (workload, report) = (folder.join("wire.rn"), folder.join("wire.json"));
    let seconds = format!("{}s", shape.seconds());
    fs::write(&workload, WORKLOAD)?;
    let mut command = Command::new(latte()?);
    command
        .current_dir(&folder)
        .args(["run", "-q", "-w", "0s", "-d", &seconds, "-o"])
        .arg(&report);
    match shape {
        Shape::Paced(rate) => command.args(["-r", rate]),
        Shape::Closed(in_flight) => command.args(["-p", in_flight]),
    };
    let mut child = command
        .arg(&workload)
        .arg(point)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let cpu_us = cpu_of(&child)?;
    let status = child.wait()?;
    if !status.success() {
        return Err(format!("latte: {status}").into());
    }
    let parsed: Value = serde_json::from_str(&fs::read_to_string(&report)?)?;
    let result = &parsed["result"];
    let number = |value: &Value| {
        let value = value.get("value").unwrap_or(value);
        value
            .as_f64()
            .ok_or_else(|| format!("no number in latte's report: {result:.300}"))
    };
    let count = number(&result["cycle_count"])?;
    let percentile = |place: usize| number(&result["request_latency"]["percentiles"][place]);
    Ok(Shown {
        cpu_us: cpu_us / count,
        p50_us: percentile(P50)? * 1000.0,
        p99_us: percentile(P99)? * 1000.0,
        rate_per_s: number(&result["cycle_throughput"])?,
    })
}

/// CPU of a child over its whole life in microseconds, read once it has ended and before it is reaped.
fn cpu_of(child: &std::process::Child) -> Result<f64, Box<dyn Error>> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(pid.ok_or("no process id")?), ended)?;
    Ok(Life::of(child.id())?.cpu * 1e6)
}

/// The generator and the bare loop at their highest rate over many connections, and the generator at 50,000 a second.
fn against_null(rig: &Rig) -> Result<Measures, Box<dyn Error>> {
    let mut server = rig
        .command(&["__null"])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let measured = measure_null(rig, &mut server);
    drop(server.stdin.take());
    let _status = server.wait();
    measured
}

fn measure_null(rig: &Rig, server: &mut std::process::Child) -> Result<Measures, Box<dyn Error>> {
    let mut point = String::new();
    let output = server.stdout.take().ok_or("no output")?;
    BufReader::new(output).read_line(&mut point)?;
    let point = point.trim();
    let (connections, each) = NULL_SHAPE;
    let bare = run_bare(rig, [point, SECONDS], &["closed", each, connections])?;
    let limit = load_null(rig, point, |plan| {
        plan.connections = 64;
        plan.phases.truncate(1);
        plan.phases[0].rate_per_s = None;
        plan.phases[0].in_flight = 64 * 32;
    })?;
    let paced = load_null(rig, point, |plan| {
        plan.phases.truncate(1);
        plan.phases[0].rate_per_s = Some(50_000.0);
    })?;
    let late = paced.total.lateness.as_ref().ok_or("nothing started")?;
    let rate = limit.achieved_per_s;
    Ok(by_name([
        ("helenus_per_s", rate.round()),
        ("bare_per_s", bare.rate_per_s.round()),
        ("bare_to_rate", rounded(bare.rate_per_s / rate)),
        ("late_p50_us", late.p50_us.unwrap_or(f64::NAN)),
        ("late_p99_us", late.p99_us.unwrap_or(f64::NAN)),
    ]))
}

/// One load of the generator alone against the null server.
fn load_null(
    rig: &Rig,
    point: &str,
    shape: impl FnOnce(&mut RunPlan),
) -> Result<PhaseResult, Box<dyn Error>> {
    let mut plan = calibration::plan(point.parse()?, 3000);
    shape(&mut plan);
    let mut child = rig.command(&["__load"]).stdin(Stdio::piped()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(&serde_json::to_vec(&plan)?)?;
    }
    let output = child.stdout.take().ok_or("no output")?;
    let mut gathered = Accumulator::new(plan);
    let taken =
        SampleReader::new(BufReader::new(output)).try_for_each(|line| gathered.take(&line?));
    let _status = child.wait();
    taken?;
    let mut result = gathered.finish(&|_, _| Beside::default())?;
    Ok(result.phases.remove(0))
}
