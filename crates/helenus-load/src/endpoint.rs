//! What the load generator measures: something that prepares a workload and runs operations.
//! Refuses policy: an endpoint never retries, never waits by itself and never gives up by itself.

use crate::sys;
use helenus_model::run_plan::SerialConsistency;
use helenus_model::sample::FailureKind;
use helenus_model::seed::Seed;
use helenus_model::workload::Workload;
use helenus_model::workload::own::Unchecked;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::future::Future;

/// Something that runs operations: the driver, or a fake with exact delays.
pub trait Endpoint {
    /// Prepares the statements of the workload's operations that are `used`. `data` is the seed that its data follow
    /// from.
    ///
    /// # Errors
    /// What the server refuses, or what cannot be generated or checked.
    fn prepare(
        &mut self,
        workload: &Workload,
        used: &BTreeSet<String>,
        data: Seed,
    ) -> impl Future<Output = Result<(), EndpointError>>;

    /// What is read and not checked, once everything is prepared.
    fn unchecked(&self) -> Vec<Unchecked> {
        Vec::new()
    }

    /// Whether an operation may take several positions: only then is [`Self::partitions`] asked.
    fn takes_several(&self) -> bool {
        false
    }

    /// How many positions operation number `number` of this kind takes; a pure function.
    fn partitions(&self, _operation: usize, _number: u64) -> u32 {
        1
    }

    /// Runs an operation and checks what it reads. Stamps the start just before the request is handed on, and the
    /// end just after its answer came.
    ///
    /// # Errors
    /// How it failed.
    fn run(&self, call: Call<'_>, stamp: &Stamp) -> impl Future<Output = Result<(), Fault>>;
}

/// One operation that is to run.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// Place of its kind in the workload.
    pub operation: usize,
    /// Its number in the phase.
    pub number: u64,
    /// The positions that it takes: at least one.
    pub positions: &'a [u64],
    /// Whether a profile's rows are compared with what must have been written.
    pub verify: bool,
    /// Serial consistency where the statement brings none.
    pub serial_consistency: Option<SerialConsistency>,
    /// The timestamp of what it writes, in microseconds since 1970; none leaves it to the driver or the server.
    pub timestamp_us: Option<i64>,
}

impl Call<'_> {
    /// The first of its positions.
    pub fn position(&self) -> u64 {
        self.positions.first().copied().unwrap_or(0)
    }
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
    /// A profile whose data cannot be made.
    #[error("no data can be made for the workload {workload:?}")]
    Profile {
        /// The workload.
        workload: String,
        /// The maker's error.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A bind marker that no value can be made for.
    #[error("operation {operation:?}: no value can be made for {marker:?}: its type is not known")]
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

/// Start and end of one operation, in nanoseconds on the monotonic clock (0 is *not yet*), and what it touched.
#[derive(Debug, Default)]
pub struct Stamp {
    start_ns: Cell<u64>,
    end_ns: Cell<u64>,
    partitions: Cell<u32>,
    rows: Cell<u32>,
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

    /// It touched so many partitions, and wrote or read so many rows.
    pub fn touched(&self, partitions: u32, rows: u32) {
        self.partitions.set(partitions);
        self.rows.set(rows);
    }

    pub(crate) fn clear(&self) {
        self.start_ns.set(0);
        self.end_ns.set(0);
        self.touched(0, 0);
    }

    /// Partitions and rows.
    pub(crate) fn touch(&self) -> (u32, u32) {
        (self.partitions.get(), self.rows.get())
    }

    pub(crate) fn start_ns(&self) -> Option<u64> {
        Some(self.start_ns.get()).filter(|ns| *ns > 0)
    }

    pub(crate) fn end_ns(&self) -> Option<u64> {
        Some(self.end_ns.get()).filter(|ns| *ns > 0)
    }
}
