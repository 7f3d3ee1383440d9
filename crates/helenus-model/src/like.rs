//! A production's cassandra.yaml, in any known dialect, turned into settings for a small cluster of a chosen release.
//! Refuses to drop anything in silence: every key of the file ends in exactly one class, with its reason.

use crate::format::Format;
use crate::preset::{BASE, Place, PresetName};
use crate::release::{KeyError, Keys, Kind, Note, Release};
use crate::secret::without_secrets;
use crate::yaml;
use serde::Serialize;
use serde_json::{Map, Value};

mod classes;
mod older;
mod place;
pub use place::{ProductionPlace, read_place};

/// What became of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
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
    /// The release has no such key, or takes no such value.
    Unknown,
    /// Needs what is not on this machine: classes, keystores.
    NotHere,
    /// Not in the file: the preset's own.
    Added,
}

impl Class {
    /// All classes, in the order in which they are shown.
    pub const ALL: [Class; 7] = [
        Class::Kept,
        Class::Renamed,
        Class::Shrunk,
        Class::Replaced,
        Class::Unknown,
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
            Self::NotHere => "not here",
            Self::Added => "added",
        }
    }
}

/// One key of the file (or of the preset), and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
    /// One node, whose tokens nobody else decides: it can have the file's.
    pub lone: bool,
}

/// Why a file cannot be followed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum LikeError {
    /// No YAML, or a key twice.
    #[error(transparent)]
    Yaml(#[from] yaml::YamlError),
    /// No map of keys.
    #[error("it holds {found}, not a map of keys")]
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
            Self::Yaml(_) => {
                "Cassandra itself would not start from it; is it the right file?".into()
            }
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
    let map = match yaml::parse(text)? {
        Value::Object(map) => map,
        Value::Null => Map::new(),
        Value::Array(_) => return Err(LikeError::NotAMap { found: "a list" }),
        _ => return Err(LikeError::NotAMap { found: "one value" }),
    };
    let of_file = map.get("authenticator");
    let mut fitting = Fitting {
        release,
        preset,
        auth: beside.auth || of_file.is_some_and(classes::asks_for_passwords),
        initial_tokens: if beside.lone {
            classes::initial_tokens(&map)
        } else {
            Vec::new()
        },
        place: rackdc.map(read_place),
        settings: Vec::new(),
        differences: Vec::new(),
    };
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
    fitting.settle_sync(&map);
    fitting.add_presets(&names);
    let tokens = map.get("num_tokens").and_then(Value::as_u64);
    Ok(Like {
        format: Format::new("like", 1),
        release: release.version.to_owned(),
        preset,
        tokens: tokens.and_then(|n| u32::try_from(n).ok()),
        initial_tokens: fitting.initial_tokens,
        auth: fitting.auth,
        place: fitting.place,
        settings: fitting.settings,
        differences: fitting.differences,
    })
}

struct Fitting<'a> {
    release: &'a Release,
    preset: PresetName,
    auth: bool,
    initial_tokens: Vec<i64>,
    place: Option<ProductionPlace>,
    settings: Vec<(String, Value)>,
    differences: Vec<Difference>,
}

