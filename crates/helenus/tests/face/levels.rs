//! `levels` at the face: its help, and what is refused before anything is looked at.
//! Refuses to run a cell: the lifecycle ring does.

use crate::lab::TestLab;

#[test]
fn help() {
    shot!(TestLab::new().run(&["levels", "--help"]), @"
    exit code: 0
    --- standard output
    Consistency levels at distances: measured latency beside the model's prediction

    Usage: helenus levels [OPTIONS]

    Options:
          --cluster <NAME>   Your cluster on which it runs [env: HELENUS_CLUSTER=]
          --format <FORMAT>  Text for people, or JSON for programs [default: text] [possible values:
                             text, json]
          --from <TAG>       Show a stored comparison, run nothing: the tag of its runs
      -v, --verbose...       More detail on standard error; twice for everything. The log file always
                             has it
      -q, --quiet            Print only errors on standard error
      -h, --help             Print help

    Cells:
          --cl <LEVEL,…>            Consistency levels; the others are compared with LOCAL_QUORUM where
                                    it is among them, else with the first [default:
                                    LOCAL_QUORUM,QUORUM,EACH_QUORUM]
          --workloads <NAME,…>      Workloads: write, mixed (one write to three reads), lwt (inserts IF
                                    NOT EXISTS) [default: write,mixed] [possible values: write, mixed,
                                    lwt]
          --rtt <RTT,…>             Distances: links as they are, a round trip between all such as 80ms,
                                    or DC1:DC2=20ms+DC1:DC3=80ms [default: 0ms,links; links where there
                                    is no distance]
          --rate <RATE>             Operations a second of the open loop [default: 100, or less where
                                    that many would wait for threads of the nodes; none with --closed
                                    alone]
          --closed <N>              Closed loop, with so many operations in flight; with --rate both are
                                    run
          --repeats <N>             How often each cell is run, in another order each time [default: 5]
          --duration <TIME>         Measurement window of each cell [default: 10s]
          --count <N>               Operations in the measurement window instead of a time
          --warmup <TIME>           Warm-up before it [default: 2s]
          --replication-factor <N>  Replicas of each row in each data centre, as many as it has nodes
                                    for [default: 3]
          --client-dc <DC>          Data centre whose nodes coordinate [default: the first node's]
          --seed <N>                Seed of order and data [default: random, and printed]
          --max-errors <SHARE>      Share of failed operations above which a run does not count
                                    [default: 0.001]

    Outcome:
          --tag <WORD>   The name of the comparison and the tag of its runs [default: lv- and the seed]
          --html <FILE>  Also write it as one HTML page that opens without a network
          --dry-run      Show cells and predictions, run nothing

    Examples:
      helenus up wan -n 3:3:3 --rtt 80ms --rtt DC1:DC2=20ms
      helenus levels --cluster wan --dry-run
                                             what each level will wait for; runs nothing
      helenus levels --cluster wan           three levels, two workloads, at 0 ms and as the links are
      helenus levels --cluster wan --cl LOCAL_ONE,ALL --workloads lwt --rtt 10ms,40ms --repeats 3
      helenus levels --cluster wan --closed 50 --count 20000
                                             closed loop, as cassandra-stress runs
      helenus levels --from lv-7 --html levels.html
                                             a stored table again, with charts

    Each cell gets a keyspace of its own, dropped afterwards. Links are restored at the end.
    --set inter_dc_tcp_nodelay=false on a second cluster shows what that setting costs.
    ");
}

#[test]
fn what_cannot_be_is_refused() {
    let lab = TestLab::new();
    shot!(lab.run(&["levels", "--cluster", "c", "--cl", "QUORUMS"]), @"
    exit code: 2
    --- standard error
    error: invalid value 'QUORUMS' for '--cl <LEVEL,…>': no such level; did you mean QUORUM?

    For more information, try '--help'.
    ");
    shot!(lab.run(&["levels", "--cluster", "c", "--rtt", "80"]), @r#"
    exit code: 2
    --- standard error
    error: invalid value '80' for '--rtt <RTT,…>': "80" is not a distance: write links, a round-trip time such as 80ms, or DC1:DC2=20ms+DC1:DC3=80ms

    For more information, try '--help'.
    "#);
    shot!(lab.run(&["levels"]), @"
    exit code: 2
    --- standard error
    error: the following required arguments were not provided:
      --cluster <NAME>

    Usage: helenus levels --cluster <NAME>

    For more information, try '--help'.
    ");
    shot!(lab.run(&["levels", "--from", "lv-7", "--repeats", "3"]), @"
    exit code: 2
    --- standard error
    error: the argument '--from <TAG>' cannot be used with:
      --cl <LEVEL,…>
      --workloads <NAME,…>
      --rtt <RTT,…>
      --rate <RATE>
      --closed <N>
      --repeats <N>
      --duration <TIME>
      --count <N>
      --warmup <TIME>
      --replication-factor <N>
      --client-dc <DC>
      --seed <N>
      --max-errors <SHARE>

    Usage: helenus levels --from <TAG>

    For more information, try '--help'.
    ");
    shot!(lab.run(&["levels", "--from", "lv-7"]), @"
    exit code: 2
    --- standard error
    error: no such run or tag: lv-7
    hint: `helenus history` lists runs and their tags
    ");
    shot!(lab.run(&["levels", "--cluster", "c"]), @"
    exit code: 2
    --- standard error
    error: no such cluster: c
    hint: none exists; bring one up with `helenus up`
    ");
}
