//! Summaries in Markdown, for a pull request: the answer, what stands against it, one table, how to repeat.
//! Refuses HTML, and any text that Markdown would take for its own.

use crate::report::rates;
use crate::report::words::{self, code, markdown as text, ms_or_dash};
use crate::report::{ComparisonReport, MARK};
use crate::run::StoredRun;
use helenus_model::calibration::Step;
use helenus_model::comparison::Estimate;
use helenus_model::doubt::shared;
use helenus_model::result::tables::calibration;
use helenus_model::result::{Distribution, PhaseResult};
use std::fmt::Write as _;

pub(super) fn run(run: &StoredRun) -> String {
    let result = run.result.as_ref();
    let (verdict, _) = words::verdict(result.map(|r| r.verdict));
    let mut out = format!(
        "<!-- {MARK} -->\n### {}: {verdict}\n\n",
        text(&rates::headline(run))
    );
    let summary = &run.summary;
    let facts = [
        Some(format!("run {}", summary.id)),
        Some(format!("workload {}", summary.workload)),
        summary
            .release
            .as_ref()
            .map(|r| format!("Apache Cassandra {r}")),
        summary.preset.as_ref().map(|p| format!("preset {p}")),
        summary.jvm.as_ref().map(|j| format!("JVM {j}")),
        Some(words::wall(summary.began_wall_ns)),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().map(|f| text(&f)).collect();
    let _infallible = writeln!(out, "{}\n", facts.join(" · "));
    let phases = result.iter().flat_map(|r| &r.phases);
    for one in shared(phases.map(|p| (p.name.as_str(), &p.doubts[..]))) {
        let _infallible = writeln!(
            out,
            "* **{}** in {}: {}. Cure: {}",
            words::severity(one.doubt().severity),
            text(&one.phases()),
            text(&one.line()),
            text(&one.doubt().cure)
        );
    }
    if let Some(result) = result {
        out.push_str(
            "\n| phase | op/s | failed | time | p50 | p99 | 95 % interval | p99.9 | max |\n",
        );
        out.push_str("|---|--:|--:|---|--:|--:|--:|--:|--:|\n");
        result
            .phases
            .iter()
            .for_each(|phase| out.push_str(&rows(phase)));
        out.push_str("\nTimes in ms. – is a percentile with fewer than ten samples above it.\n");
        if let Some(said) = calibration(&result.phases) {
            let _infallible = writeln!(out, "\n{}", text(&said));
        }
    }
    let _infallible = writeln!(
        out,
        "\nRepeat: {} (root seed {}, Helenus {})",
        code(&run.command),
        summary.seed.0,
        text(&run.helenus_version)
    );
    out
}

fn rows(phase: &PhaseResult) -> String {
    let mut out = String::new();
    if phase.total.completed == 0 {
        let _infallible = writeln!(
            out,
            "| {} | {} | {} | – | – | – | – | – | – |",
            text(&phase.name),
            words::rate(phase.achieved_per_s),
            words::count(phase.total.failures()),
        );
    }
    for (kind, d) in phase.total.times() {
        let _infallible = writeln!(
            out,
            "| {} | {} | {} | {kind} | {} | {} | {} | {} | {} |",
            text(&phase.name),
            words::rate(phase.achieved_per_s),
            words::count(phase.total.failures()),
            ms_or_dash(d.p50_us),
            ms_or_dash(d.p99_us),
            interval(d),
            ms_or_dash(d.p999_us),
            words::ms(d.max_us)
        );
    }
    out
}

fn interval(d: &Distribution) -> String {
    let around = d.confidence.and_then(|c| c.p99_us);
    around.map_or_else(
        || "–".to_owned(),
        |[low, high]| format!("{} to {}", words::ms(low), words::ms(high)),
    )
}

pub(super) fn comparison(report: &ComparisonReport<'_>) -> String {
    let c = report.comparison;
    let said = c.conclusion();
    let mut out = format!(
        "<!-- {MARK} -->\n### {}\n\n**{}** · ",
        text(&said.headline),
        said.badge
    );
    let _infallible = writeln!(
        out,
        "{} · A = {} ({} runs) · B = {} ({} runs) · {} pairs\n",
        text(report.name),
        text(&c.a.label),
        c.a.runs.len(),
        text(&c.b.label),
        c.b.runs.len(),
        c.pairs.len()
    );
    for caution in &c.cautions {
        let _infallible = writeln!(
            out,
            "* **caution**: {}. Cure: {}",
            text(&caution.text),
            text(&caution.cure)
        );
    }
    for bar in &c.bars {
        let _infallible = writeln!(
            out,
            "* threshold {} of {}: **{}**",
            code(&bar.text),
            text(&bar.row),
            bar.answer.words()
        );
    }
    out.push_str(
        "\n| phase | operation | measure | A | B | B against A | 95 % interval | finding |\n",
    );
    out.push_str("|---|---|---|--:|--:|--:|--:|---|\n");
    for row in &c.rows {
        let change = row
            .estimate
            .map_or_else(|| "–".to_owned(), |e| words::change(e.ratio));
        let interval = row
            .estimate
            .filter(Estimate::is_enough)
            .map_or_else(|| "–".to_owned(), |e| words::interval(&e));
        let says = row.finding().words();
        let _infallible = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {change} | {interval} | {says} |",
            text(&row.phase),
            text(&row.operation),
            words::measure(row.measure),
            words::value(row.measure, row.a),
            words::value(row.measure, row.b)
        );
    }
    if let Some(rule) = c.rule() {
        let _infallible = writeln!(out, "\n{}", text(&rule));
    }
    if let Some(said) = c.calibration.as_ref().map(Step::sentence) {
        let _infallible = writeln!(out, "\n{}", text(&said));
    }
    for command in report.repeat {
        let _infallible = writeln!(out, "\nRepeat: {}", code(command));
    }
    out
}
