//! The nodes of a cluster on hosts, lent to an experiment: Ansible stops and starts them, and what runs made is dropped.

use super::{Lender, LentError, LentNodes, PUT_BACK_WITHIN};
use crate::target::HostAccess;
use helenus_cluster::cancel::Cancel;
use helenus_cluster::context::Context;
use helenus_cluster::error::{Class, ClusterError};
use helenus_cluster::hosts::{self, Anew, HostsClusters, HostsState};
use helenus_cluster::{guard, shell};
use helenus_cql::{Client, Consistency};
use helenus_model::guard::Sight;
use std::net::SocketAddr;
use std::time::Duration;

pub(super) struct Hosts<'a> {
    pub(super) context: &'a Context,
    pub(super) name: &'a str,
    pub(super) endpoints: &'a [SocketAddr],
    pub(super) given: &'a HostAccess,
}

impl Hosts<'_> {
    fn clusters(&self) -> HostsClusters {
        HostsClusters::of(&self.context.paths.state)
    }

    fn state(&self) -> Result<HostsState, ClusterError> {
        Ok(self.clusters().load(self.name)?)
    }

    /// Its first address and what is there, which must be this cluster.
    fn look(&self) -> Result<(SocketAddr, Sight), ClusterError> {
        let state = self.state()?;
        let another = || LentError::Another(self.name.to_owned());
        let first = *self.endpoints.first().ok_or_else(another)?;
        let sight = guard::look(&self.context.clusters, first, &self.given.options)?;
        match hosts::owner(&self.clusters(), &sight) {
            Some(owner) if owner.plan.name == state.plan.name => Ok((first, sight)),
            _ => Err(another().into()),
        }
    }
}

impl Lender for Hosts<'_> {
    fn name(&self) -> &str {
        self.name
    }

    fn cql(&self) -> String {
        let first = self.endpoints.first().map(|at| at.ip().to_string());
        format!("cqlsh {}", first.unwrap_or_default())
    }

    fn heals(&self) -> &'static str {
        "hosts restart"
    }

    fn keeps_data(&self) -> Result<bool, ClusterError> {
        Ok(true)
    }

    fn lent_by(&self) -> Result<Option<String>, ClusterError> {
        let state = self.clusters().find(self.name)?;
        Ok(state.and_then(|state| state.lent).map(|lent| lent.by))
    }

    fn may(&self) -> Result<(), ClusterError> {
        self.state()?.lendable()?;
        Ok(())
    }

    fn keyspaces(&self) -> Result<Vec<String>, ClusterError> {
        Ok(self.look()?.1.keyspaces)
    }

    fn drop(&self, keyspaces: &[String]) -> Result<(), ClusterError> {
        let (first, _) = self.look()?;
        let silent = |source| ClusterError::silent(first.to_string(), source);
        let mut client = Client::connect(first, &self.given.options).map_err(silent)?;
        client.set_timeout(shell::SCHEMA_WITHIN);
        for name in keyspaces {
            let drop = format!("DROP KEYSPACE IF EXISTS \"{name}\"");
            client.query(&drop, Consistency::One).map_err(silent)?;
        }
        Ok(())
    }

    fn renew(
        &self,
        by: &str,
        nodes: &LentNodes,
        see: &mut dyn FnMut(&str),
    ) -> Result<(), ClusterError> {
        let anew = Anew {
            context: self.context,
            access: &self.given.access,
            within: nodes.ready_within,
            cancel: &self.context.cancel,
        };
        let (_lock, mut state) = self.clusters().hold(self.name)?;
        let renewed = hosts::renew(&anew, &mut state, (by, nodes.plan.clone()), see);
        renewed.map_err(|error| match error.class() {
            Class::Cluster => LentError::Dead {
                log: error.lines(),
                source: error,
            }
            .into(),
            _ => error,
        })
    }

    fn put_back(&self, see: &mut dyn FnMut(&str)) -> Result<(), ClusterError> {
        let anew = Anew {
            context: self.context,
            access: &self.given.access,
            within: PUT_BACK_WITHIN,
            // Who stops the experiment wants the cluster back; who stops twice ends the process.
            cancel: &Cancel::default(),
        };
        let (_lock, mut state) = self.clusters().hold(self.name)?;
        hosts::put_back(&anew, &mut state, see)
    }

    fn nodetool(&self, words: &[String]) -> Result<(), ClusterError> {
        hosts::nodetool(self.context, &self.state()?, words)
    }

    fn serves(&self) -> Result<(), ClusterError> {
        let state = self.state()?;
        let plan = state.rendered()?;
        let at_once = (Duration::ZERO, &self.context.cancel);
        hosts::wait(&state, &plan, &self.given.access, at_once, &mut |_| {}).map(|_| ())
    }
}
