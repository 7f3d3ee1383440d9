//! Levels compared with the one before them, and files of pairs.
//! Refuses to compare what no combination has in common.

use super::*;

#[test]
fn each_level_can_be_compared_with_the_one_before_it() {
    let text = format!("{CLIENTS}against = \"previous\"\n");
    let text = text.replace("[1, 8, 32, 64]", "[1, 8, 32, 64]\nagainst = \"previous\"");
    let mut listed = text.clone();
    for (slots, processes) in [(1, 1), (8, 1), (32, 1), (64, 1), (64, 2), (64, 4)] {
        listed.push_str(&format!(
            "[[combination]]\nin-flight = {slots}\nprocesses = {processes}\n"
        ));
    }
    let of = Experiment {
        goal: Goal::default(),
        ..read(&listed).unwrap()
    };
    let rate = |levels: &[usize]| {
        [1_000.0, 5_000.0, 9_000.0, 9_450.0][levels[1]] * [1.0, 0.9, 0.81][levels[2]]
    };
    let mut claims = BTreeMap::new();
    for seed in 0..10 {
        let facts = simulated(&of, Seed(seed), 0.01, rate);
        let found = analyse(&of, &facts, None, None).unwrap();
        let own = |e: &&Effect| e.measure == found.measure && e.factor != "mix";
        for effect in found.effects.iter().filter(own) {
            let own = claims.entry(effect.label()).or_insert((0, 0.0));
            own.0 += usize::from(matches!(effect.claim, Claim::Higher | Claim::Lower));
            own.1 = effect.estimate.unwrap().ratio;
        }
    }
    let labels: Vec<&str> = claims.keys().map(String::as_str).collect();
    assert_eq!(
        labels,
        [
            "in-flight=32 against 8",
            "in-flight=64 against 32",
            "in-flight=8 against 1",
            "processes=2 against 1",
            "processes=4 against 2"
        ]
    );
    let (found, ratio) = claims["in-flight=64 against 32"];
    assert!(
        found >= 9 && (ratio - 1.05).abs() < 0.02,
        "{found}: {ratio}"
    );
    let (found, ratio) = claims["processes=4 against 2"];
    assert!(found >= 9 && (ratio - 0.9).abs() < 0.02, "{found}: {ratio}");
}

#[test]
fn what_pairs_and_neighbours_cannot_be_is_refused() {
    let side = "[[factor]]\nkey = \"heap\"\nkind = \"restart\"\nlevels = [1, 2]\n";
    let pairs = |more: &str| refused(&format!("name = \"a\"\npairs = true\n{more}{side}"));
    insta::assert_snapshot!(pairs("measure = \"p50\"\n"), @"line 3: pairs compare two levels of `bench`, and have no such key (leave it out, or leave out pairs)");
    insta::assert_snapshot!(pairs("fail_on = [\"p98>+5%\"]\n"), @r#"line 3: the threshold "p98>+5%" names no known measure at character 1: "p98" (the nearest is p99; known: p50, p90, p95, p99, p99.9, mean, throughput, cpu, generator-cpu, max-rate)"#);
    let second = side.replace("heap", "memory");
    insta::assert_snapshot!(pairs(&second), @"line 2: pairs need one factor of kind restart with two levels");
    insta::assert_snapshot!(refused(&format!("name = \"a\"\nstop_early = true\n{side}")), @"line 2: stop_early and fail_on are about pairs (write pairs = true beside it)");
    insta::assert_snapshot!(refused(&format!("name = \"a\"\n{side}against = \"last\"\n")), @r#"line 6: levels cannot be compared against "last" (known: first, previous)"#);
    insta::assert_snapshot!(refused(&format!("name = \"a\"\ndesign = \"screening\"\n{side}against = \"previous\"\n")), @"line 2: a screening compares each level with the first (leave `against` out)");
    let read = read(&format!(
        "name = \"a\"\npairs = true\nfail_on = [\"p99>+5%\"]\nstop_early = true\n{side}"
    ));
    let pairs = read.unwrap().pairs.unwrap();
    assert!(pairs.stop_early && pairs.bars.len() == 1);
}
