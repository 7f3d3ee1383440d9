//! Lines of ccm: what they stand for, and what is refused.
//! Refuses to start a node.

use crate::lab::{Said, TestLab};

fn ccm(lab: &TestLab, line: &str) -> Said {
    let words: Vec<&str> = std::iter::once("ccm").chain(line.split(' ')).collect();
    lab.run(&words)
}

#[test]
fn a_line_stands_for_lines_of_helenus() {
    let mut lab = TestLab::new();
    lab.set("CCM_MAX_HEAP_SIZE", "300M");
    shot!(ccm(&lab, "--dry-run create test -v binary:4.1.3 -n 2:1 -s --vnodes --jvm_arg -Dx=1"), @"
    exit code: 0
    --- standard output
    helenus up test --no-start --preset dev --addresses 127.0.0 --dc dc1=2 --dc dc2=1 --heap 300M --tokens 16 --cassandra 4.1.3 --jvm=-Dx=1
    helenus start test
    ");
    shot!(ccm(&lab, "--dry-run create test -n 3: -i 127.0.1. --pwd-auth"), @"
    exit code: 0
    --- standard output
    helenus up test --no-start --preset dev --addresses 127.0.1 --dc dc1=3 --heap 300M
    helenus start test --set authenticator=PasswordAuthenticator --set authorizer=CassandraAuthorizer
    ");
    lab.done(&["ccm", "create", "test"]);
    shot!(ccm(&lab, "status"), @"
    exit code: 0
    --- standard output
    Cluster: 'test'
    ---------------
    No node in this cluster yet
    ");
    shot!(ccm(&lab, "node1 start"), @"
    exit code: 2
    --- standard error
    error: test has no nodes yet
    hint: ccm populate -n 3 gives it three
    ");
}

#[test]
fn what_has_no_meaning_here_names_what_takes_its_place() {
    let lab = TestLab::new();
    shot!(ccm(&lab, "start"), @"
    exit code: 2
    --- standard error
    error: there is no current cluster
    hint: ccm create NAME makes one, ccm switch NAME chooses one
    ");
    shot!(ccm(&lab, "bulkload"), @"
    exit code: 2
    --- standard error
    error: ccm bulkload is not supported
    hint: helenus load FILE --into KEYSPACE.TABLE
    ");
    shot!(ccm(&lab, "create test -v git:trunk"), @"
    exit code: 2
    --- standard error
    error: git:trunk: Cassandra is not built from its source
    hint: build it, then: ccm create NAME --install-dir DIR
    ");
    shot!(ccm(&lab, "create test -n 1 -i 10.0.0."), @"
    exit code: 2
    --- standard error
    error: invalid value '10.0.0' for '--addresses <ADDRESS>': write the first address, such as 10.0.0.11, or 127.0.0 for [address], [address], …

    For more information, try '--help'.
    ");
    lab.done(&["ccm", "create", "test"]);
    shot!(ccm(&lab, "updateconf read_request_timeout=7s"), @r#"
    exit code: 2
    --- standard error
    error: "read_request_timeout=7s": this is not a key with a value
    hint: write 'key: value', such as 'read_request_timeout: 7s'
    "#);
    shot!(ccm(&lab, "switch tset"), @"
    exit code: 2
    --- standard error
    error: there is no cluster tset
    hint: ccm list: test
    ");
    shot!(ccm(&lab, "populate"), @"
    exit code: 2
    --- standard error
    error: how many nodes?
    hint: ccm populate -n 3, or -n 2:2 for two data centres
    ");
    shot!(lab.run(&["--format", "json", "ccm", "list"]), @r#"
    exit code: 2
    --- standard error
    {"format":"helenus.error/1","exit_code":2,"error":"ccm has no JSON output","caused_by":[],"log":[],"hint":"helenus list, status, env and the others have"}
    "#);
    shot!(ccm(&lab, "remove"), @"
    exit code: 0
    ");
}
