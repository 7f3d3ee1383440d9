//! Rows as values, with getters by column name for those who know what they asked.
//! Refuses to convert between types.

pub use crate::codec::ColumnSpec;
pub use crate::codec::result::Row;
use crate::codec::value::kind_of;
use helenus_model::cql::CqlValue;
use std::net::IpAddr;

/// The rows that a statement gave.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rows {
    /// The columns, in the statement's order.
    pub columns: Vec<ColumnSpec>,
    /// The rows; each has as many values as there are columns, none being null.
    pub rows: Vec<Row>,
}

/// A row of [`Rows`] together with its columns.
#[derive(Debug, Clone, Copy)]
pub struct RowView<'a> {
    columns: &'a [ColumnSpec],
    values: &'a [Option<CqlValue>],
}

/// Why a column has no such value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ColumnError {
    /// No column has this name.
    #[error("no such column: {column:?}")]
    Missing {
        /// The name.
        column: String,
    },
    /// The value is null.
    #[error("the column {column:?} is null")]
    Null {
        /// The name.
        column: String,
    },
    /// The value is of another type.
    #[error("the column {column:?} is of type {found}, not {expected}")]
    Type {
        /// The name.
        column: String,
        /// What was asked for.
        expected: &'static str,
        /// What is there.
        found: &'static str,
    },
}

impl Rows {
    /// The rows one by one.
    pub fn iter(&self) -> impl Iterator<Item = RowView<'_>> {
        let columns = self.columns.as_slice();
        self.rows
            .iter()
            .map(move |values| RowView { columns, values })
    }

    /// The first row.
    pub fn first(&self) -> Option<RowView<'_>> {
        self.iter().next()
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The value in a row (counted from 0) and a column; absent where any of the three is.
    pub fn value(&self, row: usize, column: &str) -> Option<&CqlValue> {
        let at = self.columns.iter().position(|c| c.name == column)?;
        self.rows.get(row)?.get(at)?.as_ref()
    }

    /// The same as plain text, without the shell's escapes.
    pub fn text(&self, row: usize, column: &str) -> Option<String> {
        Some(plain(self.value(row, column)?))
    }
}

/// A value as plain text: text as it is, anything else as a shell prints it.
pub fn plain(value: &CqlValue) -> String {
    match value {
        CqlValue::Text(text) | CqlValue::Ascii(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A getter that takes one or two variants of [`CqlValue`]; null is an error.
macro_rules! getter {
    ($(#[$doc:meta])* $name:ident -> $out:ty, $expected:literal,
     $($pattern:pat => $value:expr),+) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// No such column, null, or another type.
        pub fn $name(&self, column: &str) -> Result<$out, ColumnError> {
            match self.value(column)? {
                $(Some($pattern) => Ok($value),)+
                other => Err(refuse(column, $expected, other)),
            }
        }
    };
}

impl<'a> RowView<'a> {
    /// The value of a column, none being null.
    ///
    /// # Errors
    /// No such column.
    pub fn value(&self, column: &str) -> Result<Option<&'a CqlValue>, ColumnError> {
        let at = self.columns.iter().position(|spec| spec.name == column);
        let cell = at.and_then(|at| self.values.get(at));
        cell.map(Option::as_ref)
            .ok_or_else(|| ColumnError::Missing {
                column: column.to_owned(),
            })
    }

    /// Whether a column is null.
    ///
    /// # Errors
    /// No such column.
    pub fn is_null(&self, column: &str) -> Result<bool, ColumnError> {
        self.value(column).map(|value| value.is_none())
    }

    getter!(
        /// A `text` or `ascii`.
        text -> &'a str, "text",
        CqlValue::Text(text) | CqlValue::Ascii(text) => text
    );
    getter!(
        /// An `int`.
        int -> i32, "int",
        CqlValue::Int(n) => *n
    );
    getter!(
        /// A `bigint` or `counter`.
        bigint -> i64, "bigint",
        CqlValue::Bigint(n) | CqlValue::Counter(n) => *n
    );
    getter!(
        /// A `double`.
        double -> f64, "double",
        CqlValue::Double(x) => *x
    );
    getter!(
        /// A `boolean`.
        boolean -> bool, "boolean",
        CqlValue::Boolean(truth) => *truth
    );
    getter!(
        /// A `uuid` or `timeuuid`.
        uuid -> [u8; 16], "uuid",
        CqlValue::Uuid(uuid) | CqlValue::Timeuuid(uuid) => *uuid
    );
    getter!(
        /// An `inet`.
        inet -> IpAddr, "inet",
        CqlValue::Inet(address) => *address
    );
    getter!(
        /// A `timestamp`, in milliseconds since 1970-01-01 UTC.
        timestamp_millis -> i64, "timestamp",
        CqlValue::Timestamp(millis) => *millis
    );
    getter!(
        /// A `blob`.
        blob -> &'a [u8], "blob",
        CqlValue::Blob(bytes) => bytes.as_slice()
    );

    /// A list or set of text; null, which is how the server stores an empty one, gives none.
    ///
    /// # Errors
    /// No such column, or another type.
    pub fn texts(&self, column: &str) -> Result<Vec<&'a str>, ColumnError> {
        let items = match self.value(column)? {
            None => return Ok(Vec::new()),
            Some(CqlValue::List(items) | CqlValue::Set(items)) => items,
            other => return Err(refuse(column, "list or set of text", other)),
        };
        items.iter().map(|item| as_text(column, item)).collect()
    }
}

fn as_text<'a>(column: &str, value: &'a CqlValue) -> Result<&'a str, ColumnError> {
    match value {
        CqlValue::Text(text) | CqlValue::Ascii(text) => Ok(text),
        other => Err(refuse(column, "text", Some(other))),
    }
}

fn refuse(column: &str, expected: &'static str, found: Option<&CqlValue>) -> ColumnError {
    let column = column.to_owned();
    match found {
        None => ColumnError::Null { column },
        Some(value) => ColumnError::Type {
            column,
            expected,
            found: kind_of(value),
        },
    }
}
