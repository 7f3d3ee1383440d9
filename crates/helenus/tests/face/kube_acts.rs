//! `kube up`, `wait`, `rm` and the others: what is applied, what is refused, what is named, by the answers of a kubectl
//! that a test sets. A real Kubernetes is `cargo xtask prove kube`.

use crate::lab::{HELENUS, PATIENCE, TestLab, look};
use helenus_cluster::kube::KubeClusters;
use std::os::unix::fs::PermissionsExt as _;

/// Answers from files beside it, remembers its words, and puts the cluster's id where an answer has `@ID@`.
const KUBECTL: &str = r#"#!/bin/sh
cd "$(dirname "$0")/../kube" || exit 1
echo "$*" >> words
id=$(sed -n 's/.*helenus\.io\/id: *"\{0,1\}\([0-9a-f]*\).*/\1/p' applied 2>/dev/null | head -1)
say() { [ -f "$1" ] && sed "s/@ID@/$id/g" "$1"; true; }
case "$*" in
  "config get-contexts"*) cat contexts ;;
  *"config view"*) printf %s "$(cat server)" ;;
  *" apply "*) cat >> applied; [ ! -f refuses ] || { cat refuses >&2; exit 1; }; echo "a serverside-applied"; echo "b serverside-applied" ;;
  *"get --ignore-not-found -f -"*) cat > asked; say existing ;;
  *"get pods,pvc,statefulsets,events"*) say seen ;;
  *"get pods "*) say pods ;;
  *"get node "*) say node ;;
  *" uncordon gone") echo 'Error from server (NotFound): nodes "gone" not found' >&2; exit 1 ;;
  *" uncordon stuck") echo "error: not now" >&2; exit 1 ;;
  *" uncordon "*) for worker; do :; done; echo "node/$worker uncordoned" ;;
  *"get pvc "*) say claims ;;
  *"get namespace "*) say namespace ;;
  *"get job,"*) say objects ;;
  *"get pod,"*) say contents ;;
  *"exec "*"__pod cql"*) cat >> statements; say cql ;;
  *"exec "*"nodetool status"*) say status ;;
  *"exec "*"describecluster"*) say cluster ;;
  *"exec "*"nodetool netstats"*) say netstats ;;
  *"exec "*"load-agent --stdio") exec "$HELENUS_OF_PODS" load-agent --stdio ;;
  *"exec "*"__pod facts"*) exec "$HELENUS_OF_PODS" __pod facts 0 ;;
  *"get pods,events"*) run=$(sed -n 's/.*helenus\.io\/run: *"\{0,1\}\([a-z0-9-]*\).*/\1/p' applied | tail -1); say generators | sed "s/@RUN@/$run/g" ;;
  *"get crd "*) say crd ;;
  *"get deployments "*) say deployments ;;
  *"get cassandradatacenters"*) say centers ;;
  *"get secret "*"-o name") [ ! -f secret ] || echo secret/found ;;
  *"get secret "*) say secret ;;
  *) : ;;
esac
"#;

pub(crate) const NOBODY: &str = r#"{"items": []}"#;

const STATUS: &str = "Datacenter: datacenter1\nUN  10.0.0.1  75.3 KiB  16  ?  f3b0c5de-5d38-4f4c-9a8c-0b7f7f1f2a11  rack1\n";

const CLUSTER: &str = "\tSchema versions:\n\t\t54e1: [10.0.0.1]\n\n";

fn pod(status: &str) -> String {
    format!(r#"{{"items": [{}]}}"#, item(0, status))
}

fn item(number: u32, status: &str) -> String {
    format!(
        r#"{{"kind": "Pod",
        "metadata": {{"name": "demo-datacenter1-rack1-{number}", "namespace": "demo", "uid": "u1", "labels": {{"helenus.io/id": "@ID@", "helenus.io/set": "demo-datacenter1-rack1"}}}},
        "spec": {{"nodeName": "worker1", "containers": [{{"name": "cassandra", "resources": {{"limits": {{"memory": "300Mi"}}}}}}]}},
        "status": {status}}}"#
    )
}

fn serves(number: u32) -> String {
    serves_at(number, &format!("10.0.0.{}", number + 1))
}

