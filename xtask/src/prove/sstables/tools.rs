//! What holds an SSTable against Cassandra: its offline tools with a node's own class path, nodetool, the node's log; and
//! the Python that makes and reads rows. Refuses a Python without a driver.

use super::super::rig::{Rig, checked};
use super::NAME;
use fs_err as fs;
use helenus_cluster::state::ClusterState;
use helenus_model::plan::file_url;
use serde_json::Value;
use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/python/sstables.py");

/// Words of lines of the log that say of a file that it is damaged.
const COMPLAINS: [&str; 5] = ["WARN", "ERROR ", "Corrupt", "nable to", "dropped"];

/// Such lines that every table has: nothing is dropped; and 5.0 says the second of the last partitions of any table, since
/// its index has been read to the end by then.
const USUAL: [&str; 3] = [
    " 0 empty (tombstoned) ",
    "differs from index file row position -1",
    "is bigger than configured concurrent_compactors",
];

/// The rig, and the Python that is used.
pub(super) struct Bench<'a> {
    pub(super) rig: &'a Rig,
    python: OsString,
    /// Files of this sitting.
    pub(super) folder: PathBuf,
}

impl<'a> Bench<'a> {
    pub(super) fn of(rig: &'a Rig) -> Result<Self, Box<dyn Error>> {
        let python = std::env::var_os("HELENUS_PYTHON").unwrap_or_else(|| "python3".into());
        let has = Command::new(&python)
            .args(["-c", "import cassandra.cluster"])
            .stderr(Stdio::null())
            .status();
        if !has.is_ok_and(|status| status.success()) {
            let what = "no Python driver: pip install cassandra-driver, and set HELENUS_PYTHON";
            return Err(what.into());
        }
        Ok(Self {
            rig,
            python,
            folder: rig.trial_folder()?,
        })
    }

