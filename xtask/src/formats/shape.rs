//! The shape of a format: a table of keys for its value, and a section for each type that the table names.
//! Refuses to guess: a type that it cannot read is named, and the chore fails.

use super::attributes::{Serde, docs, is_derived};
use super::list;
use super::source::{Defined, Kind, Source};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::rc::Rc;
use syn::{Attribute, Field, Fields, GenericArgument, PathArguments, Type};

/// Types whose values are written by hand, and how.
const BY_HAND: &[(&str, &str)] = &[
    ("Dist", "text"),
    ("RatioDist", "text"),
    ("Hidden", "text"),
    ("Histogram", "text"),
    ("Gateway", "text"),
];

/// Functions that write a field, and what they make of it.
const WITH: &[(&str, &str)] = &[("as_text", "text"), ("tokens_as_text", "list of text")];

/// A page in the making.
pub(super) struct Shape<'a> {
    source: &'a Source,
    /// The format that the page is of: others are linked.
    own: &'a str,
    /// Titles of sections, by file and name of their types.
    titles: BTreeMap<(String, String), String>,
    waiting: VecDeque<Rc<Defined>>,
    /// Types that could not be read.
    pub(super) strange: Vec<String>,
    /// Keys of which the source does not say what they mean.
    pub(super) silent: Vec<String>,
}

impl<'a> Shape<'a> {
    pub(super) fn new(source: &'a Source, own: &'a str) -> Self {
        Self {
            source,
            own,
            titles: BTreeMap::new(),
            waiting: VecDeque::new(),
            strange: Vec::new(),
            silent: Vec::new(),
        }
    }

    /// The keys of the format's own value, below the rows that it has beside them; then a section a type.
    pub(super) fn page(&mut self, root: &Rc<Defined>, before: &str) -> String {
        let mut text = match &root.item {
            Kind::Struct(item) => {
                let rule = Serde::of(&item.attrs).rename_all;
                let rows = self.fields(&item.fields, rule.as_deref(), &root.module, false);
                table(&(before.to_owned() + &rows))
            }
            _ => self.body(root),
        };
        while let Some(next) = self.waiting.pop_front() {
            let key = (next.file.clone(), next.name.clone());
            let title = self.titles.get(&key).cloned().unwrap_or_default();
            let said = docs(attributes(&next));
            let body = self.body(&next);
            let _infallible = write!(text, "\n## {title}\n\n");
            if !said.is_empty() {
                let _infallible = write!(text, "{said}\n\n");
            }
            text.push_str(&body);
        }
        text
    }

    fn body(&mut self, of: &Rc<Defined>) -> String {
        match &of.item {
            Kind::Struct(item) => {
                let rule = Serde::of(&item.attrs).rename_all;
                table(&self.fields(&item.fields, rule.as_deref(), &of.module, false))
            }
            Kind::Enum(item) => self.variants(item, &of.module),
            Kind::Alias(item) => format!("{}\n", self.words(&item.ty, &of.module)),
        }
    }

    /// A row a key.
    fn fields(
        &mut self,
        fields: &Fields,
        rule: Option<&str>,
        module: &[String],
        absent: bool,
    ) -> String {
        fields
            .iter()
            .map(|field| self.field(field, rule, module, absent))
            .collect()
    }

    fn field(
        &mut self,
        field: &Field,
        rule: Option<&str>,
        module: &[String],
        absent: bool,
    ) -> String {
        let serde = Serde::of(&field.attrs);
        if serde.skip {
            return String::new();
        }
        let (ty, optional) = match inside(&field.ty, "Option") {
            Some(inner) => (inner, true),
            None => (&field.ty, false),
        };
        if serde.flatten {
            return self.flattened(ty, module, absent || optional);
        }
        let ident = field.ident.as_ref().map(ToString::to_string);
        let key = serde.name(&ident.unwrap_or_default(), rule);
        let words = match &serde.with {
            Some(with) => self.written_by(with, ty, module),
            None => self.words(ty, module),
        };
        let there = match (optional, serde.skip_if || absent) {
            (_, true) => "may be absent",
            (true, false) => "may be null",
            (false, false) => "always",
        };
        let mut said = docs(&field.attrs);
        if said.is_empty() && key == "format" {
            said = "Name and version of this format.".to_owned();
        }
        if said.is_empty() {
            self.silent.push(key.clone());
        }
        format!("| `{key}` | {words} | {there} | {said} |\n")
    }

    /// The keys of a value that stand among those of what holds it.
    fn flattened(&mut self, ty: &Type, module: &[String], absent: bool) -> String {
        match self.defined(ty, module) {
            Some(of) => match &of.item {
                Kind::Struct(item) => {
                    let rule = Serde::of(&item.attrs).rename_all;
                    self.fields(&item.fields, rule.as_deref(), &of.module, absent)
                }
                Kind::Enum(_) | Kind::Alias(_) => {
                    let link = self.link(&of);
                    let there = if absent { "may be absent" } else { "always" };
                    format!(
                        "| … | the keys of {link} | {there} | {} |\n",
                        docs(attributes(&of))
                    )
                }
            },
            None => format!("| … | {} | always | |\n", self.words(ty, module)),
        }
    }

