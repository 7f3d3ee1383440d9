//! Histories of several machines brought together through a folder: one file a run, never changed, never removed.
//! Refuses to trust the folder: what is not a run of a history of ours stays outside, and is named.

use crate::columns::all;
use crate::error::HistoryError;
use crate::id::RunId;
use crate::open::History;
use crate::when::Utc;
use rusqlite::{Connection, OptionalExtension as _};
use std::collections::BTreeSet;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// What the name of a run's file ends with, behind its beginning and the run's name on every machine.
pub const SUFFIX: &str = ".run.zst";

/// Letters of a run's name on every machine.
const UID_LETTERS: usize = 32;

/// Largest run that is taken, unpacked, in bytes.
const LARGEST: u64 = 1 << 30;

/// How hard runs are packed: zstd's own scale.
const LEVEL: i32 = 9;

/// What a synchronisation did, or would do.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Synced {
    /// Runs that were written to the folder.
    pub sent: Vec<RunId>,
    /// Runs that were taken from it, under their numbers here; of a dry run none.
    pub received: Vec<RunId>,
    /// How many would be taken, of a dry run.
    pub waiting: usize,
    /// Runs of the folder that were removed here, and stay away.
    pub removed: usize,
    /// Files that could not be taken, each with the reason.
    pub refused: Vec<(PathBuf, String)>,
}

/// The tables below a run, each behind those that it refers to, with the columns that refer to another.
const BELOW: &[(&str, &[(&str, &str)])] = &[
    ("phase", &[("run_id", "run")]),
    ("first_failure", &[("phase_id", "phase")]),
    ("operation", &[("phase_id", "phase")]),
    ("distribution", &[("operation_id", "operation")]),
    ("doubt", &[("run_id", "run"), ("phase_id", "phase")]),
    ("interval", &[("phase_id", "phase")]),
    ("interval_operation", &[("interval_id", "interval")]),
    ("node_sample", &[("run_id", "run")]),
    ("tag", &[("run_id", "run")]),
];

