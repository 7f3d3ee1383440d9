//! A table as a live cluster has it, and some of its partitions: for profiles of a table that is there already.
//! Refuses to write, and to read more than it was asked for.

use helenus_cql::Rows;
use helenus_cql::client::{Client, ClientError};
use helenus_cql::codec::Consistency;
use helenus_cql::rows::plain;
use helenus_model::cql::CqlValue;
use helenus_model::nearest::nearest;
use helenus_model::seed::Seed;
use helenus_model::table::{ColumnKind, Described, SchemaColumn, SchemaTypes, Table, described};

/// Why a table cannot be described.
#[derive(Debug, thiserror::Error)]
pub enum LiveSchemaError {
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

impl LiveSchemaError {
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
pub fn table(
    client: &mut Client,
    keyspace: &str,
    table: &str,
) -> Result<Described, LiveSchemaError> {
    let text = |name: &str| Some(CqlValue::Text(name.to_owned()));
    let columns = client.query_with(
        "SELECT column_name, type, kind, position, clustering_order FROM system_schema.columns \
         WHERE keyspace_name = ? AND table_name = ?",
        &[text(keyspace), text(table)],
        Consistency::One,
    )?;
    let columns: Vec<SchemaColumn> = (0..columns.len())
        .filter_map(|r| column(&columns, r))
        .collect();
    if columns.is_empty() {
        return Err(LiveSchemaError::Absent {
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
    described(keyspace, table, columns, &types).map_err(|source| LiveSchemaError::Table {
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

/// How many partitions and how many rows of each are looked at.
#[derive(Debug, Clone, Copy)]
pub struct Sampling {
    /// Partitions at most.
    pub partitions: u32,
    /// Rows of one partition at most.
    pub rows: u32,
    /// Which partitions: the first behind each of these random tokens.
    pub seed: Seed,
}

/// Reads partitions at random tokens, at LOCAL_ONE, and hands each one's rows over, cells by the table's column order.
/// `stop` is asked before each.
///
/// # Errors
/// A node does not answer in time.
pub fn sample(
    client: &mut Client,
    table: &Table,
    how: Sampling,
    stop: impl Fn() -> bool,
    mut take: impl FnMut(Vec<Vec<Option<CqlValue>>>),
) -> Result<(), ClientError> {
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let name = format!("{}.{}", quoted(&table.keyspace), quoted(&table.name));
    let keys: Vec<String> = table
        .columns
        .iter()
        .filter(|c| c.kind == ColumnKind::Partition)
        .map(|c| quoted(&c.name))
        .collect();
    let columns: Vec<String> = table.columns.iter().map(|c| quoted(&c.name)).collect();
    let list = keys.join(", ");
    let first = client.prepare(&format!(
        "SELECT {list} FROM {name} WHERE token({list}) >= ? LIMIT 1"
    ))?;
    let whole = client.prepare(&format!(
        "SELECT {} FROM {name} WHERE {} = ? LIMIT {}",
        columns.join(", "),
        keys.join(" = ? AND "),
        how.rows
    ))?;
    let mut seen = Vec::new();
    for number in 0..u64::from(how.partitions) {
        if stop() {
            break;
        }
        let token = CqlValue::Bigint(how.seed.at(number).cast_signed());
        let found = client.execute(&first, &[Some(token)], Consistency::LocalOne)?;
        let Some(key) = found.rows.into_iter().next() else {
            continue;
        };
        if seen.contains(&key) {
            continue;
        }
        let rows = client.execute(&whole, &key, Consistency::LocalOne)?;
        seen.push(key);
        take(rows.rows);
    }
    Ok(())
}
