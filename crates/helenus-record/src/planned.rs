//! Experiments from files: their text, the runs that they plan, and what became of each.
//! Refuses to forget: an experiment whose runs were removed keeps its plan, and one that is run by a living process is its own.

use crate::columns::{SeedText, Word, all};
use crate::error::HistoryError;
use crate::id::{ExperimentId, RunId};
use crate::open::History;
use crate::writer;
use helenus_model::experiment::{Fate, Planned, RunState};
use helenus_model::seed::Seed;
use rusqlite::{OptionalExtension, Row, Transaction, params};
use serde::Serialize;

/// What is entered of an experiment before its first run.
#[derive(Debug, Clone, Copy)]
pub struct ExperimentBeginning<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its file's text.
    pub text: &'a str,
    /// Where paths in it start.
    pub folder: &'a str,
    /// The command, free of secrets.
    pub command: &'a str,
    /// What order and data are drawn from.
    pub seed: Seed,
    /// Settings of its restarts in words: its trials.
    pub trials: &'a [&'a str],
    /// The wall clock, in nanoseconds since 1970.
    pub began_wall_ns: u64,
}

/// An experiment from a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoredExperiment {
    /// Its name in the history.
    pub id: ExperimentId,
    /// Its own name.
    pub name: String,
    /// Its file's text.
    #[serde(skip)]
    pub text: String,
    /// Where paths in it start.
    #[serde(skip)]
    pub folder: String,
    /// The command that started it.
    pub command: String,
    /// What order and data are drawn from.
    pub seed: Seed,
    /// When it started: the wall clock in nanoseconds since 1970.
    pub began_wall_ns: u64,
    /// How often it was started or resumed.
    pub sittings: u32,
    /// Whether a living process runs it.
    pub running: bool,
    /// Blocks that gave the number of all; none where it was just given.
    pub first_stage: Option<usize>,
    /// The smallest dataset that was made for it.
    pub dataset_bytes: Option<u64>,
    /// What its nodes may use, files in memory included.
    pub memory_bytes: Option<u64>,
}

/// A planned run and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedRun {
    /// Its place in the plan.
    #[serde(flatten)]
    pub planned: Planned,
    /// What became of it.
    pub state: RunState,
    /// How often it was started.
    pub attempts: u32,
    /// Its run; none where it is not done, or was removed since.
    pub run: Option<RunId>,
    /// When its last attempt started: the wall clock in nanoseconds since 1970.
    pub began_wall_ns: Option<u64>,
    /// When that ended.
    pub ended_wall_ns: Option<u64>,
    /// Why it died, or does not fit.
    pub why: Option<String>,
}

impl PlannedRun {
    /// What became of it, for an analysis.
    pub fn fate(&self) -> Fate<'_> {
        Fate {
            planned: self.planned,
            state: self.state,
            why: self.why.as_deref(),
        }
    }
}

const COLUMNS: &str = "e.id, e.name, e.seed, e.began_wall_ns, f.text, f.folder, f.command, f.sittings, f.writer, \
                       f.first_stage, f.dataset_bytes, f.memory_bytes";

