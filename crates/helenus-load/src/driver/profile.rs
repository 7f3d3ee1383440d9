//! Operations of profiles: their statements prepared, their values bound, batches and pages of scans sent, rows checked.
//! Refuses to make data: the maker of the workload does.

use super::{Driver, checked, consistency, dated, fault, other};
use crate::convert::{from_driver, to_driver, type_of};
use crate::endpoint::{Call, EndpointError, Fault, Stamp};
use helenus_model::cql::CqlType;
use helenus_model::run_plan::SerialConsistency;
use helenus_model::sample::FailureKind;
use helenus_model::seed::Seed;
use helenus_model::workload::maker::Maker;
use helenus_model::workload::operation::{Bound, Request, Statement, Work};
use helenus_model::workload::profile::{BatchKind, ProfileWorkload};
use helenus_model::workload::walk::Partitions;
use scylla::response::query_result::{QueryResult, QueryRowsResult};
use scylla::response::{PagingState, PagingStateResponse};
use scylla::statement::batch::{Batch, BatchType};
use scylla::statement::prepared::PreparedStatement;
use scylla::value::{CqlValue, MaybeUnset, Row};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::ControlFlow;

/// First column of the answer to a conditional statement.
const APPLIED: &str = "[applied]";

/// What a statement's markers get.
type Values = Vec<MaybeUnset<CqlValue>>;

/// The operations of profiles, ready to be sent.
pub(super) struct Profiles {
    maker: Maker,
    /// Whether any operation takes more than one partition.
    several: bool,
    /// None of operations that are not used.
    statements: Vec<Option<Ready>>,
    /// The ring in ranges: tokens above the first, up to the second.
    ring: Vec<(i64, i64)>,
    /// How far the scan of each statement is.
    scans: RefCell<BTreeMap<usize, Scan>>,
    /// Where the workload is a cassandra-stress line's.
    walk: Option<Walking>,
}

/// What a line's operations remember.
struct Walking {
    partitions: RefCell<Partitions>,
    /// What failed, by the operation's number: it may be sent again, and is the same then.
    failed: RefCell<BTreeMap<u64, Work>>,
}

/// A prepared statement, and what is needed to fill its markers and to read its rows.
struct Ready {
    statement: PreparedStatement,
    types: Vec<CqlType>,
    columns: Vec<String>,
    /// Whether it has a serial consistency of its own.
    serial: bool,
}

/// A walk through all ranges, one page an operation; after the last range it starts again.
#[derive(Default)]
struct Scan {
    next: usize,
    /// Ranges that have more pages, with the place to continue from.
    open: VecDeque<(usize, PagingState)>,
}

impl Profiles {
    /// Prepares the statements of the operations that are used.
    pub(super) async fn prepare(
        driver: &Driver,
        profiles: &ProfileWorkload,
        used: &BTreeSet<String>,
        data: Seed,
    ) -> Result<Self, EndpointError> {
        let maker = Maker::new(profiles, data).map_err(|e| EndpointError::Profile {
            workload: profiles.name.clone(),
            source: Box::new(e),
        })?;
        let mut statements = Vec::new();
        for statement in maker.statements() {
            statements.push(match used.contains(&statement.operation) {
                true => Some(ready(driver, statement).await?),
                false => None,
            });
        }
        Ok(Self {
            ring: ranges(driver),
            maker,
            several: profiles.specs.iter().any(|spec| {
                let partitions = &spec.profile.insert.partitions;
                partitions.max() > 1
            }),
            statements,
            scans: RefCell::default(),
            walk: profiles.walk.as_ref().map(|walk| Walking {
                partitions: RefCell::new(Partitions::new(walk, data)),
                failed: RefCell::default(),
            }),
        })
    }

    /// Whether any operation takes more than one position.
    pub(super) fn takes_several(&self) -> bool {
        self.several
    }

    /// Positions that an operation takes.
    pub(super) fn partitions(&self, operation: usize, number: u64) -> u32 {
        self.maker.partitions(operation, number)
    }

    /// Sends what an operation is.
    pub(super) async fn run(
        &self,
        driver: &Driver,
        call: Call<'_>,
        stamp: &Stamp,
    ) -> Result<(), Fault> {
        let work = self.work(call);
        let sent = self.send(driver, &work, call, stamp).await;
        if let (Err(_), Some(walk)) = (&sent, &self.walk) {
            walk.failed.borrow_mut().insert(call.number, work);
        }
        sent
    }

    fn work(&self, call: Call<'_>) -> Work {
        let (operation, number) = (call.operation, call.number);
        let Some(walk) = &self.walk else {
            return self.maker.make(operation, number, call.positions);
        };
        let again = walk.failed.borrow_mut().remove(&number);
        again.unwrap_or_else(|| {
            let mut partitions = walk.partitions.borrow_mut();
            self.maker
                .walk(&mut partitions, operation, number, call.positions)
        })
    }

