//! `prove kube spread`: fifteen nodes on many workers that kwok simulates: spread, anti-affinity, labels of workers,
//! and drains that respect the disruption budget. Refuses to claim that Cassandra runs there: no pod is real.

use super::super::rig::until;
use super::Tried;
use super::lab::{Lab, kubectl, kubectl_json};
use super::running::{Ran, Running};
use super::sheet::{Sheet, Verdict};
use helenus_model::kube::waiting::is_ready;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::process::Command;
use std::time::Duration;

/// What it shows.
pub(super) const ABOUT: &str = "3 x 5 pods on 16 simulated workers (kwok): spread, labels, drains within the disruption budget";

const NAME: &str = "prove-spread";

/// The program that simulates workers.
const KWOK: &str = "HELENUS_PROVE_KWOK";

/// Workers are distinguished by it.
const LABEL: &str = "helenus-prove-dc";

/// What kwok takes a worker for its own by.
const OWN: &str = "kwok.x-k8s.io/node";

/// Data centres with their workers; one is to spare.
const WORKERS: [(&str, usize); 3] = [("DC1", 6), ("DC2", 5), ("DC3", 5)];

/// Nodes in each data centre.
const NODES: usize = 5;

/// Longest wait for simulated pods.
const WITHIN: Duration = Duration::from_secs(90);

/// Workers, pods, drains.
pub(super) fn run(lab: &Lab, sheet: &mut Sheet) -> Tried {
    let Ok(kwok) = std::env::var(KWOK) else {
        let cure = format!(
            "{KWOK} is not set: go install sigs.k8s.io/kwok/cmd/kwok, and name the program"
        );
        return sheet.record("simulated workers", Verdict::NotRun, &cure);
    };
    lab.clear(NAME)?;
    let mut command = Command::new(kwok);
    let kubeconfig = std::env::var("KUBECONFIG")?;
    command.args(["--kubeconfig", &kubeconfig]);
    command.arg(format!(
        "--manage-nodes-with-annotation-selector={OWN}=fake"
    ));
    // Without leases the workers would be lost after a minute.
    command.args(["--node-lease-duration-seconds", "40"]);
    let _pretends = Running::start(command)?;
    kubectl(&["apply", "-f", "-"], Some(&workers()))??;
    let tried = on_workers(lab, sheet);
    let left = lab.remove(NAME);
    kubectl(&["delete", "nodes", "-l", LABEL], None)??;
    let left = left?;
    sheet.record(
        "nothing is left",
        Verdict::of(left.is_empty()),
        &left.join(", "),
    )?;
    tried
}

fn on_workers(lab: &Lab, sheet: &mut Sheet) -> Tried {
    let mut words = lab.up(NAME, &["--spread", "required", "--worker-label", LABEL]);
    words.extend(["-n", "5:5:5", "--no-wait"]);
    lab.run(&words)?.well("kube up")?;
    let placed = settled(WORKERS.len() * NODES)?;
    let facts = json!({"workers": placed});
    let distinct = is_spread(&placed);
    let said = format!(
        "{} pods on {} workers",
        placed.len(),
        workers_of(&placed).len()
    );
    sheet.found(
        "each pod has a worker of its data centre to itself",
        Verdict::of(distinct),
        &said,
        &facts,
        None,
    )?;
    // There is one worker to spare in DC1: the first drain moves a pod, the second one has nowhere to put it.
    let mut of_first = placed.values().filter(|worker| worker.contains("dc1"));
    let drain = |of: &mut dyn Iterator<Item = &String>| -> Result<_, Box<dyn Error>> {
        let worker = of.next().ok_or("no worker of DC1 is left")?;
        let words = ["kube", "fault", NAME, "drain", worker, "--timeout", "10s"];
        Ok((worker.clone(), lab.run(&words)?))
    };
    let (worker, ran) = drain(&mut of_first)?;
    let moved = settled(WORKERS.len() * NODES)?;
    let holds = ran.code == 0 && is_spread(&moved) && !workers_of(&moved).contains(&worker);
    let facts = json!({"drained": worker, "code": ran.code, "workers": moved});
    sheet.found(
        "a drained worker's pod moves to the free one",
        Verdict::of(holds),
        error_of(&ran),
        &facts,
        None,
    )?;
    let (worker, ran) = drain(&mut of_first)?;
    let first = json!({"drained": worker, "code": ran.code});
    let (worker, ran) = drain(&mut of_first)?;
    let stays = workers_of(&placed_now()?).contains(&worker);
    let named = ran.line_with(&["disruption budget"]).is_some();
    let holds = ran.code == 4 && stays && named;
    let facts = json!({"before": first, "drained": worker, "code": ran.code});
    sheet.found(
        "a second pod without a worker is refused",
        Verdict::of(holds),
        error_of(&ran),
        &facts,
        None,
    )?;
    let healed = lab.json(&["kube", "heal", NAME])?;
    let back = settled(WORKERS.len() * NODES)?;
    let holds = is_spread(&back);
    sheet.found(
        "healed, all pods have workers again",
        Verdict::of(holds),
        &format!("{} pods", back.len()),
        &healed,
        None,
    )
}

