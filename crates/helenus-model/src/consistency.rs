//! Consistency levels, by CQL's own names.
//! Refuses what they cost: that is measured.

use crate::worded::worded;
use serde::{Deserialize, Serialize};

worded! {
    /// A consistency level, by CQL's own names.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[expect(missing_docs, reason = "the names are CQL's own")]
    pub enum Consistency {
        Any = "ANY",
        One = "ONE",
        Two = "TWO",
        Three = "THREE",
        Quorum = "QUORUM",
        All = "ALL",
        #[default]
        LocalQuorum = "LOCAL_QUORUM",
        EachQuorum = "EACH_QUORUM",
        LocalOne = "LOCAL_ONE",
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
