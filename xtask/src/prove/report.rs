//! What a campaign's trials say: medians with their ranges, pressure, and each bar with its verdict.
//! Refuses means, and a verdict on fewer trials than were asked for.

use super::campaign::{Bar, Campaign, Rule};
use super::journal::Journal;
use helenus_model::stats::median;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The text for a person, and whether every bar (aims apart) holds.
pub(crate) fn report(campaign: &Campaign, journal: &Journal, repeats: usize) -> (String, bool) {
    let mut text = head(campaign, journal);
    let _ = writeln!(
        text,
        "\n{:<16} {:<12} {:>9} {:>9} {:>9} {:>3}",
        "variant", "measure", "median", "least", "most", "n"
    );
    for variant in campaign.variants {
        for measure in measures(journal, variant) {
            let values = values(journal, variant, &measure);
            if let (Some(median), Some(least), Some(most)) =
                (median(&values), values.first(), values.last())
            {
                let _ = writeln!(
                    text,
                    "{variant:<16} {measure:<12} {median:>9.3} {least:>9.3} {most:>9.3} {:>3}",
                    values.len()
                );
            }
        }
        let failures = journal.failures(variant);
        if failures > 0 {
            let _ = writeln!(text, "{variant:<16} failed {failures} times");
        }
    }
    text.push('\n');
    let mut all_hold = true;
    for bar in campaign.bars {
        let (line, holds) = judge(bar, journal, repeats);
        all_hold &= holds || bar.aim;
        text.push_str(&line);
    }
    (text, all_hold)
}

fn head(campaign: &Campaign, journal: &Journal) -> String {
    let file = journal.path.file_name().unwrap_or_default();
    let mut text = format!("{}: {}\n", campaign.name, file.to_string_lossy());
    for host in journal.hosts() {
        let _ = writeln!(
            text,
            "{}, {} cores, {} MiB, kernel {}, JDK {}, commit {}",
            host.processor, host.cores, host.memory_mib, host.kernel, host.jdk, host.commit
        );
    }
    let pressures = || {
        let trials = campaign.variants.iter().flat_map(|v| journal.trials(v));
        trials.map(|(_, pressure)| *pressure)
    };
    let range = |values: Vec<f64>| {
        let values = sorted(values);
        let end = |v: Option<&f64>| v.copied().unwrap_or_default();
        (end(values.first()), end(values.last()))
    };
    let load = range(pressures().map(|p| p.load).collect());
    let steal = range(pressures().map(|p| p.steal * 100.0).collect());
    let others = range(pressures().map(|p| p.others * 100.0).collect());
    let _ = writeln!(
        text,
        "load {:.2} to {:.2} before, steal {:.1} to {:.1} %, other processes {:.1} to {:.1} %",
        load.0, load.1, steal.0, steal.1, others.0, others.1
    );
    text
}

fn judge(bar: &Bar, journal: &Journal, repeats: usize) -> (String, bool) {
    let middle = |variant: &str, measure: &str| {
        let values = values(journal, variant, measure);
        (values.len() >= repeats).then(|| median(&values)).flatten()
    };
    let (what, found, at_most) = match bar.rule {
        Rule::Median {
            variant,
            measure,
            at_most,
        } => {
            let what = format!("median {measure} of {variant}");
            (what, middle(variant, measure), at_most)
        }
        Rule::Ratio {
            variant,
            to,
            measure,
            at_most,
        } => {
            let what = format!("{measure} of {variant} / {to}");
            let pair = middle(variant, measure).zip(middle(to, measure));
            (what, pair.map(|(a, b)| a / b), at_most)
        }
        Rule::Sum {
            variant,
            measure,
            trials,
            at_most,
        } => {
            let values = values(journal, variant, measure);
            let what = format!("sum of {measure} of {} {variant}", values.len());
            let sum = (values.len() >= trials).then(|| values.iter().sum());
            (what, sum, at_most)
        }
        Rule::Every {
            variant,
            measure,
            at_most,
        } => {
            let what = format!("every {measure} of {variant}");
            let values = values(journal, variant, measure);
            let most = (values.len() >= repeats).then(|| values.last().copied());
            (what, most.flatten(), at_most)
        }
    };
    let kind = if bar.aim { "aim" } else { "bar" };
    match found {
        None => (
            format!("{kind}  undecided  {what}: too few trials\n"),
            false,
        ),
        Some(found) => {
            let holds = found <= at_most;
            let verdict = if holds { "held" } else { "NOT held" };
            let line = format!("{kind}  {verdict:<9}  {what}: {found:.3}, at most {at_most:.3}\n");
            (line, holds)
        }
    }
}

/// Whether a bar holds for the trials that there are.
pub(crate) fn holds(bar: &Bar, journal: &Journal) -> bool {
    judge(bar, journal, 1).1
}

fn measures(journal: &Journal, variant: &str) -> BTreeSet<String> {
    let trials = journal.trials(variant);
    trials.iter().flat_map(|(m, _)| m.keys().cloned()).collect()
}

/// A measure of a variant's trials, sorted.
fn values(journal: &Journal, variant: &str, measure: &str) -> Vec<f64> {
    let trials = journal.trials(variant);
    let values = trials.iter().filter_map(|(m, _)| m.get(measure).copied());
    sorted(values.collect())
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::campaign::Measures;
    use super::super::host::Pressure;
    use super::super::journal::Line;
    use super::*;

    pub(crate) fn journal(values: &[(&str, f64)]) -> Journal {
        let line = |(variant, value): &(&str, f64)| Line::Trial {
            variant: (*variant).to_owned(),
            round: 0,
            at_unix: 0,
            measures: Measures::from([("wall_s".to_owned(), *value)]),
            pressure: Pressure {
                load: 1.0,
                steal: 0.0,
                others: 0.0,
            },
        };
        Journal {
            path: "x.jsonl".into(),
            lines: values.iter().map(line).collect(),
        }
    }

    #[test]
    fn a_bar_is_held_by_the_medians_of_enough_trials() {
        let bar = Bar {
            rule: Rule::Ratio {
                variant: "a",
                to: "b",
                measure: "wall_s",
                at_most: 0.5,
            },
            aim: false,
        };
        let journal = journal(&[
            ("a", 1.0),
            ("a", 9.0),
            ("a", 2.0),
            ("b", 4.0),
            ("b", 4.0),
            ("b", 5.0),
        ]);
        let (line, holds) = judge(&bar, &journal, 3);
        assert!(holds, "{line}");
        let (line, holds) = judge(&bar, &journal, 4);
        assert!(!holds && line.contains("too few"), "{line}");
    }
}
