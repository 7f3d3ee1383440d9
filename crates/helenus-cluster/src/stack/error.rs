//! What can go wrong with a stack, each with its cure.
//! Refuses an error that does not name the part.

use crate::error::{Class, Problem};
use crate::install::Installer;
use helenus_model::format::FormatError;
use std::io;

/// Why something could not be done with a stack.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// The cluster has no stack.
    #[error("{cluster} has no stack")]
    None {
        /// Cluster.
        cluster: String,
    },
    /// The stack has no such part.
    #[error("the stack of {cluster} has no {part}")]
    Without {
        /// Cluster.
        cluster: String,
        /// Part.
        part: &'static str,
    },
    /// What is kept of it cannot be read.
    #[error("the stack's state cannot be read")]
    Unreadable(#[source] serde_json::Error),
    /// It was written by another version of helenus.
    #[error(transparent)]
    Version(FormatError),
    /// Flags of a cluster that the parts could not get into.
    #[error(
        "a stack does not support {what}: its parts have no credentials or certificates, and run outside the cluster's network"
    )]
    Unsupported {
        /// The flag.
        what: &'static str,
    },
    /// A program is not on this machine.
    #[error("{program} is not on PATH")]
    NoProgram {
        /// Program, which is also its package's name.
        program: &'static str,
        /// What leaves it out.
        without: &'static str,
    },
    /// A jar that was named is not there.
    #[error("no such jar: {0}")]
    NoJar(String),
    /// A part's process ended, or does not answer.
    #[error("{part} {what}")]
    Part {
        /// Part.
        part: &'static str,
        /// What it did.
        what: String,
        /// The last lines of its log.
        lines: Vec<String>,
    },
    /// A node's JMX is open with a password that Reaper does not have.
    #[error("JMX of {node} has another password than the stack")]
    OtherPassword {
        /// Cluster.
        cluster: String,
        /// Node.
        node: String,
    },
    /// A part answered something else than it should.
    #[error("{part} answers {code}: {text}")]
    Refused {
        /// Part.
        part: &'static str,
        /// Its code.
        code: u16,
        /// Its words.
        text: String,
    },
    /// A part could not be asked.
    #[error("{part} does not answer")]
    Silent {
        /// Part.
        part: &'static str,
        /// Why.
        source: io::Error,
    },
    /// Medusa failed on a node.
    #[error("medusa failed on {node} ({what})")]
    Medusa {
        /// Node.
        node: String,
        /// Its verb.
        what: &'static str,
        /// Its last lines.
        lines: Vec<String>,
    },
    /// A backup of that name is there, or is not.
    #[error("{}", if *exists { format!("there is a backup {name:?} of {cluster}") } else { format!("no backup {name:?} of {cluster}") })]
    Backup {
        /// Cluster.
        cluster: String,
        /// Backup.
        name: String,
        /// Whether one is there.
        exists: bool,
        /// Those that are there.
        known: Vec<String>,
    },
    /// A backup's name that is no file name.
    #[error("{0:?} cannot name a backup: use letters, digits, - and _")]
    Name(String),
    /// The clusters differ in their ring.
    #[error("{into} has other tokens than {cluster} had; a backup is restored node by node")]
    OtherTokens {
        /// Cluster that was saved.
        cluster: String,
        /// Where it was to come back.
        into: String,
    },
    /// Nothing is replicated.
    #[error("nothing to repair: no keyspace of {0} has more than one replica")]
    NothingToRepair(String),
    /// Files or sockets.
    #[error("cannot use {what}")]
    Io {
        /// What.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The person stopped it.
    #[error("interrupted")]
    Interrupted,
}

impl StackError {
    /// An input or output error with what it was about.
    pub(super) fn io(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, source }
    }
}

impl Problem for StackError {
    fn class(&self) -> Class {
        match self {
            Self::None { .. }
            | Self::Without { .. }
            | Self::Unsupported { .. }
            | Self::NoJar(_)
            | Self::Backup { .. }
            | Self::Name(_)
            | Self::OtherTokens { .. }
            | Self::NothingToRepair(_) => Class::Usage,
            Self::Unreadable(_) | Self::Version(_) | Self::NoProgram { .. } | Self::Io { .. } => {
                Class::Environment
            }
            Self::Part { .. }
            | Self::OtherPassword { .. }
            | Self::Refused { .. }
            | Self::Silent { .. }
            | Self::Medusa { .. } => Class::Cluster,
            Self::Interrupted => Class::Interrupted,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::None { cluster } => format!("`helenus stack up {cluster}` adds one"),
            Self::Without { cluster, .. } => {
                format!("it was left out; `helenus stack status {cluster}` shows what there is")
            }
            Self::Unreadable(_) | Self::Version(_) => {
                "it was written by another version of helenus; `helenus rm` still removes the cluster".to_owned()
            }
            Self::Unsupported { .. } => "leave it out; `helenus up` starts such a cluster without a stack".to_owned(),
            Self::NoProgram { program, without } => format!(
                "{}, or leave it out: --without {without}",
                Installer::here().package(program, program)
            ),
            Self::NoJar(_) => "name an executable jar of Reaper".to_owned(),
            Self::Part { .. } | Self::Silent { .. } => {
                "`helenus stack status` shows all parts, `helenus stack up` starts what is down".to_owned()
            }
            Self::OtherPassword { cluster, node } => format!(
                "`helenus stop {cluster}/{node}` closes it; `helenus stack up {cluster}` starts the node and opens it again"
            ),
            Self::Backup { exists: true, .. } => "choose another --name".to_owned(),
            Self::Backup { cluster, known, .. } if known.is_empty() => {
                format!("`helenus stack backup {cluster}` makes one")
            }
            Self::Backup { known, .. } => format!("its backups: {}", known.join(", ")),
            Self::OtherTokens { .. } => {
                "create a cluster with the same nodes, such as `helenus up NEW -n 3 --no-start`, and name it with --into"
                    .to_owned()
            }
            Self::NothingToRepair(_) => "a repair compares replicas; --keyspace names one keyspace".to_owned(),
            Self::Medusa { what: "restore", .. } => {
                "the nodes are stopped, and some may have files of the backup: run the restore again".to_owned()
            }
            Self::Name(_) | Self::Refused { .. } | Self::Medusa { .. } | Self::Io { .. } | Self::Interrupted => return None,
        })
    }

    fn lines(&self) -> Vec<String> {
        match self {
            Self::Part { lines, .. } | Self::Medusa { lines, .. } => lines.clone(),
            _ => Vec::new(),
        }
    }
}
