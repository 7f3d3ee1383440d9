//! A table as `system_schema` has it, and the statements that would make it again.
//! Refuses options of storage: they are the server's, and the definition leaves them out.

use super::{ColumnKind, Table, TableColumn, TableError, read_type};
use crate::cql::{CqlType, identifier};
use std::collections::BTreeMap;

/// A row of `system_schema.columns`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaColumn {
    /// `column_name`.
    pub name: String,
    /// `type`.
    pub cql_type: String,
    /// `kind`: `partition_key`, `clustering`, `static` or `regular`.
    pub kind: String,
    /// `clustering_order`: `asc`, `desc` or `none`.
    pub order: String,
    /// `position`; -1 where it is not in the key.
    pub position: i32,
}

/// The user types of a keyspace: fields with their types, by name.
pub type SchemaTypes = BTreeMap<String, Vec<(String, String)>>;

/// An existing table, and how it would be made again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    /// Keys and types.
    pub table: Table,
    /// Its CREATE TABLE.
    pub definition: String,
    /// CREATE TYPE of the user types that it holds, those first that others are made of.
    pub types: Vec<String>,
}

/// Puts a table together from the rows of `system_schema`.
///
/// # Errors
/// A type that is not understood.
pub fn described(
    keyspace: &str,
    name: &str,
    mut columns: Vec<SchemaColumn>,
    types: &SchemaTypes,
) -> Result<Described, TableError> {
    let place = |kind: &str| match kind {
        "partition_key" => 0,
        "clustering" => 1,
        "static" => 2,
        _ => 3,
    };
    columns.sort_by(|a, b| {
        let key = |c: &SchemaColumn| (place(&c.kind), c.position);
        key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
    });
    let mut found = Vec::new();
    for column in &columns {
        let kind = match (column.kind.as_str(), column.order.as_str()) {
            ("partition_key", _) => ColumnKind::Partition,
            ("clustering", "desc") => ColumnKind::ClusteringDescending,
            ("clustering", _) => ColumnKind::Clustering,
            ("static", _) => ColumnKind::Static,
            _ => ColumnKind::Regular,
        };
        found.push(TableColumn {
            name: column.name.clone(),
            cql_type: read_type(&column.cql_type, keyspace, types)?,
            kind,
        });
    }
    let table = Table {
        keyspace: keyspace.to_owned(),
        name: name.to_owned(),
        columns: found,
    };
    let mut made = Vec::new();
    for column in &table.columns {
        user_types(&column.cql_type, types, &mut made);
    }
    Ok(Described {
        definition: definition(&table, &columns),
        types: made,
        table,
    })
}

fn definition(table: &Table, columns: &[SchemaColumn]) -> String {
    let mut lines: Vec<String> = columns
        .iter()
        .map(|c| {
            let is_static = if c.kind == "static" { " static" } else { "" };
            format!("  {} {}{is_static}", identifier(&c.name), c.cql_type)
        })
        .collect();
    let names = |of: &dyn Fn(&TableColumn) -> bool| {
        let names = table.columns.iter().filter(|c| of(c));
        names.map(|c| identifier(&c.name)).collect::<Vec<_>>()
    };
    let partition = names(&|c| c.kind == ColumnKind::Partition).join(", ");
    let clustering = names(&|c| c.kind.is_clustering());
    let behind: String = clustering.iter().map(|name| format!(", {name}")).collect();
    lines.push(format!("  PRIMARY KEY (({partition}){behind})"));
    let descending = names(&|c| c.kind == ColumnKind::ClusteringDescending);
    let order = if descending.is_empty() {
        String::new()
    } else {
        let each = clustering.iter().map(|name| {
            let down = descending.contains(name);
            format!("{name} {}", if down { "DESC" } else { "ASC" })
        });
        let each: Vec<String> = each.collect();
        format!(" WITH CLUSTERING ORDER BY ({})", each.join(", "))
    };
    let name = identifier(&table.name);
    format!("CREATE TABLE {name} (\n{}\n){order}", lines.join(",\n"))
}

/// Adds the statements of the user types within a type, the innermost first.
fn user_types(cql_type: &CqlType, types: &SchemaTypes, made: &mut Vec<String>) {
    match cql_type {
        CqlType::List(of) | CqlType::Set(of) | CqlType::Vector(of, _) => {
            user_types(of, types, made)
        }
        CqlType::Map(key, of) => {
            user_types(key, types, made);
            user_types(of, types, made);
        }
        CqlType::Tuple(all) => all.iter().for_each(|of| user_types(of, types, made)),
        CqlType::Udt { name, fields, .. } => {
            fields
                .iter()
                .for_each(|(_, of)| user_types(of, types, made));
            let Some(declared) = types.get(name) else {
                return;
            };
            let fields: Vec<String> = declared
                .iter()
                .map(|(field, of)| format!("{} {of}", identifier(field)))
                .collect();
            let text = format!("CREATE TYPE {} ({})", identifier(name), fields.join(", "));
            if !made.contains(&text) {
                made.push(text);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, cql_type: &str, kind: &str, order: &str, position: i32) -> SchemaColumn {
        SchemaColumn {
            name: name.to_owned(),
            cql_type: cql_type.to_owned(),
            kind: kind.to_owned(),
            order: order.to_owned(),
            position,
        }
    }

    #[test]
    fn what_is_described_is_read_back_the_same() {
        let columns = vec![
            column(
                "v",
                "frozen<map<text, frozen<\"Pair\">>>",
                "regular",
                "none",
                -1,
            ),
            column("Name", "text", "static", "none", -1),
            column("c2", "int", "clustering", "asc", 1),
            column("c1", "timestamp", "clustering", "desc", 0),
            column("b", "uuid", "partition_key", "none", 1),
            column("a", "text", "partition_key", "none", 0),
        ];
        let field = |name: &str, of: &str| (name.to_owned(), of.to_owned());
        let types = SchemaTypes::from([
            (
                "Pair".to_owned(),
                vec![field("x", "int"), field("y", "frozen<inner>")],
            ),
            ("inner".to_owned(), vec![field("z", "vector<float, 2>")]),
            ("other".to_owned(), vec![field("z", "int")]),
        ]);
        let made = described("ks", "t", columns, &types).expect("a table");
        insta::assert_snapshot!(format!("{}\n{}", made.definition, made.types.join("\n")), @r#"
        CREATE TABLE t (
          a text,
          b uuid,
          c1 timestamp,
          c2 int,
          "Name" text static,
          v frozen<map<text, frozen<"Pair">>>,
          PRIMARY KEY ((a, b), c1, c2)
        ) WITH CLUSTERING ORDER BY (c1 DESC, c2 ASC)
        CREATE TYPE inner (z vector<float, 2>)
        CREATE TYPE "Pair" (x int, y frozen<inner>)
        "#);
        let statements = made.types.iter().chain([&made.definition]);
        let again = Table::read("ks", statements.map(String::as_str)).expect("a table");
        assert_eq!(again, made.table);
    }
}
