//! Sizes and durations as people write them: `64M`, `1.5s`.
//! Refuses a number without a unit where one could be mistaken.

use std::fmt;
use std::time::Duration;

/// A size in bytes, written with binary units as the JVM does (`64M` is 64 MiB).
#[derive(
    Debug,
    Clone,
    Default,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// Why a size or duration could not be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum UnitError {
    /// Not a size.
    #[error("{0:?} is not a size: write a number with K, M or G, such as 64M")]
    Size(String),
    /// Not a duration.
    #[error("{0:?} is not a duration: write a number with ms, s, m, h or d, such as 30s")]
    Duration(String),
    /// Not a rate.
    #[error("{0:?} is not a rate: write operations per second, such as 2000, 2k or 2000/s")]
    Rate(String),
}

impl Bytes {
    /// So many mebibytes.
    pub const fn mib(n: u64) -> Self {
        Self(n << 20)
    }

    /// Whole mebibytes, rounded down.
    pub const fn as_mib(self) -> u64 {
        self.0 >> 20
    }

    /// Reads `64M`, `64MB`, `64MiB`, `2g`, `512k`; a bare number is refused.
    ///
    /// # Errors
    /// Anything else.
    pub fn parse(text: &str) -> Result<Self, UnitError> {
        let fail = || UnitError::Size(text.to_owned());
        let lower = text.trim().to_ascii_lowercase();
        let digits = lower.find(|c: char| !c.is_ascii_digit()).ok_or_else(fail)?;
        let number: u64 = lower[..digits].parse().map_err(|_| fail())?;
        let shift = match lower[digits..].trim() {
            "k" | "kb" | "kib" => 10,
            "m" | "mb" | "mib" => 20,
            "g" | "gb" | "gib" => 30,
            _ => return Err(fail()),
        };
        number.checked_mul(1 << shift).map(Bytes).ok_or_else(fail)
    }

    /// The JVM's spelling: `64M`, or bytes where it is no whole mebibyte.
    pub fn jvm(self) -> String {
        if self.0.is_multiple_of(1 << 20) {
            format!("{}M", self.0 >> 20)
        } else {
            self.0.to_string()
        }
    }
}

impl std::ops::Add for Bytes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Bytes {
    /// Human form with binary units: `64 MiB`, `1.5 GiB`, `12 KiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, shift) = match self.0 {
            n if n >= 1 << 30 => ("GiB", 30),
            n if n >= 1 << 20 => ("MiB", 20),
            n if n >= 1 << 10 => ("KiB", 10),
            n => return write!(f, "{n} B"),
        };
        let whole = self.0 >> shift;
        if self.0.is_multiple_of(1 << shift) || whole >= 100 {
            write!(f, "{whole} {unit}")
        } else {
            #[expect(clippy::cast_precision_loss, reason = "one decimal is printed")]
            let value = self.0 as f64 / (1_u64 << shift) as f64;
            write!(f, "{value:.1} {unit}")
        }
    }
}

/// Two sizes as text with as few digits as distinguish them: `22.0 GiB` and `21.9 GiB`, `22528 MiB` and `22527 MiB`.
pub fn apart(a: Bytes, b: Bytes) -> (String, String) {
    let short = (a.to_string(), b.to_string());
    if a == b || short.0 != short.1 {
        return short;
    }
    let whole = [("MiB", 20), ("KiB", 10)];
    let longer = whole
        .into_iter()
        .find(|(_, shift)| a.0 >> shift != b.0 >> shift);
    let (unit, shift) = longer.unwrap_or(("B", 0));
    let text = |bytes: Bytes| format!("{} {unit}", bytes.0 >> shift);
    (text(a), text(b))
}

/// `3.6 GiB of memory, 3.4 GiB are free`.
pub fn lacking(need: Bytes, has: Bytes) -> String {
    let (need, has) = apart(need, has);
    format!("{need} of memory, {has} are free")
}

/// Reads `500ms`, `30s`, `1.5s`, `2m`, `1h`.
///
/// # Errors
/// Anything else, a bare number included.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let fail = || UnitError::Duration(text.to_owned());
    let text_trimmed = text.trim();
    let split = text_trimmed
        .find(|c: char| c.is_ascii_alphabetic())
        .ok_or_else(fail)?;
    let number: f64 = text_trimmed[..split].trim().parse().map_err(|_| fail())?;
    let seconds = match &text_trimmed[split..] {
        "us" => number / 1e6,
        "ms" => number / 1e3,
        "s" => number,
        "m" | "min" => number * 60.0,
        "h" => number * 3600.0,
        "d" => number * 86_400.0,
        _ => return Err(fail()),
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| fail())
}

/// Reads operations a second: `2000`, `2k`, `2000/s`, `1.5k/s`.
///
/// # Errors
/// Anything else, zero and less included.
pub fn parse_rate(text: &str) -> Result<f64, UnitError> {
    let fail = || UnitError::Rate(text.to_owned());
    let trimmed = text.trim();
    let bare = trimmed.strip_suffix("/s").unwrap_or(trimmed);
    let (number, factor) = match bare.strip_suffix(['k', 'K']) {
        Some(n) => (n, 1e3),
        None => (bare, 1.0),
    };
    let rate = number.parse::<f64>().map_err(|_| fail())? * factor;
    if rate.is_finite() && rate > 0.0 {
        Ok(rate)
    } else {
        Err(fail())
    }
}

/// Human form of a duration: `850 ms`, `12.3 s`, `2 min 05 s`, `1 h 02 min`.
pub fn human_duration(d: Duration) -> String {
    let seconds = d.as_secs();
    if seconds >= 3600 {
        format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60)
    } else if seconds >= 60 {
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    } else if d.as_millis() >= 1000 {
        format!("{:.1} s", d.as_secs_f64())
    } else {
        format!("{} ms", d.as_millis())
    }
}

