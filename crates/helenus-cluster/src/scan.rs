//! Reads whole tables by ranges of tokens, on several threads, so gently that a small node never times out.
//! Refuses to write, and to take a part for the whole: what was not read is reported.
//!
//! The engine hands out spans and looks after troubles; [`count`], [`check`] and [`unload`] say what is asked and what is made of
//! the answers.

pub mod check;
pub mod count;
mod engine;
mod error;
mod journal;
mod line;
mod look;
mod place;
pub mod recall;
pub mod unload;

pub use engine::ScanEvent;
pub use error::ScanError;
pub use look::{ScanTable, look};
pub use place::ScanPlace;

use std::num::NonZeroUsize;

/// How hard a scan may lean on the nodes.
#[derive(Debug, Clone, Copy)]
pub struct Gentleness {
    /// Requests in flight at once, each on a connection of its own; by default by the number of nodes.
    pub parallel: Option<NonZeroUsize>,
    /// Most rows a second, of all threads together.
    pub rate: Option<f64>,
    /// Consistency level of the reads.
    pub consistency: helenus_cql::Consistency,
}

/// Requests in flight for each node by default: with two the node's own threads spin while they wait for work,
/// with eight nothing is won (docs/design/030-counting.md).
const PARALLEL_A_NODE: usize = 4;

/// Most requests in flight by default.
const PARALLEL_MOST: usize = 16;

impl Gentleness {
    /// Threads for so many coordinators.
    fn threads(&self, coordinators: usize) -> usize {
        let by_nodes = (coordinators * PARALLEL_A_NODE).clamp(1, PARALLEL_MOST);
        self.parallel.map_or(by_nodes, NonZeroUsize::get)
    }
}
