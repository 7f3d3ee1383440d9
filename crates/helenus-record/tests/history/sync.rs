//! Runs that two histories exchange through a folder.
//! Refuses a run that comes back after its removal, and a file that is not what its name says.

use crate::values::{SEED, beginning, experiment, host, interval, plan, result};
use helenus_record::{
    Ending, History, HistoryError, RunBeginning, RunFilter, RunId, RunPlace, RunState, SUFFIX,
};
use std::path::{Path, PathBuf};

/// A history with so many runs that have ended, and one that has not.
fn with(folder: &Path, name: &str, runs: u64) -> History {
    let mut history = History::open(&folder.join(name).join("h")).expect("opens");
    let (plan, host) = (plan(SEED), host());
    for n in 0..=runs {
        let began = RunBeginning {
            began_wall_ns: (1_000 + n) * 1_000_000_000,
            tag: (n == 0).then_some("first"),
            ..beginning(&plan, &host)
        };
        let run = history.begin_run(&began).expect("begins");
        history
            .add_intervals(run, &[interval(0, 1), interval(0, 2)])
            .expect("adds");
        if n < runs {
            history
                .finish_run(run, &result(&plan), Ending::Complete)
                .expect("finishes");
        }
    }
    history
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs_err::read_dir(folder).expect("a folder");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    files
}

fn all(history: &History) -> Vec<RunId> {
    let runs = history.runs(&RunFilter::default()).expect("lists");
    runs.iter().map(|run| run.id).collect()
}

#[test]
fn each_gets_what_the_other_has_and_it_is_the_same() {
    let folder = tempfile::tempdir().expect("folder");
    let shared = folder.path().join("shared");
    let mut a = with(folder.path(), "a", 3);
    let mut b = with(folder.path(), "b", 2);
    let mut seen = Vec::new();
    let mut progress = |done, all| seen.push((done, all));
    let sent = a.sync(&shared, false, &mut progress).expect("syncs");
    assert_eq!(seen, [(1, 3), (2, 3), (3, 3)]);
    assert_eq!((sent.sent.len(), sent.received.len()), (3, 0));
    let dry = b.sync(&shared, true, &mut |_, _| {}).expect("looks");
    assert_eq!((dry.sent.len(), dry.waiting, dry.received.len()), (2, 3, 0));
    let met = b.sync(&shared, false, &mut |_, _| {}).expect("syncs");
    assert_eq!((met.sent.len(), met.received.len()), (2, 3));
    assert_eq!(
        a.sync(&shared, false, &mut |_, _| {})
            .expect("syncs")
            .received
            .len(),
        2
    );
    assert_eq!(files(&shared).len(), 5);
    for history in [&mut a, &mut b] {
        assert_eq!(all(history).len(), 6, "five that ended, and one under way");
        let again = history
            .sync(&shared, false, &mut |_, _| {})
            .expect("nothing to do");
        assert_eq!(again, helenus_record::Synced::default());
        assert_eq!(history.problems().expect("reads"), Vec::<String>::new());
    }
    for (here, there) in [(1, 4), (2, 5), (3, 6)] {
        let name = |n: i64| format!("r{n}").parse::<RunId>().expect("a name");
        let (own, taken) = (
            a.run(name(here)).expect("reads"),
            b.run(name(there)).expect("reads"),
        );
        assert_eq!(own.result, taken.result);
        assert_eq!(own.plan_json, taken.plan_json);
        assert_eq!(own.summary.tags, taken.summary.tags);
        assert_eq!(own.summary.began_wall_ns, taken.summary.began_wall_ns);
        assert_eq!(
            a.intervals(name(here)).expect("reads"),
            b.intervals(name(there)).expect("reads")
        );
    }
}

#[test]
fn what_was_removed_stays_away_but_not_elsewhere() {
    let folder = tempfile::tempdir().expect("folder");
    let shared = folder.path().join("shared");
    let mut a = with(folder.path(), "a", 2);
    a.sync(&shared, false, &mut |_, _| {}).expect("syncs");
    let first = "r1".parse().expect("a name");
    a.remove_runs(&[first]).expect("removes");
    let met = a.sync(&shared, false, &mut |_, _| {}).expect("syncs");
    assert_eq!((met.received.len(), met.removed), (0, 1));
    let mut b = with(folder.path(), "b", 0);
    assert_eq!(
        b.sync(&shared, false, &mut |_, _| {})
            .expect("syncs")
            .received
            .len(),
        2
    );
}

