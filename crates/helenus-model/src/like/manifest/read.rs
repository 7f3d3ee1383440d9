//! The documents and objects of a manifest, and each of their values with its line.
//! Refuses a value of another kind than its reader asks for, and names the line.

use super::ManifestError;
use crate::like::shown;
use crate::topology::DATA_CENTER_NODES_MAX;
use crate::units::Bytes;
use crate::yaml::{self, Node, NodeValue, tree};
use serde_json::{Map, Value};

/// One document of a file.
pub(super) struct Document {
    /// Lines of the file above it.
    above: usize,
    root: Node,
}

/// One Kubernetes object.
pub(super) struct Object<'n> {
    api: &'n str,
    pub(super) kind: &'n str,
    /// `metadata.name`, or nothing.
    pub(super) name: &'n str,
    pub(super) at: At<'n>,
}

impl Object<'_> {
    /// Whether it is of that kind, in any version of its group.
    pub(super) fn is(&self, kind: &str, group: &str) -> bool {
        let of = self.api.split('/').next().unwrap_or_default();
        self.kind == kind && of == group
    }
}

/// The documents of a text; none where no document has `apiVersion` and `kind`.
pub(super) fn documents(text: &str) -> Result<Option<Vec<Document>>, ManifestError> {
    let mut all = Vec::new();
    let mut broken = None;
    for (above, part) in parts(text) {
        match tree(part) {
            Ok(Some(root)) => all.push(Document { above, root }),
            Ok(None) => {}
            Err(error) => {
                broken.get_or_insert((above, part, error));
            }
        }
    }
    let has = |document: &Document, key: &str| document.root.get(key).is_some();
    let is_object = |document: &Document| has(document, "apiVersion") && has(document, "kind");
    let looks_like_one = |part: &str| {
        ["apiVersion:", "kind:"]
            .iter()
            .all(|key| part.lines().any(|line| line.starts_with(key)))
    };
    let any_broken = broken
        .as_ref()
        .is_some_and(|(_, part, _)| looks_like_one(part));
    if !any_broken && !all.iter().any(is_object) {
        return Ok(None);
    }
    if let Some((above, part, error)) = broken {
        // Read again where it stands in the file, it is refused with the file's own line.
        let placed = "\n".repeat(above) + part;
        return Err(tree(&placed).err().unwrap_or(error).into());
    }
    Ok(Some(all))
}

/// The first document of a text that is no Kubernetes object; none where it is no YAML at all.
pub(super) fn plain(text: &str) -> Option<Document> {
    let root = tree(text).ok()??;
    Some(Document { above: 0, root })
}

impl Document {
    /// Its root.
    pub(super) fn at(&self) -> At<'_> {
        At {
            node: &self.root,
            above: self.above,
            path: String::new(),
        }
    }
}

/// The parts between lines of `---`, with the lines above each. In a block of text such a line is indented.
fn parts(text: &str) -> Vec<(usize, &str)> {
    let mut parts = Vec::new();
    let (mut begin, mut above, mut at) = (0, 0, 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if line.trim_end() == "---" || line.starts_with("--- ") {
            parts.push((above, &text[begin..at]));
            (begin, above) = (at, number);
        }
        at += line.len();
    }
    parts.push((above, &text[begin..]));
    let is_empty = |line: &str| {
        let bare = line.trim();
        matches!(bare, "" | "---" | "...") || bare.starts_with('#') || line.starts_with('%')
    };
    parts.retain(|(_, part)| !part.lines().all(is_empty));
    parts
}

/// The objects of all documents, those of lists one by one.
pub(super) fn objects(documents: &[Document]) -> Result<Vec<Object<'_>>, ManifestError> {
    let mut all = Vec::new();
    for document in documents {
        let at = At {
            node: &document.root,
            above: document.above,
            path: String::new(),
        };
        gather(at, &mut all)?;
    }
    Ok(all)
}

