//! `prove levels`: what QUORUM and EACH_QUORUM writes cost against LOCAL_QUORUM on 3 × 3 nodes 20 and 80 ms apart.
//! Refuses a difference without the noise beside it: the reference level runs twice in every repeat.

use super::campaign::{Bar, Campaign, Measures, Outcome, rounded};
use super::host::Watch;
use super::rig::Rig;
use super::start;
use serde_json::Value;
use std::error::Error;

/// Round trips from DC1, in milliseconds.
const NEAR_MS: f64 = 20.0;
const FAR_MS: f64 = 80.0;

/// A difference holds where it is this near to the round trip: a share of it, or so many milliseconds.
const SHARE: f64 = 0.05;
const LEAST_MS: f64 = 2.0;

/// LOCAL_QUORUM holds where distance changes it by less than this share, or so many milliseconds.
const LOCAL_SHARE: f64 = 0.2;
const LOCAL_LEAST_MS: f64 = 1.0;

const UP: [&str; 9] = [
    "up",
    "wan",
    "-n",
    "3:3:3",
    "--rtt",
    "80ms",
    "--rtt",
    "DC1:DC2=20ms",
    "--preset=tiny",
];

const LEVELS: [&str; 17] = [
    "levels",
    "--cluster",
    "wan",
    "--cl",
    "LOCAL_QUORUM,QUORUM,EACH_QUORUM",
    "--workloads",
    "write",
    "--rtt",
    "0ms,links",
    "--rate",
    "50",
    "--repeats",
    "2",
    "--duration",
    "12s",
    "--warmup",
    "5s",
];

const fn at_most_1(measure: &'static str) -> Bar {
    Bar::median("3x3", measure, 1.0)
}

pub(crate) const LEVELS_CAMPAIGN: Campaign = Campaign {
    name: "levels",
    about: "3 × 3 nodes, RF 3/3/3, 20 and 80 ms from DC1: writes at three levels, 50/s; parts of what each may be off",
    variants: &["3x3"],
    bars: &[
        at_most_1("local_off"),
        at_most_1("quorum_off"),
        at_most_1("each_off"),
    ],
    prepare: start::prepare,
    trial,
};

fn trial(rig: &Rig, _only: &str) -> Result<Outcome, Box<dyn Error>> {
    rig.clear()?;
    rig.run(&UP)?;
    let watch = Watch::begin()?;
    let table = rig.json(&LEVELS);
    let pressure = watch.end(0.0)?;
    rig.clear()?;
    Ok(Outcome {
        measures: measures(&table?)?,
        pressure,
    })
}

fn measures(table: &Value) -> Result<Measures, Box<dyn Error>> {
    let near = median(table, "0ms")?;
    let far = median(table, "links")?;
    let local_allowed = (LOCAL_SHARE * near).max(LOCAL_LEAST_MS);
    let quorum = difference(table, "QUORUM", false)?;
    let each = difference(table, "EACH_QUORUM", false)?;
    let off = |found: f64, wanted: f64| (found - wanted).abs() / (SHARE * wanted).max(LEAST_MS);
    let each_measure = [
        ("local_at_0_ms", near),
        ("local_ms", far),
        ("local_off", (far - near).abs() / local_allowed),
        ("quorum_more_ms", quorum),
        ("quorum_off", off(quorum, NEAR_MS)),
        ("each_more_ms", each),
        ("each_off", off(each, FAR_MS)),
        ("again_ms", difference(table, "LOCAL_QUORUM", true)?),
    ];
    Ok(each_measure
        .map(|(name, value)| (name.to_owned(), rounded(value)))
        .into())
}

fn row<'a>(
    table: &'a Value,
    distance: &str,
    level: &str,
    again: bool,
) -> Result<&'a Value, Box<dyn Error>> {
    let mut rows = table["rows"].as_array().into_iter().flatten();
    let found = rows
        .find(|row| row["distance"] == distance && row["level"] == level && row["again"] == again);
    Ok(found.ok_or_else(|| format!("no row of {level} at {distance}"))?)
}

fn median(table: &Value, distance: &str) -> Result<f64, Box<dyn Error>> {
    let row = row(table, distance, "LOCAL_QUORUM", false)?;
    let median = row["latency"]["median_ms"].as_f64();
    Ok(median.ok_or("no median of LOCAL_QUORUM")?)
}

fn difference(table: &Value, level: &str, again: bool) -> Result<f64, Box<dyn Error>> {
    let row = row(table, "links", level, again)?;
    let mean = row["difference"]["mean_ms"].as_f64();
    Ok(mean.ok_or_else(|| format!("no difference of {level}"))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn measures_are_parts_of_what_is_allowed() {
        let row = |distance: &str, level: &str, again: bool, median: f64, more: Option<f64>| {
            json!({"distance": distance, "level": level, "again": again,
                "latency": {"median_ms": median}, "difference": more.map(|ms| json!({"mean_ms": ms}))})
        };
        let table = json!({"rows": [
            row("0ms", "LOCAL_QUORUM", false, 2.0, None),
            row("links", "LOCAL_QUORUM", false, 2.5, None),
            row("links", "LOCAL_QUORUM", true, 2.6, Some(0.1)),
            row("links", "QUORUM", false, 23.0, Some(21.0)),
            row("links", "EACH_QUORUM", false, 80.5, Some(78.0)),
        ]});
        let found = measures(&table).expect("a table");
        let wanted = [
            ("local_off", 0.5),
            ("quorum_off", 0.5),
            ("each_off", 0.5),
            ("again_ms", 0.1),
        ];
        for (name, value) in wanted {
            assert!(
                (found[name] - value).abs() < 1e-9,
                "{name} is {}",
                found[name]
            );
        }
        assert!(measures(&json!({"rows": []})).is_err());
    }
}
