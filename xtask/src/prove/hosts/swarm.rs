//! `prove hosts swarm`: the rendered stack on a real Swarm of one host, a load job, and a task that is killed.
//! Refuses an engine that is not in a Swarm, and leaves no stack, volume or job behind.

use super::super::rig;
use super::Sheet;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The stack, which is also the cluster's name.
const NAME: &str = "demo";

/// Nodes, each in a rack, and so in a service, of its own.
const NODES: usize = 3;

/// Operations of each of the two generators.
const OPERATIONS: u64 = 10_000;

/// Longest wait for a stack, a task or a job.
const WITHIN: Duration = Duration::from_secs(300);

/// Between two looks.
const EVERY: Duration = Duration::from_millis(500);

/// Runs this part.
pub(super) fn run(sheet: &mut Sheet, helenus: &Path, home: &Path) -> Result<(), Box<dyn Error>> {
    let state = docker(&["info", "--format", "{{.Swarm.LocalNodeState}}"]);
    if state.as_deref().ok() != Some("active") {
        return Err("no Docker engine in a Swarm: start one, `docker swarm init`, and name it by DOCKER_HOST".into());
    }
    let folder = tempfile::tempdir()?;
    let tried = all(sheet, (helenus, home), folder.path());
    let gone = gone();
    sheet.ran("the campaign", tried)?;
    sheet.found(
        "no task, volume or network is left",
        gone.is_empty(),
        &gone,
        None,
    )
}

fn all(
    sheet: &mut Sheet,
    (helenus, home): (&Path, &Path),
    folder: &Path,
) -> Result<(), Box<dyn Error>> {
    let run = |words: &[&str]| -> Result<(), Box<dyn Error>> {
        let output = Command::new(helenus)
            .args(words)
            .env("HELENUS_HOME", home)
            .output()?;
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned().into()),
        }
    };
    let image = folder.join("image.tar").display().to_string();
    run(&["kube", "image", "--output", &image])?;
    docker(&["load", "-i", &image])?;
    let files = folder.join("stack").display().to_string();
    let racks = NODES.to_string();
    run(&[
        "hosts", "render", "-n", &racks, "--racks", &racks, "--name", NAME, "--as", "swarm", "-o",
        &files,
    ])?;
    let begin = Instant::now();
    docker(&[
        "stack",
        "deploy",
        "--resolve-image",
        "never",
        "-c",
        &format!("{files}/stack.yml"),
        NAME,
    ])?;
    let first = until(|| ring().filter(|ids| ids.len() == NODES))?;
    sheet.found(
        "three services from the rendered stack are up",
        true,
        "",
        Some(begin.elapsed()),
    )?;
    let node = task(1)?;
    cql(
        &node,
        &[
            "CREATE KEYSPACE kv WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 3}",
            "CREATE TABLE kv.kv (key text PRIMARY KEY, value blob)",
        ],
    )?;
    let begin = Instant::now();
    let count = OPERATIONS.to_string();
    let script = format!("{files}/load.sh");
    let job = Command::new("sh")
        .args([
            &script, "2", "kv", "--ops", "insert=1", "--count", &count, "--cl", "QUORUM",
            "--format", "json",
        ])
        .stdout(Stdio::null())
        .status()?;
    if !job.success() {
        return Err("load.sh failed".into());
    }
    let load = format!("{NAME}-load");
    until(|| {
        let states = docker(&["service", "ps", &load, "--format", "{{.CurrentState}}"]).ok()?;
        let done = states
            .lines()
            .filter(|state| state.starts_with("Complete"))
            .count();
        let failed = states.lines().any(|state| state.starts_with("Failed"));
        (done == 2 || failed).then_some(())
    })?;
    // The logs of the service mix the lines of both.
    let mut results: Vec<Value> = Vec::new();
    for id in load_containers()?.lines() {
        results.extend(serde_json::from_str(&docker(&["logs", id])?));
    }
    let sum = |key: &str| -> u64 {
        let phases = results
            .iter()
            .flat_map(|one| one["result"]["phases"].as_array().into_iter().flatten());
        phases
            .filter_map(|phase| phase["total"][key].as_u64())
            .sum()
    };
    let (completed, failed) = (sum("completed"), sum("failed"));
    sheet.found(
        "a job of two generators at QUORUM, none of its operations fails",
        completed == 2 * OPERATIONS && failed == 0,
        &format!("{completed} completed, {failed} failed"),
        Some(begin.elapsed()),
    )?;
    let rows = rows(&node)?;
    let killed = task(2)?;
    let begin = Instant::now();
    docker(&["kill", &killed])?;
    // Until it answers itself: the others may not have seen that it was gone.
    let after = until(|| {
        let new = task(2).ok().filter(|new| *new != killed)?;
        self::rows(&new).ok()
    })?;
    let took = begin.elapsed();
    let back = until(|| ring().filter(|ids| ids.len() == NODES))?;
    sheet.found(
        "a killed task comes back as the same node with its rows",
        back == first && after == rows && rows > 0,
        &format!("{after} of {rows} rows"),
        Some(took),
    )
}

