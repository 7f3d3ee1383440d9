//! Brings live nodes to rest: memtables on disk, compactions at an end, commit logs empty.
//! Refuses to take silence for rest: three looks in a row must find nothing, on all nodes.

use super::{BaselineError, BaselineEvent, Step, go_on};
use crate::cancel::Cancel;
use crate::context::Context;
use crate::error::ClusterError;
use crate::mbeans::{Ask, Mbeans, STORAGE_SERVICE};
use crate::nodetool;
use crate::state::ClusterState;
use helenus_model::baseline::{Asked, Settled};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Looks in a row that must find nothing pending and nothing active.
const LOOKS: u32 = 3;
/// Between two looks: a compaction that follows another is submitted at once, long before.
const BETWEEN: Duration = Duration::from_millis(100);

/// Longest rewrite of the files of one keyspace.
const REWRITES_WITHIN: Duration = Duration::from_secs(6 * 3600);

const COMPACTIONS: &str = "org.apache.cassandra.db:type=CompactionManager";
const PENDING: &str = "org.apache.cassandra.metrics:type=Compaction,name=PendingTasks";

/// A node and the way to it.
enum Way {
    /// Through the agent.
    Mbeans(Mbeans),
    /// Through the tool, where no agent can be had.
    Nodetool,
}

struct Node<'a> {
    state: &'a ClusterState,
    name: &'a str,
    way: Way,
}

/// Flushes all nodes of a cluster, which must run, and waits until none of them compacts.
///
/// # Errors
/// A node does not answer or refuses, compactions continue for longer than `within`, or the person stopped it.
pub fn settle(
    context: &Context,
    state: &ClusterState,
    within: Duration,
    events: &mut dyn FnMut(BaselineEvent),
) -> Result<Settled, ClusterError> {
    let begin = Instant::now();
    if state.runtime.fake.is_some() {
        return Ok(Settled {
            by: Asked::Nobody,
            looks: 0,
            seconds: 0.0,
        });
    }
    events(BaselineEvent::Step(Step::Flush));
    let nodes = nodes(context, state);
    let by = match nodes.iter().all(|n| matches!(n.way, Way::Mbeans(_))) {
        true => Asked::Mbeans,
        false => Asked::Nodetool,
    };
    for node in &nodes {
        go_on(&context.cancel)?;
        node.flush()?;
    }
    let looks = rest(context, &nodes, within, events)?;
    Ok(Settled {
        by,
        looks,
        seconds: begin.elapsed().as_secs_f64(),
    })
}

/// Drains all nodes: when it returns, memtables are on disk, and none of them takes writes until it starts again.
pub(super) fn drain(
    context: &Context,
    state: &ClusterState,
    events: &mut dyn FnMut(BaselineEvent),
) -> Result<(), ClusterError> {
    if state.runtime.fake.is_some() {
        return Ok(());
    }
    events(BaselineEvent::Step(Step::Drain));
    for node in nodes(context, state) {
        node.drain()?;
    }
    Ok(())
}

/// Drains one node.
pub(crate) fn drain_node(
    context: &Context,
    state: &ClusterState,
    name: &str,
) -> Result<(), ClusterError> {
    match state.runtime.fake {
        Some(_) => Ok(()),
        None => node(context, state, name).drain(),
    }
}

/// Rewrites the data files of one node that are not of its release's own format.
pub(crate) fn rewrite(
    context: &Context,
    state: &ClusterState,
    name: &str,
) -> Result<(), ClusterError> {
    match state.runtime.fake {
        Some(_) => Ok(()),
        None => node(context, state, name).rewrite(),
    }
}

fn nodes<'a>(context: &Context, state: &'a ClusterState) -> Vec<Node<'a>> {
    let plans = state.plan.nodes.iter();
    plans.map(|plan| node(context, state, &plan.name)).collect()
}

fn node<'a>(context: &Context, state: &'a ClusterState, name: &'a str) -> Node<'a> {
    let way = match Mbeans::of(context, state, name) {
        Ok(mbeans) => Way::Mbeans(mbeans),
        Err(error) => {
            tracing::warn!(%error, node = name, "no agent; using nodetool");
            Way::Nodetool
        }
    };
    Node { state, name, way }
}

