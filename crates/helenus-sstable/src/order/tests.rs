//! The order of bytes against the order of values.

use super::*;
use helenus_cql::codec::value::encode_value;
use helenus_model::workload::order::compare;
use proptest::collection::vec;
use proptest::prelude::*;
use std::cmp::Ordering;

/// A value of a type, from random bytes; small numbers and short texts, so that equal ones meet.
fn value(ty: &CqlType) -> BoxedStrategy<CqlValue> {
    let uuid = |version: u8| {
        any::<[u8; 16]>().prop_map(move |mut uuid| {
            uuid[6] = version << 4 | uuid[6] & 0x0f;
            uuid
        })
    };
    match ty {
        CqlType::Text => "[a\0-]{0,4}".prop_map(CqlValue::Text).boxed(),
        CqlType::Blob => vec(0..3_u8, 0..5).prop_map(CqlValue::Blob).boxed(),
        CqlType::Bigint => any::<i64>().prop_map(CqlValue::Bigint).boxed(),
        CqlType::Int => (-3..3).prop_map(CqlValue::Int).boxed(),
        CqlType::Smallint => any::<i16>().prop_map(CqlValue::Smallint).boxed(),
        CqlType::Tinyint => any::<i8>().prop_map(CqlValue::Tinyint).boxed(),
        CqlType::Boolean => any::<bool>().prop_map(CqlValue::Boolean).boxed(),
        CqlType::Date => any::<u32>().prop_map(CqlValue::Date).boxed(),
        CqlType::Double => any::<f64>().prop_map(CqlValue::Double).boxed(),
        CqlType::Float => any::<f32>().prop_map(CqlValue::Float).boxed(),
        CqlType::Inet => any::<std::net::IpAddr>().prop_map(CqlValue::Inet).boxed(),
        CqlType::Varint => vec(any::<u8>(), 1..4).prop_map(CqlValue::Varint).boxed(),
        CqlType::Decimal => (vec(any::<u8>(), 1..4), -2..3)
            .prop_map(|(unscaled, scale)| CqlValue::Decimal { unscaled, scale })
            .boxed(),
        CqlType::Timeuuid => uuid(1).prop_map(CqlValue::Timeuuid).boxed(),
        CqlType::Uuid => prop_oneof![uuid(1), uuid(4), uuid(7)]
            .prop_map(CqlValue::Uuid)
            .boxed(),
        CqlType::List(of) => vec(value(of), 0..3).prop_map(CqlValue::List).boxed(),
        CqlType::Map(key, of) => vec((value(key), value(of)), 0..3)
            .prop_map(CqlValue::Map)
            .boxed(),
        CqlType::Vector(of, count) => vec(value(of), *count).prop_map(CqlValue::Vector).boxed(),
        CqlType::Tuple(types) => {
            let fields: Vec<_> = types.iter().map(|ty| prop::option::of(value(ty))).collect();
            fields.prop_map(CqlValue::Tuple).boxed()
        }
        other => unreachable!("{other}"),
    }
}

fn types() -> impl Strategy<Value = CqlType> {
    use CqlType as T;
    let simple = [
        T::Text,
        T::Blob,
        T::Bigint,
        T::Int,
        T::Smallint,
        T::Tinyint,
        T::Boolean,
        T::Date,
        T::Double,
        T::Float,
        T::Inet,
        T::Varint,
        T::Decimal,
        T::Timeuuid,
        T::Uuid,
    ];
    let boxed = |ty: T| Box::new(ty);
    let nested = [
        T::List(boxed(T::Text)),
        T::Map(boxed(T::Int), boxed(T::Blob)),
        T::Vector(boxed(T::Int), 2),
        T::Vector(boxed(T::Text), 2),
        T::Tuple(vec![T::Text, T::Int]),
    ];
    prop::sample::select([&simple[..], &nested[..]].concat())
}

fn bytes(ty: &CqlType, value: &CqlValue, descending: bool) -> Vec<u8> {
    let (mut encoded, mut out) = (Vec::new(), Vec::new());
    encode_value(ty, value, &mut encoded).unwrap();
    comparable(ty, &encoded, descending, &mut out).unwrap();
    out
}

proptest! {
    #[test]
    fn bytes_compare_like_values(
        (ty, a, b) in types().prop_flat_map(|ty| (Just(ty.clone()), value(&ty), value(&ty))),
    ) {
        let wanted = compare(&a, &b);
        prop_assert_eq!(bytes(&ty, &a, false).cmp(&bytes(&ty, &b, false)), wanted);
        prop_assert_eq!(bytes(&ty, &a, true).cmp(&bytes(&ty, &b, true)), wanted.reverse());
    }

    #[test]
    fn what_follows_does_not_decide_between_different_values(
        (ty, a, b) in types().prop_flat_map(|ty| (Just(ty.clone()), value(&ty), value(&ty))),
        behind in any::<(u8, u8)>(),
    ) {
        let wanted = compare(&a, &b);
        prop_assume!(wanted.is_ne());
        let with = |value: &CqlValue, more: u8| {
            let mut all = bytes(&ty, value, false);
            all.push(more);
            all
        };
        prop_assert_eq!(with(&a, behind.0).cmp(&with(&b, behind.1)), wanted);
    }
}

#[test]
fn decimals_compare_as_numbers_whatever_their_scale() {
    let decimal = |text: &str| {
        let read = CqlValue::read(&CqlType::Decimal, text, Default::default());
        bytes(&CqlType::Decimal, &read.unwrap(), false)
    };
    let ascending = [
        "-1e5", "-12.5", "-12.05", "-1", "-0.001", "0", "0.0009", "0.001", "1", "1.0001", "9.99",
        "10", "12.05", "12.5", "1e5",
    ];
    for pair in ascending.windows(2) {
        assert_eq!(
            decimal(pair[0]).cmp(&decimal(pair[1])),
            Ordering::Less,
            "{pair:?}"
        );
    }
    assert_eq!(decimal("1.0"), decimal("1.00"));
    assert_eq!(decimal("0"), decimal("0.00"));
}

#[test]
fn what_has_no_order_is_refused() {
    let mut out = Vec::new();
    assert!(comparable(&CqlType::Duration, &[0, 0, 0], false, &mut out).is_err());
    assert!(comparable(&CqlType::Int, &[0, 0, 0], false, &mut out).is_err());
    let nan = f64::NAN.to_be_bytes();
    let one = (-f64::NAN).to_be_bytes();
    let of = |value: &[u8]| {
        let mut out = Vec::new();
        comparable(&CqlType::Double, value, false, &mut out).unwrap();
        out
    };
    assert_eq!(of(&nan), of(&one), "Java knows one NaN");
    assert!(of(&nan) > of(&f64::INFINITY.to_be_bytes()));
}
