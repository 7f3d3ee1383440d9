//! Experiments to their end, to their answer, and through every way to cut them off, on a fake node whose times are known.
//! Refuses fine differences: the truths lie far apart, so that a busy host hides none.

use crate::lab::{PATIENCE, Running, TestLab, look, turn};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;

/// Two factors of two levels: one doubles the times, the other is the rate, which does nothing to them.
fn file(name: &str, blocks: usize, more: &str) -> String {
    format!(
        r#"
name = "{name}"
seed = 5
measure = "service.p50"
repeats = {blocks}
announce = false
bars = ["service.p50 < 160ms at rate=200"]

[cluster]
jvm = ["-Dfake.tail=100", "-Dfake.life_sd=0.01"]

[workload]
workload = "standard1"
ops = "write=1"
warmup = "100ms"
duration = "400ms"

[[factor]]
name = "body"
kind = "restart"
levels = [{{ label = "one", jvm = "-Dfake.body=100" }}, {{ label = "double", jvm = "-Dfake.body=200" }}{more}]

[[factor]]
key = "rate"
kind = "phase"
levels = [200, 300]
"#
    )
}

fn lab(blocks: usize, more: &str) -> TestLab {
    let lab = TestLab::fake("serve");
    lab.write("body.toml", &file("body", blocks, more));
    lab
}

/// Whether runs count is the host's business here and there: an answer may be missing, the experiment may not.
fn ended(lab: &TestLab, arguments: &[&str]) -> String {
    let said = lab.run(arguments);
    let whole = ["0", "1", "6"].contains(&said.code.as_str());
    assert!(whole, "helenus {arguments:?}\n{said}");
    assert_eq!(lab.processes(), vec![]);
    said.out
}

fn status(lab: &TestLab, name: &str) -> Value {
    lab.json(&["experiment", "status", name])
}

