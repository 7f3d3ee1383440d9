//! `prove stress`: twenty lines of cassandra-stress, carried out by the real one and by `helenus stress` on one node: how each
//! ends, and operations, partitions and rows an operation of both. Refuses times: two generators are not compared here.

mod lines;
mod theirs;

use super::campaign::{Bar, Campaign, Measures, Outcome, rounded};
use super::host::Watch;
use super::journal::Journal;
use super::rig::Rig;
use helenus_model::units::grouped;
use lines::{LINES, Line};
use serde_json::Value;
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use theirs::{Counted, Distribution};

const NAME: &str = "prove-stress";

/// What every line has behind its own words. Runs of one kind of operation, ten by ten, would want ten times the operations
/// for the same certainty.
const BEHIND: [&str; 6] = [
    "no-warmup",
    "cl=ONE",
    "clustering=fixed(1)",
    "-rate",
    "threads=8",
    "-log",
];

const VARIANTS: [&str; LINES.len()] = names();

const fn names() -> [&'static str; LINES.len()] {
    let mut names = [""; LINES.len()];
    let mut at = 0;
    while at < LINES.len() {
        names[at] = LINES[at].name;
        at += 1;
    }
    names
}

/// What must hold of each line, and how much of it is allowed.
const HOLDS: [(&str, f64); 5] = [
    ("not_ended", 0.0),
    ("errors", 0.0),
    ("operations_off_percent", 5.0),
    ("partitions_off_percent", 5.0),
    ("rows_an_operation_off_percent", 5.0),
];

const BARS: [Bar; LINES.len() * HOLDS.len()] = bars();

const fn bars() -> [Bar; LINES.len() * HOLDS.len()] {
    let mut bars = [Bar::none("", ""); LINES.len() * HOLDS.len()];
    let mut at = 0;
    while at < bars.len() {
        let (measure, at_most) = HOLDS[at % HOLDS.len()];
        bars[at] = Bar::every(LINES[at / HOLDS.len()].name, measure, at_most);
        at += 1;
    }
    bars
}

pub(crate) const STRESS: Campaign = Campaign {
    name: "stress",
    about: "twenty profiles run by cassandra-stress and by helenus: ends, errors, operations, partitions, rows an operation",
    variants: &VARIANTS,
    bars: &BARS,
    prepare,
    trial,
};

fn prepare(rig: &Rig) -> Result<(), Box<dyn Error>> {
    Distribution::fetched(&folder(rig))?;
    rig.clear()?;
    rig.run(&["up", NAME, "--preset", "dev"]).map(|_| ())
}

/// Where the real one is unpacked.
fn folder(rig: &Rig) -> PathBuf {
    rig.context.paths.cache.join("cassandra-stress")
}

fn trial(rig: &Rig, variant: &str) -> Result<Outcome, Box<dyn Error>> {
    let line = LINES.iter().find(|line| line.name == variant);
    let line = line.ok_or_else(|| format!("no line {variant}"))?;
    let watch = Watch::begin()?;
    let distribution = Distribution::fetched(&folder(rig))?;
    let words = words(line, &rig.root, &distribution);
    make_keyspace(rig, line)?;
    let theirs = distribution.run(rig, &words, &address(rig)?)?;
    make_keyspace(rig, line)?;
    let ours = ours(rig, &words)?;
    let mut measures = Measures::new();
    for (whose, counted) in [("theirs", &theirs), ("ours", &ours)] {
        let mut put = |what: &str, value: f64| measures.insert(format!("{whose}_{what}"), value);
        put("operations", counted.operations);
        put("partitions", counted.partitions);
        put("rows_an_operation", rounded(counted.rows_an_operation));
        put("errors", counted.errors);
        put("ended", f64::from(counted.ended));
    }
    let off = |ours: f64, theirs: f64| match ours == theirs {
        true => 0.0,
        false => rounded((ours / theirs - 1.0).abs() * 100.0),
    };
    let ended = ours.ended && theirs.ended;
    let compared = [
        ("not_ended", f64::from(!ended)),
        ("errors", ours.errors + theirs.errors),
        (
            "operations_off_percent",
            off(ours.operations, theirs.operations),
        ),
        (
            "partitions_off_percent",
            off(ours.partitions, theirs.partitions),
        ),
        (
            "rows_an_operation_off_percent",
            off(ours.rows_an_operation, theirs.rows_an_operation),
        ),
    ];
    measures.extend(compared.map(|(name, value)| (name.to_owned(), value)));
    Ok(Outcome {
        measures,
        pressure: watch.end(0.0)?,
    })
}

