//! Laws of the codec: what is written reads back equal, what is cut short is noticed, and no
//! bytes make it panic.

mod hostile;
mod strategy;

use helenus_cql::codec::envelope::{Envelope, Header, Version, flag};
use helenus_cql::codec::frame::{LONGEST_PAYLOAD, put_envelopes};
use helenus_cql::codec::marshal::{class_of, parse_class};
use helenus_cql::codec::types::{DEEPEST_TYPE, decode_type, encode_type};
use helenus_cql::codec::value::{decode_value, encode_value};
use helenus_cql::codec::wire::Reader;
use helenus_cql::codec::{
    Answer, DecodeError, Extras, Framing, Inbox, Opcode, Outbox, QueryResult, Request, Response,
    RowsPage, answer,
};
use helenus_model::cql::{CqlType, CqlValue};
use proptest::prelude::*;
use strategy::*;

fn request_header(version: Version, request: &Request, length: usize) -> Header {
    Header {
        version,
        response: false,
        flags: 0,
        stream: 7,
        opcode: request.opcode(),
        length,
    }
}

fn response_header(version: Version, response: &Response, extras: &Extras) -> Header {
    Header {
        version,
        response: true,
        flags: extras.flags(),
        stream: 7,
        opcode: response.opcode(),
        length: 0,
    }
}

/// An envelope of `length` body bytes, on the stream given.
fn envelope(version: Version, stream: i16, length: usize) -> Envelope {
    let body = vec![stream as u8; length];
    let opcode = Opcode::Result;
    let header = Header {
        version,
        response: true,
        flags: 0,
        stream,
        opcode,
        length,
    };
    Envelope { header, body }
}

fn plain(envelope: &Envelope) -> Vec<u8> {
    let mut bytes = Vec::new();
    envelope.encode(&mut bytes).expect("small enough");
    bytes
}

