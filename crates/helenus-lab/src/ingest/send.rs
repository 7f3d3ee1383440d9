//! Packages over the wire: as many in flight as the nodes take, repeated until they are written.
//! Refuses to end in time-outs: what the nodes cannot take now they are sent later.

use super::gather::{Chunk, gather, rejected_line};
use super::{IngestError, LoadEvent, LoadRequest, cpu_us, kept};
use fs_err as fs;
use helenus_cluster::cancel::Cancel;
use helenus_cluster::scan::ScanPlace;
use helenus_load::endpoint::{Ended, Fault};
use helenus_load::rows::{Package, RowWriter};
use helenus_model::ingest::{LoadJournal, Place};
use helenus_model::sample::FailureKind;
use std::collections::VecDeque;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

/// Connections to each node.
const CONNECTIONS: u32 = 2;

/// Chunks that are made ahead.
const AHEAD: usize = 4;

/// Requests in flight at first.
const IN_FLIGHT_FIRST: usize = 16;

/// Longest wait for an answer: longer than a node allows a write by default.
const ANSWER_WITHIN: Duration = Duration::from_secs(12);

/// Without a success for so long the load ends.
const PATIENCE: Duration = Duration::from_secs(300);

/// First and longest pause before a request is sent again.
const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// Between two journals.
const SAVE_EVERY: Duration = Duration::from_millis(250);

/// Between two words on the progress.
const TELL_EVERY: Duration = Duration::from_millis(100);

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
    journal: &'a mut LoadJournal,
    rejected: Option<fs::File>,
    first_reason: String,
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
    limit: usize,
    since_limit: usize,
    success: Instant,
    repeated: u64,
    saved: Instant,
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
    let how = (CONNECTIONS, request.consistency);
    let insert = request.mapping.insert(request.ttl_s);
    let (writer, _) = RowWriter::connect(&endpoints, options, how, &insert)?;
    let (to, chunks) = sync_channel(AHEAD);
    let (made, from) = (Arc::clone(request), journal.clone());
    let maker = std::thread::spawn(move || {
        if let Err(error) = gather(&made, &from, &to) {
            let _nobody_waits = to.send(Err(error));
        }
    });
    let mut sender = Sender {
        request,
        writer,
        rejected: None,
        first_reason: String::new(),
        first: 0,
        waiting: VecDeque::new(),
        ready: VecDeque::new(),
        later: Vec::new(),
        slots: Vec::new(),
        free: Vec::new(),
        in_flight: 0,
        limit: IN_FLIGHT_FIRST.min(request.in_flight),
        since_limit: 0,
        success: Instant::now(),
        repeated: 0,
        saved: Instant::now(),
        journal,
    };
    let sent = sender.reopen().and_then(|()| {
        sender.save()?;
        sender.run(&chunks, cancel, events)
    });
    // What is done is kept, whatever ended it.
    let saved = sender.save();
    let repeated = sender.repeated;
    let cpu = cpu_us();
    drop(chunks);
    sent?;
    saved?;
    // Nobody takes chunks any more, so it has ended or does so at its next one. One that has panicked has not read all.
    maker.join().map_err(|_panic| IngestError::File {
        path: "the files".to_owned(),
        source: std::io::Error::other("the thread that reads them has panicked"),
    })?;
    Ok(Sent {
        repeated,
        cpu_us: cpu,
    })
}

