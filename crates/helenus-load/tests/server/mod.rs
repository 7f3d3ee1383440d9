//! A server that says what a script says to EXECUTE, and behaves otherwise.
//! Refuses data: what reads find is for whoever scripts it.

use helenus_cql::codec::envelope::{Header, Opcode};
use helenus_cql::codec::{
    Envelope, Framing, Inbox, Outbox, QueryResult, Request, Response, ServerError, ServerErrorKind,
    Version,
};
use helenus_load::null;
use rustix::net::sockopt::set_socket_linger;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// What is sent in place of an answer.
pub(crate) type Bytes = fn(&Header) -> Vec<u8>;

/// What the server does with a request.
pub(crate) enum Reply {
    /// It answers.
    Says(Response),
    /// It sends these bytes in place of an answer, as they are.
    Sends(Bytes),
    /// The same in a sound frame apart, where frames are spoken.
    Wraps(Bytes),
    /// It sends these bytes as they are, and closes the connection.
    SendsAndCloses(Bytes),
    /// It closes the connection.
    Closes,
    /// It resets the connection.
    Resets,
    /// It answers nothing.
    Nothing,
}

/// An answer to a write.
pub(crate) fn done() -> Reply {
    Reply::Says(Response::Result(QueryResult::Void))
}

/// An ERROR.
pub(crate) fn refuses(kind: ServerErrorKind, message: &str) -> Reply {
    Reply::Says(Response::Error(ServerError {
        message: message.to_owned(),
        kind,
    }))
}

/// What is asked: the number of the execution over all connections.
pub(crate) type Script = dyn Fn(u64) -> Reply + Send + Sync;

/// What is asked before all else: the request, and the version that it came in. None behaves.
pub(crate) type Hook = dyn Fn(Version, &Request) -> Option<Reply> + Send + Sync;

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// Executions of statements that the connection knew.
    pub(crate) executed: Arc<AtomicU64>,
    /// Connections that were accepted.
    pub(crate) accepted: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // Lets the listener look.
        let _gone = TcpStream::connect(self.address);
    }
}

impl Server {
    /// A server that speaks `version` and older, and forgets a connection's statements after so many executions.
    pub(crate) fn start(version: Version, forgets_after: u64, script: Box<Script>) -> Self {
        Self::with(version, forgets_after, script, Box::new(|_, _| None))
    }

    /// A server that speaks `version` and older, and answers by a hook.
    pub(crate) fn hooked(version: Version, hook: Box<Hook>) -> Self {
        Self::with(version, u64::MAX, Box::new(|_| done()), hook)
    }

    fn with(version: Version, forgets_after: u64, script: Box<Script>, hook: Box<Hook>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let server = Self {
            address: listener.local_addr().expect("an address"),
            executed: Arc::default(),
            accepted: Arc::default(),
            over: Arc::default(),
        };
        let (over, accepted) = (Arc::clone(&server.over), Arc::clone(&server.accepted));
        let shared = Arc::new(Shared {
            version,
            forgets_after,
            script,
            hook,
            executed: Arc::clone(&server.executed),
        });
        thread::spawn(move || {
            for stream in listener.incoming() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                accepted.fetch_add(1, Ordering::SeqCst);
                let shared = Arc::clone(&shared);
                let stream = stream.expect("a connection");
                thread::spawn(move || serve(&shared, stream));
            }
        });
        server
    }
}

struct Shared {
    version: Version,
    forgets_after: u64,
    script: Box<Script>,
    hook: Box<Hook>,
    executed: Arc<AtomicU64>,
}

fn serve(shared: &Shared, mut stream: TcpStream) {
    let (mut inbox, mut framing) = (Inbox::new(), Framing::Plain);
    let mut known = BTreeSet::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let Ok(count @ 1..) = stream.read(&mut buffer) else {
            return;
        };
        inbox.push(&buffer[..count]);
        let mut outbox = Outbox::new();
        outbox.frame_from_here(framing);
        let (mut closes, mut resets) = (false, false);
        let mut raw = Vec::new();
        while let Some(envelope) = inbox.pop().expect("a request") {
            let header = envelope.header;
            let version = header.version.min(shared.version);
            let of = |version| Header { version, ..header };
            let reply = match header.version > shared.version {
                true => refuses(ServerErrorKind::Protocol, "unsupported protocol version"),
                false => answer(shared, &mut known, &envelope),
            };
            match reply {
                Reply::Says(response) => outbox.push(&null::encoded(&of(version), &response)),
                Reply::Sends(bytes) => raw = bytes(&header),
                Reply::Wraps(bytes) => {
                    outbox.seal();
                    outbox.push(&bytes(&header));
                    outbox.seal();
                }
                Reply::SendsAndCloses(bytes) => (raw, closes) = (bytes(&header), true),
                Reply::Closes => closes = true,
                Reply::Resets => resets = true,
                Reply::Nothing => {}
            }
            if header.opcode == Opcode::Startup && version == Version::V5 {
                // The answer to STARTUP is the last that is not in a frame.
                outbox.seal();
                stream.write_all(outbox.rest()).expect("sends");
                framing = match asks_for_lz4(&envelope) {
                    true => Framing::Lz4,
                    false => Framing::Frames,
                };
                outbox = Outbox::new();
                outbox.frame_from_here(framing);
                inbox.expect(framing);
            }
        }
        if resets {
            // What is closed without a moment's grace is reset.
            set_socket_linger(&stream, Some(Duration::ZERO)).expect("a socket");
            return;
        }
        outbox.seal();
        let sent = stream.write_all(outbox.rest());
        if sent.and_then(|()| stream.write_all(&raw)).is_err() {
            return;
        }
        if closes {
            // What is closed with bytes that nobody has read is reset.
            let _gone = stream.shutdown(Shutdown::Write);
            while matches!(stream.read(&mut buffer), Ok(1..)) {}
            return;
        }
    }
}

fn asks_for_lz4(envelope: &Envelope) -> bool {
    let Header {
        opcode, version, ..
    } = envelope.header;
    let request = Request::decode(version, opcode, &envelope.body).expect("a request");
    matches!(request, Request::Startup(said) if said.get("COMPRESSION").is_some_and(|how| how == "lz4"))
}

fn answer(shared: &Shared, known: &mut BTreeSet<Vec<u8>>, envelope: &Envelope) -> Reply {
    let Header {
        opcode, version, ..
    } = envelope.header;
    let request = Request::decode(version, opcode, &envelope.body).expect("a request");
    if let Some(reply) = (shared.hook)(version.min(shared.version), &request) {
        return reply;
    }
    if opcode == Opcode::Execute {
        let Request::Execute { id, .. } = request else {
            panic!("{request:?}");
        };
        if !known.contains(&id) {
            return refuses(ServerErrorKind::Unprepared { id }, "who is that?");
        }
        let number = shared.executed.fetch_add(1, Ordering::SeqCst);
        if (number + 1).is_multiple_of(shared.forgets_after) {
            known.clear();
        }
        return (shared.script)(number);
    }
    let said = null::answer(&envelope.header, &envelope.body).expect("a request");
    if let Response::Result(QueryResult::Prepared(prepared)) = &said {
        known.insert(prepared.id.clone());
    }
    Reply::Says(said)
}
