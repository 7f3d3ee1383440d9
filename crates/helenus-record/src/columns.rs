//! How values of the model stand in columns: enumerations as words, structures as JSON, seeds as decimal text.
//! Refuses words and texts that the model does not know.

use helenus_model::histogram::Histogram;
use helenus_model::seed::Seed;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Params, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What all rows of a query are read as.
pub(crate) fn all<T, C: FromIterator<T>>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    of: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<C> {
    connection
        .prepare_cached(sql)?
        .query_map(values, of)?
        .collect()
}

/// An enumeration, as the word that its JSON shape uses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word<T>(pub(crate) T);

impl<T: Serialize> ToSql for Word<T> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match serde_json::to_value(&self.0).map_err(unwritable)? {
            serde_json::Value::String(word) => Ok(word.into()),
            other => Err(unwritable(format!("{other} is not a word"))),
        }
    }
}

impl<T: DeserializeOwned> FromSql for Word<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let word = serde_json::Value::from(value.as_str()?);
        serde_json::from_value(word).map(Self).map_err(unreadable)
    }
}

/// A structure, as JSON.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Json<T>(pub(crate) T);

impl<T: Serialize> ToSql for Json<T> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        serde_json::to_string(&self.0)
            .map(Into::into)
            .map_err(unwritable)
    }
}

impl<T: DeserializeOwned> FromSql for Json<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        serde_json::from_str(value.as_str()?)
            .map(Self)
            .map_err(unreadable)
    }
}

/// A seed, as decimal text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SeedText(pub(crate) Seed);

impl ToSql for SeedText {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.0.to_string().into())
    }
}

impl FromSql for SeedText {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value
            .as_str()?
            .parse()
            .map(|n| Self(Seed(n)))
            .map_err(unreadable)
    }
}

/// A histogram, as HDR V2 in base64.
#[derive(Debug, Clone)]
pub(crate) struct HistogramText(pub(crate) Histogram);

impl HistogramText {
    /// The column's value; none for the empty histogram.
    pub(crate) fn of(histogram: &Histogram) -> Option<String> {
        (!histogram.is_empty()).then(|| histogram.to_text())
    }
}

impl FromSql for HistogramText {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        match value {
            ValueRef::Null => Ok(Self(Histogram::new())),
            other => Histogram::from_text(other.as_str()?)
                .map(Self)
                .map_err(unreadable),
        }
    }
}

fn unwritable(
    error: impl Into<Box<dyn std::error::Error + Send + Sync + 'static>>,
) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(error.into())
}

fn unreadable(error: impl std::error::Error + Send + Sync + 'static) -> FromSqlError {
    FromSqlError::Other(Box::new(error))
}
