//! One key of a production's file after the other: kept, renamed, shrunk, replaced or refused.
//! Refuses to grow a size, and to change a behaviour that the release can have.

use super::{Beside, Class, Difference, ProductionPlace, classes, plain, shown};
use crate::preset::{Place, PresetName, SizeOf, size_in, size_of, sizes};
use crate::release::{KeyError, Keys, Kind, Note, Release, amount, clash, modern_form};
use crate::secret::without_secrets;
use crate::yaml;
use serde_json::{Map, Value};

pub(super) struct Fitting<'a> {
    release: &'a Release,
    preset: PresetName,
    tls: bool,
    nodes: Option<u32>,
    /// `--tokens`, where it was given.
    tokens: Option<u32>,
    pub(super) auth: bool,
    pub(super) initial_tokens: Vec<i64>,
    pub(super) place: Option<ProductionPlace>,
    pub(super) settings: Vec<(String, Value)>,
    pub(super) differences: Vec<Difference>,
}

/// A cache of passwords would let the stock account in after it was closed: key, value and reason.
const CREDENTIALS: (&str, &str, &str) = (
    "credentials_validity",
    "0ms",
    "the stock account is closed during the start, which must take effect immediately",
);

/// Thread pools whose default a node computes, with what it computes for one folder of data.
const COMPUTED: [(&str, &str); 2] = [
    ("concurrent_compactors", "2"),
    ("memtable_flush_writers", "2"),
];

/// Copies of a keyspace that names none, system_auth among them: with more than the nodes can hold nobody can log in.
const COPIES: &str = "default_keyspace_rf";

/// What a cache keeps that the release's default would switch off.
const ROW_CACHE: (&str, &str) = ("row_cache_size", "4MiB");

/// Sizes of which a node with any heap has as much, though it computes its own.
const SMALL: [(&str, &str); 7] = [
    ("key_cache_size", "2MiB"),
    ("counter_cache_size", "1MiB"),
    ("paxos_cache_size", "1MiB"),
    ("index_summary_capacity", "2MiB"),
    ("repair_session_space", "3MiB"),
    ("cdc_total_space", "4096MiB"),
    ("commitlog_total_space", "64MiB"),
];

impl<'a> Fitting<'a> {
    pub(super) fn new(
        map: &Map<String, Value>,
        rackdc: Option<&str>,
        release: &'a Release,
        preset: PresetName,
        beside: Beside,
    ) -> Self {
        let of_file = map.get("authenticator");
        Self {
            release,
            preset,
            tls: beside.tls,
            nodes: beside.nodes,
            tokens: beside.tokens,
            auth: beside.auth || of_file.is_some_and(classes::asks_for_passwords),
            initial_tokens: if beside.lone {
                classes::initial_tokens(map)
            } else {
                Vec::new()
            },
            place: classes::place(map, rackdc),
            settings: Vec::new(),
            differences: Vec::new(),
        }
    }

    fn keys(&self) -> &Keys {
        self.release.keys()
    }

    /// The newest release's name of a key, or the name itself.
    pub(super) fn modern(&self, key: &str) -> String {
        let newest = Release::newest().keys();
        let known = newest.named(key).or_else(|| self.keys().named(key));
        known.map_or_else(|| key.to_owned(), |k| k.name.clone())
    }

    fn note(&mut self, key: &str, class: Class, was: &Value, now: Option<String>, why: &str) {
        self.differences.push(Difference {
            key: key.to_owned(),
            class,
            was: Some(shown(key, was)),
            now,
            why: why.to_owned(),
        });
    }

