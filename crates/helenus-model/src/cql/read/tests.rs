//! What is read is what was meant; what was written exactly is read back; nothing panics.

use super::*;
use crate::seed::Seed;
use crate::workload::values::value;
use proptest::prelude::*;

fn read(ty: &CqlType, text: &str) -> Result<CqlValue, String> {
    CqlValue::read(ty, text, Habits::default()).map_err(|error| error.to_string())
}

fn every_type() -> Vec<CqlType> {
    use CqlType as T;
    let boxed = |ty: T| Box::new(ty);
    let udt = T::Udt {
        keyspace: "k".into(),
        name: "u".into(),
        fields: vec![
            ("plain".into(), T::Int),
            ("Quoted name".into(), T::List(boxed(T::Text))),
            ("t".into(), T::Timestamp),
        ],
    };
    let plain = [
        T::Ascii,
        T::Bigint,
        T::Blob,
        T::Boolean,
        T::Date,
        T::Decimal,
        T::Double,
        T::Duration,
        T::Float,
        T::Inet,
        T::Int,
        T::Smallint,
        T::Text,
        T::Time,
        T::Timestamp,
        T::Timeuuid,
        T::Tinyint,
        T::Uuid,
        T::Varint,
    ];
    let mut all = plain.to_vec();
    all.extend(plain.iter().map(|ty| T::List(boxed(ty.clone()))));
    all.extend([
        T::Set(boxed(T::Inet)),
        T::Map(boxed(T::Timestamp), boxed(T::List(boxed(T::Text)))),
        T::Map(
            boxed(T::Text),
            boxed(T::Map(boxed(T::Time), boxed(T::Blob))),
        ),
        T::Tuple(vec![T::Text, T::Decimal, udt.clone()]),
        T::Vector(boxed(T::Float), 3),
        T::Vector(boxed(T::Text), 2),
        T::Map(boxed(T::Tuple(vec![T::Int, T::Text])), boxed(udt.clone())),
        udt,
    ]);
    all
}

