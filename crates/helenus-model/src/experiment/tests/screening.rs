//! Screening designs with live factors: planted effects are found in both strata, and intervals hold the truth.
//! Refuses other noise than that of the simulated runs.

use super::*;

const FILE: &str = r#"
name = "screened"
design = "screening"
restarts = 12
repeats = 2
measure = "p99"

[[factor]]
name = "data"
kind = "schema"
levels = [{ label = "a", with = ["x=1"] }, { label = "b", with = ["x=2"] }, { label = "c", with = ["x=3"] }]

[[factor]]
key = "heap"
kind = "restart"
levels = ["64M", "128M"]

[[factor]]
name = "collector"
kind = "restart"
levels = [{ label = "serial" }, { label = "G1", jvm = "-XX:+UseG1GC" }]

[[factor]]
name = "reads"
kind = "live"
levels = [{ label = "many", set = "concurrent_reads=32" }, { label = "few", set = "concurrent_reads=4" }]

[[factor]]
name = "writes"
kind = "live"
levels = [{ label = "many", set = "concurrent_writes=32" }, { label = "few", set = "concurrent_writes=4" }]
"#;

/// Data `c` takes 20 % longer, few reads 5 % less.
fn truth(levels: &[usize]) -> f64 {
    let data = if levels[0] == 2 { 1.2 } else { 1.0 };
    let reads = if levels[3] == 1 { 0.95 } else { 1.0 };
    10_000.0 * data * reads
}

#[test]
fn a_file_asks_for_so_many_restarts_each_with_all_live_levels_twice() {
    let of = read(FILE).unwrap();
    let all = of.combinations();
    let wholes = of.wholes(&all);
    assert_eq!(all.len(), 4 * wholes.len());
    assert!((10..=12).contains(&wholes.len()), "{}", wholes.len());
    assert_eq!(all[0], [0; 5]);
    let plan = order(Seed(1), &wholes, 1);
    let life: Vec<usize> = plan
        .iter()
        .filter(|planned| planned.restart == 0)
        .map(|planned| planned.combination)
        .collect();
    let back: Vec<usize> = life.iter().rev().copied().collect();
    assert_eq!((life.len(), &life), (8, &back));
    let few = FILE.replace("restarts = 12", "restarts = 4");
    assert_eq!(
        refused(&few),
        "line 4: a screening of these factors needs 5 restarts per block, and 4 were requested (write restarts = 5 or more, \
         or leave it out)"
    );
    let until = FILE.replace("repeats = 2", "until = \"5%\"");
    assert_eq!(
        refused(&until),
        "line 3: until cannot size a screening: its intervals are computed from restarts, not from blocks (set the number of \
         blocks with repeats)"
    );
    let full = FILE.replace("\"screening\"", "\"full\"");
    assert_eq!(
        refused(&full),
        "line 4: restarts sets the size of a screening design only (write design = \"screening\", or leave it out)"
    );
}

#[test]
fn planted_effects_are_found_in_both_strata_and_add_up() {
    let of = read(FILE).unwrap();
    let (mut missed, mut false_claims) = (0, 0);
    for seed in 0..40 {
        let facts = simulated(&of, Seed(seed), 0.04, truth);
        let found = analyse(&of, &facts, None, None).unwrap();
        let effect = |name: &str, to: &str| {
            let own = |e: &&Effect| e.factor == name && e.to == to && e.measure == found.measure;
            found.effects.iter().find(own).cloned().unwrap()
        };
        missed += usize::from(effect("data", "c").claim != Claim::Higher);
        missed += usize::from(effect("reads", "few").claim != Claim::Lower);
        for (name, to) in [
            ("data", "b"),
            ("heap", "128M"),
            ("collector", "G1"),
            ("writes", "few"),
        ] {
            let claim = effect(name, to).claim;
            false_claims += usize::from(matches!(claim, Claim::Higher | Claim::Lower));
        }
        assert_eq!(found.answer, None);
        let screened = found.screened.unwrap();
        assert!(screened.worse.len() <= 2, "{screened:?}");
    }
    assert!(missed <= 1, "{missed} of 80");
    assert!(false_claims <= 6, "{false_claims} of 160");
}

#[test]
fn where_nothing_differs_intervals_hold_the_truth_as_often_as_they_say() {
    let of = read(FILE).unwrap();
    let (mut between, mut within, mut all) = (0, 0, 0);
    for seed in 0..200 {
        let facts = simulated(&of, Seed(seed), 0.05, |_| 10_000.0);
        let found = analyse(&of, &facts, None, None).unwrap();
        // Of the measure itself intervals hold together: wider than one by itself.
        let own = found.effects.iter().filter(|e| e.measure == found.measure);
        let mut any = false;
        for effect in own {
            let estimate = effect.estimate.unwrap();
            let p = usize::from(estimate.p < 0.05);
            match effect.factor.as_str() {
                "reads" | "writes" => within += p,
                _ => between += p,
            }
            any |= matches!(effect.claim, Claim::Higher | Claim::Lower);
        }
        all += usize::from(any);
    }
    // 5 % of 400 and of 800, and of 200 experiments; three standard deviations more.
    assert!((8..=33).contains(&within), "{within} of 400");
    assert!((18..=65).contains(&between), "{between} of 800");
    assert!(all <= 19, "{all} of 200");
}
