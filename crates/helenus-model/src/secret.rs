//! Passwords in texts that are shown or kept: where they may stand, and the text without them.
//! Refuses to guess by a value's looks: only the name before a value makes it a secret.

/// What stands where a secret stood.
const MASK: &str = "***";

/// The text with the value of each secret masked: `KEY=VALUE`, `KEY: VALUE`, `PASSWORD 'VALUE'`.
///
/// It may be YAML, CQL or a flag of the JVM. Where a value has no quotes, too much is masked rather than too little.
pub fn without_secrets(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_key_char) {
        let (before, from_key) = rest.split_at(start);
        let (key, after) = from_key.split_at(run(from_key, is_key_char));
        out.push_str(before);
        out.push_str(key);
        rest = after;
        if !is_secret(key) {
            continue;
        }
        if let Some((sign, value)) = value(after) {
            out.push_str(&after[..sign]);
            out.push_str(&masked(value));
            rest = &after[sign + value.len()..];
        }
    }
    out.push_str(rest);
    out
}

/// One word of a command line, or one flag of the JVM: a secret's value is all that follows its `=`.
pub fn word_without_secrets(word: &str) -> String {
    let mut key_from = 0;
    for (at, _) in word.match_indices('=') {
        let key = &word[key_from..at];
        if key.is_empty() || !key.chars().all(is_key_char) {
            break;
        }
        if is_secret(key) {
            return format!("{}{MASK}", &word[..=at]);
        }
        key_from = at + 1;
    }
    without_secrets(word)
}

/// A command line that a shell reads back as these words, secrets masked.
pub fn command_line<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> String {
    let words: Vec<String> = words
        .into_iter()
        .map(|word| shell_word(&word_without_secrets(word.as_ref())))
        .collect();
    words.join(" ")
}

/// Whether two texts are the same, in a time that does not depend on where they differ.
pub fn same(a: &str, b: &str) -> bool {
    let differ = a
        .bytes()
        .zip(b.bytes())
        .fold(0, |all, (a, b)| all | (a ^ b));
    a.len() == b.len() && differ == 0
}

/// A word as a shell reads it back: in single quotes, unless it is plain.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./=:,+@%-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn is_key_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')
}

/// Bytes of the text's beginning whose characters are all so.
fn run(text: &str, so: impl Fn(char) -> bool) -> usize {
    text.find(|c| !so(c)).unwrap_or(text.len())
}

/// Whether what follows this key is for nobody's eyes.
fn is_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let last = key.rsplit(['_', '.', '-']).next().unwrap_or(&key);
    // Where a secret is, or how long one is kept, is none.
    let last = match (last, key.strip_suffix("_in_ms")) {
        ("ms", Some(rest)) => rest.rsplit('_').next().unwrap_or(rest),
        (last, _) => last,
    };
    if ["from", "file", "validity", "entries", "interval"].contains(&last) {
        return false;
    }
    // Cassandra's own tokens are positions on the ring.
    let bare: String = key.chars().filter(char::is_ascii_alphanumeric).collect();
    ["password", "passwd", "secret", "credential"]
        .iter()
        .any(|word| bare.contains(word))
        || ["authtoken", "accesstoken", "apitoken"]
            .iter()
            .any(|end| bare.ends_with(end))
}

