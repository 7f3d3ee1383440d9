//! Rates that hold a threshold, in words.
//! Refuses a number beyond the rates that were run.

use crate::report::words;
use helenus_model::experiment::{Ladder, Rate};

/// Most settings that the line names.
const NAMED_MOST: usize = 8;

/// A rate such as `180/s`, `less than 50/s`.
pub(super) fn rate(rate: Rate) -> String {
    let number = |rate: f64| match rate {
        small if small < 9.5 => format!("{}/s", words::digits(small)),
        rate => format!("{rate:.0}/s"),
    };
    match rate {
        Rate::Below(first) => format!("less than {}", number(first)),
        Rate::At(at) => number(at),
        Rate::Above(last) => format!("more than {}", number(last)),
    }
}

/// An interval; both ends beyond the same rate are one.
pub(super) fn interval([low, high]: [Rate; 2]) -> String {
    let (low, high) = (rate(low), rate(high));
    if low == high {
        return low;
    }
    format!("{low} to {high}")
}

/// Rates that were run.
pub(super) fn list(rates: &[f64]) -> String {
    let each: Vec<String> = rates.iter().map(|one| rate(Rate::At(*one))).collect();
    each.join(", ")
}

/// A line for each threshold that was tested at several rates.
pub(super) fn lines(ladders: &[Ladder]) -> Vec<String> {
    let of_bars =
        ladders.chunk_by(|one, other| (&one.bar, one.measure) == (&other.bar, other.measure));
    let line = |own: &[Ladder]| {
        let named = own.iter().take(NAMED_MOST).map(|ladder| {
            let (at, within) = (rate(ladder.rate), interval(ladder.interval));
            if at == within {
                format!("{} {at}", ladder.label)
            } else {
                format!("{} {at} ({within})", ladder.label)
            }
        });
        let named = named.collect::<Vec<_>>().join(", ");
        let more = match own.len().saturating_sub(NAMED_MOST) {
            0 => String::new(),
            n => format!(", and {n} more settings"),
        };
        format!(
            "rate that holds {}, with its 95 % interval: {named}{more}",
            own[0].bar
        )
    };
    of_bars.map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_model::comparison::Measure;

    #[test]
    fn a_line_says_less_and_more_beyond_the_rates() {
        let ladder = |label: &str, rate, interval| Ladder {
            bar: "p99 < 300ms".to_owned(),
            measure: Measure::ResponseP99,
            label: label.to_owned(),
            rates: vec![50.0, 400.0],
            rate,
            interval,
        };
        let (first, last) = (Rate::Below(50.0), Rate::Above(400.0));
        let all = [
            ladder("heap=64M", Rate::At(181.4), [first, Rate::At(320.0)]),
            ladder("heap=96M", last, [Rate::At(212.0), last]),
            ladder("heap=128M", last, [last, last]),
        ];
        assert_eq!(
            lines(&all),
            [
                "rate that holds p99 < 300ms, with its 95 % interval: heap=64M 181/s (less than 50/s to 320/s), \
              heap=96M more than 400/s (212/s to more than 400/s), heap=128M more than 400/s"
            ]
        );
        assert_eq!(lines(&[]), Vec::<String>::new());
        assert_eq!(list(&[50.0, 400.0]), "50/s, 400/s");
        let many: Vec<Ladder> = (0..10).map(|_| all[2].clone()).collect();
        assert!(lines(&many)[0].ends_with("and 2 more settings"));
    }
}
