//! The recorded state that a reset leads back to, and what was seen of writes when it was last reached.
//! Refuses another version's file: nothing is dropped on a misunderstanding.

pub(crate) mod error;
pub(crate) mod look;
pub(crate) mod roles;

pub use error::ResetError;

use crate::context::Context;
use crate::error::ClusterError;
use crate::state::ClusterState;
use crate::stored;
use helenus_model::baseline::Baseline;
use helenus_model::format::Format;
use helenus_model::reset::{ORIGIN_VERSION, Origin, Roles, Writes};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// File in a cluster's folder; without it the origin is the empty schema that `up` leaves.
const ORIGIN_FILE: &str = "origin.json";

/// The file's form.
#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    format: Format,
    /// The recorded state.
    origin: Origin,
    /// Writes by node when the state was last reached; a table without them is truncated.
    #[serde(default)]
    writes: BTreeMap<String, Writes>,
}

fn file(context: &Context, name: &str) -> PathBuf {
    context.clusters.folder(name).join(ORIGIN_FILE)
}

/// The recorded state of a cluster.
///
/// # Errors
/// Its file cannot be read.
pub fn origin(context: &Context, name: &str) -> Result<Origin, ClusterError> {
    load(context, name).map(|(origin, _)| origin)
}

pub(crate) fn load(
    context: &Context,
    name: &str,
) -> Result<(Origin, BTreeMap<String, Writes>), ClusterError> {
    let broken = ClusterError::io("the recorded state (origin.json)");
    let found = stored::find(&file(context, name), "origin", ORIGIN_VERSION);
    let found: Option<Stored> = found.map_err(|error| broken(error.into()))?;
    Ok(match found {
        Some(stored) => (stored.origin, stored.writes),
        None => {
            let empty = Origin {
                roles: Some(Roles::default()),
                ..Origin::default()
            };
            (empty, BTreeMap::new())
        }
    })
}

/// Records the schema as it is now as the state to go back to; the caller holds the cluster's lock.
///
/// Data that lie there now are not recorded: a baseline's are named by its `tag`.
///
/// # Errors
/// A node is down, or the file cannot be written.
pub fn record(
    context: &Context,
    state: &ClusterState,
    tag: Option<&str>,
) -> Result<Origin, ClusterError> {
    let origin = Origin {
        baseline: tag.map(str::to_owned),
        ..seen(state)?
    };
    keep(context, &state.plan.name, &origin)?;
    Ok(origin)
}

/// The state as it is now, without a baseline; a stand-in of a node has none to report.
pub(crate) fn seen(state: &ClusterState) -> Result<Origin, ClusterError> {
    if state.runtime.fake.is_some() {
        return Ok(Origin::default());
    }
    let mut nodes = look::all(state)?;
    Ok(Origin {
        schema_version: nodes[0].schema_version.clone(),
        elements: look::schema(&mut nodes[0])?,
        roles: roles::read(state, &mut nodes[0])?,
        ..Origin::default()
    })
}

/// Takes a state with a baseline's rows as the one to go back to.
pub(crate) fn keep_with(
    context: &Context,
    name: &str,
    origin: Origin,
    baseline: &Baseline,
) -> Result<(), ClusterError> {
    let origin = Origin {
        baseline: Some(baseline.tag.clone()),
        baseline_made: Some(baseline.created_unix),
        ..origin
    };
    keep(context, name, &origin)
}

/// Without writes: the first reset truncates every table, whatever it holds, and counts from there.
fn keep(context: &Context, name: &str, origin: &Origin) -> Result<(), ClusterError> {
    save(context, name, origin, &BTreeMap::new())
}

pub(crate) fn save(
    context: &Context,
    name: &str,
    origin: &Origin,
    writes: &BTreeMap<String, Writes>,
) -> Result<(), ClusterError> {
    let stored = Stored {
        format: Format::new("origin", ORIGIN_VERSION),
        origin: origin.clone(),
        writes: writes.clone(),
    };
    stored::write(&file(context, name), &stored)
        .map_err(ClusterError::io("the recorded state (origin.json)"))
}
