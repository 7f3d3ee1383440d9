//! The rows of the baseline that a reset leads back to: which tables still hold just them, and how the others get them.
//! Refuses a baseline that is gone, another one by now, or not as it was saved, before anything is changed.

use super::refill;
use crate::baseline::{BaselineError, Baselines, SavedFolder, as_saved};
use crate::context::Context;
use crate::error::ClusterError;
use crate::origin::ResetError;
use crate::origin::look::{Inode, Node};
use crate::state::ClusterState;
use fs_err as fs;
use helenus_model::baseline::Baseline;
use helenus_model::reset::{Element, ElementKind, Origin, bare, views_of};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;

/// SSTables that belong into a cluster.
#[derive(Default)]
pub(super) struct Rows {
    baseline: Option<Baseline>,
    /// Node of the cluster, and the folder that is its own.
    folders: Vec<(String, SavedFolder)>,
}

/// The rows that belong to a recorded state; none where it has no baseline.
pub(super) fn of(
    context: &Context,
    state: &ClusterState,
    origin: &Origin,
) -> Result<Rows, ClusterError> {
    let Some(tag) = &origin.baseline else {
        return Ok(Rows::default());
    };
    if state.runtime.fake.is_some() {
        return Ok(Rows::default());
    }
    let last = state.baseline.last.as_ref().filter(|l| l.tag == *tag);
    let cluster = last.map_or(&state.plan.name, |l| &l.cluster);
    let gone = || ResetError::RowsGone {
        cluster: state.plan.name.clone(),
        tag: tag.clone(),
    };
    let baselines = Baselines::of(context);
    let baseline = match baselines.load(cluster, tag) {
        Err(BaselineError::Unknown { .. }) => return Err(gone().into()),
        other => other?,
    };
    if origin
        .baseline_made
        .is_some_and(|made| made != baseline.created_unix)
    {
        return Err(gone().into());
    }
    let mut folders = Vec::new();
    for folder in baselines.table_folders(&baseline) {
        let saved = baseline.nodes.iter().find(|n| n.name == folder.node);
        let of = |tokens: &[i64]| tokens.iter().copied().collect::<BTreeSet<i64>>();
        let to = state.plan.nodes.iter().find(|plan| match saved {
            Some(saved) if !saved.tokens.is_empty() => of(&plan.tokens) == of(&saved.tokens),
            _ => plan.name == folder.node,
        });
        if let Some(to) = to
            && data_files(&folder).next().is_some()
        {
            folders.push((to.name.clone(), folder));
        }
    }
    Ok(Rows {
        baseline: Some(baseline),
        folders,
    })
}

fn data_files(folder: &SavedFolder) -> impl Iterator<Item = &str> {
    let names = folder.files.iter().map(|(name, _)| name.as_str());
    names.filter(|name| !name.contains('/') && name.ends_with("-Data.db"))
}

fn name(folder: &SavedFolder) -> String {
    format!("{}.{}", folder.keyspace, folder.table)
}

impl Rows {
    /// Marks at each node which tables hold other files than the baseline's own: of the same inodes, nothing is read.
    pub(super) fn mark(&self, nodes: &mut [Node]) {
        for node in nodes {
            let mut wanted: BTreeMap<String, BTreeSet<Inode>> = BTreeMap::new();
            for (_, folder) in self.folders.iter().filter(|(to, _)| *to == node.name) {
                let inodes = data_files(folder)
                    .filter_map(|file| fs::metadata(folder.folder.join(file)).ok())
                    .map(|meta| (meta.dev(), meta.ino()));
                wanted.entry(name(folder)).or_default().extend(inodes);
            }
            for (table, inodes) in wanted {
                if node.data_files.get(&table) == Some(&inodes) {
                    node.seen.on_disk.remove(&table);
                } else {
                    node.seen.on_disk.insert(table);
                }
            }
        }
    }

    /// Which of the tables that are emptied get rows, and their views; names as CQL takes them.
    pub(super) fn wanted(&self, emptied: &[String], origin: &[Element]) -> Vec<String> {
        let tables = origin
            .iter()
            .filter(|e| e.kind == ElementKind::Table && emptied.contains(&e.path()));
        let all = tables.flat_map(|table| {
            let mut names = vec![table.path()];
            names.extend(views_of(table, origin));
            names
        });
        all.filter(|path| {
            self.folders
                .iter()
                .any(|(_, f)| name(f) == bare_path(path, origin))
        })
        .collect()
    }

    /// Refuses rows that are not as they were saved.
    pub(super) fn check(&self, context: &Context) -> Result<(), ClusterError> {
        match &self.baseline {
            Some(baseline) => Ok(as_saved(context, baseline)?),
            None => Ok(()),
        }
    }

    /// Puts the rows of these tables into the nodes.
    pub(super) fn fill(
        &self,
        context: &Context,
        state: &ClusterState,
        tables: &[String],
        origin: &[Element],
    ) -> Result<(), ClusterError> {
        for table in tables {
            let bare = bare_path(table, origin);
            for (node, folder) in self.folders.iter().filter(|(_, f)| name(f) == bare) {
                let (keyspace, table) = (&folder.keyspace, &folder.table);
                refill(context, state, node, &folder.folder, keyspace, table)?;
            }
        }
        Ok(())
    }
}

/// `keyspace.table` as the server keeps it, of a path with CQL's quotes.
fn bare_path(path: &str, origin: &[Element]) -> String {
    let element = origin.iter().find(|e| e.path() == path);
    element.map_or_else(
        || path.to_owned(),
        |e| format!("{}.{}", bare(&e.keyspace), bare(&e.name)),
    )
}
