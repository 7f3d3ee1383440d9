//! The stand-in as a program: what it refuses, and how a crash looks to whoever started it.
//! Refuses nothing else: the behaviours are tested where clusters are made of them.

use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_helenus-fake-node"))
        .args(arguments)
        .output()
        .expect("the program starts")
}

#[test]
fn what_it_does_not_know_is_refused() {
    for arguments in [
        &[][..],
        &["ready"],
        &["read", "/tmp"],
        &["ready", "/tmp", "x"],
    ] {
        let ended = run(arguments);
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.starts_with("ERROR fake node: usage: "), "{said}");
    }
}

#[test]
fn a_folder_that_is_no_node_s_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("a path in UTF-8");
    let ended = run(&["ready", path]);
    assert_eq!(ended.status.code(), Some(1));
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(said.contains("cluster.json"), "{said}");
}
