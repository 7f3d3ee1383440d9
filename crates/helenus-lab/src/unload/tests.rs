//! Unloads that are killed and resumed, without a cluster: every row is in the files once, whatever was cut off.

use super::output::{Forms, Output, TextForm};
use super::*;
use crate::ingest::{self, Shape};
use helenus_cluster::scan::unload::SpanRows;
use helenus_cql::Consistency;
use helenus_model::cql::{CqlType, CqlValue};
use helenus_model::ingest::delimited::Dialect;
use helenus_model::ring::{Member, Ring};
use helenus_model::seed::mix;
use std::collections::BTreeSet;
use std::io::Write as _;

const SPANS: u64 = 40;

fn table() -> ScanTable {
    let member = Member {
        data_center: "d".into(),
        rack: "r".into(),
        tokens: vec![5],
    };
    ScanTable {
        cluster_name: "c".into(),
        keyspace: "k".into(),
        table: "t".into(),
        id: "1".into(),
        partition_key: vec!["id".into()],
        clustering: Vec::new(),
        columns: vec!["id".into(), "city".into()],
        ring: Ring::new(vec![member]).expect("a ring"),
        nodes: Vec::new(),
    }
}

fn request(path: PathBuf, form: UnloadForm, split: Split) -> UnloadRequest {
    UnloadRequest {
        columns: vec!["id".into(), "city".into()],
        form,
        path,
        split,
        part: None,
        force: false,
        restart: false,
        gentleness: Gentleness {
            parallel: None,
            rate: None,
            consistency: Consistency::One,
        },
    }
}

/// The rows of a span: their keys show which they are.
fn rows(at: u64) -> Vec<Vec<Option<CqlValue>>> {
    let row = |n| {
        let key = i32::try_from(at * 1_000 + n).expect("small");
        let text = mix(at * 1_000 + n).to_string();
        vec![Some(CqlValue::Int(key)), Some(CqlValue::Text(text))]
    };
    (0..at % 7 * 10).map(row).collect()
}

/// Rows of these spans until `left` runs out, as if the process ended then; whether it came to its end.
fn run<G: Gathering, F: Forms<Rows = G::Rows>>(
    request: &UnloadRequest,
    (gathering, forms): (&G, &F),
    mut left: usize,
) -> Result<bool, UnloadError> {
    let table = table();
    let names = Names { request };
    let (mut journal, marks) =
        Journal::open(&names.journal(), &head(&table, request), request.restart)?;
    let done: Vec<Span> = marks.iter().flat_map(|mark| mark.spans.clone()).collect();
    let mut output = Output::new(&names, forms, &mut journal, &marks)?;
    let whole = Span {
        start: i64::MIN,
        end: i64::MAX,
    };
    for (at, span) in (0..).zip(whole.parts(SPANS)) {
        if done.contains(&span) {
            continue;
        }
        if left == 0 {
            // Killed: what the journal does not know is cut off, and so is half of a line.
            let journal = names.journal();
            let mut file = fs::OpenOptions::new()
                .append(true)
                .open(&journal)
                .expect("a journal");
            file.write_all(b"{\"file\":1,\"by").expect("writes");
            for entry in fs::read_dir(request.path.parent().expect("a folder")).expect("reads") {
                let path = entry.expect("an entry").path();
                if path.extension().is_some_and(|end| end == "part") {
                    let mut file = fs::OpenOptions::new()
                        .append(true)
                        .open(path)
                        .expect("a file");
                    file.write_all(b"torn, and not in the journal")
                        .expect("writes");
                }
            }
            return Ok(false);
        }
        left -= 1;
        let mut found = gathering.empty();
        let rows = rows(at);
        rows.iter().for_each(|row| gathering.put(row, &mut found));
        output.take(SpanRows {
            span,
            count: rows.len() as u64,
            rows: found,
            checksum: Checksum(at),
        })?;
        // The clock decides otherwise.
        if at % 3 == 0 {
            output.keep()?;
        }
        if at % 9 == 8 && matches!(request.split, Split::Bytes(_)) {
            output.end()?;
        }
    }
    output.keep()?;
    output.end()?;
    assert_eq!(output.checksum(), Checksum((0..SPANS).sum()));
    if left == 0 {
        // Killed with everything written, before the journal is gone.
        return Ok(false);
    }
    journal.remove()?;
    Ok(true)
}

/// What a load reads of the files of a folder.
fn keys_of(folder: &Path, parquet: bool) -> Vec<i32> {
    let entries = fs::read_dir(folder).expect("reads");
    let files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    let names = vec!["id".to_owned(), "city".to_owned()];
    let mut load = ingest::tests::request(&files);
    load.shape = match parquet {
        true => Shape::Parquet(names),
        false => Shape::Delimited {
            dialect: Dialect::CSV,
            header: Some(names),
            nulls: Vec::new(),
        },
    };
    let rows = ingest::preview(&load, usize::MAX).expect("reads");
    let keys = rows.iter().map(|row| {
        let [Some(CqlValue::Int(key)), Some(CqlValue::Text(text))] = &row[..] else {
            panic!("{row:?}");
        };
        assert_eq!(*text, mix(key.cast_unsigned().into()).to_string());
        *key
    });
    keys.collect()
}

