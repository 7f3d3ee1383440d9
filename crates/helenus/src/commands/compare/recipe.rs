//! A side of `compare --ab`: a TOML file whose keys are the long flags of `bench`, and so those of `up`.
//! Refuses a second definition of any flag: the file becomes a command line, and the one parser reads it.

use crate::cli::{Bench, Cli, Verb};
use crate::commands::keys;
use crate::error::{CommandError, code};
use clap::{Arg, Parser as _};
use helenus_cql::input;
use std::ops::Range;
use std::path::Path;

/// Flags that make no sense in a file that is started again and again on clusters of its own.
const NOT_HERE: [&str; 11] = [
    "cluster",
    "hosts",
    "port",
    "i-may-write-to",
    "user",
    "password-from",
    "dry-run",
    "detail",
    "format",
    "quiet",
    "verbose",
];

/// One side as the file says it.
#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    /// The file's name without folder and ending.
    pub(crate) label: String,
    /// The flags.
    pub(crate) flags: Bench,
    /// The keys of the file with their values.
    pub(crate) keys: toml::Table,
}

/// A key and its value, with the place of the key in the text.
type Entry = (toml::Spanned<String>, toml::Value);

/// Reads a file.
///
/// # Errors
/// No file, no TOML, an unknown key (with the nearest known one), or a value that the flag does not take; each with
/// file and line.
pub(crate) fn read(path: &Path) -> Result<Recipe, CommandError> {
    let text = input::text(path)?;
    let label = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default();
    let at = |span: Range<usize>| {
        let before = &text[..span.start.min(text.len())];
        format!("{}:{}", path.display(), before.matches('\n').count() + 1)
    };
    let entries = entries(&text).map_err(|error| {
        let place = error.span().map_or(path.display().to_string(), at);
        CommandError::new(code::USAGE, format!("{place}: {}", error.message()))
    })?;
    let bench = keys::verb("bench");
    let mut words = vec!["helenus".to_owned(), "bench".to_owned()];
    for (key, value) in &entries {
        let wrong =
            |text: String| CommandError::new(code::USAGE, format!("{}: {text}", at(key.span())));
        let name = key.get_ref().as_str();
        let arg = known(&bench, name).map_err(|(text, hint)| wrong(text).hint(hint))?;
        words.extend(keys::flags(&arg, name, value).map_err(wrong)?);
    }
    let flags = match Cli::try_parse_from(&words) {
        Ok(Cli {
            verb: Verb::Bench(flags),
            ..
        }) => *flags,
        Ok(_) => return Err(CommandError::new(code::USAGE, "a side is a bench")),
        Err(error) => {
            let place = keys::key_of(&error)
                .and_then(|flag| entries.iter().find(|(key, _)| *key.get_ref() == flag))
                .map_or(path.display().to_string(), |(key, _)| at(key.span()));
            return Err(keys::refused(&place, &error));
        }
    };
    let keys = entries.into_iter().map(|(key, value)| {
        let name = key.into_inner();
        // As it is called from any folder: a comparison may be resumed elsewhere.
        let value = match known(&bench, &name) {
            Ok(arg) => keys::beside(&arg, value, Path::new("")),
            Err(_) => value,
        };
        (name, value)
    });
    let keys = keys.collect();
    Ok(Recipe { label, flags, keys })
}

/// The keys in the order of the text.
fn entries(text: &str) -> Result<Vec<Entry>, toml::de::Error> {
    let table: std::collections::BTreeMap<toml::Spanned<String>, toml::Value> =
        toml::from_str(text)?;
    let mut entries: Vec<Entry> = table.into_iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    Ok(entries)
}

