//! The sample lines of generators: read, merged where there are several, and gathered into a result.
//! Refuses to start or stop generators.

mod gather;
mod merging;
mod reading;

pub use gather::Gathered;
pub use merging::{Lost, Merger};
pub use reading::{Accumulator, ReadError, SampleReader, phase_result};