impl History {
    /// Writes the runs that have ended and are not in the folder to it, and takes those that are not here; `progress` hears
    /// how many of how many are done.
    ///
    /// A run has its number of this history; its place in an experiment stays, the experiment's file does not come with
    /// it. Tags are those of the moment in which a run was written.
    ///
    /// # Errors
    /// The folder cannot be read or written, or the history cannot.
    pub fn sync(
        &mut self,
        folder: &Path,
        dry_run: bool,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Synced, HistoryError> {
        let failed = |source: io::Error| HistoryError::Folder {
            path: folder.into(),
            source,
        };
        let mut synced = Synced::default();
        if !dry_run {
            fs_err::create_dir_all(folder).map_err(failed)?;
        }
        let there = files(folder).map_err(failed)?;
        let names: BTreeSet<&str> = there.iter().map(|(uid, _)| uid.as_str()).collect();
        let mut here = self.ended()?;
        here.retain(|(_, uid, _)| !names.contains(uid.as_str()));
        let all = (here.len() + there.len()) as u64;
        let mut done = 0;
        for (id, uid, began_wall_ns) in here {
            let packed = match dry_run {
                true => None,
                false => self.pack(id)?,
            };
            if let Some(packed) = &packed {
                put(folder, &file_name(began_wall_ns, &uid), packed).map_err(failed)?;
            }
            if dry_run || packed.is_some() {
                synced.sent.push(id);
            }
            done += 1;
            progress(done, all);
        }
        for (uid, path) in there {
            done += 1;
            progress(done, all);
            if self.has("run", &uid)? {
                continue;
            }
            if self.has("removed_run", &uid)? {
                synced.removed += 1;
                continue;
            }
            if dry_run {
                synced.waiting += 1;
                continue;
            }
            match self.unpack(&path, &uid) {
                Ok(id) => synced.received.push(id),
                Err(error) if error.is_of_here() => return Err(error),
                Err(HistoryError::Database(error)) => {
                    let why = format!("it does not fit into this history: {error}");
                    synced.refused.push((path, why));
                }
                Err(error) => synced.refused.push((path, error.to_string())),
            }
        }
        Ok(synced)
    }

    /// Runs that have ended, with their names on every machine.
    fn ended(&self) -> Result<Vec<(RunId, String, u64)>, HistoryError> {
        let sql = "SELECT id, uid, began_wall_ns FROM run WHERE state <> 'broken' ORDER BY id";
        Ok(all(&self.connection, sql, [], |row| {
            Ok((RunId::of_row(row.get(0)?), row.get(1)?, row.get(2)?))
        })?)
    }

    fn has(&self, table: &str, uid: &str) -> Result<bool, HistoryError> {
        let sql = format!("SELECT 1 FROM {table} WHERE uid = ?1");
        let found = self
            .connection
            .query_row(&sql, [uid], |_| Ok(()))
            .optional()?;
        Ok(found.is_some())
    }

    /// A folder beside the history for a moment.
    fn beside(&self) -> Result<tempfile::TempDir, HistoryError> {
        let path = PathBuf::from(self.connection.path().unwrap_or_default());
        let parent = path.parent().unwrap_or(Path::new("."));
        tempfile::Builder::new()
            .prefix(".sync-")
            .tempdir_in(parent)
            .map_err(|source| HistoryError::Folder {
                path: parent.into(),
                source,
            })
    }

    /// A history that has this run alone, packed; none where it was removed meanwhile.
    fn pack(&self, id: RunId) -> Result<Option<Vec<u8>>, HistoryError> {
        let folder = self.beside()?;
        let path = folder.path().join("one.db");
        let one = History::open(&path)?;
        attach(&one.connection, self.connection.path().unwrap_or_default())?;
        let sql = format!(
            "BEGIN;
             INSERT INTO main.experiment SELECT * FROM there.experiment WHERE id = (
                 SELECT experiment_id FROM there.trial JOIN there.restart ON trial.id = trial_id
                 JOIN there.run ON restart.id = restart_id WHERE run.id = {id});
             INSERT INTO main.trial SELECT * FROM there.trial WHERE id = (
                 SELECT trial_id FROM there.restart JOIN there.run ON restart.id = restart_id WHERE run.id = {id});
             INSERT INTO main.restart SELECT * FROM there.restart WHERE id = (
                 SELECT restart_id FROM there.run WHERE run.id = {id});
             INSERT INTO main.run SELECT * FROM there.run WHERE id = {id};
             UPDATE main.run SET writer = NULL, received = 0;",
            id = id.number()
        );
        one.connection.execute_batch(&sql)?;
        let runs: u64 = one
            .connection
            .query_row("SELECT count(*) FROM main.run", [], |row| row.get(0))?;
        if runs == 0 {
            return Ok(None);
        }
        for (table, refers) in BELOW {
            let (column, to) = refers[0];
            let sql = format!(
                "INSERT INTO main.{table} SELECT * FROM there.{table} WHERE {column} IN (SELECT id FROM main.{to})"
            );
            one.connection.execute(&sql, [])?;
        }
        one.connection
            .execute_batch("COMMIT; DETACH there; PRAGMA journal_mode = DELETE; VACUUM;")?;
        drop(one);
        let read = fs_err::read(&path).and_then(|bytes| zstd::encode_all(&bytes[..], LEVEL));
        read.map(Some)
            .map_err(|source| HistoryError::Folder { path, source })
    }

    /// Takes a run out of a file; its number here.
    fn unpack(&mut self, path: &Path, uid: &str) -> Result<RunId, HistoryError> {
        let folder = self.beside()?;
        let one = folder.path().join("one.db");
        let odd = |why: &str| HistoryError::NotOurs(why.to_owned());
        unpacked(path, &one).map_err(|why| match why.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => HistoryError::Folder {
                path: one.clone(),
                source: why,
            },
            _ => odd(&format!("it cannot be unpacked: {why}")),
        })?;
        // Brought to this build's version first, so that its columns are ours.
        let opened = History::open(&one).map_err(|error| match error {
            HistoryError::Newer { found, newest, .. } => odd(&format!(
                "it has version {found}; this helenus reads versions up to {newest}"
            )),
            error if error.is_of_here() => error,
            _ => odd("it is not a history of Helenus, or damaged"),
        })?;
        opened
            .connection
            .execute_batch("PRAGMA trusted_schema = OFF;")?;
        if !opened.problems()?.is_empty() {
            return Err(odd("it is damaged"));
        }
        drop(opened);
        attach(&self.connection, &one.to_string_lossy())?;
        let taken = take(&mut self.connection, uid);
        self.connection.execute_batch("DETACH there")?;
        taken
    }
}

fn attach(connection: &Connection, path: &str) -> rusqlite::Result<()> {
    connection.execute("ATTACH ?1 AS there", [path]).map(|_| ())
}

/// Takes the run of the attached history into this one: all of it or nothing.
fn take(connection: &mut Connection, uid: &str) -> Result<RunId, HistoryError> {
    let odd = |why: &str| HistoryError::NotOurs(why.to_owned());
    let sql = "SELECT count(*) FROM (SELECT type, name, tbl_name, sql FROM there.sqlite_schema \
               EXCEPT SELECT type, name, tbl_name, sql FROM main.sqlite_schema)";
    let foreign: u64 = connection.query_row(sql, [], |row| row.get(0))?;
    if foreign > 0 {
        return Err(odd("it has tables that are not ours"));
    }
    let uids = "SELECT uid FROM there.run";
    let names: Vec<String> = all(connection, uids, [], |row| row.get(0))?;
    if names != [uid] {
        return Err(odd("it is not the run that its name says"));
    }
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let experiment: i64 = match transaction
        .query_row(
            "SELECT here.id FROM main.experiment AS here JOIN there.experiment AS other USING (uid)",
            [],
            |row| row.get(0),
        )
        .optional()?
    {
        Some(id) => id,
        None => copy_one(&transaction, "experiment", None)?,
    };
    let trial: i64 = match transaction
        .query_row(
            "SELECT here.id FROM main.trial AS here JOIN there.trial AS other USING (ordinal)
             WHERE here.experiment_id = ?1",
            [experiment],
            |row| row.get(0),
        )
        .optional()?
    {
        Some(id) => id,
        None => copy_one(&transaction, "trial", Some(("experiment_id", experiment)))?,
    };
    let restart: i64 = match transaction
        .query_row(
            "SELECT here.id FROM main.restart AS here JOIN there.restart AS other
             ON here.life = other.life OR (here.trial_id = ?1 AND here.ordinal = other.ordinal)",
            [trial],
            |row| row.get(0),
        )
        .optional()?
    {
        Some(id) => id,
        None => copy_one(&transaction, "restart", Some(("trial_id", trial)))?,
    };
    let run = copy_one(&transaction, "run", Some(("restart_id", restart)))?;
    for (table, refers) in BELOW {
        copy_below(&transaction, table, refers, run)?;
    }
    transaction.execute("UPDATE run SET received = 1 WHERE id = ?1", [run])?;
    transaction.commit()?;
    Ok(RunId::of_row(run))
}

