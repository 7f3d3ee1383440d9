//! `--help` of `node` and its verbs, word for word.
//! Refuses to look at what the verbs do.

use crate::lab::TestLab;

#[test]
fn node() {
    let lab = TestLab::new();
    shot!(lab.run(&["node", "--help"]), @"
    exit code: 0
    --- standard output
    Change the nodes: add, decommission, remove, replace

    Usage: helenus node [OPTIONS] <COMMAND>

    Commands:
      add           Add a node: it bootstraps, streams its part and takes its place on the ring
      decommission  Decommission a node: it streams its data to the others, and is deleted
      remove        Remove a dead node: the others stream what it had, from the remaining replicas
      replace       Replace a dead node by a new one at its place on the ring
      help          Print this message or the help of the given subcommand(s)

    Options:
          --format <FORMAT>  Text for people, or JSON for programs [default: text] [possible values:
                             text, json]
      -v, --verbose...       More detail on standard error; twice for everything. The log file always
                             has it
      -q, --quiet            Print only errors on standard error
      -h, --help             Print help
    ");
    shot!(lab.run(&["node", "add", "--help"]), @"
    exit code: 0
    --- standard output
    Add a node: it bootstraps, streams its part and takes its place on the ring

    Usage: helenus node add [OPTIONS] <NAME>

    Arguments:
      <NAME>  Cluster

    Options:
          --dc <DC>              Data centre [default: the one with the fewest nodes]
          --format <FORMAT>      Text for people, or JSON for programs [default: text] [possible values:
                                 text, json]
          --rack <RACK>          Rack [default: the one of that data centre with the fewest nodes]
      -v, --verbose...           More detail on standard error; twice for everything. The log file
                                 always has it
          --force                Even while a node is down
      -q, --quiet                Print only errors on standard error
      -k, --keyspace <KEYSPACE>  Keyspace whose replication decides what each node owns
          --within <TIME>        Longest wait without any progress [default: 3m]
          --dry-run              Show what would be done, do nothing
      -h, --help                 Print help

    Examples:
      helenus node add c                     one more node like the others, in the smallest data centre
      helenus node add c --dc DC2 --rack rack3
      helenus node add c --dry-run           its address and tokens, and what each node would own

    It is not a seed. It takes tokens from the nodes that own most of their data centre. It works while
    a run loads the cluster; the run reports it.
    ");
    shot!(lab.run(&["node", "decommission", "--help"]), @"
    exit code: 0
    --- standard output
    Decommission a node: it streams its data to the others, and is deleted

    Usage: helenus node decommission [OPTIONS] <NAME/NODE>

    Arguments:
      <NAME/NODE>  NAME/NODE

    Options:
          --force                Even if a keyspace then has more replicas than nodes
          --format <FORMAT>      Text for people, or JSON for programs [default: text] [possible values:
                                 text, json]
      -k, --keyspace <KEYSPACE>  Keyspace whose replication decides what each node owns
      -v, --verbose...           More detail on standard error; twice for everything. The log file
                                 always has it
      -q, --quiet                Print only errors on standard error
          --within <TIME>        Longest wait without any progress [default: 3m]
          --dry-run              Show what would be done, do nothing
      -h, --help                 Print help

    Examples:
      helenus node decommission c/node4
      helenus node decommission c/node4 --keyspace app
                                             what each node owns of app, before and after
      helenus node decommission c/node3 --force
                                             even if a keyspace then has more replicas than nodes

    The node must run. The same command resumes an interrupted decommission.
    ");
    shot!(lab.run(&["node", "remove", "--help"]), @"
    exit code: 0
    --- standard output
    Remove a dead node: the others stream what it had, from the remaining replicas

    Usage: helenus node remove [OPTIONS] <NAME/NODE>

    Arguments:
      <NAME/NODE>  NAME/NODE

    Options:
          --force                Even if a keyspace then has more replicas than nodes
          --format <FORMAT>      Text for people, or JSON for programs [default: text] [possible values:
                                 text, json]
      -k, --keyspace <KEYSPACE>  Keyspace whose replication decides what each node owns
      -v, --verbose...           More detail on standard error; twice for everything. The log file
                                 always has it
      -q, --quiet                Print only errors on standard error
          --within <TIME>        Longest wait without any progress [default: 3m]
          --dry-run              Show what would be done, do nothing
          --assassinate          Remove it from gossip at once: nothing is streamed, replicas are
                                 missing until a repair
      -h, --help                 Print help

    Examples:
      helenus kill c/node2
      helenus node remove c/node2            nodetool removenode, from a node that runs
      helenus node remove c/node2 --assassinate
                                             nothing is streamed: run nodetool repair afterwards

    A node whose bootstrap was interrupted is removed in the same way.
    ");
    shot!(lab.run(&["node", "replace", "--help"]), @"
    exit code: 0
    --- standard output
    Replace a dead node by a new one at its place on the ring

    Usage: helenus node replace [OPTIONS] <NAME/NODE>

    Arguments:
      <NAME/NODE>  NAME/NODE

    Options:
          --format <FORMAT>      Text for people, or JSON for programs [default: text] [possible values:
                                 text, json]
          --same-address         Keep the dead node's address and name; what is in its folder is deleted
      -k, --keyspace <KEYSPACE>  Keyspace whose replication decides what each node owns
      -v, --verbose...           More detail on standard error; twice for everything. The log file
                                 always has it
      -q, --quiet                Print only errors on standard error
          --within <TIME>        Longest wait without any progress [default: 3m]
          --dry-run              Show what would be done, do nothing
      -h, --help                 Print help

    Examples:
      helenus kill c/node2
      helenus node replace c/node2           node4, say, with node2's tokens, at another address
      helenus node replace c/node2 --same-address
                                             node2 again, with an empty disk

    The data is streamed from the other replicas. In a cluster with distances (--rtt) the address stays.
    ");
}
