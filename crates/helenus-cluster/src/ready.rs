//! Readiness: STARTUP and a query answer, every node lists every peer, one schema version everywhere,
//! and each node, as coordinator, reaches every peer.
//! Refuses to believe a log line or an answer of somebody else, and to wait for a process that has died.

use crate::alive;
use crate::cancel::Cancel;
use crate::error::{Class, ClusterError, Problem, with_causes};
use crate::launch::{Started, log_tail};
use crate::machine;
use crate::parallel;
use crate::reach::{self, cql_address};
use crate::socket::is_node_s_own;
use crate::state::{ClusterState, NodeCondition, condition};
use helenus_cql::client::{Client, ClientError};
use helenus_cql::codec::Consistency;
use helenus_model::baseline;
use helenus_model::plan::{ClusterPlan, NodePlan};
use helenus_model::ring::Ring;
use helenus_model::units::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Between two looks: small against a start of seconds, cheap against two cores.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Longest wait for one answer while nodes still start.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);

/// Too little time for an answer of a busy machine: a look that has no more says less than the one before it.
const HURRIED: Duration = Duration::from_millis(100);

/// What is last seen before the first look.
const NOTHING_YET: &str = "no connection yet";

/// Less than a line of a log and its block.
const NO_SPACE: Bytes = Bytes(64 << 10);

/// What is last seen where the answer is not the node's.
const A_STRANGER: &str = "another process answers at the address of";

/// Why a cluster did not become ready.
#[derive(Debug, thiserror::Error)]
pub enum ReadyError {
    /// A node's process ended.
    #[error("{node} died {after:.1} s after its start ({how})")]
    Died {
        /// Node.
        node: String,
        /// Seconds since its start.
        after: f64,
        /// Exit status or signal.
        how: String,
        /// Its log.
        log: PathBuf,
        /// Last lines of its log.
        tail: Vec<String>,
    },
    /// Nothing new within the limit.
    #[error("{node} was not ready after {waited:.0} s; last seen: {last}")]
    TimedOut {
        /// Node.
        node: String,
        /// Seconds.
        waited: f64,
        /// Last state seen.
        last: String,
        /// Its log.
        log: PathBuf,
        /// Last lines of its log.
        tail: Vec<String>,
    },
    /// A node that was ready is no more.
    #[error("{node} died while in use")]
    Gone {
        /// Node.
        node: String,
        /// Its log.
        log: PathBuf,
        /// Last lines of its log.
        tail: Vec<String>,
    },
    /// The person asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl ReadyError {
    /// Somebody else answered where the node would.
    fn taken(&self) -> bool {
        matches!(self, Self::TimedOut { last, .. } if last.starts_with(A_STRANGER))
    }
}

impl Problem for ReadyError {
    fn class(&self) -> Class {
        match self {
            Self::Interrupted => Class::Interrupted,
            _ => Class::Cluster,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Died { log, tail, .. }
            | Self::TimedOut { log, tail, .. }
            | Self::Gone { log, tail, .. } => {
                let why = tail.join("\n");
                let cure = if why.contains("OutOfMemoryError") {
                    "give it more memory with --heap"
                } else if why.contains("No space left on device") {
                    "free some disk space"
                } else if why.contains("Address already in use") || self.taken() {
                    "another program listens on its address"
                } else {
                    "its log shows more"
                };
                Some(format!("{cure}: {}", log.display()))
            }
            Self::Interrupted => None,
        }
    }

    fn lines(&self) -> Vec<String> {
        match self {
            Self::Died { tail, .. } | Self::TimedOut { tail, .. } | Self::Gone { tail, .. } => {
                tail.clone()
            }
            Self::Interrupted => Vec::new(),
        }
    }
}

/// A step towards readiness, for progress.
#[derive(Debug, Clone, PartialEq)]
pub enum ReadyEvent {
    /// A node answered its first query.
    Answered {
        /// Node.
        node: String,
        /// Since the start of its process.
        after: Duration,
    },
    /// All nodes see each other, agree and reach each other.
    Complete {
        /// Since the first start.
        after: Duration,
    },
}

/// What a look at one node found.
struct Sight {
    host_id: String,
    peers: BTreeSet<String>,
    schema: String,
}

