//! `prove kube inside`: the load generator as a pod against the same generator on this machine, at the same node; and a
//! generator that is killed in mid-run. Refuses to call medians equal that were not shown to be.

use super::super::campaign::order;
use super::super::{QUIET_WITHIN, host};
use super::Tried;
use super::lab::{Lab, WITHIN, generators, kubectl};
use super::sheet::{Sheet, Verdict};
use helenus_model::seed::Seed;
use helenus_model::stats::t_quantile;
use serde_json::{Value, json};
use std::time::Duration;

/// What it shows.
pub(super) const ABOUT: &str = "generator as a pod against one on this machine: p50 equivalent within 10 %; one of two killed in mid-run";

const NAME: &str = "prove-inside";

/// Pairs of runs.
const PAIRS: usize = 8;

/// By how much the medians may differ to be called equivalent.
const MARGIN: f64 = 0.10;

/// Operations a second, far below what a tiny node serves.
const RATE: &str = "300";

/// Longest wait until the generators of a run are there.
const GENERATORS_WITHIN: Duration = Duration::from_secs(60);

/// Both places.
const PLACES: [&str; 2] = ["inside", "outside"];

/// One node, pairs of runs in random order, then the run that loses a generator.
pub(super) fn run(lab: &Lab, sheet: &mut Sheet) -> Tried {
    lab.clear(NAME)?;
    let up = lab.up(NAME, &[]);
    lab.run(&up)?.well("kube up")?;
    let tried = pairs(lab, sheet).and_then(|()| killed(lab, sheet));
    let left = lab.remove(NAME)?;
    sheet.record(
        "nothing is left",
        Verdict::of(left.is_empty()),
        &left.join(", "),
    )?;
    tried
}

fn pairs(lab: &Lab, sheet: &mut Sheet) -> Tried {
    let status = lab.json(&["kube", "status", NAME])?;
    let ip = status["pods"][0]["ip"].as_str().ok_or("no address")?;
    let on = format!("kube:{NAME}");
    let places: [&[&str]; 2] = [&["--on", &on], &["--hosts", ip, "--i-may-write-to", NAME]];
    // The keyspace, and a node that is warm for both.
    lab.json(&load(&["--on", &on], "20s"))?;
    let seed = Seed(host::now_unix());
    let mut logs = Vec::new();
    for round in 0..PAIRS {
        let mut medians = [0.0; 2];
        for place in order(seed, round, PLACES.len()) {
            host::wait_for_quiet(QUIET_WITHIN)?;
            let watch = host::Watch::begin()?;
            let result = lab.json(&load(places[place], "10s"))?;
            medians[place] = p50_us(&result).ok_or("the run has no p50")?;
            let what = format!("pair {}, {}", round + 1, PLACES[place]);
            let said = format!("p50 {:.0} µs", medians[place]);
            let facts = json!({"place": PLACES[place], "pair": round, "p50_us": medians[place]});
            sheet.found(&what, Verdict::Noted, &said, &facts, Some((watch, 0.0)))?;
        }
        logs.push((medians[0] / medians[1]).ln());
    }
    let (ratio, interval) = ratio_of(&logs);
    let holds = equivalent(interval);
    let said = format!(
        "p50 inside / outside {ratio:.3}, 90 % interval {:.3} to {:.3}, {PAIRS} pairs",
        interval[0], interval[1]
    );
    let facts = json!({"ratio": ratio, "interval_90": interval, "margin": MARGIN, "pairs": PAIRS, "seed": seed.0});
    let what = "p50 equivalent within 10 % (two one-sided tests)";
    sheet.found(what, Verdict::of(holds), &said, &facts, None)
}

/// The words of a run.
fn load<'a>(place: &[&'a str], duration: &'a str) -> Vec<&'a str> {
    let mut words = vec!["run", "standard1", "--ops", "write=1", "--rate", RATE];
    words.extend(["--duration", duration, "--warmup", "3s"]);
    words.extend(place);
    words
}

/// The median service time of the run's first operation, of its last phase.
fn p50_us(printed: &Value) -> Option<f64> {
    let phases = printed.pointer("/result/phases")?.as_array()?;
    let operations = phases.last()?["operations"].as_object()?;
    operations
        .values()
        .next()?
        .pointer("/service/p50_us")?
        .as_f64()
}

/// The geometric mean of ratios by their logarithms, with its 90 % confidence interval.
fn ratio_of(logs: &[f64]) -> (f64, [f64; 2]) {
    let n = logs.len().max(2) as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let squares = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>();
    let half = t_quantile(0.95, logs.len().saturating_sub(1)) * (squares / (n - 1.0) / n).sqrt();
    (mean.exp(), [(mean - half).exp(), (mean + half).exp()])
}

/// Two one-sided tests at 5 % each hold where the 90 % interval lies within the margins.
fn equivalent([low, high]: [f64; 2]) -> bool {
    low > 1.0 - MARGIN && high < 1.0 + MARGIN
}

/// Two generators; the second one's pod is killed after some seconds.
fn killed(lab: &Lab, sheet: &mut Sheet) -> Tried {
    let on = format!("kube:{NAME}");
    let mut words = load(&["--on", &on, "--processes", "2"], "20s");
    words.extend(["--format", "json"]);
    let running = lab.start(&words)?;
    let pods = generators(NAME, 2, GENERATORS_WITHIN)?;
    // Long enough for connections, the warm-up, and some measured seconds.
    std::thread::sleep(Duration::from_secs(12));
    let pod = pods.last().ok_or("no generator")?;
    kubectl(
        &[
            "delete",
            "pod",
            pod,
            "-n",
            NAME,
            "--grace-period=0",
            "--force",
        ],
        None,
    )??;
    let ran = running.end(WITHIN)?;
    let printed = ran.json()?;
    let doubts = printed.pointer("/result/phases").and_then(Value::as_array);
    let doubts = doubts.into_iter().flatten();
    let lost = doubts
        .filter_map(|phase| phase["doubts"].as_array())
        .flatten()
        .find(|doubt| doubt["kind"] == "generator_lost");
    let said = lost.map_or_else(
        || format!("not said; exit code {}: {}", ran.code, ran.said()),
        |doubt| {
            let about = doubt["about"].as_str().unwrap_or_default();
            let text = doubt["text"].as_str().unwrap_or_default();
            format!("{text} {about}")
        },
    );
    let facts = json!({"code": ran.code, "doubt": lost, "pod": pod});
    let what = "a generator killed in mid-run: its share is reported, the rest merged";
    sheet.found(what, Verdict::of(lost.is_some()), &said, &facts, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_equivalent_where_the_whole_interval_lies_within_the_margins() {
        let same = ratio_of(&[0.01, -0.01, 0.02, -0.02]);
        assert!(
            (same.0 - 1.0).abs() < 1e-9 && equivalent(same.1),
            "{same:?}"
        );
        let wide = ratio_of(&[0.3, -0.3, 0.2, -0.2]);
        assert!(!equivalent(wide.1), "{wide:?}");
        let slower = ratio_of(&[0.12, 0.13, 0.12, 0.13]);
        assert!(!equivalent(slower.1) && slower.1[0] > 1.1, "{slower:?}");
    }

    #[test]
    fn the_median_is_that_of_the_last_phase() {
        let operation = |p50: f64| json!({"write": {"service": {"p50_us": p50}}});
        let printed = json!({"result": {"phases": [
            {"operations": operation(9.0)}, {"operations": operation(250.0)},
        ]}});
        assert_eq!(p50_us(&printed), Some(250.0));
    }
}
