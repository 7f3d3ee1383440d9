//! THE HOUSE RULES that no compiler checks: edges, owners, licences, bans, sizes, first lines, links.
//! Refuses taste: each rule here fits in one sentence, and each list says why a line is on it.
#[path = "tidy/lists.rs"]
mod lists;

use lists::{
    BANNED, BANNED_DIRECTLY, EDGES, EVERYBODY, LICENCES, LINES_MAX, OWNERS, PACKAGES_MAX, TESTS,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs_err::canonicalize(here.join("../..")).unwrap()
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs_err::read(path).unwrap()).into_owned()
}

/// Cargo's view of the workspace, asked once.
static METADATA: LazyLock<Value> = LazyLock::new(metadata);

fn metadata() -> Value {
    // Without a network the crates of other systems may be missing from cargo's cache; ours never are after a build.
    let ours = [
        "--filter-platform",
        "x86_64-unknown-linux-gnu",
        "--filter-platform",
        "aarch64-unknown-linux-gnu",
    ];
    let attempts: [&[&str]; 3] = [&["--offline"], &[&["--offline"], &ours[..]].concat(), &[]];
    let mut said = String::new();
    for attempt in attempts {
        let output = Command::new(env!("CARGO"))
            .args(["metadata", "--format-version", "1", "--locked"])
            .args(attempt)
            .current_dir(root())
            .output()
            .unwrap();
        if output.status.success() {
            return serde_json::from_slice(&output.stdout).unwrap();
        }
        said = String::from_utf8_lossy(&output.stderr).into_owned();
    }
    panic!("cargo metadata failed: {said}");
}

fn packages() -> &'static [Value] {
    METADATA["packages"].as_array().unwrap()
}

/// Our own packages: those that come from no registry.
fn ours() -> impl Iterator<Item = &'static Value> {
    packages().iter().filter(|p| p["source"].is_null())
}

/// Names and versions in Cargo.lock, whatever system they are for.
fn locked() -> Vec<String> {
    let text = read(&root().join("Cargo.lock"));
    let names = text.lines().filter_map(|line| line.strip_prefix("name = "));
    names
        .map(|name| name.trim_matches('"').to_owned())
        .collect()
}

/// Every file of the tree that git knows or would take; without git, every file outside of `target` and hidden folders.
fn tracked() -> Vec<PathBuf> {
    let listed = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(root())
        .output();
    if let Ok(output) = listed
        && output.status.success()
    {
        let text = String::from_utf8(output.stdout).unwrap();
        let files = text.split('\0').filter(|name| !name.is_empty());
        // A file that was removed and not yet committed is still listed.
        return files
            .map(|name| root().join(name))
            .filter(|path| path.is_file())
            .collect();
    }
    let mut files = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs_err::read_dir(folder).unwrap().map(Result::unwrap) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = entry.path();
            if !path.is_dir() {
                files.push(path);
            } else if name == ".ci" || (name != "target" && !name.starts_with('.')) {
                folders.push(path);
            }
        }
    }
    files
}

fn with_extension(extension: &str) -> Vec<PathBuf> {
    let is = |path: &PathBuf| path.extension().is_some_and(|e| e == extension);
    tracked().into_iter().filter(is).collect()
}

/// A path as a person knows it.
fn shown(path: &Path) -> String {
    path.strip_prefix(root())
        .unwrap_or(path)
        .display()
        .to_string()
}

