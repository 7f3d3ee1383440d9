//! One open connection: what goes out together, what waits for its answer by stream, what has come in.
//! Refuses to know what is asked, and to wait.

use crate::sys;
use helenus_cql::client::{HandedOver, Stream};
use helenus_cql::codec::{DecodeError, EncodeError, Inbox, Outbox, Version};
use std::io;
use std::os::fd::BorrowedFd;

/// Bytes of room for a read.
const READ_BYTES: usize = 64 << 10;

/// Streams of a connection: the protocol's own limit.
const STREAMS: usize = 32_768;

/// Answers that nobody waits for any more, beyond which the connection is given up: the server answers nothing.
const MOST_ABANDONED: usize = 1024;

/// What an answer is waited for by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    /// No operation: the stream is free.
    Nobody,
    /// The operation in a slot.
    Slot(usize),
    /// An operation that was given up.
    Abandoned,
    /// A statement that the node had forgotten, by its place.
    Statement(usize),
}

/// Why a connection is lost.
#[derive(Debug, thiserror::Error)]
pub(super) enum Lost {
    #[error("the server closed the connection")]
    Closed,
    #[error("the server closed the connection in the middle of an answer")]
    Cut,
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
    #[error("the server's answer violates the protocol: {0}")]
    Protocol(#[from] DecodeError),
    #[error("the server gave the connection up: {0}")]
    Said(String),
    #[error("the server answered a request that was not sent (stream {0})")]
    Stranger(i16),
    #[error("the server has left {0} requests without an answer")]
    Silent(usize),
}

/// What one read brought.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Read {
    pub(super) bytes: usize,
    /// Whether more may be there.
    pub(super) more: bool,
}

/// One connection.
pub(super) struct Link {
    /// The node that it leads to.
    pub(super) node: usize,
    /// The version that it speaks.
    pub(super) version: Version,
    /// When it was taken over.
    pub(super) opened_ns: u64,
    /// Whether anything was answered over it.
    pub(super) has_answered: bool,
    stream: Box<dyn Stream>,
    pub(super) inbox: Inbox,
    outbox: Outbox,
    /// Where operations begin in the outbox whose first byte the system has not taken, and their slots.
    unsent: Vec<(usize, usize)>,
    pub(super) streams: Streams,
    waits_to_write: bool,
}

/// Who waits for which answer.
#[derive(Debug, Default)]
pub(super) struct Streams {
    waits: Vec<Waits>,
    free: Vec<i16>,
    abandoned: usize,
}

impl Streams {
    /// A stream for whoever waits; none where all are taken.
    fn take(&mut self, by: Waits) -> Option<i16> {
        if let Some(stream) = self.free.pop() {
            self.waits[stream.unsigned_abs() as usize] = by;
            return Some(stream);
        }
        let next = i16::try_from(self.waits.len()).ok()?;
        self.waits.push(by);
        Some(next)
    }

    /// Nothing is sent on this stream after all.
    fn give_back(&mut self, stream: i16) {
        self.waits[stream.unsigned_abs() as usize] = Waits::Nobody;
        self.free.push(stream);
    }

    /// Who waited for the answer on this stream, which is free again.
    pub(super) fn answered(&mut self, stream: i16) -> Result<Waits, Lost> {
        let at = usize::try_from(stream).ok();
        let waits = at.and_then(|at| self.waits.get_mut(at));
        match waits.map(|waits| std::mem::replace(waits, Waits::Nobody)) {
            None | Some(Waits::Nobody) => Err(Lost::Stranger(stream)),
            Some(waits) => {
                self.abandoned -= usize::from(waits == Waits::Abandoned);
                self.free.push(stream);
                Ok(waits)
            }
        }
    }

    /// The answer on this stream does not count any more; how many such answers are missing.
    fn abandon(&mut self, stream: i16) -> usize {
        self.waits[stream.unsigned_abs() as usize] = Waits::Abandoned;
        self.abandoned += 1;
        self.abandoned
    }

    /// Slots whose answer is waited for.
    pub(super) fn slots(&self) -> impl Iterator<Item = usize> {
        self.waits.iter().filter_map(|waits| match waits {
            Waits::Slot(slot) => Some(*slot),
            _ => None,
        })
    }
}

