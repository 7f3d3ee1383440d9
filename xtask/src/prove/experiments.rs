//! `prove planted` and `prove killed`: experiments at the fake node that serves, where the truth is exact. Planted effects
//! are found and nothing else is; ten kills change neither what runs, nor its order, nor the answer.
//! Refuses to steer: seeds and moments are drawn, and stand with the trial.

use super::campaign::{Bar, Campaign, Measures, Outcome};
use super::host::Watch;
use super::rig::Rig;
use super::start;
use helenus_cluster::random::random;
use helenus_model::seed::Seed;
use serde_json::Value;
use std::error::Error;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Six factors: one is a delay of 10 % in the node's path, one makes its own work 5 % longer, four do nothing.
const PLANTED_FILE: &str = r#"
name = "planted"
measure = "service.p50"
repeats = 7
announce = false

[cluster]
jvm = ["-Dfake.life_sd=0.01", "-Dfake.tail=20"]

[workload]
workload = "standard1"
ops = "write=1"
rate = 1500
warmup = "200ms"
duration = "1s"

[[factor]]
name = "reads"
kind = "restart"
levels = [{ label = "8", set = ["concurrent_reads=8"] }, { label = "16", set = ["concurrent_reads=16"] }]

[[factor]]
name = "delay"
kind = "restart"
levels = [{ label = "none" }, { label = "2ms", jvm = ["-Dfake.delay_us=2000"] }]

[[factor]]
name = "writes"
kind = "restart"
levels = [{ label = "8", set = ["concurrent_writes=8"] }, { label = "16", set = ["concurrent_writes=16"] }]

[[factor]]
name = "body"
kind = "restart"
levels = [{ label = "20ms", jvm = ["-Dfake.body=20"] }, { label = "21ms", jvm = ["-Dfake.body=21"] }]

[[factor]]
name = "fsync"
kind = "restart"
levels = [{ label = "yes", set = ["trickle_fsync=true"] }, { label = "no", set = ["trickle_fsync=false"] }]

[[factor]]
name = "property"
kind = "restart"
levels = [{ label = "without" }, { label = "with", jvm = ["-Dnobody.reads=it"] }]

[[combination]]
reads = "8"
[[combination]]
reads = "16"
[[combination]]
delay = "2ms"
[[combination]]
writes = "16"
[[combination]]
body = "21ms"
[[combination]]
fsync = "no"
[[combination]]
property = "with"
"#;

/// Factors that do nothing.
const IDLE: [&str; 4] = ["reads", "writes", "fsync", "property"];

/// Trials that the bar on false claims is about.
const SEEDS: usize = 20;

pub(crate) const PLANTED: Campaign = Campaign {
    name: "planted",
    about: "an experiment of six factors at the fake node, one worth 10 %, one 5 %, four nothing; wants --repeats 20",
    variants: &["six"],
    bars: &[
        Bar::none("six", "not_first"),
        Bar::sum("six", "false_claims", SEEDS, 3.0),
    ],
    prepare: start::prepare,
    trial: planted,
};

pub(crate) const KILLED: Campaign = Campaign {
    name: "killed",
    about: "an experiment at the fake node, killed with -9 at ten random moments and resumed, beside one left alone",
    variants: &["ten"],
    bars: &[
        Bar::none("ten", "not_done"),
        Bar::none("ten", "twice"),
        Bar::none("ten", "out_of_order"),
        Bar::none("ten", "plan_differs"),
        Bar::none("ten", "orphans"),
        Bar::none("ten", "answer_differs"),
    ],
    prepare: start::prepare,
    trial: killed,
};

pub(super) fn drawn() -> Result<Seed, Box<dyn Error>> {
    Ok(Seed(u64::from(u32::from_le_bytes(random()?))))
}

/// The binary, whose nodes are fake ones that serve.
fn at_fake(rig: &Rig, args: &[&str]) -> Command {
    let mut command = rig.command(args);
    command.env("HELENUS_FAKE_NODE", rig.fake_node());
    command
}

