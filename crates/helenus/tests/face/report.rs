//! `report` as a person meets it: names, files that are there, both outputs.
//! Refuses to measure: the run is put into the history by hand, and never came to its end.

use crate::lab::TestLab;
use helenus_model::run_plan::{Phase, RunPlan};
use helenus_model::seed::Seed;
use helenus_model::workload::Workload;
use helenus_record::{History, RunBeginning};

/// A lab with one broken run, tagged `nightly`.
fn with_a_run() -> TestLab {
    let lab = TestLab::new();
    lab.done(&["list"]);
    let plan = RunPlan {
        ..RunPlan::new(
            vec!["127.0.0.1:9042".parse().expect("an address")],
            Workload::Standard1,
            vec![Phase::steady("write", 100.0, 8, 1000)],
            Seed(7),
        )
    };
    let host = serde_json::json!({"cores": 2});
    let mut history = History::open(&lab.path("home/state/history.db")).expect("a history");
    history
        .begin_run(&RunBeginning {
            place: None,
            plan: &plan,
            release: Some("5.0.9"),
            preset: None,
            jvm: None,
            host: &host,
            cluster_plan: None,
            life: None,
            helenus_version: "0.1.0",
            command: "helenus bench --rate 100",
            began_wall_ns: 1,
            tag: Some("nightly"),
        })
        .expect("a run");
    lab
}

#[test]
fn a_run_is_found_by_number_word_and_tag() {
    let lab = with_a_run();
    for target in ["r1", "1", "@newest", "nightly"] {
        let written = lab.json(&["report", target]);
        assert_eq!(written["format"], "helenus.report-written/1");
        assert_eq!(
            (written["of"].as_str(), written["markdown"].as_str()),
            (Some("r1"), Some("helenus-r1.md"))
        );
    }
    let page = fs_err::read_to_string(lab.path("helenus-r1.html")).expect("a page");
    assert!(page.contains("broken: no result") && page.contains("--rate 100 --seed 7"));
    let said = lab.done(&["report", "@newest", "--markdown", "-"]);
    assert!(
        said.starts_with("<!-- helenus.report/1 -->\n### No result"),
        "{said}"
    );
}

#[test]
fn a_file_that_is_no_report_stays() {
    let lab = with_a_run();
    lab.write("mine.html", "mine");
    let refused = lab.run(&["report", "@newest", "--out", "mine.html"]);
    assert_eq!(refused.code, "2", "{refused}");
    assert!(
        refused
            .err
            .contains("error: mine.html already exists, and is not a report"),
        "{refused}"
    );
    assert!(refused.err.contains("use --force"), "{refused}");
    lab.done(&[
        "report",
        "@newest",
        "--out",
        "mine.html",
        "--force",
        "--dry-run",
    ]);
    let kept = fs_err::read_to_string(lab.path("mine.html")).expect("a file");
    assert_eq!(
        (kept.as_str(), lab.path("mine.md").exists()),
        ("mine", false)
    );
    lab.done(&["report", "@newest", "--out", "mine.html", "--force"]);
    lab.done(&["report", "@newest", "--out", "mine.html"]);
}

#[test]
fn one_file_does_not_take_page_and_summary() {
    let lab = with_a_run();
    for words in [
        &["--html", "r.md"][..],
        &["--html", "r.html", "--markdown", "r.html"],
    ] {
        let said = lab.run(&[&["report", "@newest"], words].concat());
        assert_eq!(said.code, "2", "{said}");
        assert!(said.err.contains("cannot hold both"), "{said}");
    }
    assert!(!lab.path("r.md").exists() && !lab.path("r.html").exists());
}

#[test]
fn a_device_takes_a_report_and_stays_a_device() {
    let lab = with_a_run();
    std::os::unix::fs::symlink("/dev/full", lab.path("full")).expect("a link");
    for force in [&[][..], &["--force"]] {
        let said = lab.run(&[&["report", "@newest", "--out", "full"], force].concat());
        assert_eq!(said.code, "3", "{said}");
        assert!(said.err.contains("cannot write full: No space"), "{said}");
    }
    let said = lab.run(&["report", "@newest", "--out", "home", "--force"]);
    assert_eq!(said.code, "2", "{said}");
    assert!(
        said.err.contains("cannot write home: it is a folder"),
        "{said}"
    );
}

#[test]
fn what_is_not_there_is_named_with_its_cure() {
    let said = TestLab::new().run(&["report"]);
    assert_eq!(said.code, "2", "{said}");
    assert!(said.err.contains("the history contains no run"), "{said}");
    let lab = with_a_run();
    for (target, cure) in [
        ("nightley", "did you mean nightly?"),
        ("r9", "the newest is r1"),
        ("cmp4", "no such comparison: cmp4"),
    ] {
        let said = lab.run(&["report", target]);
        assert_eq!(said.code, "2", "{said}");
        assert!(said.err.contains(cure), "{said}");
    }
    let said = lab.run(&["report", "--markdown", "-", "--format", "json"]);
    assert_eq!(said.code, "2", "{said}");
}
