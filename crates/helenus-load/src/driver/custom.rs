//! Statements of one's own: prepared, their tables looked up, their values bound, their rows handed to be checked.
//! Refuses to know what a marker stands for: the model reads the statements.

use super::{Driver, checked, fault, other, profile};
use crate::convert::{from_driver, to_driver, type_of};
use crate::endpoint::{EndpointError, Fault, Stamp};
use helenus_model::cql::CqlType;
use helenus_model::seed::Seed;
use helenus_model::table::{ColumnKind, Table, TableColumn};
use helenus_model::workload::CustomWorkload;
use helenus_model::workload::operation::Bound;
use helenus_model::workload::own::{self, Answered, Known, Own, Unchecked};
use scylla::cluster::metadata::{ColumnKind as Theirs, Table as TheirTable};
use scylla::response::query_result::QueryRowsResult;
use scylla::statement::prepared::PreparedStatement;
use scylla::value::{CqlValue, MaybeUnset, Row};

/// First column of the answer to a conditional statement.
const APPLIED: &str = "[applied]";

/// Statements of one's own, ready to be sent.
pub(super) struct Customs {
    own: Own,
    statements: Vec<Ready>,
}

struct Ready {
    statement: PreparedStatement,
    types: Vec<CqlType>,
    /// Whether rows come back, and not whether a condition was met.
    reads: bool,
}

impl Customs {
    /// Prepares all statements.
    pub(super) async fn prepare(
        driver: &Driver,
        workload: &CustomWorkload,
        data: Seed,
    ) -> Result<Self, EndpointError> {
        let mut statements = Vec::new();
        let mut answers = Vec::new();
        for query in &workload.queries {
            let cql = own::positional(&query.cql);
            let mut statement = driver.prepare_one(&query.name, &cql).await?;
            let answered = answered(&query.name, &statement)?;
            let conditional = answered.columns.first().is_some_and(|name| name == APPLIED);
            if let Some(serial) = query.serial_consistency {
                statement.set_serial_consistency(Some(profile::serially(serial)));
            }
            if conditional || query.serial_consistency.is_some() {
                // What was not applied comes back with more columns than what was.
                statement.set_use_cached_result_metadata(false);
            }
            statements.push(Ready {
                statement,
                types: answered.markers.iter().map(|(_, of)| of.clone()).collect(),
                reads: !answered.columns.is_empty() && !conditional,
            });
            answers.push(answered);
        }
        let mut tables = Vec::new();
        for (keyspace, name) in own::tables(&workload.queries) {
            tables.extend(known(driver, &keyspace, &name).await);
        }
        Ok(Self {
            own: Own::new(&workload.queries, &answers, &tables, data),
            statements,
        })
    }

    /// What is read and not checked.
    pub(super) fn unchecked(&self) -> Vec<Unchecked> {
        self.own.unchecked()
    }

    /// Sends a statement, and checks what it reads.
    pub(super) async fn run(
        &self,
        driver: &Driver,
        operation: usize,
        position: u64,
        stamp: &Stamp,
    ) -> Result<(), Fault> {
        let ready = &self.statements[operation];
        let bound = self.own.values(operation, position);
        let pairs = bound.into_iter().zip(&ready.types);
        let values: Vec<MaybeUnset<CqlValue>> = pairs
            .map(|(value, of)| match value {
                Bound::Unset => MaybeUnset::Unset,
                Bound::Value(value) => MaybeUnset::Set(to_driver(value, of)),
            })
            .collect();
        stamp.start();
        let done = driver
            .session
            .execute_unpaged(&ready.statement, values)
            .await;
        stamp.end();
        let result = done.map_err(|e| fault(&e))?;
        if !ready.reads || !result.is_rows() {
            stamp.touched(1, 1);
            return Ok(());
        }
        let read = result.into_rows_result().map_err(|e| other(&e))?;
        let rows = u32::try_from(read.rows_num()).unwrap_or(u32::MAX);
        // How many partitions a range touches nobody says: 0 is not counted.
        let partitions = u32::from(self.own.of_one_partition(operation));
        stamp.touched(partitions.min(rows), rows);
        if !self.own.checks(operation) {
            return Ok(());
        }
        let check = self.own.check(operation, position, &cells(&read)?);
        checked(check, position)
    }
}

