//! What dies, falls behind or comes through by luck: it decides nothing of what it is compared with.
//! Refuses other noise than that of the simulated runs.

use super::*;

/// Takes its numbers from a run: it fell behind.
fn falls_behind(fact: &mut Fact) {
    (fact.verdict, fact.behind) = (Verdict::Invalid, true);
}

#[test]
fn a_bar_is_not_held_by_the_runs_that_had_luck() {
    let of = read(WHOLE).unwrap();
    let all = simulated(&of, Seed(5), 0.01, |_| 1_000.0);
    let of_the_first = |behind: usize| {
        let mut facts = all.clone();
        let place = analyse(&of, &all, None, None).unwrap().bars[0].combination;
        let own = facts.iter_mut().filter(|f| f.planned.combination == place);
        own.take(behind).for_each(falls_behind);
        analyse(&of, &facts, None, None).unwrap().bars[0].answer
    };
    assert_eq!(of_the_first(0), BarAnswer::Holds);
    assert_eq!(of_the_first(1), BarAnswer::CannotTell);
    // Six blocks, each with a twin.
    assert_eq!(of_the_first(6), BarAnswer::CannotTell);
    assert_eq!(of_the_first(7), BarAnswer::Crossed);
}

#[test]
fn a_late_generator_decides_a_bar_only_where_both_ends_agree() {
    let of = read(WHOLE).unwrap();
    let bar = of.bars[0].bound;
    // Response times around `response`, service times half as long, in runs that were all late.
    let answer = |response: f64, late: bool| {
        let mut facts = simulated(&of, Seed(5), 0.01, |_| response);
        for fact in &mut facts {
            fact.censored.extend(late.then(|| "main".to_owned()));
            let values = fact.values.get_mut("main").expect("its phase");
            values.insert(Measure::ServiceP99, response / 2.0);
        }
        analyse(&of, &facts, None, None).unwrap().bars[0].answer
    };
    assert_eq!(answer(bar * 1.5, false), BarAnswer::Crossed);
    assert_eq!(answer(bar * 1.5, true), BarAnswer::CannotTell);
    assert_eq!(answer(bar * 2.5, true), BarAnswer::Crossed);
    assert_eq!(answer(bar * 0.9, true), BarAnswer::Holds);
}

#[test]
fn one_run_that_came_through_by_luck_takes_no_block_from_the_others() {
    let of = read(WHOLE).unwrap();
    let mut facts = simulated(&of, Seed(5), 0.01, |levels| {
        if levels[0] == 1 { 5_000.0 } else { 10_000.0 }
    });
    // The last combination keeps up in one block of six, and is quick there.
    let mut own: Vec<&mut Fact> = facts
        .iter_mut()
        .filter(|f| f.planned.combination == 7 && f.planned.stage == Stage::Main)
        .collect();
    let quick = own.remove(0).values.get_mut("main").unwrap();
    quick.insert(Measure::ResponseP99, 10.0);
    own.into_iter().for_each(falls_behind);
    let found = analyse(&of, &facts, None, None).unwrap();
    let heap = &found.effects[0];
    assert_eq!((heap.incomplete_blocks, heap.claim), (0, Claim::Lower));
    let answer = found.answer.unwrap();
    assert_eq!(answer.winner_label, "heap=128M reads=few");
    assert_eq!(answer.claim, Claim::Lower);
}

