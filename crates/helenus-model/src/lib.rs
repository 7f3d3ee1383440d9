//! THE NOUNS AND DECISIONS of Helenus: everything that can be computed from values alone.
//! Refuses: IO, async, clocks, global randomness. A test of this crate needs nothing but memory.
//!
//! The modules stand in a fixed order; each may use only those above it (`tests/order.rs` checks).

pub mod format;
pub mod nearest;
pub mod seed;
pub mod units;

pub mod cql;

pub mod machine;
pub mod preset;
pub mod topology;
pub mod yaml;
pub mod ring;
pub mod status;
pub mod release;
// The stopwatch's nouns. (Blank lines keep the order from being sorted away.)
pub mod histogram;
pub mod schedule;
pub mod workload;

pub mod run_plan;

pub mod sample;

pub mod doubt;

pub mod probe;
pub mod result;
