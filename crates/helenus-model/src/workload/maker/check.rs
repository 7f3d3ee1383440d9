//! Rows that came back, against what must have been written.
//! Refuses to call a row missing or a cell wrong that a query of the profile may have changed.

use super::Filled;
use super::content::{Partition, RowKey};
use super::query::Plan;
use crate::cql::CqlValue;
use crate::workload::Check;

/// Rows that an endpoint may have cut an answer to: the first page of most drivers.
const PAGE: usize = 5_000;

/// Which column of the table each column of an answer is.
struct Shape {
    places: Vec<Option<usize>>,
    /// Where in the answer each column of the primary key is; none where one of that part is not there.
    partition: Option<Vec<usize>>,
    clustering: Option<Vec<usize>>,
}

impl Shape {
    fn new(filled: &Filled, columns: &[&str]) -> Self {
        let content = &filled.content;
        let table = &filled.spec.table;
        let keys = content.partition_columns;
        let within = |from: usize, to: usize| {
            let names = table.columns[from..to].iter();
            names
                .map(|c| columns.iter().position(|name| *name == c.name))
                .collect::<Option<Vec<_>>>()
        };
        Self {
            places: columns.iter().map(|name| table.place(name)).collect(),
            partition: within(0, keys),
            clustering: within(keys, keys + content.clustering_columns),
        }
    }
}

/// The values of some columns of a row; none where one is null.
fn taken(row: &[Option<CqlValue>], places: &[usize]) -> Option<Vec<CqlValue>> {
    places.iter().map(|at| row.get(*at).cloned()?).collect()
}

/// An answer to a query.
pub(super) fn read(
    filled: &Filled,
    plan: &Plan,
    partition: &Partition,
    index: u64,
    columns: &[&str],
    rows: &[Vec<Option<CqlValue>>],
) -> Check {
    let content = &filled.content;
    if plan.certain && filled.complete && rows.is_empty() {
        return Check::Missing;
    }
    if !plan.plain {
        return Check::Match;
    }
    let shape = Shape::new(filled, columns);
    let named = plan.one_row.then(|| plan.row(content, partition, index));
    for row in rows {
        let own = shape.partition.as_ref().and_then(|at| taken(row, at));
        let digest = match (&own, plan.certain) {
            (Some(key), _) => content.partition_digest(key),
            (None, true) => partition.digest,
            (None, false) => continue,
        };
        if let (Some(key), true, Some(at)) = (&own, plan.certain, &shape.partition) {
            let differs = key.iter().zip(&partition.key).position(|(a, b)| a != b);
            if let Some(differs) = differs {
                return Check::Wrong {
                    column: at[differs],
                };
            }
        }
        let clustering = shape.clustering.as_ref().and_then(|at| taken(row, at));
        let row_digest = match (clustering, &named) {
            (Some(clustering), _) => Some(content.row_digest(digest, &clustering)),
            (None, Some(RowKey { digest, .. })) => Some(*digest),
            (None, None) => None,
        };
        if let Some(column) = wrong(filled, &shape, digest, row_digest, row) {
            return Check::Wrong { column };
        }
    }
    let all = plan.whole_partition && filled.complete && !content.in_turns();
    if all && rows.len() < PAGE && content.rows(partition).nth(rows.len()).is_some() {
        return Check::Missing;
    }
    Check::Match
}

/// A page of a scan: what is there must be right; what is not there is not known.
pub(super) fn scanned(
    filled: &Filled,
    plain: bool,
    columns: &[&str],
    rows: &[Vec<Option<CqlValue>>],
) -> Check {
    let shape = Shape::new(filled, columns);
    let (Some(keys), Some(clusterings), true) = (&shape.partition, &shape.clustering, plain) else {
        return Check::Match;
    };
    for row in rows {
        let Some(key) = taken(row, keys) else {
            continue;
        };
        let digest = filled.content.partition_digest(&key);
        let below = taken(row, clusterings).map(|c| filled.content.row_digest(digest, &c));
        if let Some(column) = wrong(filled, &shape, digest, below, row) {
            return Check::Wrong { column };
        }
    }
    Check::Match
}

/// The first column of a row that is not what was written.
fn wrong(
    filled: &Filled,
    shape: &Shape,
    partition: u64,
    row_digest: Option<u64>,
    row: &[Option<CqlValue>],
) -> Option<usize> {
    let content = &filled.content;
    let keys = content.partition_columns + content.clustering_columns;
    let first_regular = content.first_regular();
    let cells = || {
        let placed = row.iter().zip(&shape.places).enumerate();
        placed.filter_map(|(at, (value, place))| Some((at, value, (*place)?)))
    };
    // A row that only a query made has only that query's columns.
    let only_partial = filled.partial.as_ref().is_some_and(|partial| {
        cells().all(|(_, value, place)| {
            place < first_regular || value.is_none() || partial.contains(&place)
        })
    });
    for (at, value, place) in cells() {
        if place < keys || !filled.compares(place) {
            continue;
        }
        let is_static = place < first_regular;
        let wanted = match (is_static, row_digest) {
            (true, _) => content.cell(place, partition, partition),
            (false, Some(row)) => content.cell(place, partition, row),
            (false, None) => continue,
        };
        if wanted == *value {
            continue;
        }
        let may_lack = filled.takes || only_partial || is_static && filled.partial.is_some();
        if !(value.is_none() && may_lack) {
            return Some(at);
        }
    }
    None
}
