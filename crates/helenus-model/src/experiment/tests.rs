//! Files, designs, orders, resumes and effects of planted sizes.
//! Refuses to trust a seed: what is random is tried with many.

mod against;
mod answers;
mod bars;
mod ladder;
mod luck;
mod max_rate;
mod screening;
mod strata;
mod tips;
mod warm;

use super::*;
use crate::comparison::{BarAnswer, Claim, Measure};
use crate::doubt::Verdict;
use crate::stats::Draw;
use std::collections::{BTreeMap, BTreeSet};

const WHOLE: &str = r#"
name = "heap-and-rate"
seed = 7
bars = ["p99 < 20ms at 1k/s"]

[cluster]
preset = "tiny"
set = ["concurrent_writes=4"]

[workload]
workload = "standard1"
ops = "write=1"

[[factor]]
key = "heap"
kind = "restart"
levels = ["64M", "128M"]

[[factor]]
name = "reads"
kind = "restart"
levels = [{ label = "few", set = ["concurrent_reads=4"] }, { label = "many", set = ["concurrent_reads=32"], jvm = "-Xss256k" }]

[[factor]]
key = "rate"
kind = "phase"
levels = [500, 1000]
"#;

fn refused(text: &str) -> String {
    let error = read(text).unwrap_err();
    match &error.hint {
        Some(hint) => format!("{error} ({hint})"),
        None => error.to_string(),
    }
}

#[test]
fn a_file_says_everything() {
    let file = read(WHOLE).unwrap();
    let combinations = file.combinations();
    assert_eq!(combinations.len(), 8);
    assert_eq!(file.label(&combinations[0]), "heap=64M reads=few rate=500");
    assert_eq!(file.wholes(&combinations).len(), 4);
    assert!(file.bars[0].is_about(&[0, 1, 1]) && !file.bars[0].is_about(&[0, 1, 0]));
    assert_eq!((file.bars[0].bound, file.bars[0].below), (20_000.0, true));
    let settings = file.settings(&file.cluster, &[1, 1, 0], &[Kind::Restart]);
    let settings: Vec<String> = settings
        .iter()
        .map(|s| format!("{}={}", s.key, s.value))
        .collect();
    assert_eq!(
        settings,
        [
            r#"preset="tiny""#,
            r#"set=["concurrent_writes=4", "concurrent_reads=32"]"#,
            r#"heap="128M""#,
            r#"jvm="-Xss256k""#
        ]
    );
}

