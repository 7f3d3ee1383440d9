//! What a hostile peer's bytes may do to the codec: be refused. The body of the fuzz target `frames` and of a law of ours.
//! Refuses helpers of the codec's tests: a fuzz target compiles this file alone.

use helenus_cql::codec::{
    Answer, DecodeError, Envelope, Framing, Inbox, Outbox, QueryResult, Request, Response, answer,
};

/// Reads bytes as all who receive any do: a stream as it came, or the insides of sound frames.
pub(crate) fn bytes(data: &[u8]) {
    let [choice, step, rest @ ..] = data else {
        return;
    };
    let framing = match choice % 3 {
        0 => Framing::Plain,
        1 => Framing::Frames,
        _ => Framing::Lz4,
    };
    // A checksum is nothing that one hits by chance.
    let sound = framing != Framing::Plain && choice & 0x80 == 0;
    let stream = match sound {
        true => frames(framing, rest),
        false => rest.to_vec(),
    };
    let (envelopes, end) = whole(framing, &stream);
    envelopes.iter().for_each(client_reads);
    let in_pieces = pieces(framing, &stream, 1 + usize::from(*step));
    assert_eq!(in_pieces, (envelopes.clone(), end));
    for framing in [Framing::Plain, Framing::Frames, Framing::Lz4] {
        assert_eq!(whole(framing, &sent(framing, &envelopes)).0, envelopes);
    }
}

/// The bytes as payloads of frames with the right checksums. Three of them say before each payload how long it is, whether
/// its envelopes end with it, and whether it is compressed, to what length.
fn frames(framing: Framing, mut data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let [facts, low, high, rest @ ..] = data {
        let length = usize::from(*low) | usize::from(*facts & 0x07) << 8;
        let (payload, rest) = rest.split_at(length.min(rest.len()));
        data = rest;
        let (mut payload, mut unpacked) = (payload.to_vec(), 0);
        if framing == Framing::Lz4 && facts & 0x10 != 0 {
            unpacked = usize::from(*high) << (facts >> 5);
        }
        if framing == Framing::Lz4 && facts & 0x18 == 0x18 {
            // Compressed by hand: literals only.
            unpacked = payload.len();
            payload = literals(&payload);
        }
        let mut header = payload.len() as u64 | (unpacked as u64) << 17;
        let (bytes, bit) = match framing {
            Framing::Lz4 => (5, 34),
            _ => (3, 17),
        };
        header |= u64::from(facts & 0x20 == 0) << bit;
        let header = &header.to_le_bytes()[..bytes];
        out.extend_from_slice(header);
        out.extend_from_slice(&crc24(header).to_le_bytes()[..3]);
        out.extend_from_slice(&payload);
        out.extend_from_slice(&crc32(&payload).to_le_bytes());
    }
    out
}

/// An LZ4 block that repeats nothing.
fn literals(payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    match payload.len().checked_sub(15) {
        None => out.push((payload.len() as u8) << 4),
        Some(mut more) => {
            out.push(0xf0);
            while more >= 255 {
                out.push(255);
                more -= 255;
            }
            out.push(more as u8);
        }
    }
    out.extend_from_slice(payload);
    out
}

/// The header's checksum, from the protocol's specification.
fn crc24(facts: &[u8]) -> u32 {
    facts.iter().fold(0x87_5060, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte) << 16, |crc, _| {
            let shifted = crc << 1;
            match shifted & 0x100_0000 {
                0 => shifted,
                _ => shifted ^ 0x197_4f0b,
            }
        })
    })
}

/// The payload's checksum: CRC-32 of four bytes from the protocol's specification and the payload.
fn crc32(payload: &[u8]) -> u32 {
    let salted = [0xfa, 0x2d, 0x55, 0xca].iter().chain(payload);
    !salted.fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 * (crc & 1))
        })
    })
}

/// All at once, as the blocking client reads; how it ends.
fn whole(framing: Framing, stream: &[u8]) -> (Vec<Envelope>, Option<DecodeError>) {
    let (mut inbox, mut all) = (Inbox::new(), Vec::new());
    inbox.expect(framing);
    inbox.push(stream);
    loop {
        match inbox.pop() {
            Ok(None) => return (all, None),
            Err(error) => return (all, Some(error)),
            Ok(Some(envelope)) => all.push(envelope),
        }
    }
}

/// In pieces into the inbox's own memory, as the load generator reads; how it ends.
fn pieces(framing: Framing, stream: &[u8], step: usize) -> (Vec<Envelope>, Option<DecodeError>) {
    let (mut inbox, mut all) = (Inbox::new(), Vec::new());
    inbox.expect(framing);
    for piece in stream.chunks(step) {
        inbox.space(piece.len())[..piece.len()].copy_from_slice(piece);
        inbox.filled(piece.len());
        loop {
            match inbox.next_view() {
                Ok(None) => break,
                Err(error) => return (all, Some(error)),
                Ok(Some(view)) => {
                    if let Ok(Ok(Answer::Rows(rows))) = answer(&view.header, view.body) {
                        let cells = rows.cells().count();
                        assert_eq!(cells, rows.row_count * rows.column_count);
                        let columns = rows.columns.as_deref().unwrap_or_default();
                        let _refused = rows.rows(columns);
                    }
                    all.push(Envelope {
                        header: view.header,
                        body: view.body.to_vec(),
                    });
                }
            }
        }
    }
    (all, None)
}

fn client_reads(envelope: &Envelope) {
    let (header, body) = (&envelope.header, &envelope.body);
    let response = Response::decode(header, body);
    if let Ok((Response::Result(QueryResult::Rows(page)), _)) = &response {
        let _refused = page.rows(page.columns.as_deref().unwrap_or_default());
    }
    // The generator's own reader takes the same answers.
    let read = answer(header, body);
    let is_answer = matches!(response, Ok((Response::Result(_) | Response::Error(_), _)));
    assert_eq!(read.is_ok(), is_answer, "{read:?} {response:?}");
    let _refused = Request::decode(header.version, header.opcode, body);
}

/// The bytes that carry these envelopes.
fn sent(framing: Framing, envelopes: &[Envelope]) -> Vec<u8> {
    let mut outbox = Outbox::new();
    outbox.frame_from_here(framing);
    for envelope in envelopes {
        let mut bytes = Vec::new();
        assert_eq!(envelope.encode(&mut bytes), Ok(()));
        outbox.push(&bytes);
    }
    outbox.seal();
    outbox.rest().to_vec()
}
