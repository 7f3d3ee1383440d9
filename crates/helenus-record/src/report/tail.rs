//! The tail of each phase: what the slowest operations overlapped, against chance, what each coordinator answered, what
//! nodes' own timers counted, and what traced operations took.
//! Refuses a share without the share that chance explains.

use crate::report::page::grid;
use crate::report::words;
use helenus_model::result::{RunResult, tables};
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
    let causes = grid(&tables::causes(&result.phases, 0.0));
    let slowest = grid(&tables::slowest(&result.phases, usize::MAX));
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

/// Service times by coordinator, empty where there was one alone; and connections that were lost.
pub(super) fn coordinators(result: &RunResult) -> String {
    let table = grid(&tables::coordinators(&result.phases));
    let table = match table.is_empty() {
        true => table,
        false => format!(
            "<h3>By coordinator</h3><p class=\"note\">Service times, all operations together.</p>{table}"
        ),
    };
    table + &notes(&tables::lost_connections(&result.phases))
}

/// A note each.
fn notes(of: &[String]) -> String {
    let each = of.iter();
    each.map(|note| format!("<p class=\"note\">{}</p>\n", words::html(note)))
        .collect()
}

/// What each node used in each phase; empty where no node was seen.
pub(super) fn nodes(result: &RunResult) -> String {
    let table = grid(&tables::nodes(&result.phases));
    match table.is_empty() {
        true => table,
        false => format!(
            "<h3>By node</h3>{table}<p class=\"note\">The network is read only of nodes with a network namespace: \
             elsewhere the kernel does not count it by node.</p>\n"
        ),
    }
}

/// The nodes' own times beside the service times; empty where they were not read.
pub(super) fn server_times(result: &RunResult) -> String {
    let times = grid(&tables::server_times(&result.phases, true));
    if times.is_empty() {
        return times;
    }
    let notes = notes(&tables::server_notes(&result.phases));
    format!(
        "<p class=\"note\">Differences of the nodes' own timers between the ends of the measurement window. Their \
         percentiles are upper bounds of buckets that are 20 % wide; means are exact. What the client's times are longer \
         than the coordinators' is network, request queue, protocol and client; what these are longer than the \
         replicas' is waiting for other replicas, and the coordinator's own work.</p>\n{times}{notes}"
    )
}

/// Traced operations: how long they were in their coordinators, and at what; empty where nothing was traced.
pub(super) fn traces(result: &RunResult) -> String {
    let times = grid(&tables::traces(&result.phases));
    if times.is_empty() {
        return times;
    }
    let steps = grid(&tables::steps(&result.phases));
    let slowest: String = tables::slowest_traces(&result.phases)
        .iter()
        .map(|(of, steps)| format!("<h3>{}</h3>\n{}", words::html(of), grid(steps)))
        .collect();
    format!(
        "<p class=\"note\">Coordinators were asked to trace some operations, spread evenly over the measurement window. \
         <em>Outside</em> is service time less the coordinator's: network and client. A traced operation costs its nodes \
         more than another, and is in all figures of this run.</p>\n\
         {times}<h3>What took the coordinators longest</h3>\n{steps}{slowest}"
    )
}
