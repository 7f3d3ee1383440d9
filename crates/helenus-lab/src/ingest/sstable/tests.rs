//! Sorting and merging against a map in memory, whatever the rows and however they are cut into runs.

use super::merge::{Run, Sink, merge};
use super::shape::{Owners, Shape};
use super::sort::{Batch, Part};
use helenus_model::cql::CqlType;
use helenus_model::ingest::journal::RunMark;
use helenus_model::ingest::{Mapping, Wishes};
use helenus_model::table::{ColumnKind, Table, TableColumn};
use helenus_sstable::{Column, Compression, Layout, Row};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// `(k text, c int descending, s text static, v text, w text)`.
fn table() -> (Shape, Mapping) {
    use ColumnKind as K;
    let columns = [
        ("k", CqlType::Text, K::Partition),
        ("c", CqlType::Int, K::ClusteringDescending),
        ("s", CqlType::Text, K::Static),
        ("v", CqlType::Text, K::Regular),
        ("w", CqlType::Text, K::Regular),
    ];
    let table = Table {
        keyspace: "ks".to_owned(),
        name: "t".to_owned(),
        columns: columns
            .iter()
            .map(|(name, ty, kind)| TableColumn {
                name: (*name).to_owned(),
                cql_type: ty.clone(),
                kind: *kind,
            })
            .collect(),
    };
    let wishes = Wishes {
        fields: columns
            .iter()
            .map(|(name, ..)| (*name).to_owned())
            .collect(),
        ..Wishes::default()
    };
    let text = |name: &str| Column {
        name: name.to_owned(),
        ty: CqlType::Text,
        multi_cell: false,
    };
    let shape = Shape {
        layout: Layout::new(
            vec![CqlType::Text],
            vec![(CqlType::Int, true)],
            vec![text("s")],
            vec![text("v"), text("w")],
        )
        .unwrap(),
        partition: vec![0],
        clustering: vec![(1, true)],
        statics: vec![2],
        regulars: vec![3, 4],
        compression: Compression::None,
        false_positives: 0.01,
        index_interval: 128,
        ttl_s: 0,
        owners: vec![Owners {
            nodes: vec!["node1".to_owned()],
            ranges: None,
        }],
    };
    (shape, Mapping::new(&table, &wishes).unwrap())
}

/// A row of the test: key, clustering, static value, and two values; none is unset.
type Made = (u8, i8, Option<u8>, Option<u8>, Option<u8>);

/// Cells with their times, by column.
type Cells = BTreeMap<usize, (i64, Vec<u8>)>;

/// Rows in their order: clustering, time, cells.
type Rows = Vec<(Vec<u8>, i64, Cells)>;

#[derive(Debug, Default, PartialEq)]
struct Seen {
    /// Tokens and keys in their order, each with its static cells and its rows.
    partitions: Vec<(i64, Vec<u8>, Cells, Rows)>,
}

fn cells(row: &Row<'_>) -> Cells {
    let cells = row.cells.iter();
    cells
        .map(|cell| (cell.column, (cell.timestamp_us, cell.value.to_vec())))
        .collect()
}

impl Sink for Seen {
    fn partition(&mut self, token: i64, key: &[u8], statics: Option<Row<'_>>) -> io::Result<()> {
        let statics = statics.map(|row| cells(&row)).unwrap_or_default();
        self.partitions
            .push((token, key.to_vec(), statics, Vec::new()));
        Ok(())
    }

    fn row(&mut self, clustering: &[u8], row: Row<'_>) -> io::Result<()> {
        let open = self.partitions.last_mut().unwrap();
        open.3
            .push((clustering.to_vec(), row.timestamp_us, cells(&row)));
        Ok(())
    }
}

fn made() -> impl Strategy<Value = Made> {
    let value = || prop::option::of(0..3_u8);
    (0..4_u8, -2..3_i8, value(), value(), value())
}

