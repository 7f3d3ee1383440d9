//! One small blocking client: connect, log in, query, page, prepare, execute.
//! Refuses: pools, retries and policies.

mod conversation;
mod cure;
mod dial;
mod error;
mod secret;
mod tls;

pub use dial::{Dial, Stream, TcpDialer};
pub use error::ClientError;
pub use secret::{Credentials, Secret};
pub use tls::{Identity, Tls, TlsError};

use crate::codec::value::encode_value;
use crate::codec::{
    Bound, Consistency, Event, Extras, Framing, Inbox, Outbox, Parameters, Prepared, QueryResult,
    Request, Response, RowsPage, ServerErrorKind, Values, Version,
};
use crate::rows::Rows;
use conversation::{Conversation, name_of};
use helenus_model::cql::CqlValue;
use helenus_model::cql::quoted;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Rows a page where the caller does not say.
pub const PAGE_ROWS: i32 = 5_000;
/// The CQL version that STARTUP must name; every server since 2.2 takes it.
const CQL_VERSION: &str = "3.0.0";

/// Warnings kept for a caller that does not take them.
const MOST_WARNINGS: usize = 100;

/// How to connect.
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    /// For dialling, and then for each request.
    pub timeout: Duration,
    /// For a server that asks.
    pub credentials: Option<Credentials>,
    /// Encrypts the connection; none speaks in the clear.
    pub tls: Option<Tls>,
    /// How v5's frames are compressed; none leaves them as they are, as all of v4 is.
    pub compression: Option<Compression>,
    /// The version to speak; a server that does not know v5 is asked for v4.
    pub protocol: Version,
    /// Who opens connections to a server in another network; none opens them from this process's own.
    pub dialer: Option<Arc<dyn Dial + Send + Sync>>,
}

impl Default for ConnectOptions {
    /// v5, 10 s (what cqlsh allows a request), nobody.
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
            credentials: None,
            tls: None,
            compression: None,
            protocol: Version::V5,
            dialer: None,
        }
    }
}

/// How frames are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// LZ4, which every release knows.
    Lz4,
}

/// One page of rows and where the next starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The rows.
    pub rows: Rows,
    /// To be handed back for the next page; none on the last.
    pub paging_state: Option<Vec<u8>>,
}

/// An open connection whose owner takes over from the blocking client.
pub struct HandedOver {
    /// The stream, past its log-in.
    pub stream: Box<dyn Stream>,
    /// The version that it speaks.
    pub version: Version,
    /// What was received and not yet read, set for what follows.
    pub inbox: Inbox,
    /// Empty, set for what follows.
    pub outbox: Outbox,
}

/// One connection to one node.
pub struct Client {
    conversation: Conversation,
    timeout: Duration,
    serial_consistency: Option<Consistency>,
    warnings: Vec<String>,
    traces: Vec<[u8; 16]>,
    keyspace: Option<String>,
}

