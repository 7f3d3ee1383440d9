//! What a manifest comes to while it is read: data centres, settings, flags, and the fate of each field.
//! Refuses two answers where a cluster has one: release, tokens, authenticator, collector.

use super::fields;
use super::read::At;
use super::{Manifest, ManifestError};
use crate::like::{Class, Difference, shown};
use crate::nearest::nearest;
use crate::release::Release;
use crate::secret::word_without_secrets;
use crate::topology::wan::Wan;
use crate::topology::{DataCenter, Topology, Words, check_cluster_name};
use crate::units::Bytes;
use crate::yaml;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The rack that Cassandra takes where none is named.
pub(super) const RACK: &str = "rack1";

/// Flags of a JVM by the option that says them, and its sizes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Jvm {
    options: Vec<(String, Vec<String>)>,
    pub(super) heap: Option<Bytes>,
    pub(super) new_heap: Option<Bytes>,
}

impl Jvm {
    /// Sets an option's flags, in place of those that it had.
    pub(super) fn put(&mut self, option: &str, flags: Vec<String>) {
        self.options.retain(|(name, _)| name != option);
        self.options.push((option.to_owned(), flags));
    }

    /// With more options, which win.
    pub(super) fn and(&self, more: Self) -> Self {
        let mut all = self.clone();
        for (option, flags) in more.options {
            all.put(&option, flags);
        }
        all.heap = more.heap.or(all.heap);
        all.new_heap = more.new_heap.or(all.new_heap);
        all
    }

    fn flags(&self) -> Vec<String> {
        let flags = self.options.iter().flat_map(|(_, flags)| flags);
        flags.cloned().collect()
    }
}

/// One data centre, as the manifest has it.
pub(super) struct Site {
    /// Name in Cassandra.
    pub(super) name: String,
    /// Name of the resource that describes it.
    pub(super) resource: String,
    /// Racks with their nodes, in order.
    pub(super) racks: Vec<(String, u32)>,
    /// Nodes that only coordinate.
    pub(super) coordinators: u32,
    /// Keys of its cassandra.yaml.
    pub(super) yaml: Map<String, Value>,
    pub(super) jvm: Jvm,
}

/// What is known so far.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) sites: Vec<Site>,
    /// Clients are asked for a password.
    pub(super) auth: bool,
    /// Clients and nodes encrypt.
    pub(super) tls: bool,
    /// Tokens of a node where no key says so; those of an operator or an image unless set.
    pub(super) tokens: Option<u32>,
    /// Another database than Apache Cassandra: its release means nothing here.
    pub(super) foreign: bool,
    /// Where the release stands, and its text.
    server: Option<(String, String)>,
    limited: bool,
    differences: Vec<Difference>,
}

/// Keys that have one value in the whole cluster, or in all that Helenus starts.
const CLUSTER_WIDE: [&str; 11] = [
    "authenticator",
    "authorizer",
    "cidr_authorizer",
    "client_encryption_options",
    "cluster_name",
    "endpoint_snitch",
    "network_authorizer",
    "num_tokens",
    "partitioner",
    "role_manager",
    "server_encryption_options",
];

const LIMITED: &str = "requests and limits of the manifest are not set here: the preset plans the memory, and --memory and --cpus set limits";

impl Draft {
    /// Notes what became of something; the same is noted once.
    pub(super) fn push(&mut self, difference: Difference) {
        if !self.differences.contains(&difference) {
            self.differences.push(difference);
        }
    }

    /// Notes what became of a value.
    pub(super) fn note(&mut self, at: &At<'_>, class: Class, now: Option<String>, why: &str) {
        self.push(Difference {
            key: at.path.clone(),
            class,
            was: Some(at.shown()),
            now,
            why: why.to_owned(),
        });
    }

    /// Notes what the manifest leaves to others.
    pub(super) fn add(&mut self, key: String, now: String, why: &str) {
        self.push(Difference {
            key,
            class: Class::Added,
            was: None,
            now: Some(now),
            why: why.to_owned(),
        });
    }

    /// Notes what became of a flag of the JVM.
    pub(super) fn note_flag(&mut self, key: &str, flag: &str, class: Class, why: &str) {
        let shown = word_without_secrets(flag);
        self.push(Difference {
            key: key.to_owned(),
            class,
            now: (class == Class::Kept).then(|| shown.clone()),
            was: Some(shown),
            why: why.to_owned(),
        });
    }

    /// Notes every key of a map that nobody reads.
    pub(super) fn rest(
        &mut self,
        at: &At<'_>,
        read: &[&str],
        part: &str,
    ) -> Result<(), ManifestError> {
        for (key, value) in at.entries()? {
            if !read.contains(&key) {
                self.unread(key, &value, read, part);
            }
        }
        Ok(())
    }

