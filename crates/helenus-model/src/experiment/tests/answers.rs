//! What is reported of settings that were chosen because they looked best, of fractions, and of what has no number.
//! Refuses other noise than that of the simulated runs.

use super::*;

#[test]
fn the_best_of_many_that_are_alike_is_seldom_called_better() {
    let of = of_levels(&[16], "full");
    let answers: Vec<Answer> = (0..200)
        .map(|seed| {
            let facts = simulated(&of, Seed(seed), 0.05, |_| 10_000.0);
            analyse(&of, &facts, None, None).unwrap().answer.unwrap()
        })
        .collect();
    let differs = |answer: &&Answer| matches!(answer.claim, Claim::Higher | Claim::Lower);
    let called = answers.iter().filter(differs).count();
    // Without a count of what it was chosen from: 73 of 600, against 3.
    let alone = |answer: &&Answer| answer.estimate.is_some_and(|found| found.p < 0.05);
    let alone = answers.iter().filter(alone).count();
    assert!(called <= 4 && alone > 12, "{called} and {alone} of 200");
}

/// What is measured again of these settings, as runs by life of the nodes, in blocks of one seed.
fn lives_again(of: &Experiment, settings: &[&[usize]]) -> Vec<Vec<usize>> {
    let mut plan = order(Seed(1), &of.wholes(&of.combinations()), 6);
    let main = plan.len();
    more(&mut plan, Seed(1), &of.wholes_of(settings), 7, Stage::Again);
    let lives = plan[main..].chunk_by(|a, b| a.restart == b.restart);
    lives
        .map(|life| life.iter().map(|run| run.combination).collect())
        .collect()
}

#[test]
fn what_is_measured_again_has_the_lives_that_it_had() {
    // One restart has all settings: each life has all twelve runs again, in orders of its own.
    let of = clients();
    let lives = lives_again(&of, &[&[0, 0, 0], &[0, 3, 0]]);
    assert_eq!(lives.len(), 7);
    let sorted = |life: &Vec<usize>| {
        let mut sorted = life.clone();
        sorted.sort_unstable();
        sorted
    };
    assert!(
        lives
            .iter()
            .all(|life| sorted(life) == (0..12).collect::<Vec<_>>())
    );
    assert!(lives.windows(2).any(|two| two[0] != two[1]));
    // Settings of restarts: those two, each with all of its runs.
    let of = read(WHOLE).unwrap();
    let lives = lives_again(&of, &[&[0, 0, 0], &[1, 0, 0]]);
    assert_eq!(lives.len(), 14);
    assert!(
        lives
            .iter()
            .all(|life| [vec![0, 1], vec![4, 5]].contains(&sorted(life)))
    );
}

#[test]
fn what_is_not_distinguished_from_the_best_is_named() {
    let of = of_levels(&[4], "full");
    let facts = simulated(&of, Seed(3), 0.01, |levels| {
        [10_000.0, 5_000.0, 5_010.0, 8_000.0][levels[0]]
    });
    let answer = analyse(&of, &facts, None, None).unwrap().answer.unwrap();
    let alike: Vec<&str> = answer.alike().collect();
    assert_eq!(alike.len(), 1, "{answer:#?}");
    assert!(["f0=1", "f0=2"].contains(&alike[0]));
    assert_eq!(answer.settled(), Claim::Lower);
    // A second look that does not find it again takes it back; one with too few blocks does not.
    let second = |claim| Answer {
        again: answer.estimate,
        again_claim: claim,
        ..answer.clone()
    };
    assert_eq!(second(Claim::NoDifference).settled(), Claim::NoDifference);
    assert_eq!(second(Claim::None).settled(), Claim::Lower);
    assert_eq!(second(Claim::Lower).settled(), Claim::Lower);
}

