//! Protocol v5's outer frames with their checksums, plain or compressed by LZ4, and the inbox that turns received bytes into
//! envelopes. Refuses all IO.

use super::envelope::{Envelope, HEADER_BYTES, Header, split};
use super::error::DecodeError;
use lz4_flex::block;
use std::ops::Range;

/// Most payload bytes of a frame: the header has 17 bits for it.
pub const LONGEST_PAYLOAD: usize = (1 << 17) - 1;
/// Bits of a payload's length.
const LENGTH_BITS: u32 = 17;
/// Bytes behind the payload: a CRC-32.
const FRAME_TRAILER_BYTES: usize = 4;
/// Start value and polynomial of the header's CRC-24, from the protocol's specification.
const CRC24_START: u32 = 0x87_5060;
const CRC24_POLYNOMIAL: u32 = 0x197_4f0b;
/// Bytes that the payload's CRC-32 starts with, from the protocol's specification.
const CRC32_SALT: [u8; 4] = [0xfa, 0x2d, 0x55, 0xca];

/// What stands around envelopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Framing {
    /// Nothing: v4, and v5 before its handshake is over.
    #[default]
    Plain,
    /// Frames.
    Frames,
    /// Frames whose payload is compressed by LZ4 where that makes it smaller.
    Lz4,
}

impl Framing {
    /// Bytes of facts before the CRC-24: one length and a flag, or two lengths and a flag.
    fn fact_bytes(self) -> usize {
        match self {
            Self::Plain | Self::Frames => 3,
            Self::Lz4 => 5,
        }
    }

    fn header_bytes(self) -> usize {
        self.fact_bytes() + 3
    }

    /// Set in a frame that holds whole envelopes only.
    fn self_contained(self) -> u64 {
        match self {
            Self::Plain | Self::Frames => 1 << LENGTH_BITS,
            Self::Lz4 => 1 << (2 * LENGTH_BITS),
        }
    }
}

