//! Care for nodes under a load: a few settings are raised while it lasts, remembered before, and put back after.
//! Refuses to guess: only what it raised itself, in the very process that it raised it in, goes back.
//!
//! What is remembered lies in the cluster's folder from before the first change until the last one is undone, so a
//! load that was killed leaves what the next one, or a reset, needs to put everything back.

use crate::context::Context;
use crate::error::ClusterError;
use crate::mbeans::{Ask, Mbeans, STORAGE_SERVICE};
use crate::settings::PutBack;
use crate::state::{ClusterState, started_at};
use crate::stored::{self, there};
use fs_err as fs;
use helenus_model::format::Format;
use helenus_model::populate::{RAISED_SETTINGS, raised_value};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Version of the stored shape.
const VERSION: u32 = 1;
const FILE: &str = "care.json";

/// What was raised, `helenus.care/1`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Raised {
    format: Format,
    /// The nodes with what was raised.
    nodes: Vec<RaisedNode>,
}

/// One node, and the process that was changed: a number of a process comes again, together with its start it does not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct RaisedNode {
    /// The node.
    node: String,
    /// The process, with its start.
    process: String,
    /// By attribute: what it was, and what it was raised to.
    values: BTreeMap<String, (i64, i64)>,
}

/// A setting that was raised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RaisedSetting {
    /// Node.
    pub node: String,
    /// Attribute.
    pub attribute: String,
    /// What it was.
    pub from: i64,
    /// What it is for the time of the load.
    pub to: i64,
}

/// Raises what a load needs higher at every node; a node of a test is left as it is.
///
/// # Errors
/// A node's agent cannot be had, what it had cannot be remembered, or it refuses a value.
pub fn raise(context: &Context, state: &ClusterState) -> Result<Vec<RaisedSetting>, ClusterError> {
    if state.runtime.fake.is_some() {
        return Ok(Vec::new());
    }
    let cores = crate::machine::read().cores as usize;
    let mut found = Vec::new();
    for plan in &state.plan.nodes {
        let mbeans = Mbeans::of(context, state, &plan.name)?;
        let values = wanted(&mbeans, cores)?;
        if !values.is_empty() {
            let node = RaisedNode {
                node: plan.name.clone(),
                process: process(mbeans.pid()),
                values,
            };
            found.push((mbeans, node));
        }
    }
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let raised = Raised {
        format: Format::new("care", VERSION),
        nodes: found.iter().map(|(_, node)| node.clone()).collect(),
    };
    remember(&file(context, state), &raised).map_err(ClusterError::io("what was remembered"))?;
    let mut changed = Vec::new();
    for (mbeans, node) in found {
        for (attribute, (from, to)) in node.values {
            mbeans.write(STORAGE_SERVICE, &attribute, &json!(to))?;
            changed.push(RaisedSetting {
                node: node.node.clone(),
                attribute,
                from,
                to,
            });
        }
    }
    Ok(changed)
}

/// By attribute: what it is, and what a load needs it to be.
fn wanted(mbeans: &Mbeans, cores: usize) -> Result<BTreeMap<String, (i64, i64)>, ClusterError> {
    let asks = RAISED_SETTINGS.map(|attribute| Ask::read(STORAGE_SERVICE, attribute));
    let answers = mbeans.bulk(&asks)?;
    let pairs = RAISED_SETTINGS.iter().zip(answers);
    Ok(pairs
        .filter_map(|(attribute, answer)| {
            // A release that lacks one has nothing to raise.
            let now = answer.ok()?.as_i64()?;
            let to = raised_value(attribute, now, cores)?;
            Some(((*attribute).to_owned(), (now, to)))
        })
        .collect())
}

/// Whether anything waits to be put back.
pub fn is_raised(context: &Context, state: &ClusterState) -> bool {
    file(context, state).exists()
}

/// Puts back what was raised and is still so; what was changed meanwhile, and what went with its process, stays.
///
/// # Errors
/// A node's agent cannot be had, or it refuses a value: what is left is put back by the next call.
pub fn put_back(context: &Context, state: &ClusterState) -> Result<Vec<PutBack>, ClusterError> {
    let path = file(context, state);
    let Some(raised) = remembered(&path).map_err(ClusterError::io("what was remembered"))? else {
        return Ok(Vec::new());
    };
    let mut restored = Vec::new();
    for node in &raised.nodes {
        put_one_back(context, state, node, &mut restored)?;
    }
    there(fs::remove_file(&path)).map_err(ClusterError::io("what was remembered"))?;
    Ok(restored)
}

fn put_one_back(
    context: &Context,
    state: &ClusterState,
    node: &RaisedNode,
    restored: &mut Vec<PutBack>,
) -> Result<(), ClusterError> {
    let running = crate::observe::pids(state);
    let pid = running.iter().find(|(name, _)| *name == node.node);
    let Some(pid) = pid.and_then(|(_, pid)| *pid) else {
        // A stopped node starts with the settings of its files.
        return Ok(());
    };
    if process(pid) != node.process {
        return Ok(());
    }
    let mbeans = Mbeans::of(context, state, &node.node)?;
    for (attribute, (was, raised)) in &node.values {
        let now = mbeans.read(STORAGE_SERVICE, attribute)?;
        if now.as_i64() != Some(*raised) {
            continue;
        }
        mbeans.write(STORAGE_SERVICE, attribute, &json!(was))?;
        restored.push(PutBack {
            node: node.node.clone(),
            attribute: format!("{STORAGE_SERVICE} {attribute}"),
            from: now,
            to: Value::from(*was),
        });
    }
    Ok(())
}

fn file(context: &Context, state: &ClusterState) -> PathBuf {
    context.clusters.folder(&state.plan.name).join(FILE)
}

fn remembered(path: &Path) -> io::Result<Option<Raised>> {
    Ok(stored::find(path, "care", VERSION)?)
}

/// On disk before anything is changed.
fn remember(path: &Path, raised: &Raised) -> io::Result<()> {
    stored::write(path, raised)
}

fn process(pid: i32) -> String {
    format!("{pid} {}", started_at(pid).unwrap_or_default())
}
