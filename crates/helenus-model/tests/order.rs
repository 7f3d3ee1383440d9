//! The modules of the model stand in one order, and each knows only those above it.
//! Refuses cycles: what would need one is two modules that want to be one, or three.

#![expect(
    clippy::disallowed_methods,
    reason = "the walls forbid IO in the model; this test reads its source"
)]

use std::fs;
use std::path::{Path, PathBuf};

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Names in the order of `lib.rs`.
fn modules() -> Vec<String> {
    let text = fs::read_to_string(source().join("lib.rs")).unwrap();
    let names = text.lines().filter_map(|line| {
        let line = line.trim();
        let line = line.strip_prefix("pub ").unwrap_or(line);
        Some(line.strip_prefix("mod ")?.strip_suffix(';')?.to_owned())
    });
    names.collect()
}

/// All files of a module: `name.rs` and what is in `name/`.
fn files(module: &str) -> Vec<PathBuf> {
    let mut found = vec![source().join(format!("{module}.rs"))];
    let mut folders = vec![source().join(module)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(folder) else {
            continue;
        };
        for entry in entries.map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    found
}

/// The modules that a text names after `crate::`, comments left out.
fn named(text: &str) -> Vec<String> {
    let code: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line, "\n"])
        .collect();
    let mut names = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            None => names.push(word(rest)),
            Some(group) => names.extend(heads(group)),
        }
    }
    names
}

/// First words of the parts of a `{a::b, c}`, whose opening brace is gone.
fn heads(group: &str) -> Vec<String> {
    let mut depth = 0;
    let mut parts = vec![String::new()];
    for letter in group.chars() {
        match letter {
            '}' if depth == 0 => break,
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => parts.push(String::new()),
            other if depth == 0 => parts.last_mut().unwrap().push(other),
            _ => {}
        }
    }
    let words = parts.iter().map(|part| word(part.trim()));
    words.filter(|word| !word.is_empty()).collect()
}

fn word(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}

#[test]
fn each_module_names_only_those_above_it() {
    let modules = modules();
    assert!(modules.len() > 10, "lib.rs was not understood: {modules:?}");
    let mut wrong = Vec::new();
    for (place, module) in modules.iter().enumerate() {
        for file in files(module) {
            let text = fs::read_to_string(&file).unwrap();
            for name in named(&text) {
                if !modules[..=place].contains(&name) {
                    let file = file.strip_prefix(source()).unwrap().display();
                    wrong.push(format!("{file} names crate::{name}, which is not above it"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_file_belongs_to_a_module() {
    let modules = modules();
    for entry in fs::read_dir(source()).unwrap().map(Result::unwrap) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let stem = name.strip_suffix(".rs").unwrap_or(&name);
        assert!(
            stem == "lib" || modules.iter().any(|module| module == stem),
            "{name} is named by no line of lib.rs"
        );
    }
}

#[test]
fn names_are_found_in_every_form() {
    let text =
        "use crate::a::B;\nuse crate::{b::{C, D}, c, d::E};\n// crate::not\nlet x = crate::e::f();";
    assert_eq!(named(text), ["a", "b", "c", "d", "e"]);
}
