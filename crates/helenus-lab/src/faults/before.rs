//! Faults that somebody made in a cluster before a run began there: they hold in its numbers too.
//! Refuses to guess in the numbers' favour: one whose end nobody saw counts as having held to the run's.

use super::{event_kind, readings, sources};
use helenus_cluster::context::Context;
use helenus_cluster::error::with_causes;
use helenus_cluster::fault::{Entry, now_unix_ms};
use helenus_cluster::state::ClusterState;
use helenus_cluster::telemetry::monotonic_ns;
use helenus_model::fault::script;
use helenus_model::telemetry::Reading;

/// What held when a run started.
#[derive(Debug)]
pub(crate) struct Before {
    held: Vec<Entry>,
    from_ns: u64,
}

impl Before {
    /// Looks now; in a cluster that nobody can look into nothing holds.
    pub(crate) fn look(context: &Context, cluster: Option<&ClusterState>) -> Self {
        Self {
            held: cluster.map_or_else(Vec::new, |state| holding(context, state)),
            from_ns: monotonic_ns(),
        }
    }

    /// What held, as events of the run that ends now.
    pub(crate) fn seen(&self, context: &Context, cluster: Option<&ClusterState>) -> Vec<Reading> {
        let now_ns = monotonic_ns();
        let still = cluster
            .filter(|_| !self.held.is_empty())
            .map_or_else(Vec::new, |state| holding(context, state));
        let each = self.held.iter().flat_map(|entry| {
            let holds = still.iter().any(|one| one.id == entry.id);
            let to_ns = match entry.until_unix_ms {
                Some(until_ms) if !holds => {
                    let over_ns = now_unix_ms().saturating_sub(until_ms) * 1_000_000;
                    now_ns.saturating_sub(over_ns).max(self.from_ns)
                }
                _ => now_ns,
            };
            let text = script::words_before_run(&entry.fault);
            let at = sources(entry.reach.clone(), &entry.fault);
            readings(at, event_kind(&entry.fault), &text, (self.from_ns, to_ns))
        });
        each.collect()
    }
}

fn holding(context: &Context, state: &ClusterState) -> Vec<Entry> {
    match context.faults(state) {
        Ok(all) => all
            .into_iter()
            .filter(|one| one.holds)
            .map(|one| one.entry)
            .collect(),
        Err(error) => {
            tracing::warn!(
                error = with_causes(&error),
                "faults before the run are not known"
            );
            Vec::new()
        }
    }
}
