//! Where a run goes: a cluster of ours or addresses that a person named, behind the guard.
//! Refuses to write where the guard says no.

use crate::inside::KubeTarget;
use helenus_cluster::context::Context;
use helenus_cluster::error::{ClusterError, NodeError};
use helenus_cluster::guard;
use helenus_cluster::hosts::{HostsClusters, HostsState, owner};
use helenus_cluster::reach::{self, cql_address};
use helenus_cluster::shell;
use helenus_cluster::state::ClusterState;
use helenus_cql::{Client, ClientError, ConnectOptions, Consistency};
use helenus_model::access::Access;
use helenus_model::guard::{Sight, Verdict, judge};
use helenus_model::plan::ClusterPlan;
use helenus_model::workload::needs::Need;
use helenus_model::workload::{Replication, ReplicationFactor, Workload};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

/// A cluster that a run can go to.
#[derive(Debug, Clone)]
pub struct Target {
    /// Ours, where it is.
    pub cluster: Option<ClusterState>,
    /// Ours on Kubernetes, where it is: its addresses are for generators in pods beside it.
    pub kube: Option<KubeTarget>,
    /// Ours on hosts, where it is.
    pub hosts: Option<Box<HostsState>>,
    /// CQL addresses.
    pub endpoints: Vec<SocketAddr>,
    /// By data centre the addresses of nodes that only coordinate; empty where there are none, and where a person named
    /// the addresses.
    pub gateways: BTreeMap<String, Vec<SocketAddr>>,
    /// Data centre of the first.
    pub data_center: Option<String>,
    /// Nodes there are.
    pub nodes: usize,
    /// Whether the schema may be changed: only with ownership.
    pub owned: bool,
    /// How one gets into it.
    pub access: Access,
    /// What is there, where it is not ours: to be shown before anything is written.
    pub foreign: Option<Sight>,
}

impl Target {
    /// Where a client in this data centre sends its operations, and whether to these nodes only: to those
    /// that coordinate, where it has some, as an application does that knows its gateway.
    pub fn doors(&self, data_center: Option<&str>) -> (Vec<SocketAddr>, bool) {
        let own = data_center.and_then(|name| self.gateways.get(name));
        match own {
            Some(gateways) => (gateways.clone(), true),
            None => (self.endpoints.clone(), false),
        }
    }

    /// A connection to the first of its nodes that answers; `within` limits the dialling and then each request.
    ///
    /// # Errors
    /// What the last of them, or this machine's own files, say.
    pub fn client(&self, within: Duration) -> Result<Client, ClientError> {
        let first = |count: usize, connect: &dyn Fn(usize) -> Result<Client, ClientError>| {
            (1..count).fold(connect(0), |found, at| found.or_else(|_| connect(at)))
        };
        match &self.cluster {
            Some(state) => {
                let options = reach::options_of(state, within)?;
                let nodes = &state.plan.nodes;
                first(nodes.len(), &|at| {
                    reach::connect_as(state, &nodes[at], &options)
                })
            }
            None => {
                let options = reach::options(&self.access, within)?;
                let all = &self.endpoints;
                first(all.len(), &|at| Client::connect(all[at], &options))
            }
        }
    }

    /// The plan of a cluster of ours, wherever it is.
    pub fn plan(&self) -> Option<&ClusterPlan> {
        let here = self.cluster.as_ref().map(|state| &state.plan);
        let kube = self.kube.as_ref().map(|kube| &kube.state.plan);
        let hosts = self.hosts.as_ref().map(|hosts| &hosts.plan);
        here.or(kube).or(hosts)
    }

    /// The data centres that are there, each once.
    pub fn data_centers(&self) -> Vec<String> {
        let planned = self.plan().into_iter().flat_map(|plan| &plan.nodes);
        let planned = planned.map(|node| &node.data_center);
        let seen = self.foreign.iter().flat_map(|sight| &sight.data_centers);
        let all: BTreeSet<&String> = planned.chain(seen).collect();
        all.into_iter().cloned().collect()
    }
}

