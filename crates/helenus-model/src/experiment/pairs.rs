//! Two levels of one factor in pairs of restarts: what a comparison of two sides is, as an experiment.
//! Refuses to look at the numbers: only whether the runs of a pair count.

use super::{Experiment, Planned, Stage};
use crate::comparison::FailOn;
use crate::seed::Seed;

/// Pairs that may be invalid for each one that is wanted, before it is better to give up.
const INVALID_MOST: usize = 1;

/// What is asked of the pairs. Their number is the experiment's `repeats`, of which `until` and `stop_early` make the first
/// stage.
#[derive(Debug, Clone, PartialEq)]
pub struct Pairs {
    /// Look after each pair, and stop once the question is answered; by intervals that hold whenever it stops.
    pub stop_early: bool,
    /// Thresholds, in the order of the file.
    pub bars: Vec<FailOn>,
}

/// Pairs whose runs have ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedPairs {
    /// Blocks of the pairs whose two runs count.
    pub valid: Vec<usize>,
    /// How many pairs have a run that does not count.
    pub invalid: usize,
}

impl EndedPairs {
    /// Of runs that have ended, each with whether it counts.
    pub fn of(runs: impl Iterator<Item = (Planned, bool)>) -> Self {
        let mut blocks: Vec<(usize, Vec<bool>)> = Vec::new();
        for (planned, counts) in runs {
            match blocks.iter_mut().find(|(block, _)| *block == planned.block) {
                Some((_, both)) => both.push(counts),
                None => blocks.push((planned.block, vec![counts])),
            }
        }
        let valid = |(_, both): &&(usize, Vec<bool>)| **both == [true; 2];
        let invalid = blocks.iter().filter(|(_, both)| both.contains(&false));
        Self {
            invalid: invalid.count(),
            valid: blocks
                .iter()
                .filter(valid)
                .map(|(block, _)| *block)
                .collect(),
        }
    }

    /// Whether so many pairs are invalid that more will not help.
    pub fn is_hopeless(&self, wanted: usize) -> bool {
        self.invalid > INVALID_MOST * wanted
    }
}

impl Experiment {
    /// The plan that it starts with.
    pub fn order(&self, seed: Seed) -> Vec<Planned> {
        let wholes = self.wholes(&self.combinations());
        super::order(seed, &wholes, self.repeats)
    }

    /// What a planned run is, in words: its block and its levels.
    pub fn run_label(&self, planned: Planned) -> String {
        let all = self.combinations();
        let levels = &all[planned.combination];
        let number = planned.block + 1;
        if self.pairs.is_some() {
            let labels = self.labels(levels);
            let side = labels.first().map_or("", |(_, level)| level);
            return format!("pair {number}, {side}");
        }
        let label = self.label(levels);
        let stage = match planned.stage {
            Stage::Main => "",
            Stage::Twin => ", A/A control",
            Stage::Again => ", measured again",
        };
        format!("block {number}, {label}{stage}")
    }
}

#[cfg(test)]
mod tests {
    use super::super::order;
    use super::*;

    const TEXT: &str = "name = 'ab'\npairs = true\nrepeats = 40\n[[factor]]\nname = 'side'\nkind = 'restart'\n\
                        levels = [{ label = 'a' }, { label = 'b', jvm = '-Xss256k' }]\n";

    fn experiment() -> Experiment {
        super::super::read(TEXT).expect("reads")
    }

    #[test]
    fn each_pair_has_both_sides_in_an_order_from_the_seed() {
        let of = experiment();
        let plan = of.order(Seed(7));
        assert_eq!((plan.len(), of.order(Seed(7))), (80, plan.clone()));
        for pair in plan.chunks(2) {
            assert!(pair[0].block == pair[1].block && pair[0].combination != pair[1].combination);
            assert!(pair[0].restart != pair[1].restart);
        }
        let a_first = plan.iter().step_by(2).filter(|run| run.combination == 0);
        let a_first = a_first.count();
        assert!((10..=30).contains(&a_first), "{a_first} of 40");
        assert_eq!(
            of.run_label(Planned {
                combination: 1,
                ..plan[2]
            }),
            "pair 2, b"
        );
    }

    #[test]
    fn an_invalid_run_takes_its_pair_with_it() {
        let of = experiment();
        let plan = order(Seed(1), &of.wholes(&of.combinations()), 3);
        let runs = plan
            .iter()
            .map(|run| (*run, run.block != 1 || run.combination == 0));
        let ended = EndedPairs::of(runs.take(5));
        assert_eq!((ended.valid.as_slice(), ended.invalid), (&[0][..], 1));
        assert!(ended.is_hopeless(0) && !ended.is_hopeless(1));
    }
}
