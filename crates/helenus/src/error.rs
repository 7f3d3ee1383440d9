//! How a failure ends: one clear error with its causes and its cure, and the right exit code.
//! Refuses to guess the code from a text.

use helenus_cluster::agent::AgentError;
use helenus_cluster::baseline::BaselineError;
use helenus_cluster::error::{Class, ClusterError, with_causes};
use helenus_cluster::hosts::AnsibleError;
use helenus_cluster::kept::KeptError;
use helenus_cluster::kube::{JobError, KubectlError};
use helenus_cluster::net::client::NetError;
use helenus_cluster::nodetool::WordsError;
use helenus_cluster::process::OwnerError;
use helenus_cluster::schema_file::GivenError;
use helenus_cluster::secure::SecureError;
use helenus_cluster::stack::StackError;
use helenus_cluster::state::StateError;
use helenus_cluster::store::StoreError;
use helenus_cql::InputError;
use helenus_lab::generator::AgentsError;
use helenus_model::bench::ShapeError;
use helenus_model::built_in::BuiltInError;
use helenus_model::format::Format;
use helenus_model::hosts::options::HostsError;
use helenus_model::ingest::MappingError;
use helenus_model::kube::kind::KindTooLarge;
use helenus_model::kube::options::KubeError;
use helenus_model::ledger::SubjectError;
use helenus_model::lent::NotLent;
use helenus_model::levels::DistanceError;
use helenus_model::like::{LikeError, ManifestError};
use helenus_model::nb::NbError;
use helenus_model::plan::PlanError;
use helenus_model::populate::TargetDataError;
use helenus_model::release::{KeyError, ReleaseError};
use helenus_model::run_plan::ProcessesError;
use helenus_model::run_shape::RunShapeError;
use helenus_model::sizing::{PinError, SizingError};
use helenus_model::toml_file::FileError;
use helenus_model::topology::TopologyError;
use helenus_model::workload::table_options::TableOptionError;
use std::fmt::Write as _;

/// Exit codes, as in `helenus --help` and docs/errors.md.
pub(crate) mod code {
    /// What was checked does not pass.
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

    /// With its cure; where there is none, the one that it has stays.
    pub(crate) fn hint(mut self, hint: impl Into<Option<String>>) -> Self {
        self.hint = hint.into().or(self.hint);
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
        struct ErrorReport<'a> {
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
        let report = ErrorReport {
            format: Format::new("error", 1),
            exit_code: self.code,
            error: &self.message,
            caused_by: &self.causes,
            log: &self.lines,
            hint: self.hint.as_deref(),
        };
        let line = serde_json::to_string(&report).unwrap_or_else(|error| error.to_string());
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

/// Errors that say whose fault they are.
macro_rules! problems {
    ($($error:ty)*) => {$(
        impl From<$error> for CommandError {
            fn from(error: $error) -> Self {
                ClusterError::from(error).into()
            }
        }
    )*};
}

problems! {
    AgentError
    AgentsError
    AnsibleError
    BaselineError
    GivenError
    HostsError
    JobError
    KeptError
    KubeError
    KubectlError
    NetError
    NotLent
    OwnerError
    PlanError
    ReleaseError
    SecureError
    StackError
    StateError
    StoreError
    TopologyError
}

/// Errors that have an exit code here, with what helps.
macro_rules! failures {
    ($code:ident: $($error:ty => $hint:expr;)*) => {$(
        impl From<$error> for CommandError {
            fn from(error: $error) -> Self {
                let hint: fn(&$error) -> Option<String> = $hint;
                let hint = hint(&error);
                Self::of(code::$code, &error).hint(hint)
            }
        }
    )*};
}

failures! {
    USAGE:
    InputError => |e| e.hint();
    KeyError => |e| Some(e.hint());
    FileError => |e| e.hint.clone();
    DistanceError => |e| e.hint();
    SizingError => |e| Some(e.hint());
    PinError => |e| Some(e.hint());
    LikeError => |e| Some(e.hint());
    ManifestError => |e| Some(e.hint());
    KindTooLarge => |e| Some(e.hint());
    BuiltInError => |e| Some(e.hint());
    TableOptionError => |e| Some(e.hint());
    RunShapeError => |e| Some(e.hint());
    ProcessesError => |e| Some(e.hint());
    ShapeError => |e| Some(e.hint().to_owned());
    MappingError => |e| Some(e.hint().to_owned());
    TargetDataError => |e| Some(e.hint().to_owned());
    SubjectError => |e| Some(e.hint());
    WordsError => |e| Some(e.hint());
    NbError => |e| Some(e.hint());
}

// Those of files name the file.
failures! {
    ENVIRONMENT:
    std::io::Error => |_| None;
    serde_json::Error => |_| None;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_keeps_its_cure_where_there_is_no_closer_one() {
        let full = || std::io::Error::from_raw_os_error(28);
        let failure = CommandError::from(full());
        assert_eq!(failure.code, code::ENVIRONMENT);
        let cure = Some("a disk is full: free some space");
        assert_eq!(failure.hint.as_deref(), cure);
        let closer = CommandError::of(code::USAGE, &full()).hint("free /data".to_owned());
        assert_eq!(closer.code, code::ENVIRONMENT);
        assert_eq!(closer.hint.as_deref(), Some("free /data"));
    }
}
