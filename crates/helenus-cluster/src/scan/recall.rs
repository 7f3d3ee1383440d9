//! Reads keys that a workload has written back, one by one, and says when what is there was written.
//! Refuses to read anything else, and to take a key that did not answer for one that is not there.

use super::check::token_of;
use super::line::{trouble, unprepared};
use super::look::ring;
use super::{Gentleness, ScanError, ScanPlace};
use crate::cancel::Cancel;
use crate::error::ClusterError;
use crate::ring_view;
use helenus_cql::client::{Client, ClientError};
use helenus_cql::codec::{Consistency, Prepared};
use helenus_model::cql::{CqlValue, identifier};
use helenus_model::ledger::timed_column;
use helenus_model::ring::{Replication, Ring};
use helenus_model::scan::Trouble;
use helenus_model::table::Table;
use helenus_model::workload::expected::{Cells, Expected};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// Keys that a thread takes at a time: a page of the work.
const PAGE_KEYS: usize = 32;

/// Tries of one key, with pauses of 0.1 s, 0.2 s and so on up to 2 s between them: longer than a collection, shorter
/// than a person's patience.
const TRIES: u32 = 8;

/// Tries after which another coordinator is asked.
const TRIES_AT_ONE: u32 = 3;

/// Between two words on the progress.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// The cluster that keys are read from: its ring, and how a keyspace is replicated on it.
#[derive(Debug, Clone)]
pub struct Survey {
    /// The cluster's own name.
    pub cluster_name: String,
    /// The keyspace's replication.
    pub replication: Replication,
    /// The same as the schema says it.
    pub replication_map: BTreeMap<String, String>,
    /// Whether its writes go through the commit log.
    pub durable_writes: bool,
    /// The ring; its members stand in the order of [`Self::nodes`].
    pub ring: Ring,
    /// Address and data centre of each node.
    pub nodes: Vec<(IpAddr, String)>,
}

/// Asks a node for all that is to be known before keys of a keyspace are read.
///
/// # Errors
/// No node answers, there is no such keyspace, or its replication is not known.
pub fn survey(place: &ScanPlace, keyspace: &str) -> Result<Survey, ClusterError> {
    let silent = |source: ClientError| ClusterError::silent(place.address(0).to_string(), source);
    let mut client = place.connect(0).map_err(silent)?;
    let known = ring_view::keyspaces(&mut client).map_err(silent)?;
    let unknown = || ScanError::UnknownKeyspace {
        name: keyspace.to_owned(),
        nearest: None,
    };
    let found = known.into_iter().find(|known| known.name == keyspace);
    let found = found.ok_or_else(unknown)?;
    let rows = client
        .query(
            "SELECT keyspace_name, durable_writes FROM system_schema.keyspaces",
            Consistency::One,
        )
        .map_err(silent)?;
    let at =
        (0..rows.len()).find(|row| rows.text(*row, "keyspace_name").as_deref() == Some(keyspace));
    let durable = at.and_then(|row| rows.value(row, "durable_writes"));
    let (cluster_name, nodes, ring) = ring(&mut client, silent)?;
    Ok(Survey {
        cluster_name,
        replication: Replication::from_map(&found.replication).map_err(ScanError::Replication)?,
        replication_map: found.replication,
        durable_writes: durable != Some(&CqlValue::Boolean(false)),
        ring,
        nodes,
    })
}

impl Survey {
    /// The nodes that own a position's key, first replica first.
    ///
    /// # Errors
    /// A key that is not of the table's types, or a strategy whose replicas are not known.
    pub fn owners(&self, expected: &Expected, position: u64) -> Result<Vec<IpAddr>, ClusterError> {
        let token = token_of(expected, position).map_err(ScanError::from)?;
        let replicas = self.replication.replicas(&self.ring, token);
        let replicas = replicas.map_err(ScanError::Replication)?;
        let nodes = replicas.into_iter().filter_map(|at| self.nodes.get(at));
        Ok(nodes.map(|(address, _)| *address).collect())
    }
}

/// What became of the reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recalled {
    /// Whether every key was read.
    pub complete: bool,
    /// Requests that were sent.
    pub requests: u64,
    /// How many of them had to be asked again.
    pub again: u64,
}

