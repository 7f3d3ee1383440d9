//! What a person calls runs by: numbers, ranges, lists, tags; experiments and comparisons have names too.
//! Refuses to take one run where several are meant.

use crate::values::{SEED, beginning, comparison, experiment, host, plan, result};
use helenus_record::{
    ComparisonId, Ending, History, HistoryError, RunBeginning, RunId, RunPlace, RunSummary,
};

/// Runs r1 to r5; r2 stays broken, the odd ones are tagged.
fn five(history: &mut History) {
    let (plan, host) = (plan(SEED), host());
    for n in 1..=5 {
        let beginning = RunBeginning {
            tag: (n % 2 == 1).then_some("odd"),
            ..beginning(&plan, &host)
        };
        let run = history.begin_run(&beginning).expect("begins");
        if n != 2 {
            history
                .finish_run(run, &result(&plan), Ending::Complete)
                .expect("finishes");
        }
    }
}

fn ids(runs: &[RunSummary]) -> String {
    let names: Vec<String> = runs.iter().map(|run| run.id.to_string()).collect();
    names.join(" ")
}

fn history() -> (tempfile::TempDir, History) {
    let folder = tempfile::tempdir().expect("folder");
    let history = History::open(&folder.path().join("h")).expect("opens");
    (folder, history)
}

#[test]
fn several_runs_have_many_names() {
    let (_folder, mut history) = history();
    five(&mut history);
    let all = |names: &str| ids(&history.resolve_all(names).expect(names));
    assert_eq!(all("r4"), "r4");
    assert_eq!(all("r2"), "r2", "named one by one, whatever became of it");
    assert_eq!(all("@last"), "r5");
    assert_eq!(all("odd"), "r1 r3 r5");
    assert_eq!(all("r1..r3"), "r1 r3", "of a range the complete ones");
    assert_eq!(all("4..99"), "r4 r5");
    assert_eq!(all("r3..r1"), "r1 r3", "whichever end comes first");
    assert_eq!(all("r5,2,odd"), "r1 r2 r3 r5", "each once, in their order");
    assert_eq!(
        ids(&history.resolve_any("r1..r3").expect("a range")),
        "r1 r2 r3"
    );
    assert_eq!(
        history.resolve_one("@last").expect("one").id.to_string(),
        "r5"
    );
}

#[test]
fn names_that_nothing_has_are_refused_with_the_nearest() {
    let (_folder, mut history) = history();
    five(&mut history);
    let said = |names: &str| {
        let error = history.resolve_all(names).expect_err(names);
        format!("{error}; {}", error.hint().unwrap_or_default())
    };
    assert_eq!(said("od"), "no such run or tag: od; did you mean odd?");
    assert_eq!(
        said("zzz"),
        "no such run or tag: zzz; `helenus history` lists runs and their tags"
    );
    assert_eq!(
        said("r9"),
        "no such run: r9 (the newest is r5); `@last` is the last run that has ended"
    );
    assert_eq!(
        said("r7..r9"),
        "no such run: r9 (the newest is r5); `@last` is the last run that has ended"
    );
    assert!(said("r1,,r2").starts_with("no such run or tag: ;"));
    assert!(said("r2..r2").starts_with("no run of r2..r2 is complete"));
    let several = history.resolve_one("odd").expect_err("three");
    assert_eq!(several.to_string(), "odd names several runs: r1, r3, r5");
}

#[test]
fn tags_come_and_go() {
    let (_folder, mut history) = history();
    five(&mut history);
    let run: RunId = "r4".parse().expect("a name");
    assert!(history.add_tag(run, "even").expect("adds"));
    assert!(!history.add_tag(run, "even").expect("has it"));
    assert_eq!(history.resolve_one("even").expect("one").id, run);
    assert!(matches!(
        history.add_tag(run, "r7"),
        Err(HistoryError::Tag(_))
    ));
    let error = history.remove_tag(run, "odd").expect_err("not tagged");
    assert_eq!(error.to_string(), "run r4 has no tag odd");
    assert_eq!(error.hint().as_deref(), Some("it has even"));
    history.remove_tag(run, "even").expect("removes");
    assert!(history.resolve_one("even").is_err());
}

