//! `prove agents`: four load agents against one cluster of real Cassandra, over TLS, on this machine and in the networks of
//! data centres that are apart: what they sent against what was merged, bucket for bucket, and one that is killed.
//! Refuses times: it counts buckets that differ, and what is not named.

use super::campaign::{Bar, Campaign, Measures, Outcome, by_name, rounded};
use super::host::Watch;
use super::rig::{Rig, until};
use helenus_model::histogram::Histogram;
use helenus_model::network::client_of;
use helenus_model::result::{Distribution, RunResult};
use helenus_model::sample::{OperationInterval, SampleLine, Stretch};
use helenus_model::samples::SampleReader;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io::BufReader;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

const NAME: &str = "prove-agents";

/// Agents of a run.
const AGENTS: usize = 4;

/// Data centres of the cluster whose networks are apart, and how far.
const CENTERS: [&str; 2] = ["DC1", "DC2"];
const ROUND_TRIP: &str = "40ms";

/// Operations a second, far below what a tiny node serves.
const RATE: &str = "400";

/// Longest wait for an agent's token, and for its end.
const WITHIN: Duration = Duration::from_secs(60);

/// From the start of the run to the kill: connections, the warm-up and some measured seconds.
const KILLED_AFTER: Duration = Duration::from_secs(9);

const TLS: &str = "tls";
const APART: &str = "apart";
const KILLED: &str = "killed";

const BARS: [Bar; 10] = [
    Bar::none(TLS, "buckets_off"),
    Bar::none(TLS, "counts_off"),
    Bar::none(TLS, "clocks_off"),
    Bar::none(APART, "buckets_off"),
    Bar::none(APART, "counts_off"),
    Bar::none(APART, "clocks_off"),
    Bar::none(KILLED, "not_named"),
    Bar::none(KILLED, "others_off"),
    Bar::none(KILLED, "clocks_off"),
    Bar::every(APART, "clock_error_ms", 30.0).as_aim(),
];

pub(crate) const CAMPAIGN: Campaign = Campaign {
    name: "agents",
    about: "four load agents over TLS: merged bucket for bucket, here and in networks 40 ms apart; one killed with -9",
    variants: &[TLS, APART, KILLED],
    bars: &BARS,
    prepare: Rig::clear,
    trial,
};

fn trial(rig: &Rig, variant: &str) -> Result<Outcome, Box<dyn Error>> {
    let shape: &[&str] = match variant {
        APART => &["-n", "1:1", "--rtt", ROUND_TRIP],
        _ => &["-n", "1"],
    };
    rig.alone(|| {
        rig.run(&[&["up", NAME, "--preset", "tiny"], shape].concat())?;
        measure(rig, variant)
    })
}

/// An agent, ended with the value.
struct Agent {
    child: Child,
    address: String,
    sent: PathBuf,
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _status = self.child.wait();
    }
}

fn measure(rig: &Rig, variant: &str) -> Result<Outcome, Box<dyn Error>> {
    let folder = rig.trial_folder()?;
    let mut agents = (0..AGENTS)
        .map(|n| agent(rig, variant, &folder, n))
        .collect::<Result<Vec<_>, _>>()?;
    let tokens = tokens(&mut agents, &folder)?;
    // What is read is there before.
    let written = "run standard1 --ops write=1 --count 4000 --seed 7 --closed --cluster";
    let written: Vec<&str> = written.split(' ').chain([NAME]).collect();
    rig.command(&written).output()?;
    let watch = Watch::begin()?;
    let mut words: Vec<&str> = vec!["run", "standard1", "--ops", "write=1,read=1"];
    words.extend(["--population", "4000", "--seed", "7", "--cluster", NAME]);
    words.extend(["--rate", RATE]);
    words.extend(["--duration", "12s", "--warmup", "3s", "--format", "json"]);
    for agent in &agents {
        words.extend(["--agent", &agent.address]);
    }
    words.extend(["--agent-token-from", &tokens]);
    let conductor = within(rig, variant, 0, &words).spawn()?;
    if variant == KILLED {
        std::thread::sleep(KILLED_AFTER);
        agents[2].child.kill()?;
    }
    let said = conductor.wait_with_output()?;
    for agent in &mut agents {
        ended(&mut agent.child)?;
    }
    let report: Value = serde_json::from_slice(&said.stdout).map_err(|error| {
        let words = String::from_utf8_lossy(&said.stderr);
        format!("{error}: {}: {words}", said.status)
    })?;
    let result: RunResult = serde_json::from_value(report["result"].clone())?;
    let mut measures = clocks(&report)?;
    measures.extend(match variant {
        KILLED => named(&result, &agents, said.status.code())?,
        _ => merged(&result, &agents)?,
    });
    Ok(Outcome {
        measures,
        pressure: watch.end(0.0)?,
    })
}

