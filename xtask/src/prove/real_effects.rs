//! `prove planted-real`: effects of known size in real Cassandra are found, and settings that do nothing are not.
//! Refuses to reckon with more than the emulated way: what an operation takes besides is measured with it.

use super::campaign::{Bar, Campaign, Measures, Outcome};
use super::experiments::{answered, drawn};
use super::host::Watch;
use super::rig::Rig;
use super::start;
use serde_json::Value;
use std::error::Error;

/// Writes that wait for a second data centre 20 ms away: 0.6 ms and 1 ms more are effects of 3 and 5 %. Four live settings do
/// nothing to them.
const FILE: &str = r#"
name = "planted-real"
measure = "service.p50"
repeats = 3
design = "screening"

[cluster]
preset = "dev"
nodes = "1:1"

[workload]
workload = "standard1"
ops = "write=1"
cl = "EACH_QUORUM"
replication-factor = "DC1=1,DC2=1"
rate = 300
warmup = "300ms"
duration = "1s"

[warm]
in-flight = 32
rate = 600
warmup = "0s"
duration = "8s"

[[factor]]
name = "way"
kind = "phase"
levels = [
  { label = "20ms", rtt = "20ms" },
  { label = "3-percent", rtt = "20600us" },
  { label = "5-percent", rtt = "21ms" },
]

[[factor]]
name = "compactors"
kind = "live"
levels = [{ label = "1", set = "concurrent_compactors=1" }, { label = "2", set = "concurrent_compactors=2" }]

[[factor]]
name = "compaction"
kind = "live"
levels = [{ label = "16", set = "compaction_throughput=16" }, { label = "64", set = "compaction_throughput=64" }]

[[factor]]
name = "time-out"
kind = "live"
levels = [{ label = "5s", set = "read_request_timeout=5s" }, { label = "6s", set = "read_request_timeout=6s" }]

[[factor]]
name = "cache"
kind = "live"
levels = [{ label = "1", set = "counter_cache_size=1" }, { label = "2", set = "counter_cache_size=2" }]
"#;

const PLANTED: &str = "way";

/// Trials that the bars are about.
const TRIALS: usize = 20;

const fn at_most(measure: &'static str, at_most: f64) -> Bar {
    Bar::sum("delay", measure, TRIALS, at_most)
}

pub(crate) const PLANTED_REAL: Campaign = Campaign {
    name: "planted-real",
    about: "a screening on real Cassandra, two data centres apart: 3 and 5 % more way, four settings that do nothing; wants \
            --repeats 20",
    variants: &["delay"],
    bars: &[
        at_most("missed_5_percent", 2.0),
        at_most("missed_3_percent", 8.0),
        // 5 % of 80.
        at_most("false_claims", 4.0),
    ],
    prepare: start::prepare,
    trial,
};

fn trial(rig: &Rig, _only: &str) -> Result<Outcome, Box<dyn Error>> {
    rig.clear()?;
    let seed = drawn()?;
    let file = rig.trial_folder()?.join("planted-real.toml");
    fs_err::write(&file, format!("seed = {}\n{FILE}", seed.0))?;
    let file = file.to_string_lossy();
    let watch = Watch::begin()?;
    answered(rig.command(&["experiment", "run", "--anew", &file]))?;
    let pressure = watch.end(0.0)?;
    let report = ["experiment", "report", "planted-real", "--format", "json"];
    let report = answered(rig.command(&report))?;
    let mut measures = found(&serde_json::from_slice(&report)?)?;
    measures.insert("seed".to_owned(), seed.0 as f64);
    Ok(Outcome { measures, pressure })
}

/// What is said of the planted effects and of the settings that do nothing.
fn found(report: &Value) -> Result<Measures, Box<dyn Error>> {
    let effects = report["analysis"]["effects"]
        .as_array()
        .ok_or("no effects")?;
    let own = || effects.iter().filter(|e| e["measure"] == "service_p50");
    let differs = |effect: &&Value| {
        ["higher", "lower"]
            .iter()
            .any(|claim| effect["claim"] == *claim)
    };
    let of = |level: &str| {
        let mut own = own();
        own.find(|e| e["factor"] == PLANTED && e["to"] == level)
            .ok_or_else(|| format!("no effect of {level}"))
    };
    let missed = |effect: &Value| f64::from(u8::from(effect["claim"] != "higher"));
    let ratio = |effect: &Value| effect["estimate"]["ratio"].as_f64().unwrap_or(1.0);
    let (three, five) = (of("3-percent")?, of("5-percent")?);
    let idle = own().filter(|e| e["factor"] != PLANTED);
    let all = [
        ("missed_3_percent", missed(three)),
        ("missed_5_percent", missed(five)),
        ("ratio_3_percent", ratio(three)),
        ("ratio_5_percent", ratio(five)),
        (
            "false_claims",
            f64::from(u32::try_from(idle.filter(differs).count())?),
        ),
    ];
    Ok(all.map(|(name, value)| (name.to_owned(), value)).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_model::experiment::read;
    use serde_json::json;

    #[test]
    fn its_file_screens_a_way_and_four_settings_within_a_life() {
        let of = read(FILE).expect("a file");
        let all = of.combinations();
        assert_eq!((all.len(), of.wholes(&all).len()), (8, 1));
    }

    #[test]
    fn what_is_missed_and_what_is_claimed_in_vain_is_counted() {
        let effect = |factor: &str, to: &str, claim: &str| {
            json!({"measure": "service_p50", "factor": factor, "to": to, "claim": claim,
                "estimate": {"ratio": 1.04}})
        };
        let report = json!({"analysis": {"effects": [
            effect("way", "3-percent", "no_difference"),
            effect("way", "5-percent", "higher"),
            effect("cache", "2", "lower"),
        ]}});
        let found = found(&report).expect("effects");
        assert_eq!(found["missed_3_percent"], 1.0);
        assert_eq!(found["missed_5_percent"], 0.0);
        assert_eq!(found["false_claims"], 1.0);
    }
}
