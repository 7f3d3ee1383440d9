//! Where a scan reads: a cluster of ours by name, or addresses that a person named; reading needs no permission.
//! Refuses to send a password of ours to a process that is not ours.

use crate::error::ClusterError;
use crate::guard;
use crate::reach;
use crate::reach::cql_address;
use crate::state::{ClusterState, Clusters};
use helenus_cql::client::{Client, ClientError, ConnectOptions};
use std::net::SocketAddr;
use std::time::Duration;

/// Longest wait for an answer: more than a node itself allows a read by default, so that its own words come first.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(15);

/// Longest wait for a connection: a node that is paused takes one and never answers.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// A cluster that can be read.
#[derive(Debug, Clone)]
pub struct ScanPlace {
    cluster: Option<ClusterState>,
    coordinators: Vec<(SocketAddr, ConnectOptions)>,
}

impl ScanPlace {
    /// One without a node, for tests that connect to none.
    #[cfg(test)]
    pub(super) fn of_nobody() -> Self {
        Self {
            cluster: None,
            coordinators: Vec::new(),
        }
    }

    /// A cluster of this user; at least one node must answer and be its own.
    ///
    /// # Errors
    /// No node answers, or another process listens at a node's address.
    pub fn ours(state: &ClusterState) -> Result<Self, ClusterError> {
        let silent = |source| ClusterError::silent(&state.plan.name, source);
        let options = reach::options(&state.access, CONNECT_WITHIN).map_err(silent)?;
        let mut coordinators = Vec::new();
        let mut last = None;
        for node in &state.plan.nodes {
            match reach::connect_as(state, node, &options) {
                Ok(mut client) => {
                    guard::prove_node(state, node, &mut client)?;
                    coordinators.push((cql_address(&state.plan, node), options.clone()));
                }
                Err(source) => {
                    last = Some(ClusterError::silent(&node.name, source));
                }
            }
        }
        match last {
            Some(error) if coordinators.is_empty() => Err(error),
            _ => Ok(Self {
                cluster: Some(state.clone()),
                coordinators,
            }),
        }
    }

    /// Addresses that a person named, got into as `given`; a node of ours among them needs nothing given.
    ///
    /// # Errors
    /// One does not answer.
    pub fn hosts(
        clusters: &Clusters,
        hosts: &[SocketAddr],
        given: &ConnectOptions,
    ) -> Result<Self, ClusterError> {
        let mut coordinators = Vec::new();
        for &host in hosts {
            let silent = |source| ClusterError::silent(host.to_string(), source);
            let given = ConnectOptions {
                timeout: CONNECT_WITHIN,
                ..given.clone()
            };
            let options = reach::options_for(clusters, host, &given).map_err(silent)?;
            Client::connect(host, &options).map_err(silent)?;
            coordinators.push((host, options));
        }
        Ok(Self {
            cluster: None,
            coordinators,
        })
    }

    /// The same, where only nodes of one data centre of a cluster of ours are asked; none where none of them answers.
    pub fn within(&self, data_center: &str) -> Option<Self> {
        let state = self.cluster.as_ref()?;
        let nodes = state.plan.nodes.iter();
        let here: Vec<SocketAddr> = nodes
            .filter(|node| node.data_center == data_center)
            .map(|node| cql_address(&state.plan, node))
            .collect();
        let coordinators = self.coordinators.iter();
        let coordinators: Vec<_> = coordinators
            .filter(|(address, _)| here.contains(address))
            .cloned()
            .collect();
        (!coordinators.is_empty()).then(|| Self {
            cluster: self.cluster.clone(),
            coordinators,
        })
    }

    /// Addresses of the nodes that answer, and how one connects to them: for a client of many requests.
    ///
    /// # Errors
    /// No node answers any more.
    pub fn doors(&self) -> Result<(Vec<SocketAddr>, ConnectOptions), ClusterError> {
        let mut options = match self.coordinators.first() {
            Some((_, options)) => options.clone(),
            None => return Err(ClusterError::silent("the cluster", ClientError::Broken)),
        };
        if let (None, Some(state)) = (&options.dialer, &self.cluster) {
            options.dialer = reach::dialer(state);
        }
        let all = self.coordinators.iter().map(|(address, _)| *address);
        Ok((all.collect(), options))
    }

    /// The cluster's state, where it is ours.
    pub fn state(&self) -> Option<&ClusterState> {
        self.cluster.as_ref()
    }

    /// How many nodes requests are sent to.
    pub(super) fn coordinators(&self) -> usize {
        self.coordinators.len()
    }

    /// The address of a coordinator, counted round and round.
    pub(super) fn address(&self, coordinator: usize) -> SocketAddr {
        self.coordinators[coordinator % self.coordinators.len()].0
    }

    /// A connection to a coordinator, counted round and round.
    pub(super) fn connect(&self, coordinator: usize) -> Result<Client, ClientError> {
        let (host, options) = &self.coordinators[coordinator % self.coordinators.len()];
        let node = self.cluster.as_ref().and_then(|state| {
            let here =
                |node: &&helenus_model::plan::NodePlan| cql_address(&state.plan, node) == *host;
            Some((state, state.plan.nodes.iter().find(here)?))
        });
        let mut client = match node {
            Some((state, node)) => reach::connect_as(state, node, options)?,
            None => Client::connect(*host, options)?,
        };
        client.set_timeout(ANSWER_WITHIN);
        Ok(client)
    }

    /// The name of the cluster, where it is ours.
    pub fn ours_by_name(&self) -> Option<&str> {
        self.cluster.as_ref().map(|state| state.plan.name.as_str())
    }
}
