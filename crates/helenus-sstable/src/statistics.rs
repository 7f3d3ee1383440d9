//! The statistics of an SSTable: what is in it, for compaction and for reads that can leave it out.
//! Refuses to be incomplete: each of the four parts is there, with its checksum.

use crate::bytes::{
    put_count, put_f64, put_i32, put_i64, put_utf, put_vint, put_with_u16, put_with_vint,
};
use crate::cardinality::Cardinality;
use crate::layout::Layout;
use crate::row::Base;
use crate::types::class;

/// What times are counted from in the header: 2015-09-22, from `EncodingStats`.
pub(crate) const EPOCH_S: i32 = 1_442_880_000;

/// Everything that is collected while an SSTable is written.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) sizes: Histogram,
    pub(crate) cells: Histogram,
    pub(crate) cardinality: Cardinality,
    pub(crate) rows: u64,
    pub(crate) total_cells: u64,
    /// Columns of many cells that were replaced.
    pub(crate) deletions: u64,
    /// Least and greatest, in microseconds.
    pub(crate) timestamps: (i64, i64),
    /// First and last row as their clustering values, component by component the least and the greatest.
    pub(crate) bounds: (Vec<Vec<u8>>, Vec<Vec<u8>>),
}

/// Counts by size, each bucket a fifth larger than the one before.
#[derive(Debug)]
pub(crate) struct Histogram {
    offsets: Vec<i64>,
    counts: Vec<u64>,
}

impl Histogram {
    pub(crate) fn new(buckets: usize) -> Self {
        let mut offsets = vec![1_i64];
        while offsets.len() < buckets {
            let last = offsets[offsets.len() - 1];
            // 1.2 times, rounded, and at least one more.
            let next = (last * 12 + 5) / 10;
            offsets.push(next.max(last + 1));
        }
        Self {
            counts: vec![0; offsets.len() + 1],
            offsets,
        }
    }

    pub(crate) fn add(&mut self, n: u64) {
        let n = i64::try_from(n).unwrap_or(i64::MAX);
        let bucket = self.offsets.partition_point(|offset| *offset < n);
        self.counts[bucket] += 1;
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_count(self.counts.len(), out);
        for (at, count) in self.counts.iter().enumerate() {
            put_i64(self.offsets[at.saturating_sub(1)], out);
            put_i64(count.cast_signed(), out);
        }
    }
}

/// `Statistics.db`.
pub(crate) fn bytes(
    layout: &Layout,
    base: &Base,
    collected: &Collected,
    (false_positives, ratio): (f64, f64),
) -> Vec<u8> {
    let mut validation = Vec::new();
    put_utf(
        "org.apache.cassandra.dht.Murmur3Partitioner",
        &mut validation,
    );
    put_f64(false_positives, &mut validation);
    let parts = [
        validation,
        collected.cardinality.bytes(),
        stats(base, collected, ratio),
        header(layout, base),
    ];
    let mut out = Vec::new();
    put_count(parts.len(), &mut out);
    let mut sum = crc32fast::Hasher::new();
    sum.update(&out);
    out.extend_from_slice(&sum.clone().finalize().to_be_bytes());
    let mut place = 4 + 4 + parts.len() * 8 + 4;
    let from = out.len();
    for (kind, part) in parts.iter().enumerate() {
        put_count(kind, &mut out);
        put_count(place, &mut out);
        place += part.len() + 4;
    }
    sum.update(&out[from..]);
    out.extend_from_slice(&sum.finalize().to_be_bytes());
    for part in &parts {
        out.extend_from_slice(part);
        out.extend_from_slice(&crc32fast::hash(part).to_be_bytes());
    }
    out
}

fn stats(base: &Base, collected: &Collected, ratio: f64) -> Vec<u8> {
    let mut out = Vec::new();
    collected.sizes.put(&mut out);
    collected.cells.put(&mut out);
    // No commit log has any of it.
    put_nowhere(&mut out);
    put_i64(collected.timestamps.0, &mut out);
    put_i64(collected.timestamps.1, &mut out);
    let mut times = Vec::new();
    if collected.deletions > 0 {
        times.push((base.deletion_s, collected.deletions));
    }
    if let Some(expiry) = base.expiry {
        times.push((expiry.at_s, collected.total_cells + collected.rows));
    }
    let lives = base.expiry.is_none();
    put_i32(times.first().map_or(i32::MAX, |(time, _)| *time), &mut out);
    let last = times.last().map_or(i32::MAX, |(time, _)| *time);
    put_i32(if lives { i32::MAX } else { last }, &mut out);
    let ttl = base.expiry.map_or(0, |expiry| expiry.ttl_s.cast_signed());
    put_i32(ttl, &mut out);
    put_i32(ttl, &mut out);
    put_f64(ratio, &mut out);
    put_count(times.len(), &mut out);
    put_count(times.len(), &mut out);
    for (time, count) in &times {
        put_f64(f64::from(*time), &mut out);
        put_i64(count.cast_signed(), &mut out);
    }
    // Level, and when it was repaired.
    put_i32(0, &mut out);
    put_i64(0, &mut out);
    for bounds in [&collected.bounds.0, &collected.bounds.1] {
        put_count(bounds.len(), &mut out);
        for bound in bounds {
            put_with_u16(bound, &mut out);
        }
    }
    // Shards of counters of old.
    out.push(0);
    put_i64(collected.total_cells.cast_signed(), &mut out);
    put_i64(collected.rows.cast_signed(), &mut out);
    put_nowhere(&mut out);
    // Intervals of commit logs, a pending repair, transient replicas, the host that wrote it: none.
    put_count(0, &mut out);
    out.extend_from_slice(&[0, 0, 0]);
    out
}

/// A place in no commit log.
fn put_nowhere(out: &mut Vec<u8>) {
    put_i64(-1, out);
    put_i32(0, out);
}

fn header(layout: &Layout, base: &Base) -> Vec<u8> {
    let mut out = Vec::new();
    let timestamp = base
        .timestamp_us
        .wrapping_sub(i64::from(EPOCH_S) * 1_000_000);
    put_vint(timestamp.cast_unsigned(), &mut out);
    put_vint(
        i64::from(base.deletion_s - EPOCH_S).cast_unsigned(),
        &mut out,
    );
    let ttl = base.expiry.map_or(0, |expiry| expiry.ttl_s);
    put_vint(u64::from(ttl), &mut out);
    put_with_vint(layout.key_class().as_bytes(), &mut out);
    put_vint(layout.clustering.len() as u64, &mut out);
    for class in layout.clustering_classes() {
        put_with_vint(class.as_bytes(), &mut out);
    }
    for columns in [&layout.statics, &layout.regulars] {
        put_vint(columns.len() as u64, &mut out);
        for column in columns {
            put_with_vint(column.name.as_bytes(), &mut out);
            put_with_vint(class(&column.ty, column.multi_cell).as_bytes(), &mut out);
        }
    }
    out
}
