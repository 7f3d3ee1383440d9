//! Traced operations: how long they were in their coordinators, and at what.
//! Refuses a mean without the number of traces that it is of.

use crate::report::page::table;
use crate::report::words;
use helenus_model::result::RunResult;
use helenus_model::trace::{Trace, TracedTimes};

/// The section; empty where nothing was traced.
pub(super) fn section(result: &RunResult) -> String {
    let all: Vec<(&str, &str, &TracedTimes)> = result
        .phases
        .iter()
        .flat_map(|phase| {
            let traces = phase.around.traces.iter();
            let times = traces.flat_map(|traces| &traces.operations);
            times.map(|(operation, times)| (phase.name.as_str(), operation.as_str(), times))
        })
        .collect();
    if all.is_empty() {
        return String::new();
    }
    let times = table(
        &[
            "phase",
            "operation",
            ">traces",
            ">not whole",
            ">service p50, ms",
            ">in the coordinator, ms",
            ">outside of it, ms",
        ],
        &all.iter()
            .map(|(phase, operation, times)| {
                vec![
                    (*phase).to_owned(),
                    (*operation).to_owned(),
                    words::count(times.traces),
                    words::count(times.incomplete),
                    words::ms(times.service_p50_us),
                    words::ms(times.server_p50_us),
                    words::ms(times.outside_p50_us),
                ]
            })
            .collect::<Vec<_>>(),
    );
    let steps: Vec<Vec<String>> = all
        .iter()
        .flat_map(|(phase, operation, times)| {
            times.steps.iter().map(|step| {
                vec![
                    (*phase).to_owned(),
                    (*operation).to_owned(),
                    step.activity.clone(),
                    words::ms(step.mean_us),
                    words::percent(step.share),
                ]
            })
        })
        .collect();
    let steps = table(
        &[
            "phase",
            "operation",
            "step",
            ">mean time until the next, ms",
            ">share",
        ],
        &steps,
    );
    let slowest: String = all
        .iter()
        .flat_map(|(phase, operation, times)| {
            times
                .slowest
                .iter()
                .map(move |one| slowest(&format!("{phase}: {operation}"), one))
        })
        .collect();
    format!(
        "<p class=\"note\">Coordinators were asked to trace some operations, spread evenly over the measurement window. \
         <em>Outside</em> is service time less the coordinator's: network and client. A traced operation costs its nodes \
         more than another, and is in all figures of this run.</p>\n\
         {times}<h3>What took the coordinators longest</h3>\n{steps}{slowest}"
    )
}

/// One trace, step by step.
#[expect(clippy::cast_precision_loss, reason = "microseconds below 2^53")]
fn slowest(of: &str, one: &Trace) -> String {
    let rows: Vec<Vec<String>> = one
        .steps
        .iter()
        .map(|step| {
            vec![
                words::ms(step.at_us as f64),
                step.node.clone(),
                step.activity.clone(),
            ]
        })
        .collect();
    let heads = [">at, ms", "node", "step"];
    format!(
        "<h3>The slowest trace of {}</h3>\n{}",
        words::html(of),
        table(&heads, &rows)
    )
}
