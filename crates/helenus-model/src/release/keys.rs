//! The keys of a release's cassandra.yaml, and the check of `--set KEY=VALUE` against them.
//! Refuses unknown keys and values that a node would refuse; renames old keys and says so.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::{Kind, old};
use crate::nearest::nearest;

/// One key of cassandra.yaml, under its dotted name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigKey {
    /// `concurrent_reads`, `audit_logging_options.enabled`.
    pub name: String,
    /// The Java type of the property.
    pub java_type: String,
    /// What its value looks like.
    pub kind: Kind,
    /// What a node takes when the key is absent, where that has a plain spelling.
    pub default: Option<String>,
    /// Whether a node takes null for it.
    pub nullable: bool,
    /// Whether a node warns about it.
    pub deprecated: bool,
    /// Names of older releases that this key replaces.
    pub old_names: Vec<OldName>,
}

/// The name that a key had in an older release, and how its value was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldName {
    /// The dotted name.
    pub name: String,
    /// The release's name for the rule that turns the old value into the modern one.
    pub converter: String,
    /// Whether a node warns about the old name.
    pub deprecated: bool,
    /// What a counting rule adds to the old number.
    pub offset: Option<i64>,
}

/// What is no key of cassandra.yaml, but often looked for there, and the flag for it.
const FLAGS: [(&str, &str); 7] = [
    ("heap", "the flag --heap"),
    ("max_heap_size", "the flag --heap"),
    ("heap_newsize", "the flag --new-heap"),
    ("MAX_HEAP_SIZE", "the flag --heap"),
    ("HEAP_NEWSIZE", "the flag --new-heap"),
    ("jvm_opts", "the flag --jvm"),
    ("JVM_OPTS", "the flag --jvm"),
];

/// The keys of one release.
#[derive(Debug, Clone)]
pub struct Keys {
    all: Vec<ConfigKey>,
    by_name: BTreeMap<String, usize>,
    by_old_name: BTreeMap<String, (usize, usize)>,
}

/// A key and a value that a node takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The modern name; dots part nested keys.
    pub name: String,
    /// The value as a node reads it, in the modern unit.
    pub value: Value,
    /// What the person should know.
    pub notes: Vec<Note>,
}

/// Something that was accepted, but should be known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// An old name was given; it is set under the modern one.
    Renamed {
        /// As given.
        old: String,
        /// As set.
        name: String,
        /// The value as set.
        value: String,
    },
    /// A newer name or form was given; it is set as this release writes it.
    Own {
        /// As given.
        given: String,
        /// As set.
        name: String,
        /// The value as set.
        value: String,
    },
    /// The release warns about this key.
    Deprecated {
        /// The key.
        name: String,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Renamed { old, name, value } => {
                write!(f, "{old} is an old name; set as {name}: {value}")
            }
            Self::Own { given, name, value } => {
                write!(
                    f,
                    "{given} is set as this release writes it, {name}: {value}"
                )
            }
            Self::Deprecated { name } => write!(f, "{name} is deprecated by the release"),
        }
    }
}

/// Why a setting was refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum KeyError {
    /// Not of the form `KEY=VALUE`.
    #[error("{text:?} is not a setting")]
    Assignment {
        /// As given.
        text: String,
    },
    /// No such key.
    #[error("cassandra.yaml has no key {name:?}")]
    Unknown {
        /// As given.
        name: String,
        /// The known keys most like it, or the flag in its place.
        nearest: Option<String>,
    },
    /// A key or a value of newer releases, that this one does not support.
    #[error("Cassandra {release} does not support {name}: {value}")]
    Lacking {
        /// The release's version.
        release: &'static str,
        /// The key.
        name: String,
        /// The value.
        value: String,
        /// Why not, in words that follow the setting's name.
        why: String,
    },
    /// A key inside of a value that is only set as a whole.
    #[error("{name:?} is inside {parent}, which takes {takes}")]
    Inside {
        /// As given.
        name: String,
        /// The key that is set as a whole.
        parent: String,
        /// What that key takes.
        takes: String,
    },
    /// The value is no YAML.
    #[error("the value of {name} is not YAML: {why}")]
    Yaml {
        /// The key.
        name: String,
        /// The parser's words.
        why: String,
    },
    /// A value of the wrong kind.
    #[error("{name} does not take {value}")]
    Value {
        /// The key, as given.
        name: String,
        /// The value, as given.
        value: String,
        /// What it takes.
        takes: String,
        /// The release's default.
        default: Option<String>,
    },
    /// A value of the right kind with which the release's node does not start.
    #[error("Cassandra {release} does not start with {name}: {value}")]
    Range {
        /// The release's version.
        release: &'static str,
        /// The key.
        name: String,
        /// The value.
        value: String,
        /// What it takes.
        takes: String,
    },
    /// An old and a modern name for the same key.
    #[error("{name} is set twice, once under an old name")]
    Twice {
        /// The modern name.
        name: String,
    },
}

