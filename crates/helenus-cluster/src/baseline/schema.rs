//! A cluster's own schema: read from a node, and made anew in another cluster.
//! Refuses to word it: the node that has it describes it.

use super::BaselineError;
use crate::error::ClusterError;
use crate::shell;
use crate::state::ClusterState;
use helenus_cql::client::{Client, ClientError};
use helenus_cql::codec::Consistency;
use helenus_cql::{Rows, split_statements};
use helenus_model::baseline::{SavedKeyspace, SavedTable, without_id};
use helenus_model::guard::is_system_keyspace;

/// What a cluster's nodes agree on.
#[derive(Debug, Clone, Default)]
pub(super) struct Schema {
    pub(super) partitioner: String,
    pub(super) keyspaces: Vec<String>,
    pub(super) tables: Vec<SavedTable>,
}

/// Reads names and ids.
pub(super) fn read(state: &ClusterState) -> Result<Schema, ClusterError> {
    if state.runtime.fake.is_some() {
        return Ok(Schema::default());
    }
    let mut client = client(state)?;
    let mut ask = |cql: &str| ask(state, &mut client, cql);
    let local = ask("SELECT partitioner FROM system.local")?;
    let rows = ask("SELECT keyspace_name FROM system_schema.keyspaces")?;
    let mut keyspaces: Vec<String> = (0..rows.len())
        .filter_map(|row| rows.text(row, "keyspace_name"))
        .filter(|name| !is_system_keyspace(name))
        .collect();
    keyspaces.sort();
    let mut tables = Vec::new();
    for (from, name) in [("tables", "table_name"), ("views", "view_name")] {
        let rows = ask(&format!(
            "SELECT keyspace_name, {name}, id FROM system_schema.{from}"
        ))?;
        tables.extend((0..rows.len()).filter_map(|row| {
            Some(SavedTable {
                keyspace: rows.text(row, "keyspace_name")?,
                table: rows.text(row, name)?,
                id: rows.text(row, "id")?.replace('-', ""),
            })
        }));
    }
    tables.retain(|t| !is_system_keyspace(&t.keyspace));
    Ok(Schema {
        partitioner: local.text(0, "partitioner").unwrap_or_default(),
        keyspaces,
        tables,
    })
}

/// The statements that make these keyspaces.
pub(super) fn describe(
    state: &ClusterState,
    keyspaces: &[String],
) -> Result<Vec<SavedKeyspace>, ClusterError> {
    if keyspaces.is_empty() {
        return Ok(Vec::new());
    }
    let mut client = client(state)?;
    let mut saved = Vec::new();
    for name in keyspaces {
        let cql = format!("DESCRIBE KEYSPACE \"{name}\" WITH INTERNALS");
        let rows = ask(state, &mut client, &cql)?;
        let texts = (0..rows.len()).filter_map(|row| rows.text(row, "create_statement"));
        let statements = texts.flat_map(|text| {
            let parts = split_statements(&without_id(&text));
            parts.into_iter().map(|s| s.text).collect::<Vec<String>>()
        });
        saved.push(SavedKeyspace {
            name: name.clone(),
            statements: statements.collect(),
        });
    }
    Ok(saved)
}

/// Drops keyspaces, then makes others; returns when all nodes agree.
pub(super) fn make(
    state: &ClusterState,
    dropped: &[String],
    made: &[SavedKeyspace],
) -> Result<(), ClusterError> {
    if state.runtime.fake.is_some() {
        return Ok(());
    }
    let mut client = client(state)?;
    let drops = dropped
        .iter()
        .map(|k| format!("DROP KEYSPACE IF EXISTS \"{k}\""));
    let makes = made.iter().flat_map(|k| k.statements.clone());
    for statement in drops.chain(makes) {
        ask(state, &mut client, &statement)?;
        shell::agree(state).map_err(|source| refused(state, &statement, source))?;
    }
    Ok(())
}

fn client(state: &ClusterState) -> Result<Client, ClusterError> {
    let mut client = shell::connect(state, None)?;
    client.set_timeout(shell::SCHEMA_WITHIN);
    Ok(client)
}

fn ask(state: &ClusterState, client: &mut Client, cql: &str) -> Result<Rows, ClusterError> {
    client
        .query(cql, Consistency::One)
        .map_err(|source| refused(state, cql, source))
}

fn refused(state: &ClusterState, statement: &str, source: ClientError) -> ClusterError {
    BaselineError::Schema {
        cluster: state.plan.name.clone(),
        statement: statement.chars().take(80).collect(),
        source: Box::new(source),
    }
    .into()
}
