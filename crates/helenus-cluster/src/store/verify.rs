//! The two checks of a release's folder: every SHA-256 when it lands, names and sizes ever after.
//! Refuses to trust a folder without its marker: the marker is written last.

use helenus_model::hex::sha256;
use std::path::Path;

use helenus_model::release::Artifact;

use super::{StoreError, StoreEvent, Wanted};
use crate::digest;

/// The marker of a verified release.
const MARKER: &str = "verified";

/// What the marker says: format, release, and the checksum of the list that was verified.
fn marker_text(wanted: Wanted<'_>) -> String {
    let lines: String = artifacts(wanted).map(|a| a.to_line() + "\n").collect();
    let list = sha256(&lines);
    format!("helenus.store/1\t{wanted}\t{list}\n")
}

fn artifacts<'a>(wanted: Wanted<'a>) -> impl Iterator<Item = &'a Artifact> {
    wanted.lock.artifacts(wanted.arch)
}

/// Whether marker, names and sizes are as they were when the release landed.
///
/// # Errors
/// The first thing that is wrong, in words.
pub(super) fn looks_right(home: &Path, wanted: Wanted<'_>) -> Result<(), String> {
    let marker = fs_err::read_to_string(home.join(MARKER));
    if marker.ok().as_deref() != Some(&marker_text(wanted)) {
        return Err(
            "the marker of a verified release is missing or belongs to another release".to_owned(),
        );
    }
    for artifact in artifacts(wanted) {
        let path = home.join("lib").join(&artifact.file);
        match fs_err::metadata(&path) {
            Ok(found) if found.is_file() && found.len() == artifact.size => {}
            Ok(found) => {
                return Err(format!(
                    "{} has {} bytes, not {}",
                    artifact.file,
                    found.len(),
                    artifact.size
                ));
            }
            Err(_) => return Err(format!("{} is missing", artifact.file)),
        }
    }
    Ok(())
}

/// Hashes every jar, makes it durable, and writes the marker.
///
/// # Errors
/// A missing jar, a wrong checksum, or a file system that refuses.
pub(super) fn verify(
    home: &Path,
    wanted: Wanted<'_>,
    on: &mut dyn FnMut(StoreEvent),
) -> Result<(), StoreError> {
    let io = |source| StoreError::Io {
        folder: home.to_owned(),
        source,
    };
    let total = artifacts(wanted).count();
    for (n, artifact) in artifacts(wanted).enumerate() {
        let path = home.join("lib").join(&artifact.file);
        if !path.is_file() {
            return Err(StoreError::Missing {
                file: artifact.file.clone(),
            });
        }
        let got = digest::of_file(&path, |_| Ok(())).map_err(io)?;
        if got != artifact.sha256 {
            return Err(StoreError::Checksum {
                file: artifact.file.clone(),
                wanted: artifact.sha256.clone(),
                got,
            });
        }
        let file = fs_err::File::open(&path).map_err(io)?;
        file.sync_all().map_err(io)?;
        on(StoreEvent::Verified { done: n + 1, total });
    }
    let marker = home.join(MARKER);
    fs_err::write(&marker, marker_text(wanted)).map_err(io)?;
    let opened = fs_err::File::open(&marker).map_err(io)?;
    opened.sync_all().map_err(io)
}
