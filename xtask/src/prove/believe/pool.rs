//! The pool: restarts of identical settings on real Cassandra, one short run in each; beside it, where it is given,
//! a run of latte on the same node. Refuses to choose: every restart that ran is in the pool.

use crate::prove::campaign::{Measures, Outcome, by_name, rounded};
use crate::prove::host::Watch;
use crate::prove::rig::{Rig, checked};
use serde_json::Value;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Restarts of one kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pool {
    /// What the journal calls its trials.
    pub(super) variant: &'static str,
    /// What it is.
    pub(super) about: &'static str,
    /// Restarts.
    pub(super) restarts: usize,
    /// Flag of the JVM, besides those of the preset `dev`.
    jvm: Option<&'static str>,
    /// Operations a second: a third of what the node takes on two cores, so that nothing saturates.
    rate: &'static str,
    warmup: &'static str,
    duration: &'static str,
    /// Rounds in which latte runs too: any two of them make a comparison.
    latte_rounds: usize,
}

/// The pool that is held to the bars: compiled by the first compiler alone, a node is settled after two seconds, so
/// that a short run shows the node and not how far its compiler has come.
pub(super) const SETTLED: Pool = Pool {
    variant: "restart-c1",
    about: "preset dev with -XX:TieredStopAtLevel=1, 2 s of warm-up, 3 s of writes at 1,000/s",
    restarts: 120,
    jvm: Some("-XX:TieredStopAtLevel=1"),
    rate: "1000",
    warmup: "2s",
    duration: "3s",
    latte_rounds: 0,
};

/// The same while both compilers are at work: what a run that is too short is like. latte runs beside it.
pub(super) const COMPILING: Pool = Pool {
    variant: "restart",
    about: "preset dev, 2 s of warm-up, 4 s of writes at 1,500/s, both compilers still at work",
    restarts: 60,
    jvm: None,
    rate: LATTE_RATE,
    warmup: "2s",
    duration: "4s",
    latte_rounds: 60,
};

/// Operations a second of latte's runs.
const LATTE_RATE: &str = "1500";

/// Where the environment names latte's binary, its figures are taken too.
const LATTE: &str = "LATTE";

/// The statements and the length of latte's run: what `standard1` writes, at the same rate.
const WORKLOAD: &str = r#"
const INSERT = "insert";
pub async fn schema(db) {
    db.execute("CREATE KEYSPACE IF NOT EXISTS latte WITH REPLICATION = { 'class' : 'SimpleStrategy', 'replication_factor' : 1 }").await?;
    db.execute("CREATE TABLE IF NOT EXISTS latte.standard1 (id bigint PRIMARY KEY, c0 blob, c1 blob, c2 blob, c3 blob, c4 blob)").await?;
}
pub async fn prepare(db) {
    db.prepare(INSERT, "INSERT INTO latte.standard1 (id, c0, c1, c2, c3, c4) VALUES (:id, :c0, :c1, :c2, :c3, :c4)").await?;
}
pub async fn run(db, i) {
    let b = latte::blob(i, 34);
    db.execute_prepared(INSERT, [i, b, b, b, b, b]).await?
}
"#;

/// Where latte's report of a round is kept, below the rig's state.
pub(super) fn latte_report(rig: &Rig, round: usize) -> PathBuf {
    rig.context.paths.state.join(format!("latte-{round}.json"))
}

/// latte's binary, where the environment names it.
pub(super) fn latte() -> Option<PathBuf> {
    std::env::var_os(LATTE).map(PathBuf::from)
}