/// What a person gave to get into a cluster that they named by its addresses.
#[derive(Debug, Clone, Default)]
pub struct HostAccess {
    /// For the look at it, with the values.
    pub options: ConnectOptions,
    /// For the generator: where the values are.
    pub access: Access,
}

impl Target {
    /// Replication of a keyspace that is made here: what a person asked for; otherwise up to three replicas in each data
    /// centre, as many as it has nodes that hold data.
    pub fn replication(&self, asked: Option<&ReplicationFactor>) -> Replication {
        let mut nodes: BTreeMap<&str, usize> = BTreeMap::new();
        let planned = self.plan().into_iter().flat_map(|plan| &plan.nodes);
        for node in planned.filter(|node| !node.coordinator) {
            *nodes.entry(&node.data_center).or_default() += 1;
        }
        match asked {
            Some(factor) => factor.on(nodes.into_keys()),
            None => Replication::usual(nodes),
        }
    }
}

/// Why the guard refused.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// Not ours and not named.
    #[error("refused to write to {host}: {why}")]
    Refused {
        /// Where.
        host: SocketAddr,
        /// Why.
        why: String,
        /// What is there.
        sight: Box<Sight>,
    },
    /// No address was named.
    #[error("no address was given")]
    Nowhere,
    /// Nothing answers at the address that was named.
    #[error("{host} does not answer")]
    Unreachable {
        /// Where.
        host: SocketAddr,
        /// Why.
        source: Box<ClientError>,
    },
    /// Its release lacks a type that the workload's table has.
    #[error("{} is a {}, which needs Cassandra {}.{} or later: {cluster} is {release}", need.column, need.cql_type, need.since.0, need.since.1)]
    Release {
        /// Name of the cluster.
        cluster: String,
        /// Its release.
        release: String,
        /// What is lacking.
        need: Box<Need>,
    },
    /// It cannot be looked at.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

impl TargetError {
    /// What is there, and what to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Refused { sight, .. } => Some(format!(
                "there: {}. If you may write to it, name it: --i-may-write-to {:?}",
                sight.summary(),
                sight.cluster_name
            )),
            Self::Nowhere => Some("name one with --hosts".into()),
            Self::Unreachable { source, .. } => source.hint().map(str::to_owned),
            Self::Release { need, .. } => Some(format!(
                "bring up a newer release (--cassandra {}.{}), or leave the column out",
                need.since.0, need.since.1
            )),
            Self::Cluster(error) => error.hint(),
        }
    }
}

/// Looks at a cluster of ours: the guard must find it ours.
///
/// # Errors
/// A node does not answer, or another process listens at its address.
pub fn ours(context: &Context, state: &ClusterState) -> Result<Target, TargetError> {
    let endpoints: Vec<SocketAddr> = state
        .plan
        .nodes
        .iter()
        .map(|n| cql_address(&state.plan, n))
        .collect();
    guard::prove_ours(&context.clusters, state)?;
    let mut gateways: BTreeMap<String, Vec<SocketAddr>> = BTreeMap::new();
    for node in state.plan.nodes.iter().filter(|node| node.coordinator) {
        let own = gateways.entry(node.data_center.clone()).or_default();
        own.push(cql_address(&state.plan, node));
    }
    Ok(Target {
        gateways,
        data_center: Some(state.plan.nodes[0].data_center.clone()),
        nodes: state.plan.nodes.len(),
        cluster: Some(state.clone()),
        kube: None,
        hosts: None,
        endpoints,
        access: state.access.clone(),
        owned: true,
        foreign: None,
    })
}

