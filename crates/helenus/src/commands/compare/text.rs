//! Two sides as the text of an experiment: what `compare --ab` runs, and what `experiment resume` reads again.
//! Refuses to lose a key of a side.

use super::first_stage;
use super::recipe::Recipe;
use crate::cli::compare::Compare;
use toml::{Table, Value};

/// Longest name of an experiment and of its levels.
const WORD_MOST: usize = 40;

/// A name as a word of an experiment: other characters become hyphens, the end of a long one is kept.
pub(super) fn word(name: &str) -> String {
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() || "-_.".contains(c) => c,
        _ => '-',
    };
    let word: String = name.chars().map(plain).collect();
    let cut = word.len().saturating_sub(WORD_MOST);
    match &word[cut..] {
        "" => "side".to_owned(),
        word => word.to_owned(),
    }
}

/// The experiment of these sides; a side that has neither a rate nor a closed loop gets this rate.
pub(super) fn of(
    flags: &Compare,
    labels: &[String; 2],
    recipes: &[Recipe; 2],
    rate: Option<f64>,
) -> String {
    let levels = labels.iter().zip(recipes).map(|(label, recipe)| {
        let load = &recipe.flags.load;
        let mut level = recipe.keys.clone();
        level.insert("label".to_owned(), label.clone().into());
        if let (Some(rate), None, false) = (rate, load.rate, load.common.closed) {
            level.insert("rate".to_owned(), rate.into());
        }
        Value::Table(level)
    });
    let text = |text: &str| Value::String(text.to_owned());
    let number = |n: usize| Value::Integer(i64::try_from(n).unwrap_or(i64::MAX));
    let factor = [
        ("name", text("side")),
        ("kind", text("restart")),
        ("levels", Value::Array(levels.collect())),
    ];
    let mut all = vec![
        ("name", text(&word(&labels.join("-against-")))),
        ("pairs", Value::Boolean(true)),
        ("repeats", number(first_stage(flags))),
        ("stop_early", Value::Boolean(flags.stop_early)),
        ("fail_on", flags.fail_on.clone().into()),
        ("factor", Value::Array(vec![Value::Table(table(factor))])),
    ];
    if let Some(share) = flags.until {
        all.push(("until", text(&format!("{}%", share * 100.0))));
    }
    if flags.until.is_some() || flags.stop_early {
        all.push(("max_repeats", number(flags.max_pairs as usize)));
    }
    table(all).to_string()
}

fn table(entries: impl IntoIterator<Item = (&'static str, Value)>) -> Table {
    let each = entries.into_iter();
    each.map(|(key, value)| (key.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_words() {
        assert_eq!(
            ["a", "x/a b.toml", ""].map(word),
            ["a", "x-a-b.toml", "side"]
        );
        assert_eq!(word(&"ä".repeat(50)).len(), WORD_MOST);
    }
}
