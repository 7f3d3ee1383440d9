//! Rows into a table over the wire: encoded rows in slots, sent as one request each, and how each ended.
//! Refuses to decide what a failure means: whoever loads repeats or gives up.

use crate::endpoint::{Call, Ended, Endpoint as _, EndpointError};
use crate::stop::Stop;
use crate::sys;
pub use crate::wire::Package;
use crate::wire::{Ways, Wire};
use helenus_cql::{ConnectOptions, Consistency};
use helenus_model::cql::CqlType;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Connections to a cluster, over which the rows of one prepared statement are sent.
#[derive(Debug)]
pub struct RowWriter {
    wire: Wire,
}

impl RowWriter {
    /// Connects to the nodes and prepares the statement; also its markers with their types.
    ///
    /// # Errors
    /// No node answers, or the statement is refused.
    pub fn connect(
        endpoints: &[SocketAddr],
        options: ConnectOptions,
        (connections, consistency): (u32, Consistency),
        cql: &str,
    ) -> Result<(Self, Vec<(String, CqlType)>), EndpointError> {
        let ways = Ways {
            endpoints: endpoints.to_vec(),
            endpoints_only: false,
            local_data_centre: None,
            connections,
            consistency,
        };
        let nobody = || EndpointError::Connect {
            endpoints: String::new(),
            source: "interrupted".into(),
        };
        let mut wire = Wire::open(&ways, options, &Stop::default())?.ok_or_else(nobody)?;
        let markers = wire.prepare_rows(cql)?;
        Ok((Self { wire }, markers))
    }

    /// Sends a package in a free slot, at the next [`Self::poll`].
    pub fn begin(&mut self, slot: usize, package: Package) {
        if let Some(place) = self.wire.package(slot) {
            *place = package;
        }
        self.wire.begin(
            slot,
            Call {
                operation: 0,
                number: slot as u64,
                positions: &[0],
                verify: false,
                serial_consistency: None,
                timestamp_us: None,
                trace: false,
            },
        );
    }

    /// The package of a slot whose request has ended, to be sent again or dropped.
    pub fn take(&mut self, slot: usize) -> Package {
        let package = self.wire.package(slot);
        package.map(std::mem::take).unwrap_or_default()
    }

    /// Sends what waits in slots, waits at most so long until something ends, and appends what has ended.
    ///
    /// # Errors
    /// The system fails.
    pub fn poll(&mut self, at_most: Duration, ended: &mut Vec<Ended>) -> io::Result<()> {
        let wait = u64::try_from(at_most.as_nanos()).unwrap_or(u64::MAX);
        self.wire
            .poll(sys::monotonic_ns().saturating_add(wait), ended)
    }

    /// Waits no longer for a slot's answer.
    pub fn give_up(&mut self, slot: usize) {
        self.wire.give_up(slot);
    }
}
