//! Which settings are best: chosen by the mean over blocks, compared with the first of the file and with each other.
//! Refuses to let the luck of being chosen speak: all that there were to choose from are judged, and a second look decides.

use super::Experiment;
use super::facts::Fact;
use super::family::said;
use super::logs::{Logs, Term};
use super::order::Stage;
use crate::comparison::{Claim, Estimate, Measure};
use serde::Serialize;

/// Which settings are best.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// The best settings.
    pub winner: Vec<usize>,
    /// In words.
    pub winner_label: String,
    /// The first settings, with which they are compared.
    pub reference: Vec<usize>,
    /// In words.
    pub reference_label: String,
    /// Winner over reference; none where both are the same.
    pub estimate: Option<Estimate>,
    /// What may be said of it.
    pub claim: Claim,
    /// The same from fresh restarts after the choice: it has no luck of being chosen in it.
    pub again: Option<Estimate>,
    /// What may be said of that; no difference where one of both fell behind its schedule more often there.
    pub again_claim: Claim,
    /// The other settings, each compared with the best.
    pub rivals: Vec<Rival>,
    /// Blocks in which all of them have numbers.
    pub blocks: usize,
    /// All settings against the first, the winner's first.
    #[serde(skip)]
    pub(super) against_reference: Vec<Estimate>,
}

/// Settings that are not the best, or not surely.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rival {
    /// In words.
    pub label: String,
    /// They over the best.
    pub estimate: Option<Estimate>,
    /// What may be said of it.
    pub claim: Claim,
}

impl Answer {
    /// What may be said after all: where the best was measured again, the second look decides (what it finds the other
    /// way round is no confirmation); where that has too few blocks, the first stands alone.
    pub fn settled(&self) -> Claim {
        match self.again_claim {
            Claim::None => self.claim,
            again if again == self.claim => again,
            _ => Claim::NoDifference,
        }
    }

    /// The settings that are not distinguished from the best, without those that it is compared with.
    pub fn alike(&self) -> impl Iterator<Item = &str> {
        let open = self
            .rivals
            .iter()
            .filter(|one| !matches!(one.claim, Claim::Higher | Claim::Lower));
        open.map(|one| one.label.as_str())
            .filter(|label| *label != self.reference_label)
    }

    /// By how much any other settings may still be better than the best, as a share: the farthest end of an interval.
    pub fn open_gain(&self, measure: Measure) -> Option<f64> {
        let gain = |estimate: &Estimate| match measure.more_is_better() {
            true => estimate.high - 1.0,
            false => 1.0 / estimate.low - 1.0,
        };
        let each = self.rivals.iter().filter_map(|one| one.estimate.as_ref());
        each.map(gain).max_by(f64::total_cmp)
    }
}

/// Settings that can be an answer: what a person would set, with the combinations that show what they do.
#[derive(Debug, Clone)]
struct Candidate {
    levels: Vec<usize>,
    combinations: Vec<usize>,
}

/// The settings that the answer chooses from, each with its combinations, in the order of the file.
fn candidates(of: &Experiment, all: &[Vec<usize>]) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    for (place, levels) in all.iter().enumerate() {
        let levels = of.chosen(all, levels);
        match found.iter_mut().find(|one| one.levels == levels) {
            Some(one) => one.combinations.push(place),
            None => found.push(Candidate {
                levels,
                combinations: vec![place],
            }),
        }
    }
    found
}

