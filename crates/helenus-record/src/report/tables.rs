//! The tables of a run: doubts, key figures by phase, operations, what generator and nodes used.
//! Refuses numbers without their unit, and percentiles that too few samples stand behind.

use crate::report::bands::{Band, KINDS};
use crate::report::words::{self, html, ms, ms_or_dash};
use helenus_model::doubt::{Severity, Shared, shared};
use helenus_model::result::{Confidence, Distribution, OperationResult, PhaseResult, RunResult};
use helenus_model::steady::SteadyState;

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
    let measured = match one.measured() {
        figures if figures.is_empty() => figures,
        figures => format!(": {figures}"),
    };
    format!(
        "<li class=\"{style}\"><span class=\"tag\">{}</span> <strong>{}</strong>{} <span class=\"where\">in {}</span>\
         <br><span class=\"cure\">What helps: {}</span></li>\n",
        words::severity(doubt.severity),
        html(&one.text()),
        html(&measured),
        html(&one.phases()),
        html(&doubt.cure),
    )
}

/// A card a phase.
pub(super) fn figures(result: &RunResult) -> String {
    let cards: String = result.phases.iter().map(card).collect();
    format!("<div class=\"cards\">{cards}</div>\n")
}

fn card(phase: &PhaseResult) -> String {
    let (badge, style) = words::verdict(Some(phase.verdict));
    let mut rows = Vec::new();
    if let Some((kind, d)) = words::slow(phase) {
        rows.push((
            format!("{kind} p50"),
            ms_or_dash(d.p50_us),
            around(d, |c| c.p50_us),
        ));
        rows.push((
            format!("{kind} p99.9"),
            ms_or_dash(d.p999_us),
            around(d, |c| c.p999_us),
        ));
        rows.push((format!("{kind} max"), ms(d.max_us), String::new()));
    }
    let service = phase.total.times().find(|(kind, _)| *kind == "service");
    if let (Some((_, service)), true) = (service, phase.total.response.is_some()) {
        rows.push((
            "service p99".to_owned(),
            ms_or_dash(service.p99_us),
            around(service, |c| c.p99_us),
        ));
    }
    let rows: String = rows
        .iter()
        .map(|(name, value, around)| format!("<dt>{name}</dt><dd>{value} ms{around}</dd>"))
        .collect();
    let (big, unit, interval) = match words::slow(phase) {
        Some((kind, d)) => (
            ms_or_dash(d.p99_us),
            format!("ms {kind} p99"),
            around(d, |c| c.p99_us),
        ),
        None => (
            "–".to_owned(),
            "nothing completed".to_owned(),
            String::new(),
        ),
    };
    let ended = phase.total.completed + phase.total.failures();
    format!(
        "<article class=\"card {style}\"><header><h3>{}</h3><span class=\"badge {style}\">{badge}</span></header>\
         <p class=\"big\">{big} <small>{unit}</small></p><p class=\"ci\">{interval}</p><p>{}</p>\
         <dl>{rows}<dt>failed</dt><dd>{} of {}</dd><dt>measured</dt><dd>{} s</dd></dl>\
         <p class=\"note\">{}</p></article>\n",
        html(&phase.name),
        html(&words::reached(phase)),
        words::count(phase.total.failures()),
        words::count(ended),
        words::digits(phase.duration_s),
        html(&steadiness(phase)),
    )
}

fn around(d: &Distribution, of: fn(&Confidence) -> Option<[f64; 2]>) -> String {
    d.confidence
        .as_ref()
        .and_then(of)
        .map(|[low, high]| format!(" <span class=\"ci\">{} to {}</span>", ms(low), ms(high)))
        .unwrap_or_default()
}

