//! `cargo xtask keys VERSION`: the keys of a release's cassandra.yaml, as its own loader sees them.
//! Refuses to read sources or documentation: the compiled classes are asked.

use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(crate) fn run(version: &str) -> Result<String, Box<dyn Error>> {
    let work = tempfile::tempdir()?;
    let jars = jars(version, work.path())?;
    let keys = lines(version, jars.join("*").into_os_string(), work.path())?;
    let text = format!(
        "# helenus.keys/1 cassandra {version}: cassandra.yaml's keys; written by cargo xtask keys {version}\n\
         # name, java type, shape, =default, flags, old:converter:deprecated:offset\n{keys}"
    );
    let path = crate::maven::data_folder(version)?.join("keys.tsv");
    fs_err::write(&path, text)?;
    Ok(format!("{}: {} keys", path.display(), keys.lines().count()))
}

/// One line for each key that the classes on that class path take.
pub(crate) fn lines(
    version: &str,
    mut class_path: OsString,
    work: &Path,
) -> Result<String, Box<dyn Error>> {
    class_path.push(":");
    class_path.push(work);
    let asks = if is_before_4_1(version)? {
        "OldKeys"
    } else {
        "Keys"
    };
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("java");
    let sources = ["Lines", asks].map(|name| sources.join(format!("{name}.java")).into());
    tool("javac", &class_path, &["-d".into(), work.into()], sources)?;
    let lines = work.join("keys.tsv");
    tool(
        "java",
        &class_path,
        &[],
        [asks.into(), lines.clone().into()],
    )?;
    Ok(fs_err::read_to_string(&lines)?)
}

/// The release's jars: resolved, or for a release without a lock out of its distribution.
pub(crate) fn jars(version: &str, work: &Path) -> Result<PathBuf, Box<dyn Error>> {
    if number(version, 0)? >= 4 {
        return Ok(crate::maven::resolve(version, work)?.jars);
    }
    crate::maven::distribution(version, work)
}

/// 4.1 brought units into values, and a loader of its own for them.
fn is_before_4_1(version: &str) -> Result<bool, Box<dyn Error>> {
    Ok((number(version, 0)?, number(version, 1)?) < (4, 1))
}

fn number(version: &str, at: usize) -> Result<u32, Box<dyn Error>> {
    let part = version.split('.').nth(at).and_then(|n| n.parse().ok());
    part.ok_or_else(|| format!("{version:?} is not a version").into())
}

fn tool(
    name: &str,
    class_path: &OsString,
    flags: &[OsString],
    words: [OsString; 2],
) -> Result<(), Box<dyn Error>> {
    let status = Command::new(name)
        .arg("-cp")
        .arg(class_path)
        .args(flags)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{name}: {status}").into())
    }
}
