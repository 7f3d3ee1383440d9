//! `prove workloads`: every phase of every built-in workload on clusters of four shapes, what is read compared with what was
//! written. Refuses times: it counts operations that failed, that were refused, and that did not come.

use super::campaign::{Bar, Campaign, Measures, Outcome};
use super::host::Watch;
use super::rig::{Rig, checked};
use helenus_model::built_in::{ALL, BuiltIn};
use serde_json::Value;
use std::error::Error;

const NAME: &str = "prove-workloads";

/// Operations of each phase where the person does not say, and partitions where a workload says how many there are.
pub(super) const COUNT: u64 = 400;

/// What a workload is made small with; each takes what it has.
const SMALL: [(&str, &str); 4] = [
    ("series", "20"),
    ("sources", "20"),
    ("range", "zipf(1..16)"),
    ("maxscanlength", "20"),
];

/// Parameters that are set to the number of operations.
const COUNTED: [&str; 7] = [
    "keys",
    "points",
    "rampup-cycles",
    "main-cycles",
    "rows",
    "recordcount",
    "operationcount",
];

/// Shapes of clusters, by what `up` calls them.
const SHAPES: [(&str, &[&str]); 5] = [
    ("one", &["-n", "1"]),
    ("secured", &["-n", "1", "--auth", "--tls"]),
    ("three", &["-n", "3"]),
    ("two-by-two", &["-n", "2:2", "--rtt", "20ms"]),
    ("three-by-three", &["-n", "3:3:3"]),
];

const VARIANTS: [&str; SHAPES.len()] = [
    SHAPES[0].0,
    SHAPES[1].0,
    SHAPES[2].0,
    SHAPES[3].0,
    SHAPES[4].0,
];

/// What must be none of: operations that failed, that did not come, phases that were refused.
const NONE_OF: [&str; 3] = ["failed", "missing", "refused"];

const BARS: [Bar; SHAPES.len() * NONE_OF.len()] = bars();

const fn bars() -> [Bar; SHAPES.len() * NONE_OF.len()] {
    let mut bars = [Bar::none("", ""); SHAPES.len() * NONE_OF.len()];
    let mut at = 0;
    while at < bars.len() {
        let shape = VARIANTS[at / NONE_OF.len()];
        bars[at] = Bar::none(shape, NONE_OF[at % NONE_OF.len()]);
        at += 1;
    }
    bars
}

pub(crate) const WORKLOADS: Campaign = Campaign {
    name: "workloads",
    about: "all built-in workloads, every phase with verification, on 1, 3, 2:2 and 3:3:3 nodes and with TLS: what fails; --rows N operations of each phase",
    variants: &VARIANTS,
    bars: &BARS,
    prepare: Rig::clear,
    trial,
};

/// Settings of nodes that have much to do: many nodes on few processors are slow, and this campaign refuses times.
const PATIENT: [&str; 12] = [
    "--set",
    "read_request_timeout=60s",
    "--set",
    "range_request_timeout=60s",
    "--set",
    "write_request_timeout=60s",
    "--set",
    "counter_write_request_timeout=60s",
    "--set",
    "cas_contention_timeout=60s",
    "--set",
    "request_timeout=60s",
];

/// How much is run, and on what.
struct Size {
    /// Operations of each phase.
    count: u64,
    in_flight: &'static str,
    preset: &'static str,
    /// More settings of the nodes.
    settings: &'static [&'static str],
}

/// What became of all runs on a cluster.
#[derive(Default)]
struct Sum {
    runs: u64,
    operations: u64,
    failed: u64,
    missing: u64,
    refused: u64,
    /// Operations that ended well, by workload and phase.
    each: Measures,
}

fn trial(rig: &Rig, variant: &str) -> Result<Outcome, Box<dyn Error>> {
    let shape = SHAPES.iter().find(|(name, _)| *name == variant);
    let (_, words) = shape.ok_or("no such shape")?;
    let size = match rig.rows {
        None => Size {
            count: COUNT,
            // A tiny node on a busy machine is not to be late.
            in_flight: "8",
            preset: "tiny",
            settings: &[],
        },
        Some(count) => Size {
            count,
            in_flight: "64",
            preset: "dev",
            settings: &PATIENT,
        },
    };
    rig.alone(|| {
        let up = ["up", NAME, "--preset", size.preset];
        rig.run(&[&up, *words, size.settings].concat())?;
        measure(rig, &size)
    })
}

fn measure(rig: &Rig, size: &Size) -> Result<Outcome, Box<dyn Error>> {
    let watch = Watch::begin()?;
    let mut sum = Sum::default();
    for known in ALL {
        for phase in phases(known, size.count) {
            let words: Vec<&str> = phase.words.iter().map(String::as_str).collect();
            sum.take(rig, (&phase.name, &words), size)?;
        }
    }
    let count = size.count.to_string();
    let bench = ["bench", "--closed", "--count", &count];
    sum.take(rig, ("bench", &bench), size)?;
    populated(rig, &mut sum, size.count)?;
    let own = [
        ("runs", sum.runs),
        ("operations", sum.operations),
        ("failed", sum.failed),
        ("missing", sum.missing),
        ("refused", sum.refused),
    ];
    let mut measures = sum.each;
    measures.extend(own.map(|(name, count)| (name.to_owned(), count as f64)));
    Ok(Outcome {
        measures,
        pressure: watch.end(0.0)?,
    })
}