impl KeyError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Assignment { .. } => {
                "write KEY=VALUE, such as concurrent_reads=64; nested keys as a.b=VALUE".to_owned()
            }
            Self::Unknown { nearest, .. } => match nearest {
                Some(near) => format!("did you mean {near}?"),
                None => "the release's keys are listed in its conf/cassandra.yaml".to_owned(),
            },
            Self::Lacking { why, .. } => format!("{why}; leave it out, or use a newer release"),
            Self::Inside { parent, .. } => format!("set it whole: {parent}={{name: value}}"),
            Self::Yaml { .. } => "quote the value for YAML, such as 'key=\"a: b\"'".to_owned(),
            Self::Value { takes, default, .. } => match default {
                Some(default) => format!("it takes {takes}; the default is {default}"),
                None => format!("it takes {takes}"),
            },
            Self::Range { takes, .. } => format!("it takes {takes}"),
            Self::Twice { name } => format!("give {name} once"),
        }
    }
}

/// Parts `KEY=VALUE` at the first equals sign.
///
/// # Errors
/// No equals sign, or nothing before it.
pub fn split_assignment(text: &str) -> Result<(&str, &str), KeyError> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim(), value.trim())),
        _ => Err(KeyError::Assignment {
            text: text.to_owned(),
        }),
    }
}

/// A line of the table that is no key.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("line {line} of the key table is not a key: {text:?}")]
pub(super) struct TableError {
    line: usize,
    text: String,
}

impl Keys {
    /// Reads the committed table: tab-separated lines, `#` opens a comment.
    pub(super) fn parse(text: &str) -> Result<Self, TableError> {
        let mut keys = Self {
            all: Vec::new(),
            by_name: BTreeMap::new(),
            by_old_name: BTreeMap::new(),
        };
        for (n, line) in text.lines().enumerate() {
            if line.starts_with('#') || line.trim().is_empty() {
                continue;
            }
            let key = parse_line(line).ok_or_else(|| TableError {
                line: n + 1,
                text: line.to_owned(),
            })?;
            let at = keys.all.len();
            for (which, old) in key.old_names.iter().enumerate() {
                keys.by_old_name.insert(old.name.clone(), (at, which));
            }
            keys.by_name.insert(key.name.clone(), at);
            keys.all.push(key);
        }
        Ok(keys)
    }

    /// Every key, nested ones under dotted names.
    pub fn all(&self) -> &[ConfigKey] {
        &self.all
    }

    /// The key of that modern name.
    pub fn get(&self, name: &str) -> Option<&ConfigKey> {
        self.by_name.get(name).map(|at| &self.all[*at])
    }

    /// The key of that modern or old name.
    pub fn named(&self, name: &str) -> Option<&ConfigKey> {
        let old = self.by_old_name.get(name).map(|(at, _)| &self.all[*at]);
        old.or_else(|| self.get(name))
    }

    /// Checks a setting whose value is YAML text, as given with `--set`.
    ///
    /// # Errors
    /// Unknown keys, values that are no YAML, and values that a node would refuse.
    pub fn check(&self, name: &str, value_yaml: &str) -> Result<Checked, KeyError> {
        let (_, kind, _) = self.find(name)?;
        let trimmed = value_yaml.trim();
        let parsed: Value = if trimmed.is_empty() {
            Value::Null
        } else {
            serde_saphyr::from_str(trimmed).map_err(|error| KeyError::Yaml {
                name: name.to_owned(),
                why: first_line(&error.to_string()),
            })?
        };
        // Text that merely looks like a number or a truth keeps its own spelling: 007, TRUE.
        let value = match parsed {
            Value::Number(_) | Value::Bool(_) if *kind == Kind::String => {
                Value::String(trimmed.to_owned())
            }
            other => other,
        };
        self.check_value(name, &value)
    }

    /// Checks a setting whose value is already parsed.
    ///
    /// # Errors
    /// Unknown keys, and values that a node would refuse.
    pub fn check_value(&self, name: &str, given: &Value) -> Result<Checked, KeyError> {
        let (key, _, old) = self.find(name)?;
        let refused = || self.refused(key, name, old, given);
        let (value, mut notes) = match old {
            None => (given.clone(), Vec::new()),
            Some(old) => {
                let value = old::modern(&old.converter, old.offset, given).ok_or_else(refused)?;
                (value, Vec::new())
            }
        };
        let value = match (&key.kind, value) {
            (_, Value::Null) if key.nullable => Value::Null,
            (_, Value::Null) => return Err(refused()),
            (Kind::Options, Value::Object(map)) => self.check_options(key, &map, &mut notes)?,
            (kind, value) => kind.accept(&value).ok_or_else(refused)?,
        };
        if let Some(old) = old.filter(|old| old.name != key.name) {
            notes.push(Note::Renamed {
                old: old.name.clone(),
                name: key.name.clone(),
                value: plain(&value),
            });
        }
        if key.deprecated {
            notes.push(Note::Deprecated {
                name: key.name.clone(),
            });
        }
        Ok(Checked {
            name: key.name.clone(),
            value,
            notes,
        })
    }