/// CRC-24 of the header's facts.
fn crc24(facts: &[u8]) -> u32 {
    let mut crc = CRC24_START;
    for byte in facts {
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

/// Appends frames that carry these encoded envelopes in order: as many small ones together as
/// fit a frame, a large one cut over as many frames as it takes.
pub fn put_envelopes<'a>(envelopes: impl IntoIterator<Item = &'a [u8]>, out: &mut Vec<u8>) {
    let mut outbox = Outbox {
        framing: Framing::Frames,
        bytes: std::mem::take(out),
        ..Outbox::default()
    };
    envelopes.into_iter().for_each(|one| outbox.push(one));
    outbox.seal();
    *out = outbox.bytes;
}

/// Encoded envelopes on their way to the wire: as they are, or in v5's frames, as many together as fit.
#[derive(Debug, Default)]
pub struct Outbox {
    framing: Framing,
    bytes: Vec<u8>,
    /// Bytes at the front that were sent.
    sent: usize,
    /// Where the frame begins whose header and checksum are still to be written.
    open: Option<usize>,
    /// Room for a compressed payload.
    packed: Vec<u8>,
}

impl Outbox {
    /// Empty and plain.
    pub fn new() -> Self {
        Self::default()
    }

    /// What follows goes into frames: v5 after its handshake.
    pub fn frame_from_here(&mut self, framing: Framing) {
        self.framing = framing;
    }

    /// Appends an envelope.
    pub fn push(&mut self, envelope: &[u8]) {
        if self.framing == Framing::Plain {
            self.bytes.extend_from_slice(envelope);
            return;
        }
        let payload = |open: usize| self.bytes.len() - open - self.framing.header_bytes();
        let fits = |open| payload(open) + envelope.len() <= LONGEST_PAYLOAD;
        if !self.open.is_some_and(fits) {
            self.seal();
        }
        if envelope.len() > LONGEST_PAYLOAD {
            for part in envelope.chunks(LONGEST_PAYLOAD) {
                let open = self.begin();
                self.bytes.extend_from_slice(part);
                self.close(open, false);
            }
            return;
        }
        if self.open.is_none() {
            self.open = Some(self.begin());
        }
        self.bytes.extend_from_slice(envelope);
    }

    /// Appends the envelope that `encode` appends to the bytes it gets.
    ///
    /// # Errors
    /// Those of `encode`; nothing is appended then.
    #[inline]
    pub fn write<E>(
        &mut self,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let opened = self.framing != Framing::Plain && self.open.is_none();
        let before = self.bytes.len();
        if opened {
            self.open = Some(self.begin());
        }
        let from = self.bytes.len();
        if let Err(error) = encode(&mut self.bytes) {
            self.bytes.truncate(before);
            self.open = self.open.filter(|_| !opened);
            return Err(error);
        }
        if let Some(open) = self.open
            && self.bytes.len() - open - self.framing.header_bytes() > LONGEST_PAYLOAD
        {
            // It begins another frame.
            let envelope = self.bytes.split_off(from);
            if opened {
                self.bytes.truncate(before);
                self.open = None;
            }
            self.seal();
            self.push(&envelope);
        }
        Ok(())
    }

    /// Leaves room for a header; where that is.
    fn begin(&mut self) -> usize {
        let open = self.bytes.len();
        self.bytes.resize(open + self.framing.header_bytes(), 0);
        open
    }

    /// Ends the open frame: everything pushed so far may be sent.
    #[inline]
    pub fn seal(&mut self) {
        if let Some(open) = self.open.take() {
            self.close(open, true);
        }
    }

    /// Writes header and checksum of the frame that begins here.
    fn close(&mut self, open: usize, self_contained: bool) {
        let from = open + self.framing.header_bytes();
        let mut facts = match self.framing {
            Framing::Plain | Framing::Frames => (self.bytes.len() - from) as u64,
            Framing::Lz4 => {
                let unpacked = self.pack(from);
                (self.bytes.len() - from) as u64 | (unpacked as u64) << LENGTH_BITS
            }
        };
        if self_contained {
            facts |= self.framing.self_contained();
        }
        let facts = &facts.to_le_bytes()[..self.framing.fact_bytes()];
        self.bytes[open..open + facts.len()].copy_from_slice(facts);
        self.bytes[open + facts.len()..from].copy_from_slice(&crc24(facts).to_le_bytes()[..3]);
        let checksum = crc32(&self.bytes[from..]);
        self.bytes.extend_from_slice(&checksum.to_le_bytes());
    }

    /// Compresses what stands from here on, where that makes it smaller; its length before, or 0 where it stays as it is.
    fn pack(&mut self, from: usize) -> usize {
        let payload = &self.bytes[from..];
        let length = payload.len();
        self.packed
            .resize(block::get_maximum_output_size(length), 0);
        match block::compress_into(payload, &mut self.packed) {
            Ok(packed) if packed < length => {
                self.bytes[from..from + packed].copy_from_slice(&self.packed[..packed]);
                self.bytes.truncate(from + packed);
                length
            }
            _ => 0,
        }
    }

    /// What is still to be sent, once it is sealed.
    #[inline]
    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    /// How many bytes stand before the next envelope, or before its frame where that is compressed as a whole, since
    /// everything was last sent.
    #[inline]
    pub fn pushed(&self) -> usize {
        let whole = self.open.filter(|_| self.framing == Framing::Lz4);
        whole.unwrap_or(self.bytes.len())
    }

    /// So many bytes of [`Self::rest`] were sent; how many of [`Self::pushed`] that makes in all.
    #[inline]
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
/// Starts plain, which is all of v4 and v5's handshake; [`Inbox::expect`] says that v5's frames follow. An error is final: what follows in the stream cannot be interpreted.
#[derive(Debug, Default)]
pub struct Inbox {
    framing: Framing,
    /// Received bytes up to `end`, and room for more.
    received: Vec<u8>,
    end: usize,
    /// Where the part of `received` starts that no frame or envelope was taken off.
    read: usize,
    /// The envelopes of the last self-contained frame that are not handed out yet; before `read`, or in `unpacked`.
    frame: Range<usize>,
    /// The last frame's payload, where it was compressed.
    unpacked: Vec<u8>,
    /// Whether `frame` is of `unpacked`.
    is_unpacked: bool,
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
    pub fn expect(&mut self, framing: Framing) {
        self.framing = framing;
    }

    /// Adds bytes as they came.
    pub fn push(&mut self, bytes: &[u8]) {
        self.space(bytes.len())[..bytes.len()].copy_from_slice(bytes);
        self.filled(bytes.len());
    }

    /// Room for at least so many bytes, to be read into; [`Self::filled`] says how many came.
    #[inline]
    pub fn space(&mut self, least: usize) -> &mut [u8] {
        let in_received = !self.frame.is_empty() && !self.is_unpacked;
        if !in_received && self.read == self.end {
            // All is handed out: the next bytes come where those before are still in the processor's caches.
            (self.read, self.end) = (0, 0);
        }
        if self.received.len() - self.end < least {
            let first = match in_received {
                true => self.frame.start,
                false => self.read,
            };
            self.received.copy_within(first..self.end, 0);
            self.end -= first;
            self.read -= first;
            if in_received {
                self.frame = 0..self.frame.end - first;
            }
            let wanted = self.end + least;
            if self.received.len() < wanted {
                self.received.resize(wanted.max(2 * self.received.len()), 0);
            }
        }
        &mut self.received[self.end..]
    }

    /// So many bytes were read into [`Self::space`].
    #[inline]
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
    #[inline]
    pub fn next_view(&mut self) -> Result<Option<View<'_>>, DecodeError> {
        if self.partial_taken {
            self.partial.clear();
            self.partial_taken = false;
        }
        if self.framing == Framing::Plain {
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
                let whole = match self.is_unpacked {
                    true => &self.unpacked,
                    false => &self.received,
                };
                let payload = &whole[self.frame.clone()];
                let Some((header, taken)) = split(payload)? else {
                    return Err(DecodeError::Truncated {
                        what: "an envelope in a self-contained frame",
                        needed: HEADER_BYTES,
                        left: payload.len(),
                    });
                };
                self.frame.start += taken;
                let body = &whole[from + HEADER_BYTES..from + taken];
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
        let (fact_bytes, header_bytes) = (self.framing.fact_bytes(), self.framing.header_bytes());
        let Some(header) = bytes.get(..header_bytes) else {
            return Ok(false);
        };
        let little = |bytes: &[u8]| {
            let each = bytes.iter().rev();
            each.fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte))
        };
        let facts = little(&header[..fact_bytes]);
        let sent = little(&header[fact_bytes..]) as u32;
        check("header", sent, crc24(&header[..fact_bytes]))?;
        let length = facts as usize & LONGEST_PAYLOAD;
        let end = header_bytes + length;
        let Some(trailer) = bytes.get(end..end + FRAME_TRAILER_BYTES) else {
            return Ok(false);
        };
        let payload = &bytes[header_bytes..end];
        check("payload", little(trailer) as u32, crc32(payload))?;
        let unpacked = match self.framing {
            Framing::Lz4 => (facts >> LENGTH_BITS) as usize & LONGEST_PAYLOAD,
            Framing::Plain | Framing::Frames => 0,
        };
        self.is_unpacked = unpacked > 0;
        if self.is_unpacked {
            self.unpacked.resize(unpacked, 0);
            let found = block::decompress_into(payload, &mut self.unpacked).ok();
            if found != Some(unpacked) {
                return Err(DecodeError::Unpacked { length: unpacked });
            }
        }
        let payload = match self.is_unpacked {
            true => &self.unpacked[..],
            false => payload,
        };
        if facts & self.framing.self_contained() == 0 {
            self.partial.extend_from_slice(payload);
        } else if self.partial.is_empty() {
            self.frame = match self.is_unpacked {
                true => 0..unpacked,
                false => self.read + header_bytes..self.read + end,
            };
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