    async fn send(
        &self,
        driver: &Driver,
        work: &Work,
        call: Call<'_>,
        stamp: &Stamp,
    ) -> Result<(), Fault> {
        match &work.request {
            Request::Single(place, bound) => {
                let ready = self.ready(*place)?;
                let values = self.bind(ready, bound);
                let mut statement = ready.serially(call.serial_consistency);
                if let Some(at) = call.timestamp_us {
                    statement = Some(dated(statement.as_ref().unwrap_or(&ready.statement), at));
                }
                let statement = statement.as_ref().unwrap_or(&ready.statement);
                stamp.start();
                let done = driver.session.execute_unpaged(statement, values).await;
                stamp.end();
                self.take(ready, done.map_err(|e| fault(&e))?, work, call, stamp)
            }
            Request::Batch(kind, all) => {
                let (mut batch, values) = self.batch(*kind, all, call.serial_consistency)?;
                batch.set_timestamp(call.timestamp_us);
                stamp.start();
                let done = driver.session.batch(&batch, values).await;
                stamp.end();
                done.map_err(|e| fault(&e))?;
                stamp.touched(work.partitions, work.rows);
                Ok(())
            }
            Request::Scan {
                statement,
                page_size,
            } => {
                self.scan(driver, (*statement, *page_size), call, stamp)
                    .await
            }
        }
    }

    fn ready(&self, place: usize) -> Result<&Ready, Fault> {
        let ready = self.statements.get(place).and_then(Option::as_ref);
        ready.ok_or_else(|| Fault {
            kind: FailureKind::Other,
            message: format!("statement {place} was not prepared"),
        })
    }

    fn bind(&self, ready: &Ready, bound: &[Bound]) -> Values {
        let pairs = bound.iter().zip(&ready.types);
        pairs
            .map(|(value, of)| match value {
                Bound::Unset => MaybeUnset::Unset,
                Bound::Value(value) => MaybeUnset::Set(to_driver(value.clone(), of)),
            })
            .collect()
    }

    fn batch(
        &self,
        kind: BatchKind,
        all: &[(usize, Vec<Bound>)],
        serial: Option<SerialConsistency>,
    ) -> Result<(Batch, Vec<Values>), Fault> {
        let mut batch = Batch::new(match kind {
            BatchKind::Logged => BatchType::Logged,
            BatchKind::Unlogged => BatchType::Unlogged,
            BatchKind::Counter => BatchType::Counter,
        });
        let mut values = Vec::with_capacity(all.len());
        for (place, bound) in all {
            let ready = self.ready(*place)?;
            batch.append_statement(ready.statement.clone());
            values.push(self.bind(ready, bound));
        }
        // A batch asks none of its statements: what the first one says holds for all.
        let first = all.first().and_then(|(place, _)| self.ready(*place).ok());
        if let Some(own) = first.and_then(|ready| ready.statement.get_consistency()) {
            batch.set_consistency(own);
        }
        let own = first
            .filter(|ready| ready.serial)
            .and_then(|ready| ready.statement.get_serial_consistency());
        if let Some(serial) = own.or(serial.map(serially)) {
            batch.set_serial_consistency(Some(serial));
        }
        Ok((batch, values))
    }

    /// Counts what came back, and checks it where that is asked for.
    fn take(
        &self,
        ready: &Ready,
        result: QueryResult,
        work: &Work,
        call: Call<'_>,
        stamp: &Stamp,
    ) -> Result<(), Fault> {
        let writes = ready.columns.is_empty() || ready.columns[0] == APPLIED;
        if work.by_answer && (writes || !result.is_rows()) {
            let rows = match result.is_rows() {
                true => count(&result.into_rows_result().map_err(|e| other(&e))?),
                false => 0,
            };
            stamp.touched(rows.min(1), rows);
            return Ok(());
        }
        if writes || !result.is_rows() {
            stamp.touched(work.partitions, work.rows);
            return Ok(());
        }
        let read = result.into_rows_result().map_err(|e| other(&e))?;
        // A read that finds nothing touches no partition.
        let rows = count(&read);
        let partitions = if work.by_answer { 1 } else { work.partitions };
        stamp.touched(partitions.min(rows), rows);
        self.check(ready, &read, call)
    }

    /// Compares what was read with what must have been written, where that is asked for: `validate` asks for it itself.
    fn check(&self, ready: &Ready, read: &QueryRowsResult, call: Call<'_>) -> Result<(), Fault> {
        if !call.verify && !self.maker.validates(call.operation) {
            return Ok(());
        }
        let rows = read
            .rows::<Row>()
            .map_err(|e| other(&e))?
            .map(|row| {
                let row = row.map_err(|e| other(&e))?;
                let values = row.columns.into_iter();
                Ok(values.map(|v| v.and_then(from_driver)).collect())
            })
            .collect::<Result<Vec<Vec<_>>, Fault>>()?;
        let columns: Vec<&str> = ready.columns.iter().map(String::as_str).collect();
        let (operation, number) = (call.operation, call.number);
        let maker = &self.maker;
        let check = maker.check(operation, number, call.positions, &columns, &rows);
        checked(check, call.position())
    }

