//! Statements of one's own: prepared, their tables looked up, their values bound, their rows handed to be checked.
//! Refuses to know what a marker stands for: the model reads the statements.

use super::fault::{of_check, of_rows};
use super::statement::{Draft, Judged, Statement, serially};
use crate::endpoint::EndpointError;
use crate::endpoint::Fault;
use helenus_cql::client::Client;
use helenus_cql::codec::result::Row;
use helenus_cql::codec::{Answer, ColumnSpec, Consistency};
use helenus_cql::schema;
use helenus_model::cql::CqlValue;
use helenus_model::seed::Seed;
use helenus_model::workload::CustomWorkload;
use helenus_model::workload::user_statements::{self, Answered, Known, Unchecked, UserStatements};

/// Statements of one's own, ready to be sent: by operation.
pub(super) struct Customs {
    own: UserStatements,
    /// The columns of each when it was prepared.
    columns: Vec<Vec<String>>,
}

impl Customs {
    /// Prepares all statements.
    pub(super) fn prepare(
        client: &mut Client,
        workload: &CustomWorkload,
        data: Seed,
    ) -> Result<(Self, Vec<Statement>), EndpointError> {
        let mut statements = Vec::new();
        let mut answers = Vec::new();
        for query in &workload.queries {
            let cql = user_statements::positional(&query.cql);
            let (mut statement, answered) = Statement::prepare_named(client, &query.name, &cql)?;
            statement.serial = query.serial_consistency.map(serially);
            statements.push(statement);
            answers.push(answered);
        }
        let tables = user_statements::tables(&workload.queries);
        let tables = tables
            .iter()
            .filter_map(|(keyspace, name)| known(client, keyspace, name));
        let tables: Vec<Known> = tables.collect();
        let own = UserStatements::new(&workload.queries, &answers, &tables, data);
        let columns = answers.into_iter().map(|answered| answered.columns);
        let columns = columns.collect();
        Ok((Self { own, columns }, statements))
    }

    /// What is read and not checked.
    pub(super) fn unchecked(&self) -> Vec<Unchecked> {
        self.own.unchecked()
    }

    pub(super) fn make(&self, statements: &[Statement], draft: &mut Draft) -> Result<(), Fault> {
        let place = draft.operation;
        let statement = &statements[place];
        draft.described = statement.is_conditional() || statement.serial.is_some();
        let values = self.own.values(place, draft.position());
        draft.put(place, statement, &values)
    }

    pub(super) fn judge(
        &self,
        statements: &[Statement],
        draft: &mut Draft,
        answer: Result<Answer<'_>, Fault>,
    ) -> Judged {
        let operation = draft.operation;
        let statement = &statements[operation];
        let rows = match answer {
            Err(fault) => return ((0, 0), Err(fault)),
            Ok(Answer::Rows(rows)) if !statement.is_conditional() => rows,
            Ok(_) => return ((1, 1), Ok(())),
        };
        let count = u32::try_from(rows.row_count).unwrap_or(u32::MAX);
        // How many partitions a range touches nobody says: 0 is not counted.
        let partitions = u32::from(self.own.of_one_partition(operation));
        let touched = (partitions.min(count), count);
        if !self.own.checks(operation) {
            return (touched, Ok(()));
        }
        let columns = rows.columns.as_deref().unwrap_or(&statement.columns);
        let position = draft.position();
        let checked = match rows.rows(columns) {
            Err(error) => Err(of_rows(&error)),
            Ok(rows) => {
                let rows = as_prepared(rows, columns, &self.columns[operation]);
                of_check(self.own.check(operation, position, &rows), position)
            }
        };
        (touched, checked)
    }
}

impl Statement {
    /// Prepares it, with what the server says of its markers and columns.
    fn prepare_named(
        client: &mut Client,
        operation: &str,
        cql: &str,
    ) -> Result<(Self, Answered), EndpointError> {
        let statement = Self::prepare(client, operation, cql)?;
        let names = statement.markers.iter().cloned();
        let answered = Answered {
            markers: names.zip(statement.types.iter().cloned()).collect(),
            columns: statement.columns.iter().map(|c| c.name.clone()).collect(),
        };
        Ok((statement, answered))
    }
}

/// Rows with the columns that there were when their statement was prepared: the schema may have changed since.
fn as_prepared(rows: Vec<Row>, columns: &[ColumnSpec], names: &[String]) -> Vec<Row> {
    if columns.iter().map(|column| &column.name).eq(names) {
        return rows;
    }
    let place = |name: &String| columns.iter().position(|column| column.name == *name);
    let places: Vec<Option<usize>> = names.iter().map(place).collect();
    let each = rows.into_iter().map(|mut row| {
        let taken = places.iter().map(|place| row.get_mut((*place)?)?.take());
        taken.collect()
    });
    each.collect()
}

/// A table as the server has it; none where it has none, or where a column has a type that we do not know.
fn known(client: &mut Client, keyspace: &str, name: &str) -> Option<Known> {
    Some(Known {
        table: schema::table(client, keyspace, name).ok()?.table,
        expires: expires(client, keyspace, name),
    })
}

/// Whether a table's rows expire; a server that does not say so is not believed to keep them.
fn expires(client: &mut Client, keyspace: &str, name: &str) -> bool {
    let text = |text: &str| Some(CqlValue::Text(text.to_owned()));
    let cql = "SELECT keyspace_name, table_name, default_time_to_live FROM system_schema.tables \
               WHERE keyspace_name = ? AND table_name = ?";
    let found = client.query_with(cql, &[text(keyspace), text(name)], Consistency::One);
    let Ok(rows) = found else {
        return true;
    };
    let of_it = |row: &usize| {
        rows.text(*row, "keyspace_name").as_deref() == Some(keyspace)
            && rows.text(*row, "table_name").as_deref() == Some(name)
    };
    let seconds = (0..rows.len())
        .find(of_it)
        .map(|row| rows.value(row, "default_time_to_live").cloned());
    !matches!(seconds, Some(Some(CqlValue::Int(0))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_model::cql::CqlType;

    #[test]
    fn columns_of_a_later_schema_are_those_that_were_prepared() {
        let column = |name: &str| ColumnSpec {
            keyspace: "ks".to_owned(),
            table: "t".to_owned(),
            name: name.to_owned(),
            ty: CqlType::Int,
        };
        let names = ["a", "c"].map(str::to_owned);
        let row = |values: &[i32]| values.iter().map(|n| Some(CqlValue::Int(*n))).collect();
        let rows: Vec<Row> = vec![row(&[1, 3]), row(&[4, 6])];
        let same = as_prepared(rows.clone(), &["a", "c"].map(column), &names);
        assert_eq!(same, rows);
        let wider = vec![row(&[1, 2, 3]), row(&[4, 5, 6])];
        assert_eq!(
            as_prepared(wider, &["a", "b", "c"].map(column), &names),
            rows
        );
        let dropped = as_prepared(vec![row(&[3])], &["c"].map(column), &names);
        assert_eq!(dropped, [[None, Some(CqlValue::Int(3))]]);
    }
}
