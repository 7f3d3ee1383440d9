//! `history` in words: help, an empty home, names that nothing has, files that are not ours to write or read.
//! Refuses to look at what a run measured; `history_runs.rs` does.

use crate::lab::TestLab;

#[test]
fn no_history_yet() {
    let lab = TestLab::new();
    shot!(lab.run(&["history"]), @"
    exit code: 0
    --- standard output
    no run yet; `helenus bench` makes one
    ");
    assert_eq!(lab.done(&["history", "list"]), lab.done(&["history"]));
    shot!(lab.run(&["history", "--comparisons"]), @"
    exit code: 0
    --- standard output
    no comparison yet; `helenus compare` makes one
    ");
    shot!(lab.run(&["history", "--format", "json"]), @r#"
    exit code: 0
    --- standard output
    {
      "answer": "no run yet; `helenus bench` makes one",
      "format": "helenus.history/1",
      "runs": [],
      "comparisons": []
    }
    "#);
    for verb in [
        &["show", "@last"][..],
        &["tag", "r1", "x"],
        &["prune", "--keep", "1"],
        &["export", "r1"],
    ] {
        let said = lab.run(&[&["history"], verb].concat());
        assert_eq!((said.code.as_str(), said.out.as_str()), ("2", ""), "{said}");
        assert!(said.err.contains("the history contains no run"), "{said}");
    }
    shot!(lab.run(&["history", "show", "@last"]), @"
    exit code: 2
    --- standard error
    error: the history contains no run
    hint: `helenus bench` makes one
    ");
    let file = lab.path("home/state").join(helenus_record::FILE);
    assert!(!file.exists(), "asking made a history");
}

#[test]
fn prune_wants_to_know_what() {
    let lab = TestLab::new();
    shot!(lab.run(&["history", "prune"]), @"
    exit code: 2
    --- standard error
    error: the following required arguments were not provided:
      <RUN|--keep <N>|--older-than <TIME>|--state <STATE>|--tag <TAG>>

    Usage: helenus history prune <RUN|--keep <N>|--older-than <TIME>|--state <STATE>|--tag <TAG>>

    For more information, try '--help'.
    ");
    shot!(lab.run(&["history", "prune", "--older-than", "30"]), @r#"
    exit code: 2
    --- standard error
    error: invalid value '30' for '--older-than <TIME>': "30" is not a duration: write a number with ms, s, m, h or d, such as 30s

    For more information, try '--help'.
    "#);
    shot!(lab.run(&["history", "--state", "broke"]), @"
    exit code: 2
    --- standard error
    error: invalid value 'broke' for '--state <STATE>'
      [possible values: running, broken, complete, interrupted, invalid]

      tip: a similar value exists: 'broken'

    For more information, try '--help'.
    ");
}

#[test]
fn a_tag_that_reads_as_a_run_is_refused_before_anything_starts() {
    let lab = TestLab::new();
    shot!(lab.run(&["bench", "--tag", "r12", "--dry-run"]), @r#"
    exit code: 2
    --- standard error
    error: invalid value 'r12' for '--tag <WORD>': "r12" cannot be a tag: it looks like a name that Helenus assigns; use a word such as before-upgrade, of letters, digits and . _ - + : /

    For more information, try '--help'.
    "#);
}

#[test]
fn a_newer_history_and_one_that_is_none() {
    let lab = TestLab::new();
    let file = format!("home/state/{}", helenus_record::FILE);
    let path = lab.write(&file, "");
    drop(helenus_record::History::open(&path).expect("makes it"));
    // The version stands at byte 60 of a database, the most significant byte first.
    let mut bytes = fs_err::read(&path).expect("a file");
    assert_eq!(bytes[60..63], [0, 0, 0]);
    bytes[63] = 99;
    fs_err::write(&path, &bytes).expect("writes");
    shot!(lab.run(&["history"]), @"
    exit code: 3
    --- standard error
    error: the history [LAB]/home/state/history.db has version 99; this helenus reads versions up to 6
    hint: use the newer helenus, or another HELENUS_HOME for this one
    ");
    assert_eq!(
        fs_err::read(&path).expect("a file"),
        bytes,
        "it was written to"
    );
    lab.write(&file, &"no database, whatever its name says. ".repeat(40));
    shot!(lab.run(&["history"]), @"
    exit code: 3
    --- standard error
    error: cannot open the history [LAB]/home/state/history.db
      caused by: file is not a database: Error code 26: file is not a database
    hint: move the file aside: the next run makes a new one
    ");
}
