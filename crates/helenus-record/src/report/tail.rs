//! The tail of each phase: what the slowest operations overlapped, against chance, and what each coordinator answered.
//! Refuses a share without the share that chance explains.

use crate::report::words::{self, html};
use helenus_model::result::{PhaseResult, RunResult};
use helenus_model::tail::{Overlap, Slow, TailAbove};

/// The section; empty where no slowest operations were kept.
pub(super) fn section(result: &RunResult) -> String {
    let phases = &result.phases[..];
    let rows: String = phases.iter().map(causes).collect();
    let slowest: String = phases.iter().map(slowest).collect();
    if rows.is_empty() && slowest.is_empty() {
        return String::new();
    }
    let mut body = String::from(
        "<p class=\"note\">The slowest operations of each second were kept. <em>Share</em> is how much of their time lay \
         within a cause, <em>by chance</em> the same for the same operations at random other times. A cause is named \
         where chance would explain its share in at most 5 of 100 phases (p, corrected for all causes and both \
         percentiles), and where it is at least 10 % of the time beyond chance.</p>\n",
    );
    if !rows.is_empty() {
        body.push_str(&table(
            &[
                "phase",
                "above",
                ">ms",
                ">operations",
                ">judged",
                "overlapped",
                "on",
                ">share",
                ">by chance",
                ">p",
                "",
            ],
            &rows,
        ));
    }
    body.push_str("<h3>The slowest operations</h3>\n");
    body.push_str(&table(
        &[
            "phase",
            "operation",
            ">at, s",
            ">ms",
            ">service, ms",
            "coordinator",
            ">connection",
            ">stream",
            "overlapped",
        ],
        &slowest,
    ));
    body
}

/// Service times by coordinator; empty where there was one alone.
pub(super) fn coordinators(result: &RunResult) -> String {
    let rows: String = result.phases.iter().map(by_coordinator).collect();
    if rows.is_empty() {
        return rows;
    }
    let heads = [
        "phase",
        "coordinator",
        ">completed",
        ">failed",
        ">p50",
        ">p99",
        ">p99.9",
        ">max",
    ];
    format!(
        "<h3>By coordinator</h3><p class=\"note\">Service times in ms, all operations together.</p>{}",
        table(&heads, &rows)
    )
}

/// What each node used in each phase; empty where no node was seen.
pub(super) fn nodes(result: &RunResult) -> String {
    let bytes = |n: Option<u64>| n.map_or_else(|| "–".to_owned(), words::bytes);
    #[expect(clippy::cast_precision_loss, reason = "microseconds below 2^53")]
    let seconds =
        |us: Option<u64>| us.map_or("–".to_owned(), |us| words::digits(us as f64 / 1e6));
    let mut rows = String::new();
    for phase in &result.phases {
        for (node, one) in &phase.around.nodes {
            rows.push_str(&row(&[
                (&phase.name, false),
                (node, false),
                (&seconds(one.cpu_us), true),
                (&bytes(one.read_bytes), true),
                (&bytes(one.written_bytes), true),
                (&bytes(one.received_bytes), true),
                (&bytes(one.sent_bytes), true),
                (
                    &one.retransmitted.map_or("–".to_owned(), words::count),
                    true,
                ),
            ]));
        }
    }
    if rows.is_empty() {
        return rows;
    }
    let heads = [
        "phase",
        "node",
        ">CPU, s",
        ">disk read",
        ">disk written",
        ">network received",
        ">network sent",
        ">segments sent again",
    ];
    format!(
        "<h3>By node</h3>{}<p class=\"note\">The network is read only of nodes with a network namespace: elsewhere the \
         kernel does not count it by node.</p>\n",
        table(&heads, &rows)
    )
}

fn by_coordinator(phase: &PhaseResult) -> String {
    let mut rows = String::new();
    for (node, one) in &phase.around.coordinators {
        let service = one.service.as_ref();
        let ms = words::ms_or_dash;
        rows.push_str(&row(&[
            (&phase.name, false),
            (node, false),
            (&words::count(service.map_or(0, |d| d.count)), true),
            (&words::count(one.failed), true),
            (&ms(service.and_then(|d| d.p50_us)), true),
            (&ms(service.and_then(|d| d.p99_us)), true),
            (&ms(service.and_then(|d| d.p999_us)), true),
            (&ms(service.map(|d| d.max_us)), true),
        ]));
    }
    rows
}

fn causes(phase: &PhaseResult) -> String {
    let Some(tail) = &phase.around.tail else {
        return String::new();
    };
    let mut rows = String::new();
    for (name, above) in [("p99.9", &tail.p999), ("p99", &tail.p99)] {
        for one in above.iter().flat_map(|above| &above.overlaps) {
            if let Some(above) = above {
                rows.push_str(&cause((&phase.name, name), above, one));
            }
        }
    }
    rows
}

fn cause((phase, name): (&str, &str), above: &TailAbove, one: &Overlap) -> String {
    let dash = || "–".to_owned();
    row(&[
        (phase, false),
        (name, false),
        (&words::ms(above.above_us), true),
        (&words::count(above.operations), true),
        (&words::count(above.judged), true),
        (one.cause.words(), false),
        (one.at.as_deref().unwrap_or("–"), false),
        (&words::percent(one.share), true),
        (&one.by_chance.map_or_else(dash, words::percent), true),
        (&one.p_holm.map_or_else(dash, words::digits), true),
        (if one.named { "named" } else { "" }, false),
    ])
}

fn slowest(phase: &PhaseResult) -> String {
    let tail = phase.around.tail.iter();
    let each = tail.flat_map(|tail| &tail.slowest);
    each.map(|one| slow(&phase.name, one)).collect()
}

fn slow(phase: &str, one: &Slow) -> String {
    let number = |n: Option<i64>| n.map_or("–".to_owned(), |n| n.to_string());
    let causes: Vec<&str> = one.overlapped.iter().map(|cause| cause.words()).collect();
    row(&[
        (phase, false),
        (&one.operation, false),
        (&words::digits(one.at_s), true),
        (&words::digits(one.time_ms), true),
        (&words::digits(one.service_ms), true),
        (one.coordinator.as_deref().unwrap_or("–"), false),
        (&number(one.connection.map(i64::from)), true),
        (&number(one.stream.map(i64::from)), true),
        (&causes.join(", "), false),
    ])
}

/// A row of texts, each with whether it is a number.
fn row(cells: &[(&str, bool)]) -> String {
    let cells = cells.iter().map(|(text, is_number)| match is_number {
        true => format!("<td class=\"n\">{}</td>", html(text)),
        false => format!("<td>{}</td>", html(text)),
    });
    format!("<tr>{}</tr>\n", cells.collect::<String>())
}

/// A table of rows; a head of numbers begins with `>`.
fn table(heads: &[&str], rows: &str) -> String {
    let heads = heads.iter().map(|head| match head.strip_prefix('>') {
        Some(head) => format!("<th class=\"n\">{head}</th>"),
        None => format!("<th>{head}</th>"),
    });
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>{}</tr></thead><tbody>{rows}</tbody></table></div>\n",
        heads.collect::<String>()
    )
}
