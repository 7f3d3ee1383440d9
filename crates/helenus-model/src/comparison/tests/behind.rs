//! Comparisons with runs that fell behind their schedule, and with runs whose generator was late.
//! Refuses to lose the worst runs.

use super::*;

/// Eight pairs, the first so many of B with this doubt.
fn doubted(by: f64, kind: DoubtKind, pairs: usize, bars: &[&str]) -> Comparison {
    let a: Vec<RunResult> = A.iter().map(|p50| write(*p50)).collect();
    let mut b: Vec<RunResult> = times_of(by).into_iter().map(write).collect();
    b.iter_mut().take(pairs).for_each(|run| doubt(run, kind));
    let [a, b] = in_turn(&a, &b);
    compare(&a, &b, &options(bars)).unwrap()
}

#[test]
fn a_side_that_falls_behind_loses_none_of_its_pairs() {
    let found = doubted(0.8, DoubtKind::BehindSchedule, 4, &[]);
    assert_eq!((found.pairs.len(), found.left_out.len()), (8, 0));
    assert_eq!(found.behind, Some(Behind { a: 0, b: 4 }));
    // The four pairs in which B kept up were its lucky ones: they claim nothing.
    let p99 = row(&found, "write all response p99");
    assert_eq!((p99.estimate, p99.claim), (None, Claim::None));
    assert_eq!(p99.ratios.iter().flatten().count(), 4);
    let cpu = row(&found, "write all node CPU").estimate.unwrap();
    assert_eq!(cpu.pairs, 8);
    insta::assert_snapshot!(found.conclusion().headline, @"B fell behind its schedule in 4 of 8 pairs, A in none; significant after correction (8 pairs): B's node CPU is 20 % lower (19 to 21 %)");
}

#[test]
fn a_run_that_falls_behind_exceeds_every_latency_threshold() {
    let answer = |pairs, bar| {
        let found = doubted(0.8, DoubtKind::BehindSchedule, pairs, &[bar]);
        found.answer().unwrap()
    };
    assert_eq!(answer(0, "p99>+5%"), BarAnswer::Holds);
    assert_eq!(answer(1, "p99>+5%"), BarAnswer::CannotTell);
    assert_eq!(answer(5, "p99>+5%"), BarAnswer::Crossed);
    assert_eq!(answer(8, "p99>+5%"), BarAnswer::Crossed);
    // What is no response time has all of its pairs.
    assert_eq!(answer(8, "cpu>+5%"), BarAnswer::Holds);
}

#[test]
fn a_late_generator_leaves_open_what_its_lateness_may_hide() {
    let late = |by| doubted(by, DoubtKind::GeneratorLate, 8, &["p99>+5%"]);
    // Response is 1.2 times service: up to so much of it may be the generator's.
    let found = late(1.1);
    assert_eq!((found.pairs.len(), found.left_out.len()), (8, 0));
    let p99 = row(&found, "write all response p99").estimate.unwrap();
    assert!(p99.low < 1.1 / 1.2 && p99.high > 1.1, "{p99:?}");
    assert!((p99.ratio - 1.1).abs() < 0.02, "as recorded: {p99:?}");
    assert_eq!(found.answer(), Some(BarAnswer::CannotTell));
    let service = row(&found, "write all service p99").estimate.unwrap();
    assert!(service.low > 1.05, "{service:?}");
    // What both ends agree about is decided.
    assert_eq!(late(1.5).answer(), Some(BarAnswer::Crossed));
    assert_eq!(late(0.8).answer(), Some(BarAnswer::Holds));
}

#[test]
fn what_a_late_generator_hides_stays_hidden_in_what_was_stored() {
    let found = doubted(1.1, DoubtKind::GeneratorLate, 8, &[]);
    let again = found.clone().corrected();
    let ends = |of: &Comparison| {
        let p99 = row(of, "write all response p99");
        let known = p99.estimate.unwrap();
        assert_eq!(p99.claim, Claim::NoDifference);
        [known.low, known.high]
    };
    let (then, now) = (ends(&found), ends(&again));
    for (then, now) in then.into_iter().zip(now) {
        assert!((now / then - 1.0).abs() < 1e-9, "{now} was {then}");
    }
    assert_eq!(again.clone().corrected(), again);
}

#[test]
fn a_threshold_is_answered_where_no_measure_can_be_compared() {
    // Nodes on other hosts: no CPU of theirs was measured.
    let remote = |p50: f64| {
        let mut run = write(p50);
        run.phases[0].around.nodes_cpu_per_operation_us = None;
        run
    };
    let a: Vec<RunResult> = A.iter().map(|p50| remote(*p50)).collect();
    let mut b: Vec<RunResult> = times_of(0.8).into_iter().map(remote).collect();
    let late = b.iter_mut().take(6);
    late.for_each(|run| doubt(run, DoubtKind::BehindSchedule));
    let [a, b] = in_turn(&a, &b);
    let said = |bars: &[&str]| {
        let found = compare(&a, &b, &options(bars)).unwrap().conclusion();
        (found.headline, found.badge)
    };
    let behind = "B fell behind its schedule in 6 of 8 pairs, A in none";
    let why = "no headline measure can be compared, because one side fell behind more often";
    let nothing = format!("{behind}; no claim: {why}");
    assert_eq!(said(&[]), (nothing, "no claim"));
    let crossed = format!("{behind}; threshold p99>+5% is crossed; no other claim: {why}");
    assert_eq!(said(&["p99>+5%"]), (crossed, "a threshold is crossed"));
}

#[test]
fn a_generator_that_falls_behind_spoils_its_pair() {
    let a: Vec<RunResult> = A.iter().map(|p50| write(*p50)).collect();
    let mut b = a.clone();
    doubt(&mut b[0], DoubtKind::GeneratorSaturated);
    doubt(&mut b[0], DoubtKind::BehindSchedule);
    let [a, b] = in_turn(&a, &b);
    let found = compare(&a, &b, &options(&[])).unwrap();
    assert_eq!((found.pairs.len(), found.behind), (7, None));
}

#[test]
fn even_arrivals_and_those_of_independent_users_are_not_compared() {
    let one = write(400.0);
    let with = |name: &str, value: &str| RunFacts {
        facts: vec![Fact {
            what: format!("{ARRIVALS}write"),
            value: value.to_owned(),
        }],
        ..facts(name, 1, &one)
    };
    let compared = |value| {
        compare(
            &[with("r1", "poisson")],
            &[with("r2", value)],
            &options(&[]),
        )
    };
    assert!(compared("poisson").is_ok());
    let error = compared("constant").unwrap_err();
    insta::assert_snapshot!(format!("{error} | {}", error.hint()), @"r1 and r2 differ in arrivals of write: poisson and constant | measure both sides with the same --arrivals: bursts of Poisson arrivals wait where even ones do not");
}