#[test]
fn an_experiment_holds_trials_that_hold_pairs_of_restarts() {
    let (_folder, mut history) = history();
    let experiment = experiment(&mut history, "gc", &["g1", "zgc"]);
    assert_eq!(experiment.to_string(), "e1");
    let (plan, host) = (plan(SEED), host());
    let mut run = |trial: u32, restart: u32, life: &str| {
        history.begin_run(&RunBeginning {
            life: Some(life),
            place: Some(RunPlace {
                experiment,
                trial,
                restart,
            }),
            ..beginning(&plan, &host)
        })
    };
    for (trial, restart, life) in [
        (1, 0, "a"),
        (0, 0, "b"),
        (0, 0, "b"),
        (0, 1, "c"),
        (1, 1, "d"),
    ] {
        run(trial, restart, life).expect("begins");
    }
    let again = run(1, 2, "a").expect_err("a life is one restart");
    assert!(
        matches!(again, HistoryError::OtherRestart { .. }),
        "{again}"
    );
    let other = run(1, 1, "e").expect_err("a restart is one life");
    assert!(
        matches!(other, HistoryError::OtherRestart { .. }),
        "{other}"
    );
    let third = run(2, 0, "f").expect_err("two trials");
    assert_eq!(third.to_string(), "experiment e1 has no trial 2");
    let runs = history.runs_of_experiment(experiment).expect("reads");
    let places: Vec<_> = runs
        .iter()
        .map(|run| {
            let place = &run.place;
            (place.trial_name.as_deref(), place.restart, place.restart_id)
        })
        .collect();
    assert_eq!(
        places,
        [
            (Some("zgc"), 0, 1),
            (Some("g1"), 0, 2),
            (Some("g1"), 0, 2),
            (Some("g1"), 1, 3),
            (Some("zgc"), 1, 4)
        ]
    );
    assert_eq!(runs[0].place.experiment_name.as_deref(), Some("gc"));
    let single = history.begin_run(&beginning(&plan, &host)).expect("begins");
    let place = history.run(single).expect("reads").summary.place;
    assert_eq!((place.experiment_name, place.restart_known), (None, false));
}

#[test]
fn comparisons_are_stored_whole() {
    let (_folder, mut history) = history();
    let one = history.add_comparison(&comparison(), 17).expect("adds");
    let two = history.add_comparison(&comparison(), 18).expect("adds");
    let stored = history.comparison(one).expect("reads");
    assert_eq!(
        (stored.made_wall_ns, &stored.comparison),
        (17, &comparison())
    );
    history.remove_comparison(two).expect("removes");
    let three = history.add_comparison(&comparison(), 19).expect("adds");
    assert_eq!(three.to_string(), "cmp3", "a number is never given twice");
    let listed: Vec<ComparisonId> = history
        .comparisons()
        .expect("reads")
        .iter()
        .map(|c| c.id)
        .collect();
    assert_eq!(listed, [three, one]);
    let error = history.comparison(two).expect_err("gone");
    assert_eq!(
        error.to_string(),
        "no such comparison: cmp2 (the newest is cmp3)"
    );
}

#[test]
fn a_comparison_of_a_newer_version_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("h");
    let mut history = History::open(&path).expect("opens");
    let id = history.add_comparison(&comparison(), 17).expect("adds");
    let raw = rusqlite::Connection::open(&path).expect("opens");
    raw.execute_batch(
        "UPDATE comparison SET comparison = replace(comparison, 'comparison/1', 'comparison/99')",
    )
    .expect("changes");
    let error = history.comparison(id).expect_err("newer");
    assert!(
        matches!(error, HistoryError::ComparisonFormat { .. }),
        "{error}"
    );
}