    /// Notes a key of this part that nobody reads; `read` are its neighbours.
    pub(super) fn unread(&mut self, key: &str, value: &At<'_>, read: &[&str], part: &str) {
        let groups = fields::of(part);
        if let Some(group) = groups.iter().find(|group| group.fields.contains(&key)) {
            return self.note(value, group.class, None, group.why);
        }
        let known = groups.iter().flat_map(|group| &group.fields);
        let why = match nearest(key, known.chain(read).copied()) {
            Some(near) => format!("Helenus knows no such field; the nearest is {near}"),
            None => "Helenus knows no such field".to_owned(),
        };
        self.note(value, Class::Unknown, None, &why);
    }

    /// Requests and limits: sizes of another machine.
    pub(super) fn resources(&mut self, at: &At<'_>) -> Result<(), ManifestError> {
        for (part, sizes) in at.entries()? {
            if !matches!(part, "limits" | "requests") {
                self.note(&sizes, Class::NotHere, None, "there are no pods here");
                continue;
            }
            for (name, size) in sizes.entries()? {
                let why = match name {
                    "memory" => {
                        "memory of another machine: the preset's plan; --memory sets a limit"
                    }
                    "cpu" => "processors of another machine; --cpus sets a limit",
                    _ => "a size of another machine",
                };
                self.note(&size, Class::Shrunk, None, why);
                self.limited = true;
            }
        }
        Ok(())
    }

    /// The release, as `text` says it.
    pub(super) fn server(&mut self, at: &At<'_>, text: &str) {
        match &self.server {
            None => self.server = Some((at.path.clone(), text.to_owned())),
            Some((_, first)) if first == text => {}
            Some(_) => {
                let why = "all nodes start with one release: the first of the file";
                self.note(at, Class::Replaced, None, why);
            }
        }
    }

    /// Where nodes stand, in words.
    pub(super) fn standing(name: &str, racks: &[(String, u32)]) -> String {
        let nodes: u32 = racks.iter().map(|(_, nodes)| nodes).sum();
        let names = racks.iter().filter(|(_, nodes)| *nodes > 0);
        let names: Vec<&str> = names.map(|(name, _)| name.as_str()).collect();
        let word = |count: usize, word: &str| match count {
            1 => word.to_owned(),
            _ => format!("{word}s"),
        };
        let (many, rack) = (word(nodes as usize, "node"), word(names.len(), "rack"));
        format!("{name}: {nodes} {many} in {rack} {}", names.join(", "))
    }

    /// Where the nodes of each data centre stand, by its name.
    pub(super) fn standings(&self) -> Vec<(String, String)> {
        let sites = self.sites.iter();
        let one = |site: &Site| (site.name.clone(), Self::standing(&site.name, &site.racks));
        sites.map(one).collect()
    }

    /// The manifest, once all is read.
    pub(super) fn finish(mut self) -> Result<Manifest, ManifestError> {
        let names = self.names();
        let (common, own_yaml) = self.settings(&names);
        let (jvm, own_jvm) = self.flags(&names);
        let (release, server) = self.release();
        let sites = self.sites.iter().zip(&names).zip(own_jvm);
        let data_centers = sites.map(|((site, name), jvm)| DataCenter {
            name: name.clone(),
            racks: in_turn(&site.racks, site.coordinators),
            coordinators: site.coordinators,
            words: Words {
                jvm,
                ..Words::default()
            },
            ..DataCenter::default()
        });
        let topology = Topology {
            data_centers: data_centers.collect(),
            links: Vec::new(),
            wan: Wan::default(),
        };
        topology.check()?;
        let text = |map: Map<String, Value>| yaml::render(&Value::Object(map));
        let own_yaml = own_yaml.into_iter().map(|own| match own.is_empty() {
            true => String::new(),
            false => text(own),
        });
        let old = server
            .as_ref()
            .is_some_and(|(_, text)| text.starts_with("3."));
        let sizes = |of: fn(&Jvm) -> Option<Bytes>| {
            let sites = self.sites.iter();
            sites.filter_map(|site| of(&site.jvm)).max()
        };
        Ok(Manifest {
            topology,
            release,
            heap: sizes(|jvm| jvm.heap),
            new_heap: sizes(|jvm| jvm.new_heap),
            cassandra_yaml: text(common),
            own_yaml: own_yaml.collect(),
            jvm,
            auth: self.auth,
            tls: self.tls,
            tokens: self.tokens.unwrap_or(if old { 256 } else { 16 }),
            notes: self
                .limited
                .then(|| LIMITED.to_owned())
                .into_iter()
                .collect(),
            differences: self.differences,
            server,
        })
    }

    /// Names of the data centres here; what cannot be one is changed, and noted.
    fn names(&mut self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for site in &self.sites {
            let name = local_name(&site.name, &names);
            if name != site.name {
                self.differences.push(Difference {
                    key: format!("{}/datacenterName", site.resource),
                    class: Class::Replaced,
                    was: Some(site.name.clone()),
                    now: Some(name.clone()),
                    why:
                        "a data centre's name here has letters, digits, - and _, and no node's name"
                            .to_owned(),
                });
            }
            names.push(name);
        }
        names
    }

