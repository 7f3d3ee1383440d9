//! `reset` where it must not begin: no such cluster, a node that is stopped or killed, a foreign record.
//! Refuses to need Cassandra: what is refused is refused before a statement is sent.

use crate::lab::TestLab;

#[test]
fn an_unknown_cluster_is_refused_with_the_nearest_name() {
    let lab = TestLab::fake("ready");
    lab.run(&["up", "dev"]);
    let said = lab.run(&["reset", "dve"]);
    assert_eq!(said.code, "2", "{said}");
    assert!(said.err.contains("no such cluster: dve"), "{said}");
    assert!(said.err.contains("dev"), "{said}");
}

#[test]
fn a_node_that_is_down_is_named_with_its_cure_and_nothing_is_changed() {
    let lab = TestLab::fake("ready");
    lab.run(&["up", "c", "-n", "2"]);
    for (verb, condition, cure) in [("pause", "paused", "resume"), ("kill", "stopped", "start")] {
        lab.run(&[verb, "c/node2"]);
        let said = lab.run(&["reset", "c"]);
        assert_eq!(said.code, "4", "{said}");
        let message = format!("c/node2 is {condition}; nothing was changed");
        assert!(said.err.contains(&message), "{said}");
        assert!(
            said.err.contains(&format!("helenus {cure} c/node2")),
            "{said}"
        );
        lab.run(&[cure, "c/node2"]);
    }
}

#[test]
fn a_record_of_a_later_helenus_is_refused_by_name() {
    let lab = TestLab::fake("ready");
    lab.run(&["up", "c"]);
    let file = lab.path("home/state/clusters/c/origin.json");
    let text = r#"{"format": "helenus.origin/2", "origin": {"format": "helenus.origin/2", "schema_version": null, "elements": []}}"#;
    fs_err::write(file, text).expect("the record");
    let said = lab.run(&["reset", "c"]);
    assert_eq!(said.code, "3", "{said}");
    assert!(said.err.contains("helenus.origin/2"), "{said}");
}