/// The binary where this agent stands.
fn within(rig: &Rig, variant: &str, n: usize, words: &[&str]) -> Command {
    let at = format!("{NAME}/{}", CENTERS[n % CENTERS.len()]);
    let helenus = rig.helenus.to_string_lossy().into_owned();
    match variant {
        APART => rig.command(&[&["exec", &at, "--", &helenus], words].concat()),
        _ => rig.command(words),
    }
}

fn agent(rig: &Rig, variant: &str, folder: &Path, n: usize) -> Result<Agent, Box<dyn Error>> {
    let at = match variant {
        APART => {
            let state = rig.context.clusters.load(NAME)?;
            let network = state.plan.network.ok_or("the cluster has no network")?;
            let name = client_of(CENTERS[n % CENTERS.len()]);
            let space = network.spaces.iter().find(|space| space.name == name);
            space.ok_or("no network for clients")?.address.to_string()
        }
        _ => "127.0.0.1".to_owned(),
    };
    let (token, sent) = (
        folder.join(format!("token{n}")),
        folder.join(format!("sent{n}")),
    );
    let (at, token) = (format!("{at}:0"), token.display().to_string());
    let keep = sent.display().to_string();
    let words = ["load-agent", "--listen", &at, "--token-file", &token];
    let child = within(rig, variant, n, &[&words[..], &["--keep", &keep]].concat()).spawn()?;
    Ok(Agent {
        child,
        address: String::new(),
        sent,
    })
}

