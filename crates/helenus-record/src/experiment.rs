//! Experiments: trials that are to be compared, their restarts, and where in them a run belongs.
//! Refuses to count one life of the nodes' processes as two restarts.

use crate::columns::all;
use crate::error::HistoryError;
use crate::id::ExperimentId;
use crate::open::History;
use crate::read::{SUMMARY, summary};
use crate::run::{RunBeginning, RunPlace, RunSummary};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

impl History {
    /// The runs of an experiment, in the order in which they started; none where there is no such experiment.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn runs_of_experiment(
        &self,
        experiment: ExperimentId,
    ) -> Result<Vec<RunSummary>, HistoryError> {
        let one = self.connection.unchecked_transaction()?;
        let sql = format!(
            "SELECT {SUMMARY} FROM run WHERE restart_id IN (SELECT r.id FROM restart r \
             JOIN trial t ON t.id = r.trial_id WHERE t.experiment_id = ?) ORDER BY id"
        );
        Ok(all(&one, &sql, [experiment], |row| summary(&one, row))?)
    }
}

/// The restart a run belongs to: the one of its place or life, or a new one; for a single run with a trial and an
/// experiment around it.
pub(crate) fn restart_of(
    transaction: &Transaction<'_>,
    beginning: &RunBeginning<'_>,
) -> Result<i64, HistoryError> {
    if let Some(place) = beginning.place {
        return restart_at(transaction, place, beginning.life);
    }
    if let Some((restart, _)) = of_life(transaction, beginning.life)? {
        return Ok(restart);
    }
    let sql = "INSERT INTO experiment (began_wall_ns) VALUES (?)";
    transaction.execute(sql, [beginning.began_wall_ns])?;
    let sql = "INSERT INTO trial (experiment_id, ordinal) VALUES (?, 0)";
    transaction.execute(sql, [transaction.last_insert_rowid()])?;
    let trial = transaction.last_insert_rowid();
    Ok(new_restart(transaction, trial, 0, beginning.life)?)
}

/// The restart at a place of an experiment, made if it is not there.
fn restart_at(
    transaction: &Transaction<'_>,
    place: RunPlace,
    life: Option<&str>,
) -> Result<i64, HistoryError> {
    let sql = "SELECT id FROM trial WHERE experiment_id = ? AND ordinal = ?";
    let trial: Option<i64> = transaction
        .query_row(sql, params![place.experiment, place.trial], |row| {
            row.get(0)
        })
        .optional()?;
    let trial = trial.ok_or(HistoryError::UnknownTrial {
        experiment: place.experiment,
        trial: place.trial,
    })?;
    let sql = "SELECT id, life FROM restart WHERE trial_id = ? AND ordinal = ?";
    let at: Option<(i64, Option<String>)> = transaction
        .query_row(sql, params![trial, place.restart], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    let other = HistoryError::OtherRestart {
        experiment: place.experiment,
        restart: place.restart,
    };
    match (at, of_life(transaction, life)?) {
        (Some((at, _)), Some((same, _))) if at == same => Ok(at),
        // Another life at this place, or this life at another.
        (_, Some(_)) => Err(other),
        (Some((at, held)), None) if held.as_deref() == life => Ok(at),
        (Some(_), None) => Err(other),
        (None, None) => Ok(new_restart(transaction, trial, place.restart, life)?),
    }
}

/// Restart and trial of a life, where it is known.
fn of_life(connection: &Connection, life: Option<&str>) -> rusqlite::Result<Option<(i64, i64)>> {
    let sql = "SELECT id, trial_id FROM restart WHERE life = ?";
    connection
        .query_row(sql, [life], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}

fn new_restart(
    transaction: &Transaction<'_>,
    trial: i64,
    ordinal: u32,
    life: Option<&str>,
) -> rusqlite::Result<i64> {
    let sql = "INSERT INTO restart (trial_id, ordinal, life) VALUES (?, ?, ?)";
    transaction.execute(sql, params![trial, ordinal, life])?;
    Ok(transaction.last_insert_rowid())
}
