//! `cargo xtask keys VERSION`: the keys of a release's cassandra.yaml, as its own loader sees them.
//! Refuses to read sources or documentation: the compiled classes are asked.

use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};

pub(crate) fn run(version: &str) -> Result<String, Box<dyn Error>> {
    let work = tempfile::tempdir()?;
    let resolved = crate::maven::resolve(version, work.path())?;
    let lines = work.path().join("keys.tsv");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("java/Keys.java");
    let java = Command::new("java")
        .arg("-cp")
        .arg(resolved.jars.join("*"))
        .args([&source, &lines])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()?;
    if !java.success() {
        return Err(format!("java: {java}").into());
    }
    let keys = fs_err::read_to_string(&lines)?;
    let text = format!(
        "# helenus.keys/1 cassandra {version}: cassandra.yaml's keys; written by cargo xtask keys {version}\n\
         # name, java type, shape, =default, flags, old:converter:deprecated:offset\n{keys}"
    );
    let path = crate::maven::data_folder(version)?.join("keys.tsv");
    fs_err::write(&path, text)?;
    Ok(format!("{}: {} keys", path.display(), keys.lines().count()))
}
