//! The tail of each phase: what the slowest operations overlapped, against chance, and what each coordinator answered.
//! Refuses a share without the share that chance explains.

use crate::report::page::table;
use crate::report::words;
use helenus_model::result::{PhaseResult, RunResult};
use helenus_model::tail::{Overlap, Slow, Tail, TailAbove};
use std::collections::BTreeMap;

/// Most phases whose tails are named one by one.
const APART: usize = 4;

/// What is named as a cause of each phase's tail, in the words of the terminal; of many phases how often each is named.
pub(super) fn named(result: &RunResult) -> Vec<String> {
    let phases = result.phases.iter();
    let named = phases.filter_map(|phase| {
        let (percentile, cause) = phase.around.tail.as_ref()?.farthest_named()?;
        Some((&phase.name, percentile, cause))
    });
    if result.phases.len() <= APART {
        return named
            .map(|(phase, name, cause)| format!("{phase} {name}: {}", cause.sentence()))
            .collect();
    }
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    named.for_each(|(_, _, one)| *times.entry(one.cause.words()).or_default() += 1);
    let all = result.phases.len();
    let each = times.into_iter();
    each.map(|(cause, times)| format!("the tails of {times} of {all} phases: {cause}"))
        .collect()
}

/// The section; empty where no slowest operations were kept.
pub(super) fn section(result: &RunResult) -> String {
    let phases = &result.phases[..];
    let causes = table(
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
        &phases.iter().flat_map(causes).collect::<Vec<_>>(),
    );
    let slowest = table(
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
        &phases.iter().flat_map(slowest).collect::<Vec<_>>(),
    );
    if slowest.is_empty() {
        return causes;
    }
    format!(
        "<p class=\"note\">The slowest operations of each second were kept. <em>Share</em> is how much of their time lay \
         within a cause, <em>by chance</em> the same for the same operations at random other times. A cause is named \
         where chance would explain its share in at most 5 of 100 phases (p, corrected for all causes and both \
         percentiles), and where it is at least 10 % of the time beyond chance.</p>\n\
         {causes}<h3>The slowest operations</h3>\n{slowest}"
    )
}

/// Service times by coordinator; empty where there was one alone.
pub(super) fn coordinators(result: &RunResult) -> String {
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
    let mut rows = Vec::new();
    for phase in &result.phases {
        for (node, one) in &phase.around.coordinators {
            let service = one.service.as_ref();
            let ms = words::ms_or_dash;
            rows.push(vec![
                phase.name.clone(),
                node.clone(),
                words::count(service.map_or(0, |d| d.count)),
                words::count(one.failed),
                ms(service.and_then(|d| d.p50_us)),
                ms(service.and_then(|d| d.p99_us)),
                ms(service.and_then(|d| d.p999_us)),
                ms(service.map(|d| d.max_us)),
            ]);
        }
    }
    match table(&heads, &rows) {
        none if none.is_empty() => none,
        table => format!(
            "<h3>By coordinator</h3><p class=\"note\">Service times in ms, all operations together.</p>{table}"
        ),
    }
}

/// What each node used in each phase; empty where no node was seen.
pub(super) fn nodes(result: &RunResult) -> String {
    let bytes = |n: Option<u64>| n.map_or_else(|| "–".to_owned(), words::bytes);
    #[expect(clippy::cast_precision_loss, reason = "microseconds below 2^53")]
    let seconds =
        |us: Option<u64>| us.map_or("–".to_owned(), |us| words::digits(us as f64 / 1e6));
    let mut rows = Vec::new();
    for phase in &result.phases {
        for (node, one) in &phase.around.nodes {
            rows.push(vec![
                phase.name.clone(),
                node.clone(),
                seconds(one.cpu_us),
                bytes(one.read_bytes),
                bytes(one.written_bytes),
                bytes(one.received_bytes),
                bytes(one.sent_bytes),
                one.retransmitted.map_or("–".to_owned(), words::count),
            ]);
        }
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
    match table(&heads, &rows) {
        none if none.is_empty() => none,
        table => format!(
            "<h3>By node</h3>{table}<p class=\"note\">The network is read only of nodes with a network namespace: \
             elsewhere the kernel does not count it by node.</p>\n"
        ),
    }
}

fn causes(phase: &PhaseResult) -> Vec<Vec<String>> {
    let tails = phase.around.tail.iter().flat_map(Tail::known);
    let each = tails.flat_map(|(name, above)| {
        let one = move |one| cause((&phase.name, name), above, one);
        above.overlaps.iter().map(one)
    });
    each.collect()
}

fn cause((phase, name): (&str, &str), above: &TailAbove, one: &Overlap) -> Vec<String> {
    let dash = || "–".to_owned();
    vec![
        phase.to_owned(),
        name.to_owned(),
        words::ms(above.above_us),
        words::count(above.operations),
        words::count(above.judged),
        one.cause.words().to_owned(),
        one.at.clone().unwrap_or_else(dash),
        words::percent(one.share),
        one.by_chance.map_or_else(dash, words::percent),
        one.p_holm.map_or_else(dash, words::digits),
        (if one.named { "named" } else { "" }).to_owned(),
    ]
}

fn slowest(phase: &PhaseResult) -> Vec<Vec<String>> {
    let tail = phase.around.tail.iter();
    let each = tail.flat_map(|tail| &tail.slowest);
    each.map(|one| slow(&phase.name, one)).collect()
}

fn slow(phase: &str, one: &Slow) -> Vec<String> {
    let dash = || "–".to_owned();
    let number = |n: Option<i64>| n.map_or_else(dash, |n| n.to_string());
    let causes: Vec<&str> = one.overlapped.iter().map(|cause| cause.words()).collect();
    vec![
        phase.to_owned(),
        one.operation.clone(),
        words::digits(one.at_s),
        words::digits(one.time_ms),
        words::digits(one.service_ms),
        one.coordinator.clone().unwrap_or_else(dash),
        number(one.connection.map(i64::from)),
        number(one.stream.map(i64::from)),
        causes.join(", "),
    ]
}
