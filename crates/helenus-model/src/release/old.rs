//! Values given under an old key's name, turned into what the modern key takes, and back again.
//! Refuses a converter that it does not know: a value is never passed on in a guessed unit.

use serde_json::Value;

use super::kind::count_of;

/// The modern value, or none when the old key would not have taken that value.
///
/// `converter` is the release's own name for the rule; `offset` is what a counting one adds.
pub(super) fn modern(converter: &str, offset: Option<i64>, value: &Value) -> Option<Value> {
    let text = |unit: &str| {
        let n = value.as_i64().filter(|n| *n >= 0)?;
        Some(Value::String(format!("{n}{unit}")))
    };
    let unless = |off: bool, unit: &str| if off { Some(Value::Null) } else { text(unit) };
    let n = value.as_i64();
    match converter {
        "IDENTITY" => Some(value.clone()),
        "INTEGER_PRIMITIVE_LONG" => n.map(Value::from),
        "MILLIS_DURATION_LONG" | "MILLIS_DURATION_INT" => text("ms"),
        "MILLIS_DURATION_DOUBLE" => {
            let ms = value.as_f64().filter(|ms| *ms >= 0.0)?;
            Some(Value::String(format!("{}ms", ms.round())))
        }
        "MILLIS_CUSTOM_DURATION" => unless(n == Some(-1), "ms"),
        "SECONDS_DURATION" => text("s"),
        "NEGATIVE_SECONDS_DURATION" => Some(Value::String(format!("{}s", n?.max(0)))),
        // The key kept its name: a bare number is the old form, a duration the modern one.
        "SECONDS_CUSTOM_DURATION" => text("s").or_else(|| value.is_string().then(|| value.clone())),
        "MINUTES_CUSTOM_DURATION" => unless(n == Some(-1), "m"),
        "MEBIBYTES_DATA_STORAGE_LONG"
        | "MEBIBYTES_DATA_STORAGE_INT"
        | "LONG_BYTES_DATASTORAGE_MEBIBYTES_INT" => text("MiB"),
        "NEGATIVE_MEBIBYTES_DATA_STORAGE_INT" => unless(n.is_some_and(|n| n < 0), "MiB"),
        "LONG_BYTES_DATASTORAGE_MEBIBYTES_DATASTORAGE" => value.is_string().then(|| value.clone()),
        "KIBIBYTES_DATASTORAGE" => text("KiB"),
        "BYTES_DATASTORAGE" => text("B"),
        "BYTES_CUSTOM_DATASTORAGE" => unless(n == Some(-1), "B"),
        "MEBIBYTES_PER_SECOND_DATA_RATE" => text("MiB/s"),
        // 1 megabit is 1,000,000 bits, so 125,000 bytes.
        "MEGABITS_TO_BYTES_PER_SECOND_DATA_RATE" => {
            let bytes = n.filter(|n| *n >= 0)?.checked_mul(125_000)?;
            Some(Value::String(format!("{bytes}B/s")))
        }
        "KEYSPACE_COUNT_THRESHOLD_TO_GUARDRAIL" | "TABLE_COUNT_THRESHOLD_TO_GUARDRAIL" => {
            n?.checked_add(offset?).map(Value::from)
        }
        _ => None,
    }
}