pub(crate) fn serves_at(number: u32, address: &str) -> String {
    let status = format!(
        r#"{{"podIP": "{address}", "conditions": [{{"type": "Ready", "status": "True"}}], "containerStatuses": [{{"name": "cassandra", "restartCount": 0}}]}}"#
    );
    item(number, &status)
}

pub(crate) fn ready() -> String {
    format!(r#"{{"items": [{}]}}"#, serves(0))
}

/// A lab with one context, and an existing cluster as soon as it is applied.
pub(crate) fn lab() -> TestLab {
    let mut lab = TestLab::new();
    lab.program("bin/kubectl", KUBECTL);
    lab.set("HELENUS_OF_PODS", HELENUS);
    let path = std::env::var("PATH").unwrap_or_default();
    lab.set("PATH", format!("{}:{path}", lab.path("bin").display()));
    for (file, text) in [
        ("contexts", "kind-a\n"),
        ("server", "https://192.0.2.1:6443"),
        ("seen", &ready()),
        ("pods", &ready()),
        ("status", STATUS),
        ("cluster", CLUSTER),
        ("claims", NOBODY),
        (
            "cql",
            r#"{"format": "helenus.pod-answer/1", "answers": []}"#,
        ),
        (
            "objects",
            r#"{"items": [{"kind": "StatefulSet", "metadata": {"name": "demo-datacenter1-rack1", "namespace": "demo", "labels": {"helenus.io/id": "@ID@"}}}]}"#,
        ),
        ("contents", NOBODY),
        (
            "namespace",
            r#"{"kind": "Namespace", "metadata": {"name": "demo", "labels": {"helenus.io/id": "@ID@"}}}"#,
        ),
    ] {
        lab.write(&format!("kube/{file}"), text);
    }
    lab
}

pub(crate) fn read(lab: &TestLab, file: &str) -> String {
    fs_err::read_to_string(lab.path(&format!("kube/{file}"))).unwrap_or_default()
}

pub(crate) const UP: [&str; 5] = ["kube", "up", "--name", "demo", "-n1"];

#[test]
fn a_cluster_is_applied_with_an_id_and_formed_once_it_serves() {
    let lab = lab();
    let alone = lab.json(&UP);
    assert_eq!(alone["formed"], false, "it would find nobody to join");
    let two = format!(r#"{{"items": [{}, {}]}}"#, serves(0), serves(1));
    for file in ["kube/seen", "kube/pods"] {
        lab.write(file, &two);
    }
    let second = STATUS
        .lines()
        .last()
        .expect("a node")
        .replace("10.0.0.1", "10.0.0.2");
    lab.write("kube/status", &format!("{STATUS}{second}\n"));
    fs_err::remove_file(lab.path("kube/applied")).expect("deleted");
    let two = ["kube", "up", "--name", "demo", "-n2"];
    let status = lab.json(&two);
    assert_eq!(status["format"], "helenus.kube-status/1");
    assert_eq!(status["pods"][0]["state"], "UN");
    let id = status["id"].as_str().expect("an id").to_owned();
    let applied = read(&lab, "applied");
    assert!(applied.contains(&id), "{applied}");
    let (before, after) = applied.split_at(applied.rfind("kind: ConfigMap").expect("one"));
    assert!(!before.contains("formed:") && after.contains("formed:"));
    // Once more: the same cluster, with its id.
    let again = lab.json(&two);
    assert_eq!(
        (&again["id"], &again["formed"]),
        (&status["id"], &true.into())
    );
    shot!(lab.run(&["kube", "status"]), @"
    exit code: 0
    --- standard output
    cluster  release  context  namespaces  pods
    demo     5.0.9    kind-a   demo           2
    ");
    let waited = lab.done(&["kube", "wait", "demo"]);
    assert!(waited.contains(STATUS.trim()), "{waited}");
    assert!(waited.contains("cluster demo: Cassandra 5.0.9, 2 of 2 pods ready after "));
}

#[test]
fn keystores_are_made_once_and_go_to_kubectl_s_standard_input_only() {
    let lab = lab();
    let secured = [&UP[..], &["--tls", "--client-auth"]].concat();
    lab.done(&secured);
    let secret = |applied: &str| {
        let documents = applied.split("---\n");
        let mut own = documents.filter(|text| text.contains("kind: Secret"));
        own.next().expect("a Secret").to_owned()
    };
    let applied = read(&lab, "applied");
    let first = secret(&applied);
    assert!(
        first.contains("name: demo-tls") && first.contains("helenus.io/id: "),
        "{first}"
    );
    for key in [
        "keystore.p12",
        "truststore.p12",
        "keystore.password",
        "ca.pem",
        "client.key",
    ] {
        assert!(first.contains(&format!("  {key}: ")), "{key}");
    }
    let (space, others) = (
        applied.find("kind: Namespace"),
        applied.find("kind: StatefulSet"),
    );
    let at = applied.find("kind: Secret");
    assert!(
        space < at && at < others,
        "behind its namespace, before the pods that mount it"
    );
    assert!(
        read(&lab, "asked").contains("kind: Secret"),
        "one of somebody else is not touched"
    );
    assert!(!read(&lab, "asked").contains("keystore.p12: "));
    // Kept as those of local nodes are.
    let folder = lab.path("home/state/kube/demo/tls");
    let mode = |path: &std::path::Path| {
        fs_err::metadata(path).expect("there").permissions().mode() & 0o777
    };
    assert_eq!(mode(&folder), 0o700);
    let files: Vec<_> = fs_err::read_dir(&folder)
        .expect("files")
        .flatten()
        .collect();
    assert!(
        files.len() == 8 && files.iter().all(|file| mode(&file.path()) == 0o600),
        "{files:?}"
    );
    fs_err::remove_file(lab.path("kube/applied")).expect("deleted");
    let again = [&secured[..], &["--preset", "dev"]].concat();
    lab.done(&again);
    assert_eq!(
        secret(&read(&lab, "applied")),
        first,
        "the same keys, or no pod would trust another"
    );
    lab.write("kube/pods", NOBODY);
    lab.done(&["kube", "rm", "demo"]);
    assert!(!lab.path("home/state/kube/demo").exists());
}

#[test]
fn a_cluster_in_pods_is_filled_by_its_name() {
    let mut lab = lab();
    lab.done(&UP);
    let fill = ["populate", "standard1", "--rows", "1k", "--on", "kube:demo"];
    let dry = [&fill[..], &["--dry-run"]].concat();
    shot!(lab.run(&dry), @"
    exit code: 0
    --- standard output
    standard1 into demo: 1,000 partitions, about 1,000 rows, seed 1
    as fast as --in-flight allows, 64 in flight, from partition 0
    everything is read back
    nothing was started (--dry-run)
    ");
    shot!(lab.run(&[&dry[..], &["--cluster", "c"]].concat()), @"
    exit code: 2
    --- standard error
    error: --cluster and --on each name a cluster
    hint: leave one of them out
    ");
    shot!(lab.run(&["populate", "--put-back", "--on", "kube:demo"]), @"
    exit code: 2
    --- standard error
    error: nodes in pods keep their settings: there is nothing to restore
    hint: leave --put-back out
    ");
    shot!(lab.run(&["populate", "standard1", "--rows", "1k", "--on", "kube:dem", "--dry-run"]), @r#"
    exit code: 2
    --- standard error
    error: no cluster "dem" was applied to Kubernetes
    hint: did you mean demo?
    "#);
    // Another cluster may be the one of all other commands.
    lab.set("HELENUS_CLUSTER", "c");
    lab.done(&dry);
    lab.write("kube/pods", &pod(r#"{"conditions": []}"#));
    shot!(lab.run(&fill), @"
    exit code: 4
    --- standard error
    error: 1 of demo not ready: demo/demo-datacenter1-rack1-0
    hint: helenus kube wait demo shows what they wait for
    ");
}

#[test]
fn what_exists_and_is_another_s_is_not_touched() {
    let lab = lab();
    lab.write(
        "kube/existing",
        r#"{"kind": "Namespace", "metadata": {"name": "demo", "labels": {}}}"#,
    );
    shot!(lab.run(&UP), @"
    exit code: 2
    --- standard error
    context kind-a (https://192.0.2.1:6443), namespace demo
    error: Namespace demo already exists and does not belong to this cluster
    hint: use another --name, or another namespace with --namespace
    ");
    assert!(!read(&lab, "words").contains(" apply "));
    assert!(read(&lab, "asked").contains("kind: Namespace"));
    shot!(lab.run(&["kube", "status"]), @"
    exit code: 0
    --- standard output
    no cluster was applied to Kubernetes
    ");
}

#[test]
fn a_context_is_named_where_there_are_several_and_is_the_same_ever_after() {
    let lab = lab();
    lab.write("kube/contexts", "kind-a\nprod\n");
    shot!(lab.run(&UP), @"
    exit code: 2
    --- standard error
    error: kubectl has 2 contexts, and none was named
    hint: choose one with --kube-context: kind-a, prod
    ");
    shot!(lab.run(&["kube", "up", "--name", "demo", "-n1", "--kube-context", "kind-b"]), @r#"
    exit code: 2
    --- standard error
    error: kubectl has no context "kind-b"
    hint: did you mean kind-a?
    "#);
    lab.done(&[
        "kube",
        "up",
        "--name",
        "demo",
        "-n1",
        "--kube-context",
        "kind-a",
    ]);
    shot!(lab.run(&["kube", "up", "--name", "demo", "-n1", "--kube-context", "prod"]), @"
    exit code: 2
    --- standard error
    error: demo was applied to context kind-a already
    hint: helenus kube rm demo, or give another --name
    ");
    lab.write("kube/server", "https://192.0.2.9:6443");
    shot!(lab.run(&["kube", "wait", "demo"]), @"
    exit code: 2
    --- standard error
    error: context kind-a now points to https://192.0.2.9:6443; the cluster was applied to https://192.0.2.1:6443
    hint: set KUBECONFIG to the file that was used when the cluster was applied
    ");
    shot!(lab.run(&["kube", "wait", "dem"]), @r#"
    exit code: 2
    --- standard error
    error: no cluster "dem" was applied to Kubernetes
    hint: did you mean demo?
    "#);
}

#[test]
fn a_pod_that_cannot_start_is_named_with_its_remedy_and_ends_the_wait() {
    let lab = lab();
    lab.write(
        "kube/seen",
        &pod(r#"{"conditions": [{"type": "Ready", "status": "False"}], "containerStatuses": [{"name": "cassandra", "image": "localhost/nothing:1", "restartCount": 0, "state": {"waiting": {"reason": "ErrImagePull", "message": "no such image"}}}]}"#),
    );
    shot!(lab.run(&UP), @"
    exit code: 4
    --- standard error
    context kind-a (https://192.0.2.1:6443), namespace demo
    2 objects applied
    caution: demo/demo-datacenter1-rack1-0: image localhost/nothing:1 cannot be pulled: no such image; load localhost/nothing:1 into the workers, or push it to a registry that they reach; `helenus kube image` makes it
    error: 1 of 1 pods cannot start: demo/demo-datacenter1-rack1-0: image localhost/nothing:1 cannot be pulled: no such image
    hint: load localhost/nothing:1 into the workers, or push it to a registry that they reach; `helenus kube image` makes it; helenus kube rm demo removes the cluster
    ");
    lab.write(
        "kube/seen",
        &pod(r#"{"conditions": [{"type": "Ready", "status": "False"}], "containerStatuses": [{"name": "cassandra", "restartCount": 0, "state": {"running": {}}}]}"#),
    );
    shot!(lab.run(&["kube", "wait", "demo", "--timeout", "1s"]), @"
    exit code: 4
    --- standard error
    context kind-a (https://192.0.2.1:6443), namespace demo
    error: 0 of 1 pods ready after 1 s: demo/demo-datacenter1-rack1-0: running, but not ready: it has not answered a query yet
    hint: wait longer with --timeout; helenus kube rm demo removes the cluster
    ");
}

#[test]
fn ctrl_c_leaves_the_cluster_as_it_is_and_says_how_to_go_on() {
    let lab = lab();
    lab.write(
        "kube/seen",
        &pod(r#"{"conditions": [{"type": "Ready", "status": "False"}], "containerStatuses": [{"name": "cassandra", "restartCount": 0, "state": {"running": {}}}]}"#),
    );
    let waits = lab.begin(&UP);
    look::wait_for("the wait", PATIENCE, || {
        match read(&lab, "words").contains("get nodes") {
            true => Ok(()),
            false => Err("not yet".to_owned()),
        }
    });
    waits.signal(rustix::process::Signal::INT);
    shot!(waits.end(), @"
    exit code: 130
    --- standard error
    context kind-a (https://192.0.2.1:6443), namespace demo
    2 objects applied
    error: interrupted; the cluster stays as it is
    hint: helenus kube wait demo waits for it, helenus kube rm demo removes it
    ");
    assert!(!read(&lab, "words").contains(" delete "));
    assert!(lab.done(&["kube", "status"]).contains("demo"));
}

#[test]
fn rm_lists_what_it_deletes_and_keeps_volumes_and_namespaces_with_others_in_them() {
    let lab = lab();
    lab.done(&UP);
    lab.write(
        "kube/claims",
        r#"{"items": [{"kind": "PersistentVolumeClaim", "metadata": {"name": "data-demo-datacenter1-rack1-0", "namespace": "demo"}}]}"#,
    );
    shot!(lab.run(&["kube", "rm", "demo", "--dry-run"]), @"
    exit code: 0
    --- standard output
    kind                   name
    StatefulSet            demo/demo-datacenter1-rack1
    PersistentVolumeClaim  demo/data-demo-datacenter1-rack1-0  stays: it holds data: --volumes deletes it
    Namespace              demo                                stays: volumes are in it

    would delete demo: 1 object; 2 objects kept
    --- standard error
    context kind-a (https://192.0.2.1:6443), namespace demo
    ");
    assert!(!read(&lab, "words").contains(" delete "));
    lab.write("kube/pods", NOBODY);
    shot!(lab.run(&["kube", "rm", "demo"]), @"
    exit code: 0
    --- standard output
    kind                   name
    StatefulSet            demo/demo-datacenter1-rack1
    PersistentVolumeClaim  demo/data-demo-datacenter1-rack1-0  stays: it holds data: --volumes deletes it
    Namespace              demo                                stays: volumes are in it

    deleted demo: 1 object; 2 objects kept
    --- standard error
    context kind-a (https://192.0.2.1:6443), namespace demo
    ");
    // What stays is still known.
    lab.write(
        "kube/contents",
        r#"{"items": [{"kind": "Deployment", "metadata": {"name": "theirs", "namespace": "demo"}}]}"#,
    );
    shot!(lab.run(&["kube", "rm", "demo", "--volumes", "--dry-run"]), @"
    exit code: 0
    --- standard output
    kind                   name
    StatefulSet            demo/demo-datacenter1-rack1
    PersistentVolumeClaim  demo/data-demo-datacenter1-rack1-0
    Namespace              demo                                stays: Deployment demo/theirs is in it

    would delete demo: 2 objects; 1 object kept
    --- standard error
    context kind-a (https://192.0.2.1:6443), namespace demo
    ");
    lab.write("kube/contents", NOBODY);
    lab.done(&["kube", "rm", "demo", "--volumes"]);
    let words = read(&lab, "words");
    assert!(words.contains("delete pvc data-demo-datacenter1-rack1-0 -n demo"));
    assert!(words.contains("delete namespace demo"));
    shot!(lab.run(&["kube", "status"]), @"
    exit code: 0
    --- standard output
    no cluster was applied to Kubernetes
    ");
}

#[test]
fn changes_are_shown_before_they_are_made() {
    let lab = lab();
    lab.done(&UP);
    shot!(lab.run(&["kube", "scale", "demo", "--nodes", "3", "--dry-run"]), @"
    exit code: 0
    --- standard output
      demo-datacenter1-rack1-1 joins
      demo-datacenter1-rack1-2 joins
    demo: nothing was done (--dry-run)
    --- standard error
    context kind-a (https://192.0.2.1:6443), namespace demo
    ");
    shot!(lab.run(&["kube", "scale", "demo", "--nodes", "3", "--dc", "DC9"]), @r#"
    exit code: 2
    --- standard error
    context kind-a (https://192.0.2.1:6443), namespace demo
    error: no such data centre: DC9
    hint: known: datacenter1
    "#);
    shot!(lab.run(&["kube", "restart", "demo", "--dry-run"]), @"
    exit code: 0
    --- standard output
      demo-datacenter1-rack1-0 drains and restarts
    demo: nothing was done (--dry-run)
    --- standard error
    context kind-a (https://192.0.2.1:6443), namespace demo
    ");
    shot!(lab.run(&["kube", "fault", "demo", "kill", "demo-datacenter1-rack1-0", "--dry-run"]), @"
    exit code: 0
    --- standard output
      demo/demo-datacenter1-rack1-0 killed
    demo: nothing was done (--dry-run)
    --- standard error
    context kind-a (https://192.0.2.1:6443), namespace demo
    ");
    shot!(lab.run(&["kube", "fault", "demo", "cut", "datacenter1", "DC2"]), @r#"
    exit code: 2
    --- standard error
    context kind-a (https://192.0.2.1:6443), namespace demo
    error: no such data centre: DC2
    hint: known: datacenter1
    "#);
    shot!(lab.run(&["kube", "heal", "demo", "--dry-run"]), @"
    exit code: 0
    --- standard output
      network policies of the cluster deleted
    demo: nothing was done (--dry-run)
    --- standard error
    context kind-a (https://192.0.2.1:6443), namespace demo
    ");
    shot!(lab.run(&["kube", "nodetool", "demo/nobody", "status"]), @r#"
    exit code: 2
    --- standard error
    context kind-a (https://192.0.2.1:6443), namespace demo
    error: demo has no pod "nobody"
    hint: its pods: demo-datacenter1-rack1-0
    "#);
    assert!(!read(&lab, "words").contains(" delete "));
}

#[test]
fn a_node_that_was_decommissioned_by_a_command_that_was_cut_off_only_goes() {
    let lab = lab();
    let both = format!(r#"{{"items": [{}, {}]}}"#, serves(0), serves(1));
    lab.write("kube/seen", &both);
    lab.write("kube/pods", &both);
    let other = STATUS.replace("10.0.0.1", "10.0.0.2");
    lab.write("kube/status", &format!("{STATUS}{other}"));
    lab.done(&["kube", "up", "--name", "demo", "-n2"]);
    lab.write("kube/netstats", "Mode: DECOMMISSIONED\n");
    lab.write("kube/seen", &ready());
    lab.write("kube/pods", &ready());
    lab.done(&["kube", "scale", "demo", "--nodes", "1"]);
    let words = read(&lab, "words");
    assert!(!words.contains("nodetool decommission"), "{words}");
    let applied = read(&lab, "applied");
    let replicas = applied.rfind("replicas: ").expect("a StatefulSet");
    assert!(applied[replicas..].starts_with("replicas: 1"), "{applied}");
}

#[test]
fn operators_that_are_not_there_are_named() {
    let lab = lab();
    shot!(lab.run(&["kube", "up", "-n3", "--as", "k8ssandra"]), @"
    exit code: 3
    --- standard error
    context kind-a (https://192.0.2.1:6443), namespace cassandra
    error: context kind-a lacks the custom resource k8ssandraclusters.k8ssandra.io, the custom resource cassandradatacenters.cassandra.datastax.com, a deployment of k8ssandra-operator, a deployment of cass-operator
    hint: install K8ssandra's operators with their Helm chart (docs/kubernetes.md), or leave --as out: plain pods need no operator
    ");
    shot!(lab.run(&["kube", "up", "-n3", "--as", "helm-values"]), @"
    exit code: 2
    --- standard error
    error: helm-values is not applied by helenus
    hint: helenus kube render writes it, with the command that applies it
    ");
    let mut without = lab;
    without.only_own_programs();
    fs_err::remove_file(without.path("bin/kubectl")).expect("deleted");
    shot!(without.run(&UP), @"
    exit code: 3
    --- standard error
    error: kubectl is not on the PATH
    hint: install kubectl: it is a single binary, and most systems package it
    ");
}

#[test]
fn heal_goes_past_workers_that_are_gone_and_leaves_those_that_others_cordoned() {
    let lab = lab();
    lab.done(&UP);
    let drain = |worker: &str| lab.done(&["kube", "fault", "demo", "drain", worker]);
    lab.write(
        "kube/node",
        r#"{"kind": "Node", "spec": {"unschedulable": true}}"#,
    );
    drain("theirs");
    lab.write("kube/node", r#"{"kind": "Node", "spec": {}}"#);
    for worker in ["gone", "stuck", "worker1"] {
        drain(worker);
    }
    shot!(lab.run(&["kube", "heal", "demo"]), @"
    exit code: 4
    --- standard error
    context kind-a (https://192.0.2.1:6443), namespace demo
    error: kubectl uncordon stuck: not now
    ");
    shot!(lab.run(&["kube", "heal", "demo", "--dry-run"]), @"
    exit code: 0
    --- standard output
      network policies of the cluster deleted
      stuck uncordoned
    demo: nothing was done (--dry-run)
    --- standard error
    context kind-a (https://192.0.2.1:6443), namespace demo
    ");
    let words = read(&lab, "words");
    assert!(words.contains(" uncordon worker1"), "{words}");
    assert!(!words.contains(" uncordon theirs"), "{words}");
}

#[test]
fn rm_lets_workers_that_were_drained_for_the_cluster_take_pods_again() {
    let lab = lab();
    lab.done(&UP);
    lab.write("kube/node", r#"{"kind": "Node", "spec": {}}"#);
    for worker in ["stuck", "worker1"] {
        lab.done(&["kube", "fault", "demo", "drain", worker]);
    }
    lab.write("kube/pods", NOBODY);
    let said = lab.run(&["kube", "rm", "demo"]);
    assert!(
        said.err.contains("kubectl uncordon stuck: not now"),
        "{said}"
    );
    let words = read(&lab, "words");
    assert!(words.contains(" uncordon worker1"), "{words}");
    // The one that is left is still known.
    let left = lab.done(&["kube", "heal", "demo", "--dry-run"]);
    assert!(
        left.contains("stuck uncordoned") && !left.contains("worker1"),
        "{left}"
    );
}

#[test]
fn a_cut_that_is_interrupted_leaves_no_policies_and_does_not_blame_the_network() {
    let lab = lab();
    let of = |number: u32, data_center: &str| serves(number).replace("datacenter1", data_center);
    let both = format!(r#"{{"items": [{}, {}]}}"#, of(0, "a"), of(1, "b"));
    for file in ["kube/seen", "kube/pods"] {
        lab.write(file, &both);
    }
    let other = STATUS.replace("10.0.0.1", "10.0.0.2");
    lab.write("kube/status", &format!("{STATUS}{other}"));
    let up = [
        "kube",
        "up",
        "--name",
        "demo",
        "--dc",
        "a=1",
        "--dc",
        "b=1",
        "--namespace",
        "demo",
    ];
    lab.done(&up);
    let cut = lab.begin(&["kube", "fault", "demo", "cut", "a", "b"]);
    look::wait_for("the policies", PATIENCE, || {
        match read(&lab, "applied").contains("kind: NetworkPolicy") {
            true => Ok(()),
            false => Err("not yet".to_owned()),
        }
    });
    cut.signal(rustix::process::Signal::INT);
    let said = cut.end();
    assert_eq!(said.code, "130", "{said}");
    let words = read(&lab, "words");
    assert_eq!(
        words.matches("delete networkpolicy cut-").count(),
        2,
        "{words}"
    );
}

#[test]
fn a_cluster_that_another_helenus_changes_is_looked_at_only() {
    let lab = lab();
    lab.done(&UP);
    let all = KubeClusters::of(&lab.path("home/state"));
    let held = all.lock("demo").expect("nobody has it");
    for words in [
        &UP[..],
        &["kube", "scale", "demo", "--nodes", "2"],
        &["kube", "heal", "demo"],
    ] {
        let said = lab.run(words);
        assert_eq!(said.code, "2", "{said}");
        let busy = "error: another helenus is working on cluster demo\nhint: wait until it";
        assert!(said.err.contains(busy), "{said}");
    }
    lab.done(&["kube", "status", "demo"]);
    lab.done(&["kube", "scale", "demo", "--nodes", "2", "--dry-run"]);
    drop(held);
    lab.write("kube/pods", NOBODY);
    lab.done(&["kube", "rm", "demo"]);
    assert!(!lab.path("home/state/kube/demo.lock").exists());
}
