//! How types and values read: types as CQL writes them, values as cqlsh prints them.
//! Refuses to parse; a value's text is for eyes, not for a way back.

use super::{CqlType, CqlValue};
use crate::calendar::civil;
use std::fmt::{self, Display, Formatter, Write as _};

/// Longest varint or decimal, in bytes, that is turned to decimal digits; longer ones print as
/// hexadecimal, because the conversion is quadratic.
const LONGEST_DECIMAL_BYTES: usize = 4096;
/// Digits that cqlsh 6.2 gives a `float` and a `double` by default.
const REAL_DIGITS: i32 = 5;
/// Milliseconds of a day.
const DAY_MILLIS: i64 = 86_400_000;

impl Display for CqlType {
    /// The type as CQL writes it, for example `map<text, frozen<list<int>>>`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ascii => f.write_str("ascii"),
            Self::Bigint => f.write_str("bigint"),
            Self::Blob => f.write_str("blob"),
            Self::Boolean => f.write_str("boolean"),
            Self::Counter => f.write_str("counter"),
            Self::Date => f.write_str("date"),
            Self::Decimal => f.write_str("decimal"),
            Self::Double => f.write_str("double"),
            Self::Duration => f.write_str("duration"),
            Self::Float => f.write_str("float"),
            Self::Inet => f.write_str("inet"),
            Self::Int => f.write_str("int"),
            Self::Smallint => f.write_str("smallint"),
            Self::Text => f.write_str("text"),
            Self::Time => f.write_str("time"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::Timeuuid => f.write_str("timeuuid"),
            Self::Tinyint => f.write_str("tinyint"),
            Self::Uuid => f.write_str("uuid"),
            Self::Varint => f.write_str("varint"),
            Self::List(element) => write!(f, "list<{}>", Inner(element)),
            Self::Set(element) => write!(f, "set<{}>", Inner(element)),
            Self::Map(key, value) => write!(f, "map<{}, {}>", Inner(key), Inner(value)),
            Self::Tuple(fields) => {
                f.write_str("tuple<")?;
                for (i, field) in fields.iter().enumerate() {
                    let comma = if i == 0 { "" } else { ", " };
                    write!(f, "{comma}{}", Inner(field))?;
                }
                f.write_str(">")
            }
            Self::Udt { name, .. } => f.write_str(&identifier(name)),
            Self::Vector(element, length) => write!(f, "vector<{}, {length}>", Inner(element)),
            Self::Custom(class) => write!(f, "'{}'", class.replace('\'', "''")),
        }
    }
}

/// A type inside another: collections and user types must be frozen there.
struct Inner<'a>(&'a CqlType);

impl Display for Inner<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            CqlType::List(_) | CqlType::Set(_) | CqlType::Map(..) | CqlType::Udt { .. } => {
                write!(f, "frozen<{}>", self.0)
            }
            plain => write!(f, "{plain}"),
        }
    }
}

/// A keyspace, table, column or field name as CQL needs it: quoted unless it is plain lower case.
///
/// Reserved words are not known here; a name that is one must be quoted by hand.
pub fn identifier(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if plain { name.to_owned() } else { quoted(name) }
}

