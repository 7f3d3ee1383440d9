//! THE MEMORY of Helenus: the SQLite history of runs, and the reports that are made from it.
//! Refuses: async, network, printing, and databases of a newer Helenus.
//!
//! A run stands in the history from its first moment, as *broken*; only its proper end makes it anything else.
//! So a run whose writer was killed is there, and is seen to be broken.
//!
//! Every run belongs to a restart (one life of the processes), that to a trial, and that to an experiment. For a
//! single run these three are made with it rather than left empty: whoever pairs restarts later asks one
//! question of all runs, not two. What is not known is NULL in *them*: an experiment without a name was made for a
//! single run, and a restart without a `life` proves nothing about being a life of its own.

mod columns;
mod error;
mod id;
mod open;
mod read;
pub mod report;
mod run;
mod write;

pub use error::HistoryError;
pub use id::{RunId, RunIdError, RunReference};
pub use open::History;
pub use run::{Ending, PhaseSummary, RunBeginning, RunFilter, RunState, RunSummary, StoredRun};
