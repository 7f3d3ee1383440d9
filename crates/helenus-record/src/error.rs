//! One error for the history, with its cure.
//! Refuses to know exit codes: the command line gives each error one.

use crate::id::{ComparisonId, ExperimentId, RunId};
use crate::run::RunState;
use crate::tag::TagError;
use helenus_model::format::FormatError;
use rusqlite::ErrorCode;
use std::io;
use std::path::PathBuf;

/// Why the history could not be used.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The file or its folder cannot be made.
    #[error("cannot make the history {}", path.display())]
    Make {
        /// The database.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The database cannot be opened.
    #[error("cannot open the history {}", path.display())]
    Open {
        /// The database.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// A database of another program.
    #[error("{} is an SQLite database, but not a history of Helenus", path.display())]
    Foreign {
        /// The database.
        path: PathBuf,
    },
    /// Written by a newer Helenus.
    #[error(
        "the history {} has version {found}; this helenus reads versions up to {newest}",
        path.display()
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that this build reads.
        newest: u32,
    },
    /// The file system has no write-ahead log to offer.
    #[error("the history {} cannot be kept in WAL mode, only in {found}", path.display())]
    NoWal {
        /// The database.
        path: PathBuf,
        /// The mode that SQLite fell back to.
        found: String,
    },
    /// A folder of runs cannot be read or written.
    #[error("cannot read or write {}", path.display())]
    Folder {
        /// The folder, or a file in it.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file that should be a run of a history, and is not.
    #[error("{0}")]
    NotOurs(String),
    /// Reading or writing failed.
    #[error("cannot read or write the history")]
    Database(#[from] rusqlite::Error),
    /// A value cannot be written as JSON, or stored JSON is not what it should be.
    #[error("{what} in the history cannot be read or written")]
    Json {
        /// Which value.
        what: &'static str,
        /// Why.
        source: serde_json::Error,
    },
    /// A stored format of another version.
    #[error("run {run} is stored in a format that this helenus cannot read")]
    Format {
        /// The run.
        run: RunId,
        /// Why.
        source: FormatError,
    },
    /// A stored comparison of another version.
    #[error("comparison {comparison} is stored in a format that this helenus cannot read")]
    ComparisonFormat {
        /// The comparison.
        comparison: ComparisonId,
        /// Why.
        source: FormatError,
    },
    /// No such run.
    #[error("no such run: {run}{}", newest.map_or_else(String::new, |n| format!(" (the newest is {n})")))]
    UnknownRun {
        /// Asked for.
        run: RunId,
        /// The newest one there is.
        newest: Option<RunId>,
    },
    /// Neither a run nor a tag has this name.
    #[error("no such run or tag: {name}")]
    UnknownName {
        /// Asked for.
        name: String,
        /// A tag that is like it.
        nearest: Option<String>,
    },
    /// A name of several runs where one is expected.
    #[error("{name} names several runs: {}", list(runs))]
    Several {
        /// Asked for.
        name: String,
        /// The runs.
        runs: Vec<RunId>,
    },
    /// Runs, and none that has ended.
    #[error("no run has ended yet")]
    NoneEnded,
    /// A tag or range of runs none of which is complete.
    #[error("no run of {name} is complete")]
    NoneComplete {
        /// Asked for.
        name: String,
    },
    /// No such comparison.
    #[error("no such comparison: {comparison}{}", newest.map_or_else(String::new, |n| format!(" (the newest is {n})")))]
    UnknownComparison {
        /// Asked for.
        comparison: ComparisonId,
        /// The newest one there is.
        newest: Option<ComparisonId>,
    },
    /// No such experiment, or no such trial of it.
    #[error("experiment {experiment} has no trial {trial}")]
    UnknownTrial {
        /// The experiment.
        experiment: ExperimentId,
        /// The trial's place in it, from zero.
        trial: u32,
    },
    /// The same processes of the nodes cannot be two restarts.
    #[error(
        "experiment {experiment}, restart {restart}: these processes of the nodes were already measured, as another restart"
    )]
    OtherRestart {
        /// The experiment.
        experiment: ExperimentId,
        /// The restart's place in its trial, from zero.
        restart: u32,
    },
    /// Not a valid tag.
    #[error(transparent)]
    Tag(#[from] TagError),
    /// The run does not have that tag.
    #[error("run {run} has no tag {tag}")]
    NotTagged {
        /// The run.
        run: RunId,
        /// The tag.
        tag: String,
        /// Those it has.
        has: Vec<String>,
    },
    /// A run that a living process writes.
    #[error("run {run} is still under way")]
    Running {
        /// The run.
        run: RunId,
    },
    /// A run of an experiment or a comparison that a living process carries out.
    #[error("run {run} belongs to {by}, which is under way")]
    Held {
        /// The run.
        run: RunId,
        /// What it belongs to.
        by: String,
    },
    /// A run without what was asked for.
    #[error("run {run} is {state} and has no {what}")]
    Lacks {
        /// The run.
        run: RunId,
        /// Its state.
        state: RunState,
        /// What it lacks.
        what: &'static str,
    },
    /// A phase that the run does not have.
    #[error("run {run} has no phase named {phase}")]
    NoSuchPhase {
        /// The run.
        run: RunId,
        /// Asked for.
        phase: String,
        /// Those it has.
        has: Vec<String>,
    },
    /// What was exported could not be written.
    #[error("cannot write the export")]
    Write(#[source] io::Error),
    /// There is none at all.
    #[error("the history contains no run")]
    Empty,
    /// A run that has ended is not changed.
    #[error("run {run} has already ended ({state})")]
    Ended {
        /// The run.
        run: RunId,
        /// Its state.
        state: RunState,
    },
    /// The result belongs to another plan.
    #[error("run {run} started with plan {began}, but the result is of plan {found}")]
    OtherPlan {
        /// The run.
        run: RunId,
        /// Hash of the plan it started with.
        began: String,
        /// Hash in the result.
        found: String,
    },
    /// The plan has no such phase.
    #[error("the plan of run {run} has no phase {ordinal} ({name})")]
    UnknownPhase {
        /// The run.
        run: RunId,
        /// Place in the plan, from zero.
        ordinal: usize,
        /// Its name, where one was given.
        name: String,
    },
}

impl HistoryError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Open { source, .. } | Self::Database(source) => database_hint(source),
            Self::Make { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull => Some(FULL.into()),
                _ => Some("set HELENUS_HOME to another folder".into()),
            },
            Self::Folder { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                Some(FULL.into())
            }
            Self::Folder { .. } => Some("name a folder that you may write to".into()),
            Self::Foreign { .. } => Some("name another file, or move this one aside".into()),
            Self::Newer { .. } => {
                Some("use the newer helenus, or another HELENUS_HOME for this one".into())
            }
            Self::NoWal { .. } => Some("keep it on a local disk: set HELENUS_HOME".into()),
            Self::UnknownRun {
                newest: Some(_), ..
            } => Some("`@last` is the last run that has ended".into()),
            Self::UnknownRun { newest: None, .. } | Self::Empty => {
                Some("`helenus bench` makes one".into())
            }
            Self::Format { .. } | Self::ComparisonFormat { .. } => {
                Some("read it with the helenus that wrote it".into())
            }
            Self::UnknownName { nearest, .. } => Some(match nearest {
                Some(near) => format!("did you mean {near}?"),
                None => "`helenus history` lists runs and their tags".into(),
            }),
            Self::Several { .. } => Some("name one of them".into()),
            Self::NoneEnded => Some("`@newest` is the newest run, whatever its state".into()),
            Self::NoneComplete { .. } => {
                Some("`helenus history` shows the state of each run".into())
            }
            Self::UnknownComparison { .. } => {
                Some("`helenus history --comparisons` lists them".into())
            }
            Self::Tag(error) => Some(error.hint()),
            Self::NotTagged { has, .. } | Self::NoSuchPhase { has, .. } => Some(match has.len() {
                0 => "it has none".into(),
                _ => format!("it has {}", has.join(", ")),
            }),
            Self::Running { .. } | Self::Held { .. } => {
                Some("wait until it ends, or stop it".into())
            }
            Self::Lacks { what, .. } => {
                Some(format!("only a run with {what} can be written this way"))
            }
            Self::Write(error) if error.kind() == io::ErrorKind::StorageFull => Some(FULL.into()),
            Self::Write(_)
            | Self::Json { .. }
            | Self::NotOurs(_)
            | Self::UnknownTrial { .. }
            | Self::OtherRestart { .. }
            | Self::Ended { .. }
            | Self::OtherPlan { .. }
            | Self::UnknownPhase { .. } => None,
        }
    }
}

