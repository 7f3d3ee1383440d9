//! A topology as a TOML file: data centres, racks, nodes, what is set for each, and the links between.
//! Refuses unknown keys, with their line and the nearest known one.

use super::link::{LinkError, LinkPreset, LinkWords, delay_us, half_us, loss_ppm, rate_bits};
use super::wan::Wan;
use super::{DataCenter, Topology, TopologyError, Words};
use crate::toml_file::{FileError, Reader};
use crate::units::Bytes;
use std::borrow::Cow;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What a file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopologyFile {
    /// Shape and distance.
    pub topology: Topology,
    /// Release, where the file says one.
    pub cassandra: Option<String>,
    /// Preset, where the file says one.
    pub preset: Option<String>,
    /// What all nodes are given.
    pub words: Words,
}

const TOP: [&str; 13] = [
    "cassandra",
    "preset",
    "heap",
    "new_heap",
    "set",
    "jvm",
    "disk",
    "links",
    "rtt",
    "wan",
    "coordinator",
    "data_center",
    "link",
];
const DATA_CENTER: [&str; 13] = [
    "name",
    "nodes",
    "racks",
    "coordinators",
    "preset",
    "heap",
    "new_heap",
    "set",
    "jvm",
    "disk",
    "rack",
    "coordinator",
    "node",
];
const NODE: [&str; 7] = ["node", "preset", "heap", "new_heap", "set", "jvm", "disk"];
const RACK: [&str; 7] = ["rack", "preset", "heap", "new_heap", "set", "jvm", "disk"];
const COORDINATOR: [&str; 6] = ["preset", "heap", "new_heap", "set", "jvm", "disk"];
const LINK: [&str; 9] = [
    "between", "from", "to", "rtt", "delay", "jitter", "loss", "rate", "cut",
];

