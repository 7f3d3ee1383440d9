//! RESET: a running cluster goes back to its recorded state, with no restart and no reconnect.
//! Refuses a cluster with a node down, and a connection to anything that is not proved our node.
//!
//! The order is: look at every node, decide, change the schema, truncate, clear files, note what was seen.
//! It may be cut off anywhere: what was not done yet is found again by the next reset.

mod refill;
mod rows;

pub use refill::refill;

use crate::context::Context;
use crate::error::ClusterError;
use crate::mbeans::Mbeans;
use crate::origin::look::{self, Node};
use crate::origin::{self, ResetError, roles};
use crate::settings::{self, PutBack};
use crate::shell;
use crate::state::ClusterState;
use crate::stored::there;
use fs_err as fs;
use helenus_cql::codec::Consistency;
use helenus_cql::{Client, ClientError};
use helenus_model::format::Format;
use helenus_model::reset::{Change, ElementKind, Origin, Seen, changes, dirty};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

/// Statements under way at once. Truncations stand in line behind their node's disk: more gain nothing.
const LANES: usize = 4;
/// A truncation waits for flushes; the server gives it a minute.
const TRUNCATE_WITHIN: Duration = Duration::from_secs(65);
/// Conditional writes whose ballot is of the millisecond of a truncation, or before it, count as truncated.
const BALLOT_GAP: Duration = Duration::from_millis(2);

/// The MBean that keeps hints.
const HINTS: &str = "org.apache.cassandra.hints:type=HintsService";

/// What a reset did, or would do.
#[derive(Debug, Clone, Serialize)]
pub struct Reset {
    /// `helenus.reset/1`.
    pub format: Format,
    /// Cluster.
    pub cluster: String,
    /// Whether nothing was done.
    pub dry_run: bool,
    /// Tag of the baseline that it went back to; none for the state after `up`.
    pub baseline: Option<String>,
    /// Changes of the schema, in order.
    pub changes: Vec<String>,
    /// Own tables that were recreated: their ids differ now, statements prepared on them are prepared again.
    pub remade: Vec<String>,
    /// Tables that were truncated.
    pub truncated: Vec<String>,
    /// Tables and views that got the rows of the baseline.
    pub refilled: Vec<String>,
    /// Own tables that were certainly as recorded.
    pub untouched: usize,
    /// Folders of snapshots and backups that were removed.
    pub snapshots: Vec<PathBuf>,
    /// Nodes whose hints were deleted.
    pub hints: Vec<String>,
    /// Settings that `nodetool` had changed.
    pub settings: Vec<PutBack>,
    /// Statements about roles and permissions, of clusters with authentication.
    pub roles: Vec<String>,
    /// What could not be put back.
    pub lost: Vec<String>,
}

/// Takes a cluster of ours back to its recorded state; `dry_run` only reports how.
///
/// # Errors
/// A node is down or not ours, another helenus is at work on the cluster, or the server refuses a statement: what was
/// done by then is in the error, and another reset does the rest.
pub fn reset(context: &Context, name: &str, dry_run: bool) -> Result<Reset, ClusterError> {
    let _lock = context.clusters.lock(name)?;
    let state = context.clusters.load(name)?;
    let (mut origin, before) = origin::load(context, name)?;
    let rows = rows::of(context, &state, &origin)?;
    let mut nodes = look::all(&state)?;
    rows.mark(&mut nodes);
    let seen: BTreeMap<String, Seen> = nodes
        .iter()
        .map(|n| (n.name.clone(), n.seen.clone()))
        .collect();
    let same = |n: &Node| n.schema_version.is_some() && n.schema_version == origin.schema_version;
    let changes = if nodes.iter().all(same) {
        Vec::new()
    } else {
        changes(&origin.elements, &look::schema(&mut nodes[0])?)
    };
    let created = |path: &str| {
        changes
            .iter()
            .any(|c| matches!(c, Change::Create(e) if e.path() == path))
    };
    // What is made anew is empty already.
    let dirty: Vec<String> = dirty(&origin.elements, &before, &seen)
        .into_iter()
        .filter(|table| !created(table))
        .collect();
    let tables = origin
        .elements
        .iter()
        .filter(|e| e.kind == ElementKind::Table)
        .count();
    let mut settings = Vec::new();
    for node in nodes.iter().filter(|n| n.opened) {
        settings.extend(settings::changed(context, &state, &node.name, node.pid)?);
    }
    let found = (dirty, tables, settings);
    let mut report = report_of(&state, &origin, &nodes, &changes, found, dry_run);
    let emptied: Vec<String> = report
        .truncated
        .iter()
        .chain(&report.remade)
        .cloned()
        .collect();
    report.refilled = rows.wanted(&emptied, &origin.elements);
    if !report.refilled.is_empty() {
        rows.check(context)?;
    }
    let back = roles::changes(&state, &mut nodes[0], &origin)?;
    (report.roles, report.lost) = (back.statements, back.lost);
    if dry_run {
        return Ok(report);
    }
    // The rows of a populate go: one that was cut off has nothing to go on from, and what it raised goes back.
    crate::populate_journal::forget(context, name)?;
    let raised = crate::raised_settings::put_back(context, &state)?;
    report.settings.retain(|s| {
        !raised
            .iter()
            .any(|r| (&r.node, &r.attribute) == (&s.node, &s.attribute))
    });
    carry_out(context, &state, &mut nodes, &changes, &report)?;
    rows.fill(context, &state, &report.refilled, &origin.elements)?;
    report.settings.extend(raised);
    let done = changes.len() + report.truncated.len();
    // Permissions on what was made anew went with it: they are looked for again.
    let back = roles::changes(&state, &mut nodes[0], &origin)?;
    let of = done + back.statements.len();
    roles::put_back(&mut nodes[0], &back.statements, done, of)?;
    report.roles = back.statements;
    origin.schema_version = look::schema_version(&mut nodes[0])?;
    // What was counted before the first change: a write that came since makes its table dirty the next time.
    origin::save(context, name, &origin, &look::writes(&nodes))?;
    Ok(report)
}

