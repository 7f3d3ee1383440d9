//! An experiment in an existing cluster, on Kubernetes or on hosts: each restart starts its nodes anew with other
//! settings, and at the end they are put back. Refuses a cluster with keyspaces of its own: runs drop what they made.

mod hosts;
mod pods;

pub use pods::put_back;

use super::{ExperimentError, ExperimentEvent, ExperimentRequest, Sitting};
use crate::bench::Where;
use helenus_cluster::context::Context;
use helenus_cluster::error::{Class, ClusterError, Problem};
use helenus_cluster::live_settings::LiveSetting;
use helenus_model::cql::identifier;
use helenus_model::plan::ClusterPlan;
use std::time::Duration;

/// Longest wait until a cluster serves again as it was.
const PUT_BACK_WITHIN: Duration = Duration::from_secs(600);

/// What the nodes of an existing cluster are given in a restart.
#[derive(Debug, Clone)]
pub struct LentNodes {
    /// Cassandra's part of their cluster, with the settings of the restart.
    pub plan: ClusterPlan,
    /// Longest wait until they serve.
    pub ready_within: Duration,
}

/// Why an experiment cannot have a cluster.
#[derive(Debug, thiserror::Error)]
enum LentError {
    /// There is data in it.
    #[error("{name} has keyspaces: {}; an experiment drops keyspaces between its runs and needs an empty cluster", .keyspaces.join(", "))]
    NotEmpty {
        /// The cluster.
        name: String,
        /// Its keyspaces.
        keyspaces: Vec<String>,
        /// The beginning of the command that drops them.
        cql: String,
    },
    /// At its addresses is something else.
    #[error("another cluster answers at the addresses of {0}")]
    Another(String),
    /// They do not serve with the settings that they were given.
    #[error("the nodes did not start")]
    Dead {
        /// Why.
        source: ClusterError,
        /// The end of a node's log.
        log: Vec<String>,
    },
}

impl Problem for LentError {
    fn class(&self) -> Class {
        match self {
            Self::NotEmpty { .. } | Self::Another(_) => Class::Usage,
            Self::Dead { source, .. } => source.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NotEmpty { keyspaces, cql, .. } => Some(format!(
                "use another cluster, or drop the keyspaces that you no longer need: {cql} -e 'DROP KEYSPACE {}'",
                keyspaces
                    .first()
                    .map_or_else(String::new, |name| identifier(name))
            )),
            Self::Another(name) => Some(format!(
                "if these are its nodes, `helenus hosts wait {name}` records their ids"
            )),
            Self::Dead { source, .. } => source.hint(),
        }
    }

    fn lines(&self) -> Vec<String> {
        match self {
            Self::NotEmpty { .. } | Self::Another(_) => Vec::new(),
            Self::Dead { log, .. } => log.clone(),
        }
    }
}

/// An existing cluster, whose nodes an experiment may have.
trait Lender {
    /// Its name.
    fn name(&self) -> &str;

    /// The verb that runs a statement there.
    fn cql(&self) -> String;

    /// The verb that puts its nodes back after an experiment that was killed.
    fn heals(&self) -> &'static str;

    /// Whether its nodes have their data after a restart.
    fn keeps_data(&self) -> Result<bool, ClusterError>;

    /// The experiment that has it; none where none has.
    fn lent_by(&self) -> Result<Option<String>, ClusterError>;

    /// Whether its nodes may be changed at all.
    fn may(&self) -> Result<(), ClusterError>;

    /// Its keyspaces, without Cassandra's own.
    fn keyspaces(&self) -> Result<Vec<String>, ClusterError>;

    /// Drops these.
    fn drop(&self, keyspaces: &[String]) -> Result<(), ClusterError>;

    /// Starts its nodes anew for the experiment `by`.
    fn renew(
        &self,
        by: &str,
        nodes: &LentNodes,
        see: &mut dyn FnMut(&str),
    ) -> Result<(), ClusterError>;

    /// Starts its nodes as they were before.
    fn put_back(&self, see: &mut dyn FnMut(&str)) -> Result<(), ClusterError>;

    /// Runs nodetool with these words for each node.
    fn nodetool(&self, words: &[String]) -> Result<(), ClusterError>;

    /// Whether all nodes serve.
    fn serves(&self) -> Result<(), ClusterError>;
}

/// The cluster that is there, where an experiment runs; none where it makes clusters.
fn lender<'a>(
    context: &'a Context,
    request: &'a ExperimentRequest,
) -> Option<Box<dyn Lender + 'a>> {
    match &request.combinations.first()?.bench.place {
        Where::Kube { name, given } => Some(Box::new(pods::Pods {
            context,
            name,
            given,
        })),
        Where::Hosts {
            ours: Some(name),
            endpoints,
            given,
            ..
        } => Some(Box::new(hosts::Hosts {
            context,
            name,
            endpoints,
            given,
        })),
        Where::Ephemeral(_) | Where::Cluster(_) | Where::Hosts { .. } => None,
    }
}

