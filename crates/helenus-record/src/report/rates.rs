//! Latency by rate of a run that searched: one mark for each trial, and the rate that holds.
//! Refuses a line through the marks: between two trials nothing was measured.

use crate::report::axis::Axis;
use crate::report::chart::{Chart, Mark, Rule, Series, Symbol};
use crate::report::words::{self, html};
use crate::run::StoredRun;
use helenus_model::result::RunResult;
use helenus_model::run_plan::RunPlan;
use helenus_model::search::{Life, Point, Report};

/// What a run that searched found; none of another run.
pub(super) fn found(plan: Option<&RunPlan>, result: Option<&RunResult>) -> Option<Report> {
    let (plan, result) = plan.zip(result)?;
    plan.search.as_ref()?;
    let life = Life {
        run: None,
        plan,
        result,
    };
    Some(Report::of(&[life], "", ""))
}

/// The answer of a run in one sentence, whether it searched or not.
pub(super) fn headline(run: &StoredRun) -> String {
    let result = run.result.as_ref();
    let found = found(run.plan().ok().as_ref(), result);
    found.map_or_else(|| words::headline(result), |found| found.answer())
}

/// The chart, and where its knee is.
pub(super) fn section(found: &Report) -> String {
    let knee = found.knee_per_s.map_or_else(String::new, |knee| {
        format!(
            "Throughput divided by mean response time is highest at {}/s: the knee.",
            words::rate(knee)
        )
    });
    let note = match knee.is_empty() {
        true => String::new(),
        false => format!("<p class=\"note\">{}</p>\n", html(&knee)),
    };
    format!("{}{note}", chart(found).render())
}

fn chart(found: &Report) -> Chart {
    let x = Axis::around("operations offered a second");
    let mut chart = Chart::plain(
        "rates",
        "Response time by rate",
        x,
        Axis::log("ms, logarithmic"),
    );
    let series = [
        (
            "p50",
            "service",
            (|point: &Point| point.p50_us) as fn(&Point) -> Option<f64>,
        ),
        ("p99", "response", |point| point.p99_us),
    ];
    for (name, role, of) in series {
        let marks = found.curve.iter().filter_map(|point| {
            let us = of(point)?;
            let symbol = match point.held {
                Some(false) => Symbol::Open,
                Some(true) | None => Symbol::Circle,
            };
            let held = match (point.held, &point.why) {
                (Some(true), _) => ", held".to_owned(),
                (_, Some(why)) => format!(", {why}"),
                (_, None) => String::new(),
            };
            let rate = words::rate(point.offered_per_s);
            let says = format!("{rate}/s: {name} {} ms{held}", words::ms(us));
            Some(Mark::at(point.offered_per_s, us / 1e3, symbol, says))
        });
        let marks: Vec<Mark> = marks.collect();
        if !marks.is_empty() {
            chart
                .series
                .push(Series::marks(name, role, marks).in_unit("ms"));
        }
    }
    chart.rule = found.highest.map(|found| Rule::X(found.rate_per_s));
    chart.note(match found.slo {
        Some(_) => "Open marks did not hold the threshold. The line is the highest rate that does.",
        None => "Each mark is a trial.",
    })
}
