//! A server in a thread: opens, logs ada in, and answers a handful of made-up statements.
//! Refuses to be a Cassandra: no statement means anything here but by its first word.

use helenus_cql::codec::envelope::flag;
use helenus_cql::codec::frame::put_envelopes;
use helenus_cql::codec::{
    Bound, ColumnSpec, Consistency, Envelope, Extras, Framing, Header, Inbox, Parameters, Prepared,
    QueryResult, Request, Response, RowsPage, ServerError, ServerErrorKind, Values, Version,
};
use helenus_model::cql::{CqlType, CqlValue};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// Rows of `SELECT many`.
const MANY: i32 = 12_001;

/// What kind of server it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Script {
    pub(crate) authenticator: Option<&'static str>,
    pub(crate) only_v4: bool,
}

impl Default for Script {
    fn default() -> Self {
        let authenticator = Some("org.apache.cassandra.auth.PasswordAuthenticator");
        Self {
            authenticator,
            only_v4: false,
        }
    }
}

/// A running server; its threads end with the process.
pub(crate) struct Fake {
    pub(crate) addr: SocketAddr,
}

impl Fake {
    pub(crate) fn start(script: Script) -> Self {
        Self::start_over(script, |stream| Box::new(stream))
    }

    /// What is dialled goes through `over` first: TLS, for one.
    pub(crate) fn start_over(
        script: Script,
        over: impl Fn(TcpStream) -> Box<dyn Channel> + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let addr = listener.local_addr().expect("bound");
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let stream = over(stream);
                thread::spawn(move || Connection::new(stream, script).serve());
            }
        });
        Self { addr }
    }
}

/// Bytes both ways.
pub(crate) trait Channel: Read + Write + Send {}

impl<T: Read + Write + Send> Channel for T {}

struct Connection {
    stream: Box<dyn Channel>,
    script: Script,
    framed: bool,
}

enum Answer {
    Respond(Response),
    Late(Response),
    Close,
    Babble,
}

impl Connection {
    fn new(stream: Box<dyn Channel>, script: Script) -> Self {
        Self {
            stream,
            script,
            framed: false,
        }
    }

    fn serve(mut self) -> Option<()> {
        let mut inbox = Inbox::new();
        let mut buffer = [0; 8_192];
        loop {
            while let Some(envelope) = inbox.pop().ok()? {
                let header = envelope.header;
                if self.script.only_v4 && header.version == Version::V5 {
                    let error = failure("speak v4", ServerErrorKind::Protocol);
                    return self.send(
                        Header {
                            version: Version::V4,
                            ..header
                        },
                        error,
                    );
                }
                let request = Request::decode(header.version, header.opcode, &envelope.body);
                let request = request.expect("the client writes what its codec reads");
                let opening = matches!(request, Request::Startup(_));
                match self.answer(header.version, request) {
                    Answer::Respond(response) => self.send(header, response)?,
                    Answer::Late(response) => {
                        thread::sleep(Duration::from_millis(120));
                        self.send(header, response)?;
                    }
                    Answer::Close => return None,
                    Answer::Babble => self.stream.write_all(b"HTTP/1.1 400 What?").ok()?,
                }
                if opening && header.version == Version::V5 {
                    self.framed = true;
                    inbox.expect(Framing::Frames);
                }
            }
            match self.stream.read(&mut buffer).ok()? {
                0 => return None,
                count => inbox.push(&buffer[..count]),
            }
        }
    }

    fn answer(&self, version: Version, request: Request) -> Answer {
        Answer::Respond(match request {
            Request::Startup(_) => match self.script.authenticator {
                Some(class) => Response::Authenticate(class.to_owned()),
                None => Response::Ready,
            },
            Request::Options => {
                let versions = vec!["3.4.7".to_owned()];
                Response::Supported(BTreeMap::from([("CQL_VERSION".to_owned(), versions)]))
            }
            Request::AuthResponse(token) if token.as_deref() == Some(b"\0ada\0love lace") => {
                Response::AuthSuccess(None)
            }
            Request::AuthResponse(_) => failure("who?", ServerErrorKind::BadCredentials),
            Request::Query { cql, parameters } => return statement(&cql, &parameters),
            Request::Prepare { .. } => Response::Result(QueryResult::Prepared(Prepared {
                id: b"echo".to_vec(),
                result_metadata_id: (version == Version::V5).then(|| b"meta".to_vec()),
                markers: columns(),
                partition_key: vec![0],
                columns: columns(),
            })),
            Request::Execute { id, parameters, .. } => {
                assert_eq!(id, b"echo");
                echo(parameters.values)
            }
            Request::Register(_) => Response::Ready,
        })
    }

