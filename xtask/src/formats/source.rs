//! The source as data: every type that is defined in the crates, what each file names with `use`, and the marks of formats.
//! Refuses tests: what they write is no format.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use syn::parse::Parser as _;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Item, Lit, UseTree};

/// A type with the place where it stands.
pub(super) struct Defined {
    pub(super) name: String,
    pub(super) module: Vec<String>,
    pub(super) file: String,
    pub(super) item: Kind,
}

pub(super) enum Kind {
    Struct(syn::ItemStruct),
    Enum(syn::ItemEnum),
    Alias(syn::ItemType),
}

/// All crates.
#[derive(Default)]
pub(super) struct Source {
    types: BTreeMap<String, Vec<Rc<Defined>>>,
    uses: BTreeMap<Vec<String>, BTreeMap<String, Vec<String>>>,
    /// Constants that a mark can name: where, name, value.
    consts: Vec<(String, String, Value)>,
    /// Marks as they are made: where, name, version.
    marks: Vec<(String, Value, Value)>,
}

#[derive(Clone, PartialEq)]
pub(super) enum Value {
    Text(String),
    Number(u32),
    /// The path of a constant.
    Named(Vec<String>),
}

impl Source {
    /// Reads every file of every crate.
    pub(super) fn read(root: &Path) -> Result<Self, Box<dyn Error>> {
        let mut source = Self::default();
        let crates = root.join("crates");
        for folder in entries(&crates)? {
            let src = folder.join("src");
            let mut folders = vec![src.clone()];
            while let Some(folder) = folders.pop() {
                for path in entries(&folder)? {
                    if path.is_dir() {
                        folders.push(path);
                    } else if is_read(&path) {
                        let file = path.strip_prefix(&crates)?.to_string_lossy().into_owned();
                        source.take(&path, file)?;
                    }
                }
            }
        }
        Ok(source)
    }

    fn take(&mut self, path: &Path, file: String) -> Result<(), Box<dyn Error>> {
        let text = fs_err::read_to_string(path)?;
        let parsed = syn::parse_file(&text).map_err(|e| format!("{file}: {e}"))?;
        let module = module(&file);
        let mut reader = Reader {
            source: self,
            module,
            file,
        };
        reader.visit_file(&parsed);
        Ok(())
    }

    /// The type in this file.
    pub(super) fn root(&self, file: &str, name: &str) -> Option<Rc<Defined>> {
        let all = self.types.get(name)?;
        all.iter().find(|one| one.file == file).cloned()
    }

    /// What a path means in a module; nothing where it leads out of the crates.
    pub(super) fn resolve(&self, module: &[String], path: &[String]) -> Option<Rc<Defined>> {
        let full = self.full(module, path);
        let (name, place) = full.split_last()?;
        let candidates = self.types.get(name)?;
        let common = |one: &Rc<Defined>| {
            let pairs = one.module.iter().zip(place);
            pairs.take_while(|(a, b)| a == b).count()
        };
        let best = candidates.iter().max_by_key(|one| {
            let beyond = one.module.len() - common(one);
            (common(one), usize::MAX - beyond)
        })?;
        (common(best) > 0).then(|| Rc::clone(best))
    }

    /// A path from its crate on.
    fn full(&self, module: &[String], path: &[String]) -> Vec<String> {
        let used = self.uses.get(module).and_then(|uses| uses.get(&path[0]));
        match used {
            Some(used) => used.iter().chain(&path[1..]).cloned().collect(),
            None => absolute(module, path),
        }
    }

    /// Every mark with its version, by name.
    pub(super) fn marks(&self) -> Result<BTreeMap<String, u32>, Box<dyn Error>> {
        let mut found = BTreeMap::new();
        for (file, name, version) in &self.marks {
            let (Value::Text(name), Value::Number(version)) =
                (self.value(file, name)?, self.value(file, version)?)
            else {
                return Err(format!("{file}: a mark that cannot be read").into());
            };
            let before = found.insert(name.clone(), version);
            if before.is_some_and(|before| before != version) {
                return Err(format!("{name} has two versions").into());
            }
        }
        Ok(found)
    }

    fn value(&self, file: &str, value: &Value) -> Result<Value, Box<dyn Error>> {
        let Value::Named(path) = value else {
            return Ok(value.clone());
        };
        let full = self.full(&module(file), path);
        let (name, place) = full.split_last().ok_or("an empty path")?;
        let same = |one: &&(String, String, Value)| one.1 == *name && module(&one.0) == place;
        let alike = |one: &&(String, String, Value)| {
            let there = module(&one.0);
            one.1 == *name && there.len() > 1 && place.iter().any(|part| there.last() == Some(part))
        };
        let found = self.consts.iter().find(same);
        let found = found.or_else(|| self.consts.iter().find(alike));
        let only = || {
            let mut all = self.consts.iter().filter(|one| one.1 == *name);
            all.next().filter(|_| all.next().is_none())
        };
        let found = found.or_else(only);
        let found = found.map(|(_, _, value)| value.clone());
        found.ok_or_else(|| format!("{file}: no constant {}", full.join("::")).into())
    }
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut all = Vec::new();
    for entry in fs_err::read_dir(folder)? {
        all.push(entry?.path());
    }
    all.sort();
    Ok(all)
}

fn is_read(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    let test = stem.is_none_or(|stem| stem == "tests" || stem.ends_with("_tests"));
    !test && path.extension().is_some_and(|e| e == "rs")
}

