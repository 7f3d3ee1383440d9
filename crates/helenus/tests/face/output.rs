//! Standard output that takes nothing: a full disk behind it is an error of every verb, a reader that went away is none.
//! Refuses to leave a verb out: those of `--help` are counted.

use crate::lab::TestLab;
use std::process::Stdio;

/// Verbs that print, each with words with which it succeeds on the cluster `c` and the run `r1`.
const PRINTS: &[&str] = &[
    "up d --dry-run",
    "bench --dry-run",
    "run standard1 --ops write=1 --dry-run",
    "populate standard1 --cluster c --rows 10 --dry-run",
    "workload list",
    "compare r1 r2",
    "levels --cluster c --dry-run",
    "experiment check x.toml",
    "experiment plan x.toml",
    "history",
    "history show r1",
    "history trend",
    "history export r1 --to -",
    "report r1 --dry-run",
    "stop c --dry-run",
    "start c --dry-run",
    "upgrade c --to 5.0.4 --dry-run",
    "rm c --dry-run",
    "list",
    "status c",
    "topology show c",
    "kube render c",
    "hosts render -n 3 --hosts 10.0.0.11-13 --dry-run",
    "kube render -n 3 --dry-run",
    "kube kind -n 3 --memory 64G",
    "kube secret superuser --name s --dry-run",
    "kube secret tls -n 3 --dry-run",
    "logs c",
    "collect c --dry-run",
    "metrics c --once",
    "stack up d --without metrics --dry-run",
    "metrics --dashboard",
    "kill c --dry-run",
    "pause c --dry-run",
    "resume c --dry-run",
    "node add c --dry-run",
    "fault c",
    "heal c",
    "baseline list",
    "ledger show r1",
    "cqlsh c -e SELECT*FROM/**/system.local",
    "cqlsh c --dry-run -e SELECT",
    "env c",
    "releases",
    "presets",
    "machine",
    "plan",
    "doctor",
    "calibrate --each 100ms",
    "completions bash",
    "jmx c --dry-run",
    "flame c --dry-run",
];

/// Verbs that stand elsewhere in this file, or become another program.
const ELSEWHERE: &[(&str, &str)] = &[
    ("stress", "its failures are 1, as cassandra-stress has them"),
    ("nb", "no flag stands behind its line"),
    ("reset", "the stand-in has no schema to compare"),
    ("link", "a network of its own wants privileges"),
    ("count", "the stand-in has no table to count"),
    ("load", "the stand-in has no table to load"),
    ("unload", "the stand-in has no table to unload"),
    ("check-data", "the stand-in has no table to read back"),
    ("guard", "the stand-in's address changes"),
    ("exec", "becomes a program"),
    ("ccm", "flags behind its line are the line's"),
    ("ui", "serves until it is stopped"),
    (
        "nodetool",
        "the stand-in has no JMX; `relay` has tests of its own",
    ),
    (
        "load-agent",
        "waits for a command of another machine; `agents` has tests of its own",
    ),
    ("help", "prints what --help prints"),
];

const EXPERIMENT: &str = r#"name = "heap"
[cluster]
preset = "tiny"
[workload]
workload = "standard1"
ops = "write=1"
duration = "1s"
[[factor]]
key = "heap"
kind = "restart"
levels = ["64M", "96M"]
"#;

/// A cluster `c` and two short runs on it. A closed loop that waits for its node most of the time has no lateness and no
/// saturated generator, so a busy machine disqualifies none: `compare` refuses those.
fn with_runs() -> TestLab {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c", "--jvm=-Dfake.delay_us=20000"]);
    lab.write("x.toml", EXPERIMENT);
    for more in [&["--ledger"][..], &[]] {
        let run = "run standard1 --cluster c --ops write=1 --count 20 --in-flight 2 --warmup 0s";
        let words: Vec<&str> = run.split(' ').chain(more.iter().copied()).collect();
        lab.done(&words);
    }
    lab
}

/// The exit code and standard error of a command whose standard output is `out`.
fn into(lab: &TestLab, words: &[&str], out: impl Into<Stdio>) -> (Option<i32>, String) {
    let ended = lab.command(words).stdout(out).output().expect("it starts");
    let errors = String::from_utf8_lossy(&ended.stderr).into_owned();
    (ended.status.code(), errors)
}

/// A file that is always full.
fn full() -> std::fs::File {
    let full = fs_err::OpenOptions::new().write(true).open("/dev/full");
    full.expect("Linux has it").into_parts().0
}

#[test]
fn output_that_is_lost_is_an_error_of_every_verb() {
    let lab = with_runs();
    let mut silent = Vec::new();
    for line in PRINTS {
        let words: Vec<&str> = line.split(' ').collect();
        for format in ["text", "json"] {
            let words = [&words[..], &["--format", format]].concat();
            let whole = lab.run(&words);
            assert_eq!(whole.code, "0", "{line} as {format}\n{whole}");
            assert_ne!(whole.out, "", "{line} as {format}");
            let (code, errors) = into(&lab, &words, full());
            if code != Some(3) || !errors.contains("cannot write to standard output: No space") {
                silent.push(format!("{line} as {format}: {code:?} {errors}"));
            }
        }
    }
    assert_eq!(silent, Vec::<String>::new());
}

#[test]
fn output_that_is_lost_is_an_error_after_the_work_as_well() {
    let lab = with_runs();
    let run = "run standard1 --cluster c --ops write=1 --count 20 --in-flight 2 --warmup 0s";
    for (line, code) in [
        (format!("{run} --format json"), 3),
        (format!("{run} --format text"), 3),
        (
            "stress --cluster c write n=20 -rate threads=2".to_owned(),
            1,
        ),
        ("history export r1 --to - --format json".to_owned(), 3),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let (ended, errors) = into(&lab, &words, full());
        assert_eq!(ended, Some(code), "{line}\n{errors}");
        assert!(
            errors.contains("cannot write to standard output: No space"),
            "{line}\n{errors}"
        );
    }
}

#[test]
fn every_verb_stands_in_the_table() {
    let lab = TestLab::new();
    let help = lab.done(&["--help"]);
    let verbs = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|verb| !verb.is_empty());
    let missing: Vec<&str> = verbs
        .filter(|verb| {
            let listed = PRINTS
                .iter()
                .any(|line| line.split(' ').next() == Some(verb));
            !listed && !ELSEWHERE.iter().any(|(known, _)| known == verb)
        })
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn help_and_version_are_output_too() {
    let lab = TestLab::new();
    for words in [
        &["--help"][..],
        &["--version"],
        &["help", "up"],
        &["link", "--help"],
    ] {
        let (code, errors) = into(&lab, words, full());
        assert_eq!(code, Some(3), "{words:?}\n{errors}");
        assert!(
            errors.contains("cannot write to standard output"),
            "{errors}"
        );
    }
}

#[test]
fn stress_fails_as_cassandra_stress_does() {
    let lab = TestLab::new();
    for words in [
        "stress help",
        "stress version",
        "stress print dist=fixed(1)",
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let (code, errors) = into(&lab, &words, full());
        assert_eq!(code, Some(1), "{words:?}\n{errors}");
        assert!(
            errors.contains("cannot write to standard output"),
            "{errors}"
        );
    }
}

#[test]
fn a_reader_that_went_away_is_no_failure() {
    let lab = with_runs();
    for line in [
        "list",
        "completions bash",
        "history export r1 --to -",
        "logs c --follow",
        "--help",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let (code, errors) = into(&lab, &words, writer);
        assert_eq!((code, errors.as_str()), (Some(0), ""), "{line}");
    }
}
