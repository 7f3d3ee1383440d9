//! What a workload needs of a release: types that older ones do not have.
//! Refuses to guess at syntax: whatever else a release refuses, its server says.

use super::Workload;
use crate::cql::CqlType;

/// A type that not every release has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// The table and column that have it.
    pub column: String,
    /// The type.
    pub cql_type: String,
    /// The first series of releases that has it: its two numbers.
    pub since: (u32, u32),
}

impl Need {
    /// The first need of a workload that a release does not meet; one whose numbers cannot be read meets all.
    pub fn unmet(workload: &Workload, release: &str) -> Option<Self> {
        let mut numbers = release.split(['.', '-']).map(str::parse);
        let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else {
            return None;
        };
        let Workload::Profiles(profiles) = workload else {
            return None;
        };
        profiles.specs.iter().find_map(|spec| {
            spec.table.columns.iter().find_map(|column| {
                let (cql_type, since) = newest(&column.cql_type)?;
                ((major, minor) < since).then(|| Self {
                    column: format!("{}.{}", spec.table.qualified(), column.name),
                    cql_type: cql_type.to_string(),
                    since,
                })
            })
        })
    }
}

/// The type, among those within a type, that came last.
fn newest(cql_type: &CqlType) -> Option<(&CqlType, (u32, u32))> {
    let inner: Vec<&CqlType> = match cql_type {
        CqlType::Vector(..) => return Some((cql_type, (5, 0))),
        CqlType::Duration => return Some((cql_type, (3, 10))),
        CqlType::List(of) | CqlType::Set(of) => vec![&**of],
        CqlType::Map(key, of) => vec![&**key, &**of],
        CqlType::Tuple(all) => all.iter().collect(),
        CqlType::Udt { fields, .. } => fields.iter().map(|(_, of)| of).collect(),
        _ => Vec::new(),
    };
    let found = inner.into_iter().filter_map(newest);
    found.max_by_key(|(_, since)| *since)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::profile::{Profile, ProfileWorkload, Spec};

    #[test]
    fn a_vector_wants_5_0() {
        let text = "
keyspace: ks
table: t
table_definition: CREATE TABLE t (k int PRIMARY KEY, d duration, m frozen<map<text, frozen<tuple<vector<float, 2>, int>>>>)
";
        let profile = Profile::read(text).expect("a profile");
        let table = profile.defined_table().expect("a table").expect("defined");
        let workload = Workload::Profiles(ProfileWorkload {
            name: "t".to_owned(),
            specs: vec![Spec { profile, table }],
            walk: None,
        });
        let unmet = |release: &str| Need::unmet(&workload, release);
        let need = unmet("4.1.10").expect("a need");
        assert_eq!(
            (need.column.as_str(), need.cql_type.as_str()),
            ("ks.t.m", "vector<float, 2>")
        );
        assert_eq!(need.since, (5, 0));
        assert_eq!(
            unmet("3.9").map(|need| need.column),
            Some("ks.t.d".to_owned())
        );
        assert_eq!(unmet("4.0-alpha2").map(|need| need.since), Some((5, 0)));
        assert_eq!(
            (unmet("5.0.9"), unmet("6.0-alpha2"), unmet("unknown")),
            (None, None, None)
        );
        assert_eq!(Need::unmet(&Workload::Standard1, "2.1.0"), None);
    }
}
