//! `compare --ab` to its end and to its interruptions, on a fake node whose times are known.
//! Refuses fine differences: the truths lie far apart, and times are a hundred times as usual, so that a busy host hides.

use crate::lab::{PATIENCE, Running, TestLab, look, turn};
use rustix::process::Signal;
use serde_json::Value;

/// A side: 100 ms at the median, times `body`, with a little noise between restarts; and more keys.
fn side(body: f64, more: &str) -> String {
    let jvm = format!(
        "jvm = ['-Dfake.body={}', '-Dfake.tail=100', '-Dfake.life_sd=0.01'{more}]",
        100.0 * body
    );
    format!("phases = 'write'\nrate = 400\nwarmup = '100ms'\nduration = '600ms'\n{jvm}\n")
}

fn sides(a: &str, b: &str) -> TestLab {
    let lab = TestLab::fake("serve");
    lab.write("a.toml", a);
    lab.write("b.toml", b);
    lab
}

const AB: [&str; 6] = ["compare", "--ab", "a.toml", "b.toml", "--seed", "3"];

/// Compares to an end with a comparison on standard output: exit code, what was made, standard error.
fn compared(lab: &TestLab, more: &[&str]) -> (String, Value, String) {
    made(lab, &[&AB[..], more].concat())
}

fn made(lab: &TestLab, args: &[&str]) -> (String, Value, String) {
    let said = lab.run(&[args, &["--format", "json"]].concat());
    let made = serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}\n{said}"));
    assert_eq!(lab.processes(), vec![]);
    (said.code, made, said.err)
}

/// `compare --ab`, run until it has printed that.
fn until_printed(lab: &TestLab, words: &str) -> Running {
    let mut running = lab.begin(&[&AB[..], &["--pairs", "8"]].concat());
    look::wait_for(words, PATIENCE, || {
        let printed = running.err();
        assert!(running.runs(), "it ended early\n{printed}");
        if printed.contains(words) {
            Ok(())
        } else {
            Err(printed)
        }
    });
    running
}

fn states(lab: &TestLab) -> Vec<String> {
    let listed = lab.json(&["history"]);
    let runs = listed["runs"].as_array().expect("runs");
    let state = |run: &Value| run["state"].as_str().unwrap_or_default().to_owned();
    runs.iter().map(state).collect()
}

#[test]
fn a_difference_of_half_is_found_and_crosses_its_bar() {
    let _turn = turn();
    let lab = sides(&side(1.0, ""), &side(1.5, ""));
    let bars = [
        "--fail-on",
        "p50>+5%",
        "--fail-on",
        "write.service.p50>+150%",
    ];
    let (code, made, errors) = compared(&lab, &[&["--pairs", "6"], &bars[..]].concat());
    assert_eq!(code, "1", "{made:#}\n{errors}");
    let answers: Vec<_> = made["bars"].as_array().expect("bars").iter().collect();
    assert_eq!(answers[0]["answer"], "crossed", "{made:#}");
    assert_eq!(answers[1]["answer"], "holds", "{made:#}");
    let rows = made["rows"].as_array().expect("rows");
    let of = |measure: &str| {
        let row = rows.iter().find(|row| row["measure"] == measure);
        row.expect("a row")
    };
    assert_eq!(of("response_p50")["claim"], "higher", "{made:#}");
    // With a schedule service times are exploratory.
    let p50 = of("service_p50");
    assert_eq!(p50["claim"], "none", "{p50:#}");
    // The truth is 1.5, less a percent for the way between node and generator.
    let ratio = p50["estimate"]["ratio"].as_f64().expect("a ratio");
    assert!((1.35..1.65).contains(&ratio), "{ratio}");
    assert_eq!(made["pairs"].as_array().map(Vec::len), Some(6));
    let differs = &made["differences"];
    assert_eq!(differs.as_array().map(Vec::len), Some(1), "{differs:#}");
    assert_eq!(differs[0]["what"], "-Dfake.body");
    let plan = "e1 a-against-b: 0 of 12 runs done, 12 left in 12 restarts, about ";
    assert!(
        errors.contains(plan) && errors.contains("; seed 3"),
        "{errors}"
    );
    let text = lab.run(&["compare", "cmp1"]);
    let headline = made["conclusion"]["headline"].as_str().expect("a headline");
    let first = "threshold p50>+5% is crossed (B's response p50 ";
    assert!(headline.starts_with(first), "{headline}");
    assert_eq!(text.out.lines().next(), Some(headline), "{text}");
    assert_eq!(made["conclusion"]["badge"], "a threshold is crossed");
    // Each side's runs can be named again, and are paired as they were run.
    let runs = |side: &str| -> String {
        let runs = made[side]["runs"].as_array().expect("runs");
        let names: Vec<&str> = runs.iter().filter_map(Value::as_str).collect();
        names.join(",")
    };
    let again = lab.json(&["compare", &runs("a"), &runs("b")]);
    assert_eq!(again["pairs"], made["pairs"]);
    assert_eq!(again["rows"][1]["ratios"], made["rows"][1]["ratios"]);
}