/// The file with all their tokens, once each of them listens.
fn tokens(agents: &mut [Agent], folder: &Path) -> Result<String, Box<dyn Error>> {
    let mut all = String::new();
    for (n, agent) in agents.iter_mut().enumerate() {
        let file = folder.join(format!("token{n}"));
        let begin = Instant::now();
        let line = loop {
            match fs_err::read_to_string(&file) {
                Ok(line) => break line,
                Err(error) if begin.elapsed() > WITHIN => return Err(error.into()),
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        agent.address = line.split(' ').next().unwrap_or_default().to_owned();
        all.push_str(&line);
    }
    let file = folder.join("tokens");
    fs_err::write(&file, all)?;
    fs_err::set_permissions(&file, std::fs::Permissions::from_mode(0o600))?;
    Ok(file.display().to_string())
}

/// Waits for the end of an agent that did its one command.
fn ended(child: &mut Child) -> Result<(), Box<dyn Error>> {
    let ended = until(WITHIN, Duration::from_millis(20), || Ok(child.try_wait()?))?;
    Ok(ended
        .map(drop)
        .ok_or("an agent goes on after its command")?)
}

/// What an agent sent of the measurement window, by operation; a line that was cut is none.
fn sent(agent: &Agent) -> Result<BTreeMap<String, OperationInterval>, Box<dyn Error>> {
    let lines = SampleReader::new(BufReader::new(fs_err::File::open(&agent.sent)?));
    let mut sum: BTreeMap<String, OperationInterval> = BTreeMap::new();
    for line in lines.map_while(Result::ok) {
        if let SampleLine::Interval(interval) = line
            && interval.stretch == Stretch::Measured
        {
            for (name, one) in &interval.operations {
                sum.entry(name.clone()).or_default().merge(one);
            }
        }
    }
    Ok(sum)
}

/// Buckets and counts of the result that are not those of the sum of what was sent.
fn merged(result: &RunResult, agents: &[Agent]) -> Result<Measures, Box<dyn Error>> {
    let mut sum: BTreeMap<String, OperationInterval> = BTreeMap::new();
    for agent in agents {
        for (name, one) in sent(agent)? {
            sum.entry(name).or_default().merge(&one);
        }
    }
    let phase = result.phases.first().ok_or("no phase")?;
    let (mut buckets, mut off, mut counts) = (0, 0, 0);
    for (name, own) in &phase.operations {
        let sum = sum.remove(name).unwrap_or_default();
        let kinds = [
            (&own.service, &sum.service),
            (&own.response, &sum.response),
            (&own.lateness, &sum.lateness),
            (&own.slot_wait, &sum.slot_wait),
        ];
        for (own, sum) in kinds {
            let (own, sum) = (counted(own.as_ref().map(of)), counted(Some(sum)));
            let tops: BTreeSet<u64> = own.keys().chain(sum.keys()).copied().collect();
            buckets += tops.len();
            off += tops
                .iter()
                .filter(|top| own.get(top) != sum.get(top))
                .count();
        }
        for (own, sum) in [
            (own.offered, sum.offered),
            (own.started, sum.started),
            (own.completed, sum.completed),
        ] {
            counts += own.abs_diff(sum);
        }
    }
    counts += sum.values().map(|one| one.completed).sum::<u64>();
    Ok(by_name([
        ("buckets", buckets as f64),
        ("buckets_off", off as f64),
        ("counts_off", counts as f64),
        ("completed", phase.total.completed as f64),
        ("failed", phase.total.failures() as f64),
    ]))
}

fn of(distribution: &Distribution) -> &Histogram {
    &distribution.histogram
}

/// Samples by bucket.
fn counted(histogram: Option<&Histogram>) -> BTreeMap<u64, u64> {
    let buckets = histogram.into_iter().flat_map(Histogram::buckets);
    buckets
        .map(|bucket| (bucket.top_ns, bucket.count))
        .collect()
}

/// How well clocks were known. All of them are one machine's: what is measured beyond the error is wrong.
fn clocks(report: &Value) -> Result<Measures, Box<dyn Error>> {
    let all = report["generators"].as_array().ok_or("no generators")?;
    let number = |one: &Value, key: &str| one[key].as_f64().unwrap_or(f64::NAN);
    let errors = all.iter().map(|one| number(one, "clock_error_us"));
    let beyond = all.iter().filter(|one| {
        let within = number(one, "clock_ahead_us").abs() <= number(one, "clock_error_us");
        !within
    });
    let ms = errors.fold(0.0, f64::max) / 1e3;
    Ok(by_name([
        ("clock_error_ms", rounded(ms)),
        (
            "clocks_off",
            beyond.count() as f64 + (AGENTS - all.len().min(AGENTS)) as f64,
        ),
    ]))
}

/// Whether the one that was killed is named with its share, and everything that the others did is there.
fn named(
    result: &RunResult,
    agents: &[Agent],
    code: Option<i32>,
) -> Result<Measures, Box<dyn Error>> {
    let phase = result.phases.first().ok_or("no phase")?;
    let about = phase.doubts.iter().filter_map(|doubt| doubt.about.as_ref());
    let named = about.filter(|words| {
        words.starts_with("generator 3 of 4 ended ")
            && words.contains(&agents[2].address)
            && words.contains("1/4 of the load is missing")
    });
    let completed = |n: usize| -> Result<u64, Box<dyn Error>> {
        Ok(sent(&agents[n])?.values().map(|one| one.completed).sum())
    };
    let others = completed(0)? + completed(1)? + completed(3)?;
    let all = others + completed(2)?;
    let merged = phase.total.completed;
    // What the killed one wrote in its last moment may be on its disk and not here.
    let off = others.saturating_sub(merged) + merged.saturating_sub(all);
    let unnamed = usize::from(named.count() != 1) + usize::from(code != Some(5));
    Ok(by_name([
        ("not_named", unnamed as f64),
        ("others_off", off as f64),
        ("completed", merged as f64),
        (
            "completed_by_the_killed",
            (merged - others.min(merged)) as f64,
        ),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_that_differs_is_counted() {
        let (mut a, mut b) = (Histogram::new(), Histogram::new());
        a.record(1_000_000);
        b.record(1_000_000);
        assert_eq!(counted(Some(&a)), counted(Some(&b)));
        b.record(2_000_000);
        assert_ne!(counted(Some(&a)), counted(Some(&b)));
        assert!(counted(None).is_empty());
    }
}
