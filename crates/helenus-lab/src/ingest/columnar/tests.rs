//! Every type comes back from a file; files of other writers are understood; damage is an error.

use super::*;
use ::parquet::basic::{Compression, Encoding};
use ::parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    Int32Type, Int64Type, Int96, Int96Type,
};
use ::parquet::file::properties::{WriterProperties, WriterVersion};
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;
use helenus_model::cql::read::Habits;
use helenus_model::cql::{CqlType, CqlValue};
use proptest::prelude::*;
use std::sync::{Arc, LazyLock};

/// Columns with their types.
type Types = Vec<(String, CqlType)>;

type Row = Vec<Option<CqlValue>>;

/// Values of a row group with their definition and repetition levels.
type Group<'a, T> = (
    &'a [<T as ::parquet::data_type::DataType>::T],
    &'a [i16],
    &'a [i16],
);

fn list(of: CqlType) -> CqlType {
    CqlType::List(Box::new(of))
}

fn udt() -> CqlType {
    CqlType::Udt {
        keyspace: "k".into(),
        name: "u".into(),
        fields: vec![
            ("a".into(), CqlType::Int),
            ("b".into(), list(CqlType::Text)),
        ],
    }
}

/// Types with texts of their values.
fn every() -> Vec<(CqlType, Vec<&'static str>)> {
    use CqlType as T;
    let map = |key, value| T::Map(Box::new(key), Box::new(value));
    vec![
        (T::Ascii, vec!["", "a"]),
        (T::Text, vec!["", "ü 'q' \"", "null"]),
        (T::Bigint, vec!["-9223372036854775808", "7"]),
        (T::Int, vec!["-2147483648"]),
        (T::Smallint, vec!["-32768", "32767"]),
        (T::Tinyint, vec!["-128"]),
        (T::Blob, vec!["0x", "0xcafe00"]),
        (T::Boolean, vec!["true", "false"]),
        (T::Date, vec!["2026-01-31", "0", "4294967295", "1969-12-31"]),
        (T::Decimal, vec!["-1.50", "1E+400", "0.000"]),
        (T::Varint, vec!["123456789012345678901234567890", "-1"]),
        (T::Double, vec!["1.5e300", "NaN", "-0.0", "-Infinity"]),
        (T::Float, vec!["0.1", "NaN"]),
        (T::Duration, vec!["1y2mo3d4h", "-5ns", "0ns"]),
        (T::Inet, vec!["::1", "1.2.3.4"]),
        (T::Time, vec!["12:00:00.500000001", "23:59:59.999999999"]),
        (T::Timestamp, vec!["2026-01-02T03:04:05.678Z", "-1", "0"]),
        (T::Timeuuid, vec!["50554d6e-29bb-11e5-b345-feff819cdc9f"]),
        (T::Uuid, vec!["f47ac10b-58cc-4372-a567-0e02b2c3d479"]),
        (list(T::Int), vec!["[]", "[3, 1, 2]", "[3]"]),
        (T::Set(Box::new(T::Text)), vec!["{}", "{'a', '', 'it''s'}"]),
        (
            map(T::Text, list(list(T::Timestamp))),
            vec![
                "{}",
                "{'': [], 'a': [[], ['1970-01-01', 5], []], 'z': [[]]}",
            ],
        ),
        (
            T::Tuple(vec![T::Int, T::Text, list(T::Tinyint)]),
            vec!["(1, null, null)", "(null, '', [])", "(null, null, [1, -2])"],
        ),
        (udt(), vec!["{a: 5, b: ['x', 'y']}", "{a: null, b: []}"]),
        (
            list(udt()),
            vec!["[{a: 1, b: ['x', 'y']}, {a: 2, b: ['z']}]"],
        ),
        (T::Vector(Box::new(T::Float), 3), vec!["[1, 2.5, NaN]"]),
    ]
}

fn parsed(ty: &CqlType, text: &str) -> CqlValue {
    CqlValue::read(ty, text, Habits::default()).expect(text)
}