/// Columns of a table.
fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT name FROM pragma_table_info(?1, 'main')";
    all(connection, sql, [table], |row| row.get(0))
}

/// Copies the only row of a table with a new number, which is returned; one column refers to a row of this history.
fn copy_one(
    connection: &Connection,
    table: &str,
    refers: Option<(&str, i64)>,
) -> rusqlite::Result<i64> {
    let mut names = columns(connection, table)?;
    names.retain(|name| name != "id");
    let value = |name: &String| match refers {
        Some((column, id)) if column == name => id.to_string(),
        _ => name.clone(),
    };
    let values: Vec<String> = names.iter().map(value).collect();
    let sql = format!(
        "INSERT INTO main.{table} ({}) SELECT {} FROM there.{table}",
        names.join(", "),
        values.join(", ")
    );
    let copied = connection.execute(&sql, [])?;
    match copied {
        1 => Ok(connection.last_insert_rowid()),
        _ => Err(rusqlite::Error::StatementChangedRows(copied)),
    }
}

/// Copies all rows of a table below a run. Numbers are moved behind those that are here, and what refers to them as well.
fn copy_below(
    connection: &Connection,
    table: &str,
    refers: &[(&str, &str)],
    run: i64,
) -> rusqlite::Result<()> {
    let names = columns(connection, table)?;
    let moved = |table: &str, column: &str| -> rusqlite::Result<String> {
        // Rows of this table that were just copied are the last ones, in the order of their numbers there.
        let sql = format!(
            "SELECT coalesce((SELECT max(id) FROM main.{table}), 0), coalesce((SELECT max(id) FROM there.{table}), 0)"
        );
        let (here, there): (i64, i64) =
            connection.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(format!("{column} + {}", here - there))
    };
    let mut values = Vec::new();
    for name in &names {
        let to = refers.iter().find(|(column, _)| column == name);
        values.push(match to {
            Some((_, "run")) => run.to_string(),
            Some((_, to)) => moved(to, name)?,
            None if name == "id" => {
                let sql = format!("SELECT coalesce(max(id), 0) FROM main.{table}");
                let here: i64 = connection.query_row(&sql, [], |row| row.get(0))?;
                format!("id + {here}")
            }
            None => name.clone(),
        });
    }
    let sql = format!(
        "INSERT INTO main.{table} ({}) SELECT {} FROM there.{table}",
        names.join(", "),
        values.join(", ")
    );
    connection.execute(&sql, [])?;
    Ok(())
}

/// The name of a run's file: names in order are runs in the order in which they began.
fn file_name(began_wall_ns: u64, uid: &str) -> String {
    let began = Utc::of_ns(began_wall_ns).to_string();
    format!(
        "{}-{uid}{SUFFIX}",
        began.replace(' ', "T").replace(':', "-")
    )
}

/// The runs in a folder by their names on every machine, in the order of their files; none where there is no folder.
fn files(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let entries = match fs_err::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry?.file_name().into_string());
    }
    names.sort();
    let run = |name: &String| {
        let stem = name.strip_suffix(SUFFIX)?;
        let uid = stem.get(stem.len().checked_sub(UID_LETTERS)?..)?;
        let hexadecimal = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        let named = uid.chars().all(hexadecimal);
        named.then(|| (uid.to_owned(), folder.join(name)))
    };
    Ok(names.iter().filter_map(run).collect())
}

/// A file that is there whole or not at all.
fn put(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut file = tempfile::Builder::new()
        .prefix(".part-")
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(folder.join(name))?;
    Ok(())
}

fn unpacked(path: &Path, to: &Path) -> io::Result<()> {
    let file = fs_err::File::open(path)?;
    let mut decoder = zstd::Decoder::new(file)?.take(LARGEST + 1);
    let mut out = fs_err::File::create(to)?;
    if io::copy(&mut decoder, &mut out)? > LARGEST {
        return Err(io::Error::other("it is larger than 1 GiB"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_was_removed_meanwhile_becomes_no_file() {
        let folder = tempfile::tempdir().expect("folder");
        let history = History::open(&folder.path().join("h")).expect("opens");
        let packed = history.pack(RunId::of_row(1)).expect("packs nothing");
        assert_eq!(packed, None);
    }
}