/// A line's words behind `stress`, but for where it goes.
fn words(line: &Line, root: &Path, distribution: &Distribution) -> Vec<String> {
    let file = match line.shipped {
        true => distribution.profile(line.profile),
        false => root
            .join("benches/stress")
            .join(format!("{}.yaml", line.profile)),
    };
    let own = [
        "user".to_owned(),
        format!("profile={}", file.display()),
        format!("ops({})", line.ops),
        format!("n={}", line.partitions),
    ];
    let behind = BEHIND.iter().chain(&["no-settings"]).chain(line.more);
    own.into_iter()
        .chain(behind.map(|word| (*word).to_owned()))
        .collect()
}

/// An empty keyspace with one copy: what profiles bring may want more nodes than one.
fn make_keyspace(rig: &Rig, line: &Line) -> Result<(), Box<dyn Error>> {
    let keyspace = line.keyspace;
    for statement in [
        format!("DROP KEYSPACE IF EXISTS {keyspace}"),
        format!(
            "CREATE KEYSPACE {keyspace} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
        ),
    ] {
        rig.run(&["cql", NAME, "-e", &statement])?;
    }
    Ok(())
}

fn address(rig: &Rig) -> Result<String, Box<dyn Error>> {
    let env = rig.json(&["env", NAME])?;
    let address = env["contact_points"][0].as_str();
    Ok(address.ok_or("helenus env names no address")?.to_owned())
}

/// What `helenus stress` says of a line.
fn ours(rig: &Rig, words: &[String]) -> Result<Counted, Box<dyn Error>> {
    let mut all = vec!["stress", "--cluster", NAME, "--format", "json"];
    all.extend(words.iter().map(String::as_str));
    let output = rig.command(&all).output()?;
    let report: Value = serde_json::from_slice(&output.stdout).map_err(|error| {
        let said = String::from_utf8_lossy(&output.stderr);
        format!("helenus stress: {error}: {}", said.trim())
    })?;
    let total = &report["runs"][0]["result"]["phases"][0]["total"];
    let number = |name: &str| total[name].as_f64().unwrap_or_default();
    let failed = total["failed"].as_object();
    let errors = failed.map_or(0.0, |all| all.values().filter_map(Value::as_f64).sum());
    let operations = number("completed") + errors;
    Ok(Counted {
        operations,
        partitions: number("partitions"),
        rows_an_operation: number("rows") / operations.max(1.0),
        errors,
        ended: output.status.success() && report["success"] == true,
    })
}

/// The table of `docs/stress.md`, from the last trial of each line.
pub(crate) fn table(journal: &Journal) -> String {
    let mut text = String::from(
        "| line | operations, theirs | ours | partitions, theirs | ours | rows an operation, theirs | ours | errors |\n|---|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for line in &LINES {
        let trials = journal.trials(line.name);
        let Some((measures, _)) = trials.last() else {
            continue;
        };
        let get = |name: &str| measures.get(name).copied().unwrap_or_default();
        let whole = |name: &str| grouped(&format!("{:.0}", get(name)));
        let _infallible = writeln!(
            text,
            "| {}: `ops({})` | {} | {} | {} | {} | {:.2} | {:.2} | {} |",
            line.name,
            line.ops,
            whole("theirs_operations"),
            whole("ours_operations"),
            whole("theirs_partitions"),
            whole("ours_partitions"),
            get("theirs_rows_an_operation"),
            get("ours_rows_an_operation"),
            whole("errors"),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_twenty_lines_four_of_them_shipped_each_with_its_profile() {
        assert_eq!(LINES.len(), 20);
        assert_eq!(LINES.iter().filter(|line| line.shipped).count(), 4);
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../benches/stress");
        for line in LINES.iter().filter(|line| !line.shipped) {
            let file = folder.join(format!("{}.yaml", line.profile));
            assert!(file.is_file(), "{}", file.display());
        }
        assert_eq!(
            (grouped("1234567"), grouped("12")),
            ("1,234,567".to_owned(), "12".to_owned())
        );
    }
}