/// What a file's rows are, read as a load reads them: by text into the columns' types.
fn read(path: &Path, types: &[(String, CqlType)], from: u64) -> Vec<Vec<Option<CqlValue>>> {
    let wanted: Vec<Wanted> = types
        .iter()
        .map(|(name, ty)| Wanted {
            name: name.clone(),
            used: true,
            ty: Some(ty.clone()),
        })
        .collect();
    let mut rows = Rows::open(path, &wanted).expect("opens");
    assert!(rows.skip(from).expect("skips"));
    let mut all = Vec::new();
    while let Some(cells) = rows.next().expect("a row") {
        let row = cells.into_iter().zip(types).map(|(cell, (_, ty))| {
            let value = cell.expect("a value")?;
            Some(parsed(ty, &value.exact_text()))
        });
        all.push(row.collect());
    }
    all
}

fn same(a: &[Vec<Option<CqlValue>>], b: &[Vec<Option<CqlValue>>]) {
    assert_eq!(a.len(), b.len());
    for (at, (a, b)) in a.iter().zip(b).enumerate() {
        // NaN is not equal to itself, but its text is.
        assert_eq!(format!("{a:?}"), format!("{b:?}"), "row {at}");
    }
}

/// Rows whose columns run through their values at different speeds, with nulls.
fn rows(count: usize) -> (Types, Vec<Row>) {
    let every = every();
    let types: Vec<(String, CqlType)> = every
        .iter()
        .enumerate()
        .map(|(at, (ty, _))| (format!("c{at}"), ty.clone()))
        .collect();
    let row = |row: usize| {
        let columns = every.iter().enumerate();
        columns
            .map(|(at, (ty, texts))| {
                let which = (row + at) % (texts.len() + 1);
                texts.get(which).map(|text| parsed(ty, text))
            })
            .collect()
    };
    (types, (0..count).map(row).collect())
}

#[test]
fn every_type_comes_back_from_every_row() {
    let (types, rows) = rows(3_000);
    let shape = RowShape::new(&types).expect("a shape");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.parquet");
    let file = fs_err::File::create(&path).expect("a file");
    let mut writer = ParquetWriter::new(&shape, file).expect("a writer");
    for part in rows.chunks(700) {
        let mut batch = shape.batch();
        part.iter().for_each(|row| shape.put(row, &mut batch));
        writer.add(batch).expect("adds");
    }
    writer.finish().expect("ends");
    let (names, count) = columns(&path).expect("columns");
    assert_eq!((names.len(), count), (types.len(), 3_000));
    same(&read(&path, &types, 0), &rows);
    // From any row on, as after an interrupt.
    for from in [1, 1_024, 2_999, 3_000] {
        let left = &rows[usize::try_from(from).expect("small")..];
        same(&read(&path, &types, from), left);
    }
    let mut past = Rows::open(&path, &[]).expect("opens");
    assert!(!past.skip(3_001).expect("skips"));
    // A value of another type is not left out in silence.
    let mut batch = shape.batch();
    shape.put(&[Some(CqlValue::Int(1))], &mut batch);
    let mut writer = ParquetWriter::new(&shape, Vec::new()).expect("a writer");
    assert!(writer.add(batch).is_err());
}