    /// One key of the file, nested ones one by one.
    pub(super) fn take(&mut self, key: &str, value: &Value) {
        let modern = self.modern(key);
        if modern == "initial_token" && !self.initial_tokens.is_empty() {
            let now = Some(format!("{key}: {}", shown(key, value)));
            return self.note(key, Class::Kept, value, now, "");
        }
        if let Some(here) = classes::log_ins(&modern).filter(|_| self.auth) {
            let now = Some(format!("{modern}: {here}"));
            let (class, why) = match classes::is_class(value, here) {
                true => (Class::Kept, "with this cluster's own account"),
                false => (Class::Replaced, "a cluster with passwords uses this one"),
            };
            return self.note(key, class, value, now, why);
        }
        if modern == "num_tokens" && !value.is_null() {
            return self.num_tokens(key, value);
        }
        if self.auth && modern == CREDENTIALS.0 {
            let now = Some(self.written(CREDENTIALS.0, CREDENTIALS.1));
            return self.note(key, Class::Replaced, value, now, CREDENTIALS.2);
        }
        if let Some(why) = classes::replaced(&modern, self.place.as_ref()) {
            return self.note(key, Class::Replaced, value, why.now, &why.why);
        }
        if value.is_null() {
            let why = "empty in the file: treated as absent";
            return self.note(key, Class::Kept, value, None, why);
        }
        if classes::is_encryption(&modern) {
            return self.encryption(key, value);
        }
        if let Some(why) = classes::not_here(&modern, value, self.auth) {
            return self.note(key, Class::NotHere, value, None, &why);
        }
        if let Some(why) = classes::refused(&modern, value) {
            return self.refuse(key, value, &why);
        }
        if modern == COPIES
            && let Some(nodes) = self.nodes.filter(|n| amount(value) > Some(f64::from(*n)))
            && let Ok(own) = self.release.translate(key, &nodes.into())
        {
            let now = format!("{}: {}", own.name, plain(&own.value));
            self.settings.push((own.name, own.value));
            let why = "the data centres here have no more nodes";
            return self.note(key, Class::Shrunk, value, Some(now), why);
        }
        if let Some(of) = size_of(&modern) {
            return self.size(key, &modern, value, of);
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
            _ => self.keep(key, value),
        }
    }

    /// The plan writes it itself, from the file or from `--tokens`.
    fn num_tokens(&mut self, key: &str, value: &Value) {
        let now = |number: u32| Some(format!("num_tokens: {number}"));
        match (self.tokens, classes::tokens(value)) {
            (Some(flag), _) => {
                self.note(key, Class::Replaced, value, now(flag), "set by --tokens");
            }
            (None, Some(number)) => self.note(key, Class::Kept, value, now(number), ""),
            (None, None) => {
                let why = "it takes 1 to 256; --tokens applies";
                self.note(key, Class::Refused, value, None, why);
            }
        }
    }

    /// Encryption that is off stays off, without the key stores that nobody would read.
    fn encryption(&mut self, key: &str, value: &Value) {
        if self.tls {
            let why = "set by --tls, with its own key stores";
            return self.note(key, Class::Replaced, value, None, why);
        }
        let Some(options) = value.as_object().filter(|all| classes::is_off(all)) else {
            return self.note(key, Class::NotHere, value, None, classes::KEYSTORES);
        };
        if options.is_empty() {
            return self.note(key, Class::Kept, value, None, "nothing is encrypted");
        }
        for (option, value) in options {
            let name = format!("{key}.{option}");
            if classes::is_switch(option) && !value.is_null() {
                self.keep(&name, value);
            } else {
                let why = "the file encrypts nothing: not read";
                self.note(&name, Class::NotHere, value, None, why);
            }
        }
    }

    fn keep(&mut self, key: &str, value: &Value) {
        let bare = || Some(self.release.translate(key, &classes::bare(value)?));
        let checked = match self.release.translate(key, value) {
            Ok(checked) => checked,
            // Releases before 5.0 take the name of a class, and no map of it.
            Err(error) => match bare() {
                Some(Ok(checked)) => checked,
                _ => return self.unkept(key, value, &error),
            },
        };
        let of_newer = checked.notes.iter().any(|n| matches!(n, Note::Own { .. }));
        let renamed = checked
            .notes
            .iter()
            .any(|n| matches!(n, Note::Renamed { .. }));
        let release = self.release.version;
        let (class, why) = if of_newer {
            let of = |name: &str, value: &Value| amount(&modern_form(name, value).1);
            let rounded = match of(&checked.name, &checked.value) == of(key, value) {
                true => "",
                false => ", which is coarser",
            };
            (
                Class::Renamed,
                format!("the name and unit of {release}{rounded}"),
            )
        } else if renamed {
            (Class::Renamed, format!("an old name in {release}"))
        } else if plain(&checked.value) != plain(value) {
            (Class::Renamed, format!("as {release} writes it"))
        } else {
            (Class::Kept, String::new())
        };
        let now = format!("{}: {}", checked.name, shown(&checked.name, &checked.value));
        self.settings.push((checked.name, checked.value));
        self.note(key, class, value, Some(now), &why);
    }

    /// A key that the release does not have, or a value that it does not take.
    fn unkept(&mut self, key: &str, value: &Value, error: &KeyError) {
        match error {
            KeyError::Unknown { .. } => {
                let why = classes::history(key, self.release);
                self.note(key, Class::Unknown, value, None, &why);
            }
            KeyError::Lacking { why, .. } if self.keys().named(key).is_some() => {
                self.note(key, Class::Unknown, value, None, why);
            }
            KeyError::Lacking { .. } => {
                let why = classes::history(key, self.release);
                self.note(key, Class::Unknown, value, None, &why);
            }
            KeyError::Range { .. } | KeyError::Value { .. } => {
                self.refuse(key, value, &error.hint());
            }
            other => self.refuse(key, value, &format!("{other}; {}", other.hint())),
        }
    }

