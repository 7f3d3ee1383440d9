//! The look before a scan: the cluster's name, its ring, and the table with its keys.
//! Refuses tables that have no ranges, and rings of another partitioner.

use super::{ScanError, ScanPlace};
use crate::error::ClusterError;
use crate::ring_view;
use helenus_cql::client::{Client, ClientError};
use helenus_cql::codec::Consistency;
use helenus_cql::rows::Rows;
use helenus_model::cql::{CqlValue, identifier, uuid_text};
use helenus_model::nearest::nearest;
use helenus_model::ring::{Member, Ring};
use std::net::IpAddr;

/// Keyspaces whose tables each node has for itself; of the last two the schema does not speak.
const EACH_NODE_S: [&str; 4] = [
    "system",
    "system_schema",
    "system_views",
    "system_virtual_schema",
];

/// A table and the ring that it lies on.
#[derive(Debug, Clone)]
pub struct ScanTable {
    /// The cluster's own name.
    pub cluster_name: String,
    /// Keyspace, as the server spells it.
    pub keyspace: String,
    /// Table, as the server spells it.
    pub table: String,
    /// Its id.
    pub id: String,
    /// Columns of the partition key, in order.
    pub partition_key: Vec<String>,
    /// Clustering columns, in order.
    pub clustering: Vec<String>,
    /// All columns: key, then the others by name.
    pub columns: Vec<String>,
    /// The ring; its members stand in the order of [`Self::nodes`].
    pub ring: Ring,
    /// Address and data centre of each node, by data centre and address.
    pub nodes: Vec<(IpAddr, String)>,
}

impl ScanTable {
    /// `keyspace.table`, quoted where CQL needs that.
    pub fn name(&self) -> String {
        format!("{}.{}", identifier(&self.keyspace), identifier(&self.table))
    }

    /// Names with commas, quoted where CQL needs that.
    pub(super) fn list(names: &[String]) -> String {
        let names: Vec<String> = names.iter().map(|name| identifier(name)).collect();
        names.join(", ")
    }

    /// `SELECT what FROM this table` of a span of tokens: two markers.
    pub(super) fn select(&self, what: &str) -> String {
        let token = self.token();
        format!(
            "SELECT {what} FROM {} WHERE {token} > ? AND {token} <= ?",
            self.name()
        )
    }

    /// `token(…)` of the partition key.
    pub(super) fn token(&self) -> String {
        format!("token({})", Self::list(&self.partition_key))
    }
}

/// Looks at a table, by `keyspace.table`.
///
/// # Errors
/// No such table, one without ranges, another partitioner, or no node answers.
pub fn look(place: &ScanPlace, table: &str) -> Result<ScanTable, ClusterError> {
    let silent = |source: ClientError| ClusterError::silent(place.address(0).to_string(), source);
    let (keyspace, table) = split(table).ok_or_else(|| ScanError::Form {
        text: table.to_owned(),
    })?;
    let lower = keyspace.text.to_lowercase();
    if EACH_NODE_S.contains(&lower.as_str()) {
        return Err(ScanError::EachNodeS { keyspace: lower }.into());
    }
    let mut client = place.connect(0).map_err(silent)?;
    let mut ask = |cql: &str, values: &[Option<CqlValue>]| {
        client
            .query_with(cql, values, Consistency::One)
            .map_err(silent)
    };
    let text = |text: &str| Some(CqlValue::Text(text.to_owned()));
    let rows = ask(
        "SELECT keyspace_name, replication FROM system_schema.keyspaces",
        &[],
    )?;
    let keyspace =
        known(&rows, "keyspace_name", &keyspace).map_err(|nearest| ScanError::UnknownKeyspace {
            name: keyspace.text,
            nearest,
        })?;
    let mut tables = ask(
        "SELECT table_name, id FROM system_schema.tables WHERE keyspace_name = ?",
        &[text(&keyspace)],
    )?;
    let views = ask(
        "SELECT view_name, id FROM system_schema.views WHERE keyspace_name = ?",
        &[text(&keyspace)],
    )?;
    tables.rows.extend(views.rows);
    let table =
        known(&tables, "table_name", &table).map_err(|nearest| ScanError::UnknownTable {
            keyspace: keyspace.clone(),
            name: table.text,
            nearest,
        })?;
    let at = (0..tables.len()).find(|row| tables.text(*row, "table_name").as_ref() == Some(&table));
    let id = match at.and_then(|row| tables.value(row, "id")) {
        Some(CqlValue::Uuid(id) | CqlValue::Timeuuid(id)) => uuid_text(id),
        _ => String::new(),
    };
    let rows = ask(
        "SELECT column_name, kind, position FROM system_schema.columns WHERE keyspace_name = ? AND table_name = ?",
        &[text(&keyspace), text(&table)],
    )?;
    let partition_key = of_kind(&rows, "partition_key");
    let clustering = of_kind(&rows, "clustering");
    let others = [of_kind(&rows, "static"), of_kind(&rows, "regular")].concat();
    let (cluster_name, nodes, ring) = ring(&mut client, silent)?;
    Ok(ScanTable {
        cluster_name,
        columns: [partition_key.clone(), clustering.clone(), others].concat(),
        keyspace,
        table,
        id,
        partition_key,
        clustering,
        ring,
        nodes,
    })
}

