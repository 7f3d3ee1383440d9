//! THE NOUNS AND DECISIONS of Helenus: everything that can be computed from values alone.
//! Refuses: IO, async, clocks, global randomness. A test of this crate needs nothing but memory.
//!
//! The modules stand in a fixed order; each may use only those above it (`cargo xtask order` checks).

#[cfg(not(target_os = "linux"))]
compile_error!(
    "Helenus runs on Linux: it needs /proc, network namespaces and cgroups. On macOS and Windows run it in a Linux virtual \
     machine, WSL2 or a container: docs/other-systems.md"
);

// Words and numbers.
pub mod calendar;
pub(crate) mod cells;
pub mod dead_verb;
pub mod format;
pub mod hex;
pub mod nearest;
pub mod seed;
pub mod units;
mod worded;

pub mod secret;

pub mod toml_file;

pub mod access;

pub mod consistency;
pub mod cql;
pub mod schema_text;

// Clusters: what they are made of, and what they look like. (Blank lines keep the order from being sorted away.)
pub mod machine;

pub mod topology;

pub mod network;

pub mod distance;

pub mod yaml;

pub mod ring;

pub mod serving;

pub mod scan;

pub mod status;

pub mod membership;

pub mod release;

pub mod preset;

pub mod memory;

pub mod smaps;

pub mod like;

pub mod plan;

pub mod sizing;

pub mod tuned;

pub mod lent;

pub mod kube;

pub mod hosts;

pub mod fault;

pub mod guard;

pub mod reset;

pub mod baseline;

pub mod upgrade;

// Numbers: what is measured, and what it is worth.
pub mod histogram;
pub mod stats;

pub mod trend;

pub mod dist;
pub mod schedule;

pub mod table;

pub mod positions;

pub mod workload;

pub mod built_in;

pub mod levels;

pub mod flame;

pub mod run_plan;

pub mod sample;

pub mod server_times;
pub mod trace;

pub mod agent;

pub mod ledger;

pub mod telemetry;

pub mod metrics;

pub mod stack;

pub mod live;

pub mod gc_log;

pub mod tail;

pub mod steady;

pub mod overload;

pub mod doubt;

pub mod calibration;

pub mod probe;
pub mod result;

pub mod samples;

pub mod comparison;

pub mod bench;
pub mod line;

pub mod ingest;
pub mod level_runs;
pub mod populate;
pub mod run_shape;

pub mod experiment;

pub mod pace;
pub mod search;

// Other people's words for all this.
pub mod nb;
pub mod stress;
