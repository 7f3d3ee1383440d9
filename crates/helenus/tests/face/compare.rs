//! `compare` as a person meets it: what may be got wrong, what would run, and two runs side by side.
//! Refuses to run pairs: the lifecycle ring does; here at most three short runs stand in the history.

use crate::json::shown;
use crate::lab::TestLab;

const SIDE: &str = "phases = 'write'\nrate = 200\nwarmup = '0s'\nduration = '300ms'\n";

/// A lab with two sides in files, `a.toml` and `b.toml`.
fn with_sides() -> TestLab {
    let lab = TestLab::fake("serve");
    lab.write("a.toml", SIDE);
    lab.write("b.toml", &format!("{SIDE}jvm = ['-Dfake.body=1.5']\n"));
    lab
}

/// What each of these says, all of which must be refused as usage, with nothing made.
fn refused(lab: &TestLab, all: &[&[&str]]) -> String {
    let mut errors = String::new();
    for arguments in all {
        let said = lab.run(&[&["compare"], *arguments].concat());
        assert_eq!((said.code.as_str(), said.out.as_str()), ("2", ""), "{said}");
        errors += &format!("$ {}\n{}", arguments.join(" "), said.err);
    }
    assert_eq!(lab.processes(), vec![]);
    errors
}

#[test]
fn what_is_no_comparison() {
    let lab = with_sides();
    let ab = ["--ab", "a.toml", "b.toml"];
    let errors = refused(
        &lab,
        &[
            &[],
            &["r1"],
            &["cmp1"],
            &["r1", "r2"],
            &["before", "after"],
            &["a", "b", "c"],
            &["a", "b", "--pairs", "8"],
            &["--ab", "a.toml"],
            &[&ab[..], &["r1"]].concat(),
            &[&ab[..], &["--pairs", "3", "--until", "5%"]].concat(),
            &[&ab[..], &["--pairs", "0"]].concat(),
            &[&ab[..], &["--until", "0%"]].concat(),
            &[&ab[..], &["--until", "five"]].concat(),
            &[&ab[..], &["--max-pairs", "9"]].concat(),
            &[&ab[..], &["--until", "5%", "--max-pairs", "5"]].concat(),
        ],
    );
    insta::assert_snapshot!(errors, @r#"
    $ 
    error: the following required arguments were not provided:
      <A B>...

    Usage: helenus compare [OPTIONS] <A> <B>
           helenus compare [OPTIONS] --ab <A.toml> <B.toml>
           helenus compare <COMPARISON>

    For more information, try '--help'.
    $ r1
    error: r1 is one side of a comparison
    hint: name two sides, or a comparison such as cmp1
    $ cmp1
    error: no such comparison: cmp1
    hint: `helenus history --comparisons` lists them
    $ r1 r2
    error: no such run: r1
    hint: `helenus bench` makes one
    $ before after
    error: no such run or tag: before
    hint: `helenus history` lists runs and their tags
    $ a b c
    error: unexpected value 'c' for '[A B]...' found; no more were expected

    Usage: helenus compare [OPTIONS] <A> <B>
           helenus compare [OPTIONS] --ab <A.toml> <B.toml>
           helenus compare <COMPARISON>

    For more information, try '--help'.
    $ a b --pairs 8
    error: no such run or tag: a
    hint: `helenus history` lists runs and their tags
    $ --ab a.toml
    error: 2 values required for '--ab <A.toml> <B.toml>' but 1 was provided

    Usage: helenus compare [OPTIONS] <A> <B>
           helenus compare [OPTIONS] --ab <A.toml> <B.toml>
           helenus compare <COMPARISON>

    For more information, try '--help'.
    $ --ab a.toml b.toml r1
    error: the argument '--ab <A.toml> <B.toml>' cannot be used with '[A B]...'

    Usage: helenus compare [OPTIONS] <A> <B>
           helenus compare [OPTIONS] --ab <A.toml> <B.toml>
           helenus compare <COMPARISON>

    For more information, try '--help'.
    $ --ab a.toml b.toml --pairs 3 --until 5%
    error: the argument '--pairs <N>' cannot be used with '--until <PERCENT>'

    Usage: helenus compare [OPTIONS] <A> <B>
           helenus compare [OPTIONS] --ab <A.toml> <B.toml>
           helenus compare <COMPARISON>

    For more information, try '--help'.
    $ --ab a.toml b.toml --pairs 0
    error: invalid value '0' for '--pairs <N>': 0 is not in 1..=1000

    For more information, try '--help'.
    $ --ab a.toml b.toml --until 0%
    error: invalid value '0%' for '--until <PERCENT>': "0%" is not a percentage from 0.1% to 100%, such as 5%

    For more information, try '--help'.
    $ --ab a.toml b.toml --until five
    error: invalid value 'five' for '--until <PERCENT>': "five" is not a percentage from 0.1% to 100%, such as 5%

    For more information, try '--help'.
    $ --ab a.toml b.toml --max-pairs 9
    error: the following required arguments were not provided:
      <--until <PERCENT>|--stop-early>

    Usage: helenus compare [OPTIONS] <A> <B>
           helenus compare [OPTIONS] --ab <A.toml> <B.toml>
           helenus compare <COMPARISON>

    For more information, try '--help'.
    $ --ab a.toml b.toml --until 5% --max-pairs 5
    error: invalid value '5' for '--max-pairs <N>': 5 is not in 6..=1000

    For more information, try '--help'.
    "#);
}

#[test]
fn bars_that_nothing_can_answer() {
    let lab = with_sides();
    let bar = |bar: &'static str| ["--ab", "a.toml", "b.toml", "--fail-on", bar];
    let errors = refused(
        &lab,
        &[
            &bar("p99"),
            &bar("p98>+5%"),
            &bar("p99>+5"),
            &bar("throughput<5%"),
            &bar("service.cpu>+5%"),
            // Known before anything runs: neither side has such a phase or operation.
            &bar("wriet.p99>+5%"),
            &bar("write.read.p99>+5%"),
            &[&bar("p50>+5%")[..], &["--fail-on", "p5>+5%"]].concat(),
        ],
    );
    insta::assert_snapshot!(errors, @r#"
    $ --ab a.toml b.toml --fail-on p99
    error: the threshold "p99" has neither > nor <
    hint: write it as 'p99>+5%' or 'throughput<-5%'
    $ --ab a.toml b.toml --fail-on p98>+5%
    error: the threshold "p98>+5%" names no known measure at character 1: "p98"
    hint: the nearest is p99; known: p50, p90, p95, p99, p99.9, mean, throughput, cpu, generator-cpu, max-rate
    $ --ab a.toml b.toml --fail-on p99>+5
    error: the threshold "p99>+5" has no percentage at character 5: "+5"
    hint: end it with a percentage above -100%, such as +5%, -5% or 2.5%
    $ --ab a.toml b.toml --fail-on throughput<5%
    error: the threshold "throughput<5%" is ambiguous: < needs a percentage with a sign
    hint: write <-5% or <+5%
    $ --ab a.toml b.toml --fail-on service.cpu>+5%
    error: the threshold "service.cpu>+5%" asks for the service time of cpu, which is not a time
    hint: leave service. out
    $ --ab a.toml b.toml --fail-on wriet.p99>+5%
    error: the threshold "wriet.p99>+5%" names no known phase or operation at character 1: "wriet"
    hint: the nearest is write; known: write, all
    $ --ab a.toml b.toml --fail-on write.read.p99>+5%
    error: the threshold "write.read.p99>+5%" names no known phase or operation at character 7: "read"
    hint: known: all
    $ --ab a.toml b.toml --fail-on p50>+5% --fail-on p5>+5%
    error: the threshold "p5>+5%" names no known measure at character 1: "p5"
    hint: the nearest is p50; known: p50, p90, p95, p99, p99.9, mean, throughput, cpu, generator-cpu, max-rate
    "#);
}

#[test]
fn a_file_that_is_no_side_is_refused_with_its_line() {
    let lab = with_sides();
    let side = |name: &str, more: &str| {
        lab.write(name, &format!("{SIDE}{more}\n"));
    };
    side("unknown.toml", "preest = 'dev'");
    side("mistyped.toml", "population = 'many'");
    side("switch.toml", "closed = 1");
    side("twice.toml", "rate = 5");
    side("hosts.toml", "hosts = ['10.0.0.1']");
    side("seed.toml", "seed = 7");
    side("setting.toml", "set = ['concurent_reads=16']");
    lab.write("broken.toml", "phases = [\n");
    lab.write("reads.toml", "phases = 'read'\npopulation = 10\n");
    lab.write(
        "own.toml",
        "phases = 'write'\ninsert = 'INSERT INTO ks.t (id) VALUES (?)'\n",
    );
    let errors = refused(
        &lab,
        &[
            &["--ab", "missing.toml", "b.toml"],
            &["--ab", "a.toml", "unknown.toml"],
            &["--ab", "mistyped.toml", "b.toml"],
            &["--ab", "switch.toml", "b.toml"],
            &["--ab", "twice.toml", "b.toml"],
            &["--ab", "hosts.toml", "b.toml"],
            &["--ab", "seed.toml", "b.toml"],
            &["--ab", "broken.toml", "b.toml"],
            // Each side alone is well, or would be found out only by its first restart.
            &["--ab", "a.toml", "setting.toml"],
            &["--ab", "a.toml", "reads.toml"],
            &["--ab", "a.toml", "own.toml"],
        ],
    );
    insta::assert_snapshot!(errors, @r#"
    $ --ab missing.toml b.toml
    error: failed to open file `missing.toml`: No such file or directory (os error 2)
    $ --ab a.toml unknown.toml
    error: unknown.toml:5: unknown key preest
    hint: did you mean preset?
    $ --ab mistyped.toml b.toml
    error: mistyped.toml:5: invalid value 'many' for '--population <N>': invalid digit found in string
    $ --ab switch.toml b.toml
    error: switch.toml:5: closed is true or false
    $ --ab twice.toml b.toml
    error: twice.toml:5: duplicate key
    $ --ab hosts.toml b.toml
    error: hosts.toml:5: hosts is not allowed in a side of a comparison
    hint: each restart has its own cluster; leave the key out
    $ --ab seed.toml b.toml
    error: seed.toml:5: seed is not allowed in a side of a comparison
    hint: both sides share their data: give the seed as `helenus compare --seed`
    $ --ab broken.toml b.toml
    error: broken.toml:1: unclosed array, expected `]`
    $ --ab a.toml setting.toml
    error: setting.toml: cassandra.yaml has no key "concurent_reads"
    hint: did you mean concurrent_reads?
    $ --ab a.toml reads.toml
    error: the runs have no phase in common: a has write, reads has read
    hint: run both sides with the same --phases
    $ --ab a.toml own.toml
    error: a ran the workload standard1 and own ran custom
    hint: compare runs of one workload
    "#);
    assert!(!lab.path("home/state/history.db").exists());
}

#[test]
fn a_file_of_pairs_needs_a_rate() {
    let lab = TestLab::fake("serve");
    let pairs = "name = 'ab'\npairs = true\n[workload]\nphases = 'write'\nduration = '1s'\n\
                 [[factor]]\nkey = 'heap'\nkind = 'restart'\nlevels = ['300M', '500M']\n";
    lab.write("pairs.toml", pairs);
    shot!(lab.run(&["experiment", "plan", "pairs.toml"]), @"
    exit code: 2
    --- standard error
    error: pairs need a rate: each restart would find its own, and a pair would compare two loads
    hint: add rate or closed = true to [workload]; `helenus compare --ab` finds one rate for all
    ");
}

#[test]
fn a_dry_run_says_what_would_run() {
    let lab = with_sides();
    let seed = ["compare", "--dry-run", "--seed", "3"];
    let ab = ["--ab", "a.toml", "b.toml"];
    shot!(lab.run(&[&seed[..], &ab].concat()), @"
    exit code: 0
    --- standard output
    A  a
    B  b
    16 restarts in 8 pairs, about 44 s
    seed 3, order AB BA AB BA BA AB AB AB
    ");
    let until = ["--until", "5%", "--fail-on", "p50>+5%", "--format", "json"];
    shot!(lab.run(&[&seed[..], &ab, &until].concat()), @r#"
    exit code: 0
    --- standard output
    {
      "answer": "12 restarts in 6 pairs, about 33 s",
      "format": "helenus.ab-plan/1",
      "labels": [
        "a",
        "b"
      ],
      "seed": 3,
      "pairs": 6,
      "most_pairs": 30,
      "restarts": 12,
      "most_restarts": 60,
      "about_s": 33,
      "most_about_s": 165,
      "bars": [
        "p50>+5%"
      ],
      "order": [
        "AB",
        "BA",
        "AB",
        "BA",
        "BA",
        "AB"
      ],
      "finds_rate": false
    }
    "#);
    lab.write("c.toml", "phases = 'write'\nduration = '1s'\n");
    let said = lab.done(&[&seed[..], &["--ab", "c.toml", "c.toml", "--pairs", "1"]].concat());
    assert!(said.contains("one run of A that finds the rate"), "{said}");
    assert_eq!(lab.processes(), vec![]);
    assert!(!lab.path("home/state/history.db").exists());
}

/// Three runs that count; none where the host was too busy for one of them.
fn three_runs() -> Option<TestLab> {
    let lab = with_sides();
    for tag in ["before", "after", "after"] {
        let load = ["--rate", "400", "--duration", "300ms", "--warmup", "0s"];
        let slow = ["--jvm=-Dfake.body=20", "--jvm=-Dfake.tail=20"];
        let bench = ["bench", "--phases", "write", "--max-errors", "1", "--tag"];
        let said = lab.run(&[&bench[..], &[tag], &load, &slow].concat());
        assert!(["0", "5"].contains(&said.code.as_str()), "{said}");
        if said.code != "0" {
            return None;
        }
    }
    Some(lab)
}

#[test]
fn a_history_that_cannot_be_read_is_the_environment_s() {
    let lab = TestLab::new();
    lab.write("home/state/history.db", "no database");
    let said = lab.run(&["compare", "before", "after"]);
    assert_eq!(said.code, "3", "{said}");
    assert!(said.err.contains("cannot open the history"), "{said}");
}

#[test]
fn two_single_runs_stand_side_by_side() {
    let mut tries = std::iter::repeat_with(three_runs).take(12);
    let lab = tries.find_map(|lab| lab).expect("three runs that count");
    let made = lab.json(&["compare", "before", "r2"]);
    assert_eq!(made["format"], "helenus.comparison/1");
    assert_eq!(made["comparison_id"], "cmp1");
    let sides = (&made["a"]["label"], &made["b"]["runs"][0]);
    assert_eq!(
        (sides.0.as_str(), sides.1.as_str()),
        (Some("before"), Some("r2"))
    );
    for row in made["rows"].as_array().expect("rows") {
        assert_eq!(row["claim"], "none", "{row:#}");
        assert!(row["estimate"].is_null(), "{row:#}");
    }
    assert_eq!(made["pairs"][0]["a_first"], true, "{made:#}");
    let shape = shown(&made["rows"][0]);
    insta::assert_snapshot!(shape, @r#"
    {
      "a": "number",
      "b": "number",
      "claim": "text",
      "estimate": "null",
      "measure": "text",
      "operation": "text",
      "phase": "text",
      "ratios": [
        "number"
      ]
    }
    "#);
    let said = lab.run(&["compare", "r1", "r2", "--fail-on", "p50>+5%"]);
    assert_eq!(said.code, "6", "{said}");
    for words in [
        "no claim: two single runs, side by side\n  A  r1: r1\n  B  r2: r2\n",
        "threshold p50>+5%: write all response p50 is undecided\n",
        "caution: 1 pair of restarts: no claim is made below 6;",
        "stored as cmp2; `helenus report cmp2` draws it\n",
    ] {
        assert!(said.out.contains(words), "{words}\n{said}");
    }
    // What is made can be shown again, by three verbs, with the code that it had.
    for again in [&["compare", "cmp2"][..], &["history", "show", "cmp2"]] {
        let said = lab.run(again);
        assert!(said.out.starts_with("no claim: two single"), "{said}");
    }
    assert_eq!(lab.run(&["compare", "cmp2"]).code, "6");
    let listed = lab.done(&["history", "--comparisons"]);
    assert_eq!(listed.lines().count(), 3, "{listed}");
    assert!(
        listed.contains("cmp1") && listed.contains("before"),
        "{listed}"
    );
    let report = lab.done(&["report", "cmp2", "--dry-run"]);
    assert_eq!(
        report,
        "would write helenus-cmp2.html and helenus-cmp2.md\n"
    );
    let pruned = lab.json(&["history", "prune", "cmp2", "cmp2", "--dry-run"]);
    assert_eq!(pruned["comparisons"], serde_json::json!(["cmp2"]));
    let errors = refused(
        &lab,
        &[
            &["before", "aftr"],
            &["r1", "r9"],
            &["r1", "r1"],
            &["r1..r2", "after"],
            &["cmp9"],
            &["cmp2", "--fail-on", "p50>+5%"],
            &["r1", "r2", "--fail-on", "p99.9>+5%"],
        ],
    );
    insta::assert_snapshot!(errors, @r#"
    $ before aftr
    error: no such run or tag: aftr
    hint: did you mean after?
    $ r1 r9
    error: no such run: r9 (the newest is r3)
    hint: `@last` is the last run that has ended
    $ r1 r1
    error: r1 is on both sides
    hint: name sides that share no run
    $ r1..r2 after
    error: r2 is on both sides
    hint: name sides that share no run
    $ cmp9
    error: no such comparison: cmp9 (the newest is cmp2)
    hint: `helenus history --comparisons` lists them
    $ cmp2 --fail-on p50>+5%
    error: cmp2 already exists, and its thresholds were set when it was made
    hint: compare its runs again: helenus compare r1 r2 --fail-on ...
    $ r1 r2 --fail-on p99.9>+5%
    error: the threshold "p99.9>+5%" is about p99.9, which not all of these runs have
    hint: response times need a --rate, a percentile needs ten samples above it; CPU is measured over all operations together, and only of nodes on this machine
    "#);
}
