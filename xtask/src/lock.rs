//! `cargo xtask lock VERSION`: a release's jars with sizes and SHA-256, as committed data.
//! Refuses jars for platforms that Helenus does not serve, and never guesses a checksum.

use std::error::Error;

use helenus_cluster::store::{lock_of, lock_text};

pub(crate) fn run(version: &str) -> Result<String, Box<dyn Error>> {
    let work = tempfile::tempdir()?;
    let resolved = crate::maven::resolve(version, work.path())?;
    let (lock, left_off) = lock_of(&resolved.list, &resolved.jars)?;
    let from = format!("written by cargo xtask lock {version}");
    let path = crate::maven::data_folder(version)?.join("lock.tsv");
    fs_err::write(&path, lock_text(version, &from, &lock))?;
    let bytes: u64 = lock.all().iter().map(|a| a.size).sum();
    Ok(format!(
        "{}: {} jars, {} MiB; left off: {}",
        path.display(),
        lock.all().len(),
        bytes >> 20,
        left_off.join(", ")
    ))
}
