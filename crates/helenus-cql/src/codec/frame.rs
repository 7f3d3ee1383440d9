//! Protocol v5's outer frames with their checksums, and the inbox that turns received bytes,
//! framed or plain, into envelopes. Refuses compressed frames and all IO.

use super::envelope::{Envelope, HEADER_BYTES};
use super::error::DecodeError;
use std::collections::VecDeque;

/// Most payload bytes of a frame: the header has 17 bits for it.
pub const LONGEST_PAYLOAD: usize = (1 << 17) - 1;
/// Bytes of an uncompressed frame's header: 3 of facts, 3 of CRC-24.
const FRAME_HEADER_BYTES: usize = 6;
/// Bytes behind the payload: a CRC-32.
const FRAME_TRAILER_BYTES: usize = 4;
/// Set in a frame that holds whole envelopes only.
const SELF_CONTAINED: u32 = 1 << 17;
/// Start value and polynomial of the header's CRC-24, from the protocol's specification.
const CRC24_START: u32 = 0x87_5060;
const CRC24_POLYNOMIAL: u32 = 0x197_4f0b;
/// Bytes that the payload's CRC-32 starts with, from the protocol's specification.
const CRC32_SALT: [u8; 4] = [0xfa, 0x2d, 0x55, 0xca];

/// CRC-24 of the header's three bytes, least significant first.
fn crc24(facts: u32) -> u32 {
    let mut crc = CRC24_START;
    for byte in &facts.to_le_bytes()[..3] {
        crc ^= u32::from(*byte) << 16;
        for _ in 0..8 {
            crc <<= 1;
            if crc & 0x100_0000 != 0 {
                crc ^= CRC24_POLYNOMIAL;
            }
        }
    }
    crc
}

fn crc32(payload: &[u8]) -> u32 {
    let mut hash = crc32fast::Hasher::new();
    hash.update(&CRC32_SALT);
    hash.update(payload);
    hash.finalize()
}

/// Appends one frame. `payload` is at most [`LONGEST_PAYLOAD`] bytes: callers cut it.
fn put_frame(payload: &[u8], self_contained: bool, out: &mut Vec<u8>) {
    debug_assert!(payload.len() <= LONGEST_PAYLOAD);
    let facts = payload.len() as u32 | if self_contained { SELF_CONTAINED } else { 0 };
    out.extend_from_slice(&facts.to_le_bytes()[..3]);
    out.extend_from_slice(&crc24(facts).to_le_bytes()[..3]);
    out.extend_from_slice(payload);
    out.extend_from_slice(&crc32(payload).to_le_bytes());
}

/// Appends frames that carry these encoded envelopes in order: as many small ones together as
/// fit a frame, a large one cut over as many frames as it takes.
pub fn put_envelopes<'a>(envelopes: impl IntoIterator<Item = &'a [u8]>, out: &mut Vec<u8>) {
    let mut together: Vec<u8> = Vec::new();
    for envelope in envelopes {
        if !together.is_empty() && together.len() + envelope.len() > LONGEST_PAYLOAD {
            put_frame(&together, true, out);
            together.clear();
        }
        if envelope.len() > LONGEST_PAYLOAD {
            for part in envelope.chunks(LONGEST_PAYLOAD) {
                put_frame(part, false, out);
            }
        } else {
            together.extend_from_slice(envelope);
        }
    }
    if !together.is_empty() {
        put_frame(&together, true, out);
    }
}

/// Received bytes on their way to envelopes.
///
/// Starts plain, which is all of v4 and v5's handshake; [`Inbox::expect_frames`] says that v5's
/// frames follow. An error is final: what follows in the stream cannot be interpreted.
#[derive(Debug, Default)]
pub struct Inbox {
    framed: bool,
    received: Vec<u8>,
    /// Where the unread part of `received` starts.
    read: usize,
    /// The beginning of an envelope that is cut over several frames.
    partial: Vec<u8>,
    ready: VecDeque<Envelope>,
}

impl Inbox {
    /// Empty and plain.
    pub fn new() -> Self {
        Self::default()
    }

