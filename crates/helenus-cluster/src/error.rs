//! One error for all that the hands do, each with its cure and its class.
//! Refuses to know exit codes: the face gives each class one.

use crate::address::AddressError;
use crate::attach::AttachError;
use crate::baseline::BaselineError;
use crate::disk::DiskError;
use crate::fault::FaultTrouble;
use crate::given::GivenError;
use crate::host_settings::HostError;
use crate::jdk::JdkError;
use crate::mbeans::MbeansError;
use crate::members::MemberError;
use crate::net::client::NetError;
use crate::paths::PathsError;
use crate::ready::ReadyError;
use crate::reset::ResetError;
use crate::scan::ScanError;
use crate::secure::SecureError;
use crate::state::StateError;
use crate::store::StoreError;
use crate::upgrade::UpgradeTrouble;
use helenus_cql::client::ClientError;
use helenus_model::plan::{JoinError, PlanError};
use helenus_model::release::ReleaseError;
use helenus_model::topology::TopologyError;
use helenus_model::units::Bytes;
use std::io;
use std::path::PathBuf;

/// Whose fault an error is, as far as an exit code can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// What was asked for: names, flags, files.
    Usage,
    /// The machine: JDK, kernel, privilege, disk, port.
    Environment,
    /// A node would not start, stay up or stop.
    Cluster,
    /// The person stopped it.
    Interrupted,
}

