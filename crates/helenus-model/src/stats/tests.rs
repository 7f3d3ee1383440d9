//! Statistics against published values, and by simulation from fixed seeds.
//! Refuses loose bounds: each simulation's bounds are a few of its own standard errors wide.

use super::*;
use crate::histogram::Histogram;
use crate::seed::Seed;

fn near(found: f64, wanted: f64, by: f64) {
    assert!(
        (found - wanted).abs() <= by,
        "{found} is not {wanted} ± {by}"
    );
}

#[test]
fn quantiles_are_the_published_ones() {
    // Tables of Student's distribution; NIST/SEMATECH e-Handbook, 1.3.6.7.2.
    let published = [
        (0.975, 1, 12.706),
        (0.975, 5, 2.571),
        (0.975, 7, 2.365),
        (0.975, 30, 2.042),
        (0.995, 5, 4.032),
        (0.95, 10, 1.812),
        (0.999, 100, 3.174),
    ];
    for (p, degrees, t) in published {
        near(t_quantile(p, degrees), t, 5e-4);
        near(t_quantile(1.0 - p, degrees), -t, 5e-4);
        near(t_cdf(t_quantile(p, degrees), degrees), p, 1e-9);
    }
    near(t_quantile(0.975, 100_000), 1.960, 5e-4);
    near(normal_quantile(0.975), 1.959_964, 1e-6);
    near(normal_cdf(1.959_964), 0.975, 1e-6);
    assert!(t_quantile(1.0, 5).is_infinite() && t_cdf(f64::NEG_INFINITY, 5) == 0.0);
}

#[test]
fn means_medians_and_intervals_of_few() {
    assert_eq!(mean(&[]), None);
    assert_eq!(standard_deviation(&[1.0]), None);
    near(
        standard_deviation(&[2.0, 4.0, 4.0, 6.0]).unwrap(),
        1.633,
        1e-3,
    );
    assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    assert_eq!(interval(&[1.0]), None);
    let one = interval(&[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]).unwrap();
    // s = 0.187083, t = 2.5706: 0.35 ± 0.19633.
    let [low, high] = one.ends(0.05);
    near(low, 0.153_668, 1e-5);
    near(high, 0.546_332, 1e-5);
    near(one.p(low), 0.05, 1e-9);
    let still = interval(&[0.2; 6]).unwrap();
    assert_eq!(still.p(0.2), 1.0);
    near(still.p(0.0), 0.0, 1e-12);
    assert_eq!(still.ends(0.01), [still.mean; 2]);
}

#[test]
fn pairs_that_are_needed_are_the_fewest() {
    let (sd, half): (f64, f64) = (0.06, 1.05_f64.ln());
    let n = pairs_needed(sd, half, 0.05);
    let half_of = |n: usize| t_quantile(0.975, n - 1) * sd / (n as f64).sqrt();
    assert!(half_of(n) <= half && half_of(n - 1) > half, "{n}");
    assert_eq!(pairs_needed(0.0, half, 0.05), 2);
    assert_eq!(pairs_needed(1e9, half, 0.05), 1_000_000);
}

#[test]
fn what_can_be_found_is_what_tables_of_power_say() {
    // Cohen 1988: a paired t-test of 34 pairs finds d = 0.5 in 80 % of cases (two-sided 5 %; 33.4 pairs).
    near(detectable(1.0, 34, 33, 0.05, 0.8), 0.4949, 2e-3);
    // The effect of 8 pairs with 80 % power: 1.156 standard deviations (noncentral t, 7 degrees).
    near(detectable(1.0, 8, 7, 0.05, 0.8), 1.156, 3e-3);
    // By simulation: what is called detectable is found in 8 of 10 cases.
    let mut draw = Draw::new(Seed(5));
    let shift = detectable(0.1, 6, 5, 0.05, 0.8);
    let found = (0..4_000)
        .filter(|_| {
            let values: Vec<f64> = (0..6).map(|_| shift + 0.1 * draw.normal()).collect();
            interval(&values).unwrap().p(0.0) < 0.05
        })
        .count();
    near(found as f64 / 4_000.0, 0.8, 0.02);
}