    fn send(&mut self, request: Header, response: Response) -> Option<()> {
        let rows = matches!(response, Response::Result(QueryResult::Rows(_)));
        let warnings = if rows {
            vec!["careful".to_owned()]
        } else {
            vec![]
        };
        let traced = request.flags & flag::TRACING != 0;
        let extras = Extras {
            tracing_id: traced.then_some([7; 16]),
            warnings,
            ..Extras::default()
        };
        let mut body = Vec::new();
        response
            .encode(request.version, &extras, &mut body)
            .expect("fits");
        let header = Header {
            response: true,
            flags: extras.flags(),
            opcode: response.opcode(),
            length: body.len(),
            ..request
        };
        let mut bytes = Vec::new();
        Envelope { header, body }.encode(&mut bytes).expect("fits");
        if self.framed {
            let plain = std::mem::take(&mut bytes);
            put_envelopes([plain.as_slice()], &mut bytes);
        }
        self.stream.write_all(&bytes).ok()
    }
}

fn statement(cql: &str, parameters: &Parameters) -> Answer {
    let page = |rows| Response::Result(QueryResult::Rows(rows));
    match cql {
        "SELECT one" => Answer::Respond(page(numbered(0, 1))),
        "SELECT many" => {
            let from = parameters.paging_state.as_deref().map_or(0, |state| {
                i32::from_be_bytes(state.try_into().expect("the state that was sent"))
            });
            let to = MANY.min(from + parameters.page_size.expect("a page size"));
            let mut rows = numbered(from, to);
            rows.paging_state = (to < MANY).then(|| to.to_be_bytes().to_vec());
            Answer::Respond(page(rows))
        }
        "LATE" => Answer::Late(page(numbered(99, 100))),
        "FAIL" => Answer::Respond(failure(
            "too few",
            ServerErrorKind::Unavailable {
                consistency: Consistency::All,
                required: 3,
                alive: 1,
            },
        )),
        "CLOSE" => Answer::Close,
        "BABBLE" => Answer::Babble,
        "USE \"Ks\"" => {
            Answer::Respond(Response::Result(QueryResult::SetKeyspace("Ks".to_owned())))
        }
        _ => Answer::Respond(Response::Result(QueryResult::Void)),
    }
}

fn columns() -> Vec<ColumnSpec> {
    let column = |name: &str, ty| ColumnSpec {
        keyspace: "ks".to_owned(),
        table: "t".to_owned(),
        name: name.to_owned(),
        ty,
    };
    vec![column("n", CqlType::Int), column("name", CqlType::Text)]
}

fn numbered(from: i32, to: i32) -> RowsPage {
    let row = |n| {
        vec![
            Some(CqlValue::Int(n)),
            Some(CqlValue::Text(format!("row {n}"))),
        ]
    };
    let rows: Vec<_> = (from..to).map(row).collect();
    RowsPage::of(columns(), &rows).expect("fits")
}

fn echo(values: Values) -> Response {
    let Values::Positional(values) = values else {
        return failure("by position only", ServerErrorKind::Invalid);
    };
    let mut page = RowsPage::of(columns(), &[]).expect("fits");
    page.row_count = 1;
    for value in values {
        match value {
            Bound::Value(bytes) => {
                page.bytes.extend((bytes.len() as i32).to_be_bytes());
                page.bytes.extend(bytes);
            }
            Bound::Null | Bound::Unset => page.bytes.extend((-1_i32).to_be_bytes()),
        }
    }
    Response::Result(QueryResult::Rows(page))
}

fn failure(message: &str, kind: ServerErrorKind) -> Response {
    let message = message.to_owned();
    Response::Error(ServerError { message, kind })
}