fn pop_all(inbox: &mut Inbox) -> Result<Vec<Envelope>, DecodeError> {
    let mut all = Vec::new();
    while let Some(envelope) = inbox.pop()? {
        all.push(envelope);
    }
    Ok(all)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn types_come_back(ty in any_type(), version in any_version()) {
        let mut out = Vec::new();
        encode_type(&ty, version, &mut out).unwrap();
        let mut reader = Reader::new(&out);
        prop_assert_eq!(&decode_type(&mut reader).unwrap(), &ty);
        prop_assert_eq!(reader.left(), 0);
        prop_assert_eq!(parse_class(&class_of(&ty), DEEPEST_TYPE).unwrap(), ty);
        for cut in 0..out.len() {
            prop_assert!(decode_type(&mut Reader::new(&out[..cut])).is_err());
        }
    }

    #[test]
    fn values_come_back((ty, value) in any_type_and_value()) {
        let mut out = Vec::new();
        encode_value(&ty, &value, &mut out).unwrap();
        let back = decode_value(&ty, &out).unwrap();
        prop_assert_eq!(back.as_ref(), Some(&value));
        // Fields at the end may be left out, and then are null: there a cut may say the same.
        let fields = matches!(ty, CqlType::Tuple(_) | CqlType::Udt { .. });
        for cut in 0..if fields { 0 } else { out.len() } {
            let short = decode_value(&ty, &out[..cut]).ok().flatten();
            prop_assert_ne!(short.as_ref(), Some(&value));
        }
    }

    #[test]
    fn values_of_another_type_are_refused((ty, _) in any_type_and_value(), value in any_scalar()) {
        let mut out = Vec::new();
        if encode_value(&ty, &value.1, &mut out).is_ok() {
            prop_assert_eq!(ty, value.0);
        }
    }

    #[test]
    fn requests_come_back(version in any_version(), request in any_request()) {
        let request = for_version(request, version);
        let mut out = Vec::new();
        request.encode(version, &mut out).unwrap();
        let opcode = request_header(version, &request, out.len()).opcode;
        prop_assert_eq!(&Request::decode(version, opcode, &out).unwrap(), &request);
        for cut in 0..out.len() {
            prop_assert!(Request::decode(version, opcode, &out[..cut]).is_err());
        }
        out.push(0);
        prop_assert!(Request::decode(version, opcode, &out).is_err());
    }

    #[test]
    fn responses_come_back(
        version in any_version(),
        response in any_response(),
        extras in any_extras(),
    ) {
        let response = response_for_version(response, version);
        let mut out = Vec::new();
        response.encode(version, &extras, &mut out).unwrap();
        let header = response_header(version, &response, &extras);
        let back = Response::decode(&header, &out).unwrap();
        prop_assert_eq!(&back, &(response, extras));
        for cut in 0..out.len() {
            // A few facts are optional at the end of a body; then the rest must read otherwise.
            let short = Response::decode(&header, &out[..cut]).ok();
            prop_assert_ne!(short.as_ref(), Some(&back));
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        version in any_version(),
        (ty, _) in any_type_and_value(),
    ) {
        let _ = decode_value(&ty, &bytes);
        let _ = decode_type(&mut Reader::new(&bytes));
        let _ = parse_class(&String::from_utf8_lossy(&bytes), DEEPEST_TYPE);
        for code in 0..=0x10 {
            let head = [version.number() | 0x80, bytes.first().copied().unwrap_or(0), 0, 0, code, 0, 0, 0, 0];
            let Ok(Some(header)) = Header::decode(&head) else { continue };
            let _ = Request::decode(version, header.opcode, &bytes);
            let _ = read_everything(&header, &bytes);
        }
        for framing in [Framing::Plain, Framing::Frames, Framing::Lz4] {
            let mut inbox = Inbox::new();
            inbox.expect(framing);
            inbox.push(&bytes);
            let _ = pop_all(&mut inbox);
        }
    }

    #[test]
    fn spoilt_responses_never_panic(
        version in any_version(),
        response in any_response(),
        spoil in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let response = response_for_version(response, version);
        let extras = Extras::default();
        let mut out = Vec::new();
        response.encode(version, &extras, &mut out).unwrap();
        let header = response_header(version, &response, &extras);
        if !out.is_empty() {
            for (at, byte) in spoil {
                let at = at.index(out.len());
                out[at] = byte;
            }
        }
        let _ = read_everything(&header, &out);
    }

    /// What a generator reads: envelopes spoilt inside of sound frames, and frames that are spoilt themselves. A longer search
    /// sets `PROPTEST_CASES`.
    #[test]
    fn spoilt_streams_never_panic(
        responses in prop::collection::vec(any_response(), 1..4),
        framing in prop_oneof![Just(Framing::Plain), Just(Framing::Frames), Just(Framing::Lz4)],
        inside in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        outside in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        lost in 0_usize..40,
        step in 1_usize..4_000,
    ) {
        let version = if framing == Framing::Plain { Version::V4 } else { Version::V5 };
        let mut outbox = Outbox::new();
        outbox.frame_from_here(framing);
        for response in responses {
            let response = response_for_version(response, version);
            let extras = Extras::default();
            let mut body = Vec::new();
            response.encode(version, &extras, &mut body).unwrap();
            let header = response_header(version, &response, &extras);
            let header = Header { length: body.len(), ..header };
            let mut bytes = plain(&Envelope { header, body });
            for (at, byte) in &inside {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            outbox.push(&bytes);
        }
        outbox.seal();
        let mut bytes = outbox.rest().to_vec();
        bytes.truncate(bytes.len().saturating_sub(lost));
        let length = bytes.len();
        for (at, byte) in outside.iter().filter(|_| length > 0) {
            bytes[at.index(length)] = *byte;
        }
        let mut inbox = Inbox::new();
        inbox.expect(framing);
        'all: for part in bytes.chunks(step) {
            inbox.push(part);
            loop {
                match inbox.next_view() {
                    Ok(Some(view)) => {
                        if let Ok(Ok(Answer::Rows(rows))) = answer(&view.header, view.body) {
                            let _ = rows.cells().count();
                        }
                    }
                    Ok(None) => break,
                    Err(_) => break 'all,
                }
            }
        }
    }

    /// What the fuzz target `frames` runs, from random bytes only.
    #[test]
    fn hostile_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        hostile::bytes(&bytes);
    }

    #[test]
    fn envelopes_survive_any_framing_and_any_cut(
        lengths in prop::collection::vec(
            prop_oneof![4 => 0_usize..300, 1 => (LONGEST_PAYLOAD - 20)..(3 * LONGEST_PAYLOAD)], 1..6),
        step in 1_usize..200_000,
        framing in prop_oneof![Just(Framing::Plain), Just(Framing::Frames), Just(Framing::Lz4)],
        noisy: bool,
    ) {
        let version = if framing == Framing::Plain { Version::V4 } else { Version::V5 };
        let sent: Vec<_> = (0..).zip(lengths).map(|(i, n)| envelope(version, i, n)).collect();
        let sent: Vec<_> = sent.into_iter().map(|one| if noisy { noise(one) } else { one }).collect();
        let mut inbox = Inbox::new();
        let mut outbox = Outbox::new();
        inbox.expect(framing);
        outbox.frame_from_here(framing);
        // What is written in place makes the same bytes, and what fails makes none.
        let mut written = Outbox::new();
        written.frame_from_here(framing);
        for one in &sent {
            prop_assert!(outbox.pushed() <= outbox.rest().len());
            outbox.push(&plain(one));
            let failed = written.write(|out| {
                out.push(7);
                Err(())
            });
            prop_assert_eq!(failed, Err(()));
            let done = written.write(|out| {
                out.extend(plain(one));
                Ok::<(), ()>(())
            });
            prop_assert_eq!(done, Ok(()));
        }
        outbox.seal();
        written.seal();
        prop_assert_eq!(outbox.rest(), written.rest());
        let bytes = outbox.rest().to_vec();
        prop_assert_eq!(outbox.took(bytes.len()), bytes.len());
        let mut received = Vec::new();
        for part in bytes.chunks(step) {
            prop_assert!(received.len() < sent.len());
            inbox.push(part);
            received.extend(pop_all(&mut inbox).unwrap());
        }
        prop_assert!(inbox.is_between_envelopes());
        prop_assert_eq!(received, sent);
    }

    #[test]
    fn a_flipped_bit_in_a_frame_is_noticed(length in 0_usize..60, bit: prop::sample::Index) {
        let sent = envelope(Version::V5, 1, length);
        let mut bytes = Vec::new();
        put_envelopes([plain(&sent).as_slice()], &mut bytes);
        let bit = bit.index(bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        let mut inbox = Inbox::new();
        inbox.expect(Framing::Frames);
        inbox.push(&bytes);
        let noticed = matches!(inbox.pop(), Err(DecodeError::Checksum { .. }));
        prop_assert!(noticed);
    }
}

/// Reads a response and, where it has rows, its values.
fn read_everything(header: &Header, bytes: &[u8]) -> Result<(), DecodeError> {
    let (response, _) = Response::decode(header, bytes)?;
    if let Response::Result(QueryResult::Rows(page)) = response {
        page.rows(page.columns.as_deref().unwrap_or_default())?;
    }
    Ok(())
}

/// With a body that does not compress.
fn noise(mut envelope: Envelope) -> Envelope {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for byte in &mut envelope.body {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *byte = (state >> 32) as u8;
    }
    envelope
}

#[test]
fn a_compressed_frame_is_smaller_and_a_wrong_length_is_noticed() {
    let sent = envelope(Version::V5, 1, 4_000);
    let mut outbox = Outbox::new();
    outbox.frame_from_here(Framing::Lz4);
    outbox.push(&plain(&sent));
    outbox.seal();
    let bytes = outbox.rest();
    assert!(bytes.len() < 400, "{}", bytes.len());
    let mut inbox = Inbox::new();
    inbox.expect(Framing::Lz4);
    inbox.push(bytes);
    assert_eq!(
        inbox.pop().map(|one| one.map(|one| one.body)),
        Ok(Some(sent.body))
    );
    // As frames without compression they are none.
    let mut plain = Inbox::new();
    plain.expect(Framing::Frames);
    plain.push(bytes);
    assert!(matches!(
        plain.pop(),
        Err(DecodeError::Checksum { part: "header", .. })
    ));
}

#[test]
fn every_prefix_of_frames_is_incomplete_and_never_wrong() {
    let sent = [envelope(Version::V5, 1, 30), envelope(Version::V5, 2, 0)];
    let encoded = sent.each_ref().map(plain);
    let mut bytes = Vec::new();
    put_envelopes(encoded.iter().map(Vec::as_slice), &mut bytes);
    assert_eq!(bytes.len(), 6 + 39 + 9 + 4, "both share one frame");
    for cut in 0..bytes.len() {
        let mut inbox = Inbox::new();
        inbox.expect(Framing::Frames);
        inbox.push(&bytes[..cut]);
        assert_eq!(pop_all(&mut inbox), Ok(vec![]));
    }
}

#[test]
fn a_frame_is_what_the_specification_says() {
    let mut bytes = Vec::new();
    let options = Request::Options;
    let header = request_header(Version::V5, &options, 0);
    let body = Vec::new();
    put_envelopes([plain(&Envelope { header, body }).as_slice()], &mut bytes);
    assert_eq!(bytes[..3], [9, 0, 2], "nine bytes, self-contained");
    assert_eq!(bytes[6..15], [5, 0, 0, 7, 5, 0, 0, 0, 0]);
}

#[test]
fn compressed_and_foreign_envelopes_are_refused() {
    let mut inbox = Inbox::new();
    inbox.push(b"HTTP/1.1 400");
    assert_eq!(inbox.pop(), Err(DecodeError::Version { found: b'H' }));
    let mut inbox = Inbox::new();
    inbox.push(&[0x84, flag::COMPRESSION, 0, 0, 8, 0, 0, 0, 0]);
    assert!(matches!(inbox.pop(), Err(DecodeError::Flags { .. })));
    let mut inbox = Inbox::new();
    inbox.push(&[0x84, 0, 0, 0, 8, 0x7f, 0xff, 0xff, 0xff]);
    assert!(matches!(inbox.pop(), Err(DecodeError::TooLong { .. })));
}

#[test]
fn small_bodies_cannot_unfold_to_large_ones() {
    // 65 000 fields that are not on the wire, for each of 20 000 elements of four bytes.
    let wide = CqlType::Tuple(vec![CqlType::Int; 65_000]);
    let list = CqlType::List(Box::new(wide));
    let mut bytes = 20_000_i32.to_be_bytes().to_vec();
    bytes.extend(vec![0; 80_000]);
    assert_eq!(
        decode_value(&list, &bytes),
        Err(DecodeError::Inflated { length: 80_004 })
    );
    // A count without the bytes.
    let list = CqlType::List(Box::new(CqlType::Int));
    assert!(matches!(
        decode_value(&list, &i32::MAX.to_be_bytes()),
        Err(DecodeError::Count { most: 0, .. })
    ));
    let vector = CqlType::Vector(Box::new(CqlType::Text), usize::MAX);
    assert!(decode_value(&vector, &[0; 10]).is_err());
    let nested = CqlType::Vector(
        Box::new(CqlType::Vector(Box::new(CqlType::Int), usize::MAX)),
        9,
    );
    assert!(decode_value(&nested, &[0; 10]).is_err());
    // Two bytes for each level of lists.
    let deep = [0x00, 0x20].repeat(100_000);
    assert_eq!(
        decode_type(&mut Reader::new(&deep)),
        Err(DecodeError::TooDeep { most: DEEPEST_TYPE })
    );
}

#[test]
fn values_have_the_bytes_that_cassandra_gives_them() {
    let bytes = |ty: &CqlType, value: &CqlValue| {
        let mut out = Vec::new();
        encode_value(ty, value, &mut out).expect("fits");
        out
    };
    let duration = CqlValue::Duration {
        months: 1,
        days: -1,
        nanos: 256_000,
    };
    assert_eq!(
        bytes(&CqlType::Duration, &duration),
        [2, 1, 0xc7, 0xd0, 0x00]
    );
    let vector = |element: CqlType, items: Vec<CqlValue>| {
        bytes(
            &CqlType::Vector(Box::new(element), items.len()),
            &CqlValue::Vector(items),
        )
    };
    assert_eq!(
        vector(CqlType::Int, vec![CqlValue::Int(1), CqlValue::Int(2)]),
        [0, 0, 0, 1, 0, 0, 0, 2]
    );
    assert_eq!(
        vector(CqlType::Smallint, vec![CqlValue::Smallint(3)]),
        [2, 0, 3]
    );
    assert_eq!(
        vector(CqlType::Text, vec![CqlValue::Text("hi".into())]),
        [2, b'h', b'i']
    );
    let empty = decode_value(&CqlType::Int, &[]);
    assert_eq!(empty, Ok(None), "the legacy empty value reads as null");
}

#[test]
fn a_page_without_metadata_reads_with_the_columns_of_the_statement() {
    let columns: Vec<_> = (0..10)
        .map(|i| column(&format!("c{i}"), CqlType::Int))
        .collect();
    let mut page = RowsPage::of(columns.clone(), &[]).expect("fits");
    page.columns = None;
    let response = Response::Result(QueryResult::Rows(page.clone()));
    let extras = Extras::default();
    let mut out = Vec::new();
    response
        .encode(Version::V4, &extras, &mut out)
        .expect("fits");
    let header = response_header(Version::V4, &response, &extras);
    assert_eq!(Response::decode(&header, &out), Ok((response, extras)));
    assert_eq!(page.rows(&columns), Ok(vec![]));
    assert!(page.rows(&columns[1..]).is_err());
}
