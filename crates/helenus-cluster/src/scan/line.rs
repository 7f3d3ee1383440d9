//! One worker's connection: asks for spans, and does about troubles what the model says.
//! Refuses to wait for ever, and to hide how often it had to ask again.

use super::{ScanError, ScanPlace};
use crate::cancel::Cancel;
use helenus_cql::client::{Client, ClientError};
use helenus_cql::codec::{Consistency, Prepared, RowsPage, ServerErrorKind};
use helenus_model::cql::CqlValue;
use helenus_model::scan::{Next, Pace, Span, Trouble, Way};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Lost connections, or requests that the node has not answered, in a row after which another node is asked.
const LOST_MOST: u32 = 3;

/// How long a worker sleeps between looks at the person's wish to stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Bytes that a page is to come to at most: a small node holds several of them at once.
const PAGE_BYTES: usize = 1 << 20;

/// Rows of the first page of whole rows, whose size nobody knows yet.
pub(super) const FIRST_ROWS: u32 = 100;

/// A page's rows grow by at most this at a time.
const GROWTH: u32 = 4;

/// What all workers count together.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) requests: AtomicU64,
    pub(super) troubles: Mutex<BTreeMap<Trouble, u64>>,
}

/// Why a span was not read to its end.
#[derive(Debug)]
pub(super) enum Halt {
    /// Ask for it page by page.
    ByPages,
    /// Ask for its halves.
    Halves,
    /// The person asked to stop, or another worker failed.
    Stopped,
    /// It cannot be read.
    Failed(Box<ScanError>),
}

impl From<ScanError> for Halt {
    fn from(error: ScanError) -> Self {
        Self::Failed(Box::new(error))
    }
}

/// A connection with its statements.
struct Open {
    client: Client,
    prepared: Vec<Prepared>,
}

/// One worker's way to the cluster.
pub(super) struct Line<'a> {
    place: &'a ScanPlace,
    statements: &'a [String],
    consistency: Consistency,
    stop: &'a Cancel,
    tally: &'a Tally,
    /// Which node it asks, counted round and round.
    coordinator: usize,
    lost: u32,
    open: Option<Open>,
    pub(super) pace: Pace,
    /// Rows that fit into a page, by the bytes of those before.
    fitting: u32,
}

impl<'a> Line<'a> {
    pub(super) fn new(
        place: &'a ScanPlace,
        statements: &'a [String],
        consistency: Consistency,
        stop: &'a Cancel,
        tally: &'a Tally,
        coordinator: usize,
        first_page: u32,
    ) -> Self {
        Self {
            place,
            statements,
            consistency,
            stop,
            tally,
            coordinator,
            lost: 0,
            open: None,
            pace: Pace::default(),
            fitting: first_page,
        }
    }

    /// Reads a span with a statement, page by page to the last; `way` says what the server makes of it.
    pub(super) fn read(
        &mut self,
        statement: usize,
        span: Span,
        way: Way,
        mut take: impl FnMut(&Prepared, &RowsPage) -> Result<(), ScanError>,
    ) -> Result<(), Halt> {
        let mut state = None;
        loop {
            let page = self.page(statement, span, way, state)?;
            if let Some(open) = &self.open {
                take(&open.prepared[statement], &page)?;
            }
            state = page.paging_state;
            if state.is_none() {
                return Ok(());
            }
        }
    }

    /// One page, asked for until it comes or the pace says otherwise.
    fn page(
        &mut self,
        statement: usize,
        span: Span,
        way: Way,
        state: Option<Vec<u8>>,
    ) -> Result<RowsPage, Halt> {
        loop {
            if self.stop.is_set() {
                return Err(Halt::Stopped);
            }
            let begin = Instant::now();
            let error = match self.ask(statement, span, state.clone()) {
                Ok(page) => {
                    self.lost = 0;
                    self.pace = self.pace.after_answer(micros(begin));
                    self.fit(page.bytes.len(), page.row_count);
                    return Ok(page);
                }
                Err(error) => error,
            };
            tracing::info!(%error, ?span, ?way, page = self.pace.page, "asked again");
            if unprepared(&error) {
                self.open = None;
            }
            let Some(trouble) = trouble(&error) else {
                return Err(ScanError::Refused {
                    source: Box::new(error),
                }
                .into());
            };
            self.note(trouble, &error);
            let (pace, next) = self.pace.after_trouble(trouble, way, span.width());
            self.pace = pace;
            match next {
                Next::Again { after_ms } => self.sleep(Duration::from_millis(after_ms)),
                Next::ByPages => return Err(Halt::ByPages),
                Next::Halves => return Err(Halt::Halves),
                Next::GiveUp => {
                    let tries = pace.troubles;
                    let stuck = ScanError::Stuck {
                        span,
                        tries,
                        source: Box::new(error),
                    };
                    return Err(stuck.into());
                }
            }
        }
    }

