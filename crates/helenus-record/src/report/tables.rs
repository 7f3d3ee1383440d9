//! The tables of a run: doubts, operations, what generator and nodes used.
//! Refuses numbers without their unit, and percentiles that too few samples stand behind.

use crate::report::bands::{Band, KINDS};
use crate::report::page::table;
use crate::report::words::{self, html, ms, ms_or_dash};
use helenus_model::doubt::{Severity, Shared, shared};
use helenus_model::result::{Confidence, Distribution, OperationResult, PhaseResult, RunResult};

/// Each doubt once, with its phases: text, measured, threshold, cure.
pub(super) fn doubts(result: &RunResult) -> String {
    let phases = result.phases.iter();
    let all = shared(phases.map(|p| (p.name.as_str(), &p.doubts[..])));
    if all.is_empty() {
        return "<p class=\"clear\">No doubts about this number.</p>\n".to_owned();
    }
    let items: String = all.iter().map(one_doubt).collect();
    format!("<ul class=\"doubts\">{items}</ul>\n")
}

fn one_doubt(one: &Shared<'_>) -> String {
    let doubt = one.doubt();
    let style = match doubt.severity {
        Severity::Disqualifying => "invalid",
        Severity::Caution => "caution",
    };
    let (measured, phases) = (one.measured(), one.phases());
    // Figures that differ name their phases.
    let first = phases.split(", ").next().unwrap_or_default();
    let place = match measured.contains(&format!(" in {first}")) {
        true => String::new(),
        false => format!(" <span class=\"where\">in {}</span>", html(&phases)),
    };
    let measured = match measured.is_empty() {
        true => measured,
        false => format!(": {}", html(&measured)),
    };
    format!(
        "<li class=\"{style}\"><span class=\"tag\">{}</span> <strong>{}</strong>{measured}{place}\
         <br><span class=\"cure\">cure: {}</span></li>\n",
        words::severity(doubt.severity),
        html(&one.text()),
        words::prose(&doubt.cure),
    )
}

fn around(d: &Distribution, of: fn(&Confidence) -> Option<[f64; 2]>) -> String {
    d.confidence
        .as_ref()
        .and_then(of)
        .map(|[low, high]| format!(" <span class=\"ci\">{} to {}</span>", ms(low), ms(high)))
        .unwrap_or_default()
}

/// The switches of the bands that there are.
pub(super) fn legend(bands: &[Band]) -> String {
    let used = KINDS
        .iter()
        .filter(|(kind, _)| bands.iter().any(|b| b.kind == *kind));
    let switches: String = used
        .map(|(kind, said)| {
            format!(
                "<label><input type=\"checkbox\" data-band=\"{kind}\" checked> \
                 <span class=\"swatch band-{kind}\"></span>{said}</label>"
            )
        })
        .collect();
    let hint = "<p class=\"note hint\">Drag across a chart to zoom all of them; double-click to zoom out. Click a name below a chart to hide its line.</p>\n";
    match switches.is_empty() {
        true => hint.to_owned(),
        false => {
            format!("<fieldset class=\"bands\"><legend>bands</legend>{switches}</fieldset>\n{hint}")
        }
    }
}

type Percentile = (
    &'static str,
    fn(&Distribution) -> Option<f64>,
    fn(&Confidence) -> Option<[f64; 2]>,
);

/// The percentiles of a row.
const PERCENTILES: [Percentile; 7] = [
    ("mean", |d| Some(d.mean_us), |c| c.mean_us),
    ("p50", |d| d.p50_us, |c| c.p50_us),
    ("p90", |d| d.p90_us, |c| c.p90_us),
    ("p95", |d| d.p95_us, |c| c.p95_us),
    ("p99", |d| d.p99_us, |c| c.p99_us),
    ("p99.9", |d| d.p999_us, |c| c.p999_us),
    ("p99.99", |d| d.p9999_us, |c| c.p9999_us),
];

/// A row for each phase, operation and kind of time; no column for a percentile that none of them has.
pub(super) fn operations(result: &RunResult) -> String {
    let mut all: Vec<(&PhaseResult, &str, &OperationResult)> = Vec::new();
    for phase in &result.phases {
        let own = phase.operations.iter();
        all.extend(own.map(|(name, one)| (phase, name.as_str(), one)));
        if phase.operations.len() != 1 {
            all.push((phase, "all", &phase.total));
        }
    }
    let is_known = |(_, of, _): &&Percentile| {
        let mut times = all.iter().flat_map(|(_, _, one)| one.times());
        times.any(|(_, d)| of(d).is_some())
    };
    let shown: Vec<&Percentile> = PERCENTILES.iter().filter(is_known).collect();
    let rows = all.iter().map(|one| operation(*one, &shown));
    let rows: String = rows.collect();
    let heads = shown
        .iter()
        .map(|(name, ..)| format!("<th class=\"n\">{name}</th>"));
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table class=\"wide\"><thead><tr><th>phase</th><th>operation</th>\
         <th class=\"n\">offered</th><th class=\"n\">completed</th><th class=\"n\">failed</th><th class=\"n\">op/s</th>\
         <th>time</th>{}<th class=\"n\">max</th></tr></thead><tbody>{rows}</tbody></table></div>\
         <p class=\"note\">Times in ms, each with its 95 % interval by a block bootstrap within this run. \
         Percentiles with fewer than ten samples above them are left out.</p>\n{}",
        heads.collect::<String>(),
        failures(result)
    )
}

