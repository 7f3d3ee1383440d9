//! A scripted CQL endpoint: one table on a ring of one node, read by ranges of tokens, with troubles on request.
//! Refuses every statement that a scan does not send.

use helenus_cql::codec::value::encode_value;
use helenus_cql::codec::{
    Bound, ColumnSpec, Envelope, Extras, Header, Inbox, Parameters, Prepared, QueryResult, Request,
    Response, RowsPage, ServerError, ServerErrorKind, Values, Version,
};
use helenus_model::cql::{CqlType, CqlValue};
use helenus_model::ring::murmur3_token;
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// A request for a span of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    /// Counted from 1, over all connections.
    pub(crate) number: u64,
    /// Whether the server is to add up.
    pub(crate) whole: bool,
    /// Rows in the span.
    pub(crate) rows: u64,
    /// Rows a page.
    pub(crate) page: u64,
}

/// What goes wrong with it.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    Error(ServerErrorKind),
    Close,
}

type Script = dyn Fn(Asked) -> Option<Fault> + Send + Sync;

/// The table `k.t (k bigint, c int, PRIMARY KEY (k, c))`, and what was asked of it.
pub(crate) struct Endpoint {
    pub(crate) addr: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    /// Rows of each partition: its key, by token.
    partitions: BTreeMap<i64, (i64, u64)>,
    token: Mutex<i64>,
    id: Mutex<[u8; 16]>,
    script: Box<Script>,
    asked: AtomicU64,
    rows_added_up: AtomicU64,
}

impl Endpoint {
    /// Serves partitions 0 up to so many; partition `p` has `rows(p)` rows.
    pub(crate) fn start(
        partitions: i64,
        rows: impl Fn(i64) -> u64,
        script: impl Fn(Asked) -> Option<Fault> + Send + Sync + 'static,
    ) -> Self {
        let placed =
            (0..partitions).map(|key| (murmur3_token(&key.to_be_bytes()), (key, rows(key))));
        let shared = Arc::new(Shared {
            partitions: placed.collect(),
            token: Mutex::new(0),
            id: Mutex::new([7; 16]),
            script: Box::new(script),
            asked: AtomicU64::new(0),
            rows_added_up: AtomicU64::new(0),
        });
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let server = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&server);
                thread::spawn(move || Connection { stream, shared }.serve());
            }
        });
        Self { addr, shared }
    }

    pub(crate) fn rows(&self) -> u64 {
        self.shared.partitions.values().map(|(_, rows)| rows).sum()
    }

    /// Rows of each partition, by key.
    pub(crate) fn sizes(&self) -> BTreeMap<i64, u64> {
        self.shared.partitions.values().copied().collect()
    }

    /// Rows in spans that the server added up without a fault so far.
    pub(crate) fn rows_added_up(&self) -> u64 {
        self.shared.rows_added_up.load(Ordering::SeqCst)
    }

    /// Moves the node on its ring.
    pub(crate) fn move_to(&self, token: i64) {
        *self.shared.token.lock().unwrap() = token;
    }

    /// Drops the table and makes it again.
    pub(crate) fn remake(&self) {
        *self.shared.id.lock().unwrap() = [8; 16];
    }
}

struct Connection {
    stream: TcpStream,
    shared: Arc<Shared>,
}

enum Answer {
    Respond(Response),
    Close,
}

impl Connection {
    fn serve(mut self) -> Option<()> {
        let mut inbox = Inbox::new();
        let mut buffer = [0; 8_192];
        loop {
            while let Some(envelope) = inbox.pop().ok()? {
                let header = envelope.header;
                if header.version != Version::V4 {
                    let header = Header {
                        version: Version::V4,
                        ..header
                    };
                    return self.send(header, failure("speak v4", ServerErrorKind::Protocol));
                }
                let request = Request::decode(header.version, header.opcode, &envelope.body);
                match self
                    .shared
                    .answer(request.expect("the client writes what its codec reads"))
                {
                    Answer::Respond(response) => self.send(header, response)?,
                    Answer::Close => return None,
                }
            }
            match self.stream.read(&mut buffer).ok()? {
                0 => return None,
                count => inbox.push(&buffer[..count]),
            }
        }
    }

