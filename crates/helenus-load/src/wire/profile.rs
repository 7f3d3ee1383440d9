//! Operations of profiles: their statements prepared, their values bound, batches and pages of scans asked for, rows
//! checked. Refuses to make data: the maker of the workload does.

use super::fault::{of_check, of_rows};
use super::statement::{Draft, Judged, PageWanted, Statement, serially};
use crate::endpoint::{EndpointError, Fault};
use helenus_cql::client::Client;
use helenus_cql::codec::{Answer, BatchType, RowsView};
use helenus_model::cql::CqlValue;
use helenus_model::sample::FailureKind;
use helenus_model::seed::Seed;
use helenus_model::workload::maker::Maker;
use helenus_model::workload::operation::{Bound, Request, Work};
use helenus_model::workload::profile::{BatchKind, ProfileWorkload};
use helenus_model::workload::walk::Partitions;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The operations of profiles, ready to be sent.
pub(super) struct Profiles {
    maker: Maker,
    /// Whether any operation takes more than one partition.
    several: bool,
    /// Where each of the maker's statements is among the prepared ones; none of operations that are not used.
    places: Vec<Option<usize>>,
    /// The ring in ranges: tokens above the first, up to the second.
    ring: Vec<(i64, i64)>,
    /// How far the scan of each statement is.
    scans: BTreeMap<usize, Scan>,
    /// Where the workload is a cassandra-stress line's.
    walk: Option<Walking>,
}

/// What a line's operations remember.
struct Walking {
    partitions: Partitions,
    /// What failed, by the operation's number: it may be sent again, and is the same then.
    failed: BTreeMap<u64, Work>,
}

/// A walk through all ranges, one page an operation; after the last range it starts again.
#[derive(Default)]
struct Scan {
    next: usize,
    /// Ranges that have more pages, with the place to continue from; none is the range's beginning.
    open: VecDeque<(usize, Option<Vec<u8>>)>,
}

impl Profiles {
    /// Prepares the statements of the operations that are used.
    pub(super) fn prepare(
        client: &mut Client,
        (profiles, used): (&ProfileWorkload, &BTreeSet<String>),
        data: Seed,
        ring: Vec<(i64, i64)>,
    ) -> Result<(Self, Vec<Statement>), EndpointError> {
        let maker = Maker::new(profiles, data).map_err(|e| EndpointError::Profile {
            workload: profiles.name.clone(),
            source: Box::new(e),
        })?;
        let mut statements = Vec::new();
        let mut places = Vec::new();
        for of in maker.statements() {
            let wanted = used.contains(&of.operation);
            places.push(wanted.then_some(statements.len()));
            if wanted {
                let mut statement = Statement::prepare(client, &of.operation, &of.cql)?;
                statement.consistency = of.consistency.map(Into::into);
                statement.serial = of.serial_consistency.map(serially);
                statements.push(statement);
            }
        }
        let own = Self {
            ring,
            maker,
            several: profiles.specs.iter().any(|spec| {
                let partitions = &spec.profile.insert.partitions;
                partitions.max() > 1
            }),
            places,
            scans: BTreeMap::new(),
            walk: profiles.walk.as_ref().map(|walk| Walking {
                partitions: Partitions::new(walk, data),
                failed: BTreeMap::new(),
            }),
        };
        Ok((own, statements))
    }

    /// Whether any operation takes more than one position.
    pub(super) fn takes_several(&self) -> bool {
        self.several
    }

    /// Positions that an operation takes.
    pub(super) fn partitions(&self, operation: usize, number: u64) -> u32 {
        self.maker.partitions(operation, number)
    }

    pub(super) fn make(
        &mut self,
        statements: &[Statement],
        draft: &mut Draft,
    ) -> Result<(), Fault> {
        let work = self.work(draft);
        let made = self.request(&work, statements, draft);
        draft.work = Some(work);
        made
    }

    fn work(&mut self, draft: &Draft) -> Work {
        let (operation, number) = (draft.operation, draft.number);
        let Some(walk) = &mut self.walk else {
            return self.maker.make(operation, number, &draft.positions);
        };
        let again = walk.failed.remove(&number);
        again.unwrap_or_else(|| {
            let partitions = &mut walk.partitions;
            self.maker
                .walk(partitions, operation, number, &draft.positions)
        })
    }

