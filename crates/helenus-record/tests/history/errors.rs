//! What is refused, and in which words.

use crate::values::{SEED, beginning, host, interval, plan, result};
use helenus_model::seed::Seed;
use helenus_record::{Ending, History, HistoryError, RunReference};

#[test]
fn what_does_not_belong_is_refused_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("folder");
    let mut history = History::open(&folder.path().join("h")).expect("opens");
    let empty = history.resolve(RunReference::Last).expect_err("empty");
    assert_eq!(empty.to_string(), "the history contains no run");
    let (plan, host) = (plan(SEED), host());
    let run = history.begin_run(&beginning(&plan, &host)).expect("begins");

    let none = history
        .run("r9".parse().expect("a name"))
        .expect_err("unknown");
    assert_eq!(none.to_string(), "no such run: r9 (the newest is r1)");
    assert_eq!(
        none.hint().as_deref(),
        Some("`@last` is the last run that has ended")
    );

    let bad = [interval(0, 1), interval(7, 1)];
    let error = history.add_intervals(run, &bad).expect_err("no phase 7");
    assert!(
        matches!(error, HistoryError::UnknownPhase { ordinal: 7, .. }),
        "{error}"
    );
    assert!(
        history.intervals(run).expect("reads").is_empty(),
        "half a batch was stored"
    );

    let other = result(&super::values::plan(Seed(1)));
    let error = history
        .finish_run(run, &other, Ending::Complete)
        .expect_err("other plan");
    assert!(matches!(error, HistoryError::OtherPlan { .. }), "{error}");
    let mut renamed = result(&plan);
    renamed.phases[1].name = "scan".into();
    let error = history
        .finish_run(run, &renamed, Ending::Complete)
        .expect_err("other phase");
    assert_eq!(
        error.to_string(),
        "the plan of run r1 has no phase 1 (scan)"
    );
    assert_eq!(history.run(run).expect("reads").result, None);

    history
        .finish_run(run, &result(&plan), Ending::Complete)
        .expect("finishes");
    let error = history
        .finish_run(run, &result(&plan), Ending::Invalid)
        .expect_err("ended");
    assert_eq!(error.to_string(), "run r1 has already ended (complete)");
    assert!(history.add_intervals(run, &[interval(0, 1)]).is_err());
}

#[test]
fn counts_beyond_what_the_database_holds_are_errors() {
    let folder = tempfile::tempdir().expect("folder");
    let mut history = History::open(&folder.path().join("h")).expect("opens");
    let (plan, host) = (plan(SEED), host());
    let run = history.begin_run(&beginning(&plan, &host)).expect("begins");
    let mut large = interval(0, 1);
    large.end_ns = u64::MAX;
    assert!(history.add_intervals(run, &[large]).is_err());
}
