//! Comparisons of made-up runs: pairs, claims, bars, refusals.
//! Refuses real runs: what is compared here is known beforehand.

mod behind;
mod calibrated;
mod early;

use super::*;
use crate::doubt::{Doubt, DoubtKind, Verdict};
use crate::histogram::Histogram;
use crate::result::{Around, Distribution, OperationResult, PhaseResult, RunResult};
use crate::run_plan::Pacing;
use crate::sample::{SchedulingPolicy, Standing};
use crate::seed::Seed;
use crate::stats::Draw;
use std::collections::BTreeMap;

/// Times around a median, in microseconds.
fn times(p50: f64) -> Option<Distribution> {
    Some(Distribution {
        count: 60_000,
        min_us: p50 / 4.0,
        mean_us: p50 * 1.1,
        p50_us: Some(p50),
        p90_us: Some(p50 * 1.5),
        p95_us: Some(p50 * 2.0),
        p99_us: Some(p50 * 4.0),
        p999_us: None,
        p9999_us: None,
        max_us: p50 * 40.0,
        confidence: None,
        histogram: Histogram::new(),
    })
}

fn operation(p50: f64, scheduled: bool) -> OperationResult {
    OperationResult {
        completed: 60_000,
        service: times(p50),
        response: times(p50 * 1.2).filter(|_| scheduled),
        ..OperationResult::default()
    }
}

fn phase(name: &str, operations: &[&str], p50: f64, rate: Option<f64>) -> PhaseResult {
    let one = || operation(p50, rate.is_some());
    PhaseResult {
        name: name.to_owned(),
        rate_per_s: rate,
        achieved_per_s: rate.unwrap_or(1e6 / p50),
        in_flight: 64,
        duration_s: 30.0,
        thread_busy: 0.2,
        backlog: 0,
        abandoned: 0,
        standing: Standing::default(),
        total: one(),
        operations: operations
            .iter()
            .map(|name| ((*name).to_owned(), one()))
            .collect(),
        first_failures: BTreeMap::new(),
        steadiness: None,
        around: Around {
            nodes_cpu_per_operation_us: Some(p50 / 2.0),
            ..Around::default()
        },
        doubts: vec![],
        verdict: Verdict::Valid,
    }
}

fn result(phases: Vec<PhaseResult>) -> RunResult {
    RunResult {
        format: Format::new("run", 1),
        plan_hash: "hash".to_owned(),
        workload: "standard1".to_owned(),
        seed: Seed(1),
        start_means: StartMeans::DriverCall,
        pacing: Pacing::Sleep,
        began_wall_ns: 0,
        generator: None,
        unchecked: vec![],
        phases,
        verdict: Verdict::Valid,
    }
}

/// A run of a write phase at 2,000/s.
fn write(p50: f64) -> RunResult {
    result(vec![phase("write", &["write"], p50, Some(2000.0))])
}

/// A doubt about the only phase of a run.
fn doubt(of: &mut RunResult, kind: DoubtKind) {
    of.phases[0].doubts.push(Doubt {
        kind,
        severity: kind.severity(),
        measured: 1.0,
        threshold: 0.0,
        unit: "count".to_owned(),
        text: kind.text().to_owned(),
        cure: kind.cure().to_owned(),
        about: None,
    });
    of.verdict = Verdict::of(&of.phases[0].doubts);
}

fn facts<'a>(name: &str, began: u64, result: &'a RunResult) -> RunFacts<'a> {
    RunFacts {
        run: name.to_owned(),
        restart: None,
        pair: None,
        began_wall_ns: began,
        result,
        facts: vec![],
    }
}

/// A's and B's results by pair, A first, in turn.
fn in_turn<'a>(a: &'a [RunResult], b: &'a [RunResult]) -> [Vec<RunFacts<'a>>; 2] {
    let side = |letter: char, results: &'a [RunResult], after: u64| -> Vec<RunFacts<'a>> {
        let named = (0..).zip(results);
        named
            .map(|(n, result)| facts(&format!("{letter}{n}"), 10 * n + after, result))
            .collect()
    };
    [side('a', a, 1), side('b', b, 2)]
}

