//! One JSON object a line, its members as texts that values are read from.
//! Refuses to read numbers: a text loses no digit.

use super::Record;
use std::borrow::Cow;

/// The members of a line's object that have these names, in this order; others are passed over, and those that are
/// missing are null. Of a name that comes twice the last one counts.
///
/// # Errors
/// The line is no JSON object; what is wrong with it.
pub fn record<'a>(line: &'a str, names: &[String]) -> Result<Record<'a>, String> {
    let whole: Result<serde::de::IgnoredAny, _> = serde_json::from_str(line);
    whole.map_err(|error| format!("no JSON: {error}"))?;
    let mut record: Record<'a> = vec![None; names.len()];
    // It is valid, so marks are enough to find the members.
    let mut rest = line.trim_start();
    rest = rest.strip_prefix('{').ok_or("no JSON object")?;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n', ',']);
        if rest.is_empty() || rest.starts_with('}') {
            return Ok(record);
        }
        let (key, after) = rest.split_at(length(rest));
        let after = after.trim_start().trim_start_matches(':').trim_start();
        let (value, after) = after.split_at(length(after));
        rest = after;
        let key: String = serde_json::from_str(key).map_err(|error| error.to_string())?;
        let Some(place) = names.iter().position(|name| *name == key) else {
            continue;
        };
        record[place] = match value.trim_end() {
            "null" => None,
            text if text.starts_with('"') => {
                let text = serde_json::from_str(text).map_err(|error| error.to_string())?;
                Some(Cow::Owned(text))
            }
            other => Some(Cow::Borrowed(other)),
        };
    }
}

/// The length of the JSON value that a valid text begins with.
fn length(text: &str) -> usize {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        if quoted {
            quoted = escaped || byte != b'"';
            escaped = byte == b'\\' && !escaped;
            if !quoted && depth == 0 {
                return at + 1;
            }
            continue;
        }
        match byte {
            b'"' => quoted = true,
            b'[' | b'{' => depth += 1,
            b',' | b':' | b'}' | b']' if depth == 0 => return at,
            b']' | b'}' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    text.len()
}
