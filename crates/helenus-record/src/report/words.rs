//! Words and numbers of a report: what a person reads, already escaped where it goes into a page.
//! Refuses false precision: three digits are enough for a time, a percent needs no decimals above ten.

use crate::when::Utc;
use helenus_model::comparison::{BarAnswer, Comparison, Estimate, Measure, Row, Tone};
use helenus_model::doubt::{Severity, Verdict};
use helenus_model::result::{Distribution, PhaseResult, RunResult};

pub(super) use helenus_model::comparison::change;
pub(super) use helenus_model::units::{digits, percent};

/// A text as HTML shows it, in an element or in a quoted attribute.
pub(super) fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A text as HTML, with what stands between backticks as code.
pub(super) fn prose(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let parts = parts.map(|(place, part)| match place % 2 {
        0 => html(part),
        _ => format!("<code>{}</code>", html(part)),
    });
    parts.collect()
}

/// A text as Markdown shows it within a line or a cell of a table.
pub(super) fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' => out.push(' '),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '!' | '~' | '#' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

/// A text in Markdown's code marks, whatever marks it has itself. Not for tables: there a | would end the cell.
pub(super) fn code(text: &str) -> String {
    let text = text.replace(['\n', '\r'], " ");
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let marks = "`".repeat(longest + 1);
    let gap = if text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{marks}{gap}{text}{gap}{marks}")
}

pub(super) use helenus_model::units::thousands as count;

/// Operations a second: whole, or with a digit where there are few.
pub(super) fn rate(per_s: f64) -> String {
    if per_s < 10.0 {
        return digits(per_s);
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate above ten"
    )]
    let whole = per_s.round() as u64;
    count(whole)
}

/// Microseconds as milliseconds, without the unit.
pub(super) fn ms(us: f64) -> String {
    digits(us / 1e3)
}

/// Milliseconds or –.
pub(super) fn ms_or_dash(us: Option<f64>) -> String {
    us.map_or_else(|| "–".to_owned(), ms)
}

/// Bytes with binary units.
pub(super) fn bytes(n: u64) -> String {
    helenus_model::units::Bytes(n).to_string()
}

/// `2026-11-21 09:30:07 UTC` from nanoseconds since 1970.
pub(super) fn wall(ns: u64) -> String {
    format!("{} UTC", Utc::of_ns(ns))
}

/// A verdict as a badge has it, and the name of its style.
pub(super) fn verdict(verdict: Option<Verdict>) -> (&'static str, &'static str) {
    let style = match verdict {
        Some(Verdict::Valid) => "valid",
        Some(Verdict::Caution) => "caution",
        Some(Verdict::Invalid) | None => "invalid",
    };
    (verdict.map_or("broken: no result", Verdict::line), style)
}

/// The style of a badge of this tone.
pub(super) fn style(tone: Tone) -> &'static str {
    match tone {
        Tone::Settled => "valid",
        Tone::Open => "caution",
        Tone::Crossed => "invalid",
    }
}

/// The word of a severity.
pub(super) fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Disqualifying => "disqualifying",
        Severity::Caution => "caution",
    }
}

/// Response time where there is one, else service time, with its word; none where no operation completed.
pub(super) fn slow(phase: &PhaseResult) -> Option<(&'static str, &Distribution)> {
    phase.total.times().next()
}

/// Whether the schedule's rate was reached, to one part in a hundred.
pub(super) fn held(phase: &PhaseResult) -> bool {
    phase
        .rate_per_s
        .is_some_and(|rate| phase.achieved_per_s >= rate * 0.99)
}

/// `2,000 op/s held`, `1,700 of 2,000 op/s`, `9,100 op/s reached in a closed loop of 64`.
pub(super) fn reached(phase: &PhaseResult) -> String {
    match phase.rate_per_s {
        None => format!(
            "{} op/s reached in a closed loop of {}",
            rate(phase.achieved_per_s),
            phase.in_flight
        ),
        Some(wanted) if held(phase) => format!("{} op/s held", rate(wanted)),
        Some(wanted) => format!(
            "only {} of {} op/s",
            rate(phase.achieved_per_s),
            rate(wanted)
        ),
    }
}

/// `response p99 4.10 ms (95 % interval 3.90 to 4.40)`.
fn p99(phase: &PhaseResult) -> String {
    let Some((kind, d)) = slow(phase) else {
        return "nothing completed".to_owned();
    };
    let Some(p99) = d.p99_us else {
        return format!("too few samples for a {kind} p99");
    };
    let interval = d
        .confidence
        .and_then(|c| c.p99_us)
        .map(|[low, high]| format!(" (95 % interval {} to {})", ms(low), ms(high)))
        .unwrap_or_default();
    format!("{kind} p99 {} ms{interval}", ms(p99))
}

