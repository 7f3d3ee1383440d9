//! A schema written for another cluster, fitted to this one: replication names data centres that must be there.
//! Refuses to change anything else of a statement.

use crate::cql::tokens::tokens;
use std::collections::BTreeMap;
use std::fmt;

/// A statement whose replication could not be had here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitted {
    /// The statement as it is run.
    pub statement: String,
    /// Replication as it was written.
    pub from: String,
    /// Replication as it is run.
    pub to: String,
}

impl fmt::Display for Fitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "replication {} is run as {}", self.from, self.to)
    }
}

/// Fits the replication of a `CREATE KEYSPACE` or `ALTER KEYSPACE` to the data centres that are there, each with its
/// nodes; none where nothing is to be changed, or the statement is another one.
///
/// A factor above the nodes becomes their number. Data centres that are not there are left out; where none of those
/// named is there, each that is there gets the largest factor named, as far as its nodes go.
pub fn fit(statement: &str, data_centers: &BTreeMap<String, usize>) -> Option<Fitted> {
    let mut words = statement.split_whitespace();
    let (first, second) = (words.next()?, words.next()?);
    let changes = ["CREATE", "ALTER"]
        .iter()
        .any(|w| first.eq_ignore_ascii_case(w));
    if !changes || !second.eq_ignore_ascii_case("KEYSPACE") {
        return None;
    }
    let (begin, end) = map_of(statement)?;
    let from = &statement[begin..end];
    let entries = entries(&from[1..from.len() - 1])?;
    let class = &entries.iter().find(|(k, _)| k == "class")?.1;
    let class = class.rsplit('.').next()?;
    let given = entries.iter().filter(|(k, _)| k != "class");
    let given: Vec<(String, String)> = given.cloned().collect();
    let fitted = match class {
        "SimpleStrategy" => {
            let nodes = data_centers.values().sum();
            given
                .iter()
                .map(|(k, v)| (k.clone(), at_most(v, nodes)))
                .collect()
        }
        "NetworkTopologyStrategy" => by_data_center(&given, data_centers),
        _ => return None,
    };
    if fitted == given {
        return None;
    }
    let mut to = format!("{{'class': '{class}'");
    for (key, value) in &fitted {
        to.push_str(&format!(", '{}': '{value}'", key.replace('\'', "''")));
    }
    to.push('}');
    let statement = format!("{}{to}{}", &statement[..begin], &statement[end..]);
    Some(Fitted {
        statement,
        from: from.to_owned(),
        to,
    })
}

/// A `CREATE KEYSPACE` with this replication, whether it has another or none; none where the statement is another one.
pub fn with_replication(statement: &str, map: &str) -> Option<String> {
    keyspace_of(statement)?;
    if let Some((begin, end)) = map_of(statement) {
        return Some(format!("{}{map}{}", &statement[..begin], &statement[end..]));
    }
    let statement = statement.trim_end().trim_end_matches(';');
    let with = tokens(statement).iter().any(|token| token.is("with"));
    let word = if with { "AND" } else { "WITH" };
    Some(format!("{statement} {word} replication = {map}"))
}

/// A `CREATE KEYSPACE` whose replication is its only option, without it: the cluster decides then.
pub fn without_replication(statement: &str) -> String {
    let words = tokens(statement);
    let with = words.iter().find(|token| token.is("with"));
    match (keyspace_of(statement), with) {
        (Some(_), Some(with)) => statement[..with.at.start].trim_end().to_owned(),
        _ => statement.to_owned(),
    }
}

/// Whether a statement makes a keyspace and does not say how it is replicated.
pub fn leaves_replication_open(statement: &str) -> bool {
    keyspace_of(statement).is_some() && map_of(statement).is_none()
}

/// The keyspace that a `CREATE KEYSPACE` makes, as the server stores its name, and the map of its replication.
pub fn created(statement: &str) -> Option<(String, BTreeMap<String, String>)> {
    let name = keyspace_of(statement)?;
    let (begin, end) = map_of(statement)?;
    let entries = entries(&statement[begin + 1..end - 1])?;
    Some((name, entries.into_iter().collect()))
}

