//! The pods of a cluster on Kubernetes, lent to an experiment. Where they have no volumes they start without data.

use super::{Lender, LentError, LentNodes, PUT_BACK_WITHIN};
use crate::inside::KubeTarget;
use crate::target::HostAccess;
use helenus_cluster::cancel::Cancel;
use helenus_cluster::context::Context;
use helenus_cluster::error::{Class, ClusterError};
use helenus_cluster::kube::{self, KubeClusters, KubeState};

pub(super) struct Pods<'a> {
    pub(super) context: &'a Context,
    pub(super) name: &'a str,
    pub(super) given: &'a HostAccess,
}

impl Pods<'_> {
    fn clusters(&self) -> KubeClusters {
        KubeClusters::of(&self.context.paths.state)
    }

    fn look(&self) -> Result<KubeTarget, ClusterError> {
        KubeTarget::look(self.context, self.name, self.given.access.clone())
    }
}

impl Lender for Pods<'_> {
    fn name(&self) -> &str {
        self.name
    }

    fn cql(&self) -> String {
        format!("helenus kube cql {}", self.name)
    }

    fn heals(&self) -> &'static str {
        "kube heal"
    }

    fn keeps_data(&self) -> Result<bool, ClusterError> {
        Ok(self.clusters().load(self.name)?.options.storage.is_some())
    }

    fn lent_by(&self) -> Result<Option<String>, ClusterError> {
        let state = self.clusters().find(self.name)?;
        Ok(state.and_then(|state| state.lent).map(|lent| lent.by))
    }

    fn may(&self) -> Result<(), ClusterError> {
        let state = self.clusters().load(self.name)?;
        state.lendable()?;
        Ok(())
    }

    fn keyspaces(&self) -> Result<Vec<String>, ClusterError> {
        self.look()?.keyspaces()
    }

    fn drop(&self, keyspaces: &[String]) -> Result<(), ClusterError> {
        let drop = |name: &String| format!("DROP KEYSPACE IF EXISTS \"{name}\"");
        self.look()?.cql(keyspaces.iter().map(drop).collect())?;
        Ok(())
    }

    fn renew(
        &self,
        by: &str,
        nodes: &LentNodes,
        see: &mut dyn FnMut(&str),
    ) -> Result<(), ClusterError> {
        let clusters = self.clusters();
        let (_lock, mut state) = clusters.hold(self.name)?;
        let waits = (nodes.ready_within, &self.context.cancel);
        let kubectl = state.kubectl()?;
        let anew = (by, nodes.plan.clone());
        let renewed = kube::renew(&kubectl, &clusters, &mut state, anew, waits, see);
        renewed.map_err(|error| match error.class() {
            Class::Cluster => LentError::Dead {
                log: kube::last_words(&kubectl, &state),
                source: error,
            }
            .into(),
            _ => error,
        })
    }

    fn put_back(&self, see: &mut dyn FnMut(&str)) -> Result<(), ClusterError> {
        let clusters = self.clusters();
        let (_lock, mut state) = clusters.hold(self.name)?;
        put_back(&clusters, &mut state, see)
    }

    fn nodetool(&self, words: &[String]) -> Result<(), ClusterError> {
        self.look()?.nodetool(words)
    }

    fn serves(&self) -> Result<(), ClusterError> {
        self.look().map(|_| ())
    }
}

/// Starts the nodes of a cluster anew as they were before an experiment took it. The caller has its lock.
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
    kube::put_back(&state.kubectl()?, clusters, state, waits, see)
}
