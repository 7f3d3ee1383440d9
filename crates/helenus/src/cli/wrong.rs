//! What a person probably meant by words that no verb takes.
//! Refuses to do it: the line is theirs to write.

use crate::error::CommandError;
use clap::error::{ContextKind, ContextValue};
use std::ffi::OsString;

/// The error of a line that asks for JSON. Any other line ends the program with its error, in words.
pub(super) fn failure(error: clap::Error, words: &[OsString]) -> CommandError {
    let error = with_cure(error, words);
    let flag = |pair: &[OsString]| pair[0] == "--format" && pair[1] == "json";
    if words.windows(2).any(flag) || words.iter().any(|word| word == "--format=json") {
        return CommandError::of_line(&error);
    }
    error.exit()
}

/// The error of a line, `words` with the program's name, with the cure where one is known.
fn with_cure(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    let words: Vec<String> = words
        .iter()
        .map(|w| w.to_string_lossy().into_owned())
        .collect();
    let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    if let Some(cure) = meant(&words) {
        let cure = ContextValue::StyledStrs(vec![cure.into()]);
        let _none_before = error.insert(ContextKind::Suggested, cure);
    }
    error
}

/// What was meant.
fn meant(words: &[&str]) -> Option<String> {
    let is_number =
        |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_digit() || c == ':');
    // `--set concurrent_reads 64`
    for at in 0..words.len().saturating_sub(2) {
        let (key, value) = (words[at + 1], words[at + 2]);
        if words[at] == "--set" && !key.contains('=') && !value.starts_with('-') {
            return Some(format!("write --set {key}={value}"));
        }
    }
    match words {
        ["experiment", file, ..] if file.ends_with(".toml") => Some(format!(
            "helenus experiment check {file} reads it, helenus experiment run {file} runs it"
        )),
        ["count", name, table, ..] if !name.contains('.') && table.contains('.') => {
            Some(format!("helenus count {table} --cluster {name}"))
        }
        ["history", "export", rest @ ..] if rest.contains(&"--format") => {
            Some("the form of an export is --as json, csv or hdr".to_owned())
        }
        ["topology", file, ..] if file.ends_with(".toml") => Some(format!(
            "helenus topology check {file} reads it, helenus up NAME --topology {file} makes it"
        )),
        ["up" | "create", name, nodes, ..] if is_number(nodes) && !name.starts_with('-') => Some(
            format!("nodes are counted by -n: helenus up {name} -n {nodes}"),
        ),
        ["rm" | "down"] => {
            Some("name a cluster, or use helenus rm --all; helenus list names them".to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::meant;

    #[test]
    fn lines_that_are_nearly_right_have_their_cure() {
        for (line, cure) in [
            (
                "up c --set concurrent_reads 64",
                "write --set concurrent_reads=64",
            ),
            ("up c 3", "nodes are counted by -n: helenus up c -n 3"),
            ("count c ks.t", "helenus count ks.t --cluster c"),
            (
                "experiment heap.toml",
                "helenus experiment check heap.toml reads it, helenus experiment run heap.toml runs it",
            ),
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(meant(&words).as_deref(), Some(cure), "{line}");
        }
        assert_eq!(meant(&["up", "c", "--nonsense"]), None);
        assert_eq!(meant(&["up", "c", "--set", "a=1", "b"]), None);
    }
}
