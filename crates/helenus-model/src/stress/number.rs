//! Numbers in text as cassandra-stress writes them: halves away from zero, thousands with commas.
//! Refuses a locale: cassandra-stress's own in English.

pub(super) use crate::units::fixed;

/// The same text with commas between thousands.
pub(super) fn grouped(text: &str) -> String {
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

/// A whole number with commas.
pub(super) fn count(n: u64) -> String {
    grouped(&n.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_go_away_from_zero() {
        let as_text = |value, decimals| fixed(value, decimals);
        assert_eq!(as_text(0.25, 1), "0.3");
        assert_eq!(as_text(0.15, 1), "0.2");
        assert_eq!(as_text(2.5, 0), "3");
        assert_eq!(as_text(9.96, 1), "10.0");
        assert_eq!(as_text(-0.04, 1), "0.0");
        assert_eq!(as_text(-1.25, 1), "-1.3");
        assert_eq!(as_text(1e21, 0), "1000000000000000000000");
        assert_eq!(as_text(f64::NAN, 1), "NaN");
        assert_eq!(grouped("-1234567.5"), "-1,234,567.5");
        assert_eq!(grouped("NaN"), "NaN");
        assert_eq!(count(1000), "1,000");
    }
}
