//! What a count reports: rows by node, by range of tokens, by partition; and how it goes while it goes.
//! Refuses to call a part the whole: what was not read is reported with its share.

use super::PartitionSizes;
use crate::format::Format;
use serde::Serialize;
use std::collections::BTreeMap;

/// A finished or cut-off count, `helenus.count/1`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CountReport {
    /// `helenus.count/1`.
    pub format: Format,
    /// The cluster's own name.
    pub cluster_name: String,
    /// Keyspace.
    pub keyspace: String,
    /// Table.
    pub table: String,
    /// Consistency level of the reads.
    pub consistency: String,
    /// Rows that were found.
    pub rows: u64,
    /// Whether the whole ring was read.
    pub complete: bool,
    /// Share of the ring that was read, from 0 to 1.
    pub share: f64,
    /// Seconds that it took, without those of a count that this one went on with.
    pub seconds: f64,
    /// Rows that were counted before, where it went on with a count that was cut off.
    pub resumed_rows: u64,
    /// Requests that were sent.
    pub requests: u64,
    /// Requests that were asked again, by what had gone wrong.
    pub troubles: BTreeMap<&'static str, u64>,
    /// Sum of the rows' hashes, sixteen hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
    /// By node: rows of its primary ranges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Vec<NodeCount>>,
    /// By range of tokens, ascending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranges: Option<Vec<RangeCount>>,
    /// By partition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partitions: Option<PartitionReport>,
}

/// Partitions as they are shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartitionReport {
    /// Columns of the partition key.
    pub key: Vec<String>,
    /// Sizes.
    #[serde(flatten)]
    pub sizes: PartitionSizes,
}

/// Rows of a node's primary ranges.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeCount {
    /// Address.
    pub address: String,
    /// Data centre.
    pub data_center: String,
    /// Primary ranges.
    pub ranges: usize,
    /// Share of the ring, from 0 to 1.
    pub share: f64,
    /// Rows.
    pub rows: u64,
}

/// Rows of a part of the ring.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RangeCount {
    /// Excluded.
    pub start: i64,
    /// Included.
    pub end: i64,
    /// Address of the node whose primary range it is in.
    pub node: String,
    /// Rows.
    pub rows: u64,
}

/// How a scan goes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ScanProgress {
    /// Rows so far, those of a journal included.
    pub rows: u64,
    /// Rows of this command.
    pub rows_now: u64,
    /// Share of the ring that is read, from 0 to 1.
    pub share: f64,
    /// Share that was read before this command.
    pub share_before: f64,
    /// Since this command started, in seconds.
    pub seconds: f64,
}

impl ScanProgress {
    /// Rows a second of this command.
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    pub fn rows_per_s(&self) -> f64 {
        if self.seconds > 0.0 {
            self.rows_now as f64 / self.seconds
        } else {
            0.0
        }
    }

    /// Seconds left, by the share of the ring that this command has read; absent before anything is.
    pub fn seconds_left(&self) -> Option<f64> {
        let read = self.share - self.share_before;
        (read > 0.0).then(|| self.seconds * (1.0 - self.share).max(0.0) / read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_of_this_sitting() {
        let half = ScanProgress {
            rows: 1_000,
            rows_now: 400,
            share: 0.7,
            share_before: 0.4,
            seconds: 30.0,
        };
        assert!((half.seconds_left().expect("known") - 30.0).abs() < 1e-9);
        assert!((half.rows_per_s() - 13.333).abs() < 0.01);
        assert_eq!(ScanProgress::default().seconds_left(), None);
        assert!(ScanProgress::default().rows_per_s() < 1e-9);
    }
}
