//! What a clean-up takes and leaves.
//! Refuses to lose what is under way, tagged, or part of an experiment that goes on.

use crate::values::{SEED, beginning, experiment, host, interval, plan, result};
use helenus_record::{
    Ending, History, HistoryError, PruneChoice, RunBeginning, RunFilter, RunId, RunPlace, RunState,
    to_prune,
};
use std::path::Path;
use std::time::Duration;

const DAY_NS: u64 = 86_400_000_000_000;
const NOW: u64 = 1_750_000_000_000_000_000;

/// Runs r1 to r6, a day apart, the newest a day old; r3 is tagged, r2 and r5 are broken.
fn six(path: &Path) -> History {
    let mut history = History::open(path).expect("opens");
    let (plan, host) = (plan(SEED), host());
    for n in 1..=6 {
        let began = RunBeginning {
            began_wall_ns: NOW - (7 - n) * DAY_NS,
            tag: (n == 3).then_some("keep"),
            ..beginning(&plan, &host)
        };
        let run = history.begin_run(&began).expect("begins");
        history.add_intervals(run, &[interval(0, 1)]).expect("adds");
        if n != 2 && n != 5 {
            history
                .finish_run(run, &result(&plan), Ending::Complete)
                .expect("finishes");
        }
    }
    history
}

/// Nobody writes them any more.
fn abandoned(path: &Path) {
    let raw = rusqlite::Connection::open(path).expect("opens");
    raw.execute_batch("UPDATE run SET writer = 'boot 1 1' WHERE state = 'broken'")
        .expect("changes");
}

fn going(history: &History, choice: &PruneChoice) -> String {
    let all = history.runs(&RunFilter::default()).expect("lists");
    let names: Vec<String> = to_prune(&all, choice, NOW)
        .iter()
        .map(|run| run.id.to_string())
        .collect();
    names.join(" ")
}

#[test]
fn conditions_narrow_each_other_down() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("h");
    let history = six(&path);
    let any = PruneChoice::default();
    assert_eq!(
        going(&history, &any),
        "r6 r4 r1",
        "two are under way, one is tagged"
    );
    abandoned(&path);
    assert_eq!(going(&history, &any), "r6 r5 r4 r2 r1");
    let keep = PruneChoice {
        keep: 4,
        ..any.clone()
    };
    assert_eq!(going(&history, &keep), "r2 r1");
    let old = PruneChoice {
        older_than: Some(Duration::from_nanos(3 * DAY_NS)),
        tagged: true,
        ..any.clone()
    };
    assert_eq!(going(&history, &old), "r3 r2 r1");
    let broken = PruneChoice {
        state: Some(RunState::Broken),
        keep: 1,
        ..any.clone()
    };
    assert_eq!(going(&history, &broken), "r2");
    let by_tag = PruneChoice {
        tag: Some("keep".into()),
        ..any.clone()
    };
    assert_eq!(going(&history, &by_tag), "r3");
    let named = PruneChoice {
        named: Some(vec![
            "r3".parse().expect("a name"),
            "r4".parse().expect("a name"),
        ]),
        ..any
    };
    assert_eq!(going(&history, &named), "r4 r3");
}

