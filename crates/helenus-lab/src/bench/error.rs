//! Why a bench has no result.
//! Refuses to judge: what is wrong with a result are its doubts.

use crate::distance::ApartError;
use crate::generator::GeneratorError;
use crate::serving::ServingError;
use crate::target::{PrepareError, TargetError};
use helenus_cluster::error::ClusterError;
use helenus_cluster::ready::ReadyError;
use helenus_cql::ClientError;
use helenus_model::result::RunResult;
use helenus_model::sample::{FailureKind, Stage};
use helenus_model::samples::ReadError;
use helenus_model::serving::{OtherReplication, Unserved};

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the transparent variants are documented where they are defined"
)]
pub enum BenchError {
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The schema could not be made.
    #[error("cannot create the workload's tables")]
    Prepare(#[source] ClientError),
    #[error(transparent)]
    Generator(#[from] GeneratorError),
    /// No replica could answer at the level that is asked for.
    #[error(transparent)]
    Unserved(Box<Unserved>),
    /// A keyspace is there with another replication than was asked for.
    #[error(transparent)]
    OtherReplication(Box<OtherReplication>),
    #[error(transparent)]
    Apart(#[from] ApartError),
    /// A data centre that the cluster does not have.
    #[error("the cluster has no data centre {asked:?}")]
    DataCentre {
        /// Asked for.
        asked: String,
        /// Those that it has.
        known: Vec<String>,
    },
    /// Faults are for clusters of this user's own.
    #[error("only your own clusters can have faults")]
    ForeignFaults,
    /// Profiles are of nodes of this user's own, on this machine.
    #[error("only nodes of your own clusters on this machine can be profiled")]
    ForeignProfile,
    /// There is no place for the ledger.
    #[error("cannot make a folder for the ledger")]
    Ledger(#[source] std::io::Error),
    /// Another command changed the cluster, and the load could not continue.
    #[error("`{command}` changed the cluster during the run")]
    Disturbed {
        /// Its words.
        command: String,
        /// What came of it.
        source: Box<GeneratorError>,
    },
    /// Nothing completed while the rate was looked for.
    #[error("no operation completed while the rate was being determined{why}")]
    NoRate {
        /// How most of them failed; none where none ended.
        kind: Option<FailureKind>,
        /// The first failure of that kind, behind a colon.
        why: String,
    },
}

impl BenchError {
    /// Whether the run ended before its first operation: its plan, a statement or a password was refused, or nobody
    /// answered.
    pub(super) fn is_before_the_first_operation(&self) -> bool {
        match self {
            Self::Generator(GeneratorError::Read(ReadError::Failed(failed))) => {
                failed.stage != Stage::Run
            }
            Self::Generator(
                GeneratorError::Start(_)
                | GeneratorError::Secret(_)
                | GeneratorError::Certificate(_)
                | GeneratorError::Elsewhere(_),
            ) => true,
            _ => false,
        }
    }

    /// Of a bench that the person stopped: why its cluster is still there; none where it cleaned up.
    pub(crate) fn not_removed(self) -> Option<ClusterError> {
        match self {
            Self::Cluster(error) => {
                let cleaned_up = matches!(error.find(), Some(ReadyError::Interrupted));
                (!cleaned_up).then_some(error)
            }
            _ => None,
        }
    }
}

impl From<ReadError> for BenchError {
    fn from(error: ReadError) -> Self {
        Self::Generator(error.into())
    }
}

impl From<PrepareError> for BenchError {
    fn from(error: PrepareError) -> Self {
        match error {
            PrepareError::Client(error) => Self::Prepare(error),
            PrepareError::Inside(error) => Self::Cluster(error),
        }
    }
}

impl From<ServingError> for BenchError {
    fn from(error: ServingError) -> Self {
        match error {
            ServingError::Cluster(error) => Self::Cluster(error),
            ServingError::Client(error) => Self::Prepare(error),
            ServingError::Unserved(refused) => Self::Unserved(refused),
            ServingError::OtherReplication(other) => Self::OtherReplication(other),
        }
    }
}

/// That the probe gave no rate, and what failed in it.
pub(super) fn no_rate(ended: &RunResult) -> BenchError {
    let phase = ended.phases.first();
    let kind = phase.and_then(|phase| FailureKind::most_frequent(&phase.total.failed));
    let first = phase
        .zip(kind)
        .and_then(|(phase, kind)| phase.first_failures.get(&kind));
    let why = first.map_or_else(String::new, |first| format!(": {first}"));
    BenchError::NoRate { kind, why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopped_bench_names_the_cluster_that_it_left() {
        let cleaned_up = ClusterError::from(ReadyError::Interrupted);
        assert!(BenchError::from(cleaned_up).not_removed().is_none());
        let busy = std::io::Error::other("busy");
        let left = ClusterError::io("the cluster's folder")(busy);
        assert!(BenchError::from(left).not_removed().is_some());
    }
}
