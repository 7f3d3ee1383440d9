//! Headline and badge of made-up comparisons.
//! Refuses real runs: every row is written down here.

use super::super::{Side, Stopping, VERSION};
use super::*;
use crate::format::Format;
use crate::sample::StartMeans;

/// A row of the headline family: interval (as an older version stored it, by itself), p and Holm's p.
fn row(phase: &str, measure: Measure, [low, high]: [f64; 2], p_holm: Option<f64>) -> Row {
    let ratio = (low * high).sqrt();
    let t = crate::stats::t_quantile(0.975, 5);
    let mut row = Row {
        phase: phase.to_owned(),
        operation: ALL.to_owned(),
        measure,
        a: 1000.0,
        b: 1000.0 * ratio,
        ratios: vec![Some(ratio); 6],
        estimate: Some(Estimate {
            ratio,
            low,
            high,
            pairs: 6,
            degrees: 5,
            log_sd: (high / low).ln() / 2.0 * 6_f64.sqrt() / t,
            p: 0.04,
            p_holm,
            detectable: Some(1.1),
            pairs_for_5_percent: Some(12),
        }),
        claim: Claim::None,
    };
    row.claim = row.corrected();
    row
}

fn comparison(rows: Vec<Row>) -> Comparison {
    let side = |label: &str| Side {
        label: label.to_owned(),
        runs: (0..6).map(|n| format!("{label}{n}")).collect(),
    };
    let pair = super::super::Pair {
        a: vec!["a".to_owned()],
        b: vec!["b".to_owned()],
        a_first: true,
    };
    Comparison {
        format: Format::new("comparison", VERSION),
        a: side("a"),
        b: side("b"),
        command: None,
        start_means: StartMeans::DriverCall,
        behind: None,
        pairs: vec![pair; 6],
        left_out: vec![],
        differences: vec![],
        cautions: vec![],
        sequential: false,
        stopping: None::<Stopping>,
        rows,
        bars: vec![],
        calibration: None,
    }
}

fn bar(text: &str, row: &Row, answer: BarAnswer) -> Bar {
    let estimate = row.estimate.unwrap();
    Bar {
        text: text.to_owned(),
        row: row.name(),
        bound: 1.0,
        low: Some(estimate.low),
        high: Some(estimate.high),
        answer,
    }
}

fn said(of: &Comparison) -> String {
    let Conclusion {
        headline,
        badge,
        tone,
    } = of.conclusion();
    format!("{headline} | {badge} | {tone:?}")
}

/// 86 % lower by its own interval, as an older version stored it, Holm's p 0.149.
fn alone() -> Row {
    row("read", Measure::ResponseP99, [0.02, 0.996], Some(0.149))
}

#[test]
fn what_does_not_survive_correction_is_no_claim() {
    let mut found = comparison(vec![
        row("read", Measure::ResponseP50, [0.9, 1.2], Some(0.6)),
        alone(),
    ]);
    insta::assert_snapshot!(said(&found), @"no significant difference after correction (6 pairs); B's response p99 is 86 % lower (0.40 to 98 %) | no significant difference | Open");
    assert_eq!(found.rows[1].claim, Claim::NoDifference);
    assert_eq!(found.rows[1].finding().words(), "not significant");
    // An older version stored the uncorrected claim.
    found.rows[1].claim = Claim::Lower;
    let corrected = found.corrected();
    assert_eq!(corrected.rows[1].claim, Claim::NoDifference);
    // Nor intervals that hold together: 0.14 ± t(0.9875, 5) × sd / √6 on the log scale.
    let known = corrected.rows[1].estimate.unwrap();
    let half = crate::stats::t_quantile(0.9875, 5) * known.log_sd / 6_f64.sqrt();
    assert!(known.low < 0.02 && known.high > 0.996, "{known:?}");
    assert!(((known.high / known.low).ln() / 2.0 - half).abs() < 1e-9);
    let again = corrected.clone().corrected();
    assert_eq!(again.rows[1].claim, corrected.rows[1].claim);
    assert!((again.rows[1].estimate.unwrap().high / known.high - 1.0).abs() < 1e-12);
}

