//! Which operations of a workload a ledger can remember, and by which columns their writes are found again.
//! Refuses writes whose rows do not follow from the position alone, or whose timestamp is not the client's.

use crate::consistency::Consistency;
use crate::cql::CqlType;
use crate::cql::tokens::tokens;
use crate::seed::Seed;
use crate::table::{ColumnKind, Table};
use crate::workload::Workload;
use crate::workload::expected::{Expected, ExpectedError};
use crate::workload::profile::Spec;
use std::collections::BTreeSet;

/// What an operation writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subject {
    /// Place of its table among the workload's.
    pub table: usize,
    /// Its own consistency level; the run's where there is none.
    pub consistency: Option<Consistency>,
}

/// Why an operation cannot be remembered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubjectError {
    /// The workload's rows cannot be computed.
    #[error(transparent)]
    Expected(#[from] ExpectedError),
    /// A counter: what it is in the end says nothing of one write.
    #[error("{operation} adds to counters, and a sum does not show which writes it contains")]
    Counter {
        /// The operation.
        operation: String,
    },
    /// A compare-and-set: the coordinator dates it.
    #[error("{operation} is conditional, and the coordinator gives such a write its timestamp")]
    Conditional {
        /// The operation.
        operation: String,
    },
    /// A statement that changes rows otherwise.
    #[error("{operation} changes rows that insert has written")]
    Changes {
        /// The operation.
        operation: String,
    },
    /// Only some rows of a partition or columns of a row, or rows that go by themselves.
    #[error("{operation} writes only a part of its rows or columns, or they expire")]
    Partial {
        /// The operation.
        operation: String,
    },
    /// Nothing to ask for the time of.
    #[error("{table} has no column that supports WRITETIME")]
    Timeless {
        /// The table.
        table: String,
    },
    /// Nothing is written.
    #[error("no operation of the run writes")]
    ReadsOnly,
    /// More operations than a record can distinguish.
    #[error("the workload has {operations} operations; a ledger supports at most 256")]
    Many {
        /// So many.
        operations: usize,
    },
}

impl SubjectError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Expected(ExpectedError::Custom { .. }) => {
                "describe the table in a profile: `helenus workload new` drafts one".to_owned()
            }
            Self::Expected(_) => "`helenus workload check` shows more".to_owned(),
            Self::Counter { .. } | Self::Timeless { .. } => {
                "a ledger needs a table with a regular column of a native type".to_owned()
            }
            Self::Conditional { .. } | Self::Changes { .. } => {
                "leave the operation out with --ops: a ledger is kept of plain inserts".to_owned()
            }
            Self::Partial { .. } => {
                "write all: select and row-population fixed(1)/1, no default_time_to_live"
                    .to_owned()
            }
            Self::ReadsOnly => "add one that writes with --ops, such as write=1".to_owned(),
            Self::Many { .. } => "split the profiles into two runs".to_owned(),
        }
    }
}

/// What each operation of a workload writes, by its place; none of those that read, and of those that are not used.
///
/// # Errors
/// A used operation that cannot be remembered, or none that writes.
pub fn subjects(
    workload: &Workload,
    used: &BTreeSet<String>,
) -> Result<Vec<Option<Subject>>, SubjectError> {
    let tables = Expected::tables(workload, Seed(0))?;
    let names = workload.operations();
    if names.len() > 256 {
        let operations = names.len();
        return Err(SubjectError::Many { operations });
    }
    let mut found = match workload {
        Workload::Profiles(profiles) => {
            let mut found = Vec::new();
            for (table, (spec, expected)) in profiles.specs.iter().zip(&tables).enumerate() {
                let own = &names[found.len()..];
                found.extend(of_spec(spec, expected, own, table, used)?);
            }
            found
        }
        Workload::Standard1 | Workload::Custom(_) => {
            let plain = Subject {
                table: 0,
                consistency: None,
            };
            let names = names.iter();
            names
                .map(|name| (workload.writes(name) && used.contains(name)).then_some(plain))
                .collect()
        }
    };
    found.resize(names.len(), None);
    match found.iter().any(Option::is_some) {
        true => Ok(found),
        false => Err(SubjectError::ReadsOnly),
    }
}

/// Those of one profile, whose operations' names come first in `names`.
fn of_spec(
    spec: &Spec,
    expected: &Expected,
    names: &[String],
    table: usize,
    used: &BTreeSet<String>,
) -> Result<Vec<Option<Subject>>, SubjectError> {
    let profile = &spec.profile;
    let mut found = Vec::new();
    let insert = names.first().filter(|name| used.contains(*name));
    found.push(match insert {
        None => None,
        Some(operation) => Some(of_insert(spec, expected, operation.clone(), table)?),
    });
    for (query, operation) in profile.queries.values().zip(names.iter().skip(1)) {
        let reads = tokens(&query.cql).first().is_some_and(|t| t.is("select"));
        if used.contains(operation) && !reads {
            let operation = operation.clone();
            return Err(SubjectError::Changes { operation });
        }
        found.push(None);
    }
    // Scans, and the operation that reads a partition back.
    let scans = profile.token_range_queries.len() + usize::from(profile.validates());
    found.resize(found.len() + scans, None);
    Ok(found)
}

fn of_insert(
    spec: &Spec,
    expected: &Expected,
    operation: String,
    table: usize,
) -> Result<Subject, SubjectError> {
    let insert = &spec.profile.insert;
    if spec.table.counts() {
        return Err(SubjectError::Counter { operation });
    }
    if insert.condition.is_some() {
        return Err(SubjectError::Conditional { operation });
    }
    let every_column = insert.row_population.ends().0 >= 1.0;
    if !(expected.writes_all_rows() && every_column) {
        return Err(SubjectError::Partial { operation });
    }
    if timed_column(&spec.table).is_none() {
        let table = spec.table.qualified();
        return Err(SubjectError::Timeless { table });
    }
    Ok(Subject {
        table,
        consistency: insert.consistency,
    })
}

