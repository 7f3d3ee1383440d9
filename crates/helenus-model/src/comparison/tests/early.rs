//! Comparisons that are looked at after each pair.
//! Refuses fine differences: they are those of a simulation (`stats::sequence`).

use super::*;

#[test]
fn intervals_that_hold_whenever_one_stops_are_wider_and_still_find_what_is_obvious() {
    let slow = [1.5, 1.52, 1.48, 1.51, 1.49, 1.5];
    let a: Vec<RunResult> = (0..6).map(|_| write(10.0)).collect();
    let b: Vec<RunResult> = slow.iter().map(|times| write(10.0 * times)).collect();
    let [a, b] = in_turn(&a, &b);
    let of = |stages| {
        let options = Options {
            stages,
            ..options(&["p50>+5%"])
        };
        compare(&a, &b, &options).unwrap()
    };
    let (fixed, early) = (of(Stages::Fixed), of(Stages::Sequential));
    let width = |of: &Comparison| {
        let found = row(of, "write all response p50").estimate.unwrap();
        found.high / found.low
    };
    assert!(width(&early) > width(&fixed));
    assert!(early.sequential && !fixed.sequential);
    assert_eq!(early.bars[0].answer, BarAnswer::Crossed);
    // What so many pairs find and need is of a number that was fixed before.
    let power = |of: &Comparison| {
        let found = row(of, "write all response p50").estimate.unwrap();
        [
            found.detectable.is_some(),
            found.pairs_for_5_percent.is_some(),
        ]
    };
    assert_eq!((power(&fixed), power(&early)), ([true; 2], [false; 2]));
    let mut stored = fixed.clone();
    stored.sequential = true;
    assert_eq!(power(&stored.corrected()), [false; 2]);
    assert!(early.is_settled() && early.rule().unwrap().contains("anytime-valid"));
    // A version that reads it again does not make its intervals those of a fixed number.
    assert_eq!(early.clone().corrected().rows, early.rows);
}

#[test]
fn few_pairs_are_read_back_though_their_interval_has_no_end() {
    let a: Vec<RunResult> = (0..3).map(|_| write(10.0)).collect();
    let slow = [1.5, 1.52, 1.48].iter();
    let b: Vec<RunResult> = slow.map(|times| write(10.0 * times)).collect();
    let [a, b] = in_turn(&a, &b);
    let options = Options {
        stages: Stages::Sequential,
        ..options(&[])
    };
    let few = compare(&a, &b, &options).unwrap();
    let found = row(&few, "write all response p50").estimate.unwrap();
    assert_eq!((found.low, found.high), (0.0, f64::INFINITY));
    let text = serde_json::to_string(&few).unwrap();
    let back: Comparison = serde_json::from_str(&text).unwrap();
    assert_eq!(back.rows, few.rows);
}
