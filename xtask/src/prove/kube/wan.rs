//! `prove kube wan`: three data centres by one command, as the document about them has it: up, ring, rows across data centres,
//! stress at three levels, and nothing left. Refuses one node's word for what another data centre reads.

mod cql;
mod figures;
mod stress;

use super::super::campaign::rounded;
use super::super::host::Watch;
use super::Tried;
use super::lab::{Lab, kubectl, left};
use super::sheet::{Sheet, Verdict};
pub(super) use cql::CQL_PORT;
use cql::Statements;
use helenus_cluster::machine;
use serde_json::{Value, json};
use std::error::Error;
use std::time::{Duration, Instant};

/// What it shows.
pub(super) const ABOUT: &str = "three data centres by one command: ready, ring, rows of one read in another, stress at three levels, \
     nothing left after rm";

/// The variable that says how many nodes, such as 5:5:5.
const NODES: &str = "KUBE_PROVE_NODES";

/// Nodes where the machine has the memory, and where it has not.
const MANY: &str = "5:5:5";
const FEW: &str = "2:2:2";

/// What a tiny pod takes, and what the rest needs, in MiB.
const POD_MIB: u64 = 220;
const REST_MIB: u64 = 2048;

/// Copies of each row in each data centre, where it has so many nodes.
const COPIES: usize = 3;

const NAME: &str = "wan";

/// Longest wait for rows in another data centre.
const READ_WITHIN: Duration = Duration::from_secs(15);

/// The keyspace of the document.
const KEYSPACE: &str = "multidc";

/// The cluster as it came up.
struct Up {
    /// The answer of `kube up`.
    status: Value,
    /// Copies by data centre.
    copies: Vec<(String, usize)>,
}

impl Up {
    fn of(status: Value) -> Self {
        let mut nodes: Vec<(String, usize)> = Vec::new();
        for pod in pods(&status) {
            let dc = text(pod, "data_center");
            match nodes.iter_mut().find(|(name, _)| *name == dc) {
                Some((_, count)) => *count += 1,
                None => nodes.push((dc, 1)),
            }
        }
        nodes.sort();
        let copies = nodes.into_iter().map(|(dc, n)| (dc, n.min(COPIES)));
        Self {
            copies: copies.collect(),
            status,
        }
    }

    /// The first pod of a data centre.
    fn pod_of(&self, dc: &str) -> Result<&Value, String> {
        let found = pods(&self.status).find(|pod| pod["data_center"] == dc);
        found.ok_or_else(|| format!("no pod in {dc}"))
    }
}

fn pods(status: &Value) -> impl Iterator<Item = &Value> {
    status["pods"].as_array().into_iter().flatten()
}

fn text(of: &Value, key: &str) -> String {
    of[key].as_str().unwrap_or_default().to_owned()
}

fn nodes() -> String {
    if let Ok(said) = std::env::var(NODES) {
        return said;
    }
    let free = machine::meminfo("MemAvailable").map_or(0, |bytes| bytes.as_mib());
    let many = 15 * POD_MIB + REST_MIB;
    if free > many { MANY } else { FEW }.to_owned()
}

/// All of it, from nothing to nothing.
pub(super) fn run(lab: &Lab, sheet: &mut Sheet) -> Tried {
    lab.clear(NAME)?;
    let tried = up(lab, sheet).and_then(|up| {
        memory(lab, sheet)?;
        let mut statements = Statements::open(lab, sheet, NAME)?;
        rows(lab, sheet, &up, &mut statements)?;
        ring(lab, sheet, &up)?;
        stress::run(lab, sheet, NAME, &up.copies, &mut statements)
    });
    let removed = removed(lab, sheet);
    tried.and(removed)
}

