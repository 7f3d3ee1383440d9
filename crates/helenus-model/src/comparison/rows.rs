//! Rows: each measure of each operation of each phase, its ratio by pair, its interval, and what may be said.
//! Refuses to say anything of fewer than six pairs.

use super::pairs::{Restart, Restarts};
use super::{ALL, Claim, Estimate, LEVEL, Measure, Row, Stages};
use crate::result::PhaseResult;
use crate::stats::{Interval, detectable, holm, interval, pairs_needed, two_stage_interval};

/// Two-sided level of the intervals.
pub(crate) const ALPHA: f64 = 1.0 - LEVEL;

/// Two-sided level of an interval each end of which is a one-sided bound of 95 %: a threshold asks about one side of
/// one number.
pub(crate) const ONE_SIDED: f64 = 2.0 * ALPHA;

/// Half-width that [`Estimate::pairs_for_5_percent`] is about, as a ratio.
const FIVE_PERCENT: f64 = 1.05;

/// Power that [`Estimate::detectable`] is about: 8 of 10 cases.
const POWER: f64 = 0.8;

/// A level shared by so many intervals that are shown together (Bonferroni).
#[expect(clippy::cast_precision_loss, reason = "rows and bars of a report")]
pub(crate) fn shared(level: f64, by: usize) -> f64 {
    level / by.max(1) as f64
}

/// A row with what its estimate was made from.
pub(super) struct Computed {
    pub(super) row: Row,
    /// The intervals by the least and the most that the ratios may be, where the generator was late in a run: a claim holds
    /// by all of them. One and the same where it never was.
    pub(super) intervals: Vec<Interval>,
    /// Pairs in which one side alone fell behind its schedule, A's and B's, where it is about response times.
    pub(super) behind: [usize; 2],
}

impl Computed {
    /// The ends at this level, as ratios; none below two pairs.
    pub(super) fn ends(&self, level: f64) -> Option<[f64; 2]> {
        let each = self.intervals.iter().map(|one| one.ends(level));
        let hull = |a: [f64; 2], b: [f64; 2]| [a[0].min(b[0]), a[1].max(b[1])];
        Some(each.reduce(hull)?.map(f64::exp))
    }

    /// Whether it has as many pairs as a claim needs.
    pub(super) fn is_enough(&self) -> bool {
        let mut intervals = self.intervals.iter();
        intervals
            .next()
            .is_some_and(|one| estimate(one, 1).is_enough())
    }

