//! Records are cut where they end, whatever the pieces in which they come; mappings say what goes where.

use super::delimited::{Cut, Dialect, Fields, cut, put_field};
use super::*;
use crate::cql::read::Habits;
use crate::cql::{CqlType, CqlValue};
use crate::table::{ColumnKind, Table, TableColumn};
use proptest::prelude::*;
use std::borrow::Cow;

fn cut_all(bytes: &[u8], dialect: &Dialect) -> Vec<Result<Vec<Option<String>>, &'static str>> {
    let (mut all, mut at) = (Vec::new(), 0);
    let mut fields = Fields::default();
    loop {
        match cut(&bytes[at..], true, dialect, &mut fields) {
            Cut::Record(length) => {
                at += length;
                let nulls = [if dialect.backslash { "\\N" } else { "" }.to_owned()];
                all.push(match fields.record(&nulls) {
                    Ok(record) => Ok(record.into_iter().map(|f| f.map(Cow::into_owned)).collect()),
                    Err((_, why)) => Err(why),
                });
            }
            Cut::Wrong(length, why) => {
                assert!(length > 0);
                at += length;
                all.push(Err(why));
            }
            Cut::End => return all,
            Cut::More => panic!("the last bytes are all there are"),
        }
    }
}

fn some(texts: &[&str]) -> Vec<Option<String>> {
    texts.iter().map(|text| Some((*text).to_owned())).collect()
}

#[test]
fn records_end_where_they_end() {
    let csv = b"a,\"b,\"\"c\"\"\nd\",e\r\n1,,\"\"\n\"open,2\n3,4,\xff\n\0,5\n\"x\"y\n6";
    let all = cut_all(csv, &Dialect::CSV);
    assert_eq!(all[0], Ok(some(&["a", "b,\"c\"\nd", "e"])));
    assert_eq!(
        all[1],
        Ok(vec![Some("1".into()), None, Some(String::new())])
    );
    // A stray quote swallows text up to the next one; what is not closed costs one line.
    let all = cut_all(b"\"open,2\n3,4\n5", &Dialect::CSV);
    assert_eq!(
        all,
        vec![
            Err("a quote is not closed"),
            Ok(some(&["3", "4"])),
            Ok(some(&["5"]))
        ]
    );
    let all = cut_all(b"3,\xff\n\0,5\n\"x\"y\n6", &Dialect::CSV);
    assert_eq!(
        all,
        vec![
            Err("not UTF-8"),
            Err("a NUL byte outside of quotes"),
            Err("text behind a closing quote"),
            Ok(some(&["6"])),
        ]
    );
    let tsv = cut_all(b"a\\tb\t\\N\t\"q\"\nx\ty\n", &Dialect::TSV);
    assert_eq!(
        tsv[0],
        Ok(vec![Some("a\tb".into()), None, Some("\"q\"".into())])
    );
}

#[test]
fn a_text_that_looks_like_the_null_word_is_a_text() {
    // As PostgreSQL's COPY writes the text of a backslash and an N.
    let tsv = cut_all(b"\\\\N\t\\N\tx\\N\n", &Dialect::TSV);
    assert_eq!(
        tsv,
        [Ok(vec![Some("\\N".into()), None, Some("x\\N".into())])]
    );
    let mut bytes = Vec::new();
    put_field(Some("\\N"), &Dialect::TSV, &["\\N".to_owned()], &mut bytes);
    assert_eq!(cut_all(&bytes, &Dialect::TSV), [Ok(some(&["\\N"]))]);
    // A backslash protects the zero that it stands before, and no other.
    for bytes in [&b"\\t\0\n"[..], b"\0\\t\n"] {
        let zero = cut_all(bytes, &Dialect::TSV);
        assert_eq!(zero, [Err("a NUL byte outside of quotes")]);
    }
}

#[test]
fn a_text_that_is_another_null_word_is_a_text() {
    for word in ["NULL", "-", "\u{e4}"] {
        assert!(Dialect::TSV.can_write_null_as(word), "{word}");
        let nulls = [word.to_owned()];
        let mut line = Vec::new();
        put_field(Some(word), &Dialect::TSV, &nulls, &mut line);
        line.push(b'\t');
        put_field(None, &Dialect::TSV, &nulls, &mut line);
        line.push(b'\t');
        put_field(Some("a\0b"), &Dialect::TSV, &nulls, &mut line);
        let mut fields = Fields::default();
        assert_eq!(
            cut(&line, true, &Dialect::TSV, &mut fields),
            Cut::Record(line.len())
        );
        let record = fields.record(&nulls).expect("texts");
        let texts: Vec<Option<&str>> = record.iter().map(Option::as_deref).collect();
        assert_eq!(texts, [Some(word), None, Some("a\0b")]);
    }
    for (dialect, word) in [
        (Dialect::TSV, ""),
        (Dialect::TSV, "nb"),
        (Dialect::TSV, "a\tb"),
        (Dialect::TSV, "\\x"),
        (Dialect::CSV, "a,b"),
        (Dialect::CSV, "\"null\""),
    ] {
        assert!(!dialect.can_write_null_as(word), "{word:?}");
    }
    assert!(Dialect::CSV.can_write_null_as("") && Dialect::TSV.can_write_null_as("\\N"));
}

