//! The load inside of Kubernetes by a kubectl that leads to agents on this machine, and a stand-in for a pod's node: what the
//! Job's pods are asked, and what comes of it. A real Kubernetes is `cargo xtask prove kube inside`.

use crate::kube_acts::{UP, lab, read, serves_at};
use crate::lab::TestLab;
use serde_json::json;

/// A lab whose cluster on Kubernetes has a stand-in on this machine for its only pod, with the table of `standard1`.
fn with_node() -> TestLab {
    let mut lab = lab();
    lab.behave("serve");
    lab.done(&["up", "c"]);
    let made = [
        "stress",
        "--cluster",
        "c",
        "write",
        "n=10",
        "-rate",
        "threads=2",
    ];
    lab.done(&made);
    let listed = lab.json(&["list"]);
    let address = listed["clusters"][0]["nodes"][0]["address"].as_str();
    let address = address.and_then(|address| address.split(':').next());
    let pods = format!(
        r#"{{"items": [{}]}}"#,
        serves_at(0, address.expect("an address"))
    );
    lab.done(&UP);
    lab.write("kube/pods", &pods);
    lab.write(
        "kube/cql",
        r#"{"format": "helenus.pod-answer/1", "answers": [{"columns": ["table_name"], "rows": [["standard1"]]}]}"#,
    );
    let generator = |n: u32| {
        json!({
            "kind": "Pod",
            "metadata": {
                "name": format!("g-{n}"), "namespace": "demo", "labels": {"helenus.io/run": "@RUN@"},
                "annotations": {"batch.kubernetes.io/job-completion-index": n.to_string()},
            },
            "spec": {"nodeName": format!("worker{n}")},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
        })
    };
    let generators = json!({"items": [generator(0), generator(1)]});
    lab.write("kube/generators", &generators.to_string());
    lab
}

#[test]
fn generators_in_pods_are_agents_that_kubectl_leads_to() {
    let lab = with_node();
    let line = ["write", "n=200", "no-warmup", "-rate", "threads=8"];
    let stress = ["stress", "--on", "kube:demo", "--processes", "2"];
    let said = lab.run(&[&stress[..], &line].concat());
    assert_eq!(said.code, "0", "{said}");
    assert!(
        said.out.contains("Total partitions          :        200"),
        "{said}"
    );
    let words = read(&lab, "words");
    for pod in ["g-0", "g-1"] {
        let exec = format!("exec -i -n demo {pod} -c generator -- ");
        let asked = words.lines().filter(|line| line.contains(&exec));
        let asked = asked.filter(|line| line.ends_with(" load-agent --stdio"));
        assert_eq!(asked.count(), 1, "{words}");
    }
    assert!(words.contains("delete job demo-load-"), "{words}");
}

#[test]
fn pods_with_another_helenus_are_named_with_their_cure() {
    let mut lab = with_node();
    let old = lab.program(
        "bin/old",
        "#!/bin/sh\necho \"error: unrecognized subcommand 'load-agent'\" >&2\nexit 2\n",
    );
    lab.set("HELENUS_OF_PODS", old);
    let line = ["write", "n=200", "no-warmup", "-rate", "threads=8"];
    let stress = ["stress", "--on", "kube:demo", "--processes", "2"];
    let said = lab.run(&[&stress[..], &line].concat());
    assert_eq!(said.code, "1", "{said}");
    let text =
        "the load agent g-0 ended before it answered: error: unrecognized subcommand 'load-agent'";
    assert!(
        said.err.contains(text) && said.err.contains("helenus kube image"),
        "{said}"
    );
    assert!(read(&lab, "words").contains("delete job demo-load-"));
}
