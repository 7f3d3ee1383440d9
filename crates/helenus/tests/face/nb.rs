//! `nb`: what NoSQLBench's line is taken for, and what is refused by name.
//! Refuses to run anything.

use crate::lab::TestLab;

#[test]
fn other_workloads_and_parameters_are_refused_with_the_nearest() {
    let say = |line: &str| TestLab::new().run(&line.split(' ').collect::<Vec<_>>());
    shot!(say("nb"), @r#"
    exit code: 2
    --- standard error
    error: the line names no workload
    hint: helenus nb cql-iot rampup-cycles=1k main-cycles=10k cyclerate=100 async=100
    "#);
    shot!(say("nb cql-keyvalue main-cycles=10k"), @r#"
    exit code: 2
    --- standard error
    error: NoSQLBench's cql-keyvalue is not supported: of its workloads, only cql-iot is
    hint: helenus run kv; or helenus nb cql-iot rampup-cycles=1k main-cycles=10k cyclerate=100 async=100
    "#);
    shot!(say("nb cql-iot main_cycle=10k"), @r#"
    exit code: 2
    --- standard error
    error: cql-iot has no parameter "main_cycle"
    hint: did you mean main-cycles=? helenus workload show iot lists them
    "#);
    shot!(say("nb cql-iot cyclerate=fast"), @r#"
    exit code: 2
    --- standard error
    error: cyclerate=fast: it must be operations per second, such as 100 or 2k
    hint: as in helenus nb cql-iot rampup-cycles=1k main-cycles=10k cyclerate=100 async=100
    "#);
    shot!(say("nb cql-iot main-cycles=10k"), @r#"
    exit code: 2
    --- standard error
    error: the line has no hosts=, and none of your clusters runs
    hint: helenus up c, or name hosts with hosts=
    "#);
}

#[test]
fn a_dry_run_prints_both_phases() {
    let lab = TestLab::new();
    let line = "nb --dry-run cql-iot hosts=127.0.0.1 rampup-cycles=1k cyclerate=100 main-cycles=10k write_ratio=7 read_ratio=3 async=100 --progress console:1s -v";
    shot!(lab.run(&line.split(' ').collect::<Vec<_>>()), @r#"
    exit code: 0
    --- standard output
    iot on [address]:[port]
    phase rampup: insert 100 %
      100/s, 100 in flight, 0 ms warm-up, 1,000 operations measured
      partitions: in order over 1,000
    phase main: select_read 30 %, insert 70 %
      100/s, 100 in flight, 0 ms warm-up, 10,000 operations measured
      partitions: in order over 10,000
    nothing was started (--dry-run)
    "#);
}
