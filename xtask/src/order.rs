//! THE ORDER OF THE HOUSE: which file of a crate imports which, drawn from the source.
//! Refuses an import of a lower group, circles of more than two files, and where `lib.rs` has groups any circle across its
//! modules.
//!
//! A group is a run of `mod` lines without a blank line between, in any file. A module may import from its own group and
//! from those above. What lies in a module's folder is part of it: between the two, no import counts.

use crate::words;
use fs_err as fs;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use syn::visit::{self, Visit};

/// A module's path within its crate, such as `["net", "keep"]`; empty for the crate itself.
type Module = Vec<String>;

/// A crate's files and what they import.
#[derive(Debug, Default)]
struct Graph {
    /// By module: the groups of modules that its file has.
    groups: BTreeMap<Module, Vec<Vec<String>>>,
    /// By module: the modules of other files that its file names.
    imports: BTreeMap<Module, BTreeSet<Module>>,
}

/// Prints each crate's graph in a line, and what is wrong; fails where anything is.
pub(crate) fn run() -> Result<ExitCode, Box<dyn Error>> {
    let mut wrong = Vec::new();
    println!("crate               files  imports  groups  circles of two");
    for folder in crates()? {
        let graph = Graph::read(&folder.join("src"))?;
        let name = folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let imports: usize = graph.imports.values().map(BTreeSet::len).sum();
        let circles = graph.circles();
        println!(
            "{name:18} {:6} {imports:8} {:7} {:15}",
            graph.imports.len(),
            graph.groups.values().map(Vec::len).sum::<usize>(),
            circles.iter().filter(|circle| circle.len() == 2).count(),
        );
        wrong.extend(
            graph
                .wrong()
                .into_iter()
                .map(|one| format!("{name}: {one}")),
        );
    }
    for one in &wrong {
        println!("{one}");
    }
    Ok(match wrong.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// The folders of the workspace's crates.
fn crates() -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = own.parent().unwrap_or(own);
    let mut all = vec![own.to_owned()];
    for entry in fs::read_dir(root.join("crates"))? {
        all.push(entry?.path());
    }
    all.sort();
    Ok(all)
}

impl Graph {
    /// Reads a crate by its folder of sources.
    fn read(source: &Path) -> Result<Self, Box<dyn Error>> {
        let first = ["lib.rs", "main.rs"].map(|name| source.join(name));
        let first = first.into_iter().find(|file| file.exists());
        let first = first.ok_or_else(|| format!("no crate: {}", source.display()))?;
        let mut names = BTreeMap::new();
        let mut groups = BTreeMap::new();
        look(&first, source, &Module::new(), &mut names, &mut groups)?;
        let known: BTreeSet<&Module> = names.keys().collect();
        let imports = names
            .iter()
            .map(|(module, named)| {
                let found = named.iter().filter_map(|path| file_of(path, &known));
                let others = found.filter(|other| !is_part(module, other));
                (module.clone(), others.cloned().collect())
            })
            .collect();
        Ok(Self { groups, imports })
    }

    /// Everything that is not in order, a line each.
    fn wrong(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (module, imports) in &self.imports {
            for other in imports {
                if self.is_lower(other, module) {
                    let (module, other) = (module.join("::"), other.join("::"));
                    wrong.push(format!("{module} imports {other}, of a lower group"));
                }
            }
        }
        for circle in self.circles() {
            let tops: BTreeSet<_> = circle.iter().map(|module| module.first()).collect();
            let grouped = self.groups.get(&Module::new());
            let across = grouped.is_some_and(|groups| groups.len() > 1) && tops.len() > 1;
            if circle.len() > 2 || across {
                let names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
                wrong.push(format!(
                    "{} files in a circle: {}",
                    names.len(),
                    names.join(", ")
                ));
            }
        }
        wrong
    }

    /// Whether, in the file of the nearest module that has both, one is in a lower group than the other.
    fn is_lower(&self, one: &Module, than: &Module) -> bool {
        let shared = one.iter().zip(than).take_while(|(a, b)| a == b).count();
        let Some(groups) = self.groups.get(&one[..shared]) else {
            return false;
        };
        let group = |module: &Module| {
            let name = module.get(shared)?;
            groups.iter().position(|group| group.contains(name))
        };
        group(one)
            .zip(group(than))
            .is_some_and(|(one, than)| one > than)
    }

    /// Files that can all be reached from each other; two or more each.
    fn circles(&self) -> Vec<BTreeSet<&Module>> {
        let reached: BTreeMap<&Module, BTreeSet<&Module>> = self
            .imports
            .keys()
            .map(|module| (module, self.reached(module)))
            .collect();
        let mut circles: Vec<BTreeSet<&Module>> = Vec::new();
        for (module, there) in &reached {
            let back = there
                .iter()
                .filter(|other| reached[*other].contains(module));
            let circle: BTreeSet<&Module> = back.copied().collect();
            if circle.len() > 1 && !circles.contains(&circle) {
                circles.push(circle);
            }
        }
        circles
    }

    /// What a file imports, directly or through others.
    fn reached(&self, from: &Module) -> BTreeSet<&Module> {
        let mut reached = BTreeSet::new();
        let mut next: Vec<&Module> = self.imports[from].iter().collect();
        while let Some(module) = next.pop() {
            if reached.insert(module) {
                next.extend(&self.imports[module]);
            }
        }
        reached
    }
}

/// The file that `#[path = "…"]` names.
fn path_of(attribute: &syn::Attribute) -> Option<String> {
    let value = &attribute.meta.require_name_value().ok()?.value;
    match value {
        syn::Expr::Lit(literal) if attribute.path().is_ident("path") => match &literal.lit {
            syn::Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// Groups of `mod` lines.
fn groups(text: &str) -> Vec<Vec<String>> {
    let mut groups = vec![Vec::new()];
    for line in text.lines() {
        let mut prefixes = ["pub ", "pub(crate) ", "pub(super) "].into_iter();
        let line = prefixes
            .find_map(|prefix| line.strip_prefix(prefix))
            .unwrap_or(line);
        let name = line
            .strip_prefix("mod ")
            .and_then(|rest| rest.strip_suffix(';'));
        match (name, groups.last_mut()) {
            (Some(name), Some(group)) => group.push(name.to_owned()),
            (None, Some(group)) if line.is_empty() && !group.is_empty() => groups.push(Vec::new()),
            _ => {}
        }
    }
    groups.retain(|group| !group.is_empty());
    groups
}

/// Whether one lies in the folder of the other, or they are the same.
fn is_part(module: &Module, other: &Module) -> bool {
    module.starts_with(other) || other.starts_with(module)
}

/// The module in whose file a name lies.
fn file_of<'a>(path: &[String], known: &BTreeSet<&'a Module>) -> Option<&'a Module> {
    (1..=path.len())
        .rev()
        .find_map(|length| known.get(&path[..length].to_vec()).copied())
}

/// Reads a file, and those of its modules that are no tests.
fn look(
    file: &Path,
    folder: &Path,
    module: &Module,
    names: &mut BTreeMap<Module, BTreeSet<Vec<String>>>,
    of: &mut BTreeMap<Module, Vec<Vec<String>>>,
) -> Result<(), Box<dyn Error>> {
    let mut named = Names {
        module: module.clone(),
        ..Names::default()
    };
    let text = fs::read_to_string(file)?;
    let parsed = syn::parse_file(&text).map_err(|e| format!("{}: {e}", file.display()))?;
    named.visit_file(&parsed);
    names.insert(module.clone(), named.paths);
    of.insert(module.clone(), groups(&text));
    for (child, elsewhere) in named.children {
        let path = [&module[..], std::slice::from_ref(&child)].concat();
        let beside = file.parent().unwrap_or(folder);
        let file = match elsewhere {
            Some(elsewhere) => beside.join(elsewhere),
            None => folder.join(format!("{child}.rs")),
        };
        look(&file, &folder.join(&child), &path, names, of)?;
    }
    Ok(())
}

/// The names of a file that begin at its crate, and its modules in files of their own.
#[derive(Default)]
struct Names {
    /// Where in the crate we are.
    module: Module,
    paths: BTreeSet<Vec<String>>,
    /// Each with its file, where an attribute names it.
    children: Vec<(String, Option<String>)>,
}

impl Names {
    /// Keeps a path that begins with `crate`, `self` or `super`, as one from the crate.
    fn keep(&mut self, path: &[String]) {
        let mut base = self.module.clone();
        let mut rest = path;
        match path.first().map(String::as_str) {
            Some("crate") => {
                base.clear();
                rest = &path[1..];
            }
            Some("self") => rest = &path[1..],
            Some("super") => {}
            _ => return,
        }
        while let Some("super") = rest.first().map(String::as_str) {
            base.pop();
            rest = &rest[1..];
        }
        base.extend_from_slice(rest);
        if !rest.is_empty() {
            self.paths.insert(base);
        }
    }

    fn tree(&mut self, before: &[String], tree: &syn::UseTree) {
        let with = |name: &syn::Ident| [before, &[name.to_string()][..]].concat();
        match tree {
            syn::UseTree::Path(path) => self.tree(&with(&path.ident), &path.tree),
            syn::UseTree::Name(name) => self.keep(&with(&name.ident)),
            syn::UseTree::Rename(name) => self.keep(&with(&name.ident)),
            syn::UseTree::Glob(_) => self.keep(before),
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.tree(before, tree);
                }
            }
        }
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if module.attrs.iter().any(words::is_test) {
            return;
        }
        let name = module.ident.to_string();
        if module.content.is_none() {
            let elsewhere = module.attrs.iter().find_map(path_of);
            self.children.push((name, elsewhere));
        } else {
            self.module.push(name);
            visit::visit_item_mod(self, module);
            self.module.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.tree(&[], &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        self.keep(&names);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, made: &'ast syn::Macro) {
        // What a macro is given is no syntax yet.
        let text = made.tokens.to_string().replace(" :: ", "::");
        for (at, _) in text.match_indices("crate::") {
            let path = text[at..].split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
            let names = path
                .take(1)
                .flat_map(|path| path.split("::"))
                .map(str::to_owned);
            self.keep(&names.collect::<Vec<_>>());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A crate of these files.
    fn graph(files: &[(&str, &str)]) -> Graph {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            fs::write(file, text).expect("written");
        }
        Graph::read(folder.path()).expect("read")
    }

    #[test]
    fn every_crate_has_an_order() {
        for folder in crates().expect("crates") {
            let graph = Graph::read(&folder.join("src")).expect("read");
            assert!(graph.imports.len() > 3, "{}: {graph:?}", folder.display());
            let wrong = graph.wrong();
            assert!(
                wrong.is_empty(),
                "{}:\n{}",
                folder.display(),
                wrong.join("\n")
            );
        }
    }

    #[test]
    fn an_import_of_a_lower_group_is_found_in_every_form() {
        for form in [
            "use crate::b::X;",
            "use crate::{b::{X, Y}, c};",
            "use super::b;",
            "fn f() { crate::b::f() }",
            "fn f() { assert_eq!(1, crate::b::f()) }",
            "mod inner { use super::super::b::X; }",
        ] {
            let wrong = graph(&[
                ("lib.rs", "pub mod a;\n\nmod b;\nmod c;\n"),
                ("a.rs", form),
                ("b.rs", "use crate::a::A; // and up is right"),
                ("c.rs", ""),
            ])
            .wrong();
            let expected = "a imports b, of a lower group";
            assert!(wrong.contains(&expected.to_owned()), "{form}: {wrong:?}");
        }
    }

    #[test]
    fn an_import_of_a_lower_group_is_found_below_the_first_file() {
        let wrong = graph(&[
            ("lib.rs", "mod a;\n"),
            ("a.rs", "mod b;\n\npub(crate) mod c;\n"),
            ("a/b.rs", "mod deep;"),
            ("a/b/deep.rs", "use crate::a::c::C;"),
            ("a/c.rs", "use super::b::B; // and up is right"),
        ])
        .wrong();
        assert_eq!(wrong, ["a::b::deep imports a::c, of a lower group"]);
    }

    #[test]
    fn every_crate_has_groups() {
        for folder in crates().expect("crates") {
            let graph = Graph::read(&folder.join("src")).expect("read");
            let groups = &graph.groups[&Module::new()];
            assert!(groups.len() > 1, "{}: {groups:?}", folder.display());
        }
    }

    #[test]
    fn a_circle_of_three_is_found_and_one_of_two_is_let_be() {
        let mut files = vec![
            ("lib.rs", "mod a;\nmod b;\nmod c;\n"),
            ("a.rs", "mod deep;"),
            ("a/deep.rs", "use super::A; use crate::b::B;"),
            ("b.rs", "use crate::a::deep::D; use crate::c::C;"),
            ("c.rs", ""),
        ];
        assert_eq!(graph(&files).wrong(), Vec::<String>::new());
        files[4].1 = "use crate::a::deep::D;";
        assert_eq!(
            graph(&files).wrong(),
            ["3 files in a circle: a::deep, b, c"]
        );
    }

    #[test]
    fn where_there_are_groups_two_modules_do_not_import_each_other() {
        let mut files = vec![
            ("lib.rs", "mod a;\nmod b;\n"),
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "use crate::a::A;"),
            ("c.rs", ""),
        ];
        assert_eq!(graph(&files).wrong(), Vec::<String>::new());
        files[0].1 = "mod a;\nmod b;\n\nmod c;\n";
        assert_eq!(graph(&files).wrong(), ["2 files in a circle: a, b"]);
    }

    #[test]
    fn tests_are_left_out() {
        let graph = graph(&[
            ("lib.rs", "mod a;\n\nmod b;\n"),
            (
                "a.rs",
                "#[cfg(test)]\nmod tests { use crate::b::X; }\n#[cfg(test)]\nmod more;",
            ),
            ("b.rs", ""),
        ]);
        assert_eq!(graph.wrong(), Vec::<String>::new());
    }
}
