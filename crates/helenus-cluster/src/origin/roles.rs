//! Roles and permissions, read from the cluster and put back.
//! Refuses a cluster that asks for no credentials: there is nothing to read.

use super::ResetError;
use super::look::Node;
use crate::error::ClusterError;
use crate::state::ClusterState;
use helenus_cql::codec::Consistency;
use helenus_cql::{Client, ClientError, Rows};
use helenus_model::cql::CqlValue;
use helenus_model::reset::{Origin, Permission, Role, RoleChanges, Roles, role_changes};
use std::collections::BTreeSet;

/// Roles as they are; none where the cluster asks for no credentials.
pub(crate) fn read(state: &ClusterState, node: &mut Node) -> Result<Option<Roles>, ClusterError> {
    if state.access.credentials.is_none() {
        return Ok(None);
    }
    let silent = |source| ClusterError::silent(&node.name, source);
    roles(&mut node.client).map(Some).map_err(silent)
}

fn roles(client: &mut Client) -> Result<Roles, ClientError> {
    let asked = "SELECT role, is_superuser, can_login, member_of FROM system_auth.roles";
    let rows = client.query(asked, Consistency::One)?;
    let roles = (0..rows.len()).filter_map(|row| {
        Some(Role {
            name: rows.text(row, "role")?,
            superuser: is(&rows, row, "is_superuser"),
            login: is(&rows, row, "can_login"),
            member_of: words(&rows, row, "member_of"),
        })
    });
    let mut roles: Vec<Role> = roles.collect();
    roles.sort_by(|a, b| a.name.cmp(&b.name));
    let asked = "SELECT role, resource, permissions FROM system_auth.role_permissions";
    let rows = client.query(asked, Consistency::One)?;
    let mut permissions = Vec::new();
    for row in 0..rows.len() {
        let (Some(role), Some(resource)) = (rows.text(row, "role"), rows.text(row, "resource"))
        else {
            continue;
        };
        permissions.extend(
            words(&rows, row, "permissions")
                .into_iter()
                .map(|permission| Permission {
                    role: role.clone(),
                    resource: resource.clone(),
                    permission,
                }),
        );
    }
    permissions.sort();
    Ok(Roles { roles, permissions })
}

fn value<'a>(rows: &'a Rows, row: usize, column: &str) -> Option<&'a CqlValue> {
    let at = rows.columns.iter().position(|c| c.name == column)?;
    rows.rows.get(row)?.get(at)?.as_ref()
}

fn is(rows: &Rows, row: usize, column: &str) -> bool {
    matches!(value(rows, row, column), Some(CqlValue::Boolean(true)))
}

fn words(rows: &Rows, row: usize, column: &str) -> BTreeSet<String> {
    let Some(CqlValue::Set(values)) = value(rows, row, column) else {
        return BTreeSet::new();
    };
    let texts = values.iter().filter_map(|value| match value {
        CqlValue::Text(text) => Some(text.clone()),
        _ => None,
    });
    texts.collect()
}

/// What leads back to the recorded roles; nothing where none are recorded.
pub(crate) fn changes(
    state: &ClusterState,
    node: &mut Node,
    origin: &Origin,
) -> Result<RoleChanges, ClusterError> {
    let (Some(was), Some(now)) = (&origin.roles, read(state, node)?) else {
        return Ok(RoleChanges::default());
    };
    let own = state.access.credentials.as_ref();
    let own = own.map_or("", |c| c.username.as_str());
    Ok(role_changes(was, &now, own))
}

/// Runs the statements; `done` of `of` changes were made before.
pub(crate) fn put_back(
    node: &mut Node,
    statements: &[String],
    done: usize,
    of: usize,
) -> Result<(), ClusterError> {
    for (before, statement) in statements.iter().enumerate() {
        let ran = node.client.query(statement, Consistency::One);
        ran.map_err(|source| ResetError::Refused {
            statement: statement.clone(),
            done: done + before,
            of,
            source: Box::new(source),
        })?;
    }
    Ok(())
}
