//! Bytes of a hostile server through the frame decoder and the responses, plain and in frames.
#![no_main]

use helenus_cql::codec::frame::Inbox;
use helenus_cql::codec::response::Response;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for framed in [false, true] {
        let mut inbox = Inbox::new();
        if framed {
            inbox.expect_frames();
        }
        // In pieces, as a network gives them.
        for piece in data.chunks(17) {
            inbox.push(piece);
            while let Ok(Some(envelope)) = inbox.pop() {
                let _refused = Response::decode(&envelope.header, &envelope.body);
            }
        }
    }
});
