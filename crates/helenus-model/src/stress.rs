//! cassandra-stress's command line: its grammar, its defaults, its words; and what it becomes here.
//! Refuses what no server understands any more, and a line that a copy broke, each with the corrected line.

mod error;
mod group;
mod help;
mod legacy;
mod options;
mod plan;
mod print;
mod read;
mod settings;
mod spec;
mod value;
mod words;

pub mod graph;
pub mod say;
pub mod search;
pub mod table;

pub use error::StressError;
pub use help::help;
pub use plan::Named;
pub use print::{percentiles, values};
pub use settings::profiles;
pub use value::{
    Columns, Command, Contents, Errors, Graph, Hidden, Insert, Kind, Level, Limit, Log, Mode, Node,
    Population, Port, Rate, Schema, Seeds, Simple, Stress, TimeUnit, TokenRange, Transport,
    Truncate, Until,
};

use crate::dist::Dist;

/// What a line asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// A run.
    Run {
        /// What.
        stress: Box<Stress>,
        /// The line as the newest cassandra-stress takes it, where it was written for an old one.
        translated: Option<String>,
    },
    /// Percentiles of a distribution.
    Print(Dist),
    /// Help about a command or group, or about all.
    Help(Option<String>),
    /// The version.
    Version,
}

/// Reads the words behind `stress`.
///
/// # Errors
/// What cassandra-stress refuses, and what a copy broke; each error has its cure.
pub fn read(given: &[String]) -> Result<Asked, StressError> {
    let words = words::words(given);
    if let Some(copied) = words::copied(&words) {
        return Err(StressError::Copied {
            what: copied.what,
            meant: copied.words,
        });
    }
    if let Some(place) = words::placeholder(&words) {
        return Err(StressError::Placeholder { place });
    }
    if let Some(old) = legacy::arguments(&words) {
        let translated = legacy::translate(old)?;
        return Ok(match translated {
            None => Asked::Help(Some("legacy".to_owned())),
            Some(new) => Asked::Run {
                translated: Some(new.join(" ")),
                stress: Box::new(read::stress(&new)?),
            },
        });
    }
    read::asked(&words)
}

#[cfg(test)]
mod tests;
