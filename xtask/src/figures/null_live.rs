//! Experiments on real Cassandra whose levels are all the same: how many of their contrasts a report would call different.
//! Refuses to count the contrasts of one experiment as independent: they share its levels.

use super::Call;
use crate::prove::figures::Journal;
use helenus_model::stats;
use std::error::Error;
use std::fmt::Write as _;

/// Level of the intervals, and so the share of contrasts that may be called different.
const NOMINAL: f64 = 0.05;

/// What a row is about, with the variants of `prove null-live` that it counts.
const ROWS: [(&str, &[&str]); 4] = [
    ("closed loops: throughput of writes", &["closed"]),
    ("open loop: p50 of reads", &["reads"]),
    ("restarts: throughput of writes", &["restarts"]),
    ("all", &["closed", "reads", "restarts"]),
];

/// `null-live`: a row for each kind of experiment.
pub(super) fn text(call: &Call<'_>) -> Result<String, Box<dyn Error>> {
    let journals = call.files.iter().map(|file| Journal::of(file));
    table(&journals.collect::<Result<Vec<_>, _>>()?)
}

fn table(journals: &[Journal]) -> Result<String, Box<dyn Error>> {
    let mut text = "| experiment | experiments | contrasts | called different | share | 95 % confidence interval | reports of all ten levels that claim a difference |\n|---|--:|--:|--:|--:|---|--:|\n".to_owned();
    let mut off = Vec::new();
    for (title, variants) in ROWS {
        let values = |measure: &str| -> Vec<f64> {
            let each = variants
                .iter()
                .flat_map(|variant| journals.iter().map(move |j| j.values(variant, measure)));
            each.flatten().collect()
        };
        let (contrasts, called) = (values("contrasts"), values("called_different"));
        let shares: Vec<f64> = called.iter().zip(&contrasts).map(|(a, b)| a / b).collect();
        let interval = stats::interval(&shares).ok_or("an interval wants two experiments")?;
        let [low, high] = interval.ends(NOMINAL).map(|end| end.max(0.0));
        writeln!(
            text,
            "| {title} | {} | {} | {} | {:.1} % | {:.1} to {:.1} % | {} |",
            shares.len(),
            contrasts.iter().sum::<f64>(),
            called.iter().sum::<f64>(),
            interval.mean * 100.0,
            low * 100.0,
            high * 100.0,
            values("report_claims").iter().sum::<f64>(),
        )?;
        if !(low..=high).contains(&NOMINAL) {
            off.push(title);
        }
    }
    match off.as_slice() {
        [] => writeln!(text, "\nEach interval contains the nominal 5 %.")?,
        off => writeln!(
            text,
            "\nIntervals that do not contain the nominal 5 %: {}.",
            off.join("; ")
        )?,
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    /// A journal of experiments with these counts of contrasts called different, for each variant.
    fn journal(called: &[u32]) -> Journal {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        let sitting = r#"{"line":"sitting","format":"helenus.proof/1","campaign":"null-live","at_unix":1,"seed":1,"host":{"hash":"h","processor":"p","cores":2,"memory_mib":1,"kernel":"k","jdk":"j","commit":"c"}}"#;
        writeln!(file, "{sitting}").expect("written");
        for (round, called) in called.iter().enumerate() {
            for variant in ["closed", "reads", "restarts"] {
                writeln!(
                    file,
                    r#"{{"line":"trial","variant":"{variant}","round":{round},"at_unix":1,"measures":{{"called_different":{called},"contrasts":45,"report_claims":0}},"pressure":{{"load":0,"steal":0,"others":0}}}}"#
                )
                .expect("written");
            }
        }
        Journal::of(file.path()).expect("a journal")
    }

    #[test]
    fn the_interval_is_that_of_the_experiments_not_of_their_contrasts() {
        let text = table(&[journal(&[0, 2]), journal(&[1, 5])]).expect("a table");
        // Shares 0, 4.4, 2.2, 11.1 %: mean 4.4, sd 4.8, t of 3 degrees 3.18.
        let row =
            "| closed loops: throughput of writes | 4 | 180 | 8 | 4.4 % | 0.0 to 12.1 % | 0 |";
        assert!(text.contains(row), "{text}");
        assert!(text.contains("| all | 12 | 540 | 24 | 4.4 % |"), "{text}");
        assert!(text.contains("Each interval contains"), "{text}");
    }

    #[test]
    fn a_rate_that_is_not_the_nominal_one_is_named() {
        let text = table(&[journal(&[8, 9, 10, 9])]).expect("a table");
        let named = "do not contain the nominal 5 %: closed loops: throughput of writes; open loop";
        assert!(text.contains(named), "{text}");
        assert!(table(&[journal(&[1])]).is_err(), "one experiment");
    }
}
