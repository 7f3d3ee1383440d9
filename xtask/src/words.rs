//! RETIRED PHRASES: what the program's texts and its documents no longer say, with what they say instead.
//! Refuses single words: they are good elsewhere.

use fs_err as fs;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use syn::visit::{self, Visit};

/// Phrases in small letters, each with what takes its place.
const RETIRED: &[(&str, &str)] = &[
    ("a cluster of yours", "your cluster"),
    ("a second time", "again, or: conflicts with"),
    ("are of no use", "cannot be used, or: has no effect"),
    ("as it should be", "say what holds"),
    ("as they should be", "say what holds"),
    ("as the slots allow", "as fast as --in-flight allows"),
    ("asked after the runs", "set after the runs"),
    ("asked for again", "re-reads every recorded write"),
    ("asks for passwords", "requires passwords"),
    ("at work on", "working on"),
    ("be believed", "valid, or invalid"),
    ("begin anew", "start again"),
    ("can be told", "say what is known, or: is conclusive"),
    ("cannot be told", "inconclusive"),
    ("cannot tell", "is inconclusive"),
    ("clusters of yours", "your clusters"),
    ("could not be told", "inconclusive"),
    ("counted nobody knows", "may or may not have been applied"),
    ("finds 2 %", "power at 2 %"),
    ("fixed rate", "constant rate, or: open-loop schedule"),
    ("flat out", "closed loop"),
    ("goes into no", "matches no"),
    ("has none of its own", "has none"),
    ("is of no use", "cannot be used, or: requires"),
    ("is there already", "already exists"),
    ("is told twice", "is given twice"),
    ("killed then", "before SIGKILL"),
    ("lets us use", "are available"),
    ("looks so by chance", "significant only before correction"),
    ("measured stretch", "measurement window"),
    (
        "no difference is sure",
        "no significant difference after correction",
    ),
    ("nobody knows", "it is not known"),
    ("nobody says", "by default"),
    ("nobody sets", "unless set"),
    ("of interest to nobody", "say what it is"),
    ("one can believe", "you can trust"),
    ("patience with", "how long to wait for"),
    ("somebody else's", "of another user, or: of another program"),
    ("stands twice", "appears twice"),
    (
        "stands where each lies",
        "is followed by its confidence interval",
    ),
    ("sure difference", "significant difference"),
    ("that is there", "existing"),
    ("the same settings twice", "A/A control"),
    ("told apart", "no significant difference, or: distinguished"),
    ("were spoilt", "are invalid"),
    ("whatever is in it", "and all its data"),
    ("would say", "conflicts with"),
    ("would tell", "shows, or: conflicts with"),
];

/// Names that hold a retired phrase and stay: keys, flags and headings that other programs read.
const STAYS: &[&str] = &[
    "cannot_tell",
    "017-numbers-one-can-believe.md): numbers one can believe",
];

/// Pages outside of `docs`, and what a package index shows.
const PAGES: [&str; 5] = [
    "README.md",
    "GLOSSARY.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "pyproject.toml",
];