impl fmt::Debug for HandedOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = &self.version;
        f.debug_struct("HandedOver")
            .field("version", version)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.conversation.version();
        f.debug_struct("Client")
            .field("version", &version)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Dials, opens and logs in; falls back from v5 to v4 where the server needs that.
    ///
    /// # Errors
    /// Whatever [`ClientError`] says about dialling, opening and logging in.
    pub fn connect(addr: SocketAddr, options: &ConnectOptions) -> Result<Self, ClientError> {
        match &options.dialer {
            Some(dialer) => Self::connect_through(dialer.as_ref(), addr, options),
            None => Self::connect_through(&TcpDialer, addr, options),
        }
    }

    /// [`Client::connect`] through another dialer.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn connect_through(
        dialer: &dyn Dial,
        addr: SocketAddr,
        options: &ConnectOptions,
    ) -> Result<Self, ClientError> {
        let dial = || -> Result<Box<dyn Stream>, ClientError> {
            let tcp = dialer
                .dial(addr, options.timeout)
                .map_err(|source| match source.kind() {
                    io::ErrorKind::ConnectionRefused => ClientError::Refused { addr },
                    io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => ClientError::TimedOut {
                        during: "the connection",
                        limit: options.timeout,
                    },
                    _ => ClientError::Unreachable { addr, source },
                })?;
            match &options.tls {
                Some(tls) => tls.over(tcp, addr, options.timeout),
                None => Ok(Box::new(tcp)),
            }
        };
        match Self::over(dial()?, options) {
            Err(ClientError::Version { .. }) if options.protocol == Version::V5 => {
                let protocol = Version::V4;
                Self::over(
                    dial()?,
                    &ConnectOptions {
                        protocol,
                        ..options.clone()
                    },
                )
            }
            opened => opened,
        }
    }

    /// Opens a connection over an existing stream, in exactly the version asked for.
    ///
    /// # Errors
    /// [`ClientError::Version`] where the server does not speak it, else as
    /// [`Client::connect`].
    pub fn over(stream: Box<dyn Stream>, options: &ConnectOptions) -> Result<Self, ClientError> {
        let mut client = Self {
            conversation: Conversation::new(stream, options.protocol),
            timeout: options.timeout,
            serial_consistency: None,
            warnings: Vec::new(),
            traces: Vec::new(),
            keyspace: None,
        };
        client.open(options)?;
        Ok(client)
    }

    fn open(&mut self, options: &ConnectOptions) -> Result<(), ClientError> {
        const DURING: &str = "STARTUP";
        let said = [
            ("CQL_VERSION", CQL_VERSION),
            ("DRIVER_NAME", "helenus"),
            ("DRIVER_VERSION", env!("CARGO_PKG_VERSION")),
        ];
        let compression = options
            .compression
            .filter(|_| options.protocol >= Version::V5);
        let compression = compression.map(|Compression::Lz4| ("COMPRESSION", "lz4"));
        let said = said.into_iter().chain(compression);
        let said = said.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let request = Request::Startup(said.collect());
        let response = self.call(DURING, &request).map_err(|failed| match failed {
            ClientError::Server { error } if error.kind == ServerErrorKind::Protocol => {
                ClientError::Version {
                    asked: options.protocol,
                    message: error.message,
                }
            }
            other => other,
        })?;
        if options.protocol >= Version::V5 {
            self.conversation.use_frames(match options.compression {
                Some(Compression::Lz4) => Framing::Lz4,
                None => Framing::Frames,
            });
        }
        match response {
            Response::Ready => Ok(()),
            Response::Authenticate(class) => self.log_in(class, options.credentials.as_ref()),
            other => Err(unexpected(DURING, &other)),
        }
    }

    fn log_in(
        &mut self,
        authenticator: String,
        credentials: Option<&Credentials>,
    ) -> Result<(), ClientError> {
        const DURING: &str = "the log-in";
        // Only an authenticator that wants a password is given one.
        if !authenticator.contains("Password") {
            return Err(ClientError::Authenticator { authenticator });
        }
        let Some(credentials) = credentials else {
            return Err(ClientError::CredentialsMissing { authenticator });
        };
        let token = Request::AuthResponse(Some(credentials.plain_token()));
        let response = self.call(DURING, &token).map_err(|failed| match failed {
            ClientError::Server { error } if error.kind == ServerErrorKind::BadCredentials => {
                ClientError::Refusal {
                    username: credentials.username.clone(),
                    message: error.message,
                }
            }
            other => other,
        })?;
        match response {
            Response::AuthSuccess(_) => Ok(()),
            Response::AuthChallenge(_) => Err(ClientError::Authenticator { authenticator }),
            other => Err(unexpected(DURING, &other)),
        }
    }

    /// Sends any request and takes its response; `during` names it in errors.
    ///
    /// # Errors
    /// [`ClientError::Server`] for an ERROR, else what the connection says.
    pub fn call(
        &mut self,
        during: &'static str,
        request: &Request,
    ) -> Result<Response, ClientError> {
        let (response, extras) = self.conversation.ask(during, request, self.timeout)?;
        let Extras {
            warnings,
            tracing_id,
            ..
        } = extras;
        let room = MOST_WARNINGS.saturating_sub(self.warnings.len());
        self.warnings.extend(warnings.into_iter().take(room));
        self.traces.extend(tracing_id);
        match response {
            Response::Error(error) => Err(ClientError::Server { error }),
            Response::Result(QueryResult::SetKeyspace(name)) => {
                self.keyspace = Some(name.clone());
                Ok(Response::Result(QueryResult::SetKeyspace(name)))
            }
            other => Ok(other),
        }
    }

    /// Asks the server to trace every following request, or no longer.
    pub fn set_tracing(&mut self, on: bool) {
        self.conversation.tracing = on;
    }

    /// The ids of the traces since this was last called, in the order of their requests.
    pub fn take_traces(&mut self) -> Vec<[u8; 16]> {
        std::mem::take(&mut self.traces)
    }

    /// Lets every following wait for a response end once `flag` is set: the request is
    /// [`ClientError::Cancelled`] then, and its response is dropped when it comes.
    pub fn cancel_by(&mut self, flag: Arc<AtomicBool>) {
        self.conversation.cancel = Some(flag);
    }

    /// The keyspace that the connection uses, by its bare name.
    pub fn keyspace(&self) -> Option<&str> {
        self.keyspace.as_deref()
    }

    /// Asks for events of these kinds: `TOPOLOGY_CHANGE`, `STATUS_CHANGE`, `SCHEMA_CHANGE`.
    ///
    /// # Errors
    /// What the connection or the server says.
    pub fn register(&mut self, kinds: &[&str]) -> Result<(), ClientError> {
        const DURING: &str = "REGISTER";
        let kinds = kinds.iter().map(|kind| (*kind).to_owned()).collect();
        match self.call(DURING, &Request::Register(kinds))? {
            Response::Ready => Ok(()),
            other => Err(unexpected(DURING, &other)),
        }
    }

    /// Waits for an event at most so long; none came is `None`. Events that come during another request are dropped.
    ///
    /// # Errors
    /// What the connection says.
    pub fn event(&mut self, limit: Duration) -> Result<Option<Event>, ClientError> {
        self.conversation.event(limit)
    }

    /// Ends the blocking client: its connection for whoever drives it without waiting.
    pub fn hand_over(self) -> HandedOver {
        self.conversation.hand_over()
    }

    /// Whether the connection failed and must be made again.
    pub fn is_broken(&self) -> bool {
        self.conversation.is_broken()
    }

    /// The version that this connection speaks.
    pub fn protocol(&self) -> Version {
        self.conversation.version()
    }

    /// Limits every following request.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    /// The level of conditional statements' consensus; none leaves it to the server.
    pub fn set_serial_consistency(&mut self, level: Option<Consistency>) {
        self.serial_consistency = level;
    }

    /// The server's warnings since this was last called, the first hundred of them.
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// What the server supports, by option.
    ///
    /// # Errors
    /// What the connection or the server says.
    pub fn options(&mut self) -> Result<BTreeMap<String, Vec<String>>, ClientError> {
        match self.call("OPTIONS", &Request::Options)? {
            Response::Supported(options) => Ok(options),
            other => Err(unexpected("OPTIONS", &other)),
        }
    }

    /// Makes `keyspace` (its bare name, as `system_schema` spells it) the connection's own.
    ///
    /// # Errors
    /// What the connection or the server says.
    pub fn use_keyspace(&mut self, keyspace: &str) -> Result<(), ClientError> {
        // Always quoted: the name may be a reserved word.
        let cql = format!("USE {}", quoted(keyspace));
        self.query(&cql, Consistency::One).map(|_| ())
    }

    /// Executes a statement and takes all its rows, page after page; a statement without rows
    /// gives none.
    ///
    /// # Errors
    /// What the connection or the server says.
    pub fn query(&mut self, cql: &str, consistency: Consistency) -> Result<Rows, ClientError> {
        self.all_pages(|client, state| client.query_page(cql, consistency, PAGE_ROWS, state))
    }

    /// Executes a statement and takes one page of at most `page_rows` rows, from the beginning
    /// or from where the page before ended.
    ///
    /// # Errors
    /// What the connection or the server says.
    pub fn query_page(
        &mut self,
        cql: &str,
        consistency: Consistency,
        page_rows: i32,
        paging_state: Option<Vec<u8>>,
    ) -> Result<Page, ClientError> {
        let parameters = self.parameters(consistency, page_rows, paging_state);
        let cql = cql.to_owned();
        self.page("the query", &Request::Query { cql, parameters }, &[])
    }

    /// Prepares a statement and executes it with these values, none being null.
    ///
    /// # Errors
    /// As [`Client::prepare`] and [`Client::execute`].
    pub fn query_with(
        &mut self,
        cql: &str,
        values: &[Option<CqlValue>],
        consistency: Consistency,
    ) -> Result<Rows, ClientError> {
        let prepared = self.prepare(cql)?;
        self.execute(&prepared, values, consistency)
    }

    /// Prepares a statement.
    ///
    /// # Errors
    /// What the connection or the server says.
    pub fn prepare(&mut self, cql: &str) -> Result<Prepared, ClientError> {
        const DURING: &str = "the preparation";
        let cql = cql.to_owned();
        match self.call(
            DURING,
            &Request::Prepare {
                cql,
                keyspace: None,
            },
        )? {
            Response::Result(QueryResult::Prepared(prepared)) => Ok(prepared),
            other => Err(unexpected(DURING, &other)),
        }
    }

    /// Executes a prepared statement and takes all its rows, page after page.
    ///
    /// # Errors
    /// Values that do not fit the markers, else what the connection or the server says.
    pub fn execute(
        &mut self,
        prepared: &Prepared,
        values: &[Option<CqlValue>],
        consistency: Consistency,
    ) -> Result<Rows, ClientError> {
        let values = bind(prepared, values)?;
        self.all_pages(|client, state| {
            let mut parameters = client.parameters(consistency, PAGE_ROWS, state);
            parameters.values = Values::Positional(values.clone());
            let request = Request::Execute {
                id: prepared.id.clone(),
                result_metadata_id: prepared.result_metadata_id.clone(),
                parameters,
            };
            client.page("the execution", &request, &prepared.columns)
        })
    }

    /// Executes a prepared statement and takes one page of at most `page_rows` rows, undecoded: for whoever reads many
    /// and needs few of their values. Their columns are the statement's.
    ///
    /// # Errors
    /// As [`Client::execute`].
    pub fn execute_page(
        &mut self,
        prepared: &Prepared,
        values: &[Option<CqlValue>],
        consistency: Consistency,
        page_rows: i32,
        paging_state: Option<Vec<u8>>,
    ) -> Result<RowsPage, ClientError> {
        const DURING: &str = "the execution";
        let mut parameters = self.parameters(consistency, page_rows, paging_state);
        parameters.values = Values::Positional(bind(prepared, values)?);
        parameters.skip_metadata = !prepared.columns.is_empty();
        let request = Request::Execute {
            id: prepared.id.clone(),
            result_metadata_id: prepared.result_metadata_id.clone(),
            parameters,
        };
        match self.call(DURING, &request)? {
            Response::Result(QueryResult::Rows(page)) => Ok(page),
            other => Err(unexpected(DURING, &other)),
        }
    }

    fn parameters(
        &self,
        consistency: Consistency,
        page_rows: i32,
        paging_state: Option<Vec<u8>>,
    ) -> Parameters {
        Parameters {
            page_size: Some(page_rows),
            paging_state,
            serial_consistency: self.serial_consistency,
            ..Parameters::at(consistency)
        }
    }

    fn all_pages(
        &mut self,
        mut next: impl FnMut(&mut Self, Option<Vec<u8>>) -> Result<Page, ClientError>,
    ) -> Result<Rows, ClientError> {
        let mut page = next(self, None)?;
        let mut all = page.rows;
        while let Some(state) = page.paging_state.take() {
            page = next(self, Some(state))?;
            all.rows.append(&mut page.rows.rows);
        }
        Ok(all)
    }

    fn page(
        &mut self,
        during: &'static str,
        request: &Request,
        known: &[crate::codec::ColumnSpec],
    ) -> Result<Page, ClientError> {
        let result = match self.call(during, request)? {
            Response::Result(result) => result,
            other => return Err(unexpected(during, &other)),
        };
        let QueryResult::Rows(mut page) = result else {
            return Ok(Page {
                rows: Rows::default(),
                paging_state: None,
            });
        };
        let columns = page.columns.take().unwrap_or_else(|| known.to_vec());
        let rows = page
            .rows(&columns)
            .map_err(|source| ClientError::Protocol { during, source })?;
        Ok(Page {
            rows: Rows { columns, rows },
            paging_state: page.paging_state,
        })
    }
}

/// The values' bytes, by marker.
fn bind(prepared: &Prepared, values: &[Option<CqlValue>]) -> Result<Vec<Bound>, ClientError> {
    if prepared.markers.len() != values.len() {
        return Err(ClientError::ValueCount {
            markers: prepared.markers.len(),
            values: values.len(),
        });
    }
    let bind = |(marker, value): (&crate::codec::ColumnSpec, &Option<CqlValue>)| {
        let Some(value) = value else {
            return Ok(Bound::Null);
        };
        let mut bytes = Vec::new();
        encode_value(&marker.ty, value, &mut bytes).map_err(|source| ClientError::Value {
            marker: marker.name.clone(),
            source,
        })?;
        Ok(Bound::Value(bytes))
    };
    prepared.markers.iter().zip(values).map(bind).collect()
}

fn unexpected(during: &'static str, response: &Response) -> ClientError {
    let found = name_of(response);
    ClientError::Unexpected { during, found }
}