#[test]
fn a_line_of_json_has_its_members_as_texts() {
    let names = ["a", "b", "c", "d"].map(str::to_owned);
    let line = r#"{ "b" : 12345678901234567890.5, "x":[1,{"y":"}"}] ,"a":"q\"}", "c":{"k": [1, 2]}, "d":null}"#;
    let record = json_lines::record(line, &names).unwrap();
    let texts: Vec<Option<&str>> = record.iter().map(Option::as_deref).collect();
    assert_eq!(
        texts,
        [
            Some("q\"}"),
            Some("12345678901234567890.5"),
            Some(r#"{"k": [1, 2]}"#),
            None
        ]
    );
    assert!(json_lines::record("[1]", &names).is_err());
    assert!(json_lines::record("{\"a\": 1", &names).is_err());
}

fn column(name: &str, cql_type: CqlType, kind: ColumnKind) -> TableColumn {
    TableColumn {
        name: name.into(),
        cql_type,
        kind,
    }
}

fn table() -> Table {
    Table {
        keyspace: "k".into(),
        name: "t".into(),
        columns: vec![
            column("country", CqlType::Text, ColumnKind::Partition),
            column("ip", CqlType::Inet, ColumnKind::Clustering),
            column("city", CqlType::Text, ColumnKind::Regular),
            column("id", CqlType::Timeuuid, ColumnKind::Regular),
        ],
    }
}

#[test]
fn a_record_becomes_rows() {
    let fields = ["ip_from", "ip_to", "country_code", "city"].map(str::to_owned);
    let mut wishes = Wishes {
        fields: fields.to_vec(),
        maps: vec![
            (
                "country".into(),
                "concat(country_code, '-', split(city, ' ', 2))".into(),
            ),
            ("id".into(), "uuid()".into()),
        ],
        expand: Some("ip: ipv4_range(ip_from, ip_to)".into()),
        ..Wishes::default()
    };
    let mapping = Mapping::new(&table(), &wishes).unwrap();
    assert_eq!(
        mapping.insert(Some(60)),
        "INSERT INTO k.t (country, ip, city, id) VALUES (?, ?, ?, ?) USING TTL 60 AND TIMESTAMP ?"
    );
    let record: Record<'_> = ["16777216", "1.0.0.255", "AU", "Port Hope"]
        .map(|t| Some(Cow::Borrowed(t)))
        .into();
    let given = RowInput {
        fields: &record,
        element: None,
        row: 0,
        start_us: 5,
    };
    let open = mapping.expand.as_ref().unwrap().open(&given).unwrap();
    assert_eq!(open.count, 256);
    let mut element = String::new();
    open.element(255, &mut element);
    let given = RowInput {
        element: Some(&element),
        row: 255,
        ..given
    };
    assert_eq!(
        mapping.value(0, &given),
        Ok(Some(CqlValue::Text("AU-Hope".into())))
    );
    assert_eq!(
        mapping.value(1, &given),
        Ok(Some(CqlValue::Inet([1, 0, 0, 255].into())))
    );
    assert_eq!(mapping.value(3, &given), mapping.value(3, &given));
    assert_ne!(
        mapping.value(3, &given),
        mapping.value(3, &RowInput { row: 254, ..given })
    );
    wishes.maps.pop();
    wishes.maps[0].1 = "contry_code".into();
    let error = Mapping::new(&table(), &wishes).unwrap_err().to_string();
    assert!(error.contains("did you mean country_code?"), "{error}");
    wishes.maps.clear();
    let error = Mapping::new(&table(), &wishes).unwrap_err().to_string();
    assert!(
        error.starts_with("field \"country_code\" matches no column of k.t"),
        "{error}"
    );
}

#[test]
fn ranges_have_their_elements() {
    let all = |text: &str| {
        let open = Expand::parse(text, &[])?.open(&RowInput {
            fields: &[],
            element: None,
            row: 0,
            start_us: 0,
        })?;
        let ends = [0, open.count - 1].map(|at| {
            let mut text = String::new();
            open.element(at, &mut text);
            text
        });
        Ok::<_, String>(format!("{} {} {}", open.count, ends[0], ends[1]))
    };
    assert_eq!(all("n: int_range(-3, 7, 5)"), Ok("3 -3 7".into()));
    assert_eq!(
        all("n: number_range('-0.5', '1', '0.25')"),
        Ok("7 -0.50 1.00".into())
    );
    assert_eq!(
        all("d: date_range('2024-02-28', '2024-03-01')"),
        Ok("3 2024-02-28 2024-03-01".into())
    );
    assert_eq!(
        all("i: ipv4_range('1.0.0.0', 16777471)"),
        Ok("256 1.0.0.0 1.0.0.255".into())
    );
    assert_eq!(
        all("i: ipv4_prefix('10.1.2.3/16')"),
        Ok("65536 10.1.0.0 10.1.255.255".into())
    );
    assert_eq!(
        all("i: ipv6_range('2001:db8::', '2001:db8:0:3::', 64)"),
        Ok("4 2001:db8::/64 2001:db8:0:3::/64".into())
    );
    assert!(
        all("i: ipv4_range('1.0.0.1', '1.0.0.0')")
            .unwrap_err()
            .contains("ends before")
    );
    assert!(
        all("i: ipv4_rang('1.0.0.1', '1.0.0.0')")
            .unwrap_err()
            .contains("did you mean ipv4_range")
    );
    assert!(all("i: int_range(1, 2, 0)").is_err());
}

proptest! {
    #[test]
    fn what_is_put_is_cut(rows in prop::collection::vec(prop::collection::vec(prop::option::of(any::<String>()), 2..5), 0..6), tsv: bool, piece in 1_usize..9) {
        let dialect = if tsv { Dialect::TSV } else { Dialect::CSV };
        let nulls = [if tsv { "\\N" } else { "" }.to_owned()];
        // Without quotes a NUL is refused, and a text that is the null word is null.
        let rows: Vec<Vec<Option<String>>> = rows.into_iter().map(|row| row.into_iter().map(|f| f.map(|t| match tsv { true => t.replace('\0', "0"), false => t })).collect()).collect();
        let mut bytes = Vec::new();
        for row in &rows {
            for (at, field) in row.iter().enumerate() {
                if at > 0 { bytes.push(dialect.delimiter); }
                put_field(field.as_deref(), &dialect, &nulls, &mut bytes);
            }
            bytes.push(b'\n');
        }
        let all: Vec<_> = cut_all(&bytes, &dialect).into_iter().map(Result::unwrap).collect();
        prop_assert_eq!(&all, &rows);
        // In pieces: more is asked for until the record is whole.
        let mut fields = Fields::default();
        let first = (0..=bytes.len()).step_by(piece).map(|end| cut(&bytes[..end], false, &dialect, &mut fields)).find(|cut| *cut != Cut::More);
        if let Some(Cut::Record(length)) = first {
            let whole = cut(&bytes, true, &dialect, &mut fields);
            prop_assert_eq!(whole, Cut::Record(length));
        }
    }

    #[test]
    fn no_bytes_make_a_cutter_panic(bytes: Vec<u8>, line in "[\\PC{}\\[\\]:,\"\\\\]{0,30}", expr in "[a-z$0-9(),'\" ]{0,30}") {
        for dialect in [Dialect::CSV, Dialect::TSV] {
            let _all = cut_all(&bytes, &dialect);
        }
        let names = ["a".to_owned()];
        let _either = json_lines::record(&line, &names);
        let _either = json_lines::record(&format!("{{{line}}}"), &names);
        let words = Words { fields: &names, element: Some("e") };
        let _either = Expr::parse(&expr, words, &CqlType::Text);
        let _either = Expand::parse(&format!("a: int_range({expr})"), &names);
    }

    #[test]
    fn bounds_of_any_size_make_a_range_or_a_reason(
        kind in prop::sample::select(&["int_range", "number_range", "date_range", "ipv4_range", "ipv4_prefix", "ipv6_range"][..]),
        bounds in prop::collection::vec("-?[0-9]{0,20}(\\.[0-9]{1,19}|-[0-9]{2}-[0-9]{2}|:[0-9a-f]{0,4}:[0-9a-f]{0,4}|/[0-9]{1,3})?", 1..4),
    ) {
        let bounds: Vec<String> = bounds.iter().map(|bound| format!("'{bound}'")).collect();
        let given = RowInput { fields: &[], element: None, row: 0, start_us: 0 };
        let parsed = Expand::parse(&format!("x: {kind}({})", bounds.join(", ")), &[]);
        if let Ok(open) = parsed.and_then(|expand| expand.open(&given)) {
            prop_assert!(open.count > 0);
            let element = |at| {
                let mut text = String::new();
                open.element(at, &mut text);
                text
            };
            let (first, last) = (element(0), element(open.count - 1));
            prop_assert!(!first.is_empty() && (first != last || open.count == 1), "{} {}", first, last);
        }
    }

    #[test]
    fn no_words_make_a_mapping_panic(
        words in prop::collection::vec("[a-z$0-9(),'\" :._-]{0,24}", 4), record in prop::collection::vec(prop::option::of("\\PC{0,12}"), 4),
    ) {
        let fields = ["country", "ip", "city", "id"].map(str::to_owned);
        let [expand, timestamp, map, field] = &words[..] else { unreachable!() };
        let record: Record<'_> = record.into_iter().map(|field| field.map(Cow::Owned)).collect();
        let given = RowInput { fields: &record, element: Some("e"), row: 3, start_us: 5 };
        for expand in [None, Some(expand.clone()), Some(format!("ip: ipv4_range({expand})"))] {
            for (maps, timestamp) in [(vec![], None), (vec![("city".to_owned(), map.clone())], None), (vec![(field.clone(), map.clone())], Some(timestamp.clone()))] {
                let wishes = Wishes { fields: fields.to_vec(), maps, expand: expand.clone(), timestamp, lenient: true, ..Wishes::default() };
                let Ok(mapping) = Mapping::new(&table(), &wishes) else { continue };
                for at in 0..mapping.targets.len() {
                    prop_assert_eq!(mapping.value(at, &given), mapping.value(at, &given));
                }
                let _either = mapping.dated(&given);
                let _either = mapping.expand.as_ref().map(|expand| expand.open(&given));
            }
        }
    }

    #[test]
    fn no_line_makes_a_journal_panic(text in "\\PC{0,60}", at: prop::sample::Index, byte: u8) {
        let journal = r#"{"format":"helenus.load-journal/1","cluster_name":"c","table":"k.t","table_id":"1","mapping":"","files":[{"path":"a","bytes":1,"modified_ns":2,"head":null}],"start_us":1,"resumed":0,"place":{"file":0,"offset":1,"line":1,"element":0,"rows":1,"rejected":0,"rejected_bytes":0}}"#;
        prop_assert!(serde_json::from_str::<LoadJournal>(journal).is_ok());
        let mut damaged = journal.as_bytes().to_vec();
        let at = at.index(damaged.len());
        damaged[at] = byte;
        let _either = serde_json::from_slice::<LoadJournal>(&damaged);
        let _either = serde_json::from_slice::<unloading::UnloadMark>(&damaged);
        let _either = serde_json::from_str::<LoadJournal>(&text);
        prop_assert!(serde_json::from_slice::<LoadJournal>(&journal.as_bytes()[..at]).is_err());
    }
}

#[test]
fn habits_are_those_of_the_file() {
    let table = Table {
        keyspace: "k".into(),
        name: "t".into(),
        columns: vec![
            column("id", CqlType::Blob, ColumnKind::Partition),
            column("at", CqlType::Double, ColumnKind::Clustering),
            column("price", CqlType::Double, ColumnKind::Regular),
            column("fixed", CqlType::Double, ColumnKind::Regular),
        ],
    };
    let text = |text: &str| text.to_owned();
    let mut wishes = Wishes {
        fields: vec![text("id"), text("price")],
        maps: vec![(text("fixed"), text("'2.5'"))],
        expand: Some(text("at: number_range(1, 2, 0.5)")),
        habits: Habits {
            decimal_comma: true,
        },
        ..Wishes::default()
    };
    let mapping = Mapping::new(&table, &wishes).expect("a mapping");
    let fields = ["0x", "1.234,5"].map(|field| Some(Cow::Borrowed(field)));
    let given = RowInput {
        fields: &fields,
        element: Some("1.5"),
        row: 0,
        start_us: 0,
    };
    let wrong = mapping.value(0, &given).expect_err("an empty key");
    assert_eq!(wrong.why, "a partition key of one column cannot be empty");
    for (target, wanted) in [(1, 1.5), (2, 1234.5), (3, 2.5)] {
        let value = mapping.value(target, &given);
        assert_eq!(value, Ok(Some(CqlValue::Double(wanted))));
    }
    // Two fields of one name: only one could be stored.
    wishes.fields.push(text("PRICE"));
    let error = Mapping::new(&table, &wishes).expect_err("two fields");
    assert_eq!(
        error.to_string(),
        "two fields are named like column price: \"price\" and \"PRICE\""
    );
    wishes.maps.push((text("price"), text("$3")));
    assert!(Mapping::new(&table, &wishes).is_ok());
}
