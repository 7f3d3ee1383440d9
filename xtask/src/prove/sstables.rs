//! `prove sstables [PART…]`: what `load --via sstable` writes, held against Cassandra's own tools, its own files for the
//! same rows, and a Python driver; parts: 5.0, 4.1, wide, ring, many. Refuses the loader's own word for anything.

mod tools;
mod types;
mod wide;

use super::findings::{Sheet, Tried};
use super::ingest;
use super::rig::Rig;
use serde_json::Value;
use std::error::Error;
use std::path::Path;
use tools::Bench;

/// What `--list` says.
pub(crate) const ABOUT: &str = "SSTables of helenus load against Cassandra and a Python driver; parts: 5.0, 4.1, wide, ring, and, if named, many (--rows N)";

/// Form of the lines.
const FORMAT: &str = "helenus.proof-sstables/1";

/// The cluster of every part.
const NAME: &str = "p";

/// Rows of the part `many`, where the person does not say.
const MANY: u64 = 200_000_000;

/// A part with its name.
type Part = (&'static str, fn(&Bench<'_>, &mut Sheet) -> Tried);

/// All parts, in the order in which they run.
const PARTS: [Part; 4] = [
    ("5.0", |bench, sheet| types::release(bench, sheet, "5.0")),
    ("4.1", |bench, sheet| types::release(bench, sheet, "4.1")),
    ("wide", wide::wide),
    ("ring", wide::ring),
];

/// A part that takes long, and is run only if it is named.
const LONG: &str = "many";

/// Runs the campaign, and says whether everything holds.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<bool, Box<dyn Error>> {
    let (mut named, mut rows) = (Vec::new(), MANY);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--rows" => {
                let number = words.next().and_then(|n| n.parse().ok());
                rows = number.ok_or("--rows wants a number")?;
            }
            word if word == LONG || PARTS.iter().any(|(name, _)| *name == word) => named.push(word),
            word => return Err(format!("sstables has no part {word}: {ABOUT}").into()),
        }
    }
    let many = named.contains(&LONG);
    let rig = Rig::open(root, many)?;
    let bench = Bench::of(&rig)?;
    rig.clear()?;
    let mut sheet = Sheet::open(root, "sstables", FORMAT, None)?;
    for (name, part) in PARTS {
        if named.is_empty() || named.contains(&name) {
            sheet.part(name, |sheet| part(&bench, sheet))?;
            rig.clear()?;
        }
    }
    if many {
        sheet.part(LONG, |sheet| ingest::many(&rig, sheet, rows))?;
        rig.clear()?;
    }
    Ok(sheet.end())
}

/// A member of an answer as a number; 0 where it is missing.
fn number(answer: &Value, name: &str) -> u64 {
    answer[name].as_u64().unwrap_or_default()
}