#[test]
fn a_true_null_is_rejected_in_one_of_twenty() {
    for (seed, pairs) in [(1, 6), (2, 8)] {
        let mut draw = Draw::new(Seed(seed));
        let rejected = (0..8_000)
            .filter(|_| {
                let ratios: Vec<f64> = (0..pairs).map(|_| 0.08 * draw.normal()).collect();
                interval(&ratios).unwrap().p(0.0) < 0.05
            })
            .count();
        let rate = rejected as f64 / 8_000.0;
        assert!((0.04..0.06).contains(&rate), "{rate} with {pairs} pairs");
    }
}

/// Share of two-stage experiments whose interval misses the truth, and share of those wider than wanted.
fn two_stages(sd: f64, half: f64) -> (f64, f64) {
    let (mut missed, mut wide) = (0, 0);
    for seed in 0..4_000 {
        let mut draw = Draw::new(Seed(seed).derive("two stages"));
        let mut values: Vec<f64> = (0..6).map(|_| 0.3 + sd * draw.normal()).collect();
        let first = standard_deviation(&values).unwrap();
        let pairs = second_stage(first, 5, half, 0.05).max(6);
        values.extend((6..pairs).map(|_| 0.3 + sd * draw.normal()));
        let [low, high] = two_stage_interval(&values, 6).unwrap().ends(0.05);
        missed += usize::from(low > 0.3 || high < 0.3);
        wide += usize::from((high - low) / 2.0 > half + 1e-12);
    }
    (missed as f64 / 4_000.0, wide as f64 / 4_000.0)
}

#[test]
fn two_stages_keep_the_level_and_reach_the_width() {
    for sd in [0.03, 0.06, 0.12] {
        let (missed, wide) = two_stages(sd, 1.05_f64.ln());
        assert!((0.04..0.06).contains(&missed), "{missed} missed at {sd}");
        assert!(wide == 0.0, "{wide} too wide at {sd}");
    }
    assert_eq!(second_stage(0.0, 5, 0.05, 0.05), 0);
    assert_eq!(two_stage_interval(&[0.1], 6), None);
}

#[test]
fn holm_as_in_the_textbook() {
    // Holm 1979 by hand: 4 × 0.005, 3 × 0.01, 2 × 0.03, and 0.04 pulled up to the one before.
    let p = [0.01, 0.04, 0.03, 0.005];
    let adjusted = holm(&p);
    for (found, wanted) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
        near(*found, wanted, 1e-12);
    }
    assert!(holm(&[]).is_empty());
}

#[test]
fn mser_finds_the_end_of_a_beginning() {
    let mut draw = Draw::new(Seed(3));
    let mut series = |n: usize, beginning: usize| -> Vec<f64> {
        let noise = |draw: &mut Draw| 1.0 + 0.05 * draw.normal();
        (0..n)
            .map(|i| noise(&mut draw) + if i < beginning { 1.0 } else { 0.0 })
            .collect()
    };
    assert_eq!(mser5(&series(49, 0)), Truncation::TooFew);
    let Truncation::At(end) = mser5(&series(600, 100)) else {
        panic!("no end")
    };
    assert!((100..130).contains(&end), "{end}");
    assert_eq!(mser5(&series(600, 330)), Truncation::NoEnd);
    let drift: Vec<f64> = (0..600).map(f64::from).collect();
    assert_eq!(mser5(&drift), Truncation::NoEnd);
    let mut stalled = series(600, 0);
    stalled[120..130].fill(50.0);
    let Truncation::At(end) = mser5(&stalled) else {
        panic!("no end")
    };
    assert!(end < 100, "a stall is no beginning: {end}");
}

