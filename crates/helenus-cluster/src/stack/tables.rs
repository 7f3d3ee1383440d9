//! Rows and checksums of a cluster's tables, when it is saved and when it came back.
//! Refuses to compare tables that were not read whole.

use super::{SavedTable, StackError};
use crate::context::Context;
use crate::error::ClusterError;
use crate::scan::count::{CountRequest, count};
use crate::scan::{Gentleness, ScanPlace, look};
use crate::shell;
use crate::state::ClusterState;
use helenus_cql::codec::Consistency;
use helenus_model::cql::identifier;
use helenus_model::stack::{Part, Stack};
use helenus_model::status::is_own_keyspace;
use serde::Serialize;
use std::path::Path;

/// One table, as it was saved and as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Compared {
    /// `keyspace.table`.
    pub table: String,
    /// As it was saved.
    pub saved: Side,
    /// As it is; absent where there is no such table.
    pub now: Option<Side>,
    /// Whether both are the same.
    pub equal: bool,
}

/// Rows of a table and their checksum.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Side {
    /// Rows.
    pub rows: u64,
    /// Sum of the rows' hashes, sixteen hexadecimal digits.
    pub checksum: String,
}

/// A part that a verb needs.
pub(super) fn has(stack: &Stack, state: &ClusterState, part: Part) -> Result<(), StackError> {
    match stack.has(part) {
        true => Ok(()),
        false => Err(StackError::Without {
            cluster: state.plan.name.clone(),
            part: part.as_str(),
        }),
    }
}

/// The tables of a person's keyspaces, `keyspace.table`, quoted where CQL needs that.
pub(super) fn names(state: &ClusterState) -> Result<Vec<String>, ClusterError> {
    let mut client = shell::connect(state, None)?;
    let asked = "SELECT keyspace_name, table_name FROM system_schema.tables";
    let rows = client.query(asked, Consistency::One);
    let rows = rows.map_err(|source| ClusterError::silent(&state.plan.name, source))?;
    let all = (0..rows.rows.len()).filter_map(|row| {
        let keyspace = rows.text(row, "keyspace_name")?;
        let table = rows.text(row, "table_name")?;
        let theirs = !is_own_keyspace(&keyspace);
        theirs.then(|| format!("{}.{}", identifier(&keyspace), identifier(&table)))
    });
    let mut names: Vec<String> = all.collect();
    names.sort();
    Ok(names)
}

/// Rows and checksums of these tables.
pub(super) fn read(
    context: &Context,
    state: &ClusterState,
    names: &[String],
    at: &mut dyn FnMut(&str, usize),
) -> Result<Vec<SavedTable>, ClusterError> {
    let place = ScanPlace::ours(state)?;
    let request = CountRequest {
        partitions: None,
        all: false,
        checksum: true,
        gentleness: Gentleness {
            parallel: None,
            rate: None,
            consistency: Consistency::Quorum,
        },
        resume: false,
        fresh: true,
        journals: super::folder(Path::new(&state.plan.folder)).join("counts"),
    };
    let mut tables = Vec::new();
    for (done, name) in names.iter().enumerate() {
        at(name, done);
        let table = look(&place, name)?;
        let counted = count(&place, &table, &request, &context.cancel, &mut |_| {})?;
        if !counted.complete {
            return Err(StackError::Interrupted.into());
        }
        tables.push(SavedTable {
            table: name.clone(),
            rows: counted.rows,
            checksum: counted.checksum.unwrap_or_default(),
        });
    }
    Ok(tables)
}

/// Tables as they were saved, beside those of a cluster as they are.
///
/// # Errors
/// A table cannot be read.
pub fn compare(
    context: &Context,
    state: &ClusterState,
    saved: &[SavedTable],
    at: &mut dyn FnMut(&str, usize),
) -> Result<Vec<Compared>, ClusterError> {
    let there = names(state)?;
    let wanted: Vec<String> = saved
        .iter()
        .map(|table| table.table.clone())
        .filter(|name| there.contains(name))
        .collect();
    let now = read(context, state, &wanted, at)?;
    let compared = saved.iter().map(|table| {
        let side = |table: &SavedTable| Side {
            rows: table.rows,
            checksum: table.checksum.clone(),
        };
        let found = now.iter().find(|one| one.table == table.table);
        Compared {
            table: table.table.clone(),
            saved: side(table),
            now: found.map(side),
            equal: found == Some(table),
        }
    });
    Ok(compared.collect())
}