fn whole(rig: &Rig, args: &[&str]) -> Result<Vec<u8>, Box<dyn Error>> {
    answered(at_fake(rig, args))
}

/// Runs a command to its end; an experiment without an answer, or with a crossed bar, has run all the same.
pub(super) fn answered(mut command: Command) -> Result<Vec<u8>, Box<dyn Error>> {
    let output = command.output()?;
    match output.status.code() {
        Some(0 | 1 | 6) => Ok(output.stdout),
        _ => {
            let said = String::from_utf8_lossy(&output.stderr);
            let last: Vec<&str> = said.lines().rev().take(3).collect();
            let args: Vec<_> = command.get_args().collect();
            Err(format!("helenus {args:?}: {}: {}", output.status, last.join(" | ")).into())
        }
    }
}

fn json(rig: &Rig, args: &[&str]) -> Result<Value, Box<dyn Error>> {
    let output = whole(rig, &[args, &["--format", "json"]].concat())?;
    Ok(serde_json::from_slice(&output)?)
}

fn number(yes: bool) -> f64 {
    f64::from(u8::from(yes))
}

fn measures<const N: usize>(all: [(&str, f64); N]) -> Measures {
    let rounded = |value: f64| (value * 1e4).round() / 1e4;
    all.map(|(name, value)| (name.to_owned(), rounded(value)))
        .into()
}

fn planted(rig: &Rig, _only: &str) -> Result<Outcome, Box<dyn Error>> {
    rig.clear()?;
    let seed = drawn()?;
    let file = rig.trial_folder()?.join("planted.toml");
    fs_err::write(&file, format!("seed = {}\n{PLANTED_FILE}", seed.0))?;
    let file = file.to_string_lossy();
    let watch = Watch::begin()?;
    whole(rig, &["experiment", "run", "--anew", &file])?;
    let pressure = watch.end(0.0)?;
    let report = json(rig, &["experiment", "report", "planted"])?;
    let mut found = found(&report)?;
    found.insert("seed".to_owned(), seed.0 as f64);
    Ok(Outcome {
        measures: found,
        pressure,
    })
}

/// What an experiment says of the planted factors, and how many of the idle ones it calls different.
fn found(report: &Value) -> Result<Measures, Box<dyn Error>> {
    let analysis = &report["analysis"];
    let effects = analysis["effects"].as_array().ok_or("no effects")?;
    let own = effects.iter().filter(|e| e["measure"] == "service_p50");
    let own: Vec<(&str, bool, f64)> = own
        .map(|effect| {
            let factor = effect["factor"].as_str().unwrap_or_default();
            let differs =
                ["higher", "lower"].contains(&effect["claim"].as_str().unwrap_or_default());
            let ratio = effect["estimate"]["ratio"].as_f64().unwrap_or(1.0);
            (factor, differs, ratio)
        })
        .collect();
    let of = |factor: &str| own.iter().find(|(name, ..)| *name == factor);
    let (_, delay_differs, delay) = of("delay").ok_or("no effect of the delay")?;
    let (_, body_differs, body) = of("body").ok_or("no effect of the body")?;
    let largest = own
        .iter()
        .max_by(|a, b| a.2.ln().abs().total_cmp(&b.2.ln().abs()));
    let is_first = *delay_differs && largest.is_some_and(|(name, ..)| *name == "delay");
    let is_false = |(name, differs, _): &&(&str, bool, f64)| *differs && IDLE.contains(name);
    let lost = analysis["left_out"].as_array().map_or(0, Vec::len);
    Ok(measures([
        ("not_first", number(!is_first)),
        ("false_claims", own.iter().filter(is_false).count() as f64),
        ("delay_ratio", *delay),
        ("body_ratio", *body),
        ("body_found", number(*body_differs)),
        ("left_out", lost as f64),
    ]))
}