impl HistoryError {
    /// Whether it is this machine's, such as a full disk, and says nothing of a file that came from another history.
    pub(crate) fn is_of_here(&self) -> bool {
        match self {
            Self::Make { .. } | Self::Folder { .. } | Self::NoWal { .. } => true,
            Self::Open { source, .. } | Self::Database(source) => matches!(
                source.sqlite_error_code(),
                Some(
                    ErrorCode::DatabaseBusy
                        | ErrorCode::DatabaseLocked
                        | ErrorCode::DiskFull
                        | ErrorCode::ReadOnly
                        | ErrorCode::CannotOpen
                        | ErrorCode::PermissionDenied
                        | ErrorCode::OutOfMemory
                        | ErrorCode::SystemIoFailure
                )
            ),
            _ => false,
        }
    }
}

fn list(runs: &[RunId]) -> String {
    let names: Vec<String> = runs.iter().map(ToString::to_string).collect();
    names.join(", ")
}

const FULL: &str = "the disk is full: free some space, or set HELENUS_HOME to a larger one";

fn database_hint(error: &rusqlite::Error) -> Option<String> {
    let hint = match error.sqlite_error_code()? {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            "another helenus is writing to it: try again when that is done"
        }
        ErrorCode::DiskFull => FULL,
        ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
            "you need write permission for the file and its folder"
        }
        ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt => {
            "move the file aside: the next run makes a new one"
        }
        _ => return None,
    };
    Some(hint.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_this_machine_s_and_a_value_that_does_not_fit_is_not() {
        let failed = |code| {
            let error = rusqlite::ffi::Error::new(code);
            HistoryError::Database(rusqlite::Error::SqliteFailure(error, None))
        };
        for code in [
            rusqlite::ffi::SQLITE_FULL,
            rusqlite::ffi::SQLITE_BUSY,
            rusqlite::ffi::SQLITE_IOERR,
        ] {
            assert!(failed(code).is_of_here(), "{code}");
        }
        for code in [
            rusqlite::ffi::SQLITE_CONSTRAINT,
            rusqlite::ffi::SQLITE_CORRUPT,
        ] {
            assert!(!failed(code).is_of_here(), "{code}");
        }
        assert!(!HistoryError::NotOurs("it is damaged".into()).is_of_here());
    }
}
