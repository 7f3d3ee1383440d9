//! `prove populate`: a populate of 1,000,000 rows that is killed at 40 % and goes on. Refuses one that sends more than
//! the missing rows and 2 %, or that leaves another content or other settings than one that nobody disturbed.

use super::campaign::{Bar, Campaign, Outcome, by_name, rounded};
use super::host::Watch;
use super::rig::{Life, Rig};
use super::start;
use helenus_cluster::mbeans::Mbeans;
use helenus_cluster::populate_journal;
use helenus_model::populate::RAISED_SETTINGS;
use serde_json::Value;
use std::error::Error;
use std::process::Child;
use std::time::{Duration, Instant};

const NAME: &str = "p";

/// Rows of each populate.
const ROWS: u64 = 1_000_000;

/// Acknowledged rows at which it is killed.
const KILLED_AT: u64 = ROWS / 5 * 2;

/// Patience with a small node that loads this much.
const LOADED_WITHIN: Duration = Duration::from_secs(1800);

const TABLE: &str = "keyspace1.standard1";
const STORAGE: &str = "org.apache.cassandra.db:type=StorageService";

const fn at_most(measure: &'static str, at_most: f64) -> Bar {
    Bar::every("killed", measure, at_most)
}

pub(crate) const POPULATE: Campaign = Campaign {
    name: "populate",
    about: "a populate of 1,000,000 rows killed at 40 % and gone on with: what is sent twice, what is wrong after",
    variants: &["killed"],
    bars: &[at_most("twice_percent", 2.0), at_most("wrong", 0.0)],
    prepare: start::prepare,
    trial: |rig, _| rig.alone(|| measure(rig)),
};

fn measure(rig: &Rig) -> Result<Outcome, Box<dyn Error>> {
    let ready = rig.json(&["up", NAME])?;
    let pid = ready["nodes"][0]["pid"].as_u64();
    let pid = u32::try_from(pid.ok_or("a node without a process")?)?;
    let before = Life::of(pid)?.cpu;
    let watch = Watch::begin()?;
    let settings = settings(rig)?;

    let whole = rig.json(&words(&ROWS.to_string(), &[]))?;
    let sum = whole["verified"]["checksum"].clone();
    let mut wrong = faults(&whole);
    rig.run(&["cql", NAME, "-e", &format!("TRUNCATE {TABLE}")])?;

    let mut child = rig
        .command(&words(&ROWS.to_string(), &["--anew"]))
        .spawn()?;
    killed(rig, &mut child, |journal| {
        !journal.complete && journal.below >= KILLED_AT
    })?;
    let there = rig.json(&["count", TABLE, "--cluster", NAME])?["rows"].as_u64();
    let there = there.ok_or("a count without rows")?;
    let rest = rig.json(&words(&ROWS.to_string(), &[]))?;
    wrong += faults(&rest);
    wrong += u64::from(rest["verified"]["checksum"] != sum);
    wrong += u64::from(self::settings(rig)? != settings);
    wrong += u64::from(!counters_are_refused(rig)?);

    let sent = rest["sent"].as_u64().ok_or("nothing was sent")?;
    let twice = sent.saturating_sub(ROWS - there.min(ROWS));
    let seconds = |said: &Value| rounded(said["load_s"].as_f64().unwrap_or_default());
    let own = Life::of(pid)?.cpu - before;
    let measures = [
        ("whole_s", seconds(&whole)),
        ("rest_s", seconds(&rest)),
        ("there_percent", rounded(there as f64 * 100.0 / ROWS as f64)),
        ("twice_percent", rounded(twice as f64 * 100.0 / ROWS as f64)),
        ("wrong", wrong as f64),
    ];
    Ok(Outcome {
        measures: by_name(measures),
        pressure: watch.end(own)?,
    })
}

fn words<'a>(rows: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = ["populate", "standard1", "--cluster", NAME, "--seed", "7"];
    [&words[..], &["--rows", rows], more].concat()
}

/// Rows that are missing, wrong or too many.
fn faults(said: &Value) -> u64 {
    let found = &said["verified"];
    let number = |key: &str| found[key].as_u64().unwrap_or(ROWS);
    number("missing") + number("wrong") + number("foreign") + number("rows").abs_diff(ROWS)
}

/// Kills it once what it remembers is far enough.
fn killed(
    rig: &Rig,
    child: &mut Child,
    far_enough: impl Fn(&helenus_model::populate::Journal) -> bool,
) -> Result<(), Box<dyn Error>> {
    let begin = Instant::now();
    loop {
        if populate_journal::look(&rig.context.clusters.folder(NAME))?
            .is_some_and(|journal| far_enough(&journal))
        {
            child.kill()?;
            child.wait()?;
            return Ok(());
        }
        if let Some(status) = child.try_wait()? {
            return Err(format!("the populate ended by itself: {status}").into());
        }
        if begin.elapsed() > LOADED_WITHIN {
            child.kill()?;
            child.wait()?;
            return Err("the populate took too long".into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What a load raises, as the node itself reports it.
fn settings(rig: &Rig) -> Result<Vec<Value>, Box<dyn Error>> {
    let state = rig.context.clusters.load(NAME)?;
    let mbeans = Mbeans::of(&rig.context, &state, "node1")?;
    let read = |attribute: &&str| mbeans.read(STORAGE, attribute);
    Ok(RAISED_SETTINGS.iter().map(read).collect::<Result<_, _>>()?)
}

/// Whether a populate of counters that was killed does not go on.
fn counters_are_refused(rig: &Rig) -> Result<bool, Box<dyn Error>> {
    let words = [
        "populate",
        "counter1",
        "--cluster",
        NAME,
        "--partitions",
        "1m",
    ];
    let mut child = rig.command(&words).spawn()?;
    killed(rig, &mut child, |journal| {
        journal.counts && journal.below >= 1000
    })?;
    let again = rig.command(&words).output()?;
    rig.run(&["populate", "--put-back", "--cluster", NAME])?;
    Ok(again.status.code() == Some(2))
}
