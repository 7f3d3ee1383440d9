//! ORCHESTRATION: up, look, prepare, probe, run, record, remove, as a stream of events.
//! Refuses flags and printing; what comes next is decided by `helenus_model::line`.

// Beside a run: what is read, disturbed and started.
pub mod compare;
pub mod distance;
pub mod faults;
pub mod generator;
pub mod http;
pub mod inside;
pub mod watch;
mod windows;

// Where a run goes, and what is read over its windows.
pub mod calibrate;
pub mod flame;
pub mod ledger;
mod server_times;
pub mod target;

// Replicas, and traces.
pub mod serving;
mod traces;

// One run.
pub mod bench;

// Other loads, and several runs.
pub mod ingest;
pub mod levels;
pub mod metrics;
pub mod populate;
pub mod search;
pub mod stress;

// Many runs, and tables that are read.
pub mod experiment;
pub mod unload;

pub use bench::{BenchError, BenchRequest, Finished, LabEvent, run};