fn steadiness(phase: &PhaseResult) -> String {
    let Some(steady) = &phase.steadiness else {
        return String::new();
    };
    let cut = if steady.cut_s > 0.0 {
        format!(
            " {} s more of warm-up were cut off.",
            words::digits(steady.cut_s)
        )
    } else {
        String::new()
    };
    match steady.state {
        SteadyState::Steady => match phase.against_steady() {
            None => format!("Steady to its end.{cut}"),
            Some(doubt) => format!("One level of service times, but {}.{cut}", doubt.line()),
        },
        SteadyState::NotTold => format!("Too short to judge whether it was steady.{cut}"),
        SteadyState::NotSteady => {
            let change = steady
                .change
                .map(|c| format!(": the level became {}", words::change(c)));
            let at = steady.change_measured_at_s();
            let at = at.map(|s| format!(" {} s into the measurement window", words::digits(s)));
            format!(
                "Not steady{}{}.{cut}",
                change.unwrap_or_default(),
                at.unwrap_or_default()
            )
        }
    }
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
    let hint = "<p class=\"note\">Drag across a chart to zoom all of them; double-click to zoom out. Click a name below a chart to hide its line.</p>";
    if switches.is_empty() {
        return hint.to_owned();
    }
    format!("<fieldset class=\"bands\"><legend>bands</legend>{switches}</fieldset>{hint}\n")
}

/// A row for each phase, operation and kind of time.
pub(super) fn operations(result: &RunResult) -> String {
    let mut rows = String::new();
    for phase in &result.phases {
        let several = phase.operations.len() > 1;
        for (name, one) in &phase.operations {
            rows.push_str(&operation(phase, name, one));
        }
        if several || phase.operations.is_empty() {
            rows.push_str(&operation(phase, "all", &phase.total));
        }
    }
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table class=\"wide\"><thead><tr><th>phase</th><th>operation</th>\
         <th class=\"n\">offered</th><th class=\"n\">completed</th><th class=\"n\">failed</th><th class=\"n\">op/s</th>\
         <th>time</th><th class=\"n\">mean</th><th class=\"n\">p50</th><th class=\"n\">p90</th><th class=\"n\">p95</th>\
         <th class=\"n\">p99</th><th class=\"n\">p99.9</th><th class=\"n\">p99.99</th><th class=\"n\">max</th></tr></thead>\
         <tbody>{rows}</tbody></table></div>\
         <p class=\"note\">Times in ms, each with its 95 % interval by a block bootstrap within this run. \
         – is a percentile with fewer than ten samples above it.</p>\n{}",
        failures(result)
    )
}

#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
fn operation(phase: &PhaseResult, name: &str, one: &OperationResult) -> String {
    let present: Vec<_> = one.times().collect();
    let span = present.len().max(1);
    let per_s = if phase.duration_s > 0.0 {
        one.completed as f64 / phase.duration_s
    } else {
        0.0
    };
    let lead = format!(
        "<td rowspan=\"{span}\">{}</td><td rowspan=\"{span}\">{}</td><td class=\"n\" rowspan=\"{span}\">{}</td>\
         <td class=\"n\" rowspan=\"{span}\">{}</td><td class=\"n\" rowspan=\"{span}\">{}</td>\
         <td class=\"n\" rowspan=\"{span}\">{}</td>",
        html(&phase.name),
        html(name),
        words::count(one.offered),
        words::count(one.completed),
        words::count(one.failures()),
        words::rate(per_s),
    );
    if present.is_empty() {
        return format!("<tr>{lead}<td colspan=\"9\">nothing completed</td></tr>\n");
    }
    let mut rows = String::new();
    for (i, (kind, d)) in present.iter().enumerate() {
        let lead = if i == 0 { lead.as_str() } else { "" };
        rows.push_str(&format!(
            "<tr>{lead}<td><span class=\"key {kind}\"></span>{kind}</td>{}</tr>\n",
            times(d)
        ));
    }
    rows
}

fn times(d: &Distribution) -> String {
    type Around = fn(&Confidence) -> Option<[f64; 2]>;
    let cells: [(Option<f64>, Around); 7] = [
        (Some(d.mean_us), |c| c.mean_us),
        (d.p50_us, |c| c.p50_us),
        (d.p90_us, |c| c.p90_us),
        (d.p95_us, |c| c.p95_us),
        (d.p99_us, |c| c.p99_us),
        (d.p999_us, |c| c.p999_us),
        (d.p9999_us, |c| c.p9999_us),
    ];
    let cells: String = cells
        .iter()
        .map(|(value, of)| {
            format!(
                "<td class=\"n\">{}{}</td>",
                ms_or_dash(*value),
                around(d, *of)
            )
        })
        .collect();
    format!("{cells}<td class=\"n\">{}</td>", ms(d.max_us))
}

