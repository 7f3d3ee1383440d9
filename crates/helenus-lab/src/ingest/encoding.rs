//! Text in other encodings than UTF-8, made UTF-8 as it is read.
//! Refuses to replace what it does not know: such bytes stay no text, and their row is rejected.

use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE};
use helenus_model::nearest::nearest;
use std::io::{self, Read};

/// Bytes that are decoded at once.
const READ_BYTES: usize = 64 << 10;

/// Names that are said where one is not known; all names of the WHATWG's Encoding Standard are.
const NAMES: [&str; 24] = [
    "utf-8",
    "utf-16",
    "utf-16le",
    "utf-16be",
    "latin-1",
    "iso-8859-1",
    "iso-8859-2",
    "iso-8859-5",
    "iso-8859-7",
    "iso-8859-9",
    "iso-8859-15",
    "windows-1250",
    "windows-1251",
    "windows-1252",
    "windows-1253",
    "windows-1254",
    "windows-1257",
    "koi8-r",
    "macintosh",
    "shift_jis",
    "euc-jp",
    "euc-kr",
    "gbk",
    "big5",
];

/// How a file's text is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextEncoding(&'static Encoding);

impl TextEncoding {
    /// That of a name, such as `latin-1`, `windows-1252` or `utf-16`.
    ///
    /// # Errors
    /// There is none of this name; with the nearest one.
    pub fn named(name: &str) -> Result<Self, String> {
        let known = match name.to_lowercase().as_str() {
            "latin-1" | "latin_1" | "iso-latin-1" => "latin1".to_owned(),
            "utf16" | "utf_16" => "utf-16".to_owned(),
            "cp1252" | "ansi" => "windows-1252".to_owned(),
            other => other.to_owned(),
        };
        let found = Encoding::for_label_no_replacement(known.as_bytes());
        found.map(Self).ok_or_else(|| {
            let near = nearest(&known, NAMES);
            let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
            format!("there is no encoding {name:?}{near}")
        })
    }

    /// Names that help to find one.
    pub fn names() -> String {
        NAMES.join(", ")
    }

    /// That of UTF-16's byte-order mark, where the bytes begin with one.
    pub fn by_mark(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0xff, 0xfe, ..] => Some(Self(UTF_16LE)),
            [0xfe, 0xff, ..] => Some(Self(UTF_16BE)),
            _ => None,
        }
    }

    /// Whether nothing has to be decoded.
    pub fn is_utf_8(self) -> bool {
        self.0 == UTF_8
    }
}

/// UTF-8 of bytes in another encoding, without their byte-order mark.
pub(super) struct Decoded<R> {
    inner: R,
    decoder: Decoder,
    raw: Vec<u8>,
    at: usize,
    ready: Vec<u8>,
    given: usize,
    over: bool,
}

impl<R: Read> Decoded<R> {
    /// Decodes what `inner` gives.
    pub(super) fn new(inner: R, encoding: TextEncoding) -> Self {
        Self {
            inner,
            decoder: encoding.0.new_decoder_with_bom_removal(),
            raw: Vec::new(),
            at: 0,
            ready: Vec::new(),
            given: 0,
            over: false,
        }
    }