    fn written_by(&mut self, with: &str, ty: &Type, module: &[String]) -> String {
        if let Some((_, words)) = WITH.iter().find(|(name, _)| *name == with) {
            return (*words).to_owned();
        }
        // A list of pairs, of which the second is written.
        if let (Some(Type::Tuple(pair)), "without_tokens") = (inside(ty, "Vec"), with) {
            return match pair.elems.last() {
                Some(last) => format!("list of {}", self.words(last, module)),
                None => "list".to_owned(),
            };
        }
        self.strange.push(format!("a field written by {with}"));
        String::new()
    }

    fn variants(&mut self, item: &syn::ItemEnum, module: &[String]) -> String {
        let serde = Serde::of(&item.attrs);
        let rule = serde.rename_all.as_deref();
        let plain = item.variants.iter().all(|one| one.fields.is_empty());
        if plain && serde.tag.is_none() && !serde.untagged {
            let rows = item.variants.iter().map(|one| {
                let name = Serde::of(&one.attrs).name(&one.ident.to_string(), rule);
                format!("| `\"{name}\"` | {} |\n", docs(&one.attrs))
            });
            return format!(
                "| text | meaning |\n|---|---|\n{}",
                rows.collect::<String>()
            );
        }
        let mut text = "One of:\n".to_owned();
        for one in &item.variants {
            let own = Serde::of(&one.attrs);
            if own.skip {
                continue;
            }
            let name = own.name(&one.ident.to_string(), rule);
            let said = docs(&one.attrs);
            let said = if said.is_empty() {
                said
            } else {
                format!(": {said}")
            };
            let form = match (&serde.tag, serde.untagged) {
                (Some(tag), _) => format!("`\"{tag}\": \"{name}\"`"),
                (None, true) => String::new(),
                (None, false) => format!("`\"{name}\"`"),
            };
            text.push_str(&self.variant(&one.fields, &serde, &form, &said, module));
        }
        text
    }

    fn variant(
        &mut self,
        fields: &Fields,
        of: &Serde,
        form: &str,
        said: &str,
        module: &[String],
    ) -> String {
        match fields {
            Fields::Unit => format!("\n* {form}{said}\n"),
            Fields::Unnamed(one) if one.unnamed.len() == 1 => {
                let inner = &one.unnamed[0].ty;
                if of.tag.is_some() {
                    let rows = self.flattened(inner, module, false);
                    return format!("\n* {form}{said}\n\n{}", indented(&table(&rows)));
                }
                let words = self.words(inner, module);
                match of.untagged {
                    true => format!("\n* {words}{said}\n"),
                    false => {
                        format!("\n* an object with the key {form}, whose value is {words}{said}\n")
                    }
                }
            }
            Fields::Unnamed(several) => {
                let each = several
                    .unnamed
                    .iter()
                    .map(|one| self.words(&one.ty, module));
                let words = each.collect::<Vec<_>>().join(", ");
                format!(
                    "\n* an object with the key {form}, whose value is a list of {words}{said}\n"
                )
            }
            Fields::Named(_) => {
                let rows = self.fields(fields, None, module, false);
                let lead = match (of.tag.is_some(), of.untagged) {
                    (true, _) => form.to_owned(),
                    (false, true) => "an object".to_owned(),
                    (false, false) => {
                        format!("an object with the key {form}, whose value is an object")
                    }
                };
                format!("\n* {lead}{said}\n\n{}", indented(&table(&rows)))
            }
        }
    }

    /// A type in words.
    fn words(&mut self, ty: &Type, module: &[String]) -> String {
        match ty {
            Type::Reference(inner) => self.words(&inner.elem, module),
            Type::Paren(inner) => self.words(&inner.elem, module),
            Type::Group(inner) => self.words(&inner.elem, module),
            Type::Slice(list) => format!("list of {}", self.words(&list.elem, module)),
            Type::Array(list) => format!("list of {}", self.words(&list.elem, module)),
            Type::Tuple(all) => {
                let each = all.elems.iter().map(|one| self.words(one, module));
                format!("list ({})", each.collect::<Vec<_>>().join(", "))
            }
            Type::Path(path) => {
                let Some(last) = path.path.segments.last() else {
                    return String::new();
                };
                let inner = arguments(&last.arguments);
                self.named(&last.ident.to_string(), &inner, ty, module)
            }
            _ => {
                self.strange.push("a type of another kind".to_owned());
                String::new()
            }
        }
    }

