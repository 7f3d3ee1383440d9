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

/// Reads of one row each. Cassandra finds a partition in the index of an SSTable from the nearest key in the index's summary. With
/// every 16,384th key in the summary instead of every 128th, and no key cache, it passes thousands of keys on its way instead of sixty.
/// The data are in memory, where an option about the disk would not be testable. Two live settings do nothing to reads.
const TABLE: &str = r#"
name = "planted-real"
measure = "service.p50"
repeats = 6

[cluster]
preset = "dev"
set = ["key_cache_size=0MiB"]

[workload]
workload = "ycsb-c"
phase = "run"
population = 100000
positions = "uniform"
rate = 300
warmup = "300ms"
duration = "1s"

[populate]
partitions = 100000
no-verify = true

[warm]
in-flight = 8
warmup = "0s"
duration = "6s"

[[factor]]
name = "index"
kind = "schema"
levels = [
  { label = "128", with = "min_index_interval=128" },
  { label = "16384", with = ["max_index_interval=16384", "min_index_interval=16384"] },
]

[[factor]]
name = "compaction"
kind = "live"
levels = [{ label = "16", set = "compaction_throughput=16" }, { label = "64", set = "compaction_throughput=64" }]

[[factor]]
name = "hints"
kind = "live"
levels = [{ label = "1h", set = "max_hint_window=1h" }, { label = "3h", set = "max_hint_window=3h" }]
"#;

/// A planted effect: its name, factor and level.
type Effect = (&'static str, &'static str, &'static str);

/// Variants with their files, and the planted effects of each.
const VARIANTS: [(&str, &str, &[Effect]); 2] = [
    (
        "delay",
        FILE,
        &[
            ("3_percent", PLANTED, "3-percent"),
            ("5_percent", PLANTED, "5-percent"),
        ],
    ),
    ("table", TABLE, &[("table_option", "index", "16384")]),
];

/// Trials that the bars are about.
const TRIALS: usize = 20;

const fn at_most(variant: &'static str, measure: &'static str, at_most: f64) -> Bar {
    Bar::sum(variant, measure, TRIALS, at_most)
}

pub(crate) const PLANTED_REAL: Campaign = Campaign {
    name: "planted-real",
    about: "experiments on real Cassandra: 3 and 5 % more way between data centres, a table option that costs reads, and settings \
            that do nothing; wants --repeats 20",
    variants: &["delay", "table"],
    bars: &[
        at_most("delay", "missed_5_percent", 2.0),
        at_most("delay", "missed_3_percent", 8.0),
        // 5 % of 80.
        at_most("delay", "false_claims", 4.0),
        at_most("table", "missed_table_option", 2.0),
        // 5 % of 40.
        at_most("table", "false_claims", 2.0),
    ],
    prepare: start::prepare,
    trial,
};

fn trial(rig: &Rig, variant: &str) -> Result<Outcome, Box<dyn Error>> {
    rig.clear()?;
    let known = VARIANTS.iter().find(|(name, ..)| *name == variant);
    let (_, text, planted) = known.ok_or("no such variant")?;
    let seed = drawn()?;
    let file = rig.trial_folder()?.join("planted-real.toml");
    fs_err::write(&file, format!("seed = {}\n{text}", seed.0))?;
    let file = file.to_string_lossy();
    let watch = Watch::begin()?;
    answered(rig.command(&["experiment", "run", "--anew", &file]))?;
    let pressure = watch.end(0.0)?;
    let report = ["experiment", "report", "planted-real", "--format", "json"];
    let report = answered(rig.command(&report))?;
    let mut measures = found(&serde_json::from_slice(&report)?, planted)?;
    measures.insert("seed".to_owned(), seed.0 as f64);
    Ok(Outcome { measures, pressure })
}

/// What is said of the planted effects and of the settings that do nothing.
fn found(report: &Value, planted: &[(&str, &str, &str)]) -> Result<Measures, Box<dyn Error>> {
    let effects = report["analysis"]["effects"]
        .as_array()
        .ok_or("no effects")?;
    let own = || effects.iter().filter(|e| e["measure"] == "service_p50");
    let differs = |effect: &&Value| {
        ["higher", "lower"]
            .iter()
            .any(|claim| effect["claim"] == *claim)
    };
    let mut measures = Measures::new();
    for (name, factor, level) in planted {
        let effect = own().find(|e| e["factor"] == *factor && e["to"] == *level);
        let effect = effect.ok_or_else(|| format!("no effect of {level}"))?;
        let missed = f64::from(u8::from(effect["claim"] != "higher"));
        let ratio = effect["estimate"]["ratio"].as_f64().unwrap_or(1.0);
        measures.insert(format!("missed_{name}"), missed);
        measures.insert(format!("ratio_{name}"), ratio);
    }
    let is_planted = |e: &&Value| planted.iter().any(|(_, factor, _)| e["factor"] == *factor);
    let idle = own().filter(|effect| !is_planted(effect)).filter(differs);
    let false_claims = f64::from(u32::try_from(idle.count())?);
    measures.insert("false_claims".to_owned(), false_claims);
    Ok(measures)
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
    fn its_table_option_wants_new_tables_and_two_settings_do_not() {
        let of = read(TABLE).expect("a file");
        let all = of.combinations();
        assert_eq!((all.len(), of.wholes(&all).len()), (8, 2));
        // Of data in memory, nothing would be said of it.
        assert!(!of.is_about_reads());
        let effect = |factor: &str, to: &str, claim: &str| {
            json!({"measure": "service_p50", "factor": factor, "to": to, "claim": claim,
                "estimate": {"ratio": 1.4}})
        };
        let report = json!({"analysis": {"effects": [
            effect("index", "16384", "higher"),
            effect("compaction", "64", "no_difference"),
            effect("hints", "3h", "higher"),
        ]}});
        let found = found(&report, VARIANTS[1].2).expect("effects");
        assert_eq!(found["missed_table_option"], 0.0);
        assert_eq!(found["false_claims"], 1.0);
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
        let found = found(&report, VARIANTS[0].2).expect("effects");
        assert_eq!(found["missed_3_percent"], 1.0);
        assert_eq!(found["missed_5_percent"], 0.0);
        assert_eq!(found["false_claims"], 1.0);
    }
}