/// What failed, by phase and kind, with the first text of each.
fn failures(result: &RunResult) -> String {
    let mut rows = String::new();
    for phase in &result.phases {
        for (kind, n) in phase.total.failed.iter().filter(|(_, n)| **n > 0) {
            let word = kind.word().replace('_', " ");
            let first = phase.first_failures.get(kind).map_or("", String::as_str);
            rows.push_str(&format!(
                "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n",
                html(&phase.name),
                html(&word),
                words::count(*n),
                html(first)
            ));
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "<h3>What failed</h3><div class=\"scroll\"><table><thead><tr><th>phase</th><th>kind</th>\
         <th class=\"n\">operations</th><th>first error</th></tr></thead><tbody>{rows}</tbody></table></div>\n"
    )
}

/// What the generator used, by phase.
pub(super) fn generator(result: &RunResult) -> String {
    let rows: String = result
        .phases
        .iter()
        .map(|phase| {
            let late = phase.total.lateness.as_ref();
            let slot = phase.total.slot_wait.as_ref();
            format!(
                "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
                 <td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
                html(&phase.name),
                words::percent(phase.thread_busy),
                phase.around.generator_run_queue_share.map_or("–".to_owned(), words::percent),
                ms_or_dash(late.and_then(|d| d.p99_us)),
                late.map_or("–".to_owned(), |d| ms(d.max_us)),
                ms_or_dash(slot.and_then(|d| d.p99_us)),
                words::count(phase.backlog),
            )
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
    format!(
        "<div class=\"scroll\"><table><thead><tr><th>phase</th><th class=\"n\">thread on CPU</th>\
         <th class=\"n\">waited for a processor</th><th class=\"n\">lateness p99, ms</th>\
         <th class=\"n\">lateness max, ms</th><th class=\"n\">slot wait p99, ms</th><th class=\"n\">backlog</th>\
         </tr></thead><tbody>{rows}</tbody></table></div>{}\n",
        used.unwrap_or_default()
    )
}

/// What nodes and host did in each phase; empty where nothing was seen.
pub(super) fn around_table(result: &RunResult) -> String {
    let seen = |p: &PhaseResult| p.around != helenus_model::result::Around::default();
    if !result.phases.iter().any(seen) {
        return String::new();
    }
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    let rows: String = result
        .phases
        .iter()
        .map(|p| {
            let a = &p.around;
            let cells = [
                or_dash(
                    a.nodes_cpu_per_operation_us
                        .map(|us| format!("{} µs", words::digits(us))),
                ),
                or_dash(a.compaction_share.map(words::percent)),
                or_dash(a.collection_share.map(words::percent)),
                or_dash(a.collections.map(words::count)),
                or_dash(
                    a.longest_collection_ms
                        .map(|ms| format!("{} ms", words::digits(ms))),
                ),
                or_dash(a.nodes_read_bytes.map(words::bytes)),
                or_dash(a.nodes_written_bytes.map(words::bytes)),
                or_dash(a.steal_share.map(words::percent)),
                or_dash(a.foreign_cpu_share.map(words::percent)),
            ];
            let cells: String = cells
                .iter()
                .map(|c| format!("<td class=\"n\">{c}</td>"))
                .collect();
            format!("<tr><td>{}</td>{cells}</tr>\n", html(&p.name))
        })
        .collect();
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th>phase</th><th class=\"n\">CPU per operation</th>\
         <th class=\"n\">compacting</th><th class=\"n\">paused by GC</th><th class=\"n\">collections</th>\
         <th class=\"n\">longest</th><th class=\"n\">read</th><th class=\"n\">written</th><th class=\"n\">stolen CPU</th>\
         <th class=\"n\">others' CPU</th></tr></thead><tbody>{rows}</tbody></table></div>\n"
    )
}
