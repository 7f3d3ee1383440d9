//! Values that hold no others.
//! Refuses values beyond a type's range.

use super::{Habits, ReadError, wrong};
use crate::calendar::days;
use crate::cql::{CqlType, CqlValue};
use std::borrow::Cow;
use std::net::IpAddr;

/// Longest varint or decimal that is read, in digits: the conversion is quadratic.
const DIGITS_MOST: usize = 9_864;

const DAY_MILLIS: i64 = 86_400_000;
const DAY_NANOS: i64 = 86_400_000_000_000;

pub(super) fn read(ty: &CqlType, text: &str, habits: Habits) -> Result<CqlValue, ReadError> {
    match ty {
        CqlType::Text => return Ok(CqlValue::Text(text.to_owned())),
        CqlType::Ascii if text.is_ascii() => return Ok(CqlValue::Ascii(text.to_owned())),
        CqlType::Ascii => return Err(wrong(ty, text, "only US-ASCII is")),
        _ => {}
    }
    let text = text.trim();
    let no = || wrong(ty, text, "");
    let found = match ty {
        CqlType::Boolean => boolean(text).map(CqlValue::Boolean),
        CqlType::Tinyint => integer(text, habits).map(CqlValue::Tinyint),
        CqlType::Smallint => integer(text, habits).map(CqlValue::Smallint),
        CqlType::Int => integer(text, habits).map(CqlValue::Int),
        CqlType::Bigint => integer(text, habits).map(CqlValue::Bigint),
        CqlType::Counter => integer(text, habits).map(CqlValue::Counter),
        CqlType::Float => real(text, habits).map(CqlValue::Float),
        CqlType::Double => real(text, habits).map(CqlValue::Double),
        CqlType::Varint => match hexadecimal(text) {
            Some(bytes) if !bytes.is_empty() => Some(CqlValue::Varint(shortest(bytes))),
            _ => two_s_complement(&number(text, habits)).map(CqlValue::Varint),
        },
        CqlType::Decimal => decimal(&number(text, habits)),
        CqlType::Blob => {
            let why = "bytes are written 0x… in hexadecimal";
            let bytes = hexadecimal(text).ok_or_else(|| wrong(ty, text, why))?;
            Some(CqlValue::Blob(bytes))
        }
        CqlType::Custom(_) => hexadecimal(text).map(CqlValue::Custom),
        CqlType::Inet => text.parse::<IpAddr>().ok().map(CqlValue::Inet),
        CqlType::Uuid => uuid(text).map(CqlValue::Uuid),
        CqlType::Timeuuid => {
            let uuid = uuid(text).ok_or_else(no)?;
            if uuid[6] >> 4 != 1 {
                return Err(wrong(ty, text, "it is not of version 1"));
            }
            Some(CqlValue::Timeuuid(uuid))
        }
        CqlType::Date => date(text).map(CqlValue::Date),
        CqlType::Time => time(text).map(CqlValue::Time),
        CqlType::Timestamp => timestamp(text).map(CqlValue::Timestamp),
        CqlType::Duration => duration(text),
        _ => None,
    };
    found.ok_or_else(no)
}

fn boolean(text: &str) -> Option<bool> {
    let is = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    match () {
        () if is(&["true", "t", "yes", "y", "1"]) => Some(true),
        () if is(&["false", "f", "no", "n", "0"]) => Some(false),
        () => None,
    }
}

/// The number as programs write it.
fn number(text: &str, habits: Habits) -> Cow<'_, str> {
    match habits.decimal_comma && text.contains([',', '.']) {
        true => Cow::Owned(text.replace('.', "").replace(',', ".")),
        false => Cow::Borrowed(text),
    }
}

fn integer<N: std::str::FromStr>(text: &str, habits: Habits) -> Option<N> {
    let text = number(text, habits);
    match text.parse() {
        Ok(number) => Some(number),
        // JSON and spreadsheets write whole numbers as `7.0`.
        Err(_) => {
            let (whole, rest) = text.split_once('.')?;
            let zeros = !rest.is_empty() && rest.bytes().all(|b| b == b'0');
            zeros.then(|| whole.parse().ok())?
        }
    }
}

/// A finite number, or one of the words for what is none: what is too large is not the same as infinite.
fn real<N: std::str::FromStr + Copy + Into<f64>>(text: &str, habits: Habits) -> Option<N> {
    let text = number(text, habits);
    let plain = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    let words = ["nan", "infinity", "-infinity", "inf", "-inf"];
    if words.iter().any(|w| text.eq_ignore_ascii_case(w)) {
        return text.parse().ok();
    }
    let read: N = text.chars().all(plain).then(|| text.parse().ok())??;
    read.into().is_finite().then_some(read)
}

fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits = ["0x", "0X", "\\x"]
        .iter()
        .find_map(|mark| text.strip_prefix(mark))?;
    bytes_of(digits)
}

fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => u8::try_from(digit(*high)? * 16 + digit(*low)?).ok(),
            _ => None,
        })
        .collect()
}

fn uuid(text: &str) -> Option<[u8; 16]> {
    let dashes = [8, 13, 18, 23];
    let digits: String = match text.len() {
        36 => {
            let dashed = text.bytes().enumerate();
            let right = |(at, byte): (usize, u8)| (byte == b'-') == dashes.contains(&at);
            dashed
                .into_iter()
                .all(right)
                .then(|| text.replace('-', ""))?
        }
        32 => text.to_owned(),
        _ => return None,
    };
    bytes_of(&digits)?.try_into().ok()
}

/// Big-endian two's complement without bytes that say nothing.
pub(super) fn shortest(bytes: Vec<u8>) -> Vec<u8> {
    let idle = |pair: &[u8]| match pair {
        [first, second] => {
            (*first == 0 && second & 0x80 == 0) || (*first == 0xff && second & 0x80 != 0)
        }
        _ => false,
    };
    let skip = bytes.windows(2).take_while(|pair| idle(pair)).count();
    match skip {
        0 => bytes,
        skip => bytes[skip..].to_vec(),
    }
}

/// Decimal digits into big-endian two's complement.
fn two_s_complement(text: &str) -> Option<Vec<u8>> {
    let (negative, digits) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if !plain || digits.len() > DIGITS_MOST {
        return None;
    }
    // Base 2^32, least significant limb first.
    let mut limbs: Vec<u32> = vec![0];
    for digit in digits.bytes() {
        let mut carry = u64::from(digit - b'0');
        for limb in &mut limbs {
            let wide = u64::from(*limb) * 10 + carry;
            *limb = (wide & 0xffff_ffff) as u32;
            carry = wide >> 32;
        }
        if carry > 0 {
            limbs.push(carry as u32);
        }
    }
    let mut bytes = vec![0];
    bytes.extend(limbs.iter().rev().flat_map(|limb| limb.to_be_bytes()));
    if negative {
        let mut carry = true;
        for byte in bytes.iter_mut().rev() {
            (*byte, carry) = (!*byte).overflowing_add(u8::from(carry));
        }
    }
    Some(shortest(bytes))
}

fn decimal(text: &str) -> Option<CqlValue> {
    // Hexadecimal digits are written small, and the exponent behind them large.
    let mark = match text.starts_with("0x") {
        true => text.rfind('E'),
        false => text.find(['e', 'E']),
    };
    let (mantissa, exponent) = match mark {
        Some(at) => (&text[..at], text[at + 1..].parse::<i64>().ok()?),
        None => (text, 0),
    };
    if let Some(bytes) = hexadecimal(mantissa).filter(|bytes| !bytes.is_empty()) {
        let scale = i32::try_from(-exponent).ok()?;
        return Some(CqlValue::Decimal {
            unscaled: shortest(bytes),
            scale,
        });
    }
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let scale = i64::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    let whole = match (whole, fraction) {
        ("" | "-" | "+", "") => return None,
        (sign @ ("" | "-" | "+"), _) => format!("{sign}0"),
        (whole, _) => whole.to_owned(),
    };
    Some(CqlValue::Decimal {
        unscaled: two_s_complement(&(whole + fraction))?,
        scale: i32::try_from(scale).ok()?,
    })
}

/// Days since 1970 of `YYYY-MM-DD`, the year with a sign where it has other than four digits.
fn civil_days(text: &str) -> Option<i64> {
    let signed = text.strip_prefix(['-', '+']);
    let mut parts = signed.unwrap_or(text).splitn(3, '-');
    let mut part = |digits: std::ops::RangeInclusive<usize>| {
        let part = parts.next()?;
        let plain = digits.contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        plain.then(|| part.parse::<i64>().ok())?
    };
    let year = part(if signed.is_some() { 4..=7 } else { 4..=4 })?;
    let (month, day) = (part(1..=2)?, part(1..=2)?);
    let year = if text.starts_with('-') { -year } else { year };
    days(year, u32::try_from(month).ok()?, u32::try_from(day).ok()?)
}

fn date(text: &str) -> Option<u32> {
    match text.parse() {
        // As CQL takes a number: days, with 2^31 at 1970-01-01.
        Ok(raw) => Some(raw),
        Err(_) => u32::try_from(civil_days(text)? + (1 << 31)).ok(),
    }
}

