//! What a client sends: the bodies of requests, both ways.
//! Refuses to read a BATCH, which no server of ours takes.

use super::consistency::Consistency;
use super::envelope::{Opcode, Version};
use super::error::{DecodeError, EncodeError};
use super::wire::{Reader, Write};
use std::collections::BTreeMap;

/// A request.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// Opens a connection; `CQL_VERSION` is required among the options.
    Startup(BTreeMap<String, String>),
    /// Asks what the server supports.
    Options,
    /// Answers an authenticator.
    AuthResponse(Option<Vec<u8>>),
    /// Executes a statement.
    Query {
        /// The statement.
        cql: String,
        /// How.
        parameters: Parameters,
    },
    /// Prepares a statement.
    Prepare {
        /// The statement.
        cql: String,
        /// The keyspace of unqualified tables (v5).
        keyspace: Option<String>,
    },
    /// Executes a prepared statement.
    Execute {
        /// Its id.
        id: Vec<u8>,
        /// The id of the result metadata that the client knows (v5, and required there).
        result_metadata_id: Option<Vec<u8>>,
        /// How.
        parameters: Parameters,
    },
    /// Asks for events of these kinds.
    Register(Vec<String>),
}

/// A value bound to a statement's marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bound {
    /// A value's bytes.
    Value(Vec<u8>),
    /// Null, which deletes.
    Null,
    /// Nothing, which leaves as it is.
    Unset,
}

/// Values bound to a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Values {
    /// By position; empty for none.
    Positional(Vec<Bound>),
    /// By name; never empty.
    Named(Vec<(String, Bound)>),
}

/// How a statement is executed.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    /// How many replicas must answer.
    pub consistency: Consistency,
    /// Bound values.
    pub values: Values,
    /// Leave the result's metadata out.
    pub skip_metadata: bool,
    /// Rows a page.
    pub page_size: Option<i32>,
    /// Where the page before ended.
    pub paging_state: Option<Vec<u8>>,
    /// The level of a condition's consensus.
    pub serial_consistency: Option<Consistency>,
    /// Microseconds since 1970 at which the writes are dated.
    pub timestamp: Option<i64>,
    /// The keyspace of unqualified tables (v5).
    pub keyspace: Option<String>,
    /// Seconds since 1970 that count as now for times to live (v5).
    pub now_in_seconds: Option<i32>,
}

mod flag {
    pub(super) const VALUES: u32 = 0x01;
    pub(super) const SKIP_METADATA: u32 = 0x02;
    pub(super) const PAGE_SIZE: u32 = 0x04;
    pub(super) const PAGING_STATE: u32 = 0x08;
    pub(super) const SERIAL_CONSISTENCY: u32 = 0x10;
    pub(super) const TIMESTAMP: u32 = 0x20;
    pub(super) const NAMES: u32 = 0x40;
    pub(super) const KEYSPACE: u32 = 0x80;
    pub(super) const NOW_IN_SECONDS: u32 = 0x100;
    pub(super) const V4: u32 = 0x7f;
    pub(super) const V5: u32 = 0x1ff;
}
const PREPARE_KEYSPACE: u32 = 0x01;

#[inline]
fn when(set: bool, flag: u32) -> u32 {
    if set { flag } else { 0 }
}

/// How prepared statements are executed, without memory of its own: for whoever sends many.
#[derive(Debug, Clone, Copy)]
pub struct Execution<'a> {
    /// How many replicas must answer.
    pub consistency: Consistency,
    /// Leave the result's metadata out.
    pub skip_metadata: bool,
    /// Rows a page.
    pub page_size: Option<i32>,
    /// Where the page before ended.
    pub paging_state: Option<&'a [u8]>,
    /// The level of a condition's consensus.
    pub serial_consistency: Option<Consistency>,
    /// Microseconds since 1970 at which the writes are dated.
    pub timestamp: Option<i64>,
}