/// Place of the first column whose WRITETIME every release answers: a regular one that holds one value, not many cells.
pub fn timed_column(table: &Table) -> Option<usize> {
    let timed = |cql_type: &CqlType| {
        !matches!(
            cql_type,
            CqlType::Counter
                | CqlType::List(_)
                | CqlType::Set(_)
                | CqlType::Map(..)
                | CqlType::Udt { .. }
                | CqlType::Custom(_)
        )
    };
    let mut columns = table.columns.iter();
    columns.position(|column| column.kind == ColumnKind::Regular && timed(&column.cql_type))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::TableColumn;
    use crate::workload::profile::{
        BatchKind, InsertSpec, Profile, ProfileWorkload, QuerySpec, VALIDATE,
    };
    use crate::workload::{CustomWorkload, Query};
    use std::collections::BTreeMap;

    fn column(name: &str, cql_type: CqlType, kind: ColumnKind) -> TableColumn {
        TableColumn {
            name: name.into(),
            cql_type,
            kind,
        }
    }

    fn profile(change: impl FnOnce(&mut Profile, &mut Table)) -> Workload {
        let mut table = Table {
            keyspace: "app".into(),
            name: "events".into(),
            columns: vec![
                column("id", CqlType::Bigint, ColumnKind::Partition),
                column(
                    "tags",
                    CqlType::Set(Box::new(CqlType::Text)),
                    ColumnKind::Regular,
                ),
                column("note", CqlType::Text, ColumnKind::Regular),
            ],
        };
        let query = |cql: &str| QuerySpec {
            cql: cql.into(),
            same_row: true,
            consistency: None,
            serial_consistency: None,
        };
        let mut profile = Profile {
            specname: "events".into(),
            keyspace: "app".into(),
            keyspace_definition: None,
            table: "events".into(),
            table_definition: None,
            extra_definitions: Vec::new(),
            columns: BTreeMap::new(),
            insert: InsertSpec {
                batch: BatchKind::Unlogged,
                ..InsertSpec::default()
            },
            queries: BTreeMap::from([
                ("one".into(), query("select * from app.events where id = ?")),
                (
                    "set".into(),
                    query("update app.events set note = ? where id = ?"),
                ),
            ]),
            token_range_queries: BTreeMap::new(),
        };
        change(&mut profile, &mut table);
        Workload::Profiles(ProfileWorkload {
            name: "events".into(),
            specs: vec![Spec { profile, table }],
            walk: None,
        })
    }

    fn of(workload: &Workload, used: &[&str]) -> Result<Vec<Option<Subject>>, SubjectError> {
        let used = used.iter().map(|name| (*name).to_owned()).collect();
        subjects(workload, &used)
    }

    #[test]
    fn plain_inserts_are_remembered_and_reads_are_not() {
        let plain = Subject {
            table: 0,
            consistency: None,
        };
        let standard1 = of(&Workload::Standard1, &["write", "read"]);
        assert_eq!(standard1, Ok(vec![Some(plain), None]));
        let workload = profile(|profile, _| {
            profile.insert.consistency = Some(Consistency::Two);
        });
        let own = Subject {
            consistency: Some(Consistency::Two),
            ..plain
        };
        let names = workload.operations();
        assert_eq!(names, ["insert", "one", "set", VALIDATE]);
        assert_eq!(
            of(&workload, &["insert", "one", VALIDATE]),
            Ok(vec![Some(own), None, None, None])
        );
    }

    #[test]
    fn what_cannot_be_repeated_is_refused() {
        let standard1 = of(&Workload::Standard1, &["read"]);
        assert_eq!(standard1, Err(SubjectError::ReadsOnly));
        let custom = Workload::Custom(CustomWorkload {
            name: "mine".into(),
            schema: Vec::new(),
            queries: vec![Query {
                name: "write".into(),
                cql: "INSERT …".into(),
                check: true,
                serial_consistency: None,
            }],
        });
        let error = of(&custom, &["write"]).expect_err("its rows are not known");
        assert!(error.hint().contains("workload new"), "{error}");
        let changed = of(&profile(|_, _| {}), &["insert", "set"]);
        assert!(matches!(changed, Err(SubjectError::Changes { .. })));
        let conditional = profile(|profile, _| {
            profile.insert.condition = Some("IF NOT EXISTS".into());
        });
        let conditional = of(&conditional, &["insert"]);
        assert!(matches!(conditional, Err(SubjectError::Conditional { .. })));
        let partial = profile(|profile, _| {
            profile.table_definition = Some("… WITH default_time_to_live = 5".into());
        });
        let partial = of(&partial, &["insert"]);
        assert!(matches!(partial, Err(SubjectError::Partial { .. })));
        let counter = profile(|profile, table| {
            profile.queries.clear();
            table.columns.truncate(1);
            let column = column("n", CqlType::Counter, ColumnKind::Regular);
            table.columns.push(column);
        });
        let counter = of(&counter, &["insert"]);
        assert!(matches!(counter, Err(SubjectError::Counter { .. })));
        let timeless = profile(|profile, table| {
            profile.queries.clear();
            table.columns.truncate(2);
        });
        let timeless = of(&timeless, &["insert"]).expect_err("many cells");
        assert_eq!(
            timeless.to_string(),
            "app.events has no column that supports WRITETIME"
        );
    }
}