/// Length of the sign after a key, and the value after it.
fn value(after: &str) -> Option<(usize, &str)> {
    let blank = |c: char| c == ' ' || c == '\t';
    // A key may stand in quotes itself.
    let quoted = usize::from(after.starts_with(['"', '\'']));
    let gap = quoted + run(&after[quoted..], blank);
    let sign = after[gap..].chars().next()?;
    if !matches!(sign, '=' | ':') {
        // `PASSWORD 'x'`, as CREATE USER has it.
        let cql = quoted == 0 && gap > 0 && sign == '\'';
        return cql.then(|| (gap, &after[gap..gap + quoted_length(&after[gap..], '\'')]));
    }
    let from = gap + 1 + run(&after[gap + 1..], blank);
    let rest = &after[from..];
    let length = match rest.chars().next()? {
        quote @ ('"' | '\'') => quoted_length(rest, quote),
        '{' => bracketed_length(rest, '{', '}'),
        '[' => bracketed_length(rest, '[', ']'),
        _ if sign == '=' => run(rest, |c| !c.is_whitespace() && c != '"' && c != '\''),
        _ => run(rest, |c| !matches!(c, '\n' | '\r' | ',' | '}' | ']')),
    };
    let value = &rest[..length];
    // A bind marker's value is elsewhere.
    (!value.is_empty() && value != "?").then_some((from, value))
}

/// Bytes of a text in quotes, both quotes included; a doubled or escaped quote does not end it.
fn quoted_length(text: &str, quote: char) -> usize {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\\' && quote == '"' {
            chars.next();
        } else if c == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
            return at + 1;
        }
    }
    text.len()
}

/// Bytes up to the bracket that closes the first one.
fn bracketed_length(text: &str, open: char, close: char) -> usize {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth = depth.saturating_sub(1);
        }
        if depth == 0 {
            return at + 1;
        }
    }
    text.len()
}

/// The mask in the quotes that the value has.
fn masked(value: &str) -> String {
    match value.chars().next() {
        Some(quote @ ('"' | '\'')) => format!("{quote}{MASK}{quote}"),
        _ => MASK.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_secrets_are_masked_wherever_they_stand() {
        for (text, safe) in [
            ("-Dx.password=hunter2,!", "-Dx.password=***"),
            (
                "-DkeyStorePassword=a -Xmx1G",
                "-DkeyStorePassword=*** -Xmx1G",
            ),
            (
                "a:\n  keystore_password: \"p \\\"q\"\n  b: 1\n",
                "a:\n  keystore_password: \"***\"\n  b: 1\n",
            ),
            ("{api_token: abc, b: c}", "{api_token: ***, b: c}"),
            ("{\"secret\": [\"a\", \"b\"]}", "{\"secret\": ***}"),
            (
                "ALTER ROLE r WITH PASSWORD = 'it''s' AND LOGIN = true",
                "ALTER ROLE r WITH PASSWORD = '***' AND LOGIN = true",
            ),
            (
                "CREATE USER u WITH PASSWORD 'é' SUPERUSER",
                "CREATE USER u WITH PASSWORD '***' SUPERUSER",
            ),
            ("AUTH-TOKEN=x", "AUTH-TOKEN=***"),
            ("passwd='open", "passwd='***'"),
        ] {
            assert_eq!(without_secrets(text), safe);
            assert_eq!(without_secrets(safe), safe);
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
        for text in [
            "initial_token: \"-12\"\nnum_tokens: 1\n",
            "allocate_tokens_for_local_replication_factor: 3",
            "credentials_validity: 2000ms",
            "credentials_validity_in_ms: 2000",
            "credentials_update_interval_in_ms: 2000",
            "--password-from=PASS",
            "--password-from 'PASS'",
            "SELECT password FROM t WHERE password = ?",
            "credentials:\n  user: u",
            "password",
            "SELECT token(k) FROM t",
        ] {
            assert_eq!(without_secrets(text), text);
        }
    }

    #[test]
    fn a_command_line_repeats_the_run() {
        let words = [
            "helenus",
            "bench",
            "--set",
            "a.keystore_password=my 'own' pass",
            "--jvm=-Dx.secret=a b",
            "--insert",
            "INSERT INTO t (k) VALUES (?)",
            "",
            "it's",
            "--password-from",
            "PASS",
        ];
        assert_eq!(
            command_line(words),
            "helenus bench --set 'a.keystore_password=***' '--jvm=-Dx.secret=***' --insert \
             'INSERT INTO t (k) VALUES (?)' '' 'it'\\''s' --password-from PASS"
        );
    }
}
