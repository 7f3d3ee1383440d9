//! `--help` of `node` and its verbs, word for word.
//! Refuses to look at what the verbs do.

use crate::lab::TestLab;

#[test]
fn node() {
    let lab = TestLab::new();
    shot!(lab.run(&["node", "--help"]), @"
    exit code: 0
    --- standard output
    Nodes that come and go: add, decommission, remove, replace

    Usage: helenus node [OPTIONS] <COMMAND>

    Commands:
      add           Add a node: it bootstraps, streams its part and takes its place on the ring
      decommission  Let a node leave: it streams what it has to the others, and is deleted
      remove        Remove a dead node: the others stream what it had, from the copies that are left
      replace       Replace a dead node by a new one at its place on the ring
      help          Print this message or the help of the given subcommand(s)

    Options:
          --format <FORMAT>  Text for people, or JSON for programs [default: text] [possible values:
                             text, json]
      -v, --verbose...       More detail on standard error; twice for everything. The log file has it
                             always
      -q, --quiet            Nothing on standard error but errors
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
      -v, --verbose...           More detail on standard error; twice for everything. The log file has
                                 it always
          --force                Also while a node is down
      -q, --quiet                Nothing on standard error but errors
      -k, --keyspace <KEYSPACE>  Keyspace whose replication decides what each node owns
          --within <TIME>        Longest wait without any progress [default: 3m]
          --dry-run              Say what would be done, do nothing
      -h, --help                 Print help

    Examples:
      helenus node add c                     one more node as the others, in the smallest data centre
      helenus node add c --dc DC2 --rack rack3
      helenus node add c --dry-run           its address and tokens, and what each node would own

    It is no seed. Its tokens are cut from the nodes that own most of their data centre. It works while
    a run loads the cluster; the run tells of it.
    ");
    shot!(lab.run(&["node", "decommission", "--help"]), @"
    exit code: 0
    --- standard output
    Let a node leave: it streams what it has to the others, and is deleted

    Usage: helenus node decommission [OPTIONS] <NAME/NODE>

    Arguments:
      <NAME/NODE>  NAME/NODE

    Options:
          --force                Also where a keyspace has more replicas than nodes then
          --format <FORMAT>      Text for people, or JSON for programs [default: text] [possible values:
                                 text, json]
      -k, --keyspace <KEYSPACE>  Keyspace whose replication decides what each node owns
      -v, --verbose...           More detail on standard error; twice for everything. The log file has
                                 it always
      -q, --quiet                Nothing on standard error but errors
          --within <TIME>        Longest wait without any progress [default: 3m]
          --dry-run              Say what would be done, do nothing
      -h, --help                 Print help

    Examples:
      helenus node decommission c/node4
      helenus node decommission c/node4 --keyspace app
                                             what each node owns of app, before and after
      helenus node decommission c/node3 --force
                                             also where a keyspace has more replicas than nodes then

    The node must run. A decommission that was cut off goes on with the same command.
    ");
    shot!(lab.run(&["node", "remove", "--help"]), @"
    exit code: 0
    --- standard output
    Remove a dead node: the others stream what it had, from the copies that are left

    Usage: helenus node remove [OPTIONS] <NAME/NODE>

    Arguments:
      <NAME/NODE>  NAME/NODE

    Options:
          --force                Also where a keyspace has more replicas than nodes then
          --format <FORMAT>      Text for people, or JSON for programs [default: text] [possible values:
                                 text, json]
      -k, --keyspace <KEYSPACE>  Keyspace whose replication decides what each node owns
      -v, --verbose...           More detail on standard error; twice for everything. The log file has
                                 it always
      -q, --quiet                Nothing on standard error but errors
          --within <TIME>        Longest wait without any progress [default: 3m]
          --dry-run              Say what would be done, do nothing
          --assassinate          Let gossip forget it at once: nobody streams, copies are missing until
                                 a repair
      -h, --help                 Print help

    Examples:
      helenus kill c/node2
      helenus node remove c/node2            nodetool removenode, from a node that runs
      helenus node remove c/node2 --assassinate
                                             nobody streams: run nodetool repair afterwards

    A node whose bootstrap was cut off is removed in the same way.
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
      -v, --verbose...           More detail on standard error; twice for everything. The log file has
                                 it always
      -q, --quiet                Nothing on standard error but errors
          --within <TIME>        Longest wait without any progress [default: 3m]
          --dry-run              Say what would be done, do nothing
      -h, --help                 Print help

    Examples:
      helenus kill c/node2
      helenus node replace c/node2           node4, say, with node2's tokens, at another address
      helenus node replace c/node2 --same-address
                                             node2 again, with an empty disk

    The data is streamed from the other copies. In a cluster with distances (--rtt) the address stays.
    ");
}
