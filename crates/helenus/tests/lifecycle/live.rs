//! A run as it goes, at a terminal and in a log.
//! Refuses a terminal that is left as nobody had it before.

use crate::lab::TestLab;
use crate::lab::terminal::Terminal;

/// What a terminal gets when a screen takes it, and gives it back.
const TAKEN: &str = "\u{1b}[?1049h";
const GIVEN_BACK: &str = "\u{1b}[?1049l";

const RUN: [&str; 8] = [
    "run",
    "standard1",
    "--cluster",
    "c",
    "--rate",
    "200",
    "--warmup",
    "1s",
];

fn begun(lab: &TestLab, more: &[&str]) -> Terminal {
    lab.done(&["up", "c"]);
    lab.at_terminal(&[&RUN[..], more].concat(), 80)
}

#[test]
fn a_terminal_gets_a_screen_and_is_given_back() {
    let lab = TestLab::fake("serve");
    let mut at = begun(&lab, &["--duration", "3s", "--ops", "write=1"]);
    at.expect(TAKEN);
    at.expect("Waits for");
    at.expect("node1");
    at.expect(GIVEN_BACK);
    at.expect("verdict");
    let _a_busy_machine_may_disqualify = at.end();
    at.expect_running();
}

#[test]
fn ctrl_c_stops_a_run_on_the_screen() {
    let lab = TestLab::fake("serve");
    let mut at = begun(&lab, &["--duration", "60s", "--ops", "write=1"]);
    at.expect(TAKEN);
    at.expect("Waits for");
    at.type_keys("x\u{3}");
    let last = at.expect(GIVEN_BACK);
    assert!(
        !last.contains('x') || last.contains("max"),
        "keys are not shown: {last:?}"
    );
    assert_eq!(at.end(), "130");
    assert_eq!(lab.processes().len(), 1, "the node stays");
}

#[test]
fn a_second_ctrl_c_finds_the_terminal_given_back() {
    let lab = TestLab::fake("serve");
    let mut at = begun(&lab, &["--duration", "60s", "--ops", "write=1"]);
    at.expect(TAKEN);
    at.expect("Waits for");
    at.type_keys("\u{3}");
    at.expect(GIVEN_BACK);
    // Before the run has ended: keys are shown again, as before the screen.
    at.expect_running();
    at.type_keys("\u{3}");
    assert_eq!(at.end(), "130");
}

#[test]
fn notes_wait_until_the_screen_is_gone() {
    let lab = TestLab::fake("serve");
    let fault = "at 1s for 1s pause node1";
    let mut at = begun(
        &lab,
        &["--duration", "4s", "--ops", "write=1", "--fault", fault],
    );
    at.expect(TAKEN);
    at.expect("Notes");
    at.expect(GIVEN_BACK);
    at.expect("pause node1': active");
    at.expect("healed");
    let _a_busy_machine_may_disqualify = at.end();
}

#[test]
fn lines_are_printed_where_there_is_no_terminal() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    let words = ["--duration", "3s", "--ops", "write=1", "--live", "lines"];
    let said = lab.run(&[&RUN[..], &words].concat());
    let lines = said
        .err
        .lines()
        .filter(|line| line.contains("op/s, response time p50"));
    assert!(lines.count() >= 3, "{said}");
    let quiet = lab.run(&[&RUN[..], &words[..4]].concat());
    assert!(!quiet.err.contains("op/s"), "{quiet}");
}
