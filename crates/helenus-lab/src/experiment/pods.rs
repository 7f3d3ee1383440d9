//! An experiment in the pods of a cluster that is there: each restart starts its nodes anew with other settings, and at
//! the end they are put back. Refuses a cluster with keyspaces of its own, for it starts without data each time.

use super::{ExperimentError, ExperimentEvent, ExperimentRequest, Sitting};
use crate::bench::Where;
use crate::inside::KubeTarget;
use crate::target::Given;
use helenus_cluster::cancel::Cancel;
use helenus_cluster::context::Context;
use helenus_cluster::error::{Class, ClusterError, Problem};
use helenus_cluster::kube::{self, KubeClusters, KubeState};
use helenus_cluster::live_settings::LiveSetting;
use helenus_model::kube::lent::NotLent;
use helenus_model::plan::ClusterPlan;
use std::time::Duration;

/// Longest wait until a cluster serves again as it was.
const PUT_BACK_WITHIN: Duration = Duration::from_secs(600);

/// What the pods of a restart are given.
#[derive(Debug, Clone)]
pub struct Pods {
    /// Cassandra's part of their cluster, with the settings of the restart.
    pub plan: ClusterPlan,
    /// Longest wait until they serve.
    pub ready_within: Duration,
}

/// Why an experiment cannot have a cluster on Kubernetes.
#[derive(Debug, thiserror::Error)]
pub(super) enum PodsError {
    /// There is data in it.
    #[error("{name} has keyspaces: {}; an experiment starts its nodes without data, again and again", .keyspaces.join(", "))]
    NotEmpty {
        /// The cluster.
        name: String,
        /// Its keyspaces.
        keyspaces: Vec<String>,
    },
    /// Its nodes cannot be changed.
    #[error(transparent)]
    NotLent(#[from] NotLent),
    /// They do not serve with the settings that they were given.
    #[error("the nodes did not start")]
    Dead {
        /// Why.
        source: ClusterError,
        /// The end of a node's log.
        log: Vec<String>,
    },
}

impl Problem for PodsError {
    fn class(&self) -> Class {
        match self {
            Self::NotEmpty { .. } | Self::NotLent(_) => Class::Usage,
            Self::Dead { source, .. } => source.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NotEmpty { name, keyspaces } => Some(format!(
                "use a cluster of its own, or drop what is of no use: helenus kube cql {name} -e 'DROP KEYSPACE {}'",
                keyspaces.first().map_or("", String::as_str)
            )),
            Self::NotLent(error) => Some(error.hint()),
            Self::Dead { source, .. } => source.hint(),
        }
    }

    fn lines(&self) -> Vec<String> {
        match self {
            Self::NotEmpty { .. } | Self::NotLent(_) => Vec::new(),
            Self::Dead { log, .. } => log.clone(),
        }
    }
}

/// The cluster on Kubernetes where an experiment runs, and what leads into it; none where it makes clusters of its own.
fn home(request: &ExperimentRequest) -> Option<(&str, &Given)> {
    let first = request.combinations.first()?;
    match &first.bench.place {
        Where::Kube { name, given } => Some((name, given)),
        Where::Ephemeral(_) | Where::Cluster(_) | Where::Hosts { .. } => None,
    }
}

/// Whether the place of an experiment can have it, before anything is run.
///
/// # Errors
/// A cluster on Kubernetes that does not serve, has keyspaces, or whose nodes cannot be changed.
pub fn may_begin(context: &Context, request: &ExperimentRequest) -> Result<(), ExperimentError> {
    let Some((name, given)) = home(request) else {
        return Ok(());
    };
    let state = KubeClusters::of(&context.paths.state).load(name);
    let state = state.map_err(ClusterError::from)?;
    state
        .lendable()
        .map_err(PodsError::from)
        .map_err(ClusterError::from)?;
    // One that another experiment has is looked at when it was put back.
    if state.lent.is_none() {
        is_empty(context, name, given)?;
    }
    Ok(())
}

fn is_empty(context: &Context, name: &str, given: &Given) -> Result<(), ClusterError> {
    let target = KubeTarget::look(context, name, given.access.clone())?;
    let keyspaces = target.keyspaces()?;
    let name = name.to_owned();
    match keyspaces.is_empty() {
        true => Ok(()),
        false => Err(PodsError::NotEmpty { name, keyspaces }.into()),
    }
}

/// Drops what runs have made: of an experiment's cluster that is all there is.
fn drop_all(target: &KubeTarget) -> Result<(), ClusterError> {
    let drop = |name: &String| format!("DROP KEYSPACE IF EXISTS \"{name}\"");
    let statements: Vec<String> = target.keyspaces()?.iter().map(drop).collect();
    if !statements.is_empty() {
        target.cql(statements)?;
    }
    Ok(())
}

impl Sitting<'_> {
    /// Starts the pods of the experiment's cluster anew, without data; nothing where that is no cluster on Kubernetes.
    pub(super) fn renew(&mut self, pods: &Pods) -> Result<(), ClusterError> {
        let Some((name, given)) = home(self.request) else {
            return Ok(());
        };
        let clusters = KubeClusters::of(&self.context.paths.state);
        let mut state = clusters.load(name)?;
        if state.lent.is_none() {
            is_empty(self.context, name, given)?;
        }
        state.lendable().map_err(PodsError::from)?;
        let (by, plan) = (self.id.to_string(), pods.plan.clone());
        let waits = (pods.ready_within, &self.context.cancel);
        let events = &mut self.events;
        let mut see = |words: &str| events(ExperimentEvent::Pods(words));
        let kubectl = state.kubectl()?;
        let renewed = kube::renew(
            &kubectl,
            &clusters,
            &mut state,
            (&by, plan),
            waits,
            &mut see,
        );
        renewed.map_err(|error| match error.class() {
            Class::Cluster => PodsError::Dead {
                log: kube::last_words(&kubectl, &state),
                source: error.into(),
            }
            .into(),
            _ => ClusterError::from(error),
        })?;
        drop_all(&KubeTarget::look(self.context, name, given.access.clone())?)
    }