    /// The largest p of these intervals against this log ratio; 1 where they lie on both sides of it.
    pub(super) fn p(&self, of: f64) -> f64 {
        let sides = |above: bool| self.intervals.iter().any(|one| (one.mean > of) == above);
        match sides(true) && sides(false) {
            true => 1.0,
            false => self
                .intervals
                .iter()
                .map(|one| one.p(of))
                .fold(0.0, f64::max),
        }
    }
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
pub(super) fn rows(pairs: &[Restarts], stages: Stages) -> Vec<Computed> {
    let mut rows = Vec::new();
    for phase in phases(pairs) {
        for operation in operations(pairs, &phase) {
            for measure in Measure::EVERY {
                rows.extend(row(pairs, &phase, &operation, measure, stages));
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

/// The mean of a restart's runs on the log scale, from the least to the most that it may be; none where one of them has no
/// such number.
fn log_of(restart: &Restart, phase: &str, operation: &str, measure: Measure) -> Option<[f64; 2]> {
    let logs = restart.runs.iter().map(|run| {
        let phase = run.result.phases.iter().find(|p| p.name == phase)?;
        Some(measure.bounds(phase, operation)?.map(f64::ln))
    });
    let logs: Vec<[f64; 2]> = logs.collect::<Option<_>>()?;
    let mean =
        |end: usize| crate::stats::mean(&logs.iter().map(|log| log[end]).collect::<Vec<_>>());
    Some([mean(0)?, mean(1)?])
}

/// Whether the nodes fell behind the schedule in this phase of a restart.
fn fell_behind(restart: &Restart, phase: &str) -> bool {
    let phases = restart.runs.iter().flat_map(|run| &run.result.phases);
    let mut own = phases.filter(|one| one.name == phase);
    own.any(PhaseResult::nodes_fell_behind)
}

fn row(
    pairs: &[Restarts],
    phase: &str,
    operation: &str,
    measure: Measure,
    stages: Stages,
) -> Option<Computed> {
    let timed = measure.service().is_some();
    let late = |side: &Restart| timed && fell_behind(side, phase);
    let behind = |place: usize| {
        let alone = pairs
            .iter()
            .filter(|pair| late(&pair[place]) && !late(&pair[1 - place]));
        alone.count()
    };
    let behind = [behind(0), behind(1)];
    let logs: Vec<Option<[[f64; 2]; 2]>> = pairs
        .iter()
        .map(|[a, b]| {
            let of = |side| log_of(side, phase, operation, measure);
            Some([of(a)?, of(b)?])
        })
        .collect();
    // A run that fell behind has no response time, only a time that grows with the run.
    let kept: Vec<Option<[[f64; 2]; 2]>> = logs
        .iter()
        .zip(pairs)
        .map(|(logs, [a, b])| logs.filter(|_| !late(a) && !late(b)))
        .collect();
    let shown = match kept.iter().any(Option::is_some) {
        true => &kept,
        false => &logs,
    };
    let middle = |place: usize| {
        let logs: Vec<f64> = shown.iter().flatten().map(|b| b[place][1]).collect();
        crate::stats::mean(&logs).map(f64::exp)
    };
    let (a, b) = (middle(0)?, middle(1)?);
    // Which ends of A and of B the ratios are made of: what was recorded, the least, the most.
    let censored = kept
        .iter()
        .flatten()
        .flatten()
        .any(|[least, most]| least < most);
    let ends: &[[usize; 2]] = if censored {
        &[[1, 1], [1, 0], [0, 1]]
    } else {
        &[[1, 1]]
    };
    let intervals: Vec<Interval> = ends
        .iter()
        .filter_map(|[of_a, of_b]| {
            let ratio = |both: &[[f64; 2]; 2]| both[1][*of_b] - both[0][*of_a];
            let ratios: Vec<f64> = kept.iter().flatten().map(ratio).collect();
            match stages {
                Stages::Fixed => interval(&ratios),
                Stages::Two(first) => {
                    let first = kept.iter().take(first).flatten().count();
                    two_stage_interval(&ratios, first)
                }
                Stages::Sequential => interval(&ratios).map(Interval::in_sequence),
            }
        })
        .collect();
    let ratio = |both: &[[f64; 2]; 2]| (both[1][1] - both[0][1]).exp();
    let ratios = kept.iter().map(|l| l.as_ref().map(ratio)).collect();
    let mut computed = Computed {
        row: Row {
            phase: phase.to_owned(),
            operation: operation.to_owned(),
            measure,
            a,
            b,
            ratios,
            estimate: None,
            claim: Claim::None,
        },
        intervals,
        behind,
    };
    // Where one side fell behind more often, the pairs that are left are those in which it had luck.
    if behind[0] == behind[1] {
        computed.row.estimate = computed.estimate(1);
    }
    Some(computed)
}

impl Computed {
    /// The estimate of what was recorded, with ends and p that hold whatever the generator's lateness hides; shown
    /// together with so many in all.
    fn estimate(&self, together: usize) -> Option<Estimate> {
        let recorded = estimate(self.intervals.first()?, together);
        let [low, high] = self.ends(shared(ALPHA, together))?;
        let p = self.p(0.0);
        Some(Estimate {
            low,
            high,
            p,
            ..recorded
        })
    }
}

/// An interval of log ratios as ratios, shown together with so many in all: all of them hold in 95 of 100 cases
/// (Bonferroni). What so many pairs can find is known only where their number was fixed before.
pub(crate) fn estimate(of: &Interval, together: usize) -> Estimate {
    let level = shared(ALPHA, together);
    let finds = || detectable(of.sd, of.count, of.degrees, level, POWER).exp();
    let needs = || pairs_needed(of.sd, FIVE_PERCENT.ln(), level);
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
        detectable: (!of.sequential).then(finds),
        pairs_for_5_percent: (!of.sequential).then(needs),
    }
}

impl Estimate {
    /// The same shown together with so many in all.
    pub(crate) fn shown_with(&self, together: usize) -> Self {
        let of = Interval {
            mean: self.ratio.ln(),
            sd: self.log_sd,
            count: self.pairs,
            degrees: self.degrees,
            sequential: false,
        };
        Self {
            ratio: self.ratio,
            p: self.p,
            ..estimate(&of, together)
        }
    }
}

/// Corrects the rows that may be claims as one family: of each phase, all operations together: p50 and p99 of the
/// response time (of the service time without a schedule), the nodes' CPU, and the throughput where no rate fixed it.
/// All others are exploratory.
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
    let in_family = |one: &&mut Computed| headline(&one.row) && one.row.estimate.is_some();
    let mut family: Vec<&mut Computed> = rows.iter_mut().filter(in_family).collect();
    let p: Vec<f64> = family.iter().map(|one| one.p(0.0)).collect();
    for (one, adjusted) in family.iter_mut().zip(holm(&p)) {
        one.row.estimate = one.estimate(p.len()).map(|estimate| Estimate {
            p_holm: Some(adjusted),
            ..estimate
        });
        one.row.claim = one.row.corrected();
    }
}