#[test]
fn equal_sides_hold_a_wide_bar_and_stop_by_the_two_stages() {
    let _turn = turn();
    let same = side(1.0, "");
    let lab = sides(&same, &same);
    let rule = [
        "--until",
        "20%",
        "--max-pairs",
        "7",
        "--fail-on",
        "p50>+60%",
    ];
    let (code, made, errors) = compared(&lab, &rule);
    assert_eq!(code, "0", "{made:#}\n{errors}");
    let stopping = &made["stopping"];
    assert_eq!(stopping["first_stage"], 6, "{stopping:#}");
    assert_eq!(stopping["governed_by"], "write all response p50");
    let asked = stopping["asked_for"].as_u64().expect("pairs");
    let pairs = made["pairs"].as_array().map_or(0, Vec::len) as u64;
    assert_eq!(pairs, asked.clamp(6, 7), "{stopping:#}");
    let row = "6 pairs say that write all response p50 needs";
    assert!(errors.contains(row), "{errors}");
    assert!(errors.contains("for ±20.0 %"), "{errors}");
}

#[test]
fn a_rate_that_no_side_has_is_found_once() {
    let _turn = turn();
    let open = side(0.01, "").replace("rate = 400\n", "");
    let lab = sides(&open, &open);
    let said = lab.run(&[&AB[..], &["--pairs", "1"]].concat());
    let errors = &said.err;
    assert!(errors.contains("one run of A finds the rate"), "{said}");
    assert!(
        errors.contains("every restart without its own rate runs at "),
        "{said}"
    );
    let listed = lab.json(&["history"]);
    let runs = listed["runs"].as_array().expect("runs");
    let rates: Vec<Value> = runs
        .iter()
        .map(|run| {
            let id = run["id"].as_str().expect("an id");
            lab.json(&["history", "show", id])["plan"]["phases"][0]["rate_per_s"].clone()
        })
        .collect();
    // The run that found it, and the pair; a busy machine may have spoiled it, and then there is another.
    assert!(rates.len() >= 3, "{rates:?}\n{said}");
    assert!(rates[0].is_number(), "{rates:?}");
    assert!(rates.iter().all(|rate| *rate == rates[0]), "{rates:?}");
}

#[test]
fn what_is_obvious_ends_early() {
    let _turn = turn();
    let lab = sides(&side(1.0, ""), &side(1.5, ""));
    let early = ["--stop-early", "--max-pairs", "30", "--fail-on", "p50>+5%"];
    let (code, made, errors) = compared(&lab, &early);
    assert_eq!(code, "1", "{made:#}\n{errors}");
    assert_eq!(made["sequential"], true);
    let pairs = made["pairs"].as_array().map_or(0, Vec::len);
    assert!((6..30).contains(&pairs), "{pairs} pairs\n{errors}");
    assert!(
        errors.contains(&format!("settled after {pairs} pairs")),
        "{errors}"
    );
}

#[test]
fn two_pairs_are_inconclusive() {
    let _turn = turn();
    let lab = sides(&side(1.0, ""), &side(1.5, ""));
    let (code, made, errors) = compared(&lab, &["--pairs", "2", "--fail-on", "p50>+5%"]);
    assert_eq!(code, "6", "{made:#}");
    let before =
        "caution: 2 pairs leave every threshold of --fail-on undecided (exit code 6); --pairs 6 is";
    assert!(errors.starts_with(before), "{errors}");
    assert!(made["bars"][0]["low"].is_null(), "{made:#}");
    assert_eq!(made["bars"][0]["answer"], "cannot_tell");
    let text = lab.run(&["compare", "cmp1"]);
    assert_eq!(text.code, "6", "{text}");
    assert!(
        text.out
            .starts_with("no claim: 2 pairs, and at least 6 are needed\n"),
        "{text}"
    );
    let note = "–: fewer than 6 pairs give no interval\n";
    assert!(text.out.contains(note), "{text}");
}

