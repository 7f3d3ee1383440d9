//! Compressed bytes, in and out: gzip, zstd and LZ4 frames, of several members too.
//! Refuses an end in the middle: what is cut off or damaged is an error, never the end of a file.

use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;
use lz4_flex::frame::{FrameDecoder, FrameEncoder};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

/// Bytes of compressed data that are read at once.
const READ_BYTES: usize = 256 << 10;

/// First bytes by which a form is known.
const MARK_BYTES: usize = 6;

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// RFC 1952.
    Gzip,
    /// RFC 8878.
    Zstd,
    /// LZ4's frame format.
    Lz4,
}

/// First bytes of what is not read.
const FOREIGN: [(&[u8], &str); 6] = [
    (b"PAR1", "Parquet: --file-format parquet reads it"),
    (b"\xfd7zXZ\0", "xz: unpack it first, with xz -dc"),
    (b"BZh", "bzip2: unpack it first, with bzip2 -dc"),
    (b"PK\x03\x04", "a zip archive: unpack it first, with unzip"),
    (
        b"\x02\x21\x4c\x18",
        "LZ4's legacy format, which has no end mark: unpack it first, with lz4 -dc",
    ),
    (b"\xff\x06\0\0sN", "framed snappy: unpack it first"),
];

impl Packing {
    /// All of them, with the endings of their files.
    pub const ALL: [(Self, &'static str, &'static str); 3] = [
        (Self::Gzip, ".gz", "gzip"),
        (Self::Zstd, ".zst", "zstd"),
        (Self::Lz4, ".lz4", "lz4"),
    ];

    /// That of a file's name, and the name without its ending.
    pub fn by_name(path: &Path) -> (Option<Self>, String) {
        let name = path.to_string_lossy().to_lowercase();
        let found = Self::ALL.iter().find_map(|(packing, ending, _)| {
            let bare = name.strip_suffix(ending)?;
            Some((Some(*packing), bare.to_owned()))
        });
        found.unwrap_or((None, name))
    }

    /// That of what begins with these bytes.
    pub(super) fn by_first_bytes(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            // A skippable frame, with which parallel compressors begin.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
            [0x04, 0x22, 0x4d, 0x18, ..] => Some(Self::Lz4),
            _ => None,
        }
    }

    /// Its name, as messages have it.
    pub fn name(self) -> &'static str {
        let all = Self::ALL.iter();
        let found = all.filter(|(packing, ..)| *packing == self);
        found.map(|(.., name)| *name).next().unwrap_or_default()
    }
}

/// The bytes behind a compression, and which it is; those that are not compressed as they are.
///
/// # Errors
/// The first bytes cannot be read, or are of a form that is not read here.
pub(super) fn unpacked(mut from: Box<dyn Read>) -> io::Result<(Box<dyn Read>, Option<Packing>)> {
    let mut head = Vec::new();
    from.by_ref()
        .take(MARK_BYTES as u64)
        .read_to_end(&mut head)?;
    let foreign = FOREIGN.iter().find(|(mark, _)| head.starts_with(mark));
    if let Some((_, what)) = foreign {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!("it is {what}"),
        ));
    }
    let packing = Packing::by_first_bytes(&head);
    let whole = io::Cursor::new(head).chain(from);
    let Some(packing) = packing else {
        return Ok((Box::new(whole), None));
    };
    let packed = BufReader::with_capacity(READ_BYTES, whole);
    let inner: Box<dyn Read> = match packing {
        Packing::Gzip => Box::new(MultiGzDecoder::new(packed)),
        Packing::Zstd => Box::new(zstd::Decoder::with_buffer(packed)?),
        Packing::Lz4 => Box::new(Frames::new(packed)),
    };
    Ok((Box::new(Checked { inner, packing }), Some(packing)))
}

/// Whose errors say what is wrong with the file.
struct Checked {
    inner: Box<dyn Read>,
    packing: Packing,
}