fn keyspace_of(statement: &str) -> Option<String> {
    let tokens = tokens(statement);
    let kind = tokens.get(1)?;
    if !tokens[0].is("create") || !(kind.is("keyspace") || kind.is("schema")) {
        return None;
    }
    let conditional = tokens.get(2)?.is("if");
    let name = tokens.get(if conditional { 5 } else { 2 })?;
    name.is_name().then(|| name.text.clone())
}

/// `N`, or `N/T` with transient replicas, no larger than `nodes`; what is no number stays, and the server says so.
fn at_most(factor: &str, nodes: usize) -> String {
    match number(factor) {
        Some(n) if n > nodes => nodes.to_string(),
        _ => factor.to_owned(),
    }
}

fn number(factor: &str) -> Option<usize> {
    factor.split('/').next()?.trim().parse().ok()
}

fn by_data_center(
    given: &[(String, String)],
    there: &BTreeMap<String, usize>,
) -> Vec<(String, String)> {
    let every = "replication_factor";
    let fewest = there.values().copied().min().unwrap_or(0);
    let kept = given
        .iter()
        .filter_map(|(key, value)| match there.get(key) {
            Some(nodes) => Some((key.clone(), at_most(value, *nodes))),
            None if key == every => Some((key.clone(), at_most(value, fewest))),
            None => None,
        });
    let kept: Vec<(String, String)> = kept.collect();
    let Some(most) = given.iter().filter_map(|(_, v)| number(v)).max() else {
        return given.to_vec();
    };
    if !kept.is_empty() {
        return kept;
    }
    let all = there
        .iter()
        .map(|(name, nodes)| (name.clone(), most.min(*nodes).to_string()));
    all.collect()
}

/// Where the map of `replication = {…}` stands, braces included.
fn map_of(statement: &str) -> Option<(usize, usize)> {
    let lower = statement.to_ascii_lowercase();
    for (at, word) in lower.match_indices("replication") {
        let behind = &statement[at + word.len()..];
        let Some(map) = behind.trim_start().strip_prefix('=') else {
            continue;
        };
        let map = map.trim_start();
        if map.starts_with('{') {
            let begin = statement.len() - map.len();
            return Some((begin, begin + map.find('}')? + 1));
        }
    }
    None
}