#[track_caller]
fn none(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn the_rooms_have_exactly_their_edges() {
    let mut found = BTreeMap::new();
    let names: BTreeSet<&str> = ours().map(|p| p["name"].as_str().unwrap()).collect();
    for package in ours() {
        let mut edges: Vec<&str> = dependencies(package)
            .map(|(name, _)| name)
            .filter(|name| names.contains(name))
            .collect();
        edges.sort_unstable();
        edges.dedup();
        found.insert(package["name"].as_str().unwrap(), edges);
    }
    let wanted: BTreeMap<&str, Vec<&str>> = EDGES
        .iter()
        .map(|(name, edges)| (*name, edges.to_vec()))
        .collect();
    assert_eq!(
        found, wanted,
        "the walls are EDGES, and the drawing in ARCHITECTURE.md"
    );
}

/// Names of what a package depends on, and whether only its tests do.
fn dependencies(package: &'static Value) -> impl Iterator<Item = (&'static str, bool)> {
    package["dependencies"].as_array().unwrap().iter().map(|d| {
        let name = d["name"].as_str().unwrap();
        (name, d["kind"].as_str() == Some("dev"))
    })
}

#[test]
fn each_outside_crate_has_its_owners() {
    let names: BTreeSet<&str> = ours().map(|p| p["name"].as_str().unwrap()).collect();
    let mut wrong = Vec::new();
    for package in ours() {
        let room = package["name"].as_str().unwrap();
        for (name, for_tests) in dependencies(package).filter(|(name, _)| !names.contains(name)) {
            let owners = OWNERS.iter().find(|(owned, _)| *owned == name);
            let owned = owners.is_some_and(|(_, rooms)| rooms.contains(&room));
            if !(owned || EVERYBODY.contains(&name) || (for_tests && TESTS.contains(&name))) {
                wrong.push(format!(
                    "{room} may not use {name}: see OWNERS in tests/tidy.rs"
                ));
            }
        }
    }
    none(&wrong);
}

#[test]
fn no_owner_is_listed_for_a_crate_that_nobody_names() {
    let manifest = read(&root().join("Cargo.toml"));
    let wrong: Vec<String> = OWNERS
        .iter()
        .filter(|(name, _)| {
            !manifest
                .lines()
                .any(|l| l.starts_with(&format!("{name} = ")))
        })
        .map(|(name, _)| format!("OWNERS lists {name}, Cargo.toml does not"))
        .collect();
    none(&wrong);
}

#[test]
fn every_licence_is_one_that_lets_the_binary_be_given_away() {
    let mut wrong = Vec::new();
    for package in packages() {
        let licence = package["license"].as_str().unwrap_or("none named");
        if !allowed(licence) {
            wrong.push(format!("{} is under {licence}", package["name"]));
        }
    }
    none(&wrong);
}

/// Whether an SPDX expression can be satisfied; the old `/` means OR.
fn allowed(expression: &str) -> bool {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    any(&mut rest) && rest.is_empty()
}

fn any(rest: &mut &[&str]) -> bool {
    let mut holds = all(rest);
    while let ["OR", tail @ ..] = rest {
        *rest = tail;
        holds |= all(rest);
    }
    holds
}

fn all(rest: &mut &[&str]) -> bool {
    let mut holds = one(rest);
    while let ["AND", tail @ ..] = rest {
        *rest = tail;
        holds &= one(rest);
    }
    holds
}

fn one(rest: &mut &[&str]) -> bool {
    match *rest {
        ["(", tail @ ..] => {
            *rest = tail;
            let holds = any(rest);
            let closed = rest.first() == Some(&")");
            *rest = rest.get(1..).unwrap_or(&[]);
            holds && closed
        }
        [name, "WITH", exception, tail @ ..] => {
            *rest = tail;
            LICENCES.contains(&format!("{name} WITH {exception}").as_str())
        }
        [name, tail @ ..] => {
            *rest = tail;
            LICENCES.contains(name)
        }
        [] => false,
    }
}

#[test]
fn licence_expressions_are_read_as_spdx_means_them() {
    for yes in [
        "MIT",
        "MIT/Apache-2.0",
        "GPL-3.0-only OR MIT",
        "(MIT OR Apache-2.0) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception OR GPL-2.0-only",
    ] {
        assert!(allowed(yes), "{yes}");
    }
    for no in [
        "GPL-3.0-only",
        "MIT AND GPL-3.0-only",
        "MIT AND (GPL-3.0-only OR LGPL-3.0-only)",
        "Apache-2.0 WITH Classpath-exception-2.0",
        "(MIT",
        "MIT Apache-2.0",
        "none named",
        "",
    ] {
        assert!(!allowed(no), "{no}");
    }
}

#[test]
fn no_banned_crate_came_in() {
    let locked = locked();
    let mut wrong: Vec<String> = BANNED
        .iter()
        .filter(|(name, _)| locked.iter().any(|l| l == name))
        .map(|(name, why)| format!("{name} is in Cargo.lock: {why}"))
        .collect();
    for package in ours() {
        for (name, _) in dependencies(package) {
            if let Some((_, why)) = BANNED_DIRECTLY.iter().find(|(banned, _)| *banned == name) {
                wrong.push(format!("{} depends on {name}: {why}", package["name"]));
            }
        }
    }
    none(&wrong);
}

#[test]
fn the_budget_of_packages_holds() {
    let count = locked().len();
    assert!(count > 0, "Cargo.lock was not understood");
    assert!(
        count <= PACKAGES_MAX,
        "{count} packages in Cargo.lock, {PACKAGES_MAX} are allowed"
    );
}

#[test]
fn every_rust_file_says_what_it_is_for_and_stays_short() {
    let mut wrong = Vec::new();
    for path in with_extension("rs") {
        let text = read(&path);
        if !text
            .lines()
            .next()
            .is_some_and(|line| line.starts_with("//! "))
        {
            wrong.push(format!("{} does not open with a //! line", shown(&path)));
        }
        let lines = text.lines().count();
        if lines > LINES_MAX {
            wrong.push(format!(
                "{} has {lines} lines, {LINES_MAX} are allowed",
                shown(&path)
            ));
        }
    }
    none(&wrong);
}

#[test]
fn nothing_is_left_for_later_or_switched_off() {
    // In parts, so that this file does not find itself.
    let forbidden = [
        concat!("to", "do!("),
        concat!("unimpl", "emented!("),
        concat!("db", "g!("),
        concat!("#[ign", "ore"),
        concat!("#[should", "_panic"),
        // Documentation is not run: the libraries say `doctest = false`.
        concat!("/// `", "``"),
        concat!("//! `", "``"),
    ];
    let mut wrong = Vec::new();
    for path in with_extension("rs") {
        let text = read(&path);
        for (number, line) in text.lines().enumerate() {
            for word in forbidden.iter().filter(|word| line.contains(**word)) {
                wrong.push(format!("{}:{} has {word}", shown(&path), number + 1));
            }
        }
    }
    none(&wrong);
}

#[test]
fn no_file_names_a_package_registry() {
    // Whoever has a mirror configured it in cargo, Maven or pip: a host named here would go past it.
    let hosts: Vec<String> = [
        &["crates", "io"][..],
        &["maven", "org"],
        &["repo", "maven", "apache", "org"],
        &["sonatype", "com"],
        &["pypi", "org"],
        &["pythonhosted", "org"],
        &["npmjs", "org"],
        &["npmjs", "com"],
        &["proxy", "golang", "org"],
        &["deb", "debian", "org"],
        &["docker", "io"],
        &["ghcr", "io"],
        &["quay", "io"],
    ]
    .iter()
    .map(|parts| parts.join("."))
    .collect();
    let mut wrong = Vec::new();
    for path in tracked()
        .into_iter()
        .filter(|path| !path.ends_with("Cargo.lock"))
    {
        let text = read(&path).to_lowercase();
        for host in hosts.iter().filter(|host| text.contains(host.as_str())) {
            wrong.push(format!("{} names {host}", shown(&path)));
        }
    }
    none(&wrong);
}

#[test]
fn every_decision_is_in_the_index() {
    let index = read(&root().join("docs/README.md"));
    let mut numbers = BTreeSet::new();
    let mut wrong = Vec::new();
    for path in with_extension("md")
        .iter()
        .filter(|p| shown(p).starts_with("docs/design/"))
    {
        let name = path.file_name().unwrap().to_string_lossy();
        let number = name.split('-').next().unwrap_or_default();
        if number.len() != 3 || !number.bytes().all(|b| b.is_ascii_digit()) {
            wrong.push(format!(
                "{} does not begin with three digits and a dash",
                shown(path)
            ));
        } else if !numbers.insert(number.to_owned()) {
            wrong.push(format!(
                "{} has a number that another page has",
                shown(path)
            ));
        }
        if !index.contains(&format!("(design/{name})")) {
            wrong.push(format!("docs/README.md does not link to design/{name}"));
        }
    }
    none(&wrong);
}

#[test]
fn every_relative_link_leads_somewhere() {
    let mut wrong = Vec::new();
    for path in with_extension("md") {
        for target in links(&read(&path)) {
            let file = target.split('#').next().unwrap_or_default();
            let elsewhere = file.is_empty() || file.contains("://") || file.starts_with("mailto:");
            if !elsewhere && !path.parent().unwrap().join(file).exists() {
                wrong.push(format!("{} links to {target}", shown(&path)));
            }
        }
    }
    none(&wrong);
}

/// Targets of `[text](target)` outside of code.
fn links(text: &str) -> Vec<String> {
    let mut targets = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            // Every second part lies between backquotes.
            let prose: String = line.split('`').step_by(2).collect();
            let parts = prose.split("](").skip(1);
            targets.extend(parts.filter_map(|p| Some(p.split_once(')')?.0.to_owned())));
        }
    }
    targets
}

#[test]
fn links_are_found_in_prose_only() {
    let text = "[a](x.md) `[b](y.md)` [`c`](z.md#part)\n```\n[d](w.md)\n```\n";
    assert_eq!(links(text), ["x.md", "z.md#part"]);
}

#[test]
fn the_model_s_walls_repeat_those_of_the_root() {
    let path_of = |line: &str| {
        Some(
            line.split_once("path = \"")?
                .1
                .split_once('"')?
                .0
                .to_owned(),
        )
    };
    let paths = |file: &str| -> BTreeSet<String> {
        read(&root().join(file))
            .lines()
            .filter_map(path_of)
            .collect()
    };
    let forgotten: Vec<String> = paths("clippy.toml")
        .difference(&paths("crates/helenus-model/clippy.toml"))
        .map(|path| format!("crates/helenus-model/clippy.toml forgets {path}"))
        .collect();
    none(&forgotten);
}
