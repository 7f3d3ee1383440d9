//! A profile from its YAML: every key has a line, and so has every error.
//! Refuses unknown keys, wrong distributions and definitions of something else.

use super::{BatchKind, ColumnSpec, InsertSpec, Profile, QuerySpec, TokenRangeSpec, VALIDATE};
use crate::consistency::{Consistency, SerialConsistency};
use crate::cql::tokens::{TokenKind, tokens};
use crate::dist::{Dist, RatioDist};
use crate::nearest::nearest;
use crate::table::{Table, TableError};
use crate::yaml::{Node, NodeValue, tree};
use std::collections::BTreeMap;
use std::str::FromStr;

/// Rows a page of a scan where nothing is said, as cassandra-stress has it.
const PAGE_SIZE: u32 = 5_000;

/// Why a text is no profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {}{why}{}", if key.is_empty() { String::new() } else { format!("{key}: ") }, more(others))]
pub struct ProfileError {
    /// Line of the file, from 1.
    pub line: usize,
    /// The key, with those above it: `columnspec.name.size`.
    pub key: String,
    /// What is wrong.
    pub why: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Further keys that nothing here is called, each with its line and the nearest that is.
    pub others: Vec<String>,
}

/// Further mistakes of an error, a line each.
fn more(others: &[String]) -> String {
    others
        .iter()
        .map(|other| format!("\n       {other}"))
        .collect()
}

const TOP: [&str; 10] = [
    "specname",
    "keyspace",
    "keyspace_definition",
    "table",
    "table_definition",
    "extra_definitions",
    "columnspec",
    "insert",
    "queries",
    "token_range_queries",
];
const COLUMN: [&str; 4] = ["name", "size", "population", "cluster"];
const INSERT: [&str; 9] = [
    "partitions",
    "select",
    "row-population",
    "batchtype",
    "consistencyLevel",
    "serialConsistencyLevel",
    "condition",
    "turns",
    "stretches",
];
const QUERY: [&str; 4] = [
    "cql",
    "fields",
    "consistencyLevel",
    "serialConsistencyLevel",
];
const SCAN: [&str; 2] = ["columns", "page_size"];

impl Profile {
    /// Reads cassandra-stress's profile YAML.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line and key.
    pub fn read(text: &str) -> Result<Self, ProfileError> {
        let root = tree(text).map_err(|error| ProfileError {
            line: line_of(&error.0),
            key: String::new(),
            why: error.to_string(),
            hint: error.0.contains("mapping values").then(|| {
                "write a statement below its key, after a |: a colon inside it would end its text"
                    .to_owned()
            }),
            others: Vec::new(),
        })?;
        let root = root.ok_or_else(|| ProfileError {
            line: 1,
            key: String::new(),
            why: "it is empty".to_owned(),
            hint: None,
            others: Vec::new(),
        })?;
        known_keys(&root)?;
        let top = Map::new(&root, "", &TOP, false)?;
        let keyspace = top.needed("keyspace")?;
        let table = top.needed("table")?;
        let keyspace_definition = top.text("keyspace_definition")?;
        let table_definition = top.text("table_definition")?;
        let extra_definitions = texts(&top, "extra_definitions")?;
        let keyspace_name = defined(&top, "keyspace", keyspace, &["keyspace", "schema"])?;
        let table_name = defined(&top, "table", table, &["table", "columnfamily"])?;
        let specname = top.text("specname")?;
        let profile = Self {
            specname: specname.unwrap_or_else(|| format!("{keyspace_name}.{table_name}")),
            keyspace: keyspace_name,
            keyspace_definition,
            table: table_name,
            table_definition,
            extra_definitions,
            columns: columns(&top)?,
            insert: insert(&top)?,
            queries: queries(&top)?,
            token_range_queries: scans(&top)?,
        };
        for name in profile.token_range_queries.keys() {
            if profile.queries.contains_key(name) {
                let scans = top.get("token_range_queries").unwrap_or(&root);
                let why = format!("{name:?} is in queries too: each operation needs its own name");
                return Err(wrong(scans, "token_range_queries", why));
            }
        }
        if profile.table_definition.is_some() {
            table_of(&profile, &top)?;
        }
        Ok(profile)
    }