/// What was refused, in the words of helenus; nothing where it was done.
fn error_of(ran: &Ran) -> &str {
    let said = ran.line_with(&["error: "]);
    said.map_or("", |said| said.line.as_str())
}

/// The workers as manifests.
fn workers() -> String {
    let nodes = WORKERS.iter().flat_map(|(center, count)| {
        (0..*count).map(move |k| {
            let name = format!("{NAME}-{}-{k}", center.to_lowercase());
            json!({
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {
                    "name": name,
                    "annotations": {OWN: "fake", "node.alpha.kubernetes.io/ttl": "0"},
                    "labels": {LABEL: center, "kubernetes.io/hostname": name, "kubernetes.io/os": "linux"},
                },
                "status": {
                    "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "20"},
                    "capacity": {"cpu": "8", "memory": "32Gi", "pods": "20"},
                },
            })
        })
    });
    json!({"apiVersion": "v1", "kind": "List", "items": nodes.collect::<Vec<_>>()}).to_string()
}

/// The worker of each pod that is ready, once there are so many.
fn settled(pods: usize) -> Result<BTreeMap<String, String>, Box<dyn Error>> {
    let placed = until(WITHIN, Duration::from_secs(1), || {
        let placed = placed_now()?;
        Ok((placed.len() == pods).then_some(placed))
    })?;
    placed.ok_or_else(|| format!("not {pods} pods are ready").into())
}

/// The worker of each pod that is ready now.
fn placed_now() -> Result<BTreeMap<String, String>, Box<dyn Error>> {
    let instance = format!("app.kubernetes.io/instance={NAME}");
    let found = kubectl_json(&["get", "pods", "-A", "-l", &instance])?;
    Ok(placed(&found))
}

fn placed(found: &Value) -> BTreeMap<String, String> {
    let pods = found["items"].as_array().into_iter().flatten();
    let ready = |pod: &&Value| pod["metadata"]["deletionTimestamp"].is_null() && is_ready(pod);
    let of = |pod: &Value| {
        let name = pod["metadata"]["name"].as_str()?;
        let worker = pod["spec"]["nodeName"].as_str()?;
        Some((name.to_owned(), worker.to_owned()))
    };
    pods.filter(ready).filter_map(of).collect()
}

fn workers_of(placed: &BTreeMap<String, String>) -> BTreeSet<String> {
    placed.values().cloned().collect()
}

/// Whether no two pods share a worker, and each has one of its own data centre.
fn is_spread(placed: &BTreeMap<String, String>) -> bool {
    let own = |(pod, worker): (&String, &String)| {
        WORKERS.iter().any(|(center, _)| {
            let center = format!("-{}-", center.to_lowercase());
            pod.contains(&center) && worker.contains(&center)
        })
    };
    workers_of(placed).len() == placed.len() && placed.iter().all(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_are_spread_where_each_has_a_worker_of_its_data_centre_to_itself() {
        let pod = |name: &str, worker: &str, ready: &str| {
            json!({
                "metadata": {"name": name},
                "spec": {"nodeName": worker},
                "status": {"conditions": [{"type": "Ready", "status": ready}]},
            })
        };
        let of = |pods: &[Value]| placed(&json!({"items": pods}));
        let (a, b) = (
            pod("c-dc1-r-0", "w-dc1-0", "True"),
            pod("c-dc1-r-1", "w-dc1-1", "True"),
        );
        assert!(is_spread(&of(&[a.clone(), b.clone()])));
        assert!(!is_spread(&of(&[
            a.clone(),
            pod("c-dc1-r-1", "w-dc1-0", "True")
        ])));
        assert!(!is_spread(&of(&[pod("c-dc2-r-0", "w-dc1-0", "True")])));
        assert_eq!(of(&[a, pod("c-dc1-r-1", "w-dc1-1", "False")]).len(), 1);
    }
}
