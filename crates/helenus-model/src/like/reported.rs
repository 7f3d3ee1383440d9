//! What a running node reports of its settings, beside what was said of a production's file.
//! Refuses to pass over a setting: what is not said has the release's default.

use super::{Class, Difference};
use crate::release::{ConfigKey, Kind, Release, amount, modern_form};
use crate::yaml;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A setting of a running node that is another than was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Otherwise {
    /// The node's name for it.
    pub name: String,
    /// What was said.
    pub said: String,
    /// What the node reports; none where it reports nothing.
    pub reported: Option<String>,
}

/// How a running node was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reported {
    /// Settings that were said and are so.
    pub said: usize,
    /// Settings that were not named and have the release's default.
    pub defaults: usize,
    /// Settings that are otherwise.
    pub otherwise: Vec<Otherwise>,
}

/// Defaults that a node resolves when it starts, and reports as it resolved them.
const RESOLVED: [&str; 19] = [
    "native_transport_max_concurrent_requests_in_bytes",
    "native_transport_max_concurrent_requests_in_bytes_per_ip",
    "disk_access_mode",
    "concurrent_validations",
    "repair_command_pool_size",
    "memtable_flush_writers",
    "concurrent_merkle_tree_requests",
    "paxos_repair_parallelism",
    "cdc_total_space",
    "cdc_total_space_in_mb",
    "audit_logging_options.audit_logs_dir",
    "full_query_logging_options.log_dir",
    "file_cache_round_up",
    "max_mutation_size",
    "max_mutation_size_in_kb",
    "networking_cache_size_in_mb",
    "windows_timer_interval",
    "row_cache_class_name",
    // So as `max_attempts` is above 0.
    "repair.retries.enabled",
];

/// Compares `system_views.settings` of a node with what was said of the file that it follows.
pub fn reported(
    release: &Release,
    differences: &[Difference],
    rows: &BTreeMap<String, Option<String>>,
) -> Reported {
    let node = Node { rows };
    let mut found = Reported::default();
    let mut spoken: BTreeSet<String> = BTreeSet::new();
    for difference in differences {
        let own = own_name(release, &difference.key);
        let now = difference
            .now
            .as_deref()
            .and_then(|now| now.split_once(": "));
        let (name, value) = match (now, difference.class) {
            (Some((name, value)), class) if class != Class::Replaced => (name, value),
            (_, Class::Shrunk) => {
                spoken.insert(own.clone());
                found.add(node.not_above(&own, difference));
                continue;
            }
            (_, Class::Replaced) => {
                spoken.insert(own);
                continue;
            }
            _ => continue,
        };
        spoken.insert(name.to_owned());
        let value = yaml::parse(value).unwrap_or_else(|_| value.into());
        found.add(node.is(name, &value));
    }
    let by_us = |key: &str| super::classes::replaced(key, None).is_some();
    for key in release.keys().all() {
        let parents = key.name.match_indices('.').map(|(at, _)| &key.name[..at]);
        let known = parents
            .chain([key.name.as_str()])
            .any(|name| spoken.contains(name) || by_us(name));
        if known || RESOLVED.contains(&key.name.as_str()) {
            continue;
        }
        if let Some(default) = plain_default(key) {
            found.unsaid(node.is(&key.name, &default));
        }
    }
    found
}

/// The default of a key that a table of texts can say.
fn plain_default(key: &ConfigKey) -> Option<Value> {
    let of_class = key.name.ends_with(".class_name") || key.name.ends_with(".parameters");
    if of_class
        || matches!(
            key.kind,
            Kind::Options | Kind::Any | Kind::Class { .. } | Kind::Map(..)
        )
    {
        return None;
    }
    key.default
        .as_deref()
        .map(|text| yaml::parse(text).unwrap_or_else(|_| text.into()))
}