/// Keys and values of a map of text and numbers; none where it is not one.
fn entries(inner: &str) -> Option<Vec<(String, String)>> {
    let bare = |text: &str| text.trim().trim_matches('\'').to_owned();
    let parts = inner.split(',').filter(|part| !part.trim().is_empty());
    parts
        .map(|part| part.split_once(':').map(|(k, v)| (bare(k), bare(v))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_created_keyspace_has_a_name_and_a_replication() {
        let text = "CREATE KEYSPACE IF NOT EXISTS \"Shop\" WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1} AND durable_writes = false";
        let (name, map) = created(text).expect("a keyspace");
        assert_eq!(name, "Shop");
        assert_eq!(map["replication_factor"], "1");
        assert_eq!(
            with_replication(text, "{'class': 'NetworkTopologyStrategy', 'DC1': 2}").as_deref(),
            Some(
                "CREATE KEYSPACE IF NOT EXISTS \"Shop\" WITH replication = {'class': 'NetworkTopologyStrategy', 'DC1': 2} AND durable_writes = false"
            )
        );
        let open = without_replication("CREATE KEYSPACE k WITH replication = {'class': 'x'};");
        assert_eq!(open, "CREATE KEYSPACE k");
        assert!(leaves_replication_open(&open) && !leaves_replication_open(text));
        assert_eq!(
            with_replication(&open, "{}").as_deref(),
            Some("CREATE KEYSPACE k WITH replication = {}")
        );
        let durable = with_replication("CREATE KEYSPACE k WITH durable_writes = false;", "{}");
        assert_eq!(
            durable.as_deref(),
            Some("CREATE KEYSPACE k WITH durable_writes = false AND replication = {}")
        );
        assert_eq!(created("CREATE TABLE k.t (a int PRIMARY KEY)"), None);
        assert_eq!(
            with_replication("ALTER KEYSPACE k WITH replication = {}", "{}"),
            None
        );
    }
    use proptest::prelude::*;

    fn fit_in(there: &[(&str, usize)], replication: &str) -> Option<String> {
        let there = there.iter().map(|(n, c)| ((*n).to_owned(), *c)).collect();
        let statement =
            format!("CREATE KEYSPACE k WITH replication = {replication} AND durable_writes = true");
        let fitted = fit(&statement, &there)?;
        assert!(fitted.statement.ends_with("} AND durable_writes = true"));
        assert!(
            fitted
                .statement
                .starts_with("CREATE KEYSPACE k WITH replication = {")
        );
        Some(fitted.to)
    }

    #[test]
    fn factors_go_as_far_as_the_nodes() {
        let one = [("datacenter1", 1)];
        let simple = "{'class': 'SimpleStrategy', 'replication_factor': 3}";
        let to = fit_in(&one, simple).unwrap();
        assert_eq!(to, "{'class': 'SimpleStrategy', 'replication_factor': '1'}");
        assert_eq!(fit_in(&[("datacenter1", 3)], simple), None);
        let long =
            "{'class': 'org.apache.cassandra.locator.SimpleStrategy', 'replication_factor': '1'}";
        assert_eq!(fit_in(&one, long), None);
        assert_eq!(fit_in(&one, "{'class': 'LocalStrategy'}"), None);
        let any = "{'class': 'NetworkTopologyStrategy', 'replication_factor': 3}";
        let to = fit_in(&[("DC1", 2), ("DC2", 5)], any).unwrap();
        assert!(to.ends_with("'replication_factor': '2'}"), "{to}");
    }

    #[test]
    fn data_centers_that_are_not_there_are_left_out_or_stood_in_for() {
        let prod = "{'class': 'NetworkTopologyStrategy', 'ams': '3', 'fra': '2/1'}";
        let to = fit_in(&[("datacenter1", 2)], prod).unwrap();
        assert_eq!(
            to,
            "{'class': 'NetworkTopologyStrategy', 'datacenter1': '2'}"
        );
        let to = fit_in(&[("fra", 2), ("DC2", 5)], prod).unwrap();
        assert_eq!(to, "{'class': 'NetworkTopologyStrategy', 'fra': '2/1'}");
        assert_eq!(fit_in(&[("ams", 3), ("fra", 2)], prod), None);
    }

    #[test]
    fn other_statements_are_left_alone() {
        let there = BTreeMap::from([("datacenter1".to_owned(), 1)]);
        for statement in [
            "CREATE TABLE k.t (replication int PRIMARY KEY)",
            "INSERT INTO k.t (v) VALUES ('replication = {}')",
            "CREATE KEYSPACE k",
            "CREATE KEYSPACE replication WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 'x'}",
            "",
        ] {
            assert_eq!(fit(statement, &there), None, "{statement}");
        }
        let alter =
            "alter keyspace k with REPLICATION={'class':'SimpleStrategy','replication_factor':9}";
        assert_eq!(
            fit(alter, &there).unwrap().to,
            "{'class': 'SimpleStrategy', 'replication_factor': '1'}"
        );
    }

    proptest! {
        #[test]
        fn what_was_fitted_fits(factor in 0_usize..9, nodes in 1_usize..5, dc in "[a-c]") {
            let there = BTreeMap::from([("a".to_owned(), nodes)]);
            let text = format!("CREATE KEYSPACE k WITH replication = {{'class': 'NetworkTopologyStrategy', '{dc}': {factor}}}");
            if let Some(fitted) = fit(&text, &there) {
                prop_assert_eq!(fit(&fitted.statement, &there), None);
            } else {
                prop_assert!(dc == "a" && factor <= nodes);
            }
        }
    }
}
