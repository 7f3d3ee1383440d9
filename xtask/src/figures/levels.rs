//! Blocks of what `helenus levels --format json` measured: levels against distance, and one table of two clusters.
//! Refuses an interval of one repeat: there is none, and the row says how many there were.

use super::Call;
use super::proof::number;
use serde_json::Value;
use std::error::Error;
use std::fmt::Write as _;

/// `levels distances`, `levels two-clusters NAME NAME`, `levels apart LEVEL NAME NAME`, `levels left-out`.
pub(super) fn text(call: &Call<'_>) -> Result<String, Box<dyn Error>> {
    let files = call
        .files
        .iter()
        .map(|file| -> Result<Value, Box<dyn Error>> {
            Ok(serde_json::from_str(&fs_err::read_to_string(file)?)?)
        });
    let files: Vec<Value> = files.collect::<Result<_, _>>()?;
    match (call.words.as_slice(), files.as_slice()) {
        (["distances"], [file]) => Ok(distances(file)),
        (["two-clusters", one, other], [a, b]) => two_clusters([(one, a), (other, b)]),
        (["apart", level, one, other], [a, b]) => apart(level, [(one, a), (other, b)]),
        (["left-out"], [file]) => Ok(left_out(file)),
        _ => Err(
            "levels knows distances, two-clusters NAME NAME, apart LEVEL NAME NAME and left-out"
                .into(),
        ),
    }
}

fn rows(file: &Value) -> impl Iterator<Item = &Value> {
    file["rows"].as_array().into_iter().flatten()
}

fn word<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap_or_default()
}

/// `write`, or of a mix `mixed read`.
fn operation(row: &Value) -> String {
    let (workload, operation) = (word(row, "workload"), word(row, "operation"));
    if workload == operation {
        return operation.to_owned();
    }
    format!("{workload} {operation}")
}

fn level(row: &Value) -> &str {
    if row["again"] == true {
        return "the same again";
    }
    word(row, "level")
}

fn ms(value: &Value) -> String {
    value
        .as_f64()
        .map_or("–".to_owned(), |ms| number(ms, Some(1)))
}

/// The mean difference from the reference level, its interval, and of how many repeats.
fn more(row: &Value, reference: &str) -> [String; 3] {
    let difference = &row["difference"];
    if difference.is_null() {
        // The reference itself differs from nothing; of another level no repeat had both.
        let cells = match word(row, "level") == reference && row["again"] == false {
            true => ["", "", ""],
            false => ["–", "–", "0"],
        };
        return cells.map(str::to_owned);
    }
    let repeats = difference["by_repeat_ms"].as_array().map_or(0, Vec::len);
    let interval = match difference["interval_ms"].as_array().map(Vec::as_slice) {
        Some([low, high]) => format!("{} to {}", ms(low), ms(high)),
        _ => "–".to_owned(),
    };
    [ms(&difference["mean_ms"]), interval, repeats.to_string()]
}

/// The mean difference with its interval in brackets, or of how many repeats it is where there is none.
fn with_interval(row: &Value, reference: &str) -> String {
    let [more, interval, repeats] = more(row, reference);
    match (more.as_str(), interval.as_str()) {
        ("" | "–", _) => more,
        (_, "–") => format!("{more} (n {repeats})"),
        _ => format!("{more} ({interval})"),
    }
}

