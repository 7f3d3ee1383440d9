//! A value's text that [`CqlValue::read`] reads back as the same value: what an unload writes.
//! Refuses rounding, and escapes that a reader would have to know.

use super::CqlValue;
use std::fmt::Write as _;

/// Decimals with more digits behind the point than this are written with an exponent.
const PLACES_MOST: i32 = 1_000;

impl CqlValue {
    /// The text that stands for exactly this value.
    pub fn exact_text(&self) -> String {
        let mut text = String::new();
        write(self, false, &mut text);
        text
    }
}

fn write(value: &CqlValue, inside: bool, out: &mut String) {
    match value {
        CqlValue::Ascii(text) | CqlValue::Text(text) if inside => {
            out.push('\'');
            out.push_str(&text.replace('\'', "''"));
            out.push('\'');
        }
        CqlValue::Ascii(text) | CqlValue::Text(text) => out.push_str(text),
        CqlValue::Boolean(truth) => out.push_str(if *truth { "true" } else { "false" }),
        CqlValue::Double(x) => real(*x, &format!("{x:?}"), out),
        CqlValue::Float(x) => real(f64::from(*x), &format!("{x:?}"), out),
        CqlValue::Decimal { unscaled, scale } => {
            let digits = CqlValue::Varint(unscaled.clone()).to_string();
            if (0..=PLACES_MOST).contains(scale) && !digits.starts_with("0x") {
                with_point(&digits, scale.unsigned_abs() as usize, out);
            } else {
                let _infallible = write!(out, "{digits}E{}", -i64::from(*scale));
            }
        }
        CqlValue::Duration {
            months: 0,
            days: 0,
            nanos: 0,
        } => out.push_str("0ns"),
        CqlValue::Date(days) => {
            let plain = value.to_string();
            // What is no date of four digits cqlsh counts from 1970; CQL itself does from 2^31 days before.
            match plain.len() == 10 && !plain.starts_with('-') && plain.contains('-') {
                true => quoted(&plain, inside, out),
                false => {
                    let _infallible = write!(out, "{days}");
                }
            }
        }
        CqlValue::Time(_) => quoted(&value.to_string(), inside, out),
        CqlValue::Timestamp(_) => {
            // cqlsh shows microseconds, which are always zero.
            let text = value.to_string().replace("000+0000", "Z");
            quoted(&text, inside, out);
        }
        CqlValue::Inet(address) => quoted(&address.to_string(), inside, out),
        CqlValue::List(all) | CqlValue::Vector(all) => items("[]", all.iter().map(Some), out),
        CqlValue::Set(all) => items("{}", all.iter().map(Some), out),
        CqlValue::Tuple(all) => items("()", all.iter().map(Option::as_ref), out),
        CqlValue::Map(pairs) => {
            out.push('{');
            for (at, (key, value)) in pairs.iter().enumerate() {
                comma(at, out);
                write(key, true, out);
                out.push_str(": ");
                write(value, true, out);
            }
            out.push('}');
        }
        CqlValue::Udt(fields) => {
            out.push('{');
            for (at, (name, value)) in fields.iter().enumerate() {
                comma(at, out);
                let name = serde_json::Value::from(name.as_str());
                let _infallible = write!(out, "{name}: ");
                item(value.as_ref(), out);
            }
            out.push('}');
        }
        CqlValue::Bigint(_)
        | CqlValue::Blob(_)
        | CqlValue::Counter(_)
        | CqlValue::Custom(_)
        | CqlValue::Duration { .. }
        | CqlValue::Int(_)
        | CqlValue::Smallint(_)
        | CqlValue::Timeuuid(_)
        | CqlValue::Tinyint(_)
        | CqlValue::Uuid(_)
        | CqlValue::Varint(_) => {
            let _infallible = write!(out, "{value}");
        }
    }
}

fn comma(at: usize, out: &mut String) {
    if at > 0 {
        out.push_str(", ");
    }
}

fn quoted(text: &str, inside: bool, out: &mut String) {
    match inside {
        true => {
            let _infallible = write!(out, "'{text}'");
        }
        false => out.push_str(text),
    }
}

fn item(value: Option<&CqlValue>, out: &mut String) {
    match value {
        Some(value) => write(value, true, out),
        None => out.push_str("null"),
    }
}

fn items<'a>(brackets: &str, all: impl Iterator<Item = Option<&'a CqlValue>>, out: &mut String) {
    let (open, close) = brackets.split_at(1);
    out.push_str(open);
    for (at, value) in all.enumerate() {
        comma(at, out);
        item(value, out);
    }
    out.push_str(close);
}

fn real(x: f64, shortest: &str, out: &mut String) {
    out.push_str(match x {
        x if x.is_nan() => "NaN",
        f64::INFINITY => "Infinity",
        f64::NEG_INFINITY => "-Infinity",
        _ => shortest,
    });
}

fn with_point(digits: &str, places: usize, out: &mut String) {
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits),
    };
    let padded = format!("{digits:0>width$}", width = places + 1);
    let (whole, fraction) = padded.split_at(padded.len() - places);
    let point = if places > 0 { "." } else { "" };
    let _infallible = write!(out, "{sign}{whole}{point}{fraction}");
}
