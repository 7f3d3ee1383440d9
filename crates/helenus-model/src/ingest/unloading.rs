//! What an unload is about while it runs: the files it writes, and what is on disk of each.
//! Refuses to go on with another table, another ring or other columns.

use crate::format::Format;
use crate::scan::Span;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name of the journal's format.
pub const UNLOAD_JOURNAL: &str = "unload-journal";
/// Its version.
pub const UNLOAD_JOURNAL_VERSION: u32 = 1;

/// Most files of a number that is given.
const FILES_MOST: u32 = 10_000;

/// Endings that stay at the end of a numbered file's name.
const ENDINGS: [&str; 11] = [
    ".gz", ".zst", ".lz4", ".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".json", ".parquet", ".pq",
];

/// Into how many files an unload goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// One.
    #[default]
    Whole,
    /// So many, each with an equal part of the ring.
    Files(u32),
    /// As many as it takes; each is ended when it has so many bytes.
    Bytes(u64),
}

impl std::str::FromStr for Split {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("{text:?} is neither a number of files, such as 8, nor a size, such as 512M")
        };
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            let files: u32 = text.parse().map_err(|_| wrong())?;
            return match (1..=FILES_MOST).contains(&files) {
                true => Ok(Self::Files(files)),
                false => Err(format!(
                    "{text} files: 1 to {FILES_MOST} are possible, and a size has a unit, such as 512M"
                )),
            };
        }
        match Bytes::parse(text) {
            Ok(Bytes(bytes)) if bytes > 0 => Ok(Self::Bytes(bytes)),
            _ => Err(wrong()),
        }
    }
}

/// The name of a numbered file, from 1: `orders.part-00001.csv.zst` of `orders.csv.zst`.
pub fn numbered(name: &str, number: u32) -> String {
    let mut stem = name;
    loop {
        let lower = stem.to_ascii_lowercase();
        let ending = ENDINGS.iter().find(|ending| lower.ends_with(*ending));
        match ending {
            Some(ending) if stem.len() > ending.len() => stem = &stem[..stem.len() - ending.len()],
            _ => break,
        }
    }
    format!("{stem}.part-{number:05}{}", &name[stem.len()..])
}

/// The number of a file that [`numbered`] has named.
pub fn number_of(name: &str, found: &str) -> Option<u32> {
    let at = found.rfind(".part-")? + ".part-".len();
    let number: u32 = found.get(at..at + 5)?.parse().ok()?;
    (numbered(name, number) == found).then_some(number)
}

/// The first line: what is unloaded, `helenus.unload-journal/1`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnloadHead {
    /// `helenus.unload-journal/1`.
    pub format: Format,
    /// The cluster's own name.
    pub cluster_name: String,
    /// `keyspace.table`.
    pub table: String,
    /// The table's id: a table that is made again has another.
    pub table_id: String,
    /// A digest of the ring's tokens.
    pub ring: String,
    /// Columns, in the order of a row's fields.
    pub columns: Vec<String>,
    /// How rows are written.
    pub writing: String,
    /// Into how many files.
    pub split: Split,
    /// Which part of them, such as 2/4.
    pub part: Option<String>,
}

impl UnloadHead {
    /// What differs between this and what is asked for now; none where it can be resumed.
    pub fn differs(&self, now: &Self) -> Option<String> {
        if self.format != now.format {
            return Some("its journal is of another version".to_owned());
        }
        if (&self.cluster_name, &self.table) != (&now.cluster_name, &now.table) {
            return Some(format!("it was of {} of {}", self.table, self.cluster_name));
        }
        if self.table_id != now.table_id {
            return Some(format!("{} was recreated since", self.table));
        }
        if self.ring != now.ring {
            return Some("the tokens of the ring have changed since".to_owned());
        }
        let same = self.columns == now.columns && self.writing == now.writing;
        let same = same && (self.split, &self.part) == (now.split, &now.part);
        (!same).then(|| "the columns, the form or the split are others".to_owned())
    }
}

/// Each further line: what came into a file since the line before, all of it on disk.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UnloadMark {
    /// The file's number, from 1.
    pub file: u32,
    /// The file's bytes.
    pub bytes: u64,
    /// Rows since the line before.
    pub rows: u64,
    /// The sum of their hashes.
    pub checksum: u64,
    /// The tokens that they are all rows of.
    pub spans: Vec<Span>,
    /// Whether the file is whole.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
}

/// A file as the journal knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UnloadedFile {
    /// Its bytes.
    pub bytes: u64,
    /// Whether it is whole.
    pub whole: bool,
}

/// The files of a journal, by number.
pub fn files(marks: &[UnloadMark]) -> BTreeMap<u32, UnloadedFile> {
    let mut files = BTreeMap::new();
    for mark in marks {
        let UnloadMark { bytes, whole, .. } = *mark;
        files.insert(mark.file, UnloadedFile { bytes, whole });
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_before_the_endings() {
        let same = |name: &str, wanted: &str| {
            assert_eq!(numbered(name, 7), wanted);
            assert_eq!(number_of(name, wanted), Some(7), "{name}");
        };
        same("orders.csv.zst", "orders.part-00007.csv.zst");
        same("a.b.Parquet", "a.b.part-00007.Parquet");
        same("orders", "orders.part-00007");
        same(".csv", ".csv.part-00007");
        same("a.part-.csv", "a.part-.part-00007.csv");
        assert_eq!(number_of("orders.csv", "orders.part-7.csv"), None);
        assert_eq!(number_of("orders.csv", "orders.part-00007.csv.zst"), None);
        assert_eq!(number_of("orders.csv", "orders.part-0000é.csv"), None);
    }

    #[test]
    fn a_split_is_a_number_or_a_size() {
        assert_eq!("8".parse(), Ok(Split::Files(8)));
        assert_eq!("512M".parse(), Ok(Split::Bytes(512 << 20)));
        for wrong in ["0", "0M", "", "x", "-1", "99999", "99999999999999999999"] {
            assert!(wrong.parse::<Split>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_another_unload_is_said() {
        let head = UnloadHead {
            format: Format::new(UNLOAD_JOURNAL, UNLOAD_JOURNAL_VERSION),
            cluster_name: "c".into(),
            table: "k.t".into(),
            table_id: "1".into(),
            ring: "r".into(),
            columns: vec!["a".into()],
            writing: "csv".into(),
            split: Split::Whole,
            part: None,
        };
        assert_eq!(head.differs(&head.clone()), None);
        let other = |change: fn(&mut UnloadHead)| {
            let mut now = head.clone();
            change(&mut now);
            head.differs(&now).unwrap_or_default()
        };
        assert!(other(|now| now.table_id = "2".into()).contains("recreated"));
        assert!(other(|now| now.ring = "s".into()).contains("tokens"));
        assert!(other(|now| now.table = "k.u".into()).contains("k.t"));
        let changes: [fn(&mut UnloadHead); 4] = [
            |now| now.columns.clear(),
            |now| now.split = Split::Files(2),
            |now| now.part = Some("1/2".into()),
            |now| now.writing = "tsv".into(),
        ];
        for change in changes {
            assert!(other(change).contains("are others"));
        }
    }
}
