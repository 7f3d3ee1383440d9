//! Baselines of stand-ins whose files are made by hand: what is linked, what comes back, what a cut-off leaves.
//! Refuses to believe the words alone: inodes, bytes and the state file are looked at.

use crate::lab::TestLab;
use rustix::process::Signal;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const TABLE: &str = "k/t-dbddee90e5a711f19b1de10c7b0fe052";
const LOCAL: &str = "system/local-7ad54392bcdd35a684174e047860b377";

fn data(lab: &TestLab, path: &str) -> PathBuf {
    lab.cluster("c").join("node1/data").join(path)
}

fn saved(lab: &TestLab, path: &str) -> PathBuf {
    lab.path("home/state/baselines/c/one/node1").join(path)
}

fn read(path: PathBuf) -> String {
    fs_err::read_to_string(path).expect("a file")
}

fn inode(path: PathBuf) -> u64 {
    fs_err::metadata(path).expect("a file").ino()
}

/// A cluster with files of a table, of the system, and what belongs to no baseline.
fn lab() -> TestLab {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c", "-n", "2"]);
    for (path, text) in [
        (format!("{TABLE}/nb-1-big-Data.db"), "first"),
        (format!("{TABLE}/nb-1-big-Statistics.db"), "level 0"),
        (format!("{LOCAL}/nb-1-big-Data.db"), "host id"),
        (format!("{TABLE}/snapshots/s/nb-1-big-Data.db"), "snapshot"),
    ] {
        let below = format!("home/state/clusters/c/node1/data/{path}");
        lab.write(&below, text);
    }
    lab
}

/// Everything that a later life may do to the files: write in place, add, delete.
fn live_on(lab: &TestLab) {
    let at = "home/state/clusters/c/node1";
    fs_err::remove_file(data(lab, &format!("{TABLE}/nb-1-big-Data.db"))).expect("a file");
    lab.write(
        &format!("{at}/data/{TABLE}/nb-1-big-Statistics.db"),
        "level 1",
    );
    lab.write(&format!("{at}/data/{TABLE}/nb-2-big-Data.db"), "second");
    lab.write(&format!("{at}/commitlog/CommitLog-7-1.log"), "later");
    lab.write(&format!("{at}/hints/1.hints"), "later");
}

#[track_caller]
fn as_it_was(lab: &TestLab) {
    assert_eq!(
        read(data(lab, &format!("{TABLE}/nb-1-big-Data.db"))),
        "first"
    );
    assert_eq!(
        read(data(lab, &format!("{TABLE}/nb-1-big-Statistics.db"))),
        "level 0"
    );
    assert_eq!(
        read(data(lab, &format!("{LOCAL}/nb-1-big-Data.db"))),
        "host id"
    );
    for gone in [
        data(lab, &format!("{TABLE}/nb-2-big-Data.db")),
        lab.cluster("c").join("node1/commitlog/CommitLog-7-1.log"),
        lab.cluster("c").join("node1/hints/1.hints"),
        lab.cluster("c").join("node1/data.replaced"),
        lab.cluster("c").join("node1/data.restoring"),
    ] {
        assert!(!gone.exists(), "{} is there", gone.display());
    }
}

fn state(lab: &TestLab) -> serde_json::Value {
    serde_json::from_str(&read(lab.cluster("c").join("cluster.json"))).expect("a state")
}

