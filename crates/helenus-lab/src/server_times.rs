//! The nodes' own timers, read at both ends of a run's measurement windows.
//! Refuses to fail a run for a node that does not answer: its times are missing.

use crate::windows::{Ends, Windows};
use helenus_cluster::context::Context;
use helenus_cluster::error::ClusterError;
use helenus_cluster::state::ClusterState;
use helenus_cluster::telemetry::monotonic_ns;
use helenus_cluster::timers::{Counted, Timers};
use helenus_model::run_plan::RunPlan;
use helenus_model::server_times::NodeTimers;
use helenus_model::telemetry::{Reading, Seen};
use std::collections::BTreeSet;

/// Makes the nodes ready to be read, and follows the plan's measurement windows; none where they are not asked for.
///
/// # Errors
/// A node is not running, its agent cannot be had, or its timers are of unknown form.
pub(crate) fn begin(
    context: &Context,
    cluster: &ClusterState,
    plan: &RunPlan,
) -> Result<Option<Windows>, ClusterError> {
    if !plan.server_times {
        return Ok(None);
    }
    let operations = plan.phases.iter().flat_map(|phase| &phase.operations);
    let reached = operations.filter_map(|share| plan.workload.reach(&share.operation));
    let keyspaces: BTreeSet<String> = reached.map(|reach| reach.keyspace).collect();
    let timers = Timers::of(context, cluster, &keyspaces)?;
    let work = move |ends: &Ends<'_>| one(&timers, ends);
    Windows::begin("has no server times", plan, Box::new(work)).map(Some)
}

/// One window: a reading of each node.
fn one(timers: &Timers, ends: &Ends<'_>) -> Result<Vec<Reading>, ClusterError> {
    ends.wait_for_start()?;
    let at_ns = monotonic_ns();
    let before = timers.read();
    ends.wait_for_end();
    let to_ns = monotonic_ns();
    let after = timers.read();
    let both = before.into_iter().zip(after);
    let each = both.map(|((node, before), (_, after))| {
        let gained = before.ok().zip(after.ok());
        let gained = gained.and_then(|(before, after)| since(&before, &after));
        let timers = gained.unwrap_or_default();
        Reading {
            source: node,
            at_ns,
            seen: Seen::Timers(NodeTimers { to_ns, timers }),
        }
    });
    Ok(each.collect())
}

/// What each timer counted; none where the node was restarted.
fn since(before: &Counted, after: &Counted) -> Option<Counted> {
    let both = after
        .iter()
        .filter_map(|(timer, after)| Some((*timer, after, before.get(timer)?)));
    both.map(|(timer, after, before)| Some((timer, after.since(before)?)))
        .collect()
}
