//! Stored comparisons: added whole, read whole, numbered `cmp1`, `cmp2` and so on.
//! Refuses to look into them: what a comparison means is the model's.

use crate::columns::{Json, all};
use crate::error::HistoryError;
use crate::id::ComparisonId;
use crate::open::History;
use helenus_model::comparison::{self, Comparison};
use helenus_model::format::Format;
use rusqlite::{OptionalExtension, Row, params};
use serde::Serialize;

/// A comparison in the history.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoredComparison {
    /// Its name.
    pub id: ComparisonId,
    /// When it was made: the wall clock in nanoseconds since 1970.
    pub made_wall_ns: u64,
    /// What was found.
    pub comparison: Comparison,
}

impl History {
    /// Stores a comparison.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn add_comparison(
        &mut self,
        comparison: &Comparison,
        made_wall_ns: u64,
    ) -> Result<ComparisonId, HistoryError> {
        let transaction = self.writing()?;
        transaction.execute(
            "INSERT INTO comparison (made_wall_ns, a, b, comparison) VALUES (?, ?, ?, ?)",
            params![
                made_wall_ns,
                comparison.a.label,
                comparison.b.label,
                Json(comparison)
            ],
        )?;
        let id = ComparisonId::of_row(transaction.last_insert_rowid());
        transaction.commit()?;
        Ok(id)
    }

    /// A comparison by its name.
    ///
    /// # Errors
    /// No such comparison, one of another version, or a database that cannot be read.
    pub fn comparison(&self, id: ComparisonId) -> Result<StoredComparison, HistoryError> {
        let one = self.connection.unchecked_transaction()?;
        let sql = "SELECT id, made_wall_ns, comparison FROM comparison WHERE id = ?";
        let Some(found) = one.query_row(sql, [id], raw).optional()? else {
            let sql = "SELECT max(id) FROM comparison";
            return Err(HistoryError::UnknownComparison {
                comparison: id,
                newest: one.query_row(sql, [], |row| row.get(0))?,
            });
        };
        read(found)
    }

    /// All comparisons, newest first.
    ///
    /// # Errors
    /// A comparison of another version, or a database that cannot be read.
    pub fn comparisons(&self) -> Result<Vec<StoredComparison>, HistoryError> {
        let sql = "SELECT id, made_wall_ns, comparison FROM comparison ORDER BY id DESC";
        let found: Vec<_> = all(&self.connection, sql, [], raw)?;
        found.into_iter().map(read).collect()
    }

    /// Removes a comparison. Its number is not given again.
    ///
    /// # Errors
    /// No such comparison, or a database that cannot be written.
    pub fn remove_comparison(&mut self, id: ComparisonId) -> Result<(), HistoryError> {
        self.comparison(id)?;
        self.connection
            .execute("DELETE FROM comparison WHERE id = ?", [id])?;
        Ok(())
    }
}

fn raw(row: &Row<'_>) -> rusqlite::Result<(ComparisonId, u64, String)> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
}

/// Read before the rest, so that a foreign version is named and not found as a missing field.
#[derive(serde::Deserialize)]
struct FormatMark {
    format: Format,
}

fn read(
    (id, made_wall_ns, text): (ComparisonId, u64, String),
) -> Result<StoredComparison, HistoryError> {
    let json = |source| HistoryError::Json {
        what: "a comparison",
        source,
    };
    let mark: FormatMark = serde_json::from_str(&text).map_err(json)?;
    mark.format
        .check("comparison", comparison::VERSION)
        .map_err(|source| HistoryError::ComparisonFormat {
            comparison: id,
            source,
        })?;
    let comparison: Comparison = serde_json::from_str(&text).map_err(json)?;
    Ok(StoredComparison {
        id,
        made_wall_ns,
        // A version before stored claims that held only before correction.
        comparison: comparison.corrected(),
    })
}
