//! A production's cassandra.yaml, in any known dialect, turned into settings for a small cluster of a chosen release.
//! Refuses to drop anything in silence: every key of the file ends in exactly one class, with its reason.

use crate::format::Format;
use crate::preset::PresetName;
use crate::release::Release;
use crate::secret::without_secrets;
use crate::yaml;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

mod classes;
mod fitting;
mod manifest;
mod place;
mod reported;
use fitting::Fitting;
pub use manifest::{
    Followed, Inventory, InventoryHost, Manifest, ManifestError, inventory, manifest,
};
pub use place::{ProductionPlace, read_place};
pub use reported::{Otherwise, Reported, reported};

/// What became of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// As in the file.
    Kept,
    /// Under the release's name for it, or in its unit.
    Renamed,
    /// A size that one machine does not have: the preset's, or the release's default.
    Shrunk,
    /// Decided by Helenus: addresses, folders, seeds, names.
    Replaced,
    /// The release has no such key.
    Unknown,
    /// The release's node does not start with such a value.
    Refused,
    /// Needs what is not on this machine: classes, keystores.
    NotHere,
    /// Not in the file: a size of the preset, or what a node needs.
    Added,
}

impl Class {
    /// All classes, in the order in which they are shown.
    pub const ALL: [Class; 8] = [
        Class::Kept,
        Class::Renamed,
        Class::Shrunk,
        Class::Replaced,
        Class::Unknown,
        Class::Refused,
        Class::NotHere,
        Class::Added,
    ];

    /// The word in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Renamed => "renamed",
            Self::Shrunk => "shrunk",
            Self::Replaced => "replaced",
            Self::Unknown => "unknown",
            Self::Refused => "refused",
            Self::NotHere => "not here",
            Self::Added => "added",
        }
    }
}

/// One key of the file (or of the preset), and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// Name in the file; nested keys with dots.
    pub key: String,
    /// What became of it.
    pub class: Class,
    /// Value in the file, in one line and without secrets; none for what was added.
    pub was: Option<String>,
    /// Name and value in the cluster's own file; none where the key is not set there.
    pub now: Option<String>,
    /// Why.
    pub why: String,
}

/// A small cluster like a production.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Like {
    /// `helenus.like/1`.
    pub format: Format,
    /// Release that the settings are for.
    pub release: String,
    /// Preset that the sizes are of.
    pub preset: PresetName,
    /// Checked keys with values, for the plan; they hold values of the file as they are.
    #[serde(skip)]
    pub settings: Vec<(String, Value)>,
    /// Tokens a node, where the file says.
    pub tokens: Option<u32>,
    /// Data centre and rack, where cassandra-rackdc.properties says.
    pub place: Option<ProductionPlace>,
    /// Tokens of the only node, where the file says them and they can be kept; else empty.
    pub initial_tokens: Vec<i64>,
    /// Whether clients are asked for a password: the file says so, or the person did.
    pub auth: bool,
    /// Every key of the file, and what the preset adds, in the file's order of names.
    pub differences: Vec<Difference>,
}

/// What a person asked for beside the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Beside {
    /// `--auth`: clients are asked for a password, whatever the file says.
    pub auth: bool,
    /// `--tls`: clients and nodes encrypt, whatever the file says.
    pub tls: bool,
    /// A single node, which can have the tokens of the file.
    pub lone: bool,
    /// Nodes of the smallest data centre, where they are known: no keyspace can have more copies there.
    pub nodes: Option<u32>,
    /// `--tokens`, where it was given: it stands above the file's `num_tokens`.
    pub tokens: Option<u32>,
}

/// Why a file cannot be followed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum LikeError {
    /// No YAML, or a key twice.
    #[error(transparent)]
    Yaml(#[from] yaml::YamlError),
    /// No map of keys.
    #[error("it contains {found}, not a map of keys")]
    NotAMap {
        /// What it holds.
        found: &'static str,
    },
    /// One key under two of its names.
    #[error("{first} and {second} are two names of {key}")]
    Twice {
        /// The release's name.
        key: String,
        /// First name in the file.
        first: String,
        /// Second name in the file.
        second: String,
    },
}

impl LikeError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Yaml(_) => "Cassandra would not start with it; is it the right file?".into(),
            Self::NotAMap { .. } => "give the path of a cassandra.yaml".into(),
            Self::Twice { .. } => "leave one of the two out".into(),
        }
    }
}

/// Follows a file: `text` is a cassandra.yaml of any known release, `rackdc` the text of the
/// cassandra-rackdc.properties beside it, `beside` what the person's own flags say.
///
/// # Errors
/// A text that is no map of keys, or that names one setting twice.
pub fn like(
    text: &str,
    rackdc: Option<&str>,
    release: &Release,
    preset: PresetName,
    beside: Beside,
) -> Result<Like, LikeError> {
    let (value, twice) = yaml::parse_last(text)?;
    let map = match value {
        Value::Object(map) => map,
        Value::Null => Map::new(),
        Value::Array(_) => return Err(LikeError::NotAMap { found: "a list" }),
        _ => return Err(LikeError::NotAMap { found: "one value" }),
    };
    let mut fitting = Fitting::new(&map, rackdc, release, preset, beside);
    let mut names: Vec<(String, String)> = Vec::new();
    for (key, value) in &map {
        let modern = fitting.modern(key);
        if let Some((first, _)) = names.iter().find(|(_, other)| *other == modern) {
            return Err(LikeError::Twice {
                key: modern,
                first: first.clone(),
                second: key.clone(),
            });
        }
        names.push((key.clone(), modern));
        fitting.take(key, value);
    }
    fitting.refuse_clashes(&map);
    fitting.settle_sync(&map);
    fitting.note_twice(&twice);
    // What is empty in the file is as good as not there.
    names.retain(|(key, _)| map.get(key) != Some(&Value::Null));
    fitting.add_presets(&names);
    Ok(Like {
        format: Format::new("like", 1),
        release: release.version.to_owned(),
        preset,
        tokens: map.get("num_tokens").and_then(classes::tokens),
        initial_tokens: fitting.initial_tokens,
        auth: fitting.auth,
        place: fitting.place,
        settings: fitting.settings,
        differences: fitting.differences,
    })
}

/// A value in one line, without what a password stands behind.
fn shown(key: &str, value: &Value) -> String {
    let text = format!("{key}: {}", plain(value));
    let safe = without_secrets(&text);
    safe.strip_prefix(&format!("{key}: "))
        .unwrap_or(&safe)
        .to_owned()
}

/// A scalar without quotes, anything else as JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
