//! THE HANDS of Helenus: releases, JDKs, processes, claims, readiness and removal of Cassandra nodes.
//! Refuses: printing. What happens is told by events and errors; the face words them.

pub mod env;
pub mod jdk;
pub mod paths;
pub mod store;
