//! Screening designs: few combinations that give the main effect of every factor, for two levels or more, mixed.
//! Refuses to estimate interactions: they are mixed with the main effects.

use crate::seed::Seed;
use crate::stats::Draw;
use std::collections::BTreeSet;

/// Starts of the search; the best design of all of them is kept. Twelve runs of eleven factors of two levels (Plackett and
/// Burman 1946) come out orthogonal after a few.
const STARTS: u64 = 40;

/// Passes over all columns before a start is given up.
const PASSES: usize = 20;

/// Fewest runs that estimate the mean and every main effect.
pub(super) fn least(levels: &[usize]) -> usize {
    1 + levels.iter().map(|count| count - 1).sum::<usize>()
}

/// Runs by default: the fewest that do, made a multiple of four so that factors of two levels are orthogonal.
pub(super) fn usual(levels: &[usize]) -> usize {
    least(levels).next_multiple_of(4)
}

/// A balanced design of so many runs: by run the place of each factor's level. The first run has every factor at its first
/// level.
///
/// Each level of a factor comes equally often, or once more. Columns are as near to orthogonal as an interchange search
/// brings them: Xu's J2, the sum over pairs of runs of the squared weight of what both have in common, has its least value
/// where every two factors are orthogonal (Technometrics 44, 2002). The same arguments give the same design.
pub(super) fn screening(levels: &[usize], runs: usize) -> Vec<Vec<usize>> {
    let mut best: Option<((usize, usize), Search)> = None;
    for start in 0..STARTS {
        let mut search = Search::begin(levels, runs, start);
        // Of designs that are as good, the one with the fewest runs that come twice.
        let cost = (search.improve(), search.repeated());
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, search));
        }
    }
    best.map(|(_, search)| search.rows()).unwrap_or_default()
}

struct Search {
    levels: Vec<usize>,
    /// By factor, then by run.
    columns: Vec<Vec<usize>>,
    /// By pair of runs the weight of what both have in common: the number of levels of each factor on which they agree.
    common: Vec<Vec<usize>>,
}

impl Search {
    fn begin(levels: &[usize], runs: usize, start: u64) -> Self {
        let mut draw = Draw::new(Seed(start).derive("experiment/screening"));
        let columns: Vec<Vec<usize>> = levels
            .iter()
            .map(|count| {
                let mut column: Vec<usize> = (0..runs).map(|run| run % count).collect();
                draw.shuffle(&mut column);
                column
            })
            .collect();
        let mut common = vec![vec![0; runs]; runs];
        for (column, count) in columns.iter().zip(levels) {
            for (a, row) in common.iter_mut().enumerate() {
                for (b, weight) in row.iter_mut().enumerate() {
                    *weight += count * usize::from(column[a] == column[b]);
                }
            }
        }
        Self {
            levels: levels.to_vec(),
            columns,
            common,
        }
    }

    /// Exchanges two runs of a column as long as that lowers the cost; returns the cost.
    fn improve(&mut self) -> usize {
        for _ in 0..PASSES {
            let mut better = false;
            for factor in 0..self.columns.len() {
                better |= self.improve_column(factor);
            }
            if !better {
                break;
            }
        }
        self.cost()
    }

    fn improve_column(&mut self, factor: usize) -> bool {
        let runs = self.common.len();
        let mut better = false;
        for a in 0..runs {
            for b in a + 1..runs {
                if self.columns[factor][a] == self.columns[factor][b] {
                    continue;
                }
                let before = self.cost_of(a, b);
                self.exchange(factor, a, b);
                if self.cost_of(a, b) < before {
                    better = true;
                } else {
                    self.exchange(factor, a, b);
                }
            }
        }
        better
    }

    fn exchange(&mut self, factor: usize, a: usize, b: usize) {
        let weight = self.levels[factor];
        let column = &self.columns[factor];
        for run in (0..column.len()).filter(|run| *run != a && *run != b) {
            for (one, other) in [(a, b), (b, a)] {
                let (had, has) = (column[run] == column[one], column[run] == column[other]);
                let common = self.common[one][run] + weight * usize::from(has);
                let common = common - weight * usize::from(had);
                self.common[one][run] = common;
                self.common[run][one] = common;
            }
        }
        self.columns[factor].swap(a, b);
    }

    /// The part of the cost in which these two runs are.
    fn cost_of(&self, a: usize, b: usize) -> usize {
        let of = |run: usize| -> usize {
            let others = self.common[run].iter().enumerate();
            let others = others.filter(|(other, _)| *other != a && *other != b);
            others.map(|(_, weight)| weight * weight).sum()
        };
        of(a) + of(b)
    }

    /// Runs whose settings an earlier one has.
    fn repeated(&self) -> usize {
        let rows: BTreeSet<Vec<usize>> = self.rows().into_iter().collect();
        self.common.len() - rows.len()
    }

    fn cost(&self) -> usize {
        let pairs = (0..self.common.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
        pairs.map(|(a, b)| self.common[a][b].pow(2)).sum()
    }

    /// Runs, with the levels of each factor renamed so that the first run has the first of all.
    fn rows(&self) -> Vec<Vec<usize>> {
        let row = |run: usize| -> Vec<usize> {
            let each = self.columns.iter();
            each.map(|column| match column[run] {
                level if level == column[0] => 0,
                0 => column[0],
                level => level,
            })
            .collect()
        };
        (0..self.common.len()).map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each two levels of two factors come together: the fewest and the most.
    fn together(design: &[Vec<usize>], levels: &[usize], a: usize, b: usize) -> (usize, usize) {
        let mut counts = vec![0; levels[a] * levels[b]];
        for run in design {
            counts[run[a] * levels[b] + run[b]] += 1;
        }
        (
            counts.iter().copied().min().unwrap(),
            counts.iter().copied().max().unwrap(),
        )
    }

    fn is_orthogonal(levels: &[usize], runs: usize) -> bool {
        let design = screening(levels, runs);
        let pairs = (0..levels.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
        pairs
            .map(|(a, b)| together(&design, levels, a, b))
            .all(|(fewest, most)| fewest == most)
    }

    #[test]
    fn eleven_factors_of_two_levels_are_orthogonal_in_twelve_runs() {
        assert!(is_orthogonal(&[2; 11], 12));
        assert!(is_orthogonal(&[2; 3], 4));
        assert!(is_orthogonal(&[2; 7], 8));
    }

    #[test]
    fn mixed_levels_are_orthogonal_where_they_can_be() {
        assert!(is_orthogonal(&[3, 2, 3, 3], 18));
        assert!(is_orthogonal(&[4, 2, 2, 2], 8));
    }

    #[test]
    fn the_first_run_is_the_reference_and_all_levels_are_balanced() {
        let levels = [5, 3, 2, 2];
        let design = screening(&levels, 20);
        assert_eq!(design[0], [0, 0, 0, 0]);
        for (factor, count) in levels.iter().enumerate() {
            let times = |level: usize| design.iter().filter(|run| run[factor] == level).count();
            let times: Vec<usize> = (0..*count).map(times).collect();
            let (fewest, most) = (times.iter().min().unwrap(), times.iter().max().unwrap());
            assert!(most - fewest <= 1, "{times:?}");
        }
        assert_eq!(screening(&levels, 20), design);
    }

    #[test]
    fn the_fewest_runs_estimate_the_mean_and_each_effect() {
        assert_eq!(least(&[5, 3, 2, 2]), 9);
        assert_eq!((usual(&[5, 3, 2, 2]), usual(&[2; 11])), (12, 12));
    }
}