impl Sender<'_> {
    /// The file of rejected rows as the journal knows it: what came after is written again.
    fn reopen(&mut self) -> Result<(), IngestError> {
        let path = &self.request.rejected;
        let length = self.journal.place.rejected_bytes;
        if length == 0 {
            match fs::remove_file(path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(kept(path, error));
                }
                _ => return Ok(()),
            }
        }
        let file = fs::OpenOptions::new().write(true).open(path);
        let cut = file.and_then(|mut file| {
            file.set_len(length)?;
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        });
        self.rejected = Some(cut.map_err(|source| kept(path, source))?);
        Ok(())
    }

    fn save(&mut self) -> Result<(), IngestError> {
        let path = &self.request.journal;
        let text = serde_json::to_string(self.journal).map_err(std::io::Error::other);
        let new = path.with_extension("new");
        let written = text.and_then(|text| {
            fs::write(&new, text)?;
            fs::rename(&new, path)
        });
        self.saved = Instant::now();
        written.map_err(|source| kept(path, source))
    }

    fn run(
        &mut self,
        chunks: &Receiver<Result<Chunk, IngestError>>,
        cancel: &Cancel,
        events: &mut dyn FnMut(LoadEvent),
    ) -> Result<(), IngestError> {
        let begin = (Instant::now(), self.journal.place.rows);
        let mut tell = Instant::now();
        let mut over = false;
        let mut ended = Vec::new();
        loop {
            while !over && self.ready.len() < self.limit {
                match chunks.try_recv() {
                    Ok(chunk) => self.take(chunk?),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => over = true,
                }
            }
            let now = Instant::now();
            self.due(now);
            while self.in_flight < self.limit
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
            if self.saved.elapsed() >= SAVE_EVERY {
                self.save()?;
            }
            if tell.elapsed() >= TELL_EVERY {
                tell = Instant::now();
                events(self.progress(begin));
            }
            if cancel.is_set() {
                return Err(IngestError::Interrupted {
                    rows: self.journal.place.rows,
                });
            }
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "rows below 2^53")]
    fn progress(&self, (begin, before): (Instant, u64)) -> LoadEvent {
        let at = self.journal.place;
        let rows = at.rows - before;
        let sizes: Option<Vec<u64>> = self.journal.files.iter().map(|file| file.bytes).collect();
        let bytes = sizes.map(|sizes| {
            let before: u64 = sizes.iter().take(at.file).sum();
            (before + at.offset, sizes.iter().sum())
        });
        LoadEvent::Progress {
            rows: at.rows,
            rejected: at.rejected,
            rows_per_s: rows as f64 / begin.elapsed().as_secs_f64().max(1e-9),
            // Offsets are those behind a decompression: such a size is of another kind.
            bytes: bytes.filter(|(done, all)| done <= all),
            repeated: self.repeated,
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

    fn back(&mut self, slot: usize) -> Option<Work> {
        let (mut work, _) = self.slots[slot].take()?;
        work.package = self.writer.take(slot);
        self.free.push(slot);
        self.in_flight -= 1;
        Some(work)
    }

    fn ended(&mut self, ended: Ended) -> Result<(), IngestError> {
        let Some(work) = self.back(ended.slot) else {
            return Ok(());
        };
        match ended.result {
            Ok(()) => {
                self.success = Instant::now();
                self.since_limit += 1;
                if self.since_limit >= self.limit {
                    self.since_limit = 0;
                    self.limit = (self.limit + 1 + self.limit / 8).min(self.request.in_flight);
                }
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
        if self.success.elapsed() >= PATIENCE {
            return Err(IngestError::Silent {
                seconds: PATIENCE.as_secs(),
                last: fault.message.clone(),
            });
        }
        self.limit = (self.limit / 2).max(1);
        self.since_limit = 0;
        let pause = PAUSE.0 * 2_u32.saturating_pow(work.tries.min(10));
        work.tries += 1;
        self.repeated += 1;
        if self.request.has_lists {
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
            if let Some(work) = self.back(slot) {
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
            let before = self.journal.place;
            let mut place = Place {
                rejected: before.rejected + done.rejected.len() as u64,
                rejected_bytes: before.rejected_bytes,
                ..done.after
            };
            if let (true, Some(reason)) = (self.first_reason.is_empty(), done.reason) {
                self.first_reason = reason;
            }
            if !done.rejected.is_empty() {
                place.rejected_bytes += self.write_rejected(&done.rejected)?;
            }
            self.journal.place = place;
            if place.rejected > self.request.max_rejected {
                return Err(IngestError::Rejected {
                    rejected: place.rejected,
                    most: self.request.max_rejected,
                    path: self.request.rejected.display().to_string(),
                    first: self.first_reason.clone(),
                });
            }
        }
        Ok(())
    }

    fn write_rejected(&mut self, lines: &[Vec<u8>]) -> Result<u64, IngestError> {
        const HEAD: &[u8] = b"line,column,reason,text\n";
        let path = &self.request.rejected;
        let mut bytes = Vec::new();
        if self.rejected.is_none() {
            let made = fs::File::create(path).map_err(|source| kept(path, source))?;
            self.rejected = Some(made);
            bytes.extend_from_slice(HEAD);
        }
        bytes.extend(lines.iter().flatten());
        if let Some(file) = &mut self.rejected {
            file.write_all(&bytes)
                .map_err(|source| kept(path, source))?;
        }
        Ok(bytes.len() as u64)
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