/// The old key's value that means the same as this modern one, or none where the old form cannot say it.
pub(super) fn before(converter: &str, offset: Option<i64>, value: &Value) -> Option<Value> {
    let count = |unit: &str| count_of(value.as_str()?, unit).map(Value::from);
    let unless = |unit: &str| match value {
        Value::Null => Some(Value::from(-1)),
        _ => count(unit),
    };
    match converter {
        "IDENTITY" | "LONG_BYTES_DATASTORAGE_MEBIBYTES_DATASTORAGE" => Some(value.clone()),
        "INTEGER_PRIMITIVE_LONG" => value.as_i64().map(Value::from),
        "MILLIS_DURATION_LONG" | "MILLIS_DURATION_INT" | "MILLIS_DURATION_DOUBLE" => count("ms"),
        "MILLIS_CUSTOM_DURATION" => unless("ms"),
        "SECONDS_DURATION" | "NEGATIVE_SECONDS_DURATION" | "SECONDS_CUSTOM_DURATION" => count("s"),
        "MINUTES_CUSTOM_DURATION" => unless("m"),
        "MEBIBYTES_DATA_STORAGE_LONG"
        | "MEBIBYTES_DATA_STORAGE_INT"
        | "LONG_BYTES_DATASTORAGE_MEBIBYTES_INT" => count("MiB"),
        "NEGATIVE_MEBIBYTES_DATA_STORAGE_INT" => unless("MiB"),
        "KIBIBYTES_DATASTORAGE" => count("KiB"),
        "BYTES_DATASTORAGE" => count("B"),
        "BYTES_CUSTOM_DATASTORAGE" => unless("B"),
        "MEBIBYTES_PER_SECOND_DATA_RATE" => count("MiB/s"),
        "MEGABITS_TO_BYTES_PER_SECOND_DATA_RATE" => {
            let bytes = count_of(value.as_str()?, "B/s")?;
            Some(Value::from(bytes.checked_add(62_500)? / 125_000))
        }
        "KEYSPACE_COUNT_THRESHOLD_TO_GUARDRAIL" | "TABLE_COUNT_THRESHOLD_TO_GUARDRAIL" => {
            value.as_i64()?.checked_sub(offset?).map(Value::from)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{before, modern};
    use crate::release::Release;
    use serde_json::{Value, json};

    #[test]
    fn every_converter_of_every_release_is_known() {
        for release in Release::all() {
            for key in release.keys().all() {
                for old in &key.old_names {
                    let samples = [json!(200), json!("20MiB"), json!(true)];
                    let taken = samples
                        .iter()
                        .find_map(|v| modern(&old.converter, old.offset, v));
                    assert!(taken.is_some(), "{} by {}", old.name, old.converter);
                }
            }
        }
    }

    #[test]
    fn units_and_switches_follow_the_release() {
        let cases = [
            ("MILLIS_DURATION_LONG", json!(5000), json!("5000ms")),
            ("MILLIS_DURATION_DOUBLE", json!(1.6), json!("2ms")),
            ("MILLIS_CUSTOM_DURATION", json!(-1), Value::Null),
            ("NEGATIVE_SECONDS_DURATION", json!(-7), json!("0s")),
            ("SECONDS_CUSTOM_DURATION", json!("2h"), json!("2h")),
            ("SECONDS_CUSTOM_DURATION", json!(14400), json!("14400s")),
            (
                "NEGATIVE_MEBIBYTES_DATA_STORAGE_INT",
                json!(-1),
                Value::Null,
            ),
            (
                "MEGABITS_TO_BYTES_PER_SECOND_DATA_RATE",
                json!(200),
                json!("25000000B/s"),
            ),
        ];
        for (converter, old, new) in cases {
            assert_eq!(modern(converter, None, &old), Some(new), "{converter}");
        }
        assert_eq!(
            modern("TABLE_COUNT_THRESHOLD_TO_GUARDRAIL", Some(-48), &json!(150)),
            Some(json!(102))
        );
        assert_eq!(modern("MILLIS_DURATION_INT", None, &json!(-5)), None);
        assert_eq!(modern("UNHEARD_OF", None, &json!(5)), None);
    }

    #[test]
    fn what_is_turned_back_means_the_same() {
        for release in Release::all() {
            for old in release.keys().all().iter().flat_map(|k| &k.old_names) {
                for given in [json!(200), json!(-1), json!(0), json!(true)] {
                    let Some(new) = modern(&old.converter, old.offset, &given) else {
                        continue;
                    };
                    let back = before(&old.converter, old.offset, &new);
                    let again = back.and_then(|b| modern(&old.converter, old.offset, &b));
                    assert_eq!(again, Some(new), "{} of {given}", old.converter);
                }
            }
        }
    }

    #[test]
    fn a_unit_that_the_old_form_lacks_is_refused_and_a_rate_is_rounded() {
        let back = |converter: &str, value| before(converter, None, &value);
        assert_eq!(
            back("MEBIBYTES_DATA_STORAGE_INT", json!("2GiB")),
            Some(json!(2048))
        );
        assert_eq!(back("MEBIBYTES_DATA_STORAGE_INT", json!("512KiB")), None);
        assert_eq!(back("SECONDS_DURATION", json!("4h")), Some(json!(14_400)));
        assert_eq!(back("SECONDS_DURATION", json!("500ms")), None);
        assert_eq!(back("MILLIS_CUSTOM_DURATION", Value::Null), Some(json!(-1)));
        let rate = "MEGABITS_TO_BYTES_PER_SECOND_DATA_RATE";
        assert_eq!(back(rate, json!("24MiB/s")), Some(json!(201)));
        assert_eq!(back("UNHEARD_OF", json!("1s")), None);
    }
}
