//! What a screening design ends with: the levels that are surely better, and what they should give together.
//! Refuses to call that measured: it is a sum of main effects, and interactions are not in it.

use super::Experiment;
use super::effects::Effect;
use super::logs::Logs;
use crate::comparison::{Claim, Estimate, Measure};
use serde::Serialize;

/// The outcome of a screening design.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Screened {
    /// Factors with the level that is surely better than their first one, such as `heap=300M`; of several levels the best.
    pub better: Vec<String>,
    /// Factors with a level that is surely worse.
    pub worse: Vec<String>,
    /// All better levels over all first ones, by the sum of their main effects, with its own interval of 95 %: they were
    /// chosen because they looked good, so it is rather too optimistic.
    pub together: Option<Estimate>,
}

/// Of effects that are judged already.
pub(super) fn screened(
    of: &Experiment,
    logs: &Logs,
    effects: &[Effect],
    measure: Measure,
) -> Option<Screened> {
    if !of.is_screening() {
        return None;
    }
    let good = match measure.more_is_better() {
        true => Claim::Higher,
        false => Claim::Lower,
    };
    let gain = |effect: &Effect| {
        let log = effect.estimate.map_or(0.0, |estimate| estimate.ratio.ln());
        if measure.more_is_better() { log } else { -log }
    };
    let judged: Vec<&Effect> = effects
        .iter()
        .filter(|e| e.measure == measure && e.testable)
        .collect();
    let (mut better, mut worse, mut chosen) = (Vec::new(), Vec::new(), Vec::new());
    for (place, factor) in of.factors.iter().enumerate() {
        let own = || judged.iter().filter(|e| e.factor == factor.name);
        let best = own().filter(|effect| effect.claim == good);
        if let Some(best) = best.max_by(|a, b| gain(a).total_cmp(&gain(b))) {
            better.push(format!("{}={}", best.factor, best.to));
            let level = factor.levels.iter().position(|l| l.label == best.to);
            chosen.extend(level.map(|level| (place, level)));
        }
        let bad =
            own().filter(|e| e.claim != good && matches!(e.claim, Claim::Higher | Claim::Lower));
        worse.extend(bad.map(|effect| format!("{}={}", effect.factor, effect.to)));
    }
    Some(Screened {
        together: logs.main_effects(&chosen),
        better,
        worse,
    })
}
