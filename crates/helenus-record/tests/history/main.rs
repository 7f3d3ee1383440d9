//! The history as its users see it: one file, several writers, writers that die, versions.
//! Refuses a cluster or a generator: every value is made here.

mod errors;
mod experiments;
mod exports;
mod killed;
mod names;
mod removal;
mod round_trip;
mod sync;
mod turns;
mod values;
mod versions;
