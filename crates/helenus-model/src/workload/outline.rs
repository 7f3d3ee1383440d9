//! What profiles would do, before anything is sent: operations, sizes, sample rows, and what a server may refuse.
//! Refuses to promise: sizes are those of a sample.

use super::maker::{Maker, MakerError};
use super::operation::{Bound, Request};
use super::profile::{BatchKind, ProfileWorkload, VALIDATE};
use crate::cql::CqlValue;
use crate::seed::Seed;
use serde::Serialize;

/// Operations and partitions that a sample looks at.
const SAMPLED: u64 = 50;
/// Rows of one partition that a sample walks; of larger ones it picks some.
const WALKED: u64 = 1_000;
/// Rows that it picks of a larger one.
const PICKED: u64 = 20;
/// Bytes from which a server refuses a batch by default (`batch_size_fail_threshold`).
const REFUSED_BATCH: usize = 50 * 1024;
/// Rows from which a partition is large.
const LARGE: usize = 1_000_000;
/// Longest text of a sample's value, in letters.
const SHOWN: usize = 40;

/// What one profile would do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outline {
    /// Its name.
    pub spec: String,
    /// Keyspace and table.
    pub table: String,
    /// Its operations.
    pub operations: Vec<OperationOutline>,
    /// Rows of a partition.
    pub rows_a_partition: Spread,
    /// Rows that one insert writes.
    pub rows_an_insert: Spread,
    /// Partitions that one insert writes to.
    pub partitions_an_insert: Spread,
    /// Bytes of a row's values on the wire.
    pub bytes_a_row: Spread,
    /// Bytes of the values of one insert.
    pub bytes_an_insert: Spread,
    /// Names of the columns of `rows`.
    pub columns: Vec<String>,
    /// Some rows as text.
    pub rows: Vec<Vec<String>>,
    /// What a person should know before it is run.
    pub cautions: Vec<String>,
}

/// The least, the mean and the most that a sample saw.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// The least.
    pub least: usize,
    /// The mean.
    pub mean: f64,
    /// The most.
    pub most: usize,
}

/// An operation as it would be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OperationOutline {
    /// Its name.
    pub name: String,
    /// Its statement.
    pub cql: String,
    /// What it does, in a word: `insert`, `query`, `scan`, `validate`.
    pub kind: &'static str,
    /// What its markers get the first time, as text; none for an insert, whose rows are shown, and for a scan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<String>>,
}

impl Spread {
    fn of(all: &[usize]) -> Self {
        Self {
            least: all.iter().copied().min().unwrap_or(0),
            mean: all.iter().map(|n| *n as f64).sum::<f64>() / all.len().max(1) as f64,
            most: all.iter().copied().max().unwrap_or(0),
        }
    }
}

/// An outline of each profile, with so many sample rows.
///
/// # Errors
/// Profiles that cannot be run.
pub fn outline(
    profiles: &ProfileWorkload,
    data: Seed,
    rows: usize,
) -> Result<Vec<Outline>, MakerError> {
    let maker = Maker::new(profiles, data)?;
    let mut first = 0;
    let mut found = Vec::new();
    for number in 0..profiles.specs.len() {
        let made = one(profiles, &maker, number, first, rows);
        first += made.operations.len();
        found.push(made);
    }
    Ok(found)
}