/// Twelve blocks of three restarts with two runs each: half of them may be lost to the host, and the rest still make a
/// claim.
const KILLED_FILE: &str = r#"
measure = "service.p50"
repeats = 12
announce = false

[cluster]
jvm = ["-Dfake.tail=20", "-Dfake.life_sd=0.01"]

[workload]
workload = "standard1"
ops = "write=1"
warmup = "200ms"
duration = "800ms"

[[factor]]
name = "body"
kind = "restart"
levels = [{ label = "double", jvm = ["-Dfake.body=40"] }, { label = "one", jvm = ["-Dfake.body=20"] }]

[[factor]]
key = "rate"
kind = "phase"
levels = [1200, 1500]
"#;

/// Kills of a trial.
const KILLS: u64 = 10;

/// A kill comes at a moment drawn from this stretch, in milliseconds from the beginning of its sitting.
const WITHIN_MS: u64 = 6_000;

/// How long nodes and generators may outlive whom they belong to.
const GONE_WITHIN: Duration = Duration::from_secs(10);

fn killed(rig: &Rig, _only: &str) -> Result<Outcome, Box<dyn Error>> {
    rig.clear()?;
    let seed = drawn()?;
    let folder = rig.trial_folder()?;
    let file = |name: &str| -> Result<String, Box<dyn Error>> {
        let path = folder.join(format!("{name}.toml"));
        let text = format!("name = \"{name}\"\nseed = {}\n{KILLED_FILE}", seed.0);
        fs_err::write(&path, text)?;
        Ok(path.to_string_lossy().into_owned())
    };
    let (alone, killed) = (file("alone")?, file("killed")?);
    let watch = Watch::begin()?;
    whole(rig, &["experiment", "run", "--anew", &alone])?;
    let moments = seed.derive("kills");
    let home = rig.context.env.vars.get(OsStr::new("HELENUS_HOME"));
    let home = home.ok_or("the rig has no home")?;
    let mut orphans = 0;
    for kill in 0..KILLS {
        let args = match kill {
            0 => vec!["experiment", "run", "--anew", &killed],
            _ => vec!["experiment", "resume", &killed],
        };
        let mut child = at_fake(rig, &args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        std::thread::sleep(Duration::from_millis(moments.at(kill) % WITHIN_MS));
        if let Some(status) = child.try_wait()? {
            return Err(format!("it ended before kill {}: {status}", kill + 1).into());
        }
        child.kill()?;
        child.wait()?;
        orphans += left_of(home)?;
    }
    whole(rig, &["experiment", "resume", &killed])?;
    let pressure = watch.end(0.0)?;
    let status = |name| json(rig, &["experiment", "status", name]);
    let answer = |name| -> Result<([Value; 2], usize), Box<dyn Error>> {
        let mut report = json(rig, &["experiment", "report", name])?;
        let lost = report["analysis"]["left_out"]
            .as_array()
            .map_or(0, Vec::len);
        let answer = report["analysis"]["answer"].take();
        Ok((
            [answer["winner_label"].clone(), answer["claim"].clone()],
            lost,
        ))
    };
    let (alone, lost_alone) = answer("alone")?;
    let (killed, lost_killed) = answer("killed")?;
    let mut found = survived(&status("alone")?, &status("killed")?)?;
    found.extend(measures([
        ("seed", seed.0 as f64),
        ("orphans", orphans as f64),
        ("answer_differs", number(alone != killed)),
        ("left_out_alone", lost_alone as f64),
        ("left_out_killed", lost_killed as f64),
    ]));
    Ok(Outcome {
        measures: found,
        pressure,
    })
}

/// Whether each planned run was done once and in order, and was planned as where nobody killed anything.
fn survived(alone: &Value, killed: &Value) -> Result<Measures, Box<dyn Error>> {
    let plan = |status: &Value| -> Option<Vec<[Value; 4]>> {
        let runs = status["runs"].as_array()?.iter();
        let place =
            |run: &Value| ["block", "restart", "combination", "stage"].map(|f| run[f].clone());
        Some(runs.map(place).collect())
    };
    let runs = killed["runs"].as_array().ok_or("no runs")?;
    let ids: Vec<u64> = runs
        .iter()
        .filter(|run| run["state"] == "done")
        .filter_map(|run| run["run"].as_str()?.trim_start_matches('r').parse().ok())
        .collect();
    let mut distinct = ids.clone();
    distinct.sort_unstable();
    distinct.dedup();
    Ok(measures([
        ("runs", runs.len() as f64),
        ("not_done", (runs.len() - ids.len()) as f64),
        ("twice", (ids.len() - distinct.len()) as f64),
        ("out_of_order", number(!ids.is_sorted())),
        ("plan_differs", number(plan(alone) != plan(killed))),
        ("sittings", killed["sittings"].as_f64().unwrap_or_default()),
    ]))
}

/// Processes of a home that are still there when they should not be.
fn left_of(home: &OsStr) -> Result<usize, Box<dyn Error>> {
    let begun = Instant::now();
    loop {
        let left = processes(home)?;
        if left == 0 || begun.elapsed() > GONE_WITHIN {
            return Ok(left);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Processes whose command line or environment names the folder; zombies have neither.
fn processes(folder: &OsStr) -> Result<usize, Box<dyn Error>> {
    let wanted = folder.as_bytes();
    let mut found = 0;
    for entry in fs_err::read_dir("/proc")? {
        let path = entry?.path();
        let names = |file: &str| {
            let bytes = fs_err::read(path.join(file)).unwrap_or_default();
            bytes.windows(wanted.len()).any(|w| w == wanted)
        };
        found += usize::from(names("cmdline") || names("environ"));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_found_is_counted_by_factor() {
        let effect = |factor: &str, claim: &str, ratio: f64| json!({"measure": "service_p50", "factor": factor, "claim": claim, "estimate": {"ratio": ratio}});
        let report = |reads: &str, body: f64| {
            json!({"analysis": {"left_out": [["r1", "late"]], "effects": [
                effect("reads", reads, 0.98),
                effect("delay", "higher", 1.1),
                effect("body", "no_difference", body),
                {"measure": "service_p99", "factor": "fsync", "claim": "higher", "estimate": {"ratio": 3.0}},
            ]}})
        };
        let good = found(&report("no_difference", 1.04)).expect("effects");
        assert_eq!((good["not_first"], good["false_claims"]), (0.0, 0.0));
        assert_eq!((good["body_found"], good["left_out"]), (0.0, 1.0));
        let bad = found(&report("lower", 1.2)).expect("effects");
        assert_eq!((bad["not_first"], bad["false_claims"]), (1.0, 1.0));
        assert!(found(&json!({})).is_err());
    }

    #[test]
    fn runs_that_lack_or_changed_places_are_counted() {
        let run = |block: u64, state: &str, id: &str| json!({"block": block, "restart": 0, "combination": 0, "stage": "main", "state": state, "run": id});
        let status = |runs: &[Value]| json!({"sittings": 3, "runs": runs});
        let alone = status(&[run(0, "done", "r1"), run(1, "done", "r2")]);
        let same = survived(&alone, &alone).expect("runs");
        let nothing = ["not_done", "twice", "out_of_order", "plan_differs"];
        assert!(nothing.iter().all(|name| same[*name] == 0.0), "{same:?}");
        let other = status(&[run(1, "done", "r4"), run(0, "done", "r3")]);
        let other = survived(&alone, &other).expect("runs");
        assert_eq!((other["out_of_order"], other["plan_differs"]), (1.0, 1.0));
        let twice = status(&[run(0, "done", "r3"), run(1, "done", "r3")]);
        assert_eq!(survived(&alone, &twice).expect("runs")["twice"], 1.0);
        let open = status(&[run(0, "done", "r3"), run(1, "planned", "")]);
        assert_eq!(survived(&alone, &open).expect("runs")["not_done"], 1.0);
    }
}
