//! HISTORY AND REPORTS: the SQLite history of runs, and the reports that are made from it.
//! Refuses: async, network, printing, and databases of a newer Helenus.
//!
//! A run stands in the history from its first moment, as *broken*; only its proper end makes it anything else.
//! So a run whose writer was killed is there, and is seen to be broken.
//!
//! Every run belongs to a restart (one life of the processes), that to a trial, and that to an experiment. For a
//! single run these three are made with it rather than left empty: whoever pairs restarts later asks one
//! question of all runs, not two. What is not known is NULL in *them*: an experiment without a name was made for a
//! single run, and a restart without a `life` proves nothing about being a life of its own.

// Names, columns and times.
mod columns;
mod id;
pub mod when;
mod writer;

// What a run is.
mod run;
mod tag;

// Errors, and what is derived from runs.
mod error;
mod prune;
mod series;

// The database.
pub mod hdr_log;
mod open;

// Tables that are read and written.
mod comparison;
pub mod csv;
mod planned;
mod read;
mod sync;

// Changes, and reports.
mod change;
mod experiment;
pub mod report;

// Names of runs, and the writing of one.
mod reference;
mod write;

pub use comparison::StoredComparison;
pub use error::HistoryError;
pub use id::{ComparisonId, ExperimentId, RunId, RunIdError, RunReference};
pub use open::{FILE, History};
pub use planned::{ExperimentBeginning, PlannedRun, StoredExperiment};
pub use prune::{PruneChoice, to_prune};
pub use run::{
    Ending, ON_KEY, PhaseSummary, RunBeginning, RunFilter, RunPlace, RunPlacement, RunState,
    RunSummary, StoredRun,
};
pub use series::{Measure, Point, Series};
pub use sync::{SUFFIX, Synced};
pub use tag::{TagError, check_tag};