/// A phase as it is run.
struct Phase {
    name: String,
    words: Vec<String>,
}

/// Those of a workload; one that has none is written, and read.
fn phases(known: &BuiltIn, count: u64) -> Vec<Phase> {
    let count = count.to_string();
    let own: Vec<Vec<String>> = match known.phases {
        [] => ["write", "read"]
            .map(|operation| {
                let words = ["--ops".to_owned(), format!("{operation}=1")];
                let number = ["--count".to_owned(), count.clone()];
                let population = ["--population".to_owned(), count.clone()];
                [words, number, population].concat()
            })
            .to_vec(),
        phases => phases
            .iter()
            .map(|phase| vec!["--phase".to_owned(), phase.name.to_owned()])
            .collect(),
    };
    let counted = COUNTED.map(|name| (name, count.as_str()));
    let small = SMALL.into_iter().chain(counted);
    let small = small.filter(|(name, _)| known.parameters.iter().any(|p| p.name == *name));
    let small: Vec<String> = small
        .flat_map(|(name, value)| ["--param".to_owned(), format!("{name}={value}")])
        .collect();
    let phase = |own: Vec<String>| {
        let name = own.get(1).map_or("", |word| word.trim_end_matches("=1"));
        let name = format!("{}.{name}", known.name);
        let run = ["run", known.name, "--verify"].map(str::to_owned);
        Phase {
            words: [&run[..], &own, &small].concat(),
            name,
        }
    };
    own.into_iter().map(phase).collect()
}

impl Sum {
    /// Runs it, and counts what became of its operations. What is doubted of its times is of no concern.
    fn take(
        &mut self,
        rig: &Rig,
        (name, words): (&str, &[&str]),
        size: &Size,
    ) -> Result<(), Box<dyn Error>> {
        let more = [
            "--cluster",
            NAME,
            "--seed",
            "7",
            "--in-flight",
            size.in_flight,
            "--cl",
            "local_quorum",
            "--format",
            "json",
        ];
        let words = [words, &more].concat();
        let output = rig.command(&words).output()?;
        self.runs += 1;
        let report: Option<Value> = serde_json::from_slice(&output.stdout).ok();
        let Some(phases) = report
            .as_ref()
            .and_then(|r| r["result"]["phases"].as_array())
        else {
            let why = checked(&words, output).err();
            println!(
                "{name}: {}",
                why.map_or_else(String::new, |e| e.to_string())
            );
            self.refused += 1;
            return Ok(());
        };
        let mut done = 0;
        for phase in phases {
            let total = &phase["total"];
            let completed = total["completed"].as_u64().unwrap_or_default();
            let failed = total["failed"].as_object();
            let failed = failed.map_or(0, |kinds| kinds.values().filter_map(Value::as_u64).sum());
            if failed > 0 {
                println!("{name}: {} {}", total["failed"], phase["first_failures"]);
            }
            done += completed;
            self.operations += completed;
            self.failed += failed;
            self.missing += size.count.saturating_sub(completed + failed);
        }
        self.each.insert(name.to_owned(), done as f64);
        Ok(())
    }
}

/// A populate, which reads everything back.
fn populated(rig: &Rig, sum: &mut Sum, count: u64) -> Result<(), Box<dyn Error>> {
    let rows = count.to_string();
    let words = [
        "populate",
        "kv",
        "--rows",
        &rows,
        "--cluster",
        NAME,
        "--seed",
        "8",
    ];
    let said = rig.json(&words)?;
    let found = &said["verified"];
    let number = |key: &str| found[key].as_u64().unwrap_or(count);
    sum.runs += 1;
    sum.operations += count;
    sum.failed += number("wrong");
    sum.missing += number("missing");
    let there = number("rows") - number("foreign");
    sum.each.insert("populate".to_owned(), there as f64);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_of_every_workload_is_run() {
        let all: Vec<Phase> = ALL.iter().flat_map(|k| phases(k, COUNT)).collect();
        let names: Vec<&str> = all.iter().map(|phase| phase.name.as_str()).collect();
        let of = |known: &BuiltIn| match known.phases.len() {
            0 => 2,
            phases => phases,
        };
        assert_eq!(names.len(), ALL.iter().map(of).sum::<usize>());
        assert_eq!(
            &names[..3],
            ["standard1.write", "standard1.read", "counter1.rampup"]
        );
        let iot = all
            .iter()
            .find(|phase| phase.name == "iot.verify")
            .expect("it");
        assert!(iot.words.contains(&"main-cycles=400".to_owned()));
    }
}
