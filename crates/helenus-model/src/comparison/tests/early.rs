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
    assert!(early.is_settled() && early.rule().unwrap().contains("anytime-valid"));
    // A version that reads it again does not make its intervals those of a fixed number.
    assert_eq!(early.clone().corrected().rows, early.rows);
}
