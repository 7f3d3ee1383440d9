//! Finding runs by what a person calls them: `r12`, `12`, `@last`, `@newest`, a tag, `r12,r15`, `r12..r20`.
//! Refuses to take one of several where one is wanted, and to guess what an unknown word may mean.

use crate::change::line;
use crate::columns::all;
use crate::error::HistoryError;
use crate::id::{RunId, RunReference};
use crate::open::History;
use crate::read::{SUMMARY, last, newest, summary, unknown};
use crate::run::{RunState, RunSummary};
use helenus_model::nearest::nearest;
use rusqlite::Connection;
use std::collections::BTreeMap;

impl History {
    /// The runs to compare or count that the words name, in the order in which they started: those named one by one
    /// whatever became of them, and of a tag or a range the complete ones.
    ///
    /// # Errors
    /// A name that nothing has, a tag or range without a complete run, or a database that cannot be read.
    pub fn resolve_all(&self, names: &str) -> Result<Vec<RunSummary>, HistoryError> {
        self.find(names, true)
    }

    /// As [`Self::resolve_all`], but of a tag or a range all runs, whatever became of them.
    ///
    /// # Errors
    /// A name that nothing has, or a database that cannot be read.
    pub fn resolve_any(&self, names: &str) -> Result<Vec<RunSummary>, HistoryError> {
        self.find(names, false)
    }

    /// The one run that the words name.
    ///
    /// # Errors
    /// A name that nothing or more than one run has, or a database that cannot be read.
    pub fn resolve_one(&self, name: &str) -> Result<RunSummary, HistoryError> {
        let mut found = self.find(name, false)?;
        match (found.pop(), found.is_empty()) {
            (Some(one), true) => Ok(one),
            (Some(last), false) => Err(HistoryError::Several {
                name: name.into(),
                runs: found.iter().map(|r| r.id).chain([last.id]).collect(),
            }),
            (None, _) => Err(HistoryError::UnknownName {
                name: name.into(),
                nearest: None,
            }),
        }
    }

    fn find(&self, names: &str, only_complete: bool) -> Result<Vec<RunSummary>, HistoryError> {
        let one = self.connection.unchecked_transaction()?;
        let mut found = BTreeMap::new();
        for name in names.split(',') {
            let (mut runs, one_by_one) = named(&one, name)?;
            if only_complete && !one_by_one {
                runs.retain(|line| line.state == RunState::Complete);
                if runs.is_empty() {
                    return Err(HistoryError::NoneComplete { name: name.into() });
                }
            }
            found.extend(runs.into_iter().map(|line| (line.id, line)));
        }
        Ok(found.into_values().collect())
    }
}

/// The runs of one name, and whether it names them one by one.
fn named(connection: &Connection, name: &str) -> Result<(Vec<RunSummary>, bool), HistoryError> {
    match name.parse() {
        Ok(RunReference::Last) => return Ok((vec![line(connection, last(connection)?)?], true)),
        Ok(RunReference::Newest) => {
            let run = newest(connection)?.ok_or(HistoryError::Empty)?;
            return Ok((vec![line(connection, run)?], true));
        }
        Ok(RunReference::Id(run)) => return Ok((vec![line(connection, run)?], true)),
        Err(_) => {}
    }
    let (from, to) = name.split_once("..").unwrap_or((name, name));
    if let (Ok(from), Ok(to)) = (from.parse::<RunId>(), to.parse::<RunId>()) {
        // Either end may come first.
        let (from, to) = (from.min(to), from.max(to));
        let runs = lines(connection, "id BETWEEN ? AND ?", &[&from, &to])?;
        if runs.is_empty() {
            return Err(unknown(connection, to)?);
        }
        return Ok((runs, false));
    }
    let tagged = "id IN (SELECT run_id FROM tag WHERE tag = ?)";
    let runs = lines(connection, tagged, &[&name])?;
    if !runs.is_empty() {
        return Ok((runs, false));
    }
    let sql = "SELECT DISTINCT tag FROM tag ORDER BY tag";
    let tags: Vec<String> = all(connection, sql, [], |row| row.get(0))?;
    Err(HistoryError::UnknownName {
        name: name.into(),
        nearest: nearest(name, tags.iter().map(String::as_str)).map(str::to_owned),
    })
}

fn lines(
    connection: &Connection,
    which: &str,
    values: &[&dyn rusqlite::ToSql],
) -> rusqlite::Result<Vec<RunSummary>> {
    let sql = format!("SELECT {SUMMARY} FROM run WHERE {which} ORDER BY id");
    all(connection, &sql, values, |row| summary(connection, row))
}