    /// A value that the release's node does not start with: its default, or the preset's size, is in its place.
    fn refuse(&mut self, key: &str, value: &Value, why: &str) {
        let modern = self.modern(key);
        let now = size_in(self.preset, &modern)
            .map(str::to_owned)
            .or_else(|| self.default(&modern))
            .map(|text| self.written(&modern, &text));
        self.note(key, Class::Refused, value, now, &without_secrets(why));
    }

    /// A size is the file's where that fits, else what this machine has room for.
    fn size(&mut self, key: &str, modern: &str, value: &Value, of: SizeOf) {
        if self.release.translate(key, value).is_err() {
            return self.keep(key, value);
        }
        let in_file = amount(&modern_form(key, value).1);
        let here = self.room(modern, of);
        let most = here.as_deref().or_else(|| small(modern)).map(yaml_value);
        let fits = match (in_file, most.as_ref().and_then(amount)) {
            (Some(file), Some(most)) => file <= most,
            (Some(file), None) => file == 0.0,
            (None, _) => false,
        };
        if fits {
            return self.keep(key, value);
        }
        let why = match (&here, modern) {
            (None, "data_disk_usage_max_disk_size") => format!("{}: left out", of.why()),
            (None, _) => format!("{}: the node computes its own", of.why()),
            (Some(size), "commitlog_segment_size") => format!(
                "{}; larger mutations than half of {size} are refused",
                of.why()
            ),
            _ => of.why().to_owned(),
        };
        if modern == ROW_CACHE.0
            && let Ok(own) = self.release.translate(modern, &yaml_value(ROW_CACHE.1))
        {
            self.settings.push((own.name, own.value));
        }
        let now = here.map(|size| self.written(modern, &size));
        self.note(key, Class::Shrunk, value, now, &why);
    }

    /// How large a size may be here; none where the node computes it from its heap and processors.
    fn room(&self, modern: &str, of: SizeOf) -> Option<String> {
        if modern == ROW_CACHE.0 {
            return Some(ROW_CACHE.1.to_owned());
        }
        if modern == "max_mutation_size" {
            return self.half_of_segment();
        }
        let computed = || {
            let known = COMPUTED.iter().find(|(key, _)| *key == modern);
            let threads = known.map(|(_, n)| (*n).to_owned());
            threads.or_else(|| (of == SizeOf::Threads).then(|| "2".to_owned()))
        };
        let preset = size_in(self.preset, modern).map(str::to_owned);
        let preset = preset.or_else(|| self.default(modern).filter(|text| !text.starts_with('0')));
        preset.or_else(computed)
    }

    /// Half of the commit log's segment, as it will be.
    fn half_of_segment(&self) -> Option<String> {
        let segment = self.settings.iter().rev().find_map(|(name, value)| {
            let (modern, value) = modern_form(name, value);
            (modern == "commitlog_segment_size").then_some(value)
        });
        let preset = size_in(self.preset, "commitlog_segment_size");
        let bytes = amount(&segment.unwrap_or_else(|| yaml_value(preset.unwrap_or("32MiB"))))?;
        Some(format!("{}KiB", (bytes / 2048.0).floor()))
    }

    /// The release's default under its own or a modern name, where it has a plain one.
    fn default(&self, modern: &str) -> Option<String> {
        let newest = Release::newest().keys();
        if let Some(key) = self.keys().get(modern) {
            return key.default.clone().filter(|text| !text.is_empty());
        }
        let old = newest.get(modern)?.old_names.iter();
        let own = old.filter_map(|old| self.keys().get(&old.name)).next()?;
        let value = yaml_value(own.default.as_deref()?);
        Some(plain(&modern_form(&own.name, &value).1))
    }

    /// Name and value as the release writes them.
    fn written(&self, modern: &str, text: &str) -> String {
        match self.release.translate(modern, &yaml_value(text)) {
            Ok(own) => format!("{}: {}", own.name, plain(&own.value)),
            Err(_) => format!("{modern}: {text}"),
        }
    }

