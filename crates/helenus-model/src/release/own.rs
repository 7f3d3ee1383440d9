//! A setting under any release's name, as one release writes it: its own name, its own unit.
//! Refuses to write what the release's node would refuse: what it does not take is an error with its reason.

use serde_json::Value;

use super::keys::plain;
use super::{Checked, KeyError, Lack, Note, Release, old, range};

impl Release {
    /// Checks a setting whose value is YAML text, under this release's name or under one of a newer release.
    ///
    /// # Errors
    /// What [`super::Keys::check`] refuses, and what this release does not support.
    pub fn check(&self, name: &str, value_yaml: &str) -> Result<Checked, KeyError> {
        match self.keys().check(name, value_yaml) {
            Ok(checked) => self.known(checked),
            Err(first) => {
                let mut newer = self.newer().map(|r| r.keys().check(name, value_yaml));
                match newer.find(|c| !matches!(c, Err(KeyError::Unknown { .. }))) {
                    Some(Ok(given)) => self.translate(&given.name, &given.value),
                    // A newer name with a value that no release takes.
                    Some(Err(error)) if matches!(first, KeyError::Unknown { .. }) => Err(error),
                    _ => Err(first),
                }
            }
        }
    }

    /// The setting as this release's node reads it, from this release's name and form or from a newer one's.
    ///
    /// # Errors
    /// What [`super::Keys::check_value`] refuses, and what this release does not support.
    pub fn translate(&self, name: &str, value: &Value) -> Result<Checked, KeyError> {
        let first = match self.keys().check_value(name, value) {
            Ok(checked) => return self.known(checked),
            Err(error) => error,
        };
        let top = name.split('.').next().unwrap_or(name);
        for newer in self.newer().filter(|r| r.keys().named(top).is_some()) {
            let Ok(modern) = newer.keys().check_value(name, value) else {
                continue;
            };
            if let Some(checked) = self.written(&modern) {
                return self.known(checked);
            }
            let why = match self.keys().get(name) {
                None => self.brought(name).map_or_else(
                    || "the key came with a newer release".to_owned(),
                    |release| format!("the key came with {release}"),
                ),
                Some(_) => "its own form of the key cannot express this value".to_owned(),
            };
            return Err(self.lacking(&modern, &why));
        }
        Err(first)
    }