fn report(lab: &TestLab, name: &str) -> Value {
    let text = ended(lab, &["experiment", "report", name, "--format", "json"]);
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// Runs by their place: state, and number of the stored run.
fn runs(status: &Value) -> Vec<(String, u64)> {
    let runs = status["runs"].as_array().expect("runs");
    let each = runs.iter().map(|run| {
        let id = run["run"].as_str().unwrap_or("r0").trim_start_matches('r');
        let state = run["state"].as_str().unwrap_or_default();
        (state.to_owned(), id.parse().unwrap_or(0))
    });
    each.collect()
}

/// Every planned run is done once, in the plan's order.
fn all_once_in_order(lab: &TestLab, name: &str, count: usize) {
    let status = status(lab, name);
    let runs = runs(&status);
    assert_eq!(runs.len(), count, "{status:#}");
    assert!(runs.iter().all(|(state, _)| state == "done"), "{status:#}");
    let ids: Vec<u64> = runs.iter().map(|(_, id)| *id).collect();
    let distinct: BTreeSet<u64> = ids.iter().copied().collect();
    assert_eq!(distinct.len(), count, "{ids:?}");
    assert!(ids.is_sorted(), "{ids:?}");
    assert_eq!(
        (&status["left"], &status["state"]),
        (&0.into(), &"done".into())
    );
}

/// An experiment under way, once so many of its runs are done.
fn until_done(lab: &TestLab, arguments: &[&str], runs: usize) -> Running {
    let mut running = lab.begin(arguments);
    look::wait_for("runs", PATIENCE, || {
        let printed = running.err();
        let done = printed
            .lines()
            .filter(|line| line.starts_with("block "))
            .count();
        if done >= runs {
            return Ok(());
        }
        assert!(running.runs(), "it ended early\n{printed}");
        Err(printed)
    });
    running
}

#[test]
fn what_doubles_the_times_is_named_with_its_size() {
    let _turn = turn();
    let lab = lab(6, "");
    let text = ended(&lab, &["experiment", "run", "body.toml"]);
    all_once_in_order(&lab, "body", 6 * 6);
    let made = report(&lab, "e1");
    let analysis = &made["analysis"];
    let effect = |factor: &str| -> Value {
        let effects = analysis["effects"].as_array().expect("effects");
        let own = effects
            .iter()
            .find(|e| e["factor"] == factor && e["measure"] == "service_p50");
        own.expect("an effect").clone()
    };
    let body = effect("body");
    // The truth is 2, less a percent for the way between node and generator.
    let ratio = body["estimate"]["ratio"].as_f64().expect("a ratio");
    assert!((1.8..2.2).contains(&ratio), "{body:#}");
    let rate = effect("rate")["estimate"]["ratio"]
        .as_f64()
        .expect("a ratio");
    assert!((0.85..1.15).contains(&rate), "{rate}");
    let noise = analysis["noise"]["estimate"]["ratio"]
        .as_f64()
        .expect("twins");
    assert!((0.8..1.2).contains(&noise), "{noise}");
    assert_eq!(
        analysis["answer"]["winner_label"], "body=one",
        "{analysis:#}"
    );
    let six = "nothing looked better than body=one, by service p50 of main (6 blocks)";
    let fewer = "no claim below 6 blocks; body=one looks best by service p50 of main\n";
    assert!(text.starts_with(six) || text.starts_with(fewer), "{text}");
    // All six blocks count unless the host disturbed one.
    if analysis["left_out"] == Value::Array(vec![]) {
        assert_eq!(body["claim"], "higher", "{body:#}");
        assert_eq!(analysis["bars"][0]["answer"], "holds", "{analysis:#}");
        assert_eq!(analysis["bars"][1]["answer"], "crossed", "{analysis:#}");
    }
    let files = ["--markdown", "r.md", "--csv", "r.csv", "--html", "r.html"];
    ended(
        &lab,
        &[&["experiment", "report", "body.toml"][..], &files].concat(),
    );
    let markdown = fs_err::read_to_string(lab.path("r.md")).expect("markdown");
    assert!(markdown.contains("#### Effects"), "{markdown}");
    let csv = fs_err::read_to_string(lab.path("r.csv")).expect("csv");
    assert!(
        csv.lines().count() > 36 && csv.starts_with("place,block,"),
        "{csv}"
    );
    let html = fs_err::read_to_string(lab.path("r.html")).expect("html");
    assert!(html.contains("chart-heat") && html.contains("chart-effects"));
    // Another question to the same numbers, whose answer is known: nothing ends before it began.
    let asked = ["report", "e1", "--bar", "service.p50 < 1us at rate=200"];
    let said = lab.run(&[&["experiment"][..], &asked].concat());
    assert_eq!(said.code, "1", "{said}");
    let bar = "threshold service.p50 < 1us at rate=200: no settings hold it";
    let since = "set after the runs, instead of the file's: service.p50 < 160ms";
    assert!(said.out.contains(bar) && said.out.contains(since), "{said}");
    let said = lab.run(&["experiment", "report", "e1", "--bar", "p99 < 5ms at rate=7"]);
    assert_eq!(said.code, "2", "{said}");
    assert!(said.err.contains("rate=200, rate=300"), "{said}");
}

#[test]
fn a_winner_is_measured_again_with_fresh_restarts() {
    let _turn = turn();
    let lab = TestLab::fake("serve");
    let text = file("again", 6, "").replace("announce = false", "announce = true");
    // The first level is the slow one, and there is no other factor.
    let (head, _) = text.split_once("[[factor]]\nkey").expect("two factors");
    let swapped = head
        .replace("fake.body=100", "fake.body=X")
        .replace("fake.body=200", "fake.body=100")
        .replace("fake.body=X", "fake.body=200")
        .replace("bars = [\"service.p50 < 160ms at rate=200\"]\n", "")
        .replace("ops = ", "rate = 200\nops = ");
    lab.write("again.toml", &swapped);
    let said = lab.run(&["experiment", "run", "again.toml"]);
    assert_eq!(said.code, "0", "{said}");
    let made = report(&lab, "again");
    let answer = &made["analysis"]["answer"];
    if answer["claim"] != "lower" {
        // The host disturbed a block: nothing is claimed, and nothing measured again.
        assert_eq!(made["runs"].as_array().map(Vec::len), Some(18), "{said}");
        return;
    }
    assert!(
        said.err
            .contains("body=double looks best; it is measured again"),
        "{said}"
    );
    all_once_in_order(&lab, "again", 18 + 14);
    let ratio = answer["again"]["ratio"].as_f64().expect("a ratio");
    assert!((0.42..0.6).contains(&ratio), "{answer:#}");
    let reported = said.out.contains("measured again") && said.out.contains("with fresh restarts");
    assert!(reported, "{said}");
}

#[test]
fn each_life_of_the_nodes_begins_with_a_load_that_does_not_count() {
    let _turn = turn();
    let lab = TestLab::fake("serve");
    let warm = "[warm]\nin-flight = 4\nwarmup = \"0s\"\nduration = \"300ms\"\n\n[[factor]]\nname";
    let text = file("warm", 4, "").replacen("[[factor]]\nname", warm, 1);
    lab.write("warm.toml", &text);
    // One block, whatever the file says.
    ended(&lab, &["experiment", "run", "warm.toml", "--repeats", "1"]);
    all_once_in_order(&lab, "warm", 6);
    let listed = lab.json(&["history"]);
    assert_eq!(listed["runs"].as_array().map(Vec::len), Some(6));
    // Two settings, the first of them twice.
    let log = fs_err::read_to_string(lab.path("home/state/helenus.log")).expect("the log");
    let warm: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("the nodes are warm"))
        .collect();
    assert_eq!(warm.len(), 3, "{log}");
    assert!(
        warm.iter().all(|line| !line.contains("operations=0")),
        "{warm:?}"
    );
    // Tables are those of the runs.
    lab.write(
        "param.toml",
        &text.replace("in-flight = 4", "param = [\"a=1\"]"),
    );
    let said = lab.run(&["experiment", "check", "param.toml"]);
    assert_eq!(said.code, "2", "{said}");
    assert!(
        said.err.contains("param does not belong in [warm]"),
        "{said}"
    );
}