/// Looks at a cluster of ours on Kubernetes; its context leads to the server to which it was applied, and its pods carry
/// its id: what they hold may be changed.
///
/// # Errors
/// There is none of that name, its context leads elsewhere now, or a pod of it does not serve.
pub fn kube(context: &Context, name: &str, given: &HostAccess) -> Result<Target, TargetError> {
    let there = KubeTarget::look(context, name, given.access.clone())?;
    let nodes = there.nodes()?;
    let mut gateways: BTreeMap<String, Vec<SocketAddr>> = BTreeMap::new();
    for node in nodes.iter().filter(|node| node.coordinator) {
        let own = gateways.entry(node.data_center.clone()).or_default();
        own.push(node.address);
    }
    Ok(Target {
        gateways,
        data_center: nodes.first().map(|node| node.data_center.clone()),
        nodes: nodes.len(),
        cluster: None,
        access: there.access.clone(),
        kube: Some(there),
        hosts: None,
        endpoints: nodes.iter().map(|node| node.address).collect(),
        owned: true,
        foreign: None,
    })
}

/// Whether a cluster of ours has all types of a workload's tables; of others the server says it.
///
/// # Errors
/// [`TargetError::Release`].
pub fn fits(target: &Target, workload: &Workload) -> Result<(), TargetError> {
    let Some(plan) = target.plan() else {
        return Ok(());
    };
    let release = &plan.release;
    match Need::unmet(workload, release) {
        None => Ok(()),
        Some(need) => Err(TargetError::Release {
            cluster: plan.name.clone(),
            release: release.clone(),
            need: Box::new(need),
        }),
    }
}

/// Looks at addresses that a person named; `named` is the exact name given with the explicit flag.
///
/// # Errors
/// No node answers, or the guard refuses.
pub fn hosts(
    context: &Context,
    endpoints: &[SocketAddr],
    named: Option<&str>,
    given: &HostAccess,
) -> Result<Target, TargetError> {
    let mut first: Option<(Sight, Verdict)> = None;
    let mut hosts = None;
    for &host in endpoints {
        let sight = look(context, host, &given.options)?;
        hosts = hosts.or_else(|| owner(&HostsClusters::of(&context.paths.state), &sight));
        let ours = hosts.as_ref().map(|state| state.plan.name.as_str());
        let verdict = through(&sight, host, ours.or(named))?;
        match &first {
            None => first = Some((sight, verdict)),
            Some((known, _)) => same_cluster(known, &sight, host)?,
        }
    }
    let Some((sight, verdict)) = first else {
        return Err(TargetError::Nowhere);
    };
    let cluster = match &verdict {
        Verdict::Ours { cluster } => {
            Some(context.clusters.load(cluster).map_err(ClusterError::from)?)
        }
        _ => None,
    };
    Ok(Target {
        gateways: BTreeMap::new(),
        data_center: Some(sight.data_center.clone()),
        nodes: sight.nodes.len(),
        owned: cluster.is_some() || hosts.is_some(),
        foreign: (cluster.is_none() && hosts.is_none()).then_some(sight),
        access: given.access_to(cluster.as_ref()),
        cluster,
        kube: None,
        hosts: hosts.map(Box::new),
        endpoints: endpoints.to_vec(),
    })
}

impl HostAccess {
    /// What the person gave; if nothing, and the cluster is ours, what it needs.
    fn access_to(&self, cluster: Option<&ClusterState>) -> Access {
        match cluster {
            Some(state) if self.access.is_open() => state.access.clone(),
            _ => self.access.clone(),
        }
    }
}

fn look(context: &Context, host: SocketAddr, given: &ConnectOptions) -> Result<Sight, TargetError> {
    guard::look(&context.clusters, host, given).map_err(|error| match error.take() {
        Ok(NodeError::Silent { source, .. }) => TargetError::Unreachable {
            host,
            source: Box::new(source),
        },
        Ok(other) => ClusterError::from(other).into(),
        Err(other) => other.into(),
    })
}