    /// Every nested key of a map, checked under its dotted name.
    fn check_options(
        &self,
        key: &ConfigKey,
        map: &serde_json::Map<String, Value>,
        notes: &mut Vec<Note>,
    ) -> Result<Value, KeyError> {
        let prefix = format!("{}.", key.name);
        let mut whole = serde_json::Map::new();
        for (child, value) in map {
            let checked = self.check_value(&format!("{prefix}{child}"), value)?;
            notes.extend(checked.notes);
            let short = checked.name.strip_prefix(&prefix).unwrap_or(child);
            if whole.insert(short.to_owned(), checked.value).is_some() {
                return Err(KeyError::Twice { name: checked.name });
            }
        }
        Ok(Value::Object(whole))
    }

    /// The key of that name, its kind, and the old name if that is what was given.
    ///
    /// A key that kept its name while its value changed its form counts as an old name too.
    fn find(&self, name: &str) -> Result<(&ConfigKey, &Kind, Option<&OldName>), KeyError> {
        if let Some((at, which)) = self.by_old_name.get(name) {
            let key = &self.all[*at];
            return Ok((key, &key.kind, Some(&key.old_names[*which])));
        }
        if let Some(key) = self.get(name) {
            return Ok((key, &key.kind, None));
        }
        let mut parent = name;
        while let Some((shorter, _)) = parent.rsplit_once('.') {
            parent = shorter;
            if let Some(key) = self.get(parent).filter(|k| k.kind != Kind::Options) {
                return Err(KeyError::Inside {
                    name: name.to_owned(),
                    parent: parent.to_owned(),
                    takes: key.kind.describe(),
                });
            }
        }
        Err(KeyError::Unknown {
            name: name.to_owned(),
            nearest: self.like(name),
        })
    }

    /// Keys that a person may have meant: one that is written alike, else up to three that share a word with the name.
    fn like(&self, name: &str) -> Option<String> {
        if let Some((_, flag)) = FLAGS.iter().find(|(word, _)| *word == name) {
            return Some((*flag).to_owned());
        }
        let top = |key: &&str| !key.contains('.') || name.contains('.');
        let names = self.by_name.keys().chain(self.by_old_name.keys());
        let names: Vec<&str> = names.map(String::as_str).filter(top).collect();
        // A single short word is like too much.
        if name.contains(['_', '-', '.'])
            && let Some(near) = nearest(name, names.iter().copied())
        {
            return Some(near.to_owned());
        }
        let parts = |text: &str| -> Vec<String> {
            let parts = text.split(['_', '-', '.']).filter(|part| part.len() > 3);
            // hints, hinted, hint: what they begin with counts.
            parts
                .map(|part| part.to_lowercase().chars().take(4).collect())
                .collect()
        };
        let wanted = parts(name);
        let shared = |key: &&str| {
            let own = parts(key);
            wanted.iter().filter(|part| own.contains(part)).count()
        };
        let modern = names.iter().filter(|key| self.by_name.contains_key(**key));
        let mut all: Vec<&str> = modern.copied().filter(|key| shared(key) > 0).collect();
        all.sort_by_key(|key| (std::cmp::Reverse(shared(key)), key.len()));
        all.truncate(3);
        let some = (!all.is_empty()).then(|| all.join(", "));
        some.or_else(|| nearest(name, names.iter().copied()).map(str::to_owned))
    }

    fn refused(
        &self,
        key: &ConfigKey,
        given_name: &str,
        old: Option<&OldName>,
        given: &Value,
    ) -> KeyError {
        let modern = key.kind.describe();
        let takes = match old.filter(|old| old.name != key.name) {
            Some(_) => format!("a bare value in its own unit; {} takes {modern}", key.name),
            None => modern,
        };
        KeyError::Value {
            name: given_name.to_owned(),
            value: plain(given),
            takes,
            default: key.default.clone(),
        }
    }
}

/// Name, Java type, shape, `=default`, flags, old names.
fn parse_line(line: &str) -> Option<ConfigKey> {
    let cells: Vec<&str> = line.split('\t').collect();
    let [name, java_type, shape, default, flags, old] = cells[..] else {
        return None;
    };
    let prefix = name.rsplit_once('.').map_or("", |(parent, _)| parent);
    let old_names = old.split_whitespace().map(|text| {
        let parts: Vec<&str> = text.split(':').collect();
        let [short, converter, deprecated, offset] = parts[..] else {
            return None;
        };
        Some(OldName {
            name: if prefix.is_empty() {
                short.to_owned()
            } else {
                format!("{prefix}.{short}")
            },
            converter: converter.to_owned(),
            deprecated: deprecated == "true",
            offset: offset.parse().ok(),
        })
    });
    Some(ConfigKey {
        name: name.to_owned(),
        java_type: java_type.to_owned(),
        kind: Kind::from_cells(java_type, shape),
        default: default.strip_prefix('=').map(str::to_owned),
        nullable: flags.split(' ').any(|f| f == "nullable"),
        deprecated: flags.split(' ').any(|f| f == "deprecated"),
        old_names: old_names.collect::<Option<_>>()?,
    })
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// A scalar without quotes, anything else as JSON.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
