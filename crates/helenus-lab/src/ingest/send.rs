//! Packages over the wire: as many in flight as the nodes take, repeated until they are written.
//! Refuses to end in time-outs: what the nodes cannot take now they are sent later.

use super::gather::{Chunk, Gathering, rejected_line};
use super::keeper::Keeper;
use super::limit::Limit;
use super::{IngestError, LoadEvent, LoadRequest, cpu_us};
use helenus_cluster::cancel::Cancel;
use helenus_cluster::scan::ScanPlace;
use helenus_load::endpoint::{Ended, Fault};
use helenus_load::rows::{Package, RowWriter};
use helenus_model::ingest::{LoadJournal, Place};
use helenus_model::sample::FailureKind;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

/// Connections to each node.
const CONNECTIONS: u32 = 2;

/// Longest wait for an answer: longer than a node allows a write by default.
const ANSWER_WITHIN: Duration = Duration::from_secs(12);

/// Without a success for so long the load ends.
const PATIENCE: Duration = Duration::from_secs(300);

/// First and longest pause before a request is sent again.
const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// What sending came to.
pub(super) struct Sent {
    pub(super) repeated: u64,
    pub(super) cpu_us: u64,
}

/// A package on its way.
struct Work {
    chunk: u64,
    package: Package,
    lines: Vec<u64>,
    tries: u32,
}

/// A chunk whose packages are not all done.
struct Waiting {
    left: usize,
    rejected: Vec<Vec<u8>>,
    reason: Option<String>,
    after: Place,
}

struct Sender<'a> {
    request: &'a LoadRequest,
    writer: RowWriter,
    keeper: Keeper<'a>,
    /// Number of the first chunk in `waiting`.
    first: u64,
    waiting: VecDeque<Waiting>,
    ready: VecDeque<Work>,
    /// What waits before it is sent again, until when.
    later: Vec<(Instant, Work)>,
    /// By slot: what is sent, without its package, and since when.
    slots: Vec<Option<(Work, Instant)>>,
    free: Vec<usize>,
    in_flight: usize,
    limit: Limit,
    /// Since when no write has succeeded, though some were sent; none after a success.
    failing: Option<Instant>,
    repeated: u64,
}

/// Sends everything from the journal's place on; the journal is at the end afterwards.
pub(super) fn send(
    place: &ScanPlace,
    request: &Arc<LoadRequest>,
    journal: &mut LoadJournal,
    cancel: &Cancel,
    events: &mut dyn FnMut(LoadEvent),
) -> Result<Sent, IngestError> {
    let (endpoints, options) = place.doors()?;
    let how = (CONNECTIONS, request.consistency.into());
    let insert = request.mapping.insert(request.ttl_s);
    let (writer, _) = RowWriter::connect(&endpoints, options, how, &insert)?;
    let gathering = Gathering::start(request, journal);
    let mut sender = Sender {
        request,
        writer,
        keeper: Keeper::open(request, journal)?,
        first: 0,
        waiting: VecDeque::new(),
        ready: VecDeque::new(),
        later: Vec::new(),
        slots: Vec::new(),
        free: Vec::new(),
        in_flight: 0,
        limit: Limit::new(endpoints.len(), request.in_flight),
        failing: None,
        repeated: 0,
    };
    let sent = sender.run(&gathering.chunks, cancel, events);
    // What is done is kept, whatever ended it.
    let saved = sender.keeper.save();
    let repeated = sender.repeated;
    let cpu = cpu_us();
    drop(sender);
    sent?;
    saved?;
    gathering.end()?;
    Ok(Sent {
        repeated,
        cpu_us: cpu,
    })
}

