//! Protocol v5's outer frames with their checksums, and the inbox that turns received bytes,
//! framed or plain, into envelopes. Refuses compressed frames and all IO.

use super::envelope::{Envelope, HEADER_BYTES, Header, split};
use super::error::DecodeError;
use std::ops::Range;

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
    out.extend_from_slice(&frame_header(payload.len(), self_contained));
    out.extend_from_slice(payload);
    out.extend_from_slice(&crc32(payload).to_le_bytes());
}

fn frame_header(length: usize, self_contained: bool) -> [u8; FRAME_HEADER_BYTES] {
    let facts = length as u32 | if self_contained { SELF_CONTAINED } else { 0 };
    let ([a, b, c, _], [d, e, f, _]) = (facts.to_le_bytes(), crc24(facts).to_le_bytes());
    [a, b, c, d, e, f]
}

/// Appends frames that carry these encoded envelopes in order: as many small ones together as
/// fit a frame, a large one cut over as many frames as it takes.
pub fn put_envelopes<'a>(envelopes: impl IntoIterator<Item = &'a [u8]>, out: &mut Vec<u8>) {
    let mut outbox = Outbox {
        framed: true,
        bytes: std::mem::take(out),
        sent: 0,
        open: None,
    };
    envelopes.into_iter().for_each(|one| outbox.push(one));
    outbox.seal();
    *out = outbox.bytes;
}

/// Encoded envelopes on their way to the wire: as they are, or in v5's frames, as many together as fit.
#[derive(Debug, Default)]
pub struct Outbox {
    framed: bool,
    bytes: Vec<u8>,
    /// Bytes at the front that were sent.
    sent: usize,
    /// Where the frame begins whose header and checksum are still to be written.
    open: Option<usize>,
}

impl Outbox {
    /// Empty and plain.
    pub fn new() -> Self {
        Self::default()
    }

    /// What follows goes into frames: v5 after its handshake.
    pub fn frame_from_here(&mut self) {
        self.framed = true;
    }

    /// Appends an envelope.
    pub fn push(&mut self, envelope: &[u8]) {
        if !self.framed {
            self.bytes.extend_from_slice(envelope);
            return;
        }
        let payload = |open: usize| self.bytes.len() - open - FRAME_HEADER_BYTES;
        let fits = |open| payload(open) + envelope.len() <= LONGEST_PAYLOAD;
        if !self.open.is_some_and(fits) {
            self.seal();
        }
        if envelope.len() > LONGEST_PAYLOAD {
            for part in envelope.chunks(LONGEST_PAYLOAD) {
                put_frame(part, false, &mut self.bytes);
            }
            return;
        }
        if self.open.is_none() {
            self.open = Some(self.bytes.len());
            self.bytes.extend_from_slice(&[0; FRAME_HEADER_BYTES]);
        }
        self.bytes.extend_from_slice(envelope);
    }

    /// Ends the open frame: everything pushed so far may be sent.
    pub fn seal(&mut self) {
        let Some(open) = self.open.take() else {
            return;
        };
        let payload = open + FRAME_HEADER_BYTES;
        let header = frame_header(self.bytes.len() - payload, true);
        let checksum = crc32(&self.bytes[payload..]);
        self.bytes[open..payload].copy_from_slice(&header);
        self.bytes.extend_from_slice(&checksum.to_le_bytes());
    }

    /// What is still to be sent, once it is sealed.
    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    /// How many bytes were pushed before the next envelope, since everything was last sent.
    pub fn pushed(&self) -> usize {
        self.bytes.len()
    }

    /// So many bytes of [`Self::rest`] were sent; how many of [`Self::pushed`] that makes in all.
    pub fn took(&mut self, count: usize) -> usize {
        let sent = self.bytes.len().min(self.sent + count);
        self.sent = sent;
        if sent == self.bytes.len() {
            // The memory is kept.
            self.bytes.clear();
            self.sent = 0;
        }
        sent
    }
}

/// An envelope that still stands where it was received.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// Its header.
    pub header: Header,
    /// Its body's bytes.
    pub body: &'a [u8],
}