#[test]
fn runs_of_one_life_stay_together() {
    let folder = tempfile::tempdir().expect("folder");
    let shared = folder.path().join("shared");
    let mut a = History::open(&folder.path().join("a")).expect("opens");
    let (plan, host) = (plan(SEED), host());
    let experiment = experiment(&mut a, "levels", &["one"]);
    for n in 0..4 {
        let began = RunBeginning {
            place: Some(RunPlace {
                experiment,
                trial: 0,
                restart: n / 2,
            }),
            began_wall_ns: u64::from(n) * 1_000_000_000,
            ..beginning(&plan, &host)
        };
        let run = a.begin_run(&began).expect("begins");
        a.finish_run(run, &result(&plan), Ending::Complete)
            .expect("finishes");
    }
    a.sync(&shared, false, &mut |_, _| {}).expect("syncs");
    let mut b = with(folder.path(), "b", 3);
    b.sync(&shared, false, &mut |_, _| {}).expect("syncs");
    let mut runs = b.runs(&RunFilter::default()).expect("lists");
    runs.retain(|run| run.state == RunState::Complete);
    runs.reverse();
    let restarts: Vec<_> = runs[3..].iter().map(|run| run.place.restart_id).collect();
    assert_eq!(restarts.len(), 4);
    assert!(restarts[0] == restarts[1] && restarts[2] == restarts[3]);
    assert_ne!(restarts[1], restarts[2]);
}

#[test]
fn what_is_no_run_is_named_and_the_others_are_taken() {
    let folder = tempfile::tempdir().expect("folder");
    let shared = folder.path().join("shared");
    let mut a = with(folder.path(), "a", 3);
    a.sync(&shared, false, &mut |_, _| {}).expect("syncs");
    let files = files(&shared);
    let spoilt = &files[0];
    let bytes = fs_err::read(spoilt).expect("reads");
    fs_err::write(spoilt, &bytes[..bytes.len() / 2]).expect("cuts it short");
    let other = shared.join(format!("{}{SUFFIX}", "0".repeat(32)));
    fs_err::copy(&files[1], &other).expect("copies");
    let foreign = shared.join(format!("{}{SUFFIX}", "1".repeat(32)));
    let raw = folder.path().join("raw");
    let connection = rusqlite::Connection::open(&raw).expect("opens");
    connection
        .execute_batch("CREATE TABLE run (uid TEXT); INSERT INTO run VALUES ('x')")
        .expect("makes");
    drop(connection);
    let packed = zstd::encode_all(&fs_err::read(&raw).expect("reads")[..], 3).expect("packs");
    fs_err::write(&foreign, packed).expect("writes");
    fs_err::write(shared.join("README.md"), "of no interest").expect("writes");

    let mut b = with(folder.path(), "b", 0);
    let met = b.sync(&shared, false, &mut |_, _| {}).expect("syncs");
    assert_eq!(met.received.len(), 2);
    let mut named: Vec<&Path> = met.refused.iter().map(|(path, _)| path.as_path()).collect();
    named.sort();
    let mut wrong = [spoilt.as_path(), &other, &foreign];
    wrong.sort();
    assert_eq!(named, wrong, "{:?}", met.refused);
    assert_eq!(all(&b).len(), 3);
    let why = |path: &Path| -> &str {
        let found = met.refused.iter().find(|(refused, _)| refused == path);
        &found.expect("refused").1
    };
    assert!(why(spoilt).starts_with("it cannot be unpacked: "));
    assert!(why(&foreign).contains("not a history of Helenus"));
    assert!(why(&other).contains("not the run that its name says"));
    assert_eq!(b.problems().expect("reads"), Vec::<String>::new());
    let beside = fs_err::read_dir(folder.path().join("b")).expect("a folder");
    let left = beside
        .map(|entry| entry.expect("an entry").file_name())
        .filter(|name| name.to_string_lossy().contains("sync"));
    assert_eq!(left.count(), 0, "nothing is left beside the history");
}

#[test]
fn a_run_of_another_shape_is_not_taken() {
    let folder = tempfile::tempdir().expect("folder");
    let shared = folder.path().join("shared");
    with(folder.path(), "a", 1)
        .sync(&shared, false, &mut |_, _| {})
        .expect("syncs");
    let file = files(&shared).remove(0);
    let raw = folder.path().join("raw");
    let bytes = zstd::decode_all(&fs_err::read(&file).expect("reads")[..]).expect("unpacks");
    fs_err::write(&raw, bytes).expect("writes");
    let connection = rusqlite::Connection::open(&raw).expect("opens");
    connection
        .execute_batch("CREATE VIEW stranger AS SELECT 1")
        .expect("makes");
    drop(connection);
    let packed = zstd::encode_all(&fs_err::read(&raw).expect("reads")[..], 3).expect("packs");
    fs_err::write(&file, packed).expect("writes");
    let met = with(folder.path(), "b", 0)
        .sync(&shared, false, &mut |_, _| {})
        .expect("syncs");
    assert_eq!(met.refused.len(), 1);
    assert!(met.refused[0].1.contains("tables"), "{:?}", met.refused);
}

#[test]
fn what_fails_here_is_no_fault_of_the_files() {
    let folder = tempfile::tempdir().expect("folder");
    let shared = folder.path().join("shared");
    with(folder.path(), "a", 1)
        .sync(&shared, false, &mut |_, _| {})
        .expect("syncs");
    let mut b = with(folder.path(), "b", 0);
    let (place, moved) = (folder.path().join("b"), folder.path().join("moved"));
    fs_err::rename(place, moved).expect("no place to unpack beside the history");
    let failed = b.sync(&shared, false, &mut |_, _| {});
    assert!(
        matches!(failed, Err(HistoryError::Folder { .. })),
        "{failed:?}"
    );
}
