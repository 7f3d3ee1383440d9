//! `flame` and `run --flame`: what they refuse, and what a dry run says.
//! Refuses to profile: the stand-in is no JVM; real Cassandra is for `real`.

use crate::lab::TestLab;

#[test]
fn what_cannot_be_profiled_is_refused_with_a_cure() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    let refused = |words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        let said = lab.run(&words);
        format!("{} {}", said.code, said.err)
    };
    insta::assert_snapshot!(refused("flame c -o graph.png"), @"
    2 error: graph.png: no form of a flame graph has this ending
    hint: name it .html, .svg, or .txt for collapsed stacks
    ");
    assert!(
        refused("flame c --event heap")
            .starts_with("2 error: invalid value 'heap' for '--event <EVENT>'")
    );
    assert!(
        refused("flame c --for 1ms")
            .contains("is too short: a sample is taken every 5 ms, write 1s or more")
    );
    assert!(refused("flame c/node9").starts_with("2 error"));
    assert!(refused("flame --run r99").starts_with("2 error"));
    let traced = |words: &str| refused(&format!("run standard1 --ops write=1 {words}"));
    assert!(traced("--trace 0").starts_with("2 error: invalid value '0' for '--trace <N>'"));
    let searched = traced("--trace 5 --slo p99<10ms");
    assert!(
        searched.starts_with("2 error: ") && searched.contains("--trace"),
        "{searched}"
    );
    insta::assert_snapshot!(traced("--server-times --hosts 127.0.0.1"), @"
    2 error: --server-times reads MBeans of nodes that run on this machine
    hint: name your cluster with --cluster, or leave --server-times out
    ");
    let searched = traced("--server-times --slo p99<10ms");
    assert!(
        searched.starts_with("2 error: ") && searched.contains("--server-times"),
        "{searched}"
    );
    lab.write("notes.txt", "mine");
    let notes = lab.path("notes.txt");
    let kept = refused(&format!("flame c -o {}", notes.display()));
    assert!(
        kept.contains("already exists, and is not a report") && kept.contains("--force"),
        "{kept}"
    );
    let run = "run standard1 --ops write=1";
    assert!(refused(&format!("{run} --flame heap")).starts_with("2 error: invalid value 'heap'"));
    assert!(
        refused(&format!("{run} --hosts 127.0.0.1 --flame")).starts_with("2 error: the argument")
    );
    assert!(
        refused(&format!("{run} --flame-node node1"))
            .starts_with("2 error: the following required")
    );
    assert!(refused(&format!("{run} --flame --slo p99<10ms")).starts_with("2 error: the argument"));
}

#[test]
fn a_node_that_is_not_running_is_named() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    lab.done(&["stop", "c"]);
    let said = lab.run(&["flame", "c"]);
    assert_eq!(said.code, "4", "{said}");
    assert!(
        said.err.starts_with("error: node1 of c is not running"),
        "{said}"
    );
}

#[test]
fn a_run_that_was_not_profiled_has_no_graph() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c", "--jvm=-Dfake.delay_us=20000"]);
    let run = "run standard1 --cluster c --ops write=1 --count 20 --in-flight 2 --warmup 0s";
    lab.run(&run.split(' ').collect::<Vec<_>>());
    let said = lab.run(&["flame", "--run", "r1"]);
    assert_eq!(said.code, "2", "{said}");
    insta::assert_snapshot!(said.err, @"
    error: r1 was not profiled
    hint: profile a run with `helenus run … --flame`
    ");
}
