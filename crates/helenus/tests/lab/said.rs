//! What a command said, as the text that a snapshot keeps: exit code, standard output, standard error.
//! Refuses to keep what changes from run to run: paths and addresses always, pids, sizes and times on request.

use std::fmt;
use std::io::{Read as _, Seek as _};
use std::path::Path;

/// What a command said.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    /// Exit code, or `signal N`.
    pub(crate) code: String,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

impl Said {
    pub(crate) fn new(code: String, out: &str, err: &str, root: &Path) -> Self {
        let root = root.to_string_lossy();
        let clean = |text: &str| {
            text.replace(super::HELENUS, "[HELENUS]")
                .replace(&*root, "[LAB]")
        };
        Self {
            code,
            out: clean(out),
            err: clean(err),
        }
    }

    /// The first lines of standard output only.
    pub(crate) fn head(mut self, lines: usize) -> Self {
        let kept: Vec<&str> = self.out.lines().take(lines).collect();
        self.out = kept.join("\n") + "\n";
        self
    }

    /// Rows of nodes that follow each other, by state: nodetool orders them by a hash of the address, and every trial
    /// has addresses of its own.
    pub(crate) fn nodes_by_state(mut self) -> Self {
        let is_node = |line: &str| line.get(1..4) == Some("N  ");
        let mut lines: Vec<&str> = self.out.lines().collect();
        for rows in lines.chunk_by_mut(|a, b| is_node(a) && is_node(b)) {
            rows.sort_unstable();
        }
        self.out = lines.join("\n") + "\n";
        self
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "exit code: {}", self.code)?;
        for (name, text) in [
            ("standard output", &self.out),
            ("standard error", &self.err),
        ] {
            if !text.is_empty() {
                write!(f, "--- {name}\n{text}")?;
            }
        }
        Ok(())
    }
}

/// Everything in a file that somebody else may still write to.
pub(crate) fn read(file: &mut std::fs::File) -> String {
    let mut bytes = Vec::new();
    file.rewind().expect("a file of ours");
    file.read_to_end(&mut bytes).expect("a file of ours");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Each system has another command that brings a JDK or Maven, and some have none.
pub(crate) const INSTALL: &str = r"install (JDK \d+|Maven)(: [^,]+)?";

/// What every snapshot leaves out.
pub(crate) const STEADY: [(&str, &str); 6] = [
    // clap pads some blank lines.
    (r"(?m)^ +$", ""),
    (INSTALL, "install $1: [command]"),
    (r"_PORT=\d+", "_PORT=[port]"),
    (r"127\.\d+\.\d+\.\d+:\d+", "[address]:[port]"),
    (r"127\.\d+\.\d+\.\d+", "[address]"),
    (
        r#""(cql_port|port|cql|storage|jmx)": \d+"#,
        r#""$1": [port]"#,
    ),
];

/// What snapshots of living things leave out beside that: figures, and the width of columns that hold them.
pub(crate) const LIVE: [(&str, &str); 7] = [
    (r"\b\d+(\.\d+)? (B|KiB|MiB|GiB)\b", "[size]"),
    (r"\b\d+(\.\d+)? ?(ms|µs|s|min|h)\b", "[time]"),
    (r"([^ \n]) {2,}", "$1  "),
    (r"(\[address\]:\[port\])  \d+", "$1  [pid]"),
    (r#""(\w*bytes)": \d+"#, r#""$1": [bytes]"#),
    (r#""(pid|threads)": \d+"#, r#""$1": [$1]"#),
    (r#""seconds": [\d.e-]+"#, r#""seconds": [seconds]"#),
];

/// A snapshot of what a command said.
macro_rules! shot {
    ($said:expr, @$snapshot:literal) => {{
        let mut settings = insta::Settings::clone_current();
        for (pattern, word) in $crate::lab::said::STEADY {
            settings.add_filter(pattern, word);
        }
        settings.bind(|| insta::assert_snapshot!($said.to_string(), @$snapshot));
    }};
}

/// A snapshot of what a command said about processes, their memory and their time.
macro_rules! shot_live {
    ($said:expr, @$snapshot:literal) => {{
        let mut settings = insta::Settings::clone_current();
        for (pattern, word) in $crate::lab::said::STEADY.into_iter().chain($crate::lab::said::LIVE) {
            settings.add_filter(pattern, word);
        }
        settings.bind(|| insta::assert_snapshot!($said.to_string(), @$snapshot));
    }};
}