/// Looks for them; fails where there is one.
pub(crate) fn run() -> Result<ExitCode, Box<dyn Error>> {
    let found = found(&root())?;
    for one in &found {
        println!("{one}");
    }
    println!("{} retired phrases", found.len());
    Ok(match found.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_owned()
}

/// Each as `file: phrase (instead: ...): text around it`.
fn found(root: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let mut found = Vec::new();
    let mut see = |path: &Path, text: &str| {
        let shown = path.strip_prefix(root).unwrap_or(path).display();
        for (phrase, instead, around) in retired(text) {
            found.push(format!(
                "{shown}: {phrase:?} (write: {instead}): …{around}…"
            ));
        }
    };
    let sources = ["crates", "xtask"].map(|folder| files(&root.join(folder), "rs"));
    for path in sources.into_iter().collect::<Result<Vec<_>, _>>()?.concat() {
        let shown = path.strip_prefix(root)?.display().to_string();
        let is_test = [
            "/tests/",
            "tests.rs",
            "/helenus-fake-node/",
            "xtask/src/words.rs",
        ];
        if !shown.contains("/src/") || is_test.iter().any(|part| shown.contains(part)) {
            continue;
        }
        let mut texts = Texts {
            with_docs: shown.contains("/cli"),
            ..Texts::default()
        };
        texts.visit_file(&syn::parse_file(&fs::read_to_string(&path)?)?);
        texts.all.iter().for_each(|text| see(&path, text));
    }
    for path in plain(root)? {
        see(&path, &fs::read_to_string(&path)?);
    }
    Ok(found)
}

/// Texts that are read whole: the pages, what package indexes show, the clients, and the scripts of reports.
fn plain(root: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut all = PAGES.map(|name| root.join(name)).to_vec();
    for (folder, ending) in [
        ("docs", "md"),
        ("clients", "md"),
        ("clients", "toml"),
        ("clients", "yml"),
        ("clients", "sh"),
        ("clients", "py"),
        ("clients", "java"),
        ("crates", "js"),
        ("crates/helenus-model/data", "tsv"),
    ] {
        all.extend(files(&root.join(folder), ending)?);
    }
    let skipped = ["docs/design/", "/target/", "/tests/", "/src/test/"];
    all.retain(|path| {
        let shown = path.strip_prefix(root).unwrap_or(path).to_string_lossy();
        !skipped.iter().any(|part| shown.contains(part))
    });
    Ok(all)
}

/// The retired phrases of a text, each with its stand-in and a few words around it.
fn retired(text: &str) -> Vec<(&'static str, &'static str, String)> {
    let plain: Vec<&str> = text
        .split(['\n', ' ', '\\'])
        .filter(|w| !w.is_empty())
        .collect();
    let plain = plain.join(" ").to_lowercase();
    let plain = STAYS
        .iter()
        .fold(plain, |text, stays| text.replace(stays, ""));
    let mut found = Vec::new();
    for (phrase, instead) in RETIRED {
        for (at, _) in plain.match_indices(phrase) {
            let letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
            let before = plain[..at].chars().next_back();
            let after = plain[at + phrase.len()..].chars().next();
            if !letter(before) && !letter(after) {
                let begin = plain[..at]
                    .char_indices()
                    .rev()
                    .nth(30)
                    .map_or(0, |(i, _)| i);
                let around: String = plain[begin..].chars().take(60 + phrase.len()).collect();
                found.push((*phrase, *instead, around));
            }
        }
    }
    found
}

/// Files of this ending below a folder, in order.
fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            all.extend(files(&path, ending)?);
        } else if path.extension().is_some_and(|own| own == ending) {
            all.push(path);
        }
    }
    all.sort();
    Ok(all)
}

/// Whether it is `#[cfg(test)]`.
pub(crate) fn is_test(attribute: &syn::Attribute) -> bool {
    let what = attribute.parse_args::<syn::Ident>();
    attribute.path().is_ident("cfg") && what.is_ok_and(|what| what == "test")
}

/// What a source file may print: its literals, and of flags the documentation, which is their help.
#[derive(Default)]
struct Texts {
    with_docs: bool,
    all: Vec<String>,
}

impl<'ast> Visit<'ast> for Texts {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !module.attrs.iter().any(is_test) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if self.with_docs || !attribute.path().is_ident("doc") {
            visit::visit_attribute(self, attribute);
            if let syn::Meta::List(list) = &attribute.meta {
                self.all.push(list.tokens.to_string());
            }
        }
    }

    fn visit_lit_str(&mut self, text: &'ast syn::LitStr) {
        self.all.push(text.value());
    }

    fn visit_macro(&mut self, made: &'ast syn::Macro) {
        self.all.push(made.tokens.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_says_a_retired_phrase() {
        let found = found(&root()).expect("reads");
        assert!(found.is_empty(), "{}", found.join("\n"));
    }

    #[test]
    fn texts_outside_of_rust_are_read() {
        let root = root();
        let all = plain(&root).expect("reads");
        for name in [
            "pyproject.toml",
            "CHANGELOG.md",
            "docs/commands.md",
            "clients/python/src/pytest_helenus/plugin.py",
            "clients/java/junit/src/main/java/org/helenus/junit/Wish.java",
            "clients/github/action.yml",
            "crates/helenus-record/src/report/page.js",
        ] {
            assert!(all.contains(&root.join(name)), "{name}");
        }
    }

    #[test]
    fn phrases_are_found_across_lines_and_not_within_words() {
        let found = |text: &str| retired(text).len();
        assert_eq!(found("They cannot be\n  told apart."), 2);
        assert_eq!(found("as a second \\\n   flat out run"), 1);
        assert_eq!(found("the cannot_tell answer, a flat outing"), 0);
    }
}