/// Medians at 0 ms beside those with the links, with what a level takes more than the reference.
fn distances(file: &Value) -> String {
    let mut text = String::from(
        "| | at 0 ms | more there | with the links | more | 95 % interval | repeats | predicted |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    let reference = word(file, "reference");
    let far = rows(file).filter(|row| row["distance"] == "links" && row["operation"] != "all");
    for row in far {
        let same = |near: &&Value| {
            near["distance"] == "0ms"
                && ["workload", "operation", "level", "again"]
                    .iter()
                    .all(|key| near[*key] == row[*key])
        };
        let near = rows(file).find(same);
        let there = near.map_or(String::new(), |near| with_interval(near, reference));
        let near = near.map_or("–".to_owned(), |near| ms(&near["latency"]["median_ms"]));
        let [more, interval, repeats] = more(row, reference);
        let predicted = match row["predicted"]["low_us"].as_f64() {
            Some(us) if word(row, "level") != reference => number(us / 1e3, Some(0)),
            _ => String::new(),
        };
        let _infallible = writeln!(
            text,
            "| {} {} | {near} | {there} | {} | {more} | {interval} | {repeats} | {predicted} |",
            operation(row),
            level(row),
            ms(&row["latency"]["median_ms"]),
        );
    }
    text
}

/// Medians and differences of two clusters side by side.
fn two_clusters([(one, a), (other, b)]: [(&str, &Value); 2]) -> Result<String, Box<dyn Error>> {
    let mut text = format!(
        "| level | {one}: median | more | repeats | {other}: median | more | repeats |\n|---|--:|--:|--:|--:|--:|--:|\n"
    );
    for row in rows(a) {
        let same =
            |there: &&Value| there["level"] == row["level"] && there["again"] == row["again"];
        let there = rows(b).find(same).ok_or("a level of one cluster only")?;
        let cells = [row, there].map(|row| {
            let reference = word(a, "reference");
            let [_, _, repeats] = more(row, reference);
            let more = with_interval(row, reference);
            format!("{} | {more} | {repeats}", ms(&row["latency"]["median_ms"]))
        });
        let _infallible = writeln!(text, "| {} | {} |", level(row), cells.join(" | "));
    }
    Ok(text)
}

/// By how much a level's cost differs between two clusters.
fn apart(level: &str, sides: [(&str, &Value); 2]) -> Result<String, Box<dyn Error>> {
    let costs = sides.map(|(_, file)| {
        let own = rows(file).filter(|row| row["level"] == level && row["again"] == false);
        own.into_iter()
            .find_map(|row| row["difference"]["mean_ms"].as_f64())
    });
    let [Some(one), Some(other)] = costs else {
        return Err(format!("no difference of {level}").into());
    };
    let [a, b] = [one, other].map(|ms| number(ms, Some(1)));
    let apart = number(other - one, Some(1));
    let [(here, file), (there, _)] = sides;
    let reference = word(file, "reference");
    Ok(format!(
        "{level} took {a} ms more than {reference} in the cluster *{here}* and {b} ms more in the cluster *{there}*,\n\
         {apart} ms apart, in one cluster each.\n"
    ))
}

/// How many runs are in no row, and why.
fn left_out(file: &Value) -> String {
    let all = file["left_out"].as_array().map_or(&[][..], Vec::as_slice);
    let mut why: Vec<&str> = all.iter().map(|run| word(run, "why")).collect();
    why.sort_unstable();
    why.dedup();
    let counted: std::collections::BTreeSet<&str> = rows(file)
        .filter_map(|row| row["runs"].as_array())
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let runs = counted.len() + all.len();
    format!(
        "{} of {runs} runs are left out: {}.\n",
        all.len(),
        why.join("; ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_row_of_one_repeat_has_no_interval() {
        let row = |distance: &str, level: &str, median: f64, difference: Value| {
            json!({"distance": distance, "workload": "write", "operation": "write", "level": level, "again": false,
                "runs": [], "latency": {"median_ms": median}, "predicted": {"low_us": 20_000}, "difference": difference})
        };
        let one = json!({"by_repeat_ms": [20.25], "mean_ms": 20.25, "interval_ms": null});
        let file = json!({"reference": "LOCAL_QUORUM", "rows": [
            row("0ms", "QUORUM", 5.0, Value::Null),
            row("links", "LOCAL_QUORUM", 4.0, Value::Null),
            row("links", "QUORUM", 24.27, one),
        ]});
        let shown = distances(&file);
        assert!(
            shown.contains("| write LOCAL_QUORUM | – |  | 4.0 |  |  |  |  |\n"),
            "{shown}"
        );
        assert!(
            shown.contains("| write QUORUM | 5.0 | – | 24.3 | 20.2 | – | 1 | 20 |\n"),
            "{shown}"
        );
        let other = json!({"rows": [row("links", "QUORUM", 90.0, json!({"mean_ms": 80.5}))]});
        let said = apart("QUORUM", [("a", &file), ("b", &other)]);
        let said = said.expect("both have a difference");
        let wanted =
            "QUORUM took 20.2 ms more than LOCAL_QUORUM in the cluster *a* and 80.5 ms more";
        assert!(said.starts_with(wanted), "{said}");
    }
}