#[test]
fn a_bar_that_the_runs_cannot_answer_does_not_take_the_pairs_with_it() {
    let _turn = turn();
    let lab = sides(&side(1.0, ""), &side(1.0, ""));
    let (code, made, errors) = compared(&lab, &["--pairs", "1", "--fail-on", "p99.9>+5%"]);
    assert_eq!(code, "2", "{errors}");
    assert_eq!(made["pairs"].as_array().map(Vec::len), Some(1), "{made:#}");
    let said = "is about p99.9, which not all of these runs have\"";
    assert!(errors.contains(said), "{errors}");
}

#[test]
fn runs_that_must_not_be_believed_spoil_their_pairs() {
    let _turn = turn();
    let lab = sides(&side(1.0, ""), &side(1.0, ", '-Dfake.fail=0.05'"));
    let said = lab.run(&[&AB[..], &["--pairs", "1"]].concat());
    assert_eq!(said.code, "5", "{said}");
    assert_eq!(said.out, "", "there is no pair to show");
    assert!(
        said.err
            .contains("error: e1 stopped: 2 of 2 pairs have an invalid run\n"),
        "{said}"
    );
    assert!(said.err.contains("; invalid ("), "{said}");
    assert!(
        said.err
            .contains("most often (2 times): too many operations failed\n"),
        "{said}"
    );
    assert!(states(&lab).iter().any(|state| state == "invalid"));
}

#[test]
fn a_side_that_does_not_start_ends_it_with_its_place() {
    let _turn = turn();
    let lab = sides(&side(1.0, ""), &side(1.0, ", '-Dfake.boddy=1'"));
    let said = lab.run(&[&AB[..], &["--pairs", "1"]].concat());
    assert_eq!(said.code, "4", "{said}");
    assert!(
        said.err
            .contains("error: e1 stopped: pair 1, b: node1 died"),
        "{said}"
    );
    assert!(said.err.contains("-Dfake.body"), "{said}");
    assert_eq!(lab.processes(), vec![]);
    // As after a bench: its folder stays, so that its log can be read.
    assert_eq!(look::entries(&lab.path("home/state/clusters")).len(), 1);
}

#[test]
fn ctrl_c_shows_the_pairs_so_far_and_leaves_nothing() {
    let _turn = turn();
    let lab = sides(&side(1.0, ""), &side(1.5, ""));
    // The first run of the second pair has ended: a pair is whole, and the next one is not.
    let running = until_printed(&lab, "\npair 2, ");
    running.signal(Signal::INT);
    let said = running.end();
    assert_eq!(said.code, "130", "{said}");
    assert!(said.out.starts_with("no claim: "), "{said}");
    assert!(said.out.contains("left out: r"), "{said}");
    assert!(said.out.contains("stored as cmp1"), "{said}");
    let left = "error: interrupted, and cleaned up: 3 runs are done, 13 are left\n\
                hint: resume: helenus experiment resume e1\n";
    assert!(said.err.ends_with(left), "{said}");
    assert_eq!(lab.processes(), vec![]);
    assert_eq!(look::entries(&lab.path("home/state/clusters")).len(), 0);
    assert_eq!(look::claims_of(&lab.path("home")).len(), 0);
}