/// Reads a file's text.
///
/// # Errors
/// The first line that is not understood.
pub fn read(text: &str) -> Result<TopologyFile, FileError> {
    let (reader, document) = Reader::parse(text)?;
    let top = document.get_ref();
    reader.known(top, &TOP)?;
    let mut topology = Topology {
        data_centers: Vec::new(),
        links: Vec::new(),
        wan: Wan::default(),
    };
    let of_all = reader.of_coordinators(top)?;
    for (at, table) in reader.tables(top, "data_center")? {
        let mut dc = reader.data_center(at, table)?;
        dc.of_coordinators = of_all.and(Some(&dc.of_coordinators));
        topology.data_centers.push(dc);
    }
    topology.check().map_err(|e| refused(&reader, 0, &e))?;
    if let Some((at, name)) = reader.text(top, "links")? {
        let preset = LinkPreset::find(&name)
            .ok_or_else(|| refused(&reader, at, &TopologyError::Preset(name.into_owned())))?;
        topology
            .use_links(preset)
            .map_err(|e| refused(&reader, at, &e))?;
    }
    if let Some((at, rtt)) = reader.text(top, "rtt")? {
        topology
            .set_rtt(&rtt)
            .map_err(|e| refused(&reader, at, &e))?;
    }
    for (at, table) in reader.tables(top, "link")? {
        reader.link(at, table, &mut topology)?;
    }
    if let Some((at, name)) = reader.text(top, "wan")? {
        let wan = Wan::find(&name);
        wan.and_then(|wan| topology.held_by(wan))
            .map_err(|e| refused(&reader, at, &e))?;
    }
    let owned = |found: Option<(usize, Cow<'_, str>)>| found.map(|(_, text)| text.into_owned());
    Ok(TopologyFile {
        cassandra: owned(reader.text(top, "cassandra")?),
        preset: owned(reader.text(top, "preset")?),
        words: reader.words(top)?,
        topology,
    })
}

/// A topology's error at a place.
fn refused(reader: &Reader<'_>, at: usize, error: &TopologyError) -> FileError {
    reader.refused(at, error, error.hint())
}

impl Reader<'_> {
    /// Keys of a part of the cluster; its release is no part's.
    fn known_of_part(&self, table: &DeTable<'_>, keys: &[&str]) -> Result<(), FileError> {
        match table.get_key_value("cassandra") {
            Some((key, _)) => Err(FileError {
                hint: Some("write cassandra = \"RELEASE\" at the top of the file".into()),
                ..self.wrong(key.span().start, "all nodes of a cluster have one release")
            }),
            None => self.known(table, keys),
        }
    }

    fn number(&self, table: &DeTable<'_>, key: &str) -> Result<Option<u32>, FileError> {
        let Some(value) = table.get(key) else {
            return Ok(None);
        };
        let at = value.span().start;
        let number = match value.get_ref() {
            DeValue::Integer(number) => u32::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        let number = number.filter(|n| *n <= super::NODES_MAX);
        let wrong = || {
            self.wrong(
                at,
                format!("{key} must be a number up to {}", super::NODES_MAX),
            )
        };
        number.ok_or_else(wrong).map(Some)
    }

    /// What a part of the cluster is given: `preset`, and as [`Self::words`].
    fn words_of_part(&self, table: &DeTable<'_>) -> Result<Words, FileError> {
        let preset = self.text(table, "preset")?;
        Ok(Words {
            preset: preset.map(|(_, name)| name.into_owned()),
            ..self.words(table)?
        })
    }

    /// What nodes are given that only coordinate, of the cluster or of a data centre.
    fn of_coordinators(&self, table: &DeTable<'_>) -> Result<Words, FileError> {
        let Some(value) = table.get("coordinator") else {
            return Ok(Words::default());
        };
        let tier = self.table(value, "coordinator")?;
        self.known_of_part(tier, &COORDINATOR)?;
        self.words_of_part(tier)
    }

    fn size(&self, table: &DeTable<'_>, key: &str) -> Result<Option<Bytes>, FileError> {
        let size = self.text(table, key)?;
        let size =
            size.map(|(at, text)| Bytes::parse(&text).map_err(|e| self.wrong(at, e.to_string())));
        size.transpose()
    }

    /// `set` as a table of scalars, `jvm` as a list of flags, `disk`, `heap` and `new_heap` as sizes.
    fn words(&self, table: &DeTable<'_>) -> Result<Words, FileError> {
        let mut words = Words {
            disk: self.size(table, "disk")?,
            heap: self.size(table, "heap")?,
            new_heap: self.size(table, "new_heap")?,
            ..Words::default()
        };
        if let Some(value) = table.get("set") {
            let DeValue::Table(set) = value.get_ref() else {
                return Err(
                    self.wrong(value.span().start, "set must be a table of keys and values")
                );
            };
            self.set_words("", set, &mut words.set)?;
        }
        if let Some(value) = table.get("jvm") {
            let wrong = |at| self.wrong(at, "jvm must be a list of flags in quotes");
            let DeValue::Array(flags) = value.get_ref() else {
                return Err(wrong(value.span().start));
            };
            for flag in flags {
                match flag.get_ref() {
                    DeValue::String(flag) => words.jvm.push(flag.to_string()),
                    _ => return Err(wrong(flag.span().start)),
                }
            }
        }
        Ok(words)
    }

    fn set_words(
        &self,
        above: &str,
        table: &DeTable<'_>,
        to: &mut Vec<String>,
    ) -> Result<(), FileError> {
        for (key, value) in table {
            let name = format!("{above}{}", key.get_ref());
            let text = match value.get_ref() {
                DeValue::Table(inner) => {
                    self.set_words(&format!("{name}."), inner, to)?;
                    continue;
                }
                DeValue::String(text) => text.to_string(),
                DeValue::Integer(number) => number.as_str().to_owned(),
                DeValue::Float(number) => number.as_str().to_owned(),
                DeValue::Boolean(flag) => flag.to_string(),
                _ => {
                    let what = format!("{name} must be a text, a number, true or false");
                    return Err(self.wrong(value.span().start, what));
                }
            };
            to.push(format!("{name}={text}"));
        }
        Ok(())
    }

    fn data_center(&self, at: usize, table: &DeTable<'_>) -> Result<DataCenter, FileError> {
        self.known_of_part(table, &DATA_CENTER)?;
        let name = self.text(table, "name")?;
        let (_, name) = name.ok_or_else(|| self.wrong(at, "a data centre needs a name"))?;
        let nodes = self.number(table, "nodes")?;
        let nodes = nodes.ok_or_else(|| self.wrong(at, format!("{name} needs nodes = N")))?;
        let coordinators = self.number(table, "coordinators")?.unwrap_or(0);
        let racks = self.number(table, "racks")?.unwrap_or(1);
        let all = nodes + coordinators;
        if nodes == 0 || racks == 0 || racks > nodes || all > super::DATA_CENTER_NODES_MAX {
            let error = TopologyError::DataCenter {
                data_center: name.into_owned(),
                nodes: all,
                racks,
                coordinators,
            };
            return Err(refused(self, at, &error));
        }
        let mut dc = DataCenter {
            coordinators,
            words: self.words_of_part(table)?,
            of_coordinators: self.of_coordinators(table)?,
            ..DataCenter::new(&name, all, racks)
        };
        for (at, rack) in self.tables(table, "rack")? {
            self.known_of_part(rack, &RACK)?;
            let named = self.text(rack, "rack")?;
            let named = named.map(|(_, named)| named.into_owned());
            let named = named.filter(|named| dc.racks.contains(named));
            let named = named.ok_or_else(|| {
                let what = format!("a rack of {name} needs rack = \"rack1\" to \"rack{racks}\"");
                self.wrong(at, what)
            })?;
            if dc.of_racks.contains_key(&named) {
                return Err(self.wrong(at, format!("{named} of {name} is listed twice")));
            }
            dc.of_racks.insert(named, self.words_of_part(rack)?);
        }
        for (at, node) in self.tables(table, "node")? {
            self.known_of_part(node, &NODE)?;
            let number = self.number(node, "node")?;
            let number = number.filter(|n| (1..=all).contains(n)).ok_or_else(|| {
                self.wrong(at, format!("a node of {name} needs node = 1 to {all}"))
            })?;
            if dc.nodes.insert(number, self.words_of_part(node)?).is_some() {
                return Err(self.wrong(at, format!("node {number} of {name} is listed twice")));
            }
        }
        Ok(dc)
    }

    fn link(&self, at: usize, table: &DeTable<'_>, to: &mut Topology) -> Result<(), FileError> {
        self.known(table, &LINK)?;
        let mut words = LinkWords::default();
        let read = |key: &str, of: &dyn Fn(&str) -> Result<u64, LinkError>| {
            let found = self.text(table, key)?;
            let value = found.map(|(at, text)| {
                of(&text).map_err(|e| refused(self, at, &TopologyError::Link(e)))
            });
            value.transpose()
        };
        words.delay_us = match (read("rtt", &half_us)?, read("delay", &delay_us)?) {
            (Some(_), Some(_)) => {
                return Err(self.wrong(at, "a link takes rtt or delay, not both"));
            }
            (rtt, delay) => rtt.or(delay),
        };
        words.jitter_us = read("jitter", &delay_us)?;
        let ppm = read("loss", &|text| loss_ppm(text).map(u64::from))?;
        words.loss_ppm = ppm.and_then(|ppm| u32::try_from(ppm).ok());
        words.rate_bits = read("rate", &rate_bits)?;
        words.cut = self.yes(table, "cut")?;
        for (from, to_) in self.ends(at, table)? {
            to.set_link(&from, &to_, words)
                .map_err(|e| refused(self, at, &e))?;
        }
        Ok(())
    }

    /// The directions that a link is about: both of `between`, or the one of `from` and `to`.
    fn ends(&self, at: usize, table: &DeTable<'_>) -> Result<Vec<(String, String)>, FileError> {
        let wrong = || {
            let what =
                "a link needs between = [\"DC1\", \"DC2\"], or from and to for one direction";
            self.wrong(at, what)
        };
        let one = (self.text(table, "from")?, self.text(table, "to")?);
        match (table.get("between").map(Spanned::get_ref), one) {
            (None, (Some((_, from)), Some((_, to)))) => {
                Ok(vec![(from.into_owned(), to.into_owned())])
            }
            (Some(DeValue::Array(pair)), (None, None)) => {
                let text = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
                    DeValue::String(text) => Some(text.to_string()),
                    _ => None,
                };
                let names: Option<Vec<String>> = pair.iter().map(text).collect();
                match names.as_deref() {
                    Some([a, b]) => Ok(vec![(a.clone(), b.clone()), (b.clone(), a.clone())]),
                    _ => Err(wrong()),
                }
            }
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::link::Link;
    use super::*;
    use proptest::prelude::*;

    const WHOLE: &str = r#"
cassandra = "5.0"
preset = "tiny"
disk = "512M"
rtt = "80ms"
wan = "netem"
set = { concurrent_reads = 4 }

[[data_center]]
name = "east"
nodes = 3
racks = 3
coordinators = 1
preset = "dev"
heap = "600M"
jvm = ["-XX:+UseSerialGC"]
disk = "1G"
  [[data_center.node]]
  node = 2
  disk = "256M"
  set = { memtable = { flush = 2 } }
  [[data_center.node]]
  node = 3
  preset = "bench"

[[data_center]]
name = "west"
nodes = 2

[[link]]
between = ["east", "west"]
jitter = "1ms"
loss = "0.1%"

[[link]]
from = "west"
to = "east"
delay = "30ms"
rate = "100Mbit"
"#;

    #[test]
    fn a_file_says_everything() {
        let file = read(WHOLE).unwrap();
        assert_eq!(file.cassandra.as_deref(), Some("5.0"));
        assert_eq!(file.words.set, ["concurrent_reads=4"]);
        assert_eq!(file.words.disk, Some(Bytes::mib(512)));
        assert_eq!(file.topology.wan, Wan::Netem);
        let places = file.topology.places();
        assert_eq!(places.len(), 6);
        assert_eq!(places[1].words.set, ["memtable.flush=2"]);
        assert_eq!(places[1].words.jvm, ["-XX:+UseSerialGC"]);
        let disks: Vec<_> = places
            .iter()
            .map(|p| p.words.disk.map(Bytes::as_mib))
            .collect();
        let of_east = [Some(1024), Some(256), Some(1024), Some(1024)];
        assert_eq!(disks, [&of_east[..], &[None, None]].concat());
        assert_eq!(places[1].words.heap, Some(Bytes::mib(600)));
        assert_eq!(places[4].words.heap, None);
        let presets: Vec<_> = places.iter().map(|p| p.words.preset.as_deref()).collect();
        let of_east = [Some("dev"), Some("dev"), Some("bench"), Some("dev")];
        assert_eq!(presets, [&of_east[..], &[None, None]].concat());
        assert!(places[3].coordinator && places[4].words.is_empty());
        let links: Vec<String> = file
            .topology
            .links
            .iter()
            .map(|l| {
                let Link {
                    delay_us,
                    jitter_us,
                    loss_ppm,
                    rate_bits,
                    ..
                } = l.link;
                format!(
                    "{}>{} {delay_us} {jitter_us} {loss_ppm} {rate_bits:?}",
                    l.from, l.to
                )
            })
            .collect();
        assert_eq!(
            links,
            [
                "east>west 40000 1000 1000 None",
                "west>east 30000 1000 1000 Some(100000000)"
            ]
        );
    }

    #[test]
    fn heaps_go_by_cluster_data_centre_rack_tier_and_node() {
        let file = read(
            r#"
            heap = "500M"
            coordinator = { heap = "300M", set = { concurrent_reads = 4 } }
            [[data_center]]
            name = "east"
            nodes = 4
            racks = 2
            coordinators = 1
            heap = "600M"
            rack = [{ rack = "rack2", heap = "700M", new_heap = "200M" }]
            coordinator = { heap = "400M" }
            node = [{ node = 4, heap = "800M" }]
            [[data_center]]
            name = "west"
            nodes = 1
            coordinators = 1
            "#,
        );
        let file = file.unwrap();
        assert_eq!(file.words.heap, Some(Bytes::mib(500)));
        let places = file.topology.places();
        let heaps: Vec<_> = places
            .iter()
            .map(|p| p.words.heap.map(Bytes::as_mib))
            .collect();
        let east = [Some(600), Some(700), Some(600), Some(800), Some(400)];
        assert_eq!(heaps, [&east[..], &[None, Some(300)]].concat());
        assert_eq!(places[1].words.new_heap, Some(Bytes::mib(200)));
        assert_eq!(places[4].words.set, ["concurrent_reads=4"]);
    }

    proptest! {
        /// A file with a stretch cut out and another put in is read or refused with one of its lines.
        #[test]
        fn what_was_mistyped_is_read_or_refused(at in 0..WHOLE.len(), cut in 0_usize..30, put in "[a-z0-9=\"\\[\\]{}.,\n -]{0,12}") {
            let from = (0..=at).rev().find(|k| WHOLE.is_char_boundary(*k)).unwrap_or(0);
            let to = (from + cut).min(WHOLE.len());
            let text = format!("{}{put}{}", &WHOLE[..from], &WHOLE[to..]);
            match read(&text) {
                Ok(file) => prop_assert!(file.topology.check().is_ok()),
                Err(error) => prop_assert!((1..=text.lines().count() + 1).contains(&error.line)),
            }
        }
    }

    fn refused(text: &str) -> String {
        let error = read(text).unwrap_err();
        match &error.hint {
            Some(hint) => format!("{error} ({hint})"),
            None => error.to_string(),
        }
    }

    #[test]
    fn what_is_not_understood_is_reported_with_its_line() {
        let dc =
            "[[data_center]]\nname = \"a\"\nnodes = 1\n[[data_center]]\nname = \"b\"\nnodes = 1\n";
        let and = |more: &str| refused(&format!("{dc}{more}"));
        insta::assert_snapshot!(refused("[[data_center]]\nname = \"a\"\nnods = 1"), @"line 3: unknown key nods (did you mean nodes?)");
        insta::assert_snapshot!(refused("[[data_center]]\nname = \"a\"\nnodes = 1\ncassandra = \"4.1\""), @r#"line 4: all nodes of a cluster have one release (write cassandra = "RELEASE" at the top of the file)"#);
        insta::assert_snapshot!(and("disk = \"512\""), @r#"line 7: "512" is not a size: write a number with K, M or G, such as 64M"#);
        insta::assert_snapshot!(and("[[data_center.node]]\nnode = 1\ndisc = \"1G\""), @"line 9: unknown key disc (did you mean disk?)");
        insta::assert_snapshot!(and("rack = [{ rack = \"rack3\" }]"), @r#"line 7: a rack of b needs rack = "rack1" to "rack1""#);
        insta::assert_snapshot!(and("rack = [{ rack = \"rack1\" }, { rack = \"rack1\" }]"), @"line 7: rack1 of b is listed twice");
        insta::assert_snapshot!(and("coordinator = { heaps = \"300M\" }"), @"line 7: unknown key heaps (did you mean heap?)");
        insta::assert_snapshot!(refused("x = "), @"line 1: string values must be quoted, expected literal string");
        insta::assert_snapshot!(refused(""), @"line 1: a cluster has 1 to 16 data centres, not 0");
        insta::assert_snapshot!(refused("[[data_center]]\nname = \"a\"\nnodes = 3\nracks = 4"), @r#"line 1: a has 3 nodes in 4 racks, 0 of them coordinator-only (a data centre has 1 to 250 nodes, at most as many racks, and at least one node that is not coordinator-only)"#);
        insta::assert_snapshot!(and("[[link]]\nbetween = [\"a\", \"c\"]\nrtt = \"1ms\""), @r#"line 7: no such data centre: c (known: a, b)"#);
        insta::assert_snapshot!(and("[[link]]\nbetween = [\"a\", \"b\"]\nrtt = 80"), @r#"line 9: rtt must be a text in quotes"#);
        insta::assert_snapshot!(and("[[link]]\nfrom = \"a\"\nrtt = \"80ms\""), @r#"line 7: a link needs between = ["DC1", "DC2"], or from and to for one direction"#);
        insta::assert_snapshot!(and("[[link]]\nbetween = [\"a\", \"b\"]\nrtt = \"1ms\"\ndelay = \"1ms\""), @r#"line 7: a link takes rtt or delay, not both"#);
        insta::assert_snapshot!(and("[[link]]\nbetween = [\"a\", \"b\"]\nlos = \"1%\""), @r#"line 9: unknown key los (did you mean loss?)"#);
    }
}
