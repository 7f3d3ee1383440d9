//! A schema with `up`: read before anything starts, and reported where it cannot be run as it is written.
//! Refuses to need Cassandra: what a server makes of it is seen on real ones.

use crate::lab::TestLab;

#[test]
fn a_file_that_cannot_be_run_starts_nothing() {
    let lab = TestLab::fake("ready");
    let absent = lab.run(&["up", "c", "--schema", "nowhere.cql"]);
    assert_eq!(absent.code, "2", "{absent}");
    assert!(
        absent.err.contains("failed to open file `nowhere.cql`"),
        "{absent}"
    );
    lab.write("empty.cql", "-- no statement\n");
    let file = lab.path("empty.cql").to_string_lossy().into_owned();
    let empty = lab.run(&["up", "c", "--schema", &file]);
    assert_eq!(empty.code, "2", "{empty}");
    assert!(empty.err.contains("contains no statement"), "{empty}");
    assert!(!lab.cluster("c").exists());
}

#[test]
fn a_dry_run_prints_what_would_be_fitted() {
    let lab = TestLab::fake("ready");
    let text =
        "\nCREATE KEYSPACE k WITH replication = {'class': 'NetworkTopologyStrategy', 'ams': 3};";
    lab.write("app.cql", text);
    let file = lab.path("app.cql").to_string_lossy().into_owned();
    for words in [
        &["up", "c", "--schema", &file, "--dry-run"][..],
        &[
            "up",
            "--count",
            "2",
            "--prefix",
            "d",
            "--schema",
            &file,
            "--dry-run",
        ][..],
    ] {
        let said = lab.run(words);
        assert_eq!(said.code, "0", "{said}");
        let message = "app.cql:2: replication {'class': 'NetworkTopologyStrategy', 'ams': 3} is run as \
                       {'class': 'NetworkTopologyStrategy', 'datacenter1': '1'}";
        assert!(said.err.contains(message), "{said}");
    }
}
