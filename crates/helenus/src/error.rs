//! How a failure ends: one clear error with its causes and its cure, and the right exit code.
//! Refuses to guess the code from a text.

use helenus_cluster::error::{Class, ClusterError, with_causes};
use helenus_model::format::Format;
use std::fmt::Write as _;

/// Exit codes, as in `helenus --help` and docs/errors.md.
pub(crate) mod code {
    /// What was looked at is not as it should be.
    pub(crate) const BAR: u8 = 1;
    /// What was asked for: flags, files, unknown names, a refused cluster.
    pub(crate) const USAGE: u8 = 2;
    /// JDK, kernel feature, privilege, disk, port, unreachable.
    pub(crate) const ENVIRONMENT: u8 = 3;
    /// A node would not start, stay up or stop.
    pub(crate) const CLUSTER: u8 = 4;
    /// It ran, and its numbers are not valid.
    pub(crate) const INVALID: u8 = 5;
    /// Interrupted, and cleaned up.
    pub(crate) const INTERRUPTED: u8 = 130;
}

/// The words of the kernel, of Cassandra and of SQLite for a full disk.
const NO_SPACE: [&str; 4] = [
    "No space left on device",
    "Insufficient disk space",
    "Not enough space for",
    "disk is full",
];

/// A failure as a person reads it.
#[derive(Debug)]
pub(crate) struct CommandError {
    /// Exit code.
    pub(crate) code: u8,
    message: String,
    causes: Vec<String>,
    lines: Vec<String>,
    hint: Option<String>,
}

impl CommandError {
    /// A failure with a code and a message.
    pub(crate) fn new(code: u8, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            causes: vec![],
            lines: vec![],
            hint: None,
        }
    }

    /// From any error, with its chain of causes.
    pub(crate) fn of(code: u8, error: &(dyn std::error::Error + 'static)) -> Self {
        let mut failure = Self::new(code, error.to_string());
        if let Some(source) = error.source() {
            failure.causes.push(with_causes(source));
        }
        failure.or_no_space()
    }

    /// A full disk is the environment's, whoever met it and whatever else it looks like there.
    pub(crate) fn or_no_space(mut self) -> Self {
        let full = |text: &String| NO_SPACE.iter().any(|words| text.contains(words));
        if full(&self.message) || self.causes.iter().any(full) {
            self.code = code::ENVIRONMENT;
            self.hint = Some("a disk is full: free some space".into());
        }
        self
    }

    /// With its cure.
    pub(crate) fn hint(mut self, hint: impl Into<Option<String>>) -> Self {
        self.hint = hint.into();
        self
    }

    /// With another cure behind the one that it has.
    pub(crate) fn or_else_hint(mut self, other: &str) -> Self {
        self.hint = Some(match self.hint {
            Some(hint) => format!("{hint}; {other}"),
            None => other.to_owned(),
        });
        self
    }

    /// With the place where it happened before the message.
    pub(crate) fn within(mut self, place: &str) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }

    /// Its first line, for the log: hints may quote what a person typed.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The error of a line that cannot be read, with the cure that it has.
    pub(crate) fn of_line(error: &clap::Error) -> Self {
        let text = error.render().to_string();
        let mut parts = text.trim().split("\n\n").map(|part| {
            let lines: Vec<&str> = part.lines().map(str::trim).collect();
            lines.join(" ")
        });
        let first = parts.next().unwrap_or_default();
        let cures = |part: &String| !part.starts_with("Usage:") && !part.starts_with("For more");
        let hints = parts.filter(cures);
        let hints: Vec<String> = hints
            .map(|part| part.trim_start_matches("tip: ").to_owned())
            .collect();
        Self::new(code::USAGE, first.trim_start_matches("error: "))
            .hint((!hints.is_empty()).then(|| hints.join("; ")))
    }

    /// As a program reads it: one line of JSON on standard error.
    pub(crate) fn json(&self) -> String {
        #[derive(serde::Serialize)]
        struct Told<'a> {
            format: Format,
            /// The exit code.
            exit_code: u8,
            /// What went wrong.
            error: &'a str,
            /// The chain of causes.
            caused_by: &'a [String],
            /// The last lines of a node's log.
            log: &'a [String],
            /// What to do.
            hint: Option<&'a str>,
        }
        let told = Told {
            format: Format::new("error", 1),
            exit_code: self.code,
            error: &self.message,
            caused_by: &self.causes,
            log: &self.lines,
            hint: self.hint.as_deref(),
        };
        let line = serde_json::to_string(&told).unwrap_or_else(|error| error.to_string());
        format!("{line}\n")
    }

    /// As it is written to standard error.
    pub(crate) fn render(&self) -> String {
        let red = owo_colors::Style::new().red().bold();
        let cyan = owo_colors::Style::new().cyan();
        let mut text = format!("{} {}\n", red.style("error:"), self.message);
        for cause in &self.causes {
            let _infallible = writeln!(text, "  caused by: {cause}");
        }
        for line in &self.lines {
            let _infallible = writeln!(text, "  | {line}");
        }
        if let Some(hint) = &self.hint {
            let _infallible = writeln!(text, "{} {hint}", cyan.style("hint:"));
        }
        text
    }
}

impl From<ClusterError> for CommandError {
    fn from(error: ClusterError) -> Self {
        let code = match error.class() {
            Class::Usage => code::USAGE,
            Class::Environment => code::ENVIRONMENT,
            Class::Cluster => code::CLUSTER,
            Class::Interrupted => code::INTERRUPTED,
        };
        let mut failure = Self::of(code, &error);
        failure.lines = error.lines();
        if code == code::INTERRUPTED {
            failure.message = "interrupted, and cleaned up".into();
            failure.causes.clear();
        }
        failure.hint(error.hint())
    }
}

impl From<helenus_cql::InputError> for CommandError {
    fn from(error: helenus_cql::InputError) -> Self {
        Self::of(code::USAGE, &error).hint(error.hint())
    }
}

impl From<helenus_cluster::state::StateError> for CommandError {
    fn from(error: helenus_cluster::state::StateError) -> Self {
        ClusterError::from(error).into()
    }
}