/// The release's own name of a key of any release.
fn own_name(release: &Release, key: &str) -> String {
    let keys = release.keys();
    if let Some(own) = keys.named(key) {
        return own.name.clone();
    }
    let newest = Release::newest().keys();
    let mut old = newest.named(key).into_iter().flat_map(|k| {
        let old = k.old_names.iter().map(|old| old.name.clone());
        old.chain([k.name.clone()])
    });
    old.rfind(|name| keys.get(name).is_some())
        .unwrap_or_else(|| key.to_owned())
}

impl Reported {
    fn add(&mut self, answer: Option<Otherwise>) {
        match answer {
            None => self.said += 1,
            Some(other) => self.otherwise.push(other),
        }
    }

    fn unsaid(&mut self, answer: Option<Otherwise>) {
        match answer {
            None => self.defaults += 1,
            Some(other) => self.otherwise.push(other),
        }
    }
}

struct Node<'a> {
    rows: &'a BTreeMap<String, Option<String>>,
}

impl Node<'_> {
    /// The row of a setting; 4.0 writes nested names with underscores.
    fn row(&self, name: &str) -> Option<Option<&str>> {
        let row = self.rows.get(name);
        let row = row.or_else(|| self.rows.get(&name.replace('.', "_")));
        row.map(|value| value.as_deref())
    }

    /// Nothing where the node reports that value; a setting that it does not list cannot be compared.
    fn is(&self, name: &str, said: &Value) -> Option<Otherwise> {
        if let Value::Object(map) = said {
            // The node lists a class and its parameters apart, or all in one row.
            let parts = map
                .iter()
                .map(|(key, value)| (format!("{name}.{key}"), value));
            let listed: Vec<_> = parts.filter(|(part, _)| self.row(part).is_some()).collect();
            if !listed.is_empty() {
                return listed
                    .into_iter()
                    .find_map(|(part, value)| self.is(&part, value));
            }
        }
        let by_class = self
            .row(&format!("{name}.class_name"))
            .filter(|_| said.is_string());
        let reported = by_class.or_else(|| self.row(name));
        let same = match reported {
            None => true,
            Some(None) => is_nothing(said),
            // Passwords and paths of key stores are not shown.
            Some(Some("<REDACTED>")) => true,
            // Masked by its name.
            Some(Some(text)) if !text.is_empty() && text.chars().all(|c| c == '*') => true,
            // A text that is not set is reported as an empty one.
            Some(Some("")) if is_nothing(said) => true,
            // Resolved when the node starts, and reported as resolved.
            Some(Some("standard" | "mmap")) if name == "disk_access_mode" => true,
            // Said to be the node's to choose.
            Some(Some(_)) if RESOLVED.contains(&name) && amount(said).is_some_and(|n| n <= 0.0) => {
                true
            }
            Some(Some(text)) => is_same(text, said),
        };
        (!same).then(|| Otherwise {
            name: name.to_owned(),
            said: super::plain(said),
            reported: reported.flatten().map(str::to_owned),
        })
    }

    /// Nothing where the node computed a size that is no larger than the file's.
    fn not_above(&self, name: &str, difference: &Difference) -> Option<Otherwise> {
        let of_file = difference.was.as_deref()?;
        let in_modern = |name: &str, text: &str| {
            let value = yaml::parse(text).unwrap_or_else(|_| text.into());
            amount(&modern_form(name, &value).1)
        };
        let reported = self.row(name).flatten()?;
        let file = in_modern(&difference.key, of_file)?;
        let here = in_modern(name, reported)?;
        (here > file).then(|| Otherwise {
            name: name.to_owned(),
            said: format!("no more than {of_file}"),
            reported: Some(reported.to_owned()),
        })
    }
}