fn cells(read: &QueryRowsResult) -> Result<Vec<Vec<Option<helenus_model::cql::CqlValue>>>, Fault> {
    let rows = read.rows::<Row>().map_err(|e| other(&e))?;
    let ours = |row: Row| {
        let cells = row.columns.into_iter();
        cells.map(|value| value.and_then(from_driver)).collect()
    };
    rows.map(|row| row.map(ours).map_err(|e| other(&e)))
        .collect()
}

fn answered(operation: &str, statement: &PreparedStatement) -> Result<Answered, EndpointError> {
    let specs = statement.get_variable_col_specs().iter();
    let markers = specs.map(|spec| {
        let name = spec.name().to_owned();
        match type_of(spec.typ()) {
            Some(of) => Ok((name, of)),
            None => Err(EndpointError::Marker {
                operation: operation.to_owned(),
                marker: name,
            }),
        }
    });
    let returned = statement.get_current_result_set_col_specs();
    let names = returned.get().iter().map(|spec| spec.name().to_owned());
    Ok(Answered {
        markers: markers.collect::<Result<_, _>>()?,
        columns: names.collect(),
    })
}

/// A table as the driver knows it; none where it does not, or where a column has a type that we do not know.
async fn known(driver: &Driver, keyspace: &str, name: &str) -> Option<Known> {
    let state = driver.session.get_cluster_state();
    let theirs = state.get_keyspace(keyspace)?.tables.get(name)?;
    let table = table(keyspace, name, theirs)?;
    Some(Known {
        expires: expires(driver, keyspace, name).await,
        table,
    })
}

/// Whether a table's rows expire; a server that does not say so is not believed to keep them.
async fn expires(driver: &Driver, keyspace: &str, name: &str) -> bool {
    let cql = "SELECT default_time_to_live FROM system_schema.tables WHERE keyspace_name = ? AND table_name = ?";
    let Ok(result) = driver.session.query_unpaged(cql, (keyspace, name)).await else {
        return true;
    };
    let rows = result.into_rows_result().ok();
    let first = rows.and_then(|rows| rows.maybe_first_row::<(Option<i32>,)>().ok().flatten());
    first.is_none_or(|(seconds,)| seconds.is_none_or(|seconds| seconds > 0))
}

/// Keys in their order, then the others by name.
fn table(keyspace: &str, name: &str, theirs: &TheirTable) -> Option<Table> {
    let column = |name: &String, kind: ColumnKind| {
        Some(TableColumn {
            name: name.clone(),
            cql_type: type_of(&theirs.columns.get(name)?.typ)?,
            kind,
        })
    };
    let of = |kind: Theirs| {
        let mut names: Vec<&String> = theirs
            .columns
            .iter()
            .filter(|(_, column)| column.kind == kind)
            .map(|(name, _)| name)
            .collect();
        names.sort();
        names
    };
    let keys = theirs.partition_key.iter();
    let keys = keys.map(|name| (name, ColumnKind::Partition));
    let clustering = theirs.clustering_key.iter();
    let clustering = clustering.map(|name| (name, ColumnKind::Clustering));
    let statics = of(Theirs::Static).into_iter();
    let statics = statics.map(|name| (name, ColumnKind::Static));
    let regular = of(Theirs::Regular).into_iter();
    let regular = regular.map(|name| (name, ColumnKind::Regular));
    let all = keys.chain(clustering).chain(statics).chain(regular);
    Some(Table {
        keyspace: keyspace.to_owned(),
        name: name.to_owned(),
        columns: all
            .map(|(name, kind)| column(name, kind))
            .collect::<Option<_>>()?,
    })
}