fn gather<'n>(at: At<'n>, all: &mut Vec<Object<'n>>) -> Result<(), ManifestError> {
    let (Some(api), Some(kind)) = (at.get("apiVersion"), at.get("kind")) else {
        return Ok(());
    };
    let (api, kind) = (api.text()?, kind.text()?);
    if kind.ends_with("List")
        && let Some(items) = at.get("items")
    {
        for item in items.items()? {
            gather(item, all)?;
        }
        return Ok(());
    }
    let name = at.get("metadata").and_then(|metadata| metadata.get("name"));
    let name = match name {
        Some(name) => name.text()?,
        None => "",
    };
    // There is one K8ssandraCluster; of the others there are several.
    let path = match (kind, name) {
        ("K8ssandraCluster", _) => String::new(),
        (kind, "") => format!("{kind}/"),
        (_, name) => format!("{name}/"),
    };
    all.push(Object {
        api,
        kind,
        name,
        at: at.named(path),
    });
    Ok(())
}

/// A value of a document, and where it is.
#[derive(Debug, Clone)]
pub(super) struct At<'n> {
    node: &'n Node,
    above: usize,
    /// Keys from its object on, with dots.
    pub(super) path: String,
}

impl<'n> At<'n> {
    /// The same value under another path.
    pub(super) fn named(self, path: String) -> Self {
        Self { path, ..self }
    }

    fn below(&self, node: &'n Node, step: &str) -> Self {
        let open = self.path.is_empty() || self.path.ends_with('/') || step.starts_with('[');
        let dot = if open { "" } else { "." };
        Self {
            node,
            above: self.above,
            path: format!("{}{dot}{step}", self.path),
        }
    }

    /// Its line in the file, from 1.
    pub(super) fn line(&self) -> usize {
        self.above + self.node.line
    }

    /// What is wrong with it, as in `must be a text`.
    pub(super) fn wrong(&self, what: &str) -> ManifestError {
        ManifestError::Value {
            line: self.line(),
            key: self.path.trim_end_matches('/').to_owned(),
            what: what.to_owned(),
        }
    }

    /// The value of a key; none where there is no such key, or nothing behind it.
    pub(super) fn get(&self, key: &str) -> Option<Self> {
        let mut all = Vec::new();
        gathered(self.node, &mut all);
        let (_, node) = all.into_iter().find(|(own, _)| *own == key)?;
        (!node.is_null()).then(|| self.below(node, key))
    }

    /// The value of a key that must be there.
    pub(super) fn need(&self, key: &str) -> Result<Self, ManifestError> {
        self.get(key)
            .ok_or_else(|| self.wrong(&format!("needs {key}")))
    }

    /// The keys of a map with their values, but for those that are empty.
    pub(super) fn entries(&self) -> Result<Vec<(&'n str, Self)>, ManifestError> {
        if !self.is_map() {
            return Err(self.wrong("must be a map of keys"));
        }
        let mut all = Vec::new();
        gathered(self.node, &mut all);
        let said = all.into_iter().filter(|(_, value)| !value.is_null());
        Ok(said
            .map(|(key, value)| (key, self.below(value, key)))
            .collect())
    }

    /// The items of a list.
    pub(super) fn items(&self) -> Result<Vec<Self>, ManifestError> {
        let NodeValue::Sequence(all) = &self.node.value else {
            return Err(self.wrong("must be a list"));
        };
        let items = all.iter().enumerate();
        Ok(items
            .map(|(k, node)| self.below(node, &format!("[{k}]")))
            .collect())
    }