/// Nanoseconds since midnight of `HH:MM[:SS[.fffffffff]]`.
fn clock(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, ':');
    let two = |part: &str, below: i64| {
        let plain = (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        plain
            .then(|| part.parse::<i64>().ok())?
            .filter(|number| *number < below)
    };
    let hours = two(parts.next()?, 24)?;
    let minutes = two(parts.next()?, 60)?;
    let (seconds, fraction) = match parts.next() {
        None => (0, ""),
        Some(rest) => {
            let (seconds, fraction) = rest.split_once('.').unwrap_or((rest, ""));
            (two(seconds, 60)?, fraction)
        }
    };
    if fraction.len() > 9 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let nanos: i64 = format!("{fraction:0<9}").parse().ok()?;
    Some(((hours * 60 + minutes) * 60 + seconds) * 1_000_000_000 + nanos)
}

fn time(text: &str) -> Option<i64> {
    let nanos = match text.parse::<i64>() {
        Ok(nanos) => nanos,
        Err(_) => clock(text)?,
    };
    (0..DAY_NANOS).contains(&nanos).then_some(nanos)
}

/// Milliseconds since 1970, or a date with or without a time of day and an offset from UTC.
fn timestamp(text: &str) -> Option<i64> {
    if let Ok(millis) = text.parse() {
        return Some(millis);
    }
    let split = text.find(['T', 't', ' ']);
    let (date, rest) = match split {
        Some(at) => (&text[..at], text[at + 1..].trim()),
        None => (text, ""),
    };
    let days = civil_days(date)?;
    let (clock_text, offset) = match rest.find(['Z', 'z', '+', '-']) {
        Some(at) => (rest[..at].trim(), offset(&rest[at..])?),
        None => (rest.strip_suffix("UTC").unwrap_or(rest).trim(), 0),
    };
    let nanos = match (clock_text, split) {
        ("", None) => 0,
        (text, _) => clock(text)?,
    };
    days.checked_mul(DAY_MILLIS)?
        .checked_add(nanos / 1_000_000 - offset)
}

/// Milliseconds that a zone is ahead of UTC.
fn offset(text: &str) -> Option<i64> {
    if text.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let digits = text.get(1..)?.replace(':', "");
    let plain = matches!(digits.len(), 2 | 4) && digits.bytes().all(|b| b.is_ascii_digit());
    let number: i64 = plain.then(|| format!("{digits:0<4}").parse().ok())??;
    let (hours, minutes) = (number / 100, number % 100);
    let ahead = (hours < 24 && minutes < 60).then_some((hours * 60 + minutes) * 60_000)?;
    Some(if text.starts_with('-') { -ahead } else { ahead })
}

/// `1y2mo3w4d5h6m7s8ms9us10ns`, or ISO 8601's `P1Y2M3W4DT5H6M7S`; a minus before it makes all of it negative.
fn duration(text: &str) -> Option<CqlValue> {
    let (negative, body) = match text.strip_prefix('-') {
        Some(body) => (true, body),
        None => (false, text),
    };
    let (mut months, mut days, mut nanos) = (0_i64, 0_i64, 0_i64);
    let iso = body.strip_prefix(['P', 'p']);
    let mut rest = iso.unwrap_or(body);
    if rest.is_empty() {
        return None;
    }
    let mut in_time = iso.is_none();
    while !rest.is_empty() {
        if let (Some(after), Some(_)) = (rest.strip_prefix(['T', 't']), iso) {
            (in_time, rest) = (true, after);
            continue;
        }
        let end = rest.find(|c: char| !c.is_ascii_digit())?;
        let amount: i64 = rest[..end].parse().ok()?;
        rest = &rest[end..];
        let end = rest.find(|c: char| c.is_ascii_digit() || (iso.is_some() && "Tt".contains(c)));
        let (unit, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        let unit = unit.to_lowercase();
        let (whole, factor) = match (unit.as_str(), iso.is_some(), in_time) {
            ("y", ..) => (&mut months, 12),
            ("mo", false, _) | ("m", true, false) => (&mut months, 1),
            ("w", ..) => (&mut days, 7),
            ("d", ..) => (&mut days, 1),
            ("h", _, true) => (&mut nanos, 3_600_000_000_000),
            ("m", _, true) => (&mut nanos, 60_000_000_000),
            ("s", _, true) => (&mut nanos, 1_000_000_000),
            ("ms", false, _) => (&mut nanos, 1_000_000),
            ("us" | "µs" | "μs", false, _) => (&mut nanos, 1_000),
            ("ns", false, _) => (&mut nanos, 1),
            _ => return None,
        };
        *whole = whole.checked_add(amount.checked_mul(factor)?)?;
    }
    let sign = if negative { -1 } else { 1 };
    Some(CqlValue::Duration {
        months: i32::try_from(sign * months).ok()?,
        days: i32::try_from(sign * days).ok()?,
        nanos: sign * nanos,
    })
}