    fn request(
        &mut self,
        work: &Work,
        statements: &[Statement],
        draft: &mut Draft,
    ) -> Result<(), Fault> {
        match &work.request {
            Request::Single(statement, bound) => {
                let place = self.place(*statement)?;
                draft.described = statements[place].is_conditional();
                draft.put(place, &statements[place], bound)
            }
            Request::Batch(kind, all) => {
                draft.batch = Some(match kind {
                    BatchKind::Logged => BatchType::Logged,
                    BatchKind::Unlogged => BatchType::Unlogged,
                    BatchKind::Counter => BatchType::Counter,
                });
                all.iter().try_for_each(|(statement, bound)| {
                    let place = self.place(*statement)?;
                    draft.put(place, &statements[place], bound)
                })
            }
            Request::Scan {
                statement,
                page_size,
            } => {
                let place = self.place(*statement)?;
                let (range, from) = self.next_page(place);
                let (above, to) = self.ring[range];
                draft.range = range;
                draft.page = Some(PageWanted {
                    rows: i32::try_from((*page_size).max(1)).unwrap_or(i32::MAX),
                    from,
                });
                let bound = [above, to].map(|token| Bound::Value(CqlValue::Bigint(token)));
                draft.put(place, &statements[place], &bound)
            }
        }
    }

    fn place(&self, statement: usize) -> Result<usize, Fault> {
        let place = self.places.get(statement).copied().flatten();
        place.ok_or_else(|| Fault {
            kind: FailureKind::Other,
            message: format!("statement {statement} was not prepared"),
        })
    }

    pub(super) fn judge(
        &mut self,
        statements: &[Statement],
        draft: &mut Draft,
        answer: Result<Answer<'_>, Fault>,
    ) -> Judged {
        let Some(work) = draft.work.take() else {
            return ((0, 0), answer.map(drop));
        };
        let page = draft.page.take();
        let answer = match answer {
            Ok(answer) => answer,
            Err(fault) => {
                if let Some(page) = page {
                    // The page is not lost: the next operation asks for it again.
                    self.put_back(draft.statement(), draft.range, page.from);
                }
                if let Some(walk) = &mut self.walk {
                    walk.failed.insert(draft.number, work);
                }
                return ((0, 0), Err(fault));
            }
        };
        let rows = match answer {
            Answer::Rows(rows) => Some(rows),
            _ => None,
        };
        if page.is_some()
            && let Some(after) = rows.as_ref().and_then(|rows| rows.paging_state)
        {
            self.put_back(draft.statement(), draft.range, Some(after.to_vec()));
        }
        self.take(statements, &work, draft, rows)
    }

    /// Counts what came back, and checks it where that is asked for.
    fn take(
        &self,
        statements: &[Statement],
        work: &Work,
        draft: &Draft,
        rows: Option<RowsView<'_>>,
    ) -> Judged {
        let statement = &statements[draft.statement()];
        let count = rows.as_ref().map_or(0, |rows| rows.row_count);
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        if let Request::Scan { .. } = work.request {
            // How many partitions a page touches only its rows know.
            let checked = rows.map_or(Ok(()), |rows| self.check(statement, &rows, draft));
            return ((count.min(1), count), checked);
        }
        let reads = !statement.columns.is_empty() && !statement.is_conditional();
        match rows.filter(|_| reads && draft.batch.is_none()) {
            // A read that finds nothing touches no partition.
            Some(rows) => {
                let partitions = if work.by_answer { 1 } else { work.partitions };
                let checked = self.check(statement, &rows, draft);
                ((partitions.min(count), count), checked)
            }
            None if work.by_answer && draft.batch.is_none() => ((count.min(1), count), Ok(())),
            None => ((work.partitions, work.rows), Ok(())),
        }
    }

    /// Compares what was read with what must have been written, where that is asked for: `validate` asks for it itself.
    fn check(
        &self,
        statement: &Statement,
        rows: &RowsView<'_>,
        draft: &Draft,
    ) -> Result<(), Fault> {
        let (operation, number) = (draft.operation, draft.number);
        if !draft.verify && !self.maker.validates(operation) {
            return Ok(());
        }
        let columns = rows.columns.as_deref().unwrap_or(&statement.columns);
        let values = rows.rows(columns).map_err(|error| of_rows(&error))?;
        let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
        let maker = &self.maker;
        let check = maker.check(operation, number, &draft.positions, &names, &values);
        of_check(check, draft.position())
    }

    fn next_page(&mut self, place: usize) -> (usize, Option<Vec<u8>>) {
        let scan = self.scans.entry(place).or_default();
        scan.open.pop_front().unwrap_or_else(|| {
            let range = scan.next % self.ring.len().max(1);
            scan.next = range + 1;
            (range, None)
        })
    }

    fn put_back(&mut self, place: usize, range: usize, from: Option<Vec<u8>>) {
        let scan = self.scans.entry(place).or_default();
        scan.open.push_front((range, from));
    }
}
