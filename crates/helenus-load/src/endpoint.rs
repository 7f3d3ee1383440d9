//! What the stopwatch measures against: something that prepares a workload and runs operations.
//! Refuses policy: an endpoint never retries, never waits by itself and never gives up by itself.

use crate::sys;
use helenus_model::sample::FailureKind;
use helenus_model::seed::Seed;
use helenus_model::workload::Workload;
use std::cell::Cell;
use std::future::Future;

/// Something that runs operations: the driver, or a fake with exact delays.
pub trait Endpoint {
    /// Prepares the workload's statements. `data` is the seed that its data follow from.
    ///
    /// # Errors
    /// What the server refuses, or what cannot be generated or checked.
    fn prepare(
        &mut self,
        workload: &Workload,
        data: Seed,
    ) -> impl Future<Output = Result<(), EndpointError>>;

    /// Runs the workload's operation number `operation` at `position` and checks what it reads.
    /// Stamps the start just before the request is handed on, and the end just after its answer came.
    ///
    /// # Errors
    /// How it failed.
    fn run(
        &self,
        operation: usize,
        position: u64,
        stamp: &Stamp,
    ) -> impl Future<Output = Result<(), Fault>>;
}

/// Why an endpoint cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// No connection.
    #[error("cannot connect to {endpoints}")]
    Connect {
        /// The addresses that were tried.
        endpoints: String,
        /// The driver's error.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server refused a statement.
    #[error("cannot prepare operation {operation:?}")]
    Prepare {
        /// The operation.
        operation: String,
        /// The driver's error.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A bind marker that no value can be made for.
    #[error(
        "operation {operation:?}: no value can be made for {marker:?}: bind markers must stand for whole columns"
    )]
    Marker {
        /// The operation.
        operation: String,
        /// The marker's name or type.
        marker: String,
    },
}

/// Why an operation failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The kind that is counted.
    pub kind: FailureKind,
    /// The server's or the driver's own words.
    pub message: String,
}

/// Start and end of one operation, in nanoseconds on the monotonic clock; 0 is *not yet*.
#[derive(Debug, Default)]
pub struct Stamp {
    start_ns: Cell<u64>,
    end_ns: Cell<u64>,
}

impl Stamp {
    /// The request is about to be handed on.
    pub fn start(&self) {
        self.start_ns.set(sys::monotonic_ns());
    }

    /// The answer is here.
    pub fn end(&self) {
        self.end_ns.set(sys::monotonic_ns());
    }

    pub(crate) fn clear(&self) {
        self.start_ns.set(0);
        self.end_ns.set(0);
    }

    pub(crate) fn start_ns(&self) -> Option<u64> {
        Some(self.start_ns.get()).filter(|ns| *ns > 0)
    }

    pub(crate) fn end_ns(&self) -> Option<u64> {
        Some(self.end_ns.get()).filter(|ns| *ns > 0)
    }
}