    /// The table that its definitions describe; none where there is no `table_definition`.
    ///
    /// # Errors
    /// A definition that is not understood, which [`Self::read`] refuses already.
    pub fn defined_table(&self) -> Result<Option<Table>, TableError> {
        if self.table_definition.is_none() {
            return Ok(None);
        }
        Table::read(&self.keyspace, self.definitions()).map(Some)
    }
}

/// The line of the value that these keys lead to, in a text that [`Profile::read`] took.
pub fn line_of_key(text: &str, keys: &[&str]) -> Option<usize> {
    let root = tree(text).ok()??;
    let mut node = &root;
    for key in keys {
        node = node.get(key)?;
    }
    Some(node.line)
}

/// The line in a message of the YAML reader.
fn line_of(message: &str) -> usize {
    let after = message
        .rsplit_once("at line ")
        .map_or("", |(_, after)| after);
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(1)
}

fn wrong(at: &Node, key: impl Into<String>, why: impl Into<String>) -> ProfileError {
    ProfileError {
        line: at.line,
        key: key.into(),
        why: why.into(),
        hint: None,
        others: Vec::new(),
    }
}

/// Refuses every key that is not known, wherever it stands, so that one look mends them all.
fn known_keys(root: &Node) -> Result<(), ProfileError> {
    let mut found: Vec<ProfileError> = Vec::new();
    let mut look = |node: &Node, path: &str, known: &[&str], any_case: bool| {
        found.extend(unknown(node, path, known, any_case));
    };
    look(root, "", &TOP, false);
    let below = |key: &str| root.get(key).map(|node| &node.value);
    if let Some(NodeValue::Sequence(columns)) = below("columnspec") {
        for column in columns {
            look(column, "columnspec", &COLUMN, true);
        }
    }
    if let Some(insert) = root.get("insert") {
        look(insert, "insert", &INSERT, true);
    }
    for (key, known) in [("queries", &QUERY[..]), ("token_range_queries", &SCAN[..])] {
        if let Some(NodeValue::Mapping(entries)) = below(key) {
            for (name, node) in entries {
                let path = format!("{key}.{}", name.text().unwrap_or_default());
                look(node, &path, known, false);
            }
        }
    }
    let mut found = found.into_iter();
    let Some(mut first) = found.next() else {
        return Ok(());
    };
    let other = |one: ProfileError| match &one.hint {
        Some(hint) => format!(
            "{one} ({})",
            hint.split("; keys here").next().unwrap_or(hint)
        ),
        None => one.to_string(),
    };
    first.others = found.map(other).collect();
    Err(first)
}

/// The keys of a mapping that are not among the known ones.
fn unknown(node: &Node, path: &str, known: &[&str], any_case: bool) -> Vec<ProfileError> {
    let NodeValue::Mapping(entries) = &node.value else {
        return Vec::new();
    };
    let map = Map {
        node,
        path: path.to_owned(),
        any_case,
    };
    let wrong_key = |key: &Node| {
        let name = key.text().unwrap_or_default();
        let taken = |known: &&str| map.same(name, known);
        if known.iter().any(taken) {
            return None;
        }
        let near = nearest(name, known.iter().copied());
        let all = format!("keys here are {}", known.join(", "));
        let near = near
            .map(|near| format!("the nearest key is {near}; "))
            .unwrap_or_default();
        Some(ProfileError {
            hint: Some(format!("{near}{all}")),
            ..wrong(key, map.key(name), "no such key")
        })
    };
    entries
        .iter()
        .filter_map(|(key, _)| wrong_key(key))
        .collect()
}

/// A mapping whose keys are all known.
struct Map<'a> {
    node: &'a Node,
    path: String,
    any_case: bool,
}

impl<'a> Map<'a> {
    fn new(
        node: &'a Node,
        path: &str,
        known: &[&str],
        any_case: bool,
    ) -> Result<Self, ProfileError> {
        if !matches!(node.value, NodeValue::Mapping(_)) {
            return Err(wrong(node, path, "this must be keys with values"));
        }
        let map = Self {
            node,
            path: path.to_owned(),
            any_case,
        };
        match unknown(node, path, known, any_case).into_iter().next() {
            Some(error) => Err(error),
            None => Ok(map),
        }
    }

