//! Versions: a committed file of each that was released opens; newer ones and other programs' files are refused.

use crate::values::{SEED, beginning, comparison, header, host, interval, plan, result};
use helenus_record::{Ending, History, HistoryError, RunBeginning, RunState};
use rusqlite::Connection;
use std::path::{Path, PathBuf};

fn committed(version: u32) -> PathBuf {
    let name = format!("tests/data/history-v{version}.sqlite");
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn change(path: &Path, sql: &str) {
    Connection::open(path)
        .expect("opens")
        .execute_batch(sql)
        .expect("changes");
}

#[test]
fn version_1_opens() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("h");
    fs_err::copy(committed(1), &path).expect("copies");
    let mut history = History::open(&path).expect("opens");
    let line = history.latest().expect("reads").expect("is there");
    assert_eq!(line.tags, ["committed"]);
    let stored = history.run(line.id).expect("reads");
    assert_eq!(stored.plan().expect("a plan").seed, SEED);
    let result = stored.result.expect("a result");
    assert_eq!(result.phases[0].total.completed, 4000);
    let service = result.phases[0].total.service.as_ref().expect("ended");
    assert_eq!((service.count, service.histogram.count()), (4000, 4000));
    assert!(!result.phases[0].doubts.is_empty());
    let intervals = history.intervals(line.id).expect("reads");
    assert_eq!(intervals.len(), 1);
    let write = &intervals[0].operations["write"];
    assert!(!write.response.is_empty() && write.wait.is_empty());
    assert!(!line.running, "nobody is known to write it");
    let (plan, host) = (plan(SEED), host());
    let next = history.begin_run(&beginning(&plan, &host)).expect("begins");
    assert_eq!(
        history.run(next).expect("reads").summary.state,
        RunState::Broken
    );
}

#[test]
fn an_old_file_ends_with_the_tables_of_a_new_one() {
    let folder = tempfile::tempdir().expect("folder");
    let schema = |path: &Path| -> Vec<String> {
        drop(History::open(path).expect("opens"));
        let raw = Connection::open(path).expect("opens");
        let sql = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name";
        let mut statement = raw.prepare(sql).expect("prepares");
        let rows = statement.query_map([], |row| row.get(0)).expect("asks");
        rows.collect::<rusqlite::Result<_>>().expect("reads")
    };
    let new = schema(&folder.path().join("new"));
    for version in 1..=5 {
        let old = folder.path().join(format!("v{version}"));
        fs_err::copy(committed(version), &old).expect("copies");
        assert_eq!(schema(&old), new, "version {version}");
    }
}

#[test]
fn a_newer_version_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("h");
    drop(History::open(&path).expect("opens"));
    change(&path, "PRAGMA user_version = 99");
    let error = History::open(&path).expect_err("newer");
    let said = error.to_string();
    assert!(
        said.contains("has version 99") && said.contains("versions up to 6"),
        "{said}"
    );
    assert!(error.hint().is_some());
    let raw = Connection::open(&path).expect("opens");
    let version: u32 = raw
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .expect("reads");
    assert_eq!(version, 99, "it was written to");
}

#[test]
fn what_is_no_history_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().expect("folder");
    let other = folder.path().join("other");
    change(&other, "CREATE TABLE theirs (x)");
    let before = fs_err::read(&other).expect("reads");
    let error = History::open(&other).expect_err("foreign");
    assert!(matches!(error, HistoryError::Foreign { .. }), "{error}");
    assert_eq!(fs_err::read(&other).expect("reads"), before);
    let text = folder.path().join("text");
    fs_err::write(
        &text,
        "not a database, but longer than its header would be: ".repeat(20),
    )
    .expect("writes");
    let error = History::open(&text).expect_err("no database");
    assert!(
        error
            .hint()
            .is_some_and(|hint| hint.contains("move the file aside")),
        "{error:?}"
    );
    let folder = History::open(folder.path()).expect_err("a folder");
    assert!(matches!(folder, HistoryError::Open { .. }), "{folder:?}");
}

/// Names the file to make: `HELENUS_RECORD_TEST_MAKE=tests/data/history-v6.sqlite` before a change of the schema.
const MAKE: &str = "HELENUS_RECORD_TEST_MAKE";

/// A history of this build's version, small enough to be committed, with a run, a comparison and a planned experiment.
fn make(to: &Path) {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("h");
    let (plan, host) = (plan(SEED), host());
    let mut history = History::open(&path).expect("opens");
    let began = RunBeginning {
        tag: Some("committed"),
        ..beginning(&plan, &host)
    };
    let run = history.begin_run(&began).expect("begins");
    history.set_header(run, &header(&plan)).expect("header");
    history.add_intervals(run, &[interval(0, 1)]).expect("adds");
    let result = result(&plan);
    history
        .finish_run(run, &result, Ending::of(result.verdict, false))
        .expect("finishes");
    history
        .add_comparison(&comparison(), 1_750_000_010_000_000_000)
        .expect("adds");
    crate::experiments::planned(&mut history);
    drop(history);
    // Small pages keep the file small.
    change(
        &path,
        "PRAGMA journal_mode = DELETE; PRAGMA page_size = 512; VACUUM",
    );
    fs_err::copy(&path, to).expect("copies");
}

#[test]
fn version_2_opens() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("h");
    fs_err::copy(committed(2), &path).expect("copies");
    let history = History::open(&path).expect("opens");
    let line = history.latest().expect("reads").expect("is there");
    let result = history.run(line.id).expect("reads").result;
    let total = &result.expect("a result").phases[0].total;
    // Nobody counted rows then.
    assert_eq!(
        (total.completed > 0, total.partitions, total.rows),
        (true, 0, 0)
    );
    assert_eq!(history.comparisons().expect("reads").len(), 1);
}

#[test]
fn version_3_opens() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("h");
    fs_err::copy(committed(3), &path).expect("copies");
    let history = History::open(&path).expect("opens");
    let line = history.latest().expect("reads").expect("is there");
    let intervals = history.intervals(line.id).expect("reads");
    let write = &intervals[0].operations["write"];
    assert_eq!((write.partitions, write.rows), (2000, 6000));
    assert_eq!(history.experiments().expect("reads"), Vec::new());
}

/// A history that [`make`] made, then or now.
fn is_what_was_made(committed: &Path) {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("h");
    fs_err::copy(committed, &path).expect("copies");
    let history = History::open(&path).expect("opens");
    assert_eq!(history.problems().expect("reads"), Vec::<String>::new());
    let line = history.latest().expect("reads").expect("is there");
    assert_eq!(
        (line.tags, line.running),
        (vec!["committed".to_owned()], false)
    );
    let intervals = history.intervals(line.id).expect("reads");
    let write = &intervals[0].operations["write"];
    assert_eq!(write.wait.count(), 2000);
    assert_eq!((write.partitions, write.rows), (2000, 6000));
    let stored = history.comparisons().expect("reads");
    assert_eq!(stored[0].id.to_string(), "cmp1");
    assert_eq!(stored[0].comparison.a.label, "before");
    let experiments = history.experiments().expect("reads");
    assert_eq!(experiments[0].name, "heap");
    let planned = history.planned_runs(experiments[0].id).expect("reads");
    assert_eq!(planned.len(), 6);
}

#[test]
fn version_4_opens() {
    is_what_was_made(&committed(4));
}

#[test]
fn version_5_opens() {
    if let Some(to) = std::env::var_os(MAKE) {
        make(&Path::new(env!("CARGO_MANIFEST_DIR")).join(to));
    }
    is_what_was_made(&committed(5));
}
