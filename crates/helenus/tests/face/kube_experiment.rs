//! Experiments on a cluster on Kubernetes, by the answers of a kubectl that a test sets: what a file may ask,
//! what is refused, and that the cluster is as it was afterwards. A real Kubernetes is `cargo xtask prove kube experiment`.

use crate::kube_acts::{NOBODY, UP, lab, read, ready};
use crate::lab::{PATIENCE, TestLab, look};

const FILE: &str = r#"name = "pods"
seed = 7

[cluster]
on = "kube:demo"

[workload]
workload = "standard1"
ops = ["write=1"]
rate = 100
duration = "20s"

[[factor]]
key = "heap"
kind = "restart"
levels = ["96M", "128M"]

[[factor]]
name = "reads"
kind = "live"
levels = [
  { label = "many", set = ["concurrent_reads=32"] },
  { label = "few", set = ["concurrent_reads=2"] },
]
"#;

/// A lab with a cluster that serves, and the file.
fn with_cluster() -> TestLab {
    let lab = lab();
    lab.done(&UP);
    lab.write("pods.toml", FILE);
    lab
}

#[test]
fn a_plan_says_where_the_runs_are_and_asks_nobody() {
    let lab = with_cluster();
    let words = read(&lab, "words");
    shot!(lab.run(&["experiment", "plan", "pods.toml", "--repeats", "1"]), @"
    exit code: 0
    --- standard output
    pods
    factor  kind     levels
    heap    restart  96M, 128M
    reads   live     many, few
    4 combinations; a block has 3 restarts and 12 runs, the first restart twice
    on kube:demo: each restart starts its 1 node again, without data; at the end they start with their previous settings
    1 blocks: 3 restarts, 12 runs, about 6 min 42 s; 100 MiB of disk, 313 MiB of memory at once; seed 7
    nothing is claimed of fewer than 6 blocks

    the first block, in its order:
    restart  settings          runs
          1  heap=96M          reads=few, reads=many, and back
          2  heap=96M (again)  reads=many, reads=few, and back
          3  heap=128M         reads=few, reads=many, and back
    nothing was started
    ");
    let plan = lab.json(&["experiment", "plan", "pods.toml"]);
    assert!(
        plan["on"]
            .as_str()
            .is_some_and(|on| on.contains("kube:demo")),
        "{plan:#}"
    );
    assert_eq!(read(&lab, "words"), words);
}

#[test]
fn what_pods_cannot_have_is_reported_with_its_line() {
    let lab = with_cluster();
    let check = |from: &str, to: &str| {
        assert!(FILE.contains(from), "{from}");
        lab.write("other.toml", &FILE.replace(from, to));
        lab.run(&["experiment", "check", "other.toml"])
    };
    shot!(check("key = \"heap\"", "key = \"memory\""), @"
    exit code: 2
    --- standard error
    error: other.toml:16: memory cannot be changed in an existing cluster: a node's limit was decided when the cluster was brought up
    hint: vary heap
    ");
    shot!(check("[workload]", "nodes = \"3\"\n[workload]"), @"
    exit code: 2
    --- standard error
    error: other.toml:7: nodes cannot be changed in an existing cluster: the nodes already exist
    hint: bring up a cluster with others
    ");
    shot!(check("[\"concurrent_reads=2\"]", "[\"key_cache_size=1MiB\"]"), @r#"
    exit code: 2
    --- standard error
    error: other.toml:23: key_cache_size=1MiB cannot be set by nodetool: it sets all caches at once
    hint: write kind = "restart"
    "#);
    shot!(check("[workload]", "[populate]\npartitions = 1000\n[workload]"), @"
    exit code: 2
    --- standard error
    error: other.toml: populate cannot be changed in an existing cluster: data is restored from folders of a local cluster
    hint: leave [populate] out: let [warm], or a phase of the runs, write what is read
    ");
    shot!(check("key = \"heap\"", "key = \"on\""), @"
    exit code: 2
    --- standard error
    error: other.toml:16: on cannot be a factor: all runs have one place
    hint: write it in [cluster]
    ");
    shot!(check("\"96M\"", "\"1M\""), @"
    exit code: 2
    --- standard error
    error: other.toml: heap=1M reads=many: a heap of 1 MiB is too small: Cassandra 5.0 dies during its start below 48 MiB
    hint: use --heap 48M or more
    ");
    shot!(check("kube:demo", "kube:dem"), @r#"
    exit code: 2
    --- standard error
    error: other.toml: heap=96M reads=many: no cluster "dem" was applied to Kubernetes
    hint: did you mean demo?
    "#);
}

#[test]
fn a_cluster_that_cannot_be_lent_is_refused_before_it_is_touched() {
    let lab = with_cluster();
    let run = ["experiment", "run", "pods.toml"];
    let rows = r#"{"format": "helenus.pod-answer/1", "answers": [{"columns": ["keyspace_name"], "rows": [["system"], ["mine"]]}]}"#;
    let nothing = read(&lab, "cql");
    lab.write("kube/cql", rows);
    shot!(lab.run(&run), @"
    exit code: 2
    --- standard error
    error: demo has keyspaces: mine; an experiment drops keyspaces between its runs and needs an empty cluster
    hint: use another cluster, or drop the keyspaces that you no longer need: helenus kube cql demo -e 'DROP KEYSPACE mine'
    ");
    lab.write("kube/cql", &nothing);
    lab.write("kube/pods", NOBODY);
    shot!(lab.run(&run), @"
    exit code: 4
    --- standard error
    error: demo has no pods
    hint: helenus kube wait demo shows what they wait for
    ");
    lab.write("kube/pods", &ready());
    lab.write("kube/server", "https://192.0.2.9:6443");
    assert!(
        lab.run(&run)
            .err
            .contains("now points to https://192.0.2.9:6443")
    );
    lab.write("kube/server", "https://192.0.2.1:6443");
    // As an older version kept it.
    let path = lab.path("home/state/kube/demo.json");
    let text = fs_err::read(&path).expect("the state");
    let mut state: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    state.as_object_mut().expect("an object").remove("asked");
    fs_err::write(&path, state.to_string()).expect("written");
    shot!(lab.run(&run), @"
    exit code: 2
    --- standard error
    error: pods.toml: heap=96M reads=many: the settings that demo was created with are not known
    hint: bring it up once more, from its topology or its flags: helenus kube up --name demo …
    ");
    assert_eq!(
        read(&lab, "applied").matches("kind: StatefulSet").count(),
        1
    );
    let listed = lab.json(&["experiment", "status"]);
    assert_eq!(listed["experiments"].as_array().map(Vec::len), Some(0));
}

/// Waits until the nodes of a restart are asked to end.
fn until_they_end(lab: &TestLab) {
    look::wait_for("the nodes' end", PATIENCE, || {
        match read(lab, "applied").contains("replicas: 0") {
            true => Ok(()),
            false => Err("not yet".to_owned()),
        }
    });
}

/// What was applied last.
fn last(lab: &TestLab) -> String {
    let applied = read(lab, "applied");
    let (_, last) = applied
        .rsplit_once("# 0-namespaces.yaml")
        .expect("manifests");
    last.to_owned()
}

#[test]
fn ctrl_c_starts_the_nodes_as_they_were() {
    let lab = with_cluster();
    let before = last(&lab);
    let runs = lab.begin(&["experiment", "run", "pods.toml"]);
    until_they_end(&lab);
    assert!(
        lab.run(&["kube", "status", "demo"])
            .err
            .contains("demo has settings of experiment e1")
    );
    runs.signal(rustix::process::Signal::INT);
    lab.write("kube/pods", NOBODY);
    shot!(runs.end(), @"
    exit code: 130
    --- standard error
    e1 pods: 0 of 72 runs done, 72 left in 18 restarts, about 40 min 12 s; seed 7
    starting the nodes of demo as they were before
    error: interrupted, and cleaned up: 0 runs are done, 72 are left
    hint: resume: helenus experiment resume e1
    ");
    assert_eq!(last(&lab), before);
    lab.write("kube/pods", &ready());
    assert!(
        !lab.run(&["kube", "status", "demo"])
            .err
            .contains("experiment")
    );
}

#[test]
fn heal_puts_back_what_a_killed_experiment_has_left() {
    let lab = with_cluster();
    let before = last(&lab);
    let runs = lab.begin(&["experiment", "run", "pods.toml"]);
    until_they_end(&lab);
    runs.signal(rustix::process::Signal::KILL);
    let _killed = runs.end();
    shot!(lab.run(&["kube", "heal", "demo", "--dry-run"]), @"
    exit code: 0
    --- standard output
      network policies of the cluster deleted
      nodes started as before experiment e1
    demo: nothing was done (--dry-run)
    --- standard error
    context kind-a (https://192.0.2.1:6443), namespace demo
    caution: demo has settings of experiment e1; they are put back when that ends, or by `helenus kube heal demo`
    ");
    lab.write("kube/pods", NOBODY);
    shot!(lab.run(&["kube", "heal", "demo"]), @"
    exit code: 0
    --- standard output
      nodes started as before experiment e1
    demo: done
    --- standard error
    context kind-a (https://192.0.2.1:6443), namespace demo
    caution: demo has settings of experiment e1; they are put back when that ends, or by `helenus kube heal demo`
    ");
    assert_eq!(last(&lab), before);
    lab.write("kube/pods", &ready());
    let status = lab.run(&["experiment", "status", "pods"]);
    assert!(
        status.out.contains("resume: helenus experiment resume e1"),
        "{status}"
    );
}
