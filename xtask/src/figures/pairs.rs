//! A block of pairs that were noted by hand: `pair 1 ledger off: …: 97.2 µs of CPU an operation`. Refuses a mean without its
//! interval.

use super::Call;
use super::proof::number;
use helenus_model::stats::{interval, median};
use std::error::Error;

/// `pairs OFF ON`: what the second side takes more than the first, with all pairs and without the first.
pub(super) fn text(call: &Call<'_>) -> Result<String, Box<dyn Error>> {
    let [off, on] = call.words.as_slice() else {
        return Err("pairs wants two sides".into());
    };
    let noted = fs_err::read_to_string(call.file()?)?;
    let sides = [off, on].map(|side| values(&noted, side));
    let [off, on] = &sides;
    if off.len() != on.len() || off.len() < 3 {
        return Err("it wants as many of both sides, three at least".into());
    }
    let logs: Vec<f64> = off
        .iter()
        .zip(on)
        .map(|(off, on)| (on / off).ln())
        .collect();
    let medians = sides
        .each_ref()
        .map(|side| median(side).unwrap_or_default());
    Ok(format!(
        "{} pairs; medians {} µs without and {} µs with it. With it {}; without the first pair {}.\n",
        logs.len(),
        number(medians[0], Some(1)),
        number(medians[1], Some(1)),
        ratio_text(&logs)?,
        ratio_text(&logs[1..])?,
    ))
}

fn values(noted: &str, side: &str) -> Vec<f64> {
    let side = format!(" {} ", side.replace('-', " "));
    let lines = noted.lines().filter(|line| line.starts_with("pair "));
    let own = lines.filter(|line| line.replace(':', " ").contains(&side));
    let value = |line: &str| line.split_once(" µs")?.0.rsplit(' ').next()?.parse().ok();
    own.filter_map(value).collect()
}

/// Mean ratio with its interval, in percent.
fn ratio_text(logs: &[f64]) -> Result<String, Box<dyn Error>> {
    let found = interval(logs).ok_or("too few pairs")?;
    let percent = |log: f64| {
        let percent = log.exp_m1() * 100.0;
        let word = if percent < 0.0 { "less" } else { "more" };
        format!("{} % {word}", number(percent.abs(), Some(1)))
    };
    let [low, high] = found.ends(0.05);
    Ok(format!(
        "{} (95 % interval: {} to {})",
        percent(found.mean),
        percent(low),
        percent(high)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_distinguished_by_their_words() {
        let noted = "pair 1 ledger off: x: 10.5 µs of\npair 1 ledger on: x: 11.5 µs of\nr13: 4 ledger on 3 µs\n";
        assert_eq!(values(noted, "ledger-off"), [10.5]);
        assert_eq!(values(noted, "ledger-on"), [11.5]);
        assert!(
            ratio_text(&[0.0, 0.1, -0.1])
                .unwrap()
                .starts_with("0.0 % more (95 % interval: ")
        );
    }
}