/// One restart.
pub(super) fn trial(rig: &Rig, pool: &Pool, round: usize) -> Result<Outcome, Box<dyn Error>> {
    rig.clear()?;
    let watch = Watch::begin()?;
    let mut up = vec!["up", "pool", "--preset", "dev"];
    let flag = pool.jvm.map(|flag| format!("--jvm={flag}"));
    up.extend(flag.as_deref());
    rig.run(&up)?;
    // Each pair has data of its own: the same in its two restarts.
    let seed = (1000 + round / 2).to_string();
    let args = [
        "bench",
        "--cluster",
        "pool",
        "--phases",
        "write",
        "--rate",
        pool.rate,
        "--warmup",
        pool.warmup,
        "--duration",
        pool.duration,
        "--seed",
        &seed,
        "--tag",
        "pool",
        "--format",
        "json",
    ];
    let output = rig.command(&args).output()?;
    let report: Value = serde_json::from_slice(&output.stdout)
        .map_err(|e| format!("{e}: {}", String::from_utf8_lossy(&output.stderr)))?;
    let mut measures = measures(&report, &output.status)?;
    if let Some(latte) = latte().filter(|_| round < pool.latte_rounds) {
        let env = rig.json(&["env", "pool"])?;
        measures.extend(run_latte(rig, &latte, &env, round)?);
    }
    rig.clear()?;
    let mut pressure = watch.end(0.0)?;
    // Up and latte count as work here; what others did during the measurement, the run itself reports.
    pressure.others = measures.get("foreign").copied().unwrap_or(pressure.others);
    Ok(Outcome { measures, pressure })
}

/// The numbers of a bench of one phase: those of its response and service times, and CPU.
pub(super) fn measures(
    report: &Value,
    status: &std::process::ExitStatus,
) -> Result<Measures, Box<dyn Error>> {
    let phase = &report["result"]["phases"][0];
    let total = &phase["total"];
    let mut measures = by_name([("exit_code", f64::from(status.code().unwrap_or(-1)))]);
    for times in ["service", "response"] {
        for name in ["mean_us", "p50_us", "p90_us", "p95_us", "p99_us"] {
            if let Some(us) = total[times][name].as_f64() {
                measures.insert(format!("{times}_{name}"), (us * 10.0).round() / 10.0);
            }
        }
    }
    let around = &phase["around"];
    let mut keep = |name: &str, value: Option<f64>| {
        if let Some(value) = value {
            measures.insert(name.to_owned(), rounded(value));
        }
    };
    keep("node_cpu_us", around["nodes_cpu_per_operation_us"].as_f64());
    keep("steal", around["steal_share"].as_f64());
    keep("foreign", around["foreign_cpu_share"].as_f64());
    let generator = &report["result"]["generator"];
    keep(
        "generator_cpu_us",
        generator["cpu_per_operation_us"].as_f64(),
    );
    if measures.contains_key("service_p50_us") {
        Ok(measures)
    } else {
        Err(format!("no service time: {report:.300}").into())
    }
}

fn run_latte(
    rig: &Rig,
    latte: &Path,
    env: &Value,
    round: usize,
) -> Result<Measures, Box<dyn Error>> {
    let point = contact_point(env).ok_or_else(|| format!("no contact point: {env}"))?;
    let folder = rig.context.paths.state.join("latte");
    fs_err::create_dir_all(&folder)?;
    let workload = folder.join("standard1.rn");
    fs_err::write(&workload, WORKLOAD)?;
    let report = latte_report(rig, round);
    let run = |args: &[&std::ffi::OsStr]| -> Result<(), Box<dyn Error>> {
        let output = Command::new(latte)
            .current_dir(&folder)
            .args(args)
            .output()?;
        checked(&["latte"], output).map(|_| ())
    };
    run(&["schema".as_ref(), workload.as_os_str(), point.as_ref()])?;
    run(&[
        "run".as_ref(),
        "-q".as_ref(),
        "-r".as_ref(),
        LATTE_RATE.as_ref(),
        "-w".as_ref(),
        "1500ms".as_ref(),
        "-d".as_ref(),
        "4s".as_ref(),
        "-s".as_ref(),
        "400ms".as_ref(),
        "-o".as_ref(),
        report.as_os_str(),
        workload.as_os_str(),
        point.as_ref(),
    ])?;
    Ok(by_name([("latte", 1.0)]))
}

/// `ADDRESS:PORT` of the first node, out of `helenus env --format json`.
pub(in crate::prove) fn contact_point(env: &Value) -> Option<String> {
    let text = env.to_string();
    let at = text.find("127.")?;
    let host: String = text[at..]
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == '.' || *c == ':')
        .collect();
    Some(if host.contains(':') {
        host
    } else {
        format!("{host}:9042")
    })
}
