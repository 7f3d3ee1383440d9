//! Verbs of nodetool that documents name and no release knows, with the words that do the same.
//! Refuses to replace them: whoever types them reads which words to use instead.

/// Time-outs that have a verb of their own in documents, and a word behind `settimeout` and `gettimeout` in nodetool.
const TIMEOUTS: [(&str, &str); 6] = [
    ("writerequesttimeout", "write"),
    ("readrequesttimeout", "read"),
    ("rangerequesttimeout", "range"),
    ("counterwriterequesttimeout", "counterwrite"),
    ("cascontentiontimeout", "cascontention"),
    ("truncaterequesttimeout", "truncate"),
];

/// The words that do what a dead verb was meant to; none where the verb is none of these. `setwriterequesttimeout 8000`
/// was meant to do what `settimeout write 8000` does.
pub fn meant(words: &[String]) -> Option<Vec<String>> {
    let (verb, rest) = words.split_first()?;
    let lower = verb.to_ascii_lowercase();
    let (head, name) = lower.split_at_checked(3)?;
    let (_, kind) = TIMEOUTS.iter().find(|(dead, _)| *dead == name)?;
    let verb = match head {
        "set" => "settimeout",
        "get" => "gettimeout",
        _ => return None,
    };
    let first = [verb, kind].map(str::to_owned);
    Some(first.into_iter().chain(rest.iter().cloned()).collect())
}

#[cfg(test)]
mod tests {
    use super::meant;

    #[test]
    fn living_verbs_are_left_alone() {
        let of = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            meant(&words).map(|words| words.join(" "))
        };
        assert_eq!(
            of("getreadrequesttimeout"),
            Some("gettimeout read".to_owned())
        );
        assert_eq!(
            of("setwriterequesttimeout 8000"),
            Some("settimeout write 8000".to_owned())
        );
        for line in [
            "settimeout write 8000",
            "setcompactionthroughput 128",
            "flush",
            "",
            "se",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
