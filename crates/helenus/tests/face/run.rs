//! `run` and `populate` as the words that a person or a program gets: help, mistakes, plans.
//! Refuses to run any of them: what they do stands in the lifecycle ring.

use crate::lab::TestLab;

fn bare() -> TestLab {
    let mut lab = TestLab::new();
    lab.only_own_programs();
    lab
}

fn with_cluster() -> TestLab {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    lab
}

#[test]
fn workloads_that_there_are_not() {
    shot!(bare().run(&["run", "standrad1", "--ops", "write=1"]), @r#"
    exit code: 2
    --- standard error
    error: "standrad1" is not a built-in workload
    hint: did you mean standard1? known: standard1, counter1, kv, timeseries, iot, ip2location, ycsb-a, ycsb-b, ycsb-c, ycsb-d, ycsb-e, ycsb-f; a profile is a file: standrad1.yaml
    "#);
    shot!(bare().run(&["run", "iot", "--phase", "maim"]), @r#"
    exit code: 2
    --- standard error
    error: iot has no phase "maim"
    hint: did you mean main? it has rampup, main, verify
    "#);
    shot!(bare().run(&["run", "iot", "--param", "source=5"]), @r#"
    exit code: 2
    --- standard error
    error: iot has no parameter "source"
    hint: did you mean sources? it has rampup-cycles, main-cycles, keyspace, table, rf, sources, stations, timespeed, limit, expiry_minutes, compression, read_ratio, write_ratio, read_cl, write_cl, instrument, addzeroes
    "#);
    shot!(bare().run(&["run", "./none.yaml", "--ops", "insert=1"]), @"
    exit code: 2
    --- standard error
    error: failed to open file `./none.yaml`: No such file or directory (os error 2)
    ");
}

#[test]
fn mixes_that_cannot_be() {
    shot!(bare().run(&["run", "standard1"]), @"
    exit code: 2
    --- standard error
    error: which operations of standard1? it has write, read
    hint: name them with their weights, such as --ops write=1
    ");
    shot!(bare().run(&["run", "standard1", "--ops", "wrote=1"]), @r#"
    exit code: 2
    --- standard error
    error: standard1 has no operation "wrote"
    hint: did you mean write? it has write, read
    "#);
    shot!(bare().run(&["run", "standard1", "--ops", "write=0"]), @"
    exit code: 2
    --- standard error
    error: every weight of the mix is 0
    hint: give one of the operations a weight above 0
    ");
    shot!(bare().run(&["run", "standard1", "--ops", "write=x"]), @r#"
    exit code: 2
    --- standard error
    error: invalid value 'write=x' for '--ops <NAME=N,…>': "write=x" is not an operation with its weight: write it as insert=3

    For more information, try '--help'.
    "#);
}

#[test]
fn rates_and_positions_that_are_none() {
    let words = ["run", "standard1", "--ops", "write=1"];
    let with = |more: &[&str]| bare().run(&[&words[..], more].concat());
    shot!(with(&["--rate", "1000..5000"]), @r#"
    exit code: 2
    --- standard error
    error: invalid value '1000..5000' for '--rate <RATE>': "1000..5000" is not a ramp: write it as '1000..5000 over 60s'

    For more information, try '--help'.
    "#);
    shot!(with(&["--rate-steps", "100,200"]), @"
    exit code: 2
    --- standard error
    error: the following required arguments were not provided:
      --step <TIME>

    Usage: helenus run --step <TIME> --ops <NAME=N,…> --rate-steps <RATE,…> <WORKLOAD>

    For more information, try '--help'.
    ");
    shot!(with(&["--positions", "9..5"]), @r#"
    exit code: 2
    --- standard error
    error: invalid value '9..5' for '--positions <HOW>': "9..5" is not sequential, uniform, FROM..TO or a distribution such as gaussian(0..1M)

    For more information, try '--help'.
    "#);
    shot!(with(&["--positions", "gauss(1..5"]), @r#"
    exit code: 2
    --- standard error
    error: invalid value 'gauss(1..5' for '--positions <HOW>': "gauss(1..5" is not a distribution: write it as uniform(min..max)

    For more information, try '--help'.
    "#);
}

#[test]
fn searches_that_cannot_be() {
    let words = ["run", "standard1", "--ops", "write=1"];
    let with = |more: &[&str]| bare().run(&[&words[..], more].concat());
    shot!(with(&["--slo", "p98<10ms"]), @r#"
    exit code: 2
    --- standard error
    error: invalid value 'p98<10ms' for '--slo <THRESHOLD>': no such measure: "p98"; did you mean p99? known: p50, p90, p95, p99, p99.9, mean, throughput, cpu, generator-cpu, max-rate

    For more information, try '--help'.
    "#);
    shot!(with(&["--slo", "p99<10ms", "--rate", "100"]), @"
    exit code: 2
    --- standard error
    error: the argument '--slo <THRESHOLD>' cannot be used with '--rate <RATE>'

    Usage: helenus run --ops <NAME=N,…> --slo <THRESHOLD> <WORKLOAD>

    For more information, try '--help'.
    ");
    shot!(with(&["--slo", "read.p99<10ms"]), @r#"
    exit code: 2
    --- standard error
    error: standard1 has no operation "read" in its mix
    hint: the mix has write
    "#);
    shot!(with(&["--slo", "p99<10ms", "--processes", "2"]), @"
    exit code: 2
    --- standard error
    error: a search has one generator process
    hint: leave --processes out
    ");
    shot!(with(&["--step", "10s"]), @"
    exit code: 2
    --- standard error
    error: --step is the length of a step, and there are no steps
    hint: give --rate-steps, --slo or --curve, or use --duration
    ");
    shot!(with(&["--slo", "p99<10ms", "--step", "1s"]), @"
    exit code: 2
    --- standard error
    error: trials of 1000 ms are too short to show whether the nodes fall behind
    hint: give a --step of 2s or more
    ");
    shot!(with(&["--slo", "p99<10ms", "--curve"]), @"
    exit code: 2
    --- standard error
    error: the argument '--slo <THRESHOLD>' cannot be used with '--curve'

    Usage: helenus run --ops <NAME=N,…> --slo <THRESHOLD> <WORKLOAD>

    For more information, try '--help'.
    ");
}

#[test]
fn profiles_with_mistakes() {
    let lab = bare();
    let path = lab.write(
        "p.yaml",
        "keyspace: k\ntable: t\ncolumnspecs:\n  - name: a\n",
    );
    shot!(lab.run(&["run", &path.to_string_lossy(), "--ops", "insert=1"]), @"
    exit code: 2
    --- standard error
    error: [LAB]/p.yaml, line 3: columnspecs: no such key
    hint: the nearest key is columnspec; keys here are specname, keyspace, keyspace_definition, table, table_definition, extra_definitions, columnspec, insert, queries, token_range_queries
    ");
    let path = lab.write("q.yaml", "keyspace: k\ntable: t\n");
    shot!(lab.run(&["run", &path.to_string_lossy(), "--ops", "insert=1"]), @"
    exit code: 2
    --- standard error
    error: [LAB]/q.yaml has no table_definition
    hint: add the table's CREATE TABLE statement, or name the cluster that has the table with --cluster
    ");
}

#[test]
fn plans() {
    let lab = with_cluster();
    let words = ["run", "iot", "--cluster", "c", "--seed", "7", "--dry-run"];
    let with = |more: &[&str]| lab.run(&[&words[..], more].concat());
    shot!(with(&["--phase", "main", "--slo", "p99<10ms", "--within", "5m"]), @"
    exit code: 0
    --- standard output
    iot on your cluster c
    phase main: select_read 10 %, insert 90 %
      closed loop, as fast as --in-flight allows, 64 in flight, 0 ms warm-up, 20000 ms measured
      partitions: in order over 10,000,000
    then trials of 5000 ms after 1000 ms of warm-up, until the highest rate is known that holds p99<10ms, for 300 s in all
    nothing was started (--dry-run)
    ");
    shot!(with(&["--rate", "100", "--count", "10000"]), @"
    exit code: 0
    --- standard output
    iot on your cluster c
    phase rampup: insert 100 %
      100/s, 64 in flight, 0 ms warm-up, 10,000 operations measured
      partitions: in order over 10,000,000
    phase main: select_read 10 %, insert 90 %
      100/s, 64 in flight, 0 ms warm-up, 10,000 operations measured
      partitions: in order over 10,000,000
    phase verify: select_verify 100 %
      100/s, 64 in flight, 0 ms warm-up, 10,000 operations measured
      partitions: in order over 10,000,000; what is read is checked
    nothing was started (--dry-run)
    ");
    let steps = [
        "--phase",
        "main",
        "--rate-steps",
        "100,200",
        "--step",
        "30s",
    ];
    shot!(with(&steps), @"
    exit code: 0
    --- standard output
    iot on your cluster c
    phase main@100: select_read 10 %, insert 90 %
      100/s, 64 in flight, 3000 ms warm-up, 30000 ms measured
      partitions: in order over 10,000,000
    phase main@200: select_read 10 %, insert 90 %
      200/s, 64 in flight, 3000 ms warm-up, 30000 ms measured
      partitions: in order over 10,000,000
    nothing was started (--dry-run)
    ");
    shot!(with(&["--ops", "select_read=7,insert=3", "--rate", "50..100 over 1m", "--verify"]), @"
    exit code: 0
    --- standard output
    iot on your cluster c
    phase main: select_read 70 %, insert 30 %
      50 to 100/s over 60000 ms, 64 in flight, 3000 ms warm-up, 60000 ms measured
      partitions: in order over 10,000,000; what is read is checked
    nothing was started (--dry-run)
    ");
    let plan = lab.json(&[&words[..], &["--phase", "main", "--rate", "100"]].concat());
    let phase = &plan["shape"][0];
    assert_eq!(plan["format"], "helenus.run-plan/1");
    assert_eq!(
        (&phase["name"], &phase["rate_per_s"]),
        (&"main".into(), &100.0.into())
    );
}

#[test]
fn plans_of_populate() {
    let lab = with_cluster();
    let words = [
        "populate",
        "kv",
        "--cluster",
        "c",
        "--rows",
        "1m",
        "--dry-run",
    ];
    shot!(lab.run(&[&words[..], &["--rate", "5k"]].concat()), @"
    exit code: 0
    --- standard output
    kv into c: 1,000,000 partitions, about 1,000,000 rows, seed 1
    5,000 partitions a second, 64 in flight, from partition 0
    write time-out, compactors and compaction throughput are raised meanwhile, and restored
    everything is read back
    nothing was started (--dry-run)
    ");
    let plan = lab.json(&words);
    assert_eq!(plan["format"], "helenus.populate-plan/1");
    assert_eq!(
        (&plan["rows"], &plan["from"]),
        (&1_000_000.into(), &0.into())
    );
    // Nothing is remembered of what was only planned.
    assert!(!lab.cluster("c").join("populate.json").exists());
}

#[test]
fn populates_that_cannot_be() {
    let lab = with_cluster();
    shot!(lab.run(&["populate", "standard1", "--cluster", "c"]), @"
    exit code: 2
    --- standard error
    error: the following required arguments were not provided:
      --rows <N>

    Usage: helenus populate --cluster <NAME> --rows <N> <WORKLOAD>

    For more information, try '--help'.
    ");
    shot!(lab.run(&["populate", "standard1", "--cluster", "d", "--rows", "5"]), @"
    exit code: 2
    --- standard error
    error: no such cluster: d
    hint: known: c
    ");
    shot!(lab.run(&["populate", "standard1", "--cluster", "c", "--rows", "none"]), @r#"
    exit code: 2
    --- standard error
    error: invalid value 'none' for '--rows <N>': "none" is not a number above 0, such as 1000000, 20k or 1m

    For more information, try '--help'.
    "#);
    shot!(lab.run(&["populate", "--put-back", "--cluster", "c"]), @"
    exit code: 0
    --- standard output
    nothing to restore
    ");
}