#[test]
fn new_nodes_are_loaded_until_they_are_level_or_the_time_is_over() {
    let _turn = turn();
    let lab = TestLab::fake("serve");
    let warm = "[warm]\nuntil = \"level\"\nat_most = \"8s\"\nin-flight = 4\nduration = \"300ms\"\n\n[[factor]]\nname";
    let text = file("level", 4, "").replacen("[[factor]]\nname", warm, 1);
    lab.write("level.toml", &text);
    let said = ended(&lab, &["experiment", "run", "level.toml", "--repeats", "1"]);
    all_once_in_order(&lab, "level", 6);
    let listed = lab.json(&["history"]);
    assert_eq!(listed["runs"].as_array().map(Vec::len), Some(6), "{said}");
    let log = fs_err::read_to_string(lab.path("home/state/helenus.log")).expect("the log");
    let warm: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("the nodes are warm"))
        .collect();
    assert_eq!(warm.len(), 3, "{log}");
    // Whether a stand-in is level, or uses enough CPU in so short a slice for the kernel to count, is the host's business.
    let ends = ["warmth=Level", "warmth=NotLevel", "warmth=Unseen"];
    let has_warmth = |line: &&str| ends.iter().any(|end| line.contains(end));
    assert!(warm.iter().all(has_warmth), "{warm:?}");
    let slices = |line: &str| line.matches("Some(").count() + line.matches("None").count();
    assert!(warm.iter().all(|line| slices(line) > 1), "{warm:?}");
}

#[test]
fn killed_at_three_moments_every_run_is_done_once_and_in_order() {
    let _turn = turn();
    let lab = lab(2, "");
    let sittings: [(&[&str], usize); 3] = [
        (&["experiment", "run", "body.toml"], 1),
        (&["experiment", "resume", "body"], 2),
        (&["experiment", "resume", "body.toml"], 3),
    ];
    for (arguments, runs) in sittings {
        let running = until_done(&lab, arguments, runs);
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
        let cut = status(&lab, "body");
        assert_eq!(cut["state"], "cut off", "{cut:#}");
    }
    // Begun and not ended: it is not begun a second time by mistake.
    let said = lab.run(&["experiment", "run", "body.toml"]);
    assert_eq!(said.code, "2", "{said}");
    assert!(said.err.contains("helenus experiment resume e1"), "{said}");
    ended(&lab, &["experiment", "resume", "e1"]);
    all_once_in_order(&lab, "body", 2 * 6);
    assert_eq!(status(&lab, "body")["sittings"], 4);
}

