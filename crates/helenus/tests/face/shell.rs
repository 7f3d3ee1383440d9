//! The shell's commands without a terminal: in -e, -f, from a pipe, and from a file that a file names.

use crate::lab::TestLab;
use std::io::Write as _;
use std::process::Stdio;

fn with_cluster() -> TestLab {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    lab
}

const COMMANDS: &str = "CONSISTENCY\nconsistency local_quorum;\nSERIAL CONSISTENCY LOCAL_SERIAL\n\
    PAGING 7\nTRACING\nEXPAND ON; SELECT cluster_name, rack\n FROM system.local;\nSHOW HOST\n\
    CLEAR\nEXIT\nSELECT nothing FROM nowhere.t;\n";

const SAID: &str = "Current consistency level is ONE.\nConsistency level set to LOCAL_QUORUM.\n\
    Serial consistency level set to LOCAL_SERIAL.\nPaging is on: 7 rows a page.\nTracing is off.\n\
    Expanded output is on.\n@ Row 1\n--------------+-------\n cluster_name | c\n rack         | rack1\n\
    \n(1 rows)\n";

#[test]
fn commands_work_in_a_flag_a_file_and_a_pipe() {
    let lab = with_cluster();
    let file = lab.write("commands.cql", COMMANDS);
    let flag = lab.done(&["cql", "c", "-e", COMMANDS]);
    let from_file = lab.done(&["cql", "c", "-f", &file.to_string_lossy()]);
    let mut piped = lab.command(&["cql", "c"]);
    piped.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = piped.spawn().expect("the binary starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(COMMANDS.as_bytes()).expect("a pipe");
    drop(stdin);
    let output = child.wait_with_output().expect("our child");
    let piped = String::from_utf8_lossy(&output.stdout).into_owned();
    for said in [flag, from_file, piped] {
        assert!(said.starts_with(SAID), "{said}");
        let rest = &said[SAID.len()..];
        assert!(
            rest.starts_with("Connected to cluster c, node1 at 127."),
            "{rest}"
        );
        assert_eq!(rest.lines().count(), 1, "{rest}");
    }
}

#[test]
fn the_level_of_a_flag_holds_until_a_command_sets_another() {
    let lab = with_cluster();
    let printed = lab.done(&["cql", "c", "--cl", "each-quorum", "-e", "CONSISTENCY"]);
    assert_eq!(printed, "Current consistency level is EACH_QUORUM.\n");
    shot!(lab.run(&["cql", "c", "--cl", "most", "-e", "CONSISTENCY"]), @r#"
    exit code: 2
    --- standard error
    error: invalid value 'most' for '--cl <LEVEL>': unknown consistency level "most" (known are ANY, ONE, TWO, THREE, QUORUM, ALL, LOCAL_QUORUM, EACH_QUORUM, SERIAL, LOCAL_SERIAL, LOCAL_ONE, NODE_LOCAL)

    For more information, try '--help'.
    "#);
}

#[test]
fn a_file_runs_another_and_an_error_names_its_place() {
    let lab = with_cluster();
    lab.write(
        "outer.cql",
        "CONSISTENCY TWO\nSOURCE 'inner.cql'\nCONSISTENCY\n",
    );
    lab.write("inner.cql", "\nCONSISTENCY THREE\n");
    assert_eq!(
        lab.done(&["cql", "c", "-f", "outer.cql"]),
        "Consistency level set to TWO.\nConsistency level set to THREE.\n\
         Current consistency level is THREE.\n"
    );
    lab.write("inner.cql", "\nCONSISTENCY QUORM\n");
    shot!(lab.run(&["cql", "c", "-f", "outer.cql"]), @r#"
    exit code: 2
    --- standard output
    Consistency level set to TWO.
    --- standard error
    error: unknown consistency level "QUORM" (known are ANY, ONE, TWO, THREE, QUORUM, ALL, LOCAL_QUORUM, EACH_QUORUM, SERIAL, LOCAL_SERIAL, LOCAL_ONE, NODE_LOCAL)
    hint: inner.cql, line 2: CONSISTENCY QUORM
          did you mean QUORUM?
    "#);
    lab.write("circle.cql", "SOURCE 'circle.cql'\n");
    shot!(lab.run(&["cql", "c", "-e", "SOURCE 'circle.cql'"]), @"
    exit code: 2
    --- standard error
    error: circle.cql is SOURCE number 10 in a row: does a file run itself?
    ");
    shot!(lab.run(&["cql", "c", "-e", "SOURCE 'absent.cql'"]), @"
    exit code: 2
    --- standard error
    error: failed to open file `absent.cql`: No such file or directory (os error 2)
    ");
}

#[test]
fn what_only_cqlsh_has_is_refused_with_the_way_to_it() {
    let lab = with_cluster();
    shot!(lab.run(&["cql", "c", "-e", "COPY k.t TO 'x.csv'"]), @"
    exit code: 2
    --- standard error
    error: COPY is a command of cqlsh that this shell does not have
    hint: line 1: COPY k.t TO 'x.csv'
          an installed cqlsh has it: `helenus cqlsh NAME --installed`
    ");
    shot!(lab.run(&["cql", "c", "-e", "HELP consistncy"]), @r#"
    exit code: 2
    --- standard error
    error: no help on "consistncy"
    hint: line 1: HELP consistncy
          did you mean `HELP CONSISTENCY`?
    "#);
    shot!(lab.run(&["cql", "c", "-e", "HELP CONSISTENCY"]), @"
    exit code: 0
    --- standard output
    CONSISTENCY [LEVEL]
        the consistency level of statements
    ");
}

#[test]
fn commands_have_their_words_in_json() {
    let lab = with_cluster();
    let report = lab.json(&["cql", "c", "-e", "EXPAND ON; SELECT rack FROM system.local"]);
    insta::assert_snapshot!(serde_json::to_string_pretty(&report).expect("JSON"), @r#"
    {
      "answer": "2 statements ran, 1 row returned",
      "format": "helenus.cql/1",
      "results": [
        {
          "columns": [],
          "message": "Expanded output is on.",
          "rows": [],
          "statement": "EXPAND ON"
        },
        {
          "columns": [
            "rack"
          ],
          "rows": [
            {
              "rack": {
                "text": "rack1"
              }
            }
          ],
          "statement": "SELECT rack FROM system.local"
        }
      ]
    }
    "#);
}

#[test]
fn an_installed_cqlsh_is_handed_the_terminal_on_request_only() {
    let mut lab = with_cluster();
    lab.only_own_programs();
    shot!(lab.run(&["cql", "c", "--installed"]), @"
    exit code: 3
    --- standard error
    error: no installed cqlsh on PATH
    hint: install it with `pip install cqlsh`, or leave --installed out: `helenus cqlsh` has its own shell
    ");
    lab.program("bin/cqlsh", "#!/bin/sh\necho \"cqlsh $@\"\n");
    let said = lab.done(&["cql", "c", "--installed"]);
    assert!(said.starts_with("cqlsh 127."), "{said}");
}