/// A file of one column of another writer.
fn foreign<T: ::parquet::data_type::DataType>(
    path: &Path,
    schema: &str,
    properties: WriterProperties,
    groups: &[Group<'_, T>],
) {
    let schema = Arc::new(parse_message_type(schema).expect(schema));
    let file = fs_err::File::create(path).expect("a file");
    let mut writer =
        SerializedFileWriter::new(file, schema, Arc::new(properties)).expect("a writer");
    for (values, defs, reps) in groups {
        let mut group = writer.next_row_group().expect("a group");
        let mut column = group.next_column().expect("a column").expect("one");
        let wanted = column.typed::<T>();
        let levels = (
            wanted.get_descriptor().max_def_level() > 0,
            wanted.get_descriptor().max_rep_level() > 0,
        );
        wanted
            .write_batch(values, levels.0.then_some(*defs), levels.1.then_some(*reps))
            .expect("writes");
        column.close().expect("closes");
        group.close().expect("closes");
    }
    writer.close().expect("closes");
}

fn texts(path: &Path, ty: Option<CqlType>) -> Vec<Result<Option<String>, String>> {
    let (names, _) = columns(path).expect("columns");
    let wanted = [Wanted {
        name: names[0].clone(),
        used: true,
        ty,
    }];
    let mut rows = Rows::open(path, &wanted).expect("opens");
    let mut all = Vec::new();
    while let Some(mut cells) = rows.next().expect("a row") {
        all.push(
            cells
                .remove(0)
                .map(|value| value.map(|value| value.exact_text())),
        );
    }
    all
}

fn shown<T: ::parquet::data_type::DataType>(
    schema: &str,
    values: &[T::T],
    (defs, reps): (&[i16], &[i16]),
    ty: Option<CqlType>,
) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.parquet");
    let schema = format!("message m {{ {schema} }}");
    let properties = WriterProperties::builder().build();
    foreign::<T>(&path, &schema, properties, &[(values, defs, reps)]);
    let all = texts(&path, ty).into_iter().map(|text| match text {
        Ok(text) => text.unwrap_or_else(|| "null".to_owned()),
        Err(why) => format!("! {why}"),
    });
    all.collect::<Vec<_>>().join(" | ")
}

#[test]
fn types_of_other_writers_are_understood() {
    let flat: (&[i16], &[i16]) = (&[], &[]);
    let micros = "required int64 x (TIMESTAMP(MICROS,true));";
    assert_eq!(
        shown::<Int64Type>(
            micros,
            &[1_700_000_000_123_999, -1],
            flat,
            Some(CqlType::Timestamp)
        ),
        "2023-11-14 22:13:20.123Z | 1969-12-31 23:59:59.999Z"
    );
    assert_eq!(
        shown::<Int64Type>(
            micros,
            &[1_700_000_000_123_999],
            flat,
            Some(CqlType::Bigint)
        ),
        "1700000000123999"
    );
    assert_eq!(
        shown::<Int64Type>(
            "required int64 x (TIMESTAMP(NANOS,false));",
            &[1_500_000],
            flat,
            None
        ),
        "1970-01-01 00:00:00.001Z"
    );
    assert_eq!(
        shown::<Int32Type>(
            "required int32 x (TIME(MILLIS,true));",
            &[1_500, -1],
            flat,
            Some(CqlType::Time)
        ),
        "00:00:01.500000000 | ! -1 is not a time of day"
    );
    assert_eq!(
        shown::<Int32Type>(
            "required int32 x (DATE);",
            &[19_754, -1],
            flat,
            Some(CqlType::Date)
        ),
        "2024-02-01 | 1969-12-31"
    );
    assert_eq!(
        shown::<Int32Type>(
            "required int32 x (INTEGER(32,false));",
            &[-1],
            flat,
            Some(CqlType::Bigint)
        ),
        "4294967295"
    );
    assert_eq!(
        shown::<Int64Type>(
            "required int64 x (INTEGER(64,false));",
            &[-1],
            flat,
            Some(CqlType::Varint)
        ),
        "18446744073709551615"
    );
    assert_eq!(
        shown::<Int64Type>(
            "required int64 x (DECIMAL(18,2));",
            &[-150],
            flat,
            Some(CqlType::Decimal)
        ),
        "-1.50"
    );
    let fixed = |bytes: &[u8]| FixedLenByteArray::from(bytes.to_vec());
    assert_eq!(
        shown::<FixedLenByteArrayType>(
            "required fixed_len_byte_array(9) x (DECIMAL(20,3));",
            &[fixed(&[
                0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x85
            ])],
            flat,
            None
        ),
        "-0.123"
    );
    assert_eq!(
        shown::<FixedLenByteArrayType>(
            "required fixed_len_byte_array(2) x (FLOAT16);",
            &[fixed(&[0x00, 0x3e]), fixed(&[0x01, 0x00])],
            flat,
            None
        ),
        "1.5 | 5.9604645e-8"
    );
    assert_eq!(
        shown::<FixedLenByteArrayType>(
            "required fixed_len_byte_array(12) x (INTERVAL);",
            &[fixed(&[14, 0, 0, 0, 3, 0, 0, 0, 0xe8, 3, 0, 0])],
            flat,
            Some(CqlType::Duration)
        ),
        "1y2mo3d1s"
    );
    let mut day = Int96::new();
    day.set_data(1_000_000, 0, 2_440_589);
    assert_eq!(
        shown::<Int96Type>("required int96 x;", &[day], flat, Some(CqlType::Timestamp)),
        "1970-01-02 00:00:00.001Z"
    );
    let bytes = |bytes: &[u8]| ByteArray::from(bytes.to_vec());
    let plain = "optional binary x;";
    let four = [bytes(b"\x7f\0\0\x01")];
    assert_eq!(
        shown::<ByteArrayType>(plain, &four, (&[1, 0], &[]), Some(CqlType::Inet)),
        "127.0.0.1 | null"
    );
    assert_eq!(
        shown::<ByteArrayType>(plain, &four, (&[1], &[]), Some(CqlType::Blob)),
        "0x7f000001"
    );
    assert_eq!(
        shown::<ByteArrayType>(
            "required binary x (STRING);",
            &[bytes(b"a"), bytes(b"\xff")],
            flat,
            Some(CqlType::Text)
        ),
        "a | ! not UTF-8"
    );
    assert_eq!(
        shown::<BoolType>("optional boolean x;", &[true], (&[0, 1], &[]), None),
        "null | true"
    );
    assert_eq!(
        shown::<DoubleType>("required double x;", &[0.1, f64::NAN], flat, None),
        "0.1 | NaN"
    );
}

