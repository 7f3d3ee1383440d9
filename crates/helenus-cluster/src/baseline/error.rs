//! Why a baseline cannot be saved, used or removed, each with its cure.
//! Refuses to hide which file it was.

use crate::error::{Class, Problem};
use crate::stored::ReadError;
use helenus_cql::client::ClientError;
use helenus_model::baseline::{Misfit, TagError, tag_hint};
use helenus_model::topology::name_hint;
use std::io;
use std::path::PathBuf;

use super::files::Bad;

/// Why something could not be done with a baseline.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// The word cannot be a tag.
    #[error(transparent)]
    Tag(#[from] TagError),
    /// No such baseline.
    #[error("no such baseline: {tag} of {cluster}")]
    Unknown {
        /// Cluster.
        cluster: String,
        /// Asked for.
        tag: String,
        /// Tags of the cluster's baselines.
        known: Vec<String>,
        /// Clusters that have baselines.
        clusters: Vec<String>,
    },
    /// The tag is taken.
    #[error("baseline {tag} of {cluster} already exists")]
    Exists {
        /// Cluster.
        cluster: String,
        /// Tag.
        tag: String,
    },
    /// The manifest is not ours to read.
    #[error("cannot read the manifest of baseline {tag} of {cluster}")]
    Unreadable {
        /// Cluster.
        cluster: String,
        /// Tag.
        tag: String,
        /// Why.
        source: ReadError,
    },
    /// Another helenus works with the baselines of this cluster.
    #[error("another helenus is working on the baselines of {0}")]
    Busy(String),
    /// An ephemeral cluster belongs to the command that made it.
    #[error("{0} is ephemeral and ends with the command that made it")]
    Ephemeral(String),
    /// Nodes of two releases have no files in common that a baseline could bring back.
    #[error("{0} is in the middle of an upgrade")]
    Upgrading(String),
    /// A node's data lie in several folders.
    #[error("{0} has several data folders, which baselines do not support")]
    SeveralFolders(String),
    /// The nodes behind the addresses are not proved ours.
    #[error("cannot verify that {cluster} is yours: {why}")]
    NotOurs {
        /// Cluster.
        cluster: String,
        /// Why.
        why: String,
    },
    /// The cluster that was saved is no longer there, and no other was named.
    #[error("the cluster {cluster} of baseline {tag} no longer exists")]
    Gone {
        /// Cluster.
        cluster: String,
        /// Tag.
        tag: String,
    },
    /// It does not fit the cluster.
    #[error(transparent)]
    Misfit(Box<Misfit>),
    /// Something of it is not as it was saved.
    #[error("baseline {tag} of {cluster} is damaged: {first}{}", others(*bad))]
    Damaged {
        /// Cluster.
        cluster: String,
        /// Tag.
        tag: String,
        /// The first file.
        first: Box<Bad>,
        /// How many files there are.
        bad: usize,
    },
    /// A node had to be killed, so that its memtables may not be on disk.
    #[error("{node} did not stop in time and was killed: its memtables may not be on disk")]
    Killed {
        /// Node.
        node: String,
    },
    /// A node would not flush, drain or report its compactions.
    #[error("{node} refused {what}: {answer}")]
    Refused {
        /// Node.
        node: String,
        /// What it was asked.
        what: &'static str,
        /// Its answer.
        answer: String,
    },
    /// Compactions did not end.
    #[error("{tasks} compactions have not ended after {seconds} s")]
    Restless {
        /// Pending and active ones.
        tasks: u64,
        /// Patience in seconds.
        seconds: u64,
    },
    /// The schema could not be read or made.
    #[error("{cluster} refused a statement of the schema: {statement}")]
    Schema {
        /// Cluster.
        cluster: String,
        /// Beginning of the statement.
        statement: String,
        /// Why.
        source: Box<ClientError>,
    },
    /// A file could not be linked or copied.
    #[error("cannot move {path} into place")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Files.
    #[error("cannot use {what}")]
    Io {
        /// Which folder or file, by what it is for.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The person stopped it.
    #[error("interrupted")]
    Interrupted,
}

impl From<Misfit> for BaselineError {
    fn from(misfit: Misfit) -> Self {
        Self::Misfit(Box::new(misfit))
    }
}

fn others(bad: usize) -> String {
    match bad {
        0 | 1 => String::new(),
        _ => format!(" (and {} more)", bad - 1),
    }
}

impl BaselineError {
    /// An input or output error with what it was about.
    pub(crate) fn io(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, source }
    }
}

impl Problem for BaselineError {
    fn class(&self) -> Class {
        match self {
            Self::Tag(_)
            | Self::Unknown { .. }
            | Self::Exists { .. }
            | Self::Busy(_)
            | Self::Ephemeral(_)
            | Self::Upgrading(_)
            | Self::SeveralFolders(_)
            | Self::NotOurs { .. }
            | Self::Gone { .. }
            | Self::Misfit(_) => Class::Usage,
            Self::Unreadable { .. }
            | Self::Damaged { .. }
            | Self::File { .. }
            | Self::Io { .. } => Class::Environment,
            Self::Killed { .. }
            | Self::Refused { .. }
            | Self::Restless { .. }
            | Self::Schema { .. } => Class::Cluster,
            Self::Interrupted => Class::Interrupted,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Tag(_) => None,
            Self::Unknown {
                cluster,
                tag,
                known,
                clusters,
            } => Some(if known.is_empty() && !clusters.is_empty() {
                format!("{cluster} has no baseline; {}", name_hint(cluster, clusters))
            } else {
                tag_hint(tag, known)
            }),
            Self::Exists { .. } => Some("choose another tag, or --replace it".into()),
            Self::Unreadable { cluster, tag, .. } | Self::Damaged { cluster, tag, .. } => {
                Some(format!(
                    "`helenus baseline verify {cluster} {tag}` lists every file that differs, \
                     `helenus baseline rm {cluster} {tag}` removes it"
                ))
            }
            Self::Busy(_) => Some("wait until it is done, or stop it".into()),
            Self::Upgrading(name) => Some(format!("`helenus upgrade {name}` finishes it")),
            Self::SeveralFolders(_) => Some("use a cluster with one --data-dir, or none".into()),
            Self::Ephemeral(_) => Some("use a cluster started by `helenus up`".into()),
            Self::NotOurs { .. } => Some("only a cluster of `helenus up` can be saved".into()),
            Self::Gone { cluster, tag } => Some(format!(
                "bring up another cluster with the same tokens, and name it: \
                 `helenus baseline restore {cluster} {tag} --into NAME`"
            )),
            Self::Misfit(misfit) => Some(misfit.hint()),
            Self::Killed { .. } => Some(
                "start the cluster, which replays its commit log, and save again with a longer --within"
                    .into(),
            ),
            Self::Refused { node, .. } => Some(format!("`helenus logs NAME/{node}` shows more")),
            Self::Restless { .. } => {
                Some("`helenus nodetool NAME compactionstats` shows them; give it a longer --settle-within".into())
            }
            Self::Schema { source, .. } => source.hint().map(str::to_owned),
            Self::File { source, .. } | Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(
                    "the disk is full: `helenus baseline list` shows the size of each baseline".into(),
                ),
                _ => None,
            },
            Self::Interrupted => None,
        }
    }
}