    /// A text.
    pub(super) fn text(&self) -> Result<&'n str, ManifestError> {
        self.node.text().ok_or_else(|| self.wrong("must be a text"))
    }

    /// A word without quotes: a number, true or false.
    fn plain(&self) -> Option<&'n str> {
        match &self.node.value {
            NodeValue::Scalar { text, plain: true } => Some(text),
            _ => None,
        }
    }

    /// Whether it is a list.
    pub(super) fn is_list(&self) -> bool {
        matches!(self.node.value, NodeValue::Sequence(_))
    }

    /// Whether it is a map of keys.
    pub(super) fn is_map(&self) -> bool {
        matches!(self.node.value, NodeValue::Mapping(_))
    }

    /// A number of nodes.
    pub(super) fn nodes(&self) -> Result<u32, ManifestError> {
        let number = self.plain().and_then(|text| text.parse::<u32>().ok());
        let number = number.filter(|n| (1..=DATA_CENTER_NODES_MAX).contains(n));
        number.ok_or_else(|| {
            self.wrong(&format!(
                "must be a whole number from 1 to {DATA_CENTER_NODES_MAX}"
            ))
        })
    }

    /// Yes or no.
    pub(super) fn yes(&self) -> Result<bool, ManifestError> {
        match self.plain() {
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            _ => Err(self.wrong("must be true or false")),
        }
    }

    /// A size of memory, as the JVM takes it or as Kubernetes does.
    pub(super) fn size(&self, of_jvm: bool) -> Result<Bytes, ManifestError> {
        let text = self.text()?;
        let size = match of_jvm {
            true => jvm_size(text),
            false => quantity(text),
        };
        size.ok_or_else(|| {
            let such = if of_jvm { "8G" } else { "8Gi" };
            self.wrong(&format!("must be a size such as {such}"))
        })
    }

    /// As plain data.
    pub(super) fn value(&self) -> Value {
        value(self.node)
    }

    /// A map as plain data.
    pub(super) fn map(&self) -> Result<Map<String, Value>, ManifestError> {
        match self.value() {
            Value::Object(map) => Ok(map),
            _ => Err(self.wrong("must be a map of keys")),
        }
    }

    /// Its value in one line, without secrets.
    pub(super) fn shown(&self) -> String {
        let key = self.path.rsplit(['.', '/']).next().unwrap_or_default();
        let text = shown(key, &flat(self.value()));
        match text.lines().count() {
            0 | 1 => text,
            lines => format!("{lines} lines"),
        }
    }
}

/// The keys of a map with their values, then those that a merge key (`<<`) brings in.
fn gathered<'n>(node: &'n Node, all: &mut Vec<(&'n str, &'n Node)>) {
    const MERGE: &str = "<<";
    match &node.value {
        NodeValue::Mapping(own) => {
            for (key, value) in own {
                let new = key
                    .text()
                    .filter(|key| all.iter().all(|(known, _)| known != key));
                all.extend(new.filter(|key| *key != MERGE).map(|key| (key, value)));
            }
            if let Some(merged) = node.get(MERGE) {
                gathered(merged, all);
            }
        }
        NodeValue::Sequence(several) => several.iter().for_each(|one| gathered(one, all)),
        NodeValue::Scalar { .. } => {}
    }
}

/// A size as the JVM takes it, where `M` is 1,048,576 bytes.
pub(super) fn jvm_size(text: &str) -> Option<Bytes> {
    let bare = || text.parse().ok().map(Bytes);
    Bytes::parse(text).ok().or_else(bare)
}

/// A size as Kubernetes takes it, where `M` is 1,000,000 bytes.
fn quantity(text: &str) -> Option<Bytes> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let unit = match unit {
        "" => 1.0,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "Ki" => 1024.0,
        "Mi" => 1_048_576.0,
        "Gi" => 1_073_741_824.0,
        "Ti" => 1_099_511_627_776.0,
        _ => return None,
    };
    let bytes = number.parse::<f64>().ok()? * unit;
    Some(Bytes(bytes as u64))
}

fn value(node: &Node) -> Value {
    match &node.value {
        _ if node.is_null() => Value::Null,
        NodeValue::Scalar { text, plain } => match yaml::parse(text) {
            Ok(value) if *plain && !value.is_object() && !value.is_array() => value,
            _ => text.as_str().into(),
        },
        NodeValue::Sequence(all) => all.iter().map(value).collect(),
        NodeValue::Mapping(all) => {
            let pairs = all.iter().filter_map(|(key, of)| match &key.value {
                NodeValue::Scalar { text, .. } => Some((text.clone(), value(of))),
                _ => None,
            });
            Value::Object(pairs.collect())
        }
    }
}

/// Pairs of `name` and `value` as a key with its value: a secret is known by the name before it.
fn flat(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(flat).collect(),
        Value::Object(map) => {
            let name = map.get("name").and_then(Value::as_str);
            if let Some((name, value)) = name.zip(map.get("value")) {
                return Value::Object([(name.to_owned(), value.clone())].into_iter().collect());
            }
            let pairs = map.into_iter().map(|(key, value)| (key, flat(value)));
            Value::Object(pairs.collect())
        }
        other => other,
    }
}