fn options(bars: &[&str]) -> Options {
    Options {
        label_a: "before".to_owned(),
        label_b: "after".to_owned(),
        bars: bars.iter().map(|bar| FailOn::parse(bar).unwrap()).collect(),
        stages: Stages::Fixed,
    }
}

/// Compares medians by pair.
fn compared(a: &[f64], b: &[f64], bars: &[&str]) -> Comparison {
    let results = [a, b].map(|side| side.iter().map(|p50| write(*p50)).collect::<Vec<_>>());
    let [a, b] = in_turn(&results[0], &results[1]);
    compare(&a, &b, &options(bars)).unwrap()
}

fn row<'c>(of: &'c Comparison, name: &str) -> &'c Row {
    of.rows.iter().find(|row| row.name() == name).unwrap()
}

const A: [f64; 8] = [400.0, 410.0, 395.0, 405.0, 398.0, 402.0, 407.0, 393.0];

fn times_of(by: f64) -> Vec<f64> {
    // A little noise of its own in each pair.
    let noise = [1.01, 0.99, 1.0, 1.02, 0.98, 1.0, 1.005, 0.995];
    A.iter().zip(noise).map(|(a, n)| a * by * n).collect()
}

#[test]
fn a_difference_is_claimed_with_its_interval() {
    let found = compared(&A, &times_of(1.1), &[]);
    let p50 = row(&found, "write all response p50");
    let estimate = p50.estimate.unwrap();
    assert_eq!(
        (p50.claim, estimate.pairs, estimate.degrees),
        (Claim::Higher, 8, 7)
    );
    assert!((estimate.ratio - 1.1).abs() < 0.002, "{estimate:?}");
    assert!(estimate.low > 1.08 && estimate.high < 1.12);
    assert!((p50.b / p50.a - estimate.ratio).abs() < 1e-9);
    assert!(estimate.p < 1e-5 && estimate.p_holm.unwrap() > estimate.p);
    let finds = estimate.detectable.unwrap();
    assert!(finds > 1.01 && finds < 1.03);
    assert_eq!(p50.ratios.len(), 8);
    let lower = compared(&A, &times_of(0.9), &[]);
    assert_eq!(row(&lower, "write all node CPU").claim, Claim::Lower);
    let same = compared(&A, &times_of(1.0), &[]);
    let p99 = row(&same, "write all response p99").claim;
    assert_eq!(p99, Claim::NoDifference);
    // Rows that nothing is claimed of have an interval of their own level, the others one that holds for all three.
    let alone = row(&same, "write all service p99");
    assert_eq!(
        (alone.claim, alone.finding()),
        (Claim::None, Finding::Exploratory)
    );
    let t = |of: &Estimate| (of.high / of.low).ln() / 2.0 / of.log_sd * 8_f64.sqrt();
    let quantile = |level: f64| crate::stats::t_quantile(1.0 - level / 2.0, 7);
    assert!((t(&alone.estimate.unwrap()) - quantile(0.05)).abs() < 1e-9);
    let together = row(&same, "write all response p50").estimate.unwrap();
    assert!((t(&together) - quantile(0.05 / 3.0)).abs() < 1e-9);
    assert!(same.cautions.is_empty(), "{:?}", same.cautions);
    assert!(same.pairs.iter().all(|pair| pair.a_first));
    let json = serde_json::to_string(&found).unwrap();
    let read: Comparison = serde_json::from_str(&json).unwrap();
    assert_eq!((&read.pairs, read.rows.len()), (&found.pairs, 13));
    assert_eq!(row(&read, "write all response p50").claim, Claim::Higher);
}

