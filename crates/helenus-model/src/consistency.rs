//! Consistency levels, by CQL's own names.
//! Refuses what they cost: that is measured.

use serde::{Deserialize, Serialize};

/// A consistency level, by CQL's own names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(missing_docs, reason = "the names are CQL's own")]
pub enum Consistency {
    Any,
    One,
    Two,
    Three,
    Quorum,
    All,
    #[default]
    LocalQuorum,
    EachQuorum,
    LocalOne,
}

impl Consistency {
    /// Its name in CQL.
    pub fn word(self) -> &'static str {
        match self {
            Self::Any => "ANY",
            Self::One => "ONE",
            Self::Two => "TWO",
            Self::Three => "THREE",
            Self::Quorum => "QUORUM",
            Self::All => "ALL",
            Self::LocalQuorum => "LOCAL_QUORUM",
            Self::EachQuorum => "EACH_QUORUM",
            Self::LocalOne => "LOCAL_ONE",
        }
    }
}

/// More than half of so many copies.
pub fn quorum(copies: u32) -> u32 {
    copies / 2 + 1
}

/// Consistency of the compare of a compare-and-set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(missing_docs, reason = "the names are CQL's own")]
pub enum SerialConsistency {
    #[default]
    Serial,
    LocalSerial,
}
