//! Help: every verb prints what docs/commands.md says of it, in a hundred columns, with examples.
//! Refuses to keep a second copy of a help text.

use crate::lab::{TestLab, words};

/// Where the command reference lies, from here.
const REFERENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/commands.md");

/// Each command of the reference, as it is typed, and its help.
fn sections(reference: &str) -> Vec<(Vec<&str>, &str)> {
    let each = reference.split("\n## `helenus").skip(1);
    each.map(|section| {
        let (words, rest) = section.split_once("`\n").expect("a heading");
        let block = rest.split_once("```text\n").expect("a block").1;
        let help = block.split_once("```").expect("the end of the block").0;
        (words.split_whitespace().collect(), help)
    })
    .collect()
}

#[test]
fn the_command_reference_is_up_to_date() {
    let now = TestLab::new().done(&["__reference"]);
    let kept = fs_err::read_to_string(REFERENCE).expect("docs/commands.md");
    assert!(
        now == kept,
        "write it anew: cargo run --locked --quiet -- __reference >docs/commands.md"
    );
}

#[test]
fn help_is_what_the_reference_says() {
    let lab = TestLab::new();
    let reference = lab.done(&["__reference"]);
    let sections = sections(&reference);
    assert!(sections.len() > 40, "{} commands", sections.len());
    for (verb, expected) in sections {
        let printed = lab.done(&[&verb[..], &["--help"]].concat());
        let lines: Vec<&str> = printed.lines().map(str::trim_end).collect();
        assert_eq!(lines, expected.lines().collect::<Vec<_>>(), "{verb:?}");
        // The usage is one line, made of the flags that exclude each other.
        let wrapped = lines.iter().filter(|line| !line.starts_with("Usage: "));
        let widest = wrapped.map(|line| line.chars().count()).max();
        assert!(widest <= Some(100), "{verb:?}: {widest:?} columns");
        let leads_on = lines.contains(&"Commands:");
        let shows = lines.iter().any(|line| line.starts_with("Examples"));
        assert!(leads_on || shows, "helenus {verb:?} --help has no examples");
    }
}

#[test]
fn no_verb_at_all() {
    let lab = TestLab::new();
    let said = lab.run(&[]);
    assert_eq!((said.code.as_str(), said.out.as_str()), ("2", ""));
    assert_eq!(said.err, lab.done(&["--help"]));
}

/// Commands in the fenced blocks of the documents: `$ helenus …` and `helenus …`, each with where it stands. One whose
/// error is shown below it is none.
fn documented() -> Vec<(String, Vec<String>)> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let mut pages = vec![format!("{root}/README.md")];
    let mut folders = vec![format!("{root}/docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs_err::read_dir(folder).expect("a folder of documents") {
            let path = entry.expect("an entry").path();
            let name = path.display().to_string();
            if path.is_dir() {
                folders.push(name);
            } else if name.ends_with(".md") && !name.ends_with("/commands.md") {
                pages.push(name);
            }
        }
    }
    let mut found = Vec::new();
    for page in pages {
        let text = fs_err::read_to_string(&page)
            .expect("a page")
            .replace("\\\n", " ");
        let mut fenced = false;
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            fenced ^= line.starts_with("```");
            let command = line.strip_prefix("$ ").unwrap_or(line);
            let fails = lines.peek().is_some_and(|next| next.starts_with("error:"));
            if fenced
                && !fails
                && let Some(command) = command.strip_prefix("helenus ")
            {
                found.push((format!("{page}: {line}"), words(command)));
            }
        }
    }
    found
}

#[test]
fn every_command_of_the_documents_has_flags_that_there_are() {
    let lab = TestLab::new();
    let documented = documented();
    assert!(documented.len() > 100, "{} commands", documented.len());
    let mut wrong = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for (place, mut command) in documented {
        // Where words are another program's, they are not ours to judge.
        let foreign = ["exec", "nodetool", "stress", "nb"];
        let is_foreign = command
            .first()
            .is_some_and(|verb| foreign.contains(&&**verb));
        if is_foreign || !seen.insert(command.clone()) {
            continue;
        }
        command.push("--help".to_owned());
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let said = lab.run(&command);
        if said.code != "0" {
            wrong.push(format!(
                "{place}\n  {}",
                said.err.lines().next().unwrap_or_default()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
