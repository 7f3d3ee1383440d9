//! The version mark of everything that is stored or printed as JSON: `"format": "helenus.X/N"`.
//! Refuses to read what a newer Helenus wrote; reads the version before its own.

use serde::{Deserialize, Serialize};

/// Name and version of a stored or printed shape, written as `helenus.NAME/N`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Format(String);

/// Why a stored value cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum FormatError {
    /// The mark names another shape.
    #[error("expected the format helenus.{expected}/N, found {found:?}")]
    Foreign {
        /// Shape that was asked for.
        expected: &'static str,
        /// The mark that was found.
        found: String,
    },
    /// Written by a newer Helenus.
    #[error(
        "{found:?} was written by a newer Helenus (this one reads up to helenus.{name}/{newest})"
    )]
    Newer {
        /// Shape.
        name: &'static str,
        /// Newest version that this build reads.
        newest: u32,
        /// The mark that was found.
        found: String,
    },
    /// Written by a Helenus too old.
    #[error(
        "{found:?} is too old (this Helenus reads helenus.{name}/{oldest} to helenus.{name}/{newest})"
    )]
    Older {
        /// Shape.
        name: &'static str,
        /// Oldest version that this build reads.
        oldest: u32,
        /// Newest version that this build reads.
        newest: u32,
        /// The mark that was found.
        found: String,
    },
}

impl Format {
    /// The mark `helenus.NAME/VERSION`.
    pub fn new(name: &'static str, version: u32) -> Self {
        Self(format!("helenus.{name}/{version}"))
    }

    /// The mark as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Checks that this mark is `helenus.NAME/N` with N equal to `newest` or the one before.
    ///
    /// # Errors
    /// Another name, a newer version, or one older than `newest - 1`.
    pub fn check(&self, name: &'static str, newest: u32) -> Result<u32, FormatError> {
        let foreign = || FormatError::Foreign {
            expected: name,
            found: self.0.clone(),
        };
        let version: u32 = self
            .0
            .strip_prefix("helenus.")
            .and_then(|rest| rest.strip_prefix(name))
            .and_then(|rest| rest.strip_prefix('/'))
            .and_then(|n| n.parse().ok())
            .ok_or_else(foreign)?;
        let oldest = newest.saturating_sub(1).max(1);
        if version > newest {
            Err(FormatError::Newer {
                name,
                newest,
                found: self.0.clone(),
            })
        } else if version < oldest {
            Err(FormatError::Older {
                name,
                oldest,
                newest,
                found: self.0.clone(),
            })
        } else {
            Ok(version)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_its_own_and_the_version_before_only() {
        assert_eq!(Format::new("run", 3).check("run", 3), Ok(3));
        assert_eq!(Format::new("run", 2).check("run", 3), Ok(2));
        assert!(matches!(
            Format::new("run", 4).check("run", 3),
            Err(FormatError::Newer { .. })
        ));
        assert!(matches!(
            Format::new("run", 1).check("run", 3),
            Err(FormatError::Older { .. })
        ));
        assert!(matches!(
            Format::new("sample", 1).check("run", 1),
            Err(FormatError::Foreign { .. })
        ));
    }
}