/// A prepared statement with the values of its markers, encoded: for each an `[int]` length, or −1 for null and −2 for
/// unset, and as many bytes.
#[derive(Debug, Clone, Copy)]
pub struct BoundStatement<'a> {
    /// The statement's id.
    pub id: &'a [u8],
    /// The id of the result metadata that the client knows; v4 has none.
    pub result_metadata_id: &'a [u8],
    /// How many values there are.
    pub count: usize,
    /// The values.
    pub values: &'a [u8],
}

/// How the statements of a batch belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are CQL's own")]
pub enum BatchType {
    Logged = 0,
    Unlogged = 1,
    Counter = 2,
}

impl Execution<'_> {
    /// Appends the body of an EXECUTE.
    ///
    /// # Errors
    /// More values than fit.
    #[inline]
    pub fn execute(
        &self,
        version: Version,
        statement: &BoundStatement<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        out.put_short_bytes("statement id", statement.id)?;
        if version >= Version::V5 {
            out.put_short_bytes("result metadata id", statement.result_metadata_id)?;
        }
        let values = |out: &mut Vec<u8>| statement.put_values(out);
        let any = when(statement.count > 0, flag::VALUES);
        self.put(version, any, values, out)
    }

    /// Appends the body of a BATCH of prepared statements. A batch has no pages and no metadata.
    ///
    /// # Errors
    /// More statements or values than fit.
    pub fn batch<'a>(
        &self,
        version: Version,
        kind: BatchType,
        statements: impl ExactSizeIterator<Item = BoundStatement<'a>>,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        const PREPARED: u8 = 1;
        out.put_u8(kind as u8);
        out.put_short_count("statements of a batch", statements.len())?;
        for statement in statements {
            out.put_u8(PREPARED);
            out.put_short_bytes("statement id", statement.id)?;
            match statement.count {
                0 => out.put_u16(0),
                _ => statement.put_values(out)?,
            }
        }
        out.put_u16(self.consistency.code());
        let flags = when(self.serial_consistency.is_some(), flag::SERIAL_CONSISTENCY)
            | when(self.timestamp.is_some(), flag::TIMESTAMP);
        match version {
            Version::V4 => out.put_u8(flags as u8),
            Version::V5 => out.put_i32(flags as i32),
        }
        self.put_end(out);
        Ok(())
    }

    #[inline]
    fn put_end(&self, out: &mut Vec<u8>) {
        if let Some(level) = self.serial_consistency {
            out.put_u16(level.code());
        }
        if let Some(micros) = self.timestamp {
            out.put_i64(micros);
        }
    }

    /// All up to the timestamp; `flags` are those of the values and of what follows.
    #[inline]
    fn put(
        &self,
        version: Version,
        flags: u32,
        values: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodeError>,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        out.put_u16(self.consistency.code());
        let flags = flags
            | when(self.skip_metadata, flag::SKIP_METADATA)
            | when(self.page_size.is_some(), flag::PAGE_SIZE)
            | when(self.paging_state.is_some(), flag::PAGING_STATE)
            | when(self.serial_consistency.is_some(), flag::SERIAL_CONSISTENCY)
            | when(self.timestamp.is_some(), flag::TIMESTAMP);
        match version {
            Version::V5 => out.put_i32(flags as i32),
            Version::V4 => {
                let known = (flags & flag::V4 == flags).then_some(flags as u8);
                let what = "a keyspace or a clock for one statement";
                out.put_u8(known.ok_or(EncodeError::NeedsV5 { what })?);
            }
        }
        if flags & flag::VALUES != 0 {
            values(out)?;
        }
        if let Some(rows) = self.page_size {
            out.put_i32(rows);
        }
        if let Some(state) = self.paging_state {
            out.put_bytes("paging state", Some(state))?;
        }
        self.put_end(out);
        Ok(())
    }
}

impl BoundStatement<'_> {
    #[inline]
    fn put_values(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.put_short_count("bound values", self.count)?;
        out.extend_from_slice(self.values);
        Ok(())
    }
}

impl Parameters {
    /// This level and nothing else.
    pub fn at(consistency: Consistency) -> Self {
        Self {
            consistency,
            values: Values::Positional(Vec::new()),
            skip_metadata: false,
            page_size: None,
            paging_state: None,
            serial_consistency: None,
            timestamp: None,
            keyspace: None,
            now_in_seconds: None,
        }
    }