impl Read for Checked {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        use io::ErrorKind as Kind;
        self.inner.read(into).map_err(|error| {
            let name = self.packing.name();
            match error.kind() {
                Kind::UnexpectedEof => io::Error::new(
                    Kind::UnexpectedEof,
                    format!("its {name} data ends in the middle: the file is cut off"),
                ),
                Kind::InvalidData | Kind::InvalidInput | Kind::Other => {
                    io::Error::new(error.kind(), format!("its {name} data is damaged: {error}"))
                }
                _ => error,
            }
        })
    }
}

/// Frames of LZ4, one behind the other. Their decoder ends without an error where a frame has no end mark, and after each
/// frame; whether the bytes have ended then says which it was.
struct Frames<R: Read> {
    decoder: Option<FrameDecoder<Watched<R>>>,
}

struct Watched<R> {
    inner: R,
    /// Whether nothing was left when more was asked for.
    ended: bool,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.ended |= read == 0 && !into.is_empty();
        Ok(read)
    }
}

impl<R: BufRead> Frames<R> {
    fn new(inner: R) -> Self {
        Self {
            decoder: Some(Self::frame(inner)),
        }
    }

    fn frame(inner: R) -> FrameDecoder<Watched<R>> {
        FrameDecoder::new(Watched {
            inner,
            ended: false,
        })
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Some(decoder) = &mut self.decoder {
            let read = decoder.read(into)?;
            if read > 0 || into.is_empty() {
                return Ok(read);
            }
            let packed = decoder.get_mut();
            if packed.ended {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let more = !packed.inner.fill_buf()?.is_empty();
            // A decoder each: frames may have blocks of different sizes.
            let before = self.decoder.take().filter(|_| more);
            self.decoder = before.map(|before| Self::frame(before.into_inner().inner));
        }
        Ok(0)
    }
}

/// Writes compressed, or plain.
#[expect(missing_debug_implementations, reason = "zstd's encoder has none")]
pub enum Packer<W: Write> {
    /// As it is.
    Plain(W),
    /// As gzip.
    Gzip(GzEncoder<W>),
    /// As zstd, with a checksum.
    Zstd(zstd::Encoder<'static, W>),
    /// As LZ4 frames, with a checksum.
    Lz4(Box<FrameEncoder<W>>),
}

impl<W: Write> Packer<W> {
    /// Compresses what it is given into `to`.
    ///
    /// # Errors
    /// The compressor cannot be made.
    pub fn new(to: W, packing: Option<Packing>) -> io::Result<Self> {
        Ok(match packing {
            None => Self::Plain(to),
            Some(Packing::Gzip) => Self::Gzip(GzEncoder::new(to, flate2::Compression::default())),
            Some(Packing::Zstd) => {
                let mut encoder = zstd::Encoder::new(to, zstd::DEFAULT_COMPRESSION_LEVEL)?;
                encoder.include_checksum(true)?;
                Self::Zstd(encoder)
            }
            Some(Packing::Lz4) => {
                let frame = lz4_flex::frame::FrameInfo::new().content_checksum(true);
                Self::Lz4(Box::new(FrameEncoder::with_frame_info(frame, to)))
            }
        })
    }

