//! A message's header and body: nine bytes that say version, flags, stream, opcode and length.
//! Refuses compression (its flag is an error) and the meaning of bodies.

use super::error::{DecodeError, EncodeError};
use super::wire::{Reader, Write};
use std::fmt;

/// Bytes of a header.
pub const HEADER_BYTES: usize = 9;
/// Longest body; the protocol's own limit.
pub const LONGEST_BODY: usize = 256 << 20;

/// Set in the version byte of a response.
const RESPONSE_BIT: u8 = 0x80;

/// Header flags.
pub mod flag {
    /// The body is compressed (not supported).
    pub const COMPRESSION: u8 = 0x01;
    /// Trace the request; a traced response starts with the trace's id.
    pub const TRACING: u8 = 0x02;
    /// The body starts with a custom payload.
    pub const CUSTOM_PAYLOAD: u8 = 0x04;
    /// The body starts with warnings.
    pub const WARNING: u8 = 0x08;
}

/// A version of the native protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// Cassandra 2.2 and newer.
    V4,
    /// Cassandra 4.0 and newer: checksummed frames.
    V5,
}

impl Version {
    /// The number in the header.
    pub fn number(self) -> u8 {
        match self {
            Self::V4 => 4,
            Self::V5 => 5,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.number())
    }
}

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the protocol's own")]
pub enum Opcode {
    Error = 0x00,
    Startup = 0x01,
    Ready = 0x02,
    Authenticate = 0x03,
    Options = 0x05,
    Supported = 0x06,
    Query = 0x07,
    Result = 0x08,
    Prepare = 0x09,
    Execute = 0x0a,
    Register = 0x0b,
    Event = 0x0c,
    Batch = 0x0d,
    AuthChallenge = 0x0e,
    AuthResponse = 0x0f,
    AuthSuccess = 0x10,
}

impl Opcode {
    const KNOWN: [Self; 16] = [
        Self::Error,
        Self::Startup,
        Self::Ready,
        Self::Authenticate,
        Self::Options,
        Self::Supported,
        Self::Query,
        Self::Result,
        Self::Prepare,
        Self::Execute,
        Self::Register,
        Self::Event,
        Self::Batch,
        Self::AuthChallenge,
        Self::AuthResponse,
        Self::AuthSuccess,
    ];

    fn from_code(code: u8) -> Result<Self, DecodeError> {
        let found = Self::KNOWN.into_iter().find(|opcode| *opcode as u8 == code);
        found.ok_or(DecodeError::UnknownCode {
            what: "opcode",
            code: i64::from(code),
        })
    }
}

/// What goes before a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Protocol version.
    pub version: Version,
    /// Whether the server sent it.
    pub response: bool,
    /// Of [`flag`].
    pub flags: u8,
    /// Which request it belongs to; −1 for events.
    pub stream: i16,
    /// What the body is.
    pub opcode: Opcode,
    /// Bytes of the body.
    pub length: usize,
}

impl Header {
    /// Appends the header.
    ///
    /// # Errors
    /// A length above the protocol's limit.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if self.length > LONGEST_BODY {
            return Err(EncodeError::TooLong {
                what: "an envelope",
                length: self.length,
                most: LONGEST_BODY,
            });
        }
        let direction = if self.response { RESPONSE_BIT } else { 0 };
        out.put_u8(self.version.number() | direction);
        out.put_u8(self.flags);
        out.extend_from_slice(&self.stream.to_be_bytes());
        out.put_u8(self.opcode as u8);
        out.put_count("an envelope", self.length)
    }

    /// Reads a header off the first nine bytes, or none while there are fewer.
    ///
    /// # Errors
    /// Another version, an unknown opcode, a length that is negative or above the limit.
    #[inline]
    pub fn decode(bytes: &[u8]) -> Result<Option<Self>, DecodeError> {
        // The version comes first, so a peer that speaks something else is recognised at once.
        let Some(first) = bytes.first() else {
            return Ok(None);
        };
        let version = match first & !RESPONSE_BIT {
            4 => Version::V4,
            5 => Version::V5,
            found => return Err(DecodeError::Version { found }),
        };
        if bytes.len() < HEADER_BYTES {
            return Ok(None);
        }
        let mut reader = Reader::new(&bytes[1..HEADER_BYTES]);
        let flags = reader.u8("header")?;
        let stream = reader.u16("header")? as i16;
        let opcode = Opcode::from_code(reader.u8("header")?)?;
        let length = reader.i32("header")?;
        let too_long = DecodeError::TooLong {
            length: length as u32 as usize,
            most: LONGEST_BODY,
        };
        let length = usize::try_from(length).ok().filter(|n| *n <= LONGEST_BODY);
        Ok(Some(Self {
            version,
            response: first & RESPONSE_BIT != 0,
            flags,
            stream,
            opcode,
            length: length.ok_or(too_long)?,
        }))
    }
}

/// A header with its body's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The header; its length is the body's.
    pub header: Header,
    /// The body's bytes.
    pub body: Vec<u8>,
}

/// The header at the front of `bytes` and the length of its envelope, or none while incomplete.
pub(super) fn split(bytes: &[u8]) -> Result<Option<(Header, usize)>, DecodeError> {
    let Some(header) = Header::decode(bytes)? else {
        return Ok(None);
    };
    if header.flags & flag::COMPRESSION != 0 {
        return Err(DecodeError::Flags {
            what: "an envelope",
            flags: u32::from(flag::COMPRESSION),
        });
    }
    let end = HEADER_BYTES + header.length;
    Ok((bytes.len() >= end).then_some((header, end)))
}

impl Envelope {
    /// Splits the first envelope off `bytes`: itself and the bytes it took, or none while
    /// incomplete.
    ///
    /// # Errors
    /// Whatever [`Header::decode`] refuses, and a compressed body.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Self, usize)>, DecodeError> {
        let Some((header, end)) = split(bytes)? else {
            return Ok(None);
        };
        let body = bytes[HEADER_BYTES..end].to_vec();
        Ok(Some((Self { header, body }, end)))
    }

    /// Appends header and body.
    ///
    /// # Errors
    /// A body above the protocol's limit.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let length = self.body.len();
        Header {
            length,
            ..self.header
        }
        .encode(out)?;
        out.extend_from_slice(&self.body);
        Ok(())
    }
}
