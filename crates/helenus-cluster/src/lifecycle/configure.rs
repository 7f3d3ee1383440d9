//! Other settings for an existing cluster: its nodes take them with their next start.
//! Refuses a cluster in the middle of an upgrade: its nodes write settings in two releases' words.

use crate::context::Context;
use crate::error::ClusterError;
use crate::observe;
use crate::reach::STOCK;
use crate::state::{ClusterState, StateError};
use fs_err as fs;
use helenus_model::access::{CredentialsReference, SecretReference};
use helenus_model::plan::ClusterPlan;
use serde_json::Value;
use std::path::Path;

/// File of the stock superuser's password, in the cluster's folder.
const STOCK_FILE: &str = "stock-password";

/// Cassandra makes its superuser ten seconds after a start, unless it is asked to do so at once.
const AT_ONCE: &str = "-Dcassandra.superuser_setup_delay_ms=0";

/// Settings for a next start.
#[derive(Debug, Clone, Default)]
pub struct NewSettings {
    /// Keys of cassandra.yaml; null takes a key out.
    pub set: Vec<(String, Value)>,
    /// Flags of the JVM.
    pub jvm: Vec<String>,
}

impl NewSettings {
    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.jvm.is_empty()
    }
}

impl Context {
    /// The plan of a cluster with other settings of a node or of all; nothing is changed.
    ///
    /// # Errors
    /// No such cluster or node, an upgrade under way, or a setting that cannot be.
    pub fn look_at_settings(
        &self,
        name: &str,
        node: Option<&str>,
        new: &NewSettings,
    ) -> Result<ClusterPlan, ClusterError> {
        changed(&self.clusters.load(name)?, node, new)
    }

    /// Keeps other settings of a node or of all; whoever runs takes them with its next start.
    ///
    /// # Errors
    /// As [`Self::look_at_settings`], or the state cannot be written.
    pub fn configure(
        &self,
        name: &str,
        node: Option<&str>,
        new: &NewSettings,
    ) -> Result<ClusterState, ClusterError> {
        let _lock = self.clusters.lock(name)?;
        let mut state = self.clusters.load(name)?;
        state.plan = changed(&state, node, new)?;
        if !state.plan.security.auth {
            log_in_as_stock(&mut state).map_err(ClusterError::io("the cluster's folder"))?;
        }
        self.save(&state)?;
        Ok(state)
    }
}

fn changed(
    state: &ClusterState,
    node: Option<&str>,
    new: &NewSettings,
) -> Result<ClusterPlan, ClusterError> {
    if state.upgrade.is_some() {
        return Err(StateError::Busy(state.plan.name.clone()).into());
    }
    let names: Vec<String> = state
        .targets(node)?
        .iter()
        .map(|n| n.name.clone())
        .collect();
    let plan = state.plan.with_settings(&names, &new.set, &new.jvm)?;
    let runs = || observe::pids(state).iter().any(|(_, pid)| pid.is_some());
    // Who runs would be looked for at the other port.
    if plan.ports != state.plan.ports && runs() {
        return Err(StateError::Busy(state.plan.name.clone()).into());
    }
    Ok(plan)
}

/// Where a setting makes nodes ask for a password, theirs is the stock one, and so is ours.
fn log_in_as_stock(state: &mut ClusterState) -> std::io::Result<()> {
    if !state.plan.asks_for_password() {
        state.access.credentials = None;
        return Ok(());
    }
    let file = Path::new(&state.plan.folder).join(STOCK_FILE);
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    fs_err::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    std::io::Write::write_all(&mut options.open(&file)?, STOCK.as_bytes())?;
    state.access.credentials = Some(CredentialsReference {
        username: STOCK.to_owned(),
        password: SecretReference::File(file.to_string_lossy().into_owned()),
    });
    for node in &mut state.plan.nodes {
        if !node.jvm.iter().any(|flag| flag == AT_ONCE) {
            node.jvm.push(AT_ONCE.to_owned());
        }
    }
    Ok(())
}
