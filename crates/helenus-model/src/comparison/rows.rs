//! Rows: each measure of each operation of each phase, its ratio by pair, its interval, and what may be said.
//! Refuses to say anything of fewer than six pairs.

use super::pairs::{Restart, Restarts};
use super::{ALL, Claim, Estimate, LEVEL, Measure, Row};
use crate::stats::{Interval, detectable, holm, interval, pairs_needed, two_stage_interval};

/// Two-sided level of the intervals.
pub(crate) const ALPHA: f64 = 1.0 - LEVEL;

/// Two-sided level of an interval each end of which is a one-sided bound of 95 %: a bar asks about one side of one number.
pub(crate) const ONE_SIDED: f64 = 2.0 * ALPHA;

/// Half-width that [`Estimate::pairs_for_5_percent`] is about, as a ratio.
const FIVE_PERCENT: f64 = 1.05;

/// Power that [`Estimate::detectable`] is about: 8 of 10 cases.
const POWER: f64 = 0.8;

/// A level shared by so many intervals that are told together (Bonferroni).
#[expect(clippy::cast_precision_loss, reason = "rows and bars of a report")]
pub(crate) fn shared(level: f64, by: usize) -> f64 {
    level / by.max(1) as f64
}

/// A row with the interval that its estimate was made from.
pub(super) struct Computed {
    pub(super) row: Row,
    pub(super) interval: Option<Interval>,
}

/// Phases that every run of all pairs has, in the order of the first.
pub(super) fn phases(pairs: &[Restarts]) -> Vec<String> {
    let mut runs = pairs.iter().flatten().flat_map(|one| one.runs.clone());
    let names = |run: &super::RunFacts| -> Vec<String> {
        let names = run.result.phases.iter().map(|phase| phase.name.clone());
        names.collect()
    };
    let mut common = runs.next().map(names).unwrap_or_default();
    runs.for_each(|run| {
        let has = names(run);
        common.retain(|name| has.contains(name));
    });
    common
}

/// All rows of these pairs. With two stages, the first so many pairs give variance and degrees of freedom.
pub(super) fn rows(pairs: &[Restarts], two_stage: Option<usize>) -> Vec<Computed> {
    let mut rows = Vec::new();
    for phase in phases(pairs) {
        for operation in operations(pairs, &phase) {
            for measure in Measure::EVERY {
                rows.extend(row(pairs, &phase, &operation, measure, two_stage));
            }
        }
    }
    adjust(&mut rows);
    rows
}

/// `all`, and each operation where the phase has more than one.
fn operations(pairs: &[Restarts], phase: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for run in pairs.iter().flatten().flat_map(|one| &one.runs) {
        for found in run.result.phases.iter().filter(|p| p.name == phase) {
            let new = found
                .operations
                .keys()
                .filter(|name| !names.contains(*name));
            let new: Vec<String> = new.cloned().collect();
            names.extend(new);
        }
    }
    if names.len() < 2 {
        names.clear();
    }
    names.insert(0, ALL.to_owned());
    names
}

/// The mean of a restart's runs on the log scale; none where one of them has no such number.
fn log_of(restart: &Restart, phase: &str, operation: &str, measure: Measure) -> Option<f64> {
    let logs = restart.runs.iter().map(|run| {
        let phase = run.result.phases.iter().find(|p| p.name == phase)?;
        measure.value(phase, operation).map(f64::ln)
    });
    crate::stats::mean(&logs.collect::<Option<Vec<f64>>>()?)
}

fn row(
    pairs: &[Restarts],
    phase: &str,
    operation: &str,
    measure: Measure,
    two_stage: Option<usize>,
) -> Option<Computed> {
    let logs: Vec<Option<[f64; 2]>> = pairs
        .iter()
        .map(|[a, b]| {
            Some([
                log_of(a, phase, operation, measure)?,
                log_of(b, phase, operation, measure)?,
            ])
        })
        .collect();
    let ratio = |both: &[f64; 2]| both[1] - both[0];
    let both: Vec<[f64; 2]> = logs.iter().flatten().copied().collect();
    let middle = |place: usize| {
        let logs: Vec<f64> = both.iter().map(|b| b[place]).collect();
        crate::stats::mean(&logs).map(f64::exp)
    };
    let (a, b) = (middle(0)?, middle(1)?);
    let ratios: Vec<f64> = both.iter().map(ratio).collect();
    let interval = match two_stage {
        None => interval(&ratios),
        Some(first) => {
            let first = logs.iter().take(first).flatten().count();
            two_stage_interval(&ratios, first)
        }
    };
    let estimate = interval.map(|interval| estimate(&interval, 1));
    Some(Computed {
        row: Row {
            phase: phase.to_owned(),
            operation: operation.to_owned(),
            measure,
            a,
            b,
            ratios: logs
                .iter()
                .map(|l| l.as_ref().map(|b| ratio(b).exp()))
                .collect(),
            estimate,
            claim: Claim::None,
        },
        interval,
    })
}

/// An interval of log ratios as ratios, told together with so many in all: all of them hold in 95 of 100 cases (Bonferroni).
pub(crate) fn estimate(of: &Interval, together: usize) -> Estimate {
    let level = shared(ALPHA, together);
    let [low, high] = of.ends(level).map(f64::exp);
    Estimate {
        ratio: of.mean.exp(),
        low,
        high,
        pairs: of.count,
        degrees: of.degrees,
        log_sd: of.sd,
        p: of.p(0.0),
        p_holm: None,
        detectable: detectable(of.sd, of.count, of.degrees, level, POWER).exp(),
        pairs_for_5_percent: pairs_needed(of.sd, FIVE_PERCENT.ln(), level),
    }
}

impl Estimate {
    /// The same told together with so many in all.
    pub(crate) fn told_with(&self, together: usize) -> Self {
        let of = Interval {
            mean: self.ratio.ln(),
            sd: self.log_sd,
            count: self.pairs,
            degrees: self.degrees,
        };
        Self {
            ratio: self.ratio,
            p: self.p,
            ..estimate(&of, together)
        }
    }
}

/// Tells the rows that may be claims as one family: of each phase, all operations together: p50 and p99 of the response time (of the
/// service time without a schedule), the nodes' CPU, and the throughput where no rate fixed it. All others are exploratory.
fn adjust(rows: &mut [Computed]) {
    let scheduled: Vec<String> = rows
        .iter()
        .filter(|one| one.row.measure == Measure::ResponseMean)
        .map(|one| one.row.phase.clone())
        .collect();
    let headline = |row: &Row| {
        let scheduled = scheduled.contains(&row.phase);
        row.operation == ALL
            && match row.measure {
                Measure::ResponseP50 | Measure::ResponseP99 | Measure::NodeCpu => true,
                Measure::ServiceP50 | Measure::ServiceP99 | Measure::Throughput => !scheduled,
                _ => false,
            }
    };
    let family = rows.iter_mut().filter(|one| headline(&one.row));
    let mut family: Vec<(&mut Row, Interval)> = family
        .filter_map(|one| Some((&mut one.row, one.interval?)))
        .collect();
    let p: Vec<f64> = family.iter().map(|(_, interval)| interval.p(0.0)).collect();
    for ((row, interval), adjusted) in family.iter_mut().zip(holm(&p)) {
        row.estimate = Some(Estimate {
            p_holm: Some(adjusted),
            ..estimate(interval, p.len())
        });
        row.claim = row.corrected();
    }
}
