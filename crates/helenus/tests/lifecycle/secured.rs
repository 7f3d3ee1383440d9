//! What `up --auth` and `--tls` do where the node does not play along: a fake one lets everybody in and speaks no TLS.
//! Refuses Cassandra's own log-ins and handshakes: they are for the real ring.

use crate::lab::TestLab;
use std::os::unix::fs::PermissionsExt as _;

/// Who lets the stock superuser in is not ready, and nothing of it goes on running.
#[test]
fn a_cluster_that_still_takes_the_stock_superuser_is_not_ready() {
    let lab = TestLab::fake("ready");
    let said = lab.run(&["up", "c", "--auth"]);
    assert_eq!(said.code, "4", "{said}");
    let text = "the default superuser can still log in to node1";
    assert!(said.err.contains(text), "{said}");
    let listed = lab.run(&["list"]);
    assert!(listed.out.contains("stopped"), "{listed}");
    // What was made stays as it was: a second try finishes with the same password.
    let password = lab.cluster("c").join("credentials/password");
    let before = fs_err::read_to_string(&password).expect("a password");
    let mode = fs_err::metadata(&password)
        .expect("a file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(lab.run(&["start", "c"]).code, "4");
    assert_eq!(
        fs_err::read_to_string(&password).expect("a password"),
        before
    );
    let state = fs_err::read_to_string(lab.cluster("c").join("cluster.json")).expect("a state");
    assert!(
        !state.contains(before.trim()),
        "the state names the file only"
    );
    assert_eq!(lab.run(&["rm", "c"]).code, "0");
    assert!(!lab.cluster("c").exists());
}

/// Nobody falls back to a connection in the clear.
#[test]
fn a_node_without_tls_is_not_talked_to() {
    let lab = TestLab::fake("ready");
    // Time enough for a busy machine to have it listen.
    let said = lab.run(&["up", "c", "--tls", "--client-auth", "--ready-within", "3s"]);
    assert_eq!(said.code, "4", "{said}");
    assert!(said.err.contains("TLS"), "{said}");
    let word = fs_err::read_to_string(lab.cluster("c").join("tls/keystore.password"));
    let word = word.expect("the keystores' password");
    let yaml = lab.cluster("c").join("node1/conf/cassandra.yaml");
    let mode = fs_err::metadata(&yaml)
        .expect("a file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = fs_err::read_to_string(&yaml).expect("its yaml");
    assert_eq!(text.matches(word.trim()).count(), 4, "{text}");
    let state = fs_err::read_to_string(lab.cluster("c").join("cluster.json")).expect("a state");
    assert!(
        !state.contains(word.trim()),
        "the plan has a mark in its place"
    );
    let dry = lab.run(&["up", "d", "--auth", "--tls", "--dry-run"]);
    assert!(
        dry.out.contains("(the text of tls/keystore.password)"),
        "{dry}"
    );
    assert!(!lab.cluster("d").exists());
    assert_eq!(lab.run(&["rm", "c"]).code, "0");
}

#[test]
fn flags_that_contradict_each_other_are_refused_before_anything_is_made() {
    let lab = TestLab::fake("ready");
    let alone = lab.run(&["up", "c", "--client-auth"]);
    assert_eq!(alone.code, "2", "{alone}");
    assert!(alone.err.contains("--tls"), "{alone}");
    let set = "authenticator=AllowAllAuthenticator";
    shot!(lab.run(&["up", "c", "--auth", "--set", set]), @"
    exit code: 2
    --- standard error
    error: authenticator is set by Helenus and cannot be changed
    hint: leave it out; `helenus up --dry-run` shows the value
    ");
    assert!(!lab.cluster("c").exists());
}