    fn named(&mut self, name: &str, inner: &[&Type], ty: &Type, module: &[String]) -> String {
        match (name, inner) {
            ("String" | "str" | "PathBuf" | "Path" | "char", _) => "text".to_owned(),
            ("Ipv4Addr" | "IpAddr" | "SocketAddr" | "SocketAddrV4", _) => "text".to_owned(),
            ("bool", _) => "true or false".to_owned(),
            ("f32" | "f64", _) => "number".to_owned(),
            ("u8" | "u16" | "u32" | "u64" | "u128" | "usize", _) => "whole number".to_owned(),
            ("i8" | "i16" | "i32" | "i64" | "i128" | "isize", _) => "whole number".to_owned(),
            ("Value", _) if self.defined(ty, module).is_none() => "any JSON".to_owned(),
            ("Option", [one]) => format!("{} or null", self.words(one, module)),
            ("Box" | "Arc" | "Rc" | "Cow", [one]) => self.words(one, module),
            ("Vec" | "VecDeque" | "BTreeSet" | "HashSet", [one]) => {
                format!("list of {}", self.words(one, module))
            }
            ("BTreeMap" | "HashMap", [key, value]) => {
                let (key, value) = (self.words(key, module), self.words(value, module));
                format!("object: {key} to {value}")
            }
            _ => match self.defined(ty, module) {
                Some(of) => self.ours(&of),
                None => self.by_hand(name),
            },
        }
    }

    /// A type of our own.
    fn ours(&mut self, of: &Rc<Defined>) -> String {
        if of.name == "Format" {
            return "text".to_owned();
        }
        let serde = Serde::of(attributes(of));
        if let Some(into) = serde.into {
            return if into == "String" {
                "text".to_owned()
            } else {
                self.by_hand(&into)
            };
        }
        match &of.item {
            Kind::Alias(item) => self.words(&item.ty, &of.module),
            _ if !is_derived(attributes(of)) => self.by_hand(&of.name),
            Kind::Struct(item) if serde.transparent || is_new(&item.fields) => {
                let field = item.fields.iter().next();
                field.map_or(String::new(), |one| self.words(&one.ty, &of.module))
            }
            _ => self.link(of),
        }
    }

    fn by_hand(&mut self, name: &str) -> String {
        let known = BY_HAND.iter().find(|(known, _)| *known == name);
        if known.is_none() {
            self.strange.push(name.to_owned());
        }
        known.map_or_else(String::new, |(_, words)| (*words).to_owned())
    }

    /// A link to its section, or to the page of its format.
    fn link(&mut self, of: &Rc<Defined>) -> String {
        let format = list::all().find(|one| one.root == (of.file.as_str(), of.name.as_str()));
        if let Some(format) = format.filter(|one| one.name != self.own) {
            return format!("[{0}]({0}.md)", format.name);
        }
        let key = (of.file.clone(), of.name.clone());
        if !self.titles.contains_key(&key) {
            let same = self
                .titles
                .keys()
                .filter(|(_, name)| *name == of.name)
                .count();
            let title = match same {
                0 => of.name.clone(),
                n => format!("{} {}", of.name, n + 1),
            };
            self.titles.insert(key.clone(), title);
            self.waiting.push_back(Rc::clone(of));
        }
        let title = &self.titles[&key];
        format!("[{title}](#{})", title.to_lowercase().replace(' ', "-"))
    }

    fn defined(&self, ty: &Type, module: &[String]) -> Option<Rc<Defined>> {
        let ty = match ty {
            Type::Reference(inner) => &inner.elem,
            other => other,
        };
        let Type::Path(path) = ty else { return None };
        let path = path.path.segments.iter().map(|s| s.ident.to_string());
        self.source.resolve(module, &path.collect::<Vec<_>>())
    }
}

fn attributes(of: &Defined) -> &[Attribute] {
    match &of.item {
        Kind::Struct(item) => &item.attrs,
        Kind::Enum(item) => &item.attrs,
        Kind::Alias(item) => &item.attrs,
    }
}

fn is_new(fields: &Fields) -> bool {
    matches!(fields, Fields::Unnamed(one) if one.unnamed.len() == 1)
}

/// The types between a type's angle brackets.
fn arguments(of: &PathArguments) -> Vec<&Type> {
    let PathArguments::AngleBracketed(all) = of else {
        return Vec::new();
    };
    let types = all.args.iter().filter_map(|one| match one {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    types.collect()
}

/// What an `Option` or a `Vec` holds.
fn inside<'t>(ty: &'t Type, name: &str) -> Option<&'t Type> {
    let Type::Path(path) = ty else { return None };
    let last = path
        .path
        .segments
        .last()
        .filter(|last| last.ident == name)?;
    arguments(&last.arguments).first().copied()
}

fn table(rows: &str) -> String {
    match rows {
        "" => "No keys.\n".to_owned(),
        rows => format!("| key | type | there | meaning |\n|---|---|---|---|\n{rows}"),
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}