pub(super) type Ringed = (String, Vec<(IpAddr, String)>, Ring);

pub(super) fn ring(
    client: &mut Client,
    silent: impl Fn(ClientError) -> ClusterError,
) -> Result<Ringed, ClusterError> {
    let cluster_name = client
        .query("SELECT cluster_name FROM system.local", Consistency::One)
        .map_err(&silent)?
        .text(0, "cluster_name")
        .unwrap_or_default();
    let mut view = ring_view::view(client).map_err(&silent)?;
    if let Some(name) = view.other_partitioner {
        return Err(ScanError::Partitioner { name }.into());
    }
    // Whoever was asked comes first in the view: another one may be asked when a count goes on.
    view.nodes
        .sort_by(|a, b| (&a.data_center, a.address).cmp(&(&b.data_center, b.address)));
    let members = view.nodes.iter().map(|node| Member {
        data_center: node.data_center.clone(),
        rack: node.rack.clone(),
        tokens: node.tokens.clone(),
    });
    let ring = Ring::new(members.collect()).map_err(ScanError::Ring)?;
    if ring.tokens().is_empty() {
        return Err(ScanError::NoTokens.into());
    }
    let nodes = view
        .nodes
        .into_iter()
        .map(|node| (node.address, node.data_center));
    Ok((cluster_name, nodes.collect(), ring))
}

/// Names of a kind, by position, and then by name.
fn of_kind(rows: &Rows, kind: &str) -> Vec<String> {
    let mut found: Vec<(i32, String)> = (0..rows.len())
        .filter(|row| rows.text(*row, "kind").as_deref() == Some(kind))
        .filter_map(|row| {
            let position = match rows.value(row, "position") {
                Some(CqlValue::Int(position)) => *position,
                _ => -1,
            };
            Some((position, rows.text(row, "column_name")?))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, name)| name).collect()
}

/// A name as it was typed.
#[derive(Debug, PartialEq, Eq)]
struct Typed {
    text: String,
    quoted: bool,
}

/// `ks.t`, `"Ks"."T"`.
fn split(text: &str) -> Option<(Typed, Typed)> {
    let (keyspace, rest) = one(text)?;
    let (table, rest) = one(rest.strip_prefix('.')?)?;
    rest.is_empty().then_some((keyspace, table))
}

fn one(text: &str) -> Option<(Typed, &str)> {
    let (name, rest, quoted) = match text.strip_prefix('"') {
        Some(inner) => {
            let (name, rest) = inner.split_once('"')?;
            (name, rest, true)
        }
        None => {
            let end = text.find('.').unwrap_or(text.len());
            (&text[..end], &text[end..], false)
        }
    };
    let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let text = name.to_owned();
    plain.then_some((Typed { text, quoted }, rest))
}

/// The name as the server spells it: as typed, or in lower case where it was not quoted; else the nearest.
fn known(rows: &Rows, column: &str, typed: &Typed) -> Result<String, Option<String>> {
    let names: Vec<String> = (0..rows.len())
        .filter_map(|row| rows.text(row, column))
        .collect();
    let lower = typed.text.to_lowercase();
    let found = names
        .iter()
        .find(|name| **name == typed.text)
        .or_else(|| names.iter().find(|name| !typed.quoted && **name == lower));
    match found {
        Some(name) => Ok(name.clone()),
        None => Err(nearest(&typed.text, names.iter().map(String::as_str)).map(str::to_owned)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_as_cql_has_them() {
        let typed = |text: &str| Typed {
            text: text.into(),
            quoted: false,
        };
        let quoted = |text: &str| Typed {
            text: text.into(),
            quoted: true,
        };
        assert_eq!(split("ks.t"), Some((typed("ks"), typed("t"))));
        assert_eq!(split("\"Ks\".t"), Some((quoted("Ks"), typed("t"))));
        assert_eq!(split("\"Ks\".\"T\""), Some((quoted("Ks"), quoted("T"))));
        for wrong in ["", "t", "ks.", ".t", "a.b.c", "\"ks.t", "ks t", "ks.t;"] {
            assert_eq!(split(wrong), None, "{wrong}");
        }
    }
}