#[test]
fn killed_anywhere_every_row_is_there_once() {
    let wanted: Vec<i32> = (0..SPANS)
        .flat_map(rows)
        .map(|row| match row[0] {
            Some(CqlValue::Int(key)) => key,
            _ => panic!("no key"),
        })
        .collect();
    let types = [
        ("id".to_owned(), CqlType::Int),
        ("city".to_owned(), CqlType::Text),
    ];
    let shape = RowShape::new(&types).expect("a shape");
    let csv = Writing::Delimited(Dialect::CSV, String::new());
    for (name, packing) in [
        ("t.csv", None),
        ("t.csv.zst", Some(Packing::Zstd)),
        ("t.csv.gz", Some(Packing::Gzip)),
        ("t.csv.lz4", Some(Packing::Lz4)),
        ("t.parquet", None),
    ] {
        for split in [Split::Whole, Split::Bytes(1 << 40)] {
            for kills in [&[][..], &[0, 1, 7], &[13, 13, 13], &[39], &[40], &[2; 19]] {
                let folder = tempfile::tempdir().expect("a folder");
                let path = folder.path().join(name);
                let parquet = name == "t.parquet";
                let form = match parquet {
                    true => UnloadForm::Parquet,
                    false => UnloadForm::Text(csv.clone(), packing),
                };
                let request = request(path, form, split);
                let columns = &request.columns;
                let forms = TextForm {
                    writing: &csv,
                    packing,
                    columns,
                };
                let once = |left| match parquet {
                    true => run(&request, (&shape, &shape), left),
                    false => run(&request, (&csv, &forms), left),
                };
                let mut ended = false;
                for kill in kills {
                    ended = ended || once(*kill).expect("runs");
                }
                while !ended {
                    ended = once(usize::MAX).expect("runs");
                }
                let keys = keys_of(folder.path(), parquet);
                let set: BTreeSet<i32> = keys.iter().copied().collect();
                assert_eq!(
                    (keys.len(), set.len()),
                    (wanted.len(), wanted.len()),
                    "{name} {split:?} {kills:?}"
                );
                let files = fs::read_dir(folder.path()).expect("reads").count();
                assert_eq!(files, if split == Split::Whole { 1 } else { 5 }, "{name}");
            }
        }
    }
}

#[test]
fn what_was_begun_otherwise_or_is_gone_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let csv = Writing::Delimited(Dialect::CSV, String::new());
    let form = UnloadForm::Text(csv.clone(), None);
    let mut asked = request(folder.path().join("t.csv"), form, Split::Bytes(1));
    let columns = asked.columns.clone();
    let forms = TextForm {
        writing: &csv,
        packing: None,
        columns: &columns,
    };
    assert!(!run(&asked, (&csv, &forms), 20).expect("runs"));
    asked.split = Split::Whole;
    let error = run(&asked, (&csv, &forms), 20).expect_err("another split");
    assert!(error.to_string().contains("are others"), "{error}");
    asked.split = Split::Bytes(1);
    let names = Names { request: &asked };
    let held = Journal::open(&names.journal(), &head(&table(), &asked), false).expect("opens");
    assert!(matches!(
        run(&asked, (&csv, &forms), 20),
        Err(UnloadError::Busy)
    ));
    drop(held);
    let first = folder.path().join("t.part-00001.csv");
    fs::write(&first, "id,city\n").expect("writes");
    let error = run(&asked, (&csv, &forms), 20).expect_err("another file");
    assert!(
        error.to_string().contains("is gone, or is another file"),
        "{error}"
    );
    assert_eq!(names.there().expect("looks").len(), 2);
    asked.restart = true;
    assert!(run(&asked, (&csv, &forms), usize::MAX).expect("runs"));
}

#[test]
fn a_split_shares_the_ring_out_by_number() {
    let form = UnloadForm::Parquet;
    let mut asked = request(PathBuf::from("t.csv"), form, Split::Files(4));
    let all = plan(&table(), &asked);
    assert_eq!(
        all.iter().map(|(number, _)| *number).collect::<Vec<_>>(),
        [1, 2, 3, 4]
    );
    asked.part = Some(Part { number: 3, of: 4 });
    assert_eq!(plan(&table(), &asked), all[2..3]);
    let names = Names { request: &asked };
    assert_eq!(names.file(3), Path::new("t.part-00003.csv"));
    assert_eq!(names.journal(), Path::new("t.csv.3-of-4.unload"));
}