/// Host ids of the nodes that are up and normal, as the first one sees them; none while it does not answer.
fn ring() -> Option<BTreeSet<String>> {
    let status = docker(&["exec", &task(1).ok()?, "nodetool", "status"]).ok()?;
    let up = status.lines().filter(|line| line.starts_with("UN "));
    let id = |line: &str| line.split_whitespace().rev().nth(1).map(str::to_owned);
    Some(up.filter_map(id).collect())
}

/// The container of the service of a rack.
fn task(rack: usize) -> Result<String, Box<dyn Error>> {
    let name = format!("name={NAME}_.*rack{rack}");
    let ids = docker(&["ps", "-q", "--filter", &name])?;
    let id = ids.lines().next().ok_or("no container")?;
    Ok(id.to_owned())
}

fn rows(container: &str) -> Result<u64, Box<dyn Error>> {
    let answer = cql(container, &["SELECT count(*) FROM kv.kv"])?;
    let text = answer["answers"][0]["rows"][0][0]
        .as_str()
        .unwrap_or_default();
    Ok(text.parse()?)
}

fn cql(container: &str, statements: &[&str]) -> Result<Value, Box<dyn Error>> {
    use std::io::Write as _;
    let mut child = Command::new("docker")
        .args(["exec", "-i", container, "helenus", "__pod", "cql"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let asked = json!({"format": "helenus.pod-cql/1", "statements": statements});
    child
        .stdin
        .take()
        .ok_or("no input")?
        .write_all(asked.to_string().as_bytes())?;
    let output = child.wait_with_output()?;
    match output.status.success() {
        true => Ok(serde_json::from_slice(&output.stdout)?),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned().into()),
    }
}

/// The containers of the load generators.
fn load_containers() -> Result<String, Box<dyn Error>> {
    let label = format!("label=com.docker.swarm.service.name={NAME}-load");
    docker(&["ps", "-aq", "--filter", &label])
}

/// Removes all of it, and says what is left.
fn gone() -> String {
    let load = format!("{NAME}-load");
    let _not_there = docker(&["service", "rm", &load]);
    let _not_there = docker(&["stack", "rm", NAME]);
    for id in load_containers().unwrap_or_default().lines() {
        let _gone_already = docker(&["rm", "-f", id]);
    }
    let left = || {
        let label = format!("label=com.docker.stack.namespace={NAME}");
        let all = [
            docker(&["ps", "-aq", "--filter", &label]),
            docker(&["service", "ls", "-q", "--filter", &format!("name={NAME}")]),
            docker(&["network", "ls", "-q", "--filter", &label]),
        ];
        let all: Vec<String> = all
            .into_iter()
            .flatten()
            .filter(|ids| !ids.is_empty())
            .collect();
        all.join(" ")
    };
    let _what_is_left_is_said = until(|| left().is_empty().then_some(()));
    if let Ok(volumes) = docker(&["volume", "ls", "-q"]) {
        let own = format!("{NAME}-");
        for volume in volumes.lines().filter(|name| name.starts_with(&own)) {
            let _it_is_in_use = docker(&["volume", "rm", volume]);
        }
    }
    left()
}

fn until<T>(mut look: impl FnMut() -> Option<T>) -> Result<T, Box<dyn Error>> {
    let found = rig::until(WITHIN, EVERY, || Ok(look()))?;
    found.ok_or_else(|| format!("not within {} s", WITHIN.as_secs()).into())
}

/// What docker prints.
fn docker(words: &[&str]) -> Result<String, Box<dyn Error>> {
    let output = Command::new("docker").args(words).output()?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr)
            .trim()
            .to_owned()
            .into()),
    }
}