#[test]
fn two_at_once_run_one_after_the_other() {
    let _turn = turn();
    let lab = lab(1, "");
    lab.write("other.toml", &file("other", 1, ""));
    let first = until_done(&lab, &["experiment", "run", "body.toml"], 1);
    let mut second = lab.begin(&["experiment", "run", "other.toml"]);
    look::wait_for("the queue", PATIENCE, || {
        let printed = second.err();
        if printed.contains("waiting for experiment e1 body (process ") {
            Ok(())
        } else {
            Err(printed)
        }
    });
    for ended in [first.end(), second.end()] {
        assert!(["0", "1", "6"].contains(&ended.code.as_str()), "{ended}");
    }
    all_once_in_order(&lab, "body", 6);
    all_once_in_order(&lab, "other", 6);
    let last = |name: &str| {
        runs(&status(&lab, name))
            .into_iter()
            .map(|(_, id)| id)
            .max()
    };
    let first = |name: &str| {
        runs(&status(&lab, name))
            .into_iter()
            .map(|(_, id)| id)
            .min()
    };
    assert!(last("body") < first("other"));
}

#[test]
fn settings_that_kill_their_nodes_are_reported_and_the_rest_goes_on() {
    let _turn = turn();
    let lab = lab(3, ", { label = \"wrong\", jvm = \"-Dfake.boddy=1\" }");
    let text = ended(&lab, &["experiment", "run", "body.toml"]);
    let dies = "died: body=wrong rate=200 (3 of 3 runs), body=wrong rate=300 (3 of 3 runs)";
    let other = "died: body=wrong rate=300 (3 of 3 runs), body=wrong rate=200 (3 of 3 runs)";
    assert!(text.contains(dies) || text.contains(other), "{text}");
    let status = status(&lab, "body");
    let runs = runs(&status);
    let count = |state: &str| runs.iter().filter(|(s, _)| s == state).count();
    assert_eq!((count("done"), count("died")), (3 * 6, 3 * 2), "{status:#}");
    let whys: BTreeSet<&str> = status["runs"]
        .as_array()
        .expect("runs")
        .iter()
        .filter_map(|run| run["why"].as_str())
        .collect();
    // Twice with the node's own words, then no more.
    assert!(
        whys.iter().any(|why| why.contains("-Dfake.body")),
        "{whys:?}"
    );
    assert!(
        whys.iter().any(|why| why.contains("died in 2 blocks")),
        "{whys:?}"
    );
    assert_eq!(look::entries(&lab.path("home/state/clusters")).len(), 0);
}

#[test]
fn a_load_that_kills_its_nodes_dies_and_the_others_of_the_restart_run() {
    let _turn = turn();
    let lab = TestLab::fake("serve");
    let file = r#"
name = "lethal"
seed = 5
repeats = 3
measure = "service.p50"
bars = ["service.p50 < 1ms at rate=4000", "service.p50 < 1s at rate=100"]

[cluster]
jvm = ["-Dfake.dies=150"]

[workload]
workload = "standard1"
ops = "write=1"
warmup = "100ms"
duration = "600ms"

[[factor]]
key = "rate"
kind = "phase"
levels = [100, 4000]
"#;
    lab.write("lethal.toml", file);
    let text = ended(&lab, &["experiment", "run", "lethal.toml"]);
    assert!(text.contains("died: rate=4000"), "{text}");
    let status = status(&lab, "lethal");
    let runs = runs(&status);
    let count = |state: &str| runs.iter().filter(|(s, _)| s == state).count();
    // Three blocks, each with its twin: what lives is done, whichever came first, and nothing is left open.
    assert_eq!((count("done"), count("died")), (6, 6), "{status:#}");
    let whys = status["runs"].as_array().expect("runs").iter();
    let whys: Vec<&str> = whys.filter_map(|run| run["why"].as_str()).collect();
    let any_why = |words: &str| whys.iter().any(|why| why.contains(words));
    assert!(
        any_why("too many operations") && any_why("died in 2 blocks"),
        "{whys:?}"
    );
    assert_eq!(look::entries(&lab.path("home/state/clusters")).len(), 0);
}

