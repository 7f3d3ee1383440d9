//! One error for the history, with its cure.
//! Refuses to know exit codes: the face gives each error one.

use crate::id::RunId;
use crate::run::RunState;
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
    /// The database does not open.
    #[error("cannot open the history {}", path.display())]
    Open {
        /// The database.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// A database of another program.
    #[error("{} is a database, but no history of helenus", path.display())]
    Foreign {
        /// The database.
        path: PathBuf,
    },
    /// Written by a newer Helenus.
    #[error(
        "the history {} has version {found}, this helenus reads up to version {newest}",
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
    /// A stored shape of another version.
    #[error("run {run} is stored in a shape that this helenus does not read")]
    Format {
        /// The run.
        run: RunId,
        /// Why.
        source: FormatError,
    },
    /// No such run.
    #[error("there is no run {run}{}", newest.map_or_else(String::new, |n| format!(" (the newest is {n})")))]
    UnknownRun {
        /// Asked for.
        run: RunId,
        /// The newest one there is.
        newest: Option<RunId>,
    },
    /// There is none at all.
    #[error("the history holds no run")]
    Empty,
    /// What has ended is not changed.
    #[error("run {run} has ended already: it is {state}")]
    Ended {
        /// The run.
        run: RunId,
        /// What became of it.
        state: RunState,
    },
    /// The result belongs to another plan.
    #[error("run {run} began with plan {began}, the result is of plan {found}")]
    OtherPlan {
        /// The run.
        run: RunId,
        /// Hash of the plan it began with.
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
                _ => Some("HELENUS_HOME puts it into another folder".into()),
            },
            Self::Foreign { .. } => Some("name another file, or move this one aside".into()),
            Self::Newer { .. } => {
                Some("use the newer helenus, or another HELENUS_HOME for this one".into())
            }
            Self::NoWal { .. } => Some("keep it on a local disk: set HELENUS_HOME".into()),
            Self::UnknownRun {
                newest: Some(_), ..
            } => Some("`@last` names the newest".into()),
            Self::UnknownRun { newest: None, .. } | Self::Empty => {
                Some("`helenus bench` makes one".into())
            }
            Self::Format { .. } => Some("read it with the helenus that wrote it".into()),
            Self::Json { .. }
            | Self::Ended { .. }
            | Self::OtherPlan { .. }
            | Self::UnknownPhase { .. } => None,
        }
    }
}

const FULL: &str = "the disk is full: free some space, or set HELENUS_HOME to a larger one";

fn database_hint(error: &rusqlite::Error) -> Option<String> {
    let hint = match error.sqlite_error_code()? {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            "another helenus is writing to it: try again when that is done"
        }
        ErrorCode::DiskFull => FULL,
        ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
            "its file and its folder must be yours to write"
        }
        ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt => {
            "move the file aside: the next run makes a new one"
        }
        _ => return None,
    };
    Some(hint.into())
}
