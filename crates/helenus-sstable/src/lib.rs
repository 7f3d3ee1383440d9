//! A writer of Cassandra's SSTables: sorted rows in, the files of one SSTable out.
//! Refuses to sort, to read SSTables, and to write counters.
//!
//! The format is BIG, version `nb`: what Cassandra 4.0 and 4.1 write, and 5.0 writes by default and reads. Each SSTable
//! has its data (LZ4 or none), index, summary, Bloom filter, statistics and digest, so that a node opens it without
//! building anything anew.

// Bytes and types.
mod bytes;
mod types;

// The files and the parts that do not know rows.
mod cardinality;
mod data;
mod filter;
mod layout;
mod order;

// Rows.
mod row;

// What is written beside the rows.
mod index;
mod statistics;

// All files of an SSTable.
mod writer;

pub use data::Compression;
pub use layout::{Column, Layout, LayoutError};
pub use order::{NotComparable, comparable};
pub use row::{Cell, Clustering, Expiry, Row};
pub use writer::{Options, Writer, Written};