#[test]
fn a_change_has_a_place_and_a_size() {
    let step: Vec<f64> = (0..240).map(|i| if i < 100 { 1.0 } else { 1.4 }).collect();
    let change = change_point(&step).unwrap();
    assert_eq!(change.at, 100);
    near(change.ratio, 1.4, 1e-9);
    assert!(change.counts(0.1));
    let small: Vec<f64> = step.iter().map(|v| 1.0 + (v - 1.0) / 5.0).collect();
    let change = change_point(&small).unwrap();
    assert!(change.p <= LEVEL && !change.counts(0.1), "below the floor");
    assert_eq!(change_point(&step[..71]), None);
    assert!(change_point(&step[..72]).is_some());
    let flat = change_point(&[1.0; 100]).unwrap();
    assert!(flat.p > 0.9 && !flat.counts(0.1));
}

/// Seconds of samples around a level that wanders from one second to the next.
fn seconds(count: usize, each: u64, draw: &mut Draw) -> Vec<Histogram> {
    let mut level = 0.0;
    let mut second = || {
        level = 0.5 * level + 0.1 * draw.normal();
        let mut h = Histogram::new();
        for _ in 0..each {
            h.record((1e6 * (level + 0.4 * draw.normal()).exp()) as u64);
        }
        h
    };
    (0..count).map(|_| second()).collect()
}

#[test]
fn blocks_show_how_far_a_percentile_may_be_off() {
    let mut draw = Draw::new(Seed(11));
    // Level: variance 0.01 / (1 − 0.25); with the samples' own 0.16 together 0.1733.
    let truth = |z: f64| 1e6 * (z * 0.173_333_f64.sqrt()).exp();
    let (mut p50, mut p99, mut means) = (0, 0, 0);
    for round in 0..100 {
        let parts = seconds(30, 100, &mut draw);
        let refs: Vec<&Histogram> = parts.iter().collect();
        let blocks = Blocks::of(&refs, Seed(round)).unwrap();
        let holds = |ends: [f64; 2], value: f64| usize::from(ends[0] <= value && value <= ends[1]);
        p50 += holds(blocks.percentile_ns(0.5).unwrap(), truth(0.0));
        p99 += holds(blocks.percentile_ns(0.99).unwrap(), truth(2.326_348));
        means += holds(blocks.mean_ns(), 1e6 * (0.173_333_f64 / 2.0).exp());
    }
    for held in [p50, p99, means] {
        assert!((86..=99).contains(&held), "{held} of 100 held the truth");
    }
}

#[test]
fn blocks_read_as_the_histogram_does_and_know_their_limits() {
    let mut draw = Draw::new(Seed(12));
    let parts = seconds(200, 20, &mut draw);
    let refs: Vec<&Histogram> = parts.iter().collect();
    assert!(Blocks::of(&refs[..4], Seed(1)).is_none());
    assert!(Blocks::of(&[&Histogram::new(); 10], Seed(1)).is_none());
    let blocks = Blocks::of(&refs, Seed(1)).unwrap();
    assert_eq!(blocks.count(), MOST_BLOCKS);
    let mut merged = Histogram::new();
    refs.iter().for_each(|h| merged.merge(h));
    for quantile in [0.5, 0.9, 0.99] {
        let value = merged.percentile_ns(quantile).unwrap() as f64;
        let [low, high] = blocks.percentile_ns(quantile).unwrap();
        assert!(low <= value && value <= high && high < low * 2.0);
    }
    let [low, high] = blocks.mean_ns();
    assert!(low < merged.mean_ns().unwrap() && merged.mean_ns().unwrap() < high);
    assert_eq!(blocks.percentile_ns(0.999), None, "4 samples above");
    let again = Blocks::of(&refs, Seed(1)).unwrap();
    assert_eq!(again.percentile_ns(0.9), blocks.percentile_ns(0.9));
    // Without any spread the interval is the value.
    let mut one = Histogram::new();
    (0..100).for_each(|_| one.record(5_000));
    let same = Blocks::of(&[&one; 8], Seed(1)).unwrap();
    let [low, high] = same.percentile_ns(0.9).unwrap();
    near(low, high, 1e-6);
}
