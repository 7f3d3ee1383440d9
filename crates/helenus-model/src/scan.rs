//! Reading a whole table by its tokens: the pieces of the ring, how much is asked for at once, what is remembered.
//! Refuses to ask: `helenus-cluster` does, and says what came of it.

pub mod journal;
pub mod pace;
pub mod partitions;
pub mod report;
mod span;

pub use journal::{Changed, CountedSpan, JournalHead};
pub use pace::{Next, Pace, Trouble, Way};
pub use partitions::{Large, PartitionSizes};
pub use report::{CountReport, NodeCount, RangeCount, ScanProgress};
pub use span::{Overlap, Piece, Span, WHOLE_RING, pieces, rest, within};
