//! Walks through files as a load does: encodings, compressions, parts and dates, resumed at every row.

use super::walk::{Step, walk};
use super::*;
use helenus_model::cql::CqlType;
use helenus_model::cql::CqlValue;
use helenus_model::cql::read::Habits;
use helenus_model::ingest::{Part, Wishes};
use helenus_model::table::{ColumnKind, Table, TableColumn};
use proptest::prelude::*;
use std::io::Write as _;

fn table() -> Table {
    let column = |name: &str, cql_type, kind| TableColumn {
        name: name.into(),
        cql_type,
        kind,
    };
    Table {
        keyspace: "k".into(),
        name: "t".into(),
        columns: vec![
            column("id", CqlType::Int, ColumnKind::Partition),
            column("city", CqlType::Text, ColumnKind::Regular),
        ],
    }
}

fn mapping(wishes: &Wishes) -> Mapping {
    Mapping::new(&table(), wishes).expect("a mapping")
}

fn wishes() -> Wishes {
    Wishes {
        fields: vec!["id".into(), "city".into()],
        habits: Habits::default(),
        ..Wishes::default()
    }
}

/// A load of CSV files without a header.
pub(crate) fn request(files: &[PathBuf]) -> LoadRequest {
    LoadRequest {
        files: files.to_vec(),
        shape: Shape::Delimited {
            dialect: Dialect::CSV,
            header: None,
            nulls: vec![String::new()],
        },
        encoding: None,
        part: None,
        parts: PathBuf::new(),
        mapping: mapping(&wishes()),
        ttl_s: None,
        via: Way::Cql,
        via_reason: String::new(),
        memory_bytes: 1 << 20,
        consistency: Consistency::One,
        in_flight: 1,
        batch_bytes: 0,
        max_rejected: 0,
        rejected: PathBuf::new(),
        journal: PathBuf::new(),
        restart: false,
        multi_cell: Vec::new(),
        verify: Verify::None,
        now_us: 0,
    }
}

/// The journal of a load that was not begun.
pub(super) fn journal_of(request: &LoadRequest) -> LoadJournal {
    LoadJournal {
        format: Format::new(JOURNAL, JOURNAL_VERSION),
        cluster_name: "c".into(),
        table: request.mapping.table.clone(),
        table_id: "1".into(),
        mapping: String::new(),
        files: Vec::new(),
        start_us: 1_000,
        resumed: 0,
        place: Place::default(),
        by_sstables: false,
        imported: false,
        half: None,
        runs: Vec::new(),
    }
}

/// What happens on the way, as lines; and where each is.
fn steps(request: &LoadRequest, from: Place) -> Vec<(String, Place)> {
    let mut all = Vec::new();
    walk(request, from, 1_000, &mut |step| {
        all.push(match step {
            Step::Row {
                values,
                dated,
                after,
                ..
            } => {
                let texts = values.iter().flatten().map(CqlValue::exact_text);
                let texts: Vec<String> = texts.collect();
                (
                    format!("{} {} {dated:?}", after.rows, texts.join(" ")),
                    after,
                )
            }
            Step::Rejected {
                column, why, after, ..
            } => (format!("{} {column}! {why}", after.rows), after),
        });
        Ok(true)
    })
    .expect("walks");
    all
}

fn lines(steps: &[(String, Place)]) -> Vec<&str> {
    steps.iter().map(|(line, _)| line.as_str()).collect()
}

#[test]
fn places_count_decoded_bytes_whatever_the_file_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let text: String = (0..300).map(|n| format!("{n},Žd'ár 😀 {n}\r\n")).collect();
    let wide = |big: bool| {
        let units = "\u{feff}".encode_utf16().chain(text.encode_utf16());
        let bytes = units.map(|unit| {
            if big {
                unit.to_be_bytes()
            } else {
                unit.to_le_bytes()
            }
        });
        bytes.flatten().collect::<Vec<u8>>()
    };
    let mut all = Vec::new();
    for (name, packing, bytes) in [
        ("plain", None, text.clone().into_bytes()),
        ("mark", None, format!("\u{feff}{text}").into_bytes()),
        ("le", None, wide(false)),
        ("be", Some(Packing::Zstd), wide(true)),
        ("gz", Some(Packing::Gzip), text.clone().into_bytes()),
        ("lz4", Some(Packing::Lz4), text.clone().into_bytes()),
    ] {
        let path = folder.path().join(name);
        let file = fs_err::File::create(&path).expect("a file");
        let mut packer = Packer::new(file, packing).expect("packs");
        packer.write_all(&bytes).expect("packs");
        packer.finish().expect("packs");
        let request = request(&[path]);
        let whole = steps(&request, Place::default());
        assert_eq!(whole.len(), 300, "{name}");
        for at in [0, 1, 150, 298] {
            assert_eq!(steps(&request, whole[at].1), whole[at + 1..], "{name} {at}");
        }
        all.push(whole);
    }
    for other in &all {
        assert_eq!(lines(other), lines(&all[0]));
    }
    // Where the mark is UTF-8's it is three bytes of the file.
    assert_eq!(all[2], all[0]);
    assert_eq!(all[1][0].1.offset, all[0][0].1.offset + 3);
    let path = folder.path().join("latin");
    fs_err::write(&path, b"1,M\xfcnchen\n2,\x81\n").expect("writes");
    let mut latin = request(&[path]);
    assert_eq!(
        lines(&steps(&latin, Place::default())),
        ["1 $2! not UTF-8", "2 $2! not UTF-8"]
    );
    latin.encoding = Some(TextEncoding::named("latin-1").expect("known"));
    assert_eq!(
        lines(&steps(&latin, Place::default())),
        ["1 1 München None", "2 2 \u{81} None"]
    );
}

