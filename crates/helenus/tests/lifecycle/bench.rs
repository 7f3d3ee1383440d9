//! `bench` on nodes that never become a database: one clear error, the right exit code, the cluster kept or gone.
//! Refuses numbers: there are none to be had from a fake.

use crate::lab::TestLab;

#[test]
fn a_node_that_dies_at_its_start() {
    let lab = TestLab::fake("crash");
    shot_live!(lab.run(&["bench"]), @"
    exit code: 4
    --- standard error
    error: node1 died [time] after its start (exit status: 1)
      | ERROR fake node: the fake node was told to crash
    hint: its log shows more: [LAB]/home/state/clusters/bench1/node1/logs/console.log
    ");
    // Kept for a look, as the hint says.
    assert_eq!(lab.states("bench1").0, "abandoned");
}

#[test]
fn a_node_that_hangs() {
    let lab = TestLab::fake("hang");
    let said = lab.run(&["bench", "--ready-within", "300ms"]);
    assert_eq!(said.code, "4", "{said}");
    assert_eq!(lab.node_pids(), Vec::<i32>::new());
}

#[test]
fn a_node_that_is_no_database() {
    let lab = TestLab::fake("ready");
    let said = lab.run(&[
        "bench",
        "--rate",
        "10",
        "--duration",
        "1s",
        "--warmup",
        "0s",
    ]);
    assert_eq!((said.code.as_str(), said.out.as_str()), ("3", ""), "{said}");
    // The reason, once.
    assert!(
        said.err
            .starts_with("error: the connection failed when operation"),
        "{said}"
    );
    assert_eq!(
        said.err.matches("closed the connection").count(),
        1,
        "{said}"
    );
    assert_eq!(lab.processes(), vec![]);
    shot!(lab.run(&["list"]), @"
    exit code: 0
    --- standard output
    no cluster; bring one up with `helenus up`
    ");
}

#[test]
fn a_calibrated_machine_says_what_of_the_times_is_the_generator_s() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    let bench = [
        "bench",
        "--cluster",
        "c",
        "--phases",
        "write",
        "--rate",
        "200",
        "--duration",
        "1s",
        "--warmup",
        "0s",
    ];
    let said = "without a database the same load takes ";
    let before = lab.run(&bench);
    assert!(!before.out.contains(said), "{before}");
    let table = lab.done(&["calibrate", "--each", "200ms"]);
    assert!(table.contains("response p99"), "{table}");
    let after = lab.run(&bench);
    let line = |text: &str| {
        let mut lines = text.lines().filter(|line| line.starts_with(said));
        let line = lines.next().expect("the line").to_owned();
        assert_eq!(lines.next(), None, "{text}");
        line
    };
    let beside = line(&after.out);
    assert!(
        beside.ends_with("(helenus calibrate, at 1,000/s)"),
        "{beside}"
    );
    // It is kept with the run: later words are the same, whatever is measured of the machine since.
    lab.done(&["calibrate", "--each", "100ms"]);
    for words in [
        &["history", "show", "r2"][..],
        &["report", "r2", "--markdown", "-"],
        &["compare", "r1", "r2"],
    ] {
        assert_eq!(line(&lab.run(words).out), beside, "{words:?}");
    }
    assert!(!lab.done(&["history", "show", "r1"]).contains(said));
    let levels = [
        "levels",
        "--cluster",
        "c",
        "--cl",
        "ONE",
        "--workloads",
        "write",
    ];
    let short = ["--rate", "200", "--duration", "400ms", "--warmup", "0s"];
    line(&lab.run(&[&levels[..], &short, &["--quiet"]].concat()).out);
    let stress = lab.run(&["stress", "write", "n=400", "-rate", "threads=4"]);
    let closed = line(&stress.err);
    assert!(
        closed.ends_with("(helenus calibrate, in a closed loop)"),
        "{closed}"
    );
}
