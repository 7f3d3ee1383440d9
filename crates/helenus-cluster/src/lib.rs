//! THE HANDS of Helenus: releases, JDKs, processes, claims, readiness and removal of real Cassandra nodes.
//! Refuses to print, and to decide what a test of the model could decide.

pub mod alive;
pub mod cancel;
pub mod shim;