    fn same(&self, name: &str, known: &str) -> bool {
        name == known || self.any_case && name.eq_ignore_ascii_case(known)
    }

    fn key(&self, name: &str) -> String {
        if self.path.is_empty() {
            return name.to_owned();
        }
        format!("{}.{name}", self.path)
    }

    /// The value of a key, if something stands there.
    fn get(&self, name: &str) -> Option<&'a Node> {
        let NodeValue::Mapping(entries) = &self.node.value else {
            return None;
        };
        let entry = entries
            .iter()
            .find(|(key, _)| self.same(key.text().unwrap_or_default(), name));
        entry.map(|(_, value)| value).filter(|node| !node.is_null())
    }

    fn text(&self, name: &str) -> Result<Option<String>, ProfileError> {
        let Some(node) = self.get(name) else {
            return Ok(None);
        };
        let text = node
            .text()
            .ok_or_else(|| wrong(node, self.key(name), "this must be a text"))?;
        Ok(Some(text.to_owned()).filter(|text| !text.trim().is_empty()))
    }

    fn needed(&self, name: &str) -> Result<String, ProfileError> {
        let text = self.text(name)?;
        text.ok_or_else(|| wrong(self.node, self.key(name), "this key is required"))
    }

    /// A value that is read from its text.
    fn read<T: FromStr>(&self, name: &str) -> Result<Option<T>, ProfileError>
    where
        T::Err: std::fmt::Display,
    {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        let read = text.parse().map(Some);
        read.map_err(|error: T::Err| {
            let node = self.get(name).unwrap_or(self.node);
            wrong(node, self.key(name), error.to_string())
        })
    }

    /// One of CQL's or our own words, in any case.
    fn word<T: serde::de::DeserializeOwned>(
        &self,
        name: &str,
        known: &[&str],
    ) -> Result<Option<T>, ProfileError> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        let one = known.iter().find(|k| k.eq_ignore_ascii_case(text.trim()));
        let value = one.and_then(|one| serde_json::from_value((*one).into()).ok());
        value.map(Some).ok_or_else(|| {
            let node = self.get(name).unwrap_or(self.node);
            let near = nearest(&text, known.iter().copied());
            let near = near
                .map(|near| format!("the nearest is {near}; "))
                .unwrap_or_default();
            ProfileError {
                hint: Some(format!("{near}it is one of {}", known.join(", "))),
                ..wrong(node, self.key(name), format!("{text:?} is not known"))
            }
        })
    }

    fn consistency(&self) -> Result<Option<Consistency>, ProfileError> {
        const KNOWN: [&str; 9] = [
            "ANY",
            "ONE",
            "TWO",
            "THREE",
            "QUORUM",
            "ALL",
            "LOCAL_QUORUM",
            "EACH_QUORUM",
            "LOCAL_ONE",
        ];
        self.word("consistencyLevel", &KNOWN)
    }

    fn serial_consistency(&self) -> Result<Option<SerialConsistency>, ProfileError> {
        self.word("serialConsistencyLevel", &["SERIAL", "LOCAL_SERIAL"])
    }

    fn entries(&self) -> Vec<(&'a Node, &'a Node)> {
        match &self.node.value {
            NodeValue::Mapping(entries) => entries.iter().map(|(k, v)| (k, v)).collect(),
            _ => Vec::new(),
        }
    }
}

fn texts(top: &Map<'_>, name: &str) -> Result<Vec<String>, ProfileError> {
    let Some(node) = top.get(name) else {
        return Ok(Vec::new());
    };
    let NodeValue::Sequence(all) = &node.value else {
        return Err(wrong(node, name, "this must be a list of statements"));
    };
    let text = |node: &Node| {
        let text = node.text().map(str::to_owned);
        text.ok_or_else(|| wrong(node, name, "this must be a statement"))
    };
    all.iter().map(text).collect()
}

