//! A writer killed at any moment leaves a history that opens and shows its run as broken.

use crate::values::{SEED, beginning, host, interval, plan, result};
use helenus_record::{Ending, History, RunFilter, RunState};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Marks the test binary as the writer, and says where to write.
const WRITE_TO: &str = "HELENUS_RECORD_TEST_WRITE_TO";
const BATCH: usize = 3;

/// The writer itself; does nothing when it is not asked to.
#[test]
fn writes_until_it_is_killed() {
    let Some(path) = std::env::var_os(WRITE_TO) else {
        return;
    };
    let mut history = History::open(Path::new(&path)).expect("opens");
    let (plan, host) = (plan(SEED), host());
    let run = history.begin_run(&beginning(&plan, &host)).expect("begins");
    // Bounded, so that nothing is left behind when the parent fails.
    let until = Instant::now() + Duration::from_secs(60);
    while Instant::now() < until {
        history
            .add_intervals(run, &[interval(0, 0), interval(0, 1), interval(1, 2)])
            .expect("adds");
    }
}

fn writer(path: &Path) -> Child {
    Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", "killed::writes_until_it_is_killed"])
        .env(WRITE_TO, path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts")
}

/// SIGKILL, and the body fetched.
fn kill(mut child: Child) {
    assert_eq!(
        child.try_wait().expect("asks"),
        None,
        "the writer ended by itself"
    );
    child.kill().expect("kills");
    child.wait().expect("ends");
}

fn integrity(path: &Path) -> String {
    let raw = rusqlite::Connection::open(path).expect("opens");
    raw.query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .expect("checks")
}

#[test]
fn a_killed_writer_leaves_its_run_as_broken() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("h");
    let child = writer(&path);
    let until = Instant::now() + Duration::from_secs(30);
    let intervals = |path: &Path| {
        let history = History::open(path).expect("opens beside the writer");
        let newest = history.latest().expect("reads");
        newest.map_or(0, |line| history.intervals(line.id).expect("reads").len())
    };
    while intervals(&path) < 2 * BATCH {
        assert!(Instant::now() < until, "the writer wrote nothing");
        std::thread::sleep(Duration::from_millis(5));
    }
    kill(child);
    assert_eq!(integrity(&path), "ok");
    let mut history = History::open(&path).expect("opens");
    let line = history.latest().expect("reads").expect("is there");
    assert_eq!((line.state, line.verdict), (RunState::Broken, None));
    let stored = history.intervals(line.id).expect("reads");
    assert!(
        stored.len() >= 2 * BATCH && stored.len().is_multiple_of(BATCH),
        "{}",
        stored.len()
    );
    assert_eq!(stored[..2], [interval(0, 0), interval(0, 1)]);
    // And the history goes on.
    let (plan, host) = (plan(SEED), host());
    let run = history.begin_run(&beginning(&plan, &host)).expect("begins");
    history
        .finish_run(run, &result(&plan), Ending::Complete)
        .expect("finishes");
    assert!(run > line.id);
}

#[test]
fn no_moment_is_a_bad_one_to_be_killed() {
    let folder = tempfile::tempdir().expect("folder");
    // One file for all, so that each writer also meets what the one before left; and a new one each time, so that
    // the making of it is hit too.
    let old = folder.path().join("old");
    for round in 0..12_u64 {
        let new = folder.path().join(format!("new{round}"));
        for path in [&old, &new] {
            let child = writer(path);
            std::thread::sleep(Duration::from_micros(700 * round * round));
            kill(child);
            let history = History::open(path).expect("opens");
            assert_eq!(integrity(path), "ok");
            for line in history.runs(&RunFilter::default()).expect("lists") {
                assert_eq!(line.state, RunState::Broken);
                assert_eq!(history.intervals(line.id).expect("reads").len() % BATCH, 0);
            }
        }
    }
    let runs = History::open(&old)
        .expect("opens")
        .runs(&RunFilter::default())
        .expect("lists");
    assert!(runs.len() > 1, "no writer got as far as a run");
}
