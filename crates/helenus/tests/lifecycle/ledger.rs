//! Ledgers against a fake node that forgets what it has acknowledged: exactly that is found, and nothing else.
//! Refuses to say how exact the machine is: counts and names only.

use crate::lab::TestLab;
use serde_json::Value;

const ROWS: u64 = 400;

const SEED: &str = "--jvm=-Dfake.seed=7";

/// Brings up a cluster whose node does this, and writes each row once.
fn written(property: &str, more: &[&str]) -> TestLab {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c", SEED, property]);
    let words = ["run", "standard1", "--ops", "write=1", "--cluster", "c"];
    let range = ["--positions", "0..400", "--seed", "7", "--ledger"];
    lab.measured(&[&words[..], &range, more].concat());
    lab
}

/// Checks a ledger; the exit code and what was said.
fn checked(lab: &TestLab, name: &str) -> (String, Value) {
    let words = ["ledger", "check", name, "--lost", "400"];
    let said = lab.run(&[&words[..], &["--format", "json"]].concat());
    let value = serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}\n{said}"));
    (said.code, value)
}

/// How many of these positions have no row, by the reads of another run.
fn missing(lab: &TestLab, positions: &str) -> u64 {
    let words = ["run", "standard1", "--ops", "read=1", "--cluster", "c"];
    let range = ["--positions", positions, "--seed", "7", "--format", "json"];
    let out = lab.measured(&[&words[..], &range].concat());
    let said: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}"));
    let failed = &said["result"]["phases"][0]["total"]["failed"];
    failed["missing_row"].as_u64().unwrap_or(0)
}

#[test]
fn exactly_what_was_acknowledged_and_forgotten_is_lost() {
    let lab = written("--jvm=-Dfake.lose=0.05", &[]);
    let (code, said) = checked(&lab, "@last");
    assert_eq!(code, "1", "{said:#}");
    let table = &said["tables"][0];
    let lost = table["lost"].as_u64().expect("a count");
    assert!((5..60).contains(&lost), "{lost}");
    assert_eq!(table["present"], ROWS - lost, "{table:#}");
    assert_eq!(table["keys"], ROWS);
    assert_eq!(
        (&said["writes"], &said["ended"]),
        (&ROWS.into(), &true.into())
    );
    // The reads of a run miss as many, and just those that are named.
    assert_eq!(missing(&lab, "0..400"), lost);
    let named = table["lost_keys"].as_array().expect("names");
    assert_eq!(named.len() as u64, lost);
    for key in named.iter().take(3) {
        let position = key["position"].as_u64().expect("a position");
        let one = format!("{position}..{}", position + 1);
        assert_eq!(missing(&lab, &one), 1, "{key:#}");
        assert_eq!(key["owners"], serde_json::json!(["node1"]));
        assert_eq!(key["client_dc"], "datacenter1");
    }
    let text = lab.run(&["ledger", "check", "r1", "--lost", "2"]);
    let more = format!("and {} more", lost - 2);
    assert!(text.out.contains(&more), "{text}");
    assert_eq!(text.code, "1");
    // It goes with its run.
    let file = said["file"].as_str().expect("a path").replace("[LAB]", "");
    let file = lab.path(file.trim_start_matches('/'));
    assert!(file.exists(), "{}", file.display());
    lab.done(&["history", "prune", "r1"]);
    assert!(!file.exists(), "{}", file.display());
}

#[test]
fn what_failed_may_have_applied_and_did() {
    let lab = written("--jvm=-Dfake.fail=0.05", &["--max-errors", "1"]);
    let (code, said) = checked(&lab, "@last");
    assert_eq!(code, "0", "{said:#}");
    let table = &said["tables"][0];
    // A fake node keeps the rows of what it calls overloaded.
    let applied = table["indeterminate_applied"].as_u64().expect("a count");
    assert!(applied > 0, "{table:#}");
    assert_eq!(table["present"], ROWS - applied, "{table:#}");
    let shown = lab.json(&["ledger", "show", "@last"]);
    let outcomes = shown["outcomes"].as_array().expect("outcomes");
    let of = |outcome: &str| {
        let mut found = outcomes.iter().filter(|one| one["outcome"] == outcome);
        found.next().expect(outcome).clone()
    };
    assert_eq!(of("overloaded")["writes"], applied);
    assert_eq!(of("overloaded")["may_have_applied"], true);
    assert_eq!(of("acknowledged")["writes"], ROWS - applied);
    assert_eq!(of("acknowledged")["consistency"], "ONE");
}

#[test]
fn a_ledger_in_a_file_outlives_a_torn_end_and_later_writes() {
    let lab = TestLab::fake("serve");
    let file = lab.path("writes.ledger").to_string_lossy().into_owned();
    lab.done(&["up", "c", SEED]);
    let words = ["run", "standard1", "--ops", "write=1", "--cluster", "c"];
    let range = ["--positions", "0..400", "--seed", "7"];
    lab.measured(&[&words[..], &range, &["--ledger", &file]].concat());
    let whole = fs_err::read(&file).expect("the ledger");
    let torn = lab.path("torn.ledger");
    // The record of the end, and half of the last write's.
    fs_err::write(&torn, &whole[..whole.len() - 36]).expect("a file");
    let (code, said) = checked(&lab, &torn.to_string_lossy());
    assert_eq!(code, "0", "{said:#}");
    assert_eq!(
        (&said["ended"], &said["torn_bytes"]),
        (&false.into(), &12.into())
    );
    assert_eq!(said["tables"][0]["present"], ROWS - 1, "{said:#}");
    // Half of the rows are written again, by a run without a ledger.
    let again = ["--positions", "0..200", "--seed", "7"];
    lab.measured(&[&words[..], &again].concat());
    let (code, said) = checked(&lab, &file);
    assert_eq!(code, "0", "{said:#}");
    let table = &said["tables"][0];
    assert_eq!(
        (&table["superseded"], &table["present"]),
        (&200.into(), &200.into())
    );
    // A file is never written over.
    let said = lab.run(&[&words[..], &range, &["--ledger", &file]].concat());
    assert_eq!(said.code, "2", "{said}");
    assert!(said.err.contains("already exists"), "{said}");
    assert_eq!(fs_err::read(&file).expect("the ledger"), whole);
}

#[test]
fn another_cluster_of_the_same_name_is_not_judged_unasked() {
    let lab = written("--jvm=-Dfake.body=1", &[]);
    lab.done(&["rm", "c"]);
    lab.done(&["up", "c", SEED]);
    shot!(lab.run(&["ledger", "check", "@last"]), @"
    exit code: 2
    --- standard error
    error: c is not the cluster that was written to: that one is removed
    hint: --cluster c reads it anyway
    ");
}
