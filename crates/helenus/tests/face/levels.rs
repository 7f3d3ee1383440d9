//! `levels` on the command line: its help, and what is refused before anything is looked at.
//! Refuses to run a cell: the lifecycle ring does.

use crate::lab::TestLab;

#[test]
fn a_file_that_is_no_report_stays() {
    let lab = TestLab::new();
    lab.write("mine.html", "mine");
    shot!(lab.run(&["levels", "--from", "lv-7", "--html", "mine.html"]), @"
    exit code: 2
    --- standard error
    error: mine.html already exists, and is not a report
    hint: name another file with --html
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
