//! Brings the nodes in pods to rest, by the release's own nodetool: memtables on disk, compactions at an end.
//! Refuses to take silence for rest: as many looks in a row as for local nodes must find nothing, in all pods.

use super::{Kubectl, Pod};
use crate::baseline::BaselineError;
use crate::baseline::settle::{LOOKS, tasks_of};
use crate::cancel::Cancel;
use crate::error::ClusterError;
use crate::ready::ReadyError;
use std::time::{Duration, Instant};

/// Flushes the nodes in these pods, and waits until none of them compacts. `see` is told what is left.
///
/// # Errors
/// A node does not answer or refuses, compactions continue for longer than `within`, or the person stopped it.
pub fn settle(
    kubectl: &Kubectl,
    pods: &[Pod],
    (within, cancel): (Duration, &Cancel),
    see: &mut dyn FnMut(u64),
) -> Result<Duration, ClusterError> {
    let begin = Instant::now();
    each(kubectl, pods, "flush")?;
    let mut quiet = 0;
    loop {
        if cancel.is_set() {
            return Err(ReadyError::Interrupted.into());
        }
        let mut tasks = 0;
        for (pod, text) in pods.iter().zip(each(kubectl, pods, "compactionstats")?) {
            tasks += tasks_of(&text).ok_or_else(|| BaselineError::Refused {
                node: pod.name.clone(),
                what: "compactionstats",
                answer: text.lines().next().unwrap_or_default().to_owned(),
            })?;
        }
        quiet = if tasks == 0 { quiet + 1 } else { 0 };
        if quiet == LOOKS {
            return Ok(begin.elapsed());
        }
        if begin.elapsed() > within {
            let seconds = within.as_secs();
            return Err(BaselineError::Restless { tasks, seconds }.into());
        }
        see(tasks);
    }
}

/// What nodetool says to this in each pod; all are asked at once.
fn each(kubectl: &Kubectl, pods: &[Pod], verb: &str) -> Result<Vec<String>, ClusterError> {
    let answers: Vec<_> = std::thread::scope(|scope| {
        let ask = |pod| scope.spawn(move || kubectl.exec(Pod::at(pod), &["nodetool", verb], ""));
        let asked: Vec<_> = pods.iter().map(ask).collect();
        asked
            .into_iter()
            .filter_map(|one| one.join().ok())
            .collect()
    });
    let answers: Result<Vec<_>, _> = answers.into_iter().collect();
    Ok(answers?)
}
