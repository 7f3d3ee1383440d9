//! The highest rate under a threshold as what an experiment is about, with planted truths.
//! Refuses to search: what one search finds is tested beside it.

use super::*;
use crate::comparison::{BarAnswer, Claim};

const SEARCHED: &str = r#"
name = "searched"
measure = "max-rate"
bars = ["max-rate > 3000/s"]
[[factor]]
key = "heap"
kind = "restart"
levels = ["64M", "128M"]
"#;

/// Runs of searches that found these rates by heap. Some of their trials overloaded the nodes, as those of a search do.
fn searched(of: &Experiment, rates: [f64; 2]) -> Vec<Fact> {
    let facts = simulated(of, Seed(4), 0.02, |levels| rates[levels[0]]);
    let each = facts.into_iter().map(|mut fact| {
        let highest = fact.values["main"][&Measure::ResponseP99];
        fact.censored = fact.phases.clone();
        (fact.behind, fact.verdict) = (true, Verdict::Invalid);
        fact.of_search(Some(highest), Verdict::Caution)
    });
    each.collect()
}

#[test]
fn the_highest_rate_is_a_measure_like_any_other() {
    let of = read(SEARCHED).unwrap();
    let found = analyse(&of, &searched(&of, [2_000.0, 4_000.0]), None, None).unwrap();
    assert_eq!(
        (found.phase.as_str(), found.measure, found.blocks),
        ("search", Measure::MaxRate, 6)
    );
    let [effect] = found.effects.as_slice() else {
        panic!("{:?}", found.effects);
    };
    let ratio = effect.estimate.unwrap().ratio;
    assert!((ratio / 2.0 - 1.0).abs() < 0.1, "{ratio}");
    assert_eq!(
        (effect.measure, effect.claim),
        (Measure::MaxRate, Claim::Higher)
    );
    // More of it is better.
    assert_eq!(found.answer.unwrap().winner_label, "heap=128M");
    let answers: Vec<BarAnswer> = found.bars.iter().map(|cell| cell.answer).collect();
    assert_eq!(answers, [BarAnswer::Crossed, BarAnswer::Holds]);
    assert!(found.left_out.is_empty());
}

#[test]
fn a_search_that_found_no_rate_has_no_number() {
    let of = read(SEARCHED).unwrap();
    let mut facts = searched(&of, [2_000.0, 4_000.0]);
    let all = facts.len();
    facts[0] = facts[0].clone().of_search(None, Verdict::Valid);
    let found = analyse(&of, &facts, None, None).unwrap();
    let with_number = facts.iter().filter(|fact| {
        let of_search = &fact.values["search"];
        of_search.contains_key(&Measure::MaxRate)
    });
    assert_eq!((with_number.count(), found.blocks), (all - 1, 6));
}