    fn send(&mut self, request: Header, response: Response) -> Option<()> {
        let mut body = Vec::new();
        response
            .encode(request.version, &Extras::default(), &mut body)
            .expect("fits");
        let header = Header {
            response: true,
            flags: 0,
            opcode: response.opcode(),
            length: body.len(),
            ..request
        };
        let mut bytes = Vec::new();
        Envelope { header, body }.encode(&mut bytes).expect("fits");
        self.stream.write_all(&bytes).ok()
    }
}

impl Shared {
    fn answer(&self, request: Request) -> Answer {
        match request {
            Request::Startup(_) => Answer::Respond(Response::Ready),
            Request::Query { cql, parameters } => self.run(&cql, &parameters),
            Request::Prepare { cql, .. } => {
                let ty = if cql.contains("token(") {
                    CqlType::Bigint
                } else {
                    CqlType::Text
                };
                let markers = cql.matches('?').map(|_| column("marker", ty.clone()));
                Answer::Respond(Response::Result(QueryResult::Prepared(Prepared {
                    id: cql.clone().into_bytes(),
                    result_metadata_id: None,
                    markers: markers.collect(),
                    partition_key: Vec::new(),
                    columns: self.columns(&cql),
                })))
            }
            Request::Execute { id, parameters, .. } => {
                let cql = String::from_utf8(id).expect("ids are statements here");
                self.run(&cql, &parameters)
            }
            _ => Answer::Respond(failure("not here", ServerErrorKind::Protocol)),
        }
    }

    fn run(&self, cql: &str, parameters: &Parameters) -> Answer {
        if cql.contains("token(") {
            return self.span(cql, parameters);
        }
        let Some(rows) = self.system(cql) else {
            return Answer::Respond(failure("no such table", ServerErrorKind::Invalid));
        };
        Answer::Respond(page(RowsPage::of(self.columns(cql), &rows).expect("fits")))
    }

    /// Columns by name, as far as a scan asks for them.
    fn columns(&self, cql: &str) -> Vec<ColumnSpec> {
        let ty = |name: &str| match name {
            "broadcast_address" | "peer" => CqlType::Inet,
            "broadcast_port" | "peer_port" | "position" => CqlType::Int,
            "host_id" | "id" => CqlType::Uuid,
            "tokens" => CqlType::Set(Box::new(CqlType::Text)),
            "replication" => CqlType::Map(Box::new(CqlType::Text), Box::new(CqlType::Text)),
            "k" | "count(*)" => CqlType::Bigint,
            "c" => CqlType::Int,
            _ => CqlType::Text,
        };
        names(cql)
            .into_iter()
            .map(|name| column(name, ty(name)))
            .collect()
    }

    /// None for a table that this node has not.
    fn system(&self, cql: &str) -> Option<Vec<Vec<Option<CqlValue>>>> {
        let text = |text: &str| CqlValue::Text(text.to_owned());
        let from = cql.split_once("FROM ")?.1.split_whitespace().next()?;
        let mut rows: Vec<BTreeMap<&str, CqlValue>> = Vec::new();
        match from {
            "system.local" => rows.push(BTreeMap::from([
                ("cluster_name", text("scripted")),
                (
                    "broadcast_address",
                    CqlValue::Inet("127.0.0.1".parse().unwrap()),
                ),
                ("broadcast_port", CqlValue::Int(7_000)),
                ("data_center", text("datacenter1")),
                ("rack", text("rack1")),
                ("host_id", CqlValue::Uuid([1; 16])),
                (
                    "tokens",
                    CqlValue::Set(vec![text(&self.token.lock().unwrap().to_string())]),
                ),
                (
                    "partitioner",
                    text("org.apache.cassandra.dht.Murmur3Partitioner"),
                ),
            ])),
            "system.peers_v2" | "system_schema.views" => {}
            "system_schema.keyspaces" => {
                rows.extend(
                    ["k", "system"].map(|name| BTreeMap::from([("keyspace_name", text(name))])),
                );
            }
            "system_schema.tables" => rows.push(BTreeMap::from([
                ("table_name", text("t")),
                ("id", CqlValue::Uuid(*self.id.lock().unwrap())),
            ])),
            "system_schema.columns" => {
                let kinds = [("c", "clustering"), ("k", "partition_key")];
                rows.extend(kinds.map(|(name, kind)| {
                    BTreeMap::from([
                        ("column_name", text(name)),
                        ("kind", text(kind)),
                        ("position", CqlValue::Int(0)),
                    ])
                }));
            }
            _ => return None,
        }
        let row = |row: BTreeMap<&str, CqlValue>| {
            names(cql)
                .into_iter()
                .map(|name| row.get(name).cloned())
                .collect()
        };
        Some(rows.into_iter().map(row).collect())
    }

