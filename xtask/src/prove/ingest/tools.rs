//! The other tools of `prove ingest`: DSBulk 1.10.0 by Maven, and our few lines of Java around Cassandra's own writer.
//! Refuses jars whose sum is another.

use super::super::rig::Rig;
use helenus_model::hex::{hex, sha256};
use sha2::{Digest as _, Sha256};
use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Jars that belong together.
const DSBULK: &str = "dsbulk-1.10.0";

/// Of all of DSBulk's jars: the sum over their names and sums, by name.
const SHA256: &str = "206d97904c68152ffb2e8cb511e08a3465bd8e50f16c470df4ad925da7980429";

const POM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/java/dsbulk.pom.xml");
const WRITER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/java/SortedTables.java");

/// What the writer's JVM says, but for errors, is no part of its work.
const LOGBACK: &str = "logback.xml";
const QUIET: &str = "<configuration><root level=\"OFF\"/></configuration>";

/// Fetches DSBulk, unless it is there, and compiles the writer.
pub(super) fn prepare(rig: &Rig) -> Result<(), Box<dyn Error>> {
    let folder = dsbulk_folder(rig);
    if !folder.is_dir() {
        let fetched = folder.with_extension("fetched");
        let status = Command::new("mvn")
            .args(["-q", "-B", "-Dstyle.color=never", "-f", POM])
            .arg("org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies")
            .arg(format!("-DoutputDirectory={}", fetched.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()?;
        if !status.success() {
            return Err(format!("mvn: {status}").into());
        }
        let sum = sum(&fetched)?;
        if sum != SHA256 {
            return Err(format!(
                "{}: the jars have the sum {sum}, not {SHA256}",
                fetched.display()
            )
            .into());
        }
        fs_err::rename(fetched, &folder)?;
    }
    let classes = classes(rig);
    fs_err::create_dir_all(&classes)?;
    fs_err::write(classes.join(LOGBACK), QUIET)?;
    let status = Command::new(rig.jdk.home.join("bin/javac"))
        .arg("-cp")
        .arg(joined(&rig.release.jars)?)
        .arg("-d")
        .arg(&classes)
        .arg(WRITER)
        .status()?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("javac: {status}").into()),
    }
}

fn dsbulk_folder(rig: &Rig) -> PathBuf {
    rig.context.paths.cache.join(DSBULK)
}

fn classes(rig: &Rig) -> PathBuf {
    rig.context.paths.cache.join("sorted-tables")
}

fn joined(paths: &[PathBuf]) -> Result<OsString, Box<dyn Error>> {
    Ok(std::env::join_paths(paths)?)
}

/// One sum for a folder of jars.
fn sum(folder: &Path) -> Result<String, Box<dyn Error>> {
    let mut jars: Vec<PathBuf> = fs_err::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<_>>()?;
    jars.sort();
    let mut all = Sha256::new();
    for jar in jars {
        let name = jar.file_name().unwrap_or_default().to_string_lossy();
        all.update(format!("{name} {}\n", sha256(fs_err::read(&jar)?)));
    }
    Ok(hex(&all.finalize()))
}

/// DSBulk's load of a file with a header, with all that it does unless it is asked otherwise.
pub(super) fn dsbulk(
    rig: &Rig,
    (address, port): (&str, u16),
    data_center: &str,
    (keyspace, table): (&str, &str),
    file: &Path,
    logs: &Path,
) -> Command {
    let mut java = Command::new(rig.jdk.home.join("bin/java"));
    java.arg("-cp")
        .arg(dsbulk_folder(rig).join("*"))
        .args(["com.datastax.oss.dsbulk.runner.DataStaxBulkLoader", "load"])
        .args(["-h", address, "-port", &port.to_string()])
        .args([
            "--driver.basic.load-balancing-policy.local-datacenter",
            data_center,
        ])
        .args(["-k", keyspace, "-t", table, "-header", "true", "-url"])
        .arg(file)
        .arg("-logDir")
        .arg(logs);
    java
}

/// Cassandra's own writer: the rows of a file of ranges as SSTables in a folder, in the version that the node of this
/// configuration writes.
pub(super) fn writer(
    rig: &Rig,
    ranges: &Path,
    into: &Path,
    configuration: &Path,
    (create, insert): (&str, &str),
) -> Result<Command, Box<dyn Error>> {
    let at = |name: &str, path: PathBuf| format!("-D{name}=file://{}", path.display());
    let mut path = vec![classes(rig)];
    path.extend(rig.release.jars.iter().cloned());
    let mut java = Command::new(rig.jdk.home.join("bin/java"));
    java.args(rig.release.release.module_flags(rig.jdk.feature))
        .arg(at("cassandra.config", configuration.join("cassandra.yaml")))
        .arg(at(
            "cassandra-rackdc.properties",
            configuration.join("cassandra-rackdc.properties"),
        ))
        .arg(at("logback.configurationFile", classes(rig).join(LOGBACK)))
        .arg("-cp")
        .arg(joined(&path)?)
        .arg("SortedTables")
        .args([ranges, into])
        .args([create, insert, THREADS]);
    Ok(java)
}

/// Threads that write SSTables side by side.
const THREADS: &str = "2";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_jar_has_another_sum() {
        let folder = tempfile::tempdir().unwrap();
        fs_err::write(folder.path().join("a.jar"), "1").unwrap();
        let one = sum(folder.path()).unwrap();
        assert_eq!(one.len(), 64);
        fs_err::write(folder.path().join("b.jar"), "").unwrap();
        let two = sum(folder.path()).unwrap();
        assert_ne!(one, two);
        fs_err::rename(folder.path().join("b.jar"), folder.path().join("c.jar")).unwrap();
        assert_ne!(sum(folder.path()).unwrap(), two);
    }
}
