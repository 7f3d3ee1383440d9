//! The null server: it speaks the native protocol, answers at once and keeps nothing. What a generator costs, how fast it
//! is and how late, without a database behind it.
//! Refuses data: writes are acknowledged, reads find nothing.

use crate::poller::Poller;
use helenus_cql::codec::envelope::{Header, Opcode};
use helenus_cql::codec::result::Row;
use helenus_cql::codec::{
    ColumnSpec, Extras, Framing, Inbox, Outbox, Prepared, QueryResult, Request, Response, RowsPage,
    ServerError, ServerErrorKind, Version,
};
use helenus_model::cql::{CqlType, CqlValue};
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;

/// Bytes of room for a read.
const READ_BYTES: usize = 256 << 10;

/// Keys of the poller; connections follow.
const LISTENER: usize = 0;
const PARENT: usize = 1;
const CONNECTIONS: usize = 2;

/// One connection.
struct Connection {
    stream: TcpStream,
    inbox: Inbox,
    outbox: Outbox,
    waits_to_write: bool,
}

/// Serves on one thread until `parent` ends.
///
/// # Errors
/// Whatever the system reports of the listener; connections that fail are closed.
pub fn serve(listener: &TcpListener, parent: impl AsFd) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let mut poller = Poller::new()?;
    poller.add(listener, LISTENER)?;
    poller.add(&parent, PARENT)?;
    let mut connections: Vec<Option<Connection>> = Vec::new();
    loop {
        poller.wait(u64::MAX)?;
        let mut at = 0;
        while let Some(ready) = poller.ready(at) {
            at += 1;
            match ready.key {
                PARENT => return Ok(()),
                LISTENER => {
                    while let Ok((stream, _)) = listener.accept() {
                        stream.set_nonblocking(true)?;
                        stream.set_nodelay(true)?;
                        poller.add(&stream, CONNECTIONS + connections.len())?;
                        connections.push(Some(Connection {
                            stream,
                            inbox: Inbox::new(),
                            outbox: Outbox::default(),
                            waits_to_write: false,
                        }));
                    }
                }
                key => {
                    let one = connections.get_mut(key - CONNECTIONS);
                    let Some(slot) = one else { continue };
                    let served = slot.as_mut().map(|one| one.serve(&poller, key));
                    if let Some(Err(_)) = served {
                        *slot = None;
                    }
                }
            }
        }
    }
}

impl Connection {
    /// Reads what is there, answers it, and sends as much as the system takes.
    fn serve(&mut self, poller: &Poller, key: usize) -> io::Result<()> {
        let room = self.inbox.space(READ_BYTES);
        match self.stream.read(room) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                self.inbox.filled(count);
                self.answer_all()?;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        self.outbox.seal();
        while !self.outbox.rest().is_empty() {
            match self.stream.write(self.outbox.rest()) {
                Ok(count) => _ = self.outbox.took(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        let waits = !self.outbox.rest().is_empty();
        if std::mem::replace(&mut self.waits_to_write, waits) != waits {
            poller.until_writable(&self.stream, key, waits)?;
        }
        Ok(())
    }

    fn answer_all(&mut self) -> io::Result<()> {
        let mut executed = None;
        loop {
            let Some(view) = self.inbox.next_view().map_err(io::Error::other)? else {
                return Ok(());
            };
            let header = view.header;
            match header.opcode {
                Opcode::Execute | Opcode::Batch => {
                    // The same bytes but for the stream.
                    let void = executed.get_or_insert_with(|| {
                        encoded(&header, &Response::Result(QueryResult::Void))
                    });
                    void[2..4].copy_from_slice(&header.stream.to_be_bytes());
                    self.outbox.push(void);
                }
                _ => {
                    let response = answer(&header, view.body).map_err(io::Error::other)?;
                    self.outbox.push(&encoded(&header, &response));
                    if header.opcode == Opcode::Startup && header.version >= Version::V5 {
                        // The answer to STARTUP is the last that is not in a frame.
                        self.inbox.expect(Framing::Frames);
                        self.outbox.frame_from_here(Framing::Frames);
                    }
                }
            }
        }
    }
}

/// The bytes of a response to the request with this header.
pub fn encoded(to: &Header, response: &Response) -> Vec<u8> {
    let mut body = Vec::new();
    let _fits = response.encode(to.version, &Extras::default(), &mut body);
    let header = Header {
        version: to.version,
        response: true,
        flags: 0,
        stream: to.stream,
        opcode: response.opcode(),
        length: body.len(),
    };
    let mut bytes = Vec::with_capacity(body.len() + 16);
    let _fits = header.encode(&mut bytes);
    bytes.extend_from_slice(&body);
    bytes
}

/// What a node that owns everything answers to all but executions, as far as the generator asks.
///
/// # Errors
/// Bytes that are no request.
pub fn answer(header: &Header, body: &[u8]) -> Result<Response, helenus_cql::codec::DecodeError> {
    let request = Request::decode(header.version, header.opcode, body)?;
    Ok(match request {
        Request::Startup(_) | Request::Register(_) => Response::Ready,
        Request::Query { cql, .. } => system(&cql),
        Request::Prepare { cql, .. } => prepared(header.version, &cql),
        _ => Response::Error(ServerError {
            message: "the null server knows no such request".to_owned(),
            kind: ServerErrorKind::Protocol,
        }),
    })
}

fn spec(name: &str, ty: CqlType) -> ColumnSpec {
    ColumnSpec {
        keyspace: "keyspace1".to_owned(),
        table: "standard1".to_owned(),
        name: name.to_owned(),
        ty,
    }
}

/// One node that owns everything, and nothing else.
fn system(cql: &str) -> Response {
    let text = |text: &str| Some(CqlValue::Text(text.to_owned()));
    let columns = [
        ("host_id", CqlType::Uuid),
        ("data_center", CqlType::Text),
        ("rack", CqlType::Text),
        ("tokens", CqlType::Set(Box::new(CqlType::Text))),
        ("partitioner", CqlType::Text),
    ];
    let columns = columns.map(|(name, ty)| spec(name, ty)).to_vec();
    let local: Row = vec![
        Some(CqlValue::Uuid([1; 16])),
        text("DC1"),
        text("r1"),
        Some(CqlValue::Set(vec![CqlValue::Text("0".to_owned())])),
        text("org.apache.cassandra.dht.Murmur3Partitioner"),
    ];
    let rows = match cql.contains("system.local") {
        true => vec![local],
        false => Vec::new(),
    };
    match RowsPage::of(columns, &rows) {
        Ok(page) => Response::Result(QueryResult::Rows(page)),
        Err(_) => Response::Result(QueryResult::Void),
    }
}

/// A statement of `standard1`, by whose text it is known.
fn prepared(version: Version, cql: &str) -> Response {
    let blob = |name: &str| spec(name, CqlType::Blob);
    let columns: Vec<ColumnSpec> = ["C0", "C1", "C2", "C3", "C4"].map(blob).into();
    let writes = cql.starts_with("INSERT");
    let mut markers = vec![blob("key")];
    if writes {
        markers.extend(columns.clone());
    }
    Response::Result(QueryResult::Prepared(Prepared {
        // As long as Cassandra's.
        id: helenus_model::ring::murmur3_token(cql.as_bytes())
            .to_be_bytes()
            .repeat(2),
        result_metadata_id: (version >= Version::V5).then_some(vec![1; 16]),
        markers,
        partition_key: vec![0],
        columns: if writes { Vec::new() } else { columns },
    }))
}
