//! A home of its own for each test, on a release cache that all share; nothing is left when it ends.
//! Refuses to end quietly over a process, a folder or a socket that is left behind.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// The release and its class-data archives, fetched and trained once for all tests.
pub(crate) fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("helenus-cache")
}

/// A release with the variable of a JDK that it supports; none where the one that is found does.
pub(crate) struct OnRelease {
    pub(crate) version: &'static str,
    pub(crate) jdk: Option<&'static str>,
}

/// Every release that can be fetched, newest first, for tests that go over them.
pub(crate) const RELEASES: [OnRelease; 3] = [
    OnRelease {
        version: "5.0.9",
        jdk: None,
    },
    OnRelease {
        version: "4.1.10",
        jdk: Some("JAVA11_HOME"),
    },
    OnRelease {
        version: "4.0.19",
        jdk: Some("JAVA11_HOME"),
    },
];

impl OnRelease {
    /// The flags of `up` for it; none where this machine lacks its JDK.
    pub(crate) fn flags(&self) -> Option<Vec<String>> {
        let mut flags = vec!["--cassandra".to_owned(), self.version.to_owned()];
        if let Some(variable) = self.jdk {
            flags.extend(["--java-home".to_owned(), std::env::var(variable).ok()?]);
        }
        Some(flags)
    }
}

/// What this machine lacks for real Cassandra, with its cure.
pub(crate) fn lacking() -> Option<String> {
    let home = tempfile::tempdir().expect("a temporary folder");
    let output = command(home.path())
        .args(["doctor", "--format", "json"])
        .output()
        .expect("helenus runs");
    let report: Value = serde_json::from_slice(&output.stdout).expect("doctor speaks JSON");
    let findings = report["findings"].as_array().expect("findings");
    findings.iter().find(|f| f["weight"] == "lacking").map(|f| {
        format!(
            "real Cassandra: {} {} ({})",
            f["what"],
            f["found"],
            f["cure"].as_str().unwrap_or("")
        )
    })
}

/// The folder of a JDK 17, as helenus finds it.
pub(crate) fn jdk_17() -> Option<String> {
    let home = tempfile::tempdir().expect("a temporary folder");
    let mut command = command(home.path());
    let output = command
        .args(["releases", "--format", "json"])
        .output()
        .expect("helenus runs");
    let known: Value = serde_json::from_slice(&output.stdout).expect("releases speaks JSON");
    let jdks = known["jdks"].as_array().expect("JDKs");
    let found = jdks
        .iter()
        .find(|j| j["version"].as_str().is_some_and(|v| v.starts_with("17.")));
    found.and_then(|j| j["home"].as_str()).map(str::to_owned)
}

fn command(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_helenus"));
    command
        .env("HELENUS_HOME", home)
        .env("HELENUS_CACHE", cache())
        .env_remove("HELENUS_CLUSTER")
        .env_remove("HELENUS_FAKE_NODE")
        .stdin(Stdio::null());
    command
}

/// What a command said.
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e} in {self}"))
    }

    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{self}");
        self
    }
}

impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "exit {}\n--- stdout\n{}\n--- stderr\n{}",
            self.code, self.stdout, self.stderr
        )
    }
}

/// A home.
pub(crate) struct Home {
    folder: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
        }
    }

    /// One whose path has what shells, URLs, logback, the JVM and YAML take for their own.
    pub(crate) fn odd() -> Self {
        let made = tempfile::Builder::new()
            .prefix(r#"he"le nus's %41#?=,$x{\"#)
            .tempdir();
        Self {
            folder: made.expect("a temporary folder"),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs helenus with these words.
    pub(crate) fn helenus(&self, words: &[&str]) -> Said {
        let output = command(self.path())
            .args(words)
            .output()
            .expect("helenus runs");
        Said {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Runs a script of the docs with helenus as its program and these variables.
    pub(crate) fn script(&self, name: &str, variables: &[(&str, &str)]) -> Said {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples");
        let mut shell = Command::new("sh");
        let whole = command(self.path());
        for (name, value) in whole.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        let output = shell
            .arg(docs.join(name))
            .env("HELENUS", whole.get_program())
            .envs(variables.iter().copied())
            .current_dir(self.path())
            .stdin(Stdio::null())
            .output()
            .expect("a shell");
        Said {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Starts helenus with these words and leaves it running.
    pub(crate) fn start(&self, words: &[&str]) -> Child {
        command(self.path())
            .args(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("helenus runs")
    }

    /// Runs `rm --all` and proves that nothing is left.
    #[track_caller]
    pub(crate) fn clear(&self) {
        let pids = self.processes();
        self.helenus(&["rm", "--all"]).ok();
        // A process that was killed is there until its parent has looked.
        let begin = std::time::Instant::now();
        while !self.processes().is_empty() && begin.elapsed().as_secs() < 20 {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert_eq!(self.processes(), Vec::<String>::new(), "processes are left");
        let clusters = self.path().join("state/clusters");
        let left: Vec<_> = fs_err::read_dir(&clusters)
            .map(|entries| entries.filter_map(Result::ok).map(|e| e.path()).collect())
            .unwrap_or_default();
        assert!(left.is_empty(), "folders are left: {left:?}");
        for pid in pids {
            let pid = pid.split(' ').next().unwrap_or_default();
            let socket = format!("/tmp/.java_pid{pid}");
            assert!(!Path::new(&socket).exists(), "{socket} is left");
        }
    }

    /// Living processes that were started for this home.
    fn processes(&self) -> Vec<String> {
        let home = self.path().to_string_lossy().into_owned();
        let mut found = Vec::new();
        for entry in fs_err::read_dir("/proc")
            .expect("/proc")
            .filter_map(Result::ok)
        {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Ok(words) = fs_err::read(entry.path().join("cmdline")) else {
                continue;
            };
            let words = String::from_utf8_lossy(&words).replace('\0', " ");
            if name.chars().all(|c| c.is_ascii_digit()) && words.contains(&home) {
                found.push(format!(
                    "{name} {}",
                    words.chars().take(200).collect::<String>()
                ));
            }
        }
        found
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The failure is reported already; what is left must not disturb the next test.
            let _said = self.helenus(&["rm", "--all"]);
        } else {
            self.clear();
        }
    }
}
