//! The nearest known name to a mistyped one, for errors that carry their cure.
//! Refuses to guess when nothing is near.

/// The candidate most like `name`, or none when nothing is like it at all.
///
/// Likeness is Jaro–Winkler on lower-cased names, at least 0.75.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    candidates
        .into_iter()
        .map(|c| (strsim::jaro_winkler(&wanted, &c.to_lowercase()), c))
        .filter(|(likeness, _)| *likeness >= 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, c)| c)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_the_near_and_refuses_the_far() {
        let keys = ["concurrent_reads", "concurrent_writes", "num_tokens"];
        assert_eq!(nearest("concurent_read", keys), Some("concurrent_reads"));
        assert_eq!(nearest("num-tokens", keys), Some("num_tokens"));
        assert_eq!(nearest("zzz", keys), None);
    }
}