    /// Writes what is left and the end mark; the writer below is flushed.
    ///
    /// # Errors
    /// It takes no more.
    pub fn finish(self) -> io::Result<()> {
        let mut to = match self {
            Self::Plain(to) => to,
            Self::Gzip(encoder) => encoder.finish()?,
            Self::Zstd(encoder) => encoder.finish()?,
            Self::Lz4(encoder) => encoder.finish().map_err(io::Error::other)?,
        };
        to.flush()
    }
}

impl<W: Write> Write for Packer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(to) => to.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
            Self::Lz4(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(to) => to.flush(),
            Self::Gzip(encoder) => encoder.flush(),
            Self::Zstd(encoder) => encoder.flush(),
            Self::Lz4(encoder) => encoder.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packed(bytes: &[u8], packing: Option<Packing>) -> Vec<u8> {
        let mut out = Vec::new();
        let mut packer = Packer::new(&mut out, packing).expect("a compressor");
        for piece in bytes.chunks(10_000) {
            packer.write_all(piece).expect("writes");
        }
        packer.finish().expect("ends");
        out
    }

    fn read(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let (mut from, _) = unpacked(Box::new(io::Cursor::new(bytes)))?;
        let mut all = Vec::new();
        from.read_to_end(&mut all)?;
        Ok(all)
    }

    /// Bytes that take several blocks of every form, and do not compress to nothing.
    fn long() -> Vec<u8> {
        let numbers = 0..150_000_u64;
        numbers
            .flat_map(|n| helenus_model::seed::mix(n).to_le_bytes())
            .collect()
    }

    #[test]
    fn members_behind_each_other_are_one_file() {
        let long = long();
        for (packing, ..) in Packing::ALL {
            let mut two = packed(&long, Some(packing));
            two.extend(packed(b"end", Some(packing)));
            let all = read(two).expect("reads");
            assert!(all.len() == long.len() + 3 && all.starts_with(&long) && all.ends_with(b"end"));
        }
    }

    #[test]
    fn what_is_cut_off_is_an_error_wherever_it_is_cut() {
        let long = long();
        for (packing, ..) in Packing::ALL {
            let whole = packed(&long, Some(packing));
            // Four bytes are the least by which all are known.
            let near = (4..40).chain(whole.len() - 40..whole.len());
            // Behind each whole block of LZ4, too: its decoder takes that for an end.
            let mut block = 7 + 4;
            let blocks = std::iter::from_fn(|| {
                let size = whole.get(block - 4..block)?;
                let size = u32::from_le_bytes(size.try_into().ok()?) & 0x7fff_ffff;
                block += size as usize + 4;
                (block - 4 < whole.len()).then_some(block - 4)
            });
            let blocks: Vec<usize> = match packing {
                Packing::Lz4 => blocks.collect(),
                _ => Vec::new(),
            };
            assert!(packing != Packing::Lz4 || blocks.len() > 4, "{blocks:?}");
            for end in near.chain(blocks).chain([whole.len() / 2]) {
                let error = read(whole[..end].to_vec()).expect_err("it is cut off");
                assert!(
                    error.to_string().contains("cut off"),
                    "{packing:?} {end}: {error}"
                );
            }
            let mut damaged = whole.clone();
            let middle = damaged.len() / 2;
            damaged[middle] ^= 0x10;
            let error = read(damaged).expect_err("it is damaged");
            let text = error.to_string();
            assert!(
                text.contains("damaged") || text.contains("cut off"),
                "{packing:?}: {text}"
            );
        }
    }

    #[test]
    fn forms_are_known_by_name_and_by_their_first_bytes() {
        assert_eq!(
            Packing::by_name(Path::new("A.CSV.Zst")),
            (Some(Packing::Zstd), "a.csv".to_owned())
        );
        assert_eq!(
            Packing::by_name(Path::new("a.csv")),
            (None, "a.csv".to_owned())
        );
        let error = read(b"\xfd7zXZ\0rest".to_vec()).expect_err("it is xz");
        assert!(error.to_string().contains("it is xz"), "{error}");
        for (packing, ..) in Packing::ALL {
            let (_, found) = unpacked(Box::new(io::Cursor::new(packed(b"x", Some(packing)))))
                .expect("its first bytes");
            assert_eq!(found, Some(packing));
        }
    }

    proptest! {
        #[test]
        fn what_is_packed_is_unpacked(bytes: Vec<u8>, which in 0_usize..3) {
            let (packing, ..) = Packing::ALL[which];
            prop_assert_eq!(&read(packed(&bytes, Some(packing))).expect("reads"), &bytes);
        }

        #[test]
        fn no_bytes_make_an_unpacker_panic(bytes: Vec<u8>, which in 0_usize..3, at: prop::sample::Index, to: u8) {
            let (packing, ..) = Packing::ALL[which];
            let mut damaged = packed(&bytes, Some(packing));
            let at = at.index(damaged.len());
            damaged[at] = to;
            let _either = read(damaged);
        }
    }
}
