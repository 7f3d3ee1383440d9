//! What is called different: one family over all contrasts of a report on the measure that the experiment is about.
//! Refuses claims on other measures: they are exploratory.

use super::answer::Answer;
use super::effects::{Effect, Interaction};
use crate::comparison::{ALPHA, Claim, Estimate, Measure};
use crate::stats::holm;

/// Judges effects, interactions and the answer together, and widens their intervals so that all of them hold together;
/// returns how many contrasts these are.
///
/// The family has each effect and each interaction that has an estimate, and each settings against the first; what is
/// two of these at once counts once. Which settings may be the best is another question, judged at the same level by
/// itself: each against the best, for whichever is best in truth, so many comparisons with it could go wrong (Hsu
/// 1981).
pub(super) fn judge(
    measure: Measure,
    effects: &mut [Effect],
    interactions: &mut [Interaction],
    answer: Option<&mut Answer>,
) -> usize {
    let effects = effects
        .iter_mut()
        .filter(|e| e.measure == measure && e.testable);
    let effects = effects.map(|e| (&mut e.estimate, &mut e.claim));
    let interactions = interactions.iter_mut().filter(|i| i.testable);
    let interactions = interactions.map(|i| (&mut i.estimate, &mut i.claim));
    let mut contrasts: Vec<(&mut Estimate, &mut Claim)> = effects
        .chain(interactions)
        .filter_map(|(estimate, claim)| Some((estimate.as_mut()?, claim)))
        .collect();
    let mut family = Family::default();
    contrasts.iter().for_each(|(of, _)| family.add(of));
    if let Some(answer) = answer {
        answer
            .against_reference
            .iter()
            .for_each(|of| family.add(of));
        if let Some(estimate) = &mut answer.estimate {
            // It was chosen out of these, and is one of them.
            contrasts.push((estimate, &mut answer.claim));
        }
        let rivals = answer.rivals.iter_mut();
        let rivals: Vec<(&mut Estimate, &mut Claim)> = rivals
            .filter_map(|one| Some((one.estimate.as_mut()?, &mut one.claim)))
            .collect();
        judge_rivals(rivals);
    }
    let adjusted = holm(&family.p);
    for (estimate, claim) in contrasts {
        let p = family.place(estimate).map_or(1.0, |place| adjusted[place]);
        (*estimate, *claim) = said(estimate, adjusted.len(), p);
    }
    adjusted.len()
}

/// Settings against the best ones, which were seen to be the best in the same numbers: one step, without Holm's.
#[expect(clippy::cast_precision_loss, reason = "settings of a report")]
fn judge_rivals(rivals: Vec<(&mut Estimate, &mut Claim)>) {
    let count = rivals.len();
    for (estimate, claim) in rivals {
        let p = (estimate.p * count as f64).min(1.0);
        (*estimate, *claim) = said(estimate, count, p);
    }
}

/// Contrasts that are judged together, each once.
#[derive(Default)]
struct Family {
    ratios: Vec<f64>,
    p: Vec<f64>,
}

impl Family {
    /// Two contrasts of one fit that are equal in this are the same, but for rounding.
    const SAME: f64 = 1e-9;

    fn add(&mut self, of: &Estimate) {
        if self.place(of).is_none() {
            self.ratios.push(of.ratio);
            self.p.push(of.p);
        }
    }

    fn place(&self, of: &Estimate) -> Option<usize> {
        let near = |a: f64, b: f64| (a - b).abs() <= Self::SAME * a.abs().max(b.abs());
        let mut known = self.ratios.iter().zip(&self.p);
        known.position(|(ratio, p)| near(*ratio, of.ratio) && near(*p, of.p))
    }
}

/// An estimate that is shown together with so many, with its adjusted p value and what that lets one say.
pub(super) fn said(of: &Estimate, family: usize, adjusted: f64) -> (Estimate, Claim) {
    let shown = Estimate {
        p_holm: Some(adjusted),
        ..of.shown_with(family)
    };
    let claim = match adjusted {
        _ if !of.is_enough() => Claim::None,
        p if p > ALPHA => Claim::NoDifference,
        // A claim and the interval beside it say the same.
        _ if shown.low <= 1.0 && shown.high >= 1.0 => Claim::NoDifference,
        _ if of.ratio > 1.0 => Claim::Higher,
        _ => Claim::Lower,
    };
    (shown, claim)
}
