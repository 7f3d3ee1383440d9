//! Clusters that belong to a process of another program end with it, however it ends.
//! Refuses to find anything left: every lab looks for processes, folders and addresses at its end.

use crate::lab::{PATIENCE, TestLab, look};
use rustix::process::Signal;
use std::process::{Child, Command};

/// Somebody's program, such as a test runner.
fn program() -> Child {
    let mut command = Command::new("sleep");
    command.arg("600").spawn().expect("a process")
}

fn end(mut program: Child) {
    program.kill().expect("SIGKILL");
    program.wait().expect("its end");
}

fn names(lab: &TestLab) -> Vec<String> {
    let listed = lab.json(&["list"]);
    let clusters = listed["clusters"].as_array().expect("clusters");
    let name = |cluster: &serde_json::Value| cluster["name"].as_str().map(str::to_owned);
    clusters.iter().filter_map(name).collect()
}

fn wait_for_names(lab: &TestLab, wanted: &[&str]) {
    look::wait_for("the clusters that shall be left", PATIENCE, || {
        let names = names(lab);
        (names == wanted)
            .then_some(())
            .ok_or_else(|| format!("{names:?}"))
    });
}

fn watchers(lab: &TestLab) -> Vec<i32> {
    let all = lab.processes().into_iter();
    all.filter(|p| p.command.contains("__owned"))
        .map(|p| p.pid)
        .collect()
}

#[test]
fn a_cluster_ends_with_its_owner_and_others_stay() {
    let lab = TestLab::fake("ready");
    let owner = program();
    let pid = owner.id().to_string();
    lab.done(&["up", "c", "-n", "2", "--owner", &pid]);
    lab.done(&["up", "--count", "2", "--prefix", "dev", "--owner", &pid]);
    lab.done(&["up", "mine"]);
    let listed = lab.json(&["list"]);
    assert_eq!(listed["clusters"][0]["owner"]["pid"], owner.id());
    assert!(listed["clusters"][3].get("owner").is_none(), "{listed}");
    end(owner);
    wait_for_names(&lab, &["mine"]);
    look::wait_for("the end of the watchers", PATIENCE, || {
        let left = watchers(&lab);
        left.is_empty().then_some(()).ok_or(format!("{left:?}"))
    });
}

#[test]
fn the_watcher_ends_with_the_cluster_and_spares_a_later_one() {
    let lab = TestLab::fake("ready");
    let owner = program();
    let pid = owner.id().to_string();
    lab.done(&["up", "c", "--owner", &pid]);
    assert_eq!(watchers(&lab).len(), 1);
    lab.done(&["rm", "c"]);
    lab.done(&["up", "c"]);
    look::wait_for("the end of the watcher", PATIENCE, || {
        let left = watchers(&lab);
        left.is_empty().then_some(()).ok_or(format!("{left:?}"))
    });
    end(owner);
    assert_eq!(names(&lab), ["c"]);
    assert_eq!(lab.node_pids().len(), 1);
}

#[test]
fn an_up_that_was_killed_leaves_nothing_when_its_owner_ends() {
    let lab = TestLab::fake("hang");
    let owner = program();
    let pid = owner.id().to_string();
    let mut up = lab.begin(&["up", "c", "-n", "2", "--owner", &pid]);
    look::wait_for("the nodes", PATIENCE, || {
        let pids = lab.node_pids();
        (pids.len() == 2)
            .then_some(())
            .ok_or_else(|| format!("{pids:?}"))
    });
    assert!(up.runs());
    up.signal(Signal::KILL);
    up.end();
    assert_eq!(names(&lab), ["c"]);
    end(owner);
    wait_for_names(&lab, &[]);
}

#[test]
fn an_owner_that_ends_in_the_middle_of_up_is_enough() {
    let lab = TestLab::fake("slow");
    let owner = program();
    let pid = owner.id().to_string();
    let up = lab.begin(&["up", "c", "--owner", &pid]);
    look::wait_for("the node", PATIENCE, || {
        let pids = lab.node_pids();
        (pids.len() == 1)
            .then_some(())
            .ok_or_else(|| format!("{pids:?}"))
    });
    end(owner);
    up.end();
    wait_for_names(&lab, &[]);
}

#[test]
fn where_the_watcher_was_killed_the_next_up_removes_the_cluster() {
    let lab = TestLab::fake("ready");
    let owner = program();
    let pid = owner.id().to_string();
    lab.done(&["up", "c", "--owner", &pid]);
    for watcher in watchers(&lab) {
        let watcher = rustix::process::Pid::from_raw(watcher).expect("a pid");
        rustix::process::kill_process(watcher, Signal::KILL).expect("it lives");
    }
    end(owner);
    assert_eq!(names(&lab), ["c"]);
    lab.done(&["up", "d"]);
    assert_eq!(names(&lab), ["d"]);
}

#[test]
fn a_number_without_a_process_is_refused() {
    let lab = TestLab::fake("ready");
    let gone = program();
    let pid = gone.id().to_string();
    end(gone);
    let said = lab.run(&["up", "c", "--owner", &pid]);
    assert_eq!(said.code, "2", "{said}");
    assert!(said.to_string().contains("--owner $$"), "{said}");
    assert_eq!(names(&lab), Vec::<String>::new());
}