#[test]
fn what_is_written_once_is_shared_and_all_comes_back() {
    let lab = lab();
    let before = lab.node_pids();
    lab.done(&["baseline", "save", "c", "one"]);
    assert_eq!(lab.states("c").0, "running");
    assert_ne!(lab.node_pids(), before, "the nodes had to stop");
    let data_file = format!("{TABLE}/nb-1-big-Data.db");
    assert_eq!(
        inode(data(&lab, &data_file)),
        inode(saved(&lab, &data_file))
    );
    let statistics = format!("{TABLE}/nb-1-big-Statistics.db");
    assert_ne!(
        inode(data(&lab, &statistics)),
        inode(saved(&lab, &statistics))
    );
    assert!(!saved(&lab, &format!("{TABLE}/snapshots")).exists());
    assert_eq!(state(&lab)["baseline"]["last"]["tag"], "one");
    // Twice: what a node does to its own copies reaches neither the baseline nor the next life.
    for _ in 0..2 {
        live_on(&lab);
        lab.done(&["baseline", "restore", "c", "one"]);
        as_it_was(&lab);
        assert_eq!(lab.states("c").0, "running");
        assert_eq!(
            inode(data(&lab, &data_file)),
            inode(saved(&lab, &data_file))
        );
    }
    lab.done(&["baseline", "verify", "c", "one"]);
    let mark = state(&lab)["baseline"].clone();
    assert_eq!(mark["last"]["cache"]["dropped"], false);
    assert!(mark["work"].is_null(), "{mark}");
    // Stopped before, stopped after; and the baseline outlives its cluster.
    lab.done(&["stop", "c"]);
    lab.done(&["baseline", "save", "c", "one", "--replace"]);
    assert_eq!(lab.states("c").0, "stopped");
    lab.done(&["rm", "c"]);
    lab.done(&["baseline", "verify", "c", "one"]);
    lab.done(&["rm", "--all", "--with-baselines"]);
    assert!(!lab.path("home/state/baselines/c").exists());
}

#[test]
fn a_damaged_file_is_named_and_nothing_is_restored_from_it() {
    let lab = lab();
    lab.done(&["baseline", "save", "c", "one"]);
    let pids = lab.node_pids();
    let statistics = saved(&lab, &format!("{TABLE}/nb-1-big-Statistics.db"));
    // The same length and the same time: only its bytes differ.
    let time = fs_err::metadata(&statistics)
        .expect("a file")
        .modified()
        .expect("a time");
    fs_err::write(&statistics, "level 9").expect("a file");
    let file = fs_err::File::options()
        .write(true)
        .open(&statistics)
        .expect("a file");
    file.set_modified(time).expect("a time");
    let said = lab.run(&["baseline", "verify", "c", "one"]);
    assert_eq!(said.code, "1", "{said}");
    assert!(
        said.out
            .contains("nb-1-big-Statistics.db of node1 has other bytes"),
        "{said}"
    );
    let said = lab.run(&["baseline", "restore", "c", "one"]);
    assert_eq!(said.code, "3", "{said}");
    assert!(
        said.err
            .contains("nb-1-big-Statistics.db of node1 has other bytes"),
        "{said}"
    );
    for (path, words) in [
        (format!("{TABLE}/nb-1-big-Data.db"), "is missing"),
        (format!("{LOCAL}/nb-1-big-Data.db"), "has another length"),
    ] {
        let file = saved(&lab, &path);
        match words {
            "is missing" => fs_err::remove_file(file).expect("a file"),
            _ => fs_err::write(file, "longer than it was").expect("a file"),
        }
        let said = lab.run(&["baseline", "verify", "c", "one"]);
        assert!(
            said.out.contains(&format!("{path} of node1 {words}")),
            "{said}"
        );
    }
    assert_eq!(lab.node_pids(), pids, "the cluster was left alone");
}

