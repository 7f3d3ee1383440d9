//! The data of an SSTable: chunks, compressed or not, with their checksums, written by a thread.
//! Refuses to be read back, and to end without all of it on the disk.

use crate::bytes::{put_count, put_i32, put_i64, put_utf};
use crc32fast::Hasher;
use fs_err::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use zstd::bulk::Compressor;
use zstd::zstd_safe::compress_bound;

/// Bytes that are handed to the thread at once: a multiple of every length of chunks.
const BLOCK: usize = 1 << 20;

/// Blocks that wait for the thread.
const WAITING: usize = 3;

/// Bytes of one checksum where nothing is compressed, as Cassandra's own.
const PLAIN_CHUNK: usize = 64 << 10;

/// How data is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// By LZ4.
    Lz4 {
        /// Bytes of a chunk before compression: a power of two from 4 KiB to 1 MiB.
        chunk_bytes: usize,
    },
    /// By Zstandard, which 4.0 and later read.
    Zstd {
        /// Bytes of a chunk before compression: a power of two from 4 KiB to 1 MiB.
        chunk_bytes: usize,
        /// From 1 to 22; Cassandra's own is 3.
        level: i32,
    },
}

/// What compresses chunks.
enum Packer {
    Lz4,
    Zstd(Compressor<'static>),
}

impl Packer {
    /// Appends a chunk, compressed.
    fn pack(&mut self, chunk: &[u8], packed: &mut Vec<u8>) -> io::Result<()> {
        let from = packed.len();
        match self {
            Self::Lz4 => {
                let length = u32::try_from(chunk.len()).unwrap_or(u32::MAX);
                packed.extend_from_slice(&length.to_le_bytes());
                let most = lz4_flex::block::get_maximum_output_size(chunk.len());
                packed.resize(from + 4 + most, 0);
                let written = lz4_flex::block::compress_into(chunk, &mut packed[from + 4..]);
                packed.truncate(from + 4 + written.map_err(io::Error::other)?);
            }
            Self::Zstd(zstd) => {
                packed.resize(from + compress_bound(chunk.len()), 0);
                let written = zstd.compress_to_buffer(chunk, &mut packed[from..])?;
                packed.truncate(from + written);
            }
        }
        Ok(())
    }
}

/// What the thread found.
#[derive(Debug)]
pub(crate) struct Stored {
    /// Bytes before compression.
    pub(crate) bytes: u64,
    /// Bytes on disk.
    pub(crate) disk_bytes: u64,
    /// The file beside the data, `CompressionInfo.db` or `CRC.db`: its name and its bytes.
    pub(crate) beside: (&'static str, Vec<u8>),
    /// The checksum of the whole file.
    pub(crate) digest: u32,
}

/// The open file.
#[derive(Debug)]
pub(crate) struct Data {
    block: Vec<u8>,
    handed: u64,
    to: Option<SyncSender<Vec<u8>>>,
    thread: Option<JoinHandle<io::Result<Stored>>>,
}

impl Data {
    pub(crate) fn create(path: &Path, compression: Compression) -> io::Result<Self> {
        let file = File::create(path)?;
        let (to, blocks) = sync_channel::<Vec<u8>>(WAITING);
        let thread = std::thread::spawn(move || {
            let mut chunks = Chunks::new(file, compression)?;
            for block in blocks {
                chunks.put(&block)?;
            }
            chunks.end()
        });
        Ok(Self {
            block: Vec::with_capacity(BLOCK + (64 << 10)),
            handed: 0,
            to: Some(to),
            thread: Some(thread),
        })
    }

    /// Where the next byte goes.
    pub(crate) fn position(&self) -> u64 {
        self.handed + self.block.len() as u64
    }

    /// What was not handed over yet, to be appended to.
    pub(crate) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.block
    }

