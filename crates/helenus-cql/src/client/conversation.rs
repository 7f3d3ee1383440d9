//! One request, one response over a stream: numbering, framing, deadlines.
//! Refuses to know what is asked; that is the client's.

use super::HandedOver;
use super::dial::{Stream, cut_short};
use super::error::ClientError;
use super::tls::is_of_tls;
use crate::codec::envelope::{Envelope, Header, Opcode, Version, flag};
use crate::codec::frame::{Framing, Inbox, Outbox};
use crate::codec::{Event, Extras, Request, Response};
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Bytes read at a time.
const READ_BYTES: usize = 64 << 10;
/// Responses still on their way after their time ran out, beyond which the connection is given
/// up: the server answers nothing any more.
const MOST_ABANDONED: usize = 1_000;

/// How often a wait looks whether it was cancelled.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Longest time that a request is waited for; keeps the sum with the clock in range.
const LONGEST_LIMIT: Duration = Duration::from_secs(365 * 86_400);

/// A stream that speaks the protocol.
pub(super) struct Conversation {
    stream: Box<dyn Stream>,
    version: Version,
    outbox: Outbox,
    inbox: Inbox,
    next_stream: i16,
    /// Streams whose response did not come in time and may come yet.
    abandoned: BTreeSet<i16>,
    broken: bool,
    /// Whether the server is to trace what it is asked.
    pub(super) tracing: bool,
    /// Ends a wait for a response once it is set.
    pub(super) cancel: Option<Arc<AtomicBool>>,
}

impl Conversation {
    pub(super) fn new(stream: Box<dyn Stream>, version: Version) -> Self {
        Self {
            stream,
            version,
            outbox: Outbox::new(),
            inbox: Inbox::new(),
            next_stream: 0,
            abandoned: BTreeSet::new(),
            broken: false,
            tracing: false,
            cancel: None,
        }
    }

    pub(super) fn version(&self) -> Version {
        self.version
    }

    /// v5: from here on both sides send frames.
    pub(super) fn use_frames(&mut self, framing: Framing) {
        self.outbox.frame_from_here(framing);
        self.inbox.expect(framing);
    }

    /// Sends `request` and waits for its response; `during` names it in errors.
    pub(super) fn ask(
        &mut self,
        during: &'static str,
        request: &Request,
        limit: Duration,
    ) -> Result<(Response, Extras), ClientError> {
        if self.broken {
            return Err(ClientError::Broken);
        }
        let deadline = Instant::now() + limit.min(LONGEST_LIMIT);
        let stream = self.free_stream()?;
        let mut body = Vec::new();
        let encode = |source| ClientError::Encode { during, source };
        request.encode(self.version, &mut body).map_err(encode)?;
        let header = Header {
            version: self.version,
            response: false,
            flags: if self.tracing { flag::TRACING } else { 0 },
            stream,
            opcode: request.opcode(),
            length: body.len(),
        };
        let mut bytes = Vec::with_capacity(body.len() + 32);
        Envelope { header, body }
            .encode(&mut bytes)
            .map_err(encode)?;
        self.outbox.push(&bytes);
        self.outbox.seal();
        let exchanged = self.send(during, deadline, limit);
        let exchanged = exchanged.and_then(|()| self.receive(during, stream, deadline, limit));
        // A write cut short leaves the server in the middle of a request: `send` says so.
        let recoverable = matches!(
            exchanged,
            Ok(_) | Err(ClientError::TimedOut { .. } | ClientError::Cancelled { .. })
        );
        self.broken |= !recoverable;
        exchanged
    }

    fn free_stream(&mut self) -> Result<i16, ClientError> {
        if self.abandoned.len() > MOST_ABANDONED {
            self.broken = true;
            return Err(ClientError::Broken);
        }
        loop {
            let stream = self.next_stream;
            self.next_stream = stream.checked_add(1).unwrap_or(0);
            if !self.abandoned.contains(&stream) {
                return Ok(stream);
            }
        }
    }

    fn send(
        &mut self,
        during: &'static str,
        deadline: Instant,
        limit: Duration,
    ) -> Result<(), ClientError> {
        while !self.outbox.rest().is_empty() {
            let written = match self.limit_to(deadline) {
                Ok(()) => self.stream.write(self.outbox.rest()),
                Err(error) => Err(error),
            };
            match written {
                Ok(0) => return Err(ClientError::Closed { during }),
                Ok(count) => {
                    self.outbox.took(count);
                }
                Err(error) if cut_short(&error, deadline) => {}
                Err(error) => {
                    self.broken = true;
                    return Err(of_io(during, limit, error));
                }
            }
        }
        Ok(())
    }

