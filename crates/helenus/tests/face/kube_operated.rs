//! Clusters that K8ssandra's operators bring up, by the answers of a kubectl that plays them: found by cass-operator's labels,
//! entered by a pod of ours as the superuser of their Secret. Real pods are in `cargo xtask prove kube operated`.

use crate::kube_acts::{NOBODY, UP, lab, read};
use crate::lab::TestLab;
use serde_json::json;

/// The password in the operators' Secret, and what stands for it there.
const PASSWORD: (&str, &str) = ("open sesame", "b3BlbiBzZXNhbWU=");

const OPERATED: [&str; 9] = [
    "kube",
    "up",
    "--name",
    "demo",
    "-n1",
    "--as",
    "cass-operator",
    "--namespace",
    "lab",
];

/// A lab whose operators have brought up a node at this address; generators are this program.
fn operated(address: &str) -> TestLab {
    let lab = lab();
    let pod = json!({
        "kind": "Pod",
        "metadata": {
            "name": "demo-datacenter1-rack1-sts-0", "namespace": "lab", "uid": "u1",
            "labels": {"cassandra.datastax.com/cluster": "demo"},
            "ownerReferences": [{"kind": "StatefulSet", "name": "demo-datacenter1-rack1-sts"}],
        },
        "spec": {"nodeName": "worker1"},
        "status": {"podIP": address, "conditions": [{"type": "Ready", "status": "True"}]},
    });
    let generator = json!({
        "kind": "Pod",
        "metadata": {
            "name": "g-0", "namespace": "lab", "labels": {"helenus.io/run": "@RUN@"},
            "annotations": {"batch.kubernetes.io/job-completion-index": "0"},
        },
        "spec": {"nodeName": "worker1"},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    });
    let center = json!({
        "kind": "CassandraDatacenter",
        "metadata": {"name": "datacenter1", "namespace": "lab", "labels": {"helenus.io/id": "@ID@"}},
        "spec": {"clusterName": "demo"},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    });
    let secret = json!({"data": {"username": "ZGVtby1zdXBlcnVzZXI=", "password": PASSWORD.1}});
    for (file, text) in [
        ("crd", json!({"kind": "CustomResourceDefinition"})),
        (
            "deployments",
            json!({"items": [{"metadata": {"name": "cass-operator-controller-manager"}}]}),
        ),
        ("centers", json!({"items": [center]})),
        ("secret", secret),
        ("pods", json!({"items": [pod]})),
        ("generators", json!({"items": [generator]})),
        (
            "namespace",
            json!({"kind": "Namespace", "metadata": {"name": "lab"}}),
        ),
    ] {
        lab.write(&format!("kube/{file}"), &text.to_string());
    }
    lab.write(
        "kube/cql",
        r#"{"format": "helenus.pod-answer/1", "answers": [{"columns": ["table_name"], "rows": [["standard1"]]}]}"#,
    );
    lab
}