/// A name in quotes: whatever it is, it is no keyword then.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A UUID in its usual form of 36 characters.
pub fn uuid_text(uuid: &[u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (i, byte) in uuid.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

impl Display for CqlValue {
    /// The value as cqlsh prints it; `{:#}` prints it as cqlsh does inside a collection, where
    /// text, timestamps and addresses are quoted (but neither dates nor times, as there).
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let quoted = f.alternate();
        match self {
            Self::Ascii(text) | Self::Text(text) => write_text(f, text, quoted),
            Self::Bigint(n) | Self::Counter(n) => write!(f, "{n}"),
            Self::Blob(bytes) | Self::Custom(bytes) => write_hex(f, bytes),
            Self::Boolean(true) => f.write_str("True"),
            Self::Boolean(false) => f.write_str("False"),
            Self::Date(days) => f.write_str(&date_text(*days)),
            Self::Decimal { unscaled, scale } => write_decimal(f, unscaled, *scale),
            Self::Double(x) => f.write_str(&real_text(*x, REAL_DIGITS)),
            Self::Float(x) => f.write_str(&real_text(f64::from(*x), REAL_DIGITS)),
            Self::Duration {
                months,
                days,
                nanos,
            } => f.write_str(&duration_text(*months, *days, *nanos)),
            Self::Inet(address) => write_quoted(f, &address.to_string(), quoted),
            Self::Int(n) => write!(f, "{n}"),
            Self::Smallint(n) => write!(f, "{n}"),
            Self::Tinyint(n) => write!(f, "{n}"),
            Self::Time(nanos) => f.write_str(&time_text(*nanos)),
            Self::Timestamp(millis) => write_quoted(f, &timestamp_text(*millis), quoted),
            Self::Timeuuid(uuid) | Self::Uuid(uuid) => f.write_str(&uuid_text(uuid)),
            Self::Varint(bytes) => match integer_digits(bytes) {
                Some((negative, digits)) => {
                    write!(f, "{}{digits}", if negative { "-" } else { "" })
                }
                None => write_hex(f, bytes),
            },
            Self::List(items) | Self::Vector(items) => {
                write_items(f, "[", items.iter().map(Some), "]")
            }
            Self::Set(items) => write_items(f, "{", items.iter().map(Some), "}"),
            Self::Tuple(items) => write_items(f, "(", items.iter().map(Option::as_ref), ")"),
            Self::Map(pairs) => {
                f.write_str("{")?;
                for (i, (key, value)) in pairs.iter().enumerate() {
                    let comma = if i == 0 { "" } else { ", " };
                    write!(f, "{comma}{key:#}: {value:#}")?;
                }
                f.write_str("}")
            }
            Self::Udt(fields) => {
                f.write_str("{")?;
                for (i, (name, value)) in fields.iter().enumerate() {
                    write!(f, "{}{name}: ", if i == 0 { "" } else { ", " })?;
                    write_item(f, value.as_ref())?;
                }
                f.write_str("}")
            }
        }
    }
}

fn write_items<'a>(
    f: &mut Formatter<'_>,
    open: &str,
    items: impl Iterator<Item = Option<&'a CqlValue>>,
    close: &str,
) -> fmt::Result {
    f.write_str(open)?;
    for (i, item) in items.enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        write_item(f, item)?;
    }
    f.write_str(close)
}

fn write_item(f: &mut Formatter<'_>, item: Option<&CqlValue>) -> fmt::Result {
    match item {
        Some(value) => write!(f, "{value:#}"),
        None => f.write_str("null"),
    }
}

fn write_quoted(f: &mut Formatter<'_>, text: &str, quoted: bool) -> fmt::Result {
    if quoted {
        write!(f, "'{text}'")
    } else {
        f.write_str(text)
    }
}

/// Control characters are made visible, so that one value stays on one line of a table.
fn write_text(f: &mut Formatter<'_>, text: &str, quoted: bool) -> fmt::Result {
    if quoted {
        f.write_char('\'')?;
    }
    for c in text.chars() {
        match c {
            '\\' => f.write_str("\\\\")?,
            '\'' if quoted => f.write_str("''")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            '\0'..='\x1f' | '\x7f'..='\u{a0}' => write!(f, "\\x{:02x}", c as u32)?,
            plain => f.write_char(plain)?,
        }
    }
    if quoted {
        f.write_char('\'')?;
    }
    Ok(())
}