#[test]
fn what_is_not_understood_is_reported_with_its_line() {
    let factor = "[[factor]]\nkey = \"heap\"\nkind = \"restart\"\nlevels = [1, 2]\n";
    let and = |more: &str| refused(&format!("name = \"a\"\n{more}{factor}"));
    insta::assert_snapshot!(refused("nme = \"a\""), @"line 1: unknown key nme (did you mean name?)");
    insta::assert_snapshot!(refused("x = "), @"line 1: string values must be quoted, expected literal string");
    insta::assert_snapshot!(refused(""), @"line 1: an experiment needs a name");
    insta::assert_snapshot!(refused("name = \"a b\""), @r#"line 1: "a b" cannot be the name of an experiment (use letters, digits, - and _ only, at most 40)"#);
    insta::assert_snapshot!(refused("name = \"a\""), @"line 1: an experiment needs a factor (add a [[factor]] with a key, a kind and levels)");
    insta::assert_snapshot!(and("repeats = 0\n"), @"line 2: repeats must be a number from 1 to 1000");
    insta::assert_snapshot!(and("until = \"5\"\n"), @"line 2: until must be a percentage from 0.1% to 100%");
    insta::assert_snapshot!(and("design = \"half\"\n"), @r#"line 2: one in 2 needs 3 factors whose levels are a multiple of 2; there are 1 (run all of them (design = "full"), or name each [[combination]])"#);
    insta::assert_snapshot!(and("measure = \"p98\"\n"), @r#"line 2: no such measure: "p98" (did you mean p99? known: p50, p90, p95, p99, p99.9, mean, throughput, cpu, generator-cpu, max-rate)"#);
    insta::assert_snapshot!(and("bars = [\"p99 < 20\"]\n"), @r#"line 2: the threshold "p99 < 20" has no bound: "20" (write a time with its unit, such as 20ms)"#);
    insta::assert_snapshot!(and("bars = [\"p99 < 20ms at 1000/s\"]\n"), @r#"line 2: the threshold "p99 < 20ms at 1000/s" is about "1000/s", which is not a level of a factor (known: heap=1, heap=2)"#);
    insta::assert_snapshot!(and("[[factor]]\nname = \"b\"\nkind = \"restart\"\nlevels = [{ label = \"x\", jvm = \"-a\" }, { label = \"y\", jvm = \"-b\", promises = \"much\" }]\n"), @r#"line 5: "much" is not a gain (write a gain such as "up to 15%", "3% to 5%", "100%", or "a gain")"#);
    insta::assert_snapshot!(and("[[factor]]\nname = \"b\"\nkind = \"restart\"\nlevels = [{ label = \"x\", jvm = \"-a\", promises = \"5%\" }, { label = \"y\", jvm = \"-b\" }]\n"), @"line 2: the first level of b has a claimed effect, but it is the reference for the others (put the level without the claim first)");
    insta::assert_snapshot!(and("[[combination]]\nheap = 3\n"), @"line 3: heap has no level 3 (it has 1, 2)");
    insta::assert_snapshot!(and("[[factor]]\nkey = \"rate\"\nkind = \"fase\"\nlevels = [1, 2]\n"), @"line 4: no such kind: fase (did you mean phase?)");
    insta::assert_snapshot!(and("[[factor]]\nname = \"b\"\nkey = \"heap\"\nkind = \"restart\"\nlevels = [1, 2]\n"), @"line 10: b and heap both set heap (make one factor of them, whose levels set several keys)");
    insta::assert_snapshot!(and("[[factor]]\nname = \"b\"\nkind = \"restart\"\nlevels = [{ label = \"x\", set = \"a=1\" }, { label = \"y\", set = [\"c=1\", \"a=2\"] }]\n[[factor]]\nname = \"d\"\nkind = \"restart\"\nlevels = [{ label = \"x\", set = \"b=1\" }, { label = \"y\", set = \"a = 3\" }]\n"), @"line 9: b and d both set set a (make one factor of them, whose levels set several keys)");
    insta::assert_snapshot!(and("[[factor]]\nname = \"b\"\nkind = \"restart\"\nlevels = [{ label = \"x\", jvm = \"-XX:+UseZGC\" }, { label = \"y\", jvm = \"-Xss1m\" }]\n[[factor]]\nname = \"d\"\nkind = \"restart\"\nlevels = [{ label = \"x\", jvm = \"-XX:-UseZGC\" }, { label = \"y\", jvm = \"-ea\" }]\n"), @"line 9: b and d both set jvm -XX:UseZGC (make one factor of them, whose levels set several keys)");
}

#[test]
fn every_block_has_each_restart_once_and_one_twice_in_an_order_of_the_seed() {
    let file = read(WHOLE).unwrap();
    let combinations = file.combinations();
    let wholes = file.wholes(&combinations);
    let plan = order(Seed(7), &wholes, 20);
    assert_eq!(plan, order(Seed(7), &wholes, 20));
    assert_ne!(plan, order(Seed(8), &wholes, 20));
    assert_eq!(plan.len(), 20 * 10);
    let mut orders = BTreeSet::new();
    for block in 0..20 {
        let own: Vec<&Planned> = plan.iter().filter(|p| p.block == block).collect();
        let mut main: Vec<usize> = own
            .iter()
            .filter(|p| p.stage == Stage::Main)
            .map(|p| p.combination)
            .collect();
        orders.insert(main.clone());
        main.sort_unstable();
        assert_eq!(main, (0..8).collect::<Vec<_>>());
        let mut twins: Vec<usize> = own
            .iter()
            .filter(|p| p.stage == Stage::Twin)
            .map(|p| p.combination)
            .collect();
        twins.sort_unstable();
        assert_eq!(twins, wholes[0].combinations);
    }
    assert!(orders.len() > 15, "the blocks differ in their order");
    // Runs of a restart stand together, and are of one restart's settings.
    for two in plan
        .windows(2)
        .filter(|two| two[0].restart == two[1].restart)
    {
        let levels = |p: &Planned| file.whole_levels(&combinations[p.combination]);
        assert_eq!(levels(&two[0]), levels(&two[1]));
    }
    let places: Vec<usize> = plan.iter().map(|p| p.place).collect();
    assert_eq!(places, (0..plan.len()).collect::<Vec<_>>());
    // More blocks do not change those that are there.
    let mut longer = order(Seed(7), &wholes, 12);
    more(&mut longer, Seed(7), &wholes, 8, Stage::Main);
    assert_eq!(longer, plan);
}

/// An experiment of factors with these numbers of levels.
fn of_levels(levels: &[usize], design: &str) -> Experiment {
    let mut text = format!("name = \"x\"\ndesign = \"{design}\"\n");
    for (place, levels) in levels.iter().enumerate() {
        let labels: Vec<String> = (0..*levels).map(|l| format!("\"{l}\"")).collect();
        text.push_str(&format!(
            "[[factor]]\nname = \"f{place}\"\nkey = \"k{place}\"\nkind = \"restart\"\nlevels = [{}]\n",
            labels.join(", ")
        ));
    }
    read(&text).unwrap()
}

#[test]
fn fractions_are_balanced() {
    for (levels, design, parts) in [
        (vec![2, 2, 2], "half", 2),
        (vec![2, 3, 2, 4], "half", 2),
        (vec![3, 3, 2, 3], "third", 3),
    ] {
        let of = of_levels(&levels, design);
        let all = of.combinations();
        let full: usize = levels.iter().product();
        assert_eq!(all.len() * parts, full, "{levels:?}");
        for (factor, count) in levels.iter().enumerate() {
            for level in 0..*count {
                let n = all.iter().filter(|l| l[factor] == level).count();
                assert_eq!(
                    n * count,
                    all.len(),
                    "{levels:?} factor {factor} level {level}"
                );
            }
            for (other, other_count) in levels.iter().enumerate().skip(factor + 1) {
                for (a, b) in (0..*count).flat_map(|a| (0..*other_count).map(move |b| (a, b))) {
                    let n = all
                        .iter()
                        .filter(|l| l[factor] == a && l[other] == b)
                        .count();
                    assert_eq!(
                        n * count * other_count,
                        all.len(),
                        "{levels:?} {factor} {other}"
                    );
                }
            }
        }
    }
    assert_eq!(of_levels(&[2, 2, 2, 2], "half").resolution(), Some(4));
}

#[test]
fn more_blocks_are_those_that_a_longer_plan_has_and_none_are_added_to_what_may_be_claimed_of() {
    let file = read(WHOLE).unwrap();
    let wholes = file.wholes(&file.combinations());
    let plan = |blocks| order(Seed(1), &wholes, blocks);
    let longer = |have, blocks| lengthened(&plan(have), Seed(1), &wholes, blocks);
    assert_eq!(longer(1, 4), Ok(plan(4)));
    assert_eq!(longer(5, 9), Ok(plan(9)));
    assert_eq!(longer(3, 3), Ok(plan(3)));
    assert_eq!(longer(8, 8), Ok(plan(8)));
    assert_eq!(longer(3, 2), Err(NotLonger::Fewer { have: 3 }));
    assert_eq!(longer(6, 7), Err(NotLonger::Claims { have: 6 }));
}

#[test]
fn a_dataset_takes_its_time_once_and_none_where_it_is_there() {
    use RunState::{Died, DoesNotFit, Done, Interrupted, Planned as Open};

    let seconds = std::time::Duration::from_secs;
    let making = |dataset| {
        Some(Making {
            dataset,
            takes: seconds(100),
        })
    };
    let timing = Timing {
        restart: seconds(10),
        runs: vec![seconds(5); 4],
        datasets: vec![None, making(1), making(1), making(3)],
    };
    let run = |place: usize, state| {
        let planned = Planned {
            place,
            block: 0,
            restart: place,
            combination: place,
            stage: Stage::Main,
        };
        (planned, state)
    };
    let left = |states: [RunState; 4]| {
        let runs: Vec<_> = states
            .into_iter()
            .enumerate()
            .map(|(at, state)| run(at, state))
            .collect();
        timing.left(&runs).as_secs()
    };
    assert_eq!(left([Open; 4]), 4 * 15 + 2 * 100);
    assert_eq!(left([Done, Done, Open, Open]), 2 * 15 + 100);
    assert_eq!(left([Done, Died, Open, Open]), 2 * 15 + 100);
    // What did not fit, or was cut off, made none that others could have.
    assert_eq!(left([Done, DoesNotFit, Open, Done]), 15 + 100);
    assert_eq!(left([Done, Interrupted, Open, Done]), 2 * 15 + 100);
    assert_eq!(left([Done; 4]), 0);
}

#[test]
fn what_was_cut_off_comes_again_and_what_ended_does_not() {
    let file = read(WHOLE).unwrap();
    let wholes = file.wholes(&file.combinations());
    let plan = order(Seed(1), &wholes, 2);
    let mut runs: Vec<(Planned, RunState)> = plan.iter().map(|p| (*p, RunState::Planned)).collect();
    let timing = Timing {
        restart: std::time::Duration::from_secs(10),
        runs: vec![std::time::Duration::from_secs(5); 8],
        datasets: vec![None; 8],
    };
    assert_eq!(timing.left(&runs).as_secs(), 10 * 10 + 20 * 5);
    let mut ran = vec![0; runs.len()];
    // Ten ends at any moment: what ran then is cut off, and comes first again.
    let mut draw = Draw::new(Seed(3));
    while let Some(place) = Progress::next(&runs) {
        let cut = draw.below(4) == 0 && ran.iter().sum::<usize>() < 40;
        runs[place].1 = match (cut, place) {
            (true, _) => RunState::Running,
            (false, 3) => RunState::Died,
            (false, _) => RunState::Done,
        };
        ran[place] += usize::from(!cut);
    }
    assert_eq!(ran, vec![1; runs.len()]);
    let progress = Progress::of(&runs);
    assert_eq!((progress.done, progress.died, progress.left), (19, 1, 0));
    assert_eq!(timing.left(&runs).as_secs(), 0);
}

/// Runs of a plan whose p99 is `truth` of the levels, with noise of restarts and of runs.
fn simulated(
    of: &Experiment,
    seed: Seed,
    noise: f64,
    truth: impl Fn(&[usize]) -> f64,
) -> Vec<Fact> {
    let all = of.combinations();
    let plan = order(seed, &of.wholes(&all), of.repeats);
    let mut restarts: BTreeMap<usize, f64> = BTreeMap::new();
    let mut draw = Draw::new(seed.derive("noise"));
    plan.into_iter()
        .map(|planned| {
            let restart = *restarts
                .entry(planned.restart)
                .or_insert_with(|| draw.normal() * noise);
            let value =
                truth(&all[planned.combination]) * (restart + draw.normal() * noise / 3.0).exp();
            let measures = BTreeMap::from([
                (Measure::ResponseMean, value / 2.0),
                (Measure::ResponseP99, value),
            ]);
            Fact {
                run: format!("r{}", planned.place + 1),
                planned,
                life: planned.restart as u32,
                verdict: Verdict::Valid,
                behind: false,
                censored: vec![],
                generator_was_limit: false,
                phases: vec!["main".into()],
                values: Values::from([("main".into(), measures)]),
                generator_processors: None,
                read_bytes_per_operation: None,
                written_bytes_per_operation: None,
                limits_failed: None,
                doubts: vec![],
                covariates: Covariates::default(),
            }
        })
        .collect()
}

#[test]
fn a_planted_effect_is_found_first_and_the_others_are_not_called_different() {
    let of = of_levels(&[2, 2, 2, 2, 2, 2], "half");
    let mut false_claims = 0;
    for seed in 0..20 {
        let facts = simulated(&of, Seed(seed), 0.02, |levels| {
            10_000.0 * 1.10_f64.powi(levels[2] as i32) * 1.05_f64.powi(levels[4] as i32)
        });
        let found = analyse(&of, &facts, None, None).unwrap();
        let size = |e: &Effect| e.estimate.map_or(0.0, |e| e.ratio.ln().abs());
        let first = found
            .effects
            .iter()
            .max_by(|a, b| size(a).total_cmp(&size(b)))
            .unwrap();
        assert_eq!((first.factor.as_str(), first.claim), ("f2", Claim::Higher));
        let estimate = first.estimate.unwrap();
        assert!((1.07..1.13).contains(&estimate.ratio), "{estimate:?}");
        let differs = |e: &&Effect| matches!(e.claim, Claim::Higher | Claim::Lower);
        let named = ["f2", "f4"];
        let others = found
            .effects
            .iter()
            .filter(|e| !named.contains(&e.factor.as_str()));
        false_claims += others.filter(differs).count();
        let noise = found.noise.unwrap();
        assert!((0.9..1.1).contains(&noise.estimate.ratio), "{noise:?}");
        let two = noise.of_two_runs.unwrap();
        assert!((0.005..0.1).contains(&two), "{noise:?}");
    }
    assert!(false_claims <= 3, "{false_claims} of 80");
}

#[test]
fn the_answer_names_the_best_settings_and_which_hold_the_bar() {
    let of = read(WHOLE).unwrap();
    // Heap halves the times, reads do nothing alone and spoil it together with the heap.
    let truth = |levels: &[usize]| match levels {
        [0, _, rate] => 30_000.0 * (1.0 + *rate as f64),
        [_, 0, rate] => 10_000.0 * (1.0 + 0.2 * *rate as f64),
        [_, _, rate] => 20_000.0 * (1.0 + *rate as f64),
        _ => unreachable!("three factors"),
    };
    let facts = simulated(&of, Seed(5), 0.01, truth);
    let found = analyse(&of, &facts, None, None).unwrap();
    let answer = found.answer.clone().unwrap();
    assert_eq!(answer.winner_label, "heap=128M reads=few");
    assert_eq!(answer.reference_label, "heap=64M reads=few");
    assert_eq!(
        (answer.claim, answer.again_claim),
        (Claim::Lower, Claim::None)
    );
    let ratio = answer.estimate.unwrap().ratio;
    let exact = (10_000.0_f64 * 12_000.0 / (30_000.0 * 60_000.0)).sqrt();
    assert!(
        (ratio / exact - 1.0).abs() < 0.05,
        "{ratio} against {exact}"
    );
    let held: Vec<(&str, BarAnswer)> = found
        .bars
        .iter()
        .map(|b| (b.label.as_str(), b.answer))
        .collect();
    assert_eq!(
        held,
        [
            ("heap=64M reads=few rate=1000", BarAnswer::Crossed),
            ("heap=64M reads=many rate=1000", BarAnswer::Crossed),
            ("heap=128M reads=few rate=1000", BarAnswer::Holds),
            ("heap=128M reads=many rate=1000", BarAnswer::Crossed),
        ]
    );
    let claimed = |i: &&Interaction| i.claim == Claim::Higher;
    let interaction = found.interactions.iter().find(claimed).unwrap();
    assert_eq!(
        (interaction.one[0].as_str(), interaction.other[0].as_str()),
        ("heap", "reads")
    );
}

#[test]
fn what_died_or_fell_behind_is_no_candidate_and_spoils_no_other() {
    let of = read(WHOLE).unwrap();
    let mut facts = simulated(&of, Seed(5), 0.01, |levels| {
        if levels[0] == 1 { 5_000.0 } else { 10_000.0 }
    });
    // Nodes of 128M with many reads never start; 64M with many falls behind at the higher rate.
    facts.retain(|fact| ![6, 7].contains(&fact.planned.combination));
    for fact in facts.iter_mut().filter(|f| f.planned.combination == 3) {
        (fact.verdict, fact.behind) = (Verdict::Invalid, true);
    }
    let found = analyse(&of, &facts, None, None).unwrap();
    let heap = &found.effects[0];
    assert_eq!((heap.incomplete_blocks, heap.claim), (0, Claim::Lower));
    assert!((heap.estimate.unwrap().ratio - 0.5).abs() < 0.02);
    assert_eq!(found.answer.unwrap().winner_label, "heap=128M reads=few");
    assert_eq!(found.bars[1].answer, BarAnswer::Crossed);
    assert_eq!(found.left_out.len(), 6);
}

#[test]
fn a_question_about_the_disk_without_reads_has_no_answer() {
    let of = Experiment {
        needs_disk: true,
        ..read(WHOLE).unwrap()
    };
    let mut facts = simulated(&of, Seed(5), 0.01, |_| 10_000.0);
    let found = analyse(&of, &facts, None, None).unwrap();
    assert!(found.answer.is_none() && found.not_testable.is_some());
    assert!(
        found
            .effects
            .iter()
            .all(|e| !e.testable && e.claim == Claim::None)
    );
    // A dropped cache reads some: that is not what was asked for.
    for fact in &mut facts {
        fact.read_bytes_per_operation = Some(8.0);
    }
    let little = analyse(&of, &facts, None, None).unwrap();
    insta::assert_snapshot!(little.not_testable.unwrap(), @"it is about the disk, and the nodes read at most 8 bytes per operation from it in 60 runs: the data was in memory");
    for fact in &mut facts {
        fact.read_bytes_per_operation = Some(4096.0);
    }
    assert!(analyse(&of, &facts, None, None).unwrap().answer.is_some());
}

#[test]
fn a_factor_of_the_disk_wants_twice_the_memory_of_data() {
    assert!(!read(WHOLE).unwrap().is_about_reads());
    let settings = [
        "set = [\"disk_access_mode=mmap\"]",
        "set = [\"commitlog_disk_access_mode=legacy\"]",
        "param = [\"compression=ZstdCompressor\"]",
        "param = \"chunk_length=4\"",
        "with = \"compression={'class': 'LZ4Compressor'}\"",
        "disk-read = \"10M\"",
        "disk-iops = 100",
    ];
    for setting in settings {
        let text = WHOLE.replace("set = [\"concurrent_reads=32\"]", setting);
        let of = read(&text).unwrap();
        assert!(of.is_about_reads(), "{setting}");
        assert!(!of.factors[0].is_of_reads() && of.factors[1].is_of_reads());
    }
    let of = read(&WHOLE.replace("set = [\"concurrent_reads=32\"]", settings[5])).unwrap();
    let gib = |n: u64| Some(n << 30);
    assert_eq!(of.too_small(gib(8), gib(4)), None);
    insta::assert_snapshot!(of.too_small(gib(7), gib(4)).unwrap(), @"it is about the disk, and the dataset of 7 GiB is less than twice the 4 GiB that the nodes may use");
    insta::assert_snapshot!(of.too_small(None, gib(4)).unwrap(), @"the claim is about the disk, and there is no dataset ([populate])");
    assert_eq!(read(WHOLE).unwrap().too_small(None, None), None);
    // The other factors are reported as ever: they ask nothing of the disk.
    let facts = simulated(&of, Seed(5), 0.01, |_| 10_000.0);
    let found = analyse(&of, &facts, None, of.too_small(gib(1), gib(4))).unwrap();
    assert!(found.answer.is_none());
    for effect in &found.effects {
        assert_eq!(effect.testable, effect.factor != "reads", "{effect:?}");
        assert!(effect.testable || effect.claim == Claim::None);
    }
    let open = |name: &str| {
        found
            .effects
            .iter()
            .any(|e| e.factor == name && e.claim != Claim::None)
    };
    assert!(open("heap") && open("rate") && !open("reads"));
    assert!(found.interactions.iter().any(|both| both.testable));
    assert!(found.interactions.iter().any(|both| !both.testable));
}

#[test]
fn a_slower_disk_for_writes_is_answered_by_what_was_written() {
    let text = WHOLE.replace("set = [\"concurrent_reads=32\"]", "disk-write = \"10M\"");
    let of = read(&text).unwrap();
    assert!(of.factors[1].is_of_writes() && !of.is_about_reads());
    assert_eq!(of.too_small(None, Some(4 << 30)), None);
    let mut facts = simulated(&of, Seed(5), 0.01, |_| 10_000.0);
    let found = analyse(&of, &facts, None, None).unwrap();
    insta::assert_snapshot!(found.not_testable.unwrap(), @"the claim is about disk writes, and the nodes wrote nothing to disk");
    let slower = |e: &Effect| e.factor == "reads";
    assert!(
        found
            .effects
            .iter()
            .filter(|e| slower(e))
            .all(|e| !e.testable)
    );
    for fact in &mut facts {
        fact.written_bytes_per_operation = Some(90.0);
    }
    // What is known against reads says nothing of writes.
    let small = analyse(&of, &facts, None, Some("too small".into())).unwrap();
    assert!(small.answer.is_none() && small.effects.iter().all(|e| e.testable));
    let found = analyse(&of, &facts, None, None).unwrap();
    assert!(found.answer.is_some() && found.effects.iter().all(|e| e.testable));
    assert_eq!(
        found.combinations[0].written_bytes_per_operation,
        Some(90.0)
    );
}

#[test]
fn limits_that_did_not_hold_answer_nothing() {
    let text = WHOLE.replace("set = [\"concurrent_reads=32\"]", "cpus = 0.5");
    let of = read(&text).unwrap();
    let mut facts = simulated(&of, Seed(5), 0.01, |_| 10_000.0);
    assert!(analyse(&of, &facts, None, None).unwrap().answer.is_some());
    facts[3].limits_failed = Some("no controllers".to_owned());
    let found = analyse(&of, &facts, None, None).unwrap();
    insta::assert_snapshot!(found.not_testable.unwrap(), @"the claim is about limits of the nodes, which were not in effect in 1 of 60 runs: no controllers");
    assert!(found.answer.is_none() && found.growth.is_empty());
    for effect in &found.effects {
        assert_eq!(effect.testable, effect.factor != "reads", "{effect:?}");
    }
    let answers = found.bars.iter().map(|cell| cell.answer);
    assert!(!found.bars.is_empty() && answers.clone().all(|a| a == BarAnswer::CannotTell));
    // Nobody asks for limits here, whatever became of those that all nodes have.
    let of = read(WHOLE).unwrap();
    assert!(analyse(&of, &facts, None, None).unwrap().answer.is_some());
}

#[test]
fn from_where_on_the_generator_was_the_limit_is_reported() {
    let text = WHOLE.replace("levels = [500, 1000]", "levels = [500, 1000, 2000]");
    let of = read(&text).unwrap();
    let all = of.combinations();
    let generator_limit = |limited: &dyn Fn(&[usize]) -> bool| {
        let mut facts = simulated(&of, Seed(5), 0.01, |_| 10_000.0);
        for fact in &mut facts {
            fact.generator_was_limit = limited(&all[fact.planned.combination]);
        }
        // A single run says nothing yet.
        facts[0].generator_was_limit = true;
        analyse(&of, &facts, None, None).unwrap().generator_limit
    };
    assert_eq!(generator_limit(&|_| false), None);
    assert_eq!(
        generator_limit(&|l| l[2] > 0).as_deref(),
        Some("from rate=1000 on")
    );
    let one = generator_limit(&|l| l == [1, 0, 1]);
    assert_eq!(one.as_deref(), Some("at heap=128M reads=few rate=1000"));
}

/// Slots and processes at two mixes, listed: processes at the most slots only.
const CLIENTS: &str = r#"
name = "clients"
measure = "throughput"
[[factor]]
name = "mix"
kind = "phase"
given = true
levels = [{ label = "write", ops = "write=1" }, { label = "read", ops = "read=1" }]
[[factor]]
key = "in-flight"
kind = "phase"
levels = [1, 8, 32, 64]
[[factor]]
key = "processes"
kind = "phase"
levels = [1, 2, 4]
"#;

fn clients() -> Experiment {
    let mut text = CLIENTS.to_owned();
    for mix in ["write", "read"] {
        for (slots, processes) in [(1, 1), (8, 1), (32, 1), (64, 1), (64, 2), (64, 4)] {
            text.push_str(&format!(
                "[[combination]]\nmix = \"{mix}\"\nin-flight = {slots}\nprocesses = {processes}\n"
            ));
        }
    }
    read(&text).unwrap()
}

#[test]
fn where_throughput_stops_growing_is_reported_with_what_was_busy_there() {
    let of = clients();
    // A read is twice as fast; nothing grows behind 32 slots, and processes take a little away.
    let mut facts = simulated(&of, Seed(5), 0.001, |levels| {
        let by_slots = [1_000.0, 5_000.0, 9_000.0, 9_200.0][levels[1]];
        by_slots * (1 + levels[0]) as f64 * [1.0, 0.98, 0.9][levels[2]]
    });
    for fact in &mut facts {
        let values = fact.values.get_mut("main").unwrap();
        let rate = values[&Measure::ResponseP99];
        *values = BTreeMap::from([
            (Measure::Throughput, rate),
            (Measure::NodeCpu, 100.0),
            (Measure::GeneratorCpu, 20.0),
        ]);
    }
    let found = analyse(&of, &facts, None, None).unwrap();
    let lines: Vec<String> = found
        .growth
        .iter()
        .map(|g| {
            let busy = [g.node_processors, g.generator_processors].map(Option::unwrap);
            format!(
                "{} from {} until {} ({:.1} times) at {}: {:.1} and {:.2} busy",
                g.factor,
                g.from,
                g.until,
                g.times,
                g.at.as_deref().unwrap_or("-"),
                busy[0],
                busy[1]
            )
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    in-flight from 1 until 32 (9.0 times) at mix=write processes=1: 0.9 and 0.18 busy
    in-flight from 1 until 32 (9.0 times) at mix=read processes=1: 1.8 and 0.36 busy
    processes from 1 until 1 (1.0 times) at mix=write in-flight=64: 0.9 and 0.18 busy
    processes from 1 until 1 (1.0 times) at mix=read in-flight=64: 1.8 and 0.37 busy
    ");
    assert!(found.growth.iter().all(|g| !g.is_last));
    // The mean by slots is over one process only: with more there were 64 slots and nothing else.
    let along = found.along(Measure::Throughput, (1, 4), |levels| levels[0] == 0);
    let last = along[3].unwrap();
    assert!((last / 9_200.0 - 1.0).abs() < 0.01, "{along:?}");
}

#[test]
fn what_is_given_is_not_chosen() {
    let of = clients();
    let all = of.combinations();
    let facts = simulated(&of, Seed(5), 0.001, |levels| {
        // Fewer are better, and writes are; the mix is none of the answer all the same.
        (100.0 + 10.0 * levels[1] as f64) * (1 + levels[0]) as f64 * (1.0 + levels[2] as f64)
    });
    let of = Experiment {
        goal: Goal::default(),
        ..of
    };
    let found = analyse(&of, &facts, None, None).unwrap();
    let answer = found.answer.unwrap();
    assert_eq!(answer.winner_label, "in-flight=1 processes=1");
    assert_eq!(of.chosen(&all, &[1, 2, 0]), [0, 2, 0]);
    let none = CLIENTS.replace("kind = \"phase\"\n", "kind = \"phase\"\ngiven = true\n");
    let none = none.replace("given = true\ngiven = true", "given = true");
    insta::assert_snapshot!(refused(&none), @"line 1: every factor is given: nothing is left to choose (leave `given` out of the factor that is the question)");
}

#[test]
fn the_first_blocks_say_how_many_a_narrower_interval_needs() {
    let of = read(WHOLE).unwrap();
    let facts = simulated(&of, Seed(5), 0.02, |_| 10_000.0);
    let found = analyse(&of, &facts, None, None).unwrap();
    assert_eq!(found.blocks_needed(0.5).0, of.repeats);
    let (needed, governed_by) = found.blocks_needed(0.002);
    assert!(needed > of.repeats, "{needed} by {governed_by}");
    assert!(of.factors.iter().any(|f| governed_by.starts_with(&f.name)));
    // With so many blocks, whose noise is that of the first, the interval is as narrow as was asked for.
    let own = found.effects.iter().filter(|e| e.measure == found.measure);
    for known in own.filter_map(|e| e.estimate) {
        let t = crate::stats::t_quantile(0.975, known.degrees);
        assert!(t * known.log_sd / (needed as f64).sqrt() <= 0.002_f64.ln_1p());
    }
}