#[test]
fn what_is_removed_is_gone_with_all_it_has_and_the_rest_stays() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("h");
    let mut history = six(&path);
    let id = |n: u32| -> RunId { format!("r{n}").parse().expect("a name") };
    let kept = history.run(id(4)).expect("reads");
    let error = history.remove_runs(&[id(1), id(2)]).expect_err("under way");
    assert!(matches!(error, HistoryError::Running { .. }), "{error}");
    assert!(history.run(id(1)).is_ok(), "half of it was done");
    abandoned(&path);
    history
        .remove_runs(&[id(1), id(2), id(3), id(5)])
        .expect("removes");
    assert_eq!(history.run(id(4)).expect("reads"), kept);
    assert_eq!(history.intervals(id(4)).expect("reads"), [interval(0, 1)]);
    assert_eq!(history.problems().expect("reads"), Vec::<String>::new());
    let raw = rusqlite::Connection::open(&path).expect("opens");
    let count = |table: &str| -> i64 {
        let sql = format!("SELECT count(*) FROM {table}");
        raw.query_row(&sql, [], |row| row.get(0)).expect("counts")
    };
    for (table, left) in [
        ("run", 2),
        ("restart", 2),
        ("trial", 2),
        ("experiment", 2),
        ("phase", 4),
        ("interval", 2),
        ("tag", 0),
    ] {
        assert_eq!(count(table), left, "{table}");
    }
    let (plan, host) = (plan(SEED), host());
    let next = history.begin_run(&beginning(&plan, &host)).expect("begins");
    assert_eq!(next, id(7), "a number is never given twice");
}

#[test]
fn runs_of_what_another_process_carries_out_stay() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("h");
    let mut history = History::open(&path).expect("opens");
    let experiment = experiment(&mut history, "a against b", &["a", "b"]);
    let (plan, host) = (plan(SEED), host());
    let place = RunPlace {
        experiment,
        trial: 0,
        restart: 0,
    };
    let mut measure = |place| {
        let began = RunBeginning {
            place,
            ..beginning(&plan, &host)
        };
        let run = history.begin_run(&began).expect("begins");
        history
            .finish_run(run, &result(&plan), Ending::Complete)
            .expect("finishes");
        run
    };
    let (paired, single) = (measure(Some(place)), measure(None));
    assert!(history.held_runs().expect("reads").is_empty(), "its own");
    // What lives as long as this test, and is not this process: the one that started it.
    let parent = std::os::unix::process::parent_id();
    let stat = fs_err::read_to_string(format!("/proc/{parent}/stat")).expect("it lives");
    let after_name = stat.rsplit_once(')').expect("a name").1;
    let started = after_name.split_ascii_whitespace().nth(19).expect("a time");
    let boot = fs_err::read_to_string("/proc/sys/kernel/random/boot_id").expect("reads");
    let writes = |writer: &str| {
        let raw = rusqlite::Connection::open(&path).expect("opens");
        raw.execute("UPDATE run SET writer = ?", [writer])
            .expect("changes");
    };
    writes(&format!("{} {parent} {started}", boot.trim()));
    let held = history.held_runs().expect("reads");
    assert_eq!(held.len(), 1, "{held:?}");
    let refused = history.remove_runs(&[single, paired]).expect_err("held");
    assert_eq!(
        refused.to_string(),
        format!("run {paired} belongs to experiment a against b, which is under way")
    );
    assert!(history.run(single).is_ok(), "half of it was done");
    writes("boot 1 1");
    history.remove_runs(&[single, paired]).expect("removes");
}

#[test]
fn an_experiment_that_lost_a_run_can_go_on() {
    let folder = tempfile::tempdir().expect("folder");
    let mut history = History::open(&folder.path().join("h")).expect("opens");
    let experiment = experiment(&mut history, "gc", &["g1", "zgc"]);
    let (plan, host) = (plan(SEED), host());
    let begin = |history: &mut History, trial| {
        let place = RunPlace {
            experiment,
            trial,
            restart: 0,
        };
        let run = history
            .begin_run(&RunBeginning {
                place: Some(place),
                ..beginning(&plan, &host)
            })
            .expect("begins");
        history
            .finish_run(run, &result(&plan), Ending::Complete)
            .expect("finishes");
        run
    };
    let (a, b) = (begin(&mut history, 0), begin(&mut history, 1));
    history.remove_runs(&[a]).expect("removes");
    let again = begin(&mut history, 0);
    let runs = history.runs_of_experiment(experiment).expect("reads");
    let left: Vec<RunId> = runs.iter().map(|run| run.id).collect();
    assert_eq!(left, [b, again]);
}