    /// From here on the peer sends frames.
    pub fn expect_frames(&mut self) {
        self.framed = true;
    }

    /// Adds bytes as they came.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.read == self.received.len() {
            self.received.clear();
            self.read = 0;
        } else if self.read > self.received.len() / 2 {
            self.received.drain(..self.read);
            self.read = 0;
        }
        self.received.extend_from_slice(bytes);
    }

    /// Whether bytes of an unfinished envelope or frame are waiting.
    pub fn is_between_envelopes(&self) -> bool {
        self.ready.is_empty() && self.partial.is_empty() && self.read == self.received.len()
    }

    /// The next whole envelope, or none until more bytes are pushed.
    ///
    /// # Errors
    /// A checksum that does not match, an envelope that does not end with its frames, or
    /// whatever [`Envelope::decode`] refuses.
    pub fn pop(&mut self) -> Result<Option<Envelope>, DecodeError> {
        if let Some(envelope) = self.ready.pop_front() {
            return Ok(Some(envelope));
        }
        if !self.framed {
            let Some((envelope, taken)) = Envelope::decode(&self.received[self.read..])? else {
                return Ok(None);
            };
            self.read += taken;
            return Ok(Some(envelope));
        }
        while self.ready.is_empty() && self.unwrap_frame()? {}
        Ok(self.ready.pop_front())
    }

    /// Takes one frame off the received bytes; false when there is no whole one.
    fn unwrap_frame(&mut self) -> Result<bool, DecodeError> {
        let bytes = &self.received[self.read..];
        let Some(header) = bytes.get(..FRAME_HEADER_BYTES) else {
            return Ok(false);
        };
        let facts = u32::from_le_bytes([header[0], header[1], header[2], 0]);
        let sent = u32::from_le_bytes([header[3], header[4], header[5], 0]);
        check("header", sent, crc24(facts))?;
        let length = facts as usize & LONGEST_PAYLOAD;
        let end = FRAME_HEADER_BYTES + length;
        let Some(trailer) = bytes.get(end..end + FRAME_TRAILER_BYTES) else {
            return Ok(false);
        };
        let payload = &bytes[FRAME_HEADER_BYTES..end];
        let sent = u32::from_le_bytes([trailer[0], trailer[1], trailer[2], trailer[3]]);
        check("payload", sent, crc32(payload))?;
        if facts & SELF_CONTAINED != 0 {
            whole_envelopes(payload, self.partial.len(), &mut self.ready)?;
        } else {
            self.partial.extend_from_slice(payload);
            finish_partial(&mut self.partial, &mut self.ready)?;
        }
        self.read += end + FRAME_TRAILER_BYTES;
        Ok(true)
    }
}

fn check(part: &'static str, sent: u32, computed: u32) -> Result<(), DecodeError> {
    if sent == computed {
        return Ok(());
    }
    Err(DecodeError::Checksum {
        part,
        sent,
        computed,
    })
}

fn whole_envelopes(
    mut payload: &[u8],
    unfinished: usize,
    ready: &mut VecDeque<Envelope>,
) -> Result<(), DecodeError> {
    if unfinished > 0 {
        let left = unfinished;
        return Err(DecodeError::Trailing {
            what: "the frames of an unfinished envelope",
            left,
        });
    }
    while !payload.is_empty() {
        let Some((envelope, taken)) = Envelope::decode(payload)? else {
            return Err(DecodeError::Truncated {
                what: "an envelope in a self-contained frame",
                needed: HEADER_BYTES,
                left: payload.len(),
            });
        };
        ready.push_back(envelope);
        payload = &payload[taken..];
    }
    Ok(())
}

fn finish_partial(
    partial: &mut Vec<u8>,
    ready: &mut VecDeque<Envelope>,
) -> Result<(), DecodeError> {
    let Some((envelope, taken)) = Envelope::decode(partial)? else {
        return Ok(());
    };
    if taken < partial.len() {
        return Err(DecodeError::Trailing {
            what: "an envelope cut over frames",
            left: partial.len() - taken,
        });
    }
    ready.push_back(envelope);
    partial.clear();
    Ok(())
}