#[test]
fn texts_are_what_people_mean() {
    use CqlType as T;
    let is = |ty: &T, text: &str, value: CqlValue| assert_eq!(read(ty, text), Ok(value), "{text}");
    is(
        &T::Timestamp,
        "2026-01-02 03:04",
        CqlValue::Timestamp(1_767_323_040_000),
    );
    is(
        &T::Timestamp,
        "2026-01-02T03:04:05.678Z",
        CqlValue::Timestamp(1_767_323_045_678),
    );
    is(
        &T::Timestamp,
        "2026-01-02 04:04:05.678000+0100",
        CqlValue::Timestamp(1_767_323_045_678),
    );
    is(&T::Timestamp, "-1", CqlValue::Timestamp(-1));
    is(&T::Date, "1970-01-02", CqlValue::Date((1 << 31) + 1));
    is(
        &T::Time,
        "12:00:00.000000001",
        CqlValue::Time(43_200_000_000_001),
    );
    is(&T::Int, " 7.0 ", CqlValue::Int(7));
    is(&T::Boolean, "Yes", CqlValue::Boolean(true));
    is(&T::Varint, "-129", CqlValue::Varint(vec![0xff, 0x7f]));
    is(&T::Blob, "0xCAfe", CqlValue::Blob(vec![0xca, 0xfe]));
    let decimal = |unscaled, scale| CqlValue::Decimal { unscaled, scale };
    is(&T::Decimal, "-1.5", decimal(vec![0xf1], 1));
    is(&T::Decimal, "12E3", decimal(vec![12], -3));
    let duration = |months, days, nanos| CqlValue::Duration {
        months,
        days,
        nanos,
    };
    is(
        &T::Duration,
        "-1y2mo1w3h4m",
        duration(-14, -7, -11_040_000_000_000),
    );
    is(
        &T::Duration,
        "P1Y2M3DT4H5M6S",
        duration(14, 3, 14_706_000_000_000),
    );
    let comma = Habits {
        decimal_comma: true,
    };
    let german = CqlValue::read(&T::Double, "1.234,5", comma);
    assert_eq!(german, Ok(CqlValue::Double(1234.5)));
    let map = T::Map(Box::new(T::Text), Box::new(T::List(Box::new(T::Int))));
    let list = CqlValue::List(vec![CqlValue::Int(1), CqlValue::Int(2)]);
    let value = CqlValue::Map(vec![(CqlValue::Text("it's".into()), list)]);
    is(&map, "{'it''s': [1, 2]}", value.clone());
    is(&map, r#"{"it's":[1,2]}"#, value);
}

#[test]
fn what_is_no_value_is_refused_with_a_reason() {
    use CqlType as T;
    let list = T::List(Box::new(T::Int));
    for (ty, text) in [
        (T::Int, "2147483648"),
        (T::Int, ""),
        (T::Date, "2026-02-30"),
        (T::Time, "24:00:00"),
        (T::Timeuuid, "f47ac10b-58cc-4372-a567-0e02b2c3d479"),
        (T::Inet, "16777216"),
        (T::Blob, "cafe"),
        (T::Ascii, "ü"),
        (T::Double, "1e5x"),
        (T::Decimal, "."),
        (list.clone(), "[1, null]"),
        (list.clone(), "[1] 2"),
        (list.clone(), "[1"),
        (T::Vector(Box::new(T::Int), 2), "[1, 2, 3]"),
    ] {
        assert!(read(&ty, text).is_err(), "{text} is no {ty}");
    }
    assert_eq!(
        read(&list, "[1, 2] 3").unwrap_err(),
        r#""[1, 2] 3" is not a valid list<int>: something follows it at "3""#
    );
    let udt = &every_type()[every_type().len() - 1];
    let error = read(udt, "{plan: 1}").unwrap_err();
    assert!(
        error.ends_with("it has no field \"plan\"; did you mean plain?"),
        "{error}"
    );
}

#[test]
fn what_a_tuple_begins_with_is_its_own() {
    let list = CqlType::List(Box::new(CqlType::Int));
    let ty = CqlType::Tuple(vec![list, CqlType::Text]);
    let pair = CqlValue::Tuple(vec![
        Some(CqlValue::List(vec![CqlValue::Int(1), CqlValue::Int(2)])),
        Some(CqlValue::Text("a".into())),
    ]);
    assert_eq!(read(&ty, &pair.exact_text()), Ok(pair.clone()));
    assert_eq!(read(&ty, "[[1, 2], \"a\"]"), Ok(pair));
}

#[test]
fn what_is_too_large_is_not_infinite() {
    assert!(read(&CqlType::Float, "1e39").is_err() && read(&CqlType::Double, "-1e400").is_err());
    assert_eq!(
        read(&CqlType::Float, "-Infinity"),
        Ok(CqlValue::Float(f32::NEG_INFINITY))
    );
    let long = CqlValue::Decimal {
        unscaled: vec![0x1e; 5_000],
        scale: 3,
    };
    assert_eq!(read(&CqlType::Decimal, &long.exact_text()), Ok(long));
    assert_eq!(
        read(&CqlType::Varint, "0x00ff"),
        Ok(CqlValue::Varint(vec![0x00, 0xff]))
    );
    assert_eq!(
        read(&CqlType::Varint, "0x0001"),
        Ok(CqlValue::Varint(vec![1]))
    );
}

#[test]
fn what_a_server_cannot_distinguish_is_once_in_a_set() {
    let order = crate::workload::order::compare;
    let ty = CqlType::Set(Box::new(CqlType::Decimal));
    let set =
        |text: &str| CqlValue::read(&ty, text, Habits::default()).map(|v| v.canonical(&order));
    assert_eq!(
        set("{1E+1, 9.5, -0.25, 1.0, 1.00}"),
        set("{-0.25, 1.0, 9.5, 1E+1}")
    );
    let ty = CqlType::Map(Box::new(CqlType::Decimal), Box::new(CqlType::Int));
    let map =
        |text: &str| CqlValue::read(&ty, text, Habits::default()).map(|v| v.canonical(&order));
    assert_eq!(map("{10: 1, 1.00: 2, 1.00: 3}"), map("{1.00: 3, 10: 1}"));
}

proptest! {
    #[test]
    fn what_is_written_exactly_is_read_back(seed: u64, position in 0_u64..1 << 40) {
        for ty in every_type() {
            let made = value(Seed(seed), "k", "t", "c", &ty, position);
            let text = made.exact_text();
            let back = CqlValue::read(&ty, &text, Habits::default());
            let order = crate::workload::order::compare;
            let back = back.map(|value| value.canonical(&order));
            prop_assert_eq!(back, Ok(made.canonical(&order)), "{} as {}", text, ty);
        }
    }

    #[test]
    fn extremes_are_read_back(n: i64, x: f64, y: f32, bytes: Vec<u8>, scale: i32, text: String) {
        let all = [
            (CqlType::Timestamp, CqlValue::Timestamp(n)),
            (CqlType::Date, CqlValue::Date(n as u32)),
            (CqlType::Double, CqlValue::Double(x)),
            (CqlType::Float, CqlValue::Float(y)),
            (CqlType::Decimal, CqlValue::Decimal { unscaled: n.to_be_bytes().to_vec(), scale: scale.max(-i32::MAX) }),
            (CqlType::Varint, CqlValue::Varint(if bytes.is_empty() { vec![0] } else { bytes.clone() })),
            (CqlType::Tuple(vec![CqlType::Text]), CqlValue::Tuple(vec![Some(CqlValue::Text(text))])),
        ];
        for (ty, value) in all {
            let back = CqlValue::read(&ty, &value.exact_text(), Habits::default());
            let same = |value: CqlValue| format!("{:?}", value.canonical(&|_, _| std::cmp::Ordering::Equal));
            prop_assert_eq!(back.map(same), Ok(same(value)));
        }
    }

    #[test]
    fn no_text_makes_a_reader_panic(text in "[\\PC\\[\\]{}(),:'\"0-9eE.+-]{0,40}", comma: bool) {
        for ty in every_type() {
            let _either = CqlValue::read(&ty, &text, Habits { decimal_comma: comma });
        }
    }
}
