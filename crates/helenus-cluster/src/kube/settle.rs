//! Brings the nodes in pods to rest, by the release's own nodetool: memtables on disk, compactions at an end.
//! Refuses to take silence for rest: the looks are those at local nodes.

use super::{Kubectl, Pod};
use crate::baseline::BaselineError;
use crate::baseline::settle::{at_rest, tasks_of};
use crate::cancel::Cancel;
use crate::error::ClusterError;
use crate::parallel;
use std::time::{Duration, Instant};

/// Flushes the nodes in these pods, and waits until none of them compacts. `see` gets how many
/// compactions are left.
///
/// # Errors
/// A node does not answer or refuses, compactions continue for longer than `within`, or the person stopped it.
pub fn settle(
    kubectl: &Kubectl,
    pods: &[Pod],
    waits: (Duration, &Cancel),
    see: &mut dyn FnMut(u64),
) -> Result<Duration, ClusterError> {
    let begin = Instant::now();
    each(kubectl, pods, "flush")?;
    let mut look = || {
        let mut tasks = 0;
        for (pod, text) in pods.iter().zip(each(kubectl, pods, "compactionstats")?) {
            tasks += tasks_of(&text).ok_or_else(|| BaselineError::Refused {
                node: pod.name.clone(),
                what: "compactionstats",
                answer: text.lines().next().unwrap_or_default().to_owned(),
            })?;
        }
        Ok(tasks)
    };
    at_rest(waits, &mut look, see)?;
    Ok(begin.elapsed())
}

/// What nodetool says to this in each pod; all are asked at once.
fn each(kubectl: &Kubectl, pods: &[Pod], verb: &str) -> Result<Vec<String>, ClusterError> {
    let ask = |pod: &Pod| kubectl.exec(pod.at(), &["nodetool", verb], "");
    let answers: Result<Vec<_>, _> = parallel::map(pods, ask).into_iter().collect();
    Ok(answers?)
}
