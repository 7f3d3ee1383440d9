//! What a cluster's state records of baselines and of the schema that it was given.
//! Refuses to look at files: it is what was written down.

use crate::error::{Class, Problem};
use helenus_model::baseline::PageCache;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What a cluster's state records of baselines.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct BaselineMark {
    /// The baseline that it was saved as, or restored from, last.
    #[serde(default)]
    pub last: Option<LastBaseline>,
    /// Work that has started and not ended.
    #[serde(default)]
    pub work: Option<Work>,
}

/// The baseline that a cluster was at last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LastBaseline {
    /// Cluster that was saved, which may be another one.
    pub cluster: String,
    /// Tag.
    pub tag: String,
    /// When, in seconds since 1970.
    pub at_unix: u64,
    /// What was in the page cache when the nodes started from it; absent after a save.
    #[serde(default)]
    pub cache: Option<PageCache>,
}

/// Work on a cluster that changes its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "verb")]
pub enum Work {
    /// Its files are being saved; they themselves are whole at any moment.
    Save {
        /// Tag.
        tag: String,
    },
    /// Its files are being replaced; they are of use only when that is done.
    Restore {
        /// Cluster that was saved.
        cluster: String,
        /// Tag.
        tag: String,
    },
}

impl BaselineMark {
    /// Whether the nodes may start; a save that was cut off is forgotten, a restore is not.
    pub(crate) fn may_start(&mut self, cluster: &str) -> Result<(), CutOff> {
        match self.work.take() {
            Some(Work::Restore { cluster: from, tag }) => {
                self.work = Some(Work::Restore {
                    cluster: from.clone(),
                    tag: tag.clone(),
                });
                Err(CutOff {
                    cluster: cluster.to_owned(),
                    from,
                    tag,
                })
            }
            Some(Work::Save { .. }) | None => Ok(()),
        }
    }

    /// Marks a cluster as being at a baseline.
    pub(crate) fn is_at(&mut self, last: LastBaseline) {
        self.work = None;
        self.last = Some(last);
    }
}

/// A restore was cut off, and the nodes' files are of no use.
#[derive(Debug, thiserror::Error)]
#[error("the restore of baseline {tag} of {from} into {cluster} was interrupted")]
pub struct CutOff {
    cluster: String,
    from: String,
    tag: String,
}

impl Problem for CutOff {
    fn class(&self) -> Class {
        Class::Usage
    }

    fn hint(&self) -> Option<String> {
        let Self { cluster, from, tag } = self;
        Some(if cluster == from {
            format!("`helenus baseline restore {from} {tag}` does it again")
        } else {
            format!("`helenus baseline restore {from} {tag} --into {cluster}` does it again")
        })
    }
}

/// What a cluster's state records of the schema that it was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemaMark {
    /// The file as the person named it.
    pub from: PathBuf,
    /// SHA-256 of its text, which lies as `schema.cql` in the cluster's folder, in hexadecimal digits.
    pub sha256: String,
    /// Statements in it.
    pub statements: usize,
}