fn one(
    profiles: &ProfileWorkload,
    maker: &Maker,
    number: usize,
    first: usize,
    shown: usize,
) -> Outline {
    let spec = &profiles.specs[number];
    let (mut rows, mut partitions, mut inserted) = (Vec::new(), Vec::new(), Vec::new());
    let mut position = 0;
    for index in 0..SAMPLED {
        let count = u64::from(maker.partitions(first, index));
        let positions: Vec<u64> = (position..position + count).collect();
        position += count;
        let work = maker.make(first, index, &positions);
        rows.push(work.rows as usize);
        partitions.push(work.partitions as usize);
        inserted.push(sent(&work.request));
    }
    let (mut each, mut bytes, mut samples) = (Vec::new(), Vec::new(), Vec::new());
    for position in 0..SAMPLED {
        let about = maker.about_rows(number, position);
        let of_partition: Vec<Vec<Option<CqlValue>>> = if about <= WALKED {
            maker.rows(number, position).collect()
        } else {
            (0..PICKED)
                .map(|n| maker.some_row(number, position, n))
                .collect()
        };
        each.push(if about <= WALKED {
            of_partition.len()
        } else {
            usize::try_from(about).unwrap_or(usize::MAX)
        });
        for row in of_partition {
            bytes.push(row.iter().flatten().map(size).sum());
            if samples.len() < shown {
                samples.push(row.iter().map(|cell| text(cell.as_ref())).collect());
            }
        }
    }
    let mut outline = Outline {
        spec: spec.profile.specname.clone(),
        table: spec.table.qualified(),
        operations: operations(profiles, maker, number, first),
        rows_a_partition: Spread::of(&each),
        rows_an_insert: Spread::of(&rows),
        partitions_an_insert: Spread::of(&partitions),
        bytes_a_row: Spread::of(&bytes),
        bytes_an_insert: Spread::of(&inserted),
        columns: spec.table.columns.iter().map(|c| c.name.clone()).collect(),
        rows: samples,
        cautions: Vec::new(),
    };
    outline.cautions = cautions(&outline, spec.profile.insert.batch);
    outline
}

fn operations(
    profiles: &ProfileWorkload,
    maker: &Maker,
    number: usize,
    first: usize,
) -> Vec<OperationOutline> {
    let profile = &profiles.specs[number].profile;
    let queries = profile.queries.len();
    let scans = profile.token_range_queries.len();
    let count = 1 + queries + scans + usize::from(profile.validates());
    let of = |place: usize| {
        let statement = &maker.statements()[first + place];
        let kind = match place {
            0 => "insert",
            _ if place <= queries => "query",
            _ if place <= queries + scans => "scan",
            _ => VALIDATE,
        };
        let values = match maker.make(first + place, 0, &[0]).request {
            Request::Single(_, bound) if place > 0 => {
                Some(bound.iter().map(|b| text(value(b))).collect())
            }
            _ => None,
        };
        OperationOutline {
            name: statement.operation.clone(),
            cql: statement.cql.clone(),
            kind,
            values,
        }
    };
    (0..count).map(of).collect()
}

fn cautions(outline: &Outline, batch: BatchKind) -> Vec<String> {
    let mut said = Vec::new();
    let many = outline.partitions_an_insert.most > 1;
    if many && outline.bytes_an_insert.most > REFUSED_BATCH {
        said.push(format!(
            "one insert makes a batch of up to {} KiB over several partitions: a server refuses those above its batch_size_fail_threshold, 50 KiB by default",
            outline.bytes_an_insert.most / 1024
        ));
    }
    if many && batch == BatchKind::Logged {
        said.push(
            "logged batches over several partitions are written to the batch log first: UNLOGGED is cheaper"
                .to_owned(),
        );
    }
    if outline.rows_a_partition.most > LARGE {
        said.push(format!(
            "a partition has up to about {} rows: servers warn about large partitions, and reading one to check it takes memory",
            outline.rows_a_partition.most
        ));
    }
    said
}

fn value(bound: &Bound) -> Option<&CqlValue> {
    match bound {
        Bound::Value(value) => Some(value),
        Bound::Unset => None,
    }
}

/// Bytes of all values of a request.
fn sent(request: &Request) -> usize {
    let of = |bound: &[Bound]| bound.iter().filter_map(value).map(size).sum::<usize>();
    match request {
        Request::Single(_, bound) => of(bound),
        Request::Batch(_, all) => all.iter().map(|(_, bound)| of(bound)).sum(),
        Request::Scan { .. } => 0,
    }
}