#[test]
fn parts_have_all_rows_together_and_each_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.csv");
    let text: String = (0..10_000)
        .map(|n| match n % 1_000 {
            999 => format!("x{n},no number\n"),
            _ => format!("{n},c\n"),
        })
        .collect();
    fs_err::write(&path, text).expect("writes");
    let mut expanded = wishes();
    expanded.fields = vec!["from".into(), "to".into(), "city".into()];
    expanded.expand = Some("id: int_range(from, to)".into());
    let ranges = folder.path().join("ranges.csv");
    // Ranges across the borders of parts, one that ends before it begins, and one without a city's text.
    fs_err::write(
        &ranges,
        b"0,9000,a\n5,1,b\n9001,9003,c\n9004,30000,\xff\n1,20000,d\n",
    )
    .expect("writes");
    for (file, wishes) in [(path, wishes()), (ranges, expanded)] {
        let mut whole = request(&[file]);
        whole.mapping = mapping(&wishes);
        let all = steps(&whole, Place::default());
        for of in [1, 2, 3] {
            let mut together = Vec::new();
            for number in 1..=of {
                let part = Part { number, of };
                let request = LoadRequest {
                    part: Some(part),
                    ..whole.clone()
                };
                let own = steps(&request, Place::default());
                let last = own.last().map_or(0, |(_, place)| place.rows);
                assert_eq!(part.below(last), own.len() as u64, "{part}");
                // Resumed anywhere, it goes on with its own rows.
                for at in [0, own.len().min(4_097) - 2, own.len() - 2] {
                    assert_eq!(steps(&request, own[at].1), own[at + 1..], "{part} {at}");
                }
                together.extend(own);
            }
            together.sort_by_key(|(_, place)| place.rows);
            assert!(together == all, "of {of}");
        }
    }
}

#[test]
fn rows_are_dated_by_what_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.csv");
    let text = "1,a,1700000000000000\n2,b,2026-01-31T12:00:00Z\n3,c,\n4,d,soon\n";
    fs_err::write(&path, text).expect("writes");
    let mut asked = wishes();
    asked.fields.push("at".into());
    asked.timestamp = Some("at".into());
    let mut load = request(&[path]);
    load.mapping = mapping(&asked);
    let found = steps(&load, Place::default());
    assert_eq!(found[0].0, "1 1 a Some(1700000000000000)");
    assert_eq!(found[1].0, "2 2 b Some(1769860800000000)");
    assert_eq!(found[2].0, "3 --timestamp! a row without a timestamp");
    assert!(
        found[3].0.starts_with("4 --timestamp! \"soon\" is no"),
        "{}",
        found[3].0
    );
    asked.timestamp = Some("-5".into());
    asked.skipped.push("at".into());
    load.mapping = mapping(&asked);
    assert_eq!(steps(&load, Place::default())[3].0, "4 4 d Some(-5)");
    asked.timestamp = Some("'soon'".into());
    let error = Mapping::new(&table(), &asked)
        .expect_err("no time")
        .to_string();
    assert!(error.starts_with("--timestamp: \"soon\""), "{error}");
    asked.timestamp = Some("att".into());
    let error = Mapping::new(&table(), &asked)
        .expect_err("no field")
        .to_string();
    assert!(error.contains("did you mean at?"), "{error}");
}

#[test]
fn elements_that_are_wrong_at_first_leave_the_record_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("ranges.csv");
    let below = i64::from(i32::MIN) - 1;
    let text = format!("1,2,A\n{below},{},B\n", below + 2);
    fs_err::write(&file, text).expect("writes");
    let mut request = request(&[file]);
    request.mapping = mapping(&Wishes {
        fields: ["from", "to", "city"].map(str::to_owned).to_vec(),
        expand: Some("id: int_range(from, to)".to_owned()),
        ..Wishes::default()
    });
    let all = steps(&request, Place::default());
    let lines = lines(&all);
    assert_eq!(lines.len(), 5, "{lines:?}");
    assert!(lines[2].starts_with("3 id! "), "{lines:?}");
    assert_eq!(lines[3..], ["4 -2147483648 B None", "5 -2147483647 B None"]);
}

