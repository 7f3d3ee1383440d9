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
    /// Its files are being replaced by those of a stack's backup; they are of use only when that is done.
    StackRestore {
        /// Cluster that was saved.
        cluster: String,
        /// Backup.
        backup: String,
    },
}

impl BaselineMark {
    /// Whether the nodes may start; a save that was cut off is forgotten, a restore is not.
    pub(crate) fn may_start(&mut self, cluster: &str) -> Result<(), CutOff> {
        let (from, tag, [what, verb]) = match &self.work {
            Some(Work::Restore { cluster, tag }) => (cluster, tag, ["baseline"; 2]),
            Some(Work::StackRestore { cluster, backup }) => (cluster, backup, ["backup", "stack"]),
            Some(Work::Save { .. }) | None => {
                self.work = None;
                return Ok(());
            }
        };
        Err(CutOff {
            cluster: cluster.to_owned(),
            from: from.clone(),
            tag: tag.clone(),
            what,
            verb,
        })
    }

    /// Whether a restore of this very baseline was cut off, which another one heals. What one of another baseline left
    /// is not known by this one.
    pub(crate) fn may_restore(&self, cluster: &str, from: &str, tag: &str) -> Result<bool, CutOff> {
        match &self.work {
            Some(Work::Restore {
                cluster: half_from,
                tag: half,
            }) if half_from == from && half == tag => Ok(true),
            _ => self.clone().may_start(cluster).map(|()| false),
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
#[error("the restore of {what} {tag} of {from} into {cluster} was interrupted")]
pub struct CutOff {
    cluster: String,
    from: String,
    tag: String,
    /// What is restored.
    what: &'static str,
    /// The first word of the verb that does it.
    verb: &'static str,
}

impl Problem for CutOff {
    fn class(&self) -> Class {
        Class::Usage
    }

    fn hint(&self) -> Option<String> {
        let Self {
            cluster,
            from,
            tag,
            verb,
            ..
        } = self;
        let into = match cluster == from {
            true => String::new(),
            false => format!(" --into {cluster}"),
        };
        Some(format!(
            "`helenus {verb} restore {from} {tag}{into}` does it again, `helenus rm {cluster}` removes the cluster"
        ))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_restore_goes_on_where_one_was_cut_off() {
        let mut mark = BaselineMark::default();
        assert!(matches!(mark.may_restore("b", "a", "one"), Ok(false)));
        mark.work = Some(Work::Save { tag: "one".into() });
        assert!(matches!(mark.may_restore("b", "a", "one"), Ok(false)));
        mark.work = Some(Work::Restore {
            cluster: "a".into(),
            tag: "one".into(),
        });
        assert!(matches!(mark.may_restore("b", "a", "one"), Ok(true)));
        for (from, tag) in [("a", "two"), ("b", "one")] {
            let cut_off = mark.may_restore("b", from, tag).unwrap_err();
            assert_eq!(
                cut_off.to_string(),
                "the restore of baseline one of a into b was interrupted"
            );
            let hint = cut_off.hint().unwrap();
            assert!(
                hint.starts_with("`helenus baseline restore a one --into b`"),
                "{hint}"
            );
        }
    }
    #[test]
    fn nodes_that_are_half_restored_do_not_start() {
        let stored = r#"{"work": {"verb": "stack_restore", "cluster": "c", "backup": "b1"}}"#;
        let mut mark: BaselineMark = serde_json::from_str(stored).unwrap();
        let own = mark.may_start("c").unwrap_err();
        assert_eq!(
            own.to_string(),
            "the restore of backup b1 of c into c was interrupted"
        );
        let hint = own.hint().unwrap();
        assert!(
            hint.starts_with("`helenus stack restore c b1` does"),
            "{hint}"
        );
        let other = mark.may_start("copy").unwrap_err();
        let hint = other.hint().unwrap();
        assert!(hint.contains(" b1 --into copy` does"), "{hint}");
        mark.work = Some(Work::Save {
            tag: "one".to_owned(),
        });
        assert!(mark.may_start("c").is_ok() && mark.work.is_none());
    }
}
