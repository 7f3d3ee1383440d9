//! The server's errors, each with its facts.
//! Refuses to decide what is worth another try.

use super::consistency::Consistency;
use super::envelope::Version;
use super::error::{DecodeError, EncodeError};
use super::wire::{Reader, Write};
use std::fmt;
use std::net::IpAddr;

/// An error that the server answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    /// The server's words.
    pub message: String,
    /// What it is, with its facts.
    pub kind: ServerErrorKind,
}

/// Replicas that failed, and why where the server reports it (v5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureReason {
    /// Only how many (v4).
    Count(i32),
    /// Which replica with which code (v5).
    Replicas(Vec<(IpAddr, u16)>),
}

impl FailureReason {
    /// Replicas that failed.
    pub fn replicas(&self) -> usize {
        match self {
            Self::Count(n) => usize::try_from(*n).unwrap_or(0),
            Self::Replicas(replicas) => replicas.len(),
        }
    }
}

/// What a server's error is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "the names are the protocol's own, the counts are replicas"
)]
pub enum ServerErrorKind {
    /// Something went wrong inside the server.
    Server,
    /// The client broke the protocol, or asked for a version that the server does not speak.
    Protocol,
    /// Wrong user name or password.
    BadCredentials,
    /// Too few replicas alive to try.
    Unavailable {
        consistency: Consistency,
        required: i32,
        alive: i32,
    },
    /// The coordinator has too much to do.
    Overloaded,
    /// The coordinator is still joining.
    IsBootstrapping,
    /// A truncation failed.
    Truncate,
    /// Too few replicas confirmed a write in time; it may still happen.
    WriteTimeout {
        consistency: Consistency,
        received: i32,
        wanted: i32,
        write_type: String,
        /// Rounds lost to other conditional writes (v5, conditional writes).
        contentions: Option<u16>,
    },
    /// Too few replicas answered a read in time.
    ReadTimeout {
        consistency: Consistency,
        received: i32,
        wanted: i32,
        data_present: bool,
    },
    /// Replicas failed at a read.
    ReadFailure {
        consistency: Consistency,
        received: i32,
        wanted: i32,
        failures: FailureReason,
        data_present: bool,
    },
    /// A user-defined function failed.
    FunctionFailure {
        keyspace: String,
        function: String,
        arguments: Vec<String>,
    },
    /// Replicas failed at a write.
    WriteFailure {
        consistency: Consistency,
        received: i32,
        wanted: i32,
        failures: FailureReason,
        write_type: String,
    },
    /// The change-data-capture log is full.
    CdcWriteFailure,
    /// Whether a conditional write happened is not known.
    CasWriteUnknown {
        consistency: Consistency,
        received: i32,
        wanted: i32,
    },
    /// The statement does not parse.
    Syntax,
    /// The user may not do that.
    Unauthorized,
    /// The statement parses, but makes no sense.
    Invalid,
    /// A configuration in the way.
    Config,
    /// The keyspace or table exists; the table is empty for a keyspace.
    AlreadyExists { keyspace: String, table: String },
    /// The server does not know the prepared statement.
    Unprepared { id: Vec<u8> },
    /// A code this codec does not know.
    Other { code: i32 },
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.name(), self.message)
    }
}

impl std::error::Error for ServerError {}

use ServerErrorKind as Kind;

