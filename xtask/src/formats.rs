//! `cargo xtask formats [--check]`: a page for each JSON format, made from the types that are written, or checked.
//! Refuses pages by hand: what a page says of a key is what the source says, and a test holds it to that.

mod attributes;
mod list;
mod shape;
mod source;

use list::{Entry, Way};
use shape::Shape;
use source::Source;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What each page says of itself.
const MADE: &str =
    "<!-- made by `cargo xtask formats` from the types that are written; do not edit -->\n";

/// Writes the pages anew, or with `--check` names those that differ.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode, Box<dyn Error>> {
    let check = match words {
        [] => false,
        ["--check"] => true,
        _ => return Err("it takes nothing but --check".into()),
    };
    let root = root()?;
    let differing = differing(&root)?;
    for (path, text) in &differing {
        let name = path.strip_prefix(&root).unwrap_or(path).display();
        match (check, text) {
            (true, _) => println!("{name}: differs"),
            (false, None) => {
                fs_err::remove_file(path)?;
                println!("{name}: removed");
            }
            (false, Some(text)) => {
                fs_err::create_dir_all(path.parent().unwrap_or(&root))?;
                fs_err::write(path, text)?;
                println!("{name}: written");
            }
        }
    }
    if differing.is_empty() {
        println!("every page is as its types have it");
    }
    Ok(ExitCode::from(u8::from(check && !differing.is_empty())))
}

fn root() -> Result<PathBuf, Box<dyn Error>> {
    Ok(fs_err::canonicalize(
        Path::new(env!("CARGO_MANIFEST_DIR")).join(".."),
    )?)
}

/// Pages that are not as they must be, with the text that they must have; none where no format has the page.
fn differing(root: &Path) -> Result<BTreeMap<PathBuf, Option<String>>, Box<dyn Error>> {
    let wanted = pages(&Source::read(root)?)?;
    let mut found: BTreeMap<PathBuf, Option<String>> = BTreeMap::new();
    if let Ok(entries) = fs_err::read_dir(root.join("docs/formats")) {
        for entry in entries {
            found.insert(entry?.path(), None);
        }
    }
    for (name, text) in wanted {
        let path = root.join("docs").join(name);
        let same = fs_err::read_to_string(&path).is_ok_and(|there| there == text);
        match same {
            true => found.remove(&path),
            false => found.insert(path, Some(text)),
        };
    }
    Ok(found)
}

/// Every page below `docs`, by name.
fn pages(source: &Source) -> Result<BTreeMap<String, String>, Box<dyn Error>> {
    let versions = all_listed(source)?;
    let mut pages = BTreeMap::new();
    pages.insert("formats.md".to_owned(), index(&versions));
    for entry in list::all() {
        let page = page(source, &entry, versions[entry.name])?;
        pages.insert(format!("formats/{}.md", entry.name), page);
    }
    Ok(pages)
}

/// The versions that the source's marks have, by name: the list has them all, and no others.
fn all_listed(source: &Source) -> Result<BTreeMap<String, u32>, Box<dyn Error>> {
    let marks = source.marks()?;
    if let Some(entry) = list::all().find(|entry| !marks.contains_key(entry.name)) {
        let name = entry.name;
        return Err(format!("nothing makes {name}: take it out of formats/list.tsv").into());
    }
    let listed = |name: &str| list::all().any(|entry| entry.name == name);
    match marks.keys().find(|name| !listed(name)) {
        Some(name) => Err(format!("formats/list.tsv lacks {name}").into()),
        None => Ok(marks),
    }
}

fn index(versions: &BTreeMap<String, u32>) -> String {
    let mut text = format!(
        "# JSON formats\n\n{MADE}\n\
         Everything that is printed or stored as JSON carries `\"format\": \"helenus.NAME/N\"`. N stays the same\n\
         when a key is added; it grows when a key is removed or changes its meaning. Helenus reads N and N−1. Everything that is\n\
         printed also has an `answer` ([errors](errors.md)).\n"
    );
    let parts = [
        ("Printed with `--format json`", true),
        ("Stored, or part of another", false),
    ];
    for (title, printed) in parts {
        let _infallible = write!(text, "\n## {title}\n\n| format | where |\n|---|---|\n");
        for one in list::all().filter(|one| (one.way != Way::Kept) == printed) {
            let Entry { name, place, .. } = one;
            let version = versions[name];
            let _infallible = writeln!(
                text,
                "| [`helenus.{name}/{version}`](formats/{name}.md) | {place} |"
            );
        }
    }
    text
}

fn page(source: &Source, entry: &Entry, version: u32) -> Result<String, Box<dyn Error>> {
    let Entry {
        name,
        place,
        root: (file, ty),
        way,
    } = entry;
    let root = source
        .root(file, ty)
        .ok_or_else(|| format!("{file} has no type {ty}"))?;
    let answer = match way {
        Way::Printed => "| `answer` | text | always | The outcome in one sentence. |\n",
        Way::PrintedInSentences => {
            "| `answer` | list of text | always | The outcome, a sentence each. |\n"
        }
        Way::Kept => "",
    };
    let mut shape = Shape::new(source, name);
    let keys = shape.page(&root, answer);
    if !shape.strange.is_empty() {
        return Err(format!("{name}: no description of {}", shape.strange.join(", ")).into());
    }
    if !shape.silent.is_empty() {
        let keys = shape.silent.join(", ");
        return Err(format!("{name}: no documentation of {keys}").into());
    }
    let origin = match way {
        Way::Kept => format!("Kept in: {place}."),
        _ => format!("Printed by: {place}."),
    };
    Ok(format!(
        "# helenus.{name}/{version}\n\n{MADE}\n{origin} [All formats](../formats.md).\n\n{keys}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_says_what_its_types_say() {
        let root = root().expect("the workspace");
        let differing = differing(&root).expect("pages");
        let names: Vec<_> = differing.keys().map(|path| path.display()).collect();
        assert!(names.is_empty(), "`cargo xtask formats` writes {names:?}");
    }
}
