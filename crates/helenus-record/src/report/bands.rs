//! Bands: stretches of time behind the lines, and the events they come from.
//! Refuses to drop an event because it is short: a band is never thinner than a pixel.

use crate::report::RunReport;
use crate::report::chart::Moment;
use crate::report::path::{LANE, WIDTH};
use crate::report::series::Clock;
use helenus_model::fault::script::Scripted;
use helenus_model::sample::{Interval, Stretch};
use helenus_model::telemetry::{Event, EventKind, Seen, faults};

/// Bands of one kind that lie nearer than this share of the run are drawn as one.
const TOGETHER: f64 = 1.0 / 500.0;

/// A span of time behind the lines of every chart over time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Band {
    /// Its kind: a word, a style and a switch of the legend.
    pub(super) kind: &'static str,
    /// On the axis.
    pub(super) from: f64,
    /// On the axis.
    pub(super) to: f64,
}

/// All bands as drawings that every chart over time takes its own from: they are on the page once. What happens all the
/// time on a busy node has lanes above the charts; the rest lies behind them, as high as they are.
pub(super) fn block(bands: &[Band], clock: Clock) -> String {
    let units = WIDTH / (clock.end() - clock.begin());
    let rects = |kind: &str, (y, height): (u32, u32)| -> String {
        let rect = |band: &Band| {
            // What began before the run is drawn from its beginning on.
            let (from, to) = (band.from.max(clock.begin()), band.to.min(clock.end()));
            let x = (from - clock.begin()) * units;
            let width = (to - from) * units;
            format!("<rect x=\"{x:.0}\" y=\"{y}\" width=\"{width:.0}\" height=\"{height}\"/>")
        };
        let own: String = bands.iter().filter(|b| b.kind == kind).map(rect).collect();
        match own.is_empty() {
            true => own,
            false => format!("<g class=\"band-{kind}\" data-kind=\"{kind}\">{own}</g>"),
        }
    };
    let behind = KINDS.iter().filter(|(kind, _)| !ROUTINE.contains(kind));
    let behind: String = behind.map(|(kind, _)| rects(kind, (0, 1))).collect();
    let above = lanes(bands).into_iter().zip(0..);
    let above: String = above
        .map(|(kind, place)| rects(kind, (place * LANE, LANE - 1)))
        .collect();
    format!(
        "<svg class=\"source\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs><g id=\"bands\">{behind}</g>\
         <g id=\"lanes\">{above}</g></defs></svg>\n"
    )
}

/// The kinds that have lanes here, the uppermost first.
pub(super) fn lanes(bands: &[Band]) -> Vec<&'static str> {
    let is_here = |kind: &&str| bands.iter().any(|band| band.kind == *kind);
    ROUTINE.into_iter().filter(is_here).collect()
}

/// Kinds that a busy node has all the time: behind a chart they would hide each other.
const ROUTINE: [&str; 6] = [
    "compaction",
    "flush",
    "log_sync",
    "hints",
    "collection",
    "safepoint",
];

/// Every kind with what a legend says of it, in the legend's order.
pub(super) const KINDS: [(&str, &str); 14] = [
    ("warm-up", "warm-up, recorded separately"),
    ("cut", "cut: the warm-up continued"),
    ("compaction", "compaction under way"),
    ("flush", "memtable being flushed"),
    ("log_sync", "commit log waited for the disk"),
    ("hints", "hints being replayed"),
    ("collection", "garbage collection that paused a node"),
    ("safepoint", "node paused for another reason"),
    ("paused", "node paused by a signal"),
    ("died", "node was down"),
    ("fault", "requested fault"),
    ("killed", "node killed on request"),
    ("not_made", "requested fault that failed"),
    ("membership", "node joined or left"),
];