/// The same number with commas between thousands: `12345.6` becomes `12,345.6`.
pub fn grouped(text: &str) -> String {
    let (sign, plain) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let (whole, part) = match plain.split_once('.') {
        Some((whole, part)) => (whole, format!(".{part}")),
        None => (plain, String::new()),
    };
    if !whole.bytes().all(|b| b.is_ascii_digit()) {
        return text.to_owned();
    }
    let mut out = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    format!("{sign}{out}{part}")
}

/// `12,345`.
pub fn thousands(n: u64) -> String {
    grouped(&n.to_string())
}

/// Three significant digits, and never fewer than all before the point.
pub fn digits(value: f64) -> String {
    if (999.5..1e15).contains(&value) {
        return whole(value);
    }
    let decimals = match value.abs() {
        v if v == 0.0 || v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.9995 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

/// A rate in whole operations a second, with [`thousands`]; what is below zero counts as zero.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole and not below zero"
)]
pub fn whole(rate_per_s: f64) -> String {
    thousands(rate_per_s.round().max(0.0) as u64)
}

/// A number with so many decimals. The shortest decimal form is rounded, halves away from zero.
pub fn fixed(value: f64, decimals: usize) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let plain = value.abs().to_string();
    let (whole, part) = plain.split_once('.').unwrap_or((&plain, ""));
    let mut digits: Vec<u8> = whole.bytes().map(|b| b - b'0').collect();
    let kept = part.bytes().chain(std::iter::repeat(b'0')).take(decimals);
    digits.extend(kept.map(|b| b - b'0'));
    if part
        .as_bytes()
        .get(decimals)
        .is_some_and(|next| *next >= b'5')
    {
        carry(&mut digits);
    }
    let mut out: String = digits.iter().map(|d| char::from(d + b'0')).collect();
    if decimals > 0 {
        out.insert(out.len() - decimals, '.');
    }
    if value.is_sign_negative() && digits.iter().any(|d| *d > 0) {
        out.insert(0, '-');
    }
    out
}

/// One more in the last place.
fn carry(digits: &mut Vec<u8>) {
    for digit in digits.iter_mut().rev() {
        if *digit < 9 {
            *digit += 1;
            return;
        }
        *digit = 0;
    }
    digits.insert(0, 1);
}

/// `1 node`, `3 nodes`.
pub fn plural(count: usize, word: &str) -> String {
    match count {
        1 => format!("1 {word}"),
        _ => format!("{count} {word}s"),
    }
}

/// A share as a percentage: `12 %`, `3.4 %`, `0.062 %`.
pub fn percent(share: f64) -> String {
    let hundred = share * 100.0;
    if hundred == 0.0 || hundred.abs() >= 10.0 {
        format!("{hundred:.0} %")
    } else if hundred.abs() >= 1.0 {
        format!("{hundred:.1} %")
    } else if hundred.abs() >= 0.1 {
        format!("{hundred:.2} %")
    } else {
        format!("{hundred:.3} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_go_away_from_zero_and_thousands_have_commas() {
        assert_eq!(fixed(0.25, 1), "0.3");
        assert_eq!(fixed(0.15, 1), "0.2");
        assert_eq!(fixed(2.5, 0), "3");
        assert_eq!(fixed(9.96, 1), "10.0");
        assert_eq!(fixed(-0.04, 1), "0.0");
        assert_eq!(fixed(-1.25, 1), "-1.3");
        assert_eq!(fixed(1e21, 0), "1000000000000000000000");
        assert_eq!(fixed(f64::NAN, 1), "NaN");
        assert_eq!(grouped("-1234567.5"), "-1,234,567.5");
        assert_eq!(grouped("NaN"), "NaN");
        assert_eq!(thousands(1000), "1,000");
    }

    #[test]
    fn two_sizes_have_as_many_digits_as_distinguish_them() {
        let text = |a: u64, b: u64| lacking(Bytes(a), Bytes(b));
        let mib = 1 << 20;
        assert_eq!(text(3 << 30, 2 << 30), "3 GiB of memory, 2 GiB are free");
        assert_eq!(
            text(22_530 * mib, 22_529 * mib),
            "22530 MiB of memory, 22529 MiB are free"
        );
        assert_eq!(
            text(22_530 * mib + 4096, 22_530 * mib),
            "23070724 KiB of memory, 23070720 KiB are free"
        );
        assert_eq!(text(5 << 30, 5 << 30), "5 GiB of memory, 5 GiB are free");
    }

    #[test]
    fn sizes_round_trip_and_bare_numbers_are_refused() {
        assert_eq!(Bytes::parse("64M"), Ok(Bytes::mib(64)));
        assert_eq!(Bytes::parse("2GiB"), Ok(Bytes::mib(2048)));
        assert!(Bytes::parse("64").is_err());
        assert!(Bytes::parse("M").is_err());
        assert_eq!(Bytes::mib(64).jvm(), "64M");
        assert_eq!(Bytes::mib(1536).to_string(), "1.5 GiB");
        assert_eq!(Bytes(300).to_string(), "300 B");
    }

    #[test]
    fn durations_and_rates() {
        assert_eq!(parse_duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_duration("2m"), Ok(Duration::from_secs(120)));
        assert!(parse_duration("5").is_err());
        assert!(parse_duration("-5s").is_err());
        assert_eq!(parse_rate("2k/s"), Ok(2000.0));
        assert!(parse_rate("0").is_err());
        assert_eq!(human_duration(Duration::from_millis(12_340)), "12.3 s");
        assert_eq!(human_duration(Duration::from_secs(125)), "2 min 05 s");
    }
}