    /// What the Python says.
    pub(super) fn python(&self, words: &[&str]) -> Result<Value, Box<dyn Error>> {
        let mut command = Command::new(&self.python);
        let output = command.arg(PYTHON).args(words).output()?;
        if !output.status.success() {
            return Err(format!("{}: {}", words.join(" "), last(&output.stderr)).into());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    pub(super) fn state(&self) -> Result<ClusterState, Box<dyn Error>> {
        Ok(self.rig.context.clusters.load(NAME)?)
    }

    pub(super) fn cql(&self, statement: &str) -> Result<(), Box<dyn Error>> {
        self.rig.run(&["cql", NAME, "-e", statement]).map(drop)
    }

    /// Whether a command of helenus ends well, and what it says last.
    pub(super) fn well(&self, words: &[&str]) -> Result<(bool, String), Box<dyn Error>> {
        Ok(said_of(&self.rig.command(words).output()?))
    }

    /// Whether the preview of a repair says that all replicas are in sync.
    pub(super) fn repair(&self, words: &[&str]) -> Result<(bool, String), Box<dyn Error>> {
        let output = self.rig.command(words).output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let about = text.lines().filter(|line| line.contains("sync"));
        let said: Vec<&str> = about.map(str::trim).collect();
        let (well, last) = said_of(&output);
        let holds = well && text.contains("Previewed data was in sync");
        Ok((
            holds,
            if said.is_empty() {
                last
            } else {
                said.join(" | ")
            },
        ))
    }

    /// A tool of Cassandra's for files, with the class path and the configuration of the first node.
    fn java(&self, class: &str, words: &[&str]) -> Result<Command, Box<dyn Error>> {
        let state = self.state()?;
        let (folder, runtime) = (Path::new(&state.plan.nodes[0].folder), &state.runtime);
        let at = |name: &str, file: &str| {
            let path = folder.join("conf").join(file);
            format!("-D{name}={}", file_url(&path.to_string_lossy()))
        };
        let mut java = Command::new(&runtime.java);
        java.args(["-Xmx1G", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"])
            .args(&runtime.module_flags)
            .arg(at("cassandra.config", "cassandra.yaml"))
            .arg(at(
                "cassandra-rackdc.properties",
                "cassandra-rackdc.properties",
            ))
            .arg(at("logback.configurationFile", "logback-tools.xml"))
            .arg(format!("-Dcassandra.storagedir={}", folder.display()))
            .arg("-cp")
            .arg(std::env::join_paths(&runtime.jars)?)
            .arg(format!("org.apache.cassandra.tools.{class}"))
            .args(words)
            .stdin(Stdio::null());
        Ok(java)
    }

    /// Whether a tool for files of a stopped node ends well without a complaint, and what it says last.
    pub(super) fn offline(
        &self,
        class: &str,
        words: &[&str],
    ) -> Result<(bool, String), Box<dyn Error>> {
        let output = self.java(class, words)?.output()?;
        let (well, last) = said_of(&output);
        let all = [output.stdout, output.stderr].concat();
        let complaints = complaints(&String::from_utf8_lossy(&all));
        Ok((well && complaints.is_empty(), last))
    }

    /// sstabledump of the only SSTable of a table, with times as numbers.
    pub(super) fn dump(&self, keyspace: &str, table: &str) -> Result<PathBuf, Box<dyn Error>> {
        let files = self.files(0, keyspace, table, "Data.db")?;
        let [file] = files.as_slice() else {
            return Err(format!("{table} has {} SSTables, not one", files.len()).into());
        };
        let path = self.folder.join(format!("{table}.json"));
        let output = self
            .java("SSTableExport", &[&file.display().to_string(), "-t"])?
            .stdout(fs::File::create(&path)?.into_parts().0)
            .output()?;
        checked(&["sstabledump"], output)?;
        Ok(path)
    }

    /// Files of a node's table that end so.
    pub(super) fn files(
        &self,
        node: usize,
        keyspace: &str,
        table: &str,
        end: &str,
    ) -> Result<Vec<PathBuf>, Box<dyn Error>> {
        let folder = self.state()?.plan.nodes[node].folder.clone();
        let data = Path::new(&folder).join("data").join(keyspace);
        let mut found = Vec::new();
        for entry in fs::read_dir(data)?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if !name.starts_with(&format!("{table}-")) {
                continue;
            }
            let files = fs::read_dir(entry.path())?.flatten();
            let files = files.map(|file| file.path());
            found.extend(files.filter(|path| path.to_string_lossy().ends_with(end)));
        }
        Ok(found)
    }

    fn log(&self, node: usize) -> Result<PathBuf, Box<dyn Error>> {
        let folder = self.state()?.plan.nodes[node].folder.clone();
        Ok(Path::new(&folder).join("logs/system.log"))
    }

    /// How long the first node's log is: what it says from here on is the answer to what comes now.
    pub(super) fn mark(&self) -> Result<usize, Box<dyn Error>> {
        Ok(fs::read(self.log(0)?)?.len())
    }

    /// What the first node has complained of since the mark, and how many files it has scrubbed.
    pub(super) fn since(&self, mark: usize) -> Result<(Vec<String>, usize), Box<dyn Error>> {
        let log = fs::read(self.log(0)?)?;
        let text = String::from_utf8_lossy(log.get(mark..).unwrap_or_default()).into_owned();
        let scrubbed = |line: &&str| line.contains("Scrub of ") && line.contains(" complete");
        Ok((complaints(&text), text.lines().filter(scrubbed).count()))
    }

    /// Rows and checksum of a table, read at a consistency level.
    pub(super) fn count(&self, table: &str, level: &str) -> Result<Value, Box<dyn Error>> {
        let words = [
            "count",
            table,
            "--cluster",
            NAME,
            "--checksum",
            "--cl",
            level,
        ];
        self.rig.json(&words)
    }
}

fn complaints(text: &str) -> Vec<String> {
    let says = |line: &&str| COMPLAINS.iter().any(|word| line.contains(word));
    let usual = |line: &&str| USUAL.iter().any(|word| line.contains(word));
    let found = text.lines().filter(says).filter(|line| !usual(line));
    found.map(str::to_owned).collect()
}

fn said_of(output: &Output) -> (bool, String) {
    let text = match output.stdout.is_empty() {
        true => &output.stderr,
        false => &output.stdout,
    };
    (output.status.success(), last(text))
}

/// The last line that says something.
fn last(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let line = text.lines().rfind(|line| !line.trim().is_empty());
    // Paths of this machine are nobody's business.
    let words = line.unwrap_or_default().trim().split(' ');
    let words = words.filter(|word| !word.contains('/'));
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_complains_only_of_what_is_unusual() {
        let text = "INFO  Scrub of x complete: 225 partitions in new sstable and 0 empty (tombstoned) partitions dropped\n\
            WARN  Data file partition position 34 differs from index file row position -1\n\
            WARN  Data file partition position 34 differs from index file row position 35\n\
            ERROR CorruptSSTableException\n";
        let found = complaints(text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].ends_with("position 35"));
        let dropped = "INFO  Scrub of x complete: 1 rows in new sstable and 2 empty (tombstoned) rows dropped";
        assert_eq!(complaints(dropped).len(), 1);
    }

    #[test]
    fn what_is_said_last_has_no_paths() {
        let text = b"Verify of big(path='/a/b') succeeded. All 225 rows read successfully\n\n";
        assert_eq!(
            last(text),
            "Verify of succeeded. All 225 rows read successfully"
        );
    }
}
