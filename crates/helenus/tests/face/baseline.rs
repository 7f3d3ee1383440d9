//! `helenus baseline` in words and JSON: help, what was done, what would be, and each error with its cure.
//! Refuses to look at files: the lifecycle's tests do.

use crate::lab::TestLab;

/// A cluster of one stand-in that has a table's files.
fn lab() -> TestLab {
    let lab = TestLab::fake("ready");
    lab.done(&["up", "c"]);
    let folder = "home/state/clusters/c/node1/data/k/t-dbddee90e5a711f19b1de10c7b0fe052";
    lab.write(&format!("{folder}/nb-1-big-Data.db"), "data");
    lab.write(&format!("{folder}/nb-1-big-TOC.txt"), "toc");
    lab
}

#[test]
fn saving_restoring_listing_verifying_and_removing_are_reported() {
    let lab = lab();
    shot_live!(lab.run(&["baseline", "list"]), @"
    exit code: 0
    --- standard output
    no baseline yet; `helenus baseline save NAME TAG` makes one
    ");
    shot_live!(lab.run(&["baseline", "save", "c", "one", "--dry-run"]), @"
    exit code: 0
    --- standard output
    would save c as one: 2 files of 1 node, [size], of which [size] copied, in [LAB]/home/state/baselines/c/one
    1 node would stop and start again; a flush may add files
    nothing was done (--dry-run)
    ");
    shot_live!(lab.run(&["baseline", "list"]), @"
    exit code: 0
    --- standard output
    no baseline yet; `helenus baseline save NAME TAG` makes one
    ");
    shot_live!(lab.run(&["baseline", "save", "c", "one"]), @"
    exit code: 0
    --- standard output
    saved c as one in [time]: 2 files of 1 node, [size], of which [size] copied, in [LAB]/home/state/baselines/c/one
    c runs again
    ");
    shot_live!(lab.run(&["baseline", "restore", "c", "one", "--dry-run"]), @"
    exit code: 0
    --- standard output
    would restore one: c as it was saved, its system tables included: 2 files, [size], of which [size] copied
    nothing was done (--dry-run)
    ");
    shot_live!(lab.run(&["baseline", "restore", "c", "one", "--leave-stopped"]), @"
    exit code: 0
    --- standard output
    restored one: c as it was saved, its system tables included: 2 files, [size], of which [size] copied; in place after [time]
    page cache before the start: [size] of [size] resident (100.0 %)
    ");
    shot_live!(lab.run(&["baseline", "verify", "c", "one"]), @"
    exit code: 0
    --- standard output
    one of c is as it was saved: 2 files of 1 node, [size], every byte read
    ");
    shot_live!(lab.run(&["rm", "c"]), @"
    exit code: 0
    --- standard output
    removed c: 1 node (0 running), [size] in [LAB]/home/state/clusters/c
    baseline one of c stays ([size]): `helenus baseline rm c one` removes it
    ");
    shot_live!(lab.run(&["baseline", "restore", "c", "one"]), @"
    exit code: 2
    --- standard error
    error: the cluster c of baseline one no longer exists
    hint: bring up another cluster with the same tokens, and name it: `helenus baseline restore c one --into NAME`
    ");
    shot_live!(lab.run(&["baseline", "rm", "c", "one", "--dry-run"]), @"
    exit code: 0
    --- standard output
    would remove one of c: [size], of which [size] its own, in [LAB]/home/state/baselines/c/one
    ");
    shot_live!(lab.run(&["baseline", "rm", "c", "one"]), @"
    exit code: 0
    --- standard output
    removed one of c: [size], of which [size] its own, in [LAB]/home/state/baselines/c/one
    ");
}

#[test]
fn what_cannot_be_is_refused_with_its_cure() {
    let lab = lab();
    lab.done(&["baseline", "save", "c", "one"]);
    lab.done(&["up", "d", "-n", "2"]);
    shot!(lab.run(&["baseline", "save", "c", "one"]), @"
    exit code: 2
    --- standard error
    error: baseline one of c already exists
    hint: choose another tag, or --replace it
    ");
    shot!(lab.run(&["baseline", "save", "c", ".hidden"]), @r#"
    exit code: 2
    --- standard error
    error: ".hidden" cannot name a baseline: use 1 to 40 letters, digits, . - and _, a letter or digit first
    "#);
    shot!(lab.run(&["baseline", "save", "e", "one"]), @"
    exit code: 2
    --- standard error
    error: no such cluster: e
    hint: known: c, d
    ");
    shot!(lab.run(&["baseline", "restore", "c", "oen"]), @"
    exit code: 2
    --- standard error
    error: no such baseline: oen of c
    hint: known: one
    ");
    shot!(lab.run(&["baseline", "restore", "cc", "one"]), @"
    exit code: 2
    --- standard error
    error: no such baseline: one of cc
    hint: cc has no baseline; did you mean c?
    ");
    shot!(lab.run(&["baseline", "restore", "c", "one", "--into", "d"]), @"
    exit code: 2
    --- standard error
    error: 1 in baseline one, 2 in d: the numbers of nodes differ
    hint: bring up a cluster with as many nodes: `helenus up NAME -n 1`
    ");
    shot!(lab.run(&["baseline", "verify", "d", "one"]), @"
    exit code: 2
    --- standard error
    error: no such baseline: one of d
    hint: d has no baseline; known: c
    ");
    shot!(lab.run(&["baseline", "rm", "c", "two"]), @"
    exit code: 2
    --- standard error
    error: no such baseline: two of c
    hint: known: one
    ");
}

#[test]
fn json_of_each_verb() {
    let lab = lab();
    let saved = lab.json(&["baseline", "save", "c", "one"]);
    assert_eq!(saved["format"], "helenus.baseline-saved/1");
    assert_eq!((&saved["files"], &saved["running"]), (&2.into(), &1.into()));
    let listed = lab.json(&["baseline", "list"]);
    assert_eq!(listed["format"], "helenus.baselines/1");
    assert_eq!(listed["baselines"][0]["bytes"], 7);
    let dry = lab.json(&["baseline", "restore", "c", "one", "--dry-run"]);
    assert_eq!(dry["format"], "helenus.baseline-restored/1");
    assert_eq!(
        (&dry["dry_run"], &dry["cache"]),
        (&true.into(), &serde_json::Value::Null)
    );
    let restored = lab.json(&["baseline", "restore", "c", "one", "--drop-cache"]);
    assert_eq!(restored["cache"]["dropped"], true);
    assert_eq!(restored["cache"]["bytes"], 7);
    assert_eq!(restored["plan"]["whole"], true);
    let verified = lab.json(&["baseline", "verify", "c", "one"]);
    assert_eq!(verified["format"], "helenus.baseline-verified/1");
    assert_eq!(verified["bad"], serde_json::json!([]));
    let removed = lab.json(&["rm", "c"]);
    assert_eq!(removed["baselines"][0]["tag"], "one");
    let removed = lab.json(&["baseline", "rm", "c", "one"]);
    assert_eq!(removed["format"], "helenus.baseline-removed/1");
}
