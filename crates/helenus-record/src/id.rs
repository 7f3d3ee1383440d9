//! Names of runs (`r42`, `42`, `@last` and `@newest`), experiments (`e3`) and comparisons (`cmp7`).
//! Refuses anything that could mean two runs, and numbers below one.

use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use std::fmt;
use std::str::FromStr;

/// The word for the last run that has ended.
const LAST: &str = "@last";

/// The word for the newest run.
const NEWEST: &str = "@newest";

/// The number of a run in one history, shown as `r42`. Never given twice, not even after the run was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(into = "String")]
pub struct RunId(i64);

/// How a person points at a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunReference {
    /// By its number: `r42` or `42`.
    Id(RunId),
    /// The newest that has ended, be it complete, invalid or interrupted: `@last`.
    Last,
    /// The newest one, whatever became of it: `@newest`.
    Newest,
}

/// The text names no run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} does not name a run")]
pub struct RunIdError {
    /// The text.
    pub text: String,
}

impl RunIdError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        format!("write r42 or 42; {LAST} is the last run that has ended, {NEWEST} the newest")
    }
}

impl RunId {
    /// The row's number.
    pub fn number(self) -> i64 {
        self.0
    }

    pub(crate) fn of_row(number: i64) -> Self {
        Self(number)
    }
}

/// The number of an experiment in one history, shown as `e3`. Never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(into = "String")]
pub struct ExperimentId(i64);

/// The number of a stored comparison, shown as `cmp7`. Never given twice, not even after its removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(into = "String")]
pub struct ComparisonId(i64);

/// A number of a table, shown behind a prefix.
macro_rules! numbered {
    ($name:ident, $prefix:literal) => {
        impl $name {
            /// The row's number.
            pub fn number(self) -> i64 {
                self.0
            }

            pub(crate) fn of_row(number: i64) -> Self {
                Self(number)
            }

            /// The number that the text names, with its prefix.
            pub fn named(text: &str) -> Option<Self> {
                number(text.strip_prefix($prefix)?).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&format!(concat!($prefix, "{}"), self.0))
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.to_string()
            }
        }

        impl ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(self.0.into())
            }
        }

        impl FromSql for $name {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                i64::column_result(value).map(Self)
            }
        }
    };
}

numbered!(ExperimentId, "e");
numbered!(ComparisonId, "cmp");

/// A number above zero in digits alone.
fn number(digits: &str) -> Option<i64> {
    let all_digits = digits.bytes().all(|b| b.is_ascii_digit());
    all_digits
        .then(|| digits.parse().ok())
        .flatten()
        .filter(|number| *number > 0)
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `pad` keeps a table's column widths.
        f.pad(&format!("r{}", self.0))
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.to_string()
    }
}

impl FromStr for RunId {
    type Err = RunIdError;

    fn from_str(text: &str) -> Result<Self, RunIdError> {
        number(text.strip_prefix('r').unwrap_or(text))
            .map(Self)
            .ok_or_else(|| RunIdError {
                text: text.to_owned(),
            })
    }
}

impl FromStr for RunReference {
    type Err = RunIdError;

    fn from_str(text: &str) -> Result<Self, RunIdError> {
        if text == LAST {
            Ok(Self::Last)
        } else if text == NEWEST {
            Ok(Self::Newest)
        } else {
            text.parse().map(Self::Id)
        }
    }
}

impl From<RunId> for RunReference {
    fn from(id: RunId) -> Self {
        Self::Id(id)
    }
}

impl ToSql for RunId {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.into())
    }
}

impl FromSql for RunId {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        i64::column_result(value).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_shown() {
        for text in ["r42", "42"] {
            assert_eq!(text.parse(), Ok(RunId(42)));
            assert_eq!(text.parse(), Ok(RunReference::Id(RunId(42))));
        }
        assert_eq!(RunId(42).to_string().parse(), Ok(RunId(42)));
        assert_eq!("@last".parse(), Ok(RunReference::Last));
        assert_eq!("@newest".parse(), Ok(RunReference::Newest));
        assert_eq!(format!("{:>5}", RunId(7)), "   r7");
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "r",
            "0",
            "r0",
            "-1",
            "+1",
            "rr1",
            "R1",
            "1.5",
            "@first",
            "99999999999999999999",
        ] {
            let error = text.parse::<RunReference>().expect_err(text);
            assert_eq!(error.text, text);
        }
        assert!("@last".parse::<RunId>().is_err());
    }

    #[test]
    fn comparisons_and_experiments_have_names_of_their_own() {
        assert_eq!(ComparisonId::named("cmp7"), Some(ComparisonId(7)));
        assert_eq!(ComparisonId(7).to_string(), "cmp7");
        assert_eq!(ExperimentId::named("e3"), Some(ExperimentId(3)));
        for text in ["7", "cmp", "cmp0", "r7", "cmp-1"] {
            assert_eq!(ComparisonId::named(text), None, "{text}");
        }
    }
}