/// Waits until nothing is pending or active; returns how often it looked.
fn rest(
    context: &Context,
    nodes: &[Node<'_>],
    within: Duration,
    events: &mut dyn FnMut(BaselineEvent),
) -> Result<u32, ClusterError> {
    let mut look = || nodes.iter().map(Node::tasks).sum();
    let mut see = |tasks| events(BaselineEvent::Step(Step::Settle { tasks }));
    at_rest((within, &context.cancel), &mut look, &mut see)
}

/// Looks again and again, until [`LOOKS`] in a row find no compaction; answers how often it has looked. `see` gets how
/// many compactions are left.
///
/// # Errors
/// A look fails, compactions continue for longer than `within`, or the person stopped it.
pub(crate) fn at_rest(
    (within, cancel): (Duration, &Cancel),
    look: &mut dyn FnMut() -> Result<u64, ClusterError>,
    see: &mut dyn FnMut(u64),
) -> Result<u32, ClusterError> {
    let begin = Instant::now();
    let (mut looks, mut quiet) = (0, 0);
    loop {
        go_on(cancel)?;
        let tasks = look()?;
        looks += 1;
        quiet = if tasks == 0 { quiet + 1 } else { 0 };
        if quiet == LOOKS {
            return Ok(looks);
        }
        if begin.elapsed() > within {
            return Err(BaselineError::Restless {
                tasks,
                seconds: within.as_secs(),
            }
            .into());
        }
        see(tasks);
        std::thread::sleep(BETWEEN);
    }
}

impl Node<'_> {
    fn flush(&self) -> Result<(), ClusterError> {
        let Way::Mbeans(mbeans) = &self.way else {
            return self.tool("flush").map(|_| ());
        };
        let keyspaces = mbeans.read(STORAGE_SERVICE, "Keyspaces")?;
        let names = keyspaces.as_array().cloned().unwrap_or_default();
        let flush = "forceKeyspaceFlush(java.lang.String,[Ljava.lang.String;)";
        let asks: Vec<Ask> = names
            .into_iter()
            .map(|name| Ask::exec(STORAGE_SERVICE, flush, &[name, json!([])]))
            .collect();
        for answer in mbeans.bulk(&asks)? {
            answer?;
        }
        Ok(())
    }

    /// Compactions that wait and that run.
    fn tasks(&self) -> Result<u64, ClusterError> {
        let Way::Mbeans(mbeans) = &self.way else {
            let text = self.tool("compactionstats")?;
            return tasks_of(&text).ok_or_else(|| {
                BaselineError::Refused {
                    node: self.name.to_owned(),
                    what: "compactionstats",
                    answer: text.lines().next().unwrap_or_default().to_owned(),
                }
                .into()
            });
        };
        let asks = [
            Ask::read(PENDING, "Value"),
            Ask::read(COMPACTIONS, "Compactions"),
        ];
        let mut tasks = 0;
        for answer in mbeans.bulk(&asks)? {
            tasks += match answer? {
                Value::Array(active) => active.len() as u64,
                number => number.as_u64().unwrap_or_default(),
            };
        }
        Ok(tasks)
    }

    fn drain(&self) -> Result<(), ClusterError> {
        match &self.way {
            Way::Mbeans(mbeans) => mbeans.exec(STORAGE_SERVICE, "drain", &[]).map(|_| ())?,
            Way::Nodetool => self.tool("drain").map(|_| ())?,
        }
        Ok(())
    }

    fn rewrite(&self) -> Result<(), ClusterError> {
        let Way::Mbeans(mbeans) = &self.way else {
            return self.tool("upgradesstables").map(|_| ());
        };
        let patient = mbeans.clone().waiting(REWRITES_WITHIN);
        let keyspaces = patient.read(STORAGE_SERVICE, "Keyspaces")?;
        let upgrade = "upgradeSSTables(java.lang.String,boolean,int,[Ljava.lang.String;)";
        for keyspace in keyspaces.as_array().cloned().unwrap_or_default() {
            // Only files of another format, by as many threads as compactions have.
            let arguments = [keyspace.clone(), json!(true), json!(0), json!([])];
            let status = patient.exec(STORAGE_SERVICE, upgrade, &arguments)?;
            if status != json!(0) {
                return Err(BaselineError::Refused {
                    node: self.name.to_owned(),
                    what: "upgradesstables",
                    answer: format!("keyspace {keyspace}: status {status}"),
                }
                .into());
            }
        }
        Ok(())
    }

    fn tool(&self, verb: &'static str) -> Result<String, ClusterError> {
        let mut command = nodetool::command(self.state, self.name, &[verb.to_owned()])?;
        let output = command.output().map_err(ClusterError::io("nodetool"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let first = said.lines().find(|l| !l.trim().is_empty());
        Err(BaselineError::Refused {
            node: self.name.to_owned(),
            what: verb,
            answer: first.unwrap_or("no reason was given").to_owned(),
        }
        .into())
    }
}

/// Pending and active compactions in the words of `compactionstats`: up to 4.1 `pending tasks: 2`, from 5.0
/// `pending tasks   2`, with a line for each active one below a head that starts with `id`.
pub(crate) fn tasks_of(text: &str) -> Option<u64> {
    let pending = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix("pending tasks"))?;
    let pending = pending.trim_start_matches(':').trim();
    let pending: u64 = pending.split_whitespace().next()?.parse().ok()?;
    let active = text
        .lines()
        .skip_while(|line| !line.trim_start().starts_with("id "))
        .skip(1)
        .take_while(|line| line.split_whitespace().count() > 5)
        .filter(|line| !line.starts_with("Active compaction"))
        .count();
    Some(pending + active as u64)
}

#[cfg(test)]
mod tests {
    use super::tasks_of;

    #[test]
    fn both_forms_of_compactionstats_are_read() {
        let old = "pending tasks: 3\n- k.t: 3\n\n\
                   id   compaction type keyspace table completed total unit progress\n\
                   7d8a-11 Compaction k t 100 200 bytes 50.00%\n\
                   Active compaction remaining time :   0h00m01s\n";
        assert_eq!(tasks_of(old), Some(4));
        let quiet = "concurrent compactors            2\n\
                     pending tasks                    0\n\
                     compactions completed            19\n\
                     compaction throughput (MiB/s)    throttling disabled (0)\n";
        assert_eq!(tasks_of(quiet), Some(0));
        assert_eq!(tasks_of("pending tasks: 0\n\n"), Some(0));
        assert_eq!(tasks_of("nodetool: Failed to connect"), None);
    }
}
