//! What a person may get wrong: flags, names, sizes, keys. Each with its words, its cure and exit code 2.
//! Refuses to let a mistake touch anything.

use crate::lab::TestLab;

/// Runs with nothing but the lab's own programs: a usage error needs neither JDK nor Maven.
fn bare() -> TestLab {
    let mut lab = TestLab::new();
    lab.only_own_programs();
    lab
}

#[test]
fn unknown_verb() {
    shot!(bare().run(&["upp"]), @"
    exit code: 2
    --- standard error
    error: unrecognized subcommand 'upp'

      tip: a similar subcommand exists: 'up'

    Usage: helenus [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
}

#[test]
fn unknown_flag() {
    shot!(bare().run(&["up", "--node", "3"]), @"
    exit code: 2
    --- standard error
    error: unexpected argument '--node' found

      tip: a similar argument exists: '--nodes'

    Usage: helenus up --nodes <N> [NAME]

    For more information, try '--help'.
    ");
}

#[test]
fn unknown_preset() {
    shot!(bare().run(&["up", "--preset", "tinny"]), @"
    exit code: 2
    --- standard error
    error: invalid value 'tinny' for '--preset <PRESET>'
      [possible values: tiny, dev, bench, doc001]

      tip: a similar value exists: 'tiny'

    For more information, try '--help'.
    ");
    shot!(bare().run(&["presets", "show", "huge"]), @"
    exit code: 2
    --- standard error
    error: invalid value 'huge' for '<NAME>'
      [possible values: tiny, dev, bench, doc001]

    For more information, try '--help'.
    ");
}

#[test]
fn unknown_format_and_shell() {
    shot!(bare().run(&["list", "--format", "yaml"]), @"
    exit code: 2
    --- standard error
    error: invalid value 'yaml' for '--format <FORMAT>'
      [possible values: text, json]

    For more information, try '--help'.
    ");
    shot!(bare().run(&["completions", "tcsh"]), @"
    exit code: 2
    --- standard error
    error: invalid value 'tcsh' for '<SHELL>'
      [possible values: bash, elvish, fish, powershell, zsh]

      tip: a similar value exists: 'zsh'

    For more information, try '--help'.
    ");
}

#[test]
fn sizes() {
    shot!(bare().run(&["up", "--heap", "500"]), @r#"
    exit code: 2
    --- standard error
    error: invalid value '500' for '--heap <SIZE>': "500" is not a size: write a number with K, M or G, such as 64M

    For more information, try '--help'.
    "#);
    shot!(bare().run(&["up", "--new-heap", "1T"]), @r#"
    exit code: 2
    --- standard error
    error: invalid value '1T' for '--new-heap <SIZE>': "1T" is not a size: write a number with K, M or G, such as 64M

    For more information, try '--help'.
    "#);
}

#[test]
fn durations() {
    shot!(bare().run(&["up", "--ready-within", "30"]), @r#"
    exit code: 2
    --- standard error
    error: invalid value '30' for '--ready-within <TIME>': "30" is not a duration: write a number with ms, s, m, h or d, such as 30s

    For more information, try '--help'.
    "#);
    shot!(bare().run(&["bench", "--duration", "1 day"]), @r#"
    exit code: 2
    --- standard error
    error: invalid value '1 day' for '--duration <TIME>': "1 day" is not a duration: write a number with ms, s, m, h or d, such as 30s

    For more information, try '--help'.
    "#);
}

#[test]
fn rates() {
    shot!(bare().run(&["bench", "--rate", "fast"]), @r#"
    exit code: 2
    --- standard error
    error: invalid value 'fast' for '--rate <RATE>': "fast" is not a rate: write operations per second, such as 2000, 2k or 2000/s

    For more information, try '--help'.
    "#);
    shot!(bare().run(&["bench", "--rate", "0"]), @r#"
    exit code: 2
    --- standard error
    error: invalid value '0' for '--rate <RATE>': "0" is not a rate: write operations per second, such as 2000, 2k or 2000/s

    For more information, try '--help'.
    "#);
    shot!(bare().run(&["bench", "--rate", "2000", "--closed"]), @"
    exit code: 2
    --- standard error
    error: the argument '--rate <RATE>' cannot be used with '--closed'

    Usage: helenus bench --rate <RATE>

    For more information, try '--help'.
    ");
}

#[test]
fn numbers() {
    shot!(bare().run(&["bench", "--in-flight", "0"]), @"
    exit code: 2
    --- standard error
    error: invalid value '0' for '--in-flight <N>': 0 is not in 1..=32768

    For more information, try '--help'.
    ");
    shot!(bare().run(&["up", "-n", "two"]), @r#"
    exit code: 2
    --- standard error
    error: invalid value 'two' for '--nodes <N>': "two": invalid digit found in string; write 3, or 5:5:5 for three data centres

    For more information, try '--help'.
    "#);
}

#[test]
fn set_with_an_unknown_key() {
    shot!(bare().run(&["up", "--set", "concurent_reads=16"]), @r#"
    exit code: 2
    --- standard error
    error: cassandra.yaml has no key "concurent_reads"
    hint: did you mean concurrent_reads?
    "#);
    shot!(bare().run(&["up", "--set", "zzz=16"]), @r#"
    exit code: 2
    --- standard error
    error: cassandra.yaml has no key "zzz"
    hint: the release's keys are listed in its conf/cassandra.yaml
    "#);
}

#[test]
fn lines_that_are_nearly_right_carry_their_cure() {
    for (line, cure) in [
        (
            "up c 3 --dry-run",
            "nodes are counted by -n: helenus up c -n 3",
        ),
        (
            "up c --dry-run --set concurrent_reads 64",
            "write --set concurrent_reads=64",
        ),
        (
            "up c --dry-run --set heap=1G",
            "did you mean the flag --heap?",
        ),
        ("up c --dry-run --set hints=false", "did you mean hint"),
        (
            "up c --dry-run --set concurrent_reads=1",
            "it takes 2 or more",
        ),
        (
            "up c --dry-run --set max_mutation_size=8MiB",
            "--set commitlog_segment_size=32MiB",
        ),
        ("up c --dry-run --jvm Xss1m", "write --jvm=-Xss1m"),
        (
            "up c --dry-run --rtt 20ms",
            "add another, such as -n 3:3 --rtt 20ms",
        ),
        ("up c --dry-run --release 5.9", "the nearest is"),
        ("bench --threads 0", "--in-flight"),
        ("bench --consistency FIVE", "--cl"),
        ("run iot --rf none", "--replication-factor"),
        (
            "bench --hosts 10.0.0.1:9042",
            "--hosts 10.0.0.1 --port 9042",
        ),
        (
            "guard --hosts 127.0.0.1:7000",
            "7000 is the port of nodes among themselves, and CQL's is mostly 9042; write the host alone",
        ),
        ("guard --hosts 127.0.0.1,db:9142", "--hosts db --port 9142"),
        ("count ks.t --fresh --resume", "--anew"),
        ("levels --cluster c --rtts 80", "--rtt"),
        ("history --release", "--cassandra"),
        ("report --out", "--html"),
        (
            "experiment heap.toml",
            "helenus experiment run heap.toml runs it",
        ),
        (
            "topology wan.toml",
            "helenus topology check wan.toml reads it",
        ),
        ("rm", "helenus rm --all"),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let said = bare().run(&words);
        assert_eq!(said.code, "2", "{line}: {said}");
        assert!(said.err.contains(cure), "{line}: {said}");
    }
}

#[test]
fn set_with_a_wrong_value() {
    shot!(bare().run(&["up", "--set", "concurrent_reads=many"]), @"
    exit code: 2
    --- standard error
    error: concurrent_reads does not take many
    hint: it takes a whole number from -2147483648 to 2147483647; the default is 32
    ");
    shot!(bare().run(&["up", "--set", "concurrent_reads"]), @r#"
    exit code: 2
    --- standard error
    error: "concurrent_reads" is not a setting
    hint: write KEY=VALUE, such as concurrent_reads=64; nested keys as a.b=VALUE
    "#);
    shot!(bare().run(&["up", "--set", "concurrent_reads=[1"]), @r#"
    exit code: 2
    --- standard error
    error: the value of concurrent_reads is not YAML: error: line 1 column 1: unclosed bracket '['
    hint: quote the value for YAML, such as 'key="a: b"'
    "#);
}

#[test]
fn set_with_a_key_that_helenus_decides() {
    shot!(bare().run(&["up", "--set", "cluster_name=x"]), @"
    exit code: 2
    --- standard error
    error: cluster_name is set by Helenus and cannot be changed
    hint: the cluster's name is the NAME of `helenus up NAME`
    ");
    shot!(bare().run(&["up", "--set", "num_tokens=4"]), @"
    exit code: 2
    --- standard error
    error: num_tokens is set by Helenus and cannot be changed
    hint: use --tokens
    ");
    shot!(bare().run(&["up", "--set", "listen_address=127.0.0.1"]), @"
    exit code: 2
    --- standard error
    error: listen_address is set by Helenus and cannot be changed
    hint: leave it out; `helenus up --dry-run` shows the value
    ");
}

#[test]
fn heaps() {
    shot!(bare().run(&["up", "--heap", "32M"]), @"
    exit code: 2
    --- standard error
    error: a heap of 32 MiB is too small: Cassandra 5.0 dies during its start below 48 MiB
    hint: use --heap 48M or more
    ");
    shot!(bare().run(&["up", "--heap", "64M", "--new-heap", "64M"]), @"
    exit code: 2
    --- standard error
    error: a young generation of 64 MiB does not fit a heap of 64 MiB
    hint: use --new-heap 32M or less
    ");
}

#[test]
fn tokens() {
    shot!(bare().run(&["up", "--tokens", "0"]), @"
    exit code: 2
    --- standard error
    error: a node has 1 to 256 tokens, not 0
    hint: use --tokens 1, the fastest, or 16, the stock value
    ");
    shot!(bare().run(&["up", "--tokens", "257"]), @"
    exit code: 2
    --- standard error
    error: a node has 1 to 256 tokens, not 257
    hint: use --tokens 1, the fastest, or 16, the stock value
    ");
}

#[test]
fn node_counts() {
    shot!(bare().run(&["up", "-n", "0"]), @"
    exit code: 2
    --- standard error
    error: a cluster has 1 to 254 nodes, not 0
    ");
    shot!(bare().run(&["up", "-n", "255"]), @"
    exit code: 2
    --- standard error
    error: a cluster has 1 to 254 nodes, not 255
    ");
}

#[test]
fn more_memory_than_the_machine_has() {
    let said = bare().run(&["up", "--heap", "60000G"]);
    assert_eq!(said.code, "2", "{said}");
    assert!(said.err.starts_with("error: 1 × "), "{said}");
    assert!(said.err.contains(" are free\n"), "{said}");
    // The largest is this machine's.
    assert!(
        said.err.contains("hint: the largest that fits: --heap "),
        "{said}"
    );
}

#[test]
fn cluster_names() {
    shot!(bare().run(&["up", "1c"]), @r#"
    exit code: 2
    --- standard error
    error: "1c" cannot name a cluster: use 1 to 40 letters, digits, - and _, a letter first
    "#);
    shot!(bare().run(&["up", "a/b"]), @r#"
    exit code: 2
    --- standard error
    error: "a/b" cannot name a cluster: use 1 to 40 letters, digits, - and _, a letter first
    "#);
    shot!(bare().run(&["up", ".."]), @r#"
    exit code: 2
    --- standard error
    error: ".." cannot name a cluster: use 1 to 40 letters, digits, - and _, a letter first
    "#);
}

#[test]
fn unknown_release() {
    shot!(bare().run(&["up", "--cassandra", "9.9"]), @r#"
    exit code: 2
    --- standard error
    error: Cassandra "9.9" is not a release that Helenus knows
    hint: known: 3.11.5, 4.0.19, 4.1.10, 5.0.9, and every published patch of their series, such as 4.1.5; the nearest is 5.0.9
    "#);
    shot!(bare().run(&["releases", "fetch", "6.0.1"]), @r#"
    exit code: 2
    --- standard error
    error: Cassandra "6.0.1" is not a release that Helenus knows
    hint: known: 3.11.5, 4.0.19, 4.1.10, 5.0.9, and every published patch of their series, such as 4.1.5; the nearest is 5.0.9
    "#);
    shot!(bare().run(&["bench", "--cassandra", "5.O"]), @r#"
    exit code: 2
    --- standard error
    error: Cassandra "5.O" is not a release that Helenus knows
    hint: known: 3.11.5, 4.0.19, 4.1.10, 5.0.9, and every published patch of their series, such as 4.1.5; the nearest is 5.0.9
    "#);
}

#[test]
fn a_release_and_a_home_at_once() {
    shot!(bare().run(&["up", "--cassandra", "5.0", "--cassandra-home", "/x"]), @"
    exit code: 2
    --- standard error
    error: the argument '--cassandra <RELEASE>' cannot be used with '--cassandra-home <DIR>'

    Usage: helenus up --cassandra <RELEASE> [NAME]

    For more information, try '--help'.
    ");
}

#[test]
fn phases_that_find_no_rows() {
    shot!(bare().run(&["bench", "--phases", "read"]), @"
    exit code: 2
    --- standard error
    error: a read phase needs rows, and no earlier write phase writes any
    hint: put write first in --phases, or give --population and the --seed of the run that wrote the rows
    ");
    shot!(bare().run(&["bench", "--phases", "mixed,write"]), @"
    exit code: 2
    --- standard error
    error: a mixed phase needs rows, and no earlier write phase writes any
    hint: put write first in --phases, or give --population and the --seed of the run that wrote the rows
    ");
    shot!(bare().run(&["bench", "--phases", "reed"]), @"
    exit code: 2
    --- standard error
    error: invalid value 'reed' for '--phases <PHASE,…>'
      [possible values: write, read, mixed]

      tip: a similar value exists: 'read'

    For more information, try '--help'.
    ");
}

#[test]
fn statements_of_ones_own() {
    shot!(bare().run(&["bench", "--query", "SELECT 1"]), @"
    exit code: 2
    --- standard error
    error: the following required arguments were not provided:
      --insert <CQL>

    Usage: helenus bench --insert <CQL> --query <CQL>

    For more information, try '--help'.
    ");
    shot!(bare().run(&["bench", "--schema", "none.cql", "--insert", "INSERT"]), @"
    exit code: 2
    --- standard error
    error: failed to open file `none.cql`: No such file or directory (os error 2)
    ");
}

#[test]
fn places() {
    shot!(bare().run(&["bench", "--cluster", "c", "--hosts", "127.0.0.1"]), @"
    exit code: 2
    --- standard error
    error: the argument '--cluster <NAME>' cannot be used with '--hosts <HOST,…>'

    Usage: helenus bench --cluster <NAME>

    For more information, try '--help'.
    ");
    shot!(bare().run(&["bench", "--i-may-write-to", "c"]), @"
    exit code: 2
    --- standard error
    error: the following required arguments were not provided:
      --hosts <HOST,…>

    Usage: helenus bench --hosts <HOST,…> --i-may-write-to <CLUSTER_NAME>

    For more information, try '--help'.
    ");
    shot!(bare().run(&["bench", "--user", "ada"]), @"
    exit code: 2
    --- standard error
    error: the following required arguments were not provided:
      --password-from <VARIABLE|FILE>
      <--hosts <HOST,…>|--on <kube:NAME|hosts:NAME>>

    Usage: helenus bench --user <USER> --password-from <VARIABLE|FILE> <--hosts <HOST,…>|--on <kube:NAME|hosts:NAME>>

    For more information, try '--help'.
    ");
    shot!(bare().run(&["bench", "--hosts", "db1.example"]), @r#"
    exit code: 2
    --- standard error
    error: invalid value 'db1.example' for '--hosts <HOST,…>': "db1.example" is neither an IP address nor a host name that resolves to one

    For more information, try '--help'.
    "#);
    shot!(bare().run(&["bench", "--host", "10.0.0.1:9042"]), @"
    exit code: 2
    --- standard error
    error: invalid value '10.0.0.1:9042' for '--hosts <HOST,…>': write the address alone, and the port with --port: --hosts 10.0.0.1 --port 9042

    For more information, try '--help'.
    ");
    shot!(
        bare().run(&[
            "bench", "--hosts", "127.0.0.1", "--user", "ada", "--password-from", "NO_SUCH_VARIABLE"
        ]),
        @"
    exit code: 2
    --- standard error
    error: the variable NO_SUCH_VARIABLE is not set
    hint: export NO_SUCH_VARIABLE, or name a 0600 file with a / in its path
    "
    );
}

#[test]
fn flags_of_a_cluster_that_is_there_already() {
    shot!(bare().run(&["bench", "--cluster", "c", "--nodes", "3"]), @"
    exit code: 2
    --- standard error
    error: the argument '--cluster <NAME>' cannot be used with '--nodes <N>'

    Usage: helenus bench --cluster <NAME>

    For more information, try '--help'.
    ");
    for flag in [
        "--nodes=1",
        "--preset=tiny",
        "--cassandra=5.0",
        "--cassandra-home=/x",
        "--java-home=/x",
        "--heap=64M",
        "--new-heap=9M",
        "--tokens=1",
        "--set=a=1",
        "--jvm=-Xss1M",
        "--no-archive",
        "--ready-within=3m",
    ] {
        for place in ["--cluster=c", "--hosts=127.0.0.1"] {
            let ran = bare().run(&["bench", place, flag, "--dry-run"]);
            assert_eq!(ran.code, "2", "{place} {flag}");
        }
    }
    shot!(bare().run(&["bench", "--port", "9043"]), @"
    exit code: 2
    --- standard error
    error: the following required arguments were not provided:
      --hosts <HOST,…>

    Usage: helenus bench --hosts <HOST,…> --port <PORT>

    For more information, try '--help'.
    ");
}

#[test]
fn a_schema_for_a_cluster_of_others() {
    let lab = bare();
    let schema = lab.write("my.cql", "CREATE TABLE a.b (k int PRIMARY KEY)");
    let schema = schema.to_string_lossy().into_owned();
    shot!(
        lab.run(&[
            "bench", "--hosts", "127.0.0.1", "--i-may-write-to", "prod", "--schema", &schema, "--insert", "INSERT"
        ]),
        @"
    exit code: 2
    --- standard error
    error: --schema would create tables in a cluster that is not yours
    hint: create them there yourself, and leave --schema out
    "
    );
}

#[test]
fn shares() {
    for wrong in ["1.5", "-0.1", "NaN", "some"] {
        let flag = format!("--max-errors={wrong}");
        assert_eq!(bare().run(&["bench", &flag]).code, "2", "{wrong}");
    }
    shot!(bare().run(&["bench", "--max-errors", "2"]), @r#"
    exit code: 2
    --- standard error
    error: invalid value '2' for '--max-errors <SHARE>': "2" is not a share: write a number from 0 to 1, such as 0.001

    For more information, try '--help'.
    "#);
}

#[test]
fn a_heap_said_twice() {
    shot!(bare().run(&["up", "--jvm", "-Xmx1G"]), @"
    exit code: 2
    --- standard error
    error: -Xmx1G conflicts with the heap that Helenus sets
    hint: use --heap / --new-heap
    ");
}

#[test]
fn phases_that_the_workload_cannot_do() {
    let insert = "INSERT INTO a.b (k) VALUES (?)";
    shot!(bare().run(&["bench", "--insert", insert, "--phases", "write,read"]), @"
    exit code: 2
    --- standard error
    error: a read phase needs a query, and the workload has only an insert
    hint: give a --query, or --phases write
    ");
    shot!(bare().run(&["bench", "--rate", "100", "--population", "1501"]), @"
    exit code: 2
    --- standard error
    error: the population has 1501 rows, and the write phase before the reads writes only 1500
    hint: leave --population out, or give a longer --duration, a larger --count or a higher --rate
    ");
}

#[test]
fn rm_without_a_name() {
    shot!(bare().run(&["rm"]), @"
    exit code: 2
    --- standard error
    error: the following required arguments were not provided:
      <NAME>...

      tip: name a cluster, or use helenus rm --all; helenus list names them

    Usage: helenus rm <NAME>...

    For more information, try '--help'.
    ");
    shot!(bare().run(&["rm", "c", "--all"]), @"
    exit code: 2
    --- standard error
    error: the argument '[NAME]...' cannot be used with '--all'

    Usage: helenus rm <NAME>...

    For more information, try '--help'.
    ");
}

#[test]
fn nodetool_without_words() {
    shot!(bare().run(&["nodetool", "c"]), @"
    exit code: 2
    --- standard error
    error: no such cluster: c
    hint: none exists; bring one up with `helenus up`
    ");
}

#[test]
fn mistakes_leave_nothing_behind() {
    let lab = bare();
    for wrong in [
        ["up", "--heap", "32M"],
        ["up", "--set", "cluster_name=x"],
        ["up", "-n", "0"],
        ["up", "--cassandra", "9.9"],
    ] {
        assert_eq!(lab.run(&wrong).code, "2", "{wrong:?}");
    }
    let clusters = lab.path("home/state/clusters");
    assert_eq!(crate::lab::look::entries(&clusters).len(), 0);
    assert!(!lab.path("cache").exists(), "nothing was to be fetched");
}
