//! Numbers in text as cassandra-stress writes them: halves away from zero, thousands with commas.
//! Refuses a locale: cassandra-stress's own in English.

/// A number with so many decimals. The shortest decimal form is rounded, halves away from zero.
pub(super) fn fixed(value: f64, decimals: usize) -> String {
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
