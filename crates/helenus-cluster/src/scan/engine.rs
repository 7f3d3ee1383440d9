//! The ring as a queue of pieces, and the threads that work it off; troubles split a piece, never the whole scan.
//! Refuses to know what is read: [`Reading`] does.

use super::line::{Halt, Line, Tally, micros};
use super::{Gentleness, ScanError, ScanPlace};
use crate::cancel::Cancel;
use helenus_model::scan::{Large, Pace, Piece, ScanProgress, Span, WHOLE_RING, Way};
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Between two words on the progress.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// Parts with partitions that may wait to be reported; more make the workers wait.
const WAITING_MOST: usize = 16;

/// What happens on the way.
#[derive(Debug)]
pub enum ScanEvent {
    /// How far it is.
    Progress(ScanProgress),
    /// Keys of positions that were computed before the scan.
    Keys {
        /// So many.
        done: u64,
        /// Of so many.
        total: u64,
    },
    /// Partitions that were counted, each once, in no order; only where all were asked for.
    Partitions(Vec<Large>),
}

/// What a scan reads of each span.
pub(super) trait Reading: Sync {
    /// What a span gives.
    type Found: Send;

    /// Statements with two markers each: tokens above the first, up to the second.
    fn statements(&self) -> Vec<String>;

    /// How a span is asked for at first.
    fn way(&self) -> Way;

    /// Rows of the first page, where what comes back may be large.
    fn first_page(&self) -> u32;

    /// Reads a span to its end.
    fn read(&self, line: &mut Line<'_>, span: Span, way: Way) -> Result<Self::Found, Halt>;

    /// The rows of what was found.
    fn rows(found: &Self::Found) -> u64;
}

/// Takes what was found, each token of the ring once, one call at a time; what it returns is reported.
pub(super) type Sink<'a, Found> =
    dyn FnMut(Piece, Found) -> Result<Vec<Large>, ScanError> + Send + 'a;

/// What is to be read, and what was read before.
pub(super) struct Task<'a> {
    pub(super) place: &'a ScanPlace,
    pub(super) nodes: Vec<IpAddr>,
    pub(super) left: Vec<Piece>,
    pub(super) rows_before: u64,
    pub(super) gentleness: Gentleness,
    pub(super) cancel: &'a Cancel,
}

/// What became of it.
#[derive(Debug)]
pub(super) struct Ended {
    /// Whether the whole ring is read.
    pub(super) complete: bool,
    pub(super) progress: ScanProgress,
    pub(super) requests: u64,
    pub(super) troubles: BTreeMap<&'static str, u64>,
}

struct Board {
    /// By node.
    queues: Vec<VecDeque<Piece>>,
    in_work: usize,
    /// Tokens that are read.
    tokens: u128,
    rows: u64,
    error: Option<Box<ScanError>>,
}

/// What the workers share.
struct Shared<'a, R: Reading> {
    task: &'a Task<'a>,
    reading: &'a R,
    statements: Vec<String>,
    threads: usize,
    board: Mutex<Board>,
    changed: Condvar,
    sink: Mutex<&'a mut Sink<'a, R::Found>>,
    /// Set by the person, and by a worker that failed.
    stop: Cancel,
    tally: Tally,
}

fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads what is left of the ring. An interrupt ends it early, and well.
pub(super) fn run<'a, R: Reading>(
    task: &'a Task<'a>,
    reading: &'a R,
    sink: &'a mut Sink<'a, R::Found>,
    events: &mut dyn FnMut(ScanEvent),
) -> Result<Ended, ScanError> {
    let mut queues = vec![VecDeque::new(); task.nodes.len().max(1)];
    let mut tokens = u128::from(WHOLE_RING);
    for piece in &task.left {
        tokens -= u128::from(piece.span.width());
        queues[piece.node].push_back(*piece);
    }
    let board = Board {
        queues,
        in_work: 0,
        tokens,
        rows: 0,
        error: None,
    };
    let before = share(tokens);
    let threads = task.gentleness.threads(task.place.coordinators());
    let shared = Shared {
        task,
        reading,
        statements: reading.statements(),
        threads,
        board: Mutex::new(board),
        changed: Condvar::new(),
        sink: Mutex::new(sink),
        stop: Cancel::default(),
        tally: Tally::default(),
    };
    let begin = Instant::now();
    let progress = || {
        let board = locked(&shared.board);
        ScanProgress {
            rows: task.rows_before + board.rows,
            rows_now: board.rows,
            share: share(board.tokens),
            share_before: before,
            seconds: begin.elapsed().as_secs_f64(),
        }
    };
    std::thread::scope(|scope| {
        let (sender, parts) = sync_channel(WAITING_MOST);
        for number in 0..threads {
            let (shared, sender) = (&shared, sender.clone());
            scope.spawn(move || work(shared, number, &sender));
        }
        drop(sender);
        loop {
            if task.cancel.is_set() {
                shared.stop.set();
                shared.changed.notify_all();
            }
            match parts.recv_timeout(TELL_EVERY) {
                Ok(partitions) => events(ScanEvent::Partitions(partitions)),
                Err(RecvTimeoutError::Timeout) => events(ScanEvent::Progress(progress())),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    });
    let progress = progress();
    let complete = locked(&shared.board).tokens == u128::from(WHOLE_RING);
    if let Some(error) = locked(&shared.board).error.take() {
        return Err(*error);
    }
    let troubles = locked(&shared.tally.troubles)
        .iter()
        .map(|(trouble, n)| (trouble.name(), *n))
        .collect();
    Ok(Ended {
        complete,
        progress,
        requests: shared.tally.requests.load(Ordering::Relaxed),
        troubles,
    })
}

#[expect(clippy::cast_precision_loss, reason = "a share")]
fn share(tokens: u128) -> f64 {
    tokens as f64 / WHOLE_RING as f64
}

/// One worker: pieces of its own node first, then of whoever has most left.
fn work<R: Reading>(shared: &Shared<'_, R>, number: usize, sender: &SyncSender<Vec<Large>>) {
    let task = shared.task;
    let address = task.place.address(number).ip();
    let home = task.nodes.iter().position(|node| *node == address);
    let mut line = Line::new(
        task.place,
        &shared.statements,
        task.gentleness.consistency,
        &shared.stop,
        &shared.tally,
        number,
        shared.reading.first_page(),
    );
    while let Some(piece) = shared.take(home, line.pace.width) {
        let begin = Instant::now();
        let ended = match read(shared, &mut line, piece.span) {
            Ok(found) => {
                let (rows, took) = (R::rows(&found), micros(begin));
                let pause = rest(task.gentleness.rate, shared.threads, rows, took);
                line.pace = paced(line.pace, piece.span.width(), took, pause);
                let ended = shared.finish(piece, found, sender);
                shared.rest(pause);
                ended
            }
            Err(halt) => Err(halt),
        };
        match ended {
            Ok(()) => {}
            Err(Halt::Halves) => shared.put_back(piece, piece.span.halves()),
            Err(Halt::Failed(error)) => shared.fail(error),
            Err(Halt::Stopped | Halt::ByPages) => shared.put_back(piece, None),
        }
    }
}

fn read<R: Reading>(
    shared: &Shared<'_, R>,
    line: &mut Line<'_>,
    span: Span,
) -> Result<R::Found, Halt> {
    match shared.reading.read(line, span, shared.reading.way()) {
        Err(Halt::ByPages) => shared.reading.read(line, span, Way::Paged),
        read => read,
    }
}

/// The pause after a span, so that all threads together stay below the rate.
#[expect(clippy::cast_precision_loss, reason = "a pause")]
fn rest(rate: Option<f64>, threads: usize, rows: u64, took_us: u64) -> Duration {
    let Some(rate) = rate else {
        return Duration::ZERO;
    };
    let wanted = rows as f64 * threads as f64 / rate;
    let left = (wanted - took_us as f64 / 1e6).max(0.0);
    Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX)
}

/// The pace after a span and the pause behind it: a rate makes the next spans narrower, so that no pause is long.
fn paced(pace: Pace, width: u64, took_us: u64, pause: Duration) -> Pace {
    let pause_us = u64::try_from(pause.as_micros()).unwrap_or(u64::MAX);
    pace.after_span(width, took_us.saturating_add(pause_us))
}

impl Board {
    /// Whether nothing is left to read, and nobody reads.
    fn is_done(&self) -> bool {
        self.in_work == 0 && self.queues.iter().all(VecDeque::is_empty)
    }
}

impl<R: Reading> Shared<'_, R> {
    /// The next piece, at most so wide; none when all is read or nobody shall continue.
    fn take(&self, home: Option<usize>, width: u64) -> Option<Piece> {
        let mut board = locked(&self.board);
        loop {
            if self.stop.is_set() {
                return None;
            }
            let own = home.filter(|node| !board.queues[*node].is_empty());
            let tokens = |queue: &VecDeque<Piece>| -> u128 {
                queue
                    .iter()
                    .map(|piece| u128::from(piece.span.width()))
                    .sum()
            };
            let fullest = (0..board.queues.len())
                .filter(|node| !board.queues[*node].is_empty())
                .max_by_key(|node| tokens(&board.queues[*node]));
            if let Some(piece) = own
                .or(fullest)
                .and_then(|node| board.queues[node].pop_front())
            {
                let (first, left) = piece.span.cut(width);
                if let Some(span) = left {
                    board.queues[piece.node].push_front(Piece { span, ..piece });
                }
                board.in_work += 1;
                return Some(Piece {
                    span: first,
                    ..piece
                });
            }
            // What others have in work may come back in halves.
            if board.in_work == 0 {
                return None;
            }
            let waited = self.changed.wait_timeout(board, TELL_EVERY);
            board = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Rests so long, but not when all is read or nobody shall continue.
    fn rest(&self, pause: Duration) {
        let begin = Instant::now();
        let mut board = locked(&self.board);
        while !self.stop.is_set() && !board.is_done() {
            let left = pause.saturating_sub(begin.elapsed());
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(board, left.min(TELL_EVERY));
            board = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn finish(
        &self,
        piece: Piece,
        found: R::Found,
        sender: &SyncSender<Vec<Large>>,
    ) -> Result<(), Halt> {
        let rows = R::rows(&found);
        let partitions = (locked(&self.sink))(piece, found)?;
        let mut board = locked(&self.board);
        board.in_work -= 1;
        board.tokens += u128::from(piece.span.width());
        board.rows += rows;
        drop(board);
        self.changed.notify_all();
        if !partitions.is_empty() {
            // Nobody listens any more only when the scan is over.
            let _over = sender.send(partitions);
        }
        Ok(())
    }

    fn put_back(&self, piece: Piece, halves: Option<(Span, Span)>) {
        let mut board = locked(&self.board);
        board.in_work -= 1;
        let spans = match halves {
            Some((first, second)) => vec![second, first],
            None => vec![piece.span],
        };
        for span in spans {
            board.queues[piece.node].push_front(Piece { span, ..piece });
        }
        drop(board);
        self.changed.notify_all();
    }

    fn fail(&self, error: Box<ScanError>) {
        let mut board = locked(&self.board);
        board.in_work -= 1;
        board.error.get_or_insert(error);
        drop(board);
        self.stop.set();
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_kept_by_pauses() {
        let pause = |rate, rows, took_us| rest(rate, 2, rows, took_us).as_secs_f64();
        assert!(pause(None, 1_000_000, 1) < 1e-9);
        // Two threads at 1,000 rows a second each: 500 rows want half a second.
        assert!((pause(Some(2_000.0), 500, 100_000) - 0.4).abs() < 1e-6);
        assert!(pause(Some(2_000.0), 500, 900_000) < 1e-9);
        // However long: a shorter one would exceed the rate.
        assert!((pause(Some(1.0), 1_000_000, 0) - 2e6).abs() < 1e-6);
        assert_eq!(rest(Some(1e-300), 2, u64::MAX, 0), Duration::MAX);
    }

    #[test]
    fn a_rate_makes_spans_narrower() {
        let (pace, width) = (Pace::default(), 1 << 40);
        let pace = Pace { width, ..pace };
        let after = |pause| paced(pace, width, 100_000, pause).width;
        assert_eq!(after(Duration::ZERO), 5 * width);
        assert_eq!(after(Duration::from_millis(1_900)), width / 4);
        assert_eq!(after(Duration::MAX), width / 8);
    }
}