/// Why something could not be done with a cluster.
#[derive(Debug, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the transparent variants are documented where they are defined"
)]
pub enum ClusterError {
    #[error(transparent)]
    Release(#[from] ReleaseError),
    #[error(transparent)]
    Paths(#[from] PathsError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Jdk(#[from] JdkError),
    #[error(transparent)]
    Topology(#[from] TopologyError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Net(#[from] NetError),
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error(transparent)]
    Ready(#[from] ReadyError),
    #[error(transparent)]
    Secure(#[from] SecureError),
    #[error(transparent)]
    Attach(#[from] AttachError),
    #[error(transparent)]
    Mbeans(#[from] MbeansError),
    #[error(transparent)]
    Member(#[from] MemberError),
    #[error(transparent)]
    Join(#[from] JoinError),
    #[error(transparent)]
    Reset(#[from] ResetError),
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error(transparent)]
    Fault(#[from] FaultTrouble),
    #[error(transparent)]
    Given(#[from] GivenError),
    #[error(transparent)]
    Baseline(#[from] BaselineError),
    #[error(transparent)]
    Scan(#[from] ScanError),
    #[error(transparent)]
    Upgrade(#[from] UpgradeTrouble),
    /// A node does not answer CQL.
    #[error("{node} does not answer")]
    Silent {
        /// Node.
        node: String,
        /// Why.
        source: ClientError,
    },
    /// What answers where a cluster of ours should be is not proved ours.
    #[error("refused to write to {host}: {why}")]
    Foreign {
        /// Where.
        host: std::net::SocketAddr,
        /// Why it is not ours.
        why: String,
        /// What is there.
        sight: Box<helenus_model::guard::Sight>,
    },
    /// The disk is too full to start.
    #[error("{} {need} of disk, {folder} has {free}", if *nodes == 1 { "1 node needs".to_owned() } else { format!("{nodes} nodes need") })]
    NoSpace {
        /// Nodes.
        nodes: usize,
        /// Wanted.
        need: Bytes,
        /// There.
        free: Bytes,
        /// Where.
        folder: PathBuf,
    },
    /// The speed of the disk cannot be limited.
    #[error("the nodes' disk cannot be slowed down: {0}")]
    DiskSpeed(String),
    /// A setting of the machine cannot be had.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The node is not running.
    #[error("{node} of {cluster} is not running")]
    NotRunning {
        /// Cluster.
        cluster: String,
        /// Node.
        node: String,
    },
    /// Files.
    #[error("cannot use {what}")]
    Io {
        /// Which folder or file, by what it is for.
        what: String,
        /// Why.
        source: io::Error,
    },
}

impl ClusterError {
    /// An input or output error with what it was about.
    pub fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// Whose fault it is.
    pub fn class(&self) -> Class {
        match self {
            Self::Release(_)
            | Self::Topology(_)
            | Self::Plan(_)
            | Self::Join(_)
            | Self::Foreign { .. }
            | Self::Upgrade(_) => Class::Usage,
            Self::Store(StoreError::Unpublished { .. }) => Class::Usage,
            Self::Member(e) => e.class(),
            Self::State(StateError::Io(_)) => Class::Environment,
            Self::State(_) => Class::Usage,
            Self::Baseline(e) => e.class(),
            Self::Given(e) => e.class(),
            Self::Disk(e) => e.class(),
            Self::Fault(e) => e.class(),
            Self::Store(StoreError::Cancelled) | Self::Ready(ReadyError::Interrupted) => {
                Class::Interrupted
            }
            Self::Paths(_)
            | Self::Store(_)
            | Self::Jdk(_)
            | Self::Address(_)
            | Self::Net(_)
            | Self::NoSpace { .. }
            | Self::DiskSpeed(_)
            | Self::Host(_) => Class::Environment,
            Self::Mbeans(e) => e.class(),
            Self::Reset(e) => e.class(),
            Self::Scan(e) => e.class(),
            Self::Io { .. } => Class::Environment,
            Self::Secure(SecureError::Roles { .. } | SecureError::StockSuperuser { .. }) => {
                Class::Cluster
            }
            Self::Secure(_) => Class::Environment,
            Self::Ready(_) | Self::Attach(_) | Self::Silent { .. } | Self::NotRunning { .. } => {
                Class::Cluster
            }
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Release(e) => Some(e.hint()),
            Self::Paths(e) => Some(e.hint()),
            Self::Store(e) => Some(e.hint()),
            Self::Jdk(e) => Some(e.hint()),
            Self::Topology(e) => e.hint(),
            Self::Net(e) => e.hint(),
            Self::Plan(e) => Some(e.hint()),
            Self::Join(e) => Some(e.hint()),
            Self::Member(e) => e.hint(),
            Self::State(e) => e.hint(),
            Self::Address(e) => e.hint(),
            Self::Ready(e) => e.hint(),
            Self::Secure(e) => e.hint(),
            Self::Attach(e) => e.hint(),
            Self::Mbeans(e) => e.hint(),
            Self::Reset(e) => e.hint(),
            Self::Scan(e) => e.hint(),
            Self::Upgrade(e) => e.hint(),
            Self::Baseline(e) => e.hint(),
            Self::Given(e) => e.hint(),
            Self::Disk(e) => e.hint(),
            Self::Fault(e) => e.hint(),
            Self::Silent { source, .. } => source.hint().map(str::to_owned),
            Self::Foreign { sight, .. } => Some(match sight.ours() {
                Some(name) => format!(
                    "`helenus status {name}` shows which nodes are down, `helenus start {name}` starts them"
                ),
                None => format!(
                "there: {}. Find what listens at the address (`ss -ltnp`) and stop it, or start your node",
                sight.summary()
                ),
            }),
            Self::NoSpace { .. } => Some(
                "free some space, or put the state elsewhere with HELENUS_HOME=/a/larger/disk"
                    .into(),
            ),
            Self::DiskSpeed(_) => Some(
                "leave --disk-read, --disk-write and --disk-iops out; `helenus doctor` shows what the system allows, and HELENUS_HOME puts the nodes on another disk"
                    .into(),
            ),
            Self::Host(e) => Some(e.hint()),
            Self::NotRunning { cluster, .. } => {
                Some(format!("`helenus start {cluster}` starts it"))
            }
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(
                    "the disk is full: free some space, or set HELENUS_HOME to a larger one".into(),
                ),
                io::ErrorKind::PermissionDenied
                | io::ErrorKind::ReadOnlyFilesystem
                | io::ErrorKind::NotADirectory => {
                    Some("set HELENUS_HOME to a folder that you may write to".into())
                }
                _ => None,
            },
        }
    }

    /// Lines that say more: of a node's log, or a fault's words with a mark at the wrong one.
    pub fn lines(&self) -> Vec<String> {
        match self {
            Self::Ready(e) => e.tail().to_vec(),
            Self::Fault(FaultTrouble::Words(e)) => e.pointed().to_vec(),
            Self::Member(e) => e.lines(),
            _ => Vec::new(),
        }
    }
}
