//! The real cassandra-stress 4.0-alpha2: fetched by Maven, run on the rig's JDK, and its summary read.
//! Refuses an archive whose sum is another.

use super::super::rig::Rig;
use helenus_model::hex::sha256;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const ARCHIVE: &str = "apache-cassandra-4.0-alpha2-bin.tar.gz";
const SHA256: &str = "a88431e5976ff8a487386b2904926503f2d364fd9b72dcadbce87ee53049445d";

/// Packages of java.base that it wants open on a JDK 17.
const OPEN: [&str; 13] = [
    "java.io",
    "java.lang",
    "java.lang.reflect",
    "java.math",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "jdk.internal.misc",
    "jdk.internal.module",
    "jdk.internal.ref",
    "sun.nio.ch",
];

/// What a line came to.
pub(super) struct Counted {
    pub(super) operations: f64,
    pub(super) partitions: f64,
    pub(super) rows_an_operation: f64,
    pub(super) errors: f64,
    /// It ran to its end.
    pub(super) ended: bool,
}

/// The unpacked distribution.
pub(super) struct Distribution {
    folder: PathBuf,
}

impl Distribution {
    /// What is there, or fetched now.
    pub(super) fn fetched(into: &Path) -> Result<Self, Box<dyn Error>> {
        let folder = into.join("apache-cassandra-4.0-alpha2");
        if folder.join("quiet/logback.xml").is_file() {
            return Ok(Self { folder });
        }
        fs_err::create_dir_all(into)?;
        let fetched = Command::new("mvn")
            .args(["-q", "-B"])
            .arg("org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy")
            .arg("-Dartifact=org.apache.cassandra:apache-cassandra:4.0-alpha2:tar.gz:bin")
            .arg(format!("-DoutputDirectory={}", into.display()))
            .stdout(Stdio::null())
            .status()?;
        let archive = into.join(ARCHIVE);
        if !fetched.success() {
            return Err(format!("mvn: {fetched}").into());
        }
        let sum = sha256(fs_err::read(&archive)?);
        if sum != SHA256 {
            return Err(format!("{ARCHIVE} has the sum {sum}, not {SHA256}").into());
        }
        let opened = Command::new("tar")
            .arg("xzf")
            .arg(&archive)
            .arg("-C")
            .arg(into)
            .status()?;
        if !opened.success() {
            return Err(format!("tar: {opened}").into());
        }
        fs_err::create_dir_all(folder.join("quiet"))?;
        let silent = "<configuration><root level=\"OFF\"/></configuration>";
        fs_err::write(folder.join("quiet/logback.xml"), silent)?;
        Ok(Self { folder })
    }

    /// A profile that it ships.
    pub(super) fn profile(&self, name: &str) -> PathBuf {
        self.folder.join("tools").join(format!("{name}.yaml"))
    }

    /// Carries a line out.
    pub(super) fn run(
        &self,
        rig: &Rig,
        words: &[String],
        address: &str,
    ) -> Result<Counted, Box<dyn Error>> {
        let mut java = Command::new(rig.jdk.home.join("bin/java"));
        for package in OPEN {
            for flag in ["--add-opens", "--add-exports"] {
                java.arg(flag)
                    .arg(format!("java.base/{package}=ALL-UNNAMED"));
            }
        }
        let path = ["quiet", "lib/*", "tools/lib/*"];
        let path = path.map(|part| self.folder.join(part).display().to_string());
        let output = java
            .args(["-Xmx512M", "-Duser.language=en", "-cp"])
            .arg(path.join(":"))
            .arg("org.apache.cassandra.stress.Stress")
            .args(words)
            .args(["-node", address])
            .current_dir(rig.trial_folder()?)
            .stdin(Stdio::null())
            .output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        let counted = counted(&said).ok_or_else(|| {
            let wrong = String::from_utf8_lossy(&output.stderr);
            let wrong: Vec<&str> = said.lines().chain(wrong.lines()).collect();
            let end = wrong.len().saturating_sub(10);
            format!(
                "cassandra-stress printed no figures: {}",
                wrong[end..].join(" | ")
            )
        })?;
        Ok(Counted {
            ended: counted.ended && output.status.success(),
            ..counted
        })
    }
}

/// The figures of a run, from its rows and its summary. Rows are printed as a rate alone: the time that it stands for
/// is that of the largest count which is printed as both.
fn counted(said: &str) -> Option<Counted> {
    let number = |text: &str| text.trim().replace(',', "").parse::<f64>().ok();
    let value = |name: &str| {
        let line = said.lines().find(|line| line.starts_with(name))?;
        let (_, value) = line.split_once(':')?;
        number(
            value
                .split(" op/s")
                .next()?
                .split(" pk/s")
                .next()?
                .split(" row/s")
                .next()?
                .split('[')
                .next()?,
        )
    };
    let last = said.lines().rfind(|line| line.starts_with("total,"))?;
    let operations = number(last.split(',').nth(1)?)?;
    let (partitions, errors) = (value("Total partitions")?, value("Total errors")?);
    let rates = [
        (operations, value("Op rate")?),
        (partitions, value("Partition rate")?),
    ];
    let by_rate = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
    let (count, rate) = rates.iter().max_by(by_rate)?;
    Some(Counted {
        operations,
        partitions,
        rows_an_operation: value("Row rate")? * count / rate / operations,
        errors,
        ended: said.lines().rfind(|line| !line.is_empty()) == Some("END"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_read() {
        let said = "total,        10,     9\ntotal,       1275,      173,    2833\n\n\nResults:\nOp rate                   :      102 op/s  [insert: 71 op/s, simple1: 31 op/s]\nPartition rate            :    1,863 pk/s  [insert: 1,832 pk/s]\nRow rate                  :    2,165 row/s [insert: 1,832 row/s]\nTotal partitions          :     23,287 [insert: 4,916, simple1: 82]\nTotal errors              :          0 [insert: 0, simple1: 0]\n\nEND\n";
        let counted = counted(said).unwrap();
        assert_eq!((counted.operations, counted.partitions), (1275.0, 23_287.0));
        assert_eq!((counted.errors, counted.ended), (0.0, true));
        // 12.5 s of 2,165 rows a second.
        assert!((counted.rows_an_operation - 21.225).abs() < 0.01);
        assert!(
            !super::counted(&said.replace("END", "FAILURE"))
                .unwrap()
                .ended
        );
    }
}
