//! THE PROTOCOL: the CQL native protocol as a codec without IO, one small blocking client, and
//! what a shell needs of both: statements and commands read, words completed, rows drawn, files
//! read that people name.
//! Refuses: connection pools, retries, policies, printing.

// The protocol, and files that people name.
pub mod codec;
pub mod input;

// Values as rows, and commands of the shell.
pub mod commands;
pub mod rows;

// A connection, and what a shell reads, completes and draws.
pub mod client;
pub mod complete;
pub mod describe;
pub mod statements;
pub mod table;
pub mod trace;

// Schemas, read over a connection.
pub mod schema;

pub use client::{
    Client, ClientError, ConnectOptions, Credentials, Dial, Identity, Secret, TcpDialer, Tls,
    TlsError,
};
pub use codec::{Consistency, Version};
pub use input::InputError;
pub use rows::{ColumnSpec, Rows};
pub use statements::{Script, Statement, split_script, split_statements};
pub use table::{Layout, render_rows};
