//! What a server's error and a lost connection count as.
//! Refuses to hide the server's words.

use super::link::Lost;
use crate::endpoint::Fault;
use helenus_cql::codec::{DecodeError, ServerError, ServerErrorKind};
use helenus_model::sample::{FailureKind, is_shutting_down};
use helenus_model::workload::Check;
use std::net::SocketAddr;

/// What the server answered.
pub(super) fn of_server(error: &ServerError) -> Fault {
    use ServerErrorKind as Kind;
    let kind = match &error.kind {
        Kind::Unavailable { .. } => FailureKind::Unavailable,
        Kind::WriteTimeout { .. } => FailureKind::WriteTimeout,
        Kind::ReadTimeout { .. } => FailureKind::ReadTimeout,
        Kind::Overloaded if is_shutting_down(&error.message) => FailureKind::Connection,
        Kind::Overloaded => FailureKind::Overloaded,
        _ => FailureKind::Other,
    };
    Fault {
        kind,
        message: error.to_string(),
    }
}

/// What became of all that waited on a connection.
pub(super) fn of_loss(node: SocketAddr, lost: &Lost) -> Fault {
    Fault {
        kind: FailureKind::Connection,
        message: format!("{node}: {lost}"),
    }
}

/// Nobody to send it to.
pub(super) fn of_no_connection() -> Fault {
    Fault {
        kind: FailureKind::Connection,
        message: "no connection to any node that may coordinate".to_owned(),
    }
}

/// Bytes that are no such rows.
pub(super) fn of_rows(error: &DecodeError) -> Fault {
    Fault {
        kind: FailureKind::Other,
        message: error.to_string(),
    }
}

/// What a check found.
pub(super) fn of_check(check: Check, position: u64) -> Result<(), Fault> {
    match check {
        Check::Match => Ok(()),
        Check::Missing => Err(Fault {
            kind: FailureKind::MissingRow,
            message: format!("no row at position {position}"),
        }),
        Check::Wrong { column } => Err(Fault {
            kind: FailureKind::WrongData,
            message: format!("column {column} of position {position} is not what was written"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_shuts_down_is_gone_and_not_overloaded() {
        let said = |words: &str| {
            of_server(&ServerError {
                message: words.to_owned(),
                kind: ServerErrorKind::Overloaded,
            })
            .kind
        };
        assert_eq!(said("Server is shutting down"), FailureKind::Connection);
        assert_eq!(said("Too many requests"), FailureKind::Overloaded);
    }
}
