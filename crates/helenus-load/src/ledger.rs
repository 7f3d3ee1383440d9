//! The generator's ledger: dates each write, remembers what became of it, and has full pages appended to a file.
//! Refuses to forget: where the disk does not follow, the generator waits, and its lateness shows it.

use crate::endpoint::Fault;
use crate::stop::{Stop, StopReason};
use crate::sys;
use helenus_model::consistency::Consistency;
use helenus_model::format::Format;
use helenus_model::ledger::{
    Entry, Fate, Head, LedgerError, RECORD_BYTES, Record, SubjectError, VERSION, subjects,
};
use helenus_model::run_plan::{LedgerPlan, RunPlan};
use std::cell::{Cell, RefCell};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Bytes of a page: whole records, so that only a page that is being written can be torn.
const PAGE_BYTES: usize = 2_730 * RECORD_BYTES;

/// Pages that may wait for the disk: 4 MiB.
const PAGES_WAITING: usize = 64;

/// Why there is no ledger.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error(transparent)]
    Subject(#[from] SubjectError),
    #[error(transparent)]
    Head(#[from] LedgerError),
    #[error("the ledger {file} cannot be written")]
    File {
        file: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// What a run has written, as it goes.
#[derive(Debug)]
pub(crate) struct Ledger {
    file: PathBuf,
    /// By place in the workload: the level of an operation that writes.
    levels: Vec<Option<Consistency>>,
    /// The wall and the monotonic clock at the beginning: from there on the monotonic one dates.
    began_us: u64,
    began_ns: u64,
    last_us: Cell<u64>,
    writes: Cell<u64>,
    page: RefCell<Vec<u8>>,
    appending: RefCell<Option<Appending>>,
}

/// The thread that appends, and the way to it.
#[derive(Debug)]
struct Appending {
    pages: SyncSender<Vec<u8>>,
    thread: JoinHandle<io::Result<()>>,
}

impl Ledger {
    /// Makes the file, which must not be there yet. When it cannot be appended to any more, `stop` is raised.
    pub(crate) fn create(
        plan: &RunPlan,
        at: &LedgerPlan,
        stop: &Arc<Stop>,
    ) -> Result<Self, OpenError> {
        let shares = plan.phases.iter().flat_map(|phase| &phase.operations);
        let used = shares.map(|share| share.operation.clone()).collect();
        let subjects = subjects(&plan.workload, &used)?;
        let level = |own: Option<Consistency>| own.unwrap_or(plan.consistency);
        // Both at once: timestamps are the one, carried on by the other.
        let (began_us, began_ns) = (sys::wall_ns() / 1000, sys::monotonic_ns());
        let head = Head {
            format: Format::new("ledger", VERSION),
            began_us,
            plan: plan.clone(),
        };
        let head = head.encode()?;
        let failed = |source| OpenError::File {
            file: at.file.clone(),
            source,
        };
        let mut file = fs_err::File::create_new(&at.file).map_err(failed)?;
        file.write_all(&head).map_err(failed)?;
        let (pages, queue) = sync_channel(PAGES_WAITING);
        let stop = Arc::clone(stop);
        let thread = std::thread::spawn(move || {
            append(file, &queue).inspect_err(|_| stop.raise(StopReason::LedgerGone))
        });
        Ok(Self {
            file: at.file.clone(),
            levels: subjects
                .into_iter()
                .map(|subject| Some(level(subject?.consistency)))
                .collect(),
            began_us,
            began_ns,
            last_us: Cell::new(0),
            writes: Cell::new(0),
            page: RefCell::new(Vec::with_capacity(PAGE_BYTES)),
            appending: RefCell::new(Some(Appending { pages, thread })),
        })
    }

    /// A write is about to be sent: its timestamp. None where the operation only reads.
    pub(crate) fn begin(&self, operation: usize) -> Option<Pending> {
        Some(Pending {
            consistency: (*self.levels.get(operation)?)?,
            operation: u8::try_from(operation).ok()?,
            written_us: self.date(),
        })
    }

    /// Remembers how a write to these positions ended; none is one that has no answer.
    pub(crate) fn end(
        &self,
        pending: Pending,
        positions: &[u64],
        ended: Option<&Result<(), Fault>>,
    ) {
        let fate = match ended {
            None => Fate::Unanswered,
            Some(Ok(())) => Fate::Acknowledged,
            Some(Err(fault)) => Fate::of_failure(fault.kind, positions.len()),
        };
        let took_us = self.now_us().saturating_sub(pending.written_us);
        let took_us = u32::try_from(took_us).unwrap_or(u32::MAX);
        for position in positions {
            self.put(Entry::Write(Record {
                position: *position,
                written_us: pending.written_us,
                took_us,
                operation: pending.operation,
                consistency: pending.consistency,
                fate,
            }));
            self.writes.set(self.writes.get() + 1);
        }
    }

    /// The wall clock in microseconds, later than ever before.
    fn date(&self) -> u64 {
        let now_us = self.now_us().max(self.last_us.get() + 1);
        self.last_us.set(now_us);
        now_us
    }

    fn now_us(&self) -> u64 {
        self.began_us + sys::monotonic_ns().saturating_sub(self.began_ns) / 1000
    }

    fn put(&self, entry: Entry) {
        let full = {
            let mut page = self.page.borrow_mut();
            page.extend(entry.encode());
            page.len() >= PAGE_BYTES
        };
        if full {
            self.flush();
        }
    }

    /// Hands over what is not appended yet.
    pub(crate) fn flush(&self) {
        let mut page = self.page.borrow_mut();
        if page.is_empty() {
            return;
        }
        let full = std::mem::replace(&mut *page, Vec::with_capacity(PAGE_BYTES));
        if let Some(appending) = &*self.appending.borrow() {
            // The thread that is gone has raised the stop, and says why when it is joined.
            let _gone = appending.pages.send(full);
        }
    }

    /// Says that this is all, and waits until it is in the file.
    pub(crate) fn finish(&self) -> Result<(), OpenError> {
        let writes = self.writes.get();
        self.put(Entry::End { writes });
        self.flush();
        let Some(Appending { pages, thread }) = self.appending.take() else {
            return Ok(());
        };
        drop(pages);
        let ended = thread.join();
        let ended = ended.unwrap_or_else(|_| Err(io::Error::other("its thread has panicked")));
        ended.map_err(|source| OpenError::File {
            file: self.file.clone(),
            source,
        })
    }
}

fn append(mut file: fs_err::File, pages: &Receiver<Vec<u8>>) -> io::Result<()> {
    for page in pages {
        file.write_all(&page)?;
    }
    Ok(())
}

/// A write on its way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pending {
    operation: u8,
    consistency: Consistency,
    written_us: u64,
}

impl Pending {
    /// Its timestamp in microseconds since 1970.
    pub(crate) fn timestamp_us(self) -> i64 {
        i64::try_from(self.written_us).unwrap_or(i64::MAX)
    }
}
