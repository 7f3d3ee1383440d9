//! The CQL native protocol, versions 4 and 5, as functions from values to bytes and back.
//! Refuses IO, clocks and compression; no bytes make it panic or allocate far beyond their size.
//!
//! Words as in protocol v5: an *envelope* is a header with one message's body; a *frame* is v5's
//! outer wrapping with checksums, which holds several envelopes or a part of one.

pub mod consistency;
pub mod envelope;
pub mod error;
pub mod event;
pub mod frame;
pub mod marshal;
pub mod request;
pub mod response;
pub mod result;
pub mod server_error;
pub mod types;
pub mod value;
pub mod vint;
pub mod wire;

pub use consistency::{Consistency, UnknownConsistency};
pub use envelope::{Envelope, Header, Opcode, Version};
pub use error::{DecodeError, EncodeError};
pub use event::{Event, SchemaChange, SchemaTarget, TopologyChange};
pub use frame::{Framing, Inbox, Outbox};
pub use request::{BatchType, Bound, BoundStatement, Execution, Parameters, Request, Values};
pub use response::{Extras, Response, answer, tracing_id};
pub use result::{Answer, ColumnSpec, Prepared, QueryResult, RowsPage, RowsView};
pub use server_error::{FailureReason, ServerError, ServerErrorKind};
