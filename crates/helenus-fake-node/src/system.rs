//! The system's tables as a serving stand-in answers them: itself, and what was created on it.
//! Refuses conditions: each table is given whole.

use crate::me::{Me, has_table, host_id};
use crate::tables::Table;
use helenus_cql::codec::ColumnSpec;
use helenus_cql::codec::result::Row;
use helenus_model::cql::{CqlType, CqlValue};
use std::net::IpAddr;

/// A keyspace as it was created.
#[derive(Debug)]
pub(crate) struct Keyspace {
    pub(crate) name: String,
    pub(crate) replication: Vec<(String, String)>,
}

/// The columns of `SELECT * FROM system.local`.
const LOCAL: [&str; 11] = [
    "key",
    "broadcast_address",
    "broadcast_port",
    "cluster_name",
    "data_center",
    "host_id",
    "rack",
    "release_version",
    "rpc_address",
    "schema_version",
    "tokens",
];

/// Columns and rows of one of the system's tables; none where there is no such table.
pub(crate) fn read(
    me: &Me,
    keyspaces: &[Keyspace],
    tables: &[Table],
    (table, wanted): (&str, &[String]),
) -> Option<(Vec<ColumnSpec>, Vec<Row>)> {
    let (keyspace, name) = table.split_once('.')?;
    if name.starts_with("scylla_") || !has_table(&me.release, table) {
        return None;
    }
    let local = LOCAL.map(str::to_owned);
    let wanted = match table {
        "system.local" if wanted.is_empty() => &local[..],
        _ => wanted,
    };
    let row = |cell: &dyn Fn(&str) -> Option<CqlValue>| -> Row {
        wanted.iter().map(|column| cell(column)).collect()
    };
    let rows = match table {
        "system.local" => vec![row(&|column| local_cell(me, column))],
        "system_schema.keyspaces" => {
            let each = keyspaces.iter();
            each.map(|k| row(&|column| keyspace_cell(k, column)))
                .collect()
        }
        "system_schema.tables" => {
            let each = tables.iter();
            each.map(|t| row(&|column| table_cell(t, column))).collect()
        }
        "system_schema.columns" => tables
            .iter()
            .flat_map(|t| (0..t.columns.len()).map(move |place| (t, place)))
            .map(|(t, place)| row(&|column| column_cell(t, place, column)))
            .collect(),
        _ => Vec::new(),
    };
    let spec = |column: &String| ColumnSpec {
        keyspace: keyspace.to_owned(),
        table: name.to_owned(),
        name: column.clone(),
        ty: type_of(column),
    };
    Some((wanted.iter().map(spec).collect(), rows))
}

fn type_of(column: &str) -> CqlType {
    let text = || Box::new(CqlType::Text);
    match column {
        "host_id" | "schema_version" | "session_id" => CqlType::Uuid,
        "broadcast_address" | "rpc_address" | "listen_address" | "peer" | "address" => {
            CqlType::Inet
        }
        "broadcast_port" | "peer_port" | "position" => CqlType::Int,
        "durable_writes" => CqlType::Boolean,
        "tokens" => CqlType::Set(text()),
        "replication" => CqlType::Map(text(), text()),
        "field_names" | "field_types" => CqlType::List(text()),
        _ => CqlType::Text,
    }
}

fn text(said: &str) -> Option<CqlValue> {
    Some(CqlValue::Text(said.to_owned()))
}

fn local_cell(me: &Me, column: &str) -> Option<CqlValue> {
    let node = &me.node;
    match column {
        "key" => text("local"),
        "host_id" => Some(CqlValue::Uuid(host_id(&node.name))),
        "schema_version" => Some(CqlValue::Uuid([9; 16])),
        "broadcast_address" | "rpc_address" | "listen_address" => {
            Some(CqlValue::Inet(IpAddr::from(node.address)))
        }
        "broadcast_port" => Some(CqlValue::Int(7000)),
        "cluster_name" => text(&me.cluster),
        "data_center" => text(&node.data_center),
        "partitioner" => text("org.apache.cassandra.dht.Murmur3Partitioner"),
        "rack" => text(&node.rack),
        "release_version" => text(&me.release),
        "tokens" => {
            let tokens = node.tokens.iter();
            let tokens = tokens.map(|token| CqlValue::Text(token.to_string()));
            Some(CqlValue::Set(tokens.collect()))
        }
        _ => None,
    }
}

fn keyspace_cell(keyspace: &Keyspace, column: &str) -> Option<CqlValue> {
    match column {
        "keyspace_name" => text(&keyspace.name),
        "durable_writes" => Some(CqlValue::Boolean(true)),
        "replication" => {
            let pairs = keyspace.replication.iter();
            let pairs = pairs.map(|(k, v)| (CqlValue::Text(k.clone()), CqlValue::Text(v.clone())));
            Some(CqlValue::Map(pairs.collect()))
        }
        _ => None,
    }
}

fn table_cell(table: &Table, column: &str) -> Option<CqlValue> {
    match column {
        "keyspace_name" => text(&table.keyspace),
        "table_name" => text(&table.name),
        _ => None,
    }
}

fn column_cell(table: &Table, place: usize, column: &str) -> Option<CqlValue> {
    let among = |key: &[usize]| key.iter().position(|at| *at == place);
    let (kind, position) = match (among(&table.partition), among(&table.clustering)) {
        (Some(at), _) => ("partition_key", at as i32),
        (None, Some(at)) => ("clustering", at as i32),
        (None, None) => ("regular", -1),
    };
    match column {
        "column_name" => text(&table.columns[place].0),
        "kind" => text(kind),
        "position" => Some(CqlValue::Int(position)),
        "type" => text(&table.columns[place].1.to_string()),
        _ => table_cell(table, column),
    }
}