    /// Keys of the whole cluster, and those that each data centre has for itself.
    fn settings(&mut self, names: &[String]) -> (Map<String, Value>, Vec<Map<String, Value>>) {
        let keys = self.sites.iter().flat_map(|site| site.yaml.keys().cloned());
        let keys: BTreeSet<String> = keys.collect();
        let mut common = Map::new();
        let mut own = vec![Map::new(); self.sites.len()];
        for key in keys {
            let values = self.sites.iter().map(|site| site.yaml.get(&key).cloned());
            let values: Vec<Option<Value>> = values.collect();
            let Some(first) = values.iter().flatten().next().cloned() else {
                continue;
            };
            let same = |value: &Option<Value>| value.as_ref() == Some(&first);
            if !values.iter().all(same) && !CLUSTER_WIDE.contains(&key.as_str()) {
                for (map, value) in own.iter_mut().zip(values) {
                    map.extend(value.map(|value| (key.clone(), value)));
                }
                continue;
            }
            for (name, value) in names.iter().zip(&values).filter(|(_, value)| !same(value)) {
                self.differences.push(Difference {
                    key: format!("{name}/{key}"),
                    class: Class::Replaced,
                    was: value.as_ref().map(|value| shown(&key, value)),
                    now: Some(format!("{key}: {}", shown(&key, &first))),
                    why: "one value for the whole cluster: the first of the file".to_owned(),
                });
            }
            common.insert(key, first);
        }
        (common, own)
    }

    /// Flags of all nodes, and those that each data centre has for itself.
    fn flags(&mut self, names: &[String]) -> (Vec<String>, Vec<Vec<String>>) {
        let all: Vec<Vec<String>> = self.sites.iter().map(|site| site.jvm.flags()).collect();
        let everywhere = |flag: &String| all.iter().all(|flags| flags.contains(flag));
        let first = all.first().into_iter().flatten();
        let common: Vec<String> = first.filter(|flag| everywhere(flag)).cloned().collect();
        let mut own = Vec::new();
        for (name, flags) in names.iter().zip(&all) {
            let mut kept = Vec::new();
            for flag in flags.iter().filter(|flag| !common.contains(flag)) {
                // The plan knows one collector for all nodes.
                if flag.starts_with("-XX:+Use") && flag.ends_with("GC") {
                    let why = "the data centres have different collectors: the preset's is in their place";
                    self.note_flag(&format!("{name}/jvm"), flag, Class::Replaced, why);
                } else {
                    kept.push(flag.clone());
                }
            }
            own.push(kept);
        }
        (common, own)
    }

    /// The release where Helenus knows it, and where it stands; what is unknown is noted.
    fn release(&mut self) -> (Option<String>, Option<(String, String)>) {
        let Some((key, text)) = self.server.take().filter(|_| !self.foreign) else {
            return (None, None);
        };
        match Release::find(&text) {
            Ok(release) => (Some(release.version.to_owned()), Some((key, text))),
            Err(error) => {
                self.push(Difference {
                    key,
                    class: Class::Unknown,
                    was: Some(text),
                    now: None,
                    why: error.hint(),
                });
                (None, None)
            }
        }
    }
}

/// Racks of nodes, in turn as long as each has nodes left, then those of the coordinators.
fn in_turn(racks: &[(String, u32)], coordinators: u32) -> Vec<String> {
    let most = racks.iter().map(|(_, nodes)| *nodes).max().unwrap_or(0);
    let rounds = (0..most).flat_map(|round| racks.iter().filter(move |(_, nodes)| round < *nodes));
    let used = racks.iter().filter(|(_, nodes)| *nodes > 0);
    let after = used.cycle().take(coordinators as usize);
    rounds.chain(after).map(|(name, _)| word(name)).collect()
}

/// A rack's name here; of one that is not named, the one that Cassandra takes then.
pub(super) fn rack_word(name: Option<&str>) -> String {
    word(name.unwrap_or(RACK))
}

/// Letters, digits, `-`, `_` and `.`; anything else as `-`.
fn word(name: &str) -> String {
    let one = |c: char| match c {
        '-' | '_' | '.' => c,
        c if c.is_ascii_alphanumeric() => c,
        _ => '-',
    };
    name.chars().map(one).collect()
}

/// A name that a data centre can have here, and that is none of `taken`.
fn local_name(name: &str, taken: &[String]) -> String {
    let mut local = word(name).replace('.', "-");
    let letter = local.starts_with(|c: char| c.is_ascii_alphabetic());
    if !letter || local.starts_with("node") || local == "all" {
        local.insert_str(0, "dc-");
    }
    local.truncate(40);
    debug_assert!(check_cluster_name(&local).is_ok());
    let base: String = local.chars().take(36).collect();
    let others = (2..).map(|k: u32| format!("{base}-{k}"));
    let mut candidates = std::iter::once(local.clone()).chain(others);
    let free = candidates.find(|name| !taken.contains(name));
    free.unwrap_or(local)
}