/// The module of a file below `crates`, its crate first.
fn module(file: &str) -> Vec<String> {
    let mut parts: Vec<String> = file
        .trim_end_matches(".rs")
        .split('/')
        .filter(|part| *part != "src")
        .map(|part| part.replace('-', "_"))
        .collect();
    if parts.last().is_some_and(|p| p == "lib" || p == "main") {
        parts.pop();
    }
    parts
}

/// A path without `crate`, `self` and `super`.
fn absolute(module: &[String], path: &[String]) -> Vec<String> {
    let first = path[0].as_str();
    match first {
        "crate" => module[..1].iter().chain(&path[1..]).cloned().collect(),
        "self" => module.iter().chain(&path[1..]).cloned().collect(),
        "super" => {
            let above = &module[..module.len().saturating_sub(1)];
            match path.get(1) {
                Some(_) => absolute_below(above, &path[1..]),
                None => above.to_vec(),
            }
        }
        // A type of another crate is none of ours, though one has its name.
        "serde_json" => path.to_vec(),
        _ if first.starts_with("helenus_") => path.to_vec(),
        _ => module.iter().chain(path).cloned().collect(),
    }
}

fn absolute_below(above: &[String], rest: &[String]) -> Vec<String> {
    match rest[0].as_str() {
        "super" => absolute(above, rest),
        _ => above.iter().chain(rest).cloned().collect(),
    }
}

struct Reader<'a> {
    source: &'a mut Source,
    module: Vec<String>,
    file: String,
}

impl Reader<'_> {
    fn define(&mut self, name: String, item: Kind) {
        let defined = Defined {
            name: name.clone(),
            module: self.module.clone(),
            file: self.file.clone(),
            item,
        };
        let all = self.source.types.entry(name).or_default();
        all.push(Rc::new(defined));
    }

    fn use_tree(&mut self, before: &[String], tree: &UseTree) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        let (name, path) = match tree {
            UseTree::Path(path) => return self.use_tree(&with(&path.ident), &path.tree),
            UseTree::Group(group) => {
                return group
                    .items
                    .iter()
                    .for_each(|tree| self.use_tree(before, tree));
            }
            UseTree::Glob(_) => return,
            UseTree::Name(name) if name.ident == "self" => {
                let Some(last) = before.last() else { return };
                (last.clone(), before.to_vec())
            }
            UseTree::Name(name) => (name.ident.to_string(), with(&name.ident)),
            UseTree::Rename(name) => (name.rename.to_string(), with(&name.ident)),
        };
        let path = absolute(&self.module, &path);
        let uses = self.source.uses.entry(self.module.clone()).or_default();
        uses.insert(name, path);
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test(item) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.define(item.ident.to_string(), Kind::Struct(item.clone()));
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.define(item.ident.to_string(), Kind::Enum(item.clone()));
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        if let Some(worded) = worded(item) {
            self.define(worded.ident.to_string(), Kind::Enum(worded));
        }
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.define(item.ident.to_string(), Kind::Alias(item.clone()));
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.use_tree(&[], &item.tree);
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        if let Some(value) = value(&item.expr) {
            let name = item.ident.to_string();
            self.source.consts.push((self.file.clone(), name, value));
        }
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        let arguments: Vec<&Expr> = call.args.iter().collect();
        if let (true, [name, version]) = (makes_format(&call.func), &arguments[..]) {
            let mut names = Vec::new();
            texts(name, &mut names);
            let version = value(version);
            for (name, version) in names.into_iter().zip(version.iter().cycle()) {
                let mark = (self.file.clone(), name, version.clone());
                self.source.marks.push(mark);
            }
        }
        visit::visit_expr_call(self, call);
    }
}

/// The enumeration that `worded!` defines, with the words that serde is given.
fn worded(item: &syn::ItemMacro) -> Option<syn::ItemEnum> {
    if !item.mac.path.is_ident("worded") {
        return None;
    }
    let mut all: syn::ItemEnum = item.mac.parse_body().ok()?;
    for one in &mut all.variants {
        let (_, word) = one.discriminant.take()?;
        let Some(Value::Text(word)) = value(&word) else {
            return None;
        };
        let rename = format!("#[serde(rename = {word:?})]");
        one.attrs
            .extend(Attribute::parse_outer.parse_str(&rename).ok()?);
    }
    Some(all)
}

/// The names that the first argument of a mark may have: one, or one an arm of a `match`.
fn texts(expr: &Expr, into: &mut Vec<Value>) {
    match expr {
        Expr::Match(cases) => cases.arms.iter().for_each(|arm| texts(&arm.body, into)),
        other => into.extend(value(other)),
    }
}

fn makes_format(of: &Expr) -> bool {
    let Expr::Path(path) = of else { return false };
    let names: Vec<String> = path
        .path
        .segments
        .iter()
        .map(|s| s.ident.to_string())
        .collect();
    names == ["Format", "new"]
}

fn value(expr: &Expr) -> Option<Value> {
    match expr {
        Expr::Lit(lit) => match &lit.lit {
            Lit::Str(text) => Some(Value::Text(text.value())),
            Lit::Int(number) => number.base10_parse().ok().map(Value::Number),
            _ => None,
        },
        Expr::Path(path) => {
            let names = path.path.segments.iter().map(|s| s.ident.to_string());
            Some(Value::Named(names.collect()))
        }
        _ => None,
    }
}

fn is_test(item: &Item) -> bool {
    let attributes: &[Attribute] = match item {
        Item::Mod(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        _ => return false,
    };
    attributes.iter().any(crate::words::is_test)
}
