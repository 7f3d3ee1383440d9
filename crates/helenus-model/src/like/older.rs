//! Values between the units of releases: the modern ones with their unit, the old ones bare.
//! Refuses to round: a value that the other unit cannot hold has no other form.

use crate::release::{Keys, Release};
use serde_json::Value;

/// The value as the newest release writes it, where the key is an old name there.
pub(super) fn modern_form(key: &str, value: &Value) -> Option<Value> {
    let newest = Release::newest().keys();
    let checked = newest.check_value(key, value).ok();
    checked.map(|c| c.value).or_else(|| Some(value.clone()))
}

/// Name and value of a modern key in a release that still has one of its old names.
pub(super) fn own_form(
    own: &Keys,
    key: &str,
    modern: &str,
    value: &Value,
) -> Option<(String, Value)> {
    let newest = Release::newest().keys();
    let value = newest.check_value(key, value).ok()?.value;
    let known = newest.get(modern)?;
    let old = known
        .old_names
        .iter()
        .find(|old| own.get(&old.name).is_some())?;
    if old.converter == "IDENTITY" {
        return Some((old.name.clone(), value));
    }
    let unit = unit_of(&old.converter)?;
    let whole = amount(&value)? / unit;
    // Only whole numbers are taken; one that is not would be another setting.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::float_cmp,
        reason = "whole and below 2^53"
    )]
    let number = (whole.trunc() == whole && whole < 9e15).then_some(whole as i64)?;
    Some((old.name.clone(), Value::from(number)))
}

/// What a bare number of an old key counts: seconds, bytes, or bytes a second.
fn unit_of(converter: &str) -> Option<f64> {
    Some(match converter {
        "MILLIS_DURATION_LONG"
        | "MILLIS_DURATION_INT"
        | "MILLIS_DURATION_DOUBLE"
        | "MILLIS_CUSTOM_DURATION" => 0.001,
        "SECONDS_DURATION" | "NEGATIVE_SECONDS_DURATION" | "SECONDS_CUSTOM_DURATION" => 1.0,
        "MINUTES_CUSTOM_DURATION" => 60.0,
        "MEBIBYTES_DATA_STORAGE_LONG"
        | "MEBIBYTES_DATA_STORAGE_INT"
        | "NEGATIVE_MEBIBYTES_DATA_STORAGE_INT"
        | "MEBIBYTES_PER_SECOND_DATA_RATE" => 1_048_576.0,
        "KIBIBYTES_DATASTORAGE" => 1024.0,
        "BYTES_DATASTORAGE" | "BYTES_CUSTOM_DATASTORAGE" => 1.0,
        "MEGABITS_TO_BYTES_PER_SECOND_DATA_RATE" => 125_000.0,
        _ => return None,
    })
}

/// A number, or a number with a unit, in seconds or bytes.
pub(super) fn amount(value: &Value) -> Option<f64> {
    if let Some(number) = value.as_f64() {
        return Some(number);
    }
    let text = value.as_str()?.trim();
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let number: f64 = text[..split].parse().ok()?;
    let unit = text[split..].trim_end_matches("/s");
    let scale = match unit {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        // Exact where a division is, not where a product is.
        "ms" => return Some(number / 1000.0),
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        "B" => 1.0,
        "KiB" => 1024.0,
        "MiB" => 1_048_576.0,
        "GiB" => 1_073_741_824.0,
        _ => return None,
    };
    Some(number * scale)
}
