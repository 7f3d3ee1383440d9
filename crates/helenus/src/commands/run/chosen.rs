//! Which workload words mean: a built-in one with its parameters, or profiles from files.
//! Refuses to guess: what is neither gets the nearest word.

use crate::error::{CommandError, code};
use helenus_model::run_plan::Positions;
use helenus_model::workload::Workload;

/// A workload, and what it says of how it is run.
#[derive(Debug, Clone)]
pub(crate) struct Chosen {
    /// Tables, statements and data.
    pub(crate) workload: Workload,
    /// Name of the phase.
    pub(crate) phase: String,
    /// Its own mix; empty where it has none.
    pub(crate) mix: Vec<(String, u32)>,
    /// Operations, where it says so.
    pub(crate) count: Option<u64>,
    /// Partitions, where it says so.
    pub(crate) population: Option<u64>,
    /// Which of them an operation takes, where it says so.
    pub(crate) positions: Option<Positions>,
}

/// The workload of these words.
///
/// # Errors
/// A name that is not known, a phase or a parameter that it does not have, a file that is no profile.
pub(crate) fn choose(
    words: &str,
    params: &[(String, String)],
    phase: Option<&str>,
) -> Result<Chosen, CommandError> {
    if words == "standard1" {
        return standard1(params, phase);
    }
    let text = format!("{words:?} is no workload that is known");
    Err(CommandError::new(code::USAGE, text))
}

fn standard1(params: &[(String, String)], phase: Option<&str>) -> Result<Chosen, CommandError> {
    if let Some(phase) = phase {
        let text = format!("standard1 has no phase {phase:?}");
        return Err(CommandError::new(code::USAGE, text)
            .hint("leave --phase out, and say --ops write=1 or --ops read=1".to_owned()));
    }
    if let Some((name, _)) = params.first() {
        let text = format!("standard1 has no parameter {name:?}");
        return Err(CommandError::new(code::USAGE, text).hint("leave --param out".to_owned()));
    }
    Ok(Chosen {
        workload: Workload::Standard1,
        phase: "main".to_owned(),
        mix: vec![("write".to_owned(), 1), ("read".to_owned(), 1)],
        count: None,
        population: None,
        positions: None,
    })
}
