//! Machines that are described in this repository, each with the source of its facts in its file.
//! Refuses to be a list of all machines: it has one of each kind that a plan must fit.

use super::Snapshot;
use crate::toml_file::FileError;

/// Names and files of the known machines.
pub const KNOWN: &[(&str, &str)] = &[
    ("xeon-8592", include_str!("../../machines/xeon-8592.toml")),
    ("xeon-6767p", include_str!("../../machines/xeon-6767p.toml")),
    ("xeon-6952p", include_str!("../../machines/xeon-6952p.toml")),
    ("xeon-6980p", include_str!("../../machines/xeon-6980p.toml")),
    ("cloud-32", include_str!("../../machines/cloud-32.toml")),
    ("arm-80", include_str!("../../machines/arm-80.toml")),
    ("laptop-6", include_str!("../../machines/laptop-6.toml")),
    ("virtual-2", include_str!("../../machines/virtual-2.toml")),
];

/// A known machine by its name; none of that name, or what is wrong with its file.
pub fn known(name: &str) -> Option<Result<Snapshot, FileError>> {
    let found = KNOWN.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| Snapshot::parse(text))
}
