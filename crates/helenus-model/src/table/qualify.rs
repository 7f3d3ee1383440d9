//! Statements written for a connection that has a keyspace, made to name it.
//! Refuses to touch a name that has a keyspace already.

use crate::cql::quoted;
use crate::cql::tokens::{Token, tokens};

/// The statement with this keyspace before each table, type and view that has none.
pub fn qualify(statement: &str, keyspace: &str) -> String {
    let tokens = tokens(statement);
    let mut places: Vec<usize> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let name = match token.text.as_str() {
            "from" | "into" | "update" if token.is(&token.text) => Some(at + 1),
            "on" if token.is("on") && is_create(&tokens) => Some(at + 1),
            _ => None,
        };
        places.extend(name);
    }
    places.extend(created(&tokens));
    let mut text = statement.to_owned();
    places.sort_unstable();
    places.dedup();
    for at in places.into_iter().rev() {
        let dotted = tokens.get(at + 1).is_some_and(|t| t.is("."));
        if let Some(name) = tokens.get(at).filter(|t| t.is_name() && !dotted) {
            text.insert_str(name.at.start, &format!("{}.", quoted(keyspace)));
        }
    }
    text
}

/// A CREATE statement with `IF NOT EXISTS`; any other as it is.
pub fn if_absent(statement: &str) -> String {
    let tokens = tokens(statement);
    let kind = tokens
        .iter()
        .position(|t| KINDS.iter().any(|kind| t.is(kind)));
    match kind {
        Some(at) if is_create(&tokens) && at <= 3 => {
            let there = tokens.get(at + 1).is_some_and(|t| t.is("if"));
            if there {
                return statement.to_owned();
            }
            let (before, after) = statement.split_at(tokens[at].at.end);
            format!("{before} IF NOT EXISTS{after}")
        }
        _ => statement.to_owned(),
    }
}

/// What can be created beside functions, which may be replaced.
const KINDS: [&str; 7] = [
    "keyspace",
    "schema",
    "table",
    "columnfamily",
    "type",
    "index",
    "view",
];

fn is_create(tokens: &[Token]) -> bool {
    tokens.first().is_some_and(|t| t.is("create"))
}

/// Where the name of what is created or altered stands, if it belongs to a keyspace.
fn created(tokens: &[Token]) -> Option<usize> {
    let verb = tokens.first()?;
    if !["create", "alter"].iter().any(|word| verb.is(word)) {
        return None;
    }
    let kinds = ["table", "columnfamily", "type", "view"];
    let kind = tokens
        .iter()
        .take(4)
        .position(|t| kinds.iter().any(|kind| t.is(kind)))?;
    let conditional = tokens.get(kind + 1).is_some_and(|t| t.is("if"));
    let words = match (conditional, verb.is("create")) {
        (true, true) => 3,
        (true, false) => 2,
        (false, _) => 0,
    };
    Some(kind + 1 + words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_get_the_keyspace_once() {
        let said = |text: &str| qualify(text, "ks");
        assert_eq!(
            said("select * from t where k = ?"),
            "select * from \"ks\".t where k = ?"
        );
        assert_eq!(said("SELECT a FROM other.t"), "SELECT a FROM other.t");
        assert_eq!(
            said("UPDATE \"T\" SET a = ? WHERE k = ?"),
            "UPDATE \"ks\".\"T\" SET a = ? WHERE k = ?"
        );
        assert_eq!(
            said("CREATE TABLE IF NOT EXISTS t (k int PRIMARY KEY)"),
            "CREATE TABLE IF NOT EXISTS \"ks\".t (k int PRIMARY KEY)"
        );
        assert_eq!(
            said("CREATE INDEX i ON t (a)"),
            "CREATE INDEX i ON \"ks\".t (a)"
        );
        assert_eq!(
            said("CREATE TYPE u (a int)"),
            "CREATE TYPE \"ks\".u (a int)"
        );
        assert_eq!(
            said(
                "CREATE MATERIALIZED VIEW v AS SELECT * FROM t WHERE k IS NOT NULL PRIMARY KEY (k)"
            ),
            "CREATE MATERIALIZED VIEW \"ks\".v AS SELECT * FROM \"ks\".t WHERE k IS NOT NULL PRIMARY KEY (k)"
        );
        assert_eq!(
            said("BEGIN BATCH INSERT INTO t (k) VALUES (?); DELETE FROM u WHERE k = ? APPLY BATCH"),
            "BEGIN BATCH INSERT INTO \"ks\".t (k) VALUES (?); DELETE FROM \"ks\".u WHERE k = ? APPLY BATCH"
        );
        assert_eq!(
            said("ALTER TABLE t ADD b int"),
            "ALTER TABLE \"ks\".t ADD b int"
        );
    }

    #[test]
    fn what_is_created_is_created_where_it_is_absent() {
        assert_eq!(
            if_absent("CREATE KEYSPACE k WITH x"),
            "CREATE KEYSPACE IF NOT EXISTS k WITH x"
        );
        assert_eq!(
            if_absent("create custom index on t (a)"),
            "create custom index IF NOT EXISTS on t (a)"
        );
        let there = "CREATE TABLE IF NOT EXISTS t (table_ int)";
        assert_eq!(if_absent(there), there);
        assert_eq!(
            if_absent("ALTER TABLE t ADD b int"),
            "ALTER TABLE t ADD b int"
        );
    }
}
