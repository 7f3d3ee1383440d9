//! Several connections on one file take turns, from the making of the file on.

use crate::values::{beginning, host, interval, plan, result};
use helenus_model::seed::Seed;
use helenus_record::{Ending, History, RunFilter, RunState};
use std::path::Path;
use std::sync::Barrier;

const WRITERS: u64 = 4;
const RUNS: u64 = 5;

fn write(path: &Path, seed: u64) {
    let mut history = History::open(path).expect("opens");
    let (plan, host) = (plan(Seed(seed)), host());
    let result = result(&plan);
    for _ in 0..RUNS {
        let run = history.begin_run(&beginning(&plan, &host)).expect("begins");
        for n in 0..4 {
            history
                .add_intervals(run, &[interval(0, n), interval(1, n)])
                .expect("adds");
        }
        history
            .finish_run(run, &result, Ending::Complete)
            .expect("finishes");
        assert_eq!(
            history.run(run).expect("reads").result.as_ref(),
            Some(&result)
        );
    }
}

#[test]
fn writers_at_once_lose_nothing() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("state/h");
    let together = Barrier::new(WRITERS as usize);
    std::thread::scope(|scope| {
        for seed in 0..WRITERS {
            let (path, together) = (&path, &together);
            scope.spawn(move || {
                together.wait();
                write(path, seed);
            });
        }
    });
    let history = History::open(&path).expect("opens");
    let runs = history.runs(&RunFilter::default()).expect("lists");
    assert_eq!(runs.len() as u64, WRITERS * RUNS);
    for seed in 0..WRITERS {
        let own = runs.iter().filter(|line| line.seed == Seed(seed));
        assert_eq!(
            own.filter(|line| line.state == RunState::Complete).count() as u64,
            RUNS
        );
    }
    assert!(
        runs.iter()
            .all(|line| history.intervals(line.id).is_ok_and(|all| all.len() == 8))
    );
    let left: Vec<_> = fs_err::read_dir(folder.path().join("state"))
        .expect("lists")
        .collect();
    assert!(
        left.iter()
            .flatten()
            .all(|entry| !entry.file_name().to_string_lossy().ends_with(".new")),
        "{left:?}"
    );
}

#[test]
fn two_connections_of_one_thread_see_each_other() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("h");
    let mut one = History::open(&path).expect("opens");
    let mut two = History::open(&path).expect("opens");
    let (plan, host) = (plan(Seed(1)), host());
    let a = one.begin_run(&beginning(&plan, &host)).expect("begins");
    let b = two.begin_run(&beginning(&plan, &host)).expect("begins");
    assert!(a < b);
    two.add_intervals(a, &[interval(0, 0)]).expect("adds");
    one.add_intervals(b, &[interval(0, 1)]).expect("adds");
    assert_eq!(one.intervals(a).expect("reads"), [interval(0, 0)]);
    assert_eq!(two.intervals(b).expect("reads"), [interval(0, 1)]);
}

#[test]
fn many_may_make_the_file_at_once() {
    let folder = tempfile::tempdir().expect("folder");
    for round in 0..30 {
        let path = folder.path().join(format!("h{round}"));
        let together = Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    together.wait();
                    // Opened twice: the last one to close also removes the log, which races with the others.
                    drop(History::open(&path).expect("opens"));
                    drop(History::open(&path).expect("opens again"));
                });
            }
        });
    }
}
