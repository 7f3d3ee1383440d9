//! `populate` against a fake node that serves: to its end, cut off and gone on with, refused where it is another one.
//! Refuses to say how fast it is: what is sent twice is counted against what was acknowledged.

use crate::lab::{PATIENCE, TestLab};
use rustix::process::Signal;
use serde_json::Value;
use std::time::Instant;

fn serving() -> TestLab {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    lab
}

/// What is remembered.
fn journal(lab: &TestLab) -> Value {
    let text = fs_err::read_to_string(lab.cluster("c").join("populate.json")).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Begins a populate and kills it once so many partitions are acknowledged.
fn killed_after(lab: &TestLab, arguments: &[&str], below: u64) {
    let mut populate = lab.begin(arguments);
    let begin = Instant::now();
    while journal(lab)["below"].as_u64().unwrap_or(0) < below {
        assert!(populate.runs(), "it ended by itself: {}", populate.err());
        assert!(begin.elapsed() < PATIENCE, "{}", journal(lab));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    populate.signal(Signal::KILL);
    populate.end();
}

#[test]
fn all_is_written_once_and_read_back() {
    let lab = serving();
    let report = lab.json(&["populate", "standard1", "--rows", "3k", "--cluster", "c"]);
    let counted = |key: &str| report[key].as_u64();
    assert_eq!(report["format"], "helenus.populated/1");
    assert_eq!((counted("sent"), counted("rows")), (Some(3000), Some(3000)));
    let verified = &report["verified"];
    assert_eq!(verified["rows"], 3000, "{report:#}");
    assert_eq!(
        (&verified["missing"], &verified["wrong"]),
        (&0.into(), &0.into())
    );
    // Once more there is nothing to write.
    let again = lab.json(&["populate", "standard1", "--rows", "3k", "--cluster", "c"]);
    assert_eq!(again["sent"], 0, "{again:#}");
    assert_eq!(again["verified"]["rows"], 3000, "{again:#}");
    // Of another seed other rows are wanted.
    let other = ["--cluster", "c", "--seed", "2"];
    let other = lab.json(&[&["populate", "standard1", "--rows", "3k"][..], &other].concat());
    assert_eq!(
        (&other["sent"], &other["verified"]["wrong"]),
        (&3000.into(), &0.into())
    );
}

#[test]
fn what_was_cut_off_goes_on_where_it_was() {
    let lab = serving();
    let fill = |rate: &'static str| {
        let words = ["populate", "standard1", "--rows", "10000", "--seed", "7"];
        [&words[..], &["--cluster", "c", "--rate", rate]].concat()
    };
    killed_after(&lab, &fill("2000"), 4000);
    let before = journal(&lab)["below"].as_u64().expect("a number");
    assert!((4000..10_000).contains(&before), "{before}");

    // Anything else is refused with what differs, and changes nothing.
    let refused = |words: &[&str]| {
        let said = lab.run(words);
        assert_eq!(said.code, "2", "{said}");
        assert_eq!(journal(&lab)["below"], before);
        said.err
    };
    let other = ["populate", "standard1", "--cluster", "c", "--rows", "10000"];
    let said = refused(&[&other[..], &["--seed", "8"]].concat());
    assert!(said.contains("a different seed: 7, now 8"), "{said}");
    let other = ["populate", "standard1", "--cluster", "c", "--seed", "7"];
    let said = refused(&[&other[..], &["--rows", "9999"]].concat());
    assert!(said.contains("number of partitions"), "{said}");
    assert!(said.contains("--anew"), "{said}");
    let plan = lab.json(&[&fill("2000")[..], &["--dry-run"]].concat());
    assert_eq!(plan["from"], before);

    let report = lab.json(&fill("20000"));
    assert_eq!(report["from"], before);
    assert_eq!(report["sent"], 10_000 - before, "{report:#}");
    assert_eq!(report["verified"]["rows"], 10_000, "{report:#}");
    assert_eq!(report["verified"]["missing"], 0, "{report:#}");
    assert_eq!(journal(&lab)["complete"], true);
}

#[test]
fn an_interrupt_remembers_how_far_it_was() {
    let lab = serving();
    let words = ["populate", "standard1", "--rows", "10000", "--cluster", "c"];
    let slowly = [&words[..], &["--rate", "2000"]].concat();
    let mut populate = lab.begin(&slowly);
    let begin = Instant::now();
    while journal(&lab)["below"].as_u64().unwrap_or(0) < 1000 {
        assert!(populate.runs(), "it ended by itself: {}", populate.err());
        assert!(begin.elapsed() < PATIENCE, "{}", journal(&lab));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    populate.signal(Signal::INT);
    let said = populate.end();
    assert_eq!(said.code, "130", "{said}");
    let before = journal(&lab)["below"].as_u64().expect("a number");
    assert!((1000..10_000).contains(&before), "{before}");
    let hint = "hint: the same command again resumes it: ";
    assert!(said.err.contains(hint), "{said}");
    assert!(
        said.err.contains(" of 10,000 partitions are written"),
        "{said}"
    );
    let rest = lab.json(&words);
    // Nothing that was acknowledged is sent again: an interrupt ends with a note.
    assert_eq!(
        (&rest["from"], &rest["sent"]),
        (&before.into(), &(10_000 - before).into())
    );
    assert_eq!(rest["verified"]["missing"], 0, "{rest:#}");
}

#[test]
fn rows_that_are_lost_later_are_missed_and_written_again() {
    let lab = serving();
    let fill = ["populate", "standard1", "--rows", "2000", "--cluster", "c"];
    lab.done(&fill);
    // The stand-in keeps its rows in memory.
    lab.done(&["stop", "c"]);
    lab.done(&["start", "c"]);
    let said = lab.run(&fill);
    assert_eq!(said.code, "1", "{said}");
    assert!(said.out.contains("missing: 2,000"), "{said}");
    let report = lab.json(&fill);
    assert_eq!(
        (&report["sent"], &report["verified"]["missing"]),
        (&2000.into(), &0.into())
    );
}

#[test]
fn writes_that_fail_are_sent_again() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c", "--jvm=-Dfake.fail=0.05", "--jvm=-Dfake.seed=7"]);
    let fill = [
        "populate",
        "standard1",
        "--rows",
        "500",
        "--cluster",
        "c",
        "--no-verify",
    ];
    let report = lab.json(&fill);
    assert!(report["repeated"].as_u64() > Some(5), "{report:#}");
    assert_eq!(journal(&lab)["below"], 500);
    assert_eq!(report["verified"], Value::Null);
}

#[test]
fn a_write_that_never_gets_in_ends_it_with_its_reason() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c", "--jvm=-Dfake.fail=1"]);
    let fill = [
        "populate",
        "standard1",
        "--rows",
        "500",
        "--cluster",
        "c",
        "--tries",
        "1",
    ];
    let said = lab.run(&fill);
    assert_eq!(said.code, "4", "{said}");
    assert!(said.err.contains("a write failed 2 times"), "{said}");
    assert!(
        said.err.contains("0 of 500 partitions are written"),
        "{said}"
    );
}
