//! Rates that hold a bar, of a planted truth.
//! Refuses other noise than that of the simulated runs.

use super::*;

/// One lever of restarts at four rates, with one bar at all of them.
const LADDER: &str = r#"
name = "ladder"
bars = ["p99 < 20ms"]
[[factor]]
key = "heap"
kind = "restart"
levels = ["64M", "128M"]
[[factor]]
key = "rate"
kind = "phase"
levels = [50, 100, 200, 400]
"#;

const RATES: [f64; 4] = [50.0, 100.0, 200.0, 400.0];

/// Times that rise with the rate and reach the bar at these rates, by heap.
fn rising(levels: &[usize], holds: [f64; 2]) -> f64 {
    20_000.0 * (RATES[levels[1]] / holds[levels[0]]).powf(1.5)
}

fn found(of: &Experiment, seed: u64, noise: f64, holds: [f64; 2]) -> Vec<Ladder> {
    let facts = simulated(of, Seed(seed), noise, |levels| rising(levels, holds));
    analyse(of, &facts, None, None).unwrap().ladders
}

#[test]
fn the_rate_that_holds_a_bar_lies_between_those_that_were_run() {
    let of = read(LADDER).unwrap();
    let ladders = found(&of, 1, 1e-6, [130.0, 380.0]);
    let at = |ladder: &Ladder| match (ladder.rate, ladder.interval) {
        (Rate::At(rate), [Rate::At(low), Rate::At(high)]) => [low, rate, high],
        other => panic!("{other:?}"),
    };
    for (ladder, truth) in ladders.iter().zip([130.0, 380.0]) {
        let [low, rate, high] = at(ladder);
        assert!(
            low <= rate && rate <= high && (rate / truth - 1.0).abs() < 1e-4,
            "{ladder:?}"
        );
        assert_eq!(
            (ladder.bar.as_str(), &ladder.rates[..]),
            ("p99 < 20ms", &RATES[..])
        );
    }
    let labels: Vec<&str> = ladders.iter().map(|ladder| ladder.label.as_str()).collect();
    assert_eq!(labels, ["heap=64M", "heap=128M"]);
    // Nothing is said beyond the rates.
    let ladders = found(&of, 1, 1e-3, [20.0, 900.0]);
    assert_eq!(
        (ladders[0].rate, ladders[0].interval),
        (Rate::Below(50.0), [Rate::Below(50.0); 2])
    );
    assert_eq!(
        (ladders[1].rate, ladders[1].interval),
        (Rate::Above(400.0), [Rate::Above(400.0); 2])
    );
}

#[test]
fn nineteen_of_twenty_intervals_hold_the_rate() {
    let of = Experiment {
        repeats: 3,
        ..read(LADDER).unwrap()
    };
    let truth = [140.0, 230.0];
    let (mut missed, mut all) = (0, 0);
    for seed in 0..400 {
        for (ladder, truth) in found(&of, seed, 0.4, truth).iter().zip(truth) {
            let [low, high] = ladder.interval;
            let above =
                matches!(low, Rate::At(low) if low > truth) || matches!(low, Rate::Above(_));
            let below =
                matches!(high, Rate::At(high) if high < truth) || matches!(high, Rate::Below(_));
            missed += usize::from(above || below);
            all += 1;
        }
    }
    let share = f64::from(missed as u32) / f64::from(all as u32);
    assert!((0.01..0.065).contains(&share), "{share}");
}

#[test]
fn a_rate_that_was_not_kept_up_with_holds_nothing() {
    let of = read(LADDER).unwrap();
    let all = of.combinations();
    let mut facts = simulated(&of, Seed(1), 1e-3, |_| 10_000.0);
    for fact in facts
        .iter_mut()
        .filter(|f| all[f.planned.combination] == [1, 3])
    {
        (fact.verdict, fact.behind) = (Verdict::Invalid, true);
    }
    let ladders = analyse(&of, &facts, None, None).unwrap().ladders;
    assert_eq!(ladders[0].rate, Rate::Above(400.0));
    assert_eq!(
        (ladders[1].rate, ladders[1].interval),
        (Rate::At(200.0), [Rate::At(200.0), Rate::At(400.0)])
    );
}

#[test]
fn only_one_bound_of_a_time_at_several_rates_is_a_ladder() {
    let with = |bars: &str| read(&LADDER.replace("\"p99 < 20ms\"", bars)).unwrap();
    let ladders = |bars: &str| found(&with(bars), 1, 1e-3, [130.0, 380.0]);
    assert_eq!(
        ladders(r#""p99 < 20ms at 50/s", "p99 < 20ms at 400/s""#).len(),
        2
    );
    assert_eq!(
        ladders(r#""p99 < 20ms at 50/s", "p99 < 30ms at 400/s""#),
        []
    );
    assert_eq!(ladders(r#""p99 < 20ms at 50/s""#), []);
    assert_eq!(ladders(r#""p99 > 20ms""#), []);
    let one = ladders(r#""p99 < 20ms at heap=128M""#);
    assert_eq!(
        (one.len(), one[0].bar.as_str()),
        (1, "p99 < 20ms at heap=128M")
    );
    // A rate that restarts set is another cluster at each.
    let of = read(&LADDER.replace("\"phase\"", "\"restart\"")).unwrap();
    assert_eq!(found(&of, 1, 1e-3, [130.0, 380.0]), []);
}
