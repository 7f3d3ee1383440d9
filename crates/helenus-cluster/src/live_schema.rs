//! Some of a live table's partitions: for profiles of a table that is there already.
//! Refuses to write, and to read more than it was asked for.

use helenus_cql::client::{Client, ClientError};
use helenus_cql::codec::Consistency;
use helenus_model::cql::CqlValue;
use helenus_model::cql::quoted;
use helenus_model::seed::Seed;
use helenus_model::table::{ColumnKind, Table};

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
