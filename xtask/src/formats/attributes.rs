//! What serde and the documentation say of a type, a field or a variant.

use syn::{Attribute, Expr, Lit, Meta};

/// The words of serde's attributes that change what is written.
#[derive(Default, Clone)]
pub(super) struct Serde {
    pub(super) rename: Option<String>,
    pub(super) rename_all: Option<String>,
    pub(super) tag: Option<String>,
    pub(super) into: Option<String>,
    /// The function that writes the value.
    pub(super) with: Option<String>,
    pub(super) untagged: bool,
    pub(super) transparent: bool,
    pub(super) flatten: bool,
    pub(super) skip: bool,
    pub(super) skip_if: bool,
}

impl Serde {
    pub(super) fn of(attributes: &[Attribute]) -> Self {
        let mut found = Self::default();
        for one in attributes.iter().filter(|one| one.path().is_ident("serde")) {
            let _what_serde_refuses_does_not_compile = one.parse_nested_meta(|meta| {
                let name = meta.path.get_ident().map(ToString::to_string);
                let text = meta
                    .value()
                    .ok()
                    .and_then(|value| value.parse::<syn::LitStr>().ok())
                    .map(|text| text.value());
                found.put(name.as_deref().unwrap_or_default(), text);
                Ok(())
            });
        }
        found
    }

    fn put(&mut self, name: &str, text: Option<String>) {
        match name {
            "rename" => self.rename = text,
            "rename_all" => self.rename_all = text,
            "tag" => self.tag = text,
            "into" => self.into = text,
            "with" | "serialize_with" => self.with = text,
            "untagged" => self.untagged = true,
            "transparent" => self.transparent = true,
            "flatten" => self.flatten = true,
            "skip" | "skip_serializing" => self.skip = true,
            "skip_serializing_if" => self.skip_if = true,
            _ => {}
        }
    }

    /// A variant's or a field's name as it is written, under the rule of what holds it.
    pub(super) fn name(&self, ident: &str, rule: Option<&str>) -> String {
        let ident = ident.trim_start_matches("r#");
        match (&self.rename, rule) {
            (Some(name), _) => name.clone(),
            (None, Some("lowercase")) => ident.to_lowercase(),
            (None, Some("kebab-case")) => snake(ident).replace('_', "-"),
            (None, Some("SCREAMING_SNAKE_CASE")) => snake(ident).to_uppercase(),
            (None, Some("snake_case")) => snake(ident),
            (None, _) => ident.to_owned(),
        }
    }
}

fn snake(ident: &str) -> String {
    let mut text = String::new();
    for (at, c) in ident.char_indices() {
        if c.is_uppercase() && at > 0 {
            text.push('_');
        }
        text.extend(c.to_lowercase());
    }
    text
}

/// Whether serde's derive writes it.
pub(super) fn is_derived(attributes: &[Attribute]) -> bool {
    let mut derived = false;
    for one in attributes
        .iter()
        .filter(|one| one.path().is_ident("derive"))
    {
        let _others = one.parse_nested_meta(|meta| {
            derived |= meta
                .path
                .segments
                .last()
                .is_some_and(|s| s.ident == "Serialize");
            Ok(())
        });
    }
    derived
}

/// The documentation in one line, as a cell of a table can hold it.
pub(super) fn docs(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|one| match &one.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(lit) => match &lit.lit {
                Lit::Str(text) => Some(text.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    let text = lines.collect::<Vec<_>>().join(" ");
    let text = text
        .replace("[`", "`")
        .replace("`]", "`")
        .replace('|', "\\|");
    text.trim().to_owned()
}
