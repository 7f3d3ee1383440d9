//! A table as a live server has it.
//! Refuses to write.

use crate::client::{Client, ClientError};
use crate::codec::Consistency;
use crate::rows::{Rows, plain};
use helenus_model::cql::CqlValue;
use helenus_model::nearest::nearest;
use helenus_model::table::{Described, SchemaColumn, SchemaTypes, described};

/// Why a table cannot be described.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// The node does not answer.
    #[error("system_schema cannot be read")]
    Client(#[from] ClientError),
    /// There is no such table.
    #[error("no such table: {keyspace}.{table}")]
    Absent {
        /// Keyspace.
        keyspace: String,
        /// Table.
        table: String,
        /// The nearest that there is.
        near: Option<String>,
    },
    /// A type that is not understood.
    #[error("cannot interpret a column of {table}")]
    Table {
        /// The table.
        table: String,
        /// Which, and why.
        source: helenus_model::table::TableError,
    },
}

impl SchemaError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Absent { near, .. } => near.as_ref().map(|near| format!("did you mean {near}?")),
            _ => None,
        }
    }
}

/// A table with the statements that would make it; `keyspace` and `table` as the server stores their names.
///
/// # Errors
/// The node does not answer, there is no such table, or a type is not understood.
pub fn table(client: &mut Client, keyspace: &str, table: &str) -> Result<Described, SchemaError> {
    let text = |name: &str| Some(CqlValue::Text(name.to_owned()));
    let columns = client.query_with(
        "SELECT keyspace_name, table_name, column_name, type, kind, position, clustering_order \
         FROM system_schema.columns WHERE keyspace_name = ? AND table_name = ?",
        &[text(keyspace), text(table)],
        Consistency::One,
    )?;
    let columns: Vec<SchemaColumn> = (0..columns.len())
        .filter(|r| columns.text(*r, "keyspace_name").as_deref() == Some(keyspace))
        .filter(|r| columns.text(*r, "table_name").as_deref() == Some(table))
        .filter_map(|r| column(&columns, r))
        .collect();
    if columns.is_empty() {
        return Err(SchemaError::Absent {
            near: near(client, keyspace, table)?,
            keyspace: keyspace.to_owned(),
            table: table.to_owned(),
        });
    }
    let types = client.query_with(
        "SELECT type_name, field_names, field_types FROM system_schema.types WHERE keyspace_name = ?",
        &[text(keyspace)],
        Consistency::One,
    )?;
    let types: SchemaTypes = (0..types.len())
        .filter_map(|r| user_type(&types, r))
        .collect();
    described(keyspace, table, columns, &types).map_err(|source| SchemaError::Table {
        table: format!("{keyspace}.{table}"),
        source,
    })
}

fn column(rows: &Rows, row: usize) -> Option<SchemaColumn> {
    let position = match rows.value(row, "position")? {
        CqlValue::Int(position) => *position,
        _ => -1,
    };
    Some(SchemaColumn {
        name: rows.text(row, "column_name")?,
        cql_type: rows.text(row, "type")?,
        kind: rows.text(row, "kind")?,
        order: rows.text(row, "clustering_order").unwrap_or_default(),
        position,
    })
}

fn user_type(rows: &Rows, row: usize) -> Option<(String, Vec<(String, String)>)> {
    let list = |column: &str| match rows.value(row, column)? {
        CqlValue::List(all) => Some(all.iter().map(plain).collect::<Vec<_>>()),
        _ => None,
    };
    let fields = list("field_names")?.into_iter().zip(list("field_types")?);
    Some((rows.text(row, "type_name")?, fields.collect()))
}

fn near(client: &mut Client, keyspace: &str, table: &str) -> Result<Option<String>, ClientError> {
    let rows = client.query(
        "SELECT keyspace_name, table_name FROM system_schema.tables",
        Consistency::One,
    )?;
    let all = (0..rows.len()).filter_map(|row| {
        let keyspace = rows.text(row, "keyspace_name")?;
        Some(format!("{keyspace}.{}", rows.text(row, "table_name")?))
    });
    let all: Vec<String> = all.collect();
    let wanted = format!("{keyspace}.{table}");
    Ok(nearest(&wanted, all.iter().map(String::as_str)).map(str::to_owned))
}
