//! The table as its SSTables need it, who holds which of its tokens, and what speaks against writing them.
//! Refuses to guess: what a table's SSTables cannot have without the server is said.

use super::super::{IngestError, LoadRequest};
use helenus_cluster::error::ClusterError;
use helenus_cluster::scan::{ScanPlace, ScanTable};
use helenus_cluster::state::ClusterState;
use helenus_cluster::{ring_view, shell};
use helenus_cql::Consistency;
use helenus_cql::client::{Client, ClientError};
use helenus_cql::rows::{Rows, plain};
use helenus_model::cql::CqlValue;
use helenus_model::ring::{Replication, TokenRange};
use helenus_sstable::{Column, Compression, Expiry, Layout};
use std::collections::BTreeMap;

/// Chunks of tables that say nothing else, since 4.0.
const CHUNK_BYTES: usize = 16 << 10;

/// Nodes that hold the same tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owners {
    /// Their names.
    pub(super) nodes: Vec<String>,
    /// First and last token of what they hold, ascending; none where it is everything.
    pub(super) ranges: Option<Vec<(i64, i64)>>,
}

impl Owners {
    pub(super) fn hold(&self, token: i64) -> bool {
        let Some(ranges) = &self.ranges else {
            return true;
        };
        let at = ranges.partition_point(|(_, last)| *last < token);
        ranges.get(at).is_some_and(|(first, _)| *first <= token)
    }
}

/// A table, as its SSTables need it.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    pub(super) layout: Layout,
    /// Targets that make the partition key, in its order.
    pub(super) partition: Vec<usize>,
    /// Targets that make the clustering, and whether each is descending.
    pub(super) clustering: Vec<(usize, bool)>,
    /// Targets of the layout's columns.
    pub(super) statics: Vec<usize>,
    pub(super) regulars: Vec<usize>,
    pub(super) compression: Compression,
    pub(super) false_positives: f64,
    pub(super) index_interval: u32,
    /// Seconds that rows live where the load does not say it.
    pub(super) ttl_s: u32,
    pub(super) owners: Vec<Owners>,
}

impl Shape {
    /// When rows of a load that started then expire.
    pub(super) fn expiry(&self, ttl_s: Option<u32>, now_s: i32) -> Option<Expiry> {
        let ttl_s = ttl_s.unwrap_or(self.ttl_s);
        (ttl_s > 0).then(|| Expiry {
            ttl_s,
            at_s: now_s.saturating_add_unsigned(ttl_s),
        })
    }
}

/// Looks at a table: its shape, or why SSTables of it cannot be written.
pub(super) fn look(
    place: &ScanPlace,
    table: &ScanTable,
    request: &LoadRequest,
) -> Result<Result<Shape, String>, IngestError> {
    let Some(state) = place.state() else {
        return Ok(Err("the cluster is not one of yours".to_owned()));
    };
    let mut client = shell::connect(state, None)?;
    let silent = |source: ClientError| ClusterError::silent(&state.plan.name, source);
    let mut ask = |cql: &str, values: &[&str]| {
        let values: Vec<Option<CqlValue>> = values
            .iter()
            .map(|text| Some(CqlValue::Text((*text).to_owned())))
            .collect();
        client
            .query_with(cql, &values, Consistency::One)
            .map_err(silent)
    };
    let names = [table.keyspace.as_str(), table.table.as_str()];
    let views = ask(
        "SELECT view_name, base_table_name FROM system_schema.views WHERE keyspace_name = ?",
        &names[..1],
    )?;
    let is_base = |row: &usize| views.text(*row, "base_table_name").as_deref() == Some(names[1]);
    if let Some(view) = (0..views.len()).find(is_base) {
        let view = views.text(view, "view_name").unwrap_or_default();
        return Ok(Err(format!(
            "the materialized view {view} would not see the rows"
        )));
    }
    let columns = ask(
        "SELECT column_name, type, kind, clustering_order FROM system_schema.columns WHERE keyspace_name = ? AND table_name = ?",
        &names,
    )?;
    let options = ask(
        "SELECT * FROM system_schema.tables WHERE keyspace_name = ? AND table_name = ?",
        &names,
    )?;
    if options.is_empty() {
        return Ok(Err("it is not a table".to_owned()));
    }
    let (compression, why_not) = compression(&options);
    if let Some(why_not) = why_not {
        return Ok(Err(why_not));
    }
    let owners = owners(table, state, &mut client)?;
    let owners = match owners {
        Ok(owners) => owners,
        Err(why) => return Ok(Err(why)),
    };
    if let Some(why) = down(&owners, place, state)? {
        return Ok(Err(why));
    }
    Ok(shape(table, request, &columns).map(|shape| Shape {
        compression,
        false_positives: number(&options, "bloom_filter_fp_chance").unwrap_or(0.01),
        index_interval: match options.value(0, "min_index_interval") {
            Some(CqlValue::Int(every)) => (*every).max(1).cast_unsigned(),
            _ => 128,
        },
        ttl_s: match options.value(0, "default_time_to_live") {
            Some(CqlValue::Int(ttl)) => (*ttl).max(0).cast_unsigned(),
            _ => 0,
        },
        owners,
        ..shape
    }))
}