#[test]
fn the_blocks_in_which_what_falls_behind_kept_up_claim_nothing() {
    let of = Experiment {
        repeats: 10,
        ..of_levels(&[2], "full")
    };
    let all = simulated(&of, Seed(5), 0.01, |levels| {
        10_000.0 / (1.0 + levels[0] as f64)
    });
    // By combination, in how many blocks it falls behind.
    let found = |behind: [usize; 2]| {
        let mut facts = all.clone();
        let own = facts
            .iter_mut()
            .filter(|f| f.planned.block < behind[f.planned.combination]);
        own.for_each(falls_behind);
        let found = analyse(&of, &facts, None, None).unwrap();
        let claim = found.effects[0].claim;
        (claim, found.effects[0].estimate, found.answer.unwrap())
    };
    // One bad moment in ten blocks is no luck of the other nine.
    for even in [[0, 0], [2, 2], [0, 1], [3, 2]] {
        let (claim, estimate, answer) = found(even);
        assert!(estimate.is_some(), "{even:?}");
        assert_eq!((claim, answer.claim), (Claim::Lower, Claim::Lower));
        assert_eq!(answer.winner_label, "f0=1");
    }
    for (uneven, left) in [([0, 4], "f0=0"), ([4, 0], "f0=1"), ([2, 0], "f0=1")] {
        let (claim, estimate, answer) = found(uneven);
        assert_eq!((claim, estimate), (Claim::None, None), "{uneven:?}");
        assert_eq!((answer.claim, answer.estimate), (Claim::None, None));
        // What fell behind more often is no candidate.
        assert_eq!(answer.winner_label, left);
        assert!(answer.rivals.is_empty());
    }
}

#[test]
fn what_fell_behind_takes_only_its_like_out_of_an_effect() {
    let of = read(WHOLE).unwrap();
    let mut facts = simulated(&of, Seed(5), 0.01, |levels| {
        if levels[0] == 1 { 5_000.0 } else { 10_000.0 }
    });
    let own = facts.iter_mut().filter(|f| f.planned.combination == 5);
    own.take(4).for_each(falls_behind);
    let found = analyse(&of, &facts, None, None).unwrap();
    let heap = &found.effects[0];
    assert_eq!((heap.settings, heap.claim), ([3, 4], Claim::Lower));
    assert!(found.interactions.iter().all(|one| one.estimate.is_some()));
    let answer = found.answer.unwrap();
    assert_eq!(answer.winner_label, "heap=128M reads=many");
    assert_eq!(answer.claim, Claim::Lower);
}

#[test]
fn a_second_look_in_which_the_best_falls_behind_confirms_nothing() {
    let of = Experiment {
        repeats: 16,
        ..of_levels(&[2], "full")
    };
    let mut all = simulated(&of, Seed(5), 0.01, |levels| {
        10_000.0 / (1.0 + levels[0] as f64)
    });
    // The last seven blocks are the second look.
    all.retain(|f| f.planned.block < 9 || f.planned.stage == Stage::Main);
    for fact in all.iter_mut().filter(|f| f.planned.block >= 9) {
        fact.planned.stage = Stage::Again;
    }
    let answer = |behind: usize| {
        let mut facts = all.clone();
        let best = facts.iter_mut().filter(|f| f.planned.combination == 1);
        let own = best.filter(|f| (9..9 + behind).contains(&f.planned.block));
        own.for_each(falls_behind);
        analyse(&of, &facts, None, None).unwrap().answer.unwrap()
    };
    let confirmed = answer(0);
    assert!(confirmed.again.is_some());
    assert_eq!(confirmed.settled(), Claim::Lower);
    for behind in [1, 7] {
        let answer = answer(behind);
        assert_eq!((answer.claim, answer.again), (Claim::Lower, None));
        assert_eq!(answer.settled(), Claim::NoDifference);
    }
}