/// All bands of a run.
pub(super) fn all(report: &RunReport<'_>, clock: Clock) -> Vec<Band> {
    let mut bands = warm_ups(report.intervals, clock);
    bands.extend(cuts(report, clock));
    for (kind, _) in KINDS {
        let mut of_kind: Vec<Band> = events(report)
            .filter(|(_, _, event)| event.what.word() == kind)
            .map(|(_, from_ns, event)| Band {
                kind,
                from: clock.at(from_ns),
                to: clock.at(event.to_ns),
            })
            .filter(|band| band.to >= clock.begin() && band.from <= clock.end())
            .collect();
        of_kind.sort_by(|a, b| a.from.total_cmp(&b.from));
        let length = clock.end() - clock.begin();
        bands.extend(together(of_kind, length * TOGETHER));
    }
    bands
}

/// Events of a run with their node and beginning.
pub(super) fn events<'a>(
    report: &RunReport<'a>,
) -> impl Iterator<Item = (&'a str, u64, &'a Event)> {
    report
        .readings
        .iter()
        .filter_map(|reading| match &reading.seen {
            Seen::Event(event) => Some((reading.source.as_str(), reading.at_ns, event)),
            _ => None,
        })
}

/// The kind of an event as the legend has it.
pub(super) fn word(kind: EventKind) -> &'static str {
    KINDS
        .iter()
        .find(|(k, _)| *k == kind.word())
        .map_or(kind.word(), |(_, said)| said)
}

fn together(sorted: Vec<Band>, near: f64) -> Vec<Band> {
    let mut joined: Vec<Band> = Vec::new();
    for band in sorted {
        match joined.last_mut() {
            Some(last) if band.from - last.to <= near => last.to = last.to.max(band.to),
            _ => joined.push(band),
        }
    }
    joined
}

fn warm_ups(intervals: &[Interval], clock: Clock) -> Vec<Band> {
    let runs = intervals.chunk_by(|a, b| a.phase == b.phase && a.stretch == b.stretch);
    let bands = runs.filter_map(|run| {
        let (first, last) = (run.first()?, run.last()?);
        (first.stretch == Stretch::Warmup).then(|| Band {
            kind: "warm-up",
            from: clock.at(first.start_ns),
            to: clock.at(last.end_ns),
        })
    });
    bands.collect()
}

fn cuts(report: &RunReport<'_>, clock: Clock) -> Vec<Band> {
    let phases = report
        .run
        .result
        .iter()
        .flat_map(|r| r.phases.iter().enumerate());
    let bands = phases.filter_map(|(place, phase)| {
        let cut_s = phase.steadiness.as_ref()?.cut_s;
        let mut measured = report
            .intervals
            .iter()
            .filter(|i| i.phase == place && i.stretch == Stretch::Measured);
        let from = clock.at(measured.next()?.start_ns);
        (cut_s > 0.0).then(|| Band {
            kind: "cut",
            from,
            to: from + clock.length(cut_s),
        })
    });
    bands.collect()
}

/// The phases' names and the faults' words at their beginnings.
pub(super) fn moments(report: &RunReport<'_>, clock: Clock) -> Vec<Moment> {
    let plan = report.run.plan().ok();
    let phases = report.intervals.chunk_by(|a, b| a.phase == b.phase);
    let phases = phases.filter_map(|run| {
        let first = run.first()?;
        Some(Moment {
            at: clock.at(first.start_ns),
            words: plan.as_ref()?.phases.get(first.phase)?.name.clone(),
            is_phase: true,
        })
    });
    let faults = faults(report.readings, 0).into_iter().map(|fault| {
        let words = Scripted::parse(&fault.words).map(|one| one.fault.to_string());
        Moment {
            at: clock.at(fault.from_ns),
            words: words.unwrap_or(fault.words),
            is_phase: false,
        }
    });
    phases.chain(faults).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_bands_become_one_and_far_ones_stay() {
        let band = |from, to| Band {
            kind: "collection",
            from,
            to,
        };
        let joined = together(
            vec![
                band(0.0, 1.0),
                band(1.05, 1.1),
                band(0.5, 0.6),
                band(3.0, 3.0),
            ],
            0.1,
        );
        assert_eq!(joined, [band(0.0, 1.1), band(3.0, 3.0)]);
    }
}