/// Whether the place of an experiment can have it, before anything is run.
///
/// # Errors
/// A cluster that does not serve, has keyspaces, or whose nodes cannot be changed.
pub fn may_begin(context: &Context, request: &ExperimentRequest) -> Result<(), ExperimentError> {
    let Some(lender) = lender(context, request) else {
        return Ok(());
    };
    lender.may()?;
    // One that another experiment has is looked at when it was put back.
    if lender.lent_by()?.is_none() {
        is_empty(&*lender)?;
    }
    Ok(())
}

fn is_empty(lender: &dyn Lender) -> Result<(), ClusterError> {
    let keyspaces = lender.keyspaces()?;
    match keyspaces.is_empty() {
        true => Ok(()),
        false => Err(LentError::NotEmpty {
            name: lender.name().to_owned(),
            keyspaces,
            cql: lender.cql(),
        }
        .into()),
    }
}

/// Drops what runs have made: of an experiment's cluster that is all there is.
fn drop_all(lender: &dyn Lender) -> Result<(), ClusterError> {
    let keyspaces = lender.keyspaces()?;
    match keyspaces.is_empty() {
        true => Ok(()),
        false => lender.drop(&keyspaces),
    }
}

impl Sitting<'_> {
    /// Starts the nodes of the experiment's cluster anew, without data; nothing where each restart makes its own.
    pub(super) fn renew(&mut self, nodes: &LentNodes) -> Result<(), ClusterError> {
        let Some(lender) = lender(self.context, self.request) else {
            return Ok(());
        };
        if lender.lent_by()?.is_none() {
            is_empty(&*lender)?;
        }
        lender.may()?;
        let by = self.id.to_string();
        let events = &mut self.events;
        let mut see = |words: &str| events(ExperimentEvent::Anew(words));
        lender.renew(&by, nodes, &mut see)?;
        drop_all(&*lender)
    }

    /// Puts the nodes back that another experiment has left as they were in one of its restarts.
    pub(super) fn put_back_others(&mut self) -> Result<(), ExperimentError> {
        let Some(lender) = lender(self.context, self.request) else {
            return Ok(());
        };
        let own = self.id.to_string();
        match lender.lent_by()?.filter(|by| *by != own) {
            None => Ok(()),
            Some(_) => self.put_back(),
        }
    }

    /// Puts the nodes back as they were before, also when the person stopped it.
    pub(super) fn put_back(&mut self) -> Result<(), ExperimentError> {
        let Some(lender) = lender(self.context, self.request) else {
            return Ok(());
        };
        // It was put back, or removed, meanwhile.
        if !matches!(lender.lent_by(), Ok(Some(_))) {
            return Ok(());
        }
        let name = lender.name();
        (self.events)(ExperimentEvent::PutsBack(name));
        let events = &mut self.events;
        let mut see = |words: &str| events(ExperimentEvent::Anew(words));
        let put_back = lender.put_back(&mut see);
        put_back.map_err(|source| ExperimentError::NotPutBack {
            name: name.to_owned(),
            heals: lender.heals(),
            source,
        })?;
        // Now they serve, also where the person stopped it between two restarts.
        let dropped = lender.keeps_data().and_then(|keeps| match keeps {
            true => drop_all(&*lender),
            false => Ok(()),
        });
        if let Err(error) = dropped {
            tracing::warn!(%error, "tables of the experiment are still there");
        }
        Ok(())
    }

    /// Sets these in the running nodes, one after the other.
    pub(super) fn set_live(&self, settings: &[LiveSetting]) -> Result<(), ClusterError> {
        let Some(lender) = lender(self.context, self.request) else {
            return Ok(());
        };
        for words in settings.iter().filter_map(LiveSetting::nodetool) {
            lender.nodetool(&words)?;
        }
        Ok(())
    }

    /// Whether all nodes of the cluster still serve.
    pub(super) fn lent_serve(&self) -> Result<(), ClusterError> {
        match lender(self.context, self.request) {
            Some(lender) => lender.serves(),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keyspace_is_dropped_by_its_exact_name() {
        let hint = |keyspace: &str| {
            let refused = LentError::NotEmpty {
                name: "c".to_owned(),
                keyspaces: vec![keyspace.to_owned()],
                cql: "helenus kube cql c".to_owned(),
            };
            refused.hint().expect("a hint")
        };
        let plain = hint("shop");
        assert!(plain.ends_with("-e 'DROP KEYSPACE shop'"), "{plain}");
        let quoted = hint("Shop");
        assert!(quoted.ends_with("-e 'DROP KEYSPACE \"Shop\"'"), "{quoted}");
    }
}
