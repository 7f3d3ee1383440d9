//! What the load generator measures: something that prepares a workload and runs operations.
//! Refuses policy: an endpoint never retries, never waits by itself and never gives up by itself.

use crate::sys;
use helenus_model::run_plan::SerialConsistency;
use helenus_model::sample::FailureKind;
use helenus_model::seed::Seed;
use helenus_model::workload::Workload;
use helenus_model::workload::user_statements::Unchecked;
use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;

/// Something that runs operations: connections to a cluster, or a fake with exact delays.
///
/// One operation runs in a slot at a time. [`Self::begin`] hands it on, and some later [`Self::poll`] says how it
/// ended; all is done by the thread that calls.
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
    ) -> Result<(), EndpointError>;

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

    /// Address of the coordinator in this place of [`Over::coordinator`]; none where there are not so many.
    fn coordinator(&self, _place: u32) -> Option<SocketAddr> {
        None
    }

    /// What the monotonic clock reads, in nanoseconds: the clock of [`Self::poll`].
    fn now_ns(&self) -> u64 {
        sys::monotonic_ns()
    }

    /// Connections that were lost since this was last asked.
    fn connections_lost(&mut self) -> u64 {
        0
    }

    /// Hands an operation on, to be sent at the next [`Self::poll`].
    fn begin(&mut self, slot: usize, call: Call<'_>);

    /// Sends what was handed on, then waits until something ends or the monotonic clock reads `until_ns`, and appends
    /// what has ended. It may return early with nothing.
    ///
    /// # Errors
    /// The generator's own machinery fails: nothing can be measured any more.
    fn poll(&mut self, until_ns: u64, ended: &mut Vec<Ended>) -> io::Result<()>;

    /// Moves the calling thread to the processor from which the last answer came, where it may run there.
    fn follow(&self) {}

    /// Gives up the operation in a slot, whose answer does not count any more; when it started (0 is *never*).
    fn give_up(&mut self, slot: usize) -> u64;
}

/// An operation that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Its slot, which is free again.
    pub slot: usize,
    /// When its first byte was handed to the socket, in nanoseconds on the monotonic clock; 0 where it never was.
    pub start_ns: u64,
    /// When the last byte of its answer was here.
    pub end_ns: u64,
    /// Partitions that it touched, and rows that it wrote or read.
    pub touched: (u32, u32),
    /// What its answer came over; none where none came, or where there are no connections.
    pub over: Option<Over>,
    /// How it failed, if it did.
    pub result: Result<(), Fault>,
}

/// The way of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Over {
    /// Place of the node that coordinated it; [`Endpoint::coordinator`] has its address.
    pub coordinator: u32,
    /// Number of the connection.
    pub connection: u32,
    /// Stream on the connection.
    pub stream: i16,
    /// Id of its trace, where it was asked for.
    pub trace: Option<[u8; 16]>,
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
    /// The timestamp of what it writes, in microseconds since 1970; none leaves it to the server.
    pub timestamp_us: Option<i64>,
    /// Whether its coordinator is asked to trace it.
    pub trace: bool,
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
        /// The client's error.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server refused a statement.
    #[error("cannot prepare operation {operation:?}")]
    Prepare {
        /// The operation.
        operation: String,
        /// The client's error.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The connection failed while a statement was prepared.
    #[error("the connection failed when operation {operation:?} was prepared")]
    Lost {
        /// The operation.
        operation: String,
        /// The client's error.
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
    /// The server's or the client's own words.
    pub message: String,
}
