//! ORCHESTRATION: up, look, prepare, probe, run, record, remove, as a stream of events.
//! Refuses flags and printing; what comes next is decided by `helenus_model::line`.

pub mod bench;
pub mod calibrate;
pub mod compare;
pub mod distance;
pub mod experiment;
pub mod faults;
pub mod flame;
pub mod generator;
pub mod http;
pub mod ingest;
pub mod inside;
pub mod ledger;
pub mod levels;
pub mod metrics;
pub mod populate;
pub mod search;
mod server_times;
pub mod serving;
pub mod stress;
pub mod target;
mod traces;
pub mod unload;
pub mod watch;
mod windows;

pub use bench::{BenchError, BenchRequest, Finished, LabEvent, run};
