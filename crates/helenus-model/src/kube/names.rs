//! Names as Kubernetes takes them, from names as Cassandra and people have them.
//! Refuses two resources of one name: who makes them asks here whether they stay apart.

use crate::hex::sha256;

/// The longest name of a StatefulSet: its pods and their revision labels add to it, and a label has 63 characters.
pub const SET_NAME_MAX: usize = 46;

/// The longest name of a service, a namespace or any other DNS label.
pub const LABEL_MAX: usize = 63;

/// A DNS label of the words, joined by dashes: lower case, letters, digits and dashes, a letter first.
///
/// What is longer than `most` is cut, and ends in six digits of its hash, so that two long names stay apart.
pub fn label(words: &[&str], most: usize) -> String {
    let joined = words.join("-").to_ascii_lowercase();
    let mut name = String::new();
    for c in joined.chars() {
        let c = if c.is_ascii_alphanumeric() { c } else { '-' };
        if !(c == '-' && (name.is_empty() || name.ends_with('-'))) {
            name.push(c);
        }
    }
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        name.insert_str(0, "c-");
    }
    if name.len() > most {
        let hash = short_hash(&words.join("\n"));
        name.truncate(most.saturating_sub(hash.len() + 1));
        name = format!("{}-{hash}", name.trim_end_matches('-'));
    }
    name.trim_end_matches('-').to_owned()
}

/// Six digits of a text's hash.
pub fn short_hash(text: &str) -> String {
    sha256(text)[..6].to_owned()
}

/// The first name that stands there twice.
pub fn twice<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut seen = std::collections::BTreeSet::new();
    names.into_iter().find(|name| !seen.insert(*name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_dns_labels() {
        assert_eq!(
            label(&["demo", "DC1", "rack1"], SET_NAME_MAX),
            "demo-dc1-rack1"
        );
        assert_eq!(label(&["My_Cluster"], LABEL_MAX), "my-cluster");
        assert_eq!(label(&["9lives"], LABEL_MAX), "c-9lives");
        let (a, b) = ("x".repeat(40), format!("{}y", "x".repeat(39)));
        let of = |dc: &str| label(&["demo", dc, "rack1"], 20);
        assert_ne!(of(&a), of(&b));
        assert_eq!(of(&a).len(), 20);
        assert_eq!(twice(["a", "b", "a"]), Some("a"));
    }

    proptest! {
        #[test]
        fn any_words_make_a_label(words in proptest::collection::vec("[ -~]{0,50}", 1..4), most in 10_usize..63) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let name = label(&words, most);
            prop_assert!(!name.is_empty() && name.len() <= most.max(2), "{}", name);
            prop_assert!(name.starts_with(|c: char| c.is_ascii_lowercase()), "{}", name);
            prop_assert!(!name.ends_with('-') || name == "c-", "{}", name);
            prop_assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
        }
    }
}