#[test]
fn one_command_brings_it_up_and_loads_it_as_its_superuser() {
    let mut lab = operated("127.0.0.1");
    lab.behave("serve");
    lab.done(&["up", "c"]);
    lab.done(&[
        "stress",
        "--cluster",
        "c",
        "write",
        "n=10",
        "-rate",
        "threads=2",
    ]);
    let listed = lab.json(&["list"]);
    let address = listed["clusters"][0]["nodes"][0]["address"].as_str();
    let address = address.and_then(|address| address.split(':').next());
    let pods = read(&lab, "pods").replace("127.0.0.1", address.expect("an address"));
    lab.write("kube/pods", &pods);
    let then = [
        "--",
        "stress",
        "write",
        "n=200",
        "no-warmup",
        "-rate",
        "threads=8",
    ];
    let said = lab.run(&[&OPERATED[..], &then].concat());
    assert_eq!(said.code, "0", "{said}");
    assert!(
        said.out.contains("Total partitions          :        200"),
        "{said}"
    );
    assert!(
        said.err
            .contains("superuser: Secret demo-superuser in namespace lab"),
        "{said}"
    );
    let (words, statements) = (read(&lab, "words"), read(&lab, "statements"));
    // What is asked goes through a pod of ours to the node's address, as the superuser.
    assert!(
        words.contains("exec -i -n lab g-0 -- /usr/local/bin/helenus __pod cql"),
        "{words}"
    );
    assert!(
        !words.contains("rack1-sts-0 -- /usr/local/bin/helenus"),
        "{words}"
    );
    assert!(
        statements.contains(&format!(r#""address":"{}:9042""#, address.expect("one"))),
        "{statements}"
    );
    assert!(statements.contains(PASSWORD.0) && !words.contains(PASSWORD.0));
    // All Jobs are gone.
    let jobs = words
        .lines()
        .filter(|line| line.contains("delete job demo-load-"));
    let applied = words.lines().filter(|line| line.contains(" apply "));
    assert_eq!(jobs.count(), applied.count() - 1, "{words}");
    shot!(lab.run(&["kube", "rm", "demo"]), @r#"
    exit code: 2
    --- standard error
    context kind-a (https://192.0.2.1:6443), namespace lab
    error: cass-operator deletes the volumes of demo with its data centres
    hint: helenus kube rm demo --volumes, if its data may go
    "#);
    shot!(lab.run(&["kube", "scale", "demo", "--nodes", "3"]), @r#"
    exit code: 2
    --- standard error
    context kind-a (https://192.0.2.1:6443), namespace lab
    error: kube scale is for plain clusters, and operators look after demo
    hint: helenus kube up again, with the same flags and another -n
    "#);
    shot!(lab.run(&["kube", "restart", "demo"]), @r#"
    exit code: 2
    --- standard error
    context kind-a (https://192.0.2.1:6443), namespace lab
    error: kube restart is for plain clusters, and operators look after demo
    hint: kubectl patch cassandradatacenter NAME --type merge -p '{"spec":{"rollingRestartRequested":true}}'
    "#);
    shot!(lab.run(&["kube", "fault", "demo", "cut", "datacenter1", "b"]), @r#"
    exit code: 2
    --- standard error
    context kind-a (https://192.0.2.1:6443), namespace lab
    error: kube fault cut is for plain clusters, and operators look after demo
    hint: write NetworkPolicies for cass-operator's labels; pods can be killed
    "#);
    // Pods of that name are somebody else's without our resource.
    lab.write("kube/centers", NOBODY);
    shot!(lab.run(&["kube", "cql", "demo", "-e", "SELECT 1"]), @r#"
    exit code: 4
    --- standard error
    context kind-a (https://192.0.2.1:6443), namespace lab
    error: no pod of demo is ready
    hint: helenus kube wait demo shows what they wait for
    "#);
}

#[test]
fn what_is_to_run_then_is_read_before_anything_is_applied() {
    let lab = operated("127.0.0.1");
    let then = |words: &[&str]| lab.run(&[&UP[..], &["--"], words].concat());
    shot!(then(&["status"]), @r#"
    exit code: 2
    --- standard error
    error: kube up cannot do status afterwards
    hint: write run, bench or stress after --, such as: -- run iot --rate 100
    "#);
    let mistaken = then(&["run", "iot", "--rat", "100"]);
    assert_eq!(mistaken.code, "2", "{mistaken}");
    assert!(mistaken.err.contains("Usage: helenus run"), "{mistaken}");
    let unseen = lab.run(&[&UP[..], &["--no-wait", "--", "run", "iot"]].concat());
    assert_eq!(unseen.code, "2", "{unseen}");
    assert!(
        unseen.err.contains("'--no-wait' cannot be used"),
        "{unseen}"
    );
    assert_eq!(read(&lab, "applied"), "");
}

#[test]
fn a_secret_of_one_s_own_is_looked_at_before_anything_is_applied() {
    let lab = operated("127.0.0.1");
    let up = [&UP[..], &["--namespace", "lab", "--tls-secret", "demo-tls"]].concat();
    let tls = [&up[..], &["--tls"]].concat();
    shot!(lab.run(&up), @r#"
    exit code: 2
    --- standard error
    error: a cluster in the clear cannot have --tls-secret
    hint: add --tls
    "#);
    shot!(lab.run(&[&tls[..], &["--client-auth"]].concat()), @r#"
    exit code: 2
    --- standard error
    error: --tls-secret cannot have client certificates
    hint: leave --client-auth out; or leave --tls-secret out: helenus makes certificates of both
    "#);
    shot!(lab.run(&[&tls[..], &["--as", "k8ssandra"]].concat()), @r#"
    exit code: 2
    --- standard error
    error: the operators cannot have certificates as PEM
    hint: leave --tls-secret out: helenus makes the keystores that they want; or use --as plain
    "#);
    let mut said = vec![lab.run(&tls).err];
    // The first lines of a PKCS #1 and of a PKCS #8 key.
    for key in [
        "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo=",
        "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCg==",
    ] {
        let data = json!({"data": {"tls.crt": "QQ==", "tls.key": key, "ca.crt": "QQ=="}});
        lab.write("kube/secret", &data.to_string());
        said.push(lab.run(&tls).err);
    }
    insta::assert_snapshot!(said.join("\n"), @r#"
    context kind-a (https://192.0.2.1:6443), namespace lab
    error: Secret lab/demo-tls has no tls.crt
    hint: a Secret of cert-manager has tls.crt, tls.key and ca.crt

    context kind-a (https://192.0.2.1:6443), namespace lab
    error: the key in Secret lab/demo-tls is not PKCS #8
    hint: write privateKey.encoding: PKCS8 in cert-manager's Certificate

    context kind-a (https://192.0.2.1:6443), namespace lab
    error: the certificate in Secret lab/demo-tls is not valid for the nodes of demo
      caused by: the authority's text contains no certificate
    hint: ca.crt must have signed it, and demo be among the dnsNames in cert-manager's Certificate

    "#);
    fs_err::remove_file(lab.path("kube/secret")).expect("deleted");
    shot!(lab.run(&tls), @r#"
    exit code: 2
    --- standard error
    context kind-a (https://192.0.2.1:6443), namespace lab
    error: no Secret demo-tls in namespace lab
    hint: create it first, for example with a cert-manager Certificate that has secretName: demo-tls; --namespace puts the cluster into an existing namespace
    "#);
    assert_eq!(read(&lab, "applied"), "");
}
