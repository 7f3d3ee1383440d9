//! Why a stress line cannot be read, each with its cure.
//! Refuses to guess what was meant where nothing is near.

use super::words;
use crate::dist::DistError;

/// Why a stress line cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StressError {
    /// The first word is no command.
    #[error("{word:?} is not a command of cassandra-stress: use one of {}", known.join(", "))]
    Command {
        /// What was written.
        word: String,
        /// The nearest one.
        nearest: Option<&'static str>,
        /// All.
        known: Vec<&'static str>,
    },
    /// Unknown groups.
    #[error("no such group of options: {}; known: {}", unknown.join(", "), known.join(", "))]
    Groups {
        /// What was written.
        unknown: Vec<String>,
        /// The nearest to the first.
        nearest: Option<&'static str>,
        /// All.
        known: Vec<&'static str>,
    },
    /// A group is given twice.
    #[error("{group} is given twice")]
    Twice {
        /// Which.
        group: String,
    },
    /// A parameter that the group does not take.
    #[error("{group} does not take {parameter:?}: it takes {}", known.join(", "))]
    Parameter {
        /// Group or command.
        group: String,
        /// What was written.
        parameter: String,
        /// The nearest one.
        nearest: Option<String>,
        /// The command or group that it belongs to.
        elsewhere: Option<&'static str>,
        /// All.
        known: Vec<String>,
    },
    /// A value that does not fit.
    #[error("{group}: {parameter}: the value is {form}")]
    Value {
        /// Group or command.
        group: String,
        /// What was written.
        parameter: String,
        /// What it must be.
        form: String,
    },
    /// A parameter is given twice.
    #[error("{group}: {option} is given twice")]
    Repeated {
        /// Group or command.
        group: String,
        /// Which.
        option: String,
    },
    /// A parameter that must be there.
    #[error("{group}: {option} is missing")]
    Lacks {
        /// Group or command.
        group: String,
        /// Which.
        option: String,
    },
    /// Parameters that belong to different sets.
    #[error("{group}: these parameters cannot be combined")]
    Together {
        /// Group or command.
        group: String,
        /// The sets.
        forms: Vec<String>,
    },
    /// An operation that no profile has.
    #[error("no profile has an operation {name:?}; known: {}", known.join(", "))]
    Operation {
        /// What was written.
        name: String,
        /// The nearest one.
        nearest: Option<String>,
        /// All.
        known: Vec<String>,
    },
    /// What is in parentheses.
    #[error("{group}: {parameter}: {why}")]
    Pair {
        /// Group or command.
        group: String,
        /// What was written.
        parameter: String,
        /// What is wrong.
        why: String,
    },
    /// No distribution.
    #[error("{group} {option} {why}")]
    Dist {
        /// Group or command.
        group: String,
        /// Which.
        option: String,
        /// Why.
        why: DistError,
    },
    /// The line was copied from a page that changed it.
    #[error("the line was copied with {}", what.join(" and "))]
    Copied {
        /// What is wrong.
        what: Vec<&'static str>,
        /// The words as they were meant.
        meant: Vec<String>,
    },
    /// Something is still to be filled in.
    #[error("{place} is a placeholder")]
    Placeholder {
        /// What was written.
        place: String,
    },
    /// A class that Cassandra does not have.
    #[error("Cassandra has no {what} {name:?}")]
    Class {
        /// Replication or compaction strategy.
        what: &'static str,
        /// What was written.
        name: String,
        /// The words with the nearest one in its place.
        meant: Option<Vec<String>>,
    },
    /// A combination that makes no sense.
    #[error("{0}")]
    Rule(String),
    /// Something that cassandra-stress no longer has.
    #[error("{what} is no longer supported: {why}")]
    Gone {
        /// What.
        what: String,
        /// Why.
        why: &'static str,
        /// What to do instead.
        cure: Option<String>,
    },
}

impl StressError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Command { nearest, .. } => nearest.map(|n| format!("did you mean {n}?")),
            Self::Groups {
                unknown, nearest, ..
            } => {
                if unknown.iter().any(|group| group.starts_with("--")) {
                    return Some(
                        "flags of helenus go before the command: helenus stress --dry-run write n=1000"
                            .to_owned(),
                    );
                }
                nearest.map(|n| format!("did you mean {n}?"))
            }
            Self::Operation { nearest, .. } => {
                nearest.as_ref().map(|n| format!("did you mean {n}?"))
            }
            Self::Twice { group } => Some(format!("give {group} once, with all its parameters")),
            Self::Parameter {
                nearest,
                elsewhere,
                parameter,
                group,
                ..
            } => Some(match (elsewhere, nearest) {
                (Some(place), _) if place.starts_with('-') => {
                    format!("{parameter} goes after {place}")
                }
                (Some(_), _) => {
                    format!("{parameter} goes after the command, before the first group")
                }
                (None, Some(nearest)) => format!("did you mean {nearest}?"),
                (None, None) => format!("helenus stress help {group} explains each"),
            }),
            Self::Lacks { group, .. } => {
                Some(format!("helenus stress help {group} shows what it takes"))
            }
            Self::Together { forms, .. } => Some(format!("write {}", forms.join("\n   or "))),
            Self::Copied { meant, .. } => Some(words::line(meant)),
            Self::Class {
                meant: Some(meant), ..
            } => Some(words::line(meant)),
            Self::Gone { cure, .. } => cure.clone(),
            Self::Placeholder { .. } => Some("replace it with a value".to_owned()),
            Self::Value { .. }
            | Self::Repeated { .. }
            | Self::Pair { .. }
            | Self::Dist { .. }
            | Self::Class { .. }
            | Self::Rule(_) => None,
        }
    }
}
