//! The table of events: the longest of them, with node, beginning and the words of whoever reported them.
//! Refuses to print thousands: the rest is counted.

use crate::report::RunReport;
use crate::report::bands::{events, word};
use crate::report::page;
use crate::report::series::Clock;
use crate::report::words::{count, digits};
use helenus_model::telemetry::Event;

/// Events that are printed.
const MOST: usize = 20;

/// The longest events as a table; empty where there were none.
#[expect(clippy::cast_precision_loss, reason = "nanoseconds below 2^53")]
pub(super) fn table(report: &RunReport<'_>, clock: Clock) -> String {
    let mut all: Vec<_> = events(report).collect();
    if all.is_empty() {
        return String::new();
    }
    all.sort_by_key(|(_, from, event)| {
        (std::cmp::Reverse(event.to_ns.saturating_sub(*from)), *from)
    });
    let total = all.len();
    let left = all.len().saturating_sub(MOST);
    all.truncate(MOST);
    all.sort_by_key(|(_, from, _)| *from);
    let row = |(node, from_ns, event): (&str, u64, &Event)| {
        vec![
            format!("{} {}", digits(clock.at(from_ns)), clock.unit()),
            // What is no node stands behind an @.
            node.trim_start_matches('@').to_owned(),
            word(event.what).to_owned(),
            digits(event.to_ns.saturating_sub(from_ns) as f64 / 1e6),
            event.text.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = all.into_iter().map(row).collect();
    let rest = match left {
        0 => String::new(),
        _ => format!(
            "<p class=\"note\">The longest {MOST} of {}; shorter ones are only drawn.</p>",
            count(total as u64)
        ),
    };
    page::table(&[">at", "node", "what", ">ms", "details"], &rows) + &rest
}