/// The flag of a key, or what is wrong with the key and what helps.
fn known(bench: &clap::Command, name: &str) -> Result<Arg, (String, Option<String>)> {
    if name == "seed" {
        let text = "seed is not allowed in a side of a comparison".to_owned();
        let hint = "both sides share their data: give the seed as `helenus compare --seed`";
        return Err((text, Some(hint.to_owned())));
    }
    if NOT_HERE.contains(&name) {
        let text = format!("{name} is not allowed in a side of a comparison");
        let hint = "each restart has its own cluster; leave the key out".to_owned();
        return Err((text, Some(hint)));
    }
    let own = |arg: &&Arg| {
        let long = arg.get_long().unwrap_or_default();
        !NOT_HERE.contains(&long) && long != "seed"
    };
    keys::find(bench, name, &own).map_err(|hint| {
        let hint = hint
            .unwrap_or_else(|| "the keys are the long flags of `helenus bench --help`".to_owned());
        (format!("unknown key {name}"), Some(hint))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fs_err as fs;

    fn of(text: &str) -> Result<Recipe, CommandError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("big-heap.toml");
        fs::write(&path, text).expect("writes");
        let renamed = |e: CommandError| {
            let text = e.render().replace(&*folder.path().to_string_lossy(), "");
            CommandError::new(code::USAGE, text)
        };
        read(&path).map_err(renamed)
    }

    fn said(text: &str) -> String {
        let refused = of(text).expect_err("refused");
        anstream::adapter::strip_str(refused.message()).to_string()
    }

    #[test]
    fn the_keys_are_the_flags() {
        let recipe = of(
            "preset = 'dev'\nheap = '500M'\nrate = 2000\nclosed = false\n\
                         phases = ['write', 'read']\nset = ['a=1', 'b=2']\njvm = '-Xss256k'\n",
        )
        .expect("reads");
        assert_eq!(recipe.label, "big-heap");
        let flags = recipe.flags;
        assert_eq!(flags.load.rate, Some(2000.0));
        assert_eq!(flags.load.phases.map(|p| p.len()), Some(2));
        assert_eq!(flags.cluster_flags.node.set, ["a=1", "b=2"]);
        assert_eq!(flags.cluster_flags.node.jvm, ["-Xss256k"]);
        assert!(!flags.load.common.closed);
        assert_eq!(recipe.keys["rate"].as_integer(), Some(2000));
    }

    #[test]
    fn a_path_is_the_same_from_anywhere() {
        let here = toml::Value::String("Cargo.toml".into());
        let list = toml::Value::Array(vec![here, "no-such-file".into()]);
        let bench = keys::verb("bench");
        let schema = known(&bench, "schema").expect("a key");
        let whole = keys::beside(&schema, list, Path::new(""));
        let path = Path::new(whole[0].as_str().unwrap_or_default());
        assert!(
            path.is_absolute() && path.ends_with("Cargo.toml"),
            "{whole}"
        );
        assert_eq!(whole[1].as_str(), Some("no-such-file"));
        assert!(keys::is_path(&schema) && !keys::is_path(&known(&bench, "heap").expect("a key")));
    }

    #[test]
    fn what_is_wrong_is_reported_with_its_line() {
        insta::assert_snapshot!(said("\nrat = 5\n"), @"
        error: /big-heap.toml:2: unknown key rat
        hint: did you mean rate?
        ");
        insta::assert_snapshot!(said("hosts = '127.0.0.1'\n"), @"
        error: /big-heap.toml:1: hosts is not allowed in a side of a comparison
        hint: each restart has its own cluster; leave the key out
        ");
        insta::assert_snapshot!(said("rate = 5\nclosed = true\n"), @"error: /big-heap.toml:1: the argument '--rate <RATE>' cannot be used with '--closed'");
        insta::assert_snapshot!(said("# the heap\nheap = 'much'\n"), @r#"error: /big-heap.toml:2: invalid value 'much' for '--heap <SIZE>': "much" is not a size: write a number with K, M or G, such as 64M"#);
        insta::assert_snapshot!(said("closed = 'yes'\n"), @"error: /big-heap.toml:1: closed is true or false");
        insta::assert_snapshot!(said("rate = \n"), @"error: /big-heap.toml:1: string values must be quoted, expected literal string");
    }
}
