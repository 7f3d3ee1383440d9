//! Opening the history: its file, its settings, its version.
//! Refuses databases of other programs and of newer versions, and file systems without a write-ahead log.

use crate::columns::all;
use crate::error::HistoryError;
use fs_err::os::unix::fs::OpenOptionsExt;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a writer waits for another; no transaction here takes a tenth of it.
const BUSY: Duration = Duration::from_secs(10);

/// How long a glance waits for a writer.
const GLANCE: Duration = Duration::from_millis(100);

/// Pause between two attempts where SQLite itself does not wait.
const PAUSE: Duration = Duration::from_millis(10);

/// Name of the database in the state folder.
pub const FILE: &str = "history.db";

/// Marks the database as a history of Helenus: "Hele" in ASCII.
const APPLICATION_ID: i32 = 0x4865_6c65;

/// Entry n leads from version n to n + 1. What has been released is never changed, only added to.
static MIGRATIONS: &[&str] = &[
    include_str!("schema/0001-first.sql"),
    include_str!("schema/0002-doubts.sql"),
    include_str!("schema/0003-rows.sql"),
    include_str!("schema/0004-experiments.sql"),
    include_str!("schema/0005-host-speed.sql"),
    include_str!("schema/0006-sync.sql"),
];

/// The history of runs. Several may be open on one file, in one process or in many; writers take turns.
#[derive(Debug)]
pub struct History {
    pub(crate) connection: Connection,
}

impl History {
    /// Opens the history, made when it is not there (its folder too, both for the owner alone) and brought to this
    /// build's version when it is older.
    ///
    /// # Errors
    /// The file cannot be made or opened, is something else, was written by a newer version, or another process
    /// kept it locked for 10 s.
    pub fn open(path: &Path) -> Result<Self, HistoryError> {
        make(path).map_err(|source| HistoryError::Make {
            path: path.into(),
            source,
        })?;
        let open = |source| HistoryError::Open {
            path: path.into(),
            source,
        };
        // Without the flag that would read some paths as URIs, and without making the file.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags).map_err(open)?;
        connection.busy_timeout(BUSY).map_err(open)?;
        check(&connection, path, newest(MIGRATIONS))?;
        let mode = write_ahead(&connection).map_err(open)?;
        if mode != "wal" {
            return Err(HistoryError::NoWal {
                path: path.into(),
                found: mode,
            });
        }
        // NORMAL: a killed process loses nothing, a lost machine at most the last transactions, and neither
        // damages the file.
        connection
            .pragma_update(None, "synchronous", "NORMAL")
            .map_err(open)?;
        connection
            .pragma_update(None, "foreign_keys", true)
            .map_err(open)?;
        migrate(&mut connection, path, MIGRATIONS)?;
        Ok(Self { connection })
    }

    /// A history without runs, in memory: for what must make nothing.
    ///
    /// # Errors
    /// SQLite lacks memory.
    pub fn in_memory() -> Result<Self, HistoryError> {
        let path = Path::new(":memory:");
        let open = |source| HistoryError::Open {
            path: path.into(),
            source,
        };
        let mut connection = Connection::open_in_memory().map_err(open)?;
        migrate(&mut connection, path, MIGRATIONS)?;
        Ok(Self { connection })
    }

    /// As [`Self::open`], but makes nothing: none where there is no such file yet.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_existing(path: &Path) -> Result<Option<Self>, HistoryError> {
        path.exists().then(|| Self::open(path)).transpose()
    }

    /// The history for a glance: none if the file does not exist, or where it cannot be read at once. Nothing is
    /// made, migrated or written.
    pub fn glance(path: &Path) -> Option<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).ok()?;
        connection.busy_timeout(GLANCE).ok()?;
        check(&connection, path, newest(MIGRATIONS)).ok()?;
        Some(Self { connection })
    }

    /// What SQLite finds wrong with the file, and rows that belong to none; nothing where all is well. Reads all of it.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn problems(&self) -> Result<Vec<String>, HistoryError> {
        let sql = "SELECT integrity_check FROM pragma_integrity_check \
                   UNION ALL SELECT 'a row of ' || \"table\" || ' belongs to nothing' FROM pragma_foreign_key_check";
        let mut found: Vec<String> = all(&self.connection, sql, [], |row| row.get(0))?;
        found.retain(|line| line != "ok");
        Ok(found)
    }

    /// A transaction that has the right to write from its beginning, so that it cannot fail half-way for lack of it.
    pub(crate) fn writing(&mut self) -> rusqlite::Result<Transaction<'_>> {
        self.connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
    }
}

