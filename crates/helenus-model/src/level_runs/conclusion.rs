//! What a comparison of levels says: one sentence and one badge, by the rules of every comparison.
//! Refuses a claim of fewer than six repeats, or one that holds only before correction.

use super::{Difference, Row, Table};
use crate::comparison::{Conclusion, LEAST_PAIRS, Tone};

impl Table {
    /// How many differences may be claimed, and what may be said of each, in one sentence; none where nothing may be claimed.
    pub fn rule(&self) -> Option<String> {
        let each = self.rows.iter().filter_map(|row| row.difference.as_ref());
        let family = each.filter(|one| one.p_holm.is_some()).count();
        (family > 0).then(|| {
            format!(
                "claims are made of {family} differences from {}, at 5 % over all of them (Holm), with simultaneous 95 % intervals \
                 (Bonferroni); all others are exploratory, each with its own 95 % interval",
                self.reference.word()
            )
        })
    }

    /// What it says. Whoever shows the table shows these words.
    pub fn conclusion(&self) -> Conclusion {
        let said = self.of_differences();
        let behind = self.behind();
        match behind.is_empty() {
            true => said,
            false => Conclusion {
                headline: format!("{behind}; {}", said.headline),
                ..said
            },
        }
    }

    /// `QUORUM fell behind its schedule in 4 of 8 runs (write at 20ms)`; empty where no run did.
    fn behind(&self) -> String {
        let own = self.rows.iter().filter(|row| row.behind > 0);
        // Operations of a mix share their runs.
        let mut each: Vec<String> = own
            .map(|row| {
                format!(
                    "{} fell behind its schedule in {} of {} runs ({} at {})",
                    row.level.word(),
                    row.behind,
                    row.runs.len(),
                    row.workload.word(),
                    row.distance
                )
            })
            .collect();
        each.dedup();
        each.join("; ")
    }

    fn of_differences(&self) -> Conclusion {
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
        let none = format!(
            "no significant difference after correction ({repeats}); the largest: {}",
            most(&differ)
        );
        differ.retain(|(_, difference)| difference.is_claim());
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
