//! Which words can be tags: those that no run, range or list of runs could be meant by.
//! Refuses white space, commas and whatever reads as the name of a run or comparison.

use crate::id::{ComparisonId, ExperimentId, RunReference};

/// Longest tag, in bytes: it is shown in a table.
const LONGEST: usize = 64;

/// The word cannot be a tag.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{tag:?} cannot be a tag: {why}")]
pub struct TagError {
    /// The word.
    pub tag: String,
    why: &'static str,
}

impl TagError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        "use a word such as before-upgrade, of letters, digits and . _ - + : /".into()
    }
}

/// Looks whether the word can be a tag.
///
/// # Errors
/// It is empty, long, has characters that lists and tables need for themselves, or names a run or comparison.
pub fn check_tag(tag: &str) -> Result<(), TagError> {
    let allowed = |c: char| c.is_alphanumeric() || ".-_+:/".contains(c);
    let named = tag.parse::<RunReference>().is_ok()
        || ComparisonId::named(tag).is_some()
        || ExperimentId::named(tag).is_some();
    let why = if tag.is_empty() {
        "it is empty"
    } else if tag.len() > LONGEST {
        "it is longer than 64 bytes"
    } else if !tag.chars().all(allowed) {
        "it has a character that is not allowed in tags"
    } else if named {
        "it looks like a name that Helenus assigns"
    } else if tag.contains("..") || tag.starts_with('-') {
        "it looks like a range or a flag"
    } else {
        return Ok(());
    };
    Err(TagError {
        tag: tag.into(),
        why,
    })
}

#[cfg(test)]
mod tests {
    use super::check_tag;

    #[test]
    fn words_are_tags_and_names_are_not() {
        for tag in ["before", "gc:zgc", "v5.0.9", "r12b", "größe", "a/b+c_d-e"] {
            assert_eq!(check_tag(tag), Ok(()));
        }
        let long = "x".repeat(65);
        for tag in [
            "", "r12", "12", "@last", "cmp3", "e1", "a b", "a,b", "r1..r2", "-x", "a\n", &long,
        ] {
            assert!(check_tag(tag).is_err(), "{tag:?}");
        }
    }
}