#[test]
fn what_a_late_generator_may_hide_is_not_forgotten() {
    let mut late = row("read", Measure::ResponseP99, [0.99, 1.3], Some(0.03));
    // By what was recorded alone it would be a claim.
    late.estimate.as_mut().unwrap().log_sd = 0.01;
    let p50 = row("read", Measure::ResponseP50, [0.97, 1.03], Some(0.6));
    let found = comparison(vec![p50, late]).corrected();
    let known = found.rows[1].estimate.unwrap();
    assert_eq!((known.low, known.high), (0.99, 1.3));
    assert_eq!(found.rows[1].claim, Claim::NoDifference);
    assert_eq!(found.clone().corrected(), found);
}

#[test]
fn what_survives_correction_is_named_and_nothing_else() {
    let found = comparison(vec![
        row("write", Measure::ResponseP50, [1.081, 1.12], Some(0.001)),
        row("write", Measure::ServiceP90, [1.3, 1.4], None),
        row("read", Measure::ResponseP99, [0.8, 0.99], Some(0.09)),
    ]);
    insta::assert_snapshot!(said(&found), @"significant after correction (6 pairs): B's write response p50 is 10 % higher (8.1 to 12 %) | significant difference | Settled");
    let words: Vec<&str> = found.rows.iter().map(|row| row.finding().words()).collect();
    assert_eq!(words, ["B higher", "exploratory", "not significant"]);
    assert_eq!(found.rows[1].claim, Claim::None);
    insta::assert_snapshot!(found.rule().unwrap(), @"Claims are made of 2 rows only, at 5 % over all of them (Holm), with simultaneous 95 % intervals (Bonferroni); all other rows are exploratory, each with its own 95 % interval.");
}

#[test]
fn where_nothing_is_found_the_headline_says_what_is_open() {
    let found = comparison(vec![
        row("read", Measure::ServiceP90, [1.3, 1.4], None),
        row("read", Measure::ResponseP99, [0.8, 1.04], Some(0.4)),
    ]);
    insta::assert_snapshot!(said(&found), @"no significant difference after correction (6 pairs); B's response p99 is 8.8 % lower (between 20 % lower and 4.0 % higher) | no significant difference | Open");
}

#[test]
fn few_pairs_and_single_runs_claim_nothing() {
    let mut found = comparison(vec![alone()]);
    found.rows[0].claim = Claim::None;
    insta::assert_snapshot!(said(&found), @"no claim: no headline measure has the 6 pairs that a claim needs | no claim | Open");
    found.pairs.truncate(2);
    insta::assert_snapshot!(said(&found), @"no claim: 2 pairs, and at least 6 are needed | no claim | Open");
    (found.a.runs, found.b.runs) = (vec!["r1".to_owned()], vec!["r2".to_owned()]);
    insta::assert_snapshot!(said(&found), @"no claim: two single runs, side by side | no claim | Open");
}

#[test]
fn bars_come_first_and_contradict_nothing() {
    let p99 = alone();
    let p50 = row("read", Measure::ResponseP50, [0.97, 1.03], Some(0.6));
    let mut found = comparison(vec![p50.clone(), p99.clone()]);
    found.bars = vec![bar("p50>+5%", &p50, BarAnswer::Holds)];
    insta::assert_snapshot!(said(&found), @"threshold p50>+5% holds; no significant difference after correction (6 pairs); B's response p99 is 86 % lower (0.40 to 98 %) | all thresholds hold | Settled");
    found.bars.push(bar("p50>+2%", &p50, BarAnswer::CannotTell));
    insta::assert_snapshot!(said(&found), @"threshold p50>+2% is undecided (B's response p50 between 3.0 % lower and 3.0 % higher); no significant difference after correction (6 pairs); B's response p99 is 86 % lower (0.40 to 98 %) | a threshold is undecided | Open");
    // A bar is a claim of its own, corrected with the other bars: what it says is not taken back behind it.
    found.bars.push(bar("p99<-0%", &p99, BarAnswer::Crossed));
    insta::assert_snapshot!(said(&found), @"threshold p99<-0% is crossed (B's response p99 0.40 to 98 % lower); no other significant difference after correction (6 pairs) | a threshold is crossed | Crossed");
}