/// Reads the keys at these positions. `found` takes place and write time (in microseconds since 1970) of each as it
/// comes, in no order; a key of several rows has the time of its oldest, and none where one of them is missing.
/// `tick` is called now and then. An interrupt ends it early, and well.
///
/// # Errors
/// No such table, or a key that cannot be read.
pub fn recall(
    place: &ScanPlace,
    expected: &Expected,
    positions: &[u64],
    gentleness: Gentleness,
    cancel: &Cancel,
    found: &mut dyn FnMut(usize, Option<u64>),
    tick: &mut dyn FnMut(),
) -> Result<Recalled, ClusterError> {
    let threads = gentleness.threads(place.coordinators());
    let shared = Shared {
        place,
        expected,
        positions,
        statements: Statements::of(expected.table()),
        gentleness,
        threads,
        cancel,
        stop: Cancel::default(),
        next: AtomicUsize::new(0),
        requests: AtomicU64::new(0),
        again: AtomicU64::new(0),
    };
    let mut error = None;
    let mut done = 0;
    std::thread::scope(|scope| {
        let (sender, pages) = sync_channel(threads * 2);
        for number in 0..threads {
            let (shared, sender) = (&shared, sender.clone());
            scope.spawn(move || shared.work(number, &sender));
        }
        drop(sender);
        loop {
            match pages.recv_timeout(TELL_EVERY) {
                Ok(Ok(page)) => {
                    done += page.len();
                    page.into_iter().for_each(|(at, time)| found(at, time));
                }
                Ok(Err(failed)) => {
                    shared.stop.set();
                    error.get_or_insert(failed);
                }
                Err(RecvTimeoutError::Timeout) => tick(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    });
    match error {
        Some(error) => Err(error.into()),
        None => Ok(Recalled {
            complete: done == positions.len(),
            requests: shared.requests.into_inner(),
            again: shared.again.into_inner(),
        }),
    }
}

/// The two questions: for one row by its whole key, and for all rows of a partition.
struct Statements {
    row: String,
    partition: String,
    /// Columns of the partition key, and of the whole primary key.
    keys: (usize, usize),
}

impl Statements {
    fn of(table: &Table) -> Self {
        let columns = &table.columns;
        let whole = columns.iter().take_while(|c| c.kind.is_key()).count();
        let clustering = columns.iter().filter(|c| c.kind.is_clustering()).count();
        let partition = whole - clustering;
        let names = |from: usize, to: usize| columns[from..to].iter().map(|c| identifier(&c.name));
        // A ledger is kept of no table without one.
        let timed = timed_column(table).map_or("", |place| &columns[place].name);
        let mut wanted: Vec<String> = names(partition, whole).collect();
        wanted.push(format!("writetime({})", identifier(timed)));
        let select = format!("SELECT {} FROM {}", wanted.join(", "), table.qualified());
        let by = |to: usize| {
            let conditions: Vec<String> = names(0, to).map(|name| format!("{name} = ?")).collect();
            format!("{select} WHERE {}", conditions.join(" AND "))
        };
        Self {
            row: by(whole),
            partition: by(partition),
            keys: (partition, whole),
        }
    }
}

type Page = Result<Vec<(usize, Option<u64>)>, ScanError>;

/// What the threads share.
struct Shared<'a> {
    place: &'a ScanPlace,
    expected: &'a Expected,
    positions: &'a [u64],
    statements: Statements,
    gentleness: Gentleness,
    threads: usize,
    cancel: &'a Cancel,
    /// Set by a thread that failed.
    stop: Cancel,
    next: AtomicUsize,
    requests: AtomicU64,
    again: AtomicU64,
}

/// A connection with its statements.
struct Open {
    client: Client,
    row: Prepared,
    partition: Prepared,
}

impl Shared<'_> {
    fn stopped(&self) -> bool {
        self.cancel.is_set() || self.stop.is_set()
    }

    /// One thread: takes pages of keys until there are none left.
    fn work(&self, number: usize, sender: &SyncSender<Page>) {
        let mut open = None;
        loop {
            let from = self.next.fetch_add(PAGE_KEYS, Ordering::Relaxed);
            if from >= self.positions.len() || self.stopped() {
                return;
            }
            let begin = Instant::now();
            let to = self.positions.len().min(from + PAGE_KEYS);
            let mut page = Vec::with_capacity(to - from);
            for at in from..to {
                match self.key(self.positions[at], number, &mut open) {
                    Ok(Some(time)) => page.push((at, time)),
                    Ok(None) => return,
                    Err(error) => {
                        let _nobody_waits = sender.send(Err(error));
                        return;
                    }
                }
            }
            let count = page.len();
            if sender.send(Ok(page)).is_err() {
                return;
            }
            self.rest(count, begin);
        }
    }

    /// As long as the rate needs between two pages of all threads; not behind the last one.
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    fn rest(&self, keys: usize, begin: Instant) {
        let Some(rate) = self.gentleness.rate else {
            return;
        };
        if self.next.load(Ordering::Relaxed) >= self.positions.len() {
            return;
        }
        let whole = (keys * self.threads) as f64 / rate;
        let whole = Duration::try_from_secs_f64(whole).unwrap_or_default();
        self.sleep(whole.saturating_sub(begin.elapsed()));
    }

    fn sleep(&self, time: Duration) {
        let end = Instant::now() + time;
        while !self.stopped() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(TELL_EVERY));
        }
    }

    /// One key, asked for until it answers; none where all is stopped.
    fn key(
        &self,
        position: u64,
        number: usize,
        open: &mut Option<Open>,
    ) -> Result<Option<Option<u64>>, ScanError> {
        let rows: Vec<Cells> = self.expected.rows(&[position]).collect();
        let mut tries = 0;
        loop {
            if self.stopped() {
                return Ok(None);
            }
            let coordinator = number + usize::try_from(tries / TRIES_AT_ONE).unwrap_or(0);
            self.requests.fetch_add(1, Ordering::Relaxed);
            let error = match self.ask(&rows, coordinator, open) {
                Ok(time) => return Ok(Some(time)),
                Err(error) => error,
            };
            tries += 1;
            self.again.fetch_add(1, Ordering::Relaxed);
            tracing::info!(%error, position, tries, "asked again");
            let passing = trouble(&error);
            if passing == Some(Trouble::Lost)
                || unprepared(&error)
                || tries.is_multiple_of(TRIES_AT_ONE)
            {
                *open = None;
            }
            let source = Box::new(error);
            if passing.is_none() {
                return Err(ScanError::Refused { source });
            }
            if tries >= TRIES {
                let key = self.expected.key(position);
                let key = key.iter().map(|cell| match cell {
                    Some(value) => value.to_string(),
                    None => "null".to_owned(),
                });
                let key = key.collect::<Vec<_>>().join(", ");
                return Err(ScanError::Unread { key, tries, source });
            }
            self.sleep(Duration::from_millis((100 << tries.min(5)).min(2000)));
        }
    }

    fn ask(
        &self,
        rows: &[Cells],
        coordinator: usize,
        open: &mut Option<Open>,
    ) -> Result<Option<u64>, ClientError> {
        if open.is_none() {
            let mut client = self.place.connect(coordinator)?;
            *open = Some(Open {
                row: client.prepare(&self.statements.row)?,
                partition: client.prepare(&self.statements.partition)?,
                client,
            });
        }
        let (Some(open), Some(first)) = (open.as_mut(), rows.first()) else {
            return Ok(None);
        };
        let (partition, whole) = self.statements.keys;
        let (prepared, keys) = match rows.len() {
            1 => (&open.row, whole),
            _ => (&open.partition, partition),
        };
        let level = self.gentleness.consistency;
        let came = open.client.execute(prepared, &first[..keys], level)?;
        Ok(oldest(rows, &came.rows, (partition, whole)))
    }
}