proptest! {
    #[test]
    fn runs_are_merged_into_what_the_last_writes_leave(
        rows in vec(made(), 0..60),
        cuts in vec(0..60_usize, 0..4),
        last_in_memory in any::<bool>(),
        half in any::<i64>(),
    ) {
        let (shape, mapping) = table();
        let folder = tempfile::tempdir().unwrap();
        let mut on_disk = Vec::new();
        let mut batch = Batch::default();
        let spill = |batch: &mut Batch, on_disk: &mut Vec<(PathBuf, RunMark)>| {
            let path = folder.path().join(on_disk.len().to_string());
            batch.sort();
            let mark = RunMark {
                half: batch.spill(&path, Some(half)).unwrap(),
                ..batch.mark()
            };
            on_disk.push((path, mark));
            *batch = Batch::default();
        };
        // By key and descending clustering: the static cells, the rows' times and cells.
        let mut statics: BTreeMap<u8, Cells> = BTreeMap::new();
        let mut wanted: BTreeMap<(u8, i32), (i64, Cells)> = BTreeMap::new();
        for (at, (k, c, s, v, w)) in rows.iter().enumerate() {
            if cuts.contains(&at) {
                spill(&mut batch, &mut on_disk);
            }
            let time = 1_000 + at as i64;
            let value = |x: &Option<u8>| x.map(|x| x.to_string().into_bytes());
            let (key, clustering) = (vec![b'a' + k], i32::from(*c).to_be_bytes());
            let values = [value(s), value(v), value(w)];
            let mut cells = vec![Some(&*key), Some(&clustering[..])];
            cells.extend(values.iter().map(Option::as_deref));
            let partition = batch.partition(&shape, &cells);
            batch.add((&shape, &mapping), partition, &cells, time).unwrap();
            if let Some(s) = &values[0] {
                statics.entry(*k).or_default().insert(0, (time, s.clone()));
            }
            let row = wanted.entry((*k, -i32::from(*c))).or_default();
            row.0 = time;
            for (column, value) in values[1..].iter().enumerate() {
                if let Some(value) = value {
                    row.1.insert(column, (time, value.clone()));
                }
            }
        }
        match last_in_memory {
            true => batch.sort(),
            false => spill(&mut batch, &mut on_disk),
        }
        let batch = Arc::new(batch);
        let merged = |part: Part| {
            let files = on_disk.iter();
            let files = files.map(|(path, mark)| Run::open(path, part.bytes(mark)).unwrap());
            let memory = Run::of(Arc::clone(&batch), part);
            let mut seen = Seen::default();
            merge(files.chain([memory]).collect(), &mut seen).unwrap();
            seen
        };
        let seen = merged(Part::All);
        // Two halves are the whole.
        let mut halves = merged(Part::Below(half));
        let second = merged(Part::From(half));
        prop_assert!(halves.partitions.iter().all(|(token, ..)| *token < half));
        prop_assert!(second.partitions.iter().all(|(token, ..)| *token >= half));
        let counted: u64 = on_disk.iter().map(|(_, mark)| Part::From(half).partitions(mark)).sum();
        prop_assert!(counted + batch.half(half).partitions >= second.partitions.len() as u64);
        halves.partitions.extend(second.partitions);
        prop_assert_eq!(&halves, &seen);
        let order: Vec<_> = seen.partitions.iter().map(|(token, key, ..)| (*token, key.clone())).collect();
        prop_assert!(order.is_sorted());
        let mut found = BTreeMap::new();
        for (_, key, cells, rows) in &seen.partitions {
            let k = key[0] - b'a';
            let wanted = statics.get(&k).cloned().unwrap_or_default();
            prop_assert_eq!(cells, &wanted);
            let mut before = i32::MIN;
            for (clustering, time, cells) in rows {
                // One byte of bits before the value.
                let c = -i32::from_be_bytes(clustering[1..].try_into().unwrap());
                prop_assert!(before < c, "rows in the table's order");
                before = c;
                found.insert((k, c), (*time, cells.clone()));
            }
        }
        prop_assert_eq!(found, wanted);
    }
}

#[test]
fn keys_that_no_server_takes_are_known() {
    let (shape, _) = table();
    let long = vec![b'x'; 65_535];
    let longer = vec![b'x'; 65_536];
    let too_long = |key: &[u8], clustering: &[u8]| {
        super::is_too_long(&shape, &[Some(key), Some(clustering), None, None, None])
    };
    assert!(!too_long(&long, &long));
    assert!(too_long(&longer, b""));
    assert!(too_long(b"k", &longer));
}

#[test]
fn a_run_that_ends_early_is_an_error() {
    let (shape, mapping) = table();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let mut batch = Batch::default();
    for n in 0..3_i32 {
        let clustering = n.to_be_bytes();
        let cells = [
            Some(&b"k"[..]),
            Some(&clustering[..]),
            None,
            Some(&b"value"[..]),
            None,
        ];
        let partition = batch.partition(&shape, &cells);
        batch.add((&shape, &mapping), partition, &cells, 1).unwrap();
    }
    batch.sort();
    batch.spill(&path, None).unwrap();
    let bytes = fs_err::read(&path).unwrap();
    for length in 1..bytes.len() {
        fs_err::write(&path, &bytes[..length]).unwrap();
        let ended =
            Run::open(&path, (0, None)).and_then(|run| merge(vec![run], &mut Seen::default()));
        assert!(ended.is_err(), "cut at {length}");
    }
}

#[test]
fn more_runs_than_the_usual_limit_can_be_open() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let Some(most) = limit.maximum else {
        return;
    };
    // Enough for what runs beside this test.
    let usual = Rlimit {
        current: Some(most / 2),
        ..limit
    };
    setrlimit(Resource::Nofile, usual).expect("may lower its own limit");
    super::as_many_files_as_possible();
    assert_eq!(getrlimit(Resource::Nofile).current, Some(most));
}
