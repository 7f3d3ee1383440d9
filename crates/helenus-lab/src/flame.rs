//! Profiles of a node: for a given time, or over the measurement windows of a run.
//! Refuses to profile a warm-up, and to leave a profiler behind: it is stopped whatever ends the run.

use crate::windows::{Ends, Windows};
use helenus_cluster::context::Context;
use helenus_cluster::error::ClusterError;
use helenus_cluster::profiler::Profiler;
use helenus_cluster::state::ClusterState;
use helenus_cluster::telemetry::monotonic_ns;
use helenus_model::flame::{Profile, ProfileEvent, ProfilePlan};
use helenus_model::run_plan::RunPlan;
use helenus_model::telemetry::{Reading, Seen};
use std::time::Duration;

/// How much longer than planned a profiler may run whose command was killed.
const BEYOND: Duration = Duration::from_secs(60);

/// How long a window that ends by count may last, as far as the profiler is concerned.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// How often a wait looks whether the person wants to stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Profiles a node for so long, from now on; who interrupts it gets what there is.
///
/// # Errors
/// The node is not running, the profiler cannot be had or refuses, or the JVM does not answer.
pub fn profile(
    context: &Context,
    state: &ClusterState,
    plan: &ProfilePlan,
    length: Duration,
    beat: &mut dyn FnMut(Duration),
) -> Result<(u64, Profile), ClusterError> {
    let mut profiler = Profiler::of(context, state, &plan.node, plan.event)?;
    profiler.start(length + BEYOND)?;
    let from_ns = monotonic_ns();
    let passed = || Duration::from_nanos(monotonic_ns().saturating_sub(from_ns));
    while passed() < length && !context.cancel.is_set() {
        std::thread::sleep(LOOK_EVERY.min(length.saturating_sub(passed())));
        beat(passed());
    }
    let to_ns = monotonic_ns();
    Ok((from_ns, ended(&mut profiler, plan.event, to_ns)?))
}

fn ended(
    profiler: &mut Profiler,
    event: ProfileEvent,
    to_ns: u64,
) -> Result<Profile, ClusterError> {
    let sampled = profiler.stop()?;
    Ok(Profile {
        event,
        by: sampled.by,
        to_ns,
        samples: sampled.samples,
        stacks: sampled.stacks,
    })
}

/// Makes the node of a plan ready, and follows the plan's measurement windows; none where nothing is profiled.
///
/// # Errors
/// The node is not running, or the profiler cannot be had or does not start.
pub(crate) fn begin(
    context: &Context,
    cluster: &ClusterState,
    plan: &RunPlan,
) -> Result<Option<Windows>, ClusterError> {
    let Some(asked) = &plan.profile else {
        return Ok(None);
    };
    let mut profiler = Profiler::of(context, cluster, &asked.node, asked.event)?;
    // What is not allowed here is known before the load starts, and the library is loaded.
    profiler.start(BEYOND)?;
    profiler.stop()?;
    let (node, event) = (asked.node.clone(), asked.event);
    let work =
        move |ends: &Ends<'_>| one(&mut profiler, &node, event, ends).map(|reading| vec![reading]);
    Windows::begin("was not profiled", plan, Box::new(work)).map(Some)
}

/// Profiles one window.
fn one(
    profiler: &mut Profiler,
    node: &str,
    event: ProfileEvent,
    ends: &Ends<'_>,
) -> Result<Reading, ClusterError> {
    ends.wait_for_start()?;
    let planned = ends.length();
    profiler.start(planned.map_or(LONGEST, |length| length + BEYOND))?;
    let at_ns = monotonic_ns();
    ends.wait_for_end();
    let profile = ended(profiler, event, monotonic_ns())?;
    Ok(Reading {
        source: node.to_owned(),
        at_ns,
        seen: Seen::Profile(profile),
    })
}