    /// Puts the pods back that an experiment has left as they were in one of its restarts, but for this one.
    pub(super) fn put_back_others(&mut self) -> Result<(), ExperimentError> {
        let Some((name, _)) = home(self.request) else {
            return Ok(());
        };
        let name = name.to_owned();
        let state = KubeClusters::of(&self.context.paths.state).load(&name);
        let lent = state.map_err(ClusterError::from)?.lent;
        let own = self.id.to_string();
        match lent.filter(|lent| lent.by != own) {
            None => Ok(()),
            Some(_) => self.put_back(),
        }
    }

    /// Puts the pods back as they were before, also when the person stopped it.
    pub(super) fn put_back(&mut self) -> Result<(), ExperimentError> {
        let Some((name, given)) = home(self.request) else {
            return Ok(());
        };
        let clusters = KubeClusters::of(&self.context.paths.state);
        let mut state = match clusters.find(name).map_err(ClusterError::from)? {
            Some(state) if state.lent.is_some() => state,
            // It was put back, or removed, meanwhile.
            Some(_) | None => return Ok(()),
        };
        (self.events)(ExperimentEvent::PutsBack(name));
        if state.options.storage.is_some()
            && let Ok(target) = KubeTarget::look(self.context, name, given.access.clone())
            && let Err(error) = drop_all(&target)
        {
            tracing::warn!(%error, "tables of the experiment are still there");
        }
        let events = &mut self.events;
        let mut see = |words: &str| events(ExperimentEvent::Pods(words));
        put_back(&clusters, &mut state, &mut see).map_err(|source| ExperimentError::NotPutBack {
            name: name.to_owned(),
            source,
        })
    }

    /// Sets these in the running nodes, one after the other.
    pub(super) fn set_live(&self, settings: &[LiveSetting]) -> Result<(), ClusterError> {
        let Some((name, given)) = home(self.request) else {
            return Ok(());
        };
        let target = KubeTarget::look(self.context, name, given.access.clone())?;
        for words in settings.iter().filter_map(LiveSetting::nodetool) {
            target.nodetool(&words)?;
        }
        Ok(())
    }

    /// Whether all pods still serve.
    pub(super) fn pods_serve(&self) -> Result<(), ClusterError> {
        let Some((name, given)) = home(self.request) else {
            return Ok(());
        };
        KubeTarget::look(self.context, name, given.access.clone()).map(|_| ())
    }
}

/// Starts the nodes of a cluster anew as they were before an experiment took it.
///
/// # Errors
/// They do not end, or do not serve.
pub fn put_back(
    clusters: &KubeClusters,
    state: &mut KubeState,
    see: &mut dyn FnMut(&str),
) -> Result<(), ClusterError> {
    // Who stops the experiment wants the cluster back; who stops twice ends the process.
    let to_its_end = Cancel::default();
    let waits = (PUT_BACK_WITHIN, &to_its_end);
    Ok(kube::put_back(
        &state.kubectl()?,
        clusters,
        state,
        waits,
        see,
    )?)
}