#[test]
fn a_fraction_with_the_dead_in_it_compares_no_other_loads() {
    let of = of_levels(&[2, 2, 2, 4], "half");
    let all = of.combinations();
    // The first factor halves the times, the last one's levels are loads: ten times as long each.
    let truth = |levels: &[usize]| {
        1_000.0 * 10_f64.powi(levels[3] as i32) / if levels[0] == 1 { 2.0 } else { 1.0 }
    };
    let mut facts = simulated(&of, Seed(5), 0.01, truth);
    // At its first level nothing keeps up with the highest load.
    for fact in &mut facts {
        if let [0, _, _, 3] = all[fact.planned.combination][..] {
            falls_behind(fact);
        }
    }
    let found = analyse(&of, &facts, None, None).unwrap();
    let own = found
        .effects
        .iter()
        .find(|e| e.measure == found.measure)
        .unwrap();
    let ratio = own.estimate.unwrap().ratio;
    assert!((ratio - 0.5).abs() < 0.02, "{ratio}");
    // And where it is all of one level, nothing is compared.
    facts.retain(|fact| all[fact.planned.combination][0] == 1);
    let found = analyse(&of, &facts, None, None).unwrap();
    assert_eq!(found.effects[0].estimate, None);
}

#[test]
fn two_corners_of_a_square_compare_nothing() {
    let corners = "[[combination]]\n[[combination]]\nheap = \"128M\"\nreads = \"many\"\n";
    let text = format!("{WHOLE}\n{corners}");
    let of = read(&text).unwrap();
    let facts = simulated(&of, Seed(5), 0.01, |levels| {
        1_000.0 * (1.0 + levels[0] as f64)
    });
    let found = analyse(&of, &facts, None, None).unwrap();
    assert!(found.effects.iter().all(|e| e.estimate.is_none()));
    // The settings as a whole are compared all the same.
    assert_eq!(found.answer.unwrap().claim, Claim::None);
}

#[test]
fn a_missing_block_of_the_first_stage_gives_no_degrees_of_the_second() {
    let of = Experiment {
        repeats: 12,
        ..read(WHOLE).unwrap()
    };
    let all = simulated(&of, Seed(5), 0.02, |_| 10_000.0);
    let found = |left_out: &[usize], blocks: usize, first_stage| {
        let mut facts = all.clone();
        facts.retain(|fact| fact.planned.block < blocks);
        for fact in &mut facts {
            if left_out.contains(&fact.planned.block) {
                falls_behind(fact);
            }
        }
        let found = analyse(&of, &facts, first_stage, None).unwrap();
        found.effects[0].estimate.unwrap()
    };
    for left_out in [&[][..], &[1, 4]] {
        let first = found(left_out, 6, None);
        let both = found(left_out, 12, Some(6));
        assert_eq!(both.degrees, first.degrees);
        // The variance is that of the first blocks, the mean that of all.
        assert!((both.log_sd - first.log_sd).abs() < 1e-9);
        assert!(both.pairs == first.pairs + 6 && both.ratio != first.ratio);
    }
    assert_eq!(
        found(&[7, 8], 12, Some(6)).degrees,
        found(&[], 6, None).degrees
    );
    assert!(found(&[1, 4], 6, None).degrees < found(&[], 6, None).degrees);
}

#[test]
fn growth_that_ends_for_want_of_numbers_says_so() {
    let of = clients();
    let all = of.combinations();
    let mut facts = simulated(&of, Seed(5), 0.001, |_| 1.0);
    for fact in &mut facts {
        let levels = &all[fact.planned.combination];
        let rate = [1_000.0, 5_000.0, 9_000.0, 20_000.0][levels[1]];
        *fact.values.get_mut("main").unwrap() = BTreeMap::from([(Measure::Throughput, rate)]);
        // The generator was the limit of writes with the most slots.
        if levels[0] == 0 && levels[1] == 3 {
            falls_behind(fact);
        }
    }
    let found = analyse(&of, &facts, None, None).unwrap();
    let own = |at: &str| {
        let mut each = found.growth.iter();
        each.find(|g| g.factor == "in-flight" && g.at.as_deref().is_some_and(|a| a.contains(at)))
            .unwrap()
    };
    let (write, read) = (own("mix=write"), own("mix=read"));
    assert!(write.is_last && read.is_last);
    assert_eq!(write.without_numbers, ["64"]);
    assert!(read.without_numbers.is_empty());
}
