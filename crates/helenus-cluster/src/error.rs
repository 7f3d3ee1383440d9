//! One error for all that can go wrong with a cluster. Each module has an error of its own, which says whose fault it
//! is and what to do about it; here any of them goes into one box.
//! Refuses to know the modules above it, and exit codes: the command line gives each class one.

use crate::alive::Hidden;
use helenus_cql::client::ClientError;
use helenus_model::hosts::options::HostsError;
use helenus_model::kube::options::KubeError;
use helenus_model::lent::NotLent;
use helenus_model::plan::{JoinError, PlanError};
use helenus_model::release::ReleaseError;
use helenus_model::topology::TopologyError;
use std::any::Any;
use std::error::Error;
use std::fmt;
use std::io;

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

/// What a module's own error says beside its message.
pub trait Problem: Error + Any + Send + Sync {
    /// Whose fault it is.
    fn class(&self) -> Class;

    /// What to do about it.
    fn hint(&self) -> Option<String>;

    /// Lines that say more: of a node's log, or a fault's words with a mark at the wrong one.
    fn lines(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Why something could not be done with a cluster: the [`Problem`] of one of the modules.
#[derive(Debug)]
pub struct ClusterError(Box<dyn Problem>);

impl<P: Problem> From<P> for ClusterError {
    fn from(problem: P) -> Self {
        Self(Box::new(problem))
    }
}

impl fmt::Display for ClusterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&*self.0, f)
    }
}

impl Error for ClusterError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

impl ClusterError {
    /// An input or output error with what it was about.
    pub fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| IoError { what, source }.into()
    }

    /// A node that does not answer CQL.
    pub fn silent(node: impl Into<String>, source: ClientError) -> Self {
        let node = node.into();
        NodeError::Silent { node, source }.into()
    }

    /// A node without a process.
    pub fn not_running(cluster: impl Into<String>, node: impl Into<String>) -> Self {
        let (cluster, node) = (cluster.into(), node.into());
        NodeError::NotRunning { cluster, node }.into()
    }

    /// The problem, where it is one of this kind.
    pub fn find<P: Problem>(&self) -> Option<&P> {
        let any: &dyn Any = &*self.0;
        any.downcast_ref()
    }

    /// The problem, where it is one of this kind; else the error as it was.
    ///
    /// # Errors
    /// The error, where its problem is of another kind.
    pub fn take<P: Problem>(self) -> Result<P, Self> {
        if self.find::<P>().is_none() {
            return Err(self);
        }
        let any: Box<dyn Any> = self.0;
        Ok(*any.downcast().expect("its kind was just looked at"))
    }

    /// Whose fault it is.
    pub fn class(&self) -> Class {
        self.0.class()
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        self.0.hint()
    }

    /// Lines that say more: of a node's log, or a fault's words with a mark at the wrong one.
    pub fn lines(&self) -> Vec<String> {
        self.0.lines()
    }
}

/// A node that cannot be talked to.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// It does not answer CQL.
    #[error("{node} does not answer")]
    Silent {
        /// Node, cluster or address.
        node: String,
        /// Why.
        source: ClientError,
    },
    /// It has no process.
    #[error("{node} of {cluster} is not running")]
    NotRunning {
        /// Cluster.
        cluster: String,
        /// Node.
        node: String,
    },
}

impl Problem for NodeError {
    fn class(&self) -> Class {
        Class::Cluster
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Silent { source, .. } => source.hint().map(str::to_owned),
            Self::NotRunning { cluster, .. } => {
                Some(format!("`helenus start {cluster}` starts it"))
            }
        }
    }
}

/// A file or folder that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use {what}")]
struct IoError {
    what: String,
    source: io::Error,
}

impl Problem for IoError {
    fn class(&self) -> Class {
        Class::Environment
    }

    fn hint(&self) -> Option<String> {
        let hint = match self.source.kind() {
            _ if Hidden::is(&self.source) => {
                "run it in the container, or by nsenter in the PID namespace, in which the cluster was brought up"
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "the disk is full: free some space, or set HELENUS_HOME to a larger one"
            }
            io::ErrorKind::PermissionDenied
            | io::ErrorKind::ReadOnlyFilesystem
            | io::ErrorKind::NotADirectory => "set HELENUS_HOME to a folder that you may write to",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

/// What the model refuses of a request is the request's fault.
macro_rules! refusals {
    ($($error:ty => $hint:expr;)*) => {$(
        impl Problem for $error {
            fn class(&self) -> Class {
                Class::Usage
            }

            fn hint(&self) -> Option<String> {
                let hint: fn(&Self) -> Option<String> = $hint;
                hint(self)
            }
        }
    )*};
}

refusals! {
    ReleaseError => |e| Some(e.hint());
    TopologyError => |e| e.hint();
    PlanError => |e| Some(e.hint());
    JoinError => |e| Some(e.hint());
    KubeError => |e| Some(e.hint());
    HostsError => |e| Some(e.hint());
    NotLent => |e| Some(e.hint());
}

/// An error with all that caused it, in one line.
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}
