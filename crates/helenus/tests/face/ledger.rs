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
fn help_of_ledger() {
    shot!(bare().run(&["ledger", "--help"]), @"");
    shot!(bare().run(&["ledger", "check", "--help"]), @"");
    shot!(bare().run(&["ledger", "show", "--help"]), @"");
}

#[test]
fn a_ledger_of_a_cluster_that_is_removed_is_refused() {
    shot!(bare().run(&["run", "standard1", "--ops", "write=1", "--ledger"]), @"");
}

#[test]
fn what_cannot_be_told_again_is_refused_with_its_cure() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    let run = |words: &[&str]| {
        let more = ["--cluster", "c", "--count", "10", "--ledger"];
        lab.run(&[&["run"], words, &more].concat())
    };
    shot!(run(&["standard1", "--ops", "read=1"]), @"");
    shot!(run(&["counter1"]), @"");
    let path = lab.write("events.yaml", PROFILE);
    let path = path.to_string_lossy();
    shot!(run(&[&path, "--ops", "insert=1,rename=1"]), @"");
    let conditional = format!("{PROFILE}insert:\n  condition: IF NOT EXISTS\n");
    let path = lab.write("conditional.yaml", &conditional);
    shot!(run(&[&path.to_string_lossy(), "--ops", "insert=1"]), @"");
    let partial = format!("{PROFILE}insert:\n  select: fixed(1)/2\n");
    let path = lab.write("partial.yaml", &partial);
    shot!(run(&[&path.to_string_lossy(), "--ops", "insert=1"]), @"");
    // Nothing was begun.
    assert!(!lab.path("home/state/ledgers").exists());
}

#[test]
fn ledgers_that_there_are_not() {
    let lab = TestLab::fake("serve");
    shot!(lab.run(&["ledger", "check", "@last"]), @"");
    lab.done(&["up", "c"]);
    let write = ["run", "standard1", "--ops", "write=1", "--count", "10"];
    lab.measured(&[&write[..], &["--cluster", "c"]].concat());
    shot!(lab.run(&["ledger", "check", "r1"]), @"");
    let path = lab.write("notes.txt", "what is to be done today");
    shot!(lab.run(&["ledger", "show", &path.to_string_lossy()]), @"");
    shot!(lab.run(&["ledger", "show", "./nowhere.ledger"]), @"");
    let path = lab.write("short.ledger", "HELENUSL");
    shot!(lab.run(&["ledger", "show", &path.to_string_lossy()]), @"");
}

#[test]
fn levels_that_reads_do_not_have() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    let write = ["run", "standard1", "--ops", "write=1", "--count", "10"];
    lab.measured(&[&write[..], &["--cluster", "c", "--ledger"]].concat());
    shot!(lab.run(&["ledger", "check", "r1", "--cl", "EACH_QUORUM"]), @"");
    shot!(lab.run(&["ledger", "check", "r1", "--client-dc", "DC9"]), @"");
}
