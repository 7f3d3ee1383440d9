//! Whether what is about to run can be served at all: replication against consistency levels, before the first operation.
//! Refuses to change anything: the statement that corrects it is for a person to run.

use crate::inside::KubeTarget;
use crate::target::Target;
use helenus_cluster::error::ClusterError;
use helenus_cluster::ring_view;
use helenus_cluster::shell;
use helenus_cql::{Client, ClientError, ConnectOptions};
use helenus_model::consistency::{Consistency, SerialConsistency};
use helenus_model::run_plan::Phase;
use helenus_model::schema_text::created;
use helenus_model::serving::{
    Level, OtherReplication, Standing, Unserved, Wanted, as_asked, check, replication,
};
use helenus_model::status::ClusterView;
use helenus_model::workload::{ReplicationFactor, Workload};
use std::collections::{BTreeMap, BTreeSet};

/// What the generator's driver asks for in a conditional write by default.
const SERIAL: SerialConsistency = SerialConsistency::LocalSerial;

/// Why it must not run.
#[derive(Debug, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the transparent variants are documented where they are defined"
)]
pub enum ServingError {
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Unserved(Box<Unserved>),
    /// A keyspace is there with another replication than was asked for.
    #[error(transparent)]
    OtherReplication(#[from] Box<OtherReplication>),
}

/// What is about to run.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    /// Tables and statements.
    pub(crate) workload: &'a Workload,
    /// The operations.
    pub(crate) phases: &'a [Phase],
    /// Level of operations that bring none of their own.
    pub(crate) level: Consistency,
    /// Data centre of the client.
    pub(crate) local: &'a str,
    /// Statements that will make what is not there.
    pub(crate) statements: &'a [String],
    /// Replicas of each row, if set.
    pub(crate) replication_factor: Option<&'a ReplicationFactor>,
    /// Whether the levels must be served.
    pub(crate) must_be_served: bool,
    /// To get into a cluster that is not ours.
    pub(crate) options: &'a ConnectOptions,
}

/// Looks at the keyspaces that are there, and at those that are about to be made.
///
/// # Errors
/// A cluster of ours does not answer, a keyspace is there with another replication than the person asks for, or an
/// operation cannot be served. What cannot be seen of others is let through.
pub(crate) fn served(target: &Target, asked: &Asked<'_>) -> Result<(), ServingError> {
    let all = wanted(asked);
    let view = match (&target.cluster, target.endpoints.first()) {
        _ if all.is_empty() && asked.replication_factor.is_none() => return Ok(()),
        _ if target.kube.is_some() => match target.kube.as_ref().map(KubeTarget::view) {
            Some(view) => view?,
            None => return Ok(()),
        },
        (Some(state), _) => {
            let mut client = shell::connect(state, None)?;
            ring_view::view(&mut client)?
        }
        (None, Some(address)) => {
            let seen: Result<ClusterView, ClientError> = Client::connect(*address, asked.options)
                .and_then(|mut client| ring_view::view(&mut client));
            match seen {
                Ok(view) => view,
                Err(error) => {
                    tracing::warn!(%error, "replication cannot be seen");
                    return Ok(());
                }
            }
        }
        (None, None) => return Ok(()),
    };
    let Ok(ring) = view.ring() else {
        return Ok(());
    };
    let mut keyspaces = BTreeMap::new();
    let made = asked.statements.iter().filter_map(|text| created(text));
    let made = made.filter(|_| target.owned).map(|made| (made, false));
    let there = view.keyspaces.into_iter();
    let there = there.map(|keyspace| ((keyspace.name, keyspace.replication), true));
    // What is there stays as it is.
    for ((name, map), exists) in made.chain(there) {
        if let Some(replication) = replication(&map, &ring) {
            let standing = Standing {
                replication,
                exists,
                asked: asked.replication_factor.is_some(),
            };
            keyspaces.insert(name, standing);
        }
    }
    if let Some(factor) = asked.replication_factor {
        let made = asked.statements.iter().filter_map(|text| created(text));
        let named: BTreeSet<String> = made
            .map(|(name, _)| name)
            .chain(all.iter().map(|wanted| wanted.keyspace.clone()))
            .collect();
        let named = named.iter().map(String::as_str);
        let data_centers: BTreeSet<&str> = ring.owners().map(|m| m.data_center.as_str()).collect();
        let factors = factor.on(data_centers).factors();
        let cluster = target.plan().map(|plan| plan.name.as_str());
        as_asked((cluster, &ring), &keyspaces, named, &factors)?;
    }
    if !asked.must_be_served {
        return Ok(());
    }
    check(&ring, asked.local, &keyspaces, &all).map_err(ServingError::Unserved)
}

/// Each operation with what it waits for.
fn wanted(asked: &Asked<'_>) -> Vec<Wanted> {
    let mut all: Vec<Wanted> = Vec::new();
    for phase in asked.phases {
        for share in phase.operations.iter().filter(|share| share.weight > 0) {
            let Some(reach) = asked.workload.reach(&share.operation) else {
                continue;
            };
            let serial = reach.serial.or(phase.serial_consistency);
            let serial = reach
                .conditional
                .then(|| Level::Serial(serial.unwrap_or(SERIAL)));
            let level = Level::Plain(reach.level.unwrap_or(asked.level));
            for level in [Some(level), serial].into_iter().flatten() {
                let wanted = Wanted {
                    operation: share.operation.clone(),
                    keyspace: reach.keyspace.clone(),
                    level,
                };
                if !all.contains(&wanted) {
                    all.push(wanted);
                }
            }
        }
    }
    all
}