/// The answer in one sentence, without the verdict.
pub fn headline(result: Option<&RunResult>) -> String {
    let Some(result) = result else {
        return "No result: the run is under way or did not finish".to_owned();
    };
    match result.phases.as_slice() {
        [] => "No phase finished".to_owned(),
        [only] => format!("{}, {}", reached(only), p99(only)),
        phases => {
            let first = reached(&phases[0]);
            let same = phases.iter().all(|p| reached(p) == first);
            let times: Vec<String> = phases.iter().map(|p| short(p, same)).collect();
            let all = match phases.len() {
                2 => format!("{first} in both phases"),
                n => format!("{first} in all {n} phases"),
            };
            match same {
                true if phases.iter().all(|p| slow_p99(p).is_none()) => {
                    format!("{all}; too few samples for a p99")
                }
                true => format!("{all}; p99 {}", times.join(", ")),
                false => times.join("; "),
            }
        }
    }
}

/// One phase of several: short where all reached the same.
fn short(phase: &PhaseResult, is_alike: bool) -> String {
    let name = &phase.name;
    match (slow_p99(phase), reached(phase)) {
        (Some(us), _) if is_alike => format!("{name} {} ms", ms(us)),
        (Some(us), reached) => format!("{name}: {reached}, p99 {} ms", ms(us)),
        (None, _) if is_alike => format!("{name} not known"),
        (None, reached) => format!("{name}: {reached}, {}", p99(phase)),
    }
}

fn slow_p99(phase: &PhaseResult) -> Option<f64> {
    slow(phase)?.1.p99_us
}

/// A measure's name.
pub(super) fn measure(measure: Measure) -> &'static str {
    match measure {
        Measure::NodeCpu => "nodes' CPU per operation",
        Measure::GeneratorCpu => "generator's CPU per operation",
        other => other.words(),
    }
}

/// A measure's value with its unit.
pub(super) fn value(measure: Measure, value: f64) -> String {
    match measure {
        Measure::Throughput | Measure::MaxRate => format!("{} op/s", rate(value)),
        Measure::NodeCpu | Measure::GeneratorCpu => format!("{} µs", digits(value)),
        _ => format!("{} ms", ms(value)),
    }
}

/// The interval of a ratio in words.
pub(super) fn interval(e: &Estimate) -> String {
    e.interval_words()
}

/// The row of a phase that is drawn pair by pair: that of the worst threshold that does not hold, else the surest difference
/// among the headline measures, else all operations' response p99 or what comes nearest to it.
pub(super) fn leading<'a>(comparison: &'a Comparison, phase: &str) -> Option<&'a Row> {
    let here = || comparison.rows.iter().filter(|row| row.phase == phase);
    let open = comparison
        .bars
        .iter()
        .filter(|bar| bar.answer != BarAnswer::Holds)
        .filter_map(|bar| Some((bar.answer, here().find(|row| row.name() == bar.row)?)));
    let by_holm = |row: &'a Row| Some((row.estimate?.p_holm?, row));
    let claims = here().filter(|row| row.finding().is_claim());
    let surest = claims.filter_map(by_holm);
    open.max_by_key(|(answer, _)| *answer)
        .map(|(_, row)| row)
        .or_else(|| {
            surest
                .min_by(|a, b| a.0.total_cmp(&b.0))
                .map(|(_, row)| row)
        })
        .or_else(|| usual(comparison, phase))
}

fn usual<'a>(comparison: &'a Comparison, phase: &str) -> Option<&'a Row> {
    let wanted = [
        Measure::ResponseP99,
        Measure::ServiceP99,
        Measure::ServiceMean,
        Measure::Throughput,
    ];
    let of = |measure: Measure| {
        let mut rows = comparison
            .rows
            .iter()
            .filter(move |r| r.phase == phase && r.measure == measure);
        let first = rows.clone().next();
        rows.find(|r| r.operation == "all").or(first)
    };
    wanted.into_iter().find_map(of)
}

/// Phases in the order of the rows.
pub(super) fn phases(comparison: &Comparison) -> Vec<&str> {
    let mut phases: Vec<&str> = Vec::new();
    for row in &comparison.rows {
        if !phases.contains(&row.phase.as_str()) {
            phases.push(&row.phase);
        }
    }
    phases
}

#[cfg(test)]
mod tests {
    use super::code;

    #[test]
    fn a_command_in_code_marks_can_be_copied() {
        assert_eq!(code("a | b"), "`a | b`");
        assert_eq!(code("a `b`\nc"), "``a `b` c``");
        assert_eq!(code("`a"), "`` `a ``");
    }
}
