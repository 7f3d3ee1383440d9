//! A node's settings on another release: its cassandra.yaml and its flags, in that release's names and units.
//! Refuses to drop a setting in silence, and to bring one in that nobody asked for.

use super::{MODE_KEY, Mode};
use crate::plan::facts::split;
use crate::release::{KeyError, Release};
use crate::yaml;
use serde::Serialize;
use serde_json::{Map, Value};

/// A setting that another release writes differently, or does not support.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Otherwise {
    /// The key or property, as it was written.
    pub key: String,
    /// What is written instead, such as `commitlog_sync_period: 10s`; absent where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own: Option<String>,
    /// Why.
    pub why: String,
}

/// The mode that a cassandra.yaml says.
pub fn mode_of(text: &str) -> Option<Mode> {
    let parsed = yaml::parse(text).ok()?;
    Mode::parse(parsed.get(MODE_KEY)?.as_str()?)
}

/// The text of cassandra.yaml for that release and mode, with what is otherwise in it.
///
/// # Errors
/// A text that is no YAML.
pub fn settings(
    text: &str,
    to: &Release,
    mode: Option<Mode>,
) -> Result<(String, Vec<Otherwise>), yaml::YamlError> {
    let parsed = yaml::parse(text)?;
    let (mut map, mut otherwise) = (Map::new(), Vec::new());
    for (key, value) in parsed.as_object().into_iter().flatten() {
        if key == MODE_KEY {
            continue;
        }
        let mut left_out = |why: String| {
            otherwise.push(Otherwise {
                key: key.clone(),
                own: None,
                why,
            });
        };
        match to.translate(key, value) {
            Ok(own) if own.name == *key => {
                map.insert(own.name, value.clone());
            }
            Ok(own) => {
                otherwise.push(Otherwise {
                    key: key.clone(),
                    own: Some(format!("{}: {}", own.name, plain(&own.value))),
                    why: "the release's own name and unit".into(),
                });
                map.insert(own.name, own.value);
            }
            Err(KeyError::Lacking { why, .. }) => left_out(why),
            Err(KeyError::Unknown { .. }) => left_out("the release has no such key".into()),
            // A form that the table cannot judge was taken by the release before: the node is asked.
            Err(_) => {
                map.insert(key.clone(), value.clone());
            }
        }
    }
    if let Some(mode) = mode {
        map.insert(MODE_KEY.into(), mode.word().into());
    }
    Ok((yaml::render(&Value::Object(map)), otherwise))
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The flags of the JVM for that release: a property that it lacks goes, or is said by another one.
pub fn flags(jvm: &[String], to: &Release) -> (Vec<String>, Vec<Otherwise>) {
    let (mut kept, mut otherwise) = (Vec::new(), Vec::new());
    for flag in jvm {
        let (name, value) = split(flag);
        let property = name.strip_prefix("-D");
        let Some(lack) = property.and_then(|key| to.lack(key, &value)) else {
            kept.push(flag.clone());
            continue;
        };
        let own = lack.instead.map(|(key, value)| format!("-D{key}={value}"));
        kept.extend(own.clone());
        otherwise.push(Otherwise {
            key: flag.clone(),
            own,
            why: lack.why.to_owned(),
        });
    }
    (kept, otherwise)
}
