//! What is called different: one family over all contrasts of a report on the measure that the experiment is about.
//! Refuses claims on other measures: they are exploratory.

use super::answer::Answer;
use super::effects::{Effect, Interaction};
use crate::comparison::{ALPHA, Claim, Estimate, Measure};
use crate::stats::holm;

/// Judges effects, interactions and the answer together, and widens their intervals so that all of them hold together;
/// returns how many contrasts these are.
///
/// The family has each effect and each interaction that can be told, each settings against the first, and, for which of
/// them is best, each against the best once more: whichever is best in truth, so many comparisons with it could go
/// wrong (Hsu 1981). The last ones are judged in one step, all others by Holm.
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
    let mut told: Vec<(&mut Estimate, &mut Claim)> = effects
        .chain(interactions)
        .filter_map(|(estimate, claim)| Some((estimate.as_mut()?, claim)))
        .collect();
    let mut p: Vec<f64> = told.iter().map(|(estimate, _)| estimate.p).collect();
    let mut rivals = Vec::new();
    if let Some(answer) = answer {
        p.extend(&answer.against_reference);
        if let Some(estimate) = &mut answer.estimate {
            // It was chosen out of these: its p value is the first of them.
            told.push((estimate, &mut answer.claim));
        }
        rivals = answer
            .rivals
            .iter_mut()
            .filter_map(|one| Some((one.estimate.as_mut()?, &mut one.claim)))
            .collect();
    }
    p.extend(rivals.iter().map(|_| 1.0));
    let family = p.len();
    for ((estimate, claim), p) in told.into_iter().zip(holm(&p)) {
        (*estimate, *claim) = said(estimate, family, p);
    }
    #[expect(clippy::cast_precision_loss, reason = "contrasts of a report")]
    for (estimate, claim) in rivals {
        let p = (estimate.p * family as f64).min(1.0);
        (*estimate, *claim) = said(estimate, family, p);
    }
    family
}

/// An estimate that is told together with so many, with its adjusted p value and what that lets one say.
pub(super) fn said(of: &Estimate, family: usize, adjusted: f64) -> (Estimate, Claim) {
    let told = Estimate {
        p_holm: Some(adjusted),
        ..of.told_with(family)
    };
    let claim = match adjusted {
        _ if !of.is_enough() => Claim::None,
        p if p > ALPHA => Claim::NoDifference,
        _ if of.ratio > 1.0 => Claim::Higher,
        _ => Claim::Lower,
    };
    (told, claim)
}
