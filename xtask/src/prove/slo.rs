//! `prove slo`: the highest rate under a latency threshold, where it is known and where it is not. Refuses to judge a
//! search by the nodes that it searched on: the rate for fresh lives is tried in lives that it never saw.

use super::campaign::{Bar, Campaign, Measures, Outcome, by_name};
use super::host::Watch;
use super::rig::Rig;
use serde_json::Value;
use std::error::Error;
use std::path::PathBuf;

pub(crate) const SLO: Campaign = Campaign {
    name: "slo",
    about: "run --slo where the rate is known, and whether the rate for 90 % of fresh lives holds there; wants --repeats 20",
    variants: &["queue", "fresh"],
    bars: &[
        of_twenty("queue", "wrong", 2.0),
        of_twenty("fresh", "missed", 3.0),
    ],
    prepare: Rig::clear,
    trial,
};

const fn of_twenty(variant: &'static str, measure: &'static str, at_most: f64) -> Bar {
    Bar::sum(variant, measure, 20, at_most)
}

/// Operations a second of the one server before which all wait.
const QUEUE_PER_S: f64 = 4_000.0;

/// The threshold on it, and in seconds.
const QUEUE_SLO: (&str, f64) = ("p99<20ms", 0.02);

/// Share by which an estimate may differ from the truth.
const WITHIN: f64 = 0.05;

/// The threshold on Cassandra, in microseconds, and its share of errors.
const SLO_OF_CASSANDRA: (&str, f64, f64) = ("p99<50ms,errors<1%", 50_000.0, 0.01);

const WRITES: [&str; 4] = ["run", "standard1", "--ops", "write=1"];

fn trial(rig: &Rig, variant: &str) -> Result<Outcome, Box<dyn Error>> {
    rig.clear()?;
    let rate = match variant {
        "queue" => None,
        _ => Some(rate_for_fresh_lives(rig)?),
    };
    let watch = Watch::begin()?;
    let measures = match rate {
        None => queue(rig)?,
        Some(rate) => fresh(rig, rate)?,
    };
    rig.clear()?;
    let mut pressure = watch.end(0.0)?;
    // Everything that ran here was ours.
    pressure.others = 0.0;
    Ok(Outcome { measures, pressure })
}

/// A search on a stand-in of known capacity: 99 of 100 operations of a queue with one server, Poisson arrivals and
/// exponential service end within ln 100 / (capacity − rate).
fn queue(rig: &Rig) -> Result<Measures, Box<dyn Error>> {
    let truth = QUEUE_PER_S - 100_f64.ln() / QUEUE_SLO.1;
    let jvm = format!("--jvm=-Dfake.queue={QUEUE_PER_S}");
    let mut command = rig.command(
        &[
            &WRITES[..],
            &[
                "--slo",
                QUEUE_SLO.0,
                "--within",
                "3m",
                "--in-flight",
                "1024",
            ],
            &["--preset", "dev", &jvm, "--format", "json"],
        ]
        .concat(),
    );
    command.env("HELENUS_FAKE_NODE", rig.fake_node());
    let said = answer(command)?;
    let found = &said["highest"];
    let rate = found["rate_per_s"].as_f64().ok_or_else(|| none(&said))?;
    let off = rate / truth - 1.0;
    let within =
        found["low_per_s"].as_f64() <= Some(truth) && Some(truth) <= found["high_per_s"].as_f64();
    Ok(by_name([
        ("rate_per_s", rate),
        ("off", (off * 1e4).round() / 1e4),
        ("wrong", f64::from(u8::from(off.abs() > WITHIN))),
        ("outside_interval", f64::from(u8::from(!within))),
        (
            "trials",
            said["curve"].as_array().map_or(0.0, |all| all.len() as f64),
        ),
    ]))
}

fn none(said: &Value) -> String {
    format!("no rate: {}", said["answer"])
}

/// The rate that one search on Cassandra found for 90 % of fresh lives; kept for all trials of the campaign.
fn rate_for_fresh_lives(rig: &Rig) -> Result<f64, Box<dyn Error>> {
    let kept: PathBuf = rig.root.join("target/prove/slo-rate");
    if let Ok(text) = fs_err::read_to_string(&kept) {
        return Ok(text.trim().parse()?);
    }
    let search = ["--slo", SLO_OF_CASSANDRA.0, "--within", "15m"];
    let form = ["--preset", "dev", "--format", "json"];
    let said = answer(rig.command(&[&WRITES[..], &search, &form].concat()))?;
    println!("{}", said["answer"]);
    let rate = said["in_nine_of_ten_per_s"].as_f64();
    let rate = rate.ok_or_else(|| none(&said))?;
    fs_err::write(&kept, format!("{rate}\n"))?;
    Ok(rate)
}

/// One trial at that rate in a life of its own, warmed for as long as those of the search.
fn fresh(rig: &Rig, rate: f64) -> Result<Measures, Box<dyn Error>> {
    let at = format!("{rate:.0}");
    let load = ["--rate", &at, "--warmup", "21s", "--duration", "5s"];
    let form = ["--preset", "dev", "--format", "json", "--max-errors", "1"];
    let said = answer(rig.command(&[&WRITES[..], &load, &form].concat()))?;
    let phase = &said["result"]["phases"][0];
    let p99 = phase["total"]["response"]["p99_us"].as_f64();
    let behind = phase["doubts"].as_array().is_some_and(|doubts| {
        doubts
            .iter()
            .any(|doubt| doubt["kind"] == "behind_schedule")
    });
    let errors = errors(&phase["total"]);
    let held = !behind && p99.is_some_and(|us| us < SLO_OF_CASSANDRA.1);
    let held = held && errors < SLO_OF_CASSANDRA.2;
    Ok(by_name([
        ("rate_per_s", rate),
        ("p99_ms", p99.unwrap_or_default() / 1e3),
        ("errors", errors),
        ("missed", f64::from(u8::from(!held))),
    ]))
}

/// Share of the operations that failed, of those that ended.
fn errors(total: &Value) -> f64 {
    let by_kind = total["failed"].as_object();
    let failed: f64 = by_kind.map_or(0.0, |all| all.values().filter_map(Value::as_f64).sum());
    failed / (failed + total["completed"].as_f64().unwrap_or_default()).max(1.0)
}

/// What a run printed, whatever it thinks of its numbers.
fn answer(mut command: std::process::Command) -> Result<Value, Box<dyn Error>> {
    let output = command.output()?;
    serde_json::from_slice(&output.stdout)
        .map_err(|e| format!("{e}: {}", String::from_utf8_lossy(&output.stderr)).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn errors_are_a_share_of_what_ended() {
        let failed = json!({"write_timeout": 2, "overloaded": 1});
        let total = json!({"completed": 97, "failed": failed});
        assert!((errors(&total) - 0.03).abs() < 1e-9);
        assert_eq!(errors(&json!({"completed": 5})), 0.0);
    }
}
