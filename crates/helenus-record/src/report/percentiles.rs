//! The percentile plot of a phase: service against response, to where ten samples stand above.
//! Refuses to draw beyond: the last percentiles of a distribution are single samples.

use crate::report::axis::Axis;
use crate::report::chart::{Chart, Hover, Mark, Series, Style, Symbol};
use crate::report::words;
use helenus_model::histogram::SAMPLES_ABOVE;
use helenus_model::result::{Distribution, PhaseResult};

/// Points for each factor of ten in 1/(1 − q).
const STEPS: u32 = 24;

/// The plot of one phase; none where nothing completed.
pub(super) fn chart(place: usize, phase: &PhaseResult) -> Option<Chart> {
    let title = format!("{}: times by percentile", phase.name);
    let ticks = [2.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6, 1e7];
    let ticks = ticks.map(|x| (x, percentile(x))).to_vec();
    let mut series = Vec::new();
    let mut furthest = 1.0_f64;
    for (role, d) in phase.total.times() {
        let points = points(d);
        furthest = points.last().map_or(furthest, |p| furthest.max(p.0));
        let style = match role {
            "service" => Style::Dashed,
            _ => Style::Solid,
        };
        let line = points.into_iter().map(|(x, ms)| (x, Some(ms))).collect();
        let line = Series::line(role, role, style, line).in_unit("ms");
        series.push(line.with(intervals(role, d)));
    }
    // Where a plot begins and ends at one place there is nothing to draw.
    let end = furthest.powf(1.02) * 1.02;
    let x = Axis::log("percentile")
        .with_ends(1.0, end)
        .with_labels(ticks);
    let id = format!("percentiles-{place}");
    let mut chart = Chart::plain(&id, &title, x, Axis::log("ms, logarithmic"));
    chart.hover = Hover::Percentile;
    chart.height = 270;
    chart.series = series;
    (!chart.is_empty()).then_some(chart)
}

/// From the median's neighbourhood to the last percentile that has ten samples above it: (1/(1 − q), ms).
#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
fn points(d: &Distribution) -> Vec<(f64, f64)> {
    let last = d.count as f64 / SAMPLES_ABOVE;
    let steps = (0..)
        .map(|i| 10_f64.powf(f64::from(i) / f64::from(STEPS)))
        .take_while(|x| *x < last);
    let places = steps.chain((last > 1.0).then_some(last));
    places
        .filter_map(|x| Some((x, d.histogram.percentile_ns(1.0 - 1.0 / x)? as f64 / 1e6)))
        .collect()
}

/// The intervals of the named percentiles, where they are known.
fn intervals(role: &str, d: &Distribution) -> Vec<Mark> {
    let Some(c) = d.confidence else {
        return Vec::new();
    };
    let named = [
        (2.0, d.p50_us, c.p50_us),
        (10.0, d.p90_us, c.p90_us),
        (20.0, d.p95_us, c.p95_us),
        (100.0, d.p99_us, c.p99_us),
        (1e3, d.p999_us, c.p999_us),
        (1e4, d.p9999_us, c.p9999_us),
    ];
    let known = named.into_iter().filter_map(|(x, at, around)| {
        let (us, [low, high]) = (at?, around?);
        let says = format!(
            "{role} {}: {} ms ({} to {} ms)",
            percentile(x),
            words::ms(us),
            words::ms(low),
            words::ms(high)
        );
        let mut mark = Mark::at(x, us / 1e3, Symbol::Circle, says);
        mark.y_ends = Some([low.min(us) / 1e3, high.max(us) / 1e3]);
        Some(mark)
    });
    known.collect()
}

/// `99.9 %` from 1,000.
fn percentile(x: f64) -> String {
    let below = 100.0 - 100.0 / x;
    let nines = usize::try_from(x.log10().floor().max(0.0) as i64).unwrap_or(0);
    let text = format!(
        "{below:.decimals$}",
        decimals = nines.saturating_sub(1).max(usize::from(x > 2.0)) + 1
    );
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    format!("{text} %")
}

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_model::histogram::Histogram;

    #[test]
    fn the_curve_ends_where_ten_samples_stand_above() {
        let mut h = Histogram::new();
        (1..=10_000).for_each(|i| h.record(i * 1000));
        let d = Distribution::of(&h).expect("samples");
        let points = points(&d);
        let (x, ms) = *points.last().expect("points");
        assert!(
            (x - 1000.0).abs() < 1e-9 && (ms - 9.99).abs() < 0.01,
            "{x} {ms}"
        );
        assert!(
            points
                .windows(2)
                .all(|p| p[0].0 < p[1].0 && p[0].1 <= p[1].1)
        );
    }

    #[test]
    fn percentiles_are_named_as_people_say_them() {
        let names: Vec<String> = [2.0, 10.0, 20.0, 100.0, 1e3, 1e4, 1e5]
            .map(percentile)
            .into();
        assert_eq!(
            names,
            [
                "50 %", "90 %", "95 %", "99 %", "99.9 %", "99.99 %", "99.999 %"
            ]
        );
    }
}