impl History {
    /// Enters an experiment with its plan.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn plan_experiment(
        &mut self,
        beginning: &ExperimentBeginning<'_>,
        plan: &[Planned],
    ) -> Result<ExperimentId, HistoryError> {
        let transaction = self.writing()?;
        transaction.execute(
            "INSERT INTO experiment (name, seed, began_wall_ns) VALUES (?, ?, ?)",
            params![
                beginning.name,
                SeedText(beginning.seed),
                beginning.began_wall_ns
            ],
        )?;
        let id = ExperimentId::of_row(transaction.last_insert_rowid());
        for (ordinal, trial) in beginning.trials.iter().enumerate() {
            transaction.execute(
                "INSERT INTO trial (experiment_id, ordinal, name) VALUES (?, ?, ?)",
                params![id, ordinal, trial],
            )?;
        }
        transaction.execute(
            "INSERT INTO experiment_file (experiment_id, text, folder, command) VALUES (?, ?, ?, ?)",
            params![id, beginning.text, beginning.folder, beginning.command],
        )?;
        insert(&transaction, id, plan)?;
        transaction.commit()?;
        Ok(id)
    }

    /// Adds runs behind those that are planned; with them, where it is known, how many blocks gave the number of all.
    ///
    /// # Errors
    /// The database cannot be written, or a place is taken; then neither is there.
    pub fn plan_more(
        &mut self,
        id: ExperimentId,
        plan: &[Planned],
        first_stage: Option<usize>,
    ) -> Result<(), HistoryError> {
        let transaction = self.writing()?;
        if let Some(blocks) = first_stage {
            let sql = "UPDATE experiment_file SET first_stage = ? WHERE experiment_id = ?";
            transaction.execute(sql, params![blocks, id])?;
        }
        insert(&transaction, id, plan)?;
        Ok(transaction.commit()?)
    }

    /// Notes the size of a dataset and what the nodes may use; the smallest dataset and the largest memory stay.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn note_dataset(
        &mut self,
        id: ExperimentId,
        dataset_bytes: u64,
        memory_bytes: u64,
    ) -> Result<(), HistoryError> {
        self.connection.execute(
            "UPDATE experiment_file SET dataset_bytes = min(coalesce(dataset_bytes, ?1), ?1), \
             memory_bytes = max(coalesce(memory_bytes, ?2), ?2) WHERE experiment_id = ?3",
            params![dataset_bytes, memory_bytes, id],
        )?;
        Ok(())
    }

    /// This process runs the experiment from now on; returns how often it was started or resumed, from 1. What another process
    /// left as running is interrupted.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn sit_down(&mut self, id: ExperimentId) -> Result<u32, HistoryError> {
        let transaction = self.writing()?;
        transaction.execute(
            "UPDATE experiment_file SET sittings = sittings + 1, writer = ? WHERE experiment_id = ?",
            params![writer::me(), id],
        )?;
        transaction.execute(
            "UPDATE planned_run SET state = 'interrupted' WHERE experiment_id = ? AND state = 'running'",
            [id],
        )?;
        let sql = "SELECT sittings FROM experiment_file WHERE experiment_id = ?";
        let sitting = transaction.query_row(sql, [id], |row| row.get(0))?;
        transaction.commit()?;
        Ok(sitting)
    }

    /// A planned run starts.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn begin_planned(
        &mut self,
        id: ExperimentId,
        place: usize,
        wall_ns: u64,
    ) -> Result<(), HistoryError> {
        self.connection.execute(
            "UPDATE planned_run SET state = 'running', attempts = attempts + 1, began_wall_ns = ?1, \
             ended_wall_ns = NULL, run_id = NULL, why = NULL WHERE experiment_id = ?2 AND place = ?3",
            params![wall_ns, id, place],
        )?;
        Ok(())
    }

    /// A planned run has ended so.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn end_planned(
        &mut self,
        id: ExperimentId,
        place: usize,
        ended: (RunState, Option<RunId>, Option<&str>),
        wall_ns: u64,
    ) -> Result<(), HistoryError> {
        let (state, run, why) = ended;
        self.connection.execute(
            "UPDATE planned_run SET state = ?1, run_id = ?2, why = ?3, ended_wall_ns = ?4 \
             WHERE experiment_id = ?5 AND place = ?6",
            params![Word(state), run, why, wall_ns, id, place],
        )?;
        Ok(())
    }

    /// The experiment of this name or number; of several of a name, the newest.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn experiment(&self, name: &str) -> Result<Option<StoredExperiment>, HistoryError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM experiment e JOIN experiment_file f ON f.experiment_id = e.id \
             WHERE e.id = ?1 OR e.name = ?2 ORDER BY e.id = ?1 DESC, e.id DESC LIMIT 1"
        );
        let number = ExperimentId::named(name).map(ExperimentId::number);
        let found = self
            .connection
            .query_row(&sql, params![number, name], stored);
        Ok(found.optional()?)
    }

    /// All experiments from files, newest first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn experiments(&self) -> Result<Vec<StoredExperiment>, HistoryError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM experiment e JOIN experiment_file f ON f.experiment_id = e.id ORDER BY e.id DESC"
        );
        Ok(all(&self.connection, &sql, [], stored)?)
    }

    /// The planned runs of an experiment, in their order.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn planned_runs(&self, id: ExperimentId) -> Result<Vec<PlannedRun>, HistoryError> {
        let sql = "SELECT place, block, restart, combination, stage, state, attempts, run_id, began_wall_ns, \
             ended_wall_ns, why FROM planned_run WHERE experiment_id = ? ORDER BY place";
        Ok(all(&self.connection, sql, [id], planned)?)
    }
}

fn insert(
    transaction: &Transaction<'_>,
    id: ExperimentId,
    plan: &[Planned],
) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare_cached(
        "INSERT INTO planned_run (experiment_id, place, block, restart, combination, stage) VALUES (?, ?, ?, ?, ?, ?)",
    )?;
    for one in plan {
        statement.execute(params![
            id,
            one.place,
            one.block,
            one.restart,
            one.combination,
            Word(one.stage)
        ])?;
    }
    Ok(())
}

fn stored(row: &Row<'_>) -> rusqlite::Result<StoredExperiment> {
    let writer: Option<String> = row.get(8)?;
    Ok(StoredExperiment {
        id: row.get(0)?,
        name: row.get(1)?,
        seed: row.get::<_, SeedText>(2)?.0,
        began_wall_ns: row.get(3)?,
        text: row.get(4)?,
        folder: row.get(5)?,
        command: row.get(6)?,
        sittings: row.get(7)?,
        running: writer.is_some_and(|writer| writer::lives(&writer)),
        first_stage: row.get(9)?,
        dataset_bytes: row.get(10)?,
        memory_bytes: row.get(11)?,
    })
}

fn planned(row: &Row<'_>) -> rusqlite::Result<PlannedRun> {
    Ok(PlannedRun {
        planned: Planned {
            place: row.get(0)?,
            block: row.get(1)?,
            restart: row.get(2)?,
            combination: row.get(3)?,
            stage: row.get::<_, Word<_>>(4)?.0,
        },
        state: row.get::<_, Word<_>>(5)?.0,
        attempts: row.get(6)?,
        run: row.get(7)?,
        began_wall_ns: row.get(8)?,
        ended_wall_ns: row.get(9)?,
        why: row.get(10)?,
    })
}
