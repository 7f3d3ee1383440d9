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
    let bench = ["bench", "--phases", "write", "--rate", "200"];
    let bench = [&bench[..], &["--duration", "1s", "--warmup", "0s"]].concat();
    let said = "without a database the same load takes ";
    let before = lab.run(&bench);
    assert!(!before.out.contains(said), "{before}");
    lab.done(&["calibrate", "--each", "200ms"]);
    let after = lab.run(&bench);
    assert!(after.out.contains(said), "{after}");
    assert!(
        after.out.contains("(helenus calibrate, at 1,000/s)"),
        "{after}"
    );
    assert_eq!(lab.processes(), vec![]);
}
