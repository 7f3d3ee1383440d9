//! `run --slo` and `run --curve` against a fake node before whose one server all operations wait.
//! Refuses to say how exact the machine is: what is found lies below what the server can do, and every trial is kept.

use crate::lab::{PATIENCE, TestLab, look};
use serde_json::Value;

const WRITES: [&str; 4] = ["run", "standard1", "--ops", "write=1"];

fn found(lab: &TestLab, flags: &[&str]) -> Value {
    lab.json(&[&WRITES[..], flags].concat())
}

#[test]
fn the_highest_rate_is_searched_in_one_life_after_the_other() {
    let lab = TestLab::fake("serve");
    let said = found(
        &lab,
        &[
            "--slo",
            "p99<100ms,errors<1%",
            "--step",
            "2s",
            "--warmup",
            "100ms",
            "--within",
            "36s",
            "--seed",
            "5",
            "--jvm=-Dfake.queue=1500",
            "--tag",
            "looked",
        ],
    );
    assert_eq!(said["format"], "helenus.search/1", "{said:#}");
    let highest = said["highest"]["rate_per_s"].as_f64().expect("a rate");
    assert!((200.0..1_700.0).contains(&highest), "{said:#}");
    let lives = said["lives"].as_array().expect("lives");
    assert!(!lives.is_empty(), "{said:#}");
    let points = said["curve"].as_array().expect("points");
    let trials = lives.iter().filter_map(|life| life["trials"].as_u64());
    assert_eq!(trials.sum::<u64>(), points.len() as u64, "{said:#}");
    assert!(points.iter().any(|point| point["held"] == true), "{said:#}");
    // Each life is a run with all of its trials as phases, of a cluster that is gone.
    let run = lives[0]["run"].as_str().expect("a run");
    let shown = lab.json(&["history", "show", run]);
    let phases = shown["result"]["phases"].as_array().expect("phases");
    assert_eq!(
        phases.len() as u64,
        lives[0]["trials"].as_u64().expect("trials") + 1
    );
    assert_eq!(phases[1]["name"], "trial 1");
    assert_eq!(lab.json(&["list"])["clusters"], Value::Array(vec![]));
    // Its page has the rate for a headline, and each trial as a mark.
    let page = lab.path("page.html");
    let page = page.to_str().expect("UTF-8");
    lab.done(&["report", run, "--html", page]);
    let page = fs_err::read_to_string(page).expect("a page");
    assert!(page.contains("holds up to") && page.contains("chart-rates"));
    // Operations were not written over and over: each trial goes on where the last one ended.
    let plan = &shown["plan"];
    let first = |place: usize| plan["phases"][place]["first"].as_u64().unwrap_or(0);
    assert!(first(1) > 0 && first(2) > first(1), "{plan:#}");
}

#[test]
fn a_threshold_that_no_rate_holds_is_no_success_and_a_curve_has_all_rates() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c", "--jvm=-Dfake.queue=2000", "--jvm=-Dfake.seed=1"]);
    lab.done(&["calibrate", "--each", "100ms"]);
    let on = [
        "--cluster",
        "c",
        "--step",
        "2s",
        "--warmup",
        "0s",
        "--within",
        "10s",
    ];
    let said = lab.run(&[&WRITES[..], &["--slo", "p50<1us"], &on].concat());
    assert_eq!(said.code, "1", "{said}");
    assert!(
        said.out.starts_with("p50<1us: no rate holds the threshold"),
        "{said}"
    );
    assert_eq!(
        said.out.matches("(helenus calibrate, ").count(),
        1,
        "{said}"
    );
    let said = found(&lab, &[&["--curve"][..], &on].concat());
    let points = said["curve"].as_array().expect("points");
    assert_eq!((points.len(), said.get("slo")), (12, None), "{said:#}");
    assert!(said["calibration"]["cpu_us"].is_f64(), "{said:#}");
    // A cluster that was there is still there.
    assert_eq!(lab.states("c").0, "running");
}

#[test]
fn an_interrupted_search_shows_what_it_found() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c", "--jvm=-Dfake.queue=1500"]);
    let search = [
        "--slo",
        "p99<100ms",
        "--cluster",
        "c",
        "--step",
        "2s",
        "--within",
        "5m",
    ];
    let mut running = lab.begin(&[&WRITES[..], &search].concat());
    look::wait_for("a third trial", PATIENCE, || {
        let said = running.err();
        match said.contains("trial 3") {
            true => Ok(()),
            false => Err(said),
        }
    });
    running.signal(rustix::process::Signal::INT);
    let said = running.end();
    assert_eq!(said.code, "130", "{said}");
    assert!(said.out.contains("offered/s"), "{said}");
}
