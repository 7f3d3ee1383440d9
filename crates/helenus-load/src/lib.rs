//! THE STOPWATCH of Helenus: slots, times, recordings, and the client that sends operations.
//! Refuses to start processes and to print: it is the body of one, and writes to what it is given.
//!
//! The generator is always a process of its own: [`serve()`] is its body, [`reading`] the parent's side.
//!
//! **Invariant:** only `stopwatch` decides what an operation's times mean, and it has no clock.
//! **Invariant:** only `driver` and `convert` know the driver.

mod convert;
mod driver;
mod engine;
mod gather;
mod ledger;
mod marks;
mod output;
mod recorder;
mod stop;
mod sys;
mod timer;
mod trust;

pub mod endpoint;
pub mod merging;
pub mod reading;
pub mod secrets;
pub mod serve;
pub mod stopwatch;

pub use driver::Driver;
pub use merging::Merger;
pub use reading::{Accumulator, ReadError, SampleReader};
pub use secrets::Secrets;
pub use serve::{ServeEnd, serve};
pub use sys::stand;
