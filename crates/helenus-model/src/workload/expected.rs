//! What a table must hold after positions 0 up to a population were written: partitions by position, rows by partition.
//! Refuses workloads whose rows do not follow from positions: statements of one's own.

use super::maker::{Maker, MakerError};
use super::{Workload, order, standard1};
use crate::cql::{CqlType, CqlValue};
use crate::seed::Seed;
use crate::table::{ColumnKind, Table, TableColumn};
use std::cmp::Ordering;
use std::sync::Arc;

/// A row: key and cells by the table's column order, none being null.
pub type Cells = Vec<Option<CqlValue>>;

/// The content of one table.
#[derive(Debug, Clone)]
pub struct Expected {
    table: Table,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Standard1(Seed),
    Profile {
        maker: Arc<Maker>,
        spec: usize,
        /// Each position is one row of a partition that several positions share.
        in_turns: bool,
    },
}

/// Why nothing is expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpectedError {
    /// Its statements say where data go, not what they are.
    #[error("what {name} writes cannot be computed: it has its own statements")]
    Custom {
        /// Name of the workload.
        name: String,
    },
    /// The profile cannot be run.
    #[error(transparent)]
    Maker(#[from] MakerError),
}

impl Expected {
    /// The tables of a workload, from the seed of its data ([`super::data_seed`]).
    ///
    /// # Errors
    /// A workload of one's own statements, or profiles that cannot be run.
    pub fn tables(workload: &Workload, data: Seed) -> Result<Vec<Self>, ExpectedError> {
        match workload {
            Workload::Standard1 => Ok(vec![Self {
                table: standard1_table(),
                kind: Kind::Standard1(data),
            }]),
            Workload::Custom(own) => Err(ExpectedError::Custom {
                name: own.name.clone(),
            }),
            Workload::Profiles(profiles) => {
                let maker = Arc::new(Maker::new(profiles, data)?);
                let of = |(spec, found): (usize, &super::profile::Spec)| Self {
                    table: found.table.clone(),
                    kind: Kind::Profile {
                        maker: Arc::clone(&maker),
                        spec,
                        in_turns: found.profile.insert.is_by_row(),
                    },
                };
                Ok(profiles.specs.iter().enumerate().map(of).collect())
            }
        }
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Columns of the partition key.
    pub fn key_columns(&self) -> usize {
        let columns = self.table.columns.iter();
        columns
            .take_while(|column| column.kind == ColumnKind::Partition)
            .count()
    }

    /// The partition key of a position.
    pub fn key(&self, position: u64) -> Cells {
        if let Kind::Standard1(_) = self.kind {
            return vec![Some(CqlValue::Blob(standard1::key(position).to_vec()))];
        }
        let mut row = self.position(position).next().unwrap_or_default();
        row.truncate(self.key_columns());
        row
    }

    fn position(&self, position: u64) -> Box<dyn Iterator<Item = Cells> + '_> {
        match &self.kind {
            Kind::Standard1(data) => {
                let blob = |bytes: &[u8]| Some(CqlValue::Blob(bytes.to_vec()));
                let mut row = vec![blob(&standard1::key(position))];
                row.extend(
                    standard1::row(*data, position)
                        .iter()
                        .map(|cell| blob(cell)),
                );
                Box::new(std::iter::once(row))
            }
            Kind::Profile { maker, spec, .. } => Box::new(maker.rows(*spec, position)),
        }
    }

    /// The rows of one partition in the table's order; `positions` are all those that lead to its key.
    pub fn rows(&self, positions: &[u64]) -> Box<dyn Iterator<Item = Cells> + '_> {
        let (Some(first), several) = (positions.first(), positions.len() > 1) else {
            return Box::new(std::iter::empty());
        };
        match &self.kind {
            Kind::Profile { in_turns: true, .. } if several => {
                let rows = positions
                    .iter()
                    .flat_map(|position| self.position(*position));
                let mut rows: Vec<Cells> = rows.collect();
                rows.sort_by(|a, b| self.compare(a, b));
                rows.dedup_by(|a, b| self.compare(a, b).is_eq());
                Box::new(rows.into_iter())
            }
            // Positions that draw the same key have the same rows.
            _ => self.position(*first),
        }
    }

    /// Which of two rows of a partition the server gives first.
    pub fn compare(&self, a: &Cells, b: &Cells) -> Ordering {
        let columns = self.table.columns.iter().zip(a).zip(b);
        for ((column, a), b) in columns.skip(self.key_columns()) {
            let order = match (a, b) {
                (Some(a), Some(b)) => order::compare(a, b),
                (a, b) => a.is_some().cmp(&b.is_some()),
            };
            let order = match column.kind {
                ColumnKind::Clustering => order,
                ColumnKind::ClusteringDescending => order.reverse(),
                _ => return Ordering::Equal,
            };
            if order.is_ne() {
                return order;
            }
        }
        Ordering::Equal
    }

    /// Whether each row must be there, and not only be right where it is.
    pub fn writes_all_rows(&self) -> bool {
        match &self.kind {
            Kind::Standard1(_) => true,
            Kind::Profile { maker, spec, .. } => maker.writes_all_rows(*spec),
        }
    }

    /// Whether the cells of this column follow from the position alone.
    pub fn compares(&self, column: usize) -> bool {
        match &self.kind {
            Kind::Standard1(_) => true,
            Kind::Profile { maker, spec, .. } => maker.compares(*spec, column),
        }
    }
}

fn standard1_table() -> Table {
    let column = |name: &str, kind| TableColumn {
        name: name.to_owned(),
        cql_type: CqlType::Blob,
        kind,
    };
    let mut columns = vec![column("key", ColumnKind::Partition)];
    let others = (0..standard1::COLUMNS).map(|n| column(&format!("C{n}"), ColumnKind::Regular));
    columns.extend(others);
    Table {
        keyspace: "keyspace1".to_owned(),
        name: "standard1".to_owned(),
        columns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard1_has_a_row_a_position() {
        let tables = Expected::tables(&Workload::Standard1, Seed(5)).expect("known");
        let [expected] = &tables[..] else {
            panic!("{tables:?}")
        };
        assert_eq!(expected.table().qualified(), "keyspace1.standard1");
        let rows: Vec<Cells> = expected.rows(&[7]).collect();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0][..1], expected.key(7));
        let cell = standard1::row(Seed(5), 7)[4].to_vec();
        assert_eq!(rows[0][5], Some(CqlValue::Blob(cell)));
        assert!(expected.writes_all_rows() && expected.compares(5));
        assert_eq!(expected.rows(&[]).count(), 0);
    }

    #[test]
    fn statements_of_one_s_own_are_refused() {
        let own = Workload::Custom(super::super::CustomWorkload {
            name: "mine".into(),
            schema: Vec::new(),
            queries: Vec::new(),
        });
        let refused = Expected::tables(&own, Seed(1)).expect_err("nothing known");
        assert!(refused.to_string().contains("mine"));
    }
}
