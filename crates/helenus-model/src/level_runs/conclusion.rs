//! What a comparison of levels says: one sentence and one badge, by the rules of every comparison.
//! Refuses a claim of fewer than six repeats, or one that holds only before correction.

use super::{Difference, Row, Table};
use crate::comparison::{ALPHA, Conclusion, LEAST_PAIRS, Tone};
use crate::stats::{holm, interval};

impl Table {
    /// What it says. Whoever shows the table shows these words.
    pub fn conclusion(&self) -> Conclusion {
        let mut differ: Vec<(&Row, &Difference)> = self
            .rows
            .iter()
            .filter(|row| !row.again)
            .filter_map(|row| Some((row, row.difference.as_ref()?)))
            .collect();
        let most = |differ: &[(&Row, &Difference)]| -> String {
            let by = |one: &&(&Row, &Difference)| one.1.mean_ms;
            let most = differ.iter().max_by(|a, b| by(a).total_cmp(&by(b)));
            most.map_or_else(String::new, |(row, difference)| self.words(row, difference))
        };
        let open = |headline: String, badge| Conclusion {
            headline,
            badge,
            tone: Tone::Open,
        };
        if differ.is_empty() {
            let alone = "only one level: nothing to compare it with";
            return open(alone.to_owned(), "no claim");
        }
        let repeats = match self.repeats {
            1 => "1 repeat".to_owned(),
            n => format!("{n} repeats"),
        };
        if (self.repeats as usize) < LEAST_PAIRS {
            return open(
                format!(
                    "no claim: {repeats}, and at least {LEAST_PAIRS} are needed; the largest difference: {}",
                    most(&differ)
                ),
                "no claim",
            );
        }
        let p = |(_, difference): &(&Row, &Difference)| {
            let known = interval(&difference.by_repeat_ms);
            known.map_or(1.0, |known| known.p(0.0))
        };
        let p: Vec<f64> = differ.iter().map(p).collect();
        let none = format!(
            "no significant difference after correction ({repeats}); the largest: {}",
            most(&differ)
        );
        let mut corrected = holm(&p).into_iter();
        differ.retain(|(_, difference)| {
            let p = corrected.next().unwrap_or(1.0);
            p <= ALPHA && difference.by_repeat_ms.len() >= LEAST_PAIRS
        });
        if differ.is_empty() {
            return open(none, "no significant difference");
        }
        Conclusion {
            headline: format!(
                "significant after correction ({repeats}); the largest difference: {}",
                most(&differ)
            ),
            badge: "significant difference",
            tone: Tone::Settled,
        }
    }

    /// `EACH_QUORUM waits 21.0 ms longer than LOCAL_QUORUM (20.6 to 21.4 ms; write at 20ms)`.
    fn words(&self, row: &Row, difference: &Difference) -> String {
        let (ms, than) = if difference.mean_ms < 0.0 {
            (-difference.mean_ms, "less")
        } else {
            (difference.mean_ms, "longer")
        };
        let interval = difference.interval_ms;
        let interval = interval.map_or_else(String::new, |[low, high]| {
            let sign = if difference.mean_ms < 0.0 { -1.0 } else { 1.0 };
            let mut ends = [low * sign, high * sign];
            ends.sort_by(f64::total_cmp);
            format!("{:.2} to {:.2} ms; ", ends[0], ends[1])
        });
        format!(
            "{} waits {ms:.2} ms {than} than {} ({interval}{} at {})",
            row.level.word(),
            self.reference.word(),
            row.operation,
            row.distance
        )
    }
}
