//! What a campaign is: named variants, how one trial of a variant is made, and the bars that the medians are held to.
//! Refuses to measure: a trial is a function that the campaign brings along.

use super::host::Pressure;
pub(crate) use super::host::rounded;
use super::rig::Rig;
use helenus_model::seed::{Seed, mix};
use std::collections::BTreeMap;
use std::error::Error;

/// Measures by name; the unit is the end of the name.
pub(crate) type Measures = BTreeMap<String, f64>;

/// Measures by these names.
pub(crate) fn by_name<const N: usize>(all: [(&str, f64); N]) -> Measures {
    all.map(|(name, value)| (name.to_owned(), value)).into()
}

/// One trial.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// What was measured.
    pub(crate) measures: Measures,
    /// What else went on meanwhile.
    pub(crate) pressure: Pressure,
}

/// Makes a trial of the named variant.
pub(crate) type Trial = fn(&Rig, &str) -> Result<Outcome, Box<dyn Error>>;

/// A thing to prove.
pub(crate) struct Campaign {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) variants: &'static [&'static str],
    pub(crate) bars: &'static [Bar],
    /// Once a sitting, before the first trial.
    pub(crate) prepare: fn(&Rig) -> Result<(), Box<dyn Error>>,
    /// One trial of one variant.
    pub(crate) trial: Trial,
}

/// Something that has to hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bar {
    pub(crate) rule: Rule,
    /// An aim is reported, but does not decide the exit code.
    pub(crate) aim: bool,
}

impl Bar {
    const fn of(rule: Rule) -> Self {
        Self { rule, aim: false }
    }

    /// The median of a measure.
    pub(crate) const fn median(variant: &'static str, measure: &'static str, at_most: f64) -> Self {
        Self::of(Rule::Median {
            variant,
            measure,
            at_most,
        })
    }

    /// The median of a measure over the median of another variant.
    pub(crate) const fn ratio(
        variant: &'static str,
        to: &'static str,
        measure: &'static str,
        at_most: f64,
    ) -> Self {
        Self::of(Rule::Ratio {
            variant,
            to,
            measure,
            at_most,
        })
    }

    /// The sum of a measure over all trials, of which there are at least so many.
    pub(crate) const fn sum(
        variant: &'static str,
        measure: &'static str,
        trials: usize,
        at_most: f64,
    ) -> Self {
        Self::of(Rule::Sum {
            variant,
            measure,
            trials,
            at_most,
        })
    }

    /// A measure of every single trial.
    pub(crate) const fn every(variant: &'static str, measure: &'static str, at_most: f64) -> Self {
        Self::of(Rule::Every {
            variant,
            measure,
            at_most,
        })
    }

    /// A measure that is 0 in every trial.
    pub(crate) const fn none(variant: &'static str, measure: &'static str) -> Self {
        Self::every(variant, measure, 0.0)
    }

    /// The same as an aim.
    pub(crate) const fn as_aim(self) -> Self {
        Self { aim: true, ..self }
    }
}

/// What a bar compares.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rule {
    /// The median of a measure.
    Median {
        variant: &'static str,
        measure: &'static str,
        at_most: f64,
    },
    /// The median of a measure over the median of another variant.
    Ratio {
        variant: &'static str,
        to: &'static str,
        measure: &'static str,
        at_most: f64,
    },
    /// The sum of a measure over all trials, of which there are at least so many.
    Sum {
        variant: &'static str,
        measure: &'static str,
        trials: usize,
        at_most: f64,
    },
    /// A measure of every single trial.
    Every {
        variant: &'static str,
        measure: &'static str,
        at_most: f64,
    },
}

/// The order of the variants in a round: a permutation that seed and round decide.
pub(crate) fn order(seed: Seed, round: usize, variants: usize) -> Vec<usize> {
    let round = seed.derive(&format!("round {round}"));
    let mut order: Vec<usize> = (0..variants).collect();
    order.sort_by_key(|variant| mix(round.at(*variant as u64)));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_permutations_that_differ_and_repeat() {
        let rounds: Vec<Vec<usize>> = (0..8).map(|r| order(Seed(7), r, 3)).collect();
        for round in &rounds {
            let mut sorted = round.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2]);
        }
        assert!(rounds.iter().any(|r| r != &rounds[0]));
        assert_eq!(rounds[3], order(Seed(7), 3, 3));
    }
}