#[test]
fn lists_of_older_writers_are_understood() {
    // Two levels, three levels, and a field that is merely repeated; null, empty, and with a null inside.
    let two = "optional group x (LIST) { repeated int32 item; }";
    assert_eq!(
        shown::<Int32Type>(two, &[1, 2, 3], (&[0, 1, 2, 2, 2], &[0, 0, 0, 1, 0]), None),
        "null | [] | [1, 2] | [3]"
    );
    let three = "optional group x (LIST) { repeated group list { optional int32 element; } }";
    assert_eq!(
        shown::<Int32Type>(
            three,
            &[1, 2, 3],
            (&[0, 1, 3, 3, 3, 2], &[0, 0, 0, 1, 0, 1]),
            None
        ),
        "null | [] | [1, 2] | ! null inside of a collection"
    );
    let array = "optional group x (LIST) { repeated group array { required int32 a; } }";
    assert_eq!(
        shown::<Int32Type>(array, &[1, 2], (&[2, 2], &[0, 1]), None),
        "[{\"a\": 1}, {\"a\": 2}]"
    );
    assert_eq!(
        shown::<Int32Type>(
            "repeated int32 x;",
            &[1, 2],
            (&[1, 1, 0], &[0, 1, 0]),
            Some(CqlType::Set(Box::new(CqlType::Int)))
        ),
        "{1, 2} | {}"
    );
}

#[test]
fn encodings_and_compressions_of_the_library_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.parquet");
    let values: Vec<i64> = (0..5_000).map(|n| n * n % 977).collect();
    let wanted: Vec<_> = values.iter().map(|n| Ok(Some(n.to_string()))).collect();
    let gzip = Compression::GZIP(Default::default());
    let all = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::ZSTD(Default::default()),
        Compression::LZ4_RAW,
        gzip,
    ];
    let encodings = [
        None,
        Some(Encoding::PLAIN),
        Some(Encoding::DELTA_BINARY_PACKED),
        Some(Encoding::BYTE_STREAM_SPLIT),
    ];
    for compression in all {
        for encoding in encodings {
            for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
                let mut properties = WriterProperties::builder()
                    .set_compression(compression)
                    .set_writer_version(version)
                    .set_data_page_row_count_limit(700);
                if let Some(encoding) = encoding {
                    properties = properties
                        .set_dictionary_enabled(false)
                        .set_encoding(encoding);
                }
                let group: (&[i64], &[i16], &[i16]) = (&values, &[], &[]);
                foreign::<Int64Type>(
                    &path,
                    "message m { required int64 x; }",
                    properties.build(),
                    &[group, (&[], &[], &[]), group],
                );
                let found = texts(&path, None);
                assert_eq!(
                    found.len(),
                    10_000,
                    "{compression:?} {encoding:?} {version:?}"
                );
                assert!(
                    found[..5_000] == wanted && found[5_000..] == wanted,
                    "{compression:?} {encoding:?} {version:?}"
                );
            }
        }
    }
    let bytes: Vec<ByteArray> = values
        .iter()
        .map(|n| ByteArray::from(format!("a{n}").into_bytes()))
        .collect();
    for encoding in [
        Encoding::DELTA_LENGTH_BYTE_ARRAY,
        Encoding::DELTA_BYTE_ARRAY,
    ] {
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(false)
            .set_encoding(encoding)
            .build();
        foreign::<ByteArrayType>(
            &path,
            "message m { required binary x (STRING); }",
            properties,
            &[(&bytes, &[], &[])],
        );
        let found = texts(&path, None);
        assert!(
            found
                .iter()
                .zip(&values)
                .all(|(text, n)| *text == Ok(Some(format!("a{n}")))),
            "{encoding}"
        );
    }
}