#[test]
fn rows_stand_in_a_fixed_order_and_the_headline_is_adjusted() {
    let found = compared(&A, &times_of(1.1), &[]);
    let lines: Vec<String> = found
        .rows
        .iter()
        .map(|row| {
            let holm = row.estimate.and_then(|e| e.p_holm).is_some();
            format!("{}{}", row.name(), if holm { " *" } else { "" })
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    write all throughput
    write all response mean
    write all response p50 *
    write all response p90
    write all response p95
    write all response p99 *
    write all service mean
    write all service p50
    write all service p90
    write all service p95
    write all service p99
    write all node CPU *
    write all generator CPU
    "#);
}

#[test]
fn nothing_is_claimed_of_few() {
    let one = compared(&A[..1], &times_of(1.5)[..1], &["p50>+5%"]);
    let p50 = row(&one, "write all response p50");
    assert_eq!((p50.estimate, p50.claim), (None, Claim::None));
    assert_eq!(one.answer(), Some(BarAnswer::CannotTell));
    let five = compared(&A[..5], &times_of(1.5)[..5], &["p50>+5%"]);
    let p50 = row(&five, "write all response p50");
    assert!(p50.estimate.is_some_and(|e| e.low > 1.4));
    assert_eq!(p50.claim, Claim::None);
    assert_eq!(five.answer(), Some(BarAnswer::CannotTell));
    insta::assert_snapshot!(five.cautions[0].text, @"5 pairs of restarts: no claim is made below 6");
    let six = compared(&A[..6], &times_of(1.5)[..6], &["p50>+5%"]);
    assert_eq!(six.answer(), Some(BarAnswer::Crossed));
}

#[test]
fn a_closed_loop_has_throughput_in_its_headline_and_no_response() {
    let closed = |p50: f64| result(vec![phase("read", &["read"], p50, None)]);
    let a: Vec<RunResult> = A.iter().map(|p50| closed(*p50)).collect();
    let b: Vec<RunResult> = times_of(1.2).into_iter().map(closed).collect();
    let [a, b] = in_turn(&a, &b);
    let found = compare(&a, &b, &options(&["throughput<-5%", "read.p99>+5%"])).unwrap();
    assert!(
        found
            .rows
            .iter()
            .all(|row| !row.name().contains("response"))
    );
    let headline = found
        .rows
        .iter()
        .filter(|r| r.estimate.unwrap().p_holm.is_some());
    let names: Vec<String> = headline.map(Row::name).collect();
    assert_eq!(
        names.join(", "),
        "read all throughput, read all service p50, read all service p99, read all node CPU"
    );
    let rows: Vec<&str> = found.bars.iter().map(|bar| bar.row.as_str()).collect();
    assert_eq!(rows, ["read all throughput", "read all service p99"]);
    assert_eq!(found.answer(), Some(BarAnswer::Crossed));
}

#[test]
fn a_family_wise_level_is_kept_without_any_difference() {
    // Three rows with noise of their own, all bars at no change: none is crossed.
    let bars = ["p50>+0%", "cpu>+0%", "generator-cpu>+0%"];
    let mut draw = Draw::new(Seed(9));
    let mut wrong = [0, 0, 0];
    for _ in 0..600 {
        let mut side = || -> Vec<RunResult> {
            let mut noise = || (0.1 * draw.normal()).exp();
            let one = (0..6).map(|_| {
                let mut one = write(400.0 * noise());
                one.phases[0].around.nodes_cpu_per_operation_us = Some(200.0 * noise());
                one.phases[0].thread_busy = 0.2 * noise();
                one
            });
            one.collect()
        };
        let (a, b) = (side(), side());
        let [a, b] = in_turn(&a, &b);
        let found = compare(&a, &b, &options(&bars)).unwrap();
        let outside = |e: &Estimate| e.low > 1.0 || e.high < 1.0;
        wrong[0] += usize::from(found.family().any(|e| outside(&e)));
        wrong[1] += usize::from(found.answer() == Some(BarAnswer::Crossed));
        wrong[2] += usize::from(found.rows.iter().any(|row| row.finding().is_claim()));
    }
    // 30 are expected, with a standard error of 5.3.
    assert!((8..=42).contains(&wrong[0]), "{wrong:?} of 600");
    assert!((16..=42).contains(&wrong[1]), "{wrong:?} of 600");
    // p50 and p99 move together here: three measures are corrected for two.
    assert!((8..=42).contains(&wrong[2]), "{wrong:?} of 600");
}

#[test]
fn invalid_runs_go_with_their_pair() {
    let mut results: Vec<RunResult> = A.iter().map(|p50| write(*p50)).collect();
    doubt(&mut results[2], DoubtKind::Errors);
    let b: Vec<RunResult> = times_of(1.0).into_iter().map(write).collect();
    let [a, b] = in_turn(&results, &b);
    let found = compare(&a, &b[..7], &options(&[])).unwrap();
    assert_eq!(found.pairs.len(), 6);
    let lines: Vec<String> = found
        .left_out
        .iter()
        .map(|l| format!("{}: {}", l.run, l.why))
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    a7: the other side has fewer restarts
    a2: it is invalid: see its doubts
    b2: a2 of its pair is invalid
    "#);
    assert_eq!(found.pairs[2].a, ["a3"]);
    assert_eq!(found.pairs[2].b, ["b3"]);
    let spoilt = compare(&a[2..3], &b[..1], &options(&[])).unwrap_err();
    insta::assert_snapshot!(format!("{spoilt} | {}", spoilt.hint()), @"no pair of restarts is left: a2: it is invalid: see its doubts; b0: a2 of its pair is invalid | cure the doubts of these runs and run them again: helenus history show lists them");
}

#[test]
fn pair_numbers_win_over_time() {
    let results: Vec<RunResult> = A.iter().map(|p50| write(*p50)).collect();
    let mut a: Vec<RunFacts> = (0..3)
        .map(|n| facts(&format!("a{n}"), n, &results[0]))
        .collect();
    let mut b: Vec<RunFacts> = (0..3)
        .map(|n| facts(&format!("b{n}"), 9 - n, &results[1]))
        .collect();
    for (n, (a, b)) in (0..).zip(a.iter_mut().zip(&mut b)) {
        (a.pair, b.pair) = (Some(n), Some(n));
    }
    b[2].pair = Some(7);
    let found = compare(&a, &b, &options(&[])).unwrap();
    let pairs: Vec<_> = found
        .pairs
        .iter()
        .map(|p| (p.a[0].as_str(), p.b[0].as_str()))
        .collect();
    assert_eq!(pairs, [("a0", "b0"), ("a1", "b1")]);
    let left: Vec<&str> = found.left_out.iter().map(|l| l.run.as_str()).collect();
    assert_eq!(left, ["a2", "b2"]);
    b[2].pair = Some(1);
    let found = compare(&a, &b, &options(&[])).unwrap();
    assert_eq!(found.pairs[1].b, ["b2"], "the one that began first");
    assert!(found.left_out[0].why.contains("earlier restart in pair 1"));
    // The other side of a spoilt pair is not run: the run itself is the reason.
    let mut spoilt = write(A[0]);
    doubt(&mut spoilt, DoubtKind::Errors);
    let mut alone = facts("b3", 1, &spoilt);
    alone.pair = Some(9);
    let with_spoilt = compare(&a, &[b[0].clone(), alone], &options(&[])).unwrap();
    let why = with_spoilt.left_out.iter().find(|left| left.run == "b3");
    assert_eq!(why.unwrap().why, "it is invalid: see its doubts");
    // Without numbers on both sides the order of beginning decides.
    b[0].pair = None;
    let found = compare(&a, &b, &options(&[])).unwrap();
    assert_eq!(found.pairs[0].b, ["b2"]);
}

#[test]
fn runs_of_one_restart_are_one() {
    let results = [400.0, 441.0, 420.0, 420.0].map(write);
    let mut a: Vec<RunFacts> = (0..2)
        .map(|n| facts(&format!("a{n}"), n as u64, &results[n]))
        .collect();
    a.iter_mut()
        .for_each(|run| run.restart = Some("one".to_owned()));
    let b = [facts("b0", 5, &results[2]), facts("b1", 6, &results[3])];
    let found = compare(&a, &b, &options(&[])).unwrap();
    assert_eq!(found.pairs.len(), 1);
    assert_eq!(found.pairs[0].a, ["a0", "a1"]);
    assert_eq!(found.left_out[0].run, "b1");
    let p50 = row(&found, "write all service p50");
    assert!(
        (p50.a - 420.0).abs() < 1e-9,
        "the geometric mean: {}",
        p50.a
    );
    assert!((p50.ratios[0].unwrap() - 1.0).abs() < 1e-12);
}

#[test]
fn runs_of_two_machines_are_no_interleaved_comparison() {
    let runs = |times: &[f64]| -> Vec<RunResult> { times.iter().map(|p50| write(*p50)).collect() };
    let (a, b) = (runs(&A), runs(&times_of(1.5)));
    let mut sides = in_turn(&a, &b);
    for (side, value) in sides.iter_mut().zip(["Xeon 8380", "Xeon 8468"]) {
        let fact = Fact {
            what: super::MACHINE.to_owned(),
            value: value.to_owned(),
        };
        side.iter_mut().for_each(|run| run.facts.push(fact.clone()));
    }
    let found = compare(&sides[0], &sides[1], &options(&[])).unwrap();
    let said = found
        .cautions
        .iter()
        .find(|c| c.text.contains("Xeon"))
        .unwrap();
    assert!(
        said.text.starts_with(
            "A ran on Xeon 8380, B on Xeon 8468: this is not an interleaved comparison"
        )
    );
}

#[test]
fn cautions_say_what_stands_against_it() {
    let mut a: Vec<RunResult> = A.iter().map(|p50| write(*p50)).collect();
    let mut b: Vec<RunResult> = times_of(1.0).into_iter().map(write).collect();
    a.iter_mut()
        .chain(&mut b)
        .for_each(|run| run.verdict = Verdict::Caution);
    for run in &mut b {
        run.phases[0].rate_per_s = Some(1500.0);
        run.phases[0].standing.policy = SchedulingPolicy::RoundRobin;
    }
    let kind = DoubtKind::ArchiveMix;
    doubt(&mut a[0], kind);
    let [mut a, mut b] = in_turn(&a, &b);
    b.iter_mut().for_each(|run| run.began_wall_ns += 1000);
    let fact = |what: &str, value: &str| Fact {
        what: what.to_owned(),
        value: value.to_owned(),
    };
    a.iter_mut()
        .for_each(|run| run.facts.push(fact(CLASS_ARCHIVE, "yes")));
    b.iter_mut()
        .for_each(|run| run.facts.push(fact(CLASS_ARCHIVE, "no")));
    b.iter_mut()
        .for_each(|run| run.facts.push(fact("heap", "2G")));
    a[3].facts.push(fact("heap", "1G"));
    a[4].facts.push(fact("heap", "2G"));
    let found = compare(&a, &b, &options(&[])).unwrap();
    let cautions = found.cautions.iter();
    let cautions = cautions.map(|c| format!("{}\n  {}", c.text, c.cure));
    let differences = found.differences.iter();
    let differences = differences.map(|d| format!("{}: {} / {}", d.what, d.a, d.b));
    let lines: Vec<String> = cautions.chain(differences).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    all of one side ran before all of the other: drift over time counts as their difference
      run the two sides in turn: helenus compare --ab
    some nodes used a class-data archive and some did not: in 1 of 16 runs
      use the archive in all nodes or in none
    16 of 16 runs have cautions
      look at each with `helenus history show`, and cure what they share
    the runs of A differ in heap: 1G, 2G
      compare runs that share every setting of their side
    the sides differ in class archive: yes and no
      use the class-data archive on both sides or on neither
    the sides differ in rate of write: 2000/s and 1500/s
      give both sides the same --rate: times at different rates are not comparable
    the sides differ in generator priority in write: ordinary and real-time
      run both sides as the same user with the same rights: a generator of ordinary priority waits while nodes use all processors
    class archive: yes / no
    rate of write: 2000/s / 1500/s
    generator priority in write: ordinary / real-time
    heap: 1G, 2G / 2G
    "#);
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let (one, mut other) = (write(400.0), write(400.0));
    let a = [facts("r1", 1, &one)];
    let refused = |result: &RunResult| {
        let error = compare(&a, &[facts("r2", 2, result)], &options(&[])).unwrap_err();
        format!("{error} | {}", error.hint())
    };
    other.start_means = StartMeans::Socket;
    insta::assert_snapshot!(refused(&other), @"r1 and r2 measure times from different starts: driver-call and socket | measure all of them with the same build of helenus; times from different starts are not compared");
    let mut other = write(400.0);
    other.workload = "custom".to_owned();
    insta::assert_snapshot!(refused(&other), @"r1 ran the workload standard1 and r2 ran custom | compare runs of one workload");
    let other = result(vec![phase("read", &["read"], 400.0, None)]);
    insta::assert_snapshot!(refused(&other), @"the runs have no phase in common: r1 has write, r2 has read | run both sides with the same --phases");
    let error = compare(&a, &[], &options(&[])).unwrap_err();
    insta::assert_snapshot!(format!("{error} | {}", error.hint()), @"after has no run that ended | name runs that ended: helenus history list shows the outcome of each");
}

#[test]
fn bars_answer_three_ways() {
    let answer = |by: f64, bar: &str| compared(&A, &times_of(by), &[bar]).answer().unwrap();
    assert_eq!(answer(1.1, "p99>+5%"), BarAnswer::Crossed);
    assert_eq!(answer(1.05, "p99>+5%"), BarAnswer::CannotTell);
    assert_eq!(answer(1.0, "p99>5%"), BarAnswer::Holds);
    assert_eq!(answer(0.9, "cpu<-5%"), BarAnswer::Crossed);
    assert_eq!(answer(0.9, "cpu > -5%"), BarAnswer::Holds);
    assert_eq!(answer(1.0, "throughput<-5%"), BarAnswer::Holds);
    let codes =
        [BarAnswer::Holds, BarAnswer::Crossed, BarAnswer::CannotTell].map(BarAnswer::exit_code);
    assert_eq!(codes, [0, 1, 6]);
    // One side is asked: the ends are bounds of 95 % each.
    let one = compared(&A, &times_of(1.1), &["p99>+5%"]);
    let known = row(&one, "write all response p99").estimate.unwrap();
    let t = crate::stats::t_quantile(0.95, known.degrees);
    let half = t * known.log_sd / (known.pairs as f64).sqrt();
    let low = (known.ratio.ln() - half).exp();
    assert!((one.bars[0].low.unwrap() - low).abs() < 1e-9);
    // Several: the worst answers, and each interval is wider than alone.
    let bars = ["p99>+5%", "write.service.p50>+20%", "cpu>+10%"];
    let several = compared(&A, &times_of(1.1), &bars);
    let answers: Vec<BarAnswer> = several.bars.iter().map(|bar| bar.answer).collect();
    use BarAnswer::{CannotTell, Crossed, Holds};
    assert_eq!(answers, [Crossed, Holds, CannotTell]);
    assert_eq!(several.answer(), Some(Crossed));
    let alone = compared(&A, &times_of(1.1), &bars[..1]);
    assert!(several.bars[0].low < alone.bars[0].low);
    assert_eq!(alone.bars[0].row, "write all response p99");
    assert_eq!(compared(&A, &A, &[]).answer(), None);
}

#[test]
fn bars_name_phases_and_operations() {
    let both = |p50: f64| {
        result(vec![
            phase("write", &["write"], p50, Some(2000.0)),
            phase("mixed", &["read", "write"], p50, Some(2000.0)),
        ])
    };
    let results: Vec<RunResult> = A.iter().map(|p50| both(*p50)).collect();
    let [a, b] = in_turn(&results, &results);
    let rows = |bar: &str| -> String {
        match compare(&a, &b, &options(&[bar])) {
            Ok(found) => found
                .bars
                .iter()
                .map(|b| b.row.clone())
                .collect::<Vec<_>>()
                .join(", "),
            Err(error) => format!("{error} | {}", error.hint()),
        }
    };
    let named = [
        "p99>+5%",
        "mixed.mean>+5%",
        "write.service.p50>+5%",
        "read.p90>+5%",
        "all.p90>+5%",
        "mixed.write.response.p95>+5%",
        "mixd.p99>+5%",
        "mixed.reed.p99>+5%",
        "p99.9>+5%",
        "mixed.read.cpu>+5%",
    ]
    .map(|bar| format!("{bar}: {}", rows(bar)));
    insta::assert_snapshot!(named.join("\n"), @r#"
    p99>+5%: write all response p99, mixed all response p99
    mixed.mean>+5%: mixed all response mean
    write.service.p50>+5%: write all service p50
    read.p90>+5%: mixed read response p90
    all.p90>+5%: write all response p90, mixed all response p90
    mixed.write.response.p95>+5%: mixed write response p95
    mixd.p99>+5%: the threshold "mixd.p99>+5%" names no known phase or operation at character 1: "mixd" | the nearest is mixed; known: write, mixed, all, read
    mixed.reed.p99>+5%: the threshold "mixed.reed.p99>+5%" names no known phase or operation at character 7: "reed" | the nearest is read; known: all, read, write
    p99.9>+5%: the threshold "p99.9>+5%" is about p99.9, which not all of these runs have | response times need a --rate, a percentile needs ten samples above it; CPU is measured over all operations together, and only of nodes on this machine
    mixed.read.cpu>+5%: the threshold "mixed.read.cpu>+5%" is about cpu, which not all of these runs have | response times need a --rate, a percentile needs ten samples above it; CPU is measured over all operations together, and only of nodes on this machine
    "#);
}

#[test]
fn what_a_bar_names_is_known_before_anything_runs() {
    let phases: [(&str, &[&str]); 2] = [("write", &[]), ("mixed", &["read", "write"])];
    let check = |bar: &str| FailOn::parse(bar).unwrap().check(&phases);
    for bar in [
        "p99>+5%",
        "mixed.read.p50>+5%",
        "read.p50>+5%",
        "all.cpu>+5%",
    ] {
        assert_eq!(check(bar), Ok(()), "{bar}");
    }
    let error = check("write.read.p99>+5%").unwrap_err();
    insta::assert_snapshot!(format!("{error} | {}", error.hint()), @r#"the threshold "write.read.p99>+5%" names no known phase or operation at character 7: "read" | known: all"#);
}

#[test]
fn bars_that_cannot_be_read_say_where() {
    let errors = [
        "p99",
        "p98>+5%",
        "write.p99.99>+5%",
        "mixed.write.latency>5%",
        "p99>+5",
        "p99> fast%",
        "p99>-100%",
        "p99>1e1%",
        "throughput<5%",
        "response.throughput<-5%",
        "a.b.c.p99>+5%",
        "größe.p9>+5%",
        ">+5%",
    ]
    .map(|bar| {
        let error = FailOn::parse(bar).unwrap_err();
        format!("{error}\n  {}", error.hint())
    });
    insta::assert_snapshot!(errors.join("\n"), @r#"
    the threshold "p99" has neither > nor <
      write it as 'p99>+5%' or 'throughput<-5%'
    the threshold "p98>+5%" names no known measure at character 1: "p98"
      the nearest is p99; known: p50, p90, p95, p99, p99.9, mean, throughput, cpu, generator-cpu, max-rate
    the threshold "write.p99.99>+5%" names no known measure at character 11: "99"
      the nearest is p99.9; known: p50, p90, p95, p99, p99.9, mean, throughput, cpu, generator-cpu, max-rate
    the threshold "mixed.write.latency>5%" names no known measure at character 13: "latency"
      known: p50, p90, p95, p99, p99.9, mean, throughput, cpu, generator-cpu, max-rate
    the threshold "p99>+5" has no percentage at character 5: "+5"
      end it with a percentage above -100%, such as +5%, -5% or 2.5%
    the threshold "p99> fast%" has no percentage at character 6: "fast%"
      end it with a percentage above -100%, such as +5%, -5% or 2.5%
    the threshold "p99>-100%" has no percentage at character 5: "-100%"
      end it with a percentage above -100%, such as +5%, -5% or 2.5%
    the threshold "p99>1e1%" has no percentage at character 5: "1e1%"
      end it with a percentage above -100%, such as +5%, -5% or 2.5%
    the threshold "throughput<5%" is ambiguous: < needs a percentage with a sign
      write <-5% or <+5%
    the threshold "response.throughput<-5%" asks for the response time of throughput, which is not a time
      leave response. out
    the threshold "a.b.c.p99>+5%" has too many names, from character 5 on: "c"
      the form is [phase.][operation.][service|response.]measure
    the threshold "größe.p9>+5%" names no known measure at character 7: "p9"
      the nearest is p99; known: p50, p90, p95, p99, p99.9, mean, throughput, cpu, generator-cpu, max-rate
    the threshold ">+5%" names no known measure at character 1: ""
      known: p50, p90, p95, p99, p99.9, mean, throughput, cpu, generator-cpu, max-rate
    "#);
}

#[test]
fn the_first_stage_says_how_many_pairs_and_keeps_its_spread() {
    let mut draw = Draw::new(Seed(21));
    let mut noisy = |n: usize| -> Vec<f64> {
        (0..n)
            .map(|_| 400.0 * (0.05 * draw.normal()).exp())
            .collect()
    };
    let (a, b) = (noisy(80), noisy(80));
    let first = compared(&a[..6], &b[..6], &[]);
    let needed = first.pairs_needed(1.05).unwrap();
    assert_eq!(needed.governed_by, "write all response p50");
    assert!((7..=80).contains(&needed.pairs), "{needed:?}");
    assert_eq!(first.pairs_needed(4.0).unwrap().pairs, 6);
    assert_eq!(first.pairs_needed(1.0), None);
    assert_eq!(compared(&a[..1], &b[..1], &[]).pairs_needed(1.05), None);
    let bars = compared(&a[..6], &b[..6], &["cpu>+5%"])
        .pairs_needed(1.05)
        .unwrap();
    assert_eq!(bars.governed_by, "write all node CPU");
    let results = [&a, &b].map(|s| {
        s[..needed.pairs]
            .iter()
            .map(|p| write(*p))
            .collect::<Vec<_>>()
    });
    let [a, b] = in_turn(&results[0], &results[1]);
    let stages = Stages::Two(6);
    let all = compare(
        &a,
        &b,
        &Options {
            stages,
            ..options(&[])
        },
    )
    .unwrap();
    let (then, now) = (
        row(&first, "write all response p50").estimate.unwrap(),
        row(&all, "write all response p50").estimate.unwrap(),
    );
    assert_eq!((now.pairs, now.degrees), (needed.pairs, 5));
    assert_eq!(now.log_sd, then.log_sd);
    assert!(
        (now.high / now.low).sqrt() <= 1.05 + 1e-9,
        "as narrow as wanted"
    );
    let plain = compare(&a, &b, &options(&[])).unwrap();
    assert_eq!(
        row(&plain, "write all response p50")
            .estimate
            .unwrap()
            .degrees,
        needed.pairs - 1
    );
}

proptest::proptest! {
    #[test]
    fn no_text_is_too_strange_for_a_bar(text in "[a-z0-9.<>+% é-]{0,24}", name in "[a-zé]{1,6}", by in 1_u32..99) {
        let _ = FailOn::parse(&text);
        let bar = format!("{name}.service.p99.9 > +{by}%");
        let read = FailOn::parse(&bar);
        proptest::prop_assert!(read.is_ok_and(|read| read.text() == bar));
    }
}