fn number(options: &Rows, column: &str) -> Option<f64> {
    match options.value(0, column) {
        Some(CqlValue::Double(number)) => Some(*number),
        Some(CqlValue::Float(number)) => Some(f64::from(*number)),
        _ => None,
    }
}

/// The table's compression as far as we write it, else LZ4: each SSTable carries its own, and compaction takes the table's.
fn compression(options: &Rows) -> (Compression, Option<String>) {
    let map = |column: &str| -> BTreeMap<String, String> {
        match options.value(0, column) {
            Some(CqlValue::Map(pairs)) => pairs.iter().map(|(k, v)| (plain(k), plain(v))).collect(),
            _ => BTreeMap::new(),
        }
    };
    let flags: Vec<String> = match options.value(0, "flags") {
        Some(CqlValue::Set(flags)) => flags.iter().map(plain).collect(),
        _ => Vec::new(),
    };
    let why_not = match (
        flags.iter().any(|f| f == "counter"),
        flags.iter().any(|f| f == "compound"),
    ) {
        (true, _) => Some("it is a table of counters".to_owned()),
        (_, false) => Some("it has compact storage".to_owned()),
        _ if options.value(0, "cdc") == Some(&CqlValue::Boolean(true)) => {
            Some("change data capture would not see the rows".to_owned())
        }
        _ => None,
    };
    let compression = map("compression");
    let off = compression.get("enabled").is_some_and(|on| on == "false")
        || !compression.contains_key("class");
    let chunk_bytes = compression
        .get("chunk_length_in_kb")
        .and_then(|kb| kb.parse::<usize>().ok())
        .map(|kb| kb << 10)
        .filter(|bytes| bytes.is_power_of_two() && (4 << 10..=1 << 20).contains(bytes))
        .unwrap_or(CHUNK_BYTES);
    let is_zstd = |class: &String| class.ends_with("ZstdCompressor");
    let level = compression.get("compression_level");
    let compression = match off {
        true => Compression::None,
        false if compression.get("class").is_some_and(is_zstd) => Compression::Zstd {
            chunk_bytes,
            level: level.and_then(|level| level.parse().ok()).unwrap_or(3),
        },
        false => Compression::Lz4 { chunk_bytes },
    };
    (compression, why_not)
}