fn up(lab: &Lab, sheet: &mut Sheet) -> Result<Up, Box<dyn Error>> {
    let nodes = nodes();
    let watch = Watch::begin()?;
    let command = lab.up(NAME, &["-n", &nodes]);
    let ran = lab.run(&command)?.well("kube up")?;
    let seconds = ran.took.as_secs_f64();
    let up = Up::of(ran.json()?);
    let ready: Vec<(String, Option<i64>)> = pods(&up.status)
        .map(|pod| {
            let times = [text(pod, "created"), text(pod, "ready_since")];
            let [created, ready] = times.map(|time| figures::unix(&time));
            (text(pod, "name"), ready.zip(created).map(|(r, c)| r - c))
        })
        .collect();
    let slowest = ready.iter().filter_map(|(_, seconds)| *seconds).max();
    let wanted: usize = nodes
        .split(':')
        .filter_map(|n| n.parse::<usize>().ok())
        .sum();
    let all = ready.len() == wanted && ready.iter().all(|(_, seconds)| seconds.is_some());
    let said = format!(
        "-n {nodes}: {} pods ready {seconds:.1} s after the command, the slowest {} s after it was made",
        ready.len(),
        slowest.unwrap_or(-1)
    );
    let facts = json!({
        "command": command.join(" "),
        "nodes": nodes,
        "ready_after_s": rounded(seconds),
        "pod_ready_after_s": ready.into_iter().collect::<std::collections::BTreeMap<_, _>>(),
        "status": up.status,
    });
    let watch = Some((watch, 0.0));
    sheet.found(
        "one command, all pods ready",
        Verdict::of(all),
        &said,
        &facts,
        watch,
    )?;
    Ok(up)
}

/// Memory of each pod, by its kubelet.
fn memory(lab: &Lab, sheet: &mut Sheet) -> Tried {
    let mut all = Vec::new();
    for worker in &lab.workers {
        let path = format!("/api/v1/nodes/{worker}/proxy/stats/summary");
        let summary = match kubectl(&["get", "--raw", &path], None)? {
            Ok(summary) => serde_json::from_str(&summary)?,
            Err(why) => return sheet.record("memory of the pods", Verdict::NotRun, &why),
        };
        all.extend(figures::memory(&summary, &format!("{NAME}-")));
    }
    let (rss, set) = (
        figures::spread(&all, "rss_mib"),
        figures::spread(&all, "working_set_mib"),
    );
    let said = format!("{} pods: rss {rss} MiB, working set {set} MiB", all.len());
    sheet.found(
        "memory of the pods",
        Verdict::Noted,
        &said,
        &json!(all),
        None,
    )
}

/// Rows written in the first data centre are read in each other one.
fn rows(
    lab: &Lab,
    sheet: &mut Sheet,
    up: &Up,
    statements: &mut Statements<'_>,
) -> Result<(), Box<dyn Error>> {
    let copies: Vec<String> = up
        .copies
        .iter()
        .map(|(dc, n)| format!("'{dc}': {n}"))
        .collect();
    let copies = copies.join(", ");
    let Some(((first, _), others)) = up.copies.split_first() else {
        return Err("no data centre".into());
    };
    let watch = Watch::begin()?;
    let writer = up.pod_of(first)?;
    statements.run(
        writer,
        &format!("CREATE KEYSPACE {KEYSPACE} WITH replication = {{'class': 'NetworkTopologyStrategy', {copies}}}"),
    )?;
    let table =
        format!("CREATE TABLE IF NOT EXISTS {KEYSPACE}.test (id uuid PRIMARY KEY, text text)");
    statements.run(writer, &table)?;
    // One schema everywhere, before rows go there.
    lab.run(&["kube", "wait", NAME])?.well("kube wait")?;
    let rows = ["record 1", "record 2", "record 3"];
    for row in rows {
        let insert = format!("INSERT INTO {KEYSPACE}.test (id, text) VALUES (uuid(), '{row}')");
        statements.run(writer, &insert)?;
    }
    let mut read = Vec::new();
    for (dc, _) in others {
        let begin = Instant::now();
        let (answer, all) = loop {
            let answer =
                statements.run(up.pod_of(dc)?, &format!("SELECT * FROM {KEYSPACE}.test"))?;
            let all = rows.iter().all(|row| answer.contains(row));
            if all || begin.elapsed() > READ_WITHIN {
                break (answer, all);
            }
            std::thread::sleep(Duration::from_millis(200));
        };
        let seconds = begin.elapsed().as_secs_f64();
        read.push(json!({"data_center": dc, "all": all, "within_s": seconds, "answer": answer}));
    }
    let all = !read.is_empty() && read.iter().all(|one| one["all"] == true);
    let names: Vec<&str> = others.iter().map(|(dc, _)| dc.as_str()).collect();
    let verb = if all { "read" } else { "NOT all read" };
    let said = format!(
        "{} rows written in {first}, {verb} in {}",
        rows.len(),
        names.join(" and ")
    );
    let facts = json!({"replication": copies, "by": statements.by(), "read": read});
    let watch = Some((watch, 0.0));
    sheet.found(
        "rows of one data centre in the others",
        Verdict::of(all),
        &said,
        &facts,
        watch,
    )
}

