//! The jars of a release by Maven coordinates, each with its size and SHA-256.
//! Refuses a lock with a line that it does not understand: a jar is never skipped silently.

use super::Arch;

/// One jar of a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Maven's group id.
    pub group: String,
    /// Maven's artifact id.
    pub artifact: String,
    /// Its version.
    pub version: String,
    /// Maven's classifier, where it has one.
    pub classifier: Option<String>,
    /// The processor it is for; none where it serves all.
    pub arch: Option<Arch>,
    /// The file's name in the store.
    pub file: String,
    /// SHA-256 of the file, 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// Size in bytes.
    pub size: u64,
}

impl Artifact {
    /// Maven's spelling of the coordinates: `group:artifact:version[:classifier]`.
    pub fn coordinates(&self) -> String {
        let tail = self.classifier.iter().map(|c| format!(":{c}"));
        format!("{}:{}:{}", self.group, self.artifact, self.version) + &tail.collect::<String>()
    }

    /// The line of the lock file, without its end.
    pub fn to_line(&self) -> String {
        [
            self.group.as_str(),
            &self.artifact,
            &self.version,
            self.classifier.as_deref().unwrap_or("-"),
            self.arch.map_or("any", Arch::name),
            &self.file,
            &self.sha256,
            &self.size.to_string(),
        ]
        .join("\t")
    }

    fn parse(line: &str) -> Option<Self> {
        let mut cells = line.split('\t');
        let mut text = || cells.next().filter(|c| !c.is_empty()).map(str::to_owned);
        let artifact = Self {
            group: text()?,
            artifact: text()?,
            version: text()?,
            classifier: Some(text()?).filter(|c| c != "-"),
            arch: match text()?.as_str() {
                "any" => None,
                name => Some(Arch::parse(name)?),
            },
            file: text().filter(|f| !f.contains('/') && !f.starts_with('.'))?,
            sha256: text().filter(|h| h.len() == 64 && h.bytes().all(is_lower_hex))?,
            size: text()?.parse().ok()?,
        };
        cells.next().is_none().then_some(artifact)
    }
}

fn is_lower_hex(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
}

/// The jars of a release for every processor that Helenus serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    artifacts: Vec<Artifact>,
}

/// Why a lock could not be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum LockError {
    /// A line that is no artifact.
    #[error("line {line} of the lock is not an artifact: {text:?}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// The line.
        text: String,
    },
    /// No artifact at all.
    #[error("the lock names no artifact")]
    Empty,
}

impl LockError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        "make the lock again with `cargo xtask lock VERSION`".to_owned()
    }
}

impl Lock {
    /// Reads the lock's text: tab-separated lines, `#` opens a comment.
    ///
    /// # Errors
    /// A line that is no artifact, or none at all.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        let lines = text.lines().enumerate();
        let artifacts: Vec<Artifact> = lines
            .filter(|(_, line)| !line.starts_with('#') && !line.trim().is_empty())
            .map(|(n, line)| {
                Artifact::parse(line).ok_or_else(|| LockError::Line {
                    line: n + 1,
                    text: line.to_owned(),
                })
            })
            .collect::<Result<_, _>>()?;
        if artifacts.is_empty() {
            return Err(LockError::Empty);
        }
        Ok(Self { artifacts })
    }

    /// The jars that a node on this processor needs.
    pub fn artifacts(&self, arch: Arch) -> impl Iterator<Item = &Artifact> {
        let fits = move |a: &&Artifact| a.arch.is_none_or(|only| only == arch);
        self.artifacts.iter().filter(fits)
    }

    /// Every jar for every processor.
    pub fn all(&self) -> &[Artifact] {
        &self.artifacts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::Release;

    #[test]
    fn the_committed_lock_has_no_jar_of_another_platform() {
        let lock = Release::find("5.0.9").unwrap().lock().unwrap();
        for artifact in lock.all() {
            for foreign in ["osx", "windows", "riscv", "macos"] {
                assert!(!artifact.file.contains(foreign), "{}", artifact.file);
            }
        }
        let native = |arch| {
            let of_arch = lock.artifacts(arch).filter(|a| a.arch.is_some());
            of_arch.map(|a| a.artifact.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(
            native(Arch::X86_64),
            [
                "netty-tcnative-boringssl-static",
                "netty-transport-native-epoll"
            ]
        );
        assert_eq!(native(Arch::Aarch64), native(Arch::X86_64));
    }

    #[test]
    fn lines_round_trip_and_names_are_unique() {
        let lock = Release::find("5.0.9").unwrap().lock().unwrap();
        let text: String = lock.all().iter().map(|a| a.to_line() + "\n").collect();
        assert_eq!(&Lock::parse(&text).unwrap(), lock);
        let names: std::collections::BTreeSet<_> = lock.all().iter().map(|a| &a.file).collect();
        assert_eq!(names.len(), lock.all().len());
        let main = lock.all().iter().find(|a| a.artifact == "cassandra-all");
        assert_eq!(
            main.unwrap().coordinates(),
            "org.apache.cassandra:cassandra-all:5.0.9"
        );
    }

    #[test]
    fn broken_lines_are_refused_with_their_number() {
        let good = format!("g\ta\t1\t-\tany\ta-1.jar\t{}\t10", "0".repeat(64));
        assert!(Lock::parse(&good).is_ok());
        for bad in [
            good.replace("any", "sparc"),
            good.replace("a-1.jar", "../a-1.jar"),
            good.replace("\t10", "\tten"),
            good.replace(&"0".repeat(64), "00"),
            format!("{good}\tmore"),
        ] {
            let error = Lock::parse(&format!("# one\n{bad}")).unwrap_err();
            assert_eq!(error, LockError::Line { line: 2, text: bad });
        }
        assert_eq!(Lock::parse("# nothing"), Err(LockError::Empty));
    }
}