    fn encode(&self, version: Version, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let values = match &self.values {
            Values::Positional(values) if values.is_empty() => 0,
            Values::Positional(_) => flag::VALUES,
            Values::Named(_) => flag::VALUES | flag::NAMES,
        };
        let borrowed = Execution {
            consistency: self.consistency,
            skip_metadata: self.skip_metadata,
            page_size: self.page_size,
            paging_state: self.paging_state.as_deref(),
            serial_consistency: self.serial_consistency,
            timestamp: self.timestamp,
        };
        let own = when(self.keyspace.is_some(), flag::KEYSPACE)
            | when(self.now_in_seconds.is_some(), flag::NOW_IN_SECONDS);
        borrowed.put(version, values | own, |out| self.values.encode(out), out)?;
        if let Some(keyspace) = &self.keyspace {
            out.put_string("keyspace", keyspace)?;
        }
        if let Some(seconds) = self.now_in_seconds {
            out.put_i32(seconds);
        }
        Ok(())
    }

    fn decode(version: Version, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut parameters = Self::at(Consistency::from_code(reader.u16("consistency")?)?);
        let (flags, known) = match version {
            Version::V4 => (u32::from(reader.u8("query flags")?), flag::V4),
            Version::V5 => (reader.i32("query flags")? as u32, flag::V5),
        };
        if flags & !known != 0 || flags & flag::NAMES != 0 && flags & flag::VALUES == 0 {
            return Err(DecodeError::Flags {
                what: "a query",
                flags,
            });
        }
        let has = |flag: u32| flags & flag != 0;
        parameters.skip_metadata = has(flag::SKIP_METADATA);
        if has(flag::VALUES) {
            parameters.values = Values::decode(has(flag::NAMES), reader)?;
        }
        if has(flag::PAGE_SIZE) {
            parameters.page_size = Some(reader.i32("page size")?);
        }
        if has(flag::PAGING_STATE) {
            parameters.paging_state = reader.bytes("paging state")?.map(<[u8]>::to_vec);
        }
        if has(flag::SERIAL_CONSISTENCY) {
            let level = Consistency::from_code(reader.u16("serial consistency")?)?;
            parameters.serial_consistency = Some(level);
        }
        if has(flag::TIMESTAMP) {
            parameters.timestamp = Some(reader.i64("timestamp")?);
        }
        if has(flag::KEYSPACE) {
            parameters.keyspace = Some(reader.string("keyspace")?);
        }
        if has(flag::NOW_IN_SECONDS) {
            parameters.now_in_seconds = Some(reader.i32("now in seconds")?);
        }
        Ok(parameters)
    }
}

impl Values {
    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self {
            Self::Positional(values) if values.is_empty() => Ok(()),
            Self::Positional(values) => {
                out.put_short_count("bound values", values.len())?;
                values.iter().try_for_each(|value| value.encode(out))
            }
            Self::Named(values) => {
                out.put_short_count("bound values", values.len())?;
                values.iter().try_for_each(|(name, value)| {
                    out.put_string("name", name)?;
                    value.encode(out)
                })
            }
        }
    }

    fn decode(named: bool, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        if named {
            let count = reader.short_count("bound values", 6)?;
            let value = |_| Ok((reader.string("name")?, Bound::decode(reader)?));
            return (0..count)
                .map(value)
                .collect::<Result<_, _>>()
                .map(Self::Named);
        }
        let count = reader.short_count("bound values", 4)?;
        let values = (0..count).map(|_| Bound::decode(reader));
        values.collect::<Result<_, _>>().map(Self::Positional)
    }
}

impl Bound {
    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self {
            Self::Value(bytes) => out.put_bytes("value", Some(bytes)),
            Self::Null => out.put_bytes("value", None),
            Self::Unset => {
                out.put_i32(-2);
                Ok(())
            }
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match reader.i32("value")? {
            -1 => Ok(Self::Null),
            -2 => Ok(Self::Unset),
            length => {
                let length = usize::try_from(length).map_err(|_| DecodeError::Count {
                    what: "value",
                    count: i64::from(length),
                    most: reader.left(),
                })?;
                Ok(Self::Value(reader.take("value", length)?.to_vec()))
            }
        }
    }
}