impl Sender<'_> {
    fn run(
        &mut self,
        chunks: &Receiver<Result<Chunk, IngestError>>,
        cancel: &Cancel,
        events: &mut dyn FnMut(LoadEvent),
    ) -> Result<(), IngestError> {
        let begin = (Instant::now(), self.keeper.place().rows);
        let mut over = false;
        let mut ended = Vec::new();
        loop {
            while !over && self.ready.len() < self.limit.now() {
                match chunks.try_recv() {
                    Ok(chunk) => self.take(chunk?),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => over = true,
                }
            }
            let now = Instant::now();
            self.due(now);
            while self.in_flight < self.limit.now()
                && let Some(work) = self.ready.pop_front()
            {
                self.begin(work, now);
            }
            let idle = self.in_flight == 0 && self.ready.is_empty() && self.later.is_empty();
            if idle && over {
                self.settle()?;
                return Ok(());
            }
            let wait = match self.in_flight {
                0 => Duration::from_millis(1),
                _ => Duration::from_millis(20),
            };
            self.writer.poll(wait, &mut ended)?;
            for one in ended.drain(..) {
                self.ended(one)?;
            }
            self.give_up_the_old()?;
            self.settle()?;
            self.keeper.save_now_and_then()?;
            if self.keeper.has_news() {
                events(self.keeper.progress(begin, self.repeated));
            }
            if cancel.is_set() {
                return Err(IngestError::Interrupted {
                    rows: self.request.own(self.keeper.place().rows),
                });
            }
        }
    }

    fn take(&mut self, chunk: Chunk) {
        let number = self.first + self.waiting.len() as u64;
        self.waiting.push_back(Waiting {
            left: chunk.packages.len(),
            rejected: chunk.rejected,
            reason: chunk.reason,
            after: chunk.after,
        });
        let works = chunk.packages.into_iter().map(|(package, lines)| Work {
            chunk: number,
            package,
            lines,
            tries: 0,
        });
        self.ready.extend(works);
    }

    /// What has waited long enough is sent again.
    fn due(&mut self, now: Instant) {
        let mut at = 0;
        while at < self.later.len() {
            match self.later[at].0 <= now {
                true => {
                    let (_, work) = self.later.swap_remove(at);
                    self.ready.push_front(work);
                }
                false => at += 1,
            }
        }
    }

    fn begin(&mut self, mut work: Work, now: Instant) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.in_flight += 1;
        self.writer.begin(slot, std::mem::take(&mut work.package));
        self.slots[slot] = Some((work, now));
    }

    /// What a slot held, and since when.
    fn back(&mut self, slot: usize) -> Option<(Work, Instant)> {
        let (mut work, since) = self.slots[slot].take()?;
        work.package = self.writer.take(slot);
        self.free.push(slot);
        self.in_flight -= 1;
        Some((work, since))
    }

    fn ended(&mut self, ended: Ended) -> Result<(), IngestError> {
        let Some((work, since)) = self.back(ended.slot) else {
            return Ok(());
        };
        match ended.result {
            Ok(()) => {
                self.failing = None;
                self.limit.answered(work.lines.len(), since.elapsed());
                self.done(work.chunk);
                Ok(())
            }
            Err(fault) => self.failed(work, &fault),
        }
    }

    fn waiting(&mut self, chunk: u64) -> Option<&mut Waiting> {
        let at = usize::try_from(chunk.checked_sub(self.first)?).ok()?;
        self.waiting.get_mut(at)
    }

    fn done(&mut self, chunk: u64) {
        if let Some(waiting) = self.waiting(chunk) {
            waiting.left -= 1;
        }
    }

    fn failed(&mut self, work: Work, fault: &Fault) -> Result<(), IngestError> {
        use FailureKind as Kind;
        let passing = matches!(
            fault.kind,
            Kind::WriteTimeout
                | Kind::Overloaded
                | Kind::Unavailable
                | Kind::Connection
                | Kind::ClientTimeout
        );
        if passing {
            return self.again(work, fault);
        }
        if work.package.ends.len() > 1 {
            self.split(work);
            return Ok(());
        }
        let line = work.lines.first().copied().unwrap_or(0);
        let text = rejected_line(line, "", &fault.message, "");
        if let Some(waiting) = self.waiting(work.chunk) {
            waiting.rejected.push(text);
            waiting.left -= 1;
            let why = || format!("line {line}: {}", fault.message);
            waiting.reason.get_or_insert_with(why);
        }
        Ok(())
    }

    /// The nodes cannot take it now: fewer are sent, and this one later.
    fn again(&mut self, mut work: Work, fault: &Fault) -> Result<(), IngestError> {
        let failing = self.failing.get_or_insert_with(Instant::now);
        if failing.elapsed() >= PATIENCE {
            return Err(IngestError::Silent {
                seconds: PATIENCE.as_secs(),
                last: fault.message.clone(),
            });
        }
        self.limit.refused();
        let pause = PAUSE.0 * 2_u32.saturating_pow(work.tries.min(10));
        work.tries += 1;
        self.repeated += 1;
        if self.request.has_lists() {
            date_later(&mut work.package);
        }
        let until = Instant::now() + pause.min(PAUSE.1);
        self.later.push((until, work));
        Ok(())
    }

    /// One of its rows is refused: each is sent alone.
    fn split(&mut self, work: Work) {
        let mut from = 0;
        let rows = work.package.ends.iter().zip(&work.lines);
        for (at, (end, line)) in rows.enumerate() {
            let values = work.package.values[std::mem::replace(&mut from, *end)..*end].to_vec();
            let package = Package {
                ends: vec![values.len()],
                values,
            };
            self.ready.push_front(Work {
                chunk: work.chunk,
                package,
                lines: vec![*line],
                tries: work.tries,
            });
            if at > 0
                && let Some(waiting) = self.waiting(work.chunk)
            {
                waiting.left += 1;
            }
        }
    }

    fn give_up_the_old(&mut self) -> Result<(), IngestError> {
        let old = |held: &Option<(Work, Instant)>| {
            held.as_ref()
                .is_some_and(|(_, since)| since.elapsed() >= ANSWER_WITHIN)
        };
        let old: Vec<usize> = (0..self.slots.len())
            .filter(|at| old(&self.slots[*at]))
            .collect();
        for slot in old {
            self.writer.give_up(slot);
            if let Some((work, _)) = self.back(slot) {
                let fault = Fault {
                    kind: FailureKind::ClientTimeout,
                    message: "no answer within 12 s".to_owned(),
                };
                self.again(work, &fault)?;
            }
        }
        Ok(())
    }

    /// Moves the journal's place over the chunks that are done.
    fn settle(&mut self) -> Result<(), IngestError> {
        while self
            .waiting
            .front()
            .is_some_and(|waiting| waiting.left == 0)
        {
            let Some(done) = self.waiting.pop_front() else {
                return Ok(());
            };
            self.first += 1;
            self.keeper
                .settle(done.after, &done.rejected, done.reason)?;
        }
        Ok(())
    }
}

/// Each row is dated a microsecond later: what the attempt before has left of a list is deleted by this one.
fn date_later(package: &mut Package) {
    for end in &package.ends {
        let stamp = &mut package.values[end - 8..*end];
        let mut bytes = [0; 8];
        bytes.copy_from_slice(stamp);
        let later = i64::from_be_bytes(bytes).saturating_add(1);
        stamp.copy_from_slice(&later.to_be_bytes());
    }
}
