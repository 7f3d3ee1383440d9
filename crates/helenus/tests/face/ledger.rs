//! `ledger` and `run --ledger` as the words that a person or a program gets: help, mistakes, plans.
//! Refuses to send a write: what ledgers find stands in the lifecycle ring.

use crate::lab::TestLab;

fn bare() -> TestLab {
    let mut lab = TestLab::new();
    lab.only_own_programs();
    lab
}

const PROFILE: &str = "
keyspace: app
table: events
table_definition: |
  CREATE TABLE events (user text, day int, note text, PRIMARY KEY (user, day));
queries:
  rename:
    cql: update events set note = ? where user = ? and day = ?
  one:
    cql: select * from events where user = ? and day = ?
";

#[test]
fn a_ledger_of_a_cluster_that_is_removed_is_refused() {
    shot!(bare().run(&["run", "standard1", "--ops", "write=1", "--ledger"]), @"
    exit code: 2
    --- standard error
    error: a ledger is read back from a cluster, and this run's is removed at its end
    hint: bring one up (`helenus up c`), and add --cluster c
    ");
}

#[test]
fn what_cannot_be_recognised_later_is_refused_with_its_cure() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    let run = |words: &[&str]| {
        let more = ["--cluster", "c", "--count", "10", "--ledger"];
        lab.run(&[&["run"], words, &more].concat())
    };
    shot!(run(&["standard1", "--ops", "read=1"]), @"
    exit code: 2
    --- standard error
    error: --ledger: no operation of the run writes
    hint: add one that writes with --ops, such as write=1
    ");
    shot!(run(&["counter1"]), @"
    exit code: 2
    --- standard error
    error: --ledger: insert adds to counters, and a sum does not show which writes it contains
    hint: a ledger needs a table with a regular column of a native type
    ");
    let path = lab.write("events.yaml", PROFILE);
    let path = path.to_string_lossy();
    shot!(run(&[&path, "--ops", "insert=1,rename=1"]), @"
    exit code: 2
    --- standard error
    error: --ledger: rename changes rows that insert has written
    hint: leave the operation out with --ops: a ledger is kept of plain inserts
    ");
    let conditional = format!("{PROFILE}insert:\n  condition: IF NOT EXISTS\n");
    let path = lab.write("conditional.yaml", &conditional);
    shot!(run(&[&path.to_string_lossy(), "--ops", "insert=1"]), @"
    exit code: 2
    --- standard error
    error: --ledger: insert is conditional, and the coordinator gives such a write its timestamp
    hint: leave the operation out with --ops: a ledger is kept of plain inserts
    ");
    let partial = format!("{PROFILE}insert:\n  select: fixed(1)/2\n");
    let path = lab.write("partial.yaml", &partial);
    shot!(run(&[&path.to_string_lossy(), "--ops", "insert=1"]), @"
    exit code: 2
    --- standard error
    error: --ledger: insert writes only a part of its rows or columns, or they expire
    hint: write all: select and row-population fixed(1)/1, no default_time_to_live
    ");
    // Nothing was begun.
    assert!(!lab.path("home/state/ledgers").exists());
}

#[test]
fn ledgers_that_there_are_not() {
    let lab = TestLab::fake("serve");
    shot!(lab.run(&["ledger", "check", "@last"]), @"
    exit code: 2
    --- standard error
    error: the history contains no run
    hint: `helenus bench` makes one
    ");
    lab.done(&["up", "c"]);
    let write = ["run", "standard1", "--ops", "write=1", "--count", "10"];
    lab.measured(&[&write[..], &["--cluster", "c"]].concat());
    shot!(lab.run(&["ledger", "check", "r1"]), @"
    exit code: 2
    --- standard error
    error: r1 has no ledger
    hint: `helenus run … --ledger` writes one
    ");
    let path = lab.write("notes.txt", "what is to be done today");
    shot!(lab.run(&["ledger", "show", &path.to_string_lossy()]), @"
    exit code: 2
    --- standard error
    error: the ledger [LAB]/notes.txt cannot be used
      caused by: it is not a ledger
    hint: name a run, or a file that --ledger has made
    ");
    shot!(lab.run(&["ledger", "show", "./nowhere.ledger"]), @"
    exit code: 2
    --- standard error
    error: the ledger ./nowhere.ledger cannot be read
      caused by: No such file or directory (os error 2)
    hint: give its current path; a run that ended before it started has no ledger
    ");
    let path = lab.write("short.ledger", "HELENUSL");
    shot!(lab.run(&["ledger", "show", &path.to_string_lossy()]), @"
    exit code: 2
    --- standard error
    error: the ledger [LAB]/short.ledger cannot be used
      caused by: it ends before its first record
    hint: the generator ended before it wrote anything
    ");
}

#[test]
fn levels_that_reads_do_not_have() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    let write = ["run", "standard1", "--ops", "write=1", "--count", "10"];
    lab.measured(&[&write[..], &["--cluster", "c", "--ledger"]].concat());
    shot!(lab.run(&["ledger", "check", "r1", "--cl", "EACH_QUORUM"]), @"
    exit code: 2
    --- standard error
    error: a ledger cannot be checked at EACH_QUORUM
    hint: QUORUM or ALL read every data centre
    ");
    shot!(lab.run(&["ledger", "check", "r1", "--client-dc", "DC9"]), @r#"
    exit code: 2
    --- standard error
    error: no node of "DC9" answers
    hint: name another with --client-dc, or start its nodes
    "#);
}