impl Fitting<'_> {
    fn keys(&self) -> &Keys {
        self.release.keys()
    }

    /// The newest release's name of a key, or the name itself.
    fn modern(&self, key: &str) -> String {
        let newest = Release::newest().keys();
        let known = newest.named(key).or_else(|| self.keys().named(key));
        known.map_or_else(|| key.to_owned(), |k| k.name.clone())
    }

    fn tell(&mut self, key: &str, class: Class, was: &Value, now: Option<String>, why: &str) {
        self.differences.push(Difference {
            key: key.to_owned(),
            class,
            was: Some(shown(key, was)),
            now,
            why: why.to_owned(),
        });
    }

    /// One key of the file, nested ones one by one.
    fn take(&mut self, key: &str, value: &Value) {
        let modern = self.modern(key);
        if modern == "initial_token" && !self.initial_tokens.is_empty() {
            let now = Some(format!("{key}: {}", shown(key, value)));
            return self.tell(key, Class::Kept, value, now, "");
        }
        if let Some(here) = classes::log_ins(&modern).filter(|_| self.auth) {
            let now = Some(format!("{modern}: {here}"));
            let (class, why) = match classes::is_class(value, here) {
                true => (Class::Kept, "with an account of this cluster's own"),
                false => (
                    Class::Replaced,
                    "a cluster that asks for passwords has this one",
                ),
            };
            return self.tell(key, class, value, now, why);
        }
        if let Some(why) = classes::replaced(&modern, self.place.as_ref()) {
            return self.tell(key, Class::Replaced, value, why.now, &why.why);
        }
        if let Some(why) = classes::not_here(&modern, value, self.auth) {
            return self.tell(key, Class::NotHere, value, None, &why);
        }
        if classes::is_size(&modern) {
            return self.shrink(key, &modern, value);
        }
        let known = self
            .keys()
            .named(key)
            .or_else(|| self.keys().named(&modern));
        let nested = known.is_some_and(|k| k.kind == Kind::Options);
        match value {
            Value::Object(inner) if nested && !inner.is_empty() => {
                for (child, value) in inner {
                    self.take(&format!("{key}.{child}"), value);
                }
            }
            Value::Null => {
                let why = "empty in the file: the release's default";
                self.tell(key, Class::Kept, value, None, why);
            }
            _ => self.keep(key, &modern, value),
        }
    }

    fn keep(&mut self, key: &str, modern: &str, value: &Value) {
        match self.keys().check_value(key, value) {
            Ok(checked) => {
                let renamed = checked
                    .notes
                    .iter()
                    .any(|n| matches!(n, Note::Renamed { .. }));
                let (class, why) = if renamed {
                    (
                        Class::Renamed,
                        format!("an old name in {}", self.release.version),
                    )
                } else if plain(&checked.value) != plain(value) {
                    (
                        Class::Renamed,
                        format!("as {} writes it", self.release.version),
                    )
                } else {
                    (Class::Kept, String::new())
                };
                let now = format!("{}: {}", checked.name, shown(&checked.name, &checked.value));
                self.settings.push((checked.name, checked.value));
                self.tell(key, class, value, Some(now), &why);
            }
            Err(KeyError::Unknown { .. }) => self.older_or_unknown(key, modern, value),
            Err(error) => {
                let why = format!("{error}; {}", error.hint());
                self.tell(key, Class::Unknown, value, None, &without_secrets(&why));
            }
        }
    }

    /// A key of newer releases under the name that this one has for it, or of none.
    fn older_or_unknown(&mut self, key: &str, modern: &str, value: &Value) {
        if let Some((name, old)) = older::own_form(self.keys(), key, modern, value)
            && let Ok(checked) = self.keys().check_value(&name, &old)
        {
            let now = format!("{}: {}", checked.name, shown(&checked.name, &checked.value));
            let why = format!("the name and unit of {}", self.release.version);
            self.settings.push((checked.name, checked.value));
            return self.tell(key, Class::Renamed, value, Some(now), &why);
        }
        let why = classes::history(key, self.release);
        self.tell(key, Class::Unknown, value, None, &why);
    }

    /// A size becomes the preset's, unless the file's is smaller already.
    fn shrink(&mut self, key: &str, modern: &str, value: &Value) {
        let of_preset = preset_value(self.preset, modern);
        let in_file = older::modern_form(key, value)
            .as_ref()
            .and_then(older::amount);
        let fits = match (
            &in_file,
            of_preset.and_then(|p| older::amount(&yaml_value(p))),
        ) {
            (Some(file), Some(preset)) => *file <= preset,
            (Some(file), None) => *file == 0.0,
            _ => false,
        };
        if fits {
            return self.keep(key, modern, value);
        }
        let why = classes::why_shrunk(modern);
        let now = match of_preset {
            Some(preset) => format!("{modern}: {preset}"),
            None => format!("{modern}: the release's default"),
        };
        self.tell(key, Class::Shrunk, value, Some(now), why);
    }

    /// A commit log that is not synced by time must not have a time: the preset's would stop the node.
    fn settle_sync(&mut self, map: &Map<String, Value>) {
        let sync = map.get("commitlog_sync").and_then(Value::as_str);
        if sync.is_none_or(|sync| sync == "periodic") {
            return;
        }
        let key = "commitlog_sync_period";
        let own = if self.keys().named(key).is_some() {
            (key, Value::from("0ms"))
        } else {
            ("commitlog_sync_period_in_ms", Value::from(0))
        };
        self.settings.push((own.0.to_owned(), own.1));
    }

    /// What the preset sets and the file does not say.
    fn add_presets(&mut self, names: &[(String, String)]) {
        let settings = BASE.iter().chain(self.preset.preset().settings);
        for setting in settings.filter(|s| s.place == Place::Yaml) {
            let top = setting.key.split('.').next().unwrap_or(setting.key);
            if names
                .iter()
                .any(|(_, modern)| modern == setting.key || modern == top)
            {
                continue;
            }
            if self.differences.iter().any(|d| d.key == setting.key) {
                continue;
            }
            self.differences.push(Difference {
                key: setting.key.to_owned(),
                class: Class::Added,
                was: None,
                now: Some(format!("{}: {}", setting.key, setting.value)),
                why: setting.reason.to_owned(),
            });
        }
    }
}

/// The preset's value of a key, its own over that of all presets.
fn preset_value(preset: PresetName, key: &str) -> Option<&'static str> {
    let mut settings = BASE.iter().chain(preset.preset().settings);
    settings
        .rfind(|s| s.place == Place::Yaml && s.key == key)
        .map(|s| s.value)
}

fn yaml_value(text: &str) -> Value {
    yaml::parse(text).unwrap_or_else(|_| Value::from(text))
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
