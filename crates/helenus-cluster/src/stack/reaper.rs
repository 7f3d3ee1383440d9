//! Reaper by its REST interface: the cluster that it watches, and repair runs.
//! Refuses to repair by itself: Reaper cuts the ring into segments and drives the nodes.

use super::process::ask;
use super::{StackError, jmx, tables};
use crate::error::ClusterError;
use crate::observe;
use crate::ring_view;
use crate::shell;
use crate::state::ClusterState;
use helenus_model::stack::{Part, RepairRun, Stack, runs_of};
use helenus_model::status::is_own_keyspace;
use std::time::Duration;

/// Longest wait for an answer: Reaper looks at the whole ring before it answers.
const WITHIN: Duration = Duration::from_secs(60);
/// Who a run belongs to, for Reaper.
const OWNER: &str = "helenus";

fn rest(stack: &Stack, line: &str) -> Result<Vec<u8>, StackError> {
    ask(stack, Part::Reaper, line, WITHIN)
}

/// The clusters that Reaper knows: with storage in memory, none after a restart.
fn known(stack: &Stack) -> Result<Vec<String>, StackError> {
    let answer = rest(stack, "GET /cluster")?;
    serde_json::from_slice(&answer).map_err(|_| StackError::Refused {
        part: Part::Reaper.as_str(),
        code: 200,
        text: String::from_utf8_lossy(&answer).into_owned(),
    })
}

/// Makes the cluster known to Reaper, unless it is; its name there.
pub(super) fn register(stack: &Stack, state: &ClusterState) -> Result<String, ClusterError> {
    if let Some(name) = known(stack)?.pop() {
        return Ok(name);
    }
    let mut running = observe::pids(state).into_iter();
    let seed = running.find_map(|(name, pid)| pid.and(state.node(name).ok()));
    let seed = seed.ok_or_else(|| {
        let first = state.plan.nodes.first().map_or("node1", |n| &n.name);
        ClusterError::not_running(&state.plan.name, first)
    })?;
    rest(stack, &format!("POST /cluster?seedHost={}", seed.address))?;
    Ok(known(stack)?.pop().unwrap_or_default())
}

/// Why Reaper, which answers, does not see all nodes; none where it does.
pub(super) fn blind(stack: &Stack, state: &ClusterState) -> Option<String> {
    if known(stack).is_ok_and(|names| names.is_empty()) {
        return Some("it does not know the cluster: `helenus stack up` registers it".to_owned());
    }
    let node = jmx::closed(state)?;
    Some(format!(
        "JMX of {node} is closed: `helenus stack up` opens it"
    ))
}

/// Begins a run for each keyspace with several replicas, or for one that is named.
///
/// # Errors
/// There is nothing to repair, or Reaper refuses.
pub fn start_runs(
    stack: &Stack,
    state: &ClusterState,
    keyspace: Option<&str>,
) -> Result<Vec<RepairRun>, ClusterError> {
    tables::has(stack, state, Part::Reaper)?;
    let keyspaces = match keyspace {
        Some(name) => vec![name.to_owned()],
        None => replicated(state)?,
    };
    if keyspaces.is_empty() {
        return Err(StackError::NothingToRepair(state.plan.name.clone()).into());
    }
    jmx::open_all(state)?;
    let cluster = register(stack, state)?;
    let mut runs = Vec::new();
    for keyspace in keyspaces {
        let line = format!(
            "POST /repair_run?clusterName={}&keyspace={}&owner={OWNER}",
            escaped(&cluster),
            escaped(&keyspace)
        );
        for run in read(&rest(stack, &line)?)? {
            rest(stack, &format!("PUT /repair_run/{}/state/RUNNING", run.id))?;
            runs.push(run);
        }
    }
    look_runs(stack, &runs)
}

/// Where these runs stand now.
///
/// # Errors
/// Reaper does not answer.
pub fn look_runs(stack: &Stack, runs: &[RepairRun]) -> Result<Vec<RepairRun>, ClusterError> {
    let mut now = Vec::new();
    for run in runs {
        let answer = rest(stack, &format!("GET /repair_run/{}", run.id))?;
        now.extend(read(&answer)?);
    }
    Ok(now)
}

fn read(answer: &[u8]) -> Result<Vec<RepairRun>, StackError> {
    runs_of(answer).map_err(|error| StackError::Refused {
        part: Part::Reaper.as_str(),
        code: 200,
        text: format!("{error}: {}", String::from_utf8_lossy(answer)),
    })
}

/// Keyspaces of the person with more than one replica.
fn replicated(state: &ClusterState) -> Result<Vec<String>, ClusterError> {
    let all = ring_view::keyspaces(&mut shell::connect(state, None)?)
        .map_err(|source| ClusterError::silent(&state.plan.name, source))?;
    let more =
        |(key, value): (&String, &String)| key != "class" && value.split('/').next() != Some("1");
    let users = all.into_iter().filter(|k| !is_own_keyspace(&k.name));
    let users = users.filter(|k| k.replication.iter().any(more));
    let mut names: Vec<String> = users.map(|k| k.name).collect();
    names.sort();
    Ok(names)
}

/// A word of a query, byte by byte.
fn escaped(word: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let one = |byte: u8| match plain(&byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    word.bytes().map(one).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_word_of_a_query_keeps_its_bytes() {
        assert_eq!(super::escaped("ks_1"), "ks_1");
        assert_eq!(super::escaped("My Ks&x"), "My%20Ks%26x");
    }
}
