//! THE HANDS of Helenus: releases, JDKs, processes, claims, readiness and removal of Cassandra nodes.
//! Refuses: printing. What happens is told by events and errors; the face words them.

pub mod address;
pub mod alive;
pub mod archive;
pub mod attach;
pub mod baseline;
pub mod cancel;
mod digest;
pub mod doctor;
pub mod env;
pub mod error;
pub mod guard;
pub mod jdk;
pub mod launch;
pub mod lifecycle;
pub mod limits;
pub mod machine;
pub mod many;
pub mod mbeans;
pub mod nodetool;
pub mod observe;
pub mod old_tables;
pub mod paths;
pub mod process;
pub mod reach;
pub mod ready;
pub mod remove;
pub mod reset;
pub mod ring_view;
pub mod room;
pub mod secure;
pub mod shell;
pub mod shim;
pub mod state;
pub mod store;
pub mod telemetry;
pub mod tools;
