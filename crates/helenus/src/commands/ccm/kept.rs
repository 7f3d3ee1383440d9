//! What ccm knows between two lines: the current cluster, and clusters that have no nodes yet.
//! Refuses to know what Helenus' own state of a cluster says.

use crate::error::{CommandError, code};
use fs_err as fs;
use helenus_cluster::state::Clusters;
use helenus_cluster::stored;
use helenus_model::format::Format;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// In the state folder.
const FILE: &str = "ccm.json";

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// `helenus.ccm/1`.
    format: Format,
    /// Name of the current cluster.
    pub(super) current: Option<String>,
    /// What `create`, `updateconf` and `add` said of clusters, by name.
    pub(super) clusters: BTreeMap<String, Made>,
}

/// What lines of ccm said of a cluster and its own state does not say yet.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Made {
    /// Words of `up` that `create` decided.
    pub(super) up: Vec<String>,
    /// Settings that its nodes will have.
    pub(super) set: Vec<(String, Value)>,
    /// Nodes that join with the next start.
    pub(super) added: Vec<Added>,
}

/// A node that joins with the next start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Added {
    /// Its name.
    pub(super) name: String,
    /// Its data centre, if set.
    pub(super) data_center: Option<String>,
}

impl Kept {
    /// What is kept in a state folder.
    pub(super) fn read(state: &Path) -> Result<Self, CommandError> {
        let file = state.join(FILE);
        match fs::read(&file) {
            Ok(text) => serde_json::from_slice(&text).map_err(|error| {
                let text = format!("{} cannot be read: {error}", file.display());
                CommandError::new(code::ENVIRONMENT, text)
                    .hint("delete it: clusters with nodes stay, ccm switch chooses one".to_owned())
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self {
                format: Format::new("ccm", 1),
                current: None,
                clusters: BTreeMap::new(),
            }),
            Err(error) => Err(CommandError::of(code::ENVIRONMENT, &error)),
        }
    }

    /// Keeps it.
    pub(super) fn write(&self, state: &Path) -> Result<(), CommandError> {
        Ok(stored::write(&state.join(FILE), self)?)
    }

    /// The named cluster or else the current one, and what is kept of it.
    pub(super) fn of(&self, named: Option<&str>) -> Result<(String, Made), CommandError> {
        let Some(name) = named.or(self.current.as_deref()) else {
            let error = CommandError::new(code::USAGE, "there is no current cluster");
            return Err(
                error.hint("ccm create NAME makes one, ccm switch NAME chooses one".to_owned())
            );
        };
        let made = self.clusters.get(name).cloned().unwrap_or_default();
        Ok((name.to_owned(), made))
    }

    /// What is kept of a cluster, to be changed.
    pub(super) fn made(&mut self, name: &str) -> &mut Made {
        self.clusters.entry(name.to_owned()).or_default()
    }

    /// Every cluster, with nodes or without.
    pub(super) fn names(&self, clusters: &Clusters) -> Result<Vec<String>, CommandError> {
        let with_nodes = clusters.names();
        let mut all = with_nodes?;
        all.extend(self.clusters.keys().cloned());
        all.sort();
        all.dedup();
        Ok(all)
    }
}