/// The name of what a definition creates, as the server stores it; without one the given name in CQL's reading.
fn defined(
    top: &Map<'_>,
    name: &str,
    given: String,
    kinds: &[&str],
) -> Result<String, ProfileError> {
    let key = format!("{name}_definition");
    let bare = given.trim().trim_matches('"');
    let Some(text) = top.text(&key)? else {
        let exact = given.trim().starts_with('"');
        return Ok(if exact {
            bare.to_owned()
        } else {
            bare.to_lowercase()
        });
    };
    let node = top.get(&key).unwrap_or(top.node);
    let words = tokens(&text);
    let creates = words.first().is_some_and(|t| t.is("create"))
        && words
            .get(1)
            .is_some_and(|t| kinds.iter().any(|kind| t.is(kind)));
    if !creates {
        return Err(wrong(
            node,
            key,
            format!("this must be a CREATE {}", kinds[0].to_uppercase()),
        ));
    }
    let at = if words.get(2).is_some_and(|t| t.is("if")) {
        5
    } else {
        2
    };
    let at = if words.get(at + 1).is_some_and(|t| t.is(".")) {
        at + 2
    } else {
        at
    };
    let found = words
        .get(at)
        .filter(|t| matches!(t.kind, TokenKind::Word | TokenKind::Quoted));
    let Some(found) = found else {
        return Err(wrong(node, key, "it names nothing"));
    };
    if !found.text.eq_ignore_ascii_case(bare) {
        let why = format!("it creates {:?}, but {name} is {bare:?}", found.text);
        return Err(wrong(node, key, why));
    }
    Ok(found.text.clone())
}

/// Reads the table, its errors with the line of the file.
fn table_of(profile: &Profile, top: &Map<'_>) -> Result<(), ProfileError> {
    let Err(error) = Table::read(&profile.keyspace, profile.definitions()) else {
        return Ok(());
    };
    let extra = top.get("extra_definitions").map(|node| &node.value);
    let (mut node, mut key) = (top.get("table_definition"), "table_definition");
    if let (TableError::Text { statement, .. }, Some(NodeValue::Sequence(all))) = (&error, extra)
        && let Some(one) = statement.checked_sub(1).and_then(|number| all.get(number))
    {
        (node, key) = (Some(one), "extra_definitions");
    }
    let mut at = wrong(node.unwrap_or(top.node), key, error.to_string());
    if let TableError::Text { line, why, .. } = &error {
        at.line += line - 1;
        at.why.clone_from(why);
        at.hint = why
            .contains("is not a type")
            .then(|| "user types are created in extra_definitions".to_owned());
    }
    Err(at)
}

fn columns(top: &Map<'_>) -> Result<BTreeMap<String, ColumnSpec>, ProfileError> {
    let mut found = BTreeMap::new();
    let Some(node) = top.get("columnspec") else {
        return Ok(found);
    };
    let NodeValue::Sequence(all) = &node.value else {
        return Err(wrong(
            node,
            "columnspec",
            "this must be a list, each entry with - before it",
        ));
    };
    for entry in all {
        let map = Map::new(entry, "columnspec", &COLUMN, true)?;
        let name = map.needed("name")?;
        let map = Map {
            path: format!("columnspec.{name}"),
            ..map
        };
        let defaults = ColumnSpec::default();
        let spec = ColumnSpec {
            size: map.read::<Dist>("size")?.unwrap_or(defaults.size),
            population: map.read("population")?.unwrap_or(defaults.population),
            cluster: map.read("cluster")?.unwrap_or(defaults.cluster),
        };
        if found.insert(name.clone(), spec).is_some() {
            return Err(wrong(
                entry,
                "columnspec",
                format!("column {name:?} is listed twice"),
            ));
        }
    }
    Ok(found)
}

