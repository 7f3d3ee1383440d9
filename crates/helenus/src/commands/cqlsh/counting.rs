//! What to do where a whole table was counted in one statement, and the nodes were not done in time.
//! Refuses statements with a WHERE: those count something else.

use helenus_cluster::shell::SessionError;
use helenus_cql::ClientError;
use helenus_cql::codec::ServerErrorKind;
use helenus_model::cql::identifier;
use helenus_model::cql::tokens::tokens;

/// The cure of a count that failed because it took too long; none where it is no count, or failed of something else.
pub(super) fn cure(
    statement: &str,
    keyspace: Option<&str>,
    cluster: &str,
    error: &SessionError,
) -> Option<String> {
    let SessionError::Client(error) = error else {
        return None;
    };
    let too_long = match error {
        ClientError::TimedOut { .. } => true,
        ClientError::Server { error } => matches!(
            error.kind,
            ServerErrorKind::ReadTimeout { .. } | ServerErrorKind::ReadFailure { .. }
        ),
        _ => false,
    };
    let table = counted(statement, keyspace).filter(|_| too_long)?;
    Some(format!(
        "count a table by token ranges, without time-outs: helenus count {table} --cluster {cluster}"
    ))
}

/// The table whose rows a statement counts, all of them.
fn counted(statement: &str, keyspace: Option<&str>) -> Option<String> {
    let words = tokens(statement);
    let begins = |word: &str, at: usize| words.get(at).is_some_and(|one| one.is(word));
    if !begins("select", 0) || !begins("count", 1) || words.iter().any(|one| one.is("where")) {
        return None;
    }
    let from = words.iter().position(|one| one.is("from"))? + 1;
    let first = words.get(from).filter(|one| one.is_name())?;
    let (keyspace, table) = match words.get(from + 1..from + 3) {
        Some([dot, table]) if dot.is(".") && table.is_name() => (first.text.as_str(), table),
        _ => (keyspace?, first),
    };
    Some(format!(
        "{}.{}",
        identifier(keyspace),
        identifier(&table.text)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_whole_table_is_counted_otherwise() {
        let slow = SessionError::Client(ClientError::TimedOut {
            during: "QUERY",
            limit: Duration::from_secs(10),
        });
        let said = |statement: &str| cure(statement, Some("used"), "c", &slow);
        for (statement, table) in [
            ("SELECT count(*) FROM shop.orders", "shop.orders"),
            ("select COUNT(1) as n from orders;", "used.orders"),
            (
                "SELECT count(*) FROM \"Shop\".orders LIMIT 5",
                "\"Shop\".orders",
            ),
        ] {
            let cure = said(statement).expect("a cure");
            let line = format!("helenus count {table} --cluster c");
            assert!(cure.ends_with(&line), "{cure}");
        }
        assert_eq!(said("SELECT count(*) FROM t WHERE id = 1"), None);
        assert_eq!(said("SELECT id FROM t"), None);
        let dead = SessionError::Client(ClientError::Broken);
        assert_eq!(cure("SELECT count(*) FROM k.t", None, "c", &dead), None);
    }
}