#[test]
fn a_restore_that_was_cut_off_keeps_the_nodes_from_starting() {
    let lab = lab();
    lab.done(&["baseline", "save", "c", "one"]);
    lab.done(&["stop", "c"]);
    let mut half = state(&lab);
    half["baseline"]["work"] = serde_json::json!({"verb": "restore", "cluster": "c", "tag": "one"});
    let file = lab.cluster("c").join("cluster.json");
    fs_err::write(file, half.to_string()).expect("a state");
    // As it stands between the two renames.
    fs_err::remove_dir_all(data(&lab, "")).expect("a folder");
    shot!(lab.run(&["start", "c"]), @"
    exit code: 2
    --- standard error
    error: the restore of baseline one of c into c was interrupted
    hint: `helenus baseline restore c one` does it again, `helenus rm c` removes the cluster
    ");
    shot!(lab.run(&["baseline", "save", "c", "two"]), @"
    exit code: 2
    --- standard error
    error: the restore of baseline one of c into c was interrupted
    hint: `helenus baseline restore c one` does it again, `helenus rm c` removes the cluster
    ");
    lab.done(&["baseline", "restore", "c", "one"]);
    as_it_was(&lab);
    lab.done(&["baseline", "save", "c", "two"]);
}

#[test]
fn another_baseline_does_not_heal_a_restore_that_was_cut_off() {
    let lab = lab();
    lab.done(&["baseline", "save", "c", "one"]);
    lab.done(&["up", "d", "-n", "2"]);
    lab.done(&["stop", "d"]);
    let file = lab.cluster("d").join("cluster.json");
    let whole: serde_json::Value =
        serde_json::from_str(&read(file.clone())).expect("the state of d");
    let cut_off = |from: &str, tag: &str| {
        let mut half = whole.clone();
        half["baseline"]["work"] =
            serde_json::json!({"verb": "restore", "cluster": from, "tag": tag});
        fs_err::write(&file, half.to_string()).expect("the state of d");
    };
    let restore = ["baseline", "restore", "c", "one", "--into", "d"];
    let look = [&restore[..], &["--dry-run"]].concat();
    cut_off("c", "two");
    shot!(lab.run(&restore), @"
    exit code: 2
    --- standard error
    error: the restore of baseline two of c into d was interrupted
    hint: `helenus baseline restore c two --into d` does it again, `helenus rm d` removes the cluster
    ");
    assert_eq!(lab.run(&look).code, "2");
    // Its own system tables may be half replaced.
    cut_off("d", "one");
    shot!(lab.run(&restore), @"
    exit code: 2
    --- standard error
    error: the restore of baseline one of d into d was interrupted
    hint: `helenus baseline restore d one` does it again, `helenus rm d` removes the cluster
    ");
    assert_eq!(lab.run(&["start", "d"]).code, "2");
    cut_off("c", "one");
    lab.done(&look);
    lab.done(&restore);
    assert_eq!(lab.states("d").0, "running");
}

#[test]
fn an_unfinished_baseline_is_never_used_and_goes_away() {
    let lab = lab();
    lab.write("home/state/baselines/c/.partial-one/node1/x", "half");
    let listed = lab.json(&["baseline", "list"]);
    assert_eq!(listed["baselines"], serde_json::json!([]));
    assert_eq!(
        lab.run(&["baseline", "verify", "c", ".partial-one"]).code,
        "2"
    );
    lab.done(&["baseline", "save", "c", "one"]);
    assert!(!lab.path("home/state/baselines/c/.partial-one").exists());
}

/// Kills the command at eight moments of it, spread over the time that an undisturbed one takes.
fn at_eight_moments(words: &[&str], after: impl Fn(&TestLab)) {
    let lab = lab();
    lab.done(&["baseline", "save", "c", "one"]);
    let begin = Instant::now();
    lab.done(words);
    let length: Duration = begin.elapsed();
    for moment in 0..8_u32 {
        live_on_if_whole(&lab);
        let mut command = lab.begin(words);
        std::thread::sleep(length * (moment * 2 + 1) / 16);
        if command.runs() {
            command.signal(Signal::KILL);
        }
        command.end();
        after(&lab);
    }
}

fn live_on_if_whole(lab: &TestLab) {
    if data(lab, &format!("{TABLE}/nb-1-big-Data.db")).exists() {
        live_on(lab);
    }
}

#[test]
fn kill_9_of_a_restore_at_any_moment_is_healed_by_the_next() {
    at_eight_moments(&["baseline", "restore", "c", "one"], |lab| {
        let started = lab.run(&["start", "c"]);
        assert!(
            started.code == "0" || started.err.contains("was interrupted"),
            "{started}"
        );
        lab.done(&["baseline", "restore", "c", "one"]);
        as_it_was(lab);
    });
}

#[test]
fn kill_9_of_a_save_at_any_moment_leaves_a_whole_baseline_or_none() {
    at_eight_moments(&["baseline", "save", "c", "one", "--replace"], |lab| {
        lab.done(&["start", "c"]);
        let listed = lab.json(&["baseline", "list"]);
        for one in listed["baselines"].as_array().expect("a list") {
            assert!(one["problem"].is_null(), "{one}");
            lab.done(&["baseline", "verify", "c", "one"]);
        }
        assert_eq!(lab.states("c").0, "running");
    });
}