    /// The next page of a walk through the ring.
    async fn scan(
        &self,
        driver: &Driver,
        (place, page_size): (usize, u32),
        call: Call<'_>,
        stamp: &Stamp,
    ) -> Result<(), Fault> {
        let ready = self.ready(place)?;
        let (range, from) = self.next_page(place);
        let (above, to) = self.ring[range];
        let mut statement = ready.statement.clone();
        statement.set_page_size(i32::try_from(page_size.max(1)).unwrap_or(i32::MAX));
        stamp.start();
        let session = &driver.session;
        let done = session
            .execute_single_page(&statement, (above, to), from.clone())
            .await;
        stamp.end();
        let (result, after) = match done {
            Ok(page) => page,
            Err(error) => {
                // The page is not lost: the next operation asks for it again.
                self.put_back(place, range, from);
                return Err(fault(&error));
            }
        };
        self.keep_open(place, range, after);
        let read = result.into_rows_result().map_err(|e| other(&e))?;
        // How many partitions a page touches only its rows know.
        let rows = count(&read);
        stamp.touched(u32::from(rows > 0), rows);
        self.check(ready, &read, call)
    }

    fn next_page(&self, place: usize) -> (usize, PagingState) {
        let mut scans = self.scans.borrow_mut();
        let scan = scans.entry(place).or_default();
        scan.open.pop_front().unwrap_or_else(|| {
            let range = scan.next % self.ring.len().max(1);
            scan.next = range + 1;
            (range, PagingState::start())
        })
    }

    fn put_back(&self, place: usize, range: usize, from: PagingState) {
        let mut scans = self.scans.borrow_mut();
        scans
            .entry(place)
            .or_default()
            .open
            .push_front((range, from));
    }

    fn keep_open(&self, place: usize, range: usize, after: PagingStateResponse) {
        if let ControlFlow::Continue(from) = after.into_paging_control_flow() {
            self.put_back(place, range, from);
        }
    }
}

impl Ready {
    /// The statement with the run's serial consistency, where it has none of its own and the run has one.
    fn serially(&self, of: Option<SerialConsistency>) -> Option<PreparedStatement> {
        let of = of.filter(|_| !self.serial)?;
        let mut statement = self.statement.clone();
        statement.set_serial_consistency(Some(serially(of)));
        Some(statement)
    }
}

async fn ready(driver: &Driver, of: &Statement) -> Result<Ready, EndpointError> {
    let mut statement = driver.prepare_one(&of.operation, &of.cql).await?;
    if let Some(own) = of.consistency {
        statement.set_consistency(consistency(own));
    }
    if let Some(own) = of.serial_consistency {
        statement.set_serial_consistency(Some(serially(own)));
    }
    let types = statement
        .get_variable_col_specs()
        .iter()
        .map(|spec| {
            type_of(spec.typ()).ok_or_else(|| EndpointError::Marker {
                operation: of.operation.clone(),
                marker: spec.name().to_owned(),
            })
        })
        .collect::<Result<_, _>>()?;
    let returned = statement.get_current_result_set_col_specs();
    let names = returned.get().iter().map(|spec| spec.name().to_owned());
    let columns: Vec<String> = names.collect();
    if columns.first().is_some_and(|name| name == APPLIED) {
        // What was not applied comes back with more columns than what was.
        statement.set_use_cached_result_metadata(false);
    }
    Ok(Ready {
        types,
        columns,
        serial: of.serial_consistency.is_some(),
        statement,
    })
}

/// The ring's ranges in order; the one that goes round its end is two.
fn ranges(driver: &Driver) -> Vec<(i64, i64)> {
    let state = driver.session.get_cluster_state();
    let ring = state.replica_locator().ring();
    let mut tokens: Vec<i64> = ring.iter().map(|(token, _)| token.value()).collect();
    tokens.sort_unstable();
    tokens.dedup();
    tokens.push(i64::MAX);
    let mut above = i64::MIN;
    let mut all = Vec::with_capacity(tokens.len());
    for to in tokens {
        if to > above {
            all.push((above, to));
        }
        above = to;
    }
    all
}

fn count(rows: &QueryRowsResult) -> u32 {
    u32::try_from(rows.rows_num()).unwrap_or(u32::MAX)
}

pub(super) fn serially(of: SerialConsistency) -> scylla::statement::SerialConsistency {
    match of {
        SerialConsistency::Serial => scylla::statement::SerialConsistency::Serial,
        SerialConsistency::LocalSerial => scylla::statement::SerialConsistency::LocalSerial,
    }
}