#[test]
fn kill_9_in_the_middle_leaves_runs_and_is_resumed() {
    let _turn = turn();
    let lab = sides(&side(1.0, ""), &side(1.5, ""));
    let running = until_printed(&lab, "\npair 2, ");
    running.signal(Signal::KILL);
    running.end();
    look::wait_for("the end of all processes", PATIENCE, || {
        let left = lab.processes();
        if left.is_empty() {
            Ok(())
        } else {
            Err(format!("{left:?}"))
        }
    });
    let states = states(&lab);
    let ended = |state: &&String| *state == "complete" || *state == "invalid";
    assert!(states.iter().filter(ended).count() >= 3, "{states:?}");
    // What has ended is kept, and the rest follows, by the sides as they were.
    lab.write("b.toml", "this file is gone");
    let (code, made, errors) = made(&lab, &["experiment", "resume", "e1"]);
    assert_eq!(code, "0", "{errors}");
    assert_eq!(made["pairs"].as_array().map(Vec::len), Some(8), "{made:#}");
    assert_eq!(made["a"]["label"], "a");
    // The same once more, by its name among experiments; and its runs pair as they were run.
    let (_, again, _) = self::made(&lab, &["experiment", "report", "e1"]);
    assert_eq!(again["rows"], made["rows"]);
    let refused = lab.run(&["experiment", "report", "e1", "--csv", "x.csv"]);
    assert_eq!(refused.code, "2", "{refused}");
    let names = |side: &str| -> String {
        let runs = made[side]["runs"].as_array().expect("runs");
        let names: Vec<&str> = runs.iter().filter_map(Value::as_str).collect();
        names.join(",")
    };
    let stored = lab.json(&["compare", &names("a"), &names("b")]);
    assert_eq!(stored["pairs"], made["pairs"]);
}

#[test]
fn a_file_with_pairs_is_the_same_comparison() {
    let _turn = turn();
    let lab = TestLab::fake("serve");
    lab.write(
        "pairs.toml",
        "name = 'slow'\npairs = true\nrepeats = 6\nfail_on = ['p50>+20%']\n\
         [workload]\nphases = 'write'\nrate = 400\nwarmup = '100ms'\nduration = '600ms'\n\
         [[factor]]\nname = 'side'\nkind = 'restart'\nlevels = [\n\
         { label = 'fast', jvm = ['-Dfake.body=100', '-Dfake.tail=100', '-Dfake.life_sd=0.01'] },\n\
         { label = 'slow', jvm = ['-Dfake.body=150', '-Dfake.tail=100', '-Dfake.life_sd=0.01'] },\n]\n",
    );
    let planned = lab.done(&["experiment", "plan", "pairs.toml", "--seed", "3"]);
    assert!(
        planned.contains("a block has 2 restarts and 2 runs\n"),
        "{planned}"
    );
    let (code, made, errors) = made(&lab, &["experiment", "run", "pairs.toml", "--seed", "3"]);
    assert_eq!(code, "1", "{errors}");
    assert_eq!(made["bars"][0]["answer"], "crossed", "{made:#}");
    assert_eq!(made["b"]["label"], "slow");
    assert_eq!(made["differences"][0]["what"], "-Dfake.body");
}

#[test]
fn what_settles_late_is_cut_or_reported_and_what_drifts_is_reported() {
    let lab = TestLab::fake("serve");
    let bench = [
        "bench", "--phases", "write", "--rate", "1000", "--format", "json",
    ];
    // 20 ms and no tail of its own: what a busy machine adds is small beside it.
    let slow = ["--jvm=-Dfake.body=20", "--jvm=-Dfake.tail=5"];
    let phase = |more: &[&str]| -> Value {
        let said = lab.measured(&[&bench[..], &slow, more].concat());
        let said: Value = serde_json::from_str(&said).expect("JSON");
        said["result"]["phases"][0].clone()
    };
    let drift = phase(&[
        "--duration",
        "12s",
        "--warmup",
        "1s",
        "--jvm=-Dfake.drift=0.8",
    ]);
    let kinds: Vec<&Value> = drift["doubts"]
        .as_array()
        .expect("doubts")
        .iter()
        .map(|doubt| &doubt["kind"])
        .collect();
    assert!(kinds.contains(&&Value::from("not_steady")), "{kinds:?}");
    assert_eq!(drift["steadiness"]["cut_s"], 0.0, "a warm-up was asked for");
    // 12 s and a warm-up that takes what it takes: what holds where nobody says. When 3 s are over, the times are still
    // 2.4 of their own; 3 s later 1.07.
    let settled = phase(&["--jvm=-Dfake.settle=30"]);
    let steadiness = &settled["steadiness"];
    let cut_s = steadiness["cut_s"].as_f64().expect("a cut");
    // What is left behind the cut may be too little to be judged, or the end may not be found: then it is reported.
    let reported = steadiness["state"] == "not_steady";
    assert!((1.0..=6.0).contains(&cut_s) || reported, "{steadiness:#}");
}
