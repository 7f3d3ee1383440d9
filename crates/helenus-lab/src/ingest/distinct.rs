//! The rows that stay of many, by the hashes of their keys: in memory while they are few, else in buckets on disk.
//! Refuses to need more memory for more rows.

use fs_err as fs;
use std::io::{self, BufReader, BufWriter, Read as _, Write as _};
use std::path::PathBuf;

/// Rows that are kept in memory: less than 100 MB.
const ROWS_MOST: usize = 4_000_000;

/// Buckets of more rows than that: of two billion, each has eight million.
const BUCKETS: usize = 256;

/// A row: the hash of its key, its own, and whether it leaves columns out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Hashed {
    key: u64,
    row: u64,
    partial: bool,
}

/// Bytes of one on disk.
const WIDTH: usize = 17;

/// What stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Stays {
    /// Rows with different keys.
    pub(super) distinct: u64,
    /// Whether rows with equal keys leave columns out, so that a row of several stays.
    pub(super) mixed: bool,
}

/// Rows, in their order.
#[derive(Debug)]
pub(super) struct Distinct {
    folder: PathBuf,
    most: usize,
    rows: Vec<Hashed>,
    buckets: Vec<BufWriter<fs::File>>,
}

impl Distinct {
    /// None yet. `folder` is made when they are many, and removed at the end.
    pub(super) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            most: ROWS_MOST,
            rows: Vec::new(),
            buckets: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, key: u64, row: u64, partial: bool) -> io::Result<()> {
        self.rows.push(Hashed { key, row, partial });
        match self.rows.len() >= self.most {
            true => self.spill(),
            false => Ok(()),
        }
    }

    fn path(&self, bucket: usize) -> PathBuf {
        self.folder.join(bucket.to_string())
    }

    fn spill(&mut self) -> io::Result<()> {
        if self.buckets.is_empty() {
            fs::create_dir_all(&self.folder)?;
            for bucket in 0..BUCKETS {
                let file = fs::File::create(self.path(bucket))?;
                self.buckets.push(BufWriter::with_capacity(16 << 10, file));
            }
        }
        for hashed in self.rows.drain(..) {
            let mut bytes = [0; WIDTH];
            bytes[..8].copy_from_slice(&hashed.key.to_le_bytes());
            bytes[8..16].copy_from_slice(&hashed.row.to_le_bytes());
            bytes[16] = u8::from(hashed.partial);
            self.buckets[hashed.key as usize % BUCKETS].write_all(&bytes)?;
        }
        Ok(())
    }

    /// Hands over the hash of each row that stays: of equal keys the last one.
    pub(super) fn end(mut self, stays: &mut dyn FnMut(u64)) -> io::Result<Stays> {
        let mut found = Stays::default();
        if self.buckets.is_empty() {
            last_of_each(std::mem::take(&mut self.rows), &mut found, stays);
            return Ok(found);
        }
        self.spill()?;
        for writer in std::mem::take(&mut self.buckets) {
            writer.into_inner()?;
        }
        for bucket in 0..BUCKETS {
            let path = self.path(bucket);
            let file = fs::File::open(&path)?;
            let length = usize::try_from(file.metadata()?.len()).unwrap_or(0);
            let mut file = BufReader::with_capacity(256 << 10, file);
            let mut rows = Vec::with_capacity(length / WIDTH);
            let mut bytes = [0; WIDTH];
            for _ in 0..length / WIDTH {
                file.read_exact(&mut bytes)?;
                let word = |at: usize| {
                    let mut word = [0; 8];
                    word.copy_from_slice(&bytes[at..at + 8]);
                    u64::from_le_bytes(word)
                };
                rows.push(Hashed {
                    key: word(0),
                    row: word(8),
                    partial: bytes[16] != 0,
                });
            }
            last_of_each(rows, &mut found, stays);
            fs::remove_file(path)?;
        }
        Ok(found)
    }
}

impl Drop for Distinct {
    fn drop(&mut self) {
        // It is no harm where it never was.
        let _gone = fs::remove_dir_all(&self.folder);
    }
}

fn last_of_each(mut rows: Vec<Hashed>, found: &mut Stays, stays: &mut dyn FnMut(u64)) {
    rows.sort_by_key(|hashed| hashed.key);
    for equal in rows.chunk_by(|a, b| a.key == b.key) {
        found.distinct += 1;
        found.mixed |= equal.len() > 1 && equal.iter().any(|hashed| hashed.partial);
        if let Some(last) = equal.last() {
            stays(last.row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_memory_and_in_buckets_the_same_stays() {
        let folder = tempfile::tempdir().unwrap();
        let of = |most: usize| {
            let path = folder.path().join("proof");
            let mut distinct = Distinct::new(path.clone());
            distinct.most = most;
            for n in 0..10_000_u64 {
                let key = (n % 7_000).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                distinct.add(key, n, n == 6_999).unwrap();
            }
            let mut rows = Vec::new();
            let found = distinct.end(&mut |row| rows.push(row)).unwrap();
            assert!(!path.exists());
            rows.sort_unstable();
            (found, rows)
        };
        let (found, rows) = of(usize::MAX);
        assert_eq!(
            found,
            Stays {
                distinct: 7_000,
                mixed: false
            }
        );
        // Rows 0 to 2,999 came again.
        assert_eq!(rows, (3_000..10_000).collect::<Vec<_>>());
        assert_eq!(of(1_000), (found, rows));
        let mut mixed = Distinct::new(folder.path().join("proof"));
        for partial in [true, false] {
            mixed.add(1, 2, partial).unwrap();
        }
        let found = mixed.end(&mut |_| {}).unwrap();
        assert_eq!((found.distinct, found.mixed), (1, true));
    }
}
