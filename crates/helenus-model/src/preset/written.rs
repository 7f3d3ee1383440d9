//! A preset's settings as one release writes them: its own names and units, without what it does not know.
//! Refuses to drop a setting in silence: what is left out carries its reason.

use serde::Serialize;
use serde_json::Value;

use super::{BASE, Place, PresetName, Setting};
use crate::release::Release;
use crate::yaml;

/// A setting as a release writes it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Written {
    /// The setting as the preset has it.
    pub setting: Setting,
    /// The key and value of this release; none where it is left out.
    pub own: Option<(String, Value)>,
    /// Why it is written otherwise or left out, in words that follow the key.
    pub why: Option<String>,
}

/// Base settings, then the preset's, then what the release itself needs; later ones win.
pub fn written(preset: PresetName, release: &Release) -> Vec<Written> {
    let also = release.also.iter().map(|also| Setting {
        place: Place::Yaml,
        key: also.key,
        value: also.value,
        reason: also.why,
        source: "the release's Config class",
    });
    let settings = BASE.iter().chain(&preset.preset().settings).copied();
    settings.chain(also).map(|s| write(s, release)).collect()
}

fn write(setting: Setting, release: &Release) -> Written {
    if let Some(lack) = release.lack(setting.key, setting.value) {
        let own = |(key, value): (&str, &str)| (key.to_owned(), parsed(value));
        return Written {
            setting,
            own: lack.instead.map(own),
            why: Some(lack.why.to_owned()),
        };
    }
    let (own, why) = match setting.place {
        Place::Yaml => yaml_key(&setting, release),
        Place::Jvm | Place::Property | Place::Environment | Place::Process => {
            let value = Value::String(setting.value.to_owned());
            (Some((setting.key.to_owned(), value)), None)
        }
    };
    Written { setting, own, why }
}

fn yaml_key(setting: &Setting, release: &Release) -> (Option<(String, Value)>, Option<String>) {
    let value = parsed(setting.value);
    let as_it_is = || (Some((setting.key.to_owned(), value.clone())), None);
    // A key inside of a map, such as memtable.configurations.default: the map's own name is what a release knows.
    let known = Release::newest().keys();
    if known.get(setting.key).is_none() && release.keys().get(setting.key).is_none() {
        let mut parents = parents(setting.key);
        return match parents.find(|p| known.get(p).is_some()) {
            Some(parent) if release.keys().get(parent).is_some() => as_it_is(),
            _ => (None, Some("the key came with a newer release".to_owned())),
        };
    }
    match release.translate(setting.key, &value) {
        Ok(own) if own.name == setting.key && own.value == value => as_it_is(),
        Ok(own) => {
            let why = "the release's own name and unit".to_owned();
            (Some((own.name, own.value)), Some(why))
        }
        Err(crate::release::KeyError::Lacking { why, .. }) => (None, Some(why)),
        Err(error) => (None, Some(error.to_string())),
    }
}

/// `a.b` and `a` of `a.b.c`.
fn parents(key: &str) -> impl Iterator<Item = &str> {
    key.rmatch_indices('.').map(|(at, _)| &key[..at])
}

fn parsed(value: &str) -> Value {
    yaml::parse(value).unwrap_or_else(|_| value.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a release writes otherwise than the preset says, a line a setting.
    fn otherwise(release: &str) -> String {
        let release = Release::facts_for(release).unwrap();
        let all = written(PresetName::Tiny, release);
        let lines = all.iter().filter_map(|w| {
            let why = w.why.as_ref()?;
            let own = match &w.own {
                Some((key, value)) => format!("{key}: {value}"),
                None => "left out".to_owned(),
            };
            let Setting { key, value, .. } = w.setting;
            Some(format!("{key}: {value} -> {own} ({why})"))
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn each_release_writes_the_tiny_preset_in_its_own_words() {
        insta::assert_snapshot!(otherwise("5.0"), @"");
        insta::assert_snapshot!(otherwise("4.1"), @r"
        memtable.configurations.default.class_name: TrieMemtable -> left out (trie memtables came with 5.0)
        compressed_read_ahead_buffer_size: 0KiB -> left out (the key came with 5.0)
        ");
        insta::assert_snapshot!("tiny_on_4_0", otherwise("4.0"));
        insta::assert_snapshot!("tiny_on_3_11", otherwise("3.11"));
    }

    #[test]
    fn every_key_that_is_written_is_one_that_the_release_takes() {
        for release in Release::all() {
            for preset in PresetName::ALL {
                for w in written(preset, release) {
                    let Some((key, value)) = w.own else {
                        assert!(w.why.is_some(), "{}", w.setting.key);
                        continue;
                    };
                    if w.setting.place != Place::Yaml || key.starts_with("memtable.conf") {
                        continue;
                    }
                    let checked = release.keys().check_value(&key, &value);
                    let checked = checked.unwrap_or_else(|e| panic!("{}: {e}", release.version));
                    assert_eq!(checked.name, key, "{}", release.version);
                }
            }
        }
    }
}