    /// What lies in a span, added up or row by row.
    fn span(&self, cql: &str, parameters: &Parameters) -> Answer {
        let Values::Positional(values) = &parameters.values else {
            return Answer::Respond(failure("by position only", ServerErrorKind::Invalid));
        };
        let token = |value: &Bound| match value {
            Bound::Value(bytes) => {
                i64::from_be_bytes(bytes.as_slice().try_into().expect("eight bytes"))
            }
            _ => panic!("a token"),
        };
        let (start, end) = (token(&values[0]), token(&values[1]));
        let inside = self
            .partitions
            .iter()
            .filter(|(token, _)| start < **token && **token <= end);
        let partitions: Vec<(i64, u64)> = inside.map(|(_, partition)| *partition).collect();
        let rows = partitions.iter().map(|(_, rows)| rows).sum();
        let whole = cql.contains("count(*)");
        let page = parameters.page_size.map_or(u64::MAX, |page| page as u64);
        let number = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        match (self.script)(Asked {
            number,
            whole,
            rows,
            page,
        }) {
            Some(Fault::Close) => return Answer::Close,
            Some(Fault::Error(kind)) => {
                return Answer::Respond(failure("as the script says", kind));
            }
            None => {}
        }
        if whole {
            self.rows_added_up.fetch_add(rows, Ordering::SeqCst);
        }
        let bigint = |n: i64| Some(CqlValue::Bigint(n));
        let count = |n: u64| bigint(i64::try_from(n).unwrap());
        let all: Vec<Vec<Option<CqlValue>>> = match (whole, cql.contains("GROUP BY")) {
            (true, false) => vec![vec![count(rows)]],
            (true, true) => partitions
                .iter()
                .map(|(key, rows)| vec![bigint(*key), count(*rows)])
                .collect(),
            (false, _) => partitions
                .iter()
                .flat_map(|(key, rows)| (0..*rows).map(move |_| vec![bigint(*key)]))
                .collect(),
        };
        Answer::Respond(self.paged(cql, parameters, &all))
    }

    fn paged(&self, cql: &str, parameters: &Parameters, all: &[Vec<Option<CqlValue>>]) -> Response {
        let from = parameters.paging_state.as_deref().map_or(0, |state| {
            usize::try_from(u32::from_be_bytes(
                state.try_into().expect("the state that was sent"),
            ))
            .unwrap()
        });
        let size = usize::try_from(parameters.page_size.unwrap_or(i32::MAX)).unwrap();
        let to = all.len().min(from + size);
        let columns = self.columns(cql);
        let mut rows = RowsPage::of(columns, &[]).expect("fits");
        rows.row_count = to - from;
        for row in &all[from..to] {
            for value in row.iter().flatten() {
                let mut bytes = Vec::new();
                encode_value(&CqlType::Bigint, value, &mut bytes).expect("fits");
                rows.bytes.extend((bytes.len() as i32).to_be_bytes());
                rows.bytes.extend(bytes);
            }
        }
        rows.paging_state =
            (to < all.len()).then(|| u32::try_from(to).unwrap().to_be_bytes().to_vec());
        page(rows)
    }
}

/// The names between SELECT and FROM.
fn names(cql: &str) -> Vec<&str> {
    let list = cql
        .split_once(" FROM ")
        .map_or("", |(list, _)| list.trim_start_matches("SELECT "));
    list.split(", ").collect()
}

fn column(name: &str, ty: CqlType) -> ColumnSpec {
    ColumnSpec {
        keyspace: "k".to_owned(),
        table: "t".to_owned(),
        name: name.to_owned(),
        ty,
    }
}

fn page(rows: RowsPage) -> Response {
    Response::Result(QueryResult::Rows(rows))
}

fn failure(message: &str, kind: ServerErrorKind) -> Response {
    Response::Error(ServerError {
        message: message.to_owned(),
        kind,
    })
}
