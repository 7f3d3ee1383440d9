//! `prove kube volumes`: nodes on volumes: a pod that was killed is the same node with its rows, and an experiment's restarts keep
//! the nodes and leave nothing of its own. Where the volumes' driver ignores `fsGroup`, their folders are given to Cassandra here.
//! Refuses to say anything of the driver.

use super::Tried;
use super::cut::Node;
use super::experiment::{experiment, file, same, settings};
use super::lab::{Lab, WITHIN, kubectl, kubectl_json, left};
use super::running::Ran;
use super::sheet::{Sheet, Verdict};
use serde_json::json;
use std::collections::BTreeSet;
use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What it shows.
pub(super) const ABOUT: &str = "nodes on volumes: a killed pod comes back with its rows, an experiment keeps the nodes, volumes go when asked";

const NAME: &str = "prove-volumes";

/// Cassandra in our image.
const USER: &str = "999:999";

/// Longest wait for a pod that was killed.
const BACK_WITHIN: Duration = Duration::from_secs(180);

/// Two nodes on volumes.
pub(super) fn run(lab: &Lab, sheet: &mut Sheet) -> Tried {
    let Some(node) = Node::of_environment() else {
        return sheet.record(
            "nodes on volumes",
            Verdict::NotRun,
            "no way to the worker's folders",
        );
    };
    lab.clear(NAME)?;
    let up = lab.up(NAME, &["-n", "2", "--storage", "2G"]);
    let ran = owned(&node, || lab.run(&up))?.well("kube up")?;
    let said = format!("{:.1} s", ran.took.as_secs_f64());
    sheet.record("kube up on volumes", Verdict::Noted, &said)?;
    let id = lab.id(NAME)?;
    let tried = killed(lab, sheet).and_then(|()| tried(lab, sheet));
    lab.json(&["kube", "rm", NAME])?;
    let claims = left(&id)?.len();
    let said = format!("{claims} objects with our id are left");
    // The claims, and the namespace that they are in.
    sheet.record("kube rm keeps the volumes", Verdict::of(claims == 3), &said)?;
    let gone = lab.remove(NAME)?;
    let what = "kube rm --volumes leaves nothing";
    sheet.record(what, Verdict::of(gone.is_empty()), &gone.join(", "))?;
    tried
}

/// Runs something while new volumes of the worker are given to Cassandra.
fn owned(
    node: &Node,
    what: impl FnOnce() -> Result<Ran, Box<dyn Error>>,
) -> Result<Ran, Box<dyn Error>> {
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut done = BTreeSet::new();
            while !ends.load(Ordering::Relaxed) {
                for path in folders().unwrap_or_default() {
                    if !done.contains(&path)
                        && node.shell(&format!("chown {USER} '{path}'")).is_ok()
                    {
                        done.insert(path);
                    }
                }
                std::thread::sleep(Duration::from_millis(300));
            }
        });
        let ran = what();
        ends.store(true, Ordering::Relaxed);
        ran
    })
}

/// Folders of the worker that are volumes.
fn folders() -> Result<Vec<String>, Box<dyn Error>> {
    let volumes = kubectl_json(&["get", "pv"])?;
    let volumes = volumes["items"].as_array().into_iter().flatten();
    let path =
        |one: &serde_json::Value| one["spec"]["hostPath"]["path"].as_str().map(str::to_owned);
    Ok(volumes.filter_map(path).collect())
}

/// The nodes by their host ids.
fn host_ids(lab: &Lab) -> Result<BTreeSet<String>, Box<dyn Error>> {
    let status = lab
        .run(&["kube", "nodetool", NAME, "status"])?
        .well("nodetool")?
        .out;
    let up = status.lines().filter(|line| line.starts_with("UN"));
    let id = |line: &str| {
        line.split_whitespace()
            .find(|word| word.len() == 36)
            .map(str::to_owned)
    };
    Ok(up.filter_map(id).collect())
}

/// A pod that is killed comes back as the same node.
fn killed(lab: &Lab, sheet: &mut Sheet) -> Tried {
    let cql = |text: &str| lab.run(&["kube", "cql", NAME, "-e", text]);
    for text in [
        "CREATE KEYSPACE k WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}",
        "CREATE TABLE k.t (id int PRIMARY KEY)",
        "INSERT INTO k.t (id) VALUES (1); INSERT INTO k.t (id) VALUES (2); INSERT INTO k.t (id) VALUES (3)",
    ] {
        cql(text)?.well(text)?;
    }
    let before = host_ids(lab)?;
    let pod = format!("{NAME}-datacenter1-rack1-1");
    let uid = || {
        kubectl(
            &[
                "get",
                "pod",
                &pod,
                "-n",
                NAME,
                "-o",
                "jsonpath={.metadata.uid}",
            ],
            None,
        )
    };
    let first = uid()??;
    let begin = Instant::now();
    lab.run(&["kube", "fault", NAME, "kill", &pod])?
        .well("kube fault kill")?;
    while uid()?.is_ok_and(|now| now == first) && begin.elapsed() < BACK_WITHIN {
        std::thread::sleep(Duration::from_millis(200));
    }
    lab.run(&["kube", "wait", NAME])?.well("kube wait")?;
    let after = host_ids(lab)?;
    let rows = cql("SELECT id FROM k.t")?;
    let all = ["1", "2", "3"]
        .iter()
        .all(|id| rows.out.lines().any(|line| line.trim() == *id));
    let said = format!(
        "the same {} host ids, all rows there, {:.1} s after the kill",
        after.len(),
        begin.elapsed().as_secs_f64()
    );
    let holds = before == after && before.len() == 2 && all;
    let facts = json!({"before": before, "after": after, "rows": rows.out});
    let what = "a killed pod is the same node with its rows";
    sheet.found(what, Verdict::of(holds), &said, &facts, None)?;
    cql("DROP KEYSPACE k")?.well("DROP KEYSPACE")?;
    Ok(())
}

/// One block of an experiment.
fn tried(lab: &Lab, sheet: &mut Sheet) -> Tried {
    let (before, nodes) = (settings(NAME)?, host_ids(lab)?);
    let file = file(lab, NAME, "volumes")?;
    let begin = Instant::now();
    let ran = experiment(lab, &["run", &file, "--anew", "--repeats", "1"])?;
    let progress = ran.json()?["progress"].clone();
    let whole = progress["left"] == 0 && progress["done"] == progress["planned"];
    let said = format!(
        "{} runs in {:.0} s",
        progress["done"],
        begin.elapsed().min(2 * WITHIN).as_secs_f64()
    );
    let facts = json!({"progress": progress, "took_s": ran.took.as_secs()});
    sheet.found(
        "a block of an experiment on volumes",
        Verdict::of(whole),
        &said,
        &facts,
        None,
    )?;
    same(sheet, "after it on volumes", NAME, &before)?;
    let asked = "SELECT keyspace_name FROM system_schema.keyspaces";
    let spaces = lab
        .run(&["kube", "cql", NAME, "-e", asked])?
        .well("kube cql")?
        .out;
    let foreign: Vec<&str> = spaces
        .lines()
        .skip(1)
        .map(str::trim)
        .filter(|name| !name.is_empty() && !name.starts_with("system") && !name.contains(' '))
        .collect();
    let holds = nodes == host_ids(lab)? && foreign.is_empty();
    let said = format!("the same nodes; keyspaces of it: {}", foreign.len());
    let facts = json!({"keyspaces": spaces});
    let what = "its restarts kept the nodes and left no data";
    sheet.found(what, Verdict::of(holds), &said, &facts, None)
}
