//! System tables that older releases lack: asked for under the name that a release has, or not at all.
//! Refuses to take any other error for an absent table: what cannot be read is reported.

use helenus_cql::client::{Client, ClientError};
use helenus_cql::codec::{Consistency, ServerErrorKind};
use helenus_cql::rows::Rows;

/// The answer to the query; none where the node has no such table or column.
///
/// # Errors
/// The node does not answer, or refuses for another reason.
pub fn if_there(client: &mut Client, cql: &str) -> Result<Option<Rows>, ClientError> {
    match client.query(cql, Consistency::One) {
        Ok(rows) => Ok(Some(rows)),
        Err(error) if lacks(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The nodes that this one knows beside itself; columns of ports are absent before 4.0.
///
/// # Errors
/// The node does not answer.
pub fn peers(client: &mut Client, columns: &str) -> Result<Rows, ClientError> {
    newer_or_older(client, columns, ["system.peers_v2", "system.peers"])
}

/// The node itself; columns of ports are absent before 4.0.
///
/// # Errors
/// The node does not answer.
pub fn local(client: &mut Client, columns: &str) -> Result<Rows, ClientError> {
    newer_or_older(client, columns, ["system.local"; 2])
}

fn newer_or_older(
    client: &mut Client,
    columns: &str,
    [newer, older]: [&str; 2],
) -> Result<Rows, ClientError> {
    let modern = format!("SELECT {columns} FROM {newer}");
    if let Some(rows) = if_there(client, &modern)? {
        return Ok(rows);
    }
    let has = |column: &&str| !column.ends_with("_port");
    let before: Vec<&str> = columns.split(", ").filter(has).collect();
    let cql = format!("SELECT {} FROM {older}", before.join(", "));
    client.query(&cql, Consistency::One)
}

/// An unknown table or keyspace is an invalid query to a node.
fn lacks(error: &ClientError) -> bool {
    error
        .server()
        .is_some_and(|e| e.kind == ServerErrorKind::Invalid)
}