    fn ask(
        &mut self,
        statement: usize,
        span: Span,
        state: Option<Vec<u8>>,
    ) -> Result<RowsPage, ClientError> {
        let page = self.pace.page.min(self.fitting);
        let page = i32::try_from(page).unwrap_or(i32::MAX);
        let consistency = self.consistency;
        self.tally.requests.fetch_add(1, Ordering::Relaxed);
        let open = self.opened()?;
        let values = [span.start, span.end].map(|token| Some(CqlValue::Bigint(token)));
        let prepared = &open.prepared[statement];
        open.client
            .execute_page(prepared, &values, consistency, page, state)
    }

    fn opened(&mut self) -> Result<&mut Open, ClientError> {
        let open = match self.open.take() {
            Some(open) => open,
            None => {
                let mut client = self.place.connect(self.coordinator)?;
                let prepared = self.statements.iter().map(|cql| client.prepare(cql));
                let prepared = prepared.collect::<Result<_, _>>()?;
                Open { client, prepared }
            }
        };
        Ok(self.open.insert(open))
    }

    /// As many rows as come to [`PAGE_BYTES`], by those that just came.
    fn fit(&mut self, bytes: usize, rows: usize) {
        if let Some(each) = bytes.checked_div(rows) {
            let fitting = PAGE_BYTES / each.max(1);
            let most = self.fitting.saturating_mul(GROWTH);
            self.fitting = u32::try_from(fitting).unwrap_or(u32::MAX).clamp(1, most);
        }
    }

    fn note(&mut self, trouble: Trouble, error: &ClientError) {
        let lost = trouble == Trouble::Lost;
        // A node that is stopped keeps its connections; one that sends an error lives.
        let silent = matches!(error, ClientError::TimedOut { .. });
        if lost {
            self.open = None;
        }
        if lost || silent {
            self.lost += 1;
            if self.lost.is_multiple_of(LOST_MOST) {
                self.open = None;
                self.coordinator += 1;
            }
        }
        if let Ok(mut troubles) = self.tally.troubles.lock() {
            *troubles.entry(trouble).or_default() += 1;
        }
    }

    /// Sleeps, but not past the person's wish to stop.
    fn sleep(&self, time: Duration) {
        let end = Instant::now() + time;
        while !self.stop.is_set() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(LOOK_EVERY));
        }
    }
}

/// Microseconds since then.
pub(super) fn micros(begin: Instant) -> u64 {
    u64::try_from(begin.elapsed().as_micros()).unwrap_or(u64::MAX)
}

pub(super) fn unprepared(error: &ClientError) -> bool {
    let kind = error.server().map(|server| &server.kind);
    matches!(kind, Some(ServerErrorKind::Unprepared { .. }))
}

/// What can be helped by asking again, otherwise or later.
pub(super) fn trouble(error: &ClientError) -> Option<Trouble> {
    use ServerErrorKind as Kind;
    Some(match error {
        ClientError::TimedOut { .. } => Trouble::TimedOut,
        ClientError::Closed { .. }
        | ClientError::Io { .. }
        | ClientError::Broken
        | ClientError::Refused { .. }
        | ClientError::Unreachable { .. }
        | ClientError::TlsEnded { .. } => Trouble::Lost,
        ClientError::Server { error } => match &error.kind {
            Kind::ReadTimeout { .. } => Trouble::TimedOut,
            // What is wrong inside a server may be a heap that a smaller page spares.
            Kind::ReadFailure { .. } | Kind::Server => Trouble::Failed,
            Kind::Overloaded => Trouble::Overloaded,
            Kind::Unavailable { .. } => Trouble::Unavailable,
            Kind::IsBootstrapping | Kind::Unprepared { .. } => Trouble::Lost,
            _ => return None,
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_cql::codec::ServerError;

    #[test]
    fn another_node_is_asked_when_one_does_not_answer() {
        let (place, stop, tally) = (ScanPlace::of_nobody(), Cancel::default(), Tally::default());
        let level = Consistency::One;
        let mut line = Line::new(&place, &[], level, &stop, &tally, 4, FIRST_ROWS);
        let limit = Duration::from_secs(15);
        let silent = ClientError::TimedOut {
            during: "the execution",
            limit,
        };
        let slow = ClientError::Server {
            error: ServerError {
                kind: ServerErrorKind::ReadTimeout {
                    consistency: level,
                    received: 0,
                    wanted: 1,
                    data_present: false,
                },
                message: String::new(),
            },
        };
        for error in [&silent, &slow, &slow, &silent, &slow] {
            let trouble = trouble(error).expect("it passes");
            assert_eq!(trouble, Trouble::TimedOut);
            line.note(trouble, error);
            assert_eq!(line.coordinator, 4);
        }
        line.note(Trouble::TimedOut, &silent);
        assert_eq!((line.coordinator, line.lost), (5, LOST_MOST));
    }
}