impl Request {
    /// The opcode that goes into the header.
    pub fn opcode(&self) -> Opcode {
        match self {
            Self::Startup(_) => Opcode::Startup,
            Self::Options => Opcode::Options,
            Self::AuthResponse(_) => Opcode::AuthResponse,
            Self::Query { .. } => Opcode::Query,
            Self::Prepare { .. } => Opcode::Prepare,
            Self::Execute { .. } => Opcode::Execute,
            Self::Register(_) => Opcode::Register,
        }
    }

    /// Appends the body.
    ///
    /// # Errors
    /// Something too long, or something that only v5 can express.
    pub fn encode(&self, version: Version, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self {
            Self::Startup(options) => {
                out.put_short_count("startup options", options.len())?;
                options.iter().try_for_each(|(key, value)| {
                    out.put_string("startup option", key)?;
                    out.put_string("startup option", value)
                })
            }
            Self::Options => Ok(()),
            Self::AuthResponse(token) => out.put_bytes("token", token.as_deref()),
            Self::Query { cql, parameters } => {
                out.put_long_string("statement", cql)?;
                parameters.encode(version, out)
            }
            Self::Prepare { cql, keyspace } => {
                out.put_long_string("statement", cql)?;
                match (version, keyspace) {
                    (Version::V4, None) => {}
                    (Version::V4, Some(_)) => {
                        let what = "a keyspace for one statement";
                        return Err(EncodeError::NeedsV5 { what });
                    }
                    (Version::V5, None) => out.put_i32(0),
                    (Version::V5, Some(keyspace)) => {
                        out.put_i32(PREPARE_KEYSPACE as i32);
                        out.put_string("keyspace", keyspace)?;
                    }
                }
                Ok(())
            }
            Self::Execute {
                id,
                result_metadata_id,
                parameters,
            } => {
                out.put_short_bytes("statement id", id)?;
                if version >= Version::V5 {
                    let known = result_metadata_id.as_deref().unwrap_or_default();
                    out.put_short_bytes("result metadata id", known)?;
                }
                parameters.encode(version, out)
            }
            Self::Register(kinds) => out.put_string_list("event kinds", kinds),
        }
    }

    /// Reads a body.
    ///
    /// # Errors
    /// A response's opcode, or bytes that are no such request.
    pub fn decode(version: Version, opcode: Opcode, body: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let reader = &mut reader;
        let request = match opcode {
            Opcode::Startup => Self::Startup(reader.string_map("startup options")?),
            Opcode::Options => Self::Options,
            Opcode::AuthResponse => Self::AuthResponse(reader.bytes("token")?.map(<[u8]>::to_vec)),
            Opcode::Query => Self::Query {
                cql: reader.long_string("statement")?,
                parameters: Parameters::decode(version, reader)?,
            },
            Opcode::Prepare => {
                let cql = reader.long_string("statement")?;
                let flags = match version {
                    Version::V4 => 0,
                    Version::V5 => reader.i32("prepare flags")? as u32,
                };
                if flags & !PREPARE_KEYSPACE != 0 {
                    let what = "a prepare";
                    return Err(DecodeError::Flags { what, flags });
                }
                let keyspace = match flags {
                    0 => None,
                    _ => Some(reader.string("keyspace")?),
                };
                Self::Prepare { cql, keyspace }
            }
            Opcode::Execute => Self::Execute {
                id: reader.short_bytes("statement id")?.to_vec(),
                result_metadata_id: match version {
                    Version::V4 => None,
                    Version::V5 => Some(reader.short_bytes("result metadata id")?.to_vec()),
                },
                parameters: Parameters::decode(version, reader)?,
            },
            Opcode::Register => Self::Register(reader.string_list("event kinds")?),
            other => {
                return Err(DecodeError::Direction {
                    expected: "request",
                    opcode: other as u8,
                });
            }
        };
        reader.end("a request")?;
        Ok(request)
    }
}