    /// Settings that a node does not start with together, beside the sizes that it has of the preset.
    pub(super) fn refuse_clashes(&mut self, map: &Map<String, Value>) {
        let own = sizes(self.preset, self.release).into_iter();
        let own = own.filter(|w| w.setting.place == Place::Yaml);
        let of_preset: Vec<(String, Value)> = own.filter_map(|w| w.own).collect();
        // Each round takes one setting away.
        for _ in 0..map.len() {
            let mut all = of_preset.clone();
            all.extend(self.settings.iter().cloned());
            let Some((name, why)) = clash(&all) else {
                return;
            };
            self.take_back(&name, &why);
        }
    }

    /// Refuses a setting that was kept.
    fn take_back(&mut self, name: &str, why: &str) {
        self.settings.retain(|(key, _)| key != name);
        let begins = format!("{name}: ");
        let all = self.differences.iter_mut();
        for difference in all.filter(|d| d.now.as_ref().is_some_and(|n| n.starts_with(&begins))) {
            difference.class = Class::Refused;
            difference.now = None;
            why.clone_into(&mut difference.why);
        }
    }

    /// A commit log that is not synced by time must not have a time: Cassandra would not start, neither with the file's nor
    /// with the preset's.
    pub(super) fn settle_sync(&mut self, map: &Map<String, Value>) {
        let sync = map.get("commitlog_sync").and_then(Value::as_str);
        let Some(sync) = sync.filter(|sync| *sync != "periodic") else {
            return;
        };
        let windows = [
            "commitlog_sync_group_window",
            "commitlog_sync_group_window_in_ms",
        ];
        if sync == "group" && !windows.iter().any(|window| map.contains_key(*window)) {
            let why = "Cassandra needs commitlog_sync_group_window with it";
            return self.take_back("commitlog_sync", why);
        }
        let key = "commitlog_sync_period";
        let (name, none) = if self.keys().get(key).is_some() {
            (key, Value::from("0ms"))
        } else {
            ("commitlog_sync_period_in_ms", Value::from(0))
        };
        let said = self.settings.iter().find(|(key, _)| key == name);
        if said.is_some_and(|(_, value)| amount(value) != Some(0.0)) {
            self.take_back(name, &format!("not allowed with commitlog_sync: {sync}"));
        }
        self.settings.push((name.to_owned(), none));
    }

    /// Keys that stand in the file twice.
    pub(super) fn note_twice(&mut self, twice: &[String]) {
        for difference in &mut self.differences {
            let top = difference.key.split('.').next().unwrap_or_default();
            if twice.iter().any(|key| key == top) {
                let gap = if difference.why.is_empty() { "" } else { "; " };
                difference.why += &format!("{gap}twice in the file: the last one applies");
            }
        }
    }

    /// What a node has of the preset and the file does not say.
    pub(super) fn add_presets(&mut self, names: &[(String, String)]) {
        let said = |setting: &str| {
            let top = setting.split('.').next().unwrap_or(setting);
            names.iter().any(|(_, m)| m == setting || m == top)
        };
        let by_time = |settings: &[(String, Value)]| {
            let sync = settings.iter().find(|(key, _)| key == "commitlog_sync");
            sync.is_none_or(|(_, value)| plain(value) == "periodic")
        };
        if self.auth && !said(CREDENTIALS.0) {
            let now = self.written(CREDENTIALS.0, CREDENTIALS.1);
            let key = now.split(':').next().unwrap_or_default().to_owned();
            self.differences.push(Difference {
                key,
                class: Class::Added,
                was: None,
                now: Some(now),
                why: CREDENTIALS.2.to_owned(),
            });
        }
        for written in sizes(self.preset, self.release) {
            let setting = written.setting;
            let Some((key, value)) = written.own.as_ref() else {
                continue;
            };
            let (key, now) = match setting.place {
                Place::Yaml if said(setting.key) => continue,
                Place::Yaml if setting.key.ends_with("sync_period") && !by_time(&self.settings) => {
                    continue;
                }
                Place::Yaml => (key.clone(), format!("{key}: {}", plain(value))),
                Place::Property => (format!("-D{key}"), format!("-D{key}={}", plain(value))),
                Place::Jvm | Place::Environment | Place::Process => continue,
            };
            self.differences.push(Difference {
                key,
                class: Class::Added,
                was: None,
                now: Some(now),
                why: setting.reason.to_owned(),
            });
        }
    }
}

fn small(modern: &str) -> Option<&'static str> {
    let known = SMALL.iter().find(|(key, _)| *key == modern);
    known.map(|(_, size)| *size)
}

fn yaml_value(text: &str) -> Value {
    yaml::parse(text).unwrap_or_else(|_| Value::from(text))
}