/// The write time of the oldest of the rows that must be there; none where one of them is missing. Both come in the
/// table's order: clustering columns and, of those that came, the time behind them.
fn oldest(rows: &[Cells], came: &[Cells], (partition, whole): (usize, usize)) -> Option<u64> {
    let mut came = came.iter();
    let mut oldest: Option<u64> = None;
    for row in rows {
        let key = &row[partition..whole];
        let same = came.find(|other| other.get(..key.len()) == Some(key))?;
        let Some(Some(CqlValue::Bigint(time))) = same.last() else {
            return None;
        };
        let time = u64::try_from(*time).unwrap_or(0);
        oldest = Some(oldest.map_or(time, |oldest| oldest.min(time)));
    }
    oldest
}

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_model::seed::Seed;
    use helenus_model::workload::Workload;

    #[test]
    fn a_row_is_asked_for_by_its_key() {
        let tables = Expected::tables(&Workload::Standard1, Seed(1)).unwrap();
        let statements = Statements::of(tables[0].table());
        assert_eq!(
            statements.row,
            "SELECT writetime(\"C0\") FROM keyspace1.standard1 WHERE key = ?"
        );
        assert_eq!(
            (statements.partition, statements.keys),
            (statements.row, (1, 1))
        );
    }

    #[test]
    fn a_partition_is_as_old_as_its_oldest_row_and_absent_with_one() {
        let int = |n: i32| Some(CqlValue::Int(n));
        let rows: Vec<Cells> = [1, 2].map(|c| vec![int(9), int(c), int(0)]).into();
        let row = |c: i32, time: i64| vec![int(c), Some(CqlValue::Bigint(time))];
        let of = |came: &[Cells]| oldest(&rows, came, (1, 2));
        assert_eq!(of(&[row(1, 70), row(2, 60)]), Some(60));
        // Rows that nobody wrote lie between.
        assert_eq!(of(&[row(0, 1), row(1, 70), row(2, 80)]), Some(70));
        assert_eq!(of(&[row(1, 70)]), None);
        assert_eq!(of(&[row(1, 70), vec![int(2), None]]), None);
        assert_eq!(of(&[]), None);
    }
}