impl Link {
    /// Takes a connection over from the blocking client that opened it.
    ///
    /// # Errors
    /// Whatever the system reports.
    pub(super) fn new(node: usize, opened: HandedOver) -> io::Result<Self> {
        let HandedOver {
            mut stream,
            version,
            inbox,
            outbox,
        } = opened;
        stream.stop_waiting()?;
        Ok(Self {
            node,
            version,
            opened_ns: sys::monotonic_ns(),
            has_answered: false,
            stream,
            inbox,
            outbox,
            unsent: Vec::new(),
            streams: Streams::default(),
            waits_to_write: false,
        })
    }

    /// The descriptor to wait for.
    ///
    /// # Errors
    /// The stream has none.
    pub(super) fn descriptor(&self) -> io::Result<BorrowedFd<'_>> {
        let descriptor = self.stream.descriptor();
        descriptor.ok_or_else(|| io::ErrorKind::Unsupported.into())
    }

    /// Whether another request finds a stream.
    pub(super) fn has_room(&self) -> bool {
        !self.streams.free.is_empty() || self.streams.waits.len() < STREAMS
    }

    /// Appends a request's envelope, which `envelope` writes for the stream that it gets; none where every stream is taken.
    ///
    /// # Errors
    /// Those of `envelope`; nothing is appended then.
    pub(super) fn push(
        &mut self,
        waits: Waits,
        envelope: impl FnOnce(i16, &mut Vec<u8>) -> Result<(), EncodeError>,
    ) -> Result<Option<i16>, EncodeError> {
        let Some(stream) = self.streams.take(waits) else {
            return Ok(None);
        };
        let begins = self.outbox.pushed();
        if let Err(error) = self.outbox.write(|out| envelope(stream, out)) {
            self.streams.give_back(stream);
            return Err(error);
        }
        if let Waits::Slot(slot) = waits {
            self.unsent.push((begins, slot));
        }
        Ok(Some(stream))
    }

    /// Bytes that wait to be sent.
    pub(super) fn pending(&self) -> usize {
        self.outbox.rest().len()
    }

    /// Whether bytes wait for the pass to end, fewer than so many: not those that the system did not take.
    pub(super) fn is_filling(&self, most: usize) -> bool {
        !self.waits_to_write && (1..most).contains(&self.pending())
    }

    /// Nobody waits for the answer to this slot's operation any more; why the connection is lost, where too many such
    /// answers are missing.
    pub(super) fn give_up(&mut self, slot: usize, stream: i16) -> Option<Lost> {
        self.unsent.retain(|(_, waiting)| *waiting != slot);
        let abandoned = self.streams.abandon(stream);
        (abandoned > MOST_ABANDONED).then_some(Lost::Silent(abandoned))
    }

    /// Hands over as many bytes as the system takes, and says of each operation whose first byte is among them when
    /// that was.
    pub(super) fn flush(&mut self, mut started: impl FnMut(usize, u64)) -> Result<(), Lost> {
        self.outbox.seal();
        if self.stream.holds_back() {
            match self.stream.flush() {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        while !self.outbox.rest().is_empty() {
            let now_ns = sys::monotonic_ns();
            match self.stream.write(self.outbox.rest()) {
                // Not even the encryption's own memory takes more.
                Ok(0) => return Ok(()),
                Ok(count) => {
                    let taken = self.outbox.took(count);
                    let sent = |(begins, _): &(usize, usize)| *begins < taken;
                    let count = self.unsent.iter().take_while(|one| sent(one)).count();
                    for (_, slot) in self.unsent.drain(..count) {
                        started(slot, now_ns);
                    }
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return Ok(()),
                    io::ErrorKind::Interrupted => {}
                    _ => return Err(error.into()),
                },
            }
        }
        Ok(())
    }

    /// Whether it is to be waited for until bytes can be written, where that has changed.
    pub(super) fn write_interest(&mut self) -> Option<bool> {
        let wanted = self.pending() > 0 || self.stream.holds_back();
        (std::mem::replace(&mut self.waits_to_write, wanted) != wanted).then_some(wanted)
    }

    /// Reads once.
    pub(super) fn read(&mut self) -> Result<Read, Lost> {
        loop {
            let room = self.inbox.space(READ_BYTES);
            let most = room.len();
            match self.stream.read(room) {
                Ok(0) if self.inbox.is_between_envelopes() => return Err(Lost::Closed),
                Ok(0) => return Err(Lost::Cut),
                Ok(count) => {
                    self.inbox.filled(count);
                    return Ok(Read {
                        bytes: count,
                        more: count == most || !self.stream.is_plain(),
                    });
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return Ok(Read::default()),
                    io::ErrorKind::Interrupted => {}
                    _ => return Err(error.into()),
                },
            }
        }
    }
}