fn insert(top: &Map<'_>) -> Result<InsertSpec, ProfileError> {
    let defaults = InsertSpec::default();
    let Some(node) = top.get("insert") else {
        return Ok(defaults);
    };
    let map = Map::new(node, "insert", &INSERT, true)?;
    let kinds = ["LOGGED", "UNLOGGED", "COUNTER"];
    let batch: Option<String> = map.word("batchtype", &kinds)?;
    let batch = batch.map(|kind| match kind.as_str() {
        "LOGGED" => BatchKind::Logged,
        "UNLOGGED" => BatchKind::Unlogged,
        _ => BatchKind::Counter,
    });
    let turns: Option<u64> = map.read("turns")?;
    if turns == Some(0) {
        return Err(wrong(
            node,
            "insert.turns",
            "at least one partition must take turns",
        ));
    }
    let stretches = map.read("stretches")?;
    if turns.is_some() && stretches.is_some() {
        let at = map.get("stretches").unwrap_or(node);
        let why = "turns and stretches cannot be combined";
        return Err(wrong(at, "insert.stretches", why));
    }
    let condition = map.text("condition")?;
    if let Some(text) = &condition
        && !tokens(text).first().is_some_and(|t| t.is("if"))
    {
        let at = map.get("condition").unwrap_or(node);
        return Err(wrong(at, "insert.condition", "it begins with IF"));
    }
    Ok(InsertSpec {
        condition: condition.map(|text| text.trim().trim_end_matches(';').to_owned()),
        partitions: map
            .read::<Dist>("partitions")?
            .unwrap_or(defaults.partitions),
        select: map.read::<RatioDist>("select")?.unwrap_or(defaults.select),
        row_population: map
            .read("row-population")?
            .unwrap_or(defaults.row_population),
        batch: batch.unwrap_or_default(),
        turns,
        stretches,
        consistency: map.consistency()?,
        serial_consistency: map.serial_consistency()?,
    })
}

fn queries(top: &Map<'_>) -> Result<BTreeMap<String, QuerySpec>, ProfileError> {
    let mut found = BTreeMap::new();
    for (key, value) in named(top, "queries")? {
        let name = key.text().unwrap_or_default().to_owned();
        let path = format!("queries.{name}");
        if name == "insert" {
            return Err(wrong(
                key,
                path,
                "this name is that of the operation insert",
            ));
        }
        let map = Map::new(value, &path, &QUERY, false)?;
        let fields: Option<String> = map.word("fields", &["samerow", "multirow"])?;
        let spec = QuerySpec {
            cql: map.needed("cql")?.trim().trim_end_matches(';').to_owned(),
            same_row: fields.as_deref() == Some("samerow"),
            consistency: map.consistency()?,
            serial_consistency: map.serial_consistency()?,
        };
        found.insert(name, spec);
    }
    Ok(found)
}

fn scans(top: &Map<'_>) -> Result<BTreeMap<String, TokenRangeSpec>, ProfileError> {
    let mut found = BTreeMap::new();
    for (key, value) in named(top, "token_range_queries")? {
        let name = key.text().unwrap_or_default().to_owned();
        let path = format!("token_range_queries.{name}");
        if name == "insert" || name == VALIDATE {
            return Err(wrong(key, path, "this name is that of an operation"));
        }
        let map = Map::new(value, &path, &SCAN, false)?;
        let page_size: Option<u32> = map.read("page_size")?;
        if page_size == Some(0) {
            return Err(wrong(value, path, "page_size must be at least 1"));
        }
        let columns = match map.get("columns").map(|node| &node.value) {
            Some(NodeValue::Sequence(all)) => Some(
                all.iter()
                    .filter_map(Node::text)
                    .map(str::to_owned)
                    .collect(),
            ),
            _ => map.text("columns")?.map(|text| {
                let names = text.split(',').map(|name| name.trim().to_owned());
                names.collect::<Vec<String>>()
            }),
        };
        let all = columns
            .as_ref()
            .is_none_or(|c| c.iter().any(|name| name == "*"));
        let spec = TokenRangeSpec {
            columns: columns.filter(|_| !all),
            page_size: page_size.unwrap_or(PAGE_SIZE),
        };
        found.insert(name, spec);
    }
    Ok(found)
}

/// The entries of a mapping of names, if it is there.
fn named<'a>(top: &Map<'a>, name: &str) -> Result<Vec<(&'a Node, &'a Node)>, ProfileError> {
    let Some(node) = top.get(name) else {
        return Ok(Vec::new());
    };
    if !matches!(node.value, NodeValue::Mapping(_)) {
        return Err(wrong(node, name, "this must be names with their values"));
    }
    let map = Map {
        node,
        path: name.to_owned(),
        any_case: false,
    };
    Ok(map.entries())
}