/// All nodes up and normal, each data centre owning as many copies as the keyspace asks for.
fn ring(lab: &Lab, sheet: &mut Sheet, up: &Up) -> Result<(), Box<dyn Error>> {
    let words = ["kube", "nodetool", NAME, "status", KEYSPACE];
    let status = lab.run(&words)?.well("kube nodetool")?.out;
    let nodes = figures::ring(&status);
    let normal = nodes.iter().filter(|node| node.state == "UN").count();
    let mut sums = Vec::new();
    for (dc, copies) in &up.copies {
        let of_dc: Vec<f64> = nodes
            .iter()
            .filter(|node| node.data_center == *dc)
            .filter_map(|node| node.owns)
            .collect();
        sums.push((dc.clone(), of_dc.len(), of_dc.iter().sum::<f64>(), *copies));
    }
    let owned = sums
        .iter()
        .all(|(_, nodes, sum, copies)| figures::owned(*nodes, *sum, *copies));
    let planned = pods(&up.status).count();
    let words: Vec<String> = sums
        .iter()
        .map(|(dc, _, sum, _)| format!("{dc} {sum:.1} %"))
        .collect();
    let said = format!(
        "{normal} of {planned} nodes UN, effective ownership {}",
        words.join(", ")
    );
    let verdict = Verdict::of(normal == planned && nodes.len() == planned && owned);
    sheet.found(
        "all UN with effective ownership",
        verdict,
        &said,
        &json!({"status": status}),
        None,
    )
}

/// `kube rm` leaves nothing.
fn removed(lab: &Lab, sheet: &mut Sheet) -> Tried {
    let id = lab.id(NAME)?;
    let watch = Watch::begin()?;
    let ran = lab
        .run(&["kube", "rm", NAME, "--format", "json"])?
        .well("kube rm")?;
    let mut remains = left(&id)?;
    let spaces = kubectl(&["get", "namespaces", "-o", "name"], None)??;
    let ours = |line: &&str| line.starts_with(&format!("namespace/{NAME}-"));
    remains.extend(spaces.lines().filter(ours).map(str::to_owned));
    let seconds = ran.took.as_secs_f64();
    let said = match remains.is_empty() {
        true => format!("nothing is left, {seconds:.1} s"),
        false => format!("left: {}", remains.join(", ")),
    };
    let facts = json!({"seconds": seconds, "left": remains, "removed": ran.json()?});
    let verdict = Verdict::of(remains.is_empty());
    sheet.found(
        "kube rm leaves nothing",
        verdict,
        &said,
        &facts,
        Some((watch, 0.0)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_three_or_as_many_as_there_are_nodes() {
        let pod = |dc: &str| json!({"name": dc, "data_center": dc});
        let status = json!({"pods": [pod("DC2"), pod("DC1"), pod("DC2"), pod("DC2"), pod("DC2")]});
        let up = Up::of(status);
        let wanted = [("DC1".to_owned(), 1), ("DC2".to_owned(), 3)];
        assert_eq!(up.copies, wanted);
        assert_eq!(up.pod_of("DC2").unwrap()["name"], "DC2");
        assert!(up.pod_of("DC3").is_err());
    }
}