/// Groups of nodes with the same tokens.
fn owners(
    table: &ScanTable,
    state: &ClusterState,
    client: &mut Client,
) -> Result<Result<Vec<Owners>, String>, IngestError> {
    let silent = |source: ClientError| ClusterError::silent(&state.plan.name, source);
    let keyspaces = ring_view::keyspaces(client).map_err(silent)?;
    let found = keyspaces.into_iter().find(|k| k.name == table.keyspace);
    let map = found
        .map(|keyspace| keyspace.replication)
        .unwrap_or_default();
    let replication = match Replication::from_map(&map) {
        Ok(replication) => replication,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let mut groups: Vec<Owners> = Vec::new();
    for (member, (address, _)) in table.nodes.iter().enumerate() {
        let ranges = match table.ring.replica_ranges(member, &replication) {
            Ok(ranges) => ranges,
            Err(error) => return Ok(Err(error.to_string())),
        };
        if ranges.is_empty() {
            continue;
        }
        let all = ranges.len() == table.ring.tokens().len();
        let ranges = (!all).then(|| straight(&ranges));
        let node = state
            .plan
            .nodes
            .iter()
            .find(|node| *address == node.address);
        let Some(node) = node else {
            return Ok(Err(format!("{address} is not one of your nodes")));
        };
        match groups.iter_mut().find(|group| group.ranges == ranges) {
            Some(group) => group.nodes.push(node.name.clone()),
            None => groups.push(Owners {
                nodes: vec![node.name.clone()],
                ranges,
            }),
        }
    }
    Ok(Ok(groups))
}

/// First and last tokens, ascending; the range that wraps is two.
fn straight(ranges: &[TokenRange]) -> Vec<(i64, i64)> {
    let mut straight = Vec::new();
    for range in ranges {
        match (range.start.checked_add(1), range.start < range.end) {
            (Some(first), true) => straight.push((first, range.end)),
            (first, _) => {
                straight.push((i64::MIN, range.end));
                straight.extend(first.map(|first| (first, i64::MAX)));
            }
        }
    }
    straight.sort_unstable();
    straight
}

/// A node that has to take SSTables and cannot.
fn down(
    owners: &[Owners],
    place: &ScanPlace,
    state: &ClusterState,
) -> Result<Option<String>, IngestError> {
    let (up, _) = place.doors()?;
    let lacks = |name: &&String| {
        let node = state.plan.nodes.iter().find(|node| node.name == **name);
        node.is_none_or(|node| !up.iter().any(|address| address.ip() == node.address))
    };
    let down = owners.iter().flat_map(|group| &group.nodes).find(lacks);
    Ok(down.map(|name| format!("{name} does not answer, and cannot take its SSTables")))
}

fn shape(table: &ScanTable, request: &LoadRequest, columns: &Rows) -> Result<Shape, String> {
    let targets = &request.mapping.targets;
    let at = |name: &str| targets.iter().position(|target| target.name == name);
    let row = |name: &str| {
        (0..columns.len()).find(|row| columns.text(*row, "column_name").as_deref() == Some(name))
    };
    let text = |name: &str, column: &str| {
        let row = row(name);
        row.and_then(|row| columns.text(row, column))
            .unwrap_or_default()
    };
    let partition: Option<Vec<usize>> = table.partition_key.iter().map(|name| at(name)).collect();
    let clustering: Option<Vec<(usize, bool)>> = table
        .clustering
        .iter()
        .map(|name| Some((at(name)?, text(name, "clustering_order") == "desc")))
        .collect();
    let (Some(partition), Some(clustering)) = (partition, clustering) else {
        return Err("a column of the key is missing".to_owned());
    };
    let of = |is_static: bool| -> Vec<Column> {
        let chosen = targets
            .iter()
            .filter(|target| !target.key && target.is_static == is_static);
        chosen
            .map(|target| Column {
                name: target.name.clone(),
                ty: target.ty.clone(),
                multi_cell: at(&target.name).is_some_and(|at| request.is_multi_cell(at)),
            })
            .collect()
    };
    let layout = Layout::new(
        partition.iter().map(|at| targets[*at].ty.clone()).collect(),
        clustering
            .iter()
            .map(|(at, descending)| (targets[*at].ty.clone(), *descending))
            .collect(),
        of(true),
        of(false),
    );
    let layout = layout.map_err(|error| error.to_string())?;
    let places = |columns: &[Column]| {
        columns
            .iter()
            .filter_map(|column| at(&column.name))
            .collect()
    };
    Ok(Shape {
        statics: places(layout.statics()),
        regulars: places(layout.regulars()),
        layout,
        partition,
        clustering,
        compression: Compression::None,
        false_positives: 0.01,
        index_interval: 128,
        ttl_s: 0,
        owners: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_wrap_hold_both_ends_of_the_ring() {
        let range = |start, end| TokenRange { start, end };
        let owners = |ranges: &[TokenRange]| Owners {
            nodes: Vec::new(),
            ranges: Some(straight(ranges)),
        };
        let one = owners(&[range(100, -100), range(0, 50)]);
        let held = |owners: &Owners| {
            let tokens = [i64::MIN, -100, -99, 0, 1, 50, 51, 100, 101, i64::MAX];
            tokens.map(|token| u8::from(owners.hold(token)))
        };
        assert_eq!(held(&one), [1, 1, 0, 0, 1, 1, 0, 0, 1, 1]);
        let to_the_end = owners(&[range(i64::MAX, -100)]);
        assert_eq!(held(&to_the_end), [1, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        let all = Owners {
            nodes: Vec::new(),
            ranges: None,
        };
        assert_eq!(held(&all), [1; 10]);
    }
}