    /// Hands whole blocks over.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        while self.block.len() >= BLOCK {
            let rest = self.block.split_off(BLOCK);
            let block = std::mem::replace(&mut self.block, Vec::with_capacity(BLOCK + (64 << 10)));
            self.block.extend_from_slice(&rest);
            self.hand(block)?;
        }
        Ok(())
    }

    fn hand(&mut self, block: Vec<u8>) -> io::Result<()> {
        self.handed += block.len() as u64;
        let gone = self.to.as_ref().is_none_or(|to| to.send(block).is_err());
        match gone {
            false => Ok(()),
            true => self.join().map(|_| ()),
        }
    }

    fn join(&mut self) -> io::Result<Stored> {
        self.to = None;
        let gone = || io::Error::other("the thread that writes the data has ended");
        let thread = self.thread.take().ok_or_else(gone)?;
        thread.join().map_err(|_panic| gone())?
    }

    /// Waits until everything is on the disk.
    pub(crate) fn end(mut self) -> io::Result<Stored> {
        self.flush()?;
        let block = std::mem::take(&mut self.block);
        if !block.is_empty() {
            self.hand(block)?;
        }
        self.join()
    }
}

/// The thread's side.
struct Chunks {
    file: File,
    /// What compresses, and bytes of a chunk.
    packer: Option<(Packer, usize)>,
    packed: Vec<u8>,
    /// Where each chunk begins; of uncompressed data, its checksum.
    places: Vec<u64>,
    bytes: u64,
    disk_bytes: u64,
    digest: Hasher,
}

impl Chunks {
    fn new(file: File, compression: Compression) -> io::Result<Self> {
        let packer = match compression {
            Compression::None => None,
            Compression::Lz4 { chunk_bytes } => Some((Packer::Lz4, chunk_bytes)),
            Compression::Zstd { chunk_bytes, level } => {
                let mut zstd = Compressor::new(level)?;
                zstd.include_checksum(true)?;
                Some((Packer::Zstd(zstd), chunk_bytes))
            }
        };
        Ok(Self {
            file,
            packer,
            packed: Vec::new(),
            places: Vec::new(),
            bytes: 0,
            disk_bytes: 0,
            digest: Hasher::new(),
        })
    }

    fn put(&mut self, block: &[u8]) -> io::Result<()> {
        self.bytes += block.len() as u64;
        let Some((packer, chunk_bytes)) = &mut self.packer else {
            let sums = block.chunks(PLAIN_CHUNK).map(crc32fast::hash);
            self.places.extend(sums.map(u64::from));
            return self.write(block);
        };
        let mut packed = std::mem::take(&mut self.packed);
        packed.clear();
        for chunk in block.chunks(*chunk_bytes) {
            let from = packed.len();
            self.places.push(self.disk_bytes + from as u64);
            packer.pack(chunk, &mut packed)?;
            let sum = crc32fast::hash(&packed[from..]);
            packed.extend_from_slice(&sum.to_be_bytes());
        }
        let written = self.write(&packed);
        self.packed = packed;
        written
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.digest.update(bytes);
        self.disk_bytes += bytes.len() as u64;
        self.file.write_all(bytes)
    }

    fn end(self) -> io::Result<Stored> {
        self.file.sync_all()?;
        let mut beside = Vec::with_capacity(self.places.len() * 8 + 64);
        let name = match self.packer {
            None => {
                put_count(PLAIN_CHUNK, &mut beside);
                for sum in &self.places {
                    beside.extend_from_slice(&sum.to_be_bytes()[4..]);
                }
                "CRC.db"
            }
            Some((packer, chunk_bytes)) => {
                let name = match packer {
                    Packer::Lz4 => "LZ4Compressor",
                    Packer::Zstd(_) => "ZstdCompressor",
                };
                put_utf(name, &mut beside);
                put_count(0, &mut beside);
                put_count(chunk_bytes, &mut beside);
                // No chunk is ever left uncompressed.
                put_i32(i32::MAX, &mut beside);
                put_i64(self.bytes.cast_signed(), &mut beside);
                put_count(self.places.len(), &mut beside);
                for place in &self.places {
                    beside.extend_from_slice(&place.to_be_bytes());
                }
                "CompressionInfo.db"
            }
        };
        Ok(Stored {
            bytes: self.bytes,
            disk_bytes: self.disk_bytes,
            beside: (name, beside),
            digest: self.digest.finalize(),
        })
    }
}
