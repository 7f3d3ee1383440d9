//! THE PROTOCOL: the CQL native protocol as a codec without IO, one small blocking client, and
//! what a shell needs of both: statements split, rows drawn.
//! Refuses: connection pools, retries, policies, printing.

pub mod client;
pub mod codec;
pub mod rows;
pub mod statements;
pub mod table;

pub use client::{
    Client, ClientError, ConnectOptions, Credentials, Dial, Identity, Secret, TcpDialer, Tls,
    TlsError,
};
pub use codec::{Consistency, Version};
pub use rows::{ColumnSpec, Rows};
pub use statements::{Statement, split_statements};
pub use table::render_rows;