#[test]
fn a_person_s_cluster_of_the_experiment_s_name_stays() {
    let _turn = turn();
    let lab = lab(1, "");
    lab.done(&["up", "exp1"]);
    shot!(lab.run(&["experiment", "run", "body.toml"]), @"
    exit code: 2
    --- standard error
    caution: nothing is claimed of fewer than 6 blocks
    what has run is kept; to resume: helenus experiment resume e1
    error: e1 stopped: your cluster exp1 has the name that this experiment needs for the cluster it creates
    hint: `helenus rm exp1`, or another HELENUS_HOME for the experiment
    ");
    assert_eq!(lab.states("exp1").1, ["running"]);
}

#[test]
fn ctrl_c_cleans_up_and_says_how_to_go_on() {
    let _turn = turn();
    let lab = lab(1, "");
    let running = until_done(&lab, &["experiment", "run", "body.toml"], 1);
    shot!(lab.run(&["history", "prune", "r1"]), @"
    exit code: 2
    --- standard error
    error: run r1 belongs to experiment body, which is under way
    hint: wait until it ends, or stop it
    ");
    let kept = lab.run(&["history", "prune", "--tagged", "--keep", "0"]);
    assert_eq!(kept.out, "nothing to remove\n", "{kept}");
    assert!(
        kept.err
            .contains("left alone: experiment body is under way"),
        "{kept}"
    );
    running.signal(Signal::INT);
    let said = running.end();
    assert_eq!(said.code, "130", "{said}");
    assert!(said.err.contains("interrupted, and cleaned up: "), "{said}");
    assert!(said.err.contains("helenus experiment resume e1"), "{said}");
    assert_eq!(lab.processes(), vec![]);
    assert_eq!(look::entries(&lab.path("home/state/clusters")).len(), 0);
    ended(&lab, &["experiment", "resume", "body"]);
    all_once_in_order(&lab, "body", 6);
    // What has ended runs nothing more.
    let again = ended(&lab, &["experiment", "resume", "body"]);
    assert!(again.contains("no claim below 6 blocks"), "{again}");
    all_once_in_order(&lab, "body", 6);
}

#[test]
fn too_few_blocks_are_reported_and_may_be_made_enough_once() {
    let _turn = turn();
    let lab = lab(6, "");
    let few = lab.run(&["experiment", "run", "body.toml", "--repeats", "1"]);
    let message = "nothing is claimed of fewer than 6 blocks";
    assert!(few.err.contains(message), "{few}");
    all_once_in_order(&lab, "body", 6);
    let longer = |blocks: &'static str| ["experiment", "resume", "body", "--repeats", blocks];

    let mut dry = longer("6").to_vec();
    dry.push("--dry-run");
    let said = lab.run(&dry);
    assert!(
        said.err
            .contains("30 runs would be added, for 6 blocks in all"),
        "{said}"
    );
    all_once_in_order(&lab, "body", 6);

    ended(&lab, &longer("6"));
    all_once_in_order(&lab, "body", 6 * 6);
    // The order is that of six from the first.
    let ran = status(&lab, "body");
    let whole = lab.json(&["experiment", "plan", "body.toml"]);
    let places = |runs: &Value| {
        let each = runs.as_array().expect("runs").iter();
        each.map(|run| {
            [
                run["block"].clone(),
                run["restart"].clone(),
                run["combination"].clone(),
            ]
        })
        .collect::<Vec<_>>()
    };
    assert_eq!(places(&ran["runs"]), places(&whole["order"]));

    shot!(lab.run(&longer("7")), @"
    exit code: 2
    --- standard error
    error: 6 blocks are planned: their answer may be known, and it must not decide whether to run more
    hint: start another with that many from the start: --anew --repeats 7; or `until` in its file
    ");
    shot!(lab.run(&longer("5")), @"
    exit code: 2
    --- standard error
    error: 6 blocks are already planned, and blocks cannot be removed
    hint: Ctrl-C when enough has run; the answer so far: helenus experiment report e1
    ");
    all_once_in_order(&lab, "body", 6 * 6);
}

/// Two servers, one of four times the other's speed, and how much they do while 90 % of the operations take below 100 ms.
const SEARCHED: &str = r#"
name = "searched"
seed = 5
measure = "max-rate"
announce = false
bars = ["max-rate > 20/s"]

[cluster]
jvm = ["-Dfake.life_sd=0.01"]

[workload]
workload = "standard1"
ops = "write=1"
slo = "p90<100ms,errors<1%"
step = "2s"
warmup = "100ms"
within = "12s"

[[factor]]
name = "server"
kind = "restart"
levels = [{ label = "slow", jvm = "-Dfake.queue=400" }, { label = "fast", jvm = "-Dfake.queue=1600" }]
"#;

#[test]
fn the_highest_rate_is_searched_in_each_restart_and_a_faster_server_has_more_of_it() {
    let _turn = turn();
    let lab = TestLab::fake("serve");
    lab.done(&["calibrate", "--each", "100ms"]);
    lab.write("searched.toml", SEARCHED);
    // One block: each server, and the first one twice.
    let run = ["experiment", "run", "searched.toml", "--repeats", "1"];
    let text = ended(&lab, &run);
    all_once_in_order(&lab, "searched", 3);
    let made = report(&lab, "searched");
    let facts = made["facts"].as_array().expect("facts");
    assert_eq!(facts.len(), 3, "{made:#}");
    let highest = |combination: u64| -> Vec<f64> {
        let own = facts.iter().filter(|f| f["combination"] == combination);
        own.filter_map(|fact| fact["values"]["search"]["max_rate"].as_f64())
            .collect()
    };
    let (slow, fast) = (highest(0), highest(1));
    // Whether a rate was seen to hold within so short a time is the host's business.
    assert!(
        slow.iter().all(|rate| (20.0..460.0).contains(rate)),
        "{slow:?}"
    );
    assert!(
        fast.iter().all(|rate| (20.0..1_840.0).contains(rate)),
        "{fast:?}"
    );
    if let ([_, _], [fast]) = (slow.as_slice(), fast.as_slice()) {
        // The truth is 4.
        let ratios = slow.iter().map(|slow| fast / slow);
        assert!(
            ratios.clone().all(|ratio| (2.0..8.0).contains(&ratio)),
            "{slow:?} and {fast}"
        );
        let analysis = &made["analysis"];
        assert_eq!(analysis["measure"], "max_rate", "{analysis:#}");
        // A run that the host disturbed is left out, with its number.
        if analysis["left_out"] == Value::Array(vec![]) {
            let of = &analysis["combinations"][1]["values"]["max_rate"];
            let reported = of.as_f64().expect("a number");
            assert!((reported / fast - 1.0).abs() < 1e-9, "{analysis:#}");
        }
    }
    // What the generator does alone is said once, however many runs there are.
    assert_eq!(text.matches("(helenus calibrate, ").count(), 1, "{text}");
}

#[test]
fn a_live_factor_is_set_before_each_run_and_its_first_level_comes_back() {
    let _turn = turn();
    let lab = TestLab::fake("serve");
    let log = lab.path("mbeans.log");
    let text = format!(
        r#"
name = "hints"
seed = 5
measure = "service.p50"
repeats = 2
announce = false

[cluster]
jvm = ["-Dfake.body=10", "-Dfake.tail=10", "-Dmbeans.log={}"]

[workload]
workload = "standard1"
ops = "write=1"
rate = 200
warmup = "100ms"
duration = "300ms"

[[factor]]
name = "hints"
kind = "live"
levels = [
  {{ label = "on", set = ["hinted_handoff_enabled=true", "stream_throughput_outbound=24MiB/s"] }},
  {{ label = "off", set = ["hinted_handoff_enabled=false", "stream_throughput_outbound=1MiB/s"] }},
]
"#,
        log.display()
    );
    lab.write("hints.toml", &text);
    ended(&lab, &["experiment", "run", "hints.toml"]);
    let status = status(&lab, "hints");
    assert_eq!(status["left"], 0, "{status:#}");
    let written = fs_err::read_to_string(&log).expect("what was set");
    let proxy = "org.apache.cassandra.db:type=StorageProxy HintedHandoffEnabled ";
    let hints: Vec<&str> = written
        .lines()
        .filter_map(|line| line.strip_prefix(proxy))
        .collect();
    // Two blocks of two restarts, each with both levels and back.
    assert_eq!(hints.len(), 16, "{written}");
    for life in hints.chunks(4) {
        assert!(life[0] == life[3] && life[1] == life[2], "{written}");
        assert_ne!(life[0], life[1], "{written}");
    }
    let service = "org.apache.cassandra.db:type=StorageService StreamThroughputMbPerSec ";
    let streams = written
        .lines()
        .filter_map(|line| line.strip_prefix(service));
    let wanted = hints
        .iter()
        .map(|on| if *on == "true" { "201" } else { "8" });
    assert!(streams.eq(wanted), "{written}");
}
