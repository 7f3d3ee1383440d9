//! `--help` of the program itself and of the two large verbs, `up` and `bench`, word for word.
//! Refuses to look at what the verbs do.

use crate::lab::TestLab;

#[test]
fn the_program() {
    shot!(TestLab::new().run(&["--help"]), @"
    exit code: 0
    --- standard output
    Bring up real Apache Cassandra in seconds, and measure it with numbers you can trust

    Usage: helenus [OPTIONS] <COMMAND>

    Commands:
      up           Bring up a cluster and wait until it is ready
      bench        Bring up an ephemeral cluster (or use yours), measure write, read and mixed, and
                   remove it
      run          Run your own or a built-in workload: closed loop, at a rate, along a ramp or in steps
      populate     Fill your cluster with a workload's data; resumes after an interruption
      stress       Run a command line of cassandra-stress as it is
      nb           Run a command line of NoSQLBench's cql-iot as it is
      workload     Workloads: list the built-in ones, check a profile, draft one from a table
      compare      Compare two sides: what differs, by how much, with confidence intervals
      levels       Consistency levels at distances: measured latency beside the model's prediction
      experiment   Plan, run and report a matrix of settings from one file, unattended
      history      The stored runs: list, show, tag, prune, export
      report       A run or a comparison as one HTML file that opens without a network
      stop         Stop a cluster or a node with a clean shutdown; its data stays
      start        Start a stopped cluster or node again, with its data
      upgrade      Move a cluster to another release, one node at a time, with its data
      rm           Remove clusters with everything they have
      list         The clusters of this user, with their processes and memory
      status       The output of `nodetool status`, computed from data read over CQL
      topology     Data centres, racks and the distance between them: check a file, show it
      link         The links between data centres: show, measure, change while in use
      exec         Run a program in the network of a data centre's client, or of a node
      logs         A node's log
      kill         Kill a node with SIGKILL; its data stays
      pause        Pause a node with SIGSTOP
      resume       Resume a paused node with SIGCONT
      node         Change the nodes: add, decommission, remove, replace
      fault        Inject a fault into nodes or links (kill, pause, slow, lose, partition), or list the
                   faults
      heal         Undo faults: start or resume the nodes, restore the links
      reset        Return to the state after `up` or the last baseline, without a restart
      baseline     Save a cluster's state, and restore it here or in another cluster with equal tokens
      count        Count a table's rows by token ranges: in total, by partition, by node, along the ring
      check-data   Compare a workload's tables with what was written; exit code 1 if rows are missing or
                   wrong
      ledger       Find lost acknowledged writes of a run with --ledger; exit code 1 if any is lost
      nodetool     Run the release's own nodetool on a node; JMX is opened for it, with a password
      jmx          Open a node's JMX, and print how jconsole and other clients connect
      cqlsh        Run CQL statements, or an interactive shell
      env          Contact points for shells, scripts and drivers
      guard        May a test write to these addresses? Exit code 0 yours, 1 foreign, 3 unreachable
      releases     Cassandra releases: known, cached, runnable here
      presets      Presets, with the reason for each setting
      doctor       Check this machine: what it has and lacks, with the cure
      completions  Print shell completions: commands, flags, clusters, nodes, runs, tags
      help         Print this message or the help of the given subcommand(s)

    Options:
          --format <FORMAT>  Text for people, or JSON for programs [default: text] [possible values:
                             text, json]
      -v, --verbose...       More detail on standard error; twice for everything. The log file always
                             has it
      -q, --quiet            Print only errors on standard error
      -h, --help             Print help
      -V, --version          Print version

    Examples:
      helenus bench                          the whole sequence: up, write, read, mixed, report, rm
      helenus up c -n 3                      three nodes named c/node1 … c/node3
      helenus cql c -e 'SELECT * FROM system.local'
      helenus rm --all

    Exit codes: 0 done, 1 threshold crossed or check failed, 2 usage, 3 environment, 4 cluster,
    5 invalid, 6 inconclusive, 130 interrupted.
    ");
}

#[test]
fn no_verb_at_all() {
    shot!(TestLab::new().run(&[]), @"
    exit code: 2
    --- standard error
    Bring up real Apache Cassandra in seconds, and measure it with numbers you can trust

    Usage: helenus [OPTIONS] <COMMAND>

    Commands:
      up           Bring up a cluster and wait until it is ready
      bench        Bring up an ephemeral cluster (or use yours), measure write, read and mixed, and
                   remove it
      run          Run your own or a built-in workload: closed loop, at a rate, along a ramp or in steps
      populate     Fill your cluster with a workload's data; resumes after an interruption
      stress       Run a command line of cassandra-stress as it is
      nb           Run a command line of NoSQLBench's cql-iot as it is
      workload     Workloads: list the built-in ones, check a profile, draft one from a table
      compare      Compare two sides: what differs, by how much, with confidence intervals
      levels       Consistency levels at distances: measured latency beside the model's prediction
      experiment   Plan, run and report a matrix of settings from one file, unattended
      history      The stored runs: list, show, tag, prune, export
      report       A run or a comparison as one HTML file that opens without a network
      stop         Stop a cluster or a node with a clean shutdown; its data stays
      start        Start a stopped cluster or node again, with its data
      upgrade      Move a cluster to another release, one node at a time, with its data
      rm           Remove clusters with everything they have
      list         The clusters of this user, with their processes and memory
      status       The output of `nodetool status`, computed from data read over CQL
      topology     Data centres, racks and the distance between them: check a file, show it
      link         The links between data centres: show, measure, change while in use
      exec         Run a program in the network of a data centre's client, or of a node
      logs         A node's log
      kill         Kill a node with SIGKILL; its data stays
      pause        Pause a node with SIGSTOP
      resume       Resume a paused node with SIGCONT
      node         Change the nodes: add, decommission, remove, replace
      fault        Inject a fault into nodes or links (kill, pause, slow, lose, partition), or list the
                   faults
      heal         Undo faults: start or resume the nodes, restore the links
      reset        Return to the state after `up` or the last baseline, without a restart
      baseline     Save a cluster's state, and restore it here or in another cluster with equal tokens
      count        Count a table's rows by token ranges: in total, by partition, by node, along the ring
      check-data   Compare a workload's tables with what was written; exit code 1 if rows are missing or
                   wrong
      ledger       Find lost acknowledged writes of a run with --ledger; exit code 1 if any is lost
      nodetool     Run the release's own nodetool on a node; JMX is opened for it, with a password
      jmx          Open a node's JMX, and print how jconsole and other clients connect
      cqlsh        Run CQL statements, or an interactive shell
      env          Contact points for shells, scripts and drivers
      guard        May a test write to these addresses? Exit code 0 yours, 1 foreign, 3 unreachable
      releases     Cassandra releases: known, cached, runnable here
      presets      Presets, with the reason for each setting
      doctor       Check this machine: what it has and lacks, with the cure
      completions  Print shell completions: commands, flags, clusters, nodes, runs, tags
      help         Print this message or the help of the given subcommand(s)

    Options:
          --format <FORMAT>  Text for people, or JSON for programs [default: text] [possible values:
                             text, json]
      -v, --verbose...       More detail on standard error; twice for everything. The log file always
                             has it
      -q, --quiet            Print only errors on standard error
      -h, --help             Print help
      -V, --version          Print version

    Examples:
      helenus bench                          the whole sequence: up, write, read, mixed, report, rm
      helenus up c -n 3                      three nodes named c/node1 … c/node3
      helenus cql c -e 'SELECT * FROM system.local'
      helenus rm --all

    Exit codes: 0 done, 1 threshold crossed or check failed, 2 usage, 3 environment, 4 cluster,
    5 invalid, 6 inconclusive, 130 interrupted.
    ");
}

#[test]
fn up() {
    shot!(TestLab::new().run(&["up", "--help"]), @"
    exit code: 0
    --- standard output
    Bring up a cluster and wait until it is ready

    Usage: helenus up [OPTIONS] [NAME]

    Arguments:
      [NAME]
              Name of the cluster [default: the first of c1, c2, … that is free]

    Options:
          --format <FORMAT>
              Text for people, or JSON for programs

              [default: text]
              [possible values: text, json]

          --preset <PRESET>
              Settings to start from; `helenus presets` lists them [default: tiny]

              Possible values:
              - tiny:   64 MB heap
              - dev:    500 MB heap
              - bench:  Full JIT, memory by the machine
              - doc001: The settings of 2013 in 64 MB: what tiny is measured against

          --like <FILE>
              A production cassandra.yaml (3.11 or later): keep its settings, shrink sizes, report every
              difference

      -v, --verbose...
              More detail on standard error; twice for everything. The log file always has it

      -q, --quiet
              Print only errors on standard error

          --schema <FILE>
              CQL statements to run once the nodes are ready; `reset` returns to this schema

          --dry-run
              Show the plan, start nothing

      -h, --help
              Print help (see a summary with '-h')

    Many clusters:
          --count <N>
              Number of clusters, each with its own directories, addresses, logs and limits

          --prefix <PREFIX>
              They are named PREFIX1, PREFIX2 …

          --at-once <N>
              Nodes that start at the same time [default: two for each processor]

    Topology:
          --racks <N>
              Racks in each data centre; nodes are placed in them in turn

          --rtt <TIME|A:B=TIME>
              Round-trip time between all data centres, or between two, such as DC1:DC2=20ms; may be
              repeated

          --links <PRESET>
              Measured distances: one-building, one-city, one-continent, three-continents

          --wan <HOLDER>
              What delays the packets: queue (packet queues of the kernel, and an emulator that reports
              how exact it was), or netem (the kernel's own, if it has it) [default: queue]

              [possible values: queue, netem]

          --topology <FILE>
              A file with all of this, and with settings by data centre and node

    Cluster:
      -n, --nodes <N>
              Nodes, or 5:5:5 for three data centres

              [default: 1]

          --dc <NAME=N>
              A data centre and its nodes, instead of -n; may be repeated

          --coordinators <N>
              Coordinator-only nodes to add in each data centre: they hold no data, and runs go through
              them

          --cassandra <RELEASE>
              A series such as 5.0, any published patch such as 4.1.5, or the path of a -bin.tar.gz

              [default: 5.0]

          --cassandra-home <DIR>
              An unpacked distribution instead of a known release

          --java-home <DIR>
              The JDK to use instead of the best one found

          --heap <SIZE>
              Heap of each node, such as 500M

          --new-heap <SIZE>
              Young generation of each node, such as 200M

          --tokens <N>
              Tokens of each node: 1 starts fastest, 16 is Cassandra's default

              [default: 1]

          --set <KEY=VALUE>
              A key of cassandra.yaml; nested keys with dots; may be repeated

          --jvm <FLAG>
              A flag for the JVM, after all others; may be repeated

          --auth
              Require user and password: the cluster gets a superuser, its password is in the state
              folder

          --tls
              Encrypt connections of clients and between nodes; certificates are in the state folder

          --client-auth
              Require a certificate of each client, too

          --no-archive
              Start without a class-data archive (slower; for comparisons)

          --ready-within <TIME>
              Longest wait until all nodes are ready

              [default: 3m]

          --memory <SIZE>
              Hard limit of each node's memory, page cache included, such as 600M

          --cpus <N>
              Processors of each node, such as 0.5; the JVM and Cassandra see that many

          --disk <SIZE>
              Size of each node's own disk, in memory, such as 512M; the fault disk-full fills it

          --disk-read <SIZE>
              Bytes that each node may read from the disk in a second, such as 100M

          --disk-write <SIZE>
              Bytes that each node may write to the disk in a second

          --disk-iops <N>
              Reads that each node may send to the disk in a second, and as many writes

          --read-ahead <SIZE>
              How far the kernel reads ahead on the nodes' disk, such as 8K; for the whole machine,
              until the cluster is removed

    Examples:
      helenus up                             one tiny node: cluster c1
      helenus up c -n 3 --preset dev         three nodes of 500 MB
      helenus up c --set concurrent_reads=16 --jvm -XX:+UseParallelGC
      helenus up c --cassandra 4.1           another release; helenus releases lists them
      helenus up --count 15 --prefix dev     fifteen clusters of one tiny node: dev1 … dev15
      helenus up c --memory 600M --cpus 0.5  hard limits of each node
      helenus up c --disk-read 100M --disk-iops 1000
                                             a slower disk than the machine has
      helenus up c -n 3 --disk 512M          a disk in memory for each node, which can be filled
      helenus up c --like prod/cassandra.yaml --dry-run
                                             what would be as in production, and what would not
      helenus up c --schema app.cql          with your keyspaces; replication is adapted to the nodes
      helenus up c --auth --tls              with passwords and encrypted connections
      helenus up wan -n 5:5:5 --rtt 80ms     three data centres, 80 ms apart
      helenus up wan --dc DC1=3 --dc DC2=3 --rtt DC1:DC2=20ms --racks 3
      helenus up c --dry-run                 memory, cassandra.yaml and command line, nothing started
    ");
}

#[test]
fn bench() {
    shot!(TestLab::new().run(&["bench", "--help"]), @r"
    exit code: 0
    --- standard output
    Bring up an ephemeral cluster (or use yours), measure write, read and mixed, and remove it

    Usage: helenus bench [OPTIONS]

    Options:
          --format <FORMAT>
              Text for people, or JSON for programs

              [default: text]
              [possible values: text, json]

          --preset <PRESET>
              Settings of the ephemeral cluster

              Possible values:
              - tiny:   64 MB heap
              - dev:    500 MB heap
              - bench:  Full JIT, memory by the machine
              - doc001: The settings of 2013 in 64 MB: what tiny is measured against

              [default: bench]

      -v, --verbose...
              More detail on standard error; twice for everything. The log file always has it

      -q, --quiet
              Print only errors on standard error

      -h, --help
              Print help (see a summary with '-h')

    Cluster:
      -n, --nodes <N>
              Nodes, or 5:5:5 for three data centres

              [default: 1]

          --dc <NAME=N>
              A data centre and its nodes, instead of -n; may be repeated

          --coordinators <N>
              Coordinator-only nodes to add in each data centre: they hold no data, and runs go through
              them

          --cassandra <RELEASE>
              A series such as 5.0, any published patch such as 4.1.5, or the path of a -bin.tar.gz

              [default: 5.0]

          --cassandra-home <DIR>
              An unpacked distribution instead of a known release

          --java-home <DIR>
              The JDK to use instead of the best one found

          --heap <SIZE>
              Heap of each node, such as 500M

          --new-heap <SIZE>
              Young generation of each node, such as 200M

          --tokens <N>
              Tokens of each node: 1 starts fastest, 16 is Cassandra's default

              [default: 1]

          --set <KEY=VALUE>
              A key of cassandra.yaml; nested keys with dots; may be repeated

          --jvm <FLAG>
              A flag for the JVM, after all others; may be repeated

          --auth
              Require user and password: the cluster gets a superuser, its password is in the state
              folder

          --tls
              Encrypt connections of clients and between nodes; certificates are in the state folder

          --client-auth
              Require a certificate of each client, too

          --no-archive
              Start without a class-data archive (slower; for comparisons)

          --ready-within <TIME>
              Longest wait until all nodes are ready

              [default: 3m]

          --memory <SIZE>
              Hard limit of each node's memory, page cache included, such as 600M

          --cpus <N>
              Processors of each node, such as 0.5; the JVM and Cassandra see that many

          --disk <SIZE>
              Size of each node's own disk, in memory, such as 512M; the fault disk-full fills it

          --disk-read <SIZE>
              Bytes that each node may read from the disk in a second, such as 100M

          --disk-write <SIZE>
              Bytes that each node may write to the disk in a second

          --disk-iops <N>
              Reads that each node may send to the disk in a second, and as many writes

          --read-ahead <SIZE>
              How far the kernel reads ahead on the nodes' disk, such as 8K; for the whole machine,
              until the cluster is removed

    Where:
          --cluster <NAME>
              One of your clusters, by name

          --hosts <HOST,…>
              Addresses of a cluster; one that Helenus did not bring up must be named with
              --i-may-write-to

          --port <PORT>
              CQL port of --hosts

              [default: 9042]

          --i-may-write-to <CLUSTER_NAME>
              The exact cluster_name of --hosts: allows writes to a cluster that is not yours

          --user <USER>
              User of --hosts; the password comes from --password-from

          --password-from <VARIABLE|FILE>
              Where the password is: an environment variable, or the path of a 0600 file

          --tls-ca <FILE>
              Encrypt connections to --hosts, and trust these certificate authorities (PEM)

          --tls-cert <FILE>
              A client certificate (PEM) for --hosts that ask for one

          --tls-key <FILE>
              Its private key (PEM), a 0600 file

    Load:
          --phases <PHASE,…>
              Phases, in order [default: write,read,mixed; write where there is an --insert and no
              --query]

              Possible values:
              - write: Inserts, each position once in order
              - read:  Reads of random positions that were written
              - mixed: One read to each write

          --rate <RATE>
              Operations a second, such as 2000 or 2k [default: half of what a short probe reached]

          --closed
              Closed loop: as fast as --in-flight allows, without response times

          --in-flight <N>
              Most operations in flight at once

              [default: 64]

          --processes <N>
              Generator processes that share rate, slots and operations, for loads beyond one process

              [default: 1]

          --duration <TIME>
              Measurement window of each phase [default: 12s]

          --count <N>
              Operations in each phase's measurement window instead of a time, such as 1000000; no
              warm-up unless set

          --warmup <TIME|auto>
              Warm-up before each measurement window, recorded separately; auto is 3s, and extends into
              the window while the numbers still settle [default: auto; 3s with --duration, which is
              then kept exactly]

          --population <N>
              Rows of the workload [default: as many as the write phase writes]

          --in-order
              The read phase reads the rows in order, each once before any repeats, instead of at random

          --cl <CL>
              Consistency level of every operation

              [default: ONE]
              [possible values: ONE, TWO, THREE, QUORUM, ALL, LOCAL_QUORUM, EACH_QUORUM, LOCAL_ONE]

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
              Root seed of the run [default: random, and printed]

          --max-errors <SHARE>
              Share of failed operations above which the number is invalid

              [default: 0.001]

          --schema <FILE>
              File with the statements that create your keyspace and tables

          --insert <CQL>
              Your insert: values are generated from the column types

          --query <CQL>
              Your query: its bind markers get what the insert wrote

          --tag <WORD>
              A tag to find the run by

          --detail
              Print confidence intervals, service times and the generator's own use, too

          --dry-run
              Show the plan, start nothing

    Examples:
      helenus bench                          an ephemeral node, standard1 at half of its capacity
      helenus bench --rate 2000 --in-flight 64 --duration 60s --format json
      helenus bench --cluster c --phases read --population 30000 --seed 7
      helenus bench -n 3:3 --rtt 40ms        on two data centres, 40 ms apart
      helenus bench --schema my.cql --insert 'INSERT INTO ks.t (id, v) VALUES (?, ?)' \
                    --query 'SELECT * FROM ks.t WHERE id = ?'

    A disqualifying doubt makes the run invalid: exit code 5.
    ");
}
