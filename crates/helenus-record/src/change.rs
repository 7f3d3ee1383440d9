//! Changing what is stored: tags of runs, and the removal of runs with everything they have.
//! Refuses to remove a run that is under way, and to leave empty restarts and experiments behind.

use crate::error::HistoryError;
use crate::id::RunId;
use crate::open::History;
use crate::read::{SUMMARY, summary, unknown};
use crate::run::RunSummary;
use crate::tag::check_tag;
use crate::writer;
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use std::collections::{BTreeMap, BTreeSet};

impl History {
    /// Tags a run; nothing happens where it has the tag. True where it is new.
    ///
    /// # Errors
    /// No such run, a word that cannot be a tag, or a database that cannot be written.
    pub fn add_tag(&mut self, run: RunId, tag: &str) -> Result<bool, HistoryError> {
        check_tag(tag)?;
        let transaction = self.writing()?;
        line(&transaction, run)?;
        let sql = "INSERT INTO tag (run_id, tag) VALUES (?, ?) ON CONFLICT DO NOTHING";
        let added = transaction.execute(sql, params![run, tag])?;
        transaction.commit()?;
        Ok(added > 0)
    }

    /// Takes a tag from a run.
    ///
    /// # Errors
    /// No such run, a run without that tag, or a database that cannot be written.
    pub fn remove_tag(&mut self, run: RunId, tag: &str) -> Result<(), HistoryError> {
        let transaction = self.writing()?;
        let has = line(&transaction, run)?.tags;
        if !has.iter().any(|one| one == tag) {
            return Err(HistoryError::NotTagged {
                run,
                tag: tag.into(),
                has,
            });
        }
        let sql = "DELETE FROM tag WHERE run_id = ? AND tag = ?";
        transaction.execute(sql, params![run, tag])?;
        Ok(transaction.commit()?)
    }

    /// Forgets a run that this process started and of which nothing was measured, with its restart where it has no other.
    ///
    /// # Errors
    /// No such run, or a database that cannot be written.
    pub fn forget_run(&mut self, run: RunId) -> Result<(), HistoryError> {
        let transaction = self.writing()?;
        let line = line(&transaction, run)?;
        transaction.execute("DELETE FROM run WHERE id = ?", [run])?;
        let place = line.place;
        remove_if_empty(&transaction, place.experiment.number(), place.restart_id)?;
        Ok(transaction.commit()?)
    }

    /// Removes runs with everything they have: all of them, or none. Their numbers are not given again; the room
    /// in the file is used by the runs to come.
    ///
    /// # Errors
    /// No such run, one that is under way or that [`Self::held_runs`] names, or a database that cannot be written.
    pub fn remove_runs(&mut self, runs: &[RunId]) -> Result<(), HistoryError> {
        let transaction = self.writing()?;
        let held = held(&transaction)?;
        let mut emptied = BTreeSet::new();
        for run in runs {
            if let Some(by) = held.get(run) {
                return Err(HistoryError::Held {
                    run: *run,
                    by: by.clone(),
                });
            }
            let line = line(&transaction, *run)?;
            if line.running {
                return Err(HistoryError::Running { run: *run });
            }
            emptied.insert((line.place.experiment.number(), line.place.restart_id));
            transaction.execute("DELETE FROM run WHERE id = ?", [run])?;
        }
        for (experiment, restart) in emptied {
            remove_if_empty(&transaction, experiment, restart)?;
        }
        Ok(transaction.commit()?)
    }

    /// Runs of experiments and comparisons that another process is carrying out now, each with what holds it: they
    /// will be read again.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn held_runs(&self) -> Result<BTreeMap<RunId, String>, HistoryError> {
        Ok(held(&self.connection)?)
    }
}

/// See [`History::held_runs`].
fn held(connection: &Connection) -> rusqlite::Result<BTreeMap<RunId, String>> {
    let mut statement = connection.prepare_cached(
        "SELECT r.id, coalesce(f.writer, r.writer), CASE \
         WHEN f.experiment_id IS NOT NULL THEN 'experiment ' || coalesce(e.name, 'e' || e.id) \
         WHEN e.name IS NOT NULL THEN 'the comparison ' || e.name \
         ELSE 'the levels ' || coalesce((SELECT min(tag) FROM tag WHERE run_id = r.id), '') END \
         FROM run r JOIN restart l ON l.id = r.restart_id JOIN trial t ON t.id = l.trial_id \
         JOIN experiment e ON e.id = t.experiment_id LEFT JOIN experiment_file f ON f.experiment_id = e.id \
         WHERE e.name IS NOT NULL OR f.experiment_id IS NOT NULL OR json_extract(r.plan, '$.cell') IS NOT NULL",
    )?;
    let me = writer::me();
    let mut lives: BTreeMap<String, bool> = BTreeMap::new();
    let mut held = BTreeMap::new();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let Some(by) = row.get::<_, Option<String>>(1)? else {
            continue;
        };
        let other = Some(&by) != me.as_ref();
        if other && *lives.entry(by).or_insert_with_key(|by| writer::lives(by)) {
            held.insert(row.get(0)?, row.get(2)?);
        }
    }
    Ok(held)
}

/// The run's line, whatever became of it.
pub(crate) fn line(connection: &Connection, run: RunId) -> Result<RunSummary, HistoryError> {
    let sql = format!("SELECT {SUMMARY} FROM run WHERE id = ?");
    let found = connection
        .prepare_cached(&sql)?
        .query_row([run], |row| summary(connection, row))
        .optional()?;
    found.map_or_else(|| Err(unknown(connection, run)?), Ok)
}

/// Removes a restart without runs, and its experiment where no restart is left in it and no file plans any.
fn remove_if_empty(
    transaction: &Transaction<'_>,
    experiment: i64,
    restart: i64,
) -> rusqlite::Result<()> {
    transaction.execute(
        "DELETE FROM restart WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM run WHERE restart_id = ?1)",
        [restart],
    )?;
    transaction.execute(
        "DELETE FROM experiment WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM trial t \
         JOIN restart r ON r.trial_id = t.id WHERE t.experiment_id = ?1) \
         AND NOT EXISTS (SELECT 1 FROM experiment_file WHERE experiment_id = ?1)",
        [experiment],
    )?;
    Ok(())
}
