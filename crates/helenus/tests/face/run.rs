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
fn help_of_populate() {
    shot!(bare().run(&["populate", "--help"]), @r#"
    exit code: 0
    --- standard output
    Fill your cluster with a workload's data; resumes after an interruption

    Usage: helenus populate [OPTIONS] --cluster <NAME> [WORKLOAD]

    Arguments:
      [WORKLOAD]  A built-in workload (`helenus workload list`), or profiles: FILE.yaml[,FILE2.yaml]

    Options:
          --cluster <NAME>          Your cluster, which is filled [env: HELENUS_CLUSTER=]
          --format <FORMAT>         Text for people, or JSON for programs [default: text] [possible
                                    values: text, json]
          --rows <N>                Rows, such as 1000000 or 1m, in as many partitions as that takes
      -v, --verbose...              More detail on standard error; twice for everything. The log file
                                    always has it
          --partitions <N>          Partitions
      -q, --quiet                   Print only errors on standard error
          --param <NAME=VALUE>      A parameter of a built-in workload; may be repeated
          --with <OPTION=VALUE>     A table option as CQL writes it, such as "compaction={'class':
                                    'UnifiedCompactionStrategy'}"; may be repeated
          --rate <RATE>             Partitions a second [default: as fast as --in-flight allows]
          --in-flight <N>           Most operations in flight at once [default: 64]
          --cl <CL>                 Consistency level of the writes [default: LOCAL_QUORUM] [possible
                                    values: ONE, TWO, THREE, QUORUM, ALL, LOCAL_QUORUM, EACH_QUORUM,
                                    LOCAL_ONE]
          --replication-factor <N>  Replicas of each row in each data centre, or in those named, such as
                                    DC1=3,DC2=1, when the workload's keyspace is created; an existing
                                    keyspace must have the same [default: up to 3, as many as it has
                                    nodes, or as your own file sets]
          --seed <N>                Seed of the data; reads and checks need the same [default: 1]
          --tries <N>               How often a failed write is sent again before the command gives up
                                    [default: 20]
          --settle-within <TIME>    Longest wait for compactions at the end [default: 30m]
          --no-care                 Leave the nodes' settings alone
          --no-verify               Do not read everything back at the end
          --anew                    Discard an unfinished one, and start again
          --put-back                Undo what an interrupted one has changed at the nodes, and do
                                    nothing else
          --dry-run                 Show what would be done, do nothing
      -h, --help                    Print help

    Examples:
      helenus populate standard1 --rows 1000000 --cluster c --seed 7
                                             the same command again resumes it
      helenus populate users.yaml --partitions 20k --rate 5000 --cluster c
      helenus populate --put-back --cluster c
                                             restores only the nodes' settings, after a crash

    Each partition is written once and whole. While it loads, the nodes get a longer write time-out,
    more compactors and a higher compaction throughput; this is undone, also after a crash.
    At the end everything is flushed, compactions have finished, and every row is read back.
    "#);
}

#[test]
fn examples_of_run() {
    let said = bare().run(&["run", "--help"]);
    assert_eq!(said.code, "0", "{said}");
    let load = said.out.split_once("Load:\n").map_or("", |(_, load)| load);
    shot!(load, @"
          --rate <RATE>
              Operations a second: 2000, 2k, or '1000..5000 over 60s' [default: a closed loop]

          --rate-steps <RATE,…>
              One phase at each of these rates, each as long as --step

          --step <TIME>
              Length of each of --rate-steps

          --in-flight <N>
              Most operations in flight at once

              [default: 64]

          --processes <N>
              Generator processes that share rate, slots and operations, for loads beyond one process

              [default: 1]

          --duration <TIME>
              Measurement window [default: 12s, or the whole of a ramp]

          --count <N>
              Operations in the measurement window instead of a time; no warm-up unless set

          --warmup <TIME|auto>
              Warm-up before the measurement window, recorded separately; auto is 3s, and longer while
              the numbers still settle [default: auto; 3s with --duration, which is then kept exactly]

          --population <N>
              Partitions of the workload

          --positions <HOW>
              Which of them an operation uses: sequential, uniform, FROM..TO (without TO; the phase ends
              there), or a distribution such as 'gaussian(0..1M)' [default: sequential where all
              operations write, else uniform]

          --verify
              Compare the rows that are read (of profiles) with what must have been written

          --cl <CL>
              Consistency level of operations that set none

              [default: ONE]
              [possible values: ONE, TWO, THREE, QUORUM, ALL, LOCAL_QUORUM, EACH_QUORUM, LOCAL_ONE]

          --serial-cl <CL>
              Serial consistency of conditional statements that set none

              [possible values: SERIAL, LOCAL_SERIAL]

          --client-dc <DC>
              Data centre of the client, whose nodes coordinate [default: the first node's]

          --rtt <TIME|A:B=TIME>
              Round-trip time between all data centres during the run, or between two, such as
              DC1:DC2=20ms; may be repeated; the links of your cluster are restored afterwards

          --replication-factor <N>
              Replicas of each row in each data centre, or in those named, such as DC1=3,DC2=1, when the
              workload's keyspace is created; an existing keyspace must have the same [default: up to 3,
              as many as it has nodes, or as your own file sets]

          --fault <WORDS>
              A fault on the run's time line, counted from the first measurement window, such as 'at 10s
              for 20s partition DC3'; without for it lasts to the end; may be repeated (`helenus fault
              --help`)

          --arrivals <ARRIVALS>
              How arrivals are spread over time

              Possible values:
              - constant: Evenly spaced
              - poisson:  Independent, exponentially spaced

              [default: poisson]

          --pacing <PACING>
              How the generator waits; spin needs a core of its own

              [default: sleep]
              [possible values: sleep, spin]

          --seed <N>
              Root seed of the run [default: random, and printed]; a run with the same seed reads what
              this one wrote

          --max-errors <SHARE>
              Share of failed operations above which the number is invalid

              [default: 0.001]

          --ledger [<FILE|auto>]
              Record each write and its outcome, in FILE or beside the history

          --tag <WORD>
              A tag to find the run by

          --detail
              Print confidence intervals, service times and the generator's own use, too

          --dry-run
              Show the plan, start nothing

    Examples:
      helenus run standard1 --ops write=1 --rate 2000 --duration 60s
      helenus populate standard1 --rows 100000 --cluster c --seed 7
      helenus run standard1 --ops write=1,read=3 --population 100000 --cluster c --seed 7
                                             reads find what was written before, with the same seed
      helenus run iot --phase rampup --count 10000 --cluster c
      helenus run iot --phase main --rate 100 --count 10000 --cluster c
      helenus run users.yaml --ops insert=3,by_name=1 --cl QUORUM --cluster c
      helenus run users.yaml,events.yaml --ops users.insert=1,events.insert=4 --in-flight 128
      helenus run kv --rate '1000..5000 over 60s'
                                             the rate rises linearly, then stays
      helenus run kv --rate-steps 1000,2000,4000 --step 30s
      helenus run kv --cluster wan --rate 200 --rtt 40ms
                                             at this distance, which is undone afterwards
      helenus run kv --cluster wan --rate 200 --fault 'at 10s for 20s partition DC3'
      helenus run users.yaml --ops by_name=1 --verify --cluster c --seed 7
                                             what is read must be what was written
      helenus run standard1 --ops write=1 --cl QUORUM --cluster c --ledger
                                             helenus ledger check @last reports what is lost

    Without a rate it is a closed loop: as fast as --in-flight allows, without response times.
    ");
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

    Usage: helenus run --rate-steps <RATE,…> --step <TIME> --ops <NAME=N,…> <WORKLOAD>

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