/// About the bytes of a value on the wire.
pub(crate) fn size(value: &CqlValue) -> usize {
    use CqlValue as V;
    let nested = |value: &CqlValue| 4 + size(value);
    let nullable = |value: &Option<CqlValue>| 4 + value.as_ref().map_or(0, size);
    match value {
        V::Ascii(text) | V::Text(text) => text.len(),
        V::Blob(bytes) | V::Custom(bytes) | V::Varint(bytes) => bytes.len(),
        V::Boolean(_) | V::Tinyint(_) => 1,
        V::Smallint(_) => 2,
        V::Int(_) | V::Float(_) | V::Date(_) => 4,
        V::Bigint(_) | V::Counter(_) | V::Double(_) | V::Time(_) | V::Timestamp(_) => 8,
        V::Decimal { unscaled, .. } => 4 + unscaled.len(),
        V::Duration { .. } => 9,
        V::Inet(std::net::IpAddr::V4(_)) => 4,
        V::Inet(_) | V::Uuid(_) | V::Timeuuid(_) => 16,
        V::List(all) | V::Set(all) => 4 + all.iter().map(nested).sum::<usize>(),
        V::Vector(all) => all.iter().map(size).sum(),
        V::Map(all) => {
            4 + all
                .iter()
                .map(|(k, v)| nested(k) + nested(v))
                .sum::<usize>()
        }
        V::Tuple(all) => all.iter().map(nullable).sum(),
        V::Udt(all) => all.iter().map(|(_, field)| nullable(field)).sum(),
    }
}

fn text(value: Option<&CqlValue>) -> String {
    let Some(value) = value else {
        return "null".to_owned();
    };
    let full = value.to_string();
    if full.chars().count() <= SHOWN {
        return full;
    }
    let start: String = full.chars().take(SHOWN - 1).collect();
    format!("{start}…")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::profile::tests::EVENTS;
    use crate::workload::profile::{Profile, Spec};

    #[test]
    fn an_outline_gives_operations_sizes_and_rows() {
        let profile = Profile::read(EVENTS).expect("a profile");
        let table = profile.defined_table().expect("a table").expect("defined");
        let profiles = ProfileWorkload {
            name: "events".to_owned(),
            specs: vec![Spec { profile, table }],
            walk: None,
        };
        let all = outline(&profiles, Seed(1), 2).expect("an outline");
        let [one] = &all[..] else { panic!("one") };
        let names: Vec<_> = one
            .operations
            .iter()
            .map(|o| (o.name.as_str(), o.kind))
            .collect();
        insta::assert_debug_snapshot!(names, @r#"
        [
            (
                "insert",
                "insert",
            ),
            (
                "later",
                "query",
            ),
            (
                "one",
                "query",
            ),
            (
                "all",
                "scan",
            ),
            (
                "notes",
                "scan",
            ),
            (
                "validate",
                "validate",
            ),
        ]
        "#);
        assert_eq!(
            one.rows_a_partition,
            Spread {
                least: 4,
                mean: 4.0,
                most: 4
            }
        );
        assert_eq!(
            (
                one.partitions_an_insert.least,
                one.partitions_an_insert.most
            ),
            (1, 3)
        );
        assert!(one.rows_an_insert.mean > 3.0 && one.rows_an_insert.mean < 5.5);
        assert_eq!((one.rows.len(), one.rows[0].len()), (2, one.columns.len()));
        assert_eq!(one.operations[2].values.as_ref().map(Vec::len), Some(2));
        assert!(one.cautions.is_empty(), "{:?}", one.cautions);
        let mut large = profiles;
        large.specs[0].profile.columns.insert(
            "note".to_owned(),
            crate::workload::profile::ColumnSpec {
                size: crate::dist::Dist::fixed(20_000),
                ..Default::default()
            },
        );
        let insert = &mut large.specs[0].profile.insert;
        insert.batch = BatchKind::Logged;
        insert.row_population = crate::dist::RatioDist::one();
        let all = outline(&large, Seed(1), 0).expect("an outline");
        assert_eq!(all[0].cautions.len(), 2, "{:?}", all[0].cautions);
    }
}
