//! From which settings on the generator was the limit, and not the nodes.
//! Refuses to guess: a setting counts where most of its runs say so by their own doubts.

use super::Experiment;
use super::facts::Fact;
use super::order::Stage;

/// At which settings the generator was the limit in most runs, in words such as `from in-flight=32 on`; none where it
/// was at none.
pub(super) fn generator_limit(
    of: &Experiment,
    all: &[Vec<usize>],
    facts: &[Fact],
) -> Option<String> {
    let limited = |place: usize| {
        let own = facts
            .iter()
            .filter(|fact| fact.planned.stage == Stage::Main && fact.planned.combination == place);
        let own: Vec<bool> = own.map(|fact| fact.generator_was_limit).collect();
        own.iter().filter(|yes| **yes).count() * 2 > own.len()
    };
    let limited: Vec<bool> = (0..all.len()).map(limited).collect();
    if !limited.contains(&true) {
        return None;
    }
    let from = (0..of.factors.len()).find_map(|factor| from(of, all, &limited, factor));
    Some(from.unwrap_or_else(|| {
        let each = all.iter().zip(&limited).filter(|(_, yes)| **yes);
        let labels: Vec<String> = each.map(|(levels, _)| of.label(levels)).collect();
        format!("at {}", labels.join(", "))
    }))
}

/// The least level of a factor of numbers from which on all combinations are limited, where none below it is.
fn from(of: &Experiment, all: &[Vec<usize>], limited: &[bool], factor: usize) -> Option<String> {
    let own = &of.factors[factor];
    let numbers = own.numbers()?;
    let at = |yes: bool| {
        let each = all.iter().zip(limited).filter(move |(_, l)| **l == yes);
        each.map(|(levels, _)| numbers[levels[factor]])
    };
    let first = at(true).min_by(f64::total_cmp)?;
    let last_below = at(false).max_by(f64::total_cmp)?;
    let place = numbers.iter().position(|number| *number == first)?;
    (last_below < first).then(|| format!("from {}={} on", own.name, own.levels[place].label))
}
