//! One call of Maven that resolves a release whole, for the chores that write its data.
//! Refuses to name a registry: where artifacts come from is a person's Maven settings.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

use helenus_cluster::env::Env;
use helenus_cluster::store;
use helenus_model::release::Release;

/// The plugin that lists and copies, pinned so that its output keeps its form.
const PLUGIN: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1";

/// A release with everything it depends on, in a folder.
pub(crate) struct Resolved {
    /// The folder of the jars.
    pub(crate) jars: PathBuf,
    /// What Maven says they are.
    pub(crate) list: String,
}

/// Resolves the release's jars into `folder`, as the store does at first use.
pub(crate) fn resolve(version: &str, folder: &Path) -> Result<Resolved, Box<dyn Error>> {
    let release = Release::find(version)?;
    let env = Env::of_process();
    let list = store::resolve(&env, release, folder, &AtomicBool::new(false))?;
    let jars = folder.join(store::LIB);
    Ok(Resolved { jars, list })
}

/// Unpacks a distribution's jars into `folder`, for a release that is run from its distribution alone.
pub(crate) fn distribution(version: &str, folder: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let status = Command::new("mvn")
        .args(["--batch-mode", "--quiet"])
        .arg(format!("{PLUGIN}:copy"))
        .arg(format!(
            "-Dartifact=org.apache.cassandra:apache-cassandra:{version}:tar.gz:bin"
        ))
        .arg(format!("-DoutputDirectory={}", folder.display()))
        .stdin(Stdio::null())
        .status()?;
    if !status.success() {
        return Err(format!("mvn: {status}").into());
    }
    let status = Command::new("tar")
        .arg("-xzf")
        .arg(folder.join(format!("apache-cassandra-{version}-bin.tar.gz")))
        .arg("-C")
        .arg(folder)
        .status()?;
    if !status.success() {
        return Err(format!("tar: {status}").into());
    }
    Ok(folder.join(format!("apache-cassandra-{version}/lib")))
}

/// Copies the release's own jar, without what it depends on, into `folder`; none where Maven does not find it.
pub(crate) fn own_jar(version: &str, folder: &Path) -> Result<Option<PathBuf>, Box<dyn Error>> {
    let done = Command::new("mvn")
        .args(["--batch-mode", "--quiet"])
        .arg(format!("{PLUGIN}:copy"))
        .arg(format!(
            "-Dartifact=org.apache.cassandra:cassandra-all:{version}"
        ))
        .arg(format!("-DoutputDirectory={}", folder.display()))
        .stdin(Stdio::null())
        .output()?;
    if done.status.success() {
        return Ok(Some(folder.join(format!("cassandra-all-{version}.jar"))));
    }
    let said = String::from_utf8_lossy(&done.stdout);
    if said.contains("Could not find artifact") || said.contains("was not found in") {
        return Ok(None);
    }
    Err(format!("mvn: {}: {said}", done.status).into())
}

/// The folder of a release's committed data, made when it is missing.
pub(crate) fn data_folder(version: &str) -> Result<PathBuf, Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = root
        .join("crates/helenus-model/data/releases")
        .join(version);
    fs_err::create_dir_all(&folder)?;
    Ok(folder)
}
