//! `cargo xtask lock VERSION`: a release's jars with sizes and SHA-256, as committed data.
//! Refuses jars for platforms that Helenus does not serve, and never guesses a checksum.

use std::error::Error;
use std::fmt::Write as _;

use helenus_model::release::{Arch, Artifact, Lock};
use sha2::{Digest, Sha256};

/// Words in a classifier or an artifact that mark another platform's native or glue code.
const FOREIGN: [&str; 6] = ["osx", "macos", "windows", "riscv", "kqueue", "freebsd"];

pub(crate) fn run(version: &str) -> Result<String, Box<dyn Error>> {
    let work = tempfile::tempdir()?;
    let resolved = crate::maven::resolve(version, work.path())?;
    let mut artifacts = Vec::new();
    let mut left_off = Vec::new();
    for [group, artifact, classifier, of_version] in resolved.coordinates {
        let dash = if classifier.is_empty() { "" } else { "-" };
        let file = format!("{artifact}-{of_version}{dash}{classifier}.jar");
        if FOREIGN.iter().any(|f| file.contains(f)) {
            left_off.push(file);
            continue;
        }
        let bytes = fs_err::read(resolved.jars.join(&file))?;
        artifacts.push(Artifact {
            arch: classifier.strip_prefix("linux-").and_then(Arch::parse),
            classifier: Some(classifier).filter(|c| !c.is_empty()),
            sha256: hex(&Sha256::digest(&bytes)),
            size: bytes.len().try_into()?,
            version: of_version,
            group,
            artifact,
            file,
        });
    }
    artifacts.sort_by(|a, b| a.file.cmp(&b.file));
    let mut text = format!(
        "# helenus.lock/1 cassandra {version}: its jars; written by cargo xtask lock {version}\n\
         # group, artifact, version, classifier, arch, file, sha256, bytes\n"
    );
    for artifact in &artifacts {
        writeln!(text, "{}", artifact.to_line())?;
    }
    let lock = Lock::parse(&text)?;
    let path = crate::maven::data_folder(version)?.join("lock.tsv");
    fs_err::write(&path, &text)?;
    let bytes: u64 = lock.all().iter().map(|a| a.size).sum();
    Ok(format!(
        "{}: {} jars, {} MiB; left off: {}",
        path.display(),
        lock.all().len(),
        bytes >> 20,
        left_off.join(", ")
    ))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