/// Received bytes on their way to envelopes.
///
/// Starts plain, which is all of v4 and v5's handshake; [`Inbox::expect_frames`] says that v5's
/// frames follow. An error is final: what follows in the stream cannot be interpreted.
#[derive(Debug, Default)]
pub struct Inbox {
    framed: bool,
    /// Received bytes up to `end`, and room for more.
    received: Vec<u8>,
    end: usize,
    /// Where the part of `received` starts that no frame or envelope was taken off.
    read: usize,
    /// The envelopes of the last self-contained frame that are not handed out yet; before `read`.
    frame: Range<usize>,
    /// An envelope that is cut over several frames, as far as it has come.
    partial: Vec<u8>,
    /// Whether `partial` was whole and is handed out.
    partial_taken: bool,
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
        self.space(bytes.len())[..bytes.len()].copy_from_slice(bytes);
        self.filled(bytes.len());
    }

    /// Room for at least so many bytes, to be read into; [`Self::filled`] says how many came.
    pub fn space(&mut self, least: usize) -> &mut [u8] {
        if self.received.len() - self.end < least {
            let first = match self.frame.is_empty() {
                true => self.read,
                false => self.frame.start,
            };
            self.received.copy_within(first..self.end, 0);
            self.end -= first;
            self.read -= first;
            self.frame = match self.frame.is_empty() {
                true => 0..0,
                false => 0..self.frame.end - first,
            };
            let wanted = self.end + least;
            if self.received.len() < wanted {
                self.received.resize(wanted.max(2 * self.received.len()), 0);
            }
        }
        &mut self.received[self.end..]
    }

    /// So many bytes were read into [`Self::space`].
    pub fn filled(&mut self, count: usize) {
        self.end = (self.end + count).min(self.received.len());
    }

    /// Whether no bytes of an unfinished envelope or frame are waiting.
    pub fn is_between_envelopes(&self) -> bool {
        let partial = self.partial.is_empty() || self.partial_taken;
        self.frame.is_empty() && partial && self.read == self.end
    }

    /// As [`Self::next_view`], with bytes of its own.
    ///
    /// # Errors
    /// As [`Self::next_view`].
    pub fn pop(&mut self) -> Result<Option<Envelope>, DecodeError> {
        let view = self.next_view()?;
        Ok(view.map(|view| Envelope {
            header: view.header,
            body: view.body.to_vec(),
        }))
    }

    /// The next whole envelope, or none until more bytes are there.
    ///
    /// # Errors
    /// A checksum that does not match, an envelope that does not end with its frames, or
    /// whatever [`Header::decode`] refuses.
    pub fn next_view(&mut self) -> Result<Option<View<'_>>, DecodeError> {
        if self.partial_taken {
            self.partial.clear();
            self.partial_taken = false;
        }
        if !self.framed {
            let from = self.read;
            let Some((header, taken)) = split(&self.received[from..self.end])? else {
                return Ok(None);
            };
            self.read += taken;
            let body = &self.received[from + HEADER_BYTES..from + taken];
            return Ok(Some(View { header, body }));
        }
        loop {
            if !self.frame.is_empty() {
                let from = self.frame.start;
                let payload = &self.received[self.frame.clone()];
                let Some((header, taken)) = split(payload)? else {
                    return Err(DecodeError::Truncated {
                        what: "an envelope in a self-contained frame",
                        needed: HEADER_BYTES,
                        left: payload.len(),
                    });
                };
                self.frame.start += taken;
                let body = &self.received[from + HEADER_BYTES..from + taken];
                return Ok(Some(View { header, body }));
            }
            if !self.unwrap_frame()? {
                return Ok(None);
            }
            if self.frame.is_empty()
                && let Some((header, taken)) = split(&self.partial)?
            {
                if taken < self.partial.len() {
                    return Err(DecodeError::Trailing {
                        what: "an envelope cut over frames",
                        left: self.partial.len() - taken,
                    });
                }
                self.partial_taken = true;
                let body = &self.partial[HEADER_BYTES..];
                return Ok(Some(View { header, body }));
            }
        }
    }

    /// Takes one frame off the received bytes; false when there is no whole one.
    fn unwrap_frame(&mut self) -> Result<bool, DecodeError> {
        let bytes = &self.received[self.read..self.end];
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
        if facts & SELF_CONTAINED == 0 {
            self.partial.extend_from_slice(payload);
        } else if self.partial.is_empty() {
            self.frame = self.read + FRAME_HEADER_BYTES..self.read + end;
        } else {
            return Err(DecodeError::Trailing {
                what: "the frames of an unfinished envelope",
                left: self.partial.len(),
            });
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