/// Waits until the nodes named in `running` are ready; `started` are those whose processes are our children.
/// Nodes of the plan that do not run are neither asked nor missed.
///
/// Returns the host id of each node.
///
/// # Errors
/// A child died, the limit passed, or the person asked to stop.
pub fn wait(
    state: &ClusterState,
    running: &BTreeSet<String>,
    started: &mut [Started],
    limit: Duration,
    cancel: &Cancel,
    events: &mut dyn FnMut(ReadyEvent),
) -> Result<BTreeMap<String, String>, ReadyError> {
    let plan = &state.plan;
    let begin = started
        .iter()
        .map(|s| s.at)
        .min()
        .unwrap_or_else(Instant::now);
    let mut clients: BTreeMap<String, Client> = BTreeMap::new();
    let mut last = NOTHING_YET.to_owned();
    let mut logged = last.clone();
    loop {
        if cancel.is_set() {
            return Err(ReadyError::Interrupted);
        }
        if let Some(died) = started.iter_mut().find_map(died) {
            return Err(died);
        }
        for node in plan.nodes.iter().filter(|n| running.contains(&n.name)) {
            if clients.contains_key(&node.name) || cancel.is_set() {
                continue;
            }
            let left = limit.saturating_sub(begin.elapsed()).as_millis();
            let left = Duration::from_millis(left.try_into().unwrap_or(u64::MAX));
            let within = left.clamp(LOOK_EVERY, ANSWER_WITHIN);
            match answer(state, node, within) {
                Ok(_) if !is_node_s_own(node, cql_address(plan, node)) => {
                    last = format!("{A_STRANGER} {}", node.name);
                }
                Ok(client) => {
                    let at = started
                        .iter()
                        .find(|s| s.name == node.name)
                        .map_or(begin, |s| s.at);
                    events(ReadyEvent::Answered {
                        node: node.name.clone(),
                        after: at.elapsed(),
                    });
                    clients.insert(node.name.clone(), client);
                }
                Err(_) if within < HURRIED && last != NOTHING_YET => {}
                Err(error) => {
                    last = format!("{} does not answer: {}", node.name, with_causes(&error))
                }
            }
        }
        if clients.len() == running.len() {
            match complete(state, &mut clients) {
                Ok(host_ids) => {
                    events(ReadyEvent::Complete {
                        after: begin.elapsed(),
                    });
                    return Ok(host_ids);
                }
                Err(state) => last = state,
            }
        }
        if logged != last {
            tracing::debug!(after = ?begin.elapsed(), "{last}");
            logged.clone_from(&last);
        }
        if begin.elapsed() > limit {
            return Err(timed_out(plan, started, &clients, begin.elapsed(), last));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn timed_out(
    plan: &ClusterPlan,
    started: &[Started],
    clients: &BTreeMap<String, Client>,
    waited: Duration,
    last: String,
) -> ReadyError {
    let late = plan
        .nodes
        .iter()
        .filter(|n| started.iter().any(|s| s.name == n.name))
        .find(|n| !clients.contains_key(&n.name))
        .unwrap_or(&plan.nodes[0]);
    let folder = PathBuf::from(&late.folder);
    let logged = started
        .iter()
        .find(|s| s.name == late.name)
        .map_or(0, |s| s.logged);
    ReadyError::TimedOut {
        node: late.name.clone(),
        waited: waited.as_secs_f64(),
        last,
        log: log_of(&folder),
        tail: tail_of(&folder, logged),
    }
}

/// The last words of a node; on a full disk it could not write the ones that matter.
pub(crate) fn tail_of(folder: &Path, logged: u64) -> Vec<String> {
    let mut tail = log_tail(folder, logged, 5);
    if machine::free_space(folder).is_ok_and(|free| free < NO_SPACE) {
        tail.push(format!("No space left on device: {}", folder.display()));
    }
    tail
}

/// Before Cassandra opens its log there is only what the JVM printed.
pub(crate) fn log_of(folder: &Path) -> PathBuf {
    let system = folder.join("logs/system.log");
    if system.exists() {
        system
    } else {
        folder.join("logs/console.log")
    }
}

/// Whether every node that shall run does.
///
/// # Errors
/// One died: [`ReadyError::Gone`]; or its claim cannot be asked.
pub fn still_there(state: &ClusterState) -> Result<(), ClusterError> {
    for node in &state.plan.nodes {
        let Some(wanted) = state.nodes.get(&node.name).map(|own| own.wanted) else {
            continue;
        };
        let now = condition(node, wanted).map_err(ClusterError::io("a node's claim"))?;
        if now.0 == NodeCondition::Died {
            let folder = Path::new(&node.folder);
            return Err(ReadyError::Gone {
                node: node.name.clone(),
                log: log_of(folder),
                tail: tail_of(folder, 0),
            }
            .into());
        }
    }
    Ok(())
}

pub(crate) fn died(started: &mut Started) -> Option<ReadyError> {
    let status = started.child.try_wait().ok().flatten()?;
    // A command that was killed may have left a shim that took the claim after we looked: the node lives all the same.
    if matches!(alive::holder(&started.folder), Ok(Some(_))) {
        return None;
    }
    Some(ReadyError::Died {
        node: started.name.clone(),
        after: started.at.elapsed().as_secs_f64(),
        how: status.to_string(),
        log: log_of(&started.folder),
        tail: tail_of(&started.folder, started.logged),
    })
}

/// A connection to a node that has answered; for the looks to come it is as patient as ever.
pub(crate) fn answer(
    state: &ClusterState,
    node: &NodePlan,
    within: Duration,
) -> Result<Client, ClientError> {
    let mut client = reach::connect_before(state, node, within)?;
    client.query("SELECT host_id FROM system.local", Consistency::One)?;
    client.set_timeout(ANSWER_WITHIN);
    Ok(client)
}

/// All conditions at once; the text names the one that does not hold yet.
fn complete(
    state: &ClusterState,
    clients: &mut BTreeMap<String, Client>,
) -> Result<BTreeMap<String, String>, String> {
    let plan = &state.plan;
    let mut host_ids = BTreeMap::new();
    let mut schemas: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let sights = each(clients, |name, client| {
        look(client).map_err(|e| format!("cannot query {name}: {e}"))
    })?;
    for (name, sight) in &sights {
        host_ids.insert(name.clone(), sight.host_id.clone());
        // Nodes of different majors neither share a schema's version nor exchange schemas.
        let series = baseline::series(state.release_of(name));
        let of_series = schemas.entry(series).or_default();
        of_series.insert(sight.schema.clone());
    }
    for (name, sight) in &sights {
        // A node that is down is listed still: those that run must be, others may.
        // One that only coordinates is listed by nobody.
        let owns = |other: &str| plan.nodes.iter().any(|n| n.name == other && !n.coordinator);
        let others = host_ids
            .iter()
            .filter(|(other, _)| *other != name && owns(other));
        let (seen, missing): (Vec<_>, Vec<_>) =
            others.partition(|(_, id)| sight.peers.contains(*id));
        if !missing.is_empty() {
            return Err(format!(
                "{name} sees {} of {} peers",
                seen.len(),
                seen.len() + missing.len()
            ));
        }
    }
    if let Some(several) = schemas.values().find(|versions| versions.len() > 1) {
        return Err(format!("{} schema versions", several.len()));
    }
    if clients.len() > 1 {
        let tokens = reachable_tokens(plan, |name| host_ids.contains_key(name));
        let level = level(plan);
        each(clients, |name, client| {
            reach_all(&tokens, level, client)
                .map_err(|e| format!("{name} does not reach every peer: {e}"))
        })?;
    }
    Ok(host_ids)
}

/// Asks all nodes at once: what waits for a far data centre is waited for once, and not once for each node.
fn each<T: Send>(
    clients: &mut BTreeMap<String, Client>,
    ask: impl Fn(&str, &mut Client) -> Result<T, String> + Sync,
) -> Result<BTreeMap<String, T>, String> {
    let answers = parallel::map(clients.iter_mut(), |(name, client)| {
        Ok((name.clone(), ask(name, client)?))
    });
    answers.into_iter().collect()
}

fn look(client: &mut Client) -> Result<Sight, ClientError> {
    let local = client.query(
        "SELECT host_id, schema_version FROM system.local",
        Consistency::One,
    )?;
    let peers = crate::old_tables::peers(client, "host_id")?;
    let text = |column: &str| local.text(0, column).unwrap_or_default();
    Ok(Sight {
        host_id: text("host_id"),
        schema: text("schema_version"),
        peers: (0..peers.rows.len())
            .filter_map(|row| peers.text(row, "host_id"))
            .collect(),
    })
}

/// A token of each running node whose replicas run, too: `system_traces` has two, the owner and the next.
fn reachable_tokens(plan: &ClusterPlan, runs: impl Fn(&str) -> bool) -> Vec<i64> {
    let Ok(ring) = Ring::new(plan.nodes.iter().map(NodePlan::member).collect()) else {
        return Vec::new();
    };
    let first_tokens = plan
        .nodes
        .iter()
        .filter_map(|node| node.tokens.first().copied());
    first_tokens
        .filter(|token| {
            ring.owners_from(*token)
                .take(2)
                .all(|owner| runs(&plan.nodes[owner].name))
        })
        .collect()
}

/// The level at which all replicas answer: `system_traces` wants two, which a single owner with a coordinator never has.
fn level(plan: &ClusterPlan) -> Consistency {
    match plan.nodes.iter().filter(|node| !node.coordinator).count() {
        0 | 1 => Consistency::One,
        _ => Consistency::All,
    }
}

/// Reads at each of these tokens: Unavailable as long as gossip holds a replica for down.
fn reach_all(tokens: &[i64], level: Consistency, client: &mut Client) -> Result<(), ClientError> {
    for token in tokens {
        let cql = format!(
            "SELECT session_id FROM system_traces.sessions WHERE token(session_id) = {token}"
        );
        client.query(&cql, level)?;
    }
    Ok(())
}
