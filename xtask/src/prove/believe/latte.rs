//! The same question to latte's own comparison (`latte show A -b B`): how often it marks a difference between two
//! restarts of which nothing differs. Refuses to judge it by more than its own p values.

use super::pool;
use crate::prove::rig::Rig;
use helenus_model::seed::Seed;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::process::Command;

/// Two different restarts are drawn so often.
const DRAWS: u64 = 2000;

/// What came of it, by the row of latte's table.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Marked {
    /// Comparisons that showed a p value.
    pub(super) compared: usize,
    /// Of these with p at most 0.05.
    pub(super) at_5_percent: usize,
    /// Of these with p at most 0.01, where latte paints the change.
    pub(super) at_1_percent: usize,
}

/// Draws pairs of reports and lets latte compare them; empty where there are no reports or no latte.
pub(super) fn marked(
    rig: &Rig,
    rounds: usize,
    seed: Seed,
) -> Result<BTreeMap<String, Marked>, Box<dyn Error>> {
    let mut rows: BTreeMap<String, Marked> = BTreeMap::new();
    let reports: Vec<PathBuf> = (0..rounds)
        .map(|round| pool::latte_report(rig, round))
        .filter(|path| path.exists())
        .collect();
    let (Some(latte), true) = (pool::latte(), reports.len() > 1) else {
        return Ok(rows);
    };
    let all = reports.len() as u64;
    for at in 0..DRAWS {
        let a = seed.derive("latte a").at(at) % all;
        let b = (a + 1 + seed.derive("latte b").at(at) % (all - 1)) % all;
        let path = |n: u64| &reports[usize::try_from(n).unwrap_or_default()];
        let output = Command::new(&latte)
            .current_dir(&rig.context.paths.state)
            .arg("show")
            .arg(path(a))
            .arg("-b")
            .arg(path(b))
            .env("NO_COLOR", "1")
            .output()?;
        for (row, p) in p_values(&String::from_utf8_lossy(&output.stdout)) {
            let marked = rows.entry(row).or_default();
            marked.compared += 1;
            marked.at_5_percent += usize::from(p <= 0.05);
            marked.at_1_percent += usize::from(p <= 0.01);
        }
    }
    Ok(rows)
}

/// The rows of latte's table that end in a p value, perhaps followed by asterisks.
fn p_values(table: &str) -> Vec<(String, f64)> {
    let mut found = Vec::new();
    for line in table.lines() {
        let words: Vec<&str> = line
            .split_whitespace()
            .filter(|word| !word.chars().all(|c| c == '*'))
            .collect();
        let Some(p) = words.last().and_then(|w| w.parse::<f64>().ok()) else {
            continue;
        };
        // A change in percent stands before the p value.
        if words.len() > 3 && words[words.len() - 2].ends_with('%') && (0.0..=1.0).contains(&p) {
            let digits = words
                .iter()
                .position(|w| w.starts_with(|c: char| c.is_ascii_digit()) && !w.ends_with('%'));
            let label = words[..digits.unwrap_or(1).max(1)].join(" ");
            found.push((label, p));
        }
    }
    found
}
