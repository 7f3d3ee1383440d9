//! Why a call failed, with its facts, and a cure where one exists.
//! Refuses to hide which side failed: refused, timed out, protocol, log-in and server are apart.

use crate::codec::{DecodeError, EncodeError, ServerError, ServerErrorKind, Version};
use helenus_model::sample::is_shutting_down;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nothing listens there.
    #[error("{addr} refused the connection")]
    Refused {
        /// The address dialled.
        addr: SocketAddr,
    },
    /// The address could not be dialled.
    #[error("cannot connect to {addr}")]
    Unreachable {
        /// The address dialled.
        addr: SocketAddr,
        /// What the system reports.
        source: io::Error,
    },
    /// The server and this client could not agree on an encrypted connection.
    #[error("no TLS with {addr}")]
    Tls {
        /// The address dialled.
        addr: SocketAddr,
        /// Why not: a certificate that is not trusted, or an end that speaks no TLS.
        source: io::Error,
    },
    /// The server ended the encrypted connection with an alert.
    #[error("the server ended TLS during {during}")]
    TlsEnded {
        /// What was going on.
        during: &'static str,
        /// The alert, or what is wrong with its bytes.
        source: io::Error,
    },
    /// A file that the connection needs.
    #[error("cannot use {what}, which the connection needs")]
    Key {
        /// Its path, or what it is for.
        what: String,
        /// Why not.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// No answer in time. The connection stays usable; the request may still take effect.
    #[error("no answer to {during} within {limit:?}")]
    TimedOut {
        /// What was waited for.
        during: &'static str,
        /// How long.
        limit: Duration,
    },
    /// The person cancelled the wait. The connection stays usable; the request may still take effect.
    #[error("{during} was cancelled; it may still take effect")]
    Cancelled {
        /// What was waited for.
        during: &'static str,
    },
    /// The server closed the connection.
    #[error("the server closed the connection during {during}")]
    Closed {
        /// What was going on.
        during: &'static str,
    },
    /// The stream failed.
    #[error("the connection failed during {during}")]
    Io {
        /// What was going on.
        during: &'static str,
        /// What the system reports.
        source: io::Error,
    },
    /// The connection failed before and cannot be used any more.
    #[error("the connection is broken by an earlier failure")]
    Broken,
    /// The server's bytes are not the protocol.
    #[error("the server's answer to {during} violates the protocol")]
    Protocol {
        /// What was going on.
        during: &'static str,
        /// What is wrong with them.
        source: DecodeError,
    },
    /// An answer that does not belong to the request.
    #[error("the server answered {during} with {found}")]
    Unexpected {
        /// What was going on.
        during: &'static str,
        /// What came.
        found: &'static str,
    },
    /// The server does not speak this protocol version.
    #[error("the server does not speak protocol {asked}: {message}")]
    Version {
        /// The version asked for.
        asked: Version,
        /// The server's words.
        message: String,
    },
    /// The server needs credentials and none were given.
    #[error("the server requires a user name and a password ({authenticator})")]
    CredentialsMissing {
        /// The server's authenticator class.
        authenticator: String,
    },
    /// The server requires something other than a user name and a password.
    #[error("the server's authenticator {authenticator} is not supported")]
    Authenticator {
        /// The server's authenticator class.
        authenticator: String,
    },
    /// User name or password is wrong.
    #[error("the server refused the log-in of {username:?}: {message}")]
    Refusal {
        /// The user name sent.
        username: String,
        /// The server's words.
        message: String,
    },
    /// The server answered with an error.
    // Not a source: the chain of causes would repeat the same words.
    #[error("{error}")]
    Server {
        /// The error.
        error: ServerError,
    },
    /// A request or a bound value cannot be written.
    #[error("cannot write {during}")]
    Encode {
        /// What was being written.
        during: &'static str,
        /// Why not.
        source: EncodeError,
    },
    /// A bound value cannot be written as its marker's type.
    #[error("the value for {marker} does not fit")]
    Value {
        /// The marker's name.
        marker: String,
        /// Why not.
        source: EncodeError,
    },
    /// More or fewer values than markers.
    #[error("the statement has {markers} markers, {values} values were given")]
    ValueCount {
        /// Markers.
        markers: usize,
        /// Values.
        values: usize,
    },
}

impl ClientError {
    /// What the person can do about it, where something can be done.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Refused { .. } => Some("is the node up, and is this its native transport port?"),
            Self::Unreachable { .. } => Some("check the address and the network between"),
            Self::TimedOut { .. } => {
                Some("the node may be busy or paused; look at its log, then ask again")
            }
            Self::Closed { during: "STARTUP" } => {
                Some("does the server require TLS, or a client certificate? else look at its log")
            }
            Self::Closed { .. } | Self::Io { .. } | Self::Broken => {
                Some("the node may have died; look at its log, then connect again")
            }
            Self::Tls { .. } => Some(
                "does the server speak TLS, and did the authority that you trust sign its certificate?",
            ),
            Self::TlsEnded { .. } => {
                Some("does the server require a client certificate, signed by its own authority?")
            }
            Self::Key { .. } => Some("does the file exist, complete and readable?"),
            Self::Protocol { .. } => {
                Some("is this a Cassandra native transport port, and does it require TLS?")
            }
            Self::Version { .. } => Some("request an older protocol version"),
            Self::CredentialsMissing { .. } => Some("give a user name and a password"),
            Self::Refusal { .. } => Some("check user name and password"),
            Self::Server { error } => {
                server_hint(error).or_else(|| super::cure::of(&error.message))
            }
            Self::Unexpected { .. }
            | Self::Cancelled { .. }
            | Self::Authenticator { .. }
            | Self::Encode { .. }
            | Self::Value { .. }
            | Self::ValueCount { .. } => None,
        }
    }

    /// Whether the server refused to create what exists.
    pub fn already_exists(&self) -> bool {
        let kind = self.server().map(|server| &server.kind);
        matches!(kind, Some(ServerErrorKind::AlreadyExists { .. }))
    }

    /// The server's error, if that is what it is.
    pub fn server(&self) -> Option<&ServerError> {
        match self {
            Self::Server { error } => Some(error),
            _ => None,
        }
    }
}

fn server_hint(error: &ServerError) -> Option<&'static str> {
    match &error.kind {
        ServerErrorKind::Unavailable { .. } => Some(
            "too few replicas are up for this consistency level: start the nodes that are down, or change the keyspace's replication",
        ),
        // Cassandra has no error of its own for it.
        ServerErrorKind::Overloaded if is_shutting_down(&error.message) => {
            Some("the node is shutting down: start it again, or ask another node")
        }
        ServerErrorKind::Overloaded => Some("send fewer requests at a time"),
        ServerErrorKind::IsBootstrapping => Some("wait until the node has joined"),
        ServerErrorKind::WriteTimeout { .. } => Some("the write may still take effect"),
        ServerErrorKind::Unauthorized => Some("grant the role the permission, or use another"),
        ServerErrorKind::Unprepared { .. } => Some("prepare the statement again"),
        ServerErrorKind::CasWriteUnknown { .. } => Some("read the row to see what happened"),
        ServerErrorKind::Truncate => Some("TRUNCATE needs every node up"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_shuts_down_has_no_hint_to_be_asked_less() {
        let hint = |message: &str| {
            let error = ServerError {
                message: message.to_owned(),
                kind: ServerErrorKind::Overloaded,
            };
            ClientError::Server { error }.hint()
        };
        let going = hint("Server is shutting down").expect("a hint");
        assert!(going.contains("shutting down"), "{going}");
        assert_eq!(hint("busy"), Some("send fewer requests at a time"));
    }
}
