//! `history` in words: help, an empty home, names that nothing has, files that are not ours to write or read.
//! Refuses to look at what a run measured; `history_runs.rs` does.

use crate::lab::TestLab;

#[test]
fn help() {
    shot!(TestLab::new().run(&["history", "--help"]), @"
    exit code: 0
    --- standard output
    The stored runs: list, show, tag, prune, export

    Usage: helenus history [OPTIONS]
           helenus history <COMMAND>

    Commands:
      list    Every run, the newest last: the same as `helenus history` alone
      show    A run with its plan, host, command, results and doubts; or a comparison
      tag     Tag runs, or remove a tag
      prune   Delete runs
      export  Runs as JSON, CSV or an HdrHistogram interval log
      help    Print this message or the help of the given subcommand(s)

    Options:
          --format <FORMAT>
              Text for people, or JSON for programs

              [default: text]
              [possible values: text, json]

      -v, --verbose...
              More detail on standard error; twice for everything. The log file always has it

      -q, --quiet
              Print only errors on standard error

          --tag <TAG>
              Only runs with this tag

          --state <STATE>
              Only runs in this state

              Possible values:
              - running:     It is under way
              - broken:      Its process was killed
              - complete:    It ended as it should
              - interrupted: It was interrupted, as by Ctrl-C
              - invalid:     It ended, and is not valid

          --cassandra <RELEASE>
              Only runs on this release, such as 5.0.9

          --workload <NAME>
              Only runs of this workload, such as standard1

          --limit <N>
              Only the newest N

          --comparisons
              The comparisons instead of the runs

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      helenus history                        every run, the newest last
      helenus history --tag before --state complete
      helenus history show @last             plan, host, command, results and doubts of the newest
      helenus history tag r12 before-upgrade
      helenus history export r12 --to r12.hdr
      helenus history prune --keep 100 --older-than 30d --dry-run

    A RUN is r12, @last (the newest that has ended), @newest, a tag, or several: r12,r15 and r12..r20.
    ");
    shot!(TestLab::new().run(&["history", "show", "--help"]), @"
    exit code: 0
    --- standard output
    A run with its plan, host, command, results and doubts; or a comparison

    Usage: helenus history show [OPTIONS] <RUN>

    Arguments:
      <RUN>  r12, @last, a tag that only one run has, or cmp3

    Options:
          --format <FORMAT>  Text for people, or JSON for programs [default: text] [possible values:
                             text, json]
      -v, --verbose...       More detail on standard error; twice for everything. The log file always
                             has it
      -q, --quiet            Print only errors on standard error
      -h, --help             Print help
    ");
    shot!(TestLab::new().run(&["history", "tag", "--help"]), @"
    exit code: 0
    --- standard output
    Tag runs, or remove a tag

    Usage: helenus history tag [OPTIONS] <RUN> <TAG>

    Arguments:
      <RUN>  r12, @last, a tag, r12,r15 or r12..r20
      <TAG>  A word such as before-upgrade

    Options:
          --format <FORMAT>  Text for people, or JSON for programs [default: text] [possible values:
                             text, json]
          --remove           Remove the tag
          --dry-run          Show what would be done, do nothing
      -v, --verbose...       More detail on standard error; twice for everything. The log file always
                             has it
      -q, --quiet            Print only errors on standard error
      -h, --help             Print help

    Examples:
      helenus history tag @last before-upgrade
      helenus history tag r12..r19 zgc
      helenus history tag r12 zgc --remove
    ");
}

#[test]
fn help_of_what_removes_and_writes() {
    shot!(TestLab::new().run(&["history", "prune", "--help"]), @"
    exit code: 0
    --- standard output
    Delete runs

    Usage: helenus history prune [OPTIONS] <RUN|--keep <N>|--older-than <TIME>|--state <STATE>|--tag <TAG>>

    Arguments:
      [RUN]...
              Runs and comparisons to remove: r12, a tag, r12..r20, cmp3

    Options:
          --format <FORMAT>
              Text for people, or JSON for programs

              [default: text]
              [possible values: text, json]

          --keep <N>
              All but the newest N

          --older-than <TIME>
              Those that started longer ago, such as 30d

      -v, --verbose...
              More detail on standard error; twice for everything. The log file always has it

      -q, --quiet
              Print only errors on standard error

          --state <STATE>
              Those in this state

              Possible values:
              - running:     It is under way
              - broken:      Its process was killed
              - complete:    It ended as it should
              - interrupted: It was interrupted, as by Ctrl-C
              - invalid:     It ended, and is not valid

          --tag <TAG>
              Those with this tag

          --tagged
              Tagged ones too

          --dry-run
              Show what would be removed, remove nothing

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      helenus history prune --state broken --dry-run
      helenus history prune --older-than 30d --keep 50
      helenus history prune r12 r15 cmp3

    A run is removed if it meets every condition. Runs under way are never removed, nor those of an
    experiment or comparison under way; tagged ones only with --tagged, or by their name or tag.
    ");
    shot!(TestLab::new().run(&["history", "export", "--help"]), @"
    exit code: 0
    --- standard output
    Runs as JSON, CSV or an HdrHistogram interval log

    Usage: helenus history export [OPTIONS] <RUN>...

    Arguments:
      <RUN>...
              r12, @last, a tag, r12,r15 or r12..r20

    Options:
          --format <FORMAT>
              Text for people, or JSON for programs

              [default: text]
              [possible values: text, json]

          --to <FILE>
              Where to write; - for standard output

              [default: -]

          --as <FORM>
              The form [default: by FILE's extension; json on standard output]

              Possible values:
              - json: Everything, for programs
              - csv:  A row for each phase, operation and measure
              - hdr:  An HdrHistogram interval log, one run

      -v, --verbose...
              More detail on standard error; twice for everything. The log file always has it

          --intervals
              JSON and CSV: the intervals of each run, not only its result

      -q, --quiet
              Print only errors on standard error

          --phase <PHASE>
              HDR: only this phase, with plain tags

          --with-warmup
              HDR and intervals: also the warm-up, which no result counts

          --force
              Overwrite an existing file

          --dry-run
              Show what would be written, write nothing

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      helenus history export @last                       JSON on standard output
      helenus history export r12..r20 --to runs.csv
      helenus history export r12 --to r12.hdr            tags write.WRITE-st, write.WRITE-rt, …
      helenus history export r12 --phase read --as hdr   tags READ-st, READ-rt, READ-wt

    The interval log's values are nanoseconds: -st service time, -rt response time, -wt the wait before
    the start.
    ");
}

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
    error: the history [LAB]/home/state/history.db has version 99; this helenus reads versions up to 5
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