impl ServerErrorKind {
    /// The protocol's code, and a short name for people, lower case.
    fn known(&self) -> (i32, &'static str) {
        match self {
            Kind::Server => (0x0000, "server error"),
            Kind::Protocol => (0x000a, "protocol error"),
            Kind::BadCredentials => (0x0100, "bad credentials"),
            Kind::Unavailable { .. } => (0x1000, "unavailable"),
            Kind::Overloaded => (0x1001, "overloaded"),
            Kind::IsBootstrapping => (0x1002, "bootstrapping"),
            Kind::Truncate => (0x1003, "truncate error"),
            Kind::WriteTimeout { .. } => (0x1100, "write timeout"),
            Kind::ReadTimeout { .. } => (0x1200, "read timeout"),
            Kind::ReadFailure { .. } => (0x1300, "read failure"),
            Kind::FunctionFailure { .. } => (0x1400, "function failure"),
            Kind::WriteFailure { .. } => (0x1500, "write failure"),
            Kind::CdcWriteFailure => (0x1600, "cdc write failure"),
            Kind::CasWriteUnknown { .. } => (0x1700, "outcome of conditional write unknown"),
            Kind::Syntax => (0x2000, "syntax error"),
            Kind::Unauthorized => (0x2100, "unauthorized"),
            Kind::Invalid => (0x2200, "invalid request"),
            Kind::Config => (0x2300, "configuration error"),
            Kind::AlreadyExists { .. } => (0x2400, "already exists"),
            Kind::Unprepared { .. } => (0x2500, "unprepared"),
            Kind::Other { code } => (*code, "unknown error"),
        }
    }

    /// The protocol's code.
    pub fn code(&self) -> i32 {
        self.known().0
    }

    /// A short name for people, lower case.
    pub fn name(&self) -> &'static str {
        self.known().1
    }
}

/// Level, replicas that answered, replicas wanted: how most errors of replicas start.
fn put_replicas(consistency: Consistency, received: i32, wanted: i32, out: &mut Vec<u8>) {
    out.put_u16(consistency.code());
    out.put_i32(received);
    out.put_i32(wanted);
}

fn replicas(reader: &mut Reader<'_>) -> Result<(Consistency, i32, i32), DecodeError> {
    let consistency = Consistency::from_code(reader.u16("consistency")?)?;
    Ok((
        consistency,
        reader.i32("replicas")?,
        reader.i32("replicas")?,
    ))
}

impl FailureReason {
    fn encode(&self, version: Version, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match (version, self) {
            (Version::V4, Self::Count(count)) => out.put_i32(*count),
            (Version::V4, Self::Replicas(list)) => out.put_count("failures", list.len())?,
            // v5 cannot say a number without the replicas: none are named.
            (Version::V5, Self::Count(_)) => out.put_i32(0),
            (Version::V5, Self::Replicas(list)) => {
                out.put_count("failures", list.len())?;
                for (replica, code) in list {
                    out.put_address(*replica);
                    out.put_u16(*code);
                }
            }
        }
        Ok(())
    }

    fn decode(version: Version, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        if version == Version::V4 {
            return reader.i32("failures").map(Self::Count);
        }
        let count = reader.count("failures", 7)?;
        let failure = |_| Ok((reader.address("replica")?, reader.u16("failure code")?));
        (0..count)
            .map(failure)
            .collect::<Result<_, _>>()
            .map(Self::Replicas)
    }
}

impl ServerError {
    pub(crate) fn encode(&self, version: Version, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.put_i32(self.kind.code());
        out.put_string("message", &self.message)?;
        match &self.kind {
            Kind::Unavailable {
                consistency,
                required,
                alive,
            } => {
                put_replicas(*consistency, *required, *alive, out);
            }
            Kind::WriteTimeout {
                consistency,
                received,
                wanted,
                write_type,
                contentions,
            } => {
                put_replicas(*consistency, *received, *wanted, out);
                out.put_string("write type", write_type)?;
                if let (Version::V5, Some(contentions)) = (version, contentions) {
                    out.put_u16(*contentions);
                }
            }
            Kind::ReadTimeout {
                consistency,
                received,
                wanted,
                data_present,
            } => {
                put_replicas(*consistency, *received, *wanted, out);
                out.put_u8(u8::from(*data_present));
            }
            Kind::ReadFailure { .. } | Kind::WriteFailure { .. } | Kind::FunctionFailure { .. } => {
                self.encode_failure(version, out)?;
            }
            Kind::CasWriteUnknown {
                consistency,
                received,
                wanted,
            } => {
                put_replicas(*consistency, *received, *wanted, out);
            }
            Kind::AlreadyExists { keyspace, table } => {
                out.put_string("keyspace", keyspace)?;
                out.put_string("table", table)?;
            }
            Kind::Unprepared { id } => out.put_short_bytes("statement id", id)?,
            _ => {}
        }
        Ok(())
    }