    /// What this release lacks of that setting, beside the keys that are not in its table.
    pub fn lack(&self, key: &str, value: &str) -> Option<&'static Lack> {
        // Memtables may be configured under any name.
        let key = match key.strip_prefix("memtable.configurations.") {
            Some(rest) if rest.ends_with(".class_name") => {
                "memtable.configurations.default.class_name"
            }
            _ => key,
        };
        let of = |lack: &&Lack| lack.key == key && lack.value.is_none_or(|only| only == value);
        self.lacks.iter().find(of)
    }

    /// A key that the table has may still have a value that the release's classes lack, or refuse at their start.
    fn known(&self, checked: Checked) -> Result<Checked, KeyError> {
        if let Some(lack) = self.lacks_in(&checked.name, &checked.value) {
            return Err(self.lacking(&checked, lack.why));
        }
        range::check(self, &checked)?;
        Ok(checked)
    }

    /// Looks into maps as well: a key may be given whole, with what it lacks inside.
    fn lacks_in(&self, name: &str, value: &Value) -> Option<&'static Lack> {
        match value {
            Value::Object(map) => map
                .iter()
                .find_map(|(key, inner)| self.lacks_in(&format!("{name}.{key}"), inner)),
            other => self.lack(name, &plain(other)),
        }
    }

    /// The modern setting under the name that this release's table has for it.
    fn written(&self, modern: &Checked) -> Option<Checked> {
        let keys = self.newer().filter_map(|r| r.keys().get(&modern.name));
        keys.flat_map(|key| &key.old_names).find_map(|name| {
            self.keys().get(&name.name)?;
            let value = old::before(&name.converter, name.offset, &modern.value)?;
            let mut checked = self.keys().check_value(&name.name, &value).ok()?;
            checked.notes.push(Note::Own {
                given: modern.name.clone(),
                name: checked.name.clone(),
                value: plain(&checked.value),
            });
            Some(checked)
        })
    }

    fn lacking(&self, given: &Checked, why: &str) -> KeyError {
        KeyError::Lacking {
            release: self.version,
            name: given.name.clone(),
            value: plain(&given.value),
            why: why.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn outcome(release: &str, name: &str, value: &str) -> String {
        match Release::facts_for(release).unwrap().check(name, value) {
            Ok(checked) => {
                let notes: Vec<String> = checked.notes.iter().map(Note::to_string).collect();
                format!("{}: {} {notes:?}", checked.name, checked.value)
            }
            Err(error) => format!("{error} | {}", error.hint()),
        }
    }

    #[test]
    fn a_modern_name_is_written_as_the_release_writes_it() {
        insta::assert_snapshot!(
            [
                outcome("4.0", "memtable_heap_space", "8MiB"),
                outcome("4.0", "memtable_heap_space_in_mb", "8"),
                outcome("4.1", "memtable_heap_space_in_mb", "8"),
                outcome("4.0", "key_cache_save_period", "4h"),
                outcome("4.0", "compaction_throughput", "24MiB/s"),
                outcome("4.0", "user_defined_functions_enabled", "true"),
                outcome("4.0", "memtable.configurations.default.class_name", "TrieMemtable"),
                outcome("4.1", "memtable", "{configurations: {default: {class_name: TrieMemtable}}}"),
                outcome("3.11", "networking_cache_size", "8MiB"),
                outcome("4.0", "memtable_heap_space", "512KiB"),
                outcome("4.0", "memtable_heap_spice", "8MiB"),
                outcome("4.0", "concurrent_reads", "many"),
            ]
            .join("\n"),
            @r#"
        memtable_heap_space_in_mb: 8 ["memtable_heap_space is set as this release writes it, memtable_heap_space_in_mb: 8"]
        memtable_heap_space_in_mb: 8 []
        memtable_heap_space: "8MiB" ["memtable_heap_space_in_mb is an old name; set as memtable_heap_space: 8MiB"]
        key_cache_save_period: 14400 ["key_cache_save_period is set as this release writes it, key_cache_save_period: 14400"]
        compaction_throughput_mb_per_sec: 24 ["compaction_throughput is set as this release writes it, compaction_throughput_mb_per_sec: 24"]
        enable_user_defined_functions: true ["user_defined_functions_enabled is set as this release writes it, enable_user_defined_functions: true"]
        "memtable.configurations.default.class_name" is inside memtable.configurations, which takes a map to a class name, or a map with class_name and parameters | set it whole: memtable.configurations={name: value}
        Cassandra 4.1.10 does not support memtable: {"configurations":{"default":{"class_name":"TrieMemtable"}}} | trie memtables came with 5.0; leave it out, or use a newer release
        Cassandra 3.11.5 does not support networking_cache_size: 8MiB | the key came with 4.1; leave it out, or use a newer release
        memtable_heap_space does not take 512KiB | it takes a size such as 64MiB, in MiB, GiB
        cassandra.yaml has no key "memtable_heap_spice" | did you mean memtable_heap_space_in_mb?
        concurrent_reads does not take many | it takes a whole number from -2147483648 to 2147483647; the default is 32
        "#
        );
    }

    #[test]
    fn what_is_written_is_never_written_anew() {
        for release in Release::all() {
            let all = Release::newest().keys().all().iter();
            for key in all.filter(|k| !k.old_names.is_empty()) {
                let Some(value) = &key.default else { continue };
                let Ok(first) = release.check(&key.name, value) else {
                    continue;
                };
                let again = release.translate(&first.name, &first.value).unwrap();
                assert_eq!((again.name, again.value), (first.name, first.value));
            }
        }
        let five = Release::newest();
        let same = five.translate("concurrent_reads", &json!(64)).unwrap();
        assert_eq!(
            (same.name.as_str(), same.notes.len()),
            ("concurrent_reads", 0)
        );
    }
}