fn report_of(
    state: &ClusterState,
    origin: &Origin,
    nodes: &[Node],
    changes: &[Change],
    (dirty, tables, settings): (Vec<String>, usize, Vec<PutBack>),
    dry_run: bool,
) -> Reset {
    let made = |kind: ElementKind| {
        changes.iter().filter_map(move |c| match c {
            Change::Create(e) if e.kind == kind => Some(e.path()),
            _ => None,
        })
    };
    let remade: Vec<String> = made(ElementKind::Table).collect();
    Reset {
        format: Format::new("reset", 1),
        cluster: state.plan.name.clone(),
        dry_run,
        baseline: origin.baseline.clone(),
        changes: changes.iter().map(ToString::to_string).collect(),
        untouched: tables.saturating_sub(dirty.len() + remade.len()),
        remade,
        truncated: dirty,
        refilled: Vec::new(),
        snapshots: nodes.iter().flat_map(|n| n.snapshots.clone()).collect(),
        hints: nodes
            .iter()
            .filter(|n| n.seen.hints)
            .map(|n| n.name.clone())
            .collect(),
        settings,
        roles: Vec::new(),
        lost: Vec::new(),
    }
}

fn carry_out(
    context: &Context,
    state: &ClusterState,
    nodes: &mut [Node],
    changes: &[Change],
    report: &Reset,
) -> Result<(), ClusterError> {
    let mut done = 0;
    for change in changes {
        let statement = change.statement();
        tracing::info!(statement, "reset");
        nodes[0]
            .client
            .query(&statement, Consistency::One)
            .and_then(|_| shell::agree(state))
            .map_err(|source| ResetError::Refused {
                statement: change.to_string(),
                done,
                of: changes.len() + report.truncated.len(),
                source: Box::new(source),
            })?;
        done += 1;
    }
    truncate(nodes, state, &report.truncated).map_err(|(table, more, source)| {
        ResetError::Refused {
            statement: format!("truncate {table}"),
            done: done + more,
            of: changes.len() + report.truncated.len(),
            source,
        }
    })?;
    for node in report.hints.iter() {
        let mbeans = Mbeans::of(context, state, node)?;
        mbeans.exec(HINTS, "deleteAllHints", &[])?;
    }
    settings::put_back(context, state, &report.settings)?;
    for folder in &report.snapshots {
        there(fs::remove_dir_all(folder)).map_err(ClusterError::io("a snapshot's folder"))?;
    }
    if !report.truncated.is_empty() {
        std::thread::sleep(BALLOT_GAP);
    }
    Ok(())
}

/// Truncates all tables over the connections that are there and a few more.
fn truncate(
    nodes: &mut [Node],
    state: &ClusterState,
    tables: &[String],
) -> Result<(), (String, usize, Box<ClientError>)> {
    let work = Mutex::new((tables.iter(), 0_usize));
    let failed = Mutex::new(None);
    let lane = |client: &mut Client| {
        client.set_timeout(TRUNCATE_WITHIN);
        loop {
            let next = work.lock().ok().and_then(|mut w| w.0.next());
            let Some(table) = next else { return };
            match client.query(&format!("TRUNCATE {table}"), Consistency::All) {
                Ok(_) => {
                    if let Ok(mut work) = work.lock() {
                        work.1 += 1;
                    }
                }
                Err(error) => {
                    if let Ok(mut failed) = failed.lock() {
                        failed.get_or_insert((table.clone(), Box::new(error)));
                    }
                    return;
                }
            }
        }
    };
    let more = LANES.min(tables.len()).saturating_sub(nodes.len());
    let first = state.plan.nodes.first();
    std::thread::scope(|scope| {
        for node in nodes.iter_mut().take(LANES.min(tables.len())) {
            scope.spawn(|| lane(&mut node.client));
        }
        for _ in 0..more {
            // A lane that cannot be had is only one lane less.
            if let Some(plan) = first {
                scope.spawn(|| {
                    if let Ok(mut client) = look::connect(state, plan) {
                        lane(&mut client);
                    }
                });
            }
        }
    });
    let done = work.lock().map_or(0, |w| w.1);
    match failed.into_inner() {
        Ok(Some((table, error))) => Err((table, done, error)),
        _ => Ok(()),
    }
}
