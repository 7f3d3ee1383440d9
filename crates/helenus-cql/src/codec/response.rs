//! What a server sends: the bodies of responses, both ways, with what may stand before them.
//! Refuses to judge: an ERROR is a response like any other here.

use super::envelope::{Header, Opcode, Version, flag};
use super::error::{DecodeError, EncodeError};
use super::event::Event;
use super::result::{Answer, QueryResult};
use super::server_error::ServerError;
use super::wire::{Reader, Write};
use std::collections::BTreeMap;

/// A response.
#[derive(Debug, Clone, PartialEq)]
pub enum Response {
    /// Something went wrong.
    Error(ServerError),
    /// The connection is open.
    Ready,
    /// The server wants to know who is there; the class of its authenticator.
    Authenticate(String),
    /// What the server supports.
    Supported(BTreeMap<String, Vec<String>>),
    /// The outcome of a statement.
    Result(QueryResult),
    /// Something happened in the cluster.
    Event(Event),
    /// The authenticator wants to know more.
    AuthChallenge(Option<Vec<u8>>),
    /// The authenticator is satisfied.
    AuthSuccess(Option<Vec<u8>>),
}

/// What may stand before a response's body.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extras {
    /// Id of the trace that was asked for.
    pub tracing_id: Option<[u8; 16]>,
    /// The server's warnings.
    pub warnings: Vec<String>,
    /// What a server's own extension sends along.
    pub custom_payload: BTreeMap<String, Option<Vec<u8>>>,
}

impl Extras {
    /// The header flags that announce them.
    pub fn flags(&self) -> u8 {
        let when = |set: bool, flag: u8| if set { flag } else { 0 };
        when(self.tracing_id.is_some(), flag::TRACING)
            | when(!self.warnings.is_empty(), flag::WARNING)
            | when(!self.custom_payload.is_empty(), flag::CUSTOM_PAYLOAD)
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if let Some(id) = &self.tracing_id {
            out.extend_from_slice(id);
        }
        if !self.warnings.is_empty() {
            out.put_string_list("warnings", &self.warnings)?;
        }
        if !self.custom_payload.is_empty() {
            out.put_short_count("custom payload", self.custom_payload.len())?;
            for (key, value) in &self.custom_payload {
                out.put_string("custom payload", key)?;
                out.put_bytes("custom payload", value.as_deref())?;
            }
        }
        Ok(())
    }

    fn decode(flags: u8, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut extras = Self::default();
        if flags & flag::TRACING != 0 {
            extras.tracing_id = Some(reader.uuid("tracing id")?);
        }
        if flags & flag::WARNING != 0 {
            extras.warnings = reader.string_list("warnings")?;
        }
        if flags & flag::CUSTOM_PAYLOAD != 0 {
            extras.custom_payload = reader.bytes_map("custom payload")?;
        }
        Ok(extras)
    }
}

/// The id of the trace that a response belongs to, where one was asked for.
pub fn tracing_id(header: &Header, body: &[u8]) -> Option<[u8; 16]> {
    let traced = header.flags & flag::TRACING != 0;
    body.first_chunk().filter(|_| traced).copied()
}

/// Reads the answer to a statement without copying rows; an error is `Err` inside.
///
/// # Errors
/// Anything else than a RESULT or an ERROR, or bytes that are none.
#[inline]
pub fn answer<'a>(
    header: &Header,
    body: &'a [u8],
) -> Result<Result<Answer<'a>, ServerError>, DecodeError> {
    let mut reader = Reader::new(body);
    if header.flags != 0 {
        Extras::decode(header.flags, &mut reader)?;
    }
    let answer = match header.opcode {
        Opcode::Result => Ok(Answer::decode(header.version, &mut reader)?),
        Opcode::Error => Err(ServerError::decode(header.version, &mut reader)?),
        other => {
            return Err(DecodeError::Direction {
                expected: "result",
                opcode: other as u8,
            });
        }
    };
    reader.end("a response")?;
    Ok(answer)
}

impl Response {
    /// The opcode that goes into the header.
    pub fn opcode(&self) -> Opcode {
        match self {
            Self::Error(_) => Opcode::Error,
            Self::Ready => Opcode::Ready,
            Self::Authenticate(_) => Opcode::Authenticate,
            Self::Supported(_) => Opcode::Supported,
            Self::Result(_) => Opcode::Result,
            Self::Event(_) => Opcode::Event,
            Self::AuthChallenge(_) => Opcode::AuthChallenge,
            Self::AuthSuccess(_) => Opcode::AuthSuccess,
        }
    }

    /// Appends extras and body; the header must carry [`Extras::flags`].
    ///
    /// # Errors
    /// Something too long, or something that only v5 can express.
    pub fn encode(
        &self,
        version: Version,
        extras: &Extras,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        extras.encode(out)?;
        match self {
            Self::Error(error) => error.encode(version, out),
            Self::Ready => Ok(()),
            Self::Authenticate(class) => out.put_string("authenticator", class),
            Self::Supported(options) => {
                out.put_short_count("supported options", options.len())?;
                options.iter().try_for_each(|(key, values)| {
                    out.put_string("supported option", key)?;
                    out.put_string_list("supported option", values)
                })
            }
            Self::Result(result) => result.encode(version, out),
            Self::Event(event) => event.encode(out),
            Self::AuthChallenge(token) | Self::AuthSuccess(token) => {
                out.put_bytes("token", token.as_deref())
            }
        }
    }

    /// Reads the extras and the body that this header announces.
    ///
    /// # Errors
    /// A request's opcode, or bytes that are no such response.
    pub fn decode(header: &Header, body: &[u8]) -> Result<(Self, Extras), DecodeError> {
        let mut reader = Reader::new(body);
        let extras = Extras::decode(header.flags, &mut reader)?;
        let response = match header.opcode {
            Opcode::Error => Self::Error(ServerError::decode(header.version, &mut reader)?),
            Opcode::Ready => Self::Ready,
            Opcode::Authenticate => Self::Authenticate(reader.string("authenticator")?),
            Opcode::Supported => Self::Supported(reader.string_multimap("supported options")?),
            Opcode::Result => Self::Result(QueryResult::decode(header.version, &mut reader)?),
            Opcode::Event => Self::Event(Event::decode(&mut reader)?),
            Opcode::AuthChallenge => {
                Self::AuthChallenge(reader.bytes("token")?.map(<[u8]>::to_vec))
            }
            Opcode::AuthSuccess => Self::AuthSuccess(reader.bytes("token")?.map(<[u8]>::to_vec)),
            other => {
                return Err(DecodeError::Direction {
                    expected: "response",
                    opcode: other as u8,
                });
            }
        };
        reader.end("a response")?;
        Ok((response, extras))
    }
}