/// All rows of a file, or its error; never fewer rows in silence.
fn count(path: &Path, types: &[(String, CqlType)]) -> Result<usize, IngestError> {
    let wanted: Vec<Wanted> = types
        .iter()
        .map(|(name, ty)| Wanted {
            name: name.clone(),
            used: true,
            ty: Some(ty.clone()),
        })
        .collect();
    let mut rows = Rows::open(path, &wanted)?;
    let mut count = 0;
    while rows.next()?.is_some() {
        count += 1;
    }
    Ok(count)
}

/// A file with all types.
fn whole(count: usize) -> (Types, Vec<u8>) {
    let (types, rows) = rows(count);
    let shape = RowShape::new(&types).expect("a shape");
    let mut whole = Vec::new();
    let mut writer = ParquetWriter::new(&shape, &mut whole).expect("a writer");
    let mut batch = shape.batch();
    rows.iter().for_each(|row| shape.put(row, &mut batch));
    writer.add(batch).expect("adds");
    writer.finish().expect("ends");
    (types, whole)
}

static WHOLE: LazyLock<(Types, Vec<u8>)> = LazyLock::new(|| whole(40));

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_bytes_lose_a_row_or_go_on_for_ever(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let (types, whole) = &*WHOLE;
        let mut damaged = whole.clone();
        for (at, byte) in changes {
            let at = at.index(damaged.len());
            damaged[at] = byte;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.parquet");
        fs_err::write(&path, damaged).expect("writes");
        if let Ok(rows) = count(&path, types) {
            prop_assert_eq!(rows, 40);
        }
    }
}

#[test]
fn damage_is_an_error_and_no_row_is_missing() {
    let (types, whole) = whole(200);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.parquet");
    let found = |bytes: &[u8]| {
        fs_err::write(&path, bytes).expect("writes");
        count(&path, &types)
    };
    assert_eq!(found(&whole).expect("whole"), 200);
    for end in [
        0,
        3,
        4,
        11,
        12,
        whole.len() / 2,
        whole.len() - 9,
        whole.len() - 1,
    ] {
        let error = found(&whole[..end]).expect_err("it is cut off");
        assert!(
            matches!(error, IngestError::Content { .. }),
            "{end}: {error}"
        );
    }
    // A byte here and there: the library notices, or the values differ, but rows are never fewer.
    let mut noticed = 0;
    for at in (4..whole.len()).step_by(whole.len() / 150) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        match found(&damaged) {
            Ok(rows) => assert_eq!(rows, 200, "byte {at}"),
            Err(error) => {
                noticed += 1;
                assert!(
                    matches!(error, IngestError::Content { .. }),
                    "{at}: {error}"
                );
            }
        }
    }
    assert!(noticed > 50, "{noticed}");
    let mut outside = Vec::new();
    let mut packer =
        super::super::Packer::new(&mut outside, Some(super::super::Packing::Zstd)).expect("packs");
    std::io::Write::write_all(&mut packer, &whole).expect("packs");
    packer.finish().expect("packs");
    let error = found(&outside).expect_err("it is compressed from outside");
    assert!(
        error.to_string().contains("compressed from outside"),
        "{error}"
    );
}