/// Candidates with what all of them were run at, in the same order; none where they have nothing in common.
fn comparable(of: &Experiment, all: &[Vec<usize>], logs: &Logs) -> Vec<Candidate> {
    let mut found = candidates(of, all);
    // Levels of what nobody chooses: loads, and what is given.
    let circumstances = |combination: usize| -> Vec<usize> {
        let chosen = of.chosen(all, &all[combination]);
        let each = all[combination].iter().zip(chosen);
        each.map(|(level, chosen)| level - chosen).collect()
    };
    // What died, or never kept up, is no candidate; the others are compared at what they share.
    found.retain(|one| one.combinations.iter().all(|c| logs.lives(*c)));
    let Some(first) = found.first() else {
        return found;
    };
    let each = first.combinations.iter().map(|c| circumstances(*c));
    let mut shared: Vec<Vec<usize>> = each.collect();
    shared.retain(|at| {
        let has = |one: &Candidate| one.combinations.iter().any(|c| circumstances(*c) == *at);
        found.iter().all(has)
    });
    for one in &mut found {
        one.combinations
            .retain(|c| shared.contains(&circumstances(*c)));
        one.combinations.sort_by_key(|c| circumstances(*c));
    }
    found.retain(|one| !one.combinations.is_empty());
    // What fell behind more often than another has only its lucky blocks to be chosen by.
    let behind = |one: &Candidate| -> usize {
        let each = one.combinations.iter();
        each.map(|c| logs.behind(*c)).sum()
    };
    let fewest = found.iter().min_by_key(|one| behind(one));
    if let Some(fewest) = fewest.map(|one| one.combinations.clone()) {
        found.retain(|one| !logs.fell_behind_more(&one.combinations, &fewest));
    }
    found
}

/// The best of the candidates by this measure, beside the first of them and all others.
pub(super) fn answer(
    of: &Experiment,
    all: &[Vec<usize>],
    facts: &[Fact],
    logs: &Logs,
    (phase, measure): (&str, Measure),
) -> Option<Answer> {
    let found = comparable(of, all, logs);
    let reference = found.first()?;
    let terms = |one: &Candidate, other: &Candidate| -> [Term; 2] {
        [
            (1.0, one.combinations.clone()),
            (-1.0, other.combinations.clone()),
        ]
    };
    let over = |logs: &Logs, one: &Candidate, other: &Candidate| logs.estimate(&terms(one, other));
    let sign = if measure.more_is_better() { -1.0 } else { 1.0 };
    let mut against: Vec<(f64, Estimate, &Candidate)> = found
        .iter()
        .skip(1)
        .filter_map(|one| over(logs, one, reference).map(|e| (e.ratio.ln() * sign, e, one)))
        .collect();
    against.sort_by(|a, b| a.0.total_cmp(&b.0));
    let winner = match against.first() {
        Some((gain, _, best)) if *gain < 0.0 => best,
        _ => reference,
    };
    let other = (winner.levels != reference.levels).then_some(winner);
    // Nothing was chosen by the second look.
    let second = Logs::of(of, facts, Stage::Again, (phase, measure), None);
    let again = other.and_then(|winner| over(&second, winner, reference));
    let again = again.map(|estimate| said(&estimate, 1, estimate.p));
    // What had luck there was not seen to be better again.
    let without = match other.is_some_and(|winner| second.is_luck(&terms(winner, reference))) {
        true => Claim::NoDifference,
        false => Claim::None,
    };
    let others = found.iter().filter(|one| one.levels != winner.levels);
    let rivals: Vec<Rival> = others
        .map(|one| Rival {
            label: of.chosen_label(all, &one.levels),
            estimate: over(logs, one, winner),
            claim: Claim::None,
        })
        .collect();
    Some(Answer {
        winner_label: of.chosen_label(all, &winner.levels),
        winner: winner.levels.clone(),
        reference_label: of.chosen_label(all, &reference.levels),
        reference: reference.levels.clone(),
        estimate: other.and_then(|winner| over(logs, winner, reference)),
        claim: Claim::None,
        again: again.map(|(estimate, _)| estimate),
        again_claim: again.map_or(without, |(_, claim)| claim),
        rivals,
        against_reference: against.iter().map(|(_, of, _)| *of).collect(),
        blocks: logs.whole_blocks(
            found
                .iter()
                .flat_map(|one| one.combinations.iter().copied()),
        ),
    })
}