fn is_nothing(said: &Value) -> bool {
    match said {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

fn is_same(reported: &str, said: &Value) -> bool {
    let text = super::plain(said);
    if reported.eq_ignore_ascii_case(&text) || short(reported) == short(&text) {
        return true;
    }
    let number = amount(&yaml::parse(reported).unwrap_or_else(|_| reported.into()));
    if let (Some(here), Some(there)) = (number, amount(said)) {
        return (here - there).abs() <= there.abs() * 1e-6;
    }
    match said {
        Value::Null => matches!(reported, "null" | "[]" | "{}"),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(super::plain).collect();
            reported == items.join(",") || is_set(reported, &items)
        }
        // `{key=value, …}`: each word of the map, in the node's own order.
        Value::Object(_) => leaves(said)
            .iter()
            .all(|word| reported.contains(short(word))),
        _ => false,
    }
}

/// `[a, b]`, in any order: Cassandra keeps lists of its file in sets.
fn is_set(reported: &str, items: &[String]) -> bool {
    let inner = reported
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    let here: BTreeSet<&str> = inner.unwrap_or(reported).split(", ").collect();
    inner.is_some() && here == items.iter().map(String::as_str).collect()
}

/// The names and values of a map, all the way down.
fn leaves(value: &Value) -> Vec<String> {
    match value {
        Value::Object(map) => {
            let parts = map.iter().flat_map(|(key, value)| {
                let name = (!matches!(key.as_str(), "class_name" | "parameters" | "inherits"))
                    .then(|| key.clone());
                name.into_iter().chain(leaves(value))
            });
            parts.collect()
        }
        Value::Array(items) => items.iter().flat_map(leaves).collect(),
        Value::Null => Vec::new(),
        other => vec![super::plain(other)],
    }
}

/// A class without its package.
fn short(name: &str) -> &str {
    match name.starts_with("org.apache.cassandra.") {
        true => name.rsplit('.').next().unwrap_or(name),
        false => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::like::{Beside, like};
    use crate::preset::PresetName;

    #[test]
    fn what_a_node_reports_is_compared_by_meaning() {
        let text = "read_request_timeout_in_ms: 6000\nconcurrent_reads: 64\nrow_cache_size_in_mb: 900\n\
                    key_cache_size_in_mb: 100\nauthenticator: AllowAllAuthenticator\n\
                    table_properties_ignored: [comment, crc_check_chance]\n\
                    memtable: {configurations: {a: {class_name: TrieMemtable}, default: {inherits: a}}}\n";
        let release = Release::newest();
        let said = like(text, None, release, PresetName::Tiny, Beside::default()).unwrap();
        let mut rows: BTreeMap<String, Option<String>> = [
            ("read_request_timeout", "6s"),
            ("concurrent_reads", "32"),
            ("row_cache_size", "4MiB"),
            ("key_cache_size", "3MiB"),
            (
                "authenticator.class_name",
                "org.apache.cassandra.auth.AllowAllAuthenticator",
            ),
            (
                "memtable.configurations",
                "{a=TrieMemtable, default=TrieMemtable}",
            ),
            ("hinted_handoff_enabled", "true"),
            ("table_properties_ignored", "[crc_check_chance, comment]"),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), Some(value.to_owned())))
        .collect();
        assert_eq!(reported(release, &said.differences, &rows).otherwise, []);
        for (name, value) in [
            ("read_request_timeout", "5s"),
            ("concurrent_reads", "2"),
            ("key_cache_size", "101MiB"),
            ("authenticator.class_name", "PasswordAuthenticator"),
            ("memtable.configurations", "{default=SkipListMemtable}"),
            ("hinted_handoff_enabled", "false"),
            ("auto_snapshot", "false"),
            ("table_properties_ignored", "[comment]"),
        ] {
            let was = rows.insert(name.to_owned(), Some(value.to_owned()));
            let found = reported(release, &said.differences, &rows).otherwise;
            assert_eq!(found.len(), 1, "{name}: {found:?}");
            match was {
                Some(was) => rows.insert(name.to_owned(), was),
                None => rows.remove(name),
            };
        }
    }
}
