//! The table of events: the longest of them, with node, beginning and the words of whoever told them.
//! Refuses to print thousands: the rest is counted.

use crate::report::RunReport;
use crate::report::bands::{events, word};
use crate::report::page::fold;
use crate::report::series::Clock;
use crate::report::words::{count, digits, html};

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
    let mut rows = String::new();
    for (node, from_ns, event) in all {
        rows.push_str(&format!(
            "<tr><td class=\"n\">{} {}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n",
            digits(clock.at(from_ns)),
            clock.unit(),
            // What is no node stands behind an @.
            html(node.trim_start_matches('@')),
            word(event.what),
            digits(event.to_ns.saturating_sub(from_ns) as f64 / 1e6),
            html(&event.text),
        ));
    }
    let rest = if left > 0 {
        format!(
            "<p class=\"note\">The longest {MOST}; {} shorter ones are only drawn.</p>",
            count(left as u64)
        )
    } else {
        String::new()
    };
    let inner = format!(
        "<div class=\"scroll\"><table><thead><tr><th class=\"n\">at</th>\
         <th>node</th><th>what</th><th class=\"n\">ms</th><th>details</th></tr></thead>\
         <tbody>{rows}</tbody></table></div>{rest}\n"
    );
    fold(
        &format!("What happened on the nodes: {} events", count(total as u64)),
        &inner,
    )
}