    fn decode(&mut self) -> io::Result<()> {
        self.ready.clear();
        self.given = 0;
        while self.ready.is_empty() && !self.over {
            if self.at == self.raw.len() {
                self.raw.clear();
                self.at = 0;
                let mut limited = self.inner.by_ref().take(READ_BYTES as u64);
                limited.read_to_end(&mut self.raw)?;
            }
            let last = self.raw.len() < READ_BYTES;
            let bytes = &self.raw[self.at..];
            let room = self
                .decoder
                .max_utf8_buffer_length_without_replacement(bytes.len());
            self.ready.resize(room.unwrap_or(READ_BYTES * 3).max(16), 0);
            let (result, read, written) =
                self.decoder
                    .decode_to_utf8_without_replacement(bytes, &mut self.ready, last);
            self.at += read;
            self.ready.truncate(written);
            match result {
                DecoderResult::InputEmpty => self.over = last,
                DecoderResult::OutputFull => {}
                // A byte that no UTF-8 has: what it stands in is no text.
                DecoderResult::Malformed(..) => self.ready.push(0xff),
            }
        }
        Ok(())
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.given == self.ready.len() {
            self.decode()?;
        }
        let left = &self.ready[self.given..];
        let length = left.len().min(into.len());
        into[..length].copy_from_slice(&left[..length]);
        self.given += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decoded(bytes: &[u8], name: &str) -> Vec<u8> {
        let encoding = TextEncoding::named(name).expect("it is known");
        let mut all = Vec::new();
        let mut decoded = Decoded::new(bytes, encoding);
        decoded.read_to_end(&mut all).expect("reads");
        all
    }

    fn utf_16(text: &str, big: bool) -> Vec<u8> {
        let units = text.encode_utf16();
        let bytes = units.map(|unit| match big {
            true => unit.to_be_bytes(),
            false => unit.to_le_bytes(),
        });
        bytes.flatten().collect()
    }

    #[test]
    fn encodings_are_known_by_their_names() {
        assert_eq!(
            decoded(b"M\xfcnchen \x80", "latin-1"),
            "München €".as_bytes()
        );
        assert_eq!(
            decoded(b"\xcc\xee\xf1\xea\xe2\xe0", "Windows-1251"),
            "Москва".as_bytes()
        );
        assert_eq!(decoded(b"\x93\x8c\x8b\x9e", "shift_jis"), "東京".as_bytes());
        let error = TextEncoding::named("windows-1522").expect_err("there is none");
        assert!(error.contains("did you mean windows-12"), "{error}");
        assert!(TextEncoding::named("replacement").is_err());
    }

    #[test]
    fn what_is_no_text_stays_none() {
        // Half of a pair, and half of a unit at the end.
        let mut bytes = utf_16("a,b\n", false);
        bytes.extend([0x00, 0xd8]);
        bytes.extend(utf_16("\nc", false));
        bytes.push(b'x');
        assert_eq!(decoded(&bytes, "utf-16"), b"a,b\n\xff\nc\xff");
        // Nothing is there.
        assert_eq!(decoded(b"", "utf-16"), b"");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn any_bytes_become_text_or_what_is_none(bytes: Vec<u8>, which in 0_usize..NAMES.len(), pieces in 1_usize..5) {
            /// Gives few bytes at a time, as pipes may.
            struct Slow<'a>(&'a [u8], usize);
            impl Read for Slow<'_> {
                fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                    let length = self.1.min(into.len());
                    self.0.read(&mut into[..length])
                }
            }
            let whole = decoded(&bytes, NAMES[which]);
            let encoding = TextEncoding::named(NAMES[which]).expect("it is known");
            let mut slow = Vec::new();
            Decoded::new(Slow(&bytes, pieces), encoding).read_to_end(&mut slow).expect("reads");
            prop_assert_eq!(&slow, &whole);
            // A byte that is no text is 0xff, and all else is UTF-8.
            let texts = whole.split(|byte| *byte == 0xff);
            prop_assert!(texts.into_iter().all(|text| std::str::from_utf8(text).is_ok()));
        }

        #[test]
        fn every_text_comes_back(text: String, big: bool, often in 1_usize..4) {
            // Longer than what is decoded at once, so that pairs lie across the border.
            let text = text.repeat(if text.is_empty() { 1 } else { often * 70_000 / text.len().max(1) });
            let bytes = utf_16(&text, big);
            let name = if big { "utf-16be" } else { "utf-16le" };
            // A mark at its beginning is taken for that of the file.
            let wanted = text.strip_prefix('\u{feff}').unwrap_or(&text);
            prop_assert!(decoded(&bytes, name) == wanted.as_bytes());
        }
    }
}
