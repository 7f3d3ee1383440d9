//! What one operation of a profile sends: statements, values, batches.
//! Refuses to send: an endpoint does that.

use super::profile::BatchKind;
use crate::consistency::{Consistency, SerialConsistency};
use crate::cql::CqlValue;

/// A statement that is prepared before a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The operation that it belongs to, for errors.
    pub operation: String,
    /// The text, with bind markers.
    pub cql: String,
    /// Its own consistency; the run's where there is none.
    pub consistency: Option<Consistency>,
    /// Its own serial consistency.
    pub serial_consistency: Option<SerialConsistency>,
}

/// A value for a bind marker.
#[derive(Debug, Clone, PartialEq)]
pub enum Bound {
    /// This value.
    Value(CqlValue),
    /// Left as it is on the server: no tombstone.
    Unset,
}

/// What one operation sends. Numbers are places in the list of statements.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// One statement.
    Single(usize, Vec<Bound>),
    /// Several at once.
    Batch(BatchKind, Vec<(usize, Vec<Bound>)>),
    /// The next page of a scan through the whole ring. The statement has two markers: tokens above the first, up to
    /// the second; which range and which page come next is for the endpoint to know.
    Scan {
        /// Place of the statement.
        statement: usize,
        /// Rows a page.
        page_size: u32,
    },
}

/// One operation's work.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// What is sent.
    pub request: Request,
    /// Partitions that it touches.
    pub partitions: u32,
    /// Rows that it writes; of a read they are counted when they come back.
    pub rows: u32,
    /// Partitions and rows are those that come back, whatever the statement is.
    pub by_answer: bool,
}