#[test]
fn parts_agree_on_a_record_that_is_wrong_in_two_ways() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("ranges.csv");
    let below = i64::from(i32::MIN) - 1;
    // The first element is too small, and none of them has a note that is a number.
    let text = format!("{below},{},A,x\n1,20000,B,2\n", below + 2);
    fs_err::write(&file, text).expect("writes");
    let mut table = table();
    table.columns.push(TableColumn {
        name: "note".into(),
        cql_type: CqlType::Int,
        kind: ColumnKind::Regular,
    });
    let wishes = Wishes {
        fields: ["from", "to", "city", "note"].map(str::to_owned).to_vec(),
        expand: Some("id: int_range(from, to)".to_owned()),
        ..Wishes::default()
    };
    let mut whole = request(&[file]);
    whole.mapping = Mapping::new(&table, &wishes).expect("a mapping");
    let all = steps(&whole, Place::default());
    assert!(all[0].0.starts_with("1 note! "), "{}", all[0].0);
    let mut together = Vec::new();
    for number in 1..=2 {
        let part = Some(Part { number, of: 2 });
        let request = LoadRequest {
            part,
            ..whole.clone()
        };
        together.extend(steps(&request, Place::default()));
    }
    together.sort_by_key(|(_, place)| place.rows);
    assert!(together == all);
}

#[test]
fn a_header_may_come_after_empty_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let (first, second) = (folder.path().join("1.csv"), folder.path().join("2.csv"));
    fs_err::write(&first, "\n\nid,city\n1,a\n\n2,b\n").expect("writes");
    fs_err::write(&second, "\r\nid,city\n3,c\n").expect("writes");
    let names = header(&first, &Dialect::CSV, None).expect("a header");
    assert_eq!(names, ["id", "city"]);
    let mut request = request(&[first, second]);
    request.shape = Shape::Delimited {
        dialect: Dialect::CSV,
        header: Some(names),
        nulls: Vec::new(),
    };
    let whole = steps(&request, Place::default());
    assert_eq!(lines(&whole), ["1 1 a None", "2 2 b None", "3 3 c None"]);
    for (at, (_, place)) in whole.iter().enumerate() {
        assert!(steps(&request, *place) == whole[at + 1..], "{at}");
    }
}

#[test]
fn a_record_is_too_long_wherever_reading_began() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("long.csv");
    let most = super::source::RECORD_MOST;
    // The longest that there may be, one that is longer, and one with lines in it.
    let mut bytes = b"1,a\n2,".to_vec();
    bytes.resize(bytes.len() + most - 2, b'x');
    bytes.extend(b"\n3,");
    bytes.resize(bytes.len() + most - 1, b'y');
    bytes.extend(b"\n4,d\n5,\"");
    bytes.resize(bytes.len() + most, b'z');
    bytes.extend(b"\n6,f\n");
    fs_err::write(&path, bytes).expect("writes");
    let request = request(&[path]);
    let begins = |step: &(String, Place)| step.0.chars().take(8).collect::<String>();
    let whole = steps(&request, Place::default());
    let lines: Vec<String> = whole.iter().map(begins).collect();
    let wanted = [
        "1 1 a No", "2 2 xxxx", "3 ! a re", "4 4 d No", "5 ! a re", "6 6 f No",
    ];
    assert_eq!(lines, wanted);
    for at in 0..whole.len() {
        assert!(steps(&request, whole[at].1) == whole[at + 1..], "{at}");
    }
}

/// What files are made of.
const WORDS: &[&[u8]] = &[
    b"1,a\n",
    b"2,\"b, \"\"q\"\"\n\"\n",
    b"\"open,",
    b"\n",
    b"\r\n",
    b"\r",
    b",",
    b"\0",
    b"\xff",
    b"\\N\t",
    b"\\",
    b"\t",
    b"{\"id\": 3, \"city\": \"c\"}\n",
    b"{\"id\":",
    b"}",
    b"\"",
    b"\xef\xbb\xbf",
    b"4,5,6\n",
    b"x",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_are_walked_to_their_end_and_from_every_place(
        words in prop::collection::vec(prop::sample::select(WORDS), 0..40),
        form in 0_usize..4,
        packing in prop::option::of(0_usize..3),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("any");
        let file = fs_err::File::create(&path).expect("a file");
        let mut packer = Packer::new(file, packing.map(|at| Packing::ALL[at].0)).expect("packs");
        packer.write_all(&words.concat()).expect("packs");
        packer.finish().expect("packs");
        let mut load = request(&[path]);
        load.shape = match form {
            0 => load.shape,
            1 => Shape::Delimited { dialect: Dialect::TSV, header: None, nulls: vec!["\\N".to_owned()] },
            2 => Shape::Delimited { dialect: Dialect::CSV, header: Some(Vec::new()), nulls: Vec::new() },
            _ => Shape::JsonLines(vec!["id".to_owned(), "city".to_owned()]),
        };
        // What begins with a mark of another form is refused as a whole.
        let whole = steps(&load, Place::default());
        for (at, (_, place)) in whole.iter().enumerate() {
            prop_assert_eq!(place.rows, at as u64 + 1);
            prop_assert_eq!(&steps(&load, *place), &whole[at + 1..]);
        }
    }
}