#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
fn operation(
    (phase, name, one): (&PhaseResult, &str, &OperationResult),
    shown: &[&Percentile],
) -> String {
    let present: Vec<_> = one.times().collect();
    let span = present.len().max(1);
    let per_s = if phase.duration_s > 0.0 {
        one.completed as f64 / phase.duration_s
    } else {
        0.0
    };
    let cell = |class: &str, words: String| format!("<td{class} rowspan=\"{span}\">{words}</td>");
    let number = |words| cell(" class=\"n\"", words);
    let lead = [
        cell("", html(&phase.name)),
        cell("", html(name)),
        number(words::count(one.offered)),
        number(words::count(one.completed)),
        number(words::count(one.failures())),
        number(words::rate(per_s)),
    ]
    .concat();
    if present.is_empty() {
        let rest = shown.len() + 2;
        return format!("<tr>{lead}<td colspan=\"{rest}\">nothing completed</td></tr>\n");
    }
    let each = present.iter().enumerate().map(|(place, (kind, d))| {
        let lead = if place == 0 { lead.as_str() } else { "" };
        let times = shown.iter().map(|(_, value, interval)| {
            let (value, around) = (ms_or_dash(value(d)), around(d, *interval));
            format!("<td class=\"n\">{value}{around}</td>")
        });
        format!(
            "<tr>{lead}<td><span class=\"key {kind}\"></span>{kind}</td>{}<td class=\"n\">{}</td></tr>\n",
            times.collect::<String>(),
            ms(d.max_us)
        )
    });
    each.collect()
}

/// What failed, by phase and kind, with the first text of each.
fn failures(result: &RunResult) -> String {
    let mut rows = Vec::new();
    for phase in &result.phases {
        for (kind, n) in phase.total.failed.iter().filter(|(_, n)| **n > 0) {
            rows.push(vec![
                phase.name.clone(),
                kind.word().replace('_', " "),
                words::count(*n),
                phase.first_failures.get(kind).cloned().unwrap_or_default(),
            ]);
        }
    }
    match table(&["phase", "kind", ">operations", "first error"], &rows) {
        none if none.is_empty() => none,
        table => format!("<h3>What failed</h3>{table}"),
    }
}

/// What the generator used, by phase.
pub(super) fn generator(result: &RunResult) -> String {
    let rows: Vec<Vec<String>> = result
        .phases
        .iter()
        .map(|phase| {
            let late = phase.total.lateness.as_ref();
            let slot = phase.total.slot_wait.as_ref();
            let waited = phase.around.generator_run_queue_share;
            vec![
                phase.name.clone(),
                words::percent(phase.thread_busy),
                waited.map_or("–".to_owned(), words::percent),
                ms_or_dash(late.and_then(|d| d.p99_us)),
                ms_or_dash(late.map(|d| d.max_us)),
                ms_or_dash(slot.and_then(|d| d.p99_us)),
                words::count(phase.backlog),
            ]
        })
        .collect();
    let used = result.generator.as_ref().map(|g| {
        let each = g
            .cpu_per_operation_us
            .map(|us| format!("{} µs of CPU per operation, ", words::digits(us)));
        format!(
            "<p>{}{} of memory at most.</p>",
            each.unwrap_or_default(),
            words::bytes(g.max_rss_bytes)
        )
    });
    let heads = [
        "phase",
        ">thread on CPU",
        ">waited for a processor",
        ">lateness p99, ms",
        ">lateness max, ms",
        ">slot wait p99, ms",
        ">backlog",
    ];
    table(&heads, &rows) + &used.unwrap_or_default()
}

/// What nodes and host did in each phase; empty where nothing was seen.
pub(super) fn around_table(result: &RunResult) -> String {
    let seen = |p: &PhaseResult| p.around != helenus_model::result::Around::default();
    if !result.phases.iter().any(seen) {
        return String::new();
    }
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    let unit = |value: Option<f64>, unit: &str| {
        or_dash(value.map(|value| format!("{} {unit}", words::digits(value))))
    };
    let rows: Vec<Vec<String>> = result
        .phases
        .iter()
        .map(|p| {
            let a = &p.around;
            vec![
                p.name.clone(),
                unit(a.nodes_cpu_per_operation_us, "µs"),
                or_dash(a.compaction_share.map(words::percent)),
                or_dash(a.collection_share.map(words::percent)),
                or_dash(a.collections.map(words::count)),
                unit(a.longest_collection_ms, "ms"),
                or_dash(a.nodes_read_bytes.map(words::bytes)),
                or_dash(a.nodes_written_bytes.map(words::bytes)),
                or_dash(a.steal_share.map(words::percent)),
                or_dash(a.foreign_cpu_share.map(words::percent)),
            ]
        })
        .collect();
    let heads = [
        "phase",
        ">CPU per operation",
        ">compacting",
        ">paused by GC",
        ">collections",
        ">longest",
        ">read",
        ">written",
        ">stolen CPU",
        ">others' CPU",
    ];
    table(&heads, &rows)
}
