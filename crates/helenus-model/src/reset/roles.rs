//! Roles and permissions of a cluster with authentication: what leads back from those there are to those there were.
//! Refuses to make a role again: its password is known to nobody.

use super::Role;
use crate::cql::quoted;
use crate::reset::Roles;
use std::collections::BTreeSet;

/// A role that is never touched: the one Cassandra makes by itself.
const STOCK: &str = "cassandra";

/// What leads back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoleChanges {
    /// Statements, in order.
    pub statements: Vec<String>,
    /// What cannot be put back, for a person.
    pub lost: Vec<String>,
}

/// What leads from the roles `now` to those of `origin`; `own` is the superuser that Helenus works as.
pub fn role_changes(origin: &Roles, now: &Roles, own: &str) -> RoleChanges {
    let mut back = RoleChanges::default();
    let stays = |name: &str| name == own || name == STOCK;
    let find = |roles: &Roles, name: &str| roles.roles.iter().find(|r| r.name == name).cloned();
    for role in now.roles.iter().filter(|r| !stays(&r.name)) {
        match find(origin, &role.name) {
            None => back
                .statements
                .push(format!("DROP ROLE {}", quoted(&role.name))),
            Some(was) => put_back(&was, role, &mut back.statements),
        }
    }
    for role in origin.roles.iter().filter(|r| !stays(&r.name)) {
        if find(now, &role.name).is_none() {
            back.lost.push(format!(
                "role {} was dropped with its password: create it again",
                role.name
            ));
        }
    }
    let both =
        |name: &str| !stays(name) && find(origin, name).is_some() && find(now, name).is_some();
    let differ = |a: &Roles, b: &Roles, verb: &str, towards: &str, back: &mut RoleChanges| {
        let there: BTreeSet<_> = b.permissions.iter().collect();
        for p in a
            .permissions
            .iter()
            .filter(|p| both(&p.role) && !there.contains(p))
        {
            let role = quoted(&p.role);
            match resource(&p.resource) {
                Some(on) => back
                    .statements
                    .push(format!("{verb} {} ON {on} {towards} {role}", p.permission)),
                None => back.lost.push(format!(
                    "{} of {} on {} is left unchanged",
                    p.permission, p.role, p.resource
                )),
            }
        }
    };
    differ(now, origin, "REVOKE", "FROM", &mut back);
    differ(origin, now, "GRANT", "TO", &mut back);
    back
}

/// Puts back what a statement can of a role that stays.
fn put_back(was: &Role, now: &Role, statements: &mut Vec<String>) {
    let name = quoted(&was.name);
    if (was.superuser, was.login) != (now.superuser, now.login) {
        statements.push(format!(
            "ALTER ROLE {name} WITH SUPERUSER = {} AND LOGIN = {}",
            was.superuser, was.login
        ));
    }
    for of in now.member_of.difference(&was.member_of) {
        statements.push(format!("REVOKE {} FROM {name}", quoted(of)));
    }
    for of in was.member_of.difference(&now.member_of) {
        statements.push(format!("GRANT {} TO {name}", quoted(of)));
    }
}

/// A resource in CQL's words, from the path that `system_auth.role_permissions` has of it.
fn resource(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').collect();
    Some(match parts.as_slice() {
        ["data"] => "ALL KEYSPACES".into(),
        ["data", keyspace] => format!("KEYSPACE {}", quoted(keyspace)),
        ["data", keyspace, "*"] => format!("ALL TABLES IN KEYSPACE {}", quoted(keyspace)),
        ["data", keyspace, table] => format!("TABLE {}.{}", quoted(keyspace), quoted(table)),
        ["roles"] => "ALL ROLES".into(),
        ["roles", role] => format!("ROLE {}", quoted(role)),
        ["functions"] => "ALL FUNCTIONS".into(),
        ["functions", keyspace] => format!("ALL FUNCTIONS IN KEYSPACE {}", quoted(keyspace)),
        ["mbean"] => "ALL MBEANS".into(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reset::Permission;

    fn role(name: &str, of: &[&str]) -> Role {
        Role {
            name: name.into(),
            superuser: false,
            login: true,
            member_of: of.iter().map(|s| (*s).to_owned()).collect(),
        }
    }

    fn may(role: &str, permission: &str, resource: &str) -> Permission {
        Permission {
            role: role.into(),
            resource: resource.into(),
            permission: permission.into(),
        }
    }

    #[test]
    fn what_came_goes_and_what_was_revoked_is_granted() {
        let origin = Roles {
            roles: vec![
                role("app", &["readers"]),
                role("readers", &[]),
                role("gone", &[]),
            ],
            permissions: vec![may("app", "SELECT", "data/k/t")],
        };
        let mut app = role("app", &["Writers"]);
        app.superuser = true;
        let now = Roles {
            roles: vec![
                app,
                role("readers", &[]),
                role("Writers", &[]),
                role("cassandra", &[]),
            ],
            permissions: vec![
                may("app", "MODIFY", "data"),
                may("readers", "EXECUTE", "functions/k/f[int]"),
                may("helenus", "ALTER", "data/k"),
                may("Writers", "ALTER", "data/k"),
            ],
        };
        let back = role_changes(&origin, &now, "helenus");
        assert_eq!(
            back.statements,
            [
                "ALTER ROLE \"app\" WITH SUPERUSER = false AND LOGIN = true",
                "REVOKE \"Writers\" FROM \"app\"",
                "GRANT \"readers\" TO \"app\"",
                "DROP ROLE \"Writers\"",
                "REVOKE MODIFY ON ALL KEYSPACES FROM \"app\"",
                "GRANT SELECT ON TABLE \"k\".\"t\" TO \"app\"",
            ]
        );
        assert_eq!(back.lost.len(), 2, "{:?}", back.lost);
        assert_eq!(
            role_changes(&origin, &origin, "helenus"),
            RoleChanges::default()
        );
    }
}
