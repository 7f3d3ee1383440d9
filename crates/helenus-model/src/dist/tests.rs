//! Distributions: forms, moments, ranges.
//! Refuses nothing.

use super::*;
use crate::seed::Seed;
use proptest::prelude::*;

fn dist(text: &str) -> Dist {
    text.parse().expect("a distribution")
}

#[test]
fn forms_are_read_and_written_back() {
    for text in [
        "fixed(1)",
        "UNIFORM(1..100B)",
        "seq(1..1k)",
        "~exp(1..10)",
        "GAUSSIAN(1..10)",
        "norm(1..10,2)",
        "gauss(1..10,5,1.5)",
        "extr(1..10,2)",
        "qextreme(1..1M,2,2)",
        "uniform(1...5)",
    ] {
        assert_eq!(dist(text).to_string(), text);
    }
    assert_eq!(dist("uniform( 1 .. 5 )"), dist("uniform(1..5)"));
    assert_eq!(dist("UNIFORM(1..2B)").max(), 2_000_000_000);
    let json = serde_json::to_string(&dist("exp(1..5)")).expect("writes");
    assert_eq!(json, "\"exp(1..5)\"");
}

#[test]
fn what_is_none_is_refused_with_the_form() {
    let said = |text: &str| text.parse::<Dist>().expect_err("none").to_string();
    assert_eq!(
        said("uniform(5..1)"),
        r#""uniform(5..1)": the form is uniform(min..max) (min is above max)"#
    );
    assert_eq!(
        said("seq(1..1)"),
        r#""seq(1..1)": the form is seq(min..max) (min is max)"#
    );
    assert!(said("weibull(1..5,2)").contains("it is one of uniform"));
    assert!(said("uniform").contains("write it as"));
    assert!(said("extr(1..5,0)").contains("above 0"));
    assert!(said("gauss(1..5,1,0)").contains("above 0"));
    assert!("fixed(1)/0".parse::<RatioDist>().is_err());
    let said = "fixed(1)/0.5".parse::<RatioDist>().expect_err("none");
    assert!(said.to_string().contains("a whole number above 0"));
}

#[test]
fn means_and_spreads_are_those_of_the_shape() {
    let moments = |text: &str| {
        let dist = dist(text);
        let seed = Seed(3).derive(text);
        let all: Vec<f64> = (0..100_000).map(|i| dist.draw(seed.at(i)) as f64).collect();
        let mean = all.iter().sum::<f64>() / 1e5;
        let variance = all.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 1e5;
        (mean, variance.sqrt())
    };
    let (mean, deviation) = moments("gaussian(1..1001)");
    assert!(
        (mean - 500.5).abs() < 3.0 && (deviation - 166.0).abs() < 3.0,
        "{mean} {deviation}"
    );
    let (mean, deviation) = moments("uniform(1..100)");
    assert!(
        (mean - 50.5).abs() < 0.5 && (deviation - 28.87).abs() < 0.3,
        "{mean} {deviation}"
    );
    // 1,000,000 wide: the edge is at 1 - 1/1000, so the mean is the width over ln 1000.
    let (mean, _) = moments("exp(0..1000000)");
    assert!((mean / (1e6 / 1000_f64.ln()) - 1.0).abs() < 0.02, "{mean}");
    let (mean, _) = moments("~exp(0..1000000)");
    assert!(
        ((1e6 - mean) / (1e6 / 1000_f64.ln()) - 1.0).abs() < 0.02,
        "{mean}"
    );
    let ratio: RatioDist = "fixed(1)/2".parse().expect("a ratio");
    assert!((ratio.draw(9) - 0.5).abs() < 1e-12);
    let ratio: RatioDist = "fixed(2)/10240M".parse().expect("a ratio");
    assert!((ratio.draw(9) * 5.12e9 - 1.0).abs() < 1e-12);
    let again: RatioDist = ratio.to_string().parse().expect("a ratio");
    assert_eq!(again, ratio);
}

#[test]
fn a_sequence_takes_each_value_in_turn() {
    let dist = dist("seq(5..7)");
    let all: Vec<i64> = (0..5).map(|i| dist.at(i, 99)).collect();
    assert_eq!(all, [5, 6, 7, 5, 6]);
    let steps = self::dist("steps(10..35,10)");
    let all: Vec<i64> = (0..4).map(|i| steps.at(i, 99)).collect();
    assert_eq!(all, [10, 20, 30, 10]);
    assert_eq!(
        (steps.max(), steps.quantile(1.0), steps.quantile(0.5)),
        (30, 30, 20)
    );
}

#[test]
fn zipf_asks_for_the_first_the_most_often() {
    let share = |text: &str, value: i64| {
        let dist = dist(text);
        let seed = Seed(5);
        let hits = (0..100_000).filter(|i| dist.draw(seed.at(*i)) == value);
        hits.count() as f64 / 1e5
    };
    let sum: f64 = (1..=1000).map(|i| f64::from(i).powf(-0.99)).sum();
    assert!((share("zipf(1..1000)", 1) - 1.0 / sum).abs() < 0.005);
    assert!((share("zipf(1..1000)", 2) - 0.5_f64.powf(0.99) / sum).abs() < 0.005);
    assert!((share("~zipf(1..1000)", 1000) - 1.0 / sum).abs() < 0.005);
    assert!((share("zipf(0..99,0.5)", 0) - 1.0 / 18.59).abs() < 0.005);
    // Ten million values: the sum's integral is as good as the sum.
    let sum: f64 = (1..=10_000_000).map(|i| f64::from(i).powf(-0.99)).sum();
    assert!((share("zipf(1..10m)", 1) - 1.0 / sum).abs() < 0.005);
    assert!("zipf(1..5,1)".parse::<Dist>().is_err());
    let ends = |text: &str| [0.0, 1.0].map(|p| dist(text).quantile(p));
    assert_eq!((ends("zipf(1..2)"), ends("zipf(1..3)")), ([1, 2], [1, 3]));
    assert_eq!(Dist::zipf(0, 9).inverted().to_string(), "~zipf(0..9)");
    assert_eq!("~zipf(0..9)".parse(), Ok(Dist::zipf(0, 9).inverted()));
}

proptest! {
    #[test]
    fn draws_stay_in_their_range(bits: u64, min in -1_000_000_i64..1_000_000, width in 1_i64..2_000_000_000) {
        let max = min + width;
        for text in [
            format!("uniform({min}..{max})"),
            format!("exp({min}..{max})"),
            format!("~gaussian({min}..{max})"),
            format!("extreme({min}..{max},0.5)"),
            format!("qextreme({min}..{max},2,10)"),
            format!("zipf({min}..{max},0.7)"),
            format!("steps({min}..{max},7)"),
        ] {
            let drawn = dist(&text).draw(bits);
            prop_assert!((min..=max).contains(&drawn), "{} of {}", drawn, text);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,40}") {
        let _ = text.parse::<Dist>();
        let _ = text.parse::<RatioDist>();
    }
}