    fn receive(
        &mut self,
        during: &'static str,
        stream: i16,
        deadline: Instant,
        limit: Duration,
    ) -> Result<(Response, Extras), ClientError> {
        let protocol = |source| ClientError::Protocol { during, source };
        loop {
            while let Some(envelope) = self.inbox.pop().map_err(protocol)? {
                let header = envelope.header;
                if !header.response {
                    let found = "a request";
                    return Err(ClientError::Unexpected { during, found });
                }
                // A server that does not know our version answers in one of its own, which may
                // also not know our stream.
                if header.stream != stream && header.version == self.version {
                    self.abandoned.remove(&header.stream);
                    continue;
                }
                return Response::decode(&header, &envelope.body).map_err(protocol);
            }
            let read = match self.is_cancelled() {
                true => Err(ClientError::Cancelled { during }),
                false => self.read_more(during, deadline, limit),
            };
            if let Err(ClientError::TimedOut { .. } | ClientError::Cancelled { .. }) = read {
                self.abandoned.insert(stream);
            }
            read?;
        }
    }

    /// Waits for more bytes; none may have come.
    fn read_more(
        &mut self,
        during: &'static str,
        deadline: Instant,
        limit: Duration,
    ) -> Result<(), ClientError> {
        self.limit_to(deadline)
            .and_then(|()| self.stream.read(self.inbox.space(READ_BYTES)))
            .map_or_else(
                |error| match cut_short(&error, deadline) {
                    true => Ok(()),
                    false => Err(of_io(during, limit, error)),
                },
                |count| match count {
                    0 => Err(ClientError::Closed { during }),
                    count => {
                        self.inbox.filled(count);
                        Ok(())
                    }
                },
            )
    }

    /// Waits for an event that the server pushes; responses that come late are dropped.
    pub(super) fn event(&mut self, limit: Duration) -> Result<Option<Event>, ClientError> {
        const DURING: &str = "the wait for events";
        let protocol = |source| ClientError::Protocol {
            during: DURING,
            source,
        };
        let deadline = Instant::now() + limit.min(LONGEST_LIMIT);
        loop {
            while let Some(envelope) = self.inbox.pop().map_err(protocol)? {
                let header = envelope.header;
                self.abandoned.remove(&header.stream);
                if header.opcode != Opcode::Event {
                    continue;
                }
                let said = Response::decode(&header, &envelope.body).map_err(protocol)?;
                if let (Response::Event(event), _) = said {
                    return Ok(Some(event));
                }
            }
            match self.read_more(DURING, deadline, limit) {
                Ok(()) => {}
                Err(ClientError::TimedOut { .. }) => return Ok(None),
                Err(error) => {
                    self.broken = true;
                    return Err(error);
                }
            }
        }
    }

    /// Gives up its stream, with what was received and not yet read.
    pub(super) fn hand_over(self) -> HandedOver {
        HandedOver {
            stream: self.stream,
            version: self.version,
            inbox: self.inbox,
            outbox: self.outbox,
        }
    }

    fn limit_to(&mut self, deadline: Instant) -> io::Result<()> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.limit(match self.cancel {
            Some(_) => left.min(LOOK_EVERY),
            None => left,
        })
    }

    fn is_cancelled(&self) -> bool {
        let flag = self.cancel.as_ref();
        flag.is_some_and(|flag| flag.load(Ordering::SeqCst))
    }

    /// Whether an earlier failure has made the connection useless.
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }
}

/// What an error of the stream means.
fn of_io(during: &'static str, limit: Duration, source: io::Error) -> ClientError {
    match source.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            ClientError::TimedOut { during, limit }
        }
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::UnexpectedEof => ClientError::Closed { during },
        _ if is_of_tls(&source) => ClientError::TlsEnded { during, source },
        _ => ClientError::Io { during, source },
    }
}

/// A response's name in errors.
pub(super) fn name_of(response: &Response) -> &'static str {
    match response {
        Response::Error(_) => "an error",
        Response::Ready => "READY",
        Response::Authenticate(_) => "AUTHENTICATE",
        Response::Supported(_) => "SUPPORTED",
        Response::Result(_) => "a result of another kind",
        Response::Event(Event::Schema(_)) => "a schema event",
        Response::Event(_) => "an event",
        Response::AuthChallenge(_) => "AUTH_CHALLENGE",
        Response::AuthSuccess(_) => "AUTH_SUCCESS",
    }
}