#[test]
fn where_the_first_settings_are_best_others_may_still_be_a_little_better() {
    let of = of_levels(&[3], "full");
    let facts = simulated(&of, Seed(3), 0.02, |levels| {
        10_000.0 + levels[0] as f64 * 100.0
    });
    let found = analyse(&of, &facts, None, None).unwrap();
    let answer = found.answer.unwrap();
    let reference = Answer {
        winner: answer.reference.clone(),
        ..answer.clone()
    };
    let open = reference.open_gain(found.measure).unwrap();
    assert!((0.0..0.2).contains(&open), "{open}");
    assert_eq!(answer.blocks, of.repeats);
}

#[test]
fn a_fraction_gives_interactions_where_no_two_of_them_are_one() {
    let truth = |levels: &[usize]| {
        let both = (levels[0] * levels[1]) as i32;
        10_000.0 * 1.3_f64.powi(both)
    };
    let of = of_levels(&[2, 2, 2, 2, 2], "half");
    let found = analyse(&of, &simulated(&of, Seed(3), 0.01, truth), None, None).unwrap();
    assert_eq!(found.interactions.len(), 10);
    let higher: Vec<&Interaction> = found
        .interactions
        .iter()
        .filter(|one| one.claim == Claim::Higher)
        .collect();
    assert_eq!(higher.len(), 1, "{higher:#?}");
    assert_eq!(
        (higher[0].one[0].as_str(), higher[0].other[0].as_str()),
        ("f0", "f1")
    );
    let ratio = higher[0].estimate.unwrap().ratio;
    assert!((ratio / 1.3 - 1.0).abs() < 0.05, "{ratio}");
    // In a half of four factors each interaction is another one as well.
    let of = of_levels(&[2, 2, 2, 2], "half");
    let found = analyse(&of, &simulated(&of, Seed(3), 0.01, truth), None, None).unwrap();
    assert_eq!(found.interactions, []);
}

#[test]
fn a_level_of_which_a_part_has_no_number_has_no_mean() {
    let of = of_levels(&[2, 2, 4], "half");
    let all = of.combinations();
    let facts = simulated(&of, Seed(3), 0.01, |_| 10_000.0);
    let along = |facts: &[Fact]| {
        let found = analyse(&of, facts, None, None).unwrap();
        found.along(found.measure, (2, 4), |_| true)
    };
    assert!(along(&facts).iter().all(Option::is_some));
    // What remains of a level would be the better half of it.
    let weak = all.iter().position(|levels| levels[2] == 3).unwrap();
    let mut fewer = facts.clone();
    fewer.retain(|fact| fact.planned.combination != weak);
    let means = along(&fewer);
    assert_eq!(means[3], None);
    assert!(means[..3].iter().all(Option::is_some));
}

#[test]
fn noise_is_estimated_from_the_runs_that_have_a_like() {
    let of = read(WHOLE).unwrap();
    let mut facts = simulated(&of, Seed(5), 0.01, |_| 10_000.0);
    let first = of.wholes(&of.combinations())[0].combinations[1];
    // One combination of the first restart never has a number: the others are reported all the same.
    facts.retain(|fact| fact.planned.combination != first);
    let noise = analyse(&of, &facts, None, None).unwrap().noise.unwrap();
    assert_eq!(noise.estimate.pairs, of.repeats);
}

#[test]
fn labels_with_units_are_numbers() {
    let number = |label: &str| {
        let level = Level {
            label: label.to_owned(),
            settings: Vec::new(),
            promise: None,
        };
        level.number()
    };
    assert_eq!(number("8"), Some(8.0));
    assert_eq!(number("0.25"), Some(0.25));
    assert_eq!(number("64M"), Some(f64::from(64 << 20)));
    assert_eq!(number("40ms"), Some(0.04));
    assert_eq!(number("1.5k/s"), Some(1_500.0));
    for word in ["few", "", "G1", "inf", "NaN", "80ms+DC1:DC2=20ms"] {
        assert_eq!(number(word), None, "{word}");
    }
}
