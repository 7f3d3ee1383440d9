//! Which runs a clean-up takes: decided on their lines alone, so that it can be shown before it is done.
//! Refuses tagged runs unless they are meant, and runs that are under way always.

use crate::id::RunId;
use crate::run::{RunState, RunSummary};
use std::time::Duration;

/// What shall go. Conditions narrow each other down: what shall go meets all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PruneChoice {
    /// Only these; none means any.
    pub named: Option<Vec<RunId>>,
    /// Only in this state.
    pub state: Option<RunState>,
    /// Only with this tag.
    pub tag: Option<String>,
    /// Only those that started longer ago.
    pub older_than: Option<Duration>,
    /// But not the newest so many of them.
    pub keep: usize,
    /// Tagged runs too. Those that were named, one by one or by their tag, are meant in any case.
    pub tagged: bool,
}

/// The runs that go, newest first, from the lines of all runs, newest first.
pub fn to_prune<'a>(
    runs: &'a [RunSummary],
    choice: &PruneChoice,
    now_wall_ns: u64,
) -> Vec<&'a RunSummary> {
    let age =
        |run: &RunSummary| Duration::from_nanos(now_wall_ns.saturating_sub(run.began_wall_ns));
    let meets = |run: &&RunSummary| {
        !run.running
            && choice
                .named
                .as_ref()
                .is_none_or(|ids| ids.contains(&run.id))
            && choice.state.is_none_or(|state| run.state == state)
            && choice.tag.as_ref().is_none_or(|tag| run.tags.contains(tag))
            && choice.older_than.is_none_or(|least| age(run) > least)
    };
    let meant = choice.tagged || choice.tag.is_some() || choice.named.is_some();
    runs.iter()
        .filter(meets)
        .skip(choice.keep)
        .filter(|run| meant || run.tags.is_empty())
        .collect()
}
