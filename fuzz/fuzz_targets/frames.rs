//! Bytes of a hostile peer through the frame decoder, the responses and the requests, in all framings. An ordinary test of
//! `helenus-cql` runs the same body, so that it compiles.
#![no_main]

#[path = "../../crates/helenus-cql/tests/hostile/mod.rs"]
mod hostile;

libfuzzer_sys::fuzz_target!(|data: &[u8]| hostile::bytes(data));