    /// The facts of the errors about something that failed, rather than took too long.
    fn encode_failure(&self, version: Version, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match &self.kind {
            Kind::ReadFailure {
                consistency,
                received,
                wanted,
                failures,
                data_present,
            } => {
                put_replicas(*consistency, *received, *wanted, out);
                failures.encode(version, out)?;
                out.put_u8(u8::from(*data_present));
            }
            Kind::FunctionFailure {
                keyspace,
                function,
                arguments,
            } => {
                out.put_string("keyspace", keyspace)?;
                out.put_string("function", function)?;
                out.put_string_list("arguments", arguments)?;
            }
            Kind::WriteFailure {
                consistency,
                received,
                wanted,
                failures,
                write_type,
            } => {
                put_replicas(*consistency, *received, *wanted, out);
                failures.encode(version, out)?;
                out.put_string("write type", write_type)?;
            }
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn decode(version: Version, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let code = reader.i32("error code")?;
        let message = reader.string("message")?;
        let kind = match code {
            0x0000 => Kind::Server,
            0x000a => Kind::Protocol,
            0x0100 => Kind::BadCredentials,
            0x1001 => Kind::Overloaded,
            0x1002 => Kind::IsBootstrapping,
            0x1003 => Kind::Truncate,
            0x1000..0x2000 => replica_error(code, version, reader)?,
            0x2000 => Kind::Syntax,
            0x2100 => Kind::Unauthorized,
            0x2200 => Kind::Invalid,
            0x2300 => Kind::Config,
            0x2400 => Kind::AlreadyExists {
                keyspace: reader.string("keyspace")?,
                table: reader.string("table")?,
            },
            0x2500 => Kind::Unprepared {
                id: reader.short_bytes("statement id")?.to_vec(),
            },
            code => other(code, reader),
        };
        Ok(Self { message, kind })
    }
}

/// A newer server's error: its facts cannot be read, its code and words can.
fn other(code: i32, reader: &mut Reader<'_>) -> Kind {
    reader.rest();
    Kind::Other { code }
}

fn replica_error(
    code: i32,
    version: Version,
    reader: &mut Reader<'_>,
) -> Result<Kind, DecodeError> {
    match code {
        0x1600 => return Ok(Kind::CdcWriteFailure),
        0x1400 => {
            return Ok(Kind::FunctionFailure {
                keyspace: reader.string("keyspace")?,
                function: reader.string("function")?,
                arguments: reader.string_list("arguments")?,
            });
        }
        0x1000 | 0x1100 | 0x1200 | 0x1300 | 0x1500 | 0x1700 => {}
        _ => return Ok(other(code, reader)),
    }
    let (consistency, received, wanted) = replicas(reader)?;
    Ok(match code {
        0x1000 => Kind::Unavailable {
            consistency,
            required: received,
            alive: wanted,
        },
        0x1100 => Kind::WriteTimeout {
            consistency,
            received,
            wanted,
            write_type: reader.string("write type")?,
            contentions: match (version, reader.left()) {
                (Version::V4, _) | (_, 0) => None,
                _ => Some(reader.u16("contentions")?),
            },
        },
        0x1200 => Kind::ReadTimeout {
            consistency,
            received,
            wanted,
            data_present: reader.u8("data present")? != 0,
        },
        0x1300 => Kind::ReadFailure {
            consistency,
            received,
            wanted,
            failures: FailureReason::decode(version, reader)?,
            data_present: reader.u8("data present")? != 0,
        },
        0x1500 => Kind::WriteFailure {
            consistency,
            received,
            wanted,
            failures: FailureReason::decode(version, reader)?,
            write_type: reader.string("write type")?,
        },
        _ => Kind::CasWriteUnknown {
            consistency,
            received,
            wanted,
        },
    })
}
