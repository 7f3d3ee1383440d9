//! The statements of a profile's operations, in the order of their names.
//! Refuses unqualified tables: every statement names its keyspace, for connections have none.

use super::content::Content;
use super::query::Plan;
use super::{Kind, MakerError};
use crate::cql::CqlType;
use crate::cql::quoted;
use crate::cql::tokens::tokens;
use crate::table::{ColumnKind, Table, TableColumn, qualify};
use crate::workload::operation::Statement;
use crate::workload::profile::{Spec, VALIDATE};

/// One statement for each operation.
pub(super) fn all(
    spec: &Spec,
    content: &Content,
    name: impl Fn(usize) -> String,
) -> Result<Vec<(Statement, Kind)>, MakerError> {
    let profile = &spec.profile;
    let table = &spec.table;
    let mut found = Vec::new();
    let mut add = |cql: String, kind: Kind, own: Own| {
        let operation = name(found.len());
        let statement = Statement {
            operation,
            cql,
            consistency: own.0,
            serial_consistency: own.1,
        };
        found.push((statement, kind));
    };
    let insert = &profile.insert;
    let own = (insert.consistency, insert.serial_consistency);
    let cql = insert_text(table, insert.condition.as_deref());
    let conditional = match &insert.condition {
        Some(_) => Some(plan("insert", &cql, true, table, content)?),
        None => None,
    };
    add(cql, Kind::Insert(conditional), own);
    for (query, spec) in &profile.queries {
        let cql = qualify(&spec.cql, &profile.keyspace);
        let plan = plan(query, &cql, spec.same_row, table, content)?;
        let own = (spec.consistency, spec.serial_consistency);
        add(cql, Kind::Query(plan), own);
    }
    for (scan, spec) in &profile.token_range_queries {
        let cql = scan_text(table, scan, spec.columns.as_deref())?;
        let kind = Kind::Scan {
            page_size: spec.page_size,
            plain: true,
        };
        add(cql, kind, (None, None));
    }
    if profile.validates() {
        let cql = whole_partition(table);
        let plan = plan(VALIDATE, &cql, true, table, content)?;
        add(cql, Kind::Query(plan), (None, None));
    }
    Ok(found)
}

type Own = (
    Option<crate::consistency::Consistency>,
    Option<crate::consistency::SerialConsistency>,
);

fn plan(
    operation: &str,
    cql: &str,
    same_row: bool,
    table: &Table,
    content: &Content,
) -> Result<Plan, MakerError> {
    Plan::new(cql, same_row, table, content).map_err(|(number, name)| MakerError::Marker {
        operation: operation.to_owned(),
        number,
        name,
    })
}

fn full_name(table: &Table) -> String {
    format!("{}.{}", quoted(&table.keyspace), quoted(&table.name))
}

/// Columns that values can be made for.
fn filled(table: &Table) -> impl Iterator<Item = &TableColumn> {
    table
        .columns
        .iter()
        .filter(|c| !matches!(c.cql_type, CqlType::Custom(_)))
}

/// What `insert` sends. Only an UPDATE takes conditions on columns.
fn insert_text(table: &Table, condition: Option<&str>) -> String {
    let each = |of: &dyn Fn(&TableColumn) -> bool, text: &dyn Fn(String) -> String, by: &str| {
        let columns = filled(table).filter(|c| of(c));
        let texts: Vec<String> = columns.map(|c| text(quoted(&c.name))).collect();
        texts.join(by)
    };
    let absent = |text: &str| tokens(text).get(1).is_some_and(|t| t.is("not"));
    let (own, behind) = match condition {
        Some(text) if absent(text) => (false, format!(" {text}")),
        Some(text) => (true, format!(" {text}")),
        None => (false, String::new()),
    };
    if own {
        let sets = each(&|c| !c.kind.is_key(), &|c| format!("{c} = ?"), ", ");
        let keys = each(&|c| c.kind.is_key(), &|c| format!("{c} = ?"), " AND ");
        return format!(
            "UPDATE {} SET {sets} WHERE {keys}{behind}",
            full_name(table)
        );
    }
    if table.counts() {
        let sums = each(&|c| !c.kind.is_key(), &|c| format!("{c} = {c} + ?"), ", ");
        let keys = each(&|c| c.kind.is_key(), &|c| format!("{c} = ?"), " AND ");
        return format!("UPDATE {} SET {sums} WHERE {keys}", full_name(table));
    }
    let names = each(&|_| true, &|c| c, ", ");
    let marks = each(&|_| true, &|_| "?".to_owned(), ", ");
    format!(
        "INSERT INTO {} ({names}) VALUES ({marks}){behind}",
        full_name(table)
    )
}

fn partition_names(table: &Table) -> Vec<String> {
    let keys = table.columns.iter();
    let keys = keys.filter(|c| c.kind == ColumnKind::Partition);
    keys.map(|c| quoted(&c.name)).collect()
}

fn whole_partition(table: &Table) -> String {
    let keys = partition_names(table).join(" = ? AND ");
    format!("SELECT * FROM {} WHERE {keys} = ?", full_name(table))
}

fn scan_text(
    table: &Table,
    operation: &str,
    columns: Option<&[String]>,
) -> Result<String, MakerError> {
    let mut names = Vec::new();
    for column in columns.unwrap_or_default() {
        if table.place(column).is_none() {
            return Err(MakerError::Read {
                operation: operation.to_owned(),
                column: column.clone(),
                table: table.qualified(),
            });
        }
        names.push(quoted(column));
    }
    let list = if names.is_empty() {
        "*".to_owned()
    } else {
        names.join(", ")
    };
    let keys = partition_names(table).join(", ");
    Ok(format!(
        "SELECT {list} FROM {} WHERE token({keys}) > ? AND token({keys}) <= ?",
        full_name(table)
    ))
}