/// Makes folder and file unless they are there. The file is made beside its place and linked into it: a descriptor
/// of the database that this process closed would give up the locks of its other connections. Whoever is killed here
/// leaves at most an empty file beside it.
fn make(path: &Path) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    let thread = std::thread::current().id();
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.{thread:?}.new", std::process::id()));
    let beside = PathBuf::from(beside);
    let made = fs_err::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&beside)
        .and_then(|file| {
            drop(file);
            fs_err::hard_link(&beside, path)
        });
    let removed = fs_err::remove_file(&beside);
    match made {
        // Another process was faster.
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => removed,
        Err(e) => Err(e),
        Ok(()) => removed,
    }
}

/// Switches to the write-ahead log and returns the mode. SQLite does not wait for others here by itself.
fn write_ahead(connection: &Connection) -> rusqlite::Result<String> {
    let until = Instant::now() + BUSY;
    loop {
        let mode: rusqlite::Result<String> =
            connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0));
        match mode {
            Err(e) if is_busy(&e) && Instant::now() < until => std::thread::sleep(PAUSE),
            other => return other,
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(
        code,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

fn newest(migrations: &[&str]) -> u32 {
    u32::try_from(migrations.len()).unwrap_or(u32::MAX)
}

/// The version of the database, when it is ours and not newer than `newest`; 0 when it is empty. Writes nothing.
fn check(connection: &Connection, path: &Path, newest: u32) -> Result<u32, HistoryError> {
    let open = |source| HistoryError::Open {
        path: path.into(),
        source,
    };
    let read = "SELECT (SELECT application_id FROM pragma_application_id), \
                (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)";
    let (application, found, things): (i32, u32, u64) = connection
        .query_row(read, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .map_err(open)?;
    let empty = application == 0 && found == 0 && things == 0;
    if application != APPLICATION_ID && !empty {
        return Err(HistoryError::Foreign { path: path.into() });
    }
    if found > newest {
        return Err(HistoryError::Newer {
            path: path.into(),
            found,
            newest,
        });
    }
    Ok(found)
}

/// Brings the database to the newest version: all steps or none.
fn migrate(
    connection: &mut Connection,
    path: &Path,
    migrations: &[&str],
) -> Result<(), HistoryError> {
    let newest = newest(migrations);
    if check(connection, path, newest)? == newest {
        return Ok(());
    }
    let open = |source| HistoryError::Open {
        path: path.into(),
        source,
    };
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(open)?;
    // Asked again under the lock: another process may have been faster.
    let found = check(&transaction, path, newest)?;
    let steps = migrations
        .iter()
        .skip(usize::try_from(found).unwrap_or(usize::MAX));
    steps
        .map(|step| transaction.execute_batch(step))
        .collect::<rusqlite::Result<Vec<()>>>()
        .and_then(|_| transaction.pragma_update(None, "application_id", APPLICATION_ID))
        .and_then(|()| transaction.pragma_update(None, "user_version", newest))
        .and_then(|()| transaction.commit())
        .map_err(open)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOWHERE: &str = "test.sqlite";

    fn columns(connection: &Connection) -> i64 {
        let sql = "SELECT count(*) FROM pragma_table_info('a')";
        connection
            .query_row(sql, [], |row| row.get(0))
            .expect("counts")
    }

    #[test]
    fn an_older_version_goes_through_the_steps_it_lacks() {
        let mut connection = Connection::open_in_memory().expect("opens");
        let path = Path::new(NOWHERE);
        let steps = ["CREATE TABLE a (x)", "ALTER TABLE a ADD COLUMN y"];
        migrate(&mut connection, path, &steps[..1]).expect("first");
        assert_eq!(columns(&connection), 1);
        migrate(&mut connection, path, &steps).expect("second");
        migrate(&mut connection, path, &steps).expect("nothing to do");
        assert_eq!(columns(&connection), 2);
        assert_eq!(check(&connection, path, 2).expect("ours"), 2);
    }

    #[test]
    fn a_step_that_fails_leaves_the_version_before() {
        let mut connection = Connection::open_in_memory().expect("opens");
        let path = Path::new(NOWHERE);
        let steps = [
            "CREATE TABLE a (x)",
            "ALTER TABLE a ADD COLUMN y",
            "nonsense",
        ];
        migrate(&mut connection, path, &steps[..1]).expect("first");
        assert!(migrate(&mut connection, path, &steps).is_err());
        assert_eq!(columns(&connection), 1);
        assert_eq!(check(&connection, path, 3).expect("ours"), 1);
    }
}