/// Every further address must lead to a node of the first one's cluster, or the load would go astray.
fn same_cluster(known: &Sight, sight: &Sight, host: SocketAddr) -> Result<(), TargetError> {
    let own = sight.nodes.first().map(|node| node.host_id.as_str());
    let member = known
        .nodes
        .iter()
        .any(|node| Some(node.host_id.as_str()) == own);
    if member && known.cluster_name == sight.cluster_name {
        return Ok(());
    }
    let why = format!(
        "it belongs to another cluster than the first address ({:?})",
        known.cluster_name
    );
    Err(TargetError::Refused {
        host,
        why,
        sight: Box::new(sight.clone()),
    })
}

fn through(sight: &Sight, host: SocketAddr, named: Option<&str>) -> Result<Verdict, TargetError> {
    match judge(sight, named) {
        Verdict::Foreign { why } => Err(TargetError::Refused {
            host,
            why,
            sight: Box::new(sight.clone()),
        }),
        verdict => Ok(verdict),
    }
}

/// Why the tables were not made.
#[derive(Debug, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the transparent variants are documented where they are defined"
)]
pub enum PrepareError {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Inside(#[from] ClusterError),
}

/// Runs the statements that make a workload's tables, and waits for agreement. What exists already stays.
///
/// # Errors
/// The server refuses a statement, or no node answers.
pub fn prepare(target: &Target, statements: &[String]) -> Result<(), PrepareError> {
    if !target.owned {
        return Ok(());
    }
    if let Some(kube) = &target.kube {
        kube.prepare(statements)?;
        return Ok(());
    }
    let mut client = target.client(shell::SCHEMA_WITHIN)?;
    for statement in statements {
        match client.query(statement, Consistency::One) {
            Ok(_) => {}
            Err(error) if error.already_exists() => {
                tracing::info!(statement, "exists already");
            }
            Err(error) => return Err(error.into()),
        }
        if let Some(state) = &target.cluster {
            shell::agree(state)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_model::guard::SeenNode;

    /// A cluster of this name with these nodes: host id, and whose it is.
    fn sight(name: &str, nodes: &[(&str, Option<&str>)]) -> Sight {
        let seen = |(host_id, owner): &(&str, Option<&str>)| SeenNode {
            address: "192.0.2.1".to_owned(),
            host_id: (*host_id).to_owned(),
            owned_by: owner.map(str::to_owned),
        };
        Sight {
            cluster_name: name.to_owned(),
            data_center: "dc1".to_owned(),
            data_centers: vec!["dc1".to_owned()],
            nodes: nodes.iter().map(seen).collect(),
            keyspaces: Vec::new(),
        }
    }

    fn host() -> SocketAddr {
        "192.0.2.1:9042".parse().expect("an address")
    }

    #[test]
    fn a_foreign_cluster_is_written_to_by_its_exact_name_only() {
        let foreign = sight("prod", &[("a", None)]);
        for named in [None, Some("pro"), Some("PROD")] {
            let refused = through(&foreign, host(), named).expect_err("foreign");
            assert!(matches!(refused, TargetError::Refused { .. }), "{named:?}");
        }
        assert!(through(&foreign, host(), Some("prod")).is_ok());
        let ours = sight("test", &[("a", Some("c")), ("b", Some("c"))]);
        let verdict = through(&ours, host(), None).expect("ours");
        assert!(matches!(verdict, Verdict::Ours { cluster } if cluster == "c"));
        // One node of somebody else among ours makes it foreign.
        let mixed = sight("test", &[("a", Some("c")), ("b", None)]);
        assert!(through(&mixed, host(), None).is_err());
    }

    #[test]
    fn every_address_leads_to_the_first_one_s_cluster() {
        let first = sight("test", &[("a", None), ("b", None)]);
        assert!(same_cluster(&first, &sight("test", &[("b", None), ("a", None)]), host()).is_ok());
        let stranger = sight("test", &[("x", None), ("a", None)]);
        let refused = same_cluster(&first, &stranger, host()).expect_err("another");
        assert!(refused.to_string().contains("another cluster"), "{refused}");
        assert!(same_cluster(&first, &sight("other", &[("a", None)]), host()).is_err());
    }
}