fn write_hex(f: &mut Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    f.write_str("0x")?;
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

/// Years 1 to 9999 as a date; anything else as the days since 1970-01-01.
fn date_text(days: u32) -> String {
    let since_epoch = i64::from(days) - (1 << 31);
    match civil(since_epoch) {
        (year @ 1..=9999, month, day) => format!("{year:04}-{month:02}-{day:02}"),
        _ => since_epoch.to_string(),
    }
}

/// Years 1 to 9999 in UTC to the microsecond; anything else as the milliseconds since 1970.
fn timestamp_text(millis: i64) -> String {
    let (days, rest) = (millis.div_euclid(DAY_MILLIS), millis.rem_euclid(DAY_MILLIS));
    match civil(days) {
        (year @ 1..=9999, month, day) => {
            let (seconds, millis) = (rest / 1_000, rest % 1_000);
            let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
            format!(
                "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{millis:03}000+0000"
            )
        }
        _ => millis.to_string(),
    }
}

fn time_text(nanos: i64) -> String {
    if nanos < 0 {
        return nanos.to_string();
    }
    let seconds = nanos / 1_000_000_000;
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!(
        "{hour:02}:{minute:02}:{second:02}.{:09}",
        nanos % 1_000_000_000
    )
}

fn duration_text(months: i32, days: i32, nanos: i64) -> String {
    let mut text = String::new();
    if months < 0 || days < 0 || nanos < 0 {
        text.push('-');
    }
    let (months, days) = (months.unsigned_abs(), days.unsigned_abs());
    let nanos = nanos.unsigned_abs();
    let parts = [
        (u64::from(months / 12), "y"),
        (u64::from(months % 12), "mo"),
        (u64::from(days), "d"),
        (nanos / 3_600_000_000_000, "h"),
        (nanos / 60_000_000_000 % 60, "m"),
        (nanos / 1_000_000_000 % 60, "s"),
        (nanos / 1_000_000 % 1_000, "ms"),
        (nanos / 1_000 % 1_000, "us"),
        (nanos % 1_000, "ns"),
    ];
    for (amount, unit) in parts {
        if amount > 0 {
            text.push_str(&format!("{amount}{unit}"));
        }
    }
    text
}

/// C's `%g` with the digits before the point given on top, which is what cqlsh does.
fn real_text(x: f64, digits: i32) -> String {
    if x.is_nan() {
        return "NaN".to_owned();
    }
    if x.is_infinite() {
        return if x > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let rough = if x.abs() > f64::EPSILON {
        x.abs().log10() as i32
    } else {
        i32::MIN
    };
    let digits = if (-4..digits).contains(&rough) {
        digits + rough + 1
    } else {
        digits
    };
    let digits = digits.max(1);
    let scientific = format!("{x:.*e}", (digits - 1) as usize);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent < -4 || exponent >= digits {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", strip_zeros(mantissa), exponent.abs());
    }
    let places = (digits - 1 - exponent).max(0) as usize;
    strip_zeros(&format!("{x:.places$}")).to_owned()
}

/// Drops zeros behind the point, and the point itself when nothing is left behind it.
fn strip_zeros(number: &str) -> &str {
    if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    }
}

/// Sign and decimal digits of big-endian two's complement, or none when it is too long.
fn integer_digits(bytes: &[u8]) -> Option<(bool, String)> {
    if bytes.len() > LONGEST_DECIMAL_BYTES {
        return None;
    }
    let negative = bytes.first().is_some_and(|b| b & 0x80 != 0);
    let mut magnitude = bytes.to_vec();
    if negative {
        let mut carry = true;
        for byte in magnitude.iter_mut().rev() {
            (*byte, carry) = (!*byte).overflowing_add(u8::from(carry));
        }
    }
    // Base 10^9, least significant limb first.
    let mut limbs: Vec<u64> = vec![0];
    for byte in magnitude {
        let mut carry = u64::from(byte);
        for limb in &mut limbs {
            let wide = *limb * 256 + carry;
            *limb = wide % 1_000_000_000;
            carry = wide / 1_000_000_000;
        }
        if carry > 0 {
            limbs.push(carry);
        }
    }
    let mut digits = limbs.pop().unwrap_or(0).to_string();
    for limb in limbs.iter().rev() {
        digits.push_str(&format!("{limb:09}"));
    }
    Some((negative, digits))
}

/// The way of Python's `Decimal`, which cqlsh shows: plain unless the number is far from its
/// point.
fn write_decimal(f: &mut Formatter<'_>, unscaled: &[u8], scale: i32) -> fmt::Result {
    let Some((negative, digits)) = integer_digits(unscaled) else {
        write_hex(f, unscaled)?;
        return write!(f, "E{}", -i64::from(scale));
    };
    if negative {
        f.write_char('-')?;
    }
    let exponent = -i64::from(scale);
    let before_point = digits.len() as i64 + exponent;
    if exponent <= 0 && before_point > -6 {
        if exponent == 0 {
            return f.write_str(&digits);
        }
        if before_point <= 0 {
            let zeros = "0".repeat(before_point.unsigned_abs() as usize);
            return write!(f, "0.{zeros}{digits}");
        }
        let (whole, fraction) = digits.split_at(before_point as usize);
        return write!(f, "{whole}.{fraction}");
    }
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    write!(f, "{first}{point}{rest}E{:+}", before_point - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(unscaled: i64, scale: i32) -> String {
        let unscaled = unscaled.to_be_bytes().to_vec();
        CqlValue::Decimal { unscaled, scale }.to_string()
    }

    #[test]
    fn types_read_as_cql_writes_them() {
        let list = CqlType::List(Box::new(CqlType::Int));
        let map = CqlType::Map(Box::new(CqlType::Text), Box::new(list));
        assert_eq!(map.to_string(), "map<text, frozen<list<int>>>");
        let vector = CqlType::Vector(Box::new(CqlType::Float), 3);
        assert_eq!(vector.to_string(), "vector<float, 3>");
        let udt = CqlType::Udt {
            keyspace: "k".into(),
            name: "Big".into(),
            fields: vec![],
        };
        let tuple = CqlType::Tuple(vec![udt, CqlType::Blob]);
        assert_eq!(tuple.to_string(), "tuple<frozen<\"Big\">, blob>");
    }

    #[test]
    fn points_in_time_read_as_cqlsh_prints_them() {
        let stamp = |ms| CqlValue::Timestamp(ms).to_string();
        assert_eq!(stamp(1_767_323_045_678), "2026-01-02 03:04:05.678000+0000");
        assert_eq!(stamp(-1), "1969-12-31 23:59:59.999000+0000");
        assert_eq!(stamp(i64::MAX), i64::MAX.to_string());
        assert_eq!(stamp(951_782_400_000), "2000-02-29 00:00:00.000000+0000");
        assert_eq!(CqlValue::Date(1 << 31).to_string(), "1970-01-01");
        assert_eq!(CqlValue::Date(0).to_string(), "-2147483648");
        let noon = CqlValue::Time(43_200_000_000_001);
        assert_eq!(noon.to_string(), "12:00:00.000000001");
        assert_eq!(duration_text(14, 3, 3_661_000_000_001), "1y2mo3d1h1m1s1ns");
        assert_eq!(duration_text(-1, 0, -1_000_000), "-1mo1ms");
    }

    #[test]
    fn numbers_read_as_cqlsh_prints_them() {
        assert_eq!(CqlValue::Float(2.345_678_9).to_string(), "2.34568");
        assert_eq!(CqlValue::Double(1.0 / 3.0).to_string(), "0.333333");
        assert_eq!(CqlValue::Double(0.0).to_string(), "0");
        assert_eq!(CqlValue::Double(123_456_789.123).to_string(), "1.2346e+08");
        assert_eq!(CqlValue::Double(1e20).to_string(), "1e+20");
        assert_eq!(CqlValue::Double(-1.5e-7).to_string(), "-1.5e-07");
        assert_eq!(decimal(12_345, 2), "123.45");
        assert_eq!(decimal(-5, 3), "-0.005");
        assert_eq!(decimal(5, -3), "5E+3");
        assert_eq!(decimal(15, 10), "1.5E-9");
        let varint = |b: &[u8]| CqlValue::Varint(b.to_vec()).to_string();
        assert_eq!(varint(&(-256_i64).to_be_bytes()), "-256");
        assert_eq!(varint(&i128::MAX.to_be_bytes()), i128::MAX.to_string());
        assert_eq!(varint(&i128::MIN.to_be_bytes()), i128::MIN.to_string());
        assert!(varint(&[1; 5_000]).starts_with("0x"));
    }

    #[test]
    fn text_is_quoted_only_inside_collections() {
        let text = CqlValue::Text("it's\n".into());
        assert_eq!(text.to_string(), "it's\\n");
        assert_eq!(CqlValue::List(vec![text]).to_string(), "['it''s\\n']");
        let tuple = CqlValue::Tuple(vec![None, Some(CqlValue::Boolean(true))]);
        assert_eq!(tuple.to_string(), "(null, True)");
        assert_eq!(CqlValue::Blob(vec![0xca, 0xfe]).to_string(), "0xcafe");
    }
}
