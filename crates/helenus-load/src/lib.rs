//! THE LOAD GENERATOR: slots, times, recordings, and the client that sends operations.
//! Refuses to start processes and to print: it is the body of one, and writes to what it is given.
//!
//! The generator is always a process of its own: [`serve()`] is its body; its parent reads it with
//! `helenus_model::samples`.
//!
//! **Invariant:** only `stopwatch` decides what an operation's times mean, and it has no clock.
//! **Invariant:** one wait serves all connections, starts and time-outs, on one thread.

// The kernel.
mod poller;
mod sys;

// What is measured, and by what.
pub mod endpoint;
pub mod secrets;
pub mod stopwatch;

// How operations are sent and recorded.
mod engine;
mod ledger;
mod marks;
pub mod null;
mod output;
#[cfg(test)]
mod overload_tests;
mod recorder;
pub mod rows;
pub mod serve;
mod stop;
mod trust;
mod wire;

pub use secrets::Secrets;
pub use serve::{ServeEnd, footer, serve};
pub use sys::stand;
