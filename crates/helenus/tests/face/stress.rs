//! `stress` where nothing is started: help, print, refusals with their cures, a dry run.
//! Refuses other exit codes than 0 and 1.

use crate::lab::TestLab;

#[test]
fn help_of_the_line() {
    shot!(TestLab::new().run(&["stress", "help", "-rate"]), @"
    exit code: 0
    --- standard output
    Operations in flight, and the rate.

    Usage: -rate [threads>=…] [threads<=…] [auto]
       or: -rate threads=… [throttle=…] [fixed=…]

      threads>=…                 Threads of the first run (4)
                                 a whole number
      threads<=…                 Most threads (1000)
                                 a whole number
      auto                       Add threads until the rate stops growing
      threads=…                  Operations in flight at once
                                 a whole number
      throttle=…                 At most this many operations per second; the latency shown is the service time (0/s)
                                 operations per second, as in 1000/s
      fixed=…                    Open loop at this many operations per second; the latency shown is the response time (0/s)
                                 operations per second, as in 1000/s
    ");
    shot!(TestLab::new().run(&["stress", "help", "wirte"]), @r#"
    exit code: 1
    --- standard error
    error: "wirte" is not a command of cassandra-stress: use one of read, write, mixed, counter_write, counter_read, user, help, print, legacy, version
    hint: did you mean write?
    "#);
}

#[test]
fn percentiles_of_a_distribution() {
    shot!(TestLab::new().run(&["stress", "print", "dist=exp(1..1k)"]), @"
    exit code: 0
    --- standard output
    % of samples    Range       % of total
    10.0            31                   3.1
    20.0            65                   6.5
    30.0            104                 10.4
    40.0            148                 14.8
    50.0            201                 20.1
    60.0            266                 26.6
    70.0            349                 34.9
    80.0            466                 46.6
    90.0            667                 66.7
    95.0            867                 86.7
    99.0            1000               100.0
    100.0           1000               100.0
    ");
}

#[test]
fn what_is_refused_has_its_cure() {
    shot!(TestLab::new().run(&["stress", "write", "n=5", "–pop", "seq=1..5"]), @"
    exit code: 1
    --- standard error
    error: the line was copied with a dash instead of a hyphen
    hint: helenus stress write n=5 -pop seq=1..5
    ");
    shot!(TestLab::new().run(&["stress", "write", "n=5", "-schema", "replication(strategy=NetworkTopologyStratergy,DC1=3)"]), @r#"
    exit code: 1
    --- standard error
    error: Cassandra has no replication strategy "NetworkTopologyStratergy"
    hint: helenus stress write n=5 -schema 'replication(strategy=NetworkTopologyStrategy,DC1=3)'
    "#);
    shot!(TestLab::new().run(&["stress", "write", "n=5", "-rate", "threads=4", "cl=ONE"]), @r#"
    exit code: 1
    --- standard error
    error: -rate does not take "cl=ONE": it takes threads>=…, threads<=…, auto, threads=…, throttle=…, fixed=…
    hint: cl=ONE goes after the command, before the first group
    "#);
    shot!(TestLab::new().run(&["stress", "write", "n=5", "--dry-run"]), @"
    exit code: 1
    --- standard error
    error: no such group of options: --dry-run; known: -pop, -insert, -col, -rate, -mode, -errors, -schema, -node, -log, -transport, -port, -graph, -tokenrange, -jmx, -credentials-file, -reporting
    hint: flags of helenus go before the command: helenus stress --dry-run write n=1000
    ");
    shot!(TestLab::new().run(&["stress", "write", "n=<number of rows>"]), @"
    exit code: 1
    --- standard error
    error: <number of rows> is a placeholder
    hint: replace it with a value
    ");
    shot!(TestLab::new().run(&["stress", "write", "n=5", "-mode", "thrift"]), @"
    exit code: 1
    --- standard error
    error: -mode thrift is no longer supported: servers no longer support Thrift
    hint: leave -mode thrift out, or write -mode native cql3
    ");
    shot!(TestLab::new().run(&["stress", "user", "profile=/nowhere.yaml", "ops(insert=1)"]), @"
    exit code: 1
    --- standard error
    error: failed to open file `/nowhere.yaml`: No such file or directory (os error 2)
    ");
}

#[test]
fn a_dry_run_prints_settings_statements_and_phases() {
    let words =
        "stress --dry-run counter_write n=1k no-warmup -rate threads=3 fixed=50/s -log no-settings";
    let said = TestLab::new().run(&words.split(' ').collect::<Vec<_>>());
    assert_eq!(said.code, "0", "{said}");
    let tail: Vec<&str> = said.out.lines().rev().take(7).collect();
    let tail: Vec<&str> = tail.into_iter().rev().collect();
    insta::assert_snapshot!(tail.join("\n"), @r#"
    CREATE KEYSPACE IF NOT EXISTS keyspace1 WITH replication = {'class': 'org.apache.cassandra.locator.SimpleStrategy', 'replication_factor': '1'} AND durable_writes = true;
    CREATE TABLE IF NOT EXISTS keyspace1.standard1 (key blob PRIMARY KEY, "C0" blob, "C1" blob, "C2" blob, "C3" blob, "C4" blob) WITH compression = {'enabled': 'false'};
    CREATE TABLE IF NOT EXISTS keyspace1.counter1 (key blob PRIMARY KEY, "C0" counter, "C1" counter, "C2" counter, "C3" counter, "C4" counter) WITH compression = {'enabled': 'false'};
    phase counter_write: insert 100 %
      50/s, 3 in flight, 0 ms warm-up, 1,000 operations measured
      partitions: 1 up to 1001; what is read is checked
    nothing was started (--dry-run)
    "#);
    let json = TestLab::new().run(
        &[
            &["--format", "json"],
            &words.split(' ').collect::<Vec<_>>()[..],
        ]
        .concat(),
    );
    let value: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
    assert_eq!(value["format"], "helenus.stress-plan/1");
    assert_eq!(value["phase"]["rate_per_s"], 50.0);
    assert_eq!(value["phase"]["shown"], "response");
}
