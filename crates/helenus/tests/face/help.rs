//! `--help` of every small verb, word for word.
//! Refuses to look at what the verbs do.

use crate::lab::TestLab;

#[test]
fn stop() {
    shot!(TestLab::new().run(&["stop", "--help"]), @"
    exit code: 0
    --- standard output
    Stop a cluster or a node with a clean shutdown; its data stays

    Usage: helenus stop [OPTIONS] [NAME[/NODE]]

    Arguments:
      [NAME[/NODE]]  NAME or NAME/NODE [default: the only cluster] [env: HELENUS_CLUSTER=]

    Options:
          --dry-run          Show what would be done, do nothing
          --format <FORMAT>  Text for people, or JSON for programs [default: text] [possible values:
                             text, json]
          --prefix <PREFIX>  The clusters named PREFIX and a number
      -v, --verbose...       More detail on standard error; twice for everything. The log file always
                             has it
      -q, --quiet            Print only errors on standard error
          --within <TIME>    How long to wait for a node to stop; then it is killed [default: 60s]
          --force            Even while a run measures the cluster; that run becomes invalid
      -h, --help             Print help
    ");
}

#[test]
fn reset() {
    shot!(TestLab::new().run(&["reset", "--help"]), @"
    exit code: 0
    --- standard output
    Return to the state after `up` or the last baseline, without a restart

    Usage: helenus reset [OPTIONS] [NAME]

    Arguments:
      [NAME]  Cluster [default: the only one] [env: HELENUS_CLUSTER=]

    Options:
          --force            Even while a run measures the cluster; that run becomes invalid
          --format <FORMAT>  Text for people, or JSON for programs [default: text] [possible values:
                             text, json]
          --dry-run          Show what would be changed, change nothing
      -v, --verbose...       More detail on standard error; twice for everything. The log file always
                             has it
      -q, --quiet            Print only errors on standard error
      -h, --help             Print help

    Existing tables stay, and are truncated if they hold data; statements prepared on them stay valid.
    Whatever was created since is dropped. Snapshots and hints are deleted. No node is restarted.

    Examples:
      helenus reset c
      helenus reset c --dry-run              what would be dropped, made and truncated
      helenus reset c --format json
    ");
}

#[test]
fn start() {
    shot!(TestLab::new().run(&["start", "--help"]), @"
    exit code: 0
    --- standard output
    Start a stopped cluster or node again, with its data

    Usage: helenus start [OPTIONS] [NAME[/NODE]]

    Arguments:
      [NAME[/NODE]]  NAME or NAME/NODE [default: the only cluster] [env: HELENUS_CLUSTER=]

    Options:
          --dry-run              Show what would be done, do nothing
          --format <FORMAT>      Text for people, or JSON for programs [default: text] [possible values:
                                 text, json]
          --prefix <PREFIX>      The clusters named PREFIX and a number
      -v, --verbose...           More detail on standard error; twice for everything. The log file
                                 always has it
      -q, --quiet                Print only errors on standard error
          --ready-within <TIME>  Longest wait until all running nodes are ready [default: 3m]
          --force                Even while a run measures the cluster; that run becomes invalid
      -h, --help                 Print help
    ");
}

#[test]
fn rm() {
    shot!(TestLab::new().run(&["rm", "--help"]), @"
    exit code: 0
    --- standard output
    Remove clusters with everything they have

    Usage: helenus rm [OPTIONS] [NAME]...

    Arguments:
      [NAME]...  Clusters to remove

    Options:
          --format <FORMAT>  Text for people, or JSON for programs [default: text] [possible values:
                             text, json]
          --prefix <PREFIX>  The clusters named PREFIX and a number
          --all              Every cluster of this user, and everything that an interrupted command left
      -v, --verbose...       More detail on standard error; twice for everything. The log file always
                             has it
      -q, --quiet            Print only errors on standard error
          --with-baselines   Their baselines too; by default they stay
          --force            Even while a run measures the cluster; that run becomes invalid
          --dry-run          Show what would be deleted, delete nothing
      -h, --help             Print help

    Examples:
      helenus rm c
      helenus rm --prefix dev                dev1, dev2 …, and nothing else
      helenus rm --all --dry-run
    ");
}

#[test]
fn list() {
    shot!(TestLab::new().run(&["list", "--help"]), @"
    exit code: 0
    --- standard output
    The clusters of this user, with their processes and memory

    Usage: helenus list [OPTIONS]

    Options:
          --format <FORMAT>  Text for people, or JSON for programs [default: text] [possible values:
                             text, json]
      -m, --memory           Memory by kind, planned and measured
          --prefix <PREFIX>  Only the clusters named PREFIX and a number
      -v, --verbose...       More detail on standard error; twice for everything. The log file always
                             has it
      -q, --quiet            Print only errors on standard error
      -h, --help             Print help

    Examples:
      helenus list
      helenus list --memory                  planned against measured, by kind
      helenus list --prefix dev --format json
    ");
}

#[test]
fn status() {
    shot!(TestLab::new().run(&["status", "--help"]), @"
    exit code: 0
    --- standard output
    The output of `nodetool status`, computed from data read over CQL

    Usage: helenus status [OPTIONS] [NAME]

    Arguments:
      [NAME]  Cluster [default: the only one] [env: HELENUS_CLUSTER=]

    Options:
          --format <FORMAT>      Text for people, or JSON for programs [default: text] [possible values:
                                 text, json]
      -k, --keyspace <KEYSPACE>  Keyspace whose replication decides what each node owns
      -v, --verbose...           More detail on standard error; twice for everything. The log file
                                 always has it
      -q, --quiet                Print only errors on standard error
      -h, --help                 Print help
    ");
}

#[test]
fn logs() {
    shot!(TestLab::new().run(&["logs", "--help"]), @"
    exit code: 0
    --- standard output
    A node's log

    Usage: helenus logs [OPTIONS] [NAME[/NODE]]

    Arguments:
      [NAME[/NODE]]  NAME or NAME/NODE [default: the only cluster, its first node] [env:
                     HELENUS_CLUSTER=]

    Options:
      -f, --follow           Follow the log until Ctrl-C
          --format <FORMAT>  Text for people, or JSON for programs [default: text] [possible values:
                             text, json]
          --tail <LINES>     The last lines only
      -v, --verbose...       More detail on standard error; twice for everything. The log file always
                             has it
      -q, --quiet            Print only errors on standard error
      -h, --help             Print help
    ");
}

#[test]
fn kill() {
    shot!(TestLab::new().run(&["kill", "--help"]), @"
    exit code: 0
    --- standard output
    Kill a node with SIGKILL; its data stays

    Usage: helenus kill [OPTIONS] <NAME/NODE>

    Arguments:
      <NAME/NODE>  NAME/NODE

    Options:
          --force            Even while a run measures the cluster; that run becomes invalid
          --format <FORMAT>  Text for people, or JSON for programs [default: text] [possible values:
                             text, json]
          --dry-run          Show what would be done, do nothing
      -v, --verbose...       More detail on standard error; twice for everything. The log file always
                             has it
      -q, --quiet            Print only errors on standard error
      -h, --help             Print help
    ");
}

#[test]
fn pause() {
    shot!(TestLab::new().run(&["pause", "--help"]), @"
    exit code: 0
    --- standard output
    Pause a node with SIGSTOP

    Usage: helenus pause [OPTIONS] <NAME/NODE>

    Arguments:
      <NAME/NODE>  NAME/NODE

    Options:
          --force            Even while a run measures the cluster; that run becomes invalid
          --format <FORMAT>  Text for people, or JSON for programs [default: text] [possible values:
                             text, json]
          --dry-run          Show what would be done, do nothing
      -v, --verbose...       More detail on standard error; twice for everything. The log file always
                             has it
      -q, --quiet            Print only errors on standard error
      -h, --help             Print help
    ");
}

#[test]
fn resume() {
    shot!(TestLab::new().run(&["resume", "--help"]), @"
    exit code: 0
    --- standard output
    Resume a paused node with SIGCONT

    Usage: helenus resume [OPTIONS] <NAME/NODE>

    Arguments:
      <NAME/NODE>  NAME/NODE

    Options:
          --force            Even while a run measures the cluster; that run becomes invalid
          --format <FORMAT>  Text for people, or JSON for programs [default: text] [possible values:
                             text, json]
          --dry-run          Show what would be done, do nothing
      -v, --verbose...       More detail on standard error; twice for everything. The log file always
                             has it
      -q, --quiet            Print only errors on standard error
      -h, --help             Print help
    ");
}

#[test]
fn nodetool() {
    shot!(TestLab::new().run(&["nodetool", "--help"]), @"
    exit code: 0
    --- standard output
    Run the release's own nodetool on a node; JMX is opened for it, with a password

    Usage: helenus nodetool [OPTIONS] <NAME[/NODE]> [ARGUMENTS]...

    Arguments:
      <NAME[/NODE]>   NAME or NAME/NODE
      [ARGUMENTS]...  nodetool's own arguments; -h, -p, -u, -pw and -pwf may come before its command

    Options:
          --format <FORMAT>  Text for people, or JSON for programs [default: text] [possible values:
                             text, json]
      -v, --verbose...       More detail on standard error; twice for everything. The log file always
                             has it
      -q, --quiet            Print only errors on standard error
      -h, --help             Print help

    Examples:
      helenus nodetool c status
      helenus nodetool c/node2 compactionstats
    ");
}

#[test]
fn cqlsh() {
    shot!(TestLab::new().run(&["cqlsh", "--help"]), @"
    exit code: 0
    --- standard output
    Run CQL statements, or an interactive shell

    Usage: helenus cqlsh [OPTIONS] [NAME[/NODE]]

    Arguments:
      [NAME[/NODE]]  NAME or NAME/NODE [default: the only cluster, its first node that answers] [env:
                     HELENUS_CLUSTER=]

    Options:
      -e, --execute <CQL>    Statements to run
          --format <FORMAT>  Text for people, or JSON for programs [default: text] [possible values:
                             text, json]
      -f, --file <FILE>      A file with statements; - for standard input
      -v, --verbose...       More detail on standard error; twice for everything. The log file always
                             has it
          --cl <LEVEL>       Consistency level of the statements, until CONSISTENCY sets another
                             [default: ONE]
      -q, --quiet            Print only errors on standard error
          --installed        Hand the terminal over to an installed cqlsh, connected
          --dry-run          Show the statements one by one, run none
      -h, --help             Print help

    Examples:
      helenus cql c -e 'SELECT release_version FROM system.local'
      helenus cql c -f schema.cql
      helenus cql c -e 'CONSISTENCY QUORUM; SELECT * FROM k.t'
      helenus cql c -e 'DESCRIBE KEYSPACE k' > k.cql
      helenus cql c                          a session: HELP lists its commands, Tab completes
      helenus cql c/node2 --cl LOCAL_QUORUM  at one node, at a level
    ");
}

#[test]
fn env() {
    shot!(TestLab::new().run(&["env", "--help"]), @r#"
    exit code: 0
    --- standard output
    Contact points for shells, scripts and drivers

    Usage: helenus env [OPTIONS] [NAME[/NODE]]

    Arguments:
      [NAME[/NODE]]  NAME or NAME/NODE [default: the only cluster, its first node] [env:
                     HELENUS_CLUSTER=]

    Options:
          --as <READER>      What the output is for [default: shell] [possible values: shell, fish,
                             dotenv, github, json, java, python]
          --format <FORMAT>  Text for people, or JSON for programs [default: text] [possible values:
                             text, json]
      -v, --verbose...       More detail on standard error; twice for everything. The log file always
                             has it
      -q, --quiet            Print only errors on standard error
      -h, --help             Print help

    Examples:
      eval "$(helenus env c)"                 contact points, paths, and a nodetool on PATH
      helenus env c/node2 --as fish | source
      helenus env c --as github >> "$GITHUB_ENV"
      helenus env c --as java > application.conf
    "#);
}

#[test]
fn releases() {
    shot!(TestLab::new().run(&["releases", "--help"]), @"
    exit code: 0
    --- standard output
    Cassandra releases: known, cached, runnable here

    Usage: helenus releases [OPTIONS] [COMMAND]

    Commands:
      fetch  Fetch a release into the cache, and make its class-data archive
      help   Print this message or the help of the given subcommand(s)

    Options:
          --format <FORMAT>  Text for people, or JSON for programs [default: text] [possible values:
                             text, json]
      -v, --verbose...       More detail on standard error; twice for everything. The log file always
                             has it
      -q, --quiet            Print only errors on standard error
      -h, --help             Print help
    ");
}

#[test]
fn presets() {
    shot!(TestLab::new().run(&["presets", "--help"]), @"
    exit code: 0
    --- standard output
    Presets, with the reason for each setting

    Usage: helenus presets [OPTIONS] [COMMAND]

    Commands:
      show  Every setting of a preset, with its reason and source
      help  Print this message or the help of the given subcommand(s)

    Options:
          --format <FORMAT>  Text for people, or JSON for programs [default: text] [possible values:
                             text, json]
      -v, --verbose...       More detail on standard error; twice for everything. The log file always
                             has it
      -q, --quiet            Print only errors on standard error
      -h, --help             Print help
    ");
}

#[test]
fn doctor() {
    shot!(TestLab::new().run(&["doctor", "--help"]), @"
    exit code: 0
    --- standard output
    Check this machine: what it has and lacks, with the cure

    Usage: helenus doctor [OPTIONS]

    Options:
          --format <FORMAT>  Text for people, or JSON for programs [default: text] [possible values:
                             text, json]
      -v, --verbose...       More detail on standard error; twice for everything. The log file always
                             has it
      -q, --quiet            Print only errors on standard error
      -h, --help             Print help
    ");
}

#[test]
fn completions() {
    shot!(TestLab::new().run(&["completions", "--help"]), @"
    exit code: 0
    --- standard output
    Print shell completions: commands, flags, clusters, nodes, runs, tags

    Usage: helenus completions [OPTIONS] <SHELL>

    Arguments:
      <SHELL>  Shell [possible values: bash, elvish, fish, powershell, zsh]

    Options:
          --format <FORMAT>  Text for people, or JSON for programs [default: text] [possible values:
                             text, json]
      -v, --verbose...       More detail on standard error; twice for everything. The log file always
                             has it
      -q, --quiet            Print only errors on standard error
      -h, --help             Print help

    Examples:
      source <(helenus completions bash)     in ~/.bashrc: always matches the program
      source <(helenus completions zsh)      in ~/.zshrc, after compinit
      helenus completions fish | source      in ~/.config/fish/config.fish

    The shell asks helenus, which must be on PATH, for each completion: clusters, nodes, runs, tags,
    workloads and releases are always current. Nothing is written or started for it.
    ");
}

#[test]
fn releases_fetch() {
    shot!(TestLab::new().run(&["releases", "fetch", "--help"]), @"
    exit code: 0
    --- standard output
    Fetch a release into the cache, and make its class-data archive

    Usage: helenus releases fetch [OPTIONS] [RELEASE]

    Arguments:
      [RELEASE]  A series such as 5.0, or any published patch such as 4.1.5 [default: 5.0]

    Options:
          --format <FORMAT>  Text for people, or JSON for programs [default: text] [possible values:
                             text, json]
          --no-archive       Do not make the archive; the first start does
          --dry-run          Show what would be fetched, fetch nothing
      -v, --verbose...       More detail on standard error; twice for everything. The log file always
                             has it
      -q, --quiet            Print only errors on standard error
      -h, --help             Print help
    ");
}

#[test]
fn presets_show() {
    shot!(TestLab::new().run(&["presets", "show", "--help"]), @"
    exit code: 0
    --- standard output
    Every setting of a preset, with its reason and source

    Usage: helenus presets show [OPTIONS] <NAME>

    Arguments:
      <NAME>
              Preset

              Possible values:
              - tiny:   64 MB heap
              - dev:    500 MB heap
              - bench:  Full JIT, memory by the machine
              - doc001: The settings of 2013 in 64 MB: what tiny is measured against

    Options:
          --format <FORMAT>
              Text for people, or JSON for programs

              [default: text]
              [possible values: text, json]

      -v, --verbose...
              More detail on standard error; twice for everything. The log file always has it

      -q, --quiet
              Print only errors on standard error

      -h, --help
              Print help (see a summary with '-h')
    ");
}

#[test]
fn fault() {
    shot!(TestLab::new().run(&["fault", "--help"]), @"
    exit code: 0
    --- standard output
    Inject a fault into nodes or links (kill, pause, slow, lose, partition), or list the faults

    Usage: helenus fault [OPTIONS] <NAME> [WHAT [AMOUNT] TARGET]...

    Arguments:
      <NAME>                     Cluster
      [WHAT [AMOUNT] TARGET]...  What, how much, and where [default: list what holds]

    Options:
          --for <TIME>           Heal it after this time
          --format <FORMAT>      Text for people, or JSON for programs [default: text] [possible values:
                                 text, json]
          --ready-within <TIME>  Longest wait until nodes that are started again are ready [default: 3m]
      -v, --verbose...           More detail on standard error; twice for everything. The log file
                                 always has it
          --dry-run              Show what would be done, do nothing
      -q, --quiet                Print only errors on standard error
      -h, --help                 Print help

    Examples:
      helenus fault wan                      the faults that hold
      helenus fault wan kill node2           SIGKILL; heal starts it again
      helenus fault wan pause DC1/rack1      SIGSTOP to every node of a rack
      helenus fault wan slow 25% DC3         each node gets 25 % of one processor
      helenus fault c disk-full node2        no space is left; needs a cluster of up --disk
      helenus fault wan slow 50ms DC1:DC2    50 ms more, each way
      helenus fault wan loss 5% DC1:DC2      lost packets, each way
      helenus fault wan partition DC3        cut off from all others; also nodes and racks
      helenus fault wan partition DC3 --for 30s
                                             holds for 30 s and is healed; Ctrl-C heals at once

    Targets: node2 (or 2), DC1/rack1, DC3, DC1:DC2. Faults between data centres need a cluster
    that was brought up with distance. `helenus run --fault` does the same on a run's time line.
    ");
}

#[test]
fn heal() {
    shot!(TestLab::new().run(&["heal", "--help"]), @"
    exit code: 0
    --- standard output
    Undo faults: start or resume the nodes, restore the links

    Usage: helenus heal [OPTIONS] <NAME> [TARGET]

    Arguments:
      <NAME>    Cluster
      [TARGET]  Target of the faults, as given to `fault` [default: the only fault's]

    Options:
          --all                  Every fault of the cluster
          --format <FORMAT>      Text for people, or JSON for programs [default: text] [possible values:
                                 text, json]
          --ready-within <TIME>  Longest wait until nodes that are started again are ready [default: 3m]
      -v, --verbose...           More detail on standard error; twice for everything. The log file
                                 always has it
          --dry-run              Show what would be done, do nothing
      -q, --quiet                Print only errors on standard error
      -h, --help                 Print help

    Examples:
      helenus heal wan                       the only fault that holds
      helenus heal wan DC3                   every fault of DC3
      helenus heal wan --all

    Nodes that were killed, or ended when their disk was full, are started again; heal waits for them.
    ");
}
